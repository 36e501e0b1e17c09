"""The deliberate breaks in the table of docs/reliability.md fit today's sources and tests."""

from __future__ import annotations

from pathlib import Path

from tools import mutations as tool

ROOT = Path(__file__).resolve().parents[2]


def test_what_each_break_replaces_stands_in_its_file_once():
    found = tool.breaks()
    assert len(found) == 40 and tool.lost(found) == []
    assert all((ROOT / one.folder).exists() for one in found)


def test_a_break_that_fits_no_more_is_named():
    test = "tests/measures/test_surface.py::test_x"
    found = tool.lost(
        [
            tool.Break("bertlook_teach/measures/surface.py", "no such line", "", test),
            tool.Break("bertlook_course/metrics/metrics.py", "def ", "", test),
        ]
    )
    assert found[0].startswith("break 1: bertlook_teach/measures/surface.py holds 'no such line' 0 times")
    assert found[1].startswith("break 2: bertlook_course/metrics/metrics.py holds 'def ' ")
