"""What the commands have in common: a table on the terminal, the same table as CSV and JSON."""

from __future__ import annotations

import csv
import json
from collections.abc import Mapping, Sequence
from pathlib import Path

from .profile import writable_folder

__all__ = ["align", "save_rows", "with_interval"]


def align(lines: Sequence[Sequence[str]]) -> str:
    """Cells in columns of equal width, two spaces between.

    >>> print(align([["head", "n"], ["1-2", "100"]]))
    head  n
    1-2   100
    """
    widths = [max(len(line[i]) for line in lines) for i in range(len(lines[0]))]
    return "\n".join("  ".join(f"{cell:<{w}}" for cell, w in zip(line, widths)).rstrip() for line in lines)


def with_interval(value: float, low: float, high: float) -> str:
    """A share in per cent with its interval.

    >>> with_interval(0.5, 0.42, 0.581)
    '50.0 [42.0, 58.1]'
    """
    return f"{100 * value:.1f} [{100 * low:.1f}, {100 * high:.1f}]"


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
    with open(table, "w", newline="", encoding="utf-8") as file:
        writer = csv.DictWriter(file, plain[0], lineterminator="\n")
        writer.writeheader()
        writer.writerows({key: "" if value is None else value for key, value in row.items()} for row in plain)
    text = json.dumps({"about": dict(about), "rows": plain}, indent=1, ensure_ascii=False)
    content.write_text(text + "\n", encoding="utf-8")
    return f"-> {table}, {content}"


def _plain(value):
    if isinstance(value, float):
        return round(value, 6)
    return " / ".join(value) if isinstance(value, tuple) else value
