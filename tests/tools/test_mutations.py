"""The deliberate breaks of tools/mutations.py fit today's sources, and the table in docs shows these and no others."""

from __future__ import annotations

from pathlib import Path

from tools import mutations as tool

ROOT = Path(__file__).resolve().parents[2]


def test_what_each_break_replaces_stands_in_its_file_once():
    assert tool.lost() == []
    assert [(ROOT / "tests" / folder).exists() for *_, folder in tool.BREAKS] == [True] * 40


def test_a_break_that_fits_no_more_is_named():
    found = tool.lost(
        [
            ("bertlook_teach/measures/surface.py", "no such line", "", "measures"),
            ("bertlook_course/metrics/metrics.py", "def ", "", "stats"),
        ]
    )
    assert found[0].startswith("break 1: bertlook_teach/measures/surface.py holds 'no such line' 0 times")
    assert found[1].startswith("break 2: bertlook_course/metrics/metrics.py holds 'def ' ")


def test_the_table_in_docs_shows_these_breaks():
    lines = (
        (ROOT / "docs/reliability.md")
        .read_text(encoding="utf-8")
        .partition("## Forty breaks")[2]
        .splitlines()
    )
    rows = [line for line in lines if line[:3].strip("| ").isdigit()]
    assert len(rows) == len(tool.BREAKS)
    for number, line in enumerate(rows, 1):
        assert line.startswith(tool.row(number)), (line, tool.row(number))
