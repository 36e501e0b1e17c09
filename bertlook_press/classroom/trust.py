"""Which notebooks the server trusts, and what it hands to the page of one that it does not trust.

A notebook is trusted if the course wrote it (its bytes are listed in ``data/notebooks.sha256``), if it was begun here, or if the reader
said so: by *Trust Notebook*, or by running all its cells. A store of signatures remembers all but the first kind.

Of any other notebook a page gets an `inert` copy: sources, plain text, pictures made of pixels, markup that every host cleans, and the
few settings that lay out slides. A renderer or an extension that is installed tomorrow therefore never sees a stranger's data. When
such a page saves, what it did not get is put back from the original, so that no file loses anything.

Every page gets a number with its notebook, under the key `PAGE` of the metadata. What a page saves is believed by that number, which
no file can hold: marks of trust in an uploaded file mean nothing.
"""

from __future__ import annotations

import copy
import hashlib
import hmac
import json
import re
from collections.abc import Iterator, Mapping
from functools import cache
from pathlib import Path
from typing import Any

from bertlook_teach.disk import data_path, write_file

from .jupyter_home import isolate

PAGE = "bertlook"  # in a page's copy of a notebook: {"page": its number, "trusted": whether}; of one that is not trusted in each cell its place

LIST = "notebooks.sha256"  # of the notebooks that ship, as sha256sum writes it

FOLDERS = ("notebooks/exercises", "notebooks/solutions", "slides")

# Kinds of output that no host asks anybody for, or runs: text, pixels, and markup that each of them cleans.
INERT_OUTPUTS = (
    "text/plain",
    "text/html",
    "text/markdown",
    "text/latex",
    "image/png",
    "image/jpeg",
    "image/gif",
)

PIXELS = ("image/png", "image/jpeg", "image/gif")

# How a deck is laid out. Not here: what runs cells, names files or addresses, or holds markup.
RISE = (
    "auto_select",
    "center",
    "controls",
    "height",
    "lesson",
    "look",
    "margin",
    "maxScale",
    "minScale",
    "numbers",
    "part",
    "progress",
    "scroll",
    "slideNumber",
    "slides",
    "start_slideshow_at",
    "theme",
    "transition",
    "width",
)

_PLAIN = re.compile(r"[\w +-]{0,60}|\d{1,4}%")

THEMES = (
    "beige",
    "black",
    "blood",
    "league",
    "moon",
    "night",
    "serif",
    "simple",
    "sky",
    "solarized",
    "white",
)


# --- what is trusted ------------------------------------------------------------------------------------------
def digest(file: Path) -> str:
    """SHA-256 of a notebook's bytes, whatever ends its lines on this system."""
    return hashlib.sha256(file.read_bytes().replace(b"\r\n", b"\n")).hexdigest()


@cache
def _shipped() -> frozenset[str]:
    file = data_path(LIST)
    lines = file.read_text(encoding="utf-8").splitlines() if file.is_file() else ()
    return frozenset(line.split()[0] for line in lines)


def is_ours(file: Path) -> bool:
    """Whether a file is, byte for byte, a notebook that ships with the course."""
    return digest(file) in _shipped()


def write_list(root: Path, file: Path | None = None) -> None:
    """List all notebooks of the course below ``root`` with their digests."""
    found = (path for folder in FOLDERS for path in sorted((root / folder).glob("*.ipynb")))
    notebooks = [path for path in found if not path.name.startswith("route")]  # copies for one lecture
    lines = [f"{digest(path)}  {path.relative_to(root).as_posix()}\n" for path in notebooks]
    write_file(file or root / "data" / LIST, "".join(lines).encode())


@cache
def notary_class() -> type:
    """Jupyter's store of signatures with a signature of ours: Jupyter's runs all texts of a notebook together, so two notebooks can share one."""
    from nbformat.sign import NotebookNotary, signature_removed
    from traitlets import default

    class Notary(NotebookNotary):
        @default("db_file")
        def _db_file_default(self):
            return str(Path(self.data_dir) / "trusted.db")

        def compute_signature(self, nb):
            with signature_removed(nb):
                text = json.dumps(nb, sort_keys=True, separators=(",", ":"))
            return hmac.new(self.secret, text.encode(), self.algorithm).hexdigest()

    return Notary


def sign(file: Path) -> None:
    """Trust a notebook, as *Trust Notebook* does."""
    _notary().sign(_read(file))


def trust_alike(original: Path, made: Path) -> None:
    """Trust a notebook that was made of another one if that one is trusted."""
    if is_ours(original) or _notary().check_signature(_read(original)):
        sign(made)


def _notary():
    return notary_class()(data_dir=str(isolate({}) / "data"))  # where the server's is


def _read(file: Path):
    import nbformat

    return nbformat.read(file, 4)


# --- what a page gets -----------------------------------------------------------------------------------------
def inert(notebook: Mapping) -> dict:
    """A copy of a notebook with what is harmless to show."""
    cells = [_cell(cell) for cell in notebook.get("cells", ())]
    return {
        "metadata": _given(notebook.get("metadata"), NOTEBOOK_METADATA),
        "nbformat": notebook["nbformat"],
        "nbformat_minor": notebook["nbformat_minor"],
        "cells": cells,
    }


def _cell(cell: Mapping) -> dict:
    kind = cell.get("cell_type")
    kept = {"cell_type": kind if kind in ("code", "markdown") else "raw", "source": _text(cell.get("source"))}
    kept["metadata"] = _given(cell.get("metadata"), CELL_METADATA)
    if isinstance(cell.get("id"), str):
        kept["id"] = cell["id"]
    if kept["cell_type"] == "code":
        count = cell.get("execution_count")
        kept["execution_count"] = count if isinstance(count, int) else None
        outputs = cell.get("outputs")
        kept["outputs"] = list(_outputs(outputs if isinstance(outputs, list) else ()))
    elif isinstance(attachments := cell.get("attachments"), Mapping):
        pictures = {name: _kinds(data, PIXELS) for name, data in attachments.items()}
        kept["attachments"] = {name: data for name, data in pictures.items() if data}
    return kept


def _outputs(outputs: list) -> Iterator[dict]:
    for output in outputs:
        kind = output.get("output_type") if isinstance(output, Mapping) else None
        if kind == "stream":
            name = "stderr" if output.get("name") == "stderr" else "stdout"
            yield {"output_type": kind, "name": name, "text": _text(output.get("text"))}
        elif kind == "error":
            traceback = output.get("traceback")
            lines = [_text(line) for line in traceback] if isinstance(traceback, list) else []
            yield {
                "output_type": kind,
                "ename": _text(output.get("ename")),
                "evalue": _text(output.get("evalue")),
                "traceback": lines,
            }
        elif kind in ("display_data", "execute_result"):
            data = _kinds(output.get("data"), INERT_OUTPUTS)
            shown = {"output_type": kind, "metadata": {}, "data": data or {"text/plain": _note(output)}}
            if kind == "execute_result":
                count = output.get("execution_count")
                shown["execution_count"] = count if isinstance(count, int) else None
            yield shown


def _note(output: Mapping) -> str:
    data = output.get("data")
    kinds = ", ".join(map(str, data)) if isinstance(data, Mapping) else "nothing"
    return f"[{kinds[:200]}: not shown, because this notebook is not trusted. Trust it if you know where it comes from, and open it again.]"


def _kinds(data: Any, kinds: tuple[str, ...]) -> dict:
    if not isinstance(data, Mapping):
        return {}
    return {kind: _text(data[kind]) for kind in kinds if isinstance(data.get(kind), str | list)}


def _text(value: Any) -> str:
    if isinstance(value, list):
        return "".join(line for line in value if isinstance(line, str))
    return value if isinstance(value, str) else ""


def _is_plain(value: Any) -> bool:
    """Names, versions and switches; not what could be an address, a path or markup."""
    if isinstance(value, bool | int | float):
        return abs(value) < 1e9  # and neither infinite nor nan
    return isinstance(value, str) and bool(_PLAIN.fullmatch(value))


def _named(value: Any) -> bool:
    return isinstance(value, str) and bool(value.strip()) and _is_plain(value)


def _mapping(value: Any) -> dict | None:
    if not isinstance(value, Mapping):
        return None
    return {key: one for key, one in value.items() if _is_plain(key) and _is_plain(one)}


def _kernel(value: Any) -> dict | None:
    name = value.get("name") if isinstance(value, Mapping) else None
    shown = value.get("display_name") if _named(name) else None
    return {"name": name, "display_name": shown if _named(shown) else name} if _named(name) else None


def _language(value: Any) -> dict | None:
    name = value.get("name") if isinstance(value, Mapping) else None
    return {"name": name} if _named(name) else None


def _layout(value: Any) -> dict | None:
    if not isinstance(value, Mapping):
        return None
    numbers = value.get("numbers")
    plain = {key: one for key, one in value.items() if key in RISE and _is_plain(one)}
    if plain.get("theme") not in THEMES:
        plain.pop("theme", None)
    return plain | (
        {"numbers": numbers} if isinstance(numbers, list) and all(map(_is_plain, numbers)) else {}
    )


def _switch(value: Any) -> bool | None:
    return value if isinstance(value, bool) else None


def _tags(value: Any) -> list | None:
    return list(dict.fromkeys(filter(_named, value))) if isinstance(value, list) else None


def _name(value: Any) -> str | None:
    return value if _named(value) else None


# Which metadata a page gets, and how each is read; what reads as None is left out.
NOTEBOOK_METADATA = {"kernelspec": _kernel, "language_info": _language, "title": _name, "rise": _layout}

CELL_METADATA = {
    "collapsed": _switch,
    "deletable": _switch,
    "editable": _switch,
    "scrolled": _switch,
    "jupyter": _mapping,
}
CELL_METADATA |= {"name": _name, "nbgrader": _mapping, "slideshow": _mapping, "tags": _tags}


def _given(metadata: Any, readers: Mapping) -> dict:
    found = (
        {key: read(metadata[key]) for key, read in readers.items() if key in metadata}
        if isinstance(metadata, Mapping)
        else {}
    )
    return {key: value for key, value in found.items() if value is not None}


def put_back(saved: Any, original: Mapping, places: Mapping[int, int]) -> None:
    """Put back, in place, what the page of an untrusted notebook did not get; what the reader has changed stays changed.

    Parameters
    ----------
    saved, original : notebooks
    places : mapping of int to int
        Which cell of the original a saved cell was.
    """
    shown = inert(original)
    _restore(saved["metadata"], original["metadata"], shown["metadata"])
    for key in original.keys() - shown.keys() - saved.keys():
        saved[key] = copy.deepcopy(original[key])
    for number, place in places.items():
        cell, before, given = saved["cells"][number], original["cells"][place], shown["cells"][place]
        trusted = cell["metadata"].pop("trusted", False)
        if isinstance(before.get("metadata"), Mapping):
            _restore(cell["metadata"], before["metadata"], given["metadata"])
        if "outputs" in given and "outputs" in cell:
            # A cell that was run anew has its own outputs, and is marked; one that was cleared has none.
            untouched = not trusted and (cell["outputs"] or not given["outputs"])
            if cell["outputs"] == given["outputs"] or untouched:
                cell["outputs"] = copy.deepcopy(before.get("outputs", []))
        if cell["source"] == given["source"]:
            cell["source"] = copy.deepcopy(before.get("source", ""))
        for key in before.keys() - given.keys() - cell.keys():
            cell[key] = copy.deepcopy(before[key])
        if "attachments" in before and cell.get("attachments", {}) == given.get("attachments", {}):
            cell["attachments"] = copy.deepcopy(before["attachments"])
        if cell["cell_type"] == given["cell_type"]:
            cell["cell_type"] = before.get("cell_type", given["cell_type"])
        if trusted:
            cell["metadata"]["trusted"] = True


def _restore(saved: Any, original: Mapping, shown: Mapping) -> None:
    for key, value in original.items():
        if saved.get(key) == shown.get(key):
            saved[key] = copy.deepcopy(value)
