"""What the slides of lesson 04 show: how much [SEP] gets, how much it gives, and what changes without it; and a second sink."""

from __future__ import annotations

from functools import cached_property

import numpy as np

from bertlook_teach.model import load_encoder
from bertlook_teach.views import Picture

from ..claims import SINKS, Resources, collect_evidence
from ..claims.lessons.lesson04 import shown_bounds
from ..metrics import CannotDecide, best_index
from ..published import published_gradients, published_layers, published_norm_share
from ..render import Estimate, TextTable, answer_picture, figure_picture, interval_curves, zones_picture
from .common import LessonDeck, short_title, subject
from .parts.lesson04_norms import (
    KINDS,
    LOOKS,
    VOTES,
    Statistic,
    banded,
    correlations,
    gradient_ratio,
    just,
    layer_means,
    layers_under,
    share_of_norms,
    share_of_weights,
    sink_of,
    sinks_figure,
    turn,
    turn_per_weight,
    what_is_left,
)


# --- what our models do ----------------------------------------------------------------------------------------
class Deck(LessonDeck):
    """The slides of lesson 04, on all shipped texts.

    Attributes
    ----------
    graded : Encoder
        Whose gradients are shown: the deck's model, or the specimen where that one has no masked-LM head; ``stands_in`` then says so.
    """

    lesson = "04"

    def __init__(self, encoder, twin, beside=None):
        super().__init__(encoder, twin, Resources(), beside)
        names = {"surface": "surface", "norms": "norms", "zeroing": "value zeroing"}
        self.ours, self.chance = (
            {key: collect_evidence(name, model, self.resources) for key, name in names.items()}
            for model in (encoder, twin)
        )
        self.n_texts = self.ours["norms"].n
        by_head = self.ours["norms"].values["weight_sep"].mean(axis=0)
        self.resting = int(by_head.mean(axis=1).argmax())  # the layer that gives [SEP] most
        self.sep_head = best_index(by_head)
        self.base_layer = int(published_layers("sep").argmax())  # the same of BERT-base
        self._collect_gradients()

    def _collect_gradients(self) -> None:
        """Of the deck's model; of the specimen where that model has no masked-LM head, and so no loss."""
        self.graded, self.stands_in, models = self.encoder, "", (self.encoder, self.twin)
        try:
            found = [collect_evidence("importance", model, self.resources) for model in models]
        except CannotDecide:
            self.graded = load_encoder("specimen")
            self.stands_in = f"{self.Subject} has no masked-LM head, and so no such loss; the specimen has. "
            models = (self.graded, load_encoder("specimen-random"))
            found = [collect_evidence("importance", model, self.resources) for model in models]
        self.ours["importance"], self.chance["importance"] = found
        by_layer = found[0].values["weight_sep"].mean(axis=(0, 2))
        self.graded_layer = int(by_layer.argmax()) if self.stands_in else self.resting

    def _there(self, key: str, statistic: Statistic) -> list[float]:
        """A statistic of the model and its interval, in the layer that gives [SEP] most."""
        layer = self.graded_layer if key == "importance" else self.resting
        return [values[layer] for values in banded(self.ours[key], statistic)]

    def _compared(
        self,
        key,
        statistic,
        printed,
        what,
        name="",
        *,
        baseline=None,
        ylabel="[SEP] / other",
        more="",
        answer="",
    ) -> Picture:
        """A statistic by layer, of the model, its twin and, where it was printed, of BERT-base."""
        model = self.graded if key == "importance" else self.encoder
        curves = {
            short_title(model): banded(self.ours[key], statistic),
            "its random twin": banded(self.chance[key], statistic),
        }
        published = None if printed is None else {name: printed}
        figure = interval_curves(curves, published=published, ylabel=ylabel, baseline=baseline)
        tops = {subject(model): curves[short_title(model)][0]}
        tops |= {} if printed is None else {"BERT-base": printed}
        said = ", ".join(
            f"{who} ranges from {c.min():.2f} (layer {c.argmin() + 1}) to {c.max():.2f} (layer {c.argmax() + 1})"
            for who, c in tops.items()
        )
        said = answer or f"{what}: {said}."
        return figure_picture(figure, f"{said}{more} Bands: 95 %, n = {self.n_texts} texts.")

    # ---- what [SEP] gets and whom it looks at -----------------------------------------------------------------

    def sep_picture(self) -> Picture:
        """Attention to [SEP] by layer; and to another token, where the model rests on that one."""
        kind, layer = sink_of(self.ours["norms"])
        most = self.ours["norms"].values[f"weight_{kind}"].mean(axis=(0, 2))[layer]
        rests = f" {self.Subject} gives {SINKS[kind]} more: {most:.2f} in layer {layer + 1}."
        return self._compared(
            "norms",
            layer_means("weight_sep"),
            published_layers("sep"),
            "Attention to [SEP]",
            "BERT-base, Clark et al. 2019",
            ylabel="share to [SEP]",
            more="" if kind == "sep" else rests,
        )

    @property
    def own_in_base(self) -> float:
        return published_layers("sep_to_sep")[self.base_layer]

    # ---- votes ------------------------------------------------------------------------------------------------

    def axis(self, question: int) -> Picture:
        """What a vote is about: an empty axis in zones, one for each answer."""
        zones, least, what = VOTES[question - 1]
        return zones_picture(zones, {}, what, least=least)

    def voted(self, question: int) -> Picture:
        """The same axis with what was measured, in the layer that gives [SEP] most, and the letter."""
        zones, least, _ = VOTES[question - 1]
        key, statistic, base, said = self._asked()[question - 1]
        layer = self.graded_layer if key == "importance" else self.resting
        model = self.graded if key == "importance" else self.encoder
        found = Estimate(*self._there(key, statistic))
        twin = Estimate(float(banded(self.chance[key], statistic)[0][layer]))
        measured = {short_title(model): found, "its random twin": twin}
        if base is not None:
            measured[f"BERT-base, layer {self.base_layer + 1}"] = Estimate(base)
        answer = next((letter for letter, end in zones.items() if found.value < end), list(zones)[-1])
        who = "The specimen" if model is not self.encoder else self.Subject
        before = self.stands_in if key == "importance" else ""
        return zones_picture(
            zones,
            measured,
            f"{before}{who}: {answer}, in layer {layer + 1} (n = {self.n_texts} texts). {said}",
            least=least,
        )

    def _asked(self) -> tuple:
        """Of each vote its evidence, its statistic, BERT-base's published value, and what else is to be said."""
        weight, added = (self._there("norms", share)[0] for share in (share_of_weights, share_of_norms))
        base = [float(published_norm_share("sep", weights=w)[self.base_layer]) for w in (True, False)]
        sep, other = self.degrees
        clark = "Clark et al. 2019"
        return (
            ("surface", layer_means("sep_to_sep"), self.own_in_base, f"BERT-base: {clark}, a figure."),
            (
                "importance",
                gradient_ratio,
                self.published_ratio[self.base_layer],
                f"BERT-base: derived from a figure of {clark}.",
            ),
            (
                "norms",
                what_is_left,
                base[1] / base[0],
                f"{weight:.2f} of the weights, {added:.2f} of the norms. BERT-base: {base[0]:.2f} and {base[1]:.2f} (Kobayashi et al. 2020, figure).",
            ),
            (
                "zeroing",
                turn,
                None,
                f"They turn {sep:.3f}° without a [SEP], {other:.3f}° without another token (a word, not [CLS] and not punctuation). BERT-base: not published.",
            ),
        )

    # ---- gradients --------------------------------------------------------------------------------------------

    @property
    def published_ratio(self) -> np.ndarray:
        """BERT-base's gradient on [SEP], as a share of that on all tokens, by layer."""
        return published_gradients("sep") / published_gradients("all")

    def ratio_picture(self) -> Picture:
        """The same by layer."""
        ours = layers_under(banded(self.ours["importance"], gradient_ratio)[0], 0.5)
        return self._compared(
            "importance",
            gradient_ratio,
            self.published_ratio,
            "",
            "BERT-base, Clark et al. 2019",
            baseline=("equal", 1.0),
            ylabel="[SEP] / all",
            answer=f"{self.stands_in}Under half of the gradient on all tokens: in {subject(self.graded)} in {ours}, in BERT-base "
            f"in {layers_under(self.published_ratio, 0.5)}; in the twin in {layers_under(banded(self.chance['importance'], gradient_ratio)[0], 0.5)}.",
        )

    def bound_picture(self) -> Picture:
        """Gradients of single weights against what their values allow, of the first text."""
        from matplotlib.figure import Figure

        found = shown_bounds(self.graded, self.resources.pairs[0])
        bounds, importance = found["bounds"], found["importance"]
        drawing = Figure(figsize=(9.8, 2.6), layout="constrained")
        axes = drawing.subplots()
        ends = np.sort(bounds)[[0, -1]]
        axes.loglog(ends, ends, color="#555555", linestyle=":", linewidth=2)
        axes.plot(bounds, importance, "o", color="#0072b2", markersize=5, alpha=0.6)
        axes.set_ylim(ends[0] / 100, ends[1])
        axes.set_xlabel("‖dL/dout‖ ‖f(x)‖ (dotted: as large as it can be)", fontsize=18)
        axes.set_ylabel("|dL/dα|", fontsize=18)
        axes.set(xticks=[], yticks=[])
        axes.minorticks_off()
        axes.spines[["top", "right"]].set_visible(False)
        return figure_picture(
            drawing,
            f"{self.stands_in}{len(bounds)} of {found['count']:,} weights of one text, logarithmic axes. No gradient is above its bound: "
            f"{100 * found['share']:.0f} % of all weights lie under the line.",
        )

    # ---- what [SEP] gives -------------------------------------------------------------------------------------

    def share_picture(self) -> Picture:
        """The share of [SEP] by layer, of the weights and of what is added, here and as printed."""
        ours, printed = (
            [banded(self.ours["norms"], share) for share in (share_of_weights, share_of_norms)],
            [(published_norm_share("sep", weights=w),) * 3 for w in (True, False)],
        )
        names = "of the weights", "of the weighted norms"
        twin = {"its random twin": banded(self.chance["norms"], share_of_weights)}
        panels = {
            f"{short_title(self.encoder)}, n = {self.n_texts} texts": dict(zip(names, ours)) | twin,
            "BERT-base (Kobayashi et al. 2020)": dict(zip(names, printed)),
        }
        here, there = (layers_under(added[0] / weights[0], 0.5) for weights, added in (ours, printed))
        return figure_picture(
            sinks_figure(panels, "share of [SEP]"),
            f"By more than half: in {self.subject} in {here}, in BERT-base in {there}. Bands: 95 %.",
        )

    # ---- what changes without it ------------------------------------------------------------------------------

    @property
    def degrees(self) -> list[float]:
        """How far the other tokens turn without a [SEP], and without another token, in the layer that gives [SEP] most."""
        found = self.ours["zeroing"].values
        return [np.degrees(found[f"angle_{kind}"][:, self.resting].mean()) for kind in ("sep", "other")]

    def turn_pictures(self) -> dict[str, Picture]:
        """The same by layer, and for each unit of weight, for a menu."""
        said = {
            "a unit of weight": (turn_per_weight, "a unit of weight on [SEP]", "one on another token"),
            "a token": (turn, "[SEP]'s value", "another token's"),
        }
        found = {}
        for name, (statistic, what, other) in said.items():
            times = self._there("zeroing", statistic)[0]
            answer = f"In layer {self.resting + 1} of {self.subject}, {what} turns the others {times:.2f} times as far as {other}."
            found[name] = self._compared(
                "zeroing", statistic, None, "", baseline=("equal", 1.0), answer=answer
            )
        return found

    # ---- the answer -------------------------------------------------------------------------------------------

    @cached_property
    def came_out(self) -> list[str]:
        """For each of `LOOKS`: "yes", "no", "undecided" where the interval is not whole under the line or the twin is under it, or "not measured"."""
        said = []
        for _, _, key, statistic, line in LOOKS:
            if key == "importance" and self.stands_in:
                said.append("not measured")
                continue
            found = self._there(key, statistic)
            twin_too = banded(self.chance[key], statistic)[0][self.resting] < line
            over, under = min(found) >= line, max(found) < line
            said.append("no" if over else "yes" if under and not twin_too else "undecided")
        return said

    @property
    def rests(self) -> list[str]:
        """What came out of the rows that say that attention rests on [SEP], as far as they are measured."""
        rows = zip(self.came_out, LOOKS)
        return [said for said, look in rows if look[0] == "resting" and said != "not measured"]

    def answer_table(self) -> TextTable:
        """What would be small if [SEP] gathered, or if attention rested there, and whether it is."""
        weight, added = (
            float(published_norm_share("sep", weights=w)[self.base_layer]) for w in (True, False)
        )
        length = added / weight / ((1 - added) / (1 - weight))
        known = (self.own_in_base, length, self.published_ratio[self.base_layer])
        base = (*map(Estimate, known), "-", "-")
        body = []
        for (who, what, key, statistic, line), printed, said in zip(LOOKS, base, self.came_out):
            ours, twin = "-", "-"
            if said != "not measured":
                ours = Estimate(*self._there(key, statistic))
                twin = Estimate(banded(self.chance[key], statistic)[0][self.resting])
            body.append([who, what, Estimate(line, form="g"), printed, ours, twin, said])
        return TextTable(
            ["if it is ...", "then ...", "under", "BERT-base", f"{self.name} [95 %]", "twin", "came out"],
            body,
            "[SEP] relative to other tokens (gradient: to all; first row: its share), in the layer that gives it most; "
            f"n = {self.n_texts} texts.{self.said_undecided()}",
        )

    def said_undecided(self) -> str:
        """What *undecided* means, if a row of the answer is that."""
        said = " Undecided: the interval crosses the line, or the twin is under it too."
        return said * ("undecided" in self.came_out)

    def said_answer(self) -> str:
        """How many rows came out."""
        return (
            f"**Resting: {self.rests.count('yes')} of {len(self.rests)} predictions hold**, but all of them depend on the length of one vector. "
            f"**Side effect:** {self.spread}"
        )

    @cached_property
    def from_sep(self) -> tuple[np.ndarray, np.ndarray]:
        """The share of [SEP] in the weights of each head and in what it adds, over all texts: (layer, head)."""
        values = self.ours["norms"].values
        weight, added = (
            {kind: values[f"{name}_{kind}"].mean(axis=0) for kind in KINDS if f"{name}_{kind}" in values}
            for name in ("weight", "added")
        )
        return weight["sep"] / sum(weight.values()), added["sep"] / sum(added.values())

    @property
    def spread(self) -> str:
        """What comes from [SEP] in the single heads that give it half of their weight or more."""
        weight, added = self.from_sep
        rests = weight >= 0.5
        if not rests.any():
            return "no head gives `[SEP]` half of its weight."
        left = 100 * added[rests]
        return f"{rests.sum()} heads give `[SEP]` at least half of their weight; {left.min():.0f} to {left.max():.0f} % of what they add comes from there ({self.n_texts} texts)."

    def answer(self) -> Picture:
        """The lesson's answer."""
        unit = self._there("zeroing", turn_per_weight)
        weight, added = (self._there("norms", share)[0] for share in (share_of_weights, share_of_norms))
        own = self._there("surface", layer_means("sep_to_sep"))[0]
        sep, other = self.degrees
        fits = "Resting fits better" if 2 * self.rests.count("yes") > len(self.rests) else "Neither fits well"
        gathers = "less likely" if own >= 0.5 else "not excluded"
        return answer_picture(
            {
                f"[SEP] adds {'little' if unit[0] < 0.5 else 'a fair amount'} for all the weight it gets.": {
                    f"[SEP]'s weight, layer {self.resting + 1}": Estimate(weight),
                    "[SEP]'s part of what is added": Estimate(added),
                },
                "But not nothing: without it the other tokens turn."
                if sep > other
                else "Without it the others turn no further than without another token.": {
                    "turn without a [SEP]": Estimate(sep, after="°"),
                    "turn without another token": Estimate(other, after="°"),
                },
                f"{fits}; gathering is {gathers} in {self.subject}.": {
                    f"[SEP] to [SEP], {self.name}": Estimate(own),
                    f"BERT-base, layer {self.base_layer + 1}": Estimate(self.own_in_base),
                },
            },
            f"Rows 1 and 2: {self.subject}, n = {self.n_texts} texts. Per unit of weight, [SEP] turns the others {Estimate(*unit)} times as far as "
            "another token does.",
            model=self.mark or "",
        )

    # ---- behind the end ---------------------------------------------------------------------------------------

    def left_table(self) -> TextTable:
        """How weight and gradient on [SEP] go together over heads, and whether short vectors explain it."""
        models = {short_title(self.graded): self.ours, "random twin": self.chance}
        found = {
            who: [part[:2] for part in banded(evidence["importance"], correlations)]
            for who, evidence in models.items()
        }
        return TextTable(
            ["rank correlation of weight and gradient on [SEP]", "over heads", "with the norm held fixed"],
            [[who, *(Estimate(*bands) for bands in zip(*three))] for who, three in found.items()],
            f"{self.stands_in}Each head minus the mean of its layer; 95 % intervals over n = {self.n_texts} texts.",
        )

    def said_left(self) -> str:
        """What holding the norm fixed does to the correlation."""
        value, low, high = banded(self.ours["importance"], correlations)
        before, after, _ = value
        lost = Estimate(value[2], low[2], high[2])
        if before > -0.1:
            said = "there was hardly a negative relation to explain"
        elif lost.low > 0:
            said = f"it shrinks by {lost}, so short vectors explain part of it"
        else:
            said = f"it does not surely shrink (by {lost}), so short vectors need not explain it"
        yes = "Yes. " if before <= -0.1 else ""
        return f"{yes}In {subject(self.graded)} the correlation is {before:+.2f}; among equally long vectors {after:+.2f}: {said}."

    def rollout_table(self) -> TextTable:
        """The share of [SEP] in the last layer by both rollouts."""
        rows = {
            "rollout of weights": "rollout_sep",
            "rollout of norms": "rollout_norms_sep",
            "its share of the tokens": "sep_tokens",
        }
        both = self.ours["norms"], self.chance["norms"]
        return TextTable(
            ["share of [SEP] in the last layer", self.name, "random twin"],
            [
                [title, *(Estimate(*banded(one, just(name)), ".3f") for one in both)]
                for title, name in rows.items()
            ],
            f"95 % intervals over n = {self.n_texts} texts. Norms: length of the sum of what a layer's heads add, "
            "rows normalised to sum to 1.",
        )

    def said_rollout(self) -> str:
        """How much of its share by weights [SEP] has by norms."""
        weight, norm = (
            banded(self.ours["norms"], just(name))[0] for name in ("rollout_sep", "rollout_norms_sep")
        )
        own = self._there("surface", layer_means("sep_to_sep"))[0]
        return (
            f"It adds the path through all layers: in {self.subject}, {weight:.2f} of the last layer's mixture comes from `[SEP]`. It hides how long "
            f"the vectors are: by norms the share is {norm:.2f}, {100 * norm / weight:.0f} % of that. In the toy, `[SEP]` gives itself most; here it "
            f"gives itself {own:.2g} (layer {self.resting + 1}), and the rest goes to other tokens."
        )
