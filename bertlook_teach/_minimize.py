"""The one minimizer of this package: L-BFGS of scipy."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np


def minimized(objective: Callable, start: np.ndarray, **options):
    """scipy's result for a function that gives value and gradient.

    On one thread: matrices are small here, and where NumPy's threads meet those of torch, which keep waiting for work,
    two cores take four times as long as one.
    """
    from scipy.optimize import minimize
    from threadpoolctl import threadpool_limits

    with threadpool_limits(1, user_api="blas"):
        return minimize(objective, start, jac=True, method="L-BFGS-B", options=options)
