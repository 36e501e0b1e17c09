"""One labelling game over a class: how far two students agree, and on which maps the class is divided."""

from __future__ import annotations

from collections import Counter, defaultdict
from dataclasses import dataclass

import numpy as np

from bertlook_teach.measures import CLASSES

from .collect import Gathered, Labels

_FEWEST = 2  # students who labelled a map, before it says something about the class


@dataclass(frozen=True)
class Game:
    """One game over the class.

    Attributes
    ----------
    kappas : array of float
        Of each two students, over the maps that both labelled, where it is defined.
    with_rule : list of float
        The share of a student's labels that are the rule's, where a table with the rule was handed in.
    split : list of (map from 1, {class: students}, rule)
        Those on which the class disagreed most come first.
    """

    name: str
    students: int
    kappas: np.ndarray
    with_rule: list[float]
    split: list[tuple[int, Counter, str]]


def games(found: Gathered) -> list[Game]:
    """Each game that was handed in, the one with the most students first; other lengths are other games."""
    together: dict[tuple[str, int], list[Labels]] = defaultdict(list)
    for labels in found.labels.values():
        together[labels.game, len(labels.digits)].append(labels)
    done = []
    for (name, n), group in sorted(together.items(), key=lambda item: -len(item[1])):
        rule = next((labels.rule for labels in group if labels.rule), ())
        digits = np.array([list(labels.digits) for labels in group])
        chosen = (digits[:, :, None] == np.arange(1, len(CLASSES) + 1)).astype(np.float32)
        # Each with all later ones at once: of 1,000 students half a million pairs.
        kappas = [_kappas(np.einsum("ma,smb->sab", chosen[i], chosen[i + 1 :])) for i in range(len(group))]
        with_rule = []
        for labels in group if rule else ():
            said = [CLASSES[d - 1] == r for d, r in zip(labels.digits, rule) if d]
            with_rule.append(sum(said) / len(said))
        split = []
        for i in range(n):
            votes = Counter(CLASSES[labels.digits[i] - 1] for labels in group if labels.digits[i])
            if votes.total() >= _FEWEST:
                split.append((i + 1, votes, rule[i] if rule else ""))
        split.sort(key=lambda row: (max(row[1].values()) / row[1].total(), row[0]))
        done.append(Game(name, len(group), np.concatenate(kappas), with_rule, split))
    return done


def _kappas(confusions: np.ndarray) -> np.ndarray:
    """`bertlook_course.metrics.cohen_kappa` of many confusion matrices, shape (pair, class, class), where it is defined."""
    confusions = confusions.astype(float)
    total = confusions.sum(axis=(1, 2))
    confusions, total = confusions[total > 0], total[total > 0]
    chance = (confusions.sum(axis=1) * confusions.sum(axis=2)).sum(axis=1) / total**2
    same = np.trace(confusions, axis1=1, axis2=2) / total
    defined = chance < 1 - 1e-12
    return (same[defined] - chance[defined]) / (1 - chance[defined])
