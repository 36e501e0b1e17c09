"""The neurons behind one row of weights as a picture: vectors, products, score, softmax, for one query and all keys.

Every vector is a row of small bars: up and blue is positive, down and orange is negative, so the sign is a direction
before it is a colour. Dimensions are sorted by how much they add or take away over all keys; those that do little are
summed in one outlined bar at the end, so that the bars of a row still add up to its score times sqrt(dim).
The live view (widgets/js/neuron_view.js) draws the same and says the same sentences, in the words of syllabus/captions.py.
"""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np

from bertlook_teach.model import head_label
from bertlook_teach.views import (
    INK,
    MUTED,
    PAPER,
    RULE,
    Picture,
    as_array,
    content,
    coordinate,
    growing,
    percent,
    quoted,
    shortened,
    special_tokens,
    text,
    text_width,
    visible_token,
)

from ...syllabus import worded
from ..drawing.vectors import NEGATIVE, POSITIVE

MOST = 20  # dimensions that can be told apart on a slide

NEURON_TITLES = ("query, keys", "query × key", "score", "weight")


def sorted_dimensions(products) -> np.ndarray:
    """Dimensions by the sum of their absolute products over all keys, largest first; equal ones as they come.

    Parameters
    ----------
    products : array of shape (key, dim)

    Returns
    -------
    int ndarray of shape (dim,)

    Examples
    --------
    >>> sorted_dimensions([[1, -3, 0], [1, 2, 0]])
    array([1, 0, 2])
    """
    products = np.asarray(products, dtype=np.float64)
    if products.ndim != 2:
        raise ValueError(f"products have shape (key, dim); got shape {products.shape}.")
    return np.argsort(-np.abs(products).sum(axis=0), kind="stable")


def split_dimensions(products, dimensions: int | None = MOST) -> tuple[np.ndarray, np.ndarray]:
    """The dimensions that get a bar of their own, in order, and those that are summed in the last one.

    ``dimensions=None`` gives every dimension its own bar. A single one left over is drawn, not summed.
    """
    order = sorted_dimensions(products)
    if dimensions is None:
        return order, order[:0]
    if dimensions < 1:
        raise ValueError(f"at least one dimension must be drawn; got {dimensions}. None draws all.")
    if len(order) - dimensions <= 1:
        return order, order[:0]
    return order[:dimensions], order[dimensions:]


def signed(value: float) -> str:
    """A number with its sign and two decimals.

    >>> signed(1.234), signed(-0.5), signed(-0.001)
    ('+1.23', '-0.50', '0.00')
    """
    rounded = math.floor(abs(value) * 100 + 0.5) / 100
    return f"{'+' if value > 0 else '-'}{rounded:.2f}" if rounded else "0.00"


def describe_neurons(
    view, *, key: int | None = None, dimensions: int | None = MOST, special: Sequence[bool] | None = None
) -> str:
    """How one weight comes about, in two sentences computed from the vectors.

    Parameters
    ----------
    view : bertlook_course.analyses.anatomy.HeadNeurons
    key : int, optional
        The token looked at; by default the one with the largest weight.
    dimensions : int or None
        How many have a bar of their own; None for all.
    special : sequence of bool, optional
        Which tokens the tokenizer added. By default, those written like [CLS] or </s>.

    Returns
    -------
    str
        Dimensions are counted from 1, like layers and heads in print.
    """
    special = special_tokens(view.tokens, special)
    key = _checked_key(view, key)
    own, rest = split_dimensions(view.products, dimensions)
    products = view.products[key]
    most = int(own[np.abs(products[own]).argmax()])
    size = len(products)
    first = worded(
        "one weight",
        head=worded("head", label=head_label(view.layer, view.head)),
        query=quoted(view.tokens[view.query], special[view.query]),
        key=worded("itself") if key == view.query else quoted(view.tokens[key], special[key]),
        share=percent(view.weights[key]),
        score=signed(view.scores[key]),
    )
    parts = {"count": size, "sum": signed(products.sum()), "root": signed(math.sqrt(size)).lstrip("+")}
    second = worded("one product" if size == 1 else "products", **parts)
    amount = signed(abs(products[most])).lstrip("+")
    third = [worded("adds most" if products[most] >= 0 else "takes most", dimension=most + 1, amount=amount)]
    if len(rest):
        third.append(worded("not drawn", count=len(rest), sum=signed(products[rest].sum())))
    return f"{first} {second} {'; '.join(third)}."


def _check_finite(view) -> None:
    for name in ("query_vector", "key_vectors", "products", "scores", "weights"):
        if not np.isfinite(getattr(view, name)).all():
            raise ValueError(f"{name} must be finite; this one is not.")


def _titles(left: float, product_at: float, score_at: float, em: float) -> list[str]:
    return [
        text(left, 0.85 * em, NEURON_TITLES[0], fill=MUTED),
        text(product_at, 0.85 * em, NEURON_TITLES[1], fill=MUTED),
        text(score_at, 0.85 * em, NEURON_TITLES[2], anchor="end", fill=MUTED),
        text(score_at + 0.8 * em, 0.85 * em, NEURON_TITLES[3], fill=MUTED),
    ]


def _bar_lengths(view, own, rest) -> tuple:
    """Vectors and products of the dimensions that are drawn, sums over the rest, and what each is drawn against."""
    vectors = np.concatenate([view.query_vector[None, own], view.key_vectors[:, own]])
    products = view.products[:, own]
    sums = view.products[:, rest].sum(axis=1) if len(rest) else None
    largest = max(np.abs(products).max(), 0 if sums is None else np.abs(sums).max())
    return vectors, float(np.abs(vectors).max()) or 1.0, products, sums, float(largest) or 1.0


def _weight_bar(x: float, y: float, em: float, weight: float) -> str:
    return (
        f'<rect x="{coordinate(x)}" y="{coordinate(y - 0.4 * em)}" '
        f'width="{coordinate(max(1.0, 3.2 * em * weight))}" height="{coordinate(0.8 * em)}" fill="{INK}"/>'
    )


def _frame(pad: float, y: float, width: float, row: float) -> str:
    """Round the line of a key."""
    return (
        f'<rect x="{coordinate(pad / 2)}" y="{coordinate(y)}" width="{coordinate(width - pad)}" '
        f'height="{coordinate(row)}" rx="4" fill="none" stroke="{INK}" stroke-width="2.5"/>'
    )


def render_neurons(
    view,
    *,
    key: int | None = None,
    dimensions: int | None = MOST,
    special: Sequence[bool] | None = None,
    title: str | None = None,
    font_size: float = 24,
    width: float = 940,
) -> Picture:
    """Draw how one token's row of weights comes about.

    Parameters
    ----------
    view : bertlook_course.analyses.anatomy.HeadNeurons
        What ``neuron_view(attention, layer, head, query)`` returned.
    key : int, optional
        A token looked at, to be framed and described.
    dimensions : int or None
        How many get a bar of their own; the others are summed. None for all.
    special : sequence of bool, optional
        Which tokens the tokenizer added. By default, those written like [CLS] or </s>.
    title : str, optional
        Its name for those who do not see it; by default the head's and the query's.
    font_size, width : float
        In pixels. On a slide 24 or more.

    Raises
    ------
    ValueError
        If the view holds NaN, or there is no room for the bars.
    IndexError
        If ``key`` is not a token of the text.
    """
    _check_finite(view)
    sentence = describe_neurons(view, key=key, dimensions=dimensions, special=special)
    special = special_tokens(view.tokens, special)
    own, rest = split_dimensions(view.products, dimensions)
    em, n = float(font_size), len(view.tokens)
    row, pad = 1.2 * em, 0.4 * em
    query_name = f"query: {visible_token(view.tokens[view.query])}"
    labels = [shortened(visible_token(token), em, 7.5 * em) for token in view.tokens]
    query_label = shortened(query_name, em, 9 * em)
    left = (
        pad + max(text_width(query_label, 1.12 * em), *(text_width(label, em) for label in labels)) + 0.5 * em
    )
    score_at = width - 9 * em
    strip = (score_at - 3.4 * em - left - 0.8 * em) / 2
    if strip < 3 * em:
        raise ValueError(
            f"{width:g} pixels leave no room for the bars; give width at least {width + 6 * em - 2 * strip:.0f}."
        )
    product_at = left + strip + 0.8 * em
    top = 1.6 * em
    legend = _legend(pad, width - pad, em, len(rest))
    height = top + (n + 1) * row + 0.5 * em + 1.2 * em * len(legend)

    def middle(line: int) -> float:
        return top + (line + 0.5) * row

    heading = title or f"Head {head_label(view.layer, view.head)}, {query_name}"
    body = [
        *_titles(left, product_at, score_at, em),
        text(left - 0.5 * em, middle(0), query_label, anchor="end", extra=' font-weight="600"'),
        f'<path d="M{coordinate(pad)} {coordinate(top + row)}H{coordinate(width - pad)}" stroke="{RULE}"/>',
    ]
    vectors, longest, products, sums, largest = _bar_lengths(view, own, rest)
    body += _bars(vectors[0], None, longest, left, middle(0), strip, 0.54 * em)
    for j in range(n):
        y = middle(j + 1)
        body.append(text(left - 0.5 * em, y, labels[j], anchor="end"))
        body += _bars(vectors[j + 1], None, longest, left, y, strip, 0.54 * em)
        rest_bar = None if sums is None else float(sums[j])
        body += _bars(products[j], rest_bar, largest, product_at, y, strip, 0.54 * em)
        body.append(text(score_at, y, signed(view.scores[j]), anchor="end"))
        body.append(_weight_bar(score_at + 0.8 * em, y, em, float(view.weights[j])))
        body.append(text(width - pad, y, percent(float(view.weights[j])), anchor="end"))
    if key is not None:
        body.append(_frame(pad, top + (key + 1) * row, width, row))
    for line, entries in enumerate(legend):
        body += _legend_line(entries, height - (0.8 + 1.2 * (len(legend) - 1 - line)) * em, em)
    # On a large screen the type does not stay behind the text around it.
    return Picture(body, width, height, heading, sentence, em, across=growing(width))


def _bars(
    values, rest: float | None, largest: float, x: float, y: float, width: float, half: float
) -> list[str]:
    """A row of bars around its middle line, one path a sign; the rest as an outlined bar after a gap."""
    slots = len(values) + (0 if rest is None else 1.8)
    step = width / slots
    gap = 0.18 * step if step > 4 else 0
    paths = {POSITIVE: "", NEGATIVE: ""}
    for k, value in enumerate(values):
        tall = half * float(value) / largest
        if abs(tall) < 0.05:
            continue
        paths[POSITIVE if value > 0 else NEGATIVE] += (
            f"M{coordinate(x + k * step)} {coordinate(y)}h{coordinate(step - gap)}v{coordinate(-tall)}h{coordinate(gap - step)}z"
        )
    body = [f'<path d="M{coordinate(x)} {coordinate(y)}h{coordinate(width)}" stroke="{RULE}"/>']
    body += [f'<path d="{path}" fill="{colour}"/>' for colour, path in paths.items() if path]
    if rest is not None:
        tall = half * rest / largest
        start = x + (len(values) + 0.7) * step
        body.append(
            f'<path d="M{coordinate(start)} {coordinate(y)}h{coordinate(step)}v{coordinate(-tall)}h{coordinate(-step)}z" '
            f'fill="{PAPER}" stroke="{POSITIVE if rest > 0 else NEGATIVE}" stroke-width="2"/>'
        )
    return body


def _legend(x: float, end: float, em: float, rest: int) -> list[list[tuple]]:
    """What up and down mean, in as many lines as have room; every word of it is also in the sentence or the table."""
    entries = [("up, blue: positive", POSITIVE, POSITIVE), ("down, orange: negative", NEGATIVE, NEGATIVE)]
    if rest:
        entries.append((f"outlined: {rest} others, summed", PAPER, INK))
    lines, at = [[]], x
    for words, fill, stroke in entries:
        wide = 0.8 * em + text_width(words, em)
        if lines[-1] and at + wide > end:
            lines, at = [*lines, []], x
        lines[-1].append((at, words, fill, stroke))
        at += wide + 0.9 * em
    return lines


def _legend_line(entries: list[tuple], y: float, em: float) -> list[str]:
    body = []
    for x, words, fill, stroke in entries:
        body.append(
            f'<rect x="{coordinate(x)}" y="{coordinate(y - 0.35 * em)}" width="{coordinate(0.5 * em)}" '
            f'height="{coordinate(0.7 * em)}" fill="{fill}" stroke="{stroke}" stroke-width="2"/>'
        )
        body.append(
            f'<text x="{coordinate(x + 0.8 * em)}" y="{coordinate(y)}" dy=".35em" fill="{MUTED}">{content(words)}</text>'
        )
    return body


def _checked_key(view, key: int | None) -> int:
    if key is None:
        return int(np.argmax(view.weights))
    if not 0 <= key < len(view.tokens):
        raise IndexError(f"there is no token {key} to look at: tokens go from 0 to {len(view.tokens) - 1}.")
    return int(key)


def checked_vectors(attention) -> tuple[np.ndarray, np.ndarray]:
    """Queries and keys as float64 of shape (layer, head, token, dim); says how to get them."""
    if not hasattr(attention, "queries"):
        raise TypeError(
            f"the neuron view shows the Attention of one text, with its vectors; got {type(attention).__name__}. Of a model: "
            "extract_attention(encoder, text, vectors=True); of a recording: recording[text], for a text of .texts_with_vectors."
        )
    if attention.queries is None or attention.keys is None:
        level = " Words have none: take the attention before to_words()." if attention.level == "word" else ""
        raise ValueError(
            "the neuron view needs each head's queries and keys, and this attention has none. "
            f"Extract it with extract_attention(encoder, text, vectors=True).{level}"
        )
    queries, keys = as_array(attention.queries), as_array(attention.keys)
    expected = tuple(np.shape(attention.weights)[:3])
    for name, vectors in (("queries", queries), ("keys", keys)):
        if vectors.ndim != 4 or vectors.shape[:3] != expected:
            raise ValueError(
                f"{name} must have shape (layer, head, token, dim) with {expected} in front; got {vectors.shape}."
            )
        if not np.isfinite(vectors).all():
            layer, head, token, _ = np.argwhere(~np.isfinite(vectors))[0]
            raise ValueError(
                f"{name} must be finite; layer {layer}, head {head}, token {token} holds one that is not."
            )
    if queries.shape != keys.shape:
        raise ValueError(
            f"queries and keys must be equally long; got shapes {queries.shape} and {keys.shape}."
        )
    return queries, keys
