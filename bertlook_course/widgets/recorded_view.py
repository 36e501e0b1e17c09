"""A model that was recorded, as a live view: a menu of its sentences, a map of all heads, and the chosen head."""

from __future__ import annotations

import zlib
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace

import anywidget
import numpy as np
import traitlets

from bertlook_teach.model import check_weights, head_label, merge_weights, word_groups
from bertlook_teach.views import (
    LEVELS,
    STYLES,
    ChosenHead,
    Picture,
    checked_tokens,
    checked_values,
    default_measures,
    describe_attention,
    describe_token,
    mime_bundle,
    render_attention_grid,
    render_attention_lines,
    render_head_map,
    style_source,
    value_range,
)

from ..render import TextTable
from .assets import module_source, view_style

Text = str | tuple[str, str]

FINE_UP_TO = 200_000  # bytes of packed weights, 267 kB in a page: below it a weight gets 16 bits, so that printed per cents are right too


class RecordedView(ChosenHead, anywidget.AnyWidget):
    """See what the heads of a recorded model look at. Everything is in the page: no kernel, no model, no network.

    A menu chooses the sentence. In the map and in the view arrow keys run through the heads, as in `HeadMap` and `HeadView`. The
    badge of the recording is part of every picture.

    Parameters
    ----------
    recording : Recording
        From `load_recording`: a mapping from a text, or a pair of texts, to its `Attention`, with a ``badge``.
    sentences : iterable of str or (str, str), optional
        Which of them the view carries, in this order; by default all.
    sentence : str or (str, str), optional
        The one shown first.
    layer, head : int
        The head shown first, counted from 0.
    measures : mapping of name to measure, optional
        What colours the map: functions of an `Attention` that return shape (layer, head). By default those of `HeadExplorer`.
    measure : str, optional
        The measure shown first.
    style : {"lines", "grid"}
    level : {"wordpiece", "word"}
    hide_special : bool
    query : int
        The token kept in view, counted from 0; -1 for none.
    with_map : bool
        Whether the map stands beside the view.
    choices : mapping of name to (sentence, layer, head), (sentence, layer, head, query) or (sentence, layer, head, query, measure), optional
        A menu of heads worth seeing, each with its sentence; the first is shown first.
    other : str
        Name of another model whose views stand beside this one; see ``recording`` of `HeadExplorer`. Empty: there is none.
    shows : {0, 1}
        0 shows the other model, 1 the recording.
    font_size, height : float
        In pixels; 0 follows the page's text size, and the length of the text.

    Notes
    -----
    Weights travel in 16 bits each up to 200 kilobytes in all, else in 8 bits (off by at most 0.002).

    Raises
    ------
    ValueError
        If there is no sentence, a sentence is not in the recording, the sentences differ in layers or heads, or a measure
        has another shape.
    traitlets.TraitError
        If a layer, head, sentence or measure is set that is not there.
    """

    _esm = module_source("recorded_view")
    _css = style_source() + view_style("recorded_view")

    # What is in view.
    shows = traitlets.Int(1, min=0, max=1).tag(sync=True)
    sentence = traitlets.Int(0).tag(sync=True)
    measure = traitlets.Unicode("").tag(sync=True)
    style_index = traitlets.Int(0, min=0, max=len(STYLES) - 1).tag(sync=True)
    level_index = traitlets.Int(0, min=0, max=len(LEVELS) - 1).tag(sync=True)
    hide_special = traitlets.Bool(False).tag(sync=True)
    query = traitlets.Int(-1).tag(sync=True)
    key = traitlets.Int(-1).tag(sync=True)  # with a query, what the map shows of all heads, as in HeadView
    pair = traitlets.Dict({}).tag(sync=True)
    with_map = traitlets.Bool(True).tag(sync=True)
    other = traitlets.Unicode("").tag(sync=True)

    # Each sentence's numbers of the map (float32: measure, layer, head), then its deflated weights (layer, head, query, key).
    data = traitlets.Bytes(b"").tag(sync=True)
    places = traitlets.List([]).tag(
        sync=True
    )  # of a sentence: where its numbers begin, its weights, and where they end
    bits = traitlets.Enum((8, 16), 16).tag(sync=True)
    shape = traitlets.List(traitlets.Int(), [1, 1]).tag(sync=True)
    names = traitlets.List(traitlets.Unicode(), []).tag(sync=True)
    texts = traitlets.List([]).tag(sync=True)
    choices = traitlets.List([]).tag(sync=True)  # name, sentence, layer, head, query, measure
    measures = traitlets.List(traitlets.Unicode(), []).tag(sync=True)
    ranges = traitlets.List([]).tag(sync=True)
    badge = traitlets.Unicode("").tag(sync=True)
    height = traitlets.Float(0).tag(sync=True)

    def __init__(
        self,
        recording,
        sentences: Iterable[Text] | None = None,
        *,
        sentence: Text | None = None,
        layer: int = 0,
        head: int = 0,
        measures: Mapping[str, object] | None = None,
        measure: str | None = None,
        style: str = "lines",
        level: str = "wordpiece",
        hide_special: bool = False,
        query: int = -1,
        with_map: bool = True,
        choices: Mapping[str, tuple] | None = None,
        other: str = "",
        shows: int = 1,
        font_size: float = 0,
        height: float = 0,
        **options,
    ):
        if not (isinstance(recording, Mapping) and hasattr(recording, "badge")):
            raise TypeError(
                f"a recorded view shows a recording, as load_recording() gives it; got {type(recording).__name__}."
            )
        if isinstance(sentences, str):
            raise TypeError(f"sentences must be a list of texts; got one text: {sentences!r:.80}.")
        self.recording = recording
        chosen = recording if sentences is None else sentences
        self._keys = [tuple(text) if isinstance(text, list | tuple) else text for text in chosen]
        if not self._keys:
            raise ValueError(
                "there is no sentence to show; leave `sentences` out for all that were recorded."
            )
        super().__init__(
            **self._packed(recording, measures),
            badge=recording.badge,
            other=other,
            with_map=with_map,
            hide_special=hide_special,
            font_size=font_size,
            height=height,
            **options,
        )
        self.sentence = self._index_of(self._keys[0] if sentence is None else sentence)
        self.style_index, self.level_index = (
            _position(STYLES, style, "style"),
            _position(LEVELS, level, "level"),
        )
        self.measure = self.measures[0] if measure is None else measure
        self.layer, self.head, self.query, self.shows = layer, head, query, shows
        self.choices = [self._choice(name, place) for name, place in (choices or {}).items()]
        if self.choices:
            _, self.sentence, self.layer, self.head, self.query, first = self.choices[0]
            self.measure = first or self.measure

    def _packed(self, recording, measures) -> dict[str, object]:
        measures = default_measures() if measures is None else measures
        if not isinstance(measures, Mapping) or not all(map(callable, measures.values())):
            raise TypeError(
                "measures is a mapping from a name to a function of an Attention that gives shape (layer, head), such as "
                f"{{'entropy': attention_entropy}}; got {type(measures).__name__}."
            )
        if not measures:
            raise ValueError("a map of heads needs at least one measure; got none.")
        inputs = [
            recording[text] for text in self._keys
        ]  # says itself what it holds where it does not hold one
        names = [" / ".join([text] if isinstance(text, str) else text) for text in self._keys]
        shapes = {name: one.weights.shape[:2] for name, one in zip(names, inputs)}
        if len(set(shapes.values())) > 1:
            raise ValueError(f"all sentences of a view need the same layers and heads; got {shapes}.")
        shape = inputs[0].weights.shape[:2]
        for one in inputs:
            check_weights(np.asarray(one.weights), checked_tokens(one.tokens))
        self._values = [_measured(measures, one, shape) for one in inputs]
        for bits in (16, 8):
            self._top = 2**bits - 1
            kind = "<u2" if bits == 16 else "u1"
            self._steps = [np.rint(np.clip(one.weights, 0, 1) * self._top).astype(kind) for one in inputs]
            weights = [zlib.compress(steps.tobytes(), 6) for steps in self._steps]
            if sum(map(len, weights)) <= FINE_UP_TO:
                break
        data, places = b"", []
        for values, packed in zip(self._values, weights):
            begin, data = len(data), data + np.stack(list(values.values())).tobytes()
            places.append([begin, len(data), len(data) + len(packed)])
            data += packed
        return {
            "data": data,
            "places": places,
            "bits": bits,
            "shape": list(shape),
            "names": names,
            "texts": [_levels(one) for one in inputs],
            "measures": list(measures),
            "ranges": [[list(value_range(v)) for v in values.values()] for values in self._values],
        }

    def _choice(self, name: str, place: Sequence) -> list:
        if not (isinstance(place, list | tuple) and len(place) in (3, 4, 5)):
            raise ValueError(
                f"choice {name!r} is (sentence, layer, head), and perhaps a query and a measure; got {place!r:.80}."
            )
        sentence, layer, head, query, measure = *place, *(-1, "")[len(place) - 3 :]
        if not (0 <= layer < self.shape[0] and 0 <= head < self.shape[1]):
            raise ValueError(
                f"choice {name!r} names head {head_label(layer, head)}, which is not among the {self.shape[0]} x {self.shape[1]} heads."
            )
        index = self._index_of(sentence)
        tokens = self.texts[index][LEVELS[self.level_index]]["tokens"]
        if not -1 <= query < len(tokens):
            raise ValueError(
                f"choice {name!r} names token {query}, and {self.names[index]!r:.80} has tokens 0 to {len(tokens) - 1} (-1: none)."
            )
        if measure and measure not in self.measures:
            raise ValueError(
                f"choice {name!r} names the measure {measure!r}; there are {', '.join(self.measures)}."
            )
        return [name, index, int(layer), int(head), int(query), measure]

    def _index_of(self, sentence: Text) -> int:
        if not isinstance(sentence, str | list | tuple):
            raise TypeError(f"a sentence is named by its text, or by a pair of texts; got {sentence!r:.80}.")
        sentence = tuple(sentence) if isinstance(sentence, list) else sentence
        if sentence in self._keys:
            return self._keys.index(sentence)
        if sentence in self.recording:  # spelt otherwise, and the same to the model
            found = self.recording[sentence]
            same = found.text if found.text_pair is None else (found.text, found.text_pair)
            if same in self._keys:
                return self._keys.index(same)
        raise ValueError(f"{sentence!r:.200} is not in this view; there are: {'; '.join(self.names)}.")

    def limits(self) -> dict[str, int]:
        return {**super().limits(), "sentence": max(1, len(self.names))}

    _a_sentence = traitlets.validate("sentence")(ChosenHead.check_choice)

    @traitlets.validate("measure")
    def _known(self, proposal):
        if self.measures and proposal["value"] not in self.measures:
            raise traitlets.TraitError(
                f"no measure {proposal['value']!r} in this view; there are {', '.join(self.measures)}."
            )
        return proposal["value"]

    @traitlets.validate("query")
    def _a_token(self, proposal):
        n = len(self._text["tokens"]) if self.texts else 0
        return proposal["value"] if -1 <= proposal["value"] < n else -1

    @property
    def _text(self) -> dict[str, list]:
        return self.texts[self.sentence][LEVELS[self.level_index]]

    @property
    def attention(self):
        """The recorded `Attention` in view."""
        return self.recording[self._keys[self.sentence]]

    def weights(self) -> np.ndarray:
        """The weights in view, as the browser draws them: shape (query, key) at the level in view."""
        steps = self._steps[self.sentence][self.layer, self.head].astype(np.float64) / self._top
        groups = self._text["groups"]
        return np.minimum(merge_weights(steps, groups) if groups else steps, 1)

    @property
    def caption(self) -> str:
        """The sentence under the picture, computed from the data."""
        tokens, special = self._text["tokens"], self._text["special"]
        if self.query >= 0:
            return describe_token(self.weights(), tokens, self.query, special=special)
        unit = "word" if LEVELS[self.level_index] == "word" else "token"
        about = {"head": (self.layer, self.head), "hide_special": self.hide_special, "unit": unit}
        return describe_attention(self.weights(), tokens, special=special, **about)

    def picture(self) -> Picture:
        """The head in view as it stands now: with its badge."""
        text = self._text
        style = STYLES[self.style_index]
        draw = render_attention_grid if style == "grid" else render_attention_lines
        drawn = draw(
            self.weights(),
            text["tokens"],
            head=(self.layer, self.head),
            special=text["special"],
            hide_special=self.hide_special,
            segment_ids=text["segments"],
            query=self.query if self.query >= 0 else None,
            unit="word" if LEVELS[self.level_index] == "word" else "token",
            **({"direction": "rows"} if style == "rows" else {}),
        )
        return replace(drawn, caption=self.caption).with_badge(self.badge)

    def map_picture(self) -> Picture:
        """The map of all heads as it stands now, with its badge."""
        values = self._values[self.sentence][self.measure]
        low, high = self.ranges[self.sentence][self.measures.index(self.measure)]
        about = {"title": self.measure, "selected": (self.layer, self.head)}
        return render_head_map(values, vmin=low, vmax=high, **about).with_badge(self.badge)

    def pictures(self) -> list[Picture]:
        """What a page without a live view shows."""
        return [*([self.map_picture()] if self.with_map else []), self.picture()]

    def table(self) -> TextTable:
        """The weights of the head in view in numbers."""
        tokens = self._text["tokens"]
        rows = [[token, *(f"{weight:.2f}" for weight in row)] for token, row in zip(tokens, self.weights())]
        return TextTable(
            ["query, to key", *tokens],
            rows,
            f"{self.badge}: weights of head {head_label(self.layer, self.head)}",
        )

    def _repr_mimebundle_(self, **kwargs):
        return mime_bundle(self, self.pictures())

    def __repr__(self) -> str:
        layers, heads = self.shape
        return (
            f"RecordedView({self.badge}, {len(self.names)} sentences, {layers} x {heads} heads, "
            f"head {head_label(self.layer, self.head)})"
        )


def _position(names: tuple[str, ...], name: str, what: str) -> int:
    if name not in names:
        raise ValueError(f"{what} is one of {', '.join(names)}; got {name!r}.")
    return names.index(name)


def _measured(measures, attention, shape) -> dict[str, np.ndarray]:
    found = {}
    for name, measure in measures.items():
        values = checked_values(measure(attention)).astype("<f4")
        if values.shape != shape:
            raise ValueError(
                f"measure {name!r} must give one number per head, shape {shape} (layer, head); got {values.shape}."
            )
        found[name] = values
    return found


def _levels(attention) -> dict[str, dict[str, object]]:
    """Tokens of both levels, and which wordpieces make a word."""

    def rows(level, groups) -> dict[str, object]:
        return {
            "tokens": list(level.tokens),
            "special": [bool(flag) for flag in level.special],
            "segments": [int(segment) for segment in level.segment_ids],
            "groups": groups,
        }

    groups = [list(map(int, group)) for group in word_groups(attention.word_ids)]
    return {"wordpiece": rows(attention, None), "word": rows(attention.to_words(), groups)}
