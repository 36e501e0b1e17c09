"""What the slides of lesson 11 show: heads taken away, one by one and together, and how far that was known beforehand."""

from __future__ import annotations

from functools import cached_property, partial

import numpy as np

from bertlook_teach import head_label, stats
from bertlook_teach.views import Picture

from ..analyses import ablation
from ..claims import FAILS, HOLDS, collect_evidence
from ..claims.lessons import lesson11
from ..published import published_wmt_significant
from ..render import (
    Estimate,
    TextTable,
    answer_picture,
    figure_picture,
    heat_figure,
    prediction_figure,
    pruning_figure,
    ranked_effects_figure,
    significance_figure,
)
from .common import LessonDeck, heads_where, letter

SHARE_OFF = 0.4  # of the heads, where the slides compare orders of removal


class Deck(LessonDeck):
    """The slides of lesson 11, on as many sentences as a lesson has time for."""

    lesson = "11"

    def __init__(self, encoder, twin):
        super().__init__(encoder, twin, lesson11.class_resources())
        self.n_heads = encoder.n_layers * encoder.n_heads
        self.n_texts = len(self.resources.texts)

    # ---- one head away ------------------------------------------------------------------------------------

    @cached_property
    def found(self) -> dict[str, dict[str, object]]:
        """What the loss becomes without each head ("zero", "uniform") and each layer ("layer"), for both models."""
        return {name: lesson11.measured(model, self.resources) for name, model in self.models.items()}

    @property
    def effects(self) -> ablation.HeadEffects:
        """What the model loses without each of its heads."""
        return self.found[self.name]["zero"]

    @property
    def twin_effects(self) -> ablation.HeadEffects:
        """The same for the random twin."""
        return self.found["random twin"]["zero"]

    @cached_property
    def matters(self) -> tuple[ablation.HeadsThatMatter, ...]:
        """Which heads matter beyond chance: of the model, and of the twin."""
        return tuple(ablation.heads_that_matter(e, by="loss") for e in (self.effects, self.twin_effects))

    @cached_property
    def sure(self) -> tuple[np.ndarray, ...]:
        """Of each model, which heads are not chance after Holm's correction: (layer, head)."""
        return tuple(m.corrected[0] < m.level for m in self.matters)

    @cached_property
    def unnoticed(self) -> tuple[float, ...]:
        """Of each model, the share of heads without which the loss rises by less than 1 %."""
        both = (self.effects, self.twin_effects)
        return tuple(float((e.loss_change / e.base_losses.mean() < 0.01).mean()) for e in both)

    @property
    def costliest(self) -> str:
        """The head without which the loss rises most."""
        change = self.effects.loss_change
        return head_label(*map(int, np.unravel_index(change.argmax(), change.shape)))

    def dearest(self, layer: int) -> str:
        """The head of a layer (from 0) without which the loss rises most."""
        return head_label(layer, int(self.effects.loss_change[layer].argmax()))

    def unnoticed_question(self) -> str:
        """How many heads would nobody miss?"""
        return (
            f"We take away each of the {self.n_heads} heads, one at a time, and measure the masked-LM loss "
            f"on {self.n_texts} sentences. For **how many** does it rise by less than **1 %**?\n\n"
            "**A** hardly any · **B** about a third · **C** about two thirds · **D** nearly all"
        )

    def unnoticed_table(self) -> TextTable:
        """The shares of heads that nobody would miss, and what was published of a translation model."""
        starred = published_wmt_significant()
        return TextTable(
            ["heads that nobody would miss", "share", "of"],
            [
                [self.name, Estimate(self.unnoticed[0]), self.n_heads],
                ["its random twin", Estimate(self.unnoticed[1]), self.n_heads],
                ["translation model, BLEU (Michel)", Estimate(1 - starred.mean()), starred.size],
            ],
            f"{self.Subject} and its twin: loss up by less than 1 %, {self.n_texts} sentences. Translation model: change not "
            "significant at p < .01, as printed.",
        )

    def unnoticed_answer(self) -> str:
        """The letter of the answer, and the model's share."""
        share = self.unnoticed[0]
        return f"The answer for {self.subject}: **{letter(share, (0.15, 0.5, 0.85))}** ({100 * share:.0f} %)."

    def effects_picture(self) -> Picture:
        """The change of the loss without each head, as a heat map."""
        change = self.effects.loss_change
        return figure_picture(
            heat_figure({"": change}, size=(9.8, 3.9)),
            f"{self.Subject}: head {self.costliest} costs most, {change.max():+.2f} nats of a loss of {self.effects.base_losses.mean():.2f}; "
            f"{self.n_texts} sentences. Blue: the loss rises; + or −: at least a quarter of the largest change. "
            f"Beyond chance, after Holm's correction for {self.n_heads} tests: {heads_where(self.sure[0])}.",
        )

    def effects_beside(self) -> str:
        """What the changes are to be compared with: those of the twin."""
        largest = np.abs(self.twin_effects.loss_change).max()
        return (
            f"Random twin: largest change {largest:.4f} nats, {int(self.sure[1].sum())} heads beyond chance."
        )

    def ranked_picture(self) -> Picture:
        """All heads by what is lost without them, each with its interval."""
        base, losses = self.effects.base_losses, self.effects.losses
        intervals = np.array([[stats.paired_interval(base, head) for head in layer] for layer in losses])
        sure = self.sure[0]
        return figure_picture(
            ranked_effects_figure(
                self.effects.loss_change, intervals, sure, ylabel="change of the loss, nats"
            ),
            f"{int(sure.sum()) or 'None'} of {self.subject}'s {self.n_heads} heads after Holm's correction{'' if sure.any() else '; such a head'} "
            f"{'(filled marks)' if sure.any() else 'would have a filled mark'}. 95 % intervals: samples of the {self.n_texts} sentences, in pairs (bootstrap).",
        )

    def counts_table(self) -> TextTable:
        """How many heads matter, before and after the correction, and how many of them are found again on other sentences."""
        ours, twins = self.matters
        largest = [np.abs(e.loss_change).max() for e in (self.effects, self.twin_effects)]
        return TextTable(
            ["heads with p < .05", self.name, "random twin"],
            [
                ["uncorrected", ours.uncorrected[0], twins.uncorrected[0]],
                [
                    "expected by chance if none mattered",
                    *(Estimate(m.expected_by_chance, form=".1f") for m in self.matters),
                ],
                ["after Holm's correction", ours.significant[0], twins.significant[0]],
                [
                    "found on a random half, median",
                    *(Estimate(np.median(m.found), form="g") for m in self.matters),
                ],
                [
                    "of these confirmed on the other half",
                    *(Estimate(np.median(m.confirmed), form="g") for m in self.matters),
                ],
            ],
            f"Paired t-tests of the loss, {self.n_heads} heads, {self.n_texts} sentences, 20 random halves. "
            f"Largest change: {self.name} {largest[0]:.3f} nats, twin {largest[1]:.4f}: a small p says not chance, the size how much.",
        )

    def significance_picture(self) -> Picture:
        """Size and p of every head's effect, of both models: why the twin can have more stars."""
        series = {
            name: (
                e.loss_change,
                [[stats.paired_p(e.base_losses, head) for head in layer] for layer in e.losses],
            )
            for name, e in zip((self.name, "random twin"), (self.effects, self.twin_effects))
        }
        ours, twins = self.matters
        figure = significance_figure(
            series,
            levels={".05": 0.05, f".05 / {self.n_heads}": 0.05 / self.n_heads},
            xlabel="size of the change, nats",
        )
        smallest = [min(np.min(p) for p in ps) for _, ps in series.values()]
        told = "No: the smallest p is the twin's, for a tiny change. " if smallest[1] < smallest[0] else ""
        said = (
            f"{told}p: paired t-tests. p < .05: {self.name} {ours.uncorrected[0]}, twin {twins.uncorrected[0]} of {self.n_heads} heads, by chance "
            f"{ours.expected_by_chance:.1f}; after Holm's correction {ours.significant[0]} and {twins.significant[0]}. {self.n_texts} sentences."
        )
        return figure_picture(figure, said, (self.counts_table(),))

    # ---- the best head to remove --------------------------------------------------------------------------

    @cached_property
    def gains(self) -> tuple[np.ndarray, ...]:
        """Of each model, what the best head to remove gains: on the half that chose it, and on the other half."""
        return tuple(ablation.best_to_remove(effects) for effects in (self.effects, self.twin_effects))

    def halves_question(self) -> str:
        """What becomes of the gain on other sentences?"""
        return (
            f"On one half of the sentences we look for the **best** of {self.n_heads} heads to remove: without it the loss "
            "is *lowest*. Then we try it on the **other half**. What happens to its gain?\n\n"
            "**A** it grows · **B** it stays · **C** it shrinks · **D** it turns into a loss"
        )

    def halves_table(self) -> TextTable:
        """The gain of the best head to remove on both halves, for both models."""
        return TextTable(
            ["best head to remove, gain in nats", "half that chose", "other half"],
            [
                [name, *(Estimate(gain, form="+.4f") for gain in pair)]
                for name, pair in zip((self.name, "its random twin"), self.gains)
            ],
            f"Mean over 200 random halves of {self.n_texts} sentences; positive: the loss falls without the head.",
        )

    def halves_answer(self) -> str:
        """The letter of the answer, and what to expect on new sentences."""
        chose, other = self.gains[0]
        return (
            f"The answer for {self.subject}: **{letter(other / chose, (0, 0.8, 1.1), 'DCBA')}**. The other half did not choose, so it is the fair guess "
            f"for **new** sentences, if a noisy one. The mean of both halves, {self.gains[0].mean():+.4f}, is too high."
        )

    # ---- many heads away ----------------------------------------------------------------------------------

    @property
    def layer_cost(self) -> np.ndarray:
        """What the model loses without each layer's heads, all at once."""
        return self.found[self.name]["layer"].loss_change

    @property
    def head_sum(self) -> np.ndarray:
        """What it loses without each of a layer's heads, one by one, summed."""
        return self.effects.loss_change.sum(axis=1)

    @property
    def widest_gap(self) -> int:
        """The layer, from 0, whose heads cost most beyond their sum when all are off."""
        return int((self.layer_cost - self.head_sum).argmax())

    @cached_property
    def beyond_sum(self) -> list[tuple[float, float]]:
        """For each layer the interval of what all its heads at once cost beyond their sum, the sentences drawn in pairs."""
        base, layers = self.effects.base_losses, self.found[self.name]["layer"].losses
        summed = (self.effects.losses - base).sum(axis=1)
        return [stats.paired_interval(heads, at_once - base) for heads, at_once in zip(summed, layers)]

    def layers_table(self) -> TextTable:
        """Heads of a layer one by one and all at once."""
        twin = self.found["random twin"]["layer"].loss_change
        gap, beyond = self.widest_gap, self.beyond_sum
        more = [i for i, (low, _) in enumerate(beyond, 1) if low > 0]
        plural = "s" * (len(more) > 1)
        where = (
            f"In layer{plural} {' and '.join(map(str, more))} it seems so" if more else "In none is it sure"
        )
        low, high = beyond[gap]
        return TextTable(
            ["layer off", "its heads one by one, summed", "all at once", "twin, all at once"],
            [
                [
                    f"layer {layer}",
                    Estimate(one_by_one, form="+.3f"),
                    Estimate(at_once, form="+.3f"),
                    Estimate(untrained, form="+.4f"),
                ]
                for layer, (one_by_one, at_once, untrained) in enumerate(
                    zip(self.head_sum, self.layer_cost, twin), 1
                )
            ],
            f"{where}: the 95 % interval of the difference {'lies above' if more else 'contains or lies below'} 0 ({len(beyond)} layers tried, not corrected). "
            f"Layer {gap + 1} of {self.subject} has the widest gap: all heads at once cost {self.layer_cost[gap]:+.2f} nats, one by one they add up to "
            f"{self.head_sum[gap]:+.2f}, a difference of {self.layer_cost[gap] - self.head_sum[gap]:+.2f} [{low:+.2f}, {high:+.2f}]; {self.n_texts} sentences.",
        )

    @cached_property
    def slopes(self) -> dict[str, np.ndarray]:
        """Of each model, the derivative of each sentence's loss by each head's gate: (sentence, layer, head)."""
        return {
            name: collect_evidence("head effects", model, self.resources).values["signed"]
            for name, model in self.models.items()
        }

    @property
    def predictions(self) -> dict[str, tuple[np.ndarray, np.ndarray]]:
        """Of each model, what the slope says that a head costs, and what it does cost."""
        return {
            name: (-slopes.mean(axis=0), self.found[name]["zero"].loss_change)
            for name, slopes in self.slopes.items()
        }

    @cached_property
    def fit(self) -> dict[str, float]:
        """Of each model, the correlation of the predicted and the true effects."""
        return {
            name: np.corrcoef(predicted.ravel(), true.ravel())[0, 1]
            for name, (predicted, true) in self.predictions.items()
        }

    @cached_property
    def fit_interval(self) -> tuple[float, float]:
        """The interval of the model's correlation over sentences."""
        slopes, change = self.slopes[self.name], self.effects.losses - self.effects.base_losses

        def fit(texts) -> float:
            return np.corrcoef(-slopes[texts].mean(axis=0).ravel(), change[..., texts].mean(axis=-1).ravel())[
                0, 1
            ]

        return stats.resampled_interval(fit, np.arange(self.n_texts))

    @property
    def how_well(self) -> str:
        """How well the slope predicts the cost, in a word or two."""
        return "Well" if self.fit[self.name] > 0.8 else "Only roughly"

    def prediction_picture(self) -> Picture:
        """Predicted and true effects of all heads."""
        low, high = self.fit_interval
        return figure_picture(
            prediction_figure(self.predictions, size=(9.8, 3.7)),
            f"{self.how_well}: over {self.n_heads} heads, predicted and true cost correlate with {self.fit[self.name]:.2f} [{low:.2f}, {high:.2f}] in {self.subject}, "
            f"with {self.fit['random twin']:.2f} in the twin. A head on the line is predicted exactly; the head farthest from it is named. "
            f"{self.n_texts} sentences; each panel has its own scale.",
        )

    @cached_property
    def pruned(self) -> dict[str, dict[str, np.ndarray]]:
        """Of each model, the loss added by an order of removal at each share of heads off; a mean over sentences."""
        curves = {
            name: collect_evidence("pruning curves", model, self.resources).values
            for name, model in self.models.items()
        }
        return {
            name: {key: curve[key].mean(axis=0) for key in ("worst", "best", "random", "orders")}
            for name, curve in curves.items()
        }

    def at_share_off(self, share: float = SHARE_OFF) -> dict[str, float]:
        """What the loss rises by where so many of the heads are off, by the order of removal."""
        step = lesson11.SHARES.index(share)
        return {order: curve[..., step] for order, curve in self.pruned[self.name].items()}

    @cached_property
    def from_above(self) -> float:
        """The same for a rule without a gradient: the upper layers' heads go first."""
        bench = ablation.Bench(self.encoder, "He opened the door.", texts=self.resources.texts)
        heads = ablation.all_heads(self.encoder)[::-1][: round(SHARE_OFF * self.n_heads)]
        added = bench.run(heads).losses - bench.run().losses
        return float((np.bincount(bench.units, added) / np.bincount(bench.units)).mean())

    def pruning_picture(self) -> Picture:
        """The loss as more and more heads go, in three orders."""
        orders = {"least important first": "worst", "most important first": "best", "random": "random"}
        ours = self.pruned[self.name]
        lines = {said: ours[key] for said, key in orders.items()}
        lines |= {
            f"{name}, any order": curves["random"]
            for name, curves in self.pruned.items()
            if name != self.name
        }
        base, fifth, added = (
            self.effects.base_losses.mean(),
            self.at_share_off(0.2)["worst"],
            self.at_share_off(),
        )
        return figure_picture(
            pruning_figure(
                lesson11.SHARES,
                {"": lines},
                bands={"": ours["orders"]},
                ylabel="loss added, nats",
                size=(9.8, 4.0),
            ),
            f"With the least important heads first, removing one fifth ({0.2 * self.n_heads:.0f}) raises the loss of {self.subject} by {100 * fifth / base:.0f} %, two "
            f"fifths ({SHARE_OFF * self.n_heads:.0f}) by {100 * added['worst'] / base:.0f} % ({added['worst']:+.2f} of {base:.2f} nats; slide 19 has an interval). In random order "
            f"two fifths cost {100 * added['random'] / base:.0f} % ({added['random']:+.2f}). Ranked by Iₕ on {len(self.resources.pairs[: lesson11.RANKED_ON])} paragraphs, scored on {self.n_texts} sentences. "
            f"Grey: {lesson11.DRAWS} random orders.",
        )

    # ---- the ledger and the answer ------------------------------------------------------------------------

    def verdict_count(self) -> str:
        """How many claims hold, what the first row counts, and why other slides have other numbers."""
        claim, cost, net = self.verdicts_on("first-order", "prune-40", "safety-net")
        share, low, high = (100 * cost.claim.quantity(end) for end in (cost.value, cost.high, cost.low))
        there, fit = 100 * self.at_share_off()["worst"] / self.effects.base_losses.mean(), self.fit[self.name]
        met = bool(low <= there <= high and claim.low <= fit <= claim.high)
        return (
            f"Row 1 {_becomes(cost)}: without two fifths of the heads the loss rises by {share:.1f} % [{low:.1f}, {high:.1f}]. Row 2 "
            f"{_becomes(claim)}. That heads of a layer stand in for each other {_becomes(net)}. {super().verdict_count()} The claims were tested on {claim.n} of the sentences; {'their intervals contain what' * met or 'on'} all {self.n_texts} {'give' * met}: {there:.0f} % (slide 16) and r = {fit:.2f} (slide 15)."
        )

    def answer(self) -> Picture:
        """The lesson's answer."""
        [claim] = self.verdicts_on("first-order")
        added, gap, more = self.at_share_off(), self.widest_gap, [low > 0 for low, _ in self.beyond_sum]
        nats = partial(Estimate, form="+.2f", after=" nats")
        where = "Some" if any(more) else "None surely"
        beaten = {HOLDS: "the correlation exceeds .5", FAILS: "the correlation is below .5"}.get(
            claim.verdict, "whether the correlation exceeds .5 is undecided"
        )
        sure = (
            f"Beyond chance: {heads_where(self.sure[0])}"
            if self.sure[0].any()
            else "No single head's cost is beyond chance"
        )
        return answer_picture(
            {
                "Most heads are not missed." if self.unnoticed[0] > 0.5 else "Most heads are missed.": {
                    "heads not missed": Estimate.per_cent(self.unnoticed[0], after=f" % of {self.n_heads}")
                },
                f"{where} cost more together.": {
                    f"layer {gap + 1}, widest of {len(more)} gaps": nats(self.layer_cost[gap]),
                    "its heads, summed": nats(self.head_sum[gap]),
                },
                "40 % off: the order by Iₕ beats a random one."
                if added["worst"] < added["orders"].min()
                else "40 % off: the order by Iₕ is no better than a random one.": {
                    "least important": nats(added["worst"]),
                    "baseline: top layers": nats(self.from_above),
                    "baseline: at random": nats(added["random"]),
                },
            },
            f"{self.how_well}: predicted and true cost correlate with {self.fit[self.name]:.2f} ({self.n_texts} sentences); {beaten}. {sure}. Whether the order by Iₕ "
            f"beats “top layers first” is not tested; random: mean of {lesson11.DRAWS} orders.",
            model=self.name,
        )


def _becomes(verdict) -> str:
    """What becomes of a claim, after its name."""
    return verdict.verdict if verdict.verdict in (HOLDS, FAILS) else "is undecided"
