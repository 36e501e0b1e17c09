"""One pronoun, two candidates: GAP and the minimal pairs of Winogender and WinoBias, put to every head.

A head answers with the candidate whose words its pronoun looks at more (pieces and words of a candidate added up; the
other direction, candidate to pronoun, is offered too). The rules it must beat know only places: the nearer candidate, the
first, the second.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np

from bertlook_teach.model import head_label
from bertlook_teach.stats import unit_interval

from ...corpora import PronounCase
from ...metrics import LEAST_CASES, fair_choice

DIRECTIONS = ("pronoun looks at candidate", "candidate looks at pronoun")


@dataclass(frozen=True)
class PronounScore:
    """Accuracy of one predictor (chance is .5), its 95 % interval over pairs, n, and the heads chosen."""

    predictor: str
    group: str
    accuracy: float
    low: float
    high: float
    n: int
    heads: tuple[str, ...] = ()


# --- predictors ----------------------------------------------------------------------------------------
def _nearer(case: PronounCase) -> int:
    distances = [
        min(abs(case.pronoun - start), abs(case.pronoun - (end - 1))) for start, end in case.candidates
    ]
    return int(distances[1] < distances[0])


PRONOUN_BASELINES: dict[str, Callable[[PronounCase], int]] = {
    "nearer": _nearer,
    "first": lambda case: 0,
    "second": lambda case: 1,
}


def ask_heads(
    encoder, cases: Sequence[PronounCase], *, batch_size: int = 16
) -> tuple[np.ndarray, list[PronounCase]]:
    """Whether each head answers each case rightly.

    Returns
    -------
    right : bool array of shape (case, direction, layer, head)
        Directions as in ``DIRECTIONS``.
    cases : list of PronounCase
        Those the model can read whole, in order.
    """
    from bertlook_teach.model import check_reading, iter_attention

    cases = [case for case in cases if not check_reading(encoder, case.words).obstacle]
    if not cases:
        raise ValueError(
            f"{encoder.name} can read none of the texts whole (at most {encoder.max_tokens} wordpieces)."
        )
    stream = iter_attention(encoder, (list(case.words) for case in cases), batch_size=batch_size)
    right = []
    for case, attention in zip(cases, stream, strict=True):
        merged = attention.to_words()
        words = np.flatnonzero(~np.array(merged.special))
        pronoun = words[case.pronoun]
        looks = [merged.weights[:, :, pronoun, words[a:b]].sum(-1) for a, b in case.candidates]
        looked = [merged.weights[:, :, words[a:b], pronoun].mean(-1) for a, b in case.candidates]
        right.append([(second > first) == bool(case.answer) for first, second in (looks, looked)])
    return np.array(right), cases


def pronoun_table(right: np.ndarray, cases: Sequence[PronounCase], *, seed: int = 0) -> list[PronounScore]:
    """The best head (chosen on one half of the pairs, scored on the other, both ways) beside the rules, for all and by group.

    Halves are drawn at random: in files of minimal pairs every second sentence often has the first candidate for its answer, so
    that halves by turns would be two different tasks.
    """
    pairs = {pair: i for i, pair in enumerate(dict.fromkeys(case.pair for case in cases))}
    if len(pairs) < 2 * LEAST_CASES:
        raise ValueError(f"halves need {2 * LEAST_CASES} pairs or more; got {len(pairs)}.")
    unit = np.array([pairs[case.pair] for case in cases])
    answers = {
        name: np.array([rule(c) == c.answer for c in cases]) for name, rule in PRONOUN_BASELINES.items()
    }
    half = (np.random.default_rng(seed).permutation(len(pairs)) % 2)[unit]
    choice = fair_choice(right, half, both_ways=True)
    labels = [
        f"{head_label(layer, head)}, {DIRECTIONS[direction]}" for direction, layer, head in choice.chosen
    ]
    answers["best head"] = choice.reported
    rows = []
    groups = np.array([case.group for case in cases])
    for group in ["all", *sorted({case.group for case in cases} - {""})]:
        of_group = np.ones(len(cases), bool) if group == "all" else groups == group
        for name, correct in answers.items():
            low, high = unit_interval(correct[of_group], unit[of_group], len(pairs), seed=seed)
            heads = tuple(labels) if name == "best head" else ()
            accuracy, n = float(correct[of_group].mean()), int(of_group.sum())
            rows.append(PronounScore(name, group, accuracy, low, high, n, heads))
    return rows


def both_right(right: np.ndarray, cases: Sequence[PronounCase]) -> tuple[np.ndarray, int]:
    """How often both members of a minimal pair are right, and how many pairs there are.

    Two cases are a pair if they share ``pair`` and ``group`` and have different answers. Who always names the same place is right in
    exactly one of them, and scores 0 here; who guesses, a quarter.

    Parameters
    ----------
    right : bool array of shape (case, ...)
        From `ask_heads`, or a rule's answers.
    cases : sequence of PronounCase

    Returns
    -------
    share : ndarray of shape (...)
    n : int

    Raises
    ------
    ValueError
        If no two cases are such a pair.
    """
    right, members = np.asarray(right), {}
    if len(right) != len(cases):
        raise ValueError(
            f"one row of answers for each of the {len(cases)} cases is needed; got {len(right)}."
        )
    for i, case in enumerate(cases):
        members.setdefault((case.pair, case.group), []).append(i)
    pairs = [m for m in members.values() if len(m) == 2 and cases[m[0]].answer != cases[m[1]].answer]
    if not pairs:
        raise ValueError(
            "no two cases share pair and group and have different answers: there are no minimal pairs."
        )
    return np.mean([right[pair].all(axis=0) for pair in pairs], axis=0), len(pairs)
