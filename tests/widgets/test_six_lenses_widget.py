"""One head under several lenses: the picture, the sentence, the table, and the live view without a browser."""

import base64
import re
import sys
import zlib
from html import escape
from types import SimpleNamespace
from xml.etree import ElementTree

import ipywidgets
import numpy as np
import pytest
import traitlets

from bertlook_course.render import (
    STYLES,
    checked_lenses,
    describe_lenses,
    full_scale,
    hundredths,
    lens_table,
    render_lenses,
    two_digits,
)
from bertlook_course.widgets import MOST_TOKENS, LensView, SixLenses, compute_lenses, lens_sentences
from bertlook_course.widgets.panels import six_lenses as module
from bertlook_teach import load_encoder
from bertlook_teach.disk import install_command
from bertlook_teach.model import extract_attention
from bertlook_teach.views import HeadExplorer, HeadMap, link_heads

LAYERS, HEADS = 2, 3
TOKENS = ("[CLS]", "birds", "sing", "loud", "[SEP]")
N = len(TOKENS)


def made_up(n=N, layers=LAYERS, heads=HEADS, seed=0):
    """Six lenses; sizes differ on every axis but the two that must be equal."""
    rng = np.random.default_rng(seed)
    weight = rng.dirichlet(np.full(n, 0.5), size=(layers, heads, n))
    norm = weight * rng.uniform(0.1, 3, size=(layers, heads, 1, n))
    small = rng.uniform(0, 1e-5, size=weight.shape)
    return {
        "weight": weight,
        "norm": norm,
        "gradient": small,
        "rollout": rng.dirichlet(np.full(n, 1.0), size=(layers, heads, n)),
        "value_zeroing": norm**2,
        "ablation": rng.uniform(0, 40, size=weight.shape),
    }


def view(**options):
    return LensView(made_up(), TOKENS, **options)


# ---- numbers and sentences ---------------------------------------------------------------------------------


def test_full_is_all_of_a_share_and_the_largest_entry_of_the_heads_own_map_elsewhere():
    lenses = made_up()
    assert full_scale("weight", lenses["weight"]) == pytest.approx(np.ones((LAYERS, HEADS)))
    assert full_scale("norm", lenses["norm"])[1, 2] == lenses["norm"][1, 2].max()
    assert hundredths(0.125, 0.5) == 25 and hundredths(0, 0) == 0


def test_two_digits_never_show_a_small_number_as_zero():
    assert [two_digits(v) for v in (1, 0.999, 9.96, 0.05, 1e-4, 9.96e-6, 1234.5)] == [
        "1", "1.00", "10.0", "0.050", "0.00010", "10.0e-6", "1235",
    ]  # fmt: skip


def test_the_sentence_names_the_first_key_of_each_lens_and_where_there_is_little():
    weight = np.zeros((1, 1, 3, 3))
    weight[..., 2] = 1  # everybody looks at [SEP]
    norm = np.full((1, 1, 3, 3), 0.01)
    norm[0, 0, 2, 0] = 2  # only [SEP] gets anything
    own = np.eye(3)[None, None]
    lenses = {"weight": weight, "rollout": weight, "norm": norm, "mine_alone": own, "ablation": 0 * own}
    said = describe_lenses(lenses, ["[CLS]", "birds", "[SEP]"], layer=0, head=0, query=1)
    assert said == (
        "Head 1-1, query “birds”: most is at [SEP] in weight and rollout, at itself in mine alone; "
        "little (under 10) in norm and ablation."
    )


def test_the_query_is_the_row_and_the_key_is_the_column():
    own = np.zeros((1, 1, 3, 3))
    own[0, 0, 1, 2] = 0.5
    tokens = ["a", "b", "c"]
    assert "query “b”: most is at “c” in norm" in describe_lenses(
        {"norm": own}, tokens, layer=0, head=0, query=1
    )
    assert "query “c”: little" in describe_lenses({"norm": own}, tokens, layer=0, head=0, query=2)
    table = lens_table({"norm": own}, tokens, layer=0, head=0, query=1)
    assert table.rows == [["a", "0"], ["b", "0"], ["c", "100"], ["100 is", "0.50"]]


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"norm": np.full((LAYERS, HEADS, N, N), np.nan)}, r"'norm' must be finite; layer 0, head 0, query 0 \('\[CLS\]'\)"),
        ({"gradient": -made_up()["gradient"]}, r"'gradient' cannot be negative; layer 0, head 0"),
        ({"rollout": 2 * made_up()["norm"]}, r"'rollout' is a share between 0 and 1"),
        ({"norm": made_up()["norm"][..., :4]}, r"5 tokens need every lens in shape .*'norm' has \(2, 3, 5, 4\)"),
        ({"norm": made_up()["norm"][:, :2]}, r"'weight' has shape \(2, 3, 5, 5\), lens 'norm' \(2, 2, 5, 5\)"),
    ],
)  # fmt: skip
def test_lenses_that_cannot_be_drawn_truly_are_refused(change, message):
    with pytest.raises(ValueError, match=message):
        LensView(made_up() | change, TOKENS)


def test_no_lens_no_token_and_no_such_place_are_refused():
    with pytest.raises(ValueError, match="there is no lens"):
        checked_lenses({}, TOKENS)
    with pytest.raises(TypeError, match="mapping of name to array"):
        checked_lenses(made_up()["weight"], TOKENS)
    with pytest.raises(ValueError, match="no tokens"):
        checked_lenses(made_up(), [])
    for place, message in (
        ({"layer": 2}, "layer counts from 0 to 1; got 2"),
        ({"query": 5}, "query counts from 0 to 4"),
    ):
        with pytest.raises(ValueError, match=message):
            render_lenses(made_up(), TOKENS, **{"layer": 0, "head": 0, **place})
    with pytest.raises(ValueError, match="style is one of bars, grids; got 'pie'"):
        render_lenses(made_up(), TOKENS, layer=0, head=0, style="pie")


# ---- the picture -----------------------------------------------------------------------------------------------


@pytest.mark.parametrize("style", STYLES)
def test_the_picture_is_a_drawing_with_its_sentence_and_one_column_a_lens(style):
    svg = render_lenses(made_up(), TOKENS, layer=1, head=2, query=3, style=style).svg
    root = ElementTree.fromstring(svg)
    words = [node.text for node in root.iter("{http://www.w3.org/2000/svg}text")]
    assert {"weight", "norm", "gradient", "rollout", "ablation", "100 is"} <= set(words)
    assert words.count("loud") == 1  # tokens are written once
    assert describe_lenses(made_up(), TOKENS, layer=1, head=2, query=3) in svg
    assert svg == render_lenses(made_up(), TOKENS, layer=1, head=2, query=3, style=style).svg
    assert svg != render_lenses(made_up(), TOKENS, layer=1, head=2, query=2, style=style).svg


def bars(svg):
    return [
        float(width)
        for width in re.findall(
            r'<rect x="[\d.]+" y="[\d.]+" width="([\d.]+)"[^>]*fill="#(?:0072B2|D55E00)"', svg
        )
    ]


def test_a_bar_is_as_long_as_its_value():
    own = np.zeros((1, 1, 4, 4))
    own[0, 0, 1] = [0, 1, 2, 4]
    long, middle, short = sorted(
        bars(render_lenses({"norm": own}, list("abcd"), layer=0, head=0, query=1).svg), reverse=True
    )
    assert (middle / long, short / long) == (pytest.approx(0.5, rel=1e-2), pytest.approx(0.25, rel=1e-2))
    assert (
        bars(render_lenses({"norm": own}, list("abcd"), layer=0, head=0, query=0).svg) == []
    )  # a silent row stays silent


@pytest.mark.parametrize(("layers", "heads", "n"), [(1, 1, 1), (1, 2, 40)])
def test_any_model_and_text_are_drawn(layers, heads, n):
    tokens = [f"w{i}" for i in range(n)]
    for style in STYLES:
        shown = LensView(made_up(n, layers, heads), tokens, head=heads - 1, style=style)
        assert f"Head {layers}-{heads}" in shown.picture().svg


# ---- the view ------------------------------------------------------------------------------------------------------


def test_the_view_carries_every_lens_of_every_head():
    lenses = made_up()
    shown = view()
    assert shown.names == list(lenses) and shown.titles[4] == "value zeroing"
    steps = np.frombuffer(shown.data, "<u2").reshape(6, LAYERS, HEADS, N, N)
    full = np.frombuffer(shown.full, "<f4").reshape(6, LAYERS, HEADS)
    for i, (name, values) in enumerate(lenses.items()):
        drawn = steps[i] / 65535 * full[i][..., None, None]
        assert np.abs(drawn - values).max() <= full[i].max() / 65535, name
        assert shown.lenses()[name] == pytest.approx(drawn)
    assert not np.allclose(shown.lenses()["weight"][0, 1], lenses["weight"][0, 1].T, atol=0.05)


def test_a_large_model_travels_in_eight_bits_deflated():
    shown = LensView(made_up(40, 12, 12), [f"w{i}" for i in range(40)])
    assert (shown.bits, shown.packing) == (8, "deflate")
    assert len(zlib.decompress(shown.data)) == 6 * 144 * 1600
    assert shown.sentence.startswith("Head 1-1, query “w0”: ")


def test_what_is_chosen_changes_picture_sentence_and_table():
    shown = view()
    assert shown.query == 1  # the first token that is not special
    before = shown.picture()
    shown.layer, shown.head, shown.query, shown.style = 1, 2, 3, "grids"
    assert shown.style_index == 1
    svg, sentence = shown.picture().svg, shown.picture().beneath
    assert (
        svg != before.svg and sentence != before.beneath and sentence.startswith("Head 2-3, query “loud”: ")
    )
    assert shown.table().rows[-1][0] == "100 is" and len(shown.table().rows) == N + 1
    shown.style_index = 0  # as a menu linked in the browser does
    assert shown.style == "bars"


@pytest.mark.parametrize(
    ("trait", "value", "message"),
    [
        ("layer", 2, "layer counts from 0 to 1; got 2"),
        ("head", -1, "head counts from 0 to 2; got -1"),
        ("query", 5, "query counts from 0 to 4; got 5"),
        ("style", "pie", "pie"),
    ],
)
def test_what_is_not_there_cannot_be_chosen(trait, value, message):
    with pytest.raises(traitlets.TraitError, match=message):
        setattr(view(), trait, value)
    with pytest.raises(traitlets.TraitError):
        view(**{trait: value})


def test_another_text_keeps_the_head_and_starts_the_query_anew():
    shown = view(layer=1, head=2, query=4, style="grids")
    shown.set_lenses({"weight": np.ones((LAYERS, HEADS, 1, 1))}, ["[SEP]"])
    assert (shown.layer, shown.head, shown.query, shown.style) == (1, 2, 0, "grids")
    assert shown.sentence == "Head 2-3, query [SEP]: most is at itself in weight."
    shown.set_lenses(made_up(3, 1, 1), ["a", "b", "c"])
    assert (shown.layer, shown.head) == (0, 0)


def test_markup_in_a_token_stays_text():
    hostile = ("<img src=x onerror=alert(1)>", "</script>", "&<b>", "مرحبا", " ")
    html = LensView(made_up(), hostile)._repr_mimebundle_()["text/html"]
    assert html.count("<img") == 1 and "<script" not in html and "<b>" not in html
    [svg] = saved_pictures(html)
    ElementTree.fromstring(svg)
    assert "<img" not in svg and "&lt;img" in svg


def saved_pictures(html):
    return [
        base64.b64decode(text).decode() for text in re.findall(r"data:image/svg\+xml;base64,([^\"]+)", html)
    ]


# ---- SixLenses -----------------------------------------------------------------------------------------------------


def compute(encoder, text, text_pair=None):
    """Stands for compute_lenses: words are tokens, and empty text is refused."""
    if not text.strip():
        raise ValueError("the text is empty.")
    tokens = ["[CLS]", *text.split(), *(text_pair or "").split(), "[SEP]"]
    return made_up(len(tokens)), tokens, None


def six(text="birds sing loud", **options):
    return SixLenses(SimpleNamespace(name="toy"), text, compute=compute, **options)


def test_a_new_sentence_is_computed_and_one_that_cannot_be_read_is_said():
    shown = six()
    shown.text_box.text.value = "so it goes on and on"
    assert shown.view.text["tokens"] == ["[CLS]", "so", "it", "goes", "on", "and", "on", "[SEP]"]
    before = shown.view.data
    shown.text_box.text.value = " "
    assert "The text is empty. The picture still shows the last text." in shown.text_box.message.value
    assert shown.view.data == before
    shown.read("back again")
    assert shown.text_box.texts == ("back again", None) and shown.text_box.message.value == ""
    with pytest.raises(ValueError, match="the text is empty"):
        shown.read("")


def test_a_second_text_has_a_box_only_when_asked_for():
    assert len(six().text_box.children[0].children) == 1
    shown = six(text_pair="")
    shown.text_box.text_pair.value = "they fly"
    assert shown.view.text["tokens"][-3:] == ["they", "fly", "[SEP]"]


def test_arrays_need_no_encoder_and_have_no_text_box():
    shown = SixLenses(made_up(), TOKENS, layer=1, head=2)
    assert shown.text_box is None and (shown.layer, shown.head) == (1, 2)
    assert repr(shown) == "SixLenses(arrays, 6 lenses, 2 x 3 heads, head 2-3, 5 tokens)"
    with pytest.raises(ValueError, match="given as arrays"):
        shown.read("a text")
    with pytest.raises(TypeError, match="give the tokens as a sequence"):
        SixLenses(made_up(), "birds sing loud")


def test_menus_and_view_move_together_and_without_the_kernel():
    shown = six()
    shown.layer_menu.value, shown.head_menu.value, shown.style_menu.value = "2", "3", "grids"
    assert (shown.layer, shown.head, shown.view.style) == (1, 2, "grids")
    shown.layer = 0
    assert shown.layer_menu.index == 0
    state = ipywidgets.Widget.get_manager_state()["state"].values()
    links = [link["state"] for link in state if link["model_name"] == "LinkModel"]
    mine = {link["target"][0] for link in links if link["source"][0] == f"IPY_MODEL_{shown.view.model_id}"}
    assert {
        f"IPY_MODEL_{menu.model_id}" for menu in (shown.layer_menu, shown.head_menu, shown.style_menu)
    } <= mine


def test_lenses_are_linked_with_maps_and_explorers():
    shown, head_map = six(), HeadMap(np.arange(6).reshape(2, 3), layer=1, head=1)
    link_heads(head_map, shown)
    assert (shown.layer, shown.head) == (1, 1)
    shown.head = 2
    assert head_map.head == 2
    with pytest.raises(ValueError, match="the same layers and heads"):
        link_heads(HeadMap(np.zeros((1, 2))), shown)


def test_the_saved_output_is_a_picture_a_sentence_and_a_name_and_is_the_same_twice():
    bundles = [six()._repr_mimebundle_() for _ in range(2)]
    for bundle in bundles:
        bundle.pop("application/vnd.jupyter.widget-view+json")
    assert bundles[0] == bundles[1]
    assert bundles[0]["text/plain"] == "SixLenses(toy, 6 lenses, 2 x 3 heads, head 1-1, 5 tokens)"
    assert saved_pictures(bundles[0]["text/html"])[0].startswith("<svg")
    assert set(re.findall(r"<(\w+)", bundles[0]["text/html"])) == {"div", "figure", "img", "figcaption"}
    assert SixLenses._ipython_display_ is None


# ---- on a model ----------------------------------------------------------------------------------------------------


def test_on_an_encoder_the_columns_are_its_lenses(tiny):
    lenses, tokens, special = compute_lenses(tiny, "the cat sat")
    attention = extract_attention(tiny, "the cat sat")
    assert tokens == attention.tokens and special == attention.special
    assert lenses["weight"] == pytest.approx(attention.weights, abs=1e-6)
    assert lenses["rollout"][0] == pytest.approx(0.5 * attention.weights[0] + 0.5 * np.eye(5), abs=1e-5)
    # the tiny model was saved without a masked-LM head, so it has no gradient of that loss
    assert list(lenses) == ["weight", "norm", "rollout", "value_zeroing", "ablation"]
    assert set(lenses) <= set(lens_sentences())
    rows = lenses["value_zeroing"].sum(axis=-1)
    assert not np.allclose(rows, 1)  # not made to sum to 1: a row that does nothing must look like that


def test_what_is_shown_on_an_encoder_is_what_was_computed(tiny):
    shown = SixLenses(tiny, "the cat sat", layer=2, head=1)
    lenses, *_ = compute_lenses(tiny, "the cat sat")
    for name, values in lenses.items():
        assert shown.view.lenses()[name] == pytest.approx(values, abs=2e-5 * max(1.0, float(values.max())))
    shown.text_box.text.value = ""
    assert "empty" in shown.text_box.message.value
    shown.text_box.text.value = "a " * 40
    assert "at most" in shown.text_box.message.value


def test_a_text_too_long_for_the_lenses_is_refused_in_words(tiny, monkeypatch):
    monkeypatch.setattr("bertlook_course.widgets.panels.six_lenses.MOST_TOKENS", 4)
    with pytest.raises(
        ValueError, match="the text is 5 wordpieces long; the lenses are computed for at most 4"
    ):
        compute_lenses(tiny, "the cat sat")
    assert MOST_TOKENS >= 32


def test_both_kinds_of_view_show_the_same_norms(tiny):
    """Two ways to one number: the explorer multiplies in the view, the lenses in the measure."""
    explorer = HeadExplorer(tiny, "the cat sat", layer=1, head=1, quantity="norm")
    lenses, *_ = compute_lenses(tiny, "the cat sat")
    assert explorer.head_view.weighted_norms() == pytest.approx(lenses["norm"][1, 1], abs=1e-3)


def test_without_torch_three_lenses_are_left_and_one_line_says_what_adds_the_others(monkeypatch):
    monkeypatch.setattr(module, "_has_torch", lambda: False)
    monkeypatch.setitem(sys.modules, "torch", None)
    shown = SixLenses(load_encoder("specimen"), "We saw the small bird.")
    assert tuple(shown.view.names) == module.IN_PAGE
    said = shown.children[-1].value
    assert "need PyTorch" in said and escape(install_command("torch")) in said
    shown.read("Rain fell.")
    assert tuple(shown.view.names) == module.IN_PAGE
