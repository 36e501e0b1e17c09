"""Sliders for the thresholds of the five classes, and what they make of the same maps."""

from __future__ import annotations

import html
from collections.abc import Sequence
from dataclasses import asdict

import ipywidgets
import numpy as np

from bertlook_teach.measures import (
    CLASSES,
    DEFAULT_THRESHOLDS,
    Thresholds,
    class_codes,
    stack_scores,
)
from bertlook_teach.model import head_label
from bertlook_teach.views import page_bundle

from ...analyses.anatomy import class_shares
from ...metrics import agree
from ...render import map_thumbnail, render_board
from .label_game import LabelGame, example_maps


class ThresholdBoard(ipywidgets.VBox):
    """Five sliders; the fractions of all maps and a few chosen maps move as they are moved.

    Parameters
    ----------
    attentions : sequence of Attention
    maps : sequence of (text, layer, head), optional
        Those shown. By default some of each class, from its faintest to its clearest.
    thresholds : Thresholds
        Where the sliders start.
    game : LabelGame, optional
        Then the agreement of your labels with the moved rule is shown as well: that is calibration.
    size : float
        Side of a small map, in pixels.

    Attributes
    ----------
    thresholds : Thresholds
        As the sliders stand.
    """

    _ipython_display_ = None

    def __init__(
        self,
        attentions: Sequence,
        maps: Sequence[tuple[int, int, int]] | None = None,
        *,
        thresholds: Thresholds = DEFAULT_THRESHOLDS,
        game: LabelGame | None = None,
        size: float = 64,
    ):
        attentions = list(attentions)
        self.scores = stack_scores(attentions)
        self.maps = list(example_maps(self.scores, thresholds) if maps is None else maps)
        self.game, self.size = game, size
        self._thumbnails = []
        for text, layer, head in self.maps:
            name = f"text {text + 1}, head {head_label(layer, head)}"
            self._thumbnails.append((map_thumbnail(attentions[text].weights[layer, head], name, size), name))
        self.sliders = {
            name: ipywidgets.FloatSlider(
                value=value,
                min=0.05,
                max=1.0,
                step=0.05,
                description=name,
                readout_format=".2f",
                layout=ipywidgets.Layout(width="auto", flex="1 1 30%", min_width="0"),
            )
            for name, value in asdict(thresholds).items()
        }
        self._start = thresholds
        self.reset = ipywidgets.Button(
            description="as before", tooltip="put all thresholds back", layout=ipywidgets.Layout(width="auto")
        )
        self.reset.on_click(lambda _: self.move(self._start))
        self.view = ipywidgets.HTML()
        self.view.add_class("bertlook-picture")
        for slider in self.sliders.values():
            slider.observe(self._redraw, names="value")
        controls = ipywidgets.HBox(
            [*self.sliders.values(), self.reset], layout=ipywidgets.Layout(flex_flow="row wrap")
        )
        super().__init__([controls, self.view])
        self.add_class("bertlook-explorer")
        self._redraw()

    @property
    def thresholds(self) -> Thresholds:
        return Thresholds(**{name: round(slider.value, 6) for name, slider in self.sliders.items()})

    def move(self, thresholds: Thresholds) -> None:
        """Put the sliders on these thresholds and draw once."""
        for slider in self.sliders.values():
            slider.unobserve(self._redraw, names="value")
        for name, value in asdict(thresholds).items():
            self.sliders[name].value = value
        for slider in self.sliders.values():
            slider.observe(self._redraw, names="value")
        self._redraw()

    @property
    def fractions(self) -> np.ndarray:
        """Share of all maps in each class, as the sliders stand."""
        return class_shares(self.scores, self.thresholds).mean(axis=0)

    @property
    def classes(self) -> list[str]:
        """The class of each map shown, as the sliders stand."""
        codes = class_codes(self.scores, self.thresholds)
        return [CLASSES[codes[place]] for place in self.maps]

    @property
    def sentence(self) -> str:
        """How many maps changed their class, and how far a game's labels agree."""
        changed = (class_codes(self.scores, self.thresholds) != class_codes(self.scores, self._start)).mean()
        said = f"{changed:.1%} of {int(np.prod(self.scores.shape))} maps have changed their class.".replace(
            "%", " %"
        )
        if self.game is not None and self.game.n_labelled:
            codes = class_codes(self.game.scores, self.thresholds)
            moved = [CLASSES[codes[place]] for place in self.game.maps]
            compared = agree(self.game.labels, moved, CLASSES, replicates=1)
            same = int(np.trace(compared.confusion))
            said += f" The rule now agrees with {same} of your {compared.n} labels."
        return said

    def _redraw(self, change=None) -> None:
        codes = [CLASSES.index(name) for name in self.classes]
        board = render_board(self._thumbnails, codes, self.fractions, size=self.size)
        self.view.value = f"{board}<p>{html.escape(self.sentence)}</p>"

    def _repr_mimebundle_(self, **kwargs):
        return page_bundle(self, f'<div class="bertlook-static">{self.view.value}</div>')

    def __repr__(self) -> str:
        return f"ThresholdBoard({len(self.maps)} of {int(np.prod(self.scores.shape))} maps shown)"
