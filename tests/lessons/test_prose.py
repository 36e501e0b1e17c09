"""No number on a slide or in its notes is typed by hand: a cell of the deck says it, or the page of results that the slide names, or a table of
published values where the slide names a source."""

from __future__ import annotations

import csv
import html
import math
import re
from pathlib import Path

import nbformat
import numpy as np
import pytest

from bertlook_course.claims.lessons.lesson03 import CLARK_LENGTH
from bertlook_course.published import published_heads, published_map, published_number
from bertlook_teach import measures

ROOT = Path(__file__).resolve().parents[2]
DECKS = sorted((ROOT / "slides").glob("*.ipynb"))
ROOM = ROOT / "bertlook_course" / "decks"
RESULTS = ROOT / "docs" / "results.md"
PUBLISHED = ROOT / "data" / "published"

NUMBER = re.compile(r"(?<![\w.\-/])(?:\d[\d,]*(?:\.\d+)?|\.\d+)(?![\w/])")
SOURCE = re.compile(r"et al\.|BERT-base|BERT-large|paper|published|authors|Vig|Clark|Kovaleva|Michel|Hewitt")
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
    """Every number in code, also in that of the room `decks` which the deck imports, and in the text of outputs; of pictures and tables
    what can be read, not where it stands."""
    code = "\n".join(cell.source for cell in deck.cells if cell.cell_type == "code")
    names = ", ".join(re.findall(r"(?m)^from bertlook_course\.decks import (.+)$", code)).split(", ")
    parts = [
        (ROOM / f"{name}.py").read_text(encoding="utf-8") for name in names if (ROOM / f"{name}.py").is_file()
    ]
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


# What notes derive from published values or from arithmetic, (deck, number): computed here, so that it cannot be wrong.
RTE_GAIN = published_number("kovaleva_layer_disabling_and_summary", "RTE gain from disabling layer 1")
# Parameters of BERT-base: embeddings and their layer norm, 12 layers (attention, feed-forward, two layer norms), pooler.
BERT_BASE = (30522 + 512 + 2 + 2) * 768 + 12 * (4 * 769 * 768 + 769 * 3072 + 3073 * 768 + 4 * 768) + 769 * 768
DERIVED = {
    ("01", "768"): 12 * 64,  # BERT-base's heads times their size
    ("02", "4.58"): published_heads("entropy_clark")[0, 0],
    ("03", "4.61"): np.log(100),
    ("03", "0.0001"): measures.CLARK_ENTROPY_SMOOTHING,
    ("09", ".0001"): measures.CLARK_ENTROPY_SMOOTHING,
    ("09", ".999"): 1 - measures.SMOOTHING,
    ("09", ".001"): measures.SMOOTHING,
    ("09", "122"): CLARK_LENGTH,
    ("09", "3.8"): measures.THRESHOLDS["entropy_normalized"][1] * np.log(CLARK_LENGTH),
    ("09", ".507"): published_heads("punct").ravel()[published_map().labels.ravel() == "punct"].min(),
    ("09", "10,296"): 144 * 143 / 2,
    ("09", "2,556"): 72 * 71 / 2,
    ("09", ".602"): published_heads("sep")[6, 1],
    ("11", "1.3"): 100 * np.sqrt(0.05 / 277),  # standard errors of a paired difference, in points
    ("11", "1.9"): 100 * np.sqrt(0.1 / 277),
    ("11", "2.7"): 100 * np.sqrt(0.2 / 277),
    ("11", "2.4"): RTE_GAIN / (100 * np.sqrt(0.05 / 277)),
    ("11", "1.7"): RTE_GAIN / (100 * np.sqrt(0.1 / 277)),
    ("11", "1.2"): RTE_GAIN / (100 * np.sqrt(0.2 / 277)),
    ("11", "25.9"): 100 * 12 * 4 * (768 + 1) * 768 / BERT_BASE,
    ("13", "72"): math.factorial(2) * math.factorial(3) * math.factorial(3),
    ("13", "720"): math.factorial(6),
}


def published_numbers() -> set[float]:
    found = set()
    for path in sorted(PUBLISHED.rglob("*.csv")):
        with path.open(encoding="utf-8", newline="") as rows:
            found |= {value(number) for row in csv.reader(rows) for cell in row for number in numbers(cell)}
    return found


def slides(deck) -> list[list]:
    """The text cells of each slide, notes included."""
    found: list[list] = [[]]
    for cell in deck.cells:
        kind = cell.metadata.get("slideshow", {}).get("slide_type")
        if kind in ("slide", "subslide"):
            found.append([])
        if cell.cell_type == "markdown" and kind != "skip":
            found[-1].append(cell)
    return found


def typed(deck, number_of_deck: str = "") -> list[str]:
    """The numbers that a slide's prose or its notes say and no cell."""
    made = said_by_cells(deck)
    results = set(map(value, numbers(RESULTS.read_text(encoding="utf-8"))))
    published = published_numbers()
    derived = {number for of, number in DERIVED if of == number_of_deck}
    found = []
    for slide in slides(deck):
        whole = "\n".join(cell.source for cell in slide)
        known = made | (results if RESULTS.name in whole else set())
        known |= published if SOURCE.search(whole) else set()
        for cell in slide:
            for number in numbers(NOT_SAID.sub(" ", cell.source)):
                small = re.fullmatch(r"\d+", number) and int(number) <= SMALL
                if not small and number not in derived and not _stands_in(value(number), known):
                    found.append(number)
    return found


def _stands_in(number: float, known: set[float]) -> bool:
    """Also as a share: 43 % is .43, and 43.1 % is .431."""
    return number in known or round(number / 100, 9) in known


@pytest.mark.parametrize("path", DECKS, ids=lambda path: path.stem)
def test_every_number_on_a_slide_and_in_its_notes_comes_from_somewhere(path):
    assert typed(nbformat.read(path, as_version=4), path.stem[:2]) == []


@pytest.mark.parametrize(("deck", "number"), sorted(DERIVED))
def test_a_derived_number_is_what_it_is_derived_from_and_is_said(deck, number):
    places = len(number.partition(".")[2])
    assert value(number) == pytest.approx(float(DERIVED[deck, number]), abs=0.5 * 10**-places + 1e-9)
    (path,) = (path for path in DECKS if path.stem[:2] == deck)
    said = "\n".join(
        cell.source for cell in nbformat.read(path, as_version=4).cells if cell.cell_type == "markdown"
    )
    assert re.search(rf"(?<![\w.]){re.escape(number)}(?!\w)", said)


@pytest.mark.parametrize(
    "sentence", ["Right in 47.317 % of cases.", "A gain of .8731", "n = 7,331", "In 4,711 of 9,999 texts"]
)
@pytest.mark.parametrize("place", ["slide", "notes"])
def test_a_number_typed_by_hand_is_found(place, sentence):
    deck = nbformat.read(DECKS[3], as_version=4)
    cell = next(cell for cell in deck.cells if cell.metadata.get("slideshow", {}).get("slide_type") == place)
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
