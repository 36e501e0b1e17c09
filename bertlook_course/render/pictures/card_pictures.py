"""Cards beside one another: on each a sketch, what it is called, and a few words; and what sketches are made of."""

from __future__ import annotations

from collections.abc import Sequence

from bertlook_teach.views import INK, MUTED, PAPER, RULE, Picture, coordinate, text, text_width

from ..drawing.layout import TYPE, WIDE, broken_lines
from .verdict_picture import draw_sign

_EM, _LINE, _PAD = TYPE, 32.0, 14.0
_NARROW = 0.93  # a slide's type is narrower than estimated


def cards_picture(
    cards: Sequence[Sequence],
    caption: str,
    *,
    arrows: bool = False,
    high: float = 150,
    origin: tuple[float, float] = (0, 0),
) -> Picture:
    """One card for each idea, from left to right.

    Parameters
    ----------
    cards : sequence of (sketch, name, words) or (sketch, name, words, verdict, word)
        A sketch is marks around ``origin``, 150 units high. A verdict is drawn as its sign in the upper corner, with a word.
    caption : str
        What else is to be said.
    arrows : bool
        Whether each card leads to the next.
    high : float
        Of the sketches, which grow with it.

    Examples
    --------
    >>> cards_picture([([], "It asks.", "Nobody speaks."), ([], "All write.", "A letter.")], "So it goes.")
    Picture: So it goes.
    """
    gap = 50.0 if arrows else 22.0
    wide = (WIDE - gap * (len(cards) - 1)) / len(cards)
    room, top, c, body = (wide - 2 * _PAD) / _NARROW, high + 2 * _PAD + 18, coordinate, []
    rows = [
        (broken_lines(card[1], 1.05 * _EM, room), broken_lines(card[2], _EM, room) if card[2] else [])
        for card in cards
    ]
    tall = top + _LINE * max(len(name) + len(said) for name, said in rows) + 4
    for k, ((sketch, _, _, *found), (name, said)) in enumerate(zip(cards, rows)):
        left = k * (wide + gap)
        body += [
            f'<rect x="{c(left + 1)}" y="1" width="{c(wide - 2)}" height="{c(tall - 2)}" rx="10" fill="none" stroke="{RULE}" stroke-width="2"/>',
            f'<g transform="translate({c(left + wide / 2)} {c(_PAD + high / 2)}) scale({high / 150:.2f}) translate({-origin[0]} {-origin[1]})">',
            *sketch,
            "</g>",
        ]
        for n, line in enumerate([*name, *said]):
            bold = ' font-weight="650"' if n < len(name) else ""
            body.append(text(left + _PAD, top + _LINE * n + 6 * (not bold), line, extra=bold))
        body += draw_sign(found[0], left + 34, 34, found[1])[: 1 + bool(found[1])] if found else []
        if arrows and k:
            at = f"M{c(left - gap + 9)} {c(tall / 2)}h30m-12 -10l12 10l-12 10"
            body.append(draw_path(at, width=4, fill="none"))
    spoken = " ".join(part for card in cards for part in (*card[1:3], *card[3:4]) if part)
    return Picture(body, WIDE, tall, "Cards", f"{spoken} {caption}", _EM, caption=caption, wide=True)


def draw_path(d: str, *, colour: str = INK, width: float = 3, fill: str = "none", dash: str = "") -> str:
    """A line of a sketch."""
    dashed = f' stroke-dasharray="{dash}"' if dash else ""
    return f'<path d="{d}" fill="{fill}" stroke="{colour}" stroke-width="{width:g}" stroke-linejoin="round"{dashed}/>'


def draw_box(x: float, y: float, wide: float, high: float, *, fill: str = PAPER, edge: str = INK) -> str:
    """A box of a sketch, its middle at (x, y)."""
    c = coordinate
    return (
        f'<rect x="{c(x - wide / 2)}" y="{c(y - high / 2)}" width="{c(wide)}" height="{c(high)}" rx="6" fill="{fill}" '
        f'stroke="{edge}" stroke-width="2.5"/>'
    )


def draw_chips(rows: Sequence[Sequence[str]], y: float = 0, *, gap: float = 6) -> list[str]:
    """Rows of words in boxes, in the middle of a sketch."""
    body, high = [], 44.0
    for n, row in enumerate(rows):
        wide = [text_width(word, _EM) + 16 for word in row]
        x, middle = -(sum(wide) + gap * (len(row) - 1)) / 2, y + high * (n - (len(rows) - 1) / 2)
        for word, one in zip(row, wide):
            body += [
                draw_box(x + one / 2, middle, one, 36, edge=MUTED),
                text(x + one / 2, middle, word, anchor="middle"),
            ]
            x += one + gap
    return body
