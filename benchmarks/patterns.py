"""What a pattern costs once the maps are kept: all heads, 1,000 sentences, against a loop over heads, queries and keys.

    python benchmarks/patterns.py [--sentences N] [--data FILE] [--naive N]

The shipped treebank is repeated until there are enough sentences. The naive loop goes through the first few of them and is
multiplied out; both must count the same. Times are medians within this one run, so their ratio is what counts.
"""

from __future__ import annotations

import argparse
import statistics
import time
from itertools import cycle, islice

import numpy as np

PATTERNS = (
    "query.pos('DET') & key.governor()",
    "key.next(',')",
    "(query.relation('obj', 'iobj') | query.pos('PRON')) & ~key.within(3) & (key.governor() | key.next(key.pos('VERB')))",
)


def naive_right(pattern, maps, n: int) -> list[int]:
    """Right answers of every head on the first n texts, pair by pair."""
    right = [0] * int(np.prod(maps.shape))
    for reading, weights in zip(maps.readings[:n], maps.weights):
        mask, size = pattern.mask(reading).tolist(), len(reading)
        for number, rows in enumerate(weights.reshape(-1, size, size).astype(np.float32).tolist()):
            for q in range(size):
                best, matching = -1, False
                for k in range(size):
                    if k != q and not reading.special[k] and not reading.special[q]:
                        matching = matching or mask[q][k]
                        if best < 0 or rows[q][k] > rows[q][best]:
                            best = k
                right[number] += matching and mask[q][best]
    return right


def seconds_of(work, *arguments, repeats: int = 3):
    seconds = []
    for _ in range(repeats):
        started = time.perf_counter()
        result = work(*arguments)
        seconds.append(time.perf_counter() - started)
    return result, statistics.median(seconds)


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--model", default="specimen")
    parser.add_argument("--sentences", type=int, default=1000)
    parser.add_argument("--data", help="CoNLL-U (default: the shipped treebank)")
    parser.add_argument("--naive", type=int, default=50, help="sentences that the naive loop goes through")
    args = parser.parse_args()
    from bertlook_teach import load_encoder
    from bertlook_teach.analyses.patterns import parse_pattern, score_pattern, word_maps
    from bertlook_teach.corpora import load_treebank, read_conllu
    from bertlook_teach.model import random_twin

    trees = read_conllu(args.data) if args.data else load_treebank()
    trees = list(islice(cycle(trees), args.sentences))
    encoder = load_encoder(args.model)
    started = time.perf_counter()
    maps = word_maps(encoder, trees)
    extraction = time.perf_counter() - started
    twin = word_maps(random_twin(encoder), trees)
    words = sum(len(reading) for reading in maps.readings)
    print(f"{maps}, {words} positions; extracted in {extraction:.1f} s")
    for source in PATTERNS:
        pattern = parse_pattern(source)
        score, fast = seconds_of(score_pattern, pattern, maps, twin)
        slow_right, slow = seconds_of(naive_right, pattern, maps, args.naive, repeats=1)
        # The heads' answers were found before rounding to two bytes, so a tie may fall otherwise now and then.
        differ = np.abs(score.counts.right[: args.naive].sum(0).ravel() - slow_right).sum()
        slow *= len(maps) / args.naive
        print(
            f"{fast:6.2f} s for {score['accuracy'].n} cases of all heads, model and twin, with baselines and intervals; the naive loop "
            f"{slow:.0f} s for the model's accuracy alone: {slow / fast:.0f} times; {int(differ)} answers of "
            f"{int(score.counts.cases[: args.naive].sum()) * len(slow_right)} differ  {source}"
        )


if __name__ == "__main__":
    main()
