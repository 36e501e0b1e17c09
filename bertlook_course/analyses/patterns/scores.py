"""How well every head follows a pattern: answers and attention mass, beside offsets, chance and the random twin.

A case is a query for which the pattern has at least one key. *Accuracy*: the share of cases in which the position that
is most looked at is such a key. *Mass*: the mean attention that goes to all such keys together. What may be an answer is
as in `bertlook_course.analyses.syntax.predictors`: words besides the query itself; special tokens and the query too if the pattern asks
for them. Head and offset are chosen on one half of the documents and scored on the other, both ways; a text that names no document
is one of its own.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

import numpy as np

from bertlook_teach import __version__
from bertlook_teach.disk import Table
from bertlook_teach.model import head_label
from bertlook_teach.stats import CONFIDENCE, REPLICATES

from ...metrics import LEAST_CASES, CannotDecide, best_index, fair_choice
from ...storage import interval, tabulate
from .counting import (
    ANSWERS,
    PatternCounts,
    answers_of,
    check_corpus,
    check_pairs,
    column_of,
    counted,
    find_cases,
    total_of,
)
from .language import Pattern, parse_pattern
from .readings import WordMaps

MEASURES = ("accuracy", "mass")


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
                low, high = counts.interval(column_of(sums, (layer, head)))
                row |= {
                    measure: float(self.head_maps()[measure][layer, head]),
                    f"{measure}_low": low,
                    f"{measure}_high": high,
                }
            rows.append(row)
        return rows

    def table(self) -> str:
        """The table in plain characters, shares in per cent."""
        cells = {
            "": "measure",
            "n": "n",
            "head": lambda row: " / ".join(row["heads"]),
            "value [95 %]": interval(value="value"),
            "best rule": lambda row: " / ".join(row["rules"]),
            "value": lambda row: f"{100 * row['rule']:.1f}",
            "chance": lambda row: f"{100 * row['chance']:.1f}",
            "gain [95 %]": interval("gain"),
            "twin [95 %]": interval("twin"),
            "in-sample": lambda row: f"{100 * row['in_sample']:.1f} ({row['in_sample_head']})",
        }
        among = "other words" if self.about["answers"] == "words" else "all positions"
        about = (
            f"{self.about['model']}, {self.about['n_texts']} texts, {self.rows[0].n_texts} with a case; "
            f"answers among {among}; chosen on one half, scored on the other."
        )
        table = tabulate(map(vars, self.rows), cells)
        legend = "Per cent. Gain: over the best rule. Chance: guessing; for the mass, even attention."
        return "\n".join([repr(self.pattern), self.pattern.in_words(), about, table, legend])

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
    answers = _checked_answers(pattern, answers)
    check_corpus(pattern, maps.readings)
    if twin is not None and [r.words for r in twin.readings] != [r.words for r in maps.readings]:
        raise ValueError("the twin must have read the same texts; make its maps from the same corpus.")
    cases = find_cases(pattern, maps.readings, answers)
    check_pairs(cases.pairs)
    return score_counts(
        pattern,
        counted(cases, maps),
        None if twin is None else counted(cases, twin),
        answers=answers,
        about=maps.about,
        skipped=maps.skipped,
        twin="" if twin is None else twin.about["model"],
    )


def _checked_answers(pattern: Pattern, answers: str | None) -> str:
    answers = answers_of(pattern) if answers is None else answers
    if answers not in ANSWERS:
        raise ValueError(f"answers must be one of {', '.join(ANSWERS)}; got {answers!r}.")
    return answers


def score_counts(
    pattern: Pattern,
    counts: PatternCounts,
    twins: PatternCounts | None = None,
    *,
    answers: str,
    about: Mapping,
    skipped: Mapping[str, int],
    twin: str = "",
) -> PatternScore:
    """The score of counts that are at hand: what `score_pattern` makes of maps.

    Parameters
    ----------
    pattern : Pattern
    counts, twins : PatternCounts
        Of a model and of its randomly initialised twin on the same texts.
    answers : {"words", "anything"}
        As they were counted.
    about : dict
        Of the model.
    skipped : dict of reason -> number of texts
    twin : str
        Its name.

    Raises
    ------
    CannotDecide
        If the texts of a half have fewer than five cases.
    """
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
        total_of(counts.right) / total,
        total_of(counts.mass) / total,
        counts,
        {
            **about,
            "pattern": repr(pattern),
            "in_words": pattern.in_words(),
            "answers": answers,
            "n_texts": len(counts.cases),
            "skipped": dict(skipped),
            "twin": twin,
            "protocol": "chosen on one half of the documents, scored on the other, both ways",
            "interval": f"{CONFIDENCE:.0%} Poisson bootstrap over {'texts' if units is counts else 'documents'}, {REPLICATES} replicates",
            "version": __version__,
        },
    )


def _row(measure: str, n_texts: int, counts: PatternCounts, twins: PatternCounts | None) -> ScoreRow:
    n, half, interval = counts.cases.sum(), counts.documents % 2, counts.interval
    of_heads, of_rules, rule_names = counts.of(measure)
    heads, rules = (fair_choice(sums, half, both_ways=True, least=1) for sums in (of_heads, of_rules))
    found, by_rule = heads.reported, rules.reported
    low, high = interval(found)
    gain_low, gain_high = interval(found - by_rule, within=(-1, 1))
    best = total_of(of_heads)
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
        chance=float(total_of(of_rules)[-1] / n),
        gain=float((found - by_rule).sum() / n),
        gain_low=gain_low,
        gain_high=gain_high,
        in_sample=float(best.max() / n),
        in_sample_head=head_label(*best_index(best)),
        **more,
    )
