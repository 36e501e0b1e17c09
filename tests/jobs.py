"""What is asked of the items of a chunk in tests. Each new Dask worker imports this file: importing torch would cost it seconds."""

from __future__ import annotations

import os
import signal
import time
from pathlib import Path


class Here:
    """A model that is nothing."""

    def load(self):
        return None


def twice(model, items):
    return [2 * item for item in items]


def odd(model, items):
    for place, item in enumerate(items):
        if item % 2:
            raise ValueError(f"item {place} of the corpus: odd")
    return []


def killing_once(model, items, *, marker):
    """The numbers, doubled; the first worker to come to 5 is killed over it."""
    if 5 in items and not Path(marker).exists():
        Path(marker).touch()
        os.kill(os.getpid(), signal.SIGKILL)
    return [2 * item for item in items]


def killing_always(model, items):
    if 5 in items:
        os.kill(os.getpid(), signal.SIGKILL)
    return list(items)


def slow(model, items):
    time.sleep(1)
    return list(items)
