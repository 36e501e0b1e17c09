"""The places that name versions agree: pyproject.toml, constraints.txt, environment.yml, start.py and the doctor."""

import os
import re
import subprocess
import sys
import tomllib
from itertools import chain
from pathlib import Path

import pytest
import yaml
from packaging.requirements import Requirement
from packaging.specifiers import SpecifierSet
from packaging.utils import canonicalize_name

import start
from bertlook_press.classroom import doctor
from tools import check_constraints
from tools.check_constraints import SYSTEMS

ROOT = Path(__file__).resolve().parent.parent
PYPROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))
PROJECT = PYPROJECT["project"]
ENVIRONMENT = yaml.safe_load((ROOT / "environment.yml").read_text(encoding="utf-8"))
PYTHONS = ("3.11", "3.12", "3.13", "3.14")
WORKFLOW_FILE = ROOT / ".github" / "workflows" / "tests.yml"
WORKFLOW = yaml.safe_load(WORKFLOW_FILE.read_text(encoding="utf-8"))


def pins(python, system):
    """The constraints that apply to a Python version on a system, as {name: version}."""
    return check_constraints.pins(check_constraints.constraints(), f"{python}.9", system)


def requirements():
    """Everything pyproject.toml asks for, with its extras."""
    lines = chain(PROJECT["dependencies"], *PROJECT["optional-dependencies"].values())
    return [
        Requirement(line) for line in lines if not line.startswith("bertlook_teach[")
    ]  # lab is slides and more


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
    assert all(version in supported for version in PYTHONS) and "3.10" not in supported
    assert (
        "3.20" in supported
    )  # a cap would keep Colab out, which brings a torch of its own; start.py, which installs one, has a cap
    named = [line.rpartition(" ")[2] for line in PROJECT["classifiers"] if ":: 3." in line]
    assert tuple(named) == PYTHONS == check_constraints.PYTHONS
    oldest, newest = (tuple(map(int, PYTHONS[i].split("."))) for i in (0, -1))
    assert (start.OLDEST, start.NEWEST) == (oldest, newest)
    assert (doctor.OLDEST, doctor.NEWEST) == (oldest, newest)
    assert PYPROJECT["tool"]["ruff"]["target-version"] == f"py3{oldest[1]}"
    for name in ("README.md", "start.py", "constraints.txt"):
        text = " ".join((ROOT / name).read_text(encoding="utf-8").split())
        assert f"Python {PYTHONS[0]} to {PYTHONS[-1]}" in text, name


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
            assert version == pins(conda["python"], "linux-x86_64")[name], name


def test_conda_takes_everything_else_from_the_same_files():
    (pip,) = [entry["pip"] for entry in ENVIRONMENT["dependencies"] if isinstance(entry, dict)]
    assert pip == ["-c constraints.txt", "-e .[lab]"]
    assert {"lab", "test"} <= set(PROJECT["optional-dependencies"])  # start.py adds the second for `test`


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


# --- do the pins resolve (tools/check_constraints.py, which asks the network; here what it makes of the answers) -------


def test_every_supported_place_is_asked_for():
    assert {system.split("-")[0] for system in SYSTEMS} == {"linux", "windows", "macos"}
    assert len(SYSTEMS) == 4 == len(check_constraints.MARKERS)


def test_what_is_found_must_be_pinned_but_for_the_cuda_libraries():
    found = {"a": "1", "b": "2", "nvidia-cublas": "3", "triton": "4", "tritonish": "5"}
    assert check_constraints.objections(found, {"a": "1", "b": "9"}) == [
        "not pinned: tritonish 5",
        "b is pinned to 9, but 2 was found",
    ]


def test_markers_are_those_of_the_place_asked_for_and_not_of_this_one():
    text = "a==1 ; python_full_version < '3.11.5'\na==2 ; python_full_version >= '3.11.5'\nb==1 ; sys_platform == 'win32' # why"
    assert check_constraints.pins(text, "3.11.0", "linux-arm64") == {"a": "1"}
    assert check_constraints.pins(text, "3.12.0", "windows-x86_64") == {"a": "2", "b": "1"}


@pytest.mark.parametrize(("text", "said"), [("a>=1", "pins no version"), ("a==1\na==2", "pinned twice")])
def test_a_line_that_pins_nothing_or_pins_again_is_refused(text, said):
    with pytest.raises(ValueError, match=said):
        check_constraints.pins(text, "3.12.0", "linux-x86_64")


def test_a_version_whose_late_patches_have_other_pins_is_asked_for_twice(monkeypatch):
    monkeypatch.setattr(check_constraints, "constraints", lambda: "a==1 ; python_full_version < '3.11.5'")
    assert check_constraints.patches("3.11", "linux-arm64") == ["3.11.0", "3.11.9"]
    assert check_constraints.patches("3.12", "linux-arm64") == ["3.12.0"]


def test_what_does_not_resolve_is_said_and_counts(monkeypatch, capsys):
    def answers(command, **options):
        if "--version" in command:
            return True, ""
        assert "--only-binary" in command and "windows" in command[command.index("--python-platform") + 1]
        if "3.13.0" in command:
            return False, "error: No solution\n cause: no wheel"
        return True, "torch==2.13.0+cpu\n"

    monkeypatch.setattr(check_constraints, "run", answers)
    words = ["--system", "windows-x86_64", "--python", "3.12", "--python", "3.13"]
    assert check_constraints.main(words) == 1
    said = capsys.readouterr().out
    assert "does not resolve: error: No solution cause: no wheel" in said
    assert "1 packages, all pinned" in said and "1 of 2 resolve" in said


# --- the workflow file ------------------------------------------------------------------------------------------------


def commands(job):
    """What the steps of a job run, as one text."""
    return "\n".join(step.get("run", "") for step in WORKFLOW["jobs"][job]["steps"])


def readme_commands():
    """The two commands that stand alone in the README: the one at the top, and the one that runs the tests."""
    readme = (ROOT / "README.md").read_text(encoding="utf-8")
    return re.findall(r"```\n(python3 start\.py.*)\n```", readme)


def test_the_workflow_runs_both_commands_of_the_readme_on_every_system_with_the_oldest_and_newest_python():
    matrix = WORKFLOW["jobs"]["readme"]["strategy"]["matrix"]
    assert {name.split("-")[0] for name in matrix["os"]} == {"ubuntu", "macos", "windows"}
    assert matrix["python"] == [PYTHONS[0], PYTHONS[-1]]
    first, second = readme_commands()
    run = commands("readme").splitlines()
    assert f"python3 .ci/opens.py {first} --no-browser" in run
    assert second in run


def test_the_workflow_has_a_row_with_a_simulated_processor_and_an_empty_cache():
    rows = WORKFLOW["jobs"]["readme"]["strategy"]["matrix"]["include"]
    assert "ATEN_CPU_CAPABILITY=default OMP_NUM_THREADS=1" in [row.get("processor") for row in rows]
    assert "$PROCESSOR" in commands("readme") and "$GITHUB_ENV" in commands("readme")
    assert any("BERTLOOK_CACHE" in step.get("env", {}) for step in WORKFLOW["jobs"]["readme"]["steps"])


def test_the_workflow_computes_all_shipped_evidence_again_each_week():
    job = WORKFLOW["jobs"]["evidence"]
    assert "'schedule'" in job["if"] and WORKFLOW[True]["schedule"]  # YAML reads the key "on" as true
    assert "-c constraints.txt --torch" in commands("evidence")
    assert "tools/make_evidence.py --compare" in commands("evidence")


def test_the_workflow_tries_the_oldest_versions_that_are_allowed():
    assert "--resolution lowest-direct" in commands("oldest")
    assert "-m pytest" in commands("oldest")
    assert PYTHONS[0] in [
        str(step.get("with", {}).get("python-version")) for step in WORKFLOW["jobs"]["oldest"]["steps"]
    ]


# --- the check of the first command -----------------------------------------------------------------------------------

SERVER = """
import http.server, sys
class Page(http.server.BaseHTTPRequestHandler):
    def do_GET(self):
        self.send_response({status}); self.end_headers(); self.wfile.write({body!r})
server = http.server.HTTPServer(("127.0.0.1", 0), Page)
print(f"Slides:  http://127.0.0.1:{{server.server_port}}/rise/x?token=1", flush=True)
server.serve_forever()
"""


@pytest.mark.parametrize(
    ("program", "code", "said"),
    [
        (SERVER.format(status=200, body=b"<html>JupyterLab</html>"), 0, "answers"),
        (SERVER.format(status=500, body=b"<html>JupyterLab</html>"), 1, "500"),
        (SERVER.format(status=200, body=b""), 1, "no page"),
        ("print('no address')", 1, "ended without an address"),
        ("import time; time.sleep(60)", 1, "no address within"),
    ],
    ids=["well", "error", "empty", "ended", "silent"],
)
def test_the_check_sees_whether_the_address_answers(program, code, said):
    seconds = "20" if code == 0 else "4"
    command = [sys.executable, ".ci/opens.py", "--seconds", seconds, sys.executable, "-c", program]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False, timeout=60)
    assert done.returncode == code, done.stdout + done.stderr
    assert said in done.stdout


def test_a_wheel_carries_decks_and_exercises_where_the_package_looks_for_them():
    wheel = PYPROJECT["tool"]["hatch"]["build"]["targets"]["wheel"]
    assert {"slides", "notebooks/exercises", "data"} < set(wheel["only-include"])
    assert wheel["sources"]["slides"] == "bertlook_teach/slides"
    assert wheel["sources"]["notebooks"] == "bertlook_teach/notebooks"
