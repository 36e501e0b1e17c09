"""``bertlook worksheet``: a lesson on one printed page without code, its key, and questions for an examination."""

from __future__ import annotations

from argparse import ArgumentParser, Namespace

from bertlook_course import options
from bertlook_course.storage import writable_folder
from bertlook_course.syllabus import LESSONS, find_root, lesson
from bertlook_teach.disk import write_file

from ..classroom import FOLDER, render_exam, render_worksheet


def add_arguments(parser: ArgumentParser) -> None:
    """The options of ``bertlook worksheet``."""
    options.describe(
        parser,
        "Write one page of A4 for a lesson: a question to commit to, a picture to read, two sentences to judge, a claim to try. The numbers are those of the saved deck.",
        "worksheet 06 --key --exam --out handouts",
    )
    add = parser.add_argument
    add("lesson", nargs="?", metavar="NN", help="the lesson's number (default: all)")
    add("--out", default=FOLDER, metavar="DIR", help=f"folder for the result (default: {FOLDER})")
    add("--key", action="store_true", help="also the key, in a file of its own")
    add("--exam", action="store_true", help="also three exam questions with their answers")


def run(args: Namespace) -> int:
    """Write the pages of one lesson or of all."""
    root, lessons = find_root(), [lesson(args.lesson)] if args.lesson else LESSONS
    out = writable_folder(args.out)
    for one in lessons:
        pages = {"worksheet": render_worksheet(root, one.number)}
        if args.key:
            pages["key"] = render_worksheet(root, one.number, key=True)
        if args.exam:
            pages["exam"] = render_exam(root, one.number)
        for name, page in pages.items():
            print(write_file(out / f"{one.stem}_{name}.html", page))
    return 0
