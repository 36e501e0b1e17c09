"""The kernel of a shared server: python lean_kernel.py --install makes it the Python kernel of this environment.

It differs from ipykernel's own in two things, which cost a student nothing: it has no debugger (8 MB), and what a cell has freed
goes back to the system after the cell instead of waiting in this process for the next one (10 to 30 MB after lesson 03).
"""

import ctypes
import json
import sys
from pathlib import Path

sys.modules["debugpy"] = None  # before ipykernel asks whether it is there

from ipykernel.ipkernel import IPythonKernel
from ipykernel.kernelapp import IPKernelApp


class LeanKernel(IPythonKernel):
    """Gives free memory back after each cell, where the C library can (glibc; musl and macOS do it on their own)."""

    def __init__(self, **options):
        super().__init__(**options)
        trim = getattr(ctypes.CDLL(None), "malloc_trim", None)
        if trim is not None:
            self.shell.events.register("post_run_cell", lambda *_: trim(0))


def kernel_spec() -> dict:
    """What Jupyter reads: one thread of arithmetic a student, since cores are fewer than students."""
    return {
        "argv": [sys.executable, str(Path(__file__).resolve()), "-f", "{connection_file}"],
        "display_name": "Python 3 (ipykernel)",
        "language": "python",
        "metadata": {"debugger": False},
        "env": {"OMP_NUM_THREADS": "1", "OPENBLAS_NUM_THREADS": "1"},
    }


def install() -> Path:
    """Put it in the place of this environment's ``python3`` kernel."""
    folder = Path(sys.prefix) / "share" / "jupyter" / "kernels" / "python3"
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "kernel.json").write_text(json.dumps(kernel_spec(), indent=1) + "\n", encoding="utf-8")
    return folder


if __name__ == "__main__":
    if sys.argv[1:] == ["--install"]:
        print(install())
    else:
        IPKernelApp.launch_instance(kernel_class=LeanKernel)
