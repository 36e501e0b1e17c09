"""Which notebooks the server trusts, and what it hands out of the others."""

import asyncio
import copy
import json
import shutil
from pathlib import Path

import nbformat
import pytest
from nbformat.v4 import new_code_cell, new_markdown_cell, new_notebook, new_output

from bertlook_teach.classroom import HELD, INERT_OUTPUTS, bring_back, contents_manager, hold_back, trust
from bertlook_teach.disk import data_path

ROOT = Path(__file__).resolve().parents[2]
VEGA = "application/vnd.vega.v5+json"
KINDS = [VEGA, "image/svg+xml", "application/javascript", "application/vnd.jupyter.widget-view+json", "application/x-of-tomorrow"]  # fmt: skip


def strangers():
    """A notebook with something of everything that is held back, beside what is not."""
    outputs = [
        new_output("display_data", {kind: {"a": 1} if "json" in kind else "a"}, metadata={"isolated": True})
        for kind in KINDS
    ]
    both = {kind: "x" for kind in INERT_OUTPUTS} | {VEGA: {}}
    outputs += [new_output("display_data", both), new_output("execute_result", {"text/plain": "1"})]
    outputs.append(new_output("stream", text="said"))
    cells = [new_code_cell("1", outputs=outputs), new_markdown_cell("# A"), new_code_cell("2")]
    cells[0].metadata.update(tags=["a"], init_cell=True, trusted=True, extension={"module": "http://x"})
    metadata = {
        "kernelspec": {"name": "python3", "display_name": "<b>x</b>", "argv": ["evil"]},
        "language_info": {"name": "python", "codemirror_mode": "../../files/evil"},
        "rise": {"autorun": "all", "theme": "../../files/evil", "look": "dark", "footer": "<b>", "slides": 3},
        "widgets": {"application/vnd.jupyter.widget-state+json": {"state": {}}},
        HELD: {"rise": {"autorun": "all"}},
    }
    return new_notebook(cells=cells, metadata=metadata)


@pytest.fixture
def manager(tmp_path):
    manager = contents_manager()(root_dir=str(tmp_path))
    manager.notary.data_dir = str(tmp_path)
    return manager


def read(manager, name="a.ipynb"):
    return asyncio.run(manager.get(name))["content"]


def save(manager, content, name="a.ipynb"):
    asyncio.run(manager.save({"type": "notebook", "content": content}, name))


@pytest.fixture
def file(tmp_path):
    nbformat.write(strangers(), tmp_path / "a.ipynb")
    return tmp_path / "a.ipynb"


def test_a_page_gets_only_what_is_inert(manager, file):
    given = read(manager)
    first = given.cells[0]
    assert {kind for output in first.outputs for kind in output.get("data", ())} == INERT_OUTPUTS
    assert all(set(output.get("metadata", {})) <= {HELD} for output in first.outputs)
    assert "not shown, because this notebook is not trusted" in first.outputs[0].data["text/plain"]
    assert given.metadata.kernelspec == {"name": "python3"}
    assert given.metadata.language_info == {"name": "python"}
    assert given.metadata.rise == {"look": "dark", "slides": 3}
    assert set(given.metadata) == {"kernelspec", "language_info", "rise", HELD}
    assert set(first.metadata) == {"tags", "trusted", HELD} and first.metadata.trusted is False


def test_odd_metadata_are_held_back_too():
    notebook = strangers()
    notebook.metadata.rise, notebook.metadata.kernelspec, notebook.metadata.title = (
        ["all"],
        "http://x",
        {"a": ["b"]},
    )
    before = copy.deepcopy(notebook)
    hold_back(notebook)
    assert (notebook.metadata.rise, notebook.metadata.kernelspec, notebook.metadata.title) == ({}, "", {})
    assert bring_back(notebook) and notebook == before


def test_a_notebook_that_is_saved_untrusted_loses_nothing_and_stays_untrusted(manager, file):
    before = json.loads(file.read_text())
    save(manager, read(manager))
    assert json.loads(file.read_text()) == before
    assert HELD in read(manager).metadata


def test_to_clear_the_outputs_is_not_to_trust(manager, file):
    given = read(manager)
    for cell in given.cells:
        if cell.cell_type == "code":
            cell.outputs = []
    save(manager, given)
    assert HELD in read(manager).metadata


def test_to_run_every_cell_and_save_is_to_trust(manager, file):
    given = read(manager)
    for cell in given.cells:
        if cell.cell_type == "code":
            cell.metadata.trusted = True
    save(manager, given)
    assert read(manager).metadata == strangers().metadata


@pytest.mark.parametrize("with_cells", [True, False])
def test_a_reader_trusts_a_notebook(manager, file, with_cells):
    notebook = strangers()
    notebook.cells[0].metadata.pop("trusted")
    if not with_cells:
        notebook.cells = []
    nbformat.write(notebook, file)
    asyncio.run(manager.trust_notebook("a.ipynb"))
    given = read(manager)
    assert given.metadata == notebook.metadata
    assert not with_cells or given.cells[0].outputs == notebook.cells[0].outputs


def test_a_notebook_with_nothing_to_hold_back_follows_jupyter(manager, tmp_path):
    nbformat.write(new_notebook(cells=[new_code_cell("1")]), tmp_path / "a.ipynb")
    save(manager, read(manager))
    assert HELD not in read(manager).metadata


def test_notebooks_of_the_course_are_trusted_and_a_changed_one_is_not(manager, tmp_path):
    shutil.copy(ROOT / "slides" / "00_map_of_the_course.ipynb", tmp_path / "a.ipynb")
    assert HELD not in read(manager).metadata
    (tmp_path / "a.ipynb").write_bytes((tmp_path / "a.ipynb").read_bytes().replace(b"\n", b"\r\n"))
    assert HELD not in read(manager).metadata  # as Git may check it out on Windows
    (tmp_path / "a.ipynb").write_bytes((tmp_path / "a.ipynb").read_bytes() + b" ")
    assert HELD in read(manager).metadata


def test_a_copy_is_trusted_as_its_original_is(tmp_path, monkeypatch):
    monkeypatch.setattr(trust, "isolate", lambda environ: tmp_path)
    (tmp_path / "data").mkdir()
    ours = ROOT / "slides" / "00_map_of_the_course.ipynb"
    copied, foreign, theirs = tmp_path / "a.ipynb", tmp_path / "b.ipynb", tmp_path / "c.ipynb"
    for path in (copied, theirs):
        nbformat.write(nbformat.read(ours, 4), path)
    nbformat.write(strangers(), foreign)
    notary = trust._notary()
    trust.trust_alike(foreign, foreign)
    assert not notary.check_signature(nbformat.read(foreign, 4))
    trust.trust_alike(ours, copied)
    assert notary.check_signature(nbformat.read(copied, 4))


def test_the_list_names_every_notebook_of_the_course_as_it_is(tmp_path):
    trust.write_list(ROOT, tmp_path / trust.LIST)
    assert (tmp_path / trust.LIST).read_text() == data_path(trust.LIST).read_text(), (
        "a notebook was changed by hand: python tools/run_notebooks.py with its name saves it as the course does"
    )
