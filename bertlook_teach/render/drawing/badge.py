"""The badge of a picture: which model it shows, drawn into the picture so that it stays there wherever the picture goes."""

from __future__ import annotations

import re

from .marks import model_of
from .palette import BADGES, INK, PAPER
from .svg import attribute, content, coordinate, text_width

SPECIMEN = "specimen"

_OPENING = re.compile(r"<svg\b[^>]*>")
_BOX = re.compile(r'\bviewBox="([^"]*)"')
_HEIGHT = re.compile(r'(?<![-\w])height="([\d.]+)"')
_TITLE = re.compile(r"<title>")


def with_badge(svg: str, badge: str, *, font_size: float | None = None) -> str:
    """Set a badge over a picture: a strip at its top that names the model; the picture itself stays as it is.

    Parameters
    ----------
    svg : str
        From a ``render_`` function, or the ``svg`` of a `Picture`.
    badge : str
        Which model, and how its numbers were come by: "BERT-base, recorded". An empty one changes nothing.
    font_size : float, optional
        In the picture's own units; by default its type's.

    Returns
    -------
    str
        The picture, taller by the strip. Its title, which screen readers and ``alt`` take, begins with the badge.

    Raises
    ------
    ValueError
        If it was not made by a ``render_`` function, so that there is no place for a badge.

    Examples
    --------
    >>> from bertlook_teach.render import render_head_map
    >>> "<title>BERT-base, recorded. " in with_badge(render_head_map([[0.1, 0.2]]), "BERT-base, recorded")
    True
    """
    if not badge:
        return svg
    opening = _OPENING.match(svg)
    box = _BOX.search(opening.group()) if opening else None
    if box is None:
        raise ValueError(
            "a badge is set on an SVG with a viewBox, as the render functions make it; got something else."
        )
    x, y, width, height = map(float, box.group(1).split())
    own = re.search(r'font-size="([\d.]+)"', opening.group())
    em = font_size or (float(own.group(1)) if own else 18.0)
    strip = 1.7 * em
    head = opening.group().replace(
        box.group(),
        f'viewBox="{coordinate(x)} {coordinate(y)} {coordinate(width)} {coordinate(height + strip)}"',
    )
    head = _HEIGHT.sub(
        lambda found: f'height="{coordinate(float(found.group(1)) * (height + strip) / height)}"',
        head,
        count=1,
    )
    head = head.replace('aria-label="', f'aria-label="{attribute(badge)}. ', 1)
    head = head[:-1] + f' data-badge="{attribute(badge)}">'
    inside = svg[opening.end() : svg.rindex("</svg>")]
    inside = _TITLE.sub(lambda found: f"<title>{content(badge)}. ", inside, count=1)
    # The title stays the first child: a screen reader takes it only there.
    title = re.match(r"\s*<title>.*?</title>\s*(?:<desc>.*?</desc>)?", inside, flags=re.DOTALL)
    named = title.group() if title else ""
    # The strip is as wide as a reader's bold type may make the words, and they stand in its middle; in a narrow picture both shrink.
    words = 1.1 * text_width(badge, em)
    fit = min(1.0, (width - 0.2 * em) / (words + 1.2 * em))
    wide = (words + 1.2 * em) * fit
    held = f'textLength="{coordinate(words * fit)}" lengthAdjust="spacingAndGlyphs" ' if fit < 1 else ""
    fill, edge, ink = BADGES.get(model_of(badge) or "", (INK, INK, PAPER))
    chip = (
        f'<rect x="{coordinate(x)}" y="{coordinate(y)}" width="{coordinate(width)}" height="{coordinate(strip)}" fill="{PAPER}"/>'
        f'<rect x="{coordinate(x + 0.1 * em)}" y="{coordinate(y + 0.1 * em)}" width="{coordinate(wide)}" '
        f'height="{coordinate(1.35 * em)}" rx="{coordinate(0.3 * em)}" fill="{fill}" stroke="{edge}" stroke-width="{coordinate(0.1 * em)}"/>'
        f'<text x="{coordinate(x + 0.1 * em + wide / 2)}" y="{coordinate(y + 0.78 * em)}" dy=".35em" text-anchor="middle" fill="{ink}" '
        f'font-weight="600" {held}font-size="{coordinate(em)}" font-family="inherit">{content(badge)}</text>'
    )
    return (
        f'{head}{named}{chip}<g transform="translate(0 {coordinate(strip)})">{inside[len(named) :]}</g></svg>'
    )


def badge_figure(figure, badge: str, *, font_size: float = 18):
    """Write the badge over a matplotlib figure, at the right above everything else, and give the figure back.

    The figure's own layout makes room for it. Call it once a figure: a second badge would say a second model.

    Raises
    ------
    ValueError
        If the figure has a badge already.
    """
    if figure.get_suptitle():
        raise ValueError(
            f"the figure is already marked {figure.get_suptitle()!r}; make another figure for {badge!r}."
        )
    fill, edge, ink = BADGES.get(model_of(badge) or "", (INK, INK, PAPER))
    chip = {"boxstyle": "round,pad=0.25", "facecolor": fill, "edgecolor": edge, "linewidth": 2}
    figure.suptitle(badge, x=0.995, ha="right", fontsize=font_size, fontweight=600, color=ink, bbox=chip)
    return figure
