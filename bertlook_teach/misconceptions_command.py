"""``bertlook misconceptions``: what is often said about attention, and a run that refutes each."""

from __future__ import annotations

import argparse
import sys

from .misconceptions import misconceptions
from .render.misconceptions import format_misconceptions

__all__ = ["add_arguments", "run"]


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """The options of ``bertlook misconceptions``."""
    parser.description = (
        "Lists what is often said about attention and is not so, runs what refutes each, and prints what was found, what is true and where "
        "that stands (keys of docs/bibliography.md). Exit code 1 if one came out not refuted."
    )
    parser.add_argument("--lesson", metavar="NN", help="only those of one lesson")
    parser.add_argument("--list", action="store_true", help="only name them, run nothing")


def run(args: argparse.Namespace) -> int:
    """``bertlook misconceptions``: returns the exit code."""
    entries = misconceptions(args.lesson)
    if args.list:
        width = max(len(entry.key) for entry in entries)
        for entry in entries:
            print(f"{entry.key:<{width}}  {'/'.join(entry.lessons)}  {entry.says}")
        return 0
    results = [entry.refute() for entry in entries]
    print(format_misconceptions(entries, results))
    left = [entry.key for entry, result in zip(entries, results) if not result.refuted]
    if left:
        print(f"bertlook misconceptions: not refuted here: {', '.join(left)}", file=sys.stderr)
    return 1 if left else 0
