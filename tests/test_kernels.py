"""Kernels that the tests fork (offline/kernel_nursery.py) are like those that a reader starts."""

from __future__ import annotations

import json
import os
import queue
import subprocess
import sys
import time
from pathlib import Path

import psutil
import pytest
from jupyter_client.manager import start_new_kernel

OFFLINE = Path(__file__).resolve().parent / "offline"

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="kernels are forked on Linux alone")

LIKE = """
import json, os, random, signal, sys, warnings
import numpy, torch
from bertlook_teach import load_encoder
import matplotlib.pyplot as plt
like = {
    "folder": os.getcwd(), "path": sys.path, "backend": plt.get_backend(), "threads": torch.get_num_threads(),
    "environment": sorted(os.environ), "warnings": [f[:2] + f[4:] for f in warnings.filters if f[0] == "error"],
    "signal": str(signal.getsignal(signal.SIGCHLD)), "blocked": hasattr(sys.modules["sitecustomize"], "NetworkBlocked"),
    "layers": load_encoder("specimen").n_layers, "program": sys.argv[:1],
}
print(json.dumps({"like": like, "drawn": [random.random(), numpy.random.random(), torch.rand(1).item()], "ours": os.getpid()}))
"""


def answer(client, code: str) -> dict:
    said = []
    reply = client.execute_interactive(
        code,
        timeout=120,
        output_hook=lambda message: said.append(message["content"].get("text") or message["content"]),
    )
    assert reply["content"]["status"] == "ok", (reply["content"], said)
    return json.loads("".join(text for text in said if isinstance(text, str)))


@pytest.fixture(scope="module")
def nursery(tmp_path_factory):
    """The address of a nursery: the one of this run, else one of this module's own."""
    if "BERTLOOK_NURSERY" in os.environ:
        yield os.environ["BERTLOOK_NURSERY"]
        return
    address = str(tmp_path_factory.mktemp("nursery") / "door")
    process = subprocess.Popen(
        [sys.executable, OFFLINE / "kernel_nursery.py", address], stdin=subprocess.PIPE
    )
    yield address
    process.stdin.close()
    assert process.wait(timeout=120) == 0


@pytest.fixture
def kernel(nursery, tmp_path, monkeypatch):
    """A function that starts a kernel, forked or afresh."""
    started = []

    def start(forked: bool):
        monkeypatch.setenv("BERTLOOK_NURSERY", nursery if forked else "")
        manager, client = start_new_kernel(cwd=str(tmp_path))
        started.append((manager, client))
        return manager, client

    yield start
    for manager, client in started:
        client.stop_channels()
        manager.shutdown_kernel(now=True)


def gone(number: int) -> bool:
    """Whether a process ends within some seconds."""
    end = time.monotonic() + 120
    while psutil.pid_exists(number) and psutil.Process(number).status() != psutil.STATUS_ZOMBIE:
        if time.monotonic() > end:
            return False
        time.sleep(0.1)
    return True


def test_a_forked_kernel_is_like_a_fresh_one(kernel):
    (fresh_manager, fresh), (_, forked), (_, another) = kernel(False), kernel(True), kernel(True)
    found = [answer(client, LIKE) for client in (fresh, forked, another)]
    # it says nothing at import, and finds everything as it should be
    assert found[0]["like"] == found[1]["like"] == found[2]["like"]
    assert found[0]["ours"] == fresh_manager.provisioner.pid
    # no two draw the same
    assert all(one != other for one, other in zip(found[1]["drawn"], found[2]["drawn"], strict=True))


def reply_to(client, asked: str, seconds: float) -> dict | None:
    """The reply to one request, or None if there is none for so long; a kernel also says that it is ready, once for each time it was asked."""
    try:
        while (reply := client.get_shell_msg(timeout=seconds))["parent_header"]["msg_id"] != asked:
            pass
    except queue.Empty:
        return None
    return reply


def test_it_can_be_interrupted(kernel):
    manager, client = kernel(True)
    # After an error a kernel drops what it is asked next, for as long as it takes to get round to it; not so without stop_on_error.
    asked = client.execute("print('asleep', flush=True); import time; time.sleep(600)", stop_on_error=False)
    while "asleep" not in client.get_iopub_msg(timeout=120)["content"].get("text", ""):
        pass
    # Between printing and sleeping a kernel can lose an interrupt: ipykernel's own kernel lost 3 of 400. So it is sent again, as a reader would.
    reply = None
    for _ in range(24):
        manager.interrupt_kernel()
        if reply := reply_to(client, asked, seconds=5):
            break
    assert reply is not None, "no interrupt of 24 was heard"
    assert reply["content"]["ename"] == "KeyboardInterrupt"
    assert answer(client, "print(1)") == 1


@pytest.mark.parametrize("now", [True, False])
def test_it_ends_when_it_is_told_to(kernel, now):
    manager, client = kernel(True)
    number = answer(client, "import os; print(os.getpid())")
    assert number != manager.provisioner.pid
    manager.shutdown_kernel(now=now)
    assert gone(number)


def test_it_ends_with_the_process_that_asked_for_it(kernel):
    manager, client = kernel(True)
    number = answer(client, "import os; print(os.getpid())")
    os.kill(manager.provisioner.pid, 9)
    assert gone(number)
