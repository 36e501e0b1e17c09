"""Install the built wheel in an empty environment, away from the repository, and run the notebooks there.

    python tools/try_wheel.py slides                  decks, without torch: those that need it must say which extra to install
    python tools/try_wheel.py lab                     decks, with everything a lecture needs
    python tools/try_wheel.py colab                   exercises and solutions, each alone in a folder, with Colab's kernel and widgets
    python tools/try_wheel.py slides --only 03 06     some

Prints for each notebook the seconds, the most memory its kernel had, and the first error. Exits with 1 if a notebook failed that
should not. Needs uv and, the first time, a package index. It simulates Colab: the versions of its kernel, a stand-in for ``google.colab``, and
the notebook's own installation cell with the wheel in the place of the address. The browser's side of Colab is not tried.
"""

from __future__ import annotations

import argparse
import json
import os
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Sequence
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
sys.path[:0] = [str(ROOT), str(ROOT / "tools")]

from check_constraints import environment
from links import read_home

import start

KINDS = ("slides", "lab", "colab")
COLAB = ("ipython==7.34.0", "ipywidgets==7.7.1", "ipykernel==6.17.1", "nbclient>=0.10")
NEED_TORCH = ("04", "11", "guest")  # decks that take gradients or switch heads off
ADVICE = "bertlook_teach[torch]"  # what a deck says that needs torch and does not find it

# Runs with the environment's Python. VmHWM is the most that the kernel ever had resident; only Linux tells.
RUNNER = """
import json, re, sys, time, nbformat
from pathlib import Path
from nbclient import NotebookClient
path = Path(sys.argv[1])
notebook = nbformat.read(path, 4)
for cell in notebook.cells:
    if "colab" in cell.metadata.get("tags", []):
        # The packages are there already; the cell installs the wheel itself.
        cell.source = cell.source.replace(sys.argv[2], sys.argv[3]).replace("pip install", "pip install --no-deps --no-index")
client = NotebookClient(notebook, timeout=1200, resources={"metadata": {"path": str(path.parent)}})
began, error, peak = time.perf_counter(), "", 0
with client.setup_kernel():
    pid = client.km.provisioner.pid
    try:
        for position, cell in enumerate(notebook.cells):
            client.execute_cell(cell, position)
    except Exception as problem:
        error = re.sub(r"\\x1b\\[[0-9;]*m", "", str(problem))[-2000:]
    status = Path(f"/proc/{pid}/status")
    if status.is_file():
        peak = int(re.search(r"VmHWM:\\s+(\\d+)", status.read_text()).group(1)) / 1024
print(json.dumps({"seconds": time.perf_counter() - began, "peak": peak, "error": error}))
"""


def build_wheel(folder: Path) -> Path:
    """The wheel of this checkout."""
    uv("build", "--wheel", "--quiet", "--out-dir", folder, ROOT)
    return next(folder.glob("*.whl"))


def uv(*arguments) -> None:
    """Run uv; it asks the indexes that pip would ask."""
    subprocess.run([sys.executable, "-m", "uv", *map(str, arguments)], env=environment(), check=True)


def make_environment(kind: str, folder: Path, wheel: Path) -> Path:
    """An environment with the wheel and nothing of the repository; returns its Python."""
    python = folder / ("Scripts/python.exe" if os.name == "nt" else "bin/python")
    uv("venv", "--quiet", "--seed", "--python", sys.executable, folder)
    install = ["pip", "install", "--quiet", "--python", python]
    if kind == "colab":
        uv(*install, f"{wheel}[torch]", f"torch=={start.torch_version()}", *COLAB)
        uv(
            "pip", "uninstall", "--quiet", "--python", python, "bertlook_teach"
        )  # the notebook's cell installs it
        packages = next(folder.rglob("site-packages"))
        (packages / "google" / "colab").mkdir(parents=True, exist_ok=True)
        (packages / "google" / "colab" / "__init__.py").write_text("", encoding="utf-8")
    else:
        uv(*install, "-c", start.CONSTRAINTS, f"{wheel}[{kind}]")
    return python


def notebooks(kind: str, only: Sequence[str] = ()) -> list[Path]:
    """What is tried: decks, or for Colab exercises and solutions."""
    folders = ("notebooks/exercises", "notebooks/solutions") if kind == "colab" else ("slides",)
    found = [path for folder in folders for path in sorted((ROOT / folder).glob("*.ipynb"))]
    return [path for path in found if not only or path.stem.split("_")[0] in only]


def install_address() -> str:
    """Where the installation cell installs from: the repository, or a wheel beside the notebook."""
    return read_home((ROOT / "pyproject.toml").read_text(encoding="utf-8")).source


def try_notebook(python: Path, notebook: Path, wheel: Path, env: dict[str, str]) -> dict:
    """Run a copy of a notebook in an empty folder."""
    with tempfile.TemporaryDirectory(prefix="bertlook-wheel-") as folder:
        copy = Path(shutil.copy(notebook, folder))
        address = install_address()
        here = (
            wheel.as_uri() if address.startswith("git+") else wheel
        )  # as the cell writes it: an address, or a file
        command = [python, "-c", RUNNER, copy, address, here]
        done = subprocess.run(command, cwd=folder, env=env, capture_output=True, text=True, check=False)
    if done.returncode:
        return {"seconds": 0, "peak": 0, "error": done.stderr[-2000:]}
    return json.loads(done.stdout.splitlines()[-1])


def judge(kind: str, name: str, error: str) -> tuple[bool, str]:
    """Whether this is as it should be, and what to print about it."""
    last = error.strip().splitlines()[-1] if error.strip() else ""
    if kind == "slides" and name.split("_")[0] in NEED_TORCH:
        return ADVICE in error, f"says so: {last}" if ADVICE in error else last or "ran without torch"
    return not error, last or "ran"


def main(argv: Sequence[str] | None = None) -> int:
    """Return the exit code."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("kind", choices=KINDS)
    parser.add_argument("--only", nargs="+", default=(), metavar="NN", help="these lessons")
    args = parser.parse_args(argv)
    chosen = notebooks(args.kind, args.only)
    if not chosen:
        parser.error(f"no notebook of lesson {', '.join(args.only)}")
    with tempfile.TemporaryDirectory(prefix="bertlook-wheel-") as folder:
        wheel = build_wheel(Path(folder, "dist"))
        python = make_environment(args.kind, Path(folder, "environment"), wheel)
        env = {
            **{name: value for name, value in os.environ.items() if not name.startswith("PYTHON")},
            "BERTLOOK_CACHE": str(Path(folder, "cache")),
            "JUPYTER_PATH": "",
            "PATH": f"{python.parent}{os.pathsep}{os.environ['PATH']}",
            "VIRTUAL_ENV": str(python.parent.parent),
        }
        failed = 0
        for notebook in chosen:
            found = try_notebook(python, notebook, wheel, env)
            well, said = judge(args.kind, notebook.stem, found["error"])
            failed += not well
            place = f"{notebook.parent.name}/{notebook.stem}"
            print(
                f"{'ok  ' if well else 'FAIL'} {place:52} {found['seconds']:5.0f} s {found['peak']:6.0f} MB  {said}",
                flush=True,
            )
    print(f"{len(chosen) - failed} of {len(chosen)} as they should be")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
