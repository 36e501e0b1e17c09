"""``bertlook present`` and ``bertlook lab``: a deck as a live slideshow, or JupyterLab with the notebooks."""

from __future__ import annotations

from argparse import ArgumentParser, Namespace
from importlib.util import find_spec
from pathlib import Path
from urllib.parse import quote

from bertlook_course import options
from bertlook_course.decks import choose_model
from bertlook_course.syllabus import ROUTES, find_deck, find_root, route_copy
from bertlook_teach.disk import install_command

from ..classroom import port_number, present_static, serve, trust_alike


def add_arguments(parser: ArgumentParser) -> None:
    """The options of ``bertlook present``, or of ``bertlook lab``."""
    if parser.prog.endswith(" lab"):
        options.describe(parser, "Open JupyterLab with the notebooks of the course.", "lab 03")
        parser.add_argument("deck", nargs="?", metavar="NN", help="open this deck as a notebook")
    else:
        options.describe(parser, "Open a deck as a live slideshow.", "present 03 --route 20")
        what = "the lesson's number, guest, or a notebook (default: the first deck)"
        parser.add_argument("deck", nargs="?", metavar="NN", help=what)
        way = parser.add_mutually_exclusive_group()
        way.add_argument("--classic", action="store_true", help="show it in classic RISE, the fallback")
        static = "open the exported file, without Jupyter; export it first if needed"
        way.add_argument("--static", action="store_true", help=static)
        route = "show only the slides for this many minutes (default: all)"
        parser.add_argument("--route", type=int, choices=ROUTES, help=route)
        options.add_model(parser, "the model that the slides use")
    where = "listen on this port (default: a free one from 8888 on)"
    parser.add_argument("--port", type=port_number, metavar="N", help=where)
    parser.add_argument("--no-browser", action="store_true", help="only print the address")


def run(args: Namespace) -> int:
    """Open a deck as a slideshow, or JupyterLab."""
    root, where = find_root(), {"port": args.port, "browser": not args.no_browser}
    choose_model(getattr(args, "model", None))
    print(f"Notebooks: {root}")
    if args.command == "lab":
        deck = f"/tree/{quote(find_deck(root, args.deck).as_posix())}" if args.deck else ""
        return serve(root, f"/lab{deck}", what="JupyterLab", **where)
    path = find_deck(root, args.deck)
    if args.static:
        return present_static(root, path, route=args.route, browser=not args.no_browser, model=args.model)
    if args.route is None:
        return _serve_deck(root, path, args.classic, where)
    with route_copy(root, path, args.route) as copy:
        trust_alike(root / path, root / copy)
        print(f"This is a copy, {copy}: what you change in it is lost when you stop.")
        return _serve_deck(root, copy, args.classic, where)


def _serve_deck(root: Path, path: Path, classic: bool, where: dict) -> int:
    if classic and not (find_spec("nbclassic") and find_spec("rise")):
        raise OSError(
            f"classic RISE is not installed: {install_command('classic')}. Without --classic the deck is shown in JupyterLab, which does not need it."
        )
    page = "/nbclassic/notebooks/" if classic else "/rise/"
    return serve(root, page + quote(path.as_posix()), what="Slides", **where)
