"""The one grid of all heat maps: rows go down, columns go right, whichever way its cells are drawn."""

import re

from bertlook_teach.views.drawing.grid import Cell, Grid

GRID = Grid(100, 50, 2, 3, 10, 20, 16)  # two rows of three


def test_rows_go_down_and_columns_right():
    assert GRID.middle(0, 0) == (105, 60) and GRID.middle(1, 2) == (125, 80)
    assert (GRID.right, GRID.bottom) == (130, 90)


def test_a_dark_cell_stands_in_its_row_and_column_and_equal_neighbours_are_one_piece():
    pale, dark = GRID.shaded([[0, 0, 8], [0, 0, 0]], lambda step: f"#{step:06d}")
    assert 'fill="#000008"' in dark and re.findall(r'd="([^"]+)"', dark) == ["M120 50h10v20h-10z"]
    assert re.findall(r'd="([^"]+)"', pale) == ["M100 50h20v20h-20zM100 70h30v20h-30z"]


def test_boxes_are_asked_row_by_row_and_say_what_they_are():
    drawn = GRID.cells(lambda row, column: Cell("#ffffff", f"{row}, {column} <b>", str(3 * row + column)))
    assert [re.search("<title>(.*?)</title>", one)[1] for one in drawn][::5] == [
        "0, 0 &lt;b&gt;",
        "1, 2 &lt;b&gt;",
    ]
    box, word = (
        re.search(r'<rect x="(\d+)" y="(\d+)"', drawn[5]),
        re.search(r'<text x="(\d+)" y="(\d+)"', drawn[5]),
    )
    assert box.groups() == ("121", "71") and word.groups() == ("125", "80")


def test_a_chosen_row_is_framed_where_it_is():
    assert 'x="100" y="70" width="30" height="20"' in GRID.framed_row(1, 2)
    assert 'x="120" y="50" width="10" height="20"' in GRID.framed(0, 2)


def test_names_stand_beside_their_rows_and_over_their_columns():
    places = re.findall(
        r'<text x="([\d.]+)" y="([\d.]+)"[^>]*>(\w+)<',
        "".join(GRID.numbered("xyz") + GRID.cells(lambda *_: Cell("#fff"), "ab")),
    )
    assert places == [
        ("105", "37.2", "x"), ("115", "37.2", "y"), ("125", "37.2", "z"), ("92", "60", "a"), ("92", "80", "b"),
    ]  # fmt: skip
