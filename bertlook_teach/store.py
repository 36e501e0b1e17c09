"""What a lesson took long to compute is kept on disk, so that its deck opens quickly the second time.

One file a result, under a digest of what it depends on: whatever the caller names (a model's fingerprint, its texts), every source
file of this package, the shipped data, and the versions of the libraries that compute. A file that was made by anything else is not
found, so nothing old is ever shown; deleting the folder loses nothing but time. `kept` is the way in.

The folder is ``~/.cache/bertlook`` (or in ``XDG_CACHE_HOME``); the variable BERTLOOK_CACHE names another one, or "off".
"""

from __future__ import annotations

import contextlib
import dataclasses
import functools
import hashlib
import importlib
import io
import json
import os
import platform
import tempfile
import time
import zipfile
from collections import OrderedDict
from collections.abc import Callable, Mapping
from importlib.metadata import version
from pathlib import Path
from typing import Any, TypeVar

import numpy as np

__all__ = ["MOST_BYTES", "Memory", "kept", "pack", "store_folder", "unpack"]

MOST_BYTES = 500_000_000  # all files together; the ones that were not used for longest go first
COMPUTING = ("numpy", "scipy", "tokenizers", "torch", "transformers")
PACKAGE = Path(__file__).resolve().parent
STARTED = time.time()
Result = TypeVar("Result")


def kept(
    name: str,
    key: tuple,
    make: Callable[[], Result],
    *,
    out: Callable[[Result], Any] = lambda result: result,
    back: Callable[[Any], Result] = lambda packed: packed,
) -> Result:
    """The result of ``make()``, from disk if it was made before from the same things.

    Parameters
    ----------
    name : str
        What it is; the beginning of the file's name.
    key : tuple of str, numbers, None
        What the result depends on, beside code and shipped data.
    make : function without arguments
        What it raises is raised, and nothing is kept.
    out, back : functions
        From the result to what `pack` takes, and back; for results that hold a model.
    """
    folder, code = store_folder(), _all_code()
    if folder is None or code is None:
        return make()
    digest = hashlib.sha256(f"{code}\0{name}\0{key!r}".encode()).hexdigest()[:32]
    path = folder / f"{name.replace(' ', '-')}-{digest}.npz"
    try:
        found = unpack(path.read_bytes())
    except (OSError, ValueError, KeyError, zipfile.BadZipFile):  # not there, or damaged
        result = make()
        _write(path, pack(out(result)))
        return result
    with contextlib.suppress(OSError):  # a folder of somebody else's, or another process has just made room
        os.utime(path)
    return back(found)


class Memory(OrderedDict):
    """Results of this process, at most so many; the one that was not asked for longest goes first.

    >>> memory = Memory(2)
    >>> [memory.once(key, lambda: key.upper()) for key in "abac"], list(memory)
    (['A', 'B', 'A', 'C'], ['a', 'c'])
    """

    def __init__(self, most: int = 24):
        super().__init__()
        self.most = most

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


def _write(path: Path, content: bytes) -> None:
    """As a whole or not at all; where nothing can be written nothing is kept (`bertlook doctor` says so)."""
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        with tempfile.NamedTemporaryFile(dir=path.parent, suffix=".part", delete=False) as file:
            file.write(content)
        os.replace(file.name, path)
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


@functools.cache
def _all_code() -> str | None:
    """A digest of everything a result depends on without being told; None if a source was changed after it may have been imported."""
    from ._paths import data_path

    digest = hashlib.sha256(f"{platform.machine()} {platform.python_version()}".encode())
    for library in COMPUTING:
        digest.update(f"{library} {version(library)}".encode())
    data = data_path()
    files = [*PACKAGE.rglob("*.py"), *(file for file in data.rglob("*") if file.is_file())]
    if max(file.stat().st_mtime for file in files) > STARTED:
        return None
    for file in sorted(files):
        if not file.is_relative_to(data / "model"):  # models have a fingerprint of their own
            digest.update(f"{file.name}\0".encode() + file.read_bytes())
    return digest.hexdigest()


# --- to bytes and back: arrays in an npz file, the rest as JSON, and no pickle ------------------------------------


def pack(value: Any) -> bytes:
    """Numbers, strings, arrays, and lists, tuples, dicts and this package's dataclasses and named tuples of them.

    Raises
    ------
    TypeError
        If there is something else inside.
    """
    arrays: list[np.ndarray] = []
    tree = json.dumps(_outline(value, arrays))
    file = io.BytesIO()
    np.savez(file, tree=np.array(tree), **{f"a{i}": array for i, array in enumerate(arrays)})
    return file.getvalue()


def unpack(content: bytes) -> Any:
    """What was packed.

    Raises
    ------
    ValueError, KeyError, zipfile.BadZipFile
        If these are not the bytes of `pack`, or name a class that this package does not have.
    """
    with np.load(io.BytesIO(content), allow_pickle=False) as arrays:
        return _fill(json.loads(str(arrays["tree"])), arrays)


def _outline(value, arrays: list) -> Any:
    if value is None or type(value) in (bool, int, float, str):
        return value
    if isinstance(value, np.ndarray | np.generic):
        if value.dtype.hasobject:
            raise TypeError(f"an array of Python objects cannot be kept: {value!r:.80}")
        arrays.append(np.asarray(value))
        return {"array" if isinstance(value, np.ndarray) else "scalar": len(arrays) - 1}
    own = type(value)
    if own in (list, tuple):
        return {own.__name__: [_outline(one, arrays) for one in value]}
    if own is dict:
        return {"dict": [[_outline(k, arrays), _outline(v, arrays)] for k, v in value.items()]}
    if own.__module__.startswith(f"{__package__}."):
        if dataclasses.is_dataclass(value):
            fields = {f.name: _outline(getattr(value, f.name), arrays) for f in dataclasses.fields(value)}
            return {"class": [own.__module__, own.__qualname__], "fields": fields}
        if isinstance(value, tuple):
            return {
                "class": [own.__module__, own.__qualname__],
                "items": [_outline(v, arrays) for v in value],
            }
    raise TypeError(f"{own.__module__}.{own.__qualname__} cannot be kept: {value!r:.80}")


def _fill(tree, arrays: Mapping) -> Any:
    if not isinstance(tree, dict):
        return tree
    (kind, what), *rest = tree.items()
    if kind == "array":
        return arrays[f"a{what}"]
    if kind == "scalar":
        return arrays[f"a{what}"][()]
    if kind in ("list", "tuple"):
        items = [_fill(one, arrays) for one in what]
        return items if kind == "list" else tuple(items)
    if kind == "dict":
        return {_fill(k, arrays): _fill(v, arrays) for k, v in what}
    own = _class(*what)
    ((kind, parts),) = rest
    if kind == "items":
        return own(*(_fill(one, arrays) for one in parts))
    value = object.__new__(own)  # it was checked when it was made
    for name, part in parts.items():
        object.__setattr__(value, name, _fill(part, arrays))
    return value


def _class(module: str, name: str) -> type:
    if not module.startswith(f"{__package__}."):
        raise ValueError(f"{module} is no part of {__package__}.")
    try:
        found = functools.reduce(getattr, name.split("."), importlib.import_module(module))
    except (ImportError, AttributeError):
        raise ValueError(f"there is no class {module}.{name}.") from None
    if not (dataclasses.is_dataclass(found) or (isinstance(found, type) and issubclass(found, tuple))):
        raise ValueError(f"{module}.{name} is no dataclass.")
    return found
