"""A lecture's two moving pictures: the tokens rise through the layers, and one head works for one token.

A picture is drawn once, and its steps are groups that a slideshow shows one after the other, as it shows the fragments of a slide. So
Space goes on and Shift+Space back, live and in an exported file; a page that is no slideshow, and paper, show the last step. What
moves has the class ``moves`` and says where it comes from (``slides/theme/pictures.css``).
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

import numpy as np

from bertlook_teach.views import (
    INK,
    LINE,
    MUTED,
    RULE,
    SELECTED,
    SELECTED_INK,
    Picture,
    content,
    coordinate,
    difference_colour,
    percent,
    quoted,
    shortened,
    text,
    text_width,
)

from .model_pictures import WIDTH, arrow, box

MOST_TOKENS, MOST_GUESSES, MOST_ROWS = 12, 5, 6

_LEFT, _RIGHT = 176.0, WIDTH - 8
_FONT = 31.0
_VALUE = "#8a3a70"
_STRIP = 20.0  # how high a vector is drawn
_CELLS = 32  # a longer vector is drawn as the means of so many neighbourhoods


def _step(parts: Iterable[str]) -> list[str]:
    return ['<g class="fragment">', *parts, "</g>"]


def _moving(parts: Iterable[str], x: float, y: float, *, tall: float = 1, foot: float = 0) -> list[str]:
    """What comes from elsewhere: so far to the right and below, or so many times as tall above its foot."""
    start = f"translate({coordinate(x)}px,{coordinate(y)}px) scaleY({tall:.3g})"
    return [
        f'<g class="moves" style="--from:{start};transform-origin:0 {coordinate(foot)}px">',
        *parts,
        "</g>",
    ]


def _titled(title: str, parts: Iterable[str]) -> list[str]:
    return [f"<g><title>{content(title)}</title>", *parts, "</g>"]


def _strip(vector: np.ndarray, middle: float, y: float, width: float, name: str, largest: float, edge=RULE):
    """A vector as a strip of cells, blue for positive numbers and brown for negative ones."""
    shown = np.array([part.mean() for part in np.array_split(vector, min(len(vector), _CELLS))])
    side, left = width / len(shown), middle - width / 2
    place = f'y="{coordinate(y)}" width="{side + 0.3:.2f}" height="{_STRIP:.0f}"'
    cells = [
        f'<rect x="{left + i * side:.2f}" {place} fill="{difference_colour(value / largest)}"/>'
        for i, value in enumerate(shown)
    ]
    frame = (
        f'<rect x="{coordinate(left)}" y="{coordinate(y)}" width="{coordinate(width)}" height="{_STRIP:.0f}" '
        f'fill="none" stroke="{edge}" stroke-width="{1 if edge == RULE else 3}"/>'
    )
    return _titled(f"{name}: {len(vector)} numbers, length {np.linalg.norm(vector):.1f}", [*cells, frame])


def _columns(n: int) -> tuple[list[float], float]:
    """The middle of each token's column, and how wide its strips are."""
    step = (_RIGHT - _LEFT) / n
    return [_LEFT + (i + 0.5) * step for i in range(n)], step - 14


def _labels(tokens: Sequence[str], centres, width: float, y: float, chosen: int) -> list[str]:
    return [
        part
        for i, (token, x) in enumerate(zip(tokens, centres))
        for part in box(
            x - width / 2 - 6,
            y,
            width + 12,
            46,
            shortened(token, _FONT, width + 14),
            **({"stroke": SELECTED, "ink": SELECTED_INK} if i == chosen else {"stroke": RULE}),
        )
    ]


def _line(x: float, y: float, to_x: float, to_y: float, weight: float, colour: str, widest: float) -> str:
    ends = f'x1="{coordinate(x)}" y1="{coordinate(y)}" x2="{coordinate(to_x)}" y2="{coordinate(to_y)}"'
    return (
        f'<line {ends} stroke="{colour}" stroke-width="{max(1, widest * weight):.1f}" stroke-opacity=".6" '
        f'stroke-linecap="round"><title>{percent(weight)}</title></line>'
    )


def _checked(tokens: Sequence[str], chosen: int) -> None:
    if not 1 <= len(tokens) <= MOST_TOKENS:
        raise ValueError(
            f"from 1 to {MOST_TOKENS} tokens fit the picture; got {len(tokens)}. Take a shorter text."
        )
    if not 0 <= chosen < len(tokens):
        raise ValueError(f"a position among {len(tokens)} tokens is needed; got {chosen}.")


def render_rise(
    tokens: Sequence[str], masked: int, states, weights, guesses: Sequence[tuple[str, float]]
) -> Picture:
    """The whole model in one picture, from below: tokens are vectors, layers change them, and the masked one becomes a guess.

    Parameters
    ----------
    tokens : sequence of str
        As the model reads them, the mask among them.
    masked : int
        Its position.
    states : array of shape (layer + 1, token, dimension)
        The vectors of the tokens, first as embeddings.
    weights : array of shape (layer, head, query, key)
        Drawn is the mean of a layer's heads, where it is a tenth and more.
    guesses : sequence of (piece, probability)
        Best first.

    Returns
    -------
    Picture
        In four steps: the first layer, the second one, all others, the guess. Of more than six layers every second or third is drawn.

    Raises
    ------
    ValueError
        If there is no token at that position, nothing was guessed, or the shapes do not fit.
    """
    states, weights = np.asarray(states, dtype=float), np.asarray(weights, dtype=float)
    _checked(tokens, masked)
    if not 1 <= len(guesses) <= MOST_GUESSES or not all(0 <= share <= 1 for _, share in guesses):
        raise ValueError(
            f"from 1 to {MOST_GUESSES} guesses are needed, each a piece and its probability; got {guesses!r:.100}."
        )
    n, n_layers = len(tokens), len(weights)
    if weights.ndim != 4 or weights.shape[2:] != (n, n) or states.shape[:2] != (n_layers + 1, n):
        raise ValueError(
            f"states need the shape (layer + 1, token, dimension) and weights (layer, head, token, token), with {n} tokens; "
            f"got {states.shape} and {weights.shape}."
        )
    rows = np.unique(np.linspace(1, n_layers, min(n_layers, MOST_ROWS)).round().astype(int))
    centres, width = _columns(n)
    pitch, top = 64.0, 92.0
    floor = top + len(rows) * pitch
    height = {0: floor} | {layer: floor - (i + 1) * pitch for i, layer in enumerate(rows)}
    largest = np.quantile(np.abs(states), 0.98) / 2

    def vectors(layer: int, below: float = 0) -> list[str]:
        drawn = []
        for i, x in enumerate(centres):
            edge = SELECTED if i == masked else RULE
            name = (
                f"{quoted(tokens[i])} after layer {layer}" if layer else f"embedding of {quoted(tokens[i])}"
            )
            drawn += _strip(states[layer, i], x, height[layer], width, name, largest, edge)
        return _moving(drawn, 0, below) if below else drawn

    body = [text(16, height[0] + _STRIP / 2, "embedding", fill=MUTED), *vectors(0)]
    body += _labels(tokens, centres, width, floor + 40, masked)
    drawn, before = {}, 0
    for layer in rows:
        mean, low, high = weights[layer - 1].mean(axis=0), height[before] - 3, height[layer] + _STRIP + 3
        lines = [
            _line(
                centres[key],
                low,
                centres[query],
                high,
                mean[query, key],
                SELECTED if query == masked else LINE,
                14,
            )
            for query, key in np.argwhere(mean >= 0.1)
        ]
        label = text(16, height[layer] + _STRIP / 2, f"layer {layer}", fill=MUTED)
        drawn[layer] = [*lines, *vectors(layer, below=pitch), label]
        before = layer
    for some in (rows[:1], rows[1:2], rows[2:]):
        if len(some):
            body += _step(part for layer in some for part in drawn[layer])
    said = "    ".join(f"{piece} {percent(share)}" for piece, share in guesses)
    across = text_width(said, _FONT) + 40
    start = min(max(centres[masked] - across / 2, _LEFT), _RIGHT - across)
    body += _step(
        [
            text(16, 32, "guess", fill=MUTED),
            *box(start, 6, across, 52, said, stroke=SELECTED, ink=SELECTED_INK),
            *arrow((centres[masked], top - 4), (centres[masked], 66), colour=SELECTED),
        ]
    )
    what = (
        f"{n} tokens rise through {n_layers} layers as vectors, each drawn as a strip of colours. In every layer, lines show which token "
        f"reads which, the mean of {weights.shape[1]} heads, where it is a tenth and more. From the vector that then stands in the place "
        f"of {quoted(tokens[masked])} the model guesses {', '.join(f'{piece} {percent(share)}' for piece, share in guesses)}."
    )
    return Picture(body, WIDTH, floor + 96, title="From a text to a guess", sentence=what, font_size=_FONT)


def render_head_steps(tokens: Sequence[str], chosen: int, stream, queries, keys, values, output) -> Picture:
    """What one head does for one token, in six steps: query and keys, products, division, softmax, values, and the sum.

    Parameters
    ----------
    tokens : sequence of str
    chosen : int
        The position of the token that looks.
    stream : array of shape (token, width)
        The vectors that the layer reads.
    queries, keys, values : array of shape (token, size)
        Of the head.
    output : array of shape (size, width)
        The matrix that carries the mixed values back to the width of the stream.

    Returns
    -------
    Picture
        Scores, weights and sums are computed from what is given.

    Raises
    ------
    ValueError
        If there is no token at that position, or the shapes do not fit.
    """
    stream, queries, keys, values, output = (
        np.asarray(a, dtype=float) for a in (stream, queries, keys, values, output)
    )
    _checked(tokens, chosen)
    n, size = len(tokens), queries.shape[-1]
    if (
        not queries.shape == keys.shape == values.shape == (n, size)
        or output.shape != (size, stream.shape[-1])
        or len(stream) != n
    ):
        raise ValueError(
            f"queries, keys and values need the shape ({n}, {size}), stream ({n}, width) and output ({size}, width); got {queries.shape}, "
            f"{keys.shape}, {values.shape}, {stream.shape} and {output.shape}."
        )
    scores = keys @ queries[chosen]
    divided = scores / np.sqrt(size)
    weights = np.exp(divided - divided.max())
    weights /= weights.sum()
    mixed, who = weights @ values, quoted(tokens[chosen])
    added = mixed @ output
    centres, width = _columns(n)
    home, foot = centres[chosen], 296.0
    scale = 92 / max(np.abs(scores).max(), 1e-9)
    largest = {
        name: np.abs(a).max()
        for name, a in (("stream", stream), ("query", queries), ("key", keys), ("value", values))
    }

    def label(y: float, words: str, colour: str = MUTED) -> str:
        return text(16, y, words, fill=colour)

    def bars(numbers, look: str) -> list[str]:
        drawn = []
        for x, score, whole in zip(centres, numbers, scores):
            tall = abs(score) * scale
            place = f'x="{coordinate(x - 26)}" y="{coordinate(foot - (tall if score > 0 else 0))}" width="52" height="{coordinate(tall)}"'
            drawn += _titled(f"{whole:.2f}, divided {whole / np.sqrt(size):.2f}", [f"<rect {place} {look}/>"])
        return drawn

    body = _labels(tokens, centres, width, 6, chosen)
    body += [label(76, "vector"), *(p for i, x in enumerate(centres) for p in _strip(stream[i], x, 66, width, f"vector of {quoted(tokens[i])}", largest["stream"] / 3))]  # fmt: skip
    asked = _strip(queries[chosen], home, 136, width, f"query of {who}", largest["query"], SELECTED)
    found = [p for i, x in enumerate(centres) for p in _strip(keys[i], x, 104, width, f"key of {quoted(tokens[i])}", largest["key"], LINE)]  # fmt: skip
    body += _step([label(114, "key", LINE), *_moving(found, 0, -38), label(146, "query", SELECTED_INK), *_moving(asked, 0, -70)])  # fmt: skip
    copies = [
        part
        for i, x in enumerate(centres)
        if i != chosen
        for part in _moving(
            _strip(queries[chosen], x, 136, width, f"query of {who}", largest["query"], SELECTED), home - x, 0
        )
    ]
    tops = [text(x, foot - max(s * scale, 0) - 18, f"{s:.0f}".replace("-", "−"), anchor="middle", fill=MUTED) for x, s in zip(centres, scores)]  # fmt: skip
    body += _step([*copies, label(228, "query · key"), *bars(scores, f'fill="none" stroke="{MUTED}" stroke-width="2" stroke-dasharray="5 4"'), *tops])  # fmt: skip
    body += _step(
        [
            label(foot, f"÷ √{size}"),
            *_moving(bars(divided, f'fill="{INK}"'), 0, 0, tall=np.sqrt(size), foot=foot),
        ]
    )
    shares = [
        text(x, 334, percent(w) if w >= 0.005 else "0 %", anchor="middle") for x, w in zip(centres, weights)
    ]
    lines = [_line(x, 384, home, 440, w, _VALUE, 34) for x, w in zip(centres, weights) if w >= 0.005]
    body += _step([label(334, "softmax"), *shares])
    handed = [p for i, x in enumerate(centres) for p in _strip(values[i], x, 360, width, f"value of {quoted(tokens[i])}", largest["value"], _VALUE)]  # fmt: skip
    body += _step(
        [
            label(370, "value", _VALUE),
            *handed,
            *lines,
            label(454, "averaged", _VALUE),
            *_moving(
                _strip(mixed, home, 444, width, f"values averaged for {who}", np.abs(mixed).max(), _VALUE),
                0,
                -60,
            ),
        ]
    )
    new, reach = stream[chosen] + added, np.abs(stream[chosen]).max() / 3
    thirds = [(_LEFT + width / 2 + i * (width + 250)) for i in range(3)]
    sums = [
        part
        for x, vector, name in zip(
            thirds,
            (stream[chosen], added, new),
            (f"vector of {who}", "the head's update", f"new vector of {who}"),
        )
        for part in _strip(vector, x, 506, width, name, reach, SELECTED if vector is not added else _VALUE)
    ]
    signs = [
        text((a + b) / 2, 516, sign, anchor="middle")
        for a, b, sign in zip(thirds, thirds[1:], ("+ carried back", "= new vector"))
    ]
    body += _step([label(516, "added"), *sums, *signs])
    most = int(weights.argmax())
    what = (
        f"One head, for {who}. Its query meets the key of each of {n} tokens: {scores.min():.0f} to {scores.max():.0f}. Divided by the root "
        f"of {size} and through the softmax these are weights; {quoted(tokens[most])} gets most, {percent(weights[most])}. The values, averaged by the "
        f"weights, are carried back to {stream.shape[1]} numbers and added to the vector of {who}."
    )
    return Picture(body, WIDTH, 540, title="One attention head", sentence=what, font_size=_FONT)
