"""Running and saving notebooks: the same bytes each time, no trace of the run, nothing unclean saved."""

import json
import os
import subprocess
import sys
from pathlib import Path

import nbformat
import pytest
from nbformat.v4 import new_code_cell, new_markdown_cell, new_notebook, new_output

ROOT = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "tools"))

import run_notebooks
from run_notebooks import NotebookError, normalise, output_problems, read, run, save

# A widget as ours are: a living view where there is a kernel, a picture in text/html where there is none.
WIDGET = """import ipywidgets
class Map(ipywidgets.HTML):
    def __repr__(self):
        return "Map()"
    def _repr_mimebundle_(self, **options):
        return {**super()._repr_mimebundle_(**options), "text/html": "<b>a map</b>"}
Map()"""


def write(path, *sources, **metadata):
    """A notebook file with random cell ids and no kernel metadata, as a script would make it."""
    cells = [new_markdown_cell("# Title"), *(new_code_cell(source) for source in sources)]
    nbformat.write(new_notebook(cells=cells, metadata=metadata), path)
    return path


@pytest.fixture(scope="module")
def tiny(tmp_path_factory):
    """A notebook run once and saved; a run costs a kernel, so the tests share it and leave it alone."""
    folder = tmp_path_factory.mktemp("tiny")
    (folder / "beside.txt").write_text("beside the notebook", encoding="utf-8")
    path = write(
        folder / "tiny.ipynb",
        WIDGET,
        "print('one', end=' ', flush=True)\nprint('two')\n1 + 1",
        "open('beside.txt').read()",
        "import sys\nsys.executable == " + repr(sys.executable),
        rise={"autorun": "all", "theme": "simple"},
        widgets={"application/vnd.jupyter.widget-state+json": {"state": {}}},
    )
    run(path)
    return path


def test_running_twice_gives_the_same_bytes(tiny):
    before = tiny.read_bytes()
    assert run(tiny) == []
    assert tiny.read_bytes() == before
    assert b"\r" not in before and before.endswith(b"}\n") and not before.endswith(b"\n\n")


def test_outputs_are_kept_and_streams_are_joined(tiny):
    cells = read(tiny).cells
    assert [cell.execution_count for cell in cells[1:]] == [1, 2, 3, 4]
    assert [output.get("text") for output in cells[2].outputs] == ["one two\n", None]
    assert cells[2].outputs[1].data == {"text/plain": "2"}


def test_the_kernel_is_this_python_in_the_folder_of_the_notebook(tiny):
    cells = read(tiny).cells
    assert cells[3].outputs[0].data["text/plain"] == "'beside the notebook'"
    assert cells[4].outputs[0].data["text/plain"] == "True"


def test_a_widget_is_saved_as_its_picture(tiny):
    assert read(tiny).cells[1].outputs[0].data == {"text/plain": "Map()", "text/html": "<b>a map</b>"}
    assert "widget" not in json.dumps(read(tiny).metadata)


def test_the_metadata_hold_the_deck_settings_and_no_trace_of_the_machine(tiny):
    assert read(tiny).metadata == {
        "kernelspec": {"display_name": "Python 3 (ipykernel)", "language": "python", "name": "python3"},
        "language_info": {"name": "python"},
        "rise": {"autorun": "all", "theme": "simple"},
    }


def nbval(path):
    options = ["--nbval", "-q", "-p", "no:cacheprovider", "--rootdir", path.parent]
    command = [sys.executable, "-m", "pytest", *options, path]
    return subprocess.run(command, cwd=path.parent, capture_output=True, text=True, check=False)


def test_strict_nbval_accepts_a_widget_saved_as_its_picture(tiny):
    done = nbval(tiny)
    assert "4 passed" in done.stdout, done.stdout


def test_strict_nbval_still_compares_that_picture(tiny, tmp_path):
    nb = read(tiny)
    nb.cells = nb.cells[:2]
    nb.cells[1].outputs[0].data["text/html"] = "<b>another map</b>"
    save(nb, tmp_path / "other.ipynb")
    done = nbval(tmp_path / "other.ipynb")
    assert "1 failed" in done.stdout and "another map" in done.stdout, done.stdout


def test_check_writes_nothing_and_names_the_cell_that_differs(tiny, tmp_path, capsys):
    nb = read(tiny)
    nb.cells = [nb.cells[0], nb.cells[2]]
    nb.cells[1].execution_count = nb.cells[1].outputs[1].execution_count = 1
    nb.cells[1].outputs[1].data["text/plain"] = "3"
    path = tmp_path / "stale.ipynb"
    save(nb, path)
    before = path.read_bytes()
    assert run_notebooks.main(["--check", str(path)]) == 1
    assert "cell 2 differs in outputs: print('one'" in capsys.readouterr().out
    assert path.read_bytes() == before


@pytest.mark.parametrize(
    "source, message",
    [
        ("1 / 0", "cell 3 raised[^$]*ZeroDivisionError: division by zero"),
        ("import warnings\nwarnings.warn('old name')", "cell 3 writes to stderr: [^$]*old name"),
        ("object()", "cell 3 shows a memory address"),
        ("import time\ntime.sleep(60)", "cell 3 took more than 2 s"),
    ],
)
def test_a_notebook_that_does_not_run_cleanly_is_left_as_it_was(tmp_path, source, message):
    path = write(tmp_path / "bad.ipynb", "1 + 1", source, "2 + 2")
    before = path.read_bytes()
    with pytest.raises(NotebookError, match=f"bad.ipynb: {message}"):
        run(path, timeout=2)
    assert path.read_bytes() == before
    assert os.listdir(tmp_path) == ["bad.ipynb"]


# ---- without a kernel -----------------------------------------------------------------------------------------


def used_notebook():
    """A notebook as JupyterLab leaves it: timings, counts of a long session, editor settings, widget state."""
    picture = new_output(
        "display_data",
        data={run_notebooks.WIDGET_VIEW: {"model_id": "ab"}, "text/html": "<b>x</b>", "text/plain": "X()"},
        metadata={run_notebooks.WIDGET_VIEW: {"x": 1}},
    )
    bare = new_output(
        "display_data", data={run_notebooks.WIDGET_VIEW: {"model_id": "ab"}, "text/plain": "Box()"}
    )
    first = new_code_cell("x", execution_count=17, outputs=[picture, bare])
    first.metadata = {
        "execution": {"iopub.status.busy": "2026"},
        "slideshow": {"slide_type": "slide"},
        "scrolled": True,
    }
    second = new_code_cell(
        "y", execution_count=41, outputs=[new_output("execute_result", execution_count=41)]
    )
    nb = new_notebook(cells=[first, new_code_cell(""), second, new_markdown_cell("text")])
    nb.metadata = {
        "widgets": {},
        "rise": {"theme": "simple"},
        "language_info": {"name": "python", "version": "3.11"},
    }
    return nbformat.from_dict(nb)


def test_normalise_drops_the_run_and_keeps_the_rest():
    nb = normalise(used_notebook())
    assert "widgets" not in nb.metadata and nb.metadata.rise == {"theme": "simple"}
    assert nb.metadata.language_info == {"name": "python"}
    assert nb.cells[0].metadata == {"slideshow": {"slide_type": "slide"}}
    assert [cell.get("execution_count") for cell in nb.cells] == [1, None, 2, None]
    assert nb.cells[2].outputs[0].execution_count == 2


def test_normalise_keeps_a_widget_view_that_has_no_picture():
    first, second = normalise(used_notebook()).cells[0].outputs
    assert set(first.data) == {"text/html", "text/plain"} and first.metadata == {}
    assert set(second.data) == {run_notebooks.WIDGET_VIEW, "text/plain"}


def test_normalise_twice_is_normalise_once_and_the_original_is_left_alone():
    nb = used_notebook()
    before = json.dumps(nb)
    once = normalise(nb)
    assert normalise(once) == once
    assert json.dumps(nb) == before


def test_ids_are_kept_and_missing_or_repeated_ones_replaced_by_the_position(tmp_path):
    path = tmp_path / "ids.ipynb"
    nb = used_notebook()
    nb.cells[0].id = nb.cells[1].id = "mine"
    del nb.cells[2]["id"]
    nb.cells[3].id = "cell-03"
    path.write_text(json.dumps(nb), encoding="utf-8")
    assert [cell.id for cell in read(path).cells] == ["mine", "cell-02", "cell-03", "cell-04"]
    assert [cell.id for cell in read(path).cells] == ["mine", "cell-02", "cell-03", "cell-04"]


def test_a_clean_output_is_no_problem():
    nb = new_notebook(
        cells=[new_code_cell("x", outputs=[new_output("stream", name="stdout", text="looks at 0.3")])]
    )
    assert output_problems(nb) == []


def test_save_says_whether_the_file_changed(tmp_path):
    nb = normalise(used_notebook())
    assert save(nb, tmp_path / "new" / "x.ipynb") is True
    assert save(nb, tmp_path / "new" / "x.ipynb") is False
    assert os.listdir(tmp_path / "new") == ["x.ipynb"]


@pytest.mark.parametrize("content", [None, "", "{}", "[1]", '{"cells": 3}', "\x00"])
def test_a_file_that_is_no_notebook_is_named(tmp_path, content):
    path = tmp_path / "x.ipynb"
    if content is not None:
        path.write_text(content, encoding="utf-8")
    with pytest.raises(
        NotebookError, match=r"x\.ipynb: (there is no such file|not a notebook that can be read)"
    ):
        read(path)


def test_notebooks_are_found_in_the_order_they_are_run(tmp_path):
    names = ["slides/01_a", "slides/02_b", "notebooks/solutions/01_a", "notebooks/exercises/01_a"]
    for name in (names[3], names[1], names[0], names[2]):
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / f"{name}.ipynb").touch()
    found = [path.relative_to(tmp_path).as_posix() for path in run_notebooks.find_notebooks(tmp_path)]
    assert found == [f"{name}.ipynb" for name in names]


def test_after_a_change_of_wording_the_notebooks_that_show_it_are_found(tmp_path, capsys):
    """In any output, as it is read: not in the source, and not as markup writes it."""
    paths = [tmp_path / f"{name}.ipynb" for name in ("shows", "asks", "else")]
    figure = new_output("display_data", {"text/html": "<p>a token&#x27;s share: 40 % goes to [SEP].</p>"})
    cells = [
        new_code_cell("f()", outputs=[figure]),
        new_code_cell("'40 % goes to [SEP]'"),
        new_code_cell("g()", outputs=[new_output("stream", text="it goes home")]),
    ]
    for path, cell in zip(paths, cells):
        nbformat.write(new_notebook(cells=[cell]), path)
    assert run_notebooks.showing(r"token's share: \d+ % goes to", paths) == paths[:1]
    assert run_notebooks.showing("goes", paths) == [paths[0], paths[2]]
    before = paths[0].read_bytes()
    assert run_notebooks.main(["--showing", "goes", "--list", *map(str, paths)]) == 0
    assert capsys.readouterr().out.splitlines() == [str(paths[0]), str(paths[2])]
    assert paths[0].read_bytes() == before
    assert run_notebooks.main(["--showing", "nowhere", *map(str, paths)]) == 0
    assert "No saved output shows 'nowhere'" in capsys.readouterr().out
    assert run_notebooks.main(["--showing", "goes (", *map(str, paths)]) == 1
    assert "is no regular expression" in capsys.readouterr().err


def test_a_missing_notebook_fails_the_command_and_the_others_go_on(tmp_path, capsys):
    assert run_notebooks.main([str(tmp_path / "a.ipynb"), str(tmp_path / "b.ipynb")]) == 1
    assert capsys.readouterr().err.count("there is no such file") == 2
