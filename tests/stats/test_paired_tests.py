"""Tests by shuffling: what was observed counts as one of the shuffles, and rounding decides nothing."""

import numpy as np
import pytest

from bertlook_teach.stats import monte_carlo_p, paired_p, sign_flip_p


def test_what_was_observed_is_counted_in():
    null = np.array([0.0, 0.1, 0.2, 0.3])
    assert (
        monte_carlo_p(null, 0.25) == 2 / 5 and monte_carlo_p(null, 1) == 1 / 5 and monte_carlo_p(null, 0) == 1
    )
    assert monte_carlo_p(-null, -0.05) == 2 / 5  # at most .05
    assert monte_carlo_p([0.1 + 0.2], 0.3) == 1 and monte_carlo_p([0.3], 0.1 + 0.2, tolerance=0) == 1 / 2


def test_a_shift_without_variation_is_certain_and_none_is_nothing():
    before = np.array([0.1, 0.2, 0.3, 0.7])
    assert paired_p(before, before) == 1 and paired_p(before, before + 0.1) == 0
    rng = np.random.default_rng(0)
    after = before.repeat(9) + rng.normal(0.1, 0.3, 36)
    assert paired_p(before.repeat(9), after) == pytest.approx(sign_flip_p(before.repeat(9), after), abs=0.02)
