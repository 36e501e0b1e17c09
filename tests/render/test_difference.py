"""Differences, after minus before: in the map of heads, the view of one head and the explorer, without a browser."""

from __future__ import annotations

from dataclasses import replace
from xml.etree import ElementTree

import numpy as np
import pytest
from any_view import attention, maps

from bertlook_press.pages import precision_note, tables
from bertlook_teach.views import (
    LESS,
    LINE,
    HeadExplorer,
    HeadMap,
    HeadView,
    describe_difference,
    describe_head_map,
    describe_token_difference,
    difference_colour,
    render_attention_grid,
    render_attention_lines,
    render_head_map,
)

TOKENS = ("[CLS]", "the", "cat", "[SEP]")


def pair(layers=2, heads=3, tokens=TOKENS):
    return [attention(tokens, layers, heads, maps(len(tokens), layers, heads, seed)) for seed in (1, 2)]


def moved(query, key, share=0.4):
    """From an even spread: this query takes from its last key and gives to another."""
    after = np.full((1, 2, 4, 4), 0.25)
    after[0, 1, query, key] += share / 2
    after[0, 1, query, (key + 1) % 4] -= share / 2
    return attention(TOKENS, 1, 2, after), attention(TOKENS, 1, 2, np.full((1, 2, 4, 4), 0.25))


# ---- one head ----


def test_what_rose_and_what_fell_are_named_with_their_query_first():
    after, before = moved(query=1, key=2)
    view = HeadView(after, minus=before, head=1)
    assert view.sentence == (
        "Head 1-2, after minus before: “the” gives 20.0 points more to “cat”; “the” gives 20.0 points less to [SEP]. "
        "On average 5 % of a token's weight has moved."
    )
    assert "full colour: 20.0 points" in view.picture().svg
    view.query = 1
    assert view.sentence == "“the” looks more at “cat” (+20.0 points) and less at [SEP] (-20.0)."
    view.query = 2
    assert view.sentence == "“cat” looks at the same as before."
    view.query, view.head = -1, 0
    assert view.sentence == "Head 1-1, after minus before: nothing has changed."
    changes = np.zeros((4, 4))
    changes[1, 2] = 0.2
    assert (
        describe_token_difference(changes, TOKENS, 2, side="key")
        == "“cat” is looked at more by “the” (+20.0 points)."
    )


def test_numbers_are_after_less_before_and_change_their_sign_when_turned():
    after, before = pair()
    there, back = HeadView(after, minus=before), HeadView(before, minus=after)
    for layer, head in np.ndindex(2, 3):
        there.layer, there.head, back.layer, back.head = layer, head, layer, head
        expected = after.weights[layer, head] - before.weights[layer, head]
        assert np.abs(there.weights() - expected).max() < 2e-5
        assert np.array_equal(there.weights(), -back.weights())
    assert "Changes are kept in 16 bits each, so one is off by at most 0.000015." in precision_note([there])


def test_what_moved_is_the_total_variation():
    after, before = pair()
    changes = after.weights[0, 0].astype(float) - before.weights[0, 0]
    stayed = np.minimum(after.weights[0, 0], before.weights[0, 0]).sum(axis=1)
    assert f"On average {int(100 * (1 - stayed).mean() + 0.5)} % of a token's weight" in describe_difference(
        changes, TOKENS
    )


def test_words_have_a_scale_of_their_own():
    pieces = ("[CLS]", "un", "##real", "[SEP]")
    given = [replace(one, word_ids=(None, 0, 0, None), words=("unreal",)) for one in pair(tokens=pieces)]
    view = HeadView(given[0], minus=given[1], level="word")
    changes = given[0].to_words().weights.astype(float) - given[1].to_words().weights
    assert view.texts["word"]["largest"] == pytest.approx(np.abs(changes).max(), abs=1e-4)
    assert view.weights() == pytest.approx(changes[0, 0], abs=1e-4)
    view.picture()


def test_hidden_tokens_take_part_in_what_moved():
    changes = np.zeros((4, 4))
    changes[1] = [0.3, 0.0, -0.3, 0.0]
    said = describe_difference(changes, TOKENS, hide_special=True)
    assert "“the” gives 30.0 points less to “cat”" in said and "more to" not in said
    assert "Special tokens are hidden; to them go +15.0 points on average." in said
    same = describe_difference(np.zeros((4, 4)), TOKENS, hide_special=True)
    assert same.endswith("nothing has changed between the tokens in view.")


def paths(svg):
    return [node for node in ElementTree.fromstring(svg).iter() if node.tag.endswith("}path")]


def test_losses_are_dashed_and_brown_and_gains_are_not():
    changes = np.array([[0.4, -0.4], [0.0, 0.0]])
    drawn = {
        node.get("stroke"): node.get("stroke-dasharray")
        for node in paths(render_attention_lines(changes, ["a", "b"], difference=True).svg)
    }
    assert drawn[LINE] is None and drawn[LESS] is not None
    svg = render_attention_grid(changes, ["a", "b"], difference=True).svg
    assert {node.get("fill") for node in paths(svg)} >= {
        difference_colour(1),
        difference_colour(-1),
        difference_colour(0),
    }
    texts = [node.text for node in ElementTree.fromstring(svg).iter() if node.tag.endswith("}text")]
    assert "+40" in texts and "-40" in texts and any("brown" in text for text in texts)
    plain = render_attention_grid(changes, ["a", "b"], difference=True, numbers=False).svg
    signs = [node.get("d") for node in paths(plain) if node.get("fill") == "none"]
    assert [("v" in sign) for sign in signs] == [True, False]


# ---- the map ----


def test_a_map_of_differences_has_signs_and_an_even_scale():
    after, before = np.array([[0.9, 0.2], [0.5, 0.1]]), np.array([[0.1, 0.4], [0.5, 0.1]])
    view = HeadMap(after, name="share", minus=before, head=1)
    assert view.value == pytest.approx(-0.2) and view.ranges[0] == pytest.approx([-0.8, 0.8])
    svg, said = view.picture().svg, view.picture().beneath
    assert said == (
        "share, after minus before, 2 layers of 2 heads: it rises most in head 1-1 (+0.800), falls most in head 1-2 (-0.200). Head 1-2 has -0.200."
    )
    texts = [node.text for node in ElementTree.fromstring(svg).iter() if node.tag.endswith("}text")]
    assert "+.80" in texts and "−.20" in texts and any("brown" in text for text in texts)
    assert "<td>+0.800</td>" in tables(view)[0] and "after minus before" in tables(view)[0]
    assert repr(view) == "HeadMap(2 x 2 heads, share, after minus before, head 1-2)"
    fills = [node.get("fill") for node in ElementTree.fromstring(svg).iter() if node.tag.endswith("}rect")]
    assert difference_colour(1) in fills and difference_colour(-0.25) in fills
    signs = render_head_map(after - before, difference=True, numbers=False).svg
    texts = [node.text for node in ElementTree.fromstring(signs).iter() if node.tag.endswith("}text")]
    assert texts.count("+") == 1 and texts.count("−") == 1
    assert "rises nowhere, falls nowhere" in describe_head_map(np.zeros((2, 2)), difference=True)


# ---- the explorer ----


def test_an_explorer_of_two_models_takes_every_measure_of_both():
    after, before = pair(tokens=("[CLS]", "a", "[SEP]"))
    models = {"after": after, "before": before}
    extract = lambda encoder, text, second: models[encoder]
    measure = lambda one: one.weights[:, :, 0, 1].astype(float)
    explorer = HeadExplorer("after", "a", measures={"first": measure}, extract=extract, minus="before")
    assert explorer.head_map.difference and explorer.head_view.difference
    explorer.layer, explorer.head = 1, 2
    assert explorer.head_map.value == pytest.approx((measure(after) - measure(before))[1, 2], abs=1e-6)
    models.update(after=before, before=after)
    explorer.read("b")
    assert explorer.head_map.value == pytest.approx((measure(before) - measure(after))[1, 2], abs=1e-6)
    assert explorer.head_view.difference
    models["before"] = attention(("[CLS]", "z", "[SEP]"), 2, 3)
    with pytest.raises(ValueError, match="token 1 is 'a' here and 'z' in minus"):
        explorer.read("c")
    with pytest.raises(ValueError, match="'first' is an array"):
        HeadExplorer("after", "a", measures={"first": np.zeros((2, 3))}, extract=extract, minus="before")
    with pytest.raises(ValueError, match="norms of a difference are not drawn"):
        HeadExplorer("after", "a", measures={"first": measure}, extract=extract, minus="after", norms=True)
