"""Memory of `bertlook profile` does not grow with the corpus: peak for 50 and for 500 two-paragraph texts.

    python benchmarks/profile_memory.py [--model NAME]

Each run is a process of its own, so that its peak is its own; the result is a ratio within one run.
"""

from __future__ import annotations

import argparse
import itertools
import subprocess
import sys

CHILD = """
import itertools, resource, sys
from bertlook_teach import load_encoder, load_pairs, profile_heads
encoder = load_encoder(sys.argv[1])
profile_heads(encoder, itertools.islice(itertools.cycle(load_pairs()), int(sys.argv[2])))
print(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss)
"""


def peak_mib(model: str, n_texts: int) -> float:
    """Peak resident memory of a profile of ``n_texts`` texts, in MiB (Linux reports KiB, macOS bytes)."""
    out = subprocess.run(
        [sys.executable, "-c", CHILD, model, str(n_texts)], capture_output=True, text=True, check=True
    )
    return int(out.stdout) / (1024 * 1024 if sys.platform == "darwin" else 1024)


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--model", default="specimen")
    parser.add_argument("--texts", type=int, nargs=2, default=(50, 500), metavar=("FEW", "MANY"))
    args = parser.parse_args()
    peaks = {n: peak_mib(args.model, n) for n in args.texts}
    for n, peak in peaks.items():
        print(f"{n:5d} texts: peak {peak:6.0f} MiB")
    (_, few), (_, many) = itertools.islice(peaks.items(), 2)
    print(f"ratio {many / few:.3f}")


if __name__ == "__main__":
    main()
