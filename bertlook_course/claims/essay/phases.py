"""The arithmetic of the essay's claims on layers: the same part of a model of any depth, three phases, and their order."""

from __future__ import annotations

from collections.abc import Sequence
from functools import lru_cache
from itertools import combinations, pairwise, permutations

import numpy as np

from ...metrics import CannotDecide
from ..claim import Values

DEPTH = 12  # of BERT-base, for which the essay names its layers


PHASES = (4, 10)  # the essay's first two phases end with these layers


SHUFFLES = 10_000


EXACT_UP_TO = 7  # layers of which all orders are tried


# --- layers of a model of any depth --------------------------------------------------------------------
def relative_layers(first: int, last: int, n_layers: int, *, depth: int = DEPTH) -> np.ndarray:
    """The layers, counted from 0, that lie in the same part of a model as layers first..last, counted from 1, of ``depth``.

    A layer belongs there if its middle does.

    Raises
    ------
    CannotDecide
        If no layer's middle lies there.

    Examples
    --------
    >>> relative_layers(5, 10, 12).tolist(), relative_layers(5, 10, 6).tolist()
    ([4, 5, 6, 7, 8, 9], [2, 3, 4])
    """
    middles = (np.arange(n_layers) + 0.5) / n_layers
    found = np.flatnonzero((middles > (first - 1) / depth) & (middles <= last / depth))
    if not len(found):
        raise CannotDecide(
            f"a model of {n_layers} layers has none where layers {first}-{last} of {depth} lie"
        )
    return found


def deep_layers(n_layers: int) -> np.ndarray:
    """The last sixth of the layers, but at least two: layers 11-12 of 12, 5-6 of 6. Counted from 0.

    Raises
    ------
    CannotDecide
        If there are fewer than four layers: then two of them are not an end.
    """
    if n_layers < 4:
        raise CannotDecide(f"a model of {n_layers} layers has no deep layers to set apart from the others")
    return np.arange(n_layers)[-max(2, round(n_layers / 6)) :]


def phase_cuts(n_layers: int) -> tuple[int, int]:
    """After how many layers the essay's first two phases end: (4, 10) of 12, (2, 5) of 6.

    Raises
    ------
    CannotDecide
        If there are too few layers for three phases.
    """
    first, second = (round(n_layers * cut / DEPTH) for cut in PHASES)
    if not 0 < first < second < n_layers or n_layers < 4:
        raise CannotDecide(f"{n_layers} layers cannot be cut into three phases with something to choose")
    return first, second


# --- 7: three phases -----------------------------------------------------------------------------------
def explained_by_split(series, cuts: Sequence[int]) -> float:
    """Share of the sum of squares that contiguous groups of layers explain.

    Parameters
    ----------
    series : array of shape (layer, feature)
    cuts : increasing ints
        After how many layers a group ends: (4, 10) makes groups of 4, 6 and the rest.

    Examples
    --------
    >>> round(explained_by_split([[0], [0], [1], [1]], [2]), 6)
    1.0
    """
    series = np.asarray(series, dtype=float)
    cuts = list(cuts)
    if series.ndim != 2 or cuts != sorted(set(cuts)) or not all(0 < cut < len(series) for cut in cuts):
        raise ValueError(
            f"series has shape (layer, feature), and cuts increase between 1 and layers - 1; got {series.shape} and {cuts}."
        )
    total = ((series - series.mean(axis=0)) ** 2).sum()
    if total <= 0:
        raise CannotDecide("all layers have the same shares, so there is nothing to split")
    within = sum(((part - part.mean(axis=0)) ** 2).sum() for part in np.split(series, cuts))
    return float(1 - within / total)


def best_split(series, groups: int = 3) -> tuple[tuple[int, ...], float]:
    """The cuts into contiguous groups that explain most, and the share they explain."""
    series = np.asarray(series, dtype=float)
    every = _splits(len(series), groups)
    if not every:
        raise CannotDecide(f"{len(series)} layers cannot be cut into {groups} groups")
    shares = _explained_by_every_split(series, groups)
    best = int(np.argmax(shares))
    return every[best], float(shares[best])


def _explained_by_every_split(series: np.ndarray, groups: int) -> np.ndarray:
    """`explained_by_split` of all of `_splits` at once: a resample asks for 55 of them."""
    centred = series - series.mean(axis=0)
    total = (centred**2).sum()
    if total <= 0:
        raise CannotDecide("all layers have the same shares, so there is nothing to split")
    sums = np.concatenate([np.zeros_like(centred[:1]), centred.cumsum(axis=0)])
    cuts = np.array(_splits(len(series), groups))
    edges = np.pad(cuts, ((0, 0), (1, 1)), constant_values=((0, 0), (0, len(series))))
    squares = (np.diff(sums[edges], axis=1) ** 2).sum(axis=-1)  # (split, group)
    return (squares / np.diff(edges, axis=1)).sum(axis=1) / total


@lru_cache(maxsize=8)
def _splits(n_layers: int, groups: int) -> tuple[tuple[int, ...], ...]:
    return tuple(combinations(range(1, n_layers), groups - 1))


@lru_cache(maxsize=4)
def _orders(n_layers: int, shuffles: int, seed: int) -> np.ndarray:
    """All orders of few layers, or so many drawn at random; the true one first."""
    if n_layers <= EXACT_UP_TO:
        return np.array(list(permutations(range(n_layers))))
    random = np.random.default_rng(seed)
    drawn = random.permuted(np.tile(np.arange(n_layers), (shuffles, 1)), axis=1)
    return np.concatenate([np.arange(n_layers)[None], drawn])


def _best_of_orders(series: np.ndarray, groups: int, shuffles: int, seed: int) -> np.ndarray:
    """The share that the best split explains in every order of the layers: shape (order,)."""
    n = len(series)
    centred = series - series.mean(axis=0)
    total = (centred**2).sum()
    if total <= 0:
        raise CannotDecide("all layers have the same shares, so there is nothing to split")
    ordered = centred[_orders(n, shuffles, seed)]  # (order, layer, feature)
    sums = np.concatenate([np.zeros_like(ordered[:, :1]), ordered.cumsum(axis=1)], axis=1)
    best = np.zeros(len(ordered))
    for cuts in _splits(n, groups):
        edges = (0, *cuts, n)
        between = sum(((sums[:, b] - sums[:, a]) ** 2).sum(axis=-1) / (b - a) for a, b in pairwise(edges))
        np.maximum(best, between, out=best)
    return best / total


def split_p(series, cuts: Sequence[int], *, shuffles: int = SHUFFLES, seed: int = 0) -> tuple[float, float]:
    """How often layers in a shuffled order have a split, anywhere, that explains as much as these cuts do in the true one.

    Returns
    -------
    p : float
        Exact for at most seven layers; otherwise from so many shuffles, the true order counted in.
    floor : float
        The smallest p that a perfect split with these cuts could reach: of few layers many orders are the same phases.
    """
    series = np.asarray(series, dtype=float)
    groups = len(list(cuts)) + 1
    observed = explained_by_split(series, cuts)
    found = _best_of_orders(series, groups, shuffles, seed)
    perfect = np.eye(groups)[np.repeat(np.arange(groups), np.diff([0, *cuts, len(series)]))]
    floor = _best_of_orders(perfect, groups, shuffles, seed)
    return float((found >= observed - 1e-9).mean()), float((floor >= 1 - 1e-9).mean())


def category_shares(values: Values) -> np.ndarray:
    """Mean over heads of the shares of [CLS], [SEP], . and , and the rest: shape (layer, 4)."""
    shares = [np.asarray(values[kind], dtype=float).mean(axis=1) for kind in ("cls", "sep", "punct")]
    return np.stack([*shares, 1 - sum(shares)], axis=1)


def phases_margin(values: Values, choice: Values | None = None) -> float:
    """What the essay's cuts explain minus what the best other cuts explain: above 0 they are the best."""
    series = category_shares(values)
    claimed = phase_cuts(len(series))
    shares = _explained_by_every_split(series, 3)
    ours = _splits(len(series), 3).index(claimed)
    return float(shares[ours] - np.delete(shares, ours).max())


def phases_p(values: Values, choice: Values | None = None) -> tuple[float, float]:
    """`split_p` of the essay's cuts."""
    series = category_shares(values)
    return split_p(series, phase_cuts(len(series)))


# --- 11: what the phases learn -----------------------------------------------------------------------------
PROBED = {"pos": "word classes", "dep": "relations", "clause": "ends of clauses"}  # in the essay's order


WORTH_A_SENTENCE = 0.02  # F1: less than this is not a gain to speak of


def phases_in_order(values: Values, choice: Values | None = None) -> float:
    """The smaller step of the order word classes, relations, clause ends, as a share of the depth.

    ``values`` holds of each task the right, wrong and missed labels of P(0) .. P(L), shape (layer, 3).

    Raises
    ------
    CannotDecide
        If all layers together add less than .02 of F1 to the embeddings in one task: its expected layer would be noise.
    """
    from ...analyses.probing import expected_layer
    from ...metrics import micro_f1

    depths = []
    for task, name in PROBED.items():
        f1 = micro_f1(*np.moveaxis(np.asarray(values[task], dtype=float), -1, 0))
        if not f1[-1] - f1[0] >= WORTH_A_SENTENCE:
            raise CannotDecide(
                f"the layers add {f1[-1] - f1[0]:+.3f} of F1 to what the embeddings tell of {name}, too little to say where"
            )
        depths.append(expected_layer(f1) / (len(f1) - 1))
    return float(np.diff(depths).min())
