"""Exported decks in a browser without a network: every slide, live views without a kernel, notes, and nothing asked of anybody.

One deck of the course is exported and walked through; with ``python3 start.py test --all`` all are, which takes minutes.
"""

from __future__ import annotations

import itertools
import re
import shutil
import subprocess
import sys
from pathlib import Path

import nbformat
import pytest
from classroom.test_export import EVIL, cell, exported, tiny_deck
from nbformat.v4 import new_notebook

from . import walks
from .conftest import HANGS_AFTER, ROOT, Deck, until_equal, use_encoder
from .growth import ALLOWED, recorded_bytes
from .looking import SIZES, walk
from .test_decks import DECKS, EMPTY

CHOSEN = DECKS if walks.ALL else DECKS[:1]


class Exported(Deck):
    """A file, opened with no network: every console error and every request counts."""

    # The address may lag behind the slide.
    TURN = "slide => { document.activeElement.blur(); Reveal.slide(...slide.split('-').map(Number)); }"

    def _error(self, text: str) -> None:
        self.errors.append(text)

    def _request(self, request) -> None:
        if not request.url.startswith(("file:", "data:", "blob:", "about:")):
            self.foreign.append(request.url)


@pytest.fixture(scope="module")
def open_file(browser):
    """``open_file(path, size="laptop")`` opens an exported page."""
    contexts = []

    def open_file(path: Path, size: str = "laptop") -> Exported:
        width, height = SIZES[size]
        context = browser.new_context(viewport={"width": width, "height": height}, offline=True)
        context.set_default_timeout(HANGS_AFTER)
        contexts.append(context)
        return Exported(context.new_page(), path.resolve().as_uri())

    yield open_file
    for context in contexts:
        context.close()


def export(deck, out: Path, *more: str) -> Path:
    """Run the command as a teacher does."""
    command = [
        sys.executable,
        "-m",
        "bertlook_bench",
        "export",
        "--deck",
        str(deck),
        "--out",
        str(out),
        *more,
    ]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False, timeout=900)
    assert done.returncode == 0, done.stdout + done.stderr
    return out / f"{Path(deck).stem}.html"


# --- decks of the course ----------------------------------------------------------------------------------------------


@pytest.fixture(scope="module", params=CHOSEN)
def deck(request, open_file, tmp_path_factory):
    """A deck of the course as one file; the tests share it."""
    path = export(ROOT / request.param, tmp_path_factory.mktemp("exported"))
    opened = open_file(path)
    opened.wait_until_ready()
    opened.path, opened.name = path, path.name[:2]
    opened.walked = walk(opened, f"exported-{opened.name}")
    yield opened
    opened.page.context.close()


def test_every_slide_fits_three_screens_with_nothing_cut_off(deck):
    assert deck.walked.slides >= 15
    assert not deck.walked.complaints("outside", "cut"), deck.walked.list("outside", "cut")


def test_no_slide_is_empty_for_more_than_a_third(deck):
    assert len(deck.walked.unused) == deck.walked.slides
    assert deck.walked.empty({heading for number, heading in EMPTY if number == deck.name}) == []


def test_recordings_make_a_deck_little_larger(deck):
    found = recorded_bytes(deck.path)
    assert sum(found.values()) <= ALLOWED, found


def test_every_text_can_be_read_from_the_last_row(deck):
    assert not deck.walked.complaints("small", "faint"), deck.walked.list("small", "faint")


def test_every_picture_has_words(deck):
    assert not deck.walked.complaints("mute"), deck.walked.list("mute")


def test_every_control_is_reached_and_used_by_key_and_shows_its_focus(deck):
    assert deck.walked.stops
    assert not deck.walked.complaints("keys"), deck.walked.list("keys")


def test_choosing_a_head_by_key_changes_the_picture_and_not_the_slide(deck):
    explorers = deck.page.locator(".bertlook-explorer:has(.bertlook-views)")
    if not explorers.count():
        pytest.skip("this deck has no explorer")
    explorer = explorers.first
    deck.go(explorer.evaluate("node => node.closest('section').id").removeprefix("slide-"))
    use_encoder(explorer)
    before = deck.slide
    caption = explorer.locator("[aria-live='polite']").last
    drawing = "node => node.querySelector('canvas')?.toDataURL() ?? node.querySelector('svg')?.outerHTML ?? node.innerHTML"
    view = explorer.locator(".bertlook-views > *").last
    said, drawn = caption.inner_text(), view.evaluate(drawing)
    explorer.locator(".bertlook-views [tabindex='0']").first.focus()
    deck.press("ArrowDown", "ArrowRight")
    if caption.inner_text() == said:  # it was the last head of the last layer
        deck.press("ArrowUp", "ArrowLeft")
    assert caption.inner_text() != said and view.evaluate(drawing) != drawn
    assert deck.slide == before
    deck.screenshot(f"exported-{deck.name}-explorer")


def test_it_is_small_and_asks_nobody(deck):
    assert deck.path.stat().st_size <= 2_000_000
    assert deck.foreign == [] and deck.errors == []


# --- the tiny deck of test_export.py, with tokens that are scripts ----------------------------------------------------


@pytest.fixture(scope="module")
def tiny(open_file, tmp_path_factory):
    """The tiny deck, exported with its handout, and open."""
    folder = tmp_path_factory.mktemp("tiny")
    shutil.copy(ROOT / "slides" / "rise.css", folder)
    shutil.copytree(ROOT / "slides" / "theme", folder / "theme")
    nbformat.write(tiny_deck(), folder / "07_tiny.ipynb")
    path = export(folder / "07_tiny.ipynb", folder / "out", "--handout", "--notes")
    opened = open_file(path)
    opened.dialogs = []
    opened.page.on("dialog", lambda dialog: (opened.dialogs.append(dialog.message), dialog.dismiss()))
    opened.wait_until_ready()
    opened.path = path
    return opened


def test_fragments_come_one_by_one(tiny):
    tiny.go("1-0")
    seen = "[...document.querySelectorAll('section section.present .fragment')].map(one => one.classList.contains('visible'))"
    assert tiny.page.evaluate(seen) == [False, False]
    tiny.press("Space")
    assert tiny.page.evaluate(seen) == [True, False]
    assert tiny.page.locator("section section.present p", has_text="comes with it").is_visible()
    tiny.press("Space", "Space")
    assert tiny.slide == "1-1"


def test_the_speakers_window_shows_what_the_room_sees_what_comes_and_the_notes(tiny):
    tiny.go("0-0")
    tiny.page.mouse.click(640, 600)
    speaker, shown = open_speaker(tiny)
    assert tiny.slide == "0-0"
    assert speaker.locator("#notes").inner_text().startswith("Said by")
    assert shown(0, "section.present > section.present").startswith("A tiny deck")
    assert "Head 2-3" in shown(1, "section.present > section.present")
    assert speaker.locator("#number").inner_text() == "1 / 6"
    tiny.wait("/^0:\\d\\d · /.test(document.getElementById('clock').textContent)", speaker)
    speaker.keyboard.press("ArrowRight")  # the show follows the window, and the window the show
    tiny.wait("document.getElementById('number').textContent === '2 / 6'", speaker)
    assert tiny.slide == "1-0" and speaker.locator("#notes").inner_text() == ""
    assert speaker.locator("#next").inner_text() == "Next, on this slide"
    # A picture of the room's own size, in which everything stands where it stands there
    places = """page => [...page.querySelectorAll('section.present > section.present :is(h1, p, table, button, svg)')].map(one => {
      const box = one.getBoundingClientRect();
      return [box.x, box.y, box.width, box.height].map(Math.round).join(' ');
    })"""
    tiny.page.keyboard.press("Space")
    tiny.wait(
        "document.querySelector('iframe').contentDocument.querySelectorAll('.fragment.visible').length === 1",
        speaker,
    )
    room, seen = until_equal(  # both may still be moving to the slide
        tiny.page,
        lambda: tiny.ask(f"({places})(document)"),
        lambda: speaker.evaluate(f"({places})(document.querySelector('iframe').contentDocument)"),
    )
    assert len(room) > 3 and room == seen
    assert tiny.dialogs == []
    speaker.close()


def open_speaker(deck):
    """The speaker's window, and what stands in a place of its first or second preview."""
    with deck.page.context.expect_page() as opened:
        deck.page.keyboard.press("t")
    speaker = opened.value
    deck.wait(
        "document.querySelector('iframe')?.contentDocument.querySelector('section.present') != null", speaker
    )
    inside = "document.querySelectorAll('iframe')[{}].contentDocument.querySelector({!r}).innerText"
    return speaker, lambda which, place: speaker.evaluate(inside.format(which, place)).strip()


def test_tokens_that_are_scripts_are_shown_as_they_are(tiny):
    tiny.go("1-0")
    tokens = tiny.page.locator("section section.present .bl-query").all_inner_texts()
    assert [token for token in EVIL[:3] if token in tokens] == list(EVIL[:3])
    assert tiny.dialogs == []


def test_linked_views_stay_linked(tiny):
    def shown():
        return tiny.page.locator(".bertlook-live [aria-live='polite']").evaluate_all(
            "all => all.map(one => one.textContent).filter(text => text.startsWith('Head')).map(text => text.slice(5, 8))"
        )

    tiny.go("1-0")
    assert len(set(shown())) == 1
    before = shown()
    tiny.page.locator("section section.present [tabindex='0']").first.focus()
    tiny.press("ArrowLeft")
    assert len(shown()) == 2 and len(set(shown())) == 1 and shown() != before
    tiny.press("ArrowRight", "Escape")


def test_a_menu_that_python_drew_answers_without_python(tiny):
    tiny.go("2-0")
    shown = tiny.page.locator("section section.present .widget-html-content")
    assert "This is one." in shown.inner_text()
    buttons = tiny.page.locator("section section.present button")
    buttons.first.focus()
    tiny.press("ArrowRight", "Enter")
    assert "This is two." in shown.inner_text()
    assert buttons.evaluate_all("all => all.map(one => one.ariaPressed)") == ["false", "true"]
    assert tiny.slide == "2-0"


def test_what_needs_python_stands_still_and_says_so_in_one_line(tiny):
    tiny.go("3-0")
    slide = tiny.page.locator("section section.present")
    line = slide.locator(".bertlook-needs-jupyter")
    assert line.all_inner_texts() == ["live in Jupyter only"]
    said = line.get_attribute("title")
    assert "a new text cannot be computed" in said and "bertlook present 07" in said
    assert slide.locator("input, textarea, [role='alert']").count() == 0
    assert slide.locator(".jp-OutputArea-output b").inner_text() == "7"


def test_keys_belong_to_the_view_and_the_remote_control_to_the_deck(tiny):
    tiny.go("1-1")
    tiny.page.locator("section section.present [tabindex='0']").first.focus()
    tiny.press("ArrowDown", "ArrowRight", "ArrowLeft")
    assert tiny.slide == "1-1"
    tiny.press("PageDown")
    assert tiny.slide == "2-0"
    tiny.go("1-1")
    tiny.page.locator("section section.present [tabindex='0']").first.focus()
    tiny.press("Escape", "ArrowRight")
    assert tiny.slide == "2-0"


def test_the_bar_below_says_lesson_and_page(tiny):
    tiny.go("2-0")
    assert tiny.page.locator("#rise-footer").inner_text() == "tiny <deck>"
    assert tiny.page.locator(".slide-number").inner_text().split() == ["4", "/", "6"]


def test_the_looks_of_a_deck_are_there(tiny):
    tiny.go("0-0")
    paper = "getComputedStyle(document.body).backgroundColor"
    assert tiny.page.evaluate(paper) == "rgb(253, 252, 249)"
    tiny.press("d")
    assert tiny.page.evaluate(paper) == "rgb(20, 23, 28)"
    tiny.screenshot("exported-dark")
    tiny.press("d", "d")
    assert tiny.page.evaluate(paper) == "rgb(253, 252, 249)"


def test_the_look_is_what_the_reader_has_or_chose_and_keeps_the_colour_of_the_part(open_file, tiny):
    opened = open_file(tiny.path)
    paper = "getComputedStyle(document.body).backgroundColor"
    accent = "getComputedStyle(document.body).getPropertyValue('--slide-accent')"
    for system, kept, query, dark in [
        ("dark", None, "", True),
        ("dark", "light", "", False),
        ("light", "dark", "", True),
        ("dark", None, "?look=projector", False),
        ("light", None, "", False),
    ]:
        opened.page.emulate_media(color_scheme=system)
        opened.page.goto(tiny.path.as_uri())
        opened.page.evaluate(
            "(kept) => kept ? localStorage.setItem('bertlook-look', kept) : localStorage.removeItem('bertlook-look')",
            kept,
        )
        opened.page.goto(tiny.path.as_uri() + query)
        opened.page.wait_for_selector("body.bertlook-ready")
        assert (opened.page.evaluate(paper) == "rgb(20, 23, 28)") == dark, (system, kept, query)
        opened.page.evaluate("showPlace({ part: 'knowing' })")
        if dark:
            assert opened.page.evaluate(accent) == "#85b785"


BARS = """() => ["#rise-footer", "#bertlook-routes", ".slide-number", "section section.present"].map((name) => {
  const node = document.querySelector(name), words = document.createRange();
  words.selectNodeContents(node);
  const { left, right, top, bottom } = node.getBoundingClientRect();
  return { name, left, right: name === "#rise-footer" ? Math.min(right, words.getBoundingClientRect().right) : right, top, bottom };
})"""


@pytest.mark.parametrize(("width", "height"), [(390, 844), (844, 390), (768, 1024), (1024, 768)])
def test_on_a_small_screen_nothing_lies_over_another_and_a_long_slide_is_scrolled(
    open_file, tiny, tmp_path, width, height
):
    page, text = tmp_path / "phone.html", tiny.path.read_text("utf-8")
    long = "<p>One line after the other.</p>" * 60
    text = re.sub(r'(<section id="slide-1-1"[^>]*>)', rf"\1{long}", text).replace(
        '"routes":[90]', '"routes":[20,50,90]'
    )
    page.write_text(
        text.replace("tiny &lt;deck&gt;", "bertlook · lesson 12 of 14 · Putting heads to work"), "utf-8"
    )
    opened = open_file(page)
    opened.page.set_viewport_size({"width": width, "height": height})
    opened.page.goto(page.as_uri() + "#/slide-1-1")
    opened.page.wait_for_selector("body.bertlook-ready")
    opened.wait("document.querySelector('section section.present').getBoundingClientRect().left < 1")
    opened.page.evaluate("document.body.dataset.lesson = 12")  # the strip of dots is of lessons
    bars = opened.page.evaluate(BARS)
    for one, other in itertools.combinations(bars, 2):
        apart = (
            one["right"] <= other["left"] or other["right"] <= one["left"]
            or one["bottom"] <= other["top"] + 1 or other["bottom"] <= one["top"] + 1
        )  # fmt: skip
        assert apart, (one, other)
    assert all(
        bar["left"] > -1 and bar["right"] < width + 1 and bar["bottom"] < height + 1 for bar in bars
    ), bars
    place = "document.querySelector('section section.present').scrollTop"
    assert opened.page.evaluate("document.querySelector('section section.present').tabIndex") == 0
    opened.press("ArrowDown")
    assert opened.page.evaluate(place) > 50 and opened.slide == "1-1"
    opened.page.evaluate(f"{place} = 0")
    opened.press("ArrowUp")  # there is nothing above: the deck has the key
    assert opened.slide == "1-0" and opened.errors == []


def test_a_route_shows_its_slides_alone_and_a_key_goes_on_to_the_next(open_file, tiny, tmp_path):
    page, text = tmp_path / "routes.html", tiny.path.read_text("utf-8")
    for slide in ("0-0", "1-1"):
        text = text.replace(f'id="slide-{slide}" data-routes="90"', f'id="slide-{slide}" data-routes="20 90"')
    page.write_text(text.replace('"routes":[90]', '"routes":[20,90]'), encoding="utf-8")
    opened = open_file(page)

    def total():
        opened.page.wait_for_selector(
            "body.bertlook-ready, body.bertlook-alive, .slide-number", state="attached"
        )
        return opened.page.evaluate("Reveal.getTotalSlides()")

    def go_to(query):
        opened.page.goto(page.resolve().as_uri() + query)
        return total()

    def number():
        return "".join(opened.page.locator(".slide-number").inner_text().split())

    assert (total(), go_to("?route=20"), go_to("?route=90"), go_to("?route=30")) == (6, 2, 6, 6)
    assert (number(), go_to("?route=20"), number()) == ("1/6", 2, "1/6")
    opened.press("End")
    assert number() == "3/6"  # as in the whole deck: slides, notes and the teaching guide name it
    speaker, _ = open_speaker(opened)
    assert speaker.locator("#number").inner_text() == "3 / 6"
    go_to("?route=20")  # a page that is loaded again cannot reach it
    assert speaker.is_closed()
    go_to("?route=30")
    said = opened.page.locator("#bertlook-route")
    assert said.inner_text() == "No route “30”; there is: 20, 90. All slides are shown."
    opened.press("r")
    opened.page.wait_for_url(re.compile("route=20"))
    menu = opened.page.locator("#bertlook-routes")
    now = menu.locator("[aria-current]")
    assert total() == 2 and menu.locator("a").all_inner_texts() == ["20", "90"] and now.inner_text() == "20"
    opened.press("r")
    opened.page.wait_for_url(re.compile("route=90"))
    assert total() == 6 and now.inner_text() == "90"
    menu.locator("a", has_text="20").click()
    opened.page.wait_for_url(re.compile("route=20"))
    assert total() == 2 and opened.errors == []


def test_nothing_went_wrong_and_nothing_was_asked_for(tiny):
    assert tiny.errors == [] and tiny.foreign == []


def test_the_page_forbids_itself_to_ask(open_file, tiny):
    """Guards the test above: a request would be seen, and none gets through."""
    opened = open_file(tiny.path)
    opened.wait_until_ready()
    said = opened.page.evaluate("fetch('http://example.org/').then(() => 'answered', error => error.name)")
    assert said == "TypeError"
    assert any("Content Security Policy" in error for error in opened.errors)


def test_where_a_view_fails_the_saved_picture_stays(open_file, tiny, tmp_path):
    broken = tmp_path / "broken.html"
    text = tiny.path.read_text("utf-8").replace("function createHeadView(", "function renamed(", 1)
    broken.write_text(text, encoding="utf-8")
    opened = open_file(broken)
    opened.page.wait_for_selector("body.bertlook-failed", state="attached")
    opened.go("1-0")
    picture = opened.page.locator("section section.present .bertlook-static img")
    assert picture.count() == 1 and picture.evaluate("node => node.naturalWidth > 0")
    assert opened.errors


def test_the_handout_is_printed_and_asks_nobody(open_file, tiny):
    page = tiny.path.with_name("07_tiny_handout.html")
    opened = open_file(page)
    assert opened.page.locator("h1").count() == 1
    assert opened.page.locator("aside").count() == 1
    pictures = opened.page.locator("img").evaluate_all(
        "all => all.map(one => one.naturalWidth > 0 && one.alt !== '')"
    )
    assert pictures == [True] * 4
    assert opened.errors == [] and opened.foreign == []
    opened.screenshot("exported-handout")
    pdf = page.with_suffix(".pdf").read_bytes()
    assert pdf.startswith(b"%PDF") and len(pdf) > 10_000


def test_words_alone_grow_and_never_over_their_slide(open_file, tmp_path):
    cells = [cell("M ## Few\n\n- one line\n- another"), cell("M ## Many\n\n" + "- one line of many\n" * 15)]
    for number, one in enumerate(cells):
        one.id = f"cell-{number}"
    shutil.copy(ROOT / "slides" / "rise.css", tmp_path)
    shutil.copytree(ROOT / "slides" / "theme", tmp_path / "theme")
    page = open_file(exported(new_notebook(cells=cells, metadata={"title": "Words"}), tmp_path).page).page
    page.wait_for_selector("section.present.present li")
    asked = """k => { Reveal.slide(k); const slide = document.querySelector(".slides > section > section.present");
        return [parseFloat(getComputedStyle(slide.querySelector("li")).fontSize), slide.scrollHeight - slide.clientHeight]; }"""
    (few, over), (many, beyond) = page.evaluate(asked, 0), page.evaluate(asked, 1)
    assert few > 1.25 * many and over <= 1 and beyond <= 1, (few, over, many, beyond)
