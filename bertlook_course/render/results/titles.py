"""The picture on a lesson's title slide: the lesson's own matter, drawn from recorded BERT-base or from what a paper printed.

Four ways to draw: arcs over a sentence, small maps, grids of heads, columns over words; lesson 9 has points.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import lru_cache

import numpy as np

from bertlook_teach import measures
from bertlook_teach.model import load_recording, parse_head_label
from bertlook_teach.views import (
    INK,
    MUTED,
    PART_COLOURS,
    RULE,
    Cell,
    Grid,
    Picture,
    coordinate,
    difference_colour,
    magnitude_colour,
    text,
    text_width,
)

from ... import published
from ...syllabus import GUEST, LESSONS, lesson
from ..heads.map_classes import map_address

_WIDTH, _EM = 1180.0, 30.0
_TALL = 450.0  # of the map
_TIRED = "the animal didn't cross the street because it was too tired."
_APPLES = "i bought seven apples today but i didn't like the way they tasted."
_STORE = ("i went to the store.", "at the store, i bought fresh strawberries.")
_LEAST = 0.1  # a weaker line is not drawn
_PRINTED = "BERT-base, published"


def title_picture(which: str) -> Picture:
    """The picture of a deck's title slide.

    Parameters
    ----------
    which : str
        A lesson's number, "00" for the map of the course, or "guest_lecture".

    Raises
    ------
    ValueError
        If the course has no such deck.

    Examples
    --------
    >>> title_picture("06").sentence[:33]
    'BERT-base, recorded, another head'
    """
    if which not in ("00", GUEST):
        which = lesson(which).number
    return _drawn(which)


@lru_cache(maxsize=len(LESSONS) + 2)
def _drawn(which: str) -> Picture:
    body, height, sentence, badge = _PICTURES[which](_colour(which))
    name = (
        "The map of the course"
        if which == "00"
        else "Guest lecture"
        if which == GUEST
        else f"Lesson {int(which)}"
    )
    sentence = sentence.replace(
        "BERT-base", badge, 1
    )  # in words: a badge in the picture would shrink with it
    return Picture(body, _WIDTH, height, name, sentence, _EM, wide=True)


def _colour(which: str) -> str:
    return PART_COLOURS[1 if which in ("00", GUEST) else lesson(which).part]


def _recording():
    return load_recording("bert-base-uncased")


# --- arcs -----------------------------------------------------------------------------------------------


def _words(tokens: Sequence[str], special: Sequence[bool], y: float) -> tuple[list[str], np.ndarray]:
    """The tokens in one line over the whole width, and the middle of each."""
    em = _EM
    wide = [text_width(token, em) for token in tokens]
    gap = (_WIDTH - sum(wide)) / len(tokens)
    if gap < 0.25 * em:
        em *= (_WIDTH - 0.25 * em * len(tokens)) / sum(wide)
        wide = [text_width(token, em) for token in tokens]
        gap = (_WIDTH - sum(wide)) / len(tokens)
    middles = np.cumsum([w + gap for w in wide]) - [(w + gap) / 2 for w in wide]
    size = f' font-size="{coordinate(em)}"'
    return [
        text(x, y, token, anchor="middle", fill=MUTED if grey else INK, extra=size)
        for x, token, grey in zip(middles, tokens, special)
    ], middles


def _arcs(key, weights, what: str, *, special: bool = False):
    """Every weight above a tenth as an arc, wide and dark where it is large; it ends with a dot at the token looked at."""

    def draw(colour: str):
        seen = _recording()[key]
        kept = np.array([special or not hidden for hidden in seen.special])
        tokens = [token for token, keep in zip(seen.tokens, kept) if keep]
        chosen = np.array(weights(seen), dtype=float)[np.ix_(kept, kept)]
        np.fill_diagonal(chosen, 0)
        base, c = 190.0, coordinate
        greyed = [hidden for hidden, keep in zip(seen.special, kept) if keep]
        body, x = _words(tokens, greyed, base + 1.3 * _EM)
        farthest = max(abs(x[i] - x[j]) for i, j in np.argwhere(chosen > _LEAST))
        arcs = []
        for i, j in sorted(np.argwhere(chosen > _LEAST), key=lambda at: chosen[tuple(at)]):
            weight, rise = chosen[i, j], 40 + 200 * (abs(x[i] - x[j]) / farthest) ** 0.7
            arcs.append(
                f'<path d="M{c(x[i])} {c(base)}C{c(x[i])} {c(base - rise)} {c(x[j])} {c(base - rise)} {c(x[j])} {c(base)}" '
                f'fill="none" stroke="{colour}" stroke-width="{c(2 + 11 * weight)}" stroke-opacity="{0.25 + 0.65 * weight:.2f}" '
                f'stroke-linecap="round"/><circle cx="{c(x[j])}" cy="{c(base)}" r="{c(3 + 6 * weight)}" fill="{colour}"/>'
            )
        i, j = np.unravel_index(chosen.argmax(), chosen.shape)
        left_out = (
            "a token's weight to itself is left out"
            if special
            else "special tokens and a word's weight to itself are left out"
        )
        sentence = (
            f"BERT-base, {what}. Lines: weights of a tenth or more; {left_out}. A dot is what is looked at. The largest: "
            f"{tokens[i]} → {'the other ' * (tokens[i] == tokens[j])}{tokens[j]}, {chosen[i, j]:.2f}."
        )
        return [*arcs, *body], base + 2.4 * _EM, sentence, _recording().badge

    return draw


def _of_head(label: str):
    layer, head = parse_head_label(label)
    return lambda seen: seen.weights[layer, head]


# --- small maps -----------------------------------------------------------------------------------------


def _maps(key, choose: Callable, per_row: int, what: str, *, high: float = 1):
    """Maps for their shape: a row of a map looks, a column is looked at, darkest is its largest weight; ``high`` is of its width."""

    def draw(colour: str):
        seen = _recording()[key]
        chosen: Mapping[str, np.ndarray] = choose(seen)
        named = any(name.strip() for name in chosen)
        pitch = _WIDTH / per_row
        size = 0.92 * pitch
        tall, step = high * size, high * pitch + (1.6 * _EM if named else 0)
        body = []
        for k, (name, weights) in enumerate(chosen.items()):
            x, y = (k % per_row) * pitch, (k // per_row) * step
            if named:
                body.append(text(x + size / 2, y + 0.8 * _EM, name, anchor="middle"))
                y += 1.6 * _EM
            body.append(
                f'<image x="{coordinate(x)}" y="{coordinate(y)}" width="{coordinate(size)}" height="{coordinate(tall)}" '
                f'preserveAspectRatio="none" style="image-rendering:pixelated" href="{map_address(weights)}"/>'
                f'<rect x="{coordinate(x)}" y="{coordinate(y)}" width="{coordinate(size)}" height="{coordinate(tall)}" '
                f'fill="none" stroke="{RULE}"/>'
            )
        rows = -(-len(chosen) // per_row)
        said = " / ".join([key] if isinstance(key, str) else key).rstrip(".")
        sentence = f"BERT-base, {what}, on “{said}”. A row looks, a column is looked at; darker means more."
        return body, rows * step, sentence, _recording().badge

    return draw


def _every_head(seen) -> dict[str, np.ndarray]:
    return {" " * k: one for k, one in enumerate(seen.weights.reshape(-1, *seen.weights.shape[2:]))}


def _best_for_patterns(seen) -> dict[str, np.ndarray]:
    found = {}
    for name, key in (
        ("next", "next"),
        ("previous", "previous"),
        ("same word", "same_word"),
        ("other text", "same_word_across"),
        ("rest", "within_word"),
        ("[SEP]", "delimiter"),
        ("bag", "bag_of_words"),
    ):
        value = np.asarray(measures.PATTERNS[key].value(seen))
        at = np.unravel_index(value.argmax(), value.shape)
        found[name] = seen.weights[at]
    return found


# --- grids of heads -------------------------------------------------------------------------------------


def _grids(
    panels: Callable[[], Mapping[str, np.ndarray]], sentence: str, badge: str, *, signed: bool = False
):
    """One cell for each head, 12 layers down, 12 heads across; all panels share one scale, and ``{largest}`` in the sentence is its end, in the panel ``{where}``."""

    def draw(colour: str):
        found = panels()
        where = max(found, key=lambda name: np.abs(found[name]).max())
        largest = np.abs(found[where]).max()
        shade = difference_colour if signed else magnitude_colour
        pitch, top = _WIDTH / len(found), 1.7 * _EM
        wide, high = min(44.0, 0.94 * pitch / 12), 22.0  # wider than high: two panels fill the slide, too
        body = []
        for k, (name, grid) in enumerate(found.items()):
            left = k * pitch + (pitch - 12 * wide) / 2
            body.append(text(left + 6 * wide, 0.8 * _EM, name, anchor="middle"))
            cells = Grid(left, top, 12, 12, wide, high, _EM)
            body += cells.cells(
                lambda layer, head, grid=grid: Cell(shade(grid[layer, head] / largest)),
                gap=(0.04 * wide, 0.05 * high),
            )
        return body, top + 12 * high, sentence.format(largest=largest, where=where), badge

    return draw


def _surface() -> dict[str, np.ndarray]:
    wanted = {
        "previous token": "previous",
        "next token": "next",
        "[SEP]": "sep",
        "[CLS]": "cls",
    }
    all_of = measures.surface_measures()
    seen = _recording().values()
    return {name: np.mean([all_of[key](one) for one in seen], axis=0) for name, key in wanted.items()}


def _disabled() -> dict[str, np.ndarray]:
    return {
        task: 100 * (published.published_baseline(task) - published.published_disabled_heads(task))
        for task in ("MRPC", "RTE")
    }


def _moved() -> dict[str, np.ndarray]:
    return {task: 1 - published.published_cosines(task) for task in ("MRPC", "SST-2", "QNLI")}


# --- columns over words, points -------------------------------------------------------------------------


def _columns(key, what: str, *, special: bool):
    """What each token receives, as a column over it."""

    def draw(colour: str):
        seen = _recording()[key]
        received = seen.weights.mean(axis=(0, 1, 2))
        hidden = np.array(seen.special)
        shown = received if special else np.where(hidden, 0, received)
        base, c = 200.0, coordinate
        body, x = _words(seen.tokens, seen.special, base + 1.1 * _EM)
        wide = 0.9 * float(np.diff(x).min())
        for at, value, grey in zip(x, shown, hidden):
            height = 160 * value / shown.max()
            fill = MUTED if grey else colour
            body.append(
                f'<rect x="{c(at - wide / 2)}" y="{c(base - height)}" width="{c(wide)}" height="{c(height)}" fill="{fill}"/>'
            )
            if value:
                body.append(text(at, base - height - 0.6 * _EM, f"{100 * value:.0f}", anchor="middle"))
        left_out = "" if special else f" [CLS] and [SEP] get the other {100 * received[hidden].sum():.0f}."
        sentence = f"BERT-base, {what}: per cent of all attention that each token receives, mean of 144 heads.{left_out}"
        return body, base + 2.2 * _EM, sentence, _recording().badge

    return draw


def _families(colour: str):
    """Clark's map, turned so that its long side lies across; the kinds of heads that have a name are named where they are most."""
    drawn = published.published_map()
    points = drawn.points[:, np.argsort(np.ptp(drawn.points, axis=0))[::-1]]
    scale = (_TALL - 40) / np.ptp(points[:, 1])
    points = points * [1, -1]  # up is up here, too, as on the map itself
    at = (points - points.min(axis=0)) * scale + [(_WIDTH - np.ptp(points[:, 0]) * scale) / 2, 20]
    labels = drawn.labels.ravel()
    body = [
        f'<circle cx="{coordinate(x)}" cy="{coordinate(y)}" r="9" fill="{RULE if label == "unlabelled" else colour}"/>'
        for (x, y), label in sorted(zip(at, labels), key=lambda one: one[1] != "unlabelled")
    ]
    middle, c = np.median(at[:, 0]), coordinate
    for label, name in _NAMED.items():
        group = at[labels == label]
        x, y = group[np.abs(group - np.median(group, axis=0)).sum(axis=1).argmin()]  # the head in their midst
        side = 1 if x > middle else -1
        end = middle + side * 300
        body.append(
            f'<path d="M{c(end)} {c(y)}L{c(x)} {c(y)}" stroke="{MUTED}" stroke-width="2"/>'
            + text(end + 12 * side, y, name, anchor="start" if side > 0 else "end")
        )
    sentence = "BERT-base: 144 heads on a plane, close together if their maps are alike (Clark et al. 2019, Figure 6). Grey heads have no label."
    return body, _TALL, sentence, _PRINTED


_NAMED = {
    "[SEP]": "[SEP]",
    "broad": "broad",
    "punct": ". and ,",
    "next": "next token",
    "previous": "previous token",
}


def _strongest(seen) -> np.ndarray:
    """The largest weight that any head gives, for the key to which each query gives most; lines to itself and to special tokens are left out."""
    weights = seen.weights.max(axis=(0, 1))
    weights[:, np.array(seen.special)] = 0
    np.fill_diagonal(weights, 0)
    return np.where(weights == weights.max(axis=1, keepdims=True), weights, 0)


_PICTURES = {
    "00": _maps(_TIRED, _every_head, 24, "all 144 heads, layer after layer", high=0.72),
    GUEST: _arcs(_STORE, _of_head("8-11"), "head 8-11"),
    # Not the sentence that slide 2 asks about.
    "01": _arcs("time flies like an arrow", _of_head("8-11"), "head 8-11"),
    "02": _maps(
        _STORE,
        _best_for_patterns,
        7,
        "for each pattern the head that shows it most (one head for “same word” and “other text”)",
    ),
    "03": _grids(
        _surface,
        "BERT-base, 12 layers (down) of 12 heads: share of attention that goes there, mean of 12 short inputs (darkest: {largest:.2f}).",
        "BERT-base, recorded",
    ),
    "04": _arcs(
        _TIRED,
        lambda seen: seen.weights.mean(axis=1)[7],
        "the mean of the 12 heads of layer 8",
        special=True,
    ),
    "05": _maps(
        _STORE, lambda seen: dict(list(_every_head(seen).items())[48:96]), 12, "the 48 heads of layers 5 to 8"
    ),
    "06": _arcs(_TIRED, _of_head("8-11"), "another head, 8-11, for determiners"),
    "07": _arcs(_APPLES, _of_head("5-4"), "head 5-4 on another text"),
    "08": _arcs(_APPLES, _strongest, "for each word the strongest line to another word, of all 144 heads"),
    "09": _families,
    "10": _maps(
        _STORE,
        lambda seen: {f"{k + 1}": one for k, one in enumerate(seen.weights.mean(axis=1))},
        6,
        "the mean map of each of 12 layers",
        high=0.55,  # two rows of squares would be higher than their slide
    ),
    "11": _grids(
        _disabled,
        "BERT-base, 12 layers (down) of 12 heads, each disabled in turn, for MRPC and RTE: blue where the score falls, brown where it rises (darkest: by {largest:.1f} points, {where}; Kovaleva et al. 2019, read off Figure 8).",
        _PRINTED,
        signed=True,
    ),
    "12": _columns(_APPLES, "one sentence", special=False),
    "13": _columns(_TIRED, "one sentence", special=True),
    "14": _grids(
        _moved,
        "BERT-base, 12 layers (down) of 12 heads: 1 minus the cosine of a head's maps before and after fine-tuning (darkest: {largest:.2f}; Kovaleva et al. 2019, read off Figure 5).",
        _PRINTED,
    ),
}
