"""The one minimizer of this package: L-BFGS of scipy."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager

import numpy as np


@contextmanager
def one_blas_thread() -> Iterator[None]:
    """Limit the products of NumPy and SciPy to one thread.

    Matrices are small here, and threads that wait for work keep a core busy: where they meet those of torch, or those of a second fit,
    two cores take four times as long as one.
    """
    import scipy.optimize  # noqa: F401 (SciPy brings a BLAS of its own, and only one that is loaded can be limited)
    from threadpoolctl import threadpool_limits

    with threadpool_limits(1, user_api="blas"):
        yield


def minimized(objective: Callable, start: np.ndarray, **options):
    """scipy's result for a function that gives value and gradient."""
    from scipy.optimize import minimize

    with one_blas_thread():
        return minimize(objective, start, jac=True, method="L-BFGS-B", options=options)


def softmax_loss(scores: np.ndarray, gold: np.ndarray) -> tuple[float, np.ndarray]:
    """Summed cross-entropy in nats, and its gradient by the scores."""
    from scipy.special import log_softmax

    log_p = log_softmax(scores, axis=-1)
    picked = np.take_along_axis(log_p, gold[..., None], axis=-1)
    residual = np.exp(log_p)
    np.put_along_axis(residual, gold[..., None], np.exp(picked) - 1, axis=-1)
    return -float(picked.sum(dtype=float)), residual
