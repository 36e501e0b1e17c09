"""What every test here relies on: no network, quiet libraries, one specimen for all."""

from __future__ import annotations

import gc
import os
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from types import ModuleType

import pytest

ROOT = Path(__file__).resolve().parent.parent
OFFLINE = ROOT / "tests" / "offline"
STARTED = time.time()

# Before anything heavy is imported, and inherited by notebook kernels and subprocesses.
os.environ["HF_HUB_OFFLINE"] = "1"
os.environ.setdefault(
    "OMP_NUM_THREADS", "1"
)  # two threads gain a tenth when quiet, and lose tenfold on a busy machine
# Some hundred processes are started: where none may keep bytecode, each would compile this package and its tests anew.
os.environ.pop("PYTHONDONTWRITEBYTECODE", None)
sys.dont_write_bytecode = False
SCRATCH = tempfile.TemporaryDirectory(prefix="bertlook-tests-")
for name in ("JUPYTER_CONFIG_DIR", "JUPYTER_DATA_DIR", "JUPYTER_RUNTIME_DIR", "IPYTHONDIR"):
    os.environ[name] = str(
        Path(SCRATCH.name, name.lower())
    )  # the reader's own start-up files are no part of the tests
if "PYTEST_XDIST_WORKER" not in os.environ:  # one for all: a deck is opened again and again
    os.environ["BERTLOOK_CACHE"] = str(Path(SCRATCH.name, "kept"))
NETWORK_LOG = Path(SCRATCH.name, "network.log")
NETWORK_LOG.touch()
os.environ["BERTLOOK_NETWORK_LOG"] = str(NETWORK_LOG)
os.environ["PYTHONPATH"] = os.pathsep.join(filter(None, [str(OFFLINE), os.environ.get("PYTHONPATH")]))
sys.path.insert(0, str(OFFLINE))
# Where no sitecustomize was found at start this cuts the network; another one (Debian has its own) is replaced.
# ours is there in pytest's worker processes
if not hasattr(sys.modules.get("sitecustomize"), "NetworkBlocked"):
    sys.modules.pop("sitecustomize", None)
import sitecustomize


@pytest.hookimpl(wrapper=True)
def pytest_collection():
    """Collecting imports everything and makes a million objects, which all stay: looking through them for garbage, then and in the
    tests, takes seconds in each process and finds none."""
    gc.disable()
    try:
        return (yield)
    finally:
        gc.freeze()
        gc.enable()


def pytest_collection_modifyitems(items):
    """What takes long comes first, so that no process is left with it at the end. Solutions come last: by then the exercises have
    kept what both compute."""
    items.sort(key=lambda item: _late(item.nodeid))


def _late(nodeid: str) -> int:
    if nodeid.startswith("tests/browser"):
        return 0
    if nodeid.startswith("notebooks/solutions"):
        return 3
    return 1 if _needs_kernel(nodeid) else 2


def _needs_kernel(nodeid: str) -> bool:
    return nodeid.startswith("tests/browser") or "ipynb" in nodeid


def pytest_configure(config):
    """Several processes share one nursery, which makes itself ready while they collect."""
    if config.getoption("numprocesses", None):
        start_nursery(config)


def pytest_collection_finish(session):
    """A single process has one where it will start many kernels."""
    if (
        "BERTLOOK_NURSERY" not in os.environ
        and not session.config.option.collectonly
        and sum(_needs_kernel(item.nodeid) for item in session.items) > 50
    ):
        start_nursery(session.config)


def start_nursery(config) -> None:
    """From now on kernels are forked from one process (see offline/ipykernel_launcher.py); on Linux alone, where that is safe."""
    if sys.platform == "linux":
        address = os.environ["BERTLOOK_NURSERY"] = str(Path(SCRATCH.name, "nursery"))
        command = [sys.executable, str(OFFLINE / "kernel_nursery.py"), address]
        config.nursery = subprocess.Popen(command, stdin=subprocess.PIPE)  # ends with this process


@pytest.hookimpl(wrapper=True)
def pytest_runtest_teardown(item):
    """An attempt fails the test that made it, even if the code under test swallowed the error (notebooks included)."""
    result = yield
    attempts = sitecustomize.attempts()
    if attempts:
        sitecustomize.forget_attempts()
        pytest.fail(f"tried to reach the network: {', '.join(attempts)}", pytrace=False)
    return result


@pytest.hookimpl(trylast=True)
def pytest_terminal_summary(terminalreporter):
    """Where the pictures are that the browser tests have taken, if any did in this run."""
    if folder := os.environ.get("BERTLOOK_SCREENSHOTS"):
        new = [path for path in Path(folder).glob("*.jpg") if path.stat().st_mtime >= STARTED]
        terminalreporter.write_line(f"sheets of the slides that were walked through: {len(new)} in {folder}")


@pytest.fixture(scope="session", autouse=True)
def nothing_kept():
    """Kernels and commands take shipped evidence and keep results on disk; a test computes its own, for it may have changed a function."""
    from bertlook_course.storage import cache as store
    from bertlook_course.storage import shipped_evidence

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(store, "store_folder", lambda: None)
        patch.setattr(shipped_evidence, "evidence_folder", lambda: None)
        yield


@pytest.fixture(scope="session")
def root() -> Path:
    """The project's folder."""
    return ROOT


@pytest.fixture(scope="session")
def specimen():
    """The shipped BERT, loaded once."""
    from bertlook_teach import load_encoder

    return load_encoder("specimen")


@pytest.fixture
def memory_folder():
    """A folder in memory where there is one: thousands of small files are written here."""
    with tempfile.TemporaryDirectory(dir="/dev/shm" if os.access("/dev/shm", os.W_OK) else None) as folder:
        yield Path(folder)


@pytest.fixture(scope="module")
def encoders(tmp_path_factory):
    """One tiny encoder of each family."""
    from tiny import FAMILIES, save_tiny_model

    from bertlook_teach import load_encoder

    folder = tmp_path_factory.mktemp("families")
    return {family: load_encoder(save_tiny_model(folder / family, family)) for family in FAMILIES}


@pytest.fixture(scope="module")
def tiny(tmp_path_factory):
    """A tiny BERT with random weights and no masked-LM head; anew for each file, since a test may change it."""
    from made import tiny_encoder

    return tiny_encoder(tmp_path_factory.mktemp("tiny") / "bert")


DOORS = [".".join(path.parent.relative_to(ROOT).parts) for path in ROOT.glob("bertlook_*/**/__init__.pyi")]


@pytest.fixture(autouse=True)
def forgetful_doors():
    """lazy_loader keeps what a door has handed on: a test that replaces a function in its file would not be seen, or be seen by later tests."""
    for door in filter(None, map(sys.modules.get, DOORS)):
        for name in set(door.__all__) & set(vars(door)):
            if not isinstance(vars(door)[name], ModuleType):
                delattr(door, name)
