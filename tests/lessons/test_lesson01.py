"""What lesson 1 shows and says: its tables, its strip of tokens, its gallery, its text view, and its feedback."""

from __future__ import annotations

import re
from dataclasses import replace

import numpy as np
import pytest
from made import refusals

from bertlook_course.checks import lesson01
from bertlook_course.decks.lesson01 import said_columns, said_division, said_scores, said_weights
from bertlook_course.metrics import choose_head as best_head
from bertlook_course.render import (
    NumberTable,
    beside,
    describe_gallery,
    describe_reading,
    render_gallery,
    render_reading,
    strips_picture,
)
from bertlook_teach import extract_attention
from bertlook_teach.views import difference_colour

LAYER, HEAD = 1, 2


@pytest.fixture
def attention():
    return lesson01._example()


# --- tables of numbers ----------------------------------------------------------------------------------


def test_a_table_names_rows_columns_and_shape():
    table = NumberTable(
        [[0.25, 0.75], [1, 0], [0.5, 0.5]], ["a", "b", "c"], ["x", "y"], name="weights", total=True
    )
    assert repr(table).splitlines() == [
        "weights, shape (3, 2)",
        "       x      y    sum",
        "a   0.25   0.75   1.00",
        "b   1.00   0.00   1.00",
        "c   0.50   0.50   1.00",
    ]
    cells = re.findall(r"<td[^>]*>([^<]*)</td>", table.html())
    assert cells == ["0.25", "0.75", "1.00", "1.00", "0.00", "1.00", "0.50", "0.50", "1.00"]
    assert re.findall(r'<th scope="row"[^>]*>([^<]*)</th>', table.html()) == ["a", "b", "c"]


def test_many_columns_are_cut_but_named_ones_are_not():
    values = np.arange(16.0).reshape(2, 8)
    cut = repr(NumberTable(values, ["a", "b"], digits=0))
    assert cut.splitlines()[1].split() == ["0", "1", "2", "3", "4", "…", "7"]
    assert cut.splitlines()[3].split() == ["b", "8", "9", "10", "11", "12", "…", "15"]
    assert "…" not in repr(NumberTable(values, ["a", "b"], list("stuvwxyz")))
    assert "…" not in repr(NumberTable(values[:, :7], ["a", "b"]))


def test_no_minus_before_zero_and_a_real_minus_elsewhere():
    assert repr(NumberTable([-0.001, -0.5], ["a", "b"])).split()[-3:] == ["0.00", "b", "−0.50"]


def test_shading_follows_the_number_and_does_not_replace_it():
    shaded = NumberTable([[0.0, 1.0]], ["a"], ["x", "y"], shade=True).html()
    assert "background:#f6f9fc" in shaded and "background:#00294a" in shaded
    assert ">0.00<" in shaded and ">1.00<" in shaded


def test_a_row_to_look_at_is_framed():
    html = NumberTable([[0.1], [0.9]], ["a", "b"], ["x"], framed=1).html()
    assert html.count("outline:") == 1 and html.index("outline:") > html.index("0.10")


def test_what_is_said_under_the_steps_is_in_the_numbers():
    weights = np.array([[0.25, 0.75, 0.0], [0.5, 0.1, 0.4], [0.0, 0.9, 0.1]])
    assert said_weights(weights, "abc", 1) == "framed: “b” gives “a” 50 %, “c” 40 %, the rest 10 %"
    said = said_scores(weights, "abc", 1, 4)
    assert "“b” · “a” is <b>0.5</b>. Divided by √4, that is the score, 0.2" in said
    assert "“a” · “b” is 0.8" in said
    assert said_columns(weights.sum(axis=0), "abc") == "B: from 0.50 (“c”) to 1.75 (“b”)"
    assert said_division(weights[0], weights[2], "abc").startswith("**More extreme:** “b” gets 0.90 without")


def test_numbers_that_are_no_shares_are_coloured_by_sign():
    html = NumberTable([[-2.0, 0.0, 2.0]], ["a"], ["x", "y", "z"], shade=True).html()
    fills = re.findall(r"background:(#[0-9a-f]{6})", html)
    assert fills == [difference_colour(share) for share in (-1, 0, 1)]


def test_a_vector_is_a_strip_of_its_numbers_and_a_group_has_one_scale():
    picture = strips_picture([[("a", [1.0, -2.0]), ("b", [0.5, 0.0])], [("c", [0.5])]], "so")
    fills = re.findall(r'fill="(#[0-9a-f]{6})"/></g>', picture.svg)
    assert fills == [difference_colour(share) for share in (0.5, -1, 0.25, 0, 1)]
    assert "± 2.0" in picture.svg and "± .50" in picture.svg
    with pytest.raises(ValueError, match="needs a vector"):
        strips_picture([[("a", [[1.0]])]], "so")


def test_names_in_a_table_are_escaped():
    html = NumberTable([[1]], ["<b>"], ["<i>"], name='"<u>"').html()
    assert "<b>" not in html and "<i>" not in html and "<u>" not in html
    assert "&lt;b&gt;" in html


def test_without_names_for_the_axes_the_corner_is_empty():
    html = NumberTable([[0.42]], ["a"], ["x"], axes=("", ""), short=True).html()
    assert "<tr><td></td>" in html and re.findall(r"<td style[^>]*>([^<]*)</td>", html) == [".42"]


def test_tables_stand_beside_each_other():
    html = beside("<p>one</p>", "<p>two</p>")
    assert html.index("one") < html.index("two") and html.count("<p>") == 2


# --- the strip of tokens --------------------------------------------------------------------------------


def test_the_strip_shows_position_token_and_segment_of_each_token(attention):
    pair = lesson01._example(pair=True)
    for given in (attention, pair):
        chips = re.findall(r"<li.*?</li>", render_reading(given))
        shown = [tuple(re.findall(r">([^<>]*)</span>", chip)) for chip in chips]
        assert shown == [
            (str(i), token, "AB"[segment])
            for i, (token, segment) in enumerate(zip(given.tokens, given.segment_ids))
        ]


def test_the_sentence_counts_words_pieces_and_special_tokens(attention):
    assert describe_reading(attention) == (
        "7 tokens: 4 words and punctuation marks in 5 wordpieces, and 2 special tokens. “cats” is cut into pieces."
    )
    whole = replace(attention, word_ids=(None, 0, 1, 2, 3, 4, None), words=("the", "cat", "s", "saw", "it"))
    assert describe_reading(whole).endswith("No word is cut.")


def test_a_token_that_looks_like_markup_is_escaped(attention):
    tokens = (*attention.tokens[:4], "<script>", *attention.tokens[5:])
    assert "<script>" not in render_reading(replace(attention, tokens=tokens))


# --- the gallery ----------------------------------------------------------------------------------------


def test_the_gallery_draws_each_head_once_with_its_name(attention):
    svg = render_gallery(attention.weights, attention.tokens, selected=(LAYER, HEAD)).svg
    assert re.findall(r"<title>Head (.*?)</title>", svg) == ["1-1", "1-2", "1-3", "2-1", "2-2", "2-3"]
    assert svg == render_gallery(attention.weights, attention.tokens, selected=(LAYER, HEAD)).svg
    assert svg.count('stroke-width="4"') == 1 and 'aria-label="All heads' in svg


def test_the_gallery_puts_the_query_in_the_row():
    weights = np.zeros((1, 1, 3, 3))
    weights[0, 0, :, 2] = 1  # everybody looks at the last token: the last column is dark
    svg = render_gallery(weights, ["a", "b", "c"], size=30).svg
    dark = re.search(r'<path d="([^"]*)" fill="#00294a"/>', svg).group(1)
    corners = [tuple(map(float, pair)) for pair in re.findall(r"M([\d.]+) ([\d.]+)", dark)]
    assert len({x for x, _ in corners}) == 1 and len({y for _, y in corners}) == 3


def test_the_gallery_says_which_head_is_sharpest():
    weights = np.full((2, 1, 2, 2), 0.5)
    weights[1, 0, 0] = [0.1, 0.9]
    assert describe_gallery(weights, ["the", "cat"]) == (
        "2 heads on one text. The largest single weight is in head 2-1: 90 % of “the” goes to “cat”. "
        "In head 1-1 no weight is above 50 %."
    )


# --- choosing the best head -----------------------------------------------------------------------------


def test_the_best_head_is_chosen_on_even_and_reported_on_odd_texts():
    values = np.zeros((5, 2, 3))
    values[::2, 1, 0] = 0.9  # wins where it is chosen
    values[1::2, 1, 0] = [0.2, 0.4]  # and is reported where it is not
    values[1::2, 0, 2] = 1.0  # would win there
    best = best_head(values)
    assert (best.layer, best.head, best.label, best.n) == (1, 0, "2-1", 2)
    assert (best.mean, best.low, best.high) == pytest.approx((0.3, 0.2, 0.4))


# --- the live text --------------------------------------------------------------------------------------


@pytest.fixture
def view(specimen):
    from bertlook_course.widgets import TextView

    return TextView(lambda text, pair: render_reading(extract_attention(specimen, text, pair)), "A cat.", "")


def test_typing_draws_the_new_text(view):
    view.text_box.text.value = "The dog sat."
    assert ">dog<" in view.picture.value and ">cat<" not in view.picture.value
    view.text_box.text_pair.value = "It slept."
    assert ">B<" in view.picture.value


def test_a_text_that_cannot_be_read_is_explained_and_the_picture_stays(view):
    before = view.picture.value
    view.text_box.text.value = " "
    assert "empty" in view.text_box.message.value and view.picture.value == before
    view.text_box.text.value = "The dog."
    assert view.text_box.message.value == ""


def test_without_a_kernel_the_last_picture_is_shown(view):
    view.text_box.text.value = "The dog."
    bundle = view._repr_mimebundle_()
    assert ">dog<" in bundle["text/html"] and bundle["text/plain"] == "TextView('The dog.')"


# --- feedback ---------------------------------------------------------------------------------------------


def said(feedback):
    assert feedback.status == "wrong"
    return feedback.message


def test_a_sentence_that_names_no_test_is_sent_back():
    assert "on which texts" in said(lesson01.check_caution("I would look at the picture again, longer."))
    assert "on which texts" in said(
        lesson01.check_caution("I would compare it with the random twin on the same task.")
    )
    assert "compared with what" in said(
        lesson01.check_caution("I would look at more sentences with other words.")
    )
    assert lesson01.check_caution("I would compare it with the random twin on many other sentences.")


# --- what is refused --------------------------------------------------------------------------------------

test_what_is_refused = refusals(
    (lambda: NumberTable([[1, 2]], ["a", "b"]), r"got shape \(1, 2\) and 2 names"),
    (lambda: NumberTable([[1, 2]], ["a"], ["x"]), "2 columns and 1 names"),
    (lambda: NumberTable(np.ones((1, 2, 3)), ["a"]), r"got shape \(1, 2, 3\)"),
    (lambda: render_gallery(np.eye(2), ["a", "b"]), r"\(layer, head, query, key\); got \(2, 2\)"),
    (lambda: best_head(np.ones((1, 2, 3))), "at least two texts"),
    (lambda: best_head(np.full((2, 1, 1), np.nan)), "head 1-1 on text 0 is NaN"),
)


def test_numbers_around_a_middle_are_blue_above_and_brown_below_it():
    page = NumberTable([[0.5, 0.9], [0.1, 0.5]], ["a", "b"], ["c", "d"], shade=True, middle=0.5).html()
    even, more, less = map(difference_colour, (0.0, 1.0, -1.0))
    assert re.findall("background:(#[0-9a-f]{6});", page) == [even, more, less, even]
