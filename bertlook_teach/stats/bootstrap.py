"""Intervals of shares and means: whole texts, sentences or pairs are drawn again and again, never single words.

Words of one sentence are not independent; an interval over words would be too narrow. The unit that is drawn is
the one that could have been another: the document, the sentence, the minimal pair.

Every 95 % interval of the package is `percentile_interval` of numbers computed with `draws`, or what it computes from them.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

REPLICATES = 400

CONFIDENCE = 0.95

SCHEMES = ("poisson", "multinomial", "indices")


def draws(units, *, scheme: str = "poisson", replicates: int = REPLICATES, seed=0) -> np.ndarray:
    """How often each unit is drawn in each resample.

    Parameters
    ----------
    units : int or int array of shape (unit,)
        Number of units; or of each kind of unit how many there are (the cells of a table).
    scheme : {"poisson", "multinomial", "indices"}
        The rule is the Poisson bootstrap: each unit's weight is drawn by itself, so that units can be taken in one at a time.
        The other two draw as many units as there are, with replacement; they differ only in how they use the generator.
    replicates : int
    seed : int, sequence of int or numpy.random.Generator

    Returns
    -------
    int array of shape (replicate, unit)

    Raises
    ------
    ValueError
        If the scheme is unknown, or there is no unit.

    Examples
    --------
    >>> draws(5, scheme="multinomial", replicates=3).sum(axis=1).tolist()
    [5, 5, 5]
    """
    counts = np.ones(units, dtype=int) if np.ndim(units) == 0 else np.asarray(units).ravel()
    n, generator = int(counts.sum()), np.random.default_rng(seed)
    if scheme not in SCHEMES:
        raise ValueError(f"scheme must be one of {', '.join(SCHEMES)}; got {scheme!r}.")
    if n < 1:
        raise ValueError("there is nothing to draw from: no unit.")
    if scheme == "poisson":
        return generator.poisson(counts.astype(float), (replicates, len(counts)))
    if scheme == "multinomial":
        return generator.multinomial(n, counts / n, replicates)
    kind = np.repeat(np.arange(len(counts)), counts)
    return np.stack(
        [np.bincount(kind[row], minlength=len(counts)) for row in generator.integers(n, size=(replicates, n))]
    )


def unit_weights(unit: int) -> np.ndarray:
    """Poisson weights of one unit in all resamples, shape (REPLICATES,).

    A stream that is measured in parts draws the same for a unit wherever a part begins.
    """
    return np.random.default_rng([unit, REPLICATES]).poisson(1.0, REPLICATES)


def percentile_interval(drawn) -> tuple:
    """Between which two values the middle 95 % of resampled numbers lie.

    Parameters
    ----------
    drawn : array of shape (replicate,) or (replicate, ...)

    Returns
    -------
    low, high : float, or ndarray of shape (...)

    Examples
    --------
    >>> [round(end, 3) for end in percentile_interval(np.arange(201))]
    [5.0, 195.0]
    """
    tail = (1 - CONFIDENCE) / 2
    low, high = np.quantile(np.asarray(drawn, dtype=float), (tail, 1 - tail), axis=0)
    return (low, high) if np.ndim(low) else (float(low), float(high))


def mean_interval(values, **drawing) -> tuple:
    """95 % interval of the mean over the first axis; ``drawing`` goes to `draws`."""
    values = np.asarray(values, dtype=float)
    weights = draws(len(values), **drawing)
    weights = weights[weights.any(axis=1)]
    return percentile_interval(np.tensordot(weights / weights.sum(axis=1, keepdims=True), values, 1))


def ratio_interval(totals, *, seed: int = 0, weights=None) -> tuple[float, float]:
    """95 % interval of a ratio of two sums over units.

    Parameters
    ----------
    totals : array of shape (unit, 2)
        Of each unit what is summed above the line and what below, for instance right answers and cases.
    seed : int
    weights : array of shape (replicate, unit), optional
        The `draws`, where several intervals are to share them.

    Returns
    -------
    low, high : float
        Resamples without any case are left out.

    Examples
    --------
    >>> ratio_interval([[1, 2], [2, 4], [3, 6]])    # one half in every unit
    (0.5, 0.5)
    """
    totals = np.asarray(totals, dtype=float)
    drawn = (draws(len(totals), seed=seed) if weights is None else weights) @ totals
    drawn = drawn[drawn[:, 1] > 0]
    return percentile_interval(drawn[:, 0] / drawn[:, 1])


def unit_interval(
    values, units, n_units: int | None = None, *, seed: int = 0, weights=None
) -> tuple[float, float]:
    """95 % interval of the mean of ``values``, drawing whole units.

    Parameters
    ----------
    values : array of shape (case,)
    units : int array of shape (case,)
        The unit of each case, counted from 0.
    n_units : int, optional
        Number of units, where some may have no case: the same for two groups draws the same units for both.
    seed, weights
        As in `ratio_interval`.
    """
    units = np.asarray(units)
    n_units = int(units.max()) + 1 if n_units is None else n_units
    sums = np.bincount(units, np.asarray(values, dtype=float), n_units)
    totals = np.stack([sums, np.bincount(units, minlength=n_units)], axis=1)
    return ratio_interval(totals, seed=seed, weights=weights)


def resampled(statistic: Callable[[np.ndarray], float], units, *, seed=0) -> np.ndarray:
    """Any statistic of cases in each resample of whole units, drawn with replacement: shape (REPLICATES,).

    Parameters
    ----------
    statistic : function(int array of case indices) -> float
    units : int array of shape (case,)
        The unit of each case, counted from 0.
    seed : int or numpy.random.Generator
    """
    units = np.asarray(units)
    order = np.argsort(units, kind="stable")
    cases = np.split(order, np.cumsum(np.bincount(units))[:-1])
    return np.array(
        [
            statistic(np.concatenate([cases[i] for i in np.repeat(np.arange(len(cases)), row)]))
            for row in draws(len(cases), scheme="indices", seed=seed)
        ]
    )


def resampled_interval(
    statistic: Callable[[np.ndarray], float], units, *, seed: int = 0
) -> tuple[float, float]:
    """95 % interval of any statistic of cases: that of `resampled`."""
    return percentile_interval(resampled(statistic, units, seed=seed))
