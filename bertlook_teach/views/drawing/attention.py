"""One head's attention as a picture: lines between two columns of tokens, or a grid."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import zip_longest

import numpy as np

from ...model import head_label
from .difference import (
    checked_difference,
    describe_difference,
    describe_token_difference,
    points,
    signed_points,
)
from .grid import Grid
from .inputs import checked_attention, special_tokens
from .norms import checked_norms, describe_norms, describe_token_norms
from .palette import (
    INK,
    LESS,
    LINE,
    MUTED,
    SEGMENT_A,
    SEGMENT_B,
    difference_colour,
    magnitude_colour,
    text_colour,
)
from .pictures import Picture
from .sentences import (
    TokensInView,
    describe_attention,
    describe_token,
    number,
    percent,
    short_number,
    visible_token,
)
from .svg import SHADES, content, coordinate, shortened, text, text_width

QUERY_TITLE = "query (looks)"

KEY_TITLE = "key (is looked at)"

_LONGEST_TOKEN = 10.0  # em; longer tokens are cut with an ellipsis


def render_attention_lines(
    weights,
    tokens: Sequence[str],
    *,
    direction: str = "columns",
    width: float = 0,
    min_weight: float | None = None,
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
    min_weight : float, optional
        Lines below it are not drawn. By default 0.01, and less once there are more than 50 tokens.
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
    view = _View(weights=weights, tokens=tokens, **picture)
    em, n = float(font_size), max(len(view.tokens), len(view.keys))
    floor = min(0.01, 0.5 / len(view.keys)) if min_weight is None else min_weight
    labels = _shortened(view.labels, em), _shortened(view.key_labels, em)
    widths = [[text_width(label, em) for label in side] for side in labels]
    body: list[str] = []
    if direction == "columns":
        pitch, widest, top = 1.5 * em, max(*widths[0], *widths[1], text_width(KEY_TITLE, em)), 3.6 * em
        left, right = 1.2 * em + widest, 1.2 * em + widest + 13 * em
        whole, height = right + widest + 4.2 * em, top + n * pitch + 0.6 * em
        centres = [top + (i + 0.5) * pitch for i in range(n)]
        gap = 0.3 * em
        body += [
            _heading(view.title, em),
            text(left, 2.6 * em, QUERY_TITLE, anchor="end", fill=MUTED),
            text(right, 2.6 * em, KEY_TITLE, fill=MUTED),
        ]
        start, end = [(left + gap, y) for y in centres], [(right - gap, y) for y in centres]
        places = (
            [(left - 0.3 * em, y, "end") for y in centres],
            [(right + 0.3 * em, y, "start") for y in centres],
        )
        stripe = (
            [(left + 0.05 * em, y - pitch / 2, 0, pitch) for y in centres],
            [(right - 0.05 * em, y - pitch / 2, 0, pitch) for y in centres],
        )
        number_at = [(right + width + 0.9 * em, y, "start") for width, y in zip(widths[1], centres)]
    else:
        wider = [max(pair) for pair in zip_longest(*widths, fillvalue=0)]
        spans = [max(w, 1.8 * em) + 0.9 * em for w in wider]
        more = max(0.0, (width - 2.4) * em - sum(spans)) / n
        spans = [span + more for span in spans]
        centres = [1.2 * em + sum(spans[:i]) + spans[i] / 2 for i in range(n)]
        whole = max(centres[-1] + spans[-1] / 2 + 1.2 * em, 16 * em)
        above, below, height = 4.4 * em, 12.4 * em, 15.6 * em
        gap = 0.8 * em
        body += [
            _heading(view.title, em),
            text(1.2 * em, 2.9 * em, QUERY_TITLE, fill=MUTED),
            text(1.2 * em, 14.6 * em, KEY_TITLE, fill=MUTED),
        ]
        start, end = [(x, above + gap) for x in centres], [(x, below - gap) for x in centres]
        places = [(x, above, "middle") for x in centres], [(x, below, "middle") for x in centres]
        stripe = (
            [(x - s / 2, above + 0.7 * em, s, 0) for x, s in zip(centres, spans)],
            [(x - s / 2, below - 0.7 * em, s, 0) for x, s in zip(centres, spans)],
        )
        number_at = [(centres[j], below + 1.15 * em, "middle") for j in range(n)]
    width = max(whole, text_width(view.title, em) * 1.1 + 2.4 * em)
    if view.difference:
        body.append(_legend(view, ("solid", "dashed"), em, height + 0.6 * em))
        height, width = height + 1.6 * em, max(width, 34 * em)
    body += _curves(view, start, end, floor, em, vertical=direction == "rows")
    if view.segments is not None:
        for side in stripe:
            body += [_stripe(*spot, segment, em) for spot, segment in zip(side, view.segments)]
    for side, spots, names, whole_names in zip(("query", "key"), places, labels, (view.tokens, view.keys)):
        for position, (label, (x, y, anchor)) in enumerate(zip(names, spots)):
            lit = view.query is None or side == "key" or position == view.query
            bold = ' font-weight="700"' if side == "query" and position == view.query else ""
            body.append(
                f"<g><title>{content(whole_names[position])}</title>"
                f"{text(x, y, label, anchor=anchor, fill=INK if lit else MUTED, extra=bold)}</g>"
            )
    if view.query is not None:
        body += [
            text(*number_at[j][:2], view.amount(view.query, j), anchor=number_at[j][2], fill=MUTED)
            for j in range(len(view.keys))
            if abs(view.weights[view.query, j]) * view.full >= 0.005
        ]
    return Picture(body, width, height, title=view.title, sentence=view.sentence, font_size=em)


def render_attention_grid(
    weights,
    tokens: Sequence[str],
    *,
    numbers: bool | None = None,
    font_size: float = 16,
    **picture,
) -> Picture:
    """Draw one head's attention as a grid: a row per query, a column per key, darker for more weight.

    A head that looks back is dark just below the diagonal. In a difference more is blue and less is brown, larger changes with
    their sign in the cell. Parameters as in `render_attention_lines`, and:

    numbers : bool, optional
        Write each weight into its cell as per cent; by default up to 12 tokens.

    Examples
    --------
    >>> svg = render_attention_grid([[.1, .9], [.2, .8]], ["the", "cat"]).svg
    >>> "query (looks)" in svg and "key (is looked at)" in svg
    True
    """
    view = _View(weights=weights, tokens=tokens, **picture)
    em, rows, columns = float(font_size), len(view.tokens), len(view.keys)
    n = max(rows, columns)
    labels, key_labels = _shortened(view.labels, em), _shortened(view.key_labels, em)
    widest = max(*(text_width(label, em) for label in labels + key_labels), 2 * em)
    numbers = n <= 12 if numbers is None else numbers
    cell = 1.9 * em if numbers else 1.5 * em if n <= 32 else max(6.0, 48 * em / n)
    every = 1 if cell >= em else int(np.ceil(em / cell))  # label only so many that they do not overlap
    left, top = 3.2 * em + widest, 4.2 * em + widest * 0.72
    grid = Grid(left, top, rows, columns, cell, cell, em)
    width = max(grid.right + widest * 0.72 + 1.2 * em, text_width(view.title, em) * 1.1 + 2.4 * em)
    height = grid.bottom + 0.9 * em
    colour = difference_colour if view.difference else magnitude_colour
    body = [
        _heading(view.title, em),
        *grid.named((KEY_TITLE, QUERY_TITLE), 1.3 * em, 2.6 * em),
        *grid.shaded(np.rint(view.weights * SHADES), lambda step: colour(step / SHADES)),
        grid.border(),
    ]
    for i in range(n):
        centre = (i + 0.5) * cell
        if view.segments is not None:
            body.append(_stripe(left - 0.25 * em, top + i * cell, 0, cell, view.segments[i], em))
            body.append(_stripe(left + i * cell, top - 0.25 * em, cell, 0, view.segments[i], em))
        if i % every:
            continue
        x, y = left + centre, top - 0.6 * em
        turned = f' transform="rotate(-45 {coordinate(x)} {coordinate(y)})"'
        row = text(left - 0.5 * em, top + centre, labels[i], anchor="end") if i < rows else ""
        column = text(x, y, key_labels[i], extra=turned) if i < columns else ""
        if view.cross:
            body += [_named(view.tokens, i, row), _named(view.keys, i, column)]
        else:
            body.append(_named(view.tokens, i, row + column))
    if numbers:
        size = f' font-size="{coordinate(0.8 * em)}"'
        for i, j in np.argwhere(np.abs(view.weights) * view.full >= 0.005):
            ink = text_colour(colour(_level(view.weights[i, j])))
            body.append(
                text(*grid.middle(i, j), view.short_amount(i, j), anchor="middle", fill=ink, extra=size)
            )
    if view.difference:
        if not numbers and cell >= 0.7 * em:
            body += _signs(view, grid)
        body.append(_legend(view, ("+", "-"), em, height + 0.6 * em))
        height, width = height + 1.6 * em, max(width, 34 * em)
    if view.query is not None:
        body.append(grid.framed_row(view.query, 0.15 * em))
    return Picture(body, width, height, title=view.title, sentence=view.sentence, font_size=em)


@dataclass(kw_only=True)
class _View:
    """The checked input of a picture, special tokens already left out where asked."""

    weights: object  # checked: what is drawn, from 0 to 1, in a difference from -1 to 1
    tokens: Sequence[str]
    title: str | None = None
    head: tuple[int, int] | None = None
    special: Sequence[bool] | None = None
    hide_special: bool = False
    key_tokens: Sequence[str] | None = None
    key_special: Sequence[bool] | None = None
    in_line: bool = True
    segment_ids: Sequence[int] | None = None
    query: int | None = None
    unit: str = "token"
    norms: object = None
    longest: float | None = None
    difference: bool = False

    def __post_init__(self):
        if self.difference and self.norms is not None:
            raise ValueError("norms of a difference are not drawn; leave norms out.")
        keys = {"key_tokens": self.key_tokens, "key_special": self.key_special, "in_line": self.in_line}
        keys = {name: value for name, value in keys.items() if value not in (None, True)}
        if "key_tokens" in keys and (self.difference or self.norms is not None):
            raise ValueError("of cross attention weights alone are drawn, no norms and no difference.")
        if self.difference:
            weights, tokens = checked_difference(self.weights, self.tokens)
        else:
            weights, tokens = checked_attention(self.weights, self.tokens, self.key_tokens)
        n = len(tokens)
        about = {"head": self.head, "hide_special": self.hide_special, "unit": self.unit}
        about["special"] = special_tokens(tokens, self.special)
        segment_ids, query = self.segment_ids, self.query
        if segment_ids is not None and len(segment_ids) != n:
            raise ValueError(f"segment_ids needs one entry per token: {n} expected, got {len(segment_ids)}.")
        if query is not None and not 0 <= query < n:
            raise ValueError(f"query must lie between 0 and {n - 1}; got {query}.")
        view = TokensInView(tokens=tokens, **about, **keys)
        shown, columns = view.shown, view.columns
        self.cross = view.cross
        if not shown or not columns:
            raise ValueError("every token is special, so with hide_special=True there is nothing to draw.")
        describe, describe_one, kind, strength = describe_attention, describe_token, "", weights
        drawn, self.full = weights, 1.0
        if self.difference:
            describe, describe_one, kind = (
                describe_difference,
                describe_token_difference,
                ", after minus before",
            )
            self.full = float(self.longest or np.abs(weights).max() or 1)
            strength = np.clip(weights / self.full, -1, 1)
        elif self.norms is not None:
            describe, describe_one, kind = describe_norms, describe_token_norms, ", norms"
            drawn, _ = checked_norms(self.norms, tokens)
            full = float(drawn.max() if self.longest is None else self.longest)
            if full < drawn.max() * (1 - 1e-6):
                raise ValueError(
                    f"longest is drawn at full strength, so no norm may exceed it; the largest is {drawn.max():g}, "
                    f"longest {full:g}."
                )
            self.norms, strength = drawn[np.ix_(shown, shown)], drawn / (full or 1)
            about["longest"] = self.longest
        if query is None:
            self.sentence = describe(drawn, tokens, **about, **keys)
        else:
            self.sentence = describe_one(drawn, tokens, query, special=about["special"], **keys)
        name = "Attention of one head" if self.head is None else f"Head {head_label(*self.head)}"
        self.title = self.title or name + kind
        self.weights = strength[np.ix_(shown, columns)]
        self.tokens = [tokens[i] for i in shown]
        self.keys = [view.keys[j] for j in columns]
        self.labels = [visible_token(token) for token in self.tokens]
        self.key_labels = [visible_token(token) for token in self.keys]
        pair = not view.cross and segment_ids is not None and len({segment_ids[i] for i in shown}) > 1
        self.segments = [segment_ids[i] for i in shown] if pair else None
        self.query = shown.index(query) if query in shown else None

    def amount(self, query: int, key: int) -> str:
        """The number beside a line: a weight as per cent, a norm as it is, a change in points."""
        if self.difference:
            return signed_points(self.weights[query, key] * self.full)
        return percent(self.weights[query, key]) if self.norms is None else number(self.norms[query, key])

    def short_amount(self, query: int, key: int) -> str:
        """The number in a cell of the grid."""
        if self.difference:
            change = self.weights[query, key] * self.full
            return f"{'+' if change > 0 else '-'}{int(abs(change) * 100 + 0.5)}"
        if self.norms is None:
            return str(int(self.weights[query, key] * 100 + 0.5))
        return short_number(self.norms[query, key])


def _shortened(labels: Sequence[str], em: float) -> list[str]:
    return [shortened(label, em, _LONGEST_TOKEN * em) for label in labels]


def _named(names: Sequence[str], position: int, labels: str) -> str:
    """Labels with the whole token as their tooltip."""
    return f"<g><title>{content(names[position])}</title>{labels}</g>" if labels else ""


def _heading(title: str, em: float) -> str:
    return text(1.2 * em, 1.2 * em, title, extra=' font-weight="600"')


def _level(weight: float) -> float:
    """The weight rounded to the nearest step a drawing shows."""
    return round(weight * SHADES) / SHADES


def _curves(view: _View, start, end, floor: float, em: float, *, vertical: bool) -> list[str]:
    """Lines of equal strength share one path, faint ones below strong ones."""
    paths: dict[tuple[float, bool], list[str]] = {}
    for i, (x0, y0) in enumerate(start[: len(view.tokens)]):
        if view.query is not None and i != view.query:
            continue
        for j, (x1, y1) in enumerate(end[: len(view.keys)]):
            weight = view.weights[i, j]
            if abs(weight) < floor:
                continue
            level = max(_level(abs(weight)), 0.5 / SHADES)
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
    dash = f' stroke-dasharray="{coordinate(0.5 * em)} {coordinate(0.3 * em)}"'
    return [
        f'<path d="{"".join(paths[level, less])}" fill="none" stroke="{LESS if less else LINE}" '
        f'stroke-width="{coordinate(line_width(level) * em)}" stroke-opacity="{line_opacity(level):.2f}"'
        f"{dash if less else ''}/>"
        for level, less in sorted(paths)
    ]


def line_width(weight: float) -> float:
    """Width of a line in em: a hair for nothing, a third of a letter for all."""
    return 0.06 + 0.3 * weight


def line_opacity(weight: float) -> float:
    """Darkness of a line. The square root lets a weight of 0.1 be seen on a projector; the order stays."""
    return min(1.0, 0.04 + 0.9 * weight**0.5)


def _signs(view: _View, grid: Grid) -> list[str]:
    """A plus or a minus in every cell whose change is a tenth of the largest or more."""
    arm, made = 0.22 * grid.across, []
    for i, j in np.argwhere(np.abs(view.weights) >= 0.1):
        x, y = grid.middle(i, j)
        cross = (
            f"M{coordinate(x)} {coordinate(y - arm)}v{coordinate(2 * arm)}" if view.weights[i, j] > 0 else ""
        )
        made.append(
            f'<path d="M{coordinate(x - arm)} {coordinate(y)}h{coordinate(2 * arm)}{cross}" fill="none" '
            f'stroke="{text_colour(difference_colour(_level(view.weights[i, j])))}" stroke-width="{coordinate(0.08 * grid.em)}"/>'
        )
    return made


def _legend(view: _View, marks: tuple[str, str], em: float, y: float) -> str:
    """Which way a difference goes."""
    more, less = marks
    said = f"blue, {more}: more; brown, {less}: less; strongest: {points(view.full)} points"
    return text(1.2 * em, y, said, fill=MUTED)


def _stripe(x: float, y: float, across: float, down: float, segment: int, em: float) -> str:
    """A mark beside a token of segment A (solid) or B (dashed)."""
    dash = "" if segment == 0 else f' stroke-dasharray="{coordinate(0.25 * em)} {coordinate(0.2 * em)}"'
    return (
        f'<path d="M{coordinate(x)} {coordinate(y)}l{coordinate(across)} {coordinate(down)}" fill="none" '
        f'stroke="{SEGMENT_A if segment == 0 else SEGMENT_B}" stroke-width="{coordinate(0.16 * em)}"{dash}/>'
    )
