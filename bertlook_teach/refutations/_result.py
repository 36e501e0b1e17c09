"""What a refutation returns."""

from __future__ import annotations

from typing import NamedTuple


class Refutation(NamedTuple):
    """A misconception tried on data.

    Attributes
    ----------
    sentence : str
        What was found, with the numbers computed.
    value : float
        The number that decides.
    refuted : bool
        Whether these data speak against the misconception.
    """

    sentence: str
    value: float
    refuted: bool
