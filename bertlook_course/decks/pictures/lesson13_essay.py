"""Pictures of what the essay says and how it is tested: its story, the parts of a test, clauses, Holm's steps, orders of layers."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np

from bertlook_teach.views import (
    INK,
    MUTED,
    OKABE_ITO,
    PAPER,
    RULE,
    Cell,
    Grid,
    Picture,
    coordinate,
    magnitude_colour,
    text,
)

from ...render import TYPE, WIDE, TextTable
from .lesson13 import IMAGES, TOKENS, draw_icon

_WIDTH, _EM = WIDE, TYPE
_PHASES = ((1, 4), (5, 10), (11, 12))


def story_picture() -> Picture:
    """The essay's five images as it tells them: a schematic, made of no data.

    Examples
    --------
    >>> story_picture().sentence[:11]
    'A schematic'
    """
    c, em, wide, high = coordinate, 30.0, 1180.0, 200.0
    accent, body = OKABE_ITO["vermillion"], []
    for place, (who, what, lines) in enumerate(IMAGES):
        left, top = (0.51 * wide) * (place % 2), high * (place // 2)
        base = top + 5.1 * em
        at = [left + (1.5 + 3.25 * k) * em for k in range(len(TOKENS))]
        body.append(text(left, top + 0.6 * em, who, extra=' font-weight="600"'))
        body.append(text(left, top + 1.8 * em, what, fill=MUTED))
        for start, end in lines:
            rise = (0.7 + 0.45 * abs(end - start)) * em
            body.append(
                f'<path d="M{c(at[start])} {c(base)}C{c(at[start])} {c(base - rise)} {c(at[end])} {c(base - rise)} {c(at[end])} {c(base)}" '
                f'fill="none" stroke="{accent}" stroke-width="{7 if len(lines) == 1 else 3}"/>'
                f'<circle cx="{c(at[end])}" cy="{c(base)}" r="6" fill="{accent}"/>'
            )
        body += [text(x, base + 0.75 * em, token, anchor="middle") for x, token in zip(at, TOKENS)]
    top, cell = 2 * high + 0.3 * em, 62.0
    body.append(text(0, top + 0.8 * em, "Three phases", extra=' font-weight="600"'))
    body.append(text(0, top + 2 * em, "of 12 layers", fill=MUTED))
    for phase, (first, last) in enumerate(_PHASES):
        fill, ink = ((PAPER, INK), (RULE, INK), (MUTED, PAPER))[phase]
        for layer in range(first, last + 1):
            x = 9.2 * em + cell * (layer - 1) + 1.2 * em * phase
            body.append(
                f'<rect x="{c(x)}" y="{c(top)}" width="{c(cell - 4)}" height="{c(2.6 * em)}" fill="{fill}" stroke="{MUTED}"/>'
            )
            body.append(text(x + cell / 2 - 2, top + 1.3 * em, str(layer), anchor="middle", fill=ink))
    sentence = (
        "A schematic of the essay's words: nothing here is measured. A line starts at the token that looks and ends, "
        "with a dot, at the one that is looked at."
    )
    return Picture(body, wide, top + 2.9 * em, "The essay's five images", sentence, em, wide=True)


def five_things_picture() -> Picture:
    """A made-up result of one claim, and the five things that were written down before it was computed."""
    c, accent, axis, line = coordinate, OKABE_ITO["blue"], 200.0, 470.0
    bold = ' font-weight="600"'

    def thing(number: int, x: float, y: float, name: str, said: str, anchor: str = "start") -> list[str]:
        return [
            text(x, y, f"{number}  {name}", anchor=anchor, extra=bold),
            text(x, y + 32, said, anchor=anchor, fill=MUTED),
        ]

    body = [
        *draw_icon("13-cls-hunter", 24),
        *thing(1, 140, 14, "the sentence", "[CLS] is a hunter"),
        f'<rect x="60" y="{c(axis - 42)}" width="{c(line - 60)}" height="84" fill="{RULE}" opacity="0.6"/>',
        f'<path d="M60 {c(axis + 42)}H970" stroke="{MUTED}" stroke-width="2"/>',
        f'<path d="M{c(line)} {c(axis - 62)}V{c(axis + 42)}" stroke="{INK}" stroke-width="3" stroke-dasharray="3 5"/>',
        f'<path d="M620 {c(axis)}H860" stroke="{accent}" stroke-width="6"/>',
        f'<circle cx="740" cy="{c(axis)}" r="10" fill="{PAPER}" stroke="{accent}" stroke-width="3"/>',
        *thing(3, line, axis - 114, "the line", "it has to cross", "middle"),
        *thing(4, 265, axis - 14, "what would refute it", "a number surely on this side", "middle"),
        *thing(5, 740, axis - 98, "the interval and its p", "what is resampled: texts", "middle"),
        *thing(
            2,
            970,
            axis + 70,
            "the statistic: large if the sentence is right",
            "entropy from [CLS] minus that of all rows",
            "end",
        ),
    ]
    caption = "A made-up result. A p decides what is surely on one side. Other claims resample documents, paragraphs or word types."
    said = (
        "Five things are fixed beforehand: the sentence, the statistic, the line, what would refute it, and what is resampled. "
        + caption
    )
    return Picture(
        body,
        _WIDTH,
        axis + 120,
        "Five things turn an image into a test",
        said,
        _EM,
        caption=caption,
        wide=True,
    )


def clauses_picture(heads: Mapping[str, object], lengths: Sequence[int]) -> Picture:
    """Maps of heads with their clauses framed, beside the same maps with the boundaries moved, and what lies inside.

    Parameters
    ----------
    heads : mapping of str to array of shape (token, token)
    lengths : sequence of int
        Of two clauses. Moved, they stand in the other order.
    """
    n, em, cell = sum(lengths), _EM, 31.0
    body, said, rows = [], [], []
    for number, (name, weights) in enumerate(heads.items()):
        weights, shares = np.asarray(weights, dtype=float), []
        body.append(text(530.0 * number, 20, f"a head that {name}", extra=' font-weight="600"'))
        for moved, sizes in enumerate((lengths, lengths[::-1])):
            grid = Grid(530.0 * number + 252 * moved, 86, n, n, cell, cell, em)
            body.append(text(grid.left, 62, "boundaries moved" if moved else "its clauses", fill=MUTED))
            body += grid.cells(
                lambda i, j, weights=weights: Cell(magnitude_colour(weights[i, j] / weights.max())),
                gap=(0.5, 0.5),
                round=0,
            )
            ids = np.repeat(np.arange(len(sizes)), sizes)
            shares.append(weights[ids[:, None] == ids].sum() / weights.sum())
            for start, size in zip(np.cumsum([0, *sizes]), sizes):
                body.append(
                    f'<rect x="{coordinate(grid.left + cell * start)}" y="{coordinate(grid.top + cell * start)}" '
                    f'width="{coordinate(cell * size)}" height="{coordinate(cell * size)}" fill="none" '
                    f'stroke="{OKABE_ITO["vermillion"]}" stroke-width="5"{" stroke-dasharray=" + repr("10 7") if moved else ""}/>'
                )
            body.append(text(grid.left, grid.bottom + 30, f"{100 * shares[-1]:.0f} % inside"))
        gain = shares[0] - shares[1]
        said.append(f"One that {name} gains {100 * gain:.0f} points.")
        rows.append([name, *(f"{share:.2f}" for share in shares), f"{gain:.2f}"])
    table = TextTable(["a head that", "inside its clause", "inside moved boundaries", "gain"], rows)
    sentence = f"Two made-up heads, {n} tokens. {' '.join(said)}"
    return Picture(
        body,
        _WIDTH,
        86 + cell * n + 50,
        "Clauses and moved boundaries",
        sentence,
        em,
        numbers=(table,),
        wide=True,
    )


def holm_figure(
    p: Sequence[float], corrected: Sequence[float], tests: int, *, size=(9.8, 3.3), font_size: float = 18
):
    """How often chance wins at least one of so many tests at 5 %, and p-values before and after Holm's correction.

    Parameters
    ----------
    p, corrected : sequences of float
    tests : int
        How many the correction is for.
    """
    from ...render import draw_level, styled_figure

    with styled_figure(size, font_size, columns=2) as (figure, (left, right)):
        number = np.arange(1, tests + 1)
        chance = 100 * (1 - 0.95**number)
        bars = left.bar(number, chance, color=[RULE] * (tests - 1) + [OKABE_ITO["vermillion"]])
        left.bar_label(bars, [""] * (tests - 1) + [f"{chance[-1]:.0f}"], fontsize=font_size)
        left.set_xticks((1, 5, tests))
        left.set_xlabel("tests at 5 %, all claims false")
        left.set_ylabel("at least one passes, %")
        left.set_ylim(0, 50)
        left.set_yticks((0, 20, 40))
        for before, after in zip(p, corrected):
            look = {"color": OKABE_ITO["blue"]} if after < 0.05 else {"color": MUTED, "linestyle": "--"}
            right.plot((0, 1), (before, after), marker="o", markersize=9, linewidth=2.5, **look)
        draw_level(right, 0.05)
        right.annotate(".05", (1.0, 0.05), xytext=(10, 6), textcoords="offset points")
        right.set_yscale("log")
        right.set_yticks([0.01, 0.1, 1], [".01", ".1", "1"])
        right.minorticks_off()
        right.set_xticks((0, 1), ("p", "after Holm"))
        right.set_xlim(-0.2, 1.25)
    return figure


def orders_picture(sizes: Sequence[int], columns: int = 15) -> Picture:
    """Every order of a few layers that form phases of these sizes; framed are those that cuts into phases explain perfectly.

    Parameters
    ----------
    sizes : sequence of int
        Layers in each phase.
    columns : int
        Orders in one row.

    Examples
    --------
    >>> orders_picture([2, 3, 1]).sentence[:30]
    'In 6 of 60 orders, one in 10, '
    """
    orders = distinct_orders(sizes)
    perfect = [in_phases(order) for order in orders]
    across, down, em = _WIDTH / columns, 92.0, _EM
    fills, cell = (PAPER, RULE, MUTED), 9.0
    body = []
    for number, (order, whole) in enumerate(zip(orders, perfect)):
        left, top = across * (number % columns) + 8, down * (number // columns) + 9
        grid = Grid(left, top, 1, len(order), cell, down - 24, em)
        body += grid.cells(
            lambda _, layer, order=order: Cell(fills[order[layer]], edge=MUTED), gap=(1, 0), round=0
        )
        if whole:
            body.append(
                f'<rect x="{coordinate(left - 5)}" y="{coordinate(top - 6)}" width="{coordinate(grid.right - left + 10)}" '
                f'height="{coordinate(down - 12)}" rx="4" fill="none" stroke="{OKABE_ITO["vermillion"]}" stroke-width="4"/>'
            )
    n = sum(perfect)
    sentence = (
        f"In {n} of {len(orders)} orders, one in {len(orders) / n:.0f}, each phase stays together (framed). A strip is one order of "
        f"{len(orders[0])} layers; each shade is a phase."
    )
    return Picture(
        body, _WIDTH, down * -(-len(orders) // columns), "Orders of a few layers", sentence, em, wide=True
    )


def distinct_orders(sizes: Sequence[int]) -> list[tuple[int, ...]]:
    """Each order of the phases' layers once, those of one phase being alike.

    >>> distinct_orders([1, 1])
    [(0, 1), (1, 0)]
    """
    if not any(sizes):
        return [()]
    return [
        (phase, *rest)
        for phase, left in enumerate(sizes)
        if left
        for rest in distinct_orders([n - (k == phase) for k, n in enumerate(sizes)])
    ]


def in_phases(order: Sequence[int]) -> bool:
    """Whether the layers of each phase stand together.

    >>> in_phases((0, 0, 1)), in_phases((0, 1, 0))
    (True, False)
    """
    starts = [phase for k, phase in enumerate(order) if not k or order[k - 1] != phase]
    return len(starts) == len(set(starts))
