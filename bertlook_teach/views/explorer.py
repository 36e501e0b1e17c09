"""Type a sentence, choose a head in the map, see what it looks at."""

from __future__ import annotations

import html
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace

import ipywidgets
import numpy as np
import traitlets

from ..model import Attention, check_encoder, head_label, is_in_memory, load_encoder
from .assets import mime_bundle
from .chosen_head import refuse_unknown
from .drawing.difference import check_same_text
from .drawing.inputs import given_attention
from .head_map import HeadMap, Measure, default_measures, page_rules
from .head_view import LEVELS, QUANTITIES, STYLES, HeadView
from .links import link_heads, link_traits


class TextBox(ipywidgets.VBox):
    """One or two lines of text; Enter, or leaving the line, calls ``compute``. What goes wrong is said beside it.

    Parameters
    ----------
    compute : callable
        Called as ``compute(text, text_pair)``. If it raises, the message is shown and the text stays as typed.
    text : str
    text_pair : str, optional
        ``None`` shows no second line; ``""`` shows an empty one.
    """

    def __init__(self, compute: Callable[[str, str | None], object], text: str, text_pair: str | None = None):
        self._compute = compute
        line = {
            "continuous_update": False,
            "layout": ipywidgets.Layout(flex="1 1 0%", min_width="0", width="auto"),
        }
        self.text = ipywidgets.Text(value=text, placeholder="a sentence, then Enter", **line)
        self.text_pair = ipywidgets.Text(
            value=text_pair or "", placeholder="second sentence (optional)", **line
        )
        self.message = ipywidgets.HTML(value="", layout=ipywidgets.Layout(margin="0"))
        self.message.add_class("bertlook-message")
        boxes = [self.text] if text_pair is None else [self.text, self.text_pair]
        super().__init__([ipywidgets.HBox(boxes), self.message])
        self.add_class("bertlook-textbox")
        for box in boxes:
            box.observe(self._changed, names="value")
        self.shown = self.texts  # what the picture shows: the last that could be read

    @property
    def texts(self) -> tuple[str, str | None]:
        """The two lines as they stand; the second is None when it is empty."""
        return self.text.value, self.text_pair.value if self.text_pair.value.strip() else None

    def _changed(self, change) -> None:
        try:
            self._compute(*self.texts)
        except Exception as error:  # noqa: BLE001 - whatever it is, a class must see it in words and lose nothing
            said = str(error) or type(error).__name__
            self.say(f"{said[0].upper()}{said[1:]} The picture still shows the last text.")
        else:
            self.say("")
            self.shown = self.texts

    def put(self, text: str, text_pair: str | None) -> None:
        """Write into the lines without computing."""
        compute, self._compute = self._compute, lambda *texts: None
        try:
            self.text.value, self.text_pair.value = text, text_pair or ""
        finally:
            self._compute = compute

    def say(self, message: str) -> None:
        """Show a message beside the box; an empty one takes no room."""
        self.message.value = f'<div role="alert" dir="auto">{html.escape(message)}</div>' if message else ""

    def page_request(self, encoder, views: Mapping[str, ipywidgets.Widget], **more) -> dict[str, object]:
        """What a page needs to answer this box in Python's place: which model reads the text, and where the box and ``views`` stand."""
        places = {"text": self.text, "message": self.message, **views}
        if len(self.children[0].children) > 1:
            places["pair"] = self.text_pair
        asked = {"model": getattr(encoder, "name", ""), "fingerprint": getattr(encoder, "fingerprint", "")}
        return asked | more | {"places": {name: widget.model_id for name, widget in places.items()}}

    def __repr__(self) -> str:
        return f"TextBox({', '.join(repr(text) for text in self.texts if text is not None)})"


class HeadExplorer(ipywidgets.VBox):
    """A text box, a map of all heads and a view of one, tied together.

    A choice in the map, the menus or the view shows in all of them, without the kernel; a new sentence is computed
    by the kernel when Enter is pressed or the box is left.

    Parameters
    ----------
    encoder : Encoder
        From `load_encoder`; or a model in memory, as `load_encoder` takes it. Or an Attention, or what `Attention.from_arrays` takes, such as ``outputs.attentions``, followed by its
        tokens: there is then no text box, and by default the measures that have a meaning for it.
    text : str
        With attention instead of an encoder: its tokens, or ``grid=`` as in `HeadView`.
    text_pair : str, optional
        A second text. ``None`` shows no box for one; ``""`` shows an empty box.
    tokenizer
        Of a model in memory that does not have it itself.
    measures : mapping of name to measure, optional
        What the map can be coloured by. A measure is a function of an Attention that returns shape (layer, head), and
        is taken anew for each sentence; or an array of that shape, for instance from a corpus, which stays.
        By default where heads look: previous, next, itself, [CLS], [SEP], and their entropy.
    layer, head : int
        The head shown first, counted from 0.
    measure : str, optional
        The measure shown first.
    style, level, hide_special, font_size, height
        As in `HeadView`.
    extract : callable, optional
        ``extract(encoder, text, text_pair)`` returns an Attention; by default `extract_attention`.
    norms : bool or callable, optional
        Whether there is a menu that changes between weights and weighted norms (see `HeadView`), without the kernel.
        ``norms(attention)`` gives the lengths of the transformed vectors, shape (layer, head, token); True takes those
        of `bertlook_teach.measures.norms` and raises where the encoder cannot give them. By default the menu is there for the
        encoders that can, and not where ``extract`` is given.
    quantity : {"weight", "norm"}
    minus : Encoder, optional
        The model before a change, of the same shape and vocabulary: map and view then show what is different, ``encoder`` less
        ``minus``. Measures must then be functions, and there are no norms.

    Attributes
    ----------
    head_map : HeadMap
    head_view : HeadView
    text_box : TextBox
    attention : Attention
        Of the last text that could be read.
    layer, head : int
        The chosen head, counted from 0.
    """

    _ipython_display_ = None  # ipywidgets 7 would leave out the picture for saved pages
    layer, head = traitlets.Int(), traitlets.Int()

    def __init__(
        self,
        encoder,
        text: str | Sequence[str] | None = None,
        text_pair: str | None = None,
        measures: Mapping[str, Measure | np.ndarray] | None = None,
        *,
        tokenizer=None,
        key_tokens: Sequence[str] | None = None,
        grid: tuple[int, int] | None = None,
        sentence_b_start: int | None = None,
        layer: int = 0,
        head: int = 0,
        measure: str | None = None,
        style: str = "lines",
        level: str = "wordpiece",
        hide_special: bool = False,
        font_size: float = 0,
        height: float = 0,
        extract: Callable | None = None,
        norms: bool | Callable | None = None,
        quantity: str = "weight",
        minus=None,
        **unknown,
    ):
        refuse_unknown(type(self), unknown, traits=False)
        _check_options(encoder, text, measures)
        encoder, minus = (
            load_encoder(one, tokenizer) if is_in_memory(one) else one for one in (encoder, minus)
        )
        given = _given_attention(encoder, text, key_tokens, grid, sentence_b_start)
        if given is not None:
            encoder, text, extract = given, given.text, lambda *_: given
            measures = default_measures(given) if measures is None else measures
        self.encoder, self.minus = encoder, minus
        self._extract = extract or _extract_attention
        self.measures = dict(default_measures() if measures is None else measures)
        second = text_pair if text_pair and text_pair.strip() else None
        self.attention = self._extract(encoder, text, second)
        before = self._before(self.attention, text, second)
        self._norms = self._norms_wanted(norms, extract is None)
        sizes = {"font_size": font_size, "height": height}
        look = {"layer": layer, "head": head, **sizes}
        self.head_map = self._make_map(before, measure, look)
        look |= {"style": style, "level": level, "hide_special": hide_special, "quantity": quantity}
        self.head_view = HeadView(
            self.attention,
            norms=self._norms(self.attention) if self._norms else None,
            minus=before,
            layout=ipywidgets.Layout(flex="1 1 0%", min_width="0"),
            **look,
        )
        self.text_box = TextBox(self._read, text, text_pair)
        self.controls = self._make_controls()
        link_heads(self.head_map, self.head_view)
        super().__init__(self._parts(sizes, has_box=given is None))
        self.add_class("bertlook-explorer")
        for choice in ("layer", "head"):
            traitlets.link((self.head_view, choice), (self, choice))
        self.head_view._in_page = (given is None and self.in_page()) or {}

    def _norms_wanted(self, norms: bool | Callable | None, own_extract: bool) -> Callable | None:
        """What gives the lengths of transformed vectors, if there is to be a menu for them."""
        if self.minus is not None and norms:
            raise ValueError("norms of a difference are not drawn; leave norms out.")
        if callable(norms):
            return norms
        if self.minus is None and (norms is True or (norms is None and own_extract)):
            return _norms_of(self.encoder, self.attention, required=norms is True)
        return None

    def _make_map(self, before: Attention | None, measure: str | None, look: Mapping) -> HeadMap:
        return HeadMap(
            self._measured(self.attention),
            minus=None if before is None else self._measured(before),
            measure=measure,
            layout=ipywidgets.Layout(flex="0 1 auto", max_width="46%", min_width="0"),
            **look,
        )

    def _parts(self, sizes: Mapping[str, float], *, has_box: bool) -> list[ipywidgets.Widget]:
        views = ipywidgets.HBox([self.head_map, self.head_view])
        views.add_class("bertlook-views")
        return [*self._above(**sizes), *([self.text_box] if has_box else []), self.controls, views]

    def _above(self, **sizes) -> list[ipywidgets.Widget]:
        """What stands above the text box; for explorers that show more."""
        return []

    @property
    def name(self) -> str:
        """What the encoder is called on the switch and in its pictures."""
        if isinstance(self.encoder, Attention):
            return self.encoder.model or "attention"
        return getattr(self.encoder, "title", None) or getattr(self.encoder, "name", "an encoder")

    def _make_controls(self) -> ipywidgets.HBox:
        """Menus for the keyboard and for those who do not see the map; linked in the browser by their index."""
        n_layers, n_heads, *_ = self.head_view.shape
        self.layer_menu = choice_menu("layer", range(1, n_layers + 1))
        self.head_menu = choice_menu("head", range(1, n_heads + 1))
        self.style_menu = choice_menu("view", STYLES)
        self.level_menu = choice_menu("of", [f"{level}s" for level in LEVELS])
        self.level_menu.disabled = len(self.head_view.texts) == 1  # words, or tokens that make no words
        self.special_box = ipywidgets.Checkbox(
            description="hide special tokens", indent=False, layout=ipywidgets.Layout(width="auto")
        )
        for trait, control, control_trait in (
            ("layer", self.layer_menu, "index"),
            ("head", self.head_menu, "index"),
            ("style_index", self.style_menu, "index"),
            ("level_index", self.level_menu, "index"),
            ("hide_special", self.special_box, "value"),
            ("pair", self.head_map, "pair"),
        ):
            link_traits(self.head_view, trait, control, control_trait)
        controls = [self.layer_menu, self.head_menu, self.style_menu, self.level_menu, self.special_box]
        if self._norms:
            self.quantity_menu = choice_menu("show", QUANTITIES)
            link_traits(self.head_view, "quantity_index", self.quantity_menu, "index")
            controls.append(self.quantity_menu)
        box = ipywidgets.HBox(controls)
        box.add_class("bertlook-controls")
        return box

    def _before(self, attention, text: str, text_pair: str | None):
        """The same text in the model before the change, if a difference is shown."""
        if self.minus is None:
            return None
        if fixed := [name for name, measure in self.measures.items() if not callable(measure)]:
            raise ValueError(
                f"with minus= a measure is a function, taken of both models; {fixed[0]!r} is an array. Leave it out, or show "
                "HeadMap(after, minus=before)."
            )
        before = self._extract(self.minus, text, text_pair)
        check_same_text(attention, before)
        return before

    def _measured(self, attention) -> dict[str, np.ndarray]:
        """Every measure on this attention; an array stands as it is."""
        measured = {}
        for name, measure in self.measures.items():
            values = np.asarray(measure(attention) if callable(measure) else measure)
            expected = attention.weights.shape[:2]
            if values.shape != expected:
                raise ValueError(
                    f"measure {name!r} must give one number per head, shape {expected} (layer, head); got {values.shape}."
                )
            measured[name] = values
        return measured

    def _read(self, text: str, text_pair: str | None) -> None:
        """Take a new text; if it cannot be read, nothing changes."""
        attention = self._extract(self.encoder, text, text_pair)
        before = self._before(attention, text, text_pair)
        measured = self._measured(attention)
        norms = self._norms(attention) if self._norms else None
        self.head_view.set_attention(attention, norms, before)
        self.head_map.set_values(measured, minus=None if before is None else self._measured(before))
        self.attention = attention

    def read(self, text: str, text_pair: str | None = None) -> None:
        """Show another text, as if it had been typed; unlike typing, an error is raised.

        Raises
        ------
        ValueError
            As `extract_attention`.
        """
        self._read(text, text_pair)
        self.text_box.put(text, text_pair)

    def in_page(self) -> dict[str, object] | None:
        """What a page that holds the same model needs to answer a new text in Python's place; None where it cannot.

        It takes the measures of the menu, and keeps arrays; a function of one's own it cannot call.
        """
        rules = page_rules(self.measures)
        own = [name for name, measure in self.measures.items() if callable(measure) and name not in rules]
        if own or self.minus is not None or self._extract is not _extract_attention:
            return None
        views = {"map": self.head_map, "view": self.head_view}
        return self.text_box.page_request(self.encoder, views, norms=bool(self.head_view.norms), rules=rules)

    def _repr_mimebundle_(self, **kwargs):
        heads, view = self.head_map.picture(), self.head_view.picture()
        return mime_bundle(self, [replace(heads, badge=self.head_view.badge), view])

    @traitlets.validate("layer", "head")
    def _a_head(self, proposal) -> int:
        return self.head_view.check_choice(proposal)

    def __repr__(self) -> str:
        n_layers, n_heads, n_tokens, *_ = self.head_view.shape
        name = self.name
        if self.minus is not None:
            name += f" minus {getattr(self.minus, 'name', 'an encoder')}"
        return (
            f"HeadExplorer({name}, {n_layers} x {n_heads} heads, head {head_label(self.layer, self.head)}, "
            f"{n_tokens} tokens)"
        )


def _check_options(encoder, text, measures) -> None:
    if isinstance(encoder, str) and not isinstance(text, str):
        check_encoder(encoder)
    if isinstance(encoder, (list, tuple)) and isinstance(text, str):
        raise TypeError("an explorer shows one model; bertlook_teach.views.SideBySide shows two.")
    if not isinstance(measures, Mapping | None):
        raise TypeError(f"measures have names: give a mapping of name to measure; got {measures!r:.60}.")


def _given_attention(encoder, tokens, key_tokens, grid, sentence_b_start) -> Attention | None:
    """The attention to be explored where there is no encoder to compute it."""
    runs = hasattr(encoder, "attend") or hasattr(encoder, "recall")
    if isinstance(encoder, Attention) or grid is not None or not (runs or isinstance(tokens, str | None)):
        return given_attention(encoder, tokens, key_tokens, grid, sentence_b_start)
    if not isinstance(tokens, str):
        raise TypeError(f"an explorer needs one text, and text_pair for a second; got {tokens!r:.60}.")
    return None


def choice_menu(name: str, options) -> ipywidgets.Dropdown:
    menu = ipywidgets.Dropdown(
        options=[str(option) for option in options], description=name, layout=ipywidgets.Layout(width="auto")
    )
    menu.add_class("bertlook-menu")
    return menu


def _extract_attention(encoder, text: str, text_pair: str | None):
    """With the value vectors, which cost next to nothing; without them where the encoder has none to give."""
    from ..model import Recording, extract_attention

    as_recorded = isinstance(encoder, Recording)  # a cut input is shown as it was read, and said to be cut
    try:
        return extract_attention(encoder, text, text_pair, truncate=as_recorded, vectors=True)
    except ValueError:  # if it was the text, the same is said again
        return extract_attention(encoder, text, text_pair, truncate=as_recorded)


def _norms_of(encoder, attention, *, required: bool) -> Callable[[object], np.ndarray] | None:
    """A function from an attention with vectors to its norms; None where the encoder cannot give them."""
    from ..measures import value_norms
    from ..model import output_projection

    try:
        projection = output_projection(encoder)
        value_norms(attention, projection)
    except ValueError:
        if required:
            raise
        return None
    return lambda attention: value_norms(attention, projection)
