"""Beliefs by depth in a real browser, on a plain page without Jupyter: what is drawn, said, pressed, and how large."""

from __future__ import annotations

import pytest

from bertlook_course.widgets import LayerBeliefs

from .test_widgets_browser import page_of

HOSTILE = "<img src=x onerror=window.broken=1>"


def question(at, gold, labels, rows, second=None):
    return {"span1": [at, at + 1], "span2": second, "gold": gold, "labels": labels, "beliefs": rows}


def cases(depth=7):
    up = [round(0.1 + 0.8 * k / (depth - 1), 3) for k in range(depth)]
    down = up[::-1]
    first = {
        "task": "dep",
        "words": ["The", "old", "man", "can", HOSTILE, "."],
        "targets": [
            question(0, "det", ["det", "amod", "nsubj"], [up, down, [0.05] * depth], [2, 3]),
            question(4, "obj", ["obj", "obl"], [up, [0.004] * depth], [3, 4]),
            question(2, "", ["nsubj"], [down], [3, 4]),
        ],
    }
    late = [0.1] * (depth - 1) + [0.9]
    second = {
        "task": "dep",
        "words": ["We", "saw", "it"],
        "targets": [
            question(0, "nsubj", ["nsubj", "obj"], [up, down], [1, 2]),
            question(
                2, "obj", ["obj", "nsubj"], [late, late[::-1]], [1, 2]
            ),  # another leader with the last layer only
        ],
    }
    return [first, second]


@pytest.fixture
def show(blank):
    def show(view, width=1280, height=720, font=24):
        page = blank(width, height)
        page.set_content(page_of(font, view=view))
        page.wait_for_function("window.ready && document.querySelector('.bl-belief-table td')")
        return page

    return show


def chosen(page) -> tuple[int, int]:
    return tuple(page.evaluate("['sentence', 'target'].map((name) => window.models.view.get(name))"))


def settled(page, sentence, target):
    page.wait_for_function(
        "([s, t]) => models.view.get('sentence') === s && models.view.get('target') === t && "
        "document.querySelector('.bl-belief-place').textContent.startsWith(`question ${t + 1} of`)",
        arg=[sentence, target],
    )


def test_every_question_is_drawn_with_pythons_sentence_and_hostile_words_stay_text(show):
    view = LayerBeliefs(cases())
    page = show(view)
    for sentence, target in ((0, 0), (0, 1), (0, 2), (1, 0), (1, 1)):
        view.choose(sentence, target)
        page.evaluate(
            "([s, t]) => { models.view.set('target', t); models.view.set('sentence', s); }",
            [sentence, target],
        )
        settled(page, sentence, target)
        about = view.cases[sentence]["targets"][target]
        assert page.locator(".bl-near").inner_text() == view.sentence_text
        assert page.locator(".bl-belief-table td").count() == 7 * len(about["labels"])
        shown = page.locator(".bl-belief-table td").all_inner_texts()
        assert shown[:7] == [str(int(100 * p + 0.5)) for p in about["beliefs"][0]]
        marked = [
            text for text in page.locator(".bl-belief-table th[scope=row]").all_inner_texts() if "✓" in text
        ]
        assert marked == ([f"{about['gold']} ✓"] if about["gold"] else [])
    assert page.evaluate("window.broken") is None and page.errors == []
    assert [url for url in page.requests if not url.startswith(("blob:", "data:"))] == []


def test_keys_go_through_questions_and_sentences_and_stay_in_the_view(show):
    page = show(LayerBeliefs(cases()))
    page.focus(".bl-belief-stage")
    for key, place in (
        ("ArrowRight", (0, 1)), ("End", (0, 2)), ("ArrowRight", (0, 2)), ("ArrowLeft", (0, 1)), ("ArrowDown", (1, 0)),
        ("ArrowDown", (1, 0)), ("ArrowUp", (0, 0)), ("Home", (0, 0)),
    ):  # fmt: skip
        page.keyboard.press(key)
        settled(page, *place)
    assert page.evaluate("window.shortcuts") == []


def test_a_click_on_a_word_asks_about_it(show):
    page = show(LayerBeliefs(cases()))
    page.locator('.bl-belief-word[data-word="4"]').click()
    settled(page, 0, 1)
    page.locator('.bl-belief-word[data-word="3"]').click()  # only a governor: the next question about it
    settled(page, 0, 2)
    page.locator('.bl-belief-word[data-word="1"]').click()  # nobody asks about it
    assert chosen(page) == (0, 2)
    page.locator(".bl-select").select_option("1")
    settled(page, 1, 0)


def test_tab_reaches_the_menu_and_the_stage_and_the_stage_says_where_it_is(show):
    view = LayerBeliefs(cases())
    page = show(view)
    page.focus("#before")
    page.keyboard.press("Tab")
    assert page.evaluate("document.activeElement.className") == "bl-select"
    page.keyboard.press("Tab")
    assert page.evaluate("document.activeElement.className") == "bl-belief-stage"
    assert page.evaluate("getComputedStyle(document.activeElement).outlineStyle") == "solid"
    assert view.sentence_text in page.get_attribute(".bl-belief-stage", "aria-label")


@pytest.mark.parametrize("width, height", [(1024, 768), (1280, 720), (1920, 1080)])
@pytest.mark.parametrize("depth", [7, 13])
def test_numbers_are_large_and_inside(show, width, height, depth):
    page = show(LayerBeliefs(cases(depth)), width, height)
    sizes = page.locator(".bl-belief-table td").evaluate_all(
        "nodes => nodes.map((node) => parseFloat(getComputedStyle(node).fontSize))"
    )
    assert min(sizes) >= 24
    assert page.evaluate("document.documentElement.scrollWidth") <= width
    assert page.locator(".bertlook-beliefs").bounding_box()["height"] < 500


def test_nothing_is_left_behind(show):
    page = show(LayerBeliefs(cases()))
    page.evaluate("window.cleanups.view()")
    assert page.locator(".bertlook-beliefs").count() == 0
