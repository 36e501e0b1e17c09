"""A deck is found by number or path."""

import os
from pathlib import Path

import pytest

from bertlook_course.syllabus import decks, find_deck, find_root

ROOT = Path(__file__).resolve().parents[2]


@pytest.fixture
def course(tmp_path):
    (tmp_path / "slides").mkdir()
    for name in (
        "guest_lecture.ipynb",
        "03_where.ipynb",
        "01_what.ipynb",
        "11_which.ipynb",
        "draft.ipynb",
        "rise.css",
    ):
        (tmp_path / "slides" / name).touch()
    return tmp_path


@pytest.mark.parametrize(
    ("which", "name"),
    [
        (None, "01_what"),
        ("1", "01_what"),
        ("01", "01_what"),
        ("3", "03_where"),
        ("11", "11_which"),
        ("slides/draft.ipynb", "draft"),
        ("guest", "guest_lecture"),
        ("11_which", "11_which"),
        ("03_where.ipynb", "03_where"),
    ],
)
def test_a_deck_is_found_by_number_or_path(course, which, name):
    assert find_deck(course, which) == Path("slides", f"{name}.ipynb")


@pytest.mark.parametrize("which", ["2", "what", "0", "slides/02.ipynb", "../elsewhere.ipynb", "-1"])
def test_a_deck_that_is_not_there_is_answered_with_those_that_are(course, which):
    (course.parent / "elsewhere.ipynb").touch()
    with pytest.raises(ValueError, match=r"Decks there: 01_what\.ipynb, 03_where\.ipynb, 11_which\.ipynb"):
        find_deck(course, which)


def test_no_decks_at_all_is_said(tmp_path):
    with pytest.raises(ValueError, match="Decks there: none"):
        find_deck(tmp_path)


@pytest.fixture
def kept(tmp_path, monkeypatch):
    """The copy beside the kept results, as outside a checkout."""
    monkeypatch.setattr(decks, "course_folder", lambda: tmp_path / "nowhere")
    monkeypatch.setenv("BERTLOOK_CACHE", str(tmp_path / "kept"))
    return tmp_path / "kept"


def test_outside_a_checkout_the_decks_are_a_copy_of_ones_own(kept):
    assert find_root() == kept / "course" and find_deck(find_root(), "03").name.startswith("03_")


@pytest.mark.skipif(not hasattr(os, "getuid"), reason="who may write is asked otherwise on Windows")
@pytest.mark.parametrize("name", [".", "course", "course/slides", "course/slides/01_what_bert_reads.ipynb"])
def test_a_copy_that_others_can_write_to_is_not_opened(kept, name, monkeypatch):
    """A deck's cells run when it opens: one that somebody else has put there would be their program."""
    find_root()
    usual = (kept / name).stat().st_mode
    (kept / name).chmod(0o777)
    with pytest.raises(OSError, match="everybody can write to it.*BERTLOOK_CACHE"):
        find_root()
    (kept / name).chmod(usual)
    find_root()
    mine = os.getuid()
    monkeypatch.setattr(os, "getuid", lambda: mine + 1)
    with pytest.raises(OSError, match="belongs to somebody else"):
        find_root()


@pytest.mark.skipif(not hasattr(os, "getuid"), reason="who may write is asked otherwise on Windows")
def test_where_nothing_is_kept_the_copy_lies_in_a_folder_that_nobody_could_have_made_for_us(
    kept, tmp_path, monkeypatch
):
    monkeypatch.setenv("BERTLOOK_CACHE", "off")
    monkeypatch.setattr(decks.tempfile, "gettempdir", lambda: str(tmp_path))
    assert find_root() == tmp_path / f"bertlook-{os.getuid()}" / "course"
    (tmp_path / f"bertlook-{os.getuid()}").chmod(0o777)
    with pytest.raises(OSError, match="BERTLOOK_CACHE"):
        find_root()
