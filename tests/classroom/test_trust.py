"""Which notebooks the server trusts, and what it hands out of the others."""

import asyncio
import copy
import json
import os
import shutil
import time
from pathlib import Path

import nbformat
import pytest
from jupyter_client import KernelManager
from nbformat.v4 import new_code_cell, new_markdown_cell, new_notebook, new_output
from tornado.web import HTTPError

from bertlook_press.classroom import (
    INERT_OUTPUTS,
    PAGE,
    contents_manager,
    inert,
    isolate,
    kernel_specs,
    put_back,
    trust,
)
from bertlook_teach.disk import data_path

ROOT = Path(__file__).resolve().parents[2]
VEGA = "application/vnd.vega.v5+json"
KINDS = [VEGA, "image/svg+xml", "application/javascript", "application/vnd.jupyter.widget-view+json", "application/x-of-tomorrow"]  # fmt: skip


def strangers():
    """A notebook with something of everything that a page does not get, beside what it gets."""
    outputs = [
        new_output("display_data", {kind: {"a": 1} if "json" in kind else "a"}, metadata={"isolated": True})
        for kind in KINDS
    ]
    both = {kind: "x" for kind in INERT_OUTPUTS} | {VEGA: {}}
    outputs += [new_output("display_data", both), new_output("execute_result", {"text/plain": "1"})]
    outputs.append(new_output("stream", text="said"))
    cells = [new_code_cell("1", outputs=outputs), new_markdown_cell("# A"), new_code_cell("2")]
    cells[0].metadata.update(tags=["a", "<b>"], init_cell=True, extension={"module": "http://x"})
    cells[1].attachments = {
        "a": {"image/svg+xml": "<svg/>", "image/png": "cGl4"},
        "b": {"text/html": "<script>"},
    }
    metadata = {
        "kernelspec": {"name": "python3", "display_name": "<b>x</b>", "argv": ["evil"]},
        "language_info": {"name": "python", "codemirror_mode": "../../files/evil"},
        "rise": {"autorun": "all", "theme": "../../files/evil", "look": "dark", "footer": "<b>", "slides": 3},
        "widgets": {"application/vnd.jupyter.widget-state+json": {"state": {}}},
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
    asyncio.run(manager.save({"type": "notebook", "content": json.loads(json.dumps(content))}, name))


def is_trusted(manager, name="a.ipynb"):
    return read(manager, name).metadata[PAGE].trusted


def code(notebook):
    return [cell for cell in notebook.cells if cell.cell_type == "code"]


@pytest.fixture
def file(tmp_path):
    nbformat.write(strangers(), tmp_path / "a.ipynb")
    return tmp_path / "a.ipynb"


# --- what a page gets -----------------------------------------------------------------------------------------
def test_a_page_gets_only_what_is_inert(manager, file):
    given = read(manager)
    first = given.cells[0]
    assert {kind for output in first.outputs for kind in output.get("data", ())} == set(INERT_OUTPUTS)
    assert not any(output.get("metadata") for output in first.outputs)
    assert "not shown, because this notebook is not trusted" in first.outputs[0].data["text/plain"]
    assert given.metadata.kernelspec == {"name": "python3", "display_name": "python3"}
    assert given.metadata.language_info == {"name": "python"}
    assert given.metadata.rise == {"look": "dark", "slides": 3}
    assert set(given.metadata) == {"kernelspec", "language_info", "rise", PAGE}
    assert first.metadata.pop(PAGE).endswith(":0") and first.metadata == {"tags": ["a"], "trusted": False}
    assert given.cells[1].attachments == {"a": {"image/png": "cGl4"}}
    text = json.dumps(given)
    assert not [
        word for word in ("evil", "<b>", "<script>", "http://x", "isolated", "autorun") if word in text
    ]


ODD = [
    "text",
    5,
    None,
    True,
    ["a"],
    {"a": ["b"]},
    {"data": 1},
    {"output_type": "of tomorrow", "data": {VEGA: {}}},
]


@pytest.mark.parametrize("odd", ODD)
@pytest.mark.parametrize("place", ["metadata", "kernelspec", "rise", "cell", "attachments", "outputs", "output", "data", "html", "stream", "source"])  # fmt: skip
def test_whatever_stands_there_a_page_gets_something_sound(place, odd):
    notebook = json.loads(json.dumps(strangers()))
    cell, output = notebook["cells"][0], notebook["cells"][0]["outputs"][0]
    where = {
        "metadata": (output, "metadata"), "kernelspec": (notebook["metadata"], "kernelspec"), "rise": (notebook["metadata"], "rise"),
        "cell": (cell, "metadata"), "attachments": (notebook["cells"][1], "attachments"), "outputs": (cell, "outputs"),
        "output": (cell["outputs"], 0), "data": (output, "data"), "html": (cell["outputs"][len(KINDS)]["data"], "text/html"),
        "stream": (cell["outputs"][-1], "text"), "source": (cell, "source"),
    }  # fmt: skip
    thing, key = where[place]
    thing[key] = odd
    nbformat.validate(nbformat.from_dict(inert(notebook)))


# --- saving ---------------------------------------------------------------------------------------------------
def test_a_notebook_that_is_saved_untrusted_loses_nothing_and_stays_untrusted(manager, file):
    before = json.loads(file.read_text())
    for _ in range(2):
        save(manager, read(manager))
        assert json.loads(file.read_text()) == before
    assert not is_trusted(manager)


def test_what_a_reader_changes_stays_changed(manager, file):
    given = read(manager)
    given.metadata.kernelspec = {"name": "other", "display_name": "Other"}
    given.cells[0].metadata.tags = ["mine"]
    given.cells.insert(0, new_markdown_cell("mine"))
    given.cells[1].outputs = []
    save(manager, given)
    saved = json.loads(file.read_text())
    assert (
        saved["metadata"]["kernelspec"]["name"] == "other" and saved["metadata"]["rise"]["autorun"] == "all"
    )
    assert saved["cells"][0]["source"] in ("mine", ["mine"])
    assert (
        saved["cells"][1]["metadata"]["tags"] == ["mine"]
        and saved["cells"][1]["metadata"]["init_cell"] is True
    )
    assert saved["cells"][1]["outputs"] == []


def test_an_output_that_a_page_made_itself_is_kept(manager, file):
    given = read(manager)
    given.cells[0].outputs = [new_output("stream", text="new")]
    given.cells[0].metadata.trusted = True
    save(manager, given)
    assert [output["text"] for output in json.loads(file.read_text())["cells"][0]["outputs"]] in (
        ["new"],
        [["new"]],
    )


def test_two_saves_after_trusting_lose_nothing(manager, file):
    given = read(manager)
    for cell in code(given):
        cell.metadata.trusted = True
    for _ in range(2):
        save(manager, given)
        assert read(manager).metadata.rise == strangers().metadata.rise
        assert len(read(manager).cells[0].outputs) == len(strangers().cells[0].outputs)


# --- who is trusted -------------------------------------------------------------------------------------------
def plain():
    return new_notebook(
        cells=[new_code_cell("print(1)")], metadata={"kernelspec": {"name": "python3", "display_name": "P"}}
    )


SAFE_TO_JUPYTER = {
    "plain": plain(),
    "text only": new_notebook(cells=[new_markdown_cell("a")]),
    "nothing": new_notebook(),
    "an odd output": new_notebook(cells=[new_code_cell("1", outputs=[])]),
}


@pytest.mark.parametrize("notebook", SAFE_TO_JUPYTER.values(), ids=SAFE_TO_JUPYTER)
def test_to_save_or_to_copy_is_not_to_trust(manager, tmp_path, notebook):
    nbformat.write(notebook, tmp_path / "a.ipynb")
    save(manager, read(manager))
    assert not is_trusted(manager)
    copied = asyncio.run(manager.copy("a.ipynb"))["path"]
    assert not is_trusted(manager, copied)


def test_to_clear_the_outputs_is_not_to_trust(manager, file):
    given = read(manager)
    for cell in code(given):
        cell.outputs = []
    save(manager, given)
    assert not is_trusted(manager)


def test_an_output_that_jupyter_takes_for_safe_is_not_trusted(manager, file):
    notebook = json.loads(file.read_text())
    odd = {"output_type": "update_display_data", "data": {"text/html": "<script>"}, "metadata": {}}
    notebook["cells"][0]["outputs"] = [odd]
    file.write_text(json.dumps(notebook))
    save(manager, read(manager))
    given = read(manager)
    assert not given.metadata[PAGE].trusted and given.cells[0].outputs == []


@pytest.mark.parametrize("mark", [True, "false", 1])
def test_marks_in_a_file_that_is_uploaded_are_not_believed(manager, mark):
    notebook = strangers()
    for cell in code(notebook):
        cell.metadata.trusted = mark
    save(manager, notebook)
    assert not is_trusted(manager)
    notebook.metadata[PAGE] = {"page": "0" * 32, "trusted": True}
    with pytest.raises(HTTPError, match="no longer known"):
        save(manager, notebook)


def test_to_run_every_cell_and_save_is_to_trust(manager, file):
    given = read(manager)
    for cell in code(given):
        cell.metadata.trusted = True
    save(manager, given)
    assert is_trusted(manager)
    assert {
        key: value for key, value in read(manager).metadata.items() if key != PAGE
    } == strangers().metadata


def test_to_run_a_cell_of_ones_own_is_not_to_trust_what_came(manager, file):
    notebook = strangers()
    notebook.cells = notebook.cells[1:2]  # text alone
    nbformat.write(notebook, file)
    for instead in (False, True):
        given = read(manager)
        mine = new_code_cell(
            "1 + 1", outputs=[new_output("execute_result", {"text/plain": "2"}, execution_count=1)]
        )
        mine.metadata.trusted = True
        given.cells = [mine] if instead else [*given.cells, mine]
        save(manager, given)
        assert not is_trusted(manager)
        nbformat.write(strangers(), file)


def test_a_page_proves_itself_for_its_own_notebook_alone(manager, file, tmp_path):
    asyncio.run(manager.trust_notebook("a.ipynb"))
    page = read(manager).metadata[PAGE]
    foreign = strangers()
    foreign.cells[0].source, foreign.metadata[PAGE] = "other", page
    save(manager, foreign, "b.ipynb")
    assert not is_trusted(manager, "b.ipynb")
    given = read(manager)
    asyncio.run(manager.rename("a.ipynb", "c.ipynb"))
    given.cells[0].source = "mine"
    save(manager, given, "c.ipynb")
    assert is_trusted(manager, "c.ipynb")


def test_a_cell_that_is_pasted_from_another_notebook_keeps_what_it_shows(manager, file, tmp_path):
    shutil.copy(file, tmp_path / "b.ipynb")
    pasted, given = read(manager, "b.ipynb").cells[0], read(manager)
    given.cells[2] = pasted
    save(manager, given)
    saved = json.loads(file.read_text())["cells"][2]
    assert saved["outputs"][0]["data"].keys() == {"text/plain"} and PAGE not in saved["metadata"]


@pytest.mark.parametrize("with_cells", [True, False])
def test_a_reader_trusts_a_notebook(manager, file, with_cells):
    notebook = strangers()
    if not with_cells:
        notebook.cells = []
    nbformat.write(notebook, file)
    asyncio.run(manager.trust_notebook("a.ipynb"))
    given = read(manager)
    assert given.metadata[PAGE].trusted and given.metadata.rise == notebook.metadata.rise
    assert not with_cells or given.cells[0].outputs == notebook.cells[0].outputs
    with pytest.raises(HTTPError, match="is not a notebook"):
        asyncio.run(manager.trust_notebook("a.md"))
    (file.parent / "d.ipynb").mkdir()
    with pytest.raises(HTTPError, match="is not a notebook"):
        asyncio.run(manager.trust_notebook("d.ipynb"))


def test_a_notebook_that_is_begun_here_is_trusted_and_stays_so(manager):
    asyncio.run(manager.new_untitled(type="notebook"))
    given = read(manager, "Untitled.ipynb")
    assert given.metadata[PAGE].trusted
    given.cells = [
        new_code_cell("1", outputs=[new_output("display_data", {VEGA: {}})]),
        new_code_cell("not run yet"),
    ]
    save(manager, given, "Untitled.ipynb")
    assert is_trusted(manager, "Untitled.ipynb")


def test_notebooks_of_the_course_are_trusted_and_a_changed_one_is_not(manager, tmp_path):
    shutil.copy(ROOT / "slides" / "00_map_of_the_course.ipynb", tmp_path / "a.ipynb")
    assert is_trusted(manager)
    (tmp_path / "a.ipynb").write_bytes((tmp_path / "a.ipynb").read_bytes().replace(b"\n", b"\r\n"))
    assert is_trusted(manager)  # as Git may check it out on Windows
    (tmp_path / "a.ipynb").write_bytes((tmp_path / "a.ipynb").read_bytes() + b" ")
    assert not is_trusted(manager)


def test_two_notebooks_never_share_a_signature(tmp_path):
    """Jupyter's own signature is of all texts in a row, so that text of one cell may pass for a cell of another notebook."""
    notary = trust.notary_class()(data_dir=str(tmp_path))
    one, other = new_markdown_cell("xmetadatasourcey", id="a"), new_markdown_cell("x", id="a")
    first, second = new_notebook(cells=[one]), new_notebook(cells=[other])
    notary.sign(first)
    assert notary.check_signature(first) and not notary.check_signature(second)
    texts = [
        {"a": "b", "c": "d"},
        {"a": "bcd"},
        {"ab": "cd"},
        {"a": {"b": "cd"}},
        {"a": ["b", "cd"]},
        {"a": ["bc", "d"]},
    ]
    assert len({notary.compute_signature(new_notebook(metadata=metadata)) for metadata in texts}) == len(
        texts
    )


def test_a_copy_is_trusted_as_its_original_is(tmp_path, monkeypatch):
    monkeypatch.setattr(trust, "isolate", lambda environ: tmp_path)
    (tmp_path / "data").mkdir()
    ours = ROOT / "slides" / "00_map_of_the_course.ipynb"
    copied, foreign = tmp_path / "a.ipynb", tmp_path / "b.ipynb"
    nbformat.write(nbformat.read(ours, 4), copied)
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


def test_nothing_is_changed_in_what_is_put_back():
    original = json.loads(json.dumps(strangers()))
    kept, page = copy.deepcopy(original), nbformat.from_dict(inert(original))
    put_back(page, original, {0: 0, 1: 1, 2: 2})
    assert original == kept and json.loads(json.dumps(page)) == original


# --- the kernel -----------------------------------------------------------------------------------------------
def test_no_file_beside_a_notebook_is_imported_before_a_cell_is_run(tmp_path):
    """`python -m ipykernel_launcher` would take the first one, and a kernel that looks into the current folder the others."""
    for name in ("ipykernel_launcher", "ipykernel", "keyword", "operator", "reprlib", "jedi", "pathlib", "trio", "matplotlib_inline", "anywidget"):  # fmt: skip
        (tmp_path / f"{name}.py").write_text(f"open({str(tmp_path / f'{name} ran')!r}, 'w')")
    (tmp_path / "ipython_config.py").write_text(f"open({str(tmp_path / 'config ran')!r}, 'w')")
    (tmp_path / "helper.py").write_text("answer = 42")
    environ = {}
    environ["PYTHONPATH"] = os.pathsep.join(["", ".", os.environ.get("PYTHONPATH", "")])
    isolate(environ)
    environment = {**os.environ, **environ}
    manager = KernelManager(kernel_spec_manager=kernel_specs()(), kernel_name="python3")
    manager.start_kernel(cwd=str(tmp_path), env=environment)
    client = manager.client()
    client.start_channels()
    try:
        client.wait_for_ready(timeout=120)
        client.complete("import o", 8)
        client.get_shell_msg(timeout=60)
        time.sleep(0.5)
        assert not list(tmp_path.glob("* ran"))
        reply = client.execute_interactive(
            "import helper, reprlib, sys; assert helper.answer == 42", timeout=60
        )
        assert reply["content"]["status"] == "ok", reply["content"]
        assert not list(tmp_path.glob("* ran"))
    finally:
        client.stop_channels()
        manager.shutdown_kernel(now=True)
