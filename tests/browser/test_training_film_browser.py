"""The film of a training run in a real browser: what is drawn, said and pressed, how it plays, and in an exported deck."""

from __future__ import annotations

import pytest

from bertlook_course.widgets import TrainingFilm

from .test_widgets_browser import page_of, show  # noqa: F401 - a fixture

STATE = "['point', 'layer', 'head', 'measure'].map((name) => models.view.get(name))"


@pytest.fixture(scope="module")
def view():
    return TrainingFilm(point=12)


def test_every_checkpoint_is_said_as_python_says_it_and_drawn(show, view):  # noqa: F811
    page = show(view=view)
    layers, heads = view.shape
    for i in range(0, len(view.tokens), 3):
        names = {
            "point": i,
            "layer": i % layers,
            "head": (i * 5) % heads,
            "measure": view.measures[i % len(view.measures)],
        }
        for name, value in names.items():
            setattr(view, name, value)
        page.evaluate(
            "(names) => { for (const [k, v] of Object.entries(names)) models.view.set(k, v); }", names
        )
        page.wait_for_timeout(20)
        assert page.inner_text(".bl-near") == view.sentence
        gone = layers - view._film.layers[i]
        assert page.locator(".bl-cell").all_text_contents().count("–") == gone * heads
        assert page.locator(".bl-film-curve circle").count() == int(view.layer < layers - gone)
        assert page.locator(".bl-film-curve path[stroke-dasharray]").count() == 1
        assert page.input_value("input[type=range]") == str(i)
        assert view.reached[i] in page.get_attribute("input[type=range]", "aria-valuetext")
    said = page.locator(".bl-film-curve svg").get_attribute("aria-label")
    assert said.startswith(f"Curve of head {view.layer + 1}-{view.head + 1}, ")
    page.wait_for_timeout(250)
    assert page.locator(".bl-unseen tr").count() == 1 + len(view.tokens)
    assert page.errors == []


def test_keys_go_through_time_and_heads_and_stay_in_the_view(show, view):  # noqa: F811
    page = show(view=TrainingFilm(point=12))
    page.focus("#before")
    reached = []
    for _ in range(4):
        page.keyboard.press("Tab")
        reached.append(
            page.evaluate("document.activeElement.tagName + (document.activeElement.className || '')")
        )
        assert page.evaluate("getComputedStyle(document.activeElement).outlineStyle") == "solid"
    assert reached == ["SELECTbl-select", "DIVbl-heads", "BUTTON", "INPUT"]
    page.keyboard.press("ArrowRight")
    assert page.evaluate(STATE)[0] == 13
    page.keyboard.press("Home")
    assert page.evaluate(STATE)[0] == 0
    page.focus(".bl-heads")
    page.keyboard.press("PageDown")
    page.keyboard.press("ArrowDown")
    page.keyboard.press("ArrowRight")
    assert page.evaluate(STATE)[:3] == [1, 1, 1]
    page.select_option(".bl-select", label=view.labels[3])
    assert page.evaluate(STATE)[3] == view.measures[3]
    assert page.evaluate("window.shortcuts") == ["Tab"] * 2  # those of menu and map


def test_it_plays_pauses_and_stops_at_the_end(show, view):  # noqa: F811
    page = show(view=TrainingFilm(point=21))
    # What must not be torn apart by a busy machine happens in one go.
    press = lambda rest: page.evaluate(
        f"(() => {{ const play = document.querySelector('.bl-film-time button'); play.click(); {rest} "
        "return [models.view.get('point'), play.textContent]; })()"
    )
    assert press("") == [22, "❚❚ Pause"]
    page.wait_for_function("models.view.get('point') === 23")
    page.wait_for_function("document.querySelector('.bl-film-time button').textContent === '▶ Play'")
    assert press("play.click();") == [0, "▶ Play"]  # once more from the start, and stopped at once
    page.wait_for_timeout(900)
    assert page.evaluate(STATE)[0] == 0
    press("window.cleanups.view();")  # nothing runs on behind
    page.wait_for_timeout(900)
    assert page.evaluate(STATE)[0] == 1 and page.errors == []


@pytest.mark.parametrize(("width", "height"), [(1024, 768), (1280, 720)])
def test_with_reduced_motion_it_steps_and_it_is_large_quick_and_inside(browser, view, width, height):
    context = browser.new_context(viewport={"width": width, "height": height}, reduced_motion="reduce")
    page = context.new_page()
    page.set_content(page_of(24, view=TrainingFilm(point=3)).replace("<body>", '<body class="rise-enabled">'))
    page.wait_for_function("window.ready && document.querySelector('.bl-film-curve svg')")
    play = page.locator(".bl-film-time button")
    assert play.inner_text() == "Next ▸"
    play.click()
    page.wait_for_timeout(900)
    assert page.evaluate(STATE)[0] == 4
    assert page.evaluate("document.documentElement.scrollWidth") <= width
    assert page.locator(".bertlook-film").bounding_box()["height"] < 530
    sizes = "[...document.querySelectorAll('.bl-film-curve text, .bl-cell, output')].map((n) => parseFloat(getComputedStyle(n).fontSize))"
    assert min(page.evaluate(sizes)) >= 24
    context.close()
