"""What each layer knows: a probe for each layer alone, the best layer so far, and the paper's mixes.

The encoder stays frozen, and small probes read its layers 0 to L, where 0 is the embedding output. `layer_scores` fits one probe to
each layer alone and says, for every depth, which layer so far is the best; the training documents choose it, never the documents that
are scored, and never the training loss. `cumulative_probes` fits the mixes P(0) .. P(L) of Tenney, Das and Pavlick (2019), each of
which reads all layers up to its own.

Ours is smaller than the paper's probe: a span is the mean of its words, not a learned attention over them, and the map is linear, or
has one hidden layer.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from concurrent.futures import ThreadPoolExecutor
from itertools import product
from os import cpu_count

import numpy as np

from ...metrics import micro_f1, one_blas_thread
from .depth_curves import Counts, DepthCurve, LayerScores, MixScores, _f1  # noqa: F401 - shipped results name the classes here
from .layer_fits import (
    EVEN,
    MAX_ITERATIONS,
    PENALTIES,
    LayerProbe,
    fit_mix_probe,
    fit_path,
    principal_axes,
)
from .vectors import SpanVectors, four_fifths


# --- each layer alone ----------------------------------------------------------------------------------------
def layer_scores(
    train: SpanVectors,
    test: SpanVectors,
    *,
    l2: float | Sequence[float] | None = None,
    hidden: int = 0,
    max_iterations: int = MAX_ITERATIONS,
    seed: int | None = None,
    progress: Callable[[Iterable], Iterable] | None = None,
) -> LayerScores:
    """Fit a probe to each layer alone, score it on other documents, and say which layer so far is the best.

    What is best, and under which penalty, is seen on the training documents: each half of them is scored by probes that were fitted on
    the other half. The documents of ``test`` choose nothing.

    Parameters
    ----------
    train, test : SpanVectors
        Of one task and one model.
    l2 : float or sequence of float, optional
        The penalty of all layers or of each; by default each layer's is chosen among `PENALTIES`.
    hidden, max_iterations
        See `fit_path`.
    seed : int, optional
        Fit on four fifths of the training documents, drawn by this seed (and start a hidden layer by it): runs with several seeds show what
        another training set would have given. None: fit on all.
    progress : function
        Wrapped round the layers, for example ``tqdm``.

    Raises
    ------
    ValueError
        If the two halves are of different tasks or models, share a document, or one is empty; if there are fewer cases to fit on than
        labels, one label only, vectors that are not finite, or the same vector in every case of every layer.
    """
    _check_halves(train, test)
    if seed is not None:
        train = four_fifths(train, seed)
    remarks = _remarks(train, test)
    n = train.n_layers + 1
    penalties = [PENALTIES] * n if l2 is None else [[float(x)] for x in np.broadcast_to(l2, n)]
    options = {"hidden": hidden, "max_iterations": max_iterations, "seed": seed or 0}
    halves = _halves(train)

    def one(layer: int):
        how = options | {
            "axes": principal_axes(train, layer)
        }  # the halves' own would take as long to find as a fit
        on_validation, path = _validated(halves, layer, penalties[layer], how)
        # Without halves nothing is chosen: the middle one.
        chosen = int(np.argmax(_f1(on_validation))) if halves else len(on_validation) // 2
        [probe] = fit_path(train, layer, [penalties[layer][chosen]], **how)
        fits = [*path, probe]
        return on_validation[chosen], probe, fits, probe.beliefs(test.vectors).astype(np.float32)

    # Two layers at a time: the products let go of Python's lock.
    with one_blas_thread(), ThreadPoolExecutor(min(4, cpu_count() or 1)) as pool:
        steps = pool.map(one, range(n))
        validation, probes, fits, beliefs = zip(*(steps if progress is None else progress(steps)))
    answers = [probe.answers(test.vectors) for probe in probes]
    return LayerScores(
        task=train.task,
        labels=probes[0].labels,
        counts=np.stack([count_answers(a, probes[0].labels, test).values for a in answers]),
        documents=tuple(sorted(set(test.documents))),
        n_train=len(train),
        n_test=len(test),
        best=best_so_far(_f1(np.stack(validation))),
        validation_counts=np.stack(validation),
        l2=np.array([probe.l2 for probe in probes]),
        beliefs=np.stack(beliefs),
        converged=np.array([all(fit.converged for fit in some) for some in fits]),
        gradient=np.array([max(fit.gradient for fit in some) for some in fits]),
        iterations=np.array([max(fit.iterations for fit in some) for some in fits]),
        remarks=(*remarks, *_unanswered(answers, probes[0].labels, test)),
        probes=tuple(probes),
    )


def best_so_far(scores: Sequence[float]) -> np.ndarray:
    """For each depth which of the layers 0 to l scores best; of equals the lowest.

    >>> best_so_far([0.5, 0.7, 0.7, 0.6, 0.8]).tolist()
    [0, 1, 1, 1, 4]
    """
    return np.array([int(np.argmax(scores[: depth + 1])) for depth in range(len(scores))])


def _check_halves(train: SpanVectors, test: SpanVectors) -> None:
    if train.task != test.task or train.vectors.shape[::2] != test.vectors.shape[::2]:
        raise ValueError(
            f"train and test must come from one task and one model; got {train.task!r}, {train.n_layers} layers, and "
            f"{test.task!r}, {test.n_layers} layers (or vectors of different width)."
        )
    if not len(train) or not len(test):
        raise ValueError(f"both halves need cases; got {len(train)} to fit on and {len(test)} to score.")
    shared = sorted(set(train.documents) & set(test.documents))
    if shared:
        raise ValueError(
            f"{len(shared)} documents are in both halves, for example {shared[0][:60]!r}: a probe would be scored on what it was fitted on."
        )
    labels = sorted(set(train.labels) | set(test.labels))
    if len(train) < len(labels):
        raise ValueError(
            f"{len(train)} cases to fit on are fewer than the {len(labels)} labels: nothing can be learnt of most of them. Give more sentences."
        )
    if all((layer == layer[0]).all() for layer in train.vectors):
        raise ValueError(
            "every case has the same vector in every layer: there is nothing to read. Is the model damaged, or are all texts the same?"
        )


def _remarks(train: SpanVectors, test: SpanVectors) -> tuple[str, ...]:
    once = sorted(label for label, n in Counter(train.labels).items() if n == 1)
    unseen = sorted(set(test.labels) - set(train.labels) - {test.negative})
    level = [str(i) for i, layer in enumerate(train.vectors) if (layer == layer[0]).all()]
    said = [
        (once, "occur once among the cases to fit on: what a probe says of them rests on one case"),
        (unseen, "occur among the scored cases only and count as missed"),
        (level, "(layers) have the same vector in every case: their probe can only give the commonest label"),
    ]
    return tuple(f"{', '.join(names)} {what}." for names, what in said if names)


def _unanswered(answers: Sequence[np.ndarray], labels: Sequence[str], test: SpanVectors) -> tuple[str, ...]:
    given = np.any([a.any(axis=0) for a in answers], axis=0)
    never = [label for label, some in zip(labels, given) if not some and label in set(test.labels)]
    return (
        (f"{', '.join(never)}: no layer ever gives this answer; its cases count as missed.",) if never else ()
    )


def _halves(train: SpanVectors) -> list[tuple[SpanVectors, SpanVectors]]:
    """Every second training document to fit on and the others to score, and the other way round; none if a half has one label."""
    names = {name: i % 2 for i, name in enumerate(sorted(set(train.documents)))}
    halves = [train.take([names[d] == half for d in train.documents]) for half in (0, 1)]
    if min(len(set(half.labels)) for half in halves) < 2:
        return []
    return [(halves[0], halves[1]), (halves[1], halves[0])]


def _validated(halves, layer, penalties, options) -> tuple[np.ndarray, list[LayerProbe]]:
    """Counts of documents that were not fitted on under each penalty, shape (penalty, document, 3); and the fits."""
    counts, fits = [np.zeros((len(penalties), 0, 3), int)], []
    for fit_on, score_on in halves:
        path = list(fit_path(fit_on, layer, penalties, **options))
        counts.append(
            np.stack([count_answers(p.answers(score_on.vectors), p.labels, score_on).values for p in path])
        )
        fits += path
    return np.concatenate(counts, axis=1), fits


# --- the paper's mixes ---------------------------------------------------------------------------------------
def cumulative_probes(
    train: SpanVectors,
    test: SpanVectors,
    *,
    l2: float | None = None,
    even: float | None = None,
    hidden: int = 0,
    max_iterations: int = MAX_ITERATIONS,
    seed: int | None = None,
    progress: Callable[[Iterable], Iterable] | None = None,
) -> MixScores:
    """Fit P(0) .. P(L) and score them on other documents; each begins where the one before it ended, too.

    Parameters
    ----------
    train, test : SpanVectors
        Of one task and one model.
    l2, even : float, optional
        The penalties of all depths (see `fit_mix_probe`); by default `choose_mix_penalties` finds them among the training documents.
        Fixed beforehand they let the mix go to whichever layer has the cheapest map, not to one that knows more.
    hidden, max_iterations, seed, progress
        As in `layer_scores`.

    Raises
    ------
    ValueError
        As `layer_scores` does.
    """
    _check_halves(train, test)
    if seed is not None:
        train = four_fifths(train, seed)
    options = {"hidden": hidden, "max_iterations": max_iterations, "seed": seed or 0}
    chosen_on = "fixed beforehand"
    if l2 is None or even is None:
        chosen_on = "chosen on training documents that were not fitted on"
        grid = ([l2] if l2 is not None else PENALTIES, [even] if even is not None else EVEN)
        l2, even = choose_mix_penalties(train, *grid, **options)
    probes = fit_mixes(train, l2=l2, even=even, progress=progress, **options)
    return MixScores(
        task=train.task,
        labels=probes[-1].labels,
        counts=np.stack([count_answers(p.answers(test.vectors), p.labels, test).values for p in probes]),
        documents=tuple(sorted(set(test.documents))),
        n_train=len(train),
        n_test=len(test),
        weights=probes[-1].weights,
        l2=l2,
        even=even,
        chosen_on=chosen_on,
        losses=np.array([probe.loss for probe in probes]),
        converged=np.array([probe.converged for probe in probes]),
        gradient=np.array([probe.gradient for probe in probes]),
        iterations=np.array([probe.iterations for probe in probes]),
    )


def fit_mixes(
    train: SpanVectors,
    *,
    progress: Callable[[Iterable], Iterable] | None = None,
    **options,
) -> list[LayerProbe]:
    """P(0) .. P(L), each with the one before it among its starts."""
    probes: list[LayerProbe] = []
    steps = range(train.n_layers + 1)
    for layer in steps if progress is None else progress(steps):
        below = probes[-1] if probes else None
        probes.append(fit_mix_probe(train, layer, below=below, **options))
    return probes


def choose_mix_penalties(
    train: SpanVectors, l2: Sequence[float] = PENALTIES, even: Sequence[float] = EVEN, **options
) -> tuple[float, float]:
    """The two penalties under which P(L) scores best on the half of the training documents that it was not fitted on.

    Of equals the strongest; with too few documents to halve, the middle ones.
    """
    halves = _halves(train)
    if not halves:
        return sorted(l2)[len(l2) // 2], sorted(even)[len(even) // 2]

    def score(pair: tuple[float, float]) -> float:
        total = np.zeros(3)
        for fit_on, score_on in halves:
            probe = fit_mix_probe(fit_on, l2=pair[0], even=pair[1], **options)
            total += count_answers(probe.answers(score_on.vectors), probe.labels, score_on).values.sum(axis=0)
        return float(micro_f1(*total))

    return max(sorted(product(l2, even), reverse=True), key=score)


# --- counting ------------------------------------------------------------------------------------------------
def _one_hot(found: Sequence[str], labels: Sequence[str]) -> np.ndarray:
    place = {label: i for i, label in enumerate(labels)}
    gold = np.zeros((len(found), len(labels)), np.float32)
    for case, label in enumerate(found):
        if label in place:
            gold[case, place[label]] = 1
    return gold


def count_answers(answers: np.ndarray, labels: Sequence[str], data: SpanVectors) -> Counts:
    """Right, wrong and missed labels of each document.

    A label that the training cases did not have is missed, not forgotten; ``data.negative`` is nothing to find.

    Parameters
    ----------
    answers : bool array of shape (case, label)
        A case may be given no label, or several.
    labels : sequence of str
        What the columns mean.
    data : SpanVectors
    """
    answers = np.asarray(answers, dtype=bool)
    if answers.shape != (len(data), len(labels)):
        raise ValueError(
            f"answers must have shape {(len(data), len(labels))}, (case, label); got {answers.shape}."
        )
    right = (answers & (_one_hot(data.labels, labels) > 0)).sum(axis=1)
    to_find = np.array([label != data.negative for label in data.labels], dtype=int)
    per_case = np.stack([right, answers.sum(axis=1) - right, to_find - right], axis=1)
    names = sorted(set(data.documents))
    place = {name: i for i, name in enumerate(names)}
    totals = np.zeros((len(names), 3), int)
    np.add.at(totals, [place[name] for name in data.documents], per_case)
    return Counts(totals)
