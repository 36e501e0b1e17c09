"""The best of many heads, told honestly: chosen on one half of the texts, reported on the other.

Among 36 or 144 heads something always comes out on top. Its number on the very texts that put it there is too good;
its number on other texts is fair. What the same choice yields on a randomly initialised model is the baseline.

Every fair choice of the package is `fair_choice`: one half chooses and the other reports; ``both_ways``, so that each case reports
once, by the head that the other half chose.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from bertlook_teach.model import head_label

LEAST_CASES = 5  # in each half, where the best of many is chosen on one and reported on the other


def best_index(scores, *, last: bool = False) -> tuple[int, ...]:
    """Where the largest score stands; of equals the first, or the last.

    >>> best_index([[1, 3], [3, 2]]), best_index([[1, 3], [3, 2]], last=True)
    ((0, 1), (1, 0))
    """
    scores = np.asarray(scores)
    flat = scores.size - 1 - int(scores.ravel()[::-1].argmax()) if last else int(scores.argmax())
    return tuple(int(i) for i in np.unravel_index(flat, scores.shape))


@dataclass(frozen=True, eq=False)
class FairChoice:
    """What a fair choice gives.

    Attributes
    ----------
    chosen : tuple of index tuples
        What was chosen on half 0 and, both ways, on half 1.
    reported : ndarray of shape (reporting case,)
        The value of each reporting case for what the other half chose: all cases if both ways, else those of half 1.
    """

    chosen: tuple[tuple[int, ...], ...]
    reported: np.ndarray


class Packed:
    """Whether each competitor is right in each case, eight to a byte: for `fair_choice`, where cases come in parts and are many.

    >>> packed = Packed()
    >>> packed.add(np.array([[[True, False]], [[True, True]]]))
    >>> packed.sum([True, True]).tolist(), packed.of((0, 1)).tolist()
    ([[2, 1]], [False, True])
    """

    def __init__(self):
        self._shape, self._parts = (), []

    def add(self, right: np.ndarray) -> None:
        """More cases: a bool array of shape (case, ...)."""
        self._shape = right.shape[1:]
        self._parts.append(np.packbits(right.reshape(len(right), -1), axis=1))

    def __len__(self) -> int:
        return sum(map(len, self._parts))

    def sum(self, cases) -> np.ndarray:
        """How many of the chosen cases each competitor has right; ``cases`` has shape (case,)."""
        total, ends = np.zeros(int(np.prod(self._shape)), dtype=int), np.cumsum([*map(len, self._parts)])
        for part, chosen in zip(self._parts, np.split(np.asarray(cases), ends[:-1])):
            total += np.unpackbits(part[chosen], axis=1, count=len(total)).sum(axis=0, dtype=int)
        return total.reshape(self._shape)

    def of(self, competitor: tuple[int, ...]) -> np.ndarray:
        """The answers of one competitor, a bool array of shape (case,)."""
        byte, bit = divmod(int(np.ravel_multi_index(competitor, self._shape)), 8)
        return np.concatenate([part[:, byte] & (0x80 >> bit) != 0 for part in self._parts])


def fair_choice(
    values, half=None, *, both_ways: bool = False, choosing=None, least: int = LEAST_CASES
) -> FairChoice:
    """Choose the competitor with the largest sum on one half of the cases, and report it on the other.

    Parameters
    ----------
    values : array of shape (case, ...), Packed, or what else has its ``sum`` and ``of``
        The other axes are the competitors: heads, directions, offsets.
    half : int array of shape (case,), optional
        0 or 1; default: every second case, those with even index being half 0.
    both_ways : bool
        Each half chooses for the other one.
    choosing : bool array of shape (case,), optional
        The cases that choose, where not all of them do; a half that has fewer than ``least`` of these chooses on all its cases.
    least : int
        Cases that it takes in each half: on one or two, chance chooses.

    Raises
    ------
    ValueError
        If a half has fewer cases.

    Examples
    --------
    >>> fair_choice([[0, 1], [2, 0], [0, 1], [2, 0]], both_ways=True, least=1).reported.tolist()
    [0, 0, 0, 0]
    """
    packed = hasattr(values, "of")  # cases that do not lie in one array: eight to a byte, on disk
    values = values if packed else np.asarray(values)
    half = np.arange(len(values)) % 2 if half is None else np.asarray(half)
    chosen = []
    for side in (0, 1) if both_ways else (0,):
        cases = half == side
        if choosing is not None and (cases & choosing).sum() >= least:
            cases = cases & choosing
        if min(cases.sum(), (half != side).sum()) < max(least, 1):
            raise ValueError(
                f"a fair choice needs cases in both halves, one to choose and one to report, {least} or more in each; got "
                f"{(half == 0).sum()} and {(half == 1).sum()}."
            )
        chosen.append(best_index(values.sum(cases) if packed else values[cases].sum(axis=0)))
    first, *second = (values.of(best) if packed else values[(slice(None), *best)] for best in chosen)
    if not both_ways:
        return FairChoice(tuple(chosen), first[half == 1])
    return FairChoice(tuple(chosen), np.where(half == 1, first, second[0]))


@dataclass(frozen=True)
class BestHead:
    """A head that was chosen on some texts and measured on others.

    Attributes
    ----------
    layer, head : int
        Counted from 0.
    mean, low, high : float
        Over the texts that did not take part in the choice: their mean, the smallest and the largest.
    n : int
        How many such texts.
    """

    layer: int
    head: int
    mean: float
    low: float
    high: float
    n: int

    @property
    def label(self) -> str:
        """The printed name, counted from 1."""
        return head_label(self.layer, self.head)

    def __repr__(self) -> str:
        return f"BestHead({self.label}: mean {self.mean:.3f}, from {self.low:.3f} to {self.high:.3f}, on {self.n} other texts)"


def choose_head(values) -> BestHead:
    """Choose the head with the largest mean on every second text, and report it on the texts between.

    Parameters
    ----------
    values : array of shape (text, layer, head)
        One number per head for each text. The texts with even index choose, those with odd index report.

    Returns
    -------
    BestHead

    Raises
    ------
    ValueError
        If there are fewer than two texts, or a value is NaN.

    Examples
    --------
    Head 1-2 wins on the first and third text, and is reported on the second and fourth:

    >>> choose_head(np.array([[[.1, .9]], [[.8, .2]], [[.1, .7]], [[.5, .4]]]))
    BestHead(1-2: mean 0.300, from 0.200 to 0.400, on 2 other texts)
    """
    values = np.asarray(values, dtype=float)
    if values.ndim != 3 or len(values) < 2:
        raise ValueError(
            f"values must have shape (text, layer, head) with at least two texts, one to choose and one to report; got {values.shape}."
        )
    if np.isnan(values).any():
        text, layer, head = np.argwhere(np.isnan(values))[0]
        raise ValueError(
            f"the value of head {head_label(layer, head)} on text {text} is NaN, so no head is best."
        )
    choice = fair_choice(values, least=1)  # a range and n are printed, and nothing is decided
    found = choice.reported
    return BestHead(
        *choice.chosen[0], float(found.mean()), float(found.min()), float(found.max()), len(found)
    )
