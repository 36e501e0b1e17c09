"""BertViz's three views and our neuron view, offline, on a plain page; `test_alive.py` has them on slides and in JupyterLab."""

from __future__ import annotations

from types import SimpleNamespace

import numpy as np
import pytest

from bertlook_course.widgets import NeuronView
from bertlook_press.bertviz import bertviz_head_view, bertviz_model_view, bertviz_neuron_view
from bertlook_teach.views import HeadMap

from .conftest import still
from .test_widgets_browser import HOSTILE, show  # noqa: F401 - a fixture

SET_UP = """\
import numpy as np
from types import SimpleNamespace
from bertlook_press.bertviz import bertviz_head_view, bertviz_model_view, bertviz_neuron_view
from bertlook_course.widgets import NeuronView

def attention(tokens, second=None, layers=3, heads=2, dim=24, seed=5):
    queries, keys = np.random.default_rng(seed).normal(0, 1.5, size=(2, layers, heads, len(tokens), dim))
    scores = queries @ keys.swapaxes(-1, -2) / np.sqrt(dim)
    weights = np.exp(scores) / np.exp(scores).sum(axis=-1, keepdims=True)
    return SimpleNamespace(
        weights=weights, tokens=tuple(tokens), special=tuple(t in ("[CLS]", "[SEP]") for t in tokens),
        segment_ids=tuple(int(second is not None and i >= second) for i in range(len(tokens))),
        queries=queries, keys=keys, level="wordpiece",
    )

PAIR = attention("[CLS] the cat sat [SEP] it was tired [SEP]".split(), second=5)
"""
scope = {}
# The notebook's own cell, so that page and test see the same numbers.
exec(compile(SET_UP, "the set-up cell", "exec"), scope)  # noqa: S102
attention, PAIR = scope["attention"], scope["PAIR"]

CELLS = {
    "head": "bertviz_head_view(PAIR)",
    "model": "bertviz_model_view(PAIR)",
    "neuron": "bertviz_neuron_view(PAIR, layer=1, query=2)",
    "ours": "NeuronView(PAIR, layer=1, query=2)",
}
LINES = {
    "head": 2 * 9 * 9,
    "model": 3 * 2 * 9 * 9,
    "neuron": 9 * 9,
}  # what stands in the page when all are drawn


def lines(frame) -> int:
    """Weights drawn."""
    return frame.evaluate("document.querySelectorAll('svg line:not(.text-query-line)').length")


def drawn(frame) -> list:
    """How strongly each line stands in the page."""
    return frame.evaluate(
        "[...document.querySelectorAll('svg line')].map((line) => line.getAttribute('stroke-opacity'))"
    )


def views_of(page, count=3) -> dict:
    """BertViz's frames by the view they show, once all are drawn."""
    found = {}
    for _ in range(100):
        for frame in page.frames[1:]:
            title = frame.title() if frame.url == "about:srcdoc" else ""
            if "BertViz's" in title and frame.evaluate("document.querySelectorAll('svg line').length"):
                found[title.split("BertViz's ")[1].split(" view")[0]] = frame
        if len(found) >= count:
            return found
        page.wait_for_timeout(100)
    pytest.fail(f"only {sorted(found)} drawn", pytrace=False)


def try_out(views, page):
    """Every control changes its picture, and no picture is stretched over its frame's edge."""
    head, model, neuron = (views[name] for name in ("head", "model", "neuron"))
    assert lines(head) == LINES["head"]
    before = drawn(head)
    head.select_option("#layer", "2")
    assert drawn(head) != before
    head.select_option("#filter", "3")  # A -> B: five queries, four keys, two heads
    assert lines(head) == 2 * 5 * 4
    assert head.evaluate("[...document.querySelectorAll('#right text')].map((t) => t.textContent)") == list(
        PAIR.tokens[5:]
    )
    head.select_option("#filter", "0")
    assert lines(model) == LINES["model"]
    assert model.locator(".detail").count() == 0
    still(page)  # where it was drawn is where it is clicked
    model.locator("svg > g > rect:last-child").nth(3).click()
    assert "Layer 1, Head 1" in model.locator("text.detail").first.text_content()
    before = neuron.evaluate(
        "[...document.querySelectorAll('#product .element')].map((e) => e.getAttribute('data-value'))"
    )
    expected = (PAIR.queries[1, 0, 2] * PAIR.keys[1, 0]).ravel()
    assert np.allclose(np.array(before, dtype=float), expected, atol=0.01)  # q and k came with three digits
    softmax = neuron.evaluate(
        "[...document.querySelectorAll('#expanded #rightText .highlight')].map((e) => +e.style.opacity)"
    )
    assert np.allclose(softmax, PAIR.weights[1, 0, 2], atol=0.001)
    neuron.select_option("#att_head", "1")
    assert neuron.evaluate("document.querySelector('#layer').selectedOptions[0].text") == "1"
    for frame in views.values():
        assert frame.evaluate("document.documentElement.scrollWidth <= innerWidth + 1")


# ---- a plain page ---------------------------------------------------------------------------------------------


@pytest.fixture
def plain(blank):
    """Opens a text as a page that has nothing but itself; requests and errors are kept."""

    def plain(body, width=1180):
        page = blank(width, 800, offline=True)
        page.set_content(f"<!DOCTYPE html><html><body>{body}</body></html>")
        return page

    return plain


def saved(tokens_or_attention) -> str:
    given = tokens_or_attention
    views = bertviz_head_view(given), bertviz_model_view(given), bertviz_neuron_view(given, layer=1, query=2)
    return "".join(view._repr_html_() for view in views)


def test_saved_views_draw_and_answer_without_network_or_kernel(plain):
    page = plain(saved(PAIR))
    try_out(views_of(page), page)
    assert "Run this cell" not in page.inner_text("body")  # what is for front ends that show no frame
    assert page.requests == [] and page.errors == []


@pytest.mark.parametrize("width", [420, 940, 1180, 1900])
def test_a_view_fits_the_width_it_gets(plain, width):
    page = plain(saved(PAIR), width)
    for name, frame in views_of(page).items():
        assert frame.evaluate("document.documentElement.scrollWidth <= innerWidth + 1"), name
        size = frame.evaluate(
            "Math.min(...[...document.querySelectorAll('svg text')].map((t) => parseFloat(t.getAttribute('font-size') ?? 99))) * document.body.style.zoom"
        )
        assert size >= (23.99 if width > 900 else 8)


def test_hostile_tokens_stay_text(plain):
    tokens = [*HOSTILE[:5], "</iframe><script>window.broken=1</script>", "[SEP]"]
    page = plain(saved(attention(tokens, second=3)))
    for frame in views_of(page).values():
        assert frame.evaluate("window.broken === undefined && !document.querySelector('img')")
        assert tokens[1] in frame.evaluate("document.body.textContent") or frame.title().startswith(
            "BertViz's model"
        )
    assert page.evaluate("window.broken === undefined && !document.querySelector('img')")
    assert page.requests == [] and page.errors == []


def test_a_frame_can_neither_fetch_nor_reach_the_page(plain):
    page = plain(saved(PAIR))
    frame = views_of(page)["head"]
    assert frame.evaluate("fetch('http://127.0.0.1:9/').then(() => 'fetched', () => 'refused')") == "refused"
    assert (
        frame.evaluate("(() => { try { return parent.document.title; } catch { return 'refused'; } })()")
        == "refused"
    )
    assert any("Content Security Policy" in error for error in page.errors)
    assert page.requests == []


# ---- our neuron view, on a plain page -------------------------------------------------------------------------


def bars(page) -> list:
    return page.evaluate(
        "[...document.querySelectorAll('.bl-neuron-table path')].map((path) => path.getAttribute('d'))"
    )


def test_every_row_is_said_as_python_says_it(show):  # noqa: F811
    view = NeuronView(PAIR, most=5)
    page = show(view=view)
    for layer, head, query, key, everything in [
        (0, 0, 0, -1, 0),
        (2, 1, 3, -1, 0),
        (1, 0, 8, 2, 0),
        (1, 1, 4, 4, 1),
        (2, 0, 1, 7, 1),
    ]:
        choice = {
            "layer": layer,
            "head": head,
            "query": query,
            "key": key,
            "all_dimensions": bool(everything),
        }
        for name, value in choice.items():
            page.evaluate(f"models.view.set({name!r}, {str(value).lower()})")
            setattr(view, name, value)
        still(page)
        assert page.inner_text(".bl-caption") == view.sentence
        row = view.neurons()
        shown = page.locator(".bl-score").all_inner_texts()[1:]
        assert np.allclose([float(score) for score in shown], row.scores, atol=0.0051)
        assert page.locator(".bl-chosen-row").count() == (key >= 0)
        # per strip: a line, the bars up, the bars down; and the rest in each product strip
        assert page.locator(".bl-rest").count() == (0 if everything else len(PAIR.tokens))
    assert page.errors == [] and all(url.startswith(("blob:", "data:")) for url in page.requests)


def test_bars_are_the_numbers(show):  # noqa: F811
    view = NeuronView(PAIR, layer=1, head=1, query=3, all_dimensions=True)
    page = show(view=view)
    row = view.neurons()
    order = np.argsort(-np.abs(row.products).sum(axis=0), kind="stable")
    strip = "document.querySelectorAll('.bl-key-row')[4].querySelectorAll('svg')[1]"
    up = page.evaluate(
        f"[...{strip}.querySelector('.bl-plus').getAttribute('d').matchAll(/M(\\d+) 0h[\\d.]+v(-?[\\d.]+)/g)].map((m) => [+m[1], -m[2]])"
    )
    down = page.evaluate(
        f"[...{strip}.querySelector('.bl-minus').getAttribute('d').matchAll(/M(\\d+) 0h[\\d.]+v(-?[\\d.]+)/g)].map((m) => [+m[1], -m[2]])"
    )
    drawn_ = np.zeros(24)
    for place, tall in up + down:
        drawn_[place] = tall
    assert np.allclose(drawn_, row.products[4, order] / np.abs(row.products).max(), atol=0.0006)
    assert all(tall > 0 for _, tall in up) and all(tall < 0 for _, tall in down) and up and down


def test_keys_menus_and_clicks_change_the_picture(show):  # noqa: F811
    view = NeuronView(PAIR, most=5)
    page = show(view=view, map=HeadMap(np.arange(6).reshape(3, 2) / 6))
    page.focus(".bl-neuron-scroller")

    def state(*names):
        return [page.evaluate(f"models.view.get({name!r})") for name in names]

    seen = [bars(page)]
    for key, expected in [
        ("ArrowDown", [1, 0, 0, -1, False]),
        ("ArrowRight", [1, 1, 0, -1, False]),
        ("PageDown", [1, 1, 1, -1, False]),
        ("a", [1, 1, 1, -1, True]),
    ]:
        page.keyboard.press(key)
        still(page)
        assert state("layer", "head", "query", "key", "all_dimensions") == expected
        assert bars(page) != seen[-1]
        seen.append(bars(page))
    said = page.inner_text(".bl-caption")
    page.keyboard.press("Shift+ArrowUp")
    still(page)
    assert state("key") == [8] and page.inner_text(".bl-caption") != said
    page.keyboard.press("Escape")
    still(page)
    assert state("key") == [-1] and page.inner_text(".bl-caption") == said
    page.locator(".bl-key-row").nth(5).click()
    assert state("key") == [5]
    page.select_option(".bl-neuron-controls select", "6")
    page.locator(".bl-all input").uncheck()
    assert state("query", "all_dimensions") == [6, False]
    assert page.evaluate("[models.map.get('layer'), models.map.get('head')]") == [1, 1]  # linked
    assert set(page.evaluate("window.shortcuts")) <= {"Shift"}  # nothing reached the slides
    assert page.errors == []
    assert page.evaluate("(cleanups.view(), models.view.listening())") <= 2  # what the page itself links


def test_hostile_tokens_stay_text_in_the_neuron_view(show):  # noqa: F811
    page = show(view=NeuronView(attention(HOSTILE)))
    assert page.evaluate("window.broken === undefined && !document.querySelector('img')")
    assert HOSTILE[1] in page.inner_text(".bl-neuron-table")


def test_a_layer_that_does_not_travel_is_named(show, monkeypatch):  # noqa: F811
    from bertlook_course.widgets import neuron_view

    monkeypatch.setattr(neuron_view, "_ALL_LAYERS_UP_TO", 100)
    page = show(view=NeuronView(PAIR, layer=1))
    assert page.locator(".bl-key-row").count() == len(PAIR.tokens)
    page.evaluate("models.view.set('layer', 2)")
    still(page)
    assert page.inner_text(".bl-caption").startswith("Head 3-1: with this many heads only layer 2 travels")


@pytest.mark.parametrize("size", [(1280, 720), (1024, 768)])
def test_the_neuron_view_keeps_inside_the_page(show, size):  # noqa: F811
    width, height = size
    page = show(width, height, view=NeuronView(attention([f"token{i}" for i in range(14)], dim=64)))
    box = page.evaluate(
        "(() => { const r = document.querySelector('.bertlook-neurons'); return [r.scrollWidth - r.clientWidth, r.getBoundingClientRect().right]; })()"
    )
    assert box[0] <= 1 and box[1] <= width
    sizes = page.evaluate(
        "[...document.querySelectorAll('.bertlook-neurons *')].filter((e) => e.textContent.trim() && e.offsetParent).map((e) => parseFloat(getComputedStyle(e).fontSize))"
    )
    assert min(sizes) >= 24


def test_the_stand_in_is_an_attention_as_far_as_the_views_look():
    assert isinstance(PAIR, SimpleNamespace) and np.allclose(PAIR.weights.sum(axis=-1), 1)
