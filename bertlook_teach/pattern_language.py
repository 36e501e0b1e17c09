"""Say where a head ought to look, in one line: patterns over pairs of words, put together with ``&``, ``|`` and ``~``.

A pattern is asked of every pair (query, key) of a text: may the query look there? ``query`` and ``key`` carry the same
conditions; those about two words read from the side they stand on: ``key.governor()`` says that the key is the
query's governor, ``query.governor()`` that the query is the key's. In a notebook:

    from bertlook_teach import load_encoder
    from bertlook_teach.corpora import load_treebank
    from bertlook_teach.encoder import random_twin
    from bertlook_teach.pattern_language import key, parse_pattern, query
    from bertlook_teach.pattern_scores import score_pattern, word_maps

    pattern = query.pos("DET") & key.governor()
    pattern == parse_pattern("query.pos('DET') & key.governor()")     # from a text box; nothing is evaluated
    pattern.in_words()                              # 'The query is tagged DET and the key is the query's governor.'
    encoder, trees = load_encoder("specimen"), load_treebank()        # or texts, or pairs of texts
    maps, twin = word_maps(encoder, trees), word_maps(random_twin(encoder), trees)  # once; any pattern after that
    score = score_pattern(pattern, maps, twin)      # raises CannotDecide with the reason where there is nothing to say
    print(score)                                    # the table: fair number, interval, baselines, twin
    HeadMap(score.head_maps())                      # accuracy and mass of every head
    claim = pattern.as_claim("13-mine", "13", "Determiners look at their noun", "me", line=0.05)
    decide([claim], encoder, evidence=pattern.evidence())             # the ledger's verdict, gain over the best offset

More in docs/patterns.md.
"""

from __future__ import annotations

import ast
import difflib
import unicodedata
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import cached_property, partial
from typing import NamedTuple

import numpy as np

from .corpora import TreebankSentence

__all__ = ["CONDITIONS", "Pattern", "Reading", "key", "parse_pattern", "query"]

LONGEST, DEEPEST = 2000, 60  # of an expression: characters, and parts within parts
SEGMENTS = ("A", "B")


# --- what a pattern is asked of ------------------------------------------------------------------------


@dataclass(frozen=True, eq=False)
class Reading:
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
    """

    words: tuple[str, ...]
    special: tuple[bool, ...]
    segments: tuple[int, ...]
    tokens: tuple[tuple[str, ...], ...]
    upos: tuple[str, ...] | None = None
    lemmas: tuple[str, ...] | None = None
    relations: tuple[str, ...] | None = None
    governors: tuple[int, ...] | None = None

    @classmethod
    def of(cls, sentence: TreebankSentence, attention=None) -> Reading:
        """A sentence of a treebank: as a model has read it, or without ``attention`` its words alone.

        >>> tree = TreebankSentence(("it", "sat"), (1, -1), ("nsubj", "root"), ("PRON", "VERB"), *[("_",) * 2] * 2, ({},) * 2)
        >>> Reading.of(tree)
        Reading(it sat, with its tree)
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

        return cls(
            plain.words,
            plain.special,
            plain.segments,
            plain.tokens,
            spread(sentence.upos, ""),
            spread(sentence.lemmas, ""),
            spread(sentence.relations, ""),
            spread([-1 if g < 0 else int(at[g]) for g in sentence.governors], -1),
        )

    @classmethod
    def of_attention(cls, attention) -> Reading:
        """A plain text, or a pair, as a model has read it; ``attention`` at wordpiece level."""
        from .words import word_groups

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
        return f"Reading({shown}{', with its tree' if self.governors is not None else ''})"


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
    "nothing",
    "one or more texts in quotes",
    "one or more whole numbers other than 0",
    "one or more whole numbers",
    "one whole number, at least 1",
    "'A' or 'B'",
    "nothing, words in quotes, or one pattern",
)
TREEBANK, PAIRS = "a treebank", "pairs of texts"


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


@_condition("{it} is{no} word number {args} of the text", NUMBERS)
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


@_condition("{it} is{no} governed by the governor of {other}", NOTHING, TREEBANK)
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


# --- patterns ------------------------------------------------------------------------------------------


class Pattern:
    """A yes or no for every pair (query, key); made with ``query``, ``key`` and :func:`parse_pattern`.

    ``a & b``: both hold; ``a | b``: one of them; ``~a``: it does not. ``repr`` gives the expression back.

    >>> print((query.pos("DET") | query.word("my")) & ~key.next())
    (query.pos("DET") | query.word("my")) & ~key.next()
    """

    def mask(self, reading: Reading) -> np.ndarray:
        """Where the pattern holds: bool array of shape (query, key), over words and special tokens.

        Raises
        ------
        ValueError
            If it asks for what only a treebank says, and the reading is of a plain text.
        """
        raise NotImplementedError

    def in_words(self) -> str:
        """The pattern as an English sentence."""
        said = self._said()
        return f"{said[0].upper()}{said[1:]}."

    def conditions(self) -> Iterator[Condition]:
        """Its conditions, from left to right."""
        raise NotImplementedError

    @property
    def needs(self) -> frozenset[str]:
        """What it can only be asked of: "a treebank", "pairs of texts"."""
        return frozenset(filter(None, (CONDITIONS[c.name].needs for c in self.conditions())))

    def asks_beyond_words(self, wanted: bool = True) -> bool:
        """Whether it asks for special tokens or for the query itself; "not a special token" does not."""
        raise NotImplementedError

    def pairs(self, reading: Reading) -> list[tuple[str, str]]:
        """The words of all pairs for which it holds, (query, key).

        >>> tree = TreebankSentence(("it", "sat"), (1, -1), ("nsubj", "root"), ("PRON", "VERB"), *[("_",) * 2] * 2, ({},) * 2)
        >>> key.governor().pairs(Reading.of(tree))
        [('it', 'sat')]
        """
        return [(reading.words[q], reading.words[k]) for q, k in np.argwhere(self.mask(reading))]

    def as_claim(self, key: str, lesson: str, sentence: str, source: str, line: float, **details):
        """The claim that some head does this, for the ledger; see `bertlook_teach.pattern_scores.as_claim`."""
        from .pattern_scores import as_claim

        return as_claim(self, key, lesson, sentence, source, line, **details)

    def evidence(self, on: str | None = None) -> dict:
        """What ``decide(..., evidence=)`` needs to decide its claims; see `bertlook_teach.pattern_scores.evidence`."""
        from .pattern_scores import evidence

        return evidence(self, on=on)

    def _said(self, no: bool = False) -> str:
        raise NotImplementedError

    def __and__(self, other) -> Pattern:
        return Both(self, other) if isinstance(other, Pattern) else NotImplemented

    def __or__(self, other) -> Pattern:
        return Either(self, other) if isinstance(other, Pattern) else NotImplemented

    def __invert__(self) -> Pattern:
        return Not(self)

    def __bool__(self):
        raise TypeError(
            "a pattern is neither true nor false by itself: put patterns together with & (and), | (or), ~ (not), "
            "not with the words and, or, not; and ask .mask(reading) where it holds."
        )


@dataclass(frozen=True, repr=False)
class Condition(Pattern):
    """One condition on one side; its arguments are checked here."""

    side: str
    name: str
    arguments: tuple = ()

    def __post_init__(self):
        if self.name not in CONDITIONS:
            raise AttributeError(_no_such_condition(self.side, self.name))
        takes = CONDITIONS[self.name].takes
        if not _FITS[takes](self.arguments):
            got = ", ".join(map(repr, self.arguments)) or "nothing"
            raise ValueError(f"{self.side}.{self.name} takes {takes}; got {got}.")

    def mask(self, reading):
        kind = CONDITIONS[self.name]
        if kind.needs == TREEBANK and reading.governors is None:
            raise ValueError(_needs_treebank([self]))
        arguments = [self._turned(a.mask(reading)) if isinstance(a, Pattern) else a for a in self.arguments]
        found = kind.find(reading, *arguments)
        shape = (len(reading), len(reading))
        return self._turned(np.broadcast_to(found, shape)).copy()

    def _turned(self, found):
        """From (other, it) to (query, key), or back."""
        return found if self.side == "key" else found.T

    def conditions(self):
        yield self
        for argument in self.arguments:
            if isinstance(argument, Pattern):
                yield from argument.conditions()

    def asks_beyond_words(self, wanted=True):
        named = self.name in ("special", "itself") or (
            self.name == "token"
            and any(len(p) > 2 and (p[0], p[-1]) in (("[", "]"), ("<", ">")) for p in self.arguments)
        )
        return wanted and named

    def _said(self, no=False):
        other = "key" if self.side == "query" else "query"
        return CONDITIONS[self.name].sentence.format(
            it=f"the {self.side}",
            other=f"the {other}",
            no=" not" if no else "",
            args=_said_arguments(self.name, self.arguments),
        )

    def __repr__(self):
        return f"{self.side}.{self.name}({', '.join(map(_literal, self.arguments))})"


@dataclass(frozen=True, repr=False)
class Both(Pattern):
    left: Pattern
    right: Pattern

    def mask(self, reading):
        return self.left.mask(reading) & self.right.mask(reading)

    def conditions(self):
        yield from self.left.conditions()
        yield from self.right.conditions()

    def asks_beyond_words(self, wanted=True):
        return self.left.asks_beyond_words(wanted) or self.right.asks_beyond_words(wanted)

    def _said(self, no=False):
        said = f"{_bracketed(self.left, Either)} and {_bracketed(self.right, Either)}"
        return f"it is not so that ({said})" if no else said

    def __repr__(self):
        return f"{_in_brackets(self.left, Either)} & {_in_brackets(self.right, Both, Either)}"


@dataclass(frozen=True, repr=False)
class Either(Pattern):
    left: Pattern
    right: Pattern

    def mask(self, reading):
        return self.left.mask(reading) | self.right.mask(reading)

    conditions = Both.conditions
    asks_beyond_words = Both.asks_beyond_words

    def _said(self, no=False):
        said = f"{_bracketed(self.left, Both)} or {_bracketed(self.right, Both)}"
        return f"it is not so that ({said})" if no else said

    def __repr__(self):
        return f"{self.left!r} | {_in_brackets(self.right, Either)}"


@dataclass(frozen=True, repr=False)
class Not(Pattern):
    inner: Pattern

    def mask(self, reading):
        return ~self.inner.mask(reading)

    def conditions(self):
        return self.inner.conditions()

    def asks_beyond_words(self, wanted=True):
        return self.inner.asks_beyond_words(not wanted)

    def _said(self, no=False):
        return f"it is not so that ({self._said()})" if no else self.inner._said(no=True)

    def __repr__(self):
        return f"~{_in_brackets(self.inner, Both, Either)}"


def _in_brackets(pattern: Pattern, *kinds) -> str:
    return f"({pattern!r})" if isinstance(pattern, kinds) else repr(pattern)


def _bracketed(pattern: Pattern, kind) -> str:
    return f"({pattern._said()})" if isinstance(pattern, kind) else pattern._said()


def _literal(argument) -> str:
    """As Python reads it back, in double quotes where that is possible; nothing invisible is left as it is."""
    if not isinstance(argument, str) or '"' in argument:
        return repr(argument)
    return '"' + repr("'" + argument)[2:]  # a single quote inside makes repr use double ones


def _said_arguments(name: str, arguments: tuple) -> str:
    takes = CONDITIONS[name].takes
    if takes == STEPS:
        sides = (f"{_words(abs(n))} {'before' if n < 0 else 'after'}" for n in arguments)
        return " or ".join(sides)
    if takes == COUNT:
        return _words(arguments[0])
    if takes == SEARCH and not arguments:
        return "word"
    if takes == SEARCH and isinstance(arguments[0], Pattern):
        return f"word for which ({arguments[0]._said()})"
    quoted = name in ("word", "token", "lemma") or takes == SEARCH
    return " or ".join(_literal(a) if quoted else str(a) for a in arguments)


def _words(n: int) -> str:
    return f"{n} word{'' if n == 1 else 's'}"


def _whole(value) -> bool:
    return isinstance(value, int) and not isinstance(value, bool)


def _texts(arguments) -> bool:
    return bool(arguments) and all(isinstance(a, str) and a for a in arguments)


_FITS = {
    NOTHING: lambda a: not a,
    TEXTS: _texts,
    STEPS: lambda a: bool(a) and all(_whole(n) and n for n in a),
    NUMBERS: lambda a: bool(a) and all(map(_whole, a)),
    COUNT: lambda a: len(a) == 1 and _whole(a[0]) and a[0] >= 1,
    SEGMENT: lambda a: len(a) == 1 and a[0] in SEGMENTS,
    SEARCH: lambda a: not a or _texts(a) or (len(a) == 1 and isinstance(a[0], Pattern)),
}


def _no_such_condition(side: str, name: str) -> str:
    near = difflib.get_close_matches(name, CONDITIONS, 1)
    meant = f" Did you mean {side}.{near[0]}?" if near else ""
    return f"{side} has no condition {name!r}.{meant} There are: {', '.join(sorted(CONDITIONS))}."


def _needs_treebank(conditions) -> str:
    asked = ", ".join(dict.fromkeys(map(repr, conditions)))
    plain = ", ".join(sorted(name for name, kind in CONDITIONS.items() if kind.needs != TREEBANK))
    return (
        f"{asked} can only be asked of a treebank, and this is plain text. Give sentences in CoNLL-U "
        f"(read_conllu, or --treebank FILE), or use: {plain}."
    )


class Side:
    """``query``, the word that looks, or ``key``, the word that is looked at; its conditions are its methods."""

    def __init__(self, name: str):
        self._name = name

    def __getattr__(self, name: str):
        if name.startswith("__"):
            raise AttributeError(name)
        if name not in CONDITIONS:
            raise AttributeError(_no_such_condition(self._name, name))

        def condition(*arguments) -> Pattern:
            return Condition(self._name, name, arguments)

        condition.__doc__ = CONDITIONS[name].find.__doc__
        condition.__name__ = condition.__qualname__ = name
        return condition

    def __dir__(self):
        return sorted(CONDITIONS)

    def __repr__(self) -> str:
        return self._name


query, key = Side("query"), Side("key")


# --- from a text box -----------------------------------------------------------------------------------


def parse_pattern(text: str) -> Pattern:
    """The pattern that an expression writes down. The text is read, never run.

    Parameters
    ----------
    text : str
        Conditions of ``query`` and ``key`` with texts and whole numbers in their brackets, ``&``, ``|``, ``~`` and brackets.

    Raises
    ------
    ValueError
        If it holds anything else, saying what and where.
    TypeError
        If it is no text.

    Examples
    --------
    >>> parse_pattern("query.word('the', 'a') & key.offset(+1)")
    query.word("the", "a") & key.offset(1)
    >>> parse_pattern("open('secret')")
    Traceback (most recent call last):
    ...
    ValueError: a pattern is made of conditions such as query.pos("DET") and key.governor(); got open('secret') in column 1.
    """
    if not isinstance(text, str):
        raise TypeError(f"a pattern to read is a text; got {type(text).__name__}: {text!r:.80}.")
    if not text.strip():
        raise ValueError('the pattern is empty; write for example query.pos("DET") & key.governor().')
    if len(text) > LONGEST:
        raise ValueError(f"a pattern has at most {LONGEST} characters; this one has {len(text)}.")
    text = " ".join(text.split("\n")).strip()  # a text box may break the line
    try:
        tree = ast.parse(text, mode="eval").body
    except SyntaxError as error:
        curly = " Quotes must be straight: \" or '." if set(text) & set("“”„‘’«»") else ""
        raise ValueError(
            f"this is no expression: {error.msg}, in column {error.offset or 1} of {text!r:.120}.{curly} "
            'Expected for example: query.pos("DET") & key.governor().'
        ) from None
    except (MemoryError, RecursionError, ValueError) as error:
        raise ValueError(f"the pattern cannot be read: {str(error) or 'too many brackets'}.") from None
    return _built(tree, text, DEEPEST)


_AND_OR = {ast.BitAnd: Both, ast.BitOr: Either}


def _built(node: ast.expr, text: str, depth: int) -> Pattern:
    if not depth:
        raise ValueError(f"a pattern has at most {DEEPEST} parts within one another; write it in fewer.")
    build = partial(_built, text=text, depth=depth - 1)
    if isinstance(node, ast.BinOp) and type(node.op) in _AND_OR:
        return _AND_OR[type(node.op)](build(node.left), build(node.right))
    if isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.Invert):
        return Not(build(node.operand))
    where = f"{_source(node, text)} in column {node.col_offset + 1}"
    in_python_words = isinstance(node, ast.BoolOp) or isinstance(getattr(node, "op", None), ast.Not)
    if in_python_words:
        raise ValueError(f"put conditions together with &, | and ~, not with and, or, not; got {where}.")
    called = node.func if isinstance(node, ast.Call) else node
    if (
        not isinstance(called, ast.Attribute)
        or not isinstance(called.value, ast.Name)
        or called.value.id not in ("query", "key")
    ):
        raise ValueError(
            f'a pattern is made of conditions such as query.pos("DET") and key.governor(); got {where}.'
        )
    if called is node:
        raise ValueError(f"a condition ends with brackets, for example key.governor(); got {where}.")
    if node.keywords:
        raise ValueError(f"a condition takes its arguments without names; got {where}.")
    arguments = tuple(_argument(part, build) for part in node.args)
    try:
        return Condition(called.value.id, called.attr, arguments)
    except (AttributeError, ValueError) as error:
        raise ValueError(f"{error} In column {node.col_offset + 1}.") from None


def _argument(node: ast.expr, build):
    sign = 1
    if isinstance(node, ast.UnaryOp) and isinstance(node.op, (ast.USub, ast.UAdd)):
        sign, node = (-1 if isinstance(node.op, ast.USub) else 1), node.operand
        if not (isinstance(node, ast.Constant) and _whole(node.value)):
            return build(node)
    if isinstance(node, ast.Constant):
        return sign * node.value if _whole(node.value) else node.value
    return build(node)


def _source(node: ast.expr, text: str) -> str:
    found = ast.get_source_segment(text, node) or text
    return found if len(found) <= 60 else f"{found[:57]}..."
