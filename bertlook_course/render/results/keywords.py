"""Heads as points: what a ranking of heads is taken to say, against what it follows."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from bertlook_teach.model import head_label
from bertlook_teach.views import MARKER_CYCLE, MUTED, SELECTED

from ..drawing.figures import draw_level, styled_figure
from ..drawing.marks import mark_look, marks_of


def heads_figure(
    panels: Mapping[str, tuple[object, object]],
    *,
    ylabel: str,
    marked=(),
    model: str = "specimen",
    chance: Mapping[str, float] | None = None,
    size=(9.8, 4.2),
    font_size: float = 18,
):
    """Every head as a point, a panel for each quantity on the horizontal axis.

    Parameters
    ----------
    panels : mapping of axis name to (x, y), arrays of shape (layer, head)
    ylabel : str
        The same for all panels.
    marked : sequence of (layer, head)
        Heads drawn as filled squares with their names: those a ranking puts first.
    model : str
        Whose heads they are: drawn in its colour and form.
    chance : mapping of axis name to number, optional
        A vertical line in that panel.
    """
    with styled_figure(size, font_size, len(panels)) as (figure, rows):
        for axes, (name, (x, y)) in zip(rows, panels.items()):
            x, y = np.asarray(x, float), np.asarray(y, float)
            if x.shape != y.shape or x.ndim != 2:
                raise ValueError(
                    f"panel {name!r} needs two arrays of one shape (layer, head); got {x.shape} and {y.shape}."
                )
            chosen = np.zeros(x.shape, bool)
            for head in marked:
                chosen[tuple(head)] = True
            if chance and name in chance:
                draw_level(axes, chance[name], upright=True, linewidth=1.5)
            look = mark_look(marks_of([model])[0]) | {"linestyle": "none"}
            axes.plot(x[~chosen], y[~chosen], **look, markersize=8)
            axes.plot(x[chosen], y[chosen], MARKER_CYCLE[1], color=SELECTED, markersize=8)
            axes.set_xlabel(name)
            axes.locator_params(nbins=4)
            axes.margins(0.12)
        first = [np.asarray(side, float) for side in next(iter(panels.values()))]
        lower_first = sorted(marked[:2], key=lambda head: float(first[1][tuple(head)]))
        for i, head in enumerate(lower_first):  # more names would cover each other
            rows[0].annotate(
                head_label(*head),
                tuple(float(side[tuple(head)]) for side in first),
                (34, 1.3 * font_size * i - 0.4 * font_size),
                textcoords="offset points",
                arrowprops={"arrowstyle": "-", "color": MUTED, "shrinkB": 4},
            )
        rows[0].set_ylabel(ylabel)
    return figure
