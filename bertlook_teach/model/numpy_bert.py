"""BERT in NumPy: the forward pass of a folder, ready before torch would be imported, and the same numbers to 1e-5.

Devlin et al. (2019), as transformers computes it in evaluation mode: no dropout, float32, plain attention. What another program
would have to be asked for (another family, activation or kind of file, a tensor that is missing, damaged or left over) is not read
here: `open_bert` gives None, and torch and transformers take the folder or say what is wrong with it.
"""

from __future__ import annotations

import json
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from types import SimpleNamespace

import numpy as np

from .tensors import EMBEDDINGS, HEAD_TENSORS, PARTS, TABLES, draw_head, draw_weights, tensor_shapes

_DTYPES = {"F32": np.dtype("<f4"), "F16": np.dtype("<f2"), "I8": np.dtype("i1")}
SCALE = ".scale"  # NAME.scale beside an 8-bit NAME: for each row, one number a group of neighbouring weights
_NUMBERS = (
    "hidden_size",
    "intermediate_size",
    "max_position_embeddings",
    "num_attention_heads",
    "num_hidden_layers",
    "type_vocab_size",
    "vocab_size",
)

_OFF = ("add_cross_attention", "auto_map", "is_decoder", "pruned_heads", "quantization_config")

# erf of a float32 as a quotient of two polynomials in its square, highest power first: the coefficients of Eigen and XLA.
_ABOVE = (
    -2.72614225801306e-10,
    2.77068142495902e-08,
    -2.10102402082508e-06,
    -5.69250639462346e-05,
    -7.34990630326855e-04,
    -2.95459980854025e-03,
    -1.60960333262415e-02,
)
_BELOW = (
    -1.45660718464996e-05,
    -2.13374055278905e-04,
    -1.68282697438203e-03,
    -7.37332916720468e-03,
    -1.42647390514189e-02,
)


@dataclass(frozen=True)
class Pass:
    """What one forward pass gives; lists hold one float32 array a layer.

    Attributes
    ----------
    maps : list of arrays (batch, head, query, key)
    vectors : dict, "queries", "keys" and "values" -> list of arrays (batch, head, token, dim)
    states : list of arrays (batch, token, width)
        The embeddings, then the output of each layer.
    """

    maps: list[np.ndarray]
    vectors: dict[str, list[np.ndarray]]
    states: list[np.ndarray]


class NumpyBert:
    """The weights of a BERT folder under the names they have in BertModel, and what is computed with them.

    Attributes
    ----------
    config : SimpleNamespace
        The folder's config.json.
    weights : dict
        Name -> array, float32; matrices are (to, from) as in torch. Tables of embeddings and the heads of pre-training stay in
        the precision of the file.
    heads : dict
        The same for the heads it was pre-trained with (``cls. ...``), as far as the folder holds them.
    seed : int, optional
        Of a random twin, whose weights and heads are drawn when they are asked for.
    """

    def __init__(self, config: dict, weights=None, heads=None, seed: int | None = None):
        self.config, self.heads, self.seed = SimpleNamespace(**config), heads or {}, seed
        if weights is not None:
            self.weights = _as_read(weights)

    @cached_property
    def weights(self) -> dict[str, np.ndarray]:
        return _as_read(draw_weights(vars(self.config), self.seed, tensor_shapes(vars(self.config))))

    def embed(self, ids, segments=None) -> dict[str, np.ndarray]:
        """The three vectors of each token, "token", "position" and "segment", and the "stream" that the first layer reads."""
        segments = np.zeros_like(ids) if segments is None else segments
        rows = {"token": ids, "position": np.arange(ids.shape[1])[None], "segment": segments}
        parts = {
            part: self.weights[EMBEDDINGS[part]][index].astype(np.float32) for part, index in rows.items()
        }
        total = parts["token"] + parts["segment"] + parts["position"]
        return parts | {"stream": self._norm("embeddings.LayerNorm", total)}

    def run(self, ids, mask=None, segments=None, *, change=None, start=0, stream=None) -> Pass:
        """Read a batch.

        Parameters
        ----------
        ids, segments : integer arrays of shape (batch, token)
        mask : array of the same shape, optional
            0 for padding, at which no token looks.
        change : function, optional
            Gets the layer (from 0), what its heads hand on and their values, both (batch, head, token, dim), and gives what they hand on instead.
        start, stream : int, array of shape (batch, token, width)
            Begin at this layer with what it reads; ``ids`` and ``segments`` are not asked then.
        """
        config, stream = self.config, self.embed(ids, segments)["stream"] if stream is None else stream
        batch, n, width = stream.shape
        heads, size = config.num_attention_heads, width // config.num_attention_heads
        hidden = None if mask is None or np.all(mask) else np.asarray(mask)[:, None, None, :] == 0
        found = Pass([], {name: [] for name in PARTS.values()}, [stream])
        for layer in range(start, config.num_hidden_layers):
            block = f"encoder.layer.{layer}"
            for part, name in PARTS.items():
                vectors = self._linear(f"{block}.attention.self.{part}", stream)
                found.vectors[name].append(vectors.reshape(batch, n, heads, size).swapaxes(1, 2))
            queries, keys, values = (kept[-1] for kept in found.vectors.values())
            weights = queries @ keys.swapaxes(-1, -2)
            weights *= np.float32(size**-0.5)
            if hidden is not None:
                np.copyto(weights, np.finfo(np.float32).min, where=hidden)
            found.maps.append(softmax_in_place(weights))
            handed = weights @ values
            if change is not None:
                handed = change(layer, handed, values)
            joined = handed.swapaxes(1, 2).reshape(batch, n, width)
            update = self._linear(f"{block}.attention.output.dense", joined)
            stream = self._norm(f"{block}.attention.output.LayerNorm", update + stream)
            inner = _gelu(self._linear(f"{block}.intermediate.dense", stream))
            stream = self._norm(
                f"{block}.output.LayerNorm", self._linear(f"{block}.output.dense", inner) + stream
            )
            found.states.append(stream)
        return found

    def has_head(self, kind: str) -> bool:
        """Whether the folder holds the head for ``"masked_lm"`` or ``"next_sentence"``; a random twin has both."""
        if self.seed is not None and not set(HEAD_TENSORS[kind]) <= set(self.heads):
            self.heads |= draw_head(vars(self.config), self.seed, kind)
        tied = kind != "masked_lm" or self.config.__dict__.get("tie_word_embeddings", True)
        return tied and set(HEAD_TENSORS[kind]) <= set(self.heads)

    def masked_lm(self, vectors) -> np.ndarray:
        """Last hidden vectors (..., width) to one score for each wordpiece (..., vocabulary)."""
        inner = _gelu(self._linear("cls.predictions.transform.dense", vectors))
        inner = self._norm("cls.predictions.transform.LayerNorm", inner)
        table = self.weights[EMBEDDINGS["token"]].astype(np.float32, copy=False)
        return inner @ table.T + self._single("cls.predictions.bias")

    def next_sentence(self, vectors) -> np.ndarray:
        """Last hidden vectors at [CLS] (..., width) to two scores (..., 2): goes on, does not go on."""
        return self._linear("cls.seq_relationship", np.tanh(self._linear("pooler.dense", vectors)))

    def _single(self, name: str) -> np.ndarray:
        array = self.weights[name] if name in self.weights else self.heads[name]
        return array.astype(np.float32, copy=False)

    def _linear(self, name: str, vectors) -> np.ndarray:
        flat = vectors.reshape(-1, vectors.shape[-1]) @ self._single(f"{name}.weight").T
        flat += self._single(f"{name}.bias")
        return flat.reshape(*vectors.shape[:-1], -1)

    def _norm(self, name: str, vectors) -> np.ndarray:
        centred = vectors - vectors.mean(axis=-1, keepdims=True)
        variance = np.square(centred).mean(axis=-1, keepdims=True)
        centred /= np.sqrt(variance + np.float32(self.config.layer_norm_eps))
        centred *= self._single(f"{name}.weight")
        centred += self._single(f"{name}.bias")
        return centred


def _as_read(weights: dict[str, np.ndarray]) -> dict[str, np.ndarray]:
    read = {
        name: array if name in TABLES else array.astype(np.float32, copy=False)
        for name, array in weights.items()
    }
    for array in read.values():  # a head's matrices are parts of these; who changes a model asks torch for it
        array.setflags(write=False)
    return read


def as_array(tensor) -> np.ndarray:
    """An array, or a tensor of torch wherever it lies, as a float32 array."""
    if not isinstance(tensor, np.ndarray):
        tensor = tensor.detach().float().cpu().numpy()
    return tensor.astype(np.float32, copy=False)


def softmax_in_place(scores):
    """Over the last axis."""
    scores -= scores.max(axis=-1, keepdims=True)
    np.exp(scores, out=scores)
    scores /= scores.sum(axis=-1, keepdims=True)
    return scores


def _gelu(vectors):
    """x times the share of a normal distribution below x, with erf to 2e-7."""
    half = vectors * np.float32(0.5)
    x = np.clip(vectors * np.float32(0.5**0.5), -4, 4)
    square = x * x
    above, below = np.full_like(x, _ABOVE[0]), np.full_like(x, _BELOW[0])
    for polynomial, coefficients in ((above, _ABOVE), (below, _BELOW)):
        for coefficient in coefficients[1:]:
            polynomial *= square
            polynomial += np.float32(coefficient)
    x *= above
    x /= below
    x += 1
    x *= half
    return x


def open_bert(folder: Path, config: dict, *, mapped: bool = False) -> NumpyBert | None:
    """The BERT in a folder, or None if it is not one that can be run here; then transformers says what it is.

    Parameters
    ----------
    folder : Path
    config : dict
        Its config.json.
    mapped : bool
        Leave float32 weights in the file, so that processes share its pages; for files that nobody writes to.

    Raises
    ------
    ValueError
        If weights are 8-bit integers without the scales that make numbers of them.
    """
    files = [path.name for path in folder.glob("*.safetensors")]
    others = any((folder / name).exists() for name in ("model.safetensors.index.json", "adapter_config.json"))
    if not _is_plain_bert(config) or files != ["model.safetensors"] or others:
        return None
    try:
        tensors = _read_safetensors(folder / "model.safetensors", mapped)
    except (OSError, ValueError, LookupError, TypeError, AttributeError, RecursionError):
        return None
    renamed = {
        name.removeprefix("bert.").replace(".gamma", ".weight").replace(".beta", ".bias"): array
        for name, array in tensors.items()
    }
    renamed = dequantised(renamed, folder)
    shapes = tensor_shapes(config)
    weights = {name: renamed.pop(name) for name in shapes if name in renamed}
    heads = {name: array for name, array in renamed.items() if name.startswith("cls.")}
    left = [name for name in renamed if name not in heads]
    fits = {name: array.shape for name, array in weights.items()} == shapes
    if not fits or left or not all(np.isfinite(array).all() for array in weights.values()):
        return None
    return NumpyBert(config, weights, heads)


def has_8_bits(folder: Path) -> bool:
    """Whether a folder keeps weights in 8 bits, by the headers of its files. transformers would not know what scales them."""
    try:
        headers = [_read_header(np.memmap(file, np.uint8, "r"))[1] for file in folder.glob("*.safetensors")]
        return any(about["dtype"].startswith(("I8", "U8", "F8")) for one in headers for about in one.values())
    except (OSError, ValueError, LookupError, TypeError, AttributeError, RecursionError):
        return False  # damaged, or another kind of folder: the code that loads it says so


def dequantised(tensors: dict[str, np.ndarray], folder: Path) -> dict[str, np.ndarray]:
    """Matrices of 8-bit integers, (row, column), times their scales, (row, group of neighbouring columns); all else as it is.

    The result is float32. A table of embeddings gets the type of its scales: it is the largest part, and its rows are copied anyway.
    """
    found = {name: array for name, array in tensors.items() if not name.endswith(SCALE)}
    for name, array in found.items():
        if array.dtype != np.int8:
            continue
        scale = tensors.get(name + SCALE)
        fits = scale is not None and array.ndim == scale.ndim == 2 and len(scale) == len(array)
        if not fits or array.shape[1] % scale.shape[1]:
            held = "no such tensor" if scale is None else f"shape {scale.shape} for {array.shape}"
            raise ValueError(
                f"{name} in {folder} holds 8-bit integers and needs {name + SCALE}, one number for each row and group of columns; "
                f"found {held}. Use the model in float16 or float32."
            )
        matrix = (array.reshape(*scale.shape, -1) * scale[:, :, None].astype(np.float32)).reshape(array.shape)
        found[name] = matrix.astype(scale.dtype) if name in TABLES else matrix
    return found


def draw_bert(config: dict, seed: int) -> NumpyBert | None:
    """The BERT that torch and transformers would draw after ``torch.manual_seed(seed)``, to the last digits.

    Every module draws weights when it is made, and BERT's rule draws them again in the same order: Gaussian matrices, biases of
    0. None where torch draws in another way: a matrix of fewer than 16 numbers, a seed of more than 32 bits.
    """
    shapes = tensor_shapes(config)
    if min(np.prod(shape) for shape in shapes.values() if len(shape) == 2) < 16 or not 0 <= seed < 2**32:
        return None
    return NumpyBert(config, seed=seed)


def _is_plain_bert(config: dict) -> bool:
    """The settings that change what is computed: those that are read here must be there, any other must be off."""
    return (
        config.get("model_type") == "bert"
        and config.get("hidden_act") == "gelu"
        and config.get("position_embedding_type") in (None, "absolute")
        and all(isinstance(config.get(name), int) and config[name] > 0 for name in _NUMBERS)
        and isinstance(config.get("layer_norm_eps"), float)
        and config["hidden_size"] % config["num_attention_heads"] == 0
        and not any(config.get(name) for name in _OFF)
    )


_MOST_HEADER = 100_000_000  # bytes, as safetensors has it


def _read_header(data: np.ndarray) -> tuple[int, dict]:
    """Where the tensors of a safetensors file start, and name -> what is said of each."""
    start = 8 + int(data[:8].view("<u8")[0])
    if start > min(len(data), _MOST_HEADER):
        raise ValueError("its header is longer than the file, or than any header")
    header = json.loads(data[8:start].tobytes())
    header.pop("__metadata__", None)
    return start, header


def _read_safetensors(path: Path, mapped: bool) -> dict[str, np.ndarray]:
    """Name -> array over the bytes of the file: the length of the header, the header as JSON, the tensors.

    safetensors itself copies every tensor, and no two processes would share one.
    """
    data = np.memmap(path, np.uint8, "r") if mapped else np.fromfile(path, np.uint8)
    start, header = _read_header(data)
    tensors = {}
    for name, about in header.items():
        # 0, 1, 2, ...: older versions of transformers saved them, as integers
        if name.endswith("position_ids"):
            continue
        first, last = about["data_offsets"]
        if not 0 <= first <= last <= len(data) - start:
            raise ValueError(f"{name} lies outside the file")
        held = data[start + first : start + last].view(_DTYPES[about["dtype"]])
        tensors[name] = held.reshape(about["shape"])
    return tensors
