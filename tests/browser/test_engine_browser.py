"""The shipped models in the page against the same in Python: the same wordpieces, maps and guesses, and no request."""

from __future__ import annotations

import base64
from itertools import pairwise

import numpy as np
import pytest

from bertlook_course.corpora import load_texts
from bertlook_press.pages import engine_source, model_bytes, page_model
from bertlook_teach.model import extract_attention, load_encoder
from bertlook_teach.model.numpy_bert import NumpyBert
from bertlook_teach.model.reading import read

NASTY = [
    "Ünïcödé cafe\u0301 naïve",
    "emoji 😀 here 👩\u200d👩\u200d👧",
    "שלום hello عربى",
    "\x00\x07 control \u200b zero\u200dwidth \ufeff mark",
    "<b>markup</b> & <script>alert(1)</script>",
    "中文 text 日本",
    "tab\tnew\nline\r x\u00a0y\u2028z\u0085",
    "the [MASK] ate [SEP] x[PAD] [mask]",
    "a" * 101 + " b " + "c" * 100,
    "ẞ straße İstanbul ŉ ΣΑΣ",
    "don't 20°C $5 ½ ² ①",
    "  spaces   ",
    "_under-score—dash…",
    "ﬁ ligature ｆｕｌｌ x\u0300\u0301y 한국어",
    "word " * 400,
]
CUT = [(50, 120), (120, 50), (120, 130), (130, 120), (62, 63), (64, 62), (125, 125), (200, 201)]
REFUSED = ["", "   ", "\u200b", "日", ("a cat", " ")]


@pytest.fixture(scope="module")
def specimen():
    return load_encoder("specimen")


@pytest.fixture(scope="module")
def inputs():
    texts = load_texts()
    pairs = list(pairwise(texts[:61])) + [("word " * a, "other " * b) for a, b in CUT]
    return [*texts[:140], *pairs, *NASTY]


@pytest.fixture(scope="module")
def minilm():
    return load_encoder("minilm")


def opened(browser, name: str):
    """A page that holds a model."""
    page = browser.new_context(offline=True).new_page()
    page.set_content(f"<p>{name}</p>")
    page.add_script_tag(content=engine_source())
    page.add_script_tag(content=page_model(name).script)
    page.evaluate(
        """(name) => {
          window.text = bertlookWeights[name];
          window.bytes = bertlookEngine.decoded(text);
          window.model = bertlookEngine.open(bytes);
          window.asked = (item) => Array.isArray(item) ? item : [item, null];
          window.packed = (floats) => {  // number by number they take seconds to come over
            const bytes = new Uint8Array(floats.buffer, floats.byteOffset, floats.byteLength), parts = [];
            for (let at = 0; at < bytes.length; at += 32768) parts.push(String.fromCharCode(...bytes.subarray(at, at + 32768)));
            return btoa(parts.join(""));
          };
        }""",
        name,
    )
    return page


@pytest.fixture(scope="module")
def page(browser):
    page = opened(browser, "specimen")
    yield page
    page.context.close()


@pytest.fixture(scope="module")
def minilm_page(browser):
    page = opened(browser, "minilm")
    yield page
    page.context.close()


def unpacked(text: str) -> np.ndarray:
    return np.frombuffer(base64.b64decode(text), "<f4")


def in_python(encoder, item):
    got = read(encoder, item, truncate=True)
    words = [-1 if word is None else word for word in got.word_ids]
    named = {"ids": got.ids, "tokens": got.tokens, "segments": got.segment_ids, "special": got.special}
    named["spelt"] = got.words
    return {name: list(value) for name, value in named.items()} | {"words": words, "cut": got.truncated}


def test_every_text_is_cut_into_the_same_wordpieces(page, specimen, inputs):
    found = page.evaluate("items => items.map((item) => model.tokenize(...asked(item)))", inputs)
    for item, one in zip(inputs, found):
        assert one == in_python(specimen, item), item


@pytest.mark.parametrize("item", REFUSED, ids=ascii)
def test_what_python_refuses_the_page_refuses_in_words(page, specimen, item):
    with pytest.raises(ValueError, match="empty|nothing is left|knows nothing"):
        read(specimen, item)
    said = page.evaluate(
        "item => { try { model.run(...asked(item)); } catch (error) { return error.message; } }", item
    )
    assert said and any(word in said for word in ("empty", "Nothing is left", "knows nothing"))


def test_maps_and_vectors_are_those_of_python(page, specimen, inputs):
    for item in [one for one in inputs if len(str(one)) < 120][::12]:
        text, pair = item if isinstance(item, tuple) else (item, None)
        want = extract_attention(specimen, text, pair, vectors=True, truncate=True)
        got = page.evaluate(
            "item => { const r = model.run(...asked(item), {vectors: true});"
            " return [r.attention, r.queries, r.keys, r.values].map(packed); }",
            item,
        )
        for values, array in zip(got, (want.weights, want.queries, want.keys, want.values)):
            assert np.abs(unpacked(values).reshape(array.shape) - array).max() < 2e-4


def test_the_same_five_guesses_in_the_same_order(page, specimen):
    places = [
        (f"{' '.join(text.split()[:2])} [MASK] {' '.join(text.split()[3:])}", text)
        for text in load_texts()[:50]
    ]
    same = 0
    for text, _ in places:
        got = page.evaluate(
            "text => { const r = model.run(text); const at = r.tokens.indexOf('[MASK]'); return [at, model.guesses(r, at, 5)]; }",
            text,
        )
        at, guesses = got
        reading = read(specimen, text)
        last = specimen.engine.run(np.array([reading.ids])).states[-1][0, at]
        scores = specimen.engine.masked_lm(last).astype(float)
        p = np.exp(scores - scores.max())
        p /= p.sum()
        best = np.argsort(-p, kind="stable")[:5]
        same += [one["token"] for one in guesses] == specimen.tokenizer.convert_ids_to_tokens(best.tolist())
        assert [one["p"] for one in guesses] == pytest.approx(p[best].tolist(), abs=1e-4)
    assert same >= 0.98 * len(places)


@pytest.mark.parametrize("how", ["zero", "uniform"])
def test_a_head_that_is_off_hands_on_nothing_or_the_mean_of_all_values(page, specimen, how):
    """The second way: the columns of the output matrix that read the head are zero, or its queries are, so that all scores are equal."""
    engine, size = specimen.engine, specimen.engine.config.hidden_size // specimen.n_heads
    weights = dict(engine.weights)
    off = ((0, 1), (3, 5))
    for layer, head in off:
        part = slice(head * size, (head + 1) * size)
        block = f"encoder.layer.{layer}.attention"
        changed = {"zero": ["output.dense.weight"], "uniform": ["self.query.weight", "self.query.bias"]}[how]
        for name in (f"{block}.{one}" for one in changed):
            weights[name] = weights[name].copy()
            weights[name][(slice(None), part) if how == "zero" else part] = 0
    less = NumpyBert(vars(engine.config), weights, engine.heads)
    reading = read(specimen, ("The man opened the door.", "He walked into the room."))
    ids, segments = np.array([reading.ids]), np.array([reading.segment_ids])
    passed = less.run(ids, segments=segments)
    want = np.stack([one[0] for one in passed.maps])
    next_want = less.next_sentence(passed.states[-1][0, 0])
    got, goes_on, whole = page.evaluate(
        """how => {
          const pair = ["The man opened the door.", "He walked into the room."];
          const r = model.run(...pair, {off: [[0, 1], [3, 5]], how});
          return [Array.from(r.attention), model.next_sentence(r), model.next_sentence(model.run(...pair))];
        }""",
        how,
    )
    apart = np.abs(np.reshape(got, want.shape) - want)
    if how == "uniform":  # the page still shows where the head would look
        apart[tuple(zip(*off))] = 0
    assert apart.max() < 2e-4
    assert goes_on == pytest.approx(float(np.exp(next_want[0]) / np.exp(next_want).sum()), abs=1e-4)
    assert abs(goes_on - whole) > 2e-4


def test_the_worker_answers_as_the_page_does_and_without_workers_the_page_does(page):
    ask = """async (without) => {
      const own = window.Worker;
      if (without) window.Worker = class { constructor() { throw new Error("no workers here"); } };
      const remote = await bertlookEngine.worker(text);
      window.Worker = own;
      const r = await remote.run("The cat [MASK].", null, {off: [[1, 1]]});
      const wrong = await remote.run("").catch((error) => error.message);
      const guesses = await remote.guesses(r, 3, 2);
      remote.close();
      return [remote.inPage, remote.about.name, guesses, wrong, Array.from(r.attention)];
    }"""
    remote, here = page.evaluate(ask, False), page.evaluate(ask, True)
    assert (remote[0], here[0]) == (False, True) and remote[1:] == here[1:]
    assert remote[1] == "specimen" and "empty" in remote[3]


@pytest.mark.parametrize(
    "change, message",
    [
        ("bytes.slice(0, 1e6)", "cut short"),
        ("bertlookEngine.decoded(text.slice(0, 1000001))", "cut short"),
        ("flipped(bytes, 5e6)", "checksum is another one"),
        ("flipped(bytes, 5000)", "checksum is another one"),
        ("bertlookEngine.decoded('no base64: ' + text)", "damaged, or no such file"),
        ("bytes.slice(0, 3)", "missing or empty"),
        ("undefined", "missing or empty"),
        ("new Uint8Array(1000).fill(7).buffer", "damaged, or no such file"),
        ("headed({version: 2})", "is of version 2, and this page reads version 1"),
        ("headed({format: 'x'})", "another kind of file"),
    ],
)
def test_a_file_that_is_not_what_was_written_is_refused(page, change, message):
    said = page.evaluate(
        f"""() => {{
          const headed = (about) => {{
            const text = new TextEncoder().encode(JSON.stringify({{format: "bertlook weights", version: 1, ...about}}));
            const all = new Uint8Array(8 + text.length);
            new DataView(all.buffer).setUint32(0, text.length, true);
            all.set(text, 8);
            return all.buffer;
          }};
          const flipped = (bytes, at) => {{ // one bit: a letter of the vocabulary becomes another one
            const other = new Uint8Array(bytes.slice(0));
            other[at] ^= 1;
            return other.buffer;
          }};
          try {{ bertlookEngine.open({change}); }} catch (error) {{ return error.message; }}
        }}"""
    )
    assert message in (said or "")


def test_a_long_paste_and_a_long_text_are_cut_and_it_is_said(page):
    n, cut = page.evaluate("() => { const r = model.run('the cat sat '.repeat(8334)); return [r.n, r.cut]; }")
    assert (n, cut) == (128, True)
    assert page.evaluate("model.run('the cat').cut") is False


def test_other_models_are_refused_and_the_files_are_small():
    with pytest.raises(ValueError, match="specimen and minilm; got 'specimen-random'"):
        model_bytes("specimen-random")
    assert len(page_model("specimen").script) < 12e6 and len(page_model("minilm").script) <= 35e6


def test_minilm_reads_as_in_python(minilm_page, minilm, inputs):
    """Of 8 bits a weight the page makes what Python makes; its longest text, too, and one that is cut."""
    words = [item for item in [*inputs[::8], *NASTY] if len(str(item)) < 300]
    found = minilm_page.evaluate("items => items.map((item) => model.tokenize(...asked(item)))", words)
    for item, one in zip(words, found):
        assert one == in_python(minilm, item), item
    for item in [*[one for one in words if len(str(one)) < 120][::6], "the cat sat on a mat " * 25]:
        text, pair = item if isinstance(item, tuple) else (item, None)
        want = extract_attention(minilm, text, pair, vectors=True, truncate=True)
        got = minilm_page.evaluate(
            "item => { const r = model.run(...asked(item), {vectors: true});"
            " return [r.attention, r.queries, r.keys, r.values].map(packed); }",
            item,
        )
        for values, array in zip(got, (want.weights, want.queries, want.keys, want.values)):
            assert np.abs(unpacked(values).reshape(array.shape) - array).max() < 2e-3


def test_what_minilm_has_no_head_for_it_says_in_one_line(minilm_page, minilm):
    about, *said = minilm_page.evaluate(
        """() => {
          const r = model.run("the [MASK] sat");
          const refused = (ask) => { try { return ask(); } catch (error) { return error.message; } };
          return [model.about, refused(() => model.guesses(r, 2)), refused(() => model.probability(r, 2, "cat")),
            refused(() => model.losses({ ids: r.ids, places: [2], truths: [5] })), refused(() => model.next_sentence(r))];
        }"""
    )
    assert (about["n_layers"], about["n_heads"], about["fingerprint"]) == (6, 12, minilm.fingerprint)
    assert said[:3] == [f"{about['title']} guesses no words: it has no masked-LM head."] * 3
    assert said[3] == f"{about['title']} has no head for the next sentence."
