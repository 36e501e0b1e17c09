"""Why something cannot be decided, or not be trusted yet."""

from __future__ import annotations


class CannotDecide(Exception):
    """Raised by a collector or a statistic: the claim does not apply to this model or these inputs, and why."""


class NotConverged(UserWarning):
    """A fit stopped at its limit, before its optimum: the numbers made of it may still change. Making shipped evidence, an error."""
