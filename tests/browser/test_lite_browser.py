"""A JupyterLite of the site in a browser with no way out: Python starts, finds this package by itself, and does what it does here.

It needs Pyodide, which no package of Python's brings: name its folder in the variable BERTLOOK_PYODIDE, and the exercises are run where numpy lies in it.
"""

from __future__ import annotations

import functools
import hashlib
import http.server
import json
import os
import re
import threading
from pathlib import Path

import nbformat
import pytest
from nbformat.v4 import new_code_cell, new_notebook

from bertlook_teach.course import find_root
from bertlook_teach.disk import data_path
from bertlook_teach.model.plain_wordpieces import PlainWordPieces

pytest.importorskip("jupyterlite_pyodide_kernel", reason='pip install "bertlook_teach[lite]"')

from bertlook_teach.classroom.site import lite

FOLDER = os.environ.get("BERTLOOK_PYODIDE", "")

pytestmark = pytest.mark.skipif(not FOLDER, reason="BERTLOOK_PYODIDE names no folder of Pyodide")

TEXT = "Na\u00efve caf\u00e9s, unbelievably! \u4e2d\u6587 \ud55c\uae00 don't x\u200by [MASK] \U0001f600 e\u0301\u0323."

PURE = f"""
import sys
from bertlook_teach.course import LESSONS
from bertlook_teach.disk import data_path
from bertlook_teach.model.plain_wordpieces import PlainWordPieces
import hashlib, json, mmap
with open(data_path("model", "model.safetensors"), "rb") as file:
    weights = hashlib.sha256(mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ)).hexdigest()
pieces = PlainWordPieces(json.loads(data_path("model", "tokenizer.json").read_text(encoding="utf-8"))).encode({TEXT!r}, "It slept.")
print("FOUND", json.dumps([sys.platform, len(LESSONS), weights, pieces.ids, pieces.type_ids]))
"""

WHERE = "import ipywidgets\nipywidgets.IntSlider(value=3)"

EXERCISE = "import sys; print('RAN TO ITS END', sys.platform)"


def has_numpy() -> bool:
    return any(Path(FOLDER).glob("numpy-*wasm32.whl"))


class Quiet(http.server.SimpleHTTPRequestHandler):
    def log_message(self, *args) -> None:
        pass


@pytest.fixture(scope="module")
def site(tmp_path_factory):
    """A JupyterLite with a notebook of pure Python, and the exercises with a last cell that says so."""
    out, room = tmp_path_factory.mktemp("public"), tmp_path_factory.mktemp("notebooks")
    nbformat.write(new_notebook(cells=[new_code_cell(PURE), new_code_cell(WHERE)]), room / "pure.ipynb")
    for path in sorted((find_root() / "notebooks" / "exercises").glob("*.ipynb")):
        if path.name[:2] in lite.RUN_IN_PAGE:
            notebook = nbformat.read(path, as_version=4)
            notebook.cells.append(new_code_cell(EXERCISE))
            nbformat.write(notebook, room / path.name)
    wanted = (
        lite.WANTED
        if has_numpy()
        else [one for one in lite.WANTED if one not in ("numpy", "scipy", "matplotlib")]
    )
    lite.build_lite(out, sorted(room.glob("*.ipynb")), lite.lite_files(Path(FOLDER), wanted))
    return out


@pytest.fixture
def opened(site, browser):
    """``opened(notebook)`` opens it, runs all its cells, and gives the page and the requests that went elsewhere."""
    server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), functools.partial(Quiet, directory=str(site)))
    threading.Thread(target=server.serve_forever, daemon=True).start()
    context, foreign = browser.new_context(), []
    context.on(
        "request",
        lambda request: (
            foreign.append(request.url)
            if re.match("https?:", request.url) and "//127.0.0.1:" not in request.url
            else None
        ),
    )

    def opened(notebook: str):
        page = context.new_page()
        page.set_default_timeout(180_000)
        page.goto(f"http://127.0.0.1:{server.server_port}/{lite.LAB}?path={notebook}")
        page.locator(".jp-Notebook .jp-Cell").first.click()
        page.keyboard.press("Escape")
        page.get_by_role("menuitem", name="Run", exact=True).click()
        page.get_by_role("menuitem", name="Run All Cells", exact=True).click()
        return page, foreign

    yield opened
    context.close()
    server.shutdown()
    server.server_close()


def test_python_in_the_page_finds_this_package_and_reads_as_it_does_here(opened):
    page, foreign = opened("pure.ipynb")
    page.locator(".jp-OutputArea-output", has_text="FOUND").wait_for()
    found = json.loads(
        page.locator(".jp-OutputArea-output", has_text="FOUND").inner_text().partition("FOUND ")[2]
    )
    here = PlainWordPieces(
        json.loads(data_path("model", "tokenizer.json").read_text(encoding="utf-8"))
    ).encode(TEXT, "It slept.")
    weights = hashlib.sha256(data_path("model", "model.safetensors").read_bytes()).hexdigest()
    assert found == ["emscripten", 14, weights, here.ids, here.type_ids]
    page.locator(".widget-slider").wait_for()
    assert foreign == []


@pytest.mark.skipif(bool(FOLDER) and not has_numpy(), reason="the folder of Pyodide has no numpy")
@pytest.mark.parametrize("number", lite.RUN_IN_PAGE)
def test_an_exercise_runs_to_its_end(opened, number):
    (path,) = (find_root() / "notebooks" / "exercises").glob(f"{number}_*.ipynb")
    page, foreign = opened(path.name)
    page.locator(".jp-OutputArea-output", has_text="RAN TO ITS END emscripten").wait_for()
    assert page.locator(".jp-RenderedText[data-mime-type='application/vnd.jupyter.error']").count() == 0
    assert foreign == []
