"""Why something cannot be decided."""

from __future__ import annotations


class CannotDecide(Exception):
    """Raised by a collector or a statistic: the claim does not apply to this model or these inputs, and why."""
