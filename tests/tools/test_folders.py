"""The README of each folder of scripts names every script there, and no other."""

import re
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]


@pytest.mark.parametrize("folder", ["tools", "training", "benchmarks"])
def test_the_readme_names_every_script(folder):
    readme = (ROOT / folder / "README.md").read_text(encoding="utf-8")
    rows = "\n".join(line for line in readme.splitlines() if line.startswith("|"))
    named = set(re.findall(r"`(\w+\.py)[^`]*`", rows)) - {"lean_kernel.py"}
    scripts = {path.name for path in (ROOT / folder).glob("*.py")}
    assert scripts <= named, f"{folder}/README.md does not name {sorted(scripts - named)}"
    elsewhere = {path.name for other in ("tools", "training") for path in (ROOT / other).glob("*.py")}
    assert named - scripts <= elsewhere, (
        f"{folder}/README.md names {sorted(named - scripts - elsewhere)}, which is not there"
    )
