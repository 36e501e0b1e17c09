"""``bertlook collect``: what a class handed in, on one page and in a CSV."""

from __future__ import annotations

import tempfile
from argparse import ArgumentParser, Namespace
from functools import partial
from pathlib import Path

from ...classroom import class_page, first_notes, gather, run_handed_in, shut_in, student_rows
from ...disk import csv_text, visible, writable_folder, write_files
from .. import common


def add_arguments(parser: ArgumentParser) -> None:
    """The options of ``bertlook collect``."""
    what = (
        "Gather what students handed in: files of check.sheet(save=...), notebooks of exercises, codes and tables of the labelling game; "
        "NAME.json, NAME.ipynb, NAME.txt, folders NAME/... or zip files of them. Notebooks are read, not run."
    )
    more = (
        "--run runs each notebook in a fresh kernel: Linux shuts it in, without network and with a disk it cannot write to. "
        "Elsewhere use a container or an account that holds nothing else, and say --unprotected."
    )
    common.describe(parser, what, "collect handed-in --out class", more)
    add = parser.add_argument
    add("folder", metavar="FOLDER", help="what was handed in, or one zip file")
    common.add_out(
        parser, required=False, help="folder for class.html and class.csv (default: bertlook-class)"
    )
    add("--run", action="store_true", help="run the notebooks, and count what comes out")
    add("--seconds", type=int, default=300, metavar="N", help="for one notebook (default: 300)")
    add("--unprotected", action="store_true", help="with --run: as your own user, without walls")


def run(args: Namespace) -> int:
    """Read all, write page and table, say what was left out."""
    common.at_least(args, seconds=1)
    if args.unprotected and not args.run:
        raise ValueError("--unprotected says how --run runs notebooks; nothing is run without it.")
    rerun = None
    if args.run:
        if not args.unprotected:
            with tempfile.TemporaryDirectory(prefix="bertlook-") as folder:
                shut_in(Path(folder).resolve())  # before anything is read: is it possible here?
        rerun = partial(run_handed_in, seconds=args.seconds, protected=not args.unprotected)
    found = gather(args.folder, rerun)
    out = writable_folder(args.out or "bertlook-class")
    contents = {out / "class.html": class_page(found)}
    if found.hand_ins:
        contents[out / "class.csv"] = csv_text(student_rows(found))
    write_files(contents)
    print(f"{len(found.students)} students, {len(found.hand_ins)} lessons, {len(found.labels)} games.")
    for note in first_notes(found.notes, 20):
        print(f"  {visible(note)}")
    for path in contents:
        print(path)
    return 0
