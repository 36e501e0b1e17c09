"""No field, menu, slider or view holds the keyboard: with real keys, on slides of the course and one of each kind of control, in the three hosts."""

from __future__ import annotations

import nbformat
import pytest
from nbformat.v4 import new_code_cell, new_markdown_cell

from .conftest import ROOT, make_deck, use_encoder
from .test_export_browser import export, open_file  # noqa: F401 - a fixture

PLAIN = """\
import ipywidgets
from bertlook_press.bertviz import bertviz_head_view
plain = [
    ipywidgets.IntSlider(description="a slider"), ipywidgets.Dropdown(options=["one", "two"], description="a menu"),
    ipywidgets.Checkbox(description="a box"), ipywidgets.ToggleButtons(options=["this", "that"]),
]
ipywidgets.VBox(plain)
"""

# Slides of the course, "deck:slide" as the teaching guide counts them, and what else there is to put the focus on.
COURSE = ("00:2", "01:4", "01:6", "01:15")
OTHERS = {
    "votes": "widgets.Tally(1, 3, {'A': 'one', 'B': 'two'})",
    "plain": PLAIN,
    "frame": "bertviz_head_view(extract_attention(encoder, 'The cat saw a bird.'))",
}

TEXT = "input[type='text']"
GUESS = ".bertlook-masked-word input"
VOTES = ".bl-tally textarea"
VIEW = ".bertlook-views [tabindex='0']"
CONTROLS = [
    ("00:2", TEXT),
    ("00:2", VIEW),
    ("00:2", "input[type='radio']"),
    ("00:2", "select"),
    ("01:4", TEXT),
    ("01:4", GUESS),
    ("01:4", "button"),
    ("01:6", TEXT),
    ("01:15", TEXT),
    ("01:15", VIEW),
    ("votes", VOTES),
    ("votes", "button"),
    ("plain", ".noUi-handle, input[type='range']"),
    ("plain", "select"),
    ("plain", "input[type='checkbox']"),
    ("plain", "button"),
    ("frame", "iframe"),
]
TYPED = (TEXT, GUESS, VOTES)


def cells_of(number: str, slides: list[int]):
    """The set-up of a deck, then the code of some of its slides, a list each."""
    (path,) = (ROOT / "slides").glob(f"{number}_*.ipynb")
    found, setup, at = {slide: [] for slide in slides}, [], 0
    for cell in nbformat.read(path, 4).cells:
        kind = cell.metadata.get("slideshow", {}).get("slide_type")
        at += kind in ("slide", "subslide")
        if cell.cell_type == "code" and not at:
            setup.append(cell.source)
        elif cell.cell_type == "code" and at in found and kind != "skip":
            found[at].append(cell.source)
    return setup, found


def trial_deck():
    """A title, the slides with something to put the focus on, and the end."""
    cells, places = [(new_markdown_cell("# A trial"), "slide")], {}
    for number in sorted({one.partition(":")[0] for one in COURSE}):
        wanted = [int(one.partition(":")[2]) for one in COURSE if one.startswith(number)]
        setup, slides = cells_of(number, wanted)
        cells += [(new_code_cell(source), "skip") for source in setup]
        for slide, sources in slides.items():
            places[f"{number}:{slide}"] = f"{len(places) + 1}-0"
            cells.append((new_markdown_cell(f"## Slide {slide}"), "slide"))
            cells += [(new_code_cell(source), "-") for source in sources]
    for name, source in OTHERS.items():
        places[name] = f"{len(places) + 1}-0"
        cells.append((new_code_cell(source), "slide"))
    return make_deck([*cells, (new_markdown_cell("# The end"), "slide")], autorun=True), places


DECK, PLACES = trial_deck()
ORDER = ["0-0", *PLACES.values(), f"{len(PLACES) + 1}-0"]


@pytest.fixture(scope="module", params=["rise", "classic", "exported"])
def deck(request, open_deck, trial_folder, open_file, tmp_path_factory):  # noqa: F811
    """The deck, alive, in each host; the tests share it."""
    path = trial_folder / "keyboard.ipynb"
    nbformat.write(DECK, path)
    if request.param == "exported":
        opened = open_file(export(path, tmp_path_factory.mktemp("exported")))
        opened.wait_until_ready()
    else:
        opened = open_deck(path, classic=request.param == "classic")
        opened.page.wait_for_selector("section section.present", state="attached")
    opened.host = request.param
    return opened


def focus_on(deck, slide: str, control: str):
    """Put the focus on a control of a slide, with the mouse where that chooses nothing."""
    deck.go(PLACES[slide])
    slide_now = deck.page.locator("section section.present")
    use_encoder(slide_now)
    node = slide_now.locator(control).locator("visible=true").first
    if deck.host == "exported" and not node.count() and "live in Jupyter only" in slide_now.inner_text():
        pytest.skip("in an exported file this control needs Python, and is left out")
    node.wait_for(timeout=10_000)
    if control in TYPED:
        node.click(timeout=10_000)
    elif control == "iframe":
        node.content_frame.locator("#layer").focus(timeout=10_000)
    else:
        node.focus()
    assert node.evaluate("node => node === document.activeElement")
    return node


def turns(deck, key: str, to: str) -> None:
    deck.page.keyboard.press(key)
    deck.wait(f"document.querySelector('section section.present').id === 'slide-{to}'", seconds=5)


def is_black(deck, yes: bool) -> None:
    deck.wait(
        f"document.querySelector('.reveal').classList.contains('paused') === {str(yes).lower()}", seconds=5
    )


@pytest.mark.parametrize(("slide", "control"), CONTROLS, ids=lambda one: one)
def test_escape_and_the_page_keys_leave_whatever_has_the_focus(deck, slide, control):
    at = ORDER.index(PLACES[slide])
    for key, by in (("PageDown", +1), ("PageUp", -1)):
        focus_on(deck, slide, control)
        turns(deck, key, ORDER[at + by])
    focus_on(deck, slide, control)
    deck.press("Escape")
    turns(deck, "Space", ORDER[at + 1])


@pytest.mark.parametrize(("slide", "control"), CONTROLS, ids=lambda one: one)
def test_a_remote_makes_the_screen_black_unless_letters_are_typed(deck, slide, control):
    for key in ("b", "."):
        node = focus_on(deck, slide, control)
        deck.page.keyboard.press(key)
        is_black(deck, control not in TYPED)
        if control not in TYPED:
            deck.page.keyboard.press(key)
            is_black(deck, False)
        elif not node.evaluate("node => node.readOnly"):
            assert key in node.input_value()
    deck.press("Escape")


@pytest.mark.parametrize(
    ("slide", "control", "typed", "seen"),
    [
        ("00:2", TEXT, "Rain fell on the roof.", "roof"),
        ("01:4", GUESS, "into", "Your guess “into”"),
        ("01:6", TEXT, "Rain fell on the roof.", "roof"),
        ("01:15", TEXT, "Rain fell on the roof.", "roof"),
    ],
)
def test_enter_computes_what_was_typed_and_gives_the_keys_back(deck, slide, control, typed, seen):
    box = focus_on(deck, slide, control)
    if box.evaluate("node => node.readOnly"):
        pytest.skip("this exported view needs Python, and says so")
    box.fill("")
    deck.page.keyboard.type(typed)
    deck.page.keyboard.press("Enter")
    deck.wait(f"document.querySelector('section section.present').textContent.includes({seen!r})")
    turns(deck, "Space", ORDER[ORDER.index(PLACES[slide]) + 1])


def test_from_the_slide_itself_a_remote_works(deck):
    deck.go("0-0")
    cells = deck.page.locator(".cell, .jp-Cell").count()
    for key in ("b", "."):
        deck.page.keyboard.press(key)
        is_black(deck, True)
        deck.page.keyboard.press(key)
        is_black(deck, False)
    turns(deck, "PageDown", "1-0")
    turns(deck, "PageUp", "0-0")
    assert deck.page.locator(".cell, .jp-Cell").count() == cells
    assert deck.errors == []
