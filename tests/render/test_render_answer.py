"""A lesson's answer as a picture: what it says, whose bars are whose, and where they end."""

import re

import pytest

from bertlook_course.render import Estimate, answer_picture
from bertlook_course.render.drawing.marks import MODELS

ROWS = {
    "Heads do.": {
        "MiniLM": Estimate(60, 50, 70, form=".0f", after=" %"),
        "baseline: chance": Estimate(20, form=".0f", after=" %"),
    },
    "Both lose.": {"plain": Estimate(-0.5), "random twin": Estimate(0.5)},
}


def bars(picture):
    found = re.findall(
        r'<rect x="([\d.]+)" y="[\d.]+" width="([\d.]+)" height="22" fill="(#?\w+)"', "".join(picture.body)
    )
    return [(float(x), float(width), fill) for x, width, fill in found]


def test_what_is_drawn_is_said_and_goes_along_as_a_table():
    picture = answer_picture(ROWS, "A note.")
    assert picture.sentence.startswith(
        "Heads do. (MiniLM 60 [50, 70] %, baseline: chance 20 %) Both lose. (plain"
    )
    assert picture.caption == "A note. Rows differ in scale." and len(picture.numbers[0].rows) == 4


def test_bars_are_as_long_as_their_numbers_say_and_begin_at_0():
    (x, sixty, _), (_, twenty, _), (left, minus, _), (right, plus, _) = bars(answer_picture(ROWS))
    assert sixty == pytest.approx(3 * twenty, rel=1e-3)
    assert minus == pytest.approx(plus, rel=1e-3) and left + minus == pytest.approx(right) and right > x


def test_a_model_s_bar_has_its_colour_and_one_without_a_name_the_deck_s():
    fills = [fill for *_, fill in bars(answer_picture(ROWS, model="BERT-base"))]
    assert fills[0] == MODELS["MiniLM"].colour and fills[3] == MODELS["random twin"].colour
    assert fills[2] == MODELS["BERT-base"].colour


def test_a_name_that_leaves_no_room_for_its_bar_is_refused():
    with pytest.raises(ValueError, match="'a very long name.*leaves no room for the bars"):
        answer_picture({"It does.": {"a very long name of a measure " * 3: Estimate(0.5)}})
