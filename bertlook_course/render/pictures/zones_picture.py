"""What a class votes on, drawn: an axis in zones, one for each answer; empty before the vote, and with what was measured after it."""

from __future__ import annotations

from collections.abc import Mapping
from itertools import pairwise
from math import log10

from bertlook_teach.views import INK, MUTED, OKABE_ITO, PAPER, RULE, Picture, coordinate, model_of, text

from ..drawing.layout import TYPE, WIDE, broken_lines
from ..drawing.marks import MODELS, OTHERS
from ..drawing.text_table import Estimate

_LEFT, _RIGHT, _ROW = 256.0, 1006.0, 42.0
_HALO = (
    f' paint-order="stroke" stroke="{PAPER}" stroke-width="7"'  # the end of a zone may lie behind a number
)


def zones_picture(
    zones: Mapping[str, float], measured: Mapping[str, Estimate], said: str, *, least: float = 0
) -> Picture:
    """An axis whose zones are the answers of a question; or, to stand right below it, a row for each measured value.

    Parameters
    ----------
    zones : mapping of letter to float
        Where each ends, from left to right.
    measured : mapping of name to Estimate
        Without any it is the axis alone. The zone of the first one is shaded. A model's mark looks as everywhere.
    said : str
        What the axis is, or what was measured.
    least : float
        Where the axis begins. From more than 0 it is logarithmic.

    Examples
    --------
    >>> zones_picture({"A": 0.1, "B": 1}, {"specimen": Estimate(0.3)}, "Half of them.")
    Picture: Half of them.
    """
    scale, ends, c = (log10 if least else float), [least, *zones.values()], coordinate

    def at(value: float) -> float:
        share = (scale(min(max(value, least), ends[-1])) - scale(least)) / (scale(ends[-1]) - scale(least))
        return _LEFT + share * (_RIGHT - _LEFT)

    high, body = (_ROW * len(measured) + 4 if measured else 44.0), []
    first = next(iter(measured.values())).value if measured else None
    for letter, (low, end) in zip(zones, pairwise(ends)):
        x, wide = at(low), at(end) - at(low)
        if measured and (low <= first < end or first >= end == ends[-1]):
            body.append(
                f'<rect x="{c(x)}" y="0" width="{c(wide)}" height="{c(high)}" fill="{OKABE_ITO["orange"]}" opacity="0.35"/>'
            )
        if not measured:
            body.append(text(x + wide / 2, 20, letter, anchor="middle", extra=' font-weight="650"'))
    for end in ends:
        look = f'stroke="{RULE}"' if measured else f'stroke="{MUTED}" stroke-dasharray="3 5"'
        body.append(f'<path d="M{c(at(end))} 0V{c(high)}" stroke-width="2" {look}/>')
        if not measured:
            body.append(text(at(end), high + 20, f"{end:g}", anchor="middle", fill=MUTED))
    if not measured:
        body.append(f'<path d="M{_LEFT:.0f} {c(high)}H{_RIGHT:.0f}" stroke="{INK}" stroke-width="2"/>')
        body += [text(0, 20 + 32 * k, line) for k, line in enumerate(broken_lines(said, TYPE, _LEFT))]
        return Picture(body, WIDE, high + 36, "Answers on an axis", said, TYPE, caption=" ", wide=True)
    for row, (name, value) in enumerate(measured.items()):
        y = _ROW * (row + 0.5)
        x, low, end = (at(one) for one in value.numbers)
        right = x < 700
        body += [
            text(_LEFT - 16, y, name, anchor="end"),
            f'<path d="M{c(low)} {c(y)}H{c(end)}" stroke="{INK}" stroke-width="4"/>',
            draw_mark(name, x, y),
            text(x + (20 if right else -20), y, str(value), anchor="start" if right else "end", extra=_HALO),
        ]
    spoken = "; ".join(f"{name}: {value}" for name, value in measured.items())
    return Picture(body, WIDE, high, "What was measured", f"{spoken}. {said}", TYPE, caption=said, wide=True)


def draw_mark(name: str, x: float, y: float) -> str:
    """The mark of the model that a row names: a square for a random twin, else a disc, hollow for the specimen."""
    mark, c = MODELS.get(model_of(name) or "", OTHERS[0]), coordinate
    if mark.form == "square":
        return f'<rect x="{c(x - 9)}" y="{c(y - 9)}" width="18" height="18" fill="{mark.colour}"/>'
    fill = mark.colour if mark.filled else PAPER
    return f'<circle cx="{c(x)}" cy="{c(y)}" r="10" fill="{fill}" stroke="{mark.colour}" stroke-width="3"/>'
