"""Figures for papers and handouts, with matplotlib. Nothing here displays and nothing touches pyplot's state."""

from __future__ import annotations

import contextlib
from collections.abc import Mapping

import numpy as np

from bertlook_teach.views import INK, MUTED, RULE, as_array

from .marks import line_looks

FORMATS = (".svg", ".pdf", ".png")

FIGURE_STYLE = {
    "font.family": "DejaVu Sans",  # comes with matplotlib, so a figure is the same on every machine
    "svg.hashsalt": "bertlook",
    "svg.fonttype": "none",
    "pdf.fonttype": 42,
    "axes.unicode_minus": True,
    "text.parse_math": False,  # a token may be a dollar
}


_OURS = "bertlook"  # label of a figure that was made here


@contextlib.contextmanager
def styled_figure(size: tuple[float, float], font_size: float = 18, columns: int = 1, *, ax=None, **subplots):
    """A new figure and its row of axes, in the style of all figures; what is drawn in the context has its type.

    With ``ax`` the axes are those given, and their figure keeps its size and its type.

    Parameters
    ----------
    size : (float, float)
        In inches.
    font_size : float
        In points. A figure 9.8 inches wide with type of 18 points is as large as a slide.
    columns : int
        Panels side by side.
    ax : matplotlib.axes.Axes, optional
        Of somebody's own figure, to be drawn into.
    **subplots
        Passed to ``Figure.subplots``.

    Yields
    ------
    (matplotlib.figure.Figure, array of matplotlib.axes.Axes)

    Examples
    --------
    >>> with styled_figure((9.8, 4), columns=2) as (figure, (left, right)):
    ...     _ = left.set_xlabel("layer")
    >>> left.xaxis.label.get_size()
    18.0
    """
    import matplotlib
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

    if ax is not None:
        if not isinstance(ax, Axes):
            raise TypeError(
                f"ax is one pair of axes of matplotlib, as in figure, ax = plt.subplots(); got {type(ax).__name__}."
                + (" Of several give one: ax=axes[0]." if isinstance(ax, np.ndarray) else "")
            )
        yield ax.figure, np.array([ax])
        return
    with matplotlib.rc_context({**FIGURE_STYLE, "font.size": font_size}):
        figure = Figure(figsize=size, layout="constrained", label=_OURS)
        row = figure.subplots(1, columns, squeeze=False, **subplots)[0]
        for axes in row:
            axes.spines[["top", "right"]].set_visible(False)
            axes.tick_params(labelsize=font_size)
        yield figure, row


def name_in_key(name: str) -> str:
    """A series' name as the key shows it: matplotlib leaves out labels that begin with an underscore."""
    return f" {name}" if name.startswith("_") else name


def draw_curves(axes, x, curves: Mapping[str, object], *, markersize: float = 8, band: float = 0.2) -> None:
    """Lines of one pair of axes with their marks, and a band where a curve is (values, low, high)."""
    for look, (name, curve) in zip(line_looks(curves), curves.items()):
        values, low, high = curve if isinstance(curve, tuple) else (curve, None, None)
        axes.plot(x, values, label=name_in_key(name), markersize=markersize, **look)
        if low is not None:
            axes.fill_between(x, low, high, color=look["color"], alpha=band, linewidth=0)


def draw_level(axes, value: float, name: str = "", *, upright: bool = False, **look) -> None:
    """A dotted line from side to side, or from top to bottom: a baseline, chance, zero."""
    draw = axes.axvline if upright else axes.axhline
    named = {"label": name} if name else {}
    draw(value, **{"color": MUTED, "linewidth": 2, "linestyle": (0, (1, 2)), **named, **look})


def key_above(figure, axes, columns: int = 2, **look) -> None:
    """The key of a figure over its panels, from what one of them shows."""
    legend_outside(figure, axes, "outside upper left", most=columns, **look)


def layer_curves(
    series: Mapping[str, object],
    *,
    published: Mapping[str, object] | None = None,
    ylabel: str = "",
    title: str = "",
    ylim: tuple[float, float] | None = None,
    size: tuple[float, float] = (8.0, 4.5),
    font_size: float = 13,
    ax=None,
):
    """One curve per series over the layers of a model, counted from 1; published curves beside them.

    Parameters
    ----------
    series : mapping of str to array
        Ours. One number per layer, shape (layer,), or one per head, shape (layer, head), of which the layer's
        mean is drawn. Models of different depth may stand side by side: the axis is the layer's number.
    published : mapping of str to array, optional
        From a paper. Drawn dashed with open markers, and "published" is added to the name.
    ylabel, title : str
        Say the unit: "attention to [SEP] (share)".
    ylim : (float, float), optional
        By default from 0 to just above the largest value.
    size : (float, float)
        In inches.
    font_size : float
        In points.
    ax : matplotlib.axes.Axes, optional
        Draw into these axes of your own figure, which keeps its size and type.

    Returns
    -------
    matplotlib.figure.Figure

    Raises
    ------
    ValueError
        If there is nothing to draw, a series is not 1-D or 2-D, or holds NaN.

    Examples
    --------
    >>> figure = layer_curves({"specimen": [.1, .4, .2]}, ylabel="attention to [SEP] (share)")
    >>> [line.get_label() for line in figure.axes[0].lines]
    ['specimen']
    """
    if not isinstance(series, Mapping):
        raise TypeError(
            'series is a mapping from names to numbers, for example {"specimen": profile.mean("entropy")}; '
            f"got {type(series).__name__}."
        )
    ours = {name: _per_layer(name, values) for name, values in series.items()}
    theirs = {name: _per_layer(name, values) for name, values in (published or {}).items()}
    if not ours and not theirs:
        raise ValueError("there is no series to draw; give at least one name and its numbers per layer.")
    with styled_figure(size, font_size, ax=ax) as (figure, (axes,)):
        axes.tick_params(colors=INK)
    curves = ours | {_published(name): values for name, values in theirs.items()}
    for look, (name, values) in zip(line_looks(curves), curves.items()):
        _curve(axes, values, name, look)
    drawn = [*ours.values(), *theirs.values()]
    _finish(axes, drawn, max(map(len, drawn)), ylabel, title, ylim)
    if len(drawn) > 1:
        legend_outside(figure, axes)
    return figure


def describe_layers(series: Mapping[str, object], *, ylabel: str = "value") -> str:
    """A sentence for a figure of layer curves: where each curve is highest and lowest.

    >>> describe_layers({"specimen": [.1, .4, .2]}, ylabel="attention to [SEP] (share)")
    'attention to [SEP] (share): specimen is highest in layer 2 (0.400) and lowest in layer 1 (0.100).'
    """
    from bertlook_teach.views import number

    parts = []
    for name, values in series.items():
        curve = _per_layer(name, values)
        high, low = int(curve.argmax()), int(curve.argmin())
        parts.append(
            f"{name} is highest in layer {high + 1} ({number(curve[high])}) "
            f"and lowest in layer {low + 1} ({number(curve[low])})"
        )
    return f"{ylabel}: {'; '.join(parts)}."


def _per_layer(name: str, values) -> np.ndarray:
    """One finite number per layer."""
    if isinstance(values, tuple) and len(values) == 3 and np.ndim(values[0]) == 1:
        raise ValueError(
            f"series {name!r} is a mean with the ends of its interval: that is drawn by interval_curves."
        )
    values = as_array(values)
    if values.ndim == 2:
        values = values.mean(axis=1)
    if values.ndim != 1 or not len(values):
        raise ValueError(
            f"series {name!r} needs one number per layer, shape (layer,) or (layer, head); got {values.shape}."
        )
    if not np.isfinite(values).all():
        raise ValueError(
            f"series {name!r} holds a number that is not finite in layer {int(np.argmin(np.isfinite(values))) + 1}."
        )
    return values


def _published(name: str) -> str:
    return name if "published" in name else f"{name} (published)"


def _curve(axes, values, name: str, look: Mapping[str, object]) -> None:
    axes.plot(np.arange(1, len(values) + 1), values, markersize=7, label=name_in_key(name), **look)


def legend_outside(figure, axes, loc: str = "outside lower center", most: int | None = None, **look) -> int:
    """Outside the axes, where it hides no point; in several rows if one is wider than the figure. Gives the number of rows.

    In somebody's own figure, whose room is not ours, inside the axes.
    """
    from matplotlib.backends.backend_agg import FigureCanvasAgg

    if figure.get_label() != _OURS:
        _as_typed(axes.legend(frameon=False))
        return 0

    handles, labels = axes.get_legend_handles_labels()
    renderer = FigureCanvasAgg(figure).get_renderer()
    for columns in range(min(most or len(labels), len(labels)), 0, -1):
        legend = figure.legend(
            handles,
            labels,
            loc=loc,
            ncols=columns,
            frameon=False,
            fontsize=axes.xaxis.label.get_size(),
            **look,
        )
        _as_typed(legend)
        if columns == 1 or legend.get_window_extent(renderer).width <= figure.bbox.width:
            return -(-len(labels) // columns)
        legend.remove()
    return 0


def _as_typed(legend) -> None:
    for text in legend.get_texts():
        text.set_parse_math(False)  # a dollar is a token


def _finish(axes, drawn, n_layers: int, ylabel: str, title: str, ylim) -> None:
    """Layers counted from 1, a scale that starts at 0 where it can, and no more ink than needed."""
    top, bottom = max(float(np.max(v)) for v in drawn), min(float(np.min(v)) for v in drawn)
    axes.set_ylim(ylim or (min(0.0, bottom * 1.08), top * 1.08 if top > 0 else 1.0))
    axes.set_xlim(0.5, n_layers + 0.5)
    step = 1 if n_layers <= 16 else 2
    axes.set_xticks(range(1, n_layers + 1, step))
    axes.set_xlabel("layer")
    axes.set_ylabel(ylabel)
    if title:
        axes.set_title(title, loc="left", fontweight="bold", color=INK)
    for side in ("left", "bottom"):
        axes.spines[side].set_color(MUTED)
    axes.grid(axis="y", color=RULE, linewidth=0.8)
    axes.set_axisbelow(True)
