"""The map of the course in the slideshow: every box is reached by key and opens its deck; links to pages of text open as pages."""

from __future__ import annotations

import pytest

from bertlook_teach.course import LESSONS, MAP


@pytest.fixture(scope="module")
def deck(open_deck):
    """The opening deck, alive, at its map: what was saved and not run here JupyterLab shows as a bare list of links."""
    opened = open_deck(f"slides/{MAP}.ipynb")
    opened.go("3-0")
    return opened


def test_tab_goes_through_the_lessons_in_their_order(deck):
    boxes = deck.page.locator("section.present .bertlook-course a")
    assert boxes.count() == len(LESSONS)
    boxes.first.focus()
    order = []
    for _ in LESSONS:
        order.append(deck.page.evaluate("document.activeElement.getAttribute('aria-label')"))
        deck.page.keyboard.press("Tab")
    assert [name.split(",")[0] for name in order] == [f"Lesson {int(one.number)}" for one in LESSONS]
    assert deck.slide == "3-0"


def test_no_label_of_a_box_is_cut(deck):
    for width, height in ((1024, 768), (1280, 720), (1920, 1080)):
        deck.page.set_viewport_size({"width": width, "height": height})
        cut = deck.page.locator("section.present .bertlook-course a").evaluate_all(
            "all => all.filter((box) => box.scrollHeight > box.clientHeight + 1 || box.scrollWidth > box.clientWidth + 1)"
            ".map((box) => box.textContent)"
        )
        assert not cut, (width, cut)


def test_enter_opens_a_deck_as_a_slideshow(deck):
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
        ("17-0", "lesson 1, what", "/rise/slides/01_what_bert_reads.ipynb", ".reveal.ready"),
    ],
)
def test_a_link_in_the_text_opens_where_it_can_be_read(deck, slide, name, place, shows):
    deck.go(slide)
    link = deck.page.locator("section.present a", has_text=name)
    with deck.page.context.expect_page() as opening:
        link.click()
    opened = opening.value
    assert place in opened.url
    opened.wait_for_selector(shows, timeout=120_000)
    opened.close()
