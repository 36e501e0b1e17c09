"""The sheet at the end of an exercise: what it counts, what it writes, what it refuses."""

import importlib
import inspect
import json
import re
from pathlib import Path

import pytest
from IPython.core.formatters import DisplayFormatter

from bertlook_course import checks
from bertlook_course.checks.sheet import keep_sheet

ROOT = Path(__file__).resolve().parents[2]
LESSONS = [f"{number:02d}" for number in range(1, 15)]


ANSWERS = {"right": "yes", "wrong": "no", "unanswered": ...}


def lesson(**statuses):
    """A lesson whose checks have been answered so that they say what their arguments say."""
    one = checks.ChoiceCheck("yes", wrong={"why": "no"}, learnt="One.", asks="What is one.")
    names = {"__name__": "course.lesson03"} | {f"check_{name}": one for name in statuses}
    sheet = keep_sheet(names)
    for name, status in statuses.items():
        if status != "not run":
            names[f"check_{name}"](ANSWERS[status])
    return names, sheet


def test_a_check_that_is_noted_says_what_it_asks_for_and_takes_the_same_arguments():
    names, _ = lesson(one="right")
    noted = names["check_one"]
    assert (noted.__name__, noted.__module__, noted.__doc__) == (
        "check_one",
        "course.lesson03",
        "What is one.",
    )
    assert str(inspect.signature(noted)) == "(answer) -> 'Feedback'"


def test_what_a_check_says_is_shown_with_its_record_beside_it():
    names, _ = lesson(one="not run")
    data, _ = DisplayFormatter().format(names["check_one"]("no"))
    assert data["text/plain"] == "Not right yet. Your choice is `no`: why." and "text/html" in data
    record = {"lesson": "03", "check": "one", "status": "wrong", "message": "Your choice is `no`: why."}
    assert data[checks.CHECK] == record
    assert checks.CHECK not in DisplayFormatter().format(checks.Feedback("right", "So."))[0]


def test_the_sheet_counts_the_last_answer_of_each_check():
    names, sheet = lesson(one="right", two_words="wrong", three="unanswered", four="not run")
    said = repr(sheet())
    assert said.splitlines() == [
        "1 of 4 right in lesson 03.",
        "  two words: not right yet",
        "  three: not answered yet",
        "  four: not run",
    ]
    names["check_two_words"]("yes")
    assert sheet().right == 2 and "two words" not in repr(sheet()) and not sheet().mistakes
    assert "<strong>2 of 4 right in lesson 03.</strong>" in sheet()._repr_html_()


def test_what_was_saved_is_read_back_and_nothing_is_written_unasked(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    _, sheet = lesson(one="right", two="wrong")
    sheet()
    assert not list(tmp_path.iterdir())
    assert "Saved as ada.json: hand in this file." in repr(sheet(save="ada.json"))
    read = checks.sheet_from((tmp_path / "ada.json").read_bytes(), "ada.json")
    assert checks.sheet_from(b"\xef\xbb\xbf" + (tmp_path / "ada.json").read_bytes(), "ada.json") == read
    assert (read.lesson, read.right, read.answers) == ("03", 1, {"one": "right", "two": "wrong"})
    assert read.mistakes == {"two": "Your choice is `no`: why."}
    assert str(tmp_path) not in (tmp_path / "ada.json").read_text()


@pytest.mark.parametrize("name", ["ada", "nowhere/ada.json", "\0.json"])
def test_a_name_that_cannot_be_written_is_said_and_nothing_raised(name, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    _, sheet = lesson(one="right")
    assert "Not saved:" in repr(sheet(save=name)) and "1 of 1 right" in repr(sheet(save=name))
    assert not list(tmp_path.iterdir())


def test_a_sheet_that_was_edited_is_refused(tmp_path):
    _, sheet = lesson(one="wrong")
    sheet(save=tmp_path / "ada.json")
    path = tmp_path / "ada.json"
    held = json.loads(path.read_text())
    path.write_text(json.dumps(held | {"right": 1, "answers": {"one": "right"}}))
    with pytest.raises(
        ValueError, match=r"ada.json was changed after check.sheet wrote it. Ask for a new one"
    ):
        checks.sheet_from(path.read_bytes(), path.name)
    path.write_text("[]")
    with pytest.raises(ValueError, match="is not a sheet: it needs answers, check"):
        checks.sheet_from(path.read_bytes(), path.name)
    path.write_text("{")
    with pytest.raises(ValueError, match="is not JSON"):
        checks.sheet_from(path.read_bytes(), path.name)


@pytest.mark.parametrize("number", LESSONS)
def test_every_lesson_keeps_its_own_checks(number):
    module = importlib.import_module(f"bertlook_course.checks.lesson{number}")
    own = {
        name[len("check_") :]
        for name, thing in vars(module).items()
        if name.startswith("check_") and thing.__module__ == module.__name__
    }
    assert set(module.sheet().answers) == own and len(own) >= 8


@pytest.mark.parametrize("number", LESSONS)
def test_the_sheet_lists_the_checks_in_the_order_in_which_the_notebook_asks(number):
    module = importlib.import_module(f"bertlook_course.checks.lesson{number}")
    [path] = (ROOT / "notebooks" / "solutions").glob(f"{number}_*.ipynb")
    cells = json.loads(path.read_text(encoding="utf-8"))["cells"]
    code = "\n".join("".join(cell["source"]) for cell in cells if cell["cell_type"] == "code")
    asked = list(dict.fromkeys(re.findall(r"\bcheck\.check_(\w+)\(", code)))
    assert len(asked) >= 8 and list(module.sheet().answers) == asked
