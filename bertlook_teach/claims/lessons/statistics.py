"""Statistics that claims of several lessons share: from means over inputs to one number.

``values`` come from the inputs that report, ``choice`` from those that choose. Where a head or a layer has to be
found first, it is found in ``choice``, so that the number reported had no part in the choice.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from ...stats import CannotDecide, rank_correlation
from ..claim import Values

Statistic = Callable[[Values, Values], float]


def best_head(quantity: str) -> Statistic:
    """The quantity of the head that has most of it; of shape (layer, head)."""
    return lambda values, choice: values[quantity].flat[int(choice[quantity].argmax())]


def best_layer(quantity: str) -> Statistic:
    """The layer mean of the layer that has most of it."""
    return lambda values, choice: values[quantity].mean(axis=1)[int(choice[quantity].mean(axis=1).argmax())]


def early_minus_later(quantity: str) -> Statistic:
    """Mean over the first third of the layers minus the mean over the rest."""

    def statistic(values, choice=None):
        early = first_third(values[quantity])
        return values[quantity][early].mean() - values[quantity][~early].mean()

    return statistic


def share_of_heads_above(quantity: str, limit: float) -> Statistic:
    return lambda values, choice: (values[quantity] > limit).mean()


def share_of_heads_below(quantity: str, limit: float) -> Statistic:
    return lambda values, choice: (values[quantity] < limit).mean()


def first_third(quantity: np.ndarray) -> np.ndarray:
    """Which layers are in the first third, at least one: booleans, the layer on the first axis."""
    n_layers = len(quantity)
    if n_layers < 2:
        raise CannotDecide("a model of one layer has no early and late layers")
    return np.arange(n_layers) < max(1, n_layers // 3)


def named_layers(quantity: np.ndarray, first: int, last: int, *, depth: int = 12) -> np.ndarray:
    """Layers named in a paper, counted from 1, of a model as deep as the paper's; there are none in another model.

    Raises
    ------
    CannotDecide
        If the model has another number of layers: layer 6 of 12 has no counterpart in a model of 6.
    """
    if len(quantity) != depth:
        raise CannotDecide(f"layers of {depth}; here {len(quantity)}")
    return quantity[first - 1 : last]


def rank_agreement(one, other) -> float:
    """Spearman's correlation over heads; where one side has no order, nothing can be decided."""
    try:
        return rank_correlation(np.ravel(one), np.ravel(other))
    except ValueError as reason:
        raise CannotDecide(str(reason)) from None
