"""Pictures of the map of the course: its questions, its lessons, its models, what makes a claim, where things are."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from bertlook_teach.model import extract_attention
from bertlook_teach.views import (
    BADGES,
    INK,
    LINE,
    MUTED,
    OKABE_ITO,
    PAPER,
    PART_COLOURS,
    RULE,
    SELECTED,
    Cell,
    Grid,
    Picture,
    coordinate,
    text,
)

from ...claims import FAILS, HOLDS, Verdict
from ...render import (
    MODELS,
    TYPE,
    WIDE,
    broken_lines,
    cards_picture,
    draw_box,
    draw_chips,
    draw_path,
    draw_sign,
    lesson_table,
    value_cell,
)
from ...syllabus import LESSONS, PARTS
from ..common import subject
from .sketches import (
    MADE_UP,
    draw_arcs,
    draw_hands,
    draw_head_off,
    draw_lines,
    draw_map,
    draw_page,
    draw_pencil,
    draw_sums,
    draw_texts,
    draw_word,
)

_WIDTH, _EM = WIDE, TYPE
_WORD = "photogenic"


_QUESTIONS = (
    "What does it compute? What does one picture of it show?",
    "Where do heads look, over many texts? What do they get from there?",
    "Do they find grammar and antecedents, better than a simple rule?",
    "Is a head needed? Is it useful? Does learning change it?",
)


def four_questions_picture() -> Picture:
    """The four parts of the course as four small drawings, each with what it asks: a schematic, made of no data."""
    body, column = [], _WIDTH / 4
    for part, (name, question) in enumerate(zip(PARTS, _QUESTIONS)):
        left, colour = column * part, PART_COLOURS[part]
        body.append(
            f'<path d="M{coordinate(left)} 46H{coordinate(left + column - 36)}" stroke="{colour}" stroke-width="5"/>'
        )
        body.append(text(left, 22, name, extra=' font-weight="650"'))
        body += (draw_lines, draw_texts, draw_arcs, draw_head_off)[part](left + 20, 74)
        body += [
            text(left, 284 + 32 * k, line) for k, line in enumerate(broken_lines(question, _EM, column - 6))
        ]
    sentence = "A schematic. The two bars at the right: a score with the head and without it. Each question needs the one before, and none answers the next."
    return Picture(body, _WIDTH, 430, "The four questions", sentence, _EM, wide=True)


def questions_picture(start: int = 0, stop: int | None = None) -> Picture:
    """What each lesson asks, on the colour of its part, and the numbers of the lessons that it builds on."""
    lessons = LESSONS[start:stop]
    body, high = [text(_WIDTH - 150, 18, "builds on", fill=MUTED)], 66.0
    for row, one in enumerate(lessons):
        middle, colour = 40 + high * (row + 0.5), PART_COLOURS[one.part]
        body.append(_tile(0, middle, one.number, colour, filled=True))
        lines = broken_lines(one.question, _EM, 830)
        first = middle - 15 * (len(lines) - 1)
        body += [text(76, first + 30 * k, line) for k, line in enumerate(lines)]
        body += [
            _tile(_WIDTH - 150 + 74 * k, middle, number, PART_COLOURS[_part(number)])
            for k, number in enumerate(one.needs)
        ]
    table = lesson_table(lessons)
    said = " ".join(f"{row[0]}: {row[1]}" for row in table.rows)
    caption = "A lesson's number has the colour of its part on the map."
    return Picture(
        body,
        _WIDTH,
        40 + high * len(lessons),
        "What lessons ask",
        said,
        _EM,
        numbers=(table,),
        caption=caption,
        wide=True,
    )


def ledger_line_picture() -> Picture:
    """A line of the ledger with made-up numbers, and what each of its marks means."""
    c, line, blue, grey = coordinate, 545.0, MODELS["specimen"].colour, MODELS["random twin"].colour
    y = 190.0
    callouts = (
        (430, 50, "grey square: its random twin,", "the same shape, untrained", 430, y - 12, "end"),
        (662, 50, "bar: 95 % interval;", "19 of 20 contain the true value", 690, y - 5, "start"),
        (
            520,
            300,
            "shaded: what the claim needs,",
            "fixed before anything was run",
            line - 40,
            y + 58,
            "end",
        ),
        (570, 300, "circle:", "our model", 633, y + 14, "start"),
        (710, 300, "tick: holds; cross: not;", "question mark: undecided", 925, y + 18, "start"),
    )
    body = [
        text(0, y - 16, "Some head does this"),
        text(0, y + 18, "published: 0.62", fill=MUTED),
        f'<rect x="{c(line)}" y="{c(y - 24)}" width="165" height="46" fill="{RULE}" opacity="0.6"/>',
        f'<path d="M{c(line)} {c(y - 40)}V{c(y + 30)}" stroke="{INK}" stroke-width="2" stroke-dasharray="3 5"/>',
        f'<path d="M580 {c(y)}H690" stroke="{blue}" stroke-width="6"/>',
        f'<circle cx="635" cy="{c(y)}" r="10" fill="{PAPER}" stroke="{blue}" stroke-width="3"/>',
        f'<rect x="421" y="{c(y - 9)}" width="18" height="18" fill="{grey}"/>',
        text(620, y - 34, ".34 [.27, .41]", anchor="middle"),
        text(line, y + 44, "needs > .20", anchor="middle", fill=MUTED),
        *draw_sign(HOLDS, 925, y, "holds"),
    ]
    for x, top, first, second, to_x, to_y, anchor in callouts:
        start, foot = (
            (top + 50, x) if top < y else (top - 20, min(x + 30, to_x) if anchor == "start" else x - 20)
        )
        body.append(
            f'<path d="M{c(foot)} {c(start)}L{c(to_x)} {c(to_y)}" stroke="{MUTED}" stroke-width="1.5"/>'
        )
        body.append(text(x, top, first, anchor=anchor, fill=MUTED))
        body.append(text(x, top + 32, second, anchor=anchor, fill=MUTED))
    sentence = (
        "A made-up line. A claim holds if the model's whole interval meets what is needed, the twin's does not (only its middle is drawn), and the two intervals "
        "do not overlap. It does not hold if the model's whole interval lies on the other side. Otherwise it is undecided."
    )
    return Picture(body, _WIDTH, 352, "How to read a line of the ledger", sentence, _EM, wide=True)


def models_picture(models: Sequence[tuple[str, int, int, str]]) -> Picture:
    """Models as grids of their heads, each with its random twin in grey behind it, and what it is for.

    Parameters
    ----------
    models : sequence of (name, layers, heads, what it is for)
        Names begin as in `MODEL_WORDS` of views/drawing/palette.py: "specimen", "MiniLM", "BERT-base".
    """
    body, tallest, cell, column, most = (
        [],
        0,
        20.0,
        _WIDTH / len(models),
        max(layers for _, layers, _, _ in models),
    )
    foot = 20 + cell * most
    for number, (name, layers, heads, purpose) in enumerate(models):
        left = column * number + 10
        colour = MODELS[name].colour if name in MODELS else INK
        twin = Grid(left + 16, foot - cell * layers - 16, layers, heads, cell, cell, _EM)
        body += twin.cells(lambda *_: Cell(RULE, edge=MUTED), round=0)
        grid = Grid(left, foot - cell * layers, layers, heads, cell, cell, _EM)
        fill = PAPER if name == "specimen" else colour
        body += grid.cells(
            lambda *_, fill=fill, colour=colour: Cell(fill, edge=colour if fill == PAPER else PAPER), round=0
        )
        body.append(
            text(
                left,
                foot + 28,
                name,
                fill=BADGES[name][1] if name in BADGES else INK,
                extra=' font-weight="650"',
            )
        )
        lines = [f"{layers} layers of {heads} heads", *broken_lines(purpose, _EM, column - 40)]
        tallest = max(tallest, len(lines))
        body += [
            text(left, foot + 62 + 32 * k, line, fill=INK if k else MUTED) for k, line in enumerate(lines)
        ]
    sentence = "A cell is a head. Grey: a random twin of the same shape, which has never read a word; the lessons use those of the models that answer here."
    return Picture(
        body, _WIDTH, foot + 46 + 32 * tallest, "The models of the course", sentence, _EM, wide=True
    )


def keys_picture(keys: Sequence[tuple[Sequence[str], str]]) -> Picture:
    """Keys as they look on a keyboard, and what each does.

    Parameters
    ----------
    keys : sequence of (names of keys, what they do)
    """
    body, high, rows = [], 80.0, -(-len(keys) // 2)
    for place, (names, does) in enumerate(keys):
        x, y = 540.0 * (place // rows), high * (place % rows) + 40
        for name in names:
            wide = 26 + 15.0 * len(name)
            body.append(
                f'<rect x="{coordinate(x + 2)}" y="{coordinate(y - 23)}" width="{coordinate(wide)}" height="46" rx="8" fill="{PAPER}" '
                f'stroke="{INK}" stroke-width="2.5"/>'
            )
            body.append(text(x + 2 + wide / 2, y, name, anchor="middle"))
            x += wide + 10
        body.append(text((540.0 + 190 if place >= rows else 240.0), y, does))
    said = "As long as a frame surrounds a live view, the arrow keys go to it. Esc gives them back to the slides."
    return Picture(body, _WIDTH, high * rows + 8, "Keys", said, _EM, wide=True)


def _part(number: str) -> int:
    return next(one.part for one in LESSONS if one.number == number)


def _tile(x: float, y: float, number: str, colour: str, *, filled: bool = False) -> str:
    box = (
        f'<rect x="{coordinate(x + 2)}" y="{coordinate(y - 22)}" width="56" height="44" rx="6" '
        f'fill="{colour if filled else PAPER}" stroke="{colour}" stroke-width="3"/>'
    )
    return box + text(x + 30, y, number, anchor="middle", fill=PAPER if filled else INK)


def predict_picture() -> Picture:
    """How a class predicts, in three steps."""
    slide = [draw_box(0, 0, 190, 120), draw_word("?", 84)]
    cards = [
        (slide, "1  The slide asks", "Nobody says anything yet."),
        (
            [*draw_page(0), draw_word("B", 60), *draw_pencil()],
            "2  All write",
            "One letter, on paper. That is the commitment.",
        ),
        (draw_hands(), "3  Hands up, then Space", "The computer answers, here and now."),
    ]
    caption = (
        "If you did not write it down, you did not predict it: afterwards everybody “knew it all along”."
    )
    return cards_picture(cards, caption, arrows=True, high=200)


def said_picture(entries: Sequence) -> Picture:
    """Three sentences that people often say, each with a sketch of what it says."""
    wild = np.random.default_rng(3).random((8, 8)) ** 3
    sketches = (
        draw_sums("111"),
        draw_chips([["Birds", "sing"], [_WORD]]),
        draw_map(wild, 18)[1],
    )
    cards = [
        (sketch, f"{letter}  {entry.says}", "") for letter, sketch, entry in zip("ABC", sketches, entries)
    ]
    return cards_picture(cards, "The numbers and the map in these sketches are made up.", high=200)


def found_picture(entries: Sequence, results: Sequence, encoder, twin) -> Picture:
    """The same three with what was found: the columns of the map, the pieces of a word, and a map of an untrained model."""
    pieces = [token for token in extract_attention(encoder, _WORD).tokens if not token.startswith("[")]
    seen = extract_attention(twin, "the old man saw a small bird")
    even = seen.weights.reshape(-1, *seen.weights.shape[2:])[0]
    sketches = (
        draw_sums([f"{column:.2f}" for column in MADE_UP.sum(axis=0)]),
        [*draw_chips([[_WORD]], -44), draw_path("M0 -20v34m-10 -12l10 12l10 -12"), *draw_chips([pieces], 40)],
        draw_map(even, 16)[1],
    )
    cards = [
        (sketch, f"{letter}  {entry.says}", result.sentence, FAILS if result.refuted else HOLDS, "")
        for letter, sketch, entry, result in zip("ABC", sketches, entries, results)
    ]
    caption = f"A: a made-up map. B: the tokenizer of {subject(encoder)}. C: a head of its random twin. The course has a list of such sentences, each with what is true instead."
    return cards_picture(cards, caption, high=150)


def claim_steps_picture(found: Verdict) -> Picture:
    """What makes a published sentence a claim: the sentence, what would refute it, and the verdict."""
    claim, printed = found.claim, found.published.replace(", ", " for head ")
    line = draw_path("M-130 0H130", colour=MUTED) + draw_path("M0 -60V50", dash="3 6")
    side = -1 if claim.below else 1  # the side of the line that the claim needs
    shaded = f'<rect x="{-130 if claim.below else 0}" y="-40" width="130" height="80" fill="{RULE}" opacity="0.6"/>'
    dot = f'<circle cx="{side * (95 if found.verdict == HOLDS else -65)}" cy="0" r="11" fill="{PAPER}" stroke="{LINE}" stroke-width="4"/>'
    needs = text(
        side * 82, 66, f"needs {'<' if claim.below else '>'} {claim.line()}", anchor="middle", fill=MUTED
    )
    refuted = [needs, text(-side * 65, 66, "does not hold", anchor="middle", fill=MUTED)]
    cards = [
        (
            draw_page(4),
            "Somebody says it",
            f"{claim.sentence}: {claim.source}, {claim.section}; {printed}, read off a plot.",
        ),
        (
            [shaded, line, *refuted],
            "We say what would refute it",
            f"Before we run anything: {claim.operational} must be {'below' if claim.below else 'above'} {claim.line()}.",
        ),
        (
            [shaded, line, dot],
            "The computer decides",
            f"{found.model[:1].upper()}{found.model[1:]}: {value_cell(found)} in {found.n} pairs of texts; its twin: {found.twin:.2f}.",
            found.verdict,
            found.verdict,
        ),
    ]
    return cards_picture(
        cards,
        "A sentence that nothing could refute cannot be tested. The ledger lists it with the reason.",
        arrows=True,
    )


def places_picture() -> Picture:
    """Where a student finds what is not on the slides."""
    tick = draw_path("M-26 2l16 18l34 -44", colour=OKABE_ITO["green"], width=8)
    book = draw_path("M0 -46q-50 -22 -86 0v92q36 -22 86 0q50 -22 86 0v-92q-36 -22 -86 0v92", fill=PAPER)
    bubble = draw_path("M-84 -54h168v76h-104l-24 30v-30h-40z", fill=PAPER)
    cross = draw_path("M-34 -42l68 52m0 -52l-68 52", colour=OKABE_ITO["vermillion"], width=7)
    folder = draw_path("M-92 56v-112h60l14 18h110v94z", colour=MUTED, fill=PAPER)
    cards = [
        (
            [*draw_page(0), tick],
            "Exercises",
            "One notebook for each lesson. A wrong answer gets a hint at once.",
        ),
        (
            [book, draw_word("A–Z", 40, y=-2)],
            "Glossary",
            "Each term has one meaning. The bibliography lists every source.",
        ),
        ([bubble, cross], "Misconceptions", "Often said, but not true: each with a run that refutes it."),
        (
            [folder, *draw_page(3, x=10)],
            "Papers",
            "Put clark2019.pdf into the folder papers: slides then show its page.",
        ),
    ]
    return cards_picture(cards, "All of them work without a network.", high=150)


def before_class_picture() -> Picture:
    """What a teacher does in the five minutes before class."""
    doctor = [
        draw_box(0, 0, 164, 110),
        text(0, -22, "bertlook", anchor="middle"),
        text(0, 14, "doctor", anchor="middle"),
    ]
    ready = [draw_box(0, 0, 164, 110), draw_path("M22 -42h54", colour=SELECTED, width=7, dash="10 6")]
    around = draw_path(
        "M-80 -18h150m-16 -14l16 14l-16 14M80 26h-150m16 -14l-16 14l16 14", colour=LINE, width=6
    )
    cards = [
        (doctor, "1  Check", "bertlook doctor tells you what is wrong, and how to mend it."),
        (ready, "2  Open", "Wait until the line at the top right of the deck is gone."),
        ([around], "3  Click", "Go through the whole deck and back: steps, views, notes."),
        (
            [*draw_page(2), draw_word("03", 40, y=32)],
            "4  Share",
            "No projector? bertlook export 03 makes one file that every student can open.",
        ),
    ]
    return cards_picture(cards, "No network is needed.", arrows=True, high=170)
