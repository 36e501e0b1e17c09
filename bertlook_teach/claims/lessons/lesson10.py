"""Lesson 10: what each layer knows. Tenney, Das and Pavlick (2019), BERT Rediscovers the Classical NLP Pipeline."""

from __future__ import annotations

from collections.abc import Callable
from itertools import pairwise

import numpy as np

from ...analyses.probing import (
    centre_of_gravity,
    delta_bits,
    expected_layer,
    mixing_bits,
)
from ...published import published_probing
from ...stats import micro_f1
from ..claim import Claims
from ..collectors.lesson10 import MIXED, fitted, layer_probes, shown  # noqa: F401 - decks ask their lesson

TENNEY, HEWITT = "Tenney, Das and Pavlick 2019", "Hewitt and Liang 2019"

NAMES = {"pos": "POS", "dep": "Dependencies", "entity": "Entities", "coref": "Coreference"}

WORTH_A_SENTENCE = 0.02  # F1

STEP = 0.05  # of the depth: half a layer of ten

CLEARLY = 0.1


# --- statistics ----------------------------------------------------------------------------------------
def curve(values, task: str) -> np.ndarray:
    """F1 of the embeddings, then of the best layer so far, which was chosen on training documents."""
    return micro_f1(*np.moveaxis(values[task], -1, 0))


def highest(values, task: str) -> np.ndarray:
    """The highest F1 of a layer alone up to each depth, on the very documents that are drawn: so an interval knows how unsure the best layer is."""
    return np.maximum.accumulate(curve(values, f"{task} alone"))


def depth(values, task: str) -> float:
    """Expected layer as a share of the model's depth; NaN where nothing is gained."""
    f1 = highest(values, task)
    return float(expected_layer(f1[None])[0]) / (len(f1) - 1)


def later(task: str, than: str, threshold: float = 0.0) -> Callable:
    """How much later a task comes, as a share of the depth.

    Where one of the two gains nothing there is no depth and no order: the step then counts as the claim's line, which speaks for neither
    side. A random twin, which often gains nothing, stays a control that way.
    """

    def statistic(values, choice=None) -> float:
        step = depth(values, task) - depth(values, than)
        return step if np.isfinite(step) else threshold

    return statistic


def rise(task: str) -> Callable:
    """What the best layer adds to the embeddings."""
    return lambda values, choice=None: float(curve(values, task)[-1] - curve(values, task)[0])


def in_order(*tasks: str) -> Callable:
    """The smallest step of an order: above 0 if every task comes after the one before it."""
    return lambda values, choice=None: min(later(b, a)(values) for a, b in pairwise(tasks))


def early_share(f1: np.ndarray) -> float:
    """Share of the whole gain that has come by a third of the depth."""
    gain = f1[-1] - f1[0]
    return float((f1[(len(f1) - 1) // 3] - f1[0]) / gain) if gain > 1e-12 else float("nan")


def centre(values, task: str) -> float:
    """Centre of gravity as a share of the depth."""
    weights = values[f"{task} mix"]
    return centre_of_gravity(weights) / (len(weights) - 1)


# --- published -----------------------------------------------------------------------------------------
def both(quantity: str, *tasks: str, digits: int = 2) -> Callable[[], str]:
    """A published quantity of some tasks, base and large one after the other, each with its name."""

    def text() -> str:
        parts = []
        for model in ("BERT-base", "BERT-large"):
            rows = published_probing(model)
            numbers = [getattr(rows[NAMES[task]], quantity) for task in tasks]
            if np.isfinite(numbers).all():
                parts.append(f"{model.removeprefix('BERT-')} {', '.join(f'{n:.{digits}f}' for n in numbers)}")
        return "; ".join(parts)

    return text


def _layers(quantity: str, *tasks: str) -> Callable[[], str]:
    text = both(quantity, *tasks)
    return lambda: f"layers, {text()}"


def steps(quantity: str, *tasks: str, of_depth: bool = True) -> Callable[[], str]:
    """The smallest step of a published quantity from one task to the next, base and large, as a share of the depth."""

    def text() -> str:
        parts = []
        for model, depth in (("BERT-base", 12), ("BERT-large", 24)):
            rows = published_probing(model)
            step = np.diff([getattr(rows[NAMES[task]], quantity) for task in tasks]).min()
            if np.isfinite(step):
                parts.append(f"{model.removeprefix('BERT-')} {step / (depth if of_depth else 1):+.2f}")
        return "; ".join(parts)

    return text


def risen(task: str) -> dict:
    """What the last probe of BERT-base adds to the first, as a share, and F1 of both in per cent: fields of a claim."""

    def f1() -> np.ndarray:
        return published_probing("BERT-base")[NAMES[task]].f1

    return {
        "published": lambda: f"base {(f1()[-1] - f1()[0]) / 100:+.2f}",
        "original": lambda: f"base {f1()[0]:.1f} to {f1()[-1]:.1f} %",
    }


def _early() -> str:
    return f"base {early_share(published_probing('BERT-base')['POS'].f1):.2f}, by layer 4"


def _neighbours() -> str:
    gains = np.diff(published_probing("BERT-base")["POS"].f1)
    return f"base at most {gains[6:].max() / 100:.4f}"


def _two_answers() -> str:
    row = published_probing("BERT-large")["POS"]
    return f"large {abs(row.centre - row.expected) / 24:.2f}"


def _two_answers_printed() -> str:
    row = published_probing("BERT-large")["POS"]
    return f"large, layers {row.centre:.2f} against {row.expected:.2f} of 24"


# --- the claims ------------------------------------------------------------------------------------------


EVIDENCE = {"layers": layer_probes}


claim = Claims("10", EVIDENCE, source=TENNEY, evidence="layers")


for task, what in {
    "pos": "word classes",
    "dep": "relations",
    "entity": "entities",
    "coref": "coreference",
}.items():
    claim(
        key=f"{task}-rises",
        sentence=f"Layers tell more about {what} than embeddings",
        section="4, Figure A.2",
        **risen(task),
        exactness="D",
        operational=f"F1 of the best layer alone, chosen on training documents, minus F1 of the embeddings, {what}",
        refuted_if="the best layer adds at most two points",
        threshold=WORTH_A_SENTENCE,
        statistic=rise(task),
    )
claim(
    key="pos-before-dep",
    sentence="Word classes come before relations",
    section="4, Figure 1",
    published=steps("expected", "pos", "dep"),
    original=_layers("expected", "pos", "dep"),
    exactness="D/P",
    operational="expected layer (of the highest score of a layer so far) of dependencies minus that of word classes, as a share of the depth; the line itself where one of the two gains nothing",
    refuted_if="relations come at most a twentieth of the depth later",
    threshold=STEP,
    statistic=later("dep", "pos", STEP),
)
claim(
    key="dep-before-coref",
    sentence="Relations come before coreference",
    section="4, Figure 1",
    published=steps("expected", "dep", "coref"),
    original=_layers("expected", "dep", "coref"),
    exactness="D/P",
    operational="expected layer (of the highest score of a layer so far) of coreference minus that of dependencies, as a share of the depth; the line itself where one of the two gains nothing",
    refuted_if="coreference comes at most a twentieth of the depth later",
    threshold=STEP,
    statistic=later("coref", "dep", STEP),
)
claim(
    key="pos-before-coref",
    sentence="Word classes come long before coreference",
    section="4, Figure 1",
    published=steps("expected", "pos", "coref"),
    original=_layers("expected", "pos", "coref"),
    exactness="D/P",
    operational="expected layer (of the highest score of a layer so far) of coreference minus that of word classes, as a share of the depth; the line itself where one of the two gains nothing",
    refuted_if="coreference comes at most a tenth of the depth later",
    threshold=CLEARLY,
    statistic=later("coref", "pos", CLEARLY),
)
claim(
    key="pipeline",
    sentence="The layers are the classical pipeline",
    section="4, abstract",
    published=steps("expected", "pos", "dep", "coref"),
    original=_layers("expected", "pos", "dep", "coref"),
    exactness="D/P",
    operational="the smaller of the two steps word classes - relations - coreference, in expected layers of the highest score so far, as a share of the depth",
    refuted_if="one of the two steps goes backwards, or is none",
    erratum="entities stand before relations in base and large: 2.42 and 2.52, 4.64 and 5.69; with them the order has another step",
    statistic=in_order("pos", "dep", "coref"),
)
claim(
    key="pos-early",
    sentence="Most of the word class is there early",
    section="4, Figure A.2",
    published=_early,
    exactness="D",
    operational="share of the gain in F1 over the embeddings that the first third of the layers gives, each layer alone",
    refuted_if="at most half of the gain comes with the first third",
    threshold=0.5,
    statistic=lambda values, choice=None: early_share(highest(values, "pos")),
)


@claim(
    key="coref-spread",
    sentence="Coreference is spread over the layers",
    section="4, Figure 1",
    published=steps("delta_bits", "coref", "pos", of_depth=False),
    original=both("delta_bits", "pos", "coref"),
    exactness="D/P",
    operational="K(Delta) of word classes minus K(Delta) of coreference, in bits, gains of the highest score so far",
    refuted_if="the gains of coreference are no flatter, within a tenth of a bit",
    threshold=CLEARLY,
)
def _flatter(values, choice=None) -> float:
    bits = [float(delta_bits(highest(values, task)[None])[0]) for task in ("pos", "coref")]
    return bits[0] - bits[1]


claim(
    key="late-layers-add-little",
    sentence="Late layers hardly help with word classes",
    section="4, Figure A.2",
    published=_neighbours,
    exactness="D",
    operational="largest step of the highest F1 so far in the upper half (a twin may be as flat)",
    refuted_if="a step in the upper half is worth two points",
    below=True,
    origin=WORTH_A_SENTENCE,
    control=False,
    statistic=lambda values, choice=None: float(
        WORTH_A_SENTENCE - np.diff(highest(values, "pos"))[(len(highest(values, "pos")) - 1) // 2 :].max()
    ),
)
claim(
    key="selective",
    sentence="The probe reads relations, it does not invent them",
    source=HEWITT,
    section="control tasks",
    operational="F1 of the best layer for relations minus that for made-up labels, one for each pair of words (about the probe, so a twin is not a control)",
    refuted_if="made-up labels are found as well, within ten points",
    threshold=CLEARLY,
    control=False,
    statistic=lambda values, choice=None: float(curve(values, "dep")[-1] - curve(values, "made-up")[-1]),
)
claim(
    key="two-answers",
    sentence="Centre of gravity and expected layer differ",
    section="4, Figure 1",
    published=_two_answers,
    original=_two_answers_printed,
    exactness="D",
    operational="centre of gravity of the mix minus expected layer of the highest score so far for word classes, either way, as a share of the depth (about two statistics, so a twin is not a control)",
    refuted_if="they differ by at most a twentieth of the depth",
    threshold=STEP,
    control=False,
    statistic=lambda values, choice=None: abs(centre(values, "pos") - depth(values, "pos")),
)
claim(
    key="centre-order",
    sentence="Coreference is read higher up than relations",
    section="4, Figure 1",
    published=steps("centre", "dep", "coref"),
    original=_layers("centre", "dep", "coref"),
    exactness="O/P",
    operational="centre of gravity for coreference minus that for dependencies, as a share of the depth; the inputs are fits",
    refuted_if="its centre lies at most a twentieth of the depth higher",
    threshold=STEP,
    statistic=lambda values, choice=None: centre(values, "coref") - centre(values, "dep"),
)
claim(
    key="coref-flat",
    sentence="A centre near the middle means the middle",
    source="Popular accounts",
    section="as retold",
    published=both("mixing_bits", "coref"),
    exactness="O/P",
    operational="K(s) of the mix for coreference, in bits; the inputs are fits",
    refuted_if="the mix is flat, at most a tenth of a bit from equal weights",
    threshold=CLEARLY,
    erratum="equal weights have their centre at L / 2 too: SPR, 12.72 of 24, has K(s) .01",
    statistic=lambda values, choice=None: mixing_bits(values["coref mix"] / values["coref mix"].sum()),
)
claim(
    key="base-is-large",
    sentence="POS sits at layer 3.39, coreference at 9.47",
    source="Popular accounts",
    section="as retold",
    published=both("expected", "pos", "coref"),
    exactness="D/P",
    operational="these are layers of the 24 of BERT-large; in BERT-base, and here, the numbers are others and there is nothing to decide",
    refuted_if="no number of ours could: our layers are not theirs",
    erratum="retold of BERT-base",
    statistic=None,
)
claim(
    key="srl-between",
    sentence="Semantic roles come between syntax and coreference",
    section="4, Figure 1",
    published=lambda: "; ".join(
        f"{model.removeprefix('BERT-')} {published_probing(model)['SRL'].expected:.2f}"
        for model in ("BERT-base", "BERT-large")
    ),
    exactness="D/P",
    operational="the treebank has no semantic roles, so their layer cannot be measured here",
    refuted_if="their expected layer lies outside those two",
    statistic=None,
)


CLAIMS = tuple(claim)
