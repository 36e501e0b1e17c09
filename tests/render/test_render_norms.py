"""Weighted norms as pictures and sentences: what a head adds, drawn against the longest vector."""

import re

import numpy as np
import pytest

from bertlook_teach.views import (
    describe_norms,
    describe_token_norms,
    render_attention_grid,
    render_attention_lines,
)

TOKENS = ("[CLS]", "birds", "sing", "[SEP]")
# Every token looks mostly at [SEP]; its vector is a tenth as long as the others.
WEIGHTS = np.array([[0.1, 0.1, 0.1, 0.7], [0.2, 0.1, 0, 0.7], [0, 0.3, 0.1, 0.6], [0, 0, 0, 1]])
LENGTHS = np.array([2.0, 2.0, 1.0, 0.2])
NORMS = WEIGHTS * LENGTHS


def test_the_sentence_says_the_largest_norm_and_where_most_comes_from():
    # sums .64, .74, .82, .2; from itself .2/.64, .2/.74, .1/.82 and 1: mean .4262; from [SEP] less
    said = describe_norms(NORMS, TOKENS, head=(2, 0), longest=2)
    assert said == (
        "Head 3-1, norms: the largest, 0.600, comes to “sing” from “birds”. On average, 43 % of a sum comes from the token itself. "
        "Drawn against 2.000, the longest vector."
    )


def test_query_and_key_are_not_swapped():
    assert "comes to “sing” from “birds”" in describe_norms(NORMS, TOKENS)
    assert "comes to “birds” from “sing”" in describe_norms(NORMS.T, TOKENS)
    assert describe_token_norms(NORMS, TOKENS, 2) == (
        "“sing” gets norms from “birds” 0.600 (73 %), [SEP] 0.120 (15 %), itself 0.100 (12 %), 1 other 0.000 (0 %)."
    )
    assert describe_token_norms(NORMS, TOKENS, 2, side="key") == (
        "“sing” gives norms to [CLS] 0.100, itself 0.100, “birds” 0.000."
    )


def test_a_head_that_adds_nothing_says_so_and_a_silent_row_is_left_out_of_the_mean():
    assert describe_norms(0 * NORMS, TOKENS) == "This head, norms: all are 0, so this head adds nothing here."
    assert describe_token_norms(0 * NORMS, TOKENS, 1) == "“birds” gets nothing: every norm is 0."
    assert describe_token_norms(0 * NORMS, TOKENS, 1, side="key") == "“birds” gives nothing."
    silent = np.zeros((4, 4))
    silent[1, 0] = 2  # only “birds” gets anything, all of it from the token before
    assert "100 % of a sum comes from the previous token" in describe_norms(silent, TOKENS)


def test_hidden_special_tokens_are_counted():
    silent = [[1, 1, 1, 1], [3, 1, 4, 0], [0, 0, 0, 0], [1, 1, 1, 1]]  # “sing” gets nothing and has no shares
    assert "Special tokens are hidden and give 38 %." in describe_norms(silent, TOKENS, hide_special=True)
    # of “birds” .54 + .19, of “sing” 0 + .15
    assert "Special tokens are hidden and give 44 %." in describe_norms(NORMS, TOKENS, hide_special=True)
    assert (
        describe_norms([[1]], ["[SEP]"], hide_special=True)
        == "This head, norms: every token is special and hidden."
    )


@pytest.mark.parametrize("draw", [render_attention_lines, render_attention_grid])
def test_a_picture_of_norms_is_named_and_described_as_one(draw):
    svg = draw(WEIGHTS, TOKENS, head=(2, 0), norms=NORMS, longest=2).svg
    assert "<title>Head 3-1, norms</title>" in svg
    assert describe_norms(NORMS, TOKENS, head=(2, 0), longest=2) in svg
    assert svg != draw(WEIGHTS, TOKENS, head=(2, 0)).svg
    with pytest.raises(ValueError, match=r"no norm may exceed it; the largest is 0\.6, longest 0\.5"):
        draw(WEIGHTS, TOKENS, norms=NORMS, longest=0.5)
    assert "adds nothing here" in draw(WEIGHTS, TOKENS, norms=0 * NORMS).svg


def opacities(svg):
    return sorted(float(value) for value in re.findall(r'stroke-opacity="([\d.]+)"', svg))


def test_against_the_longest_vector_nothing_gets_stronger_than_its_weight():
    weight = opacities(render_attention_lines(WEIGHTS, TOKENS).svg)
    norm = opacities(render_attention_lines(WEIGHTS, TOKENS, norms=NORMS, longest=2).svg)
    assert max(weight) == pytest.approx(0.94)  # [SEP] looks at itself with all its weight
    assert max(norm) < 0.6  # .6 of 2: what went to [SEP] has faded, and nothing took its place


def test_a_chosen_token_shows_norms_as_numbers():
    svg = render_attention_lines(WEIGHTS, TOKENS, norms=NORMS, longest=2, query=2).svg
    assert ">0.600<" in svg and "%<" not in svg
    grid = render_attention_grid(WEIGHTS, TOKENS, norms=NORMS, longest=2).svg
    assert ">.60<" in grid and ">70<" not in grid
