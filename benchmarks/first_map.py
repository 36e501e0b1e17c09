"""From a bare Python to the first live map of the specimen, run by NumPy and by torch: processor time and memory of one process.

    python benchmarks/first_map.py [--model NAME] [--runs 5]

Each run is a process of its own. Seconds of the processor, so that a busy machine counts little; the resident set is shared out
among the processes that share its pages where Linux says so (PSS), else it is counted whole.
"""

from __future__ import annotations

import argparse
import json
import statistics
import subprocess
import sys

CHILD = """
import json, re, resource, sys, time
from bertlook_teach import HeadExplorer, load_encoder
HeadExplorer(load_encoder(sys.argv[1], device=sys.argv[2]), "The cat sat on the mat.")
try:
    kib = int(re.search(r"Pss: +([0-9]+)", open("/proc/self/smaps_rollup").read())[1])
except OSError:
    kib = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / (1024 if sys.platform == "darwin" else 1)
print(json.dumps([time.process_time(), kib / 1024]))
"""


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--model", default="specimen")
    parser.add_argument("--runs", type=int, default=5)
    args = parser.parse_args()
    found = {}
    for way, device in (("NumPy", "auto"), ("torch", "cpu")):
        runs = []
        for _ in range(args.runs):
            command = [sys.executable, "-c", CHILD, args.model, device]
            runs.append(
                json.loads(subprocess.run(command, capture_output=True, text=True, check=True).stdout)
            )
        found[way] = [statistics.median(column) for column in zip(*runs)]
        print(f"{way}: {found[way][0]:.2f} s of the processor, {found[way][1]:.0f} MiB")
    seconds, memory = (b / a for a, b in zip(found["NumPy"], found["torch"]))
    print(f"torch takes {seconds:.1f} times the time and {memory:.1f} times the memory")


if __name__ == "__main__":
    main()
