"""The labelling game and the threshold board on their slides: keys, buttons, sliders, and no slide turned by accident."""

from __future__ import annotations

import pytest


@pytest.fixture(scope="module")
def deck(open_deck):
    return open_deck("slides/05_five_kinds_of_map.ipynb")


def show(deck, selector: str):
    """Go to the slide that holds this."""
    slide = (
        deck.page.locator(f"section section:has({selector})").first.get_attribute("id").removeprefix("slide-")
    )
    deck.go(slide)
    return slide


def test_the_game_is_played_with_keys_and_with_buttons(deck):
    slide = show(deck, ".bl-game")
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


def test_typing_a_code_labels_nothing_and_a_wrong_one_is_said(deck):
    slide = show(deck, ".bl-game")
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


def test_a_slider_moves_the_board(deck):
    slide = show(deck, ".bertlook-board")
    page = deck.page
    before = page.locator(".present .bertlook-board").inner_text()
    page.locator(".present .noUi-handle").nth(1).focus()  # the vertical threshold
    deck.press(*["ArrowLeft"] * 5)
    page.wait_for_function(
        "before => document.querySelector('.present .bertlook-board').innerText !== before", arg=before
    )
    deck.screenshot("board-moved")
    assert deck.slide == slide and deck.errors == []
