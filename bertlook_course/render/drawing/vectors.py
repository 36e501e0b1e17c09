"""Vectors of the plane as arrows, and terms of a sum as bars."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np

from bertlook_teach.views import INK, LINE, MUTED, OKABE_ITO, RULE, SELECTED, as_array, with_minus

from .figures import styled_figure

POSITIVE, NEGATIVE = OKABE_ITO["blue"], OKABE_ITO["vermillion"]


def mixed_figure(vectors, mixes: Mapping[str, object], *, size=(9.8, 2.2)):
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
    with styled_figure(size, columns=len(mixes), sharey=True) as (figure, row):
        for axes, (title, mixed) in zip(row, mixes.items()):
            for layer, end in enumerate(vectors):
                _arrow(axes, (0, 0), end, MUTED, 2, f"layer {layer}" if layer else "embeddings")
            _arrow(axes, (0, 0), as_array(mixed), SELECTED, 5)
            at = ", ".join(f"{value:.2f}" for value in mixed)
            axes.set_title(f"{title}: ({at})", fontsize=18, color=INK)
            axes.set(xlim=(-0.03 * most, most * 1.35), ylim=(-0.06 * most, most), xticks=[], yticks=[])
            axes.spines[["left", "bottom"]].set_color(RULE)
    return figure


def sums_figure(panels: Mapping[str, Sequence], *, size=(9.8, 2.6)):
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
    with styled_figure(size, columns=len(panels)) as (figure, row):
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
    panels: Mapping[str, tuple[Sequence[float], str]], names: Sequence[str] = (), *, size=(9.8, 3.2)
):
    """In each panel the terms of a sum as bars, up or down, with their values, and what is said of the sum below them.

    Parameters
    ----------
    panels : mapping of title to (values, str)
        As many values in each panel.
    names : sequence of str
        Of the terms. Default: none are written.

    Returns
    -------
    matplotlib.figure.Figure
    """
    all_values = np.array([values for values, _ in panels.values()], dtype=float)
    low, high = min(0.0, all_values.min()), all_values.max()
    room = 0.16 * (high - low)
    with styled_figure(size, columns=len(panels), sharey=True) as (figure, row):
        for axes, (title, (_, said)), values in zip(row, panels.items(), all_values):
            bars = axes.bar(
                range(len(values)), values, color=[POSITIVE if v > 0 else NEGATIVE for v in values]
            )
            axes.bar_label(bars, [with_minus(f"{value:g}") for value in values], padding=2, color=INK)
            axes.axhline(0, color=MUTED, linewidth=1)
            axes.set_title(title, fontsize=18, color=INK, pad=12)
            axes.set_xlabel(said, color=INK)
            axes.set_xticks(range(len(values)) if names else [], names or None)
            axes.tick_params(bottom=False)
            axes.set(ylim=(low - room * (low < 0), high + room), yticks=[])
            axes.spines[["left", "bottom"]].set_visible(False)
    return figure


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
