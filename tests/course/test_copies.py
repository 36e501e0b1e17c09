"""A copy of the course for changing, and a newer edition that comes into it."""

import json
import os

import pytest

from bertlook_bench import line
from bertlook_course.syllabus import bibliography, copy_course, decks
from bertlook_course.syllabus.copies import MANIFEST


@pytest.fixture
def source(tmp_path):
    """An edition of the course: two decks, a style and an exercise, with files beside them that are nobody's."""
    root = tmp_path / "installed"
    names = ["slides/01_a.ipynb", "slides/02_b.ipynb", "slides/theme/x.css", "notebooks/exercises/01_a.ipynb"]
    for name in [
        *names,
        "slides/.ipynb_checkpoints/01_a.ipynb",
        "slides/notes.txt",
        "notebooks/solutions/01_a.ipynb",
    ]:
        (root / name).parent.mkdir(parents=True, exist_ok=True)
        (root / name).write_text(f"{name}, first edition")
    return root


def text(folder, name):
    return (folder / name).read_text()


def test_decks_style_and_exercises_are_copied_and_nothing_else(source, tmp_path):
    done = copy_course(tmp_path / "mine", source=source)
    found = {
        p.relative_to(tmp_path / "mine").as_posix() for p in (tmp_path / "mine").rglob("*") if p.is_file()
    }
    assert found == set(done.written) | {MANIFEST} and len(done.written) == 4
    assert not [name for name in found if "solutions" in name or "checkpoints" in name]


def test_a_folder_with_files_is_refused(source, tmp_path):
    mine = tmp_path / "mine"
    mine.mkdir()
    (mine / "thesis.txt").write_text("mine")
    with pytest.raises(FileExistsError, match="--update"):
        copy_course(mine, source=source)
    with pytest.raises(FileNotFoundError, match="not made by bertlook course"):
        copy_course(mine, update=True, source=source)
    assert [path.name for path in mine.iterdir()] == ["thesis.txt"]


def test_a_newer_edition_replaces_what_is_untouched_and_loses_no_change(source, tmp_path):
    mine = tmp_path / "mine"
    copy_course(mine, source=source)
    (mine / "slides/01_a.ipynb").write_text("my deck")  # changed by me and by the new edition
    (mine / "slides/theme/x.css").write_text("my style")  # changed by me alone
    (source / "slides/01_a.ipynb").write_text("second edition")
    (source / "slides/02_b.ipynb").write_text("second edition")
    (mine / "my_own.ipynb").write_text("mine")
    done = copy_course(mine, update=True, source=source)
    assert done.written == ["slides/02_b.ipynb"] and text(mine, "slides/02_b.ipynb") == "second edition"
    assert (
        done.kept == ["slides/01_a.ipynb", "slides/theme/x.css"]
        and text(mine, "slides/01_a.ipynb") == "my deck"
    )
    assert done.beside == ["slides/new_01_a.ipynb"] and text(mine, done.beside[0]) == "second edition"
    assert text(mine, "slides/theme/x.css") == "my style" and text(mine, "my_own.ipynb") == "mine"
    assert copy_course(mine, update=True, source=source).beside == []  # said once
    (mine / "slides/new_01_a.ipynb").write_text("half merged")
    (source / "slides/01_a.ipynb").write_text("third edition")
    assert copy_course(mine, update=True, source=source).beside == ["slides/new2_01_a.ipynb"]
    assert text(mine, "slides/new_01_a.ipynb") == "half merged"


def test_with_a_damaged_manifest_nothing_is_overwritten(source, tmp_path):
    mine = tmp_path / "mine"
    copy_course(mine, source=source)
    (mine / MANIFEST).write_text("{")
    (mine / "slides/01_a.ipynb").write_text("my deck")
    assert copy_course(mine, update=True, source=source).kept == ["slides/01_a.ipynb"]
    assert len(json.loads(text(mine, MANIFEST))["files"]) == 4


def test_outside_a_checkout_there_is_a_copy_that_can_be_written(source, tmp_path, monkeypatch):
    monkeypatch.setattr(decks, "course_folder", lambda: tmp_path)
    monkeypatch.setattr(decks, "store_folder", lambda: tmp_path / "kept")
    monkeypatch.setattr("bertlook_course.syllabus.copies.shipped_course", lambda: source)
    root = decks.find_root()
    assert root == tmp_path / "kept" / "course" and decks.find_deck(root, "2").name == "02_b.ipynb"
    (root / "slides/02_b.ipynb").write_text("what Jupyter saved")
    assert decks.find_root() == root and text(root, "slides/02_b.ipynb") == "what Jupyter saved"
    (tmp_path / "slides").mkdir()
    assert decks.find_root() == tmp_path  # a copy of one's own, in the current folder


@pytest.mark.parametrize("inside", [".", "slides", "notebooks/exercises"])
def test_a_copy_is_the_course_that_opens_in_it_though_there_is_a_checkout(
    source, tmp_path, monkeypatch, inside
):
    mine = tmp_path / "mine"
    copy_course(mine, source=source)
    assert decks.find_root() != mine  # the checkout
    monkeypatch.chdir(mine / inside)
    assert decks.find_root() == mine
    assert bibliography.papers_folder() == mine / "papers"
    if inside != "." and os.name != "nt":
        mine.chmod(0o777)
        assert decks.find_root() != mine, "what others can write is not run because it lies around the folder"


def test_the_command_says_what_to_do_next(tmp_path, capsys):
    assert line.main(["course", str(tmp_path / "mine")]) == 0
    said = capsys.readouterr().out
    assert "bertlook present 03" in said and "--update" in said
    assert (tmp_path / "mine/slides/03_where_heads_look.ipynb").is_file()
    assert line.main(["course", str(tmp_path / "mine")]) == 1
    assert "holds files already" in capsys.readouterr().err
