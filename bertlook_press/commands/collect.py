"""``bertlook collect``: what a class handed in, on one page and in a CSV."""

from __future__ import annotations

from argparse import ArgumentParser, Namespace

from bertlook_course import options
from bertlook_course.storage import visible, writable_folder
from bertlook_teach.disk import csv_text, write_files

from ..classroom import class_page, first_notes, gather, student_rows


def add_arguments(parser: ArgumentParser) -> None:
    """The options of ``bertlook collect``."""
    what = (
        "Gather what students handed in: files of check.sheet(save=...), notebooks of exercises, codes and tables of the labelling game; "
        "NAME.json, NAME.ipynb, NAME.txt, folders NAME/... or zip files of them. Notebooks are read, not run."
    )
    more = "To have notebooks run and marked, use nbgrader: the exercises carry its metadata."
    options.describe(parser, what, "collect handed-in --out class", more)
    parser.add_argument("folder", metavar="FOLDER", help="what was handed in, or one zip file")
    options.add_out(
        parser, required=False, help="folder for class.html and class.csv (default: bertlook-class)"
    )


def run(args: Namespace) -> int:
    """Read all, write page and table, say what was left out."""
    found = gather(args.folder)
    out = writable_folder(args.out or "bertlook-class")
    contents = {out / "class.html": class_page(found)}
    if found.hand_ins:
        contents[out / "class.csv"] = csv_text(student_rows(found))
    write_files(contents)
    print(f"{len(found.students)} students, {len(found.hand_ins)} hand-ins, {len(found.labels)} games.")
    for note in first_notes(found.notes, 20):
        print(f"  {visible(note)}")
    for path in contents:
        print(path)
    return 0
