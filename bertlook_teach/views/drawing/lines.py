"""One head's attention as lines from each query to the keys it looks at, between two columns or two rows of tokens."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import zip_longest
from typing import NamedTuple

from .attention import (
    KEY_TITLE,
    QUERY_TITLE,
    OneHead,
    difference_key,
    heading,
    in_steps,
    named,
    shortened_labels,
    stripe,
)
from .palette import INK, LESS, LINE, MUTED
from .pictures import Picture
from .svg import SHADES, coordinate, text, text_width


def render_attention_lines(
    weights,
    tokens: Sequence[str],
    *,
    direction: str = "columns",
    width: float = 0,
    font_size: float = 16,
    **picture,
) -> Picture:
    """Draw one head's attention as lines from each query to the keys it looks at.

    Width and darkness of a line grow with its weight. The same input gives the same bytes.

    Parameters
    ----------
    weights : array of shape (query, key)
        Attention weights, shares between 0 and 1.
    tokens : sequence of str
        One per position. They are escaped; long ones are cut, and whole in their tooltip.
    title : str, optional
        Short name of the picture; by default the head's.
    head : (int, int), optional
        Zero-based layer and head, printed as "3-1".
    special : sequence of bool, optional
        Which tokens the tokenizer added. By default, those written like [CLS] or </s>.
    hide_special : bool
        Leave special tokens out. Nothing is renormalised; the sentence says how much weight they hold.
    segment_ids : sequence of int, optional
        0 and 1 for the two texts of a pair; each gets its own stripe, solid or dashed.
    query : int, optional
        Show what this token alone looks at, with its weights in numbers.
    direction : {"columns", "rows"}
        Queries left and keys right, or queries on top and keys below (for a short sentence).
    width : float
        Of "rows", in units of the type size: tokens of a short sentence stand further apart until the picture is as wide.
    unit : str
        What one position is called in the sentence: "token" or "word".
    norms : array of shape (query, key), optional
        Weighted norms, drawn and described in place of the weights: weight times the length of the key's
        transformed vector.
    longest : float, optional
        The length that is drawn at full strength. With the longest vector of the head, a norm is drawn as strongly
        as its weight or more faintly, never more strongly. By default the largest of ``norms``. For a difference: the
        change drawn at full strength.
    difference : bool
        ``weights`` are changes, after minus before: more is drawn blue and solid, less brown and dashed.
    font_size : float
        In pixels. On a slide 24 or more.

    Raises
    ------
    ValueError
        If there are no tokens, the shapes do not match, or the weights hold NaN, a negative number, a number
        above 1, or a row of zeros.

    Examples
    --------
    >>> render_attention_lines([[.1, .9], [.2, .8]], ["the", "cat"], head=(2, 0))
    Picture: Head 3-1: 90 % of “the” goes to “cat”. On average, 45 % goes to the token itself.
    """
    if direction not in ("columns", "rows"):
        raise ValueError(f"direction is 'columns' or 'rows'; got {direction!r}.")
    view = OneHead(weights=weights, tokens=tokens, **picture)
    em, n = float(font_size), max(len(view.tokens), len(view.keys))
    floor = min(0.01, 0.5 / len(view.keys))  # lighter lines are not drawn
    labels = shortened_labels(view.labels, em), shortened_labels(view.key_labels, em)
    widths = [[text_width(label, em) for label in side] for side in labels]
    at = _in_columns(widths, n, em) if direction == "columns" else _in_rows(widths, n, width, em)
    body = [heading(view.title, em), *at.titles]
    width, height = max(at.width, text_width(view.title, em) * 1.1 + 2.4 * em), at.height
    if view.difference:
        body.append(difference_key(view, ("solid", "dashed"), em, height + 0.6 * em))
        height, width = height + 1.6 * em, max(width, 34 * em)
    body += _curves(view, at.start, at.end, floor, em, vertical=direction == "rows")
    if view.segments is not None:
        for side in at.stripes:
            body += [stripe(*spot, segment, em) for spot, segment in zip(side, view.segments)]
    body += _tokens(view, labels, at.places)
    if view.query is not None:
        for j, (x, y, anchor) in enumerate(at.numbers[: len(view.keys)]):
            if abs(view.weights[view.query, j]) * view.full >= 0.005:
                body.append(text(x, y, view.amount(view.query, j), anchor=anchor, fill=MUTED))
    return Picture(body, width, height, title=view.title, sentence=view.sentence, font_size=em)


class _Layout(NamedTuple):
    """Where the parts of lines stand; of each pair the queries' side first."""

    titles: list[str]
    start: list[tuple[float, float]]
    end: list[tuple[float, float]]
    places: tuple[list, list]  # of tokens: x, y, anchor
    stripes: tuple[list, list]  # x, y, across, down
    numbers: list[tuple[float, float, str]]  # beside the keys
    width: float
    height: float


def _in_columns(widths: Sequence[Sequence[float]], n: int, em: float) -> _Layout:
    """Queries left, keys right."""
    pitch, widest, top = 1.5 * em, max(*widths[0], *widths[1]), 3.6 * em
    left = 1.2 * em + widest
    right = left + min(max(10, 0.8 * n), 13) * em  # narrow for few tokens: their type is larger then
    across = max(right + widest + 4.2 * em, text_width(QUERY_TITLE + KEY_TITLE, em) + 4 * em)
    centres = [top + (i + 0.5) * pitch for i in range(n)]
    gap = 0.3 * em
    return _Layout(
        [
            text(1.2 * em, 2.6 * em, QUERY_TITLE, fill=MUTED),
            text(across - 1.2 * em, 2.6 * em, KEY_TITLE, anchor="end", fill=MUTED),
        ],
        [(left + gap, y) for y in centres],
        [(right - gap, y) for y in centres],
        ([(left - gap, y, "end") for y in centres], [(right + gap, y, "start") for y in centres]),
        (
            [(left + 0.05 * em, y - pitch / 2, 0, pitch) for y in centres],
            [(right - 0.05 * em, y - pitch / 2, 0, pitch) for y in centres],
        ),
        [(right + width + 0.9 * em, y, "start") for width, y in zip(widths[1], centres)],
        across,
        top + n * pitch + 0.6 * em,
    )


def _in_rows(widths: Sequence[Sequence[float]], n: int, width: float, em: float) -> _Layout:
    """Queries above, keys below, further apart until the picture is so many em wide."""
    spans = [max(*pair, 1.8 * em) + 0.9 * em for pair in zip_longest(*widths, fillvalue=0)]
    more = max(0.0, (width - 2.4) * em - sum(spans)) / n
    spans = [span + more for span in spans]
    centres = [1.2 * em + sum(spans[:i]) + spans[i] / 2 for i in range(n)]
    above, below, gap = 4.4 * em, 12.4 * em, 0.8 * em
    return _Layout(
        [
            text(1.2 * em, 2.9 * em, QUERY_TITLE, fill=MUTED),
            text(1.2 * em, 14.6 * em, KEY_TITLE, fill=MUTED),
        ],
        [(x, above + gap) for x in centres],
        [(x, below - gap) for x in centres],
        ([(x, above, "middle") for x in centres], [(x, below, "middle") for x in centres]),
        (
            [(x - s / 2, above + 0.7 * em, s, 0) for x, s in zip(centres, spans)],
            [(x - s / 2, below - 0.7 * em, s, 0) for x, s in zip(centres, spans)],
        ),
        [(x, below + 1.15 * em, "middle") for x in centres],
        max(centres[-1] + spans[-1] / 2 + 1.2 * em, 16 * em),
        15.6 * em,
    )


def _tokens(view: OneHead, labels: tuple, places: tuple) -> list[str]:
    """The tokens of both sides, whole in their tooltips; a query that is shown alone is bold among pale ones."""
    parts = []
    for side, spots, names, whole in zip(("query", "key"), places, labels, (view.tokens, view.keys)):
        for position, (label, (x, y, anchor)) in enumerate(zip(names, spots)):
            own = side == "query" and position == view.query
            fill = INK if own or side == "key" or view.query is None else MUTED
            bold = ' font-weight="700"' if own else ""
            parts.append(named(whole, position, text(x, y, label, anchor=anchor, fill=fill, extra=bold)))
    return parts


def _curves(view: OneHead, start, end, floor: float, em: float, *, vertical: bool) -> list[str]:
    """Lines of equal strength share one path, faint ones below strong ones."""
    paths: dict[tuple[float, bool], list[str]] = {}
    for i, (x0, y0) in enumerate(start[: len(view.tokens)]):
        if view.query is not None and i != view.query:
            continue
        for j, (x1, y1) in enumerate(end[: len(view.keys)]):
            weight = view.weights[i, j]
            if abs(weight) < floor:
                continue
            level = max(in_steps(abs(weight)), 0.5 / SHADES)
            if vertical:
                middle = coordinate((y0 + y1) / 2)
                bend = (
                    f"C{coordinate(x0)} {middle} {coordinate(x1)} {middle} {coordinate(x1)} {coordinate(y1)}"
                )
            else:
                middle = coordinate((x0 + x1) / 2)
                bend = (
                    f"C{middle} {coordinate(y0)} {middle} {coordinate(y1)} {coordinate(x1)} {coordinate(y1)}"
                )
            paths.setdefault((level, bool(weight < 0)), []).append(
                f"M{coordinate(x0)} {coordinate(y0)}{bend}"
            )
    # In em, a line is a hair for nothing, a third of a letter for all.
    dash = f' stroke-dasharray="{coordinate(0.5 * em)} {coordinate(0.3 * em)}"'
    return [
        f'<path d="{"".join(paths[level, less])}" fill="none" stroke="{LESS if less else LINE}" '
        f'stroke-width="{coordinate((0.06 + 0.3 * level) * em)}" stroke-opacity="{line_opacity(level):.2f}"'
        f"{dash if less else ''}/>"
        for level, less in sorted(paths)
    ]


def line_opacity(weight: float) -> float:
    """Darkness of a line. The square root lets a weight of 0.1 be seen on a projector; the order stays."""
    return min(1.0, 0.04 + 0.9 * weight**0.5)
