"""What the model of lesson 07 answers to sentences in which one pronoun means one of two people."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from math import comb
from typing import NamedTuple

import numpy as np

from bertlook_teach.model import head_label
from bertlook_teach.stats import ratio_interval
from bertlook_teach.views import Picture

from ...analyses.coreference import PRONOUN_BASELINES, both_right, pronoun_table
from ...published import MeasuredTable
from ...render import Estimate, TextTable
from ..pictures.lesson07 import pronoun_pairs_picture

BOTH_BY_GUESSING = 0.25  # share of the pairs
SETS = ("Winogender", "GAP", "WinoBias")  # as docs/results.md names sets of pronouns with two candidates


class AskedPairs(NamedTuple):
    """Pairs of sentences in which one pronoun means one of two people, and what each head answers.

    Attributes
    ----------
    cases : list
        The sentences that could be asked.
    right : array of shape (case, direction, layer, head)
    both : array of shape (direction, layer, head)
        In which share of the pairs both sentences are right.
    n_pairs : int
    whose : str
        The model, as the subject of a sentence.
    """

    cases: Sequence
    right: np.ndarray
    both: np.ndarray
    n_pairs: int
    whose: str

    @property
    def rules(self) -> Mapping[str, float]:
        """In which share of the pairs each rule is right in both sentences."""
        return {
            name: float(both_right([rule(c) == c.answer for c in self.cases], self.cases)[0])
            for name, rule in PRONOUN_BASELINES.items()
        }

    @property
    def best(self) -> tuple[int, int, int]:
        """Direction, layer and head of the reading that is right in most pairs."""
        return tuple(int(i) for i in np.unravel_index(self.both.argmax(), self.both.shape))

    @property
    def interval(self) -> tuple[float, float]:
        """95 % interval of the best reading's share, over sentences: *she* and *he* in one sentence are one case."""
        hits = self.right[(slice(None), *self.best)]
        totals = []  # of each sentence, its pairs and how many of them are right
        for name in sorted({c.pair for c in self.cases}):
            members = [i for i, c in enumerate(self.cases) if c.pair == name]
            share, n = both_right(hits[members], [self.cases[i] for i in members])
            totals.append([share * n, n])
        return ratio_interval(totals)

    @property
    def luckiest(self) -> float:
        """What the best of as many guessers as there are readings gets on average: its share of the pairs."""
        n, chance = self.n_pairs, BOTH_BY_GUESSING
        exactly = [comb(n, k) * chance**k * (1 - chance) ** (n - k) for k in range(n)]
        return float(1 - (np.cumsum(exactly) ** self.both.size).mean())

    @property
    def said_both(self) -> str:
        """In how many pairs the best reading is right in both sentences, with the interval."""
        n_right = round(float(self.both.max()) * self.n_pairs)
        return (
            f"In {n_right} of our {self.n_pairs} pairs ({Estimate.per_cent(self.both.max(), *self.interval)} %) "
            f"{self.whose}'s best head ({head_label(*self.best[1:])}, chosen on them) is right in both sentences"
        )

    @property
    def said_rivals(self) -> str:
        """What chance gives: one guesser, and the luckiest of as many as there are readings."""
        return (
            f"a coin would be in {100 * BOTH_BY_GUESSING:.0f} %. Each of {self.both[0].size} heads can be read in two directions, "
            f"so the fair rival is the luckiest of {self.both.size} coins: about {100 * self.luckiest:.0f} %."
        )

    def examples(self) -> Picture:
        """Two pairs, and whom the pronoun means in each."""
        shown = {("baker.driver", "female"), ("guard.visitor", "male")}
        return pronoun_pairs_picture([c for c in self.cases if (c.pair, c.group) in shown])

    def table(self) -> TextTable:
        """Rules and the best head: right in a sentence, and in both of a pair."""
        shares = {name: [share] for name, share in self.rules.items()}
        shares["best head"] = [self.both.max(), *self.interval]
        rows = [row for row in pronoun_table(self.right, self.cases) if row.group == "all"]
        [best] = (row for row in rows if row.predictor == "best head")
        clear = "" if best.low > 0.5 else "Not clearly here. "
        return TextTable(
            ["predictor", f"right, n = {len(self.cases)}", f"both of a pair, n = {self.n_pairs}"],
            [
                [
                    row.predictor,
                    Estimate.per_cent(row.accuracy, row.low, row.high),
                    Estimate.per_cent(*shares[row.predictor]),
                ]
                for row in rows
            ]
            + [["guessing", Estimate(50.0, form=".0f"), Estimate(25.0, form=".0f")]],
            f"{clear}Lines: 95 %, over sentences. For “right”, the best head is chosen fairly. {self.said_both}; {self.said_rivals}",
        )

    def beside_larger_sets(self, found: MeasuredTable) -> TextTable:
        """The best head and the nearer candidate, on these pairs and on the larger sets of docs/results.md."""
        right = {row.predictor: row for row in pronoun_table(self.right, self.cases) if row.group == "all"}
        head, nearer = right["best head"], right[next(iter(PRONOUN_BASELINES))]
        rows = [
            [
                f"our sentences, n = {len(self.cases)}",
                *(Estimate.per_cent(r.accuracy, r.low, r.high) for r in (head, nearer)),
            ]
        ]
        for data in SETS:
            cells = (Estimate.per_cent(*found.value(data, who).share) for who in ("best head", "nearer"))
            rows.append([f"{data}, n = {found.cell(data, 'n')}", *cells])
        return TextTable(
            ["pronouns with two candidates", "best head", "nearer candidate"],
            rows,
            f"Lines: 95 %. {self.said_both}; {self.said_rivals}",
        )
