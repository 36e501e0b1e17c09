"""Rows as CSV and as a data frame of pandas."""

from __future__ import annotations

import csv
import io
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import fields, is_dataclass
from html import escape

# A spreadsheet runs a cell that begins so, behind blanks and quotes too, and may take a semicolon, a tab or a line's end for the end of a cell.
_FORMULA = re.compile(r"""(^|[;\t\r\n])([\s"]*)(?=[=+\-@＝＋－＠﹢﹣﹦﹫])""")
_NUMBER = re.compile(r"[+-]?(\d+\.?\d*|\.\d+)([eE][+-]?\d+)?", re.ASCII)


def _plain_cell(value):
    """A cell of a CSV; a text that a spreadsheet would run gets an apostrophe, which makes it a text there. A number stays a number.

    >>> [_plain_cell(value) for value in ("=1", " ＠x", "a;=1", "-0.4", -0.4, "well-known")]
    ["'=1", "' ＠x", "a;'=1", '-0.4', -0.4, 'well-known']
    """
    if not isinstance(value, str) or _NUMBER.fullmatch(value):
        return value
    value = value.replace("\r\n", "\n").replace("\r", "\n")  # csv does not quote a lone return
    text = _FORMULA.sub(r"\1'\2", value)
    return f"'{text}" if text.startswith(("\t", "\r", "\n")) else text


def csv_text(rows: Sequence[Mapping]) -> str:
    """Rows as CSV, with the keys of the first as header. A text that a spreadsheet would run as a formula gets an apostrophe."""
    file = io.StringIO()
    writer = csv.DictWriter(file, rows[0], lineterminator="\n")
    writer.writeheader()
    writer.writerows({name: _plain_cell(value) for name, value in row.items()} for row in rows)
    return file.getvalue()


def to_frame(rows: Iterable):
    """Rows as a ``pandas.DataFrame``, a column for each name.

    Parameters
    ----------
    rows : iterable of dicts, dataclasses or named tuples
        Several names in a cell are joined by a slash.

    Raises
    ------
    ValueError
        If there is no row.
    ImportError
        If pandas is not installed.

    Examples
    --------
    >>> to_frame([{"head": "1-2", "n": 3}]).shape
    (1, 2)
    """
    try:
        import pandas
    except ImportError as error:
        raise ImportError(
            f"to_frame makes a table of pandas, and {error.name} is not installed: pip install pandas"
        ) from error
    table = [*_plain(rows)]
    if not table:
        raise ValueError("there is no row to put into a table.")
    return pandas.DataFrame(table)


class Table:
    """A result that has rows, as a list or from a method, and gives them to pandas: ``DataFrame(table)`` is one too."""

    def __iter__(self) -> Iterator[dict]:
        return _plain(self.rows() if callable(self.rows) else self.rows)

    def to_frame(self, **which):
        """The rows as a ``pandas.DataFrame``; ``which`` goes to ``rows``, where it takes something."""
        return to_frame(self.rows(**which) if callable(self.rows) else self.rows)

    def _repr_html_(self) -> str:
        """What it is and its first rows, for a notebook: small, and nothing but text."""
        said = f"<p>{escape(repr(self).partition(chr(10))[0][:200])}</p>"
        try:
            rows = [*self]
            names = [*rows[0]][:8]
        except (ValueError, LookupError):  # there is none
            return said
        lines = [names, *([row.get(name) for name in names] for row in rows[:8])]
        cells = ["".join(f"<td>{escape(_shown(cell))}</td>" for cell in line) for line in lines]
        cells[0] = cells[0].replace("td>", "th>")
        size = f"{len(rows)} rows, {len(rows[0])} columns; to_frame() gives them all."
        return f"{said}<table>{''.join(f'<tr>{line}</tr>' for line in cells)}</table><p>{size}</p>"


def _plain(rows: Iterable) -> Iterator[dict]:
    return ({name: _cell(value) for name, value in _named(row).items()} for row in rows)


def _named(row) -> Mapping:
    if is_dataclass(row):
        return {field.name: getattr(row, field.name) for field in fields(row)}
    return row if isinstance(row, Mapping) else row._asdict()


def _shown(value) -> str:
    return "" if value is None else f"{value:.4g}" if isinstance(value, float) else str(value)[:80]


def _cell(value):
    if value is None or isinstance(value, (bool, int, float, str)):
        return value
    if isinstance(value, (tuple, list)):
        return " / ".join(dict.fromkeys(map(str, value)))
    return value.item() if hasattr(value, "item") else str(value)
