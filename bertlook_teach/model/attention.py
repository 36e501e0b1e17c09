"""Attention of one input: what `extract_attention` returns, and how it is taken from the model."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from ..disk import replacing
from .head_names import head_label
from .words import merge_weights, word_groups

if TYPE_CHECKING:
    from .encoder import Encoder

SEGMENT_RULES = ("standard", "zeros")

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


TOO_LONG, NO_PIECE, UNKNOWN, NOT_RECORDED = (
    "longer than the model reads",
    "a word leaves no wordpiece",
    "every piece is unknown to the tokenizer",
    "not among the recorded inputs",
)


class ReadingCheck(NamedTuple):
    """How long a text is in wordpieces, special tokens included, and why it cannot be read whole (empty if it can)."""

    n_pieces: int
    obstacle: str


def check_reading(encoder: Encoder, words: Sequence[str]) -> ReadingCheck:
    """Whether an encoder can read a text given as words, each of them as at least one wordpiece.

    For those who go through a corpus and leave out, and count, what `extract_attention` would refuse.
    """
    if _is_recording(encoder):
        try:
            return ReadingCheck(encoder.recall(list(words)).n_tokens, "")
        except ValueError:
            return ReadingCheck(0, NOT_RECORDED)
    pieces = encoder.word_tokenizer(list(words), is_split_into_words=True, verbose=False)
    ids, word_ids = pieces["input_ids"], pieces.word_ids()
    obstacle = ""
    if len(ids) > encoder.max_tokens:
        obstacle = TOO_LONG
    elif len({word for word in word_ids if word is not None}) < len(words):
        obstacle = NO_PIECE
    elif all(i == encoder.tokenizer.unk_token_id for i, word in zip(ids, word_ids) if word is not None):
        obstacle = UNKNOWN
    return ReadingCheck(len(ids), obstacle)


def extract_attention(
    encoder: Encoder,
    text: str | None = None,
    text_pair: str | None = None,
    *,
    words: Sequence[str] | None = None,
    segments: str = "standard",
    truncate: bool = False,
    vectors: bool = False,
) -> Attention:
    """Run an encoder on one text, or on a pair of texts, and return every head's attention.

    Parameters
    ----------
    encoder : Encoder or Recording
        A recording gives what was recorded of the text; it cannot compute another.
    text, text_pair : str
        ``text_pair`` gives the input ``[CLS] text [SEP] text_pair [SEP]``.
    words : sequence of str
        The words of a text that is already split, for example by a treebank, in place of ``text``. Each is
        cut into wordpieces on its own, and ``word_ids`` are indices into this sequence.
    segments : {"standard", "zeros"}
        ``"zeros"`` tells the model that everything is one segment, as the code released by Clark et al. does.
    truncate : bool
        Cut an input that is too long, the longer text first, rather than refuse it.
    vectors : bool
        Also keep each head's query, key and value vectors.

    Raises
    ------
    ValueError
        If there is no text, the text is too long, or the tokenizer knows none of it.

    Examples
    --------
    >>> attention = extract_attention(load_encoder("specimen"), "The cat sat.")       # doctest: +SKIP
    >>> attention.weights.shape                                                       # doctest: +SKIP
    (6, 6, 6, 6)
    """
    if (text is None) == (words is None):
        raise ValueError("give either a text, or words= (a text already split into words), and not both.")
    if words is not None and text_pair is not None:
        raise ValueError(
            "text_pair goes with a text, not with words=; join the two word lists, or give two texts."
        )
    item = list(words) if words is not None else text if text_pair is None else (text, text_pair)
    if _is_recording(encoder):
        return encoder.recall(item, segments=segments, vectors=vectors)
    [encoding] = [encode(encoder, item, truncate)]
    return _run(encoder, [encoding], segments, vectors)[0]


def iter_attention(
    encoder: Encoder,
    corpus: Iterable[str | tuple[str, str] | Sequence[str]],
    *,
    batch_size: int = 8,
    segments: str = "standard",
    truncate: bool = False,
    vectors: bool = False,
) -> Iterator[Attention]:
    """Attention of each item of a corpus in turn, computed in batches; memory does not grow with the corpus.

    An item is a text (str), a pair of texts (a tuple of two), or the words of a split text (a list).
    The maps are cropped to the item's own tokens, so padding never shows; they equal
    :func:`extract_attention` item by item, up to rounding.

    Raises
    ------
    ValueError
        As :func:`extract_attention`, with the number of the item (from 0) in front.
    """
    if batch_size < 1:
        raise ValueError(f"batch_size must be at least 1; got {batch_size}.")
    if isinstance(corpus, str):
        raise TypeError(
            "the corpus must be a sequence of texts, not one text; for one text use extract_attention."
        )
    items = iter(enumerate(corpus))
    if _is_recording(encoder):
        for number, item in items:
            try:
                yield encoder.recall(item, segments=segments, vectors=vectors)
            except ValueError as error:
                raise ValueError(f"item {number} of the corpus: {error}") from None
        return
    while batch := list(islice(items, batch_size)):
        encodings = []
        for number, item in batch:
            try:
                encodings.append(encode(encoder, item, truncate))
            except ValueError as error:
                raise ValueError(f"item {number} of the corpus: {error}") from None
        yield from _run(encoder, encodings, segments, vectors)


def _is_recording(encoder) -> bool:
    """Whether a model answers by looking up; known by what it can do, since `Recording` is built on `Attention`."""
    return hasattr(encoder, "recall")


@dataclass(frozen=True)
class _Encoding:
    """One input as the tokenizer left it."""

    ids: list[int]
    fields: dict


def encode(encoder: Encoder, item, truncate: bool) -> _Encoding:
    tokenizer = encoder.tokenizer
    split = isinstance(item, list)
    pair = isinstance(item, tuple)
    if not (split or pair or isinstance(item, str)) or (pair and len(item) != 2):
        raise TypeError(
            f"an input is a text, a pair of texts or a list of words; got {type(item).__name__}: {item!r:.80}."
        )
    texts = list(item) if pair else [item]
    for side, part in zip(("first", "second"), texts):
        for piece in part if split else [part]:
            if not isinstance(piece, str):
                raise TypeError(f"a text must be a str; got {type(piece).__name__}: {piece!r:.80}.")
        if not (part if split else part.strip()):
            where = (
                f"the {side} text of the pair is"
                if pair
                else "the list of words is"
                if split
                else "the text is"
            )
            raise ValueError(f"{where} empty; the model needs at least one word to look at.")
    if split:
        encoded = encoder.word_tokenizer(item, is_split_into_words=True, verbose=False)
        words = tuple(item)
    else:
        encoded = tokenizer(*texts, verbose=False)
        words = None
    length = len(encoded["input_ids"])
    truncated = length > encoder.max_tokens
    if truncated and not truncate:
        raise ValueError(
            f"the text is {length} wordpieces long, and {encoder.name} reads at most {encoder.max_tokens}, special tokens "
            "included. Shorten it, or pass truncate=True to read only its beginning."
        )
    if truncated:
        options = {"truncation": "longest_first", "max_length": encoder.max_tokens}
        encoded = (
            encoder.word_tokenizer(item, is_split_into_words=True, **options)
            if split
            else tokenizer(*texts, **options)
        )

    ids = encoded["input_ids"]
    sequence = encoded.sequence_ids()  # None for special tokens, else 0 or 1: which text the token comes from
    local = encoded.word_ids()
    special = tuple(s is None for s in sequence)
    known = {w for w, s in zip(local, sequence) if s is not None}
    if split and not truncated and len(known) < len(item):
        lost = next(i for i in range(len(item)) if i not in known)
        raise ValueError(
            f"word {lost}, {item[lost]!r}, leaves no wordpiece: the tokenizer of {encoder.name} drops all of it."
        )
    real = [i for i, s in zip(ids, special) if not s]
    if not real or (pair and len({s for s in sequence if s is not None}) < 2):
        raise ValueError(
            f"nothing is left of {item!r:.80} after the tokenizer of {encoder.name} has cleaned it."
        )
    if all(i == tokenizer.unk_token_id for i in real):
        raise ValueError(
            f"the tokenizer of {encoder.name} knows nothing in {item!r:.80}: every piece becomes {tokenizer.unk_token}. "
            "Use a text in the model's language, or a multilingual model."
        )
    if words is None:
        words, word_ids = _words_of_text(encoded, texts, sequence, local)
    else:
        word_ids = tuple(local)
    # RoBERTa joins a pair by two separators; the first belongs to the first text, the second to the second.
    boundary = next((i for i, s in enumerate(sequence) if s == 1), len(ids))
    before = (
        max((i for i in range(boundary) if sequence[i] == 0), default=0) + 2
    )  # the first text and its [SEP]
    segment_ids = tuple(int(pair and i >= before) for i in range(len(ids)))
    return _Encoding(
        ids,
        {
            "tokens": tuple(tokenizer.convert_ids_to_tokens(ids)),
            "word_ids": word_ids,
            "segment_ids": segment_ids,
            "special": special,
            "words": words,
            "text": " ".join(item) if split else texts[0],
            "text_pair": texts[1] if pair else None,
            "truncated": truncated,
        },
    )


def _words_of_text(encoded, texts, sequence, local) -> tuple[tuple[str, ...], tuple[int | None, ...]]:
    """Words as they stand in the text, and each token's index into them, counted through both texts."""
    index: dict[tuple[int, int], int] = {}
    spans: list[list[int]] = []
    word_ids: list[int | None] = []
    for token, (side, word) in enumerate(zip(sequence, local)):
        if side is None:
            word_ids.append(None)
            continue
        start, stop = encoded.token_to_chars(token)
        number = index.setdefault((side, word), len(index))
        if number == len(spans):
            spans.append([side, start, stop])
        spans[number][2] = max(spans[number][2], stop)
        word_ids.append(number)
    return tuple(texts[side][start:stop].strip() for side, start, stop in spans), tuple(word_ids)


def _run(encoder: Encoder, encodings: list[_Encoding], segments: str, vectors: bool) -> list[Attention]:
    import torch

    if segments not in SEGMENT_RULES:
        raise ValueError(f"segments must be one of {', '.join(SEGMENT_RULES)}; got {segments!r}.")
    longest = max(len(e.ids) for e in encodings)
    pad = encoder.tokenizer.pad_token_id or 0
    ids = torch.full((len(encodings), longest), pad)
    mask, segment_ids = torch.zeros_like(ids), torch.zeros_like(ids)
    for row, encoding in enumerate(encodings):
        n = len(encoding.ids)
        ids[row, :n] = torch.tensor(encoding.ids)
        mask[row, :n] = 1
        if segments == "standard":
            segment_ids[row, :n] = torch.tensor(encoding.fields["segment_ids"])
    maps, captured = encoder.attend(ids, mask, segment_ids, vectors=vectors)

    told = segments if encoder.has_segments else "none"
    results = []
    for row, encoding in enumerate(encodings):
        n = len(encoding.ids)
        # One array an item, cropped to its own tokens: nothing of the batch or its padding is kept alive.
        weights = np.stack([layer[row, :, :n, :n].float().cpu().numpy() for layer in maps])
        per_head = {
            name: np.stack([layer[row, :, :n].float().cpu().numpy() for layer in layers])
            for name, layers in captured.items()
        }
        if per_head:
            _check_vectors(encoder, weights, per_head)
        results.append(
            Attention(weights=weights, segments=told, model=encoder.name, **encoding.fields, **per_head)
        )
    return results


def _check_vectors(encoder: Encoder, weights: np.ndarray, vectors: dict[str, np.ndarray]) -> None:
    """The captured vectors must reproduce the model's own weights, or they are not what they claim to be."""
    scores = vectors["queries"] @ vectors["keys"].swapaxes(-1, -2) / np.sqrt(vectors["queries"].shape[-1])
    rebuilt = np.exp(scores - scores.max(-1, keepdims=True))
    rebuilt /= rebuilt.sum(-1, keepdims=True)
    gap = np.abs(rebuilt - weights).max(axis=(-2, -1))
    if gap.max() > 1e-3:
        layer, head = np.unravel_index(gap.argmax(), gap.shape)
        raise ValueError(
            f"softmax(QK^T / sqrt(d)) does not give the attention of {encoder.name}: head {head_label(layer, head)} differs by "
            f"{gap.max():.3f}. A model with relative positions adds more to its scores than query times key; "
            "its vectors cannot be shown this way."
        )
