"""Slow results ship with the course, or are computed once and kept on disk. Call `cached` to get one.

A result is found by its stamp (`bertlook_course.storage.shipped_evidence`): its name, the version of what makes it, and the weights, settings and
data it was made from. Three places are tried in turn:

1. **Shipped evidence**, ``data/evidence``: the same for every reader on every processor.
2. **The reader's own cache**, ``~/.cache/bertlook`` (or in ``XDG_CACHE_HOME``; the variable BERTLOOK_CACHE names another folder, or "off"). Its
   stamp names the version of this package too, so a new release computes anew. Deleting the folder loses nothing but time.
3. Otherwise it is computed here, and kept in the second place. `origins` says which it was.

Whoever changes a function that a result depends on raises the result's version, or works with BERTLOOK_CACHE=off and BERTLOOK_EVIDENCE=off.
"""

from __future__ import annotations

import contextlib
import os
import tempfile
import time
import weakref
from collections import OrderedDict
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, TypeVar

from bertlook_teach import __version__

from . import shipped_evidence
from .folders import digest
from .packing import OURS
from .shipped_evidence import Stamp

EPOCH = 2  # raised where much that readers have kept may come out otherwise, and what ships does not

MOST_BYTES = 500_000_000  # all files together; the ones that were not used for longest go first

Result = TypeVar("Result")


def cached(
    name: str,
    key: tuple,
    make: Callable[[], Result],
    *,
    version: int,
    out: Callable[[Result], Any] = lambda result: result,
    back: Callable[[Any], Result] = lambda packed: packed,
    ships: bool = True,
) -> Result:
    """The result of ``make()``: as it comes with the course, from disk if it was made before from the same things, or made now.

    Parameters
    ----------
    name : str
        What it is; the beginning of the file's name.
    key : tuple of str, numbers, None, encoders
        What the result depends on, beside shipped data and code. An encoder stands for its fingerprint.
    make : function without arguments
        What it raises is raised, and nothing is kept.
    version : int
        Of the code. Raise it when a number may come out otherwise; a file of another version is not used.
    out, back : functions
        From the result to what `bertlook_course.storage.pack` takes, and back; for results that hold a model.
    ships : bool
        False for what is too large to ship.
    """
    settings = repr(tuple(getattr(part, "fingerprint", part) for part in key))
    stamp = Stamp(name, version, settings, shipped_evidence.data_digest())
    if _shipping is not None:
        return _shipped(stamp, make, out, back, ships)
    shipped, own = shipped_evidence.evidence_folder() if ships else None, store_folder()
    own_stamp = replace(
        stamp, data=digest(stamp.data, __version__, OURS, EPOCH)
    )  # a file names classes by their packages
    if own is not None and others_can_write(own):
        own = None
    for origin, folder, wanted in ((SHIPPED, shipped, stamp), (HERE, own, own_stamp)):
        if folder is not None and (found := shipped_evidence.find(folder, wanted)) is not None:
            file = folder / wanted.file_name
            try:
                result = back(*found)
            except Exception as why:  # noqa: BLE001 - whatever does not take it: it is not used, and that is said
                shipped_evidence.unfit(file, f"is of no use ({why})")
                continue
            if origin == HERE:
                with contextlib.suppress(OSError):  # another process has just made room
                    os.utime(file)
            _origins[name] = origin
            return result
    if shipped is not None:
        shipped_evidence.warn_of_others(shipped, stamp)
    _origins[name] = HERE
    result = make()
    if own is not None:
        _keep(own, own_stamp, out(result))
    return result


# --- where results came from ----------------------------------------------------------------------------------
SHIPPED, HERE = "shipped evidence", "computed here"

_origins: dict[str, str] = {}


def origins() -> dict[str, str]:
    """Name of each result that `cached` has given in this process -> "shipped evidence" or "computed here"."""
    return dict(_origins)


# --- for those who make or check what ships -------------------------------------------------------------------
class NotShipped(Exception):
    """Raised inside ``shipping(make=False)`` by what would have to be computed."""


@dataclass(frozen=True)
class _Shipping:
    folder: Path | None
    make: bool
    used: set[str] = field(default_factory=set)


_shipping: _Shipping | None = None


@contextlib.contextmanager
def shipping(folder: Path | None = None, *, make: bool = True) -> Iterator[set[str]]:
    """In here results come from shipped evidence alone; what is not there is computed and put there.

    Gives a set that fills with the names of the files that are used. What is too large to ship is computed, and not kept.

    Parameters
    ----------
    folder : Path, optional
        Default: `evidence_folder`.
    make : bool
        False: what is not there raises `NotShipped`.
    """
    global _shipping
    folder = shipped_evidence.evidence_folder() if folder is None else folder
    if folder is None and make:
        raise ValueError("BERTLOOK_EVIDENCE says off, so there is no folder for shipped evidence.")
    before, _shipping = _shipping, _Shipping(folder, make)
    forget()
    try:
        yield _shipping.used
    finally:
        _shipping = before
        forget()


@contextlib.contextmanager
def recomputing() -> Iterator[Path]:
    """In here everything is computed, whatever is shipped or kept. Gives the folder, soon deleted, of what would ship."""
    with tempfile.TemporaryDirectory() as folder, shipping(Path(folder)):
        yield Path(folder)


def _shipped(stamp: Stamp, make, out, back, ships: bool):
    folder, used = _shipping.folder, _shipping.used
    found = shipped_evidence.find(folder, stamp) if ships and folder is not None else None
    if found is None:
        if not _shipping.make:
            raise NotShipped(
                f"{stamp.name!r}, version {stamp.version}, is not shipped"
                + ("" if ships else ", and too large to be")
            )
        result = make()
        if not ships:
            return result
        shipped_evidence.write(folder, stamp, out(result))
        found = shipped_evidence.find(folder, stamp)  # as every reader will have it
    used.add(stamp.file_name)
    return back(*found)


# --- kept in this process -------------------------------------------------------------------------------------
def forget() -> None:
    """Empty every `Memory` of this process."""
    for reference in _memories:
        if (memory := reference()) is not None:
            memory.clear()


_memories: list[weakref.ref] = []


class Memory(OrderedDict):
    """Results of this process, at most so many; the one that was not asked for longest goes first.

    >>> memory = Memory(2)
    >>> [memory.once(key, lambda: key.upper()) for key in "abac"], list(memory)
    (['A', 'B', 'A', 'C'], ['a', 'c'])
    """

    def __init__(self, most: int = 24):
        super().__init__()
        self.most = most
        _memories.append(weakref.ref(self, _memories.remove))

    def once(self, key, make: Callable[[], Result]) -> Result:
        """The result of ``make()``, made once for each key."""
        if key not in self:
            self[key] = make()
            while len(self) > self.most:
                self.popitem(last=False)
        self.move_to_end(key)
        return self[key]


# --- the reader's own cache -----------------------------------------------------------------------------------
def store_folder() -> Path | None:
    """Where results are kept; None if they are not."""
    named = os.environ.get("BERTLOOK_CACHE")
    if named == "off":
        return None
    if named:
        return Path(named).expanduser()
    return Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "bertlook"


def others_can_write(folder: Path) -> bool:
    """Whether this folder is somebody else's or writable by everybody, so that files in it cannot be trusted. Always False on Windows."""
    if not hasattr(os, "getuid") or not folder.exists():
        return False
    found = folder.stat()
    return found.st_uid != os.getuid() or bool(found.st_mode & 0o002)


def _keep(folder: Path, stamp: Stamp, value: Any) -> None:
    """As a whole or not at all; where nothing can be written nothing is kept (`bertlook doctor` says so)."""
    try:
        shipped_evidence.write(folder, stamp, value, exact=True)
        for part in folder.glob("*.part"):  # of a process that was killed while it wrote
            if part.stat().st_mtime < time.time() - 3600:
                part.unlink(missing_ok=True)
        files = sorted(folder.glob("*.npz"), key=lambda file: file.stat().st_mtime, reverse=True)
        total = 0
        for file in files:
            total += file.stat().st_size
            if total > MOST_BYTES and file.name != stamp.file_name:
                file.unlink()
    except OSError:
        pass
