"""Take the README's and the gallery's pictures from the real thing: decks and views, opened in Chromium and photographed.

python tools/make_pictures.py [--only NAME ...] [--look dark] [--chromium PATH] [--out docs/images]

NAME is one of explorer, lenses, arcs, map, bench. "explorer" is also filmed (explorer.gif: one head after another). Or it is gallery: every view of
docs/gallery.md whose picture lies in images/gallery, made by the lines that stand there.
"""

from __future__ import annotations

import argparse
import io
import re
import shutil
import subprocess
import sys
import tempfile
from dataclasses import dataclass
from pathlib import Path

import nbformat
from PIL import Image, ImageChops  # comes with matplotlib
from playwright.sync_api import Page, sync_playwright

from bertlook_course.storage import find_chromium
from bertlook_press.classroom import sign

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
    frames = []
    for key in ("", *keys):
        if key:
            page.keyboard.press(key)
            page.wait_for_timeout(300)
        frames.append(Image.open(io.BytesIO(page.screenshot())).convert("RGB").resize((800, 450)))
    palette = frames[0].quantize(128, method=Image.Quantize.MAXCOVERAGE)  # keeps the frame of the chosen head
    frames = [frame.quantize(palette=palette, dither=Image.Dither.NONE) for frame in frames]
    frames[0].save(path, save_all=True, append_images=frames[1:], duration=900, loop=0, optimize=True)


def gallery_deck(folder: Path) -> tuple[Path, list[str]]:
    """A deck with a slide for each view of docs/gallery.md that has a picture of its own, and the pictures' names."""
    text, names = (ROOT / "docs" / "gallery.md").read_text(encoding="utf-8"), []
    rise = {"theme": "white", "transition": "none", "start_slideshow_at": "beginning", "autorun": True}
    kernel = {"name": "python3", "display_name": "Python 3", "language": "python"}
    deck = nbformat.v4.new_notebook(metadata={"kernelspec": kernel, "rise": rise})
    for name, lines in re.findall(
        r"(?:images/gallery/(\w+)\.png\)\n\n)?```python\n(.*?)```", text, re.DOTALL
    ):
        source = re.sub(r"(?m)^(>>> |\.\.\. )", "", lines).strip()
        if not name and deck.cells:
            continue
        cell = nbformat.v4.new_code_cell(source + "\nview" * bool(name))
        cell.metadata = {
            "slideshow": {"slide_type": "slide" if name else "skip"},
            "jupyter": {"source_hidden": True},
        }
        deck.cells.append(cell)
        names += [name] if name else []
    shutil.copy(ROOT / "slides" / "rise.css", folder)  # the type of our slides
    shutil.copytree(ROOT / "slides" / "theme", folder / "theme")
    nbformat.write(deck, folder / "gallery.ipynb")
    sign(folder / "gallery.ipynb")  # or its cells would not run
    return folder / "gallery.ipynb", names


def gallery(address: str, chromium: str, names: list[str], out: Path) -> None:
    """The view of each slide of the gallery's deck, alive, without what is empty around it."""
    out.mkdir(parents=True, exist_ok=True)
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=chromium, args=["--no-sandbox"])
        page = browser.new_page(viewport=SIZE)
        page.goto(address)
        page.wait_for_selector("body.bertlook-ready", timeout=300_000)
        for name in names:
            page.wait_for_timeout(2500)
            view = page.locator("section.present .jp-OutputArea-output").last
            if name == "tally":
                view.get_by_text("show the room").click()
            if name == "masked_word":
                view.get_by_text("show the model's guesses").click()
            picture = Image.open(io.BytesIO(view.screenshot())).convert("RGB")
            edges = ImageChops.difference(
                picture, Image.new("RGB", picture.size, picture.getpixel((0, 0)))
            ).getbbox()
            picture = picture.crop(
                (0, 0, *(min(size, end + 8) for size, end in zip(picture.size, edges[2:])))
            )
            picture.thumbnail((960, 540))
            picture.quantize(128, method=Image.Quantize.MAXCOVERAGE, dither=Image.Dither.NONE).save(
                out / f"{name}.png", optimize=True
            )
            print(out / f"{name}.png", flush=True)
            page.keyboard.press("PageDown")
        browser.close()


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument(
        "--only", nargs="+", choices=[*SHOTS, "gallery"], default=[*SHOTS, "gallery"], metavar="NAME"
    )
    parser.add_argument("--look", choices=("dark", "projector"), help="another look of the slides")
    parser.add_argument("--chromium", default=find_chromium())
    parser.add_argument("--out", type=Path, default=ROOT / "docs" / "images")
    args = parser.parse_args()
    if not args.chromium:
        raise SystemExit("no Chromium found; name one with --chromium PATH")
    build = ROOT / "build"
    build.mkdir(exist_ok=True)
    with tempfile.TemporaryDirectory(dir=build) as folder:
        for name in args.only:
            take(name, Path(folder), args)


def take(name: str, folder: Path, args) -> None:
    """Serve the deck of a picture, and photograph it."""
    shown, names = gallery_deck(folder) if name == "gallery" else (SHOTS[name].deck, [])
    command = [
        sys.executable,
        "-m",
        "bertlook_bench",
        "present",
        str(shown),
        "--no-browser",
    ]
    server = subprocess.Popen(command, stdout=subprocess.PIPE, text=True, cwd=ROOT)
    try:
        address = next(m[0] for line in server.stdout if (m := re.search(r"http://\S+/rise/\S+", line)))
        look = f"&look={args.look}" if args.look else ""
        if names:
            gallery(address + look, str(args.chromium), names, args.out / "gallery")
        else:
            photograph(address + look, str(args.chromium), name, args.out)
            print(args.out / f"{name}.png", flush=True)
    finally:
        server.terminate()
        server.wait()


if __name__ == "__main__":
    main()
