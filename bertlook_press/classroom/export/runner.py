"""Run a notebook in this Python; of a deck also keep the state of its widgets and Python's answers to every choice."""

from __future__ import annotations

import asyncio
import contextlib
import copy
import os
import re
import sys
import time
import warnings
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path

from bertlook_teach.disk import install_command

from .errors import ExportError
from .state import LINKS, STATE, displayed

RECORDING = "bertlook_recording"  # where the recording stands in an executed notebook's metadata

MOST_OUTPUT = 100_000_000  # characters of a notebook
SECONDS_FOR_CELL = 3600  # on a model without shipped evidence, a deck fits and trains as it opens
SECONDS_TO_STOP = 5.0  # that a kernel has after each interrupt
SECONDS_FOR_OUTPUT = 60  # that what a cell showed may come after its end

_PRINTED_OVER = re.compile(r"^.*\r(?=[^\n])", re.MULTILINE)
_ANSI = re.compile(r"\x1b\[[0-9;]*[A-Za-z]")


def read_deck(path: Path):
    """The notebook in a file.

    Raises
    ------
    ExportError
        If the file is not a notebook.
    """
    import nbformat

    try:
        if (size := path.stat().st_size) > MOST_OUTPUT:
            raise ExportError(
                f"{path} has {size / 1e6:,.0f} MB; a notebook of at most {MOST_OUTPUT / 1e6:.0f} MB was expected. Clear its outputs."
            )
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # what it mends in cells' names
            _, notebook = nbformat.validator.normalize(nbformat.read(path, as_version=4))
            nbformat.validate(notebook)
        return tidied(notebook)
    except ExportError:
        raise
    except OSError as error:
        raise ExportError(f"{path} cannot be read: {error.strerror}.") from None
    except Exception as error:  # noqa: BLE001 - nbformat raises many kinds, all mean "not a notebook"
        reason = (str(error).splitlines() or [""])[0]
        raise ExportError(f"{path} is not a notebook that can be read: {reason}") from None


def tidied(notebook):
    """Without metadata of another kind than Jupyter writes: it is valid JSON, and means nothing."""
    parts = [
        (notebook.metadata, ("rise", "widgets")),
        *((cell.metadata, ("slideshow", "jupyter")) for cell in notebook.cells),
    ]
    for metadata, keys in parts:
        for key in keys:
            if not isinstance(metadata.get(key, {}), dict):
                del metadata[key]
    for cell in notebook.cells:
        if not isinstance(cell.metadata.get("slideshow", {}).get("slide_type", ""), str):
            del cell.metadata["slideshow"]
    saved = notebook.metadata.get("widgets", {}).get(STATE)
    if saved is not None:
        models = saved.get("state") if isinstance(saved, dict) else None
        usual = models.items() if isinstance(models, dict) else ()
        kept = {name: model for name, model in usual if _is_model(model)}
        notebook.metadata["widgets"][STATE] = {**(saved if isinstance(saved, dict) else {}), "state": kept}
    return notebook


def _is_model(model) -> bool:
    """Whether it is the state of a widget as Jupyter writes it; one that is not stays a picture."""
    if not isinstance(model, dict) or not isinstance(model.get("model_name"), str):
        return False
    state, buffers = model.get("state"), model.get("buffers", [])
    if not isinstance(state, dict) or not isinstance(buffers, list):
        return False
    named = state.get("layout") is None or isinstance(state["layout"], str)
    children = state.get("children", [])
    ends = [state.get(end) for end in ("source", "target")] if model["model_name"] in LINKS else []
    module = isinstance(state.get("_esm"), str) if model["model_name"] == "AnyModel" else True
    return (
        named
        and module
        and isinstance(state.get("_css") or "", str)
        and isinstance(children, list | tuple)
        and all(isinstance(child, str) for child in children)
        and all(isinstance(e, list) and len(e) == 2 and all(isinstance(x, str) for x in e) for e in ends)
        and all(
            isinstance(b, dict)
            and isinstance(b.get("data"), str)
            and isinstance(b.get("path"), list)
            and all(isinstance(step, str | int) for step in b["path"])
            for b in buffers
        )
    )


def was_executed(notebook) -> bool:
    """Whether every code cell with something in it has run."""
    return all(
        cell.execution_count is not None
        for cell in notebook.cells
        if cell.cell_type == "code" and cell.source.strip()
    )


def _size(content: Mapping) -> int:
    """Characters of an output."""
    data = content.get("data") or {"text": content.get("text", "")}
    return sum(len(value) for value in data.values() if isinstance(value, str))


def _joined(outputs: list) -> list:
    """A cell's outputs with one of each stream, standard output before the errors, and without what was printed over.

    As ``coalesce_streams`` of nbclient does it, whose time grows with the square of a line's length: a line of a million characters takes it four minutes.
    """
    joined, streams = [], {}
    for output in outputs:
        if output["output_type"] != "stream":
            joined.append(output)
        elif output["name"] in streams:
            streams[output["name"]].append(output["text"])
        else:
            streams[output["name"]] = [output["text"]]
            joined.append(output)
    for place, output in enumerate(joined):
        if output["output_type"] == "stream":
            output["text"] = _PRINTED_OVER.sub("", "".join(streams[output["name"]]))
            before = joined[place - 1] if place else {}
            if output["name"] == "stdout" and before.get("name") == "stderr":
                joined[place - 1 : place + 1] = output, before
    return joined


class CellStopped(Exception):
    """The cell of this number (from 1) raised, took too long, showed without end, or took Python with it.

    ``kind`` is "raised", "time", "lost", "output" or "died"; ``text`` the traceback without colours.
    """

    def __init__(self, number: int, kind: str, text: str = ""):
        super().__init__(number, kind, text)
        self.number, self.kind, self.text = number, kind, text


def execute(
    notebook,
    *,
    folder: Path,
    timeout: float = 600,
    on_cell: Callable[[int], None] = lambda number: None,
    at_end: Callable[[object], None] | None = None,
):
    """Run all cells in this Python, whatever kernels are installed; the notebook given is left alone.

    Parameters
    ----------
    notebook : NotebookNode
    folder : path
        Where the notebook lies, which is where its cells run.
    timeout : float
        Seconds one cell may take.
    on_cell : callable
        Gets the number of each cell before it runs.
    at_end : callable
        Gets nbclient's client when all cells have run and Python is still there; with it the states of widgets are kept.

    Returns
    -------
    NotebookNode

    Raises
    ------
    CellStopped
        If a cell fails or takes too long.
    ModuleNotFoundError
        If Jupyter is not installed.
    """
    from nbclient.exceptions import CellExecutionError, CellTimeoutError, DeadKernelError

    from ..jupyter_home import isolate

    notebook = copy.deepcopy(notebook)
    notebook.metadata.pop("widgets", None)
    for cell in notebook.cells:
        if cell.cell_type == "code":
            cell.outputs, cell.execution_count = [], None
    client = _bounded_client(notebook, folder, timeout, keeps_widgets=at_end is not None)
    environment = dict(os.environ)
    isolate(environment)
    number = 0

    def count(n: int) -> None:
        nonlocal number
        number = n
        on_cell(n)

    try:
        client.reset_execution_trackers()
        with _kernel(client, environment):
            _run_cells(client, count)
            if at_end is not None:
                at_end(client)
                client.set_widgets_metadata()
    except (CellExecutionError, CellTimeoutError, DeadKernelError) as error:
        if client.interrupting is not None:
            raise CellStopped(number, "output") from None
        if isinstance(error, CellExecutionError):
            raise CellStopped(number, "raised", _ANSI.sub("", str(error)).rstrip()) from None
        if isinstance(error, CellTimeoutError):
            raise CellStopped(number, "lost" if "IOPub" in str(error) else "time") from None
        raise CellStopped(number, "died") from None
    return notebook


def _run_cells(client, on_cell: Callable[[int], None]) -> None:
    for number, cell in enumerate(client.nb.cells, 1):
        on_cell(number)
        client.execute_cell(cell, number - 1)
        if client.interrupting is not None:  # and the error it gave is one that may be
            raise CellStopped(number, "output")
        if cell.cell_type == "code":
            cell.outputs = _joined(cell.outputs)


@contextlib.contextmanager
def _kernel(client, environment: Mapping[str, str]) -> Iterator[None]:
    """A kernel of this Python for a client, on a socket of its own."""
    from ipykernel.kernelspec import RESOURCES, get_kernel_dict
    from jupyter_client.kernelspec import KernelSpecManager
    from jupyter_client.manager import AsyncKernelManager
    from traitlets import default

    from ..jupyter_home import TRANSPORT, begun_safely, socket_folder

    class ThisEnvironment(KernelSpecManager):
        def get_kernel_spec(self, kernel_name):
            return begun_safely(self.kernel_spec_class(resource_dir=RESOURCES, **get_kernel_dict()))

    class ThisPython(AsyncKernelManager):
        @default("kernel_spec_manager")
        def _this_environment(self):
            return ThisEnvironment(parent=self)

    with socket_folder() as private:
        file = str(private / "kernel.json")
        client.km = ThisPython(kernel_name="python3", transport=TRANSPORT, connection_file=file)
        with client.setup_kernel(env=environment):
            try:
                yield
            finally:
                if client.interrupting is not None:
                    client.interrupting.cancel()


def _bounded_client(notebook, folder: Path, timeout: float, *, keeps_widgets: bool):
    """What runs a notebook and takes so much output and no more."""
    from nbclient import NotebookClient

    class Bounded(NotebookClient):
        """A cell that prints without end would fill the memory."""

        taken, interrupting = 0, None

        def process_message(self, msg, cell, cell_index):
            if msg["msg_type"] in ("stream", "display_data", "execute_result", "update_display_data"):
                self.taken += _size(msg["content"])
                if self.taken > MOST_OUTPUT:
                    if self.interrupting is None:
                        self.interrupting = asyncio.ensure_future(self._stop())
                    return None
            return super().process_message(msg, cell, cell_index)

        async def _stop(self):
            """A kernel that prints may take no notice of one interrupt: it is asked again, then ended."""
            for _ in range(2):
                await self.km.interrupt_kernel()
                await asyncio.sleep(SECONDS_TO_STOP)
            await self.km.provisioner.kill()

    return Bounded(
        notebook,
        timeout=timeout,
        # A busy machine may deliver an output late; losing one silently would save a wrong notebook.
        iopub_timeout=SECONDS_FOR_OUTPUT,
        raise_on_iopub_timeout=True,
        # Without its remarks on its transport, and on its end by Ctrl-C.
        extra_arguments=["--log-level=CRITICAL"],
        resources={"metadata": {"path": str(folder)}},
        record_timing=False,
        store_widget_state=keeps_widgets,
    )


def run_deck(notebook, *, folder: Path, name: str, say: Callable[[str], None] = print):
    """Run a deck and return it executed, with widget state and recording; the one given is left alone.

    Parameters
    ----------
    notebook : NotebookNode
    folder : path
        Where the deck lies, which is where its cells run.
    name : str
        What the deck is called in messages.
    say : callable
        Gets a line now and then.

    Raises
    ------
    ExportError
        If a cell fails or takes too long, with its number; or if Jupyter is not installed.
    """
    start = time.perf_counter()
    progress = _Progress(name, len(notebook.cells))
    recording = {}

    def record(client) -> None:
        progress.end()
        recording.update(_recording(client, client.nb, say))

    try:
        done = execute(notebook, folder=folder, timeout=SECONDS_FOR_CELL, on_cell=progress, at_end=record)
    except ModuleNotFoundError as error:
        raise ExportError(
            f"{error.name} is not installed, so the deck cannot be run. Start with `python3 start.py`, or install it: "
            f"{install_command('slides')}"
        ) from None
    except CellStopped as stop:
        progress.end()
        why = {
            "raised": f"cell {stop.number} fails, so the deck is not exported.\n{stop.text}\nMend the cell, or see it in "
            "JupyterLab with `bertlook lab`.",
            "output": f"cell {stop.number} prints without end: the deck has more than {MOST_OUTPUT / 1e6:.0f} MB of output.",
            "time": f"cell {stop.number} took more than {SECONDS_FOR_CELL} s.",
            "lost": f"cell {stop.number} ended, and what it showed did not arrive within {SECONDS_FOR_OUTPUT} s. Try once more.",
            "died": f"Python died in cell {stop.number} (out of memory?).",
        }
        raise ExportError(f"{name}: {why[stop.kind]}") from None
    done.metadata[RECORDING] = recording
    say(f"{name}: ran {len(done.cells)} cells in {time.perf_counter() - start:.0f} s")
    return done


def _recording(client, notebook, say) -> dict:
    """Ask the kernel what it would answer; a view that does not let itself be asked must not stop the export."""
    from nbclient.exceptions import CellExecutionError
    from nbformat.v4 import new_code_cell

    from ...pages import MIME

    roots = displayed(output for cell in notebook.cells for output in cell.get("outputs", ()))
    source = f"from bertlook_press.pages import RecordedStates; RecordedStates({roots!r})"
    cell = new_code_cell(source)
    notebook.cells.append(cell)
    try:
        client.execute_cell(cell, len(notebook.cells) - 1)
        return next(output.data[MIME] for output in cell.outputs if MIME in output.get("data", {}))
    except (CellExecutionError, StopIteration) as error:
        reason = (_ANSI.sub("", str(error)).strip().splitlines() or ["no answer"])[-1]
        say(
            f"  choices that Python draws could not be recorded ({reason}); they will say that they need Jupyter"
        )
        return {"recordings": [], "silent": {}, "tables": {}}
    finally:
        notebook.cells.pop()


class _Progress:
    """One line that counts, on a terminal; nothing in a log."""

    def __init__(self, name: str, total: int):
        self._name, self._total = name, total
        self._shown = sys.stderr.isatty()

    def __call__(self, number: int) -> None:
        if self._shown:
            print(
                f"\r{self._name}: running cell {number} of {self._total} ",
                end="",
                file=sys.stderr,
                flush=True,
            )

    def end(self) -> None:
        if self._shown:
            print("\r" + " " * (len(self._name) + 40) + "\r", end="", file=sys.stderr, flush=True)
