"""Saved pages in a real browser, from the disk with the network cut: every view is alive, whatever its tokens are."""

from __future__ import annotations

import csv
import io
import sys
from pathlib import Path
from xml.etree import ElementTree

import numpy as np
import pytest

from bertlook_press.pages import save_page
from bertlook_teach.views import HeadExplorer, HeadView, as_array, short_number

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))

from any_view import HOSTILE, ON_A_PAGE, VIEWS, attention, maps

SENTENCE = ("[CLS]", "the", "cat", "sat", "on", "it", "[SEP]")
# What is seen of a view: every text, every drawing, every pixel of a canvas.
SEEN = """() => [...document.querySelectorAll('.saved-view')].map((view) => view.innerHTML
  + [...view.querySelectorAll('canvas')].map((c) => c.toDataURL()).join()).join()"""


@pytest.fixture
def open_saved(blank, tmp_path):
    """``open_saved(view)`` saves and opens it; errors and requests are kept with the page."""

    def open_saved(view, width=1280, height=720, **options):
        path = save_page(view, tmp_path / "page.html", **options)
        page = blank(width, height, offline=True)
        page.goto(path.as_uri())
        page.wait_for_selector(".saved-view .bertlook")
        page.wait_for_timeout(200)
        return page

    return open_saved


def alone(page) -> bool:
    """Nothing went wrong, nothing was run that came as a token, nothing was asked of anybody."""
    assert page.errors == page.warnings == []
    assert page.evaluate("window.broken") is None
    assert [url for url in page.requests if not url.startswith(("file:", "data:"))] == []
    assert page.evaluate("document.querySelectorAll('img, iframe, object, [onclick], [onerror]').length") == 0
    return True


@pytest.mark.parametrize("name", ON_A_PAGE)
def test_every_view_is_alive_with_hostile_tokens(open_saved, name):
    page = open_saved(VIEWS[name](HOSTILE, 2, 3))
    before = page.evaluate(SEEN)
    page.focus(".saved-view [tabindex='0']")
    page.keyboard.press("ArrowRight")
    page.keyboard.press("ArrowDown")
    page.keyboard.press("End")
    page.wait_for_timeout(400)
    assert page.evaluate(SEEN) != before
    assert alone(page)
    assert page.evaluate("document.documentElement.scrollWidth <= innerWidth")


@pytest.mark.parametrize("name", ON_A_PAGE)
@pytest.mark.parametrize(
    ("tokens", "layers", "heads"), [(("[CLS]",), 1, 1), (SENTENCE, 24, 16)], ids=["1", "384"]
)
def test_every_view_bears_the_smallest_and_a_large_model(open_saved, name, tokens, layers, heads):
    page = open_saved(VIEWS[name](tokens, layers, heads))
    page.focus(".saved-view [tabindex='0']")
    for key in ("End", "ArrowDown", "Home"):
        page.keyboard.press(key)
    assert alone(page)
    assert page.evaluate("document.documentElement.scrollWidth <= innerWidth")


def test_menus_and_keys_say_the_same_as_python(open_saved):
    view = VIEWS["lines"](SENTENCE, 3, 4)
    page = open_saved(view)
    caption = lambda: page.inner_text(".bl-caption")
    assert caption() == view.sentence
    page.select_option("[name=layer]", index=2)
    page.select_option("[name=head]", index=1)
    view.layer, view.head = 2, 1
    assert caption() == view.sentence
    page.keyboard.press("Tab")
    page.focus(".bl-scroller")
    page.keyboard.press("ArrowRight")
    view.head = 2
    assert caption() == view.sentence
    assert page.evaluate("document.querySelector('[name=head]').selectedIndex") == 2
    page.check("[name=hide_special]")
    view.hide_special = True
    assert caption() == view.sentence
    page.select_option("[name=quantity_index]", label="norm")
    view.quantity = "norm"
    assert caption() == view.sentence
    page.select_option("[name=level_index]", label="words")
    view.level = "word"
    assert caption() == view.sentence
    before = page.evaluate(SEEN)
    page.select_option("[name=style_index]", label="grid")
    assert page.evaluate(SEEN) != before
    page.hover(".bl-query >> nth=2")
    assert caption() != view.sentence
    assert alone(page)


def test_an_explorers_map_and_view_are_tied(open_saved):
    texts = attention(SENTENCE, 3, 4)
    explorer = HeadExplorer(
        None,
        "the cat sat on it",
        extract=lambda *given: texts,
        measures={"m": as_array(maps(1, 3, 4))[..., 0, 0]},
    )
    page = open_saved(explorer)
    assert page.inner_text("h1") == "the cat sat on it"
    page.click(".bl-cell[data-layer='2'][data-head='3']")
    assert page.inner_text(".head_view .bl-caption").startswith("Head 3-4:")
    page.focus(".bl-scroller")
    page.keyboard.press("ArrowLeft")
    assert page.inner_text(".bl-readout").startswith("Head 3-3:")
    assert page.evaluate("document.querySelector('[name=head]').selectedIndex") == 2
    assert alone(page)


def test_a_text_of_512_tokens_can_be_used(open_saved):
    tokens = ("[CLS]", *(f"w{i}" for i in range(510)), "[SEP]")
    page = open_saved(VIEWS["grid"](tokens, 2, 2))
    page.wait_for_selector(".bl-query")
    before = page.evaluate(SEEN)
    page.focus(".bl-scroller")
    page.keyboard.press("ArrowRight")
    assert page.inner_text(".bl-caption").startswith("Head 1-2:")
    assert page.evaluate(SEEN) != before
    page.select_option("[name=style_index]", label="lines")
    page.wait_for_timeout(300)
    assert alone(page)


def test_without_scripts_there_is_the_picture_and_its_sentence(browser, tmp_path):
    view = VIEWS["lines"](HOSTILE, 2, 3)
    context = browser.new_context(java_script_enabled=False)
    page = context.new_page()
    page.goto(save_page(view, tmp_path / "page.html").as_uri())
    assert page.locator("figure img").count() == 1
    assert page.inner_text("figcaption") == view.sentence
    context.close()


# --- a pair of tokens, and what is saved --------------------------------------------------------------------


def pair_of(page):
    return page.evaluate("bertlookModels.map((m) => m.get('pair')).find((pair) => pair?.name)") or {}


@pytest.mark.parametrize("level", ["wordpiece", "word"])
def test_a_pair_colours_all_heads_by_what_the_one_gives_the_other(open_saved, level):
    seen = attention(("[CLS]", "the", "un", "##real", "cat", "[SEP]"), 2, 3)
    page = open_saved(HeadExplorer(seen, level=level))
    page.locator(".bl-key", has_text="cat").click()
    assert pair_of(page) == {}, "a key alone is no pair"
    page.locator(".bl-query", has_text="the").click()
    page.locator(".bl-key", has_text="cat").click()
    page.wait_for_timeout(200)
    of = seen if level == "wordpiece" else seen.to_words()
    query, key = of.tokens.index("the"), of.tokens.index("cat")
    assert pair_of(page)["name"] == "from “the” to “cat”"
    assert pair_of(page)["values"] == pytest.approx(of.weights[:, :, query, key], abs=1e-4)
    assert page.locator(".bertlook-map select").input_value() == "from “the” to “cat”"
    assert page.locator(".bl-cell").nth(4).inner_text() == short_number(of.weights[1, 1, query, key])
    page.focus(".bl-scroller")
    page.keyboard.press("Shift+ArrowLeft")
    page.wait_for_timeout(200)
    assert pair_of(page)["values"] == pytest.approx(of.weights[:, :, query, key - 1], abs=1e-4)
    page.locator(".bertlook-map select").select_option(index=1)
    page.wait_for_timeout(200)
    assert pair_of(page) == {} and page.evaluate("bertlookModels.at(-1).get('key')") == -1
    page.keyboard.press("Escape")
    assert alone(page)


def test_the_address_of_a_page_reopens_it_as_it_stands(open_saved, blank):
    page = open_saved(HeadExplorer(attention(SENTENCE, 2, 3)))
    page.locator(".bl-query", has_text="it").click()
    page.locator(".bl-key", has_text="cat").click()
    page.focus(".bl-scroller")
    page.keyboard.press("ArrowDown")
    page.locator("#bertlook-controls select[name=style_index]").select_option("1")
    page.wait_for_timeout(200)
    again = blank(1280, 720, offline=True)
    again.goto(page.url)
    again.wait_for_timeout(400)
    assert pair_of(again) == pair_of(page) != {}
    traits = "bertlookModels.map((m) => ['layer', 'head', 'style_index', 'query', 'key'].map((name) => m.get(name)))"
    assert again.evaluate(traits) == page.evaluate(traits)
    wrong = "#0.layer=7&0.head=-1&1.style_index=__proto__&1.query=-5&0.measure=constructor&9.layer=1"
    again.goto(page.url.partition("#")[0] + wrong)
    again.wait_for_timeout(400)
    assert again.evaluate("bertlookModels.map((m) => [m.get('layer'), m.get('head')])") == [[0, 0], [0, 0]]
    assert alone(again)


@pytest.mark.parametrize("name", ON_A_PAGE)
def test_every_view_is_saved_as_a_drawing_a_picture_and_numbers(open_saved, name, tmp_path):
    from PIL import Image

    page = open_saved(VIEWS[name](HOSTILE, 2, 3))
    page.focus(".bl-save button")
    saved = {}
    for kind in ("SVG", "PNG", "CSV"):
        page.keyboard.press("Enter")
        page.locator(".bl-save button", has_text=kind).first.focus()
        with page.expect_download() as download:
            page.keyboard.press("Enter")
        saved[kind] = tmp_path / download.value.suggested_filename
        download.value.save_as(saved[kind])
        assert page.evaluate("document.activeElement.textContent") == "save"
    tags = {one.tag.partition("}")[2] for one in ElementTree.parse(saved["SVG"]).iter()}
    assert "text" in tags and not tags & {"script", "foreignObject", "a", "style"}
    colours = Image.open(saved["PNG"]).convert("RGB").getcolors(1 << 24)
    assert len(colours) > 20, "an empty picture"
    rows = list(csv.reader(io.StringIO(saved["CSV"].read_text(encoding="utf-8-sig"))))
    assert len(rows) > 1 and not any(cell.startswith(("=", "+", "@")) for row in rows for cell in row)
    assert alone(page)


def test_saved_numbers_are_those_of_the_head(open_saved, tmp_path):
    seen = attention(SENTENCE, 2, 3)
    page = open_saved(HeadView(seen, layer=1, head=2))
    page.focus(".bl-save button")
    page.keyboard.press("Enter")
    with page.expect_download() as download:
        page.locator(".bl-save button", has_text="CSV").click()
    assert download.value.suggested_filename == "head-2-3.csv"
    download.value.save_as(tmp_path / "head.csv")
    top, *rows = csv.reader(io.StringIO((tmp_path / "head.csv").read_text(encoding="utf-8-sig")))
    assert top == ["query \\ key", *SENTENCE] and [row[0] for row in rows] == list(SENTENCE)
    assert np.array([row[1:] for row in rows], float) == pytest.approx(seen.weights[1, 2], abs=1e-4)
