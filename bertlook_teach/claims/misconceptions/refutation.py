"""What refutes the misconceptions of the course: one small function each, named like the entry it belongs to.

Every function takes its data as arguments, with the data of the course as default, and returns a `Refutation`. So a
student can run it on other data, and see that it *can* come out not refuted.
"""

from __future__ import annotations

from collections.abc import Callable
from importlib import import_module
from typing import NamedTuple

__all__ = ["MODULES", "Refutation", "all_refutations"]

MODULES = ("maps", "papers", "scores", "on_models")  # made-up maps, published numbers, scores, live models


def all_refutations() -> dict[str, Callable[..., Refutation]]:
    """Key -> function, for all refutations there are."""
    found = {}
    for name in MODULES:
        module = import_module(f".{name}", __package__)
        found |= {function.replace("_", "-"): getattr(module, function) for function in module.__all__}
    return found


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
