"""Fits of the probes that read layers: a softmax regression on one layer, or on a mix of layers, to its optimum.

A case has one label, so a probe has one softmax over all labels. On one layer that is plain multinomial logistic regression: convex,
with one optimum, which scikit-learn's ``LogisticRegression`` finds as well. On a mix (Tenney et al. 2019) the shares of the layers are
fitted with it, which is not convex: several starts are tried, and the lowest loss is kept.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial

import numpy as np

from ...metrics import minimized
from .vectors import SpanVectors

PENALTIES = (0.1, 0.03, 0.01)  # the largest first: a fit begins where the one before it ended

# Penalties on the shares of a mix. 0, as published, scored lowest on left-out documents for word classes and coreference.
EVEN = (10.0, 1.0, 0.1)

MAX_ITERATIONS = 2000  # a bound against waiting for ever: a sound fit takes 30 to 300

# A fit has finished when its gradient is this share of that at the start. At ten times as much, two cases in a thousand are answered otherwise
# than at the optimum, and another processor chooses another penalty.
TOLERANCE = 1e-4

NEW_SHARE = 0.1  # of the mix for a layer that the smaller probe did not read


@dataclass(frozen=True, eq=False)
class LayerProbe:
    """A fitted probe: one layer or a mix of layers, then a linear map (with ``hidden`` a tanh layer before it) and a softmax.

    Attributes
    ----------
    weights : float ndarray of shape (layer + 1,)
        The share of each layer: one 1 and else 0 for a probe of one layer, the softmax of the mix for one of several.
    labels : tuple of str
        Those of the training cases, without the negative label.
    parameters : dict of str to ndarray
        ``out`` (feature, label) and ``bias`` (label,), in the order of ``labels``, a negative label last; with a hidden layer also
        ``in`` and ``in_bias``.
    mean, spread : float ndarrays of shape (span * dim,)
        Each dimension is centred and scaled: a layer alone by its own numbers, a mix by numbers that are the same for all layers, so that
        the mix is that of the layers as they are.
    n_spans : int
    l2, even : float
        The penalties, see `fit_mix_probe`.
    loss : float
        In nats a case, penalties included.
    converged : bool
        Whether the gradient fell to ``TOLERANCE`` of its size at the start.
    gradient : float
        Its largest part at the end, as a share of that at the start.
    iterations : int
    """

    weights: np.ndarray
    labels: tuple[str, ...]
    parameters: dict[str, np.ndarray]
    mean: np.ndarray
    spread: np.ndarray
    n_spans: int
    l2: float
    loss: float
    converged: bool
    gradient: float
    iterations: int
    even: float = 0.0

    def beliefs(self, vectors: np.ndarray) -> np.ndarray:
        """Probability of each label for each case, shape (case, label), from vectors (layer, case, span * dim)."""
        from scipy.special import softmax

        read = np.flatnonzero(self.weights)
        mixed = np.tensordot(self.weights[read], np.asarray(vectors)[read].astype(float), axes=1)
        features = _features((mixed - self.mean) / self.spread, self.n_spans)
        return softmax(_scores(self.parameters, features), axis=-1)[:, : len(self.labels)]

    def answers(self, vectors: np.ndarray) -> np.ndarray:
        """The likeliest label of each case as booleans of shape (case, label); none where that is the negative one."""
        beliefs = self.beliefs(vectors)
        rest = 1 - beliefs.sum(axis=1)
        best = beliefs.argmax(axis=1)
        answers = np.zeros(beliefs.shape, bool)
        rows = np.arange(len(beliefs))
        answers[rows, best] = beliefs[rows, best] >= rest if self._has_negative else True
        return answers

    @property
    def _has_negative(self) -> bool:
        return len(self.parameters["bias"]) > len(self.labels)


def _features(mixed: np.ndarray, n_spans: int) -> np.ndarray:
    """One span as it is; of two spans both, and their product, which lets a linear map see how alike they are."""
    if n_spans == 1:
        return mixed
    first, second = np.split(mixed, 2, axis=-1)
    return np.concatenate([mixed, first * second], axis=-1)


def _scores(parameters: Mapping[str, np.ndarray], features: np.ndarray) -> np.ndarray:
    if "in" in parameters:
        features = np.tanh(features @ parameters["in"] + parameters["in_bias"])
    return features @ parameters["out"] + parameters["bias"]


# --- one layer -----------------------------------------------------------------------------------------------
def fit_path(
    data: SpanVectors,
    layer: int,
    penalties: Sequence[float],
    *,
    hidden: int = 0,
    max_iterations: int = MAX_ITERATIONS,
    seed: int = 0,
    axes: tuple[np.ndarray, np.ndarray] | None = None,
) -> Iterator[LayerProbe]:
    """A probe of one layer for each penalty, each fit begun where the one before ended.

    Parameters
    ----------
    data : SpanVectors
    layer : int
    penalties : sequence of float
        The largest first is quickest.
    hidden : int
        Units of a tanh layer; 0 for a linear probe.
    max_iterations : int
        A fit that is not at its optimum by then says so: ``converged`` is False.
    seed : int
        Where a probe with a hidden layer starts; a linear one starts at 0.
    axes : tuple of ndarrays, optional
        `principal_axes` of similar cases. They decide how fast the optimum is reached, not where it lies.

    Raises
    ------
    ValueError
        If there are no cases, only one label, or vectors that are not finite, or there is no such layer.
    """
    _check(data, layer, hidden, max_iterations, penalties)
    read, mean, spread = _scaled(data, layer)
    labels, gold = _classes(data)
    problem = _Problem(read[None], gold, data.n_spans, hidden, seed, axes)
    weights = np.zeros(layer + 1)
    weights[layer] = 1.0
    about = {"labels": labels, "mean": mean, "spread": spread, "n_spans": data.n_spans}
    start = problem.start
    for l2 in penalties:
        found = problem.solve(start, l2, max_iterations)
        start = found.pop("theta")
        yield LayerProbe(weights=weights, **(found | about | {"l2": l2}))


def principal_axes(data: SpanVectors, layer: int) -> tuple[np.ndarray, np.ndarray]:
    """How the features of a layer spread: variances along their principal axes, and these axes; raises as `fit_path` does."""
    _check(data, layer, 0, 1, [1.0])
    return _principal(_features(_scaled(data, layer)[0], data.n_spans))


def _principal(features: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    variances, axes = np.linalg.eigh((features.T @ features / len(features)).astype(np.float32))
    return np.maximum(variances, 0).astype(float), axes.astype(float)


def _scaled(data: SpanVectors, layer: int) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    one = np.asarray(data.vectors[layer], dtype=float)
    mean, spread = _scale(one)
    return ((one - mean) / spread).astype(np.float32), mean, spread


# --- a mix of layers -----------------------------------------------------------------------------------------
def fit_mix_probe(
    data: SpanVectors,
    layer: int | None = None,
    *,
    l2: float,
    even: float = 0.0,
    below: LayerProbe | None = None,
    hidden: int = 0,
    max_iterations: int = MAX_ITERATIONS,
    seed: int = 0,
) -> LayerProbe:
    """Fit P(layer), which reads a mix of the layers 0..layer: shares and map together.

    Two starts, equal shares and the smaller probe with a little of the new layer; the lower loss is kept. So a probe is never worse, in
    penalised training loss, than the probe it contains.

    Parameters
    ----------
    data : SpanVectors
    layer : int, optional
        From 0 (the embeddings alone) to L, the default.
    l2 : float
        Penalty ``l2 / 2 * |maps|^2``. The paper's ``gamma``, which scales the whole mix, is 1 here: the map has a scale of its own.
    even : float
        Penalty ``even * sum of squared shares``: above 0 it speaks for equal shares.
    below : LayerProbe, optional
        P(layer - 1), fitted with the same penalties.
    hidden, max_iterations, seed
        See `fit_path`.

    Raises
    ------
    ValueError
        As `fit_path` does, and if ``below`` reads other layers or has other penalties.
    """
    layer = data.n_layers if layer is None else layer
    _check(data, layer, hidden, max_iterations, [l2])
    if even < 0:
        raise ValueError(f"even is a penalty of 0 or more; got {even}.")
    if below is not None and (len(below.weights), below.l2, below.even) != (layer, l2, even):
        raise ValueError(
            f"below is P({layer - 1}) with l2 {l2}, even {even}; got P({len(below.weights) - 1}) with {below.l2}, {below.even}."
        )
    mean, spread = _scale(np.asarray(data.vectors, dtype=float))
    labels, gold = _classes(data)
    layers = ((np.asarray(data.vectors[: layer + 1], dtype=float) - mean) / spread).astype(np.float32)
    problem = _Problem(layers, gold, data.n_spans, hidden, seed)
    starts, found = [problem.start], []
    if below is not None:
        shares = np.append((1 - NEW_SHARE) * below.weights, NEW_SHARE)
        starts.append(problem.packed(np.log(np.maximum(shares, 1e-6)), below.parameters))
        found.append(replace(below, weights=np.append(below.weights, 0.0)))
    about = {
        "labels": labels,
        "mean": mean,
        "spread": spread,
        "n_spans": data.n_spans,
        "l2": l2,
        "even": even,
    }
    for start in starts:
        fit = problem.solve(start, l2, max_iterations, even)
        theta = fit.pop("theta")
        found.append(LayerProbe(weights=problem.shares(theta), **(fit | about)))
    return min(found, key=lambda probe: probe.loss)


# --- the problem ---------------------------------------------------------------------------------------------
def _check(data, layer, hidden, max_iterations, penalties) -> None:
    if not 0 <= layer <= data.n_layers:
        raise ValueError(f"layer lies between 0, the embeddings, and {data.n_layers}; got {layer}.")
    if not all(l2 > 0 for l2 in penalties) or hidden < 0 or max_iterations < 1:
        raise ValueError(
            f"l2 is above 0, hidden 0 or more, max_iterations at least 1; got {list(penalties)}, {hidden}, {max_iterations}."
        )
    if len(set(data.labels)) < 2:
        raise ValueError(
            f"a probe needs cases of at least two labels; got {len(data)} cases of {sorted(set(data.labels)) or 'none'}."
        )
    if not np.isfinite(data.vectors).all():
        bad = np.flatnonzero(~np.isfinite(data.vectors).all(axis=(1, 2)))
        raise ValueError(
            f"vectors must be finite; those of layers {', '.join(map(str, bad))} are not. Is the model damaged?"
        )


def _scale(vectors: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Mean and spread of each dimension; a dimension that is constant is only centred."""
    axes = tuple(range(vectors.ndim - 1))
    mean, spread = vectors.mean(axis=axes), vectors.std(axis=axes)
    return mean, np.where(spread > 1e-6 * np.abs(mean) + 1e-12, spread, 1.0)


def _classes(data: SpanVectors) -> tuple[tuple[str, ...], np.ndarray]:
    """The labels but the negative one, and for each case which it has; the negative one comes last."""
    labels = tuple(sorted(set(data.labels) - {data.negative}))
    place = {label: i for i, label in enumerate(labels)} | {data.negative: len(labels)}
    return labels, np.array([place[label] for label in data.labels])


class _Problem:
    """Loss and gradient of a probe, all parameters in one vector: mix scores (of several layers), maps.

    The features of one layer stay the same, so they are turned to their principal axes once, and its maps are in these coordinates. Of a
    mix the features change with the shares, and the maps are turned at each step.
    """

    def __init__(self, layers, gold, n_spans, hidden, seed, axes=None):
        self.layers, self.gold, self.n_spans, self.fixed = layers, gold, n_spans, None
        n, n_classes = len(gold), int(gold.max()) + 1
        self.frequency = np.bincount(gold, minlength=n_classes) / n
        features = _features(layers.mean(axis=0), n_spans)
        width = features.shape[1]
        self.shapes = {"in": (width, hidden), "in_bias": (hidden,)} if hidden else {}
        self.shapes |= {"out": (hidden or width, n_classes), "bias": (n_classes,)}
        self.n_scores = len(layers) if len(layers) > 1 else 0
        # How the loss curves at the start: along the principal axes of the features, for each class by how often it occurs.
        self.curvature, self.axes = _principal(features) if axes is None else axes
        self.first = "in" if hidden else "out"  # the map that reads the features
        maps = self._first_maps(width, hidden, seed)
        self.start = self.packed(
            np.zeros(self.n_scores), maps if self.n_scores else self.turned(maps, self.axes.T)
        )

    def _first_maps(self, width, hidden, seed):
        maps = {name: np.zeros(shape) for name, shape in self.shapes.items()}
        maps["bias"] = np.log(self.frequency)
        if hidden:
            random = np.random.default_rng(seed)
            for name in ("in", "out"):
                maps[name] = random.normal(size=self.shapes[name]) / np.sqrt(self.shapes[name][0])
        return maps

    def turned(self, maps, axes):
        """The maps, the first of them in other coordinates of the features."""
        return maps | {self.first: axes @ maps[self.first]}

    def packed(self, scores, maps) -> np.ndarray:
        return np.concatenate([np.ravel(scores), *(np.ravel(maps[name]) for name in self.shapes)])

    def unpacked(self, theta):
        ends = np.cumsum([self.n_scores, *(int(np.prod(shape)) for shape in self.shapes.values())])
        scores, *maps = np.split(theta, ends[:-1])
        return scores, {n: m.reshape(shape) for (n, shape), m in zip(self.shapes.items(), maps)}

    def shares(self, theta) -> np.ndarray:
        from scipy.special import softmax

        return softmax(self.unpacked(theta)[0]) if self.n_scores else np.ones(1)

    def objective(self, theta, l2, even=0.0, precision=float):
        """Penalised loss in nats a case, and its gradient; the products of matrices are in ``precision``."""
        _, exact = self.unpacked(theta)
        maps = {name: m.astype(precision, copy=False) for name, m in exact.items()}
        n, rows = len(self.gold), np.arange(len(self.gold))
        shares = self.shares(theta).astype(precision)
        mixed, features = self._read(shares, precision)
        inner = np.tanh(features @ maps["in"] + maps["in_bias"]) if "in" in maps else features
        z = inner @ maps["out"] + maps["bias"]
        z -= z.max(axis=1, keepdims=True)
        own = z[rows, self.gold]
        error = np.exp(z, out=z)
        total = error.sum(axis=1)
        loss = float((np.log(total) - own).sum(dtype=float)) / n
        error /= total[:, None]
        error[rows, self.gold] -= 1
        error /= n
        back = {"out": inner.T @ error, "bias": error.sum(axis=0)}
        if "in" in maps or self.n_scores:
            towards = error @ maps["out"].T
        if "in" in maps:
            towards = towards * (1 - inner**2)
            back |= {"in": features.T @ towards, "in_bias": towards.sum(axis=0)}
            towards = towards @ maps["in"].T
        by_score = np.zeros(0)
        if not self.n_scores:
            loss += even
        else:
            if self.n_spans == 2:
                first, second = np.split(mixed, 2, axis=-1)
                towards, product = np.split(towards, [mixed.shape[-1]], axis=-1)
                towards = towards + np.concatenate([product * second, product * first], axis=-1)
            by_share = np.tensordot(self.layers, towards, axes=([1, 2], [0, 1])) + 2 * even * shares
            loss += even * float((shares**2).sum())
            by_score = shares * (by_share - shares @ by_share)
        for name in ("in", "out"):
            if name in exact:
                loss += l2 / 2 * float((exact[name] ** 2).sum())
                back[name] = back[name] + l2 * exact[name]
        return loss, self.packed(by_score, back).astype(float)

    def _read(self, shares, precision):
        """The mix, shape (case, span * dim), and what the map sees of it; of one layer alone that stays the same."""
        if self.layers.dtype != precision:
            self.layers, self.fixed = self.layers.astype(precision), None
        if self.n_scores:
            mixed = np.tensordot(shares, self.layers, axes=1)
            return mixed, _features(mixed, self.n_spans)
        if self.fixed is None:
            self.fixed = _features(self.layers[0], self.n_spans) @ self.axes.astype(precision)
        return self.layers[0], self.fixed

    def solve(self, start, l2, max_iterations, even=0.0) -> dict:
        """L-BFGS in coordinates in which the loss curves about as much in every direction.

        In single precision first, which takes half the time; where that stalls above the tolerance, in double from there on.
        """
        scale = {"out": 1 / np.sqrt(self.frequency + l2), "bias": 1 / np.sqrt(self.frequency)}
        if self.first == "in":
            scale |= {"in": 1 / np.sqrt(self.curvature[:, None] + l2), "in_bias": 1.0}
        else:
            scale["out"] = 1 / np.sqrt(self.frequency * self.curvature[:, None] + l2)

        def scaled(vector, power, axes=None):
            scores, maps = self.unpacked(vector)
            maps = maps if axes is None else self.turned(maps, axes)
            return self.packed(scores, {name: m * scale[name] ** power for name, m in maps.items()})

        def theta_of(coordinates):
            scores, maps = self.unpacked(scaled(coordinates, 1))
            return self.packed(scores, self.turned(maps, self.axes) if self.n_scores else maps)

        back = self.axes.T if self.n_scores else None  # of a theta with power -1, of a gradient with power 1

        def objective(coordinates, precision=float):
            loss, gradient = self.objective(theta_of(coordinates), l2, even, precision)
            return loss, scaled(gradient, 1, back)

        at_start = max(np.abs(objective(scaled(self.start, -1, back), np.float32)[1]).max(), 1e-12)
        at, done = scaled(start, -1, back), 0
        for precision in (np.float32, float):
            result = minimized(
                partial(objective, precision=precision),
                at,
                maxiter=max_iterations - done,
                maxfun=20 * max_iterations,
                ftol=0.0,
                gtol=TOLERANCE * at_start,
            )
            at, done = result.x, done + int(result.nit)
            gradient = float(np.abs(result.jac).max() / at_start)
            if gradient <= TOLERANCE or done >= max_iterations:
                break
        theta = theta_of(at)
        _, maps = self.unpacked(theta)
        return {
            "theta": theta,
            "parameters": maps if self.n_scores else self.turned(maps, self.axes),
            "loss": float(result.fun),
            "converged": gradient <= TOLERANCE,
            "gradient": gradient,
            "iterations": done,
        }
