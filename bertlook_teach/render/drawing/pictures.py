"""What a slide shows besides a live view: a picture with its sentence, a small table, bars, curves with intervals."""

from __future__ import annotations

import base64
import contextlib
import hashlib
import io
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from html import escape

import numpy as np

from .badge import badge_chip, badge_height
from .inputs import as_array
from .palette import INK, LINE, MUTED, PAPER, RULE, SELECTED
from .sentences import number
from .svg import FONT, attribute, content, coordinate, text, typeset_sentence, with_minus
from .text_table import TextTable

# As wide as designed, wider on a large screen so that its type keeps up with the text around it, never too wide.
_GROWS = "max(940px,73vw)"

# The numbers of the pictures that this Python has shown: a notebook keeps their markup alone, and an export asks for more.
SHOWN: dict[str, tuple[TextTable, ...]] = {}


@dataclass(frozen=True)
class Picture:
    """A drawing and what is said about it. It becomes text when something asks for its SVG or its HTML.

    Parameters
    ----------
    body : sequence of str
        The marks, as SVG.
    width, height : float
        Of the drawing, in its own units.
    title : str
        Its short name. Without one, as for a figure of matplotlib, the sentence names it.
    sentence : str
        What is to be seen, for the caption beneath and, with the title, for screen readers.
    font_size : float
        In units of the drawing.
    numbers : sequence of TextTable
        What a handout prints beside it.
    badge : str
        Which model it shows and how its numbers were come by: "BERT-base, recorded". It is drawn over the picture and begins its
        title, so it stays with the picture wherever that goes.
    caption : str
        In place of the sentence, beneath the picture alone.
    across : str
        A width in CSS, so that the drawing grows with the screen; it never exceeds the page. By default it has its own width.
    wide : bool
        As an image in a notebook it is as wide as its slide, whatever that is.
    unit : float
        Pixels of a unit of the drawing.

    Examples
    --------
    >>> from bertlook_teach.render import render_head_map
    >>> picture = render_head_map([[0.1, 0.2]], title="to [SEP]").with_badge("BERT-base, recorded")
    >>> "<title>BERT-base, recorded. to [SEP]</title>" in picture.svg
    True
    """

    body: Sequence[str]
    width: float
    height: float
    title: str
    sentence: str
    font_size: float = 18
    numbers: tuple[TextTable, ...] = field(default=(), compare=False)
    badge: str = ""
    caption: str = ""
    across: str = ""
    wide: bool = False
    unit: float = 1.0

    @property
    def beneath(self) -> str:
        """The caption, or the sentence where there is none."""
        return self.caption or self.sentence

    @property
    def name(self) -> str:
        """What it is called in the place of its drawing."""
        return ". ".join(filter(None, [self.badge, self.title or self.sentence]))

    @property
    def svg(self) -> str:
        """The whole picture: opens alone in a viewer, says its sentence to a screen reader, scales down to fit a page."""
        wide, high = self.width * self.unit, self._height * self.unit
        size = (
            f'width="{coordinate(wide)}" height="{coordinate(high)}"' if self.title else f'width="{wide:.0f}"'
        )
        return self._drawn(size, f"{self.across and f'width:{self.across};'}max-width:100%;height:auto")

    def on_paper(self, millimetres: float | None = None) -> tuple[str, float, float]:
        """The SVG for a file, its width and its height in millimetres; by default of its own size at 96 pixels an inch."""
        wide = round(millimetres if millimetres is not None else self.width * self.unit * 25.4 / 96, 3)
        high = round(wide * self._height / self.width, 3)
        return self._drawn(f'width="{wide:g}mm" height="{high:g}mm"'), wide, high

    @property
    def _height(self) -> float:
        return self.height + (badge_height(self.font_size) if self.badge else 0)

    def _drawn(self, size: str, style: str = "") -> str:
        w, h, em = coordinate(self.width), coordinate(self.height), self.font_size
        label = ". ".join(filter(None, [self.badge, self.title, self.sentence]))
        body = (
            [f'<rect width="{w}" height="{h}" rx="6" fill="{PAPER}"/>', *self.body]
            if self.title
            else self.body
        )
        kind = f'font-family="{escape(FONT, quote=True)}" font-size="{coordinate(em)}"'
        if not self.title:  # a figure of matplotlib: its marks are linked, its type is set in each text
            kind = 'xmlns:xlink="http://www.w3.org/1999/xlink"'
            style = ";".join(filter(None, [style, "stroke-linejoin:round;stroke-linecap:butt"]))
        styled, marked = f' style="{style}"' if style else "", ""
        if self.badge:  # the title stays the first child: a screen reader takes it only there
            down = coordinate(badge_height(em))
            marked = f' data-badge="{attribute(self.badge)}"'
            body = [
                *badge_chip(self.badge, self.width, em),
                f'<g transform="translate(0 {down})">',
                *body,
                "</g>",
            ]
        return "\n".join(
            [
                (
                    f'<svg xmlns="http://www.w3.org/2000/svg" role="img" aria-label="{attribute(label)}" {size} '
                    f'viewBox="0 0 {w} {coordinate(self._height)}" {kind}{styled}{marked}>'
                ),
                f"<title>{content(self.name)}</title>",
                *([f"<desc>{content(self.sentence)}</desc>"] if self.title else []),
                *body,
                "</svg>",
            ]
        )

    def with_badge(self, badge: str) -> Picture:
        """The picture with its badge, with which its caption begins, too; an empty one changes nothing."""
        return replace(self, badge=badge, caption=f"{badge}. {self.beneath}") if badge else self

    def at(self, across: str) -> Picture:
        """The picture at a width in CSS, such as ``"max(500px, 40vw)"``, so that it grows with the screen it is shown on."""
        return replace(self, across=across)

    def image(self, style: str = "") -> str:
        """The picture as an ``<img>`` that carries it inside its address; its name is the alternative text.

        For the outputs a notebook saves. JupyterLab and GitHub take every drawing tag out of a notebook that its reader has not
        run, and leave only its text; images they keep.
        """
        address = base64.b64encode(self.svg.encode("utf-8")).decode("ascii")
        styled = f' style="{style}"' if style else ""
        return f'<img{styled} src="data:image/svg+xml;base64,{address}" alt="{attribute(self.name)}">'

    def inline(self) -> str:
        """The picture as part of a page, for a live view."""
        return self._figure(self.svg)

    def _repr_html_(self) -> str:
        markup = self._figure(
            self.image(
                "width:100%;height:auto" if self.wide else f"width:{_GROWS};max-width:100%;height:auto"
            )
        )
        if self.numbers:
            SHOWN[picture_key(markup)] = self.numbers
        return markup

    def _figure(self, drawing: str) -> str:
        caption = f'<figcaption dir="auto">{typeset_sentence(escape(self.beneath))}</figcaption>'
        return f'<figure style="margin:0">{drawing}{caption}</figure>'

    def __repr__(self) -> str:
        return f"Picture: {self.beneath}"


def growing(width: float) -> str:
    """The CSS width of a picture that is as wide as designed on a screen of 1280 pixels, and as much wider as the screen is.

    >>> growing(320)
    'max(320px,25vw)'
    """
    return f"max({coordinate(width)}px,{int(width / 12.8)}vw)"


def picture_key(markup: str) -> str:
    """A short name for a picture that is known by its markup alone, as in a saved notebook."""
    return hashlib.sha256(markup.encode()).hexdigest()[:16]


def figure_picture(figure, sentence: str, numbers: tuple[TextTable, ...] | None = None) -> Picture:
    """A matplotlib figure as a `Picture`: SVG with real text, its sentence as label, coordinates rounded.

    Rounding to a tenth of a point makes the bytes the same on machines that differ in the last digits of a float.
    """
    import matplotlib

    from .figure_tables import figure_numbers
    from .figures import FIGURE_STYLE

    file = io.StringIO()
    with matplotlib.rc_context(FIGURE_STYLE), _anchored_lines(figure):
        figure.savefig(
            file, format="svg", metadata={"Date": None, "Creator": None, "Format": None, "Type": None}
        )
    svg = file.getvalue()
    svg = svg[svg.index("<svg") :]
    svg = re.sub(r"<metadata>.*?</metadata>", "", svg, flags=re.DOTALL)
    svg = re.sub(
        r"<style type=\"text/css\">.*?</style>", "", svg, flags=re.DOTALL
    )  # it would restyle the page
    svg = re.sub(
        r"<[^>]+>", lambda tag: _DECIMAL.sub(_rounded, tag.group()), svg
    )  # not the text between tags
    svg = _renamed_ids(svg).strip()
    opening = re.match(r"<svg[^>]*>", svg).group()
    width, height = map(float, re.search(r'viewBox="0 0 (\S+) ([^"]+)"', opening).groups())
    body = [svg[len(opening) : -len("</svg>")].strip()]
    numbers = figure_numbers(figure) if numbers is None else numbers
    return Picture(body, width, height, "", sentence, numbers=numbers, across=_GROWS, unit=4 / 3)


@contextlib.contextmanager
def _anchored_lines(figure):
    """Each line of a text of several lines is written with the anchor of the whole text.

    matplotlib does so for a single line. It sets every one of several where its own typeface puts the first letter, and in a page's
    typeface, which is narrower, they stand aside.
    """
    from matplotlib.text import Text

    several = [one for one in figure.findobj(Text) if "\n" in one.get_text()]
    for one in several:

        def draw(renderer, one=one, plain=one.draw):
            write = renderer.draw_text

            def anchored(*given, mtext=None, **more):
                write(*given, mtext=one, **more)

            renderer.draw_text = anchored
            try:
                plain(renderer)
            finally:
                renderer.draw_text = write

        one.draw = draw
    try:
        yield
    finally:
        for one in several:
            del one.draw


_DECIMAL = re.compile(r"-?\d+\.\d+")


def _rounded(found) -> str:
    return coordinate(float(found.group()))


def _renamed_ids(svg: str) -> str:
    """matplotlib names its ids after exact coordinates; name them after the picture's tags and words instead.

    Two pictures on one page keep different ids, and no number changes one: the last digits of numbers are not the same on every
    processor.
    """
    ids = list(dict.fromkeys(re.findall(r'\bid="([^"]+)"', svg)))
    for position, name in enumerate(ids):
        svg = re.sub(rf'(id="|#){re.escape(name)}(?=["\)])', rf"\g<1>i{position}", svg)
    tags_and_words = re.sub(r"(<[\w:]+)[^>]*|[-+−.\d]+", r"\1", svg)
    prefix = hashlib.sha256(tags_and_words.encode()).hexdigest()[:8]
    return re.sub(r'(id="|#)i(\d+)(?=["\)])', rf"\g<1>p{prefix}-\2", svg)


def interval_curves(
    series: Mapping[str, object],
    *,
    baseline: tuple[str, float] | None = None,
    size: tuple[float, float] = (9.8, 3.9),
    font_size: float = 18,
    **curves,
):
    """Layer curves with their intervals, published curves and a baseline, at the size of a slide: a matplotlib figure.

    Parameters
    ----------
    series : mapping of name to (mean, low, high), each of shape (layer,)
        What ``Profile.layer_mean`` returns.
    baseline : (name, value), optional
        A horizontal line.
    published, ylabel, title, ylim, size, font_size
        As in `layer_curves`. A published curve has no band: nobody printed an interval for it.

    Raises
    ------
    ValueError
        If an interval does not lie around its mean.
    """
    from .figures import layer_curves, legend_outside

    for name, (mean, low, high) in series.items():
        if not (np.all(np.asarray(low) <= mean) and np.all(np.asarray(mean) <= high)):
            raise ValueError(
                f"series {name!r} needs (mean, low, high) with low <= mean <= high in every layer."
            )
    means = {name: np.asarray(mean) for name, (mean, _, _) in series.items()}
    figure = layer_curves(means, size=size, font_size=font_size, **curves)
    axes = figure.axes[0]
    for line, (_, low, high) in zip(list(axes.lines), series.values()):
        axes.fill_between(line.get_xdata(), low, high, color=line.get_color(), alpha=0.25, linewidth=0)
    if baseline:
        name, value = baseline
        axes.axhline(value, color=MUTED, linewidth=2, linestyle=(0, (1, 2)), label=name, zorder=1)
    for legend in list(figure.legends):  # once more, now that the baseline has a name too
        legend.remove()
    legend_outside(figure, axes, "outside upper left", most=2)
    return figure


def render_offset_bars(
    values,
    offsets: Sequence[int] = tuple(range(-8, 9)),
    *,
    title: str = "",
    baseline: float | None = None,
    font_size: float = 24,
    width: float = 480,
    height: float = 400,
) -> Picture:
    """One bar per offset: how much attention goes so many tokens back (negative) or ahead (positive).

    Parameters
    ----------
    values : array of shape (offset,)
        Shares, from 0 to 1; the scale is the same for every head, so that two pictures can be compared.
    offsets : sequence of int
    baseline : float, optional
        Drawn as a dashed line: what a head that looks at all tokens equally would give.

    Returns
    -------
    Picture
        The previous and the next token are named in words below the axis.
    """
    values = as_array(values)
    if values.shape != (len(offsets),):
        raise ValueError(f"one value per offset is needed, {len(offsets)} of them; got shape {values.shape}.")
    if not np.isfinite(values).all() or values.min() < 0 or values.max() > 1.0005:
        raise ValueError("attention to an offset is a share from 0 to 1; scores before the softmax are not.")
    em = float(font_size)
    left, top, bottom = 2.6 * em, 3.0 * em, 2.9 * em
    plot = height - top - bottom
    pitch = (width - left - 0.5 * em) / len(offsets)

    def y(value):
        return top + (1 - value) * plot

    body = [text(0.3 * em, 0.9 * em, title, extra=' font-weight="600"')]
    for tick in (0, 0.5, 1):
        body.append(
            f'<path d="M{coordinate(left)} {coordinate(y(tick))}H{coordinate(width - 0.5 * em)}" stroke="{RULE}"/>'
        )
        body.append(text(left - 0.4 * em, y(tick), f"{tick:g}", anchor="end", fill=MUTED))
    for k, (offset, value) in enumerate(zip(offsets, values)):
        x = left + k * pitch
        fill = SELECTED if abs(offset) == 1 else LINE
        body.append(
            f"<g><title>offset {offset:+d}: {number(value)}</title>"
            f'<rect x="{coordinate(x + 0.12 * pitch)}" y="{coordinate(y(value))}" width="{coordinate(0.76 * pitch)}" '
            f'height="{coordinate(max(0.8, value * plot))}" fill="{fill}"/></g>'
        )
        if value >= 0.045:
            body.append(text(x + pitch / 2, y(value) - 0.6 * em, f"{value:.2f}".lstrip("0"), anchor="middle"))
        if offset % 2 == 0:
            body.append(
                text(
                    x + pitch / 2,
                    height - bottom + 0.8 * em,
                    with_minus(f"{offset:+d}") if offset else "0",
                    anchor="middle",
                )
            )
    if baseline is not None:
        body.append(
            f'<path d="M{coordinate(left)} {coordinate(y(baseline))}H{coordinate(width - 0.5 * em)}" '
            f'stroke="{MUTED}" stroke-width="2" stroke-dasharray="3 4"/>'
        )
    body.append(text(left, height - 0.8 * em, "← looks back", fill=INK))
    body.append(text(width - 0.5 * em, height - 0.8 * em, "looks ahead →", anchor="end", fill=INK))
    sentence = describe_offsets(values, offsets)
    # Grows with the screen, so that on a large one the type does not stay behind the text around it.
    across = f"max({coordinate(width)}px,44vw)"
    return Picture(body, width, height, title or "offsets", sentence, em, across=across)


def describe_offsets(values, offsets: Sequence[int] = tuple(range(-8, 9))) -> str:
    """Where a profile has its peak, and how much of all attention lies in the window.

    >>> describe_offsets([0.7, 0.1, 0.0], [-1, 0, 1])
    'Most goes to offset -1, the previous token (0.700); within these offsets lie 0.800 of all attention.'
    """
    values = as_array(values)
    peak = int(values.argmax())
    names = {-1: "the previous token", 0: "the token itself", 1: "the next token"}
    offset = offsets[peak]
    name = names.get(offset, f"{abs(offset)} tokens {'back' if offset < 0 else 'ahead'}")
    return (
        f"Most goes to offset {offset:+d}, {name} ({number(values[peak])}); "
        f"within these offsets lie {number(values.sum())} of all attention."
    ).replace("offset +0", "offset 0")
