"""Two models on one text, beside each other."""

from __future__ import annotations

import html

import ipywidgets

from .assets import mime_bundle
from .explorer import HeadExplorer, TextBox
from .links import link_heads


class SideBySide(ipywidgets.VBox):
    """Two models read the same text: for each a map of all heads and a view of one, under one text box.

    Models with equally many layers and heads show the same head; others are moved by themselves.

    Parameters
    ----------
    encoders : sequence of two encoders
        Each as `HeadExplorer` takes it.
    text : str
    text_pair : str, optional
        A second text. ``None`` shows no line for one.
    **options
        Of `HeadExplorer`, for both models.

    Attributes
    ----------
    explorers : list of HeadExplorer
    text_box : TextBox

    Raises
    ------
    ValueError
        If there are not two encoders.

    Examples
    --------
    >>> from bertlook_teach.model import load_encoder
    >>> both = SideBySide([load_encoder("specimen"), load_encoder("specimen-random")], "The old man saw a bird.")
    >>> both.explorers[0].head = 3
    >>> both.explorers[1].head
    3
    """

    _ipython_display_ = None  # ipywidgets 7 would leave out the picture for saved pages

    def __init__(self, encoders, text: str, text_pair: str | None = None, **options):
        if not hasattr(encoders, "__iter__"):
            raise TypeError(
                f"two models come in a list, SideBySide([model, other], text); got {encoders!r:.60}."
            )
        encoders = list(encoders)
        if len(encoders) != 2:
            raise ValueError(f"two models stand side by side; got {len(encoders)}.")
        self.explorers = [HeadExplorer(encoder, text, text_pair, **options) for encoder in encoders]
        self.text_box = TextBox(self._read, text, text_pair)
        shapes = {tuple(explorer.head_view.shape[:2]) for explorer in self.explorers}
        if len(shapes) == 1:
            link_heads(*self.explorers)
        columns = ipywidgets.HBox([self._column(explorer) for explorer in self.explorers])
        columns.add_class("bertlook-views")
        super().__init__([self.text_box, columns])
        self.add_class("bertlook-explorer")

    def _column(self, explorer: HeadExplorer) -> ipywidgets.VBox:
        explorer.text_box = self.text_box  # one line for both
        explorer.head_view._in_page = explorer.in_page() or {}
        explorer.head_map.layout.max_width = "100%"
        name = ipywidgets.HTML(f"<b>{html.escape(explorer.name)}</b>")
        parts = [name, explorer.controls, explorer.head_map, explorer.head_view]
        return ipywidgets.VBox(parts, layout=ipywidgets.Layout(flex="1 1 0%", min_width="0"))

    def _read(self, text: str, text_pair: str | None) -> None:
        first, second = self.explorers
        before = first.attention
        first._read(text, text_pair)
        try:
            second._read(text, text_pair)
        except Exception:
            first._read(before.text, before.text_pair)  # both, or none
            raise

    def _repr_mimebundle_(self, **kwargs):
        pictures = [explorer.head_view.picture() for explorer in self.explorers]
        return mime_bundle(self, pictures)

    def __repr__(self) -> str:
        return f"SideBySide({' | '.join(explorer.name for explorer in self.explorers)})"
