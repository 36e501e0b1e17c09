"""Whether constraints.txt can be installed on every supported Python and system, asked of the package index from this machine.

    python tools/check_constraints.py                                     all of them, some five minutes
    python tools/check_constraints.py --python 3.14 --system macos-arm64  one
    python tools/check_constraints.py --no-pip                            only the first of the two questions, some three minutes

For each, two questions:
1. uv resolves what pyproject.toml asks for under the constraints, wheels only. Everything it finds must be pinned, or an installation
   would differ from day to day; only the CUDA libraries are torch's own affair. This reads metadata and downloads no wheel.
2. pip finds a wheel for each of these pins (`pip install --dry-run --only-binary=:all:`), in the version of pip that is newest now: older ones
   ask the Python they run on. Not for torch, whose wheel pip would download whole (0.4 GB and more); the first question covers it.

The indexes are those that pip is configured for. Exits with 1 if anything is missing.
"""

from __future__ import annotations

import argparse
import os
import re
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator, Sequence
from itertools import product
from pathlib import Path

from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

ROOT = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT))

import start

PYTHONS = tuple(f"3.{minor}" for minor in range(start.OLDEST[1], start.NEWEST[1] + 1))
# How uv calls a system, and which wheels pip may take there. The oldest that PyTorch supports: glibc 2.28, macOS 14.
SYSTEMS = {
    "linux-x86_64": (
        "x86_64-manylinux_2_28",
        [f"manylinux_2_{minor}_x86_64" for minor in range(28, 4, -1)] + ["manylinux2014_x86_64"],
    ),
    "linux-arm64": (
        "aarch64-manylinux_2_28",
        [f"manylinux_2_{minor}_aarch64" for minor in range(28, 16, -1)] + ["manylinux2014_aarch64"],
    ),
    "windows-x86_64": ("x86_64-pc-windows-msvc", ["win_amd64"]),
    "macos-arm64": (
        "aarch64-apple-darwin",
        [f"macosx_{major}_0_{kind}" for major in range(14, 10, -1) for kind in ("arm64", "universal2")]
        + ["macosx_10_9_universal2", "macosx_10_13_universal2"],
    ),
}
MARKERS = {
    "linux-x86_64": {"sys_platform": "linux", "os_name": "posix", "platform_machine": "x86_64"},
    "linux-arm64": {"sys_platform": "linux", "os_name": "posix", "platform_machine": "aarch64"},
    "windows-x86_64": {"sys_platform": "win32", "os_name": "nt", "platform_machine": "AMD64"},
    "macos-arm64": {"sys_platform": "darwin", "os_name": "posix", "platform_machine": "arm64"},
}
OF_TORCH = re.compile(r"(nvidia-|cuda-|triton$)")  # what only a CUDA build asks for, in versions it names


def pins(text: str, python: str, system: str) -> dict[str, str]:
    """The constraints that apply to a Python version ("3.11.0") on a system, as {name: version}.

    Raises ValueError for a line that is no pin, or that pins a name again.
    """
    place = {
        **MARKERS[system],
        "python_version": python.rpartition(".")[0],
        "python_full_version": python,
        "implementation_name": "cpython",
        "platform_python_implementation": "CPython",
    }
    found = {}
    for line in text.splitlines():
        line = line.split("#")[0].strip()
        if not line:
            continue
        requirement = Requirement(line)
        if requirement.marker is not None and not requirement.marker.evaluate(place):
            continue
        name, specifiers = canonicalize_name(requirement.name), list(requirement.specifier)
        if len(specifiers) != 1 or specifiers[0].operator != "==":
            raise ValueError(f"{line!r} pins no version")
        if name in found:
            raise ValueError(f"{name} is pinned twice for Python {python} on {system}")
        found[name] = specifiers[0].version
    return found


def constraints() -> str:
    """The text of constraints.txt."""
    return Path(start.CONSTRAINTS).read_text(encoding="utf-8")


def patches(python: str, system: str) -> list[str]:
    """The versions to ask for: the first of "3.11", and a late one where other pins apply to it."""
    first, late = f"{python}.0", f"{python}.9"
    text = constraints()
    return [first] if pins(text, first, system) == pins(text, late, system) else [first, late]


def environment() -> dict[str, str]:
    """uv asks the indexes that pip would ask; torch of macOS needs macOS 14."""
    asked = start.uv_environment(start.pip_settings(sys.executable))
    if "UV_CACHE_DIR" not in os.environ:
        del asked["UV_CACHE_DIR"]  # the one inside .venv is there only while start.py installs
    return {**asked, "MACOSX_DEPLOYMENT_TARGET": "14.0"}


def run(command: Sequence[str], **options) -> tuple[bool, str]:
    """Run a command; return whether it went well, and what it printed or, if it failed, complained of."""
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False, **options)
    return done.returncode == 0, done.stdout if done.returncode == 0 else done.stderr.strip()


def resolve(python: str, system: str, env: dict[str, str]) -> tuple[dict[str, str], list[str]]:
    """What an installation would consist of, by uv, as {name: version}, and the objections."""
    command = [sys.executable, "-m", "uv", "pip", "compile", "--quiet", "--no-header", "--no-annotate"]
    command += ["--python-version", python, "--python-platform", SYSTEMS[system][0]]
    command += ["--only-binary", ":all:", "--constraint", start.CONSTRAINTS, "--all-extras"]
    well, said = run([*command, "pyproject.toml", "-"], input="uv\n", env=env)  # start.py installs uv as well
    if not well:
        return {}, ["does not resolve: " + " ".join(said.split())]
    found = {}
    for line in said.splitlines():
        requirement = Requirement(line.split("#")[0].strip())
        version = next(iter(requirement.specifier)).version
        found[canonicalize_name(requirement.name)] = version.split("+")[0]  # "2.13.0+cpu" is 2.13.0
    return found, objections(found, pins(constraints(), python, system))


def objections(found: dict[str, str], pinned: dict[str, str]) -> list[str]:
    """Where what was found is not what is pinned."""
    unpinned = [name for name in found if name not in pinned and not OF_TORCH.match(name)]
    other = [name for name in found if name in pinned and found[name] != pinned[name]]
    return [f"not pinned: {name} {found[name]}" for name in unpinned] + [
        f"{name} is pinned to {pinned[name]}, but {found[name]} was found" for name in other
    ]


def wheels(found: dict[str, str], python: str, system: str, pip_folder: str) -> list[str]:
    """The objections of pip to these versions there."""
    wanted = [
        f"{name}=={version}"
        for name, version in found.items()
        if name != "torch" and not OF_TORCH.match(name)
    ]
    command = [
        sys.executable,
        "-m",
        "pip",
        "install",
        "--quiet",
        "--dry-run",
        "--no-deps",
        "--ignore-installed",
    ]
    command += ["--only-binary=:all:", "--implementation", "cp", "--python-version", python]
    command += [word for tag in SYSTEMS[system][1] for word in ("--platform", tag)]
    command += ["--target", str(Path(pip_folder, "nowhere")), *wanted]
    well, said = run(command, env={**os.environ, "PYTHONPATH": pip_folder})
    errors = [line for line in said.splitlines() if line.startswith("ERROR")]
    return [] if well else ["pip: " + line for line in errors or [said[-500:]]]


def check(pythons: Sequence[str], systems: Sequence[str], with_pip: bool) -> Iterator[list[str]]:
    """Say line by line what resolves; yield the objections to each. Raises SystemExit if there is no pip to ask."""
    env = environment()
    with tempfile.TemporaryDirectory() as folder:
        if with_pip:
            well, said = run(
                [sys.executable, "-m", "uv", "pip", "install", "--target", folder, "pip"], env=env
            )
            if not well:
                raise SystemExit(f"no newest pip to ask with:\n{said}")
        for python, system in product(pythons, systems):
            for version in patches(python, system):
                began = time.perf_counter()
                print(f"Python {version} on {system:14}", end=" ", flush=True)
                found, wrong = resolve(version, system, env)
                if found and with_pip:
                    wrong += wheels(found, version, system, folder)
                took = time.perf_counter() - began
                well = f"{len(found)} packages, all pinned" + (", all with wheels" if with_pip else "")
                print("; ".join(wrong) or well, f"({took:.0f} s)", flush=True)
                yield wrong


def main(argv: Sequence[str] | None = None) -> int:
    """Return the exit code."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--python", action="append", choices=PYTHONS, help="one version (may be repeated)")
    parser.add_argument("--system", action="append", choices=SYSTEMS, help="one system (may be repeated)")
    parser.add_argument("--no-pip", action="store_true", help="ask uv only")
    args = parser.parse_args(argv)
    if not run([sys.executable, "-m", "uv", "--version"])[0]:
        print("This needs uv; start.py installs it into .venv. Or: pip install uv", file=sys.stderr)
        return 2
    results = list(check(args.python or PYTHONS, args.system or tuple(SYSTEMS), not args.no_pip))
    failed = sum(1 for wrong in results if wrong)
    print(f"{len(results) - failed} of {len(results)} resolve")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
