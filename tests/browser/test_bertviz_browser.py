"""BertViz's three views and our neuron view, offline: on a plain page, in JupyterLab, and on slides."""

from __future__ import annotations

from types import SimpleNamespace

import nbformat
import numpy as np
import pytest
from nbformat.v4 import new_code_cell, new_markdown_cell, new_notebook, new_output

from bertlook_teach.render import bertviz_head_view, bertviz_model_view, bertviz_neuron_view
from bertlook_teach.widgets import HeadMap, NeuronView

from .test_widgets_browser import HOSTILE, show  # noqa: F401 - a fixture

SET_UP = """\
import numpy as np
from types import SimpleNamespace
from bertlook_teach.render import bertviz_head_view, bertviz_model_view, bertviz_neuron_view
from bertlook_teach.widgets import NeuronView

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


def notebook(outputs=None):
    """The views, a slide each; saved with the given outputs, or none."""
    kernel = {"name": "python3", "display_name": "Python 3", "language": "python"}
    rise = {
        "theme": "white",
        "transition": "none",
        "start_slideshow_at": "beginning",
        "auto_select": "none",
        "autorun": True,
    }
    made = new_notebook(metadata={"kernelspec": kernel, "rise": rise})
    cells = [
        (new_code_cell(SET_UP, metadata={"tags": ["init"]}), "skip"),
        (new_markdown_cell("# BertViz"), "slide"),
    ]
    cells += [(new_code_cell(source), "slide") for source in CELLS.values()]
    for number, (cell, slide_type) in enumerate(cells):
        cell.id = f"cell-{number}"
        cell.metadata["slideshow"] = {"slide_type": slide_type}
        if outputs and cell.source in outputs:
            cell.outputs, cell.execution_count = (
                [new_output("execute_result", outputs[cell.source], execution_count=1)],
                1,
            )
        made.cells.append(cell)
    return made


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    folder = tmp_path_factory.mktemp("bertviz")
    nbformat.write(notebook(), folder / "views.ipynb")
    saved = {
        CELLS["head"]: {"text/html": bertviz_head_view(PAIR)._repr_html_(), "text/plain": "BertVizView"},
        CELLS["ours"]: {
            "text/html": NeuronView(PAIR)._repr_mimebundle_()["text/html"],
            "text/plain": "NeuronView",
        },
    }
    nbformat.write(notebook(saved), folder / "saved.ipynb")
    return folder


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
        page.wait_for_timeout(30)
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
        page.wait_for_timeout(30)
        assert state("layer", "head", "query", "key", "all_dimensions") == expected
        assert bars(page) != seen[-1]
        seen.append(bars(page))
    said = page.inner_text(".bl-caption")
    page.keyboard.press("Shift+ArrowUp")
    page.wait_for_timeout(30)
    assert state("key") == [8] and page.inner_text(".bl-caption") != said
    page.keyboard.press("Escape")
    page.wait_for_timeout(30)
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
    from bertlook_teach.widgets import neuron_view

    monkeypatch.setattr(neuron_view, "_ALL_LAYERS_UP_TO", 100)
    page = show(view=NeuronView(PAIR, layer=1))
    assert page.locator(".bl-key-row").count() == len(PAIR.tokens)
    page.evaluate("models.view.set('layer', 2)")
    page.wait_for_timeout(30)
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


# ---- JupyterLab and slides ------------------------------------------------------------------------------------


def test_all_views_live_in_jupyterlab(open_page, folder):
    deck = open_page("lab/tree/views.ipynb", folder, "hd")
    page = deck.page
    page.wait_for_selector(".jp-NotebookPanel .jp-CodeCell", state="attached")
    page.locator(".jp-NotebookPanel .jp-CodeCell .cm-content").first.click()
    page.wait_for_timeout(1500)
    for _ in range(2 + len(CELLS)):
        page.keyboard.press("Shift+Enter")
        page.wait_for_timeout(400)
    views = views_of(page)
    for name in ("head", "model", "neuron"):
        views[name].frame_element().scroll_into_view_if_needed()
        deck.screenshot(f"bertviz-lab-{name}")
    try_out(views, page)
    page.locator(".bl-neuron-table").scroll_into_view_if_needed()
    deck.screenshot("bertviz-lab-ours")
    assert page.locator(".bl-key-row").count() == len(PAIR.tokens)
    assert deck.foreign == []


@pytest.mark.parametrize("classic", [False, True], ids=["rise", "classic"])
def test_all_views_live_on_slides(open_deck, folder, classic):
    deck = open_deck(folder / "views.ipynb", classic=classic)
    page, kind = deck.page, "classic" if classic else "rise"
    views = {}
    for number, name in enumerate(("head", "model", "neuron", "ours"), start=1):
        deck.go(f"{number}-0")
        if name != "ours":
            views = views_of(page, number)
        page.wait_for_timeout(500)
        deck.screenshot(f"bertviz-{kind}-{name}")
    page.locator(".bl-neuron-scroller").focus()
    before = bars(page)
    deck.press("ArrowRight", "PageDown")
    assert bars(page) != before and deck.slide == "4-0"
    for number, name in enumerate(("head", "model", "neuron"), start=1):
        deck.go(f"{number}-0")
        page.wait_for_timeout(200)
        assert views[name].evaluate("parseFloat(document.body.style.zoom)") > 0.95  # 24 px, or hardly less
    deck.go("2-0")
    views["model"].locator("svg > g > rect:last-child").nth(3).click()
    assert "Layer 1, Head 1" in views["model"].locator("text.detail").first.text_content()
    deck.go("1-0")
    before = drawn(views["head"])
    views["head"].select_option("#layer", "2")
    assert drawn(views["head"]) != before
    assert deck.foreign == []


def test_a_notebook_not_yet_run_shows_what_it_can(open_page, folder):
    """JupyterLab takes frames out of a notebook its reader has not run; the sentence stays, and our picture."""
    deck = open_page("lab/tree/saved.ipynb", folder)
    page = deck.page
    page.wait_for_selector(".bertlook-static img", state="attached")
    deck.screenshot("bertviz-lab-saved")
    assert page.locator("figure", has_text="Run this cell to see the view").count() == 1
    assert "BertViz's head view" in page.locator("figcaption").first.inner_text()
    assert page.evaluate("document.querySelector('.bertlook-static img').naturalWidth") > 900
    assert deck.foreign == []


def test_the_stand_in_is_an_attention_as_far_as_the_views_look():
    assert isinstance(PAIR, SimpleNamespace) and np.allclose(PAIR.weights.sum(axis=-1), 1)
