"""Running a notebook of somebody else: in a folder of its own, without network, and ended in time."""

from __future__ import annotations

import contextlib
import os
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path

from .collect import bounded

_WRAP = ("unshare", "--user", "--map-root-user", "--net", "--mount", "--pid", "--fork", "--kill-child")
MOST_WRITTEN = 1 << 30  # bytes that a notebook may leave in its folder
_HINT = "Run collect in a container or an account that holds nothing else, with --unprotected."


def shut_in(folder: Path) -> list[str]:
    """The beginning of a command that can write to one folder only and reaches no network, no other process, no device and no socket of the system.

    Raises
    ------
    OSError
        Where the system cannot do that: it needs Linux, with user namespaces allowed.
    """
    here = Path(__file__)
    wrap = [*_WRAP, "sh", str(here.with_name("walls.sh")), str(folder)]
    wrap += [sys.executable, "-I", str(here.with_name("no_sockets.py"))]
    if sys.platform != "linux" or not shutil.which("unshare"):
        raise OSError(f"notebooks are run shut in, which needs Linux and its command unshare. {_HINT}")
    tried = subprocess.run([*wrap, "true"], check=False, capture_output=True, timeout=60)
    if tried.returncode:
        raise OSError(
            f"this system does not let notebooks be shut in (user namespaces are off, say). {_HINT}"
        )
    return wrap


def run_handed_in(content: bytes, *, seconds: float = 300, protected: bool = True) -> bytes:
    """Run a notebook in a fresh kernel and return it with its new outputs.

    Parameters
    ----------
    content : bytes
        The file.
    seconds : float
        For all of it, the kernel's start included.
    protected : bool
        Without network, with a disk that is read-only but for an empty folder, see `shut_in`.

    Raises
    ------
    ValueError
        If it did not come to its end: what stopped it.
    OSError
        If it cannot be protected here.
    """
    with _passing_folder() as folder:
        place = Path(folder).resolve()
        (place / "in.ipynb").write_bytes(content)
        wrap = shut_in(place) if protected else []
        here = {
            "HOME": folder,
            "TMPDIR": folder,
            "JUPYTER_RUNTIME_DIR": folder,
            "IPYTHONDIR": f"{folder}/ipython",
        }
        kept = {
            name: os.environ[name]
            for name in ("PATH", "PYTHONPATH", "SYSTEMROOT", "LANG")
            if name in os.environ
        }
        limits = {"OMP_NUM_THREADS": "1", "HF_HUB_OFFLINE": "1", "PYTHONDONTWRITEBYTECODE": "1"}
        process = subprocess.Popen(
            [
                *wrap,
                sys.executable,
                "-m",
                "bertlook_teach.classroom.rerun",
                "in.ipynb",
                "out.ipynb",
                str(seconds),
            ],
            cwd=place,
            env=kept | here | limits,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
            start_new_session=True,
        )
        try:
            code = _wait(process, place, seconds)
        finally:
            _end(process)
        made = place / "out.ipynb"
        if code or made.is_symlink() or not made.is_file():
            raise ValueError("a cell raised, printed without end, or ended the kernel.")
        return bounded(made.open("rb"))


@contextlib.contextmanager
def _passing_folder() -> Iterator[str]:
    """A temporary folder; what is being ended may write to it for a moment longer."""
    folder = tempfile.mkdtemp(prefix="bertlook-handed-in-")
    try:
        yield folder
    finally:
        for _ in range(50):
            shutil.rmtree(folder, ignore_errors=True)
            if not os.path.exists(folder):
                break
            time.sleep(0.1)


def _wait(process: subprocess.Popen, folder: Path, seconds: float) -> int:
    """Its exit code; an error once it takes too long, or has written more than `MOST_WRITTEN` bytes."""
    last = time.monotonic() + seconds
    while True:
        try:
            return process.wait(0.2)
        except subprocess.TimeoutExpired:
            if time.monotonic() > last:
                raise ValueError(f"it took longer than {seconds:.0f} seconds.") from None
            if _size(folder) > MOST_WRITTEN:
                raise ValueError(f"it wrote more than {MOST_WRITTEN >> 20} MB to the disk.") from None


def _size(folder: Path) -> int:
    """Bytes of the files below; what goes away in the meantime counts as none."""
    total = 0
    for root, _, names in os.walk(folder):
        for name in names:
            with contextlib.suppress(OSError):
                total += os.lstat(os.path.join(root, name)).st_size
    return total


def _end(process: subprocess.Popen) -> None:
    """The process and all that it has started: in its namespace they end with it, else they are of its session."""
    with contextlib.suppress(OSError):
        if hasattr(os, "killpg"):
            os.killpg(process.pid, signal.SIGKILL)
        else:
            process.kill()
    process.wait()
