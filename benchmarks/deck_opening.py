"""How long a deck takes to open in RISE: from its address to the first picture on the screen, and to all cells having run.

    python benchmarks/deck_opening.py                    every deck, twice: with nothing kept, and again
    python benchmarks/deck_opening.py 01 06 --once       these, with nothing kept

A new server and a new browser for each deck; the server is up before the clock starts, as it is once `start.py` has said so.
Of the second opening only what decks keep on disk is left from the first.
"""

from __future__ import annotations

import argparse
import os
import re
import subprocess
import sys
import tempfile
import time
from pathlib import Path

from playwright.sync_api import sync_playwright

from bertlook_teach.disk import find_chromium

ROOT = Path(__file__).resolve().parent.parent
SERVE = (
    "import sys; from pathlib import Path; from bertlook_teach.classroom import server; "
    "sys.exit(server.serve(Path(sys.argv[1]), '/lab', browser=False))"
)
PICTURE = """() => [...document.querySelectorAll('section.present svg, section.present img, section.present canvas')].some((one) => {
  const box = one.getBoundingClientRect();
  return box.width > 200 && box.height > 100 && getComputedStyle(one).visibility === 'visible';
})"""
LONGEST = 300_000  # milliseconds


def opening(playwright, deck: Path, kept: str) -> tuple[float, float]:
    """Seconds to the first picture and to all cells having run, of a deck; ``kept`` is the folder of what is kept on disk."""
    server = subprocess.Popen(
        [sys.executable, "-c", SERVE, str(ROOT)],
        stdout=subprocess.PIPE,
        text=True,
        env={**os.environ, "BERTLOOK_CACHE": kept},
    )
    try:
        address = next(filter(None, (re.search(r"http://\S*token=\w+", line) for line in server.stdout)))[0]
        host, token = re.match(r"(http://[^/]+)/.*token=(\w+)", address).groups()
        browser = playwright.chromium.launch(executable_path=find_chromium(), args=["--no-sandbox"])
        page = browser.new_page(viewport={"width": 1280, "height": 720})
        start = time.monotonic()
        page.goto(f"{host}/rise/slides/{deck.name}?token={token}")
        page.wait_for_function(PICTURE, timeout=LONGEST)
        picture = time.monotonic() - start
        page.wait_for_selector("body.bertlook-ready, body.bertlook-failed", state="attached", timeout=LONGEST)
        if page.locator("body.bertlook-failed").count():
            raise SystemExit(f"{deck.name} did not come to life")
        return picture, time.monotonic() - start
    finally:
        server.terminate()
        server.wait()


def main() -> None:
    """Print a line a deck."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("lessons", nargs="*", help="beginnings of decks' names, such as 06 (default: all)")
    parser.add_argument("--once", action="store_true", help="only with nothing kept")
    asked = parser.parse_args()
    decks = [
        deck
        for deck in sorted((ROOT / "slides").glob("*.ipynb"))
        if not asked.lessons or deck.name.startswith(tuple(asked.lessons))
    ]
    with sync_playwright() as playwright:
        for deck in decks:
            with tempfile.TemporaryDirectory() as kept:
                for what in ["first"] if asked.once else ["first", "again"]:
                    picture, live = opening(playwright, deck, kept)
                    print(
                        f"{deck.stem:36} {what:6} first picture {picture:5.1f} s, all live {live:5.1f} s",
                        flush=True,
                    )


if __name__ == "__main__":
    main()
