"""A class opens one deck at once: python benchmarks/thirty_kernels.py --kernels 30
A reader opens two decks at once: python benchmarks/thirty_kernels.py --plain --kernels 1 --deck 04 06

Starts the kernels of a shared server (deploy/lean_kernel.py; --plain takes ipykernel's own), as many for each deck, runs every cell of the
deck (03, if none is named) in all of them at the same time, and while all are still alive asks the system what each holds. Needs Linux, for /proc/PID/smaps_rollup.

PSS divides pages that several processes share among them; USS counts only those that a process has to itself. What a further
student costs is the USS, what a class costs is the sum of the PSS. The limits: 150 MB of PSS a kernel with the
specimen, 250 MB with MiniLM; 30 kernels in 120 s.
"""

from __future__ import annotations

import argparse
import contextlib
import json
import os
import statistics
import sys
import tempfile
import threading
import time
from pathlib import Path

import nbformat
from nbclient import NotebookClient

ROOT = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT / "deploy"))


def memory(pid: int) -> tuple[float, float]:
    """PSS and USS of a process, in MB."""
    rows = (line.split() for line in Path(f"/proc/{pid}/smaps_rollup").read_text().splitlines()[1:])
    found = {row[0]: int(row[1]) * 1024 / 1e6 for row in rows}
    return found["Pss:"], found["Private_Clean:"] + found["Private_Dirty:"]


class Student(threading.Thread):
    """One kernel with the deck; it stays alive after the last cell until all are done."""

    def __init__(self, deck: Path, kernel: str, done: threading.Barrier):
        super().__init__(daemon=True)
        self.deck, self.kernel, self.done = deck, kernel, done
        self.times: dict[str, float] = {}
        self.held: tuple[float, float] | None = None
        self.failed = ""

    def run(self):
        start = time.monotonic()
        notebook = nbformat.read(self.deck, as_version=4)
        client = NotebookClient(notebook, kernel_name=self.kernel, timeout=1200)
        client.resources = {"metadata": {"path": str(self.deck.parent)}}
        with contextlib.ExitStack() as stack:
            try:
                stack.enter_context(client.setup_kernel())
                for index, cell in enumerate(notebook.cells):
                    if cell.cell_type == "code":
                        client.execute_cell(cell, index)
                        self.times.setdefault("first cell", time.monotonic() - start)
                        if any(
                            "application/vnd.jupyter.widget-view+json" in o.get("data", {})
                            for o in cell.outputs
                        ):
                            self.times.setdefault("first live view", time.monotonic() - start)
                self.times["whole deck"] = time.monotonic() - start
            except Exception as error:  # noqa: BLE001 - whatever it is, the report says it
                self.failed = f"{type(error).__name__}: {error}"[:500]
            self.done.wait()  # all have come to the end
            if not self.failed:
                self.held = memory(client.km.provisioner.process.pid)
            self.done.wait()  # all have been measured


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    add = parser.add_argument
    add("--kernels", type=int, default=30, metavar="N", help="for each deck (default: 30)")
    add("--deck", nargs="+", default=["03"], metavar="NN")
    add("--plain", action="store_true", help="ipykernel's own kernel instead of the shared server's")
    options = parser.parse_args()
    if not Path("/proc/self/smaps_rollup").is_file():
        print("this needs Linux: there is no /proc/self/smaps_rollup here.", file=sys.stderr)
        return 1
    from lean_kernel import kernel_spec

    decks = [next((ROOT / "slides").glob(f"{number}_*.ipynb")) for number in options.deck]
    with tempfile.TemporaryDirectory() as folder:
        spec = Path(folder) / "kernels" / "class"
        spec.mkdir(parents=True)
        held = kernel_spec()
        if options.plain:
            held["argv"] = [sys.executable, "-m", "ipykernel_launcher", "-f", "{connection_file}"]
        (spec / "kernel.json").write_text(json.dumps(held))
        os.environ["JUPYTER_PATH"] = folder
        os.environ["PYTHONPATH"] = os.pathsep.join(filter(None, [str(ROOT), os.environ.get("PYTHONPATH")]))
        load, start = os.getloadavg()[0], time.monotonic()
        barrier = threading.Barrier(options.kernels * len(decks))
        students = [Student(deck, "class", barrier) for deck in decks for _ in range(options.kernels)]
        for student in students:
            student.start()
        for student in students:
            student.join()
        wall = time.monotonic() - start
    good = [student for student in students if not student.failed]
    print(
        f"{len(good)} of {len(students)} kernels ran all of {' and '.join(options.deck)} in {wall:.0f} s on {os.cpu_count()} cores "
        f"(load before: {load:.1f})."
    )
    for name in ("first cell", "first live view", "whole deck"):
        times = sorted(student.times[name] for student in good if name in student.times)
        if times:
            print(f"  {name:16} {statistics.median(times):6.1f} s in the middle, {times[-1]:6.1f} s the last")
    if good:
        pss, uss = zip(*(student.held for student in good))
        print(
            f"  {'PSS':16} {statistics.mean(pss):6.0f} MB each, {max(pss):.0f} at most, {sum(pss) / 1000:.1f} GB together"
        )
        print(f"  {'USS':16} {statistics.mean(uss):6.0f} MB each: what one more student costs")
        print(f"  {'24 GB hold':16} {24_000 / statistics.mean(pss):6.0f} kernels")
    for student in students:
        if student.failed:
            print(f"  failed: {student.failed}")
    return 0 if len(good) == len(students) else 1


if __name__ == "__main__":
    sys.exit(main())
