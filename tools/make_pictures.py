"""Take the README's and the gallery's pictures from the real thing: decks and views, opened in Chromium and photographed.

python tools/make_pictures.py [--only NAME ...]

NAME is one of explorer, lenses, arcs, map, bench. "explorer" is also filmed (explorer.gif: one head after another). Or it is gallery: every view of
docs/gallery.md whose picture lies in images/gallery, made by the lines that stand there.
"""

from __future__ import annotations

import argparse
import contextlib
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
OUT = ROOT / "docs" / "images"
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


def photograph(page: Page, name: str) -> None:
    """The slide at 1280 x 720, once it has come to rest; the film beside it, if there is one."""
    shot = SHOTS[name]
    view = find_view(page, shot.view)
    view.locator("[tabindex='0']").first.focus()
    for key in shot.keys:
        page.keyboard.press(key)
        page.wait_for_timeout(200)
    page.wait_for_timeout(3000)  # what Python computes has come, and the slide has come to rest
    page.screenshot(path=OUT / f"{name}.png")
    print(OUT / f"{name}.png", flush=True)
    if shot.film:
        film(page, shot.film, OUT / f"{name}.gif")


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


def gallery(page: Page, names: list[str]) -> None:
    """The view of each slide of the gallery's deck, alive, without what is empty around it."""
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
        picture = picture.crop((0, 0, *(min(size, end + 8) for size, end in zip(picture.size, edges[2:]))))
        picture.thumbnail((960, 540))
        file = OUT / "gallery" / f"{name}.png"
        picture.quantize(128, method=Image.Quantize.MAXCOVERAGE, dither=Image.Dither.NONE).save(
            file, optimize=True
        )
        print(file, flush=True)
        page.keyboard.press("PageDown")


@contextlib.contextmanager
def opened(deck: str):
    """A page of Chromium in which the deck is alive, served as in class."""
    command = [sys.executable, "-m", "bertlook_bench", "present", deck, "--no-browser"]
    server = subprocess.Popen(command, stdout=subprocess.PIPE, text=True, cwd=ROOT)
    try:
        address = next(m[0] for line in server.stdout if (m := re.search(r"http://\S+/rise/\S+", line)))
        with sync_playwright() as playwright:
            chromium = playwright.chromium.launch(executable_path=find_chromium(), args=["--no-sandbox"])
            page = chromium.new_page(viewport=SIZE)
            page.goto(address)
            page.wait_for_selector("body.bertlook-ready", timeout=300_000)
            yield page
            chromium.close()
    finally:
        server.terminate()
        server.wait()


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument(
        "--only", nargs="+", choices=[*SHOTS, "gallery"], default=[*SHOTS, "gallery"], metavar="NAME"
    )
    args = parser.parse_args()
    if not find_chromium():
        raise SystemExit("no Chromium found; name one in the variable BERTLOOK_CHROMIUM")
    build = ROOT / "build"
    build.mkdir(exist_ok=True)
    for name in args.only:
        if name == "gallery":
            with tempfile.TemporaryDirectory(dir=build) as folder:
                deck, names = gallery_deck(Path(folder))
                with opened(str(deck)) as page:
                    gallery(page, names)
        else:
            with opened(SHOTS[name].deck) as page:
                photograph(page, name)


if __name__ == "__main__":
    main()
