"""``bertlook export`` and ``bertlook present --static``."""

from __future__ import annotations

import json
import time
import webbrowser
from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass
from pathlib import Path

from bertlook_course.storage import writable_folder
from bertlook_course.syllabus import find_deck, on_route
from bertlook_teach.disk import write_file
from bertlook_teach.model import SHIPPED, model_title

from ...pages import PageModel, page_model
from .cells import has_formula, slide_type
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
    weights: str | None = "",
    single_file: bool = False,
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
    weights : str, optional
        The folder in which the page finds the models that its views speak of, to compute new texts with: by default its own, where each
        model's file is written once for all decks. In another one nothing is written. None: no page computes.
    single_file : bool
        These models are part of the page.
    say : callable
        Gets what is worth telling, a line at a time.

    Raises
    ------
    ExportError
        If the deck cannot be read or run, or was not executed and is not to be run.
    OSError
        If the folder cannot be written.
    """
    from .deck import deck_look, render_deck
    from .runner import RECORDING
    from .state import displayed, live_state, saved_state

    start = time.perf_counter()
    deck, out = Path(deck), writable_folder(out)
    notebook = _executed(deck, run, say)
    shown = _shown(notebook)
    roots = displayed(output for cell in shown for output in cell.get("outputs", ()))
    recording = notebook.metadata.get(RECORDING)
    number = deck.name[:2]
    instead = (
        f"Open the deck itself: bertlook present {number}"
        if number.isdecimal()
        else "Open the notebook in Jupyter."
    )
    held = [] if weights is None else _models_asked(recording)
    live = live_state(
        saved_state(notebook), roots, recording, instead=instead, held=held, folder=weights or ""
    )
    held = [one for one in held if one.fingerprint in {told["fingerprint"] for told in live.weights}]
    _say_what_is_not_live(live, shown, roots, run, say)
    title = notebook.metadata.get("title") or notebook.metadata.get("rise", {}).get("footer") or deck.stem
    page = out / f"{deck.stem}.html"
    there = {deck.stem, *beside, *(path.stem for path in out.glob("[0-9][0-9]_*.html"))}
    look = deck_look(deck.parent, notebook.metadata.get("rise", {}).get("stylesheet", ""))
    carried = [one.script for one in held] if single_file else []
    write_file(page, render_deck(notebook, live, title=str(title), look=look, beside=there, inside=carried))
    for one in held:
        if single_file:
            say(f"  {page.name} carries {one.title}, {len(one.script) / 1e6:.1f} MB")
        elif not weights:
            _write_weights(out / one.file, one, say)
    _say_if_large(page, page.stat().st_size - sum(map(len, carried)), live, say)
    exported = Exported(deck, page, time.perf_counter() - start)
    if handout:
        exported.handout = out / f"{deck.stem}_handout.html"
        tables = (recording or {}).get("tables", {})
        options = {"title": str(title), "tables": tables, "notes": notes, "beside": beside}
        exported.pdf = _write_handout(exported.handout, notebook, deck.stem, say, **options)
    exported.seconds = time.perf_counter() - start
    written = [exported.page, exported.handout, exported.pdf]
    for path in filter(None, written):
        say(f"  {path}  {path.stat().st_size / 1e6:.2f} MB")
    return exported


def _executed(deck: Path, run: bool, say: Callable[[str], None]):
    """The deck with its outputs: run now, or as it was saved and then without scripts; its pictures are carried."""
    from .pictures import carry_pictures
    from .runner import read_deck, run_deck, was_executed
    from .strangers import harmless

    notebook = read_deck(deck)
    _refuse_what_cannot_be_shown(notebook, deck.name, run)
    if run:
        notebook = run_deck(notebook, folder=deck.parent, name=deck.stem, say=say)
    elif not was_executed(notebook):
        raise ExportError(
            f"{deck.name} was not executed, so there is nothing to show. Leave out --no-run, and it is run first; or run "
            "all its cells in JupyterLab and save it with its widget state."
        )
    elif taken := harmless(notebook):
        say(
            f"  {taken} saved output(s) held scripts, which are left out of a page whose deck was not run here; leave out --no-run to keep them"
        )
    for lost in carry_pictures(notebook, deck.parent):
        say(f"  the picture {lost}")
    return notebook


def _refuse_what_cannot_be_shown(notebook, name: str, run: bool) -> None:
    slides = [cell for cell in _shown(notebook) if cell.cell_type != "raw" and slide_type(cell) != "notes"]
    if not any(cell.source.strip() or cell.get("outputs") for cell in slides):
        raise ExportError(
            f"{name} has no slide: none of its {len(notebook.cells)} cells shows anything. Write one, and export again."
        )
    about = notebook.metadata.get("kernelspec", {}).get("language") or notebook.metadata.get(
        "language_info", {}
    ).get("name")
    if run and str(about or "python").lower() not in ("python", "ipython"):
        raise ExportError(
            f"{name} is a notebook in {about}, and only Python runs here. Run it in its own Jupyter, save it, and export it with --no-run."
        )


def _shown(notebook) -> list:
    return [cell for cell in notebook.cells if slide_type(cell) != "skip"]


def _say_what_is_not_live(live, shown: list, roots, run: bool, say: Callable[[str], None]) -> None:
    for reason in sorted(set(live.static.values())):
        say(f"  {list(live.static.values()).count(reason)} view(s) stay pictures: {reason}")
    if not run and not roots:
        say(
            "  this notebook was saved without live views, so its pictures stay pictures; leave out --no-run for live ones"
        )
    texts = [cell.source for cell in shown if cell.cell_type == "markdown"]
    latex = any(
        "text/latex" in output.get("data", {}) for cell in shown for output in cell.get("outputs", ())
    )
    if latex or any(map(has_formula, texts)):
        say("  formulas between $ stand as they are typed: an exported deck carries no MathJax")


def _models_asked(recording: Mapping | None) -> list[PageModel]:
    """The shipped models of which views of a deck say that they speak."""
    asked = {one.get("model") for one in (recording or {}).get("computed", ())}
    return [page_model(name) for name in SHIPPED if name in asked]


def _write_weights(file: Path, model: PageModel, say: Callable[[str], None]) -> None:
    """A model beside the page, if it is not there yet."""
    if not _holds(file, model.script):
        write_file(file, model.script)
        size = f"{file.stat().st_size / 1e6:.2f} MB"
        say(f"  {file}  {size}, {model.title}, with which the decks of this folder compute new texts")


def _say_if_large(page: Path, size: int, live, say: Callable[[str], None]) -> None:
    if size > LARGEST:
        parts = sorted(((len(str(model)), model["kind"]) for model in live.models.values()), reverse=True)[:3]
        largest = ", ".join(f"{kind.removesuffix('Model')} {n / 1e6:.1f} MB" for n, kind in parts)
        say(
            f"  {page.name} is {size / 1e6:.1f} MB, above {LARGEST / 1e6:.0f}; its largest views: {largest}. Use shorter texts."
        )


def _write_handout(page: Path, notebook, own: str, say, *, beside: Collection[str], **options) -> Path | None:
    """The page to read, and its PDF where that can be printed."""
    from .handout import print_pdf, render_handout

    there = {own, *beside, *(p.stem.removesuffix("_handout") for p in page.parent.glob("*_handout.html"))}
    write_file(page, render_handout(notebook, beside=there, **options))
    try:
        return print_pdf(page, page.with_suffix(".pdf"))
    except ExportError as error:
        say(f"  {error}")
        return None


def _holds(path: Path, text: str) -> bool:
    return path.is_file() and path.stat().st_size == len(text) and path.read_text(encoding="ascii") == text


def present_static(
    root: Path,
    deck: Path,
    *,
    route: int | None = None,
    model: str | None = None,
    browser: bool = True,
) -> int:
    """Open the exported file of a deck, made anew if it is missing or older than the deck.

    Parameters
    ----------
    root : path
        The folder that holds ``slides``; files are kept in its folder ``exported``.
    deck : path
        Relative to ``root``.
    route : {20, 50, 90}, optional
        Only the slides for so many minutes.
    model : str, optional
        The model that `bertlook_course.decks.choose_model` chose; its pages lie in a folder of their own.
    """
    source = Path(root) / deck
    if route is not None:
        on_route(json.loads(source.read_text(encoding="utf-8")), route)  # or say that there is none
    page = Path(root, FOLDER, *([model_title(model)] if model else []), f"{source.stem}.html")
    if not page.is_file() or page.stat().st_mtime < source.stat().st_mtime:
        print(f"Making {page.name} from the deck; this takes as long as the deck runs.")
        export_deck(source, page.parent)
    address = page.resolve().as_uri() + (f"?route={route}" if route else "")
    print(f"Slides:  {address}")
    if browser and not _opened(address):
        print("No browser could be started. Open that file in any browser yourself.")
        return 1
    return 0


def _opened(address: str) -> bool:
    try:
        return webbrowser.open(address)
    except webbrowser.Error:
        return False


def deck_to_export(root: Path, which: str) -> Path:
    """A deck of the course, or any notebook by its path."""
    path = Path(which)
    if path.suffix == ".ipynb" and path.is_file():
        return path
    if path.suffix == ".ipynb" and not (root / which).is_file() and not (root / "slides" / which).is_file():
        raise ValueError(
            f"there is no notebook {which} in {Path.cwd()}, and none among the decks in {root / 'slides'}."
        )
    return root / find_deck(root, which)
