"""BertViz's views: our numbers in, whatever the encoder; the same page twice; nothing fetched, nothing let out."""

from __future__ import annotations

import html
import json
import re
from dataclasses import replace

import numpy as np
import pytest
from made import random_maps, refusals, vector_attention

from bertlook_press.bertviz import bertviz_head_view, bertviz_model_view, bertviz_neuron_view
from bertlook_press.bertviz import frames as module
from bertlook_press.bertviz import scripts as bertviz_scripts
from bertlook_teach import Attention

pytest.importorskip("bertviz", reason="a part of the extra lab")

LAYERS, HEADS, DIM = 3, 2, 5
HOSTILE = [
    "[CLS]",
    "<img src=x onerror=alert(1)>",
    "</script><b>",
    "]]>&amp;\u2028",
    'say "no"',
    "</iframe>",
    "[SEP]",
]
VIEWS = {"head": bertviz_head_view, "model": bertviz_model_view, "neuron": bertviz_neuron_view}


def attention(
    tokens=("[CLS]", "cat", "sat", "[SEP]"), *, second=None, vectors=True, level="wordpiece", seed=3
):
    """What extract_attention would return; ``second`` is where the second text begins."""
    segments = tuple(int(second is not None and i >= second) for i in range(len(tokens)))
    given = vector_attention(tokens, LAYERS, HEADS, dim=DIM, seed=seed, segment_ids=segments, level=level)
    return given if vectors else replace(given, queries=None, keys=None)


def data_of(view) -> dict:
    """The numbers a page carries."""
    return json.loads(re.search(r"const data = (\{.*?\});\n", view.page).group(1))


# ---- numbers --------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", ["head", "model"])
def test_the_page_carries_every_weight_at_three_digits_and_once(name):
    given = attention()
    view = VIEWS[name](given)
    carried = np.array(data_of(view)["attention"])
    assert carried.dtype == int
    assert np.abs(carried / 1000 - given.weights).max() <= 0.0005 + 1e-9
    assert view.page.count(json.dumps(data_of(view)["attention"], separators=(",", ":"))) == 1


def test_rows_are_queries():
    """A map in which everything looks at token 1: swapped, it would be looked at by token 1 alone."""
    given = attention()
    given.weights[:] = 0
    given.weights[..., 1] = 1
    for view in VIEWS.values():
        carried = np.array(data_of(view(given))["attention"])
        assert (carried[0, 0, :, 1] == 1000).all() and carried[0, 0, 1, 0] == 0


def test_the_neuron_view_carries_queries_and_keys_of_its_layer():
    given = attention()
    data = data_of(bertviz_neuron_view(given, layer=2, head=1, query=3))
    assert data["include_layers"] == [2] and data["layer"] == 0 and data["head"] == 1 and data["query"] == 3
    assert np.abs(np.array(data["queries"]) / 1000 - given.queries[2:3]).max() <= 0.0005 + 1e-9
    assert np.abs(np.array(data["keys"]) / 1000 - given.keys[2:3]).max() <= 0.0005 + 1e-9
    assert not np.allclose(data["queries"], data["keys"])


def test_layers_and_heads_can_be_chosen():
    given = attention()
    data = data_of(bertviz_model_view(given, layers=[2, 0], heads=[1]))
    assert np.array(data["attention"]).shape == (2, 1, 4, 4)
    assert np.allclose(np.array(data["attention"])[0, 0] / 1000, given.weights[2, 1], atol=0.0006)
    assert (data["include_layers"], data["include_heads"]) == ([2, 0], [1])
    data = data_of(bertviz_head_view(given, layers=[1, 2], layer=2, heads=[1]))
    assert (data["layer"], data["heads"], data["include_layers"]) == (2, [1], [1, 2])


def test_a_pair_of_texts_says_where_the_second_begins_and_offers_four_parts():
    view = bertviz_head_view(attention(["[CLS]", "a", "[SEP]", "b", "c", "[SEP]"], second=3))
    assert data_of(view)["boundary"] == 3
    assert re.findall(r"<option value=\"(\d)\">([^<]+)<", view.page) == [
        ("0", "All"),
        ("1", "Sentence A -&gt; Sentence A"),
        ("2", "Sentence B -&gt; Sentence B"),
        ("3", "Sentence A -&gt; Sentence B"),
        ("4", "Sentence B -&gt; Sentence A"),
    ]
    assert data_of(bertviz_head_view(attention()))["boundary"] is None


def test_words_can_be_shown_and_have_no_neurons():
    words = attention(level="word", vectors=False)
    assert "4 words" in bertviz_head_view(words).sentence


def test_byte_level_and_sentence_pieces_show_the_space_they_stand_for():
    assert data_of(bertviz_head_view(attention(["<s>", "Ġcat", "▁sat", "</s>"])))["tokens"] == [
        "<s>",
        " cat",
        " sat",
        "</s>",
    ]


@pytest.mark.parametrize("name", VIEWS)
def test_one_token_is_enough(name):
    assert "1 token," in VIEWS[name](attention(["[CLS]"])).sentence


# ---- as BertViz itself would do it ----------------------------------------------------------------------------


def test_the_data_are_those_of_bertviz_itself():
    """BertViz's own Python, where it is installed, must ask its scripts for nothing that we do not give."""
    bertviz = pytest.importorskip(
        "bertviz", reason="not needed here, and it brings Amazon's client libraries"
    )
    import torch

    given = attention(["[CLS]", "a", "[SEP]", "b", "c", "[SEP]"], second=3)
    maps = [torch.tensor(layer)[None] for layer in given.weights]
    for name, show in (("head", bertviz.head_view), ("model", bertviz.model_view)):
        theirs = show(maps, list(given.tokens), sentence_b_start=3, html_action="return").data
        params = json.loads(re.search(r"const params = (\{.*?\}); //", theirs).group(1))
        ours = VIEWS[name](given)
        assert set(params) <= set(data_of(ours))
        assert [part["name"] for part in params["attention"]] == [f[0] for f in module._FILTERS]
        assert np.allclose(
            params["attention"][0]["attn"], np.array(data_of(ours)["attention"]) / 1000, atol=0.0006
        )
        ids = set(re.findall(r"""\bid=["']?([\w-]+)""", theirs.split("<script type")[0]))
        assert {i for i in ids if not i.startswith("bertviz-")} <= set(
            re.findall(r'\bid="([\w-]+)"', ours.page)
        )


@pytest.mark.parametrize("name", VIEWS)
def test_a_script_asks_only_for_what_it_is_given(name):
    given = attention(["[CLS]", "a", "[SEP]", "b", "c", "[SEP]"], second=3)
    page = VIEWS[name](given).page
    script = module._flat(bertviz_scripts.bertviz_script(f"{name}_view"))
    asked = set(re.findall(r"params\['(\w+)'\]", script))
    assert asked and asked <= set(data_of(VIEWS[name](given)))
    controls = set(re.findall(r"\$\(`#\$\{config\.rootDivId\} #(\w+)`\)", script))
    assert controls and controls <= set(re.findall(r'\bid="(\w+)"', page))
    used = set(re.findall(r"\bd3\.(\w+)", re.sub(r"(?s)/\*.*?\*/", "", script))) - {"version", "scale"}
    readme = (bertviz_scripts._D3.parent / "README.md").read_text(encoding="utf-8")
    assert used and used <= set(re.findall(r"\w+", readme.split("```js")[1].split("```")[0]))


# ---- the same page twice, small, safe -------------------------------------------------------------------------


@pytest.mark.parametrize("name", VIEWS)
def test_the_same_attention_makes_the_same_page(name):
    first, again = VIEWS[name](attention()), VIEWS[name](attention())
    assert first._repr_html_() == again._repr_html_()
    assert first._repr_html_() != VIEWS[name](attention(seed=4))._repr_html_()
    assert repr(first) == f"BertVizView: {first.sentence}"


def test_a_saved_head_view_of_a_short_sentence_is_small():
    given = replace(attention(["token"] * 12), weights=random_maps(6, 6, 12, 12))
    assert len(json.dumps(bertviz_head_view(given)._repr_html_())) < 200_000


@pytest.mark.parametrize("name", VIEWS)
def test_no_token_becomes_markup(name):
    view = VIEWS[name](attention(HOSTILE))
    page = view.page
    assert data_of(view)["tokens"] == HOSTILE
    assert "<img" not in page and "onerror=alert(1)>" not in page and "</iframe>" not in page
    own = bertviz_scripts.jquery_script().count("<script>")  # a string in jQuery
    assert page.count("</script>") == page.count("<script>") - own == 6
    assert "\u2028" not in page
    frame = view._repr_html_()
    source = re.search(r'srcdoc="([^"]*)"', frame).group(1)
    assert html.unescape(source) == page  # and the attribute ended where it should
    assert frame.endswith("</figcaption></figure>")


@pytest.mark.parametrize("name", VIEWS)
def test_the_frame_may_fetch_nothing_and_reach_nothing(name):
    view = VIEWS[name](attention())
    assert 'sandbox="allow-scripts"' in view._repr_html_()
    assert "default-src 'none'" in view.page
    addresses = re.findall(r"https?://[^\s\"'`)]+", re.sub(r"(?s)/\*.*?\*/", "", view.page))
    assert all(address.startswith("http://www.w3.org/") for address in addresses)
    assert "requirejs(" not in view.page and "require.config(" not in view.page


def test_the_frame_has_a_title_and_a_sentence():
    view = bertviz_neuron_view(attention(), layer=1)
    assert f'title="{html.escape(view.sentence)}"' in view._repr_html_()
    assert "4 tokens, layer 1, 2 heads a layer, counted from 0, 5 dimensions" in view.sentence


def test_a_view_can_be_saved_as_a_page(tmp_path):
    view = bertviz_head_view(attention(HOSTILE))
    view.save(tmp_path / "head.html")
    assert (tmp_path / "head.html").read_text(encoding="utf-8") == view.page


# ---- what cannot be shown -------------------------------------------------------------------------------------


@pytest.mark.parametrize("name, limit", [("head", 64), ("model", 32), ("neuron", 32)])
def test_a_text_too_long_is_refused_with_the_limit(name, limit):
    VIEWS[name](attention(["x"] * limit, vectors=True))
    with pytest.raises(ValueError, match=f"takes at most {limit} tokens here, and this text has {limit + 1}"):
        VIEWS[name](attention(["x"] * (limit + 1)))


# ---- the vendored scripts -------------------------------------------------------------------------------------


def test_a_bertviz_that_reads_otherwise_stops_the_tool():
    old = "requirejs(['jquery', 'd3'], function ($, d3) {\n  1;\n});"
    change = bertviz_scripts.LOADER[1:]
    assert bertviz_scripts.changed(old, change, "x") == (
        "(function ($, d3, params) {\n  1;\n})(window.jQuery, window.d3, window.bertvizParams);\n"
    )
    with pytest.raises(bertviz_scripts.Changed, match="expected 1 of .* found 0. This BertViz is not 1.4.1"):
        bertviz_scripts.changed(old.replace("jquery", "jquery2"), change, "x")
    with pytest.raises(bertviz_scripts.Changed, match="found 2"):
        bertviz_scripts.changed(old.replace("1;", old.splitlines()[0]), change, "x")
    with pytest.raises(bertviz_scripts.Changed, match="still names an address"):
        bertviz_scripts.changed("x = 'https://cdn.example.org'", [], "x")


def test_nothing_of_bertviz_stands_in_the_repository():
    folder = bertviz_scripts._D3.parent
    assert {path.name for path in folder.iterdir()} == {"d3.min.js", "LICENSE-d3.txt", "README.md"}
    version = re.search(r"d3@(\S+)", (folder / "README.md").read_text(encoding="utf-8"))[1]
    assert f"d3 {version}" in bertviz_scripts.d3_script()[:200]
    assert (
        "Apache License" in bertviz_scripts.bertviz_script("head_view")
        and "jQuery v3" in bertviz_scripts.jquery_script()[:20]
    )


def test_without_bertviz_its_frame_says_how_to_get_it_and_the_lecture_goes_on(monkeypatch):
    monkeypatch.setattr(bertviz_scripts, "find_spec", lambda name: None)
    bertviz_scripts.bertviz_script.cache_clear()
    view = bertviz_head_view(attention())
    assert "pip install bertviz==1.4.1" in view.sentence and "pip install bertviz==1.4.1" in view.page
    with pytest.raises(ModuleNotFoundError, match="pip install bertviz==1.4.1"):
        bertviz_scripts.bertviz_script("head_view")


# ---- what is refused ------------------------------------------------------------------------------------------


def with_value(part, place, value):
    given = attention()
    getattr(given, part)[place] = value
    return given


CROSS = Attention.from_arrays(np.full((1, 1, 2, 2), 0.5), ["a", "b"], ["x", "y"])

test_what_is_not_there_is_named = refusals(
    (lambda: bertviz_head_view(attention(), layer=3), "there is no layer 3: layers here are 0, 1, 2, counted from 0"),
    (lambda: bertviz_head_view(attention(), layers=[0, 3]), "there is no layer 3: layers here are 0 to 2"),
    (lambda: bertviz_head_view(attention(), layers=[0], layer=1), "there is no layer 1: layers here are 0,"),
    (lambda: bertviz_model_view(attention(), heads=[2]), "there is no head 2: heads here are 0 to 1"),
    (lambda: bertviz_model_view(attention(), layers=[]), "choose at least one layer"),
    (lambda: bertviz_model_view(attention(), layers=[1, 1]), "each layer can be chosen once"),
    (lambda: bertviz_neuron_view(attention(), query=4), "there is no token 4: tokens here are 0 to 3"),
    (lambda: bertviz_neuron_view(attention(), head=-1), "there is no head -1"),
    (lambda: bertviz_neuron_view(attention(vectors=False)), r"extract_attention\(encoder, text, vectors=True\)"),
    (
        lambda: bertviz_neuron_view(attention(level="word", vectors=False)),
        r"Words have none: take the attention before to_words\(\)",
    ),
    (lambda: bertviz_head_view(attention(), height=-1), "above 0"),
    (lambda: bertviz_head_view(attention(), font_size=0), "above 0"),
    (lambda: bertviz_head_view(with_value("weights", (1, 0, 2, 3), np.nan)), "layer 1, head 0, query 2"),
    (
        lambda: bertviz_neuron_view(with_value("keys", (2, 1, 3, 4), np.inf)),
        "keys must be finite; layer 2, head 1, token 3",
    ),
    (
        lambda: bertviz_neuron_view(replace(attention(), queries=attention().queries[:, :, :3])),
        r"queries must have shape \(layer, head, token, dim\)",
    ),
    (lambda: bertviz_head_view(CROSS), "HeadView"),
    (lambda: bertviz_head_view(attention(), include_layers=[1]), "no option include_layers; here it is layers=", TypeError),
    (lambda: bertviz_model_view(attention(), html_action="return"), r"here it is view\.save\(path\)", TypeError),
    (lambda: bertviz_neuron_view(attention(), display_head=1), "here it is head=", TypeError),
    (lambda: bertviz_head_view(attention(), tall=9), "has no option tall\\.", TypeError),
    (lambda: bertviz_neuron_view(object(), "bert", object(), "a cat"), r"one attention with its vectors: .*load_encoder\(model, tokenizer\)", TypeError),
)  # fmt: skip


@pytest.mark.parametrize("name", ["head", "model"])
def test_bertvizs_own_call_works_as_it_stands(name):
    given = attention(["[CLS]", "a", "[SEP]", "b", "[SEP]"], second=3)
    layers = tuple(layer[None] for layer in given.weights)  # as a model of transformers returns them
    assert VIEWS[name](layers, list(given.tokens), 3).page == VIEWS[name](given).page
    assert VIEWS[name](layers, list(given.tokens), sentence_b_start=3).page == VIEWS[name](given).page


def test_bare_maps_are_told_what_bertviz_takes_here():
    with pytest.raises(TypeError, match="neuron view takes an Attention.*got tuple"):
        bertviz_neuron_view((np.eye(2)[None, None],))
