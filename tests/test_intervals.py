"""Intervals of shares: whole units are drawn, the same for two groups, and as an ordinary bootstrap draws them."""

import numpy as np
import pytest

from bertlook_teach.intervals import ratio_interval, unit_interval


def cases(n_units=80, seed=0):
    """Right and wrong answers of units of different sizes; within a unit they agree more than between units."""
    rng = np.random.default_rng(seed)
    sizes = rng.integers(1, 9, n_units)
    units = np.repeat(np.arange(n_units), sizes)
    return rng.random(len(units)) < np.repeat(rng.random(n_units), sizes), units


def test_units_that_agree_leave_no_doubt():
    assert ratio_interval([[1, 2], [3, 6], [2, 4]]) == (0.5, 0.5)


def test_the_interval_is_that_of_an_ordinary_bootstrap_over_units():
    right, units = cases()
    totals = np.stack([np.bincount(units, right), np.bincount(units)], axis=1)
    drawn = totals[np.random.default_rng(1).integers(0, len(totals), (4000, len(totals)))].sum(axis=1)
    expected = np.quantile(drawn[:, 0] / drawn[:, 1], (0.025, 0.975))
    assert ratio_interval(totals) == pytest.approx(expected, abs=0.012)
    assert unit_interval(right, units) == ratio_interval(totals)


def test_drawing_single_cases_would_be_too_sure():
    right, units = cases()
    low, high = unit_interval(right, units)
    narrow_low, narrow_high = unit_interval(right, np.arange(len(units)))
    assert high - low > 1.2 * (narrow_high - narrow_low)


def test_units_without_a_case_do_not_move_the_others():
    right, units = cases(10)
    few = units < 6
    wide = unit_interval(right[few], units[few], 10)
    assert wide == unit_interval(right[few], units[few], 10)
    assert 0 <= wide[0] < right[few].mean() < wide[1] <= 1


def test_another_seed_is_another_draw():
    right, units = cases()
    assert unit_interval(right, units, seed=1) != unit_interval(right, units)
