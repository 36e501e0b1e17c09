"""Heads switched off, as tables and figures: what each costs, what was predicted, what is left after pruning."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np

from bertlook_teach.model import head_label
from bertlook_teach.views import (
    LINE,
    MARKER_CYCLE,
    MUTED,
    RULE,
    SELECTED,
    SELECTED_INK,
    difference_colour,
    model_of,
    text_colour,
)

from ..drawing.figures import draw_curves, draw_level, key_above, styled_figure
from ..drawing.marks import line_looks
from .relations import signed_gain

_CHANCE = ("#e1e6eb", "#bcc5cf")  # what chance reaches: pale, and darker where even less chance would do
_HEADS = {"color": LINE, "marker": "o", "linestyle": "none"}
_COSTS, _GAINS = "#cfe6f5", "#fbe3b5"  # pale blue and pale orange of Okabe and Ito, dark type on both


def heat_figure(
    panels: Mapping[str, object],
    *,
    size=(9.8, 4.4),
    font_size: float = 18,
    numbers: bool = False,
    framed=None,
):
    """What each head's removal changes, one panel for each task: one cell for each head, blue with a plus where the number is above 0, brown with a minus where it is below.

    Parameters
    ----------
    panels : mapping of title to array of shape (layer, head)
        Changes of one unit; all panels share one scale, from minus to plus the largest size. Cells below a quarter of it have no sign.
    numbers : bool
        Write every cell's value, with its sign, instead of the sign alone.
    framed : bool array of shape (layer, head), optional
        Heads of every panel that get a frame.

    Returns
    -------
    matplotlib.figure.Figure

    Raises
    ------
    ValueError
        If there is no panel, or one is not of shape (layer, head) or holds what is not finite.
    """
    from matplotlib.patches import Rectangle

    grids = {title: np.asarray(values, float) for title, values in panels.items()}
    if not grids or any(grid.ndim != 2 or not np.isfinite(grid).all() for grid in grids.values()):
        raise ValueError(
            f"heat maps need a finite change for each head, of shape (layer, head); got {[grid.shape for grid in grids.values()]}."
        )
    largest = max(np.abs(grid).max() for grid in grids.values()) or 1.0
    with styled_figure(size, font_size, len(grids)) as (figure, rows):
        for axes, (title, grid) in zip(rows, grids.items()):
            for (layer, head), value in np.ndenumerate(grid):
                fill = difference_colour(value / largest)
                axes.add_patch(
                    Rectangle((head + 0.52, layer + 0.52), 0.96, 0.96, facecolor=fill, linewidth=0)
                )
                if numbers or abs(value) >= largest / 4:
                    sign = "+" if value > 0 else "−"
                    axes.text(
                        head + 1,
                        layer + 1,
                        signed_gain(value, 2) if numbers else sign,
                        ha="center",
                        va="center",
                        color=text_colour(fill),
                    )
            for layer, head in np.argwhere(framed) if framed is not None else ():
                axes.add_patch(Rectangle((head + 0.55, layer + 0.55), 0.9, 0.9, fill=False, linewidth=3.5))
            axes.set_xlim(0.5, grid.shape[1] + 0.5)
            axes.set_ylim(grid.shape[0] + 0.5, 0.5)
            axes.set_xticks(range(1, grid.shape[1] + 1, 2 if grid.shape[1] > 8 else 1))
            axes.set_yticks(range(1, grid.shape[0] + 1, 2 if grid.shape[0] > 8 else 1))
            axes.set_title(title, loc="left", fontsize=font_size)
            axes.set_xlabel("head")
            axes.spines[["left", "bottom"]].set_visible(False)
        rows[0].set_ylabel("layer")
    return figure


def ranked_effects_figure(
    changes, intervals, significant, *, ylabel: str, size=(9.8, 4.2), font_size: float = 18, ax=None
):
    """Every head's change with its interval, the largest first; filled marks are those that are not chance.

    Parameters
    ----------
    changes : array of shape (layer, head)
    intervals : array of shape (layer, head, 2)
    significant : bool array of shape (layer, head)
    ax : matplotlib.axes.Axes, optional
        Draw into these.

    Returns
    -------
    matplotlib.figure.Figure
    """
    changes, significant = np.asarray(changes, float), np.asarray(significant, bool)
    intervals = np.asarray(intervals, float)
    if intervals.shape != (*changes.shape, 2) or significant.shape != changes.shape:
        raise ValueError(
            f"intervals need shape {(*changes.shape, 2)} and significant {changes.shape}; got {intervals.shape} and {significant.shape}."
        )
    with styled_figure(size, font_size, ax=ax) as (figure, (axes,)):
        order = np.argsort(-changes, axis=None, kind="stable")
        for place, i in enumerate(order):
            at = np.unravel_index(i, changes.shape)
            sure = bool(significant[at])
            colour = LINE if sure else MUTED
            axes.plot([place, place], intervals[at], color=colour, linewidth=2)
            axes.plot(
                place,
                changes[at],
                MARKER_CYCLE[0],
                color=colour,
                markerfacecolor=colour if sure else "white",
                markersize=7,
            )
            if place < 3:
                axes.annotate(
                    head_label(*(int(x) for x in at)),
                    (place, max(intervals[at][1], changes[at])),
                    (0, 5),
                    textcoords="offset points",
                    rotation=90,  # as narrow as its interval: it meets no other
                    ha="center",
                    va="bottom",
                )
        draw_level(axes, 0, linewidth=1.5)
        axes.set_ylabel(ylabel)
        axes.set_xlabel(f"the {changes.size} heads, most costly first")
        axes.set_xticks([])
    return figure


def chance_band_figure(panels, *, ylabel: str, size=(9.8, 4.0), font_size: float = 18):
    """Every head's change, the lowest first, a panel for each task on one scale, and how far chance alone reaches: a matplotlib figure.

    Parameters
    ----------
    panels : mapping of title to (changes, bands)
        ``changes`` is an array of shape (layer, head); ``bands`` maps a name to how far, up and down, the best of all heads
        would go by chance: a positive number in the unit of the changes. Up to three heads outside every band are named.

    Raises
    ------
    ValueError
        If changes are not of shape (layer, head) or not finite, or a band is not above 0.
    """
    with styled_figure(size, font_size, len(panels)) as (figure, rows):
        lowest = highest = 0.0
        for axes, (title, (changes, bands)) in zip(rows, panels.items()):
            changes = np.asarray(changes, float)
            if changes.ndim != 2 or not np.isfinite(changes).all():
                raise ValueError(
                    f"panel {title!r} needs one finite change a head, shape (layer, head); got shape {changes.shape}."
                )
            if not bands or min(bands.values()) <= 0:
                raise ValueError(f"panel {title!r} needs at least one band, each above 0; got {dict(bands)}.")
            widest_first = sorted(bands.items(), key=lambda band: -band[1])
            for i, (name, reach) in enumerate(widest_first):
                axes.axhspan(-reach, reach, color=_CHANCE[min(i, 1)], linewidth=0, label=name, zorder=0)
            order = np.argsort(changes, axis=None, kind="stable")
            axes.plot(changes.ravel()[order], MARKER_CYCLE[0], color=LINE, markersize=5, label="a head")
            outside = [i for i in order if abs(changes.ravel()[i]) > widest_first[0][1]]
            for i in outside[:3]:
                place = int(np.flatnonzero(order == i)[0])
                axes.annotate(
                    head_label(*(int(x) for x in np.unravel_index(i, changes.shape))),
                    (place, changes.ravel()[i]),
                    (9, 0),
                    textcoords="offset points",
                    va="center",
                )
            draw_level(axes, 0, linewidth=1.5)
            axes.set_title(title, loc="left", fontsize=font_size)
            axes.set_xlabel(f"the {changes.size} heads, lowest first")
            axes.set_xticks([])
            lowest = min(lowest, changes.min(), -widest_first[0][1])
            highest = max(highest, changes.max(), widest_first[0][1])
        for axes in rows:  # one scale, or the tasks could not be compared
            axes.set_ylim(1.08 * lowest, 1.08 * highest)
        rows[0].set_ylabel(ylabel)
        key_above(figure, rows[0], 3)
    return figure


def prediction_figure(panels: Mapping[str, tuple[object, object]], *, size=(9.8, 4.2), font_size: float = 18):
    """Predicted against true effect, a panel each: a head on the line was predicted exactly.

    Parameters
    ----------
    panels : mapping of title to (predicted, true), arrays of shape (layer, head)
    """
    with styled_figure(size, font_size, len(panels)) as (figure, rows):
        for axes, (title, (predicted, true)) in zip(rows, panels.items()):
            predicted, true = np.asarray(predicted, float), np.asarray(true, float)
            if predicted.shape != true.shape:
                raise ValueError(
                    f"panel {title!r} needs two arrays of one shape; got {predicted.shape} and {true.shape}."
                )
            both = np.concatenate([predicted.ravel(), true.ravel()])
            low, high = float(both.min()), float(both.max())
            pad = 0.06 * (high - low or 1.0)
            axes.plot(
                [low - pad, high + pad],
                [low - pad, high + pad],
                color=MUTED,
                linewidth=1.5,
                linestyle=(0, (1, 2)),
            )
            look = line_looks([title])[0] | {"linestyle": "none"} if model_of(title) else _HEADS
            axes.plot(predicted.ravel(), true.ravel(), markersize=7, **look)
            far = np.unravel_index(np.abs(true - predicted).argmax(), true.shape)
            axes.annotate(
                head_label(*(int(x) for x in far)),
                (predicted[far], true[far]),
                (-9, 6)
                if predicted[far] > (low + high) / 2
                else (9, -2),  # away from the line and from the frame
                ha="right" if predicted[far] > (low + high) / 2 else "left",
                textcoords="offset points",
                color=SELECTED_INK,
            )
            axes.set_title(title, loc="left", fontsize=font_size)
            axes.set_xlabel("predicted, nats")
            axes.locator_params(nbins=4)
        rows[0].set_ylabel("true, nats")
    return figure


def pruning_figure(
    shares: Sequence[float],
    panels: Mapping[str, Mapping[str, object]],
    *,
    bands: Mapping[str, object] | None = None,
    ylabel: str = "",
    size=(9.8, 4.4),
    font_size: float = 18,
    sharey: bool = False,
):
    """Curves over the share of heads that is off, a panel per model, with a band of random orders.

    Parameters
    ----------
    shares : sequence of float
        From 0 to 1.
    panels : mapping of title to mapping of curve name to array of shape (step,)
    bands : mapping of title to array of shape (order, step), optional
        Random orders; their lowest and highest are shaded.
    sharey : bool
        One scale for all panels.
    """
    with styled_figure(size, font_size, len(panels), sharey=sharey) as (figure, rows):
        percent = 100 * np.asarray(shares, float)
        for axes, (title, curves) in zip(rows, panels.items()):
            draw_curves(axes, percent, curves)
            if bands and title in bands:
                band = np.asarray(bands[title], float)
                axes.fill_between(
                    percent, band.min(axis=0), band.max(axis=0), color=RULE, linewidth=0, zorder=0
                )
            axes.set_title(title, loc="left", fontsize=font_size)
            axes.set_xlabel("heads off, per cent")
            axes.locator_params(axis="y", nbins=5)
        rows[0].set_ylabel(ylabel)
        key_above(figure, rows[0], 3)
    return figure


def significance_figure(
    series: Mapping[str, tuple[object, object]],
    *,
    levels: Mapping[str, float],
    xlabel: str,
    size=(9.8, 4.4),
    ax=None,
):
    """How large each head's effect is against how sure it is: the larger to the right, the surer to the top.

    Parameters
    ----------
    series : mapping of model to (effects, p), arrays of one shape
        The size of an effect is drawn, without its sign; an effect of exactly 0 has no place on the scale and is left out.
    levels : mapping of name to p
        Drawn as lines from side to side.
    ax : matplotlib.axes.Axes, optional
        Draw into these.
    """
    from matplotlib.ticker import LogLocator

    with styled_figure(size, ax=ax) as (figure, (axes,)):
        for look, (name, (effects, p)) in zip(line_looks(series), series.items()):
            effects, p = np.abs(np.ravel(effects)), np.ravel(p)
            drawn = effects > 0
            axes.plot(effects[drawn], p[drawn], label=name, markersize=9, **(look | {"linestyle": "none"}))
        for name, level in levels.items():
            axes.axhline(level, color=MUTED, linewidth=2, linestyle=(0, (1, 2)), zorder=1)
            axes.annotate(
                name,
                (1, level),
                (0, 4),
                xycoords=("axes fraction", "data"),
                textcoords="offset points",
                ha="right",
                color=MUTED,
            )
        axes.set(xscale="log", yscale="log", xlabel=xlabel, ylabel="p")
        for scale in (axes.xaxis, axes.yaxis):
            scale.set_major_locator(LogLocator(numticks=5))
            scale.set_major_formatter(lambda value, _: np.format_float_positional(value, trim="-"))
        axes.minorticks_off()
        axes.invert_yaxis()
        key_above(figure, axes, len(series))
    return figure


def chance_figure(gains, observed: float, *, xlabel: str, size=(9.8, 3.6), font_size: float = 18, ax=None):
    """How often chance alone gives each gain, and where the observed one lies.

    Parameters
    ----------
    gains : mapping of name to array of shape (run,)
    observed : float
    ax : matplotlib.axes.Axes, optional
        Draw into these.
    """
    with styled_figure(size, font_size, ax=ax) as (figure, (axes,)):
        everything = np.concatenate([np.asarray(g, float) for g in gains.values()])
        # Gains come in whole answers: a bin for each, or the comb of empty ones would be all one sees.
        steps = np.diff(np.unique(everything))
        width = max(steps.min() if len(steps) else 1.0, np.ptp(everything) / 60)
        bins = np.arange(everything.min() - width / 2, everything.max() + width, width)
        for whole, (name, values) in zip(line_looks(gains), gains.items()):
            look = {key: whole[key] for key in ("color", "linestyle", "linewidth")}
            shares = np.full(len(values), 100 / len(values))
            axes.hist(np.asarray(values, float), bins, histtype="step", label=name, weights=shares, **look)
        axes.axvline(observed, color=SELECTED, linewidth=3)
        top = axes.get_ylim()[1]
        axes.annotate(
            f"reported {observed:+.1f}",
            (observed, 0.92 * top),
            (8, 0),
            textcoords="offset points",
            color=SELECTED_INK,
        )
        axes.set_xlabel(xlabel)
        axes.set_ylabel("per cent of runs")
        key_above(figure, axes)
    return figure
