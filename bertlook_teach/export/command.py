"""``bertlook export`` and ``bertlook present --static``."""

from __future__ import annotations

import argparse
import os
import time
import webbrowser
from collections.abc import Callable, Collection
from dataclasses import dataclass
from pathlib import Path

from ..launch import find_deck, find_root
from .errors import ExportError

LARGEST = 8_000_000  # bytes of a deck: what still goes into a mail
FOLDER = "exported"


@dataclass
class Exported:
    """What was written for one deck."""

    deck: Path
    page: Path
    seconds: float
    handout: Path | None = None
    pdf: Path | None = None


def export_deck(
    deck: Path,
    out: Path,
    *,
    run: bool = True,
    handout: bool = False,
    notes: bool = False,
    beside: Collection[str] = (),
    say: Callable[[str], None] = print,
) -> Exported:
    """Write one deck as a single file, and on request as a handout.

    Parameters
    ----------
    deck : path
        A notebook with the slide types of RISE.
    out : path
        The folder to write into; it is made.
    run : bool
        Run the deck first. Without, the notebook must have been executed and saved with its widget state.
    handout : bool
        Also a page to read, and its PDF where a Chromium is found.
    notes : bool
        With the speaker's notes in the handout.
    beside : collection of str
        Decks that will be exported into the same folder; links lead to them and to those that lie there already.
    say : callable
        Gets what is worth telling, a line at a time.

    Raises
    ------
    ExportError
        If the deck cannot be read or run, or was not executed and is not to be run.
    OSError
        If the folder cannot be written.
    """
    from .cells import has_formula
    from .deck import deck_look, render_deck
    from .runner import RECORDING, read_deck, run_deck, was_executed
    from .state import displayed, live_state, saved_state

    start = time.perf_counter()
    deck, out = Path(deck), _writable(Path(out))
    notebook = read_deck(deck)
    if run:
        notebook = run_deck(notebook, folder=deck.parent, name=deck.stem, say=say)
    elif not was_executed(notebook):
        raise ExportError(
            f"{deck.name} was not executed, so there is nothing to show. Leave out --no-run, and it is run first; or run "
            "all its cells in JupyterLab and save it with its widget state."
        )
    shown = [c for c in notebook.cells if c.metadata.get("slideshow", {}).get("slide_type") != "skip"]
    roots = displayed(output for cell in shown for output in cell.get("outputs", ()))
    recording = notebook.metadata.get(RECORDING)
    number = deck.name[:2]
    instead = (
        f"Open the deck itself: bertlook present {number}"
        if number.isdecimal()
        else "Open the notebook in Jupyter."
    )
    live = live_state(saved_state(notebook), roots, recording, instead=instead)
    for reason in sorted(set(live.static.values())):
        say(f"  {list(live.static.values()).count(reason)} view(s) stay pictures: {reason}")
    if not run and not roots:
        say(
            "  this notebook was saved without live views, so its pictures stay pictures; leave out --no-run for live ones"
        )
    if any(has_formula(cell.source) for cell in shown if cell.cell_type == "markdown"):
        say("  formulas between $ stand as they are typed: an exported deck carries no MathJax")
    title = notebook.metadata.get("title") or notebook.metadata.get("rise", {}).get("footer") or deck.stem
    page = out / f"{deck.stem}.html"
    there = {deck.stem, *beside, *(path.stem for path in out.glob("[0-9][0-9]_*.html"))}
    look = deck_look(deck.parent)
    _write(page, render_deck(notebook, live, title=str(title), look=look, beside=there))
    size = page.stat().st_size
    if size > LARGEST:
        parts = sorted(((len(str(model)), model["kind"]) for model in live.models.values()), reverse=True)[:3]
        largest = ", ".join(f"{kind.removesuffix('Model')} {n / 1e6:.1f} MB" for n, kind in parts)
        say(
            f"  {page.name} is {size / 1e6:.1f} MB, above {LARGEST / 1e6:.0f}; its largest views: {largest}. Use shorter texts."
        )
    exported = Exported(deck, page, time.perf_counter() - start)
    if handout:
        from .handout import print_pdf, render_handout

        exported.handout = out / f"{deck.stem}_handout.html"
        tables = (recording or {}).get("tables", {})
        there = {deck.stem, *beside, *(p.stem.removesuffix("_handout") for p in out.glob("*_handout.html"))}
        text = render_handout(notebook, title=str(title), tables=tables, notes=notes, beside=there)
        _write(exported.handout, text)
        try:
            exported.pdf = print_pdf(exported.handout, exported.handout.with_suffix(".pdf"))
        except ExportError as error:
            say(f"  {error}")
    exported.seconds = time.perf_counter() - start
    written = [exported.page, exported.handout, exported.pdf]
    for path in filter(None, written):
        say(f"  {path}  {path.stat().st_size / 1e6:.2f} MB")
    return exported


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Arguments of ``bertlook export``."""
    parser.add_argument(
        "--deck", default="all", metavar="NN", help="the lesson's number, a notebook, or all (the default)"
    )
    parser.add_argument(
        "--out",
        type=Path,
        default=Path(FOLDER),
        metavar="DIR",
        help=f"folder to write into (default: {FOLDER})",
    )
    parser.add_argument("--handout", action="store_true", help="also a page to read, and a PDF of it")
    parser.add_argument("--notes", action="store_true", help="with the speaker's notes in the handout")
    parser.add_argument(
        "--no-run",
        action="store_true",
        help="use what the notebook holds: outputs, and widget state if saved with it",
    )


def run(args: argparse.Namespace) -> int:
    """Export one deck or all; a deck that fails does not keep the others from being written."""
    root = find_root()
    if args.notes and not args.handout:
        raise ExportError("--notes are the speaker's notes in the handout; ask for it with --handout.")
    which = (
        sorted((root / "slides").glob("[0-9][0-9]_*.ipynb"))
        if args.deck == "all"
        else [_deck(root, args.deck)]
    )
    if not which:
        raise ExportError(f"no decks in {root / 'slides'}.")
    out, failed = _writable(args.out), []
    for deck in which:
        print(f"{deck.stem} ...", flush=True)
        try:
            options = {"handout": args.handout, "notes": args.notes, "beside": [one.stem for one in which]}
            done = export_deck(deck, out, run=not args.no_run, **options)
        except ExportError as error:
            if len(which) == 1:
                raise
            print(f"  {error}")
            failed.append(deck.stem)
        else:
            print(f"  {done.seconds:.0f} s", flush=True)
    if failed:
        raise ExportError(f"not exported: {', '.join(failed)}. The reasons stand above.")
    return 0


def present_static(
    root: Path, deck: Path, *, browser: bool = True, say: Callable[[str], None] = print
) -> int:
    """Open the exported file of a deck, made anew if it is missing or older than the deck.

    Parameters
    ----------
    root : path
        The folder that holds ``slides``; files are kept in its folder ``exported``.
    deck : path
        Relative to ``root``.
    """
    source = Path(root) / deck
    page = Path(root) / FOLDER / f"{source.stem}.html"
    if not page.is_file() or page.stat().st_mtime < source.stat().st_mtime:
        say(f"Making {page.name} from the deck; this takes as long as the deck runs.")
        export_deck(source, page.parent, say=say)
    say(f"Slides:  {page.resolve().as_uri()}")
    if browser and not _opened(page):
        say("No browser could be started. Open that file in any browser yourself.")
        return 1
    return 0


def _opened(page: Path) -> bool:
    try:
        return webbrowser.open(page.resolve().as_uri())
    except webbrowser.Error:
        return False


def _deck(root: Path, which: str) -> Path:
    """A deck of the course, or any notebook by its path."""
    path = Path(which)
    if path.suffix == ".ipynb" and path.is_file():
        return path
    return root / find_deck(root, which)


def _writable(folder: Path) -> Path:
    """The folder, made if need be, or a sentence that says why it cannot be written: before the deck has run."""
    try:
        folder.mkdir(parents=True, exist_ok=True)
        probe = folder / ".bertlook-probe"
        probe.write_bytes(b"")
        probe.unlink()
    except OSError as error:
        raise ExportError(
            f"cannot write into {folder}: {error.strerror}. Name another folder with --out."
        ) from None
    return folder


def _write(path: Path, text: str) -> None:
    """In one step, so that an interruption leaves no half file."""
    part = path.with_name(path.name + ".tmp")
    part.write_text(text, encoding="utf-8", newline="\n")
    os.replace(part, path)
