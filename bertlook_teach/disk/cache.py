"""What takes long to compute comes with the course, or is computed once and kept on disk. `kept` is the way in.

It looks in two places, each with a digest of its own; what was made by anything else is not found, so nothing old is ever shown.

1. **Shipped evidence**, ``data/evidence`` (`bertlook_teach.disk.shipped_evidence`): the same for every reader on every processor. Its digest is
   of what is computed: name and key, the shipped texts, and the text of the sources that compute it.
2. **The reader's own cache**, ``~/.cache/bertlook`` (or in ``XDG_CACHE_HOME``; the variable BERTLOOK_CACHE names another folder, or "off").
   Its digest is strict: also every other source file of this package, all shipped data, the processor, and the versions of Python and of
   the libraries that compute. Deleting the folder loses nothing but time.

Where neither has it, it is computed here. `origins` says which it was.
"""

from __future__ import annotations

import contextlib
import functools
import hashlib
import os
import platform
import time
import weakref
from collections import OrderedDict
from collections.abc import Callable, Iterator
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Any, TypeVar

from . import shipped_evidence
from .files import write_file
from .packing import pack, unpack

MOST_BYTES = 500_000_000  # all files together; the ones that were not used for longest go first

COMPUTING = ("numpy", "scipy", "tokenizers", "torch", "transformers")

PACKAGE = Path(__file__).resolve().parent.parent

STARTED = time.time()

Result = TypeVar("Result")


def cached(
    name: str,
    key: tuple,
    make: Callable[[], Result],
    *,
    out: Callable[[Result], Any] = lambda result: result,
    back: Callable[[Any], Result] = lambda packed: packed,
    made_in: str = "",
    ships: bool = True,
) -> Result:
    """The result of ``make()``: as it comes with the course, from disk if it was made before from the same things, or made now.

    Parameters
    ----------
    name : str
        What it is; the beginning of the file's name.
    key : tuple of str, numbers, None, encoders
        What the result depends on, beside code and shipped data. An encoder stands for its fingerprint.
    make : function without arguments
        What it raises is raised, and nothing is kept.
    out, back : functions
        From the result to what `bertlook_teach.disk.pack` takes, and back; for results that hold a model.
    made_in : str
        Full name of the module that computes it, where that is not the module of ``make``.
    ships : bool
        False for what is too large to ship.
    """
    modules = [module for module in (made_in, make.__module__) if module.startswith("bertlook_teach.")]
    ships = ships and bool(modules)
    portable = repr(tuple(getattr(part, "fingerprint", part) for part in key))
    if _mode == "recompute":
        _origins[name] = HERE
        result = make()
        if ships:
            _again[shipped_evidence.file_name(name, portable)] = out(result)
        return result
    if ships:
        shipped = shipped_evidence.find(name, portable, modules)
        if shipped is not None:
            try:
                result = back(*shipped)
            except Exception as why:  # noqa: BLE001 - whatever does not take it: it is not used, and that is said
                shipped_evidence.unfit(shipped_evidence.file_name(name, portable), f"is of no use ({why})")
            else:
                _origins[name] = SHIPPED
                return result
    if _mode == "require":
        raise NotShipped(f"{name!r} is not shipped" + ("" if ships else ", and too large to be"))
    if ships and _mode == "ship":
        shipped_evidence.write(name, portable, modules, out(make()))
        return back(*shipped_evidence.find(name, portable, modules))  # as every reader will have it
    _origins[name] = HERE
    return _from_cache(name, portable, make, out, back)


class NotShipped(Exception):
    """Raised inside `requiring` by what would have to be computed."""


def _from_cache(name: str, key: str, make, out, back):
    folder, code = store_folder(), _all_code()
    if folder is None or code is None or others_can_write(folder):
        return make()
    digest = hashlib.sha256(f"{code}\0{name}\0{key}".encode()).hexdigest()[:32]
    path = folder / f"{name.replace(' ', '-')}-{digest}.npz"
    try:
        found = unpack(path.read_bytes())
    except (OSError, ValueError):  # not there, or damaged
        result = make()
        _write(path, pack(out(result)))
        return result
    with contextlib.suppress(OSError):  # a folder of somebody else's, or another process has just made room
        os.utime(path)
    return back(found)


# --- where results came from ----------------------------------------------------------------------------------
SHIPPED, HERE = "shipped evidence", "computed here"

_origins: dict[str, str] = {}

_mode = "use"


def origins() -> dict[str, str]:
    """Name of each result that `kept` has given in this process -> "shipped evidence" or "computed here"."""
    return dict(_origins)


@contextlib.contextmanager
def recomputing() -> Iterator[dict[str, Any]]:
    """In here everything is computed, whatever is shipped or kept, and nothing is kept.

    Gives a dict that fills with what was computed and ships: name of its file -> what the file should hold.
    """
    _again.clear()
    with _as("recompute"):
        yield _again


@contextlib.contextmanager
def shipping() -> Iterator[None]:
    """In here what may ship and is not there, or does not fit, is computed and written into the folder of shipped evidence."""
    with _as("ship"):
        yield


@contextlib.contextmanager
def requiring() -> Iterator[None]:
    """In here what is not shipped raises `NotShipped`."""
    with _as("require"):
        yield


_again: dict[str, Any] = {}


@contextlib.contextmanager
def _as(mode: str) -> Iterator[None]:
    global _mode
    before, _mode = _mode, mode
    forget()
    try:
        yield
    finally:
        _mode = before
        forget()


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


def store_folder() -> Path | None:
    """Where results are kept; None if they are not."""
    named = os.environ.get("BERTLOOK_CACHE")
    if named == "off":
        return None
    if named:
        return Path(named).expanduser()
    return Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "bertlook"


def others_can_write(folder: Path) -> bool:
    """Whether somebody else owns this folder, or everybody may write into it: what is found there may be anybody's numbers. Never on Windows."""
    if not hasattr(os, "getuid") or not folder.exists():
        return False
    found = folder.stat()
    return found.st_uid != os.getuid() or bool(found.st_mode & 0o002)


def _write(path: Path, content: bytes) -> None:
    """As a whole or not at all; where nothing can be written nothing is kept (`bertlook doctor` says so)."""
    try:
        write_file(path, content)
        for part in path.parent.glob("*.part"):  # of a process that was killed while it wrote
            if part.stat().st_mtime < time.time() - 3600:
                part.unlink(missing_ok=True)
        files = sorted(path.parent.glob("*.npz"), key=lambda file: file.stat().st_mtime, reverse=True)
        total = 0
        for file in files:
            total += file.stat().st_size
            if total > MOST_BYTES and file != path:
                file.unlink()
    except OSError:
        pass


def _version(library: str) -> str:
    """Of an installed library; lessons that only read a BERT do without torch and transformers."""
    try:
        return version(library)
    except PackageNotFoundError:
        return "none"


@functools.cache
def _all_code() -> str | None:
    """A digest of everything a result depends on without being told; None if a source was changed after it may have been imported."""
    from .paths import data_path

    digest = hashlib.sha256(f"{platform.machine()} {platform.python_version()}".encode())
    for library in COMPUTING:
        digest.update(f"{library} {_version(library)}".encode())
    data = data_path()
    inputs = (
        file for file in data.rglob("*") if file.is_file() and not file.is_relative_to(data / "evidence")
    )
    files = [*PACKAGE.rglob("*.py"), *inputs]
    if max(file.stat().st_mtime for file in files) > STARTED:
        return None
    for file in sorted(files):
        if not file.is_relative_to(data / "model"):  # models have a fingerprint of their own
            digest.update(f"{file.name}\0".encode() + file.read_bytes())
    return digest.hexdigest()
