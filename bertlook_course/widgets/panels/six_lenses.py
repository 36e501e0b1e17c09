"""One head and one sentence seen as weight, norm, gradient, rollout, value zeroing, ablation: side by side."""

from __future__ import annotations

import zlib
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from html import escape
from importlib.util import find_spec

import anywidget
import ipywidgets
import numpy as np
import traitlets

from bertlook_teach.disk import install_command
from bertlook_teach.model import head_label
from bertlook_teach.views import (
    FINE_UP_TO,
    PLAIN_UP_TO,
    ChosenHead,
    Picture,
    TextBox,
    checked_mask,
    choice_menu,
    link_traits,
    looks_special,
    mime_bundle,
    style_source,
)

from ...render import (
    STYLES,
    checked_lenses,
    describe_lenses,
    first_query,
    full_scale,
    lens_table,
    lens_title,
    render_lenses,
)
from ..assets import module_source

MOST_WORK = 1.5e11  # of `output_zeroing_work`: some seconds; the specimen does it for 50 tokens

IN_PAGE = ("weight", "norm", "rollout")  # the lenses that need no gradient and no second pass

NEED_TORCH = ("gradient", "value_zeroing", "ablation")  # the others

MOST_TOKENS = 64  # value zeroing and gradients of one text cost as many passes as it has tokens

_SENTENCES = {
    "value_zeroing": "How far the layer's output turns when this head can take nothing from there (cosine distance).",
}


class LensView(ChosenHead, anywidget.AnyWidget):
    """One head under several lenses, drawn from arrays; every head is in the page already.

    Left and right arrows change the head, up and down the layer, Shift with up or down the query (so does a click on
    a token). Digits choose the lens that is explained beneath, G changes between bars and grids.

    Parameters
    ----------
    lenses : mapping of name to array of shape (layer, head, query, key)
        One column each, in their order. Entries are finite and not negative; "weight" and "rollout" are shares.
    tokens : sequence of str
    special : sequence of bool, optional
        Which tokens the tokenizer added. By default, those written like [CLS] or </s>.
    layer, head, query : int
        What is in view, counted from 0; by default the query is the first token that is not special.
    style : {"bars", "grids"}
        Bars of the chosen query, a row per key; or a small whole map per lens, a row per query.
    sentences : mapping of name to str, optional
        What each lens shows, in words.
    font_size, height : float
        In pixels; 0 follows the page.

    Notes
    -----
    Every lens has its own unit. A number is in hundredths of what is full: all of the weight for "weight" and "rollout",
    the largest entry of this head's map for the others; the last line says what 100 is. Rows are not made to sum
    to 100, so that a token for which the head does nothing looks like that.

    Raises
    ------
    ValueError
        If lenses and tokens cannot be drawn truly; see `bertlook_course.render.checked_lenses`.
    traitlets.TraitError
        If a layer, head or style is set that is not there.
    """

    _esm = module_source("six_lenses")
    _css = style_source()

    # What is in view. Linked with other views in the browser, reported to Python.
    query = traitlets.Int(0).tag(sync=True)
    lens = traitlets.Int(0).tag(sync=True)  # the one that is explained in words
    style_index = traitlets.Int(0, min=0, max=len(STYLES) - 1).tag(sync=True)
    style = traitlets.Enum(STYLES, "bars")

    # All lenses of all heads, each map quantised from 0 to what is full for it: (lens, layer, head, query, key).
    data = traitlets.Bytes(b"").tag(sync=True)
    full = traitlets.Bytes(b"").tag(sync=True)  # float32 (lens, layer, head)
    shape = traitlets.List(traitlets.Int(), [1, 1, 1]).tag(sync=True)
    bits = traitlets.Enum((8, 16), 16).tag(sync=True)
    packing = traitlets.Enum(("plain", "deflate"), "plain").tag(sync=True)
    names = traitlets.List(traitlets.Unicode(), []).tag(sync=True)
    titles = traitlets.List(traitlets.Unicode(), []).tag(sync=True)
    sentences = traitlets.List(traitlets.Unicode(), []).tag(sync=True)
    text = traitlets.Dict({}).tag(sync=True)

    height = traitlets.Float(0).tag(sync=True)

    def __init__(
        self,
        lenses: Mapping[str, object],
        tokens: Sequence[str],
        *,
        special: Sequence[bool] | None = None,
        layer: int = 0,
        head: int = 0,
        query: int | None = None,
        style: str = "bars",
        sentences: Mapping[str, str] | None = None,
        font_size: float = 0,
        height: float = 0,
        **options,
    ):
        self._sentences = dict(sentences or {})
        packed = self._packed(lenses, tokens, special)
        super().__init__(
            **packed,
            layer=layer,
            head=head,
            style=style,
            font_size=font_size,
            height=height,
            **options,
        )
        self.query = (
            first_query(packed["text"]["tokens"], packed["text"]["special"]) if query is None else query
        )

    def _packed(self, lenses, tokens, special) -> dict[str, object]:
        lenses, tokens = checked_lenses(lenses, tokens)
        flags = map(looks_special, tokens) if special is None else checked_mask(special, tokens, "special")
        stacked = np.stack(list(lenses.values()))
        full = np.stack([full_scale(name, values) for name, values in lenses.items()]).astype("<f4")
        bits = 16 if stacked.size * 2 <= FINE_UP_TO else 8
        top = 2**bits - 1
        scale = full.astype(np.float64)[..., None, None]
        shares = np.divide(stacked, scale, out=np.zeros_like(stacked), where=scale > 0)
        steps = np.rint(np.clip(shares, 0, 1) * top).astype("<u2" if bits == 16 else "u1")
        self._steps, self._scale, self._top = steps, scale, top
        packed = steps.tobytes()
        packing = "deflate" if len(packed) > PLAIN_UP_TO else "plain"
        return {
            "data": zlib.compress(packed, 6) if packing == "deflate" else packed,
            "full": full.tobytes(),
            "shape": list(stacked.shape[1:4]),
            "bits": bits,
            "packing": packing,
            "names": list(lenses),
            "titles": [lens_title(name) for name in lenses],
            "sentences": [self._sentences.get(name, "") for name in lenses],
            "text": {"tokens": list(tokens), "special": [bool(flag) for flag in flags]},
        }

    def set_lenses(self, lenses, tokens, *, special=None) -> None:
        """Show another text, keeping the head and the style where they still exist; the query starts anew."""
        state = self._packed(lenses, tokens, special)
        with self.hold_sync(), self.hold_trait_notifications():
            self.take(state)
            self.query = first_query(self.text["tokens"], self.text["special"])
            self.lens = min(self.lens, len(self.names) - 1)

    def limits(self) -> dict[str, int]:
        return super().limits() | {"query": self.shape[2]}

    _inside = traitlets.validate("query")(ChosenHead.check_choice)

    @traitlets.observe("style", "style_index")
    def _name_and_index(self, change):
        if change["name"] == "style":
            self.style_index = STYLES.index(change["new"])
        else:
            self.style = STYLES[change["new"]]

    def lenses(self) -> dict[str, np.ndarray]:
        """What is drawn, as the browser draws it: name -> array of shape (layer, head, query, key)."""
        values = self._steps / self._top * self._scale
        return dict(zip(self.names, values))

    @property
    def _place(self) -> dict[str, object]:
        return {
            "layer": self.layer,
            "head": self.head,
            "query": self.query,
            "special": self.text["special"],
        }

    @property
    def sentence(self) -> str:
        """The caption in view, computed from the data."""
        return describe_lenses(self.lenses(), self.text["tokens"], **self._place)

    def table(self):
        """What is in view as a table of hundredths."""
        return lens_table(self.lenses(), self.text["tokens"], **self._place)

    def picture(self) -> Picture:
        """The view as it stands now: a standalone SVG and its sentence."""
        drawn = render_lenses(self.lenses(), self.text["tokens"], style=self.style, **self._place)
        return replace(drawn, caption=self.sentence)

    def __repr__(self) -> str:
        layers, heads, n = self.shape
        return (
            f"LensView({len(self.names)} lenses, {layers} x {heads} heads, head {head_label(self.layer, self.head)}, "
            f"{n} token{'s' * (n != 1)})"
        )


class SixLenses(ipywidgets.VBox):
    """One head and one sentence under every lens there is, with a text box and menus for layer and head.

    A head, a query or a style is changed without the kernel; a new sentence is computed by it when Enter is pressed.

    Parameters
    ----------
    encoder : Encoder, or mapping of name to array of shape (layer, head, query, key)
        With arrays, ``text`` is the sequence of their tokens, and there is no box to type in.
    text : str, or sequence of str
    text_pair : str, optional
        A second text. ``None`` shows no box for one; ``""`` shows an empty box.
    layer, head, query, style
        As in `LensView`.
    compute : callable, optional
        ``compute(encoder, text, text_pair)`` returns (lenses, tokens, special); by default `compute_lenses`.

    Attributes
    ----------
    view : LensView
    text_box : TextBox or None
    layer, head : int
        The chosen head, counted from 0.

    Raises
    ------
    ValueError
        If the text cannot be read, or is longer than 64 tokens.
    """

    _ipython_display_ = None  # ipywidgets 7 would leave out the picture for saved pages

    def __init__(
        self,
        encoder,
        text,
        text_pair: str | None = None,
        *,
        layer: int = 0,
        head: int = 0,
        query: int | None = None,
        style: str = "bars",
        compute: Callable | None = None,
        font_size: float = 0,
        height: float = 0,
    ):
        self.encoder = encoder
        given = isinstance(encoder, Mapping)
        if given and (isinstance(text, str) or text_pair is not None):
            raise TypeError(
                "with arrays, give the tokens as a sequence in place of the text; a text needs an encoder to compute from."
            )
        self._compute = compute or compute_lenses
        if given:
            lenses, tokens, special = encoder, text, None
        else:
            second = text_pair if text_pair and text_pair.strip() else None
            lenses, tokens, special = self._compute(encoder, text, second)
        self.view = LensView(
            lenses,
            tokens,
            special=special,
            layer=layer,
            head=head,
            query=query,
            style=style,
            sentences=lens_sentences(),
            font_size=font_size,
            height=height,
        )
        self.text_box = None if given else TextBox(self._read, text, text_pair)
        self.controls = self._make_controls()
        views = ipywidgets.HBox([self.view])
        views.add_class("bertlook-views")
        self.view.layout.flex, self.view.layout.min_width = "1 1 0%", "0"
        said = []
        if not given and self._compute is compute_lenses and not _has_torch():
            line = f"{', '.join(_titles(NEED_TORCH))} need PyTorch: {install_command('torch')}"
            said = [ipywidgets.HTML(f'<p style="font-size:22px;line-height:1.4">{escape(line)}</p>')]
        super().__init__([*([] if given else [self.text_box]), self.controls, views, *said])
        self.add_class("bertlook-explorer")
        self.view._in_page = self.in_page() or {}

    def _make_controls(self) -> ipywidgets.HBox:
        """Menus, linked in the browser by their index."""
        n_layers, n_heads, _ = self.view.shape
        self.layer_menu = choice_menu("layer", range(1, n_layers + 1))
        self.head_menu = choice_menu("head", range(1, n_heads + 1))
        self.style_menu = choice_menu("show", STYLES)
        for trait, menu in (
            ("layer", self.layer_menu),
            ("head", self.head_menu),
            ("style_index", self.style_menu),
        ):
            link_traits(self.view, trait, menu, "index")
        box = ipywidgets.HBox([self.layer_menu, self.head_menu, self.style_menu])
        box.add_class("bertlook-controls")
        return box

    def _read(self, text: str, text_pair: str | None) -> None:
        """Take a new text; if it cannot be read, nothing changes."""
        lenses, tokens, special = self._compute(self.encoder, text, text_pair)
        self.view.set_lenses(lenses, tokens, special=special)

    def read(self, text: str, text_pair: str | None = None) -> None:
        """Show another text, as if it had been typed; unlike typing, an error is raised."""
        if self.text_box is None:
            raise ValueError("these lenses were given as arrays; a text needs an encoder to compute from.")
        self._read(text, text_pair)
        self.text_box.put(text, text_pair)

    @property
    def layer(self) -> int:
        return self.view.layer

    @layer.setter
    def layer(self, layer: int) -> None:
        self.view.layer = layer

    @property
    def head(self) -> int:
        return self.view.head

    @head.setter
    def head(self, head: int) -> None:
        self.view.head = head

    def in_page(self) -> dict[str, object] | None:
        """What a page that holds the same model needs to answer a new text in Python's place; None where it cannot. It has three of the lenses."""
        if self.text_box is None or self._compute is not compute_lenses:
            return None
        left = [title for name, title in zip(self.view.names, self.view.titles) if name not in IN_PAGE]
        note = f"Of a text typed here: {', '.join(left).lower()} need Jupyter."
        return self.text_box.page_request(self.encoder, {"lenses": self.view}, most=MOST_TOKENS, note=note)

    def _repr_mimebundle_(self, **kwargs):
        return mime_bundle(self, [self.view.picture()])

    def __repr__(self) -> str:
        name = (
            "arrays"
            if self.text_box is None
            else getattr(self.encoder, "title", None) or getattr(self.encoder, "name", "an encoder")
        )
        return f"SixLenses({name}, {repr(self.view).removeprefix('LensView(')}"


def compute_lenses(encoder, text: str, text_pair: str | None = None):
    """Every lens an encoder allows for one text: (lenses, tokens, special), as `LensView` takes them.

    Value zeroing is not divided by the sum of its row here: where a head does nothing, nothing must be seen. An encoder
    without a masked-LM head has no gradient of the masked-LM loss, and that lens is left out; so is the ablation where it would
    take longer than a class waits (a long text, or a model of BERT-base's size).

    Raises
    ------
    ValueError
        If the text cannot be read, or is longer than 64 tokens.
    """
    from bertlook_teach.measures import output_zeroing_work, value_zeroing
    from bertlook_teach.model import read

    from ...analyses.anatomy import LENSES, lenses

    reading = read(encoder, text, text_pair)
    if reading.n_tokens > MOST_TOKENS:
        raise ValueError(
            f"the text is {reading.n_tokens} wordpieces long; the lenses are computed for at most {MOST_TOKENS}, and a "
            "class can read about 12."
        )
    missing = _unavailable(encoder)
    if output_zeroing_work(encoder, reading.n_tokens) > MOST_WORK:
        missing += ("ablation",)
    names = [name for name in LENSES if name not in ("value_zeroing", *missing)]
    found = lenses(reading, only=names)
    if "value_zeroing" not in missing:
        found["value_zeroing"] = value_zeroing(reading, by_head=True, normalized=False)
    ordered = {name: found[name] for name in LENSES if name in found}
    return ordered, reading.tokens, reading.special


def _titles(names) -> list[str]:
    from ...analyses.anatomy import LENSES

    return [LENSES[name].title for name in names]


def lens_sentences() -> dict[str, str]:
    """What each lens shows, in words."""
    from ...analyses.anatomy import LENSES

    return {name: lens.sentence for name, lens in LENSES.items()} | _SENTENCES


def _unavailable(encoder) -> tuple[str, ...]:
    """Lenses that this encoder cannot have, or only torch can compute where there is none."""
    from bertlook_teach.model import masked_lm_scorer

    if not _has_torch():
        return NEED_TORCH
    try:
        masked_lm_scorer(encoder)
    except ValueError:
        return ("gradient",)
    return ()


def _has_torch() -> bool:
    return find_spec("torch") is not None
