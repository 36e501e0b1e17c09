"""The course as a whole: the lessons in order, their map with links that lead somewhere, and what every list of lessons says."""

from __future__ import annotations

import json
import re
from html.parser import HTMLParser
from pathlib import Path

import pytest

from bertlook_course.render import CourseMap, describe_course, lesson_table
from bertlook_course.render.results.course import _BOX_HEIGHT, _place
from bertlook_course.syllabus import LESSONS, MAP, PARTS, Lesson, find_deck, lesson, paths_to

ROOT = Path(__file__).resolve().parents[2]
STEMS = {path.stem for path in (ROOT / "slides").glob("[0-9][0-9]_*.ipynb")}


class Links(HTMLParser):
    """The links of a page: (address, spoken name)."""

    def __init__(self, page: str):
        super().__init__()
        self.found: list[tuple[str, str]] = []
        self.feed(page)

    def handle_starttag(self, tag, attributes):
        if tag == "a":
            given = dict(attributes)
            self.found.append((given["href"], given["aria-label"]))


# --- the lessons -------------------------------------------------------------------------------------------------------


def test_the_lessons_are_numbered_and_stand_on_earlier_ones():
    assert [one.number for one in LESSONS] == [f"{n:02}" for n in range(1, 15)]
    for one in LESSONS:
        assert one.stem.startswith(one.number + "_")
        assert all(needed < one.number for needed in one.needs)
        assert bool(one.needs) == (one.number != "01")
        assert 0 <= one.part < len(PARTS)
        assert one.question.endswith("?")
    assert len({one.label for one in LESSONS}) == len({one.question for one in LESSONS}) == 14


def test_every_deck_is_of_the_course():
    assert MAP in STEMS
    assert STEMS - {MAP} <= {one.stem for one in LESSONS}


def test_the_plain_command_opens_the_map():
    assert find_deck(ROOT).stem == MAP


@pytest.mark.parametrize("number", [3, "3", "03"])
def test_a_lesson_is_found_by_its_number(number):
    assert lesson(number).stem == "03_where_heads_look"


@pytest.mark.parametrize("number", [0, 15, "x", "-1"])
def test_a_lesson_that_does_not_exist_is_refused(number):
    with pytest.raises(ValueError, match="lessons 1 to 14; got"):
        lesson(number)


def test_the_way_to_a_lesson_is_closed_under_what_it_stands_on():
    assert [one.number for one in paths_to(1)] == ["01"]
    for one in LESSONS:
        way = {step.number for step in paths_to(one.number)}
        assert one.number in way and max(way) == one.number
        assert all(set(step.needs) <= way for step in paths_to(one.number))
        for left_out in way - {one.number}:  # none could be left out
            assert any(left_out in lesson(step).needs for step in way)


# --- the map -----------------------------------------------------------------------------------------------------------


def test_the_map_is_a_link_a_lesson_in_their_order():
    links = Links(CourseMap()._repr_html_()).found
    assert [address for address, _ in links] == [f"{one.stem}.ipynb" for one in LESSONS]
    assert {address.removesuffix(".ipynb") for address, _ in links} >= STEMS - {MAP}
    for one, (_, spoken) in zip(LESSONS, links):
        assert f"{one.number} {one.label}." in spoken and one.question in spoken
        assert re.findall(r"\d+", spoken.partition("Builds on")[2]) == [str(int(n)) for n in one.needs]


def test_boxes_do_not_overlap_and_arrows_never_lead_up_or_back():
    places = [_place(one) for one in LESSONS]
    assert len(set(places)) == len(LESSONS)
    for one in LESSONS:
        for other in LESSONS:
            if one.part == other.part and one.number < other.number:
                assert _place(other)[1] - _place(one)[1] > _BOX_HEIGHT
        assert all(lesson(needed).part <= one.part for needed in one.needs)


def test_a_label_fills_at_most_two_lines_of_its_box():
    """As wide as fifteen letters of 24 pixels at 1024 pixels; looked at in tests/browser."""
    for one in LESSONS:
        lines = [one.number]
        for word in one.label.split():
            if len(lines[-1]) + 1 + len(word) <= 16:
                lines[-1] += " " + word
            else:
                lines.append(word)
        assert len(lines) <= 2, one.label


def test_the_way_to_a_lesson_differs_in_more_than_colour():
    whole, way = CourseMap()._repr_html_(), CourseMap("11")._repr_html_()
    assert "dashed" not in whole
    assert way.count("3px dashed") == len(LESSONS) - len(paths_to("11"))
    assert (
        repr(CourseMap("11")) == "CourseMap: The way to lesson 11, Which heads matter: lessons 1, 3, 6, 11."
    )


def test_markup_in_a_title_is_escaped(monkeypatch):
    bad = Lesson("01", '01_"><script>', "<b>", "<b>", "<b>", "<b>?", (), 0)
    monkeypatch.setattr("bertlook_course.render.results.course.LESSONS", (bad,))
    page = CourseMap.__new__(CourseMap)
    page.on_the_way, page.sentence = (bad,), "<i>"
    assert "<script" not in page._repr_html_() and "<b>" not in page._repr_html_()
    assert "<i>" not in page._repr_html_()


def test_the_sentence_counts_the_arrows():
    assert f"{sum(len(one.needs) for one in LESSONS)} arrows" in describe_course()


def test_the_table_asks_every_question():
    table = lesson_table(LESSONS[2:4])
    assert [row[0] for row in table.rows] == ["03", "04"]
    assert table.rows[1] == ["04", lesson(4).question, "3"]
    assert lesson_table().rows[0][2] == "-"


# --- what else lists the lessons ------------------------------------------------------------------------------------------


def test_the_readme_lists_the_decks_with_their_titles():
    readme = (ROOT / "README.md").read_text(encoding="utf-8")
    rows = re.findall(r"^\| (\d\d) \| \[(.+?)\]\(slides/(\w+)\.ipynb\) \|", readme, re.MULTILINE)
    listed = {stem: title for _, title, stem in rows}
    assert [number for number, _, _ in rows] == sorted(stem[:2] for stem in STEMS)
    for one in LESSONS:
        if one.stem in STEMS:
            assert listed[one.stem] == one.title


def test_the_teaching_guide_has_the_titles():
    guide = (ROOT / "docs" / "teaching.md").read_text(encoding="utf-8")
    for number, title in re.findall(r"^## Lesson (\d\d) · (.+)$", guide, re.MULTILINE):
        assert title.replace("[SEP]", "SEP").lower() in lesson(number).title.lower(), (number, title)


def test_the_guide_names_slides_of_the_opening_deck_that_are_there():
    cells = json.loads((ROOT / "slides" / f"{MAP}.ipynb").read_text(encoding="utf-8"))["cells"]
    slides = [""]
    for cell in cells:
        if cell["metadata"].get("slideshow", {}).get("slide_type") == "slide":
            slides.append("")
        slides[-1] += "".join(cell["source"]) + "\n"
    guide = (ROOT / "docs" / "teaching.md").read_text(encoding="utf-8")
    opening = guide.partition("**Opening the course")[2].partition("\n\n")[0]
    assert "slides 1, 2, 4, 8 to 13 and 17" in opening and "slides 1, 2, 4, 8 to 13 and 17" in slides[1]
    predictions = [number for number, text in enumerate(slides) if "## Predict:" in text]
    assert predictions == [int(n) for n in re.findall(r"Slide (\d+), (?:which|will)", opening)]
    assert "five minutes before class" in slides[18] and "slide 18" in opening
    assert "What would change the answer" in slides[17]
    assert "RecordedExplorer" in slides[2] and "CourseMap()" in slides[4] and len(slides) - 1 == 18
