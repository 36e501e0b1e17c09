"""Where in a stack of layers something is read or gained, drawn: bars that balance on a point, grids of gains, and two orders side by side."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np

from bertlook_teach.views import (
    INK,
    MUTED,
    PAPER,
    RULE,
    SELECTED,
    Cell,
    Grid,
    Picture,
    as_array,
    coordinate,
    difference_colour,
    text,
    text_width,
)

from .figures import draw_level, key_above, styled_figure
from .marks import MODELS, OTHERS, bar_look, bar_of, mark_look, marks_of

_WIDTH, _EM = 1180.0, 30.0


# --- bars over the layers -----------------------------------------------------------------------------------
@dataclass(frozen=True)
class LayerBars:
    """One panel of `layer_bars_figure`.

    Attributes
    ----------
    values : array of shape (layer,)
    first : int
        The number of the first layer: 0 for shares of a mix, which read the embeddings, too, 1 for gains.
    at : float, optional
        The layer that is marked: where the bars balance, or which one is chosen.
    said : str
        What is written below.
    twin : array of shape (layer,), optional
        The same of the random twin, as grey squares.
    """

    values: object
    first: int = 0
    at: float | None = None
    said: str = ""
    twin: object = None


def layer_bars_figure(
    panels: Mapping[str, LayerBars],
    *,
    model: str = "",
    mark: str = "where the bars balance",
    ylabel: str = "",
    sharey: bool = True,
    key: bool = True,
    size: tuple[float, float] = (9.8, 3.2),
):
    """Bars over the layers, a panel for each task or each question, with a triangle under one place.

    Parameters
    ----------
    panels : mapping of title to LayerBars
    model : str
        Whose bars they are; by default those of no model.
    mark : str
        What the triangle says.
    ylabel : str
    sharey : bool
        Whether all panels have one scale.
    key : bool
        Whether the triangle is named above, where what stands below each panel does not say it.

    Returns
    -------
    matplotlib.figure.Figure

    Raises
    ------
    ValueError
        If there is no panel, or a twin has other layers than the model.
    """
    if not panels:
        raise ValueError("bars over layers need at least one panel; got none.")
    with styled_figure(size, columns=len(panels), sharey=sharey) as (figure, row):
        for axes, (title, bars) in zip(row, panels.items()):
            values = as_array(bars.values)
            layers = bars.first + np.arange(len(values))
            axes.bar(layers, values, 0.72, label=model or "_bars", **bar_look(model or title))
            if bars.twin is not None:
                twin = as_array(bars.twin)
                if twin.shape != values.shape:
                    raise ValueError(
                        f"a twin has the model's layers, {len(values)} of them; got {twin.shape}."
                    )
                look = mark_look(MODELS["random twin"])
                axes.plot(layers, twin, label="random twin", markersize=9, **look)
            if bars.at is not None and np.isfinite(bars.at):
                _mark(axes, float(bars.at), mark)
            _scale_layers(axes, layers)
            axes.set_title(title, fontsize=18, color=INK)
            axes.set_xlabel(bars.said, color=INK)
            if min(0.0, float(values.min())) < 0:
                draw_level(axes, 0)
        row[0].set_ylabel(ylabel, color=INK)
        if key:
            key_above(figure, row[0], 3)
    return figure


def _mark(axes, at: float, name: str) -> None:
    """A triangle under the axis, which points up at a place."""
    axes.plot(
        [at],
        [-0.06],
        transform=axes.get_xaxis_transform(),
        clip_on=False,
        marker="^",
        markersize=15,
        color=SELECTED,
        linestyle="none",
        label=name,
    )


def _scale_layers(axes, layers: np.ndarray) -> None:
    """As many numbers as have room."""
    every = next(step for step in (1, 2, 4, 6) if len(layers) / step <= 8 or step == 6)
    axes.set_xticks([layer for layer in layers if layer % every == 0])
    axes.tick_params(axis="x", length=0, pad=17)
    axes.set_xlim(layers[0] - 0.7, layers[-1] + 0.7)


# --- gains by task and layer ----------------------------------------------------------------------------------
def render_gain_grid(
    gains: Mapping[str, object],
    at: Mapping[str, float],
    sentence: str,
    *,
    numbers: tuple = (),
) -> Picture:
    """A row for each task, a cell for each layer: which share of the whole gain comes with it; a triangle where the gains balance.

    Parameters
    ----------
    gains : mapping of task to array of shape (layer,)
        Shares of the whole; a layer that lowers the score has less than 0.
    at : mapping of task to float
        The expected layer.
    sentence : str
    numbers : tuple of TextTable

    Raises
    ------
    ValueError
        If there is no task, or tasks differ in their layers.
    """
    rows = {task: as_array(values) for task, values in gains.items()}
    if len({values.shape for values in rows.values()}) != 1:
        raise ValueError(
            f"a grid of gains needs tasks of the same layers; got {sorted(v.shape for v in rows.values())}."
        )
    depth = len(next(iter(rows.values())))
    left = max(text_width(task, _EM) for task in rows) + _EM
    across, most = (_WIDTH - left) / depth, max(np.abs(values).max() for values in rows.values())
    grid = Grid(left, 1.6 * _EM, len(rows), depth, across, 48, _EM)
    names, values = list(rows), list(rows.values())

    def cell(row: int, layer: int) -> Cell:
        share = values[row][layer]
        said = f"{100 * share:.0f}".replace("-", "−")
        return Cell(
            difference_colour(share / most),
            f"{names[row]}, layer {1 + layer}: {said} %",
            said if abs(share) >= 0.05 else "",
        )

    body = [
        text(left - 0.5 * _EM, grid.top - 0.8 * _EM, "layer", anchor="end", fill=MUTED),
        *grid.numbered(range(1, 1 + depth), fill=MUTED),
        *grid.cells(cell, names, gap=(1.5, 7), size=1),
    ]
    for row, task in enumerate(names):
        if not np.isfinite(at.get(task, np.nan)):
            continue
        x, y = grid.middle(row, at[task] - 1)
        tip = f"M{coordinate(x)} {coordinate(y + 15)}l9 11h-18z"  # as under the bars of the other pictures
        body.append(f'<path d="{tip}" fill="{SELECTED}"/>')
    return Picture(
        body, _WIDTH, grid.bottom + 0.2 * _EM, "Gain by layer", sentence, _EM, numbers=numbers, wide=True
    )


# --- two orders -----------------------------------------------------------------------------------------------
def two_orders_figure(left: Mapping[str, float], right: Mapping[str, float], titles: tuple[str, str]):
    """The same things in two orders, a line from the place of each in the one to its place in the other.

    Parameters
    ----------
    left, right : mapping of name to number
        The same names; each side is sorted by its own numbers, the smallest on top.
    titles : (str, str)
        What is sorted by.

    Returns
    -------
    matplotlib.figure.Figure
        A line of three places or more is drawn thick.

    Raises
    ------
    ValueError
        If the names differ.
    """
    if set(left) != set(right) or not left:
        raise ValueError(
            f"two orders need the same names; only one has {', '.join(sorted(set(left) ^ set(right))) or 'none'}."
        )
    places = [
        {name: place for place, name in enumerate(sorted(side, key=side.get))} for side in (left, right)
    ]
    with styled_figure((9.8, 4.4)) as (figure, (axes,)):
        for name in left:
            start, end = (side[name] for side in places)
            far = abs(end - start) >= 3
            look = {"color": SELECTED, "linewidth": 4} if far else {"color": MUTED, "linewidth": 2}
            axes.plot([0, 1], [start, end], marker="o", markersize=9, label=f"_{name}", **look)
        for x, side, numbers, where in ((0, places[0], left, "right"), (1, places[1], right, "left")):
            for name, place in side.items():
                shift = -0.04 if where == "right" else 0.04
                said = f"{name} {numbers[name]:.2f}" if where == "right" else f"{numbers[name]:.2f} {name}"
                axes.text(x + shift, place, said, ha=where, va="center", color=INK)
        axes.set(xlim=(-0.75, 1.75), ylim=(len(left) - 0.5, -0.5), yticks=[])
        axes.set_xticks([0, 1], titles)
        axes.xaxis.tick_top()
        axes.tick_params(length=0)
        axes.spines[:].set_visible(False)
    return figure


def orders_figure(shares: Mapping[str, float], outlined: str, axis: str, *, size=(9.8, 3.0)):
    """How often each order comes out: a bar for each, the one that is expected in a frame.

    Parameters
    ----------
    shares : mapping of order to share, 0 to 1
    outlined : str
        The expected one.
    axis : str
        Of what they are shares.

    Returns
    -------
    matplotlib.figure.Figure

    Raises
    ------
    ValueError
        If the expected order is not among them.
    """
    if outlined not in shares:
        raise ValueError(f"no bar {outlined!r} to outline; there are {', '.join(map(repr, shares))}.")
    with styled_figure(size) as (figure, (axes,)):
        for place, (name, share) in enumerate(shares.items()):
            expected = name == outlined
            axes.barh(
                place,
                1,
                0.72,
                color="none",
                edgecolor=INK if expected else RULE,
                linewidth=3 if expected else 1,
            )
            axes.barh(place, share, 0.72, color=OTHERS[2].colour, label=f"_{name}")
            said = f"{100 * share:.0f} %" if share >= 0.005 or not share else "under 1 %"
            axes.text(
                max(share, 0) + 0.02 if share < 0.85 else 0.83,
                place,
                said,
                va="center",
                ha="left" if share < 0.85 else "right",
                color=INK if share < 0.85 else PAPER,
            )
        axes.set_yticks(range(len(shares)), list(shares))
        axes.set(xlim=(0, 1.01), xticks=[], ylim=(len(shares) - 0.5, -0.5))
        axes.set_xlabel(axis, color=MUTED)
        axes.tick_params(length=0)
        axes.spines[:].set_visible(False)
    return figure


# --- what a layer adds, and what rivals reach --------------------------------------------------------------------
def added_figure(rows: Mapping[str, tuple[float, float]], model: str, axis: str):
    """From where to where a score rises, a row for each task: a tick before, a line, and the model's mark after.

    Parameters
    ----------
    rows : mapping of task to (before, after)
    model : str
        Whose mark it is.
    axis : str

    Returns
    -------
    matplotlib.figure.Figure
    """
    [mark] = marks_of([model])
    with styled_figure((9.8, 2.8)) as (figure, (axes,)):
        for place, (before, after) in enumerate(rows.values()):
            axes.plot(
                [before, after], [place, place], color=mark.colour, alpha=0.45, linewidth=5, label="_rise"
            )
            axes.plot(before, place, **mark_look(MODELS["baseline"]), markersize=15, label="_before")
            axes.plot(after, place, **mark_look(mark), markersize=12, label="_after")
        axes.set_yticks(range(len(rows)), list(rows))
        axes.set_ylim(len(rows) - 0.5, -0.5)
        axes.set_xlabel(axis, color=MUTED)
        axes.grid(axis="x", color=RULE, linewidth=0.8)
        axes.tick_params(length=0)
        axes.spines[["left", "bottom"]].set_visible(False)
    return figure


def rivals_figure(panels: Mapping[str, Mapping[str, tuple[float, float, float]]], axis: str):
    """What each of some rivals reaches, a panel for each task, with intervals. Rivals that differ are named in their own panel.

    Parameters
    ----------
    panels : mapping of task to mapping of name to (value, low, high), or None where there is no number
    axis : str

    Returns
    -------
    matplotlib.figure.Figure
    """
    same = len({tuple(rivals) for rivals in panels.values()}) == 1
    with styled_figure((9.8, 3.2), columns=len(panels), sharey=same, sharex=True) as (figure, row):
        for axes, (task, rivals) in zip(row, panels.items()):
            for place, ((name, found), mark) in enumerate(zip(rivals.items(), marks_of(rivals))):
                if found is None:
                    continue
                value, low, high = found
                axes.barh(place, value, 0.66, label=f"_{name}", **bar_of(mark))
                if high > low:
                    axes.plot([low, high], [place, place], color=INK, linewidth=3, label="_interval")
                axes.text(128, place, f"{value:.0f}", ha="right", va="center", color=INK)
            axes.set_title(task, fontsize=18, color=INK)
            axes.set(xlim=(0, 128), xticks=(0, 50, 100), ylim=(len(rivals) - 0.5, -0.5))
            axes.tick_params(axis="y", length=0)
            if not same or axes is row[0]:
                axes.set_yticks(range(len(rivals)), list(rivals))
        figure.supxlabel(axis, fontsize=18, color=INK)
    return figure
