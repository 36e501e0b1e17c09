"""The browser half of the views, joined from plain files: the same text on every machine."""

from __future__ import annotations

import html
import json
from functools import cache
from pathlib import Path

from ..render import Picture, for_views

FOLDER = Path(__file__).parent / "js"

_INSIDE = {
    "masked_word": ("ablation_bench",),
    "training_film": ("head_map",),
    "recorded_view": ("head_map", "head_view"),
}  # views that hold others


@cache
def module_source(view: str) -> str:
    """One self-contained ES module: the palette, the shared drawing code, and one view.

    anywidget hands a module to the browser as text, where an import of a neighbour file has no address to start
    from; so the files are joined here instead.
    """
    parts = [
        f"const PALETTE = {json.dumps(for_views(), sort_keys=True)};",
        asset("core.js"),
        *(asset(f"{name}.js").partition("\nexport default")[0] for name in _INSIDE.get(view, ())),
        asset(f"{view}.js"),
    ]
    return "\n".join(parts)


def view_names() -> list[str]:
    """The views that have a browser half."""
    return sorted(path.stem for path in FOLDER.glob("*.js") if path.stem != "core")


@cache
def asset(name: str) -> str:
    """One file of the browser half as it is, by its name."""
    return (FOLDER / name).read_text(encoding="utf-8")


def style_source() -> str:
    """The style sheet of all views."""
    return asset("views.css")


def view_style(view: str) -> str:
    """What one view adds to the style sheet."""
    return asset(f"{view}.css")


def static_page(*pictures: Picture) -> str:
    """What a page without a live view shows: each picture as an image with its sentence beneath."""
    figures = [
        f"<figure>{picture.image()}<figcaption>{html.escape(picture.beneath)}</figcaption></figure>"
        for picture in pictures
    ]
    return f'<div class="bertlook-static">{"".join(figures)}</div>'


def mime_bundle(widget, pictures) -> dict[str, object]:
    """A live view where one can run, its last state as a picture elsewhere, and a name without an address."""
    return page_bundle(widget, static_page(*pictures))


def page_bundle(widget, page: str) -> dict[str, object]:
    """The same with any page in place of the pictures."""
    view = {"version_major": 2, "version_minor": 0, "model_id": widget.model_id}
    return {"text/plain": repr(widget), "text/html": page, "application/vnd.jupyter.widget-view+json": view}
