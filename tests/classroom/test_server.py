"""Starting a server that leaves the reader's own Jupyter alone."""

import argparse
import json
import os
import re
import subprocess
import sys
import urllib.request
from pathlib import Path

import pytest
import sitecustomize

from bertlook_press.classroom import jupyter_home
from bertlook_press.classroom import server as launch

ROOT = Path(__file__).resolve().parents[2]


@pytest.mark.parametrize("text", ["0", "65536", "-1", "eighty", "8.5", "", "٨٨٨٨"])
def test_a_port_is_a_number_in_range(text):
    with pytest.raises(argparse.ArgumentTypeError, match="a number from 1 to 65535"):
        launch.port_number(text)


def test_the_configuration_folder_is_ours():
    environ = {
        "HOME": "/home/ada",
        "JUPYTER_PATH": "/home/ada/jupyter",
        "JUPYTERLAB_SETTINGS_DIR": "/home/ada/settings",
    }
    home = jupyter_home.isolate(environ)
    assert home.parent == Path(sys.prefix)
    assert {name for name, value in environ.items() if "/home/ada" in value} == {"HOME"}
    for name in ("JUPYTER_CONFIG_DIR", "JUPYTER_DATA_DIR", "IPYTHONDIR"):
        assert Path(environ[name]).is_relative_to(home)
    assert home.stat().st_mode & 0o077 == 0
    for name in jupyter_home.PRIVATE:
        assert (home / name).stat().st_mode & 0o177 == 0
    page = json.loads((home / "config" / "labconfig" / "page_config.json").read_text())
    assert page["disabledExtensions"] == {
        "@jupyterlab/apputils-extension:announcements": True,
        "@jupyterlab/vega5-extension": True,
    }


def test_where_the_environment_cannot_be_written_a_temporary_folder_serves(monkeypatch, tmp_path):
    monkeypatch.setattr(jupyter_home.sys, "prefix", str(tmp_path / "nowhere"))
    home = jupyter_home.isolate({})
    assert (home / "config" / "nbconfig" / "rise.json").is_file()
    assert not (tmp_path / "nowhere").exists()


OPEN_TO_ALL = {
    "ServerApp": {
        "base_url": "/mine/",
        "ip": "0.0.0.0",
        "token": "",
        "password": "",
        "disable_check_xsrf": True,
    },
    "IdentityProvider": {"token": ""},
}


def files_in(folder):
    return {str(path.relative_to(folder)): path.read_bytes() for path in folder.rglob("*") if path.is_file()}


def test_a_server_starts_asks_for_its_token_and_writes_nothing_into_the_home_folder(tmp_path):
    home = tmp_path / "home"
    (home / ".jupyter").mkdir(parents=True)
    # Settings that lie around would open the server to everybody, were they read: in the home folder, the current one, and where variables point.
    here, elsewhere = tmp_path / "here", tmp_path / "elsewhere"
    for folder in (home / ".jupyter", here, elsewhere):
        folder.mkdir(exist_ok=True)
        for name in ("jupyter_server_config", "jupyter_config", "jupyter_lab_config"):
            (folder / f"{name}.json").write_text(json.dumps(OPEN_TO_ALL))
        (folder / "jupyter_server_config.py").write_text(f"open({str(tmp_path / 'it ran')!r}, 'w')")
    before = files_in(home)
    environ = {
        name: value for name, value in os.environ.items() if not name.startswith(("JUPYTER", "IPYTHON"))
    }
    environ |= {name: str(elsewhere) for name in ("JUPYTER_CONFIG_DIR", "JUPYTER_CONFIG_PATH")}
    environ |= {
        "JUPYTER_TOKEN": "known",
        "PYTHONPATH": os.pathsep.join([str(ROOT), os.environ.get("PYTHONPATH", "")]),
    }
    environ |= {"HOME": str(home), "USERPROFILE": str(home), "XDG_CONFIG_HOME": str(home / ".config")}
    command = [sys.executable, "-m", "bertlook_bench", "present", "--no-browser"]
    process = subprocess.Popen(
        command, cwd=here, env=environ, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    )
    try:
        lines = iter(process.stdout.readline, "")
        address = next(line.split()[-1] for line in lines if line.startswith("Slides:"))
        assert re.fullmatch(r"http://127\.0\.0\.1:\d+/rise/slides/00_\w+\.ipynb\?token=\w{48}", address)
        with urllib.request.urlopen(address) as answer:
            assert answer.status == 200
            assert b"jupyter-config-data" in answer.read()
        with urllib.request.urlopen(address.split("?")[0]) as answer:
            assert "/login" in answer.url  # no token, no deck
        with urllib.request.urlopen(address.split("rise/")[0]) as answer:
            assert answer.url.endswith("/login?next=%2F")  # nor its name
        with urllib.request.urlopen(address.split("token=")[0] + "token=known") as answer:
            assert "/login" in answer.url
    finally:
        process.terminate()
        _, errors = process.communicate(timeout=30)
    assert files_in(home) == before and not (tmp_path / "it ran").exists()
    assert "Traceback" not in errors
    assert sitecustomize.attempts() == []
