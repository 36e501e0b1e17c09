"""A table of measured numbers as a picture: a dot or a bar and its interval for each cell, on one scale, with the cell's words beside it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from numbers import Real

from bertlook_teach.views import (
    INK,
    MUTED,
    PAPER,
    RULE,
    Picture,
    axis_numbers,
    model_of,
    shortened,
)

from ..drawing.figure_pictures import figure_picture
from ..drawing.figures import draw_level, legend_outside, styled_figure
from ..drawing.marks import MODELS, OTHERS, Mark, bar_of, mark_look, marks_of
from ..drawing.text_table import Estimate, TextTable, typeset_cell

_WIDTH, _EM = 9.8, 18  # inches, points
_LINE, _GAP = (
    1.1,
    0.25,
)  # lines of type: from dot to dot in a row, and between rows; wider, and tables of ten dots leave their slides
_LEAST = 1.6  # inches of the rows together, so that few of them still fill a slide


def _within(
    values: tuple[float, float, float] | None, ends: tuple[float, float] | None
) -> tuple[float, float, float] | None:
    """A number with its interval, the number alone, or nothing: what lies between the ends."""
    if values is None or ends is None or all(ends[0] <= value <= ends[1] for value in values):
        return values
    return (values[0],) * 3 if ends[0] <= values[0] <= ends[1] else None


def _values(cell: object) -> tuple[float, float, float] | None:
    """Value and interval of a cell; None where it holds words."""
    if isinstance(cell, Estimate):
        return cell.numbers
    return (float(cell),) * 3 if isinstance(cell, Real) and not isinstance(cell, bool) else None


def _scale(axes, numbers: Sequence[float], name: str) -> None:
    """A horizontal scale with round numbers at both ends, and its name."""
    from matplotlib.ticker import MaxNLocator

    ends = min(numbers), max(numbers)
    wide = ends[1] - ends[0] < 0.3 and max(map(abs, ends)) < 10  # numbers of two places run into one another
    ticks = MaxNLocator(4 if wide else 6, steps=[1, 2, 2.5, 5, 10]).tick_values(*ends)
    axes.set_xticks(ticks, axis_numbers(ticks))
    axes.set_xlim(ticks[0], ticks[-1])
    axes.set_xlabel(name, color=MUTED)
    axes.tick_params(length=0, pad=12)
    axes.tick_params(axis="x", labelcolor=MUTED)
    axes.spines[["left", "bottom"]].set_visible(False)
    axes.grid(axis="x", color=RULE, linewidth=0.8)
    axes.set_axisbelow(True)


def _all_marks(
    columns: Sequence[str], heading: str, rows: Sequence[str], model: str | Sequence[str | None] | None
) -> list[list[Mark]]:
    """Row by row the mark of each column; where one column is drawn, a row may be a model's, or the whole table."""
    if len(columns) > 1:
        return [marks_of(columns)] * len(rows)
    if isinstance(model, str) or model is None:
        named = model or model_of(columns[0]) or model_of(heading)
        said = [model_of(row) or named for row in rows]
    else:
        said = list(model)
    return [[MODELS.get(name or "", OTHERS[0])] for name in said]


def _beside_a_baseline(columns: Sequence[str], rows: Sequence[str], model: str | None) -> list[list[Mark]]:
    """The same for bars of two columns, a measure and its baseline: the measure is the row's model's, or the table's."""
    marks = marks_of(columns)
    if len(columns) != 2 or MODELS["baseline"] not in marks:
        return [marks] * len(rows)
    at = 1 - marks.index(MODELS["baseline"])
    measured = [MODELS.get(model_of(row) or model or "", marks[at]) for row in rows]
    return [[*marks[:at], mark, *marks[at + 1 :]] for mark in measured]


def _checked_model(model: str | Sequence[str | None] | None, columns: int, rows: int) -> None:
    if model is None:
        return
    if columns > 1:
        raise ValueError(
            f"model goes with one column, and {columns} are drawn: name the models in their headers."
        )
    names = [model] if isinstance(model, str) else model
    if unknown := [name for name in names if name is not None and name not in MODELS]:
        raise ValueError(f"there is no mark for {unknown[0]!r}; there is one for {', '.join(MODELS)}.")
    if not isinstance(model, str) and len(model) != rows:
        raise ValueError(f"the table has {rows} rows, and model names {len(model)}: one for each row.")


def table_dots(
    table: TextTable,
    columns: Sequence[str] | None = None,
    *,
    axis: str = "",
    line: tuple[str, float] | None = None,
    together: bool = False,
    model: str | Sequence[str | None] | None = None,
    within: tuple[float, float] | None = None,
) -> Picture:
    """Draw columns of a table as dots with their intervals; the table itself goes along for handouts and those who do not see it.

    Parameters
    ----------
    table : TextTable
        Its first column names the rows. Cells to be drawn are numbers or `Estimate`; words, such as "-", have no mark.
    columns : sequence of str, optional
        Which to draw, by their headers; by default all but the first. All share one scale, so they are of one unit.
    axis : str
        What the scale is, with its unit.
    line : (str, float), optional
        A level to compare with, and its name.
    together : bool
        All dots of a row on one line, without the words of the cells: for more than six rows of more than one column.
    model : {"specimen", "random twin", "BERT-base", "baseline"}, or one of them or None for each row, optional
        Whose values one column holds, where no name of a row or header says it. What nobody names is drawn as no model's.
    within : (float, float), optional
        The most that the scale may show. Values beyond it are printed and not drawn: they would make the others small.

    Returns
    -------
    Picture
        With the table's caption as its sentence.

    Raises
    ------
    KeyError
        If the table has no such column.
    ValueError
        If no cell of these columns is a number, or ``model`` does not fit them.

    Examples
    --------
    >>> from bertlook_course.render import Estimate
    >>> table_dots(TextTable(["head", "share"], [["1-2", Estimate(0.98, 0.97, 0.99)], ["2-1", "-"]], "Two heads."))
    Picture: Two heads.
    """
    how = {"axis": axis, "line": line, "together": together, "model": model, "within": within}
    return _drawn(table, columns, **how)


def table_bars(
    table: TextTable,
    columns: Sequence[str] | None = None,
    *,
    axis: str = "",
    line: tuple[str, float] | None = None,
    together: bool = False,
    model: str | Sequence[str | None] | None = None,
) -> Picture:
    """Draw columns of a table as bars with their intervals: for shares and other numbers that count from 0.

    Parameters are those of `table_dots`, but for:

    Parameters
    ----------
    line : (str, float), optional
        Where the bars begin, and its name: chance, for numbers that count from there. By default 0.
    together : bool
        The bars of a row inside one another, a baseline's wide and behind, without the words of the cells.

    Examples
    --------
    >>> from bertlook_course.render import Estimate
    >>> table_bars(TextTable(["head", "share"], [["1-2", Estimate(0.98, 0.97, 0.99)]], "One head."))
    Picture: One head.
    """
    return _drawn(table, columns, axis=axis, line=line, together=together, model=model, bars=True)


def _drawn(table: TextTable, columns: Sequence[str] | None, **how) -> Picture:
    header = list(table.header)
    chosen = header[1:] if columns is None else list(columns)
    sentence = table.caption or f"{header[0]}: {', '.join(chosen)}."
    return replace(figure_picture(dots_figure(table, chosen, **how), sentence, (table,)), wide=True)


def _short(cell, share: float) -> str:
    """A cell in type, in so much of the width."""
    return shortened(typeset_cell(cell), _EM, share * _WIDTH * 72)


def _draw_cells(
    axes, found, all_marks, *, labels: Sequence[str], lines: int, pitch: float, start: float | None
) -> list[float]:
    """A dot, or a bar from ``start``, with its interval for each cell that is a number; the height of every cell."""
    places = []
    for r, (cells, marks) in enumerate(zip(found, all_marks)):
        for k, (cell, mark) in enumerate(zip(cells, marks)):
            y = r if lines == 1 else r + (k - (lines - 1) / 2) * _LINE * _EM / 72 / pitch
            places.append(y)
            if cell:
                value, low, high = cell
                if start is not None:
                    behind = lines < len(cells) and mark.form == "tick"
                    high_bar = (0.84 if behind else 0.46) if lines == 1 else 0.8 * _LINE * _EM / 72 / pitch
                    look = {**bar_of(mark), "height": high_bar, "zorder": 1 if behind else 2}
                    axes.barh(y, value - start, left=start, label=f"_{labels[k]}", **look)
                if high > low:
                    ink = mark.colour if start is None else INK
                    axes.plot([low, high], [y, y], color=ink, linewidth=2.5, label="_interval", zorder=3)
                if start is None:
                    axes.plot(
                        value, y, label=f"_{labels[k]}", **mark_look(mark), markersize=11, clip_on=False
                    )
    return places


def _draw_line(axes, name: str, value: float, *, keyed: bool) -> None:
    """A level across all rows, named in the key or above."""
    look = {"upright": True, "color": "black", "linestyle": (0, (5, 4))}
    draw_level(axes, value, name if keyed else "", **look)
    if not keyed:
        low, high = axes.get_xlim()
        share = (value - low) / (high - low)
        side = "left" if share < 0.2 else "right" if share > 0.8 else "center"
        axes.text(value, 1.02, name, transform=axes.get_xaxis_transform(), ha=side, va="bottom", fontsize=_EM)


def dots_figure(
    table: TextTable,
    chosen: Sequence[str],
    *,
    axis: str = "",
    line: tuple[str, float] | None = None,
    together: bool = False,
    model: str | Sequence[str | None] | None = None,
    within: tuple[float, float] | None = None,
    bars: bool = False,
):
    """The figure of `table_dots` or `table_bars`, from whose parameters its own are: a matplotlib figure."""
    from matplotlib.patches import Rectangle

    header = list(table.header)
    if unknown := [name for name in chosen if name not in header]:
        raise KeyError(f"the table has no column {unknown[0]!r}; it has {', '.join(map(repr, header))}.")
    at = [header.index(name) for name in chosen]
    found = [[_within(_values(row[k]), within) for k in at] for row in table.rows]
    numbers = [value for row in found for cell in row if cell for value in cell]
    if not numbers:
        raise ValueError(
            f"no cell of {', '.join(map(repr, chosen))} is a number or an Estimate, but text; leave it a table, or give numbers."
        )
    _checked_model(model, 1 if bars and isinstance(model, str) else len(chosen), len(table.rows))
    several, lines = len(chosen) > 1, 1 if together else len(chosen)
    names = [str(row[0]) for row in table.rows]
    pitch = max((lines * _LINE + _GAP) * _EM / 72, _LEAST / len(names))
    with styled_figure((_WIDTH, 1), _EM) as (figure, (axes,)):
        start = (line[1] if line else 0.0) if bars else None
        look = {"labels": chosen, "lines": lines, "pitch": pitch, "start": start}
        if bars and len(chosen) > 1:
            marks = _beside_a_baseline(chosen, names, model)
        else:
            marks = _all_marks(chosen, header[0], names, model)
        places = _draw_cells(axes, found, marks, **look)
        axes.set_yticks(range(len(names)), [_short(name, 0.5) for name in names])
        axes.set_ylim(len(names) - 0.5, -0.5)
        if not together:
            beside = axes.secondary_yaxis("right")
            beside.set_yticks(places, [_short(row[k], 0.36) for row in table.rows for k in at])
            beside.tick_params(length=0, pad=12, labelsize=_EM)
            beside.spines["right"].set_visible(False)
        ends = [start] if bars and line else [0.0, *([line[1]] if line else [])]
        _scale(axes, [*ends, *numbers], axis)
        if several:
            for name, *column in zip(chosen, *marks):
                mark = column[0]
                if bars:
                    key = bar_of(mark) if len(set(column)) == 1 else {"facecolor": PAPER, "edgecolor": INK}
                    axes.add_patch(Rectangle((0, 0), 0, 0, label=name, **key))
                else:
                    axes.plot([], [], label=name, **mark_look(mark), markersize=11)
        if line:
            _draw_line(axes, *line, keyed=several)
    lines_of_key = legend_outside(figure, axes, "outside upper left") if several else bool(line)
    around = 2.0 + 1.4 * bool(axis) + 1.5 * lines_of_key  # in lines of type: scale, its name, key
    figure.set_figheight(pitch * len(names) + around * _EM / 72)
    return figure
