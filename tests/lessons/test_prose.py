"""No number on a slide is typed by hand: a cell of the deck says it, or the page of results that the slide names, or a table of published
values where the slide names a source."""

from __future__ import annotations

import html
import re
from pathlib import Path

import nbformat
import pytest

ROOT = Path(__file__).resolve().parents[2]
DECKS = sorted((ROOT / "slides").glob("*.ipynb"))
RESULTS = ROOT / "docs" / "results.md"
PUBLISHED = ROOT / "data" / "published"

NUMBER = re.compile(r"(?<![\w.\-/])(?:\d[\d,]*(?:\.\d+)?|\.\d+)(?![\w/])")
SMALL = 12  # lower whole numbers count and name things: three heads, layer 4
# What is no statement of a measured number: code, formulas, addresses, tags, names of heads, years, keys of papers, numbered parts,
# the bounds that a question offers to choose from, minutes of a route, a step from one number to another.
NOT_SAID = re.compile(
    r"`[^`]*`|\$[^$]*\$|\]\([^)]*\)|<[^>]*>|\b\d+-\d+\b|\b(?:19|20)\d\d\b|\[[a-z]+\d{4}[^\]]*\]"
    r"|(?i:\b(?:lesson|table|figure|section|slide|layers?|step|exercise|p\.)\s+\d+(?:\.\d+)*)"
    r"|[\"“][^\"”\n]{8,}[\"”]"  # a sentence that is put on trial
    r"|\*\*[A-F]\*\*[^·\n*]*|\d+(?:, \d+)*(?: and \d+)? minutes"
)


def numbers(text: str) -> list[str]:
    return NUMBER.findall(text)


def value(number: str) -> float:
    """As a number: .50 and 0.5 are one, 1,920 and 1920 too."""
    return round(float(number.replace(",", "")), 9)


def said_by_cells(deck) -> set[float]:
    """Every number in code and in the text of outputs; of pictures and tables what can be read, not where it stands."""
    parts = []
    for cell in deck.cells:
        if cell.cell_type == "code":
            parts.append(cell.source)
            for output in cell.outputs:
                parts.append(output.get("text", ""))
                parts += [
                    str(data) for kind, data in output.get("data", {}).items() if kind.startswith("text/")
                ]
    text = re.sub(r"(?s)<(script|style)\b.*?</\1>|<[^>]*>", " ", "\n".join(parts))
    return set(map(value, numbers(html.unescape(text))))


def typed(deck) -> list[str]:
    """The numbers that a slide's prose says and no cell."""
    made, results = said_by_cells(deck), set(map(value, numbers(RESULTS.read_text(encoding="utf-8"))))
    tables = (path.read_text(encoding="utf-8") for path in sorted(PUBLISHED.rglob("*.csv")))
    published = {value(number) for table in tables for number in numbers(table)}
    found = []
    for cell in deck.cells:
        kind = cell.metadata.get("slideshow", {}).get("slide_type")
        if cell.cell_type != "markdown" or kind in ("notes", "skip"):
            continue
        known = made | (results if RESULTS.name in cell.source else set())
        known |= published if "et al." in cell.source or "BERT-base" in cell.source else set()
        for number in numbers(NOT_SAID.sub(" ", cell.source)):
            small = re.fullmatch(r"\d+", number) and int(number) <= SMALL
            if not small and not _stands_in(value(number), known):
                found.append(number)
    return found


def _stands_in(number: float, known: set[float]) -> bool:
    """Also as a share: 43 % is .43, and 43.1 % is .431."""
    return number in known or round(number / 100, 9) in known


@pytest.mark.parametrize("path", DECKS, ids=lambda path: path.stem)
def test_every_number_on_a_slide_comes_from_somewhere(path):
    assert typed(nbformat.read(path, as_version=4)) == []


@pytest.mark.parametrize(
    "sentence", ["Right in 47.317 % of cases.", "A gain of .8731", "n = 7,331", "In 4,711 of 9,999 texts"]
)
def test_a_number_typed_by_hand_is_found(sentence):
    deck = nbformat.read(DECKS[3], as_version=4)
    cell = next(
        cell for cell in deck.cells if cell.metadata.get("slideshow", {}).get("slide_type") == "slide"
    )
    cell.source += "\n\n" + sentence
    assert typed(deck) != []


@pytest.mark.parametrize(
    "sentence",
    [
        "Head 3-14 of layer 12 (Clark et al. 2019, section 4.2)",
        "`x[13]` and $d = 64$",
        "**A** under 17 · **B** 18 to 99",
    ],
)
def test_what_is_no_measured_number_is_left_alone(sentence):
    deck = nbformat.v4.new_notebook(cells=[nbformat.v4.new_markdown_cell(sentence)])
    assert typed(deck) == []
