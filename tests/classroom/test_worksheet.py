"""One page of paper for each lesson: what it asks, what it keeps to itself, and its key."""

from __future__ import annotations

import json
import re
from html import unescape

import pytest

from bertlook_bench import line
from bertlook_course.render import TABLE
from bertlook_course.syllabus import LESSONS, QUESTIONS, find_deck, find_root, lesson
from bertlook_press.classroom import ExportError, render_exam, render_worksheet, worksheet_parts

ROOT = find_root()
NUMBERS = [one.number for one in LESSONS]


def words(page: str) -> str:
    return " ".join(unescape(re.sub(r"<style.*?</style>|<[^>]+>", " ", page, flags=re.DOTALL)).split())


@pytest.mark.parametrize("number", NUMBERS)
def test_the_sheet_asks_and_the_key_answers(number):
    parts, asked = worksheet_parts(ROOT / find_deck(ROOT, number)), QUESTIONS[number]
    sheet, key = render_worksheet(ROOT, number), render_worksheet(ROOT, number, key=True)
    claim = parts.claims[0]
    for page in (sheet, key):
        assert (
            lesson(number).question in words(page)
            and asked.true in words(page)
            and claim["claim"] in words(page)
        )
        assert "<script" not in page and "http" not in re.sub(r'xmlns(:\w+)?="[^"]*"', "", page).replace(
            "http-equiv", ""
        )
        assert page.count("<section>") == 4 and re.search(r"<svg|<img", page)
    for answer in (asked.because, claim["verdict"], parts.sentence):
        assert words(answer) in words(key)
    assert (
        asked.because not in words(sheet) and claim["verdict"] not in words(sheet).partition("4 · A claim")[2]
    )
    assert "☒" not in sheet and key.count("☒") == 2 and words(parts.answer)[:40] in words(key)


@pytest.mark.parametrize("number", NUMBERS)
def test_an_examination_has_three_worked_questions(number):
    page = render_exam(ROOT, number)
    assert page.count("<section>") == page.count("class='key'") == 3
    assert QUESTIONS[number].calculate in words(page) and QUESTIONS[number].answer in words(page)


def test_a_deck_without_the_marks_says_what_it_needs(tmp_path):
    notebook = json.loads((ROOT / find_deck(ROOT, "06")).read_text(encoding="utf-8"))
    for cell in notebook["cells"]:
        cell["metadata"].pop("tags", None)
    (tmp_path / "06_bare.ipynb").write_text(json.dumps(notebook), encoding="utf-8")
    with pytest.raises(
        ExportError, match="06_bare.ipynb gives no worksheet: it needs a slide and a picture with the tag"
    ):
        worksheet_parts(tmp_path / "06_bare.ipynb")


def test_question_and_claims_are_taken_from_the_tables_that_outputs_carry(tmp_path):
    """What stands in the markup beside them may be anything."""
    notebook = json.loads((ROOT / find_deck(ROOT, "06")).read_text(encoding="utf-8"))
    for cell in notebook["cells"]:
        for output in cell.get("outputs", ()):
            if (data := output.get("data", {})).get(TABLE):
                data["text/html"] = ["<p>another markup</p>"]
    (tmp_path / "06_other.ipynb").write_text(json.dumps(notebook), encoding="utf-8")
    parts, usual = (
        worksheet_parts(deck) for deck in (tmp_path / "06_other.ipynb", ROOT / find_deck(ROOT, "06"))
    )
    assert parts.claims == usual.claims and "another markup" not in parts.question
    assert "<b>A</b> under 30 %" in parts.question and set(parts.claims[0]) > {"claim", "needs", "verdict"}


def test_the_command_writes_what_was_asked_for(tmp_path, capsys):
    assert line.main(["worksheet", "06", "--key", "--exam", "--out", str(tmp_path)]) == 0
    names = {f"06_heads_that_know_syntax_{what}.html" for what in ("worksheet", "key", "exam")}
    assert {path.name for path in tmp_path.iterdir()} == names
    assert line.main(["worksheet", "15", "--out", str(tmp_path)]) == 1
    assert "lessons 1 to 14; got '15'" in capsys.readouterr().err
