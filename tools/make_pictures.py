"""Take the README's pictures from the real thing: the deck, served and opened in Chromium, photographed.

python tools/make_pictures.py [--chromium PATH] [--out docs/images]
"""

from __future__ import annotations

import argparse
import re
import shutil
import subprocess
import sys
from pathlib import Path

from playwright.sync_api import sync_playwright

ROOT = Path(__file__).resolve().parent.parent
SIZE = {"width": 1280, "height": 720}


def photograph(address: str, chromium: str, out: Path) -> None:
    """The first slide that holds an explorer, at 1280 x 720."""
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=chromium, args=["--no-sandbox"])
        page = browser.new_page(viewport=SIZE)
        page.goto(address)
        page.wait_for_selector("body.bertlook-ready", timeout=120_000)
        for _ in range(200):
            explorer = page.locator("section.present .bertlook-views")
            if explorer.count() and explorer.first.is_visible():
                break
            page.keyboard.press("Space")
            page.wait_for_timeout(150)
        else:
            raise SystemExit("no slide with an explorer was found")
        explorer.first.locator("[tabindex='0']").first.focus()
        page.keyboard.press("ArrowRight")  # the neighbour of the head the deck begins with
        page.wait_for_timeout(1500)  # the slide has come to rest
        out.mkdir(parents=True, exist_ok=True)
        page.screenshot(path=out / "explorer.png")
        browser.close()


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--chromium", default=shutil.which("chromium") or shutil.which("google-chrome"))
    parser.add_argument("--out", type=Path, default=ROOT / "docs" / "images")
    args = parser.parse_args()
    if not args.chromium:
        raise SystemExit("no Chromium found; name one with --chromium PATH")
    command = [sys.executable, "-m", "bertlook_teach.cli", "present", "01", "--no-browser"]
    server = subprocess.Popen(command, stdout=subprocess.PIPE, text=True, cwd=ROOT)
    try:
        address = next(m[0] for line in server.stdout if (m := re.search(r"http://\S+/rise/\S+", line)))
        photograph(address, args.chromium, args.out)
    finally:
        server.terminate()


if __name__ == "__main__":
    main()
