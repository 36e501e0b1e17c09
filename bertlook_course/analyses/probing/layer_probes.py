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
from dataclasses import dataclass
from itertools import product
from os import cpu_count

import numpy as np

from bertlook_teach.disk import Table
from bertlook_teach.stats import CONFIDENCE, draws, ratio_interval, sample_interval

from ...metrics import micro_f1, one_blas_thread, ratio_parts
from .layer_fits import (
    EVEN,
    MAX_ITERATIONS,
    PENALTIES,
    TOLERANCE,
    LayerProbe,
    fit_mix_probe,
    fit_path,
    principal_axes,
)
from .vectors import SpanVectors, four_fifths
from .where import centre_of_gravity, delta_bits, expected_layer, mixing_bits


# --- F1 ----------------------------------------------------------------------------------------------------
@dataclass(frozen=True, eq=False)
class Counts:
    """Right labels (tp), wrong ones (fp) and missed ones (fn), shape (unit, 3); a unit is a document."""

    values: np.ndarray

    @property
    def f1(self) -> float:
        return micro_f1(*self.values.sum(axis=0))

    def interval(self, *, seed: int = 0) -> tuple[float, float]:
        """95 % bootstrap over documents."""
        return ratio_interval(ratio_parts(self.values), seed=seed)

    def __repr__(self) -> str:
        low, high = self.interval()
        return f"F1 {self.f1:.3f} [{low:.3f}, {high:.3f}] over {len(self.values)} documents"


def _f1(counts: np.ndarray) -> np.ndarray:
    """Of counts of shape (..., document, 3)."""
    return micro_f1(*np.moveaxis(counts.sum(axis=-2), -1, 0))


# --- a curve over depth --------------------------------------------------------------------------------------
@dataclass(frozen=True, eq=False)
class DepthCurve(Table):
    """F1 at every depth of one task, on cases of documents that no probe was fitted on.

    Attributes
    ----------
    task : str
    labels : tuple of str
    counts : int ndarray of shape (layer, document, 3)
        Right, wrong and missed labels, L + 1 layers.
    documents : tuple of str
        Those that were scored, in the order of ``counts``.
    n_train, n_test : int
        Cases.
    """

    task: str
    labels: tuple[str, ...]
    counts: np.ndarray
    documents: tuple[str, ...]
    n_train: int
    n_test: int

    @property
    def n_layers(self) -> int:
        return len(self.counts) - 1

    @property
    def f1(self) -> np.ndarray:
        """Shape (layer,). Every case has one answer: where there is no negative label this is the accuracy."""
        return _f1(self.counts)

    @property
    def gain(self) -> float:
        """What the last point of the curve adds to the embeddings, as a share."""
        return float(self.f1[-1] - self.f1[0])

    def gain_interval(self, *, seed: int = 0) -> tuple[float, float]:
        """95 % over documents."""
        return self.interval(lambda f1: f1[:, -1] - f1[:, 0], seed=seed)

    @property
    def sure(self) -> bool:
        """Whether the whole interval of the gain lies above 0: only then is there a depth at which it is gained."""
        return bool(self.gain_interval()[0] > 0)

    @property
    def expected_layer(self) -> float:
        """NaN where the gain that it divides by is not `sure`."""
        return float(expected_layer(self.f1[None])[0]) if self.sure else float("nan")

    @property
    def delta_bits(self) -> float:
        """K(Delta) in bits; NaN where the gain is not `sure`."""
        return float(delta_bits(self.f1[None])[0]) if self.sure else float("nan")

    def rows(self) -> list[dict]:
        """One dict a depth: F1 with its interval, n."""
        low, high = self.interval(lambda f1: f1)
        f1 = {"f1": self.f1, "low": low, "high": high}
        return [
            {
                "task": self.task,
                "layer": layer,
                **{name: float(x[layer]) for name, x in f1.items()},
                "n": self.n_test,
            }
            for layer in range(self.n_layers + 1)
        ]

    def resampled(self, *, seed: int = 0) -> np.ndarray:
        """F1 at each depth in samples of the documents, the same documents at all depths: shape (sample, layer)."""
        drawn = np.einsum("bu,luk->blk", draws(self.counts.shape[1], seed=seed), self.counts)
        return micro_f1(*np.moveaxis(drawn, -1, 0))

    def interval(self, statistic: Callable | None = None, *, seed: int = 0):
        """95 % interval over documents of a statistic of the F1 curve; (NaN, NaN) if too few samples give a number.

        The probes are not fitted again: how the choice of training documents matters is seen by other seeds.

        Parameters
        ----------
        statistic : function(array of shape (sample, layer)) -> array of shape (sample,) or (sample, ...)
            The function `expected_layer` (the default) or `delta_bits`, ``np.diff``, or the curve itself (``lambda f1: f1``).
        """
        curves, statistic = self.resampled(seed=seed), statistic or expected_layer
        values, own = np.asarray(statistic(curves)), np.asarray(statistic(self.f1[None]))[0]
        defined = np.isfinite(values)
        if values.ndim == 1:
            if defined.mean() < CONFIDENCE:
                return float("nan"), float("nan")
            values = values[defined]
        return sample_interval(values, own, self.counts.shape[1])


@dataclass(frozen=True, eq=False)
class LayerScores(DepthCurve):
    """A probe for each layer alone, and which layer so far is the best.

    Attributes
    ----------
    best : int ndarray of shape (layer,)
        Of the layers 0 to l the one that scored best on training documents that it was not fitted on.
    validation_counts : int ndarray of shape (layer, training document, 3)
        What those scores are made of: right, wrong and missed labels under the chosen penalty. No document where nothing was chosen.
    l2 : float ndarray of shape (layer,)
        The penalty of each layer's probe, chosen on the same documents.
    beliefs : float32 ndarray of shape (layer, case, label)
        What each probe believes of each case.
    converged : bool ndarray of shape (layer,)
        Whether each fit has finished.
    gradient : float ndarray of shape (layer,)
        See `LayerProbe`.
    iterations : int ndarray of shape (layer,)
    remarks : tuple of str
        What a reader has to know of these cases: labels with one case, labels that no layer answers, constant vectors.
    probes : tuple of LayerProbe
    """

    best: np.ndarray
    validation_counts: np.ndarray
    l2: np.ndarray
    beliefs: np.ndarray
    converged: np.ndarray
    gradient: np.ndarray
    iterations: np.ndarray
    remarks: tuple[str, ...] = ()
    probes: tuple[LayerProbe, ...] = ()

    @property
    def so_far(self) -> DepthCurve:
        """The curve of the best layer so far."""
        return DepthCurve(
            self.task, self.labels, self.counts[self.best], self.documents, self.n_train, self.n_test
        )

    @property
    def validation(self) -> np.ndarray:
        """How each layer scored on training documents that it was not fitted on, shape (layer,)."""
        return _f1(self.validation_counts)

    def share_of_choice(self, *, seed: int = 0) -> float:
        """In how large a share of samples of the training documents the layer that is best of all stays the best; NaN if nothing was chosen."""
        n_documents = self.validation_counts.shape[1]
        if not n_documents:
            return float("nan")
        drawn = np.einsum("bu,luk->blk", draws(n_documents, seed=seed), self.validation_counts)
        return float((micro_f1(*np.moveaxis(drawn, -1, 0)).argmax(axis=1) == self.best[-1]).mean())

    def warnings(self) -> list[str]:
        """The remarks, and in words which fits have not finished."""
        return [*filter(None, [unfinished("the probes of layers", self)]), *self.remarks]

    def rows(self) -> list[dict]:
        """One dict a layer: F1 of the layer alone with its interval, the best layer so far and its F1, whether the fit has finished."""
        low, high = self.interval(lambda f1: f1)
        return [
            {
                "task": self.task,
                "layer": layer,
                "f1": float(self.f1[layer]),
                "low": float(low[layer]),
                "high": float(high[layer]),
                "best so far": int(best),
                "f1 so far": float(self.f1[best]),
                "l2": float(self.l2[layer]),
                "converged": bool(self.converged[layer]),
                "n": self.n_test,
            }
            for layer, best in enumerate(self.best)
        ]

    def __repr__(self) -> str:
        low, high = self.so_far.gain_interval()
        return (
            f"LayerScores({self.task}: F1 {self.f1[0]:.3f} with the embeddings, {self.f1[self.best[-1]]:.3f} with layer {self.best[-1]}, "
            f"the best of {self.n_layers}; gain {self.so_far.gain:+.3f} [{low:+.3f}, {high:+.3f}]; "
            f"{self.n_test} cases of {self.counts.shape[1]} documents)"
        )


@dataclass(frozen=True, eq=False)
class MixScores(DepthCurve):
    """The cumulative probes P(0) .. P(L) of Tenney, Das and Pavlick (2019).

    Attributes
    ----------
    weights : float ndarray of shape (layer,)
        The mix of P(L).
    l2, even : float
        The penalties (see `fit_mix_probe`), the same at every depth, so that each probe contains the one before it.
    chosen_on : str
        What chose them, in words.
    losses : float ndarray of shape (layer,)
        Penalised training loss of each probe; it never rises from one depth to the next.
    converged, gradient, iterations
        As in `LayerScores`.
    """

    weights: np.ndarray
    l2: float
    even: float
    chosen_on: str
    losses: np.ndarray
    converged: np.ndarray
    gradient: np.ndarray
    iterations: np.ndarray

    @property
    def centre_of_gravity(self) -> float:
        """NaN where the gain is not `sure`: a probe that gains nothing has no place to read."""
        return centre_of_gravity(self.weights) if self.sure else float("nan")

    @property
    def mixing_bits(self) -> float:
        return mixing_bits(self.weights)

    def warnings(self) -> list[str]:
        """In words which fits have not finished."""
        return [*filter(None, [unfinished("the mixes of the layers 0 to", self)])]

    def __repr__(self) -> str:
        return (
            f"MixScores({self.task}: F1 {self.f1[0]:.3f} -> {self.f1[-1]:.3f} over {self.n_layers} layers, "
            f"l2 {self.l2:g} and even {self.even:g} {self.chosen_on}; {self.n_test} cases of {self.counts.shape[1]} documents)"
        )


def unfinished(what: str, scores) -> str:
    """Which of some fits have not finished, and what to do; empty where all have."""
    open_ = np.flatnonzero(~scores.converged)
    if not len(open_):
        return ""
    return (
        f"NOT FINISHED: {what} {', '.join(map(str, open_))} stopped after {scores.iterations[open_].max()} iterations, the gradient at "
        f"{100 * scores.gradient[open_].max():.2g} % of its start ({100 * TOLERANCE:g} % is asked for). These scores are not results: raise max_iterations (--max-iterations)."
    )


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
