"""Whole maps without their words, small or large; bars of fractions; a board of maps sorted into classes."""

from __future__ import annotations

import base64
import struct
import zlib
from collections.abc import Mapping, Sequence
from dataclasses import replace

import numpy as np

from bertlook_teach.measures import CLASSES, map_scores
from bertlook_teach.views import (
    INK,
    KEY_TITLE,
    MUTED,
    PAPER,
    QUERY_TITLE,
    RULE,
    SEGMENT_A,
    SEGMENT_B,
    Picture,
    checked_attention,
    content,
    coordinate,
    magnitude_colour,
    percent,
    quoted,
    rgb,
    special_tokens,
    text,
    upright,
)

from ...analyses.anatomy import Fractions
from ..drawing.figure_pictures import figure_picture
from ..drawing.figures import legend_outside, styled_figure
from ..drawing.marks import marks_of
from ..drawing.text_table import TextTable

THRESHOLD_STEPS = 32  # shades of a map; the same number for every map, the darkest is its largest weight

SHORT = ("vertical", "diagonal", "vertical + diagonal", "block", "hetero-geneous")


def shades(weights, largest: float | None = None) -> np.ndarray:
    """Each weight as a step from 0 to 32: the square root of its share of the map's largest weight, or of the one given.

    Maps are looked at for their shape here, not for their numbers. On one common scale a block of twenty tokens, with .05 in each
    cell, would hardly be seen beside a head that looks at one token.
    """
    weights = np.asarray(weights, dtype=float)
    shares = np.minimum(weights / (weights.max() if largest is None else largest), 1)
    return np.rint(np.sqrt(shares) * THRESHOLD_STEPS).astype(np.uint8)


def map_address(weights, largest: float | None = None) -> str:
    """One map as the address of a picture with one pixel for each cell, the same bytes on every machine.

    Uncompressed: compressors of different versions give different bytes, and a map of 40 tokens is only 2 kB.
    """
    steps = shades(weights, largest)
    height, width = steps.shape
    colours = b"".join(
        bytes(rgb(magnitude_colour(step / THRESHOLD_STEPS))) for step in range(THRESHOLD_STEPS + 1)
    )
    rows = b"".join(b"\0" + row.tobytes() for row in steps)
    blocks = [rows[i : i + 65535] for i in range(0, len(rows), 65535)]
    stored = b"\x78\x01" + b"".join(
        struct.pack("<BHH", i == len(blocks) - 1, len(block), 0xFFFF ^ len(block)) + block
        for i, block in enumerate(blocks)
    )
    stored += struct.pack(">I", zlib.adler32(rows))
    parts = [(b"IHDR", struct.pack(">IIBBBBB", width, height, 8, 3, 0, 0, 0)), (b"PLTE", colours)]
    parts += [(b"IDAT", stored), (b"IEND", b"")]
    image = b"\x89PNG\r\n\x1a\n" + b"".join(
        struct.pack(">I", len(data)) + name + data + struct.pack(">I", zlib.crc32(name + data))
        for name, data in parts
    )
    return "data:image/png;base64," + base64.b64encode(image).decode("ascii")


def map_thumbnail(weights, name: str, size: float = 56) -> str:
    """One map as a small ``<img>``; ``name`` is its alternative text and its tooltip."""
    return (
        f'<img src="{map_address(weights)}" alt="{content(name)}" title="{content(name)}" width="{coordinate(size)}" '
        f'height="{coordinate(size)}" style="width:max({coordinate(size)}px,5vw);height:auto;image-rendering:pixelated;border:1px solid {RULE};margin:2px">'
    )  # on a larger screen it grows


def describe_map(weights, tokens: Sequence[str], segment_ids: Sequence[int] | None = None) -> str:
    """What there is to be seen in a map, in numbers and without a name for it: for those who do not see it.

    >>> describe_map(np.full((2, 2), 0.5), ["[CLS]", "[SEP]"]).partition(".")[0]
    'Most looked at: [CLS] with 50 % and [SEP] with 50 % of all attention'
    """
    weights, tokens = checked_attention(weights, tokens)
    columns = weights.mean(axis=0)
    top = np.argsort(-columns, kind="stable")[:2]
    named = " and ".join(f"{quoted(tokens[i])} with {percent(columns[i])}" for i in top)
    scores = map_scores(weights[None, None], segment_ids)
    back, ahead, itself = (
        percent(getattr(scores, name).item()) for name in ("previous", "next", "self_diagonal")
    )
    said = [
        f"Most looked at: {named} of all attention",
        f"To the previous token {back}, to the next {ahead}, to itself {itself}",
    ]
    sizes = np.unique(segment_ids if segment_ids is not None else [0], return_counts=True)[1]
    if len(sizes) > 1:
        chance = float(((sizes / len(tokens)) ** 2).sum())
        said.append(
            f"Inside its own text {percent(scores.block.item() + chance)}, where uniform attention would keep "
            f"{percent(chance)}; spread over it {percent(scores.spread.item())} of the most that is possible"
        )
    else:
        said.append("One text")
    said.append(f"The largest single weight is {percent(weights.max())}")
    return ". ".join(said) + "."


def render_map(
    weights,
    tokens: Sequence[str],
    *,
    segment_ids: Sequence[int] | None = None,
    special: Sequence[bool] | None = None,
    title: str = "",
    sentence: str | None = None,
    size: float = 330,
    font_size: float = 24,
) -> Picture:
    """Draw one map for its shape: one pixel for each cell, darkest is its largest weight, only special tokens are named.

    Parameters
    ----------
    weights : array of shape (query, key)
    tokens : sequence of str
    segment_ids : sequence of int, optional
        Each segment gets its own stripe, solid or dashed.
    special : sequence of bool, optional
    sentence : str, optional
        For those who do not see it; by default `describe_map`.
    size : float
        Side of the map in pixels.

    Returns
    -------
    Picture

    Raises
    ------
    ValueError
        If one head's weights cannot be drawn.
    """
    weights, tokens = checked_attention(weights, tokens)
    n, em, side = len(tokens), float(font_size), float(size)
    special = special_tokens(tokens, special)
    left, top, cell = 6.4 * em, 5.2 * em, side / n
    body = [
        text(0.3 * em, 0.9 * em, title, extra=' font-weight="600"'),
        text(left, 2.4 * em, KEY_TITLE, fill=MUTED),
        upright(1.0 * em, top + side / 2, QUERY_TITLE),
        (
            f'<image x="{coordinate(left)}" y="{coordinate(top)}" width="{coordinate(side)}" height="{coordinate(side)}" '
            f'preserveAspectRatio="none" style="image-rendering:pixelated" href="{map_address(weights)}"/>'
        ),
        (
            f'<rect x="{coordinate(left)}" y="{coordinate(top)}" width="{coordinate(side)}" height="{coordinate(side)}" '
            f'fill="none" stroke="{RULE}"/>'
        ),
    ]
    last = -1e9
    for i, token in enumerate(tokens):
        if not special[i]:
            continue
        centre = (i + 0.5) * cell
        across = left + centre
        if centre - last < 1.1 * em:  # two names would lie on each other
            continue
        last = centre
        body.append(text(left - 0.6 * em, top + centre, token, anchor="end"))
        anchor = "start" if centre < 2 * em else "end" if centre > side - 2 * em else "middle"
        shift = {"start": -0.5 * cell, "end": 0.5 * cell, "middle": 0}[anchor]
        body.append(text(across + shift, top - 0.9 * em, token, anchor=anchor))
    if segment_ids is not None and len(set(segment_ids)) > 1:
        start = 0
        for i in range(1, n + 1):
            if i < n and segment_ids[i] == segment_ids[start]:
                continue
            first = segment_ids[start] == segment_ids[0]
            colour, dash = (
                (SEGMENT_A, "") if first else (SEGMENT_B, f' stroke-dasharray="{coordinate(0.25 * em)}"')
            )
            a, b = start * cell + 1, i * cell - 1
            body.append(
                f'<path d="M{coordinate(left - 0.25 * em)} {coordinate(top + a)}V{coordinate(top + b)}'
                f'M{coordinate(left + a)} {coordinate(top - 0.25 * em)}H{coordinate(left + b)}" fill="none" '
                f'stroke="{colour}" stroke-width="{coordinate(0.18 * em)}"{dash}/>'
            )
            start = i
    said = describe_map(weights, tokens, segment_ids) if sentence is None else sentence
    width, height = left + side + 1.0 * em, top + side + 0.4 * em
    return Picture(body, width, height, title=title or "Attention map", sentence=said, font_size=em)


def _short(value: float) -> str:
    text = f"{value:.2f}".removeprefix("-")  # -0.00 is nothing
    return text.removeprefix("0") if text.startswith("0.") else text


def _means(values):
    return values.mean if isinstance(values, Fractions) else values


def _draw_bars(axes, name: str, values, mark, k: int, thick: float) -> list[str]:
    """The bars of one series, each with its number and interval; the numbers."""
    means, ends = _means(values), (values.low, values.high) if isinstance(values, Fractions) else ()
    said = []
    places = np.arange(len(CLASSES)) + (k + 0.5) * thick - 0.42
    paint = {
        "facecolor": mark.colour if mark.filled else PAPER,
        "edgecolor": mark.colour,
        "linewidth": 2,
    }
    axes.barh(places, means, 0.76 * thick, label=name, **paint)
    for c, (y, mean) in enumerate(zip(places, means)):
        number, far = _short(mean), mean
        if ends:
            low, far = (float(end[c]) for end in ends)
            number += f" [{_short(low)}, {_short(far)}]"
            axes.plot([low, far], [y, y], "|-", color=INK, linewidth=1.5, label="_interval")
        axes.annotate(number, (far, y), (8, 0), textcoords="offset points", va="center")
        said.append(number)
    return said


def fraction_bars(
    series: Mapping[str, object],
    *,
    ranges: Mapping[str, tuple[Sequence[float], Sequence[float]]] | None = None,
    sentence: str | None = None,
    title: str = "",
) -> Picture:
    """One row a class, one bar a series, its number and interval beside it; ranges of other people's numbers as brackets.

    Parameters
    ----------
    series : mapping of name to Fractions, or to an array of shape (class,)
        At most three, or the bars become thin.
    ranges : mapping of name to (lows, highs), optional
        Drawn as an open bracket per class. They are not bars: what they were measured on is not what the bars were.
    """
    ranges = ranges or {}
    bars = len(series) + len(ranges)
    if not 1 <= bars <= 4:
        raise ValueError(f"one to four series can be drawn; got {len(series)} and {len(ranges)} ranges.")
    thick, said = 0.84 / bars, {name: [] for name in (*series, *ranges)}
    with styled_figure((9.8, 0.5 + len(CLASSES) * (0.27 * bars + 0.12))) as (figure, (axes,)):
        for k, ((name, values), mark) in enumerate(zip(series.items(), marks_of(series))):
            said[name] = _draw_bars(axes, name, values, mark, k, thick)
        for k, (name, (lows, highs)) in enumerate(ranges.items(), len(series)):
            for c, (low, high) in enumerate(zip(lows, highs)):
                y, number = c + (k + 0.5) * thick - 0.42, f"{_short(low)} to {_short(high)}"
                look = {"color": INK, "linewidth": 2, "markersize": 9, "markeredgewidth": 2}
                axes.plot([low, high], [y, y], "|--", label=name if c == 0 else "_range", **look)
                axes.annotate(number, (high, y), (8, 0), textcoords="offset points", va="center")
                said[name].append(number)
        axes.set_yticks(range(len(CLASSES)), CLASSES)
        axes.set(xlim=(0, 1.45), xticks=[], ylim=(len(CLASSES) - 0.5, -0.5))
        axes.tick_params(length=0)
        axes.spines["bottom"].set_visible(False)
        axes.spines["left"].set_color(MUTED)
        if title:
            axes.set_title(title, loc="left", fontweight="bold", fontsize=18)
    legend_outside(figure, axes, "outside upper left")
    numbers = " ".join(
        f"{name}: {', '.join(f'{cls} {number}' for cls, number in zip(CLASSES, found))}."
        for name, found in said.items()
    )
    # The picture's own description holds every number; what stands beneath it, the largest.
    if sentence is None:
        tops = {name: int(np.argmax(_means(values))) for name, values in series.items()}
        largest = [f"{name} {CLASSES[top]} {said[name][top]}" for name, top in tops.items()]
        sentence = f"Most maps: {'; '.join(largest)}."
    table = TextTable(["class", *said], [list(row) for row in zip(CLASSES, *said.values())])
    return replace(figure_picture(figure, f"{sentence} {numbers}", (table,)), caption=sentence)


# --- a board of maps ------------------------------------------------------------------------------------
def render_board(
    thumbnails: Sequence[tuple[str, str]], codes: Sequence[int], shares: Sequence[float], *, size: float = 56
) -> str:
    """Thumbnails sorted into five columns, each headed by its class and that class's share of all maps.

    Parameters
    ----------
    thumbnails : sequence of (img, name)
        From `map_thumbnail`, with a short name for the list that a screen reader gets.
    codes : sequence of int
        The class of each, an index into ``CLASSES``.
    shares : sequence of float
        Share of all maps in each class, not only of those shown.
    """
    from ..results.shares import FILLS  # here, or each would need the other first

    columns = []  # no <section>: on a slide, the slideshow would take it for another slide
    for c, name in enumerate(CLASSES):
        inside = [img for (img, _), code in zip(thumbnails, codes) if code == c]
        label = SHORT[c].replace("-", "&shy;")
        columns.append(
            f'<div role="group" aria-label="{content(name)}: {shares[c]:.3f} of all maps, {len(inside)} of those shown" '
            f'style="flex:1 1 0;min-width:0;border-top:4px solid {FILLS[c]};padding-top:.2em">'
            f'<div style="font-weight:600;line-height:1.1;min-height:2.2em">{label}</div><div>{shares[c]:.3f}</div>'
            f'<div style="display:flex;flex-wrap:wrap;align-content:flex-start">{"".join(inside)}</div></div>'
        )
    return (
        f'<div class="bertlook-board" style="display:flex;gap:.5em;color:{INK};min-height:{coordinate(4.4 * size)}px;'
        'font-family:var(--slide-font,var(--jp-content-font-family,inherit));font-size:var(--jp-content-font-size1,1em);line-height:1.3">'
        f"{''.join(columns)}</div>"
    )
