"""Every deck of the course in the real slideshow: it fits, it can be read, heard and worked by key, and its views answer."""

from __future__ import annotations

import pytest

from bertlook_course.syllabus import GUEST, LESSONS

from . import walks
from .conftest import ROOT, use_encoder
from .looking import SIZES, walk

DECKS = sorted(path.relative_to(ROOT).as_posix() for path in (ROOT / "slides").glob("[0-9][0-9]_*.ipynb"))
GUEST_DECK = f"slides/{GUEST}.ipynb"

# Slides with an empty part of more than a third that is meant, and why. A heading as look.js says it: its first 40 characters.
EMPTY = {
    (
        "11",
        "How sure? Which heads are beyond chance?",
    ): "the empty part of the axes says that few heads matter",
    (
        "02",
        "The picture everybody knows: BertViz's h",
    ): "BertViz draws a column as high as its text and as wide as two words",
}


@pytest.fixture(scope="class")
def deck(request, open_deck, server):
    """A deck, alive; the tests share it. Its kernel ends with it, so that one deck at a time takes memory."""
    opened = open_deck(request.cls.path)
    opened.name = request.cls.path.rpartition("/")[2][:2]
    yield opened
    opened.page.close()
    server.end_kernels()


@pytest.fixture(scope="class")
def walked(request, deck):
    """What a walk through the deck saw, if anything has changed since the last one."""
    path = request.cls.path
    if not walks.ALL and walks.is_known(path):
        pytest.skip(
            "deck, scripts and styles are as they were at the last walk; --all walks through all decks"
        )
    before = request.session.testsfailed
    yield walk(deck, f"deck-{deck.name}")
    if walks.ALL and request.session.testsfailed == before:
        walks.keep(path)


class Walk:
    """What is asked of every deck; below, a class for each, so that two processes share them."""

    path: str

    def test_every_slide_fits_three_screens_with_nothing_cut_off(self, walked):
        assert walked.slides >= (12 if self.path == GUEST_DECK else 15)
        assert not walked.complaints("outside", "cut"), walked.list("outside", "cut")

    def test_no_slide_is_empty_for_more_than_a_third(self, deck, walked):
        assert len(walked.unused) == walked.slides
        meant = {heading for number, heading in EMPTY if number == deck.name}
        assert meant <= {heading for heading, _ in walked.unused}  # or the list has grown old
        assert walked.empty(meant) == []

    def test_every_text_can_be_read_from_the_last_row(self, walked):
        assert not walked.complaints("small", "faint"), walked.list("small", "faint")

    def test_every_picture_has_words(self, walked):
        assert not walked.complaints("mute"), walked.list("mute")

    def test_pictures_wear_the_typeface_of_the_slides(self, deck):
        worn = "[...document.querySelectorAll(\".reveal figure > img[src^='data:image/svg+xml;base64,']\")].map((one) => atob(one.src.split(',')[1]).includes('SlideType'))"
        assert all(deck.ask(worn))

    def test_every_control_is_reached_and_used_by_key_and_shows_its_focus(self, walked):
        assert walked.stops
        assert not walked.complaints("keys"), walked.list("keys")

    def test_choosing_a_head_and_typing_a_sentence_change_the_picture(self, deck):
        explorers = deck.page.locator(".bertlook-explorer:has(.bertlook-views)")
        if not explorers.count():
            pytest.skip("this deck has no explorer")
        slide = explorers.first.evaluate("node => node.closest('section').id").removeprefix("slide-")
        deck.go(slide)
        explorer = explorers.first
        use_encoder(explorer)
        caption = explorer.locator("[aria-live='polite']").last
        before = caption.inner_text()
        explorer.locator(".bertlook-views [tabindex='0']").first.focus()
        deck.press("ArrowDown", "ArrowRight")
        if caption.inner_text() == before:  # it was the last head of the last layer
            deck.press("ArrowUp", "ArrowLeft")
        chosen = caption.inner_text()
        assert chosen != before and deck.slide == slide
        explorer.locator("input[type='text']").first.fill("Rain fell on the old roof.")
        deck.press("Enter")
        deck.page.wait_for_function(
            "node => node.textContent.includes('roof')",
            arg=explorer.locator(".bertlook-views").first.element_handle(),
        )
        assert "roof" in explorer.inner_text()
        deck.screenshot(f"deck-{deck.name}-explorer")

    def test_nothing_leaves_the_machine_and_nothing_goes_wrong(self, deck):
        assert not deck.foreign
        assert not deck.errors


class CourseMap:
    """The map of the course: every box is reached by key and opens its deck; links to pages of text open as pages."""

    map = "3-0"

    def test_tab_goes_through_the_lessons_in_their_order(self, deck):
        deck.go(self.map)
        boxes = deck.page.locator("section.present .bertlook-course a")
        assert boxes.count() == len(LESSONS)
        boxes.first.focus()
        order = []
        for _ in LESSONS:
            order.append(deck.page.evaluate("document.activeElement.getAttribute('aria-label')"))
            deck.page.keyboard.press("Tab")
        assert [name.split()[0] for name in order] == [one.number for one in LESSONS]
        assert deck.slide == self.map

    def test_no_label_of_a_box_is_cut(self, deck):
        deck.go(self.map)
        cut = """async () => {  // a slide is laid out anew a moment after its window
            for (let turn = 0; ; turn++) {
                const cut = [...document.querySelectorAll("section.present .bertlook-course a")].filter(
                    (box) => box.scrollHeight > box.clientHeight + 1 || box.scrollWidth > box.clientWidth + 1);
                if (!cut.length || turn === 100) return cut.map((box) => box.textContent);
                await new Promise((done) => setTimeout(done, 100));
            }
        }"""
        for width, height in SIZES.values():
            deck.page.set_viewport_size({"width": width, "height": height})
            assert not deck.page.evaluate(cut), width

    def test_enter_opens_a_deck_as_a_slideshow(self, deck):
        deck.go(self.map)
        box = deck.page.locator("section.present .bertlook-course a").nth(2)
        box.focus()
        assert "/rise/slides/03_where_heads_look.ipynb" in box.get_attribute("href")
        with deck.page.context.expect_page() as opening:
            box.press("Enter")
        opened = opening.value
        assert "/rise/slides/03_where_heads_look.ipynb" in opened.url
        opened.close()

    @pytest.mark.parametrize(
        ("slide", "name", "place", "shows"),
        [
            ("15-0", "the first", "/lab/tree/notebooks/exercises/01_what_bert_reads.ipynb", ".jp-Notebook"),
            ("15-0", "Glossary", "/lab/tree/docs/glossary.md", ".jp-RenderedMarkdown h1"),
            ("16-0", "lesson 1, what", "/rise/slides/01_what_bert_reads.ipynb", ".reveal.ready"),
        ],
    )
    def test_a_link_in_the_text_opens_where_it_can_be_read(self, deck, slide, name, place, shows):
        deck.go(slide)
        link = deck.page.locator("section.present a", has_text=name)
        with deck.page.context.expect_page() as opening:
            link.click()
        opened = opening.value
        assert place in opened.url
        opened.wait_for_selector(f"{shows}:visible")  # JupyterLab may hold another tab behind it
        opened.close()


def show_slide_of(deck, selector: str):
    """Go to the slide that holds this."""
    slide = (
        deck.page.locator(f"section section:has({selector})").first.get_attribute("id").removeprefix("slide-")
    )
    deck.go(slide)
    return slide


class LabelGame:
    """The labelling game and the threshold board: keys, buttons, sliders, and no slide turned by accident."""

    def test_the_game_is_played_with_keys_and_with_buttons(self, deck):
        slide = show_slide_of(deck, ".bl-game")
        page = deck.page
        status = page.locator(".present .bl-game-status")
        assert "not answered yet" in status.inner_text()
        page.locator(".present .bl-game").focus()
        deck.press("1", "5")
        page.wait_for_function(
            "document.querySelector('.present .bl-game-status').textContent.includes('2 labelled')"
        )
        assert status.inner_text().startswith("Map 3 of 36")
        deck.press("u")
        page.wait_for_function(
            "document.querySelector('.present .bl-game-status').textContent.includes('1 labelled')"
        )
        deck.press("ArrowRight", "ArrowRight", "ArrowLeft")
        page.wait_for_function(
            "document.querySelector('.present .bl-game-status').textContent.startsWith('Map 3')"
        )
        page.locator(".present .bl-game-button", has_text="4 block").click()
        page.wait_for_function(
            "document.querySelector('.present .bl-game-status').textContent.includes('2 labelled')"
        )
        page.locator(".present .bl-game-button", has_text="result").focus()
        deck.press("Enter")
        page.wait_for_selector(".present .bl-game-result table")
        deck.screenshot("game-result")
        assert "of 2" in page.locator(".present .bl-game-result").inner_text()
        assert deck.slide == slide  # no key turned the slide

    def test_typing_a_code_labels_nothing_and_a_wrong_one_is_said(self, deck):
        slide = show_slide_of(deck, ".bl-game")
        page = deck.page
        before = page.locator(".present .bl-game-status").inner_text()
        page.locator(".present .bl-game-more summary").click()
        page.locator(".present .bl-game-more textarea").click()
        page.keyboard.type("123 u")
        page.locator(".present .bl-game-button", has_text="compare").click()
        page.wait_for_function(
            "document.querySelector('.present .bl-game-message').textContent.includes('A code is six')"
        )
        assert page.locator(".present .bl-game-status").inner_text() == before and deck.slide == slide

    def test_a_slider_moves_the_board(self, deck):
        slide = show_slide_of(deck, ".bertlook-board")
        page = deck.page
        before = page.locator(".present .bertlook-board").inner_text()
        page.locator(".present .noUi-handle").nth(1).focus()  # the vertical threshold
        deck.press(*["ArrowLeft"] * 5)
        page.wait_for_function(
            "before => document.querySelector('.present .bertlook-board').innerText !== before", arg=before
        )
        deck.screenshot("board-moved")
        assert deck.slide == slide and deck.errors == []


MORE = {"00": (CourseMap,), "05": (LabelGame,)}  # what is asked of one deck alone
for path in (*DECKS, GUEST_DECK):
    number = path.rpartition("/")[2][:2]
    name = f"TestDeck{number}"
    globals()[name] = type(name, (*MORE.get(number, ()), Walk), {"path": path})  # the walk comes first
