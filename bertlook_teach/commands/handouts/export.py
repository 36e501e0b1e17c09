"""``bertlook export``: a deck as one file that is live without a kernel."""

from __future__ import annotations

import sys
from argparse import ArgumentParser, Namespace

from ...classroom import FOLDER, ExportError, deck_to_export, export_deck
from ...course import find_root
from ...disk import writable_folder
from .. import common


def add_arguments(parser: ArgumentParser) -> None:
    """The options of ``bertlook export``."""
    common.describe(
        parser,
        "Write a deck as one HTML file: slides, notes and live views, without Jupyter, Python or network.",
        "export --deck 03 --handout --out handouts",
    )
    add = parser.add_argument
    add(
        "--deck",
        default="all",
        metavar="NN",
        help="the lesson's number, guest, a notebook, or all (default: all)",
    )
    add("--out", default=FOLDER, metavar="DIR", help=f"folder for the result (default: {FOLDER})")
    add("--handout", action="store_true", help="also write a page to read, and a PDF of it")
    add("--notes", action="store_true", help="put the speaker's notes into the handout")
    add(
        "--no-run",
        action="store_true",
        help="use the saved outputs, and the widget state if it was saved with them",
    )
    held = parser.add_mutually_exclusive_group()
    held.add_argument(
        "--single-file",
        action="store_true",
        help="put the specimen, with which a deck computes new texts, into each deck (12 MB) instead of beside them",
    )
    held.add_argument(
        "--no-weights", action="store_true", help="leave the specimen out: no new text without Jupyter"
    )


def run(args: Namespace) -> int:
    """Export one deck or all; a deck that fails does not keep the others from being written."""
    root = find_root()
    if args.notes and not args.handout:
        raise ExportError("--notes are the speaker's notes in the handout; ask for it with --handout.")
    if args.deck == "all":
        which = sorted((root / "slides").glob("[0-9][0-9]_*.ipynb"))
    else:
        which = [deck_to_export(root, args.deck)]
    if not which:
        raise ExportError(f"no decks in {root / 'slides'}.")
    out, failed = writable_folder(args.out), []
    for deck in which:
        print(f"{deck.stem} ...", flush=True)
        try:
            options = {"handout": args.handout, "notes": args.notes, "beside": [one.stem for one in which]}
            options["single_file"] = args.single_file
            if args.no_weights:
                options["weights"] = None
            done = export_deck(deck, out, run=not args.no_run, **options)
        except ExportError as error:
            if len(which) == 1:
                raise
            print(f"  {error}")
            failed.append(deck.stem)
        except KeyboardInterrupt:
            print(f"interrupted: {deck.stem} was not exported.", file=sys.stderr)
            return 130
        else:
            print(f"  {done.seconds:.0f} s", flush=True)
    if failed:
        raise ExportError(f"not exported: {', '.join(failed)}. The reasons stand above.")
    return 0
