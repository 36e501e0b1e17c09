"""The view of antecedents in a real browser: the page and Python agree on every head and reading, on several antecedents too."""

import numpy as np
import pytest

from bertlook_course.corpora import CorefDocument, Mention
from bertlook_course.render import is_right
from bertlook_course.widgets import AntecedentView
from bertlook_teach import Attention

from .conftest import still
from .test_widgets_browser import choose, show  # noqa: F401 - a fixture


def text(words, clusters):
    words = tuple(words.split())
    mentions = [Mention(i, i + 1, i, c, "proper" if words[i].istitle() else "pronoun") for i, c in clusters]
    return CorefDocument("d", words, ((0, len(words)),), tuple(mentions))


def looking(document, seed):
    n = len(document.words) + 2
    maps = np.random.default_rng(seed).dirichlet(np.ones(n), (3, 2, n))
    special, ids = (True, *[False] * (n - 2), True), (None, *range(n - 2), None)
    return Attention(maps, ("[CLS]", *document.words, "[SEP]"), ids, (0,) * n, special, document.words, "", level="word")  # fmt: skip


@pytest.fixture
def view():
    documents = [
        text("Ann met Mary and she saw her <b>dog</b>", [(0, "a"), (2, "m"), (4, "a"), (6, "a")]),
        text("Tom lost his hat", [(0, "t"), (2, "t")]),
    ]
    return AntecedentView(documents, [looking(d, i) for i, d in enumerate(documents)])


def test_every_head_and_reading_is_said_as_python_says_it(show, view):  # noqa: F811
    page = show(view=view)
    several = 0
    for sentence, direction, layer, head in np.ndindex(2, 2, 3, 2):
        choose(page, view, sentence=sentence, direction=direction, layer=layer, head=head)
        assert page.inner_text(".bl-caption") == view.caption
        arcs = view.arcs()["arcs"]
        right = sum(is_right(arc) for arc in arcs)
        assert page.locator(".bl-arc-label").all_text_contents().count("✓") == right
        several += sum(arc["answer"] in arc["others"] for arc in arcs)
    assert several  # the case that a plain comparison would call wrong
    assert page.errors == []


def test_the_menus_speak_of_kinds_and_readings(show, view):  # noqa: F811
    page = show(view=view)
    options = page.locator(".bl-menu:has-text('kind') select option").all_text_contents()
    assert options == ["every kind", "pronoun"]
    page.select_option(".bl-menu:has-text('reading') select", "1")
    still(page)
    assert page.evaluate("models.view.get('direction')") == 1
    assert "it names any other word" in page.inner_text(".bl-caption")
