"""Attention of one input: what `extract_attention` returns."""

from __future__ import annotations

import json
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np

from ..disk import replacing
from .words import merge_weights, word_groups

_VECTORS = ("queries", "keys", "values")


@dataclass(frozen=True, eq=False)
class Attention:
    """All attention maps of an encoder for one input.

    Attributes
    ----------
    weights : float32 ndarray of shape (layer, head, query, key)
        After softmax: row ``query`` says where that token looks, and sums to 1.
    tokens : tuple of str
        What the model reads: wordpieces with [CLS] and [SEP]; words after :meth:`to_words`.
    word_ids : tuple of int or None
        The word each token belongs to, counted from 0 through both texts; None for a special token.
    segment_ids : tuple of int
        0 for the first text (with its [CLS] and [SEP]), 1 for the second.
    special : tuple of bool
        True where the model's input format put the token there, False where the text did.
    words : tuple of str
        The words as they stand in the text.
    text, text_pair : str, str or None
        The input.
    segments : {"standard", "zeros", "none", "unknown"}
        What the model was told about segments: ``segment_ids``, all zeros, or nothing (it has no such input); unknown in a recording
        whose source does not say.
    level : {"wordpiece", "word"}
    model : str
        Name of the encoder.
    recorded : str
        What a view writes beside it if it was recorded and not computed here, such as "BERT-base, recorded"; else empty.
    queries, keys, values : float32 ndarray of shape (layer, head, token, dim), or None
        Per-head vectors, biases included; only with ``vectors=True``, at wordpiece level.
    """

    weights: np.ndarray
    tokens: tuple[str, ...]
    word_ids: tuple[int | None, ...]
    segment_ids: tuple[int, ...]
    special: tuple[bool, ...]
    words: tuple[str, ...]
    text: str
    text_pair: str | None = None
    segments: str = "standard"
    level: str = "wordpiece"
    model: str = ""
    truncated: bool = False
    recorded: str = ""
    queries: np.ndarray | None = None
    keys: np.ndarray | None = None
    values: np.ndarray | None = None

    @property
    def n_layers(self) -> int:
        return self.weights.shape[0]

    @property
    def n_heads(self) -> int:
        return self.weights.shape[1]

    @property
    def n_tokens(self) -> int:
        return self.weights.shape[-1]

    def head(self, layer: int, head: int) -> np.ndarray:
        """The map of one head, shape (query, key); layer and head count from 0."""
        if not (0 <= layer < self.n_layers and 0 <= head < self.n_heads):
            raise IndexError(
                f"no head [{layer}, {head}]: layers go from 0 to {self.n_layers - 1}, heads from 0 to {self.n_heads - 1}. "
                "A printed name such as '8-10' counts from 1; parse_head_label('8-10') gives the index."
            )
        return self.weights[layer, head]

    def to_words(self, query: str = "mean") -> Attention:
        """The same attention between words: pieces looked at are added up, pieces that look are averaged.

        [CLS] and [SEP] count as words. See :func:`bertlook_teach.model.merge_weights` for ``query``.
        """
        if self.level == "word":
            return self
        groups = word_groups(self.word_ids)
        first = [group[0] for group in groups]
        word_ids = tuple(self.word_ids[i] for i in first)
        return replace(
            self,
            weights=merge_weights(self.weights, groups, query),
            tokens=tuple(self.tokens[i] if w is None else self.words[w] for i, w in zip(first, word_ids)),
            word_ids=word_ids,
            segment_ids=tuple(self.segment_ids[i] for i in first),
            special=tuple(self.special[i] for i in first),
            level="word",
            queries=None,
            keys=None,
            values=None,
        )

    def save(self, path: str | Path) -> None:
        """Write one ``.npz`` file, so that the attention can be shown and measured where there is no torch."""
        arrays = {
            name: getattr(self, name) for name in ("weights", *_VECTORS) if getattr(self, name) is not None
        }
        fields = {
            name: getattr(self, name)
            for name in self.__dataclass_fields__
            if name not in ("weights", *_VECTORS)
        }
        with replacing(path, "wb") as file:
            np.savez_compressed(file, about=np.array(json.dumps(fields)), **arrays)

    @classmethod
    def load(cls, path: str | Path) -> Attention:
        """Read what :meth:`save` wrote."""
        with np.load(path, allow_pickle=False) as file:
            if "about" not in file or "weights" not in file:
                raise ValueError(
                    f"{path} was not written by Attention.save: it holds {', '.join(file) or 'nothing'}."
                )
            fields = json.loads(str(file["about"]))
            arrays = {name: file[name] for name in file if name != "about"}
        fields = {name: tuple(value) if isinstance(value, list) else value for name, value in fields.items()}
        return cls(**fields, **arrays)

    def __repr__(self) -> str:
        shown = " ".join(self.tokens[:12]) + (" ..." if self.n_tokens > 12 else "")
        kind = "words" if self.level == "word" else "wordpieces"
        badge = f"{self.recorded}, " if self.recorded else ""
        return f"Attention({badge}{self.n_layers} layers x {self.n_heads} heads, {self.n_tokens} {kind}: {shown})"
