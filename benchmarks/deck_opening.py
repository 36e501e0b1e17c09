"""Open decks live, as ``bertlook present`` does, one after another: seconds until the first slide is seen, and until all cells have run.

    python benchmarks/deck_opening.py [--loaded] [LESSON ...]

All decks by default. The browser has opened a deck before, as a lecturer's has. With ``--loaded`` one core is kept busy meanwhile. Needs
Chromium and Playwright, as the tests do.
"""

from __future__ import annotations

import argparse
import subprocess
import sys
import tempfile
import time
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT / "tests"))

from browser.conftest import Deck, Server, find_chromium, sign
from playwright.sync_api import sync_playwright

BUSY = [sys.executable, "-c", "while True: pass"]


def opened(profile, server: Server, deck: Path) -> tuple[float, float]:
    """Seconds until the first slide of a deck is seen, and until its cells have run."""
    sign(deck)
    page = profile.new_page()
    start = time.perf_counter()
    shown = Deck(page, server.address(f"rise/slides/{deck.name}"))
    page.wait_for_selector(".reveal.ready section.present", state="attached", timeout=120_000)
    seen = time.perf_counter() - start
    shown.wait_until_ready()
    ready = time.perf_counter() - start
    page.close()
    server.end_kernels()
    if shown.errors:
        print(f"{deck.stem}: errors in the console: {shown.errors}")
    return seen, ready


def main() -> None:
    """Print a line a deck."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("lesson", nargs="*", help="such as 06 or guest; all by default")
    parser.add_argument("--loaded", action="store_true", help="keep one core busy meanwhile")
    given = parser.parse_args()
    decks = [
        path
        for path in sorted((ROOT / "slides").glob("*.ipynb"))
        if not given.lesson or path.stem.startswith(tuple(given.lesson))
    ]
    busy = subprocess.Popen(BUSY) if given.loaded else None
    server = Server(ROOT)
    try:
        with sync_playwright() as playwright, tempfile.TemporaryDirectory() as folder:
            arguments = ["--no-sandbox", "--disable-background-networking"]
            profile = playwright.chromium.launch_persistent_context(
                folder,
                executable_path=find_chromium(),
                args=arguments,
                viewport={"width": 1280, "height": 720},
            )
            opened(profile, server, decks[0])  # the code of JupyterLab is compiled and kept
            print("deck                                     first slide   all live")
            for deck in decks:
                seen, ready = opened(profile, server, deck)
                print(f"{deck.stem:40} {seen:9.1f} s {ready:8.1f} s", flush=True)
            profile.close()
    finally:
        server.stop()
        if busy is not None:
            busy.kill()


if __name__ == "__main__":
    main()
