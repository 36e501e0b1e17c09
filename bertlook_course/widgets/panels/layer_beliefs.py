"""What each layer believes of one word or pair: choose the question, see the labels from the embeddings to the last layer."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace

import anywidget
import ipywidgets
import traitlets

from bertlook_teach.views import Picture, TextBox, mime_bundle, refuse_unknown, style_source

from ...render import checked_case, describe_beliefs, render_beliefs
from ..assets import module_source, view_style


class LayerBeliefs(anywidget.AnyWidget):
    """A sentence with its questions, and a table of beliefs: a row a label, a column a layer.

    Left and Right go to the question before and after, Up and Down through the sentences, Home and End to the first and the last
    question. A click on a word chooses a question about it; another click, the next one.

    Parameters
    ----------
    cases : sequence of dict
        From `bertlook_course.analyses.probing.sentence_beliefs`, all of one task and one model.
    sentence, target : int
        What is chosen, counted from 0.
    font_size : float
        In pixels; 0 follows the page's text size.

    Raises
    ------
    ValueError
        If there is no case, or a case is broken (see `bertlook_course.render.checked_case`).
    traitlets.TraitError
        If a sentence or a question is set that is not there.
    """

    _esm = module_source("layer_beliefs")
    _css = style_source() + view_style("layer_beliefs")

    # The choice: in the page and in Python.
    sentence = traitlets.Int(0).tag(sync=True)
    target = traitlets.Int(0).tag(sync=True)
    # Plain dicts: words as text, beliefs of a few labels and layers, and for each question what is said of it.
    cases = traitlets.List([]).tag(sync=True)
    font_size = traitlets.Float(0).tag(sync=True)

    def __init__(
        self, cases: Sequence[Mapping], *, sentence: int = 0, target: int = 0, font_size: float = 0, **options
    ):
        cases = [checked_case(case) for case in cases]
        if not cases:
            raise ValueError("a view of beliefs needs at least one case; got none.")
        if len({(case["task"], len(case["targets"][0]["beliefs"][0])) for case in cases}) != 1:
            raise ValueError("all cases must be of one task and one model.")
        # The sentence first: whether a question is there depends on it.
        refuse_unknown(type(self), options)
        super().__init__(cases=[_told(case) for case in cases], font_size=font_size, **options)
        self.choose(sentence, target)

    def choose(self, sentence: int, target: int = 0) -> None:
        """Show another question, of this or another sentence."""
        with self.hold_sync():
            self.target = 0
            self.sentence = sentence
            self.target = target

    @traitlets.validate("sentence", "target")
    def _inside(self, proposal):
        name, value = proposal["trait"].name, proposal["value"]
        limit = len(self.cases if name == "sentence" else self.cases[self.sentence]["targets"])
        if not 0 <= value < limit:
            raise traitlets.TraitError(f"{name} counts from 0 to {limit - 1}; got {value}.")
        return value

    @traitlets.observe("sentence")
    def _stay_inside(self, change):
        if self.target >= len(self.cases[self.sentence]["targets"]):
            self.target = 0

    @property
    def sentence_text(self) -> str:
        """The caption in view."""
        return self.cases[self.sentence]["targets"][self.target]["said"]

    def picture(self) -> Picture:
        """The question as it stands now: a standalone SVG and its sentence."""
        drawn = render_beliefs(self.cases[self.sentence], self.target)
        return replace(drawn, caption=self.sentence_text)

    def _repr_mimebundle_(self, **kwargs):
        return mime_bundle(self, [self.picture()])

    def __repr__(self) -> str:
        case = self.cases[self.sentence]
        layers = len(case["targets"][0]["beliefs"][0]) - 1
        return (
            f"LayerBeliefs({case['task']}, {len(self.cases)} sentences, {layers} layers; sentence {self.sentence}, "
            f"question {self.target} of {len(case['targets'])})"
        )


def _told(case: Mapping) -> dict:
    """The case with the caption of each of its questions, for the page."""
    targets = [
        {**target, "said": describe_beliefs(case, number)} for number, target in enumerate(case["targets"])
    ]
    return {**case, "targets": targets}


class BeliefExplorer(ipywidgets.VBox):
    """A text box, and what each layer believes of each word of the text.

    Parameters
    ----------
    read : callable
        ``read(text)`` gives a case, for instance by `bertlook_course.analyses.probing.typed_beliefs`. If it raises, the message is shown.
    text : str
    target : int
        The question shown first.
    font_size : float
        As in `LayerBeliefs`.
    """

    _ipython_display_ = None  # ipywidgets 7 would leave out the picture for saved pages

    def __init__(self, read: Callable[[str], Mapping], text: str, *, target: int = 0, font_size: float = 0):
        self._read = read
        self.beliefs = LayerBeliefs(
            [read(text)],
            target=target,
            font_size=font_size,
            layout=ipywidgets.Layout(width="100%", min_width="0"),
        )
        self.text_box = TextBox(self._show, text)
        views = ipywidgets.HBox([self.beliefs])
        views.add_class("bertlook-views")
        super().__init__([self.text_box, views])
        self.add_class("bertlook-explorer")

    def _show(self, text: str, text_pair: str | None = None) -> None:
        case = checked_case(self._read(text))
        with self.beliefs.hold_sync():
            self.beliefs.choose(0, 0)
            self.beliefs.cases = [_told(case)]

    def _repr_mimebundle_(self, **kwargs):
        return mime_bundle(self, [self.beliefs.picture()])

    def __repr__(self) -> str:
        return f"BeliefExplorer({self.text_box.text.value!r}, {self.beliefs!r})"
