"""Numbers of more cases than memory should hold: rows written to a temporary file as they come, read back a part at a time."""

from __future__ import annotations

import tempfile
import weakref
from collections.abc import Iterator
from pathlib import Path

import numpy as np

_PART = 1 << 20  # bytes that are read at once


class OnDisk:
    """Rows of numbers in a temporary file, all of one shape and type; of a corpus of any length it takes 1 MiB of memory, while it is read.

    Parameters
    ----------
    folder : str or Path, optional
        Where the file lies; default: the system's folder for such files, which can be a part of memory. It goes with this object.

    Raises
    ------
    ValueError
        From `add`, if rows have another shape or type than those before.

    Examples
    --------
    >>> rows = OnDisk()
    >>> rows.add(np.array([[1, 2], [3, 4]])); rows.add(np.array([[5, 6]]))
    >>> len(rows), rows.sum().tolist(), rows.sum([True, False, True]).tolist(), rows.of(1).tolist()
    (3, [9, 12], [6, 8], [2, 4, 6])
    """

    def __init__(self, folder: str | Path | None = None):
        self._file = tempfile.TemporaryFile(dir=folder)  # noqa: SIM115 - it lives as long as this object
        weakref.finalize(self, self._file.close)
        self._row = np.zeros(())  # one row: its shape and type
        self._n = 0

    def add(self, rows: np.ndarray) -> None:
        """More rows: an array of shape (row, ...)."""
        rows = np.asarray(rows)
        if self._n and (rows.shape[1:], rows.dtype) != (self._row.shape, self._row.dtype):
            raise ValueError(
                f"rows of shape {self._row.shape} and type {self._row.dtype} were expected, as before; got {rows.shape[1:]} and {rows.dtype}."
            )
        self._row = np.zeros(rows.shape[1:], rows.dtype)
        self._file.seek(0, 2)
        self._file.write(np.ascontiguousarray(rows).data)
        self._n += len(rows)

    def __len__(self) -> int:
        return self._n

    @property
    def shape(self) -> tuple[int, ...]:
        """(row, ...), as that of an array."""
        return (self._n, *self._row.shape)

    def parts(self) -> Iterator[tuple[slice, np.ndarray]]:
        """All rows in their order, some at a time: which they are, and they."""
        size = max(_PART // max(self._row.nbytes, 1), 1)
        for start in range(0, self._n, size):
            part = np.empty((min(size, self._n - start), *self._row.shape), self._row.dtype)
            self._file.seek(start * self._row.nbytes)
            self._file.readinto(part.reshape(-1).view(np.uint8).data)
            yield slice(start, start + len(part)), part

    def sum(self, cases=None) -> np.ndarray:
        """Each column's sum over all rows, or over the chosen ones: ``cases`` is a bool array of shape (row,)."""
        total = None
        for where, part in self.parts():
            found = (part if cases is None else part[np.asarray(cases)[where]]).sum(axis=0)
            total = found if total is None else total + found
        return np.zeros(self._row.shape) if total is None else total

    def rows(self, places) -> np.ndarray:
        """Some rows by their places, an int array of shape (row,)."""
        self._file.flush()
        every = np.memmap(self._file, self._row.dtype, "r", shape=self.shape)
        return np.array(every[places])  # a copy: with the map goes the memory of the pages it read

    def of(self, column) -> np.ndarray:
        """One column, shape (row,), by its place: a number, or a tuple where rows have several axes."""
        place = column if isinstance(column, tuple) else (column,)
        found = np.empty(self._n, self._row.dtype)
        for where, part in self.parts():
            found[where] = part[(slice(None), *place)]
        return found
