"""Bars that balance, gains by layer, orders, rivals: each mark stands for its number."""

from __future__ import annotations

import re

import numpy as np
import pytest
from made import refusals

from bertlook_course.render import (
    LayerBars,
    added_figure,
    layer_bars_figure,
    mixed_figure,
    orders_figure,
    render_gain_grid,
    rivals_figure,
    two_orders_figure,
)
from bertlook_teach.views import SELECTED


def test_bars_stand_on_their_layers_and_the_triangle_where_they_balance():
    gains = LayerBars([0.5, 0.25, 0.25], 1, 1.75, "expected layer 1.75")
    axes = layer_bars_figure({"gain": gains, "share": LayerBars([0.5, 0.5])}).axes
    middles = [bar.get_x() + bar.get_width() / 2 for bar in axes[0].patches]
    heights = np.array([bar.get_height() for bar in axes[0].patches])
    assert middles == pytest.approx([1, 2, 3]) and axes[0].get_xlabel() == "expected layer 1.75"
    [triangle] = axes[0].lines
    assert triangle.get_marker() == "^" and triangle.get_xdata() == pytest.approx(
        [middles @ heights / heights.sum()]
    )
    assert not axes[1].lines  # nothing to mark
    assert [bar.get_x() + bar.get_width() / 2 for bar in axes[1].patches] == pytest.approx([0, 1])


def test_a_model_is_drawn_in_its_look_and_its_twin_as_squares():
    panel = LayerBars([0.7, 0.3], twin=[0.5, 0.5], at=0.3)
    axes = layer_bars_figure({"POS": panel}, model="specimen").axes[0]
    assert axes.patches[0].get_facecolor() == (1, 1, 1, 1)  # hollow
    assert axes.lines[0].get_marker() == "s" and axes.lines[0].get_ydata().tolist() == [0.5, 0.5]
    green = layer_bars_figure({"BERT-base, 12 layers": LayerBars([1.0, 0.0])}).axes[0].patches[0]
    assert green.get_facecolor()[:3] == pytest.approx((0, 158 / 255, 115 / 255))


def test_a_grid_of_gains_writes_what_is_not_small_and_marks_the_expected_layer():
    drawn = render_gain_grid(
        {"POS": [0.9, 0.14, -0.04], "SPR": [0.4, 0.4, 0.2]}, {"POS": 1.14, "SPR": np.nan}, "Two."
    )
    said = dict(re.findall(r"<title>([A-Z]+, layer \d): ([^<]+)</title>", drawn.svg))
    assert said["POS, layer 1"] == "90 %" and said["POS, layer 3"] == "−4 %"
    assert re.findall(r">(−?\d+)</text>", drawn.svg)[3:] == [
        "90",
        "14",
        "40",
        "40",
        "20",
    ]  # after the layers' numbers
    tips = re.findall(rf'<path d="M([\d.]+) [^"]*" fill="{SELECTED}"', drawn.svg)
    middles = [
        float(x) + float(w) / 2
        for x, w in re.findall(r'layer \d: [^<]*</title><rect x="([\d.]+)"[^>]*width="([\d.]+)"', drawn.svg)
    ]
    assert len(tips) == 1  # no place where none is known
    assert float(tips[0]) == pytest.approx(middles[0] + 0.14 * (middles[1] - middles[0]), abs=0.3)


def test_a_task_that_moves_far_is_drawn_thick():
    left = {"a": 1, "b": 2, "c": 3, "d": 4}
    axes = two_orders_figure(left, {"a": 9, "b": 2, "c": 3, "d": 4}, ("one", "other")).axes[0]
    places = {line.get_label(): (line.get_ydata().tolist(), line.get_linewidth()) for line in axes.lines}
    assert places["_a"] == ([0, 3], 4) and places["_d"] == ([3, 2], 2)
    assert {"a 1.00", "9.00 a"} <= {text.get_text() for text in axes.texts}


def test_the_expected_order_is_framed_whether_it_is_frequent_or_not():
    axes = orders_figure({"a = b": 0.9, "a < b": 0.1, "b < a": 0.0}, "a < b", "").axes[0]
    frames, bars = axes.patches[::2], axes.patches[1::2]
    assert [bar.get_width() for bar in bars] == [0.9, 0.1, 0.0]
    assert [frame.get_linewidth() for frame in frames] == [1, 3, 1]
    assert [text.get_text() for text in axes.texts] == ["90 %", "10 %", "0 %"]


def test_a_rise_goes_from_its_tick_to_its_mark():
    axes = added_figure({"POS": (80, 90), "SPR": (50, 49)}, "specimen", "F1").axes[0]
    rises = [line.get_xdata().tolist() for line in axes.lines if line.get_label() == "_rise"]
    assert rises == [[80, 90], [50, 49]]
    after = [line for line in axes.lines if line.get_label() == "_after"]
    assert [line.get_xdata().tolist() for line in after] == [[90], [49]]
    assert after[0].get_marker() == "o" and after[0].get_markerfacecolor() == "#ffffff"


def test_rivals_have_bars_with_their_intervals():
    panels = {
        "POS": {"specimen": (90, 88, 91), "word list": (75, 75, 75)},
        "SPR": {"specimen": (70, 60, 80), "word list": None},
    }
    pos, spr = rivals_figure(panels, "F1").axes
    assert [bar.get_width() for bar in pos.patches] == [90, 75] and len(spr.patches) == 1
    assert [line.get_xdata().tolist() for line in pos.lines] == [[88, 91]]
    assert [text.get_text() for text in pos.texts] == ["90", "75"]


def test_rivals_that_differ_are_named_in_their_own_panel():
    own = {"word": {"specimen": (46, 37, 56), "commonest": (11, 11, 11)}, "pair": {"guessing": (50, 50, 50)}}
    word, pair = rivals_figure(own, "per cent").axes
    assert [label.get_text() for label in word.get_yticklabels()] == ["specimen", "commonest"]
    assert [label.get_text() for label in pair.get_yticklabels()] == ["guessing"]


def test_a_mix_is_an_arrow_among_those_of_its_layers():
    axes = mixed_figure([[6, 0], [0, 3]], {"even": [3, 1.5]}).axes[0]
    ends = [text.xy for text in axes.texts if hasattr(text, "xy")]
    assert [tuple(map(float, end)) for end in ends] == [(6, 0), (0, 3), (3, 1.5)]
    assert axes.get_title() == "even: (3.00, 1.50)"


test_what_is_refused = refusals(
    (lambda: layer_bars_figure({}), "at least one panel"),
    (lambda: layer_bars_figure({"a": LayerBars([1, 2], twin=[1])}), r"2 of them; got \(1,\)"),
    (lambda: render_gain_grid({"a": [1], "b": [1, 2]}, {}, ""), "tasks of the same layers"),
    (lambda: two_orders_figure({"a": 1}, {"b": 1}, ("", "")), "only one has a, b"),
    (lambda: orders_figure({"a": 1}, "b", ""), "no bar 'b' to outline; there are 'a'"),
)
