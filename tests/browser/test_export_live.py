"""An exported deck computes a new text itself, in a file, without a network, and what it shows is what Python would."""

# ruff: noqa: F811 - fixtures of another file are imported, and asked for by name
from __future__ import annotations

import shutil
import threading
from functools import partial
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer

import nbformat
import numpy as np
import pytest
from nbformat.v4 import new_code_cell, new_notebook

from bertlook_course.analyses.anatomy import lenses
from bertlook_course.widgets import AblationBench, MaskedWord, NeuronExplorer, TypedPattern
from bertlook_press.classroom import export_deck
from bertlook_teach.model import load_encoder, read
from bertlook_teach.views import HeadExplorer

from .conftest import HANGS_AFTER, ROOT, Deck
from .test_export_browser import export, open_file  # noqa: F401 - a fixture

TEXT = "Rain fell on the old roof."

DECK = """
import numpy as np
from bertlook_teach import HeadExplorer, load_encoder
from bertlook_teach.views import default_measures
fixed = np.arange(36.0).reshape(6, 6)
HeadExplorer(load_encoder("specimen"), "We saw the small bird.", "", {**default_measures(), "of a corpus": fixed})
"""


GAME = """
from bertlook_course.widgets import MaskedWord
MaskedWord(load_encoder("specimen"), "He opened the door.", masked=2)
"""


NEURONS = """
from bertlook_course.widgets import NeuronExplorer
NeuronExplorer(load_encoder("specimen"), "He opened the door.", layer=2, head=1)
"""


LENSES = """
from bertlook_course.widgets import SixLenses
SixLenses(load_encoder("specimen"), "Rain fell.", layer=2, head=1)
"""


PATTERN = """
from bertlook_course.widgets import TypedPattern
TypedPattern(load_encoder("specimen"), "Rain fell on the old roof.", "key.offset(-1)")
"""


BENCH = """
from bertlook_course.widgets import AblationBench
AblationBench(load_encoder("specimen"), "He opened the door.", masked=2, twin=load_encoder("specimen-random"), texts=["Rain fell.", "The old cat sat on the mat all day."])
"""


FRAMES = """
from IPython.display import HTML
same = "<!-- " + "x" * 2000 + " -->"
HTML("".join(f'<iframe title="frame {i}" srcdoc="<p>{i} &amp;amp; more</p>\\n{same}\\n"></iframe>' for i in range(2)))
"""


def styled(folder):
    """A folder for decks, with the course's look."""
    shutil.copy(ROOT / "slides" / "rise.css", folder)
    shutil.copytree(ROOT / "slides" / "theme", folder / "theme")
    return folder


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """A deck with one explorer, exported, with the specimen beside it."""
    folder = styled(tmp_path_factory.mktemp("live"))
    slide = {"slideshow": {"slide_type": "slide"}}
    deck = new_notebook(
        cells=[
            new_code_cell(source, metadata=slide)
            for source in (DECK, GAME, NEURONS, LENSES, BENCH, FRAMES, PATTERN)
        ]
    )
    nbformat.write(deck, folder / "03_live.ipynb")
    nbformat.write(new_notebook(cells=deck.cells[:1]), folder / "03_one.ipynb")
    export(folder / "03_live.ipynb", folder / "out")
    return folder / "out"


@pytest.fixture(scope="module")
def live(open_file, folder):
    opened = open_file(folder / "03_live.html")
    opened.wait_until_ready()
    return opened


# The specimen once more, from the file beside the page: the page itself has handed it to its worker.
OPENED = """new Promise((done) => {
  const opened = () => done(bertlookEngine.open(bertlookEngine.decoded(bertlookWeights.specimen)));
  document.head.append(Object.assign(document.createElement("script"), { src: "specimen.js", onload: opened }));
})"""


def typed(opened, text: str, line: int = 0) -> str:
    """Type, wait for the answer, return what is said beside the box."""
    said = opened.page.locator(".bertlook-message").first
    before = opened.page.evaluate("globalThis.bertlookAnswers ?? 0")
    box = opened.page.locator(".bertlook-textbox input[type=text]").nth(line)  # 5: the bench's
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
    assert any(f"Head 1-1: {expected.head_map.value:.3f}" in text for text in drawn)


def test_every_number_of_map_and_view_is_pythons(live, specimen):
    from bertlook_teach import extract_attention
    from bertlook_teach.measures import value_norms
    from bertlook_teach.model import output_projection
    from bertlook_teach.views import default_measures, page_rules
    from bertlook_teach.views.head_map import MenuMeasure

    measures = {**default_measures(), "to . and ,": MenuMeasure("to", "punct")}

    for text, pair in (
        (TEXT, None),
        ("The cat sat on the mat.", "It slept there all day, unbelievably."),
        ("The cat sat", None),  # without a mark: what goes to marks is 0 in all heads
        (
            "Na\u00efve caf\u00e9s, nai\u0308ve CAFE\u0301! \u4e2d\u6587 don't \ud55c\uae00 x\u200by [MASK] 😀 e\u0301\u0323.",
            None,
        ),
    ):
        attention = extract_attention(specimen, text, pair, vectors=True)
        asked = """async ([text, pair, rules]) => {
          const model = await OPENED, run = model.run(text, pair, { norms: true });
          const { mapTraits, viewTraits } = bertlookTraits, names = Object.keys(rules);
          const map = mapTraits(run, names, rules, [6, 6]), view = viewTraits(run, [6, 6]);
          const list = (data, kind) => [...new kind(data.buffer)];
          return { names, ranges: map.ranges, map: list(map.data, Float32Array), view: list(view.data, Uint16Array), norms: list(view.norms, Float32Array), texts: view.texts };
        }"""
        found = live.page.evaluate(asked.replace("OPENED", OPENED), [text, pair, page_rules(measures)])
        explorer = HeadExplorer(specimen, text, pair, measures)
        assert found["names"] == explorer.head_map.measures
        n = len(attention.tokens)
        weights = np.reshape(found["view"], (6, 6, n, n)) / 65535
        assert np.abs(weights - attention.weights).max() < 2e-5
        values = np.stack([measure(attention) for measure in measures.values()])
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
        (weights[: len(weights) // 2], "is missing or empty"),
        (weights.replace("A", "B"), "damaged"),
        (
            '(globalThis.bertlookWeights ??= {}).specimen = "bm8gbW9kZWwgYXQgYWxs";',
            "damaged, or no such file",
        ),
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


def test_the_weights_of_another_model_are_refused(open_file, folder, specimen, tmp_path):
    page = (folder / "03_live.html").read_text()
    assert specimen.fingerprint in page
    (tmp_path / "03_live.html").write_text(
        page.replace(specimen.fingerprint, "0" * len(specimen.fingerprint))
    )
    shutil.copy(folder / "specimen.js", tmp_path)
    opened = open_file(tmp_path / "03_live.html")
    opened.wait_until_ready()
    assert "specimen.js holds another model than this page was made with. Open the deck itself" in typed(
        opened, TEXT
    )


def test_without_workers_the_page_computes_itself(open_file, folder):
    opened = open_file(folder / "03_live.html")
    opened.wait_until_ready()
    opened.page.evaluate("delete globalThis.Worker; globalThis.Worker = undefined")
    assert typed(opened, TEXT) == "" and any("rain" in text for text in shown(opened))


def test_one_file_holds_everything_and_a_deck_without_weights_says_so(open_file, folder, tmp_path):
    source = folder.parent / "03_one.ipynb"
    page = export(source, tmp_path / "one", "--single-file")
    assert [path.name for path in page.parent.iterdir()] == [page.name] and page.stat().st_size < 14_000_000
    opened = open_file(page)
    opened.wait_until_ready()
    assert typed(opened, TEXT) == "" and any(
        word in text for text in shown(opened) for word in ("rain", "fell", "roof")
    ), shown(opened)
    page = export(source, tmp_path / "none", "--no-weights")
    assert [path.name for path in page.parent.iterdir()] == [page.name] and page.stat().st_size < 2_000_000
    opened = open_file(page)
    opened.wait_until_ready()
    line = opened.page.locator(".bertlook-textbox input[type=text]")
    assert not line.count() and opened.page.locator(".bertlook-needs-jupyter").count()


def answered(opened, act) -> None:
    before = opened.page.evaluate("globalThis.bertlookAnswers ?? 0")
    act()
    opened.wait(f"(globalThis.bertlookAnswers ?? 0) > {before}")


def test_heads_are_switched_off_and_guesses_and_loss_are_pythons_for_the_random_twin_too(live, specimen):
    bench = live.page.locator(".bertlook-bench")
    live.go("4-0")
    caption, scores = bench.locator(".bl-caption"), bench.locator(".bl-switch-scores p")
    texts = ["Rain fell.", "The old cat sat on the mat all day."]
    twin = load_encoder("specimen-random")
    expected = AblationBench(specimen, "He opened the door.", masked=2, twin=twin, texts=texts)
    for model, off, how in (
        (0, "1-2", "zero"),
        (0, "1-2 3-4", "uniform"),
        (0, "2-*", "zero"),
        (1, "3-4", "zero"),
        (0, "", "zero"),
    ):
        if bench.locator("select").last.input_value() != str(model):
            answered(live, lambda index=model: bench.locator("select").last.select_option(str(index)))
        answered(live, bench.locator(".bl-switch-button").last.click)  # all off
        answered(live, bench.locator(".bl-switch-button").first.click)  # all on
        if bench.locator("select").first.input_value() != how:
            answered(live, lambda way=how: bench.locator("select").first.select_option(way))
        for head in off.split():
            layer, number = (-1 if part == "*" else int(part) - 1 for part in head.split("-"))
            at = f"[data-layer='{layer}'][data-head='{number}']"
            answered(live, bench.locator(f".bl-switches {at}").click)
        expected.view.model_index, expected.view.how = model, how
        expected.off = " ".join(f"2-{head}" for head in range(1, 7)) if "*" in off else off
        shown, wanted = guesses_of(bench), expected.view.result
        for table, listed in zip(shown, (wanted["before"], wanted["after"])):
            assert [piece for piece, _ in table] == [piece for piece, *_ in listed], (off, how)
        assert caption.inner_text() == wanted["sentence"], (off, how)
        assert scores.all_inner_texts() == wanted["scores"], (off, how)
    answered(live, lambda: typed(live, "The [MASK] sat on the mat.", 5))
    expected.read("The [MASK] sat on the mat.")
    assert caption.inner_text() == expected.view.result["sentence"]


def test_the_hidden_word_is_guessed_and_answered_as_in_python(live, specimen):
    live.go("1-0")
    game, expected = (
        live.page.locator(".bertlook-masked-word"),
        MaskedWord(specimen, "He opened the door.", masked=2),
    )
    caption, line = game.locator(".bl-caption"), game.locator("input")
    for text in ("", "He opened the door and walked into the room.", "The [MASK] sat on the mat."):
        if text:
            answered(live, lambda typed_in=text: typed(live, typed_in, 2))
            expected.text_box.text.value = text
        assert not game.locator("table").is_visible() and "Right word" not in caption.inner_text()
        game.locator("button.bl-switch-button").click()
        assert caption.inner_text() == expected.view.sentence
        assert [piece for piece, _ in guesses_of(game)[0]] == [piece for piece, _ in expected.view.guesses]
        for answer in ("Closed", "unbelievably so", expected.view.guesses[2][0]):
            line.fill(answer)
            answered(live, lambda: line.press("Enter"))
            expected.view.answer = answer
            assert caption.inner_text() == expected.view.sentence
            assert ("Your guess is" in caption.inner_text()) == (answer == "unbelievably so")
        assert (
            answer in game.locator("th.bl-lit").all_inner_texts()
        )  # the third guess, typed, is marked in the list
    line.fill("日")
    answered(live, lambda: line.press("Enter"))
    expected.view.answer = "日"
    assert caption.inner_text() == expected.view.sentence and "knows nothing" in expected.view.sentence
    answered(live, game.locator(".bl-switch-word").nth(1).click)  # [MASK] was typed: no other word is hidden
    expected.view.chosen = 1
    assert caption.inner_text() == expected.view.message and "holds [MASK] already" in expected.view.message
    answered(live, lambda: typed(live, TEXT, 2))
    answered(live, game.locator(".bl-switch-word").nth(1).click)
    expected.text_box.text.value, expected.view.chosen = TEXT, 1
    game.locator("button.bl-switch-button").click()
    assert caption.inner_text() == expected.view.sentence and not live.errors


def test_the_walk_through_one_head_follows_what_is_typed(live, specimen):
    live.go("2-0")
    view = live.page.locator(".bertlook-neurons")
    expected = NeuronExplorer(specimen, TEXT, layer=2, head=1).neuron_view
    typed(live, TEXT, 3)
    assert view.locator(".bl-caption").inner_text() == expected.sentence
    view.locator("[tabindex='0']").focus()
    live.press("ArrowDown")
    expected.layer += 1
    assert view.locator(".bl-caption").inner_text() == expected.sentence


def test_a_pattern_and_a_sentence_are_answered_as_in_python(live, specimen):
    live.go("6-0")
    slide = live.page.locator("#slide-6-0")
    said, boxes = (
        slide.locator("[aria-live='polite'][dir='auto']"),
        slide.locator(".bertlook-textbox input[type=text]"),
    )
    alerts = slide.locator("[role='alert']")
    expected = TypedPattern(specimen, "Rain fell on the old roof.", "key.offset(-1)")
    assert said.last.inner_text() == expected.sentence

    def ask(box, text):
        boxes.nth(box).fill(text)
        answered(live, lambda: boxes.nth(box).press("Enter"))

    for box, text in (
        (1, "key.next('the')"),
        (0, "The cat saw the dog."),
        (1, "key.special() | key.itself()"),
    ):
        ask(box, text)
        [expected.text_box, expected.pattern_box][box].text.value = text
        assert said.last.inner_text() == expected.sentence and not alerts.count()
        assert f"Head 1-1: {expected.head_map.value:.3f}" in slide.inner_text()
    for box, text, wrong in (
        (1, "key.nothing()", "no condition"),
        (1, "query.pos('DET')", "treebank"),
        (0, "", "empty"),
    ):
        ask(box, text)
        assert any(wrong in one and "still shows the last text." in one for one in alerts.all_inner_texts())
        assert said.last.inner_text() == expected.sentence
    ask(0, "<b>The</b> & the <i>.")
    ask(1, "key.same_word()")
    expected.text_box.text.value, expected.pattern_box.text.value = "<b>The</b> & the <i>.", "key.same_word()"
    assert said.last.inner_text() == expected.sentence and not alerts.count() and not live.errors


def test_lenses_without_a_gradient_follow_what_is_typed(live, specimen):
    live.go("3-0")
    typed(live, TEXT, 4)
    found = live.page.evaluate(
        """async (text) => {
      const kept = { shape: [6, 6, 1], names: ["weight", "norm", "gradient", "rollout"], titles: [1, 2, 3, 4], sentences: ["", "", "", ""], lens: 3 };
      const run = (await OPENED).run(text, null, { norms: true });
      const traits = bertlookTraits.lensTraits(run, "note", { get: (name) => kept[name] });
      return { ...traits, data: [...new Uint16Array(traits.data.buffer)], full: [...new Float32Array(traits.full.buffer)] };
    }""".replace("OPENED", OPENED),
        TEXT,
    )
    wanted = lenses(read(specimen, TEXT), only=["weight", "norm", "rollout"])
    assert found["names"] == list(wanted) and found["lens"] == 2 and found["titles"] == [1, 2, 4]
    n = found["shape"][2]
    full = np.reshape(found["full"], (3, 6, 6, 1, 1))
    shown = np.reshape(found["data"], (3, 6, 6, n, n)) / 65535 * full
    assert (np.abs(shown - list(wanted.values())) / full).max() < 1e-4  # another processor: 5.6e-5
    drawn = live.page.locator(".bertlook-lenses")
    assert drawn.locator(".bl-lens-title").count() == 3
    assert "gradient, value zeroing, ablation need Jupyter" in drawn.inner_text()
    before = drawn.inner_text()
    typed(live, "word " * 80, 4)
    assert (
        "at most 64" in live.page.locator(".bertlook-message").nth(3).inner_text()
        and drawn.inner_text() == before
    )


def test_frames_whose_common_text_is_kept_once_are_whole_when_they_are_shown(live):
    live.go("5-0")
    texts = [frame.get_attribute("srcdoc") or "" for frame in live.page.locator("iframe[data-frame]").all()]
    assert ["x" * 2000 in text for text in texts] == [True, True]
    for i in range(2):
        frame = live.page.frame_locator(f"iframe[title='frame {i}']")
        assert frame.locator("p").inner_text() == f"{i} & more"
    live.go("0-0")


def guesses_of(bench) -> list[list[tuple[str, str]]]:
    """Of both lists: piece and share, as shown."""
    return [
        [tuple(row.locator("th, td").all_inner_texts()) for row in table.locator("tr").all()]
        for table in bench.locator(".bl-switch-list").all()
    ]


@pytest.mark.parametrize(
    ("act", "said"),
    [
        (lambda live, bench: typed(live, "[MASK] and [MASK]", 5), "holds 2 times [MASK]"),
        (lambda live, bench: typed(live, "", 5), "is empty"),
        (lambda live, bench: typed(live, "word " * 300, 5), "wordpieces at most"),
    ],
)  # fmt: skip
def test_what_the_bench_cannot_answer_it_says_and_goes_on(live, act, said):
    bench = live.page.locator(".bertlook-bench")
    live.go("4-0")
    answered(live, lambda: act(live, bench))
    assert said in bench.locator(".bl-caption").inner_text()
    answered(live, lambda: typed(live, "Rain fell on <b>roofs</b>.", 5))
    assert "Right word" in bench.locator(".bl-caption").inner_text()


# --- two models in one deck -------------------------------------------------------------------------------------------
BOTH = """
from bertlook_teach import HeadExplorer, load_encoder
from IPython.display import display
display(HeadExplorer(load_encoder("specimen"), "We saw the small bird.", font_size=14, height=160))
display(HeadExplorer(load_encoder("minilm"), "We saw the small bird.", layer=2, head=11, font_size=14, height=160))
"""


@pytest.fixture(scope="module")
def both(tmp_path_factory):
    """A deck that speaks of the specimen and of MiniLM, exported with both beside it."""
    folder = styled(tmp_path_factory.mktemp("both"))
    source = folder / "04_both.ipynb"
    slide = {"slideshow": {"slide_type": "slide"}}
    nbformat.write(new_notebook(cells=[new_code_cell(BOTH, metadata=slide)]), source)
    return export(source, folder / "out")


def said_below(opened, line: int) -> str:
    return opened.page.locator(".bertlook-message").nth(line).inner_text()


def captions(opened) -> list[str]:
    """Of the two head views."""
    return opened.page.locator(".bertlook-view .bl-caption").all_inner_texts()


def test_each_view_is_answered_by_its_own_model_and_its_file_is_read_when_it_is_asked(
    open_file, both, specimen
):
    assert {path.name for path in both.parent.iterdir()} == {both.name, "specimen.js", "minilm.js"}
    opened, minilm = open_file(both), load_encoder("minilm")
    opened.wait_until_ready()
    read_files = []
    opened.page.on("request", lambda request: read_files.append(request.url.rpartition("/")[2]))
    typed(opened, TEXT)
    assert "minilm.js" not in read_files and "specimen.js" in read_files
    typed(opened, TEXT, 1)
    assert "minilm.js" in read_files and said_below(opened, 1) == ""
    small, large = captions(opened)
    assert HeadExplorer(specimen, TEXT).head_view.sentence in small
    expected = HeadExplorer(minilm, TEXT, layer=2, head=11)
    assert expected.head_view.sentence in large and expected.head_view.badge in large
    assert expected.head_view.badge not in small
    assert not opened.errors


def test_without_minilms_file_only_its_views_say_so(open_file, both, tmp_path, specimen):
    for name in (both.name, "specimen.js"):
        shutil.copy(both.parent / name, tmp_path)
    opened = open_file(tmp_path / both.name)
    opened.wait_until_ready()
    before = captions(opened)[1]
    typed(opened, TEXT, 1)
    assert said_below(opened, 1) == (
        "minilm.js, with which this file computes a new text, is not beside it. Open the deck itself: bertlook present 04 "
        "The picture still shows the last text."
    )
    typed(opened, TEXT)
    small, large = captions(opened)
    assert large == before and HeadExplorer(specimen, TEXT).head_view.sentence in small
    # The specimen's weights under MiniLM's name do not answer for it either.
    weights = (both.parent / "specimen.js").read_text().replace(").specimen =", ").minilm =")
    (tmp_path / "minilm.js").write_text(weights)
    typed(opened, "Rain fell.", 1)
    assert said_below(opened, 1).startswith("minilm.js holds another model than this page was made with.")
    assert captions(opened)[1] == before


def test_one_file_with_minilm_says_its_size(both, tmp_path):
    lines = []
    done = export_deck(both.parent.parent / "04_both.ipynb", tmp_path, single_file=True, say=lines.append)
    assert [path.name for path in tmp_path.iterdir()] == [both.name]
    size = done.page.stat().st_size / 1e6
    assert 45 < size < 50 and any("34.9 MB" in line for line in lines), lines


class Slow(SimpleHTTPRequestHandler):
    """Sends half of MiniLM's file, and the rest when it is told to."""

    go_on = threading.Event()

    def log_message(self, *said):
        pass

    def copyfile(self, source, output):
        if self.path.endswith("minilm.js"):
            output.write(source.read(17_000_000))
            self.go_on.wait(HANGS_AFTER / 1000)
        super().copyfile(source, output)


def test_from_a_server_a_bar_says_how_much_of_the_file_has_come(browser, both):
    """No offline context here: the page asks a server on this machine, and its policy lets it ask no other."""
    server = ThreadingHTTPServer(("127.0.0.1", 0), partial(Slow, directory=both.parent))
    threading.Thread(target=server.serve_forever, daemon=True).start()
    context = browser.new_context()
    opened = Deck(context.new_page(), f"http://127.0.0.1:{server.server_port}/{both.name}")
    opened.wait_until_ready()
    box = opened.page.locator(".bertlook-textbox input[type=text]").nth(1)
    box.fill(TEXT)
    box.press("Enter")
    opened.wait("(document.querySelector('.bertlook-message progress')?.value ?? 0) > 0.4")
    assert said_below(opened, 1).strip().endswith("is being read: 35 MB") and not said_below(opened, 0)
    opened.screenshot("minilm_is_being_read")
    Slow.go_on.set()
    opened.wait("globalThis.bertlookAnswers === 1")
    assert (
        HeadExplorer(load_encoder("minilm"), TEXT, layer=2, head=11).head_view.sentence in captions(opened)[1]
    )
    assert said_below(opened, 1) == "" and not opened.foreign and not opened.errors
    context.close()
    server.shutdown()
