"""Files of results, and the evidence that ships: what takes long is fitted and trained once, not by every reader.

A file is named by its stamp (`Stamp`): what it holds, the version of what makes it, and the weights, settings and data it was made from. No source
is read for that, so a changed comment or an unrelated function leaves every file as it is. Whoever changes what a result comes out as raises its
version where `bertlook_course.storage.cached` is called, or at ``@evidence`` above a collector.

Shipped evidence lies in ``data/evidence``, one npz file a result (`bertlook_course.storage.packing`: arrays and JSON, no pickle). It is made by
``python tools/make_evidence.py``; with ``--compare`` the command computes all of it again and names each result whose version was forgotten. The
stamp is the same on every processor, operating system, Python and library version. A file of another version or of other data, and one that is
damaged, is said and computed anew. The variable BERTLOOK_EVIDENCE names another folder, or "off".
"""

from __future__ import annotations

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
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Any

import numpy as np

from bertlook_teach.disk import data_path, write_file

from .packing import opened, pack

FORMAT = 2

MOST_BYTES = 10_000_000  # all files together
# Binary digits kept of a number that is not whole, and how large a file may be for that: the models' own float32 where it is small, else
# two millionths of each number. Fewer would not do: the heads of a random twin differ so little that a thousandth changes their order.
PRECISION = ((23, 60_000), (18, None))
# What is computed again may be so far from what is shipped: the mean distance of an array's numbers, as a share of their mean size.
# The forward passes of two processors differ in the sixth digit; fits that stop early, and training, carry that into the second.
TOLERANCE = 0.02
# Where a fit stopped below its tolerance, which a processor decides and no number rests on; not compared.
HOW_A_FIT_WENT = ("iterations", "gradient")

# Folders of the shipped data that results are computed on. Weights have a fingerprint of their own, published values decide nothing here.
INPUTS = ("keyphrases", "negation", "tasks", "texts", "treebank")


def evidence_folder() -> Path | None:
    """Where shipped evidence lies; None if it is not to be used."""
    named = os.environ.get("BERTLOOK_EVIDENCE")
    if named == "off":
        return None
    return Path(named).expanduser() if named else data_path("evidence")


# --- the stamp ------------------------------------------------------------------------------------------------
@dataclass(frozen=True)
class Stamp:
    """What a result is found by.

    Attributes
    ----------
    name : str
        What it is.
    version : int
        Of what makes it.
    key : str
        Fingerprints of the weights, and settings.
    data : str
        Digest of the data it was computed on.
    """

    name: str
    version: int
    key: str
    data: str

    @property
    def file_name(self) -> str:
        return self._pattern(str(self.version), self.data[:8])

    @property
    def any_file_name(self) -> str:
        """A pattern: the same result of any version, made from any data."""
        return self._pattern("*", "*")

    def _pattern(self, version: str, data: str) -> str:
        short = hashlib.sha256(f"{self.name}\0{self.key}".encode()).hexdigest()[:10]
        return f"{re.sub(r'[^a-z0-9]+', '-', self.name.lower())}-v{version}-{short}-{data}.npz"


@functools.cache
def data_digest() -> str:
    """Of the shipped texts, treebanks and tasks (``INPUTS``), whatever ends their lines on this system."""
    digest = hashlib.sha256()
    files = (file for folder in INPUTS for file in data_path(folder).rglob("*") if file.is_file())
    for name, file in sorted((file.relative_to(data_path()), file) for file in files if file.suffix != ".md"):
        digest.update(name.as_posix().encode() + b"\0" + file.read_bytes().replace(b"\r\n", b"\n") + b"\0")
    return digest.hexdigest()[:32]


# --- files ----------------------------------------------------------------------------------------------------
@dataclass(frozen=True)
class Kept:
    """One file of results.

    Attributes
    ----------
    file : Path
    stamp : Stamp
    problem : str
        Why it cannot be used; empty if it can.
    value : function without arguments
        Gives what is in it; ValueError if it is damaged inside.
    made_with : str
        Processor and versions, for information.
    """

    file: Path
    stamp: Stamp = Stamp("", 0, "", "")
    problem: str = ""
    value: Callable[[], Any] = lambda: None
    made_with: str = ""


def read(file: Path) -> Kept:
    """A file with what speaks against using it; its arrays are unpacked by ``value``."""
    try:
        note, value = opened(file.read_bytes())
    except OSError as why:
        return Kept(file, problem=f"cannot be read ({why.strerror})")
    except ValueError as why:
        return Kept(file, problem=f"is damaged ({why})")
    if note.get("format") != FORMAT:
        return Kept(file, problem=f"has format {note.get('format')!r}, not {FORMAT}")
    stamp = Stamp(*(note.get(field.name) for field in dataclasses.fields(Stamp)))
    problem = "" if file.name == stamp.file_name else "does not hold what its name says"
    return Kept(file, stamp, problem, value, str(note.get("made_with", "")))


def find(folder: Path, stamp: Stamp) -> tuple[Any] | None:
    """The result, alone in a tuple, or None. A file that is there and cannot be used is warned of."""
    file = folder / stamp.file_name
    if not os.path.exists(file):  # False too in a folder that may not be entered, where Path.exists raises
        return None
    kept = read(file)
    problem = kept.problem
    if not problem:
        try:
            return (kept.value(),)
        except ValueError as why:
            problem = f"is damaged ({why})"
    unfit(file, problem)
    return None


def warn_of_others(folder: Path, stamp: Stamp) -> None:
    """Say which files hold this result, but of another version or made from other data."""
    for file in sorted(folder.glob(stamp.any_file_name)):
        if file.name != stamp.file_name:
            other = read(file)
            same = other.stamp.version == stamp.version
            why = "was made from other data" if same else f"has another version than {stamp.version}"
            unfit(file, other.problem or why)


def unfit(file: Path, why: str) -> None:
    """Say that a file is not used."""
    warnings.warn(
        f"kept result {file.name} {why}; computed here instead (python tools/make_evidence.py makes shipped evidence anew)",
        stacklevel=2,
    )


def write(folder: Path, stamp: Stamp, value: Any, *, exact: bool = False) -> None:
    """Put a result, as `bertlook_course.storage.pack` takes it, into a folder; as a whole or not at all.

    Parameters
    ----------
    folder : Path
    stamp : Stamp
    value
    exact : bool
        Keep every bit. Default: round as ``PRECISION`` says, and put it in the place of other versions.
    """
    note = dataclasses.asdict(stamp) | {"format": FORMAT, "made_with": _made_with()}
    if exact:
        write_file(folder / stamp.file_name, pack(value, note=note))
        return
    for bits, most in PRECISION:
        content = pack(value, bits=bits, note=note)
        if most is None or len(content) <= most:
            break
    write_file(folder / stamp.file_name, content)
    for file in folder.glob(stamp.any_file_name):
        if file.name != stamp.file_name:
            file.unlink()


@functools.cache
def _made_with() -> str:
    """Lessons that only read a BERT do without torch and transformers."""
    libraries = []
    for library in ("numpy", "scipy", "tokenizers", "torch", "transformers"):
        with contextlib.suppress(PackageNotFoundError):
            libraries.append(f"{library} {version(library)}")
    machine = f"{platform.system()} {platform.machine()}"
    return ", ".join([machine, f"Python {platform.python_version()}", *libraries])


def shipped_files(identities: Iterable[str] = ()) -> Iterator[Kept]:
    """All files of shipped evidence, each with the reason why it cannot be used, if there is one.

    Parameters
    ----------
    identities : iterable of str
        Of the models that evidence may be of (`Encoder.fingerprint`); evidence of none of them is of other weights. Empty: not asked.
    """
    identities = list(identities)
    folder = evidence_folder()
    for file in sorted(folder.glob("*.npz")) if folder is not None else ():
        found = read(file)
        problem = found.problem
        if not problem and identities and not any(one in found.stamp.key for one in identities):
            problem = "is of other weights"
        if not problem and found.stamp.data != data_digest():
            problem = "was made from other data"
        if not problem:
            try:
                found.value()
            except ValueError as why:
                problem = f"is damaged ({why})"
        yield replace(found, problem=problem)


# --- compared -------------------------------------------------------------------------------------------------
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
        if name not in HOW_A_FIT_WENT
        for text in differences(one[name], other[name], f"{where}.{name}" if where else str(name))
    ]
