"""An exported deck computes a new text itself, in a file, without a network, and what it shows is what Python would."""

# ruff: noqa: F811 - fixtures of another file are imported, and asked for by name
from __future__ import annotations

import shutil

import nbformat
import numpy as np
import pytest
from nbformat.v4 import new_code_cell, new_notebook

from bertlook_teach.widgets import HeadExplorer

from .conftest import ROOT
from .test_export_browser import export, open_file  # noqa: F401 - a fixture

TEXT = "Rain fell on the old roof."

DECK = """
import numpy as np
from bertlook_teach import HeadExplorer, load_encoder
from bertlook_teach.widgets import default_measures
fixed = np.arange(36.0).reshape(6, 6)
HeadExplorer(load_encoder("specimen"), "We saw the small bird.", "", {**default_measures(), "of a corpus": fixed})
"""


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """A deck with one explorer, exported, with the specimen beside it."""
    folder = tmp_path_factory.mktemp("live")
    shutil.copy(ROOT / "slides" / "rise.css", folder)
    shutil.copytree(ROOT / "slides" / "theme", folder / "theme")
    deck = new_notebook(cells=[new_code_cell(DECK, metadata={"slideshow": {"slide_type": "slide"}})])
    nbformat.write(deck, folder / "03_live.ipynb")
    export(folder / "03_live.ipynb", folder / "out")
    return folder / "out"


@pytest.fixture(scope="module")
def live(open_file, folder):
    opened = open_file(folder / "03_live.html")
    opened.wait_until_ready()
    return opened


def typed(opened, text: str, line: int = 0) -> str:
    """Type, wait for the answer, return what is said beside the box."""
    said = opened.page.locator(".bertlook-message")
    before = opened.page.evaluate("globalThis.bertlookAnswers ?? 0")
    box = opened.page.locator(".bertlook-textbox input[type=text]").nth(line)
    box.fill(text)
    box.press("Enter")
    opened.wait(f"(globalThis.bertlookAnswers ?? 0) > {before}")
    return said.inner_text()


def shown(opened) -> list[str]:
    views = opened.page.locator(".bertlook-views [aria-live='polite']")
    return [text for text in views.all_inner_texts() if text]


def test_what_it_shows_of_a_new_text_is_what_python_shows(live, specimen):
    expected = HeadExplorer(specimen, TEXT, layer=0, head=0)
    assert typed(live, TEXT) == ""
    drawn = shown(live)
    assert any(expected.head_view.sentence in text for text in drawn), drawn
    assert any("Head 1-1: 0.882" in text for text in drawn) and expected.head_map.value == pytest.approx(
        0.882, abs=5e-4
    )


def test_every_number_of_map_and_view_is_pythons(live, specimen):
    from bertlook_teach import extract_attention
    from bertlook_teach.measures import value_norms
    from bertlook_teach.model import output_projection
    from bertlook_teach.widgets import default_measures

    for text, pair in (
        (TEXT, None),
        ("The cat sat on the mat.", "It slept there all day, unbelievably."),
        (
            "Na\u00efve caf\u00e9s, nai\u0308ve CAFE\u0301! \u4e2d\u6587 don't \ud55c\uae00 x\u200by [MASK] 😀 e\u0301\u0323.",
            None,
        ),
    ):
        attention = extract_attention(specimen, text, pair, vectors=True)
        asked = """async ([text, pair]) => {
          const bytes = Uint8Array.from(atob(bertlookSpecimenData), (one) => one.charCodeAt(0)).buffer;
          const model = bertlookSpecimen.open(bytes), run = model.run(text, pair, { norms: true });
          const { MEASURES, mapTraits, viewTraits } = bertlookSpecimenViews, names = Object.keys(MEASURES);
          const map = mapTraits(run, names, [6, 6]), view = viewTraits(run, [6, 6]);
          const list = (data, kind) => [...new kind(data.buffer)];
          return { names, ranges: map.ranges, map: list(map.data, Float32Array), view: list(view.data, Uint16Array), norms: list(view.norms, Float32Array), texts: view.texts };
        }"""
        found = live.page.evaluate(asked, [text, pair])
        explorer = HeadExplorer(specimen, text, pair)
        assert found["names"] == list(default_measures()) == explorer.head_map.measures
        n = len(attention.tokens)
        weights = np.reshape(found["view"], (6, 6, n, n)) / 65535
        assert np.abs(weights - attention.weights).max() < 2e-5
        values = np.stack([measure(attention) for measure in default_measures().values()])
        assert np.abs(np.reshape(found["map"], values.shape) - values).max() < 1e-4
        assert np.allclose(found["ranges"], explorer.head_map.ranges, atol=1e-4)
        norms = value_norms(attention, output_projection(specimen))
        assert np.allclose(np.reshape(found["norms"], norms.shape), norms, rtol=1e-3)
        assert found["texts"] == explorer.head_view.texts


def test_a_second_text_is_read_and_a_measure_of_a_corpus_stays(live, specimen):
    assert typed(live, "The cat sat.") == "" and typed(live, "It slept.", 1) == ""
    tokens = live.page.locator(".bertlook-views .bl-query").all_inner_texts()
    assert [token for token in tokens if token.strip()].count("[SEP]") == 2
    live.page.locator(".bertlook-views select").first.select_option(label="of a corpus")
    assert any("0.000" in text for text in shown(live)), shown(live)
    assert typed(live, "", 1) == "" and typed(live, TEXT) == ""
    assert any("of a corpus" in text or "0.000" in text for text in shown(live))
    live.page.locator(".bertlook-views select").first.select_option(index=0)


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("", "The text is empty"),
        (" \t ", "The text is empty"),
        ("\u0007\u0000", "Nothing is left"),
        ("a " * 300, "The model reads 128 wordpieces at most; the rest was cut."),
        ("x" * 100_000, "The tokenizer knows nothing"),
        ("<b onclick=alert(1)>x</b> naïve 😀 שלום", ""),
    ],
)
def test_texts_that_are_none(live, text, said):
    found = typed(live, text)
    assert found.startswith(said) if said else found == ""
    assert not live.errors


def test_where_the_specimen_is_missing_or_another_one_it_says_so_and_the_rest_works(
    open_file, folder, tmp_path
):
    shutil.copy(folder / "03_live.html", tmp_path)
    weights = (folder / "specimen.js").read_text()
    for text, said in (
        (
            None,
            "specimen.js, with which this file computes a new text, is not beside it. Open the deck itself: bertlook present 03",
        ),
        (weights[: len(weights) // 2] + '";', "was cut short"),
        ('globalThis.bertlookSpecimenData = "bm8gbW9kZWwgYXQgYWxs";', "specimen"),
    ):
        if text is not None:
            (tmp_path / "specimen.js").write_text(text)
        opened = open_file(tmp_path / "03_live.html")
        opened.wait_until_ready()
        before = shown(opened)
        found = typed(opened, TEXT)
        assert (
            said in found
            and found.endswith("The picture still shows the last text.")
            and shown(opened) == before
        )
        opened.page.locator(".bertlook-views [tabindex='0']").first.focus()
        opened.press("ArrowDown")
        assert shown(opened) != before


def test_without_workers_the_page_computes_itself(open_file, folder):
    opened = open_file(folder / "03_live.html")
    opened.wait_until_ready()
    opened.page.evaluate("delete globalThis.Worker; globalThis.Worker = undefined")
    assert typed(opened, TEXT) == "" and any("rain" in text for text in shown(opened))


def test_one_file_holds_everything_and_a_deck_without_weights_says_so(open_file, folder, tmp_path):
    source = folder.parent / "03_live.ipynb"
    page = export(source, tmp_path / "one", "--single-file")
    assert [path.name for path in page.parent.iterdir()] == [page.name] and page.stat().st_size < 14_000_000
    opened = open_file(page)
    opened.wait_until_ready()
    assert typed(opened, TEXT) == "" and any("rain" in text for text in shown(opened))
    page = export(source, tmp_path / "none", "--no-weights")
    assert [path.name for path in page.parent.iterdir()] == [page.name] and page.stat().st_size < 2_000_000
    opened = open_file(page)
    opened.wait_until_ready()
    line = opened.page.locator(".bertlook-textbox input[type=text]").first
    assert line.evaluate("node => node.readOnly") and opened.page.locator(".bertlook-needs-jupyter").count()
