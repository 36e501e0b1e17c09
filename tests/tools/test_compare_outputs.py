"""Two outputs that say the same to a reader pass; one word, number, label or mark that differs does not."""

from __future__ import annotations

import base64
import copy
import json
import random
import re
import struct
import subprocess
import sys
import zlib
from pathlib import Path

import nbformat
import numpy as np
import pytest
from nbformat.v4 import new_code_cell, new_notebook, new_output

from bertlook_course.render import figure_picture, map_address
from bertlook_press.bertviz import bertviz_head_view

ROOT = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "tools"))

import compare_outputs
import run_notebooks
from compare_outputs import SHOWN, differences, same
from compare_pictures import markup_differences
from compare_texts import ROUNDING, text_differences

# ---- texts ------------------------------------------------------------------------------------------------------

TABLE = """n = 10 inputs; heads and layers chosen on 10 others. P: printed, A: raster figure.
claim                      published          specimen [95 %]    twin  verdict
There is a next-word head  3-1 (0.98) (P/A)¹  0.98 [.98, .98]    0.01  holds
Its [SEP] looks at [CLS]   mostly             -0.12 [-.12, -.11] 0.01  does not hold
The next-word head is 1-6  3-1 (P)¹           -                  -     cannot be decided here"""


@pytest.mark.parametrize(
    "saved, now",
    [
        ("0.52", "0.53"),
        (".52", ".53"),
        ("+2.5", "+2.4"),
        ("5.53 and 5.54", "5.54 and 5.53"),
        ("55%, 9 %, 99 per cent", "56%, 10 %, 100 per cent"),
        ("-0.0 and −.00", "0.0 and +.00"),
        ("[-0. 1.]", "[0. 1.]"),
        ("0.123456789", "0.123456712"),
        ("1e-05", "1.0003e-05"),
        ("a  9.99  b", "a  10.0  b"),
        ("a   9.9  b", "a  10.0  b"),
        ("0.5 holds", "0.50000001 holds"),
        ("#2f83bb", "#3086bc"),
    ],
)
def test_rounding_is_no_difference(saved, now):
    assert text_differences(saved, now) == text_differences(now, saved) == []


@pytest.mark.parametrize(
    "saved, now, said",
    [
        ("47.9", "49.3", "47.9 became 49.3 (off by 1.4, 0.1 is allowed)"),
        ("0.352", "0.363", "off by 0.011, 0.001 is allowed"),
        ("1234.567", "1271.604", "off by 37"),
        ("1.25e-05", "1.29e-05", "off by 4e-07"),
        ("55%", "58%", "off by 3, 1 is allowed"),
        ("-0.12", "0.12", "off by 0.24"),
        ("0.52", "+0.52", "another sign"),
        ("−0.52", "-0.52", "another sign"),
        ("n = 10 inputs", "n = 11 inputs", "10 became 11 in “n = 11 inputs”"),
        ("318,096 weights", "318,097 weights", "096 became 097"),
        ("head 1-6", "head 1-5", "6 became 5 in “head 1-5”"),
        ("layer4", "layer5", "“layer4” became “layer5”"),
        ("version 1.4.1", "version 1.4.2", "“1.4.1” became “1.4.2”"),
        ("in 2019.", "in 2020.", "2019 became 2020"),
        ("x 0.5 holds", "x 0.5 does not hold", "“holds” became “does not hold”"),
        ("0.5, of 3", "0.5; of 3", "“,” became “;”"),
        ("together", "to gether", "“together” became “to gether”"),
        ("a, b", "a,b", "a space is missing before b"),
        ("one\ntwo", "one two", "became nothing"),
        ("", "a word", "nothing became “a word”"),
        ("#0072B2", "#D55E00", "colour #0072B2 became #D55E00"),
        ("0.5", "nan", "“0.5” became “nan”"),
    ],
)
def test_what_a_reader_would_notice_is_told_with_its_place(saved, now, said):
    (line, *_) = text_differences(saved, now)
    assert said in line


def test_every_change_of_a_table_is_caught():
    assert text_differences(TABLE, TABLE.replace("0.98 [.98, .98] ", "0.97 [.97, .98] ")) == []
    changes = {
        "0.98 [.98": "0.95 [.98",  # a number wrong by 3 %
        "There is a next-word head  3-1": "There is a next-word head  3-2",
        "is 1-6": "is 1-5",
        "holds": "does not hold",
        "cannot be decided here": "does not hold",
        "10 others": "12 others",
        "mostly": "rarely",
        "(P/A)¹": "(P/A)²",
        "-0.12 [": "0.12 [",
    }
    for old, new in changes.items():
        assert TABLE.count(old) and text_differences(TABLE, TABLE.replace(old, new, 1)), (old, new)
    lines = TABLE.splitlines()
    for number in range(len(lines)):
        assert text_differences(TABLE, "\n".join(lines[:number] + lines[number + 1 :])), "a row is missing"
        assert text_differences(TABLE, "\n".join(lines[: number + 1] + lines[number:])), "a row twice"
    assert text_differences(TABLE, "\n".join([*lines[:2], lines[3], lines[2], lines[4]])), (
        "rows changed places"
    )


# ---- outputs ----------------------------------------------------------------------------------------------------


def shown(html, plain="Picture"):
    return new_output("execute_result", data={"text/html": html, "text/plain": plain}, execution_count=1)


def printed(text, name="stdout"):
    return new_output("stream", name=name, text=text)


def test_kinds_and_numbers_of_outputs_are_compared():
    one = [printed("a\n"), shown("<b>x</b>")]
    assert differences(one, one) == []
    for saved, now, said in (
        (one, one[:1], "2 outputs saved, 1 now: stream stdout, execute_result / stream stdout"),
        (one[:1], one, "1 output saved, 2 now"),
        (one, one[::-1], "the kind of output"),
        ([printed("a")], [printed("a", "stderr")], "stream stdout saved, stream stderr now"),
        ([printed("")], [], "1 output saved, 0 now: stream stdout / none"),
    ):
        assert said in differences(saved, now)[0]
    assert differences([], []) == []


def test_kinds_of_one_output_are_compared_but_not_a_living_widget():
    both, html = shown("<b>x</b>"), shown("<b>x</b>")
    del html.data["text/plain"]
    assert differences([both], [html]) == ["text/plain was saved and is missing now"]
    assert differences([html], [both]) == ["text/plain was not saved and is there now"]
    alive = copy.deepcopy(both)
    alive.data[compare_outputs.WIDGET_VIEW] = {"model_id": "a"}
    assert differences([both], [alive]) == []
    assert not same(both, html) and same(both, alive)


def test_an_error_is_known_by_its_words():
    one, other = (new_output("error", ename="ValueError", evalue=v, traceback=[v]) for v in ("a", "b"))
    assert differences([one], [one]) == [] and "evalue" in differences([one], [other])[0]


def test_many_differences_are_counted_not_listed():
    found = differences([printed("\n".join("abcdefghijklmnop"))], [printed("\n".join("ABCDEFGHIJKLMNOP"))])
    assert len(found) <= SHOWN + 1
    found = differences([printed("1 " * 40)], [printed("2 " * 40)])
    assert len(found) == SHOWN + 1 and found[-1] == f"... and {40 - SHOWN} more differences"


def test_json_is_compared_by_its_values():
    def data(value):
        return [new_output("display_data", data={"application/json": value})]

    one = {"a": [0.123456, 2, "x 0.50"], "b": None, "c": True}
    assert differences(data(one), data({**one, "a": [0.1234561, 2, "x 0.51"]})) == []
    for other in (
        {**one, "a": [0.127, 2, "x 0.50"]},
        {**one, "a": [0.123456, 3, "x 0.50"]},
        {**one, "a": [0.123456, 2]},
        {**one, "a": [0.123456, 2, "y 0.50"]},
        {**one, "b": 0},
        {**one, "c": 1},
        {k: one[k] for k in "ab"},
        {**one, "d": 1},
    ):
        assert differences(data(one), data(other)), other


# ---- markup -----------------------------------------------------------------------------------------------------

ROWS = '<table class="t"><caption>n = 20</caption><tr><th>head</th><th>share</th></tr><tr><th>1-6</th><td>0.352</td></tr><tr><th>2-5</th><td>12 %</td></tr></table>'


def test_rounding_ids_and_space_between_tags_are_no_difference():
    assert markup_differences(ROWS, ROWS.replace("0.352", "0.353").replace("12 %", "13 %")) == []
    assert markup_differences(ROWS, ROWS.replace("><", ">\n<")) == []
    named = '<p id="a">x</p><a href="#a">y</a><b aria-labelledby="a c">z</b><i id="c"></i>'
    renamed = '<p id="q">x</p><a href="#q">y</a><b aria-labelledby="q r">z</b><i id="r"></i>'
    assert markup_differences(named, renamed) == []


@pytest.mark.parametrize(
    "old, new, said",
    [
        ("0.352", "0.363", "off by 0.011"),
        ("1-6", "1-5", "6 became 5"),
        ("n = 20", "n = 21", "20 became 21"),
        ("share", "weight", "“share” became “weight”"),
        ("<tr><th>2-5</th><td>12 %</td></tr>", "", "in <table>: <tr> “2-5 12 %” is missing"),
        ("<td>12 %</td>", "", "in <tr>: <td> “12 %” is missing"),
        ("<td>12 %</td>", "<td>12 %</td><td>1</td>", "in <tr>: <td> “1” was added"),
        ("<td>12 %</td>", "<th>12 %</th>", "<td> “12 %” became <th> “12 %”"),
        ('class="t"', 'class="u"', "<table> class: t became u"),
        ('class="t"', "", "<table> class: t became nothing"),
        ("<caption>n = 20</caption>", "", "<caption> “n = 20” is missing"),
    ],
)
def test_changed_markup_is_told(old, new, said):
    assert ROWS.count(old) == 1
    lines = markup_differences(ROWS, ROWS.replace(old, new))
    assert any(said in line for line in lines), lines


def test_ids_must_be_renamed_the_same_way_throughout():
    two = '<p id="a">x</p><p id="b">y</p><a href="#a">z</a>'
    assert markup_differences(two, '<p id="c">x</p><p id="d">y</p><a href="#c">z</a>') == []
    assert "href" in markup_differences(two, '<p id="c">x</p><p id="d">y</p><a href="#d">z</a>')[0]
    assert "became one" in markup_differences(two, '<p id="c">x</p><p id="c">y</p><a href="#c">z</a>')[0]
    twice, once = '<p id="a">x</p><p id="a">y</p>', '<p id="c">x</p><p id="d">y</p>'
    assert "in one place" in markup_differences(twice, once)[0]


# ---- pictures ---------------------------------------------------------------------------------------------------


def curves(*series, labels=("trained", "random"), sentence="Two curves, the highest at 0.81.", marker="o"):
    import matplotlib.pyplot as plt

    figure, axes = plt.subplots(figsize=(6, 4))
    for values, label in zip(series, labels):
        axes.plot(range(1, len(values) + 1), values, marker=marker, label=label)
    axes.set(ylim=(0, 1), xlabel="layer", ylabel="share", title="Attention to the next token")
    axes.legend(loc="upper left")
    picture = figure_picture(figure, sentence)
    plt.close(figure)
    return picture._repr_html_()


HIGH, LOW = (0.1, 0.35, 0.62, 0.81), (0.05, 0.06, 0.04, 0.05)
DRAWN = curves(HIGH, LOW)


def inside(html, change):
    """A change of the drawing that an image carries in its address."""
    found = re.search(r"(?<=data:image/svg\+xml;base64,)[^\"]+", html)
    svg = base64.b64decode(found.group()).decode()
    changed = change(svg)
    assert changed != svg, "the change found nothing to change"
    return html.replace(found.group(), base64.b64encode(changed.encode()).decode())


def test_a_picture_that_differs_in_last_digits_alone_is_the_same():
    drawn = random.Random(0)

    def shake(svg):
        shaken = re.sub(
            r'(?<= d=")[^"]+|(?<= [xy]=")[^"]+',
            lambda found: re.sub(
                r"\d+\.\d", lambda n: f"{float(n.group()) + drawn.choice((-0.1, 0, 0.1)):.1f}", found.group()
            ),
            svg,
        )
        return re.sub(r"p[0-9a-f]{8}-", "pffffffff-", shaken)

    assert markup_differences(DRAWN, inside(DRAWN, shake)) == []
    assert markup_differences(DRAWN, curves([v + 2e-4 for v in HIGH], LOW)) == []
    assert markup_differences(DRAWN, curves(HIGH, LOW, sentence="Two curves, the highest at 0.82.")) == []


@pytest.mark.parametrize(
    "other, said",
    [
        (lambda: curves(HIGH), "mark"),
        (lambda: curves(HIGH, LOW, LOW, labels=("trained", "random", "again")), "added"),
        (lambda: curves([v * 0.94 for v in HIGH], LOW), "is allowed"),
        (lambda: curves(HIGH[::-1], LOW), "is allowed"),
        (lambda: curves((*HIGH, 0.8), (*LOW, 0.05)), ""),
        (lambda: curves(HIGH, LOW, marker="s"), ""),
        (lambda: curves(HIGH, LOW, labels=("trained", "shuffled")), "“random” became “shuffled”"),
        (lambda: curves(HIGH, LOW, sentence="Two curves, the highest at 0.84."), "off by 0.03"),
        (lambda: curves(HIGH, LOW, sentence="Three curves, the highest at 0.81."), "“Two” became “Three”"),
        (
            lambda: inside(DRAWN, lambda svg: re.sub(r"<text[^>]*>layer</text>", "", svg)),
            "“layer” is missing",
        ),
        (lambda: inside(DRAWN, lambda svg: re.sub(r"<use[^>]*/>", "", svg, count=1)), "<use>"),
        (
            lambda: inside(DRAWN, lambda svg: svg.replace("#1f77b4", "#D55E00")),
            "colour #1f77b4 became #d55e00",
        ),
        (lambda: DRAWN.replace('alt="', 'alt="no '), "alt"),
        (
            lambda: DRAWN.replace("image/svg+xml", "image/png"),
            "a picture of kind image/svg+xml became one of kind image/png",
        ),
        (lambda: re.sub(r"<img[^>]*>", "<b>a table</b>", DRAWN), "<img> became <b>"),
        (lambda: re.sub(r"<img[^>]*>", "", DRAWN), "<img>"),
        (lambda: re.sub(r"<figcaption.*?</figcaption>", "", DRAWN), "<figcaption>"),
    ],
)
def test_a_picture_that_says_something_else_is_caught(other, said):
    now = other()
    assert now != DRAWN
    lines = markup_differences(DRAWN, now)
    assert lines and any(said.lower() in line.lower() for line in lines), lines
    assert all(len(line) < 300 for line in lines), "readable, no base64"


def arcs(*groups):
    """Strokes that share a path where they are equally strong, as the views of attention draw them."""
    body = "".join(
        f'<path d="{"".join(f"M{x} 10C{x} 50 {y} 50 {y} 90" for x, y in strokes)}" stroke="#0072B2" stroke-width="{width}" '
        f'stroke-opacity="{opacity}"/>'
        for strokes, width, opacity in groups
    )
    return f'<svg viewBox="0 0 400 100"><title>Head 1-6</title>{body}</svg>'


def test_a_stroke_of_the_next_level_may_move_to_another_path():
    saved = arcs(([(10, 50), (90, 130)], 1.8, "0.15"), ([(170, 10)], 1.9, "0.20"))
    for now in (
        arcs(([(10, 50)], 1.8, "0.15"), ([(90, 130), (170, 10)], 1.9, "0.20")),
        arcs(([(10, 50), (90, 130), (170, 10)], 1.8, "0.15")),
    ):
        assert markup_differences(saved, now) == []
    for now in (
        arcs(([(10, 50)], 1.8, "0.15"), ([(170, 10)], 1.9, "0.20")),
        arcs(([(10, 50), (90, 130), (50, 50)], 1.8, "0.15"), ([(170, 10)], 1.9, "0.20")),
        arcs(([(10, 50), (90, 170)], 1.8, "0.15"), ([(170, 10)], 1.9, "0.20")),
        arcs(([(10, 50), (90, 130)], 1.8, "0.15"), ([(170, 10)], 3.9, "0.20")),
        arcs(([(10, 50), (90, 130)], 1.8, "0.15"), ([(170, 10)], 1.9, "0.60")),
        saved.replace("C", "L", 1),
    ):
        (line, *_) = markup_differences(saved, now)
        assert "mark" in line, line


def cells(rows, side=10.0):
    """A map whose equal neighbours are drawn at one go."""
    paths = {}
    for i, row in enumerate(rows):
        j = 0
        while j < len(row):
            run = next((k for k in range(j, len(row)) if row[k] != row[j]), len(row)) - j
            stroke = f"M{j * side:g} {i * side:g}h{run * side:g}v{side:g}h{-run * side:g}z"
            paths.setdefault(row[j], []).append(stroke)
            j += run
    body = "".join(
        f'<path d="{"".join(strokes)}" fill="{colour}"/>' for colour, strokes in sorted(paths.items())
    )
    return f'<svg viewBox="0 0 100 100">{body}</svg>'


def test_a_cell_of_the_next_shade_may_split_a_row_of_equal_cells():
    pale, next_shade, dark = "#b5d3e7", "#b0d0e5", "#00294a"
    below = [pale, dark, pale, pale, dark, dark]
    saved = cells([[pale] * 6, below])
    assert markup_differences(saved, cells([[pale, pale, next_shade, pale, pale, pale], below])) == []
    darker = markup_differences(saved, cells([[pale, pale, dark, pale, pale, pale], below]))
    assert "1 mark missing or changed" in darker[0] and "1 mark added or changed" in darker[1]
    assert markup_differences(saved, cells([[pale] * 6, [pale, dark, pale, pale, dark, pale]]))
    assert markup_differences(saved, cells([[pale] * 6]))


# ---- images of pixels, frames -----------------------------------------------------------------------------------


def thumbnail(weights, alt="Head 1-1"):
    return f'<img src="{map_address(weights)}" alt="{alt}" width="52">'


def test_a_map_of_pixels_is_compared_by_its_shades():
    weights = np.full((6, 6), 0.1)
    weights[:, 1] = 0.5
    near, far = weights.copy(), weights.copy()
    near[2, 2] = 0.105  # the next shade
    far[2, 2] = 0.3
    assert thumbnail(weights) != thumbnail(near)
    assert markup_differences(thumbnail(weights), thumbnail(near)) == []
    (line,) = markup_differences(thumbnail(weights), thumbnail(far))
    assert "in an image differ, by up to" in line
    (line,) = markup_differences(thumbnail(weights), thumbnail(weights[:5, :5]))
    assert "an image of 6 x 6 pixels became one of 5 x 5" in line
    [line] = markup_differences(thumbnail(weights), thumbnail(weights, "Head 1-2"))
    assert "1 became 2" in line or "became “1-2”" in line


def png(pixels, level=9):
    """An 8-bit PNG of gray, RGB or RGBA values, packed more or less tightly."""
    pixels = np.asarray(pixels, np.uint8)
    height, width, channels = pixels.shape
    rows = b"".join(b"\0" + row.tobytes() for row in pixels)  # 0: unfiltered
    parts = [
        (b"IHDR", struct.pack(">IIBBBBB", width, height, 8, {1: 0, 3: 2, 4: 6}[channels], 0, 0, 0)),
        (b"IDAT", zlib.compress(rows, level)),
        (b"IEND", b""),
    ]
    return b"\x89PNG\r\n\x1a\n" + b"".join(
        struct.pack(">I", len(d)) + n + d + struct.pack(">I", zlib.crc32(n + d)) for n, d in parts
    )


@pytest.mark.parametrize("channels", [1, 3, 4])
def test_the_same_pixels_written_another_way_are_the_same_image(channels):
    pixels = np.random.default_rng(0).integers(0, 256, (7, 5, channels))

    def output(image):
        return [new_output("display_data", data={"image/png": base64.b64encode(image).decode()})]

    plain = png(pixels, level=0)
    assert differences(output(plain), output(png(pixels))) == []
    changed = pixels.copy()
    changed[3, 3, 0] = (changed[3, 3, 0] + 100) % 256
    assert "1 value of" in differences(output(plain), output(png(changed)))[0]
    assert differences(output(plain), output(plain[:-20] + b"x" * 20)) == ["image/png: another image"]


class _Maps:
    level = "token"

    def __init__(self, change=0.0, tokens=("[CLS]", "a", "cat", "[SEP]")):
        self.tokens, self.segment_ids = list(tokens), [0] * 4
        self.weights = np.full((2, 3, 4, 4), 0.25)
        self.weights[..., 0] += change
        self.weights[..., 1] -= change


def test_a_frame_is_compared_by_the_numbers_it_carries():
    saved, near, far = (bertviz_head_view(_Maps(change))._repr_html_() for change in (0.0, 0.001, 0.01))
    assert saved != near and markup_differences(saved, near) == []
    lines = markup_differences(saved, far)
    assert "attention[0][0][0][0]: 250 became 260" in lines[0]
    other = _Maps(tokens=["[CLS]", "a", "dog", "[SEP]"])
    assert any(
        "“cat” became “dog”" in line
        for line in markup_differences(saved, bertviz_head_view(other)._repr_html_())
    )
    assert markup_differences(saved, saved.replace("jQuery", "jquery", 1)), "the code to the letter"
    renamed = saved.replace("bertviz-view", "bertviz-0123456789ab")
    assert renamed != saved and markup_differences(saved, renamed) == []


# ---- what the decks show ----------------------------------------------------------------------------------------


def saved_outputs():
    for path in sorted((ROOT / "slides").glob("*.ipynb")):
        for number, cell in enumerate(json.loads(path.read_text(encoding="utf-8"))["cells"]):
            for output in cell.get("outputs", []):
                yield f"{path.name} cell {number}", output


def test_a_number_wrong_by_three_per_cent_is_caught_wherever_decks_print_three_digits():
    """Each such number by itself; with fewer digits 3 % is within the rounding."""
    planted = 0
    for where, output in saved_outputs():
        text = "".join(output.get("text", output.get("data", {}).get("text/plain", "")))
        found = list(re.finditer(r"(?<![\w.])\d+\.\d+(?![\w.])", text))
        for number in found[:4]:
            places = len(number.group().partition(".")[2])
            if float(number.group()) * 0.03 > 1.5 * 10**-places:
                wrong = f"{float(number.group()) * 1.03:.{places}f}"
                changed = text[: number.start()] + wrong + text[number.end() :]
                assert text_differences(text, changed), (where, number.group(), wrong)
                planted += 1
    assert planted > 60  # most numbers of decks stand in pictures


def test_every_saved_picture_is_like_itself_and_not_without_a_mark_or_a_word():
    pictures = 0
    for where, output in saved_outputs():
        html = "".join(output.get("data", {}).get("text/html", ""))
        if "data:image/svg+xml;base64," not in html:
            continue
        pictures += 1
        moved = inside(html, lambda svg: svg.replace("<svg ", '<svg data-x="1" ', 1))
        assert len(markup_differences(html, moved)) == 1, where
        for change in (
            lambda svg: re.sub(
                r"<(rect|circle|image|use|path)\b[^>]*?/>(?!.*<\1\b[^>]*?/>)",
                "",
                svg,
                count=1,
                flags=re.DOTALL,
            ),
            lambda svg: re.sub(r">([^<>]*[^\W\d_]{3}[^<>]*)</text>", r">\1 not</text>", svg, count=1),
        ):
            try:
                changed = inside(html, change)
            except AssertionError:
                continue  # a picture without such a mark, or without words
            assert markup_differences(html, changed), where
    assert pictures > 50


# ---- through pytest and nbval -----------------------------------------------------------------------------------

CELLS = [
    ("print('head 1-6: 0.352, 12 %')", "head 1-6: 0.353, 13 %\n"),  # rounding
    ("print('head 1-6: 0.352')", "head 1-6: 0.363\n"),
    ("print('0.5 holds')", "0.5 does not hold\n"),
    ("print('one'); print('two')", "one\n"),
]


@pytest.fixture(scope="module")
def notebook(tmp_path_factory):
    """A notebook whose outputs were saved otherwise than its cells give them; one cell by rounding alone."""
    cells = [
        new_code_cell(source, outputs=[printed(text)], execution_count=n)
        for n, (source, text) in enumerate(CELLS, 1)
    ]
    path = tmp_path_factory.mktemp("notebook") / "small.ipynb"
    run_notebooks.save(run_notebooks.normalise(nbformat.from_dict(new_notebook(cells=cells))), path)
    return path


def by_pytest(notebook, *options):
    command = [sys.executable, "-m", "pytest", "-c", ROOT / "pyproject.toml"]
    command += ["--rootdir", ROOT, "--confcutdir", ROOT]
    command += ["-p", "tools.nbval_compare", "-p", "no:cacheprovider", "-q", *options, notebook]
    return subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False).stdout


def test_nbval_fails_for_what_a_reader_would_notice(notebook):
    said = by_pytest(notebook)
    assert "3 failed, 1 passed" in said, said
    for line in (
        "text: 0.363 became 0.352 (off by 0.011, 0.001 is allowed) in “head 1-6: 0.352”",
        "text: “does not hold” became “holds” in “0.5 holds”",
        "text: nothing became “two",
    ):
        assert line in said, said


def test_nbval_compares_to_the_letter_when_asked_to(notebook):
    assert "4 failed" in by_pytest(notebook, "--exact")


def test_the_plugin_is_there_for_every_notebook_of_the_project():
    """Whatever is asked for: the conftest.py at the root is read, and it names the plugin."""
    command = [sys.executable, "-m", "pytest", "--help", "slides/00_map_of_the_course.ipynb"]
    assert "--exact" in subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=True).stdout


def test_saving_keeps_what_still_says_the_same(notebook, tmp_path):
    path = tmp_path / "small.ipynb"
    path.write_bytes(notebook.read_bytes())
    changed = run_notebooks.run(path, check=True)
    assert [line.split(":")[0] for line in changed if line.startswith("cell")] == [
        f"cell {n} differs in outputs" for n in (2, 3, 4)
    ]
    assert any("off by 0.011" in line for line in changed)
    run_notebooks.run(path)
    texts = ["".join(cell.outputs[0].text) for cell in run_notebooks.read(path).cells]
    assert texts == ["head 1-6: 0.353, 13 %\n", "head 1-6: 0.352\n", "0.5 holds\n", "one\ntwo\n"]
    assert run_notebooks.run(path, check=True) == []
    assert run_notebooks.run(path, check=True, exact=True) == [f"cell 1 differs in outputs: {CELLS[0][0]}"]


def test_the_tolerance_is_narrow():
    """Wider ones would let through what the tests above plant."""
    assert (ROUNDING.places, ROUNDING.relative) <= (1, 0.01) and ROUNDING.picture <= 0.01
