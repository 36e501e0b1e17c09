"""One head and one sentence under several lenses, side by side: weight, norm, gradient, rollout, value zeroing, ablation.

The JavaScript view (`widgets/js/six_lenses.js`) draws the same picture and builds the same sentence, from the same words
(`syllabus/captions.py`); a browser test holds the two together.

Every lens has its own unit, so a number here is a share of what is *full* for its lens: all of the weight for the lenses
that share out a whole (weight, rollout), the largest entry of the head's own map for the others. 100 is full. Rows are
not made to sum to 100: a token for which a head does nothing must look like that.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence

import numpy as np

from bertlook_teach.model import check_weights, head_label
from bertlook_teach.views import (
    INK,
    LINE,
    MUTED,
    RULE,
    SELECTED,
    SHADES,
    Grid,
    Picture,
    as_array,
    checked_tokens,
    content,
    coordinate,
    magnitude_colour,
    quoted,
    shortened,
    special_tokens,
    text,
    text_width,
    visible_token,
)

from ...syllabus import worded
from ..drawing.layout import joined
from ..drawing.text_table import TextTable

# As they stand over a column; a lens that is not here is called by its own name.
TITLES = {
    "weight": "weight",
    "norm": "norm",
    "gradient": "gradient",
    "rollout": "rollout",
    "value_zeroing": "value zeroing",
    "ablation": "ablation",
}

SHARES = ("weight", "rollout")  # these share out a whole, so 1 is full

STYLES = ("bars", "grids")

LITTLE = 0.1  # a row that stays below this share of full is called little

_SLACK = 2e-3  # half-precision maps of 512 keys stay inside it


def lens_title(name: str) -> str:
    """What stands over the column of a lens.

    >>> lens_title("value_zeroing"), lens_title("my_own")
    ('value zeroing', 'my own')
    """
    return TITLES.get(name, name.replace("_", " "))


def checked_lenses(
    lenses: Mapping[str, object], tokens: Sequence[str]
) -> tuple[dict[str, np.ndarray], tuple[str, ...]]:
    """Every lens as float64 of shape (layer, head, query, key) and the tokens; refuses what cannot be drawn truly.

    Raises
    ------
    TypeError
        If ``lenses`` is not a mapping.
    ValueError
        If there is no lens or no token, shapes differ, an entry is negative or not finite, or a share exceeds 1.
    """
    if not isinstance(lenses, Mapping):
        raise TypeError(
            f"lenses must be a mapping of name to array (layer, head, query, key); got {type(lenses).__name__}."
        )
    if not lenses:
        raise ValueError(
            "there is no lens to look through; give at least one, for example {'weight': weights}."
        )
    tokens = checked_tokens(tokens)
    n, checked, first = len(tokens), {}, None
    for name, values in lenses.items():
        values = as_array(values)
        if values.ndim != 4 or values.shape[2:] != (n, n) or 0 in values.shape:
            raise ValueError(
                f"{n} tokens need every lens in shape (layer, head, query, key) = (..., ..., {n}, {n}); "
                f"lens {name!r} has {values.shape}."
            )
        first = first or (name, values.shape)
        if values.shape != first[1]:
            raise ValueError(
                f"all lenses look at the same heads; lens {first[0]!r} has shape {first[1]}, lens {name!r} {values.shape}."
            )
        wrong = {"must be finite": ~np.isfinite(values), "cannot be negative": values < 0}
        if name in SHARES:
            wrong["is a share between 0 and 1"] = values > 1 + _SLACK
        for why, where in wrong.items():
            if where.any():
                layer, head, query, key = np.argwhere(where)[0]
                raise ValueError(
                    f"lens {name!r} {why}; layer {layer}, head {head}, query {query} ({tokens[query]!r}), "
                    f"key {key} ({tokens[key]!r}) is {values[layer, head, query, key]:g}."
                )
        if name == "weight":
            check_weights(values, tokens)  # a query that looks nowhere
        checked[name] = np.minimum(values, 1) if name in SHARES else values
    return checked, tokens


def full_scale(name: str, values) -> np.ndarray:
    """What is drawn at full length: 1 for shares, else the largest entry of each map (query, key).

    >>> full_scale("norm", [[[[0.5, 2.0], [1.0, 0.0]]]]), full_scale("weight", [[[[0.5, 0.5], [1.0, 0.0]]]])
    (array([[2.]]), array([[1.]]))
    """
    values = np.asarray(values, dtype=np.float64)
    return np.ones(values.shape[:-2]) if name in SHARES else values.max(axis=(-2, -1))


def hundredths(value: float, full: float) -> int:
    """A value as whole hundredths of what is full; 0 where nothing is.

    >>> hundredths(0.5, 2.0), hundredths(0.0, 0.0)
    (25, 0)
    """
    return math.floor(100 * value / full + 0.5) if full > 0 else 0


def two_digits(value: float) -> str:
    """A positive number with two digits that matter, short enough to stand under a column.

    >>> two_digits(1.0), two_digits(2.345), two_digits(0.00412), two_digits(123.4), two_digits(3.21e-6), two_digits(0)
    ('1', '2.3', '0.0041', '123', '3.2e-6', '0')
    """
    if value == 1 or value == 0:
        return f"{value:.0f}"
    power = math.floor(math.log10(value))
    if power < -4:
        mantissa = math.floor(value / 10.0**power * 10 + 0.5) / 10
        return f"{mantissa:.1f}e{power}"
    decimals = max(0, 1 - power)
    scale = 10**decimals
    return f"{math.floor(value * scale + 0.5) / scale:.{decimals}f}"


def first_query(tokens: Sequence[str], special: Sequence[bool] | None = None) -> int:
    """The token looked from unless another is chosen: the first one that is not special.

    >>> first_query(["[CLS]", "birds", "sing", "[SEP]"])
    1
    """
    flags = special_tokens(tokens, special)
    return next((i for i, flag in enumerate(flags) if not flag), 0)


def describe_lenses(
    lenses: Mapping[str, object],
    tokens: Sequence[str],
    *,
    layer: int,
    head: int,
    query: int,
    special: Sequence[bool] | None = None,
) -> str:
    """Which key comes first for one query, in each lens; lenses in which the query gets little are named last.

    Parameters
    ----------
    lenses : mapping of name to array of shape (layer, head, query, key)
    tokens : sequence of str
    layer, head, query : int
        Counted from 0.
    special : sequence of bool, optional

    Examples
    --------
    >>> weight = np.array([[[[0.1, 0.9], [0.2, 0.8]]]])
    >>> norm = weight * np.array([3.0, 0.1])
    >>> describe_lenses({"weight": weight, "norm": norm}, ["cat", "[SEP]"], layer=0, head=0, query=0)
    'Head 1-1, query “cat”: most is at [SEP] in weight, at itself in norm.'
    """
    lenses, tokens = checked_lenses(lenses, tokens)
    special = special_tokens(tokens, special)
    _check_place(lenses, layer, head, query)
    first: dict[int, list[str]] = {}
    little = []
    for name, values in lenses.items():
        full, row = full_scale(name, values)[layer, head], values[layer, head, query]
        if full == 0 or row.max() / full < LITTLE:
            little.append(lens_title(name))
        else:
            first.setdefault(int(row.argmax()), []).append(lens_title(name))
    places = []
    for key, names in first.items():
        named = worded("itself") if key == query else quoted(tokens[key], special[key])
        places.append(worded("most at", key=named, lenses=joined(names)))
    parts = [worded("most", places=", ".join(places))] if places else []
    if little:
        parts.append(worded("little", share=round(100 * LITTLE), lenses=joined(little)))
    return worded("lenses", who=_title(layer, head, tokens[query], special[query]), said="; ".join(parts))


def _title(layer: int, head: int, token: str, special: bool) -> str:
    """Whose map it is, and who looks."""
    whose = worded("head", label=head_label(layer, head))
    return worded("head and query", head=whose, query=quoted(token, special))


def lens_table(
    lenses: Mapping[str, object],
    tokens: Sequence[str],
    *,
    layer: int,
    head: int,
    query: int,
    special: Sequence[bool] | None = None,
) -> TextTable:
    """The picture as a table: a row per key, a column per lens, in hundredths of full; the last row says what 100 is.

    >>> lens_table({"weight": np.array([[[[0.1, 0.9], [0.2, 0.8]]]])}, ["cat", "[SEP]"], layer=0, head=0, query=0)
    Head 1-1, query “cat”: most is at [SEP] in weight.
    key     weight
    cat     10
    [SEP]   90
    100 is  1
    """
    lenses, tokens = checked_lenses(lenses, tokens)
    _check_place(lenses, layer, head, query)
    full = {name: full_scale(name, values)[layer, head] for name, values in lenses.items()}
    rows = [
        [visible_token(token)]
        + [str(hundredths(values[layer, head, query, key], full[name])) for name, values in lenses.items()]
        for key, token in enumerate(tokens)
    ]
    rows.append(["100 is"] + [two_digits(full[name]) for name in lenses])
    place = {"layer": layer, "head": head, "query": query, "special": special}
    return TextTable(["key", *map(lens_title, lenses)], rows, describe_lenses(lenses, tokens, **place))


def render_lenses(
    lenses: Mapping[str, object],
    tokens: Sequence[str],
    *,
    layer: int,
    head: int,
    query: int | None = None,
    style: str = "bars",
    special: Sequence[bool] | None = None,
    font_size: float = 24,
    width: float = 1180,
) -> Picture:
    """Draw one head under every lens, side by side, the tokens written once.

    Parameters
    ----------
    lenses : mapping of name to array of shape (layer, head, query, key)
        From `bertlook_course.analyses.anatomy.lenses`, or your own; one column each, in their order.
    tokens : sequence of str
        One per position; escaped, and cut where they are long.
    layer, head : int
        Counted from 0.
    query : int, optional
        The token that looks; by default the first that is not special.
    style : {"bars", "grids"}
        Bars for the chosen query, a row per key, or a small whole map per lens, a row per query.
    special : sequence of bool, optional
    font_size, width : float
        In pixels.

    Raises
    ------
    ValueError
        If the lenses cannot be drawn (see `checked_lenses`), or there is no such head or query.
    """
    lenses, tokens = checked_lenses(lenses, tokens)
    special = special_tokens(tokens, special)
    query = first_query(tokens, special) if query is None else query
    _check_place(lenses, layer, head, query)
    if style not in STYLES:
        raise ValueError(f"style is one of {', '.join(STYLES)}; got {style!r}.")
    em, n = float(font_size), len(tokens)
    labels = [shortened(token, em, 7 * em) for token in tokens]
    left = max(*(text_width(label, em) for label in labels), 5 * em) + 1.6 * em
    pitch, top = 1.35 * em, 4.1 * em
    across = max((width - left) / len(lenses), 4.2 * em)
    width = left + across * len(lenses)
    height = top + n * pitch + 2.0 * em
    title = _title(layer, head, tokens[query], special[query])
    body = [text(0.4 * em, 1.0 * em, title, extra=' font-weight="600"')]
    body.append(text(0.4 * em, top - 0.75 * em, "key" if style == "bars" else "query", fill=MUTED))
    for row, label in enumerate(labels):
        y = top + (row + 0.5) * pitch
        chosen = row == query
        bold = ' font-weight="700"' if chosen else ""
        mark = [text(left - 0.3 * em, y, "◂", anchor="end", fill=SELECTED)] if chosen else []
        body += [
            f"<g><title>{content(tokens[row])}</title>{text(left - 1.2 * em, y, label, anchor='end', extra=bold)}</g>",
            *mark,
        ]
    body.append(text(left - 1.2 * em, height - 1.0 * em, "100 is", anchor="end", fill=MUTED))
    for column, (name, values) in enumerate(lenses.items()):
        x, full = left + column * across, full_scale(name, values)[layer, head]
        lines = _title_lines(lens_title(name), across, em)
        for line, part in enumerate(lines):
            y = top - (0.75 + 1.1 * (len(lines) - 1 - line)) * em
            body.append(text(x, y, part, extra=' font-weight="600"'))
        draw = _bars if style == "bars" else _grid
        body += draw(values[layer, head], full, query, x, top, across, pitch, em)
        body.append(text(x, height - 1.0 * em, two_digits(full), fill=MUTED))
    place = {"layer": layer, "head": head, "query": query, "special": special}
    sentence = describe_lenses(lenses, tokens, **place)
    return Picture(body, width, height, title=title, sentence=sentence, font_size=em)


def _bars(values, full, query, x, top, across, pitch, em) -> list[str]:
    """A bar per key for the chosen query, its number behind it."""
    longest = across - 2.6 * em
    body = [
        f'<path d="M{coordinate(x)} {coordinate(top)}v{coordinate(pitch * len(values))}" stroke="{RULE}"/>'
    ]
    first = int(np.argmax(values[query]))
    for key, value in enumerate(values[query]):
        share = hundredths(value, full)
        length = value / full * longest if full else 0
        y = top + key * pitch
        if length >= 0.1:
            body.append(
                f'<rect x="{coordinate(x)}" y="{coordinate(y + 0.16 * pitch)}" width="{coordinate(length)}" '
                f'height="{coordinate(0.68 * pitch)}" fill="{SELECTED if key == first else LINE}"/>'
            )
        body.append(
            text(x + length + 0.25 * em, y + 0.5 * pitch, str(share), fill=INK if key == first else MUTED)
        )
    return body


def _grid(values, full, query, x, top, across, pitch, em) -> list[str]:
    """The whole map, a row per query; the chosen one is framed."""
    n = len(values)
    grid = Grid(x, top, n, n, (across - 0.7 * em) / n, pitch, em)
    steps = np.rint(values / (full or 1) * SHADES)
    shades = grid.shaded(steps, lambda step: magnitude_colour(step / SHADES))
    return [*shades, grid.border(), grid.framed_row(query, 0.13 * em)]


def _title_lines(title: str, across: float, em: float) -> list[str]:
    """A title on one line, or on two where the column is narrow."""
    words = title.split(" ")
    if len(words) == 1 or 1.1 * text_width(title, em) <= across - 0.4 * em:  # bold is wider
        return [title]
    return [words[0], " ".join(words[1:])]


def _check_place(lenses: Mapping[str, np.ndarray], layer: int, head: int, query: int) -> None:
    layers, heads, n, _ = next(iter(lenses.values())).shape
    for name, value, limit in (("layer", layer, layers), ("head", head, heads), ("query", query, n)):
        if not 0 <= value < limit:
            raise ValueError(f"{name} counts from 0 to {limit - 1}; got {value}.")
