"""How well heads, rules and both rank the words of a text: the part of lesson 12 that its later slides stand on."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cached_property

import numpy as np

from bertlook_teach import head_label, stats
from bertlook_teach.views import Picture, model_of

from ...analyses import keywords
from ...claims import Resources
from ...claims.lessons import lesson12
from ...metrics import best_index
from ...published import MeasuredTable
from ...render import (
    Estimate,
    NumberTable,
    TextTable,
    table_bars,
    table_dots,
)
from ..common import LessonDeck, letter, subject

DARKEST = 4  # times the average: a word with more is not drawn darker


class Ranks(LessonDeck):
    """The slides of lesson 12, on all texts with key phrases: one half chooses and fits, the other reports.

    Parameters
    ----------
    encoder, twin : Encoder
    beside : Encoder, optional
        A model that stands beside it; left out where it is the same one.
    """

    lesson = "12"

    def __init__(self, encoder, twin, beside=None):
        super().__init__(encoder, twin, Resources(), beside)
        self.found = {name: lesson12.measured(model, self.resources) for name, model in self.models.items()}
        self.ours, self.control = self.found.values()
        self.compared, self.data = self.ours.comparison, self.ours.data
        self.train, self.test = self.ours.train, self.ours.test
        self.best = self.compared.best["mean"]  # (layer, head)
        self.n_layers, self.n_heads = self.data.n_layers, self.data.n_heads

    @cached_property
    def scores(self) -> dict[str, dict[str, keywords.WordScore]]:
        """How well each rule, head and mix finds key words, for both models."""
        compared = {model: found.comparison for model, found in self.found.items()}
        return {model: {name: c.score(name) for name in c.answers} for model, c in compared.items()}

    @cached_property
    def other(self) -> lesson12.Measured | None:
        """What the model beside it makes of the same texts; None if there is none."""
        return None if self.beside is None else lesson12.measured(self.beside, self.resources)

    @property
    def halves(self) -> str:
        """How many texts choose, and how many report."""
        return f"{self.train.n_texts} texts, scored on {self.test.n_texts} others"

    # ---- what a word receives -----------------------------------------------------------------------------

    @cached_property
    def documents(self) -> list[dict[str, object]]:
        """The four shortest texts, each as `WeightedText` takes it: what a word receives, and what the regression says of it."""
        lengths = np.bincount(self.test.text_ids)
        shortest = [int(number) for number in lengths.argsort(kind="stable")[:4]]
        documents = [self.test.documents[number] for number in shortest]
        read = keywords.read_keywords(self.encoder, documents)  # once more, for what each word receives
        log_odds = self.compared.answers[keywords.ALL_HEADS][0]
        views = []
        for place, (number, document) in enumerate(zip(shortest, documents)):
            part = self.test.text(number)
            views.append(
                {
                    "words": self.test.words[part],
                    "scores": np.moveaxis(read.scores["mean"][read.text(place)], 0, -1),
                    "key": self.test.is_key[part],
                    "mix": 1 / (1 + np.exp(-log_odds[part])),
                    "title": f"{document.title} ({self.name})",
                }
            )
        return views

    def documents_without_mix(self) -> list[dict[str, object]]:
        """The same before any regression was fitted."""
        return [{**view, "mix": None} for view in self.documents]

    def unexpected(self) -> str:
        """The words of the first text that the regression misses and marks most, against the annotator."""
        words, mix, key = (np.asarray(self.documents[0][part]) for part in ("words", "mix", "key"))
        order = mix.argsort()
        missed, marked = order[key[order]][0], order[~key[order]][-1]
        return f"Of the key words “{words[missed]}” gets least ({mix[missed]:.2f}); of the others “{words[marked]}” gets most ({mix[marked]:.2f})."

    def choosy_head(self) -> tuple[int, int]:
        """The head (layer, head) that prefers some words of the first text most, as far as the colours tell words apart."""
        scores = np.asarray(self.documents[0]["scores"])
        shown = np.minimum(scores / scores.mean(axis=-1, keepdims=True), DARKEST)
        return best_index(shown.std(axis=-1))

    def columns_table(self, words: Sequence[str], weights, mean, largest) -> NumberTable:
        """What the words of a short text give each other in the best head, and under each column its mean and its largest weight."""
        return NumberTable(
            np.vstack([weights, mean, largest]),
            [*words, "mean", "largest"],
            words,
            name=f"Head {head_label(*self.best)}: rows look at columns",
            axes=("word", "word"),
            shade=True,
            shape=False,
        )

    def texts_sentence(self) -> str:
        """How many texts and words there are, and how many of these are key."""
        return (
            f"We have {self.data.n_texts} texts with {len(self.data.words):,} words and marks, "
            f"**{100 * self.data.share_key:.0f} % key**: {self.train.n_texts} to choose on, {self.test.n_texts} to report on."
        )

    # ---- one head -----------------------------------------------------------------------------------------

    @cached_property
    def auc(self) -> np.ndarray:
        """The AUC of what a word receives on average, of each of the model's heads: (layer, head)."""
        return self.ours.mean("mean")

    def heads_table(self) -> NumberTable:
        """The AUC of each head."""
        layers, heads = ([str(i + 1) for i in range(n)] for n in (self.n_layers, self.n_heads))
        return NumberTable(
            self.auc,
            layers,
            heads,
            name="AUC of the column mean",
            axes=("layer", "head"),
            shade=True,
            middle=0.5,
            shape=False,
        )

    def heads_sentence(self) -> str:
        """The heads with the highest and the lowest AUC."""
        top, low = (
            np.unravel_index(place, self.auc.shape) for place in (self.auc.argmax(), self.auc.argmin())
        )
        second = np.unravel_index(np.argsort(-self.auc, axis=None)[1], self.auc.shape)
        close = bool(self.auc[top] - self.auc[second] < 0.005)
        return (
            f"Blue: above chance, .5; brown: below, the head looks away. Highest: head {head_label(*top)}, {self.auc[top]:.3f}"
            f"{f', just before {head_label(*second)}, {self.auc[second]:.3f}' * close}. "
            f"Lowest: head {head_label(*low)}, {self.auc[low]:.2f}. Mean over {self.data.n_texts} texts."
        )

    def twin_answer(self) -> str:
        """The AUC of a head that learnt nothing, on average, and the letter of the answer."""
        auc = self.control.mean("mean")
        return (
            f"The answer: **{letter(auc.mean(), (0.55, 0.65, 0.75))}**. On average over its {auc.size} heads **{auc.mean():.2f}**; "
            f"single heads from {auc.min():.2f} to {auc.max():.2f} ({self.data.n_texts} texts)."
        )

    def pieces_table(self) -> TextTable:
        """The best head of each model with the pieces of a word summed and averaged, and the number of pieces alone."""

        def best_head(found, quantity):
            chooses, reports = (half[quantity] for half in found.heads)
            pick = int(chooses.mean(axis=0).argmax())
            interval = keywords.mean_with_interval(reports.reshape(len(reports), -1)[:, pick])
            return Estimate(*interval, before=f"{head_label(*divmod(pick, self.n_heads))}: ")

        both = {self.name: self.ours, "its random twin": self.control}
        return TextTable(
            ["best head, AUC [95 %]", "pieces summed", "per piece"],
            [
                *(
                    [name, *(best_head(found, q) for q in ("mean", "a piece"))]
                    for name, found in both.items()
                ),
                ["number of wordpieces alone", auc_of(self.scores[self.name]["pieces"]), "-"],
            ],
            f"AUC [95 %] of the best head, chosen on {self.train.n_texts} texts, reported on {self.test.n_texts} others.",
        )

    # ---- rules, and all heads -----------------------------------------------------------------------------

    @property
    def lead(self) -> Estimate:
        """The AUC of the best head minus that of tf-idf, with its interval over texts."""
        return self._lead("tf-idf", "+.2f")

    def _lead(self, rule: str, form: str) -> Estimate:
        """The AUC of the best head minus that of a rule, which read the same texts."""
        answers = (self.compared.answers[name][0] for name in (keywords.BEST_HEAD, rule))
        head, other = (keywords.auc_by_text(self.test, log_odds) for log_odds in answers)
        return Estimate(float((head - other).mean()), *stats.paired_interval(other, head), form)

    def rivals_question(self) -> str:
        """Where does the best head come out beside tf-idf?"""
        return (
            f"**tf-idf**: how often the word stands in this text, times how rare it is in {self.train.n_texts} other texts. "
            f"No model at all. How far is the AUC of the **best of {self.subject}'s {self.n_layers * self.n_heads} heads** from that of tf-idf?"
        )

    def rivals_picture(self) -> Picture:
        """The best head of each model beside rules that read no head."""
        rules = ["position", "length", "tf-idf", "RAKE"]
        best = {self.name: self.scores[self.name], f"{self.name}'s twin": self.scores["random twin"]}
        scores = {name: (model[keywords.BEST_HEAD], model_of(name)) for name, model in best.items()}
        if self.other is not None:
            scores[subject(self.beside)] = (
                self.other.comparison.score(keywords.BEST_HEAD),
                model_of(subject(self.beside)),
            )
        table = TextTable(
            ["score", "AUC [95 %]"],
            [
                *([name, auc_of(self.scores[self.name][name])] for name in rules),
                *([f"{name}'s best head", auc_of(score)] for name, (score, _) in scores.items()),
            ],
            f"{self.test.n_texts} texts that took no part in any choice; frequencies and heads from {self.train.n_texts} others. "
            f"Head of {self.subject}: {head_label(*self.best)}.",
        )
        marks = [*["baseline"] * len(rules), *(mark for _, mark in scores.values())]
        return table_bars(table, axis="AUC", line=("chance", 0.5), model=marks)

    def rivals_answer(self) -> str:
        """The letter of the answer, the difference, and how sure it is."""
        said = letter(self.lead.value, (-0.08, -0.02, 0.02))
        sure = (
            "it is ahead, but not surely by .02 (slide 19)" if self.lead.low > 0 else "it is not surely ahead"
        )
        sure = "it is ahead, surely by more than .02" if self.lead.low > 0.02 else sure
        rules = [name for name in ("tf-idf", "RAKE") if self._lead(name, "+.2f").value < 0.05]
        near = f"Yes, {' and '.join(rules)} {'do' if len(rules) > 1 else 'does'}" if rules else "No"
        return f"**{near}.** The answer for {self.subject}: **{said}**. Head minus tf-idf **{self.lead}**: {sure}."

    @cached_property
    def against_rake(self) -> dict[str, Estimate]:
        """AUC and F1 of the best head minus those of RAKE, with intervals over texts, which are drawn for both alike."""
        answers = [self.compared.answers[name] for name in (keywords.BEST_HEAD, "RAKE")]
        parts = [keywords.f1_parts(log_odds > cutoff, self.test) for log_odds, cutoff in answers]

        def lead(texts) -> float:
            ours, theirs = (np.divide(*part[texts].sum(axis=0)) for part in parts)
            return float(ours - theirs)

        texts = np.arange(self.test.n_texts)
        return {
            "AUC": self._lead("RAKE", "+.3f"),
            "F1": Estimate(lead(texts), *stats.resampled_interval(lead, texts), "+.3f"),
        }

    def rake_picture(self) -> Picture:
        """The best head minus RAKE on the same texts, with intervals, and whether the two are a tie."""
        table = TextTable(
            ["score", "best head minus RAKE [95 %]"],
            [[f"{name}: {_ahead(lead)}", lead] for name, lead in self.against_rake.items()],
            f"{'Yes' if min(one.low for one in self.against_rake.values()) > 0 else 'Not surely'}, on these {self.test.n_texts} texts. A mark "
            f"is the score of {self.subject}'s best head minus that of RAKE.",
        )
        return table_dots(table, axis="best head minus RAKE", line=("a tie", 0.0), model=self.mark)

    def other_texts(self) -> str:
        """AUC and F1 of the best head and of RAKE on abstracts and on news, of the model or, under its own name, of the one beside it."""
        papers, news = self.quoted("key words: Inspec"), self.quoted("key words: news")
        unmeasured = self.not_measured(papers, "on other texts")
        if papers is None:
            return unmeasured.strip()
        said = f"{unmeasured}On 201 abstracts (Inspec) {papers.whose}'s best head is {_against_rake(papers)}"
        if news is not None and news.model == papers.model:
            said += f" On 150 news texts it is {_against_rake(news)}"
        return said

    def mixes_table(self) -> TextTable:
        """One head and mixes of all for both models, and between them the rules, which need neither."""
        shown = {"best head": keywords.BEST_HEAD} | {k: k for k in (keywords.MIX, keywords.ALL_HEADS)}
        shown |= {keywords.RULES_TOGETHER: keywords.RULES_TOGETHER, keywords.BOTH: keywords.BOTH}
        bests = [
            f"column mean: {head_label(*found.comparison.best['mean'])}" for found in self.found.values()
        ]
        return TextTable(
            ["who ranks the words", "AUC [95 %]"],
            [
                [
                    f"baseline: {said}" if whose is None else f"{whose}: {said}",
                    auc_of(self.scores[whose or self.name][name]),
                ]
                for said, name in shown.items()
                for whose in ([None] if name == keywords.RULES_TOGETHER else self.scores)
            ],
            f"Fitted on {self.halves}. Best head, {'; twin: '.join(bests)}.",
        )

    def mixes_sentence(self) -> str:
        """Whether all heads are better than the rules, and what they add to these."""
        heads, rules = (self.scores[self.name][k] for k in (keywords.ALL_HEADS, keywords.RULES_TOGETHER))
        more = "Yes" if heads.auc_low > rules.auc_high else "Not surely"
        lifted, twins = (score[keywords.BOTH].auc for score in self.scores.values())
        return (
            f"**{more}:** all heads have an AUC of {heads.auc:.2f}, the rules together {rules.auc:.2f}. Added to the rules, {self.subject}'s "
            f"heads lift them from {rules.auc:.3f} to {lifted:.3f}, the twin's heads {'only ' * bool(twins < lifted)}to {twins:.3f}."
        )


def auc_of(score: keywords.WordScore) -> Estimate:
    """The AUC of a score with its interval."""
    return Estimate(score.auc, score.auc_low, score.auc_high)


def _ahead(lead: Estimate) -> str:
    """Who is ahead by a difference with its interval: nobody where 0 lies in it."""
    return "a tie" if lead.low <= 0 <= lead.high else "the head is ahead" if lead.low > 0 else "RAKE is ahead"


def _against_rake(table: MeasuredTable) -> str:
    """The head and two scores of a page of results, of which each has its own interval."""
    name, parts, ends = table.label("best head, column mean"), [], []
    for score in ("AUC", "F1"):
        head, rake = (table.value(row, f"{score} [") for row in (name, "RAKE"))
        ahead = (
            "RAKE is ahead" if rake.low > head.high else "the head is ahead" if head.low > rake.high else ""
        )
        ours, theirs = (Estimate(*found.share, ".3f") for found in (head, rake))
        parts.append(f"{score} {ours}, RAKE's {theirs}")
        ends.append(ahead or "the intervals overlap")
    if ends[0] == ends[1]:
        parts, ends = ["; ".join(parts)], [ends[0] + " in both" * (not ahead)]
    said = "; ".join(f"{part} ({end})" for part, end in zip(parts, ends))
    return f"{table.head(name)}: {said}."
