"""The tensors of a BERT: their names and shapes, weights drawn as torch draws them, and the digest by which a model is known."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable, Mapping
from typing import Any

import numpy as np

# Of an attention block: the word in a tensor's name, and what the vectors are called here.
PARTS = {"query": "queries", "key": "keys", "value": "values"}
EMBEDDINGS = {
    "token": "embeddings.word_embeddings.weight",
    "position": "embeddings.position_embeddings.weight",
    "segment": "embeddings.token_type_embeddings.weight",
}
TABLES = frozenset(EMBEDDINGS.values())
HEAD_TENSORS = {
    "masked_lm": (
        "cls.predictions.bias",
        *(f"cls.predictions.transform.{part}" for part in ("dense.weight", "dense.bias")),
        *(f"cls.predictions.transform.LayerNorm.{part}" for part in ("weight", "bias")),
    ),
    "next_sentence": ("cls.seq_relationship.weight", "cls.seq_relationship.bias"),
}
_AT_ONCE = 1 << 16


def _linear_shapes(name: str, to: int, of: int) -> dict[str, tuple[int, ...]]:
    return {f"{name}.weight": (to, of), f"{name}.bias": (to,)}


def tensor_shapes(config: dict) -> dict[str, tuple[int, ...]]:
    """Name -> shape of every tensor of BertModel, in the order in which it makes them."""
    width, inner = config["hidden_size"], config["intermediate_size"]

    def norm(name):
        return {f"{name}.weight": (width,), f"{name}.bias": (width,)}

    shapes = {
        EMBEDDINGS["token"]: (config["vocab_size"], width),
        EMBEDDINGS["position"]: (config["max_position_embeddings"], width),
        EMBEDDINGS["segment"]: (config["type_vocab_size"], width),
        **norm("embeddings.LayerNorm"),
    }
    for layer in range(config["num_hidden_layers"]):
        block = f"encoder.layer.{layer}"
        for part in PARTS:
            shapes |= _linear_shapes(f"{block}.attention.self.{part}", width, width)
        shapes |= _linear_shapes(f"{block}.attention.output.dense", width, width)
        shapes |= norm(f"{block}.attention.output.LayerNorm")
        shapes |= _linear_shapes(f"{block}.intermediate.dense", inner, width)
        shapes |= _linear_shapes(f"{block}.output.dense", width, inner)
        shapes |= norm(f"{block}.output.LayerNorm")
    return shapes | _linear_shapes("pooler.dense", width, width)


def sketch_bert(config: dict, seed: int) -> dict[str, np.ndarray]:
    """The tensors of `draw_bert` as zeros that take no room, but for the matrix drawn last: enough to tell one draw from another."""
    shapes = tensor_shapes(config)
    zeros = {name: np.broadcast_to(np.float32(0), shape) for name, shape in shapes.items()}
    last = max(name for name, shape in shapes.items() if len(shape) == 2)
    return zeros | {last: draw_weights(config, seed, shapes, {last})[last]}


def draw_head(config: dict, seed: int, kind: str) -> dict[str, np.ndarray]:
    """A head as transformers draws it after the same seed: behind a whole BERT, which has no pooler where masked words are guessed."""
    width, top, shapes = config["hidden_size"], "cls.predictions", tensor_shapes(config)
    if kind == "masked_lm":
        shapes = {name: shape for name, shape in shapes.items() if not name.startswith("pooler.")}
        shapes |= _linear_shapes(f"{top}.transform.dense", width, width)
        shapes |= {f"{top}.transform.LayerNorm.{part}": (width,) for part in ("weight", "bias")}
        shapes |= _linear_shapes(f"{top}.decoder", config["vocab_size"], width)
    else:
        shapes |= _linear_shapes("cls.seq_relationship", 2, width)
    drawn = draw_weights(config, seed, shapes, HEAD_TENSORS[kind])
    drawn[f"{top}.bias"] = drawn.get(f"{top}.decoder.bias")  # the decoder is tied to the word embeddings
    return {name: drawn[name] for name in HEAD_TENSORS[kind]}


def draw_weights(
    config: dict, seed: int, shapes: dict[str, tuple[int, ...]], wanted=None
) -> dict[str, np.ndarray]:
    """Of the matrices, those ``wanted``, or all."""
    bits = np.random.MT19937()
    bits.state = np.random.RandomState(seed).get_state(legacy=False)
    sizes = {name: int(np.prod(shape)) for name, shape in shapes.items()}
    for name, size in sizes.items():
        if "LayerNorm" not in name:  # only the tables are Gaussian from the start
            bits.random_raw(size + 16 * (name in TABLES and size % 16 > 0), output=False)
    weights = {}
    for name, shape in shapes.items():
        if len(shape) < 2:
            weights[name] = np.full(shape, "LayerNorm.weight" in name, np.float32)
        elif wanted is None or name in wanted:
            weights[name] = _gaussian(bits, sizes[name]).reshape(shape)
            weights[name] *= np.float32(config.get("initializer_range") or 0.02)
        else:
            bits.random_raw(sizes[name] + 16 * (sizes[name] % 16 > 0), output=False)
    if (padding := config.get("pad_token_id", 0)) is not None and EMBEDDINGS["token"] in weights:
        weights[EMBEDDINGS["token"]][padding] = 0
    return weights


def _gaussian(bits: np.random.MT19937, size: int) -> np.ndarray:
    """The transform of Box and Muller on blocks of 16, as torch fills a tensor on the processor; the last 16 are drawn anew if some are left over."""

    def block(size):
        uniform = (bits.random_raw(size) & (2**24 - 1)).astype(np.float32) * np.float32(2**-24)
        pairs = uniform.reshape(-1, 2, 8)
        radius = np.sqrt(np.float32(-2) * np.log(1 - pairs[:, 0]))
        angle = np.float32(2 * np.pi) * pairs[:, 1]
        pairs[:, 0], pairs[:, 1] = radius * np.cos(angle), radius * np.sin(angle)
        return uniform

    drawn, whole = np.empty(size, np.float32), size // 16 * 16
    for start in range(0, whole, _AT_ONCE):  # the raw numbers of a large table take four times its room
        part = drawn[start : min(start + _AT_ONCE, whole)]
        part[:] = block(len(part))
    if size % 16:
        bits.random_raw(size % 16, output=False)
        drawn[-16:] = block(16)
    return drawn


def few_digits(tensors: Mapping[str, Any]) -> list[str]:
    """Some weights to two digits: the same on every processor, and others if they were drawn by another rule."""
    *_, drawn = (weights for _, weights in sorted(tensors.items()) if weights.ndim == 2)
    return [f"{weight:.2g}" for weight in drawn.flatten()[:8].tolist()]


def fingerprint_of(tensors: Mapping[str, Any], tokenizer, content: Callable[[Any], bytes]) -> str:
    """16 hexadecimal digits for a model's shape and vocabulary and the ``content`` of its tensors."""
    digest = hashlib.sha256()
    for name, tensor in sorted(tensors.items()):
        digest.update(f"{name} {tuple(tensor.shape)}".encode())
        digest.update(content(tensor))
    digest.update(json.dumps(sorted(tokenizer.get_vocab().items())).encode())
    return digest.hexdigest()[:16]
