"""Where the decks are."""

from __future__ import annotations

import os
import tempfile
from pathlib import Path

from ..storage import others_can_write, store_folder
from .copies import copy_course, course_folder
from .lessons import GUEST


def find_root() -> Path:
    """A folder with ``slides`` and ``notebooks`` that can be written.

    `course_folder`, if it holds decks: a copy made by `copy_course` before the checkout. Else a copy beside the kept results, brought
    up to date each time.

    Raises
    ------
    FileNotFoundError
        If the package was installed without its decks.
    OSError
        If somebody else could have written into that copy: a deck's cells run when it opens.
    """
    root = course_folder()
    if (root / "slides").is_dir():
        return root
    kept = store_folder() or Path(tempfile.gettempdir()) / f"bertlook-{getattr(os, 'getuid', int)()}"
    _refuse_if_others_can_write(kept)
    copy_course(kept / "course", update=True)
    _refuse_if_others_can_write(kept)
    return kept / "course"


def _refuse_if_others_can_write(kept: Path) -> None:
    """Cells of a deck run when it opens, so what lies there must be our own."""
    course = kept / "course"
    for place in (kept, course, *sorted(course.rglob("*"))):
        foreign_link = place.is_symlink() and hasattr(os, "getuid") and place.lstat().st_uid != os.getuid()
        if foreign_link or others_can_write(place):
            raise OSError(
                f"{place} belongs to somebody else, or everybody can write to it, and what a deck holds is run. "
                "Name a folder of your own in BERTLOOK_CACHE, or copy the course with `bertlook course DIR` and start in DIR."
            )


def find_deck(root: Path, which: str | None = None) -> Path:
    """The deck asked for, as a path relative to ``root``.

    Parameters
    ----------
    root : Path
        The folder that holds ``slides``.
    which : str, optional
        A lesson's number ("3" or "03"), "guest" for the guest lecture, or a notebook's path; the first deck if not given.

    Raises
    ------
    ValueError
        If there is no such deck; the message lists those there are.
    """
    decks = sorted(path.relative_to(root) for path in (root / "slides").glob("[0-9][0-9]_*.ipynb"))
    named = {name: deck for deck in decks for name in (deck.name, deck.stem)}
    if which in named:
        return named[which]
    if which is not None and which.endswith(".ipynb"):
        path = (root / which).resolve()
        if path.is_file() and path.is_relative_to(root.resolve()):
            return path.relative_to(root.resolve())
    elif which is None and decks:
        return decks[0]
    elif which is not None and which.isascii() and which.isdecimal():
        found = [deck for deck in decks if int(deck.name[:2]) == int(which)]
        if found:
            return found[0]
    elif which == "guest" and (root / "slides" / f"{GUEST}.ipynb").is_file():
        return Path("slides", f"{GUEST}.ipynb")
    there = ", ".join(deck.name for deck in decks) or "none"
    asked = "no deck" if which is None else f"no deck {which!r}"
    raise ValueError(
        f"{asked} in {root / 'slides'}. Decks there: {there}. Ask for one by its number, for example 03."
    )
