"""Break the package on purpose, forty times, and see whether a test of the same folder notices: the table in docs/reliability.md.

    python tools/mutations.py               all of them, one after the other (an hour on two cores)
    python tools/mutations.py 1 2 17        these

Each break is one edit in a copy of the tree; the tests of its folder then have to fail. The table is the one place where the breaks stand:
each row names a file, what stands there once, what replaces it, and a test of the folder that has to fail. A new break is a new row.
"""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import NamedTuple

ROOT = Path(__file__).resolve().parents[1]
PAGE = ROOT / "docs" / "reliability.md"


class Break(NamedTuple):
    """A row of the table: a file, what stands there once, what replaces it, and the test that failed."""

    file: str
    old: str
    new: str
    test: str

    @property
    def folder(self) -> str:
        """The folder of tests that has to notice, or the file where the tests need a browser."""
        file = self.test.partition("::")[0]
        return file if file.startswith("tests/browser/") else file.rpartition("/")[0]


def breaks() -> list[Break]:
    """The rows of the table, in its order; row 1 comes first."""
    rows = re.findall(r"(?m)^\| \d+ \|((?: `.+?` \|){4})$", PAGE.read_text(encoding="utf-8"))
    cells = (re.findall(r" `(.+?)` \|", row) for row in rows)
    return [Break(*(cell.replace("\\|", "|") for cell in row)) for row in cells]


def tried(number: int, one: Break, tree: Path) -> str:
    """A row of the table: whether a test fails, and which. The file is put back."""
    file = tree / one.file
    before = file.read_text(encoding="utf-8")
    file.write_text(before.replace(one.old, one.new), encoding="utf-8")
    near = sorted(
        (tree / one.folder).glob(f"**/test_*{file.stem.split('_')[0]}*.py")
    )  # these first: sooner done
    run = subprocess.run(
        [sys.executable, "-B", "-m", "pytest", "-x", "-q", "--tb=no", "-p", "no:cacheprovider", *near, one.folder],
        cwd=tree,
        env=os.environ | {"PYTHONPATH": str(tree), "BERTLOOK_CACHE": str(tree.parent / "cache")},
        capture_output=True,
        check=False,
        text=True,
    )  # fmt: skip
    file.write_text(before, encoding="utf-8")
    failed = [line.split()[1] for line in run.stdout.splitlines() if line.startswith(("FAILED", "ERROR"))]
    caught = f"**not caught** ({run.returncode})"
    if run.returncode == 1 and failed:
        caught = f"`{failed[0].partition('[')[0]}`"
    old, new = (text.replace("|", "\\|") for text in (one.old, one.new))
    return f"| {number} | `{one.file}` | `{old}` | `{new}` | {caught} |"


def lost(found: list[Break]) -> list[str]:
    """The breaks that do not fit the sources any more: what they replace has to stand in its file once."""
    counts = [(ROOT / one.file).read_text(encoding="utf-8").count(one.old) for one in found]
    return [
        f"break {number}: {one.file} holds {one.old!r} {count} times, and once is needed"
        for number, (count, one) in enumerate(zip(counts, found, strict=True), 1)
        if count != 1
    ]


def main(numbers: list[int]) -> None:
    """Print a row for each break that is tried."""
    found = breaks()
    if lost(found):
        raise SystemExit("\n".join(lost(found)))
    with tempfile.TemporaryDirectory() as folder:
        tree = Path(folder) / "tree"
        left_out = shutil.ignore_patterns(".git", ".venv", "__pycache__", ".ruff_cache", "exported", "out")
        shutil.copytree(ROOT, tree, ignore=left_out)
        print("| | file | what stood there | what stood there instead | test |\n|---|---|---|---|---|")
        for number in numbers or range(1, len(found) + 1):
            print(tried(number, found[number - 1], tree), flush=True)


if __name__ == "__main__":
    main([int(word) for word in sys.argv[1:]])
