"""What a slide quotes of docs/results.md, because nothing is computed there, is read from that page; no slide names a head or a number of
the specimen by hand, so that other weights make no sentence false."""

import ast
import json
import re
import sys
from pathlib import Path

import nbformat
import pytest

from bertlook_course.published import measured
from bertlook_teach.model import load_encoder

ROOT = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "tools"))

import quoted_results

RESULTS = (ROOT / "docs" / "results.md").read_text(encoding="utf-8")
NOTEBOOKS = [
    *sorted((ROOT / "slides").glob("*.ipynb")),
    *sorted((ROOT / "notebooks/solutions").glob("*.ipynb")),
]
ROOM = sorted((ROOT / "bertlook_course" / "decks").rglob("[a-z]*.py"))  # what decks show through a function
KEPT = json.loads((ROOT / quoted_results.KEPT).read_text(encoding="utf-8"))

# The fine-tuned BERT-base of the recordings: it stands on the page, and no training of ours changes it.
OF_BERT_BASE = {  # (lesson, cell or function)
    ("05", "fraction_picture"): {"31.3", "60.4"},
    ("12", "c12-77-57dbc7"): {".36", ".37"},  # of the lecture slides
    ("09", "bert-base-groups"): {".243", ".334", ".141", ".530", ".001"},
}
# Of BERT-base, but for the example of how names count.
HEADS = {
    "02": {"3-1", "1-1"}, "03": {"2-2", "3-1"}, "06": {"5-4"}, "07": {"5-4"}, "09": {"3-1"}, "12": {"3-1"},
}  # fmt: skip
EXAMPLE = "`2-1` is the first head of the second layer"
HEAD = re.compile(r"(?<![\w.\-/,\[(])[1-6]-[1-6]\b(?![\w\-])")
FIGURE = re.compile(r"(?<![\w.])(?:\d*\.\d+|\d+(?:\.\d+)? %)")
THRESHOLD = re.compile(
    r"`[^`]*`|(?:more|less) than \**\.\d+"
)  # what is asked, or typed, and not what came out


def cells(path):
    return nbformat.read(path, as_version=4).cells


def key(path) -> str:
    return path.name[:2]


def heads_by_hand(text: str) -> set[str]:
    """Names of heads as the specimen has them: six layers of six."""
    return set(HEAD.findall(text.replace(EXAMPLE, "")))


def figures_of_the_specimen(text: str) -> list[str]:
    """Sentences that give the specimen a number."""
    sentences = re.split(r"(?<=[.:;?!])\s", THRESHOLD.sub("", text))
    return [s for s in sentences if "specimen" in s.lower() and FIGURE.search(s)]


def typed_numbers(source: str, known: set[str]) -> set[str]:
    """Numbers of two places, or above 1, that stand in code; p of five seeds cannot be below .06."""
    typed = re.findall(r"(?<![\w.\d,])(?:\d+)?\.\d+\b", re.sub(r"\{[^{}]*\}|size=\([^)]*\)", "", source))
    return {n for n in typed if len(n.partition(".")[2]) > 1 or n in known or float(n) > 1} - {".06"}


def test_the_file_is_what_the_page_says():
    assert quoted_results.quoted() == (ROOT / quoted_results.KEPT).read_text(encoding="utf-8")


def test_the_file_names_the_weights_that_ship():
    assert KEPT["specimen"] == load_encoder("specimen", device="cpu").fingerprint


@pytest.mark.parametrize("name", quoted_results.QUOTED)
def test_every_table_that_is_kept_is_quoted_and_says_whose_it_is(name):
    read = "".join(cell.source for path in NOTEBOOKS for cell in cells(path) if cell.cell_type == "code")
    read += "".join(path.read_text(encoding="utf-8") for path in ROOM)
    first = name.partition(": ")[0]
    asked = (f'"{name}"', f'measured(f"{first}: {{', f'measured_of(self.encoder, f"{first}: {{')
    assert any(words in read for words in asked), "nobody reads it"
    table = measured(name)
    assert table.rows and len(table.columns) > 1
    assert table.current == (table.weights == KEPT["specimen"])
    assert table.whose == ("the specimen" if table.current else "an earlier specimen")


@pytest.mark.parametrize("path", NOTEBOOKS[:16], ids=lambda path: path.stem)
def test_what_a_slide_takes_from_the_page_it_does_not_type(path):
    """A cell that names the page has no number of two places of its own, but those of BERT-base, and these stand on the page."""
    for cell in cells(path):
        if "docs/results.md" in cell.source:
            known = OF_BERT_BASE.get((key(path), cell.id), set())
            assert typed_numbers(cell.source, known) <= known, cell.id
            assert all(number.lstrip("0") in RESULTS for number in known)


@pytest.mark.parametrize("path", ROOM, ids=lambda path: path.stem)
def test_what_a_function_of_a_deck_takes_from_the_page_it_does_not_type(path):
    """The same of the room `decks`: a function that names the page types no number of its own."""
    lesson = path.stem.removeprefix("lesson")
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.FunctionDef) and "docs/results.md" in (source := ast.unparse(node)):
            known = OF_BERT_BASE.get((lesson, node.name), set())
            assert typed_numbers(source, known) <= known, node.name
            assert all(number.lstrip("0") in RESULTS for number in known)


@pytest.mark.parametrize("path", NOTEBOOKS, ids=lambda path: path.stem + path.parent.name[0])
def test_no_text_names_a_head_of_the_specimen(path):
    named = set().union(*(heads_by_hand(cell.source) for cell in cells(path) if cell.cell_type == "markdown"))
    in_exercises = {"02": {"3-1", "1-1"}, "07": {"5-4"}, "09": {"6-2"}}
    known = (HEADS if path.parent.name == "slides" else in_exercises).get(key(path), set())
    assert named == known


@pytest.mark.parametrize("path", NOTEBOOKS, ids=lambda path: path.stem + path.parent.name[0])
def test_no_text_gives_the_specimen_a_number(path):
    assert not [
        s
        for cell in cells(path)
        if cell.cell_type == "markdown"
        for s in figures_of_the_specimen(cell.source)
    ]


@pytest.mark.parametrize("text", ["Head 1-6 costs most.", "the same head 1-5 each time", "*2-4* learns it"])
def test_a_head_named_by_hand_would_be_found(text):
    assert heads_by_hand(text)


@pytest.mark.parametrize(
    "text", ["The specimen's best head finds 53.9 % of them.", "On the specimen .42; elsewhere less."]
)
def test_a_number_given_by_hand_would_be_found(text):
    assert figures_of_the_specimen(text)
    assert not figures_of_the_specimen("Does a head of the specimen beat it by more than .1?")
