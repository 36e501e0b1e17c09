"""A deck is walked through again when it, a script or a style has changed, and not otherwise."""

from __future__ import annotations

import pytest

from . import walks


@pytest.fixture
def repository(tmp_path, monkeypatch):
    monkeypatch.setattr(walks, "ROOT", tmp_path)
    monkeypatch.setattr(walks, "FOLDER", tmp_path / "walks")
    for name in ("slides/01_one.ipynb", "slides/02_two.ipynb", "slides/rise.css", "slides/theme/page.css"):
        write(tmp_path / name)
    for name in ("bertlook_teach/views/map.js", "bertlook_teach/views/map.py"):
        write(tmp_path / name)
    return tmp_path


def write(path, text="as it was"):
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text, encoding="utf-8")


def test_what_was_walked_is_known_until_something_that_is_seen_changes(repository):
    deck, other = "slides/01_one.ipynb", "slides/02_two.ipynb"
    assert not walks.is_known(deck)
    walks.keep(deck)
    assert walks.is_known(deck) and not walks.is_known(other)
    write(repository / "bertlook_teach/views/map.py", "a comment")  # what it draws stands in the deck
    write(repository / other, "another slide")
    assert walks.is_known(deck)
    for seen in (deck, "slides/rise.css", "slides/theme/page.css", "bertlook_teach/views/map.js"):
        write(repository / seen, "changed")
        assert not walks.is_known(deck), seen
        walks.keep(deck)
    write(repository / "bertlook_teach/views/new.css")
    assert not walks.is_known(deck)
