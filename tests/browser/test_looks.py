"""The theme's other looks in both RISEs: chosen by metadata, address or key, legible, and nothing moves."""

from __future__ import annotations

import shutil

import nbformat
import pytest

from bertlook_teach.render import palette

from .conftest import ROOT
from .test_live_slides import trial_deck

# Text and the ground it stands on, as the browser has them; a sheet's ground is the nearest one with a colour.
GROUNDS = """() => {
  const rgb = (colour) => colour.match(/[\\d.]+/g).map(Number);
  const ground = (node) => {
    for (; node; node = node.parentElement) {
      const colour = getComputedStyle(node).backgroundColor;
      if (rgb(colour)[3] !== 0) return colour;
    }
    return 'rgb(255, 255, 255)';
  };
  const found = [];
  const walker = document.createTreeWalker(document.querySelector('section section.present'), NodeFilter.SHOW_TEXT);
  while (walker.nextNode()) {
    const owner = walker.currentNode.parentElement;
    if (!walker.currentNode.textContent.trim() || !owner.checkVisibility({ opacityProperty: true, visibilityProperty: true })) continue;
    if (owner.closest('button, select, input, .widget-readout')) continue; // drawn by the browser
    found.push([walker.currentNode.textContent.trim().slice(0, 30), getComputedStyle(owner).color, ground(owner)]);
  }
  return found;
}"""


def hexadecimal(colour: str) -> str:
    numbers = [float(part) for part in colour.partition("(")[2].rstrip(")").replace(",", " ").split()[:3]]
    return "#" + "".join(f"{round(number):02x}" for number in numbers)


def look(deck) -> str:
    """The look the page wears, "" for none."""
    return deck.page.evaluate(
        "[...document.body.classList].filter((n) => ['bertlook-dark', 'bertlook-projector'].includes(n)).join()"
    ).removeprefix("bertlook-")


def legible(deck) -> list[str]:
    """Texts of the slide in view with less contrast than 4.5."""
    return [
        f"{text}: {ink} on {ground}"
        for text, ink, ground in deck.page.evaluate(GROUNDS)
        if palette.contrast(hexadecimal(ink), hexadecimal(ground)) < 4.5
    ]


@pytest.fixture(scope="module", params=[False, True], ids=["rise", "classic"])
def deck(request, open_deck, tmp_path_factory):
    """A trial deck beside the real theme, dark by its metadata."""
    folder = tmp_path_factory.mktemp("looks")
    shutil.copy(ROOT / "slides" / "rise.css", folder)
    shutil.copytree(ROOT / "slides" / "theme", folder / "theme")
    nbformat.write(trial_deck(autorun=True, look="dark", footer="the footer"), folder / "trial.ipynb")
    opened = open_deck(folder / "trial.ipynb", classic=request.param)
    opened.page.wait_for_selector("section section.present", state="attached")
    opened.classic, opened.path = request.param, folder / "trial.ipynb"
    return opened


def test_the_metadata_choose_the_look_and_all_text_can_be_read(deck):
    assert look(deck) == "dark"
    ground = deck.page.evaluate("getComputedStyle(document.body).backgroundColor")
    assert palette.relative_luminance(hexadecimal(ground)) < 0.02
    for slide in ("0-0", "1-0", "3-0", "4-0"):
        deck.go(slide)
        assert legible(deck) == []
        deck.screenshot(f"look-dark-{'classic' if deck.classic else 'rise'}-{slide}")


def test_d_goes_through_the_looks_and_deletes_no_cell(deck):
    deck.go("0-0")
    cells = deck.page.locator(".cell, .jp-Cell").count()
    place = "document.querySelector('section section.present h1').getBoundingClientRect().toJSON()"
    deck.page.locator("section section.present h1").first.click()
    worn, places = [], []
    for _ in range(3):
        worn.append(look(deck))
        places.append(deck.page.evaluate(place))
        deck.press("d")
    assert worn == ["dark", "projector", ""] and look(deck) == "dark"
    assert places[0] == places[1] == places[2]
    deck.press("d", "d", "d")
    assert deck.page.locator(".cell, .jp-Cell").count() == cells


def test_d_typed_into_a_field_stays_a_letter(deck):
    deck.go("1-0")
    field = deck.page.locator("section.present input[type='text']").first
    field.click()
    deck.page.keyboard.type("dd")
    assert field.input_value().endswith("dd") and look(deck) == "dark"
    deck.press("Escape")


def test_the_address_is_stronger_than_the_metadata(deck, open_deck):
    again = open_deck(deck.path, classic=deck.classic, query="?run=none&look=projector")
    assert look(again) == "projector"
    assert again.foreign == []
    missing = "/trial.css"  # classic RISE asks for the deck's own sheet, which is optional
    assert [error for error in again.errors if missing not in error] == []
