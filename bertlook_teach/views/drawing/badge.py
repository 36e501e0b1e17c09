"""The badge of a picture: which model it shows, drawn into the picture so that it stays there wherever the picture goes."""

from __future__ import annotations

from .palette import BADGES, INK, PAPER, model_of
from .svg import content, coordinate, text_width


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
