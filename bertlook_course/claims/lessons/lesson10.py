"""Lesson 10: what its deck shows and its claims are decided on: a probe for each layer, the best layer so far, and mixes.

Two kinds of input. *Documents*: the probes are fitted on every second document, and the others give their right, wrong and missed labels
for every depth. *Fits*: how the last probe mixes the layers is a matter of what it was fitted on, so these inputs are fits, each on other
four fifths of the documents. Inputs that report stand at odd places, with an empty dict before each: nothing has to be chosen.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, replace

import numpy as np

from ...analyses.probing import (
    Counts,
    LayerProbe,
    LayerScores,
    MixScores,
    SpanVectors,
    choose_mix_penalties,
    control_labels,
    count_answers,
    cumulative_probes,
    draw_cases,
    fit_mix_probe,
    form_baseline,
    four_fifths,
    layer_scores,
    majority_baseline,
    read_states,
    sentence_beliefs,
    span_vectors,
)
from ...corpora import TASKS, halves_by_document, treebank_edges
from ...metrics import CannotDecide
from ...storage import cached
from ..evidence import Resources, evidence

MOST_CASES = 1600  # of each half: a class is waiting

FIXED = {"l2": 0.1, "even": 0.0}  # penalties of a mix as one might fix them without looking

STOPS = (5, 10, 20, 40)  # iterations after which the slide's unfinished mixes are stopped

NAMES = {"pos": "POS", "dep": "Dependencies", "entity": "Entities", "coref": "Coreference"}  # as published

MIXED = ("pos", "dep", "coref")  # tasks whose mixes are compared

N_FITS = 5

N_RUNS = 3

LONGEST, N_CASES = 14, 6  # words of a sentence on a slide; sentences

FEWEST = 4  # documents in each half

CHOSEN = "chosen on training documents that were not fitted on"

Halves = tuple[SpanVectors, SpanVectors]


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
    """A probe for each layer, for every task."""
    return {task: layer_scores(*halves) for task, halves in tasks.items()}


def fit_made_up(tasks: Mapping[str, Halves], scores: LayerScores) -> LayerScores:
    """The same for dependencies with made-up labels, under the penalties of the true ones."""
    return layer_scores(*control_labels(*tasks["dep"]), l2=scores.l2)


def mix_penalties(tasks: Mapping[str, Halves], scores: Mapping[str, LayerScores]) -> dict[str, dict]:
    """For each task the penalties of its mix: that of the best layer on the maps; that on the shares is chosen as a layer's is."""
    found = {}
    for task in MIXED:
        l2 = float(scores[task].l2[scores[task].best[-1]])
        found[task] = dict(zip(("l2", "even"), choose_mix_penalties(tasks[task][0], [l2])))
    return found


def fit_mixes(
    tasks: Mapping[str, Halves], penalties: Mapping[str, dict], n: int = N_FITS
) -> list[dict[str, LayerProbe]]:
    """``n`` times the mix of P(L), each fitted on other four fifths of the documents: task -> probe, without its maps."""
    return [
        {
            task: replace(fit_mix_probe(four_fifths(tasks[task][0], seed), **penalties[task]), parameters={})
            for task in penalties
        }
        for seed in range(n)
    ]


@dataclass(frozen=True, eq=False)
class Fits:
    """Probes of every task, of dependencies with made-up labels, and mixes of P(L) with their penalties; without what they believe of each case."""

    scores: dict[str, LayerScores]
    made_up: LayerScores
    penalties: dict[str, dict]
    mixes: list[dict[str, LayerProbe]]


def fitted(encoder, sentences, tasks: Mapping[str, Halves] | None = None) -> Fits:
    """Probes of every task and mixes of their layers, fitted on these sentences; kept.

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
        penalties = mix_penalties(read, scores)
        return Fits(scores, bare(fit_made_up(read, scores["dep"])), penalties, fit_mixes(read, penalties))

    return cached("layer probes", (encoder, Resources(treebank=sentences).digest), make, version=4)


def bare(scores: LayerScores, *, keep_probes: bool = False) -> LayerScores:
    """Scores without what each probe believes of each case, and without the probes: what is left is small."""
    none = np.zeros((len(scores.counts), 0, len(scores.labels)), np.float32)
    return replace(scores, beliefs=none, probes=scores.probes if keep_probes else ())


@dataclass(frozen=True, eq=False)
class Stopped:
    """The mixes P(0) .. P(L) of word classes, stopped on purpose: what an unfinished fit would have printed.

    Attributes
    ----------
    why : str
        What the slide says of it.
    f1 : dict of iterations -> float ndarray of shape (layer,)
        0 iterations stand for fits to the end.
    """

    why: str
    f1: dict[int, np.ndarray]


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
    chosen, fixed : MixScores
        Of word classes, under penalties that were chosen on training documents, and under `FIXED`.
    stopped : Stopped
    """

    words: LayerScores
    runs: list[LayerScores]
    rivals: dict[str, tuple[Counts, Counts]]
    cases: list[dict]
    chosen: MixScores
    fixed: MixScores
    stopped: Stopped


def shown(encoder, sentences) -> Shown:
    """More that the lesson fits on the same sentences; kept."""
    return cached(
        "layer probes shown",
        (encoder, Resources(treebank=sentences).digest),
        lambda: _show(encoder, sentences),
        version=4,
    )


def _show(encoder, sentences) -> Shown:
    tasks, found = read_tasks(encoder, sentences), fitted(encoder, sentences)
    l2 = {task: scores.l2 for task, scores in found.scores.items()}
    runs = [bare(layer_scores(*tasks["pos"], seed=seed, l2=l2["pos"])) for seed in range(N_RUNS)]
    rivals = {task: (form_baseline(*halves), majority_baseline(*halves)) for task, halves in tasks.items()}
    questions = halves_by_document(treebank_edges(sentences, "dep"))[1]
    asked = tasks["dep"][1]
    scores = layer_scores(*tasks["dep"], l2=l2["dep"])
    short = sorted({number for number, _ in asked.places if len(questions[number].words) <= LONGEST})
    cases = [sentence_beliefs(scores, asked, questions, number, top=3) for number in short]
    cases = sorted(cases, key=lambda case: -len(case["targets"]))[:N_CASES]
    words = bare(layer_scores(*tasks["pos"], l2=l2["pos"]), keep_probes=True)
    chosen = replace(cumulative_probes(*tasks["pos"], **found.penalties["pos"]), chosen_on=CHOSEN)
    fixed = cumulative_probes(*tasks["pos"], **FIXED)
    return Shown(words, runs, rivals, cases, chosen, fixed, stop(*tasks["pos"]))


def stop(train: SpanVectors, test: SpanVectors) -> Stopped:
    """Mixes of every depth under `FIXED`, given up after so many iterations, each begun with equal shares; and to the end (0)."""
    curves = {}
    for most in (*STOPS, 0):
        limit = {"max_iterations": most} if most else {}
        probes = [fit_mix_probe(train, layer, **FIXED, **limit) for layer in range(train.n_layers + 1)]
        counts = [count_answers(p.answers(test.vectors), p.labels, test) for p in probes]
        curves[most] = np.array([c.f1 for c in counts])
    return Stopped("fits that are given up on purpose, to show what they would have said", curves)


def curve_evidence(scores: Mapping[str, LayerScores | MixScores]) -> Iterator[dict[str, np.ndarray]]:
    """Of each document that was scored the counts of every depth, shape (layer, 3): of the best layer so far, or of a mix.

    An empty dict stands before each.
    """
    curves = {task: s.so_far if isinstance(s, LayerScores) else s for task, s in scores.items()}
    for document in sorted({name for s in curves.values() for name in s.documents}):
        yield {}
        yield {
            task: s.counts[:, s.documents.index(document)].astype(float)
            for task, s in curves.items()
            if document in s.documents
        }


def mix_evidence(mixes: list[dict[str, np.ndarray]]) -> Iterator[dict[str, np.ndarray]]:
    """A row a fit, an empty dict before it."""
    for row in mixes:
        yield {}
        yield {f"{task} mix": weights for task, weights in row.items()}


def finished(every: Iterable[LayerScores | MixScores | LayerProbe]) -> None:
    """Nothing is decided on a fit that has not finished.

    Raises
    ------
    CannotDecide
        If one has not; with how many, and what to do.
    """
    open_ = [s for s in every if not np.all(s.converged)]
    if open_:
        raise CannotDecide(
            f"{len(open_)} fits of probes stopped before they had finished; raise MAX_ITERATIONS of bertlook_course.analyses.probing"
        )


@evidence("layers", version=5, unit="documents")
def layer_probes(encoder, resources) -> Iterator[dict[str, np.ndarray]]:
    """Documents with the counts of all four tasks, then fits with their mixes."""
    found = fitted(encoder, resources.treebank)
    finished([*found.scores.values(), *(p for fit in found.mixes for p in fit.values())])
    yield from curve_evidence(found.scores)
    yield from mix_evidence([{task: p.weights for task, p in fit.items()} for fit in found.mixes])


EVIDENCE = {"layers": layer_probes}
