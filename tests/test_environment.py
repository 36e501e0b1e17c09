"""The places that name versions agree: pyproject.toml, constraints.txt, environment.yml, start.py and the doctor."""

import os
import sys
from itertools import chain
from pathlib import Path

import pytest
import yaml
from packaging.requirements import Requirement
from packaging.specifiers import SpecifierSet
from packaging.utils import canonicalize_name

import start
from bertlook_teach import doctor

if sys.version_info >= (3, 11):
    import tomllib
else:
    import tomli as tomllib

ROOT = Path(__file__).resolve().parent.parent
PYPROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))
PROJECT = PYPROJECT["project"]
ENVIRONMENT = yaml.safe_load((ROOT / "environment.yml").read_text(encoding="utf-8"))
PYTHONS = ("3.10", "3.11", "3.12", "3.13")
SYSTEMS = ("linux", "darwin", "win32")


def pins(python, system):
    """The constraints that apply to a Python version on a system, as {name: version}."""
    place = {
        "python_version": python,
        "python_full_version": f"{python}.7",
        "sys_platform": system,
        "os_name": "nt" if system == "win32" else "posix",
        "implementation_name": "cpython",
        "platform_machine": "arm64" if system == "darwin" else "x86_64",
    }
    found = {}
    for line in (ROOT / "constraints.txt").read_text(encoding="utf-8").splitlines():
        line = line.split("#")[0].strip()
        if not line:
            continue
        requirement = Requirement(line)
        if requirement.marker is None or requirement.marker.evaluate(place):
            (specifier,) = requirement.specifier
            assert specifier.operator == "==", line
            name = canonicalize_name(requirement.name)
            assert name not in found, f"{name} is pinned twice for Python {python} on {system}"
            found[name] = specifier.version
    return found


def requirements():
    """Everything pyproject.toml asks for, with its extras."""
    lines = chain(PROJECT["dependencies"], *PROJECT["optional-dependencies"].values())
    return [Requirement(line) for line in lines]


@pytest.mark.parametrize("system", SYSTEMS)
@pytest.mark.parametrize("python", PYTHONS)
def test_every_dependency_is_pinned_within_its_bounds(python, system):
    pinned = pins(python, system)
    for requirement in requirements():
        version = pinned[canonicalize_name(requirement.name)]
        assert requirement.specifier.contains(version), f"{requirement} but constraints.txt has {version}"


def test_torch_is_pinned_to_one_version_everywhere():
    assert {pins(python, system)["torch"] for python in PYTHONS for system in SYSTEMS} == {"2.13.0"}
    assert start.torch_version() == "2.13.0"


def test_the_supported_pythons_are_the_same_everywhere():
    supported = SpecifierSet(PROJECT["requires-python"])
    around = [f"3.{minor}" for minor in range(6, 20)]
    assert tuple(version for version in around if version in supported) == PYTHONS
    oldest, newest = (tuple(map(int, PYTHONS[i].split("."))) for i in (0, -1))
    assert (start.OLDEST, start.NEWEST) == (oldest, newest)
    assert (doctor.OLDEST, doctor.NEWEST) == (oldest, newest)


def conda_dependencies():
    """The conda part of environment.yml as {name: version or None}."""
    names = [line for line in ENVIRONMENT["dependencies"] if isinstance(line, str)]
    return {line.split("=")[0]: line.split("=")[1] if "=" in line else None for line in names}


def test_conda_brings_the_same_versions():
    conda = conda_dependencies()
    assert conda["python"] in PYTHONS
    assert conda["pytorch-cpu"] == start.torch_version()
    for name, version in conda.items():
        if name not in ("python", "pytorch-cpu", "pip"):
            assert version == pins(conda["python"], "linux")[name], name


def test_conda_takes_everything_else_from_the_same_files():
    (pip,) = [entry["pip"] for entry in ENVIRONMENT["dependencies"] if isinstance(entry, dict)]
    assert pip == ["-c constraints.txt", "-e .[lab,test]"]
    assert set(PROJECT["optional-dependencies"]) >= {"lab", "test"}


def test_binder_reads_the_file_in_the_root():
    """With a folder binder/ or .binder/, repo2docker would look only there."""
    assert not (ROOT / "binder").exists()
    assert not (ROOT / ".binder").exists()


def test_start_installs_anew_when_a_copied_file_changes():
    """An editable install copies these out of the package; start.py must notice a change."""
    copied = PYPROJECT["tool"]["hatch"]["build"]["targets"]["wheel"]["shared-data"]
    for source in copied:
        path = ROOT / source
        files = [path] if path.is_file() else [p for p in path.rglob("*") if p.suffix in (".js", ".json")]
        watched = {name for name in start.INSTALLED_FROM}
        for file in files:
            if file.name != "install.json":
                assert file.relative_to(ROOT).as_posix() in watched
    assert all((ROOT / name).is_file() for name in start.INSTALLED_FROM)


@pytest.mark.skipif(os.name == "nt", reason="Windows has no executable bit")
@pytest.mark.parametrize("name", [".ci/run", "start.py"])
def test_scripts_can_be_executed(name):
    assert os.access(ROOT / name, os.X_OK)
