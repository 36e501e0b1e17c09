"""Which words the treebank says should be found, and what fixed offsets find."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from ...corpora import TreebankSentence
from .answers import _NOWHERE, _ROOT
from .predictors import ALL, ROOT, WITHOUT_PUNCT, answering_words


@dataclass(frozen=True, eq=False)
class Gold:
    """The cases of a treebank in one scheme: for each word its relation, and the distance to its governor."""

    distances: np.ndarray  # int16 (word,), _ROOT for the root
    relations: np.ndarray  # of str (word,)
    sentences: np.ndarray  # int (word,)
    answering: np.ndarray  # int (word,): the word whose answer counts
    room: np.ndarray  # int (word, 2): words of the sentence before and after it

    def cases(self, count_root: bool) -> dict[str, np.ndarray]:
        """Relation -> the words that are its cases; the two rows over all relations first."""
        arcs = self.distances != _ROOT
        punct = np.array([r.startswith("punct") for r in self.relations], dtype=bool)
        everything = np.ones_like(arcs) if count_root else arcs
        cases = {ALL: np.flatnonzero(everything), WITHOUT_PUNCT: np.flatnonzero(everything & ~punct)}
        for relation, _ in Counter(self.relations[arcs].tolist()).most_common():
            cases[relation] = np.flatnonzero(arcs & (self.relations == relation))
        return cases


def gold_cases(trees: Sequence[TreebankSentence], poss_rule: str = "") -> Gold:
    """Lay the sentences' words in one row, as `Answers` does."""
    distances, relations, answering, room, start = [], [], [], [], 0
    for tree in trees:
        places = np.arange(len(tree))
        governors = np.asarray(tree.governors)
        distances.append(np.where(governors == ROOT, _ROOT, governors - places))
        relations.extend(tree.relations)
        answering.append(start + answering_words(tree, poss_rule))
        room.append(np.stack([places, len(tree) - 1 - places], axis=1))
        start += len(tree)
    return Gold(
        np.concatenate(distances).astype(np.int16),
        np.array(relations),
        np.repeat(np.arange(len(trees)), [len(t) for t in trees]),
        np.concatenate(answering),
        np.concatenate(room),
    )


def offset_answers(
    trees: Sequence[TreebankSentence], offsets: Sequence[int], edge: str = "none"
) -> np.ndarray:
    """What the fixed offsets answer, as distances: int16 of shape (word, offset)."""
    answers = []
    for tree in trees:
        n = len(tree)
        places = np.arange(n)[:, None]
        guess = places + np.asarray(offsets)
        outside = (guess < 0) | (guess >= n)
        distance = np.clip(guess, 0, n - 1) - places
        if edge == "none":
            distance = np.where(outside, _NOWHERE, distance)
        elif edge == "published":
            distance = np.where(guess < 0, _ROOT, distance)
        answers.append(distance)
    return np.concatenate(answers).astype(np.int16)
