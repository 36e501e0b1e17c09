"""Put pictures next to one another, and words into lines."""

from __future__ import annotations

import re
from collections.abc import Sequence

from bertlook_teach.views import shortened, text_width

# A drawing so wide with type so large fills a slide, and its type has 24 pixels on a projector of 1024 x 768.
WIDE, TYPE = 1030.0, 26.0


def beside(*pictures: str) -> str:
    """Several pieces of HTML or SVG next to one another, or below where there is no room."""
    parts = "".join(f'<div style="flex:0 1 auto;min-width:0">{picture}</div>' for picture in pictures)
    return f'<div style="display:flex;flex-wrap:wrap;gap:.5em 1.5em;align-items:flex-start">{parts}</div>'


def broken_lines(sentence: str, em: float, width: float, most: int | None = None) -> list[str]:
    """A sentence in lines of a width; of more than so many the last is cut. A number keeps its per cent sign.

    >>> broken_lines("one two three", 10, 50)
    ['one two', 'three']
    >>> broken_lines("one two 3 %", 10, 50)
    ['one two', '3 %']
    """
    lines = [""]
    for word in re.findall(r"\S+(?: %\S*)?", sentence):
        longer = f"{lines[-1]} {word}".strip()
        if lines[-1] and text_width(longer, em) > width:
            lines.append(word)
        else:
            lines[-1] = longer
    if most is None or len(lines) <= most:
        return lines
    return [*lines[: most - 1], shortened(" ".join(lines[most - 1 :]), em, width)]


def joined(names: Sequence[str], word: str = "and") -> str:
    """Names as they are read aloud.

    >>> joined(["a"]), joined(["a", "b", "c"]), joined(["a", "b"], "or")
    ('a', 'a, b and c', 'a or b')
    """
    *others, last = names
    return f"{', '.join(others)} {word} {last}" if others else last
