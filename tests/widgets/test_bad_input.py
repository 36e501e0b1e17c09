"""What every view must bear: tokens that are markup, one token or very many, models of any shape; and what it must refuse."""

from __future__ import annotations

import json
from xml.etree import ElementTree

import numpy as np
import pytest
from any_view import BAD_NAME, FROM_WEIGHTS, HOSTILE, ON_A_PAGE, VIEWS, arcs, attention, maps

from bertlook_course.widgets import ArcView, RecordedView, RecordingFile
from bertlook_press.pages import page_source
from bertlook_teach.model import Attention, load_recording
from bertlook_teach.views import HeadExplorer, HeadMap, HeadView


def test_a_name_in_the_place_of_a_model_is_refused_with_what_to_do():
    with pytest.raises(TypeError, match=r"only a name: give load_encoder\('specimen'\)"):
        HeadExplorer("specimen", "a cat sat.")


@pytest.mark.parametrize("view", [HeadView, HeadMap, HeadExplorer])
@pytest.mark.parametrize(
    ("grid", "said"),
    [((2, 3), "6 patches"), ((2,), "two whole numbers"), ((2.5, 2), "two whole numbers"), ("22", "two whole numbers"), (4, "two whole numbers")],
)  # fmt: skip
def test_a_grid_that_does_not_fit_is_not_passed_over(view, grid, said):
    weights, tokens = maps(9, 1, 2), list("abcdefghi")
    for given in ([tokens], []):
        with pytest.raises(ValueError, match=said):
            view(weights, *given, grid=grid)
    words, patches = Attention.from_arrays(weights, tokens), Attention.from_arrays(weights, grid=(3, 3))
    with pytest.raises(ValueError, match="has its grid from the start"):
        view(words, grid=(3, 3))
    view(patches, grid=(3, 3)), view(weights, grid=(3, 3)), view(weights, tokens, grid=(4, 2))


SENTENCE = ("[CLS]", "the", "cat", "sat", "[SEP]")
views = pytest.mark.parametrize("make", VIEWS.values(), ids=VIEWS)
DRAWN = {
    "svg",
    "title",
    "desc",
    "rect",
    "path",
    "text",
    "tspan",
    "g",
    "line",
    "circle",
    "polygon",
    "polyline",
}


def checked_picture(view):
    """A drawing that a parser can read, of drawing tags alone, and a sentence."""
    svg, sentence = view.picture().svg, view.picture().beneath
    tree = ElementTree.fromstring(svg)
    assert {node.tag.rpartition("}")[2] for node in tree.iter()} <= DRAWN
    names = [name.lower() for node in tree.iter() for name in node.attrib]
    assert not [name for name in names if name.startswith("on") or name.endswith("href")]
    assert sentence and "\x00" not in svg + sentence and "nan" not in svg.replace("Donau", "")
    return tree


@views
def test_tokens_and_names_that_are_markup_stay_text(make):
    view = make(HOSTILE, 2, 3)
    tree = checked_picture(view)
    said = "".join(tree.itertext())
    assert "<img" in said or "<b " in said or "<b>" in said
    page = view._repr_mimebundle_()["text/html"]
    assert (
        "<script" not in page
        and "<b" not in page
        and "onerror=window" not in page.replace("&lt;img src=x onerror", "")
    )
    json.dumps([getattr(view, name) for name in view.keys if name in ("tokens", "texts", "text", "trees")])


@views
@pytest.mark.parametrize("tokens", [("[CLS]",), ("word",), ("\u202e",), ("👩‍👩‍👧‍👦",)], ids=ascii)
def test_one_token_is_a_text(make, tokens):
    checked_picture(make(tokens, 2, 3))


@views
@pytest.mark.parametrize(("layers", "heads"), [(1, 1), (1, 12), (12, 1), (24, 16)])
def test_models_of_any_shape(make, layers, heads):
    view = make(SENTENCE, layers, heads)
    checked_picture(view)
    if view.has_trait("layer"):
        view.layer, view.head = layers - 1, heads - 1
        checked_picture(view)
        assert f"{layers}-{heads}" in view.picture().beneath


@views
def test_five_hundred_and_twelve_tokens(make):
    tokens = ("[CLS]", *(f"w{i}" for i in range(510)), "[SEP]")
    view = make(tokens, 1, 2)
    if isinstance(view, ArcView):  # a drawing as wide as the text; what counts is that every answer is kept
        assert len(view.data) == 2 * 1 * 2 * 512 * 2
        return
    checked_picture(view)


@pytest.mark.parametrize("name", FROM_WEIGHTS)
@pytest.mark.parametrize(
    ("wrong", "message"),
    [
        (np.nan, "finite"),
        (np.inf, "finite"),
        (-0.5, "negative"),
        (1.5, "share|between 0 and 1"),
    ],
)
def test_weights_that_are_none_are_refused_with_their_place(name, wrong, message):
    weights = maps(5, 2, 3)
    weights[1, 2, 3, 4] = wrong
    with pytest.raises(ValueError, match=message) as error:
        VIEWS[name](SENTENCE, 2, 3, weights)
    assert "layer 1, head 2, query 3 ('sat'), key 4" in str(error.value)


@pytest.mark.parametrize("name", FROM_WEIGHTS)
def test_weights_of_zeros_are_refused_with_what_it_may_be(name):
    with pytest.raises(
        ValueError, match=r"query 0 \('\[CLS\]'\) sums to 0\.000. It looks nowhere. Was this head ablated"
    ):
        VIEWS[name](SENTENCE, 2, 3, np.zeros((2, 3, 5, 5)))


@pytest.mark.parametrize("name", ["head_map", "distance_map"])
def test_maps_refuse_what_is_not_a_number(name):
    with np.errstate(invalid="ignore"), pytest.raises(ValueError, match="finite"):
        VIEWS[name](SENTENCE, 2, 3, np.full((2, 3, 5, 5), np.nan))


@pytest.mark.parametrize("answer", [np.full((2, 2, 3, 5), 5), np.full((2, 2, 3, 5), np.nan)])
def test_arcs_refuse_answers_that_are_no_words(answer):
    from bertlook_course.corpora import TreebankSentence

    sentence = TreebankSentence(SENTENCE, (-1, 0, 1, 2, 3), ("root", *"abcd"), *[("_",) * 5] * 3, ({},) * 5)
    with pytest.raises(ValueError, match="positions of words from 0 to 4"):
        ArcView([sentence], [answer])


# ---- saved pages -----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", ON_A_PAGE)
def test_a_saved_page_is_the_same_bytes_twice_and_holds_every_token_as_text(name):
    make = VIEWS[name]
    page = page_source(make(HOSTILE, 2, 3))
    assert page == page_source(make(HOSTILE, 2, 3))
    assert page.count("</script>") == page.count("<script ")  # no token ends one
    assert "<img src=x" not in page and "<b onclick" not in page
    start = page.index('type="application/json">') + len('type="application/json">')
    saved = json.loads(page[start : page.index("</script>", start)])
    assert json.dumps(HOSTILE[1])[1:-1] in json.dumps(saved) or json.dumps(BAD_NAME)[1:-1] in json.dumps(
        saved
    )


def test_arcs_of_one_word_say_that_there_is_none():
    assert arcs(("word",), 2, 3).caption == "This sentence has no such arc."


# --- options --------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: HeadExplorer(None, "a cat", quantty=1), "HeadExplorer has no option 'quantty'. Did you mean 'quantity'"),
        (lambda: HeadMap({"x": np.ones((2, 3))}, mesure="x"), "HeadMap has no option 'mesure'. Did you mean 'measure'"),
        (lambda: HeadView(attention(SENTENCE, 2, 3), hide_specal=True), "HeadView has no option 'hide_specal'. Did you mean 'hide_special'"),
        (lambda: RecordedView(load_recording(), sentnce="a"), "RecordedView has no option 'sentnce'. Did you mean 'sentence'"),
        (lambda: RecordingFile(mesure="x"), "RecordedView has no option 'mesure'. Did you mean 'measure'"),
        (lambda: HeadMap({"x": np.ones((2, 3))}, quite_another=1), "HeadMap has no option 'quite_another'. Its options are badge, "),
    ],
)  # fmt: skip
def test_an_option_that_is_misspelt_is_refused_with_the_one_that_was_meant(make, message):
    with pytest.raises(TypeError, match=message):
        make()


def test_what_every_widget_takes_is_an_option_too():
    assert HeadMap({"x": np.ones((2, 3))}, layout={"width": "300px"}).layout.width == "300px"
