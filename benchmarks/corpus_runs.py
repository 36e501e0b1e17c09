"""A corpus in chunks: rate, memory, what workers bring, and kills that leave no trace.

    python benchmarks/corpus_runs.py [--segments 100000] [--workers 4]
    python benchmarks/corpus_runs.py --kills 20
    python benchmarks/corpus_runs.py --coref 20000

Segments have about 64 wordpieces, cut from the shipped texts. Each run is `bertlook profile` in a process of its own; ratios are within one run of
this script.
"""

from __future__ import annotations

import argparse
import json
import os
import random
import subprocess
import sys
import tempfile
import time
from itertools import cycle, islice
from pathlib import Path

from bertlook_course.corpora import load_pairs, read_coreference
from bertlook_teach import load_encoder
from bertlook_teach.disk import data_path
from bertlook_teach.model import read


def write_segments(path: Path, n: int, pieces: int = 64) -> None:
    """Runs of words of the shipped texts, as long as so many wordpieces allow; no two neighbours are the same."""
    encoder = load_encoder("specimen")
    words = [word for pair in load_pairs() for text in pair for word in text.split()]
    lengths = {word: len(encoder.tokenizer(word)["input_ids"]) - 2 for word in set(words)}
    stream = cycle(words)
    with open(path, "w", encoding="utf-8") as file:
        for _ in range(n):
            segment, size = [], 2
            while size < pieces:
                segment.append(next(stream))
                size += lengths[segment[-1]]
            print(*segment, file=file)
    print(f"{n} segments, the first of {read(encoder, ' '.join(segment)).n_tokens} wordpieces", flush=True)


def command(texts: Path, out: Path, *more, what: tuple = ("profile", "--texts")) -> list[str]:
    name, option = what
    words = [
        sys.executable,
        "-m",
        "bertlook_bench",
        name,
        "--quiet",
        option,
        texts,
        "--out",
        out,
        *more,
    ]
    return [str(word) for word in words]


def measured(texts: Path, out: Path, *more, **which) -> tuple[float, float, float]:
    """Seconds on the clock, seconds of processor time with all its processes, and the peak memory of the command in MiB."""
    start = time.monotonic()
    process = subprocess.Popen(command(texts, out, *more, **which), stdout=subprocess.DEVNULL)
    _, status, used = os.wait4(process.pid, 0)
    if status:
        raise SystemExit(f"exit status {status}")
    unit = 1024 * 1024 if sys.platform == "darwin" else 1024
    return time.monotonic() - start, used.ru_utime + used.ru_stime, used.ru_maxrss / unit


# As `bertlook profile`, with small chunks and a sum on disk every second, so that a kill can fall on every step of a run.
SMALL = """
from bertlook_bench import chunks, line
from bertlook_course.analyses.anatomy import reports
reports.TEXTS, chunks.KEEP_EVERY = 16, 1.0
raise SystemExit(line.main(__import__("sys").argv[1:]))
"""


def kill(texts: Path, folder: Path, kills: int) -> None:
    """Runs that are each killed once, at a moment drawn with a seed, and gone on with; then compare their tables."""

    def run(out: Path, seconds: float | None = None) -> bool:
        """Whether the run came to its end before so many seconds."""
        words = [sys.executable, "-c", SMALL, *command(texts, out)[3:]]
        with open(folder / "said.txt", "a") as said:
            process = subprocess.Popen(words, stdout=subprocess.DEVNULL, stderr=said)
        try:
            if status := process.wait(seconds):
                raise SystemExit(f"exit status {status}: {(folder / 'said.txt').read_text()}")
        except subprocess.TimeoutExpired:
            process.kill()
            process.wait()
            return False
        return True

    start = time.monotonic()
    run(folder / "whole")
    seconds, draw, same, went_on, early = time.monotonic() - start, random.Random(0), 0, 0, 0
    table = (folder / "whole" / "profile.csv").read_bytes()
    for number in range(kills):
        out = folder / str(number)
        while run(out, draw.uniform(0.05, 1.0) * seconds):
            early += 1
        went_on += any(out.glob("unfinished/*/[!r]*"))  # more than run.json is kept
        run(out)
        same += (out / "profile.csv").read_bytes() == table
    print(
        f"{kills} kills, {went_on} of them with chunks to go on from, {early} drawn after the end of a run and drawn again; "
        f"{same} tables of {kills} identical to that of a run that was not killed"
    )


def coref(folder: Path, most: int) -> None:
    """Peak memory of `bertlook coref` on 1,000 and on so many documents, the shipped ones again and again."""
    shipped, peaks = read_coreference(data_path("treebank", "treebank.conllu")), []
    for n in (1_000, most):
        with open(folder / f"{n}.jsonl", "w", encoding="utf-8") as file:
            for number, document in enumerate(islice(cycle(shipped), n)):
                mentions = [
                    {"span": [m.start, m.end], "cluster": m.cluster, "head": m.head}
                    for m in document.mentions
                ]
                text = {"doc_id": str(number), "tokens": document.words, "sentences": document.sentences}
                print(json.dumps({**text, "mentions": mentions}), file=file)
        _, processor, peak = measured(
            folder / f"{n}.jsonl", folder / str(n), "--no-twin", what=("coref", "--data")
        )
        peaks.append(peak)
        print(f"{n} documents: {processor:.0f} s of processor time, peak {peak:.1f} MiB", flush=True)
    print(f"memory ratio {peaks[1] / peaks[0]:.3f}")


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--segments", type=int, default=100_000)
    parser.add_argument("--workers", type=int, default=0, help="also on so many processes")
    parser.add_argument("--kills", type=int, default=0, help="only this: so many runs, each killed once")
    parser.add_argument("--coref", type=int, default=0, help="only this: coref on so many documents")
    args = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        folder = Path(folder)
        if args.coref:
            coref(folder, args.coref)
            return
        texts = folder / "segments.txt"
        write_segments(texts, min(args.segments, 320) if args.kills else args.segments)
        if args.kills:
            kill(texts, folder, args.kills)
            return
        few = folder / "few.txt"
        with open(texts, encoding="utf-8") as file:
            few.write_text("".join(islice(file, 1_000)), encoding="utf-8")
        peaks = {}
        for n, corpus in ((1_000, few), (args.segments, texts)):
            seconds, processor, peaks[n] = measured(corpus, folder / str(n))
            print(
                f"{n} segments: {seconds:.0f} s, {processor:.0f} s of processor time, {n / processor:.0f} segments a second of it, peak {peaks[n]:.0f} MiB",
                flush=True,
            )
        print(f"memory ratio {peaks[args.segments] / peaks[1_000]:.3f}", flush=True)
        if args.workers:
            once, alone, _ = measured(texts, folder / "again")
            many, processor, _ = measured(texts, folder / "workers", "--workers", args.workers)
            print(
                f"{args.workers} workers: {many:.0f} s against {once:.0f} s in one process, ratio {many / once:.2f}; of processor time "
                f"{processor:.0f} s against {alone:.0f} s (load {os.getloadavg()[0]:.1f})"
            )
            same = [(folder / name / "profile.csv").read_bytes() for name in ("again", "workers")]
            print(f"the same table: {same[0] == same[1]}")


if __name__ == "__main__":
    main()
