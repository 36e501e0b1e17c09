"""What the slides of lesson 12 show: whether key words can be told by what heads look at, beside rules that read no head."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cached_property

import numpy as np

from bertlook_teach import head_label, stats
from bertlook_teach.views import Picture, model_of

from ..analyses import keywords
from ..claims import Resources
from ..claims.lessons import lesson12
from ..metrics import best_index, rank_correlation
from ..published import MeasuredTable
from ..render import (
    Estimate,
    NumberTable,
    TextTable,
    answer_picture,
    figure_picture,
    heads_figure,
    heat_figure,
    pruning_figure,
    signed_gain,
    table_bars,
    table_dots,
)
from .common import LessonDeck, letter, short_title, subject

_ABOUT_HALF = 0.47, 0.53  # between these an AUC is called chance
N_LOWEST = 10  # heads with the lowest scores, named in the picture


DARKEST = 4  # times the average: a word with more is not drawn darker


class Deck(LessonDeck):
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

    def choosy_head(self) -> tuple[int, int]:
        """The head (layer, head) that prefers some words of the first text most, as far as the colours tell words apart."""
        scores = np.asarray(self.documents[0]["scores"])
        shown = np.minimum(scores / scores.mean(axis=-1, keepdims=True), DARKEST)
        return best_index(shown.std(axis=-1))

    def columns_table(self, words: Sequence[str], mean, largest) -> TextTable:
        """What the words of a short text receive in the best head."""
        return TextTable(
            ["word", "mean", "largest"],
            [
                [word, Estimate(one, form=".3f"), Estimate(other, form=".3f")]
                for word, one, other in zip(words, mean, largest, strict=True)
            ],
            f"What each word receives in head {head_label(*self.best)}: the mean and the largest of its column.",
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
            f"The answer: **{letter(auc.mean(), (0.55, 0.65, 0.75))}**. On average **{auc.mean():.2f}**, "
            f"from {auc.min():.2f} to {auc.max():.2f}."
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
            f"Chosen on {self.train.n_texts} texts, reported on {self.test.n_texts} others.",
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
            f"No model at all. Where does the **best of {self.subject}'s {self.n_layers * self.n_heads} heads** come out?"
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
        sure = "ahead, but not surely by .02 (slide 19)" if self.lead.low > 0 else "not surely ahead"
        sure = "surely by more than .02" if self.lead.low > 0.02 else sure
        return f"The answer for {self.subject}: **{said}**. Head minus tf-idf: **{self.lead}**: {sure}."

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
            f"On these {self.test.n_texts} texts {'yes' if min(one.low for one in self.against_rake.values()) > 0 else 'not surely'}: best head of "
            f"{self.subject} minus RAKE.",
        )
        return table_dots(table, axis="best head minus RAKE", line=("a tie", 0.0), model=self.mark)

    def other_texts(self) -> str:
        """The F1 of the best head and of RAKE on abstracts and on news, of the model or, under its own name, of the one beside it."""
        papers, news = self.quoted("key words: Inspec"), self.quoted("key words: news")
        unmeasured = self.not_measured(papers, "on other texts")
        if papers is None:
            return unmeasured.strip()
        said = [f"201 abstracts (Inspec) {_against_rake(papers)}"]
        if news is not None and news.model == papers.model:
            said.append(f"150 news texts {_against_rake(news)}")
        return f"{unmeasured}F1 of {papers.whose}'s best head and of RAKE on other texts: {'; '.join(said)}."

    def said_lift(self) -> str:
        """What the heads of each model add to the rules."""
        rules = self.scores[self.name][keywords.RULES_TOGETHER].auc
        ours, twins = (score[keywords.BOTH].auc for score in self.scores.values())
        return f"lift the rules from {rules:.3f} to {ours:.3f}, the twin's to {twins:.3f}"

    def mixes_table(self) -> TextTable:
        """One head, mixes of all, and rules, for both models."""
        names = [keywords.MIX, keywords.ALL_HEADS, keywords.RULES_TOGETHER, keywords.BOTH]
        shown = {"best head of each": keywords.BEST_HEAD} | {name: name for name in names}
        bests = [scores[keywords.BEST_HEAD].name.partition(", ")[2] for scores in self.scores.values()]
        return TextTable(
            ["AUC [95 %]", *self.models],
            [[said, *(auc_of(s[name]) for s in self.scores.values())] for said, name in shown.items()],
            f"Fitted on {self.halves}. Best head, {'; twin: '.join(bests)}.",
        )

    def mixes_sentence(self) -> str:
        """Where the mix puts its weight, and what the heads add to the rules."""
        mix = self.compared.mix
        top = int(mix.shares.argmax())
        sign = " with a minus sign: words that it ignores are key words" if mix.gamma < 0 else ""
        return (
            f"{100 * mix.shares[top]:.0f} % of the mix's weight is on head {head_label(*divmod(top, self.n_heads))}{sign}. "
            f"The model's heads {self.said_lift()}."
        )

    # ---- published scores of heads ------------------------------------------------------------------------

    @cached_property
    def by_head(self) -> dict[str, dict[str, np.ndarray]]:
        """Of each model, quantities of each head, mean over the texts that report: (layer, head)."""
        return {model: _by_head(found) for model, found in self.found.items()}

    @property
    def lowest_first(self) -> np.ndarray:
        """The model's heads by the score of the lecture slides, lowest first: places in a flat array."""
        return self.by_head[self.name]["score"].ravel().argsort()

    @property
    def thirds(self) -> tuple[float, float]:
        """The mean AUC of the third of the heads with the lowest score, and of the others."""
        return _thirds(self.ours)

    def thirds_answer(self) -> str:
        """The letter of the answer, beside another model its letter too, and with what the score goes together."""
        said = letter(self.thirds[0], _ABOUT_HALF, "CBA")
        if self.other is not None:
            said += f"**; in {subject(self.beside)} **{letter(_thirds(self.other)[0], _ABOUT_HALF, 'CBA')}"
        heads = self.by_head[self.name]
        spread, entropy = (
            rank_correlation(heads["score"].ravel(), heads[kind].ravel()) for kind in ("spread", "entropy")
        )
        return (
            f"The answer: **{said}**. A low score means that the maxima hardly vary (rank correlation with their spread {spread:+.2f}); "
            f"with attention entropy it is **{entropy:+.2f}**{': this “entropy” runs against it' if entropy < 0 else ''}."
        )

    def thirds_table(self) -> TextTable:
        """The mean AUC of the third of the heads with the lowest score and of the others."""
        models = {self.name: self.thirds}
        if self.other is not None:
            models[short_title(self.beside)] = _thirds(self.other)
        rows = [
            [who, *(Estimate(values[k], form=".2f") for values in models.values())]
            for k, who in enumerate(("lowest third", "the others"))
        ]
        return TextTable(
            ["heads", *models], rows, f"Mean AUC of the heads' maxima, {self.test.n_texts} texts."
        )

    def scores_picture(self) -> Picture:
        """The score of each head beside the spread and the AUC of its maxima."""
        heads = self.by_head[self.name]
        lowest = [divmod(int(place), self.n_heads) for place in self.lowest_first[:N_LOWEST]]
        first = sum(heads["max"][head] > 0.5 for head in lowest)
        flat = sum(heads["spread"][head] < np.median(heads["spread"]) for head in lowest)
        panels = {
            "spread of the maxima": (heads["spread"], heads["score"]),
            "AUC of the maxima": (heads["max"], heads["score"]),
        }
        return figure_picture(
            heads_figure(
                panels,
                ylabel="score, nats a word",
                marked=lowest,
                model=self.name,
                chance={"AUC of the maxima": 0.5},
                size=(9.8, 4.0),
            ),
            f"{'Yes' if first > N_LOWEST / 2 else 'No'}: {first} of the {N_LOWEST} lowest scores (squares) put key words first (right of .5), "
            f"though the maxima of {flat} vary less than the median head's. A point: a head of {self.subject}. {self.test.n_texts} texts.",
        )

    # ---- without heads, and tuned -------------------------------------------------------------------------

    def removal_picture(self) -> Picture:
        """The AUC of the regression as more and more heads go."""
        lines = {
            model: {order: curves.mean(axis=0) for order, curves in found.removal.items()}
            for model, found in self.found.items()
        }
        left = lines[self.name]["worst first"]
        half = {
            order: signed_gain(curve[2] - curve[0], 3)  # lesson12.SHARES[2] is a half
            for order, curve in lines[self.name].items()
        }
        return figure_picture(
            pruning_figure(lesson12.SHARES, lines, ylabel="AUC", size=(9.8, 3.9), sharey=True),
            f"A quarter of its heads keeps {self.name} at an AUC of {left[3]:.2f} (all: {left[0]:.2f}) if the worst go first. Without half: "
            f"worst first {half['worst first']}, at random {half['at random']}, best first {half['best first']}. Regression on all heads; "
            f"a head that is off has its mean everywhere. Ranked on {self.halves}.",
        )

    def tuned_table(self) -> TextTable:
        """A classifier of words fine-tuned from each model, beside the rules and the regression."""
        taught = [lesson12.tuned(model, self.resources) for model in self.models.values()]
        tuned = [
            keywords.judge("tuned", found.test, t.log_odds, t.cutoff, self.train.share_key)
            for found, t in zip(self.found.values(), taught)
        ]
        rows = {
            "rules together": self.scores[self.name][keywords.RULES_TOGETHER],
            "all heads, regression": self.scores[self.name][keywords.ALL_HEADS],
            f"{self.name}, fine-tuned": tuned[0],
            "random twin, fine-tuned": tuned[1],
        }
        return TextTable(
            ["score", "AUC [95 %]", "F1 [95 %]"],
            [[name, auc_of(score), f1_of(score)] for name, score in rows.items()],
            f"{len(taught[0].losses)} passes over {self.train.n_texts} texts; scored on {self.test.n_texts} others.",
        )

    def answer(self) -> Picture:
        """The lesson's answer."""
        ours, twin = (self.scores[name] for name in (self.name, "random twin"))
        one = {self.name: ours[keywords.BEST_HEAD]}
        low = {f"{self.name}, lowest third": self.thirds[0], f"{self.name}, others": self.thirds[1]}
        if self.other is not None:
            beside = short_title(self.beside)
            low |= dict(zip((f"{beside}, lowest third", f"{beside}, others"), _thirds(self.other)))
        one |= {"random twin": twin[keywords.BEST_HEAD], "baseline: tf-idf": ours["tf-idf"]}
        return answer_picture(
            {
                f"One head ranks words {_beside_counting(ours)} tf-idf.": {
                    name: Estimate(score.auc) for name, score in one.items()
                },
                f"All heads{' add' if ours[keywords.BOTH].auc > twin[keywords.BOTH].auc else ' add nothing'} to the rules.": {
                    "baseline: rules alone": Estimate(ours[keywords.RULES_TOGETHER].auc, form=".3f"),
                    f"{self.name}'s heads and rules": Estimate(ours[keywords.BOTH].auc, form=".3f"),
                    "random twin's heads and rules": Estimate(twin[keywords.BOTH].auc, form=".3f"),
                },
                "The lowest “entropy” is "
                f"{'a guide' if self.other is None and self.thirds[0] > self.thirds[1] else 'no sure guide'}.": {
                    name: Estimate(auc) for name, auc in low.items()
                },
            },
            f"AUC on {self.test.n_texts} texts; by chance .50. All heads without the rules: {ours[keywords.ALL_HEADS].auc:.2f}.",
        )

    # ---- behind the answer --------------------------------------------------------------------------------

    @property
    def prior(self) -> float:
        """The cross-entropy of who always says the share of key words, nats a word."""
        return self.scores[self.name][keywords.BEST_HEAD].prior

    def fits_table(self) -> TextTable:
        """What a regression on one number says of each word, in nats, and the F1 of its cut-off."""
        compared, twin = self.compared, self.control.comparison
        rows = [
            self._fit(compared, keywords.BEST_HEAD),
            self._fit(twin, keywords.BEST_HEAD, "the twin's best head"),
            self._fit(compared, "length"),
            self._fit(compared, "RAKE"),
        ]
        return TextTable(
            ["fitted on one number", "nats a word [95 %]", "F1 [95 %]"],
            rows,
            f"{'A little' if rows[0][1].high < self.prior else 'Not surely'}; word length needs "
            f"{'fewer' if rows[2][1].value < rows[0][1].value else 'more'} nats. Fitted on {self.train.n_texts} texts; "
            f"{self.test.n_texts} others, {len(self.test.words):,} words. F1 asks only which words lie above a cut-off: "
            f"{', '.join(f'{row[2].value:.2f}' for row in rows)}.",
        )

    def _fit(self, compared, name: str, shown: str = "") -> list[object]:
        """A row: the name, the loss a word with its interval over texts, and F1."""
        loss = keywords.cross_entropies(compared.answers[name][0], self.test.is_key)
        texts = self.test.text_ids
        sums = np.stack([np.bincount(texts, loss), np.bincount(texts)], axis=1)
        score = compared.score(name)
        nats = Estimate(score.loss, *stats.ratio_interval(sums, within=(0, np.inf)), ".3f")
        return [shown or score.name, nats, f1_of(score)]

    @property
    def coefficients(self) -> np.ndarray:
        """The weight of each head in the regression: (layer, head)."""
        return self.compared.regression.weights.reshape(self.n_layers, self.n_heads)

    def coefficients_picture(self) -> Picture:
        """The weight of each head in the regression, as a heat map."""
        weights = self.coefficients
        largest = head_label(*np.unravel_index(abs(weights).argmax(), weights.shape))
        return figure_picture(
            heat_figure({"": weights}, size=(9.8, 3.9), numbers=True),
            "Weight of each head in the regression, features of spread 1. Blue above 0, brown below; the largest stands in head "
            f"{largest}.",
        )

    def turned_sentence(self) -> str:
        """For how many heads the weight has another sign than what the head says alone."""
        turned = float(((self.coefficients > 0) != (self.auc > 0.5)).mean())
        return (
            f"For **{100 * turned:.0f} %** of the heads the sign is the opposite of what the head says alone "
            "(AUC above or below .5)."
        )


def _by_head(found: lesson12.Measured) -> dict[str, np.ndarray]:
    """Quantities of each head, mean over the texts that report: (layer, head)."""
    return {name: values.mean(axis=0) for name, values in found.heads[1].items()}


def _beside_counting(scores) -> str:
    ahead = scores[keywords.BEST_HEAD].auc - scores["tf-idf"].auc
    return f"{'a little ' if abs(ahead) < 0.05 else ''}{'better' if ahead > 0 else 'worse'} than"


def _thirds(found: lesson12.Measured) -> tuple[float, float]:
    """The mean AUC of the third of the heads with the lowest score, and of the others."""
    heads = _by_head(found)
    order, auc = heads["score"].ravel().argsort(), heads["max"].ravel()
    third = len(order) // 3
    return auc[order[:third]].mean(), auc[order[third:]].mean()


def auc_of(score: keywords.WordScore) -> Estimate:
    """The AUC of a score with its interval."""
    return Estimate(score.auc, score.auc_low, score.auc_high)


def f1_of(score: keywords.WordScore) -> Estimate:
    """The F1 of a score with its interval."""
    return Estimate(score.f1, score.f1_low, score.f1_high)


def auc_examples(orders: dict[str, Sequence[float]], aucs: dict[str, float]) -> TextTable:
    """Scores of four words, of which the first two are key words, and the AUC of each."""
    return TextTable(
        ["scores", "AUC"],
        [[f"{name}: {' '.join(map(str, orders[name]))}", Estimate(value)] for name, value in aucs.items()],
        "Four words; the first two are key words. Their scores, and how often a key word has the higher one.",
    )


def _ahead(lead: Estimate) -> str:
    """Who is ahead by a difference with its interval: nobody where 0 lies in it."""
    return "a tie" if lead.low <= 0 <= lead.high else "the head is ahead" if lead.low > 0 else "RAKE is ahead"


def _against_rake(table: MeasuredTable) -> str:
    """Two scores of docs/results.md, of which each has its own interval."""
    head, rake = (table.value(row, "F1 [") for row in ("best head, column mean", "RAKE"))
    said = "RAKE is ahead" if rake.low > head.high else "the head is ahead" if head.low > rake.high else ""
    return f"{head} and {rake}, {said or 'the intervals overlap'}"


def published_heads_table() -> TextTable:
    """Heads that lecture slides name for their low "entropy", and how much of their attention rests on [SEP]."""
    listed = lesson12.published_scores()
    first, second, *_ = (head["entropy"] for head in listed.values())
    return TextTable(
        ["head of BERT-base", "share to [SEP]"],
        [
            [f"{layer}-{head} (“entropy” {found['score']:.0f})", Estimate(found["sep"])]
            for (layer, head), found in listed.items()
        ][:6],
        "In brackets: the list's number, a sum (formula not given). Shares: Clark et al. 2019, Figure 2; the attention entropy of "
        f"the first two there: {first:.2f} and {second:.2f} nats.",
    )
