"""Differences in a real browser: map and view say what Python says, both signs are drawn apart, and heads change at once."""

from __future__ import annotations

import pytest

from bertlook_teach.views import HeadMap, HeadView

from .conftest import still
from .test_widgets_browser import HOSTILE, SENTENCE, attention, show  # noqa: F401 - a fixture

BLUE, BROWN = "b > r + 30 && b > g", "r > b + 30 && r > g"  # of a pixel of the canvas


def both(tokens, layers=2, heads=3, **options):
    after, before = (attention(tokens, layers, heads, seed=seed) for seed in (1, 2))
    measure = lambda one: one.weights[:, :, 1, 0]
    drawn = HeadMap({"a share": measure(after)}, minus={"a share": measure(before)})
    return drawn, HeadView(after, minus=before, **options)


def share_of(page, rule):
    """How much of the canvas has such a colour."""
    return page.evaluate(
        "(() => { const c = document.querySelector('.view canvas'); const d = c.getContext('2d').getImageData(0, 0, c.width, c.height).data;"
        f" let n = 0; for (let i = 0; i < d.length; i += 4) {{ const [r, g, b, a] = d.slice(i, i + 4); if (a > 100 && {rule}) n++; }}"
        " return n / (c.width * c.height); })()"
    )


@pytest.mark.parametrize("style", ["lines", "grid"])
def test_every_head_is_said_as_python_says_it_and_both_signs_are_drawn(show, style):  # noqa: F811
    drawn, view = both(HOSTILE, style=style)
    page = show(map=drawn, view=view)
    for layer, head, query, hide in [(0, 0, -1, False), (1, 2, -1, True), (1, 0, 3, False), (0, 1, 5, False)]:
        for name, value in {"layer": layer, "head": head, "query": query, "hide_special": hide}.items():
            setattr(view, name, value)
            page.evaluate(f"models.view.set('{name}', {str(value).lower()})")
        drawn.layer, drawn.head = layer, head
        still(page)
        assert page.inner_text(".view .bl-caption") == view.sentence
        cells = page.locator(".bl-cell").all_text_contents()
        assert all(text[0] in "+−0" for text in cells)
        number = page.inner_text(".bl-readout").partition(": ")[2]
        assert float(number) == pytest.approx(drawn.value, abs=0.0006) and number[0] in "+-"
    page.evaluate("models.view.set('query', -1)")
    page.wait_for_timeout(300)
    assert share_of(page, BLUE) > 0.002 and share_of(page, BROWN) > 0.002
    assert (
        page.inner_text(".bl-change-key")
        == f"more\nless\nfull: {100 * view.texts['wordpiece']['largest']:.1f} points"
    )
    assert page.locator(".view .bl-unseen tr").count() == 1 + len(HOSTILE)
    assert page.errors == [] and not page.evaluate("window.broken")


def test_nothing_brown_where_nothing_was_lost(show):  # noqa: F811
    same = attention(SENTENCE)
    page = show(view=HeadView(same, minus=same))
    assert page.inner_text(".bl-caption") == "Head 1-1, after minus before: nothing has changed."
    assert share_of(page, BROWN) == share_of(page, BLUE) == 0


@pytest.mark.parametrize(("width", "height"), [(1024, 768), (1280, 720)])
def test_a_large_model_has_signs(show, width, height):  # noqa: F811
    drawn, view = both(SENTENCE, 12, 16)
    page = show(map=drawn, view=view, width=width, height=height)
    signs = page.locator(".bl-cell").all_text_contents()
    assert {text[0] for text in signs if text} <= set("+−0") and sum(map(bool, signs)) > 50
    assert page.evaluate("document.documentElement.scrollWidth") <= width


def test_words_and_weights_of_a_chosen_token_are_changes_too(show):  # noqa: F811
    _, view = both(SENTENCE)
    page = show(view=view)
    view.level, view.query = "word", 2
    for name, value in (("level_index", 1), ("query", 2)):  # another level lets the token go
        page.evaluate(f"models.view.set('{name}', {value})")
        still(page)
    assert page.inner_text(".bl-caption") == view.sentence
    row = 100 * view.weights()[2]
    numbers = [float(text) for text in page.locator(".bl-number").all_text_contents() if text]
    assert numbers == pytest.approx([x for x in row if abs(x) >= 0.5], abs=0.06)
