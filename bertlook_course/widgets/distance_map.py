"""A map of heads by their distances; choosing a point chooses a head, also in linked views and without a kernel."""

from __future__ import annotations

from dataclasses import replace

import anywidget
import ipywidgets
import numpy as np
import traitlets

from bertlook_teach.model import head_label
from bertlook_teach.views import ChosenHead, HeadView, Picture, link_heads, mime_bundle, style_source

from ..render import (
    DISTANCE_UNIT,
    NEIGHBOURS,
    SHAPES,
    checked_map,
    describe_distance_map,
    group_styles,
    map_neighbours,
    render_distance_map,
)
from .assets import module_source, view_style

BY = ("behaviour", "layer")


class DistanceMap(ChosenHead, anywidget.AnyWidget):
    """Heads as points: near each other if their attention is alike. Click a point, or move with the keys.

    Arrow keys go to the next head in that direction, Page Down and Page Up through all heads, Home and End to the first
    and the last. The chosen head is tied to the nearest ones by their distance, which the flat map may not show.

    Parameters
    ----------
    points : array of shape (layer * head, 2)
        From `bertlook_course.metrics.metric_mds`.
    distances : array of shape (layer * head, layer * head)
    groups : array of str, shape (layer, head)
        From `bertlook_teach.measures.behaviour_labels`.
    layer, head : int
        The chosen head, counted from 0.
    by : {"behaviour", "layer"}
        What colour and shape show.
    neighbours : int
        How many nearest heads are named.
    unit : str
        Of the distances.
    stress : float, optional
        Of the map, for the caption.
    font_size, height : float
        In pixels; 0 follows the page's text size, and the room there is.

    Raises
    ------
    ValueError
        If points, distances and groups are not of the same heads, or hold NaN.
    traitlets.TraitError
        If a head is set that is not there.
    """

    _esm = module_source("distance_map")
    _css = style_source() + view_style("distance_map")

    # The choice. Linked with other views in the browser, reported to Python.
    by_index = traitlets.Int(0, min=0, max=len(BY) - 1).tag(sync=True)

    points = traitlets.Bytes(b"").tag(sync=True)  # float32, little-endian, (head, 2)
    nearest = traitlets.List(traitlets.List(traitlets.Int())).tag(sync=True)  # of each head, nearest first
    sentences = traitlets.List(traitlets.Unicode()).tag(sync=True)  # of each head
    shape = traitlets.List(traitlets.Int(), [1, 1]).tag(sync=True)
    groups = traitlets.List(traitlets.Unicode(), []).tag(sync=True)
    styles = traitlets.List([]).tag(sync=True)  # name, colour and shape of each group
    disc = traitlets.Unicode(SHAPES["disc"]).tag(sync=True)

    height = traitlets.Float(0).tag(sync=True)

    def __init__(
        self,
        points,
        distances,
        groups,
        *,
        layer: int = 0,
        head: int = 0,
        by: str = "behaviour",
        neighbours: int = NEIGHBOURS,
        unit: str = DISTANCE_UNIT,
        stress: float | None = None,
        font_size: float = 0,
        height: float = 0,
        **options,
    ):
        if by not in BY:
            raise ValueError(f"a map is shown by one of {', '.join(BY)}; got {by!r}.")
        groups = np.asarray(groups, dtype=object)
        if groups.ndim != 2:
            raise ValueError(f"groups must have shape (layer, head); got {groups.shape}.")
        if neighbours < 0:
            raise ValueError(
                f"neighbours counts the nearest heads that are named, 0 or more; got {neighbours}."
            )
        self._points, self._distances, flat = checked_map(points, distances, groups, groups.shape)
        self._said = {"k": neighbours, "unit": unit, "stress": stress}
        super().__init__(
            layer=layer,
            head=head,
            by_index=BY.index(by),
            points=self._points.astype("<f4").tobytes(),
            nearest=[map_neighbours(self._distances, head, neighbours) for head in range(groups.size)],
            sentences=[
                describe_distance_map(self._distances, flat, groups.shape, head, **self._said)
                for head in np.ndindex(*groups.shape)
            ],
            shape=list(groups.shape),
            groups=flat,
            styles=[[name, colour, SHAPES[form]] for name, (colour, form) in group_styles(flat).items()],
            font_size=font_size,
            height=height,
            **options,
        )

    @property
    def by(self) -> str:
        return BY[self.by_index]

    @property
    def unit(self) -> str:
        """What its distances are counted in."""
        return self._said["unit"]

    @property
    def sentence(self) -> str:
        """The caption in view."""
        return self.sentences[self.layer * self.shape[1] + self.head]

    def picture(self) -> Picture:
        """The map as it stands now: a standalone SVG and its sentence."""
        drawn = render_distance_map(
            self._points,
            self._distances,
            self.groups,
            tuple(self.shape),
            selected=(self.layer, self.head),
            by=self.by,
            **self._said,
        )
        return replace(drawn, caption=self.sentence)

    def __repr__(self) -> str:
        layers, heads = self.shape
        return (
            f"DistanceMap({layers} x {heads} heads, by {self.by}, head {head_label(self.layer, self.head)})"
        )


class FamilyExplorer(ipywidgets.HBox):
    """A map of heads and a view of the chosen one, tied together in the page.

    Parameters
    ----------
    distance_map : DistanceMap
    attention : Attention
        Of one text, from the same model.
    style, font_size, height
        As in `HeadView`.

    Attributes
    ----------
    distance_map : DistanceMap
    head_view : HeadView
    """

    _ipython_display_ = None  # ipywidgets 7 would leave out the picture for saved pages

    def __init__(
        self,
        distance_map: DistanceMap,
        attention,
        *,
        style: str = "lines",
        font_size: float = 0,
        height: float = 0,
    ):
        self.distance_map = distance_map
        self.head_view = HeadView(
            attention,
            style=style,
            font_size=font_size,
            height=height,
            layout=ipywidgets.Layout(flex="1 1 0%", min_width="0"),
        )
        link_heads(distance_map, self.head_view)
        distance_map.layout = ipywidgets.Layout(flex="1.15 1 0%", min_width="0")
        super().__init__([distance_map, self.head_view])
        self.add_class("bertlook-views")
        self.add_class("bertlook-explorer")

    def _repr_mimebundle_(self, **kwargs):
        return mime_bundle(self, [self.distance_map.picture(), self.head_view.picture()])

    def __repr__(self) -> str:
        layers, heads = self.distance_map.shape
        chosen = head_label(self.distance_map.layer, self.distance_map.head)
        return f"FamilyExplorer({layers} x {heads} heads, head {chosen}, {self.head_view.shape[2]} tokens)"
