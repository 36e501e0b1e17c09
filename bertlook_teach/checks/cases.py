"""What the checks of several lessons try an answer on, and the package's own measures in the form in which exercises ask for them.

A right answer is what the package computes: these functions only bring one row, or two, into the shape that its measures take.
"""

from __future__ import annotations

import numpy as np

from ..measures import attention_entropy, js_between
from ..stats import auc, micro_f1


def case_rows(*shape, seed=0) -> np.ndarray:
    """Weights for a case: rows sum to 1, no two entries alike."""
    return np.random.default_rng(seed).dirichlet(np.ones(shape[-1]), size=shape[:-1])


def entropy(row) -> float:
    """Entropy of one row of shares, in nats."""
    return float(attention_entropy(_as_map(row))[0, 0])


def js_divergence(p, q) -> float:
    """Jensen-Shannon divergence of two rows of shares, in nats."""
    return float(js_between(_as_map(p), _as_map(q), smoothing=0)[0, 0])


def auc_above(above, below) -> float:
    """How often a number of the first group is larger than one of the second; ties count half."""
    return float(auc(np.concatenate([above, below]), np.arange(len(above) + len(below)) < len(above)))


def f1(gold, called) -> float:
    """F1 of a yes or no for each case; 0 where nothing is found."""
    gold, called = np.asarray(gold, bool), np.asarray(called, bool)
    return float(micro_f1((gold & called).sum(), (~gold & called).sum(), (gold & ~called).sum()))


def _as_map(row) -> np.ndarray:
    """The same row for every query of one head: shape (layer, head, query, key) = (1, 1, n, n)."""
    return np.tile(np.asarray(row, dtype=float), (len(row), 1))[None, None]
