"""A map on which heads that behave alike stand together: a picture, its sentence, and figures for print."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Mapping, Sequence

import numpy as np

from bertlook_teach.measures import checked_distances
from bertlook_teach.model import head_label
from bertlook_teach.views import (
    CATEGORY_CYCLE,
    INK,
    MUTED,
    OKABE_ITO,
    PAPER,
    SELECTED,
    Picture,
    as_array,
    coordinate,
    magnitude_colour,
    number,
    text,
    text_colour,
    text_width,
)

DISTANCE_UNIT = "nats a token"

NEIGHBOURS = 3

# Shapes of radius 1 around (0, 0), as SVG paths; the same strings are drawn by the live view.
SHAPES = {
    "ring": "M-1 0A1 1 0 1 1 1 0A1 1 0 1 1 -1 0ZM-.5 0A.5 .5 0 1 0 .5 0A.5 .5 0 1 0 -.5 0Z",
    "disc": "M-1 0A1 1 0 1 1 1 0A1 1 0 1 1 -1 0Z",
    "square": "M-.9 -.9H.9V.9H-.9Z",
    "diamond": "M0 -1.25L1.25 0L0 1.25L-1.25 0Z",
    "right": "M-.9 -1.1L1.2 0L-.9 1.1Z",
    "left": "M.9 -1.1L-1.2 0L.9 1.1Z",
    "up": "M-1.1 .9L0 -1.2L1.1 .9Z",
    "plus": "M-.4 -1.15H.4V-.4H1.15V.4H.4V1.15H-.4V.4H-1.15V-.4H-.4Z",
    "star": "M0 -1.35L.38 -.42L1.3 -.42L.56 .15L.82 1.1L0 .55L-.82 1.1L-.56 .15L-1.3 -.42L-.38 -.42Z",
}

_MARKERS = {"ring": "o", "disc": "o", "square": "s", "diamond": "D"}

_MARKERS |= {"right": ">", "left": "<", "up": "^", "plus": "P", "star": "*"}

# Behaviour -> colour and shape; a triangle points to where its heads look.
_KNOWN = {
    "previous": (OKABE_ITO["blue"], "left"),
    "next": (OKABE_ITO["vermillion"], "right"),
    "broad": (OKABE_ITO["green"], "plus"),
    "[CLS]": (OKABE_ITO["purple"], "diamond"),
    "[SEP]": (OKABE_ITO["orange"], "square"),
    "punct": (OKABE_ITO["black"], "disc"),
    "linguistic": (OKABE_ITO["sky"], "star"),
    "unlabelled": (MUTED, "ring"),
}

_SPARE = ("up", "diamond", "square", "star", "plus", "disc", "left")


def group_styles(groups: Sequence[str]) -> dict[str, tuple[str, str]]:
    """Name of each group that occurs -> its colour and shape, in a fixed order; no two share both.

    >>> group_styles(["[SEP]", "next", "[SEP]"])
    {'next': ('#D55E00', 'right'), '[SEP]': ('#E69F00', 'square')}
    """
    present = set(groups)
    styles = {name: style for name, style in _KNOWN.items() if name in present}
    unnamed = sorted(present - set(_KNOWN))
    spare = [(colour, form) for form in _SPARE for colour in CATEGORY_CYCLE]
    free = [style for style in spare if style not in _KNOWN.values()]
    if len(unnamed) > len(free):
        raise ValueError(f"a map tells at most {len(free)} groups of your own apart; got {len(unnamed)}.")
    styles |= zip(unnamed, free)
    return styles


def checked_map(points, distances, groups, shape) -> tuple[np.ndarray, np.ndarray, list[str]]:
    """Points of shape (head, 2), their distances and their groups, one for each head, layer by layer."""
    points, distances = as_array(getattr(points, "points", points)), checked_distances(distances)
    heads = shape[0] * shape[1]
    if points.shape != (heads, 2):
        raise ValueError(
            f"a map of {shape[0]} x {shape[1]} heads needs points of shape ({heads}, 2), layer by layer; got {points.shape}."
        )
    if distances.shape != (heads, heads):
        raise ValueError(
            f"distances between {heads} heads have shape ({heads}, {heads}); got {distances.shape}."
        )
    if not np.isfinite(points).all():
        raise ValueError("the points of a map must be finite.")
    groups = [str(group) for group in np.asarray(groups, dtype=object).ravel()]
    if len(groups) != heads:
        raise ValueError(f"one group a head is needed: {heads} heads, {len(groups)} groups.")
    return points, distances, groups


def map_neighbours(distances, index: int, k: int = NEIGHBOURS) -> list[int]:
    """The nearest heads by their distance, not by their place on the map; of equals the lower number."""
    order = np.argsort(np.asarray(distances)[index], kind="stable")
    return [int(i) for i in order if i != index][:k]


def describe_distance_map(
    distances,
    groups,
    shape,
    selected,
    *,
    k: int = NEIGHBOURS,
    unit: str = DISTANCE_UNIT,
    stress: float | None = None,
) -> str:
    """What the map says about one head: its group and its nearest heads.

    >>> describe_distance_map([[0, .2, .1], [.2, 0, .4], [.1, .4, 0]], ["next", "next", "broad"], (1, 3), (0, 0), k=2)
    'Head 1-1 (next). Nearest: 1-3 (broad) 0.100, 1-2 (next) 0.200 nats a token.'
    """
    heads = shape[1]
    index = selected[0] * heads + selected[1]
    groups = list(np.asarray(groups, dtype=object).ravel())
    distances = np.asarray(distances, dtype=float)
    near = map_neighbours(distances, index, k)
    named = [f"{head_label(*divmod(i, heads))} ({groups[i]}) {number(distances[index, i])}" for i in near]
    nearest = f"Nearest: {', '.join(named)} {unit}." if named else "There is no other head."
    fit = "" if stress is None else f" Stress of the map: {number(stress)}."
    return f"Head {head_label(*selected)} ({groups[index]}). {nearest}{fit}"


def _mark(x, y, radius: float, title: str, style: tuple[str, str], layer: tuple[int, int] | None) -> str:
    """A head on the map: the shape of its group, or a disc with its layer, of so many."""
    name = f"<title>{_escaped(title)}</title>"
    move = f'transform="translate({coordinate(x)} {coordinate(y)}) scale({radius:.2f})"'
    if layer is None:
        colour, form = style
        return f'<path {move} d="{SHAPES[form]}" fill="{colour}" stroke="{PAPER}" stroke-width=".12">{name}</path>'
    fill = layer_colour(*layer)
    size = f' font-size="{coordinate(radius * 1.3)}"'
    number = text(x, y, str(layer[0] + 1), anchor="middle", fill=text_colour(fill), extra=size)
    return f'<g>{name}<path {move} d="{SHAPES["disc"]}" fill="{fill}" stroke="{INK}" stroke-width=".06"/>{number}</g>'


def _legend_line(entries, styles: Mapping, disc: tuple[str, str] | None, y: float, em: float) -> list[str]:
    parts = []
    for x, name, count in entries:
        colour, form = disc or styles[name]
        parts.append(
            f'<path transform="translate({coordinate(x + 0.4 * em)} {coordinate(y)}) scale({coordinate(0.33 * em)})" d="{SHAPES[form]}" fill="{colour}" stroke="{INK}" stroke-width=".05"/>'
        )
        parts.append(text(x + 0.95 * em, y, f"{name} {count}".strip(), fill=INK))
    return parts


def render_distance_map(
    points,
    distances,
    groups,
    shape: tuple[int, int],
    *,
    selected: tuple[int, int] = (0, 0),
    by: str = "behaviour",
    k: int = NEIGHBOURS,
    unit: str = DISTANCE_UNIT,
    stress: float | None = None,
    title: str = "",
    width: float = 620,
    height: float = 480,
    font_size: float = 24,
) -> Picture:
    """Heads as points; one chosen, with lines to its nearest heads and their names.

    Parameters
    ----------
    points : array of shape (layer * head, 2)
        From `metric_mds`.
    distances : array of shape (layer * head, layer * head)
        What the nearest heads are taken from.
    groups : array of str, shape (layer, head), or sequence
        What each head does; gives colour and shape.
    shape : (int, int)
        Layers, heads a layer.
    selected : (int, int)
    by : {"behaviour", "layer"}
        Colour and shape by group, or the layer's number in a disc that darkens with depth.
    k : int
        How many nearest heads are named.

    Returns
    -------
    Picture
        One scale for both directions.
    """
    points, distances, groups = checked_map(points, distances, groups, shape)
    em, chosen = float(font_size), selected[0] * shape[1] + selected[1]
    near = map_neighbours(distances, chosen, k)
    legend = _legend_rows(groups, shape, by, width, em)
    top, bottom = (1.5 * em if title else 0.3 * em), 0.2 * em + 1.25 * em * len(legend)
    places = _places(points, 1.4 * em, top + em, width - 1.4 * em, height - bottom - em)
    radius = _radius(len(points), em, by)
    body = [text(0.3 * em, 0.9 * em, title, extra=' font-weight="600"')] if title else []
    x0, y0 = places[chosen]
    for i in near:
        x, y = places[i]
        body.append(
            f'<path d="M{coordinate(x0)} {coordinate(y0)}L{coordinate(x)} {coordinate(y)}" stroke="{SELECTED}" stroke-width="2"/>'
        )
    styles = group_styles(groups)
    for i in sorted(range(len(points)), key=lambda i: (i == chosen, i in near)):
        x, y = places[i]
        layer = (i // shape[1], shape[0]) if by == "layer" else None
        body.append(
            _mark(x, y, radius, f"{head_label(*divmod(i, shape[1]))}: {groups[i]}", styles[groups[i]], layer)
        )
    body.append(
        f'<circle cx="{coordinate(x0)}" cy="{coordinate(y0)}" r="{coordinate(radius + 5)}" fill="none" stroke="{SELECTED}" stroke-width="3"/>'
    )
    for i, (x, y, anchor) in _labelled(
        places, [chosen, *near], shape[1], radius, em, width, height - bottom, top
    ).items():
        weight = ' font-weight="700"' if i == chosen else ""
        halo = f' stroke="{PAPER}" stroke-width="5" stroke-linejoin="round" paint-order="stroke"'
        body.append(text(x, y, head_label(*divmod(i, shape[1])), anchor=anchor, extra=weight + halo))
    disc = (layer_colour(0, shape[0]), "disc") if by == "layer" else None
    for row, entries in enumerate(legend):
        body += _legend_line(entries, styles, disc, height - bottom + (row + 0.65) * 1.25 * em, em)
    sentence = describe_distance_map(distances, groups, shape, selected, k=k, unit=unit, stress=stress)
    return Picture(body, width, height, title=title or "map of heads", sentence=sentence, font_size=em)


def layer_colour(layer: int, n_layers: int) -> str:
    """Pale for the first layer, dark for the last; the layer's number stands beside it."""
    return magnitude_colour(0.15 + 0.85 * layer / max(1, n_layers - 1))


def _escaped(name: str) -> str:
    from bertlook_teach.views import content

    return content(name)


def _radius(points: int, em: float, by: str) -> float:
    return em * (0.5 if by == "layer" else 0.36) * (1 if points <= 72 else 0.8)


def _places(points, left, top, right, bottom) -> np.ndarray:
    """Pixels of each point: one scale for both directions, in the middle, second coordinate upwards."""
    low, high = points.min(axis=0), points.max(axis=0)
    size = np.maximum(high - low, 1e-12)
    scale = min((right - left) / size[0], (bottom - top) / size[1])
    if not np.any(high > low):
        scale = 0.0
    middle = (low + high) / 2
    return np.c_[
        (left + right) / 2 + (points[:, 0] - middle[0]) * scale,
        (top + bottom) / 2 - (points[:, 1] - middle[1]) * scale,
    ]


def _legend_rows(groups, shape, by, width, em):
    """Entries (x, name, count) in rows that fit; the counts make the legend a table."""
    if by == "layer":
        return [[(0.3 * em, "number in a disc: its layer", "")]]
    counts = Counter(groups)
    rows, x = [[]], 0.3 * em
    for name in group_styles(groups):
        wide = 1.6 * em + text_width(f"{name} {counts[name]}", em)
        if rows[-1] and x + wide > width:
            rows.append([])
            x = 0.3 * em
        rows[-1].append((x, name, str(counts[name])))
        x += wide
    return rows


def _labelled(places, which, n_heads, radius, em, width, height, top=0.0):
    """A place for each label beside its point: the first of eight that hides least of other labels and points."""
    taken: list[tuple[float, float, float, float]] = []
    found = {}
    gap = radius + 0.25 * em
    for i in which:
        wide = text_width(head_label(*divmod(i, n_heads)), em)
        x, y = places[i]
        best, best_cost = None, math.inf
        beside = ((1, 0, "start"), (-1, 0, "end"), (0, -1.05, "middle"), (0, 1.05, "middle"))
        slanting = [(dx, dy, "start" if dx > 0 else "end") for dy in (-0.8, 0.8) for dx in (0.7, -0.7)]
        for dx, dy, anchor in (*beside, *slanting):
            cx, cy = x + dx * gap, y + dy * (gap + 0.3 * em)
            left = cx - {"start": 0, "middle": wide / 2, "end": wide}[anchor]
            box = (left, cy - 0.55 * em, left + wide, cy + 0.55 * em)
            cost = sum(_overlap(box, other) for other in taken) * 4
            cost += sum(
                _overlap(box, (px - radius, py - radius, px + radius, py + radius)) for px, py in places
            )
            if box[0] < 0 or box[2] > width or box[1] < top or box[3] > height:
                cost += 1e6
            if cost < best_cost - 1e-9:
                best, best_cost = (cx, cy, anchor, box), cost
        taken.append(best[3])
        found[i] = best[:3]
    return found


def _overlap(a, b) -> float:
    return max(0.0, min(a[2], b[2]) - max(a[0], b[0])) * max(0.0, min(a[3], b[3]) - max(a[1], b[1]))
