"""What can go wrong on the way from a deck to a file."""

from __future__ import annotations


class ExportError(ValueError):
    """A deck cannot be exported; the message says why, and what to do."""
