"""Run one notebook to its end, in a process that may be ended at any time: python -m bertlook_teach.classroom.rerun IN OUT SECONDS"""

from __future__ import annotations

import os
import sys
import threading
from pathlib import Path

from .export.errors import ExportError
from .export.runner import CellStopped, execute, read_deck

GRACE = 10.0  # seconds beyond its time after which it ends itself: whoever started it, and would end it, may be gone
MOST_MEMORY = (
    6_000_000_000  # addresses a process may take, and bytes of a file: a kernel uses a part of the first
)


def main(source: str, target: str, seconds: str) -> int:
    """1 if it is not a notebook or a cell does not end; outputs are bounded by `execute`."""
    try:
        import resource
    except ImportError:  # Windows has no such limits
        pass
    else:
        resource.setrlimit(resource.RLIMIT_AS, (MOST_MEMORY, MOST_MEMORY))
        resource.setrlimit(resource.RLIMIT_FSIZE, (MOST_MEMORY // 6, MOST_MEMORY // 6))
    import nbformat

    # Not a signal: in a namespace of its own this is process 1, which signals do not end.
    ended = threading.Timer(float(seconds) + GRACE, os._exit, (1,))
    ended.daemon = True
    ended.start()
    try:
        notebook = read_deck(Path(source))
        for cell in notebook.cells:  # an answer that raises is one wrong answer, not the end of the others
            cell.metadata["tags"] = ["raises-exception"]
        done = execute(notebook, folder=Path.cwd(), timeout=float(seconds))
    except (ExportError, CellStopped):
        return 1
    nbformat.write(done, target)
    return 0


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
