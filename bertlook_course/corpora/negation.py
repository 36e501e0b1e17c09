"""Sentences with negation cues and their scopes, after the corpus of Conan Doyle stories used in the *SEM 2012 task.

A **cue** is the word that negates (*not*, *never*, *nobody*); its **scope** is every word whose meaning it turns round. Zhao and
Bethard (2020) ask whether some heads look from the words of a scope to its cue.

References
----------
Morante and Daelemans (2012), ConanDoyle-neg; the rules of our sentences, and where they differ: ``data/negation/README.md``.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path
from typing import NamedTuple

from bertlook_teach.disk import data_path

from .texts import json_lines, json_row, note_id, of_split

# The cue words of the shipped sentences, in lower case. "n't" is a word of its own, as in a treebank ("did n't").
CUE_WORDS = tuple(
    """
    not n't no never without nobody nothing neither nor hardly none nowhere
    """.split()
)


class Negation(NamedTuple):
    """One negation: places of the words in the sentence, counted from 0, in order.

    ``cue`` has one word, or several that act together (*neither ... nor*). ``scope`` never holds a word of the cue and may be empty.
    """

    cue: tuple[int, ...]
    scope: tuple[int, ...]


@dataclass(frozen=True)
class NegationSentence:
    """A sentence and its negations: none, one, or several.

    ``false_cues`` are places of words that look like a cue and negate nothing here (*no doubt*, *not only*).

    Examples
    --------
    >>> sentence = NegationSentence("1", ("He", "did", "not", "come", "."), (Negation((2,), (0, 1, 3)),))
    >>> print(sentence)
    {He did} <not> {come} .
    """

    id: str
    words: tuple[str, ...]
    negations: tuple[Negation, ...]
    split: str = ""
    false_cues: tuple[int, ...] = ()

    def __len__(self) -> int:
        return len(self.words)

    def __str__(self) -> str:
        """The sentence with <cue> and {scope} marked; one line for each negation."""
        if not self.negations:
            return " ".join(self.words)
        return "\n".join(_marked(self.words, negation) for negation in self.negations)


def iter_negation(path: str | Path) -> Iterator[NegationSentence]:
    """The sentences of a JSONL file, one at a time.

    Parameters
    ----------
    path : str or Path
        UTF-8, plain or ``.gz``; one object for each line with ``id``, ``words`` and ``negations`` (a list of objects with ``cue`` and ``scope``,
        lists of places counted from 0; empty in a sentence without negation), and if known ``split`` and ``false_cues``.

    Raises
    ------
    ValueError
        With file and line, if a line is not such an object, a place is outside the sentence, places are not in rising order, a cue is
        empty, a word is both cue and scope of one negation or cue of two, or an id stands there twice; also if the file holds no sentence.
    """
    seen: dict[str, int] = {}
    for number, where, line in json_lines(path):
        sentence = _sentence(line, where)
        note_id(seen, sentence.id, number, where)
        yield sentence
    if not seen:
        raise ValueError(f"{path} holds no sentence: expected one JSON object a line.")


def read_negation(path: str | Path) -> list[NegationSentence]:
    """All sentences of a JSONL file; see :func:`iter_negation`."""
    return list(iter_negation(path))


def load_negation(split: str | None = None) -> list[NegationSentence]:
    """The sentences that ship with the course, or the half of them named by ``split`` ("train" or "test")."""
    return of_split(read_negation(data_path("negation", "sentences.jsonl")), split)


def _sentence(line: str, where: str) -> NegationSentence:
    """One line, checked."""
    row, name, split = json_row(line, where, "sentence", "words", "negations")
    words, listed = row["words"], row["negations"]
    if not isinstance(words, list) or not words or not all(isinstance(w, str) and w.strip() for w in words):
        raise ValueError(f"{where}: words must be a list of words, none of them empty; got {words!r}.")
    if not isinstance(listed, list) or not all(
        isinstance(n, dict) and {"cue", "scope"} <= set(n) for n in listed
    ):
        raise ValueError(
            f"{where}: negations must be a list of objects with cue and scope, empty if there is none; got {listed!r}."
        )
    negations, cues = [], set()
    for item in listed:
        cue, scope = (_places(item[kind], kind, words, where) for kind in ("cue", "scope"))
        if not cue:
            raise ValueError(f"{where}: a negation needs a cue; got none, with the scope {list(scope)}.")
        scoped = set(scope)
        for place in cue:
            if place in scoped:
                raise ValueError(
                    f"{where}: word {place} ({words[place]}) is both cue and scope of one negation."
                )
            if place in cues:
                raise ValueError(f"{where}: word {place} ({words[place]}) is the cue of two negations.")
        cues.update(cue)
        negations.append(Negation(cue, scope))
    false_cues = _places(row.get("false_cues", []), "false_cues", words, where)
    if both := cues.intersection(false_cues):
        raise ValueError(
            f"{where}: word {min(both)} ({words[min(both)]}) is listed as a cue and as a false cue."
        )
    return NegationSentence(name, tuple(words), tuple(negations), split, false_cues)


def _places(places, kind: str, words: list[str], where: str) -> tuple[int, ...]:
    if not isinstance(places, list) or not all(type(place) is int for place in places):
        raise ValueError(f"{where}: {kind} must be a list of whole numbers; got {places!r}.")
    for place in places:
        if not 0 <= place < len(words):
            raise ValueError(
                f"{where}: {kind} names word {place}, but the sentence has {len(words)} words, counted 0 to {len(words) - 1}."
            )
    if any(later <= earlier for earlier, later in pairwise(places)):
        raise ValueError(f"{where}: the places of {kind} must rise, none of them twice; got {places}.")
    return tuple(places)


def _marked(words: tuple[str, ...], negation: Negation) -> str:
    """The words with {scope} and <cue> around runs of them."""
    kinds = [
        "cue" if i in negation.cue else "scope" if i in negation.scope else "" for i in range(len(words))
    ]
    signs = {"cue": "<>", "scope": "{}"}
    shown = []
    for i, (word, kind) in enumerate(zip(words, kinds)):
        opens = kind and (i == 0 or kinds[i - 1] != kind)
        closes = kind and (i == len(words) - 1 or kinds[i + 1] != kind)
        shown.append((signs[kind][0] if opens else "") + word + (signs[kind][1] if closes else ""))
    return " ".join(shown)
