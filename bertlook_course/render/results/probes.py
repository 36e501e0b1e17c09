"""What probes reach, for slides: Table 3 as printed, scores with their intervals, learning curves."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence

import numpy as np

from bertlook_teach.model import head_label
from bertlook_teach.views import (
    INK,
    MUTED,
    PAPER,
    RULE,
    Cell,
    Grid,
    Picture,
    difference_colour,
    magnitude_colour,
    text,
)

from ...published import read_published
from ..drawing.figures import draw_level, key_above, styled_figure
from ..drawing.marks import line_looks
from ..drawing.text_table import Estimate, TextTable

_WIDTH, _EM, _ROW = 1180.0, 30.0, 28.0  # of the picture of pairs, its type, a layer of it


def published_probes() -> TextTable:
    """Table 3 of Clark et al. (2019) as printed, the weakest first, without the structural probe: its score is another one."""
    rows = [row for row in read_published("clark_table3_probes") if row.exactness == "printed"]
    rows = sorted(
        (row for row in rows if not row.note.startswith("undirected")), key=lambda row: float(row.value)
    )
    body = [[row.quantity, json.loads(row.value)] for row in rows]  # with as many digits as were printed
    caption = (
        "UAS: per cent of the words whose governor is named. BERT-base, Wall Street Journal, punctuation left out, as printed, "
        "without intervals. Right-branching: always the next word. Random-init: never trained. GloVe: word vectors."
    )
    return TextTable(["what the probe sees", "UAS"], body, caption)


def score_cell(score) -> Estimate:
    """UAS with its interval, in per cent: 46.8 [44.8, 49.0]."""
    return Estimate(100 * score.uas, 100 * score.low, 100 * score.high, ".1f")


def learning_figure(
    curves: Mapping[str, Mapping[int, object]],
    *,
    baseline: tuple[str, float] | None = None,
    enough: tuple[str, float] = ("", 1.0),
):
    """UAS over the number of sentences that a probe was fitted on, with intervals, at the size of a slide.

    Parameters
    ----------
    curves : mapping of name to mapping of int to AttachmentScore
        From `bertlook_course.analyses.probing.learning_curve`.
    baseline : (name, UAS), optional
        A dotted line.
    enough : (name, share), optional
        A line shows this share of the last score of a curve; the key says which.

    Returns
    -------
    matplotlib.figure.Figure
    """
    if not curves or not all(curves.values()):
        raise ValueError("a figure of learning curves needs at least one curve with a point.")
    with styled_figure((9.8, 4.0)) as (figure, (axes,)):
        for look, (name, curve) in zip(line_looks(curves), curves.items()):
            sizes = list(curve)
            axes.plot(sizes, [100 * s.uas for s in curve.values()], label=name, markersize=9, **look)
            low, high = ([100 * getattr(s, end) for s in curve.values()] for end in ("low", "high"))
            axes.fill_between(sizes, low, high, color=look["color"], alpha=0.2, linewidth=0)
            for size, score in curve.items():
                below = name == enough[0]
                put = {"textcoords": "offset points", "ha": "center", "va": "top" if below else "bottom"}
                ground = {"facecolor": PAPER, "edgecolor": "none", "pad": 0.5}
                at = (size, 100 * score.uas)
                axes.annotate(f"{at[1]:.1f}", at, (0, -9 if below else 9), color=INK, bbox=ground, **put)
            if name == enough[0]:
                level = 100 * enough[1] * curve[sizes[-1]].uas
                said = f"{100 * enough[1]:.0f} % of {name}: {level:.1f}"
                axes.axhline(level, color=MUTED, linewidth=1.2, zorder=0, label=said)
        if baseline:
            draw_level(axes, 100 * baseline[1], baseline[0])
        ticks = sorted({size for curve in curves.values() for size in curve})
        axes.set_xscale("log")
        axes.set_xticks(ticks, [str(t) for t in ticks])
        axes.minorticks_off()
        axes.set_ylim(0, None)
        axes.set_xlabel("sentences fitted on (logarithmic scale)", color=INK)
        axes.set_ylabel("UAS (per cent)", color=INK)
        axes.grid(axis="y", color=RULE, linewidth=0.8)
        key_above(figure, axes)
    return figure


def pair_grids(
    first: tuple[str, object],
    second: tuple[str, object],
    sentence: str = "",
    *,
    beneath: Sequence[str] = ("", ""),
) -> Picture:
    """What a probe of pairs sees: for two pairs of words the attention in every head as a grid, and between them the difference.

    Parameters
    ----------
    first, second : (str, array of shape (layer, head))
        A pair's name, and the attention from one of its words to the other in each head, 0 or more.
    sentence : str
        What the picture shows; behind it stands the largest difference.
    beneath : (str, str)
        What is written under each pair.

    Raises
    ------
    ValueError
        If the pairs differ in their heads, or a weight is negative or not finite.
    """
    one, other = (np.asarray(weights, float) for _, weights in (first, second))
    if one.shape != other.shape or any(
        w.ndim != 2 or not np.isfinite(w).all() or w.min() < 0 for w in (one, other)
    ):
        raise ValueError(
            f"pairs need weights of 0 or more, of one shape (layer, head); got {one.shape} and {other.shape}."
        )
    (n_layers, n_heads), difference = one.shape, one - other
    most = max(one.max(), other.max()) or 1.0
    gap, left = 50.0, 1.6 * _EM
    across = (_WIDTH - left - 2 * gap) / (3 * n_heads)
    panels = (
        (first[0], beneath[0], one, magnitude_colour),
        ("difference", "blue: more in the left pair", difference, difference_colour),
        (second[0], beneath[1], other, magnitude_colour),
    )
    body = []
    for k, (title, below, weights, colour) in enumerate(panels):
        grid = Grid(left + k * (n_heads * across + gap), 1.7 * _EM, n_layers, n_heads, across, _ROW, _EM)
        middle = (grid.left + grid.right) / 2
        body.append(text(middle, 0.8 * _EM, title, anchor="middle", extra=' font-weight="600"'))
        body += grid.cells(
            lambda layer, head, w=weights, shade=colour: Cell(
                shade(w[layer, head] / most), f"head {head_label(layer, head)}: {w[layer, head]:.3f}"
            ),
            range(1, n_layers + 1) if not k else (),
        )
        body.append(text(middle, grid.bottom + 0.9 * _EM, below, anchor="middle", fill=MUTED))
    at = divmod(int(np.abs(difference).argmax()), n_heads)
    largest = f"The largest difference: head {head_label(*at)}, {one[at]:.2f} and {other[at]:.2f}."
    heads = [head_label(*divmod(i, n_heads)) for i in range(n_layers * n_heads)]
    cells = [
        [name, *(f"{weight:.3f}" for weight in w.ravel())]
        for name, w in ((first[0], one), (second[0], other))
    ]
    words = " ".join(filter(None, [sentence, largest]))
    numbers = (TextTable(["pair", *heads], cells),)
    return Picture(
        body, _WIDTH, grid.bottom + 1.6 * _EM, "Two pairs of words", words, _EM, numbers=numbers, wide=True
    )
