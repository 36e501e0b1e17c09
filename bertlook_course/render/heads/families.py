"""Distances between heads as figures for print: the map, the tree of families beside all distances, and what families hold."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Mapping, Sequence

import numpy as np

from bertlook_teach.views import (
    INK,
    PAPER,
    RULE,
    as_array,
    magnitude_colour,
)

from ..drawing.figures import styled_figure
from ..drawing.text_table import Estimate, TextTable
from .distance_map import _MARKERS, DISTANCE_UNIT, group_styles


# --- figures for print ------------------------------------------------------------------------------------------
def distance_map_figure(
    maps: Mapping[str, tuple[object, Sequence[str]]],
    *,
    size: tuple[float, float] = (9.8, 4.6),
    font_size: float = 18,
):
    """Maps side by side on one scale, each with its own directions, and one legend.

    Parameters
    ----------
    maps : mapping of title to (points of shape (head, 2), groups, one for each head)
        They are not turned onto each other; see `bertlook_course.metrics.procrustes` for when that may be done.

    Returns
    -------
    matplotlib.figure.Figure
    """
    if not maps:
        raise ValueError("a figure needs at least one map; got none.")
    with styled_figure(size, font_size, len(maps)) as (figure, rows):
        pass  # the type of what follows is set piece by piece
    everything = [str(g) for _, groups in maps.values() for g in np.asarray(groups, dtype=object).ravel()]
    styles = group_styles(everything)
    handles, half = {}, 0.5 * max(np.ptp(as_array(points), axis=0).max() for points, _ in maps.values())
    for axes, (title, (points, groups)) in zip(rows, maps.items()):
        points = as_array(points)
        groups = np.array([str(g) for g in np.asarray(groups, dtype=object).ravel()])
        if points.shape != (len(groups), 2):
            raise ValueError(
                f"map {title!r} needs one point for each head, shape ({len(groups)}, 2); got {points.shape}."
            )
        for name, (colour, form) in sorted(styles.items(), key=lambda item: item[0] != "unlabelled"):
            at = points[groups == name]
            hollow = form == "ring"
            size, width, face, edge = (36, 1.2, "none", colour) if hollow else (90, 0.6, colour, PAPER)
            look = {"marker": _MARKERS[form], "facecolors": face, "edgecolors": edge}
            handles[name] = axes.scatter(at[:, 0], at[:, 1], s=size, linewidths=width, **look)
        axes.set_aspect("equal", adjustable="datalim")
        x, y = (points.min(axis=0) + points.max(axis=0)) / 2
        axes.update_datalim([(x - half, y - half), (x + half, y + half)])
        axes.set(xticks=[], yticks=[])
        axes.set_title(title, loc="left", fontsize=font_size, fontweight="bold", color=INK)
        for spine in axes.spines.values():
            spine.set(color=RULE, visible=True)
    names = list(styles)
    _legend_below(figure, [handles[name] for name in names], names, columns=4, font_size=font_size, gap=0.9)
    return figure


def _draw_tree(axes, joins, order: Sequence[int], unit: str, font_size: float) -> None:
    position = {leaf: row for row, leaf in enumerate(order)}
    heights = dict.fromkeys(order, 0.0)
    for step, (a, b, height, _) in enumerate(np.asarray(joins)):
        a, b = int(a), int(b)
        axes.plot(
            [heights[a], height, height, heights[b]],
            [position[a], position[a], position[b], position[b]],
            color=INK,
            linewidth=1.4,
        )
        position[len(order) + step], heights[len(order) + step] = (
            (position[a] + position[b]) / 2,
            float(height),
        )
    top = max(heights.values()) or 1.0
    axes.set_xlim(top * 1.03, 0)
    axes.set_xlabel(unit, fontsize=font_size)
    axes.set_xticks([0, round(top, 1)] if top >= 0.1 else [0])
    axes.set_yticks([])


def _name_columns(axes, names: Sequence[str], below: Sequence[int] | None, font_size: float) -> None:
    """Under the columns: some of the names, or the layers with a stroke between them."""
    n = len(names)
    if below is None:
        every = max(1, math.ceil(n / 10))
        at = range(0, n, every)
        axes.set_xticks(at, [names[i] for i in at], fontsize=font_size, rotation=90)
    else:
        starts = [i for i in range(n) if i == 0 or below[i] != below[i - 1]]
        ends = [*starts[1:], n]
        middles = [(start + end - 1) / 2 for start, end in zip(starts, ends)]
        axes.set_xticks(middles, [str(below[i]) for i in starts], fontsize=font_size)
        for start in starts[1:]:
            axes.axvline(start - 0.5, 0, -0.03, color=INK, linewidth=1, clip_on=False)
        axes.set_xlabel("layer of the head", fontsize=font_size)


def family_figure(
    distances,
    joins,
    names: Sequence[str],
    groups: Sequence[str],
    *,
    layers: Sequence[int] | None = None,
    unit: str = DISTANCE_UNIT,
    size: tuple[float, float] = (9.8, 4.9),
    font_size: float = 18,
):
    """The distances as a heat map in the order of the tree, with the tree beside it.

    Parameters
    ----------
    distances : array of shape (head, head)
    joins : array of shape (head - 1, 4)
        From `average_linkage`.
    names : sequence of str
        Printed names; every one is shown up to 40 heads, fewer beyond.
    groups : sequence of str
        Drawn as marks along the side.
    layers : sequence of int, optional
        The layer of each head, counted from 0. Its number then stands below the columns in place of the names, once for
        neighbours of the same layer.

    Returns
    -------
    matplotlib.figure.Figure
    """
    from matplotlib.colors import LinearSegmentedColormap

    from ...metrics import leaf_order

    distances = as_array(distances)
    groups = [str(g) for g in np.asarray(groups, dtype=object).ravel()]
    order = leaf_order(joins)
    n = len(order)
    if distances.shape != (n, n) or any(
        len(each) != n for each in (names, groups, names if layers is None else layers)
    ):
        raise ValueError(
            f"the tree has {n} heads; got distances of shape {distances.shape}, {len(names)} names and {len(groups)} groups"
            f"{'' if layers is None else f' and {len(layers)} layers'}."
        )
    with styled_figure(size, font_size, 3, width_ratios=(2.6, 0.5, 5), sharey=True) as (figure, row):
        tree, marks, heat = row
    _draw_tree(tree, joins, order, unit, font_size)
    styles = group_styles(groups)
    for name, (colour, form) in styles.items():
        rows = [row for row, leaf in enumerate(order) if groups[leaf] == name]
        look = {"facecolors": "none" if form == "ring" else colour, "edgecolors": colour, "linewidths": 1}
        marks.scatter([0] * len(rows), rows, marker=_MARKERS[form], s=42, label=name, **look)
    colours = LinearSegmentedColormap.from_list("bertlook", [magnitude_colour(1 - k / 32) for k in range(33)])
    image = heat.imshow(
        distances[np.ix_(order, order)], cmap=colours, aspect="auto", vmin=0, interpolation="nearest"
    )
    bar = figure.colorbar(image, ax=heat, fraction=0.05, pad=0.02)
    bar.set_label(f"dark: alike ({unit})", fontsize=font_size, labelpad=10)
    bar.ax.tick_params(labelsize=font_size)
    _name_columns(
        heat,
        [names[leaf] for leaf in order],
        None if layers is None else [int(layers[leaf]) + 1 for leaf in order],
        font_size,
    )
    for axes in (tree, marks, heat):
        for spine in axes.spines.values():
            spine.set_visible(False)
        axes.tick_params(length=0, colors=INK)
    marks.set_xticks([])
    handles, labels = marks.get_legend_handles_labels()
    _legend_below(figure, handles, labels, columns=7, font_size=font_size, gap=0.8)
    return figure


def _legend_below(figure, handles, names, *, columns: int, font_size: float, gap: float) -> None:
    look = {"frameon": False, "fontsize": font_size, "handletextpad": 0.1, "columnspacing": gap}
    figure.legend(handles, names, loc="outside lower center", ncols=min(columns, len(names)), **look)


def label_table(labels: Mapping[str, object], kinds: Sequence[str], caption: str = "") -> TextTable:
    """How many heads of each model have each label: a row for each kind, a column for each model, per cent and the number of heads.

    Parameters
    ----------
    labels : mapping of model to array of labels, one for each head
    kinds : sequence of str
        The rows; "linguistic" is looked for in some models only, and a model without one has a dash there.
    caption : str
        What the table shows.

    Raises
    ------
    ValueError
        If a head has a label that is not among the kinds: its column would not add up.

    Examples
    --------
    >>> label_table({"specimen": ["next", "[SEP]", "next", "next"]}, ["next", "[SEP]", "linguistic"])
    label       specimen
    next        75 % (3)
    [SEP]       25 % (1)
    linguistic  -
    """
    counts = {model: Counter(np.ravel(found).tolist()) for model, found in labels.items()}
    if unknown := set().union(*counts.values()) - set(kinds):
        raise ValueError(f"every label needs a row; kinds lack {sorted(map(str, unknown))}.")

    def cell(count: Counter, kind: str) -> Estimate | str:
        if kind == "linguistic" and not count[kind]:
            return "-"
        return Estimate(100 * count[kind] / count.total(), form=".0f", after=f" % ({count[kind]})")

    rows = [[kind, *(cell(count, kind) for count in counts.values())] for kind in kinds]
    return TextTable(["label", *counts], rows, caption)
