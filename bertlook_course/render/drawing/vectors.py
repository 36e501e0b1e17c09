"""Vectors of the plane as arrows, and terms of a sum as bars."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np

from bertlook_teach.views import (
    INK,
    LINE,
    MUTED,
    OKABE_ITO,
    RULE,
    SELECTED,
    SELECTED_INK,
    as_array,
    with_minus,
)

from .figures import styled_figure

POSITIVE, NEGATIVE = OKABE_ITO["blue"], OKABE_ITO["vermillion"]


def mixed_figure(vectors, mixes: Mapping[str, object]):
    """Vectors of layers as arrows in the plane, and what a mix makes of them: a panel for each mix.

    Parameters
    ----------
    vectors : array of shape (layer, 2)
    mixes : mapping of title to array of shape (2,)

    Returns
    -------
    matplotlib.figure.Figure
    """
    vectors = as_array(vectors)
    most = float(vectors.max()) * 1.2
    with styled_figure((9.8, 2.2), columns=len(mixes), sharey=True) as (figure, row):
        for axes, (title, mixed) in zip(row, mixes.items()):
            for layer, end in enumerate(vectors):
                _arrow(axes, (0, 0), end, MUTED, 2, f"layer {layer}" if layer else "embeddings")
            _arrow(axes, (0, 0), as_array(mixed), SELECTED, 5)
            at = ", ".join(f"{value:.2f}" for value in mixed)
            axes.set_title(f"{title}: ({at})", fontsize=18, color=INK)
            axes.set(xlim=(-0.03 * most, most * 1.35), ylim=(-0.06 * most, most), xticks=[], yticks=[])
            axes.spines[["left", "bottom"]].set_color(RULE)
    return figure


def sums_figure(panels: Mapping[str, Sequence]):
    """In each panel vectors tip to tail, and behind them their sum as a thick arrow, or a dot where they cancel.

    Parameters
    ----------
    panels : mapping of title to array of shape (n, 2)

    Returns
    -------
    matplotlib.figure.Figure

    Raises
    ------
    ValueError
        If a vector has not two numbers.
    """
    with styled_figure((9.8, 2.6), columns=len(panels)) as (figure, row):
        for axes, (title, vectors) in zip(row, panels.items()):
            vectors = as_array(vectors)
            if vectors.ndim != 2 or vectors.shape[1] != 2:
                raise ValueError(
                    f"{title!r} needs vectors of two numbers, an array of shape (n, 2); got shape {vectors.shape}."
                )
            total = vectors.sum(axis=0)
            ends = vectors.cumsum(axis=0)
            if total.any():
                _arrow(axes, (0, 0), total, SELECTED, 9)
            else:
                axes.plot(0, 0, "o", color=SELECTED, markersize=14, label="_sum")
            for n, (start, end) in enumerate(zip(ends - vectors, ends)):
                aside = 0.06 * (n - (len(vectors) - 1) / 2)  # or one arrow would hide the other
                _arrow(axes, (start[0], start[1] + aside), (end[0], end[1] + aside), LINE, 3)
            axes.set_title(title, fontsize=18, color=INK, loc="left")
            axes.set_xlabel(f"sum: length {np.hypot(*total):.2g}", color=INK, loc="left")
            axes.set(xlim=(-0.2, 2.3), ylim=(-0.4, 1.2), xticks=[], yticks=[], aspect="equal")
            axes.spines[["left", "bottom"]].set_visible(False)
    return figure


def terms_figure(
    panels: Mapping[str, tuple[Sequence[float], str]],
    names: Sequence[str] = (),
    *,
    size=(9.8, 3.2),
    one_scale: bool = True,
):
    """In each panel the terms of a sum as bars, up or down, with their values, and what is said of the sum below them.

    Parameters
    ----------
    panels : mapping of title to (values, str)
        As many values in each panel.
    names : sequence of str
        Of the terms. Default: none are written.
    one_scale : bool
        Whether all panels have one; where their units differ, each has its own.

    Returns
    -------
    matplotlib.figure.Figure
    """
    all_values = np.array([values for values, _ in panels.values()], dtype=float)
    with styled_figure(size, columns=len(panels), sharey=one_scale) as (figure, row):
        for axes, (title, (_, said)), values in zip(row, panels.items(), all_values):
            seen = all_values if one_scale else values
            low, high = min(0.0, seen.min()), max(0.0, seen.max())
            room = 0.16 * (high - low)
            bars = axes.bar(
                range(len(values)), values, color=[POSITIVE if v > 0 else NEGATIVE for v in values]
            )
            axes.bar_label(bars, [with_minus(f"{value:g}") for value in values], padding=2, color=INK)
            axes.axhline(0, color=MUTED, linewidth=1)
            axes.set_title(title, fontsize=18, color=INK, pad=12)
            axes.set_xlabel(said, color=INK)
            axes.set_xticks(range(len(values)) if names else [], names or None)
            axes.tick_params(bottom=False)
            axes.set(ylim=(low - room * (low < 0), high + room * (high > 0)), yticks=[])
            axes.spines[["left", "bottom"]].set_visible(False)
    return figure


def turn_figure(parts, names: Sequence[str]):
    """Vectors tip to tail, their sum, the sum without the last of them, and the angle between the two.

    Parameters
    ----------
    parts : array of shape (n, 2)
        Both sums lie in the upper half of the plane.
    names : sequence of str
        Of the vectors.

    Returns
    -------
    (matplotlib.figure.Figure, float)
        With the angle in degrees.
    """
    from matplotlib.patches import Arc

    parts = as_array(parts)
    ends = parts.cumsum(axis=0)
    before, after = ends[-1], ends[-2]
    first, second = (float(np.degrees(np.arctan2(y, x))) for x, y in (before, after))
    tall, size = 1.2 * ends[:, 1].max(), (9.8, 3.9)
    aside, radius = 0.04 * tall, 0.5 * tall
    with styled_figure(size) as (figure, [axes]):
        for end, part, name in zip(ends, parts, names):
            _arrow(axes, end - part, end, MUTED, 3)
            flat = abs(part[0]) > abs(part[1])
            x, y = end - part / 2 + ((0, aside if end[1] else -aside) if flat else (aside, 0))
            axes.text(
                x, y, name, ha="left", va=("bottom" if end[1] else "top") if flat else "center", color=MUTED
            )
        for end, colour, name in ((before, LINE, "before"), (after, SELECTED, "after")):
            _arrow(axes, (0, 0), end, colour, 6)
            side = 1 if colour == LINE else -1
            at = 0.8 * end + (side * aside, 0)
            axes.text(
                *at,
                name,
                color=SELECTED_INK if colour == SELECTED else INK,
                ha="left" if side > 0 else "right",
                va="center",
            )
        axes.add_patch(
            Arc((0, 0), 2 * radius, 2 * radius, theta1=min(first, second), theta2=max(first, second), lw=3)
        )
        at = radius * np.array([np.cos(np.radians(second)), np.sin(np.radians(second))])
        axes.text(at[0] - aside, at[1], f"{abs(first - second):.0f}°", ha="right", va="center", fontsize=26)
        wide = 1.15 * tall * size[0] / size[1]
        axes.set(
            xlim=(-0.35 * wide, 0.65 * wide), ylim=(-0.15 * tall, tall), xticks=[], yticks=[], aspect="equal"
        )
        axes.spines[["left", "bottom"]].set_visible(False)
    return figure, abs(first - second)


def _arrow(axes, start, end, colour: str, width: float, name: str = "") -> None:
    axes.annotate(
        "",
        end,
        start,
        arrowprops={"arrowstyle": "-|>", "color": colour, "linewidth": width, "mutation_scale": 22},
    )
    if name:
        upright = not end[0]  # beside it another arrow would cross the name
        axes.text(
            end[0] + (-0.1 if upright else 0.15),
            end[1] + 0.2 * upright,
            name,
            color=colour,
            va="bottom" if upright else "center",
        )
