"""The schematic pictures of the map of the course: what they name is there, and no word leaves its drawing."""

from __future__ import annotations

import re

import pytest

from bertlook_course import render
from bertlook_course.decks import lesson00
from bertlook_course.syllabus import LESSONS, PARTS
from bertlook_teach.views import OKABE_ITO, PAPER
from bertlook_teach.views.drawing.svg import text_width

MODELS = [
    ("specimen", 2, 3, "small"),
    ("MiniLM", 3, 3, "typed"),
    ("BERT-base", 4, 2, "the papers' model " * 3),
]

PICTURES = {
    "four questions": render.four_questions_picture(),
    "lessons": render.questions_picture(LESSONS[7:]),
    "ledger": render.ledger_line_picture(),
    "models": render.models_picture(MODELS),
    "keys": render.keys_picture(lesson00.KEYS),
}


@pytest.mark.parametrize("name", PICTURES)
def test_words_stay_inside(name):
    picture = PICTURES[name]
    for x, y, rest, words in re.findall(r'<text x="([-\d.]+)" y="([-\d.]+)"([^>]*)>([^<]*)<', picture.svg):
        wide = text_width(words, picture.font_size)
        left = float(x) - (0.5 * wide if "middle" in rest else wide if 'anchor="end"' in rest else 0)
        assert -1 <= left and left + 0.9 * wide <= picture.width and 0 < float(y) < picture.height, words


def test_the_parts_and_their_questions_are_named():
    svg = PICTURES["four questions"].svg
    assert all(f">{part}<" in svg for part in PARTS)


def test_lessons_stand_with_their_questions_and_what_they_build_on():
    table = PICTURES["lessons"].numbers[0]
    assert [row[0] for row in table.rows] == [one.number for one in LESSONS[7:]]
    assert PICTURES["lessons"].svg.count('width="56"') == 7 + sum(len(one.needs) for one in LESSONS[7:])


def test_the_line_of_the_ledger_says_that_it_is_made_up():
    assert "made-up" in PICTURES["ledger"].sentence


def test_models_have_as_many_cells_as_heads_and_as_many_grey_ones_behind():
    assert "".join(PICTURES["models"].body).count("<rect") == 2 * (2 * 3 + 3 * 3 + 4 * 2)


def test_every_key_has_its_cap():
    assert "".join(PICTURES["keys"].body).count("<rect") == sum(len(names) for names, _ in lesson00.KEYS)


def test_vectors_stand_tip_to_tail_and_their_sum_behind_them():
    [axes] = render.terms_figure({"a": ([2, 0, -1], "1 in all")}, ["x", "y", "z"]).axes
    assert [bar.get_height() for bar in axes.patches] == [2, 0, -1] and axes.get_xlabel() == "1 in all"
    assert [text.get_text() for text in axes.texts] == ["2", "0", "\u22121"]
    assert axes.patches[0].get_facecolor() != axes.patches[2].get_facecolor()
    angle, cancelled = render.sums_figure({"a": [[1, 0], [0, 1]], "b": [[1, 0], [-1, 0]]}).axes
    widths = [arrow.arrow_patch.get_linewidth() for arrow in angle.texts]
    assert widths == [9, 3, 3] and len(cancelled.texts) == 2 and len(cancelled.lines) == 1
    assert (angle.get_xlabel(), cancelled.get_xlabel()) == ("sum: length 1.4", "sum: length 0")
    with pytest.raises(ValueError, match="vectors of two numbers"):
        render.sums_figure({"a": [[1, 0, 0]]})


def test_each_word_has_its_tag_and_out_is_empty():
    picture = render.tagged_words(["not", "<b>"], {"part": ["cue", "out"]}, "so")
    fills = re.findall(r'<rect [^>]*fill="(#[0-9A-Fa-f]{6})"', "".join(picture.body))
    assert fills == [OKABE_ITO["vermillion"], PAPER] and "<b>" not in picture.svg
    assert picture.numbers[0].rows == [["part", "cue", "out"]]
    with pytest.raises(ValueError, match="one tag for each of the 2 words"):
        render.tagged_words(["a", "b"], {"part": ["cue"]}, "so")
