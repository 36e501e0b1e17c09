"""The recorded model in a real browser: said as Python says it, chosen by key, switched to and from, and fast."""

from __future__ import annotations

import pytest

from bertlook_course.widgets import RecordedExplorer, RecordedView
from bertlook_press.pages import save_page
from bertlook_teach.model import load_encoder, load_recording

from .test_widgets_browser import caption, show  # noqa: F401 - pytest takes the fixture from here

BADGE = "BERT-base, recorded"
TEXTS = (
    "time flies like an arrow",
    ("i went to the store.", "at the store, i bought fresh strawberries."),
    "the cat sat on the mat",
)
ANOTHER_HEAD = """async (rounds) => {
  const said = [];
  for (let i = 0; i < rounds; i++) {
    models.view.set('layer', Math.floor((i * 37) / 12) % 12);
    models.view.set('head', (i * 37) % 12);
    await null; // the view draws at the end of this turn
    said.push(document.querySelector('.bl-caption').innerText);
  }
  return said;
}"""


@pytest.fixture(scope="module")
def recording():
    return load_recording("bert-base-uncased")


@pytest.fixture
def view(recording):
    return RecordedView(recording, TEXTS, layer=7, head=10)


def settled(page, words):
    """Weights are unpacked a moment after a sentence is chosen."""
    page.wait_for_function("words => document.querySelector('.bl-caption').innerText === words", arg=words)


def test_every_sentence_and_many_heads_are_said_as_python_says_them(show, view):  # noqa: F811
    page = show(view=view)
    for sentence in range(len(TEXTS)):
        for layer, head in ((2, 0), (7, 9), (11, 11)):
            page.evaluate(f"models.view.set('sentence', {sentence})")
            page.evaluate(f"models.view.set('layer', {layer}); models.view.set('head', {head})")
            view.sentence, view.layer, view.head = sentence, layer, head
            settled(page, f"{BADGE} {view.caption}")
            value = view._values[sentence][view.measure][layer, head]
            assert page.inner_text(".bl-readout") == f"Head {layer + 1}-{head + 1}: {value:.3f}"
    assert page.errors == []


def test_a_class_can_do_all_of_it_by_key(show, view):  # noqa: F811
    page = show(view=view)
    settled(page, f"{BADGE} {view.caption}")
    page.focus("#before")
    page.keyboard.press("Tab")
    assert page.evaluate("document.activeElement.closest('label').innerText.startsWith('sentence')")
    page.keyboard.press("ArrowDown")
    assert page.evaluate("models.view.get('sentence')") == 1
    view.sentence = 1
    settled(page, f"{BADGE} {view.caption}")
    page.focus(".bl-heads")
    page.keyboard.press("ArrowRight")
    view.head = 11
    settled(page, f"{BADGE} {view.caption}")
    page.focus(".bl-scroller")
    page.keyboard.press("Shift+ArrowDown")
    view.query = 0
    settled(page, f"{BADGE} {view.caption}")
    assert page.evaluate("window.shortcuts").count("ArrowRight") == 0  # nothing reaches the slides
    assert page.evaluate(
        "[...document.querySelectorAll('select')].every((one) => one.labels.length || one.ariaLabel)"
    )


def test_a_menu_of_heads_worth_seeing_sets_the_sentence_too(show, recording):  # noqa: F811
    view = RecordedView(recording, TEXTS, choices={"first": (TEXTS[0], 2, 0), "second": (TEXTS[2], 7, 10)})
    page = show(view=view)
    settled(page, f"{BADGE} {view.caption}")
    page.select_option(".bl-choices select", label="second")
    _, view.sentence, view.layer, view.head, *_ = view.choices[1]
    settled(page, f"{BADGE} {view.caption}")
    page.focus(".bl-heads")
    page.keyboard.press("ArrowRight")
    assert (
        page.evaluate("document.querySelector('.bl-choices select').selectedOptions[0].text")
        == "a head of your own"
    )
    assert page.errors == []


def test_another_head_is_drawn_within_the_turn_that_asks_for_it(show, recording):  # noqa: F811
    """Nothing is waited for, whichever of the 144 heads comes next."""
    page = show(view=RecordedView(recording, TEXTS, sentence=TEXTS[1]))
    page.wait_for_function("document.querySelectorAll('.bl-query').length === 19")
    said = page.evaluate(ANOTHER_HEAD, 100)
    assert [sentence.partition(":")[0] for sentence in said] == [
        f"{BADGE} Head {i * 37 // 12 % 12 + 1}-{i * 37 % 12 + 1}" for i in range(100)
    ]


def test_the_switch_shows_one_model_at_a_time_with_its_badge(blank, tmp_path, recording):
    explorer = RecordedExplorer(
        load_encoder("specimen"),
        "Dogs bark.",
        recording=recording,
        recorded={"sentences": TEXTS},
        shows="recording",
    )
    page = blank(1280, 720, offline=True)
    page.goto(save_page(explorer, tmp_path / "two.html").as_uri())
    page.wait_for_selector(".bertlook-recorded")
    said = "[...document.querySelectorAll('.bl-caption')].filter((one) => one.checkVisibility()).map((one) => one.innerText)"
    page.wait_for_function(f"{said}.length === 1 && {said}[0].includes('Head')")
    assert page.evaluate(said)[0].startswith(BADGE)
    assert page.evaluate("document.querySelector('[role=radiogroup]').ariaLabel") == "model"
    page.focus(".bl-model input:checked")
    page.keyboard.press("ArrowLeft")
    page.wait_for_function(f"{said}.length === 1 && {said}[0].startsWith('specimen Head')")
    assert page.locator(".bl-query:visible").first.inner_text() == "[CLS]"
    assert page.locator(".bl-heads:visible .bl-cell").count() == 36
    page.keyboard.press("ArrowRight")
    page.wait_for_function(f"{said}.length === 1 && {said}[0].startsWith('{BADGE} Head')")
    assert page.locator(".bl-heads:visible .bl-cell").count() == 144
    assert (
        page.errors == [] and [url for url in page.requests if not url.startswith(("file:", "data:"))] == []
    )


@pytest.mark.parametrize(("width", "height"), [(1280, 720), (1024, 768), (1920, 1080)])
def test_nothing_is_cut_off_at_the_size_of_a_slide(show, view, width, height):  # noqa: F811
    page = show(width, height, view=view)
    settled(page, f"{BADGE} {view.caption}")
    assert page.evaluate("document.documentElement.scrollWidth <= innerWidth")
    assert page.evaluate(
        "[...document.querySelectorAll('.bl-recorded-bar, .bl-recorded-body')].every((box) => box.scrollWidth <= box.clientWidth + 1)"
    )


def test_two_switches_on_one_page_stand_each_for_itself(show, recording):  # noqa: F811
    page = show(**{place: RecordedView(recording, TEXTS[:1], other="specimen") for place in ("map", "view")})
    assert page.locator(".bl-model input:checked").count() == 2
    page.locator(".map .bl-model input").first.check()
    assert page.evaluate("[models.map.get('shows'), models.view.get('shows')]") == [0, 1]
