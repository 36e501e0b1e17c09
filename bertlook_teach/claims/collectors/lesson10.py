"""Lesson 10: what its deck shows and its claims are decided on: probes of the layers, and mixes.

Two kinds of input. *Documents*: the cumulative probes are fitted on every second document, and the others give their right, wrong and
missed labels for every depth. *Fits*: how the last probe mixes the layers is a matter of what it was fitted on, so these inputs are fits,
each on other four fifths of the documents. Inputs that report stand at odd places, with an empty dict before each:
nothing has to be chosen.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace

import numpy as np

from ...analyses.probing import (
    Counts,
    LayerScores,
    SpanVectors,
    control_labels,
    cumulative_probes,
    draw_cases,
    fit_mix_probe,
    form_baseline,
    four_fifths,
    majority_baseline,
    sentence_beliefs,
    span_vectors,
)
from ...corpora import TASKS, halves_by_document, treebank_edges
from ...disk import cached
from ...model import read_states
from ...stats import CannotDecide
from ..evidence import Resources, evidence

MOST_CASES = 1600  # of each half: a class is waiting

# The same for every task, model and control, fixed beforehand; `choose_penalty` would double the time.
OPTIONS = {"max_iterations": 40, "l2": 0.1}

MIXED = ("pos", "dep", "coref")  # tasks whose mixes are compared

N_FITS = 5

N_RUNS = 3

LONGEST, N_CASES = 14, 6  # words of a sentence on a slide; sentences

FEWEST = 4  # documents in each half

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

    return cached("layer probes", (encoder, Resources(treebank=sentences).digest), make, version=1)


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
        version=1,
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


@evidence("layers", version=1)
def layer_probes(encoder, resources) -> Iterator[dict[str, np.ndarray]]:
    """Documents with the counts of all four tasks and of made-up labels, then fits with their mixes."""
    found = fitted(encoder, resources.treebank)
    yield from curve_evidence(found.scores, found.made_up)
    yield from mix_evidence(found.mixes)
