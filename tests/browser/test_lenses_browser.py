"""The lenses in a real browser, on a plain page, as Python says them; `test_alive.py` has them on a slide and in JupyterLab."""

from __future__ import annotations

from itertools import pairwise

import numpy as np
import pytest

from bertlook_course.render import two_digits
from bertlook_course.widgets import LensView
from bertlook_teach.views import HeadMap

from .conftest import still
from .test_widgets_browser import HOSTILE, SENTENCE, show, state_of, values  # noqa: F401 - show is a fixture


def made_up(n, layers=2, heads=3, seed=0):
    """Six lenses over made-up heads: one all zeros in one head, one with very small numbers."""
    rng = np.random.default_rng(seed)
    weight = rng.dirichlet(np.full(n, 0.3), size=(layers, heads, n))
    norm = weight * rng.uniform(0.01, 3, size=(layers, heads, 1, n))
    norm[0, 0] = 0
    return {
        "weight": weight,
        "norm": norm,
        "gradient": rng.uniform(0, 1e-6, size=weight.shape),
        "rollout": rng.dirichlet(np.full(n, 1.0), size=(layers, heads, n)),
        "value_zeroing": norm**2,
        "ablation": rng.uniform(0, 400, size=weight.shape),
    }


def lens_view(tokens=SENTENCE[:8], **options):
    options.setdefault("sentences", {"weight": "Where the token looks.", "norm": "What comes from there."})
    return LensView(made_up(len(tokens)), tokens, **options)


def caption(page):
    return page.inner_text(".bl-caption")


def numbers(page):
    """What stands behind the bars, [lens][key]."""
    return page.evaluate(
        """() => { const all = [...document.querySelectorAll('.bl-lens-value')].map((e) => e.textContent);
          const n = document.querySelectorAll('.bl-lens-token').length;
          return Array.from({ length: all.length / n }, (_, i) => all.slice(i * n, (i + 1) * n)); }"""
    )


def test_what_is_drawn_and_said_is_what_python_says(show):  # noqa: F811
    view = lens_view()
    page = show(view=view)
    for layer in range(2):
        for head in range(3):
            for query in (0, 3, 7):
                page.evaluate(
                    f"models.view.set('layer', {layer}); models.view.set('head', {head}); models.view.set('query', {query})"
                )
                still(page)
                view.layer, view.head, view.query = layer, head, query
                assert caption(page) == view.sentence
                rows = view.table().rows
                assert numbers(page) == [[row[lens + 1] for row in rows[:-1]] for lens in range(6)]
                assert page.locator(".bl-lens-foot").all_text_contents() == [rows[-1][0], *rows[-1][1:]]
    assert page.errors == []


def test_both_languages_shorten_numbers_alike(show):  # noqa: F811
    from bertlook_course.widgets import module_source

    page = show(view=lens_view())
    cases = [1, 0, 0.999, 9.96, 0.05, 1e-4, 9.96e-6, 1234.5, 3.3e-12, 0.0123, 42.5, 99.5, 0.095]
    source = module_source("six_lenses").split("export default")[0]
    assert page.evaluate(f"(xs) => {{ {source}; return xs.map(twoDigits); }}", cases) == [
        two_digits(x) for x in cases
    ]


def test_a_bar_is_as_long_as_its_number(show):  # noqa: F811
    view = lens_view(layer=1, head=1)
    page = show(view=view)
    widths = page.evaluate(
        "[...document.querySelectorAll('.bl-lens-bar')].map((e) => e.getBoundingClientRect().width)"
    )
    longest = float(page.get_attribute(".bl-lens-sheet", "data-longest"))
    drawn = np.array(widths).reshape(6, 8)
    for lens, (name, values_) in enumerate(view.lenses().items()):
        full = 1 if name in ("weight", "rollout") else values_[1, 1].max()
        assert drawn[lens] == pytest.approx(values_[1, 1, view.query] / full * longest, abs=0.5)


def test_keys_choose_head_query_lens_and_style_and_stay_in_the_view(show):  # noqa: F811
    page = show(view=lens_view(query=3))
    page.focus(".bl-scroller")
    state = "[models.view.get('layer'), models.view.get('head'), models.view.get('query'), models.view.get('style_index')]"
    for key, expected in (
        ("ArrowRight", [0, 1, 3, 0]),
        ("ArrowDown", [1, 1, 3, 0]),
        ("Shift+ArrowDown", [1, 1, 4, 0]),
        ("Shift+ArrowUp", [1, 1, 3, 0]),
        ("PageDown", [1, 1, 4, 0]),
        ("End", [1, 2, 4, 0]),
        ("g", [1, 2, 4, 1]),
        ("G", [1, 2, 4, 0]),
        ("ArrowDown", [1, 2, 4, 0]),
    ):
        page.keyboard.press(key)
        still(page)
        assert page.evaluate(state) == expected, key
    page.keyboard.press("2")
    still(page)
    assert page.inner_text(".bl-about") == "norm: What comes from there."
    assert page.inner_text(".bl-lens-chosen") == "norm"
    assert [key for key in page.evaluate("window.shortcuts") if key != "Shift"] == []
    page.keyboard.press("9")  # there is no ninth lens
    page.keyboard.press("Space")
    assert [key for key in page.evaluate("window.shortcuts") if key != "Shift"] == ["9", " "]


def test_a_click_chooses_the_query_in_both_styles(show):  # noqa: F811
    page = show(view=lens_view())
    page.click(".bl-lens-token[data-index='5']")
    assert page.evaluate("models.view.get('query')") == 5
    page.evaluate("models.view.set('style_index', 1)")
    still(page)
    box = page.locator(".bl-lens-canvas").nth(2).bounding_box()
    page.mouse.click(box["x"] + 5, box["y"] + box["height"] * 2.5 / 8)
    still(page)
    assert page.evaluate("[models.view.get('query'), models.view.get('lens')]") == [2, 2]


def test_grids_have_queries_down_and_keys_across(show):  # noqa: F811
    weight = np.zeros((1, 1, 6, 6))
    weight[..., -1] = 1  # the last key: the last column is dark
    page = show(view=LensView({"weight": weight}, [f"w{i}" for i in range(6)], query=0, style="grids"))
    colours = page.evaluate("""() => { const c = document.querySelector('.bl-lens-canvas'), p = c.getContext('2d');
      const at = (i, j) => [...p.getImageData((j + .5) * c.width / 6, (i + .5) * c.height / 6, 1, 1).data].slice(0, 3);
      return [at(1, 5), at(5, 1), at(3, 5), at(5, 3)]; }""")
    dark, pale = [0, 41, 74], [246, 249, 252]
    assert colours == [dark, pale, dark, pale]


def test_a_map_and_the_lenses_show_the_same_head(show):  # noqa: F811
    page = show(view=lens_view(), map=HeadMap(values()))
    page.click(".bl-cell[data-layer='1'][data-head='2']")
    still(page)
    assert caption(page).startswith("Head 2-3, query ")


@pytest.mark.parametrize("style", ["bars", "grids"])
@pytest.mark.parametrize(("width", "height", "font"), [(1024, 768, 24), (1280, 720, 26), (1920, 1080, 34)])
def test_on_a_slide_all_is_legible_and_inside(show, width, height, font, style):  # noqa: F811
    page = show(view=lens_view(SENTENCE[:9], style=style), width=width, height=height, font=font)
    found = page.evaluate("""() => [...document.querySelectorAll('.bertlook *')]
      .filter((e) => [...e.childNodes].some((t) => t.nodeType === 3 && t.textContent.trim()))
      .filter((e) => e.offsetParent && !e.closest('.bl-unseen'))
      .map((e) => { const b = e.getBoundingClientRect(); return [e.textContent, parseFloat(getComputedStyle(e).fontSize), b.left, b.right, b.bottom]; })""")
    assert len(found) > 20
    for text, size, left, right, bottom in found:
        assert size >= 24 and left >= 0 and right <= width and bottom <= height, text
    scroller = "(s => [s.scrollHeight - s.clientHeight, s.scrollWidth - s.clientWidth])(document.querySelector('.bl-scroller'))"
    assert max(page.evaluate(scroller)) <= 1
    titles = page.evaluate(
        "[...document.querySelectorAll('.bl-lens-title')].map((e) => { const r = document.createRange(); r.selectNodeContents(e); const b = r.getBoundingClientRect(); return [b.left, b.right]; })"
    )
    for (_, right), (left, _) in pairwise(titles):
        assert right <= left


def test_hostile_tokens_stay_text_and_a_screen_reader_gets_a_table(show):  # noqa: F811
    page = show(view=lens_view(HOSTILE, query=1))
    page.wait_for_function("document.querySelectorAll('.bl-unseen tr').length > 1")
    assert page.evaluate("window.broken") is None
    assert page.locator(".bertlook img, .bertlook script, .bertlook b").count() == 0
    assert HOSTILE[1] in page.locator(".bl-lens-token").all_text_contents()
    rows = page.evaluate(
        "[...document.querySelectorAll('.bl-unseen tr')].map((r) => [...r.cells].map((c) => c.textContent))"
    )
    assert rows[0] == ["key", "weight", "norm", "gradient", "rollout", "value zeroing", "ablation"]
    assert len(rows) == len(HOSTILE) + 2 and rows[-1][0] == "100 is"
    assert page.get_attribute(".bl-caption", "aria-live") == "polite"
    assert page.errors == []
    assert [url for url in page.requests if not url.startswith(("blob:", "about:", "data:"))] == []


@pytest.mark.parametrize("n", [1, 40])
def test_one_token_and_many_are_drawn(show, n):  # noqa: F811
    view = LensView(made_up(n, 1, 1), [f"w{i}" for i in range(n)])
    page = show(view=view, width=1024, height=768)
    assert caption(page) == view.sentence
    assert page.evaluate("document.querySelector('.bertlook').getBoundingClientRect().bottom") <= 768
    assert page.errors == []


def test_new_data_arrive_and_a_view_taken_away_leaves_nothing_behind(show):  # noqa: F811
    page = show(view=lens_view())
    other = lens_view(("[CLS]", "hi", "[SEP]"), style="grids")
    state = {
        key: state_of(other)[key]
        for key in ("data", "full", "shape", "text", "bits", "packing", "query", "style_index")
    }
    page.evaluate(
        """(state) => { for (const [key, value] of Object.entries(state))
          models.view.set(key, value.base64 === undefined ? value
            : new DataView(Uint8Array.from(atob(value.base64), (c) => c.charCodeAt(0)).buffer)); }""",
        state,
    )
    still(page)
    assert caption(page) == other.sentence
    assert page.locator(".bl-lens-canvas").count() == 6
    page.evaluate("cleanups.view()")
    linked = 2  # the page's own links listen too
    assert page.evaluate("models.view.listening()") == linked and page.locator(".bertlook").count() == 0
