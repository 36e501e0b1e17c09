"""Whether constraints.txt can be installed on every supported Python and system, asked of the package index from this machine.

    python tools/check_constraints.py                                     all of them, some three minutes
    python tools/check_constraints.py --python 3.14 --system macos-arm64  one

For each, uv resolves what pyproject.toml asks for under the constraints, wheels only. Everything it finds must be pinned, or an installation
would differ from day to day; only the CUDA libraries are torch's own affair. This reads metadata and downloads no wheel.

The indexes are those that pip is configured for. Exits with 1 if anything is missing.
"""

from __future__ import annotations

import argparse
import os
import re
import subprocess
import sys
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
# How uv calls a system. The oldest that PyTorch supports: glibc 2.28, macOS 14.
SYSTEMS = {
    "linux-x86_64": "x86_64-manylinux_2_28",
    "linux-arm64": "aarch64-manylinux_2_28",
    "windows-x86_64": "x86_64-pc-windows-msvc",
    "macos-arm64": "aarch64-apple-darwin",
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
    command += ["--python-version", python, "--python-platform", SYSTEMS[system]]
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


def check(pythons: Sequence[str], systems: Sequence[str]) -> Iterator[list[str]]:
    """Say line by line what resolves; yield the objections to each."""
    env = environment()
    for python, system in product(pythons, systems):
        for version in patches(python, system):
            began = time.perf_counter()
            print(f"Python {version} on {system:14}", end=" ", flush=True)
            found, wrong = resolve(version, system, env)
            took = time.perf_counter() - began
            print("; ".join(wrong) or f"{len(found)} packages, all pinned", f"({took:.0f} s)", flush=True)
            yield wrong


def main(argv: Sequence[str] | None = None) -> int:
    """Return the exit code."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--python", action="append", choices=PYTHONS, help="one version (may be repeated)")
    parser.add_argument("--system", action="append", choices=SYSTEMS, help="one system (may be repeated)")
    args = parser.parse_args(argv)
    if not run([sys.executable, "-m", "uv", "--version"])[0]:
        print("This needs uv; start.py installs it into .venv. Or: pip install uv", file=sys.stderr)
        return 2
    results = list(check(args.python or PYTHONS, args.system or tuple(SYSTEMS)))
    failed = sum(1 for wrong in results if wrong)
    print(f"{len(results) - failed} of {len(results)} resolve")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
