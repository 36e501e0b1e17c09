"""Logistic regression: the penalty is the one that is written, and the bias goes free."""

import numpy as np
import pytest
from scipy.special import expit

from bertlook_course.metrics import NotConverged, logistic_regression


@pytest.fixture
def cases():
    rng = np.random.default_rng(0)
    x = rng.normal(size=(90, 4)) + [3, 0, 0, 0]
    return x, x[:, 0] - x[:, 2] + rng.normal(size=90) > 3.5


@pytest.mark.parametrize("l2", [0.3, 0.003])
def test_the_gradient_of_the_written_loss_is_zero(cases, l2):
    x, y = cases
    model = logistic_regression(x, y, l2=l2, tol=1e-8)
    weights, bias = model.coef_[0], model.intercept_[0]
    error = expit(x @ weights + bias) - y
    assert error @ x / len(x) + l2 * weights == pytest.approx(0, abs=1e-6)
    assert error.mean() == pytest.approx(0, abs=1e-6) and abs(bias) > 1


def test_no_penalty_is_allowed_and_a_negative_one_is_not(cases):
    x, y = cases
    free = logistic_regression(x, y, l2=0).coef_
    assert np.linalg.norm(free) > 2 * np.linalg.norm(logistic_regression(x, y, l2=0.3).coef_)
    with pytest.raises(ValueError, match="penalty of 0 or more; got -1"):
        logistic_regression(x, y, l2=-1)


def test_a_fit_that_stops_at_its_limit_says_so(cases):
    x, y = cases
    assert logistic_regression(x, y, l2=0.003).converged_
    with pytest.warns(NotConverged, match="not converged in 2 steps; give it more .* penalty than 0.003"):
        assert not logistic_regression(x, y, l2=0.003, max_iterations=2).converged_
