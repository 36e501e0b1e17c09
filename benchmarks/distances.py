"""How much faster all pairs of heads are compared than by a direct transcription: python benchmarks/distances.py

Random maps of BERT-base's shape (144 heads, 128 tokens), one text. Two transcriptions of "smooth, mixture, two logs, sum":
``each head`` compares a head with all others at once, as in the authors' notebook; ``each pair`` takes two heads at a time
and no pair twice. Both run on a few heads and are scaled up to all. The wanted ratio is 20 against the first.
"""

from __future__ import annotations

import argparse
import sys
import time
from pathlib import Path

import numpy as np

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))

from bertlook_teach.measures import js_distances


def random_maps(heads: int, tokens: int, dtype) -> np.ndarray:
    """Softmax of normal scores, the same each time; shape (1, head, query, key)."""
    scores = np.random.default_rng(0).normal(0, 3, (1, heads, tokens, tokens))
    weights = np.exp(scores)
    return (weights / weights.sum(axis=-1, keepdims=True)).astype(dtype)


def each_head(maps: np.ndarray, some: int) -> tuple[np.ndarray, float]:
    """Rows of the matrix for the first heads, and the seconds that all would take."""
    n = maps.shape[-1]
    rows, start = [], time.perf_counter()
    for head in maps[:some]:
        p, q = 0.999 * head + 0.001 / n, 0.999 * maps + 0.001 / n
        m = (p + q) / 2
        rows.append((p * np.log(p / m) + q * np.log(q / m)).sum(axis=(1, 2)) / 2)
    return np.array(rows), (time.perf_counter() - start) * len(maps) / some


def each_pair(maps: np.ndarray, some: int) -> float:
    """Seconds for all pairs, none twice, from those of the first heads."""
    n, done, start = maps.shape[-1], 0, time.perf_counter()
    for a in range(some):
        for b in range(a + 1, len(maps)):
            p, q = 0.999 * maps[a] + 0.001 / n, 0.999 * maps[b] + 0.001 / n
            m = (p + q) / 2
            (p * np.log(p / m)).sum() / 2 + (q * np.log(q / m)).sum() / 2
            done += 1
    return (time.perf_counter() - start) * len(maps) * (len(maps) - 1) / 2 / done


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--heads", type=int, default=144)
    parser.add_argument("--tokens", type=int, default=128)
    parser.add_argument("--repeat", type=int, default=5, help="best of so many runs (default 5)")
    parser.add_argument(
        "--some", type=int, default=4, help="heads that the transcriptions are run on (default 4)"
    )
    options = parser.parse_args()
    print("maps      ours s   each head s  ratio   each pair s  ratio   largest difference (nats a token)")
    for dtype in (np.float32, np.float64):
        maps = random_maps(options.heads, options.tokens, dtype)
        ours = head = pair = float("inf")
        for _ in range(options.repeat):  # side by side, so that what else the machine does hits all three
            start = time.perf_counter()
            found = js_distances(maps)
            ours = min(ours, time.perf_counter() - start)
            rows, seconds = each_head(maps[0], options.some)
            head, pair = min(head, seconds), min(pair, each_pair(maps[0], options.some))
        wrong = np.abs(found[: options.some] - rows / options.tokens).max()
        print(
            f"{np.dtype(dtype).name:<8} {ours:>7.3f} {head:>12.2f} {head / ours:>6.0f} {pair:>13.2f} {pair / ours:>6.1f}   {wrong:.1e}"
        )
    return 0


if __name__ == "__main__":
    sys.exit(main())
