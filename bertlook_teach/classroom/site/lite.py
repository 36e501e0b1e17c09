"""The exercises in a JupyterLite: Python in the reader's browser, out of a folder that holds Pyodide.

Compiled packages come from Pyodide's folder, pure Python ones from there or from this installation, and this package from its files. All of them stand in
one lock beside Pyodide, so an ``import`` in a notebook loads what it needs and nothing is asked of another host.
"""

from __future__ import annotations

import hashlib
import io
import json
import re
import subprocess
import sys
import tempfile
import zipfile
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field, replace
from email import message_from_bytes
from functools import cache
from importlib.metadata import PackageNotFoundError, distribution, version
from importlib.util import find_spec
from pathlib import Path, PurePosixPath

from ...disk import data_path, write_file, write_json
from ..export.errors import ExportError

RUN_IN_PAGE = (
    "01",
    "02",
    "03",
    "05",
    "06",
    "07",
    "09",
    "13",
)  # exercises that need no torch, processes, threads

LAB = "lite/lab/index.html"

CORE = ("pyodide.mjs", "pyodide.asm.mjs", "pyodide.asm.wasm", "python_stdlib.zip", "pyodide-lock.json")

# What an import of this package may ask for, and what the kernel of JupyterLite starts with.
WANTED = (
    "numpy",
    "scipy",
    "matplotlib",
    "ipywidgets",
    "anywidget",
    "array-api-compat",
    "conllu",
    "tqdm",
    "packaging",
)
KERNEL = ("micropip", "packaging", "comm", "ipython", "jedi")

KERNEL_OF_THE_PAGE = {"name": "python", "display_name": "Python (Pyodide)", "language": "python"}

FRONT_END = ("widgetsnbextension", "jupyterlab-widgets")  # required by ipywidgets; here the page has them

EXTENSIONS = ("@jupyter-widgets/jupyterlab-manager", "anywidget", "@jupyterlite/pyodide-kernel-extension")

LARGEST_FILE = 200_000_000  # bytes

_PACKAGE = Path(__file__).resolve().parent.parent.parent

_COMPILED = (".so", ".pyd", ".dll", ".dylib")


@dataclass
class Wheel:
    """A package as Pyodide's lock names it."""

    name: str
    version: str
    file_name: str
    content: bytes
    imports: list[str]
    depends: list[str]

    def entry(self) -> dict[str, object]:
        return {
            "name": self.name,
            "version": self.version,
            "file_name": self.file_name,
            "install_dir": "site",
            "sha256": hashlib.sha256(self.content).hexdigest(),
            "package_type": "package",
            "imports": self.imports,
            "depends": self.depends,
            "unvendored_tests": False,
            "tool": {},
        }


@dataclass
class Pyodide:
    """What was found in a folder: the lock for the site, and the files beside it by name."""

    lock: dict[str, object]
    files: dict[str, bytes] = field(default_factory=dict)


def lite_files(folder: Path, wanted: Sequence[str] = WANTED) -> Pyodide:
    """Everything the Python of the page needs.

    Parameters
    ----------
    folder : Path
        Of Pyodide, unpacked.
    wanted : sequence of str
        Packages besides the kernel's own and this one.

    Raises
    ------
    ExportError
        If the folder is none, is of another version, is damaged, or lacks a package; the message says what to put there.
    """
    folder = Path(folder)
    lock = _lock_of(folder)
    found = Pyodide(
        {"info": lock["info"], "packages": {}}, {name: _bytes(folder / name) for name in CORE[:-1]}
    )
    waiting, missing, missed = [*KERNEL, *wanted], [], set()
    while waiting:
        name = canonical(waiting.pop())
        if name in found.lock["packages"] or name in missed or name in FRONT_END:
            continue
        there = lock["packages"].get(name)
        entry, file_name, content = _listed(folder, there)
        if content is None:
            wheel = _beside(folder, name) or repacked(name)
            if wheel is None:
                missing.append(str((there or {}).get("file_name", f"a pure Python wheel of {name}")))
                waiting += (there or {}).get("depends", [])  # they are missed in one go
                missed.add(name)
                continue
            entry, file_name, content = wheel.entry(), wheel.file_name, wheel.content
        found.lock["packages"][name], found.files[file_name] = entry, content
        waiting += entry["depends"]
    if missing:
        raise ExportError(
            f"{folder} lacks {', '.join(sorted(missing))}. The exercises need them: take the full distribution of Pyodide {needed_version()} "
            "(pyodide-VERSION.tar.bz2, not the core one) and unpack it there."
        )
    own = own_wheel([canonical(name) for name in wanted])
    found.lock["packages"][own.name], found.files[own.file_name] = own.entry(), own.content
    found.files[CORE[-1]] = json.dumps(found.lock, indent=1, sort_keys=True).encode()
    return found


def _listed(folder: Path, entry) -> tuple[dict | None, str, bytes | None]:
    """A package of Pyodide's own lock, if it lies in the folder; a pure Python one may be another build of it, which is not one of the lock's."""
    if not isinstance(entry, dict) or not {"file_name", "sha256", "depends"} <= set(entry):
        return None, "", None
    name = Path(str(entry["file_name"])).name
    if not (folder / name).is_file():
        return None, "", None
    content = _bytes(folder / name)
    if hashlib.sha256(content).hexdigest() == entry["sha256"]:
        return entry, name, content
    if name.endswith("-none-any.whl"):
        return None, "", None
    raise ExportError(f"{folder / name} is not the file that {CORE[-1]} names; unpack Pyodide anew.")


def needed_version() -> str:
    """The Pyodide that the installed kernel of JupyterLite was made for."""
    from jupyterlite_pyodide_kernel.constants import PYODIDE_VERSION

    return PYODIDE_VERSION


def canonical(name: str) -> str:
    """A package's name as locks spell it."""
    return re.sub(r"[-_.]+", "-", name).lower()


def _lock_of(folder: Path) -> dict:
    """The lock of a folder that is Pyodide's, of the right version."""
    what = f"Pyodide {needed_version()}, unpacked"
    if not folder.is_dir():
        raise ExportError(f"{folder} is not a folder. --lite wants the folder of {what}.")
    if absent := [name for name in CORE if not (folder / name).is_file()]:
        inside = (
            " Its folder pyodide is one level deeper?" if (folder / "pyodide" / CORE[0]).is_file() else ""
        )
        raise ExportError(f"{folder} lacks {', '.join(absent)}. --lite wants the folder of {what}.{inside}")
    try:
        lock = json.loads(_bytes(folder / CORE[-1]))
        python, packages = lock["info"]["python"], lock["packages"]
        usual = isinstance(packages, dict) and isinstance(python, str)
    except (ValueError, KeyError, TypeError, RecursionError):
        usual = False
    if not usual:
        raise ExportError(f"{folder / CORE[-1]} is damaged; unpack Pyodide anew.")
    from jupyterlite_pyodide_kernel.constants import PYODIDE_PYTHON_VERSION

    if not python.startswith(f"{PYODIDE_PYTHON_VERSION}."):
        raise ExportError(
            f"{folder} holds Python {python}; the installed kernel of JupyterLite runs {PYODIDE_PYTHON_VERSION}, which is in {what}."
        )
    return lock


def _bytes(path: Path) -> bytes:
    if path.stat().st_size > LARGEST_FILE:
        raise ExportError(
            f"{path} has {path.stat().st_size / 1e6:,.0f} MB; no file of Pyodide is that large."
        )
    return path.read_bytes()


# --- wheels -------------------------------------------------------------------------------------------------------
def _beside(folder: Path, name: str) -> Wheel | None:
    """A pure Python wheel of this package that somebody put into Pyodide's folder."""
    for path in sorted(folder.glob("*-none-any.whl")):
        if canonical(path.name.split("-")[0]) != name:
            continue
        content = _bytes(path)
        try:
            with zipfile.ZipFile(io.BytesIO(content)) as wheel:
                about = next(one for one in wheel.namelist() if one.endswith(".dist-info/METADATA"))
                asked = message_from_bytes(wheel.read(about))
                tops = {
                    one.split("/")[0].removesuffix(".py") for one in wheel.namelist() if one.endswith(".py")
                }
        except (zipfile.BadZipFile, StopIteration, RuntimeError, NotImplementedError):
            raise ExportError(f"{path} is not a wheel that can be read.") from None
        imports = sorted(top for top in tops if top.isidentifier())
        return Wheel(
            name,
            path.name.split("-")[1],
            path.name,
            content,
            imports,
            _requires(asked.get_all("Requires-Dist")),
        )
    return None


def repacked(name: str) -> Wheel | None:
    """An installed package as a wheel; None where it is missing, or nothing without its compiled parts."""
    try:
        found = distribution(name)
    except PackageNotFoundError:
        return None
    files = {PurePosixPath(path): Path(path.locate()) for path in found.files or () if ".." not in path.parts}
    modules = {path.parent / path.name.split(".")[0] for path in files if path.suffix == ".py"}
    packed = {}
    for path, place in sorted(files.items()):
        if path.suffix in _COMPILED:
            if path.parent / path.name.split(".")[0] not in modules and "__mypyc" not in path.name:
                return None  # numpy; what mypyc compiled (psygnal) is there in Python too
        elif (
            path.suffix != ".pyc"
            and path.name not in ("RECORD", "INSTALLER", "REQUESTED", "direct_url.json")
            and place.is_file()
        ):
            packed[str(path)] = place.read_bytes()
    tops = {path.parts[0].removesuffix(".py") for path in files if path.suffix == ".py"}
    return _wheel(
        name,
        found.version,
        packed,
        sorted(top for top in tops if top.isidentifier()),
        _requires(found.requires),
    )


def _requires(lines: Iterable[str] | None) -> list[str]:
    """What a package asks for in the page's Python."""
    from jupyterlite_pyodide_kernel.constants import PYODIDE_PYTHON_VERSION
    from packaging.requirements import Requirement

    there = {"sys_platform": "emscripten", "platform_system": "Emscripten", "os_name": "posix", "extra": ""}
    there |= {"python_version": PYODIDE_PYTHON_VERSION, "python_full_version": f"{PYODIDE_PYTHON_VERSION}.0"}
    asked = [Requirement(line) for line in lines or ()]
    names = {canonical(one.name) for one in asked if one.marker is None or one.marker.evaluate(there)}
    return sorted(names - set(FRONT_END))


def own_wheel(depends: Sequence[str]) -> Wheel:
    """This package with its data, as a wheel has it."""
    return replace(_own(), depends=list(depends))


@cache
def _own() -> Wheel:
    packed = _tree(_PACKAGE, "bertlook_teach") | _tree(data_path(), "bertlook_teach/data")
    bibliography = _PACKAGE.parent / "docs" / "bibliography.bib"
    if bibliography.is_file():
        packed["bertlook_teach/docs/bibliography.bib"] = bibliography.read_bytes()
    number = version("bertlook_teach")
    about = f"bertlook_teach-{number}.dist-info"
    packed[f"{about}/METADATA"] = f"Metadata-Version: 2.1\nName: bertlook_teach\nVersion: {number}\n".encode()
    packed[f"{about}/WHEEL"] = (
        b"Wheel-Version: 1.0\nGenerator: bertlook\nRoot-Is-Purelib: true\nTag: py3-none-any\n"
    )
    return _wheel("bertlook-teach", number, packed, ["bertlook_teach"], [])


def _tree(folder: Path, place: str) -> dict[str, bytes]:
    """What lies in a folder, but for decks and notebooks."""
    skipped = {"__pycache__", "slides", "notebooks"}
    paths = sorted(path for path in folder.rglob("*") if path.is_file())
    inside = ((path, path.relative_to(folder)) for path in paths)
    return {
        f"{place}/{name.as_posix()}": path.read_bytes()
        for path, name in inside
        if not skipped & set(name.parts)
    }


def _wheel(name: str, number: str, packed: dict[str, bytes], imports: list[str], depends: list[str]) -> Wheel:
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w", zipfile.ZIP_DEFLATED, compresslevel=6) as wheel:
        for place, content in packed.items():
            entry = zipfile.ZipInfo(place)  # 1980: the same files give the same bytes
            entry.compress_type = zipfile.ZIP_DEFLATED
            wheel.writestr(entry, content)
    file_name = f"{canonical(name).replace('-', '_')}-{number}-py3-none-any.whl"
    return Wheel(canonical(name), number, file_name, buffer.getvalue(), imports, depends)


# --- the site -----------------------------------------------------------------------------------------------------
def missing_tools() -> list[str]:
    """What must be installed first."""
    needs = {
        "jupyterlite_core": "jupyterlite-core",
        "jupyterlite_pyodide_kernel": "jupyterlite-pyodide-kernel",
    }
    return [name for module, name in needs.items() if find_spec(module) is None]


def build_lite(out: Path, exercises: Iterable[Path], pyodide: Pyodide) -> list[str]:
    """Write JupyterLite into ``out / "lite"``; the paths below ``out`` are given back.

    Raises
    ------
    ExportError
        If JupyterLite's own builder fails.
    """
    extensions = Path(sys.prefix, "share", "jupyter", "labextensions")
    with tempfile.TemporaryDirectory(prefix="bertlook-lite-") as place:
        room = Path(place)
        for path in exercises:
            notebook = json.loads(path.read_text(encoding="utf-8"))
            notebook["metadata"]["kernelspec"] = KERNEL_OF_THE_PAGE  # or the page asks which kernel is meant
            write_json(room / "contents" / path.name, notebook)
        for name, content in pyodide.files.items():
            write_file(room / "static" / "pyodide" / name, content)
        kernel = {"disablePyPIFallback": True, "loadPyodideOptions": {"packages": list(KERNEL)}}
        page = {
            "appName": "bertlook",
            "enableMemoryStorage": True,
            "disabledExtensions": ["@jupyterlab/apputils-extension:announcements"],
            "litePluginSettings": {"@jupyterlite/pyodide-kernel-extension:kernel": kernel},
        }
        write_json(
            room / "jupyter-lite.json", {"jupyter-lite-schema-version": 0, "jupyter-config-data": page}
        )
        settings = {
            "apps": ["lab"],
            "contents": ["contents"],
            "federated_extensions": [str(extensions / name) for name in EXTENSIONS],
            "ignore_sys_prefix": ["federated_extensions"],
            "no_sourcemaps": True,
            "no_unused_shared_packages": True,
            "output_dir": str(room / "made"),
            "cache_dir": str(room / "cache"),
        }
        write_json(room / "jupyter_lite_config.json", {"LiteBuildConfig": settings})
        command = [sys.executable, "-m", "jupyterlite_core", "build"]
        done = subprocess.run(command, check=False, capture_output=True, text=True, cwd=room)
        if done.returncode or not (room / "made" / "lab" / "index.html").is_file():
            said = (done.stderr or done.stdout).strip().splitlines()
            raise ExportError(f"jupyter lite build failed: {' '.join(said[-3:]) or 'no reason given'}")
        written = []
        for path in sorted((room / "made").rglob("*")):
            if path.is_file():
                name = f"lite/{path.relative_to(room / 'made').as_posix()}"
                write_file(out / name, path.read_bytes())
                written.append(name)
    return written
