"""Reading what a stranger wrote with a bound on what it may cost: bytes, values of JSON, and what an archive unpacks to.

A file of a few kilobytes can ask for gigabytes of memory. Everything here looks at the size first and refuses in one line.
"""

from __future__ import annotations

import contextlib
import io
import json
import struct
import tokenize
import zipfile
import zlib
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import IO, Any

import numpy as np

MOST_VALUES = 1_000_000  # of one JSON text: up to some 125 MB of Python objects
MOST_UNPACKED = 64_000_000  # bytes that anything may unpack to, however small it is
MOST_TIMES = 50  # its own size; text and numbers shrink to a tenth, seldom to a twentieth
MOST_MEMBERS = 100_000  # files in one archive

# What zipfile and NumPy raise for an archive that is damaged, encrypted, in a compression of another time, or larger than memory.
_DAMAGED = (
    EOFError,
    zlib.error,
    zipfile.BadZipFile,
    struct.error,
    tokenize.TokenError,
    NotImplementedError,
    RuntimeError,
    MemoryError,
)

_NOT_WHAT_WAS_WRITTEN = (
    *_DAMAGED,
    UnicodeError,
    LookupError,
    TypeError,
    AttributeError,
    OverflowError,
    SyntaxError,
)


class TooLarge(ValueError):
    """A file costs more than is spent on it; says the bound and what came."""


def read_bounded(file: str | Path | IO[bytes], most: int) -> bytes:
    """The bytes of a file, or of an open one, which is closed.

    Raises
    ------
    TooLarge
        If there are more than ``most``. No more than those are read.
    """
    with open(file, "rb") if isinstance(file, str | Path) else file as opened:
        content = opened.read(most + 1)
    if len(content) > most:
        raise TooLarge(f"it is larger than {_megabytes(most)}, the most that is read of such a file")
    return content


def parse_json(text: str | bytes, most: int = MOST_VALUES) -> Any:
    """The value of a JSON text, if it holds at most so many values; brackets and commas are counted, also those inside strings.

    Raises
    ------
    TooLarge
        If there are more.
    ValueError
        If it is not JSON in UTF-8, or nested too deeply.
    """
    marks = ("{", "[", ",") if isinstance(text, str) else (b"{", b"[", b",")
    values = sum(map(text.count, marks))
    if values > most:
        raise TooLarge(f"it holds some {values:,} values of JSON; at most {most:,} are read")
    try:
        return json.loads(text if isinstance(text, str) else text.decode("utf-8"))
    except RecursionError:
        raise ValueError("it holds JSON that is nested too deeply to be read") from None


def read_json(path: str | Path, most: int) -> Any:
    """The value in a file of JSON, bounded as by `read_bounded` and `parse_json`, which say what is raised."""
    return parse_json(read_bounded(path, most))


# --- archives -------------------------------------------------------------------------------------------------
@contextlib.contextmanager
def open_zip(file: str | Path | IO[bytes], most_members: int = MOST_MEMBERS) -> Iterator[zipfile.ZipFile]:
    """A zip archive whose members are few, and do not share bytes.

    Raises
    ------
    TooLarge
        If there are more members, before the list of them is made, or two of them lie on the same bytes.
    zipfile.BadZipFile
        If it is none.
    """
    with open(file, "rb") if isinstance(file, str | Path) else contextlib.nullcontext(file) as opened:
        members = count_in(opened, b"PK\1\2")  # each begins so in the list of members
        if members > most_members:
            raise TooLarge(f"the archive holds {members:,} files; at most {most_members:,} are read")
        opened.seek(0)
        with zipfile.ZipFile(opened) as archive:
            end = 0
            for member in sorted(archive.infolist(), key=lambda one: one.header_offset):
                if member.header_offset < end:
                    raise TooLarge(
                        f"the archive is damaged or made to mislead: {member.filename!r:.80} lies on the bytes of another file"
                    )
                end = member.header_offset + member.compress_size
            yield archive


def may_unpack_to(packed: int) -> int:
    """The most bytes that something of this size may unpack to."""
    return max(MOST_UNPACKED, MOST_TIMES * packed)


def load_arrays(file: str | Path | IO[bytes]) -> dict[str, np.ndarray]:
    """The arrays of an npz file by name, without pickle.

    Raises
    ------
    TooLarge
        If it would unpack to more than `may_unpack_to` says.
    ValueError
        If it is damaged, or holds anything but arrays of numbers and text.
    """
    with (
        damage_said(),
        open(file, "rb") if isinstance(file, str | Path) else contextlib.nullcontext(file) as opened,
    ):
        with open_zip(opened) as archive:
            unpacked = sum(member.file_size for member in archive.infolist())
        packed = opened.seek(0, io.SEEK_END)
        if unpacked > may_unpack_to(packed):
            raise TooLarge(
                f"its {packed:,} bytes would unpack to {_megabytes(unpacked)}; at most {_megabytes(may_unpack_to(packed))} are unpacked, "
                f"which is {MOST_TIMES} times its size or {_megabytes(MOST_UNPACKED)}"
            )
        opened.seek(0)
        with np.load(opened, allow_pickle=False) as found:
            arrays = {name: found[name] for name in found.files}
    if strange := [name for name, array in arrays.items() if not isinstance(array, np.ndarray)]:
        raise ValueError(f"its member {strange[0]!r:.80} is not an array")
    return arrays


def save_arrays(file: IO[bytes], arrays: Mapping[str, np.ndarray]) -> None:
    """Write an npz file that `load_arrays` reads: compressed, but where that would look like an archive made to fill memory."""
    np.savez_compressed(file, **arrays)
    if sum(np.asanyarray(array).nbytes for array in arrays.values()) > may_unpack_to(file.tell()) * 0.9:
        file.seek(0)
        file.truncate()
        np.savez(file, **arrays)


@contextlib.contextmanager
def damage_said() -> Iterator[None]:
    """In here what NumPy and zipfile raise for a file that is not what was written becomes a `ValueError`."""
    try:
        yield
    except _NOT_WHAT_WAS_WRITTEN as why:
        raise ValueError(f"not what was written: {type(why).__name__}: {why}") from None


def count_in(file: IO[bytes], *marks: bytes) -> int:
    """How often some marks of equal length occur in a file, read in blocks from its beginning."""
    file.seek(0)
    found, kept, rest = 0, len(marks[0]) - 1, b""
    while block := file.read(1 << 20):
        block = rest + block
        found += sum(map(block.count, marks))
        rest = block[len(block) - kept :]
    return found


def _megabytes(n: int) -> str:
    """
    >>> _megabytes(64_000_000), _megabytes(1_500)
    ('64 MB', '2 kB')
    """
    return f"{n / 1e6:,.0f} MB" if n >= 1_000_000 else f"{n / 1e3:,.0f} kB"
