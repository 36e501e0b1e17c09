"""Turn over prepared pictures: by name, or by choosing a head in a map."""

from __future__ import annotations

from collections.abc import Callable, Mapping

import ipywidgets

from bertlook_teach.model import head_label
from bertlook_teach.views import HeadMap, Picture, mime_bundle


class PictureMenu(ipywidgets.VBox):
    """Buttons with names over one picture; choosing a name shows its picture with its sentence.

    Parameters
    ----------
    pictures : mapping of name to Picture
    description : str
        What is chosen, for those who do not see it.

    Raises
    ------
    ValueError
        If there is no picture.
    """

    _ipython_display_ = None  # ipywidgets 7 would leave out the picture for saved pages

    def __init__(self, pictures: Mapping[str, Picture], description: str = ""):
        if not pictures:
            raise ValueError("a menu needs at least one picture; got none.")
        self.pictures = dict(pictures)
        self.buttons = ipywidgets.ToggleButtons(
            options=list(self.pictures), description=description, style={"button_width": "auto"}
        )
        self.view = ipywidgets.HTML()
        self.buttons.observe(self._redraw, names="value")
        super().__init__([self.buttons, self.view])
        self.add_class("bertlook-explorer")
        self._redraw()

    @property
    def picture(self) -> Picture:
        """The picture in view."""
        return self.pictures[self.buttons.value]

    def _redraw(self, change=None) -> None:
        self.view.value = self.picture.inline()

    def _repr_mimebundle_(self, **kwargs):
        shown = list(
            self.pictures.values()
        )  # a page that cannot choose shows two that are narrow side by side
        if len(shown) != 2 or any(one.width > 1.6 * one.height for one in shown):
            shown = [self.picture]
        return mime_bundle(self, shown)

    def __repr__(self) -> str:
        return f"PictureMenu({' | '.join(self.pictures)}; shows {self.buttons.value})"


class HeadPictures(ipywidgets.HBox):
    """A map of all heads beside a picture of the chosen one.

    Parameters
    ----------
    values : array of shape (layer, head), or mapping of name to such arrays
        What colours the map; see `HeadMap`.
    draw : callable
        ``draw(layer, head)`` returns a `Picture`; layer and head count from 0.
    layer, head : int
        The head shown first.
    """

    _ipython_display_ = None

    def __init__(
        self, values, draw: Callable[[int, int], Picture], *, layer: int = 0, head: int = 0, **options
    ):
        self.draw = draw
        self.head_map = HeadMap(
            values,
            layer=layer,
            head=head,
            layout=ipywidgets.Layout(flex="0 1 auto", max_width="46%", min_width="0"),
            **options,
        )
        self.view = ipywidgets.HTML(layout=ipywidgets.Layout(flex="1 1 0%", min_width="0"))
        self.head_map.observe(self._redraw, names=("layer", "head"))
        super().__init__([self.head_map, self.view])
        self.add_class("bertlook-explorer")
        self.add_class("bertlook-views")
        self._redraw()

    @property
    def picture(self) -> Picture:
        """The picture of the chosen head."""
        return self.draw(self.head_map.layer, self.head_map.head)

    def _redraw(self, change=None) -> None:
        self.view.value = self.picture.inline()

    def _repr_mimebundle_(self, **kwargs):
        return mime_bundle(self, [self.head_map.picture(), self.picture])

    def __repr__(self) -> str:
        layers, heads = self.head_map.shape
        return f"HeadPictures({layers} x {heads} heads, head {head_label(self.head_map.layer, self.head_map.head)})"
