"""Slides of lesson 07: heads against rules that find the antecedent of a mention."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import cached_property, partial

import numpy as np

from bertlook_teach.model import Attention, extract_attention, head_label
from bertlook_teach.views import Picture

from ..analyses.coreference import (
    antecedent_gains,
    antecedent_table,
    ask_heads,
    both_right,
)
from ..claims import Verdict, decide, ledger
from ..claims.lessons.lesson07 import LONGEST, antecedent_evidence, shown_antecedents
from ..corpora import CorefDocument, anaphors, excerpts, load_minimal_pairs
from ..published import Measured, MeasuredTable, measured_of, published_table_2
from ..render import (
    Estimate,
    TextTable,
    answer_picture,
    antecedent_cells,
    figure_picture,
    gain_figure,
    points_figure,
    signed_gain,
)
from .common import LessonDeck, letter, short_title, subject
from .parts.lesson07_pairs import BOTH_BY_GUESSING, SETS, AskedPairs
from .pictures.limits import antecedent_limits

_PREDICTORS = ("nearest", "head match", "four sieves", "best head")  # as Table 2 names them


# --- what was recorded and published -------------------------------------------------------------------------
def head_5_4(recording) -> dict:
    """Three sights of BERT-base's head 5-4, as choices of a `RecordedExplorer`, on texts of a recording."""
    from bertlook_teach.views import default_measures  # loads the views

    tired = next(text for text in recording if "the animal didn't cross the street because it was" in text)
    apples = next(text for text in recording if "i bought seven apples today" in text)
    cats = ("the cat sat on the mat", "the cat lay on the rug")
    choices = {"it, and the animal": tired, "the same word again": cats, "they, and the apples": apples}
    return {
        "sentences": [tired, cats, apples],
        "choices": {name: (text, 4, 3) for name, text in choices.items()},
        "measures": {"to what is meant": to_what_is_meant, **default_measures()},
        "level": "word",
        "hide_special": True,
    }


def to_what_is_meant(attention: Attention) -> np.ndarray:
    """What each head gives from a word of `head_5_4`'s texts to the earlier one that it means: shape (layer, head)."""
    tokens = list(attention.tokens)
    [(word, meant)] = (
        pair for pair in (("it", "animal"), ("they", "apples"), ("cat", "cat")) if pair[0] in tokens
    )
    later = len(tokens) - 1 - tokens[::-1].index(word)
    return np.asarray(attention.weights)[:, :, later, tokens.index(meant)]


# --- what the models found in the treebank -------------------------------------------------------------------
class Deck(LessonDeck):
    """The slides of lesson 07, on some documents.

    Parameters
    ----------
    encoder, twin : Encoder
    documents : sequence of CorefDocument
    beside : Encoder, optional
        A model that stands beside it; left out where it is the same one.

    Attributes
    ----------
    found, twin_found : Antecedents
        What the heads of the model and of its twin name, in parts of at most 128 wordpieces.
    rows, twin_rows : list
        `antecedent_table` of both, one head for all kinds of mention.
    """

    lesson = "07"

    def __init__(self, encoder, twin, documents: Sequence[CorefDocument], beside=None):
        super().__init__(encoder, twin, beside=beside)
        self.documents = documents
        self.found, self.twin_found = map(self._ask, (encoder, twin))
        self.rows, self.twin_rows = (
            antecedent_table(found, one_head=True) for found in (self.found, self.twin_found)
        )

    def _ask(self, model):
        return shown_antecedents(model, self.documents)

    @cached_property
    def verdicts(self) -> list[Verdict]:
        """Verdicts on the lesson's claims, from the answers that were found for the tables."""

        def evidence(encoder, resources):
            return antecedent_evidence(self.found if encoder is self.encoder else self.twin_found)

        return decide(ledger("07"), self.encoder, twin=self.twin, evidence={"antecedents": evidence})

    @cached_property
    def pairs(self) -> AskedPairs:
        """What the model answers to the course's sentences with one pronoun and two candidates."""
        right, cases = ask_heads(self.encoder, load_minimal_pairs())
        return AskedPairs(cases, right, *both_right(right, cases), self.subject)

    @cached_property
    def of(self) -> dict:
        """The row of each predictor for all mentions, by its name."""
        return _of_all(self.rows)

    @cached_property
    def of_other(self) -> dict | None:
        """The same of the model beside it; None if there is none."""
        if self.beside is None:
            return None
        return _of_all(antecedent_table(self._ask(self.beside), one_head=True))

    @cached_property
    def rate(self) -> np.ndarray:
        """How often each head finds the antecedent among earlier mentions: shape (layer, head)."""
        return self.found.heads["mentions"].mean(axis=0)

    @cached_property
    def best(self) -> tuple[int, int]:
        """Layer and head that find most in these very texts."""
        return tuple(int(i) for i in np.unravel_index(self.rate.argmax(), self.rate.shape))

    @cached_property
    def short(self) -> list[CorefDocument]:
        """Eight excerpts with a pronoun of the third person that refers back to something other than a pronoun."""

        def tells(document):
            return any(
                m.kind == "pronoun"
                and m.person == "3"
                and all(b.kind != "pronoun" for b in before if b.cluster == m.cluster)
                for m, before in anaphors(document)
            )

        return list(filter(tells, excerpts(self.documents, most_words=14, most_letters=54)))[:8]

    @cached_property
    def short_maps(self) -> list:
        """The model's attention between the words of the excerpts."""
        return [extract_attention(self.encoder, words=list(d.words)).to_words() for d in self.short]

    @cached_property
    def gains(self) -> dict:
        """The best head minus each rule, all mentions."""
        return {gain.rule: gain for gain in antecedent_gains(self.found) if gain.kind == "all"}

    def arc_view(self):
        """`bertlook_course.widgets.AntecedentView` of the excerpts, at the best head."""
        from ..widgets import AntecedentView

        return AntecedentView(self.short, self.short_maps, layer=self.best[0], head=self.best[1])

    def said_won(self) -> str:
        """Which rules the best head beats in our texts, and by how much, in Markdown."""
        won = [name for name, gain in self.gains.items() if gain.low > 0]
        found = "ABCD"[len(won)] if won == list(self.gains)[: len(won)] else "None of these"
        return f"**{found}**: it beats {' and '.join(won) or 'none of them'}{'; there the whole interval is above 0' * bool(won)}."

    def gain_picture(self) -> Picture:
        """What the best head finds more than each rule."""
        gains = {g.rule: tuple(100 * x for x in (g.gain, g.low, g.high)) for g in self.gains.values()}
        figure = gain_figure({self.name: gains}, list(gains), size=(9.8, 2.5))
        figure.axes[0].set_xlabel("points above the rule (dotted line: no more than it)")
        said = ", ".join(f"{rule} {signed_gain(gain[0], 1)}" for rule, gain in gains.items())
        return figure_picture(figure, f"Head minus {said} points; 95 %, n = {len(self.found)}.")

    def said_won_there(self) -> str:
        """The same question on the novels of LitBank, of the model or, under its own name, of the one beside it."""
        books = self.quoted("LitBank")
        unmeasured = self.not_measured(books, "on novels")
        if books is None:
            return unmeasured.strip()
        more = self.quoted("GUM")
        mixed = more is not None and more.model == books.model
        said = f"On novels (LitBank, n = {_cases(books)}) {books.whose}'s best head finds {_said_of_all(books, 'the four sieves')}"
        if mixed:
            said += f"; on GUM (mixed texts, n = {_cases(more)}) it finds {_said_of_all(more, 'they')}"
        return f"{unmeasured}{said}."

    def points_picture(self) -> Picture:
        """Rules and best heads on one scale: BERT-base as printed, and two models on our texts, or one on novels too."""
        table_2, of, other = published_table_2(), self.of, self.of_other
        twin = next(row for row in self.twin_rows if row.heads)
        theirs = [(name, table_2[name].all / 100, None, None) for name in _PREDICTORS]
        printed = signed_gain(table_2["best head"].all - table_2["four sieves"].all)
        panels = {
            "BERT-base": [*theirs, ("random twin", None, None, None)],
            self.name: [*_points(of), ("random twin", twin.accuracy, twin.low, twin.high)],
        }
        said = (
            f"Head minus four sieves: BERT-base {printed} points on CoNLL-2012 (printed); on our short texts "
            f"{self.name} {_behind_sieves(of)}"
        )
        if other is not None:
            panels[short_title(self.beside)] = [*_points(other), ("random twin", None, None, None)]
            return figure_picture(
                points_figure(panels),
                f"{self._said_near(other)}{said}, {short_title(self.beside)} {_behind_sieves(other)}. n = {of['nearest'].n} and "
                f"{other['nearest'].n}: each model reads 128 wordpieces of a text.",
            )
        books = measured_of(self.encoder, "LitBank")
        if books is None:
            return figure_picture(points_figure(panels), f"{said}.")
        there = [(name, *found.share) for name, found in _on_novels(books).items()]
        there.append(("random twin", *books.value("best head of the random twin", "all").share))
        return figure_picture(
            points_figure(panels | {"… on LitBank": there}),
            f"{said}. LitBank: {books.whose}, {_cases(books)} cases of 100 novels ({books.page}).",
        )

    def _said_near(self, other: Mapping) -> str:
        """Which of two models comes as near to the four sieves as BERT-base does in print."""
        table_2 = published_table_2()
        most = table_2["four sieves"].all - table_2["best head"].all
        behind = [100 * (one["four sieves"].accuracy - one["best head"].accuracy) for one in (self.of, other)]
        near, names = [points <= most for points in behind], (self.Subject, subject(self.beside))
        if near[0] != near[1]:
            return f"{names[0]} is {'near them, too' if near[0] else 'not so near'}; {names[1]} is {'not so near' if near[0] else 'near them'}. "
        return f"{names[0]} and {names[1]} are {'near them, too' if near[0] else 'not so near'}. "

    def head_maps(self) -> dict[str, np.ndarray]:
        """In which share of the mentions each head finds the antecedent: among earlier mentions, and among all words."""
        nearest = f"{self.of['nearest'].accuracy:.3f}"
        return {
            f"share found among earlier mentions (nearest: {nearest})": self.rate,
            "share found among all words": self.found.heads["open"].mean(axis=0),
        }

    def said_heads_above(self) -> str:
        """How many heads find more than each rule."""
        nearest, match, sieves = (
            (self.rate > self.of[rule].accuracy).sum() for rule in ("nearest", "head match", "four sieves")
        )
        return (
            f"Of {len(self.found)} mentions, {nearest} of {self.rate.size} heads find more than *nearest*, {match} more than *head match*, "
            f"{sieves} more than *four sieves*. {self._said_best_layers()}"
        )

    def _said_best_layers(self, n_heads: int = 5) -> str:
        """In which layers the heads stand that find most."""
        first = np.argsort(-self.rate, axis=None, kind="stable")[:n_heads]
        layers = sorted({int(place) // self.rate.shape[1] + 1 for place in first})
        *before, last = map(str, layers)
        stand = f"layers {', '.join(before)} and {last}" if before else f"layer {last}"
        return f"The **{n_heads}** that find most stand in {stand}."

    def said_open(self) -> str:
        """What is left of the best head's accuracy when it may name any other word."""
        rows = antecedent_table(self.found, candidates="open", one_head=True)
        best = next(row for row in rows if row.heads)
        kept, *ends = (
            share / self.of["best head"].accuracy for share in (best.accuracy, best.low, best.high)
        )
        low, high = (letter(end, [0.5, 0.9, 1.0], "DCBA") for end in ends)
        return (
            f"**{low if low == high else f'{high} or {low}, the interval has both'}**: "
            f"{100 * best.accuracy:.0f} % [{100 * best.low:.0f}, {100 * best.high:.0f}], "
            f"so {100 * kept:.0f} % [{100 * ends[0]:.0f}, {100 * ends[1]:.0f}] of it is left. "
            "For one and the same head it can only fall: every antecedent is an earlier mention."
        )

    def limits(self) -> Picture:
        """What the accuracies leave out."""
        shares = []
        for one in self.short_maps:
            special = np.array(one.special)
            shares.append(one.weights[self.best][~special][:, special].sum(-1).mean())
        longest = min(self.encoder.max_tokens, LONGEST)
        return antecedent_limits(head_label(*self.best), float(np.mean(shares)), len(self.documents), longest)

    def cells(self, kinds: Sequence[str], note: str) -> TextTable:
        """`bertlook_course.render.antecedent_cells` for some kinds of mention, with the twin."""
        return antecedent_cells(
            self.rows, twin=self.twin_rows, kinds=kinds, note=f"Heads are {self.subject}'s. {note}"
        )

    def said_pronouns(self) -> str:
        """What the best head finds more than the four sieves on pronouns, with the interval of the difference."""
        [one] = (g for g in antecedent_gains(self.found) if (g.rule, g.kind) == ("four sieves", "pronoun"))
        low, high = (signed_gain(100 * end, 1) for end in (one.low, one.high))
        return (
            f"On pronouns the head finds {abs(100 * one.gain):.1f} points {'more' if one.gain >= 0 else 'less'} than the four sieves; "
            f"the interval of the difference is [{low}, {high}]."
        )

    def said_rare(self) -> str:
        """The four sieves against the best head where cases are few, on names and on nominals."""
        gains = {g.kind: g for g in antecedent_gains(self.found) if g.rule == "four sieves"}
        said = []
        for kind, words in (("nominal", "nominals"), ("proper", "names")):
            one, points = gains[kind], f"{abs(100 * gains[kind].gain):.0f} points"
            ahead = "the head is" if one.low > 0 else "the four sieves are" if one.high < 0 else ""
            said.append(f"on {words} {f'{ahead} {points} ahead' if ahead else 'neither is clearly ahead'}")
        return f"It is the same head as for all mentions: {'; '.join(said)}."

    def answer(self) -> Picture:
        """The lesson's answer."""
        table_2, of, pairs = published_table_2(), self.of, self.pairs
        share = partial(Estimate.per_cent, after=" %")
        names, meaning = measured_of(self.encoder, "pronoun pairs"), {}
        above, fails = 100 * (pairs.both.max() - BOTH_BY_GUESSING), pairs.both.max() <= BOTH_BY_GUESSING
        if names is not None:
            gender = names.value("Winogender", "best head")
            above, fails = gender.value - 50, gender.low <= 50
            meaning = {f"{self.name}, Winogender": Estimate.per_cent(*gender.share, form=".1f", after=" %")}
        meaning = meaning or {f"{self.name}, both of a pair": share(pairs.both.max(), *pairs.interval)}
        meaning["baseline: a coin"] = share(0.5 if names is not None else BOTH_BY_GUESSING)
        won = [rule for rule, gain in self.gains.items() if gain.low > 0]
        beats = f"beats {' and '.join(won)}" if won else "clearly beats none of the rules"
        knows = "does not clearly beat" if fails else "hardly beats" if above < 10 else "clearly beats"
        rules = {f"baseline: {rule}": rule for rule in self.gains}
        return answer_picture(
            {
                "BERT-base's 5-4 knows more than distance.": {
                    name: Estimate(table_2[row].all, form=".0f", after=" %")
                    for name, row in ({"BERT-base's 5-4": "best head"} | rules).items()
                },
                f"{self.Subject}'s best head {beats}.": {
                    name: share(of[row].accuracy, of[row].low, of[row].high)
                    for name, row in ({f"{self.name}'s best head": "best head"} | rules).items()
                },
                f"It {knows} a coin.": meaning,
            },
            f"{self.Subject}'s best head gets both right in {round(pairs.both.max() * pairs.n_pairs)} of {pairs.n_pairs} pairs "
            f"({share(pairs.both.max(), *pairs.interval)}); the luckiest of {pairs.both.size} coins, in about {100 * pairs.luckiest:.0f} %.",
            model=self.name,
        )

    def pairs_table(self) -> TextTable:
        """What a head and rules of place answer: on larger sets, too, where the model was measured on them."""
        names = measured_of(self.encoder, "pronoun pairs")
        return self.pairs.table() if names is None else self.pairs.beside_larger_sets(names)

    def said_on_larger_sets(self) -> str:
        """What docs/results.md says of larger sets of pronouns, of the model or, under its own name, of the one beside it."""
        names = self.quoted("pronoun pairs")
        unmeasured = self.not_measured(names, "on larger sets")
        if names is None:
            return unmeasured.strip()
        heads, nearer = ([names.value(data, who) for data in SETS] for who in ("best head", "nearer"))
        beaten = sum(head.low > rule.high for head, rule in zip(heads, nearer))
        if not unmeasured:  # the picture has the numbers
            return (
                f"**On {beaten} of {len(SETS)} larger sets it does**: there the two intervals do not overlap."
            )
        said = "; ".join(
            f"{data} {head.value:.0f} [{head.low:.0f}, {head.high:.0f}] and {rule.value:.0f} (n = {names.cell(data, 'n')})"
            for data, head, rule in zip(SETS, heads, nearer)
        )
        return (
            f"{unmeasured}**On {beaten} of {len(SETS)} larger sets it does.** Per cent right, {names.whose}'s best head and the nearer candidate: "
            f"{said}."
        )


# --- what rows and tables say ----------------------------------------------------------------------------------
def _of_all(rows, kind: str = "all") -> dict:
    return {"best head" if row.heads else row.predictor: row for row in rows if row.kind == kind}


def _points(of: Mapping) -> list[tuple]:
    return [(name, of[name].accuracy, of[name].low, of[name].high) for name in _PREDICTORS]


def _behind_sieves(of: Mapping) -> str:
    return signed_gain(100 * (of["best head"].accuracy - of["four sieves"].accuracy), 1)


def _on_novels(books: MeasuredTable) -> dict[str, Measured]:
    """The rules and the best head on LitBank, by the names of Table 2."""
    [head] = (row for row in books.rows if row.startswith("best head") and "twin" not in row)
    rows = ("nearest", "same head", "four sieves", head)
    return {name: books.value(row, "all") for name, row in zip(_PREDICTORS, rows, strict=True)}


def _cases(table: MeasuredTable) -> str:
    """How many cases there are, as the column's name says."""
    return f"{table.values(column='all')[0]:,.0f}"


def _said_of_all(table: MeasuredTable, rule: str) -> str:
    """What the best head finds of all mentions, and the strongest rule, under the name given; the difference of the two as printed."""
    head, sieves = (_on_novels(table)[name] for name in ("best head", "four sieves"))
    ahead = round(sieves.value, 1) - round(head.value, 1)
    return f"{head.value:.1f} %, {rule} {abs(ahead):.1f} points {'more' if ahead >= 0 else 'less'}"
