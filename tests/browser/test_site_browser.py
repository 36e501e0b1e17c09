"""The site in a browser without a network: every page of it, every link, three widths, keys, contrast, and the playground.

Two decks with their saved pictures are built in the suite; BERTLOOK_SITE names a whole site to be walked through instead.
"""

from __future__ import annotations

import os
from pathlib import Path
from urllib.parse import unquote, urlsplit

import pytest
import torch
from transformers import BertForPreTraining

from bertlook_course.syllabus import find_deck, find_root
from bertlook_course.widgets import NeuronView
from bertlook_press.classroom import USUAL_PARTS, build_site
from bertlook_press.pages import playground_link
from bertlook_teach import extract_attention, load_encoder, measures
from bertlook_teach.views import HeadExplorer

from .conftest import HANGS_AFTER

WIDTHS = (360, 1280, 1920)

# One of each kind, and the longest: of a whole site every page is looked at.
LOOKED_AT = {
    "index.html", "404.html", "search.html", "lessons/03_where_heads_look.html", "playground.html", "recorded/bert-base-uncased.html", "exercises/index.html", "exercises/03_where_heads_look.html",
    "read/index.html", "read/results.html", "read/gallery.html", "read/models.html",
}  # fmt: skip

LINKS = "() => [...document.querySelectorAll('a[href], link[href], script[src], img[src]')].map((one) => one.href || one.src)"

ANCHOR = "(name) => !name || Boolean(document.getElementById(name)) || location.hash !== '#' + name"

# What sticks out to the right of the window without scrolling by itself.
OUTSIDE = """() => {
  const wide = document.documentElement.clientWidth + 1;
  if (document.documentElement.scrollWidth <= wide) return [];
  const scrolls = (node) => node && (/(auto|scroll|hidden|clip)/.test(getComputedStyle(node).overflowX) || scrolls(node.parentElement));
  return [...document.querySelectorAll("body *")].filter((one) => one.getBoundingClientRect().right > wide && !scrolls(one.parentElement))
    .slice(0, 3).map((one) => one.tagName + "." + one.className + ": " + one.textContent.trim().slice(0, 40));
}"""

# Text of too little contrast with the nearest background that is opaque.
FAINT = """() => {
  const parse = (colour) => (colour.match(/[\\d.]+/g) ?? []).map(Number);
  const light = (rgb) => {
    const [r, g, b] = rgb.slice(0, 3).map((x) => (x / 255 <= 0.04045 ? x / 255 / 12.92 : ((x / 255 + 0.055) / 1.055) ** 2.4));
    return 0.2126 * r + 0.7152 * g + 0.0722 * b;
  };
  const behind = (node) => {
    for (let one = node; one; one = one.parentElement) {
      const colour = parse(getComputedStyle(one).backgroundColor);
      if (colour.length === 3 || colour[3] === 1) return colour;
    }
    return [255, 255, 255];
  };
  const found = new Set();
  const walker = document.createTreeWalker(document.body, NodeFilter.SHOW_TEXT);
  while (walker.nextNode()) {
    const node = walker.currentNode.parentElement;
    if (!walker.currentNode.data.trim() || node.closest("svg, script, style, noscript, canvas, .outputs, .bl-unseen, .skip, :disabled") || !node.checkVisibility()) continue;
    const style = getComputedStyle(node);
    const [a, b] = [light(parse(style.color)), light(behind(node))].sort((x, y) => y - x);
    const large = parseFloat(style.fontSize) >= 24 || (parseFloat(style.fontSize) >= 18.6 && Number(style.fontWeight) >= 600);
    if ((a + 0.05) / (b + 0.05) < (large ? 3 : 4.5)) found.add(`${node.tagName}.${node.className} ${node.textContent.trim().slice(0, 30)}`);
  }
  return [...found].slice(0, 5);
}"""

# Scrolled by mouse alone: an element that scrolls sideways must be reached by key.
UNREACHED = """() => [...document.querySelectorAll("main *")].filter((one) => /(auto|scroll)/.test(getComputedStyle(one).overflowX)
  && one.scrollWidth > one.clientWidth + 1 && one.clientWidth && one.tabIndex < 0 && !one.querySelector("[tabindex='0'], a[href], button"))
  .slice(0, 3).map((one) => one.tagName + "." + one.className)"""


def is_deck(place: str) -> bool:
    """Decks have tests of their own, test_export_browser.py; here their links count, and that nothing is asked."""
    return place.startswith("decks/") and not place.endswith("_handout.html")


class Walked:
    """Every page of a site that links lead to, with what is wrong with it."""

    def __init__(self, folder: Path, page):
        self.folder, self.page = folder, page
        self.seen: set[str] = set()
        self.wrong: list[str] = []
        waiting = ["index.html", "404.html"]
        while waiting:
            place = waiting.pop(0)
            if place not in self.seen:
                self.seen.add(place)
                waiting += self.walk(place)

    def note(self, place: str, what: str, found) -> None:
        if found:
            self.wrong.append(f"{place}: {what}: {found}")

    def walk(self, place: str) -> list[str]:
        page = self.page
        page.errors.clear()
        page.requests.clear()
        page.set_viewport_size({"width": 1280, "height": 720})
        page.goto((self.folder / place).as_uri(), wait_until="load")
        found = []
        for link in page.evaluate(LINKS):
            parts = urlsplit(link)
            if parts.scheme in ("http", "https", "data", "mailto"):
                continue  # a source that is cited; nothing is fetched from it
            target = Path(unquote(parts.path))
            if parts.scheme != "file" or not target.is_file():
                self.note(place, "dead link", link)
            elif not target.is_relative_to(self.folder):
                self.note(place, "leads out of the site", link)
            elif target.suffix == ".html":
                found.append(target.relative_to(self.folder).as_posix())
        every = (
            os.environ.get("BERTLOOK_SITE")
            and not is_deck(place)
            and not place.startswith(("api/", "worksheets/"))
        )
        if every or place in LOOKED_AT:
            self.look(place)
        self.note(place, "errors", list(page.errors))
        self.note(
            place,
            "requests",
            [one for one in page.requests if not one.startswith(("file:", "data:", "blob:"))],
        )
        return found

    def look(self, place: str) -> None:
        page = self.page
        if "_handout" not in place:
            heads = page.evaluate(
                "() => [document.title, document.querySelector('meta[name=description]')?.content, document.querySelectorAll('h1').length]"
            )
            self.note(place, "title, description, one h1", None if all(heads) and heads[2] == 1 else heads)
            self.note(place, "faint", page.evaluate(FAINT))
            page.evaluate("() => document.documentElement.dataset.look = 'dark'")
            self.note(place, "faint in the dark", page.evaluate(FAINT))
            page.evaluate("() => document.documentElement.dataset.look = 'light'")
        for width in WIDTHS:
            page.set_viewport_size({"width": width, "height": 720})
            page.evaluate(
                "() => new Promise((done) => requestAnimationFrame(() => requestAnimationFrame(done)))"
            )
            self.note(place, f"outside at {width}", page.evaluate(OUTSIDE))
            if "_handout" not in place:  # the browser itself lets keys into what scrolls there
                self.note(place, f"not reached by key at {width}", page.evaluate(UNREACHED))


def wait(page, condition: str) -> None:
    """Ask until it is true: the page's policy forbids Playwright's own way, which evaluates text in the page."""
    for _ in range(HANGS_AFTER // 20):
        if page.evaluate(condition):
            return
        page.wait_for_timeout(20)
    pytest.fail(f"it never came true: {condition}")


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """A site of two decks, or the one that BERTLOOK_SITE names."""
    if named := os.environ.get("BERTLOOK_SITE"):
        return Path(named).resolve()
    root, out = find_root(), tmp_path_factory.mktemp("site") / "public"
    decks = [root / find_deck(root, "00"), root / find_deck(root, "03")]
    build_site(root, out, decks=decks, run=False, parts=set(USUAL_PARTS) - {"handouts"})
    return out


def test_every_page_can_be_reached_read_and_used(folder, blank):
    page = blank(offline=True)
    walked = Walked(folder, page)
    assert not walked.wrong, "\n".join(walked.wrong)
    pages = {path.relative_to(folder).as_posix() for path in folder.rglob("*.html")}
    assert {one for one in pages - walked.seen if not one.startswith("api/")} == set()


def test_the_menu_is_used_by_key_and_the_look_is_kept_to_both_ways(folder, blank):
    page = blank(offline=True)
    page.goto((folder / "read" / "glossary.html").as_uri())
    page.keyboard.press("Tab")
    assert page.evaluate("document.activeElement.textContent") == "To the text"
    page.keyboard.press("Tab")
    page.keyboard.press("Enter")
    page.wait_for_url("**/index.html")
    before = page.evaluate("getComputedStyle(document.body.parentElement).backgroundColor")
    page.locator("#look").press("Enter")
    assert page.evaluate("getComputedStyle(document.body.parentElement).backgroundColor") != before
    page.locator("#look").press("Enter")
    assert page.evaluate("getComputedStyle(document.body.parentElement).backgroundColor") == before


def test_a_link_to_the_playground_shows_its_head_its_view_and_its_map(folder, blank):
    page = blank(offline=True)
    page.goto((folder / "playground.html").as_uri() + "#head=4-3&view=1&map=to+itself")
    assert "Head 4-3" in page.locator("#bertlook-views .head_view .bl-caption").inner_text()
    assert page.locator("#bertlook-views .head_map select").input_value() == "to itself"
    page.locator("#bertlook-views .bl-heads").press("ArrowRight")
    wait(page, "location.hash.includes('head=4-4')")
    wait(page, "document.body.dataset.ready === 'yes'")  # the model has been read, and the link with it
    assert "head=4-4" in page.evaluate("location.hash")
    assert "The same sentence" in page.locator("#same").inner_text()
    assert page.errors == []


def test_weights_are_read_when_something_is_typed_and_the_first_page_is_small(folder, blank):
    page = blank(offline=True)

    def weights() -> list[str]:
        return [
            Path(urlsplit(one).path).name
            for one in page.requests
            if one.endswith(("specimen.js", "minilm.js"))
        ]

    page.goto((folder / "playground.html").as_uri() + "#head=4-3")
    page.wait_for_selector("body[data-ready]")
    page.locator("#bertlook-views .bl-heads").press("ArrowRight")
    wait(page, "location.hash.includes('head=4-4')")
    assert weights() == [] and page.locator("#words button").count() == 14
    page.fill("#first", "We saw a bird.")
    page.locator("#bertlook-views .bl-query", has_text="bird").first.wait_for()
    assert weights() == ["specimen.js"] and page.errors == []
    page.requests.clear()
    page.goto((folder / "index.html").as_uri())
    asked = [Path(unquote(urlsplit(one).path)) for one in page.requests if one.startswith("file:")]
    assert sum(path.stat().st_size for path in asked) < 400_000


def test_the_search_finds_slides_and_texts_and_reads_its_words_when_somebody_types(folder, blank):
    page = blank(offline=True)
    page.goto((folder / "search.html").as_uri())
    page.wait_for_timeout(100)
    assert not [one for one in page.requests if one.endswith("search-words.js")]
    page.fill("#words", "Holm")
    page.locator("#found a").first.wait_for()
    links = page.locator("#found a").evaluate_all("all => all.map(one => one.getAttribute('href'))")
    assert any(link.startswith("read/") for link in links) and "place" in page.locator("#said").inner_text()
    page.fill("#words", "[SEP] no-op")
    wait(page, "document.querySelector('#found a')?.textContent.includes('no-op')")
    page.fill("#words", "xylophone (")  # a bracket means something to a pattern
    wait(page, "document.getElementById('said').textContent.startsWith('Nothing has all')")
    page.fill("#words", "Whére heads look neighbour")  # letters count, not their accents
    slide = page.locator("#found a[href^='decks/03_'][href*='#/slide-']").first
    slide.wait_for()
    target = slide.get_attribute("href").partition("#/")[2]
    again = blank(offline=True)
    again.goto(page.url)
    again.locator(f"#found a[href$='{target}']").first.click()
    wait(again, f"document.querySelector('section section.present')?.id === '{target}'")
    assert page.errors == [] and again.errors == []


# Stands in for the workers with the models: even weights, and answers that say what was asked.
ENGINE = """
globalThis.bertlookAsked = [];
const standIn = (name, heads) => ({
  about: { name, title: `the ${name}`, n_layers: 6, n_heads: heads },
  async run(text, pair, { off }) {
    globalThis.bertlookAsked.push({ text, pair, off });
    if (text.includes("boom")) throw new Error("Nothing can be read.");
    const parts = [text, pair].filter((one) => one !== null).map((one) => one.split(/(?=[.,])|\\s+/));
    const tokens = ["[CLS]", ...parts[0], "[SEP]", ...(parts[1] ? [...parts[1], "[SEP]"] : [])];
    const first = parts[0].length + 2;
    const words = tokens.map((token, i) => (/^.(CLS|SEP).$/.test(token) ? -1 : i - 1));
    const n = tokens.length;
    const attention = new Float32Array(6 * heads * n * n).fill(1 / n);
    const spelt = Object.fromEntries(words.map((word, i) => [word, tokens[i]]));
    const [queries, keys] = [0, 1].map(() => new Float32Array(6 * heads * n * 4));
    return { queries, keys, special: words.map((word) => word < 0), tokens, words, spelt, segments: tokens.map((_, i) => Number(i >= first)), attention, n, cut: n > 20, off };
  },
  async guesses(run, position) {
    if (heads === 12) throw new Error("It guesses no words.");
    return [{ token: `place${position}`, p: 0.5 }, { token: run.off.length ? "less" : "bird", p: 0.25 }];
  },
  async next_sentence(run) { return run.off.length ? 0.25 : 0.75; },
});
const made = { specimen: standIn("specimen", 6), minilm: standIn("minilm", 12) };
async function load({ name, missing }, hear) {
  hear(`${name} is being read`);
  if (globalThis.bertlookLost === name) throw new Error(missing);
  return made[name];
}
Object.defineProperty(globalThis, "bertlookEngine", { get: () => ({ load }), set() {} });
"""


@pytest.fixture
def play(folder, browser):
    """``play(fragment)`` opens the playground with the stand-in; with ``real=True`` the specimen computes."""
    contexts = [browser.new_context(offline=True) for _ in range(2)]
    contexts[0].add_init_script(ENGINE)

    def play(fragment: str = "", real: bool = False):
        context = contexts[real]
        page = context.new_page()
        page.goto((folder / "playground.html").as_uri() + fragment)
        page.wait_for_selector("body[data-ready]")
        return page

    yield play
    for context in contexts:
        context.close()


def test_what_is_typed_is_computed_and_stays_in_the_address(play):
    page = play()
    page.fill("#first", "We saw a bird.")
    wait(page, "location.hash.includes('We+saw+a+bird')")
    page.locator(".bl-query", has_text="bird").first.wait_for()
    assert page.locator("#words button").all_inner_texts() == ["We", "saw", "a", "bird", "."]
    assert "Another sentence" in page.locator("#same").inner_text()
    assert (
        ".14" in page.locator("#bertlook-views .head_map .bl-cell").nth(0).inner_text()
        or "0.122" in page.locator(".bl-readout").first.inner_text()
    )


def test_a_masked_word_is_guessed_with_and_without_a_head(play):
    page = play("#text=We+saw+a+bird.&pair=It+sang.&head=2-3")
    page.locator("#words button", has_text="bird").click()
    page.locator(".guess.true").wait_for()
    assert page.evaluate("bertlookAsked.at(-1)")["text"] == "We saw a [MASK]."
    assert "75 %" in page.locator("#next").inner_text()
    page.locator("#switch").click()
    page.locator("#guesses h3", has_text="Without 2-3").wait_for()
    assert page.locator(".guess.true").count() == 1 and "less" in page.locator("#guesses").inner_text()
    assert "All heads: 75 %; Without 2-3: 25 %" in page.locator("#next").inner_text()
    assert page.locator(".bl-cell.off").count() == 1
    link = page.evaluate("location.hash")
    assert "off=2-3" in link and "mask=4" in link
    again = play(link)
    assert again.locator("#guesses h3").all_inner_texts() == ["All heads", "Without 2-3"]
    assert again.locator("#words button[aria-pressed=true]").inner_text() == "bird"


def test_what_cannot_be_read_is_said_and_the_picture_stays(play):
    page = play("#text=We+saw+a+bird.&head=99-1&off=7-7,x,1-1&view=9&mask=77")
    assert page.locator("#offs").inner_text().startswith("Off: 1-1 ")
    page.fill("#first", "boom")
    wait(page, "document.getElementById('said').textContent.includes('Nothing can be read')")
    assert page.locator(".bl-query", has_text="bird").count() >= 1
    page.fill("#first", "  ")
    wait(page, "document.getElementById('said').textContent.includes('Type a sentence')")
    page.fill("#first", "<img src=x onerror=alert(1)> " + "a " * 30)
    wait(page, "document.getElementById('said').textContent.includes('the rest was cut')")
    assert page.locator("#words img, .bl-token img").count() == 0


def test_another_model_is_chosen_and_stays_in_the_address(play):
    page = play("#text=We+saw+a+bird.&head=2-3&mask=4")
    page.locator("#model").select_option("minilm")
    page.locator("#guesses", has_text="It guesses no words.").wait_for()
    assert page.locator("#bertlook-views .head_map .bl-cell").count() == 72
    assert page.locator(".badge.own").all_inner_texts() == ["the minilm", "the minilm"]
    assert "the minilm" in page.locator("#bertlook-views .head_view .bl-caption").inner_text()
    page.evaluate("() => bertlookModels[0].set({ layer: 4, head: 11 })")
    page.locator("#switch").click()
    wait(page, "location.hash.includes('model=minilm') && location.hash.includes('off=5-12')")
    again = play(page.evaluate("location.hash"))
    assert again.locator("#model").input_value() == "minilm"
    assert "Head 5-12" in again.locator("#bertlook-views .head_view .bl-caption").inner_text()
    assert again.locator("#offs").inner_text().startswith("Off: 5-12")
    again.locator("#model").select_option("specimen")
    wait(again, "!location.hash.includes('model=')")
    assert again.locator("#bertlook-views .head_map .bl-cell").count() == 36
    assert again.locator("#offs").inner_text() == ""
    assert "Head 5-6" in again.locator("#bertlook-views .head_view .bl-caption").inner_text()


def test_a_model_whose_file_is_not_there_leaves_the_other_one(play):
    page = play()
    page.evaluate("() => (globalThis.bertlookLost = 'minilm')")
    page.locator("#model").select_option("minilm")
    wait(page, "document.getElementById('said').textContent.startsWith('minilm.js is not beside')")
    assert page.locator("#model").input_value() == "specimen" and page.locator("#reading").inner_text() == ""
    page.fill("#first", "We saw a bird.")
    page.locator(".bl-query", has_text="bird").first.wait_for()
    assert page.locator("#bertlook-views .head_map .bl-cell").count() == 36


def test_the_page_computes_what_python_does(play):
    encoder = load_encoder("specimen")
    entropies = measures.attention_entropy(extract_attention(encoder, "The old man saw a bird.", "It sang."))
    page = play("#text=The+old+man+saw+a+bird.&pair=It+sang.&head=6-2&map=entropy+(nats)", real=True)
    assert f"Head 6-2: {entropies[5, 1]:.3f}" in page.locator(".bl-readout").first.inner_text()
    page.locator("#words button", has_text="bird").click()
    page.locator(".guess").nth(4).wait_for()
    given = {
        name: torch.tensor([ids])
        for name, ids in encoder.tokenizer("The old man saw a [MASK].", "It sang.").items()
    }
    model = BertForPreTraining.from_pretrained(find_root() / "data" / "model").float().eval()
    with torch.inference_mode():
        best = model(**given).prediction_logits[0, 6].argsort(descending=True)[:5].tolist()
    shown = page.locator(".guess > :first-child").all_inner_texts()
    assert [one.removesuffix(" ✓") for one in shown] == encoder.tokenizer.convert_ids_to_tokens(best)
    assert "Does the second sentence follow the first?" in page.locator("#next").inner_text()
    page.evaluate("() => (bertlookModels[0].set('layer', 2), bertlookModels[0].set('head', 3))")
    attention = extract_attention(encoder, "The old man saw a bird.", "It sang.", vectors=True)
    said = page.locator("#inside [aria-live='polite']").first.inner_text()
    assert said.endswith(NeuronView(attention, layer=2, head=3).sentence)


def test_minilm_computes_what_python_does(play):
    page = play("#text=The+old+man+saw+a+bird.&head=6-12&map=entropy+(nats)&model=minilm", real=True)
    attention = extract_attention(load_encoder("minilm"), "The old man saw a bird.")
    entropies = measures.attention_entropy(attention)
    assert f"Head 6-12: {entropies[5, 11]:.3f}" in page.locator(".bl-readout").first.inner_text()
    page.locator("#words button", has_text="bird").click()
    page.locator("#guesses", has_text="guesses no words: it has no masked-LM head.").wait_for()


def test_a_pair_of_tokens_is_in_the_link(play):
    page = play("#text=We+saw+a+bird.&head=2-3&query=3&key=5")
    wait(page, "bertlookModels[0].get('pair').name")
    assert page.evaluate("bertlookModels[0].get('pair').name") == "from “saw” to “bird”"
    assert "query=3&key=5" in page.evaluate("location.hash")


def test_the_link_of_an_explorer_opens_what_it_shows(play):
    explorer = HeadExplorer(
        load_encoder("specimen"), "We saw a bird.", measure="to itself", layer=1, head=2, style="grid"
    )
    explorer.head_view.level = "word"
    explorer.head_view.query, explorer.head_view.key = 2, 4
    page = play(playground_link(explorer, ""), real=True)
    page.locator(".bl-query", has_text="bird").first.wait_for()
    shown = page.evaluate(
        "['layer', 'head', 'style_index', 'level_index', 'query', 'key'].map((name) => bertlookModels[1].get(name))"
    )
    assert shown == [1, 2, 1, 1, 2, 4]
    page.locator("#bertlook-views .head_map select").select_option("to itself")
    wait(page, "!bertlookModels[0].get('pair').name")
    assert page.evaluate("bertlookModels[0].get('measure')") == "to itself"


@pytest.mark.parametrize("change", [{"minus": "specimen-random"}, {}], ids=["difference", "other model"])
def test_what_the_playground_cannot_show_has_no_link(change):
    model = "specimen" if change else "specimen-random"
    others = {name: load_encoder(other) for name, other in change.items()}
    with pytest.raises(ValueError, match="the playground holds specimen and minilm"):
        playground_link(HeadExplorer(load_encoder(model), "We saw a bird.", **others))


def test_a_text_file_of_ones_own_fills_the_menu_of_sentences(play, tmp_path):
    page = play()
    mine = tmp_path / "mine.txt"
    mine.write_text(
        "The lions slept.\n\nWe ate.\tIt was good.\n3\n<img src=x onerror=window.broken=1>\n",
        encoding="utf-8",
    )
    page.set_input_files("#file", mine)
    wait(page, "document.getElementById('first').value === 'The lions slept.'")
    assert page.locator("#example optgroup option").all_inner_texts()[1:3] == ["We ate. / It was good.", "3"]
    page.select_option("#example", label="We ate. / It was good.")
    wait(page, "location.hash.includes('pair=It+was+good.')")
    page.select_option("#example", label="3")
    wait(page, "document.getElementById('first').value === '3'")
    page.locator(".bl-query", has_text="3").first.wait_for()
    page.wait_for_timeout(300)
    page.set_input_files("#file", {"name": "mine.txt", "mimeType": "text/plain", "buffer": b"\x00\x01"})
    wait(page, "document.getElementById('said').textContent.includes('holds no lines of text')")
    assert page.evaluate("window.broken") is None
