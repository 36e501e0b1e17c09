"""A stranger's notebook, opened and not run: nothing of it runs, and nothing it names is asked of another host."""

from __future__ import annotations

import threading
from base64 import b64encode
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

import nbformat
import pytest
from nbformat.v4 import new_code_cell, new_markdown_cell, new_output

from bertlook_teach.classroom import STATE, export_deck

from .conftest import make_deck

VIEW = "application/vnd.jupyter.widget-view+json"
RUNS = "<img src=x onerror='window.evil=1'><svg onload='window.evil=1'><script>window.evil=1</script></svg><script>window.evil=1</script>"


@pytest.fixture(scope="module")
def host():
    """Another host: its address, and what was asked of it."""
    asked = []

    class Answer(BaseHTTPRequestHandler):
        def do_GET(self):
            asked.append(self.path)
            self.send_response(204)
            self.end_headers()

        def log_message(self, *args):
            pass

    server = ThreadingHTTPServer(("127.0.0.1", 0), Answer)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    yield f"http://127.0.0.1:{server.server_port}", asked
    server.shutdown()
    server.server_close()


@pytest.fixture(scope="module")
def notebook(host, trial_folder):
    """Text and saved outputs that name the other host in every way, and would run something."""
    there = host[0]
    named = (
        f"<img src='{there}/img'><iframe src='{there}/frame'></iframe><video src='{there}/film' autoplay></video>"
        f"<style>@import '{there}/sheet'; p {{ background: url({there}/background) }}</style><p style='background: url({there}/p)'>p</p>"
        f"<svg width='9' height='9'><image href='{there}/svg' width='9' height='9'/></svg><object data='{there}/object'></object>"
    )
    html = new_output("display_data", {"text/html": named + RUNS, "text/plain": "html"})
    svg = new_output("display_data", {"image/svg+xml": f"<svg xmlns='http://www.w3.org/2000/svg' onload='window.evil=1'><image href='{there}/a'/></svg>"})  # fmt: skip
    script = new_output("display_data", {"application/javascript": "window.evil=1", "text/plain": "js"})
    views = [
        new_output("display_data", {VIEW: {"model_id": name, "version_major": 2}, "text/plain": name})
        for name in ("said", "view")
    ]
    drawing = f"<svg xmlns='http://www.w3.org/2000/svg' onload='window.evil=1'><image href='{there}/b'/>{RUNS}</svg>"
    attached = {"a.svg": {"image/svg+xml": b64encode(drawing.encode()).decode()}}
    text = f"# A stranger's\n\n![picture]({there}/markdown)\n\n![attached](attachment:a.svg)\n\n{named}\n\n{RUNS}\n\nthe end of it"
    cells = [
        (new_markdown_cell(text, attachments=attached), "slide"),
        (new_code_cell("1", execution_count=1, outputs=[html, svg, script, *views]), "-"),
    ]
    path = trial_folder / "stranger.ipynb"
    deck = make_deck(cells)
    deck.metadata["widgets"] = {STATE: {"state": widgets_of(there), "version_major": 2, "version_minor": 0}}
    nbformat.write(deck, path)
    return path


def widgets_of(there: str) -> dict[str, dict]:
    """Saved widgets that would run something: markup, and a view whose script is not ours."""
    evil = f"window.evil=1; fetch('{there}/script'); export default {{render() {{ window.evil=1 }}, initialize() {{ window.evil=1 }}}}"
    said = {"_dom_classes": [], "layout": "IPY_MODEL_layout", "style": "IPY_MODEL_style", "value": RUNS}
    said |= {
        "_model_name": "HTMLModel",
        "_view_name": "HTMLView",
        "_view_module": "@jupyter-widgets/controls",
    }
    view = {"_model_name": "AnyModel", "_view_name": "AnyView", "_view_module": "anywidget", "_esm": evil}
    view |= {
        "_css": f"@import '{there}/css'; body {{ background: url({there}/back) }}",
        "_anywidget_id": "evil.Evil",
        "layout": "IPY_MODEL_layout",
    }
    base, controls, any_ = (
        ("@jupyter-widgets/base", "2.0.0"),
        ("@jupyter-widgets/controls", "2.0.0"),
        ("anywidget", "~0.11.*"),
    )
    made = {
        "layout": ("LayoutModel", base, {}),
        "style": ("HTMLStyleModel", controls, {}),
        "said": ("HTMLModel", controls, said),
        "view": ("AnyModel", any_, view),
    }
    return {
        key: {"model_name": name, "model_module": home[0], "model_module_version": home[1], "state": state}
        for key, (name, home, state) in made.items()
    }


@pytest.mark.parametrize("route", ["rise", "lab/tree", "nbclassic/notebooks"])
def test_a_notebook_of_a_stranger_that_is_opened_asks_nobody_and_runs_nothing(
    route, open_page, notebook, host
):
    opened = open_page(route, notebook)
    opened.page.get_by_text("the end of it").first.wait_for(state="attached")
    opened.page.wait_for_load_state("networkidle")
    assert host[1] == []
    assert opened.page.evaluate("[window, ...Array.from(frames)].every((one) => one.evil === undefined)")


def test_an_exported_file_of_a_stranger_that_was_not_run_asks_nobody_and_runs_nothing(
    blank, notebook, host, tmp_path
):
    done = export_deck(notebook, tmp_path, run=False, handout=True, say=lambda line: None)
    for file in (done.page, done.handout):
        page = blank()
        page.goto(file.as_uri())
        page.get_by_text("the end of it").first.wait_for(state="attached")
        assert page.evaluate("window.evil") is None
        page.wait_for_load_state("networkidle")
    assert host[1] == []
