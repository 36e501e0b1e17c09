"""All heads of a model on one text at a glance: one small grid per head, a row of grids per layer."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from ...model import head_label
from ..drawing.inputs import checked_attention
from ..drawing.palette import MUTED, RULE, SELECTED, magnitude_colour
from ..drawing.sentences import percent, quoted
from ..drawing.svg import coordinate, frame, text, upright


def describe_gallery(weights, tokens: Sequence[str]) -> str:
    """The head with the largest single weight and the one with the smallest, in a sentence."""
    weights = np.asarray(weights)
    peaks = weights.max(axis=(-2, -1))
    sharpest = np.unravel_index(peaks.argmax(), peaks.shape)
    flattest = np.unravel_index(peaks.argmin(), peaks.shape)
    query, key = np.unravel_index(weights[sharpest].argmax(), weights[sharpest].shape)
    return (
        f"{peaks.size} heads on one text. The largest single weight is in head {head_label(*sharpest)}: "
        f"{percent(peaks[sharpest])} of {quoted(tokens[query])} goes to {quoted(tokens[key])}. "
        f"In head {head_label(*flattest)} no weight is above {percent(peaks[flattest])}."
    )


def render_gallery(
    weights,
    tokens: Sequence[str],
    *,
    selected: tuple[int, int] | None = None,
    size: float = 64,
    font_size: float = 24,
) -> str:
    """Draw, as a standalone SVG, every head's map small: rows of the picture are layers, columns heads, counted from 1.

    Parameters
    ----------
    weights : array of shape (layer, head, query, key)
    tokens : sequence of str
        They are not printed (there is no room); each map's tooltip names its head.
    selected : (int, int), optional
        Zero-based layer and head to frame.
    size : float
        Side of one map in pixels.
    font_size : float

    Raises
    ------
    ValueError
        If the weights do not have four axes, or one head's weights cannot be drawn.
    """
    weights = np.asarray(weights)
    if weights.ndim != 4:
        raise ValueError(f"weights must have shape (layer, head, query, key); got {weights.shape}.")
    for maps in weights:
        for one in maps:
            checked_attention(one, tokens)
    n_layers, n_heads, n, _ = weights.shape
    em, gap = float(font_size), 8.0
    left, top, pitch = 3.2 * em, 2.8 * em, size + gap
    body = [
        text(left, 0.8 * em, "head", fill=MUTED),
        upright(0.8 * em, top + n_layers * pitch / 2, "layer"),
    ]
    body += [text(left + h * pitch + size / 2, 2.0 * em, str(h + 1), anchor="middle") for h in range(n_heads)]
    cell = size / n
    for layer in range(n_layers):
        y = top + layer * pitch
        body.append(text(left - 0.5 * em, y + size / 2, str(layer + 1), anchor="end"))
        for head in range(n_heads):
            x = left + head * pitch
            paths: dict[str, list[str]] = {}
            for (i, j), weight in np.ndenumerate(weights[layer, head]):
                colour = magnitude_colour(round(float(weight) * 16) / 16)
                corner = f"M{x + j * cell:.2f} {y + i * cell:.2f}"
                paths.setdefault(colour, []).append(f"{corner}h{cell:.2f}v{cell:.2f}h-{cell:.2f}z")
            drawn = "".join(f'<path d="{"".join(paths[c])}" fill="{c}"/>' for c in sorted(paths))
            edge = SELECTED if selected == (layer, head) else RULE
            wide = 4 if selected == (layer, head) else 1
            body.append(
                f"<g><title>Head {head_label(layer, head)}</title>{drawn}"
                f'<rect x="{coordinate(x)}" y="{coordinate(y)}" width="{coordinate(size)}" height="{coordinate(size)}" '
                f'fill="none" stroke="{edge}" stroke-width="{wide}"/></g>'
            )
    width, height = left + n_heads * pitch + 2, top + n_layers * pitch + 2
    return frame(
        body, width, height, title="All heads", sentence=describe_gallery(weights, tokens), font_size=em
    )
