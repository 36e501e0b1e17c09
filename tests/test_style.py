"""Ruff's rules and format hold for every file, so that a change shows what it changes."""

import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parent.parent


@pytest.mark.parametrize(
    "words", [["check", "--quiet"], ["format", "--check", "--diff", "--quiet"]], ids=lambda words: words[0]
)
def test_ruff_is_content(words):
    done = subprocess.run(
        [sys.executable, "-m", "ruff", *words, "."], cwd=ROOT, capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, f"ruff {words[0]} .\n{done.stdout}{done.stderr}"
