"""``bertlook worksheet``: a lesson on one printed page without code, its key, and questions for an examination."""

from __future__ import annotations

from argparse import ArgumentParser, Namespace
from pathlib import Path
from tempfile import TemporaryDirectory

from bertlook_course import options
from bertlook_course.decks import choose_model
from bertlook_course.storage import writable_folder
from bertlook_course.syllabus import LESSONS, find_deck, find_root, lesson
from bertlook_teach.disk import write_file

from ..classroom import FOLDER, render_exam, render_worksheet, run_anew


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
    add("--key", action="store_true", help="also write the key, in a file of its own")
    add("--exam", action="store_true", help="also write three exam questions with their answers")
    options.add_model(parser, "run the decks, which takes a minute each, with this model")


def run(args: Namespace) -> int:
    """Write the pages of one lesson or of all."""
    root, lessons = find_root(), [lesson(args.lesson)] if args.lesson else LESSONS
    out = writable_folder(args.out)
    choose_model(args.model)
    with TemporaryDirectory(prefix="bertlook-") as folder:
        for one in lessons:
            deck = None if args.model is None else run_anew(root / find_deck(root, one.number), Path(folder))
            pages = {"worksheet": render_worksheet(root, one.number, deck=deck)}
            if args.key:
                pages["key"] = render_worksheet(root, one.number, key=True, deck=deck)
            if args.exam:
                pages["exam"] = render_exam(root, one.number, deck=deck)
            for name, page in pages.items():
                print(write_file(out / f"{one.stem}_{name}.html", page))
    return 0
