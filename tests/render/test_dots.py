"""A table drawn as dots: the numbers are those of its cells, and the marks stand where they say."""

from __future__ import annotations

import re

import pytest

from bertlook_teach.render import TextTable, table_dots
from bertlook_teach.render.drawing.marks import MODELS, OTHERS
from bertlook_teach.render.drawing.palette import PAPER
from bertlook_teach.render.drawing.svg import coordinate, text_width
from bertlook_teach.render.results.dots import _DOT, _EM, _values

TABLE = TextTable(
    ["head", "specimen", "random twin"],
    [["1-2", "0.50 [0.25, 0.75] in 1-2", "0.10"], ["2-1", "1.00", "-"]],
    "Two heads.",
)


@pytest.mark.parametrize(
    ("cell", "found"),
    [
        ("0.98 [0.97, 0.99] in 1-6", (0.98, 0.97, 0.99)),
        ("1-5: 0.85 [.83, 0.86]", (0.85, 0.83, 0.86)),
        ("13.2 (9.3 to 15.7)", (13.2, 9.3, 15.7)),
        ("−18.5", (-18.5, -18.5, -18.5)),
        ("+3 [−1, +7]", (3, -1, 7)),
        ("26.3 (+1)", (26.3, 26.3, 26.3)),
        ("20 %", (20, 20, 20)),
        ("0.983 [0.982, 0.984] in 1\u20111", (0.983, 0.982, 0.984)),
        ("-", None),
        ("not found", None),
    ],
)
def test_a_cell_is_read_as_its_number_with_its_interval(cell, found):
    assert _values(cell) == found


def test_marks_stand_on_the_scale_where_the_numbers_are():
    svg = table_dots(TABLE, ["specimen"]).svg
    first, second = (float(x) for x in re.findall(r'<circle cx="([\d.]+)"', svg))
    (low, high) = (float(x) for x in re.search(r'<path d="M([\d.]+) [\d.]+H([\d.]+)"', svg).groups())
    zero = float(re.search(r'<path d="M([\d.]+) [\d.]+V', svg)[1])
    assert (first - zero) / (second - zero) == pytest.approx(0.5, abs=0.001)
    assert (
        first - low == pytest.approx(high - first, abs=0.11) == pytest.approx((second - zero) / 4, abs=0.11)
    )


def test_the_twin_is_a_square_and_what_was_not_measured_has_no_mark():
    svg = table_dots(TABLE).svg
    assert (
        svg.count("<circle") == 2 + 1 and len(re.findall("<rect", svg)) == 1 + 1 + 1
    )  # one each in the key; the paper
    assert ">0.50 [0.25, 0.75] in 1-2</text>" in svg and ">\u2014</text>" in svg


def test_a_level_to_compare_with_is_inside_the_scale_and_named():
    svg = table_dots(TABLE, ["specimen"], line=("twice", 2.0)).svg
    assert ">twice</text>" in svg and ">2.0</text>" in svg


def test_the_table_goes_along():
    picture = table_dots(TABLE)
    assert picture.sentence == "Two heads." and picture.numbers == (TABLE,)


def test_together_a_row_is_one_line():
    long = TextTable(TABLE.header, list(TABLE.rows) * 5)
    apart, joined = (table_dots(long, together=flag).svg for flag in (False, True))
    heights = [float(re.search(r'height="([\d.]+)"', svg)[1]) for svg in (apart, joined)]
    assert heights[1] < heights[0] and "in 1-2" not in joined


def test_what_cannot_be_drawn_is_said():
    with pytest.raises(KeyError, match="no column 'twin'; it has 'head'"):
        table_dots(TABLE, ["twin"])
    with pytest.raises(ValueError, match="leave it a table"):
        table_dots(TextTable(["a", "b"], [["x", "yes"]]))


def forms(table, **how):
    """The mark of each row, as its form and whether it is hollow."""
    svg = table_dots(table, **how).svg
    mark = rf'<(circle|rect|path) (?!x="0")[^>]*fill="([^"]*)" stroke="([^"]*)" stroke-width="{coordinate(0.4 * _DOT)}"'
    return [(MARKS[form, stroke], fill == PAPER) for form, fill, stroke in re.findall(mark, svg)]


MARKS = {
    ({"disc": "circle", "square": "rect"}.get(mark.form, "path"), mark.colour): name
    for name, mark in MODELS.items()
}
MARKS["path", OTHERS[0].colour] = None
ONE = TextTable(["head", "share"], [["3-1", "0.98"], ["by chance", "0.02"]], "One column.")


@pytest.mark.parametrize(
    ("header", "model", "drawn"),
    [
        (["head", "share"], None, None),  # nobody says whose it is
        (["head", "share"], "BERT-base", "BERT-base"),
        (["head", "share"], "specimen", "specimen"),
        (["head", "share"], ["random twin", None], "random twin"),
        (["head of BERT-base", "share"], None, "BERT-base"),
        (["head", "share, specimen"], None, "specimen"),
        (["head", "share, specimen"], "BERT-base", "BERT-base"),
    ],
)
def test_one_column_has_the_mark_of_the_model_that_is_named_and_of_none_otherwise(header, model, drawn):
    first, second = forms(TextTable(header, ONE.rows, "One column."), model=model)
    assert first == (drawn, drawn == "specimen")
    assert second == (None if isinstance(model, list) else "baseline", False)


def test_a_model_that_does_not_fit_is_said():
    with pytest.raises(
        ValueError, match="no mark for 'BERT'; there is one for specimen, random twin, BERT-base"
    ):
        table_dots(ONE, model="BERT")
    with pytest.raises(ValueError, match="2 rows, and model names 1"):
        table_dots(ONE, model=["specimen"])
    with pytest.raises(ValueError, match="name the models in their headers"):
        table_dots(TABLE, model="specimen")


def test_a_long_key_begins_further_to_the_left_and_is_seen_to_its_end():
    header = ["name", "first of three", "second of three", "third of three"]
    svg = table_dots(TextTable(header, [["a row with a very long name", "1", "2", "3"]], "Numbers.")).svg
    places = {word: float(x) for x, word in re.findall(r'<text x="([\d.]+)"[^>]*>(\w+ of three)<', svg)}
    width = float(re.search(r'viewBox="0 0 ([\d.]+)', svg)[1])
    assert list(places) == header[1:]
    for word, x in places.items():
        assert x + text_width(word, _EM) <= width, word


def test_an_interval_beyond_the_ends_is_said_and_not_drawn():
    rows = [["a", "1.0 [0.5, 1.5]"], ["b", "2.0 [-150, 3.0]"], ["c", "-90 [-91, -89]"]]
    table = TextTable(["task", "layer"], rows, "Three.")
    wide, narrow = table_dots(table), table_dots(table, within=(-6, 12))
    assert len(forms(table)) == 3 and len(forms(table, within=(-6, 12))) == 2
    assert "[\u2212150, 3.0]" in narrow.svg and "\u221290 [\u221291, \u221289]" in narrow.svg
    assert re.search(r">\D?100<", wide.svg) and not re.search(r">\D?100<", narrow.svg)
    assert table_dots(table, within=(-200, 12)).svg == wide.svg


def test_a_key_too_long_for_its_line_has_two():
    columns = ["specimen [95 %]", "random twin [95 %]", "word list, each form", "commonest label of all"]
    svg = table_dots(TextTable(["task", *columns], [["POS", "1", "2", "3", "4"]], "F1."), together=True).svg
    for name in columns:
        x, y = map(
            float, re.search(rf'<text x="([\d.]+)" y="([\d.]+)"[^>]*>{re.escape(name)}<', svg).groups()
        )
        assert x + text_width(name, _EM) <= 1180
    assert y > 2 * _EM  # the last one stands below the first


def test_an_axis_that_ends_at_zero_ends_without_a_sign():
    svg = table_dots(TextTable(["pair", "r"], [["a", "-0.94"], ["b", "-0.40"]], "Two.")).svg
    ticks = re.findall(r'text-anchor="middle"[^>]*>([^<]+)<', svg)
    assert ticks == ["\u22121.0", "\u22120.8", "\u22120.6", "\u22120.4", "\u22120.2", "0"]


def test_an_interval_is_as_dark_as_its_mark_and_a_row_has_minus_signs_too():
    svg = table_dots(TextTable(["given", "share"], [["against: -1 -1", "0.5 [0.4, 0.6]"]], "One.")).svg
    interval = re.search(r'<path d="M[\d.]+ [\d.]+H[\d.]+" stroke="(#[0-9a-fA-F]+)" stroke-width="4"/>', svg)
    assert interval and f'stroke="{interval[1]}" stroke-width' in svg.replace(interval[0], "")
    assert ">against: \u22121 \u22121<" in svg
