"""What refutes the misconceptions of the course: one small function each, named like the entry it belongs to.

Every function takes its data as arguments, with the data of the course as default, and returns a `Refutation`. So a
student can run it on other data, and see that it *can* come out not refuted.
"""

from __future__ import annotations

from collections.abc import Callable
from importlib import import_module

from ._result import Refutation

__all__ = ["MODULES", "Refutation", "refutations"]

MODULES = ("maps", "papers", "scores", "on_models")  # made-up maps, published numbers, scores, live models


def refutations() -> dict[str, Callable[..., Refutation]]:
    """Key -> function, for all refutations there are."""
    found = {}
    for name in MODULES:
        module = import_module(f".{name}", __name__)
        found |= {function.replace("_", "-"): getattr(module, function) for function in module.__all__}
    return found
