"""Take the README's pictures from the real thing: decks, served and opened in Chromium, photographed.

python tools/make_pictures.py [--only NAME ...] [--look dark] [--chromium PATH] [--out docs/images]

NAME is one of explorer, lenses, arcs, map, bench. "explorer" is also filmed (explorer.gif: one head after another).
"""

from __future__ import annotations

import argparse
import io
import re
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path

from playwright.sync_api import Page, sync_playwright

from bertlook_teach.disk import find_chromium

ROOT = Path(__file__).resolve().parent.parent
SIZE = {"width": 1280, "height": 720}


@dataclass(frozen=True)
class Shot:
    """A slide of a deck: the first that holds ``view``; keys pressed in it; how many more are filmed."""

    deck: str
    view: str
    keys: tuple[str, ...] = ()
    film: tuple[str, ...] = ()


SHOTS = {
    "explorer": Shot(
        "01",
        ".bertlook-views",
        ("ArrowRight",),
        ("ArrowRight",) * 4 + ("ArrowDown",) * 3 + ("ArrowLeft",) * 4,
    ),
    "lenses": Shot("04", ".bertlook-lenses", ("ArrowDown",)),
    "arcs": Shot("06", ".bertlook-arcs", ("ArrowRight",)),
    "map": Shot("09", ".bertlook-distances", ("PageDown",)),
    "bench": Shot("11", ".bertlook-bench", ("ArrowRight", "Enter", "ArrowDown", "Enter")),
}


def find_view(page: Page, view: str):
    """Go on until a slide shows the view."""
    found = page.locator(f"section.present {view}")
    for _ in range(200):
        if found.count() and found.first.is_visible():
            return found.first
        page.keyboard.press("Space")
        page.wait_for_timeout(150)
    raise SystemExit(f"no slide with {view} was found")


def photograph(address: str, chromium: str, name: str, out: Path) -> None:
    """The slide at 1280 x 720, once it has come to rest; the film beside it, if there is one."""
    shot = SHOTS[name]
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=chromium, args=["--no-sandbox"])
        page = browser.new_page(viewport=SIZE)
        page.goto(address)
        page.wait_for_selector("body.bertlook-ready", timeout=300_000)
        view = find_view(page, shot.view)
        view.locator("[tabindex='0']").first.focus()
        for key in shot.keys:
            page.keyboard.press(key)
            page.wait_for_timeout(200)
        page.wait_for_timeout(3000)  # what Python computes has come, and the slide has come to rest
        out.mkdir(parents=True, exist_ok=True)
        page.screenshot(path=out / f"{name}.png")
        if shot.film:
            film(page, shot.film, out / f"{name}.gif")
        browser.close()


def film(page: Page, keys: tuple[str, ...], path: Path) -> None:
    """One picture a key, smaller, in 128 colours: light enough for a README."""
    from PIL import Image  # comes with matplotlib

    frames = []
    for key in ("", *keys):
        if key:
            page.keyboard.press(key)
            page.wait_for_timeout(300)
        frames.append(Image.open(io.BytesIO(page.screenshot())).convert("RGB").resize((800, 450)))
    palette = frames[0].quantize(128, method=Image.Quantize.MAXCOVERAGE)  # keeps the frame of the chosen head
    frames = [frame.quantize(palette=palette, dither=Image.Dither.NONE) for frame in frames]
    frames[0].save(path, save_all=True, append_images=frames[1:], duration=900, loop=0, optimize=True)


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--only", nargs="+", choices=SHOTS, default=list(SHOTS), metavar="NAME")
    parser.add_argument("--look", choices=("dark", "projector"), help="another look of the slides")
    parser.add_argument("--chromium", default=find_chromium())
    parser.add_argument("--out", type=Path, default=ROOT / "docs" / "images")
    args = parser.parse_args()
    if not args.chromium:
        raise SystemExit("no Chromium found; name one with --chromium PATH")
    for name in args.only:
        command = [
            sys.executable,
            "-m",
            "bertlook_teach.commands",
            "present",
            SHOTS[name].deck,
            "--no-browser",
        ]
        server = subprocess.Popen(command, stdout=subprocess.PIPE, text=True, cwd=ROOT)
        try:
            address = next(m[0] for line in server.stdout if (m := re.search(r"http://\S+/rise/\S+", line)))
            look = f"&look={args.look}" if args.look else ""
            photograph(address + look, str(args.chromium), name, args.out)
            print(args.out / f"{name}.png", flush=True)
        finally:
            server.terminate()
            server.wait()


if __name__ == "__main__":
    main()
