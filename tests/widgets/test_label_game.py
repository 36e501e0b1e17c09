"""The labelling game and the threshold board: what pressing does, what is said, what is saved; no browser."""

import base64
import re
import time
import zlib
from xml.etree import ElementTree

import numpy as np
import pytest

from bertlook_course.analyses.anatomy import Fractions, class_fractions, class_shares
from bertlook_course.decks.lesson05 import fraction_table
from bertlook_course.render import THRESHOLD_STEPS as STEPS
from bertlook_course.render import (
    describe_map,
    fraction_bars,
    map_address,
    map_thumbnail,
    render_board,
    render_map,
    shades,
)
from bertlook_course.render.results.shares import FILLS
from bertlook_course.widgets import LabelGame, ThresholdBoard, example_maps
from bertlook_teach.measures import CLASSES, Thresholds, class_codes, stack_scores
from bertlook_teach.model import Attention

TOKENS = ("[CLS]", "a", "<b>", "[SEP]", "c", "d", "[SEP]")
SEGMENTS = (0, 0, 0, 0, 1, 1, 1)


def texts(n=5, layers=2, heads=3):
    special = tuple(token.startswith("[") for token in TOKENS)
    word_ids = tuple(None if s else i for i, s in enumerate(special))
    made = []
    for seed in range(n):
        weights = np.random.default_rng(seed).dirichlet(np.full(7, 0.3), size=(layers, heads, 7))
        weights[0, 0] = 0
        weights[0, 0, :, 3] = 1  # vertical
        weights[1, 2] = np.eye(7, k=-1) * 0.97 + 0.03 / 7
        weights[1, 2, 0] = 1 / 7  # diagonal
        made.append(
            Attention(weights.astype(np.float32), TOKENS, word_ids, SEGMENTS, special, TOKENS, "a", "c")
        )
    return made


def game(n=12, **options):
    return LabelGame(texts(), n=n, **options)


# --- pictures --------------------------------------------------------------------------------------------


def read_png(address):
    """Width, height and pixels of our own pictures, by the format's description."""
    data = base64.b64decode(address.partition(",")[2])
    assert data[:8] == b"\x89PNG\r\n\x1a\n"
    at, parts = 8, {}
    while at < len(data):
        size = int.from_bytes(data[at : at + 4], "big")
        name, body = data[at + 4 : at + 8], data[at + 8 : at + 8 + size]
        assert int.from_bytes(data[at + 8 + size : at + 12 + size], "big") == zlib.crc32(name + body)
        parts[name] = body
        at += 12 + size
    width, height = (int.from_bytes(parts[b"IHDR"][i : i + 4], "big") for i in (0, 4))
    rows = np.frombuffer(zlib.decompress(parts[b"IDAT"]), np.uint8).reshape(height, width + 1)
    assert not rows[:, 0].any()
    return rows[:, 1:]


@pytest.mark.parametrize("n", [1, 3, 7, 300])  # 300: more than one stored block
def test_a_map_becomes_a_picture_with_a_pixel_a_cell(n):
    weights = np.random.default_rng(n).dirichlet(np.ones(n), size=n)
    assert (read_png(map_address(weights)) == shades(weights)).all()


def test_rows_of_the_picture_are_queries_and_the_darkest_is_the_largest_weight():
    weights = np.zeros((3, 3))
    weights[:, 0] = (1, 0.25, 1)
    weights[1, 2] = 0.75
    steps = read_png(map_address(weights))
    assert steps[0, 0] == STEPS and steps[0, 2] == 0 and steps[1, 0] == STEPS / 2  # the root of a quarter
    assert steps[1, 2] == round(STEPS * 0.75**0.5) and steps[2, 1] == 0


def test_a_map_names_only_special_tokens_and_escapes_everything():
    attention = texts()[0]
    svg = render_map(
        attention.weights[0, 1], attention.tokens, segment_ids=SEGMENTS, special=attention.special
    ).svg
    ElementTree.fromstring(svg)
    assert "[CLS]</text>" in svg and "[SEP]</text>" in svg and "<b>" not in svg and ">a</text>" not in svg
    assert "stroke-dasharray" in svg  # segments differ in more than colour
    assert (
        svg
        == render_map(
            attention.weights[0, 1], attention.tokens, segment_ids=SEGMENTS, special=attention.special
        ).svg
    )
    assert "<b>" not in map_thumbnail(attention.weights[0, 1], "<b>")


def test_a_map_in_words_gives_numbers_and_no_class():
    attention = texts()[0]
    said = describe_map(attention.weights[0, 0], TOKENS, SEGMENTS)
    assert said.startswith("Most looked at: [SEP] with 100 %") and "Inside its own text 57 %" in said
    assert not any(name in said for name in ("vertical", "diagonal", "block", "heterogeneous"))
    assert "One text." in describe_map(np.full((2, 2), 0.5), ["a", "b"])
    assert "nan" not in describe_map(np.ones((1, 1)), ["a"], (0,))


def test_fractions_are_drawn_with_their_interval_and_other_peoples_as_brackets():
    fractions = class_fractions(stack_scores(texts()))
    picture = fraction_bars({"specimen": fractions}, ranges={"theirs": ([0.1] * 5, [0.2] * 5)})
    ElementTree.fromstring(picture.svg)
    assert ".10 to .20" in picture.svg and picture.sentence.startswith("Most maps: specimen ")
    mean, low, high = (f"{v:.2f}".removeprefix("0") for v in fractions["vertical"])
    assert f"vertical {mean} [{low}, {high}]" in picture.svg  # its description holds every number
    assert picture.numbers[0].rows[0] == ["vertical", f"{mean} [{low}, {high}]", ".10 to .20"]
    with pytest.raises(ValueError, match="one to four series"):
        fraction_bars({})


def test_a_table_shows_a_dash_where_there_can_be_no_block():
    fractions = class_fractions(stack_scores(texts()))
    single = Fractions(
        fractions.mean, fractions.low, fractions.high, fractions.n, fractions.maps, can_block=False
    )
    table = fraction_table({"two": fractions, "one": single})
    assert table.rows[1][4] == "–" and table.rows[0][4] != "–"
    assert table.caption == "Share of maps [95 %], n = 5 texts of 6 maps each."


def test_a_board_sorts_its_maps():
    page = render_board([("<i>A</i>", "a"), ("<i>B</i>", "b")], [3, 0], [0.25, 0, 0, 0.5, 0.25])
    assert "<section" not in page  # the slideshow would take it for another slide
    sections = page.split('<div role="group"')
    assert "<i>B</i>" in sections[1] and "<i>A</i>" in sections[4] and "0.500" in sections[4]
    assert "block: 0.500 of all maps, 1 of those shown" in page
    colours = re.findall("solid (#[0-9a-f]+)", page.lower())
    assert colours == [fill.lower() for fill in FILLS]  # as in stacked bars


# --- the game --------------------------------------------------------------------------------------------


def test_the_rule_is_not_shown_until_it_is_asked_for():
    played = game()
    shown = [played.picture, played.words, played.status, played.message, played.result]
    assert not any(name in text for name in CLASSES for text in shown)
    played.label("vertical")
    assert played.message == "" and played.result == ""
    played.show_result()
    assert "Accuracy" in played.result


def test_labelling_goes_on_to_the_next_map_without_a_label():
    played = game(n=3)
    assert played.status == "Map 1 of 3, not answered yet"
    played.turn(1)
    played.label("block")
    assert (played.labels, played.position) == ([None, "block", None], 2)
    played.label(0)
    assert played.position == 0 and played.status == "Map 1 of 3, 2 labelled"
    played.label(4)
    assert "All 3 maps have a label" in played.message


def test_undo_takes_back_one_label_after_the_other():
    played = game(n=3)
    played.label(0)
    played.turn(-1)
    played.label(1)  # changes its mind about the first map
    assert played.labels[0] == "diagonal"
    played.undo()
    assert played.labels[0] == "vertical" and played.position == 0
    played.undo()
    assert played.labels == [None] * 3
    played.undo()
    assert played.message == "There is no label to take back."


def test_the_result_is_the_agreement_over_labelled_maps():
    played = game()
    assert played.with_rule() is None and played.with_partner() is None
    assert "Not answered yet" in played.result_page()
    for i in range(6):
        played.position = i
        played.label(played.rule[i])
    assert played.with_rule().accuracy == 1 and played.with_rule().n == 6
    played.position = 6
    wrong = next(name for name in CLASSES if name != played.rule[6])
    played.label(wrong)
    assert played.with_rule().accuracy == pytest.approx(6 / 7)
    assert (
        "agree on <b>6 of 7</b> maps" in played.result_page()
        and "Intervals need 10 maps" in played.result_page()
    )


def test_the_rule_in_the_game_is_the_rule():
    played = game()
    codes = class_codes(stack_scores(texts()))
    assert played.rule == [CLASSES[codes[place]] for place in played.maps]
    assert played.rule[played.maps.index(next(m for m in played.maps if m[1:] == (1, 2)))] == "diagonal"


def test_two_players_compare_by_code_or_by_file(tmp_path):
    first, second = game(), game()
    for i in range(8):
        first.label(i % 5)
        second.label(0 if i == 3 else i % 5)
    second.labels[1] = None
    second._draw()
    first.read_partner(second.code)
    assert first.with_partner().n == 7 and first.with_partner().accuracy == pytest.approx(6 / 7)
    by_code = first.partner
    first.read_partner(second.save(tmp_path / "labels.csv").read_text())
    assert first.partner == by_code and "your partner agree on <b>6 of 7</b>" in first.result_page()


@pytest.mark.parametrize(
    "given, message",
    [
        ("", "paste your partner's code"),
        ("hello", "a code is six letters and digits"),
        ("abcdef-1234", "of another game"),
        ("a,b\n1,2", "needs the columns game, map and label"),
    ],
)
def test_labels_that_cannot_be_a_partners_are_refused(given, message):
    with pytest.raises(ValueError, match=message):
        game().read_partner(given)


def test_another_seed_is_another_game_and_a_wrong_line_is_named():
    played = game()
    with pytest.raises(ValueError, match="Both need the same model, texts, number of maps and seed"):
        played.read_partner(game(seed=1).code)
    played.label(0)
    lines = played.to_csv().splitlines()
    with pytest.raises(ValueError, match="line 3 of the CSV: 'stripy' is not one of vertical"):
        played.read_partner("\n".join([*lines[:2], lines[2].replace(",,", ",stripy,"), *lines[3:]]))
    with pytest.raises(ValueError, match="line 2 of the CSV: map '99' is not one of 1 to 12"):
        played.read_partner("\n".join([lines[0], lines[1].replace(",1,", ",99,", 1), *lines[2:]]))


def test_nothing_is_saved_unless_asked_and_nothing_is_written_over(tmp_path):
    played = game()
    with pytest.raises(ValueError, match="no label to save"):
        played.save(tmp_path / "x.csv")
    played.label("block")
    with pytest.raises(ValueError, match="name a file"):
        played.save("  ")
    path = played.save(tmp_path / "x.csv")
    assert path.read_text().splitlines()[0] == "game,map,text,head,label,rule"
    assert path.read_text().splitlines()[1].split(",")[4] == "block" and list(tmp_path.iterdir()) == [path]
    with pytest.raises(FileExistsError, match="choose another name"):
        played.save(path)
    assert len(path.read_text().splitlines()) == 13


def test_what_the_page_reports_is_done_and_what_goes_wrong_is_said(tmp_path):
    played = game()
    heard = played._handle_custom_msg  # what ipywidgets calls when the page sends
    heard({"kind": "label", "value": 2}, [])
    heard({"kind": "turn", "value": 1}, [])
    assert played.labels[0] == "vertical+diagonal" and played.position == 2
    heard({"kind": "undo"}, [])
    assert played.n_labelled == 0
    heard({"kind": "label", "value": 9}, [])
    assert played.message.startswith("A label is one of vertical") and played.n_labelled == 0
    heard({"kind": "partner", "value": "nonsense"}, [])
    assert played.message.startswith("A code is six")
    heard({"kind": "save", "value": str(tmp_path / "none" / "x.csv")}, [])
    assert played.message != "" and not list(tmp_path.iterdir())
    heard({"kind": "label", "value": 0}, [])
    heard({"kind": "save", "value": str(tmp_path / "x.csv")}, [])
    assert played.message == "1 labels saved in x.csv."
    heard({"kind": "result"}, [])
    assert played.result
    heard({"kind": "result"}, [])
    assert not played.result


def test_the_same_game_has_the_same_bytes_and_a_name_without_an_address():
    first, second = game(), game()
    assert (
        first.picture == second.picture and repr(first) == "LabelGame(12 maps of 5 texts, not answered yet)"
    )
    bundle = first._repr_mimebundle_()
    assert (
        bundle["text/html"] == second._repr_mimebundle_()["text/html"]
        and "Map 1 of 12" in bundle["text/html"]
    )
    assert not any(name in bundle["text/html"] for name in CLASSES)


def test_more_maps_than_there_are_is_all_of_them_and_no_text_is_refused():
    assert len(game(n=1000).maps) == 30
    with pytest.raises(ValueError, match="at least one Attention"):
        LabelGame([])
    with pytest.raises(ValueError, match="a label is one of vertical"):
        game().label("stripy")


# --- the board -------------------------------------------------------------------------------------------


def test_moving_a_slider_moves_fractions_and_maps():
    board = ThresholdBoard(texts(), maps=[(0, 0, 0), (0, 1, 2)])
    assert board.classes == ["vertical", "diagonal"]
    before = board.view.value
    board.sliders["vertical"].value = 0.85  # two full columns of seven tokens score .714
    assert board.classes[0] == "heterogeneous" and board.view.value != before
    expected = class_shares(stack_scores(texts()), Thresholds(vertical=0.85)).mean(axis=0)
    assert board.fractions == pytest.approx(expected) and f"{expected[4]:.3f}" in board.view.value
    board.reset.click()
    assert board.thresholds == Thresholds() and board.view.value == before


def test_the_board_says_how_far_the_moved_rule_agrees_with_the_labels():
    played = game()
    board = ThresholdBoard(texts(), game=played)
    assert "labels" not in board.sentence
    place = next(i for i, m in enumerate(played.maps) if m[1:] == (0, 0))
    played.position = place
    played.label("vertical")
    assert "agrees with 1 of your 1 labels" in board.sentence
    board.move(Thresholds(vertical=0.9))
    assert "agrees with 0 of your 1 labels" in board.sentence


def test_examples_come_from_every_class_that_occurs():
    scores = stack_scores(texts())
    codes = class_codes(scores)
    chosen = example_maps(scores)
    assert {int(codes[place]) for place in chosen} == set(np.unique(codes).tolist())
    assert len(set(chosen)) == len(chosen)


def test_a_slider_is_followed_within_150_milliseconds():
    """Forty texts of 40 tokens and 36 heads. Processor time, so that other work on the machine does not count."""
    n = 40
    special, word_ids = (False,) * n, tuple(range(n))
    weights = np.random.default_rng(0).dirichlet(np.full(n, 0.3), size=(6, 6, n)).astype(np.float32)
    many = [
        Attention(weights, ("a",) * n, word_ids, (0,) * 20 + (1,) * 20, special, ("a",) * n, "a", "a")
    ] * 40
    board = ThresholdBoard(many)
    start = time.process_time()
    board.sliders["both"].value = 0.4
    assert time.process_time() - start < 0.15
    assert repr(board).endswith("of 1440 maps shown)")


def test_the_board_is_the_same_each_time_without_a_kernel():
    first, second = ThresholdBoard(texts()), ThresholdBoard(texts())
    assert first._repr_mimebundle_()["text/html"] == second._repr_mimebundle_()["text/html"]
