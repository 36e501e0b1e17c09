"""Ruff's rules and format hold for every file, so that a change shows what it changes; calls name what they give."""

import ast
import io
import re
import subprocess
import sys
import tokenize
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


MOST_BY_POSITION = 8


def calls_by_position(text: str) -> list[str]:
    """Calls that list so many arguments by position that two of one kind can change places unseen."""
    found = []
    for node in ast.walk(ast.parse(text)):
        if isinstance(node, ast.Call):
            given = sum(not isinstance(argument, ast.Starred) for argument in node.args)
            if given > MOST_BY_POSITION:
                called = ast.unparse(node.func)
                found.append(f"line {node.lineno}: {called} gets {given} arguments by position; name them")
    return found


def looks_away(text: str) -> list[str]:
    """Comments that tell the formatter to leave a passage alone."""
    tokens = tokenize.generate_tokens(io.StringIO(text).readline)
    return [
        f"line {token.start[0]}: {token.string}"
        for token in tokens
        if token.type == tokenize.COMMENT and re.search(r"#\s*(fmt|yapf):", token.string)
    ]


def package_files() -> list[Path]:
    return sorted(ROOT.glob("bertlook_*/**/*.py"))


@pytest.mark.parametrize("rule", [calls_by_position, looks_away], ids=lambda rule: rule.__name__)
def test_the_package_keeps_the_rule(rule):
    files = package_files()
    assert len(files) > 200
    found = {str(path.relative_to(ROOT)): rule(path.read_text(encoding="utf-8")) for path in files}
    assert {name: problems for name, problems in found.items() if problems} == {}


@pytest.mark.parametrize(
    "rule, text, found",
    [
        (calls_by_position, "Row(1, 2, 3, 4, 5, 6, 7, 8, 9)", 1),
        (calls_by_position, "def f():\n    return g(Row(a, b, c, d, e, f, g, h, i, named=1))", 1),
        (
            calls_by_position,
            "Row(1, 2, 3, 4, 5, 6, 7, 8)\nRow(1, 2, *rest, nine=9)\nmax([1, 2, 3, 4, 5, 6, 7, 8, 9])",
            0,
        ),
        (looks_away, "x = [1,\n     2]  # fmt: skip", 1),
        (looks_away, "# fmt: off\nx = 1\n# fmt: on", 2),
        (looks_away, "x = '# fmt: skip'  # why this is so", 0),
    ],
)
def test_what_breaks_the_rule_is_found(rule, text, found):
    assert len(rule(text)) == found
