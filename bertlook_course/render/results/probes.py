"""What probes reach, for slides: Table 3 as printed, scores with their intervals, learning curves."""

from __future__ import annotations

import json
from collections.abc import Mapping

import numpy as np

from bertlook_teach.model import head_label
from bertlook_teach.views import INK, LINE, MUTED, RULE, Picture, coordinate, text, text_width

from ...published import read_published
from ..drawing.figures import draw_level, key_above, styled_figure
from ..drawing.marks import line_looks
from ..drawing.text_table import Estimate, TextTable

_WIDTH, _EM, _TALL = 1180.0, 30.0, 50.0  # of the picture of pairs, its type, its tallest bar


def published_probes() -> TextTable:
    """Table 3 of Clark et al. (2019) as printed, the weakest first; the structural probe apart, as its score is another one."""
    rows = [row for row in read_published("clark_table3_probes") if row.exactness == "printed"]
    rows.sort(key=lambda row: (row.quantity == "structural probe", float(row.value)))
    body = [
        [
            row.quantity,
            json.loads(row.value),  # with as many digits as were printed
            "UUAS, one layer, no direction: not comparable" if row.note.startswith("undirected") else "UAS",
        ]
        for row in rows
    ]
    caption = "Per cent; BERT-base, Wall Street Journal, punctuation left out, as printed. No intervals were published."
    return TextTable(["what the probe sees", "found", "measure"], body, caption)


def score_cell(score) -> Estimate:
    """UAS with its interval, in per cent: 46.8 [44.8, 49.0]."""
    return Estimate(100 * score.uas, 100 * score.low, 100 * score.high, ".1f")


def learning_figure(curves: Mapping[str, Mapping[int, object]], *, baseline: tuple[str, float] | None = None):
    """UAS over the number of sentences that a probe was fitted on, with intervals, at the size of a slide.

    Parameters
    ----------
    curves : mapping of name to mapping of int to AttachmentScore
        From `bertlook_course.analyses.probing.learning_curve`.
    baseline : (name, UAS), optional
        A dotted line.

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
        if baseline:
            draw_level(axes, 100 * baseline[1], baseline[0])
        ticks = sorted({size for curve in curves.values() for size in curve})
        axes.set_xscale("log")
        axes.set_xticks(ticks, [str(t) for t in ticks])
        axes.minorticks_off()
        axes.set_ylim(0, None)
        axes.set_xlabel("sentences fitted on", color=INK)
        axes.set_ylabel("UAS (per cent)", color=INK)
        axes.grid(axis="y", color=RULE, linewidth=0.8)
        key_above(figure, axes)
    return figure


def learning_sentence(curves: Mapping[str, Mapping[int, object]]) -> str:
    """A learning curve in words: where it begins and where it ends."""
    parts = []
    for name, curve in curves.items():
        points = list(curve.items())
        (first, low), (last, high) = points[0], points[-1]
        parts.append(
            f"{name}: {100 * low.uas:.0f} % after {first} sentences, {100 * high.uas:.0f} % after {last}"
        )
    return "; ".join(parts) + "."


def pair_vectors(pairs: Mapping[str, object], sentence: str = "") -> Picture:
    """What a probe of pairs sees: for each pair of words a row of bars, one bar a head, layer by layer; all on one scale.

    Parameters
    ----------
    pairs : mapping of name to array of shape (layer, head)
        Attention from one word to the other in each head, 0 or more.
    sentence : str
        What the picture shows; behind it stands which bar is the tallest.

    Raises
    ------
    ValueError
        If there is no pair, the pairs differ in their heads, or a weight is negative or not finite.
    """
    vectors = {name: np.asarray(weights, float) for name, weights in pairs.items()}
    shapes = {weights.shape for weights in vectors.values()}
    if len(shapes) != 1 or any(
        w.ndim != 2 or not np.isfinite(w).all() or w.min() < 0 for w in vectors.values()
    ):
        raise ValueError(
            f"pairs need weights of 0 or more, of one shape (layer, head); got {sorted(map(str, shapes)) or 'no pair'}."
        )
    [(n_layers, n_heads)] = shapes
    name, highest = max(vectors.items(), key=lambda pair: pair[1].max())
    most, at = highest.max() or 1.0, divmod(int(highest.argmax()), n_heads)
    c, left = coordinate, max(text_width(name, _EM) for name in vectors) + 1.2 * _EM
    pitch = (_WIDTH - left) / (n_layers * (n_heads + 1))  # after each layer the room of one bar
    body, y = [], 0.0
    for row, weights in vectors.items():
        y += _TALL + 0.5 * _EM
        body.append(text(left - 0.6 * _EM, y - 0.4 * _EM, row, anchor="end"))
        for (layer, head), weight in np.ndenumerate(weights):
            x, high = left + (layer * (n_heads + 1) + head) * pitch, _TALL * weight / most
            bar = f"M{c(x)} {c(y)}v{c(-high)}h{c(0.8 * pitch)}v{c(high)}z"
            body.append(f'<path d="{bar}" fill="{LINE}"/>')
            body.append(f'<path d="M{c(x)} {c(y)}h{c(0.8 * pitch)}" stroke="{MUTED}" stroke-width="1.5"/>')
    for layer in range(n_layers):
        middle = left + (layer * (n_heads + 1) + n_heads / 2) * pitch
        name_of = "layer 1" if layer == 0 else str(layer + 1)
        body.append(text(middle, y + 0.8 * _EM, name_of, anchor="middle", fill=MUTED))
    tallest = f"The tallest bar: head {head_label(*at)} in “{name}”, {highest.max():.2f}."
    words = " ".join(filter(None, [sentence, tallest]))
    heads = [head_label(*divmod(i, n_heads)) for i in range(n_layers * n_heads)]
    cells = [[name, *(f"{weight:.3f}" for weight in w.ravel())] for name, w in vectors.items()]
    numbers = (TextTable(["pair", *heads], cells),)
    return Picture(body, _WIDTH, y + 1.5 * _EM, "Pairs of words", words, _EM, numbers=numbers, wide=True)


def largest_heads(weights, n: int = 2) -> str:
    """The heads with the largest of some weights, shape (layer, head), and how large: one alone would be a winner without a rival.

    >>> largest_heads(np.array([[0.1, 2.0], [1.5, 0.3]]))
    '1-2 2.0, 2-1 1.5'
    """
    places = np.argsort(-weights, axis=None, kind="stable")[:n]
    return ", ".join(f"{head_label(*divmod(int(i), weights.shape[1]))} {weights.flat[i]:.1f}" for i in places)
