"""Where a pattern holds in each text, and what heads and fixed rules make of these cases: sums that add up over texts and over parts of a corpus."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace

import numpy as np

from bertlook_teach.stats import ratio_interval

from ...corpora import document_numbers
from ...metrics import CannotDecide
from ...syllabus import worded
from ..syntax import ENOUGH_DOCUMENTS, OFFSETS
from .conditions import PAIRS, TREEBANK, PatternText
from .language import Pattern, needs_treebank
from .readings import WordMaps

ANSWERS = ("words", "anything")  # what a head may answer: other words, or every position


@dataclass(frozen=True, eq=False)
class PatternCounts:
    """Sums over the cases of each text; all that a score, an interval or a claim needs.

    Attributes
    ----------
    documents : int ndarray of shape (text,)
        The document of each text, counted from 0.
    cases : ndarray of shape (text,)
        Queries for which the pattern has a key.
    right, mass : ndarray of shape (text, layer, head), or what has the ``sum`` and ``of`` of `bertlook_course.storage.OnDisk`
        Right answers, and attention to the pattern's keys.
    right_rules, mass_rules : of shape (text, rule)
        The same of each fixed rule that looks at one position alone, and in the last column of chance: guessing among the
        candidates, and even attention over the whole text.
    rule_names : tuple of str
    """

    documents: np.ndarray
    cases: np.ndarray
    right: np.ndarray
    mass: np.ndarray
    right_rules: np.ndarray
    mass_rules: np.ndarray
    rule_names: tuple[str, ...]

    def of(self, measure: str) -> tuple[np.ndarray, np.ndarray, tuple[str, ...]]:
        """Sums of the heads, (text, layer, head), of the rules, (text, rule), and the names of the rules."""
        if measure == "accuracy":
            return self.right, self.right_rules, (*self.rule_names, "guessing")
        return self.mass, self.mass_rules, (*self.rule_names, "even attention")

    def by_document(self, fewest: int = ENOUGH_DOCUMENTS) -> PatternCounts:
        """Summed over each document's texts; unchanged where there are fewer than ``fewest`` documents."""
        n = int(self.documents.max()) + 1
        if not fewest <= n < len(self.cases):
            return self
        names = ("right", "mass", "right_rules", "mass_rules")
        if hasattr(self.right, "of"):
            sums = {name: _Merged(getattr(self, name), self.documents, n) for name in names}
            return replace(
                self, documents=np.arange(n), cases=np.bincount(self.documents, self.cases), **sums
            )
        member = (np.arange(n)[:, None] == self.documents).astype(float)
        sums = {name: np.tensordot(member, getattr(self, name), 1) for name in ("cases", *names)}
        return replace(self, documents=np.arange(n), **sums)

    def interval(self, sums: np.ndarray, within=(0, 1)) -> tuple[float, float]:
        """95 % of sums of each text, divided by the cases."""
        return ratio_interval(np.stack([sums, self.cases], axis=1), within=within)


class _Merged:
    """Rows that are not in memory, summed over each document's texts where they are asked for."""

    def __init__(self, rows, documents: np.ndarray, n: int):
        self._rows, self._documents, self._n = rows, documents, n

    def __len__(self) -> int:
        return self._n

    def sum(self, cases=None) -> np.ndarray:
        return self._rows.sum(None if cases is None else np.asarray(cases)[self._documents])

    def of(self, competitor: tuple[int, ...]) -> np.ndarray:
        return np.bincount(self._documents, self._rows.of(competitor), self._n)


def column_of(rows, competitor: tuple[int, ...]) -> np.ndarray:
    """One competitor's column, of an array or of rows on disk."""
    return rows.of(competitor) if hasattr(rows, "of") else rows[(slice(None), *competitor)]


def total_of(rows) -> np.ndarray:
    """Each column's sum."""
    return rows.sum() if hasattr(rows, "of") else rows.sum(0)


def _candidates(reading: PatternText, answers: str) -> np.ndarray:
    """(query, key): what may be looked at and counts as an answer."""
    if answers == "anything":
        return np.ones((len(reading), len(reading)), dtype=bool)
    return reading.word_pairs & ~np.eye(len(reading), dtype=bool)


def _rule_names(answers: str) -> tuple[str, ...]:
    steps, kind = ((*OFFSETS, 0), "token") if answers == "anything" else (OFFSETS, "word")
    return (*(f"{step:+d}" if step else "itself" for step in steps), f"first {kind}", f"last {kind}")


def _rules(reading: PatternText, answers: str) -> np.ndarray:
    """Where each fixed rule looks from every position, (rule, position); -1: nowhere."""
    if answers == "anything":
        at = places = np.arange(len(reading))
        steps = (*OFFSETS, 0)
    else:
        at, places, steps = reading.word_positions, reading.places, OFFSETS
    goals = places + np.array(steps)[:, None]
    outside = (goals < 0) | (goals >= len(at))
    by_offset = np.where(outside, -1, at[np.where(outside, 0, goals)])
    return np.concatenate([by_offset, np.broadcast_to(at[[0, -1], None], (2, len(reading)))])


@dataclass(frozen=True, eq=False)
class _Cases:
    """Where a pattern holds in each text, and what the rules make of it; the same for every model that read the texts."""

    found: list[np.ndarray]  # bool (query, key), only what may be answered
    cases: np.ndarray
    right_rules: np.ndarray
    mass_rules: np.ndarray
    answers: str
    pairs: np.ndarray  # as `check_pairs` reads them


def find_cases(pattern: Pattern, readings: Sequence[PatternText], answers: str) -> _Cases:
    """The cases of all texts, the same for every model that read them."""
    everywhere, cases = [], np.zeros(len(readings))
    right_rules, mass_rules = np.zeros((2, len(readings), len(_rule_names(answers)) + 1))
    n_candidates = n_found = found_elsewhere = missing_elsewhere = 0
    for i, reading in enumerate(readings):
        mask, candidates = pattern.mask(reading), _candidates(reading, answers)
        found = mask & candidates
        everywhere.append(found)
        n_candidates += np.count_nonzero(candidates)
        n_found += np.count_nonzero(found)
        found_elsewhere += np.count_nonzero(mask & ~candidates)
        missing_elsewhere += np.count_nonzero(~mask & ~candidates)
        asked = np.flatnonzero(found.any(axis=1))
        if not len(asked):
            continue
        cases[i], keys = len(asked), found[asked]
        goals = _rules(reading, answers)[:, asked]
        right_rules[i, :-1] = mass_rules[i, :-1] = (keys[np.arange(len(asked)), goals] & (goals >= 0)).sum(-1)
        right_rules[i, -1] = (keys.sum(1) / candidates[asked].sum(1)).sum()
        mass_rules[i, -1] = keys.sum() / len(reading)
    pairs = np.array([n_candidates, n_found, found_elsewhere, missing_elsewhere])
    return _Cases(everywhere, cases, right_rules, mass_rules, answers, pairs)


def check_pairs(pairs) -> None:
    """Whether a pattern tells anything apart.

    Parameters
    ----------
    pairs : int array of shape (4,)
        Pairs of query and key that can be an answer; those of them that match; those that match but cannot be an answer, and those that neither
        match nor can. Of the parts of a corpus they add up.

    Raises
    ------
    CannotDecide
        Where nothing, or everything, matches.
    """
    n_candidates, n_found, found_elsewhere, missing_elsewhere = pairs
    if not n_candidates:
        raise CannotDecide(worded("no two words"))
    if not n_found:
        reason = worded("no pair")
        raise CannotDecide(worded("matches others", reason=reason) if found_elsewhere else reason)
    if n_found == n_candidates:
        reason = worded("every pair")
        raise CannotDecide(worded("misses others", reason=reason) if missing_elsewhere else reason)


def counted(cases: _Cases, maps: WordMaps) -> PatternCounts:
    """What the heads make of the cases."""
    which = ANSWERS.index(cases.answers)
    right, mass = np.zeros((2, len(maps), *maps.shape))
    for i in np.flatnonzero(cases.cases):
        found = cases.found[i]
        asked = np.flatnonzero(found.any(axis=1))
        right[i] = found[asked, maps.answers[i][which][..., asked]].sum(-1)
        mass[i] = maps.weights[i][:, :, found].sum(-1, dtype=float)
    documents, names = document_numbers(maps.readings), _rule_names(cases.answers)
    return PatternCounts(documents, cases.cases, right, mass, cases.right_rules, cases.mass_rules, names)


def count_cases(pattern: Pattern, maps: WordMaps, answers: str) -> PatternCounts:
    """Go through all texts once. Raises CannotDecide where nothing, or everything, matches."""
    cases = find_cases(pattern, maps.readings, answers)
    check_pairs(cases.pairs)
    return counted(cases, maps)


def count_part(pattern: Pattern, maps: WordMaps, answers: str) -> tuple[PatternCounts, np.ndarray]:
    """The counts of some texts of a corpus, and the pairs that `check_pairs` reads when all parts are added up."""
    cases = find_cases(pattern, maps.readings, answers)
    return counted(cases, maps), cases.pairs


# --- what a pattern can be asked of --------------------------------------------------------------------
def answers_of(pattern: Pattern) -> str:
    """What may answer if nobody says otherwise."""
    return "anything" if pattern.asks_beyond_words() else "words"


def check_corpus(pattern: Pattern, readings: Iterable[PatternText]) -> int:
    """Whether a pattern can be asked of these texts at all, which are gone through once; how many they are.

    Raises
    ------
    ValueError
        With what is missing, or with the tags or relations that there are.
    """
    wanted = {
        column: [(c, a) for c in pattern.conditions() if c.name == name for a in c.arguments]
        for name, column in (("pos", "upos"), ("relation", "relations"))
    }
    there: dict[str, set[str]] = {column: set() for column, asked in wanted.items() if asked}
    n, pairs = 0, False
    for n, reading in enumerate(readings, 1):
        if TREEBANK in pattern.needs and reading.governors is None:
            raise ValueError(needs_treebank([c for c in pattern.conditions() if c.needs == {TREEBANK}]))
        pairs = pairs or any(reading.segments)
        for column, values in there.items():
            values.update(filter(None, getattr(reading, column)))
    if PAIRS in pattern.needs and not pairs:
        asked = ", ".join(dict.fromkeys(repr(c) for c in pattern.conditions() if c.needs == {PAIRS}))
        raise ValueError(worded("needs pairs", conditions=asked))
    for column, values in there.items():
        known = values | {v.partition(":")[0] for v in values} if column == "relations" else values
        for condition, value in wanted[column]:
            if value not in known:
                raise ValueError(
                    f"{condition!r}: no word of these {n} sentences has {value!r}; there are: {', '.join(sorted(values))}."
                )
    return n
