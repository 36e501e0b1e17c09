"""What a pattern can ask: the conditions of `bertlook_course.analyses.patterns.language`, and the texts that they are asked of.

A condition is one function, entered in ``CONDITIONS`` with the sentence that says it. One on a single word gives a
bool for each position; one on two words a table (other, it), in which *it* is the side that the condition is called on.
"""

from __future__ import annotations

import unicodedata
from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import cached_property
from typing import NamedTuple

import numpy as np

from bertlook_teach.model import word_groups

from ...corpora import TreebankSentence
from ...syllabus import worded

SEGMENTS = ("A", "B")


# --- what a pattern is asked of ------------------------------------------------------------------------
@dataclass(frozen=True, eq=False)
class PatternText:
    """One text as the patterns see it: a position for every word and for every special token.

    Attributes
    ----------
    words : tuple of str
        As they stand in the text; the name of a special token.
    special : tuple of bool
    segments : tuple of int
        0 or 1.
    tokens : tuple of tuple of str
        The wordpieces of each position.
    upos, lemmas, relations : tuple of str, or None
        From a treebank; None for a plain text. Empty at special tokens.
    governors : tuple of int, or None
        Position of each word's governor; -1 for the root and for special tokens.
    doc_id : str
        The document that a treebank names; empty for a plain text, which is a document of its own.
    """

    words: tuple[str, ...]
    special: tuple[bool, ...]
    segments: tuple[int, ...]
    tokens: tuple[tuple[str, ...], ...]
    upos: tuple[str, ...] | None = None
    lemmas: tuple[str, ...] | None = None
    relations: tuple[str, ...] | None = None
    governors: tuple[int, ...] | None = None
    doc_id: str = ""

    @classmethod
    def of(cls, sentence: TreebankSentence, attention=None) -> PatternText:
        """A sentence of a treebank: as a model has read it, or without ``attention`` its words alone.

        >>> tree = TreebankSentence(("it", "sat"), (1, -1), ("nsubj", "root"), ("PRON", "VERB"), *[("_",) * 2] * 2, ({},) * 2)
        >>> PatternText.of(tree)
        PatternText(it sat, with its tree)
        """
        if attention is None:
            words = sentence.words
            plain = cls(words, (False,) * len(words), (0,) * len(words), tuple((w,) for w in words))
        else:
            plain = cls.of_attention(attention)
        at = plain.word_positions
        if len(at) != len(sentence):
            raise ValueError(
                f"the tree has {len(sentence)} words and the text {len(at)}; read the same words: {' '.join(sentence.words)!r:.80}."
            )

        def spread(values, blank):
            row = [blank] * len(plain.words)
            for position, value in zip(at, values):
                row[position] = value
            return tuple(row)

        return replace(
            plain,
            upos=spread(sentence.upos, ""),
            lemmas=spread(sentence.lemmas, ""),
            relations=spread(sentence.relations, ""),
            governors=spread([-1 if g < 0 else int(at[g]) for g in sentence.governors], -1),
            doc_id=sentence.doc_id,
        )

    @classmethod
    def of_attention(cls, attention) -> PatternText:
        """A plain text, or a pair, as a model has read it; ``attention`` at wordpiece level."""
        groups = word_groups(attention.word_ids)
        words = attention.to_words()
        return cls(
            words.tokens,
            words.special,
            words.segment_ids,
            tuple(tuple(attention.tokens[i] for i in group) for group in groups),
        )

    def __len__(self) -> int:
        return len(self.words)

    @cached_property
    def is_word(self) -> np.ndarray:
        """False at special tokens."""
        return ~np.asarray(self.special, dtype=bool)

    @cached_property
    def word_positions(self) -> np.ndarray:
        return np.flatnonzero(self.is_word)

    @cached_property
    def places(self) -> np.ndarray:
        """For each position how many words stand before it: a word's number, counted from 0."""
        return np.cumsum(self.is_word) - self.is_word

    @cached_property
    def word_pairs(self) -> np.ndarray:
        """(query, key): whether both are words."""
        return np.logical_and.outer(self.is_word, self.is_word)

    def __repr__(self) -> str:
        shown = " ".join(self.words[:12]) + (" ..." if len(self) > 12 else "")
        return f"PatternText({shown}{', with its tree' if self.governors is not None else ''})"


# --- the conditions ------------------------------------------------------------------------------------
class Kind(NamedTuple):
    """One condition: what it finds, and how it is said.

    ``find(reading, *arguments)`` gives a bool array of shape (position,), or (other, it) for a condition on two words.
    ``sentence`` has the places {it}, {no}, {other} and {args}.
    """

    find: Callable[..., np.ndarray]
    sentence: str
    takes: str
    needs: str


CONDITIONS: dict[str, Kind] = {}

NOTHING, TEXTS, STEPS, NUMBERS, COUNT, SEGMENT, SEARCH = (
    worded("takes nothing"),
    worded("takes texts"),
    worded("takes steps"),
    worded("takes numbers"),
    worded("takes count"),
    worded("takes segment"),
    worded("takes search"),
)

TREEBANK, PAIRS = worded("a treebank"), worded("pairs of texts")


def _condition(sentence: str, takes: str = NOTHING, needs: str = ""):
    def enter(find):
        CONDITIONS[find.__name__.strip("_")] = Kind(find, sentence, takes, needs)
        return find

    return enter


def _fold(text: str) -> str:
    return unicodedata.normalize("NFC", text).casefold()


@_condition("{it} is{no} the word {args}", TEXTS)
def word(reading, *words):
    """It is one of these words, whatever their case."""
    wanted = set(map(_fold, words))
    return np.array([_fold(w) in wanted for w in reading.words]) & reading.is_word


@_condition("{it} is{no} read with the wordpiece {args}", TEXTS)
def token(reading, *pieces):
    """One of its wordpieces is among these, exactly as the model reads them: "##ing", "[SEP]"."""
    return np.array([not set(pieces).isdisjoint(own) for own in reading.tokens])


@_condition("{it} is{no} cut into several wordpieces")
def split(reading):
    """The tokenizer cuts it into several wordpieces."""
    return np.array([len(own) > 1 for own in reading.tokens])


@_condition("{it} is{no} a special token")
def special(reading):
    """It is a special token, [CLS] or [SEP]."""
    return ~reading.is_word


@_condition("{it} is{no} punctuation")
def punctuation(reading):
    """It is a word without a letter or digit."""
    return np.array([not any(c.isalnum() for c in w) for w in reading.words]) & reading.is_word


@_condition("{it} is{no} word number {args} of the text, counting from 0", NUMBERS)
def position(reading, *numbers):
    """It is the word with this number, counted from 0; -1 is the last."""
    n = len(reading.word_positions)
    wanted = [number % n for number in numbers if -n <= number < n]
    return np.isin(reading.places, wanted) & reading.is_word


@_condition("{it} is{no} in segment {args}", SEGMENT)
def segment(reading, name):
    """It is in segment A, the first text with its special tokens, or in B."""
    return np.asarray(reading.segments) == SEGMENTS.index(name)


@_condition("{it} is{no} tagged {args}", TEXTS, TREEBANK)
def pos(reading, *tags):
    """Its part of speech is one of these (UPOS): "DET", "NOUN"."""
    return np.isin(reading.upos, tags) & reading.is_word


@_condition("{it} is{no} a form of {args}", TEXTS, TREEBANK)
def lemma(reading, *lemmas):
    """Its lemma is one of these, whatever their case."""
    wanted = set(map(_fold, lemmas))
    return np.array([_fold(own) in wanted for own in reading.lemmas]) & reading.is_word


@_condition("{it} is{no} attached to its governor as {args}", TEXTS, TREEBANK)
def relation(reading, *names):
    """It stands to its governor in one of these relations; "nmod" takes in "nmod:poss", not the other way round."""
    found = [own in names or own.partition(":")[0] in names for own in reading.relations]
    return np.array(found) & reading.is_word


@_condition("{it} is{no} {other} itself")
def itself(reading):
    """It is the very position that looks."""
    return np.eye(len(reading), dtype=bool)


@_condition("{it} is{no} {args} {other}", STEPS)
def offset(reading, *steps):
    """It stands so many words further on: -1 is the word before, +1 the word after."""
    return np.isin(_distance(reading), steps) & reading.word_pairs


@_condition("{it} is{no} at most {args} from {other}", COUNT)
def within(reading, words):
    """It is another word, at most so many words away."""
    distance = np.abs(_distance(reading))
    return (distance >= 1) & (distance <= words) & reading.word_pairs


@_condition("{it} is{no} before {other}")
def before(reading):
    """It is a word before the other one."""
    return (_distance(reading) < 0) & reading.word_pairs


@_condition("{it} is{no} after {other}")
def after(reading):
    """It is a word after the other one."""
    return (_distance(reading) > 0) & reading.word_pairs


@_condition("{it} is{no} the next {args} after {other}", SEARCH)
def _next(reading, *wanted):
    """It is the nearest such word after the other one; without argument, the next word."""
    found = _wanted(reading, wanted) & after(reading)
    return found & (np.cumsum(found, axis=1) == 1)


@_condition("{it} is{no} the last {args} before {other}", SEARCH)
def previous(reading, *wanted):
    """It is the nearest such word before the other one; without argument, the previous word."""
    found = _wanted(reading, wanted) & before(reading)
    return found & (np.cumsum(found[:, ::-1], axis=1)[:, ::-1] == 1)


@_condition("{it} is{no} {other}'s governor", NOTHING, TREEBANK)
def governor(reading):
    """It governs the other one in the tree."""
    return np.asarray(reading.governors)[:, None] == np.arange(len(reading))


@_condition("{it} is{no} a dependent of {other}", NOTHING, TREEBANK)
def dependent(reading):
    """The other one governs it in the tree."""
    return governor(reading).T


@_condition("{it} is{no} another word under the governor of {other}", NOTHING, TREEBANK)
def sibling(reading):
    """It is another word under the same governor."""
    governors = np.asarray(reading.governors)
    same = (governors[:, None] == governors) & (governors >= 0)
    return same & ~itself(reading)


@_condition("{it} is{no} the same word as {other}, elsewhere")
def same_word(reading):
    """It is the same word at another place, whatever its case."""
    forms = np.array([_fold(w) for w in reading.words])
    return (forms[:, None] == forms) & reading.word_pairs & ~itself(reading)


@_condition("{it} is{no} another word tagged as {other} is", NOTHING, TREEBANK)
def same_pos(reading):
    """It is another word with the same part of speech."""
    tags = np.array(reading.upos)
    return (tags[:, None] == tags) & reading.word_pairs & ~itself(reading)


@_condition("{it} is{no} in the segment of {other}", NOTHING, PAIRS)
def segment_same(reading):
    """Both are in one segment of a pair."""
    return ~segment_other(reading)


@_condition("{it} is{no} in another segment than {other}", NOTHING, PAIRS)
def segment_other(reading):
    """One is in segment A, the other in B."""
    segments = np.asarray(reading.segments)
    return segments[:, None] != segments


def _distance(reading) -> np.ndarray:
    """(other, it): its number minus the other one's, in words."""
    return reading.places - reading.places[:, None]


def _wanted(reading, wanted) -> np.ndarray:
    if not wanted:
        return reading.word_pairs
    return wanted[0] if isinstance(wanted[0], np.ndarray) else word(reading, *wanted)
