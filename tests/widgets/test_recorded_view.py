"""The switch between a model and a recorded one, and the badge that every picture of it carries."""

from __future__ import annotations

import base64
import re
import zlib
from dataclasses import replace
from xml.etree import ElementTree

import numpy as np
import pytest
import traitlets
from any_view import BAD_NAME, HOSTILE, Recorded, attention, maps

from bertlook_course.render import figure_picture, layer_curves
from bertlook_course.widgets import NeuronView, RecordedExplorer, RecordedView
from bertlook_press.pages import page_source
from bertlook_teach.measures import offset_attention
from bertlook_teach.model import load_encoder, load_recording
from bertlook_teach.views import HeadExplorer, HeadMap, HeadView, render_attention_lines, render_head_map

BADGE = "BERT-base, recorded"
TIME, CAT = "time flies like an arrow", "the cat sat on the mat"
PAIR = ("the cat sat on the mat", "the cat lay on the rug")


@pytest.fixture(scope="module")
def recording():
    return load_recording("bert-base-uncased")


@pytest.fixture
def view(recording):
    return RecordedView(recording, [TIME, CAT, PAIR], layer=7, head=10)


@pytest.fixture(scope="module")
def specimen():
    return load_encoder("specimen")


def shown(bundle) -> list[str]:
    """The pictures in a cell's output."""
    return [base64.b64decode(data).decode() for data in re.findall(r"base64,([\w+/=]+)", bundle["text/html"])]


# --- what travels ---------------------------------------------------------------------------------------------------


def test_every_head_of_every_sentence_is_in_the_page_as_it_was_recorded(view, recording):
    data = bytes(view.data)
    for text, (begin, weights, end) in zip((TIME, CAT, PAIR), view.places):
        one = recording[text]
        n = one.n_tokens
        steps = np.frombuffer(zlib.decompress(data[weights:end]), "<u2").reshape(12, 12, n, n)
        assert np.abs(steps / 65535 - one.weights).max() <= 0.5 / 65535
        values = np.frombuffer(data[begin:weights], "<f4").reshape(len(view.measures), 12, 12)
        assert np.allclose(values[view.measures.index("to the next token")], offset_attention(one, +1))
    assert [text["wordpiece"]["tokens"] for text in view.texts] == [
        list(recording[t].tokens) for t in (TIME, CAT, PAIR)
    ]


def test_all_sentences_together_take_half_the_bits_and_stay_small(recording):
    whole = RecordedView(recording)
    assert whole.bits == 8 and len(whole.names) == len(recording)
    assert len(whole.data) < 300_000  # as text a third more: an exported deck grows by at most 400 kB
    for i, text in enumerate(recording):
        whole.sentence, whole.layer, whole.head = i, 2, 0
        assert np.abs(whole.weights() - recording[text].weights[2, 0]).max() <= 0.5 / 255


def test_the_caption_is_computed_from_the_head_and_the_sentence_in_view(view, recording):
    view.sentence, view.layer, view.head = 1, 2, 0
    assert view.attention is not None and view.names[1] == CAT
    assert view.caption.startswith("Head 3-1: ") and "the next token" in view.caption
    view.query = 1
    assert "looks at" in view.caption
    view.sentence, view.query = 2, 14
    view.sentence = 0  # position 14 is not there
    assert view.query in (-1, 14) and view.names[2] == " / ".join(PAIR)


def test_words_are_made_by_the_rule_of_the_model(recording):
    [text] = [text for text in recording if "strawberries" in str(text)]
    view = RecordedView(recording, [text], level="word", layer=7, head=9)
    assert np.allclose(view.weights(), recording[text].to_words().weights[7, 9], atol=1e-4)
    assert "strawberries" in view.texts[0]["word"]["tokens"]


# --- what is refused ------------------------------------------------------------------------------------------------


def test_a_sentence_that_was_not_recorded_is_refused_and_the_recorded_ones_are_named(recording):
    with pytest.raises(ValueError, match="not among the 12 inputs(?s:.*)time flies like an arrow"):
        RecordedView(recording, ["Dogs bark."])
    with pytest.raises(ValueError, match="not in this view; there are: time flies"):
        RecordedView(recording, [TIME], sentence=CAT)


@pytest.mark.parametrize(
    ("trait", "value", "message"),
    [
        ("layer", 12, "layer counts from 0 to 11; got 12"),
        ("sentence", 3, "sentence counts from 0 to 2"),
        ("measure", "charm", "no measure 'charm'"),
    ],
)
def test_what_is_not_there_cannot_be_chosen(view, trait, value, message):
    with pytest.raises(traitlets.TraitError, match=message):
        setattr(view, trait, value)


def test_sentences_of_two_shapes_and_measures_of_another_are_refused():
    small, large = attention(("[CLS]", "a", "[SEP]"), 2, 3), attention(("[CLS]", "b", "[SEP]"), 3, 2)
    with pytest.raises(ValueError, match="the same layers and heads"):
        RecordedView(Recorded({"a": small, "b": large}))
    with pytest.raises(ValueError, match=r"shape \(2, 3\) \(layer, head\); got \(3, 2\)"):
        RecordedView(Recorded({"a": small}), measures={"odd": lambda one: np.zeros((3, 2))})
    with pytest.raises(ValueError, match="style is one of lines, grid, rows; got 'arcs'"):
        RecordedView(Recorded({"a": small}), style="arcs")


def test_named_heads_come_with_their_sentence_and_wrong_names_are_refused(recording):
    choices = {"8-11: determiners": (CAT, 7, 10), "3-1: the next token": (TIME, 2, 0, 1)}
    view = RecordedView(recording, [TIME, CAT], choices=choices)
    assert (view.sentence, view.layer, view.head, view.query) == (1, 7, 10, -1)
    assert view.choices[1] == ["3-1: the next token", 0, 2, 0, 1, ""]
    last = list(view.measures)[-1]
    measured = RecordedView(recording, [CAT], choices={"a": (CAT, 7, 10, -1, last)})
    assert (measured.measure, view.measure) == (last, view.measures[0])
    with pytest.raises(ValueError, match="names head 13-1, which is not among the 12 x 12 heads"):
        RecordedView(recording, [TIME], choices={"no": (TIME, 12, 0)})
    with pytest.raises(ValueError, match="not in this view"):
        RecordedView(recording, [TIME], choices={"no": (CAT, 0, 0)})


# --- the switch -----------------------------------------------------------------------------------------------------


def test_each_side_of_the_switch_shows_its_own_model_with_its_own_badge(specimen, recording):
    explorer = RecordedExplorer(
        specimen, "Dogs bark.", recording=recording, recorded={"sentences": [TIME]}, shows="recording"
    )
    pictures = shown(explorer._repr_mimebundle_())
    assert len(pictures) == 2 and all(f'data-badge="{BADGE}"' in svg for svg in pictures)
    assert "arrow" in pictures[1] and "bark" not in "".join(pictures)
    explorer.recorded.shows = 0
    pictures = shown(explorer._repr_mimebundle_())
    assert len(pictures) == 2 and all('data-badge="specimen"' in svg for svg in pictures)
    assert BADGE not in "".join(pictures) and ">bar<" in pictures[1]
    assert explorer.head_view.badge == explorer.recorded.other == "specimen"
    assert explorer.head_map.shape == [6, 6] and explorer.recorded.shape == [12, 12]


def test_without_a_recording_there_is_no_switch_and_no_badge(specimen):
    explorer = HeadExplorer(specimen, "Dogs bark.")
    assert "data-badge" not in "".join(shown(explorer._repr_mimebundle_()))


def test_what_a_switch_cannot_show_is_refused(specimen, recording):
    with pytest.raises(TypeError, match="'recording'"):
        RecordedExplorer(specimen, "Dogs bark.", shows="recording")
    with pytest.raises(ValueError, match="shows is one of encoder, recording; got 'both'"):
        RecordedExplorer(specimen, "Dogs bark.", recording=recording, shows="both")
    with pytest.raises(ValueError, match="no recorded side; leave minus or recording out"):
        RecordedExplorer(specimen, "Dogs bark.", recording=recording, minus=specimen)
    with pytest.raises(
        TypeError, match="RecordedExplorer has no option 'recordng'. Did you mean 'recording'?"
    ):
        RecordedExplorer(specimen, "Dogs bark.", recording=recording, recordng=recording)


def test_a_saved_page_holds_both_sides_and_ties_only_the_heads_of_one(specimen, recording):
    explorer = RecordedExplorer(specimen, "Dogs bark.", recording=recording, recorded={"sentences": [TIME]})
    page = page_source(explorer)
    assert (
        '"alone":[0]' in page
        and page.count(BADGE) >= 2
        and '<h1 dir="auto">Attention: specimen; BERT-base, recorded' in page
    )
    assert len(page) - len(page_source(HeadExplorer(specimen, "Dogs bark."))) < 400_000
    alone = page_source(RecordedView(recording, [TIME]))
    assert f'<h1 dir="auto">{BADGE}: {TIME}</h1>' in alone


# --- the badge ------------------------------------------------------------------------------------------------------


def test_a_recorded_attention_brings_its_badge_and_a_computed_one_has_none(recording, specimen):
    view = HeadView(recording[TIME])
    assert (
        view.badge == BADGE
        and f'data-badge="{BADGE}"' in view.picture().svg
        and view.picture().beneath.startswith(BADGE)
    )
    assert NeuronView(recording[TIME]).badge == BADGE
    from bertlook_teach.model import extract_attention

    computed = extract_attention(specimen, "Dogs bark.")
    assert HeadView(computed).badge == "" and "data-badge" not in HeadView(computed).picture().svg
    view.set_attention(computed)
    assert view.badge == ""  # not kept from the model before


def test_a_map_of_plain_numbers_carries_the_badge_it_is_given():
    view = HeadMap([[0.1, 0.9]], badge=BADGE)
    assert (
        f'data-badge="{BADGE}"' in view.picture().svg
        and "data-badge" not in HeadMap([[0.1, 0.9]]).picture().svg
    )


@pytest.mark.parametrize("badge", [BADGE, BAD_NAME, HOSTILE[2]])
def test_a_badge_is_drawn_read_out_and_stays_text(badge):
    picture = render_attention_lines(maps(2, 1, 1)[0, 0], ("the", "cat"), head=(0, 0))
    plain, svg = picture.svg, picture.with_badge(badge).svg
    tree = ElementTree.fromstring(svg)
    space = {"s": "http://www.w3.org/2000/svg"}
    assert tree[0].tag.endswith("title") and tree[0].text == f"{badge}. Head 1-1"
    assert badge in [node.text for node in tree.findall("s:text", space)]
    assert tree.get("aria-label").startswith(f"{badge}. ") and tree.get("data-badge") == badge
    before = ElementTree.fromstring(plain)
    taller = float(tree.get("height")) - float(before.get("height"))
    assert taller > 16 and tree.get("viewBox").split()[3] == f"{float(tree.get('height')):g}"
    assert [node.text for node in tree.iter() if node.tag.endswith("text")][1:] == [
        node.text for node in before.iter() if node.tag.endswith("text")
    ]


def test_a_badge_begins_the_caption_and_an_empty_one_changes_nothing():
    picture = render_head_map([[0.1, 0.2]], title="to [SEP]")
    assert picture.with_badge("") == picture
    marked = picture.with_badge(BADGE)
    assert marked.beneath.startswith(f"{BADGE}. To [SEP]") and marked.sentence == picture.sentence


def test_figures_carry_badges_too():
    figure = layer_curves({"ours": np.linspace(0, 1, 12)})
    assert 'data-badge="specimen"' in figure_picture(figure, "A map.").with_badge("specimen").svg


def test_what_is_no_recording_or_no_sentence_is_refused(recording):
    for wrong in ("bert-base-uncased", {"a": 1}, None):
        with pytest.raises(TypeError, match=r"as load_recording\(\) gives it"):
            RecordedView(wrong)
    with pytest.raises(TypeError, match="sentences must be a list of texts"):
        RecordedView(recording, next(text for text in recording if isinstance(text, str)))
    with pytest.raises(ValueError, match="no sentence to show"):
        RecordedView(recording, [])


def test_a_recorded_first_side_stays_recorded_beside_another_recording():
    cased = load_recording("bert-base-cased")
    explorer = RecordedExplorer(load_recording(), "the cat sat on the mat", recording=cased)
    assert explorer.head_view.badge == "BERT-base, recorded"


def test_a_difference_with_a_recorded_side_names_both():
    recorded = load_recording()["the cat sat on the mat"]
    computed = replace(recorded, recorded="", model="my model")
    other = replace(recorded, recorded="another, recorded")
    assert HeadView(computed, minus=recorded).badge == "my model minus BERT-base, recorded"
    assert HeadView(recorded, minus=other).badge == "BERT-base, recorded minus another, recorded"
    assert HeadView(computed, minus=computed).badge == "my model minus my model"
    ours = replace(recorded, recorded="", model="specimen")
    assert (
        HeadView(ours, minus=ours).badge == ""
        and HeadView(ours, minus=computed).badge == "specimen minus my model"
    )


def test_a_sentence_is_found_as_the_model_reads_it(recording):
    assert RecordedView(recording, [TIME, CAT], sentence="The cat sat  on the MAT").sentence == 1


@pytest.mark.parametrize(
    "options, error, message",
    [
        ({"sentence": 3}, TypeError, "by its text, or by a pair of texts; got 3"),
        ({"measures": np.zeros((12, 12))}, TypeError, "mapping from a name to a function .* got ndarray"),
        ({"measures": {"a": np.zeros((12, 12))}}, TypeError, "mapping from a name to a function"),
        ({"choices": {"a": (CAT, 1)}}, ValueError, "choice 'a' is .sentence, layer, head."),
        ({"choices": {"a": (CAT, 1, 1, 0, "mass")}}, ValueError, "names the measure 'mass'; there are"),
        ({"choices": {"a": (CAT, 1, 1, 99)}}, ValueError, "names token 99, and .* has tokens 0 to 7"),
    ],
)
def test_what_cannot_be_shown_is_said(recording, options, error, message):
    with pytest.raises(error, match=message):
        RecordedView(recording, [TIME, CAT], **options)


def test_neurons_of_a_whole_recording_are_refused_in_words(recording):
    with pytest.raises(TypeError, match=r"one text, with its vectors; got Recording.*texts_with_vectors"):
        NeuronView(recording)
