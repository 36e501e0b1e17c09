"""A picture: its drawing, its title, the sentence beneath it and its badge; it becomes SVG or HTML when something asks for that."""

from __future__ import annotations

import base64
import hashlib
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from html import escape

from .palette import BADGES, INK, PAPER, model_of
from .svg import FONT, attribute, content, coordinate, text_width, typeset_sentence

# As wide as designed, wider on a large screen so that its type keeps up with the text around it, never too wide.
GROWS = "max(940px,73vw)"

# The numbers of the pictures that this Python has shown: a notebook keeps their markup alone, and an export asks for more.
SHOWN: dict[str, tuple] = {}


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
    numbers : sequence of tables
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
    >>> from bertlook_teach.views import render_head_map
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
    numbers: tuple = field(default=(), compare=False)
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
        body, kind = self.body, f'font-family="{escape(FONT, quote=True)}" font-size="{coordinate(em)}"'
        if self.title:
            body = [f'<rect width="{w}" height="{h}" rx="6" fill="{PAPER}"/>', *body]
        else:  # a figure of matplotlib: its marks are linked, its type is set in each text
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
        said = f"{badge}. {self.beneath[:1].upper()}{self.beneath[1:]}"
        return replace(self, badge=badge, caption=said) if badge else self

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
            self.image("width:100%;height:auto" if self.wide else f"width:{GROWS};max-width:100%;height:auto")
        )
        if self.numbers:
            SHOWN[picture_key(markup)] = self.numbers
        return markup

    def _figure(self, drawing: str) -> str:
        said = typeset_sentence(escape(self.beneath)).strip()  # a caption of a space alone takes no room
        caption = said and f'<figcaption dir="auto">{said}</figcaption>'
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


# --- the badge: which model a picture shows, drawn into it so that it stays there wherever the picture goes ----
def badge_height(em: float) -> float:
    """Of the strip for a badge over a picture, in its own units; ``em`` is its type's size."""
    return 1.7 * em


def badge_chip(badge: str, width: float, em: float) -> list[str]:
    """The strip for a badge over a picture of this width: a chip in the model's colours, with its words."""
    # The chip is as wide as a reader's bold type may make the words, and they stand in its middle; in a narrow picture both shrink.
    words = 1.1 * text_width(badge, em)
    fit = min(1.0, (width - 0.2 * em) / (words + 1.2 * em))
    wide = (words + 1.2 * em) * fit
    held = f'textLength="{coordinate(words * fit)}" lengthAdjust="spacingAndGlyphs" ' if fit < 1 else ""
    fill, edge, ink = BADGES.get(model_of(badge) or "", (INK, INK, PAPER))
    return [
        f'<rect x="0" y="0" width="{coordinate(width)}" height="{coordinate(badge_height(em))}" fill="{PAPER}"/>',
        (
            f'<rect x="{coordinate(0.1 * em)}" y="{coordinate(0.1 * em)}" width="{coordinate(wide)}" '
            f'height="{coordinate(1.35 * em)}" rx="{coordinate(0.3 * em)}" fill="{fill}" stroke="{edge}" stroke-width="{coordinate(0.1 * em)}"/>'
        ),
        (
            f'<text x="{coordinate(0.1 * em + wide / 2)}" y="{coordinate(0.78 * em)}" dy=".35em" text-anchor="middle" fill="{ink}" '
            f'font-weight="600" {held}font-size="{coordinate(em)}" font-family="inherit">{content(badge)}</text>'
        ),
    ]
