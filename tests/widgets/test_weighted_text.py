"""Weighted texts without a browser: numbers, sentences, key words, mixes, differences, and what is refused."""

from __future__ import annotations

from xml.etree import ElementTree

import numpy as np
import pytest
import traitlets

from bertlook_course.render import describe_words, render_words, word_table
from bertlook_course.widgets import WeightedText
from bertlook_teach.views import difference_colour, magnitude_colour

WORDS = ("Salt", "marsh", "plants", "stop", "waves")
KEY = (True, True, False, False, True)
SCORES = np.arange(2 * 3 * 5).reshape(2, 3, 5) / 30


def colours(svg: str) -> list[str]:
    """The backgrounds of the words, in the order of the text."""
    rects = [node for node in ElementTree.fromstring(svg).iter() if node.tag.endswith("rect")]
    return [node.get("fill") for node in rects[1:]]


def test_each_head_weighs_its_own_words_and_layer_and_head_are_not_swapped():
    view = WeightedText(WORDS, SCORES, KEY)
    for layer, head in np.ndindex(2, 3):
        view.layer, view.head = layer, head
        assert view.weights() == pytest.approx(SCORES[layer, head], abs=1e-7)
        assert f"Head {layer + 1}-{head + 1}" in view.sentence
    assert not np.allclose(SCORES[1, 0], SCORES[0, 1])


def test_the_darkest_word_has_most_and_key_words_stand_over_a_line():
    svg = render_words([0.0, 0.2, 0.4, 0.1, 0.3], WORDS, key=KEY).svg
    assert colours(svg) == [magnitude_colour(x) for x in (0, 0.5, 1, 0.25, 0.75)]
    groups = [node for node in ElementTree.fromstring(svg).iter() if node.tag.endswith("}g")]
    lined = [any(child.tag.endswith("path") for child in group) for group in groups]
    assert tuple(lined) == KEY
    assert svg == render_words([0.0, 0.2, 0.4, 0.1, 0.3], WORDS, key=KEY).svg


def test_darkest_may_be_so_many_times_the_average_and_whatever_is_more():
    svg = render_words([0.0, 0.1, 0.2, 0.1, 0.6], WORDS, darkest=2).svg
    assert colours(svg) == [magnitude_colour(x) for x in (0, 0.25, 0.5, 0.25, 1)]
    assert "darkest: 2 times the average or more (0.400), palest: 0" in svg
    even = render_words([0.2] * 5, WORDS, darkest=4).svg  # a head that prefers no word
    assert colours(even) == [magnitude_colour(0.25)] * 5
    assert colours(render_words([0.0] * 5, WORDS, darkest=4).svg) == [magnitude_colour(0)] * 5
    view = WeightedText(WORDS, SCORES, KEY, layer=1, darkest=2)
    assert view.picture().svg == render_words(view.weights(), WORDS, key=KEY, name="Head 2-1", darkest=2).svg


def test_a_difference_is_drawn_from_minus_to_plus_its_largest_with_signs():
    svg = render_words([0.4, -0.4, 0.0, 0.2, -0.01], WORDS, difference=True).svg
    assert colours(svg) == [difference_colour(x) for x in (1, -1, 0, 0.5, -0.025)]
    said = [node.text for node in ElementTree.fromstring(svg).iter() if node.tag.endswith("}text")]
    assert said[1:-1] == ["+Salt", "-marsh", "plants", "+stop", "waves"]
    assert "blue: more than before" in said[-1]


def test_the_share_of_pairs_is_the_area_under_the_curve():
    generator = np.random.default_rng(0)
    scores, key = generator.integers(0, 5, 30) / 7, generator.random(30) < 0.4
    ranks = np.array([(scores < x).sum() + ((scores == x).sum() + 1) / 2 for x in scores])  # Mann and Whitney
    inside = key.sum()
    area = (ranks[key].sum() - inside * (inside + 1) / 2) / (inside * (~key).sum())
    said = describe_words(scores, [f"w{i}" for i in range(30)], key=key)
    assert f"have more in {int(100 * area + 0.5)} % of pairs (chance: 50 %)" in said


@pytest.mark.parametrize(
    ("key", "said"),
    [([False] * 5, "No word of this text is a key word."), ([True] * 5, "Every word of this text")],
)
def test_a_text_without_a_contrast_says_so(key, said):
    assert said in describe_words(SCORES[0, 1], WORDS, key=key)


def test_nothing_at_all_is_said_to_be_nothing():
    assert describe_words([0.0], ["a"]) == "weight is 0 everywhere."
    assert describe_words([0.0], ["a"], difference=True) == "weight changes nowhere."
    assert "falls nowhere" in describe_words([0.1], ["a"], difference=True)


def test_the_mix_is_a_choice_beside_the_heads():
    view = WeightedText(WORDS, SCORES, KEY, [0.5, 0.1, 0.1, 0.1, 0.2], show="mix")
    assert (
        view.show == "mix" and view.weights()[0] == 0.5 and view.sentence.startswith("Learnt mix, weight: ")
    )
    view.show = "head"
    assert view.sentence.startswith("Head 1-1")
    with pytest.raises(traitlets.TraitError, match="no learnt mix"):
        WeightedText(WORDS, SCORES).show = "mix"


def test_several_texts_keep_their_own_numbers():
    documents = [
        {"words": WORDS, "scores": SCORES, "key": KEY, "mix": SCORES[1, 2]},
        {"words": ["one", "two"], "scores": SCORES[:, :, :2] * 2, "title": "Two"},
    ]
    view = WeightedText(documents=documents, document=1, layer=1)
    assert view.weights() == pytest.approx(2 * SCORES[1, 0, :2], abs=1e-7)
    assert "Two" in view.picture().svg and view.show == "head"
    floats = np.frombuffer(view.data, "<f4")
    assert len(floats) == 6 * 5 + 5 + 6 * 2
    assert floats[30:35] == pytest.approx(SCORES[1, 2], abs=1e-7)
    view.document = 0
    assert len(view.table().rows) == 5
    with pytest.raises(traitlets.TraitError, match="document counts from 0 to 1; got 2"):
        view.document = 2


def test_a_difference_is_after_minus_before():
    view = WeightedText(WORDS, SCORES, KEY, minus=SCORES[::-1], layer=1)
    assert view.weights() == pytest.approx(np.full(5, 0.5), abs=1e-6)
    assert "after minus before" in view.sentence and "rises most on" in view.sentence
    view.layer = 0
    assert "falls most on" in view.sentence
    mixed = [WeightedText(WORDS, SCORES, KEY, np.full(5, x)) for x in (0.1, 0.4)]
    less = WeightedText(WORDS, SCORES, KEY, np.full(5, 0.1), minus=mixed[1], show="mix")
    assert less.weights() == pytest.approx(np.full(5, -0.3), abs=1e-6)
    table = word_table(less.weights(), WORDS, difference=True)
    assert table.rows[0] == ["Salt", "-0.300"]


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ({"words": WORDS, "scores": SCORES[0]}, r"shape \(layer, head, word\) with 5 words; got \(3, 5\)"),
        ({"words": WORDS, "scores": SCORES[..., :4]}, "with 5 words"),
        ({"words": WORDS, "scores": None}, "got none"),
        ({"words": WORDS, "scores": -SCORES}, r"not negative; layer 0, head 0, word 1 \('marsh'\)"),
        ({"words": WORDS, "scores": np.where(SCORES == 0, np.nan, SCORES)}, r"finite; layer 0, head 0, word 0 \('Salt'\)"),
        ({"words": WORDS, "scores": SCORES, "key": KEY[:4]}, "5 expected, got 4"),
        ({"words": WORDS, "scores": SCORES, "mix": SCORES[0]}, "a mix has one number for each word"),
        ({"words": [], "scores": SCORES}, "no tokens"),
        ({"scores": SCORES}, "give words and scores"),
        ({"documents": []}, "at least one text"),
        ({"documents": [{"words": WORDS}]}, "text 0 needs words and scores"),
        ({"documents": [{"words": WORDS, "scores": SCORES}, {"words": WORDS, "scores": SCORES[:1]}]}, "same layers and heads"),
        ({"documents": [{"words": WORDS, "scores": SCORES}, {"words": ["a"], "scores": SCORES}]}, "text 1: scores need"),
        ({"words": WORDS, "scores": SCORES, "minus": SCORES[:1]}, r"same shape .* got \(2, 3, 5\) minus \(1, 3, 5\)"),
        ({"words": WORDS, "scores": SCORES, "minus": WeightedText(WORDS[::-1], SCORES)}, "words are not the same"),
        ({"words": WORDS, "scores": SCORES, "mix": SCORES[0, 0], "minus": SCORES}, "one side of the difference has a learnt mix"),
        ({"words": WORDS, "scores": SCORES, "minus": WeightedText(WORDS, SCORES, minus=SCORES)}, "is a difference itself"),
        ({"documents": [{"words": WORDS, "scores": SCORES}], "minus": []}, "an entry a text: 1 expected, got 0"),
        ({"words": WORDS, "scores": SCORES, "show": "all"}, "one of head, mix"),
        ({"words": WORDS, "scores": SCORES, "darkest": -1}, "0 or more, got -1"),
        ({"words": WORDS, "scores": SCORES, "darkest": 4, "minus": SCORES}, "a difference is drawn to its largest"),
    ],
)  # fmt: skip
def test_what_does_not_fit_is_refused_with_its_place(given, message):
    with pytest.raises(ValueError, match=message):
        WeightedText(**given)


def test_large_texts_travel_deflated():
    many = WeightedText([f"w{i}" for i in range(600)], np.zeros((16, 16, 600)))
    assert many.packing == "deflate" and len(many.data) < 10_000
