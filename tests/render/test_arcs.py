"""Arcs over a sentence: the plain dict, the sentence that says it, the picture, and the live view's state."""

from types import SimpleNamespace
from xml.etree import ElementTree

import made
import numpy as np
import pytest

from bertlook_course.corpora import TreebankSentence
from bertlook_course.render import EVERY, arc_levels, arcs_of, describe_arcs, render_arcs
from bertlook_course.widgets import ArcView

HOSTILE = TreebankSentence(
    ("<b>the</b>", "cat", "sat & \"slept\""), (1, 2, -1), ("det", "nsubj", "root"), *[("_",) * 3] * 3, ({},) * 3
)  # fmt: skip
LONGER = TreebankSentence(
    ("a", "big", "dog", "ran", "off"), (2, 2, 3, -1, 3), ("det", "amod", "nsubj", "root", "advmod"), *[("_",) * 5] * 3, ({},) * 5
)  # fmt: skip


def answers(words, layers=3, heads=2, seed=0):
    return np.random.default_rng(seed).integers(0, words, (2, layers, heads, words))


def test_arcs_are_a_plain_dict_that_can_be_written_by_hand():
    assert arcs_of(HOSTILE, [1, 0, 1], "det") == {
        "words": ["<b>the</b>", "cat", "sat & \"slept\""],
        "arcs": [{"dependent": 0, "governor": 1, "relation": "det", "answer": 1}],
    }  # fmt: skip
    assert [arc["answer"] for arc in arcs_of(HOSTILE, [-2, 0, 1])["arcs"]] == [None, 0]
    assert [arc["answer"] for arc in arcs_of(HOSTILE)["arcs"]] == [None, None]
    assert arcs_of(HOSTILE, relation="obj")["arcs"] == []


def test_what_is_right_and_the_first_mistake_are_said():
    said = describe_arcs(arcs_of(LONGER, [2, 3, 3, 0, 3]), head=(7, 9), direction=1)
    assert said == (
        "Head 8-10, read as “the governor looks at its dependent”: 3 of 4 right. For “big” it names “ran”, not “dog”."
    )
    assert describe_arcs(arcs_of(LONGER)) == "The treebank: 4 arcs."
    assert describe_arcs(arcs_of(LONGER, relation="obj")) == "This sentence has no such arc."


def test_an_arc_passes_over_those_inside_it():
    assert arc_levels([(0, 2), (1, 2), (2, 3), (4, 3)]) == [2, 1, 1, 1]
    assert arc_levels([(5, 0), (0, 4), (1, 3), (2, 1)]) == [4, 3, 2, 1]
    assert arc_levels([(0, 2), (1, 3), (3, 4)]) == [
        1,
        2,
        1,
    ]  # crossing arcs lie on two levels, neighbours on one
    assert arc_levels([]) == []


def test_the_picture_is_valid_escaped_and_the_same_each_time():
    picture = arcs_of(HOSTILE, [1, 0, 1])
    svg = render_arcs(picture, head=(0, 1)).svg
    assert svg == render_arcs(picture, head=(0, 1)).svg
    tree = ElementTree.fromstring(svg)
    texts = [node.text for node in tree.iter("{http://www.w3.org/2000/svg}text")]
    assert texts == ["det", "nsubj", "✓", "✗", "<b>the</b>", "cat", "sat & \"slept\""]  # fmt: skip
    assert "stroke-dasharray" in svg  # the wrong one is dashed, not only another colour
    assert "1 of 2 right" in tree.attrib["aria-label"]


@pytest.mark.parametrize("direction", [0, 1])
def test_the_arrow_lands_on_the_word_that_is_looked_at(direction):
    answers = [4, 3, 1, 2, 0]
    drawn = made.arrows(render_arcs(arcs_of(LONGER, answers), direction=direction).svg, 5)
    words = [word for word, governor in enumerate(LONGER.governors) if governor >= 0]
    named = [(word, answers[word]) for word in words]
    assert drawn[:4] == [
        (LONGER.governors[word], word) for word in words
    ]  # the treebank's, from the governor
    assert drawn[4:] == [pair[:: 1 - 2 * direction] for pair in named]


def test_the_view_holds_every_answer_and_follows_its_traits():
    given = [answers(3), answers(5)]
    view = ArcView(
        [HOSTILE, LONGER],
        SimpleNamespace(of=given.__getitem__),
        layer=2,
        head=1,
        sentence=1,
        relation="amod",
        direction=1,
    )
    assert np.frombuffer(view.data, "<i2").size == 2 * 3 * 2 * (3 + 5)
    assert view.relations == [EVERY, "advmod", "amod", "det", "nsubj"]
    [arc] = view.arcs()["arcs"]
    assert arc["answer"] == given[1][1, 2, 1, 1]
    view.sentence, view.relation = 0, EVERY
    assert [a["answer"] for a in view.arcs()["arcs"]] == given[0][1, 2, 1, :2].tolist()
    assert repr(view) == "ArcView(2 sentences, 3 x 2 heads, head 3-2, every relation)"
    bundle = view._repr_mimebundle_()
    assert "<figure>" in bundle["text/html"] and view.caption.split(":")[0] in bundle["text/html"]
    assert "<b>the" not in bundle["text/html"]
