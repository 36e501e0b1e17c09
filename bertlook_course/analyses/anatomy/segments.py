"""What changes when the two segments of a pair trade places or are told apart."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from bertlook_teach.measures import PATTERNS, attention_entropy, segment_masks, within_segment_mass
from bertlook_teach.stats import mean_interval

from ...metrics import LEAST_CASES, fair_choice

if TYPE_CHECKING:
    from bertlook_teach.model import Encoder


# --- the segment switch ---------------------------------------------------------------------------------
@dataclass(frozen=True, eq=False)
class SegmentSwitch:
    """The same pairs of texts read twice: with segment ids as usual, and with zeros for everything.

    Attributes
    ----------
    standard, zeros : ndarray of shape (pair, layer, head)
        Attention that stays in the token's own text (`within_segment_mass`).
    bag : ndarray of shape (pair, layer, head)
        `bag_of_words` minus its null model, with segment ids as usual: what a head is chosen by.
    chance : ndarray of shape (pair,)
        What a head would give that looks at all tokens equally.
    """

    standard: np.ndarray
    zeros: np.ndarray
    bag: np.ndarray
    chance: np.ndarray
    model: str = ""

    def report(self, replicates: int = 1000, seed: int = 0) -> SwitchReport:
        """The most bag-of-words-like head, chosen on every second pair and measured on the pairs between.

        Intervals are 95 %, bootstrap over the reporting pairs; the difference is paired.

        Raises
        ------
        ValueError
            If there are fewer than four pairs: two must choose and two report.
        """
        bag, *reports = fair_head(
            self.bag,
            self.standard,
            self.zeros,
            self.standard - self.zeros,
            self.chance,
            replicates=replicates,
            seed=seed,
        )
        return SwitchReport(bag.layer, bag.head, *(report.value for report in reports), bag.n)


class Interval(NamedTuple):
    """A mean with the ends of its 95 % interval."""

    mean: float
    low: float
    high: float

    def __str__(self) -> str:
        return f"{self.mean:.3f} [{self.low:.3f}, {self.high:.3f}]"


class SwitchReport(NamedTuple):
    """What the segment switch does to the head that is most like a bag of words. Layer and head count from 0."""

    layer: int
    head: int
    standard: Interval
    zeros: Interval
    difference: Interval
    chance: Interval
    n: int


class FairHead(NamedTuple):
    """A head chosen on every second input and measured on the inputs between. Layer and head count from 0."""

    layer: int
    head: int
    value: Interval
    n: int


def fair_head(values, *others, replicates: int = 1000, seed: int = 0) -> tuple[FairHead, ...]:
    """The head with the largest mean, chosen on every second input and reported on the inputs between.

    Parameters
    ----------
    values : array of shape (input, layer, head)
        What the head is chosen by.
    *others : arrays of shape (input, layer, head) or (input,)
        Reported too, for the same head and the same inputs.
    replicates, seed : int
        Of the bootstrap over the reporting inputs; every quantity gets the same resamples.

    Returns
    -------
    tuple of FairHead
        For ``values``, then for each of ``others``.

    Raises
    ------
    ValueError
        If there are fewer than ten inputs: five must choose and five report.
    """
    values = np.asarray(values, dtype=float)
    if values.ndim != 3 or len(values) < 2 * LEAST_CASES:
        raise ValueError(
            f"a fair choice needs values of shape (input, layer, head) with at least {2 * LEAST_CASES} inputs, half of them to choose and half "
            f"to report; got {values.shape}."
        )
    ((layer, head),) = fair_choice(values).chosen
    reports = []
    for quantity in (values, *map(np.asarray, others)):
        if len(quantity) != len(values) or quantity.shape[1:] not in ((), values.shape[1:]):
            raise ValueError(
                f"other quantities need the same inputs and heads; got {quantity.shape} and {values.shape}."
            )
        reported = quantity[1::2] if quantity.ndim == 1 else quantity[1::2, layer, head]
        low, high = mean_interval(reported, scheme="indices", replicates=replicates, seed=seed)
        interval = Interval(float(reported.mean()), low, high)
        reports.append(FairHead(layer, head, interval, len(reported)))
    return tuple(reports)


def iter_switch(encoder: Encoder, pairs: Iterable[tuple[str, str]]) -> Iterator[dict]:
    """One dict a pair: what `segment_switch` stacks, and the entropies of the reading with zeros.

    ``standard``, ``zeros``, ``bag``, ``entropy_zeros`` (nats) of shape (layer, head); ``chance`` and ``log_own``
    (ln of the tokens of a token's own text), plain numbers.
    """
    from bertlook_teach.model import iter_attention

    if not encoder.has_segments:
        raise ValueError(
            f"{encoder.name} is never told which text a token belongs to (one segment id), so there is nothing to switch."
        )
    pairs = list(pairs)
    if not pairs or not all(isinstance(pair, tuple) and len(pair) == 2 for pair in pairs):
        raise ValueError(
            "the segment switch needs pairs of texts, a list of (text, text_pair); load_pairs() gives some."
        )
    readings = (
        iter_attention(encoder, pairs, truncate=True, segments=segments) for segments in ("standard", "zeros")
    )
    for standard, zeros in zip(*readings):
        yield {
            "standard": within_segment_mass(standard),
            "bag": PATTERNS["bag_of_words"].excess(standard),
            **zeros_quantities(zeros),
        }


def zeros_quantities(attention) -> dict:
    """What `iter_switch` takes from the reading with zeros, and from the lengths of the texts."""
    _, same, queries = segment_masks(attention, None, None)
    return {
        "zeros": within_segment_mass(attention),
        "entropy_zeros": attention_entropy(attention),
        "chance": float(same.mean(axis=1)[queries].mean()),
        "log_own": float(np.log(same.sum(axis=1))[queries].mean()),
    }


def segment_switch(encoder: Encoder, pairs: Iterable[tuple[str, str]]) -> SegmentSwitch:
    """Read pairs of texts with segment ids as usual and with zeros, and measure how much stays in the own text.

    Vig's bag-of-words head keeps to its own sentence. If it knows its sentence by the segment embedding, the limit must
    vanish when every token is told the same segment; words, positions and both [SEP] stay as they were.

    Raises
    ------
    ValueError
        If the model has no segment ids to switch, or the corpus holds no pair.
    """
    rows = list(iter_switch(encoder, pairs))
    stacked = {name: np.array([row[name] for row in rows]) for name in ("standard", "zeros", "bag", "chance")}
    return SegmentSwitch(**stacked, model=encoder.name)
