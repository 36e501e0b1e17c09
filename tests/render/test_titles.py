"""The pictures of the title slides: each deck has its own, from recorded or published numbers, and says which."""

from __future__ import annotations

import re
from itertools import pairwise

import numpy as np
import pytest

from bertlook_course.render import title_picture
from bertlook_course.render.results.titles import _EM, _LEAST, _PICTURES, _WIDTH
from bertlook_course.syllabus import GUEST, LESSONS
from bertlook_teach import load_recording
from bertlook_teach.views import PART_COLOURS, text_width

ALL = ["00", GUEST, *(one.number for one in LESSONS)]


@pytest.mark.parametrize("which", ALL)
def test_every_deck_has_a_picture_with_its_badge_that_says_what_it_shows(which):
    picture = title_picture(which)
    assert picture.sentence.startswith(("BERT-base, recorded", "BERT-base, published"))
    assert len(picture.svg) < 200_000
    assert picture.svg.count("<title>") == 1 and "nan" not in picture.svg
    assert "width:100%" in picture._repr_html_()


def test_every_lesson_is_drawn_in_the_colour_of_its_part_or_in_shades():
    for one in LESSONS:
        svg = title_picture(one.number).svg
        others = [colour for colour in PART_COLOURS if colour != PART_COLOURS[one.part]]
        assert not any(f'stroke="{colour}"' in svg for colour in others), one.number


def test_the_arcs_are_the_weights_of_the_head():
    seen = load_recording("bert-base-uncased")["time flies like an arrow"]
    weights = np.array(seen.weights[7, 10], dtype=float)  # 8-11
    keep = ~np.array(seen.special)
    weights = np.where(keep[:, None] & keep & ~np.eye(len(weights), dtype=bool), weights, 0)
    drawn = re.findall(r'stroke-width="([\d.]+)" stroke-opacity', title_picture("01").svg)
    expected = np.sort(weights[weights > _LEAST])
    assert [float(width) for width in drawn] == pytest.approx(2 + 11 * expected, abs=0.06)
    assert f"{weights.max():.2f}." in title_picture("01").sentence


def test_the_columns_are_what_each_token_receives():
    seen = next(one for key, one in load_recording("bert-base-uncased").items() if "cross the street" in key)
    received = 100 * seen.weights.mean(axis=(0, 1, 2))
    said = [float(x) for x in re.findall(r">(\d+)</text>", title_picture("13").svg)]
    assert said == [round(float(value)) for value in received]


@pytest.mark.parametrize("which", ["02", "03", "11", "14"])
def test_the_names_over_panels_stand_apart_and_inside(which):
    svg = title_picture(which).svg
    found = re.findall(r'<text x="([\d.]+)"[^>]*text-anchor="middle"[^>]*>([^<]+)</text>', svg)
    spans = [
        (float(x) - text_width(name, _EM) / 2, float(x) + text_width(name, _EM) / 2) for x, name in found
    ]
    assert len(spans) > 1 and spans[0][0] >= 0 and spans[-1][1] <= _WIDTH
    assert all(before[1] + 0.3 * _EM < after[0] for before, after in pairwise(spans))


def test_no_other_deck_is_known():
    assert set(_PICTURES) == set(ALL)
    with pytest.raises(ValueError, match="lessons 1 to 14"):
        title_picture("15")


def test_one_head_shows_the_same_word_in_its_own_text_and_in_the_other():
    """The caption of lesson 2's title says so."""
    maps = re.findall(r'href="([^"]+)"', title_picture("02").svg)
    assert len(maps) == 7 and maps[2] == maps[3] and len(set(maps)) == 6
    assert "one head for “same word” and “other text”" in title_picture("02").sentence
