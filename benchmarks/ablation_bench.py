"""How soon the bench answers a click: python benchmarks/ablation_bench.py

Random switches, one after another, as a class makes them: a head (mostly), a layer, another way, all on. Prints the time from the
changed switches to the finished texts and pictures of numbers in Python, loss and next-sentence score included (the page adds a few milliseconds), median and
95th percentile, and how many of the model's layers had to be run. The limit: 150 ms, 95th percentile, on the specimen.
"""

from __future__ import annotations

import argparse
import sys
import time
from pathlib import Path

import numpy as np

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))

from bertlook_teach import load_encoder
from bertlook_teach.analyses.ablation import NextSentence
from bertlook_teach.widgets import AblationBench

LIMIT = 0.150


def clicks(shape: tuple[int, int], n: int, seed: int = 0):
    """Switches as they stand after each of n clicks, and the way."""
    random = np.random.default_rng(seed)
    off, how = set(), "zero"
    for _ in range(n):
        kind = random.random()
        layer, head = (int(random.integers(size)) for size in shape)
        if kind < 0.8:
            off ^= {(layer, head)}
        elif kind < 0.9:
            off ^= {(layer, h) for h in range(shape[1])}
        elif kind < 0.95:
            how = "uniform" if how == "zero" else "zero"
        else:
            off = set()
        yield [list(pair) for pair in sorted(off)], how


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--model", default="specimen")
    parser.add_argument("--clicks", type=int, default=200)
    parser.add_argument("--threads", type=int, help="torch threads (default: torch's own choice)")
    options = parser.parse_args()
    if options.threads:
        import torch

        torch.set_num_threads(options.threads)
    encoder = load_encoder(options.model)
    text = "The king lost his crown, and the queen kept her land."
    panel = AblationBench(encoder, text, classify=NextSentence(encoder))  # as in lesson 11
    view, bench = panel.view, panel.bench
    for off, how in clicks((encoder.n_layers, encoder.n_heads), 10, seed=1):  # warm-up
        view.off, view.how = off, how
    wall, cpu, layers = [], [], []
    for off, how in clicks((encoder.n_layers, encoder.n_heads), options.clicks):
        before, busy = time.perf_counter(), time.process_time()
        view.off, view.how = off, how
        wall.append(time.perf_counter() - before)
        cpu.append(time.process_time() - busy)
        layers.append(bench._batch.layers_run)
    for name, times in (("wall", wall), ("processor", cpu)):
        print(
            f"{name:<10} ms: median {1e3 * np.median(times):6.1f}, 95th percentile {1e3 * np.quantile(times, 0.95):6.1f}"
        )
    print(
        f"layers run: {np.mean(layers):.1f} of {encoder.n_layers} on average; batch {tuple(bench.padded.shape)}"
    )
    good = float(np.quantile(wall, 0.95)) < LIMIT
    print(f"limit {1e3 * LIMIT:.0f} ms at the 95th percentile: {'kept' if good else 'NOT kept'}")
    return 0 if good else 1


if __name__ == "__main__":
    sys.exit(main())
