"""Heads by kind, distances sorted by group, rows and their mixture: what each mark stands for, and what is refused."""

from __future__ import annotations

import itertools
import re

import numpy as np
import pytest
from made import refusals

from bertlook_course.render import (
    interval_curves,
    map_beside,
    render_head_kinds,
    row_pairs_figure,
    same_maps_figure,
    shepard_figure,
    sorted_distances_figure,
    stress_figure,
    token_sums_figure,
)
from bertlook_teach.views import MISSING, OKABE_ITO

SMALL = np.array([["next", "unlabelled"], ["[SEP]", "next"]], dtype=object)
LARGE = np.full((4, 5), "broad", dtype=object)


def cells(svg):
    """(x, y, width, height, fill) of each cell, by its head."""
    found = re.findall(
        r"<title>head (\S+): ([^<]+)</title><rect x=\"([\d.]+)\" y=\"([\d.]+)\" width=\"([\d.]+)\" height=\"([\d.]+)\""
        r'[^>]*fill="(#\w+)"',
        svg,
    )
    return [(head, kind, *map(float, box), fill) for head, kind, *box, fill in found]


def test_a_cell_for_each_head_has_the_colour_and_the_shape_of_its_kind():
    drawn = render_head_kinds(
        {"specimen": (SMALL, ["half"]), "other": (LARGE, [])}, "Two models.", key=["next"]
    )
    found = cells(drawn.svg)
    assert [(head, kind) for head, kind, *_ in found[:4]] == [
        ("1-1", "next"), ("1-2", "unlabelled"), ("2-1", "[SEP]"), ("2-2", "next"),
    ]  # fmt: skip
    assert [fill for *_, fill in found[:4]] == [
        OKABE_ITO["vermillion"], MISSING, OKABE_ITO["orange"], OKABE_ITO["vermillion"],
    ]  # fmt: skip
    shapes = drawn.svg.count("<path transform=")
    assert shapes == 3 + 20 + 1  # none for the head without a label; one in the key
    assert ">half</text>" in drawn.svg and ">specimen</text>" in drawn.svg


@pytest.mark.parametrize("heads", [(16, 16, 16), (6, 6, 12, 12), (12, 6)])
def test_all_grids_are_as_high_and_stand_apart_inside_the_picture(heads):
    names = ["a model with a long name", "b", "c", "d"]
    wide = {
        name: (np.full((6 * (k + 1), n), "next", dtype=object), ["no label: 100 %"])
        for k, (name, n) in enumerate(zip(names, heads))
    }
    found = cells(render_head_kinds(wide, "Three.").svg)
    sizes = [len(kinds.ravel()) for kinds, _ in wide.values()]
    panels = [found[sum(sizes[:k]) : sum(sizes[: k + 1])] for k in range(len(sizes))]
    tops, ends = zip(*((min(c[3] for c in p), max(c[3] + c[5] for c in p)) for p in panels))
    assert tops == pytest.approx([tops[0]] * len(sizes), abs=1) and ends == pytest.approx(
        [ends[0]] * len(sizes), abs=1
    )
    for before, after in itertools.pairwise(panels):
        assert max(c[2] + c[4] for c in before) + 38 < min(c[2] for c in after)
    assert max(c[2] + c[4] for c in panels[-1]) <= 1180


@pytest.mark.parametrize(
    ("groups", "order", "names"),
    [
        (np.array([1, 0, 1]), [1, 0, 2], ["1", "2"]),  # layers count from 1 in print
        (np.array(["broad", "next", "broad"]), [1, 0, 2], ["next", "broad"]),  # as a key names kinds
    ],
)
def test_distances_are_sorted_by_group(groups, order, names):
    matrix = np.array([[0, 0.1, 0.2], [0.1, 0, 0.3], [0.2, 0.3, 0]])
    axes = sorted_distances_figure({"all": (matrix, groups, "within 0.2")}).axes[0]
    assert np.asarray(axes.images[0].get_array()) == pytest.approx(matrix[np.ix_(order, order)])
    assert [label.get_text() for label in axes.get_yticklabels()] == names
    assert axes.get_xlabel() == "within 0.2" and axes.images[0].get_clim() == (0, 0.3)


def test_the_mixture_of_two_rows_is_a_tick_on_each_key():
    axes = row_pairs_figure({"half": ([1, 0], [0.5, 0.5], "0.216 nats")}).axes[0]
    one, other = ([bar.get_height() for bar in bars] for bars in axes.containers)
    [ticks] = [[segment[0, 1] for segment in lines.get_segments()] for lines in axes.collections]
    assert (one, other, ticks) == ([1, 0], [0.5, 0.5], [0.75, 0.25])


def test_bars_of_tokens_share_one_scale_up_to_the_most_there_can_be():
    left, right = token_sums_figure(
        ["a", "b"], {"1-1 and 2-1": [0.1, 0.0], "far": [0.69, 0.6]}, limit=np.log(2)
    ).axes
    assert [bar.get_height() for bar in left.patches] == [0.1, 0.0] and left.get_ylim() == right.get_ylim()
    assert left.get_ylim()[1] > np.log(2)


def test_a_pair_on_the_dotted_line_is_drawn_as_it_was_measured():
    points = np.array([[0, 0], [3, 4], [0, 8]])
    measured = np.linalg.norm(points[:, None] - points, axis=-1)
    level, pairs = shepard_figure(measured, points).axes[0].lines
    assert pairs.get_xdata() == pytest.approx(pairs.get_ydata()) and len(pairs.get_xdata()) == 3
    assert level.get_xdata() == pytest.approx(level.get_ydata())


def test_stress_falls_from_left_to_right_beside_a_level():
    axes = stress_figure({"specimen": [0.3, 0.1]}, ["1-D", "2-D"], ("poor", 0.2)).axes[0]
    assert axes.lines[0].get_ydata() == pytest.approx([0.3, 0.1]) and axes.get_ylim()[0] == 0
    assert axes.lines[1].get_ydata() == pytest.approx([0.2, 0.2])


def test_two_maps_stand_beside_what_their_heads_add():
    left, _, cosines = same_maps_figure({"4-4": np.eye(2), "4-6": np.eye(2)}, ["a", "b"], [0.5, -0.1]).axes
    assert [bar.get_width() for bar in cosines.patches] == [0.5, -0.1] and cosines.get_xlim() == (-1, 1)
    assert [label.get_text() for label in left.get_yticklabels()] == ["a", "b"] and left.get_title() == "4-4"


def curve():
    return interval_curves({"specimen": ([0.1, 0.2],) * 3})


def test_a_map_stands_at_the_right_of_a_curve_that_keeps_its_figure():
    figure = curve()
    size = tuple(figure.get_size_inches())
    map_beside(figure, np.eye(3), ["[CLS]", "a", "[SEP]"], "layer 8")
    figure.canvas.draw()
    left, right = (axes.get_position() for axes in figure.axes)
    assert left.x1 < right.x0 and left.width > right.width and tuple(figure.get_size_inches()) == size
    assert [label.get_text() for label in figure.axes[1].get_yticklabels()] == ["[CLS]", "a", "[SEP]"]


test_what_is_refused = refusals(
    (lambda: render_head_kinds({}, "None."), "at least one model"),
    (lambda: render_head_kinds({"a": (["next"], ())}, "Flat."), r"shape \(layer, head\); got \{'a': \(1,\)\}"),
    (lambda: sorted_distances_figure({}), "one group for each head"),
    (lambda: sorted_distances_figure({"a": (np.eye(3), [0, 1], "")}), r"got \[\(\(3, 3\), 2\)\]"),
    (lambda: row_pairs_figure({"a": ([1.0], [0.5, 0.5], "")}), r"the same keys in both; got \[\(\(1,\), \(2,\)\)\]"),
    (lambda: token_sums_figure(["a"], {"x": [1, 2]}, limit=1), r"a number for each; got \[2\]"),
    (lambda: map_beside(curve(), np.eye(2), ["a"], ""), "1 words for 2 rows"),
)  # fmt: skip
