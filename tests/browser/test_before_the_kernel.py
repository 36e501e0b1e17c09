"""A deck as it opens, while its kernel has not answered: the saved pictures stand on the slides, and nothing of a stranger's is believed."""

from __future__ import annotations

import re

import nbformat
import pytest

from bertlook_press.classroom import is_ours

from .conftest import HANGS_AFTER, ROOT, Deck

DECK = ROOT / "slides" / "01_what_bert_reads.ipynb"

OUTPUT = ":is(.jp-OutputArea-output, .output_subarea)"

# What the slide in view shows: how large its pictures are, and the words of its outputs that stand in no picture.
SEEN = """(output) => {
  const outputs = [...document.querySelectorAll(`section.present > section.present ${output}`)];
  const sizes = outputs.flatMap((output) => [...output.querySelectorAll('svg, img')]).map((one) => one.getBoundingClientRect());
  const prose = outputs.map((output) => output.cloneNode(true));
  for (const one of prose) for (const drawing of one.querySelectorAll('svg')) drawing.remove();
  return { sizes: sizes.map((box) => [box.width, box.height]), prose: prose.map((one) => one.textContent).join(' ') };
}"""


@pytest.fixture(params=["rise", "nbclassic/notebooks"])
def open_silent(request, browser, server):
    """``open_silent(path)`` opens a deck whose kernel says nothing."""
    contexts = []

    def open_silent(path):
        context = browser.new_context(viewport={"width": 1280, "height": 720})
        context.set_default_timeout(HANGS_AFTER)
        contexts.append(context)
        page = context.new_page()
        page.route_web_socket(re.compile("/api/kernels/"), lambda socket: None)
        deck = Deck(page, server.address(f"{request.param}/{path.relative_to(ROOT).as_posix()}"))
        page.wait_for_selector("section.present > section.present", state="attached")
        return deck

    yield open_silent
    for context in contexts:
        context.close()
    server.end_kernels()


def pictures_of(path):
    """For each slide that has drawings among its saved outputs, by its number from 0: how many, and their labels."""
    found, at = {}, -1
    for cell in nbformat.read(path, 4).cells:
        at += cell.metadata.get("slideshow", {}).get("slide_type") in ("slide", "subslide")
        for output in cell.get("outputs", ()):
            markup = "".join(output.get("data", {}).get("text/html", ""))
            if drawn := len(re.findall("<svg|<img", markup)):
                count, labels = found.get(at, (0, []))
                labels = labels + re.findall(r"<text[^<>]*>([\w ]{8,})</text>", markup)
                found[at] = (count + drawn, labels)
    return found


def test_before_the_kernel_answers_a_slide_shows_its_saved_pictures(open_silent):
    assert is_ours(DECK), "tools/run_notebooks.py keeps the list of what is trusted"
    saved = pictures_of(DECK)
    assert {1, 2, 7, 8, 27} <= set(saved)
    deck = open_silent(DECK)
    for slide, (count, labels) in saved.items():
        deck.go(f"{slide}-0", usable=False)
        deck.show_everything(by_key=False)
        seen = deck.ask(f"({SEEN})({OUTPUT!r})")
        assert len(seen["sizes"]) == count, slide + 1
        assert all(width > 30 and height > 30 for width, height in seen["sizes"]), (slide + 1, seen["sizes"])
        assert not [label for label in labels if label in seen["prose"]], slide + 1
        deck.screenshot(f"before-{slide + 1}")
    assert deck.page.locator(".jp-mod-executed, .output_error").count() == 0 and deck.foreign == []


def test_the_same_deck_changed_by_a_stranger_is_not_trusted(open_silent, trial_folder):
    path = trial_folder / "changed.ipynb"
    path.write_text(
        DECK.read_text(encoding="utf-8").replace("From a text to a guess", "From a guess"), encoding="utf-8"
    )
    assert not is_ours(path)
    deck = open_silent(path)
    deck.page.get_by_text("not trusted: nothing was run").wait_for()
    deck.go("2-0", usable=False)
    assert deck.page.locator(f"section.present > section.present {OUTPUT} svg").count() == 0
