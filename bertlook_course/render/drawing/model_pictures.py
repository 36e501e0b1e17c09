"""Three drawings for who has never seen a transformer: the model from a text to a guess, one head, and the layer a head sits in."""

from __future__ import annotations

import operator
from collections.abc import Sequence

import numpy as np

from bertlook_teach.views import (
    INK,
    LINE,
    MUTED,
    PAPER,
    RULE,
    SELECTED,
    SELECTED_INK,
    Cell,
    Grid,
    Picture,
    check_weights,
    coordinate,
    magnitude_colour,
    percent,
    quoted,
    shortened,
    text,
    text_width,
)

_WIDTH = 1180.0
_FONT = 31.0
_TINT = "#eef4f9"
MOST_TOKENS, MOST_GUESSES, MOST_HEADS = 24, 5, 24

_HEAD = 8.0  # half the width of an arrow's head


def _box(
    x: float, y: float, width: float, height: float, *lines: str, fill=PAPER, stroke=INK, ink=INK
) -> list[str]:
    """A box with up to two lines of text in its middle."""
    place = (
        f'x="{coordinate(x)}" y="{coordinate(y)}" width="{coordinate(width)}" height="{coordinate(height)}"'
    )
    drawn = [f'<rect {place} rx="8" fill="{fill}" stroke="{stroke}" stroke-width="2"/>']
    first = y + height / 2 - 19 * (len(lines) - 1)
    return drawn + [
        text(x + width / 2, first + 38 * i, line, anchor="middle", fill=ink) for i, line in enumerate(lines)
    ]


def _path(*points: tuple[float, float], colour: str = MUTED, dashed: bool = False) -> str:
    steps = "L".join(f"{coordinate(x)} {coordinate(y)}" for x, y in points)
    dash = ' stroke-dasharray="9 6"' if dashed else ""
    return f'<path d="M{steps}" stroke="{colour}" stroke-width="3" fill="none"{dash}/>'


def _arrow(*points: tuple[float, float], colour: str = MUTED, dashed: bool = False) -> list[str]:
    """A line along the axes with its head at the last point."""
    (before_x, before_y), (x, y) = points[-2:]
    if before_x == x:
        back = y - _HEAD if y > before_y else y + _HEAD
        head = ((x - _HEAD, back), (x, y), (x + _HEAD, back))
    else:
        back = x - _HEAD if x > before_x else x + _HEAD
        head = ((back, y - _HEAD), (x, y), (back, y + _HEAD))
    return [_path(*points, colour=colour, dashed=dashed), _path(*head, colour=colour)]


def render_model(
    sentence: str,
    tokens: Sequence[str],
    masked: int,
    guesses: Sequence[tuple[str, float]],
    *,
    shape: tuple[int, int],
) -> Picture:
    """The whole model in one drawing, from below: a text, its tokens, the layers, and what it takes the masked token for.

    Parameters
    ----------
    sentence : str
    tokens : sequence of str
        As the model reads them, the mask among them.
    masked : int
        Its position.
    guesses : sequence of (piece, probability)
        Best first.
    shape : (layers, heads)

    Returns
    -------
    Picture

    Raises
    ------
    ValueError
        If there is no token at that position, or nothing was guessed.
    """
    if not 0 <= masked < len(tokens):
        raise ValueError(f"masked is a position among {len(tokens)} tokens; got {masked}.")
    if not guesses:
        raise ValueError("there is nothing to draw above the mask: guesses is empty.")
    n_layers, n_heads = shape
    if n_layers < 1 or n_heads < 1:
        raise ValueError(f"shape is (layers, heads), at least one of each; got {shape}.")
    if len(tokens) > MOST_TOKENS or len(guesses) > MOST_GUESSES:
        raise ValueError(
            f"at most {MOST_TOKENS} tokens and {MOST_GUESSES} guesses fit the drawing; got {len(tokens)} and {len(guesses)}. Take a shorter text."
        )
    if not all(0 <= share <= 1 for _, share in guesses):
        raise ValueError(f"a guess is a piece and its probability, from 0 to 1; got {guesses!r:.100}.")
    left, right, top, bar, gap = 140.0, _WIDTH - 8, 136.0, 42.0, 6.0
    widths = [text_width(token, _FONT) + 22 for token in tokens]
    fit = min(1.0, (right - left - 12 * len(tokens)) / sum(widths))  # tokens of a long text are cut
    widths = [width * fit for width in widths]
    spare = (right - left - sum(widths)) / len(tokens)
    centre = [left + sum(widths[:i]) + widths[i] / 2 + spare * (i + 0.5) for i in range(len(tokens))]
    floor = top + n_layers * (bar + gap)
    names = {"guess": 62.0, "layers": (top + floor) / 2 - gap / 2, "tokens": floor + 65, "text": floor + 156}
    body = [text(16, y, name, fill=MUTED) for name, y in names.items()]
    for i in range(n_layers):
        label = (
            f"layer {i + 1}"
            if i
            else f"layer 1: its {n_heads} heads look, then each token is worked on by itself"
        )
        body += _box(
            left, floor - (i + 1) * (bar + gap) + gap, right - left, bar, label, fill=_TINT, stroke=RULE
        )
    for i, (token, x, width) in enumerate(zip(tokens, centre, widths, strict=True)):
        look = {"stroke": SELECTED, "ink": SELECTED_INK} if i == masked else {"stroke": LINE}
        body += _box(x - width / 2, floor + 40, width, 50, shortened(token, _FONT, width - 10), **look)
        body += _arrow((x, floor + 38), (x, floor + 14))
    middle = (left + right) / 2
    body += [
        text(middle, floor + 156, shortened(sentence, _FONT, right - left), anchor="middle"),
        *_arrow((middle, floor + 132), (middle, floor + 98)),
    ]
    words = [f"{piece} {percent(share)}" for piece, share in guesses]
    said = "    ".join(words)
    width = text_width(said, _FONT) + 40
    start = min(max(centre[masked] - width / 2, left), right - width)
    body += _box(start, 34, width, 56, said, stroke=SELECTED, ink=SELECTED_INK)
    body += _arrow((centre[masked], top - 4), (centre[masked], 98), colour=SELECTED)
    what = (
        f"The text {quoted(sentence)} becomes {len(tokens)} tokens. {n_layers} layers of {n_heads} heads work on all tokens at once. From what then stands "
        f"in the place of the masked token the model guesses {', '.join(words)}."
    )
    return Picture(body, _WIDTH, floor + 184, title="From a text to a guess", sentence=what, font_size=_FONT)


def render_one_head(weights, *, size: int, width: int) -> Picture:
    """One head as a machine: query, key and value, the weights between tokens, and the way back to the token.

    Parameters
    ----------
    weights : array of shape (query, key)
        Of a real head; drawn as its small map.
    size, width : int
        How many numbers a query has, and a token's vector.

    Raises
    ------
    ValueError
        If the weights are not square.
    """
    n = len(weights)
    if not n or any(len(row) != n for row in weights):
        raise ValueError("weights must have as many columns as rows, one of each for a token.")
    weights = np.asarray(weights, dtype=float)
    check_weights(weights, [str(i + 1) for i in range(n)])
    if np.abs(weights.sum(axis=1) - 1).max() > 1e-3:
        raise ValueError(f"each row of the weights sums to 1; one sums to {weights.sum(axis=1).max():.3g}.")
    middle, body = 215.0, []
    body += _box(8, middle - 64, 222, 128, "each token", f"{width} numbers")
    rows = (
        ("query", "what it looks for", 60.0),
        ("key", "what it is found by", middle),
        ("value", "what it hands over", 370.0),
    )
    for name, meaning, y in rows:
        body += _box(296, y - 50, 312, 100, name, meaning, stroke=LINE)
        body += _arrow((230, middle), (262, middle), (262, y), (291, y))
    x0, y0, side = 694.0, 66.0, 190.0
    body += [
        _path((608, 60), (650, 60), (650, 140)),
        *_arrow((608, middle), (650, middle), (650, 140), (x0 - 6, 140)),
    ]
    largest = weights.max()
    grid = Grid(x0, y0, n, n, side / n, side / n, _FONT)
    body += grid.cells(
        lambda i, j: Cell(magnitude_colour(weights[i, j] / largest), edge=RULE), gap=(0, 0), round=0
    )
    lines = (
        ("rows sum to 1", 32.0, INK),
        (f"query · key, over √{size},", 286.0, MUTED),
        ("then softmax", 324.0, MUTED),
    )
    body += [text(x0 + side / 2, y, line, anchor="middle", fill=ink) for line, y, ink in lines]
    body += _arrow((x0 + side + 4, 140), (933, 140))
    body += _arrow((608, 370), (970, 370), (970, 198))
    body += _box(938, 90, 234, 102, "the values,", "averaged", stroke=SELECTED)
    body += _arrow((1080, 196), (1080, 277))
    body += _box(986, 282, 186, 100, "added to", "the token")
    what = (
        f"Each token's {width} numbers give a query, a key and a value of {size} numbers. Queries meet keys; divided by the root of {size} and through the "
        f"softmax they are weights, a row for each of {n} tokens. The values are averaged by the weights, and what comes out is added to the token."
    )
    return Picture(body, _WIDTH, 440, title="One attention head", sentence=what, font_size=_FONT)


def render_layer(n_heads: int, chosen: int) -> Picture:
    """Where a head sits: side by side with the others of its layer, below the step that each token takes by itself.

    Parameters
    ----------
    n_heads : int
    chosen : int
        Which is marked, from 0.

    Raises
    ------
    ValueError
        If there is no such head.
    """
    n_heads, chosen = operator.index(n_heads), operator.index(chosen)
    if not 1 <= n_heads <= MOST_HEADS:
        raise ValueError(f"from 1 to {MOST_HEADS} heads fit the drawing; got {n_heads}.")
    if not 0 <= chosen < n_heads:
        raise ValueError(f"chosen is one of {n_heads} heads, counted from 0; got {chosen}.")
    left, right = 236.0, 950.0
    middle, step = (left + right) / 2, (right - left) / n_heads
    body = []
    floors = (
        (16.0, "to the next layer", {"stroke": RULE, "ink": MUTED}),
        (104.0, "add, and normalise", {}),
        (192.0, "feed-forward: each token by itself", {"fill": _TINT}),
        (280.0, "add, and normalise", {}),
        (456.0, "one vector for each token", {"stroke": RULE, "ink": MUTED}),
    )
    for y, label, look in floors:
        body += _box(left, y, right - left, 50, label, **look)
    for y in (70.0, 158.0, 246.0, 334.0):
        body += _arrow((middle, y + 32), (middle, y))
    for head in range(n_heads):
        look = {"stroke": SELECTED, "ink": SELECTED_INK} if head == chosen else {"stroke": LINE}
        x = left + head * step
        body += _box(x + 4, 368, step - 8, 54, f"head {head + 1}" if step > 110 else str(head + 1), **look)
        body += _arrow((x + step / 2, 454), (x + step / 2, 428))
    for low, high, out in (
        (481.0, 314.0, 64.0),
        (296.0, 129.0, 32.0),
    ):  # past the heads, and past the feed-forward step
        body += _arrow((left, low), (left - out, low), (left - out, high), (left - 4, high), dashed=True)
    notes = (
        (8.0, 362.0, ("the token", "itself goes", "past them"), MUTED),
        (right + 16, 376.0, ("only here do", "tokens meet"), SELECTED_INK),
    )
    body += [
        text(x, y + 38 * i, line, fill=ink) for x, y, lines, ink in notes for i, line in enumerate(lines)
    ]
    what = (
        f"A layer: {n_heads} heads side by side read the same vectors; head {chosen + 1} is marked. What they give is added to each token and normalised. A "
        "feed-forward step works on each token by itself, and is added too. Only in the heads do tokens meet."
    )
    return Picture(body, _WIDTH, 522, title="Where a head sits in its layer", sentence=what, font_size=_FONT)
