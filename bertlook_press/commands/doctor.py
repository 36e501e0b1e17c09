"""``bertlook doctor``: check that everything is ready for class."""

from __future__ import annotations

import sys
from argparse import ArgumentParser, Namespace

from bertlook_course import options

from ..classroom import examine, note_network_use


def add_arguments(parser: ArgumentParser) -> None:
    """``bertlook doctor`` has no options."""
    what = "Check that everything is ready for class. The exit code is 0 if class can begin, 1 if not."
    options.describe(parser, what, "doctor")


def run(args: Namespace) -> int:
    """Check everything; the exit code says whether class can begin."""
    sys.addaudithook(note_network_use)
    ready = examine()
    print("\nReady for class." if ready else "\nNot ready: see the lines marked FAIL.")
    return 0 if ready else 1
