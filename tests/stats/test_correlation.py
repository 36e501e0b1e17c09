"""Ranks are those of SciPy, whatever the ties."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.stats import rankdata, spearmanr

from bertlook_course.metrics import rank_correlation
from bertlook_course.metrics.correlation import mean_ranks


@pytest.mark.parametrize("n", [2, 3, 36, 144])
@pytest.mark.parametrize("different", [2, 7, 10_000])
def test_ranks_are_those_of_scipy(n, different):
    values = np.random.default_rng(n).integers(0, different, n).astype(float)
    assert np.array_equal(mean_ranks(values), rankdata(values))


def test_a_correlation_is_scipys_with_ties_too():
    x, y = np.random.default_rng(0).integers(0, 9, (2, 50))
    assert rank_correlation(x, y) == pytest.approx(spearmanr(x, y).statistic)
