"""Slides in jupyterlab-rise (through our labextension) and in classic RISE: widgets are alive, and looks are chosen and legible."""

from __future__ import annotations

import shutil
from pathlib import Path

import nbformat
import pytest
from nbformat.v4 import new_code_cell, new_markdown_cell

from bertlook_course.syllabus import route_copy
from bertlook_teach.views.drawing import palette

from .conftest import HANGS_AFTER, ROOT, make_deck, until_equal

SLIDER = """\
slider = widgets.IntSlider(value=3, max=20)
answer = widgets.HTML()

def square(change=None):
    answer.value = f"<b id=answer>{slider.value} squared is {slider.value ** 2}</b>"

slider.observe(square, "value")
square()
widgets.VBox([slider, answer, widgets.Text(description="a text")])
"""

COUNTER = '''\
class Counter(anywidget.AnyWidget):
    """Counts in the browser, doubles in the kernel."""

    _esm = """
    export default { render({ model, el }) {
      const button = document.createElement("button");
      button.id = "counter";
      const show = () => { button.textContent = `${model.get("count")} doubled is ${model.get("double")}`; };
      const add = (step) => { model.set("count", model.get("count") + step); model.save_changes(); };
      button.addEventListener("click", () => add(1));
      button.addEventListener("keydown", (event) => { if (event.key === "ArrowUp") add(10); });
      model.on("change:double", show);
      show();
      el.append(button);
    } };
    """
    count = traitlets.Int(0).tag(sync=True)
    double = traitlets.Int(0).tag(sync=True)

    @traitlets.observe("count")
    def _double(self, change):
        self.double = 2 * self.count

Counter()
'''


def trial_deck(**rise):
    """Five slides: a title, a slider, an anywidget, a plain cell, the end; and a set-up cell before them."""
    set_up = "import ipywidgets as widgets\nimport anywidget, traitlets"
    cells = [
        (new_code_cell(set_up, metadata={"tags": ["init"]}), "skip"),
        (new_markdown_cell("# A trial"), "slide"),
        (new_code_cell(SLIDER), "slide"),
        (new_code_cell(COUNTER), "slide"),
        (new_code_cell("'the plain ' + 'cell has run'"), "slide"),
        (new_markdown_cell("# The end"), "slide"),
    ]
    return make_deck(cells, **rise)


@pytest.fixture(scope="module")
def folder(trial_folder):
    """A folder with the real theme."""
    shutil.copy(ROOT / "slides" / "rise.css", trial_folder)
    shutil.copytree(ROOT / "slides" / "theme", trial_folder / "theme")
    return trial_folder


def save(deck, folder, name):
    path = folder / name
    nbformat.write(deck, path)
    return path


@pytest.fixture(scope="module")
def trial(folder):
    return save(trial_deck(autorun=True, look="dark", footer="the footer"), folder, "trial.ipynb")


@pytest.fixture(scope="module", params=[False, True], ids=["rise", "classic"])
def live(request, open_deck, trial):
    """The trial deck, alive, in both RISEs. The tests share it: each goes to the slide it needs and sets what it changes."""
    deck = open_deck(trial, classic=request.param)
    deck.page.wait_for_selector("section section.present", state="attached")
    deck.classic = request.param
    return deck


def answer(deck):
    return deck.page.locator("#answer").first


def expect(deck, locator, text):
    """Wait until a locator shows a text."""
    locator.filter(has_text=text).wait_for(state="attached")


def set_slider(deck, value):
    """Put the slider to a value with its own keys, and leave the focus on it."""
    deck.go("1-0")
    deck.page.locator(".noUi-handle").focus()
    deck.press("Home", *["ArrowRight"] * value)
    expect(deck, answer(deck), f"{value} squared is {value**2}")


def test_the_deck_opens_on_its_first_slide_with_live_widgets(live):
    assert live.slide == "0-0"
    assert live.page.locator(".noUi-handle").count() == 1
    expect(live, answer(live), "3 squared is 9")
    live.press("Space")
    assert live.slide == "1-0"
    live.page.locator(".noUi-handle").wait_for()
    live.page.locator(".noUi-handle").focus()
    live.press("ArrowRight", "ArrowRight")
    expect(live, answer(live), "5 squared is 25")  # computed by the kernel
    live.screenshot(f"trial-slider-{'classic' if live.classic else 'rise'}")


def test_keys_stay_in_the_slider(live):
    set_slider(live, 3)
    live.press("ArrowRight", "ArrowUp", "ArrowLeft", "ArrowDown", "ArrowRight")
    expect(live, answer(live), "4 squared is 16")
    assert live.slide == "1-0"


def test_an_anywidget_lives_and_keeps_its_keys(live):
    live.go("2-0")
    counter = live.page.locator("#counter")
    counter.click()
    expect(live, counter, "1 doubled is 2")
    live.press("ArrowUp", "ArrowUp")
    expect(live, counter, "21 doubled is 42")
    assert live.slide == "2-0"


def test_the_remote_control_turns_slides_even_from_a_widget(live):
    set_slider(live, 2)
    live.press("PageDown")
    assert live.slide == "2-0"
    live.press("PageUp")
    assert live.slide == "1-0"
    expect(live, answer(live), "2 squared is 4")  # a slider by itself would have jumped


def test_escape_gives_the_keys_back_to_the_deck(live):
    set_slider(live, 1)
    live.press("Escape", "Space")
    assert live.slide == "2-0"


def test_what_is_typed_into_a_text_box_is_no_command(live):
    live.go("1-0")
    box = live.page.locator("section.present input[type=text]").last
    box.click()
    live.page.keyboard.type("what a bad dog, said b and w.")
    assert box.input_value() == "what a bad dog, said b and w."
    assert live.slide == "1-0"


def test_nothing_is_asked_of_another_computer_and_nothing_goes_wrong(live):
    for slide in ("0-0", "1-0", "2-0", "3-0", "4-0"):
        live.go(slide)
    live.page.wait_for_timeout(1000)
    assert live.foreign == [] and live.errors == []


def test_opened_again_the_deck_comes_to_life_again_and_listens_to_keys_without_a_click(open_deck, trial):
    deck = open_deck(trial)  # the kernel of an earlier opening is still running
    expect(deck, answer(deck), "3 squared is 9")
    deck.press("End")
    assert deck.slide == "4-0"
    deck.press("Home")
    assert deck.slide == "0-0"
    deck.press("w")
    assert "overview" in deck.page.locator(".reveal").first.get_attribute("class")


def test_running_the_deck_does_not_write_to_its_file(live, trial):
    assert '"execution_count": null' in trial.read_text()  # as it was made
    if live.classic:  # jupyterlab-rise has no autosave
        assert live.page.evaluate("Jupyter.notebook.autosave_interval") == 0


# ---- looks ---------------------------------------------------------------------------------------------------------

# Text and the ground it stands on, as the browser has them; a sheet's ground is the nearest one with a colour.
GROUNDS = """() => {
  const rgb = (colour) => colour.match(/[\\d.]+/g).map(Number);
  const ground = (node) => {
    for (; node; node = node.parentElement) {
      const colour = getComputedStyle(node).backgroundColor;
      if (rgb(colour)[3] !== 0) return colour;
    }
    return 'rgb(255, 255, 255)';
  };
  const found = [];
  const walker = document.createTreeWalker(document.querySelector('section section.present'), NodeFilter.SHOW_TEXT);
  while (walker.nextNode()) {
    const owner = walker.currentNode.parentElement;
    if (!walker.currentNode.textContent.trim() || !owner.checkVisibility({ opacityProperty: true, visibilityProperty: true })) continue;
    if (owner.closest('button, select, input, .widget-readout')) continue; // drawn by the browser
    found.push([walker.currentNode.textContent.trim().slice(0, 30), getComputedStyle(owner).color, ground(owner)]);
  }
  return found;
}"""


def hexadecimal(colour: str) -> str:
    numbers = [float(part) for part in colour.partition("(")[2].rstrip(")").replace(",", " ").split()[:3]]
    return "#" + "".join(f"{round(number):02x}" for number in numbers)


def look(deck) -> str:
    """The look the page wears, "" for none."""
    return deck.page.evaluate(
        "[...document.body.classList].filter((n) => ['bertlook-dark', 'bertlook-projector'].includes(n)).join()"
    ).removeprefix("bertlook-")


def legible(deck) -> list[str]:
    """Texts of the slide in view with less contrast than 4.5."""
    return [
        f"{text}: {ink} on {ground}"
        for text, ink, ground in deck.page.evaluate(GROUNDS)
        if palette.contrast(hexadecimal(ink), hexadecimal(ground)) < 4.5
    ]


def test_the_metadata_choose_the_look_and_all_text_can_be_read(live):
    assert look(live) == "dark"
    ground = live.page.evaluate("getComputedStyle(document.body).backgroundColor")
    assert palette.relative_luminance(hexadecimal(ground)) < 0.02
    for slide in ("0-0", "1-0", "3-0", "4-0"):
        live.go(slide)
        assert legible(live) == []
        live.screenshot(f"look-dark-{'classic' if live.classic else 'rise'}-{slide}")


def test_d_goes_through_the_looks_and_deletes_no_cell(live):
    live.go("0-0")
    cells = live.page.locator(".cell, .jp-Cell").count()
    place = "document.querySelector('section section.present h1').getBoundingClientRect().toJSON()"
    live.page.locator("section section.present h1").first.click()
    worn, places = [], []
    for _ in range(3):
        worn.append(look(live))
        places.append(live.page.evaluate(place))
        live.press("d")
    assert worn == ["dark", "projector", ""] and look(live) == "dark"
    assert places[0] == places[1] == places[2]
    live.press("d", "d", "d")
    assert live.page.locator(".cell, .jp-Cell").count() == cells


def test_d_typed_into_a_field_stays_a_letter(live):
    live.go("1-0")
    field = live.page.locator("section.present input[type='text']").first
    field.click()
    field.fill("")
    live.page.keyboard.type("dd")
    assert field.input_value() == "dd" and look(live) == "dark"
    live.press("Escape")


def test_the_address_is_stronger_than_the_metadata(live, open_deck, trial):
    again = open_deck(trial, classic=live.classic, query="?run=none&look=projector")
    assert look(again) == "projector"
    if not live.classic:
        prompts = again.page.locator(".jp-CodeCell .jp-InputPrompt").all_text_contents()
        assert prompts == ["[ ]:"] * 4  # none has run
    assert again.foreign == [] and again.errors == []


# ---- which cells run, and other applications ----------------------------------------------------------------------


@pytest.mark.parametrize(
    ("rise", "query", "has_run"),
    [
        ({}, "", []),
        ({"autorun": "init"}, "", ["import"]),
        ({}, "?run=all", ["import", "slider", "Counter", "plain"]),
    ],
    ids=str,
)
def test_which_cells_run(open_deck, folder, rise, query, has_run):
    name = "which-" + "-".join(f"{key}-{value}" for key, value in rise.items()) + f"-{query.strip('?')}.ipynb"
    deck = open_deck(save(trial_deck(**rise), folder, name), query=query)
    prompts = deck.page.locator(".jp-CodeCell .jp-InputPrompt").all_text_contents()
    words = ["import", "slider", "Counter", "plain"]
    assert [word for word, prompt in zip(words, prompts, strict=True) if prompt != "[ ]:"] == has_run


def test_a_cell_that_fails_is_said_and_the_others_run(open_page, folder):
    deck = trial_deck(autorun=True)
    deck.cells[2].source = "1 / 0"
    page = open_page("rise", save(deck, folder, "failing.ipynb"))
    page.page.wait_for_selector("body.bertlook-failed", state="attached")
    assert "a cell failed" in page.page.locator("#bertlook-status").inner_text()
    assert any("ZeroDivisionError" in error for error in page.errors)
    assert page.page.get_by_text("the plain cell has run").count() == 1


def test_a_cell_that_should_fail_is_no_failure(open_deck, folder):
    deck = trial_deck(autorun=True)
    deck.cells[2] = new_code_cell(
        "1 / 0", metadata={"tags": ["raises-exception"], "slideshow": {"slide_type": "slide"}}
    )
    open_deck(save(deck, folder, "raising.ipynb"))


def test_the_speaker_window_does_not_run_the_deck(open_page, trial):
    page = open_page("rise", trial, "?receiver").page
    page.wait_for_selector(".reveal.ready", state="attached")
    page.wait_for_timeout(3000)
    assert page.locator("#bertlook-status").count() == 0
    assert "bertlook" not in page.locator("body").get_attribute("class")


def test_plain_jupyterlab_is_left_alone(open_page, trial):
    page = open_page("lab/tree", trial).page
    page.wait_for_selector(".jp-NotebookPanel .jp-CodeCell", state="attached")
    page.wait_for_timeout(2000)
    assert page.locator("#bertlook-status").count() == 0
    assert page.locator(".jp-OutputArea-output").count() == 0


def test_without_our_extension_no_widget_would_show(browser, server, trial):
    """Guards the tests above: should this fail, jupyterlab-rise has mended itself and the stand-in module may go."""
    page = browser.new_context().new_page()
    page.set_default_timeout(HANGS_AFTER)
    page.route("**/bertlook-rise/**", lambda route: route.abort())
    page.goto(server.address(f"rise/{trial.relative_to(ROOT).as_posix()}"))
    page.wait_for_selector(".reveal.ready", state="attached")
    page.evaluate("document.querySelector('.jp-Notebook').focus()")
    page.keyboard.press("Space")
    page.wait_for_timeout(3000)
    assert page.locator(".noUi-handle").count() == 0
    page.context.close()


def test_classic_rise_always_has_the_settings_of_the_deck(open_page, folder):
    """RISE by itself looks for them before the notebook is loaded, and then asks the network for another theme's fonts."""
    deck = trial_deck(footer="the footer", slideNumber="c/t")
    deck.cells[2].metadata["jupyter"] = {"source_hidden": True}
    settings = save(deck, folder, "settings.ipynb")
    for _ in range(3):
        opened = open_page("nbclassic/notebooks", settings)
        opened.wait_until_ready()
        opened.page.wait_for_selector("section section.present", state="attached")
        assert opened.page.locator("#rise-footer").inner_text() == "the footer"
        assert opened.page.locator(".slide-number").inner_text() == "1/5"
        assert opened.page.locator(".bertlook-source-hidden").count() == 1
        assert opened.foreign == []
        opened.page.close()


@pytest.mark.parametrize("classic", [False, True], ids=["rise", "classic"])
def test_a_route_is_played_to_its_end_and_its_slides_keep_their_numbers(open_deck, folder, classic):
    """Slides, notes and the teaching guide name a slide by its number in the whole deck."""
    kinds = ["slide", "slide", "fragment", "slide", "subslide", "slide", "slide"]
    deck = make_deck(
        [(new_markdown_cell(f"# Cell {place}"), kind) for place, kind in enumerate(kinds)], slideNumber="c/t"
    )
    for place in (1, 4, 5):
        deck.cells[place].metadata["tags"] = ["route-20"]
    save(deck, folder, "routes.ipynb")
    seen = []
    with route_copy(folder, Path("routes.ipynb"), 20) as copy:
        opened = open_deck(folder / copy, classic=classic)
        opened.page.wait_for_selector("section section.present", state="attached")
        for _ in range(5):  # one more than there is to see
            shown = "[...document.querySelectorAll('section.present > section.present h1:not(.fragment:not(.visible) h1)')]"  # what is hidden fades away
            heading = opened.ask(
                f"{shown}.filter((one) => one.checkVisibility({{visibilityProperty: true}})).at(-1).textContent"
            )
            seen.append(
                (heading.strip("¶"), "".join(opened.page.locator(".slide-number").inner_text().split()))
            )
            opened.press("Space")
        opened.page.close()
    assert seen == [
        ("Cell 1", "2/6"),
        ("Cell 2", "2/6"),
        ("Cell 4", "4/6"),
        ("Cell 5", "5/6"),
        ("Cell 5", "5/6"),
    ]


@pytest.mark.parametrize("classic", [False, True], ids=["rise", "classic"])
def test_the_speakers_window_follows_a_route_and_shows_notes_as_text(open_deck, folder, classic):
    texts = ["# One", "**Say.** *Aloud*.", "# Two", "# Three", "# Four"]
    kinds = ["slide", "notes", "slide", "slide", "slide"]
    deck = make_deck([(new_markdown_cell(text), kind) for text, kind in zip(texts, kinds)], slideNumber="c/t")
    for place in (0, 3):
        deck.cells[place].metadata["tags"] = ["route-20"]
    save(deck, folder, "spoken.ipynb")
    with route_copy(folder, Path("spoken.ipynb"), 20) as copy:
        opened = open_deck(folder / copy, classic=classic)
        opened.page.wait_for_selector("section section.present", state="attached")
        with opened.page.context.expect_page() as window:
            opened.press("t")
        speaker = window.value
        heading = "document.querySelectorAll('iframe')[{}].contentDocument.querySelector('section.present > section.present h1')"
        opened.wait(f"{heading.format(1)}?.textContent.includes('Three')", speaker)
        number = "document.getElementById('number').textContent.replaceAll(' ', '')"
        assert "One" in speaker.evaluate(f"{heading.format(0)}.textContent")
        assert speaker.evaluate(number) == "1/4" and opened.slide == "0-0"
        assert speaker.locator("#notes strong").inner_text() == "Say."
        assert speaker.locator("#notes").inner_text().strip() == "Say. Aloud."
        where = "one => { const box = one.getBoundingClientRect(); return [box.x, box.y, box.width, box.height].map(Math.round); }"
        room, seen = until_equal(  # both may still be moving to the slide
            opened.page,
            lambda: opened.ask(f"({where})(document.querySelector('section.present > section.present h1'))"),
            lambda: speaker.evaluate(f"({where})({heading.format(0)})"),
        )
        assert room[2] and room == seen
        speaker.keyboard.press("PageDown")
        opened.wait(f"{number} === '3/4'", speaker)
        assert speaker.locator("#next").inner_text() == "The last slide"
        speaker.close()
        opened.page.close()


def test_in_classic_rise_a_widget_that_was_not_drawn_is_asked_for_again(browser, server, trial):
    """As on a busy computer, where the manager of the widgets misses what the first cell opens: its place stays empty."""
    page = browser.new_context().new_page()
    page.set_default_timeout(HANGS_AFTER)
    page.add_init_script(
        """let first = null;
        new MutationObserver(() => {
          const view = first ?? document.querySelector(".jupyter-widgets-view");
          first = view;
          view?.replaceChildren();
        }).observe(document, { childList: true, subtree: true });"""
    )
    page.goto(server.address(f"nbclassic/notebooks/{trial.relative_to(ROOT).as_posix()}"))
    page.wait_for_selector("body.bertlook-ready", state="attached")
    assert page.locator(".noUi-handle").count() == 1
    page.context.close()


def test_in_classic_rise_a_manager_that_is_ready_late_takes_no_widget_away(open_deck, trial):
    """Once it has asked the kernel what was there before, which takes seconds on a busy computer, it draws anew all cells with widgets;
    views that stand already go away with that, and do not come back."""
    page = open_deck(trial, classic=True).page
    assert page.locator(".noUi-handle").count() == 1
    page.evaluate(
        "Jupyter.notebook.get_cells().filter((cell) => cell.output_area).forEach((cell) => Jupyter.notebook.render_cell_output(cell))"
    )
    page.wait_for_timeout(500)
    assert page.locator(".noUi-handle").count() == 1
    page.close()


@pytest.mark.parametrize("classic", [False, True], ids=["rise", "classic"])
def test_a_deck_without_a_style_sheet_beside_it_gets_the_theme_by_a_line_of_its_metadata(
    open_deck, folder, classic
):
    elsewhere = folder / "elsewhere"
    elsewhere.mkdir(exist_ok=True)
    papers = []
    for name, settings in [("plain", {}), ("dressed", {"stylesheet": "bertlook"})]:
        opened = open_deck(
            save(
                make_deck([(new_markdown_cell("# A title"), "slide")], **settings), elsewhere, f"{name}.ipynb"
            ),
            classic=classic,
        )
        paper = "getComputedStyle(document.body).getPropertyValue('--slide-paper').trim()"
        if settings:
            opened.wait(f"{paper} === '#fdfcf9'")
        papers.append(opened.page.evaluate(paper))
        assert opened.foreign == [] and opened.errors == []
        opened.page.close()
    assert papers == ["", "#fdfcf9"]


@pytest.mark.parametrize("classic", [False, True], ids=["rise", "classic"])
def test_a_part_of_a_picture_opens_its_slide_by_click_and_by_enter(open_deck, folder, classic):
    door = '<svg width="200" height="80"><g data-opens="{}"><rect width="200" height="80"/></g></svg>'
    cells = [(new_code_cell("from IPython.display import HTML", metadata={"tags": ["init"]}), "skip")]
    for title, opens in (("First", "Third"), ("Second", "no such title"), ("Third", "Second")):
        cells += [
            (new_markdown_cell(f"## {title} slide"), "slide"),
            (new_code_cell(f"HTML('{door.format(opens)}')"), "-"),
        ]
    opened = open_deck(save(make_deck(cells, autorun=True), folder, "doors.ipynb"), classic=classic)
    part = opened.page.locator("section.present > section.present [data-opens]")

    def stands_on(slide):
        return until_equal(opened.page, lambda: opened.slide, lambda: slide) == [slide, slide]

    assert stands_on("0-0")
    part.click()
    assert stands_on("2-0")
    opened.page.wait_for_selector("section.present > section.present [data-opens][tabindex]")
    part.focus()
    opened.page.keyboard.press("Enter")
    assert stands_on("1-0")
    part.click()  # leads nowhere
    opened.page.keyboard.press("PageUp")
    assert stands_on("0-0") and opened.errors == []
    opened.page.close()
