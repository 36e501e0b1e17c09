"""What the slides of lesson 12 show: whether key words can be told by what heads look at, beside rules that read no head."""

from __future__ import annotations

from functools import cached_property

import numpy as np

from bertlook_teach import head_label, stats
from bertlook_teach.views import Picture

from ..analyses import keywords
from ..claims import FAILS, HOLDS, Verdict
from ..claims.lessons import lesson12
from ..metrics import rank_correlation
from ..render import (
    Estimate,
    TextTable,
    answer_picture,
    figure_picture,
    heads_figure,
    heat_figure,
    pruning_figure,
    signed_gain,
)
from .common import letter, short_title, subject
from .parts.lesson12_ranks import Ranks, auc_of
from .pictures.limits import keyword_limits

_ABOUT_HALF = 0.47, 0.53  # between these an AUC is called chance
N_LOWEST = 10  # heads with the lowest scores, named in the picture


class Deck(Ranks):
    """The slides of lesson 12; see `Ranks` for its arguments."""

    choice = "heads were chosen and regressions fitted on {others} others"  # no layer is chosen
    # ---- published scores of heads ------------------------------------------------------------------------

    limits = staticmethod(keyword_limits)

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
        """The letter of the answer, beside another model its letter too, and what a low score means."""
        said = f"{letter(self.thirds[0], _ABOUT_HALF, 'CBA')}** ({self.thirds[0]:.2f}; the twin's lowest third has {_thirds(self.control)[0]:.2f})"
        if self.other is not None:
            said += f"; in {subject(self.beside)} **{letter(_thirds(self.other)[0], _ABOUT_HALF, 'CBA')}**"
        heads = self.by_head[self.name]
        spread, entropy = (
            rank_correlation(heads["score"].ravel(), heads[kind].ravel()) for kind in ("spread", "entropy")
        )
        tends = f" and with a {'high' if entropy < 0 else 'low'} attention entropy" * (abs(entropy) > 0.2)
        unlike = "; Stefanik's first two have a very low one"
        others = ". The first two heads of Stefanik's list have a very low entropy"
        listed = unlike if entropy < -0.2 else others
        return (
            f"The answer: **{said}. In {self.subject} a low score goes with maxima that vary {'little' if spread > 0 else 'much'}"
            f"{tends}{listed}."
        )

    def thirds_table(self) -> TextTable:
        """The mean AUC of the third of the heads with the lowest score and of the others, with its interval over texts; the twin's, too."""
        models = {self.name: self.ours}
        if self.other is not None:
            models[short_title(self.beside)] = self.other
        counts = {name: _order(found).size for name, found in models.items()}
        models[f"{self.name}'s twin"] = self.control
        parts = {name: _thirds_by_text(found) for name, found in models.items()}
        rows = [
            [who, *(Estimate(*keywords.mean_with_interval(part[k]), ".2f") for part in parts.values())]
            for k, who in enumerate(("lowest third", "the others"))
        ]
        of = ", ".join(f"{n // 3} and {n - n // 3} ({name})" for name, n in counts.items())
        return TextTable(
            ["heads", *models],
            rows,
            f"Mean AUC of the maxima [95 %], {self.test.n_texts} texts; heads: {of}.",
        )

    def scores_picture(self) -> Picture:
        """The score of each head beside the spread and the AUC of its maxima."""
        heads = self.by_head[self.name]
        lowest = [divmod(int(place), self.n_heads) for place in self.lowest_first[:N_LOWEST]]
        first = sum(heads["max"][head] > 0.5 for head in lowest)
        flat = sum(heads["spread"][head] < np.median(heads["spread"]) for head in lowest)
        beside = ""
        if self.other is not None:
            found = "look away from" if _thirds(self.other)[0] < _ABOUT_HALF[0] else "do not look away from"
            beside = f" In {subject(self.beside)} such heads {found} key words (slide 14)."
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
            f"In {self.subject} {'yes' if first > N_LOWEST / 2 else 'no'}: {first} of the {N_LOWEST} heads with the lowest scores (squares; named: the lowest two) put key words first "
            f"(right of .5), though the maxima of {'all ' * int(flat == N_LOWEST)}{flat} vary less than the median head's. The twin's lowest third has {_thirds(self.control)[0]:.2f} on average.{beside}",
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
            f"With the better half of its heads {self.name} has an AUC of {left[2]:.3f}, with a quarter {left[3]:.2f}, with all {left[0]:.3f}. Change "
            f"if half is removed at random (mean of {lesson12.DRAWS} orders): {half['at random']}; the best first: {half['best first']}. A removed head "
            f"is replaced by its mean. Right: the twin. Ranked on {self.halves}.",
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
        before, after = rows["all heads, regression"], tuned[0]
        return TextTable(
            ["score", "AUC [95 %]", "F1 [95 %]"],
            [[name, auc_of(score), f1_of(score)] for name, score in rows.items()],
            f"{'Yes, a little' if after.auc > before.auc and after.f1 > before.f1 else 'Not clearly'}: AUC {after.auc:.2f} against "
            f"{before.auc:.2f}, F1 {after.f1:.2f} against {before.f1:.2f}. {len(taught[0].losses)} passes over {self.train.n_texts} texts; scored on {self.test.n_texts} others.",
        )

    def verdict_count(self) -> str:
        """Whether all heads together add to the rules, and how many claims hold."""
        [add] = self.verdicts_on("heads-add")
        said = {HOLDS: "Yes, all heads together do", FAILS: "No, not even all heads together do"}
        return f"**{said.get(add.verdict, 'This is undecided, even for all heads together')}** (row 3). {super().verdict_count()}"

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
                "The lowest “entropy” (our reading of it) is "
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
        [predicts] = self.verdicts_on("heads-beat-prior")
        head, length = rows[0][1], rows[2][1]
        meet = head.low <= length.high and length.low <= head.high
        overlap = " on these texts, but the intervals overlap" * meet
        return TextTable(
            ["fitted on one number", "nats a word [95 %]", "F1 [95 %]"],
            rows,
            f"{'A little' if rows[0][1].high < self.prior else 'Not surely'}: {100 * (1 - rows[0][1].value / self.prior):.0f} % of the "
            f"nats are saved{_beside_line(predicts)}. Word length alone needs {'fewer' if length.value < head.value else 'more'} nats{overlap}. Fitted on {self.train.n_texts} texts; "
            f"{self.test.n_texts} others, {len(self.test.words):,} words. F1: "
            f"{', '.join(f'{name} {row[2].value:.2f}' for name, row in zip(('best head', 'twin', 'length', 'RAKE'), rows))}.",
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
            "Weight of each head in the regression; all heads are scaled to a standard deviation of 1. Blue above 0, brown below; the largest stands in head "
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


def _beside_line(verdict: Verdict) -> str:
    """Whether the share of the nats is above the line of its claim."""
    line = f"{100 * verdict.claim.threshold:g} % (slide 19)"
    return {HOLDS: f", more than {line}", FAILS: f", not more than {line}"}.get(
        verdict.verdict, f"; whether it is more than {line} is undecided"
    )


def _beside_counting(scores) -> str:
    ahead = scores[keywords.BEST_HEAD].auc - scores["tf-idf"].auc
    return f"{'a little ' if abs(ahead) < 0.05 else ''}{'better' if ahead > 0 else 'worse'} than"


def _order(found: lesson12.Measured) -> np.ndarray:
    """The heads by their score, lowest first: places in a flat array."""
    return _by_head(found)["score"].ravel().argsort()


def _thirds_by_text(found: lesson12.Measured) -> tuple[np.ndarray, np.ndarray]:
    """The AUC in each text, mean of the third of the heads with the lowest score, and of the others."""
    order, auc = _order(found), found.heads[1]["max"]
    auc, third = auc.reshape(len(auc), -1), len(order) // 3
    return auc[:, order[:third]].mean(axis=1), auc[:, order[third:]].mean(axis=1)


def _thirds(found: lesson12.Measured) -> tuple[float, float]:
    """The mean of both over the texts."""
    lowest, others = _thirds_by_text(found)
    return lowest.mean(), others.mean()


def f1_of(score: keywords.WordScore) -> Estimate:
    """The F1 of a score with its interval."""
    return Estimate(score.f1, score.f1_low, score.f1_high)
