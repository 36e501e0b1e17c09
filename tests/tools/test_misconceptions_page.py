"""Every lesson, deck and exercise, leads to its sentences in the misconception bank, and the page they lead to has them all."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest

from bertlook_course.claims import find_misconceptions as misconceptions
from bertlook_course.syllabus import MAP
from tools import misconceptions_page

ROOT = Path(__file__).resolve().parents[2]
PAGE = (ROOT / "docs" / "misconceptions.md").read_text(encoding="utf-8")
NOTEBOOKS = [
    path
    for folder in ("slides", "notebooks/solutions", "notebooks/exercises")
    for path in sorted((ROOT / folder).glob("[0-9][0-9]_*.ipynb"))
    if path.stem != MAP
]
SECTIONS = dict(re.findall(r"^## Lesson (\d\d)\n(.*?)(?=^## |\Z)", PAGE, re.MULTILINE | re.DOTALL))


def the_end_of(path: Path) -> str:
    """What is shown on the last three slides of a deck's main line, or in the last text of an exercise notebook."""
    cells = json.loads(path.read_text(encoding="utf-8"))["cells"]
    cells = [cell for cell in cells if "".join(cell["source"]).partition("(")[0] != "check.sheet"]
    beyond = [
        i for i, cell in enumerate(cells) if "".join(cell["source"]).lstrip("# ").startswith("For 90 minutes")
    ]
    cells = cells[: beyond[0]] if beyond else cells
    kinds = [cell["metadata"].get("slideshow", {}).get("slide_type", "-") for cell in cells]
    starts = [i for i, kind in enumerate(kinds) if kind in ("slide", "subslide")]
    first = starts[-3] if starts else len(cells) - 1
    shown = [cell for cell, kind in zip(cells[first:], kinds[first:]) if kind not in ("notes", "skip")]
    return "\n".join("".join(cell["source"]) for cell in shown)


@pytest.mark.parametrize("path", NOTEBOOKS, ids=lambda path: f"{path.parent.name}/{path.stem}")
def test_a_lesson_ends_with_a_link_to_its_sentences(path):
    up = "../" * (len(path.relative_to(ROOT).parts) - 1)
    assert f"({up}docs/misconceptions.md#lesson-{path.stem[:2]})" in the_end_of(path)


@pytest.mark.parametrize("entry", misconceptions(), ids=lambda entry: entry.key)
def test_every_entry_stands_where_its_lessons_lead(entry):
    home, *touched = entry.lessons
    assert re.search(rf"^### {entry.key}$", SECTIONS[home], re.MULTILINE)
    assert f"> {entry.says}" in SECTIONS[home] and entry.true in SECTIONS[home]
    for lesson in touched:
        assert f"(#{entry.key})" in SECTIONS[lesson]


def test_the_page_is_what_the_bank_gives():
    assert misconceptions_page.main(["--check"]) == 0


def test_a_page_that_is_out_of_date_is_noticed(tmp_path, monkeypatch, capsys):
    monkeypatch.setattr(misconceptions_page, "PAGE", tmp_path / "misconceptions.md")
    assert misconceptions_page.main(["--check"]) == 1 and "Run: python" in capsys.readouterr().out
    assert misconceptions_page.main([]) == 0 and misconceptions_page.main(["--check"]) == 0
