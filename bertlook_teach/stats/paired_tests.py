"""Paired tests, tests by shuffling, and their correction for many heads."""

from __future__ import annotations

from itertools import product

import numpy as np


def mcnemar(before, after) -> float:
    """Exact two-sided p that the right answers gained and lost are as many as a fair coin would give.

    Parameters
    ----------
    before, after : arrays of shape (example,)
        1 or True for a right answer, 0 or False for a wrong one, of the same examples.

    Returns
    -------
    float
        1 where no answer changed.

    Raises
    ------
    ValueError
        If the shapes differ, or a value is neither 0 nor 1.

    Examples
    --------
    Five answers lost, none gained: 2 * (1/2)^5.

    >>> mcnemar([1, 1, 1, 1, 1, 0], [0, 0, 0, 0, 0, 0])
    0.0625
    """
    from scipy.stats import binomtest

    before, after = _pair(before, after)
    if not np.isin(np.concatenate([before, after]), (0, 1)).all():
        raise ValueError("McNemar's test is for right and wrong answers, 1 and 0; for losses use paired_p.")
    lost, gained = int(((before == 1) & (after == 0)).sum()), int(((before == 0) & (after == 1)).sum())
    return 1.0 if lost + gained == 0 else float(binomtest(lost, lost + gained).pvalue)


def paired_p(before, after) -> float:
    """Two-sided p of the paired t-test: that the mean difference is 0. 1 where nothing differs.

    For scores of many values (losses, shares); with few examples :func:`exact_sign_flip` assumes less.
    """
    before, after = _pair(before, after)
    difference = after - before
    if len(difference) < 2:
        raise ValueError(f"a paired test needs two examples or more; got {len(difference)}.")
    # All equal, to rounding: no difference, or a shift without any variation.
    if np.ptp(difference) <= 1e-12 * np.abs(difference).max():
        return 1.0 if difference[0] == 0 else 0.0
    from scipy.stats import ttest_1samp

    return float(ttest_1samp(difference, 0).pvalue)


def monte_carlo_p(null, observed: float, *, tolerance: float = 1e-9) -> float:
    """One-sided p of a test by shuffling: how often chance gives at least what was observed, which is counted in.

    Parameters
    ----------
    null : array of shape (shuffle,)
        The number in each shuffle. For "at most", turn both signs round.
    observed : float
    tolerance : float
        A shuffle that changes nothing must not lose to the truth by a rounding error.

    Examples
    --------
    >>> monte_carlo_p([0.1, 0.5, 0.2], 0.5)
    0.5
    """
    null, observed = _finite(null), _finite(observed)
    return float((1 + (null >= observed - tolerance).sum()) / (1 + len(null)))


def paired_interval(before, after, units=None, *, seed: int = 0) -> tuple[float, float]:
    """95 % bootstrap interval of the mean difference after - before, the examples drawn in pairs.

    Parameters
    ----------
    before, after : arrays of shape (example,)
    units : int array of shape (example,), optional
        The unit that each example belongs to; whole units are drawn. Where answers are right or wrong and none has changed, drawing again
        can say nothing: the ends are then those of Clopper and Pearson for a change in none of the units.
    """
    from .bootstrap import CONFIDENCE, unit_interval

    before, after = _pair(before, after)
    units = np.arange(len(before)) if units is None else units
    if (before == after).all() and np.isin(before, (0, 1)).all():
        unseen = 1 - ((1 - CONFIDENCE) / 2) ** (1 / len(np.unique(units)))
        return -unseen, unseen
    return unit_interval(after - before, units, seed=seed, within=(-np.inf, np.inf))


def holm(p) -> np.ndarray:
    """Holm's correction: p-values of the same shape, so that *any* false finding among all of them has the chance it says.

    >>> holm([0.01, 0.04, 0.03]).round(3).tolist()
    [0.03, 0.06, 0.06]
    """
    p = np.asarray(p, dtype=float)
    if not ((p >= 0) & (p <= 1)).all():  # also NaN
        raise ValueError("p-values lie between 0 and 1; got one outside, or NaN.")
    flat = p.ravel()
    order = np.argsort(flat, kind="stable")
    stepped = flat[order] * (len(flat) - np.arange(len(flat)))
    corrected = np.empty_like(flat)
    corrected[order] = np.minimum(np.maximum.accumulate(stepped), 1)
    return corrected.reshape(p.shape)


def _pair(before, after) -> tuple[np.ndarray, np.ndarray]:
    before, after = _finite(before), _finite(after)
    if before.shape != after.shape or before.ndim != 1 or not len(before):
        raise ValueError(
            f"paired tests need the same examples before and after, one or more; got shapes {before.shape} and {after.shape}."
        )
    return before, after


def _finite(values) -> np.ndarray:
    values = np.asarray(values, dtype=float)
    if not np.isfinite(values).all():
        raise ValueError("a test needs finite numbers; got NaN or infinity.")
    return values


def exact_sign_flip(differences) -> float:
    """Share of all ways to turn signs round whose sum is at least as far from 0: two-sided, exact.

    >>> exact_sign_flip([.1, .2, .3])
    0.25
    """
    differences = _finite(differences)
    if len(differences) > 16:
        raise ValueError(f"all {2}**{len(differences)} sign flips are too many; at most 16 pairs.")
    sums = np.array(list(product((1, -1), repeat=len(differences)))) @ differences
    return float((np.abs(sums) >= abs(differences.sum()) - 1e-12).mean())
