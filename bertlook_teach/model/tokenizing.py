"""What a tokenizer makes of one input, and which inputs are refused: before it, and for what it leaves of them."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Sequence
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from .encoder import Encoder

SEGMENT_RULES = ("standard", "zeros")

HALF_CHARACTER = re.compile("[\ud800-\udfff]")  # JSON can hold one, UTF-8 cannot


def check_segments(segments: str) -> None:
    """Refuse a rule for segments that there is not."""
    if segments not in SEGMENT_RULES:
        raise ValueError(f"segments must be one of {', '.join(SEGMENT_RULES)}; got {segments!r}.")


def sentence_in(words: Sequence[str]) -> str:
    """One of the entries where they are sentences and no words, else an empty string. A word may hold spaces: *1 000*, or one of Vietnamese."""
    spaced = [word for word in words if " " in word.strip()]
    ended = [word for word in spaced if len(word.split()) > 2 and word.rstrip().endswith((".", "?", "!"))]
    return (ended or (spaced if len(spaced) == len(words) > 1 else [""]))[0]


def check_input(item) -> None:
    """Refuse anything but a text, a pair of texts or a list of words, and a text that no tokenizer reads.

    Raises
    ------
    TypeError
        If it is another kind of thing.
    ValueError
        If a text is empty or holds half of a character, or a list holds sentences where it should hold words.
    """
    split, pair = isinstance(item, list), isinstance(item, tuple)
    if not (split or pair or isinstance(item, str)) or (pair and len(item) != 2):
        raise TypeError(
            f"an input is a text, a pair of texts or a list of words; got {type(item).__name__}: {item!r:.80}."
        )
    for side, part in zip(("first", "second"), item if pair else [item]):
        for piece in part if split else [part]:
            if not isinstance(piece, str):
                raise TypeError(f"a text must be a str; got {type(piece).__name__}: {piece!r:.80}.")
            if half := HALF_CHARACTER.search(piece):
                raise ValueError(
                    f"character {half.start() + 1} of {piece!r:.80} is half of a character (a lone surrogate, {half[0]!r}), which no tokenizer "
                    "reads. It comes from a text that was cut or decoded wrongly; take it out."
                )
        if split and (sentence := sentence_in(part)):
            raise ValueError(
                f"a list is taken for the words of one text, and {sentence!r:.60} is not a word. For several texts use iter_attention(encoder, "
                "texts) or profile_heads(encoder, texts); for a pair of texts, extract_attention(encoder, first, second)."
            )
        if not (part if split else part.strip()):
            what = "list of words" if split else f"{side} text of the pair" if pair else "text"
            raise ValueError(f"the {what} is empty; the model needs at least one word to look at.")


def encode(encoder: Encoder, item, truncate: bool) -> tuple:
    """What the tokenizer gives for an input, and whether it was cut to what the model reads.

    Raises
    ------
    ValueError
        If it is too long and may not be cut.
    """

    def by_tokenizer(**options):
        if isinstance(item, list):
            return encoder.word_tokenizer(item, is_split_into_words=True, **options)
        return encoder.tokenizer(*(item if isinstance(item, tuple) else (item,)), **options)

    encoded = by_tokenizer(verbose=False)
    length = len(encoded["input_ids"])
    if length <= encoder.max_tokens:
        return encoded, False
    if not truncate:
        raise ValueError(
            f"the text is {length} wordpieces long, and {encoder.name} reads at most {encoder.max_tokens}, special tokens "
            "included. Shorten it, or pass truncate=True to read only its beginning."
        )
    return by_tokenizer(truncation="longest_first", max_length=encoder.max_tokens), True


def check_pieces(encoder: Encoder, item, encoded, truncated: bool) -> None:
    """Refuse an input of which the tokenizer has lost a word that was given, a whole text, or everything it knows."""
    sequence = encoded.sequence_ids()
    known = {w for w, s in zip(encoded.word_ids(), sequence) if s is not None}
    if isinstance(item, list):
        whole = range(
            max(known, default=-1) + 1 if truncated else len(item)
        )  # words behind a cut are not lost
        if (lost := next((i for i in whole if i not in known), None)) is not None:
            raise ValueError(
                f"word {lost}, {item[lost]!r}, leaves no wordpiece: the tokenizer of {encoder.name} drops all of it."
            )
    real = [i for i, s in zip(encoded["input_ids"], sequence) if s is not None]
    if not real or (isinstance(item, tuple) and len({s for s in sequence if s is not None}) < 2):
        raise ValueError(
            f"nothing is left of {item!r:.80} after the tokenizer of {encoder.name} has cleaned it."
        )
    if all(i == encoder.tokenizer.unk_token_id for i in real):
        raise ValueError(
            f"the tokenizer of {encoder.name} knows nothing in {item!r:.80}: every piece becomes {encoder.tokenizer.unk_token}. "
            "Use a text in the model's language, or a multilingual model."
        )


def words_of_text(encoded, texts: Sequence[str]) -> tuple[tuple[str, ...], tuple[int | None, ...]]:
    """Words as they stand in the text, and each token's index into them, counted through both texts."""
    index: dict[tuple[int, int], int] = {}
    spans: list[list[int]] = []
    word_ids: list[int | None] = []
    for token, (side, word) in enumerate(zip(encoded.sequence_ids(), encoded.word_ids())):
        if side is None:
            word_ids.append(None)
            continue
        start, stop = encoded.token_to_chars(token)
        number = index.setdefault((side, word), len(index))
        if number == len(spans):
            spans.append([side, start, stop])
        spans[number][2] = max(spans[number][2], stop)
        word_ids.append(number)
    # An accent written after its letter is dropped by the tokenizer, and belongs to the word all the same.
    for span in spans:
        side, _, stop = span
        while stop < len(texts[side]) and unicodedata.combining(texts[side][stop]):
            stop += 1
        span[2] = stop
    return tuple(texts[side][start:stop].strip() for side, start, stop in spans), tuple(word_ids)
