"""Small drawings side by side, each with a few words beneath: what a result does not show."""

from __future__ import annotations

from collections.abc import Sequence

from bertlook_teach.views import INK, MUTED, Picture, coordinate, text

from ..drawing.layout import TYPE, WIDE, broken_lines

DRAWN = (220.0, 170.0)  # what a drawing may take: width and height


def limits_picture(
    columns: Sequence[tuple[Sequence[str], str, str]], title: str, caption: str = ""
) -> Picture:
    """Drawings in one row, each with its words beneath.

    Parameters
    ----------
    columns : sequence of (SVG elements, str, str)
        A drawing within `DRAWN`, what is limited, and how.
    title, caption : str

    Examples
    --------
    >>> limits_picture([([], "One model.", "It has six layers.")], "Limits").sentence
    'One model. It has six layers.'
    """
    body, wide, lowest = [], WIDE / len(columns), 0.0
    for number, (drawing, strong, rest) in enumerate(columns):
        left, y = wide * number, DRAWN[1] + 42
        body.append(f'<g transform="translate({coordinate(left)} 8)">{"".join(drawing)}</g>')
        for words, ink, look in ((strong, INK, ' font-weight="650"'), (rest, MUTED, "")):
            for line in broken_lines(words, TYPE, 1.2 * (wide - 30)):
                body.append(text(left, y, line, fill=ink, extra=look))
                y += 32
            y += 6
        lowest = max(lowest, y)
    said = " ".join(f"{strong} {rest}" for _, strong, rest in columns)
    return Picture(body, WIDE, lowest - 14, title, said, TYPE, caption=caption, wide=True)
