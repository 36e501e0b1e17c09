"""Texts of strangers, read with a bound on what they may cost: the rows of a CSV, and what a .gz unpacks to."""

from __future__ import annotations

import csv
import gzip
import io
import zlib
from collections.abc import Iterable
from pathlib import Path

from bertlook_teach.disk import MOST_TIMES, TooLarge

_LOOK = 16_000_000  # bytes of a .gz that are unpacked to see what it is


_FREE_GZIP = 4_000_000  # bytes that a .gz may unpack to, however small it is: lines of text take twenty times as much memory


def csv_rows(text: str, columns: Iterable[str], most: int) -> list[dict[str, str]]:
    """The rows of a CSV, of each only these columns, as far as the header has them; a cell that is missing is empty.

    `csv.DictReader` would fill every row up to the header's width, however short it is.

    Raises
    ------
    TooLarge
        If there are more than ``most`` rows.
    csv.Error
        If it cannot be read.
    """
    reader = csv.reader(io.StringIO(text))
    wanted = set(columns)
    places = {name: place for place, name in enumerate(next(reader, [])) if name in wanted}
    rows = []
    for row in filter(None, reader):
        if len(rows) == most:
            raise TooLarge(f"it has more than {most:,} rows")
        rows.append({name: row[place] if place < len(row) else "" for name, place in places.items()})
    return rows


class Gunzipped(io.RawIOBase):
    """What a .gz file unpacks to, as it is read; reading raises `ValueError` where that is far more than the file holds."""

    def __init__(self, path: str | Path):
        self.name = str(path)
        if Path(path).is_file():  # looked at before anything is done with its lines, which takes longer
            self._open(path)
            try:
                look = bytearray(1 << 20)
                while self._unpacked < _LOOK and self.readinto(look):
                    pass
            except (OSError, EOFError, zlib.error):
                pass  # it is damaged further on: said when that is read
            finally:
                self._shut()
        self._open(path)

    def _open(self, path: str | Path) -> None:
        self._packed = open(path, "rb")  # noqa: SIM115 - closed by _shut
        self._file = gzip.GzipFile(fileobj=self._packed)
        self._unpacked = 0

    def _shut(self) -> None:
        self._file.close()
        self._packed.close()

    def readable(self) -> bool:
        return True

    def readinto(self, buffer) -> int:
        n = self._file.readinto(buffer)
        self._unpacked += n
        if self._unpacked > max(_FREE_GZIP, MOST_TIMES * self._packed.tell()):
            raise TooLarge(
                f"{self.name} unpacks to more than {MOST_TIMES} times its size, which no text does; a .gz file of texts was expected. Is "
                "it what you meant? Unpacked by gunzip it is read."
            )
        return n

    def close(self) -> None:
        if not self.closed:
            self._shut()
        super().close()
