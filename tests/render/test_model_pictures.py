"""The drawings for beginners say what they show, keep tokens text, and refuse what they cannot draw."""

from __future__ import annotations

import re

import numpy as np
import pytest

from bertlook_course.render import render_head_steps, render_layer, render_rise
from bertlook_teach.views import percent

GUESSES = (("on", 0.25), ("in", 0.22))
TOKENS = ("[CLS]", "cat", "[MASK]", "mat", "[SEP]")


def rise(tokens=TOKENS, masked=2, guesses=GUESSES, layers=3, weights=None, states=None):
    n = len(tokens)
    rng = np.random.default_rng(0)
    states = rng.normal(size=(layers + 1, n, 40)) if states is None else states
    weights = np.full((layers, 2, n, n), 1 / n) if weights is None else weights
    return render_rise(tokens, masked, states, weights, guesses).svg


def steps(tokens=TOKENS, chosen=1, **other):
    rng = np.random.default_rng(1)
    given = dict(zip(("queries", "keys", "values"), rng.normal(size=(3, len(tokens), 4)).round(1)))
    given |= {"stream": rng.normal(size=(len(tokens), 6)), "output": rng.normal(size=(4, 6))} | other
    return given, render_head_steps(tokens, chosen, **given).svg


def said(svg: str) -> str:
    return re.search(r"<desc>(.*?)</desc>", svg)[1]


def words(svg: str) -> list[str]:
    return re.findall(r"<text[^>]*>(.*?)</text>", svg)


def lines(svg: str) -> list[tuple[float, ...]]:
    """Of each line the middle of its lower end and of its upper one, and its width."""
    found = re.findall(
        r'<line x1="(\S+)" y1="\S+" x2="(\S+)" y2="\S+" stroke="\S+" stroke-width="(\S+)"', svg
    )
    return [tuple(map(float, one)) for one in found]


def test_the_model_has_every_layer_token_and_guess_in_four_steps():
    svg = rise()
    assert {"layer 3", "layer 2", "[MASK]", "[CLS]", "on 25 %    in 22 %"} <= set(words(svg))
    assert "5 tokens rise through 3 layers" in said(svg) and "guesses on 25 %, in 22 %." in said(svg)
    assert svg.count('class="fragment"') == 4
    assert svg.count(" after layer 3: 40 numbers") == 5


def test_of_many_layers_six_are_drawn_the_first_and_the_last_among_them():
    named = [word for word in words(rise(layers=12)) if word.startswith("layer")]
    assert len(named) == 6 and {"layer 1", "layer 12"} <= set(named)
    assert rise(layers=1).count('class="fragment"') == 2


def test_a_line_rises_from_the_token_that_is_looked_at_to_the_one_that_looks():
    weights = np.zeros((1, 1, 5, 5))
    weights[0, 0, :, 4] = 1.0  # all look at the last
    found = lines(rise(layers=1, weights=weights))
    assert len({low for low, _, _ in found}) == 1 and len({high for _, high, _ in found}) == 5
    assert found[0][0] == max(high for _, high, _ in found)


def test_weights_under_a_tenth_have_no_line():
    weights = np.full((1, 1, 5, 5), 0.09)
    weights[..., 0] = 0.64
    assert len(lines(rise(layers=1, weights=weights))) == 5


def test_the_arrow_to_the_guess_stands_above_the_masked_token():
    def above(masked):
        return float(re.search(r'<path d="M([\d.]+) 88L\1 66" stroke="#D55E00"', rise(masked=masked))[1])

    assert above(1) < above(2) < above(3)


def test_a_head_shows_the_products_of_one_query_with_all_keys_and_their_softmax():
    given, svg = steps()
    scores = given["keys"] @ given["queries"][1]
    weights = np.exp(scores / 2) / np.exp(scores / 2).sum()
    assert "÷ √4" in words(svg) and svg.count('class="fragment"') == 6
    assert [word for word in words(svg) if re.fullmatch(r"−?\d+", word)] == [
        f"{s:.0f}".replace("-", "−") for s in scores
    ]
    assert [word for word in words(svg) if word.endswith(" %")] == [
        percent(w) if w >= 0.005 else "0 %" for w in weights
    ]
    by_number = dict(zip((x for x, _, _ in lines(svg)), weights[weights >= 0.005]))
    assert max(by_number, key=by_number.get) == max(lines(svg), key=lambda line: line[2])[0]
    assert f"length {np.linalg.norm(weights @ given['values'] @ given['output']):.1f}" in svg


def test_query_and_key_are_not_the_same_to_a_head():
    given, svg = steps()
    _, turned = steps(queries=given["keys"], keys=given["queries"])
    assert [w for w in words(svg) if w.endswith("%")] != [w for w in words(turned) if w.endswith("%")]


def test_long_tokens_are_cut_and_markup_stays_text():
    hostile = ("<script>alert(1)</script>",) * 12
    for svg in (rise(tokens=hostile, masked=4), steps(tokens=hostile, chosen=4)[1]):
        assert "<script>" not in svg and "…" in svg


@pytest.mark.parametrize("chosen", [0, 3])
def test_one_head_of_the_layer_is_marked(chosen):
    svg = render_layer(4, chosen).svg
    assert [word for word in words(svg) if word.startswith("head ")] == [f"head {i + 1}" for i in range(4)]
    assert re.findall(r'fill="#a34700"[^>]*>(head \d)<', svg) == [f"head {chosen + 1}"]
    assert f"head {chosen + 1} is marked" in said(svg)
