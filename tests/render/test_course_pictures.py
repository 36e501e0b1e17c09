"""The schematic pictures of the map of the course: what they name is there, and no word leaves its drawing."""

from __future__ import annotations

import re

import pytest

from bertlook_course import render
from bertlook_course.claims import HOLDS
from bertlook_course.decks import lesson00, lesson01
from bertlook_course.decks.pictures import lesson00 as cards
from bertlook_course.decks.pictures import lesson04
from bertlook_course.syllabus import LESSONS, PARTS
from bertlook_teach.views import OKABE_ITO, PAPER
from bertlook_teach.views.drawing.svg import text_width

MODELS = [
    ("specimen", 2, 3, "small"),
    ("MiniLM", 3, 3, "typed"),
    ("BERT-base", 4, 2, "the papers' model " * 3),
]

PICTURES = {
    "four questions": cards.four_questions_picture(),
    "cautions": lesson01.cautions_picture(),
    "lessons": cards.questions_picture(7),
    "ledger": cards.ledger_line_picture(),
    "models": cards.models_picture(MODELS),
    "keys": cards.keys_picture(lesson00.KEYS),
    "predict": cards.predict_picture(),
    "places": cards.places_picture(),
    "before class": cards.before_class_picture(),
    "hypotheses": lesson04.hypotheses_picture(),
    "axis": render.zones_picture({"A": 0.1, "B": 1}, {}, "a share of what there is"),
    "measured": render.zones_picture(
        {"A": 0.1, "B": 1}, {"specimen": render.Estimate(0.3, 0.2, 0.4)}, "Half."
    ),
}


@pytest.mark.parametrize("name", PICTURES)
def test_words_stay_inside(name):
    picture = PICTURES[name]
    own = re.sub(
        r'<g transform="translate.*?</g>', "", picture.svg, flags=re.DOTALL
    )  # sketches stand elsewhere
    for x, y, rest, words in re.findall(r'<text x="([-\d.]+)" y="([-\d.]+)"([^>]*)>([^<]*)<', own):
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


def test_cards_lead_from_one_to_the_next_and_wear_the_sign_of_their_verdict():
    two = [([], "It asks.", ""), ([], "All write.", "A letter.", HOLDS, "holds")]
    plain, led = render.cards_picture(two[:1], "So."), render.cards_picture(two, "So.", arrows=True)
    assert plain.caption == "So." and led.sentence == "It asks. All write. A letter. holds So."
    assert "".join(led.body).count("<rect") == 2 and ">holds<" in led.svg and led.height > plain.height


def test_the_zone_of_the_first_value_is_shaded_and_no_other():
    measured = {"specimen": render.Estimate(5.0), "random twin": render.Estimate(0.02)}
    drawn = render.zones_picture({"C": 0.1, "B": 1.0, "A": 10.0}, measured, "A.", least=0.01)
    [shaded] = re.findall(r'<rect x="([\d.]+)" y="0" width="([\d.]+)"', drawn.svg)
    assert float(shaded[0]) + float(shaded[1]) == pytest.approx(1006)
    assert "<circle" in drawn.svg and drawn.sentence.startswith("specimen: 5.00; random twin: 0.02. A.")


def test_a_turn_is_the_angle_between_the_sum_and_the_sum_without_the_last():
    figure, turned = render.turn_figure([[1, 0], [0, 1], [-1, 0]], "abc")
    assert turned == pytest.approx(45) and "45°" in [text.get_text() for text in figure.axes[0].texts]
    own = render.terms_figure({"a": ([2, 1], ""), "b": ([-20, -10], "")}, one_scale=False).axes
    assert own[0].get_ylim()[0] == 0 and own[1].get_ylim()[1] == 0


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
