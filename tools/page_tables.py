"""The tables of a page in Markdown, as columns and rows: what the scripts read that copy, replace or put into words what a page says."""

from __future__ import annotations

import re
from itertools import groupby
from typing import NamedTuple

_FEWEST = 3  # lines of a table: columns, rule and a row


class PageTable(NamedTuple):
    """A table, and where it stands.

    Attributes
    ----------
    first, last : int
        Its first line, counted from 0, and the line after its last.
    columns : list of str
    rows : list of list of str
        Cells without marks of bold type and code.
    """

    first: int
    last: int
    columns: list[str]
    rows: list[list[str]]


def tables_of(page: str) -> list[PageTable]:
    """Every table of a page, from top to bottom.

    >>> tables_of("# a\\n\\n| b | **c** |\\n|---|---|\\n| `1` | 2 |")
    [PageTable(first=2, last=5, columns=['b', 'c'], rows=[['1', '2']])]
    """
    found = []
    for is_table, group in groupby(enumerate(page.split("\n")), lambda line: line[1].startswith("|")):
        numbers, lines = zip(*group)
        if is_table and len(lines) >= _FEWEST:
            columns, _, *rows = map(_cells, lines)
            found.append(PageTable(numbers[0], numbers[-1] + 1, columns, rows))
    return found


def table_below(page: str, heading: str) -> PageTable:
    """The first table below a heading, before the next one; ValueError if it is not there."""
    lines = page.split("\n")
    if lines.count(heading) != 1:
        raise ValueError(f"the heading {heading!r} is there {lines.count(heading)} times, not once")
    start = lines.index(heading)
    found = next((table for table in tables_of(page) if table.first > start), None)
    if found is None or any(line.startswith("#") for line in lines[start + 1 : found.first]):
        raise ValueError(f"there is no table below {heading!r}")
    return found


def _cells(line: str) -> list[str]:
    return [re.sub(r"\*\*|`", "", cell).strip() for cell in line.strip().strip("|").split("|")]
