"""A slide uses its room: type grows, a narrow picture has its words beside it, the rest is shared above and below; code folds; pictures wear its typeface."""

# ruff: noqa: F811 - a fixture of another file is imported, and asked for by name
from __future__ import annotations

import base64
import shutil
from dataclasses import replace

import pytest
from classroom.test_export import cell, exported
from nbformat.v4 import new_notebook, new_output

from bertlook_teach.views import Picture
from bertlook_teach.views.assets import static_page

from .conftest import ROOT, still
from .looking import SIZES, UNUSED, largest_empty, unused
from .test_export_browser import open_file  # noqa: F401 - a fixture

SQUARE = Picture(
    ['<rect width="400" height="400" fill="#0072b2"/><text x="20" y="60" fill="#fff">word</text>'],
    *(400, 400, "A square", "A sentence that goes over some lines of half a slide. " * 3, 30),
)


def shown(source, *outputs, kind="slide"):
    """A cell of code with what it gave."""
    made = cell(source, kind)
    made.outputs, made.execution_count = list(outputs), 1
    return made


def said(text):
    return new_output("stream", name="stdout", text=text)


def drawn(sentence):
    html = replace(SQUARE, sentence=sentence)._repr_html_()
    return new_output("execute_result", data={"text/html": html, "text/plain": "Picture"}, execution_count=1)


def stands_in(*pictures):
    """What is shown where a live view of two parts cannot run."""
    html = static_page(*pictures)
    return new_output("execute_result", data={"text/html": html, "text/plain": "View"}, execution_count=1)


@pytest.fixture(scope="module")
def deck(open_file, tmp_path_factory):
    """Words, code with its result, a narrow picture, code that is to be changed, code without a result."""
    folder = tmp_path_factory.mktemp("filled")
    cells = [
        cell(
            "M ## Words\n\nA sentence of some length, as slides have them, over one line and into another one.\n\n"
            + "- a line that goes over most of the slide\n" * 2
        ),
        cell("M ## Code"),
        shown("a = 1\nprint(a)  # the result of all this, and words about it", said("1\n"), kind="-"),
        cell(
            "M Words below it that say what was to be seen, over more than one line of the slide.\n\nAnd a second paragraph.",
            "-",
        ),
        cell("M ## Picture"),
        shown(
            "picture",
            drawn(
                "A sentence about the picture, which stands beside it, and one more about what is to be seen."
            ),
            kind="-",
        ),
        cell("M ## Yours"),
        shown("guess = 3  # change me\nprint(guess)", said("3\n"), kind="-"),
        cell("M ## No result"),
        shown("b = 2", kind="-"),
        cell("M ## A view that cannot run"),
        shown("view", stands_in(SQUARE, SQUARE), kind="-"),
        cell("M ## Numbers\n\nFrom -0.5 to 14 % in 3-1, n = 60, `a = -1 %`, $x = -2$, x-3, **-.7** points."),
    ]
    cells[5].metadata["jupyter"] = {"source_hidden": True}
    for number, one in enumerate(cells):
        one.id = f"cell-{number}"
    shutil.copy(ROOT / "slides" / "rise.css", folder)
    shutil.copytree(ROOT / "slides" / "theme", folder / "theme")
    notebook = new_notebook(
        cells=cells, metadata={"title": "Filled", "rise": {"center": False, "controls": False}}
    )
    opened = open_file(exported(notebook, folder).page)
    opened.wait_until_ready()
    return opened


WORDS, CODE, PICTURE, YOURS, BARE, VIEW, NUMBERS = (f"{number}-0" for number in range(7))
PLAIN = """() => {  // what the slide would be without all this
    const slide = document.querySelector("section.present section.present");
    for (const name of ["picture", "grow", "air", "drop"]) slide.style.removeProperty(`--slide-${name}`);
    slide.classList.remove("bertlook-fills", "bertlook-beside");
    window.held = fillSlide;
    fillSlide = () => {};
}"""


def test_a_rectangle_is_the_largest():
    assert largest_empty([[False] * 3] * 2) == 6
    assert largest_empty([[True] * 3] * 2) == 0
    assert largest_empty([[False, True, False], [False, False, False], [False, True, False]]) == 3
    assert largest_empty([[True, False, False], [False, False, False], [False, False, True]]) == 4


@pytest.mark.parametrize("slide", [WORDS, CODE, PICTURE])
def test_no_third_of_a_slide_stays_empty_where_it_would(deck, slide):
    camera = deck.page.context.new_cdp_session(deck.page)
    deck.go(slide)
    still(deck.page)
    share = unused(camera)
    deck.screenshot(f"filled-{slide}")
    assert share <= UNUSED
    room = "(() => { const slide = document.querySelector('section.present section.present'); return [slide.scrollHeight, slide.clientHeight, innerHeight]; })()"
    high, inner, window = deck.ask(room)
    assert high <= inner + 1 and high <= 0.93 * window
    if slide == PICTURE:
        return  # plainly drawn it is smaller, and its caption below it: another test
    deck.page.evaluate(PLAIN)
    try:
        assert unused(camera, patience=0) > UNUSED
    finally:
        deck.page.evaluate("() => { fillSlide = window.held; }")


def test_a_narrow_picture_has_its_caption_at_its_side(deck):
    deck.go(WORDS)
    deck.go(PICTURE)
    boxes = "selector => { const box = document.querySelector(`section.present section.present ${selector}`).getBoundingClientRect(); return [box.left, box.right, box.height]; }"
    deck.wait("!!document.querySelector('section.present .bertlook-beside')")
    still(deck.page)
    left, right, high = deck.page.evaluate(boxes, "figure img")
    assert deck.page.evaluate(boxes, "figcaption")[0] >= right and high > 0.6 * 720
    assert right - left == pytest.approx(high, abs=1)  # as drawn: square


@pytest.mark.parametrize("size", SIZES)
def test_what_stands_in_for_a_view_is_side_by_side_and_nothing_of_it_is_cut(deck, size):
    width, height = SIZES[size]
    deck.page.set_viewport_size({"width": width, "height": height})
    try:
        deck.go(VIEW)
        still(deck.page)
        boxes = "[...document.querySelectorAll('section.present section.present figure')].map(one => one.getBoundingClientRect().toJSON())"
        left, right = deck.ask(boxes)
        assert right["left"] >= left["right"] and left["top"] == right["top"]
        assert max(left["bottom"], right["bottom"]) <= 0.94 * height
        assert (
            deck.ask("document.querySelector('section.present section.present figure img').offsetHeight")
            > 0.3 * height
        )
        deck.screenshot(f"filled-view-{size}")
    finally:
        deck.page.set_viewport_size({"width": SIZES["laptop"][0], "height": SIZES["laptop"][1]})


def test_numbers_are_set_as_in_print_and_code_and_formulas_as_they_are(deck):
    deck.go(NUMBERS)
    still(deck.page)
    words = deck.page.locator("section.present section.present .jp-RenderedMarkdown p")
    assert words.text_content() == (
        "From \u22120.5 to 14\u00a0% in 3-\u20601, n\u00a0=\u00a060, a = -1 %, $x = -2$, x-3, \u2212.7 points."
    )


def test_a_slide_is_filled_when_it_comes_and_when_something_on_it_has_another_size_and_not_otherwise(deck):
    deck.go(WORDS)
    still(deck.page)
    deck.page.evaluate(
        "() => { window.held = fillSlide; window.fills = 0; fillSlide = () => (window.fills++, held()); }"
    )
    try:
        deck.go(PICTURE)
        still(deck.page)
        assert 1 <= deck.ask("window.fills") <= 3  # it comes, and the picture takes its room
        before = deck.ask("window.fills")
        deck.page.evaluate("document.body.append(document.createElement('i'))")  # somewhere else
        still(deck.page)
        assert deck.ask("window.fills") == before
        caption = "document.querySelector('section.present section.present figcaption')"
        deck.page.evaluate(
            f"{caption}.append(...Array.from({{length: 40}}, () => document.createElement('br')))"
        )
        deck.wait(f"window.fills > {before}")
    finally:
        deck.page.evaluate("() => { fillSlide = window.held; }")
        deck.page.evaluate("document.querySelectorAll('figcaption br').forEach(one => one.remove())")


def test_code_is_folded_once_it_was_left_and_a_key_or_a_click_shows_it(deck):
    code = deck.page.locator("section.present section.present .cm-content")
    button = deck.page.locator("section.present section.present .bertlook-unfold")
    deck.go(WORDS)
    deck.page.evaluate(
        "document.querySelectorAll('.bertlook-folded').forEach(one => one.classList.remove('bertlook-folded'))"
    )
    deck.go(CODE)
    assert code.is_visible()
    deck.go(WORDS)
    deck.go(CODE)
    assert not code.is_visible() and button.inner_text() == "code: 2 lines (C)"
    assert deck.page.locator("section.present section.present .jp-OutputArea-output").is_visible()
    deck.page.keyboard.press("Tab")
    deck.wait("document.activeElement.matches('.bertlook-unfold')")
    deck.page.keyboard.press("Enter")
    assert code.is_visible() and deck.slide == CODE
    deck.page.evaluate("document.activeElement.blur()")
    deck.page.keyboard.press("c")
    assert not code.is_visible()
    deck.page.keyboard.press("c")
    assert code.is_visible() and not button.is_visible()


def test_what_is_to_be_changed_and_what_has_no_result_stay_open(deck):
    code = deck.page.locator("section.present section.present .cm-content")
    for slide in (YOURS, BARE):
        deck.go(slide)
        deck.go(WORDS)
        deck.go(slide)
        assert code.is_visible()


def test_a_picture_that_is_an_image_has_the_typeface_of_the_slides(deck):
    deck.go(PICTURE)
    deck.wait("document.querySelector('figure img').src.length > 20000")
    source = deck.ask("document.querySelector('figure img').src")
    svg = base64.b64decode(source.partition(",")[2]).decode()
    assert svg.startswith("<svg") and "@font-face" in svg and "<title>A square</title>" in svg
    assert svg.count("@font-face") == 1  # nothing in it is bold
    assert deck.ask("document.querySelector('figure img').naturalWidth") == 400
    assert deck.ask("document.querySelector('figure img').alt") == "A square"
    assert deck.errors == []
