"""Attention of one input: what `extract_attention`, in reading.py, returns."""

from __future__ import annotations

import json
import operator
from collections.abc import Sequence
from dataclasses import dataclass, replace
from html import escape
from pathlib import Path

import numpy as np

from ..disk import load_arrays, parse_json, replacing, save_arrays
from .any_attention import by_letters, check_weights, not_padding, stacked_weights, words_from_marks
from .head_names import check_head, model_title, parse_head_label
from .words import looks_special, merge_weights, word_groups

_ARRAYS = ("weights", "queries", "keys", "values")


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
    key_tokens, key_special : tuples as ``tokens`` and ``special``, or None
        In cross attention, what is looked at; the queries are ``tokens``.
    causal : bool
        Every token looks only at itself and at what stands before it, as in a decoder.
    grid : (int, int) or None
        Rows and columns of the patches, where the tokens are patches of an image.
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
    key_tokens: tuple[str, ...] | None = None
    key_special: tuple[bool, ...] | None = None
    causal: bool = False
    grid: tuple[int, int] | None = None

    def __len__(self) -> int:
        """Layers, as of the array of weights."""
        return len(self.weights)

    @property
    def shape(self) -> tuple[int, ...]:
        return self.weights.shape

    def __getitem__(self, place):
        """A part of the weights: ``attention[layer, head]`` is one map, counted from 0; so is ``attention["1-6"]``, by its printed name."""
        return self.weights[parse_head_label(place) if isinstance(place, str) else place]

    def __array__(self, dtype=None, copy=None) -> np.ndarray:
        return np.array(self.weights, dtype=dtype, copy=copy)

    @classmethod
    def from_arrays(
        cls,
        weights,
        tokens: Sequence[str] | None = None,
        key_tokens: Sequence[str] | None = None,
        *,
        sentence_b_start: int | None = None,
        special: Sequence[bool] | None = None,
        grid: tuple[int, int] | None = None,
        causal: bool | None = None,
        model: str = "",
    ) -> Attention:
        """Attention of any model, as its library hands it over.

        Parameters
        ----------
        weights
            ``outputs.attentions`` of Hugging Face, a cache of TransformerLens, or an array of one map, one layer or all: see
            `bertlook_teach.model.stacked_weights`. An array with four axes is (layer, head, query, key).
        tokens : sequence of str
            What looks, one for each row of each map. For the patches of an image it may be left out where ``grid`` is given.
        key_tokens : sequence of str, optional
            What is looked at, one a column, where that is another text: cross attention.
        sentence_b_start : int, optional
            Position of the second text's first token, as in BertViz.
        special : sequence of bool, optional
            Which tokens the tokenizer added; by default those written like [CLS], </s> or <|endoftext|>.
        grid : (int, int), optional
            Rows and columns of an image's patches. One token more than patches is [CLS], in front.
        causal : bool, optional
            By default whether no token of any head looks at a later one.
        model : str
            Its name.

        Raises
        ------
        ValueError
            If weights are missing (None), of several texts, not shares of 1, or of another length than the tokens.

        Examples
        --------
        >>> Attention.from_arrays([[1, 0], [.2, .8]], ["the", "cat"])
        Attention(1 layers x 1 heads, 2 wordpieces: the cat)
        """
        if isinstance(weights, Attention):
            if tokens is not None or key_tokens is not None or sentence_b_start is not None:
                raise ValueError("an Attention has its tokens and segments already; leave them out.")
            return weights
        weights = stacked_weights(weights)
        n_queries, n_keys = weights.shape[2:]
        grid, patches = _patches(grid, n_queries)
        tokens = _strings(patches if tokens is None else tokens, n_queries, "tokens", "queries")
        if key_tokens is not None:
            key_tokens = _strings(key_tokens, n_keys, "key_tokens", "keys")
        elif n_queries != n_keys:
            raise ValueError(
                f"the maps have {n_queries} queries and {n_keys} keys. For attention to another text give its tokens as key_tokens; "
                "with a cache of past keys, call the model once with the whole text instead."
            )
        special = list(map(looks_special, tokens)) if special is None else list(map(bool, special))
        b_start = n_queries if sentence_b_start is None else sentence_b_start
        if len(special) != n_queries:
            raise ValueError(
                f"special needs one entry for each token, {n_queries} of them; got {len(special)}."
            )
        if not 0 <= b_start <= n_queries or b_start != int(b_start):
            raise ValueError(f"sentence_b_start is a position from 0 to {n_queries}; got {b_start}.")
        if key_tokens is None:  # a row of a padded batch
            kept = not_padding(weights, tokens)
            weights, b_start = weights[:, :, kept][..., kept], int(kept[: int(b_start)].sum())
            tokens, special = (tuple(one for one, keep in zip(of, kept) if keep) for of in (tokens, special))
        check_weights(weights, tokens, key_tokens, whole=True)
        flags, n_queries = tuple(special), len(tokens)
        word_ids, words = words_from_marks(tokens, flags)
        words = tuple(word.lstrip("Ġ") for word in by_letters([f"Ġ{word}" for word in words]))
        if causal is None:
            causal = key_tokens is None and n_queries > 1 and not np.triu(weights, 1).any()
        return cls(
            weights=weights,
            tokens=by_letters(tokens, flags),
            word_ids=word_ids,
            segment_ids=tuple(int(i >= b_start) for i in range(n_queries)),
            special=flags,
            words=words,
            text=" ".join(words),
            segments="unknown",
            model=model,
            key_tokens=key_tokens,
            key_special=None if key_tokens is None else tuple(map(looks_special, key_tokens)),
            causal=bool(causal),
            grid=grid,
        )

    @property
    def n_layers(self) -> int:
        return self.weights.shape[0]

    @property
    def n_heads(self) -> int:
        return self.weights.shape[1]

    @property
    def n_tokens(self) -> int:
        return self.weights.shape[-1]

    @property
    def badge(self) -> str:
        """What a view writes beside it: that it was recorded, or which model this is; nothing for the specimen."""
        return self.recorded or ("" if self.model == "specimen" else model_title(self.model))

    def head(self, layer: int, head: int) -> np.ndarray:
        """The map of one head, shape (query, key); layer and head count from 0."""
        return self.weights[check_head(layer, head, self.n_layers, self.n_heads)]

    def to_words(self, query: str = "mean") -> Attention:
        """The same attention between words: pieces looked at are added up, pieces that look are averaged.

        [CLS] and [SEP] count as words. See :func:`bertlook_teach.model.merge_weights` for ``query``.
        """
        if self.level == "word":
            return self
        if self.key_tokens is not None:
            raise ValueError(
                "cross attention is between the tokens of two texts; it is shown between tokens, not words."
            )
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
        arrays = {name: getattr(self, name) for name in _ARRAYS if getattr(self, name) is not None}
        fields = {name: getattr(self, name) for name in self.__dataclass_fields__ if name not in _ARRAYS}
        with replacing(path, "wb") as file:
            save_arrays(file, {"about": np.array(json.dumps(fields)), **arrays})

    @classmethod
    def load(cls, path: str | Path) -> Attention:
        """Read what :meth:`save` wrote.

        Raises
        ------
        FileNotFoundError
            If there is no such file.
        ValueError
            If it was not written by `save`, was damaged, or is an archive made to fill memory; says which.
        """
        try:
            arrays = load_arrays(path)
        except ValueError as error:
            raise ValueError(
                f"{path} cannot be read as saved attention ({error}). Copy it again, or save it anew."
            ) from None
        if "about" not in arrays or "weights" not in arrays:
            held = ", ".join(arrays)[:200] or "nothing"
            raise ValueError(f"{path} was not written by Attention.save: it holds {held}.")
        about = arrays.pop("about")
        try:
            return cls(**_checked_fields(parse_json(str(about)), arrays), **arrays)
        except ValueError as error:
            raise ValueError(f"{path} was not written by Attention.save, or is damaged: {error}.") from None

    def __repr__(self) -> str:
        shown = " ".join(self.tokens[:12]) + (" ..." if len(self.tokens) > 12 else "")
        kind = "words" if self.level == "word" else "wordpieces"
        n = self.n_tokens if self.key_tokens is None else f"{len(self.tokens)} x {self.n_tokens}"
        return f"Attention({self.recorded}{', ' * bool(self.recorded)}{self.n_layers} layers x {self.n_heads} heads, {n} {kind}: {shown})"

    def _repr_html_(self) -> str:
        """The same for a notebook, with up to 60 of its tokens."""
        shown = " ".join(self.tokens[:60]) + (" ..." if len(self.tokens) > 60 else "")
        about, _, _ = repr(self).removeprefix("Attention(").partition(": ")
        return f'<p>Attention, {escape(about)}<br><code dir="auto">{escape(shown[:1000])}</code></p>'


def _checked_fields(about, arrays: dict[str, np.ndarray]) -> dict:
    """The fields beside the arrays, lists as tuples, if each is what `Attention` says."""
    weights = arrays["weights"]
    if weights.ndim != 4 or weights.dtype.kind != "f" or not weights.size or not np.isfinite(weights).all():
        raise ValueError("its weights are not numbers of shape (layer, head, query, key)")
    *heads, n, n_keys = weights.shape
    for name, array in arrays.items():
        if name not in _ARRAYS:
            raise ValueError(f"it holds {name!r:.40}")
        if array.ndim != 4 or array.dtype.kind != "f" or list(array.shape[:2]) != heads:
            raise ValueError(f"its {name} are not numbers of shape (layer, head, token, dim)")
    lists = {
        "tokens": (n, str),
        "word_ids": (n, int | None),
        "segment_ids": (n, int),
        "special": (n, bool),
        "words": (None, str),
        "key_tokens": (n_keys, str),
        "key_special": (n_keys, bool),
        "grid": (2, int),
    }
    plain = dict.fromkeys(("text", "segments", "level", "model", "recorded"), str)
    plain |= {"text_pair": str | None, "truncated": bool, "causal": bool}
    needed = {*list(lists)[:5], "text"}
    if not isinstance(about, dict) or not needed <= set(about) <= set(lists) | set(plain):
        raise ValueError(f"it does not say {', '.join(sorted(needed))}, or says what is unknown")
    fields = {}
    for name, value in about.items():
        if name in plain:
            right = isinstance(value, plain[name])
        else:
            length, kind = lists[name]
            right = (value is None and name not in needed) or (
                isinstance(value, list)
                and length in (None, len(value))
                and all(isinstance(one, kind) for one in value)
            )
        if not right:
            raise ValueError(f"its {name} is not as it was saved, {value!r:.60}")
        fields[name] = tuple(value) if isinstance(value, list) else value
    if not all(word is None or 0 <= word < len(fields["words"]) for word in fields["word_ids"]):
        raise ValueError(f"a token belongs to a word that is not among its {len(fields['words'])} words")
    return fields


def _strings(tokens, expected: int, name: str, axis: str) -> tuple[str, ...]:
    if tokens is None:
        raise TypeError(
            "tokens is missing: one string for each position. For patches of an image give grid=(rows, columns)."
        )
    if isinstance(tokens, str) or not all(isinstance(token, str) for token in tokens):
        raise TypeError(
            f"{name} is a sequence of strings, one a position; got {tokens!r:.60}. tokenizer.convert_ids_to_tokens(ids) gives it."
        )
    tokens = tuple(tokens)
    if len(tokens) != expected:
        raise ValueError(
            f"the maps have {expected} {axis} and there are {len(tokens)} {name}. Do both come from the same call, with the special "
            "tokens and without padding?"
        )
    return tokens


def _patches(grid, n: int) -> tuple[tuple[int, int] | None, tuple[str, ...] | None]:
    """The grid of an image's patches, and their names by row and column from 1; a token more is [CLS]."""
    if grid is None:
        return None, None
    try:
        rows, columns = map(operator.index, grid)
    except (TypeError, ValueError):
        raise ValueError(f"grid is two whole numbers, (rows, columns) of patches; got {grid!r}.") from None
    patches = tuple(f"{row + 1},{column + 1}" for row in range(rows) for column in range(columns))
    if n - len(patches) not in (0, 1):
        raise ValueError(
            f"a grid of {rows} x {columns} has {len(patches)} patches, with [CLS] one more; the maps have {n} tokens."
        )
    return (rows, columns), ("[CLS]",) * (n - len(patches)) + patches
