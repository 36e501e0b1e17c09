"""No benchmark is timed here; each can be started."""

import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]


@pytest.mark.parametrize("name", ["pruning", "thirty_kernels"])
def test_a_benchmark_can_be_started(name):
    command = [sys.executable, ROOT / "benchmarks" / f"{name}.py", "--help"]
    done = subprocess.run(command, check=False, capture_output=True, text=True, timeout=120)
    assert done.returncode == 0 and "usage:" in done.stdout, done.stderr
