"""One attention head by hand: embeddings, query, key and value, scores, softmax, weights, and back into the stream.

The arithmetic is NumPy on plain arrays, one function a step, as in Vaswani et al. (2017), section 3.2. Only the two
functions that take numbers out of a model, `embedding_parts` and `head_matrices`, run or open one. The steps are here to be
read, not to be fast; their product equals the model's own attention, and the tests hold it to that.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from bertlook_teach.model import as_array, check_head

if TYPE_CHECKING:
    from bertlook_teach.model import Encoder


# --- arithmetic ---------------------------------------------------------------------------------------
def attention_scores(queries, keys):
    """How well each query fits each key: the dot product of every pair, not yet scaled.

    Parameters
    ----------
    queries, keys : array of shape (..., token, dim)

    Returns
    -------
    array of shape (..., query, key)
        Row i holds the scores of token i as the one that looks. Divide by sqrt(dim) before the softmax.

    Raises
    ------
    ValueError
        If the two do not have the same length of vectors.

    Examples
    --------
    >>> attention_scores(np.array([[1, 0], [2, 1]]), np.array([[3, 1], [0, 5]]))
    array([[3, 0],
           [7, 5]])
    """
    queries, keys = np.asarray(queries), np.asarray(keys)
    if queries.ndim < 2 or keys.ndim < 2 or queries.shape[-1] != keys.shape[-1]:
        raise ValueError(
            f"queries and keys must have shape (..., token, dim) with the same dim; got {queries.shape} and {keys.shape}. "
            "Was one of them transposed already?"
        )
    return queries @ np.swapaxes(keys, -1, -2)


def softmax(scores):
    """Turn each row of scores into weights that are positive and sum to 1.

    Parameters
    ----------
    scores : array of shape (..., query, key)

    Returns
    -------
    array of the same shape
        ``exp(score)`` divided by the sum of its row. Adding a constant to a row changes nothing, which is why the
        largest score can be taken away first and nothing overflows.

    Raises
    ------
    ValueError
        If there is no key, or a score is NaN.

    Examples
    --------
    >>> softmax(np.array([[0.0, 0.0], [0.0, np.log(3)]])).round(2)
    array([[0.5 , 0.5 ],
           [0.25, 0.75]])
    """
    scores = np.asarray(scores)
    if scores.ndim < 1 or scores.shape[-1] == 0:
        raise ValueError(f"softmax needs at least one key in each row; got shape {scores.shape}.")
    if np.isnan(scores).any():
        raise ValueError("a score is NaN, so its row has no softmax. Was something divided by zero?")
    powers = np.exp(scores - scores.max(axis=-1, keepdims=True))
    return powers / powers.sum(axis=-1, keepdims=True)


def weighted_values(weights, values):
    """What each token takes home: the values of all tokens, averaged by its row of weights.

    Parameters
    ----------
    weights : array of shape (..., query, key)
    values : array of shape (..., key, dim)

    Returns
    -------
    array of shape (..., query, dim)

    Raises
    ------
    ValueError
        If there are not as many values as keys.

    Examples
    --------
    The first token looks half at itself and half at the second, the second only at itself:

    >>> weighted_values(np.array([[0.5, 0.5], [0.0, 1.0]]), np.array([[2.0, 0.0], [0.0, 4.0]]))
    array([[1., 2.],
           [0., 4.]])
    """
    weights, values = np.asarray(weights), np.asarray(values)
    if weights.ndim < 2 or values.ndim < 2 or weights.shape[-1] != values.shape[-2]:
        raise ValueError(
            "weights must have shape (..., query, key) and values (..., key, dim), with as many keys in both; "
            f"got {weights.shape} and {values.shape}."
        )
    return weights @ values


def layer_norm(vectors, gain, bias, eps: float = 1e-12):
    """Shift and scale each vector to mean 0 and variance 1, then apply the learnt gain and bias.

    Parameters
    ----------
    vectors : array of shape (..., width)
    gain, bias : array of shape (width,)
    eps : float
        Keeps a constant vector from being divided by zero; BERT has 1e-12.

    Examples
    --------
    >>> layer_norm(np.array([1.0, 3.0]), gain=np.ones(2), bias=np.zeros(2))
    array([-1.,  1.])
    """
    vectors = np.asarray(vectors)
    centred = vectors - vectors.mean(axis=-1, keepdims=True)
    return centred / np.sqrt((centred**2).mean(axis=-1, keepdims=True) + eps) * gain + bias


# --- numbers out of a model ---------------------------------------------------------------------------
@dataclass(frozen=True, eq=False)
class EmbeddingParts:
    """The three vectors each token starts from, and what the first layer reads.

    Attributes
    ----------
    tokens : tuple of str
    token, position, segment : float32 ndarray of shape (token, width)
        Looked up by the token itself, by its place, and by the text it belongs to (A or B).
    stream : float32 ndarray of shape (token, width)
        The sum of the three after layer normalisation: the input of layer 1.
    gain, bias : float32 ndarray of shape (width,)
        Of that normalisation; ``layer_norm(total, gain, bias)`` is ``stream``.
    """

    tokens: tuple[str, ...]
    token: np.ndarray
    position: np.ndarray
    segment: np.ndarray
    stream: np.ndarray
    gain: np.ndarray
    bias: np.ndarray

    @property
    def total(self) -> np.ndarray:
        """Token + position + segment, before normalisation."""
        return self.token + self.position + self.segment

    def __repr__(self) -> str:
        n, width = self.stream.shape
        return f"EmbeddingParts({n} tokens, width {width}: {' '.join(self.tokens)})"


def embedding_parts(encoder: Encoder, text: str, text_pair: str | None = None) -> EmbeddingParts:
    """Take apart the embeddings an encoder makes of a text, or of a pair of texts.

    Raises
    ------
    ValueError
        As :func:`~bertlook_teach.model.extract_attention`, or if the model does not add these three parts.
    """
    from bertlook_teach.model import extract_attention, read

    if encoder.engine is not None:
        reading = read(encoder, text, text_pair)
        parts = encoder.engine.embed(np.array([reading.ids]), np.array([reading.segment_ids]))
        gain, bias = (_parameter(encoder, f"embeddings.LayerNorm.{part}") for part in ("weight", "bias"))
        return EmbeddingParts(reading.tokens, **{k: v[0] for k, v in parts.items()}, gain=gain, bias=bias)
    block = getattr(encoder.model, "embeddings", None)
    names = ("word_embeddings", "position_embeddings", "token_type_embeddings")
    modules = {p: getattr(block, name, None) for p, name in zip(("token", "position", "segment"), names)}
    norm = getattr(block, "LayerNorm", None)
    _require_bert(encoder)
    missing = [part for part, module in modules.items() if module is None]
    missing += ["normalised"] * (norm is None) + ["unprojected"] * hasattr(
        encoder.model, "embeddings_project"
    )
    if missing:
        raise ValueError(
            f"{encoder.name} ({encoder.model.config.model_type}) has no {' and no '.join(missing)} embedding, so its input cannot be taken "
            "apart in this way. BERT and RoBERTa can, and an ELECTRA whose embeddings are as wide as its layers."
        )
    seen: dict[str, np.ndarray] = {}

    def keep(name, tensor):
        seen[name] = as_array(tensor).reshape(-1, tensor.shape[-1])

    def read_first(module, args, kwargs):
        keep("stream", args[0] if args else kwargs["hidden_states"])

    parts = [
        (module, "forward", lambda _module, _given, output, part=part: keep(part, output))
        for part, module in modules.items()
    ]
    first = (encoder.model.encoder.layer[0], "forward_pre", read_first)
    with encoder.hooked(parts), encoder.hooked([first], with_kwargs=True):
        tokens = extract_attention(encoder, text, text_pair).tokens
    return EmbeddingParts(tokens=tokens, **seen, gain=as_array(norm.weight), bias=as_array(norm.bias))


@dataclass(frozen=True, eq=False)
class HeadMatrices:
    """What one head has learnt: the four matrices that make it this head and no other.

    Attributes
    ----------
    query, key, value : float32 ndarray of shape (width, dim)
        A vector of the stream times one of them (plus its bias) is the token's query, key or value.
    query_bias, key_bias, value_bias : float32 ndarray of shape (dim,)
    output : float32 ndarray of shape (dim, width)
        Carries the head's result back to the width of the stream. The bias of this step belongs to all heads
        of the layer together.
    """

    layer: int
    head: int
    query: np.ndarray
    key: np.ndarray
    value: np.ndarray
    query_bias: np.ndarray
    key_bias: np.ndarray
    value_bias: np.ndarray
    output: np.ndarray

    def __repr__(self) -> str:
        from bertlook_teach.model import head_label

        width, dim = self.query.shape
        return f"HeadMatrices(head {head_label(self.layer, self.head)}, from width {width} to {dim} and back)"


def head_matrices(encoder: Encoder, layer: int, head: int) -> HeadMatrices:
    """The matrices of one head, cut out of the model; layer and head count from 0.

    Raises
    ------
    IndexError
        If there is no such head.
    ValueError
        If the model is not built like BERT (DistilBERT and ALBERT name and share their blocks differently).
    """
    layer, head = check_head(layer, head, encoder.n_layers, encoder.n_heads)
    _require_bert(encoder)
    block = f"encoder.layer.{layer}.attention"
    own = slice(head * encoder.head_size, (head + 1) * encoder.head_size)
    parts = {}
    for name in ("query", "key", "value"):
        # The model keeps a matrix as (to, from) and multiplies by its transpose; here it reads x @ matrix.
        parts[name] = _parameter(encoder, f"{block}.self.{name}.weight")[own].T
        parts[f"{name}_bias"] = _parameter(encoder, f"{block}.self.{name}.bias")[own]
    output = _parameter(encoder, f"{block}.output.dense.weight")[:, own].T
    return HeadMatrices(layer, head, **parts, output=output)


def _require_bert(encoder: Encoder) -> None:
    if encoder.engine is not None:
        return
    layers = getattr(getattr(encoder.model, "encoder", None), "layer", None)
    if layers is None or not hasattr(layers[0].attention, "self"):
        raise ValueError(
            f"{encoder.name} ({encoder.model.config.model_type}) is not built like BERT, so its heads cannot be taken out "
            "by name. BERT, RoBERTa and ELECTRA can; for others use extract_attention(..., vectors=True)."
        )


def _parameter(encoder: Encoder, name: str) -> np.ndarray:
    """A tensor of a model built like BERT."""
    return as_array(
        encoder.model.get_parameter(name) if encoder.engine is None else encoder.engine.weights[name]
    )
