"""Baselines, paired differences and pictures: what lesson 03 stands on besides the surface measures."""

from xml.etree import ElementTree

import numpy as np
import pytest
from made import attention, refusals, renamed, words_of

from bertlook_course.decks import lesson03 as slides
from bertlook_course.decks.pictures import lesson03 as pictures
from bertlook_course.metrics import layer_difference
from bertlook_course.render import (
    TextTable,
    describe_offsets,
    figure_picture,
    interval_curves,
    render_offset_bars,
)
from bertlook_course.widgets import HeadPictures, PictureMenu
from bertlook_teach import load_encoder
from bertlook_teach.measures import (
    Profile,
    attention_entropy,
    offset_attention,
    other_to_sep,
    profile_heads,
    sep_to_sep,
    special_token_attention,
    uniform_baseline,
)
from bertlook_teach.views import Picture


def profile_of(values, **about):
    """A profile made by hand: ``values[measure]`` has shape (text, layer, head)."""
    profile = Profile(about=about)
    for i in range(len(next(iter(values.values())))):
        profile.add({name: v[i] for name, v in values.items()}, n_tokens=1)
    return profile


def steady(value, texts=20, layers=3, heads=2, noise=0.0, seed=0):
    return value + noise * np.random.default_rng(seed).standard_normal((texts, layers, heads))


def test_a_paired_difference_is_of_the_same_texts_in_the_same_order(specimen):
    texts = ["The cat sat.", "It was tired.", "A dog slept on the mat."]
    first, same, turned = (profile_heads(specimen, given) for given in (texts, list(texts), texts[::-1]))
    assert (layer_difference(first, same, "sep")[0] == 0).all()
    with pytest.raises(ValueError, match="of other texts"):
        layer_difference(first, turned, "sep")
    with pytest.raises(KeyError, match=r"no measure 'to \[SEP\]'; it has previous"):
        layer_difference(first, same, "to [SEP]")


def test_an_interval_of_few_texts_stays_where_the_measure_can_be():
    few = np.array([0.02, 0.9, 0.1]).reshape(3, 1, 1)
    profile = profile_of({"share": few, "nats": few * 3, "change": few - 0.05})
    assert [end.item() for end in profile.interval("share")] == [0, 1]
    assert profile.interval("nats")[0].item() == 0 and profile.interval("nats")[1].item() > 3
    assert profile.interval("change")[0].item() < 0
    assert profile.layer_mean("share")[1:] == (0, 1)


# --- baselines -----------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "measure, expected",
    [
        (lambda a: special_token_attention(a, "cls"), 1 / 7),
        (lambda a: special_token_attention(a, "sep"), 2 / 7),
        (lambda a: special_token_attention(a, "punct"), 1 / 7),
        (sep_to_sep, 2 / 7),
        (other_to_sep, 2 / 7),
        (lambda a: offset_attention(a, -1), 6 / 49),
        (lambda a: offset_attention(a, 3), 4 / 49),
        (attention_entropy, np.log(7)),
    ],
)
def test_the_baseline_of_uniform_attention_is_known_on_paper(measure, expected):
    assert uniform_baseline(measure)(attention()) == pytest.approx(np.full((3, 2), expected), abs=1e-6)


def test_a_token_that_occurs_twice_in_128_gets_one_64th_as_the_paper_says():
    tokens = ("[CLS]", *["a"] * 125, "[SEP]", "[SEP]")
    shares = uniform_baseline(lambda a: special_token_attention(a, "sep"))(attention(tokens))
    assert shares == pytest.approx(np.full((3, 2), 1 / 64))


def test_the_baseline_leaves_the_attention_alone_and_takes_arrays():
    given = attention()
    before = given.weights.copy()
    uniform_baseline(attention_entropy)(given)
    assert (given.weights == before).all()
    assert uniform_baseline(attention_entropy)(np.eye(4)[None, None]) == pytest.approx(np.log(4))


# --- paired differences --------------------------------------------------------------------------------


def test_a_paired_difference_has_no_interval_where_texts_move_together():
    texts = steady(0.5, noise=0.2)
    first, second = profile_of({"sep": texts}), profile_of({"sep": texts + 0.1})
    difference, low, high = layer_difference(first, second, "sep")
    assert difference == pytest.approx(np.full(3, 0.1))
    assert low == pytest.approx(np.full(3, 0.1)) and high == pytest.approx(
        np.full(3, 0.1)
    )  # while each alone varies by .2


def test_a_difference_says_which_way_it_goes_and_covers_its_mean():
    first = profile_of({"sep": steady(0.5, noise=0.1)})
    second = profile_of({"sep": steady(0.2, noise=0.1, seed=1)})
    difference, low, high = layer_difference(first, second, "sep")
    assert (difference < 0).all() and (low <= difference).all() and (difference <= high).all()
    assert layer_difference(second, first, "sep")[0] == pytest.approx(-difference)


# --- pictures ------------------------------------------------------------------------------------------


def test_a_table_shows_every_cell_escaped_and_refuses_a_ragged_row():
    table = TextTable(["<b>", "n"], [["[CLS]", 3], ["a & b", 4]], "two rows")
    (held,) = table._repr_mimebundle_().values()
    assert repr(TextTable(**held)) == repr(table) and held["rows"] == [["[CLS]", "3"], ["a & b", "4"]]
    page = table._repr_html_()
    assert "&lt;b&gt;" in page and "a &amp; b" in page and "<b>" not in page
    ElementTree.fromstring(page)
    assert repr(table).splitlines()[:2] == ["two rows", "<b>    n"]


def curves(shift=0.01):
    mean = np.array([0.1, 0.4, 0.2])
    return {"specimen": (mean, mean - shift, mean + shift), "twin": (mean / 4, mean / 4, mean / 4)}


def test_curves_carry_their_interval_and_baseline():
    figure = interval_curves(curves(), published={"BERT-base": [0.2] * 12}, baseline=("uniform", 0.05))
    axes = figure.axes[0]
    bands = [collection.get_paths()[0].get_extents() for collection in axes.collections]
    assert len(bands) == 2 and bands[0].y0 == pytest.approx(0.09) and bands[0].y1 == pytest.approx(0.41)
    labels = [text.get_text() for text in figure.legends[0].get_texts()]
    assert labels == ["specimen", "twin", "BERT-base (published)", "uniform"]
    assert list(axes.lines[-1].get_ydata()) == [0.05, 0.05]
    assert [line.get_linestyle() for line in axes.lines[:3]].count("-") == 1  # not by colour alone


def test_a_figure_becomes_a_labelled_picture_with_the_same_bytes_each_time():
    first, second = (figure_picture(interval_curves(curves()), 'high & "low"') for _ in range(2))
    assert first == second and first.svg.startswith("<svg") and "<style" not in first.svg
    root = ElementTree.fromstring(first.svg)
    assert root.get("aria-label") == 'high & "low"' and root.get("role") == "img"
    assert "high &amp; &quot;low&quot;" in first._repr_html_()
    assert "<svg" in first.inline()
    saved = first._repr_html_()  # JupyterLab and GitHub keep an image where they take out a drawing
    assert "<svg" not in saved and 'alt="high &amp; &quot;low&quot;"' in saved
    assert repr(first) == 'Picture: high & "low"'


def test_rounding_leaves_the_numbers_on_the_axis_alone():
    figure = interval_curves(curves())
    figure.axes[0].set_yticks([0.25], ["0.25"])
    texts = [
        e.text
        for e in ElementTree.fromstring(figure_picture(figure, "x").svg).iter(
            "{http://www.w3.org/2000/svg}text"
        )
    ]
    assert "0.25" in texts


def test_a_last_digit_does_not_change_the_picture():
    first, second = (figure_picture(interval_curves(curves(0.01 + tiny)), "x") for tiny in (0, 1e-9))
    assert first.svg == second.svg


def test_bars_stand_at_their_offsets_and_turn_round_with_the_map():
    looks_back = np.eye(9, k=-1)
    looks_back[0, 0] = 1
    offsets = (-2, -1, 0, 1, 2)
    back = np.array([offset_attention(looks_back, offset) for offset in offsets])
    ahead = np.array(
        [offset_attention(looks_back[::-1, ::-1], offset) for offset in offsets]
    )  # the text read from its end
    assert "offset -1, the previous token (0.889)" in describe_offsets(back, offsets)
    assert "offset +1, the next token (0.889)" in describe_offsets(ahead, offsets)
    svg = render_offset_bars(back, offsets, title="<1-1>").svg
    titles = [e.text for e in ElementTree.fromstring(svg).iter("{http://www.w3.org/2000/svg}title")]
    assert ">−2<" in svg and ">-2<" not in svg  # on the axis, as in print
    assert "offset -1: 0.889" in titles and "offset +1: 0.000" in titles and "<1-1>" in titles


def test_the_height_of_a_bar_is_its_share():
    svg = render_offset_bars([0.0, 1.0, 0.5], (-1, 0, 1)).svg
    bars = [e for e in ElementTree.fromstring(svg).iter("{http://www.w3.org/2000/svg}rect")][1:]
    heights = [float(bar.get("height")) for bar in bars]
    assert heights[2] == pytest.approx(heights[1] / 2, abs=0.1) and heights[0] < 1


def test_a_menu_of_pictures_shows_the_one_that_is_chosen():
    menu = PictureMenu({"a": Picture(["A"], 9, 9, "", "first"), "b": Picture(["B"], 9, 9, "", "second")})
    assert "first" in menu.view.value
    menu.buttons.value = "b"
    assert "second" in menu.view.value and "first" not in menu.view.value
    assert "second" in menu._repr_mimebundle_()["text/html"]
    assert repr(menu) == "PictureMenu(a | b; shows b)"


def test_choosing_a_head_in_the_map_draws_its_picture():
    drawn = HeadPictures(
        np.ones((2, 3)) / 2, lambda layer, head: Picture([], 9, 9, "", f"head {layer} {head}")
    )
    drawn.head_map.head = 2
    drawn.head_map.layer = 1
    assert "head 1 2" in drawn.view.value and repr(drawn) == "HeadPictures(2 x 3 heads, head 2-3)"
    assert "head 1 2" in drawn._repr_mimebundle_()["text/html"]


# --- what is refused -----------------------------------------------------------------------------------

FIRST = profile_of({"sep": steady(0.5)})

test_what_is_refused = refusals(
    (lambda: uniform_baseline(attention_entropy)(np.eye(4)), r"shape \(layer, head, query, key\); got \(4, 4\)"),
    (lambda: layer_difference(FIRST, profile_of({"sep": steady(0.5, texts=19)}), "sep"), "same texts.*n=20 and n=19"),
    (lambda: layer_difference(FIRST, profile_of({"sep": steady(0.5, layers=4)}), "sep"), "3 and 4 layers"),
    (lambda: TextTable(["a", "b"], [["only one"]]), "needs 2 cells"),
    (lambda: interval_curves({"specimen": ([0.1], [0.2], [0.3])}), "'specimen'.*low <= mean <= high"),
    (lambda: render_offset_bars([0.1, 0.2], (-1, 0, 1)), "3 of them; got shape"),
    (lambda: render_offset_bars([-2.0, 3.0, 1.0], (-1, 0, 1)), "share from 0 to 1"),
    (lambda: PictureMenu({}), "at least one picture"),
)  # fmt: skip


# --- the deck ------------------------------------------------------------------------------------------


def test_the_sink_is_the_token_that_some_layer_gives_most():
    one_layer = np.array([[0.1, 0.1], [0.8, 0.6], [0.1, 0.1]])
    shares = {"cls": steady(one_layer), "sep": steady(0.3), "punct": steady(0.2)}
    assert slides.sink_of(profile_of(shares)) == "cls"
    assert slides.sink_of(profile_of(shares | {"sep": steady(one_layer + 0.1)})) == "sep"


def test_broad_sharp_broad_again_is_said_of_the_curves():
    curves = {"A": np.array([0.8, 0.5, 0.7]), "B": np.array([0.4, 0.5, 0.5]), "C": np.array([0.8, 0.7, 0.6])}
    assert pictures.said_ends("entropy", curves) == (
        "A and C start broad; B starts sharp. Entropy: A falls from 0.80 to 0.50 in layer 2 and ends at 0.70; "
        "B is sharpest in layer 1 (0.40) and ends at 0.50; C falls from 0.80 to 0.60 in layer 3"
    )


def test_the_deck_speaks_of_the_models_it_is_given_and_of_the_token_each_rests_on(specimen):
    twin, minilm = load_encoder("specimen-random"), load_encoder("minilm")
    for encoder, beside, rests in (
        (renamed(specimen), minilm, "`[SEP]`"),
        (minilm, renamed(specimen), "`[CLS]`"),
    ):
        deck = slides.Deck(encoder, twin, beside=beside)
        assert f"{rests} gets more attention" in deck.sink_question()
        assert "times uniform" in deck.sink_picture().caption
        answer = deck.answer()
        said = words_of(deck.corpus_table(), deck.twin_table(), answer.sentence, answer.caption)
        assert "specimen" not in said and deck.name in answer.sentence and deck.subject in answer.caption
    said = words_of(deck.focus_pictures()["all tokens"], deck.twin_table())
    assert (
        "specimen" not in said and "MiniLM falls from" in said and "somebody is sharpest in layer 1" in said
    )
