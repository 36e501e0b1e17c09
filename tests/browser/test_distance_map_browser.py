"""The map of heads in a real browser, on a plain page without Jupyter: what is drawn, said, pressed, and how large."""

from __future__ import annotations

from functools import cache

import numpy as np
import pytest

from bertlook_course.metrics import metric_mds
from bertlook_course.widgets import DistanceMap
from bertlook_teach.measures import js_distances
from bertlook_teach.views import HeadView

from .conftest import still
from .test_widgets_browser import SENTENCE, attention, page_of

KINDS = ["previous", "next", "broad", "[CLS]", "[SEP]", "punct", "unlabelled"]


@cache
def placed(layers, heads):
    """A text, the distances of its heads and the places of these: 144 heads take seconds."""
    text = attention(SENTENCE, layers, heads)
    distances = js_distances(text)
    return text, distances, metric_mds(distances)


def heads(layers=4, heads=5, **options):
    text, distances, found = placed(layers, heads)
    groups = np.random.default_rng(0).choice(KINDS, size=(layers, heads))
    options = {"stress": found.stress} | options
    return DistanceMap(found.points, distances, groups, **options), HeadView(text)


@pytest.fixture
def show(blank):
    def show(view, other, width=1280, height=720, font=24):
        page = blank(width, height)
        # `map` takes its place in the page's layout; both halves as wide as in the explorer
        content = page_of(font, map=view, view=other).replace(
            "flex: 0 1 auto; max-width: 46%", "flex: 1 1 0%"
        )
        page.set_content(content)
        page.wait_for_function("window.ready && document.querySelector('.bl-point')")
        return page

    return show


def chosen(page) -> tuple[int, int]:
    return tuple(page.evaluate("['layer', 'head'].map((name) => window.models.map.get(name))"))


def test_every_head_is_drawn_and_the_sentence_is_pythons(show):
    view, other = heads(layer=2, head=3)
    page = show(view, other)
    assert page.locator(".bl-point").count() == 20
    assert page.locator(".bl-near").inner_text() == view.sentence
    assert page.locator(".bl-tie").count() == 3
    legend = page.locator(".bl-group").all_inner_texts()
    assert [entry.strip() for entry in legend] == [
        f"{name} {view.groups.count(name)}" for name, *_ in view.styles
    ]
    assert (
        page.errors == [] and [url for url in page.requests if not url.startswith(("blob:", "data:"))] == []
    )


def test_the_same_sentence_for_every_head(show):
    view, other = heads()
    page = show(view, other)
    for layer, head in ((0, 0), (1, 4), (3, 2)):
        view.layer, view.head = layer, head
        page.evaluate("([l, h]) => { models.map.set('layer', l); models.map.set('head', h); }", [layer, head])
        page.wait_for_function(
            f"document.querySelector('.bl-near').textContent.startsWith('Head {layer + 1}-{head + 1} ')"
        )
        assert page.locator(".bl-near").inner_text() == view.sentence


def test_a_click_on_a_point_shows_that_head_in_the_linked_view_without_a_kernel(show):
    view, other = heads()
    page = show(view, other)
    box = page.locator('.bl-point[data-index="17"]').bounding_box()
    page.mouse.click(box["x"] + box["width"] / 2, box["y"] + box["height"] / 2)
    assert chosen(page) == (3, 2)
    page.wait_for_function("document.querySelector('.bl-name').textContent.includes('4-3')")
    assert page.locator(".bl-tag-chosen").text_content() == "4-3"


def test_arrows_go_where_they_point_and_stay_in_the_view(show):
    view, other = heads(layer=1, head=2)
    page = show(view, other)
    page.focus(".bl-points")

    def centre():
        layer, head = chosen(page)
        box = page.locator(f'.bl-point[data-index="{layer * 5 + head}"]').bounding_box()
        return box["x"] + box["width"] / 2, box["y"] + box["height"] / 2

    moved = 0
    for key, axis, sign in (
        ("ArrowRight", 0, 1),
        ("ArrowDown", 1, 1),
        ("ArrowLeft", 0, -1),
        ("ArrowUp", 1, -1),
    ):
        before, place = chosen(page), centre()
        page.keyboard.press(key)
        still(page)
        if chosen(page) != before:
            moved += 1
            assert (centre()[axis] - place[axis]) * sign > 0, key
    assert moved >= 2
    page.keyboard.press("Home")
    seen = {chosen(page)}
    for _ in range(19):  # every head can be reached without a mouse
        page.keyboard.press("PageDown")
        seen.add(chosen(page))
    assert len(seen) == 20 and page.evaluate("window.shortcuts") == []


def test_tab_reaches_the_menu_and_the_map_and_shows_it(show):
    view, other = heads()
    page = show(view, other)
    page.focus("#before")
    page.keyboard.press("Tab")
    assert page.evaluate("document.activeElement.className") == "bl-select"
    page.keyboard.press("Tab")
    assert page.evaluate("document.activeElement.className") == "bl-points"
    assert page.evaluate("getComputedStyle(document.activeElement).outlineStyle") == "solid"
    assert view.sentence in page.get_attribute(".bl-points", "aria-label")


def test_by_layer_every_disc_carries_its_number(show):
    view, other = heads()
    page = show(view, other)
    page.locator(".bertlook-distances .bl-select").select_option("layer")
    page.wait_for_function("document.querySelector('.bl-point text')")
    numbers = page.locator(".bl-point text").all_text_contents()
    assert sorted(numbers) == sorted(str(layer + 1) for layer in range(4) for _ in range(5))
    assert page.evaluate("window.models.map.get('by_index')") == 1


@pytest.mark.parametrize("width, height", [(1024, 768), (1280, 720), (1920, 1080)])
@pytest.mark.parametrize("shape", [(6, 6), (12, 12)])
def test_labels_are_large_inside_and_apart(show, width, height, shape):
    view, other = heads(*shape, layer=1, head=3)
    page = show(view, other, width, height)
    tags = page.locator(".bl-tag")
    assert tags.count() == 4
    sizes = tags.evaluate_all("nodes => nodes.map((node) => parseFloat(getComputedStyle(node).fontSize))")
    assert min(sizes) >= 24
    stage = page.locator(".bl-points").bounding_box()
    boxes = [tags.nth(i).bounding_box() for i in range(4)]
    for box in boxes:
        assert box["x"] >= stage["x"] - 1 and box["x"] + box["width"] <= stage["x"] + stage["width"] + 1
    assert page.evaluate("document.documentElement.scrollWidth") <= width


def test_a_point_says_its_name_under_the_pointer_and_goes_away(show):
    view, other = heads()
    page = show(view, other)
    box = page.locator('.bl-point[data-index="7"]').bounding_box()
    page.mouse.move(box["x"] + box["width"] / 2, box["y"] + box["height"] / 2)
    tip = page.locator(".bertlook-distances .bl-tip")
    assert tip.inner_text() == f"Head 2-3: {view.groups[7]}"
    page.evaluate("window.cleanups.map()")
    assert (
        page.locator(".bertlook-distances").count() == 0 and page.evaluate("models.map.listening()") == 2
    )  # the page's own links


def test_hostile_names_stay_text(show):
    _, other = heads(2, 2)
    text = attention(SENTENCE, 2, 2)
    groups = np.array([["<img src=x onerror=window.broken=1>", "a & b"], ["next", "next"]], dtype=object)
    points = np.array([[0, 0], [1, 0], [0, 1], [1, 1.0]])
    page = show(DistanceMap(points, js_distances(text), groups), other)
    assert page.evaluate("window.broken") is None and "<img" in page.locator(".bl-near").inner_text()
    assert page.errors == []
