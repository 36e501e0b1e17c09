"""The answers A, B, C ... of a question that is asked on a slide."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Sequence


def letter(value: float, bounds: Sequence[float]) -> str:
    """The answer that a number belongs to: A below the first bound, B from it up to the second, and so on.

    >>> letter(0.29, [0.3, 0.5]), letter(0.3, [0.3, 0.5]), letter(0.9, [0.3, 0.5])
    ('A', 'B', 'C')
    """
    return "ABCDEFGH"[bisect_right(bounds, value)]
