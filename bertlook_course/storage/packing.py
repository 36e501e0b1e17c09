"""Results to bytes and back: arrays and JSON in an npz file, and no pickle, so that nothing in a file is ever run.

A file can name dataclasses and named tuples of this package and nothing else. Arrays of one kind lie end to end in one member of the
file, equal ones once, and the table of arrays says where each begins and which shape it has; what does not fit that table is refused.
"""

from __future__ import annotations

import dataclasses
import functools
import hashlib
import importlib
import io
import json
import math
from collections.abc import Callable, Mapping
from typing import Any

import numpy as np

from bertlook_teach.disk import damage_said, load_arrays, save_arrays

OURS = ("bertlook_teach.", "bertlook_course.")  # whose dataclasses and named tuples a file may name


def pack(value: Any, *, bits: int | None = None, note: Mapping | None = None) -> bytes:
    """Numbers, strings, arrays, and lists, tuples, dicts and this package's dataclasses and named tuples of them.

    Parameters
    ----------
    value
    bits : int, optional
        Keep floating-point arrays to so many binary digits behind the first (10 are three decimal digits, 23 a float32), and make the
        file small; whole numbers stay exact. Without: every bit is kept.
    note : dict, optional
        Plain values beside it, which `opened` gives back.

    Raises
    ------
    TypeError
        If there is something else inside.
    """
    arrays: list[np.ndarray] = []
    tree = json.dumps(_outline(value, arrays))
    members: dict[str, list[np.ndarray]] = {}
    table, places, filled = [], {}, {}
    for array in arrays:
        same = (array.dtype.str, array.shape, hashlib.sha256(array.tobytes()).digest())
        if same not in places:
            flat = np.ravel(array) if bits is None else _smaller(np.ravel(array), bits)
            member = flat.dtype.str[1:]
            start = filled.get(member, 0)
            members.setdefault(member, []).append(flat)
            filled[member] = start + len(flat)
            places[same] = [member, start, list(array.shape), array.dtype.str]
        table.append(places[same])
    content = {name: _shuffled(np.concatenate(parts)) for name, parts in members.items()}
    texts = {"tree": tree, "arrays": json.dumps(table), "note": json.dumps(note or {})}
    texts["checksum"] = _checksum(texts, content)
    file = io.BytesIO()
    whole = {name: np.frombuffer(text.encode(), np.uint8) for name, text in texts.items()} | content
    np.savez(file, **whole) if bits is None else save_arrays(file, whole)
    return file.getvalue()


def unpack(content: bytes) -> Any:
    """What was packed.

    Raises
    ------
    ValueError
        If these are not the bytes of `pack`, all of them, or they name a class that this package does not have.
    """
    return opened(content)[1]()


def opened(content: bytes) -> tuple[dict, Callable[[], Any]]:
    """The note beside what was packed, and a function that gives it; both raise what `unpack` does."""
    with damage_said():
        members = load_arrays(io.BytesIO(content))
        texts = {
            name: members.pop(name).tobytes().decode() for name in ("tree", "arrays", "note", "checksum")
        }
        if texts.pop("checksum") != _checksum(texts, members):
            raise ValueError("its parts do not belong together.")
        note = dict(json.loads(texts["note"]))

    def value() -> Any:
        with damage_said():
            return _fill(json.loads(texts["tree"]), _arrays(json.loads(texts["arrays"]), members))

    return note, value


# --- arrays ---------------------------------------------------------------------------------------------------
def _smaller(array: np.ndarray, bits: int) -> np.ndarray:
    """The same numbers in fewer bytes: whole numbers exactly, in the smallest type that holds them; others to so many bits."""
    if array.dtype.kind == "f":
        if not array.size or (np.isfinite(array).all() and (array == np.rint(array)).all()):
            whole = array
        else:
            small = np.abs(array[np.isfinite(array)]).max(initial=0) < np.finfo(np.float32).max
            return _rounded(array.astype(np.float32), bits) if small else array
    elif array.dtype.kind in "iu":
        whole = array
    else:
        return array
    low, high = (int(whole.min()), int(whole.max())) if whole.size else (0, 0)
    for kind in (np.uint8, np.int8, np.uint16, np.int16, np.uint32, np.int32):
        if np.iinfo(kind).min <= low and high <= np.iinfo(kind).max:
            return whole.astype(kind)
    return array


def _rounded(array: np.ndarray, bits: int) -> np.ndarray:
    """A float32 array whose last binary digits are 0, which compresses well; infinity and NaN stay."""
    drop = 23 - bits
    if drop <= 0:
        return array
    digits = array.view(np.uint32)
    rounded = ((digits + np.uint32(1 << (drop - 1))) >> np.uint32(drop) << np.uint32(drop)).view(np.float32)
    return np.where(np.isfinite(array), rounded, array)


def _shuffled(array: np.ndarray) -> np.ndarray:
    """All first bytes, then all second ones, ...: neighbours are alike that way, and compress to less."""
    if array.dtype.itemsize == 1 or array.dtype.kind == "U":
        return array
    little = np.ascontiguousarray(array.astype(array.dtype.newbyteorder("<")))
    return np.ascontiguousarray(little.view(np.uint8).reshape(len(array), array.dtype.itemsize).T)


def _arrays(table: list, members: Mapping[str, np.ndarray]) -> list[np.ndarray]:
    flat, used = {}, dict.fromkeys(members, 0)
    for name, array in members.items():
        kind = np.dtype(f"<{name}")
        flat[name] = array if array.dtype == kind else np.ascontiguousarray(array.T).reshape(-1).view(kind)
    found = []
    for member, start, shape, kind in table:
        size = math.prod(shape)
        part = flat[member][start : start + size]
        if start < 0 or len(part) != size:
            raise ValueError(f"an array of shape {tuple(shape)} has {len(part)} numbers.")
        used[member] = max(used[member], start + size)
        found.append(part.astype(np.dtype(kind)).reshape(shape))
    if any(len(flat[name]) != end for name, end in used.items()):
        raise ValueError("it holds more numbers than its table of arrays.")
    return found


def _checksum(texts: Mapping[str, str], members: Mapping[str, np.ndarray]) -> str:
    digest = hashlib.sha256()
    for name, text in sorted(texts.items()):
        digest.update(f"{name}\0{text}\0".encode())
    for name, array in sorted(members.items()):
        digest.update(f"{name} {array.dtype.str} {array.shape}\0".encode() + array.tobytes())
    return digest.hexdigest()


# --- everything else ------------------------------------------------------------------------------------------
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
    if own.__module__.startswith(OURS):
        if dataclasses.is_dataclass(value):
            fields = {f.name: _outline(getattr(value, f.name), arrays) for f in dataclasses.fields(value)}
            return {"class": [own.__module__, own.__qualname__], "fields": fields}
        if isinstance(value, tuple):
            return {
                "class": [own.__module__, own.__qualname__],
                "items": [_outline(v, arrays) for v in value],
            }
    raise TypeError(f"{own.__module__}.{own.__qualname__} cannot be kept: {value!r:.80}")


def _fill(tree, arrays: list) -> Any:
    if not isinstance(tree, dict):
        return tree
    (kind, what), *rest = tree.items()
    if kind == "array":
        return arrays[what]
    if kind == "scalar":
        return arrays[what][()]
    if kind in ("list", "tuple"):
        items = [_fill(one, arrays) for one in what]
        return items if kind == "list" else tuple(items)
    if kind == "dict":
        return {_fill(k, arrays): _fill(v, arrays) for k, v in what}
    own = _class(*what)
    ((kind, parts),) = rest
    if kind == "items":
        return own(*(_fill(one, arrays) for one in parts))
    if set(parts) != {field.name for field in dataclasses.fields(own)}:
        raise ValueError(f"{own.__qualname__} has other fields than {', '.join(parts)}.")
    value = object.__new__(own)  # it was checked when it was made
    for name, part in parts.items():
        object.__setattr__(value, name, _fill(part, arrays))
    return value


def _class(module: str, name: str) -> type:
    if not module.startswith(OURS):
        raise ValueError(f"{module} is not a part of {' or '.join(one.rstrip('.') for one in OURS)}.")
    try:
        found = functools.reduce(getattr, name.split("."), importlib.import_module(module))
    except (ImportError, AttributeError):
        raise ValueError(f"there is no class {module}.{name}.") from None
    if not (dataclasses.is_dataclass(found) or (isinstance(found, type) and issubclass(found, tuple))):
        raise ValueError(f"{module}.{name} is not a dataclass.")
    return found
