"""What a measure gives for a head that looks at nothing in particular: every token gets the same weight."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import replace
from weakref import WeakKeyDictionary

import numpy as np
from array_api_compat import device

from ..model import PADDING, Attention, array_namespace, as_maps


class UndefinedPattern(ValueError):
    """The input holds nothing that the measure could be about; the message says what it would need."""


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
    >>> from bertlook_teach.measures import attention_entropy
    >>> uniform_baseline(attention_entropy)(np.eye(4)[None, None]).round(3)   # a head that looks at itself
    array([[1.386]])
    """

    def baseline(attention):
        weights = np.asarray(getattr(attention, "weights", attention))
        if weights.ndim < 4:
            raise ValueError(
                f"a baseline needs attention of shape (layer, head, query, key); got {weights.shape}."
            )
        n_layers, n_heads, n, n_keys = weights.shape[-4:]
        even = np.full((1, 1, n, n_keys), 1 / n_keys)
        # a token of a decoder has only what stands before it to look at
        if getattr(attention, "causal", False):
            even = np.tril(np.ones((1, 1, n, n))) / np.arange(1, n + 1)[:, None]
        if hasattr(attention, "weights"):
            even = replace(attention, weights=even, queries=None, keys=None, values=None)
        return np.tile(np.asarray(measure(even)), (n_layers, n_heads))

    return baseline


OFFSETS = tuple(range(-8, 9))

CLARK_ENTROPY_SMOOTHING = 1e-4

CLS_TOKENS = frozenset({"[CLS]", "<s>"})

SEP_TOKENS = frozenset({"[SEP]", "</s>"})

NO_BOUNDARY = frozenset({"[MASK]", "<mask>", "[UNK]", "<unk>"})  # they stand for a piece of the text

# "." or "," as wordpieces spell them: BERT's own, and the ones of models that mark a preceding space.
PUNCT_TOKENS = frozenset({".", ",", "Ġ.", "Ġ,", "▁.", "▁,"})

_ROW_SUM_TOLERANCE = 2e-3  # half-precision maps of 512 keys stay inside it


def attention_weights(attention, *, cross: bool = False):
    """The checked weights of an ``Attention``, or of an array: shape (..., query, key), each row a distribution.

    Cross attention passes only with ``cross=True``: most measures compare places in one text.

    Raises
    ------
    ValueError
        If there are no query and key axes of one length, or a row holds NaN or does not sum to 1; the
        message names the first such row.
    """
    if getattr(attention, "key_tokens", None) is not None:
        if not cross:
            refuse_cross(attention)
        return attention.weights  # from_arrays has checked its rows
    return _once(attention, "rows", lambda: _checked_rows(as_maps(attention)))


def without_tokens(given) -> TypeError:
    """The error to raise where weights came alone."""
    return TypeError(
        "the tokens are needed as well as the weights: pass an Attention, such as Attention.from_arrays(weights, tokens); "
        f"got {type(given).__name__}."
    )


def refuse_cross(attention) -> None:
    """Raise a ValueError for cross attention, whose queries and keys are the tokens of two texts."""
    if getattr(attention, "key_tokens", None) is not None:
        raise ValueError(
            "this measure compares places in one text, and in cross attention queries and keys are different texts. "
            "attention_entropy, attention_share and special_token_attention have a meaning there."
        )


# What several measures need of the same Attention is worked out once: its rows are checked, its entropies taken.
_DONE: WeakKeyDictionary = WeakKeyDictionary()


def _once(attention, name: str, compute: Callable):
    """``compute()``, kept for an Attention; its weights are made read-only, so that what is kept stays true."""
    if not isinstance(attention, Attention):
        return compute()
    done = _DONE.setdefault(attention, {})
    if name not in done:
        done[name] = compute()
        if isinstance(attention.weights, np.ndarray):  # a tensor on a device cannot be locked
            attention.weights.setflags(write=False)
    return done[name]


def _layer_by_layer(compute: Callable, weights):
    """``compute`` on one layer at a time: what is in between stays in the processor's cache (twice as fast)."""
    if weights.ndim < 4:
        return compute(weights)
    xp = array_namespace(weights)
    return xp.stack([_layer_by_layer(compute, weights[i, ...]) for i in range(weights.shape[0])])


def _checked_rows(weights):
    if weights.ndim < 2 or weights.shape[-1] != weights.shape[-2] or weights.shape[-1] == 0:
        raise ValueError(
            "attention must have shape (..., query, key) with as many queries as keys, at least one; "
            f"got {tuple(weights.shape)}."
        )
    xp = array_namespace(weights)
    # Maps of 0 and 1: a mean of them is not a whole number.
    if not xp.isdtype(weights.dtype, "real floating"):
        weights = xp.astype(weights, xp.float32)
    sums = xp.sum(weights, axis=-1)
    bad = ~(xp.abs(sums - 1) <= _ROW_SUM_TOLERANCE)  # written so that NaN counts as bad
    if bool(xp.any(bad)):
        bad = np.asarray(bad.cpu() if hasattr(bad, "cpu") else bad)
        where = tuple(int(i) for i in np.argwhere(bad)[0])
        names = ("query", "head", "layer")
        place = ", ".join(
            f"{names[d] if d < 3 else 'batch'} {i}" for d, i in reversed(list(enumerate(reversed(where))))
        )
        raise ValueError(
            f"attention rows must sum to 1; {place} sums to {float(sums[where]):.3f}. "
            "Were keys dropped without renormalising, scores passed in place of weights, or is the model in training, with dropout (call model.eval())?"
        )
    return weights


# --- relative position -------------------------------------------------------------------------------
def offset_attention(attention, offset: int = -1):
    """Mean attention to the token ``offset`` places away: -1 is the previous token, +1 the next, 0 itself.

    Parameters
    ----------
    attention : Attention or array of shape (..., layer, head, query, key)
    offset : int
        Key position minus query position.

    Returns
    -------
    array of shape (..., layer, head)
        From 0 to 1. The denominator is the number of tokens for every offset: a query whose neighbour
        would lie outside the input counts as 0, so "previous token" tops out at (n - 1)/n.

    References
    ----------
    Clark et al. (2019), section 3.1. (The third panel of the authors' notebook swaps the legend entries
    "previous" and "next"; here -1 is below the diagonal, and looks back.)

    Examples
    --------
    >>> looks_back = np.array([[1., 0., 0.], [1., 0., 0.], [0., 1., 0.]])
    >>> offset_attention(looks_back, offset=-1).round(3)
    np.float64(0.667)
    """
    weights = attention_weights(attention) if offset == 0 else _in_line(attention)
    return _diagonal_sum(weights, offset) / weights.shape[-1]


def offset_r_squared(attention):
    """Share of the variance of a map that the offset alone explains: 1 for a map constant along its diagonals.

    A map without variance (uniform attention) leaves nothing to explain and scores 0.
    Our own extension of Clark et al. (2019), section 3.1.
    """
    return _layer_by_layer(_offset_r_squared, _in_line(attention))


def _in_line(attention):
    """The weights, if the tokens follow each other as in a text."""
    if getattr(attention, "grid", None) is not None:
        raise ValueError(
            "patches of an image lie in rows and columns: the one before is the left neighbour, or the end of another row. An offset "
            "has no meaning there; attention_entropy, and offset_attention(attention, 0) for itself, do."
        )
    return attention_weights(attention)


def _offset_r_squared(weights):
    xp = array_namespace(weights)
    n = weights.shape[-1]
    mean = 1.0 / n  # rows sum to 1, so the mean of the map is known
    total = xp.sum((weights - mean) ** 2, axis=(-2, -1))
    sums = _all_diagonal_sums(weights)
    lengths = xp.asarray(n - np.abs(np.arange(1 - n, n)), dtype=weights.dtype, device=device(weights))
    between = xp.sum(lengths * (sums / lengths - mean) ** 2, axis=-1)
    varies = total > 1e-9
    return xp.where(varies, between / xp.where(varies, total, xp.ones_like(total)), xp.zeros_like(total))


def _diagonal_sum(weights, offset: int):
    xp = array_namespace(weights)
    if abs(offset) >= weights.shape[-1]:
        return xp.sum(weights[..., 0], axis=-1) * 0
    return xp.sum(xp.linalg.diagonal(weights, offset=offset), axis=-1)


def _all_diagonal_sums(weights):
    """The sums of all 2n - 1 diagonals, offset from -(n - 1) to n - 1 along the last axis.

    Written one after the other, each padded to 2n places, and read back 2n + 1 places a row, the rows of a map shift
    by one against each other: its diagonals become columns.
    """
    xp = array_namespace(weights)
    n, lead = weights.shape[-1], weights.shape[:-2]
    padded = xp.reshape(xp.concat([xp.zeros_like(weights), weights], axis=-1), (*lead, 2 * n * n))
    end = xp.zeros_like(weights[..., 0])
    columns = xp.reshape(xp.concat([padded, end], axis=-1), (*lead, n, 2 * n + 1))
    return xp.sum(columns, axis=-2)[..., 1 : 2 * n]


# --- special tokens and punctuation ------------------------------------------------------------------
def token_masks(tokens: Sequence[str]) -> dict[str, np.ndarray]:
    """Clark's four kinds of token, as boolean arrays: ``cls``, ``sep``, ``punct``, ``other``.

    ``punct`` is exactly "." and ","; an apostrophe or a dash is ``other``. Takes a list of tokens, or an
    ``Attention`` (then a "[SEP]" that somebody typed in the text is not taken for the real one). Where the tokens that a
    model's input format puts there have other names than BERT's and RoBERTa's, the one at the beginning is ``cls``, the
    others are ``sep``.

    >>> token_masks(["[CLS]", "yes", ",", "we", "can", "[SEP]"])["punct"].nonzero()[0]
    array([2])
    """
    special = getattr(tokens, "special", None)
    if getattr(tokens, "key_tokens", None) is not None:  # cross attention: what is looked at
        special, tokens = tokens.key_special, tokens.key_tokens
    tokens = getattr(tokens, "tokens", tokens)
    readable = isinstance(tokens, Iterable) and not isinstance(tokens, (str, Mapping))
    if not readable or not all(isinstance(token, str) for token in tokens):
        raise without_tokens(tokens)
    tokens = list(tokens)
    put = np.array([True] * len(tokens) if special is None else special, dtype=bool)
    named = {"cls": CLS_TOKENS, "sep": SEP_TOKENS, "punct": PUNCT_TOKENS}
    masks = {kind: np.array([t in names for t in tokens], dtype=bool) for kind, names in named.items()}
    if special is not None:
        masks["cls"], masks["sep"] = masks["cls"] & put, masks["sep"] & put
        if not (masks["cls"] | masks["sep"]).any():  # other names: by their places
            put &= np.array([t not in PADDING | NO_BOUNDARY for t in tokens], dtype=bool)
            first = np.arange(len(tokens)) == 0
            masks["cls"], masks["sep"] = put & first, put & ~first
    masks["other"] = ~(masks["cls"] | masks["sep"] | masks["punct"])
    return masks


def attention_share(attention, key_mask, query_mask=None):
    """Share of attention that goes to the keys in ``key_mask``, averaged over the queries in ``query_mask``.

    Parameters
    ----------
    attention : Attention or array of shape (..., layer, head, query, key)
    key_mask, query_mask : boolean arrays of shape (token,)
        ``query_mask=None`` means every query, special tokens included.

    Returns
    -------
    array of shape (..., layer, head)
        From 0 to 1. No key in the mask gives 0.

    Raises
    ------
    ValueError
        If a mask has another length than the attention, or no query is chosen (a mean over nothing).
    """
    weights = attention_weights(attention, cross=True)
    xp = array_namespace(weights)
    n_queries, n_keys = weights.shape[-2:]
    query_mask = np.ones(n_queries, dtype=bool) if query_mask is None else query_mask
    for name, mask, n in (("key_mask", key_mask, n_keys), ("query_mask", query_mask, n_queries)):
        if np.shape(mask) != (n,) or np.asarray(mask).dtype != bool:
            raise ValueError(
                f"{name} must be {n} booleans, one for each token; got shape {np.shape(mask)}, dtype {np.asarray(mask).dtype}."
            )
    if not np.any(query_mask):
        raise ValueError(
            "query_mask chooses no query, so there is nothing to average. Does the input hold such a token?"
        )
    as_weights = {"dtype": weights.dtype, "device": device(weights)}
    keys = xp.asarray(np.asarray(key_mask, dtype=float), **as_weights)
    queries = xp.asarray(np.asarray(query_mask) / np.sum(query_mask), **as_weights)
    return (weights @ keys) @ queries


def special_token_attention(attention, target: str = "sep"):
    """Share of attention to [CLS], to every [SEP] together, to "." and ",", or to all other tokens.

    ``target`` is one of ``"cls"``, ``"sep"``, ``"punct"``, ``"other"``; the four add up to 1.
    Clark et al. (2019), section 3.2, Figure 2 top. Shape (layer, head).
    """
    masks = token_masks(attention)
    if target not in masks:
        raise ValueError(f"target must be one of {', '.join(masks)}; got {target!r}.")
    return attention_share(attention, masks[target])


def sep_to_sep(attention):
    """Share of the attention *from* [SEP] tokens that goes *to* [SEP] tokens (itself or the other).

    Clark et al. (2019), section 3.2, Figure 2 bottom. Shape (layer, head).
    """
    sep = sep_mask(attention)
    return attention_share(attention, sep, sep)


def other_to_sep(attention):
    """Share of the attention from every token but [SEP] that goes to [SEP]; [CLS] counts among the others.

    Clark et al. (2019), section 3.2, Figure 2 bottom. Shape (layer, head).
    """
    sep = sep_mask(attention)
    return attention_share(attention, sep, ~sep)


def sep_mask(attention) -> np.ndarray:
    """Which tokens are [SEP], as booleans of shape (token,), at least one."""
    refuse_cross(attention)  # where queries are other tokens than keys
    sep = token_masks(attention)["sep"]
    if not sep.any():
        raise UndefinedPattern(
            "no [SEP] among the tokens: this measure needs an input as the model reads it, [CLS] text [SEP]."
        )
    return sep


# --- focus --------------------------------------------------------------------------------------------
def attention_entropy(attention, *, normalized: bool = False, smoothing: float = 0.0):
    """Mean entropy of a head's attention, in nats: low is focused, high is broad.

    Parameters
    ----------
    attention : Attention or array of shape (..., layer, head, query, key)
    normalized : bool
        Divide by log(n_keys), so that inputs of different length can be compared: 0 one token, 1 uniform.
    smoothing : float
        Share of a uniform distribution mixed in before the logarithm. Clark et al. used 0.0001
        (``CLARK_ENTROPY_SMOOTHING``), which puts a floor under the entropy. With 0, our default,
        0 log 0 is 0, and a head that looks at exactly one token scores exactly 0.

    Returns
    -------
    array of shape (..., layer, head)
        From 0 to log(n_keys); for one single token 0, normalized or not.

    References
    ----------
    Clark et al. (2019), section 3.3, Figure 4.

    Examples
    --------
    >>> attention_entropy(np.full((1, 1, 4, 4), 1 / 4)).round(3)
    array([[1.386]])
    """
    weights = attention_weights(attention, cross=True)
    if normalized and getattr(attention, "causal", False):
        raise ValueError(
            "in a decoder each token has another number of keys, so one log(n) does not normalise; compare with "
            "uniform_baseline(attention_entropy)."
        )
    rows = _once(attention, f"entropy {smoothing}", lambda: _row_entropy(weights, smoothing))
    return _per_length(array_namespace(rows).mean(rows, axis=-1), weights, normalized)


def cls_entropy(attention, *, normalized: bool = False, smoothing: float = 0.0):
    """Entropy of the attention *from* [CLS] alone (row 0), in nats; see :func:`attention_entropy`."""
    weights = attention_weights(attention)
    return _per_length(_row_entropy(weights[..., :1, :], smoothing)[..., 0], weights, normalized)


def _per_length(entropy, weights, normalized: bool):
    n = weights.shape[-1]
    return entropy / np.log(n) if normalized and n > 1 else entropy


def _row_entropy(weights, smoothing: float):
    """Entropy of each row, shape (..., layer, head, query)."""
    if not 0 <= smoothing < 1:
        raise ValueError(f"smoothing is a share between 0 and 1; got {smoothing}.")
    return _layer_by_layer(lambda layer: _layer_row_entropy(layer, smoothing), weights)


def _layer_row_entropy(weights, smoothing: float):
    xp = array_namespace(weights)
    p = (1 - smoothing) * weights + smoothing / weights.shape[-1] if smoothing else weights
    # 0 log 0 = 0: the smallest number there is stands in for 0 under the logarithm, where it is multiplied by 0.
    entropy = -xp.sum(p * xp.log(xp.clip(p, min=float(xp.finfo(p.dtype).tiny))), axis=-1)
    return xp.where(entropy > 0, entropy, xp.zeros_like(entropy))  # rounding leaves -0.0 and -1e-8


# --- the standard set ---------------------------------------------------------------------------------
def surface_measures(attention: Attention | None = None) -> dict[str, Callable]:
    """Name -> measure, for all of this module, which is what ``bertlook profile`` computes; with an attention, name -> values."""
    measures: dict[str, Callable] = {
        "previous": lambda a: offset_attention(a, -1),
        "next": lambda a: offset_attention(a, +1),
        "self": lambda a: offset_attention(a, 0),
        "cls": lambda a: special_token_attention(a, "cls"),
        "sep": lambda a: special_token_attention(a, "sep"),
        "punct": lambda a: special_token_attention(a, "punct"),
        "sep_to_sep": sep_to_sep,
        "other_to_sep": other_to_sep,
        "entropy": attention_entropy,
        "entropy_normalized": lambda a: attention_entropy(a, normalized=True),
        "entropy_clark": lambda a: attention_entropy(a, smoothing=CLARK_ENTROPY_SMOOTHING),
        "entropy_from_cls": cls_entropy,
        "offset_r_squared": offset_r_squared,
    }
    for offset in OFFSETS:
        if abs(offset) > 1:
            measures[f"offset{offset:+d}"] = lambda a, offset=offset: offset_attention(a, offset)
    return measures if attention is None else {name: take(attention) for name, take in measures.items()}
