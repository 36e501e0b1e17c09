"""What the slides of lesson 13 show: eleven claims of an essay, decided on the deck's model and on what was published of BERT-base."""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import replace
from functools import cached_property

import numpy as np

from bertlook_teach import stats
from bertlook_teach.views import Picture

from ..analyses.anatomy import attention_against_importance
from ..analyses.patterns import ScoreRow, score_pattern, word_maps
from ..claims import (
    REGISTER,
    Verdict,
    best_split,
    category_shares,
    collect_evidence,
    decide,
    explained_by_split,
    ledger,
    split_p,
    try_published,
)
from ..claims.lessons import lesson13
from ..published import published_heads
from ..render import (
    Estimate,
    TextTable,
    clauses_picture,
    count_verdicts,
    figure_picture,
    holm_figure,
    outcome_picture,
    outcome_table,
    phases_figure,
    register_picture,
    trial_picture,
    why_lines,
)
from ..storage import with_interval
from .common import LessonDeck

ON_SLIDES = (1, 5, 6, 7)  # claims 2, 6, 7, 8: those that the slides before the answer are about

CUTS = (4, 10)  # the layers after which the essay ends a phase

# What was published in place of what is registered.
_SUBSTITUTES = {"13-looks-where-it-matters-less": "over 12 layer means, not over heads as registered"}


class Deck(LessonDeck):
    """The slides of lesson 13, on what a class has time for."""

    lesson = "13"

    def __init__(self, encoder, twin):
        super().__init__(encoder, twin, lesson13.class_resources())

    # ---- the register -------------------------------------------------------------------------------------

    @cached_property
    def outcomes(self) -> list[Verdict]:
        """What becomes of the registered claims on the model, corrected for their number."""
        return decide(REGISTER, self.encoder, twin=self.twin, resources=self.resources, correct="holm")

    @cached_property
    def printed(self) -> list[Verdict]:
        """The same from the published numbers of BERT-base."""
        return try_published()

    def outcomes_on_slides(self) -> Picture:
        """What becomes of the four claims that the slides are about."""
        return outcome_picture([self.outcomes[i] for i in ON_SLIDES])

    def other_outcomes(self) -> Picture:
        """What becomes of the others."""
        return outcome_picture([one for i, one in enumerate(self.outcomes) if i not in ON_SLIDES])

    def published_outcomes(self) -> Picture:
        """What becomes of those that published numbers can decide."""
        found = [one for one in self.printed if one.n]
        corrected = {
            one.claim.key: f"{one.claim.title}: {one.why}"
            for one in found
            if _outcome(one) == "undecided" and one.p == 1
        }
        return outcome_picture(found, remarks=_SUBSTITUTES | corrected)

    def both_outcomes(self) -> Picture:
        """Our verdicts and those from published numbers side by side."""
        return trial_picture(self.outcomes, self.printed, self.name, remarks=_SUBSTITUTES)

    def why_undecided(self) -> str:
        """Why some of the four are undecided; why the last came out as it did if none is."""
        four = [self.outcomes[i] for i in ON_SLIDES]
        return why_lines([one for one in four if _outcome(one) == "undecided"] or four[-1:])

    # ---- weight against importance ------------------------------------------------------------------------

    @cached_property
    def importance(self) -> dict[str, float]:
        """Rank correlation of what heads give to [SEP] and what a change there would cost, on the class's texts."""
        return _weight_against_gradient(collect_evidence("importance", self.encoder, self.resources))

    def importance_table(self) -> TextTable:
        """The correlations, and what was published of twelve layers."""
        rows = [
            [f"{self.name}, {name}", Estimate(value, form="+.2f")] for name, value in self.importance.items()
        ]
        of_layers = Estimate(-self.printed[7].value, form="+.2f")
        return TextTable(
            ["weight against gradient on [SEP]", "rank correlation"],
            [*rows, ["BERT-base, over 12 layers (published)", of_layers]],
            "Over heads: each minus its layer's mean. Given norm: with the length of f(x) held fixed. For BERT-base "
            "that length was not published by layer.",
        )

    def importance_elsewhere(self) -> str:
        """The correlation on other texts, and how much of it is the length of a vector."""
        n_inputs = collect_evidence("importance", self.encoder, self.resources).n
        all_pairs = collect_evidence("importance", self.encoder)
        elsewhere = _weight_against_gradient(all_pairs)["over heads"]
        reporting = -self.outcomes[7].value
        rho, given_norm = self.importance["over heads"], self.importance["over heads given norm"]
        if abs(given_norm) < abs(rho) / 3:
            how = "mostly"
        else:
            how = "in part" if abs(given_norm) < abs(rho) else "not"
        small = max(map(abs, (rho, reporting, elsewhere))) < 0.2
        return (
            f"Over heads: **{rho:+.2f}** on all {n_inputs} inputs, {reporting:+.2f} on the half that decides (slide 9 turns the "
            f"sign), {elsewhere:+.2f} on the {all_pairs.n} inputs of lesson 4. With the norm held fixed, {rho:+.2f} becomes "
            f"{given_norm:+.2f}: {how} a short vector"
            f"{': what moves by that much is near 0' if small else ''}."
        )

    # ---- a pattern of our own -----------------------------------------------------------------------------

    @cached_property
    def maps(self):
        """What the model's heads look at in each sentence of the treebank."""
        return word_maps(self.encoder, self.resources.treebank)

    @cached_property
    def twin_maps(self):
        """The same for the random twin."""
        return word_maps(self.twin, self.resources.treebank)

    def pattern_row(self, pattern) -> ScoreRow:
        """How often the best head finds what a pattern asks for, beside the best distance, chance and the twin."""
        return score_pattern(pattern, self.maps, self.twin_maps)["accuracy"]

    # ---- the ledger and the answer ------------------------------------------------------------------------

    def verdicts_beside(self, row: ScoreRow) -> str:
        """How many claims hold, and where other slides have another verdict or more sentences, and why."""
        hunter, own = self.verdicts_on("cls-hunter", "own-determiners")
        corrected = self.outcomes[ON_SLIDES[0]]
        two_rules = (
            ""
            if corrected.verdict == hunter.verdict
            else f" The ledger takes each claim alone; slide 9 corrects for eleven, so *[CLS] hunts* is {_outcome(corrected)} there."
        )
        return (
            f"{count_verdicts(self.verdicts)}{two_rules} The rest: `{self.claims_command}`, which reads more texts and may decide "
            f"otherwise. For determiners the ledger reads {own.n} sentences; slide 16 has {row.n_texts}."
        )

    def answer(self, row: ScoreRow) -> str:
        """The lesson's question, answered in three lines."""
        gain = f"{100 * row.gain:+.1f} points [{100 * row.gain_low:+.1f}, {100 * row.gain_high:+.1f}]"
        if row.gain_low > 0:
            sure = ", above 0"
        else:
            sure = "; the interval contains 0" if row.gain_high >= 0 else ""
        return (
            f"- **On {self.subject}**, of {len(self.outcomes)}: supported {_titles(self.outcomes, 'supported')}; refuted "
            f"{_titles(self.outcomes, 'refuted')}; the others undecided.\n"
            f"- **BERT-base, published numbers:** supported {_titles(self.printed, 'supported')}; refuted "
            f"{_titles(self.printed, 'refuted')}. Importance was published by layer, not by head.\n"
            f"- **Our own:** the best head minus the best distance, for a determiner's noun: {gain}{sure}."
        )


def claims_on_slides() -> Picture:
    """The four claims that the slides are about: statistic, what it needs, and what would refute it."""
    measured = {one.key: one.operational.replace("- rank", "minus the rank") for one in ledger("13")}
    claims = [REGISTER[i] for i in ON_SLIDES]
    shown = [replace(claim, refuted_if=re.sub(r" \([^)]*\)", "", claim.refuted_if)) for claim in claims]
    return register_picture(shown, measured)


def other_claims() -> Picture:
    """The register without these four."""
    return register_picture([one for i, one in enumerate(REGISTER) if i not in ON_SLIDES])


def holm_picture(p: np.ndarray, corrected: np.ndarray) -> Picture:
    """How often chance wins one of eleven tests, and four made-up p before and after Holm's correction."""
    tests = len(REGISTER)
    left = (corrected < 0.05).sum()
    return figure_picture(
        holm_figure(p, corrected, tests),
        f"Left: of {tests} independent tests of false claims at least one passes in {100 * (1 - 0.95**tests):.0f} % of the cases. "
        f"Right: four made-up p; the other {tests - len(p)} are 1. Below .05 before: {(p < 0.05).sum()}; after: {left}, in blue.",
    )


def smallest_p() -> str:
    """The smallest p that can come out of the register."""
    drawn = stats.REPLICATES + 1
    return f"**p = {len(REGISTER) / drawn:.3f}** is the smallest p after correction here: 1 / {drawn}, times {len(REGISTER)}."


def two_heads() -> Picture:
    """Two made-up heads, one that looks near and one that stays in its clause, beside moved boundaries."""
    lengths = [3, 4]
    distance = np.arange(7)[None] - np.arange(7)[:, None]
    clause = np.repeat([0, 1], lengths)
    scores = {
        "looks near": np.exp(-np.abs(distance)),
        "stays in its clause": (clause[:, None] == clause).astype(float),
    }
    heads = {name: score / score.sum(axis=1, keepdims=True) for name, score in scores.items()}
    return clauses_picture(heads, lengths)


def phases_question() -> str:
    """How much do the best two cuts of a straight slope explain?"""
    share = explained_by_split(_bert_base_shares(), CUTS)
    return (
        f"In BERT-base the essay's cuts, after layers 4 and 10, explain **{100 * share:.0f} %** of how layers differ in their "
        "shares of `[CLS]`, `[SEP]`, punctuation and the rest. Is that impressive?\n\n"
        "Take a **straight slope** over 12 layers, with no phases at all. How much do *its* best two cuts explain?"
    )


def phases_picture() -> Picture:
    """BERT-base's layers with the essay's cuts, beside what the best cuts explain there and on a straight slope."""
    shares = _bert_base_shares()
    (cuts, best), (ends, slope) = best_split(shares), best_split(_straight_slope())
    p, _ = split_p(shares, CUTS)
    return figure_picture(
        phases_figure(shares, CUTS, beside=("a straight slope", _straight_slope()[:, 0], ends)),
        f"BERT-base (Clark et al. 2019): cuts after layers {cuts[0]} and {cuts[1]} explain {100 * best:.1f} %, p = {p:.4f}. A straight slope: "
        f"{100 * slope:.1f} %, though it has no phases; bars: their means.",
    )


def phases_answer() -> str:
    """The letter of the nearest answer, and the number."""
    share = best_split(_straight_slope())[1]
    nearest = "ABCD"[np.abs(np.array([0.25, 0.5, 0.75, 0.9]) - share).argmin()]
    return f"The answer: **{nearest}** ({100 * share:.0f} %). Shuffled layers are a weak null model: anything *smooth* beats them."


def pattern_table(row: ScoreRow) -> TextTable:
    """Our own pattern: the best head, the best distance, guessing and the random twin."""

    def per_cent(*shares):
        return Estimate(*(100 * share for share in shares), form=".1f")

    return TextTable(
        ["accuracy of", "right, % [95 %]"],
        [
            [f"best head ({' / '.join(row.heads)})", per_cent(row.value, row.low, row.high)],
            [f"best fixed distance ({' / '.join(row.rules)})", per_cent(row.rule)],
            ["guessing", per_cent(row.chance)],
            ["best head of the random twin", per_cent(row.twin, row.twin_low, row.twin_high)],
        ],
        f"Gain over the distance: {with_interval(row.gain, row.gain_low, row.gain_high)} points. {row.n} cases in "
        f"{row.n_texts} sentences; chosen on one half, scored on the other, both ways.",
    )


def _weight_against_gradient(evidence) -> dict[str, float]:
    means = (evidence.values[f"{name}_sep"].mean(axis=0) for name in ("weight", "grad", "norm"))
    return attention_against_importance(*means)


def _bert_base_shares() -> np.ndarray:
    return category_shares({kind: published_heads(kind) for kind in ("cls", "sep", "punct")})


def _straight_slope() -> np.ndarray:
    return np.arange(12.0)[:, None]


def _outcome(verdict: Verdict) -> str:
    """The verdict as the tables of outcomes say it: "supported", "refuted" or "undecided"."""
    return outcome_table([verdict]).rows[0][-1].partition(" ")[2]


def _titles(verdicts: Iterable[Verdict], outcome: str) -> str:
    """The titles of the claims that came out so, without their numbers."""
    found = [verdict.claim.title.partition(" ")[2] for verdict in verdicts if outcome == _outcome(verdict)]
    return ", ".join(f"*{title}*" for title in found) or "none"
