"""Exercises that need no training run in what `python3 start.py` installs: without torch and transformers; and where no process and no thread can be had."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

SOLUTIONS = Path(__file__).resolve().parents[2] / "notebooks" / "solutions"

RUN = """
import importlib.abc, json, subprocess, sys, threading, os
MISSING = {"torch", "transformers", "safetensors", "sklearn", "pandas"}
class Missing(importlib.abc.MetaPathFinder):
    def find_spec(self, name, path=None, target=None):
        if name.split(".")[0] in MISSING:
            raise ModuleNotFoundError(f"No module named {name!r}", name=name)
sys.meta_path.insert(0, Missing())
from IPython.core.interactiveshell import InteractiveShell
shell = InteractiveShell.instance(); shell.history_manager.enabled = False
def none(*args, **options):
    raise OSError("there are no processes and threads here")
subprocess.Popen.__init__, threading.Thread.start, os.cpu_count = none, none, lambda: 1
for cell in json.load(open(sys.argv[1], encoding="utf-8"))["cells"]:
    if cell["cell_type"] == "code":
        shell.run_cell("".join(cell["source"])).raise_error()
"""


@pytest.mark.parametrize("number", ["01", "02", "05", "06", "09"])  # 03, 07 and 13 do too, and take longer
def test_a_solution_runs(number, tmp_path):
    (path,) = SOLUTIONS.glob(f"{number}_*.ipynb")
    done = subprocess.run(
        [sys.executable, "-c", RUN, str(path)],
        cwd=SOLUTIONS, capture_output=True, text=True, check=False,
        env={**os.environ, "MPLBACKEND": "agg", "IPYTHONDIR": str(tmp_path), "PYTHONPATH": str(SOLUTIONS.parents[1])},
    )  # fmt: skip
    assert done.returncode == 0, done.stdout[-2000:] + done.stderr[-2000:]
