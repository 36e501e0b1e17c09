"""How a model looks in every picture: one colour and one form for the specimen, its random twin, BERT-base and a baseline.

BERT-base is filled, the specimen hollow, the twin grey and square, a baseline a black tick. Series that are not models take what
is left, so that no curve of anything else can be taken for one of these.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass

from .palette import INK, LINE, MODEL_WORDS, MUTED, OKABE_ITO, PAPER
from .svg import coordinate


@dataclass(frozen=True)
class Mark:
    """A colour, a form (a key of `FORMS`), whether it is filled, and the dash of its line as matplotlib writes it."""

    colour: str
    form: str
    filled: bool = True
    dash: object = "-"


# A form: its name in matplotlib, and its corners for a radius of 1; none for a disc and a square.
FORMS = {
    "disc": ("o", ()),
    "square": ("s", ()),
    "tick": ("|", ((-0.2, -1.3), (0.2, -1.3), (0.2, 1.3), (-0.2, 1.3))),
    "diamond": ("D", ((0, -1.2), (1.2, 0), (0, 1.2), (-1.2, 0))),
    "up": ("^", ((0, -1.1), (1.1, 0.9), (-1.1, 0.9))),
    "down": ("v", ((0, 1.1), (1.1, -0.9), (-1.1, -0.9))),
    "right": (">", ((1.1, 0), (-0.9, 1.1), (-0.9, -1.1))),
    "left": ("<", ((-1.1, 0), (0.9, 1.1), (0.9, -1.1))),
    "hexagon": ("h", ((0, -1.1), (0.95, -0.55), (0.95, 0.55), (0, 1.1), (-0.95, 0.55), (-0.95, -0.55))),
}

MODELS = {
    "specimen": Mark(OKABE_ITO["blue"], "disc", filled=False),
    "random twin": Mark(MUTED, "square", dash="--"),
    "BERT-base": Mark(OKABE_ITO["green"], "disc", dash="-."),
    "baseline": Mark(INK, "tick", dash=(0, (1, 2))),
}

OTHERS = (
    Mark(OKABE_ITO["vermillion"], "diamond", dash="--"),
    Mark(OKABE_ITO["purple"], "up", dash="-."),
    Mark(OKABE_ITO["blue"], "down", dash=":"),
    Mark(OKABE_ITO["orange"], "right", dash=(0, (5, 1))),
    Mark(OKABE_ITO["green"], "left", dash=(0, (3, 1, 1, 1))),
    Mark(OKABE_ITO["sky"], "hexagon", dash=(0, (1, 1))),
    Mark(OKABE_ITO["black"], "diamond", filled=False, dash=(0, (4, 2, 1, 2))),
)


def model_of(name: str) -> str | None:
    """Which of `MODELS` a series, a row or a badge speaks of.

    >>> [model_of(name) for name in ("its random twin", "BERT-base, recorded", "specimen, layer 3", "guessing", "POS")]
    ['random twin', 'BERT-base', 'specimen', 'baseline', None]
    """
    return next((model for model, words in MODEL_WORDS.items() if re.search(words, name)), None)


def marks_of(names: Iterable[str]) -> list[Mark]:
    """The marks of all series of one picture: a model's own, once; all others in the order of `OTHERS`.

    >>> [mark.form for mark in marks_of(["specimen", "random twin", "specimen, shuffled"])]
    ['disc', 'square', 'diamond']
    """
    found, spare = [], 0
    for name in names:
        mark = MODELS.get(model_of(name) or "")
        if mark is None or mark in found:
            mark = OTHERS[spare % len(OTHERS)]
            spare += 1
        found.append(mark)
    return found


def line_looks(names: Iterable[str]) -> list[dict[str, object]]:
    """The same for the lines of matplotlib."""
    return [
        {
            "color": mark.colour,
            "marker": FORMS[mark.form][0],
            "markerfacecolor": mark.colour if mark.filled else PAPER,
            "markeredgewidth": 2.5 if mark.form == "tick" or not mark.filled else 1,
            "linestyle": mark.dash,
            "linewidth": 2.5,
        }
        for mark in marks_of(names)
    ]


def bar_look(name: str) -> dict[str, object]:
    """The same for a bar of matplotlib: its frame says the model, and the specimen's is hollow; a row that is not a model is a plain bar."""
    mark = MODELS.get(model_of(name) or "")
    if mark is None:
        return {"color": LINE}
    return {"facecolor": mark.colour if mark.filled else PAPER, "edgecolor": mark.colour, "linewidth": 2}


def draw_mark(mark: Mark, x: float, y: float, radius: float) -> str:
    """The mark as SVG, its middle at (x, y)."""
    c = coordinate
    paint = f'fill="{mark.colour if mark.filled else PAPER}" stroke="{mark.colour}" stroke-width="{c(0.4 * radius)}"'
    _, corners = FORMS[mark.form]
    if mark.form == "disc":
        return f'<circle cx="{c(x)}" cy="{c(y)}" r="{c(radius)}" {paint}/>'
    if mark.form == "square":
        side = c(1.7 * radius)
        return f'<rect x="{c(x - 0.85 * radius)}" y="{c(y - 0.85 * radius)}" width="{side}" height="{side}" {paint}/>'
    points = "L".join(f"{c(x + dx * radius)} {c(y + dy * radius)}" for dx, dy in corners)
    return f'<path d="M{points}Z" {paint}/>'
