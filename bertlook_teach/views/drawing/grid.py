"""Grids of cells: a number for each head, a weight for each pair of tokens, a belief for each layer. All heat maps are drawn here."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from itertools import pairwise

import numpy as np

from .palette import INK, MUTED, RULE, SELECTED, text_colour
from .svg import content, coordinate, text, upright


@dataclass(frozen=True)
class Cell:
    """What one cell shows: its colour, the words of its tooltip, what is written in it, and the colour of its edge."""

    fill: str
    said: str = ""
    written: str = ""
    edge: str = ""
    ink: str = ""
    bold: bool = False


@dataclass(frozen=True)
class Grid:
    """Where the cells of a grid stand, rows down and columns across; each method gives marks as SVG.

    Parameters
    ----------
    left, top : float
        The corner of the first cell.
    rows, columns : int
    across, down : float
        Of one cell.
    em : float
        Of its type.

    Examples
    --------
    >>> grid = Grid(10, 10, 1, 3, 20, 20, 16)
    >>> grid.middle(0, 2)
    (60.0, 20.0)
    >>> len(grid.shaded([[0, 2, 2]], lambda step: "#eeeeee" if step else "#000000"))  # a path a colour
    2
    """

    left: float
    top: float
    rows: int
    columns: int
    across: float
    down: float
    em: float

    @property
    def right(self) -> float:
        """Where the last column ends."""
        return self.left + self.columns * self.across

    @property
    def bottom(self) -> float:
        """Where the last row ends."""
        return self.top + self.rows * self.down

    def middle(self, row: float, column: float) -> tuple[float, float]:
        """The middle of a cell, (x, y)."""
        return self.left + (column + 0.5) * self.across, self.top + (row + 0.5) * self.down

    def named(self, axes: tuple[str, str], x: float, y: float) -> list[str]:
        """What columns and rows are: the one over the numbers of the columns, the other upright at the left of those of the rows."""
        columns, rows = axes
        return [
            text(self.left, y, columns, fill=MUTED),
            upright(x, (self.top + self.bottom) / 2, rows),
        ]

    def numbered(
        self, names: Iterable[object] | None = None, *, gap: float = 0.8, fill: str = INK
    ) -> list[str]:
        """The name of each column, ``gap`` em above it; by default their numbers, from 1."""
        names = range(1, self.columns + 1) if names is None else names
        y = self.top - gap * self.em
        return [
            text(self.middle(0, column)[0], y, str(name), anchor="middle", fill=fill)
            for column, name in enumerate(names)
        ]

    def cells(
        self,
        cell: Callable[[int, int], Cell],
        names: Iterable[object] = (),
        *,
        size: float = 0.85,
        gap: tuple[float, float] = (1, 1),
        round: float = 3,
    ) -> list[str]:
        """Row by row its name, if there are names, and a rounded box for each cell, with its tooltip and what is written in it.

        ``cell(row, column)`` says what it shows, ``size`` is of what is written, in em, and ``gap`` stays free on every side,
        across and down.
        """
        drawn, names = [], list(names)
        for row in range(self.rows):
            if names:
                drawn.append(self.row_name(row, names[row]))
            drawn += [
                self._cell(row, column, cell(row, column), size, gap, round) for column in range(self.columns)
            ]
        return drawn

    def row_name(self, row: int, name: object) -> str:
        """The name of a row, at its left."""
        return text(self.left - 0.5 * self.em, self.middle(row, 0)[1], str(name), anchor="end")

    def _cell(
        self, row: int, column: int, cell: Cell, size: float, gap: tuple[float, float], round: float
    ) -> str:
        x, y = self.left + column * self.across, self.top + row * self.down
        edge = f' stroke="{cell.edge}"' if cell.edge else ""
        corner = f' rx="{coordinate(round)}"' if round else ""
        box = (
            f'<rect x="{coordinate(x + gap[0])}" y="{coordinate(y + gap[1])}" width="{coordinate(self.across - 2 * gap[0])}" '
            f'height="{coordinate(self.down - 2 * gap[1])}"{corner} fill="{cell.fill}"{edge}/>'
        )
        written = ""
        if cell.written:
            look = f' font-size="{coordinate(size * self.em)}"' if size != 1 else ""
            look += ' font-weight="700"' * cell.bold
            ink = cell.ink or text_colour(cell.fill)
            written = text(*self.middle(row, column), cell.written, anchor="middle", fill=ink, extra=look)
        return f"<g><title>{content(cell.said)}</title>{box}{written}</g>" if cell.said else box + written

    def shaded(self, steps, colour: Callable[[int], str]) -> list[str]:
        """Cells without gaps, one path a colour, which keeps files small: ``steps`` are whole numbers of shape (row, column)."""
        paths: dict[int, list[str]] = {}
        for i, row in enumerate(np.asarray(steps)):
            y, ends = coordinate(self.top + i * self.down), [0, *(np.flatnonzero(np.diff(row)) + 1), len(row)]
            for start, end in pairwise(ends):  # equal neighbours are one piece
                x, wide = coordinate(self.left + start * self.across), (end - start) * self.across
                paths.setdefault(int(row[start]), []).append(
                    f"M{x} {y}h{coordinate(wide)}v{coordinate(self.down)}h{coordinate(-wide)}z"
                )
        return [f'<path d="{"".join(paths[step])}" fill="{colour(step)}"/>' for step in sorted(paths)]

    def border(self, colour: str = RULE, width: float = 1) -> str:
        """A line around the whole grid."""
        return self._box(self.left, self.top, self.right - self.left, self.bottom - self.top, colour, width)

    def framed_row(self, row: int, width: float) -> str:
        """A row that is chosen, in a frame."""
        y = self.top + row * self.down
        return self._box(self.left, y, self.right - self.left, self.down, SELECTED, width)

    def framed(self, row: int, column: int) -> str:
        """A cell that is chosen, in two frames: one is seen on every colour."""
        x, y = self.left + column * self.across, self.top + row * self.down
        outer = self._box(x, y, self.across, self.down, SELECTED, 0.18 * self.em, 4)
        return outer + self._box(x + 2, y + 2, self.across - 4, self.down - 4, INK, 1, 3)

    @staticmethod
    def _box(
        x: float, y: float, across: float, down: float, colour: str, width: float, round: float = 0
    ) -> str:
        corner = f' rx="{coordinate(round)}"' if round else ""
        thick = f' stroke-width="{coordinate(width)}"' if width != 1 else ""
        return (
            f'<rect x="{coordinate(x)}" y="{coordinate(y)}" width="{coordinate(across)}" height="{coordinate(down)}"{corner} '
            f'fill="none" stroke="{colour}"{thick}/>'
        )
