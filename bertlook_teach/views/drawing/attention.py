"""One head's attention as a picture: its checked input, and the grid. The lines are beside it, in `lines.py`."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

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
    view = OneHead(weights=weights, tokens=tokens, **picture)
    em, rows, columns = float(font_size), len(view.tokens), len(view.keys)
    n = max(rows, columns)
    labels, key_labels = shortened_labels(view.labels, em), shortened_labels(view.key_labels, em)
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
        heading(view.title, em),
        *grid.named((KEY_TITLE, QUERY_TITLE), 1.3 * em, 2.6 * em),
        *grid.shaded(np.rint(view.weights * SHADES), lambda step: colour(step / SHADES)),
        grid.border(),
    ]
    for i in range(n):
        centre = (i + 0.5) * cell
        if view.segments is not None:
            body.append(stripe(left - 0.25 * em, top + i * cell, 0, cell, view.segments[i], em))
            body.append(stripe(left + i * cell, top - 0.25 * em, cell, 0, view.segments[i], em))
        if i % every:
            continue
        x, y = left + centre, top - 0.6 * em
        turned = f' transform="rotate(-45 {coordinate(x)} {coordinate(y)})"'
        row = text(left - 0.5 * em, top + centre, labels[i], anchor="end") if i < rows else ""
        column = text(x, y, key_labels[i], extra=turned) if i < columns else ""
        if view.cross:
            body += [named(view.tokens, i, row), named(view.keys, i, column)]
        else:
            body.append(named(view.tokens, i, row + column))
    if numbers:
        size = f' font-size="{coordinate(0.8 * em)}"'
        for i, j in np.argwhere(np.abs(view.weights) * view.full >= 0.005):
            ink = text_colour(colour(in_steps(view.weights[i, j])))
            body.append(
                text(*grid.middle(i, j), view.short_amount(i, j), anchor="middle", fill=ink, extra=size)
            )
    if view.difference:
        if not numbers and cell >= 0.7 * em:
            body += _signs(view, grid)
        body.append(difference_key(view, ("+", "-"), em, height + 0.6 * em))
        height, width = height + 1.6 * em, max(width, 34 * em)
    if view.query is not None:
        body.append(grid.framed_row(view.query, 0.15 * em))
    return Picture(body, width, height, title=view.title, sentence=view.sentence, font_size=em)


@dataclass(kw_only=True)
class OneHead:
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
            raise ValueError("with cross attention only weights are drawn, no norms and no difference.")
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


def shortened_labels(labels: Sequence[str], em: float) -> list[str]:
    return [shortened(label, em, _LONGEST_TOKEN * em) for label in labels]


def named(names: Sequence[str], position: int, labels: str) -> str:
    """Labels with the whole token as their tooltip."""
    return f"<g><title>{content(names[position])}</title>{labels}</g>" if labels else ""


def heading(title: str, em: float) -> str:
    return text(1.2 * em, 1.2 * em, title, extra=' font-weight="600"')


def in_steps(weight: float) -> float:
    """The weight rounded to the nearest step a drawing shows."""
    return round(weight * SHADES) / SHADES


def _signs(view: OneHead, grid: Grid) -> list[str]:
    """A plus or a minus in every cell whose change is a tenth of the largest or more."""
    arm, made = 0.22 * grid.across, []
    for i, j in np.argwhere(np.abs(view.weights) >= 0.1):
        x, y = grid.middle(i, j)
        cross = (
            f"M{coordinate(x)} {coordinate(y - arm)}v{coordinate(2 * arm)}" if view.weights[i, j] > 0 else ""
        )
        made.append(
            f'<path d="M{coordinate(x - arm)} {coordinate(y)}h{coordinate(2 * arm)}{cross}" fill="none" '
            f'stroke="{text_colour(difference_colour(in_steps(view.weights[i, j])))}" stroke-width="{coordinate(0.08 * grid.em)}"/>'
        )
    return made


def difference_key(view: OneHead, marks: tuple[str, str], em: float, y: float) -> str:
    """Which way a difference goes."""
    more, less = marks
    said = f"blue, {more}: more; brown, {less}: less; full colour: {points(view.full)} points"
    return text(1.2 * em, y, said, fill=MUTED)


def stripe(x: float, y: float, across: float, down: float, segment: int, em: float) -> str:
    """A mark beside a token of segment A (solid) or B (dashed)."""
    dash = "" if segment == 0 else f' stroke-dasharray="{coordinate(0.25 * em)} {coordinate(0.2 * em)}"'
    return (
        f'<path d="M{coordinate(x)} {coordinate(y)}l{coordinate(across)} {coordinate(down)}" fill="none" '
        f'stroke="{SEGMENT_A if segment == 0 else SEGMENT_B}" stroke-width="{coordinate(0.16 * em)}"{dash}/>'
    )
