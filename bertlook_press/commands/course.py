"""``bertlook course``: the notebooks as files of one's own."""

from __future__ import annotations

from argparse import ArgumentParser, Namespace

from bertlook_course import options
from bertlook_course.syllabus import copy_course


def add_arguments(parser: ArgumentParser) -> None:
    """The options of ``bertlook course``."""
    what = "Copy decks and exercises into a folder, for changing. Started in that folder, present and lab use your copy."
    options.describe(parser, what, "course my-course")
    parser.add_argument("folder", metavar="DIR", help="the folder to copy them into")
    newer = "bring a newer edition into an earlier copy; files that you have changed stay, and the new ones are written beside them"
    options.add_model(parser, "the model that the decks and exercises of the copy use")
    parser.add_argument("--update", action="store_true", help=newer)


def run(args: Namespace) -> int:
    """Copy the course, or bring a copy up to date."""
    done = copy_course(args.folder, update=args.update, model=args.model)
    print(f"{args.folder}: {len(done.written)} files written.")
    if done.kept:
        print(f"Kept as you changed them: {', '.join(done.kept)}.")
    if done.beside:
        print(f"The new edition of these is beside them: {', '.join(done.beside)}.")
    print(f"Next: cd {args.folder}, then bertlook present 03, or bertlook lab.")
    print(f"After you have installed a newer edition: bertlook course {args.folder} --update")
    return 0
