"""The neurons behind a row of weights: the sums on paper, the picture, the sentence, and the live view's state."""

from __future__ import annotations

import html
import json
import re
import xml.etree.ElementTree as ET
from dataclasses import replace

import numpy as np
import pytest
import traitlets
from made import HEADS, LAYERS, softmax
from made import vector_attention as attention
from tiny import save_tiny_model

from bertlook_course.analyses.anatomy import HeadNeurons, neuron_view
from bertlook_course.render import (
    NEGATIVE,
    POSITIVE,
    describe_neurons,
    render_neurons,
    signed,
    sorted_dimensions,
    split_dimensions,
)
from bertlook_course.widgets import NeuronView
from bertlook_course.widgets import neuron_view as module
from bertlook_teach.model import extract_attention, load_encoder
from bertlook_teach.views import HeadMap, link_heads
from bertlook_teach.views.drawing.svg import text_width

TOKENS, DIM = 4, 6
WORDS = ("[CLS]", "cat", "sat", "[SEP]")


def by_hand():
    """Four dimensions: 4*1 + 0 - 1 + 1 = 4, over sqrt(4): score 2 for the cat; nothing for the other."""
    query = np.array([4.0, 2.0, -1.0, 1.0])
    keys = np.array([[1.0, 0.0, 1.0, 1.0], [0.0, 0.0, 0.0, 0.0]])
    products = query * keys
    scores = products.sum(axis=1) / 2
    return HeadNeurons(2, 3, 0, ("cat", "[SEP]"), query, keys, products, scores, softmax(scores))


# ---- which dimensions, and the sentence -----------------------------------------------------------------------


def test_dimensions_are_sorted_by_what_they_do_over_all_keys():
    products = np.array([[0.0, 3.0, -1.0], [2.0, -3.0, 0.5]])
    assert sorted_dimensions(products).tolist() == [1, 0, 2]  # 6, 2, 1.5: the signs do not cancel


def test_the_rest_is_what_is_not_shown_and_nothing_is_lost():
    products = np.random.default_rng(0).normal(size=(5, 12))
    own, rest = split_dimensions(products, 4)
    assert len(own) == 4 and sorted([*own, *rest]) == list(range(12))
    assert np.allclose(products[:, own].sum(axis=1) + products[:, rest].sum(axis=1), products.sum(axis=1))
    does = np.abs(products).sum(axis=0)
    assert does[own].min() >= does[rest].max()


@pytest.mark.parametrize(
    "size, most, drawn", [(12, None, 12), (12, 20, 12), (12, 11, 12), (12, 10, 10), (1, 1, 1)]
)
def test_one_left_over_is_drawn_not_summed(size, most, drawn):
    own, rest = split_dimensions(np.ones((2, size)), most)
    assert len(own) == drawn and len(rest) == size - drawn


def test_no_dimension_at_all_is_refused():
    with pytest.raises(ValueError, match="at least one dimension must be drawn; got 0. None draws all"):
        split_dimensions(np.ones((2, 3)), 0)
    with pytest.raises(ValueError, match=r"products have shape \(key, dim\); got shape \(3,\)"):
        sorted_dimensions(np.ones(3))


@pytest.mark.parametrize(
    "value, text", [(1.235, "+1.24"), (-2, "-2.00"), (0.004, "0.00"), (-0.004, "0.00"), (0, "0.00")]
)
def test_numbers_carry_their_sign(value, text):
    assert signed(value) == text


def test_the_sentence_is_the_sum_on_paper():
    # softmax of (2, 0): 1 / (1 + e^-2) = 88.08 %
    assert describe_neurons(by_hand()) == (
        "Head 3-4: “cat” looks at itself with weight 88 %, score +2.00. That is the sum of 4 products, +4.00, divided by 2.00. "
        "Dimension 1 adds most, 4.00."
    )


def test_the_sentence_names_what_takes_away_and_what_the_rest_comes_to():
    view = by_hand()
    view = HeadNeurons(**{**vars(view), "products": np.array([[1.0, -4.0, 0.5, 0.25], [0, 0, 0, 0]])})
    assert describe_neurons(view, dimensions=2).endswith(
        "Dimension 2 takes away most, 4.00; the 2 that are not drawn one by one add +0.75."
    )


def test_another_key_is_described_on_request():
    assert "looks at [SEP] with weight 12 %, score 0.00" in describe_neurons(by_hand(), key=1)
    with pytest.raises(IndexError, match="there is no token 2 to look at: tokens go from 0 to 1"):
        describe_neurons(by_hand(), key=2)


# ---- the picture ----------------------------------------------------------------------------------------------


def bars(svg, colour):
    """Heights of the bars of one colour, in order: each is 'M x y h w v height'."""
    paths = re.findall(rf'<path d="([^"]+)" fill="{colour}"/>', svg)
    return [float(tall) for path in paths for tall in re.findall(r"h[\d.]+v(-?[\d.]+)h", path)]


def test_up_is_positive_and_down_is_negative_and_length_is_the_number():
    svg = render_neurons(by_hand(), font_size=24).svg
    up, down = bars(svg, POSITIVE), bars(svg, NEGATIVE)
    full = 0.54 * 24
    # query 4, 1, 2 and -1 (sorted 1, 3, 4, 2), key 1 1 1, products 4, 1 and -1; on screen up is a negative step
    assert up == pytest.approx([-full, -full / 4, -full / 2, *[-full / 4] * 3, -full, -full / 4], abs=0.06)
    assert down == pytest.approx([full / 4, full / 4], abs=0.06)


def test_query_and_key_are_not_swapped():
    view = neuron_view(attention(), 1, 1, 2)
    rows = attention().queries[1, 1, 2].astype(float) * attention().keys[1, 1].astype(float)
    assert np.allclose(view.products, rows)
    swapped = attention().queries[1, 1].astype(float) * attention().keys[1, 1, 2].astype(float)
    assert not np.allclose(view.products, swapped)
    assert render_neurons(view).svg != render_neurons(HeadNeurons(**{**vars(view), "products": swapped})).svg


def test_the_picture_is_the_same_twice_stands_alone_and_says_its_sentence():
    view = neuron_view(attention(), 0, 1, 2)
    svg = render_neurons(view, key=3).svg
    assert svg == render_neurons(view, key=3).svg != render_neurons(view).svg
    root = ET.fromstring(svg)
    assert root.find("{http://www.w3.org/2000/svg}desc").text == describe_neurons(view, key=3)
    assert [
        float(text.get("font-size", root.get("font-size")))
        for text in root.iter()
        if text.tag.endswith("text")
    ].count(24) >= 12


@pytest.mark.parametrize("width", [760, 940, 1400])
def test_the_legend_stays_in_the_picture_and_says_what_is_summed(width):
    svg = render_neurons(neuron_view(attention(), 0, 1, 2), dimensions=2, width=width).svg
    _, _, wide, tall = map(float, ET.fromstring(svg).get("viewBox").split())
    words = re.findall(
        r'<text x="([\d.]+)" y="([\d.]+)"[^>]*>(up, blue[^<]*|down, [^<]*|outlined[^<]*)<', svg
    )
    assert [text for _, _, text in words][-1] == f"outlined: {DIM - 2} others, summed" and len(words) == 3
    for x, y, text in words:
        assert float(x) + text_width(text, 24) <= wide and float(y) + 12 <= tall


def test_a_picture_of_neurons_shows_in_a_notebook():
    picture = render_neurons(by_hand(), dimensions=None)
    assert picture.sentence == describe_neurons(by_hand(), dimensions=None)
    assert "<img" in picture._repr_html_() and repr(picture).startswith("Picture: Head 3-4")


def test_no_token_becomes_markup():
    tokens = ("<img src=x onerror=alert(1)>", "</script>", "\"'&", "\x00")
    svg = render_neurons(neuron_view(attention(tokens), 0, 0, 0)).svg
    assert "<img" not in svg and "</script>" not in svg
    ET.fromstring(svg)


def test_one_token_can_be_drawn_and_zeros_too():
    ET.fromstring(render_neurons(neuron_view(attention(["[CLS]"]), 0, 0, 0)).svg)
    nothing = attention()
    nothing.queries[:] = 0
    nothing.weights[:] = 1 / TOKENS
    ET.fromstring(render_neurons(neuron_view(nothing, 0, 0, 0)).svg)


def test_a_picture_that_cannot_be_drawn_truly_is_refused():
    view = by_hand()
    with pytest.raises(ValueError, match="scores must be finite"):
        render_neurons(HeadNeurons(**{**vars(view), "scores": np.array([np.nan, 0])}))
    with pytest.raises(ValueError, match="300 pixels leave no room for the bars; give width at least"):
        render_neurons(view, width=300)


# ---- the live view --------------------------------------------------------------------------------------------


def test_the_page_gets_every_query_and_key_of_every_head():
    given = attention()
    view = NeuronView(given)
    steps = np.frombuffer(view.data, "<i2").reshape(2, LAYERS, HEADS, TOKENS, DIM)
    scales = np.array(view.scales).reshape(LAYERS, HEADS, 2)
    for side, vectors in enumerate((given.queries, given.keys)):
        read = steps[side] / 32767 * scales[..., side, None, None]
        assert np.abs(read - vectors).max() <= scales.max() / 65534 + 1e-6
    assert view.shape == [LAYERS, HEADS, TOKENS, DIM] and view.carried == [0, 1, 2]


def test_what_the_page_computes_is_what_the_model_did():
    given = attention()
    view = NeuronView(given, layer=2, head=1, query=3)
    row = neuron_view(given, 2, 1, 3)
    assert np.allclose(view.neurons().weights, row.weights, atol=1e-3)
    assert np.allclose(view.neurons().scores, row.scores, atol=1e-2)
    assert np.allclose(view.neurons().weights, given.weights[2, 1, 3], atol=1e-3)
    assert not np.allclose(view.neurons().weights, given.weights[2, 1, :, 3], atol=1e-2)


@pytest.mark.parametrize("family", ["bert", "roberta", "distilbert", "electra", "albert"])
def test_any_encoder_has_a_neuron_view(tmp_path, family):
    encoder = load_encoder(save_tiny_model(tmp_path / family, family))
    given = extract_attention(encoder, "the cat sat", vectors=True)
    view = NeuronView(given, layer=2, head=1, query=1)
    assert np.allclose(view.neurons().weights, given.weights[2, 1, 1], atol=2e-3)


def test_choices_are_checked():
    view = NeuronView(attention(), layer=1, head=1, query=3, key=0)
    for trait, value, message in [
        ("layer", 3, "layer counts from 0 to 2; got 3"),
        ("head", -1, "head counts from 0 to 1; got -1"),
        ("query", 4, "query counts from 0 to 3; got 4"),
        ("key", -2, "key counts from 0 to 3; got -2"),
    ]:
        with pytest.raises(traitlets.TraitError, match=message):
            setattr(view, trait, value)
    view.key = -1
    with pytest.raises(traitlets.TraitError, match="layer counts from 0 to 2"):
        NeuronView(attention(), layer=3)


def test_the_sentence_and_the_picture_follow_every_choice():
    view = NeuronView(attention(), most=3)
    seen = {view.sentence}
    for trait, value in [("layer", 1), ("head", 1), ("query", 2), ("key", 3), ("all_dimensions", True)]:
        setattr(view, trait, value)
        svg, sentence = view.picture().svg, view.picture().beneath
        assert sentence == view.sentence and html.escape(sentence, quote=False) in svg
        seen.add(sentence)
    assert len(seen) == 6
    assert view.dimensions is None


def test_views_show_the_same_head_when_linked():
    values = HeadMap(np.zeros((LAYERS, HEADS)))
    view = NeuronView(attention())
    links = link_heads(values, view)
    values.layer, values.head = 2, 1
    assert (view.layer, view.head) == (2, 1)
    assert {type(link).__name__ for link in links} == {"Link"}
    with pytest.raises(ValueError, match="linked views need the same layers and heads"):
        link_heads(HeadMap(np.zeros((LAYERS, HEADS + 1))), view)


def test_too_many_heads_travel_one_layer_at_a_time(monkeypatch):
    monkeypatch.setattr(module, "_ALL_LAYERS_UP_TO", 100)
    given = attention()
    view = NeuronView(given, layer=1)
    assert view.carried == [1] and len(view.data) == 4 * HEADS * TOKENS * DIM
    view.layer = 2
    assert view.carried == [2]
    assert np.frombuffer(view.data, "<i2").reshape(2, HEADS, -1)[0, 1, 0] / 32767 * view.scales[1][
        0
    ] == pytest.approx(given.queries[2, 1, 0, 0], abs=1e-3)
    assert np.allclose(view.neurons().weights, given.weights[2, 0, 0], atol=1e-3)


def test_another_text_keeps_the_head():
    view = NeuronView(attention(), layer=2, head=1, query=3, key=3)
    view.set_attention(attention(["[CLS]", "dog", "[SEP]"], seed=9))
    assert (view.layer, view.head, view.query, view.key) == (2, 1, 0, -1)
    assert view.tokens == ["[CLS]", "dog", "[SEP]"]
    view.set_attention(attention(layers=1, heads=1))
    assert (view.layer, view.head) == (0, 0)


def test_vectors_that_do_not_belong_to_the_weights_are_refused():
    given = attention()
    given.weights[1, 0] = given.weights[1, 0][:, ::-1]
    with pytest.raises(ValueError, match=r"differs by \d\.\d+ from the attention of head 2-1, query"):
        NeuronView(given)
    given = replace(attention(), queries=None)
    with pytest.raises(ValueError, match="vectors=True"):
        NeuronView(given)


def test_a_saved_notebook_keeps_the_picture():
    view = NeuronView(attention(), layer=1, head=0)
    bundle = view._repr_mimebundle_()
    assert (
        bundle["text/plain"]
        == repr(view)
        == "NeuronView(3 x 2 heads, head 2-1, query 0 of 4 tokens, 6 dimensions)"
    )
    assert html.escape(view.sentence) in bundle["text/html"] and "<img" in bundle["text/html"]
    again = NeuronView(attention(), layer=1, head=0)._repr_mimebundle_()
    assert again["text/html"] == bundle["text/html"]
    assert len(json.dumps(bundle)) < 60_000


def test_a_teacher_says_which_layers_travel():
    view = NeuronView(attention(), layer=2, layers=(2, 0, 2))
    assert view.carried == [0, 2] and len(view.scales) == 2 * HEADS
    assert len(view.data) == 2 * 2 * HEADS * TOKENS * DIM * 2  # queries and keys, two bytes a number
    view.layer = 1  # with a kernel the layer that is chosen follows
    assert view.carried == [1]
    with pytest.raises(ValueError, match=r"layers count from 0 to 2; got \[3\]"):
        NeuronView(attention(), layers=[3])
    with pytest.raises(ValueError, match=r"got \[\]"):
        NeuronView(attention(), layers=())
