"""``bertlook collect``: one page and one table, and what it refuses."""

import pytest
from made import read_rows

from bertlook_bench.line import main
from bertlook_course.checks import Sheet, lesson05


@pytest.fixture
def handed_in(tmp_path):
    folder = tmp_path / "in"
    folder.mkdir()
    answers = dict.fromkeys(lesson05.sheet().answers, "right")
    (folder / "ada.json").write_text(Sheet("05", answers).to_json())
    (folder / "ben.json").write_text("{")
    return folder


def test_page_and_table_are_written_and_what_was_left_out_is_said(handed_in, tmp_path, capsys):
    assert main(["collect", str(handed_in), "--out", str(tmp_path / "out")]) == 0
    said = capsys.readouterr().out
    assert said.startswith("1 students, 1 hand-ins, 0 games.") and "ben.json: left out" in said
    rows = read_rows(tmp_path / "out" / "class.csv")
    assert {(row["student"], row["status"]) for row in rows} == {("ada", "right")}
    n = len(lesson05.sheet().answers)
    assert f"{n} of {n} (sheet)" in (tmp_path / "out" / "class.html").read_text(encoding="utf-8")


@pytest.mark.parametrize(
    "arguments, said",
    [
        (["nowhere"], "there is no folder nowhere"),
        (["."], "nothing in . is a hand-in"),
    ],
)
def test_what_cannot_be_gathered_is_refused(arguments, said, tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    assert main(["collect", *arguments]) == 1
    assert said in capsys.readouterr().err
    assert not list(tmp_path.iterdir())


def test_names_of_files_are_shown_and_not_obeyed(handed_in, tmp_path, capsys):
    (handed_in / "eve\x1b[2J\n0 students\u202e.pdf").write_text("x")
    (handed_in / "\x1b]0;x\x07.json").write_text("{")
    assert main(["collect", str(handed_in), "--out", str(tmp_path / "out")]) == 0
    said = capsys.readouterr().out
    assert r"eve\x1b[2J\n0 students\u202e.pdf: left out" in said and r"\x1b]0;x\x07.json" in said
    (handed_in / "ada.json").unlink()
    assert main(["collect", str(handed_in), "--out", str(tmp_path / "out")]) == 1
    error = capsys.readouterr().err
    assert "\x1b" not in said + error and "\n0 students" not in said + error
