"""The browser half of the views, joined from plain files: the same text on every machine."""

from __future__ import annotations

import html
import json
from functools import cache
from pathlib import Path

from .drawing.captions import CAPTIONS
from .drawing.palette import for_views
from .drawing.pictures import Picture

FOLDER = Path(__file__).parent / "js"


@cache
def module_source(
    view: str, folders: tuple[Path, ...] = (FOLDER,), inside: tuple[str, ...] = (), more: str = ""
) -> str:
    """One self-contained ES module: the palette, the captions, the shared drawing code, ``more``, the views that this one holds, and the view.

    anywidget hands a module to the browser as text, where an import of a neighbour file has no address to start
    from; so the files are joined here instead.
    """
    parts = [
        f"const PALETTE = {json.dumps(for_views(), sort_keys=True)};",
        f"const CAPTIONS = {json.dumps(CAPTIONS, ensure_ascii=False)};",
        asset("core.js"),
        asset("save.js"),
        *([more] if more else []),
        *(asset(f"{name}.js", folders).partition("\nexport default")[0] for name in inside),
        asset(f"{view}.js", folders),
    ]
    return "\n".join(parts)


@cache
def asset(name: str, folders: tuple[Path, ...] = (FOLDER,)) -> str:
    """One file of the browser half as it is, from the first of the folders that has it."""
    file = next((folder / name for folder in folders if (folder / name).is_file()), folders[0] / name)
    return file.read_text(encoding="utf-8")


def style_source() -> str:
    """The style sheet of all views."""
    return asset("views.css")


STILL_UP_TO = 500_000  # characters of a picture that is saved beside a view: some 150 tokens, whose lines grow with their square


def static_page(*pictures: Picture) -> str:
    """What a page without a live view shows: each picture as an image with its sentence beneath; of a long text the sentence."""
    figures = []
    for picture in pictures:
        drawn = picture.image()
        if len(drawn) > STILL_UP_TO:
            drawn = f"<p>A picture of {len(drawn) / 1e6:.1f} MB is not saved; the view itself shows it where it is live.</p>"
        figures.append(f"<figure>{drawn}<figcaption>{html.escape(picture.beneath)}</figcaption></figure>")
    return f'<div class="bertlook-static">{"".join(figures)}</div>'


def mime_bundle(widget, pictures) -> dict[str, object]:
    """A live view where one can run, its last state as a picture elsewhere, and a name without an address."""
    return page_bundle(widget, static_page(*pictures))


def page_bundle(widget, page: str) -> dict[str, object]:
    """The same with any page in place of the pictures."""
    view = {"version_major": 2, "version_minor": 0, "model_id": widget.model_id}
    return {"text/plain": repr(widget), "text/html": page, "application/vnd.jupyter.widget-view+json": view}
