"""What refutes the misconceptions of the course: one small function each, named like the entry it belongs to.

Every function takes its data as arguments, with the data of the course as default, and returns a `Refutation`. So a
student can run it on other data, and see that it *can* come out not refuted.
"""

from __future__ import annotations

from collections.abc import Callable
from importlib import import_module
from inspect import isfunction
from typing import NamedTuple

MODULES = ("maps", "papers", "scores", "on_models")  # made-up maps, published numbers, scores, live models


def all_refutations() -> dict[str, Callable[..., Refutation]]:
    """Key -> function, for all refutations there are."""
    found = {}
    for name in MODULES:
        module = import_module(f".{name}", __package__)
        own = {
            name: f for name, f in vars(module).items() if isfunction(f) and f.__module__ == module.__name__
        }
        found |= {name.replace("_", "-"): f for name, f in own.items() if not name.startswith("_")}
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
