"""The difference of two models on the same texts, layer by layer."""

from __future__ import annotations

import numpy as np

from bertlook_teach.measures import Profile
from bertlook_teach.stats import sample_interval


def layer_difference(profile: Profile, other: Profile, measure: str):
    """``other`` minus ``profile``, layer by layer, with the interval of the *difference*.

    The comparison is paired: replicate *b* of both profiles weighs the same texts, so what makes a text easy or
    hard for both cancels. Two intervals that overlap can still hide a difference that is not 0.

    Parameters
    ----------
    profile, other : Profile
        Of the same texts in the same order, with as many layers.
    measure : str

    Returns
    -------
    difference, low, high : arrays of shape (layer,)
        The mean over the heads of each layer, and its 95 % bootstrap interval over texts.

    Raises
    ------
    ValueError
        If the profiles hold other texts, fewer than two, or other numbers of layers.
    """
    texts = [one.about.get("texts") for one in (profile, other)]
    if (
        profile.n < 2
        or not np.array_equal(profile.counts, other.counts)
        or (None not in texts and texts[0] != texts[1])
    ):
        raise ValueError(
            "a paired comparison needs two profiles of the same texts, at least two, in the same order; "
            f"got n={profile.n} and n={other.n}{', of other texts' * (profile.n == other.n > 1)}."
        )
    sums = [p.of_measure(measure).mean(axis=2) for p in (profile, other)]
    if sums[0].shape != sums[1].shape:
        raise ValueError(
            f"the models have {sums[0].shape[1]} and {sums[1].shape[1]} layers; compare models of one depth."
        )
    drawn = profile.counts > 0
    difference = (sums[1][drawn] - sums[0][drawn]) / profile.counts[drawn, None]
    return difference[0], *sample_interval(difference[1:], difference[0], profile.n)
