"""Slides are pictures where they can be: how many of each deck, counted from what its cells show."""

from __future__ import annotations

import re
from base64 import b64decode
from pathlib import Path

import nbformat
import pytest
from nbformat.v4 import new_code_cell, new_output
from test_story import SLIDES, slides_of

DECKS = sorted(SLIDES.glob("*.ipynb"))
LIVE = re.compile(r"\bwidgets\.|\bHead(?:Explorer|View|Map)\(|bertviz_")
FEWEST_PICTURES, MOST_TABLES = 0.7, 0.1  # of the slides of a deck
FEWEST_ON_THE_MAP = 0.6  # the map of the course says more in words


def kind(slide) -> str:
    """``picture`` (drawn, live, or a table whose cells are shaded by their numbers), ``table`` (and no picture), ``words``."""
    shown = " ".join(
        str(out.get("data", {}).get("text/html", "")) for cell in slide for out in cell.get("outputs", [])
    )
    live = any(cell.cell_type == "code" and LIVE.search(cell.source) for cell in slide)
    shades = set(re.findall(r"background(?:-color)?:\s*(#[0-9a-f]{6})", shown))
    if live or "<svg" in shown or "<img" in shown or ("bertlook-numbers" in shown and len(shades) > 3):
        return "picture"
    return "table" if "<table" in shown else "words"


@pytest.mark.parametrize("path", DECKS, ids=lambda path: path.stem[:5])
def test_slides_are_pictures_where_they_can_be(path: Path):
    kinds = [kind(slide) for slide in slides_of(nbformat.read(str(path), as_version=4))]
    pictures, tables = (kinds.count(one) / len(kinds) for one in ("picture", "table"))
    fewest = FEWEST_ON_THE_MAP if path.stem.startswith("00") else FEWEST_PICTURES
    assert pictures >= fewest and tables <= MOST_TABLES, f"{pictures:.2f} pictures, {tables:.2f} tables"


@pytest.mark.parametrize("path", DECKS, ids=lambda path: path.stem[:2])
def test_the_title_slide_has_its_picture(path: Path):
    assert kind(slides_of(nbformat.read(str(path), as_version=4))[0]) == "picture"


@pytest.mark.parametrize(
    ("html", "source", "expected"),
    [
        ("<table><td>1</td></table>", "table", "table"),
        ("<figure><img></figure><table></table>", "picture", "picture"),
        ("", "widgets.HeadMap(x)", "picture"),
        ("<p>so</p>", "Markdown(x)", "words"),
        ('<table class="bertlook-numbers"><td style="background:#ffffff"></td></table>', "table", "table"),
    ],
)
def test_a_slide_is_what_it_shows(html, source, expected):
    output = new_output("display_data", {"text/html": html})
    assert kind([new_code_cell(source, outputs=[output])]) == expected


# --- type ------------------------------------------------------------------------------------------------------

PROJECTOR, SMALLEST = (
    940,
    23.5,
)  # pixels: a picture as wide as its slide at 1024 x 768; type, less what a browser rounds away


def small_type(svg: str) -> set[float]:
    """The sizes of type in a drawing that would be too small on a projector."""
    root, wide = svg.partition(">")[0], float(re.search(r'viewBox="0 0 ([\d.]+)', svg)[1])
    own = re.search(r'font-size="([\d.]+)"', root)
    sizes = [float(own[1])] if own and "<text" in svg else []
    for text in re.findall(r"<text[^>]*>", svg):
        sizes += [
            float(size) for size in re.findall(r'font(?:-size)?[=:]["\s]*[^;"]*?([\d.]+)(?:px)?[;"]', text)
        ]
    return {round(size * PROJECTOR / wide, 1) for size in sizes if size * PROJECTOR / wide < SMALLEST}


@pytest.mark.parametrize("path", DECKS, ids=lambda path: path.stem[:5])
def test_type_in_pictures_can_be_read_on_a_projector(path: Path):
    found = {}
    for cell in nbformat.read(str(path), as_version=4).cells:
        for out in cell.get("outputs", []):
            shown = str(out.get("data", {}).get("text/html", ""))
            for image in re.findall(r'<img style="width:100%[^>]*base64,([^"]+)"', shown):
                if small := small_type(b64decode(image).decode()):
                    found[cell.source[:60]] = small
    assert found == {}


@pytest.mark.parametrize(
    ("size", "own", "expected"), [(30, "", set()), (26, "", {20.7}), (30, ' font-size="20"', {15.9})]
)
def test_small_type_is_found(size, own, expected):
    assert small_type(f'<svg viewBox="0 0 1180 9" font-size="{size}"><text{own}>a</text></svg>') == expected


def test_what_opens_a_slide_names_one():
    doors = 0
    for path in DECKS:
        notebook = nbformat.read(str(path), as_version=4)
        titles = re.findall(r"^## (.+)$", "\n".join(cell.source for cell in notebook.cells), re.MULTILINE)
        named = set(re.findall(r'data-opens=\\?"([^"\\]+)', path.read_text(encoding="utf-8")))
        doors += len(named)
        assert all(any(title.startswith(door) for title in titles) for door in named), (path.name, named)
    assert doors >= 5
