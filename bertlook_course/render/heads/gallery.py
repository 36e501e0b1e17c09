"""All heads of a model on one text at a glance: one small grid per head, a row of grids per layer."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from bertlook_teach.model import head_label
from bertlook_teach.views import SELECTED, Grid, Picture, checked_attention, magnitude_colour, percent, quoted


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
) -> Picture:
    """Draw every head's map small: rows of the picture are layers, columns heads, counted from 1.

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
    heads = Grid(3.2 * em, 2.8 * em, n_layers, n_heads, size + gap, size + gap, em)
    body = [*heads.named(("head", "layer"), 0.8 * em, 0.8 * em), *heads.numbered()]
    for layer, head in np.ndindex(n_layers, n_heads):
        body += [heads.row_name(layer, layer + 1)] if head == 0 else []
        x, y = heads.left + head * heads.across + gap / 2, heads.top + layer * heads.down + gap / 2
        one = Grid(x, y, n, n, size / n, size / n, em)
        steps = np.rint(weights[layer, head] * 16).astype(int)
        edge = one.border(SELECTED, 4) if selected == (layer, head) else one.border()
        drawn = "".join([*one.shaded(steps, lambda step: magnitude_colour(step / 16)), edge])
        body.append(f"<g><title>Head {head_label(layer, head)}</title>{drawn}</g>")
    width, height = heads.right + 2, heads.bottom + 2
    return Picture(
        body, width, height, title="All heads", sentence=describe_gallery(weights, tokens), font_size=em
    )
