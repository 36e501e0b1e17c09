"""Do two people, or a person and a rule, put the same things into the same classes?"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from bertlook_teach.stats import REPLICATES, draws, sample_interval

from .metrics import accuracy, cohen_kappa, confusion_matrix, macro_f1

FEWEST_FOR_INTERVAL = 10  # below it a bootstrap draws the same few items again and looks far too sure


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
        '1.00 [0.91, 1.00]'
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
                intervals[name] = sample_interval(
                    values, measure(confusion), n, within=(-(name == "kappa"), 1)
                )
    return Agreement(
        confusion,
        *(measure(confusion) for measure in measures.values()),
        intervals=intervals,
        n=n,
        classes=tuple(classes),
    )
