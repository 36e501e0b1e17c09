"""The numbers of a matplotlib figure as tables, and their way into a handout."""

import re
from dataclasses import replace

import numpy as np
from matplotlib.figure import Figure
from matplotlib.text import Text

from bertlook_course.render import MOST_ROWS, figure_numbers, figure_picture, interval_curves
from bertlook_press.classroom import render_handout
from bertlook_press.pages import record
from bertlook_teach.views import picture_key


def axes_of(**labels):
    axes = Figure().subplots()
    axes.set(**labels)
    return axes


def test_curves_share_their_places_and_a_missing_one_is_a_dash():
    axes = axes_of(xlabel="layer", title="Loss")
    axes.plot([1, 2, 3], [0.5, 0.25, 0.125], label="specimen")
    axes.plot([2, 3], [30, 20], label="twin")
    axes.axhline(0.1, label="chance")
    (table,) = figure_numbers(axes.figure)
    assert list(table.header) == ["layer", "specimen", "twin"]
    assert table.rows == [["1", "0.500", "–"], ["2", "0.250", "30.00"], ["3", "0.125", "20.00"]]
    assert table.caption == "Loss; chance: 0.100"


def test_bars_have_the_names_of_their_ticks_whichever_way_they_lie():
    for draw in ("bar", "barh"):
        axes = axes_of()
        getattr(axes, draw)(["prep", "<pobj>"], [0.4, 0.9])
        axes.figure.draw_without_rendering()
        (table,) = figure_numbers(axes.figure)
        assert table.rows == [["prep", "0.400"], ["<pobj>", "0.900"]]
        assert "<pobj>" not in table._repr_html_()


def test_points_are_pairs_and_too_many_have_no_table():
    axes = axes_of(xlabel="predicted", ylabel="true")
    axes.scatter([1, 2], [3, 4])
    (table,) = figure_numbers(axes.figure)
    assert (list(table.header), table.rows) == (
        ["predicted", "true"],
        [["1.000", "3.000"], ["2.000", "4.000"]],
    )
    axes = axes_of()
    axes.scatter(np.arange(MOST_ROWS + 1), np.arange(MOST_ROWS + 1))
    axes.plot(np.arange(MOST_ROWS + 1), np.arange(MOST_ROWS + 1), label="long")
    axes.imshow(np.eye(3))
    assert figure_numbers(axes.figure) == ()


def test_a_picture_of_a_figure_brings_its_numbers_to_the_handout_and_leaves_the_slide_as_it_is():
    means = {"specimen": (np.array([0.2, 0.4]), np.array([0.1, 0.3]), np.array([0.3, 0.5]))}
    picture = figure_picture(interval_curves(means, ylabel="share"), "Two layers.")
    (table,) = picture.numbers
    assert [row[1] for row in table.rows] == ["0.200", "0.400"]
    markup = picture._repr_html_()
    assert markup == replace(picture, numbers=())._repr_html_() and "0.400" not in markup
    tables = record([])["tables"]
    assert "0.400" in tables[picture_key(markup)][0]
    sheet = render_handout(notebook(markup), title="t", tables=tables)
    assert sheet.count('class="numbers"') == 1 and "0.400" in sheet
    bare = render_handout(notebook(markup), title="t")
    assert "numbers behind this picture" in bare and "numbers behind this picture" not in sheet


def notebook(markup):
    from nbformat.v4 import new_code_cell, new_notebook, new_output

    shown = new_output("execute_result", {"text/html": markup}, execution_count=1)
    cell = new_code_cell("picture", outputs=[shown], metadata={"slideshow": {"slide_type": "slide"}})
    return new_notebook(cells=[cell])


def test_lines_of_one_label_share_their_middle_whatever_the_typeface():
    figure = Figure(layout="constrained")
    axes = figure.subplots()
    axes.set(xlabel="0.69 nats\nnormalised 0.33", ylabel="share", title="one line")
    svg = figure_picture(figure, "Two lines.").svg
    written = re.findall(
        r'text-anchor: (\w+)" x="([\d.]+)"[^>]*>(0\.69 nats|normalised 0\.33|one line)<', svg
    )
    assert [words for _, _, words in written] == ["0.69 nats", "normalised 0.33", "one line"]
    assert {anchor for anchor, _, _ in written} == {"middle"} and len({x for _, x, _ in written}) == 1
    assert not any("draw" in vars(text) for text in figure.findobj(Text))  # the figure is as it was
