"""The glossary: sorted, each term once, short, and introduced in a lesson that exists and uses it."""

import json
import re
from itertools import pairwise
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
TEXT = (ROOT / "docs" / "glossary.md").read_text(encoding="utf-8")
PLANNED = {"12", "13", "14"}  # lessons that may not have their deck yet


def rows(text: str) -> list[tuple[str, str, str]]:
    """(term, lesson, meaning) of each row."""
    return re.findall(r"^\| (.+?) \| (\d\d) \| (.+) \|$", text, re.MULTILINE)


ROWS = rows(TEXT)
DECKS = {path.name[:2]: path for path in sorted((ROOT / "slides").glob("[0-9][0-9]_*.ipynb"))}


def sort_key(term: str) -> str:
    return term.strip("[]").casefold()


def out_of_order(terms: list[str]) -> list[str]:
    return [b for a, b in pairwise(terms) if sort_key(a) >= sort_key(b)]


def test_there_are_enough_terms_and_every_line_of_the_table_is_one():
    assert len(ROWS) >= 60
    assert len(ROWS) == len(re.findall(r"^\|", TEXT, re.MULTILINE)) - 2


def test_terms_are_sorted_and_none_comes_twice():
    assert not out_of_order([term for term, _, _ in ROWS])


def test_a_term_out_of_order_or_twice_would_be_found():
    assert out_of_order(["arc", "[CLS]", "claim", "claim", "block"]) == ["claim", "claim", "block"]


@pytest.mark.parametrize("term, lesson, meaning", ROWS, ids=[term for term, _, _ in ROWS])
def test_a_term_is_short_and_its_lesson_exists(term, lesson, meaning):
    assert lesson in DECKS or lesson in PLANNED
    assert 1 <= len(re.findall(r"[.?](?=\s|$)", meaning)) <= 3
    assert meaning.endswith(".")


@pytest.mark.parametrize("lesson", sorted(DECKS))
def test_most_terms_of_a_lesson_are_used_in_its_deck(lesson):
    cells = json.loads(DECKS[lesson].read_text(encoding="utf-8"))["cells"]
    deck = " ".join("".join(cell["source"]) for cell in cells)
    room = (
        DECKS[lesson].parents[1] / "bertlook_course" / "decks" / f"lesson{lesson}.py"
    )  # what its functions show
    deck = (deck + (room.read_text(encoding="utf-8") if room.exists() else "")).casefold()
    terms = [term for term, introduced, _ in ROWS if introduced == lesson]
    used = [term for term in terms if sort_key(term).split(",")[0].rstrip("s")[:9] in deck]
    assert len(used) >= 0.7 * len(terms), sorted(set(terms) - set(used))


def test_see_also_leads_to_a_term():
    terms = {term for term, _, _ in ROWS}
    named = re.findall(r"(?:see|compare) \*([^*]+)\*", TEXT)
    assert named and set(named) <= terms
