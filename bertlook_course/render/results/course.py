"""The map of the course: a box for each lesson, an arrow from what it stands on, and each box a link to its deck."""

from __future__ import annotations

from base64 import b64encode
from collections.abc import Sequence
from html import escape
from math import atan2, cos, pi, sin

from bertlook_teach.views import INK, LINE, MUTED, PAPER, PART_COLOURS, attribute, content, coordinate

from ...syllabus import LESSONS, PARTS, Lesson, paths_to
from ..drawing.text_table import TextTable

# In units of the drawing, 1000 wide; the boxes stand over it in per cents of the same frame.
_WIDTH, _HEIGHT = 1000.0, 400.0

# It is as wide as a slide of 16 to 9, and this much of the window high at most: what a heading and a line of text leave.
_MOST = 67

_BOX_WIDTH, _BOX_HEIGHT, _HEADING = 214.0, 74.0, 44.0

_COLUMN, _ROW, _LANE = (_WIDTH - _BOX_WIDTH) / (len(PARTS) - 1), 94.0, 16.0


class CourseMap:
    """The lessons as boxes with arrows, each box a link to its deck; a list of links where no picture can be shown.

    The boxes are ordinary links over a drawing of the arrows: Tab goes through them in the order of the course, Enter opens.
    In a notebook the links lead to the decks beside it; the slideshow opens them as slideshows, and an exported deck leads
    to the exported ones.

    Parameters
    ----------
    to : str or int, optional
        Show the way to this lesson: what does not lead to it has a dashed frame and an open number.
    """

    def __init__(self, to: str | int | None = None):
        self.on_the_way = paths_to(to) if to is not None else LESSONS
        self.sentence = describe_course(to)

    def _repr_html_(self) -> str:
        ratio = f"{coordinate(_WIDTH)}/{coordinate(_HEIGHT)}"
        parts = "".join(
            f'<div style="position:absolute;left:{_percent(_x(i), _WIDTH)};top:0;width:{_percent(_BOX_WIDTH, _WIDTH)};'
            f'font-weight:650;color:{INK};border-bottom:4px solid {PART_COLOURS[i]}">{content(name)}</div>'
            for i, name in enumerate(PARTS)
        )
        boxes = "".join(self._box(one) for one in LESSONS)
        return (
            f'<nav class="bertlook-course" aria-label="{attribute(self.sentence)}" style="position:relative;'
            f"width:min(100%,{_MOST * _WIDTH / _HEIGHT:.0f}vh);aspect-ratio:{ratio};font-size:max(24px,min(4vh,2.4vw));line-height:1.12;color:{INK};"
            f'background:{PAPER}">{_arrows(self.on_the_way)}{parts}{boxes}</nav>'
        )

    def _box(self, one: Lesson) -> str:
        x, y = _place(one)
        on = one in self.on_the_way
        colour = PART_COLOURS[one.part]
        number = (
            f'<span style="display:inline-block;padding:0 .3em;margin-right:.05em;font-weight:650;'
            f"border:2px solid {INK};background:{INK if on else PAPER};color:{PAPER if on else INK};"
            f'border-radius:.25em">{one.number}</span> '  # the space is read and copied
        )
        label = content(one.label).replace("-", "\u2011")  # no line ends inside "no-op"
        return (
            f'<a href="{escape(one.stem, quote=True)}.ipynb" title="{attribute(one.question)}" '
            f'aria-label="{attribute(_spoken(one))}" '
            f'style="position:absolute;box-sizing:border-box;left:{_percent(x, _WIDTH)};top:{_percent(y, _HEIGHT)};'
            f"width:{_percent(_BOX_WIDTH, _WIDTH)};height:{_percent(_BOX_HEIGHT, _HEIGHT)};padding:.1em .3em;"
            f"border:3px {'solid' if on else 'dashed'} {colour if on else MUTED};border-radius:.3em;background:{PAPER};"
            f'color:{INK};text-decoration:none;overflow:hidden">{number}{label}</a>'
        )

    def __repr__(self) -> str:
        return f"CourseMap: {self.sentence}"


def describe_course(to: str | int | None = None) -> str:
    """What the map shows, in words.

    >>> describe_course("04")
    'The way to lesson 4, Is [SEP] a no-op?: lessons 1, 3, 4.'
    """
    if to is None:
        arrows = sum(len(one.needs) for one in LESSONS)
        return f"{len(LESSONS)} lessons in {len(PARTS)} parts; {arrows} arrows, each to a lesson from one that it builds on."
    way = paths_to(to)
    numbers = ", ".join(str(int(one.number)) for one in way)
    return f"The way to lesson {int(way[-1].number)}, {way[-1].short}: lessons {numbers}."


def lesson_table(lessons: Sequence[Lesson] = LESSONS) -> TextTable:
    """What each lesson asks, and what it builds on."""
    rows = [[one.number, one.question, ", ".join(str(int(n)) for n in one.needs) or "-"] for one in lessons]
    return TextTable(["lesson", "asks", "builds on"], rows)


def _spoken(one: Lesson) -> str:
    needs = " and ".join(str(int(n)) for n in one.needs)
    lessons = "lessons" if len(one.needs) > 1 else "lesson"
    return f"{one.number} {one.label}. {one.question}" + (  # begins as it is seen
        f" Builds on {lessons} {needs}." if needs else ""
    )


def _x(part: int) -> float:
    return part * _COLUMN


def _place(one: Lesson) -> tuple[float, float]:
    """Upper left corner of a lesson's box."""
    row = [other for other in LESSONS if other.part == one.part].index(one)
    return _x(one.part), _HEADING + row * _ROW


def _arrows(on_the_way: Sequence[Lesson]) -> str:
    """The arrows under the boxes, as an image: each link says in words what it stands on."""
    numbers = {one.number for one in on_the_way}
    places = {one.number: one for one in LESSONS}
    paths = []
    for one in LESSONS:
        for needed in one.needs:
            on = one.number in numbers and needed in numbers
            style = f'stroke="{LINE if on else MUTED}" stroke-width="{4 if on else 2}"'
            style += "" if on else ' stroke-dasharray="4 5"'
            paths.append(_arrow(places[needed], one, style))
    svg = (
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {coordinate(_WIDTH)} {coordinate(_HEIGHT)}">'
        + "".join(paths)
        + "</svg>"
    )
    address = b64encode(svg.encode("utf-8")).decode("ascii")
    # As an image: JupyterLab takes inline drawings out of a notebook that its reader has not run.
    return (
        f'<img src="data:image/svg+xml;base64,{address}" alt="Arrows from each lesson to those that stand on it" '
        'style="position:absolute;left:0;top:0;width:100%;height:100%;max-height:none">'
    )


def _arrow(start: Lesson, end: Lesson, style: str) -> str:
    """From box to box: down to a neighbour, across to the next part, or through a lane around the boxes between."""
    (x1, y1), (x2, y2) = _place(start), _place(end)
    right, middle, last = x1 + _BOX_WIDTH, y2 + _BOX_HEIGHT / 2, end.part == len(PARTS) - 1
    if start.part == end.part and y2 - y1 < 1.5 * _ROW:
        points = [(x1 + _BOX_WIDTH / 2, y1 + _BOX_HEIGHT), (x1 + _BOX_WIDTH / 2, y2)]
    elif start.part == end.part:  # the last column has no lane at its right
        edge, out = (x1, y1 + 0.75 * _BOX_HEIGHT) if last else (right, y1 + 0.75 * _BOX_HEIGHT)
        lane = edge - _LANE if last else edge + _LANE
        points = [(edge, out), (lane, out), (lane, middle), (edge, middle)]
    elif end.part - start.part == 1:
        points = [(right, y1 + _BOX_HEIGHT / 2), (x2, middle)]
    else:
        out, above = y1 + 0.75 * _BOX_HEIGHT, y2 - (_ROW - _BOX_HEIGHT) / 2
        out = min(out, y2 + 0.25 * _BOX_HEIGHT)
        # A lane and a height of its own, or it would seem to go on where another arrow ends.
        lane, middle = x2 - 1.6 * _LANE, y2 + 0.75 * _BOX_HEIGHT
        points = [(right, out), (right + 2 * _LANE, out), (right + 2 * _LANE, above)]
        points += [(lane, above), (lane, middle), (x2, middle)]
    (xa, ya), (xb, yb) = points[-2:]
    back = atan2(yb - ya, xb - xa) + pi
    tip = [(xb + 14 * cos(back + turn), yb + 14 * sin(back + turn)) for turn in (0.5, -0.5)]
    head = _line([tip[0], (xb, yb), tip[1]])
    return f'<path d="{_line(points)}" fill="none" {style}/><path d="{head}" fill="none" {style.partition(" stroke-dash")[0]}/>'


def _line(points) -> str:
    return "M" + "L".join(f"{coordinate(x)} {coordinate(y)}" for x, y in points)


def _percent(value: float, of: float) -> str:
    return f"{100 * value / of:.2f}%"
