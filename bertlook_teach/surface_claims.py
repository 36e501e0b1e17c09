"""What Clark et al. (2019) say in sections 3.1 to 3.3, as statements that a model can fail.

Each claim is a sentence, a statistic of a profile, and the threshold that decides. The statistic is computed on one
half of the texts; where it needs a choice (the best head, the highest layer), the choice is made on the other half.
A random twin of the model gets the same chance.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import NamedTuple

import numpy as np

from .labels import head_label
from .profile import CONFIDENCE, Profile
from .published import published_layers, read_published

__all__ = ["SURFACE_CLAIMS", "Claim", "Verdict", "decide", "decide_all"]

HOLDS, FAILS, OPEN = "holds", "does not hold", "cannot be decided here"
Values = Mapping[str, np.ndarray]


class Claim(NamedTuple):
    """One statement of a paper and what decides it.

    ``operational`` says what is measured. ``statistic(values, choice)`` gets two mappings from a measure to its
    (layer, head) numbers, one from the texts that report and one from the texts that choose; the claim holds above
    ``threshold``. With ``statistic=None`` nothing can be measured, for the reason in ``operational``.
    """

    name: str
    sentence: str
    section: str
    published: Callable[[], str]
    operational: str
    statistic: Callable[[Values, Values], float] | None = None
    threshold: float = 0.0


class Verdict(NamedTuple):
    """A claim decided on one model: value and interval, the random twin's, and why."""

    claim: Claim
    published: str
    value: float
    low: float
    high: float
    twin: float
    twin_low: float
    twin_high: float
    n: int
    verdict: str
    why: str


def decide(claim: Claim, halves: Sequence[Profile], twin_halves: Sequence[Profile]) -> Verdict:
    """Decide one claim.

    Parameters
    ----------
    claim : Claim
    halves : two Profiles
        The model on the texts that choose, then on the texts that report.
    twin_halves : two Profiles
        The same for the randomly initialised twin.

    Returns
    -------
    Verdict
        *holds* if the whole interval lies above the threshold and the twin's does not; *does not hold* if the whole
        interval lies below; otherwise *cannot be decided here*.

    Raises
    ------
    ValueError
        If a profile lacks a measure, or holds fewer than two texts.
    """
    nan = float("nan")
    n = halves[1].n
    if claim.statistic is None:
        return Verdict(claim, claim.published(), nan, nan, nan, nan, nan, nan, n, OPEN, claim.operational)
    value, low, high = _with_interval(claim, *halves)
    twin, twin_low, twin_high = _with_interval(claim, *twin_halves)
    if high < claim.threshold:
        verdict, why = FAILS, "the whole interval is below the line"
    elif low <= claim.threshold:
        verdict, why = OPEN, "the interval includes the line"
    elif twin_high >= claim.threshold:
        verdict, why = OPEN, "a random twin reaches it too"
    else:
        verdict, why = HOLDS, "the whole interval is above the line, the twin's is not"
    numbers = (value, low, high, twin, twin_low, twin_high)
    return Verdict(claim, claim.published(), *numbers, n, verdict, why)


def decide_all(halves, twin_halves, claims: Sequence[Claim] | None = None) -> list[Verdict]:
    """`decide` for each claim; by default those of sections 3.1 to 3.3."""
    return [decide(claim, halves, twin_halves) for claim in (SURFACE_CLAIMS if claims is None else claims)]


def _with_interval(claim: Claim, choosing: Profile, reporting: Profile) -> tuple[float, float, float]:
    if reporting.n < 2 or choosing.n < 1:
        raise ValueError(
            f"an interval needs two texts that report and one that chooses; got {reporting.n} and {choosing.n}."
        )
    choice = {name: choosing.mean(name) for name in choosing.measures}
    drawn = np.flatnonzero(reporting.counts > 0)
    means = {
        name: total[drawn] / reporting.counts[drawn, None, None] for name, total in reporting.sums.items()
    }
    try:
        values = [
            float(claim.statistic({name: m[b] for name, m in means.items()}, choice))
            for b in range(len(drawn))
        ]
    except KeyError as error:
        raise ValueError(f"claim {claim.name!r} needs the measure {error} in the profile.") from None
    tail = (1 - CONFIDENCE) / 2
    low, high = np.quantile(values[1:], (tail, 1 - tail))
    return values[0], float(low), float(high)


# --- statistics --------------------------------------------------------------------------------------


def best_head(measure: str):
    """The measure of the head that has most of it: chosen on one half of the texts, reported on the other."""
    return lambda values, choice: values[measure].flat[int(choice[measure].argmax())]


def best_layer(measure: str):
    """The layer mean of the layer that has most: chosen on one half, reported on the other."""
    return lambda values, choice: values[measure].mean(axis=1)[int(choice[measure].mean(axis=1).argmax())]


def last_layer(measure: str):
    return lambda values, choice: values[measure][-1].mean()


def early_minus_later(measure: str):
    """Mean of the first third of the layers minus the mean of the rest."""

    def statistic(values, choice=None):
        third = max(1, len(values[measure]) // 3)
        return values[measure][:third].mean() - values[measure][third:].mean()

    return statistic


def _share_below(measure: str, limit: float):
    return lambda values, choice: float((values[measure] < limit).mean())


def _last_layer_difference(measure: str, other: str):
    return lambda values, choice: (values[measure][-1] - values[other][-1]).mean()


# --- the published values ------------------------------------------------------------------------------


def _printed_heads(direction: str) -> str:
    rows = [
        row
        for row in read_published("clark_relative_position")
        if row.quantity == f"average attention to {direction} token" and row.head
    ]
    best = max(rows, key=lambda row: float(row.value))
    return f"{float(best.value):.2f}, {head_label(int(best.layer) - 1, int(best.head) - 1)}"


def _highest_layer(measure: str) -> str:
    layers = published_layers(measure)
    return f"{layers.max():.3f}, layer {layers.argmax() + 1}"


def _early_minus_later(measure: str, divide_by: float = 1.0) -> str:
    layers = published_layers(measure)[:, None] / divide_by
    return f"{early_minus_later(measure)({measure: layers}):+.2f}"


def _self_limit() -> str:
    rows = [
        row
        for row in read_published("clark_relative_position")
        if row.quantity == "largest average attention to current token in layer"
    ]
    return f"at most {max(float(row.value) for row in rows):.2f}"


def _range(measure: str, first: int, last: int) -> str:
    layers = published_layers(measure)[first - 1 : last]
    return f"{layers.min():.2f} to {layers.max():.2f}"


def _last_layer_gap() -> str:
    return f"{published_layers('entropy_from_cls')[-1] - published_layers('entropy_clark')[-1]:+.2f} nats"


CLARK_LENGTH = 122.1  # mean number of tokens of the released segments: 121,134 tokens / 992
_FOCUS = np.log(CLARK_LENGTH)

SURFACE_CLAIMS = (
    Claim(
        "previous",
        "Previous-token heads",
        "3.1",
        lambda: _printed_heads("previous"),
        "share of the best head",
        best_head("previous"),
        0.5,
    ),
    Claim(
        "next",
        "Next-token heads",
        "3.1",
        lambda: _printed_heads("next"),
        "share of the best head",
        best_head("next"),
        0.5,
    ),
    Claim(
        "self",
        "Little to the token itself",
        "3.1",
        _self_limit,
        "share of heads that give it less than 0.1",
        _share_below("self", 0.1),
        0.5,
    ),
    Claim(
        "early cls",
        "Early heads attend to [CLS]",
        "3.2",
        lambda: _early_minus_later("cls"),
        "first third of the layers minus the rest",
        early_minus_later("cls"),
        0.0,
    ),
    Claim(
        "sep",
        "Over half to [SEP]",
        "3.2",
        lambda: _highest_layer("sep"),
        "highest layer mean",
        best_layer("sep"),
        0.5,
    ),
    Claim(
        "sep to sep",
        "[SEP] looks at [SEP]",
        "3.2",
        lambda: _highest_layer("sep_to_sep"),
        "highest layer mean",
        best_layer("sep_to_sep"),
        0.9,
    ),
    Claim(
        "punct",
        "Last layer: over half to . and ,",
        "3.2",
        lambda: f"{published_layers('punct')[-1]:.2f}, layer 12",
        "mean of the last layer",
        last_layer("punct"),
        0.5,
    ),
    Claim(
        "broad early",
        "Broadest in the early layers",
        "3.3",
        lambda: _early_minus_later("entropy_clark", _FOCUS),
        "entropy / ln n, first third of the layers minus the rest",
        early_minus_later("entropy_normalized"),
        0.0,
    ),
    Claim(
        "cls broad",
        "Last layer: [CLS] is broad",
        "3.3",
        _last_layer_gap,
        "entropy from [CLS] minus that of all tokens",
        _last_layer_difference("entropy_from_cls", "entropy"),
        0.0,
    ),
    Claim(
        "layers 6-10",
        "... in layers 6 to 10",
        "3.2",
        lambda: _range("sep", 6, 10),
        "a model of another depth has no such layers",
    ),
)
