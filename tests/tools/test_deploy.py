"""The files for a hub: they parse, agree with one another, and the kernel is the one that is described."""

import ast
import json
import re
import subprocess
import sys
from pathlib import Path

import pytest

DEPLOY = Path(__file__).resolve().parents[2] / "deploy"


def test_every_file_parses_and_every_version_is_pinned():
    for script in DEPLOY.glob("*.py"):
        ast.parse(script.read_text(encoding="utf-8"))
    pins = (DEPLOY / "requirements-hub.txt").read_text().splitlines()
    assert all(re.fullmatch(r"[a-z-]+==[\d.]+", pin) for pin in pins if not pin.startswith("#"))
    container = (DEPLOY / "Containerfile").read_text()
    assert re.search(r"^FROM \S+:\d+\.\d+\.\d+-", container, re.MULTILINE)
    assert re.search(r"configurable-http-proxy@\d+\.\d+\.\d+", container)
    for name in re.findall(r"deploy/([\w.-]+)", container):
        assert (DEPLOY / name).is_file() or name == "Containerfile", name


@pytest.mark.skipif(sys.platform == "win32", reason="a hub's scripts are for Linux")
@pytest.mark.parametrize("script", [path.name for path in DEPLOY.glob("*.sh")])
def test_every_script_is_one_of_sh(script):
    subprocess.run(["sh", "-n", DEPLOY / script], check=True)


@pytest.mark.skipif(sys.platform != "linux", reason="the hub's kernel is for Linux")
def test_the_hubs_kernel_runs_without_debugger_and_trims_after_each_cell(tmp_path, monkeypatch):
    from jupyter_client.manager import start_new_kernel

    said = subprocess.run(
        [sys.executable, "-c", "import json, lean_kernel; print(json.dumps(lean_kernel.kernel_spec()))"],
        cwd=DEPLOY,
        capture_output=True,
        text=True,
        check=True,
    )
    folder = tmp_path / "kernels" / "lean"
    folder.mkdir(parents=True)
    (folder / "kernel.json").write_text(said.stdout)
    assert json.loads(said.stdout)["env"]["OMP_NUM_THREADS"] == "1"
    monkeypatch.setenv("JUPYTER_PATH", str(tmp_path))
    manager, client = start_new_kernel(kernel_name="lean")
    try:
        code = (
            "import sys; hooks = get_ipython().events.callbacks['post_run_cell']\n"
            "assert sys.modules['debugpy'] is None and any(h.__module__ == '__main__' for h in hooks), hooks"
        )
        assert client.execute_interactive(code, timeout=60)["content"]["status"] == "ok"
    finally:
        client.stop_channels()
        manager.shutdown_kernel(now=True)
