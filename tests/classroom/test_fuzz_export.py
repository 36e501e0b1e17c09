"""Notebooks that no Jupyter wrote: exported, or refused in words; and whatever they hold, no page runs anything of theirs."""

import copy
import json
import logging
import random
import re
import time
from html.parser import HTMLParser

import ipywidgets
import nbformat
import numpy as np
import pytest
from fuzzing import CASES, broken_bytes, broken_value, refused_or_read
from ipywidgets.embed import dependency_state, embed_data
from nbformat.v4 import new_code_cell, new_markdown_cell, new_notebook, new_output

from bertlook_course.widgets import module_source
from bertlook_press.classroom import STATE, export_deck
from bertlook_press.classroom.export.pictures import with_pictures
from bertlook_press.classroom.export.strangers import without_scripts
from bertlook_teach.views import HeadMap

EXPORTS = max(100, CASES // 10)  # an export takes some milliseconds

VIEW = "application/vnd.jupyter.widget-view+json"

EVIL = (
    "<script>evil()</script>",
    '<img src=x onerror="evil()">',
    '<svg onload="evil()"><script>evil()</script></svg>',
    '<iframe srcdoc="<script>evil()</script>"></iframe>',
    "[a](javascript:evil())",
    '<a href="java&#10;script:evil()">a</a>',
    '<form action="javascript:evil()"><button formaction="javascript:evil()">',
    '<math><mtext><script>evil()</script></mtext></math>',
    "![a](https://example.org/evil.png)",
    '<object data="data:text/html,<script>evil()</script>"></object>',
    '<base href="https://example.org/evil">',
    '<meta http-equiv="refresh" content="0;url=javascript:evil()">',
    '<style>@import "https://example.org/evil.css";</style>',
    "</script><script>evil()</script>",
    "<!--><script>evil()</script>",
)  # fmt: skip


@pytest.fixture(autouse=True)
def quiet():
    """nbformat logs what it repairs, half characters included, which pytest-xdist cannot send on."""
    logging.disable(logging.CRITICAL)
    yield
    logging.disable(logging.NOTSET)


@pytest.fixture(scope="module")
def notebook():
    """A saved deck with a live view, a picture, a table, an error and an attachment."""
    view = HeadMap({"entropy": np.arange(6.0).reshape(2, 3)})
    said = ipywidgets.HTML("<b>said</b>")
    # Of these two alone: without it all widgets that other tests left come along.
    state = embed_data(views=[view, said], state=dependency_state([view, said]))["manager_state"]
    beside = {VIEW: {"model_id": said.model_id}, "text/plain": "HTML"}
    shown = {VIEW: {"model_id": view.model_id, "version_major": 2}, "text/plain": "HeadMap"}
    picture = {
        "image/svg+xml": "<svg xmlns='http://www.w3.org/2000/svg'><title>a</title></svg>",
        "text/plain": "a",
    }
    cells = [
        new_markdown_cell("# A deck\n\n![a](attachment:a.png) $x$ [b](02_six_patterns.ipynb)", attachments={"a.png": {"image/png": "AAAA"}}),
        new_code_cell("view", execution_count=1, outputs=[new_output("display_data", shown)]),
        new_code_cell("1", execution_count=2, outputs=[new_output("stream", text="1\n"), new_output("execute_result", picture, execution_count=2)]),
        new_code_cell("said", execution_count=5, outputs=[new_output("display_data", beside)]),
        new_code_cell("2", execution_count=3, outputs=[new_output("display_data", {"text/html": "<table><tr><td>1</td></tr></table>"})]),
        new_code_cell("3", execution_count=4, outputs=[new_output("error", ename="E", evalue="e", traceback=["\x1b[31mE\x1b[0m"])]),
    ]  # fmt: skip
    for number, cell in enumerate(cells):
        cell.id = f"c{number}"
        cell.metadata = {
            "slideshow": {"slide_type": ("slide", "fragment", "-", "-", "subslide", "notes")[number]}
        }
    widgets = {STATE: {"state": state["state"], "version_major": 2, "version_minor": 0}}
    made = new_notebook(
        cells=cells, metadata={"title": "A deck", "rise": {"footer": "a"}, "widgets": widgets}
    )
    written = nbformat.writes(made)
    for number, model in enumerate(state["state"]):  # the same notebook in every run
        written = written.replace(model, f"{number:032x}")
    return json.loads(written)


def exported(path, folder):
    return export_deck(path, folder, run=False, handout=False, say=lambda line: None).page.read_text("utf-8")


class Running(HTMLParser):
    """What of a page a browser would run or fetch by itself; the exporter's own scripts are counted."""

    def __init__(self, page):
        super().__init__()
        self.found, self.scripts = set(), 0
        self.feed(page)

    def handle_starttag(self, tag, attributes):
        self.scripts += tag == "script"
        if tag in ("iframe", "object", "embed", "base", "form", "link", "animate", "set"):
            self.found.add(tag)
        for name, value in attributes:
            if (
                name.startswith("on")
                or name in ("srcdoc", "formaction")
                or "script:" in (value or "").replace("\n", "")
            ):
                self.found.add(f"{tag} {name}")


def runs(page: str) -> tuple:
    read = Running(page)
    return read.scripts, read.found


def test_a_notebook_with_other_values_is_exported_or_refused_in_words(notebook, memory_folder):
    generator, path = random.Random(0), memory_folder / "07_fuzz.ipynb"
    path.write_text(json.dumps(notebook), encoding="utf-8")
    usual, done = runs(exported(path, memory_folder)), 0
    for number in range(EXPORTS):
        content = json.dumps(broken_value(generator, notebook)).encode()
        path.write_bytes(broken_bytes(generator, content) if number % 5 == 0 else content)
        page = refused_or_read(lambda at: exported(at, memory_folder), path, content)
        if page is not None:
            done += 1
            assert runs(page) == usual, content
    assert done > EXPORTS / 4


@pytest.mark.parametrize(
    ("odd", "left"),
    [("a<![ b> c", "a c"), ("<![CDATA[x<b>]]>d", "d"), ("<![if x]>e<![endif]>", "e"), ("f<![", "f&lt;![")],
)
def test_markup_that_the_parser_of_python_stops_at_is_read_to_its_end(odd, left):
    assert without_scripts(odd).markup == left
    remark = odd.endswith("<![")  # to a browser, up to the next ">": the picture is in it
    pictured = f"{odd}<img src='x'>" if remark else f'{odd}<img src="data:,">'
    assert with_pictures(f"{odd}<img src='x'>", {"x": "data:,"}.get) == pictured


def test_tags_without_an_end_are_read_in_no_time():
    """Python's parser tries each to the end of all: 20,000 took a minute."""
    start = time.perf_counter()
    for piece in ("<img ", "<!--", "<a", "<img src='"):
        assert with_pictures(piece * 20_000, {}.get) == piece * 20_000
    assert time.perf_counter() - start < 5


@pytest.mark.parametrize("evil", EVIL)
def test_markup_keeps_nothing_that_runs(evil):
    """The same markup by itself: the made-up notebooks put each piece into a few places only."""
    cleaned = without_scripts(f"<p title='kept'>before</p>{evil}")
    assert cleaned.markup.startswith('<p title="kept">before</p>') and runs(cleaned.markup) == (0, set())
    for handler in ("onclick", "onerror", "ONLOAD", "onfocus", "onbegin"):
        assert without_scripts(f'<i {handler}="evil()">a</i>').markup == "<i>a</i>"


def test_whatever_a_notebook_holds_nothing_of_it_runs_in_the_page(notebook, memory_folder):
    """Markup of a stranger in every place where a text can stand."""
    generator, path = random.Random(1), memory_folder / "07_fuzz.ipynb"
    path.write_text(json.dumps(notebook), encoding="utf-8")
    usual = runs(exported(path, memory_folder))
    places = [place for place in _texts(notebook) if place[-1] not in ("cell_type", "output_type", "id")]
    for number in range(EXPORTS):
        changed, evil = copy.deepcopy(notebook), EVIL[number % len(EVIL)]
        *way, last = places[number] if number < len(places) else generator.choice(places)
        parent = changed
        for step in way:
            parent = parent[step]
        parent[last] = evil if generator.random() < 0.5 else f"{parent[last]}\n\n{evil}"
        path.write_text(json.dumps(changed), encoding="utf-8")
        page = refused_or_read(lambda at: exported(at, memory_folder), path, evil)
        if page is not None:
            assert runs(page) == usual, (way, last, evil)
            live = json.loads(re.search(r'id="bertlook-widgets">(.*?)</script>', page, re.DOTALL)[1])
            assert {live["shared"] + module for module in live["modules"]} <= {module_source("head_map")}
            said = [one["state"]["value"] for one in live["models"].values() if one["kind"] == "HTMLModel"]
            assert all(runs(value) == (0, set()) for value in said), (way, last, evil)


def _texts(value, way=()):
    """The ways to every text in a notebook."""
    if isinstance(value, str):
        yield way
    elif isinstance(value, list | dict):
        for key in value if isinstance(value, dict) else range(len(value)):
            yield from _texts(value[key], (*way, key))
