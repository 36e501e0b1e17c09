"""A file with recorded attention, chosen in a notebook or dropped on its button, and shown."""

from __future__ import annotations

import tempfile
from html import escape
from pathlib import Path, PurePosixPath, PureWindowsPath

import ipywidgets as widgets
import traitlets

from bertlook_teach.model import ENDING, Recording, load_recording
from bertlook_teach.views import refuse_unknown

from ..recorded_view import RecordedView

LARGEST = 200_000_000  # bytes; what a browser sends a kernel in one piece without either of them stopping


class RecordingFile(widgets.VBox):
    """A button for a ``.bertlook`` file, as ``bertlook record`` writes it; what was recorded is shown below.

    A file that is damaged, too large or of another version is refused with the reason, and what was shown before stays. Nothing is
    written to the notebook's folder.

    Parameters
    ----------
    **options
        For the `RecordedView`: ``measure``, ``style``, ``hide_special`` ...

    Attributes
    ----------
    recording : Recording or None
        What the file holds, for measures and tables.
    view : RecordedView or None
    """

    def __init__(self, **options):
        refuse_unknown(RecordedView, options)
        self._options = options
        self.recording: Recording | None = None
        self.view: RecordedView | None = None
        self.upload = widgets.FileUpload(
            accept=ENDING,
            multiple=False,
            description=f"Open a {ENDING} file",
            layout=widgets.Layout(width="auto"),
        )
        self.said = widgets.HTML("No file yet: <code>bertlook record</code> writes one from any model.")
        self.upload.observe(self._opened, names="value")
        super().__init__([self.upload, self.said])

    def _opened(self, change) -> None:
        if not change["new"]:
            return
        name, content = _first(change["new"])
        try:
            self.show_file(name, content)
        except (OSError, ValueError, traitlets.TraitError) as error:
            self.said.value = f'<span role="alert">{escape(str(error))}</span>'

    def show_file(self, name: str, content: bytes) -> None:
        """Show a file's content, as the button does.

        Raises
        ------
        ValueError
            If it is not a recording, too large, damaged, or of another version.
        """
        if len(content) > LARGEST:
            raise ValueError(
                f"{name} has {len(content) / 1e6:,.0f} MB, and a notebook takes {LARGEST / 1e6:,.0f} MB at most: use load_recording() on the file."
            )
        file = PureWindowsPath(PurePosixPath(name).name).name or f"recording{ENDING}"
        with tempfile.TemporaryDirectory() as folder:
            path = Path(folder, file)
            path.write_bytes(content)
            try:
                recording = load_recording(path)
            except ValueError as error:
                raise ValueError(str(error).replace(str(path), file)) from None
        view = RecordedView(recording, **self._options)
        self.recording, self.view = recording, view
        self.said.value = f"{escape(file)}: {escape(repr(recording))}"
        self.children = [self.upload, self.said, view]

    def __repr__(self) -> str:
        return f"RecordingFile({self.recording!r})" if self.recording else "RecordingFile(no file yet)"


def _first(value) -> tuple[str, bytes]:
    """Name and content, in ipywidgets 8 and 7."""
    if isinstance(value, dict):
        name, about = next(iter(value.items()))
        return name, bytes(about["content"])
    return value[0]["name"], bytes(value[0]["content"])
