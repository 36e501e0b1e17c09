"""Rank correlations, also with a third quantity held fixed."""

from __future__ import annotations

import numpy as np


def rank_correlation(x, y) -> float:
    """Spearman's rank correlation, ties given their mean rank: 1 the same order, -1 the opposite one.

    Raises
    ------
    ValueError
        If the shapes differ, or one side is constant (it has no order).

    Examples
    --------
    >>> round(float(rank_correlation([1, 2, 3], [10, 100, 30])), 6)
    0.5
    """
    x, y = _ranks(x, y)
    return float(np.clip(x @ y, -1, 1))


def partial_rank_correlation(x, y, given) -> float:
    """Spearman's correlation of x and y among cases with the same ``given``: what is left once it is accounted for.

    Raises
    ------
    ValueError
        If ``given`` orders x or y completely: then nothing is left to correlate.
    """
    x, y, given = _ranks(x, y, given)
    rest = [side - (side @ given) * given for side in (x, y)]
    lengths = [np.linalg.norm(side) for side in rest]
    for name, length in zip("xy", lengths):
        if length < 1e-7:
            raise ValueError(
                f"given puts {name} in exactly its order (or the opposite), so nothing is left of {name} to correlate."
            )
    return float(np.clip(rest[0] @ rest[1] / (lengths[0] * lengths[1]), -1, 1))


def _ranks(*series) -> list[np.ndarray]:
    """Centred ranks of unit length, so that a correlation is an inner product."""
    arrays = [np.asarray(values, dtype=float).ravel() for values in series]
    if len({len(a) for a in arrays}) > 1 or len(arrays[0]) < 2:
        raise ValueError(
            f"a correlation needs as many x as y, at least two; got {', '.join(str(len(a)) for a in arrays)}."
        )
    result = []
    for name, values in zip(("x", "y", "given"), arrays):
        if not np.isfinite(values).all():
            raise ValueError(f"{name} holds a value that is not a number.")
        if np.ptp(values) == 0:
            raise ValueError(f"{name} is constant, so it has no order to correlate.")
        ranks = mean_ranks(values)
        ranks -= ranks.mean()
        result.append(ranks / np.linalg.norm(ranks))
    return result


def mean_ranks(values: np.ndarray) -> np.ndarray:
    """Ranks from 1, ties given their mean, as scipy.stats.rankdata: a sixth of its time for the 36 heads that every resample ranks."""
    order = np.argsort(values, kind="stable")
    ordered = values[order]
    starts = np.flatnonzero(np.append(True, ordered[1:] != ordered[:-1]))
    counts = np.diff(np.append(starts, len(values)))
    ranks = np.empty(len(values))
    ranks[order] = np.repeat(starts + (counts + 1) / 2, counts)
    return ranks
