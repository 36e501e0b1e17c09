"""Weighted texts in a real browser, on a plain page: what is drawn, said, pressed, how large and how fast."""

from __future__ import annotations

import numpy as np
import pytest

from bertlook_course.widgets import WeightedText
from bertlook_teach.views import magnitude_colour

from .conftest import still
from .test_widgets_browser import HOSTILE, SENTENCE, show  # noqa: F401 - a fixture

generator = np.random.default_rng(4)


def documents():
    made = []
    for words in (SENTENCE, HOSTILE):
        scores = generator.dirichlet(np.full(len(words), 0.4), size=(2, 3))
        made.append(
            {
                "words": words,
                "scores": scores,
                "key": generator.random(len(words)) < 0.4,
                "mix": scores[1, 1] / 3,
            }
        )
    made[1].pop("mix")
    return made


@pytest.mark.parametrize("difference", [False, True])
def test_every_head_is_said_as_python_says_it_and_hostile_words_stay_text(show, difference):  # noqa: F811
    given = documents()
    before = WeightedText(documents=[{**one, "scores": one["scores"][::-1]} for one in given])
    view = WeightedText(documents=given, minus=before if difference else None)
    page = show(view=view)
    for document, layer, head, index in [
        (0, 0, 0, 0),
        (0, 1, 2, 0),
        (0, 0, 1, 1),
        (1, 1, 0, 0),
        (1, 0, 2, 1),
    ]:
        names = {"document": document, "layer": layer, "head": head, "show_index": index}
        for name, value in names.items():
            setattr(view, name, value)
        page.evaluate(
            "(names) => { for (const [k, v] of Object.entries(names)) models.view.set(k, v); }", names
        )
        still(page)
        assert page.inner_text(".bl-caption") == view.sentence
        words = view.texts[document]["words"]
        assert page.locator(".bl-weighted-word").count() == len(words)
        assert page.locator(".bl-key-word").count() == sum(view.texts[document]["key"])
    assert view.sentence in page.get_attribute(".bl-weighted-stage", "aria-label")
    assert page.locator(".bl-unseen tr").count() == 1 + min(12, len(words))
    assert page.errors == [] and not page.evaluate("window.broken")


def test_a_head_that_prefers_no_word_is_evenly_pale_where_the_average_is_the_scale(show):  # noqa: F811
    words = ["Salt", "marshes", "stop", "waves"]
    scores = np.array([[[0.2] * 4, [0.0, 0.1, 0.1, 0.6]]])
    for darkest, even in ((0, 1), (4, 0.25)):
        page = show(view=WeightedText(words, scores, unit="weight", darkest=darkest))
        wanted = page.evaluate(
            "colour => { document.body.style.color = colour; return getComputedStyle(document.body).color; }",
            magnitude_colour(even),
        )
        paints = "[...document.querySelectorAll('.bl-weighted-word')].map(one => getComputedStyle(one).backgroundColor)"
        assert set(page.evaluate(paints)) == {wanted}
    assert "0.800 weight or more: 4 times the average" in page.inner_text(".bl-weighted-foot")
    page.evaluate("models.view.set('head', 1)")
    still(page)
    none, some, _, most = page.evaluate(paints)
    assert most != some != none and page.errors == []


def test_keys_choose_head_text_and_mix_and_stay_in_the_view(show):  # noqa: F811
    page = show(view=WeightedText(documents=documents()))
    page.focus(".bl-weighted-stage")
    assert page.evaluate("getComputedStyle(document.activeElement).outlineStyle") == "solid"
    state = "['document', 'layer', 'head', 'show_index'].map((name) => models.view.get(name))"
    for key, expected in (
        ("ArrowRight", [0, 0, 1, 0]), ("ArrowDown", [0, 1, 1, 0]), ("m", [0, 1, 1, 1]), ("ArrowLeft", [0, 1, 0, 0]),
        ("PageDown", [1, 1, 0, 0]), ("PageDown", [1, 1, 0, 0]), ("m", [1, 1, 0, 0]), ("PageUp", [0, 1, 0, 0]), ("End", [0, 1, 2, 0]),
    ):  # fmt: skip
        page.keyboard.press(key)
        assert page.evaluate(state) == expected, key
    assert page.evaluate("window.shortcuts") == ["m"]  # of the text without a mix, where it means nothing
    page.locator(".bl-menu:has-text('weighted by') select").select_option("1")
    page.locator(".bl-menu:has-text('layer') select").select_option("0")
    assert page.evaluate(state) == [0, 0, 2, 0]


@pytest.mark.parametrize(("width", "height"), [(1024, 768), (1280, 720)])
def test_a_long_text_is_large_inside(show, width, height):  # noqa: F811
    words = [f"word{i % 37}" for i in range(500)]
    scores = generator.dirichlet(np.full(500, 0.1), size=(12, 12))
    page = show(
        view=WeightedText(words, scores, [i % 9 == 0 for i in range(500)]), width=width, height=height
    )
    assert page.evaluate("document.documentElement.scrollWidth") <= width
    assert page.locator(".bertlook-weighted").bounding_box()["height"] < 600
    assert (
        page.evaluate("parseFloat(getComputedStyle(document.querySelector('.bl-weighted-word')).fontSize)")
        == 24
    )
