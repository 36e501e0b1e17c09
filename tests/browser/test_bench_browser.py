"""The bench in a real browser: switches by click and key on a plain page; `test_alive.py` has its answers on a slide and in JupyterLab."""

from __future__ import annotations

import pytest

from bertlook_course.widgets import BenchView

from .conftest import still
from .test_widgets_browser import HOSTILE, SENTENCE, show  # noqa: F401 - show is a fixture


def made_up(tokens=SENTENCE, layers=6, heads=6, off=(), **options):
    """The view alone, with guesses of long words: it knows no model."""
    guesses = [[f"{word}", 0.4 / i, f"{40 // i} %"] for i, word in enumerate(["people", *HOSTILE[1:5]], 1)]
    off = [list(head) for head in off]
    result = {
        "before": guesses, "after": guesses[::-1], "truth": "people", "title": "now",
        "scores": ["Masked-LM loss, nats: 3.08 → 3.41, change +0.33 [+0.10, +0.58] (48 pieces of 24 texts)."],
        "sentence": "7 of 36 heads off (their outputs are 0). Right word “people”: 40 %, now 8 %. First guess “people”, now “the”.",
        "off": off, "how": "zero", "model": 0, "masked": 4,
    }  # fmt: skip
    text = {
        "tokens": list(tokens),
        "special": [t in ("[CLS]", "[SEP]") for t in tokens],
        "masked": 4,
        "mask": "[MASK]",
    }
    return BenchView(
        shape=[layers, heads], off=off, text=text, result=result, models=["specimen", "specimen-random"], **options
    )  # fmt: skip


OFF = "JSON.stringify(models.view.get('off'))"


def crosses(page):
    return page.locator(".bl-switch.bl-off").count()


def test_a_click_switches_one_head_a_number_a_whole_layer_or_column(show):  # noqa: F811
    page = show(view=made_up(layers=2, heads=3))
    page.click(".bl-switch[data-layer='1'][data-head='2']")
    assert page.evaluate(OFF) == "[[1,2]]" and crosses(page) == 1
    assert page.inner_text(".bl-switch[data-layer='1'][data-head='2']") == "✕"
    page.click(".bl-switch-header[data-layer='1'][data-head='-1']")
    assert page.evaluate(OFF) == "[[1,0],[1,1],[1,2]]"
    page.click(".bl-switch-header[data-layer='-1'][data-head='0']")
    assert page.evaluate(OFF) == "[[0,0],[1,0],[1,1],[1,2]]"
    page.click(".bl-switch-header[data-layer='1'][data-head='-1']")  # all of it is off: on again
    assert page.evaluate(OFF) == "[[0,0]]"
    page.click(".bl-switch-header[data-layer='-1'][data-head='-1']")
    assert crosses(page) == 6
    page.click("text=all on")
    assert page.evaluate(OFF) == "[]" and crosses(page) == 0
    page.click("text=all off")
    assert crosses(page) == 6 and page.errors == []


def test_a_head_that_was_off_alone_keeps_its_cost_and_old_bars_stay_behind_the_new(show):  # noqa: F811
    view = made_up(layers=2, heads=3, off=[(0, 1)])
    smaller = [[piece, share / 4, said] for piece, share, said in view.result["before"]]
    view.result = view.result | {"cost": 0.154, "after": smaller}
    page = show(view=view)
    names = page.locator(".bl-switch-button").all_inner_texts()
    assert names == ["all on", "1-2", "layer 1", "all off"]  # what to try: the head it opened with
    old = page.locator(".bl-switch-list").last.locator(".bl-switch-ghost")
    assert old.count() == 5 and page.locator(".bl-switch-ghost").count() == 5  # only behind the new ones
    wide = "nodes => nodes.map(node => node.getBoundingClientRect().width)"
    widths, now = (
        old.evaluate_all(wide),
        page.locator(".bl-switch-list").last.locator(".bl-lens-bar").evaluate_all(wide),
    )
    assert widths == pytest.approx([4 * width for width in now], abs=5)  # a frame is a little wider
    page.click("text=layer 1")
    assert page.evaluate(OFF) == "[[0,0],[0,1],[0,2]]"
    assert page.inner_text(".bl-switch[data-layer='0'][data-head='1']") == "✕"
    page.click("text=all on")
    tried = page.locator(".bl-switch.bl-tried")
    assert tried.count() == 1 and tried.inner_text() == ".15"
    assert tried.get_attribute("aria-label") == "head 1-2: on, off it cost .15 nats"
    page.get_by_role("button", name="only 1-2 off").click()
    assert page.evaluate(OFF) == "[[0,1]]" and page.errors == []


def test_keys_move_and_switch_and_stay_in_the_view(show):  # noqa: F811
    page = show(view=made_up(layers=2, heads=3))
    page.focus(".bl-switches")
    for keys, off in (
        (["ArrowRight", "Space"], "[[0,1]]"),
        (["ArrowDown", "Enter"], "[[0,1],[1,1]]"),
        (["ArrowLeft", "ArrowLeft", "Space"], "[[0,1],[1,0],[1,1],[1,2]]"),  # the layer's number
        (["End", "Space"], "[[0,1],[1,0],[1,1]]"),
    ):
        for key in keys:
            page.keyboard.press(key)
        still(page)
        assert page.evaluate(OFF) == off, keys
    assert page.evaluate("window.shortcuts") == []
    assert page.locator(".bl-cursor").first.get_attribute("aria-label") == "head 2-3: on"
    shadow = "getComputedStyle(document.querySelector('.bl-switches .bl-cursor')).boxShadow"
    assert "rgb(213, 94, 0)" in page.evaluate(shadow)  # visible where the keys are
    page.keyboard.press("x")
    assert page.evaluate("window.shortcuts") == ["x"]


def test_a_word_is_masked_by_click_and_key_and_special_tokens_are_not(show):  # noqa: F811
    page = show(view=made_up())
    page.click(".bl-switch-word[data-index='2']")
    assert page.evaluate("models.view.get('chosen')") == 2
    page.click(".bl-switch-word[data-index='0']")
    assert page.evaluate("models.view.get('chosen')") == 2
    page.focus(".bl-switch-sentence")
    page.keyboard.press("ArrowRight")
    page.keyboard.press("Enter")
    assert page.evaluate("models.view.get('chosen')") == 5
    assert page.evaluate("window.shortcuts") == []
    assert page.inner_text(".bl-masked") == "[MASK]"


def test_until_the_kernel_answers_the_old_numbers_are_dimmed_and_it_is_said(show):  # noqa: F811
    view = made_up(off=[(0, 0)])
    page = show(view=view)
    assert page.inner_text(".bl-caption") == view.result["sentence"]
    assert page.get_attribute(".bertlook-bench", "aria-busy") == "false"
    page.click(".bl-switch[data-layer='1'][data-head='2']")
    still(page)
    assert (
        page.inner_text(".bl-caption")
        == "Computing … (by a running kernel, or by the page that holds the model)"
    )
    assert page.get_attribute(".bertlook-bench", "aria-busy") == "true"
    page.evaluate("models.view.set('result', {...models.view.get('result'), off: models.view.get('off')})")
    still(page)
    assert page.inner_text(".bl-caption") == view.result["sentence"]
    page.evaluate("models.view.set('result', {...models.view.get('result'), message: 'The control failed.'})")
    still(page)
    assert page.inner_text(".bl-caption") == "The control failed."
    page.select_option("select >> nth=0", "uniform")
    still(page)
    assert page.evaluate("models.view.get('how')") == "uniform"
    assert page.get_attribute(".bertlook-bench", "aria-busy") == "true"
    page.select_option("select >> nth=1", "1")
    assert page.evaluate("models.view.get('model_index')") == 1 and page.errors == []


def test_the_lists_are_the_guesses_and_bars_share_a_scale(show):  # noqa: F811
    view = made_up(off=[(0, 0)])
    page = show(view=view)
    rows = page.evaluate(
        "[...document.querySelectorAll('.bl-switch-list')].map((t) => [...t.rows].map((r) => [...r.cells].map((c) => c.textContent)))"
    )
    for drawn, name in zip(rows, ("before", "after")):
        assert [share for _, share in drawn] == [said for *_, said in view.result[name]]
    widths = page.evaluate(
        "[...document.querySelectorAll('.bl-switch-list')].map((t) => [...t.querySelectorAll('.bl-lens-bar')].map((b) => b.getBoundingClientRect().width))"
    )
    assert widths[0] == pytest.approx([45.6 / i for i in range(1, 6)], abs=0.6)
    assert widths[1] == pytest.approx(widths[0][::-1], abs=0.1)
    assert page.evaluate("window.broken") is None
    assert page.locator(".bertlook img, .bertlook script").count() == 0
    assert [url for url in page.requests if not url.startswith(("blob:", "about:", "data:"))] == []


@pytest.mark.parametrize("heads", [6, 12])
@pytest.mark.parametrize(("width", "height", "font"), [(1024, 768, 24), (1280, 720, 26), (1920, 1080, 34)])
def test_on_a_slide_all_is_legible_and_inside(show, width, height, font, heads):  # noqa: F811
    view = made_up(layers=heads, heads=heads, off=[(1, 2), *[(3, h) for h in range(heads)]])
    page = show(view=view, width=width, height=height, font=font)
    found = page.evaluate("""() => [...document.querySelectorAll('.bertlook *')]
      .filter((e) => [...e.childNodes].some((t) => t.nodeType === 3 && t.textContent.trim()))
      .filter((e) => e.offsetParent && getComputedStyle(e).visibility !== 'hidden' && e.tagName !== 'OPTION')
      .map((e) => { const b = e.getBoundingClientRect(); return [e.textContent, parseFloat(getComputedStyle(e).fontSize), b.left, b.right, b.bottom]; })""")
    assert len(found) > 30
    for text, size, left, right, bottom in found:
        if heads > 6 and text == "✕" and size == 0:
            continue  # small cells are hatched instead
        assert size >= 24 and left >= 0 and right <= width and bottom <= height - 100, text
    marked = page.locator(".bl-switch.bl-off").first
    assert marked.inner_text() == "✕" or "gradient" in marked.evaluate(
        "(e) => getComputedStyle(e).backgroundImage"
    )


def test_many_heads_are_hatched_and_a_view_taken_away_leaves_nothing_behind(show):  # noqa: F811
    page = show(view=made_up(layers=24, heads=16, off=[(0, 0)]), width=1024, height=768)
    box = page.locator(".bl-switches").bounding_box()
    assert box["x"] + box["width"] < 620 and box["y"] + box["height"] < 620
    assert "gradient" in page.locator(".bl-off").first.evaluate("(e) => getComputedStyle(e).backgroundImage")
    page.evaluate("cleanups.view()")
    assert page.locator(".bertlook").count() == 0 and page.errors == []
