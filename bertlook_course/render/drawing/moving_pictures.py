"""A lecture's two moving pictures: the tokens rise through the layers, and one head works for one token.

A picture is drawn once, and its steps are groups that a slideshow shows one after the other, as it shows the fragments of a slide. So
Space goes on and Shift+Space back, live and in an exported file. Paper, and a page without a slideshow, show the last step. What
moves has the class ``moves`` and says where it comes from (``slides/theme/pictures.css``).
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from types import MappingProxyType

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

from .model_pictures import FONT, WIDTH, arrow, box, door

MOST_TOKENS, MOST_GUESSES, MOST_ROWS = 12, 5, 6

_LEFT, _RIGHT = 186.0, WIDTH - 8
_VALUE = "#8a3a70"
_STRIP = 20.0  # how high a vector is drawn
_LEAST = 0.005  # a smaller weight has no line
_CELLS = 32  # a longer vector is drawn as the means of so many neighbourhoods


def step(parts: Iterable[str]) -> list[str]:
    """A group that a slideshow shows after what stands before it."""
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


def _label(y: float, words: str, colour: str = MUTED) -> str:
    return text(16, y, words, fill=colour)


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
            shortened(token, FONT, width + 14),
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
    tokens: Sequence[str],
    masked: int,
    states,
    weights,
    guesses: Sequence[tuple[str, float]],
    *,
    opens: str = "",
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
    opens : str
        The title of the slide that a click on a layer opens.

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
        mean = weights[layer - 1].mean(axis=0)
        lines = _looks(mean, centres, height[before] - 3, height[layer] + _STRIP + 3, masked)
        label = text(16, height[layer] + _STRIP / 2, f"layer {layer}", fill=MUTED)
        drawn[layer] = door([*lines, *vectors(layer, below=pitch), label], opens)
        before = layer
    for some in (rows[:1], rows[1:2], rows[2:]):
        if len(some):
            body += step(part for layer in some for part in drawn[layer])
    body += step(_guess(guesses, centres[masked], top))
    what = (
        f"{n} tokens rise through {n_layers} layers as vectors, each drawn as a strip of colours. In every layer, lines show which token "
        f"reads which, the mean of {weights.shape[1]} heads, where it is a tenth or more. From the vector that then stands in the place "
        f"of {quoted(tokens[masked])} the model guesses {', '.join(f'{piece} {percent(share)}' for piece, share in guesses)}."
    )
    return Picture(body, WIDTH, floor + 96, title="From a text to a guess", sentence=what, font_size=FONT)


def _looks(mean: np.ndarray, centres: Sequence[float], low: float, high: float, masked: int) -> list[str]:
    """A line from each token that is looked at, below, to the one that looks, above."""
    return [
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


def _guess(guesses: Sequence[tuple[str, float]], x: float, top: float) -> list[str]:
    """What the masked token is taken for, over its column."""
    said = "    ".join(f"{piece} {percent(share)}" for piece, share in guesses)
    across = text_width(said, FONT) + 40
    start = min(max(x - across / 2, _LEFT), _RIGHT - across)
    return [
        text(16, 32, "guess", fill=MUTED),
        *box(start, 6, across, 52, said, stroke=SELECTED, ink=SELECTED_INK),
        *arrow((x, top - 4), (x, 66), colour=SELECTED),
    ]


def render_head_steps(
    tokens: Sequence[str],
    chosen: int,
    stream,
    queries,
    keys,
    values,
    output,
    *,
    opens: Mapping[str, str] = MappingProxyType({}),
) -> Picture:
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
    opens : mapping of "scores", "weights" and "values" to str
        The titles of the slides that a click on each of them opens.

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
    head = _HeadSteps(tokens, chosen, stream, queries, keys, values)
    body = head.start() + step(head.asks())
    body += step(door(head.multiplies(), opens.get("scores"))) + step(
        door(head.divides(), opens.get("scores"))
    )
    body += (
        step(door(head.weighs(), opens.get("weights")))
        + step(door(head.averages(), opens.get("values")))
        + step(head.adds(output))
    )
    scores, weights, most = head.scores, head.weights, int(head.weights.argmax())
    what = (
        f"One head, for {head.who}. Its query meets the keys of {n} tokens; the dot products are {scores.min():.0f} to {scores.max():.0f}. "
        f"Divided by the root of {size} they are scores, and the softmax makes them weights; {quoted(tokens[most])} gets most, "
        f"{percent(weights[most])}. The values, averaged by the weights, are carried back to {stream.shape[1]} numbers and "
        f"added to the vector of {head.who}."
    )
    return Picture(body, WIDTH, 540, title="One attention head", sentence=what, font_size=FONT)


class _HeadSteps:
    """The steps of `render_head_steps`, from above: each a list of markup."""

    FOOT = 296.0  # of the bars

    def __init__(self, tokens, chosen: int, stream, queries, keys, values):
        self.tokens, self.chosen, self.who = tokens, chosen, quoted(tokens[chosen])
        self.stream, self.query, self.keys, self.values = stream, queries[chosen], keys, values
        self.scores = keys @ self.query
        self.divided = self.scores / np.sqrt(len(self.query))
        weights = np.exp(self.divided - self.divided.max())
        self.weights = weights / weights.sum()
        self.mixed = self.weights @ values
        self.centres, self.width = _columns(len(tokens))
        self.home = self.centres[chosen]

    def _row(self, y: float, vectors, kind: str, edge: str, largest: float) -> list[str]:
        """A strip under each token."""
        return [
            part
            for token, x, vector in zip(self.tokens, self.centres, vectors)
            for part in _strip(vector, x, y, self.width, f"{kind} of {quoted(token)}", largest, edge)
        ]

    def _query(self, x: float) -> list[str]:
        return _strip(
            self.query, x, 136, self.width, f"query of {self.who}", np.abs(self.query).max(), SELECTED
        )

    def _bars(self, numbers, look: str) -> list[str]:
        """A bar for each score, downwards where it is negative; all of them on the scale of the scores before the division."""
        scale, drawn = 92 / max(np.abs(self.scores).max(), 1e-9), []
        for x, number, score, divided in zip(self.centres, numbers, self.scores, self.divided):
            tall = abs(number) * scale
            top = self.FOOT - (tall if number > 0 else 0)
            place = f'x="{coordinate(x - 26)}" y="{coordinate(top)}" width="52" height="{coordinate(tall)}"'
            drawn += _titled(f"{score:.2f}, divided {divided:.2f}", [f"<rect {place} {look}/>"])
            if numbers is self.scores:
                said = f"{score:.0f}".replace("-", "−")
                drawn.append(text(x, top - 18, said, anchor="middle", fill=MUTED))
        return drawn

    def start(self) -> list[str]:
        tokens = _labels(self.tokens, self.centres, self.width, 6, self.chosen)
        vectors = self._row(66, self.stream, "vector", RULE, np.abs(self.stream).max() / 3)
        return [*tokens, _label(76, "vector"), *vectors]

    def asks(self) -> list[str]:
        keys = self._row(104, self.keys, "key", LINE, np.abs(self.keys).max())
        named = [_label(114, "key", LINE), _label(146, "query", SELECTED_INK)]
        return [*named, *_moving(keys, 0, -38), *_moving(self._query(self.home), 0, -70)]

    def multiplies(self) -> list[str]:
        others = [x for i, x in enumerate(self.centres) if i != self.chosen]
        copies = [part for x in others for part in _moving(self._query(x), self.home - x, 0)]
        ghosts = self._bars(
            self.scores, f'fill="none" stroke="{MUTED}" stroke-width="2" stroke-dasharray="5 4"'
        )
        return [*copies, _label(228, "query · key"), *ghosts]

    def divides(self) -> list[str]:
        root = np.sqrt(len(self.query))
        bars = _moving(self._bars(self.divided, f'fill="{INK}"'), 0, 0, tall=root, foot=self.FOOT)
        return [_label(self.FOOT, f"÷ √{len(self.query)}"), *bars]

    def weighs(self) -> list[str]:
        shares = [percent(w) if w >= _LEAST else "0 %" for w in self.weights]
        return [
            _label(334, "softmax"),
            *(text(x, 334, share, anchor="middle") for x, share in zip(self.centres, shares)),
        ]

    def averages(self) -> list[str]:
        lines = [
            _line(x, 384, self.home, 440, weight, _VALUE, 34)
            for x, weight in zip(self.centres, self.weights)
            if weight >= _LEAST
        ]
        values = self._row(360, self.values, "value", _VALUE, np.abs(self.values).max())
        name = f"values averaged for {self.who}"
        mixed = _strip(self.mixed, self.home, 444, self.width, name, np.abs(self.mixed).max(), _VALUE)
        return [
            _label(370, "value", _VALUE),
            *values,
            *lines,
            _label(454, "averaged", _VALUE),
            *_moving(mixed, 0, -60),
        ]

    def adds(self, output) -> list[str]:
        old, update = self.stream[self.chosen], self.mixed @ output
        places = [_LEFT + self.width / 2 + i * (self.width + 250) for i in range(3)]
        drawn = [_label(516, "added")]
        for x, vector, name, edge in zip(
            places,
            (old, update, old + update),
            (f"vector of {self.who}", "the head's update", f"new vector of {self.who}"),
            (SELECTED, _VALUE, SELECTED),
        ):
            drawn += _strip(vector, x, 506, self.width, name, np.abs(old).max() / 3, edge)
        signs = zip(places, places[1:], ("+ carried back", "= new vector"))
        return drawn + [text((a + b) / 2, 516, sign, anchor="middle") for a, b, sign in signs]
