"""What pictures and tables refuse: each with what was expected, what came, and where."""

from __future__ import annotations

import numpy as np
import test_arcs as arcs
import test_dots as dots
import test_render_norms as norms
import traitlets
from any_view import attention, maps
from made import refusals
from test_model_pictures import GUESSES, rise, steps
from test_papers import picture
from test_render import PICTURES, TOKENS, spread

from bertlook_course.render import (
    Estimate,
    TextTable,
    arcs_of,
    attention_table,
    bootstrap_picture,
    claim_table,
    label_table,
    layer_curves,
    render_layer,
    save_figure,
    table_dots,
    winners_curse_picture,
)
from bertlook_course.widgets import ArcView
from bertlook_teach.views import (
    HeadMap,
    HeadView,
    describe_attention,
    describe_difference,
    describe_norms,
    describe_token_norms,
    render_attention_grid,
    render_attention_lines,
    render_head_map,
    value_range,
)

# ---- attention ---------------------------------------------------------------------------------------------------


def changed(place, value):
    weights = spread()
    weights[place] = value
    return weights


NOT_ATTENTION = [
    (np.zeros((0, 0)), [], "there are no tokens"),
    (spread(), TOKENS[:4], r"4 tokens need weights of shape \(4, 4\); got \(5, 5\)"),
    (spread()[None], TOKENS, r"shape \(query, key\); got shape \(1, 5, 5\).*Choose a head first"),
    (changed((1, 2), np.nan), TOKENS, r"query 1 \('the'\), key 2 \('cat'\) is nan"),
    (changed((1, 2), -0.5), TOKENS, r"cannot be negative; query 1 .*-0\.500.*before the softmax"),
    (changed((3, 0), 1.5), TOKENS, r"query 3 \('sat'\), key 0 .*1\.500.*before the softmax"),
    (changed(2, 0), TOKENS, r"query 2 \('cat'\) sums to 0\.000. It looks nowhere"),
]

test_what_is_no_attention = refusals(
    *(
        (lambda draw=draw, given=(weights, tokens): draw(*given), words)
        for draw in (*PICTURES, describe_attention, attention_table)
        for weights, tokens, words in NOT_ATTENTION
    ),
    (lambda: render_attention_lines(spread(2), "ab"), "got one string, 'ab'", TypeError),
    (lambda: render_attention_grid(spread(2), ["a", 7]), r"token 1 is 7.*convert_ids_to_tokens", TypeError),
    (lambda: render_attention_lines(spread(), TOKENS, direction="diagonal"), "'columns' or 'rows'; got 'diagonal'"),
    (lambda: render_attention_lines(spread(), TOKENS, query=5), "query must lie between 0 and 4; got 5"),
    (
        lambda: render_attention_grid(spread(), TOKENS, special=[True]),
        "special needs one entry per token: 5 expected, got 1",
    ),
    (
        lambda: render_attention_grid(spread(2), ["[CLS]", "[SEP]"], hide_special=True),
        "every token is special",
    ),
    (lambda: render_attention_lines(spread(), TOKENS, segment_ids=[0]), "segment_ids needs one entry per token"),
)  # fmt: skip

# ---- maps of heads, differences, norms ------------------------------------------------------------------------------

WORDS = ("[CLS]", "the", "cat", "[SEP]")
NORMS, PIECES = norms.NORMS, norms.TOKENS


def differs(minus, words, **options):
    after = attention(WORDS, 2, 3, maps(4, 2, 3, 1))
    return (lambda: HeadView(after, minus=minus, **options)), words


def of_maps(after, minus, words, **options):
    return (lambda: HeadMap(after, minus=minus, **options)), words


test_what_is_no_map_and_no_difference = refusals(
    (lambda: render_head_map([1, 2, 3]), r"shape \(layer, head\); got shape \(3,\)"),
    (lambda: render_head_map([[1, np.nan]]), "layer 0, head 1 is nan"),
    (
        lambda: render_head_map([[1, 2]], selected=(1, 1)),
        r"a layer below 1 and a head below 2, counted from 0; got \(1, 1\)",
    ),
    (lambda: value_range([[0.5, 0.6]], vmin=1), r"vmin must be below vmax; got vmin=1 and vmax=0\.6"),
    differs(attention(WORDS, 2, 2), r"models of one shape; \(layer, head\) is \(2, 3\) here and \(2, 2\) in minus"),
    differs(
        attention(WORDS[:3], 2, 3),
        "it has 4 wordpieces here and 3 in minus. Do both models have the same vocabulary",
    ),
    differs(attention(("[CLS]", "the", "dog", "[SEP]"), 2, 3), "token 2 is 'cat' here and 'dog' in minus"),
    differs(attention(WORDS, 2, 3, level="word"), "between wordpieces, minus between words"),
    differs(attention(WORDS, 2, 3, np.full((2, 3, 4, 4), np.nan)), "finite"),
    differs(attention(WORDS, 2, 3), "norms of a difference are not drawn", norms=np.ones((2, 3, 4))),
    of_maps({"a": np.eye(2)}, {"b": np.eye(2)}, "same measures on both sides; got a minus b"),
    of_maps({"a": np.eye(2)}, {"a": np.zeros((2, 3))}, r"'a' has \(layer, head\) = \(2, 2\) minus \(2, 3\)"),
    of_maps({"a": np.eye(2)}, {"a": 0 * np.eye(2)}, "from minus to plus the same number", ranges={"a": (0, 1)}),
    (lambda: describe_difference([[1.5, -1.5], [0, 0]], ["a", "b"]), "between -1 and 1"),
    (lambda: describe_difference([[0.5]], ["a", "b"]), r"need changes of shape \(2, 2\)"),
    (
        lambda: describe_norms(NORMS[:3], PIECES),
        r"4 tokens need weighted norms of shape \(query, key\) = \(4, 4\); got \(3, 4\)",
    ),
    (
        lambda: describe_norms(np.where(NORMS == 0.6, -1, NORMS), PIECES),
        r"cannot be negative; query 2 \('sing'\), key 1 \('birds'\) is -1",
    ),
    (
        lambda: describe_norms(np.where(NORMS == 0.6, np.nan, NORMS), PIECES),
        r"must be finite; query 2 \('sing'\), key 1 \('birds'\) is nan",
    ),
    (lambda: describe_token_norms(NORMS, PIECES, 4), "position must lie between 0 and 3; got 4"),
    (lambda: describe_token_norms(NORMS, PIECES, 0, side="left"), "side is 'query'"),
)  # fmt: skip

# ---- figures, tables, drawings -----------------------------------------------------------------------------------------

ARCS = ArcView([arcs.HOSTILE], [arcs.answers(3)])


def saved(folder, name="a.svg", what=None, **options):
    return save_figure(picture() if what is None else what, folder / name, **options)


def saved_below_a_file(folder):
    (folder / "file").write_text("x")
    return saved(folder / "file")


test_what_cannot_be_drawn_or_saved = refusals(
    (lambda: layer_curves({}), "there is no series to draw"),
    (lambda: layer_curves([0.1, 0.2]), "mapping from names to numbers.*got list", TypeError),
    (lambda: layer_curves({"ours": [0.1, np.nan]}), "series 'ours' holds a number that is not finite in layer 2"),
    (lambda: layer_curves({"ours": ([0.1], [0.0], [0.2])}), "a mean with the ends of its interval: that is drawn by interval_curves"),
    (lambda: layer_curves({"ours": [[[0.1]]]}), "series 'ours' needs one number per layer"),
    (lambda: Estimate(0.5, 0.1), r"two ends, or none; got 0\.1 and None"),
    (lambda: table_dots(dots.TABLE, ["twin"]), "no column 'twin'; it has 'head'", KeyError),
    (lambda: table_dots(TextTable(["a", "b"], [["x", "yes"]])), "leave it a table"),
    (
        lambda: table_dots(dots.ONE, model="BERT"),
        "no mark for 'BERT'; there is one for specimen, MiniLM, random twin, BERT-base",
    ),
    (lambda: table_dots(dots.ONE, model=["specimen"]), "2 rows, and model names 1"),
    (lambda: table_dots(dots.TABLE, model="specimen"), "name the models in their headers"),
    (lambda: label_table({"specimen": [["next", "broad"]]}, ["next", "unlabelled"]), r"kinds lack \['broad'\]"),
    (lambda: claim_table([]), "at least one verdict"),
    (lambda: rise(masked=5), "a position among 5 tokens is needed; got 5"),
    (lambda: rise(guesses=()), "from 1 to 5 guesses"),
    (lambda: rise(guesses=GUESSES * 3), "from 1 to 5 guesses"),
    (lambda: rise(guesses=(("on", 7.0),)), "its probability"),
    (lambda: rise(tokens=("cat",) * 13), "from 1 to 12 tokens"),
    (lambda: rise(states=np.ones((3, 5, 40))), r"got \(3, 5, 40\) and \(3, 2, 5, 5\)"),
    (lambda: steps(chosen=-1), "a position among 5 tokens is needed; got -1"),
    (lambda: steps(keys=np.ones((5, 3))), r"need the shape \(5, 4\)"),
    (lambda: steps(output=np.ones((6, 4))), r"output \(4, width\)"),
    (lambda: render_layer(4, 4), "one of 4 heads, counted from 0; got 4"),
    (lambda: render_layer(200, 0), "from 1 to 24 heads"),
    *(
        (lambda values=values: bootstrap_picture(values, axis="share"), "at least two finite numbers")
        for values in ([], [1.0], [[1.0, 2.0]], [1.0, float("nan")])
    ),
    *(
        (lambda given=given: winners_curse_picture(*given), "at least 1 and the rate is between")
        for given in ((0, 25, 0.1), (36, 0, 0.1), (36, 25, 0.0), (36, 25, 1.0))
    ),
    *(
        (lambda tmp_path, width=width: saved(tmp_path, width=width), 'such as "85mm"')
        for width in ("85", "85px", "-3mm", "0mm", "wide", 85)
    ),
    (lambda tmp_path: saved(tmp_path, what=np.eye(3)), "got ndarray", TypeError),
    (lambda tmp_path: saved(tmp_path, "a.eps"), r"one of \.svg, \.pdf, \.png; got 'a\.eps'"),
    (lambda tmp_path: saved(tmp_path, "a.png", layer_curves({"ours": [0.1]}), dpi="300"), "pixels an inch.*got '300'"),
    (lambda tmp_path: saved(tmp_path, "a.png", layer_curves({"ours": [0.1]}), dpi=0), "pixels an inch.*got 0"),
    (lambda tmp_path: saved(tmp_path, "a.jpg", layer_curves({"ours": [0.1]})), r"one of .*; got 'a\.jpg'"),
    (lambda tmp_path: saved_below_a_file(tmp_path), "cannot write .*choose a folder of your own", OSError),
    (lambda: arcs_of(arcs.HOSTILE, [0, 1]), "one answer for each of the 3 words is needed; got 2"),
    (lambda: ArcView([arcs.HOSTILE], []), "as many answers as sentences"),
    (
        lambda: ArcView([arcs.HOSTILE, arcs.LONGER], [arcs.answers(3), arcs.answers(4)]),
        r"sentence 1 needs answers of shape .*= \(2, 3, 2, 5\); got \(2, 3, 2, 4\)",
    ),
    (lambda: ARCS.set_trait("layer", 3), "layer counts from 0 to 2; got 3", traitlets.TraitError),
    (lambda: ARCS.set_trait("relation", "obj"), "no relation 'obj' in these sentences", traitlets.TraitError),
)  # fmt: skip
