"""How much a head really takes from a token: the weight times the length of what is taken.

The weight alpha_ij says how much token i looks at token j; the vector f_h(x_j) = v_hj W_O^h says what there is to take
(Kobayashi et al. 2020). Norms of f, never f itself, are needed for every pair of tokens, so nothing of shape
(query, key, width) is ever built: ||f|| = sqrt(v M v) with M = W_O W_O^T, and a map of norms is the weights times a row.

Value biases are part of v. The output bias is left out: it is added once, whatever the heads look at.
"""

from __future__ import annotations

from ..model import array_namespace


def value_norms(values, projection):
    """||f_h(x_j)||: the length of what each head would take from each token at full attention.

    Parameters
    ----------
    values : Attention with vectors, or array of shape (..., layer, head, token, dim)
    projection : array of shape (layer, head, dim, width)
        See :func:`bertlook_teach.model.output_projection`.

    Returns
    -------
    array of shape (..., layer, head, token)
        In the units of the model's hidden vectors; 0 for a head that writes nothing.

    Raises
    ------
    ValueError
        If the attention was extracted without vectors, or the shapes do not fit.

    References
    ----------
    Kobayashi et al. (2020), section 3. It is not the norm of the value vector: W_O comes in between.

    Examples
    --------
    >>> import numpy as np
    >>> values = np.array([[[[3.0, 4.0], [0.0, 1.0]]]])                  # one layer, one head, two tokens
    >>> value_norms(values, 2 * np.eye(2)[None, None])
    array([[[10.,  2.]]])
    """
    values = _values(values, projection)
    xp = array_namespace(values, projection)
    metric = projection @ xp.matrix_transpose(projection)
    squares = xp.sum((values @ metric) * values, axis=-1)
    return xp.sqrt(_not_negative(squares))


def weighted_norms(weights, norms):
    """alpha_ij ||f_h(x_j)||: how much of token j each head adds to token i.

    Parameters
    ----------
    weights : Attention or array of shape (..., layer, head, query, key)
    norms : array of shape (..., layer, head, key)
        From :func:`value_norms`.

    Returns
    -------
    array of shape (..., layer, head, query, key)
        Rows do not sum to 1: a head that looks at tokens with short vectors does little.
    """
    weights = getattr(weights, "weights", weights)
    if tuple(getattr(norms, "shape", ())) != (*weights.shape[:-2], weights.shape[-1]):
        raise ValueError(
            f"norms, made by value_norms, have one number per key for each head, shape {(*weights.shape[:-2], weights.shape[-1])}; "
            f"got {getattr(norms, 'shape', type(norms).__name__)}."
        )
    return weights * norms[..., None, :]


def summed_norms(weights, values, projection):
    """||sum_h alpha^h_ij f_h(x_j)||: how much of token j all heads of a layer together add to token i.

    Heads may cancel one another, so this is at most the sum of :func:`weighted_norms` over heads. For each key a small
    Gram matrix G[h, g] = f_h . f_g is enough: the norm is sqrt(a G a) with a = alpha[:, i, j].

    Parameters
    ----------
    weights : Attention with vectors, or array of shape (..., layer, head, query, key)
    values : array of shape (..., layer, head, token, dim), or None for those of the Attention
    projection : array of shape (layer, head, dim, width)

    Returns
    -------
    array of shape (..., layer, query, key)
    """
    values = _values(weights if values is None else values, projection)
    weights = getattr(weights, "weights", weights)
    xp = array_namespace(weights, values, projection)
    vectors = xp.permute_dims(values @ projection, _swap(values.ndim, -3, -2))  # layer, token, head, width
    gram = vectors @ xp.matrix_transpose(vectors)  # layer, key, head, head
    by_key = xp.moveaxis(weights, -1, -3)  # layer, key, head, query
    squares = xp.sum((gram @ by_key) * by_key, axis=-2)  # layer, key, query
    return xp.sqrt(_not_negative(xp.matrix_transpose(squares)))


def _values(values, projection):
    values = values.values if hasattr(values, "weights") else values
    if values is None:
        raise ValueError("this holds no value vectors; extract it with extract_attention(..., vectors=True).")
    if not hasattr(values, "ndim") or not hasattr(projection, "ndim"):
        raise TypeError("attention (or its values) comes first, then output_projection(encoder).")
    if values.ndim < 4 or values.shape[-4:-2] + values.shape[-1:] != projection.shape[:-1]:
        raise ValueError(
            "values (..., layer, head, token, dim) and projection (layer, head, dim, width) must agree in layer, head and dim; "
            f"got {tuple(values.shape)} and {tuple(projection.shape)}."
        )
    return values


def _not_negative(squares):
    """Rounding leaves a square of -1e-18 where 0 is meant, and its root would be NaN."""
    xp = array_namespace(squares)
    return xp.where(squares > 0, squares, xp.zeros_like(squares))


def _swap(ndim: int, a: int, b: int) -> tuple[int, ...]:
    axes = list(range(ndim))
    axes[a], axes[b] = axes[b], axes[a]
    return tuple(axes)
