"""Do two people, or a person and a rule, put the same things into the same classes?"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from .bootstrap import REPLICATES, draws, percentile_interval

FEWEST_FOR_INTERVAL = 10  # below it a bootstrap draws the same few items again and looks far too sure


def confusion_matrix(first: Sequence, second: Sequence, classes: Sequence) -> np.ndarray:
    """How often the first labelling said i while the second said j, shape (class, class).

    Raises
    ------
    ValueError
        If the two are of different length, hold no item, or name a class that is not listed.

    Examples
    --------
    >>> confusion_matrix(["a", "a", "b"], ["a", "b", "b"], ["a", "b"])
    array([[1, 1],
           [0, 1]])
    """
    first, second, classes = list(first), list(second), list(classes)
    if len(first) != len(second):
        raise ValueError(
            f"two labellings of the same items are needed; got {len(first)} and {len(second)} labels."
        )
    if not first:
        raise ValueError("no item has been labelled by both, so there is nothing to compare.")
    place = {name: i for i, name in enumerate(classes)}
    for label in (*first, *second):
        if label not in place:
            raise ValueError(f"{label!r} is not one of the classes {', '.join(map(str, classes))}.")
    counts = np.zeros((len(classes), len(classes)), dtype=int)
    np.add.at(counts, ([place[label] for label in first], [place[label] for label in second]), 1)
    return counts


def accuracy(confusion) -> float:
    """Share of items on which both say the same: the diagonal over everything."""
    confusion = np.asarray(confusion, dtype=float)
    return float(np.trace(confusion) / _total(confusion))


def class_f1(confusion) -> np.ndarray:
    """F1 of each class, 2 tp / (2 tp + fp + fn); -1 for a class that neither side uses.

    F1 does not ask which side is the truth: it is the same with rows and columns swapped.
    """
    confusion = np.asarray(confusion, dtype=float)
    used = confusion.sum(axis=0) + confusion.sum(axis=1)
    return np.where(used > 0, 2 * np.diag(confusion) / np.where(used > 0, used, 1), -1.0)


def macro_f1(confusion) -> float:
    """Mean F1 over the classes that at least one side uses, each class weighing the same.

    >>> round(macro_f1([[8, 2], [1, 4]]), 3)   # F1 = 16/19 and 8/11
    0.785
    """
    _total(np.asarray(confusion, dtype=float))
    scores = class_f1(confusion)
    return float(scores[scores >= 0].mean())


def cohen_kappa(confusion) -> float | None:
    """Agreement beyond what two independent labellers with these habits would reach: 0 chance, 1 always.

    None if both put everything into the same one class: then chance agrees always, and kappa is not defined.

    References
    ----------
    Cohen (1960), A coefficient of agreement for nominal scales.

    Examples
    --------
    >>> round(cohen_kappa([[20, 5], [10, 15]]), 3)   # (0.7 - 0.5) / (1 - 0.5)
    0.4
    """
    confusion = np.asarray(confusion, dtype=float)
    total = _total(confusion)
    chance = float((confusion.sum(axis=0) * confusion.sum(axis=1)).sum() / total**2)
    return None if chance >= 1 - 1e-12 else (accuracy(confusion) - chance) / (1 - chance)


def _total(confusion: np.ndarray) -> float:
    if confusion.ndim != 2 or confusion.shape[0] != confusion.shape[1]:
        raise ValueError(f"a confusion matrix has as many rows as columns; got shape {confusion.shape}.")
    total = float(confusion.sum())
    if total <= 0:
        raise ValueError("the confusion matrix is empty: no item has been labelled by both.")
    return total


@dataclass(frozen=True, eq=False)
class Agreement:
    """Two labellings compared.

    Attributes
    ----------
    confusion : int array of shape (class, class)
        Rows: the first labelling, columns: the second.
    accuracy, macro_f1, kappa : float
        ``kappa`` is None where it is not defined.
    intervals : dict of str to (low, high)
        95 % bootstrap over the items; empty for fewer than ten items, and without a measure that too few replicates define.
    n : int
    classes : tuple of str
    """

    confusion: np.ndarray
    accuracy: float
    macro_f1: float
    kappa: float | None
    intervals: dict[str, tuple[float, float]]
    n: int
    classes: tuple[str, ...]

    def said(self, measure: str) -> str:
        """A measure with its interval, or why it has none.

        >>> agree(["a", "b"] * 20, ["a", "b"] * 20, ["a", "b"]).said("accuracy")
        '1.00 [1.00, 1.00]'
        """
        value = getattr(self, measure)
        if value is None:
            return "not defined (one class only)"
        if measure not in self.intervals:
            return f"{value:.2f}"
        low, high = self.intervals[measure]
        return f"{value:.2f} [{low:.2f}, {high:.2f}]".replace("-0.00", "0.00")

    def __repr__(self) -> str:
        return (
            f"Agreement(accuracy {self.said('accuracy')}, macro-F1 {self.said('macro_f1')}, "
            f"kappa {self.said('kappa')}; n = {self.n})"
        )


def agree(
    first: Sequence,
    second: Sequence,
    classes: Sequence,
    *,
    replicates: int = REPLICATES,
    seed: int = 0,
) -> Agreement:
    """Compare two labellings of the same items, with bootstrap intervals over the items.

    Parameters
    ----------
    first, second : sequence of labels
        In the same order. An item that one of them left out (None) is not compared.
    classes : sequence of labels

    Raises
    ------
    ValueError
        As `confusion_matrix`; also if no item was labelled by both.
    """
    if len(first) != len(second):
        raise ValueError(
            f"two labellings of the same items are needed; got {len(first)} and {len(second)} labels."
        )
    both = [(a, b) for a, b in zip(first, second) if a is not None and b is not None]
    confusion = confusion_matrix([a for a, _ in both], [b for _, b in both], classes)
    n, size = len(both), len(confusion)
    measures = {"accuracy": accuracy, "macro_f1": macro_f1, "kappa": cohen_kappa}
    intervals = {}
    if n >= FEWEST_FOR_INTERVAL:
        # Drawing items again is drawing the cells of the confusion matrix again.
        drawn = draws(confusion, scheme="multinomial", replicates=replicates, seed=seed)
        for name, measure in measures.items():
            values = [measure(row.reshape(size, size)) for row in drawn]
            values = [value for value in values if value is not None]
            if len(values) >= replicates / 2:
                intervals[name] = percentile_interval(values)
    return Agreement(
        confusion,
        *(measure(confusion) for measure in measures.values()),
        intervals=intervals,
        n=n,
        classes=tuple(classes),
    )
