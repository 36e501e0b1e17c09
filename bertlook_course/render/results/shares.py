"""Shares that sum to 1, a row at a time: bars that fill the whole width, where dots would hide that they belong together."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from bertlook_teach.views import MUTED, OKABE_ITO, PAPER, RULE, Picture, text_colour

from ..drawing.figure_pictures import figure_picture
from ..drawing.figures import key_above, styled_figure
from ..drawing.text_table import Estimate, TextTable

# One after the other they are also other greys; the last is the rest.
FILLS = (OKABE_ITO["blue"], OKABE_ITO["sky"], OKABE_ITO["yellow"], OKABE_ITO["vermillion"], RULE)
_WORTH_A_NUMBER = 0.07  # a smaller part has no room for it


def table_shares(table: TextTable, columns: Sequence[str] | None = None, *, axis: str = "") -> Picture:
    """Draw the rows of a table as stacked bars from 0 to 1; the table, with its intervals, goes along.

    Parameters
    ----------
    table : TextTable
        Its first column names the rows. Cells are numbers or `Estimate`; a cell of words, such as "–", has no part.
    columns : sequence of str, optional
        The parts, at most five, by their headers; by default all but the first.
    axis : str
        What the whole is.

    Raises
    ------
    KeyError
        If the table has no such column.
    ValueError
        If there are more than five parts, or those of a row do not sum to 1 within a twentieth.
    """
    header = list(table.header)
    chosen = header[1:] if columns is None else list(columns)
    if missing := [name for name in chosen if name not in header]:
        raise KeyError(f"no column {missing[0]!r}; it has {', '.join(map(repr, header))}.")
    if not 1 <= len(chosen) <= len(FILLS):
        raise ValueError(f"one to {len(FILLS)} parts of a whole can be told apart; got {len(chosen)}.")
    names = [str(row[0]) for row in table.rows]
    shares = [[_share(row[header.index(name)]) for name in chosen] for row in table.rows]
    for name, row in zip(names, shares):
        if abs(sum(row) - 1) > 0.05 or min(row) < 0:
            raise ValueError(f"the parts of a whole sum to 1; those of {name!r} sum to {sum(row):.2f}.")
    figure = shares_figure(names, chosen, shares, axis)
    said = table.caption.replace(" [95 %]", "")  # the table has the intervals
    return replace(figure_picture(figure, said, (table,)), wide=True)


def shares_figure(names: Sequence[str], parts: Sequence[str], shares: Sequence[Sequence[float]], axis: str):
    """The figure of `table_shares`: a row for each name, in it a part after the other."""
    with styled_figure((9.8, 1.3 + min(0.52 * len(names), 3.2))) as (figure, (axes,)):
        for k, (part, fill) in enumerate(zip(parts, FILLS)):
            starts = [sum(row[:k]) for row in shares]
            axes.barh(
                range(len(names)),
                [row[k] for row in shares],
                0.72,
                starts,
                color=fill,
                edgecolor=PAPER,
                linewidth=2,
                label=part,
            )
            for r, row in enumerate(shares):
                if row[k] >= _WORTH_A_NUMBER:
                    said = f"{row[k]:.2f}".removeprefix("0")
                    axes.text(
                        starts[r] + row[k] / 2, r, said, ha="center", va="center", color=text_colour(fill)
                    )
        axes.set_yticks(range(len(names)), names)
        axes.set(xlim=(0, 1), xticks=(0, 0.25, 0.5, 0.75, 1), ylim=(len(names) - 0.5, -0.5))
        axes.set_xlabel(axis, color=MUTED)
        axes.tick_params(length=0)
        axes.spines[["left", "bottom"]].set_visible(False)
        key_above(figure, axes, len(parts), columnspacing=0.9, handlelength=1)
    return figure


def _share(cell: object) -> float:
    if isinstance(cell, Estimate):
        return cell.numbers[0]
    return float(cell) if isinstance(cell, int | float) else 0.0
