"""Small pieces of SVG: escaped text, coordinates, estimated text widths."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterable
from html import escape

from .palette import INK, MUTED
from .sentences import visible_token

FONT = "system-ui, 'Segoe UI', 'Helvetica Neue', 'DejaVu Sans', sans-serif"

SHADES = 32  # steps in which a drawing tells weights apart; marks of one step share a path, which keeps files small

_WIDTHS = {"ijl.,:;'!|I": 0.30, 'frt()[]{}-/\\"* ': 0.42, "mwMW@%": 0.92, "ABCDEFGHJKLNOPQRSTUVXYZ#": 0.70}

_CHAR_WIDTH = {char: width for chars, width in _WIDTHS.items() for char in chars}


_MINUS = re.compile(r"(?<![\w\u2212-])-(?=\.?\d)")  # not in a head's name, 3-1
_GLUE = re.compile(
    r"(?<=\d) (?=%|nats\b|points?\b)|(?<=\w) (?==|&[lg]t;)|(?:(?<==)|(?<=&lt;)|(?<=&gt;)) (?=[\u2212.\w])"
)


def attribute(value: str) -> str:
    """Text made safe inside a double-quoted attribute."""
    return escape(visible_token(value), quote=True)


def content(value: str) -> str:
    """Text made safe between two tags."""
    return escape(visible_token(value), quote=False)


def with_minus(value: str) -> str:
    """A text in which a minus before a number is a minus sign, as in print; not every terminal has it.

    >>> with_minus("-0.5 [-.7, 3] in 3-1 and CoNLL-2012")
    '−0.5 [−.7, 3] in 3-1 and CoNLL-2012'
    """
    return _MINUS.sub("\u2212", value)


def typeset_sentence(value: str) -> str:
    """A sentence, made safe before, set like print: no line ends between a number and its unit, or beside an equals sign.

    >>> typeset_sentence("n = 60: -86 % of them").split(" ")
    ['n\\xa0=\\xa060:', '−86\\xa0%', 'of', 'them']
    """
    return _GLUE.sub("\u00a0", with_minus(value))


def coordinate(value: float) -> str:
    """A coordinate with one decimal and no trailing zero, so that equal pictures are equal bytes.

    >>> coordinate(3.0), coordinate(0.25), coordinate(-0.01)
    ('3', '0.2', '0')
    """
    text = f"{value:.1f}".removesuffix(".0")
    return "0" if text == "-0" else text


def axis_numbers(values: Iterable[float]) -> list[str]:
    """What stands at the ticks of an axis: as many decimals at each as one of them needs; nothing is a plain 0.

    >>> axis_numbers([-0.05, -1e-17, 0.05, 0.1])
    ['−0.05', '0', '0.05', '0.10']
    """
    values = list(values)
    digits = next((d for d in range(4) if all(abs(value - round(value, d)) < 1e-9 for value in values)), 4)
    return [f"{value:.{digits}f}".replace("-", "\u2212") if round(value, digits) else "0" for value in values]


def text(x: float, y: float, value: str, *, anchor: str = "start", fill: str = INK, extra: str = "") -> str:
    """One line of text, its middle at height ``y``. ``unicode-bidi`` keeps right-to-left tokens from turning others."""
    return (
        f'<text x="{coordinate(x)}" y="{coordinate(y)}" dy=".35em" text-anchor="{anchor}" fill="{fill}" '
        f'style="unicode-bidi:isolate;white-space:pre"{extra}>{content(value)}</text>'
    )


def upright(x: float, y: float, value: str) -> str:
    """The name of a vertical axis: read from below, its middle at (x, y)."""
    turned = f' transform="rotate(-90 {coordinate(x)} {coordinate(y)})"'
    return text(x, y, value, anchor="middle", fill=MUTED, extra=turned)


def text_width(value: str, font_size: float) -> float:
    """Estimated width of a text in pixels; nothing here can measure a font."""
    total = 0.0
    for char in value:
        if unicodedata.combining(char) or unicodedata.category(char) in ("Cf", "Mn", "Me"):
            continue
        wide = unicodedata.east_asian_width(char) in "WF"
        total += 1.05 if wide else _CHAR_WIDTH.get(char, 0.58)
    return total * font_size


def shortened(value: str, font_size: float, limit: float) -> str:
    """A token cut to fit, with an ellipsis; a combining mark stays with its letter."""
    value = visible_token(value)
    if text_width(value, font_size) <= limit:
        return value
    kept = ""
    for char in value:
        if text_width(kept + char + "…", font_size) > limit and not unicodedata.combining(char):
            break
        kept += char
    return kept + "…"
