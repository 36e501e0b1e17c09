"""A table drawn as dots: the numbers are those of its cells, and the marks stand where they say."""

from __future__ import annotations

import pytest
from matplotlib.colors import to_rgba

from bertlook_course.render import Estimate, TextTable, table_bars, table_dots
from bertlook_course.render.drawing.marks import FORMS, MODELS, OTHERS
from bertlook_course.render.results.dots import dots_figure
from bertlook_teach.views.drawing.palette import PAPER

TABLE = TextTable(
    ["head", "specimen", "random twin"],
    [["1-2", Estimate(0.5, 0.25, 0.75, after=" in 1-2"), Estimate(0.1)], ["2-1", Estimate(1.0), "-"]],
    "Two heads.",
)


@pytest.mark.parametrize(
    ("cell", "printed"),
    [
        (Estimate(0.981, 0.97, 0.99, after=" in 1-6"), "0.98 [0.97, 0.99] in 1-6"),
        (Estimate(0.85, 0.83, 0.86, before="1-5: ", short=True), "1-5: .85 [.83, .86]"),
        (Estimate(13.2, 9.3, 15.7, ".1f", "({} to {})"), "13.2 (9.3 to 15.7)"),
        (Estimate(3, -1, 7, "+.0f"), "+3 [-1, +7]"),
        (Estimate(-0.001, short=True), ".00"),
        (Estimate(26.3, form=".1f", after=" (+1)"), "26.3 (+1)"),
        (Estimate(20, form=".0f", after=" %"), "20 %"),
    ],
)
def test_a_number_is_printed_once_and_as_it_is_told(cell, printed):
    assert str(cell) == f"{cell}" == printed
    assert printed in TextTable(["a", "b"], [["row", cell]])._repr_html_().replace("\u2212", "-")


def figure(table, columns=None, **how):
    return dots_figure(table, list(table.header)[1:] if columns is None else columns, **how)


def dots(table, columns=None, **how):
    """The marks of a picture from its first row to its last: column, place on the scale, row, form, hollow."""
    return [
        (
            str(mark.get_label())[1:],
            *(float(place[0]) for place in mark.get_data()),
            NAMES[mark.get_marker(), mark.get_color()],
            mark.get_markerfacecolor() == PAPER,
        )
        for mark in figure(table, columns, **how).axes[0].lines
        if len(mark.get_xdata()) == 1
    ]


def words(drawn):
    return [text.get_text() for text in drawn.axes[0].child_axes[0].get_yticklabels()]


NAMES = {(FORMS[mark.form], mark.colour): name for name, mark in MODELS.items()}
NAMES[FORMS[OTHERS[0].form], OTHERS[0].colour] = None


def test_the_scale_has_the_number_and_not_its_print():
    [(_, place, *_)] = dots(TextTable(["a", "b"], [["x", Estimate(0.4, form=".0f")]]))
    assert place == 0.4


def test_marks_stand_on_the_scale_where_the_numbers_are():
    assert [(place, row) for _, place, row, *_ in dots(TABLE, ["specimen"])] == [(0.5, 0), (1.0, 1)]
    [interval] = [line for line in figure(TABLE, ["specimen"]).axes[0].lines if len(line.get_xdata()) == 2]
    assert list(interval.get_xdata()) == [0.25, 0.75] and list(interval.get_ydata()) == [0, 0]
    assert interval.get_color() == MODELS["specimen"].colour


def test_the_first_row_stands_on_top_and_columns_of_a_row_below_one_another():
    drawn = figure(TABLE)
    bottom, top = drawn.axes[0].get_ylim()
    assert bottom > top and [text.get_text() for text in drawn.axes[0].get_yticklabels()] == ["1-2", "2-1"]
    first, twin, second = (row for _, _, row, *_ in dots(TABLE))
    assert first < 0 < twin < 0.5 < second < 1


def test_the_twin_is_a_square_and_what_was_not_measured_has_no_mark():
    assert [(column, model) for column, _, _, model, _ in dots(TABLE)] == [
        ("specimen", "specimen"),
        ("random twin", "random twin"),
        ("specimen", "specimen"),
    ]
    assert words(figure(TABLE)) == ["0.50 [0.25, 0.75] in 1-2", "0.10", "1.00", "\u2014"]
    assert [text.get_text() for text in figure(TABLE).legends[0].texts] == ["specimen", "random twin"]


def test_a_level_to_compare_with_is_inside_the_scale_and_named():
    axes = figure(TABLE, ["specimen"], line=("twice", 2.0)).axes[0]
    assert "twice" in [one.get_text() for one in axes.texts] and axes.get_xlim() == (0, 2)
    assert list(axes.lines[-1].get_xdata()) == [2, 2]
    assert "twice" in [text.get_text() for text in figure(TABLE, line=("twice", 2.0)).legends[0].texts]


def test_the_table_goes_along():
    picture = table_dots(TABLE)
    assert picture.sentence == "Two heads." and picture.numbers == (TABLE,)


def test_together_a_row_is_one_line():
    long = TextTable(TABLE.header, list(TABLE.rows) * 5)
    apart, joined = (figure(long, together=flag) for flag in (False, True))
    assert joined.get_figheight() < apart.get_figheight() and not joined.axes[0].child_axes
    assert {row for _, _, row, *_ in dots(long, together=True)} == set(range(10))


def forms(table, **how):
    return [(model, hollow) for *_, model, hollow in dots(table, **how)]


ONE = TextTable(["head", "share"], [["3-1", 0.98], ["by chance", 0.02]], "One column.")


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


def test_an_interval_beyond_the_ends_is_said_and_not_drawn():
    rows = [["a", Estimate(1, 0.5, 1.5)], ["b", Estimate(2, -150, 3)], ["c", Estimate(-90, -91, -89, ".0f")]]
    table = TextTable(["task", "layer"], rows, "Three.")
    wide, narrow = figure(table), figure(table, within=(-6, 12))
    assert len(forms(table)) == 3 and len(forms(table, within=(-6, 12))) == 2
    assert words(narrow) == words(wide) and words(narrow)[2] == "\u221290 [\u221291, \u221289]"
    assert wide.axes[0].get_xlim()[0] <= -150 and narrow.axes[0].get_xlim()[0] >= -6
    assert len(forms(table, within=(-200, 12))) == 3


def test_a_key_too_long_for_its_line_has_more_and_is_seen_to_its_end():
    from matplotlib.backends.backend_agg import FigureCanvasAgg

    columns = ["specimen [95 %]", "random twin [95 %]", "word list, each form", "commonest label of all"]
    drawn = figure(TextTable(["task", *columns], [["POS", 1, 2, 3, 4]], "F1."), together=True)
    drawn.draw_without_rendering()
    boxes = [text.get_window_extent(FigureCanvasAgg(drawn).get_renderer()) for text in drawn.legends[0].texts]
    assert all(0 <= box.x0 < box.x1 <= drawn.bbox.width for box in boxes)
    assert len({round(box.y0) for box in boxes}) == 2


def test_an_axis_that_ends_at_zero_ends_without_a_sign():
    axes = figure(TextTable(["pair", "r"], [["a", -0.94], ["b", -0.4]], "Two.")).axes[0]
    ticks = [text.get_text() for text in axes.get_xticklabels()]
    assert ticks == ["\u22121.0", "\u22120.8", "\u22120.6", "\u22120.4", "\u22120.2", "0"]


def test_a_row_has_minus_signs_too_and_dollars_stay_dollars():
    table = TextTable(
        ["given", "share"], [["against: -1 -1", Estimate(0.5, 0.4, 0.6)], ["$a$ <b>", 0.5]], "One."
    )
    svg = table_dots(table).svg
    assert ">against: \u22121 \u22121<" in svg and ">$a$ &lt;b&gt;<" in svg


# --- bars ----------------------------------------------------------------------------------------------


def bars(table, **options):
    return dots_figure(table, table.header[1:], bars=True, **options).axes[0].patches


def test_a_bar_is_as_long_as_its_number_and_begins_at_0_or_at_the_line():
    table = TextTable(["head", "share"], [["1-2", 0.75], ["2-1", Estimate(0.5, 0.4, 0.6)], ["3-1", "-"]])
    assert [(bar.get_x(), bar.get_width()) for bar in bars(table)] == [(0, 0.75), (0, 0.5)]
    assert [(bar.get_x(), bar.get_width()) for bar in bars(table, line=("chance", 0.5))] == [
        (0.5, 0.25),
        (0.5, 0),
    ]
    assert "2-1" in repr(table_bars(table).numbers[0])


def test_a_measure_beside_its_baseline_looks_like_the_model_of_its_row_and_the_baseline_lies_behind():
    table = TextTable(
        ["model", "accuracy", "best offset"], [["BERT-base, printed", 40, 30], ["specimen", 20, 30]]
    )
    accuracy, offset, hollow, *_ = bars(table, together=True)
    assert accuracy.get_facecolor() == to_rgba(MODELS["BERT-base"].colour)
    assert hollow.get_facecolor() == to_rgba(PAPER) and hollow.get_edgecolor() == to_rgba(
        MODELS["specimen"].colour
    )
    assert offset.get_height() > accuracy.get_height() and offset.get_zorder() < accuracy.get_zorder()
    nameless = TextTable(["relation", "accuracy", "best offset"], [["det", 40, 30]])
    assert bars(nameless, model="BERT-base")[0].get_facecolor() == accuracy.get_facecolor()


def test_the_key_of_bars_shows_the_bars():
    table = TextTable(["relation", "mean", "first"], [["det", 40, 30]])
    figure = dots_figure(table, ["mean", "first"], bars=True)
    drawn = [bar.get_facecolor() for bar in figure.axes[0].patches[:2]]
    assert [handle.get_facecolor() for handle in figure.legends[0].get_patches()] == drawn
