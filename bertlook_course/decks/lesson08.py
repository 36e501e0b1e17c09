"""What the slides of lesson 08 show: probes that read all heads together, beside distances, words and a made-up grammar."""

from __future__ import annotations

from dataclasses import replace
from functools import cached_property

import numpy as np

from bertlook_teach import random_twin
from bertlook_teach.stats import ratio_interval
from bertlook_teach.views import Picture, with_minus

from ..analyses import probing
from ..claims import Resources, Verdict, decide, ledger
from ..claims.lessons import lesson08
from ..claims.lessons.lesson08 import SIZES, table_3
from ..corpora import halves_by_document
from ..published import Measured, MeasuredTable, measured_of
from ..render import (
    Estimate,
    TextTable,
    answer_picture,
    count_verdicts,
    figure_picture,
    learning_figure,
    pair_grids,
    points_figure,
    score_cell,
)
from .common import LessonDeck, letter, short_title, subject
from .parts.lesson08_leads import said_ahead, said_alone, said_lead, said_order, said_points

PRINTED = {  # our names of the probes -> those of Table 3 of Clark et al. 2019
    "right-branching": "right-branching",
    "distances and words": "distances + GloVe",
    "random attention and words": "random-init attention + GloVe",
    "attention only": "attention only",
    "attention and words": "attention + GloVe",
}
PAIRS = {"uniform": "any unlinked pair", "distance-matched": "unlinked, same distance"}  # as drawn: as said
PRINTED_PAIRS = 85.8  # per cent of the pairs, Coenen et al. 2019
ENOUGH = 0.95  # of the score with all sentences, where a slide asks how many are enough
CONTROLS = ("right-branching", "distances and words", "random attention and words")


class Deck(LessonDeck):
    """The slides of lesson 08: probes fitted on one half of the treebank's documents, scored on the other.

    Parameters
    ----------
    encoder, twin : Encoder
    beside : Encoder, optional
        A model that stands beside it; left out where it is the same one.
    """

    lesson = "08"

    def __init__(self, encoder, twin, beside=None):
        super().__init__(encoder, twin, Resources(limit=lesson08.N_SENTENCES), beside)
        self.found = lesson08.measured(encoder, twin)
        self.scores, self.probe = self.found.scores, self.found.probe
        self.n_heads = encoder.n_layers * encoder.n_heads

    @cached_property
    def other(self) -> lesson08.Measured | None:
        """The probes of the model beside it, and of its own random twin; None if there is none."""
        return None if self.beside is None else lesson08.measured(self.beside, random_twin(self.beside))

    # ---- weights, question, table -------------------------------------------------------------------------

    @property
    def largest(self) -> tuple[int, int, int]:
        """The largest weight: its direction (0: the governor looks), layer and head."""
        place = int(np.abs(self.probe.between).argmax())
        direction, head = divmod(place, self.n_heads)
        return direction, *divmod(head, self.encoder.n_heads)

    def weight_maps(self) -> dict[str, np.ndarray]:
        """The size of each head's two weights, the direction of the largest first."""
        shape = (2, self.encoder.n_layers, self.encoder.n_heads)
        forth, back = np.abs(self.probe.between).reshape(shape)
        maps = [
            ("Size of the probe's weight, word to governor", back),
            ("Size of the probe's weight, governor to word", forth),
        ]
        return dict(maps if self.largest[0] else reversed(maps))

    def weights_sentence(self) -> str:
        """How many weights there are, and on what they were fitted."""
        return (
            f"BERT-base: 2 · 144 = **288** weights. {self.Subject}: **{2 * self.n_heads}** for words. The root is not a word; `[CLS]` and `[SEP]` "
            f"stand for it, with {len(self.probe.root) // 2} further weights each. The probe is fitted on {self.found.n_train} sentences and "
            f"scored on {self.found.n_test} of other documents."
        )

    def rivals_answer(self) -> str:
        """The strongest control on the model, and what attention leads it by."""
        strongest = max(CONTROLS, key=lambda name: self.scores[name].uas)
        return (
            f"{self.Subject}, {self.found.n_test} sentences: **{'ABC'[CONTROLS.index(strongest)]}**, {strongest}, "
            f"{self.cell(strongest)} %. Attention alone finds {self.cell('attention only')} %: the difference "
            f"is **{said_lead(self.found, '** points')}."
        )

    def cell(self, name: str) -> str:
        """The score of a probe with its interval, per cent."""
        return score_cell(self.scores[name])

    def probes_picture(self) -> Picture:
        """The probes of BERT-base as published, of the model, and of the one beside it, or of the same on a larger treebank."""
        ewt = measured_of(self.encoder, "probes")
        panels = {
            "BERT-base": [(name, printed(name) / 100, None, None) for name in PRINTED],
            self.name: _points_of(self.found),
        }
        measured = {self.subject: self.found}
        if self.other is not None:
            measured[subject(self.beside)] = self.other
            panels[short_title(self.beside)] = _points_of(self.other)
        elif ewt is not None:
            panels["… on EWT"] = [(name, *_on_ewt(ewt, name).share) for name in PRINTED]
        order = said_order(
            {name: {p[0]: p[1] for p in points} for name, points in panels.items()},
            sorted(PRINTED, key=printed),
        )
        said = "; ".join(said_alone(whose, found) for whose, found in measured.items())
        if ewt is not None:
            lead = with_minus(ewt.cell("attention only minus distances and words", "value"))
            said += (
                f"; on EWT the difference is {lead} points ({_words_of(ewt)} words, {ewt.whose}, {ewt.page})"
            )
        picture = figure_picture(
            points_figure(panels, xlabel="UAS, per cent", size=(9.8, 3.4)),
            f"{order} Attention alone, compared with distances and words ({self.found.n_test} sentences): {said}.",
        )
        return replace(picture, wide=True)

    def fits_sentence(self) -> str:
        """How the fits ended; beside another model, what the rival finds with the word vectors of each."""
        fits = self.found.fits
        unfinished = ", ".join(name for name, how in fits.items() if how == probing.NOT_CONVERGED)
        ended = f"not converged: {unfinished}" if unfinished else "converged"
        if self.other is None:
            stopped = ", ".join(how.split()[0] for name, how in fits.items() if name.startswith("distances"))
            seeds = [100 * score.uas for score in self.found.seeds.values()]
            return (
                f"**Distances and words**: 256 units, three seeds ({min(seeds):.1f} to {max(seeds):.1f} %), stopped after {stopped} "
                f"rounds,\nchosen on validation documents. The probes with attention: {ended} (attention only: penalty {self.probe.l2:g})."
            )
        stronger = max((self.found, self.other), key=lambda found: found.scores["distances and words"].uas)
        return (
            f"**Distances and words** reads each model's own word vectors: {100 * self.scores['distances and words'].uas:.0f} % with "
            f"{self.subject}'s, {100 * self.other.scores['distances and words'].uas:.0f} % with {subject(self.beside)}'s. "
            f"Against the stronger of the two, {self.subject}'s attention alone is {said_ahead(self.found, stronger)}."
            f"{f' Fits: {ended}.' if unfinished else ''}"
        )

    # ---- controls -----------------------------------------------------------------------------------------

    @cached_property
    def scored(self) -> list:
        """The sentences that the probes are scored on, as they read them."""
        _, scored = halves_by_document(self.resources.treebank)
        return probing.read_features(self.encoder, scored)

    @cached_property
    def first_word(self) -> float:
        """How much of the made-up grammar the rule "always the first word" finds, per cent."""
        rule = probing.evaluate(
            lambda sentence: np.zeros(len(sentence), int), probing.control_task(self.scored)
        )
        return 100 * rule.uas

    @property
    def controlled(self) -> dict[str, list[probing.AttachmentScore]]:
        """Of two probes the scores on the model, on the random twin, and on a made-up grammar."""
        rows = {
            "attention only": ("attention only", "twin's attention only", "attention only, made up"),
            "attention and words": (
                "attention and words",
                "random attention and words",
                "attention and words, made up",
            ),
        }
        return {name: [self.scores[one] for one in row] for name, row in rows.items()}

    def controls_table(self) -> TextTable:
        """Both probes beside the random twin and the made-up grammar."""
        return TextTable(
            ["probe", *self.models, f"{self.name}, made-up"],
            [[name, *map(score_cell, row)] for name, row in self.controlled.items()],
            f"UAS in per cent [95 %]; n = {self.scores['attention only'].n_words:,} words. With words the twin keeps the trained embeddings.",
        )

    def selectivity_sentence(self) -> str:
        """Whether the attention knows it or the probe, without words and with them."""
        [_, twin, alone], [*_, worded] = (
            [100 * score.uas for score in row] for row in self.controlled.values()
        )
        first = self.first_word
        knows, beside = ("partly the probe", "beats") if alone > first else ("the attention", "stays below")
        learns = worded > first
        return (
            f"**Without words it is {knows}**: with the random twin's attention the probe finds {twin:.1f} %, and on the made-up grammar it "
            f"{beside} “always the first word” ({alone:.1f} against {first:.1f} %). **With words it is "
            f"{'partly the probe' if learns else 'the attention, too'}**: the probe learns {'' if learns else 'only '}{worded:.1f} % of the made-up grammar."
        )

    def shifted_sentence(self) -> str:
        """What it costs to read each candidate with its neighbour's vector, as released."""
        shifted, counts = self.scores["shifted"], self.found.rows["word-probes"][0].values
        cost = 100 * (self.scores["attention and words"].uas - shifted.uas)
        lost = np.stack([counts["words right"] - counts["shifted right"], counts["words"]], axis=1)
        low, high = (100 * end for end in ratio_interval(lost, within=(-1, 1)))
        return (
            f"{self.Subject}, {shifted.n_words:,} words: UAS {100 * self.scores['attention and words'].uas:.1f} % as it should be read, "
            f"{100 * shifted.uas:.1f} % as released. The bug costs **{cost:.1f} points** [{low:.1f}, {high:.1f}]. The printed **77** was "
            "presumably made with it: the released code gives 78.0, and according to its issue tracker about 3 points more without the bug."
        )

    # ---- few sentences, single pairs ----------------------------------------------------------------------

    def few_answer(self) -> str:
        """How many sentences suffice for `ENOUGH` of the score."""
        curve = self.found.curves["attention only"]
        final = curve[self.found.n_train].uas
        needed = next(n for n, score in curve.items() if score.uas >= ENOUGH * final)
        before = max((n for n in curve if n < needed), default=None)
        missed = f"; {before} give {100 * curve[before].uas:.1f} %" if before else ""
        answer = f"**{letter(needed, SIZES[1:])}**" if needed in SIZES else "**None of the four**"
        return (
            f"{answer}: with all {self.found.n_train} sentences {self.subject}'s attention-only probe finds {100 * final:.1f} %; "
            f"{100 * ENOUGH:.0f} per cent of that is {100 * ENOUGH * final:.1f} %. **{needed}** is the first number that is enough: "
            f"{score_cell(curve[needed])} %{missed}."
        )

    def learning_picture(self) -> Picture:
        """The score by the number of sentences fitted on, beside `ENOUGH` of the last one."""
        baseline = ("right-branching", self.scores["right-branching"].uas)
        curves = self.found.curves
        figure = learning_figure(curves, baseline=baseline, enough=("attention only", ENOUGH))
        *_, early, before, last = curves["attention only"]
        first, then = (
            [curve[after].uas - curve[n].uas for curve in curves.values()]
            for n, after in ((early, before), (before, last))
        )
        slowly = "Yes, slowly" if min(then) > 0 else "Hardly" if max(then) < 0.0005 else "Not every curve"
        gained = " and ".join(f"{gain} ({name})" for gain, name in zip(map(said_points, first), curves))
        return figure_picture(
            figure,
            f"{slowly}: from {early} to {before} sentences the score gains, in points, {gained}; the last {last - before} sentences bring "
            f"{' and '.join(map(said_points, then))} (before rounding). {self.Subject}; the bands are 95 % intervals.",
        )

    def pairs_picture(self) -> Picture:
        """What one word gives to another in each head, for a linked pair and another one, and the difference."""
        example = next(sentence for sentence in self.scored if "Forecasters" in sentence.words)
        shape, pairs, apart = (self.encoder.n_layers, self.encoder.n_heads), [], []
        for one, other in (("drier", "weather"), ("drier", "by")):
            i, j = example.words.index(one), example.words.index(other)
            linked = "linked" if example.governors[i] == j else "not linked"
            pairs.append((f"{one} → {other}: {linked}", example.between[i, j, self.n_heads :].reshape(shape)))
            apart.append(f"{j - i} word{'s' * (j - i > 1)} on")
        return pair_grids(
            *pairs,
            f"“{' '.join(example.words[:-1])}”: attention in each of {self.subject}'s {self.n_heads} heads, one row for each layer; darker: more.",
            beneath=apart,
        )

    def pairs_answer(self) -> str:
        """How often the distance alone tells a linked pair from another."""
        rule = self.found.pairs["uniform"][0]
        return (
            f"**{letter(rule.accuracy, (0.6, 0.7, 0.8))}**: {100 * rule.accuracy:.0f} % [{100 * rule.low:.0f}, {100 * rule.high:.0f}] on our "
            f"sentences, n = {rule.n_pairs:,} pairs, punctuation included: more than {int(PRINTED_PAIRS - 100 * rule.accuracy)} points below {PRINTED_PAIRS}, which is BERT-base's on other texts. "
            "The rule has no attention, no model and no words."
        )

    def pairs_table(self) -> TextTable:
        """Linked pairs told from others: by distance, by all heads, by the random twin's."""
        pairs = self.found.pairs
        rows = []
        for name, row in pairs.items():
            cells = (Estimate(100 * s.accuracy, 100 * s.low, 100 * s.high, ".1f") for s in row)
            rows.append([PAIRS[name], f"{row[0].n_pairs:,}", *cells])
        return TextTable(
            ["unlinked pairs", "n", "distance rule", "all heads", "random twin"],
            rows,
            f"Heads of {self.subject}: accuracy in per cent [95 %], chance 50; pairs of {pairs['uniform'][1].n_sentences} sentences.",
        )

    def pairs_sentence(self) -> str:
        """What all heads still find where distances are matched, and the rule and the random twin."""
        rule, heads, twin = (round(100 * score.accuracy) for score in self.found.pairs["distance-matched"])
        ahead = heads - twin
        return (
            f"At the **same distances** the heads still get **{heads} %**, that is {heads - 50} points above chance; the rule gets {rule} %. "
            f"The random twin gets {twin} %, {abs(ahead)} points {'less' if ahead >= 0 else 'more'} than the trained heads."
        )

    # ---- the ledger and the answer ------------------------------------------------------------------------

    @cached_property
    def verdicts(self) -> list[Verdict]:
        """The verdicts on all claims of the lesson, from the probes that the slides show."""
        evidence = self.found.evidence(self.encoder)
        return decide(ledger(self.lesson), self.encoder, twin=self.twin, evidence=evidence)

    def verdict_count(self) -> str:
        """How many claims hold, and what tries them on all documents."""
        return f"{count_verdicts(self.verdicts)} On all documents: `{self.claims_command}`."

    def said_of_pairs(self, drawn: Picture) -> Picture:
        """The picture of claims; what the last row is about."""
        said = " Row 4 is about pairs of words (slide 14): the rule of distance minus the probe of all heads."
        return replace(drawn, caption=drawn.caption + said)

    def answer(self) -> Picture:
        """The lesson's answer."""
        [ahead] = self.verdicts_on("attention-alone-distances")  # attention alone minus distances and words
        rank = {"holds": "less", "does not hold": "as much or more"}.get(ahead.verdict, "about as much")
        alone, words, ewt = "attention only", "distances and words", measured_of(self.encoder, "probes")

        def found(name: str) -> Estimate:
            return replace(score_cell(self.scores[name]), form=".0f", after=" %")

        compared = {f"{self.name}'s attention": found(alone), "baseline: distances, words": found(words)}
        elsewhere = f"BERT-base, printed: {printed(alone):.0f} against {printed(words):.0f}."
        beside, learns = "", 100 * self.scores["attention and words, made up"].uas > self.first_word
        if self.other is not None:
            beside = f", {short_title(self.beside)} {said_lead(self.other)}"
        if ewt is not None:
            whose = "" if ewt.current else f" ({ewt.whose})"
            elsewhere += (
                f" On EWT: {_on_ewt(ewt, alone).value:.0f} against {_on_ewt(ewt, words).value:.0f}{whose}."
            )
        return answer_picture(
            {
                "All heads together find a part of it.": {
                    f"{self.name}'s heads": found(alone),
                    "baseline: the next word": found("right-branching"),
                    "random twin's heads": found("twin's attention only"),
                },
                f"In {self.subject}, distances and words find {rank}.": compared,
                "Words let a probe learn nonsense." if learns else "The probe learns no nonsense.": {
                    "with words, made-up": found("attention and words, made up"),
                    "baseline: the first word": Estimate(self.first_word, form=".0f", after=" %"),
                },
            },
            f"Lead in points: {self.name} {said_lead(self.found)}{beside}. {elsewhere}",
            model=self.name,
        )

    # ---- behind the answer --------------------------------------------------------------------------------

    def punctuation_table(self) -> TextTable:
        """The same probes with and without punctuation."""
        full = self.found.with_punctuation
        return TextTable(
            ["probe", "without punctuation", "with punctuation"],
            [[name, self.cell(name), score_cell(score)] for name, score in full.items()],
            f"UAS of {self.subject}'s probes in per cent [95 %]; {self.scores['attention only'].n_words:,} words, {full['attention only'].n_words:,} with punctuation.",
        )

    def punctuation_sentence(self) -> str:
        """What punctuation changes."""
        without, with_marks = (
            found["attention only"].uas for found in (self.scores, self.found.with_punctuation)
        )
        return f"{self.Subject}'s attention alone finds {100 * without:.0f} % without punctuation, {100 * with_marks:.0f} % with it. **Never print a UAS without its rule.**"

    def links_table(self) -> TextTable:
        """Undirected links: each word with the next, and the structural probe."""
        links, fits = self.found.links, self.found.fits
        trained = "; ".join(
            f"{name.rpartition(', ')[2]}: {how.partition(', chosen')[0]}"
            for name, how in fits.items()
            if name.startswith("structural")
        )
        chain = links["each word with the next"]
        return TextTable(
            [f"undirected links, {self.name}", "UUAS [95 %]"],
            [[name, Estimate(100 * s.uuas, 100 * s.low, 100 * s.high, ".1f")] for name, s in links.items()],
            f"UUAS of {self.subject}'s vectors: the share of links found, without direction. No punctuation; {chain.n_links:,} links of {chain.n_sentences} sentences. Stopped on validation documents ({trained}). BERT-base, printed: {table_3('structural probe'):.0f}, one layer.",
        )


def _on_ewt(table: MeasuredTable, name: str) -> Measured:
    """The score of a probe on a larger treebank: docs/results.md."""
    return table.value(
        "attention and words, random attention" if name.startswith("random") else name, "value"
    )


def _words_of(table: MeasuredTable) -> str:
    """How many words were scored there."""
    return table.cell("attention and words minus distances and words", "n")


def _points_of(found: lesson08.Measured) -> list[tuple]:
    """The probes of one panel, as `points_figure` takes them."""
    return [(name, s.uas, s.low, s.high) for name, s in ((name, found.scores[name]) for name in PRINTED)]


def printed(name: str) -> float:
    """The published UAS of a probe of BERT-base, per cent."""
    return table_3(PRINTED[name])
