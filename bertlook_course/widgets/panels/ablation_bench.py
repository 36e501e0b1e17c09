"""Click a head off: what the masked word is then taken for, and what that costs over a batch, at once."""

from __future__ import annotations

import base64
from collections.abc import Callable, Sequence
from dataclasses import replace

import anywidget
import ipywidgets
import numpy as np
import traitlets

from bertlook_teach.model import choose_masked, draw_bert, random_twin, read
from bertlook_teach.stats import draws, widening
from bertlook_teach.views import InPage, Picture, TextBox, mime_bundle, style_source

from ...analyses.ablation import WAYS, Bench, read_heads
from ...render import bench_result, describe_off, render_bench
from ..assets import module_source, view_style


class BenchView(InPage, anywidget.AnyWidget):
    """The switches and what they did, drawn from texts; it knows no model. `AblationBench` computes for it.

    In the map: arrows move, Space or Enter switches a head, a whole layer (the number at its left) or one head of every
    layer (the number above). In the sentence: left and right choose a word, Enter masks it.

    Attributes
    ----------
    off : list of [layer, head]
        Counted from 0, in order.
    how : {"zero", "uniform"}
    result : dict
        As `bertlook_course.render.bench_result` gives it, with the switches it belongs to.

    Raises
    ------
    traitlets.TraitError
        If a head is switched that is not there.
    """

    _esm = module_source("ablation_bench")
    _css = style_source() + view_style("ablation_bench")

    # The switches: set in the page or in Python.
    shape = traitlets.List(traitlets.Int(), [1, 1]).tag(sync=True)
    off = traitlets.List(traitlets.List(traitlets.Int()), []).tag(sync=True)
    how = traitlets.Enum(WAYS, "zero").tag(sync=True)
    model_index = traitlets.Int(0).tag(sync=True)
    chosen = traitlets.Int(-1).tag(sync=True)  # the piece that the page asks to mask

    # What is shown. Written by the kernel.
    models = traitlets.List(traitlets.Unicode(), []).tag(sync=True)
    text = traitlets.Dict({"tokens": [], "special": [], "masked": 0, "mask": "[MASK]"}).tag(sync=True)
    result = traitlets.Dict({}).tag(sync=True)

    font_size = traitlets.Float(0).tag(sync=True)
    height = traitlets.Float(0).tag(sync=True)

    @traitlets.validate("off")
    def _heads(self, proposal):
        layers, heads = self.shape
        found = sorted({tuple(head) for head in proposal["value"]})
        for layer, head in found:
            if not (0 <= layer < layers and 0 <= head < heads):
                raise traitlets.TraitError(
                    f"there is no head {[layer, head]}: layers count from 0 to {layers - 1}, heads from 0 to {heads - 1}."
                )
        return [list(head) for head in found]

    def picture(self) -> Picture:
        """The view as it stands now: a standalone SVG and its sentence."""
        text = self.text
        drawn = render_bench(self.shape, self.off, text["tokens"], text["masked"], text["mask"], self.result)
        return replace(drawn, caption=" ".join([self.result["sentence"], *self.result["scores"]]))

    def _repr_mimebundle_(self, **kwargs):
        return mime_bundle(self, [self.picture()])

    def __repr__(self) -> str:
        return (
            f"BenchView({self.shape[0]} x {self.shape[1]} heads, {describe_off(self.off, tuple(self.shape))})"
        )


class AblationBench(ipywidgets.VBox):
    """Switch heads off by click or key; the masked word's guesses and the loss over a fixed batch follow.

    Parameters
    ----------
    encoder : Encoder
        With a masked-LM head.
    text : str
        A sentence; it may hold one [MASK].
    masked : int, optional
        Position of the piece to mask, with special tokens, from 0; see `bertlook_course.analyses.ablation.read_masked`.
    off : heads, optional
        As `bertlook_course.analyses.ablation.read_heads` takes them: ``"1-2 3-4"``.
    how : {"zero", "uniform"}
    twin : Encoder, optional
        A second model of the same shape, such as the random twin, to change to in a menu.
    texts : sequence of str, optional
        The batch for the loss; by default 24 shipped sentences.
    classify, twin_classify : callables, optional
        A task score for each of the two models, see `bertlook_course.analyses.ablation.Bench`.

    Attributes
    ----------
    off : tuple of (layer, head)
        Heads that are off, counted from 0; may be set.
    outcome, baseline : Outcome
        What came out with the heads as they are, and with all on.
    view : BenchView
    text_box : TextBox

    Raises
    ------
    ValueError
        If the sentence or a head cannot be read, or the twin has another shape.
    """

    _ipython_display_ = None  # ipywidgets 7 would leave out the picture for saved pages

    def __init__(
        self,
        encoder,
        text: str,
        *,
        masked: int | None = None,
        off=(),
        how: str = "zero",
        twin=None,
        texts: Sequence[str] | None = None,
        classify: Callable | None = None,
        twin_classify: Callable | None = None,
        font_size: float = 0,
        height: float = 0,
    ):
        self.encoder = encoder
        shape = [encoder.n_layers, encoder.n_heads]
        if twin is not None and [twin.n_layers, twin.n_heads] != shape:
            raise ValueError(
                f"the twin needs the same switches, {shape[0]} layers of {shape[1]} heads; {twin.name} has "
                f"{twin.n_layers} of {twin.n_heads}."
            )
        self._benches = [Bench(encoder, text, masked, texts=texts, classify=classify)]
        if twin is not None:
            self._benches.append(Bench(twin, text, masked, texts=texts, classify=twin_classify))
        start = [list(head) for head in read_heads(off, encoder)]
        self.view = BenchView(
            shape=shape,
            off=start,
            how=how,
            models=[bench.encoder.title for bench in self._benches],
            font_size=font_size,
            height=height,
        )
        self._show()
        self.text_box = TextBox(self._read, text)
        self.view.observe(self._switched, names=["off", "how", "model_index"])
        self.view.observe(self._masked, names="chosen")
        views = ipywidgets.HBox([self.view])
        views.add_class("bertlook-views")
        self.view.layout.flex, self.view.layout.min_width = "1 1 0%", "0"
        super().__init__([self.text_box, views])
        self.add_class("bertlook-explorer")
        self.view._in_page = self.in_page(twin=False)

    # --- what can be done -------------------------------------------------------------------------------

    @property
    def bench(self) -> Bench:
        """Of the model in view."""
        return self._benches[self.view.model_index]

    @property
    def off(self) -> tuple[tuple[int, int], ...]:
        return tuple(tuple(head) for head in self.view.off)

    @off.setter
    def off(self, heads) -> None:
        self.view.off = [list(head) for head in read_heads(heads, self.encoder)]

    @property
    def outcome(self):
        return self.bench.run(self.off, self.view.how)

    @property
    def baseline(self):
        return self.bench.run()

    def read(self, text: str, masked: int | None = None) -> None:
        """Show another sentence, or mask another piece; the switches stay."""
        self._set_text(text, masked)
        self.text_box.put(text, None)

    # --- state ------------------------------------------------------------------------------------------

    def _read(self, text: str, text_pair: str | None = None) -> None:
        self._set_text(text, None)

    def _set_text(self, text: str, masked: int | None) -> None:
        for bench in self._benches:  # one tokenizer: what the first can read, the second can
            bench.set_text(text, masked)
        self._show()

    def _masked(self, change) -> None:
        if change["new"] < 0:
            return
        try:
            self._set_text(self.bench.text, change["new"])
        except ValueError as error:
            self._say(error)
        self.view.chosen = -1

    def _switched(self, change) -> None:
        self._show()

    def _show(self) -> None:
        view = self.view
        sentence = self.bench.sentence
        try:
            result = bench_result(self.bench, self.baseline, self.outcome)
        except (
            ValueError,
            RuntimeError,
        ) as error:
            # a failed control is said, and the last result not passed off as new
            result = {**view.result, "message": _capital(error)}
        place = {"off": view.off, "how": view.how, "model": view.model_index, "masked": sentence.masked}
        with view.hold_sync():
            view.text = {
                "tokens": list(sentence.tokens),
                "special": list(sentence.special),
                "masked": sentence.masked,
                "mask": self.encoder.tokenizer.mask_token,
            }
            view.result = result | place

    def _say(self, error: Exception) -> None:
        self.view.result = self.view.result | {"message": _capital(error)}

    def in_page(self, *, twin: bool = True) -> dict[str, object]:
        """What a page that holds the same model needs to switch heads off in Python's place; the task score stays Python's."""
        first, *others = self._benches
        n = len(first.texts)
        task = None if first.classify is None else getattr(first.classify, "name", "Task")
        more = {
            "batch": [_masked_in_page(self.encoder, text, i) for i, text in enumerate(first.texts)],
            "interval": {
                "draws": ["".join(map(str, np.minimum(row, 9))) for row in draws(n)],
                "widening": widening(n) if n > 1 else None,
            },
            "twin": _twin_in_page(self.encoder, others[0].encoder) if twin and others else None,
            "scores": [] if task is None else [f"{task}, share right: needs Jupyter."],
        }
        return self.text_box.page_request(self.encoder, {"bench": self.view}, **more)

    def _repr_mimebundle_(self, **kwargs):
        return mime_bundle(self, [self.view.picture()])

    def __repr__(self) -> str:
        shape = tuple(self.view.shape)
        return f"AblationBench({self.bench.encoder.title}, {shape[0]} x {shape[1]} heads, {describe_off(self.off, shape)})"


def _capital(error: Exception) -> str:
    said = str(error) or type(error).__name__
    return f"{said[0].upper()}{said[1:]}"


def _masked_in_page(encoder, text: str, number: int) -> dict[str, list[int]]:
    """A text of the batch, masked as `Bench` masks it."""
    reading = read(encoder, text, truncate=True)
    chosen = choose_masked(encoder, reading.ids, reading.special, seed=number)
    truths = [int(reading.ids[place]) for place in chosen.positions]
    return {"ids": chosen.applied(reading.ids), "places": list(chosen.positions), "truths": truths}


def _twin_in_page(encoder, twin) -> dict[str, object] | None:
    """What a page draws the twin from: its seed, and in 16 bits the matrix of its head. None for a model that is not a random twin."""
    if twin.seed is None or twin.fingerprint != random_twin(encoder, twin.seed).fingerprint:
        return None
    if twin.config.model_type != "bert":  # which no page computes
        return None
    bert = twin.engine
    if bert is None:  # torch has taken over
        bert = draw_bert(twin.config.to_dict(), twin.seed)
    if bert is None or not bert.has_head("masked_lm"):
        return None
    matrix = bert.heads["cls.predictions.transform.dense.weight"]
    packed = base64.b64encode(matrix.astype("<f2").tobytes()).decode()
    return {"seed": twin.seed, "std": bert.config.initializer_range, "transform": packed}
