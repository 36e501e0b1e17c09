"""Lesson 10: what each layer knows. Tenney, Das and Pavlick (2019), BERT Rediscovers the Classical NLP Pipeline.

Two kinds of input. *Documents*: the cumulative probes are fitted on every second document, and the others give their right, wrong and
missed labels for every depth. *Fits*: how the last probe mixes the layers is a matter of what it was fitted on, so these inputs are fits,
each on other four fifths of the documents. Inputs that report stand at odd places, with an empty dict before each:
nothing has to be chosen.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from itertools import pairwise

import numpy as np

from ..claims import CannotDecide, Claim, Resources
from ..edge_tasks import TASKS, treebank_edges
from ..layers import (
    LayerScores,
    SpanVectors,
    centre_of_gravity,
    control_labels,
    cumulative_probes,
    delta_bits,
    draw_cases,
    expected_layer,
    fit_mix_probe,
    four_fifths,
    micro_f1,
    mixing_bits,
    read_states,
    span_vectors,
)
from ..probes import halves_by_document
from ..published_probing import published_probing
from ..store import kept

TENNEY, HEWITT = "Tenney, Das and Pavlick 2019", "Hewitt and Liang 2019"
MOST_CASES = 1600  # of each half: a class is waiting
# The same for every task, model and control, fixed beforehand; `choose_penalty` would double the time.
OPTIONS = {"max_iterations": 40, "l2": 0.1}
MIXED = ("pos", "dep", "coref")  # tasks whose mixes are compared
N_FITS = 5
FEWEST = 4  # documents in each half
NAMES = {"pos": "POS", "dep": "Dependencies", "entity": "Entities", "coref": "Coreference"}
WORTH_A_SENTENCE = 0.02  # F1
STEP = 0.05  # of the depth: half a layer of ten
CLEARLY = 0.1

Halves = tuple[SpanVectors, SpanVectors]


# --- evidence ------------------------------------------------------------------------------------------


def read_tasks(encoder, sentences) -> dict[str, Halves]:
    """Task -> vectors to fit on and to score; each text is read once for all tasks.

    Raises
    ------
    CannotDecide
        If a task has nothing to ask, or a half fewer than four documents.
    """
    try:
        asked = {task: treebank_edges(sentences, task) for task in TASKS}
        states = read_states(encoder, (s.words for questions in asked.values() for s in questions))
        found = {
            task: tuple(
                draw_cases(span_vectors(states, half, task), MOST_CASES)
                for half in halves_by_document(questions)
            )
            for task, questions in asked.items()
        }
    except ValueError as reason:
        raise CannotDecide(str(reason)) from None
    fewest = min(len(set(half.documents)) for halves in found.values() for half in halves)
    if fewest < FEWEST:
        raise CannotDecide(
            f"the probes need {FEWEST} documents to fit on and {FEWEST} to score; a half has {fewest}"
        )
    return found


def fit_tasks(tasks: Mapping[str, Halves]) -> dict[str, LayerScores]:
    """The cumulative probes of every task."""
    return {task: cumulative_probes(*halves, **OPTIONS) for task, halves in tasks.items()}


def fit_made_up(tasks: Mapping[str, Halves]) -> LayerScores:
    """The probes of dependencies, with made-up labels."""
    return cumulative_probes(*control_labels(*tasks["dep"]), **OPTIONS)


def fit_mixes(tasks: Mapping[str, Halves], n: int = N_FITS) -> list[dict[str, np.ndarray]]:
    """``n`` times the mix of P(L), each fitted on other four fifths of the documents: task -> (layer,)."""
    return [
        {task: fit_mix_probe(four_fifths(tasks[task][0], seed), **OPTIONS).weights for task in MIXED}
        for seed in range(n)
    ]


@dataclass(frozen=True, eq=False)
class Fits:
    """Probes of every task, of dependencies with made-up labels, and mixes of P(L)."""

    scores: dict[str, LayerScores]
    made_up: LayerScores
    mixes: list[dict[str, np.ndarray]]


def fitted(encoder, sentences, tasks: Mapping[str, Halves]) -> Fits:
    """All that the lesson fits on what `read_tasks` has read of these sentences; kept."""
    return kept(
        "layer probes",
        (encoder.fingerprint, Resources(treebank=sentences).digest),
        lambda: Fits(fit_tasks(tasks), fit_made_up(tasks), fit_mixes(tasks)),
    )


def curve_evidence(
    scores: Mapping[str, LayerScores], made_up: LayerScores | None = None
) -> Iterator[dict[str, np.ndarray]]:
    """Of each document that was scored the counts of every probe, shape (layer, 3); an empty dict before it."""
    every = dict(scores) | ({"made-up": made_up} if made_up is not None else {})
    for document in sorted({name for s in every.values() for name in s.documents}):
        yield {}
        yield {
            task: s.counts[:, s.documents.index(document)].astype(float)
            for task, s in every.items()
            if document in s.documents
        }


def mix_evidence(mixes: list[dict[str, np.ndarray]]) -> Iterator[dict[str, np.ndarray]]:
    """A row a fit, an empty dict before it."""
    for row in mixes:
        yield {}
        yield {f"{task} mix": weights for task, weights in row.items()}


def layer_probes(encoder, resources) -> Iterator[dict[str, np.ndarray]]:
    """Documents with the counts of all four tasks and of made-up labels, then fits with their mixes."""
    found = fitted(encoder, resources.treebank, read_tasks(encoder, resources.treebank))
    yield from curve_evidence(found.scores, found.made_up)
    yield from mix_evidence(found.mixes)


# --- statistics ----------------------------------------------------------------------------------------


def curve(values, task: str) -> np.ndarray:
    """F1 of P(0) .. P(L)."""
    return micro_f1(*np.moveaxis(values[task], -1, 0))


def depth(values, task: str) -> float:
    """Expected layer as a share of the model's depth; NaN where nothing is gained."""
    f1 = curve(values, task)
    return float(expected_layer(f1[None])[0]) / (len(f1) - 1)


def later(task: str, than: str, line: float = 0.0) -> Callable:
    """How much later a task comes, as a share of the depth.

    Where one of the two gains nothing there is no depth and no order: the step then counts as the claim's line, which speaks for neither
    side. A random twin, which often gains nothing, stays a control that way.
    """

    def statistic(values, choice=None) -> float:
        step = depth(values, task) - depth(values, than)
        return step if np.isfinite(step) else line

    return statistic


def rise(task: str) -> Callable:
    """What all layers add to the embeddings."""
    return lambda values, choice=None: float(curve(values, task)[-1] - curve(values, task)[0])


def in_order(*tasks: str) -> Callable:
    """The smallest step of an order: above 0 if every task comes after the one before it."""
    return lambda values, choice=None: min(later(b, a)(values) for a, b in pairwise(tasks))


def early_share(f1: np.ndarray) -> float:
    """Share of the whole gain that has come by a third of the depth."""
    gain = f1[-1] - f1[0]
    return float((f1[(len(f1) - 1) // 3] - f1[0]) / gain) if gain > 1e-12 else float("nan")


def _flatter(values, choice=None) -> float:
    bits = [float(delta_bits(curve(values, task)[None])[0]) for task in ("pos", "coref")]
    return bits[0] - bits[1]


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


def printed_rise(task: str) -> Callable[[], str]:
    """F1 of the first and the last probe of BERT-base, in per cent."""

    def text() -> str:
        f1 = published_probing("BERT-base")[NAMES[task]].f1
        return f"base {f1[0]:.1f} to {f1[-1]:.1f}"

    return text


def _printed_early() -> str:
    return f"base {100 * early_share(published_probing('BERT-base')['POS'].f1):.0f} % by layer 4 of 12"


def _printed_neighbours() -> str:
    gains = np.diff(published_probing("BERT-base")["POS"].f1)
    return f"base at most {gains[6:].max():.2f} points from layer 7 on"


def _printed_two_answers() -> str:
    row = published_probing("BERT-large")["POS"]
    return f"large {row.centre:.2f} against {row.expected:.2f}"


def _claim(key: str, sentence: str, published, exactness: str, **about) -> Claim:
    return Claim(
        key=f"10-{key}",
        lesson="10",
        sentence=sentence,
        source=about.pop("source", TENNEY),
        section=about.pop("section", "4, Figure 1"),
        published=published,
        exactness=exactness,
        evidence="layers",
        **about,
    )


def _rises(task: str, what: str) -> Claim:
    return _claim(
        f"{task}-rises",
        f"Layers tell more about {what} than embeddings",
        printed_rise(task),
        "O",
        section="4, Figure A.2",
        operational=f"F1 of the probe of all layers minus F1 of the probe of the embeddings, {what}",
        refuted_if="the layers add at most two points",
        statistic=rise(task),
        line=WORTH_A_SENTENCE,
    )


CLAIMS = (
    _rises("pos", "word classes"),
    _rises("dep", "relations"),
    _rises("entity", "entities"),
    _rises("coref", "coreference"),
    _claim(
        "pos-before-dep",
        "Word classes come before relations",
        both("expected", "pos", "dep"),
        "D/P",
        operational="expected layer of dependencies minus that of word classes, as a share of the depth; the line itself where one of the two gains nothing",
        refuted_if="relations come at most a twentieth of the depth later",
        statistic=later("dep", "pos", STEP),
        line=STEP,
    ),
    _claim(
        "dep-before-coref",
        "Relations come before coreference",
        both("expected", "dep", "coref"),
        "D/P",
        operational="expected layer of coreference minus that of dependencies, as a share of the depth; the line itself where one of the two gains nothing",
        refuted_if="coreference comes at most a twentieth of the depth later",
        statistic=later("coref", "dep", STEP),
        line=STEP,
    ),
    _claim(
        "pos-before-coref",
        "Word classes come long before coreference",
        both("expected", "pos", "coref"),
        "D/P",
        operational="expected layer of coreference minus that of word classes, as a share of the depth; the line itself where one of the two gains nothing",
        refuted_if="coreference comes at most a tenth of the depth later",
        statistic=later("coref", "pos", CLEARLY),
        line=CLEARLY,
    ),
    _claim(
        "pipeline",
        "The layers are the classical pipeline",
        both("expected", "pos", "dep", "coref"),
        "D/P",
        section="4, abstract",
        operational="the smaller of the two steps word classes - relations - coreference, in expected layers, as a share of the depth",
        refuted_if="one of the two steps goes backwards, or is none",
        statistic=in_order("pos", "dep", "coref"),
        erratum="entities stand before relations in base and large: 2.42 and 2.52, 4.64 and 5.69; with them the order has another step",
    ),
    _claim(
        "pos-early",
        "Most of the word class is there early",
        _printed_early,
        "D",
        section="4, Figure A.2",
        operational="share of the gain in F1 over the embeddings that the first third of the layers gives",
        refuted_if="at most half of the gain comes with the first third",
        statistic=lambda values, choice=None: early_share(curve(values, "pos")),
        line=0.5,
    ),
    _claim(
        "coref-spread",
        "Coreference is spread over the layers",
        both("delta_bits", "pos", "coref"),
        "D/P",
        operational="K(Delta) of word classes minus K(Delta) of coreference, in bits",
        refuted_if="the gains of coreference are no flatter, within a tenth of a bit",
        statistic=_flatter,
        line=CLEARLY,
    ),
    _claim(
        "late-layers-add-little",
        "Late layers hardly help with word classes",
        _printed_neighbours,
        "D",
        section="4, Figure A.2",
        operational="0.02 minus the largest step in F1 from one layer to the next in the upper half (a twin may be as flat)",
        refuted_if="a step in the upper half is worth two points",
        statistic=lambda values, choice=None: float(
            WORTH_A_SENTENCE - np.diff(curve(values, "pos"))[(len(curve(values, "pos")) - 1) // 2 :].max()
        ),
        control=False,
    ),
    _claim(
        "selective",
        "The probe reads relations, it does not invent them",
        "",
        "",
        source=HEWITT,
        section="control tasks",
        operational="F1 of the probe of all layers for relations minus its F1 for made-up labels, one for each pair of words (about the probe, so a "
        "twin is no control)",
        control=False,
        refuted_if="made-up labels are found as well, within ten points",
        statistic=lambda values, choice=None: float(curve(values, "dep")[-1] - curve(values, "made-up")[-1]),
        line=CLEARLY,
    ),
    _claim(
        "two-answers",
        "Centre of gravity and expected layer differ",
        _printed_two_answers,
        "P",
        operational="centre of gravity minus expected layer for word classes, either way, as a share of the depth (about two statistics, so a "
        "twin is no control)",
        refuted_if="they differ by at most a twentieth of the depth",
        statistic=lambda values, choice=None: abs(centre(values, "pos") - depth(values, "pos")),
        line=STEP,
        control=False,
    ),
    _claim(
        "centre-order",
        "Coreference is read higher up than relations",
        both("centre", "dep", "coref"),
        "O/P",
        operational="centre of gravity for coreference minus that for dependencies, as a share of the depth; the inputs are fits",
        refuted_if="its centre lies at most a twentieth of the depth higher",
        statistic=lambda values, choice=None: centre(values, "coref") - centre(values, "dep"),
        line=STEP,
    ),
    _claim(
        "coref-flat",
        "A centre near the middle means the middle",
        both("mixing_bits", "coref"),
        "O/P",
        source="Popular accounts",
        section="as retold",
        operational="K(s) of the mix for coreference, in bits; the inputs are fits",
        refuted_if="the mix is flat, at most a tenth of a bit from equal weights",
        statistic=lambda values, choice=None: mixing_bits(values["coref mix"] / values["coref mix"].sum()),
        line=CLEARLY,
        erratum="equal weights have their centre at L / 2 too: SPR, 12.72 of 24, has K(s) .01",
    ),
    _claim(
        "base-is-large",
        "POS sits at layer 3.39, coreference at 9.47",
        both("expected", "pos", "coref"),
        "D/P",
        source="Popular accounts",
        section="as retold",
        operational="these are layers of the 24 of BERT-large; in BERT-base, and here, the numbers are others and there is nothing to decide",
        refuted_if="no number of ours could: our layers are not theirs",
        statistic=None,
        erratum="retold of BERT-base",
    ),
    _claim(
        "srl-between",
        "Semantic roles come between syntax and coreference",
        lambda: "; ".join(
            f"{model.removeprefix('BERT-')} {published_probing(model)['SRL'].expected:.2f}"
            for model in ("BERT-base", "BERT-large")
        ),
        "D/P",
        operational="the treebank has no semantic roles, so their layer cannot be measured here",
        refuted_if="their expected layer lies outside those two",
        statistic=None,
    ),
)

EVIDENCE = {"layers": layer_probes}
