"""What the slides of lesson 04 show: how much [SEP] gets, how much it gives, and what changes without it; and a second sink."""

from __future__ import annotations

from functools import cached_property

import numpy as np

from bertlook_teach.measures import special_token_attention
from bertlook_teach.model import head_label, load_encoder, parse_head_label, random_twin
from bertlook_teach.views import Picture

from ..claims import SINKS, Resources, collect_evidence
from ..claims.lessons.lesson04 import shown_bounds
from ..metrics import CannotDecide, best_index
from ..published import published_gradients, published_layers, published_norm_share
from ..render import Estimate, TextTable, answer_picture, figure_picture, interval_curves, sums_figure
from .common import LessonDeck, letter, short_title, subject
from .lesson04_norms import (
    Statistic,
    banded,
    correlations,
    gradient_ratio,
    just,
    layer_means,
    length_of,
    share_of,
    share_of_norms,
    share_of_weights,
    sink_of,
    sinks_figure,
    turn,
    turn_per_weight,
)

# What [SEP] would be, which quantity would then be small, in which evidence it is, and under which line.
LOOKS = (
    ("gathering", "[SEP] to [SEP]", "surface", layer_means("sep_to_sep"), 0.5),
    ("resting", "length of f", "norms", length_of("sep"), 0.25),
    ("resting", "gradient", "importance", gradient_ratio, 0.5),
    ("resting", "turn per weight", "zeroing", turn_per_weight, 0.5),
    ("resting", "turn", "zeroing", turn, 1.0),
)


# --- what is not of our models ---------------------------------------------------------------------------------
def idle_head(recording) -> tuple[int, int]:
    """Layer and head of a recorded model that give [SEP] most, over all texts of the recording."""
    return best_index(np.mean([special_token_attention(one, "sep") for one in recording.values()], axis=0))


def on_cross_the_street(recording) -> dict:
    """Options of a `RecordedExplorer`: the word *cross* in the head that gives [SEP] most, and a head that rests where it has no object."""
    tired = next(text for text in recording if "cross the street" in text)
    layer, head = idle_head(recording)
    return {
        "sentences": list(recording)[3:7],
        "sentence": tired,
        "choices": {
            f"{head_label(layer, head)}: nearly all rest": (
                tired,
                layer,
                head,
                recording[tired].tokens.index("cross"),
            ),
            "8-10: the object looks, most others rest": (tired, *parse_head_label("8-10")),
        },
        "measure": "to [SEP]",
    }


def vectors_that_cancel() -> Picture:
    """Two vectors of one length that point the same way, across and against each other, with their sums."""
    ahead, across, back = [1, 0], [0, 1], [-1, 0]
    panels = {
        "the same way": [ahead, ahead],
        "at a right angle": [ahead, across],
        "in opposite directions": [ahead, back],
    }
    return figure_picture(
        sums_figure(panels), "Two vectors of length 1, so the sum of the norms is 2. Thick: their sum."
    )


def nudge_table(weights: np.ndarray, values: np.ndarray) -> TextTable:
    """The gradient of a made-up loss by each weight, which is g · v, beside what nudging the weight changes."""

    def loss(given):  # how far what the head writes is from (1, 1)
        return ((given @ values - 1) ** 2).sum()

    g = 2 * (weights @ values - 1)
    nudged = [(loss(weights + 1e-6 * one) - loss(weights)) / 1e-6 for one in np.eye(len(weights))]
    return TextTable(
        ["token", "weight", "g · v"],
        [
            [
                f"token {j}, v = ({value[0]:g}, {value[1]:g})",
                Estimate(weight, form=".1f"),
                Estimate(value @ g, form="+.2f"),
            ]
            for j, (weight, value) in enumerate(zip(weights, values), 1)
        ],
        "The largest weight has the gradient nearest 0. Nudged by a millionth, each weight changes the loss at the same "
        f"rate as g · v: {', '.join(f'{n:+.2f}' for n in nudged)}.",
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
            self.stands_in = (
                f"{self.Subject} has no masked-LM head, so it has no such loss; the specimen has. "
            )
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
        ylim=None,
    ) -> Picture:
        """A statistic by layer, of the model, its twin and, where it was printed, of BERT-base."""
        model = self.graded if key == "importance" else self.encoder
        curves = {
            short_title(model): banded(self.ours[key], statistic),
            "its random twin": banded(self.chance[key], statistic),
        }
        published = None if printed is None else {name: printed}
        figure = interval_curves(curves, published=published, ylabel=ylabel, baseline=baseline, ylim=ylim)
        tops = {subject(model): curves[short_title(model)][0]}
        tops |= {} if printed is None else {"BERT-base": printed}
        said = ", ".join(
            f"{who} ranges from {c.min():.2f} (layer {c.argmin() + 1}) to {c.max():.2f} (layer {c.argmax() + 1})"
            for who, c in tops.items()
        )
        return figure_picture(figure, f"{what}: {said}.{more} Bands: 95 %, n = {self.n_texts} texts.")

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
            ylabel="to [SEP]",
            more="" if kind == "sep" else rests,
        )

    def second_sink_picture(self) -> Picture:
        """The share of the token on which each model rests: of the weights, of what the weighted vectors add, and in the twin."""
        sides = {self.encoder: (self.ours["norms"], self.chance["norms"])}
        if self.beside is not None:
            both = (
                collect_evidence("norms", one, self.resources)
                for one in (self.beside, random_twin(self.beside))
            )
            sides = {self.beside: tuple(both)} | sides
        panels, said = {}, []
        for model, (norms, twin) in sides.items():
            kind, layer = sink_of(norms)
            weights, added = (banded(norms, share_of(kind, name)) for name in ("weight", "added"))
            length = banded(norms, length_of(kind))[0][layer]
            panels[f"{short_title(model)}: {SINKS[kind]}"] = {
                "of the weights": weights,
                "of what is added": added,
                "its random twin": banded(twin, share_of(kind, "weight")),
            }
            said.append(
                f"In layer {layer + 1}, {subject(model)} gives {SINKS[kind]} {weights[0][layer]:.2f} of the weights; the token has "
                f"{added[0][layer]:.2f} of what is added. Its vector is {length:.2f} times as long as other tokens'."
            )
        return figure_picture(
            sinks_figure(panels), f"{' '.join(said)} Bands: 95 %, n = {self.n_texts} texts."
        )

    @cached_property
    def own(self) -> list[float]:
        """What [SEP] gives to [SEP], with its interval, in the layer where the texts' tokens give it most."""
        layer = banded(self.ours["surface"], layer_means("sep"))[0].argmax()
        return [values[layer] for values in banded(self.ours["surface"], layer_means("sep_to_sep"))]

    @property
    def own_in_base(self) -> float:
        return published_layers("sep_to_sep")[self.base_layer]

    def said_own(self) -> str:
        """Whom [SEP] itself looks at."""
        share = self.own[0]
        return (
            f"**{self.Subject}: {'A' if share < 0.1 else 'B' if share <= 0.5 else 'C'}**, {Estimate(*self.own)} (n = {self.n_texts}). "
            f"BERT-base: {self.own_in_base:.2f} in its layer {self.base_layer + 1} (Clark et al., figure)."
        )

    # ---- gradients --------------------------------------------------------------------------------------------

    @property
    def published_ratio(self) -> np.ndarray:
        """BERT-base's gradient on [SEP], as a share of that on all tokens, by layer."""
        return published_gradients("sep") / published_gradients("all")

    def said_ratio(self) -> str:
        """How large the gradient on [SEP] is beside that on all tokens."""
        found, base = self._there("importance", gradient_ratio), self.published_ratio[4:9]
        who = "The specimen" if self.stands_in else self.Subject
        return (
            f"{self.stands_in}**{who}: {letter(-found[0], [-1, -0.5, -0.1])}**, {Estimate(*found)} "
            f"(layer {self.graded_layer + 1}, n = {self.n_texts}). "
            f"BERT-base, layers 5 to 9: {base.min():.2f} to {base.max():.2f} (derived from the figure)."
        )

    def ratio_picture(self) -> Picture:
        """The same by layer."""
        return self._compared(
            "importance",
            gradient_ratio,
            self.published_ratio,
            f"{self.stands_in}Gradient on [SEP] / on all",
            "BERT-base, Clark et al. 2019",
            baseline=("equal", 1.0),
            ylabel="[SEP] / all",
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

    def said_share(self) -> str:
        """The share of [SEP] by weights and by what is added."""
        weight, added = (self._there("norms", share) for share in (share_of_weights, share_of_norms))
        kept = added[0] / weight[0]
        base_weight, base_added = (published_norm_share("sep", weights=w) for w in (True, False))
        top = int(base_weight.argmax())
        return (
            f"**{self.Subject}: {'A' if kept > 0.95 else 'B' if kept >= 0.5 else 'C'}**, {Estimate(*weight)} of the weights, "
            f"{Estimate(*added)} of the norms (n = {self.n_texts}). BERT-base, layer {top + 1}: {base_weight[top]:.2f} and "
            f"{base_added[top]:.2f} (read off a figure)."
        )

    def share_pictures(self) -> dict[str, Picture]:
        """The same by layer, for a menu."""
        return {
            title: self._compared(
                "norms",
                share,
                published_norm_share("sep", weights=title == "weights"),
                f"[SEP]'s share of the {title}",
                "BERT-base, Kobayashi et al. 2020",
                ylabel="share of [SEP]",
                ylim=(0, 0.7),  # one scale: the buttons are to be compared
            )
            for title, share in (("weights", share_of_weights), ("weighted norms", share_of_norms))
        }

    # ---- what changes without it ------------------------------------------------------------------------------

    @property
    def degrees(self) -> list[float]:
        """How far the other tokens turn without a [SEP], and without another token, in the layer that gives [SEP] most."""
        found = self.ours["zeroing"].values
        return [np.degrees(found[f"angle_{kind}"][:, self.resting].mean()) for kind in ("sep", "other")]

    def said_turn(self) -> str:
        """How far the others turn without a [SEP]."""
        found, (sep, other) = self._there("zeroing", turn), self.degrees
        return (
            f"**{self.Subject}: {'A' if found[0] > 1 else 'B' if found[0] >= 0.1 else 'C'}**, {Estimate(*found)} times as far "
            f"(layer {self.resting + 1}, n = {self.n_texts}): "
            f"**{sep:.3f}°** without a `[SEP]`, **{other:.3f}°** without another token."
        )

    def turn_pictures(self) -> dict[str, Picture]:
        """The same by layer, and for each unit of weight, for a menu."""
        equal = ("equal", 1.0)
        return {
            "a unit of weight": self._compared(
                "zeroing",
                turn_per_weight,
                None,
                "Turn per unit of weight, [SEP] / other tokens",
                baseline=equal,
            ),
            "a token": self._compared(
                "zeroing", turn, None, "Turn, without [SEP] / without another token", baseline=equal
            ),
        }

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
        base = f"{self.own_in_base:.2f}", "near 0", f"{self.published_ratio[self.base_layer]:.2f}", "-", "-"
        body = []
        for (who, what, key, statistic, line), printed, said in zip(LOOKS, base, self.came_out):
            ours, twin = "-", "-"
            if said != "not measured":
                ours = Estimate(*self._there(key, statistic))
                twin = f"{banded(self.chance[key], statistic)[0][self.resting]:.2f}"
            body.append([who, what, f"{line:g}", printed, ours, twin, said])
        undecided = " Undecided: the interval crosses the line, or the twin is under it too."
        return TextTable(
            ["if it is ...", "then ...", "under", "BERT-base", f"{self.name} [95 %]", "twin", "came out"],
            body,
            "[SEP] relative to other tokens (gradient: to all; first row: its share), in the layer that gives it most; "
            f"n = {self.n_texts} texts.{undecided * ('undecided' in self.came_out)}",
        )

    def said_answer(self) -> str:
        """How many rows came out."""
        one = "" if self.stands_in else "; length and gradient are one observation"
        said = f"**Resting: {self.rests.count('yes')} of {len(self.rests)} rows came out{one}.** "
        if self.rests[-2:] != ["yes", "no"]:
            return said + "Name the measure and the layer."
        return said + (
            "A unit of weight on `[SEP]` does little; but so much lies there that taking its value away turns the others "
            f"{self._there('zeroing', turn)[0]:.0f} times as far as taking another token's."
        )

    def answer(self) -> Picture:
        """The lesson's answer."""
        unit = self._there("zeroing", turn_per_weight)
        weight, added = (self._there("norms", share)[0] for share in (share_of_weights, share_of_norms))
        (sep, other), itself = self.degrees, self.own[0] >= 0.5
        fits = "Resting fits better" if 2 * self.rests.count("yes") > len(self.rests) else "Neither fits well"
        return answer_picture(
            {
                f"{'Little' if unit[0] < 0.5 else 'Not little'} for its weight.": {
                    f"[SEP]'s weight, layer {self.resting + 1}": Estimate(weight),
                    "[SEP]'s part of what is added": Estimate(added),
                },
                "Not nothing: others turn without it." if sep > other else "No more than from elsewhere.": {
                    "turn without a [SEP]": Estimate(sep, after="°"),
                    "turn without another token": Estimate(other, after="°"),
                },
                f"{fits}; gathering is {'less likely' if itself else 'not excluded'}.": {
                    f"[SEP] to [SEP], {self.name}": Estimate(self.own[0]),
                    f"BERT-base, layer {self.base_layer + 1}": Estimate(self.own_in_base),
                },
            },
            f"A unit of weight on [SEP] turns the others {Estimate(*unit)} times as far as elsewhere (n = {self.n_texts}).",
        )

    # ---- behind the end ---------------------------------------------------------------------------------------

    def left_table(self) -> TextTable:
        """How weight and gradient on [SEP] go together over heads, and whether short vectors explain it."""
        models = {short_title(self.graded): self.ours, "random twin": self.chance}
        found = {who: banded(evidence["importance"], correlations) for who, evidence in models.items()}
        return TextTable(
            ["rank correlation of weight and gradient on [SEP]", "over heads", "with the norm held fixed"],
            [[who, *(Estimate(*bands) for bands in zip(*three))] for who, three in found.items()],
            f"{self.stands_in}Each head minus the mean of its layer; 95 % intervals over n = {self.n_texts} texts.",
        )

    def said_left(self) -> str:
        """What holding the norm fixed does to the correlation."""
        before, after = banded(self.ours["importance"], correlations)[0]
        if before > -0.1:
            said = "there was hardly a negative relation to explain"
        elif abs(after) < abs(before) - 0.05:
            said = "it shrinks, so short vectors explain part of it"
        else:
            said = "it does not shrink, so short vectors do not explain it"
        return f"In {subject(self.graded)} {before:+.2f} becomes {after:+.2f}: {said}."

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
        return f"In {self.subject}, `[SEP]`'s share by norms is {100 * norm / weight:.0f} % of its share by weights."
