"""What a measure gives for a head that looks at nothing in particular: every token gets the same weight."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

import numpy as np

__all__ = ["uniform_baseline"]


def uniform_baseline(measure: Callable) -> Callable:
    """The same measure, taken on uniform attention over the same tokens.

    Clark et al. (2019), section 3.2, compare with 1/64, what a token that occurs twice in 128 would get. This
    computes the baseline from the texts themselves: for the share of [SEP] it is 2/n, for the previous token
    (n - 1)/n squared, for the entropy log n; and averaged over a corpus like the measure itself.

    Parameters
    ----------
    measure : function of an Attention
        Returns an array of shape (layer, head).

    Returns
    -------
    function of an Attention
        Returns an array of shape (layer, head) too, the same number for every head, so that it can be profiled
        beside the measure.

    Examples
    --------
    >>> from bertlook_teach.surface import attention_entropy
    >>> uniform_baseline(attention_entropy)(np.eye(4)[None, None]).round(3)   # a head that looks at itself
    array([[1.386]])
    """

    def baseline(attention):
        weights = np.asarray(getattr(attention, "weights", attention))
        if weights.ndim < 4:
            raise ValueError(
                f"a baseline needs attention of shape (layer, head, query, key); got {weights.shape}."
            )
        n_layers, n_heads, n, _ = weights.shape[-4:]
        even = np.full((1, 1, n, n), 1 / n)
        if hasattr(attention, "weights"):
            even = replace(attention, weights=even, queries=None, keys=None, values=None)
        return np.tile(np.asarray(measure(even)), (n_layers, n_heads))

    return baseline
