"""Slides of lesson 06: heads against fixed distances, relation by relation."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from functools import cache, cached_property, partial

import numpy as np

from bertlook_teach.model import Attention, parse_head_label
from bertlook_teach.views import Picture

from ..analyses.syntax import (
    RelationTable,
    best_of_many,
    collect_answers,
    score_relations,
)
from ..claims import Verdict, decide, ledger
from ..claims.lessons.lesson06 import RELATIONS, relation_evidence, shown_answers, shown_relations
from ..corpora import TreebankSentence
from ..published import GUM_RELATIONS, measured_of, published_gum_arcs, published_table_1
from ..render import (
    Estimate,
    TextTable,
    answer_picture,
    best_of_figure,
    choices_cell,
    figure_picture,
    flattery_table,
    gain_figure,
    relation_bars_figure,
    relation_gains,
    signed_gain,
)
from .common import LessonDeck, letter, short_title, subject

_MANY_ARCS = 10  # sentences that the arc view offers
_HEADS = (1, 6, 36, 72, 144, 288)  # from which the best is chosen
_FIGURE_5 = {  # relation: two words of the recorded text that have it, from the one that looks to the other
    "dobj": ("street", "cross"),
    "det": ("the", "cat"),
    "poss": ("my", "dog"),
    "auxpass": ("was", "tired"),
    "pobj": ("on", "mat"),
}


def figure_5(recording, relations: Sequence[str] = tuple(_FIGURE_5)) -> dict:
    """Heads of Clark et al. (2019), Figure 5, as choices of a `RecordedExplorer`, on texts of a recording of BERT-base.

    The map beside each head measures what the head shows, so the heads that rival it can be seen.
    """
    from bertlook_teach.views import default_measures  # loads the views

    tired = next(text for text in recording if "cross the street" in text)
    cats = ("the cat sat on the mat", "the cat lay on the rug")
    dog = ("my dog is cute", "he likes eating")
    texts = {"dobj": tired, "det": cats, "poss": dog, "auxpass": tired, "pobj": cats}
    choices, measures = {}, {}
    for name in relations:
        row, text, words = published_table_1()[name], texts[name], _FIGURE_5[name]
        label = f"{row.head} {name}: {row.code_accuracy:.0f} %, by distance {row.code_baseline:.0f} %"
        measure = f"{words[0]} \u2192 {words[1]}"
        measures[measure] = partial(_from_word_to_word, words=words)
        choices[label] = (text, *parse_head_label(row.head), recording[text].tokens.index(words[0]), measure)
    return {
        "sentences": [tired, cats, dog],
        "choices": choices,
        "measures": measures | default_measures(),
        "hide_special": True,
    }


def _from_word_to_word(attention: Attention, *, words: tuple[str, str]) -> np.ndarray:
    """What each head gives from the one word to the other, each where it first stands: shape (layer, head); 0 in a text without them."""
    tokens = list(attention.tokens)
    if not set(words) <= set(tokens):
        return np.zeros(attention.weights.shape[:2])
    return np.asarray(attention.weights)[:, :, tokens.index(words[0]), tokens.index(words[1])]


def printed_gains() -> dict[str, float]:
    """BERT-base's gain over the best offset by the authors' code, of "all" and each relation, the largest first."""
    table = published_table_1()
    rows = [table[name] for name in ("all", *RELATIONS)]
    gains = {row.relation: row.code_accuracy - row.code_baseline for row in rows}
    return dict(sorted(gains.items(), key=lambda one: -one[1]))


def printed_gain_picture() -> Picture:
    """BERT-base's gains over the best fixed distance, Table 1 of Clark et al. (2019)."""
    gains = printed_gains()
    most, least = next(iter(gains)), list(gains)[-1]
    return figure_picture(
        gain_figure(
            {"BERT-base, best of 288 (authors' code)": gains},
            list(gains),
        ),
        f"Most: {most} {signed_gain(gains[most], 1)} points; least: {least} {signed_gain(gains[least], 1)}. "
        "The printed slip for auxpass is corrected.",
    )


@cache
def flattery() -> dict[str, list[float]]:
    """What the best of 1, 6, ... 288 heads seems to reach on 25, 100 and 1000 cases if each is right in one case of ten."""
    return {f"{n} cases": [best_of_many(k, n, 0.1)[0] for k in _HEADS] for n in (25, 100, 1000)}


def flattery_picture(said: str = "") -> Picture:
    """The same as curves; the sentence below them may be another."""
    few, more, many = (f"{100 * curve[-1]:.0f} %" for curve in flattery().values())
    return figure_picture(
        best_of_figure(flattery(), _HEADS, level=0.1, ylabel="accuracy of the best"),
        said
        or f"The best of 288 equal competitors seems to reach {few} on 25 cases, {more} on 100 and "
        f"{many} on 1000; on new cases it falls back to 10 %.",
    )


def _gains(table: RelationTable, names: Sequence[str]) -> dict[str, tuple[float, float, float]]:
    rows = {name: table[name] for name in names if name in table}
    return {name: (100 * row.gain, 100 * row.gain_low, 100 * row.gain_high) for name, row in rows.items()}


# --- what the models found -----------------------------------------------------------------------------------
class Deck(LessonDeck):
    """The slides of lesson 06, on sentences of a treebank.

    Relations with fewer than ten cases get no row in a table.

    Parameters
    ----------
    encoder, twin : Encoder
    treebank : sequence of TreebankSentence
    beside : Encoder, optional
        A model that stands beside it in pictures and tables; left out where it is the same one.
    """

    lesson = "06"

    def __init__(self, encoder, twin, treebank: Sequence[TreebankSentence], beside=None):
        super().__init__(encoder, twin, beside=beside)
        self.treebank = treebank
        self.answers, self.twin_answers = (shown_answers(model, treebank) for model in (encoder, twin))

    def _scored(self, scheme: str) -> RelationTable:
        return shown_relations(self.answers, self.twin_answers, scheme)

    @cached_property
    def other(self) -> RelationTable | None:
        """Heads of the model beside it, in the Stanford scheme, without p-values; None if there is none."""
        if self.beside is None:
            return None
        return score_relations(
            shown_answers(self.beside, self.treebank), scheme="stanford", permutations=0, min_cases=10
        )

    @cached_property
    def ud(self) -> RelationTable:
        """Heads against distances in Universal Dependencies, with the twin."""
        return self._scored("ud")

    @cached_property
    def stanford(self) -> RelationTable:
        """The same in the Stanford scheme."""
        return self._scored("stanford")

    @cached_property
    def verdicts(self) -> list[Verdict]:
        """Verdicts on the lesson's claims, from the answers that were collected for the tables."""

        def evidence(encoder, resources):
            return relation_evidence(self.answers if encoder is self.encoder else self.twin_answers)

        return decide(ledger("06"), self.encoder, twin=self.twin, evidence={"relations": evidence})

    @cached_property
    def winners(self) -> list[str]:
        """Relations of Table 1 whose best head is better than the best offset, with the whole interval above 0."""
        return [name for name in self.scored if self.stanford[name].gain_low > 0]

    @property
    def scored(self) -> list[str]:
        """Relations of Table 1 that are frequent enough here."""
        return [name for name in RELATIONS if name in self.stanford]

    @property
    def rarest(self):
        """The row of the relation with the fewest cases."""
        return min(self.stanford.rows, key=lambda row: (row.n, row.relation))

    @property
    def readings(self) -> int:
        """Heads, each read in two ways."""
        return 2 * self.encoder.n_layers * self.encoder.n_heads

    def arc_view(self):
        """`bertlook_course.widgets.ArcView` of ten short sentences with many determiners, opened on one with a right and a wrong answer."""
        from ..widgets import ArcView

        short = [
            i
            for i, s in enumerate(self.treebank)
            if "det" in s.relations and len(s) < 12 and sum(map(len, s.words)) < 46
        ]
        short.sort(
            key=lambda i: (-self.treebank[i].relations.count("det"), -sum(map(len, self.treebank[i].words)))
        )
        short = short[:_MANY_ARCS]
        best = self.ud["det"].in_sample_choice
        view = ArcView(
            [self.treebank[i] for i in short],
            [self.answers.of(i) for i in short],
            layer=best.layer,
            head=best.head,
            direction=best.direction,
            relation="det",
        )
        for view.sentence in range(len(short)):
            if len({arc["answer"] == arc["governor"] for arc in view.arcs()["arcs"]}) == 2:
                return view
        view.sentence = 0
        return view

    def said_winners(self) -> str:
        """The answer to: for how many relations is the best head better than the best offset?"""
        named = ": " * bool(self.winners) + ", ".join(self.winners)
        found = letter(len(self.winners), [1, 4, 9])
        return f"**{found}**: {len(self.winners)} of the {len(self.scored)} that are frequent enough{named}."

    def gain_picture(self) -> Picture:
        """The model's gains over the best offset with their intervals, and BERT-base's printed ones."""
        printed = printed_gains()
        shown = [name for name in printed if name in self.stanford]
        shown.sort(key=lambda name: -self.stanford[name].gain)
        series = {self.name: _gains(self.stanford, shown)}
        series["BERT-base, authors' code"] = {name: printed[name] for name in shown}
        return figure_picture(
            gain_figure(series, shown),
            f"For {len(self.winners)} of {len(self.scored)} relations the whole line (95 %; {len(self.treebank)} sentences by one author) lies right of 0"
            f"{': ' * bool(self.winners)}{', '.join(n for n in shown if n in self.winners)}. {self.said_elsewhere()} "
            "BERT-base's heads were chosen on the sentences that they are scored on.",
        )

    def said_elsewhere(self) -> str:
        """What the winners gain on a larger treebank, of the same model."""
        elsewhere = measured_of(self.encoder, "EWT, Stanford")
        if not self.winners:
            return "docs/results.md has another treebank."
        if elsewhere is None:
            return "Another treebank was not tried."
        there = [elsewhere.value(name, "gain").value for name in self.winners if name in elsewhere.rows]
        again = sum(gain > 0 for gain in there)
        return (
            f"On 2,001 sentences of EWT {'all' if again == len(there) else again} of these gain again, {min(there):+.0f} to "
            f"{max(there):+.0f} points ({elsewhere.page})."
        )

    def gains_table(self, relations: Sequence[str]) -> TextTable:
        """Best head, best offset and gain, relation by relation; the other model's gain and BERT-base's printed one beside them."""
        table = relation_gains(self.stanford, relations, published_table_1())
        header, rows = [*table.header], [[*row] for row in table.rows]
        theirs = "BERT-base" if self.other is None else f"{short_title(self.beside)} and BERT-base"
        caption = table.caption.replace(
            "BERT-base: its gain by", f"Twin: accuracy; {theirs}: gains, BERT-base's by"
        )
        if self.other is not None:
            for row, name in zip(rows, relations):
                row.insert(-1, signed_gain(100 * self.other[name].gain) if name in self.other else "-")
            header.insert(-1, short_title(self.beside))
        return replace(
            table,
            header=header,
            rows=rows,
            caption=f"{self.Subject}: {caption[0].lower()}{caption[1:]}",
        )

    def all_arcs_table(self) -> TextTable:
        """The best head for all arcs against the best offset: BERT-base as printed, the models, the random twin."""
        printed, row = published_table_1()["all"], self.stanford["all"]
        theirs = Estimate(printed.accuracy, form=".1f", after=f" ({printed.head})")
        rows = {f"{self.name}, Stanford scheme": row, f"{self.name}, UD scheme": self.ud["all"]}
        if self.other is not None:
            rows[f"{short_title(self.beside)}, Stanford scheme"] = self.other["all"]
        body = [
            ["BERT-base, printed", theirs, printed.baseline, printed.accuracy - printed.baseline],
            *(
                [
                    name,
                    Estimate.per_cent(one.accuracy, one.low, one.high),
                    Estimate.per_cent(one.baseline),
                    100 * one.gain,
                ]
                for name, one in rows.items()
            ),
            [
                f"{self.name}'s random twin, Stanford",
                Estimate.per_cent(row.twin, row.twin_low, row.twin_high),
                Estimate.per_cent(row.baseline),
                100 * (row.twin - row.baseline),
            ],
        ]
        return TextTable(
            ["all arcs", "best head", "best offset", "gain"],
            [[*cells, signed_gain(gain, 1)] for *cells, gain in body],
            f"No: BERT-base's best head finds {printed.accuracy} %, {self.name}'s {100 * row.accuracy:.0f} %; always the next word "
            f"finds {printed.baseline} and {100 * row.baseline:.0f} %. All arcs [95 %], punctuation included; ours n = {row.n:,}.",
        )

    def said_rarest(self) -> str:
        """What the twin's best reading seems to reach in the rarest relation, and what it reaches when it is chosen fairly."""
        seems = self.rarest.twin_in_sample
        return (
            f"{letter(seems, [0.1, 0.15, 0.3])}: the best seems to reach {100 * seems:.0f} %. "
            f"Chosen on one half and scored on the other: {100 * self.rarest.twin:.0f} %."
        )

    def gum_picture(self) -> Picture:
        """BERT-base on GUM, as published, beside the deck's model: the relations that both have."""
        gum = {name: published_gum_arcs(name) for name in GUM_RELATIONS}
        # as GUM's relations are: nsubj is not nsubj:pass
        kept = score_relations(self.answers, subtypes="keep", permutations=0, min_cases=10)
        shared = [name for name in gum if gum[name].n and name in kept]
        shared.sort(key=lambda name: -gum[name].accuracy.max())
        theirs, ours = {}, {}
        for name in shared:
            share, cases, row = gum[name].accuracy.max(), gum[name].n, kept[name]
            # as if the cases were independent: sentences were not released
            reach = 1.96 * np.sqrt(share * (1 - share) / cases)
            theirs[name] = (100 * share, 100 * (share - reach), 100 * (share + reach), None)
            ours[name] = (100 * row.accuracy, 100 * row.low, 100 * row.high, 100 * row.baseline)
        easiest = max(shared, key=lambda name: kept[name].baseline)
        left, right = (
            f"{min(n):,} to {max(n):,}" for n in zip(*((gum[name].n, kept[name].n) for name in shared))
        )
        return figure_picture(
            relation_bars_figure({"BERT-base, GUM (published)": theirs, f"{self.name}, our sentences": ours}),
            f"No bar on the left proves it: without an offset none can be judged. n = {left} cases on the left, {right} on the right; lines: 95 %. For {easiest} a fixed "
            f"distance alone finds {100 * kept[easiest].baseline:.0f} % in our sentences.",
        )

    def limits(self) -> str:
        """What the accuracies leave out, a list in Markdown."""
        return (
            f"- **How sure the head was.** On average {100 * self.answers.removed.mean():.0f} % of the attention is not counted.\n"
            "- **That the model uses it.** Looking is not needing: lesson 11 switches heads off.\n"
            "- **That it is grammar.** An object is also near, and predictable.\n"
            f"- **Other texts.** These are {len(self.treebank)} sentences by one author."
        )

    def answer(self) -> Picture:
        """The lesson's answer."""
        whole, dobj, rare, theirs = (
            self.stanford["all"],
            self.stanford["dobj"],
            self.rarest,
            published_table_1(),
        )
        share, printed = partial(Estimate.per_cent, after=" %"), partial(Estimate, form=".1f", after=" %")

        def row(ours, name):
            base = theirs[name]
            return {
                f"{self.name}'s best head": share(ours.accuracy, ours.low, ours.high),
                "baseline: fixed distance": share(ours.baseline),
                f"BERT-base (distance: {base.baseline:.1f})": printed(base.accuracy),
            }

        some = (
            f"{len(self.winners)} of {len(self.scored)}: a head beats distance (here: objects)."
            if self.winners
            else "For no relation does a head surely beat distance."
        )
        return answer_picture(
            {
                "No head finds all governors.": row(whole, "all"),
                some: row(dobj, "dobj"),
                "With few cases, luck can win.": {
                    f"random twin, {rare.relation} (n = {rare.n})": share(rare.twin_in_sample),
                    "random twin, on the other half": share(rare.twin, rare.twin_low, rare.twin_high),
                },
            },
            f"Per cent of governors found. {self._others()}",
        )

    def _others(self) -> str:
        if self.other is None:
            return ""
        winners = sum(self.other[name].gain_low > 0 for name in self.scored if name in self.other)
        return (
            f"In {subject(self.beside)} a head beats distance for {winners} of {len(self.scored)} relations."
        )

    def flattery_table(self) -> TextTable:
        """How much choosing and scoring on the same sentences adds, relation by relation."""
        names = ("det", "pobj", "dobj", "nsubj", "ccomp", "mark", "prt")
        rows = {name: self.stanford[name] for name in names if name in self.stanford}
        added = {name: 100 * (row.in_sample - row.accuracy) for name, row in rows.items()}
        most, many = max(added, key=added.get), max(rows, key=lambda name: rows[name].n)
        table = flattery_table(self.stanford, list(rows))
        return replace(
            table,
            rows=[[f"{name}, n = {n}", n, *cells] for name, n, *cells in table.rows],
            caption=f"{self.Subject}: choosing on the same sentences adds {added[most]:.0f} points to {most} (n = {rows[most].n}), "
            f"{added[many]:.0f} to {many} (n = {rows[many].n}). “Same”: chosen and scored on the same sentences; “other”: chosen on "
            "one half, scored on the other.",
        )

    def pieces_table(self) -> TextTable:
        """The best head on 100 sentences, where a word's pieces are averaged and where its first piece asks."""
        first = collect_answers(self.encoder, self.treebank[:100], query="first")
        mean, first = (
            score_relations(answers, scheme="stanford", permutations=0)
            for answers in (self.answers.first(100), first)
        )
        return TextTable(
            ["best head, 100 sentences", "mean of the pieces", "first piece"],
            [
                [
                    f"{name}, n = {mean[name].n:,}",
                    *(Estimate.per_cent(s[name].accuracy, s[name].low, s[name].high) for s in (mean, first)),
                ]
                for name in ("all", "det", "dobj", "nsubj")
            ],
            f"Best head of {self.subject} [95 %, over documents]; 100 sentences, chosen on one half, scored on the other, both ways.",
        )

    def turned_table(self) -> TextTable:
        """The same pairs of words in both schemes, where the arrow between preposition and noun turns round."""
        asked = (
            ("pobj", "Stanford", self.stanford["pobj"]),
            ("case", "UD", self.ud["case"]),
            ("prep", "Stanford", self.stanford["prep"]),
        )
        body, marks = [], any(one.direction for _, _, row in asked for one in row.choices)
        for name, scheme, row in asked:
            head = Estimate.per_cent(row.accuracy, row.low, row.high, after=f" {choices_cell(row.choices)}")
            offset = Estimate.per_cent(row.baseline, after=f" by {row.offset}")
            body.append([f"{name} ({scheme}), n = {row.n:,}", head, offset])
        pobj = self.stanford["pobj"]
        said = f"{self.Subject} [95 %, over documents], and which head or distance. Where the halves chose differently, two are named. "
        if len(set(pobj.offsets)) > 1:
            said += f"Distances chosen in this way find {100 * pobj.baseline:.0f} % of pobj, always {pobj.in_sample_offset} finds {100 * pobj.in_sample_baseline:.0f} % (slide 7). "
        said += (
            "↓: the governor looks; otherwise the dependent." if marks else "In all rows the dependent looks."
        )
        return TextTable(["relation", "best head", "best offset"], body, said)
