"""Lesson 10: what each layer knows. Tenney, Das and Pavlick (2019), BERT Rediscovers the Classical NLP Pipeline.

Two kinds of input. *Documents*: the cumulative probes are fitted on every second document, and the others give their right, wrong and
missed labels for every depth. *Fits*: how the last probe mixes the layers is a matter of what it was fitted on, so these inputs are fits,
each on other four fifths of the documents. Inputs that report stand at odd places, with an empty dict before each:
nothing has to be chosen.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, replace
from itertools import pairwise

import numpy as np

from ...analyses.probing import (
    Counts,
    LayerScores,
    SpanVectors,
    centre_of_gravity,
    control_labels,
    cumulative_probes,
    delta_bits,
    draw_cases,
    expected_layer,
    fit_mix_probe,
    form_baseline,
    four_fifths,
    majority_baseline,
    mixing_bits,
    sentence_beliefs,
    span_vectors,
)
from ...corpora import TASKS, halves_by_document, treebank_edges
from ...disk import cached
from ...model import read_states
from ...published import published_probing
from ...stats import CannotDecide, micro_f1
from ..claim import Claims
from ..evidence import Resources

TENNEY, HEWITT = "Tenney, Das and Pavlick 2019", "Hewitt and Liang 2019"

MOST_CASES = 1600  # of each half: a class is waiting

# The same for every task, model and control, fixed beforehand; `choose_penalty` would double the time.
OPTIONS = {"max_iterations": 40, "l2": 0.1}

MIXED = ("pos", "dep", "coref")  # tasks whose mixes are compared

N_FITS = 5

N_RUNS = 3

LONGEST, N_CASES = 14, 6  # words of a sentence on a slide; sentences

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
    """Probes of every task, of dependencies with made-up labels, and mixes of P(L); their scores, without what they believe of each case."""

    scores: dict[str, LayerScores]
    made_up: LayerScores
    mixes: list[dict[str, np.ndarray]]


def fitted(encoder, sentences, tasks: Mapping[str, Halves] | None = None) -> Fits:
    """All that the claims need, fitted on these sentences; kept.

    Parameters
    ----------
    encoder : Encoder
    sentences : sequence of TreebankSentence
    tasks : dict, optional
        What `read_tasks` has read of them, if it has.

    Raises
    ------
    CannotDecide
        As `read_tasks` does.
    """

    def make() -> Fits:
        read = read_tasks(encoder, sentences) if tasks is None else tasks
        scores = {task: bare(found) for task, found in fit_tasks(read).items()}
        return Fits(scores, bare(fit_made_up(read)), fit_mixes(read))

    return cached("layer probes", (encoder, Resources(treebank=sentences).digest), make)


def bare(scores: LayerScores, *, keep_probes: bool = False) -> LayerScores:
    """Scores without what each probe believes of each case, and without the probes: what is left is small."""
    none = np.zeros((len(scores.counts), 0, len(scores.labels)), np.float32)
    return replace(scores, beliefs=none, probes=scores.probes if keep_probes else ())


@dataclass(frozen=True, eq=False)
class Shown:
    """What the lesson shows of one model beside `Fits`.

    Attributes
    ----------
    words : LayerScores
        Word classes, with the probes, for sentences that are typed.
    runs : list of LayerScores
        Word classes, each fitted on another draw of four fifths of the documents.
    rivals : dict of task -> (Counts, Counts)
        The word list and the commonest label.
    cases : list of dict
        Sentences with what the probes of dependencies believe of them (`sentence_beliefs`): the longest of at most ``LONGEST`` words.
    """

    words: LayerScores
    runs: list[LayerScores]
    rivals: dict[str, tuple[Counts, Counts]]
    cases: list[dict]


def shown(encoder, sentences) -> Shown:
    """More that the lesson fits on the same sentences; kept."""
    return cached(
        "layer probes shown",
        (encoder, Resources(treebank=sentences).digest),
        lambda: _show(encoder, sentences),
    )


def _show(encoder, sentences) -> Shown:
    tasks = read_tasks(encoder, sentences)
    runs = [bare(cumulative_probes(*tasks["pos"], seed=seed, **OPTIONS)) for seed in range(N_RUNS)]
    rivals = {task: (form_baseline(*halves), majority_baseline(*halves)) for task, halves in tasks.items()}
    questions = halves_by_document(treebank_edges(sentences, "dep"))[1]
    asked = tasks["dep"][1]
    scores = cumulative_probes(*tasks["dep"], **OPTIONS)
    short = sorted({number for number, _ in asked.places if len(questions[number].words) <= LONGEST})
    cases = [sentence_beliefs(scores, asked, questions, number, top=3) for number in short]
    cases = sorted(cases, key=lambda case: -len(case["targets"]))[:N_CASES]
    words = bare(cumulative_probes(*tasks["pos"], **OPTIONS), keep_probes=True)
    return Shown(words, runs, rivals, cases)


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
    found = fitted(encoder, resources.treebank)
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
    """What all layers add to the embeddings."""
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
        operational=f"F1 of the probe of all layers minus F1 of the probe of the embeddings, {what}",
        refuted_if="the layers add at most two points",
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
    operational="expected layer of dependencies minus that of word classes, as a share of the depth; the line itself where one of the two gains nothing",
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
    operational="expected layer of coreference minus that of dependencies, as a share of the depth; the line itself where one of the two gains nothing",
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
    operational="expected layer of coreference minus that of word classes, as a share of the depth; the line itself where one of the two gains nothing",
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
    operational="the smaller of the two steps word classes - relations - coreference, in expected layers, as a share of the depth",
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
    operational="share of the gain in F1 over the embeddings that the first third of the layers gives",
    refuted_if="at most half of the gain comes with the first third",
    threshold=0.5,
    statistic=lambda values, choice=None: early_share(curve(values, "pos")),
)


@claim(
    key="coref-spread",
    sentence="Coreference is spread over the layers",
    section="4, Figure 1",
    published=steps("delta_bits", "coref", "pos", of_depth=False),
    original=both("delta_bits", "pos", "coref"),
    exactness="D/P",
    operational="K(Delta) of word classes minus K(Delta) of coreference, in bits",
    refuted_if="the gains of coreference are no flatter, within a tenth of a bit",
    threshold=CLEARLY,
)
def _flatter(values, choice=None) -> float:
    bits = [float(delta_bits(curve(values, task)[None])[0]) for task in ("pos", "coref")]
    return bits[0] - bits[1]


claim(
    key="late-layers-add-little",
    sentence="Late layers hardly help with word classes",
    section="4, Figure A.2",
    published=_neighbours,
    exactness="D",
    operational="largest step in F1 from one layer to the next in the upper half (a twin may be as flat)",
    refuted_if="a step in the upper half is worth two points",
    below=True,
    origin=WORTH_A_SENTENCE,
    control=False,
    statistic=lambda values, choice=None: float(
        WORTH_A_SENTENCE - np.diff(curve(values, "pos"))[(len(curve(values, "pos")) - 1) // 2 :].max()
    ),
)
claim(
    key="selective",
    sentence="The probe reads relations, it does not invent them",
    source=HEWITT,
    section="control tasks",
    operational="F1 of the probe of all layers for relations minus its F1 for made-up labels, one for each pair of words (about the probe, so a twin is no control)",
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
    operational="centre of gravity minus expected layer for word classes, either way, as a share of the depth (about two statistics, so a twin is no control)",
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
