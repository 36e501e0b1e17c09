"""Schematic pictures of the map of the course: its four questions, its lessons' questions, a line of the ledger, the models, the keys."""

from __future__ import annotations

from collections.abc import Sequence

from bertlook_teach.views import (
    BADGES,
    INK,
    LINE,
    MUTED,
    OKABE_ITO,
    PAPER,
    PART_COLOURS,
    RULE,
    Cell,
    Grid,
    Picture,
    coordinate,
    text,
)

from ...claims import HOLDS
from ...syllabus import LESSONS, PARTS, Lesson
from ..drawing.layout import TYPE, WIDE, broken_lines
from ..drawing.marks import MODELS
from ..results.course import lesson_table
from .card_pictures import cards_picture
from .verdict_picture import draw_sign

_WIDTH, _EM = WIDE, TYPE

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
        body += (_lines, _many_lines, _right_and_wrong, _one_head_off)[part](left + 20, 74)
        body += [
            text(left, 284 + 32 * k, line) for k, line in enumerate(broken_lines(question, _EM, column - 6))
        ]
    sentence = "A schematic; bars: with the head, and without it. Each question needs the one before, and none answers the next."
    return Picture(body, _WIDTH, 430, "The four questions", sentence, _EM, wide=True)


_CAUTIONS = (
    ("One text", "may be no habit at all (lesson 3)"),
    ("Best of many", "looks good: take a baseline (lessons 3, 6)"),
    ("A pattern", "may need no training: ask the twin"),
    ("A large weight", "may carry little content (lesson 4)"),
    ("A working head", "may not be needed (lesson 11)"),
)


def cautions_picture() -> Picture:
    """What a picture of one head does not prove, as five small drawings: a schematic, made of no data."""
    drawn = (_many_lines, _best_of_many, _twins, _light_load, _one_head_off)
    cards = [(draw(0, 0), strong, rest) for draw, (strong, rest) in zip(drawn, _CAUTIONS)]
    return cards_picture(cards, "A schematic: none of the five drawings is data.", high=95, origin=(118, 70))


def questions_picture(lessons: Sequence[Lesson] = LESSONS) -> Picture:
    """What each lesson asks, on the colour of its part, and the numbers of the lessons that it builds on."""
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
        (430, 50, "grey square: its random twin,", "the same model before training", 430, y - 12, "end"),
        (710, 50, "bar: 95 % interval;", "19 of 20 hold the truth", 690, y - 5, "start"),
        (
            520,
            300,
            "dotted: what the claim needs,",
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
        "A made-up line. Holds: the whole interval meets what the claim needs, and the twin's interval (not drawn) does not, and the two do not "
        "overlap. Does not hold: the whole interval lies on the other side. Otherwise: undecided."
    )
    return Picture(body, _WIDTH, 352, "How to read a line of the ledger", sentence, _EM, wide=True)


def models_picture(models: Sequence[tuple[str, int, int, str]]) -> Picture:
    """Models as grids of their heads, each with its random twin in grey behind it, and what it is for.

    Parameters
    ----------
    models : sequence of (name, layers, heads, what it is for)
        Names begin as in `bertlook_teach.views.MODEL_WORDS`: "specimen", "MiniLM", "BERT-base".
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
    sentence = "A cell is a head. Grey behind each model: its random twin, of the same shape, which has never read a word."
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
    said = "Only the live view with the frame reacts to the keys."
    return Picture(body, _WIDTH, high * rows + 8, "Keys", said, _EM, wide=True)


def _part(number: str) -> int:
    return next(one.part for one in LESSONS if one.number == number)


def _tile(x: float, y: float, number: str, colour: str, *, filled: bool = False) -> str:
    box = (
        f'<rect x="{coordinate(x + 2)}" y="{coordinate(y - 22)}" width="56" height="44" rx="6" '
        f'fill="{colour if filled else PAPER}" stroke="{colour}" stroke-width="3"/>'
    )
    return box + text(x + 30, y, number, anchor="middle", fill=PAPER if filled else INK)


def _lines(left: float, top: float, widths=(9, 2, 6, 3, 8, 2), shift=(1, 0, 1, -1, -1, 0)) -> list[str]:
    """One head: from each token above a line to one below."""
    at, c = [left + 40 * k for k in range(6)], coordinate
    body = [
        f'<path d="M{c(at[k])} {c(top + 16)}C{c(at[k])} {c(top + 80)} {c(at[k + step])} {c(top + 80)} {c(at[k + step])} {c(top + 144)}" '
        f'fill="none" stroke="{LINE}" stroke-width="{wide}"/>'
        for k, (wide, step) in enumerate(zip(widths, shift))
    ]
    return body + [
        f'<circle cx="{c(x)}" cy="{c(y)}" r="7" fill="{INK}"/>' for x in at for y in (top + 8, top + 152)
    ]


def _many_lines(left: float, top: float) -> list[str]:
    """The same over many texts: sheets behind one another."""
    body = []
    for sheet in (2, 1, 0):
        x, y = left - 14 + 22 * sheet, top - 14 + 20 * (2 - sheet)
        body.append(
            f'<rect x="{coordinate(x)}" y="{coordinate(y)}" width="200" height="130" rx="6" fill="{PAPER}" stroke="{MUTED}" '
            'stroke-width="2"/>'
        )
    grid = Grid(left, top + 40, 5, 9, 19, 19, _EM)
    shade = ("#eef4fa", "#9cc3e0", LINE)
    return body + grid.cells(lambda i, j: Cell(shade[2 if j == i + 1 else 1 if j == 8 else 0]), round=0)


def _right_and_wrong(left: float, top: float) -> list[str]:
    """A head's arc that is right, above a rule's that is wrong."""
    at, base, c = [left + 40 * k for k in range(6)], top + 96, coordinate
    green, red = OKABE_ITO["green"], OKABE_ITO["vermillion"]
    return [
        *(f'<circle cx="{c(x)}" cy="{c(base)}" r="7" fill="{INK}"/>' for x in at),
        (
            f'<path d="M{c(at[4])} {c(base - 12)}C{c(at[4])} {c(base - 90)} {c(at[1])} {c(base - 90)} {c(at[1])} {c(base - 12)}" fill="none" '
            f'stroke="{green}" stroke-width="6"/>'
        ),
        (
            f'<path d="M{c(at[4])} {c(base + 12)}C{c(at[4])} {c(base + 56)} {c(at[3])} {c(base + 56)} {c(at[3])} {c(base + 12)}" fill="none" '
            f'stroke="{red}" stroke-width="4" stroke-dasharray="8 6"/>'
        ),
        text((at[1] + at[4]) / 2, base - 92, "head ✓", anchor="middle"),
        text(at[2] + 20, base + 62, "rule ✗", anchor="middle"),
    ]


def _one_head_off(left: float, top: float) -> list[str]:
    """A grid of heads of which one is off, and what is lost without it."""
    grid, c = Grid(left, top + 20, 4, 4, 32, 32, _EM), coordinate
    x, y = grid.middle(1, 2)
    body = grid.cells(lambda i, j: Cell(PAPER if (i, j) == (1, 2) else "#9cc3e0", edge=MUTED), round=0)
    body.append(
        f'<path d="M{c(x - 11)} {c(y - 11)}l22 22m0 -22l-22 22" stroke="{OKABE_ITO["vermillion"]}" stroke-width="5"/>'
    )
    for k, high in enumerate((128, 74)):
        body.append(
            f'<rect x="{c(left + 162 + 42 * k)}" y="{c(grid.bottom - high)}" width="32" height="{high}" fill="{(LINE, OKABE_ITO["vermillion"])[k]}"/>'
        )
    return body


def _best_of_many(left: float, top: float) -> list[str]:
    """A grid of heads of which one is dark."""
    grid = Grid(left, top + 20, 4, 5, 36, 32, _EM)
    return grid.cells(lambda i, j: Cell(LINE if (i, j) == (1, 3) else "#dce9f4", edge=PAPER), round=0)


def _twins(left: float, top: float) -> list[str]:
    """The same diagonal in two maps, of which one is grey."""
    body = []
    for k, dark in enumerate((MUTED, LINE)):
        grid = Grid(left + 80 * (1 - k), top + 50 * k, 5, 5, 22, 22, _EM)
        body += grid.cells(lambda i, j, dark=dark: Cell(dark if i == j else PAPER, edge=RULE), round=0)
    return body


def _light_load(left: float, top: float) -> list[str]:
    """A thick line that brings a small square, and a thin one that brings a large square."""
    body = []
    for k, (wide, side) in enumerate(((20, 16), (5, 60))):
        y = coordinate(top + 45 + 80 * k)
        body.append(f'<path d="M{coordinate(left)} {y}h110" stroke="{LINE}" stroke-width="{wide}"/>')
        body.append(
            f'<rect x="{coordinate(left + 120)}" y="{coordinate(top + 45 + 80 * k - side / 2)}" width="{side}" height="{side}" fill="{OKABE_ITO["orange"]}"/>'
        )
    return body
