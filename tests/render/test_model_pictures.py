"""The drawings for beginners say what they show, keep tokens text, and refuse what they cannot draw."""

from __future__ import annotations

import re

import pytest

from bertlook_course.render import render_layer, render_model, render_one_head

GUESSES = (("on", 0.25), ("in", 0.22))


def model(tokens=("[CLS]", "cat", "[MASK]", "mat", "[SEP]"), masked=2, guesses=GUESSES, shape=(3, 2)):
    return render_model("cat [MASK] mat", tokens, masked, guesses, shape=shape).svg


def said(svg: str) -> str:
    return re.search(r"<desc>(.*?)</desc>", svg)[1]


def words(svg: str) -> list[str]:
    return re.findall(r"<text[^>]*>(.*?)</text>", svg)


def test_the_model_has_every_layer_token_and_guess():
    assert {"layer 3", "layer 2", "[MASK]", "[CLS]", "on 25 %    in 22 %", "cat [MASK] mat"} <= set(
        words(model())
    )
    assert "becomes 5 tokens. 3 layers of 2 heads" in said(model()) and "guesses on 25 %, in 22 %." in said(
        model()
    )
    assert words(model(shape=(6, 2))).count("layer 6") == 1


def test_the_arrow_to_the_guess_stands_above_the_masked_token():
    def above(masked):
        return re.search(r'<path d="M([\d.]+) 132L\1 98" stroke="#D55E00"', model(masked=masked))[1]

    assert float(above(1)) < float(above(2)) < float(above(3))


def test_many_tokens_are_cut_and_markup_stays_text():
    svg = model(tokens=("<script>alert(1)</script>",) * 20, masked=4)
    assert "<script>" not in svg and "…" in svg


def test_a_head_is_drawn_with_its_own_weights():
    one = render_one_head([[1.0, 0.0], [0.5, 0.5]], size=5, width=10).svg
    other = render_one_head([[0.0, 1.0], [0.5, 0.5]], size=5, width=10).svg
    assert one != other
    assert "10 numbers give a query, a key and a value of 5 numbers" in said(
        one
    ) and "a row for each of 2 tokens" in said(one)


@pytest.mark.parametrize("chosen", [0, 3])
def test_one_head_of_the_layer_is_marked(chosen):
    svg = render_layer(4, chosen).svg
    assert [word for word in words(svg) if word.startswith("head ")] == [f"head {i + 1}" for i in range(4)]
    assert re.findall(r'fill="#a34700"[^>]*>(head \d)<', svg) == [f"head {chosen + 1}"]
    assert f"head {chosen + 1} is marked" in said(svg)


def test_a_long_sentence_is_cut_to_the_frame():
    (cut,) = [
        word
        for word in words(render_model("word " * 100, ("[CLS]", "[MASK]"), 1, GUESSES, shape=(1, 1)).svg)
        if "word word" in word
    ]
    assert cut.endswith("…") and len(cut) < 100
