"""What goes to [CLS], to [SEP], to . and , and to the rest: sums and means of any map by kind of token."""

from __future__ import annotations

import numpy as np

from bertlook_teach.measures import token_masks


def category_sums(maps, tokens) -> dict[str, np.ndarray]:
    """What goes to each kind of token: per row the sum over the keys of the kind, then the mean over rows.

    Parameters
    ----------
    maps : array of shape (..., query, key)
        Weights or norms.
    tokens : Attention or sequence of str

    Returns
    -------
    dict of "cls", "sep", "punct", "other" -> array of shape (...)
        A kind that the input does not hold is left out: nothing can be said about it, and 0 would be a lie.

    References
    ----------
    Kobayashi et al. (2020), Figure 3; for weights it equals Clark's shares.
    """
    maps = maps_of(maps, tokens)
    return {kind: maps[..., mask].sum(axis=-1).mean(axis=-1) for kind, mask in kinds_present(tokens).items()}


def category_means(maps, tokens, *, unmasked=None) -> dict[str, np.ndarray]:
    """The mean over all rows and the keys of each kind, as for Clark's gradients.

    Parameters
    ----------
    maps : array of shape (..., query, key)
    tokens : Attention or sequence of str
    unmasked : boolean array of shape (token,)
        Keys that count; by default all.

    Returns
    -------
    dict of "cls", "sep", "punct", "other" and "all" -> array of shape (...)
        "all" is every key that counts, the legend of Clark's Figure 3 ("All unmasked tokens"); "other" is what its
        caption says. A kind without a key that counts is left out.
    """
    maps = maps_of(maps, tokens)
    counts = np.ones(maps.shape[-1], dtype=bool) if unmasked is None else np.asarray(unmasked, dtype=bool)
    kinds = {**kinds_present(tokens), "all": counts}
    chosen = {kind: mask & counts for kind, mask in kinds.items()}
    return {kind: maps[..., mask].mean(axis=(-2, -1)) for kind, mask in chosen.items() if mask.any()}


def kinds_present(tokens) -> dict[str, np.ndarray]:
    """The masks of those kinds of token that the input holds."""
    return {kind: mask for kind, mask in token_masks(tokens).items() if mask.any()}


def maps_of(maps, tokens) -> np.ndarray:
    """The maps as an array, checked to have one row and one column a token."""
    maps = np.asarray(getattr(maps, "weights", maps))
    n = len(getattr(tokens, "tokens", tokens))
    if maps.ndim < 2 or maps.shape[-2:] != (n, n):
        raise ValueError(
            f"maps must have shape (..., query, key) = (..., {n}, {n}), one row and column a token; got {maps.shape}."
        )
    return maps
