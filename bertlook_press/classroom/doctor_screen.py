"""What `bertlook doctor` says of the screen: fonts, size, and a browser that opens by itself."""

from __future__ import annotations

import os
import re
from collections.abc import Iterator
from pathlib import Path

SMALLEST_SCREEN = (1024, 768)


class Failed(Exception):
    """A check failed. Arguments: what was found, and what to do about it."""


def fonts() -> str:
    """The figures have a typeface to write with."""
    from matplotlib import font_manager

    path = font_manager.findfont(font_manager.FontProperties(family=["sans-serif"]))
    if not Path(path).is_file():
        raise Failed("matplotlib found none", "Install one, for example DejaVu Sans.")
    return font_manager.FontProperties(fname=path).get_name()


_SCREENS = Path("/sys/class/drm")


def screen() -> str:
    """No screen is too small for the slides, and how to set up the projector."""
    advice = "full screen with f, the browser at 100 % (Ctrl+0), the bright look with D"
    sizes = list(_screens())
    if not sizes:
        return f"size unknown; slides need {SMALLEST_SCREEN[0]}x{SMALLEST_SCREEN[1]} or more: {advice}"
    shown = ", ".join(f"{wide}x{high}" for wide, high in sizes)
    if any(wide < SMALLEST_SCREEN[0] or high < SMALLEST_SCREEN[1] - 48 for wide, high in sizes):
        raise Failed(
            shown,
            f"Slides need {SMALLEST_SCREEN[0]}x{SMALLEST_SCREEN[1]}. Set the projector to more; or zoom out (Ctrl+-) "
            "until a slide fits, which makes its type smaller.",
        )
    return f"{shown}; {advice}"


def _screens() -> Iterator[tuple[int, int]]:
    """Width and height of each screen in pixels, as far as the system tells without a window."""
    for modes in sorted(_SCREENS.glob("card*-*/modes")):
        first = re.match(r"(\d+)x(\d+)", modes.read_text(encoding="utf-8"))  # the preferred one
        if first:
            yield int(first[1]), int(first[2])
    if os.name == "nt":
        import ctypes

        yield ctypes.windll.user32.GetSystemMetrics(0), ctypes.windll.user32.GetSystemMetrics(1)


def browser() -> str:
    """There is a browser to show the slides."""
    import webbrowser

    from bertlook_course.storage import find_chromium

    chromium = find_chromium()
    if chromium:
        return str(chromium)
    try:
        return f"{webbrowser.get().name} (slides were tried in Chromium and Chrome)"
    except (webbrowser.Error, AttributeError):
        raise Failed(
            "none found", "Install Chromium, Chrome or Edge, or open the printed address on another computer."
        ) from None
