"""What a lesson's number cannot say: four cards, each a sketch and a sentence. The sketches are made of no data but what is passed."""

from __future__ import annotations

from bertlook_teach.views import INK, LINE, MUTED, OKABE_ITO, PAPER, Picture, coordinate, text

from ...render import cards_picture, draw_box, draw_chips, draw_path
from .sketches import draw_page, draw_pencil, draw_texts, draw_twins

_GREY, _DARK = "#d3d8dc", LINE


def _smaller(sketch: list[str]) -> list[str]:
    return ['<g transform="scale(0.8)">', *sketch, "</g>"]


def _shares(left_out: float) -> list[str]:
    """A bar of which a share is not counted."""
    wide = 210.0
    gone = wide * left_out
    return [
        f'<rect x="{coordinate(-wide / 2)}" y="-26" width="{coordinate(gone)}" height="52" fill="{_GREY}" stroke="{INK}" stroke-width="2"/>',
        f'<rect x="{coordinate(gone - wide / 2)}" y="-26" width="{coordinate(wide - gone)}" height="52" fill="{_DARK}" stroke="{INK}" stroke-width="2"/>',
        text((gone - wide) / 2, 0, f"{100 * left_out:.0f} %", anchor="middle"),
    ]


def _stacks(sizes: tuple[int, ...], layer: int) -> list[str]:
    """Models of some layers each, with the same layer dark."""
    body = []
    for k, size in enumerate(sizes):
        high = 144.0 / max(sizes)
        for n in range(size):
            x, y = 78 * (k - (len(sizes) - 1) / 2), 72 - high * (n + 1)
            body.append(
                f'<rect x="{coordinate(x - 25)}" y="{coordinate(y)}" width="50" height="{coordinate(high - 1)}" '
                f'fill="{_DARK if n + 1 == layer else _GREY}"/>'
            )
    return body


def _line_and_curve() -> list[str]:
    """Two kinds of points that a curve tells apart and a line does not."""
    marks = [
        (-70, 30, 0),
        (-40, -20, 0),
        (0, -44, 0),
        (40, -20, 0),
        (70, 30, 0),
        (-20, 36, 1),
        (20, 36, 1),
        (0, 10, 1),
    ]
    points = [
        f'<circle cx="{x}" cy="{y}" r="10" fill="{OKABE_ITO["orange"] if kind else _DARK}"/>'
        for x, y, kind in marks
    ]
    return [
        *points,
        draw_path("M-95 16L95 -4", dash="9 7"),
        draw_path("M-50 62C-40 -44 40 -44 50 62", width=5),
    ]


def _bars(heights: dict[str, float]) -> list[str]:
    """Made-up bars with their names below."""
    body = []
    for k, (name, high) in enumerate(heights.items()):
        x = 84 * (k - (len(heights) - 1) / 2)
        fill = _GREY if k else _DARK
        body.append(
            f'<rect x="{coordinate(x - 26)}" y="{coordinate(42 - high)}" width="52" height="{high:g}" fill="{fill}" stroke="{INK}" stroke-width="2"/>'
        )
        body.append(text(x, 62, name, anchor="middle", fill=MUTED))
    return body


def _runs() -> list[str]:
    """Three runs that end at different heights."""
    return [
        draw_path(f"M-90 60C-40 60 -20 {y} 80 {y}", colour=_DARK, width=5)
        + f'<circle cx="86" cy="{y}" r="9" fill="{_DARK}"/>'
        for y in (-52, -12, 34)
    ]


def _moved_input() -> list[str]:
    """A head that is the same, under an input that moved."""
    return [
        draw_box(0, -34, 130, 44),
        text(0, -34, "head", anchor="middle"),
        draw_path("M0 -10V20m-9 0l9 -14l9 14"),
        draw_box(34, 46, 130, 44, fill=PAPER, edge=OKABE_ITO["vermillion"]),
        text(34, 46, "input", anchor="middle"),
        draw_path("M-84 46h42m-14 -10l14 10l-14 10", colour=OKABE_ITO["vermillion"]),
    ]


def antecedent_limits(head: str, special: float, n_texts: int, longest: int) -> Picture:
    """Lesson 7: what an accuracy on antecedents leaves out. ``special`` is the share of attention on special tokens."""
    return cards_picture(
        [
            (
                _shares(special),
                "How sure the head was",
                f"Attention to [CLS] and [SEP] is not counted: {100 * special:.0f} % of it in head {head}, over our texts.",
            ),
            (
                draw_chips([["nearest"], ["same word"], ["agreement"]]),
                "Why it looks there",
                "Very different ways of choosing can give the same score.",
            ),
            (
                draw_chips([["looks", "≠", "needs"]]),
                "That the model uses it",
                "Lesson 11 switches heads off.",
            ),
            (
                _smaller(draw_texts(-108, -71)),
                "How it does elsewhere",
                f"{n_texts} short texts by one author. Most mentions are pronouns; none looks back more than {longest} tokens.",
            ),
        ],
        "Grey: attention that is not counted. The other sketches are made of no data.",
    )


def layer_limits(n_layers: int, n_sentences: int) -> Picture:
    """Lesson 10: what a layer's number does not say."""
    return cards_picture(
        [
            (
                draw_chips([["read", "≠", "used"]]),
                "That BERT uses it there",
                "What can be read at layer 3 need not be read by layer 4 (lesson 11).",
            ),
            (
                _line_and_curve(),
                "That it is not there earlier",
                "A stronger probe may find it sooner. This one is linear (for pairs, with a product).",
            ),
            (
                _stacks((n_layers, 12, 24), 3),
                "Anything about another model",
                f"Layer 3 of {n_layers}, of 12 and of 24 are three different things.",
            ),
            (
                _smaller(draw_texts(-108, -71)),
                "What holds for other texts",
                f"These are {n_sentences} sentences by one author.",
            ),
        ],
        "The sketches are made of no data.",
    )


def keyword_limits() -> Picture:
    """Lesson 12: what may be said about heads and key words."""
    return cards_picture(
        [
            (
                [*draw_page(4), *draw_pencil()],
                "A head can underline",
                "Nobody trained it to, but marked texts chose it. Wordpieces help it (slide 7).",
            ),
            (
                _bars({"head": 92.0, "tf-idf": 80.0, "twin": 50.0}),
                "Compare with more than .5",
                "tf-idf shows what counting can do, the twin what a model does untrained.",
            ),
            (
                draw_chips([["read", "≠", "used"]]),
                "A regression only reads",
                "What can be read from all heads need not be what the model uses.",
            ),
            (
                draw_chips([["quantity"], ["data"], ["control"]]),
                "A list of “best heads”",
                "It must name quantity, data and control, and be scored on texts that did not choose.",
            ),
        ],
        "The sketches show no data.",
    )


def tuning_limits() -> Picture:
    """Lesson 14: what a change after fine-tuning does not say."""
    return cards_picture(
        [
            (_moved_input(), "Change is not use", "A head may move because its input moved."),
            (
                _smaller(draw_twins(-95, -80)),
                "Any training changes heads",
                "Only what goes beyond the control can be about the task.",
            ),
            (_runs(), "Seeds are the cases", "Heads are not. Three seeds prove little."),
            (
                draw_chips([["base", "≠", "large"]]),
                "One model is one model",
                "On stories negation beat its control in BERT-base, not in BERT-large (Zhao and Bethard 2020).",
            ),
        ],
        "The sketches show no data.",
    )
