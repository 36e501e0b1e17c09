"""Tables of docs/results.md as slides read them, and the tool that copies them."""

import sys
from pathlib import Path

import pytest

from bertlook_course.published import Measured, MeasuredTable, measured

ROOT = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "tools"))

import quoted_results

from tools.page_tables import table_below, tables_of

PAGE = """# Results

## One

Read on texts. Weights `0123456789abcdef`.

### First

| a | b (n = 1,200) | c |
|---|---|---|
| x | 53.9 [52.0, 56.0] | - |
| **best** of `two` | 1-6: -13.8 [-18.1, -9.1] | +6.4 |

| d | e |
|---|---|
| y | 1 |

Weights `fedcba9876543210`.

### Second

| f | g |
|---|---|
| z | 1,348 |

## Two

### Third

| h | i |
|---|---|
| z | 2 |
"""
LINES = PAGE.split("\n")


def table():
    _, _, columns, rows = table_below(PAGE, "### First")
    return MeasuredTable(
        "0" * 16, False, "the specimen", tuple(columns), {first: tuple(rest) for first, *rest in rows}
    )


def test_a_cell_is_found_by_the_beginnings_of_row_and_column():
    assert table().cell("x", "b") == "53.9 [52.0, 56.0]"
    assert table().value("x", "b") == Measured(53.9, 52.0, 56.0)
    assert table().value("best", "b") == Measured(-13.8, -18.1, -9.1), "the name of a head is no number"
    assert table().value("best of two", "c") == Measured(6.4)
    assert table().value("x", "b").share == (0.539, 0.52, 0.56)
    assert str(table().value("x", "b")) == "53.9 % [52.0, 56.0]" and str(Measured(6.4)) == "6.4 %"
    assert table().whose == "an earlier specimen"


def test_numbers_and_heads_of_cells_and_of_names():
    assert table().values("x", "b") == [53.9, 52, 56] and table().values(column="b") == [1200]
    assert table().values("best", "b") == [-13.8, -18.1, -9.1] and table().head("best", "b") == "1-6"
    with pytest.raises(ValueError, match="'best of two' in row 'best', column None is not a number"):
        table().values("best")
    with pytest.raises(ValueError, match=r"'53.9 \[52.0, 56.0\]' in row 'x', column 'b' names no head"):
        table().head("x", "b")


def test_what_is_not_there_is_said():
    with pytest.raises(KeyError, match="0 rows begin with 'q'; there is: x, best of two"):
        table().value("q", "b")
    with pytest.raises(KeyError, match="0 columns begin with 'z'"):
        table().value("x", "z")
    with pytest.raises(ValueError, match="is not a number"):
        table().value("x", "c")
    with pytest.raises(KeyError, match="no table 'nothing'; there is: .*LitBank"):
        measured("nothing")


def test_a_table_is_the_one_below_its_heading_and_has_the_weights_named_last():
    assert [(t.columns, t.rows) for t in tables_of(PAGE)][1:] == [
        (["d", "e"], [["y", "1"]]), (["f", "g"], [["z", "1,348"]]), (["h", "i"], [["z", "2"]])
    ]  # fmt: skip
    assert table_below(PAGE, "### Second").columns == ["f", "g"]
    assert quoted_results.weights_of(LINES, "### First") == "fedcba9876543210"
    assert quoted_results.weights_of(LINES, "### Second") == "fedcba9876543210"
    for heading, message in (
        ("### No", "0 times"),
        ("## One", "no table below"),
        ("# Results", "no table below"),
    ):
        with pytest.raises(ValueError, match=message):
            table_below(PAGE, heading)
    with pytest.raises(ValueError, match="no line .* in the chapter of '### Third'"):
        quoted_results.weights_of(LINES, "### Third")


def test_another_page_gives_another_file(tmp_path, monkeypatch, capsys):
    for name in (quoted_results.PAGE, quoted_results.CARD):
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
    text = (ROOT / quoted_results.PAGE).read_text(encoding="utf-8")
    (tmp_path / quoted_results.PAGE).write_text(text, encoding="utf-8")
    card = (ROOT / quoted_results.CARD).read_text(encoding="utf-8")
    (tmp_path / quoted_results.CARD).write_text(card, encoding="utf-8")
    monkeypatch.setattr(quoted_results, "ROOT", tmp_path)
    (tmp_path / quoted_results.KEPT).write_text(quoted_results.quoted(tmp_path), encoding="utf-8")
    assert quoted_results.main(["--check"]) == 0
    (tmp_path / quoted_results.PAGE).write_text(
        text.replace("| Winogender | 720 |", "| Winogender | 721 |"), encoding="utf-8"
    )
    assert quoted_results.main(["--check"]) == 1 and "not what the page says" in capsys.readouterr().out
    assert quoted_results.main([]) == 0 and quoted_results.main(["--check"]) == 0
    (tmp_path / quoted_results.PAGE).write_text("# Nothing\n", encoding="utf-8")
    assert quoted_results.main(["--check"]) == 1
