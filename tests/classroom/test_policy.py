"""What every answer of the server carries, what it refuses, and that a kernel is nobody else's to hear."""

import json
import stat
import time
from pathlib import Path
from types import SimpleNamespace
from urllib.error import HTTPError
from urllib.request import Request, urlopen

import psutil
import pytest
from browser.conftest import Server

from bertlook_press.classroom import TRANSPORT, socket_folder
from bertlook_press.classroom.policy import content_policy, is_asked_by_an_element

PAGES = (
    "lab",
    "tree",
    *(f"{host}/slides/a.ipynb" for host in ("rise", "lab/tree", "notebooks", "nbclassic/notebooks")),
)


@pytest.fixture(scope="module")
def server(tmp_path_factory):
    folder = tmp_path_factory.mktemp("served")
    (folder / "slides").mkdir()
    (folder / "slides" / "a.ipynb").write_text(
        json.dumps({"cells": [], "metadata": {}, "nbformat": 4, "nbformat_minor": 5})
    )
    (folder / "a.png").write_bytes(b"a")
    (folder / "a.js").write_bytes(b"a")
    server = Server(folder)
    yield server
    server.stop()


def ask(server, path, token=True, **headers):
    """Status, headers, text and address of an answer."""
    address = server.address(path) if token else server.address(path).split("?")[0]
    try:
        answer = urlopen(
            Request(address, headers={name.replace("_", "-"): value for name, value in headers.items()})
        )
    except HTTPError as error:
        answer = error
    with answer:
        return SimpleNamespace(
            status=answer.status,
            headers=answer.headers,
            text=answer.read().decode(errors="replace"),
            url=answer.url,
        )


@pytest.mark.parametrize(
    "path",
    [
        *PAGES,
        "login",
        "api/contents",
        "files/a.png",
        "static/favicons/favicon.ico",
        "no/such/page",
        "custom/custom.css",
    ],
)
def test_every_answer_carries_the_policy_and_none_the_token(server, path):
    found = ask(server, path)
    policies = found.headers.get_all("Content-Security-Policy")
    assert len(policies) == 1 and policies[0].startswith(content_policy(server.port))
    assert found.headers["Referrer-Policy"] == "same-origin"
    assert server.token not in found.text


def test_the_policy_names_no_host_but_its_own():
    rules = dict(part.split(" ", 1) for part in content_policy(8888).split("; "))
    assert rules["default-src"] == "'self'" and rules["script-src-attr"] == "'none'"
    assert rules["connect-src"] == "'self' ws://127.0.0.1:8888 ws://localhost:8888"
    allowed = {
        "'self'",
        "'none'",
        "'unsafe-inline'",
        "'unsafe-eval'",
        "data:",
        "blob:",
        "ws://127.0.0.1:8888",
        "ws://localhost:8888",
    }
    assert {source for rule in rules.values() for source in rule.split()} == allowed


@pytest.mark.parametrize(
    "wanted_as", ["image", "script", "style", "iframe", "object", "embed", "video", "worker", "x-of-tomorrow"]
)
@pytest.mark.parametrize(
    "path", ["api/contents", "api/kernels", "lab", "logout", "tree", "nbconvert/html/slides/a.ipynb"]
)
def test_what_a_page_shows_cannot_ask_for_pages_or_the_interface(server, path, wanted_as):
    assert ask(server, path, Sec_Fetch_Dest=wanted_as).status == 403


def test_what_lies_beside_a_notebook_can_be_shown_and_not_run(server):
    assert ask(server, "files/a.png", Sec_Fetch_Dest="image").status == 200
    for wanted_as in ("script", "worker", "object"):
        assert ask(server, "files/a.js", Sec_Fetch_Dest=wanted_as).status == 403


@pytest.mark.parametrize("host", ["files", "nbclassic/notebooks"])
def test_a_deck_without_a_style_sheet_of_its_own_gets_an_empty_one(server, host):
    """Both slideshows ask for a sheet named like the deck; what answers `not found` is a page, which is an error in the console."""
    sheet = ask(server, f"{host}/slides/a.css", Sec_Fetch_Dest="style")
    assert (sheet.status, sheet.headers.get_content_type(), sheet.text) == (200, "text/css", "")
    assert "/login" in ask(server, f"{host}/slides/a.css", token=False).url
    own = server.folder / "slides" / "a.css"
    own.write_text("p {}")
    assert ask(server, "files/slides/a.css", Sec_Fetch_Dest="style").text == "p {}"
    own.unlink()
    assert ask(server, "files/slides/none.css", Sec_Fetch_Dest="style").status == 404


@pytest.mark.parametrize(
    "path", ["/staticapi/contents", "/api/contents/static/", "//static/x/", "/lab/api/settings", "/files"]
)
def test_an_address_that_looks_like_an_asset_is_none(path):
    assert is_asked_by_an_element(SimpleNamespace(headers={"Sec-Fetch-Dest": "script"}, path=path))


def test_pages_and_programs_may_ask(server):
    for wanted_as in ("document", "empty"):
        assert ask(server, "api/contents", Sec_Fetch_Dest=wanted_as).status == 200
    assert ask(server, "api/contents").status == 200


def test_a_kernel_is_heard_by_nobody_else(server):
    if TRANSPORT == "tcp":
        pytest.skip("this system has no sockets with a name in a folder; the warning about it is shown")
    started = json.load(urlopen(Request(server.address("api/kernels"), data=b"{}", method="POST")))
    here = psutil.Process(server.process.pid)
    end = time.monotonic() + 60
    kernels = []
    while not kernels and time.monotonic() < end:
        kernels = [one for one in here.children(recursive=True) if "kernel_start" in " ".join(one.cmdline())]
        time.sleep(0.1)
    connection = Path(next(part for part in kernels[0].cmdline() if part.endswith(f"{started['id']}.json")))
    assert json.loads(connection.read_text())["transport"] == "ipc"
    assert stat.S_IMODE(connection.parent.stat().st_mode) & 0o077 == 0
    listening = [
        one
        for kernel in kernels
        for one in kernel.net_connections("inet")
        if one.status == psutil.CONN_LISTEN
    ]
    assert listening == []
    open_to_others = [
        str(file)
        for file in connection.parent.iterdir()
        if file.is_file() and stat.S_IMODE(file.stat().st_mode) & 0o077
    ]
    assert open_to_others == []


def test_a_folder_for_sockets_is_its_owners_and_has_a_short_name(monkeypatch, tmp_path):
    long = tmp_path / ("a" * 100)
    long.mkdir()
    monkeypatch.setattr("tempfile.tempdir", str(long))
    with socket_folder() as folder:
        assert stat.S_IMODE(folder.stat().st_mode) == 0o700
        assert len(str(folder)) < 107 - len("/kernel-") - 36 - len("-ipc-1")
    assert not folder.exists() and list(long.iterdir()) == []
