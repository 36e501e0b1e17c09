"""What probes of all layers scored: right and wrong labels by document, curves over depth, and the layer or mix they choose."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from bertlook_teach.disk import Table
from bertlook_teach.stats import CONFIDENCE, draws, ratio_interval, sample_interval

from ...metrics import micro_f1, ratio_parts
from .layer_fits import (
    TOLERANCE,
    LayerProbe,
)
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
        low, high = self.interval(lambda f1: f1, within=(0, 1))
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

    def interval(self, statistic: Callable | None = None, *, seed: int = 0, within=(-np.inf, np.inf)):
        """95 % interval over documents of a statistic of the F1 curve; (NaN, NaN) if too few samples give a number.

        The probes are not fitted again: how the choice of training documents matters is seen by other seeds.

        Parameters
        ----------
        statistic : function(array of shape (sample, layer)) -> array of shape (sample,) or (sample, ...)
            The function `expected_layer` (the default) or `delta_bits`, ``np.diff``, or the curve itself (``lambda f1: f1``).
        within : (low, high)
            What the statistic can be, such as (0, 1) for the curve itself.
        """
        curves, statistic = self.resampled(seed=seed), statistic or expected_layer
        values, own = np.asarray(statistic(curves)), np.asarray(statistic(self.f1[None]))[0]
        defined = np.isfinite(values)
        if values.ndim == 1:
            if defined.mean() < CONFIDENCE:
                return float("nan"), float("nan")
            values = values[defined]
        return sample_interval(values, own, self.counts.shape[1], within=within)


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

    def shares_of_choice(self, *, seed: int = 0) -> np.ndarray:
        """In how large a share of samples of the training documents each layer is the best, shape (layer,); NaN if nothing was chosen."""
        n_documents, n_layers = self.validation_counts.shape[1], len(self.validation_counts)
        if not n_documents:
            return np.full(n_layers, np.nan)
        drawn = np.einsum("bu,luk->blk", draws(n_documents, seed=seed), self.validation_counts)
        chosen = micro_f1(*np.moveaxis(drawn, -1, 0)).argmax(axis=1)
        return np.bincount(chosen, minlength=n_layers) / len(chosen)

    def share_of_choice(self, *, seed: int = 0) -> float:
        """The same of the layer that is best of all: in how many of ten it stays the best."""
        return float(self.shares_of_choice(seed=seed)[self.best[-1]])

    def warnings(self) -> list[str]:
        """The remarks, and in words which fits have not finished."""
        return [*filter(None, [unfinished("the probes of layers", self)]), *self.remarks]

    def rows(self) -> list[dict]:
        """One dict a layer: F1 of the layer alone with its interval, the best layer so far and its F1, whether the fit has finished."""
        low, high = self.interval(lambda f1: f1, within=(0, 1))
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
