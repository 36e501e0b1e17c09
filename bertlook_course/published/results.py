"""What docs/results.md says of a model on texts that do not ship, for the slides that quote it.

The page is the source; ``tools/quoted_results.py`` copies the tables that slides quote to ``data/results.json``, cell by cell. Each table
knows the weights it was measured with: a slide quotes the table of the model that the deck reads with (`measured_of`), and says
*an earlier specimen* where the specimen's weights have changed since.
"""

from __future__ import annotations

import json
import re
from typing import NamedTuple

from bertlook_teach.disk import data_path
from bertlook_teach.model import model_title

_NUMBER = re.compile(r"[+-]?\d[\d,]*(?:\.\d+)?|[+-]?\.\d+")
_HEAD = re.compile(r"\b\d+-\d+\b")


class Measured(NamedTuple):
    """A number as the page prints it (per cent where the page has per cent), and its interval if it has one."""

    value: float
    low: float | None = None
    high: float | None = None

    @property
    def share(self) -> tuple[float, float | None, float | None]:
        """The same as shares of one."""
        return tuple(None if number is None else number / 100 for number in self)  # type: ignore[return-value]

    def __str__(self) -> str:
        """As on the page: ``51.2 % [49.4, 53.1]``."""
        return f"{self.value:.1f} %" + ("" if self.low is None else f" [{self.low:.1f}, {self.high:.1f}]")


class MeasuredTable(NamedTuple):
    """One table of docs/results.md.

    Attributes
    ----------
    weights : str
        Fingerprint of the model that was measured.
    current : bool
        Whether these are the weights that ship.
    model : str
        Which model that is, in a sentence: ``"the specimen"`` or ``"MiniLM"``.
    columns : tuple of str
    rows : dict of str to tuple of str
        The cells of each row after the first, by the first.
    """

    weights: str
    current: bool
    model: str
    columns: tuple[str, ...]
    rows: dict[str, tuple[str, ...]]

    @property
    def whose(self) -> str:
        """``the specimen`` or ``MiniLM``; ``an earlier ...`` if the weights have changed since the table was measured."""
        return self.model if self.current else f"an earlier {self.model.removeprefix('the ')}"

    @property
    def page(self) -> str:
        """Where the table stands, for a reader."""
        return "docs/results.md" if self.model == "the specimen" else "docs/results_minilm.md"

    def label(self, begins: str) -> str:
        """The one row whose name begins so, without marks of bold type and code."""
        found = [name for name in self.rows if name == begins] or [
            name for name in self.rows if name.startswith(begins)
        ]
        if len(found) != 1:
            raise KeyError(f"{len(found)} rows begin with {begins!r}; there is: {', '.join(self.rows)}")
        return found[0]

    def column(self, begins: str) -> str:
        """The one column whose name begins so."""
        found = [name for name in self.columns[1:] if name == begins] or [
            name for name in self.columns[1:] if name.startswith(begins)
        ]
        if len(found) != 1:
            raise KeyError(f"{len(found)} columns begin with {begins!r}; there is: {', '.join(self.columns)}")
        return found[0]

    def cell(self, row: str | None = None, column: str | None = None) -> str:
        """What stands in a row under a column, both named by their beginnings; of one of them alone, its name."""
        if row is None or column is None:
            return self.column(column) if row is None else self.label(row)
        return self.rows[self.label(row)][self.columns.index(self.column(column)) - 1]

    def head(self, row: str | None = None, column: str | None = None) -> str:
        """The first head that a `cell` names.

        >>> measured("tasks: one head").head("MRPC", "head that costs most")
        '3-6'
        """
        found = _HEAD.search(cell := self.cell(row, column))
        if found is None:
            raise ValueError(f"{cell!r} in row {row!r}, column {column!r} names no head.")
        return found[0]

    def values(self, row: str | None = None, column: str | None = None) -> list[float]:
        """All numbers of a `cell`: a value and its interval, or the smallest and the largest of several runs; after a head, those of the head.

        >>> measured("tasks: seeds").values("4 of 36")
        [4.0, 36.0]
        """
        cell = self.cell(row, column)
        found = [
            float(number.replace(",", "")) for number in _NUMBER.findall(cell.partition(": ")[2] or cell)
        ]
        if not found:
            raise ValueError(f"{cell!r} in row {row!r}, column {column!r} is not a number.")
        return found

    def value(self, row: str, column: str) -> Measured:
        """The number of a cell: the first in it, and its interval if one follows in brackets.

        >>> Measured(51.2, 49.4, 53.1).share[0]
        0.512
        """
        cell, found = self.cell(row, column), self.values(row, column)
        return Measured(*found[:3]) if "[" in cell and len(found) >= 3 else Measured(found[0])


def measured(name: str) -> MeasuredTable:
    """A table of docs/results.md by its short name; of another model than the specimen, ``"minilm/"`` stands before it.

    >>> measured("LitBank").value("nearest", "all").value > 0
    True
    """
    kept = _kept()
    if name not in kept["tables"]:
        raise KeyError(f"no table {name!r}; there is: {', '.join(kept['tables'])}")
    table = kept["tables"][name]
    rows = {first: tuple(cells) for first, *cells in table["rows"]}
    model, _, _ = name.rpartition("/")
    current = (
        table["weights"] == kept[model or "specimen"]
    )  # which holds the fingerprint of the weights in the repository
    said = model_title(model).partition(",")[0] if model else "the specimen"
    return MeasuredTable(table["weights"], current, said, tuple(table["columns"]), rows)


def measured_of(encoder, name: str) -> MeasuredTable | None:
    """The table of docs/results.md that was measured with a model; None where the page has none of it.

    The specimen that ships is answered with an earlier specimen's table, which says so, rather than with nothing.
    """
    for key, table in _kept()["tables"].items():
        model, _, short = key.rpartition("/")
        if short == name and (
            table["weights"] == encoder.fingerprint or not model and encoder.name == "specimen"
        ):
            return measured(key)
    return None


def _kept() -> dict:
    return json.loads(data_path("results.json").read_text(encoding="utf-8"))
