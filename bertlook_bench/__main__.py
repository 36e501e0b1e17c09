"""``python -m bertlook_bench`` is the ``bertlook`` command."""

import os
import sys
from contextlib import suppress

if __name__ == "__main__":
    # Python puts the current folder first: a reader's random.py there would be imported before Python's own.
    with suppress(FileNotFoundError):  # a current folder that was deleted; the command says so
        if sys.path and sys.path[0] == os.getcwd() and not getattr(sys.flags, "safe_path", False):
            del sys.path[0]
    from .line import main

    raise SystemExit(main())
