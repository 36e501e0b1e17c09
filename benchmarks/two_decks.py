"""Two decks run at once, as two tabs on a hub or on Binder (2 GB): the most memory that both have together, kernels and servers.

    python benchmarks/two_decks.py 04 06

Shared pages are counted once (PSS, Linux). Run it with the Python of the environment that is meant.
"""

from __future__ import annotations

import re
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import psutil

sys.path.insert(0, str(Path(__file__).resolve().parent.parent / "tools"))

from try_wheel import ROOT, RUNNER

MEGABYTE = 2**20


def pss(process: psutil.Process) -> float:
    """Memory of a process, in MB; 0 if it has just ended."""
    try:
        return process.memory_full_info().pss / MEGABYTE
    except psutil.Error:
        return 0.0


def main(lessons: list[str]) -> None:
    """Print the most that the decks' kernels had, together, and what ran."""
    most = 0.0
    with tempfile.TemporaryDirectory() as folder:
        running = []
        for lesson in lessons:
            deck = next((ROOT / "slides").glob(f"{lesson}_*.ipynb"))
            copy = Path(folder, deck.name)
            copy.write_bytes(deck.read_bytes())
            command = [sys.executable, "-c", RUNNER, copy, "no address", "no wheel"]
            running.append(subprocess.Popen(list(map(str, command)), stdout=subprocess.PIPE, text=True))
        while any(one.poll() is None for one in running):
            kernels = psutil.Process().children(recursive=True)
            most = max(most, sum(pss(one) for one in kernels))
            time.sleep(0.2)
        for lesson, one in zip(lessons, running):
            said = one.stdout.read()
            print(lesson, "ran" if '"error": ""' in said else re.sub(r"\s+", " ", said)[-300:])
    print(f"together at most {most:.0f} MB")


if __name__ == "__main__":
    main(sys.argv[1:] or ["04", "06"])
