"""Where in the layers an ability sits: scalar mix, centre of gravity, expected layer."""

from __future__ import annotations

import numpy as np


def scalar_mix(hidden, scores) -> np.ndarray:
    """``sum_l softmax(scores)_l hidden[l]``: one vector a word from all layers. No layer is normalised.

    Parameters
    ----------
    hidden : array of shape (layer, ...)
        With the embedding output as layer 0: L + 1 of them.
    scores : array of shape (layer,)

    Raises
    ------
    ValueError
        If there is not one score a layer.
    """
    from scipy.special import softmax

    hidden, scores = np.asarray(hidden), np.asarray(scores, dtype=float)
    if scores.shape != hidden.shape[:1]:
        raise ValueError(
            f"a mix needs one score for each of the {len(hidden)} layers, embeddings included; got shape {scores.shape}."
        )
    return np.tensordot(softmax(scores), hidden, axes=1)


def centre_of_gravity(weights) -> float:
    """``sum_l l s_l``, from 0 (all weight on the embeddings) to L: where a probe that sees all layers reads.

    Equal weights give L / 2. So a centre near L / 2 says "middle" only if `mixing_bits` says that the weights are not flat.

    Parameters
    ----------
    weights : array of shape (layer,)
        The softmax of the mix, L + 1 of them.

    Raises
    ------
    ValueError
        If they are not shares that sum to 1.

    Examples
    --------
    >>> centre_of_gravity([0.25, 0.25, 0.5])
    1.25
    """
    weights = _shares(weights)
    return float(np.arange(len(weights)) @ weights)


def mixing_bits(weights) -> float:
    """K(s), Kullback-Leibler divergence of the mix from equal weights, in **bits**: 0 flat, log2(L + 1) one layer only.

    >>> mixing_bits([1.0, 0.0, 0.0, 0.0])
    2.0
    """
    return _bits(_shares(weights))


def expected_layer(scores) -> float | np.ndarray:
    """``sum_l l D_l / sum_l D_l`` over l = 1 .. L, with ``D_l = F1(l) - F1(l - 1)``: at which depth the score is gained.

    Losses are kept, as in the paper, and so the result may leave [1, L].

    Parameters
    ----------
    scores : array of shape (..., layer)
        F1 of the cumulative probes P(0) .. P(L).

    Returns
    -------
    float, or array of shape (...) with NaN where there is no gain

    Raises
    ------
    ValueError
        If there are fewer than two scores, or (for one curve) P(L) is no better than P(0): then nothing was gained at any depth.

    Examples
    --------
    Half of the gain comes with layer 1, half with layer 3:

    >>> round(expected_layer([0.5, 0.7, 0.7, 0.9]), 6)
    2.0
    """
    gains = _gains(scores)
    total = gains.sum(axis=-1)
    if gains.ndim == 1 and not total > 1e-12:
        raise ValueError(
            f"there is no expected layer: the last probe scores {np.asarray(scores)[-1]:.3f} and the first {np.asarray(scores)[0]:.3f}, so nothing is gained."
        )
    depth = gains @ np.arange(1, gains.shape[-1] + 1)
    found = np.divide(depth, total, out=np.full(np.shape(total), np.nan), where=total > 1e-12)
    return float(found) if gains.ndim == 1 else found


def delta_bits(scores) -> float | np.ndarray:
    """K(Delta), divergence of the gains from equal gains in every layer, in **bits**; losses are clipped to 0 here.

    0 if each of the L layers gives as much, log2(L) if one layer gives all. Shapes and errors as `expected_layer`.

    >>> delta_bits([0.5, 0.6, 0.6, 0.6, 0.6])
    2.0
    """
    gains = np.clip(_gains(scores), 0, None)
    total = gains.sum(axis=-1, keepdims=True)
    if gains.ndim == 1 and not total > 1e-12:
        raise ValueError("K(Delta) is not defined: no layer gains anything.")
    shares = np.divide(gains, total, out=np.full(gains.shape, np.nan), where=total > 1e-12)
    found = _bits(shares)
    return float(found) if gains.ndim == 1 else found


def _gains(scores) -> np.ndarray:
    scores = np.asarray(scores, dtype=float)
    if scores.ndim == 0 or scores.shape[-1] < 2:
        raise ValueError(
            f"gains need the scores of at least two probes, P(0) and P(1); got shape {scores.shape}. A model of no layer has none."
        )
    if scores.ndim == 1 and not np.isfinite(scores).all():
        raise ValueError(f"scores must be finite; got {scores.tolist()}.")
    return np.diff(scores, axis=-1)


def _shares(weights) -> np.ndarray:
    weights = np.asarray(weights, dtype=float)
    if weights.ndim != 1 or not len(weights) or not (weights >= 0).all() or abs(weights.sum() - 1) > 1e-3:
        raise ValueError(
            f"weights of a mix are one share a layer, sum 1; got shape {weights.shape}, sum {weights.sum():.3f}. Is the softmax missing?"
        )
    return weights


def _bits(shares: np.ndarray) -> float | np.ndarray:
    logs = np.log2(shares, out=np.zeros_like(shares), where=shares > 0)
    found = np.log2(shares.shape[-1]) + (shares * logs).sum(axis=-1)
    return float(max(found, 0.0)) if shares.ndim == 1 else found
