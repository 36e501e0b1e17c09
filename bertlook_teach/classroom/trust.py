"""Which notebooks the server trusts, and what it hands to the page of one that it does not trust.

A notebook is trusted if the course wrote it (its bytes are listed in ``data/notebooks.sha256``), or if the reader said so: in
Jupyter by *Trust Notebook*, or by running all its cells and saving it. Jupyter's own store of signatures remembers the second kind.

Of any other notebook a page gets what is inert: sources, plain text, pictures made of pixels, markup that every host cleans, and the few
settings that lay out slides. All else is *held back*: outputs of every other kind, saved widgets, unknown metadata. A renderer or an
extension that is installed tomorrow therefore never sees a stranger's data. What is held back travels along under the key
`HELD`, which nothing reads, and is put back when the notebook is saved, so that no file loses anything.
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Iterable, Mapping
from functools import cache
from pathlib import Path
from typing import Any

from ..disk import data_path, write_file
from .jupyter_home import isolate

HELD = "bertlook"  # the key that what is held back stands under; its presence tells a page that the notebook is not trusted

LIST = "notebooks.sha256"  # of the notebooks that ship, as sha256sum writes it

FOLDERS = ("notebooks/exercises", "notebooks/solutions", "slides")

# Kinds of output that no host asks anybody for, or runs: text, pixels, and markup that each of them cleans.
INERT_OUTPUTS = frozenset(
    ["text/plain", "text/html", "text/markdown", "text/latex", "image/png", "image/jpeg", "image/gif"]
)

NOTEBOOK_METADATA = frozenset(["kernelspec", "language_info", "title", "rise"])

CELL_METADATA = frozenset(
    ["collapsed", "deletable", "editable", "jupyter", "name", "nbgrader", "scrolled", "slideshow", "tags"]
)

# How a deck is laid out. Not here: what runs cells, names files or addresses, or holds markup.
RISE = frozenset(
    [
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
    ]
)

_PLAIN = re.compile(r"[\w %+-]{0,60}")


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


def sign(file: Path) -> None:
    """Trust a notebook, as *Trust Notebook* does."""
    _notary().sign(_read(file))


def trust_alike(original: Path, copy: Path) -> None:
    """Trust a notebook that was made of another one if that one is trusted."""
    if is_ours(original) or _notary().check_signature(_read(original)):
        sign(copy)


def _notary():
    from nbformat.sign import NotebookNotary

    return NotebookNotary(data_dir=str(isolate({}) / "data"))  # where the server's is


def _read(file: Path):
    import nbformat

    return nbformat.read(file, 4)


# --- what a page gets -----------------------------------------------------------------------------------------
def hold_back(notebook: Any) -> None:
    """Leave in a notebook, in place, what is inert; the rest goes under `HELD`. `bring_back` undoes it."""
    metadata = notebook.metadata
    held = {key: metadata.pop(key) for key in set(metadata) - NOTEBOOK_METADATA}
    for key in sorted(NOTEBOOK_METADATA & set(metadata)):
        value = _layout(metadata[key]) if key == "rise" else _plain(metadata[key])
        if value != metadata[key]:
            held[key] = metadata[key]
            metadata[key] = value
    metadata[HELD] = held
    for cell in notebook.cells:
        _split(cell.metadata, CELL_METADATA)
        for output in cell.get("outputs", ()):
            if "data" in output:
                _hold_output(output)


def bring_back(notebook: Any) -> bool:
    """Put back, in place, what `hold_back` took; whether there was anything to put back."""
    found = _join(notebook.metadata)
    for cell in notebook.cells:
        found |= _join(cell.metadata)
        for output in cell.get("outputs", ()):
            held = output.get("metadata", {}).pop(HELD, None)
            if held is not None:
                found = True
                if held["noted"]:
                    output.data.pop("text/plain", None)
                output.data.update(held["data"])
                output.metadata.update(held["metadata"])
    return found


def _split(metadata: dict, kept: Iterable[str]) -> None:
    held = {key: metadata.pop(key) for key in set(metadata) - set(kept)}
    if held:
        metadata[HELD] = held


def _join(metadata: dict) -> bool:
    held = metadata.pop(HELD, None) or {}
    metadata.update(held)
    return bool(held)


def _plain(value: Any) -> Any:
    """Names and versions as they are; what could be an address, a path or markup is left out."""
    if isinstance(value, Mapping):
        return {key: _plain(one) for key, one in value.items() if _is_plain(one)}
    return value if _is_plain(value) else ""


def _is_plain(value: Any) -> bool:
    return (
        value is None
        or isinstance(value, bool | int | float)
        or (isinstance(value, str) and bool(_PLAIN.fullmatch(value)))
    )


def _layout(rise: Any) -> dict:
    if not isinstance(rise, Mapping):
        return {}
    numbers = {
        key: one
        for key, one in rise.items()
        if key == "numbers" and isinstance(one, list) and all(map(_is_plain, one))
    }
    return {key: one for key, one in rise.items() if key in RISE and _is_plain(one)} | numbers


def _hold_output(output: Any) -> None:
    data = output.data
    held = {kind: data.pop(kind) for kind in set(data) - INERT_OUTPUTS}
    metadata = dict(output.get("metadata", {}))
    if not held and not metadata:
        return
    noted = bool(held) and not data
    if noted:
        data["text/plain"] = (
            f"[{', '.join(sorted(held))}: not shown, because this notebook is not trusted. "
            "Trust it if you know where it comes from, and open it again.]"
        )
    output.metadata.clear()
    output.metadata[HELD] = {"data": held, "metadata": metadata, "noted": noted}


def contents_manager() -> type:
    """How the server reads and saves notebooks."""
    from jupyter_server.services.contents.largefilemanager import AsyncLargeFileManager

    class Contents(AsyncLargeFileManager):
        def mark_trusted_cells(self, nb, path=""):
            trusted = is_ours(Path(self._get_os_path(path))) or self.notary.check_signature(nb)
            if not trusted:
                hold_back(nb)
            self.notary.mark_cells(nb, trusted)

        def check_and_sign(self, nb, path="", **options):
            cells = [cell for cell in nb.cells if cell.cell_type == "code"]
            said = bool(cells) and all(cell.metadata.get("trusted") for cell in cells)
            # For Jupyter a notebook without outputs is trusted whatever its metadata hold. What was held back needs the reader's word.
            if bring_back(nb) and not said:
                self.notary.check_cells(nb)  # takes the marks away, as signing does
            else:
                super().check_and_sign(nb, path, **options)

        async def trust_notebook(self, path):
            nb = (await self.get(path))["content"]
            bring_back(nb)
            self.notary.check_cells(nb)
            self.notary.sign(nb)

    return Contents
