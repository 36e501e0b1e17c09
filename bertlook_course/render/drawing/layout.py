"""Put pictures next to one another."""

from __future__ import annotations


def beside(*pictures: str) -> str:
    """Several pieces of HTML or SVG next to one another, or below where there is no room."""
    parts = "".join(f'<div style="flex:0 1 auto;min-width:0">{picture}</div>' for picture in pictures)
    return f'<div style="display:flex;flex-wrap:wrap;gap:.5em 1.5em;align-items:flex-start">{parts}</div>'
