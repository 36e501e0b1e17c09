"""The teaching guide names slides that exist, commit questions where they are asked, and no number of the specimen."""

import json
import re
from functools import cache
from html import unescape
from pathlib import Path
from typing import NamedTuple

import pytest

from bertlook_course.syllabus import GUEST, deck_routes, on_route

ROOT = Path(__file__).resolve().parents[2]
GUIDE = (ROOT / "docs" / "teaching.md").read_text(encoding="utf-8")
DECKS = {path.name[:2]: path for path in sorted((ROOT / "slides").glob("[0-9][0-9]_*.ipynb"))}
GUEST_DECK = ROOT / "slides" / f"{GUEST}.ipynb"
SECTIONS = dict(re.findall(r"^## Lesson (\d\d) · .*?\n(.*?)(?=^## |\Z)", GUIDE, re.MULTILINE | re.DOTALL))
FIGURE = re.compile(r"(?<![\w.])(?:\d*\.\d+|\d+(?:\.\d+)? %)")  # .5, 0.5, 51.7 %


def numbers(text: str) -> list[int]:
    """``"1-3, 5"`` -> 1, 2, 3, 5."""
    found = []
    for part in text.split(","):
        first, _, last = part.strip().partition("-")
        found += range(int(first), int(last or first) + 1)
    return found


def routes(section: str) -> dict[int, list[int]]:
    return {
        int(m): numbers(s)
        for m, s in re.findall(r"^\| (\d\d) \| ([\d, -]+) \| .+ \|$", section, re.MULTILINE)
    }


def named_slides(section: str) -> list[int]:
    """Every slide that the text names: "slide 3", "Slides 7 to 13"."""
    found = [int(n) for n in re.findall(r"[Ss]lide (\d+)", section)]
    return found + [int(n) for pair in re.findall(r"[Ss]lides (\d+) to (\d+)", section) for n in pair]


def slides(path: Path) -> list[str]:
    """The text of each slide of a deck, notes included."""
    texts: list[str] = []
    for cell in json.loads(path.read_text(encoding="utf-8"))["cells"]:
        kind = cell["metadata"].get("slideshow", {}).get("slide_type", "-")
        if kind in ("slide", "subslide"):
            texts.append("")
        if texts:
            texts[-1] += "".join(cell["source"]) + "\n"
    return texts


def test_there_is_a_section_for_every_deck_up_to_lesson_eleven():
    assert {lesson for lesson in DECKS if "01" <= lesson <= "11"} <= set(SECTIONS)
    assert set(SECTIONS) <= set(DECKS)


@pytest.mark.parametrize("lesson", sorted(SECTIONS))
def test_the_three_routes_name_slides_that_exist_in_order(lesson):
    n, found = len(slides(DECKS[lesson])), routes(SECTIONS[lesson])
    assert sorted(found) == [20, 50, 90]
    for chosen in found.values():
        assert chosen == sorted(set(chosen)) and 1 <= chosen[0] and chosen[-1] <= n
    assert len(found[20]) < len(found[50]) < len(found[90]) == n
    assert len(found[20]) <= 9 and len(found[50]) <= 20


@pytest.mark.parametrize("lesson", sorted(SECTIONS))
def test_the_guide_and_the_tags_of_the_slides_name_the_same_routes(lesson):
    """`bertlook present --route` and the exported file go by the tags."""
    assert deck_routes(json.loads(DECKS[lesson].read_text(encoding="utf-8"))) == routes(SECTIONS[lesson])


@pytest.mark.parametrize(
    ("deck", "said"),
    [
        (DECKS["00"], r"slides ([\d, to]+) and (\d+) take 20 minutes"),
        (GUEST_DECK, r"--route 20` shows slides ([\d, to]+) and (\d+)\."),
    ],
    ids=["00", GUEST],
)
def test_a_short_route_without_a_table_is_the_one_that_the_guide_names(deck, said):
    ((first, last),) = re.findall(said, GUIDE)
    named = numbers(first.replace(" to ", "-")) + [int(last)]
    assert deck_routes(json.loads(deck.read_text(encoding="utf-8")))[20] == named


@pytest.mark.parametrize("deck", [*DECKS.values(), GUEST_DECK], ids=lambda path: path.stem[:2])
def test_a_route_of_20_or_50_minutes_ends_on_the_answer(deck):
    """What stands behind the answer belongs to 90 minutes."""
    texts = slides(deck)
    for minutes, chosen in deck_routes(json.loads(deck.read_text(encoding="utf-8"))).items():
        assert minutes == 90 or "**What would change the answer" in texts[chosen[-1] - 1], minutes


class Cell(NamedTuple):
    kind: str  # slide, fragment, notes, ...
    source: str
    said: str  # to the room: the text, or what the code has printed and drawn, without markup


@cache
def cells_of_slides(path: Path) -> list[list[Cell]]:
    found: list[list[Cell]] = []
    for cell in json.loads(path.read_text(encoding="utf-8"))["cells"]:
        kind, source = cell["metadata"].get("slideshow", {}).get("slide_type", "-"), "".join(cell["source"])
        shown = [output.get("data", {}) for output in cell.get("outputs", ())]
        texts = ["".join(data.get("text/markdown", data.get("text/html", ""))) for data in shown]
        if kind in ("slide", "subslide"):
            found.append([])
        if found:
            without_markup = unescape(re.sub(r"<[^>]+>", " ", " ".join(texts)))
            found[-1].append(
                Cell(kind, source, source if cell["cell_type"] == "markdown" else without_markup)
            )
    return found


def asks(cell: Cell) -> bool:
    """Whether the room is to vote, to lock a guess, to choose a letter or to write something down."""
    if "claims.commit(" in cell.source:
        return True
    return cell.kind != "fragment" and bool(
        "Tally(" in cell.source
        or len(re.findall(r"\*\*[A-F]\*\* ", cell.said)) > 1
        or re.search(r"\*\*Predict:\*\*|^#+ Predict:|\*\*Write down", cell.said, re.MULTILINE)
    )


def question(cells: list[Cell]) -> tuple[str, list[Cell]]:
    """What a slide asks, "" if nothing, and the cells behind the question."""
    room = [cell for cell in cells if cell.kind not in ("skip", "notes")]
    end = max((place for place, cell in enumerate(room, 1) if asks(cell)), default=0)
    return "\n".join(cell.source + "\n" + cell.said for cell in room[:end]), room[end:]


def answer(deck: list[list[Cell]], asked: int) -> int | None:
    """The number of the slide that answers the question of slide ``asked``; None if no slide does.

    It is the same slide if a step or a view that guesses stands behind the question. Otherwise the question says what to look for: for a lock
    its opening, for choices a letter, for *which are true?* a verdict, for the weights of a word what goes from it.
    """
    text, behind = question(deck[asked - 1])
    if any(cell.kind == "fragment" or "MaskedWord(" in cell.source for cell in behind):
        return asked
    words = "|".join(re.findall(r"(?<!\*)\*{1,2}(\w{2,})\*{1,2}(?!\*)", text))
    marks = [rf"“(?:{words})” (?:goes to|looks at)"] if words else []
    if locked := re.search(r"(\w+) = claims\.commit\(", text):
        marks = [rf"claims\.reveal\({locked[1]}\b"]
    elif re.search(r"\btrue\?", text):
        marks = [r"\brefuted\b"]
    elif "Tally(" in text:
        marks = [r"\*\*[A-F](?:\*\*|: )|(?:^|\s)[A-F]: "]
    for number, cells in enumerate(deck[asked:], asked + 1):
        texts = "\n".join(cell.source + "\n" + cell.said if locked else cell.said for cell in cells)
        if any(re.search(mark, texts) for mark in marks):
            return number
    return None


def left_out(deck: list[list[Cell]], chosen: list[int]) -> list[tuple[int, int | None]]:
    """Questions that these slides, or their notes, ask and do not answer: pairs of slides."""
    asked = [(number, answer(deck, number)) for number in chosen if question(deck[number - 1])[0]]
    for number in chosen:
        notes = "\n".join(cell.source for cell in deck[number - 1] if cell.kind == "notes")
        asked += [(number, int(named)) for named in re.findall(r"[Ss]lide (\d+) answers", notes)]
        for words, on in (("slide after next answers", 2), ("next slide answers", 1)):
            asked += [(number, number + on)] * (words in notes)
    return [pair for pair in asked if pair[1] not in chosen]


@pytest.mark.parametrize("path", [*DECKS.values(), GUEST_DECK], ids=lambda path: path.stem[:2])
def test_a_route_never_leaves_out_the_answer_to_a_question_that_it_asks(path):
    deck = cells_of_slides(path)
    found = {number: answer(deck, number) for number, cells in enumerate(deck, 1) if question(cells)[0]}
    assert found and None not in found.values(), found
    for minutes, chosen in deck_routes(json.loads(path.read_text(encoding="utf-8"))).items():
        assert not left_out(deck, chosen), minutes
    for asked, answered in found.items():  # and one that does would be found
        if answered != asked:
            without = [number for number in range(1, len(deck) + 1) if number != answered]
            assert (asked, answered) in left_out(deck, without)


@pytest.mark.parametrize("deck", [*DECKS.values(), GUEST_DECK], ids=lambda path: path.stem[:2])
def test_a_route_shows_the_next_slide_where_a_slide_or_its_notes_speak_of_it(deck):
    texts = slides(deck)
    for minutes, chosen in deck_routes(json.loads(deck.read_text(encoding="utf-8"))).items():
        for number in chosen:
            text = texts[number - 1]
            for words, meant in ((r"[Nn]ext slide\b", number + 1), (r"\bslide before\b", number - 1)):
                assert not re.search(words, text) or meant in chosen, (minutes, number)


@pytest.mark.parametrize("lesson", sorted(SECTIONS))
def test_a_route_keeps_the_question_the_answer_and_a_picture(lesson):
    notebook = json.loads(DECKS[lesson].read_text(encoding="utf-8"))
    for minutes, chosen in deck_routes(notebook).items():
        kept = on_route(notebook, minutes)["cells"]
        shown = [
            c for c in kept if c["metadata"].get("slideshow", {}).get("slide_type") not in ("skip", "notes")
        ]
        said = "\n".join("".join(cell["source"]) for cell in shown)
        assert chosen[0] == 1 and "**What would change the answer" in said, minutes
        outputs = [o.get("data", {}).get("text/html", "") for cell in shown for o in cell.get("outputs", ())]
        assert any(mark in "".join(html) for html in outputs for mark in ("<svg", "<img", "<figure")), minutes


@pytest.mark.parametrize("lesson", sorted(SECTIONS))
def test_every_slide_that_is_named_exists(lesson):
    named = named_slides(SECTIONS[lesson])
    assert len(named) > 5
    assert all(1 <= number <= len(slides(DECKS[lesson])) for number in named)


@pytest.mark.parametrize("lesson", sorted(SECTIONS))
def test_the_commit_questions_of_a_deck_are_answered_and_no_others(lesson):
    answered = [int(n) for n in re.findall(r"^- Slide (\d+), ", SECTIONS[lesson], re.MULTILINE)]
    asked = [
        number
        for number, text in enumerate(slides(DECKS[lesson]), 1)
        if re.search(r"^## Predict|^\*\*Commit[.:]\*\*", text, re.MULTILINE)
    ]
    hypotheses = {4} if lesson == "04" else set()  # everybody writes their own: no answer to give
    assert answered == sorted(set(asked) - hypotheses)


@pytest.mark.parametrize("lesson", sorted(SECTIONS))
def test_a_section_has_its_parts(lesson):
    for part in ("**Say.**", "**Where students stumble.**", "**Answers.**"):
        assert SECTIONS[lesson].count(part) == 1


def test_no_number_is_said_to_be_the_specimens():
    sentences = re.split(r"(?<=[.:;])\s", GUIDE)
    assert not [s for s in sentences if "specimen" in s.lower() and FIGURE.search(s)]


def test_a_number_of_the_specimen_would_be_found():
    assert FIGURE.search("The specimen gives .42") and FIGURE.search("gives 42 %")
    assert not FIGURE.search("Lesson 3, slide 12, heads 8-10")


def test_a_slide_beyond_the_end_would_be_found():
    assert numbers("1-3, 99") == [1, 2, 3, 99]
    assert named_slides("see slide 99 and Slides 7 to 13") == [99, 7, 13]
