"""What SECURITY.md and two pages of docs promise, a test holds: each promise names one, and each that is named is there."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[1]
PAGES = ("SECURITY.md", "docs/reliability.md", "docs/corpora.md")
TEST = re.compile(r"`(tests/[\w/]+\.py)::(\w+)`")


def lost(text: str) -> list[str]:
    """The tests that a text names and that are not there."""
    return [
        f"{file}::{name}"
        for file, name in TEST.findall(text)
        if not (ROOT / file).is_file() or f"def {name}(" not in (ROOT / file).read_text(encoding="utf-8")
    ]


@pytest.mark.parametrize("page", PAGES)
def test_every_test_that_a_page_names_is_there(page):
    text = (ROOT / page).read_text(encoding="utf-8")
    assert len(TEST.findall(text)) >= 10
    assert lost(text) == []


def test_a_test_that_is_not_there_is_found():
    assert lost("`tests/test_promises.py::test_nothing` `tests/test_no.py::test_x`") == [
        "tests/test_promises.py::test_nothing",
        "tests/test_no.py::test_x",
    ]


def test_every_row_of_the_catalogue_names_its_test():
    rows = [
        line
        for line in (ROOT / "docs/reliability.md").read_text(encoding="utf-8").splitlines()
        if line.startswith("| ") and "| test |" not in line
    ]
    assert len(rows) >= 40
    assert [row for row in rows if not TEST.search(row)] == []


def test_every_promise_about_security_names_its_test():
    text = (ROOT / "SECURITY.md").read_text(encoding="utf-8").partition("## Not promised")[0]
    promises = re.findall(r"^- .*(?:\n(?!- |#|\n).*)*", text, re.MULTILINE)
    assert len(promises) >= 20
    assert [promise for promise in promises if not TEST.search(promise)] == []


def strangers(name: str, text: str) -> list[str]:
    """Scripts that a text names by folder and file, and that are not there: `views/js/core.js`, for one, is there."""
    named = re.findall(r"`(?:\.\./)*([\w/]*\w/\w+\.(?:py|js|css))`", text)
    return [f"{name} names {path}" for path in named if not any(one.endswith(f"/{path}") for one in SCRIPTS)]


SCRIPTS = {
    f"/{path.relative_to(ROOT).as_posix()}"
    for folder in (
        *ROOT.glob("bertlook_*"),
        *(ROOT / name for name in ("tests", "tools", "training", "slides")),
    )
    for path in folder.rglob("*.*")
}


def test_every_script_that_a_comment_or_a_page_names_is_there():
    """A file that has moved is looked for in vain by who reads of it."""
    paths = [*ROOT.glob("bertlook_*/**/*.py"), *ROOT.glob("bertlook_*/**/*.md"), ROOT / "CONTRIBUTING.md"]
    paths += [ROOT / "README.md", ROOT / "docs/architecture.md", *ROOT.glob("tools/*.py")]
    texts = {path.relative_to(ROOT).as_posix(): path.read_text(encoding="utf-8") for path in paths}
    said = re.compile("lessonNN|NAME")  # a pattern of names, not a name
    found = [one for name, text in texts.items() for one in strangers(name, text) if not said.search(one)]
    assert found == []
    assert strangers("a page", "`views/js/core.js` and `widgets/view_core.js`") == [
        "a page names widgets/view_core.js"
    ]
