"""A copy of the notebooks that a reader may change, and how a newer edition comes into it without losing a change."""

from __future__ import annotations

import hashlib
import json
import re
from pathlib import Path, PurePosixPath
from typing import NamedTuple

import bertlook_teach
from bertlook_teach.disk import write_file

from ..options import model_from_anywhere
from ..storage import others_can_write, writable_folder, write_json

MANIFEST = ".bertlook-course.json"

# The one line of a deck, and of an exercise, that names its model.
_CHOICE = re.compile(r'(\blive_models\(|^NAME = )"[^"]*"', re.MULTILINE)

_PACKAGE = Path(bertlook_teach.__file__).parent

_PARTS = {"slides": (".ipynb", ".css"), "notebooks/exercises": (".ipynb",)}


class Copied(NamedTuple):
    """What a copy did, by the names of the files: written, left as the reader changed them, and put beside these."""

    written: list[str]
    kept: list[str]
    beside: list[str]


def course_folder() -> Path:
    """The folder that holds ``slides`` and ``notebooks``: a copy that `copy_course` made, if that is the current folder or one around
    it; else the checkout around the package; else the current folder.
    """
    here = Path.cwd()
    for folder in (here, *here.parents):
        if (folder / MANIFEST).is_file() and not (folder != here and others_can_write(folder)):
            return folder
    checkout = _PACKAGE.parent
    return checkout if (checkout / "slides").is_dir() else here


def shipped_course() -> Path:
    """The folder that holds ``slides`` and ``notebooks`` as installed: around the package, in a wheel inside it. Not for writing.

    Raises
    ------
    FileNotFoundError
        If the package was installed without them.
    """
    for folder in (_PACKAGE.parent, _PACKAGE):
        if (folder / "slides").is_dir():
            return folder
    raise FileNotFoundError(
        f"the decks of bertlook_teach are missing: looked beside {_PACKAGE} and inside it. "
        "Install a complete wheel, or a clone of the repository (pip install -e .)."
    )


def copy_course(
    folder: str | Path, *, update: bool = False, model: str | None = None, source: Path | None = None
) -> Copied:
    """Copy decks, their style and the exercises into a folder; with ``update`` bring a newer edition into an earlier copy.

    What the reader has not touched is replaced. What was changed stays, and where the new edition changed it too, the new one is
    written beside it, its name beginning with ``new_``. The digests of the edition stand in a small file, ``.bertlook-course.json``.

    Parameters
    ----------
    folder : path
        Made if it is missing.
    update : bool
    model : str, optional
        What decks and exercises of the copy read with; by default each its own, or what an earlier copy was made with. Outputs that
        were saved with another model are left out.
    source : Path, optional
        The folder with ``slides`` and ``notebooks``; by default what was installed.

    Raises
    ------
    FileExistsError
        Without ``update``, if the folder holds files already.
    FileNotFoundError
        If notebooks were not installed, or ``update`` finds files but no earlier copy.
    OSError
        If the folder cannot be written.
    """
    folder = Path(folder).expanduser()
    if folder.is_dir() and any(folder.iterdir()):
        if not update:
            raise FileExistsError(
                f"{folder} holds files already. Name another folder, or bring an earlier copy up to date with --update."
            )
        if not (folder / MANIFEST).is_file():
            raise FileNotFoundError(
                f"{folder} was not made by bertlook course: it has no {MANIFEST}. Name another folder."
            )
    writable_folder(folder)
    before, done = _digests(folder / MANIFEST), Copied([], [], [])
    model = model_from_anywhere(model) if model else _noted(folder / MANIFEST).get("model")
    edition = _edition(source or shipped_course())
    if model:
        edition = {
            name: _with_model(content, model) if name.endswith(".ipynb") else content
            for name, content in edition.items()
        }
    for name, content in edition.items():
        path, digest = folder / name, _digest(content)
        mine = _digest(path.read_bytes()) if path.is_file() else None
        if mine == digest:
            continue
        if mine is None or mine == before.get(name):
            write_file(path, content)
            done.written.append(name)
            continue
        done.kept.append(name)
        if digest != before.get(name):
            done.beside.append(_beside(path, content).relative_to(folder).as_posix())
    digests = {name: _digest(content) for name, content in edition.items()}
    if digests != before or done.written:
        write_json(
            folder / MANIFEST, {"edition": bertlook_teach.__version__, "model": model, "files": digests}
        )
    return done


def _edition(source: Path) -> dict[str, bytes]:
    """Every file of the course by its name inside the folder."""
    found = {}
    for part, kinds in _PARTS.items():
        for path in sorted((source / part).rglob("*")):
            name = PurePosixPath(path.relative_to(source).as_posix())
            if path.suffix in kinds and not any(step.startswith(".") for step in name.parts):
                found[str(name)] = path.read_bytes()
    return found


def _digest(content: bytes) -> str:
    return hashlib.sha256(content).hexdigest()


def _with_model(content: bytes, model: str) -> bytes:
    """A notebook whose model is another: in the one line that names it, and without outputs, which are not of that model."""
    notebook, changed = json.loads(content), False
    for cell in notebook["cells"]:
        source = "".join(cell["source"])
        named = _CHOICE.sub(lambda found: f"{found[1]}{json.dumps(model)}", source)
        if cell["cell_type"] == "code" and named != source:
            cell["source"], changed = named.splitlines(keepends=True), True
    if not changed:
        return content
    for cell in notebook["cells"]:
        if cell["cell_type"] == "code":
            cell["outputs"], cell["execution_count"] = [], None
    return (json.dumps(notebook, indent=1, ensure_ascii=False) + "\n").encode()


def _noted(manifest: Path) -> dict:
    if not manifest.is_file():
        return {}
    try:
        return dict(json.loads(manifest.read_text(encoding="utf-8")))
    except (ValueError, TypeError):
        return {}  # then every file that differs counts as changed by the reader, and nothing is lost


def _digests(manifest: Path) -> dict[str, str]:
    try:
        return dict(_noted(manifest)["files"])
    except (KeyError, TypeError, ValueError):
        return {}


def _beside(path: Path, content: bytes) -> Path:
    """The new edition of a changed file under a name of its own; one that was changed too is not overwritten."""
    for number in ["", *range(2, 1000)]:
        place = path.with_name(f"new{number}_{path.name}")
        if not place.exists() or place.read_bytes() == content:
            write_file(place, content)
            return place
    raise FileExistsError(
        f"{path.parent} holds too many files new_{path.name}; delete those you do not need."
    )
