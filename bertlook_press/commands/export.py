"""``bertlook export``: a deck as one file that is live without a kernel."""

from __future__ import annotations

import sys
from argparse import ArgumentParser, Namespace
from collections.abc import Sequence
from pathlib import Path

from bertlook_course import options
from bertlook_course.decks import choose_model
from bertlook_course.storage import Unfinished, checksum, code_digest, tree_digest, writable_folder
from bertlook_course.syllabus import find_root
from bertlook_teach.disk import data_path

from ..classroom import FOLDER, ExportError, deck_to_export, export_deck


def add_arguments(parser: ArgumentParser) -> None:
    """The options of ``bertlook export``."""
    options.describe(
        parser,
        "Write a deck as one HTML file: slides, notes and live views, without Jupyter, Python or network. "
        "Decks that a stopped run has already written are not written again.",
        "export 03 --handout --out handouts",
    )
    add = parser.add_argument
    add("deck", nargs="?", metavar="NN", help="the lesson's number, guest, a notebook, or all (default: all)")
    add("--deck", dest="named", metavar="NN", help="the same as NN")
    add("--out", default=FOLDER, metavar="DIR", help=f"folder for the result (default: {FOLDER})")
    add("--handout", action="store_true", help="also write a page to read, and a PDF of it")
    add("--notes", action="store_true", help="put the speaker's notes into the handout")
    add(
        "--no-run",
        action="store_true",
        help="use the saved outputs, and the widget state if it was saved with them",
    )
    options.add_model(parser, "the model that the slides use")
    options.add_force(parser)
    held = parser.add_mutually_exclusive_group()
    held.add_argument(
        "--single-file",
        action="store_true",
        help="put the models that compute new texts into the file (the specimen 12 MB, MiniLM 35 MB), not beside it",
    )
    held.add_argument(
        "--no-weights", action="store_true", help="leave these models out; new texts then need Jupyter"
    )


def run(args: Namespace) -> int:
    """Export one deck or all; a deck that fails does not keep the others from being written."""
    root = find_root()
    if args.notes and not args.handout:
        raise ExportError("--notes are the speaker's notes in the handout; ask for it with --handout.")
    if args.deck and args.named:
        raise ExportError(f"one deck or all of them: {args.deck}, or --deck {args.named}?")
    if args.model and args.no_run:
        raise ExportError(
            "--no-run uses saved outputs, and those are not of another model; leave out --no-run or --model."
        )
    choose_model(args.model)
    deck = args.deck or args.named or "all"
    if deck == "all":
        which = sorted((root / "slides").glob("[0-9][0-9]_*.ipynb"))
    else:
        which = [deck_to_export(root, deck)]
    if not which:
        raise ExportError(f"no decks in {root / 'slides'}.")
    options = {"handout": args.handout, "notes": args.notes, "beside": [one.stem for one in which]}
    options |= {"single_file": args.single_file, "run": not args.no_run}
    if args.no_weights:
        options["weights"] = None
    out, failed = writable_folder(args.out), []
    work = (
        Unfinished(out, {**_sources(root, which), **options, "model": args.model}, force=args.force)
        if len(which) > 1
        else None
    )

    def written(deck: Path) -> list[str]:
        print(f"{deck.stem} ...", flush=True)
        done = export_deck(deck, out, **options)
        print(f"  {done.seconds:.0f} s", flush=True)
        return [path.name for path in (done.page, done.handout, done.pdf) if path]

    for deck in which:
        try:
            if work is None:
                written(deck)
                continue
            names = work.value(deck.stem)
            if names and all((out / name).is_file() for name in names):
                print(f"{deck.stem}: written by an earlier run.", flush=True)
            else:
                work.keep(deck.stem, written(deck))
        except ExportError as error:
            if len(which) == 1:
                raise
            print(f"  {error}")
            failed.append(deck.stem)
        except KeyboardInterrupt:
            more = "" if work is None else " The same command continues with it."
            print(f"interrupted: {deck.stem} was not exported.{more}", file=sys.stderr)
            return 130
    if failed:
        raise ExportError(f"not exported: {', '.join(failed)}. The reasons stand above.")
    if work is not None:
        work.finished()
    return 0


def _sources(root: Path, which: Sequence[Path]) -> dict[str, str]:
    """Digests of all that decks are made from."""
    return {
        "command": "export",
        "decks_sha256": checksum(which),
        "package_sha256": code_digest(),
        "data_sha256": tree_digest(data_path(), ""),
        "looks_sha256": tree_digest(root / "slides", ".css"),
    }
