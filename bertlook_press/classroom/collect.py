"""What a class handed in, gathered: sheets, notebooks and labels of the game, from a folder or from zip files, read and never unpacked."""

from __future__ import annotations

import csv
import json
import re
import unicodedata
import zipfile
import zlib
from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field, fields, replace
from importlib import import_module
from itertools import islice
from pathlib import Path, PurePosixPath
from typing import IO

from bertlook_course.checks import CHECK, Feedback, Sheet, sheet_from, sheet_of
from bertlook_course.storage import csv_rows, visible
from bertlook_course.syllabus import LESSONS
from bertlook_teach.disk import MOST_TIMES, may_unpack_to, open_zip, parse_json, read_bounded
from bertlook_teach.measures import CLASSES

MOST_BYTES = 20_000_000  # of a notebook; those of this course have less than one million
MOST_SMALL = 1_000_000  # bytes of a sheet, a table or a file with codes
MOST_OF_STUDENT = 200_000_000  # bytes of all that one student handed in
MOST_FILES = 5_000
MOST_MAPS = 2_000  # of one game
MOST_GAMES = 20  # of one student, and in one file
MOST_STUDENTS = 1_000  # in one zip
_KINDS = (".json", ".ipynb", ".csv", ".txt")
_LESSON_FILE = re.compile(
    r"(?:lesson[_\- ]*)?\d\d(?:\.\w+$|.*\.ipynb$)", re.IGNORECASE
)  # 05.json, 05_exercise.ipynb: nobody's name

_FREE = 100_000  # bytes that an entry of a zip may unpack to, however small it is
_LONGEST = 500  # characters of a mistake
_SPACE = re.compile(r"\s+")
# What browsers, file managers and Jupyter add to the name of a second file: " (1)", " - Copy", "_copy", "-Copy1".
_SECOND = re.compile(r"(?:[ _-]*\(\d{1,2}\)|[ _-]+(?:copy|kopie)(?:[ _-]*\(?\d{1,2}\)?)?)+$", re.IGNORECASE)

_IMPORT = re.compile(r"\bchecks(?:\.| import )lesson(\d\d)\b")
_PARTS = {part.name for part in fields(Feedback)}
_CODE = re.compile(r"(?<![\w-])([0-9a-f]{6})-([0-5]{2,1000})(?![\w-])")
_UNREADABLE = (
    ValueError,
    OSError,
    RuntimeError,
    MemoryError,
    zipfile.BadZipFile,
    zlib.error,
    csv.Error,
)  # RuntimeError: a password
_GAME_COLUMNS = {"game", "map", "label"}


@dataclass(frozen=True)
class HandIn:
    """A sheet with where it comes from.

    Attributes
    ----------
    student : str
        The first folder below the one that was read, or the name of a loose file without ending and lesson; of a second file, as
        ``bob_01 (1).json``, the same as of the first.
    sheet : Sheet
    source : str
    kind : {"sheet", "notebook"}
    when : float
        When it was written: seconds, or the date of a zip entry as a number; only compared.
    """

    student: str
    sheet: Sheet
    source: str
    kind: str
    when: float


@dataclass(frozen=True)
class Labels:
    """One student's labels of one game: for each map 0 if it has none, else the class counted from 1."""

    student: str
    game: str
    digits: bytes
    rule: tuple[str, ...]
    source: str


@dataclass
class Gathered:
    """All that was found.

    Attributes
    ----------
    hand_ins : dict of (student, lesson) -> HandIn
        The one that counts: a sheet before a notebook's saved outputs, then the newest.
    labels : dict of (student, game) -> Labels
    notes : list of str
        What was left out or replaced, and why.
    n_games : Counter
        Student -> how many games.
    """

    hand_ins: dict[tuple[str, str], HandIn] = field(default_factory=dict)
    labels: dict[tuple[str, str], Labels] = field(default_factory=dict)
    notes: list[str] = field(default_factory=list)
    n_games: Counter = field(default_factory=Counter, repr=False)

    @property
    def students(self) -> list[str]:
        return sorted({student for student, _ in [*self.hand_ins, *self.labels]})


def gather(folder: str | Path) -> Gathered:
    """Read what a class handed in.

    Parameters
    ----------
    folder : path
        With files NAME.json, NAME.ipynb, NAME.csv, NAME.txt or folders NAME/...; zip files are read as folders, and it may be one.

    Raises
    ------
    FileNotFoundError
        If there is no such folder.
    ValueError
        If nothing in it is a hand-in.
    """
    folder = Path(folder)
    if not folder.exists():
        raise FileNotFoundError(
            f"there is no folder {folder}; give the one with the files that were handed in."
        )
    found, spent = Gathered(), Counter()
    for name, when, read in _files(folder, found.notes):
        student = _student(name)
        try:
            if spent[student] > MOST_OF_STUDENT:
                raise ValueError(
                    f"more than {MOST_OF_STUDENT // 1_000_000} MB of this student's files were read already"
                )
            content = read()
            spent[student] += len(content)
            _take(found, student, name, when, content)
        except _UNREADABLE as error:
            _note(found.notes, name, f"left out, {error or type(error).__name__}")
    if not found.hand_ins and not found.labels:
        said = "".join(f"\n  {visible(note)}" for note in first_notes(found.notes, 10))
        raise ValueError(
            f"nothing in {folder} is a hand-in: a .json that check.sheet wrote, a notebook of an exercise, or labels of the game.{said}"
        )
    return found


def first_notes(notes: list[str], most: int) -> list[str]:
    """The first notes, and how many more there are."""
    return notes if len(notes) <= most else [*notes[: most - 1], f"... and {len(notes) - most + 1} more"]


def _note(notes: list[str], name: str, said: str) -> None:
    """Note what happened to a file, in a line of bearable length: a zip can hold names of 64 kB."""
    notes.append(f"{_shown(name)}: {said[:300]}")


def _shown(name: str) -> str:
    return name if len(name) <= 160 else f"{name[:100]} ... {name[-50:]}"


def _files(folder: Path, notes: list[str]) -> Iterator[tuple[str, float, Callable[[], bytes]]]:
    """Name, date and a function that reads: of each file below a folder and of each entry of a zip file, whose names are only names."""
    roots = [folder] if folder.is_file() else sorted(folder.rglob("*"))
    if len(roots) > MOST_FILES:
        raise ValueError(f"there are more than {MOST_FILES} files in {folder}; give the folder of one class.")
    for path in roots:
        name = path.name if path == folder else path.relative_to(folder).as_posix()
        if path.is_symlink():
            _note(notes, name, "left out, a link to another place")
        elif path.suffix.lower() == ".zip" and path.is_file():
            yield from _entries(path, name, notes, is_class=path == folder)
        elif path.is_file() and _wanted(name):
            yield name, path.stat().st_mtime, lambda path=path, name=name: bounded(path.open("rb"), name)
        elif path.is_file() and not _hidden(name):
            _note(notes, name, f"left out, not a file of one of these kinds: {' '.join(_KINDS)} .zip")


def _entries(path: Path, name: str, notes: list[str], *, is_class: bool):
    try:
        with open_zip(path, MOST_FILES) as archive:
            entries = archive.infolist()
            folders = {entry.filename.replace("\\", "/").partition("/")[0] for entry in entries}
            if len(folders) > MOST_STUDENTS:
                raise ValueError(f"it holds folders or files of more than {MOST_STUDENTS:,} students")
            # A class's zip is read whole. Where that is far more than a zip of its size holds, a few files make it so, and only they are left out.
            crowded = sum(entry.file_size for entry in entries) > may_unpack_to(path.stat().st_size)
            if not any(not entry.is_dir() for entry in entries):
                raise ValueError("it holds no file")
            files = [_parts(entry.filename) for entry in entries if not entry.is_dir()]
            around, of_class = _whose(files) if is_class else (0, False)
            for entry in entries:
                if entry.is_dir() or _hidden("/".join(_parts(entry.filename))):
                    continue
                parts = _parts(entry.filename)[around:]
                inside = "/".join(parts)
                if not _wanted(inside):
                    said = f"left out, not a file of one of these kinds: {' '.join(_KINDS)}"
                    _note(notes, f"{name}, {inside}", said)
                    continue
                if crowded and entry.file_size > max(_FREE, MOST_TIMES * entry.compress_size):
                    said = f"left out, it would unpack to more than {MOST_TIMES} times its size"
                    _note(notes, f"{name}, {inside}", said)
                    continue
                # Among the files of a class, a zip of loose files is its owner's.
                owner = (
                    [] if len(parts) > 1 or of_class else [_first_of(Path(name).with_suffix("").as_posix())]
                )
                if len(PurePosixPath(name).parts) > 1:
                    owner = [PurePosixPath(name).parts[0]]
                when = float("".join(f"{part:02d}" for part in entry.date_time))
                read = lambda entry=entry, inside=inside: bounded(archive.open(entry), inside)
                yield "/".join([*owner, *parts]), when, read
    except _UNREADABLE as error:
        _note(notes, name, f"left out, {error or type(error).__name__}")


def _parts(name: str) -> list[str]:
    """The folders and the file of a zip's entry, whatever its name wants to reach."""
    return [part for part in PurePosixPath(name.replace("\\", "/")).parts if part not in ("/", "..", ".")]


def _whose(files: list[list[str]]) -> tuple[int, bool]:
    """Of a zip that is all there is: how many folders lie around the class, and whether loose files are named for students.

    A file manager packs the folder of a class with its name, and a student's folder too; there a file says its lesson alone.
    """
    files = [parts for parts in files if not _hidden("/".join(parts))]
    around = int(len({parts[0] for parts in files}) == 1 and all(len(parts) > 1 for parts in files))
    loose = [parts[around] for parts in files if len(parts) == around + 1]
    named = not any(_LESSON_FILE.match(_plain_name(name)) for name in loose)
    return (around, True) if named else (0, False)


def _wanted(name: str) -> bool:
    return not _hidden(name) and PurePosixPath(name).suffix.lower() in _KINDS


def _hidden(name: str) -> bool:
    return any(part.startswith((".", "__MACOSX")) for part in PurePosixPath(name).parts)


def bounded(file: IO[bytes], name: str = ".ipynb") -> bytes:
    """What a hand-in holds: of a notebook at most `MOST_BYTES`, of any other file `MOST_SMALL`."""
    notebook = PurePosixPath(_plain_name(name)).suffix.lower() == ".ipynb"
    return read_bounded(file, MOST_BYTES if notebook else min(MOST_BYTES, MOST_SMALL))


def _student(name: str) -> str:
    """The first folder of a path; of a loose file its name without ending and lesson: ada_03.json and 03_ada.json are ada."""
    first, *rest = PurePosixPath(name).parts
    stem = _first_of(first) if rest else PurePosixPath(_plain_name(first)).stem
    if not rest:
        stem = _first_of(re.sub(r"(?:^|[_\- ])(?:lesson)?\d\d(?=$|[_\- ])", "", stem)).strip("_- ") or stem
    return (clean(stem) or clean(first))[:60]


def _first_of(name: str) -> str:
    """The name of what this is a second one of, spelled in one way: some systems take accents off their letters."""
    name = unicodedata.normalize("NFC", name)
    return name[:-40] + _SECOND.sub("", name[-40:]) or name  # a zip can hold names of 64 kB


def _plain_name(name: str) -> str:
    """The name of a file as it was before a mail program or a browser added to it: ``ada_01 (1).json.txt`` is ``ada_01.json``."""
    path = PurePosixPath(name)
    if path.suffix.lower() == ".txt" and PurePosixPath(path.stem).suffix.lower() in _KINDS:
        path = path.with_name(path.stem)
    return str(path.with_name(_first_of(path.stem) + path.suffix))


def clean(text: str) -> str:
    """One line without characters that a page or a console does not print."""
    return _SPACE.sub(" ", "".join(c if c.isprintable() else " " for c in text)).strip()


def _take(found: Gathered, student: str, name: str, when: float, content: bytes) -> None:
    """Take in one file; ValueError says why nothing is in it."""
    ending = _ending(name, content)
    if ending == ".json":
        sheet = _known(sheet_from(content, _shown(name)))
        _count(found, HandIn(student, sheet, _shown(name), "sheet", when))
    elif ending == ".ipynb":
        notebook = _notebook(content)
        codes = _game_codes(found, student, name, content.decode("utf-8", "replace"))
        sheet = _sheet_of(notebook)
        if sheet is not None:
            _count(found, HandIn(student, sheet, _shown(name), "notebook", when))
        elif not codes:
            raise ValueError(
                "it is not an exercise of this course, or the cell that imports its checks is gone"
            )
    elif ending == ".csv":
        _game_table(found, student, name, _decoded(content))
    elif not _game_codes(found, student, name, _decoded(content, "replace")):
        raise ValueError("no code of the labelling game stands in it")


def _ending(name: str, content: bytes) -> str:
    """What kind of file it is, by its name; a text that holds a sheet or a notebook is one."""
    ending = PurePosixPath(_plain_name(name)).suffix.lower()
    if ending == ".txt" and content.lstrip(b"\xef\xbb\xbf \t\r\n").startswith(b"{"):
        return ".ipynb" if b'"cells"' in content else ".json"
    return ending


def _decoded(content: bytes, errors: str = "strict") -> str:
    """Text as editors and spreadsheets save it, in UTF-8 or, where it says so, in UTF-16."""
    wide = content.startswith((b"\xff\xfe", b"\xfe\xff"))
    return content.decode("utf-16" if wide else "utf-8-sig", errors)


def _count(found: Gathered, new: HandIn) -> None:
    key = (new.student, new.sheet.lesson)
    old = found.hand_ins.get(key)
    if old is None:
        found.hand_ins[key] = new
        return
    kept, left = sorted((old, new), key=lambda one: (one.kind == "sheet", one.when), reverse=True)
    found.hand_ins[key] = kept
    found.notes.append(
        f"{left.source}: does not count, {new.student} has {kept.source} for lesson {new.sheet.lesson}"
    )


def _names(number: str) -> list[str]:
    """The checks of a lesson."""
    if number not in {one.number for one in LESSONS}:
        raise ValueError(f"there is no lesson {number!r}")
    return list(import_module(f"bertlook_course.checks.lesson{number}").sheet().answers)


def _known(sheet: Sheet) -> Sheet:
    """A sheet whose checks are those of its lesson; one of another edition is refused rather than counted with them."""
    if set(sheet.answers) != set(_names(sheet.lesson)):
        raise ValueError(f"its checks are not those of lesson {sheet.lesson} in this edition")
    return replace(sheet, mistakes={name: said[:_LONGEST] for name, said in sheet.mistakes.items()})


# ---- a notebook, as it was saved -----------------------------------------------------------------------
def _notebook(content: bytes) -> dict:
    try:
        notebook = parse_json(content)
    except (UnicodeDecodeError, json.JSONDecodeError):
        raise ValueError("it is not a notebook: not JSON") from None
    cells = notebook.get("cells") if isinstance(notebook, dict) else None
    if not isinstance(cells, list) or not all(isinstance(cell, dict) for cell in cells):
        raise ValueError("it is not a notebook: no list of cells")
    return notebook


def _text(value) -> str:
    return (
        "".join(part for part in value if isinstance(part, str))
        if isinstance(value, list)
        else str(value or "")
    )


def _sheet_of(notebook: dict) -> Sheet | None:
    """What each check said last, in the order of the cells; None for a notebook that imports no lesson's checks."""
    imported = _IMPORT.search("\n".join(_text(cell.get("source")) for cell in notebook["cells"]))
    if imported is None:
        return None
    said = [one for cell in notebook["cells"] for one in _said(cell) if one.lesson == imported[1]]
    return sheet_of(imported[1], _names(imported[1]), said)


def _said(cell: dict) -> Iterator[Feedback]:
    """The feedback that a cell's outputs carry as data."""
    outputs = cell.get("outputs")
    for output in outputs if isinstance(outputs, list) else ():
        data = output.get("data") if isinstance(output, dict) else None
        record = data.get(CHECK) if isinstance(data, dict) else None
        if record is not None:
            parts = record if isinstance(record, dict) else {}
            if parts.keys() != _PARTS or not all(isinstance(part, str) for part in parts.values()):
                raise ValueError("the data beside an output are not those of a check")
            yield Feedback(**parts)


# ---- the labelling game --------------------------------------------------------------------------------
def _game_codes(found: Gathered, student: str, name: str, text: str) -> bool:
    """Codes as the game shows them; of several of one game that with the most labels. Whether there was one."""
    codes = list(islice(_CODE.finditer(text), MOST_GAMES + 1))
    if len(codes) > MOST_GAMES:
        _note(found.notes, name, f"its codes of the game do not count, there are more than {MOST_GAMES}")
        return True
    for game, digits in sorted({code.groups() for code in codes}):
        _keep_labels(found, Labels(student, game, bytes(map(int, digits)), (), name))
    return bool(codes)


def _game_table(found: Gathered, student: str, name: str, text: str) -> None:
    rows = csv_rows(text, [*_GAME_COLUMNS, "rule"], MOST_MAPS)
    if not rows or not set(rows[0]) >= _GAME_COLUMNS:
        raise ValueError("it is not a table of the labelling game: columns game, map and label")
    digits, rule = bytearray(len(rows)), [""] * len(rows)
    for line, row in enumerate(rows, 2):
        label, number = row["label"].strip(), row["map"]
        if not re.fullmatch(r"[0-9]{1,5}", number) or not 1 <= int(number) <= len(rows):
            raise ValueError(f"line {line}: map {number[:20]!r} is not one of 1 to {len(rows)}")
        if label and label not in CLASSES or row["game"] != rows[0]["game"]:
            raise ValueError(f"line {line}: a label is one of {', '.join(CLASSES)}, all of one game")
        digits[int(number) - 1] = CLASSES.index(label) + 1 if label else 0
        rule[int(number) - 1] = row.get("rule", "")
    known = tuple(rule) if set(rule) <= set(CLASSES) else ()
    _keep_labels(found, Labels(student, clean(rows[0]["game"])[:12], bytes(digits), known, name))


def _keep_labels(found: Gathered, new: Labels) -> None:
    def done(labels):
        return sum(map(bool, labels.digits)), bool(labels.rule)

    old = found.labels.get((new.student, new.game))
    if not any(new.digits):
        _note(found.notes, new.source, f"its game {new.game} does not count, no map has a label")
    elif old is None or done(new) > done(old):
        if old is None and found.n_games[new.student] == MOST_GAMES:
            raise ValueError(f"{new.student} has labels of {MOST_GAMES} games already")
        found.n_games[new.student] += old is None
        found.labels[new.student, new.game] = new
    if old is not None and any(new.digits) and old.source != new.source:
        kept = found.labels[new.student, new.game]
        left = old if kept is new else new
        _note(
            found.notes,
            left.source,
            f"its game {new.game} does not count, {new.student} has one in {_shown(kept.source)}",
        )
