"""What the slides of lesson 10 show: what each layer lets a linear probe read, and how far layers can be told apart by it."""

from __future__ import annotations

from collections.abc import Mapping
from functools import cached_property
from itertools import combinations

import numpy as np

from bertlook_teach.views import Picture

from ..analyses.probing import Counts, centre_of_gravity, expected_layer, mixing_bits, typed_beliefs
from ..claims.lessons import lesson10
from ..claims.lessons.lesson10 import NAMES
from ..corpora import load_treebank
from ..published import measured_of, published_probing
from ..render import (
    Estimate,
    TextTable,
    answer_picture,
    count_verdicts,
    depth_figure,
    depth_panels_figure,
    describe_curves,
    f1_cell,
    figure_picture,
    fits_said,
    joined,
    where_table,
)
from .common import LessonDeck, letter, short_title
from .pictures.limits import layer_limits

PIPELINE = ("pos", "dep", "coref")  # in the order in which they are said to be solved
_MEASURED = ("layers: word classes", "layers: relations", "layers: coreference")  # of these, on more data


class Deck(LessonDeck):
    """The slides of lesson 10: probes of every layer of both models, on the treebank.

    Parameters
    ----------
    encoder, twin : Encoder
    beside : Encoder, optional
        A model whose layers stand beside; left out where it is the same one, or has another number of layers.
    """

    lesson = "10"

    def __init__(self, encoder, twin, beside=None):
        super().__init__(encoder, twin)
        alike = (
            beside is None or beside.fingerprint == encoder.fingerprint or beside.n_layers != encoder.n_layers
        )
        self.beside = None if alike else beside
        self.n_layers, self.sentences = encoder.n_layers, load_treebank()
        fits, twin_fits = (lesson10.fitted(model, self.sentences) for model in (encoder, twin))
        self.shown = lesson10.shown(encoder, self.sentences)
        self.scores, self.twin_scores = fits.scores, twin_fits.scores
        self.mixes, self.twin_mixes = fits.mixes, twin_fits.mixes
        self.made_up = fits.made_up
        self.other_scores = {} if alike else lesson10.fitted(beside, self.sentences).scores

    def beliefs(self, text: str):
        """What the probes of each layer believe of the words of a text."""
        return typed_beliefs(self.shown.words, self.encoder, text)

    # ---- each layer alone ---------------------------------------------------------------------------------

    @property
    def gains(self) -> dict[str, float]:
        """Of each task what the best layer adds to the embeddings, in points."""
        return {task: 100 * score.so_far.gain for task, score in self.scores.items()}

    @property
    def best(self) -> dict[str, str]:
        """Of each task the best layer, by name."""
        return {
            task: f"layer {score.best[-1]}" if score.best[-1] else "the embeddings"
            for task, score in self.scores.items()
        }

    def gains_answer(self) -> str:
        """The letter of the task that gains most, and all gains."""
        most = max(self.gains, key=self.gains.get)
        said = ", ".join(f"{NAMES[task]} {gain:+.1f}" for task, gain in self.gains.items())
        return f"**{'ABCD'[list(self.gains).index(most)]}**: {said} points."

    def layers_picture(self) -> Picture:
        """F1 by the layer that the probe reads, for both models."""
        curves, twin_curves = _bands(self.scores), _bands(self.twin_scores)
        panels = {
            name: {self.name: curves[name], f"{self.name}'s twin": twin_curves[name]} for name in curves
        }
        beside = ""
        if self.beside is not None:
            other, name = _bands(self.other_scores), short_title(self.beside)
            panels = {task: {name: other[task], **panel} for task, panel in panels.items()}
            beside = _said_of_its_twin(name, _measured(self.beside))
        fits = fits_said(self.scores | self.twin_scores)
        most = max(100 * score.so_far.gain for score in self.twin_scores.values())
        return figure_picture(
            depth_panels_figure(panels, xlabel="the one layer that the probe reads (0: embeddings)"),
            f"{fits}{' ' if fits else ''}F1 of each layer alone, n = {self.said_n()} cases, with 95 % bands over documents. The best layer of {self.subject}'s twin, "
            f"chosen on training documents, adds {most:+.1f} points at most.{beside}",
        )

    def said_n(self) -> str:
        """How many cases the tasks are scored on: the fewest to the most."""
        n = [score.n_test for score in self.scores.values()]
        return f"{min(n):,} to {max(n):,}"

    def best_sentence(self) -> str:
        """The best layer of each task, and where even the gain is not sure."""
        where = ", ".join(
            f"{NAMES[task]} {self.best[task]}{'' if score.so_far.sure else ' (the gain is not sure)'}"
            for task, score in self.scores.items()
        )
        sure = [NAMES[task] for task, score in self.scores.items() if score.so_far.sure]
        unsure = [NAMES[task] for task, score in self.scores.items() if not score.so_far.sure]
        named = f"for {joined(sure)}" if sure else "for none"
        return f"Best layer of {self.subject}: {where}. A depth can be named {named}{f', not for {joined(unsure)}' if unsure else ''}."

    # ---- mixes, runs, controls ----------------------------------------------------------------------------

    def stopped_picture(self) -> Picture:
        """What a mix of layers would say if its fit were stopped too early."""
        stopped = self.shown.stopped.f1
        ends = {f"{n} steps": stopped[n] for n in (5, 20)} | {"the end": self.shown.fixed.f1}
        *first, last = (f"{100 * (f1[-1] - f1[0]):+.1f}" for f1 in ends.values())
        most, where = self.shown.fixed.weights.max(), self.shown.fixed.weights.argmax()
        depths = [
            f"{expected_layer(f1):.1f}" if f1[-1] - f1[0] > 0.005 else "none (no gain)"
            for f1 in ends.values()
        ]
        return figure_picture(
            depth_figure(
                {name: 100 * f1 for name, f1 in ends.items()},
                xlabel="last layer that the mix may read",
                size=(9.8, 3.0),
            ),
            f"{self.Subject}, word classes, n = {self.scores['pos'].n_test:,}. One probe, stopped after 5 steps, after 20, and at its end: "
            f"it gains {', '.join(first)} and {last} points; expected layer {', '.join(depths)}. "
            f"The first two were stopped on purpose. In time, the fixed penalty moves {100 * most:.0f} % of the mix to layer {where}.",
        )

    def stopped_sentence(self) -> str:
        """What the mix says with penalties that were chosen, beside the best layer alone."""
        return (
            f"With penalties **chosen on training documents**, the finished fit gains **{100 * self.shown.chosen.gain:+.1f}** points; the best "
            f"layer alone gains **{self.gains['pos']:+.1f}**."
        )

    @property
    def runs(self) -> dict[str, np.ndarray]:
        """F1 of each layer in three fits on other documents, per cent."""
        names = ("first fit", "second fit", "third fit")
        return {name: 100 * run.f1 for name, run in zip(names, self.shown.runs, strict=True)}

    def runs_picture(self) -> Picture:
        """The curves of three fits."""
        ends = "; ".join(
            f"{name} {curve[0]:.1f}, {curve[1]:.1f}, {curve[-1]:.1f} %" for name, curve in self.runs.items()
        )
        return figure_picture(
            depth_figure(self.runs, xlabel="layer (0: embeddings)"),
            f"{self.Subject}, word classes, each layer alone, fitted on three draws of four fifths of the documents. Layers 0, 1 and "
            f"{self.n_layers}: {ends}.",
        )

    def runs_sentence(self) -> str:
        """How much neighbouring layers differ, and how much fits."""
        stack, half = np.stack(list(self.runs.values())), self.n_layers // 2
        pairs = (abs(one - other)[half:] for one, other in combinations(stack, 2))
        apart = float(np.mean(list(pairs)))  # of two fits, at the layers of the steps below
        falls = (stack[:, -1] < stack[:, half + 1]).all() and half + 1 < self.n_layers
        steps = np.abs(np.diff(stack, axis=1))[:, half:].mean()
        best = ", ".join(str(run.best[-1]) for run in self.shown.runs)
        first = (stack[:, 1] - stack[:, 0]).mean()
        more = "**do**" if steps >= 2 * apart else "**hardly**" if steps >= 1.2 * apart else "do **not**"
        return (
            f"Layer 1 adds **{first:+.1f}** points{': far more than fits differ' if first >= 5 * apart else ''}. From layer {half} on, "
            f"neighbouring layers {more} differ more than fits: by **{steps:.2f}** points on average, two fits of one layer by **{apart:.2f}**. "
            "The fits share most of their documents."
            f"{f' Even so, all three fits fall from layer {half + 1} to {self.n_layers}.' if falls else ''} Best layer of each fit, chosen on training documents: {best}."
        )

    def controls(self) -> dict[str, dict[str, Estimate]]:
        """For each task the F1 of the best layer, of the embeddings, of the random twin, of a list of words and of the commonest label."""
        found = {}
        for task, rivals in self.shown.rivals.items():
            own, twin = (s[task].so_far.counts for s in (self.scores, self.twin_scores))
            both = (f1_cell(Counts(counts)) for counts in (own[-1], own[0], twin[-1]))
            simple = (Estimate(100 * rival.f1, form=".0f") for rival in rivals)
            names = (self.name, "embeddings", "random twin", "word list", "commonest label")
            found[NAMES[task]] = dict(zip(names, (*both, *simple), strict=True))
        return found

    def controls_table(self) -> TextTable:
        """The best layer beside the random twin, a list of words and the commonest label."""
        found = self.controls()
        first = next(iter(found.values()))
        names = (name + " [95 %]" * (cell.low is not None) for name, cell in first.items())
        rows = [[task, *cells.values()] for task, cells in found.items()]
        return TextTable(
            ["best layer", *names],
            rows,
            f"{self._said_above(rows)}F1 in per cent; n = {self.said_n()} cases. Word list: each form's commonest label; for coreference, "
            "whether the words match.",
        )

    def _said_above(self, rows) -> str:
        above = sum(own.value > max(other.value for other in rest) for _, own, _, *rest in rows)
        unsure = [NAMES[task] for task, score in self.scores.items() if not score.so_far.sure]
        return (
            f"{'Not the probe alone' if above else 'The probe'}: {self.subject} beats its twin, the word list and the commonest label in {above} of {len(rows)} tasks, and surely "
            f"its own embeddings in {len(rows) - len(unsure)}{f' (not sure: {joined(unsure)})' if unsure else ''}. "
        )

    def made_up_sentence(self) -> str:
        """How well labels that were made up can be learnt."""
        invented = self.made_up.so_far.f1[-1]
        return (
            f"Dependencies with **made-up labels**, one for each pair of words: F1 **{100 * invented:.0f} %**. That says little here: "
            "the probe saw few of the scored pairs when it was fitted."
        )

    # ---- an order of tasks --------------------------------------------------------------------------------

    @cached_property
    def sampled_depths(self) -> tuple[np.ndarray, ...]:
        """Of each task of the pipeline the expected layer of the highest score so far, in bootstrap samples of the scored documents."""
        return tuple(
            expected_layer(np.maximum.accumulate(self.scores[task].resampled(seed=i), axis=1))
            for i, task in enumerate(PIPELINE)
        )

    @cached_property
    def orders(self) -> dict[str, tuple[float, float, float]]:
        """For two tasks the shares of samples with them in this order, in one layer, the other way round."""
        pos, dep, coref = self.sampled_depths
        pairs = {
            "word classes, dependencies": (pos, dep),
            "dependencies, coreference": (dep, coref),
            "word classes, coreference": (pos, coref),
        }
        return {
            name: tuple(float(np.mean(held)) for held in (a < b, a == b, a > b))
            for name, (a, b) in pairs.items()
        }

    def expected_sentence(self) -> str:
        """The expected layers of the model, and those measured on more data."""
        ours = []
        for task in PIPELINE:
            layer = self.scores[task].so_far.expected_layer
            ours.append(
                f"{NAMES[task]} "
                + (f"**{layer:.1f}**" if np.isfinite(layer) else "**none, the gain is not sure**")
            )
        ours = f"{self.Subject}: {', '.join(ours)}."
        measured = [_measured(encoder) for encoder in (self.encoder, self.beside) if encoder is not None]
        more = {tables[0].whose: tables for tables in measured if tables}
        if not more:
            return ours
        said = "; ".join(f"{whose} {_depths_in(tables)}" for whose, tables in more.items())
        return f"{ours} On EWT and GUM: {said}."

    # ---- the ledger and the answer ------------------------------------------------------------------------

    def verdict_count(self) -> str:
        """How many claims hold, and what decides them."""
        return f"{count_verdicts(self.verdicts)} What decides them: `{self.claims_command}`, or the handout."

    def limits(self) -> Picture:
        """What a probe of a layer does not show."""
        return layer_limits(self.n_layers, len(self.sentences))

    def _gain(self, task: str) -> Estimate:
        """What the best layer adds, in points."""
        low, high = self.scores[task].so_far.gain_interval()
        return Estimate(self.gains[task], 100 * low, 100 * high, form="+.1f")

    def answer(self) -> Picture:
        """The lesson's answer."""
        (_, tie, _), (then, _, _), _ = self.orders.values()
        sure = {task: self.scores[task].so_far.sure for task in ("pos", "dep", "coref", "entity")}
        unsure = [NAMES[task] for task, is_sure in sure.items() if not is_sure]
        numbers = {1: "One task gains", 2: "Two tasks gain", 3: "Three tasks gain"}
        number = numbers.get(len(sure) - len(unsure), "No task surely gains")
        return answer_picture(
            {
                "All four tasks gain from the layers."
                if not unsure
                else f"{number} from the layers; {joined(unsure)}: not sure.": {
                    NAMES[task] + (f", {self.best[task]}" if sure[task] else ""): self._gain(task)
                    for task in sure
                },
                f"A pipeline? In {self.subject} two tasks tie." if tie > 0.5 else "A pipeline?": {
                    "the first two tie": Estimate.per_cent(tie, after=" %"),
                    "Coreference comes last": Estimate.per_cent(then, after=" %"),
                },
            },
            f"Points gained by the best layer; the twin's: {self._twin_gains(list(sure))}. Lower row: share of {len(self.sampled_depths[0])} samples of "
            "the scored documents; in each, the best layers are picked again. BERT-base's released scores put the three in the pipeline's order, without an interval.",
            model=self.name,
        )

    def _twin_gains(self, tasks: list[str]) -> str:
        return ", ".join(f"{100 * self.twin_scores[task].so_far.gain:+.1f}" for task in tasks)

    # ---- behind the answer --------------------------------------------------------------------------------

    def where_table(self) -> TextTable:
        """Where each task is solved, by several rules."""
        return where_table({NAMES[task]: score for task, score in self.scores.items()})

    def mixes_table(self) -> TextTable:
        """The centres and the entropies of the mixes, for both models, with their range over fits."""
        rows, bits, twins = [], [], []
        for task in lesson10.MIXED:
            sides = []
            for fits in (self.mixes, self.twin_mixes):
                weights = [fit[task].weights for fit in fits]
                sides.append([list(map(centre_of_gravity, weights)), list(map(mixing_bits, weights))])
            centres, entropies = ([_span(side[i]) for side in sides] for i in (0, 1))
            rows.append([NAMES[task], *centres, *entropies])
            bits.append(f"{NAMES[task]} {np.mean(sides[0][1]):.2f}")
            twins.append(np.mean(sides[1][1]))
        return TextTable(
            ["mix of P(L)", self.name, "random twin", f"K(s), {self.name}", "K(s), twin"],
            rows,
            f"Mean (smallest to largest) of {len(self.mixes)} fits, each on a different four fifths of the training documents, with "
            f"penalties chosen on all of them. K(s), 0 to {np.log2(self.n_layers + 1):.2f} bits: {', '.join(bits)}; the twin at most {max(twins):.2f}.",
        )


# ---- what was published: BERT-base and BERT-large, never in one table ------------------------------------------


def large_answer() -> str:
    """The centre of the mix for word classes in BERT-large, beside its expected layer."""
    pos = published_probing("BERT-large")["POS"]
    return (
        f"**{letter(pos.centre, (6, 9, 15))}**: {pos.centre:.2f}, against {pos.expected:.2f}. The mix has a hump, but on the "
        f"whole it is flat: K(s), how far it is from equal shares, is {pos.mixing_bits:.2f} of at most {np.log2(25):.2f} bits."
    )


def base_answer() -> str:
    """The expected layer of word classes in BERT-base, and both models' shares of their depth."""
    pos, large = published_probing("BERT-base")["POS"], published_probing("BERT-large")["POS"]
    coref, large_coref = (published_probing(model)["Coreference"] for model in ("BERT-base", "BERT-large"))
    return (
        f"**{letter(pos.expected, (1.5, 3, 4))}**: {pos.expected:.2f}. **A layer number of one model does not carry over to "
        f"the other**. As shares of the depth the two are close here ({pos.expected / 12:.2f}; BERT-large {large.expected / 24:.2f}), but not "
        f"for coreference ({coref.expected / 12:.2f}; {large_coref.expected / 24:.2f})."
    )


def equal_shares() -> str:
    """What equal shares of 25 layers give."""
    equal = np.full(25, 1 / 25)
    return f"**Equal shares**: centre of gravity {centre_of_gravity(equal):.2f}, K(s) {mixing_bits(equal):.2f} bits."


def base_picture() -> Picture:
    """BERT-base's scores by the last layer that a mix may read."""
    curves = _base_curves()
    return figure_picture(depth_figure(curves), f"BERT-base, F1 of P(0) to P(12). {describe_curves(curves)}")


def base_steps() -> str:
    """From which layer on each score is near its highest."""
    near = 0.4  # points
    curves = _base_curves().items()
    reached: dict[int, list[str]] = {}
    for task, curve in curves:
        reached.setdefault(int((curve >= curve.max() - near).argmax()), []).append(task)
    (layer, tasks), *later = sorted(reached.items())
    said = "".join(f", {joined(names)} at layer **{at}**" for at, names in later)
    return (
        f"{joined(tasks)} first {'comes' if len(tasks) == 1 else 'come'} within {near} points of the highest score at layer **{layer}**{said}. "
        "What would another fit have given? Slide 14 asks that of our small model."
    )


def _base_curves() -> dict[str, np.ndarray]:
    base = published_probing("BERT-base")
    return {task: base[task].f1 for task in ("POS", "Dependencies", "Coreference")}


def _bands(found: Mapping) -> dict[str, tuple]:
    """Of each task, F1 by layer with the ends of its band, per cent."""
    return {
        NAMES[task]: (100 * score.f1, *(100 * end for end in score.interval(lambda f1: f1, within=(0, 1))))
        for task, score in found.items()
    }


def _span(values) -> Estimate:
    """A mean, and the smallest and the largest that it is the mean of."""
    return Estimate(np.mean(values), min(values), max(values), between="({} to {})")


def _measured(encoder) -> list:
    """The tables of the pipeline's tasks on more data; none if one of them was not measured with this model."""
    tables = [measured_of(encoder, name) for name in _MEASURED]
    return [] if None in tables else tables


def _said_of_its_twin(name: str, tables) -> str:
    """What is known of the twin of the model beside."""
    if tables and not any(_is_sure(table, "random twin") for table in tables):
        return f" On EWT and GUM, {name}'s own twin (not drawn) gains nothing that is sure."
    return f" {name}'s own twin is not drawn."


def _depths_in(tables) -> str:
    """The expected layers on more data, in the order of `PIPELINE`."""
    return ", ".join(_layer_in(table) + _sure_in(table) for table in tables)


def _layer_in(table) -> str:
    """The expected layer on more data, with its interval unless that has no width."""
    if not _is_sure(table, "model"):
        return "**not sure**"
    found = table.value("model", "expected layer")
    always = found.low is not None and found.low == found.high
    return f"**{found.value:.2f}** (in every sample)" if always else f"**{Estimate(*found)}**"


def _is_sure(table, row: str) -> bool:
    return table.cell(row, "expected layer") != "not sure"


def _sure_in(table) -> str:
    """In how many of the fits on more data the gain is sure, where it is not in all."""
    fits = [row for row in table.rows if row == "model" or row.startswith("seed")]
    sure = sum(_is_sure(table, row) for row in fits)
    return "" if sure == len(fits) else f" (gain sure in {sure} of {len(fits)} fits)"
