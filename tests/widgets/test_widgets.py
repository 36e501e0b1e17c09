"""Live views, tested without a browser: their state, their links, their last picture. Sizes differ on every axis."""

import base64
import html
import re
import zlib
from types import SimpleNamespace

import ipywidgets
import made
import numpy as np
import pytest
import traitlets
from tiny import HEAD_SIZE, save_tiny_model

from bertlook_course.widgets import module_source, view_names
from bertlook_teach.model import Attention, extract_attention, load_encoder
from bertlook_teach.views import (
    HeadExplorer,
    HeadMap,
    HeadView,
    SideBySide,
    TextBox,
    default_measures,
    describe_attention,
    describe_norms,
    describe_token,
    describe_token_norms,
    link_heads,
    render_attention_grid,
    render_attention_lines,
    style_source,
)

LAYERS, HEADS = 2, 3
WORDS = ("the", "unreal", "cat")
TOKENS = ("[CLS]", "the", "un", "##real", "cat", "[SEP]")


def attention(
    tokens=TOKENS, word_ids=(None, 0, 1, 1, 2, None), words=WORDS, layers=LAYERS, heads=HEADS, seed=0
):
    about = {
        "words": tuple(words),
        "word_ids": tuple(word_ids),
        "special": tuple(i is None for i in word_ids),
    }
    return made.attention(tokens, layers, heads, seed=seed, spread=0.5, text=" ".join(words), **about)


def plain(n, layers=1, heads=1):
    """An attention over n one-piece words without special tokens."""
    words = tuple(f"w{i}" for i in range(n))
    return attention(words, range(n), words, layers, heads)


def extract(encoder, text, text_pair=None):
    """Stands for extract_attention: words are tokens, and empty text is refused."""
    if not text.strip():
        raise ValueError("the text is empty.")
    words = text.split() + (["[SEP]", *text_pair.split()] if text_pair else [])
    tokens = ["[CLS]", *words, "[SEP]"]
    return attention(tokens, [None, *range(len(words)), None], words, seed=len(words))


def explorer(text="the cat sat", **options):
    options.setdefault("extract", extract)
    return HeadExplorer(SimpleNamespace(name="toy"), text, **options)


# ---- HeadView: data ----------------------------------------------------------------------------------------


def test_the_view_carries_every_head_within_half_a_step():
    a = attention()
    for bits, error in ((8, 0.5 / 255), (16, 0.5 / 65535)):
        view = HeadView(a, bits=bits)
        steps = np.frombuffer(view.data, "u1" if bits == 8 else "<u2").reshape(a.weights.shape)
        assert np.abs(steps / (2**bits - 1) - a.weights).max() <= error + 1e-7
        assert view.shape == [LAYERS, HEADS, len(TOKENS)]


def test_rows_are_queries_in_the_packed_data():
    view = HeadView(attention(), layer=1, head=2)
    assert view.weights() == pytest.approx(attention().weights[1, 2], abs=1e-4)
    assert view.weights() != pytest.approx(attention().weights[1, 2].T, abs=1e-1)


def test_twelve_layers_of_128_tokens_stay_below_three_megabytes():
    a = plain(128, 12, 12)
    view = HeadView(a)
    assert view.bits == 8 and view.packing == "deflate"
    page = len(view.data) * 4 / 3  # base64 in a saved page
    assert page + len(view._esm) + len(str(view.texts)) < 3_000_000
    steps = np.frombuffer(zlib.decompress(view.data), "u1").reshape(a.weights.shape)
    assert np.abs(steps / 255 - a.weights).max() <= 0.5 / 255 + 1e-7


def test_words_are_those_of_the_attention():
    view = HeadView(attention(), layer=1, head=2, level="word")
    assert view.texts["word"]["tokens"] == ["[CLS]", "the", "unreal", "cat", "[SEP]"]
    assert view.weights() == pytest.approx(attention().to_words().weights[1, 2], abs=1e-4)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (
            lambda w: w.__setitem__((1, 2, 3, 4), np.nan),
            r"layer 1, head 2, query 3 \('##real'\), key 4 \('cat'\) is nan",
        ),
        (lambda w: w.__setitem__((1, 2, 3, 4), -1), r"cannot be negative; layer 1, head 2"),
        (lambda w: w.__setitem__((0, 1, 2), 0), r"layer 0, head 1, query 2 \('un'\) sums to 0"),
    ],
)
def test_weights_that_cannot_be_drawn_are_refused(change, message):
    a = attention()
    change(a.weights)
    with pytest.raises(ValueError, match=message):
        HeadView(a)


def test_weights_and_tokens_must_match():
    a = attention()
    with pytest.raises(
        ValueError, match=r"6 tokens need weights of shape \(layer, head, 6, 6\); got \(2, 3, 5, 5\)"
    ):
        HeadView(SimpleNamespace(weights=a.weights[..., :5, :5], tokens=a.tokens))
    with pytest.raises(ValueError, match="bits is 8 or 16, for each weight; got 4"):
        HeadView(a, bits=4)


# ---- HeadView: what is in view -----------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("style", "draw"), [("lines", render_attention_lines), ("grid", render_attention_grid)]
)
def test_choosing_a_head_changes_the_picture(style, draw):
    view = HeadView(attention(), style=style)
    before = view.picture().svg
    view.layer, view.head = 1, 2
    svg, sentence = view.picture().svg, view.picture().beneath
    assert svg != before
    assert svg == draw(view.weights(), TOKENS, head=(1, 2), segment_ids=(0,) * 6).svg
    assert sentence == describe_attention(view.weights(), TOKENS, head=(1, 2))


def test_style_and_level_have_names_in_python_and_numbers_in_the_page():
    view = HeadView(attention(), style="grid", level="word")
    assert (view.style_index, view.level_index) == (1, 1)
    view.style_index, view.level_index = 0, 0  # as a menu linked in the browser does
    assert (view.style, view.level) == ("lines", "wordpiece")
    assert not {"style", "level"} & set(view.keys)


def test_a_kept_token_is_described_and_let_go_at_another_level():
    view = HeadView(attention(), query=3)
    assert view.sentence == describe_token(view.weights(), TOKENS, 3)
    view.level = "word"
    assert view.query == -1
    last = len(view.weights()) - 1
    view.query = last
    assert view.query == last
    with pytest.raises(traitlets.TraitError, match=f"query counts from 0 to {last}; got {last + 1}"):
        view.query = last + 1
    assert view.query == last
    with pytest.raises(traitlets.TraitError, match="key counts from 0"):
        HeadView(attention(), query=1, key=99)


def test_hiding_special_tokens_does_not_renormalise():
    view = HeadView(attention(), hide_special=True)
    weights = attention().weights[0, 0].astype(float)
    hidden = weights[1:5][:, [0, 5]].sum(axis=1).mean()
    assert view.sentence.endswith(f"Special tokens are hidden and hold {int(hidden * 100 + 0.5)} %.")


def test_a_text_of_special_tokens_only_is_still_drawn():
    view = HeadView(attention(("[CLS]", "[SEP]"), (None, None), ()), hide_special=True)
    svg, sentence = view.picture().svg, view.picture().beneath
    assert "<svg" in svg and sentence == "Head 1-1: every token is special and hidden."


@pytest.mark.parametrize(
    ("trait", "value", "message"),
    [
        ("layer", 2, "layer counts from 0 to 1; got 2"),
        ("head", -1, "head counts from 0 to 2; got -1"),
        ("style", "circle", "circle"),
        ("level", "letter", "letter"),
    ],
)
def test_what_is_not_there_cannot_be_chosen(trait, value, message):
    view = HeadView(attention())
    with pytest.raises(traitlets.TraitError, match=message):
        setattr(view, trait, value)
    with pytest.raises(traitlets.TraitError):
        HeadView(attention(), **{trait: value})


def test_words_cannot_be_taken_apart():
    view = HeadView(attention().to_words())
    assert view.level == "word"
    with pytest.raises(traitlets.TraitError, match="cannot be taken apart"):
        view.level = "wordpiece"
    with pytest.raises(traitlets.TraitError, match="cannot be taken apart"):
        view.level_index = 0


def test_another_text_keeps_the_head_and_lets_the_token_go():
    view = HeadView(attention(), layer=1, head=2, query=3, style="grid")
    view.set_attention(attention(("[CLS]", "hi", "[SEP]"), (None, 0, None), ("hi",), seed=5))
    assert (view.layer, view.head, view.query, view.style, view.shape) == (1, 2, -1, "grid", [2, 3, 3])
    view.set_attention(plain(4))
    assert (view.layer, view.head) == (0, 0)


@pytest.mark.parametrize(("layers", "heads", "n"), [(1, 1, 1), (24, 16, 2), (1, 2, 130)])
def test_models_and_texts_of_any_size_are_drawn(layers, heads, n):
    view = HeadView(plain(n, layers, heads), layer=layers - 1, head=heads - 1)
    assert f"Head {layers}-{heads}" in view.picture().svg


# ---- weights and norms -------------------------------------------------------------------------------------

LENGTHS = np.random.default_rng(3).uniform(0.1, 4, size=(LAYERS, HEADS, len(TOKENS))).astype(np.float32)


def test_the_view_changes_between_weights_and_norms():
    a = attention()
    view = HeadView(a, norms=LENGTHS, layer=1, head=2, style="grid")
    weights = view.picture().svg
    view.quantity = "norm"
    assert view.quantity_index == 1
    assert view.weighted_norms() == pytest.approx(a.weights[1, 2] * LENGTHS[1, 2][None, :], abs=1e-3)
    assert view.weighted_norms() != pytest.approx(a.weights[1, 2] * LENGTHS[1, 2][:, None], abs=0.1)
    assert view.longest == pytest.approx(LENGTHS[1, 2].max())
    svg, sentence = view.picture().svg, view.picture().beneath
    assert sentence == describe_norms(view.weighted_norms(), TOKENS, longest=view.longest, head=(1, 2))
    assert svg != weights and "Head 2-3, norms" in svg
    assert repr(view) == "HeadView(2 x 3 heads, head 2-3, 6 wordpieces, grid, norms)"
    view.query = 3
    assert view.sentence == describe_token_norms(view.weighted_norms(), TOKENS, 3)
    view.quantity_index = 0  # as a menu linked in the browser does
    view.query = -1
    assert view.quantity == "weight" and view.picture().svg == weights


def test_the_norms_of_a_words_pieces_are_added_up():
    view = HeadView(attention(), norms=LENGTHS, quantity="norm", level="word")
    pieces = attention().weights[0, 0] * LENGTHS[0, 0]
    keys = np.stack(
        [pieces[:, [2, 3]].sum(1) if k == 2 else pieces[:, min(k, 5) + (k > 2)] for k in range(5)], 1
    )
    words = np.stack([keys[[2, 3]].mean(0) if q == 2 else keys[q + (q > 2)] for q in range(5)])
    assert view.weighted_norms() == pytest.approx(words, abs=1e-3)
    assert "Head 1-1, norms" in view.picture().svg


def test_a_view_without_norms_carries_none_and_says_so():
    view = HeadView(attention())
    assert view.norms == b""
    for trait, value in (("quantity", "norm"), ("quantity_index", 1)):
        with pytest.raises(traitlets.TraitError, match="holds weights alone; pass norms=value_norms"):
            setattr(view, trait, value)
    with pytest.raises(traitlets.TraitError, match="holds weights alone"):
        HeadView(attention(), quantity="norm")
    with pytest.raises(ValueError, match="holds weights alone"):
        view.weighted_norms()


@pytest.mark.parametrize(
    ("norms", "message"),
    [
        (LENGTHS[..., :5], r"one number per layer, head and token, shape \(2, 3, 6\); got \(2, 3, 5\)"),
        (-LENGTHS, r"finite and not negative; layer 0, head 0, token 0 \('\[CLS\]'\) is -"),
        (
            np.where(LENGTHS == LENGTHS[1, 2, 4], np.nan, LENGTHS),
            r"layer 1, head 2, token 4 \('cat'\) is nan",
        ),
    ],
)
def test_norms_that_cannot_be_drawn_are_refused(norms, message):
    with pytest.raises(ValueError, match=message):
        HeadView(attention(), norms=norms)


def test_another_text_without_norms_shows_weights_again():
    view = HeadView(attention(), norms=LENGTHS, quantity="norm")
    other = attention(("[CLS]", "hi", "[SEP]"), (None, 0, None), ("hi",), seed=5)
    view.set_attention(other, np.ones((2, 3, 3)))
    assert view.quantity == "norm" and view.longest == 1
    view.set_attention(other)
    assert (view.quantity, view.quantity_index, view.norms) == ("weight", 0, b"")


def test_the_explorers_choice_is_a_trait_that_one_can_observe():
    explorer, seen = HeadExplorer(load_encoder("specimen"), "The dog ran home.", layer=2, head=1), []
    explorer.observe(lambda change: seen.append((change["name"], change["new"])), names=["layer", "head"])
    explorer.head = 3
    explorer.head_map.layer = 4  # as a click does
    assert seen == [("head", 3), ("layer", 4)] and (explorer.layer, explorer.head_view.head) == (4, 3)
    with pytest.raises(traitlets.TraitError, match="head counts from 0 to 5; got 99"):
        explorer.head = 99
    assert (explorer.head, explorer.head_view.head) == (3, 3)


def test_the_explorer_has_the_switch_when_norms_can_be_had():
    def lengths(attention):
        return np.full(attention.weights.shape[:3], 2.0)

    shown = explorer(norms=lengths, quantity="norm")
    assert shown.quantity_menu.value == "norm" and shown.head_view.longest == 2
    shown.quantity_menu.value = "weight"
    assert shown.head_view.quantity == "weight"
    shown.text_box.text.value = "the cat sat down there"
    shown.quantity_menu.value = "norm"
    assert shown.head_view.weighted_norms().shape == (7, 7)
    without = explorer()
    assert not hasattr(without, "quantity_menu") and without.head_view.norms == b""


def test_on_an_encoder_the_explorers_norms_are_what_a_head_would_add(tmp_path):
    """Brute force: put each value vector through the head's slice of the output projection, and take the length."""
    tiny = load_encoder(save_tiny_model(tmp_path / "bert"))
    shown = HeadExplorer(tiny, "the cat sat", quantity="norm", layer=2, head=1)
    value = extract_attention(tiny, "the cat sat", vectors=True).values[2, 1]
    dense = (
        tiny.model.encoder.layer[2]
        .attention.output.dense.weight.detach()
        .numpy()[:, HEAD_SIZE : 2 * HEAD_SIZE]
    )
    lengths = [np.linalg.norm(dense @ vector) for vector in value]
    weights = shown.head_view.weights()
    assert shown.head_view.weighted_norms() == pytest.approx(weights * np.array(lengths)[None, :], abs=1e-4)
    shown.read("a dog")
    assert shown.head_view.longest > 0 and shown.head_view.quantity == "norm"
    with pytest.raises(ValueError, match="holds no value vectors"):
        HeadExplorer(tiny, "the cat", extract=extract_attention, norms=True)


# ---- HeadMap -----------------------------------------------------------------------------------------------

VALUES = np.arange(6).reshape(LAYERS, HEADS) / 10


def test_the_map_knows_the_value_of_the_chosen_head():
    head_map = HeadMap({"share": VALUES, "entropy (nats)": VALUES * 10}, layer=1, head=2)
    assert head_map.value == pytest.approx(0.5)
    head_map.measure = "entropy (nats)"
    assert head_map.value == pytest.approx(5)
    assert np.frombuffer(head_map.data, "<f4").reshape(2, LAYERS, HEADS)[1] == pytest.approx(VALUES * 10)
    assert head_map.ranges == [[0.0, pytest.approx(0.5)], [0.0, pytest.approx(5)]]


def test_the_map_shows_other_numbers_and_keeps_the_choice():
    head_map = HeadMap(VALUES, layer=1, head=2, name="share")
    head_map.set_values({"other": VALUES[:, :2]})
    assert (head_map.layer, head_map.head, head_map.measure) == (1, 1, "other")


def test_the_map_refuses_what_it_cannot_show():
    with pytest.raises(ValueError, match="at least one measure"):
        HeadMap({})
    with pytest.raises(ValueError, match=r"same shape \(layer, head\); got \{'a': \(2, 3\), 'b': \(2, 2\)\}"):
        HeadMap({"a": VALUES, "b": VALUES[:, :2]})
    with pytest.raises(ValueError, match="layer 0, head 1 is nan"):
        HeadMap([[0, np.nan]])
    with pytest.raises(traitlets.TraitError, match="no measure 'speed' in this map; there are value"):
        HeadMap(VALUES, measure="speed")
    with pytest.raises(ValueError, match=r"ranges name measures that are not there: \['b'\]"):
        HeadMap({"a": VALUES}, ranges={"b": (0, 1)})
    with pytest.raises(ValueError, match=r"a range is two numbers, \(low, high\); 'a' has 'auto'"):
        HeadMap({"a": VALUES}, ranges={"a": "auto"})
    with pytest.raises(traitlets.TraitError, match="layer counts from 0 to 1; got 5"):
        HeadMap(VALUES, layer=5)


# ---- links -------------------------------------------------------------------------------------------------


def test_linked_views_show_the_same_head_in_python_too():
    head_map, view = HeadMap(VALUES, layer=1), HeadView(attention())
    links = link_heads(head_map, view)
    assert (view.layer, view.head) == (1, 0)  # the first one's choice
    head_map.head = 2
    assert view.head == 2
    view.layer = 0
    assert head_map.layer == 0
    assert {type(link).__name__ for link in links} == {"Link"}  # jslink: also in the page, without a kernel


def test_a_change_from_the_page_is_not_sent_round_again():
    head_map, view = HeadMap(VALUES), HeadView(attention())
    link_heads(head_map, view)
    head_map.set_state({"head": 2})  # what the kernel does with a message from the page
    assert head_map.head == 2
    assert view.head == 0  # the page has told the view itself, and the view will report on its own


def test_links_need_two_views_of_the_same_heads():
    with pytest.raises(ValueError, match="at least two views; got 1"):
        link_heads(HeadMap(VALUES))
    with pytest.raises(ValueError, match="the same layers and heads"):
        link_heads(HeadMap(VALUES), HeadMap(VALUES[:, :2]))


# ---- TextBox and HeadExplorer --------------------------------------------------------------------------------


def test_a_sentence_that_cannot_be_read_says_so_and_loses_nothing():
    shown = explorer()
    before = shown.head_view.data
    shown.text_box.text.value = "  "
    assert "The text is empty. The picture still shows the last text." in shown.text_box.message.value
    assert shown.head_view.data == before and shown.text_box.text.value == "  "
    assert shown.attention.text == "the cat sat"
    shown.text_box.text.value = "the cat sat down"
    assert shown.text_box.message.value == "" and shown.head_view.shape[2] == 6


def test_messages_are_escaped():
    def compute(text, text_pair):
        raise ValueError(f"cannot read {text}")

    box = TextBox(compute, "")
    box.text.value = "<img src=x onerror=alert(1)>"
    assert "&lt;img" in box.message.value and "<img" not in box.message.value


def test_a_new_sentence_changes_the_map_and_the_view():
    shown = explorer(measures={"to itself": lambda a: a.weights.diagonal(axis1=2, axis2=3).mean(-1)})
    before = shown.head_map.data
    shown.text_box.text.value = "so it goes on"
    assert shown.head_map.data != before
    assert shown.head_view.texts["wordpiece"]["tokens"] == ["[CLS]", "so", "it", "goes", "on", "[SEP]"]
    shown.read("back again")
    assert shown.text_box.texts == ("back again", None) and shown.attention.text == "back again"
    with pytest.raises(ValueError, match="the text is empty"):
        shown.read("")


def test_a_second_text_has_a_box_only_when_asked_for():
    assert len(explorer().text_box.children[0].children) == 1
    shown = explorer(text_pair="")
    assert len(shown.text_box.children[0].children) == 2 and shown.text_box.texts == ("the cat sat", None)
    shown.text_box.text_pair.value = "it slept"
    assert shown.attention.tokens == ("[CLS]", "the", "cat", "sat", "[SEP]", "it", "slept", "[SEP]")


def test_menus_map_and_view_move_together():
    shown = explorer()
    shown.layer_menu.value, shown.head_menu.value = "2", "3"  # as printed: counted from one
    assert (shown.layer, shown.head) == (1, 2) == (shown.head_map.layer, shown.head_map.head)
    shown.head_map.head = 0
    assert shown.head_menu.value == "1" and shown.head == 0
    shown.style_menu.value, shown.level_menu.value, shown.special_box.value = "grid", "words", True
    view = shown.head_view
    assert (view.style, view.level, view.hide_special) == ("grid", "word", True)
    shown.layer = 0
    assert shown.layer_menu.index == 0 and shown.head_map.layer == 0


def test_every_control_works_without_the_kernel():
    """Each one is tied by a link that the page follows itself (jslink), not by a function in Python."""
    shown = explorer()
    state = ipywidgets.Widget.get_manager_state()["state"].values()
    models = {
        f"IPY_MODEL_{widget.model_id}": name
        for name, widget in vars(shown).items()
        if hasattr(widget, "model_id")
    }
    links = {
        (models[link["state"]["source"][0]], models[link["state"]["target"][0]], link["state"]["target"][1])
        for link in state
        if link["model_name"] == "LinkModel" and link["state"]["source"][0] in models
    }
    assert {
        ("head_map", "head_view", "layer"),
        ("head_map", "head_view", "head"),
        ("head_view", "layer_menu", "index"),
        ("head_view", "head_menu", "index"),
        ("head_view", "style_menu", "index"),
        ("head_view", "level_menu", "index"),
        ("head_view", "special_box", "value"),
    } <= links


def test_measures_may_be_functions_or_arrays_of_the_right_shape():
    shown = explorer(measures={"corpus": VALUES})
    shown.text_box.text.value = "another"
    assert np.frombuffer(shown.head_map.data, "<f4").reshape(2, 3) == pytest.approx(VALUES)
    with pytest.raises(
        ValueError, match=r"measure 'bad' must give one number per head, shape \(2, 3\) .*got \(3, 2\)"
    ):
        explorer(measures={"bad": VALUES.T})


@pytest.mark.parametrize("values", [[["a", "b"]], [[0.1, 0.2], [0.3]]])
def test_words_and_ragged_rows_are_no_head_map(values):
    with pytest.raises(ValueError, match="numbers in rows of one length were expected"):
        HeadMap(values)


def test_what_was_before_may_be_arrays_as_well():
    after, before = np.full((1, 1, 2, 2), 0.5), np.eye(2)[None, None]
    told = Attention.from_arrays(before, ["a", "b"])
    one, other = (HeadView(after, ["a", "b"], minus=minus) for minus in (before, told))
    assert one.texts == other.texts != HeadView(after, ["a", "b"]).texts


def test_two_models_come_in_a_list():
    with pytest.raises(TypeError, match=r"two models come in a list"):
        SideBySide(load_encoder("specimen"), "We saw birds.")


def test_a_grid_is_two_numbers():
    with pytest.raises(ValueError, match=r"grid is two whole numbers, .* got 2"):
        Attention.from_arrays(np.full((1, 1, 4, 4), 0.25), grid=2)


def test_a_table_is_no_head_map():
    pandas = pytest.importorskip("pandas")
    with pytest.raises(TypeError, match=r"a table was given. Of a profile, give profile.mean\('previous'\)"):
        HeadMap(pandas.DataFrame({"head": ["1-1"], "previous": [0.5]}))


def test_the_second_text_may_begin_at_a_place_given_as_in_bertviz():
    weights = np.full((1, 1, 4, 4), 0.25)
    view = HeadView(weights, list("abcd"), 2)
    assert view.texts["wordpiece"]["segments"] == [0, 0, 1, 1]


def test_measures_without_names_are_refused():
    with pytest.raises(
        TypeError, match="measures have names: give a mapping of name to measure; got <function"
    ):
        explorer(measures=lambda attention: attention.weights[..., 0].mean(-1))


def test_the_default_measures_say_where_the_head_looks():
    back = np.eye(6, k=-1)
    back[0, 0] = 1
    a = attention()
    a.weights[0, 0] = back
    measured = {name: measure(a)[0, 0] for name, measure in default_measures().items()}
    assert measured["to the previous token"] == pytest.approx(5 / 6)
    assert measured["to the next token"] == pytest.approx(0)
    assert measured["to itself"] == pytest.approx(1 / 6)
    assert measured["to [CLS]"] == pytest.approx(2 / 6)
    assert measured["to [SEP]"] == pytest.approx(0)
    assert measured["entropy (nats)"] == pytest.approx(0)


# ---- what a page without a live view shows -----------------------------------------------------------------


def saved_pictures(html):
    """The drawings inside the images' addresses."""
    return [
        base64.b64decode(text).decode() for text in re.findall(r"data:image/svg\+xml;base64,([^\"]+)", html)
    ]


@pytest.mark.parametrize("make", [lambda: HeadView(attention()), lambda: HeadMap(VALUES), explorer])
def test_the_saved_output_is_a_picture_a_sentence_and_a_name_and_is_the_same_twice(make):
    first, second = make(), make()
    bundles = [widget._repr_mimebundle_() for widget in (first, second)]
    views = [bundle.pop("application/vnd.jupyter.widget-view+json") for bundle in bundles]
    assert bundles[0] == bundles[1]
    assert views[0]["model_id"] == first.model_id != views[1]["model_id"]
    assert saved_pictures(bundles[0]["text/html"])[0].startswith("<svg")
    assert "<figcaption>" in bundles[0]["text/html"]
    assert not re.search(r"0x[0-9a-f]{6}", bundles[0]["text/plain"])
    assert len(bundles[0]["text/plain"]) <= 110


def test_the_saved_picture_is_the_state_in_view():
    view = HeadView(attention())
    before = view._repr_mimebundle_()["text/html"]
    view.head = 2
    after = view._repr_mimebundle_()["text/html"]
    assert saved_pictures(after) == [view.picture().svg] != saved_pictures(before)
    assert f"<figcaption>{html.escape(view.sentence)}</figcaption>" in after


def test_the_saved_output_survives_a_notebook_that_is_not_trusted():
    """JupyterLab and GitHub strip drawing tags and scripts from it; an image with its address inside stays."""
    found = set(re.findall(r"<(\w+)", explorer()._repr_mimebundle_()["text/html"]))
    assert found == {"div", "figure", "img", "figcaption"}


def test_names_are_short_and_say_what_is_in_view():
    assert (
        repr(HeadView(attention(), layer=1, head=2)) == "HeadView(2 x 3 heads, head 2-3, 6 wordpieces, lines)"
    )
    assert repr(HeadMap(VALUES, name="share")) == "HeadMap(2 x 3 heads, share, head 1-1)"
    assert repr(explorer()) == "HeadExplorer(toy, 2 x 3 heads, head 1-1, 5 tokens)"
    assert repr(explorer().text_box) == "TextBox('the cat sat')"


@pytest.mark.parametrize("style", ["lines", "grid", "rows"])
def test_the_picture_of_a_long_text_is_not_saved_and_its_sentence_and_data_are(style):
    n = 460
    weights = np.random.default_rng(0).dirichlet(np.full(n, 0.05), size=(1, 1, n))
    view = HeadView(weights, [f"t{i}" for i in range(n)], style=style)
    page = view._repr_mimebundle_()["text/html"]
    assert len(page) < 2_000 and "MB is not saved" in page and html.escape(view.sentence) in page
    assert view.shape == [1, 1, n] and len(view.picture().svg) > 300_000


def test_hostile_tokens_stay_text_in_the_saved_picture():
    token = '</script><img src=x onerror=alert(1)>"'
    html = HeadView(attention((token,), (0,), (token,)))._repr_mimebundle_()["text/html"]
    assert html.count("<img") == 1 and "</script" not in html and "&lt;img" in html
    [svg] = saved_pictures(html)
    assert "<img" not in svg and "</script" not in svg and "&lt;img" in svg


# ---- the browser half ----------------------------------------------------------------------------------------


# The label game shows pictures that the package made and escaped.
SCRIPTS = sorted(set(view_names()) - {"label_game"})


@pytest.mark.parametrize("name", SCRIPTS)
def test_the_browser_half_writes_text_only_and_asks_nobody(name):
    assert len(SCRIPTS) >= 10
    source = module_source(name).replace("http://www.w3.org/2000/svg", "")  # a name, not an address
    assert [word for word in (*made.FORBIDDEN, *made.REQUESTS) if word in source] == []
    assert "import " not in re.sub(r"//.*", "", source)
    assert "@import" not in style_source() and "url(" not in style_source()


def test_ipywidgets_7_leaves_the_display_to_us():
    assert HeadExplorer._ipython_display_ is None  # ipywidgets 7 would show itself by it, without the picture


# ---- attention of any model ------------------------------------------------------------------------------------


def as_tuple(*shape):
    return tuple(layer[None] for layer in made.random_maps(*shape))


def test_views_take_arrays_with_their_tokens():
    weights, tokens = as_tuple(2, 3, 4, 4), ["The", "Ġcat", "Ġsat", "."]
    view = HeadView(weights, tokens, layer=1)
    assert view.sentence == describe_attention(view.weights(), tokens, head=(1, 0))
    assert set(HeadMap(weights, tokens).measures) == set(default_measures()) - {"to [CLS]", "to [SEP]"}
    looked = HeadExplorer(weights, tokens)
    assert looked.text_box not in looked.children and "4 tokens" in repr(looked)
    with pytest.raises(TypeError, match="needs one text"):
        HeadExplorer(SimpleNamespace(name="toy"))


def test_a_map_of_a_decoder_has_no_next_token():
    weights = np.tril(made.random_maps(1, 2, 3, 3))
    shown = HeadMap(weights / weights.sum(-1, keepdims=True), ["a", "b", "c"])
    assert shown.measures == ["to the previous token", "to itself", "entropy (nats)"]


@pytest.mark.parametrize("style", ["lines", "grid", "rows"])
def test_cross_attention_is_drawn_from_its_queries_to_its_keys(style):
    view = HeadView(
        as_tuple(2, 3, 2, 4), ["ask", "</s>"], key_tokens=["one", "two", "</s>", "four"], style=style
    )
    svg, sentence = view.picture().svg, view.picture().beneath
    assert {name: svg.count(f">{name}</text>") for name in ("ask", "four")} == {"ask": 1, "four": 1}
    assert "itself" not in sentence and "previous" not in sentence and view.shape == [2, 3, 2, 4]
    view.query = 0
    assert view.sentence.startswith("“ask” looks at") and "itself" not in view.sentence
    assert HeadMap(as_tuple(2, 3, 2, 4), ["ask", "</s>"], key_tokens=["a", "b", "</s>", "c"]).measures == [
        "to [SEP]",
        "entropy (nats)",
    ]
    with pytest.raises(ValueError, match="norms"):
        HeadView(as_tuple(1, 1, 1, 2), ["a"], key_tokens=["b", "c"], norms=np.ones((1, 1, 2)))


def test_patches_have_no_neighbours_in_the_caption():
    weights = np.eye(5)[None, None, [1, 2, 3, 4, 4]]  # everyone looks at the next one
    assert "next token" in HeadView(weights, list("abcde")).sentence
    from bertlook_teach import Attention

    assert "next token" not in HeadView(Attention.from_arrays(weights, grid=(2, 2))).sentence
    assert "1,1" in HeadView(weights, grid=(2, 2)).texts["wordpiece"]["tokens"]
    assert "to itself" in HeadMap(weights, grid=(2, 2)).measures
    assert HeadExplorer(weights, grid=(2, 2)).attention.grid == (2, 2)


def test_rows_are_a_style_of_their_own_for_languages_without_spaces():
    tokens = ["[CLS]", *"我吃果", "[SEP]"]
    view = HeadView(as_tuple(1, 1, 5, 5), tokens, style="rows")
    expected = render_attention_lines(
        view.weights(), tokens, head=(0, 0), direction="rows", segment_ids=[0] * 5
    ).svg
    assert view.style_index == 2 and view.picture().svg == expected


# ---- what users of other libraries type first ---------------------------------------------------------------------


@pytest.mark.parametrize("view", [HeadView, HeadExplorer])
def test_tokens_first_a_printed_head_and_the_beginning_of_the_second_text_are_understood(view):
    given = attention()
    arrays, tokens = given.weights, list(given.tokens)
    as_usual, turned = view(arrays, tokens, layer=1, head=2), view(tokens, arrays, head="2-3")
    assert (turned.layer, turned.head) == (1, 2) == (as_usual.layer, as_usual.head)
    shown = [one if view is HeadView else one.head_view for one in (as_usual, turned)]
    assert shown[0].data == shown[1].data
    pair = view(arrays, tokens, sentence_b_start=2)
    pair = pair if view is HeadView else pair.head_view
    assert pair.texts != shown[0].texts  # the second text has a colour of its own
    with pytest.raises(
        ValueError, match="head '2-3' names its layer, and layer=0 is another|layer=2 is another"
    ):
        view(arrays, tokens, layer=2, head="2-3")
    with pytest.raises(ValueError, match="named layer-head"):
        view(arrays, tokens, head="three-two")


# --- a pair of tokens --------------------------------------------------------------------------------------


def test_a_chosen_pair_is_let_go_with_its_text_and_its_level():
    view = HeadView(attention(), query=2, key=3)
    view.pair = {"name": "from “un” to “##real”", "values": [[0.5] * HEADS] * LAYERS}
    view.level = "word"
    assert (view.query, view.key) == (-1, -1)
    view.level, view.query, view.key = "wordpiece", 1, 5
    view.set_attention(attention(seed=1))
    assert (view.query, view.pair) == (-1, {})


def test_a_pair_is_shown_in_place_of_the_measure():
    heads = explorer(measures={"seen": np.zeros((LAYERS, HEADS))})
    given = [[0.1, 0.2, 0.9], [0.4, 0.5, 0.6]]
    heads.head_view.pair = {"name": "from “cat” to “sat”", "values": given}
    heads.head = 2
    assert heads.head_map.value == pytest.approx(0.9)
    picture = heads.head_map.picture()
    assert (
        "from “cat” to “sat”" in picture.svg and "head 1-3 has the largest value (0.900)" in picture.sentence
    )
    heads.read("another text")
    assert heads.head_map.value == 0.0 and heads.head_map.pair == {}


# --- two models --------------------------------------------------------------------------------------------


TWO = [SimpleNamespace(name="one", title="one"), SimpleNamespace(name="other", title="other")]


def test_two_models_stand_side_by_side_and_read_the_same_text():
    both = SideBySide(TWO, "the cat sat", extract=extract)
    first, second = both.explorers
    first.layer, first.head = 1, 2
    assert (second.layer, second.head) == (1, 2)
    both.text_box.text.value = "it slept"
    assert first.attention.text == second.attention.text == "it slept"
    both.text_box.text.value = " "
    assert "is empty" in both.text_box.message.value
    assert first.head_view.texts["wordpiece"]["tokens"] == ["[CLS]", "it", "slept", "[SEP]"]
    assert both._repr_mimebundle_()["text/html"].count("<figure>") == 2


def test_a_text_that_one_of_two_models_cannot_read_is_shown_in_neither():
    def read(encoder, text, text_pair=None):
        if encoder is TWO[1] and "emoji" in text:
            raise ValueError("no emoji here.")
        return extract(encoder, text, text_pair)

    both = SideBySide(TWO, "the cat sat", extract=read)
    both.text_box.text.value = "an emoji"
    assert "No emoji here." in both.text_box.message.value
    assert {one.attention.text for one in both.explorers} == {"the cat sat"}


def test_two_models_may_come_from_a_generator():
    assert len(SideBySide((one for one in TWO), "the cat sat", extract=extract).explorers) == 2


def test_one_model_and_three_are_no_pair():
    with pytest.raises(ValueError, match="two models stand side by side; got 1"):
        SideBySide(TWO[:1], "the cat sat", extract=extract)
    with pytest.raises(TypeError, match="SideBySide shows two"):
        HeadExplorer(TWO, "the cat sat", extract=extract)
