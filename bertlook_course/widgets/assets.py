"""The browser half of the course's views: plain files in ``js``, joined with those that all views share."""

from __future__ import annotations

import json
from pathlib import Path

from bertlook_teach.views import FOLDER as SHARED
from bertlook_teach.views import asset as asset_in
from bertlook_teach.views import module_source as joined

from ..syllabus import CAPTIONS

FOLDER = Path(__file__).parent / "js"

_INSIDE = {
    "masked_word": ("ablation_bench",),
    "training_film": ("head_map",),
    "recorded_view": ("head_map", "head_view"),
}  # views that hold others

# Behind the shared half, with which the modules of all views begin.
_WORDS = f"Object.assign(CAPTIONS, {json.dumps(CAPTIONS, ensure_ascii=False)});"


def module_source(view: str) -> str:
    """The ES module of a view, of the course or of the helper, which is the same as the helper makes it; see `bertlook_teach.views`."""
    own = (FOLDER / f"{view}.js").is_file()
    return joined(view, (FOLDER, SHARED), _INSIDE.get(view, ()), _WORDS if own else "")


def view_names() -> list[str]:
    """The views that have a browser half, the helper's and the course's."""
    return sorted(
        path.stem
        for path in {*FOLDER.glob("*.js"), *SHARED.glob("*.js")}
        if path.stem not in ("core", "save")
    )


def asset(name: str) -> str:
    """One file of the browser half as it is, by its name."""
    return asset_in(name, (FOLDER, SHARED))


def view_style(view: str) -> str:
    """What one view adds to the style sheet."""
    return asset(f"{view}.css")
