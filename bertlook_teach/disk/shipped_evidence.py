"""Results that come with the course: what takes long is fitted and trained once, not by every reader.

They lie in ``data/evidence``, one npz file each (`bertlook_teach.disk.packing`: arrays and JSON, no pickle), and are made by one command,
``python tools/make_evidence.py``. `bertlook_teach.disk.cached` looks there first. A file is used only if its digest fits, and this
digest is the same on every processor, operating system, Python and library version. It is taken of

- the name of the result and its key: weights, texts, settings;
- the shipped texts, treebanks and tasks (``INPUTS``);
- the sources that compute it: the module that makes it and all that it imports (`computing_sources`).

So a change of a slide, a view, a command or a picture leaves the evidence as it is, and a change of a measure or a fit makes it stale.
What is stale, damaged or of another model is said and computed anew. The variable BERTLOOK_EVIDENCE names another folder, or "off".
"""

from __future__ import annotations

import ast
import contextlib
import dataclasses
import functools
import hashlib
import os
import platform
import re
import warnings
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, replace
from importlib.metadata import version
from pathlib import Path
from typing import Any

import numpy as np

from .files import write_file
from .packing import opened, pack
from .paths import data_path

FORMAT = 1

MOST_BYTES = 6_000_000  # all files together
# Binary digits kept of a number that is not whole, and how large a file may be for that: the models' own float32 where it is small, else
# two millionths of each number. Fewer would not do: the heads of a random twin differ so little that a thousandth changes their order.
PRECISION = ((23, 60_000), (18, MOST_BYTES))
# What is computed again may be so far from what is shipped: the mean distance of an array's numbers, as a share of their mean size.
# The forward passes of two processors differ in the sixth digit; fits that stop early, and training, carry that into the second.
TOLERANCE = 0.02

PACKAGE = Path(__file__).resolve().parent.parent

# Folders of the shipped data that results are computed on. Weights have a digest of their own, published values decide nothing here.
INPUTS = ("keyphrases", "negation", "tasks", "texts", "treebank")

# Rooms that keep results, and compute none.
KEEPING = ("disk",)

_IMPORT = re.compile(
    r"^[ \t]*(?:from[ \t]+(\.+[\w.]*|bertlook_teach[\w.]*)[ \t]+import[ \t]+(\([^)]*\)|[^\n#]*)|import[ \t]+(bertlook_teach\.[\w.]+))",
    re.MULTILINE,
)


def evidence_folder() -> Path | None:
    """Where shipped evidence lies; None if it is not to be used."""
    named = os.environ.get("BERTLOOK_EVIDENCE")
    if named == "off":
        return None
    return Path(named).expanduser() if named else data_path("evidence")


# --- the digest -----------------------------------------------------------------------------------------------
def portable_digest(name: str, key: str, modules: Iterable[str]) -> str:
    """What shipped evidence is found by, the same on every computer: see the module's text.

    Parameters
    ----------
    name : str
    key : str
        The key of the result, as text.
    modules : iterable of str
        Full names of the modules that make it.
    """
    parts = [f"{FORMAT}", name, key, _inputs(), *(_sources(module) for module in sorted(set(modules)))]
    return hashlib.sha256("\0".join(parts).encode()).hexdigest()[:32]


def computing_sources(module: str) -> list[Path]:
    """The source files that a result of this module depends on: the module and all that it imports of this package, at any depth.

    Found in the text, so it takes no import and a few hundredths of a second. The package's own front (``__init__.py`` of the root:
    version, shortcuts) and the modules that only keep results (``KEEPING``) do not count.
    """
    start = _file(tuple(module.removeprefix("bertlook_teach").strip(".").split(".")))
    if start is None:
        raise ValueError(f"{module} is not a module of bertlook_teach, so it can ship no evidence.")
    found, waiting = set(), [start]
    while waiting:
        file = waiting.pop()
        if file not in found:
            found.add(file)
            waiting += _imported(file)
    return sorted(found)


@functools.cache
def _imported(file: Path) -> tuple[Path, ...]:
    found = set()
    here = file.relative_to(PACKAGE).parent.parts
    for start, names, whole in _IMPORT.findall(file.read_text(encoding="utf-8")):
        if whole:
            base, what = tuple(whole.split(".")[1:]), []
        else:
            dots = len(start) - len(start.lstrip("."))
            above = here[: len(here) + 1 - dots] if dots else ()
            base = (*above, *filter(None, start.lstrip(".").split(".")[0 if dots else 1 :]))
            what = re.findall(r"(\w+)(?:[ \t]+as[ \t]+\w+)?", names)
        door = _file(base)
        handed_on = _handed_on(door) if door is not None and door.name == "__init__.py" else {}
        found |= {door, *(handed_on.get(one) or _file((*base, one)) for one in what)}
    return tuple(file for file in found if file is not None and _computes(file))


@functools.cache
def _handed_on(door: Path) -> dict[str, Path]:
    """Name -> file, of what a room hands on (``_HOMES`` in its ``__init__.py``)."""
    for node in ast.parse(door.read_text(encoding="utf-8")).body:
        if isinstance(node, ast.Assign) and ast.unparse(node.targets[0]) == "_HOMES":
            homes = ast.literal_eval(node.value).items()
            files = {file: door.parent.joinpath(*file.split(".")).with_suffix(".py") for file, _ in homes}
            return {name: files[file] for file, names in homes for name in names.split()}
    return {}


def _file(parts: tuple[str, ...]) -> Path | None:
    if not any(parts):
        return None
    path = PACKAGE.joinpath(*parts)
    for file in (path.with_suffix(".py"), path / "__init__.py"):
        if file.is_file():
            return file
    return None


def _computes(file: Path) -> bool:
    return file.name != "__init__.py" and file.relative_to(PACKAGE).parts[0] not in KEEPING


@functools.cache
def _sources(module: str) -> str:
    return _digest((file.relative_to(PACKAGE), file) for file in computing_sources(module))


@functools.cache
def _inputs() -> str:
    files = (file for folder in INPUTS for file in data_path(folder).rglob("*") if file.is_file())
    return _digest((file.relative_to(data_path()), file) for file in files if file.suffix != ".md")


def _digest(files: Iterable[tuple[Path, Path]]) -> str:
    """Of texts, whatever ends their lines on this system."""
    digest = hashlib.sha256()
    for name, file in sorted(files):
        digest.update(name.as_posix().encode() + b"\0" + file.read_bytes().replace(b"\r\n", b"\n") + b"\0")
    return digest.hexdigest()


# --- files ----------------------------------------------------------------------------------------------------
def find(name: str, key: str, modules: Iterable[str]) -> tuple[Any] | None:
    """The shipped result, alone in a tuple, or None. A file that is there and does not fit is warned of."""
    folder = evidence_folder()
    if folder is None or not (file := folder / file_name(name, key)).exists():
        return None  # nobody shipped any
    shipped = _read(file)
    problem = shipped.problem
    if not problem and shipped.digest != portable_digest(name, key, modules):
        problem = "was made with other weights, texts, settings or sources"
    if not problem:
        try:
            found = (shipped.value(),)
        except ValueError as why:
            problem = f"is damaged ({why})"
        else:
            _used.add(file.name)
            return found
    return unfit(file, problem)


_used: set[str] = set()


@contextlib.contextmanager
def noting() -> Iterator[set[str]]:
    """Gives a set that fills with the names of the files that are used in here."""
    _used.clear()
    yield _used


def unfit(file: Path | str, why: str) -> None:
    """Say that a file is not used."""
    warnings.warn(
        f"shipped evidence {Path(file).name} {why}; computed here instead (python tools/make_evidence.py makes it anew)",
        stacklevel=2,
    )


def write(name: str, key: str, modules: Iterable[str], value: Any) -> Path:
    """Put a result, as `bertlook_teach.disk.pack` takes it, into the folder; as a whole or not at all."""
    folder = evidence_folder()
    if folder is None:
        raise ValueError("BERTLOOK_EVIDENCE says off, so there is no folder for shipped evidence.")
    modules = sorted(set(modules))
    note = {"format": FORMAT, "name": name, "key": key, "modules": modules, "made_with": _made_with()}
    note["digest"] = portable_digest(name, key, modules)
    return write_file(folder / file_name(name, key), _packed(value, note))


def _made_with() -> str:
    versions = (
        f"{library} {version(library)}"
        for library in ("numpy", "scipy", "tokenizers", "torch", "transformers")
    )
    return ", ".join(
        [f"{platform.system()} {platform.machine()}", f"Python {platform.python_version()}", *versions]
    )


def differences(shipped: Any, again: Any, where: str = "") -> list[str]:
    """Where what was computed again is another thing than what is shipped, in words.

    Structure, names, whole numbers that are not counts of an array, and shapes have to be the same; the numbers of an array may differ by
    ``TOLERANCE`` of their mean size, on average, and so may a single number.
    """
    if dataclasses.is_dataclass(shipped) and type(shipped) is type(again):
        names = [field.name for field in dataclasses.fields(shipped)]
        return _differ({n: getattr(shipped, n) for n in names}, {n: getattr(again, n) for n in names}, where)
    if isinstance(shipped, dict) and isinstance(again, dict):
        return _differ(shipped, again, where)
    if isinstance(shipped, list | tuple) and isinstance(again, list | tuple):
        return _differ(dict(enumerate(shipped)), dict(enumerate(again)), where)
    if isinstance(shipped, np.ndarray | np.number | float) and not isinstance(shipped, bool):
        one, other = np.asarray(shipped), np.asarray(again)
        if one.shape != other.shape or one.dtype.kind != other.dtype.kind:
            return [
                f"{where or 'it'}: {one.dtype} of shape {one.shape}, now {other.dtype} of shape {other.shape}"
            ]
        if one.dtype.kind not in "fiu":
            return [] if (one == other).all() else [f"{where or 'it'}: other entries"]
        one, other = one.astype(float), other.astype(float)
        if not np.array_equal(np.isfinite(one), np.isfinite(other)):
            return [f"{where or 'it'}: numbers where there were none, or none where there were"]
        finite = np.isfinite(one)
        size, distance = np.abs(one[finite]), np.abs(one[finite] - other[finite])
        if size.size and distance.mean() > TOLERANCE * size.mean() + 1e-6:
            return [f"{where or 'it'}: {distance.mean():.3g} away, mean size {size.mean():.3g}"]
        return []
    return [] if shipped == again else [f"{where or 'it'}: {shipped!r:.60}, now {again!r:.60}"]


def _differ(one: dict, other: dict, where: str) -> list[str]:
    if list(one) != list(other):
        return [f"{where or 'it'}: {', '.join(map(str, one))}; now {', '.join(map(str, other))}"[:200]]
    return [
        text
        for name in one
        for text in differences(one[name], other[name], f"{where}.{name}" if where else str(name))
    ]


def _packed(value: Any, note: dict) -> bytes:
    for bits, most in PRECISION:
        content = pack(value, bits=bits, note=note)
        if len(content) <= most:
            return content
    raise ValueError(
        f"{note['name']} takes {len(content) / 1e6:.1f} MB; all evidence may have {MOST_BYTES / 1e6:.0f}."
    )


@dataclass(frozen=True)
class Shipped:
    """One file of shipped evidence.

    Attributes
    ----------
    file : Path
    name, key, digest : str
    modules : tuple of str
    problem : str
        Why it cannot be used; empty if it can.
    value : function without arguments
        Gives what is in it; ValueError if it is damaged inside.
    made_with : str
        Processor and versions, for information.
    """

    file: Path
    name: str = ""
    key: str = ""
    modules: tuple[str, ...] = ()
    digest: str = ""
    problem: str = ""
    value: Callable[[], Any] = lambda: None
    made_with: str = ""


def shipped_files(identities: Iterable[str] = ()) -> Iterator[Shipped]:
    """All files of the folder, each with what speaks against using it.

    Parameters
    ----------
    identities : iterable of str
        Of the models that evidence may be of (`Encoder.fingerprint`); evidence of none of them is of other weights. Empty: not asked.
    """
    identities = list(identities)
    folder = evidence_folder()
    for file in sorted(folder.glob("*.npz")) if folder is not None else ():
        found = _read(file)
        problem = found.problem
        if not problem and identities and not any(one in found.key for one in identities):
            problem = "is of other weights"
        if not problem and found.digest != _expected(found):
            problem = "is stale: its sources or texts have changed"
        if not problem and file.name != file_name(found.name, found.key):
            problem = "has another name than its content"
        if not problem:
            try:
                found.value()
            except ValueError as why:
                problem = f"is damaged ({why})"
        yield replace(found, problem=problem)


def _expected(found: Shipped) -> str | None:
    try:
        return portable_digest(found.name, found.key, found.modules)
    except ValueError:  # a module that is no more
        return None


def _read(file: Path) -> Shipped:
    try:
        note, value = opened(file.read_bytes())
    except OSError as why:
        return Shipped(file, problem=f"cannot be read ({why.strerror})")
    except ValueError as why:
        return Shipped(file, problem=f"is damaged ({why})")
    if note.get("format") != FORMAT:
        return Shipped(file, problem=f"has format {note.get('format')!r}, not {FORMAT}")
    name, key, digest = (str(note.get(part, "")) for part in ("name", "key", "digest"))
    modules = tuple(map(str, note.get("modules", ())))
    return Shipped(file, name, key, modules, digest, "", value, str(note.get("made_with", "")))


def file_name(name: str, key: str) -> str:
    """What the file of a result is called, whatever it was computed with."""
    short = hashlib.sha256(f"{name}\0{key}".encode()).hexdigest()[:10]
    return f"{re.sub(r'[^a-z0-9]+', '-', name.lower())}-{short}.npz"
