"""What kinds of heads there are, shown: grids of heads by kind, distances sorted by group, and how two rows differ."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

import numpy as np

from bertlook_teach.model import head_label
from bertlook_teach.views import (
    INK,
    LINE,
    MISSING,
    MUTED,
    Cell,
    Grid,
    Picture,
    as_array,
    coordinate,
    magnitude_colour,
    text,
    text_colour,
    text_width,
)

from ..drawing.figures import draw_curves, draw_level, key_above, styled_figure
from ..drawing.marks import OTHERS, mark_look
from .distance_map import SHAPES, group_styles

_WIDTH, _EM = 1180.0, 30.0
_GAP = 40.0  # at least, between two models

Look = tuple[str, str]  # the colour of a cell, and the shape in it: a key of `SHAPES`, or "" for none


# --- heads as cells ------------------------------------------------------------------------------------------
def behaviour_look(model: str, kind: str) -> Look:
    """A head by what it does: the colour and the shape it has on a map; grey without a label.

    >>> behaviour_look("specimen", "next"), behaviour_look("specimen", "unlabelled")
    (('#D55E00', 'right'), ('#e8e8e8', ''))
    """
    return (MISSING, "") if kind == "unlabelled" else group_styles([kind])[kind]


def render_head_kinds(
    panels: Mapping[str, tuple[object, Sequence[str]]],
    sentence: str,
    look: Callable[[str, str], Look] = behaviour_look,
    *,
    key: Sequence[str] = (),
    across: float = 36,
    high: float = 200,
    numbers: tuple = (),
) -> Picture:
    """A grid for each model, in it a cell for each head with the colour and the shape of its kind.

    Parameters
    ----------
    panels : mapping of title to (array of str of shape (layer, head), lines)
        The kind of each head, and what is written under the grid.
    sentence : str
    look : callable
        ``look(title, kind)`` gives the colour of a cell and the shape in it.
    key : sequence of str
        Kinds that are named beneath; of a single model they stand at its right.
    across : float
        The most that a cell is across.
    high : float
        Of every grid, whatever the number of its layers.
    numbers : tuple of TextTable

    Raises
    ------
    ValueError
        If there is no model, or the kinds of one are not of shape (layer, head).
    """
    found = {
        title: (np.asarray(kinds, dtype=object), list(lines)) for title, (kinds, lines) in panels.items()
    }
    if not found or any(kinds.ndim != 2 for kinds, _ in found.values()):
        shapes = {title: kinds.shape for title, (kinds, _) in found.items()}
        raise ValueError(
            f"grids of heads need at least one model, each of shape (layer, head); got {shapes}."
        )
    words = {
        title: max(text_width(line, _EM) for line in (title, *lines)) for title, (_, lines) in found.items()
    }
    columns = sum(kinds.shape[1] for kinds, _ in found.values())
    # A cell shrinks only where the grids with their words would not fit beside one another.
    across = min(across, (_WIDTH - _GAP * len(found)) / columns)
    while across > 12 and _breadth(found, words, across) > _WIDTH:
        across -= 1
    spare = (_WIDTH - _breadth(found, words, across)) / max(1, len(found) - 1)
    body, x = [], 0.0
    bottom = 1.7 * _EM + high + (0.3 + 1.25 * max(len(lines) for _, lines in found.values())) * _EM
    for title, (kinds, lines) in found.items():
        wide = max(words[title], kinds.shape[1] * across)
        grid = Grid(
            x + (wide - kinds.shape[1] * across) / 2, 1.7 * _EM, *kinds.shape, across, high / len(kinds), _EM
        )
        middle = x + wide / 2
        body.append(text(middle, 0.8 * _EM, title, anchor="middle", extra=' font-weight="600"'))
        body += _cells(grid, kinds, lambda kind, title=title: look(title, kind))
        body += [
            text(middle, grid.bottom + (0.9 + 1.25 * k) * _EM, line, anchor="middle")
            for k, line in enumerate(lines)
        ]
        x += wide + (_GAP + spare if len(found) > 1 else 0)
    if key and len(found) == 1:
        body += _key_at_right(key, look, x + 2 * _EM, bottom)
    elif key:
        lines = _key_beneath(key, look, bottom + 0.9 * _EM)
        body += lines[0]
        bottom = lines[1]
    return Picture(
        body, _WIDTH, bottom + 0.2 * _EM, "Kinds of heads", sentence, _EM, numbers=numbers, wide=True
    )


def _breadth(found: Mapping, words: Mapping[str, float], across: float) -> float:
    wide = [max(words[title], kinds.shape[1] * across) for title, (kinds, _) in found.items()]
    return sum(wide) + _GAP * (len(wide) - 1)


def _cells(grid: Grid, kinds: np.ndarray, look: Callable[[str], Look]) -> list[str]:
    drawn = grid.cells(
        lambda layer, head: Cell(
            look(kinds[layer, head])[0], f"head {head_label(layer, head)}: {kinds[layer, head]}"
        ),
        gap=(1.5, 1 if grid.down < 20 else 1.5),
    )
    for (layer, head), kind in np.ndenumerate(kinds):
        fill, form = look(kind)
        if form:
            drawn.append(
                _shape(*grid.middle(layer, head), 0.3 * min(grid.across, grid.down), form, text_colour(fill))
            )
    return drawn


def _shape(x: float, y: float, radius: float, form: str, fill: str) -> str:
    move = f"translate({coordinate(x)} {coordinate(y)}) scale({coordinate(radius)})"
    return f'<path transform="{move}" d="{SHAPES[form]}" fill="{fill}"/>'


def _swatch(x: float, y: float, kind: str, look: Callable[[str, str], Look]) -> list[str]:
    """A cell of the key and its name."""
    fill, form = look("", kind)
    box = f'<rect x="{coordinate(x)}" y="{coordinate(y - 12)}" width="24" height="24" rx="3" fill="{fill}"/>'
    inside = _shape(x + 12, y, 7.5, form, text_colour(fill)) if form else ""
    return [box + inside, text(x + 34, y, kind)]


def _key_beneath(key: Sequence[str], look, y: float) -> tuple[list[str], float]:
    body, x = [], 0.0
    for kind in key:
        wide = 34 + text_width(kind, _EM) + 0.9 * _EM
        if x and x + wide > _WIDTH + 0.9 * _EM:
            x, y = 0.0, y + 1.35 * _EM
        body += _swatch(x, y, kind, look)
        x += wide
    return body, y + 0.6 * _EM


def _key_at_right(key: Sequence[str], look, x: float, bottom: float) -> list[str]:
    """One column, or two where the grid is not high enough for one."""
    high = 1.35 * _EM
    rows = max(1, int((bottom - 1.7 * _EM) / high))
    marks = []
    for start in range(0, len(key), rows):
        column = key[start : start + rows]
        for k, kind in enumerate(column):
            marks += _swatch(x, (1.7 + 0.5) * _EM + k * high, kind, look)
        x += 34 + max(text_width(kind, _EM) for kind in column) + 1.2 * _EM
    return marks


# --- distances in the order of groups ---------------------------------------------------------------------------
def sorted_distances_figure(panels: Mapping[str, tuple[object, Sequence, str]], *, size=(9.8, 4.3)):
    """Distances between heads, sorted by group, a panel for each way to group them; all of one scale, dark for alike.

    Parameters
    ----------
    panels : mapping of title to (array of shape (head, head), groups, str)
        Distances, the group of each head, and what is written below. Groups that are numbers are layers, from 0; others
        are behaviours, whose marks stand at the left.

    Returns
    -------
    matplotlib.figure.Figure

    Raises
    ------
    ValueError
        If there is no panel, or heads and groups are not the same number.
    """
    from matplotlib.colors import LinearSegmentedColormap

    found = {
        title: (as_array(matrix), np.asarray(groups), said)
        for title, (matrix, groups, said) in panels.items()
    }
    if not found or any(m.shape != (len(g),) * 2 for m, g, _ in found.values()):
        raise ValueError(
            f"sorted distances need panels with one group for each head; got {[(m.shape, len(g)) for m, g, _ in found.values()]}."
        )
    farthest = max(matrix.max() for matrix, _, _ in found.values())
    colours = LinearSegmentedColormap.from_list("bertlook", [magnitude_colour(1 - k / 32) for k in range(33)])
    with styled_figure(size, columns=len(found)) as (figure, row):
        for axes, (title, (matrix, groups, said)) in zip(row, found.items()):
            order = np.argsort(groups, kind="stable") if groups.dtype.kind in "iu" else _by_kind(groups)
            image = axes.imshow(
                matrix[np.ix_(order, order)], cmap=colours, vmin=0, vmax=farthest, interpolation="nearest"
            )
            _name_groups(axes, groups[order])
            axes.set_title(title, fontsize=18, color=INK)
            axes.set_xlabel(said, color=INK)
            axes.spines[:].set_visible(False)
            axes.tick_params(length=0)
        bar = figure.colorbar(image, ax=list(row), fraction=0.03, pad=0.02)
        bar.set_label("nats a token; dark: alike", labelpad=8)
    return figure


def _by_kind(groups: np.ndarray) -> list[int]:
    """Heads in the order in which a key names their kinds."""
    kinds = list(group_styles([str(group) for group in groups]))
    return sorted(range(len(groups)), key=lambda head: (kinds.index(str(groups[head])), head))


def _name_groups(axes, groups: np.ndarray) -> None:
    """Strokes between the groups, and each group's number or mark at the left."""
    starts = [i for i in range(len(groups)) if not i or groups[i] != groups[i - 1]]
    for start in starts[1:]:
        draw_level(axes, start - 0.5, color="white", linestyle="-", linewidth=2)
        draw_level(axes, start - 0.5, upright=True, color="white", linestyle="-", linewidth=2)
    axes.set_xticks([])
    middles = [(start + end - 1) / 2 for start, end in zip(starts, [*starts[1:], len(groups)])]
    if groups.dtype.kind in "iu":
        axes.set_yticks(middles, [str(groups[start] + 1) for start in starts])
        axes.set_ylabel("layer", color=INK)
        return
    axes.set_yticks(middles, [str(groups[start]) for start in starts])


# --- two rows ---------------------------------------------------------------------------------------------------
def row_pairs_figure(pairs: Mapping[str, tuple[object, object, str]], *, size=(9.8, 2.5)):
    """Pairs of rows of attention as bars, key by key, a panel for each pair; a tick on each key is the mixture of both.

    Parameters
    ----------
    pairs : mapping of title to (row, row, str)
        Two distributions over the same keys, and what is written below.

    Returns
    -------
    matplotlib.figure.Figure

    Raises
    ------
    ValueError
        If there is no pair, or two rows differ in their keys.
    """
    rows = {title: (as_array(p), as_array(q), said) for title, (p, q, said) in pairs.items()}
    if not rows or any(p.shape != q.shape or p.ndim != 1 for p, q, _ in rows.values()):
        raise ValueError(
            f"pairs of rows need the same keys in both; got {[(p.shape, q.shape) for p, q, _ in rows.values()]}."
        )
    with styled_figure(size, columns=len(rows), sharey=True) as (figure, panels):
        for axes, (title, (p, q, said)) in zip(panels, rows.items()):
            keys = np.arange(len(p))
            axes.bar(keys - 0.2, p, 0.36, color=LINE, label="one row")
            axes.bar(
                keys + 0.2, q, 0.36, color=OTHERS[0].colour, hatch="//", edgecolor="white", label="the other"
            )
            axes.hlines((p + q) / 2, keys - 0.42, keys + 0.42, color=INK, linewidth=3, label="their mixture")
            axes.set(
                xticks=keys, xticklabels=[f"key {k + 1}" for k in keys], ylim=(0, 1.05), yticks=(0, 0.5, 1)
            )
            axes.set_title(title, fontsize=18, color=INK)
            axes.set_xlabel(said, color=INK)
            axes.tick_params(length=0)
        key_above(figure, panels[0], 3)
    return figure


def token_sums_figure(
    tokens: Sequence[str], pairs: Mapping[str, Sequence[float]], *, limit: float, size=(9.8, 2.7)
):
    """How far two heads are apart at each token, a panel for each pair of heads: what a distance of heads adds up.

    Parameters
    ----------
    tokens : sequence of str
    pairs : mapping of title to array of shape (token,)
    limit : float
        The most that can be.

    Returns
    -------
    matplotlib.figure.Figure

    Raises
    ------
    ValueError
        If a pair has not one number for each token.
    """
    if not pairs or any(len(values) != len(tokens) for values in pairs.values()):
        raise ValueError(
            f"sums over {len(tokens)} tokens need a number for each; got {[len(v) for v in pairs.values()]}."
        )
    with styled_figure(size, columns=len(pairs), sharey=True) as (figure, panels):
        for axes, (title, values) in zip(panels, pairs.items()):
            axes.bar(range(len(tokens)), values, 0.7, color=LINE, label="_tokens")
            draw_level(axes, limit, "the most there can be: ln 2")
            axes.set_xticks(range(len(tokens)), tokens, rotation=90)
            axes.set_title(title, fontsize=18, color=INK)
            axes.tick_params(axis="x", length=0)
        panels[0].set_ylabel("nats", color=INK)
        panels[0].set_ylim(0, limit * 1.05)
        key_above(figure, panels[0])
    return figure


def shepard_figure(distances, points, *, size=(9.8, 3.1)):
    """Each distance that was measured, and how long it is drawn on a map: on the dotted line nothing is bent.

    Parameters
    ----------
    distances : array of shape (head, head)
    points : array of shape (head, 2)

    Returns
    -------
    matplotlib.figure.Figure
    """
    distances, points = as_array(distances), as_array(points)
    upper = np.triu_indices(len(points), 1)
    drawn = np.linalg.norm(points[:, None] - points, axis=-1)[upper]
    most = max(drawn.max(), distances.max())
    with styled_figure(size) as (figure, (axes,)):
        axes.plot(
            [0, most], [0, most], color=MUTED, linestyle=(0, (1, 2)), linewidth=2, label="drawn as measured"
        )
        axes.plot(
            distances[upper],
            drawn,
            **mark_look(OTHERS[2]) | {"marker": "o"},
            markersize=5,
            alpha=0.5,
            label="_pairs",
        )
        axes.set_xlabel("measured distance, nats a token", color=INK)
        axes.set_ylabel("drawn", color=INK)
        key_above(figure, axes)
    return figure


def stress_figure(
    curves: Mapping[str, Sequence[float]],
    dimensions: Sequence[str],
    line: tuple[str, float],
    *,
    size=(9.8, 3.3),
):
    """What maps cannot keep, by the number of their dimensions: a curve for each set of distances, and a level.

    Parameters
    ----------
    curves : mapping of name to the stress of each map
    dimensions : sequence of str
        What each map is called.
    line : (str, float)

    Returns
    -------
    matplotlib.figure.Figure
    """
    with styled_figure(size) as (figure, (axes,)):
        draw_curves(axes, range(len(dimensions)), curves, markersize=11)
        draw_level(axes, line[1], line[0], color="black", linestyle=(0, (5, 4)))
        axes.set_xticks(range(len(dimensions)), dimensions)
        axes.set_xlim(-0.25, len(dimensions) - 0.75)
        axes.set_ylim(0, 1.08 * max(line[1], *(max(curve) for curve in curves.values())))
        axes.set_ylabel("stress", color=INK)
        key_above(figure, axes, 4)
    return figure


def same_maps_figure(
    maps: Mapping[str, object], tokens: Sequence[str], cosines: Sequence[float], *, size=(9.8, 3.6)
):
    """Two maps that look alike, and token by token the cosine of what the two heads add.

    Parameters
    ----------
    maps : mapping of two titles to arrays of shape (query, key)
    tokens : sequence of str
    cosines : array of shape (query,)

    Returns
    -------
    matplotlib.figure.Figure
    """
    darkest = max(as_array(weights).max() for weights in maps.values())
    with styled_figure(size, columns=len(maps) + 1) as (figure, row):
        for axes, (title, weights) in zip(row, maps.items()):
            axes.imshow(as_array(weights), cmap="Blues", vmin=0, vmax=darkest)
            axes.set_title(title, fontsize=18, color=INK)
            axes.set(xticks=[], yticks=[])
            axes.spines[:].set_visible(True)
            axes.spines[:].set_color(MISSING)
        row[0].set_yticks(range(len(tokens)), tokens)
        row[0].tick_params(length=0)
        last = row[-1]
        last.barh(range(len(tokens)), cosines, 0.7, color=LINE, label="_cosines")
        draw_level(last, 0, upright=True)
        last.set(xlim=(-1, 1), xticks=(-1, 0, 1), yticks=[], ylim=(len(tokens) - 0.5, -0.5))
        last.set_title("what they add", fontsize=18, color=INK)
        last.set_xlabel("cosine", color=INK)
        last.spines["left"].set_visible(False)
    return figure
