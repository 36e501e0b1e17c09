"""Views in JupyterLab's slides while the kernel is busy, after it was shut down, and before it has run anything: the page answers what is typed."""

from __future__ import annotations

import json
import shutil
import sys
from pathlib import Path
from urllib.request import urlopen

import nbformat
import pytest
from nbformat.sign import NotebookNotary
from nbformat.v4 import new_code_cell, new_markdown_cell

from bertlook_press.classroom import execute
from bertlook_press.classroom.model_server import FOLDER, SCRIPT
from bertlook_press.pages import engine_source, page_model
from bertlook_teach.model import load_encoder

from .conftest import HANGS_AFTER, ROOT, make_deck

SET_UP = """
import time
from pathlib import Path
import ipywidgets
from bertlook_teach import HeadExplorer, load_encoder
from bertlook_course import widgets
encoder = load_encoder("specimen")

def occupy(_):
    busy.description = "it is busy"
    while not Path("free").exists():
        time.sleep(0.05)

busy = ipywidgets.Button(description="be busy")
busy.on_click(occupy)
"""

VIEWS = {
    "1-0": 'HeadExplorer(encoder, "The cat saw a bird.", "It flew away.")',
    "2-0": 'widgets.AblationBench(encoder, "He opened the door and walked into the room.", masked=7)',
    "3-0": 'widgets.MaskedWord(encoder, "The cat sat [MASK] the mat.")',
    "4-0": 'widgets.TypedPattern(encoder, "The cat saw a bird.")',
    "5-0": 'widgets.NeuronExplorer(encoder, "The cat saw a bird.")',
    "6-0": "busy",
}


def trial_deck(**rise):
    cells = [(new_markdown_cell("# A trial"), "slide"), (new_code_cell(SET_UP), "skip")]
    return make_deck([*cells, *((new_code_cell(source), "slide") for source in VIEWS.values())], **rise)


@pytest.fixture(scope="module")
def folder(trial_folder):
    shutil.copy(ROOT / "slides" / "rise.css", trial_folder)
    shutil.copytree(ROOT / "slides" / "theme", trial_folder / "theme")
    return trial_folder


@pytest.fixture(scope="module")
def live(open_deck, folder):
    """A deck whose cells have run; the tests go through its life in the order of this file."""
    path = folder / "without_kernel.ipynb"
    nbformat.write(trial_deck(autorun=True), path)
    return open_deck(path)


def answers(deck) -> int:
    return deck.ask("globalThis.bertlookAnswers ?? 0")


def type_in(deck, slide: str, text: str, line: int = 0) -> None:
    """Type into a line of a slide's view and press Enter."""
    deck.go(slide, usable=False)
    box = deck.page.locator("section.present .bertlook-textbox input[type=text]").nth(line)
    box.fill(text)
    box.press("Enter")


def in_page(deck, act) -> None:
    """Do something and wait until the page has answered it."""
    before = answers(deck)
    act()
    deck.wait(f"(globalThis.bertlookAnswers ?? 0) > {before}")


def said(deck) -> str:
    deck.page.wait_for_timeout(100)  # views draw once a turn
    return " ".join(deck.page.locator("section.present").all_inner_texts())


READ = "[...document.querySelector('section.present').querySelectorAll('.bl-query')].map(one => one.textContent.trim()).join('').replaceAll('##', '')"


def read(deck) -> str:
    """The wordpieces of the head view in one."""
    return deck.ask(READ)


def test_scripts_and_weights_are_given_to_the_reader_alone(server):
    for place in (SCRIPT, *(f"{FOLDER}{name}" for name in ("specimen.js", "minilm.json", "minilm.js"))):
        with urlopen(server.address(place).split("?")[0]) as reply:
            assert "/login" in reply.url  # nobody without the token
    for name in ("specimen", "minilm"):
        with urlopen(server.address(f"{FOLDER}{name}.json")) as reply:
            told = json.load(reply)
        assert told["fingerprint"] == load_encoder(name).fingerprint
        with urlopen(server.address(told["file"])) as reply:
            assert reply.read().decode() == page_model(name).script
    with urlopen(server.address(SCRIPT)) as reply:
        script = reply.read().decode()
    assert engine_source() in script and 'bertlookServed = ["specimen", "minilm"]' in script


def test_an_idle_kernel_answers_itself(live):
    type_in(live, "1-0", "The dog chased a cat.")
    live.wait(f"{READ}.includes('chased')")
    assert answers(live) == 0


def test_while_the_kernel_is_busy_the_page_answers_and_then_the_kernel(live, folder):
    live.go("6-0")
    live.page.get_by_role("button", name="be busy").click()
    live.page.get_by_role("button", name="it is busy").wait_for()  # by then the page has heard of it
    in_page(live, lambda: type_in(live, "1-0", "A rabbit ran."))
    live.wait(f"{READ}.includes('rabbit') && !{READ}.includes('chased')")
    in_page(live, lambda: type_in(live, "1-0", "An owl slept there.", line=1))
    live.wait(f"{READ}.includes('owlslept')")
    type_in(live, "1-0", "", line=0)  # nobody says so but Python, which will
    in_page(live, lambda: type_in(live, "1-0", "A rabbit ran away."))
    (folder / "free").touch()
    type_in(live, "1-0", "Two horses ran away.")
    live.wait(f"{READ}.includes('horses')")
    live.wait("!document.querySelector('section.present .bertlook-message [role=alert]')")
    (folder / "free").unlink()


def test_after_the_kernel_was_shut_down_the_page_answers(live, server):
    # JupyterLab asks after its kernels every ten seconds, but more rarely once a reply was late
    with live.page.expect_console_message(lambda said: "Kernel: dead" in said.text, timeout=5 * HANGS_AFTER):
        server.end_kernels()
    in_page(live, lambda: type_in(live, "1-0", "The ship came home."))
    live.wait(f"{READ}.includes('ship')")
    in_page(live, lambda: type_in(live, "1-0", " "))
    assert "The first text is empty" in said(live) and "ship" in read(live)
    in_page(live, lambda: type_in(live, "2-0", "She drank a glass of water."))
    assert "water" in said(live) and "Masked-LM loss, nats" in said(live)
    in_page(live, lambda: type_in(live, "3-0", "They went [MASK] the house."))
    assert "house" in said(live)
    live.page.get_by_role("button", name="show the model").click()
    live.wait("document.querySelector('section.present').textContent.includes('First guess')")
    in_page(live, lambda: type_in(live, "4-0", "key.offset(+1)", line=1))
    assert "Right" in said(live) or "key" in said(live)
    in_page(live, lambda: type_in(live, "5-0", "The dog ran home."))
    assert "home" in said(live)
    errors = [
        error for error in live.errors if "annot send" not in error and "ould not send" not in error
    ]  # what ipywidgets says of a dead kernel
    assert not errors and not live.foreign


@pytest.fixture(scope="module")
def saved(server, folder):
    """A deck saved with its widget state, as JupyterLab saves it on request; signed as what is saved there is, or it would show pictures only."""
    done = execute(trial_deck(), folder=folder, at_end=lambda client: None)
    path = folder / "saved_views.ipynb"
    nbformat.write(done, path)
    NotebookNotary(data_dir=str(Path(sys.prefix, "bertlook-jupyter", "data"))).sign(
        nbformat.read(path, as_version=4)
    )
    return path


def test_before_a_cell_has_run_saved_views_answer(open_page, saved):
    deck = open_page("rise", saved, "?run=none")
    deck.wait_until_ready()
    in_page(deck, lambda: type_in(deck, "1-0", "The ship came home."))
    deck.wait(f"{READ}.includes('ship')")
    in_page(deck, lambda: type_in(deck, "3-0", "They went [MASK] the house."))
    assert "house" in said(deck)
    assert not deck.errors and not deck.foreign


def test_a_server_that_does_not_give_the_weights_leaves_the_picture_and_says_so(open_page, saved):
    deck = open_page("rise", saved, "?run=none")
    deck.page.route("**/bertlook/specimen.js", lambda route: route.fulfill(status=404))
    deck.wait_until_ready()
    in_page(deck, lambda: type_in(deck, "1-0", "The ship came home."))
    assert "Python does not answer. Start the kernel" in said(deck) and "bird" in read(deck)


MODEL = """
  class Model {
    constructor(state) { this.state = state; this.listeners = []; this.changed = {}; }
    get(name) { return this.state[name]; }
    on(names, listener) { for (const name of names.split(" ")) this.listeners.push([name, listener]); }
    set_state(state) {
      this.changed = Object.fromEntries(Object.entries(state).filter(([name, value]) => this.state[name] !== value));
      Object.assign(this.state, state);
      for (const [name, listener] of this.listeners) {
        if (name === "change" ? Object.keys(this.changed).length : name.slice(7) in this.changed) listener(this, this.changed[name.slice(7)]);
      }
    }
  }
"""
TAKEN_BACK = (
    f"async () => {{{MODEL}"
    + """
  const models = {
    text: new Model({ value: "a cat" }), message: new Model({ value: "" }),
    map: new Model({ shape: [1, 1], measures: [], data: "of Python" }),
    view: new Model({ shape: [1, 1, 4], data: "of Python", packing: "deflate", query: 3, layer: 0 }),
  };
  const run = { n: 3, cut: true, attention: new Float32Array(9), tokens: ["[CLS]", "a", "[SEP]"], words: [-1, 0, -1], segments: [0, 0, 0], spelt: ["a"] };
  let open, waits = new Promise((done) => (open = done)), busy = true;
  globalThis.bertlookEngine.load = async () => ({ run: async () => (await waits, run) });
  globalThis.bertlookPageAnswers({
    modelOf: (id) => models[id], mine: () => busy, alone: () => true, weights: () => ({}),
  })({ fingerprint: "f", places: { text: "text", message: "message", map: "map", view: "view" } });
  const tick = () => new Promise((done) => setTimeout(done, 5)), seen = [];
  const look = () => seen.push([models.view.get("packing"), models.view.get("query"), models.view.get("layer"), models.message.get("value").includes("was cut")]);
  models.text.set_state({ value: "a" });
  open();
  await tick();
  look(); // the page's
  models.view.set_state({ layer: 5, query: 1 }); // the reader's choice
  models.view.set_state({ data: "of Python again" }); // the same packing as before, so it is not sent
  look();
  waits = new Promise((done) => (open = done));
  models.text.set_state({ value: "b" });
  await tick();
  models.map.set_state({ data: "sooner" });
  open();
  await tick();
  look(); // Python was sooner: the page's is dropped
  busy = false;
  models.text.set_state({ value: "c" });
  await tick();
  look();
  return seen;
}"""
)


def test_where_python_answers_what_the_page_said_is_taken_back(blank):
    page = blank()
    page.add_script_tag(content=engine_source())
    assert page.evaluate(TAKEN_BACK) == [
        ["plain", -1, 0, True],
        ["deflate", 1, 5, False],
        ["deflate", 1, 5, False],
        ["deflate", 1, 5, False],
    ]


REFUSED_MEANWHILE = (
    f"async () => {{{MODEL}"
    + """
  const models = { text: new Model({ value: "a cat" }), message: new Model({ value: "" }), map: new Model({}), view: new Model({}) };
  let open, waits = new Promise((done) => (open = done));
  globalThis.bertlookEngine.load = async (given, hear) => (hear("reading"), await waits, { run: async () => { throw new Error("empty"); } });
  globalThis.bertlookPageAnswers({
    modelOf: (id) => models[id], mine: () => true, alone: () => false, weights: () => ({}),
  })({ fingerprint: "f", places: { text: "text", message: "message", map: "map", view: "view" } });
  const tick = () => new Promise((done) => setTimeout(done, 5));
  models.text.set_state({ value: " " });
  await tick();
  const before = models.message.get("value");
  models.message.set_state({ value: '<div role="alert">Empty.</div>' }); // Python, while the page still reads
  open();
  await tick();
  return [before.includes("reading"), models.message.get("value")];
}"""
)


def test_what_python_refuses_while_the_page_reads_stays(blank):
    page = blank()
    page.add_script_tag(content=engine_source())
    assert page.evaluate(REFUSED_MEANWHILE) == [True, '<div role="alert">Empty.</div>']
