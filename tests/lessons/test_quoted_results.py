"""What a slide quotes of docs/results.md, because nothing is computed there, stands on that page."""

import json
import re
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
RESULTS = (ROOT / "docs" / "results.md").read_text(encoding="utf-8")

# deck, cell, heading of the section, and for each quoted number the beginning of its row and the number as printed there
QUOTED = [
    ("10", "l10-larger", "### Word classes", [("3.19", "| model |", "3.19")]),
    (
        "10",
        "l10-larger",
        "### Word classes",
        [("4.03", "| seed 1 |", "4.03"), ("4.74", "| seed 2 |", "4.74")],
    ),
    ("10", "l10-larger", "### Relation of an arc", [("5.51", "| model |", "5.51")]),
    ("10", "l10-larger", "### Coreference", [("0.57", "| model |", "0.57")]),
    (
        "12",
        "c12-larger",
        "### Inspec",
        [("0.82", "| best head, column mean: 1-5 |", "81.6"), ("0.79", "| tf-idf |", "78.7")],
    ),
    (
        "12",
        "c12-larger",
        "### 500N-KPCrowd",
        [("0.83", "| best head, column mean: 1-5 |", "83.3"), ("0.82", "| tf-idf |", "82.2")],
    ),
    ("14", "c14-longer", "### Do heads look from a scope", [("6.4", "| control |", "+6.4")]),
]


def cell_of(deck: str, cell: str) -> str:
    """The source of one cell."""
    [path] = (ROOT / "slides").glob(f"{deck}_*.ipynb")
    cells = json.loads(path.read_text(encoding="utf-8"))["cells"]
    return next("".join(one["source"]) for one in cells if one["id"] == cell)


def row_of(heading: str, start: str) -> str:
    """The first row that begins so, in the section with this heading."""
    section = RESULTS[RESULTS.index(f"\n{heading}") :]
    return next(line for line in section.splitlines() if line.startswith(start))


@pytest.mark.parametrize("deck, cell, heading, numbers", QUOTED)
def test_a_quoted_number_stands_on_the_page_of_results(deck, cell, heading, numbers):
    said = cell_of(deck, cell)
    for quoted, start, printed in numbers:
        assert re.search(rf"(?<![\d.]){re.escape(quoted)}(?![\d.]*\d)", said), quoted
        assert printed in row_of(heading, start)
        value = float(printed) / (100 if float(printed) > 10 else 1)
        places = len(quoted.partition(".")[2])
        assert abs(float(quoted) - value) <= 0.5 * 10**-places + 1e-9


def test_these_cells_quote_nothing_else():
    for deck, cell in {(deck, cell) for deck, cell, *_ in QUOTED}:
        known = {quoted for d, c, _, numbers in QUOTED if (d, c) == (deck, cell) for quoted, *_ in numbers}
        assert set(re.findall(r"\d+\.\d+", cell_of(deck, cell))) <= known, (deck, cell)
