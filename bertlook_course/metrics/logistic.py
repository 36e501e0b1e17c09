"""Logistic regression: scikit-learn's, with the penalty as the course writes it, and on one thread like every fit here."""

from __future__ import annotations

import warnings

import numpy as np

from .errors import NotConverged
from .minimize import one_blas_thread


def logistic_regression(
    features, labels, *, l2: float, tol: float = 1e-6, max_iterations: int = 500, **options
):
    """Least ``mean loss + l2 / 2 * |weights|^2``; the bias is not penalised.

    Parameters
    ----------
    features : array or SciPy sparse matrix of shape (case, feature)
    labels : sequence of length case
    l2 : float
    tol, max_iterations
        Where the solver stops: at the largest part of the gradient, or after so many steps: then ``converged_`` is False.
    **options
        Of scikit-learn's ``LogisticRegression``: ``class_weight``, ``fit_intercept``, ``solver``.

    Returns
    -------
    sklearn.linear_model.LogisticRegression
        Fitted: ``coef_`` of shape (1 or class, feature), ``intercept_``, ``predict``; and ``converged_``.

    Warns
    -----
    NotConverged
        If the solver stopped at its limit.

    Raises
    ------
    ValueError
        If the penalty is negative, or all labels are the same.
    """
    from sklearn.exceptions import ConvergenceWarning
    from sklearn.linear_model import LogisticRegression

    if l2 < 0:
        raise ValueError(f"l2 is a penalty of 0 or more; got {l2}.")
    strength = 1 / (l2 * features.shape[0]) if l2 else np.inf
    model = LogisticRegression(C=strength, tol=tol, max_iter=max_iterations, **options)
    with one_blas_thread(), warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)  # said below, with what to do
        model.fit(features, labels)
    model.converged_ = bool(np.max(model.n_iter_) < max_iterations)
    if not model.converged_:
        warnings.warn(
            f"a logistic regression has not converged in {max_iterations} steps; give it more (max_iterations) or a stronger penalty than {l2:g}",
            NotConverged,
            stacklevel=2,
        )
    return model
