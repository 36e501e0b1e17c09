"""Texts with key phrases: what a careful indexer would mark, so that a head's weights can be held against it.

A phrase is found where its words stand in the text one after another, as whole words, upper and lower case alike, and however
letters and their marks are spelled (NFC, NFD). In scripts without spaces (Chinese, Japanese, Thai, ...) each sign is a word, and a
phrase is found wherever its signs stand. Phrases that do not occur are kept and named (`KeyphraseDocument.missing`): a measure over
the text cannot find them, and its n should say so.
"""

from __future__ import annotations

import re
import unicodedata
import warnings
import zlib
from array import array
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import NamedTuple

from bertlook_teach.disk import data_path

from .texts import json_lines, json_row, note_id, of_split

ON_EMPTY = ("stop", "skip")

MOST_STEPS = 1_000_000_000  # characters of a text times those of its phrases: each is looked for at every place, some seconds in all

Span = tuple[int, int]

# Han, Hiragana and Katakana, Thai, Lao, Tibetan, Burmese, Khmer.
_UNSPACED = re.compile(
    "[\u0e00-\u0fff\u1000-\u109f\u1780-\u17ff\u3005-\u3007\u3021-\u3029\u3041-\u30ff\u31f0-\u31ff\u3400-\u4dbf\u4e00-\u9fff"
    "\uf900-\ufaff\uff66-\uff9f\U00020000-\U0003ffff]"
)


@dataclass(frozen=True)
class KeyphraseDocument:
    """A text and its key phrases.

    Attributes
    ----------
    id, title : str
        The title is not part of the text; empty if the file gives none.
    text : str
    keyphrases : tuple of str
        As annotated, in the order of the file; no phrase twice.
    split : str
        "train", "test", or empty if the file does not say.
    truncated : bool
        Whether the text was cut, so that phrases may be missing for that reason.

    Examples
    --------
    >>> text = KeyphraseDocument("1", "Salt marsh plants stop the waves.", ("salt marsh", "sea wall"))
    >>> text.spans, text.missing
    ((((0, 10),), ()), ('sea wall',))
    >>> [word for word, key in zip(text.words, text.is_key()) if key]
    ['Salt', 'marsh']
    """

    id: str
    text: str
    keyphrases: tuple[str, ...]
    title: str = ""
    split: str = ""
    truncated: bool = False

    @cached_property
    def spans(self) -> tuple[tuple[Span, ...], ...]:
        """For each phrase, all the places where it occurs: half-open spans of characters, in order."""
        apart = _apart(self.text)
        return tuple(_occurrences(phrase, *apart) for phrase in self.keyphrases)

    @property
    def in_text(self) -> tuple[bool, ...]:
        """For each phrase, whether it occurs."""
        return tuple(bool(places) for places in self.spans)

    @property
    def missing(self) -> tuple[str, ...]:
        """The phrases that do not occur."""
        return tuple(phrase for phrase, found in zip(self.keyphrases, self.in_text) if not found)

    @cached_property
    def word_spans(self) -> tuple[Span, ...]:
        """Characters of each word; a punctuation mark is a word of its own, and so is a sign of a script without spaces."""
        starts = [
            i
            for i, c in enumerate(self.text)
            if not c.isspace() and not (i and _joined(self.text[i - 1 : i + 1]))
        ]
        ends = [*starts[1:], len(self.text)]
        return tuple((a, a + len(self.text[a:b].rstrip())) for a, b in zip(starts, ends))

    @property
    def words(self) -> tuple[str, ...]:
        """The words and punctuation marks of the text."""
        return tuple(self.text[start:end] for start, end in self.word_spans)

    def is_key(self) -> tuple[bool, ...]:
        """Which words belong to a key phrase, at any of its occurrences."""
        inside = bytearray(len(self.text))
        for places in self.spans:
            for start, end in places:
                inside[start:end] = b"\1" * (end - start)
        return tuple(any(inside[start:end]) for start, end in self.word_spans)


class SkippedDocument(NamedTuple):
    """A document that was left out, and why."""

    file: str
    line: int
    reason: str

    def __str__(self) -> str:
        return f"{self.file}, line {self.line}: {self.reason}"


def iter_keyphrases(
    path: str | Path, *, on_empty: str = "stop", skipped: list[SkippedDocument] | None = None
) -> Iterator[KeyphraseDocument]:
    """The documents of a JSONL file, one at a time.

    Parameters
    ----------
    path : str or Path
        UTF-8, plain or ``.gz``; one object for each line with ``id``, ``text`` and ``keyphrases``, and if known ``title``, ``split`` and
        ``truncated``. Other fields are ignored, among them ``in_text``: public files count a phrase as present when it stands inside
        another word ("US" in "business"); here it must be whole words.
    on_empty : {"stop", "skip"}
        What to do with a document that has no phrase, or none that occurs in its text: raise, or leave it out and count it.
        Nothing can be decided on it.
    skipped : list, optional
        Gets one `SkippedDocument` for each document left out. Without a list, a warning says how many there were.

    Raises
    ------
    ValueError
        With file and line, if a line is not such an object or has too many phrases for the length of its text, the text or a phrase is empty, a phrase or an id stands there twice, or the
        split is neither "train" nor "test"; also if the file holds no document, or none with a phrase in its text.
    """
    if on_empty not in ON_EMPTY:
        raise ValueError(f"on_empty must be 'stop' or 'skip'; got {on_empty!r}.")
    left_out = [] if skipped is None else skipped
    before, found, seen = len(left_out), False, {}
    for number, where, line in json_lines(path):
        document = _document(line, where)
        note_id(seen, document.id, number, where)
        if any(document.in_text):
            found = True
            yield document
            continue
        reason = _no_phrase(document)
        if on_empty == "stop":
            raise ValueError(f"{where}: {reason} Use on_empty='skip' to leave such documents out.")
        left_out.append(SkippedDocument(str(path), number, reason))
    bad = left_out[before:]
    if not found:
        why = (
            f"; {len(bad)} were left out, the first: {bad[0]}"
            if bad
            else ": expected one JSON object a line."
        )
        raise ValueError(f"{path} holds no document with a key phrase in its text{why}")
    if bad and skipped is None:
        warnings.warn(f"{len(bad)} documents were left out, the first: {bad[0]}", stacklevel=2)


def read_keyphrases(
    path: str | Path, *, on_empty: str = "stop", skipped: list[SkippedDocument] | None = None
) -> list[KeyphraseDocument]:
    """All documents of a JSONL file; see :func:`iter_keyphrases`."""
    return list(iter_keyphrases(path, on_empty=on_empty, skipped=skipped))


def load_keyphrases(split: str | None = None) -> list[KeyphraseDocument]:
    """The short texts that ship with the course, or the half of them named by ``split`` ("train" or "test")."""
    return of_split(read_keyphrases(data_path("keyphrases", "texts.jsonl")), split)


def halves(
    documents: Iterable[KeyphraseDocument],
) -> tuple[list[KeyphraseDocument], list[KeyphraseDocument]]:
    """The documents to choose on and those to report on.

    By their ``split``; if none has one, by the checksum of the id (CRC-32, even or odd), so that a document is on the same side in
    every run and whatever stands beside it.

    Raises
    ------
    ValueError
        If only some have a split, or one half stays empty.
    """
    documents = list(documents)
    named = [bool(document.split) for document in documents]
    if any(named) and not all(named):
        raise ValueError(
            f"{sum(named)} of {len(named)} documents have a split; give it for all of them or for none."
        )

    def is_train(document: KeyphraseDocument) -> bool:
        if document.split:
            return document.split == "train"
        return zlib.crc32(document.id.encode()) % 2 == 0

    train = [document for document in documents if is_train(document)]
    test = [document for document in documents if not is_train(document)]
    if not train or not test:
        raise ValueError(
            f"both halves need documents; got {len(train)} to choose on and {len(test)} to report on. Give each its 'split', train or test, "
            "or more documents."
        )
    return train, test


def _is_mark(character: str) -> bool:
    """Whether it is written upon the letter before it: an accent, a tone, a vowel sign."""
    return unicodedata.category(character).startswith("M")


def _joined(two: str) -> bool:
    """Whether two characters side by side belong to one word."""
    before, after = two
    if _is_mark(after):
        return not before.isspace()
    letters = all(c.isalnum() or c == "_" or _is_mark(c) for c in two)
    return letters and not _UNSPACED.search(two)


def _apart(text: str) -> tuple[str, array, array]:
    """A text with marks taken off their letters (NFD), and for each of its characters where what it came from begins and ends."""
    apart, starts, ends, start = [], array("q"), array("q"), 0
    for end in range(1, len(text) + 1):
        if end == len(text) or not unicodedata.combining(text[end]):
            apart.append(unicodedata.normalize("NFD", text[start:end]))
            starts.extend([start] * len(apart[-1]))
            ends.extend([end] * len(apart[-1]))
            start = end
    return "".join(apart), starts, ends


def _occurrences(phrase: str, text: str, starts: array, ends: array) -> tuple[Span, ...]:
    """Where the words of the phrase stand one after another, any white space between them, in a text from `_apart`."""
    words = r"\s+".join(map(re.escape, unicodedata.normalize("NFD", phrase).split()))
    found: list[Span] = []
    last = 0
    for match in re.finditer(f"(?=({words}))", text, re.IGNORECASE):
        start, end = match.span(1)
        cut = (start and _joined(text[start - 1 : start + 1])) or (
            end < len(text) and _joined(text[end - 1 : end + 1])
        )
        if start >= last and not cut:
            found.append((starts[start], ends[end - 1]))
            last = end
    return tuple(found)


def _document(line: str, where: str) -> KeyphraseDocument:
    """One line, checked."""
    row, name, split = json_row(line, where, "document", "text", "keyphrases")
    text, phrases = row["text"], row["keyphrases"]
    if not isinstance(text, str) or not text.strip():
        raise ValueError(f"{where}: text must be a text that is not empty; got {text!r}.")
    if not isinstance(phrases, list) or not all(isinstance(p, str) and p.strip() for p in phrases):
        raise ValueError(f"{where}: keyphrases must be a list of texts, none of them empty; got {phrases!r}.")
    if (len(text) + 10_000) * sum(len(phrase) + 1 for phrase in phrases) > MOST_STEPS:
        raise ValueError(
            f"{where}: {len(phrases):,} key phrases of {sum(map(len, phrases)):,} characters in a text of {len(text):,} are too many to look for; "
            "cut the text, or leave phrases out."
        )
    lower = [" ".join(unicodedata.normalize("NFC", phrase).lower().split()) for phrase in phrases]
    if len(set(lower)) < len(lower):
        twice = next(phrase for i, phrase in enumerate(lower) if phrase in lower[:i])
        raise ValueError(f"{where}: the phrase {twice!r} is listed twice (upper and lower case are alike).")
    return KeyphraseDocument(
        id=name,
        text=text,
        keyphrases=tuple(phrases),
        title=str(row.get("title") or ""),
        split=split,
        truncated=bool(row.get("truncated", False)),
    )


def _no_phrase(document: KeyphraseDocument) -> str:
    if not document.keyphrases:
        return f"document {document.id!r} has no key phrase, so nothing can be decided on it."
    return (
        f"none of the {len(document.keyphrases)} key phrases of document {document.id!r} occurs in its text "
        f"(the first is {document.keyphrases[0]!r})."
    )
