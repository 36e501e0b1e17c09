"""The film of a training run: a slider over its checkpoints, a map of all heads at each, the chosen head's curve beside it."""

from __future__ import annotations

from dataclasses import replace

import anywidget
import numpy as np
import traitlets

from bertlook_teach.model import head_label
from bertlook_teach.views import ChosenHead, Picture, style_source

from ..analyses.anatomy import Film, measure_label, read_film, tokens_in_words
from ..render import describe_film, film_range, film_table, render_film
from .assets import module_source, view_style


class TrainingFilm(ChosenHead, anywidget.AnyWidget):
    """See heads being born. The slider, or Page Up and Page Down, goes through the checkpoints; Play runs through them.

    In the map of heads arrow keys choose a head; its menu chooses the measure. Where the reader asks for reduced motion, Play
    becomes a step to the next checkpoint. No kernel is needed.

    Parameters
    ----------
    film : Film, optional
        From `bertlook_course.analyses.anatomy.read_film`; by default the specimen's.
    point : int
        The checkpoint in view, counted from 0; -1 is the last.
    layer, head : int
        The chosen head, counted from 0.
    measure : str, optional
        One of ``film.values``; by default the first.
    font_size, height : float
        In pixels; 0 follows the page's text size, and the room there is.

    Raises
    ------
    TypeError
        If ``film`` is not a `Film`.
    traitlets.TraitError
        If a checkpoint, layer, head or measure is set that is not there.
    """

    _esm = module_source("training_film")
    _css = style_source() + view_style("training_film")

    # The choice: in the page and in Python.
    point = traitlets.Int(0).tag(sync=True)
    measure = traitlets.Unicode("").tag(sync=True)

    # float32, little-endian, (checkpoint, measure, layer, head).
    data = traitlets.Bytes(b"").tag(sync=True)
    shape = traitlets.List(traitlets.Int(), [1, 1]).tag(sync=True)
    tokens = traitlets.List(traitlets.Int(), []).tag(sync=True)
    reached = traitlets.List(traitlets.Unicode(), []).tag(sync=True)  # the same in words
    measures = traitlets.List(traitlets.Unicode(), []).tag(sync=True)
    labels = traitlets.List(traitlets.Unicode(), []).tag(sync=True)
    ranges = traitlets.List([]).tag(sync=True)
    baselines = traitlets.List([]).tag(sync=True)  # for each measure [name, value], or null
    height = traitlets.Float(0).tag(sync=True)

    def __init__(
        self,
        film: Film | None = None,
        *,
        point: int = -1,
        layer: int = 0,
        head: int = 0,
        measure: str | None = None,
        font_size: float = 0,
        height: float = 0,
        **options,
    ):
        film = read_film() if film is None else film
        if not isinstance(film, Film):
            raise TypeError(
                f"a film comes from bertlook_course.analyses.anatomy.read_film(); got {type(film).__name__}."
            )
        # As the page has them, so that the same digits are rounded.
        values = {name: rows.astype("<f4").astype(np.float64) for name, rows in film.values.items()}
        self._film = Film(film.tokens, values, film.baselines)
        found = [film.baselines.get(name) for name in values]
        super().__init__(
            data=np.stack(list(values.values()), axis=1).astype("<f4").tobytes(),
            shape=[int(n) for n in film.shape],
            tokens=[int(n) for n in film.tokens],
            reached=[tokens_in_words(n) for n in film.tokens],
            measures=list(values),
            labels=[measure_label(name) for name in values],
            ranges=[list(film_range(self._film, name)) for name in values],
            baselines=[None if one is None else [one.name, one.value] for one in found],
            font_size=font_size,
            height=height,
            **options,
        )
        self.measure = next(iter(values)) if measure is None else measure
        self.layer, self.head = layer, head
        self.point = len(film.tokens) - 1 if point == -1 else point

    def limits(self) -> dict[str, int]:
        return super().limits() | {"point": max(1, len(self.tokens))}

    _inside = traitlets.validate("point")(ChosenHead.check_choice)

    @traitlets.validate("measure")
    def _known(self, proposal):
        if self.measures and proposal["value"] not in self.measures:
            raise traitlets.TraitError(
                f"no measure {proposal['value']!r} in this film; there are {', '.join(self.measures)}."
            )
        return proposal["value"]

    @property
    def value(self) -> float:
        """The number of the chosen head at the checkpoint in view."""
        return float(self._film.values[self.measure][self.point, self.layer, self.head])

    @property
    def sentence(self) -> str:
        """The caption in view, computed from the data."""
        return describe_film(self._film, self.measure, self.point, (self.layer, self.head))

    def picture(self) -> Picture:
        """The view as it stands now: a standalone SVG and its sentence."""
        drawn = render_film(self._film, self.measure, self.point, head=(self.layer, self.head))
        return replace(drawn, caption=self.sentence)

    def table(self):
        """The curve of the chosen head in numbers, a row a checkpoint."""
        return film_table(self._film, self.measure, (self.layer, self.head))

    def __repr__(self) -> str:
        layers, heads = self.shape
        return (
            f"TrainingFilm({len(self.tokens)} checkpoints, {layers} x {heads} heads, {self.measure}, head "
            f"{head_label(self.layer, self.head)} after {self.reached[self.point]} tokens)"
        )
