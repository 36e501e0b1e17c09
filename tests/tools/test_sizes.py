"""The table of sizes: what is counted, on a small repository made by hand."""

import json

import pytest

from tools import sizes


@pytest.fixture
def small(tmp_path, monkeypatch):
    monkeypatch.setattr(sizes, "ROOT", tmp_path)
    for name, content in {
        "bertlook_teach/a.py": 'def f(x):\n    """What it does.\n\n    More of it.\n    """\n    return x\n',
        "bertlook_more/b.py": "X = 1\n\n\nY = 2\n",
        "bertlook_more/__pycache__/old.py": "Z = 3\n",
        "bertlook_more/.ipynb_checkpoints/b-checkpoint.py": "Z = 3\n",
        "slides/.ipynb_checkpoints/00-checkpoint.ipynb": "no notebook",
        "bertlook_more/b.js": "one\ntwo\n",
        "tests/test_a.py": "A = 1\n",
        "tools/t.py": "T = 1\n",
        "training/t.py": "T = 1\n",
    }.items():
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_text(content, encoding="utf-8")
    return tmp_path


def add_notebook(root, *sources):
    cells = [{"cell_type": "code", "source": source.splitlines(keepends=True)} for source in sources]
    (root / "slides").mkdir(exist_ok=True)
    path = root / "slides" / f"{len(list((root / 'slides').glob('*.ipynb'))):02}.ipynb"
    path.write_text(json.dumps({"cells": cells}), encoding="utf-8")


def test_lines_files_and_the_longest(small):
    add_notebook(small, "x = 1\n", f"y = '{'.' * 110}'\n")
    assert [size for _, size, _ in sizes.rows()] == ["6", "1", "10", "2", "1", "2", "0", "0", "6", "2", "1"]
    assert sizes.rows()[-2][2] == "bertlook_teach/a.py: f"  # four lines of its six are its docstring


def test_names_are_met_by_import_and_through_their_module_each_once(small):
    add_notebook(
        small,
        "from bertlook_teach import HeadMap, measures as m\nfrom numpy import array\n%load_ext x\n",
        "from bertlook_teach.checks import lesson03 as check\nHeadMap(m.entropy(array([1]))); check.check_it(m.entropy)\n",
    )
    add_notebook(
        small, "from bertlook_teach import HeadMap, measures\nmeasures.entropy(1), measures.offset(2)\n"
    )
    met = [sizes.names_met(cells, ["bertlook_teach"]) for cells in sizes.notebooks()]
    everywhere = {"HeadMap", "measures.entropy", "measures.offset"}
    assert set().union(*met) == everywhere | {"lesson03.check_it"}
    assert [size for what, size, _ in sizes.rows() if "names" in what or "one lesson" in what] == ["3", "1"]
