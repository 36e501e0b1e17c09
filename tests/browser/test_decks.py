"""Every deck of the course in the real slideshow: it fits, it can be read, heard and worked by key, and its views answer."""

from __future__ import annotations

import pytest

from .conftest import ROOT
from .looking import walk

DECKS = sorted(path.relative_to(ROOT).as_posix() for path in (ROOT / "slides").glob("[0-9][0-9]_*.ipynb"))


@pytest.fixture(scope="class")
def deck(request, open_deck, serve):
    """A deck, alive and walked through; the tests share it. Its kernel ends with it, so that one deck at a time takes memory."""
    opened = open_deck(request.cls.path)
    opened.name = request.cls.path.rpartition("/")[2][:2]
    opened.walked = walk(opened, f"deck-{opened.name}")
    yield opened
    opened.page.close()
    serve().end_kernels()


class Walk:
    """What is asked of every deck; below, a class for each, so that two processes share them."""

    path: str

    def test_every_slide_fits_three_screens_with_nothing_cut_off(self, deck):
        assert deck.walked.slides >= 15
        assert not deck.walked.complaints("outside", "cut"), deck.walked.list("outside", "cut")

    def test_every_text_can_be_read_from_the_last_row(self, deck):
        assert not deck.walked.complaints("small", "faint"), deck.walked.list("small", "faint")

    def test_every_picture_has_words(self, deck):
        assert not deck.walked.complaints("mute"), deck.walked.list("mute")

    def test_every_control_is_reached_and_used_by_key_and_shows_its_focus(self, deck):
        assert deck.walked.stops
        assert not deck.walked.complaints("keys"), deck.walked.list("keys")

    def test_choosing_a_head_and_typing_a_sentence_change_the_picture(self, deck):
        explorers = deck.page.locator(".bertlook-explorer:has(.bertlook-views)")
        if not explorers.count():
            pytest.skip("this deck has no explorer")
        slide = explorers.first.evaluate("node => node.closest('section').id").removeprefix("slide-")
        deck.go(slide)
        explorer = explorers.first
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


for path in DECKS:
    name = f"TestDeck{path.rpartition('/')[2][:2]}"
    globals()[name] = type(name, (Walk,), {"path": path})
