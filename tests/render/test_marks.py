"""One colour and one form for a model, whatever the picture."""

from __future__ import annotations

import io
import re

import numpy as np
import pytest
from matplotlib.colors import to_hex

from bertlook_course.render import (
    TextTable,
    depth_figure,
    fraction_bars,
    gain_figure,
    layer_curves,
    points_figure,
    prediction_figure,
    pruning_figure,
    relation_bars_figure,
)
from bertlook_course.render.drawing.marks import FORMS, MODELS, OTHERS, marks_of
from bertlook_course.render.results.dots import dots_figure
from bertlook_teach.views.drawing import palette
from bertlook_teach.views.drawing.palette import model_of

NAMES = {
    "specimen": "specimen",
    "its random twin": "random twin",
    "BERT-base (published)": "BERT-base",
    "chance": "baseline",
}
SHARES = np.array([0.2, 0.1, 0.3, 0.1, 0.3])


def lines(figure):
    """Name to the line of matplotlib: its label, or, where a panel is one model, the panel's title."""
    found = {}
    for axes in figure.axes:
        title = axes.get_title() or axes.get_title(loc="left")
        for line in axes.lines:
            if line.get_marker() not in ("", "None", None):
                found[title if model_of(title) else line.get_label()] = line
    return found


def looks(line):
    face = to_hex(line.get_markerfacecolor())
    return to_hex(line.get_color()), line.get_marker(), face == to_hex(line.get_color())


def figures():
    triples = {name: (SHARES, SHARES - 0.05, SHARES + 0.05) for name in NAMES}
    yield "curves over layers", layer_curves({name: SHARES for name in NAMES})
    yield "curves over depth", depth_figure(triples)
    yield "points", points_figure({name: [("rule", 0.4, 0.3, 0.5)] for name in NAMES})
    yield "predictions", prediction_figure({name: (np.eye(2), np.eye(2)) for name in NAMES})
    yield "pruning", pruning_figure([0, 0.5, 1], {"one": {name: SHARES[:3] for name in NAMES}})


@pytest.mark.parametrize(
    ("kind", "figure"), [*figures()], ids=lambda given: given if isinstance(given, str) else ""
)
def test_a_model_looks_the_same_in_every_figure(kind, figure):
    found = lines(figure)
    assert set(found) == set(NAMES), kind
    for name, model in NAMES.items():
        mark = MODELS[model]
        assert looks(found[name]) == (mark.colour.lower(), FORMS[mark.form], mark.filled), (kind, name)


def test_a_row_of_points_that_names_another_model_is_drawn_as_that_model():
    points = [("nearest", 0.5, None, None), ("best head of the random twin", 0.2, 0.1, 0.3)]
    [axes] = points_figure({"specimen": points}).axes
    drawn = [line for line in axes.lines if line.get_marker() not in ("", "None", None)]
    for line, model in zip(drawn, ("specimen", "random twin"), strict=True):
        mark = MODELS[model]
        assert looks(line) == (mark.colour.lower(), FORMS[mark.form], mark.filled), model


def test_gains_are_those_of_the_specimen_and_of_bert():
    found = lines(
        gain_figure({"specimen": {"det": (3.0, 1.0, 5.0)}, "BERT-base, published": {"det": 40.0}}, ["det"])
    )
    for name, model in (("specimen", "specimen"), ("BERT-base, published", "BERT-base")):
        assert looks(found[name]) == (MODELS[model].colour.lower(), "o", MODELS[model].filled)


def test_the_dots_of_a_table_know_models_in_columns_and_in_rows():
    across = TextTable(["task", *NAMES], [["POS", 0.1, 0.2, 0.3, 0.4]], "Four.")
    down = TextTable(["model", "share"], [[name, 0.2] for name in NAMES], "Four.")
    for table, each in ((across, 2), (down, 1)):  # the key and the dot; the dot
        drawn = dots_figure(table, table.header[1:]).axes[0].lines
        for model in NAMES.values():
            mark = MODELS[model]
            look = (FORMS[mark.form], mark.colour, mark.colour if mark.filled else palette.PAPER)
            seen = [(one.get_marker(), one.get_color(), one.get_markerfacecolor()) for one in drawn]
            assert seen.count(look) == each, model


def test_bars_have_the_colour_of_their_model_and_the_specimens_are_hollow():
    svg = fraction_bars({"specimen": SHARES, "its random twin": SHARES}).svg
    for model in ("specimen", "random twin"):
        mark = MODELS[model]
        fill = mark.colour if mark.filled else palette.PAPER
        look = f"fill: {fill.lower()}; stroke: {mark.colour.lower()}"
        assert svg.count(look) == 6, model  # five classes and the key
    panels = {name: {"det": (50.0, 40.0, 60.0, 30.0)} for name in ("specimen", "BERT-base")}
    for axes in relation_bars_figure(panels).axes:
        mark = MODELS[axes.get_title(loc="left")]
        bar = axes.containers[-1].patches[0]
        assert to_hex(bar.get_edgecolor()) == mark.colour.lower()
        assert to_hex(bar.get_facecolor()) == (mark.colour if mark.filled else palette.PAPER).lower()


@pytest.mark.parametrize("badge", ["specimen", "random twin", "BERT-base, recorded", "my-bert"])
def test_the_badge_of_a_heat_map_has_the_colour_of_its_model_and_can_be_read(badge):
    from bertlook_teach.views import render_head_map

    chip = re.search(
        r'<rect[^>]*rx="[^"]*" fill="([^"]*)" stroke="([^"]*)"[^>]*/>\s*<text[^>]*? fill="([^"]*)"',
        render_head_map([[0.1, 0.2]]).with_badge(badge).svg,
    )
    fill, stroke, ink = chip.groups()
    assert palette.contrast(fill, ink) >= 4.5
    model = model_of(badge)
    assert stroke == (palette.BADGES[model][1] if model else palette.INK)


def test_what_is_no_model_is_never_drawn_as_one_and_two_series_of_a_model_differ():
    looks_ = [(mark.colour, mark.form, mark.filled) for mark in (*MODELS.values(), *OTHERS)]
    assert len(set(looks_)) == len(looks_)
    marks = marks_of(["specimen", "POS", "specimen, shuffled", "SRL", "random twin"])
    assert len(set(marks)) == 5 and marks[0] == MODELS["specimen"] and marks[-1] == MODELS["random twin"]
    assert not {*marks[1:4]} & {*MODELS.values()}


@pytest.mark.parametrize(
    ("name", "model"),
    [
        ("specimen [95 %]", "specimen"),
        ("the twin's best head", "random twin"),
        ("BERT-large", None),
        ("RoBERTa", None),
        ("by chance", "baseline"),
        ("a chancel", None),
    ],
)
def test_a_model_is_known_by_its_name(name, model):
    assert model_of(name) == model


def test_a_key_shows_dollars_and_names_that_begin_with_a_line_as_they_are():
    figure = layer_curves({"cost in $5 and $6": [0.1, 0.2], "_own": [0.2, 0.1], "$$": [0.3, 0.3]})
    figure.savefig(io.BytesIO(), format="svg")
    [legend] = figure.legends
    assert [text.get_text().strip() for text in legend.get_texts()] == ["cost in $5 and $6", "_own", "$$"]
    assert not any(text.get_parse_math() for text in legend.get_texts())
