"""Gains over the best fixed distance on a slide: a line for each relation, a mark for each model, with its interval where there is one."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from bertlook_teach.views import RULE

from ..drawing.figures import draw_level, key_above, styled_figure
from ..drawing.marks import line_looks

_APART = 0.36  # of the distance of two lines, between the marks of two models with intervals


def gain_figure(
    series: Mapping[str, Mapping[str, float | tuple[float, float, float]]],
    relations: Sequence[str],
    *,
    size=(9.8, 4.9),
    font_size: float = 18,
    ax=None,
):
    """What the best head finds more than the best fixed distance, one line a relation.

    Parameters
    ----------
    series : mapping of a model's name to mapping of relation to gain
        Points of per cent: ``(gain, low, high)`` where it was measured with an interval, a number where it was printed. A relation
        that a model lacks gets no mark.
    relations : sequence of str
        From top to bottom.
    ax : matplotlib.axes.Axes, optional
        Draw into these.

    Returns
    -------
    matplotlib.figure.Figure

    Raises
    ------
    ValueError
        If there is nothing to draw, or an interval does not lie around its gain.
    """
    drawn = {
        name: {relation: gains[relation] for relation in relations if relation in gains}
        for name, gains in series.items()
    }
    drawn = {name: gains for name, gains in drawn.items() if gains}
    if not drawn:
        raise ValueError("a figure of gains needs at least one gain; got none.")
    places = {relation: place for place, relation in enumerate(relations)}
    measured = [name for name, gains in drawn.items() if isinstance(next(iter(gains.values())), tuple)]
    with styled_figure(size, font_size, ax=ax) as (figure, (axes,)):
        for place in places.values():
            axes.axhline(place, color=RULE, linewidth=1, zorder=0)
        draw_level(axes, 0, upright=True, zorder=1)
        for (name, gains), look in zip(drawn.items(), line_looks(drawn)):
            look = look | {
                "linestyle": "",
                "markersize": 9 if name not in measured else 13 if len(measured) == 1 else 10,
            }
            lower = _APART * (measured.index(name) - (len(measured) - 1) / 2) if name in measured else 0
            heights = [places[relation] + lower for relation in gains]
            values = list(gains.values())
            if name in measured:
                for relation, (gain, low, high), height in zip(gains, values, heights):
                    if not low <= gain <= high:
                        raise ValueError(
                            f"{relation!r} needs low <= gain <= high; {name} has {low}, {gain}, {high}."
                        )
                    axes.plot(
                        [low, high], [height, height], color=look["color"], linewidth=3, label="_interval"
                    )
                values = [gain for gain, _, _ in values]
            axes.plot(values, heights, label=name, **look)
        axes.set_yticks(range(len(places)), list(places))
        axes.set_ylim(len(places) - 0.5, -0.5)
        axes.set_xlabel("points above the best fixed distance (dotted line: no more than it)")
        key_above(figure, axes)
    return figure
