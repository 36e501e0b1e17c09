"""Intervals of shares: whole units are drawn, the same for two groups, and as an ordinary bootstrap draws them."""

import re
import warnings
from pathlib import Path

import numpy as np
import pytest

import bertlook_teach
from bertlook_teach.stats import (
    bootstrap,
    draws,
    mean_interval,
    percentile_interval,
    ratio_interval,
    resampled_interval,
    sample_interval,
    unit_interval,
    unit_weights,
    widening,
)
from bertlook_teach.stats.bootstrap import acceleration_of


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
    ratio = totals[:, 0].sum() / totals[:, 1].sum()
    expected = ratio + widening(len(totals)) * (
        np.quantile(drawn[:, 0] / drawn[:, 1], (0.025, 0.975)) - ratio
    )
    assert ratio_interval(totals) == pytest.approx(expected, abs=0.012)
    assert unit_interval(right, units) == ratio_interval(totals)
    assert unit_interval(right, [f"document {unit:02d}" for unit in units]) == ratio_interval(totals)


def test_many_units_are_drawn_by_blocks_to_the_same_interval(monkeypatch):
    totals = np.random.default_rng(2).integers(1, 9, (50, 2)) + [0, 8]
    whole = ratio_interval(totals)
    monkeypatch.setattr(bootstrap, "_BLOCK", 50 * 7)  # 400 replicates by sevens
    assert ratio_interval(totals) == pytest.approx(whole, rel=1e-12)


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


@pytest.mark.parametrize("scheme", ["poisson", "multinomial", "indices"])
def test_every_scheme_draws_each_unit_once_on_average(scheme):
    drawn = draws([1, 3, 0, 2], scheme=scheme, replicates=4000)
    assert drawn.shape == (4000, 4) and drawn.min() == 0
    assert drawn.mean(axis=0) == pytest.approx([1, 3, 0, 2], abs=0.12)
    assert (drawn.sum(axis=1) == 6).all() == (scheme != "poisson")


def test_the_schemes_agree_on_an_interval_and_with_the_textbook():
    values = np.random.default_rng(3).normal(size=200)
    half = 1.96 * values.std() / np.sqrt(200)
    for scheme in ("poisson", "multinomial", "indices"):
        low, high = mean_interval(values, scheme=scheme, replicates=4000)
        assert (low, high) == pytest.approx((values.mean() - half, values.mean() + half), abs=0.012)
        assert resampled_interval(lambda i: values[i].mean(), np.arange(200)) == pytest.approx(
            (low, high), abs=0.04
        )


def test_indices_are_the_draws_of_integers():
    values = np.random.default_rng(3).normal(size=(9, 2))
    drawn = values[np.random.default_rng(7).integers(0, 9, (50, 9))].mean(axis=1)
    found = mean_interval(values, scheme="indices", replicates=50, seed=7)
    skewed = acceleration_of(values - values.mean(axis=0))
    assert np.allclose(found, sample_interval(drawn, values.mean(axis=0), 9, acceleration=skewed))


def test_the_long_side_of_skewed_units_is_the_longer_one_and_numbers_that_do_not_vary_have_no_width():
    values = np.random.default_rng(3).exponential(size=20)
    low, high = mean_interval(values - 5)
    assert high - (values.mean() - 5) > 1.1 * (values.mean() - 5 - low)
    mirrored = sample_interval(-np.array([1.0, 2, 4, 9]), -4.0, 9)
    assert mirrored == pytest.approx(
        [-end for end in sample_interval(np.array([1.0, 2, 4, 9]), 4.0, 9)[::-1]]
    )
    assert sample_interval(np.full(400, 1 / 3), 1 / 3, 5) == pytest.approx((1 / 3, 1 / 3))
    assert acceleration_of(np.full(5, 1e-17)) == 0
    both = np.stack([np.full(400, 2.0), np.linspace(0, 1, 400)], axis=1)
    low, high = sample_interval(both, [2.0, 0.5], 7)
    assert (low[0], high[0]) == (2, 2) and (low[1], high[1]) == sample_interval(both[:, 1], 0.5, 7)


def test_a_stream_draws_the_same_for_a_unit_wherever_it_begins():
    assert (unit_weights(3) == unit_weights(3)).all() and (unit_weights(3) != unit_weights(4)).any()


def test_what_cannot_be_drawn_is_said():
    with pytest.raises(
        ValueError, match="scheme must be one of poisson, multinomial, indices; got 'jackknife'"
    ):
        draws(3, scheme="jackknife")
    with pytest.raises(ValueError, match="no unit"):
        draws(0)


def test_without_a_case_there_is_no_number_and_without_a_unit_nothing_to_draw():
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert np.isnan(ratio_interval([[0, 0], [0, 0]])).all() and np.isnan(ratio_interval([[0, 0]])).all()
        assert np.isnan(ratio_interval([[0, 0], [0, 0]], weights=draws(2), within=(-1, 1))).all()
        for nothing in (
            lambda: ratio_interval(np.zeros((0, 2))),
            lambda: unit_interval([], []),
            lambda: mean_interval([]),
            lambda: resampled_interval(lambda cases: 0.0, []),
        ):
            with pytest.raises(ValueError, match="nothing to draw from: no unit"):
                nothing()


def own_intervals(rooms) -> list[str]:
    """Places that draw resamples or cut tails by themselves."""
    found = []
    for path in sorted(path for room in rooms for path in Path(room).rglob("*.py")):
        if path.parts[-2:] not in (
            ("stats", "bootstrap.py"),
            ("essay", "published.py"),
        ):  # the essay's register is locked
            text = path.read_text(encoding="utf-8")
            found += [
                f"{path.name}: {hit}"
                for hit in re.findall(
                    r"\.poisson\(|\.multinomial\(|tail = |0\.0?25, 0\.975|percentile_interval\(", text
                )
            ]
    return found


def test_no_room_up_to_the_claims_has_a_bootstrap_of_its_own(tmp_path):
    package = Path(bertlook_teach.__file__).parent
    assert not own_intervals(
        package / room for room in ("stats", "corpora", "measures", "analyses", "claims")
    )
    (tmp_path / "own.py").write_text("low, high = np.quantile(drawn, (0.025, 0.975))", encoding="utf-8")
    assert own_intervals([tmp_path]) == ["own.py: 0.025, 0.975"]


def test_an_interval_stays_where_its_quantity_can_be():
    """Of three gains of one answer each, drawing again would reach beyond the largest that there can be."""
    totals = [[1, 1], [1, 1], [0, 1]]
    free, kept = (ratio_interval(totals, within=within) for within in ((-np.inf, np.inf), (-1, 1)))
    assert free[1] > 1 and kept == tuple(np.clip(free, -1, 1))


def test_the_middle_of_many_numbers():
    assert percentile_interval(np.arange(201)) == pytest.approx((5, 195))
    low, high = percentile_interval(np.arange(402).reshape(201, 2))
    assert low == pytest.approx([10, 11]) and high == pytest.approx([390, 391])


@pytest.mark.parametrize("units", [[0, 0, 5, 5], list("aabb")])
def test_units_may_have_gaps_in_their_numbers_or_names(units):
    values = np.array([1.0, 2.0, 3.0, 4.0])

    def mean(cases):
        return values[cases].mean()

    assert resampled_interval(mean, units) == resampled_interval(mean, [0, 0, 1, 1])
    with pytest.raises(ValueError, match=r"two sums of each unit, shape \(unit, 2\); got \(3,\)"):
        ratio_interval([1, 2, 3])
