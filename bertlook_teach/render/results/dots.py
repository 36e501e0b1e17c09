"""A table of measured shares as a picture: a dot and its interval for each cell, on one scale, with the cell's words beside it."""

from __future__ import annotations

import re
from collections.abc import Sequence

from ..drawing.marks import MODELS, OTHERS, Mark, draw_mark, marks_of, model_of
from ..drawing.palette import INK, MUTED, RULE
from ..drawing.pictures import WidePicture
from ..drawing.svg import axis_numbers, coordinate, frame, shortened, text, text_width
from ..drawing.text_table import TextTable, typeset_cell

_WIDTH, _EM = 1180.0, 30.0
_DOT = 0.34 * _EM
_LEAST = 200.0  # height of the rows together, so that few of them still fill a slide
_NUMBER = r"[+\-−–]?\d*\.?\d+"
_CELL = re.compile(
    rf"^(?:\d+-\d+[^:\s]*: )?({_NUMBER})(?: ?%)?(?: ?[\[(]({_NUMBER})(?:,| to) ({_NUMBER})[\])])?"
)
_STEPS = (0.01, 0.02, 0.05, 0.1, 0.2, 0.25, 0.5, 1, 2, 5, 10, 20, 25, 50, 100, 200, 500)


def _number(written: str) -> float:
    return float(re.sub("[−–]", "-", written))


def _key_places(names: Sequence[str], left: float) -> list[tuple[float, int]]:
    """Where each entry of the key begins, and in which of its lines; a long key begins further to the left, and a longer one has more lines."""
    wide = [text_width(name, _EM) + 2.4 * _EM for name in names]
    places: list[tuple[float, int]] = []
    x, row = max(0.0, min(left, _WIDTH + _EM - sum(wide))), 0
    for width in wide:
        if places and x + width - _EM > _WIDTH:
            x, row = 0.0, row + 1
        places.append((x, row))
        x += width
    return places


def _within(
    values: tuple[float, float, float] | None, ends: tuple[float, float] | None
) -> tuple[float, float, float] | None:
    """A number with its interval, the number alone, or nothing: what lies between the ends."""
    if values is None or ends is None or all(ends[0] <= value <= ends[1] for value in values):
        return values
    return (values[0],) * 3 if ends[0] <= values[0] <= ends[1] else None


def _values(cell: object) -> tuple[float, float, float] | None:
    """Value and interval of a cell: "0.98 [0.97, 0.99] in 1-1", "1-5: 0.85", "+3.2 %"; None where it holds no number."""
    found = _CELL.match(str(cell).replace("\u2011", "-"))
    if not found:
        return None
    value = _number(found[1])
    low, high = (_number(found[2]), _number(found[3])) if found[2] else (value, value)
    return value, low, high


def _step(low: float, high: float, room: float) -> float:
    """The smallest round step of an axis of which there are not more than six, and whose numbers do not touch."""
    for step in _STEPS:
        first, last = low // step, -(-high // step)
        wide = (
            max(text_width(said, _EM) for said in axis_numbers([step, step * first, step * last])) + 0.6 * _EM
        )
        if (high - low) / step <= 6 and last - first <= room / wide:
            return step
    return high - low


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
) -> WidePicture:
    """Draw columns of a table as dots with their intervals; the table itself goes along for handouts and those who do not see it.

    Parameters
    ----------
    table : TextTable
        Its first column names the rows. A cell begins with its number: "0.98 [0.97, 0.99] in 1-6".
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
        The most that the scale may show. An interval or number that goes beyond is said and not drawn: it would make the others small.

    Returns
    -------
    WidePicture
        With the table's caption as its sentence.

    Raises
    ------
    KeyError
        If the table has no such column.
    ValueError
        If no cell of these columns begins with a number, or ``model`` does not fit them.

    Examples
    --------
    >>> table_dots(TextTable(["head", "share"], [["1-2", "0.98 [0.97, 0.99]"], ["2-1", "-"]], "Two heads."))
    Picture: Two heads.
    """
    header = list(table.header)
    chosen = header[1:] if columns is None else list(columns)
    if unknown := [name for name in chosen if name not in header]:
        raise KeyError(f"the table has no column {unknown[0]!r}; it has {', '.join(map(repr, header))}.")
    at = [header.index(name) for name in chosen]
    found = [[_within(_values(row[k]), within) for k in at] for row in table.rows]
    numbers = [value for row in found for cell in row if cell for value in cell]
    if not numbers:
        raise ValueError(f"no cell of {', '.join(map(repr, chosen))} begins with a number; leave it a table.")
    _checked_model(model, len(chosen), len(table.rows))
    level = [line[1]] if line else []
    low, high = min(0.0, *numbers, *level), max(0.0, *numbers, *level)
    several = len(chosen) > 1
    words = [[typeset_cell(row[k]) for k in at] for row in table.rows]
    names_wide = min(0.5 * _WIDTH, max(text_width(str(row[0]), _EM) for row in table.rows) + _EM)
    cells_wide = (
        0
        if together
        else min(0.36 * _WIDTH, max(text_width(w, _EM) for row in words for w in row) + 0.7 * _EM)
    )
    # The last number of the axis stands half beyond it.
    left, right = names_wide + 0.9 * _EM, _WIDTH - max(cells_wide + 0.8 * _EM, text_width("100", _EM))
    step = _step(low, high, right - left)
    low, high = step * (low // step), step * -(-high // step)
    c = coordinate
    marks = _all_marks(chosen, header[0], [str(row[0]) for row in table.rows], model)

    def across(value: float) -> float:
        return left + (value - low) / (high - low) * (right - left)

    lines = 1 if together else len(chosen)
    pitch = max((lines * 1.2 + 0.3) * _EM, _LEAST / len(table.rows))
    key = _key_places([*(chosen if several else []), *([line[0]] if line and several else [])], left)
    top = (1.8 + 1.4 * key[-1][1] if key else 1.8 if line else 0.4) * _EM
    bottom = top + pitch * len(table.rows)
    body = []
    for k, (name, (x, row)) in enumerate(zip(chosen, key)):
        y = (0.8 + 1.4 * row) * _EM
        body += [draw_mark(marks[0][k], x + 0.4 * _EM, y, _DOT), text(x + 1.1 * _EM, y, name)]
    ticks = [step * k for k in range(round(low / step), round(high / step) + 1)]
    for tick, said in zip(ticks, axis_numbers(ticks)):
        body.append(f'<path d="M{c(across(tick))} {c(top)}V{c(bottom)}" stroke="{RULE}"/>')
        body.append(text(across(tick), bottom + 0.7 * _EM, said, anchor="middle", fill=MUTED))
    if line:
        body.append(
            f'<path d="M{c(across(line[1]))} {c(top)}V{c(bottom)}" stroke="{INK}" stroke-width="2.5" stroke-dasharray="7 5"/>'
        )
        if several:  # in the key, after the last column
            x, y = key[-1][0], (0.8 + 1.4 * key[-1][1]) * _EM
            body.append(
                f'<path d="M{c(x + 0.4 * _EM)} {c(y - 0.7 * _EM)}v{c(1.4 * _EM)}" stroke="{INK}" stroke-width="2.5" stroke-dasharray="7 5"/>'
            )
            body.append(text(x + 1.1 * _EM, y, line[0]))
        else:
            body.append(text(across(line[1]), 0.8 * _EM, line[0], anchor="middle"))
    for r, (row, cells) in enumerate(zip(table.rows, found)):
        y = top + r * pitch + pitch / 2
        body.append(text(names_wide, y, shortened(typeset_cell(row[0]), _EM, names_wide), anchor="end"))
        for k, (mark, cell) in enumerate(zip(marks[r], cells)):
            height = y if together else y + (k - (lines - 1) / 2) * 1.2 * _EM
            if cell:
                value, *ends = map(across, cell)
                if ends[1] > ends[0]:
                    body.append(
                        f'<path d="M{c(ends[0])} {c(height)}H{c(ends[1])}" stroke="{mark.colour}" stroke-width="4"/>'
                    )
                body.append(draw_mark(mark, value, height, _DOT))
            if not together:
                body.append(
                    text(right + 0.9 * _EM, height, shortened(words[r][k], _EM, cells_wide), fill=INK)
                )
    if axis:
        body.append(text((left + right) / 2, bottom + 1.75 * _EM, axis, anchor="middle", fill=MUTED))
    sentence = table.caption or f"{header[0]}: {', '.join(chosen)}."
    svg = frame(
        body,
        _WIDTH,
        bottom + (2.4 if axis else 1.3) * _EM,
        title=axis or "Values",
        sentence=sentence,
        font_size=_EM,
    )
    return WidePicture(svg, sentence, (table,))
