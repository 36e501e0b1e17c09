"""What of the input arrives where: attention followed through the layers (Abnar and Zuidema 2020).

A token in layer 5 is a mixture; looking at it is looking at everything that was mixed into it. *Rollout* multiplies the
maps, as if attention were a linear mixing of tokens; *flow* asks how much could pass from a token to an input token
through pipes as wide as the weights. Both count the residual connection as half of every mixture.
"""

from __future__ import annotations

import numpy as np

from ..model import as_maps

FLOW_TOKENS = (
    20  # a flow is one maximum-flow problem per pair of tokens and layer: cost grows as n to the fourth
)

_UNIT = 1_000_000_000  # SciPy fills pipes whose widths are whole numbers: a weight of 1 is as wide as this


def mixing_matrices(maps, *, residual: float = 0.5) -> np.ndarray:
    """Each layer as a mixing of tokens: the maps with their rows made to sum to 1, plus the residual connection.

    Parameters
    ----------
    maps : Attention or array of shape (layer, head, query, key) or (layer, query, key)
        Weights, or any other numbers that are not negative, for instance norms. Heads are averaged.
    residual : float
        Share of the mixture that is the token itself, 0 to 1.

    Returns
    -------
    ndarray of shape (layer, query, key)
        Rows sum to 1. A row of zeros (nothing is taken from anywhere) becomes the token itself.
    """
    maps = _maps(maps)
    if maps.ndim == 4:
        maps = maps.mean(axis=1)
    return _with_residual(maps, residual)


def attention_rollout(maps, *, residual: float = 0.5, by_head: bool = False) -> np.ndarray:
    """How much of each input token each token holds after each layer, if attention only mixed tokens.

    Parameters
    ----------
    maps : Attention or array of shape (layer, head, query, key) or (layer, query, key)
        Weights; or norms, for a norm-based rollout: pass ``summed_norms(...)`` or ``weighted_norms(...)``.
    residual : float
        Share of the token itself in each mixture; 0.5 as published.
    by_head : bool
        Give a map for each head: its own weights in its layer, the mean over heads in all layers below.

    Returns
    -------
    ndarray of shape (layer, query, key), or (layer, head, query, key) with ``by_head``
        ``key`` is a position of the *input*. Rows sum to 1.

    References
    ----------
    Abnar and Zuidema (2020), section 3: A = 0.5 W + 0.5 I, R_1 = A_1, R_i = A_i R_(i-1).

    Examples
    --------
    >>> looks_back = np.array([[1.0, 0.0], [1.0, 0.0]])
    >>> attention_rollout(np.stack([looks_back, looks_back]))[1]
    array([[1.  , 0.  ],
           [0.75, 0.25]])
    """
    maps = _maps(maps)
    if by_head and maps.ndim != 4:
        raise ValueError(
            f"by_head=True needs maps of shape (layer, head, query, key); got {maps.shape}. Head-summed norms have no heads."
        )
    below = np.eye(maps.shape[-1])
    layers = []
    for layer, mixing in zip(maps, mixing_matrices(maps, residual=residual)):
        layers.append((_with_residual(layer, residual) if by_head else mixing) @ below)
        below = mixing @ below
    return np.stack(layers)


def attention_flow(maps, *, residual: float = 0.5) -> np.ndarray:
    """How much could pass from each input token to each token of each layer, through pipes as wide as the weights.

    Parameters
    ----------
    maps : Attention or array of shape (layer, head, query, key) or (layer, query, key)
        At most 20 tokens (``FLOW_TOKENS``).
    residual : float
        As in :func:`attention_rollout`.

    Returns
    -------
    ndarray of shape (layer, query, key)
        Maximum flow from token ``query`` of the layer to token ``key`` of the input, each row divided by its sum; exact to about
        a billionth. In the first layer it equals the rollout.

    Raises
    ------
    ValueError
        If there are more than 20 tokens.

    References
    ----------
    Abnar and Zuidema (2020), section 3. Each pair of tokens is a flow problem of its own, with the whole network free.
    """
    from scipy.sparse import csr_array
    from scipy.sparse.csgraph import maximum_flow

    mixing = mixing_matrices(maps, residual=residual)
    n_layers, n, _ = mixing.shape
    if n > FLOW_TOKENS:
        raise ValueError(
            f"attention flow solves a maximum-flow problem for each pair of tokens and takes at most {FLOW_TOKENS} tokens; got {n}. "
            "Use a shorter text, or attention_rollout."
        )
    # Token i of layer l is node (l + 1) * n + i, the input is layer -1; an edge goes from each token to those that it was mixed from.
    layer, query, key = np.nonzero(mixing)
    widths = np.rint(mixing[layer, query, key] * _UNIT).astype(np.int32)
    starts, ends, size = (layer + 1) * n + query, layer * n + key, (n_layers + 1) * n
    network = csr_array((widths, (starts, ends)), shape=(size, size))
    flows = np.empty((n_layers, n, n))
    for top, query, key in np.ndindex(flows.shape):
        flows[top, query, key] = maximum_flow(network, (top + 1) * n + query, key).flow_value
    return flows / flows.sum(axis=-1, keepdims=True)


def _maps(maps) -> np.ndarray:
    maps = np.asarray(as_maps(maps), dtype=float)
    if maps.ndim not in (3, 4) or maps.shape[-1] != maps.shape[-2] or 0 in maps.shape:
        raise ValueError(
            f"maps must have shape (layer, head, query, key) or (layer, query, key), with as many queries as keys; got {maps.shape}."
        )
    if not (np.isfinite(maps).all() and (maps >= 0).all()):
        raise ValueError(
            "maps to roll out must be numbers from 0 up: attention weights or norms. Signed gradients do not mix tokens."
        )
    return maps


def _with_residual(maps: np.ndarray, residual: float) -> np.ndarray:
    if not 0 <= residual <= 1:
        raise ValueError(f"residual is a share between 0 and 1; got {residual}.")
    sums = maps.sum(axis=-1, keepdims=True)
    itself = np.eye(maps.shape[-1])
    rows = np.where(sums > 0, maps / np.where(sums > 0, sums, 1), itself)
    return (1 - residual) * rows + residual * itself
