"""Stacked bars show the shares of a table, one after the other, and refuse what is not a whole."""

from __future__ import annotations

import pytest

from bertlook_course.render import Estimate, TextTable, table_shares
from bertlook_course.render.results.shares import shares_figure

PARTS = ["one", "two", "three"]
TABLE = TextTable(
    ["input", *PARTS],
    [["a text", Estimate(0.5, 0.4, 0.6), 0.3, 0.2], ["other", 0.96, "–", 0.04]],
    "Share of maps [95 %], n = 9.",
)


def test_the_parts_follow_one_another_and_the_large_ones_have_their_number():
    axes = shares_figure(["a text", "other"], PARTS, [[0.5, 0.3, 0.2], [0.96, 0, 0.04]], "share").axes[0]
    bars = [(bar.get_x(), bar.get_width()) for bar in axes.patches]
    assert [number for bar in bars for number in bar] == pytest.approx(
        [0, 0.5, 0, 0.96, 0.5, 0.3, 0.96, 0, 0.8, 0.2, 0.96, 0.04]
    )
    assert [text.get_text() for text in axes.texts] == [".50", ".96", ".30", ".20"]


def test_the_table_goes_along_with_its_intervals():
    picture = table_shares(TABLE)
    assert picture.numbers == (TABLE,) and picture.sentence == "Share of maps, n = 9."


def test_what_is_not_a_whole_is_refused():
    with pytest.raises(ValueError, match="'a text' sum to 0.80"):
        table_shares(TABLE, ["one", "two"])
    with pytest.raises(KeyError, match="no column 'four'"):
        table_shares(TABLE, ["four"])
    with pytest.raises(ValueError, match="one to 5 parts of a whole can be told apart; got 6"):
        table_shares(TABLE, ["one"] * 6)
