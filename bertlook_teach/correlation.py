"""Attention against importance: rank correlations, and what is left of them when a third thing is held fixed."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from .categories import kinds_present, maps_of

if TYPE_CHECKING:
    from .attention import Attention

__all__ = [
    "attention_against_importance",
    "partial_rank_correlation",
    "rank_correlation",
    "weight_norm_correlation",
]


def rank_correlation(x, y) -> float:
    """Spearman's rank correlation, ties given their mean rank: 1 the same order, -1 the opposite one.

    Raises
    ------
    ValueError
        If the shapes differ, or one side is constant (it has no order).

    Examples
    --------
    >>> round(float(rank_correlation([1, 2, 3], [10, 100, 30])), 6)
    0.5
    """
    x, y = _ranks(x, y)
    return float(np.clip(x @ y, -1, 1))


def partial_rank_correlation(x, y, given) -> float:
    """Spearman's correlation of x and y among cases with the same ``given``: what is left once it is accounted for.

    Raises
    ------
    ValueError
        If ``given`` orders x or y completely: then nothing is left to correlate.
    """
    x, y, given = _ranks(x, y, given)
    rest = [side - (side @ given) * given for side in (x, y)]
    lengths = [np.linalg.norm(side) for side in rest]
    for name, length in zip("xy", lengths):
        if length < 1e-7:
            raise ValueError(
                f"given puts {name} in exactly its order (or the opposite), so nothing is left of {name} to correlate."
            )
    return float(np.clip(rest[0] @ rest[1] / (lengths[0] * lengths[1]), -1, 1))


def _ranks(*series) -> list[np.ndarray]:
    """Centred ranks of unit length, so that a correlation is an inner product."""
    arrays = [np.asarray(values, dtype=float).ravel() for values in series]
    if len({len(a) for a in arrays}) > 1 or len(arrays[0]) < 2:
        raise ValueError(
            f"a correlation needs as many x as y, at least two; got {', '.join(str(len(a)) for a in arrays)}."
        )
    result = []
    for name, values in zip(("x", "y", "given"), arrays):
        if not np.isfinite(values).all():
            raise ValueError(f"{name} holds a value that is not a number.")
        distinct, where, counts = np.unique(values, return_inverse=True, return_counts=True)
        if len(distinct) == 1:
            raise ValueError(f"{name} is constant, so it has no order to correlate.")
        ranks = (np.cumsum(counts) - (counts - 1) / 2)[where]
        ranks = ranks - ranks.mean()
        result.append(ranks / np.linalg.norm(ranks))
    return result


def attention_against_importance(share, gradient, norm) -> dict[str, float]:
    """Do heads look most where it matters least, and is that more than an effect of short vectors?

    Parameters
    ----------
    share : array of shape (layer, head)
        Share of attention to a kind of token, for instance [SEP].
    gradient : array of shape (layer, head)
        Mean |dL/dalpha| of the weights on it.
    norm : array of shape (layer, head)
        Mean ||f_h|| of these tokens.

    Returns
    -------
    dict of str -> float
        Spearman's correlation of share and gradient ``"over layers"`` (layer means), ``"over heads"`` (each minus its layer's
        mean), and both ``"... given norm"``: what is left of it when the norm is held fixed. A correlation that cannot be
        computed (two layers, constant numbers) is left out.

    Notes
    -----
    dL/dalpha = (dL/dout) . f holds no alpha, and cannot exceed ||dL/dout|| ||f||. If the correlation goes to 0 given the norm, low
    "importance" says that there is little to take, and no more.
    """
    sides = [np.asarray(values, dtype=float) for values in (share, gradient, norm)]
    if len({side.shape for side in sides}) > 1 or sides[0].ndim != 2:
        raise ValueError(
            f"share, gradient and norm must all have shape (layer, head); got {', '.join(str(s.shape) for s in sides)}."
        )
    found = {}
    levels = {
        "over layers": [side.mean(axis=1) for side in sides],
        "over heads": [side - side.mean(axis=1, keepdims=True) for side in sides],
    }
    for level, (x, y, z) in levels.items():
        for name, compute in (
            (level, lambda x=x, y=y: rank_correlation(x, y)),
            (f"{level} given norm", lambda x=x, y=y, z=z: partial_rank_correlation(x, y, z)),
        ):
            try:
                found[name] = compute()
            except ValueError:
                continue
    return found


def weight_norm_correlation(attention: Attention, norms) -> dict[str, float]:
    """Spearman's correlation of weight and ||f_h(x_j)|| over all pairs of one input, for each kind of key.

    Parameters
    ----------
    attention : Attention
    norms : array of shape (layer, head, key)
        From :func:`value_norms`.

    Returns
    -------
    dict of "cls", "sep", "punct", "other" -> float
        Pairs of all heads and layers are ranked together, as by Kobayashi et al. (2020), Table 2; they rank the pairs of all
        inputs together, we average over inputs. A kind that is not there, or constant, is left out.
    """
    weights = maps_of(attention, attention)
    found = {}
    for kind, mask in kinds_present(attention).items():
        chosen = weights[..., mask]
        try:
            found[kind] = rank_correlation(
                chosen, np.broadcast_to(np.asarray(norms)[..., None, mask], chosen.shape)
            )
        except ValueError:
            continue
    return found
