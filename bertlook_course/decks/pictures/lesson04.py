"""Pictures of lesson 04 that need no text of the course: three hypotheses, three made-up tokens, and one sentence in one head."""

from __future__ import annotations

import math
from collections.abc import Callable

import numpy as np

from bertlook_teach.measures import value_norms
from bertlook_teach.model import (
    extract_attention,
    head_label,
    output_projection,
    parse_head_label,
    random_twin,
)
from bertlook_teach.views import (
    INK,
    KEY_TITLE,
    LINE,
    MUTED,
    PAPER,
    QUERY_TITLE,
    RULE,
    SELECTED,
    Picture,
    coordinate,
    render_attention_lines,
    text,
)

from ...claims import FAILS, HOLDS, OPEN, SINKS, collect_evidence
from ...render import (
    cards_picture,
    draw_box,
    draw_mark,
    draw_path,
    draw_sign,
    figure_picture,
    small_maps,
    sums_figure,
    terms_figure,
    turn_figure,
)
from ..common import short_title, subject
from ..lesson04 import Deck
from ..parts.lesson04_norms import banded, idle_head, length_of, share_of, sink_of, sinks_figure

_WIDE = 1030.0
_SIGNS = {"yes": HOLDS, "no": FAILS}


# --- three hypotheses -------------------------------------------------------------------------------------------
def _gathering() -> list[str]:
    at = (-116, -76, -36, 4)
    collects = "".join(f"M{x} 10C{x} {-70 - x / 3:.0f} 92 -70 92 -8" for x in at[:3])
    return [
        draw_path(collects, colour=LINE, width=4),
        draw_path("M92 38C92 90 4 90 4 34m-9 14l9 -14l9 14", colour=SELECTED, width=4, dash="8 5"),
        *(f'<circle cx="{x}" cy="20" r="10" fill="{MUTED}"/>' for x in at),
        draw_box(92, 15, 76, 40),
        text(92, 15, "[SEP]", anchor="middle"),
    ]


def _weights_and_values(left: float, tall: float, value: float) -> list[str]:
    """Bars of a row of weights, the last of them on [SEP], and below that one the size of what comes from there."""
    bars = "".join(f"M{left + 22 * k} 20v-{high}h14v{high}z" for k, high in enumerate((9, 5, 12, tall)))
    square = draw_box(left + 73, 48, value, value, fill=SELECTED if value > 12 else PAPER, edge=SELECTED)
    return [draw_path(bars, colour=LINE, fill=LINE, width=1), square]


def hypotheses_picture() -> Picture:
    """Why a head may look at [SEP]: a schematic, made of no data."""
    rests = _weights_and_values(-50, 84, 10)
    varies = [
        mark for x, size in ((-132, 10), (-44, 30), (44, 46)) for mark in _weights_and_values(x, 70, size)
    ]
    cards = [
        (_gathering(), "Gathering", "[SEP] collects its text, and other tokens read it there."),
        (rests, "Resting (no-op)", "A head without a job must put its weight somewhere: rows sum to 1."),
        (varies, "Side effect", "The weight means neither; what comes from there varies from head to head."),
    ]
    return cards_picture(
        cards, "Blue: weight, the tallest bar on [SEP]. Orange: what comes from there. A schematic."
    )


# --- three made-up tokens ---------------------------------------------------------------------------------------
def nudge_picture(weights: np.ndarray, values: np.ndarray) -> Picture:
    """The gradient of a made-up loss by each weight, which is g · v, and what nudging a weight changes."""

    def loss(given):  # how far what the head writes is from (1, 1)
        return ((given @ values - 1) ** 2).sum()

    gradient = values @ (2 * (weights @ values - 1))
    nudged = [(loss(weights + 1e-6 * one) - loss(weights)) / 1e-6 for one in np.eye(len(weights))]
    panels = {
        "weight": (weights, "how much each token gets"),
        "g · v": (gradient.round(2), "change of the loss per unit of weight"),
    }
    return figure_picture(
        terms_figure(panels, [f"v = ({x:g}, {y:g})" for x, y in values], one_scale=False),
        "The largest weight has the gradient nearest 0. Nudged by a millionth, each weight changes the loss at the same "
        f"rate as g · v: {', '.join(f'{one:+.2f}' for one in nudged)}.",
    )


def added_picture(weights: np.ndarray, vectors: np.ndarray, added: np.ndarray) -> Picture:
    """What each token gets, how long its vector is, and how much it adds: the product."""
    panels = {
        "weight": (weights, "a share of 1"),
        "× length of f(x)": (np.linalg.norm(vectors, axis=-1).round(2), "after the output matrix"),
        "= what is added": (added.round(2), f"{added.sum():.2f} in all"),
    }
    most = int(weights.argmax())
    said = f"Token {most + 1} gets {weights[most]:.0%} of the weight, and gives {added[most] / added.sum():.0%} of what is added."
    return figure_picture(terms_figure(panels, "123", one_scale=False), said.replace("%", " %"))


def turned_picture(weights: np.ndarray, values: np.ndarray) -> Picture:
    """How far an output turns when the last token's value is taken away."""
    shares = [f"{100 * weight:.0f} %" for weight in weights]
    names = [f"token {k + 1}, {share} of the weight" for k, share in enumerate(shares)]
    figure, turned = turn_figure(weights[:, None] * values, names)
    said = f"Token 3 gets {shares[-1]} of the weight. Without its value the output turns by only {turned:.0f} degrees, because its vector is short."
    return figure_picture(figure, said)


def vectors_that_cancel() -> Picture:
    """Two vectors of one length that point the same way, across and against each other, with their sums."""
    ahead, across, back = [1, 0], [0, 1], [-1, 0]
    panels = {
        "the same way": [ahead, ahead],
        "at a right angle": [ahead, across],
        "in opposite directions": [ahead, back],
    }
    return figure_picture(
        sums_figure(panels), "Two vectors of length 1, so the sum of the norms is 2. Thick: their sum."
    )


def rollout_picture(rollout: Callable, layer: np.ndarray) -> Picture:
    """Where everything ends up after one, two and six equal layers."""
    maps = {}
    for depth in (1, 2, 6):
        mixed = rollout([layer] * depth)
        maps[f"rollout, {depth}"] = (mixed, f"last column: {mixed[0, -1]:.2f}")
    said = f"Each layer gives [SEP], the last column, {layer[0, -1]:.2f}. One layer passes half of that on; after six, nearly all of it has arrived."
    return small_maps(
        {"each layer": (layer, f"last column: {layer[0, -1]:.2f}")} | maps, said, size=(9.8, 2.9)
    )


# --- what came out ----------------------------------------------------------------------------------------------
def came_out_picture(deck: Deck) -> Picture:
    """What would be small if [SEP] gathered, or if attention rested there: each row beside its own line, and what came out."""
    c, left, line, body, table = coordinate, 430.0, 650.0, [], deck.answer_table()
    body += [
        text(line - 12, 14, "as predicted ←", anchor="end", fill=MUTED),
        text(line + 12, 14, "→ not", fill=MUTED),
    ]

    def at(value: float, under: float) -> float:
        return max(left, line + 110 * math.log10(value / under))

    for row, (who, what, under, printed, ours, twin, said) in enumerate(table.rows):
        y = 74 + 72.0 * row
        body += [
            f'<path d="M0 {c(y - 38)}H{_WIDE:.0f}" stroke="{RULE}"/>',
            f'<path d="M{line:.0f} {c(y - 30)}V{c(y + 26)}" stroke="{INK}" stroke-width="2" stroke-dasharray="3 5"/>',
            text(0, y - 15, f"{who}: {what}"),
            text(
                0,
                y + 15,
                f"under {under}?" + ("" if printed == "-" else f"  BERT-base: {printed}"),
                fill=MUTED,
            ),
        ]
        body += draw_sign(_SIGNS.get(said, OPEN), 866, y, said)
        if said == "not measured":
            continue
        x, square = (at(one.value, under.value) for one in (ours, twin))
        body += [
            draw_mark("random twin", square, y),
            draw_mark(deck.name, x, y),
            text(836, y, f"{ours.value:.{2 if ours.value > 0.1 else 3}f}", anchor="end"),
        ]
    caption = f"Circle: {deck.name}, n = {deck.n_texts} texts; square: random twin. Each row has its own logarithmic scale.{deck.said_undecided()}"
    said = " ".join(f"{row[0]}, {row[1]}: {row[-1]}." for row in table.rows)
    high = 46 + 72.0 * len(table.rows)
    return Picture(
        body,
        _WIDE,
        high,
        "What came out",
        f"{said} {caption}",
        26,
        numbers=(table,),
        caption=caption,
        wide=True,
    )


# --- one sentence in one head -----------------------------------------------------------------------------------
def faded_pictures(deck: Deck, sentence: str, layer: int, head: int) -> dict[str, Picture]:
    """Weights and, beside them, weighted norms: of a head, and of the two that look at [SEP] where least and most of it is kept."""
    encoder = deck.encoder
    seen = extract_attention(encoder, sentence, vectors=True)
    lengths = value_norms(seen, output_projection(encoder))
    added = seen.weights * lengths[:, :, None, :]
    got, kept = seen.weights[..., -1].mean(axis=-1), (added[..., -1] / added.sum(axis=-1)).mean(axis=-1)
    rests = np.where(got >= min(0.5, got.max()), kept / got, np.nan)
    others = [np.unravel_index(find(rests), rests.shape) for find in (np.nanargmin, np.nanargmax)]
    names = {f"{head_label(layer, head)}: most weight": (layer, head)}
    names |= {
        f"{head_label(*map(int, place))}: fades {how}": place for how, place in zip(("most", "least"), others)
    }
    found = {}
    for name, place in names.items():
        about = {"head": tuple(map(int, place)), "special": seen.special, "font_size": 26}
        sides = [
            render_attention_lines(
                seen.weights[place], seen.tokens, title=f"Head {head_label(*about['head'])}, weights", **about
            ),
            render_attention_lines(
                seen.weights[place],
                seen.tokens,
                norms=added[place],
                longest=float(lengths[place].max()),
                **about,
            ),
        ]
        right = sides[0].width - 76  # where one token's numbers would stand
        left, other = (  # two of each title would run into one another
            [part for part in side.body if KEY_TITLE not in part and QUERY_TITLE not in part]
            for side in sides
        )
        body = [*left, f'<g transform="translate({right:.0f} 0)">', *other, "</g>"]
        said = (
            f"Head {head_label(*about['head'])}, this sentence: {got[place]:.0%} of its weight goes to [SEP], and {kept[place]:.0%} of what it adds "
            f"comes from there; over {deck.n_texts} longer texts, {deck.from_sep[1][place]:.0%} does."
        )
        found[name] = Picture(
            body,
            right + sides[1].width - 76,
            sides[0].height,
            "Weights and norms",
            said.replace("%", " %"),
            26,
            wide=True,
        )
    return found


def on_cross_the_street(recording) -> dict:
    """Options of a `RecordedExplorer`: the word *cross* in the head that gives [SEP] most, and a head that rests where it has no object."""
    tired = next(text for text in recording if "cross the street" in text)
    layer, head = idle_head(recording)
    return {
        "sentences": list(recording)[3:7],
        "sentence": tired,
        "choices": {
            f"{head_label(layer, head)}: nearly all rest": (
                tired,
                layer,
                head,
                recording[tired].tokens.index("cross"),
            ),
            "8-10: the object looks, most others rest": (tired, *parse_head_label("8-10")),
        },
        "measure": "to [SEP]",
    }


def second_sink_picture(deck: Deck) -> Picture:
    """The share of the token on which each model rests: of the weights, of what the weighted vectors add, and in the twin."""
    sides = {deck.encoder: (deck.ours["norms"], deck.chance["norms"])}
    if deck.beside is not None:
        both = (
            collect_evidence("norms", one, deck.resources) for one in (deck.beside, random_twin(deck.beside))
        )
        sides = {deck.beside: tuple(both)} | sides
    panels, said, short = {}, [], []
    for model, (norms, twin) in sides.items():
        kind, layer = sink_of(norms)
        weights, added = (banded(norms, share_of(kind, name)) for name in ("weight", "added"))
        length = banded(norms, length_of(kind))[0][layer]
        panels[f"{short_title(model)}: {SINKS[kind]}"] = {
            "of the weights": weights,
            "of what is added": added,
            "its random twin": banded(twin, share_of(kind, "weight")),
        }
        short.append(length < 0.25)
        said.append(
            f"in layer {layer + 1} of {subject(model)} the vector of {SINKS[kind]} is {length:.2f} times as long as a word's "
            f"({weights[0][layer]:.2f} of the weights, {added[0][layer]:.2f} of what is added)"
        )
    answer = f"{'Yes' if all(short) else 'Not everywhere'}: {'; '.join(said)}. Bands: 95 %, n = {deck.n_texts} texts."
    return figure_picture(sinks_figure(panels), answer)
