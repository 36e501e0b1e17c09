"""Type a sentence and walk through one head with its numbers."""

from __future__ import annotations

import ipywidgets

from bertlook_teach.model import extract_attention
from bertlook_teach.views import TextBox, mime_bundle

from ..neuron_view import NeuronView


class NeuronExplorer(ipywidgets.VBox):
    """A text box over a `NeuronView`: query and keys, their products, scores and softmax of any head, for any sentence.

    Parameters
    ----------
    encoder : Encoder
    text : str
    **options
        Of `NeuronView`: ``layer``, ``head``, ``query``, ``most`` and others.

    Attributes
    ----------
    neuron_view : NeuronView
    text_box : TextBox
    """

    _ipython_display_ = None  # ipywidgets 7 would leave out the picture for saved pages

    def __init__(self, encoder, text: str, **options):
        self.encoder = encoder
        self.neuron_view = NeuronView(extract_attention(encoder, text, vectors=True), **options)
        self.text_box = TextBox(self._show, text)
        super().__init__([self.text_box, self.neuron_view])
        self.add_class("bertlook-explorer")
        self.neuron_view._in_page = self.in_page()

    def _show(self, text: str, text_pair: str | None = None) -> None:
        self.neuron_view.set_attention(extract_attention(self.encoder, text, vectors=True))

    def in_page(self) -> dict[str, object]:
        """What a page that holds the same model needs to answer a new text in Python's place."""
        box = self.text_box
        places = {"text": box.text, "message": box.message, "neurons": self.neuron_view}
        named = {name: widget.model_id for name, widget in places.items()}
        return {"fingerprint": getattr(self.encoder, "fingerprint", ""), "places": named}

    def _repr_mimebundle_(self, **kwargs):
        return mime_bundle(self, [self.neuron_view.picture()])

    def __repr__(self) -> str:
        return f"NeuronExplorer({self.encoder.title}, {self.neuron_view!r})"
