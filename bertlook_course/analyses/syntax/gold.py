"""Which words the treebank says should be found, and what fixed offsets find."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

import numpy as np

from ...corpora import TreebankSentence
from .answers import _NOWHERE, _ROOT
from .predictors import ALL, ROOT, WITHOUT_PUNCT, answering_words


@dataclass(frozen=True, eq=False)
class Gold:
    """The cases of a treebank in one scheme: for each word its relation, and the distance to its governor; 16 bytes a word."""

    distances: np.ndarray  # int16 (word,), _ROOT for the root
    codes: np.ndarray  # int16 (word,): places of the relations in `names`
    names: tuple[str, ...]
    sentences: np.ndarray  # int32 (word,)
    answering: np.ndarray  # int32 (word,): the word whose answer counts
    room: np.ndarray  # int16 (word, 2): words of the sentence before and after it

    @property
    def relations(self) -> np.ndarray:
        """The relation of each word, of str (word,)."""
        return np.array(self.names)[self.codes]

    def cases(self, count_root: bool) -> dict[str, np.ndarray]:
        """Relation -> the words that are its cases; the two rows over all relations first."""
        arcs = self.distances != _ROOT
        punct = np.array([name.startswith("punct") for name in self.names], dtype=bool)[self.codes]
        everything = np.ones_like(arcs) if count_root else arcs
        cases = {ALL: np.flatnonzero(everything), WITHOUT_PUNCT: np.flatnonzero(everything & ~punct)}
        found, first, counts = np.unique(self.codes[arcs], return_index=True, return_counts=True)
        # frequent ones first, of equals the one that came first
        for code in found[np.lexsort((first, -counts))]:
            cases[self.names[code]] = np.flatnonzero(arcs & (self.codes == code))
        return cases

    @staticmethod
    def joined(parts: Iterable[Gold]) -> Gold:
        """The cases of several parts of a treebank, one after the other."""
        columns: dict[str, list[np.ndarray]] = {
            name: [] for name in ("distances", "codes", "sentences", "answering", "room")
        }
        names: dict[str, int] = {}
        words = sentences = 0
        for part in parts:
            codes = np.array([names.setdefault(name, len(names)) for name in part.names], np.int16)
            for name, column in (
                ("distances", part.distances),
                ("codes", codes[part.codes]),
                ("sentences", part.sentences + np.int32(sentences)),
                ("answering", part.answering + np.int32(words)),
                ("room", part.room),
            ):
                columns[name].append(column)
            words += len(part.distances)
            sentences += int(part.sentences[-1]) + 1
        return Gold(names=tuple(names), **{name: np.concatenate(c) for name, c in columns.items()})


def gold_cases(trees: Sequence[TreebankSentence], poss_rule: str = "") -> Gold:
    """Lay the sentences' words in one row, as `Answers` does."""
    distances, codes, answering, room, start = [], [], [], [], 0
    names: dict[str, int] = {}
    for tree in trees:
        places = np.arange(len(tree))
        governors = np.asarray(tree.governors)
        distances.append(np.where(governors == ROOT, _ROOT, governors - places))
        codes.extend(names.setdefault(relation, len(names)) for relation in tree.relations)
        answering.append(start + answering_words(tree, poss_rule))
        room.append(np.stack([places, len(tree) - 1 - places], axis=1))
        start += len(tree)
    return Gold(
        np.concatenate(distances).astype(np.int16),
        np.array(codes, np.int16),
        tuple(names),
        np.repeat(np.arange(len(trees), dtype=np.int32), [len(t) for t in trees]),
        np.concatenate(answering).astype(np.int32),
        np.concatenate(room).astype(np.int16),
    )


def offset_answers(trees: Sequence[TreebankSentence], offsets: Sequence[int]) -> np.ndarray:
    """What the fixed offsets answer, as distances: int16 of shape (word, offset)."""
    room = np.concatenate([np.stack([np.arange(n), np.arange(n)[::-1]], axis=1) for n in map(len, trees)])
    return OffsetAnswers(room, offsets).rows(slice(None))


@dataclass(frozen=True, eq=False)
class OffsetAnswers:
    """The answers of fixed offsets, worked out for the words that are asked for.

    Attributes
    ----------
    room : int array of shape (word, 2)
        Words of the sentence before and after each word.
    offsets : sequence of int
    edge : {"none", "published"}
        What they say where their word lies outside the sentence. ``"none"``: no answer, which is wrong. ``"published"``, as in the
        code released with the paper: the root on the left, the last word on the right.
    """

    room: np.ndarray
    offsets: Sequence[int]
    edge: str = "none"

    def rows(self, words) -> np.ndarray:
        """Their distances, int16 of shape (word, offset)."""
        before, after = (side[:, None] for side in self.room[words].T.astype(int))
        offsets = np.asarray(self.offsets)
        distance = np.clip(offsets, -before, after)
        if self.edge == "none":
            distance = np.where(distance != offsets, _NOWHERE, distance)
        else:
            distance = np.where(offsets < -before, _ROOT, distance)
        return distance.astype(np.int16)
