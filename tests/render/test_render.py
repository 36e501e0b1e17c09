"""Pictures are strings computed from data: what they show, what they say, what they refuse."""

import re
import subprocess
import sys
from dataclasses import replace
from itertools import pairwise
from xml.etree import ElementTree

import numpy as np
import pytest
from made import looks_back

from bertlook_course.render import (
    TextTable,
    attention_table,
    describe_layers,
    format_strongest_heads,
    head_map_table,
    layer_curves,
    render_gallery,
    save_figure,
)
from bertlook_teach.views import (
    Picture,
    describe_attention,
    describe_head_map,
    describe_token,
    growing,
    percent,
    quoted,
    render_attention_grid,
    render_attention_lines,
    render_head_map,
    value_range,
    visible_token,
)
from bertlook_teach.views.drawing import lines as lines_module
from bertlook_teach.views.drawing import palette

TOKENS = ["[CLS]", "the", "cat", "sat", "[SEP]"]
HOSTILE = [
    "<img src=x onerror=alert(1)>",
    "</script><script>alert(1)</script>",
    "\"quotes' & <b>",
    "]]>",
    "مرحبا",
    "שלום\u202e",
    "e\u0301\u0301\u0301",
    "👩‍👩‍👧‍👦",
    "\x00\x0b\ud800",
    " ",
    "",
    "Donaudampfschifffahrtsgesellschaftskapitän",
]
PICTURES = [
    lambda w, t: render_attention_lines(w, t, direction="columns"),
    lambda w, t: render_attention_lines(w, t, direction="rows"),
    render_attention_grid,
    lambda w, t: render_attention_grid(w, t, numbers=False),
]


def parse(svg):
    """The picture as a tree: fails if it is not well-formed XML, as a standalone file must be."""
    return ElementTree.fromstring(svg)


def tags(svg, name):
    return [node for node in parse(svg).iter() if node.tag.endswith(f"}}{name}")]


def words(svg):
    return [node.text for node in tags(svg, "text")]


def spread(n=5, seed=0):
    return np.random.default_rng(seed).dirichlet(np.full(n, 0.4), size=n)


# ---- what every picture is -------------------------------------------------------------------------------


@pytest.mark.parametrize("picture", PICTURES)
def test_a_picture_is_a_standalone_image_with_a_name_and_a_sentence(picture):
    svg = picture(spread(), TOKENS).svg
    root = parse(svg)
    assert root.tag == "{http://www.w3.org/2000/svg}svg"
    assert root.get("role") == "img"
    [title, *_], [desc] = tags(svg, "title"), tags(svg, "desc")
    assert title.text == "Attention of one head"
    assert desc.text == describe_attention(spread(), TOKENS)
    assert root.get("aria-label") == f"{title.text}. {desc.text}"


@pytest.mark.parametrize("picture", PICTURES)
def test_the_same_data_give_the_same_bytes_and_no_ids(picture):
    svg = picture(spread(), TOKENS).svg
    assert svg == picture(spread(), TOKENS).svg
    assert " id=" not in svg
    assert svg != picture(spread(seed=1), TOKENS).svg


@pytest.mark.parametrize("picture", PICTURES)
def test_hostile_tokens_stay_text(picture):
    n = len(HOSTILE)
    svg = picture(spread(n), HOSTILE).svg
    allowed = {"svg", "title", "desc", "rect", "text", "path", "g"}
    assert {node.tag.split("}")[1] for node in parse(svg).iter()} <= allowed
    assert not any(name.startswith("on") for node in parse(svg).iter() for name in node.attrib)
    titles = [node.text for node in tags(svg, "title")]
    for token in HOSTILE:
        assert visible_token(token) in titles


@pytest.mark.parametrize("picture", PICTURES)
@pytest.mark.parametrize("n", [1, 2, 130])
def test_one_token_and_very_many_can_be_drawn(picture, n):
    svg = picture(np.full((n, n), 1 / n), ["x"] * n).svg
    assert parse(svg) is not None
    assert len(svg) < 3_000_000


@pytest.mark.parametrize("picture", PICTURES)
def test_the_callers_array_is_left_alone(picture):
    weights = spread()
    picture(weights, TOKENS)
    assert (weights == spread()).all()


def test_everything_drawn_lies_inside_the_frame():
    for picture in PICTURES:
        svg = picture(spread(), ["x", "ab", "internationalisation", "##s", "[SEP]"]).svg
        _, _, width, height = map(float, parse(svg).get("viewBox").split())
        for node in tags(svg, "text"):
            assert 0 <= float(node.get("x")) <= width and 0 <= float(node.get("y")) <= height


# ---- lines -----------------------------------------------------------------------------------------------


def starts_and_ends(svg):
    """(height at the left, height at the right) of every line, top to bottom."""
    curve = re.compile(r"M([\d.]+) ([\d.]+)C[\d.]+ [\d.]+ [\d.]+ [\d.]+ ([\d.]+) ([\d.]+)")
    paths = "".join(node.get("d") for node in tags(svg, "path"))
    return sorted((float(y0), float(y1)) for _, y0, _, y1 in curve.findall(paths))


def test_lines_run_from_the_query_on_the_left_to_the_key_on_the_right():
    svg = render_attention_lines(looks_back(), TOKENS).svg
    ends = starts_and_ends(svg)
    heights = [start for start, _ in ends]
    assert len(ends) == 5
    assert [end for _, end in ends] == [heights[0], *heights[:-1]]  # each one row higher: the previous token
    transposed = starts_and_ends(render_attention_lines(looks_back().T + np.eye(5) * 1e-9, TOKENS).svg)
    assert transposed != ends


def test_queries_stand_left_and_keys_right_under_their_titles():
    svg = render_attention_lines(looks_back(), TOKENS).svg
    at = {
        node.text: node for node in tags(svg, "text") if node.text in ("query (looks)", "key (is looked at)")
    }
    assert float(at["query (looks)"].get("x")) < float(at["key (is looked at)"].get("x"))
    assert [text for text in words(svg) if text in TOKENS] == TOKENS * 2


def test_a_heavier_line_is_wider_and_darker():
    weights = np.array([[0.9, 0.1], [0.5, 0.5]])
    lines = tags(render_attention_lines(weights, ["a", "b"]).svg, "path")
    widths = [float(line.get("stroke-width")) for line in lines]
    opacities = [float(line.get("stroke-opacity")) for line in lines]
    assert widths == sorted(widths) and opacities == sorted(opacities)
    assert len(lines) == 3  # 0.1, 0.5 (twice, one path), 0.9
    assert lines_module.line_opacity(1.0) <= 1


def test_lines_below_the_smallest_weight_are_not_drawn():
    weights = np.array([[0.995, 0.005], [0.5, 0.5]])
    assert len(starts_and_ends(render_attention_lines(weights, ["a", "b"]).svg)) == 3


def test_a_uniform_head_over_many_tokens_is_not_a_blank_picture():
    n = 128
    svg = render_attention_lines(np.full((n, n), 1 / n), ["x"] * n).svg
    assert len(starts_and_ends(svg)) == n * n


def test_choosing_a_query_shows_its_lines_and_numbers_only():
    svg = render_attention_lines([[0.25, 0.75], [1, 0]], ["a", "b"], query=0).svg
    assert len(starts_and_ends(svg)) == 2
    assert [text for text in words(svg) if "%" in text] == ["25 %", "75 %"]
    assert tags(svg, "desc")[0].text == "“a” looks at “b” 75 %, itself 25 %."


def test_hiding_special_tokens_keeps_the_weights_and_says_what_is_missing():
    weights = np.array([[0.1, 0.9, 0.0], [0.6, 0.1, 0.3], [0.0, 0.5, 0.5]])
    svg = render_attention_lines(weights, ["[CLS]", "a", "b"], hide_special=True).svg
    assert "[CLS]" not in words(svg)
    assert len(starts_and_ends(svg)) == 4
    # Drawn as strong as they are: a gives 0.1 and 0.3, b gives 0.5 and 0.5 (one path each, to the nearest step).
    strengths = [float(line.get("stroke-opacity")) for line in tags(svg, "path")]
    assert strengths == pytest.approx([lines_module.line_opacity(w) for w in (0.1, 0.3, 0.5)], abs=0.02)
    # Rows a and b give 0.6 and 0.0 to [CLS]; nothing is renormalised, so b still gives itself 0.5.
    assert tags(svg, "desc")[0].text == (
        "Attention of one head: 50 % of “b” goes to “a”. On average, 30 % goes to the token itself. "
        "Special tokens are hidden and hold 30 %."
    ).replace("Attention of one head", "This head")


def test_the_two_texts_of_a_pair_are_marked_by_colour_and_dash():
    tokens, segments = ["[CLS]", "a", "[SEP]", "b", "[SEP]"], [0, 0, 0, 1, 1]
    for picture in (render_attention_lines, render_attention_grid):
        svg = picture(spread(), tokens, segment_ids=segments).svg
        dashed = [path for path in tags(svg, "path") if path.get("stroke-dasharray")]
        assert len(dashed) == 4  # two tokens on each side
        assert "stroke-dasharray" not in picture(spread(), tokens, segment_ids=[0] * 5).svg


# ---- grid ------------------------------------------------------------------------------------------------


def cells(svg):
    """colour of the cell at each (row, column)."""
    found = {}
    for path in tags(svg, "path"):
        for x, y, run in re.findall(r"M([\d.]+) ([\d.]+)h([\d.]+)v", path.get("d")):
            found[float(y), float(x)] = (path.get("fill"), float(run))
    return found


def test_the_grid_has_queries_down_and_keys_across():
    weights = np.zeros((3, 3))
    weights[:, 2] = 1  # everybody looks at the last token: the last column
    drawn = cells(render_attention_grid(weights, ["a", "b", "c"]).svg)
    dark = {place for place, (fill, _) in drawn.items() if fill == palette.magnitude_colour(1)}
    rows, columns = {y for y, _ in dark}, {x for _, x in dark}
    assert len(rows) == 3 and len(columns) == 1 and columns == {max(x for _, x in drawn)}


def test_the_grid_names_its_axes_and_writes_small_maps_in_numbers():
    svg = render_attention_grid([[0.25, 0.75], [1, 0]], ["a", "b"]).svg
    assert {"query (looks)", "key (is looked at)", "25", "75", "100"} <= set(words(svg))
    assert "25" not in words(render_attention_grid([[0.25, 0.75], [1, 0]], ["a", "b"], numbers=False).svg)


# ---- head map --------------------------------------------------------------------------------------------


def test_the_map_has_layers_down_and_heads_across_counted_from_one():
    values = np.arange(6).reshape(2, 3) / 5
    svg = render_head_map(values, title="share").svg
    assert [node.text for node in tags(svg, "title")][1:] == [
        "Head 1-1: 0.000",
        "Head 1-2: 0.200",
        "Head 1-3: 0.400",
        "Head 2-1: 0.600",
        "Head 2-2: 0.800",
        "Head 2-3: 1.000",
    ]
    drawn = {
        (float(r.get("y")), float(r.get("x"))): r.get("fill") for r in tags(svg, "rect") if r.get("rx") == "3"
    }
    assert [drawn[place] for place in sorted(drawn)] == [palette.magnitude_colour(v) for v in values.ravel()]
    assert words(svg).count("3") == 1  # three heads, two layers


def test_layers_and_heads_are_counted_from_one_beside_a_head_map():
    svg = render_head_map(np.zeros((3, 2)), numbers=False).svg
    assert re.findall(r'text-anchor="end"[^>]*>(\d+)<', svg) == ["1", "2", "3"]
    assert re.findall(r'text-anchor="middle"[^>]*>(\d+)<', svg) == ["1", "2"]


def test_the_map_writes_the_number_beside_the_colour():
    assert ".42" in words(render_head_map([[0.42, 0.1]]).svg)
    assert ".42" not in words(render_head_map([[0.42, 0.1]], numbers=False).svg)


@pytest.mark.parametrize("shape", [(1, 1), (24, 16), (1, 16), (24, 1)])
def test_maps_of_any_shape_are_drawn(shape):
    svg = render_head_map(
        np.linspace(0, 1, shape[0] * shape[1]).reshape(shape), selected=(shape[0] - 1, 0)
    ).svg
    assert len(tags(svg, "title")) == 1 + shape[0] * shape[1]


def test_the_range_starts_at_zero_and_can_be_fixed():
    assert value_range([[0.5, 0.6]]) == (0.0, 0.6)
    assert value_range([[0.5, 0.6]], 0.5, 1) == (0.5, 1.0)
    assert value_range([[-1.0, -0.5]]) == (-1.0, -0.5)


def test_a_map_title_that_is_markup_stays_text():
    svg = render_head_map([[1, 2]], title="</title><script>alert(1)</script>").svg
    assert tags(svg, "script") == []


# ---- sentences -------------------------------------------------------------------------------------------


def test_the_sentence_names_the_strongest_weight_and_the_habit():
    weights = looks_back() * 0.8 + 0.2 / 5
    assert describe_attention(weights, TOKENS, head=(2, 0)) == (
        "Head 3-1: 84 % of [CLS] goes to itself. On average, 67 % goes to the previous token."
    )
    # (4 rows x 0.84 + the first row, which has no token before it and counts as 0) / 5 = 0.672 -> 67 %
    assert (4 * 0.84) / 5 == pytest.approx(0.672)


def test_the_habit_turns_round_with_the_map():
    forward, backward = np.eye(5, k=1), np.eye(5, k=-1)
    forward[-1, -1] = backward[0, 0] = 1
    assert "goes to the next token" in describe_attention(forward, TOKENS)
    assert "goes to the previous token" in describe_attention(backward, TOKENS)


def test_all_separators_count_together_and_words_are_called_words():
    tokens = ["a", "[SEP]", "b", "[SEP]"]
    weights = np.array([[0, 0.5, 0, 0.5]] * 4)
    assert describe_attention(weights, tokens).endswith("On average, 100 % goes to [SEP].")
    assert describe_attention(looks_back(4), tokens, unit="word").endswith("goes to the previous word.")


def test_a_head_without_a_habit_is_called_by_its_largest_weights():
    weights = np.full((10, 10), 0.1)
    assert describe_attention(weights, list("abcdefghij")).endswith("a token's largest weight is 10 %.")


def test_a_bracketed_word_that_is_not_special_is_quoted():
    assert "“[SEP]”" in describe_attention([[0, 1], [0, 1]], ["a", "[SEP]"], special=[False, False])


@pytest.mark.parametrize("side", ["query", "key"])
def test_a_token_looks_along_its_row_and_is_looked_at_along_its_column(side):
    weights = [[0.7, 0.3], [0.6, 0.4]]
    expected = {
        "query": "“a” looks at itself 70 %, “b” 30 %.",
        "key": "“a” is looked at by itself 70 %, “b” 60 %.",
    }
    assert describe_token(weights, ["a", "b"], 0, side=side) == expected[side]


@pytest.mark.parametrize("top, rest", [(3, "2 others 20 %"), (4, "1 other 5 %"), (1, "4 others 60 %")])
def test_what_is_not_named_is_added_up(top, rest):
    weights = [[0.4, 0.25, 0.15, 0.15, 0.05]] * 5
    assert describe_token(weights, list("abcde"), 0, top=top).endswith(f", {rest}.")


def test_percent_never_says_nothing_for_something():
    assert [percent(x) for x in (0, 1e-9, 0.0049, 0.005, 0.5, 0.995, 1)] == [
        "0 %", "under 1 %", "under 1 %", "1 %", "50 %", "over 99 %", "100 %",
    ]  # fmt: skip


def test_right_to_left_tokens_are_kept_in_their_place():
    assert quoted("שלום") == "“\u2068שלום\u2069”"
    assert quoted("cat") == "“cat”"


def test_the_map_sentence_agrees_with_the_numbers():
    values = np.array([[0.2, 0.9], [0.1, 0.4]])
    assert describe_head_map(values, title="share", selected=(1, 1)) == (
        "share, 2 layers of 2 heads: head 1-2 has the largest value (0.900), head 2-1 the smallest (0.100). Head 2-2 has 0.400."
    )


# ---- tables and plain text -------------------------------------------------------------------------------


def test_the_table_holds_every_weight_with_row_and_column_headers():
    table = attention_table(np.array([[0.25, 0.75], [1, 0]]), ["a", "<b>"], caption="Head 1-1 & more")
    tree = ElementTree.fromstring(table)
    assert [cell.text for cell in tree.iter("td")] == ["0.25", "0.75", "1.00", "0.00"]
    assert [(cell.text, cell.get("scope")) for cell in tree.iter("th")] == [
        ("query looks at key", "col"), ("a", "col"), ("<b>", "col"), ("a", "row"), ("<b>", "row"),
    ]  # fmt: skip
    assert tree.find("caption").text == "Head 1-1 & more"


def test_the_table_of_a_map_counts_layers_and_heads_from_one():
    tree = ElementTree.fromstring(head_map_table([[1, 2, 3], [4, 5, 6]], difference=True))
    assert [cell.text for cell in tree.iter("th")] == [
        "layer",
        "head 1",
        "head 2",
        "head 3",
        "layer 1",
        "layer 2",
    ]
    assert [cell.text for cell in tree.iter("td")] == [f"+{i}.000" for i in range(1, 7)]


@pytest.mark.parametrize(
    "names",
    [
        lambda: words(render_head_map(np.full((2, 3), 0.5)).svg),
        lambda: words(render_gallery(np.full((2, 3, 2, 2), 0.5), ["a", "b"]).svg),
        lambda: re.findall(r"\d+", " ".join(re.findall("<th.*?</th>", head_map_table(np.ones((2, 3)))))),
    ],
)
def test_whatever_names_layers_and_heads_counts_them_from_one(names):
    """Three heads across, two layers down."""
    found = ["".join(name) for name in names()]
    assert [name for name in found if name.isdigit()] == ["1", "2", "3", "1", "2"]


def test_the_list_of_heads_counts_from_one():
    assert format_strongest_heads([[0.5], [0.75]], top=1) == "2-1  0.750"


# ---- figures ---------------------------------------------------------------------------------------------


def test_layer_curves_count_layers_from_one_and_average_heads():
    figure = layer_curves({"ours": [[0.1, 0.3], [0.5, 0.7]]}, published={"BERT-base": [0.1, 0.2, 0.3]})
    ours, theirs = figure.axes[0].lines
    assert ours.get_xdata().tolist() == [1, 2] and ours.get_ydata() == pytest.approx([0.2, 0.6])
    assert theirs.get_xdata().tolist() == [1, 2, 3]
    assert theirs.get_label() == "BERT-base (published)"
    assert ours.get_linestyle() != theirs.get_linestyle() and ours.get_marker() != theirs.get_marker()


@pytest.mark.parametrize("ending", ["svg", "pdf", "png"])
def test_a_saved_figure_is_the_same_bytes_twice_and_has_no_date(tmp_path, ending):
    files = [tmp_path / f"{name}.{ending}" for name in ("first", "second")]
    for file in files:
        save_figure(layer_curves({"ours": [0.1, 0.4]}, ylabel="share", title="t"), file)
    assert files[0].read_bytes() == files[1].read_bytes()
    assert b"<dc:date>" not in files[0].read_bytes() and b"CreationDate" not in files[0].read_bytes()


def test_a_figure_saves_into_a_new_folder(tmp_path):
    figure = layer_curves({"ours": [0.1]})
    assert save_figure(figure, tmp_path / "new" / "a.png").exists()


def test_figures_leave_pyplot_alone():
    code = (
        "import sys; from bertlook_course.render import layer_curves; layer_curves({'a': [1, 2]});"
        "assert 'matplotlib.pyplot' not in sys.modules"
    )
    subprocess.run([sys.executable, "-c", code], check=True)


def test_the_figure_sentence_names_its_extremes():
    assert describe_layers({"a": [0.1, 0.4]}, ylabel="share") == (
        "share: a is highest in layer 2 (0.400) and lowest in layer 1 (0.100)."
    )


# ---- colours ---------------------------------------------------------------------------------------------


def test_text_is_readable_on_every_magnitude():
    for step in range(256):
        background = palette.magnitude_colour(step / 255)
        assert palette.contrast(palette.text_colour(background), background) >= 4.5
    assert palette.contrast(palette.MUTED, palette.PAPER) >= 4.5
    assert palette.contrast(palette.SELECTED, palette.PAPER) >= 3  # a frame, not text


def test_magnitudes_grow_darker_all_the_way_so_that_grey_paper_keeps_them():
    shades = [palette.relative_luminance(palette.magnitude_colour(step / 255)) for step in range(256)]
    assert all(lighter >= darker for lighter, darker in pairwise(shades))
    assert shades[0] > 0.9 and shades[-1] < 0.03


# Machado, Oliveira and Fernandes (2009), severity 1.0, on linear RGB.
BLINDNESS = {
    "protanopia": [
        [0.152286, 1.052583, -0.204868],
        [0.114503, 0.786281, 0.099216],
        [-0.003882, -0.048116, 1.051998],
    ],
    "deuteranopia": [
        [0.367322, 0.860646, -0.227968],
        [0.280085, 0.672501, 0.047413],
        [-0.011820, 0.042940, 0.968881],
    ],
}


def seen(colour, matrix):
    """CIE Lab of a colour as somebody without one kind of cone sees it."""
    channels = np.array(palette.rgb(colour)) / 255
    linear = np.where(channels <= 0.04045, channels / 12.92, ((channels + 0.055) / 1.055) ** 2.4)
    linear = np.clip(np.array(matrix) @ linear, 0, 1)
    to_xyz = np.array(
        [
            [0.4124564, 0.3575761, 0.1804375],
            [0.2126729, 0.7151522, 0.0721750],
            [0.0193339, 0.1191920, 0.9503041],
        ]
    )
    x, y, z = to_xyz @ linear / np.array([0.95047, 1.0, 1.08883])
    f = [t ** (1 / 3) if t > 0.008856 else 7.787 * t + 16 / 116 for t in (x, y, z)]
    return np.array([116 * f[1] - 16, 500 * (f[0] - f[1]), 200 * (f[1] - f[2])])


@pytest.mark.parametrize("kind", BLINDNESS)
def test_categories_stay_apart_for_colour_blind_readers(kind):
    colours = palette.CATEGORY_CYCLE
    for i, first in enumerate(colours):
        for second in colours[i + 1 :]:
            assert np.linalg.norm(seen(first, BLINDNESS[kind]) - seen(second, BLINDNESS[kind])) > 12


def test_a_red_and_a_green_that_look_alike_would_be_found():
    matrix = BLINDNESS["deuteranopia"]
    assert np.linalg.norm(seen("#b35900", matrix) - seen("#8c7300", matrix)) < 12


@pytest.mark.parametrize("kind", BLINDNESS)
def test_the_colours_of_a_pair_of_texts_and_of_right_and_wrong_stay_apart(kind):
    for first, second in (
        (palette.SEGMENT_A, palette.SEGMENT_B),
        (palette.OKABE_ITO["green"], palette.OKABE_ITO["vermillion"]),
        (palette.LINE, palette.SELECTED),
    ):
        assert np.linalg.norm(seen(first, BLINDNESS[kind]) - seen(second, BLINDNESS[kind])) > 30


@pytest.mark.parametrize("kind", BLINDNESS)
def test_magnitudes_keep_their_order_for_colour_blind_readers(kind):
    lightness = [seen(palette.magnitude_colour(step / 32), BLINDNESS[kind])[0] for step in range(33)]
    assert all(a > b for a, b in pairwise(lightness))


@pytest.mark.parametrize("kind", BLINDNESS)
def test_more_and_less_stay_apart_for_colour_blind_readers_and_keep_their_order(kind):
    more, less = ([palette.difference_colour(sign * step / 32) for step in range(33)] for sign in (1, -1))
    assert more[0] == less[0]
    for side in (more, less):
        assert all(a > b for a, b in pairwise(seen(colour, BLINDNESS[kind])[0] for colour in side))
    for up, down in list(zip(more, less))[8:]:
        assert np.linalg.norm(seen(up, BLINDNESS[kind]) - seen(down, BLINDNESS[kind])) > 20
    for colour in (*more, *less):
        assert palette.contrast(colour, palette.text_colour(colour)) >= 4.5


# ---- the house -------------------------------------------------------------------------------------------


def test_importing_the_pictures_loads_nothing_heavy():
    code = (
        "import sys, bertlook_course.render;"
        "heavy = {'torch', 'transformers', 'ipywidgets', 'anywidget', 'IPython', 'matplotlib'} & set(sys.modules);"
        "assert not heavy, heavy"
    )
    subprocess.run([sys.executable, "-c", code], check=True)


@pytest.mark.parametrize("n_heads", [1, 16])
def test_the_words_of_a_badge_fit_their_box_whatever_the_type(n_heads):
    """A browser's bold type is wider than ours: the last letter of a badge stood outside its box. Narrow type is not drawn out."""
    from matplotlib.font_manager import FontProperties
    from matplotlib.textpath import TextPath

    badge, em = "BERT-base, recorded", 30
    svg = replace(render_head_map(np.zeros((1, n_heads))), badge=badge, font_size=em).svg
    width = float(re.search(r'viewBox="\S+ \S+ (\S+) ', svg).group(1))
    box = re.search(r'<rect x="([\d.]+)" y="[^"]*" width="([\d.]+)" height="[^"]*" rx=', svg)
    words = re.search(r'<text x="([\d.]+)"[^>]* text-anchor="middle"[^>]*>' + badge, svg)
    left, wide = map(float, box.groups())
    assert float(words.group(1)) == pytest.approx(left + wide / 2, abs=0.1)
    held = re.search(r'textLength="([\d.]+)"', words.group())
    widest = TextPath((0, 0), badge, size=em, prop=FontProperties(family="DejaVu Sans", weight="bold"))
    assert bool(held) == (n_heads == 1)
    assert (float(held.group(1)) if held else widest.get_extents().x1) < wide <= width - left


def test_a_table_is_set_like_print_and_its_text_like_a_terminal():
    table = TextTable(
        ["r", "a-1"], [["3-1", "-0.5 [-.7, 0.2]"], ["-\u00b9", "-"]], "n = 60: 86 % of p < .05 & 3 nats; a 2"
    )
    page = table._repr_html_()
    assert ">3-1<" in page and ">a-1<" in page and ">\u22120.5 [\u2212.7, 0.2]<" in page
    assert ">\u2014\u00b9<" in page and ">\u2014<" in page
    assert "n\u00a0=\u00a060: 86\u00a0% of p\u00a0&lt;\u00a0.05 &amp; 3\u00a0nats; a 2" in page
    assert "-0.5 [-.7, 0.2]" in repr(table) and "86 %" in repr(table) and "\u2212" not in repr(table)


@pytest.mark.parametrize("wide", [300, 940])
def test_a_picture_grows_with_the_screen_and_never_shrinks_below_its_design(wide):
    svg = Picture([], wide, 200, "a", "b", across=growing(wide)).svg
    least, share = re.search(r"style=\"width:max\(([\d.]+)px,(\d+)vw\);max-width:100%", svg).groups()
    assert float(least) == wide
    assert wide - 13 < 12.8 * int(share) <= wide  # of 1280 pixels; and half as much more of 1920
