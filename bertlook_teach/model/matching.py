"""Which recorded input is it? Two texts are one input if the recorded model's tokenizer would read them alike."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

import numpy as np

from .wordpiece_tokenizer import WordPieceTokenizer

if TYPE_CHECKING:
    from .encoder import Encoder

# What a text must share with a recorded one to be the same input: for BERT's tokenizers the words, whose spacing they do not see.
MATCHING = ("lowered words", "words", "exact")

_MARKS = re.compile(r"(\[(?:MASK|UNK|CLS|SEP|PAD)\])")
# Where BERT's tokenizer cuts before it looks into its vocabulary: at spaces, punctuation, and each sign of Chinese. A sign of money or degree is no
# punctuation: "20 °C" and "20°C" are two inputs.
_CUT = re.compile(
    r"[!-/:-@\[-`{-~\u3400-\u4dbf\u4e00-\u9fff\uf900-\ufaff\U00020000-\U0002a6df\U0002a700-\U0002ceaf\U0002f800-\U0002fa1f]"
)


class NotRecorded(KeyError, ValueError):
    """An input that a recording does not hold; the message says which it holds and what to do."""

    def __str__(self) -> str:
        return str(self.args[0])


def input_key(item, matching: str) -> tuple:
    """What two inputs share if a recorded model would read them alike; see `Recording.matching`."""
    if isinstance(item, list):
        item = " ".join(map(str, item)) if matching != "exact" else item
    if not isinstance(item, str | list) and not (isinstance(item, tuple) and len(item) == 2):
        raise TypeError(
            f"an input is a text, a pair of texts or a list of words; got {type(item).__name__}: {item!r:.80}."
        )
    parts = item if isinstance(item, tuple) else (item,)
    if matching == "exact":
        return tuple(tuple(part) if isinstance(part, list) else part for part in parts)
    return tuple(tuple(_words(_folded(part, matching))) for part in parts)


def _folded(text: str, matching: str) -> str:
    """A text as an uncased BERT sees it: lower case, no accents."""
    if matching != "lowered words":
        return text
    marks = _MARKS.split(text)
    return "".join(mark if number % 2 else _plain(mark) for number, mark in enumerate(marks))


def _words(text: str) -> list[str]:
    """A text as BERT's tokenizer cuts it before it looks into its vocabulary."""
    found = []
    for number, part in enumerate(_MARKS.split(text)):
        if number % 2:
            found.append(part)
            continue
        seen = (c for c in part if c in "\t\n\r" or (unicodedata.category(c)[0] != "C" and c != "\ufffd"))
        apart = (f" {c} " if _CUT.match(c) or unicodedata.category(c)[0] == "P" else c for c in seen)
        found += "".join(apart).split()
    return found


def _plain(text: str) -> str:
    # Each character by itself, as the tokenizer does: lower() of a whole text knows Greek's final sigma.
    lower = "".join(c.lower() for c in text)
    return "".join(c for c in unicodedata.normalize("NFD", lower) if unicodedata.category(c) != "Mn")


def regrouped(given: Sequence[str], fields: Mapping, matching: str) -> tuple[tuple, tuple]:
    """The words of a split text, and each token's index into them: words that were recorded apart may be one here."""
    if matching == "exact":
        return tuple(given), fields["word_ids"]
    lengths = [len(_words(_folded(word, matching))) for word in given]
    whole = [len(_words(_folded(word, matching))) for word in fields["words"]]
    ends, recorded_ends = np.cumsum(lengths), np.cumsum(whole)
    if not set(ends.tolist()) <= set(recorded_ends.tolist()) or 0 in lengths:
        raise NotRecorded(
            f"the words {list(given)!r:.120} cut the recorded input elsewhere than its own words, {list(fields['words'])!r:.120}, do."
        )
    new = np.searchsorted(ends, recorded_ends)
    return tuple(given), tuple(None if w is None else int(new[w]) for w in fields["word_ids"])


def matching_of(encoder: Encoder) -> str:
    """What makes two texts the same input for an encoder's tokenizer: one of `MATCHING`."""
    if not isinstance(encoder.tokenizer, WordPieceTokenizer):
        from tokenizers.pre_tokenizers import BertPreTokenizer

        if not isinstance(encoder.tokenizer.backend_tokenizer.pre_tokenizer, BertPreTokenizer):
            return "exact"
    lowers = encoder.tokenizer("A É")["input_ids"] == encoder.tokenizer("a e")["input_ids"]
    return "lowered words" if lowers else "words"
