"""``bertlook site``: what pages there are, which of them must be made anew, and the making."""

from __future__ import annotations

import json
import re
import subprocess
import sys
from collections.abc import Callable, Collection, Iterable, Sequence
from dataclasses import dataclass, field
from functools import partial
from importlib.util import find_spec
from pathlib import Path

from bertlook_course.storage import code_digest, digest, tree_digest, writable_folder, write_json
from bertlook_course.syllabus import GUEST, LESSONS
from bertlook_teach.disk import data_path, write_file

from ..export.errors import ExportError
from ..export.reveal import typeface
from ..export.writing import export_deck
from ..worksheet import render_exam, render_worksheet
from . import pages
from .frame import site_file
from .playground import playground_files, recorded_page
from .search import PAGE, WORDS, search_page, search_words

USUAL_PARTS = ("decks", "handouts", "read", "exercises", "worksheets", "recorded", "playground")

SITE_PARTS = (*USUAL_PARTS, "api")  # the reference alone is 15 MB

LARGEST = 40_000_000  # bytes of a site

MANIFEST = ".bertlook-site.json"  # what was made from what: a page whose sources are the same is kept

RECORDED = ("bert-base-uncased", "bert-base-cased")


@dataclass
class Unit:
    """Pages that are made together: their part of the site, what they are made from, and the function that writes them."""

    part: str
    name: str
    key: str
    make: Callable[[Path], Iterable[str]]  # gets the site's folder, gives the paths that it wrote


@dataclass
class Site:
    """What was built: pages made and kept, bytes of the whole, and what was left out with the reason."""

    made: list[str] = field(default_factory=list)
    kept: list[str] = field(default_factory=list)
    left_out: list[str] = field(default_factory=list)
    size: int = 0


def _own_folder(out: Path, parts: Collection[str], url: str, force: bool) -> Path:
    """The folder, if the site may be written into it and the parts and the address are some."""
    if unknown := sorted(set(parts) - set(SITE_PARTS)):
        raise ValueError(f"the parts of a site are {', '.join(SITE_PARTS)}; got {', '.join(unknown)}.")
    if url and not re.fullmatch(r"https?://[^\s\"'<>?#]+", url):
        raise ValueError(f"an address begins with https:// and has no question mark or #; got {url!r}.")
    if out.exists() and not (out / MANIFEST).is_file() and not force and any(out.iterdir()):
        raise ValueError(
            f"{out} holds files that bertlook site did not make. Name another folder, or write into this one with --force."
        )
    return writable_folder(out)


def _staying(before: dict, units: Sequence[Unit], parts: Collection[str], *, kept_decks: bool) -> dict:
    """What another call made, unless this one would have made it and does not: solutions that are no longer asked for."""
    planned = {unit.name for unit in units}
    return {
        name: unit
        for name, unit in before.items()
        if name not in planned
        and unit["part"] != "front"
        and (unit["part"] not in parts or (kept_decks and unit["part"] == "decks"))
    }


def _made(unit: Unit, old: dict, plan: Plan, site: Site, out: Path) -> dict:
    """The record of a unit: made now, or as it is where nothing it is made from has changed."""
    key = digest(unit.key, sorted(plan.there))
    if old.get("key") == key and all((out / place).is_file() for place in old["files"]):
        site.kept += old["files"]
        return old
    files = sorted(unit.make(out))
    site.made += files
    return {"part": unit.part, "key": key, "files": files}


def build_site(
    root: Path,
    out: Path,
    *,
    decks: Sequence[Path] | None = None,
    parts: Collection[str] = USUAL_PARTS,
    solutions: bool = False,
    run: bool = True,
    url: str = "",
    force: bool = False,
    progress: Callable[[list], Iterable] = iter,
    say: Callable[[str], None] = print,
) -> Site:
    """Write the site into a folder; what an earlier call made there from the same sources is kept.

    Parameters
    ----------
    root : Path
        The folder with ``slides`` and ``notebooks``, and in a checkout ``docs``.
    out : Path
    decks : sequence of Path, optional
        By default the map, all lessons and the guest lecture.
    parts : collection of str
        Of `SITE_PARTS`, by default all but the last; pages of other parts that are there already stay.
    solutions : bool
        Also the solutions, and the keys of the worksheets.
    run : bool
        Run each deck. Without, its views are pictures.
    url : str
        Where the site will be served, for ``sitemap.xml`` and the page that says *not found*; without it there is no site map.
    force : bool
        Make every page anew, also in a folder that holds other files.
    progress : callable
        Wraps the list of what is to be made.
    say : callable
        Gets what is worth telling.

    Raises
    ------
    ValueError
        If a part is unknown, the address is none, or the folder holds files of somebody else.
    ExportError
        If a deck cannot be run, or the slideshow's code is not installed.
    OSError
        If the folder cannot be written.
    """
    out = _own_folder(Path(out), parts, url, force)
    before = {} if force else _manifest(out)
    kept_decks = decks is not None
    decks = all_decks(root) if decks is None else list(decks)
    plan = Plan(root, decks, frozenset(parts), solutions, run, bool(url), out)
    site = Site(left_out=plan.left_out)
    units = plan.units()
    stays = _staying(before, units, parts, kept_decks=kept_decks)
    done = dict(stays)
    plan.there = frozenset([*plan.places, *(place for unit in stays.values() for place in unit["files"])])
    for unit in progress(units):
        done[unit.name] = _made(unit, before.get(unit.name, {}), plan, site, out)
        if done[unit.name] is not before.get(unit.name):  # a build that is stopped goes on from here
            write_json(out / MANIFEST, {**before, **done})
    front = plan.front(url, {place for unit in done.values() for place in unit["files"]})
    for place, content in front.items():
        write_file(out / place, content)
    site.made += front
    done["front"] = {"part": "front", "key": "", "files": sorted(front)}
    here = {place for unit in done.values() for place in unit["files"]}
    for place in {place for unit in _manifest(out).values() for place in unit["files"]} - here:
        (out / place).unlink(missing_ok=True)
    write_json(out / MANIFEST, done)
    site.size = sum(path.stat().st_size for path in out.rglob("*") if path.is_file())
    if site.size > LARGEST:
        say(f"{out} has {site.size / 1e6:.1f} MB, above {LARGEST / 1e6:.0f}; leave parts out with --only.")
    return site


def all_decks(root: Path) -> list[Path]:
    """The map, the lessons in their order, and the guest lecture."""
    numbered = sorted((root / "slides").glob("[0-9][0-9]_*.ipynb"))
    guest = root / "slides" / f"{GUEST}.ipynb"
    return [*numbered, *([guest] if guest.is_file() else [])]


class Plan:
    """Which pages the site will have, and how each is made."""

    def __init__(self, root, decks, parts, solutions, run, served, out):
        self.root, self.decks, self.parts, self.out = root, decks, parts, out
        self.solutions, self.run, self.served = solutions, run, served
        self.left_out: list[str] = []
        self.there: frozenset[str] = frozenset()
        self.code = code_digest()
        self.stems = [deck.stem for deck in decks]
        self.pages = {f"slides/{deck.name}": f"decks/{deck.stem}.html" for deck in decks if "decks" in parts}
        self.notebooks = {}
        if "exercises" in parts:
            for kind in ("exercises", *(["solutions"] if solutions else [])):
                for path in sorted((root / "notebooks" / kind).glob("*.ipynb")):
                    self.notebooks[f"notebooks/{kind}/{path.name}"] = path
            if solutions and not any("/solutions/" in name for name in self.notebooks):
                self.left_out.append("solutions: they come with the repository, not with the package")
        self.pages |= {
            name: f"{name.split('/', 1)[1].removesuffix('.ipynb')}.html" for name in self.notebooks
        }
        self.texts = pages.texts(root) if "read" in parts else {}
        if "read" in parts and not self.texts:
            self.left_out.append("what is to be read: docs/ comes with the repository, not with the package")
        self.pages |= {name: f"read/{pages.slug(name)}.html" for name in self.texts}
        self.reference = "api" in parts and self._reference(out)
        worksheets = [one.stem for one in LESSONS] if "worksheets" in parts else []
        self.lessons = {
            f"lessons/{one.stem}.html": one.stem
            for one in LESSONS
            if (root / "slides" / f"{one.stem}.ipynb").is_file()
        }
        self.places = [
            "index.html",
            PAGE,
            *self.lessons,
            *self.pages.values(),
            *(["exercises/index.html"] if self.notebooks else []),
            *(["read/index.html"] if self.texts else []),
            *(["playground.html"] if "playground" in parts else []),
            *([f"recorded/{name}.html" for name in RECORDED] if "recorded" in parts else []),
            *(f"worksheets/{stem}.html" for stem in worksheets),
            *(["api/index.html"] if self.reference else []),
        ]

    def _reference(self, out) -> bool:
        tool = self.root / "tools" / "api_reference.py"
        needs = {
            "pdoc (pip install pdoc)": find_spec("pdoc") is not None,
            "tools/api_reference.py, which comes with the repository": tool.is_file(),
        }
        missing = [what for what, there in needs.items() if not there]
        self.left_out += [f"the reference of the package: it needs {what}" for what in missing]
        return not missing

    def units(self) -> list[Unit]:
        """What is to be made, in the order of making."""
        units = [Unit("front", "style", self.code, self._style)]
        if self.reference:
            units.append(Unit("api", "api", self.code, self._api))
        if self.texts:
            units += [
                Unit("read", name, digest(self.code, text), partial(self._text, name))
                for name, text in self.texts.items()
            ]
            units.append(Unit("read", "read", digest(self.code, *self.texts.values()), self._texts))
            units.append(Unit("read", "images", self.code, self._images))
        for name, path in self.notebooks.items():
            units.append(
                Unit("exercises", name, digest(self.code, path.read_bytes()), partial(self._notebook, name))
            )
        if self.notebooks:
            units.append(
                Unit("exercises", "exercises", digest(self.code, sorted(self.notebooks)), self._exercises)
            )
        data = tree_digest(data_path(), "")
        looks = tree_digest(self.root / "slides", ".css")
        if "worksheets" in self.parts:
            saved = {path.stem: path.read_bytes() for path in all_decks(self.root)}
            for one in LESSONS:
                key = digest(self.code, saved.get(one.stem, b""), self.solutions)
                units.append(
                    Unit("worksheets", f"worksheet {one.number}", key, partial(self._worksheet, one))
                )
        if "recorded" in self.parts:
            for name in RECORDED:
                units.append(Unit("recorded", name, digest(self.code, data), partial(self._recorded, name)))
        if "playground" in self.parts:
            units.append(Unit("playground", "playground", digest(self.code, data), self._playground))
        if "decks" in self.parts:
            for deck in self.decks:
                key = digest(self.code, data, looks, deck.read_bytes(), self.run, "handouts" in self.parts)
                units.append(Unit("decks", deck.stem, key, partial(self._deck, deck)))
        return units

    # --- the making -------------------------------------------------------------------------------------------
    def _write(self, out: Path, contents: dict[str, str | bytes]) -> list[str]:
        for place, content in contents.items():
            write_file(out / place, content)
        return list(contents)

    def _style(self, out):
        return self._write(out, {"fonts.css": typeface(), "site.css": site_file("site.css")})

    def _api(self, out):
        tool = str(self.root / "tools" / "api_reference.py")
        command = [sys.executable, tool, "--out", str(out / "api")]
        done = subprocess.run(command, check=False, capture_output=True, text=True, cwd=self.root)
        if not (out / "api" / "index.html").is_file():
            raise ExportError(
                f"the reference was not made: {(done.stderr.strip().splitlines() or ['no reason given'])[-1]}"
            )
        return [path.relative_to(out).as_posix() for path in (out / "api").rglob("*") if path.is_file()]

    def _text(self, name, out):
        place = self.pages[name]
        return self._write(
            out, {place: pages.text_page(self.texts[name], name, place, self._pages(), self.there)}
        )

    def _pages(self):
        images = {f"docs/images/{place}": f"read/images/{place}" for place in pages.images(self.root)}
        return {**self.pages, **images}

    def _texts(self, out):
        return self._write(out, {"read/index.html": pages.texts_page(self.texts, self.pages, self.there)})

    def _images(self, out):
        return self._write(
            out,
            {f"read/images/{place}": path.read_bytes() for place, path in pages.images(self.root).items()},
        )

    def _notebook(self, name, out):
        path, place = self.notebooks[name], self.pages[name]
        page = pages.notebook_page(path, name, place, self._pages(), self.there)
        return self._write(out, {place: page, place.removesuffix("html") + "ipynb": path.read_bytes()})

    def _exercises(self, out):
        return self._write(out, {"exercises/index.html": pages.exercises_page(self.pages, self.there)})

    def _worksheet(self, one, out):
        sheets = {f"worksheets/{one.stem}.html": render_worksheet(self.root, one.number)}
        if self.solutions:
            sheets[f"worksheets/{one.stem}_key.html"] = render_worksheet(self.root, one.number, key=True)
            sheets[f"worksheets/{one.stem}_exam.html"] = render_exam(self.root, one.number)
        return self._write(out, sheets)

    def _recorded(self, name, out):
        place = f"recorded/{name}.html"
        return self._write(out, {place: recorded_page(name, place, RECORDED, self.there)})

    def _playground(self, out):
        return self._write(out, playground_files(self.there))

    def _deck(self, deck, out):
        options = {"handout": "handouts" in self.parts, "beside": self.stems, "say": lambda line: None}
        options["weights"] = ".." if "playground" in self.parts else None
        done = export_deck(deck, out / "decks", run=self.run, **options)
        written = [path for path in (done.page, done.handout, done.pdf) if path]
        for path in written[:2]:
            if path.suffix == ".html":
                text = path.read_text(encoding="utf-8")
                write_file(path, pages.deck_on_site(text, deck.stem, f"decks/{path.name}", self._pages()))
        return [path.relative_to(out).as_posix() for path in written]

    def front(self, url: str, made: set[str]) -> dict[str, str]:
        """The pages that depend on what was made: the course, *not found*, and the site map."""
        found = {path.stem: path for path in all_decks(self.root)}
        front = {
            "index.html": pages.course_page(found, self.there | made),
            "404.html": pages.missing_page(url),
            PAGE: search_page(self.there),
            WORDS: search_words(self.out, made),
            **{place: pages.lesson_page(stem, self.there | made) for place, stem in self.lessons.items()},
        }
        if url:
            listed = sorted(
                place
                for place in {*made, *front}
                if place != "404.html" and place.endswith(".html") and not place.startswith("api/")
            )
            front["sitemap.xml"] = pages.site_map(url, listed)
        return front


def _manifest(out: Path) -> dict:
    try:
        found = json.loads((out / MANIFEST).read_text(encoding="utf-8"))
        return {n: u for n, u in found.items() if isinstance(u["files"], list) and {"part", "key"} <= set(u)}
    except (OSError, ValueError, KeyError, TypeError, AttributeError):
        return {}  # then every page is made anew
