"""A pytest plugin: nbval runs the notebooks, `compare_outputs` says whether their outputs still say the same.

The `conftest.py` at the root loads it, so it is at work for `pytest slides/03_*.ipynb` too. With ``--exact`` nbval compares as it
always does, to the letter.
"""

from __future__ import annotations

import sys
from functools import partial
from pathlib import Path

sys.path.append(str(Path(__file__).resolve().parent))

import compare_outputs


def pytest_addoption(parser):
    parser.getgroup("nbval").addoption(
        "--exact",
        action="store_true",
        help="Compare the outputs of notebooks to the letter, pictures by their bytes. Processors differ in last digits: "
        "for the computer on which they were saved",
    )


def pytest_itemcollected(item):
    """One cell at a time, so that nbval's own class stays as it is."""
    from nbval.plugin import IPyNbCell

    if isinstance(item, IPyNbCell) and not item.config.getoption("exact"):
        item.compare_outputs = partial(compare, item)


def compare(cell, fresh, saved, skip_compare=None) -> bool:
    """In place of ``IPyNbCell.compare_outputs``: whether they say the same; what differs goes where nbval looks for it."""
    cell.comparison_traceback = [
        f"saved and now: {line}" for line in compare_outputs.differences(saved, fresh)
    ]
    return not cell.comparison_traceback
