"""A deck is found by number or path."""

from pathlib import Path

import pytest

from bertlook_teach.course import find_deck

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
