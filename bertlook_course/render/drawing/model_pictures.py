"""The layer a head sits in, for readers who have never seen a transformer; and what it and `moving_pictures` are drawn with."""

from __future__ import annotations

import operator
from collections.abc import Iterable

from bertlook_teach.views import (
    INK,
    LINE,
    MUTED,
    PAPER,
    RULE,
    SELECTED,
    SELECTED_INK,
    Picture,
    attribute,
    coordinate,
    text,
)

WIDTH = 1180.0
FONT = 31.0
_TINT = "#eef4f9"
MOST_HEADS = 24

_HEAD = 8.0  # half the width of an arrow's head


def box(
    x: float, y: float, width: float, height: float, *lines: str, fill=PAPER, stroke=INK, ink=INK
) -> list[str]:
    """A box with up to two lines of text in its middle."""
    place = (
        f'x="{coordinate(x)}" y="{coordinate(y)}" width="{coordinate(width)}" height="{coordinate(height)}"'
    )
    drawn = [f'<rect {place} rx="8" fill="{fill}" stroke="{stroke}" stroke-width="2"/>']
    first = y + height / 2 - 19 * (len(lines) - 1)
    return drawn + [
        text(x + width / 2, first + 38 * i, line, anchor="middle", fill=ink) for i, line in enumerate(lines)
    ]


def _path(*points: tuple[float, float], colour: str = MUTED, dashed: bool = False) -> str:
    steps = "L".join(f"{coordinate(x)} {coordinate(y)}" for x, y in points)
    dash = ' stroke-dasharray="9 6"' if dashed else ""
    return f'<path d="M{steps}" stroke="{colour}" stroke-width="3" fill="none"{dash}/>'


def arrow(*points: tuple[float, float], colour: str = MUTED, dashed: bool = False) -> list[str]:
    """A line along the axes with its head at the last point."""
    (before_x, before_y), (x, y) = points[-2:]
    if before_x == x:
        back = y - _HEAD if y > before_y else y + _HEAD
        head = ((x - _HEAD, back), (x, y), (x + _HEAD, back))
    else:
        back = x - _HEAD if x > before_x else x + _HEAD
        head = ((back, y - _HEAD), (x, y), (back, y + _HEAD))
    return [_path(*points, colour=colour, dashed=dashed), _path(*head, colour=colour)]


def door(parts: Iterable[str], slide: str | None) -> list[str]:
    """Parts of a picture that open another slide of the deck, found by the beginning of its title: by a click, or by Enter (``fill.js``)."""
    if not slide:
        return list(parts)
    return [f'<g data-opens="{attribute(slide)}">', *parts, "</g>"]


def render_layer(n_heads: int, chosen: int, *, opens: str = "") -> Picture:
    """Where a head sits: side by side with the others of its layer, below the step that each token takes by itself.

    Parameters
    ----------
    n_heads : int
    chosen : int
        Which is marked, from 0.
    opens : str
        The title of the slide that a click on a head opens.

    Raises
    ------
    ValueError
        If there is no such head.
    """
    n_heads, chosen = operator.index(n_heads), operator.index(chosen)
    if not 1 <= n_heads <= MOST_HEADS:
        raise ValueError(f"from 1 to {MOST_HEADS} heads fit the drawing; got {n_heads}.")
    if not 0 <= chosen < n_heads:
        raise ValueError(f"chosen is one of {n_heads} heads, counted from 0; got {chosen}.")
    left, right = 236.0, 950.0
    middle, step = (left + right) / 2, (right - left) / n_heads
    body = []
    floors = (
        (16.0, "to the next layer", {"stroke": RULE, "ink": MUTED}),
        (104.0, "add, and normalise", {}),
        (192.0, "feed-forward: each token by itself", {"fill": _TINT}),
        (280.0, "add, and normalise", {}),
        (456.0, "one vector for each token", {"stroke": RULE, "ink": MUTED}),
    )
    for y, label, look in floors:
        body += box(left, y, right - left, 50, label, **look)
    for y in (70.0, 158.0, 246.0, 334.0):
        body += arrow((middle, y + 32), (middle, y))
    for head in range(n_heads):
        look = {"stroke": SELECTED, "ink": SELECTED_INK} if head == chosen else {"stroke": LINE}
        x = left + head * step
        name = f"head {head + 1}" if step > 110 else str(head + 1)
        body += door(box(x + 4, 368, step - 8, 54, name, **look), opens)
        body += arrow((x + step / 2, 454), (x + step / 2, 428))
    # past the heads, and past the feed-forward step
    for low, high, out in (
        (481.0, 314.0, 64.0),
        (296.0, 129.0, 32.0),
    ):
        body += arrow((left, low), (left - out, low), (left - out, high), (left - 4, high), dashed=True)
    notes = (
        (8.0, 362.0, ("the token", "itself goes", "past them"), MUTED),
        (right + 16, 376.0, ("only here do", "tokens meet"), SELECTED_INK),
    )
    body += [
        text(x, y + 38 * i, line, fill=ink) for x, y, lines, ink in notes for i, line in enumerate(lines)
    ]
    what = (
        f"A layer: {n_heads} heads side by side read the same vectors; head {chosen + 1} is marked. What they give is added to each token and normalised. A "
        "feed-forward step works on each token by itself, and is added too. Only in the heads do tokens meet."
    )
    return Picture(body, WIDTH, 522, title="Where a head sits in its layer", sentence=what, font_size=FONT)
