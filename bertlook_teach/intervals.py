"""Intervals of shares and means: whole texts, sentences or pairs are drawn again and again, never single words.

Words of one sentence are not independent; an interval over words would be too narrow. The unit that is drawn is
the one that could have been another: the document, the sentence, the minimal pair.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from .profile import CONFIDENCE, REPLICATES

__all__ = ["ratio_interval", "resampled_interval", "unit_interval"]


def ratio_interval(totals, *, seed: int = 0) -> tuple[float, float]:
    """95 % Poisson-bootstrap interval of a ratio of two sums over units.

    Parameters
    ----------
    totals : array of shape (unit, 2)
        Of each unit what is summed above the line and what below, for instance right answers and cases.
    seed : int

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
    draws = np.random.default_rng(seed).poisson(1.0, (REPLICATES, len(totals))) @ totals
    draws = draws[draws[:, 1] > 0]
    tail = (1 - CONFIDENCE) / 2
    low, high = np.quantile(draws[:, 0] / draws[:, 1], (tail, 1 - tail))
    return float(low), float(high)


def unit_interval(values, units, n_units: int | None = None, *, seed: int = 0) -> tuple[float, float]:
    """95 % interval of the mean of ``values``, drawing whole units.

    Parameters
    ----------
    values : array of shape (case,)
    units : int array of shape (case,)
        The unit of each case, counted from 0.
    n_units : int, optional
        Number of units, where some may have no case: the same for two groups draws the same units for both.
    seed : int
    """
    units = np.asarray(units)
    n_units = int(units.max()) + 1 if n_units is None else n_units
    sums = np.bincount(units, np.asarray(values, dtype=float), n_units)
    return ratio_interval(np.stack([sums, np.bincount(units, minlength=n_units)], axis=1), seed=seed)


def resampled_interval(
    statistic: Callable[[np.ndarray], float], units, *, seed: int = 0
) -> tuple[float, float]:
    """95 % bootstrap interval of any statistic of cases, drawing whole units with replacement.

    Parameters
    ----------
    statistic : function(int array of case indices) -> float
    units : int array of shape (case,)
        The unit of each case, counted from 0.
    seed : int
    """
    units = np.asarray(units)
    order = np.argsort(units, kind="stable")
    cases = np.split(order, np.cumsum(np.bincount(units))[:-1])
    generator = np.random.default_rng(seed)
    values = []
    for _ in range(REPLICATES):
        chosen = generator.integers(len(cases), size=len(cases))
        values.append(statistic(np.concatenate([cases[i] for i in chosen])))
    tail = (1 - CONFIDENCE) / 2
    low, high = np.quantile(values, (tail, 1 - tail))
    return float(low), float(high)
