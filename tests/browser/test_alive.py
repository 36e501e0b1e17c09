"""Every view that no deck's walk uses to the end, alive: on slides in both RISEs, and in JupyterLab, all in one notebook."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import nbformat
import pytest
from nbformat.v4 import new_code_cell, new_markdown_cell, new_output

from bertlook_course.widgets import NeuronView
from bertlook_press.bertviz import bertviz_head_view

from . import test_bertviz_browser as bertviz
from .conftest import ROOT, make_deck

PDF = b"""%PDF-1.4
1 0 obj <</Type /Catalog /Pages 2 0 R>> endobj
2 0 obj <</Type /Pages /Kids [3 0 R 4 0 R] /Count 2>> endobj
3 0 obj <</Type /Page /Parent 2 0 R /MediaBox [0 0 200 300]>> endobj
4 0 obj <</Type /Page /Parent 2 0 R /MediaBox [0 0 200 300]>> endobj
trailer <</Root 1 0 R>>
%%EOF
"""

# The browser remembers where it left a paper, and both slideshows are shown by one browser.
FORGET_PAGES = "Object.keys(localStorage).filter((key) => key.startsWith('bertlook-paper:')).forEach((key) => localStorage.removeItem(key))"
# The policy lets no script fetch a blob, so a test that reads one notes it where it is made.
KEEP_BLOBS = """() => {
  window.keptBlobs = {};
  const make = URL.createObjectURL;
  URL.createObjectURL = (blob) => {
    const address = make.call(URL, blob);
    window.keptBlobs[address] = blob;
    return address;
  };
}"""

SET_UP = f"""{bertviz.SET_UP}
import os
from bertlook_teach import load_encoder
from bertlook_course.syllabus import PAPERS
from bertlook_course.corpora import load_treebank
from bertlook_course.analyses.patterns import word_maps
from bertlook_teach.views import HeadMap, link_heads
from bertlook_course.widgets import SixLenses
from bertlook_course.widgets import AblationBench
from bertlook_course.widgets import PaperPage
from bertlook_course.widgets import PatternView
from bertlook_teach.views import SideBySide
from bertlook_course.widgets import WeightedText

specimen = load_encoder("specimen")
lenses = SixLenses(specimen, "We saw birds.")
head_map = HeadMap(np.zeros((specimen.n_layers, specimen.n_heads)))
_ = link_heads(head_map, lenses)
words = "salt marsh plants stop the waves of the sea before they reach the wall".split()
scores = np.random.default_rng(0).dirichlet(np.ones(len(words)), size=(4, 6))
os.environ[PAPERS] = os.path.abspath("papers")
"""
CELLS = {
    "lenses": "lenses",
    "bench": 'AblationBench(specimen, "We saw the small birds.", twin=load_encoder("specimen-random"))',
    "two": 'SideBySide([specimen, load_encoder("specimen-random")], "We saw birds.")',
    "words": 'WeightedText(words, scores, [w in "salt marsh waves".split() for w in words], scores[0, 0], title="Marsh")',
    "paper": "PaperPage('clark2019', 'section 3.1', page=2)",
    "no paper": "PaperPage('michel2019', 'section 3.1', page=2)",
    "pattern": "PatternView(word_maps(specimen, load_treebank()[:40]))",
    **bertviz.CELLS,
}
SLIDES = {name: f"{number}-0" for number, name in enumerate(CELLS, start=1)}


def notebook(outputs=None):
    """The views, a slide each; saved with the given outputs, or none."""
    cells = [(new_code_cell(SET_UP), "skip"), (new_markdown_cell("# All alive"), "slide")]
    cells += [(new_code_cell(source), "slide") for source in CELLS.values()]
    for cell, _ in cells:
        if outputs and cell.source in outputs:
            saved = new_output("execute_result", outputs[cell.source], execution_count=1)
            cell.outputs, cell.execution_count = [saved], 1
    return make_deck(cells, autorun=True)


@pytest.fixture(scope="module")
def folder(trial_folder):
    """The notebook as it is before it has run, and with what it had saved; one of its two papers is at hand."""
    (trial_folder / "papers").mkdir()
    (trial_folder / "papers" / "clark2019.pdf").write_bytes(PDF)
    nbformat.write(notebook(), trial_folder / "views.ipynb")
    head_view, neurons = bertviz_head_view(bertviz.PAIR), NeuronView(bertviz.PAIR)
    saved = {
        CELLS["head"]: {"text/html": head_view._repr_html_(), "text/plain": "BertVizView"},
        CELLS["ours"]: {
            "text/html": neurons._repr_mimebundle_()["text/html"],
            "text/plain": "NeuronView",
        },
    }
    nbformat.write(notebook(saved), trial_folder / "saved.ipynb")
    return trial_folder


@pytest.fixture(scope="module", params=[False, True], ids=["rise", "classic"])
def slides(request, open_deck, folder):
    """The slideshow, alive, in both RISEs."""
    deck = open_deck(folder / "views.ipynb", classic=request.param)
    deck.page.wait_for_selector("section section.present", state="attached")
    deck.kind = "classic" if request.param else "rise"
    return deck


@pytest.fixture(scope="module")
def lab(open_page, folder):
    """The notebook in JupyterLab, its cells run one by one as a reader would."""
    deck = open_page("lab/tree", folder / "views.ipynb", size="hd")
    deck.page.locator(".jp-NotebookPanel .jp-CodeCell .cm-content").first.click()
    deck.page.wait_for_timeout(1500)
    for _ in range(3 + len(CELLS)):  # the first may only take away a dialogue
        deck.page.keyboard.press("Shift+Enter")
        deck.page.wait_for_timeout(400)
    deck.kind = "lab"
    return deck


# ---- how each view is used; `place` is the slide or the notebook ----------------------------------------------------


def use_lenses(deck, place):
    """Keys without the kernel, a sentence with it, and an error in words."""
    lenses = place.locator(".bertlook-lenses")
    lenses.wait_for()
    lenses.scroll_into_view_if_needed()
    said = lenses.locator(".bl-caption")
    said.filter(has_text="Head 1-1, query “").wait_for()
    lenses.locator(".bl-scroller").focus()
    deck.press("ArrowDown", "ArrowRight", "Shift+ArrowDown", "g")
    assert said.inner_text().startswith("Head 2-2, query “saw”")
    assert lenses.locator(".bl-lens-canvas").count() >= 4
    explorer = place.locator(".bertlook-explorer:has(.bertlook-lenses)")
    box = explorer.locator("input[type='text']").first
    box.fill("Rain fell.")
    deck.press("Enter")
    lenses.filter(has_text="rain").wait_for()
    assert "Head 2-2" in said.inner_text()
    type_nothing(deck, explorer)
    assert "still shows the last text" in explorer.locator(".bertlook-message").inner_text()
    deck.screenshot(f"alive-lenses-{deck.kind}")


def type_nothing(deck, explorer):
    """A blank line is refused in words; where the words never come, say how far they came."""
    from playwright.sync_api import TimeoutError

    box, message = explorer.locator("input[type='text']").first, explorer.locator(".bertlook-message")
    box.fill(" ")
    box.press("Enter")
    try:
        message.locator("[role='alert']").wait_for()
    except TimeoutError as error:
        where = deck.ask("document.activeElement.outerHTML.slice(0, 200)")
        raise AssertionError(
            f"{box.input_value()!r} is typed, {message.inner_html()!r} is said; at {where}"
        ) from error


def use_bench(deck, place):
    """A head, a layer, another word, all off, an error in words: each answered by the kernel."""
    view = place.locator(".bertlook-bench")
    view.wait_for()
    view.scroll_into_view_if_needed()
    said = view.locator(".bl-caption")

    def answered(text):
        deck.wait(
            f"""(s => s.getAttribute('aria-busy') === 'false' && s.querySelector('.bl-caption').textContent.includes({text!r}))
            (document.querySelector('.bertlook-bench'))"""
        )

    answered("Specimen: all heads on")
    view.locator(".bl-switches").focus()
    deck.press("Space")
    answered("head 1-1 off (its output is 0)")
    view.locator(".bl-switch-header[data-layer='2'][data-head='-1']").click()
    answered("7 of ")
    view.locator("select").first.select_option("uniform")
    answered("they look at all tokens equally")
    view.get_by_text("birds", exact=True).or_(view.get_by_text("small", exact=True)).first.click()
    answered("")
    view.get_by_text("all off").click()
    answered("positive control")
    view.get_by_text("all on").click()
    answered("Specimen: all heads on")
    explorer = place.locator(".bertlook-explorer:has(.bertlook-bench)")
    type_nothing(deck, explorer)
    deck.screenshot(f"alive-bench-{deck.kind}")
    assert said.get_attribute("aria-live") == "polite"


# ---- on slides -------------------------------------------------------------------------------------------------------


@pytest.fixture
def show(slides):
    """``show("lenses")`` goes to the slide of a view, and gives it; afterwards it must still be the one that is shown."""
    shown = []

    def show(name: str):
        slides.go(SLIDES[name])
        shown.append(SLIDES[name])
        return slides.page.locator("section section.present")

    yield show
    assert slides.slide == shown[-1]


def test_the_lenses_on_a_slide(slides, show):
    use_lenses(slides, show("lenses"))


def test_the_bench_on_a_slide(slides, show):
    use_bench(slides, show("bench"))


def test_two_models_on_a_slide_read_one_line_and_show_one_head(slides, show):
    slide = show("two")
    slide.locator(".bertlook-view").nth(1).wait_for()
    slide.locator(".bl-cell").nth(7).click()
    for i in range(2):
        slide.locator(".bertlook-view .bl-caption").nth(i).filter(has_text="Head 2-2").wait_for()
    slide.locator("input[type='text']").first.fill("Rain fell.")
    slides.press("Enter")
    for i in range(2):
        slide.locator(".bertlook-view").nth(i).filter(has_text="rain").wait_for()
    slides.screenshot(f"alive-two-{slides.kind}")


def test_a_weighted_text_on_a_slide(slides, show):
    slide = show("words")
    slide.locator(".bl-weighted-stage").focus()
    slides.press("ArrowRight", "ArrowDown")
    assert slide.locator(".bl-caption").inner_text().startswith("Head 2-2, weight: highest for ")
    slides.screenshot(f"alive-words-{slides.kind}")


def test_a_pattern_of_ones_own_is_scored_and_a_wrong_one_is_said_to_be_so(slides, show):
    view = show("pattern").locator(".bertlook-explorer")
    picture, box = view.locator(".bertlook-picture"), view.locator("input[type='text']")
    assert 'query.pos("DET") & key.governor()' in picture.inner_text()
    box.fill("query.pos('DET') & key.next('<b>', 'the')")
    slides.press("Enter")
    picture.filter(has_text='key.next("<b>"').wait_for()
    assert not picture.locator("b").count() and "best head" in picture.inner_text()
    slides.screenshot(f"alive-pattern-{slides.kind}")
    scored = picture.inner_text()
    for wrong, why in (
        ("query.pos('DET') & keys.next()", "keys"),
        ("query.word('zebra')", "cannot be decided"),
    ):
        box.fill(wrong)
        slides.press("Enter")
        view.locator(".bertlook-message [role='alert']", has_text=why).wait_for()
        assert picture.inner_text() == scored


def test_a_paper_is_shown_at_its_page_beside_the_slide(slides, show):
    slides.page.evaluate(FORGET_PAGES)
    line = show("paper").locator(".bertlook-paper:has(button)")
    assert "Clark et al. (2019), section 3.1" in line.inner_text()
    assert not slides.page.locator(".bertlook-paper-panel").count()
    slides.page.evaluate(KEEP_BLOBS)
    line.locator("button").press("Enter")
    panel = slides.page.locator(".bertlook-paper-panel")
    frame = panel.locator("iframe")
    frame.wait_for()
    address = frame.get_attribute("src")
    assert address.startswith("blob:http://127.0.0.1") and "#page=2&" in address
    sent = slides.page.evaluate(
        "async (address) => [...new Uint8Array(await window.keptBlobs[address].arrayBuffer())]",
        address.partition("#")[0],
    )
    assert bytes(sent) == PDF
    box = panel.bounding_box()
    assert 0.4 * 1280 < box["x"] and box["height"] < 700  # the claim stays in view, and the foot
    slides.screenshot(f"alive-paper-{slides.kind}")
    panel.locator("input").fill("1")
    panel.locator("input").press("Enter")
    assert "#page=1" in panel.locator("iframe").get_attribute("src")
    assert slides.slide == SLIDES["paper"]
    panel.locator("button").press("Escape")
    assert not panel.count()
    assert slides.page.evaluate("document.activeElement.textContent") == "show the paper"
    line.locator("button").click()
    assert "#page=1" in slides.page.locator(".bertlook-paper-panel iframe").get_attribute("src")  # remembered
    show("no paper")
    assert not panel.count()


def test_without_the_paper_its_file_is_named_to_the_teacher_and_not_projected(slides, show):
    slide = show("no paper")
    slide.locator(".bertlook-paper[title*='papers/michel2019.pdf']").wait_for()
    assert "papers/" not in slide.locator(".bertlook-paper").inner_text()
    assert not slide.locator(".bertlook-paper button").count()
    slides.screenshot(f"alive-no-paper-{slides.kind}")


def test_bertviz_and_the_neurons_on_slides(slides, show):
    page = slides.page
    views = {}
    for number, name in enumerate(bertviz.CELLS, start=1):
        show(name)
        if name != "ours":
            views = bertviz.views_of(page, number)
        page.wait_for_timeout(500)
        slides.screenshot(f"alive-{name}-{slides.kind}")
    page.locator(".bl-neuron-scroller").focus()
    before = bertviz.bars(page)
    slides.press("ArrowRight", "PageDown")
    assert bertviz.bars(page) != before and slides.slide == SLIDES["ours"]
    for name in ("head", "model", "neuron"):
        show(name)
        page.wait_for_timeout(200)
        assert views[name].evaluate("parseFloat(document.body.style.zoom)") > 0.95  # 24 px, or hardly less
    show("model")
    views["model"].locator("svg > g > rect:last-child").nth(3).click()
    assert "Layer 1, Head 1" in views["model"].locator("text.detail").first.text_content()
    show("head")
    before = bertviz.drawn(views["head"])
    views["head"].select_option("#layer", "2")
    assert bertviz.drawn(views["head"]) != before


def test_nothing_is_asked_of_another_computer_and_nothing_goes_wrong(slides):
    assert slides.foreign == []
    if slides.kind == "rise":  # the classic application has its own, older noise
        assert slides.errors == []


# ---- in JupyterLab ---------------------------------------------------------------------------------------------------


def test_the_lenses_in_jupyterlab(lab):
    use_lenses(lab, lab.page.locator(".jp-NotebookPanel"))


def test_the_lenses_in_notebook_7(open_page, folder):
    deck = open_page("notebooks", folder / "views.ipynb", size="hd")
    deck.kind = "notebook7"
    deck.page.locator(".jp-NotebookPanel .jp-CodeCell .cm-content").first.click()
    deck.page.wait_for_timeout(1500)
    for _ in range(4):  # the setup, the heading, the lenses; the first may only take away a dialogue
        deck.page.keyboard.press("Shift+Enter")
        deck.page.wait_for_timeout(400)
    use_lenses(deck, deck.page.locator(".jp-NotebookPanel"))
    assert deck.foreign == []


def test_the_bench_in_jupyterlab(lab):
    use_bench(lab, lab.page.locator(".jp-NotebookPanel"))


def test_bertviz_and_the_neurons_in_jupyterlab(lab):
    page = lab.page
    views = bertviz.views_of(page)
    for name in ("head", "model", "neuron"):
        views[name].frame_element().scroll_into_view_if_needed()
        lab.screenshot(f"alive-{name}-lab")
    bertviz.try_out(views, page)
    page.locator(".bl-neuron-table").scroll_into_view_if_needed()
    lab.screenshot("alive-ours-lab")
    assert page.locator(".bl-key-row").count() == len(bertviz.PAIR.tokens)
    assert lab.foreign == []


def test_a_notebook_not_yet_run_shows_what_it_can(open_page, folder):
    """JupyterLab takes frames out of a notebook its reader has not run; the sentence stays, and our picture."""
    deck = open_page("lab/tree", folder / "saved.ipynb")
    page = deck.page
    page.wait_for_selector(".bertlook-static img", state="attached")
    deck.screenshot("alive-saved-lab")
    assert page.locator("figure", has_text="Run this cell to see the view").count() == 1
    assert "BertViz's head view" in page.locator("figcaption").first.inner_text()
    assert page.evaluate("document.querySelector('.bertlook-static img').naturalWidth") > 900
    assert deck.foreign == []


def widths_of_pictures(page, place: Path) -> list[int]:
    """Of a page without a network: the pictures that can be decoded, 0 for one that cannot."""
    page.goto(place.as_uri(), wait_until="domcontentloaded")
    return page.evaluate(
        "Promise.all([...document.images].map((one) => one.decode().then(() => one.naturalWidth, () => 0)))"
    )


def test_a_deck_that_nbconvert_wrote_shows_its_pictures_without_network(blank, tmp_path):
    from nbconvert import HTMLExporter

    body, _ = HTMLExporter().from_filename(str(ROOT / "slides" / "03_where_heads_look.ipynb"))
    (tmp_path / "deck.html").write_text(body, encoding="utf-8")
    widths = widths_of_pictures(blank(offline=True), tmp_path / "deck.html")
    assert len(widths) >= 8 and min(widths) > 300


def test_a_strangers_notebook_shows_pictures_where_its_widgets_state_is_left_out(blank, tmp_path):
    """As docs/hosts.md says: with the state nbconvert writes scripts that ask a CDN in place of our pictures."""
    source = "from bertlook_teach import HeadView, extract_attention, load_encoder\n"
    source += "HeadView(extract_attention(load_encoder('specimen'), 'The cat saw a bird.'))"
    nbformat.write(make_deck([(new_code_cell(source), "slide")]), tmp_path / "fresh.ipynb")

    def converted(*words: str) -> None:
        command = [sys.executable, "-m", "nbconvert", "--output-dir", str(tmp_path), *words]
        subprocess.run(command, cwd=tmp_path, check=True, capture_output=True, timeout=180)

    converted("--to", "notebook", "--execute", "--output", "saved", "fresh.ipynb")
    assert "widgets" in nbformat.read(tmp_path / "saved.ipynb", as_version=4).metadata
    converted("--to", "html", "--output", "blank", "saved.ipynb")
    converted("--to", "html", "--ClearMetadataPreprocessor.enabled=True", "--output", "shown", "saved.ipynb")
    page = blank(offline=True)
    assert widths_of_pictures(page, tmp_path / "blank.html") == []
    assert [width > 300 for width in widths_of_pictures(page, tmp_path / "shown.html")] == [True]
    assert "Head 1-1" in page.inner_text("body")
