"""Put pictures next to one another, and give them a width that follows the page."""

from __future__ import annotations

_NATURAL = 'style="max-width:100%;height:auto"'


def beside(*pictures: str) -> str:
    """Several pieces of HTML or SVG next to one another, or below where there is no room."""
    parts = "".join(f'<div style="flex:0 1 auto;min-width:0">{picture}</div>' for picture in pictures)
    return f'<div style="display:flex;flex-wrap:wrap;gap:.5em 1.5em;align-items:flex-start">{parts}</div>'


def scaled(svg: str, width: str) -> str:
    """One of our pictures at a CSS width, so that it grows with the screen it is shown on.

    Parameters
    ----------
    svg : str
        From a ``render_`` function.
    width : str
        For example ``"50vw"``, or ``"max(500px, 40vw)"``.

    Raises
    ------
    ValueError
        If it is not one of our pictures.

    Examples
    --------
    >>> from bertlook_teach.render import render_head_map
    >>> "width:40vw;max-width:100%" in scaled(render_head_map([[0.1, 0.2]]), "40vw")
    True
    """
    if _NATURAL not in svg:
        raise ValueError("scaled() takes a picture made by one of the render functions.")
    return svg.replace(_NATURAL, f'style="width:{width};max-width:100%;height:auto"', 1)
