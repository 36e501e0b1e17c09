"""How a model looks in every picture: one colour and one form for the specimen, its random twin, BERT-base and a baseline.

BERT-base is filled, the specimen hollow, MiniLM dark enough to be another grey in print, the twin grey and square, a baseline a black
tick. Series that are not models take what
is left, so that no curve of anything else can be taken for one of these.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from bertlook_teach.views import BADGES, INK, LINE, MUTED, OKABE_ITO, PAPER, RULE, model_of


@dataclass(frozen=True)
class Mark:
    """A colour, a form (a key of `FORMS`), whether it is filled, and the dash of its line as matplotlib writes it."""

    colour: str
    form: str
    filled: bool = True
    dash: object = "-"


# A form and its name in matplotlib.
FORMS = {
    "disc": "o",
    "square": "s",
    "tick": "|",
    "diamond": "D",
    "up": "^",
    "down": "v",
    "right": ">",
    "left": "<",
    "hexagon": "h",
}

MODELS = {
    "specimen": Mark(OKABE_ITO["blue"], "disc", filled=False),
    "MiniLM": Mark(BADGES["MiniLM"][1], "hexagon", dash=(0, (5, 1))),
    "random twin": Mark(BADGES["random twin"][1], "square", dash="--"),
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


def mark_look(mark: Mark) -> dict[str, object]:
    """A mark alone, as matplotlib draws it."""
    return {
        "color": mark.colour,
        "marker": FORMS[mark.form],
        "markerfacecolor": mark.colour if mark.filled else PAPER,
        "markeredgewidth": 2.5 if mark.form == "tick" or not mark.filled else 1,
        "linestyle": "none",
    }


def line_looks(names: Iterable[str]) -> list[dict[str, object]]:
    """The lines of some series, each with its mark."""
    twin = MODELS["random twin"]  # never drawn over a model
    return [
        mark_look(mark) | {"linestyle": mark.dash, "linewidth": 2.5, "zorder": 1.9 if mark == twin else 2}
        for mark in marks_of(names)
    ]


def bar_look(name: str) -> dict[str, object]:
    """The same for a bar: its frame says the model, and the specimen's is hollow; a row that is not a model is a plain bar."""
    mark = MODELS.get(model_of(name) or "")
    return {"color": LINE} if mark is None else bar_of(mark)


def bar_of(mark: Mark) -> dict[str, object]:
    """A mark as a bar: what is hollow stays so, and a baseline is pale, to stand behind others."""
    if mark == MODELS["baseline"]:
        return {"facecolor": RULE, "edgecolor": MUTED, "linewidth": 1}
    return {"facecolor": mark.colour if mark.filled else PAPER, "edgecolor": mark.colour, "linewidth": 2}
