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


def softmax_loss(scores: np.ndarray, gold: np.ndarray) -> tuple[float, np.ndarray]:
    """Summed cross-entropy in nats, and its gradient by the scores."""
    from scipy.special import log_softmax

    log_p = log_softmax(scores, axis=-1)
    picked = np.take_along_axis(log_p, gold[..., None], axis=-1)
    residual = np.exp(log_p)
    np.put_along_axis(residual, gold[..., None], np.exp(picked) - 1, axis=-1)
    return -float(picked.sum(dtype=float)), residual
