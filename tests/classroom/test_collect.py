"""What a class handed in: who counts, what is left out and said, what is never run, written or believed."""

import csv
import io
import json
import os
import time
import zipfile
from dataclasses import asdict
from itertools import combinations

import numpy as np
import pytest

from bertlook_course.checks import CHECK, Feedback, Sheet, lesson05
from bertlook_course.metrics import agree
from bertlook_course.syllabus import find_root
from bertlook_press.classroom import class_page, collect, games, gather, student_rows
from bertlook_teach.disk import csv_text
from bertlook_teach.measures import CLASSES

NAMES = list(lesson05.sheet().answers)


def sheet(right=3, mistakes=None):
    statuses = {name: "right" if i < right else "not run" for i, name in enumerate(NAMES)}
    statuses |= dict.fromkeys(mistakes or {}, "wrong")
    return Sheet("05", statuses, mistakes=mistakes or {})


def cell(source, *said):
    """A cell that was run, with what checks said in it."""
    outputs = [
        {
            "output_type": "execute_result",
            "data": {"text/plain": repr(one), **one._repr_mimebundle_()},
            "metadata": {},
            "execution_count": 1,
        }
        for one in said
    ]
    return {
        "cell_type": "code",
        "source": source,
        "outputs": outputs,
        "metadata": {},
        "execution_count": None,
        "id": "c" + str(abs(hash(source)) % 10**8),
    }


def notebook(*cells):
    return json.dumps({"cells": list(cells), "metadata": {}, "nbformat": 4, "nbformat_minor": 5})


def kappa(status, message):
    return Feedback(status, message, "05", "kappa")


FIRST = cell("from bertlook_course.checks import lesson05 as check")


def made_up(record):
    """A notebook in which somebody wrote the data of a check by hand."""
    made = cell("check.check_kappa(kappa)", kappa("right", "So."))
    made["outputs"][0]["data"][CHECK] = record
    return notebook(FIRST, made)


def test_sheets_and_saved_notebooks_are_counted_with_what_the_checks_named(tmp_path):
    (tmp_path / "ada_05.json").write_text(sheet(4, {"kappa": "that is accuracy"}).to_json())
    (tmp_path / "ben").mkdir()
    wrong = cell("check.check_kappa(kappa)", kappa("right", "So."), kappa("wrong", "that is accuracy"))
    (tmp_path / "ben" / "mine.ipynb").write_text(
        notebook(FIRST, wrong, cell("show(turned)", Feedback("right", "Yes.", "05", "turned")))
    )
    found = gather(tmp_path)
    assert found.students == ["ada", "ben"] and not found.notes
    ben = found.hand_ins["ben", "05"]
    assert (ben.kind, ben.sheet.right, ben.sheet.answers["kappa"]) == ("notebook", 1, "wrong")
    page = class_page(found)
    assert "that is accuracy (2)" in page and page.index('"row">kappa') < page.index('"row">turned')
    rows = student_rows(found)
    assert len(rows) == 2 * len(NAMES) and {r["mistake"] for r in rows} == {"", "that is accuracy"}


def test_the_shipped_notebooks_carry_what_every_check_said(tmp_path):
    for student, status in (("solutions", "right"), ("exercises", "unanswered")):
        for path in (find_root() / "notebooks" / student).glob("*.ipynb"):
            (tmp_path / student).mkdir(exist_ok=True)
            (tmp_path / student / path.name).write_bytes(path.read_bytes())
        found = gather(tmp_path / student)
        assert len(found.hand_ins) == 14 and not found.notes
        for hand_in in found.hand_ins.values():
            assert set(hand_in.sheet.answers.values()) == {status}, hand_in.source


def test_what_another_lesson_says_in_a_notebook_does_not_count_for_it(tmp_path):
    other = Feedback("wrong", "No.", "04", "kappa")
    said = cell("check.check_kappa(kappa)", kappa("right", "So."), other)
    (tmp_path / "ada.ipynb").write_text(notebook(FIRST, said))
    assert gather(tmp_path).hand_ins["ada", "05"].sheet.answers["kappa"] == "right"


def test_a_notebook_is_not_run_unasked(tmp_path):
    mark = tmp_path / "mark"
    (tmp_path / "eve.ipynb").write_text(
        notebook(FIRST, cell(f"open({str(mark)!r}, 'w'); check.check_kappa(1)", kappa("right", "So.")))
    )
    gather(tmp_path)
    assert not mark.exists()


@pytest.mark.parametrize(
    "name, content, said",
    [
        ("a.json", sheet().to_json().replace('"right": 3', '"right": 9'), "was changed after check.sheet wrote it"),
        ("a.json", "[" * 100_000, "is not JSON"),
        ("a.json", Sheet("05", {"one": "right"}).to_json(), "not those of lesson 05"),
        ("a.json", Sheet("99", {"one": "right"}).to_json(), "no lesson '99'"),
        ("a.json", Sheet("05", {"one": "great"}).to_json(), "not a sheet as check.sheet writes it"),
        ("a.ipynb", "{}", "no list of cells"),
        ("a.ipynb", "\0", "not JSON"),
        ("a.ipynb", made_up({"check": "kappa", "status": "right"}), "not those of a check"),
        ("a.ipynb", made_up(asdict(kappa("right", "So.")) | {"status": "great"}), "status must be one of"),
        ("a.ipynb", made_up(asdict(kappa("right", "So.")) | {"message": 5}), "not those of a check"),
        ("a.csv", "name,mark\nada,1\n", "not a table of the labelling game"),
        ("a.csv", "game,map,label\nabcdef,7,block\n", "map '7' is not one of 1 to 1"),
        ("a.zip", "PK", "left out"),
        ("a.txt", "my code was abc123 12345", "a.txt: left out, no code of the labelling game stands in it"),
        ("a.txt", '{"name": "ada"}', "it needs answers, check, lesson"),
        ("a.ipynb", notebook(cell("print(1)")), "not an exercise of this course, or the cell that imports its checks is gone"),
        ("a.ipynb.txt", "{}", "no list of cells"),
        ("a.txt", "abc123-00000", "its game abc123 does not count, no map has a label"),
        ("a.csv", "game,map,label\nabc123,1,\n", "its game abc123 does not count, no map has a label"),
    ],
)  # fmt: skip
def test_what_is_not_a_hand_in_is_left_out_and_said(name, content, said, tmp_path):
    (tmp_path / name).write_text(content)
    with pytest.raises(ValueError, match="nothing in .* is a hand-in") as error:
        gather(tmp_path)
    assert said in str(error.value)
    (tmp_path / "ben.json").write_text(sheet().to_json())
    found = gather(tmp_path)
    assert found.students == ["ben"] and said in " ".join(found.notes)


def test_a_file_of_another_kind_is_left_out_and_said_and_so_is_how_many_there_are(tmp_path):
    for i in range(12):
        (tmp_path / f"ada_{i:02}.html").write_text("<p>my answers</p>")
    (tmp_path / ".hidden").write_text("not said")
    with pytest.raises(ValueError, match="nothing in .* is a hand-in") as error:
        gather(tmp_path)
    lines = str(error.value).splitlines()
    assert lines[1].startswith("  ada_00.html: left out, not a file of one of these kinds: .json .ipynb")
    assert len(lines) == 11 and lines[-1] == "  ... and 3 more" and "hidden" not in str(error.value)
    with zipfile.ZipFile(tmp_path / "ben.zip", "w") as archive:
        archive.writestr("ben.json", sheet().to_json())
        archive.writestr("ben.pdf", "%PDF")
    found = gather(tmp_path)
    assert len(found.notes) == 13 and found.notes[-1].startswith("ben.zip, ben.pdf: left out")


def test_a_sheet_made_by_hand_with_the_right_digest_counts_and_the_page_says_that_this_can_be(tmp_path):
    (tmp_path / "eve.json").write_text(sheet(len(NAMES)).to_json())
    assert "is not a signature" in class_page(found := gather(tmp_path))
    assert found.hand_ins["eve", "05"].sheet.right == len(NAMES)


def test_of_two_hand_ins_of_one_name_the_newer_sheet_counts_and_this_is_said(tmp_path):
    for i, right in enumerate((5, 2)):
        path = tmp_path / "ada" / f"{i}.json"
        path.parent.mkdir(exist_ok=True)
        path.write_text(sheet(right).to_json())
        os.utime(path, (1000 + i, 1000 + i))
    (tmp_path / "ada" / "05.ipynb").write_text(
        notebook(FIRST, cell("check.check_kappa(k)", kappa("right", "So.")))
    )
    found = gather(tmp_path)
    assert found.hand_ins["ada", "05"].sheet.right == 2
    assert (
        "ada/0.json: does not count, ada has ada/1.json for lesson 05" in found.notes
        and len(found.notes) == 2
    )


@pytest.mark.parametrize(
    "first, second, student",
    [
        ("ada_05.json.txt", "ada_05.json", "ada"),
        ("bob_05.json", "bob_05 (1).json", "bob"),
        ("bob_05.json", "bob_05(2).json.txt", "bob"),
        ("bob_05.json", "bob_05 - Copy.json", "bob"),
        ("bob_05.json", "bob_05 - Copy (2).json", "bob"),
        ("bob_05.json", "bob_05_copy.json", "bob"),
        ("bob_05.json", "bob_05-Copy1.txt", "bob"),
        ("05_bob.json", "05_bob (1).json", "bob"),
        ("bob/05.json", "bob (1)/05.json", "bob"),
        ("jose\u0301_05.json", "jos\u00e9_05.json", "jos\u00e9"),
        ("jose\u0301/05.json", "jos\u00e9/05 (1).json", "jos\u00e9"),
        ("copy_05.json", "copy_05 (1).json", "copy"),
    ],
)
def test_a_second_file_is_the_same_student_and_what_does_not_count_is_named(first, second, student, tmp_path):
    for when, (name, right) in enumerate(((first, 5), (second, 2))):
        path = tmp_path / name
        path.parent.mkdir(exist_ok=True)
        path.write_text(sheet(right).to_json())
        os.utime(path, (1000 + when, 1000 + when))
    found = gather(tmp_path)
    assert found.students == [student] and found.hand_ins[student, "05"].sheet.right == 2
    assert found.notes == [f"{first}: does not count, {student} has {second} for lesson 05"]


def test_a_name_without_end_is_no_work():
    start = time.perf_counter()
    assert len(collect._student("_" * 60_000 + "x (1).json")) <= 60
    assert time.perf_counter() - start < 2


def test_a_second_zip_is_the_same_student_and_an_empty_one_is_named(tmp_path):
    for name, right in (("bob.zip", 5), ("bob (1).zip", 2)):
        with zipfile.ZipFile(tmp_path / name, "w") as archive:
            archive.writestr("05.json", sheet(right).to_json())
    zipfile.ZipFile(tmp_path / "eve.zip", "w").close()
    found = gather(tmp_path)
    assert found.students == ["bob"] and "eve.zip: left out, it holds no file" in found.notes


@pytest.mark.parametrize(
    ("names", "students"),
    [
        (
            ["handed/ada_05.json", "handed/bob.json"],
            ["ada", "bob"],
        ),  # a folder of the class, as a file manager packs it
        (["handed/ada/05.json", "handed/bob/05.json", "__MACOSX/handed/x.json"], ["ada", "bob"]),
        (["ada/05.json", "bob/05.json"], ["ada", "bob"]),
        (["ada/05.json"], ["ada"]),
        (["ada/05_what_each_layer_knows.ipynb", "ada/lesson06.json"], ["ada"]),
        (["ada_05.json", "bob.json"], ["ada", "bob"]),
        (["05.json", "06.json"], ["handed"]),
    ],
)
def test_a_zip_of_a_class_may_hold_its_folder(tmp_path, names, students):
    with zipfile.ZipFile(tmp_path / "handed.zip", "w") as archive:
        for name in names:
            archive.writestr(name, sheet().to_json() if name.endswith("json") else notebook())
    assert gather(tmp_path / "handed.zip").students == students


def test_notebooks_and_tables_are_known_under_the_names_and_letters_they_are_saved_with(tmp_path):
    (tmp_path / "ada_05.ipynb.txt").write_text(
        notebook(FIRST, cell("check.check_kappa(k)", kappa("right", "So.")))
    )
    table = "game,map,label\nabc123,1,block\n"
    (tmp_path / "ben.csv").write_bytes(table.encode("utf-16"))
    (tmp_path / "cid.txt").write_bytes("abc123-10".encode("utf-16"))
    (tmp_path / "cid (1).txt").write_text("abc123-22")
    found = gather(tmp_path)
    assert ("ada", "05") in found.hand_ins and {"ben", "cid"} == {student for student, _ in found.labels}
    assert found.notes == ["cid.txt: its game abc123 does not count, cid has one in cid (1).txt"]


def test_a_zip_is_read_and_never_unpacked_whatever_its_names_say(tmp_path):
    path = tmp_path / "in" / "class.zip"
    path.parent.mkdir()
    with zipfile.ZipFile(path, "w") as archive:
        archive.writestr("../../evil/x.json", sheet().to_json())
        archive.writestr("/rooted/y.json", sheet(2).to_json())
        archive.writestr("C:\\win\\..\\z.json", sheet(1).to_json())
    found = gather(path)
    assert found.students == ["C:", "evil", "rooted"]
    assert sorted(p.name for p in tmp_path.rglob("*")) == ["class.zip", "in"]
    assert gather(path.parent).students == found.students


def test_a_file_too_large_or_a_link_is_left_out(tmp_path, monkeypatch):
    monkeypatch.setattr(collect, "MOST_BYTES", 2000)
    (tmp_path / "ada.json").write_text(sheet().to_json())
    (tmp_path / "ben.json").write_text(" " * 3000)
    with zipfile.ZipFile(tmp_path / "bomb.zip", "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr("x.json", " " * 10_000_000)
    (tmp_path / "eve.json").symlink_to(tmp_path / "ada.json")
    found = gather(tmp_path)
    assert found.students == ["ada"] and len(found.notes) == 3
    assert sum("larger than" in note for note in found.notes) == 2


def test_nothing_from_a_file_becomes_markup_or_a_formula(tmp_path):
    evil = "<img src=x onerror=alert(1)>"
    (tmp_path / f"=1+1{evil[:20]}.json").write_text(
        sheet(2, {"kappa": evil, "block": "=cmd|' /C calc'!A0"}).to_json()
    )
    (tmp_path / "<b>.json").write_text("{")
    page = class_page(found := gather(tmp_path))
    assert "<img" not in page and "<b>" not in page and "&lt;img" in page
    assert "default-src 'none'" in page
    table = list(csv.reader(io.StringIO(csv_text(student_rows(found)))))
    assert any("cmd" in cell for row in table for cell in row)
    assert not any(cell.startswith("=") for row in table for cell in row)


def test_the_game_is_gathered_from_codes_and_tables(tmp_path):
    (tmp_path / "ada.txt").write_text("my code: abc123-12345\nand an earlier one abc123-12000")
    (tmp_path / "ben.txt").write_text("abc123-12300")
    table = io.StringIO()
    writer = csv.writer(table)
    writer.writerow(["game", "map", "text", "head", "label", "rule"])
    kinds = list(CLASSES)
    for i, (label, rule) in enumerate(zip(["vertical", "block", "block", "", ""], kinds), 1):
        writer.writerow(["abc123", i, 0, "1-1", label, rule])
    (tmp_path / "eve.csv").write_text(table.getvalue())
    found = gather(tmp_path)
    (game,) = games(found)
    assert (game.name, game.students, len(game.kappas)) == ("abc123", 3, 3)
    assert game.with_rule == [1.0, 1.0, pytest.approx(1 / 3)]
    assert [i for i, *_ in game.split[:2]] == [2, 3] and game.split[0][2] == "diagonal"
    assert "Maps on which the class is most divided" in class_page(found)


def test_the_kappas_of_a_class_are_those_of_each_two_students():
    draw = np.random.default_rng(0)
    found = collect.Gathered()
    for student in "abcdef":
        digits = draw.integers(0, 6, 12) if student != "f" else np.full(12, 2)
        found.labels[student, "abc123"] = collect.Labels(student, "abc123", bytes(digits.tolist()), (), "")
    found.labels["g", "abc123"] = collect.Labels(
        "g", "abc123", bytes([2] * 12), (), ""
    )  # with f: not defined
    (game,) = games(found)
    expected = []
    for one, other in combinations(found.labels.values(), 2):
        both = [(CLASSES[a - 1], CLASSES[b - 1]) for a, b in zip(one.digits, other.digits) if a and b]
        expected.append(agree(*zip(*both), CLASSES, replicates=1).kappa)
    assert None in expected
    assert game.kappas.tolist() == pytest.approx([kappa for kappa in expected if kappa is not None])
