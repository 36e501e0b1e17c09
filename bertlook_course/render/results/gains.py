"""Gains over the best fixed distance on a slide: a hollow dot for each relation with its interval, a filled one for what was printed."""

from __future__ import annotations

from collections.abc import Mapping

from bertlook_teach.views import LINE, RULE

from ..drawing.figures import draw_level, key_above, styled_figure
from ..drawing.marks import line_looks


def gain_figure(
    gains: Mapping[str, tuple], *, ours: str, theirs: str, size=(9.8, 4.9), font_size: float = 18
):
    """What the best head finds more than the best fixed distance, one line a relation.

    Parameters
    ----------
    gains : mapping of relation to (gain, low, high, published)
        Points of per cent, from top to bottom. The first three are None where nothing was measured, the last where nothing was
        printed.
    ours, theirs : str
        Whose the hollow dots are, and whose the filled ones.

    Returns
    -------
    matplotlib.figure.Figure

    Raises
    ------
    ValueError
        If there is nothing to draw, or an interval does not lie around its gain.
    """
    measured, printed = {}, {}
    for place, (name, (gain, low, high, published)) in enumerate(gains.items()):
        if gain is not None:
            if not low <= gain <= high:
                raise ValueError(f"{name!r} needs low <= gain <= high; got {low}, {gain}, {high}.")
            measured[place] = (gain, low, high)
        if published is not None:
            printed[place] = published
    if not measured and not printed:
        raise ValueError("a figure of gains needs at least one gain; got none.")
    with styled_figure(size, font_size) as (figure, (axes,)):
        for place in range(len(gains)):
            axes.axhline(place, color=RULE, linewidth=1, zorder=0)
        draw_level(axes, 0, upright=True, zorder=1)
        for place, (_, low, high) in measured.items():
            axes.plot([low, high], [place, place], color=LINE, linewidth=3, label="_interval")
        if measured:
            dots = line_looks(["specimen"])[0] | {"linestyle": "", "markersize": 13}
            axes.plot([gain for gain, _, _ in measured.values()], list(measured), label=ours, **dots)
        if printed:  # smaller, so that a ring behind it is still seen
            dots = line_looks(["BERT-base"])[0] | {"linestyle": "", "markersize": 9 if measured else 11}
            axes.plot(list(printed.values()), list(printed), label=theirs, **dots)
        axes.set_yticks(range(len(gains)), list(gains))
        axes.set_ylim(len(gains) - 0.5, -0.5)
        axes.set_xlabel("points above the best fixed distance (dotted line: no more than it)")
        key_above(figure, axes)
    return figure
