"""Say where a head ought to look, in one line: patterns over pairs of words, put together with ``&``, ``|`` and ``~``.

A pattern is asked of every pair (query, key) of a text: may the query look there? ``query`` and ``key`` carry the same
conditions; those about two words read from the side they stand on: ``key.governor()`` says that the key is the
query's governor, ``query.governor()`` that the query is the key's. In a notebook:

    from bertlook_teach import HeadMap, load_encoder, random_twin
    from bertlook_course import load_treebank
    from bertlook_course.analyses.patterns import key, parse_pattern, query, score_pattern, word_maps

    pattern = query.pos("DET") & key.governor()
    pattern == parse_pattern("query.pos('DET') & key.governor()")     # from a text box; nothing is evaluated
    pattern.in_words()                              # 'The query is tagged DET and the key is the query's governor.'
    encoder, trees = load_encoder("specimen"), load_treebank()        # or texts, or pairs of texts
    maps, twin = word_maps(encoder, trees), word_maps(random_twin(encoder), trees)  # once; any pattern after that
    score = score_pattern(pattern, maps, twin)      # raises CannotDecide with the reason where there is nothing to say
    print(score)                                    # the table: fair number, interval, baselines, twin
    HeadMap(score.head_maps())                      # accuracy and mass of every head
    claim = claim_of(pattern, key="13-mine", sentence="Determiners look at their noun", source="me", threshold=0.05)
    decide([claim], encoder)                                            # the ledger's verdict, gain over the best offset

More in docs/patterns.md.
"""

from __future__ import annotations

import ast
import difflib
import warnings
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from functools import partial

import numpy as np

from ...syllabus import worded
from .conditions import (
    CONDITIONS,
    COUNT,
    NOTHING,
    NUMBERS,
    SEARCH,
    SEGMENT,
    SEGMENTS,
    STEPS,
    TEXTS,
    TREEBANK,
    PatternText,
)

LONGEST, DEEPEST = 2000, 200  # of an expression: characters, and parts within parts


# --- patterns ------------------------------------------------------------------------------------------
class Pattern:
    """A yes or no for every pair (query, key); made with ``query``, ``key`` and :func:`parse_pattern`.

    ``a & b``: both hold; ``a | b``: one of them; ``~a``: it does not. ``repr`` gives the expression back.

    >>> print((query.pos("DET") | query.word("my")) & ~key.next())
    (query.pos("DET") | query.word("my")) & ~key.next()
    """

    def mask(self, reading: PatternText) -> np.ndarray:
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
        first = len(said) - len(said.lstrip("("))
        return f"{said[: first + 1].upper()}{said[first + 1 :]}."

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

    def pairs(self, reading: PatternText) -> list[tuple[str, str]]:
        """The words of all pairs for which it holds, (query, key).

        >>> reading = PatternText(("it", "sat"), (False, False), (0, 0), (("it",), ("sat",)))
        >>> key.next().pairs(reading)
        [('it', 'sat')]
        """
        return [(reading.words[q], reading.words[k]) for q, k in np.argwhere(self.mask(reading))]

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
            got = ", ".join(map(repr, self.arguments)) or NOTHING
            raise ValueError(worded("takes", condition=f"{self.side}.{self.name}", takes=takes, got=got))

    def mask(self, reading):
        kind = CONDITIONS[self.name]
        if kind.needs == TREEBANK and reading.governors is None:
            raise ValueError(needs_treebank([self]))
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
            it=worded("the side", side=self.side),
            other=worded("the side", side=other),
            no=f" {worded('not')}" if no else "",
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
        said = worded("both", left=_bracketed(self.left, Either), right=_bracketed(self.right, Either))
        return worded("not so", words=said) if no else said

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
        said = worded("either", left=_bracketed(self.left, Both), right=_bracketed(self.right, Both))
        return worded("not so", words=said) if no else said

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
        return worded("not so", words=self._said()) if no else self.inner._said(no=True)

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
        sides = ("words before" if n < 0 else "words after" for n in arguments)
        return _or(worded(side, words=_words(abs(n))) for side, n in zip(sides, arguments))
    if takes == COUNT:
        return _words(arguments[0])
    if takes == SEARCH and not arguments:
        return worded("word")
    if takes == SEARCH and isinstance(arguments[0], Pattern):
        return worded("word so", words=arguments[0]._said())
    quoted = name in ("word", "token", "lemma") or takes == SEARCH
    return _or(_literal(a) if quoted else str(a) for a in arguments)


def _or(choices: Iterable[str]) -> str:
    return f" {worded('or')} ".join(choices)


def _words(n: int) -> str:
    return worded("one word") if n == 1 else worded("words", count=n)


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
    meant = [f"Did you mean {side}.{near[0]}?"] if near else []
    known = worded("there are", names=", ".join(sorted(CONDITIONS)))
    return " ".join([worded("unknown", side=side, name=repr(name)), *meant, known])


def needs_treebank(conditions) -> str:
    asked = ", ".join(dict.fromkeys(map(repr, conditions)))
    plain = ", ".join(sorted(name for name, kind in CONDITIONS.items() if kind.needs != TREEBANK))
    return worded("needs a treebank", conditions=asked, names=plain)


class Side:
    """``query``, the word that looks, or ``key``, the word that is looked at; its conditions are its methods."""

    def __init__(self, name: str):
        self._name = name

    def __getattr__(self, name: str):
        if name.startswith("_"):  # what copy, pickle or a notebook ask of any object
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
        If it is not a text.

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
        raise ValueError(worded("empty"))
    if len(text) > LONGEST:
        raise ValueError(worded("too long", most=LONGEST, count=len(text)))
    text = " ".join(text.split("\n")).strip()  # a text box may break the line
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # a doubtful escape in a text is not a matter here
            tree = ast.parse(text, mode="eval").body
    except SyntaxError as error:
        said = worded("no expression", why=error.msg, column=error.offset or 1, text=f"{text!r:.120}")
        curly = [worded("straight")] if set(text) & set("“”„‘’«»") else []
        raise ValueError(" ".join([said, *curly, worded("expected")])) from None
    except (MemoryError, RecursionError, ValueError) as error:
        raise ValueError(worded("unreadable", why=str(error) or worded("brackets"))) from None
    return _built(tree, text, DEEPEST)


_AND_OR = {ast.BitAnd: Both, ast.BitOr: Either}


def _built(node: ast.expr, text: str, depth: int) -> Pattern:
    if not depth:
        raise ValueError(worded("too deep", most=DEEPEST))
    build = partial(_built, text=text, depth=depth - 1)
    if isinstance(node, ast.BinOp) and type(node.op) in _AND_OR:
        return _AND_OR[type(node.op)](build(node.left), build(node.right))
    if isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.Invert):
        return Not(build(node.operand))
    where = worded("where", part=_source(node, text), column=node.col_offset + 1)
    in_python_words = isinstance(node, ast.BoolOp) or isinstance(getattr(node, "op", None), ast.Not)
    if in_python_words:
        raise ValueError(worded("in words", where=where))
    called = node.func if isinstance(node, ast.Call) else node
    if (
        not isinstance(called, ast.Attribute)
        or not isinstance(called.value, ast.Name)
        or called.value.id not in ("query", "key")
    ):
        raise ValueError(worded("no condition", where=where))
    if called is node:
        raise ValueError(worded("not asked", where=where))
    if node.keywords:
        raise ValueError(f"a condition takes its arguments without names; got {where}.")
    arguments = tuple(_argument(part, build) for part in node.args)
    try:
        return Condition(called.value.id, called.attr, arguments)
    except (AttributeError, ValueError) as error:
        raise ValueError(worded("in column", said=error, column=node.col_offset + 1)) from None


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
