"""One input as an encoder reads it: a text goes through the tokenizer once, and all who look at it share what came out."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from pathlib import PurePath
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from .attention import Attention
from .batches import evenly, padded
from .blocks import Block, attention_blocks
from .devices import stacked
from .head_names import head_label
from .in_memory import is_in_memory
from .numpy_bert import as_array, softmax_in_place
from .tokenizing import (
    HALF_CHARACTER,
    check_input,
    check_pieces,
    check_segments,
    encode,
    encode_words,
    pieces_of,
    sentence_in,
    words_of_text,
)

if TYPE_CHECKING:
    from .encoder import Encoder

# What a reading and the attention of it both say of the text.
_SHARED = (
    "tokens",
    "word_ids",
    "segment_ids",
    "special",
    "words",
    "text",
    "text_pair",
    "segments",
    "truncated",
)

TOO_LONG, NO_PIECE, UNKNOWN, NOT_RECORDED, HALF, SENTENCE = (
    "longer than the model reads",
    "a word leaves no wordpiece",
    "every piece is unknown to the tokenizer",
    "not among the recorded inputs",
    "a word holds half of a character",
    "with a sentence where a word should be",
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
    if any(HALF_CHARACTER.search(word) for word in words):
        return ReadingCheck(0, HALF)
    if sentence_in(words):
        return ReadingCheck(0, SENTENCE)
    pieces = encode_words(encoder, words, verbose=False)
    ids, word_ids = pieces["input_ids"], pieces.word_ids()
    obstacle = ""
    if len(ids) > encoder.max_tokens:
        obstacle = TOO_LONG
    elif len({word for word in word_ids if word is not None}) < len(words):
        obstacle = NO_PIECE
    elif all(i == encoder.tokenizer.unk_token_id for i, word in zip(ids, word_ids) if word is not None):
        obstacle = UNKNOWN
    return ReadingCheck(len(ids), obstacle)


def left_out_lines(skipped: Mapping[str, int], n: int, what: str, encoder: Encoder) -> list[str]:
    """How many of ``n`` inputs were left out, a line for each reason."""
    limits = {TOO_LONG: f" ({encoder.max_tokens} wordpieces)"}
    return [f"{count} of {n} {what}: {reason}{limits.get(reason, '')}." for reason, count in skipped.items()]


def require_reading(reading) -> None:
    """Raise a TypeError for anything but a reading."""
    if not hasattr(reading, "encoder"):
        raise TypeError(f"this measure takes a reading, read(encoder, text); got {type(reading).__name__}.")


@dataclass(frozen=True, eq=False)
class Reading:
    """One text, or pair of texts, as an encoder reads it; made by :func:`read`.

    Whatever is measured on the same text takes the same reading: it is tokenised once, and the model is run on it once for the
    maps and once more only for what the first run did not keep.

    Attributes
    ----------
    encoder : Encoder
    ids : tuple of int
        Vocabulary numbers, [CLS] and [SEP] included.
    tokens, word_ids, segment_ids, special, words, text, text_pair, segments, truncated
        As in :class:`Attention`.
    """

    encoder: Encoder
    ids: tuple[int, ...]
    tokens: tuple[str, ...]
    word_ids: tuple[int | None, ...]
    segment_ids: tuple[int, ...]
    special: tuple[bool, ...]
    words: tuple[str, ...]
    text: str
    text_pair: str | None
    segments: str
    truncated: bool
    _kept: dict = field(default_factory=dict, init=False, repr=False)

    @property
    def n_tokens(self) -> int:
        return len(self.ids)

    def inputs(self, rows: Sequence[Sequence[int]] | None = None) -> dict:
        """What the model is called with, as tensors of shape (row, token): the ids, or ``rows`` of the same length in their place."""
        ids = np.array([self.ids] if rows is None else rows)
        return self.encoder.inputs(
            ids, np.ones_like(ids), np.broadcast_to(self._segments_seen(), ids.shape).copy()
        )

    def attention(self, *, vectors: bool = False) -> Attention:
        """The attention of every head, with its query, key and value vectors if they are asked for."""
        if "attention" not in self._kept or (vectors and self._kept["attention"].values is None):
            [self._kept["attention"]] = _run(self.encoder, [self], vectors)
        found = self._kept["attention"]
        return (
            found if vectors or found.values is None else replace(found, queries=None, keys=None, values=None)
        )

    def layer_calls(self, *, vectors: bool = False) -> list[tuple[Block, tuple, object]]:
        """How each layer was called, and what it gave: (block, (arguments, options), tensor of shape (token, width)).

        The same run gives the attention, with ``vectors`` if they will be wanted too.
        """
        if "calls" not in self._kept:
            blocks, calls = attention_blocks(self.encoder), []

            def keep(module, given, options, output):
                calls.append(((given, options), output[0] if isinstance(output, tuple) else output))

            hooks = [(module, "forward", keep) for module in {block.module: None for block in blocks}]
            with self.encoder.hooked(hooks, with_kwargs=True):
                [attention] = _run(self.encoder, [self], vectors)
            self._kept.setdefault("attention", attention)
            self._kept["calls"] = [(block, call, output[0]) for block, (call, output) in zip(blocks, calls)]
        return self._kept["calls"]

    def _segments_seen(self) -> Sequence[int]:
        return self.segment_ids if self.segments == "standard" else (0,) * len(self.ids)

    def __repr__(self) -> str:
        shown = " ".join(self.tokens[:12]) + (" ..." if self.n_tokens > 12 else "")
        return f"Reading({self.n_tokens} wordpieces, by {self.encoder.name}: {shown})"


def read(
    encoder: Encoder,
    text: str | tuple[str, str] | Sequence[str],
    text_pair: str | None = None,
    *,
    segments: str = "standard",
    truncate: bool = False,
) -> Reading:
    """Let an encoder's tokenizer read one text, or a pair of texts, for all that will be measured on it.

    Parameters
    ----------
    encoder : Encoder
    text : str, tuple of two str, or list of str
        A text; a pair of texts; or the words of a text that is already split.
    text_pair : str, optional
        The second text, where ``text`` is the first.
    segments, truncate
        See :func:`extract_attention`.

    Returns
    -------
    Reading

    Raises
    ------
    ValueError
        If there is no text, the text is too long, or the tokenizer knows none of it.

    Examples
    --------
    >>> reading = read(load_encoder("specimen"), "The cat sat.")                      # doctest: +SKIP
    >>> value_zeroing(reading).shape, gradient_importance(reading).shape              # doctest: +SKIP
    ((6, 6, 6), (6, 6, 6, 6))
    """
    if _is_recording(encoder):
        raise TypeError(
            f"{encoder.name} is a recording: it answers extract_attention for the inputs it has, and cannot read a text. Give "
            "read() an encoder, made by load_encoder()."
        )
    check_segments(segments)
    item = text if text_pair is None else (text, text_pair)
    split, pair = isinstance(item, list), isinstance(item, tuple)
    check_input(item)
    texts = list(item) if pair else [item]
    encoded, truncated = encode(encoder, item, truncate)
    check_pieces(encoder, item, encoded, truncated)
    ids = encoded["input_ids"]
    sequence = encoded.sequence_ids()  # None for special tokens, else 0 or 1: which text the token comes from
    words, word_ids = (tuple(item), tuple(encoded.word_ids())) if split else words_of_text(encoded, texts)
    # RoBERTa joins a pair by two separators; the first belongs to the first text, the second to the second.
    boundary = next((i for i, s in enumerate(sequence) if s == 1), len(ids))
    # Before it: the first text and its [SEP].
    before = max((i for i in range(boundary) if sequence[i] == 0), default=0) + 2
    segment_ids = tuple(int(pair and i >= before) for i in range(len(ids)))
    return Reading(
        encoder=encoder,
        ids=tuple(ids),
        tokens=pieces_of(encoder, ids),
        word_ids=word_ids,
        segment_ids=segment_ids,
        special=tuple(s is None for s in sequence),
        words=words,
        text=" ".join(item) if split else texts[0],
        text_pair=texts[1] if pair else None,
        segments=segments if encoder.has_segments else "none",
        truncated=truncated,
    )


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
    if isinstance(words, str):
        raise TypeError(
            f"words are a list of words; got the text {words!r:.60}. Give it as text, or split it: words=text.split()."
        )
    item = list(words) if words is not None else text if text_pair is None else (text, text_pair)
    if _is_recording(encoder):
        return encoder.recall(item, segments=segments, truncate=truncate, vectors=vectors)
    return read(encoder, item, segments=segments, truncate=truncate).attention(vectors=vectors)


def iter_attention(
    encoder: Encoder,
    corpus: Iterable[str | tuple[str, str] | Sequence[str]],
    *,
    batch_size: int = 8,
    segments: str = "standard",
    truncate: bool = False,
    vectors: bool = False,
    precision: str | None = None,
) -> Iterator[Attention]:
    """Attention of each item of a corpus in turn, computed in batches of like length; memory does not grow with the corpus.

    An item is a text (str), a pair of texts (a tuple of two), or the words of a split text (a list).
    The maps are cropped to the item's own tokens, so padding never shows; they equal
    :func:`extract_attention` item by item, up to rounding.

    Parameters
    ----------
    batch_size, segments, truncate, vectors
        See :func:`extract_attention`.
    precision : {"float32", "bfloat16", "float16"}, optional
        Leave the maps on the encoder's device, as float32 tensors for measures that take such: nothing travels. Matrix products are
        computed in this precision, and rows of maps that come in half precision are made to sum to 1 again.

    Raises
    ------
    ValueError
        As :func:`extract_attention`, with the number of the item (from 0) in front.
    """
    if batch_size < 1:
        raise ValueError(f"batch_size must be at least 1; got {batch_size}.")
    columns = list(corpus) if isinstance(corpus, Mapping) else getattr(corpus, "columns", None)
    if columns is not None:  # whose names would be read as texts
        names = ", ".join(map(repr, list(columns)[:5])) or "none"
        raise TypeError(
            f"the corpus must be a sequence of texts; got a {type(corpus).__name__} with the columns {names}. Give one column, such as "
            'corpus["text"].'
        )
    if isinstance(corpus, str) or not isinstance(corpus, Iterable):
        raise TypeError(
            f"the corpus must be a sequence of texts; got {type(corpus).__name__}. Of one text use extract_attention, of a file "
            "bertlook_course.corpora.read_texts(path)."
        )
    items = iter(enumerate(corpus))
    if _is_recording(encoder):
        for number, item in items:
            with _said_of(number):
                recalled = encoder.recall(item, segments=segments, truncate=truncate, vectors=vectors)
            yield recalled
        return

    def readings() -> Iterator[Reading]:
        for number, item in items:
            with _said_of(number):
                reading = read(encoder, item, segments=segments, truncate=truncate)
            yield reading

    yield from evenly(
        readings(),
        lambda part: _run(encoder, part, vectors, precision),
        length=lambda reading: reading.n_tokens,
        size=batch_size,
    )


@contextmanager
def _said_of(number: int) -> Iterator[None]:
    try:
        yield
    except (ValueError, TypeError) as error:
        kind = TypeError if isinstance(error, TypeError) else ValueError
        raise kind(f"item {number} of the corpus: {error}") from None


def check_encoder(encoder) -> None:
    """Refuse what cannot be asked for attention: a name, and a model in memory that must be loaded first.

    Raises
    ------
    TypeError
        With what to do.
    """
    if isinstance(encoder, str) and " " in encoder.strip():
        raise TypeError(f"the model comes first and then the text; {encoder!r:.60} is a text.")
    if isinstance(encoder, str | PurePath):
        raise TypeError(
            f"a model was expected, and {str(encoder)!r} is only a name: give load_encoder({str(encoder)!r}), or a recording from "
            "load_recording(...)."
        )
    if is_in_memory(encoder):
        raise TypeError(
            f"a model in memory, here {type(encoder).__name__}, is read through an encoder: encoder = load_encoder(model, tokenizer), or "
            "load_encoder(pipeline). HeadExplorer(model, text, tokenizer=tokenizer) does it itself."
        )
    if not hasattr(encoder, "recall") and not hasattr(encoder, "tokenizer"):
        raise TypeError(
            f"an encoder from load_encoder(...) or a recording was expected; got {type(encoder).__name__}."
        )


def _is_recording(encoder) -> bool:
    """Whether a model answers by looking up; known by what it can do, since `Recording` is built on `Attention`."""
    check_encoder(encoder)  # every way to read a text asks this first
    return hasattr(encoder, "recall")


def _run(
    encoder: Encoder, readings: Sequence[Reading], vectors: bool, precision: str | None = None
) -> list[Attention]:
    ids, mask = padded([reading.ids for reading in readings], encoder)
    segment_ids, _ = padded([reading._segments_seen() for reading in readings], encoder, filler=0)
    maps, captured = encoder.attend(ids, mask, segment_ids, vectors=vectors, precision=precision)

    results = []
    for row, reading in enumerate(readings):
        n = reading.n_tokens
        # One array an item, cropped to its own tokens: nothing of the batch or its padding is kept alive.
        own = [layer[row, :, :n, :n] for layer in maps]
        weights = np.stack([as_array(layer) for layer in own]) if precision is None else stacked(own)
        per_head = {
            name: np.stack([as_array(layer[row, :, :n]) for layer in layers])
            for name, layers in captured.items()
        }
        if per_head:
            _check_vectors(encoder, weights, per_head)
        results.append(as_attention(reading, weights=weights, **per_head))
    return results


def as_attention(reading: Reading, **arrays) -> Attention:
    """Maps (and vectors, other tokens ...) of a reading, with what is known of its text."""
    fields = {name: getattr(reading, name) for name in _SHARED}
    return Attention(**(fields | {"model": reading.encoder.name} | arrays))


def _check_vectors(encoder: Encoder, weights: np.ndarray, vectors: dict[str, np.ndarray]) -> None:
    """The captured vectors must reproduce the model's own weights, or they are not what they claim to be."""
    scores = vectors["queries"] @ vectors["keys"].swapaxes(-1, -2) / np.sqrt(vectors["queries"].shape[-1])
    gap = np.abs(softmax_in_place(scores) - weights).max(axis=(-2, -1))
    if gap.max() > 1e-3:
        layer, head = np.unravel_index(gap.argmax(), gap.shape)
        raise ValueError(
            f"softmax(QK^T / sqrt(d)) does not give the attention of {encoder.name}: head {head_label(layer, head)} differs by "
            f"{gap.max():.3f}. A model with relative or rotary positions computes its scores from more than query times key; "
            "its vectors cannot be shown this way."
        )
