"""Type a text, see anything that can be computed from it."""

from __future__ import annotations

from collections.abc import Callable

import ipywidgets

from bertlook_teach.views import TextBox, page_bundle

# An HTML widget has the type of a control; its picture is to have the type of the text around it.
_FRAME = (
    '<div style="font-family:var(--slide-font,var(--jp-content-font-family,inherit));'
    'font-size:var(--jp-content-font-size1,1em);line-height:1.35">{}</div>'
)


class TextView(ipywidgets.VBox):
    """A text box over any picture of its text; Enter draws it anew.

    Parameters
    ----------
    draw : callable
        ``draw(text, text_pair)`` returns HTML. It escapes what it is given (the functions in `render` do). If it
        raises, the message is shown beside the box and the picture stays.
    text : str
    text_pair : str, optional
        ``None`` shows no second line; ``""`` shows an empty one.

    Examples
    --------
    >>> view = TextView(lambda text, pair: f"<b>{len(text.split())}</b>", "the cat sat")
    >>> view.text_box.text.value = "the cat"
    >>> "<b>2</b>" in view.picture.value
    True
    """

    _ipython_display_ = None  # ipywidgets 7 would leave out the picture for saved pages

    def __init__(self, draw: Callable[[str, str | None], str], text: str, text_pair: str | None = None):
        self._draw = draw
        self.picture = ipywidgets.HTML(value=_FRAME.format(draw(text, text_pair or None)))
        self.picture.add_class("bertlook-picture")
        self.text_box = TextBox(self._redraw, text, text_pair)
        super().__init__([self.text_box, self.picture])
        self.add_class("bertlook-explorer")

    def _redraw(self, text: str, text_pair: str | None) -> None:
        self.picture.value = _FRAME.format(self._draw(text, text_pair))

    def _repr_mimebundle_(self, **kwargs):
        return page_bundle(self, f'<div class="bertlook-static">{self.picture.value}</div>')

    def __repr__(self) -> str:
        return f"TextView({', '.join(repr(text) for text in self.text_box.texts if text is not None)})"
