"""``bertlook misconceptions``: what is often said about attention, and a run that refutes each."""

from __future__ import annotations

import sys
from argparse import ArgumentParser, Namespace

from bertlook_course.claims import find_misconceptions
from bertlook_course.decks import live_models
from bertlook_course.options import add_model
from bertlook_course.render import format_misconceptions
from bertlook_course.storage import align

from . import common


def add_arguments(parser: ArgumentParser) -> None:
    """The options of ``bertlook misconceptions``."""
    common.describe(
        parser,
        "List common misconceptions about attention, run a counter-example for each, and print what was found, what is true "
        "and the source (keys of docs/bibliography.md). The exit code is 1 if one of them is not refuted.",
        "misconceptions --lesson 03",
    )
    parser.add_argument("--lesson", metavar="NN", help="only those of one lesson (default: all)")
    add_model(parser, "the model that the counter-examples use")
    parser.add_argument("--list", action="store_true", help="only list them, and run nothing")


def run(args: Namespace) -> int:
    """``bertlook misconceptions``: returns the exit code."""
    entries = find_misconceptions(args.lesson)
    if args.list:
        print(align([entry.key, "/".join(entry.lessons), entry.says] for entry in entries))
        return 0
    if args.model:
        encoder, twin = live_models(args.model)
        print(f"Where a model is run, it is {encoder.title}.\n")
        results = [entry.refute_on(encoder, twin) for entry in entries]
    else:
        results = [entry.refute() for entry in entries]
    print(format_misconceptions(entries, results))
    left = [entry.key for entry, result in zip(entries, results) if not result.refuted]
    if left:
        print(f"bertlook misconceptions: not refuted here: {', '.join(left)}", file=sys.stderr)
    return 1 if left else 0
