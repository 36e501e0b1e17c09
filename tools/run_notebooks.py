"""Run notebooks from top to bottom and save them with their outputs, the same bytes each time.

    python tools/run_notebooks.py                      every deck, solution and exercise
    python tools/run_notebooks.py slides/01_*.ipynb    these only
    python tools/run_notebooks.py --showing "On average, .* goes to"    those whose saved outputs show these words (or this pattern)
    python tools/run_notebooks.py --showing "On average" --list         say which, run none
    python tools/run_notebooks.py --check              run, write nothing, say what would change
    python tools/run_notebooks.py --exact ...          every byte counts: on the computer that saved them, or after a change of style

A notebook is saved only when all of its cells ran without an exception, a warning or anything else on stderr: what
a reader sees in a saved notebook is what a clean run gives. What depends on the run and not on the content (timings,
widget state, kernel details) is left out. An output that says the same as the saved one (`compare_outputs`) stays as it was
saved: another processor changes no file by its last digits.
"""

from __future__ import annotations

import argparse
import copy
import html
import json
import re
import sys
import time
from pathlib import Path

import nbformat

ROOT = Path(__file__).resolve().parent.parent
sys.path[:0] = [str(ROOT)]  # so that a plain checkout works too
sys.path.append(str(ROOT / "tools"))

import compare_outputs

from bertlook_press import classroom
from bertlook_teach.disk import write_file

FOLDERS = ("slides", "notebooks/solutions", "notebooks/exercises")

KERNELSPEC = {"display_name": "Python 3 (ipykernel)", "language": "python", "name": "python3"}
WIDGET_VIEW = "application/vnd.jupyter.widget-view+json"
# Left by editors and by execution; the rest of the metadata (rise, title, authors, ...) stays.
RUN_METADATA = (
    "widgets",
    "signature",
    "celltoolbar",
    "orig_nbformat",
    "toc",
    "toc-autonumbering",
    "varInspector",
)
RUN_CELL_METADATA = (
    "execution",
    "ExecuteTime",
    "collapsed",
    "scrolled",
    "trusted",
    "pycharm",
    "vscode",
    "editable",
)

_ANSI = re.compile(r"\x1b\[[0-9;]*[A-Za-z]")
_ADDRESS = re.compile(r"\bat 0x[0-9a-fA-F]{5,}")


class NotebookError(Exception):
    """A notebook did not run cleanly; the message names the notebook, the cell and the reason."""


def find_notebooks(root=ROOT) -> list[Path]:
    """All notebooks of the project in the order they are run: decks, solutions, exercises.

    Parameters
    ----------
    root : path
        The project's folder.

    Returns
    -------
    list of Path
    """
    return [path for folder in FOLDERS for path in sorted((Path(root) / folder).glob("*.ipynb"))]


def showing(pattern: str, paths) -> list[Path]:
    """Those notebooks of which a saved output shows a pattern: after a change of wording, these are to be run again.

    Parameters
    ----------
    pattern : str
        A regular expression, or plain words: the old wording, as a reader sees it in print.
    paths : iterable of path

    Returns
    -------
    list of Path

    Raises
    ------
    NotebookError
        If a notebook cannot be read, or the pattern is no regular expression.
    """
    try:
        wanted = re.compile(pattern)
    except re.error as error:
        raise NotebookError(f"--showing {pattern!r} is no regular expression: {error}") from None
    return [
        path
        for path in paths
        for outputs in [[output for cell in read(path).cells for output in cell.get("outputs", [])]]
        if any(wanted.search(html.unescape(text)) for output in outputs for text in output_texts(output))
    ]


def execute(notebook, *, folder, name="notebook", timeout=600):
    """Run a notebook in this Python environment and return it normalised; the one given is left alone.

    Parameters
    ----------
    notebook : NotebookNode
    folder : path
        Working directory of the kernel: the notebook's own folder, as in Jupyter and nbval.
    name : str
        How to call the notebook in messages.
    timeout : float
        Seconds one cell may take.

    Returns
    -------
    NotebookNode

    Raises
    ------
    NotebookError
        If a cell raises, writes to stderr (warnings do), takes too long, or shows a memory address.
    """
    try:
        notebook = classroom.execute(notebook, folder=folder, timeout=timeout)
    except classroom.CellStopped as stop:
        why = {
            "raised": f"cell {stop.number} raised\n{stop.text}",
            "time": f"cell {stop.number} took more than {timeout:g} s",
            "output": f"cell {stop.number} shows without end",
            "lost": f"cell {stop.number} ended, and what it showed did not arrive",
            "died": f"the kernel died in cell {stop.number} (out of memory?)",
        }
        raise NotebookError(f"{name}: {why[stop.kind]}") from None
    notebook = normalise(notebook)
    problems = output_problems(notebook)
    if problems:
        raise NotebookError("\n".join(f"{name}: {problem}" for problem in problems))
    return notebook


def normalise(notebook):
    """Leave out of an executed notebook whatever depends on the run, and return it; the one given is left alone.

    Outputs stay, but a widget's reference to a living model goes where the same output has a ``text/html``
    picture: opened without a kernel, the notebook then shows the picture instead of "model not found". A second
    call changes nothing.

    Parameters
    ----------
    notebook : NotebookNode

    Returns
    -------
    NotebookNode
    """
    notebook = copy.deepcopy(notebook)
    notebook.nbformat, notebook.nbformat_minor = 4, max(5, notebook.get("nbformat_minor", 5))
    for key in RUN_METADATA:
        notebook.metadata.pop(key, None)
    notebook.metadata.kernelspec = nbformat.from_dict(KERNELSPEC)
    notebook.metadata.language_info = nbformat.from_dict({"name": "python"})
    seen, count = set(), 0
    for index, cell in enumerate(notebook.cells):
        cell.id = _cell_id(cell.get("id"), index, seen)
        for key in RUN_CELL_METADATA:
            cell.metadata.pop(key, None)
        if cell.cell_type != "code":
            cell.pop("outputs", None)
            cell.pop("execution_count", None)
            continue
        if cell.execution_count is not None:
            count += 1
            cell.execution_count = count
        for output in cell.outputs:
            if "execution_count" in output:
                output.execution_count = cell.execution_count
            if "data" in output and WIDGET_VIEW in output.data and "text/html" in output.data:
                del output.data[WIDGET_VIEW]
                output.get("metadata", {}).pop(WIDGET_VIEW, None)
    return notebook


def output_problems(notebook) -> list[str]:
    """What no saved output may hold: an exception, anything on stderr, a memory address.

    Parameters
    ----------
    notebook : NotebookNode

    Returns
    -------
    list of str
        One sentence for each, with the number of the cell counted from 1.
    """
    problems = []
    for number, cell in enumerate(notebook.cells, start=1):
        for output in cell.get("outputs", []):
            if output.output_type == "error":
                problems.append(f"cell {number} shows an exception: {output.ename}: {output.evalue}")
            elif output.output_type == "stream" and output.name == "stderr":
                problems.append(f"cell {number} writes to stderr: {_ANSI.sub('', output.text).strip()}")
            for text in output_texts(output):
                address = _ADDRESS.search(text)
                if address:
                    problems.append(
                        f"cell {number} shows a memory address ({address.group()}), which changes from run to run: "
                        "give the object a __repr__, or assign the value to _"
                    )
    return problems


def output_texts(output) -> list[str]:
    """The readable texts of one output: streams and text or markup, not pictures or data.

    Parameters
    ----------
    output : NotebookNode

    Returns
    -------
    list of str
    """
    texts = [output.text] if "text" in output else []
    for kind, data in output.get("data", {}).items():
        if (kind.startswith("text/") or kind.endswith("+xml")) and isinstance(data, str):
            texts.append(data)
    return texts


def to_bytes(notebook) -> bytes:
    """The notebook as it is saved: sorted keys, one space of indent, LF line ends on every system."""
    return (nbformat.writes(notebook, version=nbformat.NO_CONVERT).rstrip("\n") + "\n").encode("utf-8")


def save(notebook, path) -> bool:
    """Write a notebook in one step, so that an interruption cannot leave half a file; whether it changed.

    One of the course goes into the list of notebooks that the server trusts.

    Parameters
    ----------
    notebook : NotebookNode
    path : path

    Returns
    -------
    bool
        False when the file already held exactly this.
    """
    path, data = Path(path), to_bytes(notebook)
    changed = not (path.exists() and path.read_bytes() == data)
    if changed:
        write_file(path, data)
    if path.resolve().is_relative_to(ROOT):
        classroom.write_list(ROOT)  # also of what was edited by hand, and says the same
    return changed


def kept(saved, fresh):
    """The fresh notebook with the saved form of each output that still says the same; the ones given are left alone.

    Parameters
    ----------
    saved, fresh : NotebookNode

    Returns
    -------
    NotebookNode
    """
    fresh = copy.deepcopy(fresh)
    before = {cell.id: cell.get("outputs", []) for cell in saved.cells}
    for cell in fresh.cells:
        outputs = cell.get("outputs", [])
        if len(outputs) != len(before.get(cell.id, [])):
            continue
        for old, new in zip(before[cell.id], outputs):
            if compare_outputs.same(old, new):
                new.update({part: copy.deepcopy(old[part]) for part in ("data", "text") if part in old})
    return fresh


PARTS = ("cell_type", "id", "source", "metadata", "execution_count", "outputs")


def differences(saved, fresh, compared=PARTS) -> list[str]:
    """Where two notebooks differ, for a reader: cells by number, then metadata.

    Parameters
    ----------
    saved, fresh : NotebookNode
    compared : sequence of str
        What of a cell must be the same.

    Returns
    -------
    list of str
        Empty when they are the same.
    """
    found = []
    if len(saved.cells) != len(fresh.cells):
        found.append(f"it has {len(saved.cells)} cells, {len(fresh.cells)} were expected")
    for number, (old, new) in enumerate(zip(saved.cells, fresh.cells), start=1):
        parts = [part for part in compared if old.get(part) != new.get(part)]
        if parts:
            found.append(f"cell {number} differs in {', '.join(parts)}: {_first_line(new.source)}")
        if "outputs" in parts:
            lines = compare_outputs.differences(old.get("outputs", []), new.get("outputs", []))
            found += [f"  {line}" for line in lines]
    if saved.metadata != fresh.metadata:
        found.append("the notebook's metadata differ")
    return found


def run(path, *, check=False, exact=False, timeout=600) -> list[str]:
    """Execute one notebook file; save it, or with ``check`` only say what would change.

    Parameters
    ----------
    path : path
    check : bool
    exact : bool
        Let every byte count: otherwise outputs that say the same as the saved ones stay as they were.
    timeout : float
        Seconds one cell may take.

    Returns
    -------
    list of str
        The differences between the saved and the fresh notebook.

    Raises
    ------
    NotebookError
        If it cannot be read or does not run cleanly; the file is then left as it was.
    """
    path = Path(path)
    saved = read(path)
    fresh = execute(saved, folder=path.parent, name=path.name, timeout=timeout)
    if not exact:
        fresh = kept(saved, fresh)
    changed = differences(saved, fresh)
    if not changed and path.read_bytes() != to_bytes(fresh):
        changed = ["the content is the same, the layout of the file is not"]
    if not check:
        save(fresh, path)
    return changed


def read(path):
    """Read a notebook file, or say in one sentence why it is none.

    Missing and repeated cell ids are replaced by the position: nbformat would make up others at each reading.
    """
    try:
        raw = json.loads(Path(path).read_text(encoding="utf-8"))
        seen = set()
        for index, cell in enumerate(raw["cells"]):
            cell["id"] = _cell_id(cell.get("id"), index, seen)
        raw["nbformat_minor"] = max(5, raw["nbformat_minor"])
        notebook = nbformat.reads(json.dumps(raw), as_version=4)
        nbformat.validate(notebook)
    except FileNotFoundError:
        raise NotebookError(f"{path}: there is no such file") from None
    except Exception as error:  # noqa: BLE001 - nbformat raises many kinds, all mean "not a notebook"
        reason = (str(error).splitlines() or [""])[0]
        raise NotebookError(
            f"{path}: not a notebook that can be read ({type(error).__name__}: {reason})"
        ) from None
    return notebook


def _cell_id(current, index, seen):
    """Keep a valid id, replace a missing or repeated one by the position, never by chance."""
    if not (isinstance(current, str) and re.fullmatch(r"[a-zA-Z0-9-_]{1,64}", current)) or current in seen:
        current, suffix = f"cell-{index + 1:02d}", 0
        while current in seen:
            suffix += 1
            current = f"cell-{index + 1:02d}-{suffix}"
    seen.add(current)
    return current


def _first_line(source) -> str:
    lines = [line for line in source.splitlines() if line.strip()] or ["(empty)"]
    return lines[0] if len(lines[0]) <= 60 else lines[0][:57] + "..."


def main(arguments=None) -> int:
    """Command line; returns the exit status."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument(
        "notebooks", nargs="*", type=Path, help="notebook files (default: all of the project)"
    )
    parser.add_argument(
        "--showing", metavar="WORDS", help="only those whose saved outputs show these words or this pattern"
    )
    parser.add_argument("--list", action="store_true", help="say which notebooks would run, and run none")
    parser.add_argument(
        "--check", action="store_true", help="write nothing; exit 1 if a saved notebook would change"
    )
    parser.add_argument(
        "--exact", action="store_true", help="let every byte of an output count, not only what it says"
    )
    options = parser.parse_args(arguments)
    paths = options.notebooks or find_notebooks()
    if not paths:
        print(f"No notebooks in {', '.join(FOLDERS)}.")
    if options.showing is not None:
        try:
            paths = showing(options.showing, paths)
        except NotebookError as error:
            print(error, file=sys.stderr)
            return 1
        if not paths:
            print(f"No saved output shows {options.showing!r}.")
    if options.list:
        print(*paths, sep="\n")
        return 0
    failed = False
    for path in paths:
        start = time.perf_counter()
        try:
            changed = run(path, check=options.check, exact=options.exact)
        except NotebookError as error:
            print(error, file=sys.stderr)
            failed = True
            continue
        state = ("differs" if options.check else "saved") if changed else "unchanged"
        print(f"{path}: {state} ({time.perf_counter() - start:.1f} s)")
        if options.check and changed:
            print("\n".join(f"  {line}" for line in changed))
            failed = True
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
