"""Tables as a terminal shows them, and rows saved as CSV and JSON."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path

from bertlook_teach.disk import csv_text, json_text, write_file, write_files

from .folders import writable_folder


def align(lines: Iterable[Sequence[object]]) -> str:
    """Cells in columns of equal width, two spaces between; a cell that is None is left empty.

    >>> print(align([["head", "n"], ["1-2", 100]]))
    head  n
    1-2   100
    """
    lines = [["" if cell is None else str(cell) for cell in line] for line in lines]
    widths = [max(map(len, column)) for column in zip(*lines)]
    return "\n".join("  ".join(f"{cell:<{w}}" for cell, w in zip(line, widths)).rstrip() for line in lines)


def with_interval(
    value: float, low: float, high: float, *, digits: int = 1, factor: float = 100, sign: str = ""
) -> str:
    """A share in per cent with its interval, or another number times ``factor``; ``sign="+"`` shows the sign.

    >>> with_interval(0.5, 0.42, 0.581)
    '50.0 [42.0, 58.1]'
    >>> with_interval(0.5, -0.42, 0.581, digits=2, factor=1, sign="+")
    '+0.50 [-0.42, +0.58]'
    """
    value, low, high = (f"{factor * number:{sign}.{digits}f}" for number in (value, low, high))
    return f"{value} [{low}, {high}]"


# What a terminal obeys rather than shows: control characters but the line's end and the tab, marks of direction, what has no width.
_OBEYED = re.compile(
    "[\x00-\x08\x0b-\x1f\x7f-\x9f\u061c\u200b\u200e\u200f\u2028-\u202e\u2060-\u206f\ufeff\ufff9-\ufffb\U000e0000-\U000e0fff]"
)


def visible(text: str, *, lines: bool = False) -> str:
    r"""A stranger's text as a terminal may have it: what it would obey stands as an escape. Ends of lines and tabs stay only with ``lines``.

    >>> print(visible("a\x1b[2Jb\u202ec\nd"), visible("naïve ok"))
    a\x1b[2Jb\u202ec\nd naïve ok
    """
    text = _OBEYED.sub(_escape, text)
    return text if lines else text.replace("\n", "\\n").replace("\t", "\\t")


def _escape(found: re.Match) -> str:
    return found[0].encode("unicode_escape").decode()


def write_json(path: str | Path, content, *, indent: int = 1) -> Path:
    """Write a value as JSON, as `write_file` writes."""
    return write_file(path, json_text(content, indent=indent))


def save_rows(folder: str | Path, name: str, rows: Sequence[Mapping], about: Mapping) -> str:
    """Write ``name.csv`` (a row each) and ``name.json`` (what they are about, and the rows), and say where they are.

    Floats are rounded to six digits, several names joined by a slash, None left empty in the CSV.

    Raises
    ------
    OSError
        If the folder cannot be written to.
    """
    folder = writable_folder(folder)
    plain = [{key: _plain(value) for key, value in row.items()} for row in rows]
    table, content = folder / f"{name}.csv", folder / f"{name}.json"
    write_files({table: csv_text(plain), content: json_text({"about": dict(about), "rows": plain})})
    return f"-> {table}, {content}"


def _plain(value):
    if isinstance(value, float):
        return round(value, 6)
    return " / ".join(value) if isinstance(value, tuple) else value
