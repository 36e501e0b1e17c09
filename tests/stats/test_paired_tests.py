"""Tests by shuffling: what was observed counts as one of the shuffles, and rounding decides nothing."""

import numpy as np
import pytest

from bertlook_teach.stats import exact_sign_flip, holm, mcnemar, monte_carlo_p, paired_p


def test_what_was_observed_is_counted_in():
    null = np.array([0.0, 0.1, 0.2, 0.3])
    assert (
        monte_carlo_p(null, 0.25) == 2 / 5 and monte_carlo_p(null, 1) == 1 / 5 and monte_carlo_p(null, 0) == 1
    )
    assert monte_carlo_p(-null, -0.05) == 2 / 5  # at most .05
    assert monte_carlo_p([0.1 + 0.2], 0.3) == 1 and monte_carlo_p([0.3], 0.1 + 0.2, tolerance=0) == 1 / 2


def flipped_at_random(differences) -> float:
    """The second way: the signs of 10,000 draws in place of all of them, or of a distribution."""
    signs = np.random.default_rng(0).choice((-1.0, 1.0), size=(10_000, len(differences)))
    return monte_carlo_p(np.abs(signs @ differences), abs(differences.sum()))


def test_what_was_observed_is_one_of_the_sign_flips():
    assert exact_sign_flip([0.1, 0.2, 0.3]) == 2 / 8  # itself and its opposite
    assert exact_sign_flip([3, -1]) == 1 and exact_sign_flip([1, 1]) == 1 / 2 and exact_sign_flip([0, 0]) == 1
    differences = np.random.default_rng(0).normal(0.4, 1, 12)
    assert exact_sign_flip(differences) == pytest.approx(flipped_at_random(differences), abs=0.02)
    with pytest.raises(ValueError, match="at most 16 pairs"):
        exact_sign_flip(np.ones(17))


def test_holm_multiplies_by_the_tests_left_and_never_falls():
    assert holm([0.01, 0.04, 0.03]) == pytest.approx(
        [0.03, 0.06, 0.06]
    )  # .04 alone would be smaller than .03 times two
    assert holm([[0.5], [0.9]]).tolist() == [[1], [1]]
    with pytest.raises(ValueError, match="between 0 and 1"):
        holm([0.5, np.nan])


def test_mcnemar_is_a_fair_coin_over_what_changed():
    before, after = np.array([1, 1, 1, 1, 0, 1, 0]), np.array([0, 0, 0, 0, 1, 1, 0])
    assert mcnemar(before, after) == pytest.approx(2 * (1 + 5) / 2**5)  # four lost and one gained, of five
    assert mcnemar(before, before) == 1


def test_a_shift_without_variation_is_certain_and_none_is_nothing():
    before = np.array([0.1, 0.2, 0.3, 0.7])
    assert paired_p(before, before) == 1 and paired_p(before, before + 0.1) == 0
    rng = np.random.default_rng(0)
    after = before.repeat(9) + rng.normal(0.1, 0.3, 36)
    assert paired_p(before.repeat(9), after) == pytest.approx(
        flipped_at_random(after - before.repeat(9)), abs=0.02
    )
