"""How well every head follows a pattern: answers and attention mass, beside offsets, chance and the random twin.

A case is a query for which the pattern has at least one key. *Accuracy*: the share of cases in which the position that
is most looked at is such a key. *Mass*: the mean attention that goes to all such keys together. What may be an answer is
as in `bertlook_teach.analyses.syntax.predictors`: words besides the query itself; special tokens and the query too if the pattern asks
for them. Head and offset are chosen on one half of the documents and scored on the other, both ways; a text that names no document
is one of its own.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace

import numpy as np

from ... import __version__
from ...corpora import document_numbers
from ...disk import Table, align, with_interval
from ...model import head_label
from ...stats import (
    CONFIDENCE,
    LEAST_CASES,
    REPLICATES,
    CannotDecide,
    best_index,
    fair_choice,
    ratio_interval,
)
from ..syntax import ENOUGH_DOCUMENTS, OFFSETS
from .conditions import PAIRS, TREEBANK, PatternText
from .language import Pattern, needs_treebank, parse_pattern
from .readings import WordMaps

ANSWERS = ("words", "anything")  # what a head may answer: other words, or every position

MEASURES = ("accuracy", "mass")


# --- counting ------------------------------------------------------------------------------------------
@dataclass(frozen=True, eq=False)
class PatternCounts:
    """Sums over the cases of each text; all that a score, an interval or a claim needs.

    Attributes
    ----------
    documents : int ndarray of shape (text,)
        The document of each text, counted from 0.
    cases : ndarray of shape (text,)
        Queries for which the pattern has a key.
    right, mass : ndarray of shape (text, layer, head)
        Right answers, and attention to the pattern's keys.
    right_rules, mass_rules : ndarray of shape (text, rule)
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
        member = (np.arange(n)[:, None] == self.documents).astype(float)
        names = ("cases", "right", "mass", "right_rules", "mass_rules")
        sums = {name: np.tensordot(member, getattr(self, name), 1) for name in names}
        return replace(self, documents=np.arange(n), **sums)

    def interval(self, sums: np.ndarray, share: bool = True) -> tuple[float, float]:
        """95 % of sums of each text, divided by the cases."""
        return ratio_interval(np.stack([sums, self.cases], axis=1), share=share)


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


def _find_cases(pattern: Pattern, readings: Sequence[PatternText], answers: str) -> _Cases:
    """Raises CannotDecide where nothing, or everything, matches."""
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
    if not n_candidates:
        raise CannotDecide("no text has two words, and a word does not answer with itself")
    if not n_found:
        hint = "; it matches special tokens or the query itself, which answer only with answers='anything'"
        raise CannotDecide(
            f"the pattern matches no pair of words in any text{hint if found_elsewhere else ''}"
        )
    if n_found == n_candidates:
        hint = "; answers='anything' lets special tokens and the query itself answer too"
        raise CannotDecide(
            f"the pattern matches every pair, so that every head is always right{hint if missing_elsewhere else ''}"
        )
    return _Cases(everywhere, cases, right_rules, mass_rules, answers)


def _count(cases: _Cases, maps: WordMaps) -> PatternCounts:
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
    return _count(_find_cases(pattern, maps.readings, answers), maps)


# --- scoring -------------------------------------------------------------------------------------------
@dataclass(frozen=True, kw_only=True)
class ScoreRow:
    """One measure. Shares between 0 and 1; intervals are 95 % bootstrap intervals over documents (over texts if there are fewer than 20).

    ``value`` is fair: the head is chosen on one half of the documents and scored on the other, both ways. ``in_sample`` is
    the best of all heads on the very texts it is scored on. ``rule`` is the best of the rules that know
    no language, chosen as fairly: always the same offset, always the first or last word, or chance; the mass of a rule is that of a
    head which looks nowhere else. ``chance``: guessing among the candidates; for the mass, even attention.
    """

    measure: str
    n: int
    n_texts: int
    heads: tuple[str, ...]
    value: float
    low: float
    high: float
    rules: tuple[str, ...]
    rule: float
    chance: float
    gain: float
    gain_low: float
    gain_high: float
    in_sample: float
    in_sample_head: str
    twin: float | None = None
    twin_low: float | None = None
    twin_high: float | None = None


@dataclass(frozen=True, eq=False)
class PatternScore(Table):
    """What :func:`score_pattern` found; printed, it is its table.

    Attributes
    ----------
    pattern : Pattern
    rows : tuple of ScoreRow
        Accuracy, then mass.
    accuracy, mass : float ndarray of shape (layer, head)
        Of every head on all texts.
    counts : PatternCounts
    about : dict
    """

    pattern: Pattern
    rows: tuple[ScoreRow, ...]
    accuracy: np.ndarray
    mass: np.ndarray
    counts: PatternCounts = field(repr=False)
    about: dict

    def __getitem__(self, measure: str) -> ScoreRow:
        for row in self.rows:
            if row.measure == measure:
                return row
        raise KeyError(f"measure is accuracy or mass; got {measure!r}.")

    def head_maps(self) -> dict[str, np.ndarray]:
        """For ``HeadMap``: measure -> array of shape (layer, head)."""
        return {"accuracy": self.accuracy, "mass": self.mass}

    def head_rows(self) -> list[dict]:
        """One row for each head: both measures with their intervals, on all texts (of the best of them: too good)."""
        counts = self.counts.by_document()
        rows = []
        for layer, head in np.ndindex(self.accuracy.shape):
            row: dict[str, object] = {"head": head_label(layer, head), "n": int(counts.cases.sum())}
            for measure, sums in (("accuracy", counts.right), ("mass", counts.mass)):
                low, high = counts.interval(sums[:, layer, head])
                row |= {
                    measure: float(self.head_maps()[measure][layer, head]),
                    f"{measure}_low": low,
                    f"{measure}_high": high,
                }
            rows.append(row)
        return rows

    def table(self) -> str:
        """The table in plain characters, shares in per cent."""
        header = [
            "",
            "n",
            "head",
            "value [95 %]",
            "best rule",
            "value",
            "chance",
            "gain [95 %]",
            "twin [95 %]",
            "in-sample",
        ]
        lines = [header]
        for row in self.rows:
            lines.append(
                [
                    row.measure,
                    str(row.n),
                    " / ".join(row.heads),
                    with_interval(row.value, row.low, row.high),
                    " / ".join(row.rules),
                    f"{100 * row.rule:.1f}",
                    f"{100 * row.chance:.1f}",
                    with_interval(row.gain, row.gain_low, row.gain_high),
                    "" if row.twin is None else with_interval(row.twin, row.twin_low, row.twin_high),
                    f"{100 * row.in_sample:.1f} ({row.in_sample_head})",
                ]
            )
        among = "other words" if self.about["answers"] == "words" else "all positions"
        about = (
            f"{self.about['model']}, {self.about['n_texts']} texts, {self.rows[0].n_texts} with a case; "
            f"answers among {among}; chosen on one half, scored on the other."
        )
        legend = "Per cent. Gain: over the best rule. Chance: guessing; for the mass, even attention."
        return "\n".join([repr(self.pattern), self.pattern.in_words(), about, align(lines), legend])

    def sentence(self, measure: str = "accuracy") -> str:
        """What the row says, in words."""
        row = self[measure]
        did = "answers so" if measure == "accuracy" else "gives such keys"
        share = (
            f"in {100 * row.value:.0f} % of {row.n} cases"
            if measure == "accuracy"
            else f"{100 * row.value:.0f} % of its attention in {row.n} cases"
        )
        twin = "" if row.twin is None else f"; the random twin's best head {100 * row.twin:.0f} %"
        return (
            f"The best head ({' / '.join(row.heads)}), chosen on other texts, {did} {share} [{100 * row.low:.0f}, {100 * row.high:.0f}]; "
            f"the best rule ({' / '.join(row.rules)}) {100 * row.rule:.0f} %, chance {100 * row.chance:.0f} %{twin}."
        )

    def __repr__(self) -> str:
        return self.table()


def score_pattern(
    pattern: Pattern | str, maps: WordMaps, twin: WordMaps | None = None, *, answers: str | None = None
) -> PatternScore:
    """Score every head on a pattern, and the best of them fairly.

    Parameters
    ----------
    pattern : Pattern or str
        A str is read by `parse_pattern`.
    maps : WordMaps
        From :func:`word_maps`.
    twin : WordMaps, optional
        Of the randomly initialised twin on the same corpus; its best head is chosen as fairly.
    answers : {"words", "anything"}, optional
        What counts as an answer; default ``"anything"`` if the pattern asks for special tokens or the query itself, else ``"words"``.

    Raises
    ------
    CannotDecide
        If the pattern matches nothing or everything, or the texts of a half have fewer than five cases.
    ValueError
        If it needs a treebank or pairs and there are none, names a tag or relation that no word has, or the twin read other texts.
    """
    pattern = pattern if isinstance(pattern, Pattern) else parse_pattern(pattern)
    answers = answers_of(pattern) if answers is None else answers
    if answers not in ANSWERS:
        raise ValueError(f"answers must be one of {', '.join(ANSWERS)}; got {answers!r}.")
    check_corpus(pattern, maps.readings)
    if twin is not None and [r.words for r in twin.readings] != [r.words for r in maps.readings]:
        raise ValueError("the twin must have read the same texts; make its maps from the same corpus.")
    cases = _find_cases(pattern, maps.readings, answers)
    counts = _count(cases, maps)
    twins = None if twin is None else _count(cases, twin)
    n = [int(counts.cases[counts.documents % 2 == side].sum()) for side in (0, 1)]
    if min(n) < LEAST_CASES:
        raise CannotDecide(
            f"{n[0]} and {n[1]} cases stand in the texts of the two halves; choosing on one half and scoring on the other needs "
            f"{LEAST_CASES} in each: give more texts"
        )
    units, twin_units = counts.by_document(), twins and twins.by_document()
    n_texts = int((counts.cases > 0).sum())
    total = counts.cases.sum()
    return PatternScore(
        pattern,
        tuple(_row(measure, n_texts, units, twin_units) for measure in MEASURES),
        counts.right.sum(0) / total,
        counts.mass.sum(0) / total,
        counts,
        {
            **maps.about,
            "pattern": repr(pattern),
            "in_words": pattern.in_words(),
            "answers": answers,
            "n_texts": len(maps),
            "skipped": dict(maps.skipped),
            "twin": "" if twin is None else twin.about["model"],
            "protocol": "chosen on one half of the documents, scored on the other, both ways",
            "interval": f"{CONFIDENCE:.0%} Poisson bootstrap over {'texts' if units is counts else 'documents'}, {REPLICATES} replicates",
            "version": __version__,
        },
    )


def answers_of(pattern: Pattern) -> str:
    """What may answer if nobody says otherwise."""
    return "anything" if pattern.asks_beyond_words() else "words"


def check_corpus(pattern: Pattern, readings: Sequence[PatternText]) -> None:
    """Whether a pattern can be asked of these texts at all.

    Raises
    ------
    ValueError
        With what is missing, or with the tags or relations that there are.
    """
    if TREEBANK in pattern.needs and readings[0].governors is None:
        raise ValueError(needs_treebank([c for c in pattern.conditions() if c.needs == {TREEBANK}]))
    if PAIRS in pattern.needs and not any(any(r.segments) for r in readings):
        asked = ", ".join(dict.fromkeys(repr(c) for c in pattern.conditions() if c.needs == {PAIRS}))
        raise ValueError(
            f"{asked} asks for two segments, and these texts have one; give pairs of texts (read_pairs, or --pairs FILE)."
        )
    for name, column in (("pos", "upos"), ("relation", "relations")):
        wanted = [(c, a) for c in pattern.conditions() if c.name == name for a in c.arguments]
        if not wanted:
            continue
        there = {value for r in readings for value in getattr(r, column) if value}
        known = there | {value.partition(":")[0] for value in there} if name == "relation" else there
        for condition, value in wanted:
            if value not in known:
                raise ValueError(
                    f"{condition!r}: no word of these {len(readings)} sentences has {value!r}; there are: {', '.join(sorted(there))}."
                )


def _row(measure: str, n_texts: int, counts: PatternCounts, twins: PatternCounts | None) -> ScoreRow:
    n, half, interval = counts.cases.sum(), counts.documents % 2, counts.interval
    of_heads, of_rules, rule_names = counts.of(measure)
    heads, rules = (fair_choice(sums, half, both_ways=True, least=1) for sums in (of_heads, of_rules))
    found, by_rule = heads.reported, rules.reported
    low, high = interval(found)
    gain_low, gain_high = interval(found - by_rule, share=False)
    best = of_heads.sum(0)
    more = {}
    if twins is not None:
        by_twin = fair_choice(twins.of(measure)[0], half, both_ways=True, least=1).reported
        twin_low, twin_high = interval(by_twin)
        more = {"twin": float(by_twin.sum() / n), "twin_low": twin_low, "twin_high": twin_high}
    return ScoreRow(
        measure=measure,
        n=int(n),
        n_texts=n_texts,
        heads=tuple(dict.fromkeys(head_label(*head) for head in heads.chosen)),
        value=float(found.sum() / n),
        low=low,
        high=high,
        rules=tuple(dict.fromkeys(rule_names[rule] for (rule,) in rules.chosen)),
        rule=float(by_rule.sum() / n),
        chance=float(of_rules[:, -1].sum() / n),
        gain=float((found - by_rule).sum() / n),
        gain_low=gain_low,
        gain_high=gain_high,
        in_sample=float(best.max() / n),
        in_sample_head=head_label(*best_index(best)),
        **more,
    )
