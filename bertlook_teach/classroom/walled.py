"""Running a notebook of somebody else: in a folder of its own, without network, and ended in time."""

from __future__ import annotations

import contextlib
import os
import shutil
import signal
import subprocess
import sys
import tempfile
from pathlib import Path

from .collect import bounded

_WRAP = ("unshare", "--user", "--map-root-user", "--net", "--mount", "--pid", "--fork", "--kill-child")
_HINT = "Run collect in a container or an account that holds nothing else, with --unprotected."


def shut_in(folder: Path) -> list[str]:
    """The beginning of a command that can write to one folder only and reaches no network and no other process.

    Raises
    ------
    OSError
        Where the system cannot do that: it needs Linux, with user namespaces allowed.
    """
    wrap = [*_WRAP, "sh", str(Path(__file__).with_name("walls.sh")), str(folder)]
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
    with tempfile.TemporaryDirectory(prefix="bertlook-handed-in-") as folder:
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
            code = process.wait(seconds)
        except subprocess.TimeoutExpired:
            raise ValueError(f"it took longer than {seconds:.0f} seconds.") from None
        finally:
            _end(process)
        made = place / "out.ipynb"
        if code or made.is_symlink() or not made.is_file():
            raise ValueError("a cell raised, printed without end, or ended the kernel.")
        return bounded(made.open("rb"))


def _end(process: subprocess.Popen) -> None:
    """The process and all that it has started: in its namespace they end with it, else they are of its session."""
    with contextlib.suppress(OSError):
        if hasattr(os, "killpg"):
            os.killpg(process.pid, signal.SIGKILL)
        else:
            process.kill()
    process.wait()
