"""What the decks of all lessons have: two models, what both read, and the verdicts on the lesson's claims."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cached_property

import numpy as np

from bertlook_teach import head_label

from ..claims import Resources, Verdict, decide_lesson
from ..render import count_verdicts


class LessonDeck:
    """The models of a deck and what the ledger says of them; a lesson's own class adds what its slides show.

    Parameters
    ----------
    specimen, twin : Encoder
        The course's model, and the same one before any training.
    resources : Resources, optional
        What both read; by default what the ledger reads.
    """

    lesson: str  # "11"

    def __init__(self, specimen, twin, resources: Resources | None = None):
        self.specimen, self.twin = specimen, twin
        self.models = {"specimen": specimen, "random twin": twin}
        self.resources = resources

    @cached_property
    def verdicts(self) -> list[Verdict]:
        """The verdicts on all claims of the lesson."""
        return decide_lesson(self.lesson, self.specimen, resources=self.resources, twin=self.twin)

    def verdicts_on(self, *keys: str) -> list[Verdict]:
        """The verdicts on some claims, in this order; a key comes without the number of its lesson."""
        found = {verdict.claim.key.removeprefix(f"{self.lesson}-"): verdict for verdict in self.verdicts}
        return [found[key] for key in keys]

    def verdict_count(self) -> str:
        """How many claims hold, and where all of them can be read."""
        return f"{count_verdicts(self.verdicts)} The rest: `bertlook claims --lesson {self.lesson}`, or the handout."


def letter(value: float, limits: Sequence[float], letters: str = "ABCD") -> str:
    """The answer that a number amounts to, where the answers of a question are ranges.

    Parameters
    ----------
    value : float
    limits : sequence of float
        Where one range ends and the next one begins, rising; a limit belongs to the upper range.
    letters : str
        One for each range, from the lowest to the highest.

    Examples
    --------
    >>> letter(0.7, (0.15, 0.5, 0.85)), letter(0.7, (0, 0.8, 1.1), "DCBA")
    ('C', 'C')
    """
    return letters[int(np.digitize(value, limits))]


def heads_where(mask: np.ndarray) -> str:
    """The heads where a mask of shape (layer, head) is true, by name, or "none"."""
    return ", ".join(head_label(*head) for head in np.argwhere(mask)) or "none"
