"""Sketches by which cards say what they are about: a head, texts, a page, hands; made of no data."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from bertlook_teach.views import (
    INK,
    LINE,
    MUTED,
    OKABE_ITO,
    PAPER,
    RULE,
    SELECTED,
    SELECTED_INK,
    Cell,
    Grid,
    coordinate,
    magnitude_colour,
    text,
)

from ...render import draw_box, draw_path

_EM = 26.0
MADE_UP = np.array([[0.1, 0.7, 0.2], [0.3, 0.1, 0.6], [0.2, 0.5, 0.3]])


def draw_lines(left: float, top: float, widths=(9, 2, 6, 3, 8, 2), shift=(1, 0, 1, -1, -1, 0)) -> list[str]:
    """One head: from each token above a line to one below."""
    at, c = [left + 40 * k for k in range(6)], coordinate
    body = [
        f'<path d="M{c(at[k])} {c(top + 16)}C{c(at[k])} {c(top + 80)} {c(at[k + step])} {c(top + 80)} {c(at[k + step])} {c(top + 144)}" '
        f'fill="none" stroke="{LINE}" stroke-width="{wide}"/>'
        for k, (wide, step) in enumerate(zip(widths, shift))
    ]
    return body + [
        f'<circle cx="{c(x)}" cy="{c(y)}" r="7" fill="{INK}"/>' for x in at for y in (top + 8, top + 152)
    ]


def draw_texts(left: float, top: float) -> list[str]:
    """The same over many texts: sheets behind one another."""
    body = []
    for sheet in (2, 1, 0):
        x, y = left - 14 + 22 * sheet, top - 14 + 20 * (2 - sheet)
        body.append(
            f'<rect x="{coordinate(x)}" y="{coordinate(y)}" width="200" height="130" rx="6" fill="{PAPER}" stroke="{MUTED}" '
            'stroke-width="2"/>'
        )
    grid = Grid(left, top + 40, 5, 9, 19, 19, _EM)
    shade = ("#eef4fa", "#9cc3e0", LINE)
    return body + grid.cells(lambda i, j: Cell(shade[2 if j == i + 1 else 1 if j == 8 else 0]), round=0)


def draw_arcs(left: float, top: float) -> list[str]:
    """A head's arc that is right, above a rule's that is wrong."""
    at, base, c = [left + 40 * k for k in range(6)], top + 96, coordinate
    green, red = OKABE_ITO["green"], OKABE_ITO["vermillion"]
    return [
        *(f'<circle cx="{c(x)}" cy="{c(base)}" r="7" fill="{INK}"/>' for x in at),
        (
            f'<path d="M{c(at[4])} {c(base - 12)}C{c(at[4])} {c(base - 90)} {c(at[1])} {c(base - 90)} {c(at[1])} {c(base - 12)}" fill="none" '
            f'stroke="{green}" stroke-width="6"/>'
        ),
        (
            f'<path d="M{c(at[4])} {c(base + 12)}C{c(at[4])} {c(base + 56)} {c(at[3])} {c(base + 56)} {c(at[3])} {c(base + 12)}" fill="none" '
            f'stroke="{red}" stroke-width="4" stroke-dasharray="8 6"/>'
        ),
        text((at[1] + at[4]) / 2, base - 92, "head ✓", anchor="middle"),
        text(at[2] + 20, base + 62, "rule ✗", anchor="middle"),
    ]


def draw_head_off(left: float, top: float) -> list[str]:
    """A grid of heads of which one is off, and what is lost without it."""
    grid, c = Grid(left, top + 20, 4, 4, 32, 32, _EM), coordinate
    x, y = grid.middle(1, 2)
    body = grid.cells(lambda i, j: Cell(PAPER if (i, j) == (1, 2) else "#9cc3e0", edge=MUTED), round=0)
    body.append(
        f'<path d="M{c(x - 11)} {c(y - 11)}l22 22m0 -22l-22 22" stroke="{OKABE_ITO["vermillion"]}" stroke-width="5"/>'
    )
    for k, high in enumerate((128, 74)):
        body.append(
            f'<rect x="{c(left + 162 + 42 * k)}" y="{c(grid.bottom - high)}" width="32" height="{high}" fill="{(LINE, OKABE_ITO["vermillion"])[k]}"/>'
        )
    return body


def draw_best_of_many(left: float, top: float) -> list[str]:
    """A grid of heads of which one is dark."""
    grid = Grid(left, top + 20, 4, 5, 36, 32, _EM)
    return grid.cells(lambda i, j: Cell(LINE if (i, j) == (1, 3) else "#dce9f4", edge=PAPER), round=0)


def draw_twins(left: float, top: float) -> list[str]:
    """The same diagonal in two maps, of which one is grey."""
    body = []
    for k, dark in enumerate((MUTED, LINE)):
        grid = Grid(left + 80 * (1 - k), top + 50 * k, 5, 5, 22, 22, _EM)
        body += grid.cells(lambda i, j, dark=dark: Cell(dark if i == j else PAPER, edge=RULE), round=0)
    return body


def draw_light_load(left: float, top: float) -> list[str]:
    """A thick line that brings a small square, and a thin one that brings a large square."""
    body = []
    for k, (wide, side) in enumerate(((20, 16), (5, 60))):
        y = coordinate(top + 45 + 80 * k)
        body.append(f'<path d="M{coordinate(left)} {y}h110" stroke="{LINE}" stroke-width="{wide}"/>')
        body.append(
            f'<rect x="{coordinate(left + 120)}" y="{coordinate(top + 45 + 80 * k - side / 2)}" width="{side}" height="{side}" fill="{OKABE_ITO["orange"]}"/>'
        )
    return body


def draw_word(words: str, size: int = 64, y: float = 0, fill: str = SELECTED_INK) -> str:
    return text(0, y, words, anchor="middle", fill=fill, extra=f' font-size="{size}" font-weight="650"')


def draw_page(lines: int = 3, x: float = 0) -> list[str]:
    """A sheet of paper with a folded corner."""
    ruled = "".join(f"M{x - 32:g} {-22 + 22 * k}h{(64, 50, 58, 30)[k]}" for k in range(lines))
    return [
        draw_path(f"M{x - 48:g} -64h70l26 26v102h-96zM{x + 22:g} -64v26h26", fill=PAPER),
        draw_path(ruled, colour=MUTED),
    ]


def draw_pencil() -> list[str]:
    return [
        draw_path("M22 34l58 -78l22 16l-58 78l-28 12z", colour=SELECTED, fill=PAPER),
        draw_path("M22 34l22 16"),
    ]


def draw_hands() -> list[str]:
    """Three people, each with a hand up, and the key that goes on."""
    people = [
        f'<circle cx="{x}" cy="-8" r="13" fill="{LINE}"/>'
        + draw_path(f"M{x - 18} 36c0 -34 36 -34 36 0zM{x + 18} 20v-72", colour=LINE, width=7, fill=LINE)
        for x in (-78, -26, 26)
    ]
    return [*people, draw_box(58, 54, 82, 36), text(58, 54, "Space", anchor="middle")]


def draw_map(
    weights: np.ndarray, side: float, *, written: bool = False, top: float = -75
) -> tuple[Grid, list[str]]:
    n = len(weights)
    grid = Grid(-n * side / 2, top, n, n, side, side, _EM)
    shown = np.asarray(weights) / (np.max(weights) if written else 2 * np.mean(weights))
    cells = grid.cells(
        lambda i, j: Cell(
            magnitude_colour(min(1, 0.9 * shown[i, j])), written=f"{weights[i, j]:.1f}"[1:] if written else ""
        ),
        size=1,
        round=0,
    )
    return grid, cells


def draw_sums(below: Sequence[str]) -> list[str]:
    """A made-up map of three tokens, the sum of each row beside it, and below it what the columns are said to have."""
    grid, body = draw_map(MADE_UP, 40, written=True)
    body += [text(grid.right + 12, grid.middle(row, 0)[1], "1", fill=LINE) for row in range(3)]
    x = [grid.middle(0, column)[0] + 22 * (column - 1) for column in range(3)]
    return body + [text(at, 64, said, anchor="middle", fill=SELECTED_INK) for at, said in zip(x, below)]
