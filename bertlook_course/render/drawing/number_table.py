"""A small array as a table that can be read from the last row: named rows, two digits, the shape in the caption."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from bertlook_teach.views import (
    OKABE_ITO,
    attribute,
    content,
    difference_colour,
    magnitude_colour,
    short_number,
    text_colour,
)

_MANY = 7  # more columns than this are cut, unless they are named


class NumberTable:
    """Show an array with its axes named: HTML in a notebook, plain characters elsewhere.

    Parameters
    ----------
    values : array of shape (row, column), or (row,) for a single column
    rows : sequence of str
        One name a row, for example the tokens.
    columns : sequence of str, optional
        One name a column. Without names the columns are numbered from 0, and of more than 7 the first five and the
        last are shown.
    name : str
        What the numbers are; the caption adds the shape.
    axes : (str, str)
        What rows and columns are, for the caption and the corner.
    shade : bool
        Colour the cells: shares between 0 and 1 by their size, other numbers by sign and by size beside the largest. The number is
        written as well.
    middle : float, optional
        With ``shade``: more than this is blue, less is brown, such as .5 for an AUC.
    total : bool
        Add a column with the sum of each row.
    digits : int
    shape : bool
        Whether the caption says the shape.
    short : bool
        Print shares without the zero before the point, where many columns must fit: ".42".
    framed : int, optional
        A row to look at: it gets a frame.

    Examples
    --------
    >>> NumberTable([[0.25, 0.75], [1, 0]], ["the", "cat"], ["the", "cat"], name="weights")
    weights, shape (2, 2)
           the    cat
    the   0.25   0.75
    cat   1.00   0.00
    """

    def __init__(
        self,
        values,
        rows: Sequence[str],
        columns: Sequence[str] | None = None,
        *,
        name: str = "",
        axes: tuple[str, str] = ("token", "dim"),
        shade: bool = False,
        middle: float | None = None,
        total: bool = False,
        digits: int = 2,
        shape: bool = True,
        short: bool = False,
        framed: int | None = None,
    ):
        values = np.asarray(values, dtype=float)
        self.shape = values.shape
        values = values[:, None] if values.ndim == 1 else values
        if values.ndim != 2 or len(rows) != len(values):
            raise ValueError(
                f"a table needs an array of shape (row, column) and one name a row; got shape {self.shape} and {len(rows)} names."
            )
        if columns is not None and len(columns) != values.shape[1]:
            raise ValueError(f"there are {values.shape[1]} columns and {len(columns)} names for them.")
        self.values, self.rows, self.columns = values, [str(row) for row in rows], columns
        self.name, self.axes, self.say_shape = name, axes, shape
        self._shares = bool(((values >= 0) & (values <= 1)).all())
        self.shade, self.middle, self.total, self.digits, self.short = shade, middle, total, digits, short
        self.framed = framed

    @property
    def caption(self) -> str:
        """Name and shape."""
        return ", ".join(filter(None, [self.name, f"shape {self.shape}" if self.say_shape else ""]))

    def _cells(self) -> tuple[list[str], list[list[tuple[str, float | None]]]]:
        """Column names, and for each row the printed numbers with the share that colours them."""
        count = self.values.shape[1]
        cut = self.columns is None and count > _MANY
        shown = [*range(5), None, count - 1] if cut else list(range(count))
        names = ["…" if j is None else str(j if self.columns is None else self.columns[j]) for j in shown]
        body = []
        for row in self.values:
            cells = [("…", None) if j is None else (self._print(row[j]), row[j]) for j in shown]
            if self.total:
                cells.append((self._print(row.sum()), None))
            body.append(cells)
        return names + ["sum"] * self.total, body

    def _print(self, value: float) -> str:
        if self.short:
            return short_number(value)
        text = f"{value:.{self.digits}f}"
        # "-0.00" would make a class look for a minus that is not there.
        return text.replace("-", "", 1) if float(text) == 0 else text.replace("-", "−")

    def html(self) -> str:
        """The table as markup; every name is escaped."""
        names, body = self._cells()
        cell = "padding:.1em .32em;text-align:right;border:0;font-variant-numeric:tabular-nums;font-size:1em"
        head = "".join(
            f'<th scope="col" dir="auto" style="{cell};font-weight:600">{content(n)}</th>' for n in names
        )
        lines = []
        for number, (row, cells) in enumerate(zip(self.rows, body)):
            frame = f";outline:3px solid {OKABE_ITO['vermillion']}" if number == self.framed else ""
            tds = "".join(f'<td style="{cell}{self._fill(share)}">{text}</td>' for text, share in cells)
            lines.append(
                f'<tr style="background:transparent{frame}"><th scope="row" dir="auto" style="{cell};font-weight:600">{content(row)}</th>{tds}</tr>'
            )
        corner = " \\ ".join(filter(None, self.axes))
        corner = (
            f'<th scope="col" style="{cell};font-weight:400">{content(corner)}</th>'
            if corner
            else "<td></td>"
        )
        table = "font-size:1em;line-height:1.12;margin:.3em 0;border-collapse:separate;border-spacing:2px;width:auto"
        caption = "caption-side:top;text-align:left;padding:.1em .45em;font-size:1em;color:inherit"
        return "\n".join(
            [
                f'<table class="bertlook-numbers" aria-label="{attribute(self.caption)}" style="{table}">',
                f'<caption style="{caption}">{content(self.caption)}</caption>',
                f"<thead><tr>{corner}{head}</tr></thead>",
                "<tbody>",
                *lines,
                "</tbody></table>",
            ]
        )

    _repr_html_ = html

    def _fill(self, share: float | None) -> str:
        if not self.shade or share is None:
            return ""
        if self._shares and self.middle is None:
            colour = magnitude_colour(share)
        else:
            middle = self.middle or 0.0
            colour = difference_colour((share - middle) / np.abs(self.values - middle).max())
        return f";background:{colour};color:{text_colour(colour)}"

    def __repr__(self) -> str:
        names, body = self._cells()
        wide = max(6, *(len(n) for n in names), *(len(text) for cells in body for text, _ in cells))
        side = max(len(row) for row in self.rows)
        lines = [self.caption, " " * side + "".join(f" {n:>{wide}}" for n in names)]
        lines += [
            f"{row:<{side}}" + "".join(f" {text:>{wide}}" for text, _ in cells)
            for row, cells in zip(self.rows, body)
        ]
        return "\n".join(lines)
