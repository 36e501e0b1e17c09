"""One point of a training run: a map of all heads, the chosen head's curve beside it, and a sentence about both."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np

from bertlook_teach.model import head_label
from bertlook_teach.views import (
    LINE,
    MUTED,
    RULE,
    SELECTED,
    Picture,
    coordinate,
    number,
    render_head_map,
    text,
    value_range,
)

from ...analyses.anatomy import Film, half_way, measure_label, tokens_in_words
from ...syllabus import worded
from ..drawing.text_table import TextTable


def film_range(film: Film, measure: str) -> tuple[float, float]:
    """Values drawn palest and darkest: 0 and the largest of all checkpoints, so that all of them share one scale."""
    values = film.values[measure]
    return value_range(values[np.isfinite(values)][None])


def describe_film(film: Film, measure: str, point: int, head: tuple[int, int]) -> str:
    """The best head at this point, the chosen one there, its baseline, and when it came half of its way."""
    values = film.values[measure][point]
    best = divmod(int(np.nanargmax(values)), values.shape[1])
    curve = film.values[measure][:, head[0], head[1]]
    end, last = number(curve[-1]), point == len(curve) - 1
    here = {"tokens": tokens_in_words(film.tokens[point]), "measure": measure_label(measure)}
    said = [worded("best head", **here, head=head_label(*best), value=number(values[best]))]
    if not last or best != tuple(head):
        own = {"head": head_label(*head), "end": end}
        if not np.isfinite(curve[point]):
            said.append(worded("not there", **own))
        elif last:
            said.append(worded("at its end", **own))
        else:
            said.append(worded("on its way", **own, value=number(curve[point])))
    half = half_way(curve)
    if half is None:
        said.append(worded("no way"))
    else:
        said.append(worded("half way", tokens=tokens_in_words(film.tokens[half])))
    if baseline := film.baselines.get(measure):
        name = f"{baseline.name[0].upper()}{baseline.name[1:]}"
        said.append(worded("baseline", name=name, value=number(baseline.value)))
    return " ".join(said)


def film_table(film: Film, measure: str, head: tuple[int, int]) -> TextTable:
    """The chosen head's curve in numbers, a row a checkpoint, beside the best of all heads there."""
    rows = []
    for tokens, values in zip(film.tokens, film.values[measure]):
        best = divmod(int(np.nanargmax(values)), values.shape[1])
        here = number(values[head]) if np.isfinite(values[head]) else "-"
        rows.append([tokens_in_words(tokens), here, f"{number(values[best])} ({head_label(*best)})"])
    return TextTable(["tokens read", f"head {head_label(*head)}", "best head"], rows, measure_label(measure))


def _places(tokens: Sequence[int], left: float, across: float) -> np.ndarray:
    """Where each point in training stands, on a scale of logarithms."""
    ticks = np.log(tokens)
    return left + (ticks - ticks[0]) / (ticks[-1] - ticks[0]) * across


def _ends_of_scale(low: float, high: float, left: float, across: float, y: Callable, em: float) -> list[str]:
    parts = []
    for value in (low, high):
        parts.append(
            f'<path d="M{coordinate(left)} {coordinate(y(value))}h{coordinate(across)}" stroke="{RULE}"/>'
        )
        parts.append(text(left - 0.4 * em, y(value), number(value), anchor="end", fill=MUTED))
    return parts


def _short(tokens: int) -> str:
    words = tokens_in_words(tokens)
    for word, letter in (("thousand", "k"), ("million", "M"), ("billion", "G")):
        words = words.replace(word, letter)
    return words


def _tokens_below(tokens: Sequence[int], xs, bottom: float, em: float) -> list[str]:
    """The ends of the scale, and each power of ten that has room between them."""
    left, right, y = xs[0], xs[-1], bottom + 1.0 * em
    parts = [
        text(left, y, _short(tokens[0]), fill=MUTED),
        text(right, y, _short(tokens[-1]), anchor="end", fill=MUTED),
    ]
    for power in range(1, 13):
        x = np.interp(np.log(10**power), np.log(tokens), xs)
        if left + 3 * em < x < right - 4 * em:
            parts.append(
                f'<path d="M{coordinate(x)} {coordinate(bottom)}v{coordinate(0.4 * em)}" stroke="{MUTED}"/>'
            )
            parts.append(text(x, y, _short(10**power).replace(".0", ""), anchor="middle", fill=MUTED))
    title = "tokens read (log scale)"
    return [*parts, text((left + right) / 2, bottom + 2.3 * em, title, anchor="middle", fill=MUTED)]


def render_film(
    film: Film, measure: str, point: int = -1, *, head: tuple[int, int] = (0, 0), font_size: float = 20
) -> Picture:
    """Draw one checkpoint: the map of all heads, and the curves over training with this checkpoint marked.

    Parameters
    ----------
    film : Film
    measure : str
    point : int
        Which checkpoint; -1 is the last.
    head : (int, int)
        Layer and head chosen, counted from 0.
    font_size : float
        In pixels.

    Returns
    -------
    Picture
        The same input gives the same bytes.
    """
    values, em = film.values[measure], float(font_size)
    point = range(len(film.tokens))[point]
    low, high = film_range(film, measure)
    baseline = film.baselines.get(measure)
    grid = render_head_map(
        values[point],
        title=measure_label(measure),
        vmin=low,
        vmax=high,
        selected=head,
        absent=np.isnan(values[point]),
        font_size=0.8 * em,
    )
    high = max(high, baseline.value if baseline else high)
    scale = min(1.0, 24 * em / grid.width)
    wide, tall = grid.width * scale, grid.height * scale
    across, down = 22 * em, max(13 * em, tall - 5 * em)
    left, top = wide + 4 * em, (3.8 if baseline else 2.6) * em
    xs = _places(film.tokens, left, across)

    def y(value):
        return top + (1 - (value - low) / (high - low)) * down

    def path(curve, colour, width, extra=""):
        places = "L".join(f"{coordinate(a)} {coordinate(y(b))}" for a, b in zip(xs, curve) if np.isfinite(b))
        return f'<path d="M{places}" fill="none" stroke="{colour}" stroke-width="{width}"{extra}/>'

    body = [
        f'<g transform="scale({scale:.4f})" font-size="{coordinate(grid.font_size)}">',
        *grid.body,
        "</g>",
        text(left, 1.1 * em, f"head {head_label(*head)}; other heads grey", extra=' font-weight="600"'),
    ]
    body += _ends_of_scale(low, high, left, across, y, em)
    for layer, other in np.ndindex(values.shape[1:]):
        if (layer, other) != tuple(head):
            body.append(path(values[:, layer, other], MUTED, 1, ' opacity="0.3"'))
    if baseline:
        level = f"M{coordinate(left)} {coordinate(y(baseline.value))}h{coordinate(across)}"
        body.append(f'<path d="{level}" stroke="{MUTED}" stroke-width="2" stroke-dasharray="6 5"/>')
        body.append(text(left, 2.3 * em, f"dashed: {baseline.name}", fill=MUTED))
    curve = values[:, head[0], head[1]]
    body.append(path(curve, LINE, 3))
    body.append(
        f'<path d="M{coordinate(xs[point])} {coordinate(top)}v{coordinate(down)}" stroke="{SELECTED}" stroke-width="2"/>'
    )
    if np.isfinite(curve[point]):
        cx, cy = coordinate(xs[point]), coordinate(y(curve[point]))
        body.append(f'<circle cx="{cx}" cy="{cy}" r="{coordinate(0.34 * em)}" fill="{SELECTED}"/>')
    body += _tokens_below(film.tokens, xs, top + down, em)
    sentence = describe_film(film, measure, point, head)
    height = max(tall, top + down + 3.3 * em)
    title = f"After {tokens_in_words(film.tokens[point])} tokens"
    return Picture(body, left + across + em, height, title=title, sentence=sentence, font_size=em)
