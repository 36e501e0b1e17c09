"""Recorded attention: what a model did on some inputs, asked as a model is. As a file: `recording_file.py`."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from functools import cached_property

import numpy as np

from .attention import Attention
from .folders import SHIPPED_MODELS
from .head_names import head_label
from .matching import NotRecorded, input_key, regrouped
from .tokenizing import check_segments

FORMAT, VERSION = "bertlook recording", 1

# The published models, by what readers call them; these come with the course.
LABELS = {"bert-base-uncased": "BERT-base", "bert-base-cased": "BERT-base (cased)"}

RECORDED = "recorded, not computed here"

PARTS = 65535  # of a row, 16 bits
_ROW_TOLERANCE = 1e-3  # some sources kept four decimals
VECTORS = ("queries", "keys", "values")
LISTS = ("tokens", "word_ids", "segment_ids", "special", "words")
FIELDS = (*LISTS, "text", "text_pair", "segments", "truncated")


class NotComputed(AttributeError, ValueError):
    """What only a model that can be run has: its weights, its tokenizer, a forward pass."""


_RUNS = frozenset(
    {
        "model",
        "tokenizer",
        "word_tokenizer",
        "attend",
        "device",
        "engine",
        "config",
        "has_segments",
        "head_size",
    }
)


@dataclass(frozen=True, eq=False)
class RecordedInput:
    """One recorded input: fields of its `Attention`, and its arrays as they lie in the file."""

    fields: dict
    arrays: dict[str, np.ndarray]
    source: dict

    @property
    def key(self) -> str | tuple[str, str]:
        text, pair = self.fields["text"], self.fields["text_pair"]
        return text if pair is None else (text, pair)


@dataclass(frozen=True, eq=False)
class Recording(Mapping):
    """Attention that a model once gave on some inputs: a mapping of input -> `Attention`, and a model that knows only these.

    ``extract_attention(recording, text)`` and ``iter_attention(recording, texts)`` work as with an encoder, for what was recorded.
    The keys are the texts, or pairs of texts. Made by :func:`load_recording`.

    Attributes
    ----------
    name : str
        The model that was recorded, for example ``"bert-base-uncased"``.
    label : str
        Its name for readers, for example ``"BERT-base"``.
    about : str
        Where the numbers come from.
    matching : {"lowered words", "words", "exact"}
        What makes a text the same as a recorded one.
    model_fingerprint : str
        Of the weights that gave it, as in `Encoder`; empty where they were not at hand.
    twin_of : str
        Of a random twin: the fingerprint of the model it is the control of. Empty for any other model.

    Raises
    ------
    NotComputed
        Where a function asks for the model itself, such as its tokenizer.
    """

    name: str
    label: str
    about: str
    matching: str
    model_fingerprint: str = ""
    inputs: tuple[RecordedInput, ...] = field(default=(), repr=False)
    twin_of: str = ""

    __hash__ = object.__hash__  # Mapping compares by content and takes it away

    def __eq__(self, other) -> bool:
        return self is other

    def __getattr__(self, name: str):
        name = "model" if name in ("engine", "config") else name  # what runs it, and its settings
        if name in _RUNS:
            raise NotComputed(
                f"{self.name} is {RECORDED}, so it has no {name}: its attention on {len(self)} inputs is all there is (.texts lists them). "
                f"{self._computes()}."
            )
        raise AttributeError(f"{type(self).__name__!r} object has no attribute {name!r}")

    @property
    def badge(self) -> str:
        """What a view writes beside it: ``"BERT-base, recorded"``. A label of somebody's own never stands without the model's name."""
        label = self.label.strip() or self.name
        known = label in (self.name, LABELS.get(self.name))
        return f"{label if known else f'{label} ({self.name})'}, recorded"

    @property
    def note(self) -> str:
        """The badge in full: ``"recorded, not computed here"``."""
        return RECORDED

    @property
    def texts(self) -> tuple[str | tuple[str, str], ...]:
        """The recorded inputs, in the order of the file: a text, or a pair of texts."""
        return tuple(one.key for one in self.inputs)

    @property
    def texts_with_vectors(self) -> tuple[str | tuple[str, str], ...]:
        """Those of which queries and keys were recorded too."""
        return tuple(one.key for one in self.inputs if "queries" in one.arrays)

    @property
    def n_layers(self) -> int:
        return self.inputs[0].arrays["weights"].shape[0]

    @property
    def n_heads(self) -> int:
        return self.inputs[0].arrays["weights"].shape[1]

    @property
    def max_tokens(self) -> int:
        """The longest recorded input in wordpieces, special tokens included."""
        return max(len(one.fields["tokens"]) for one in self.inputs)

    @cached_property
    def fingerprint(self) -> str:
        """16 hexadecimal digits that change when a weight, a token or a name changes."""
        return checksum_of(header_of(self), [one.arrays for one in self.inputs])[:16]

    def source(self, text: str | tuple[str, str]) -> dict:
        """Where one input was found, as the file says it: for example repository, path, commit."""
        return dict(self._find(text).source)

    def recall(
        self, item, *, segments: str = "standard", truncate: bool = False, vectors: bool = False
    ) -> Attention:
        """What `extract_attention` gives for an input: a text, a pair of texts (tuple) or the words of a text (list).

        Raises
        ------
        NotRecorded
            If the input, its vectors, or that rule for segments was not recorded; if it was cut and ``truncate`` does not allow it.
        """
        check_segments(segments)
        found = self._find(item)
        if found.fields["truncated"] and not truncate:
            raise NotRecorded(
                f"{found.key!r:.80} was too long for {self.name}, and was cut to {len(found.fields['tokens'])} wordpieces when it was "
                "recorded. Pass truncate=True to take what was read of it."
            )
        told = found.fields["segments"]
        as_it_is = told in (segments, "none") or (told == "unknown" and segments == "standard")
        if not as_it_is and any(found.fields["segment_ids"]):
            raise NotRecorded(
                f"{found.key!r} was recorded with segments={told!r}, not {segments!r}; a recording cannot be computed anew. "
                f"{self._computes()}."
            )
        if vectors and "queries" not in found.arrays:
            there = "; ".join(map(repr, self.texts_with_vectors)) or "none"
            raise NotRecorded(
                f"queries and keys of {found.key!r} were not recorded. They were for: {there}. {self._computes()}."
            )
        attention = self._attention(found)
        if not vectors:
            attention = replace(attention, queries=None, keys=None, values=None)
        if isinstance(item, list):
            words, word_ids = regrouped(item, found.fields, self.matching)
            attention = replace(attention, words=words, word_ids=word_ids, text=" ".join(item))
        return attention

    def __getitem__(self, text: str | tuple[str, str]) -> Attention:
        return self._attention(self._find(text))

    def __contains__(self, item) -> bool:
        try:
            return input_key(item, self.matching) in self._places
        except TypeError:  # no text at all
            return False

    def __iter__(self) -> Iterator[str | tuple[str, str]]:
        return iter(self.texts)

    def __len__(self) -> int:
        return len(self.inputs)

    def _attention(self, found: RecordedInput) -> Attention:
        arrays = {"weights": found.arrays["weights"] / np.float32(PARTS)}
        for name in VECTORS:
            if name in found.arrays:
                arrays[name] = found.arrays[name] * found.arrays[f"{name}_step"][:, :, None, None]
        return Attention(**found.fields, **arrays, model=self.name, recorded=self.badge)

    def _computes(self) -> str:
        """What to do about anything that was not recorded."""
        if self.twin_of and self.name not in SHIPPED_MODELS:
            return "The twin can be drawn again from its model: random_twin(load_encoder(...))"
        if self.name in SHIPPED_MODELS:
            return f"The model itself can, and comes with the course: load_encoder({self.name!r}), or --model {self.name}"
        return (
            f"The model itself can: load_encoder({self.name!r}), or --model {self.name}, which fetches it the first time and so needs a "
            "network; the specimen needs none"
        )

    def _find(self, item) -> RecordedInput:
        key = input_key(item, self.matching)
        if key not in self._places and key[::-1] in self._places:
            there = self.inputs[self._places[key[::-1]]].key
            raise NotRecorded(
                f"{item!r:.200} was recorded in the other order: {there!r}. A model reads the first text first, so the two orders are two "
                "inputs; ask for the recorded one."
            )
        if key not in self._places:
            known = "\n".join(f"  {text!r}" for text in self.texts[:20])
            more = f"\n  and {len(self) - 20} more (.texts has all)" if len(self) > 20 else ""
            raise NotRecorded(
                f"{item!r:.200} is not among the {len(self)} inputs recorded of {self.name}:\n{known}{more}\n"
                f"A recording cannot read another sentence. {self._computes()}."
            )
        return self.inputs[self._places[key]]

    @cached_property
    def _places(self) -> dict:
        return {input_key(one.key, self.matching): number for number, one in enumerate(self.inputs)}

    def __repr__(self) -> str:
        return f"Recording({self.name!r}, {self.n_layers} layers x {self.n_heads} heads, {len(self)} inputs, {RECORDED})"


# --- as it lies in the file ------------------------------------------------------------------------------------
def header_of(recording: Recording) -> dict:
    """What the file says of a recording and its inputs, without the checksum."""
    inputs = [
        {name: list(value) if isinstance(value, tuple) else value for name, value in one.fields.items()}
        | {"source": one.source}
        for one in recording.inputs
    ]
    return {
        "format": FORMAT,
        "version": VERSION,
        "model": recording.name,
        "label": recording.label,
        "about": recording.about,
        "matching": recording.matching,
        "model_fingerprint": recording.model_fingerprint,
        **({"twin_of": recording.twin_of} if recording.twin_of else {}),
        "inputs": inputs,
    }


def checksum_of(header: Mapping, arrays: Iterable[Mapping[str, np.ndarray]]) -> str:
    """Of everything that a file holds."""
    digest = hashlib.sha256(json.dumps(header, sort_keys=True).encode())
    for one in arrays:
        for name, array in sorted(one.items()):
            digest.update(f"{name} {array.dtype.str} {array.shape}\0".encode())
            digest.update(np.ascontiguousarray(array).tobytes())
    return digest.hexdigest()


def packed_weights(weights: np.ndarray, number: int) -> np.ndarray:
    """Rows in 65,535ths that sum to 1 exactly: rounded down, then one part each to those that lost most."""
    sums = weights.sum(axis=-1, dtype=float)
    if not np.isfinite(weights).all() or weights.min() < 0 or np.abs(sums - 1).max() > _ROW_TOLERANCE:
        bad = ~(np.abs(sums - 1) <= _ROW_TOLERANCE) | (weights.min(axis=-1) < 0)
        layer, head, row = np.argwhere(bad)[0]
        raise ValueError(
            f"input {number + 1}: row {row + 1} of head {head_label(layer, head)} sums to {sums[layer, head, row]:.4f}; attention is positive "
            "and sums to 1. Was something else than attention after softmax given?"
        )
    exact = weights.astype(float) / sums[..., None] * PARTS
    parts = np.floor(exact)
    missing = (PARTS - parts.sum(axis=-1)).astype(int)
    rank = np.argsort(np.argsort(parts - exact, axis=-1, kind="stable"), axis=-1, kind="stable")
    return (parts + (rank < missing[..., None])).astype(np.uint16)


def packed_vectors(vectors: np.ndarray, name: str, number: int) -> tuple[np.ndarray, np.ndarray]:
    """Vectors as int16, and the step of each head."""
    if not np.isfinite(vectors).all():
        raise ValueError(f"input {number + 1}: its {name} hold NaN or infinity.")
    largest = np.abs(vectors).max(axis=(-2, -1))
    step = (np.where(largest > 0, largest, 1) / 32767).astype(np.float32)
    return np.rint(vectors / step[:, :, None, None]).clip(-32767, 32767).astype(np.int16), step
