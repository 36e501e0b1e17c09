"""The arc view in a real browser: what it says, what keys and menus do, and that nothing runs that should not."""

import made
import numpy as np
import pytest

from bertlook_course.corpora import TreebankSentence
from bertlook_course.render import arc_levels
from bertlook_course.widgets import ArcView
from bertlook_course.widgets.assets import FOLDER

from .conftest import still
from .test_widgets_browser import choose, show  # noqa: F401 - a fixture

WORDS = ("<img src=x onerror=window.broken=1>", "dog", "saw", "שלום", "e\u0301", ".")
TREE = TreebankSentence(WORDS, (1, 2, -1, 2, 3, 2), ("det", "nsubj", "root", "obj", "amod", "punct"), *[("_",) * 6] * 3, ({},) * 6)  # fmt: skip
SHORT = TreebankSentence(("it", "ran"), (1, -1), ("nsubj", "root"), *[("_",) * 2] * 3, ({},) * 2)


@pytest.fixture
def view():
    generator = np.random.default_rng(3)
    given = [generator.integers(0, len(s), (2, 3, 2, len(s))) for s in (TREE, SHORT)]
    return ArcView([TREE, SHORT], given)


def test_every_head_is_said_as_python_says_it(show, view):  # noqa: F811
    page = show(view=view)
    for sentence, direction, layer, head in np.ndindex(2, 2, 3, 2):
        choose(page, view, sentence=sentence, direction=direction, layer=layer, head=head)
        assert page.inner_text(".bl-caption") == view.caption
        assert page.locator(".bl-arc-word").count() == len(view.trees[sentence]["words"])
        right = sum(arc["answer"] == arc["governor"] for arc in view.arcs()["arcs"])
        assert page.locator(".bl-arc-label").all_text_contents().count("✓") == right
    assert page.errors == [] and not page.evaluate("window.broken")


def test_arcs_lie_as_high_as_in_the_picture(show, view):  # noqa: F811
    """The levels of JavaScript are those of Python, which its own tests hold: neighbours that touch share one."""
    script = (FOLDER / "arc_view.js").read_text(encoding="utf-8")
    levels = script[script.index("function arcLevels") : script.index("function isRight")]
    drawn = np.random.default_rng(1).integers(0, 8, (200, 5, 2)).tolist()
    cases = [[(0, 1), (1, 2), (2, 3)], *([pair for pair in case if pair[0] != pair[1]] for case in drawn)]
    found = show(view=view).evaluate(f"(cases) => {{ {levels}; return cases.map(arcLevels); }}", cases)
    assert found == [arc_levels(case) for case in cases] and found[0] == [1, 1, 1]


@pytest.mark.parametrize("direction", [0, 1])
def test_the_arrow_lands_on_the_word_that_is_looked_at(show, view, direction):  # noqa: F811
    page = show(view=view)
    choose(page, view, layer=2, head=1, direction=direction)
    arcs = view.arcs()["arcs"]
    gold = [(arc["governor"], arc["dependent"]) for arc in arcs]
    named = [(arc["dependent"], arc["answer"])[:: 1 - 2 * direction] for arc in arcs]
    assert made.arrows(page.inner_html(".bl-arc-stage"), len(WORDS)) == gold + named


def test_keys_and_menus_choose_without_a_kernel(show, view):  # noqa: F811
    page = show(view=view)
    page.focus(".bl-arc-stage")
    page.keyboard.press("ArrowRight")
    page.keyboard.press("ArrowDown")
    assert page.evaluate("[models.view.get('layer'), models.view.get('head')]") == [1, 1]
    page.keyboard.press("PageDown")
    assert page.evaluate("models.view.get('sentence')") == 1
    page.keyboard.press("PageDown")  # there is no third
    assert page.evaluate("models.view.get('sentence')") == 1
    page.keyboard.press("PageUp")
    page.select_option(".bl-menu:has-text('relation') select", "obj")
    still(page)
    assert page.evaluate("models.view.get('relation')") == "obj"
    assert page.locator(".bl-arc-label").count() == 2  # the treebank's arc and the head's
    assert page.evaluate("window.shortcuts") == []  # neither notebook nor slides saw a key
