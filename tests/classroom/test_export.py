"""A deck as one file: what is in it, what is never in it, and what is said when it cannot be made."""

import copy
import itertools
import json
import random
import re
import uuid
from html import escape
from html.parser import HTMLParser
from pathlib import Path
from types import SimpleNamespace

import ipywidgets
import nbformat
import numpy as np
import pytest
from nbformat.v4 import new_code_cell, new_markdown_cell, new_notebook, new_output

from bertlook_bench import line as cli
from bertlook_course.syllabus import deck_routes, find_root
from bertlook_course.widgets import ArcView, DistanceMap, HeadPictures, PictureMenu
from bertlook_press.classroom import (
    STATE,
    VIEWS,
    ExportError,
    Live,
    as_script,
    as_style,
    deck_look,
    export_deck,
    live_state,
    markdown,
    page_file,
    page_links,
    present_static,
    saved_state,
    slides_of,
    static_output,
)
from bertlook_press.classroom.export import handout, reveal, runner
from bertlook_press.classroom.export import writing as command
from bertlook_press.classroom.export.deck import render_deck
from bertlook_press.classroom.export.frames import shared_frames
from bertlook_press.classroom.export.pictures import carry_pictures
from bertlook_press.pages import record
from bertlook_teach.views import HeadMap, Picture, link_traits

EVIL = ("</script><script>alert(1)</script>", '<img src=x onerror="alert(2)">', "<!-- '\"&", "אב")

SETUP = f"""\
import numpy as np
from bertlook_teach.model import Attention
from bertlook_teach.views import Picture
from bertlook_teach.views import HeadView, link_heads
from bertlook_course.widgets import PictureMenu
from bertlook_course.widgets import TextView
words = {EVIL!r}
tokens = ("[CLS]", *words, "[SEP]")
weights = np.random.default_rng(0).dirichlet(np.ones(6), size=(2, 3, 6)).astype("f4")
ids = (None, 0, 1, 2, 3, None)
attention = Attention(weights, tokens, ids, (0,) * 6, tuple(i is None for i in ids), words, " ".join(words))
svg = '<svg xmlns="http://www.w3.org/2000/svg" role="img"><title>{{0}}</title><text>{{0}}</text></svg>'
"""


def cell(source, kind="slide", **metadata):
    made = new_markdown_cell(source[2:]) if source.startswith("M ") else new_code_cell(source)
    made.metadata = {"slideshow": {"slide_type": kind}, **metadata}
    return made


def tiny_deck():
    """Six slides: text with a script in it, two views of hostile tokens, a menu of pictures, a line of text, code."""
    deck = new_notebook(
        metadata={"rise": {"footer": "tiny <deck>", "slideNumber": "c/t"}, "title": "Tiny & small"}
    )
    deck.cells = [
        cell(SETUP, "skip"),
        cell("M # A tiny deck <script>alert(3)</script> <b onclick='alert(4)'>bold</b>"),
        cell("M Said by the speaker <script>alert(5)</script>", "notes"),
        cell("first = HeadView(attention, layer=1, head=2)\nfirst"),
        cell("M comes later", "fragment"),
        cell("M comes with it", "-"),
        cell("M The last to come", "fragment"),
        cell("second = HeadView(attention)\nlinks = link_heads(first, second)\nsecond", "subslide"),
        cell(
            "PictureMenu({n: Picture([f'<text>{n}</text>'], 9, 9, n, f'This is {n}.') for n in ('one', 'two')})"
        ),
        cell(
            "TextView(lambda text, pair: f'<b>{len(text)}</b>', 'the cat')", jupyter={"source_hidden": True}
        ),
        cell("print('<b>', 1 + 1)\nlen(tokens)"),
    ]
    for number, one in enumerate(deck.cells):
        one.id = f"cell-{number}"
    return deck


@pytest.fixture(scope="module")
def executed(tmp_path_factory):
    """The tiny deck, run once."""
    said = []
    folder = tmp_path_factory.mktemp("tiny")
    deck = runner.run_deck(tiny_deck(), folder=folder, name="tiny", say=said.append)
    assert any("ran 11 cells" in line for line in said)
    return deck


def exported(notebook, folder, name="07_tiny", say=lambda line: None, **options):
    """What is made from an executed notebook."""
    path = Path(folder) / f"{name}.ipynb"
    nbformat.write(notebook, path)
    return export_deck(path, Path(folder) / "out", run=False, say=say, **options)


@pytest.fixture(scope="module")
def page(executed, tmp_path_factory):
    return exported(executed, tmp_path_factory.mktemp("page")).page.read_text("utf-8")


class Elements(HTMLParser):
    """Every element of a page, read as a browser reads it."""

    def __init__(self, text):
        super().__init__()
        self.found = []
        self.scripts = []
        self.feed(text)

    def handle_starttag(self, tag, attributes):
        self.found.append((tag, dict(attributes)))
        if tag == "script":
            self.scripts.append("")

    def handle_data(self, data):
        if self.found and self.found[-1][0] == "script":
            self.scripts[-1] += data


def data_of(page):
    found = re.search(
        r'<script type="application/json" id="bertlook-widgets">(.*?)</script>', page, re.DOTALL
    )
    return json.loads(found.group(1))


# --- the file ---------------------------------------------------------------------------------------------------------


def test_the_file_asks_nobody_for_anything(page):
    elements = Elements(page).found
    for tag, attributes in elements:
        for name in ("src", "href", "data", "poster", "action", "srcset"):
            assert attributes.get(name, "#").startswith(("#", "data:")), (tag, attributes)
        assert tag not in ("link", "object", "embed", "base")
    styles = "".join(re.findall(r"<style>(.*?)</style>", page, re.DOTALL))
    assert re.findall(r"url\((?!data:)[^)]*\)|@import", styles) == []
    policy = next(a["content"] for tag, a in elements if a.get("http-equiv") == "Content-Security-Policy")
    assert policy.startswith("default-src 'none'") and "http" not in policy


def test_tokens_that_are_markup_stay_tokens(page):
    elements = Elements(page)
    assert not [a for _, a in elements.found if any(name.startswith("on") for name in a)]
    assert len(elements.scripts) == 7  # three of data, reveal.js, the filling of slides, the start, the views
    assert (
        sum("alert(" in text for text in elements.scripts[3:]) == 1
    )  # the speaker's window, when a pop-up is refused
    assert not [a for tag, a in elements.found if tag == "img" and a.get("src") == "x"]
    texts = [m["state"]["texts"] for m in data_of(page)["models"].values() if "texts" in m["state"]]
    assert texts[0]["wordpiece"]["tokens"] == ["[CLS]", *EVIL, "[SEP]"]


def test_a_script_or_a_style_cannot_end_its_element():
    assert "</script" not in as_script('x = "</script>"; y = "</SCRIPT>"').lower()
    assert "<!--" not in as_script('x = "<!-- <script>"')
    assert "</style" not in as_style("a::after { content: '</style>' }")


def test_two_views_share_one_module(page):
    data = data_of(page)
    views = [m for m in data["models"].values() if m["kind"] == "AnyModel"]
    assert [m["module"] for m in views] == [0, 0] and len(data["modules"]) == 1
    links = [m["state"] for m in data["models"].values() if m["kind"] == "LinkModel"]
    assert sorted(link["source"][1] for link in links) == ["head", "layer"]
    assert "_esm" not in json.dumps(data["models"]) and page.count(".bl-stage canvas {") == 1


def renamed(notebook):
    """The same deck as another run would give it: other model ids, listed in another order."""
    text = json.dumps(notebook)
    state = saved_state(notebook)
    for id_ in state:
        text = text.replace(id_, uuid.uuid4().hex)
    again = nbformat.from_dict(json.loads(text))
    models = list(again.metadata.widgets[STATE].state.items())
    random.Random(1).shuffle(models)
    again.metadata.widgets[STATE].state = nbformat.from_dict(dict(models))
    return again


def test_the_same_state_gives_the_same_bytes(executed, page, tmp_path):
    assert exported(executed, tmp_path).page.read_text("utf-8") == page
    other = renamed(executed)
    assert set(saved_state(other)).isdisjoint(saved_state(executed))
    assert exported(other, tmp_path).page.read_text("utf-8") == page


def test_another_state_gives_other_bytes(executed, page, tmp_path):
    changed = copy.deepcopy(executed)
    for model in saved_state(changed).values():
        if "layer" in model["state"]:
            model["state"]["layer"] = 0
    assert exported(changed, tmp_path).page.read_text("utf-8") != page


def test_the_saved_picture_stands_where_the_view_will_be(page):
    places = re.findall(r'<div class="jp-OutputArea-output" data-model="(m\d+)">(.{40})', page, re.DOTALL)
    assert len(places) == 4
    assert all("jp-RenderedHTML" in start for _, start in places)


# --- slides -----------------------------------------------------------------------------------------------------------


def test_slides_fragments_and_notes_are_those_of_rise(executed):
    slides = slides_of(executed, static_output)
    assert [slide.name for slide in slides] == ["0-0", "1-0", "1-1", "2-0", "3-0", "4-0"]
    assert [fragment for fragment, _ in slides[1].blocks] == [None, 0, 0, 1]
    assert slides[0].notes and "Said by the speaker" in slides[0].notes[0]
    assert not slides[1].notes


def test_the_page_nests_slides_and_fragments(page):
    assert re.findall(r'<section id="slide-(\d-\d)"', page) == ["0-0", "1-0", "1-1", "2-0", "3-0", "4-0"]
    assert re.findall(r'data-fragment-index="(\d)"', page) == ["0", "1"]
    assert page.count("<section") == page.count("</section>") == 5 + 6
    assert "tiny &lt;deck&gt;" in page and "<title>Tiny &amp; small</title>" in page


def test_hidden_sources_are_left_out_and_shown_ones_are_coloured(page):
    body = page.partition("<body")[2].partition("<script")[0]
    assert "TextView(" not in body and "random.default_rng" not in body
    assert '<span class="nb">print</span>' in body
    assert "&lt;b&gt; 2" in body and "<pre>6</pre>" in body


def test_markdown_keeps_its_markup_and_loses_its_scripts():
    made = markdown(
        "**bold** <br> <span style='color: red' onclick='x()'>red</span><script>bad()</script>\n\n| a |\n|---|\n| 1 |"
    )
    assert "<strong>bold</strong>" in made and "<br>" in made and "<td>1</td>" in made
    assert "color: red" in made and "onclick" not in made and "<script" not in made


def test_the_look_of_a_deck_is_the_style_sheet_beside_it(tmp_path):
    (tmp_path / "theme").mkdir()
    (tmp_path / "theme" / "own.css").write_text("body { color: teal }")
    (tmp_path / "rise.css").write_text('@import url("theme/own.css");\nh1 { color: red }')
    assert deck_look(tmp_path) == "body { color: teal }\nh1 { color: red }"
    assert "--slide-accent" in deck_look(tmp_path / "theme")  # a deck without any wears the course's
    assert deck_look(tmp_path / "theme", "own.css") == ""
    assert "--slide-accent" in deck_look(Path(find_root()) / "slides")
    assert "--slide-accent" in deck_look(tmp_path / "theme", "bertlook")  # asked for by name
    assert deck_look(tmp_path, "bertlook").endswith("h1 { color: red }")  # and one's own goes last


# --- views without Python ---------------------------------------------------------------------------------------------


def test_the_page_knows_every_kind_of_widget_that_the_exporter_lets_through():
    script = page_file("host.js")
    for kind in VIEWS:
        assert re.search(rf"^  (async )?{kind}\b", script, re.MULTILINE), kind


def test_a_line_of_text_says_that_it_needs_the_kernel_and_the_menu_does_not(page):
    data = data_of(page)
    kinds = {data["models"][id_]["kind"] for id_ in data["silent"]}
    assert kinds == {"TextModel"}
    assert all(
        "a new text cannot be computed. Open the deck itself: bertlook present 07" in sentence
        for sentence in data["silent"].values()
    )


def test_choices_that_python_draws_were_written_down(page):
    [recording] = data_of(page)["recordings"]
    models = data_of(page)["models"]
    [[control, trait]], [[target, changed]] = recording["inputs"], recording["outputs"]
    assert (models[control]["kind"], trait) == ("ToggleButtonsModel", "index")
    assert (models[target]["kind"], changed) == ("HTMLModel", "value")
    told = [recording["values"][answer[0]] for answer in recording["answers"]]
    assert ["This is one." in told[0], "This is two." in told[1]] == [True, True]
    # The first choice was put back. Markup of a state is cleaned, which writes viewBox small, and HTML reads either.
    assert models[target]["state"]["value"].lower() == told[0].lower()


def pictures(*names):
    return {name: Picture([], 9, 9, name, name) for name in names}


def test_every_head_of_a_map_is_asked(monkeypatch):
    def draw(layer, head):
        return Picture([], 9, 9, "t", f"layer {layer}, head {head}")

    view = HeadPictures(np.arange(6.0).reshape(2, 3), draw, layer=1, head=1)
    [recording] = record([view.model_id])["recordings"]
    assert recording["inputs"] == [[view.head_map.model_id, "layer"], [view.head_map.model_id, "head"]]
    assert len(recording["rows"]) == 6
    for (layer, head), [answer] in zip(recording["rows"], recording["answers"]):
        assert recording["values"][answer] == draw(layer, head).inline()
    assert (view.head_map.layer, view.head_map.head) == (1, 1)


def test_controls_of_one_picture_are_asked_together():
    first, second = ipywidgets.Checkbox(), ipywidgets.Dropdown(options=["a", "b", "c"])
    shown = ipywidgets.HTML()

    def draw(change=None):
        shown.value = f"{first.value} {second.value}"

    for control in (first, second):
        control.observe(draw, "value")
    draw()
    box = ipywidgets.VBox([first, second, shown])
    [recording] = record([box.model_id])["recordings"]
    answers = {
        tuple(row): recording["values"][answer[0]]
        for row, answer in zip(recording["rows"], recording["answers"])
    }
    place = [name for _, name in recording["inputs"]].index("value")
    expected = {(flag, i): f"{flag} {'abc'[i]}" for flag in (False, True) for i in range(3)}
    assert {(row[place], row[1 - place]): told for row, told in answers.items()} == expected


def test_what_is_linked_in_the_page_is_not_written_down():
    a, b = HeadMap(np.zeros((2, 3))), HeadMap(np.ones((2, 3)))
    menu = ipywidgets.Dropdown(options=["1", "2"])
    links = [
        link_traits(a, "layer", b, "layer"),
        link_traits(a, "head", b, "head"),
        link_traits(a, "layer", menu, "index"),
    ]
    assert links
    found = record([ipywidgets.VBox([a, b, menu]).model_id])
    assert found["recordings"] == [] and found["silent"] == {}


def test_too_many_choices_are_not_written_down():
    sliders = [
        ipywidgets.FloatSlider(min=0, max=1, step=0.02) for _ in range(2)
    ]  # 51 values each, 2,601 together
    shown = ipywidgets.HTML()
    for slider in sliders:
        slider.observe(lambda change: setattr(shown, "value", str([s.value for s in sliders])), "value")
    assert record([ipywidgets.VBox([*sliders, shown]).model_id])["recordings"] == []
    [recording] = record([ipywidgets.VBox([sliders[0], shown]).model_id])["recordings"]
    assert len(recording["rows"]) == 51


def test_the_numbers_of_a_map_are_its_table():
    values = np.arange(6.0).reshape(2, 3)
    view = HeadMap({"share": values})
    [table] = record([view.model_id])["tables"][view.model_id]
    assert re.findall(r"<td>([\d.]+)</td>", table) == [f"{value:.3f}" for value in values.ravel()]
    assert "<caption>share</caption>" in table


def test_the_nearest_heads_of_a_map_are_its_table():
    distances = np.array([[0.0, 0.3, 0.1], [0.3, 0.0, 0.2], [0.1, 0.2, 0.0]])
    view = DistanceMap(np.eye(3)[:, :2], distances, np.array([["x", "y", "z"]]), neighbours=2, unit="nats")
    [table] = record([view.model_id])["tables"][view.model_id]
    cells = re.findall(r"<t[hd] [^>]*>(.*?)</t[hd]>", table)
    assert cells == ["nearest head", "group", "nats", "1-3", "z", "0.100", "1-2", "y", "0.300"]


def test_the_arcs_of_a_sentence_are_its_table():
    sentence = SimpleNamespace(
        words=("the", "cat", "<b>"), governors=(1, -1, 1), relations=("det", "root", "dep")
    )
    answers = np.zeros((2, 1, 2, 3), dtype=int)
    answers[0, 0, 1] = [1, 0, 0]
    view = ArcView([sentence], [answers], head=1)
    [table] = record([view.model_id])["tables"][view.model_id]
    cells = re.findall(r"<t[hd] [^>]*>(.*?)</t[hd]>", table)[5:]
    assert cells == ["the", "det", "cat", "cat", "right", "&lt;b&gt;", "dep", "cat", "the", "wrong"]


def test_a_widget_the_page_does_not_know_stays_a_picture():
    state = {
        "a": {"model_name": "VBoxModel", "state": {"children": ["IPY_MODEL_b"], "layout": "IPY_MODEL_c"}},
        "b": {"model_name": "VideoModel", "state": {}},
        "c": {"model_name": "LayoutModel", "state": {}},
    }
    live = live_state(state, ["a", "missing"])
    assert live.names == {} and live.models == {}
    assert live.static["a"] == "a Video has no view in an exported page"
    assert live.static["missing"] == "its state is not in the notebook"


# --- links ------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("link", "expected"),
    [
        ('<a href="02_b.ipynb">x</a>', '<a href="02_b.html">x</a>'),
        ('<a class="c" href="02_b.ipynb#Idea" style="s">', '<a class="c" href="02_b.html" style="s">'),
        ('<a href="03_c.ipynb">x</a>', '<a title="in the course: 03_c.ipynb">x</a>'),
        ('<a href="03_c.ipynb" title="kept">x</a>', '<a title="kept">x</a>'),
        ("<a href='../docs/glossary.md'>x</a>", '<a title="in the course: docs/glossary.md">x</a>'),
        ('<a href="../slides/02_b.ipynb">x</a>', '<a title="in the course: slides/02_b.ipynb">x</a>'),
        ('<a href="#here">x</a>', '<a href="#here">x</a>'),
        ('<a href="https://a.org/02_b.ipynb">x</a>', '<a href="https://a.org/02_b.ipynb">x</a>'),
        ('<a href="&quot;&gt;<b">x</a>', '<a title="in the course: &quot;&gt;&lt;b">x</a>'),
    ],
)
def test_a_link_leads_to_a_deck_beside_the_page_or_says_what_it_named(link, expected):
    assert page_links(link, {"02_b"}) == expected


def test_a_page_links_to_the_decks_exported_with_it_and_to_no_others(executed, tmp_path):
    linking = copy.deepcopy(executed)
    linking.cells[1].source = "# A deck\n\n[two](02_b.ipynb), [three](03_c.ipynb), [four](04_d.ipynb)"
    (tmp_path / "out").mkdir()
    (tmp_path / "out" / "04_d.html").touch()
    (tmp_path / "out" / "02_b_handout.html").touch()
    done = exported(linking, tmp_path, beside=["02_b"], handout=True)
    deck, sheet = done.page.read_text("utf-8"), done.handout.read_text("utf-8")
    assert 'href="02_b.html"' in deck and 'href="04_d.html"' in deck and "03_c.html" not in deck
    assert 'href="02_b_handout.html"' in sheet and "04_d_handout.html" not in sheet
    assert 'title="in the course: 03_c.ipynb"' in deck and 'title="in the course: 04_d.ipynb"' in sheet


# --- handout ----------------------------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def sheet(executed):
    tables = executed.metadata[runner.RECORDING]["tables"]
    return handout.render_handout(executed, title="Tiny & small", tables=tables)


def test_a_handout_is_a_page_that_can_be_read_out(sheet):
    elements = Elements(sheet).found
    assert ("html", {"lang": "en"}) in elements
    assert [tag for tag, _ in elements if tag in ("header", "nav", "main", "footer")] == [
        "header",
        "nav",
        "main",
        "footer",
    ]
    levels = [int(tag[1]) for tag, _ in elements if re.fullmatch(r"h[1-6]", tag)]
    assert levels.count(1) == 1 and levels[0] == 1
    assert all(b - a <= 1 for a, b in itertools.pairwise(levels))
    images = [attributes for tag, attributes in elements if tag == "img"]
    assert len(images) == 4 and all(image.get("alt") for image in images)
    assert all(a.get("scope") for tag, a in elements if tag == "th")
    assert not [tag for tag, _ in elements if tag in ("script", "iframe")]
    assert not [a for _, a in elements if any(name.startswith("on") for name in a)]


def test_a_handout_has_the_sentence_and_the_numbers_of_each_picture(sheet):
    assert sheet.count("<figcaption") == 4 and "This is one." in sheet and "This is two." in sheet
    assert sheet.count('class="numbers"') == 2
    assert sheet.count("query looks at key") == 2


def test_speaker_notes_are_in_a_handout_only_if_asked_for(executed, sheet):
    assert "Said by the speaker" not in sheet
    noted = handout.render_handout(executed, title="t", notes=True)
    assert '<aside aria-label="Speaker notes for A tiny deck' in noted and "Said by the speaker" in noted


def test_without_a_browser_the_handout_is_written_and_the_pdf_is_not(executed, tmp_path, monkeypatch):
    monkeypatch.setattr(handout, "find_chromium", lambda: None)
    said = []
    done = exported(executed, tmp_path, handout=True, say=said.append)
    assert done.handout.is_file() and done.pdf is None
    assert any("no PDF: no Chromium" in line and "BERTLOOK_CHROMIUM" in line for line in said)


@pytest.mark.skipif(handout.find_chromium() is None, reason="no Chromium here")
def test_a_pdf_has_a_bookmark_for_each_slide(tmp_path):
    page = tmp_path / "page.html"
    page.write_text("<!doctype html><title>t</title><h1>First</h1><p>one</p><h2>Second</h2><p>two</p>")
    handout.print_pdf(page, tmp_path / "page.pdf")
    assert b"/Outlines" in (tmp_path / "page.pdf").read_bytes()


def test_a_browser_that_does_not_print_is_named(tmp_path, monkeypatch):
    broken = tmp_path / "chromium"
    broken.write_text("#!/bin/sh\necho it broke >&2\nexit 3\n")
    broken.chmod(0o755)
    monkeypatch.setenv("BERTLOOK_CHROMIUM", str(broken))
    page = tmp_path / "page.html"
    page.write_text("<p>")
    with pytest.raises(ExportError, match=r"did not print page.html \(it broke\)"):
        handout.print_pdf(page, tmp_path / "page.pdf")


# --- what can go wrong ------------------------------------------------------------------------------------------------


def test_a_deck_that_was_not_executed_is_refused_with_an_offer(tmp_path):
    with pytest.raises(ExportError, match=r"was not executed.*Leave out --no-run, and it is run first"):
        exported(tiny_deck(), tmp_path)
    assert not list((tmp_path / "out").glob("*.html"))


def test_a_cell_that_fails_is_named(tmp_path):
    deck = new_notebook(cells=[cell("x = 1"), cell("M text"), cell("x / 0")])
    with pytest.raises(ExportError, match=r"(?s)bad: cell 3 fails.*ZeroDivisionError.*bertlook lab"):
        runner.run_deck(deck, folder=tmp_path, name="bad", say=print)


def test_a_picture_beside_the_notebook_is_carried_and_another_is_named(tmp_path):
    (tmp_path / "deck").mkdir()
    for path in ("deck/a b.png", "secret.png"):
        (tmp_path / path).write_bytes(b"PNG")
    text = "M ![a](a%20b.png) <img src='a%20b.png' alt='b'> ![c](../secret.png) ![d](nowhere.svg)"
    said = []
    done = exported(new_notebook(cells=[cell(text)]), tmp_path / "deck", say=said.append)
    sources = [
        attributes.get("src")
        for tag, attributes in Elements(done.page.read_text("utf-8")).found
        if tag == "img"
    ]
    assert sources == ["data:image/png;base64,UE5H"] * 2 + ["../secret.png", "nowhere.svg"]
    assert [line.split()[2] for line in said if "is not carried" in line] == ["../secret.png", "nowhere.svg"]


HELD = {"a b.png": {"image/png": "UE5H"}, "c.svg": {"image/png": "UE5H", "image/svg+xml": "PHN2Zy8+"}}
PNG, SVG = "data:image/png;base64,UE5H", "data:image/svg+xml;base64,PHN2Zy8+"


@pytest.mark.parametrize(
    ("text", "shown", "lost"),
    [
        # ways of Markdown
        ("![m](a.png)", [PNG], []),
        ("![m](<a b.png> 'a title (with brackets)')", [PNG], []),
        ("![m](a%20b.png)", [PNG], []),
        ("![m][one]\n\n[one]: a.png 'title'", [PNG], []),
        ("![a.png]\n\n[a.png]: ./sub/../a.png", [PNG], []),
        ("[![m](a.png)](https://example.org)", [PNG], []),
        ("![m](a.png?v=2)", [PNG], []),
        ("![m](a.svg#part)", [SVG], []),
        ("![m](odd?.png)", [PNG], []),
        ("| a |\n|---|\n| ![m](a.png) |", [PNG], []),
        ("- a\n\n      ![m](a.png)", [], []),
        ("![m](photo.webp)", ["data:image/webp;base64,V0VCUA=="], []),
        # ways of HTML
        ("<img src=a.png>", [PNG], []),
        ("x <IMG alt='>' SRC = 'a.png' width=5 />", [PNG], []),
        ("<div>\n<img\nsrc='a.png'>\n</div>", [PNG], []),
        ("<img srcset='a.png 2x, b.png 3x'>", [PNG], []),
        ("<picture><source srcset='a.avif'><img src='a.png'></picture>", [PNG], []),
        ("<picture><source srcset='a.avif 2x'></picture>", [], ["a.avif"]),
        ("<div style='background: url(\"a.png\")'>x</div>", [], ["a.png"]),
        ("<svg><image href='a.png'/></svg>", [], ["a.png"]),
        ("<object data='a.png'></object> <object data='page.html'></object>", [], ["a.png"]),
        # bytes
        ("![m](attachment:a%20b.png)", [PNG], []),
        ("<img src='attachment:a b.png'>", [PNG], []),
        ("![m](attachment:c.svg)", [SVG], []),
        ("![m](attachment:d.png)", ["attachment:d.png"], ["attachment:d.png"]),
        (f"![m]({PNG})", [PNG], []),
        ("<img src='data:image/svg+xml;utf8,<svg/>'>", [SVG], []),
        ("<img src='data:image/svg+xml,%3Csvg/%3E'>", [SVG], []),
        # what is not carried
        ("![m](https://example.org/a.png)", ["https://example.org/a.png"], ["https://example.org/a.png"]),
        ("![m](//example.org/a.png)", ["//example.org/a.png"], ["//example.org/a.png"]),
        ("![m](../secret.png) ![m](/etc/passwd)", ["../secret.png", "/etc/passwd"], ["../secret.png", "/etc/passwd"]),
        ("![m](nowhere.png)", ["nowhere.png"], ["nowhere.png"]),
        ("![m](a.tiff)", ["a.tiff"], ["a.tiff"]),
        # what is no picture
        ("```\n![m](a.png)\n```", [], []),
        ("~~~ html\n<img src='a.png'>\n~~~", [], []),
        ("    ![m](a.png)", [], []),
        ("`![m](a.png)` and `<img src='a.png'>`", [], []),
        ("<!-- <img src='nowhere.png'> -->", [], []),
        ("\\![m](a.png)", [], []),
        ("[m](a.png)", [], []),
    ],
)  # fmt: skip
def test_every_way_to_name_a_picture_is_carried_or_named_and_code_stays_code(text, shown, lost, tmp_path):
    (tmp_path / "deck").mkdir()
    for name, content in {
        "a.png": b"PNG",
        "a b.png": b"PNG",
        "odd?.png": b"PNG",
        "a.svg": b"<svg/>",
        "photo.webp": b"WEBP",
        "a.tiff": b"T",
    }.items():
        (tmp_path / "deck" / name).write_bytes(content)
    (tmp_path / "secret.png").write_bytes(b"PNG")
    notebook = new_notebook(cells=[new_markdown_cell("# One\n\n" + text, attachments=HELD)])
    said = carry_pictures(notebook, tmp_path / "deck")
    assert [line.partition(" is not carried")[0] for line in said] == lost
    [slide] = slides_of(notebook, static_output)
    found = Elements(slide.blocks[0][1]).found
    sources = [attributes.get("src") for tag, attributes in found if tag == "img"]
    assert [one for one in sources if one] == [one for one in shown if not one.startswith("attachment")]
    assert notebook.cells[0].source == "# One\n\n" + text


def test_pictures_that_outputs_name_are_carried_too(tmp_path):
    (tmp_path / "a.png").write_bytes(b"PNG")
    kinds = {
        "text/html": "<p>x</p><img src='a.png'> <img src='b.png'>",
        "text/markdown": "![m](a.png) ![m](c.png)",
        "image/svg+xml": "<svg><image href='d.png'/></svg>",
    }
    outputs = [new_output("display_data", {kind: text}) for kind, text in kinds.items()]
    notebook = new_notebook(cells=[new_code_cell("show()", outputs=outputs)])
    said = carry_pictures(notebook, tmp_path)
    assert [line.split()[0] for line in said] == ["b.png", "c.png", "d.png"]
    shown = "".join(map(static_output, notebook.cells[0].outputs))
    assert [one.get("src") for tag, one in Elements(shown).found if tag == "img"] == [
        PNG,
        "b.png",
        PNG,
        "c.png",
    ]


def test_a_picture_that_is_too_large_is_named(tmp_path, monkeypatch):
    monkeypatch.setattr("bertlook_press.classroom.export.pictures.MOST_BYTES", 2)
    (tmp_path / "a.png").write_bytes(b"PNG")
    [said] = carry_pictures(new_notebook(cells=[new_markdown_cell("![m](a.png)")]), tmp_path)
    assert said.startswith("a.png is not carried: it has more than")


def test_formulas_that_a_cell_shows_stand_as_they_are_typed(tmp_path):
    data = {"text/plain": "<IPython.core.display.Math object>", "text/latex": "$a < b$"}
    said = []
    notebook = new_notebook(
        cells=[
            new_code_cell(
                "Math('a < b')",
                execution_count=1,
                outputs=[new_output("execute_result", data, execution_count=1)],
            )
        ]
    )
    page = exported(notebook, tmp_path, say=said.append).page.read_text("utf-8")
    assert "<pre>$a &lt; b$</pre>" in page and "IPython.core" not in page
    assert any("formulas between $ stand as they are typed" in line for line in said)
    drawn = new_output("display_data", {"text/latex": "$a$", "image/png": "UE5H", "text/plain": "a"})
    assert PNG in static_output(drawn)


def test_notes_above_the_first_slide_belong_to_it(tmp_path):
    notes = {"slideshow": {"slide_type": "notes"}}
    cells = [
        new_markdown_cell("Said **first**.", metadata=notes),
        new_markdown_cell("# One"),
        new_markdown_cell("Said last.", metadata=notes),
    ]
    [slide] = slides_of(new_notebook(cells=cells), static_output)
    assert ["first" in slide.notes[0], "last" in slide.notes[1]] == [True, True]


@pytest.mark.parametrize(
    "cells",
    [[], [new_markdown_cell("  ")], [new_markdown_cell("x", metadata={"slideshow": {"slide_type": "skip"}})], [new_markdown_cell("x", metadata={"slideshow": {"slide_type": "notes"}})]],
)  # fmt: skip
def test_a_deck_without_a_slide_is_refused(cells, tmp_path):
    with pytest.raises(
        ExportError, match=r"07_tiny\.ipynb has no slide: none of its \d cells shows anything"
    ):
        exported(new_notebook(cells=cells), tmp_path)


@pytest.mark.parametrize(
    "metadata",
    [{"kernelspec": {"name": "ir", "display_name": "R", "language": "R"}}, {"language_info": {"name": "R"}}],
)
def test_a_notebook_of_another_language_is_not_run_and_its_saved_outputs_are_shown(metadata, tmp_path):
    cells = [new_code_cell("x <- 1", execution_count=1, outputs=[new_output("stream", text="[1] 1")])]
    notebook = new_notebook(cells=cells, metadata=metadata)
    assert "[1] 1" in exported(notebook, tmp_path).page.read_text("utf-8")
    with pytest.raises(ExportError, match="is a notebook in R, and only Python runs here.*--no-run"):
        export_deck(tmp_path / "07_tiny.ipynb", tmp_path / "out")


@pytest.mark.parametrize("stops", [True, False])
def test_a_cell_that_prints_without_end_is_stopped(stops, tmp_path, monkeypatch):
    """Also where its interrupt is lost, as happens to one in some hundreds."""
    monkeypatch.setattr(runner, "MOST_OUTPUT", 100_000)
    monkeypatch.setattr(runner, "SECONDS_TO_STOP", 5.0 if stops else 0.2)
    prints = "while True:\n    print('x' * 1000)"
    if not stops:
        prints = f"import signal\nsignal.signal(signal.SIGINT, signal.SIG_IGN)\n{prints}"
    deck = new_notebook(cells=[cell("1"), cell(prints)])
    with pytest.raises(ExportError, match=r"endless: cell 2 prints without end: the deck has more than 0 MB"):
        runner.run_deck(deck, folder=tmp_path, name="endless", say=print)


def test_streams_are_joined_as_jupyters_own_tools_do_and_long_lines_take_no_time(tmp_path):
    shows = """
import sys
from IPython.display import display
print("half", end=""), sys.stdout.flush()
print("wrong\\rright\\r", file=sys.stderr), sys.stderr.flush()
display(1)
print("10 %\\r100 %"), print("-" * 3_000_000)
display(2)"""
    done = runner.execute(new_notebook(cells=[cell(shows)]), folder=tmp_path, timeout=100)
    out, errors, *shown = done.cells[0].outputs
    assert (out.name, out.text) == ("stdout", f"100 %\n{'-' * 3_000_000}\n")
    assert (errors.name, errors.text) == ("stderr", "right\r\n")
    assert [one.data["text/plain"] for one in shown] == ["1", "2"]


def test_ctrl_c_in_an_export_is_one_line(tmp_path, monkeypatch, capsys):
    def interrupted(*args, **options):
        raise KeyboardInterrupt

    monkeypatch.setattr(runner, "execute", interrupted)
    nbformat.write(tiny_deck(), tmp_path / "07_tiny.ipynb")
    assert (
        cli.main(["export", "--deck", str(tmp_path / "07_tiny.ipynb"), "--out", str(tmp_path / "out")]) == 130
    )
    assert capsys.readouterr().err == "interrupted: 07_tiny was not exported.\n"
    assert not (tmp_path / "out").exists()  # it was made for the result alone


def test_a_deck_without_widget_state_is_exported_with_pictures_and_says_so(executed, tmp_path):
    saved = copy.deepcopy(executed)
    for one in saved.cells:
        for output in one.get("outputs", ()):
            output.get("data", {}).pop("application/vnd.jupyter.widget-view+json", None)
    saved.metadata.pop("widgets")
    said = []
    page = exported(saved, tmp_path, say=said.append).page.read_text("utf-8")
    assert any("its pictures stay pictures" in line for line in said)
    assert data_of(page)["models"] == {} and "bertlook-static" in page


def test_a_folder_that_cannot_be_written_is_named_before_the_deck_runs(tmp_path, monkeypatch):
    (tmp_path / "file").write_text("in the way")
    monkeypatch.setattr(runner, "run_deck", lambda *args, **options: pytest.fail("it ran"))
    for folder in (tmp_path / "file", tmp_path / "file" / "below"):
        with pytest.raises(OSError, match=r"cannot write .*file.*choose a folder of your own"):
            export_deck(tmp_path / "deck.ipynb", folder)


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["--deck", "77"], "no deck '77'"),
        (["77"], "no deck '77'"),
        (["03", "--deck", "04"], "03, or --deck 04"),
        (["--deck", "nowhere.ipynb"], "there is no notebook nowhere.ipynb in"),
        (["--notes"], "ask for it with --handout"),
    ],
)
def test_the_command_says_what_is_wrong(words, said, tmp_path, capsys):
    assert cli.main(["export", *words, "--out", str(tmp_path)]) == 1
    assert said in capsys.readouterr().err


def test_what_is_no_notebook_is_named(tmp_path):
    (tmp_path / "deck.ipynb").write_text("no notebook")
    with pytest.raises(ExportError, match="deck.ipynb is not a notebook"):
        export_deck(tmp_path / "deck.ipynb", tmp_path)


def test_a_notebook_too_large_to_be_one_is_refused_before_memory_is_taken(tmp_path, capsys):
    with open(tmp_path / "deck.ipynb", "wb") as file:
        file.truncate(runner.MOST_OUTPUT + 1)  # a file with a hole: nothing is written
    assert cli.main(["export", str(tmp_path / "deck.ipynb"), "--out", str(tmp_path)]) == 1
    assert "has 100 MB; a notebook of at most 100 MB was expected" in capsys.readouterr().err


def test_a_file_above_the_limit_says_what_is_large(executed, tmp_path, monkeypatch):
    monkeypatch.setattr(command, "LARGEST", 1000)
    said = []
    exported(executed, tmp_path, say=said.append)
    assert any("above" in line and "Any 0.0 MB" in line for line in said)


def test_formulas_are_announced(executed, tmp_path):
    deck = copy.deepcopy(executed)
    deck.cells.append(cell("M so $x^2$ grows"))
    said = []
    exported(deck, tmp_path, say=said.append)
    assert any("no MathJax" in line for line in said)


def test_another_reveal_is_noticed(monkeypatch):
    originals = dict(reveal._originals())
    assert originals["dist/reveal.esm.js"].startswith("/*!\n* reveal.js 4.4.0")
    monkeypatch.setattr(reveal, "_originals", lambda: {**originals, "dist/reveal.css": "other"})
    with pytest.raises(ExportError, match="another dist/reveal.css than reveal.js 4.4.0's"):
        reveal.style("dist/reveal.css")
    with pytest.raises(ExportError, match="its themes are .*white"):
        reveal.style("dist/theme/dracula.css")


def test_without_jupyterlab_rise_the_remedy_is_said(monkeypatch):
    monkeypatch.setattr(reveal, "find_spec", lambda name: None)
    with pytest.raises(ExportError, match=r"jupyterlab-rise, .* is not installed.*\[slides\]"):
        reveal._originals.__wrapped__()


def test_another_typeface_is_noticed(monkeypatch):
    assert reveal.typeface().count("url(data:font/woff;base64,") == 2
    monkeypatch.setattr(reveal, "FONTS", ((400, "missing.woff", "0" * 64),))
    with pytest.raises(ExportError, match="does not hold the typeface missing.woff"):
        reveal.typeface.__wrapped__()


# --- present --static -------------------------------------------------------------------------------------------------


@pytest.fixture
def course(tmp_path, monkeypatch):
    """A folder with one deck; what is made and what is opened is written down."""
    (tmp_path / "slides").mkdir()
    deck = tmp_path / "slides" / "07_tiny.ipynb"
    nbformat.write(tiny_deck(), deck)
    done = []

    def make(source, out):
        out.mkdir(exist_ok=True)
        (out / f"{source.stem}.html").write_text("page")
        done.append("made")

    monkeypatch.setattr(command, "export_deck", make)
    monkeypatch.setattr(command.webbrowser, "open", lambda address: done.append(address) or True)
    return tmp_path, Path("slides/07_tiny.ipynb"), done


def test_the_static_deck_is_made_once_and_again_when_the_deck_is_newer(course):
    import os

    root, deck, done = course
    page = root / "exported" / "07_tiny.html"
    assert present_static(root, deck) == 0
    assert done == ["made", page.as_uri()]
    present_static(root, deck)
    assert done[2:] == [page.as_uri()]
    later = page.stat().st_mtime + 10
    os.utime(root / deck, (later, later))
    present_static(root, deck, browser=False)
    assert done[3:] == ["made"]


def test_a_missing_browser_is_said_with_the_address(course, monkeypatch, capsys):
    root, deck, _ = course
    monkeypatch.setattr(command.webbrowser, "open", lambda address: False)
    assert present_static(root, deck) == 1
    said = capsys.readouterr().out.splitlines()
    assert "No browser could be started" in said[-1] and said[-2].startswith("Slides:  file://")


def test_present_takes_the_static_way(course, monkeypatch):
    from bertlook_press.classroom import server as launch
    from bertlook_press.commands import present

    root, _, done = course
    monkeypatch.setattr(present, "find_root", lambda: root)
    monkeypatch.setattr(launch, "serve", lambda *args, **options: pytest.fail("Jupyter was started"))
    assert cli.main(["present", "07", "--static", "--no-browser"]) == 0
    assert done == ["made"] and list((root / "exported").iterdir())


def test_a_route_stands_in_the_address_of_the_page_and_an_unknown_one_is_refused(course):
    root, deck, done = course
    present_static(root, deck, route=90)
    assert done[-1].endswith("/exported/07_tiny.html?route=90")
    with pytest.raises(ValueError, match="no route of 20 minutes; it has 90"):
        present_static(root, deck, route=20)


def test_a_live_route_is_served_from_a_copy_that_is_gone_afterwards(course, monkeypatch):
    from bertlook_press.commands import present

    root, deck, _ = course
    notebook = nbformat.read(root / deck, as_version=4)
    notebook.cells[1].metadata["tags"] = ["route-20"]
    nbformat.write(notebook, root / deck)
    served = {}

    def serve(folder, page, **options):
        served[page] = deck_routes(
            json.loads((folder / "slides" / "route20_07_tiny.ipynb").read_text("utf-8"))
        )
        return 0

    monkeypatch.setattr(present, "find_root", lambda: root)
    monkeypatch.setattr(present, "serve", serve)
    assert cli.main(["present", "07", "--route", "20"]) == 0
    assert served == {"/rise/slides/route20_07_tiny.ipynb": {20: [1], 90: [1]}}
    assert [path.name for path in (root / "slides").glob("*.ipynb")] == ["07_tiny.ipynb"]
    assert cli.main(["present", "07", "--route", "50"]) == 1


def test_slides_of_an_exported_page_name_their_routes():
    notebook = tiny_deck()
    notebook.cells[1].metadata["tags"] = ["route-20", "route-50"]
    assert [slide.routes for slide in slides_of(notebook, static_output)] == [(20, 50, 90), *[(90,)] * 5]


def test_a_menu_alone_needs_no_kernel():
    menu = PictureMenu(pictures("one", "two"))
    found = record([menu.model_id])
    assert len(found["recordings"]) == 1 and found["silent"] == {}


@pytest.mark.parametrize(
    "metadata",
    [
        {"rise": []},
        {"rise": "x"},
        {"widgets": 3},
        {"widgets": {STATE: "x"}},
        {"widgets": {STATE: {"state": []}}},
        {"widgets": {STATE: {"state": {"a": {}, "b": 5, "c": {"model_name": 7}}}}},
        {"slideshow": "x"},
        {"slideshow": {"slide_type": 5}},
    ],
    ids=str,
)
def test_a_notebook_with_other_metadata_is_written_without_it(metadata, tmp_path):
    of_the_cell = metadata if "slideshow" in metadata else {}
    slide = new_markdown_cell("one slide", metadata=of_the_cell)
    deck = new_notebook(cells=[slide], metadata={} if of_the_cell else metadata)
    (tmp_path / "odd.ipynb").write_text(json.dumps(deck))
    page = export_deck(tmp_path / "odd.ipynb", tmp_path / "out", run=False).page
    assert "one slide" in page.read_text(encoding="utf-8")


def test_a_picture_that_the_notebook_holds_is_shown():
    shown = markdown("![a](attachment:a.png)", {"a.png": {"image/png": "UE5H"}})
    assert [one for tag, one in Elements(shown).found if tag == "img"] == [
        {"src": "data:image/png;base64,UE5H", "alt": "a"}
    ]


def test_a_picture_that_the_notebook_does_not_hold_is_named(tmp_path):
    deck = new_notebook(cells=[new_markdown_cell("see ![x](attachment:a.png)")])
    said = []
    exported(deck, tmp_path, say=said.append)
    assert "  the picture attachment:a.png is not carried: the notebook holds no such attachment" in said


# --- modules -----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("modules", "shared"),
    [
        (["const A = 1;\nlet b;", "const A = 1;\nlet c;", "const A = 1;\n"], "const A = 1;\n"),
        (["const A = 1;\nlet b;"], ""),
        (["a\nb", "c\nd"], ""),
        ([], ""),
    ],
)
def test_what_modules_begin_with_stands_in_the_page_once(modules, shared):
    data = Live(modules=modules).page_data()
    assert data["shared"] == shared and [shared + rest for rest in data["modules"]] == modules


def test_what_frames_have_in_common_is_in_the_page_once(executed, tmp_path):
    library, maps = "x" * 1500 + " && '</script>'", "[[[[" + "1," * 1000 + "2]]]],"
    own = [f"<p>{number}</p>\n{library}\nconst data = {{{maps}{number}}}" for number in range(2)]
    markup = "".join(
        f'<iframe title="{number}" srcdoc="{escape(text)}"></iframe>'
        for number, text in enumerate([*own, "<p>other</p>"])
    )
    shown, texts = shared_frames(markup)
    assert shown == (
        '<iframe title="0" data-frame="0"></iframe><iframe title="1" data-frame="1"></iframe>'
        '<iframe title="2" srcdoc="&lt;p&gt;other&lt;/p&gt;"></iframe>'
    )
    assert ["".join(texts["pieces"][i] for i in frame) for frame in texts["frames"]] == own
    assert sum(map(len, texts["pieces"])) < len(own[0]) + 100
    deck = copy.deepcopy(executed)
    deck.cells[-1].outputs = [new_output("display_data", {"text/html": markup})]
    page = render_deck(deck, Live(), title="frames", look="")
    assert page.count("x" * 1500) == page.count("1," * 1000) == 1 and page.count("data-frame=") == 2


def test_the_largest_decks_fit_into_two_megabytes(tmp_path):
    decks = sorted((find_root() / "slides").glob("[0-9]*.ipynb"), key=lambda deck: -deck.stat().st_size)[:3]
    for deck in decks:
        done = export_deck(deck, tmp_path, run=False, weights=None, say=lambda line: None)
        assert done.page.stat().st_size <= 2_000_000, deck.name


@pytest.fixture
def slow_decks(tmp_path, monkeypatch):
    """A course of three decks whose export writes a page; the stems that were exported, and what happens at each."""
    from types import SimpleNamespace

    from bertlook_press.commands import export

    (tmp_path / "slides").mkdir()
    for number in (1, 2, 3):
        nbformat.write(tiny_deck(), tmp_path / "slides" / f"0{number}_tiny.ipynb")
    done, at = [], {}

    def exported(deck, out, **options):
        if deck.stem in at:
            raise at[deck.stem]
        done.append(deck.stem)
        page = out / f"{deck.stem}.html"
        page.write_text("slides")
        return SimpleNamespace(page=page, handout=None, pdf=None, seconds=1.0)

    monkeypatch.setattr(export, "find_root", lambda: tmp_path)
    monkeypatch.setattr(export, "export_deck", exported)
    return SimpleNamespace(done=done, at=at, out=tmp_path / "out", decks=tmp_path / "slides")


def test_a_stopped_export_of_many_decks_goes_on(slow_decks, capsys):
    line, out = ["export", "all", "--out", str(slow_decks.out)], slow_decks.out
    slow_decks.at["03_tiny"] = KeyboardInterrupt()
    assert cli.main(line) == 130
    assert "The same command continues with it." in capsys.readouterr().err
    slow_decks.at.clear()
    slow_decks.done.clear()
    (out / "02_tiny.html").unlink()  # what is gone is made again
    assert cli.main(line) == 0
    assert slow_decks.done == ["02_tiny", "03_tiny"]
    assert "01_tiny: written by an earlier run." in capsys.readouterr().out
    assert sorted(path.name for path in out.iterdir()) == [f"0{n}_tiny.html" for n in (1, 2, 3)]
    slow_decks.done.clear()
    assert cli.main(line) == 0 and len(slow_decks.done) == 3  # that run was whole: this is another


@pytest.mark.parametrize("change", ["deck", "option", "force"])
def test_decks_of_another_run_are_made_again(change, slow_decks, capsys):
    line = ["export", "all", "--out", str(slow_decks.out)]
    slow_decks.at["03_tiny"] = ExportError("a cell failed")
    assert cli.main(line) == 1
    assert "not exported: 03_tiny" in capsys.readouterr().err
    slow_decks.at.clear()
    slow_decks.done.clear()
    if change == "deck":
        other = tiny_deck()
        other.cells[0].source += " changed"
        nbformat.write(other, slow_decks.decks / "01_tiny.ipynb")
    more = {"deck": [], "option": ["--handout"], "force": ["--force"]}[change]
    assert cli.main([*line, *more]) == 0
    assert slow_decks.done == ["01_tiny", "02_tiny", "03_tiny"]
