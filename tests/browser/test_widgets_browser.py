"""The views in a real browser, on a plain page without Jupyter: what is drawn, said, pressed, and how fast.

The page holds the views' modules and a stand-in for anywidget's model, so these tests also show that a saved page
needs neither a kernel nor a widget manager.
"""

from __future__ import annotations

import base64
import json
import re

import made
import numpy as np
import pytest

from bertlook_teach.model import Attention
from bertlook_teach.views import HeadMap, HeadView, describe_attention, describe_token, describe_token_norms

from .conftest import still

PAGE = """<!doctype html><html><head><meta charset="utf-8"><title>views</title><style>
body { margin: 0; padding: 16px; --jp-content-font-size1: FONTpx; font-family: sans-serif; }
.views { display: flex; gap: 1.2em; align-items: flex-start; font-size: FONTpx; }
.map { flex: 0 1 auto; max-width: 46%; min-width: 0; }
.view { flex: 1 1 0%; min-width: 0; }
STYLE</style></head><body>
<input id="before" aria-label="before"><div class="views"><div class="map"></div><div class="view"></div></div>
<script type="module">
class Model {
  constructor(state) {
    this.state = {}; this.listeners = {}; this.saved = 0;
    for (const [key, value] of Object.entries(state)) {
      if (value && value.base64 !== undefined) {
        const bytes = Uint8Array.from(atob(value.base64), (c) => c.charCodeAt(0));
        const message = new Uint8Array(bytes.length + 7); // a host's buffers start anywhere in a message
        message.set(bytes, 7);
        this.state[key] = new DataView(message.buffer, 7);
      } else this.state[key] = value;
    }
  }
  get(key) { return this.state[key]; }
  set(key, value) {
    if (this.state[key] === value) return;
    this.state[key] = value;
    for (const event of ["change:" + key, "change"]) for (const call of [...(this.listeners[event] ?? [])]) call();
  }
  save_changes() { this.saved += 1; }
  on(event, call) { (this.listeners[event] ??= []).push(call); }
  off(event, call) { this.listeners[event] = (this.listeners[event] ?? []).filter((other) => other !== call); }
  listening() { return Object.values(this.listeners).flat().length; }
}
window.models = {}; window.cleanups = {}; window.shortcuts = [];
document.body.addEventListener("keydown", (event) => window.shortcuts.push(event.key));
for (const [name, { state, source }] of Object.entries(WIDGETS)) {
  const module = await import(URL.createObjectURL(new Blob([source], { type: "text/javascript" })));
  const model = (window.models[name] = new Model(state));
  window.mountView = window.mountView ?? {};
  window.mountView[name] = () => module.default.render({ model, el: document.querySelector("." + name) });
  window.cleanups[name] = window.mountView[name]();
}
const { map, view } = window.models;
for (const trait of ["layer", "head"]) { // what jslink does
  map?.on("change:" + trait, () => view?.set(trait, map.get(trait)));
  view?.on("change:" + trait, () => map?.set(trait, view.get(trait)));
}
window.ready = true;
</script></body></html>"""

HOSTILE = (
    "[CLS]",
    "<img src=x onerror=window.broken=1>",
    "</script><script>window.broken=1</script>",
    "\"'&<b>",
    "مرحبا",
    "שלום\u202e",
    "e\u0301\u0301",
    "👩‍👩‍👧‍👦",
    " ",
    "Donaudampfschifffahrtsgesellschaftskapitän",
    "[SEP]",
)


def state_of(widget) -> dict[str, object]:
    """What anywidget would send: every synced trait of ours, bytes as base64."""
    state = {}
    for key in widget.keys:
        value = getattr(widget, key)
        if key.startswith("_") or key == "layout":
            continue
        state[key] = {"base64": base64.b64encode(value).decode()} if isinstance(value, bytes) else value
    return state


def page_of(font: int = 24, **widgets) -> str:
    """The page as text, safe inside a script."""
    specs = {name: {"state": state_of(widget), "source": widget._esm} for name, widget in widgets.items()}
    style = next(iter(widgets.values()))._css
    return (
        PAGE.replace("FONT", str(font))
        .replace("STYLE", style)
        .replace("WIDGETS", json.dumps(specs).replace("</", "<\\/"))
    )


def attention(tokens, layers=2, heads=3, seed=0, segments=None) -> Attention:
    segments = tuple(segments or (0,) * len(tokens))
    return made.attention(tokens, layers, heads, seed=seed, spread=0.3, segment_ids=segments)


def choose(page, view, **state) -> None:
    """Set the same in the page and in Python; the page draws it a moment later."""
    for name, value in state.items():
        page.evaluate(f"models.view.set('{name}', {value})")
        setattr(view, name, value)
    still(page)


SENTENCE = (
    "[CLS]",
    *["the", "old", "man", "sat", "on", "the", "bank", "because", "he", "was", "very", "tired", "."],
    "[SEP]",
)


@pytest.fixture
def show(blank):
    """``show(map=HeadMap(...), view=HeadView(...))`` opens the page; errors and requests are kept with it."""

    def show(width=1280, height=720, font=24, before="", **widgets):
        page = blank(width, height)
        page.set_content(page_of(font, **widgets).replace("<style>", f"<style>{before}", 1))
        page.wait_for_function("window.ready === true")
        still(page)
        return page

    return show


def picture(page) -> str:
    """The canvas as drawn."""
    return page.evaluate("document.querySelector('.bl-stage canvas').toDataURL()")


def caption(page) -> str:
    return page.inner_text(".bl-caption")


def values(layers=2, heads=3):
    return np.arange(layers * heads).reshape(layers, heads) / (layers * heads)


# ---- drawn and said ------------------------------------------------------------------------------------------


def test_what_is_drawn_and_said_is_what_python_says(show):
    a = attention(SENTENCE, layers=3, heads=4)
    view = HeadView(a)
    page = show(view=view, map=HeadMap(values(3, 4)))
    for layer in range(3):
        for head in range(4):
            page.evaluate(f"models.view.set('layer', {layer}); models.view.set('head', {head})")
            still(page)
            view.layer, view.head = layer, head
            assert caption(page) == view.sentence
            assert (
                page.inner_text(".bl-readout")
                == f"Head {layer + 1}-{head + 1}: {values(3, 4)[layer, head]:.3f}"
            )
    assert page.errors == []


@pytest.mark.parametrize("options", [{"hide_special": True}, {"level": "word"}, {"query": 3}, {"bits": 8}])
def test_the_caption_agrees_with_python_in_every_mode(show, options):
    tokens = ("[CLS]", "un", "##real", "##istic", "cats", "[SEP]", "sleep", "[SEP]")
    a = attention(tokens, segments=(0, 0, 0, 0, 0, 0, 1, 1))
    pieces = Attention(
        **{
            **vars(a),
            "word_ids": (None, 0, 0, 0, 1, None, 2, None),
            "words": ("unrealistic", "cats", "sleep"),
        }
    )
    view = HeadView(pieces, layer=1, head=2, **options)
    page = show(view=view)
    assert caption(page) == view.sentence
    assert page.errors == []


# How many lines each number with its unit takes: its place is asked of the text, however that is built.
LINES_OF_PERCENTS = """() => {
  const caption = document.querySelector(".bl-caption"), nodes = [];
  const walk = document.createTreeWalker(caption, NodeFilter.SHOW_TEXT);
  for (let at = 0; walk.nextNode(); at += walk.currentNode.length) nodes.push([walk.currentNode, at]);
  const place = (i) => nodes.map(([node, at]) => [node, i - at]).findLast(([, from]) => from >= 0);
  return [...caption.textContent.matchAll(/\\d+ %/g)].map(({ index, 0: { length } }) => {
    const range = document.createRange();
    range.setStart(...place(index));
    const [last, to] = place(index + length - 1);
    range.setEnd(last, to + 1);
    return new Set([...range.getClientRects()].filter((box) => box.width > 1).map((box) => Math.round(box.top))).size;
  });
}"""


def test_a_number_keeps_its_unit_on_its_line(show):
    view = HeadView(attention(SENTENCE), query=3)
    for width in range(300, 460, 40):
        page = show(view=view, width=width)
        assert caption(page) == view.sentence  # what is read and copied has no other blanks
        lines = page.evaluate(LINES_OF_PERCENTS)
        assert len(lines) > 2 and set(lines) == {1}, width


def test_numbers_and_tokens_print_alike_in_both_languages(show):
    from bertlook_teach.views import number, percent, quoted, short_number

    page = show(view=HeadView(attention(("a", "b"))))
    # The module keeps its functions to itself; this copy of the shared half lets them out.
    from bertlook_teach.views.assets import FOLDER

    core = (FOLDER / "core.js").read_text(encoding="utf-8")
    numbers = [
        *np.linspace(0, 1, 41).tolist(),
        1e-6,
        0.0049,
        0.99994,
        2.345,
        9.96,
        12.345,
        99.5,
        1234.5,
        -0.5,
        -1e-9,
    ]
    script = f"(xs) => {{ {core}; return xs.map((x) => [percent(x), number(x), shortNumber(x)]); }}"
    assert page.evaluate(script, numbers) == [[percent(x), number(x), short_number(x)] for x in numbers]
    tokens = [*HOSTILE, "", "\x0b", "\t"]
    script = f"(ts) => {{ {core}; return ts.map((t) => quoted(t, false)); }}"
    assert page.evaluate(script, tokens) == [quoted(token, False) for token in tokens]


@pytest.mark.parametrize("level", ["wordpiece", "word"])
@pytest.mark.parametrize("hide_special", [False, True])
def test_norms_are_said_as_python_says_them(show, level, hide_special):
    tokens = ("[CLS]", "un", "##real", "##istic", "cats", "[SEP]", "sleep", "[SEP]")
    a = Attention(**{**vars(attention(tokens)), "word_ids": (None, 0, 0, 0, 1, None, 2, None)})
    a = Attention(**{**vars(a), "words": ("unrealistic", "cats", "sleep")})
    lengths = np.random.default_rng(1).uniform(0, 5, size=(2, 3, 8))
    lengths[1, 1] = 0  # a head that adds nothing
    view = HeadView(a, norms=lengths, quantity="norm", level=level, hide_special=hide_special)
    shown = [i for i, flag in enumerate(view.texts[level]["special"]) if not (flag and hide_special)]
    page = show(view=view)
    for layer in range(2):
        for head in range(3):
            page.evaluate(f"models.view.set('layer', {layer}); models.view.set('head', {head})")
            still(page)
            view.layer, view.head, view.query = layer, head, -1
            assert caption(page) == view.sentence
            page.hover(".bl-query[data-index='2']")
            view.query = shown[2]
            assert caption(page) == view.sentence
            page.hover(".bl-key[data-index='1']")
            expected = describe_token_norms(
                view.weighted_norms(), view.texts[level]["tokens"], shown[1], side="key"
            )
            assert caption(page) == expected
            page.mouse.move(2, 2)
    assert page.errors == []


@pytest.mark.parametrize("style", ["lines", "grid"])
def test_the_switch_to_norms_is_a_key_and_a_trait_and_shows_in_the_picture(show, style):
    lengths = np.broadcast_to(np.linspace(0.1, 3, len(SENTENCE)), (2, 3, len(SENTENCE)))
    view = HeadView(attention(SENTENCE), norms=lengths, style=style, query=3)
    page = show(view=view, font=24)
    weights = picture(page)
    page.focus(".bl-scroller")
    page.keyboard.press("n")
    still(page)
    assert page.evaluate("models.view.get('quantity_index')") == 1
    assert picture(page) != weights
    assert page.inner_text(".bl-name") == "Head 1-1, norms"
    assert "N changes between weights and norms" in page.get_attribute(".bl-scroller", "aria-label")
    view.quantity = "norm"
    assert caption(page) == view.sentence
    if style == "lines":
        shown = [text for text in page.locator(".bl-number").all_inner_texts() if text]
        assert shown and all(re.fullmatch(r"\d\.\d{3}", text) for text in shown)
    page.keyboard.press("N")
    still(page)
    assert picture(page) == weights and page.inner_text(".bl-name") == "Head 1-1"
    assert page.evaluate("window.shortcuts") == []


def test_without_norms_the_key_is_left_to_the_page(show):
    page = show(view=HeadView(attention(SENTENCE)))
    page.focus(".bl-scroller")
    page.keyboard.press("n")
    assert page.evaluate("window.shortcuts") == ["n"]
    assert "norms" not in page.get_attribute(".bl-scroller", "aria-label")


def test_a_click_in_the_map_changes_the_view(show):
    page = show(view=HeadView(attention(SENTENCE)), map=HeadMap(values()))
    before = picture(page)
    page.click(".bl-cell[data-layer='1'][data-head='2']")
    still(page)
    assert caption(page).startswith("Head 2-3: ")
    assert picture(page) != before
    assert page.evaluate("[models.view.get('layer'), models.view.get('head'), models.map.saved > 0]") == [
        1,
        2,
        True,
    ]
    assert page.get_attribute(".bl-cell[data-layer='1'][data-head='2']", "aria-selected") == "true"


def test_lines_start_at_the_query_and_end_at_the_key(show):
    """All tokens look at the last key: right of the middle, ink gathers at the bottom; left of it, it is spread."""
    n = 8
    a = attention([f"w{i}" for i in range(n)], 1, 1)
    weights = np.zeros((1, 1, n, n), np.float32)
    weights[..., -1] = 1
    page = show(view=HeadView(Attention(**{**vars(a), "weights": weights})))
    inked = """() => { const c = document.querySelector('.bl-stage canvas'), p = c.getContext('2d');
      const rows = (x) => { const d = p.getImageData(x, 0, 1, c.height).data; let n = 0, sum = 0;
        for (let y = 0; y < c.height; y++) if (d[4 * y + 3] > 30) { n++; sum += y; } return [n, sum / n / c.height]; };
      const all = p.getImageData(0, 0, c.width, c.height).data; let left = c.width, right = 0;
      for (let y = 0; y < c.height; y++) for (let x = 0; x < c.width; x++) if (all[4 * (y * c.width + x) + 3] > 30)
        { left = Math.min(left, x); right = Math.max(right, x); }
      return [rows(left + 4), rows(right - 4)]; }"""
    (left, left_at), (right, right_at) = page.evaluate(inked)
    assert left > 3 * right
    assert left_at == pytest.approx(0.5, abs=0.08) and right_at > 0.8


def test_the_grid_has_queries_down_and_keys_across(show):
    n = 6
    a = attention([f"w{i}" for i in range(n)], 1, 1)
    weights = np.zeros((1, 1, n, n), np.float32)
    weights[..., -1] = 1  # the last key: the last column is dark
    page = show(view=HeadView(Attention(**{**vars(a), "weights": weights}), style="grid"))
    colours = page.evaluate("""() => { const c = document.querySelector('.bl-stage canvas'), p = c.getContext('2d');
      const s = document.querySelector('.bl-surface'), b = s.getBoundingClientRect(), o = c.getBoundingClientRect();
      const at = (i, j) => [...p.getImageData(b.left - o.left + (j + .5) * b.width / 6, b.top - o.top + (i + .5) * b.height / 6, 1, 1).data].slice(0, 3);
      return [at(0, 5), at(5, 0), at(3, 5), at(5, 3)]; }""")
    dark, pale = [0, 41, 74], [246, 249, 252]
    assert colours == [dark, pale, dark, pale]
    page.hover(".bl-surface", position={"x": 5, "y": 5})
    assert caption(page) == "“w0” looks at “w5” 100 %, itself 0 %, “w1” 0 %, 3 others 0 %."


@pytest.mark.parametrize("hide_special", [False, True])
@pytest.mark.parametrize("keys", [5, 8])
def test_pointing_at_the_grid_says_the_row_under_the_pointer_and_clicking_keeps_it(show, keys, hide_special):
    queries, names = ("[CLS]", *"bcde", "[SEP]"), tuple(f"k{j}" for j in range(keys))
    view = HeadView(
        made.random_maps(1, 1, 6, keys), queries, key_tokens=names, style="grid", hide_special=hide_special
    )
    page = show(view=view)
    rows = range(1, 5) if hide_special else range(6)
    box = page.locator(".bl-surface").bounding_box()
    for i, query in enumerate(rows):
        for part, across in ((0.1, 0.05), (0.5, 0.5), (0.9, 0.95)):  # anywhere in the row, in any column
            page.mouse.move(
                box["x"] + across * box["width"], box["y"] + (i + part) * box["height"] / len(rows)
            )
            special = view.texts["wordpiece"]["special"]
            assert caption(page) == describe_token(
                view.weights(), queries, query, special=special, key_tokens=names
            )
        page.mouse.down()
        page.mouse.up()
        still(page)
        assert page.evaluate("models.view.get('query')") == query


def test_pointing_at_a_token_shows_its_row_alone_and_clicking_keeps_it(show):
    a = attention(SENTENCE)
    view = HeadView(a)
    page = show(view=view)
    before = picture(page)
    page.hover(".bl-query[data-index='3']")
    assert caption(page) == describe_token(view.weights(), SENTENCE, 3)
    assert picture(page) != before
    page.hover(".bl-key[data-index='2']")
    assert caption(page) == describe_token(view.weights(), SENTENCE, 2, side="key")
    page.mouse.move(2, 2)
    assert caption(page) == view.sentence and picture(page) == before
    page.click(".bl-query[data-index='3']")
    page.mouse.move(2, 2)
    assert page.evaluate("models.view.get('query')") == 3
    assert caption(page) == describe_token(view.weights(), SENTENCE, 3)
    shown = [text for text in page.locator(".bl-number").all_inner_texts() if text]
    assert shown and all(re.fullmatch(r"\d+ %|over 99 %", text) for text in shown)


# ---- keyboard ------------------------------------------------------------------------------------------------


def test_arrows_run_through_the_heads_and_stay_in_the_view(show):
    page = show(view=HeadView(attention(SENTENCE)), map=HeadMap(values()))
    for target in (".bl-heads", ".bl-scroller"):
        page.evaluate("models.view.set('layer', 0); models.view.set('head', 0); window.shortcuts.length = 0")
        page.focus(target)
        steps = {"ArrowRight": [0, 1], "ArrowDown": [1, 1], "End": [1, 2], "Home": [1, 0], "ArrowUp": [0, 0]}
        for key, place in steps.items():
            page.keyboard.press(key)
            still(page)
            assert page.evaluate("[models.map.get('layer'), models.map.get('head')]") == place
            assert caption(page).startswith(f"Head {place[0] + 1}-{place[1] + 1}: ")
        page.keyboard.press("ArrowLeft")  # at the edge it stays
        assert page.evaluate("models.view.get('head')") == 0
        assert page.evaluate("window.shortcuts") == []
        page.keyboard.press("Space")  # not ours: the slides may have it
        assert page.evaluate("window.shortcuts") == [" "]


def test_tokens_are_reachable_by_keyboard(show):
    view = HeadView(attention(SENTENCE))
    page = show(view=view)
    page.focus(".bl-scroller")
    keys = (("PageDown", 0), ("PageDown", 1), ("PageUp", 0), ("Escape", -1), ("Shift+ArrowDown", 0))
    for key, query in (*keys, ("Shift+ArrowDown", 1), ("Shift+ArrowUp", 0), ("Escape", -1)):
        page.keyboard.press(key)
        still(page)
        assert page.evaluate("models.view.get('query')") == query
    assert caption(page) == view.sentence


@pytest.mark.parametrize("hide_special", [False, True])
def test_the_keyboard_stops_at_the_first_and_at_the_last_token(show, hide_special):
    page = show(view=HeadView(attention(("[CLS]", "a", "b", "c", "[SEP]")), hide_special=hide_special))
    page.focus(".bl-scroller")
    rows = [1, 2, 3] if hide_special else [0, 1, 2, 3, 4]
    steps = [("PageDown", row) for row in [*rows, rows[-1], rows[-1]]] + [
        ("PageUp", row) for row in [*rows[-2::-1], rows[0]]
    ]
    for key, query in [*steps, ("Escape", -1), ("PageUp", rows[-1])]:
        page.keyboard.press(key)
        still(page)
        assert page.evaluate("models.view.get('query')") == query and page.errors == []


def test_every_control_can_be_reached_and_shows_that_it_is(show):
    page = show(view=HeadView(attention(SENTENCE)), map=HeadMap({"a": values(), "b": values()}))
    page.focus("#before")
    reached = []
    for _ in range(4):
        page.keyboard.press("Tab")
        reached.append(page.evaluate("document.activeElement.className"))
        assert page.evaluate("document.activeElement.dataset.lmSuppressShortcuts") == "true"
        assert page.evaluate("getComputedStyle(document.activeElement).outlineStyle") == "solid"
    assert reached == ["bl-select", "bl-heads", "bl-save-as", "bl-scroller"]


def test_another_measure_is_chosen_in_the_page(show):
    page = show(map=HeadMap({"share": values(), "entropy (nats)": 1 + values()}))
    page.select_option(".bl-select", "entropy (nats)")
    still(page)
    assert page.inner_text(".bl-readout") == "Head 1-1: 1.000"
    assert page.evaluate("models.map.get('measure')") == "entropy (nats)"


def test_the_map_says_its_numbers_under_the_pointer_and_to_a_screen_reader(show):
    page = show(map=HeadMap(values()))
    page.hover(".bl-cell[data-layer='1'][data-head='1']")
    assert page.inner_text(".bl-tip.bl-open") == "Head 2-2: 0.667"
    assert page.get_attribute(".bl-cell[data-layer='1'][data-head='1']", "aria-label") == "head 2-2: .67"
    chosen = page.get_attribute(".bl-heads", "aria-activedescendant")
    assert page.get_attribute(f"#{chosen}", "aria-label") == "head 1-1: 0"


def test_a_screen_reader_gets_a_sentence_and_a_table(show):
    a = attention(SENTENCE)
    page = show(view=HeadView(a, layer=1))
    assert page.get_attribute(".bl-caption", "aria-live") == "polite"
    page.wait_for_function("document.querySelectorAll('.bl-unseen tr').length > 1")
    rows = page.evaluate(
        "[...document.querySelectorAll('.bl-unseen tr')].slice(1).map((r) => r.cells[1].textContent)"
    )
    best = a.weights[1, 0].argmax(axis=1)
    assert rows == ["itself" if j == i else SENTENCE[j] for i, j in enumerate(best)]


# ---- hosts ---------------------------------------------------------------------------------------------------


def test_hostile_tokens_stay_text_and_nothing_is_asked_for(show):
    a = attention(HOSTILE, segments=(0,) * 6 + (1,) * 5)
    for style in ("lines", "grid"):
        for level in ("wordpiece", "word"):
            page = show(
                view=HeadView(a, style=style, level=level),
                map=HeadMap({"<img src=x onerror=window.broken=1>": values()}),
            )
            page.hover(".bl-token >> nth=1")
            page.wait_for_timeout(300)  # the table for screen readers comes last
            assert page.evaluate("window.broken") is None
            assert page.locator(".bertlook img, .bertlook script, .bertlook b").count() == 0
            assert HOSTILE[1] in page.locator(".bl-query").all_text_contents()
            assert page.errors == []
            # Only the page's own modules were loaded.
            assert [url for url in page.requests if not url.startswith(("blob:", "about:", "data:"))] == []


@pytest.mark.parametrize(("layers", "heads", "n"), [(1, 1, 1), (24, 16, 2), (12, 12, 64), (2, 2, 200)])
@pytest.mark.parametrize("style", ["lines", "grid"])
def test_any_model_and_any_text_fit_their_place(show, layers, heads, n, style):
    tokens = ["[CLS]", *(f"w{i}" for i in range(n - 2)), "[SEP]"][:n]
    view = HeadView(attention(tokens, layers, heads), style=style, layer=layers - 1, head=heads - 1)
    page = show(
        view=view,
        map=HeadMap(values(layers, heads), layer=layers - 1, head=heads - 1),
        width=1024,
        height=768,
    )
    page.wait_for_timeout(100)
    assert caption(page) == view.sentence
    assert page.evaluate("document.documentElement.scrollWidth") <= 1024
    assert page.evaluate("document.querySelector('.views').getBoundingClientRect().bottom") <= 768
    assert page.errors == []


@pytest.mark.parametrize(("width", "height"), [(1024, 768), (1280, 720), (1920, 1080)])
@pytest.mark.parametrize("style", ["lines", "grid"])
def test_on_a_slide_all_is_legible_and_inside(show, width, height, style):
    page = show(
        view=HeadView(attention(SENTENCE, 12, 12), style=style),
        map=HeadMap(values(12, 12)),
        width=width,
        height=height,
    )
    found = page.evaluate("""() => [...document.querySelectorAll('.bertlook *')]
      .filter((e) => [...e.childNodes].some((t) => t.nodeType === 3 && t.textContent.trim()))
      .filter((e) => e.offsetParent && getComputedStyle(e).visibility !== 'hidden' && !e.closest('.bl-unseen'))
      .map((e) => { const b = e.getBoundingClientRect(); return [e.className, parseFloat(getComputedStyle(e).fontSize), b.left, b.right, b.bottom]; })""")
    assert len(found) > 40
    assert min(size for _, size, *_ in found) >= 24
    for name, _, left, right, bottom in found:
        assert left >= 0 and right <= width and bottom <= height, name
    assert page.locator(".bl-query").count() == len(SENTENCE)
    # Sixteen tokens need no scrolling.
    assert (
        page.evaluate("(s => s.scrollHeight - s.clientHeight)(document.querySelector('.bl-scroller'))") <= 1
    )


def test_choosing_heads_levels_and_styles_never_moves_the_page(show):
    page = show(view=HeadView(attention(SENTENCE)), map=HeadMap(values()))
    height = "document.querySelector('.view').getBoundingClientRect().height"
    first = page.evaluate(height)
    for change in (
        "'layer', 1",
        "'head', 2",
        "'style_index', 1",
        "'level_index', 1",
        "'hide_special', true",
        "'style_index', 0",
        "'query', 3",
    ):
        page.evaluate(f"models.view.set({change})")
        still(page)
        assert page.evaluate(height) == first


def test_a_view_that_is_hidden_at_first_is_drawn_when_it_appears(show):
    page = show(
        view=HeadView(attention(SENTENCE)),
        map=HeadMap(values()),
        before=".views { display: none !important; }",
    )
    assert page.locator(".bl-query").count() == 0
    page.evaluate(
        "document.querySelector('style').textContent = document.querySelector('style').textContent.replace('display: none !important', '')"
    )
    page.wait_for_timeout(200)
    assert page.locator(".bl-query").count() == len(SENTENCE)
    assert len(picture(page)) > 5000
    page.evaluate("document.querySelector('.views').style.display = 'none'; models.view.set('head', 2)")
    still(page)
    page.evaluate("document.querySelector('.views').style.display = ''")
    page.wait_for_timeout(200)
    assert caption(page).startswith("Head 1-3: ")
    assert page.errors == []


def test_the_text_size_follows_the_host_and_the_trait(show):
    page = show(view=HeadView(attention(SENTENCE)), font=14)
    size = "getComputedStyle(document.querySelector('.bl-token')).fontSize"
    assert page.evaluate(size) == "14px"
    page.evaluate("document.body.style.setProperty('--jp-content-font-size1', '30px')")
    page.wait_for_timeout(100)
    assert page.evaluate(size) == "30px"
    assert page.evaluate("parseFloat(document.querySelector('.bl-query').style.height)") >= 30 * 0.82
    page.evaluate("models.view.set('font_size', 20)")
    page.wait_for_timeout(100)
    assert page.evaluate(size) == "20px"


def test_a_view_that_is_taken_away_leaves_nothing_behind(show):
    page = show(view=HeadView(attention(SENTENCE)), map=HeadMap(values()))
    linked = 2  # the page's own links listen too
    page.evaluate("cleanups.view(); cleanups.map()")
    assert page.evaluate("[models.view.listening(), models.map.listening()]") == [linked, linked]
    assert page.locator(".bertlook").count() == 0
    page.evaluate("models.view.set('head', 1)")
    page.wait_for_timeout(300)
    page.evaluate("mountView.view(); mountView.map()")  # a second view of the same model
    still(page)
    assert caption(page).startswith("Head 1-2: ")
    assert page.errors == []


def test_new_data_arrive_in_a_view_that_is_open(show):
    page = show(view=HeadView(attention(SENTENCE)))
    other = HeadView(attention(("[CLS]", "hi", "[SEP]")))
    state = {key: state_of(other)[key] for key in ("data", "shape", "texts", "bits", "packing")}
    page.evaluate(
        """(state) => { for (const [key, value] of Object.entries(state))
          models.view.set(key, value.base64 === undefined ? value
            : new DataView(Uint8Array.from(atob(value.base64), (c) => c.charCodeAt(0)).buffer)); }""",
        state,
    )
    still(page)
    assert caption(page) == describe_attention(other.weights(), ("[CLS]", "hi", "[SEP]"), head=(0, 0))
    assert page.locator(".bl-query").all_text_contents() == ["[CLS]", "hi", "[SEP]"]


# ---- another head ---------------------------------------------------------------------------------------------

REDRAW = """async (count) => {
  const canvas = document.querySelector('.bl-stage canvas'), scripts = [], pixels = [];
  for (let i = 0; i < count; i++) {
    const start = performance.now();
    models.view.set('head', (models.view.get('head') + 1) % models.view.get('shape')[1]);
    await Promise.resolve(); // the view draws in the same turn
    document.body.offsetHeight;
    scripts.push(performance.now() - start);
    canvas.getContext('2d').getImageData(0, 0, 1, 1); // until the pixels are there
    pixels.push(performance.now() - start);
    await new Promise((done) => requestAnimationFrame(done));
  }
  const sorted = (times) => times.sort((a, b) => a - b);
  return { scripts: sorted(scripts), pixels: sorted(pixels) };
}"""


@pytest.mark.parametrize("style", ["lines", "grid"])
def test_another_head_of_128_tokens_is_another_picture(show, style):
    tokens = ["[CLS]", *(f"w{i}" for i in range(126)), "[SEP]"]
    page = show(view=HeadView(attention(tokens, 12, 12), style=style))
    page.wait_for_function("document.querySelector('.bl-query')")  # deflated data take a moment
    before = picture(page)
    page.evaluate(REDRAW, 3)
    assert picture(page) != before


# ---- attention of any model ------------------------------------------------------------------------------------


@pytest.mark.parametrize("style", ["lines", "grid", "rows"])
def test_queries_and_keys_may_be_two_texts(show, style):
    source, target = ("Das", "ist", "gut", "</s>"), ("that", "is", "good", "too", ".", "</s>")
    view = HeadView(made.random_maps(2, 3, 6, 4), target, key_tokens=source, style=style)
    page = show(view=view)
    assert caption(page) == view.sentence and page.errors == []
    assert page.locator(".bl-query").count() == 6 and page.locator(".bl-key").count() == 4
    view.query = 1
    page.evaluate("models.view.set('query', 1)")
    still(page)
    assert caption(page) == view.sentence
    page.hover(".bl-key[data-index='3']")
    still(page)
    assert caption(page) == describe_token(
        view.weights(), target, 3, side="key", special=view.texts["wordpiece"]["special"], key_tokens=source
    )


def test_rows_lie_across_and_a_long_text_scrolls_sideways(show):
    tokens = ("[CLS]", *"我喜歡吃蘋果和香蕉", "[SEP]")
    page = show(view=HeadView(made.random_maps(1, 2, 11, 11), tokens, style="rows"))
    tops = page.evaluate(
        "[...document.querySelectorAll('.bl-key')].map((node) => node.getBoundingClientRect().top)"
    )
    assert len(set(tops)) == 1
    words = tuple(f"word{i}" for i in range(40))
    page = show(view=HeadView(made.random_maps(1, 1, 40, 40), words, style="rows"))
    before = picture(page)
    assert page.evaluate(
        "(([node]) => node.scrollWidth > node.clientWidth)(document.querySelectorAll('.bl-scroller'))"
    )
    page.evaluate("document.querySelector('.bl-scroller').scrollLeft = 400")
    still(page)
    assert picture(page) != before and page.errors == []
