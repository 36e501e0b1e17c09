"""What a class handed in, gathered: sheets, notebooks and labels of the game, from a folder or from zip files, read and never unpacked."""

from __future__ import annotations

import csv
import io
import json
import re
import zipfile
import zlib
from collections import Counter, defaultdict
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from importlib import import_module
from itertools import combinations
from pathlib import Path, PurePosixPath

from ..checks import Sheet, sheet_from
from ..course import LESSONS
from ..measures import CLASSES
from ..stats import agree

MOST_BYTES = 50_000_000  # of one file
MOST_FILES = 5_000
_KINDS = (".json", ".ipynb", ".csv", ".txt")
_FEWEST = 2  # students who labelled a map, before it says something about the class
_LONGEST = 500  # characters of a mistake
_SPACE = re.compile(r"\s+")

_CHECK = re.compile(r"\bcheck\.check_(\w+)\s*\(")
_IMPORT = re.compile(r"\bchecks(?:\.| import )lesson(\d\d)\b")
_CODE = re.compile(r"(?<![\w-])([0-9a-f]{6})-([0-5]{2,1000})(?![\w-])")
_LEADS = {"Right.": "right", "Not right yet.": "wrong", "Not answered yet.": "unanswered"}
_UNREADABLE = (
    ValueError,
    OSError,
    RuntimeError,
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
        The first folder below the one that was read, or the name of a loose file without ending and lesson.
    sheet : Sheet
    source : str
    kind : {"sheet", "notebook", "notebook, run here"}
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
    """One student's labels of one game; 0 where a map has none, else the class counted from 1."""

    student: str
    game: str
    digits: tuple[int, ...]
    rule: tuple[str, ...]
    source: str


@dataclass
class Gathered:
    """All that was found.

    Attributes
    ----------
    hand_ins : dict of (student, lesson) -> HandIn
        The one that counts: a notebook run here before a sheet, a sheet before a notebook's saved outputs, then the newest.
    labels : dict of (student, game) -> Labels
    notes : list of str
        What was left out or replaced, and why.
    """

    hand_ins: dict[tuple[str, str], HandIn] = field(default_factory=dict)
    labels: dict[tuple[str, str], Labels] = field(default_factory=dict)
    notes: list[str] = field(default_factory=list)

    @property
    def students(self) -> list[str]:
        return sorted({student for student, _ in [*self.hand_ins, *self.labels]})


def gather(folder: str | Path, run: Callable[[bytes], bytes] | None = None) -> Gathered:
    """Read what a class handed in.

    Parameters
    ----------
    folder : path
        With files NAME.json, NAME.ipynb, NAME.csv, NAME.txt or folders NAME/...; zip files are read as folders, and it may be one.
    run : function
        From the content of a notebook to the content with new outputs, see `run_handed_in`. Without it outputs count as saved.

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
    found = Gathered()
    for name, when, read in _files(folder, found.notes):
        student = _student(name)
        try:
            _take(found, student, name, when, read(), run)
        except _UNREADABLE as error:
            found.notes.append(f"{name}: left out, {error}")
    if not found.hand_ins and not found.labels:
        said = "".join(f"\n  {note}" for note in first_notes(found.notes, 10))
        raise ValueError(
            f"nothing in {folder} is a hand-in: a .json that check.sheet wrote, a notebook of an exercise, or labels of the game.{said}"
        )
    return found


def first_notes(notes: list[str], most: int) -> list[str]:
    """The first notes, and how many more there are."""
    return notes if len(notes) <= most else [*notes[: most - 1], f"... and {len(notes) - most + 1} more"]


def _files(folder: Path, notes: list[str]) -> Iterator[tuple[str, float, Callable[[], bytes]]]:
    """Name, date and a function that reads: of each file below a folder and of each entry of a zip file, whose names are only names."""
    roots = [folder] if folder.is_file() else sorted(folder.rglob("*"))
    if len(roots) > MOST_FILES:
        raise ValueError(f"there are more than {MOST_FILES} files in {folder}; give the folder of one class.")
    for path in roots:
        name = path.name if path == folder else path.relative_to(folder).as_posix()
        if path.is_symlink():
            notes.append(f"{name}: left out, a link to another place")
        elif path.suffix.lower() == ".zip" and path.is_file():
            yield from _entries(path, name, notes)
        elif path.is_file() and _wanted(name):
            yield name, path.stat().st_mtime, lambda path=path: bounded(path.open("rb"))
        elif path.is_file() and not _hidden(name):
            notes.append(f"{name}: left out, not a file of one of these kinds: {' '.join(_KINDS)} .zip")


def _entries(path: Path, name: str, notes: list[str]):
    try:
        with zipfile.ZipFile(path) as archive:
            entries = archive.infolist()
            if len(entries) > MOST_FILES:
                raise ValueError(f"it holds more than {MOST_FILES} files")
            for entry in entries:
                parts = [
                    part
                    for part in PurePosixPath(entry.filename.replace("\\", "/")).parts
                    if part not in ("/", "..", ".")
                ]
                inside = "/".join(parts)
                if entry.is_dir() or not _wanted(inside):
                    if not entry.is_dir() and not _hidden(inside):
                        notes.append(
                            f"{name}, {inside}: left out, not a file of one of these kinds: {' '.join(_KINDS)}"
                        )
                    continue
                # A zip with one folder for all is the class's; one of loose files is its owner's.
                owner = [] if len(parts) > 1 else [Path(name).with_suffix("").as_posix()]
                if len(PurePosixPath(name).parts) > 1:
                    owner = [PurePosixPath(name).parts[0]]
                when = float("".join(f"{part:02d}" for part in entry.date_time))
                yield "/".join([*owner, *parts]), when, lambda entry=entry: bounded(archive.open(entry))
    except _UNREADABLE as error:
        notes.append(f"{name}: left out, {error}")


def _wanted(name: str) -> bool:
    return not _hidden(name) and PurePosixPath(name).suffix.lower() in _KINDS


def _hidden(name: str) -> bool:
    return any(part.startswith((".", "__MACOSX")) for part in PurePosixPath(name).parts)


def bounded(file) -> bytes:
    with file:
        content = file.read(MOST_BYTES + 1)
    if len(content) > MOST_BYTES:
        raise ValueError(f"it is larger than {MOST_BYTES // 1_000_000} MB")
    return content


def _student(name: str) -> str:
    """The first folder of a path; of a loose file its name without ending and lesson: ada_03.json and 03_ada.json are ada."""
    first, *rest = PurePosixPath(name).parts
    if rest:
        return clean(first)[:60]
    stem = re.sub(r"(?:^|[_\- ])(?:lesson)?\d\d(?=$|[_\- ])", "", PurePosixPath(first).stem)
    return (clean(stem).strip("_- ") or PurePosixPath(first).stem)[:60]


def clean(text: str) -> str:
    """One line without characters that a page or a console does not print."""
    return _SPACE.sub(" ", "".join(c if c.isprintable() else " " for c in text)).strip()


def _take(found: Gathered, student: str, name: str, when: float, content: bytes, run) -> None:
    ending = PurePosixPath(name).suffix.lower()
    if ending == ".json":
        _count(found, HandIn(student, _known(sheet_from(content, name)), name, "sheet", when))
    elif ending == ".ipynb":
        notebook = _notebook(content)
        kind = "notebook"
        _game_codes(found, student, name, content.decode("utf-8", "replace"))
        if run is not None and _lesson_of(notebook, name):
            try:
                notebook, kind = _notebook(run(content)), "notebook, run here"
            except (ValueError, OSError) as error:
                found.notes.append(f"{name}: not run to its end, {error} Its saved outputs count.")
        sheet = _sheet_of(notebook, name)
        if sheet is not None:
            _count(found, HandIn(student, sheet, name, kind, when))
    elif ending == ".csv":
        _game_table(found, student, name, content.decode("utf-8-sig"))
    else:
        _game_codes(found, student, name, content.decode("utf-8", "replace"))


_RANK = {"notebook, run here": 2, "sheet": 1, "notebook": 0}


def _count(found: Gathered, new: HandIn) -> None:
    key = (new.student, new.sheet.lesson)
    old = found.hand_ins.get(key)
    if old is None:
        found.hand_ins[key] = new
        return
    kept, left = sorted((old, new), key=lambda one: (_RANK[one.kind], one.when), reverse=True)
    found.hand_ins[key] = kept
    found.notes.append(
        f"{left.source}: does not count, {new.student} has {kept.source} for lesson {new.sheet.lesson}"
    )


def _names(number: str) -> list[str]:
    """The checks of a lesson."""
    if number not in {one.number for one in LESSONS}:
        raise ValueError(f"there is no lesson {number!r}")
    return list(import_module(f"bertlook_teach.checks.lesson{number}").sheet().answers)


def _known(sheet: Sheet) -> Sheet:
    """A sheet whose checks are those of its lesson; one of another edition is refused rather than counted with them."""
    if set(sheet.answers) != set(_names(sheet.lesson)):
        raise ValueError(f"its checks are not those of lesson {sheet.lesson} in this edition")
    return sheet


# ---- a notebook, as it was saved -----------------------------------------------------------------------
def _notebook(content: bytes) -> dict:
    try:
        notebook = json.loads(content.decode("utf-8"))
    except (ValueError, RecursionError):
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


def _lesson_of(notebook: dict, name: str) -> str | None:
    for cell in notebook["cells"]:
        imported = _IMPORT.search(_text(cell.get("source")))
        if imported:
            return imported[1]
    numbered = re.match(r"\d\d(?=_)", PurePosixPath(name).name)
    return numbered[0] if numbered else None


def _sheet_of(notebook: dict, name: str) -> Sheet | None:
    """What the last output of each cell with a check said; None for a notebook without checks."""
    number = _lesson_of(notebook, name)
    asked = [
        (c, _CHECK.findall(_text(c.get("source")))) for c in notebook["cells"] if c.get("cell_type") == "code"
    ]
    if number is None or not any(names for _, names in asked):
        return None
    answers, mistakes = dict.fromkeys(_names(number), "not run"), {}
    for cell, names in asked:
        outputs = cell.get("outputs")
        for output in outputs if isinstance(outputs, list) and names else ():
            data = output.get("data") if isinstance(output, dict) else None
            said = _text(data.get("text/plain")) if isinstance(data, dict) else ""
            lead = next((lead for lead in _LEADS if said.startswith(lead)), None)
            if lead is None or names[-1] not in answers:
                continue
            answers[names[-1]] = _LEADS[lead]
            mistakes.pop(names[-1], None)
            if _LEADS[lead] == "wrong":
                mistakes[names[-1]] = said.removeprefix(lead).strip()[:_LONGEST]
    return Sheet(number, answers, mistakes=mistakes)


# ---- the labelling game --------------------------------------------------------------------------------
def _game_codes(found: Gathered, student: str, name: str, text: str) -> None:
    """Codes as the game shows them; of several of one game that with the most labels."""
    for game, digits in set(_CODE.findall(text)):
        _keep_labels(found, Labels(student, game, tuple(map(int, digits)), (), name))


def _game_table(found: Gathered, student: str, name: str, text: str) -> None:
    rows = list(csv.DictReader(io.StringIO(text)))
    if not rows or not set(rows[0]) >= _GAME_COLUMNS:
        raise ValueError("it is not a table of the labelling game: columns game, map and label")
    digits, rule = [0] * len(rows), [""] * len(rows)
    for line, row in enumerate(rows, 2):
        label, number = (row["label"] or "").strip(), row["map"] or ""
        if not re.fullmatch(r"[0-9]{1,5}", number) or not 1 <= int(number) <= len(rows):
            raise ValueError(f"line {line}: map {number[:20]!r} is not one of 1 to {len(rows)}")
        if label and label not in CLASSES or row["game"] != rows[0]["game"]:
            raise ValueError(f"line {line}: a label is one of {', '.join(CLASSES)}, all of one game")
        digits[int(number) - 1] = CLASSES.index(label) + 1 if label else 0
        rule[int(number) - 1] = row.get("rule") or ""
    known = tuple(rule) if set(rule) <= set(CLASSES) else ()
    _keep_labels(found, Labels(student, clean(rows[0]["game"])[:12], tuple(digits), known, name))


def _keep_labels(found: Gathered, new: Labels) -> None:
    def done(labels):
        return sum(map(bool, labels.digits)), bool(labels.rule)

    old = found.labels.get((new.student, new.game))
    if any(new.digits) and (old is None or done(new) > done(old)):
        found.labels[new.student, new.game] = new


@dataclass(frozen=True)
class Game:
    """One game over the class.

    Attributes
    ----------
    kappas : list of float
        Of each two students, over the maps that both labelled, where it is defined.
    with_rule : list of float
        The share of a student's labels that are the rule's, where a table with the rule was handed in.
    split : list of (map from 1, {class: students}, rule)
        Those on which the class disagreed most come first.
    """

    name: str
    students: int
    kappas: list[float]
    with_rule: list[float]
    split: list[tuple[int, Counter, str]]


def games(found: Gathered) -> list[Game]:
    """Each game that was handed in, the one with the most students first; other lengths are other games."""
    together: dict[tuple[str, int], list[Labels]] = defaultdict(list)
    for labels in found.labels.values():
        together[labels.game, len(labels.digits)].append(labels)
    done = []
    for (name, n), group in sorted(together.items(), key=lambda item: -len(item[1])):
        rule = next((labels.rule for labels in group if labels.rule), ())
        kappas = []
        for one, other in combinations(group, 2):
            both = [(CLASSES[a - 1], CLASSES[b - 1]) for a, b in zip(one.digits, other.digits) if a and b]
            kappa = agree(*zip(*both), CLASSES, replicates=1).kappa if both else None
            kappas += [] if kappa is None else [kappa]
        with_rule = []
        for labels in group if rule else ():
            said = [CLASSES[d - 1] == r for d, r in zip(labels.digits, rule) if d]
            with_rule.append(sum(said) / len(said))
        split = []
        for i in range(n):
            votes = Counter(CLASSES[labels.digits[i] - 1] for labels in group if labels.digits[i])
            if votes.total() >= _FEWEST:
                split.append((i + 1, votes, rule[i] if rule else ""))
        split.sort(key=lambda row: (max(row[1].values()) / row[1].total(), row[0]))
        done.append(Game(name, len(group), kappas, with_rule, split))
    return done
