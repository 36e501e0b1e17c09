"""What stands in .github: it can be read, names what exists, and asks for no more rights than it needs."""

import re
import sys
from pathlib import Path

import pytest
import yaml

from tools import api_reference

ROOT = Path(__file__).resolve().parent.parent
WORKFLOWS = sorted((ROOT / ".github" / "workflows").glob("*.yml"))


@pytest.mark.parametrize("path", WORKFLOWS, ids=lambda path: path.stem)
def test_a_workflow_has_an_end_and_reads_only(path):
    text = path.read_text(encoding="utf-8")
    workflow = yaml.safe_load(text)
    assert workflow["permissions"] == {"contents": "read"}
    for job in workflow["jobs"].values():
        assert job["timeout-minutes"] <= 90
        assert set(job.get("permissions", {})) <= {"pages", "id-token"}
    for name in re.findall(r"(?<![\w/.])((?:tools|training|\.ci|tests)/[\w/.]+\.py)", text):
        assert (ROOT / name).is_file(), name


def test_the_forms_for_issues_say_what_is_needed():
    for path in (ROOT / ".github" / "ISSUE_TEMPLATE").glob("*.yml"):
        form = yaml.safe_load(path.read_text(encoding="utf-8"))
        if path.stem != "config":
            assert form["name"] and form["description"]
            assert any(field.get("validations", {}).get("required") for field in form["body"])


def test_the_reference_has_every_room_and_no_private_file():
    modules = api_reference.modules()
    assert {
        "bertlook_teach",
        "bertlook_teach.measures",
        "bertlook_course.checks.sheet",
        "bertlook_bench.line",
    } <= set(modules)
    assert not [name for name in modules if "._" in name or "__main__" in name]


def test_without_pdoc_the_remedy_is_named(tmp_path, monkeypatch, capsys):
    monkeypatch.setitem(sys.modules, "pdoc", None)
    assert api_reference.main(["--out", str(tmp_path / "api")]) == 1
    assert "pip install pdoc" in capsys.readouterr().err
