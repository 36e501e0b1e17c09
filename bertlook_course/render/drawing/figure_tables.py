"""What a matplotlib figure shows, as small tables: for readers who cannot see it, and for those who want the numbers."""

from __future__ import annotations

import numpy as np

from bertlook_teach.views import number

from .text_table import TextTable

MOST_ROWS = 60  # a longer table is a file, not something to read


def figure_numbers(figure) -> tuple[TextTable, ...]:
    """Curves, bars and points of a figure, one table for each of its axes.

    Parameters
    ----------
    figure : matplotlib.figure.Figure
        Drawn: only then do ticks have their names.

    Returns
    -------
    tuple of TextTable
        A row for each place on the axis that names places, a column for each series. Heat maps and histograms, and
        whatever has more than 60 places, have none. A horizontal line of reference stands in the caption.

    Examples
    --------
    >>> from matplotlib.figure import Figure
    >>> figure = Figure()
    >>> axes = figure.subplots()
    >>> _ = axes.plot([1, 2], [0.5, 0.25], label="specimen")
    >>> _ = axes.set_xlabel("layer")
    >>> figure_numbers(figure)[0]
    layer  specimen
    1      0.500
    2      0.250
    """
    return tuple(table for axes in figure.axes for table in _tables(axes))


def _tables(axes):
    series, levels = {}, []
    lying = type(axes.yaxis.get_major_locator()).__name__ == "FixedLocator" and any(
        text.get_text().isalpha() for text in axes.get_yticklabels()
    )  # names stand at the left
    for line in axes.lines:
        x, y = (np.asarray(values, float) for values in line.get_data())
        name = str(line.get_label())
        if line.get_transform() != axes.transData:  # drawn from side to side: a level, not a curve
            if not name.startswith("_") and np.ptp(y) == 0:
                levels.append(f"{name}: {_printed(y[0])}")
        elif len(x) and not (name.startswith("_") and len(axes.lines) > 1):
            places, values = (y, x) if lying else (x, y)
            series[_free(name, series)] = dict(zip(places.tolist(), values.tolist()))
    for bars in axes.containers:
        if not hasattr(bars, "patches"):
            continue
        lying = bars.orientation == "horizontal"
        places = [
            bar.get_y() + bar.get_height() / 2 if lying else bar.get_x() + bar.get_width() / 2 for bar in bars
        ]
        sizes = [bar.get_width() if lying else bar.get_height() for bar in bars]
        series[_free(str(bars.get_label()), series)] = dict(
            zip(np.round(places, 6).tolist(), map(float, sizes))
        )
    axis = axes.yaxis if lying else axes.xaxis
    places = sorted({place for values in series.values() for place in values})
    title = axes.get_title(loc="left") or axes.get_title()
    if places and len(places) <= MOST_ROWS:
        ticks = axis.get_ticklocs()
        # a panel whose labels stand beside its neighbour shows none: ask for what they would say
        shown = [text.get_text() for text in axis.get_ticklabels()]
        said = shown or axis.get_major_formatter().format_ticks(ticks)
        names = {round(float(tick), 6): name for tick, name in zip(ticks, said)}
        rows = [
            [
                _place(place, names.get(round(place, 6), "")),
                *(_printed(values.get(place)) for values in series.values()),
            ]
            for place in places
        ]
        yield TextTable(
            [axis.get_label_text() or "place", *series], rows, "; ".join(filter(None, [title, *levels]))
        )
    for dots in axes.collections:
        points = np.ma.filled(getattr(dots, "get_offsets", lambda: np.empty((0, 2)))(), np.nan)
        if 1 < len(points) <= MOST_ROWS and hasattr(dots, "get_sizes") and len(np.unique(points)) > 1:
            label = str(dots.get_label())
            header = [axes.get_xlabel() or "across", axes.get_ylabel() or "up"]
            rows = [[_printed(x), _printed(y)] for x, y in np.asarray(points, float)]
            yield TextTable(
                header, rows, ": ".join(filter(None, [title, "" if label.startswith("_") else label]))
            )


def _place(place: float, name: str) -> str:
    """What stands under a place: its name, or the place itself where matplotlib wrote a number."""
    try:
        float(name.replace("−", "-"))
    except ValueError:
        return name or f"{place:g}"
    return f"{place:g}"


def _printed(value) -> str:
    if value is None or not np.isfinite(value):
        return "–"
    return number(value)


def _free(name: str, taken) -> str:
    """A name for a column; without one of its own, what a single series needs no name for."""
    name = "value" if name.startswith("_") or not name else name
    return name if name not in taken else f"{name} ({len(taken) + 1})"
