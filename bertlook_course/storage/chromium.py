"""Find a Chromium-like browser on this computer, for the browser tests and for ``bertlook doctor``."""

from __future__ import annotations

import os
import shutil
from pathlib import Path

_COMMANDS = (
    "chromium",
    "chromium-browser",
    "google-chrome",
    "google-chrome-stable",
    "chrome",
    "msedge",
    "microsoft-edge",
)

_APPLICATIONS = (
    "/Applications/Google Chrome.app/Contents/MacOS/Google Chrome",
    "/Applications/Chromium.app/Contents/MacOS/Chromium",
    "/Applications/Microsoft Edge.app/Contents/MacOS/Microsoft Edge",
    r"C:\Program Files\Google\Chrome\Application\chrome.exe",
    r"C:\Program Files (x86)\Google\Chrome\Application\chrome.exe",
    r"C:\Program Files (x86)\Microsoft\Edge\Application\msedge.exe",
)


def find_chromium() -> Path | None:
    """The executable that the variable BERTLOOK_CHROMIUM names, else the first one found, else None."""
    named = os.environ.get("BERTLOOK_CHROMIUM")
    candidates = [named] if named else [*map(shutil.which, _COMMANDS), *_APPLICATIONS]
    return next((Path(path) for path in candidates if path and Path(path).is_file()), None)
