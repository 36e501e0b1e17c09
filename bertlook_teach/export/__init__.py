"""``bertlook export``: a deck as one file that stays live without a kernel or a network, and as a page to read."""

from .command import add_arguments, export_deck, present_static, run
from .errors import ExportError

__all__ = ["ExportError", "add_arguments", "export_deck", "present_static", "run"]
