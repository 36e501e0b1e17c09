"""One head's attention over one text, as lines or as a grid; every head is in the page already."""

from __future__ import annotations

import zlib
from dataclasses import replace

import anywidget
import numpy as np
import traitlets

from ..model import check_weights, head_label, merge_weights, word_groups
from .assets import module_source, style_source
from .chosen_head import DrawnHead
from .drawing.attention import render_attention_grid
from .drawing.difference import check_same_text, describe_difference, describe_token_difference
from .drawing.inputs import as_array, checked_tokens, given_attention
from .drawing.lines import render_attention_lines
from .drawing.norms import describe_norms, describe_token_norms
from .drawing.pictures import Picture
from .drawing.sentences import describe_attention, describe_token

STYLES = ("lines", "grid", "rows")

LEVELS = ("wordpiece", "word")

QUANTITIES = ("weight", "norm")

FINE_UP_TO = 1_000_000  # bytes: below it a weight gets 16 bits, so that printed per cents are right too

PLAIN_UP_TO = 500_000  # bytes: above it the data are deflated, so that a saved page stays small


def _whose(attention, minus) -> str:
    """What an attention says of itself; of a difference, both sides, if one of them says something."""
    sides = [attention] if minus is None else [attention, minus]
    if not any(getattr(side, "badge", "") for side in sides):
        return ""
    return " minus ".join(
        getattr(side, "badge", "") or getattr(side, "model", "") or "a model" for side in sides
    )


class HeadView(DrawnHead, anywidget.AnyWidget):
    """See what one head looks at. Arrow keys run through the heads without the kernel.

    Left and right change the head, up and down the layer, Home and End go to the first and last head of the
    layer. Pointing at a token shows it alone; clicking it, or Shift with up or down (outside slides also Page Up
    and Page Down), keeps it; Escape lets it go. With a token kept, a click on a key, or Shift with left or right, chooses a pair: a
    map linked by ``pair`` then shows what every head gives from the one to the other. With norms, the key N changes between weights and norms.

    Parameters
    ----------
    attention : Attention
        All heads of one text, at wordpiece or word level; or what `Attention.from_arrays` takes, such as ``outputs.attentions``.
    tokens, key_tokens : sequence of str, optional
        With such arrays only: what looks, and in cross attention what is looked at. Tokens may also come first, as in CircuitsVis.
    grid : (int, int), optional
        With such arrays of an image: the rows and columns of its patches, in place of tokens.
    sentence_b_start : int, optional
        With such arrays of a pair of texts: position of the second text's first token, as in BertViz.
    layer, head : int
        The head in view, counted from 0. ``head`` may be a printed name, ``"3-2"``: layer 3, head 2.
    style : {"lines", "grid", "rows"}
        Lines between two columns of tokens, a grid, or lines between two rows: for short tokens, as in Chinese or Japanese.
    level : {"wordpiece", "word"}, optional
        By default the level of ``attention``. Attention between words cannot be split back into wordpieces.
    hide_special : bool
        Leave [CLS] and [SEP] out of the picture. Nothing is renormalised: the caption says how much they hold.
    query : int
        The token kept in view, counted from 0 at the level in view; -1 for none.
    key : int
        The key chosen beside it; -1 for none.
    norms : array of shape (layer, head, token), optional
        Length of each token's transformed vector, ``||f_h(x_j)||``, as `bertlook_course.analyses.anatomy.six_lenses.value_norms` gives
        it. With it the view can show what a head adds instead of where it looks.
    minus : Attention or arrays, optional
        Of the same text before a change, from a model of the same shape and vocabulary: the view then shows ``attention`` less
        ``minus``.
    quantity : {"weight", "norm"}
        ``"norm"`` shows the weighted norm ``alpha_ij ||f_h(x_j)||`` in place of the weight ``alpha_ij``.
    badge : str, optional
        Which model this is, as a part of the picture. By default the ``badge`` of the attention.
    font_size, height : float
        In pixels; 0 follows the page's text size, and the length of the text. On a slide the height is meant for 1280 x 720 and
        grows with a larger one.
    bits : {8, 16}, optional
        Bits a weight. 8 are enough for the eye (a weight is off by at most 0.002). By default 16 while that makes
        less than a megabyte, so that the per cents in the caption are right as well.

    Notes
    -----
    Wordpieces become words in the browser, by the rule of `bertlook_teach.model.merge_weights` with
    ``query="mean"``. Above half a megabyte the data travel deflated.

    A norm is drawn relative to the longest transformed vector of the same head and text, so a line in the norms is as
    strong as in the weights or fainter, never stronger: what fades is weight on a token that brings little. (Shares of
    each row would hide a token for which a head does nothing at all.) Numbers are the norms themselves, in the units of
    the model; the caption says which quantity is shown and how long the longest vector is. At word level the norms of a
    word's pieces are added up, which is never less than the norm of their sum. Direction is not seen: contributions
    of opposite direction cancel in the model and not here.

    A difference is drawn relative to the largest change of all heads of the text, so that heads can be compared; the line under the
    picture says how large that is. More is blue and solid (in a grid: with a plus), less is brown and dashed (with a minus). There are no norms of a
    difference: what weighted norms of two models have in common is not known from their lengths.

    Raises
    ------
    ValueError
        If the attention holds NaN, negative weights or a row of zeros, or does not match its tokens; if norms are
        negative, not finite, or not one per layer, head and token; if ``minus`` is of another text, level or shape, or comes with norms.
    traitlets.TraitError
        If a layer, head, style, level or quantity is set that is not there.
    """

    _esm = module_source("head_view")
    _css = style_source()

    # What is in view. Linked with other views in the browser, reported to Python.
    hide_special = traitlets.Bool(False).tag(sync=True)
    query = traitlets.Int(-1).tag(sync=True)
    key = traitlets.Int(-1).tag(sync=True)
    pair = traitlets.Dict({}).tag(
        sync=True
    )  # {"name", "values" (layer, head)} of query and key, told by the page

    # Style and level travel as positions in STYLES and LEVELS: a menu of ipywidgets can be linked in the browser
    # by its index only. In Python one uses the names.
    style_index = traitlets.Int(0, min=0, max=len(STYLES) - 1).tag(sync=True)
    level_index = traitlets.Int(0, min=0, max=len(LEVELS) - 1).tag(sync=True)
    style = traitlets.Enum(STYLES, "lines")
    level = traitlets.Enum(LEVELS, "wordpiece")
    quantity_index = traitlets.Int(0, min=0, max=len(QUANTITIES) - 1).tag(sync=True)
    quantity = traitlets.Enum(QUANTITIES, "weight")

    # All heads of the text, quantised and packed: (layer, head, query, key).
    data = traitlets.Bytes(b"").tag(sync=True)
    shape = traitlets.List(traitlets.Int(), [1, 1, 1]).tag(sync=True)
    bits = traitlets.Enum((8, 16), 16).tag(sync=True)
    packing = traitlets.Enum(("plain", "deflate"), "plain").tag(sync=True)
    texts = traitlets.Dict({}).tag(sync=True)
    difference = traitlets.Bool(False).tag(sync=True)  # then a step below the middle one is a loss
    norms = traitlets.Bytes(b"").tag(sync=True)  # float32 (layer, head, token); empty: there are none

    def __init__(
        self,
        attention,
        tokens=None,
        sentence_b_start: int | None = None,
        *,
        key_tokens=None,
        grid: tuple[int, int] | None = None,
        layer: int = 0,
        head: int = 0,
        style: str = "lines",
        level: str | None = None,
        hide_special: bool = False,
        query: int = -1,
        key: int = -1,
        norms=None,
        minus=None,
        quantity: str = "weight",
        badge: str | None = None,
        font_size: float = 0,
        height: float = 0,
        bits: int | None = None,
        **options,
    ):
        if bits not in (None, 8, 16):
            raise ValueError(f"bits is 8 or 16, for each weight; got {bits!r}.")
        self._bits, self._badge = bits, badge
        given = (tokens, key_tokens, grid, sentence_b_start)
        if any(value is not None for value in given) or not hasattr(attention, "weights"):
            attention = given_attention(attention, *given)
        if minus is not None and not hasattr(minus, "weights"):
            minus = given_attention(minus, attention.tokens)
        super().__init__(
            **self._packed(attention, norms, minus),
            quantity=quantity,
            layer=layer,
            head=head,
            style=style,
            level=level or attention.level,
            hide_special=hide_special,
            font_size=font_size,
            height=height,
            **options,
        )
        self.query, self.key = query, key

    def _packed(self, attention, norms=None, minus=None) -> dict[str, object]:
        weights, tokens = np.asarray(attention.weights), checked_tokens(attention.tokens)
        keys = getattr(attention, "key_tokens", None)
        n, n_keys = len(tokens), len(tokens if keys is None else keys)
        if weights.ndim != 4 or weights.shape[2:] != (n, n_keys):
            raise ValueError(
                f"{n} tokens need weights of shape (layer, head, {n}, {n_keys}); got {weights.shape}. "
                "Pass what extract_attention returned, or arrays with their tokens."
            )
        if keys is not None and (minus is not None or norms is not None):
            raise ValueError("with cross attention only weights are shown; leave norms and minus out.")
        check_weights(weights, tokens, keys)
        if minus is not None:
            weights = self._less(attention, minus, norms)
        # A small change needs the finer steps, whatever its size.
        bits = self._bits or (16 if minus is not None or weights.size * 2 <= FINE_UP_TO else 8)
        self._zero = 0 if minus is None else 2 ** (bits - 1) - 1  # the step of no change
        self._top = 2**bits - 1 - self._zero - (minus is not None)
        steps = np.rint(np.clip(weights, -1, 1) * self._top) + self._zero
        steps = np.maximum(steps, 0).astype("<u2" if bits == 16 else "u1")
        self._steps = steps
        packed = steps.tobytes()
        packing = "deflate" if len(packed) > PLAIN_UP_TO else "plain"
        return {
            "data": zlib.compress(packed, 6) if packing == "deflate" else packed,
            "shape": list(weights.shape[: 3 if keys is None else 4]),
            "bits": bits,
            "packing": packing,
            "texts": self._texts(attention, minus is not None),
            "difference": minus is not None,
            "badge": _whose(attention, minus) if self._badge is None else self._badge,
            "norms": b"" if norms is None else self._packed_norms(norms, weights.shape[:3], tokens),
        }

    @staticmethod
    def _packed_norms(norms, shape, tokens) -> bytes:
        norms = as_array(norms)
        if norms.shape != shape:
            raise ValueError(
                f"norms have one number per layer, head and token, shape {shape}; got {norms.shape}. "
                "Pass what value_norms returned for the same text."
            )
        wrong = ~np.isfinite(norms) | (norms < 0)
        if wrong.any():
            layer, head, token = np.argwhere(wrong)[0]
            raise ValueError(
                f"norms are lengths, finite and not negative; layer {layer}, head {head}, token {token} "
                f"({tokens[token]!r}) is {norms[layer, head, token]:g}."
            )
        return norms.astype("<f4").tobytes()

    @staticmethod
    def _less(attention, minus, norms) -> np.ndarray:
        check_same_text(attention, minus)
        if norms is not None:
            raise ValueError(
                "norms of a difference are not drawn; leave norms out, or show two views beside each other."
            )
        before = np.asarray(minus.weights)
        check_weights(before, tuple(minus.tokens))
        return np.asarray(attention.weights, dtype=np.float64) - before

    def _texts(self, attention, difference) -> dict[str, dict[str, list]]:
        """Tokens of each level the view can show, which wordpieces make a word, and the largest change of all heads."""

        def rows(level) -> dict[str, object]:
            return {
                "tokens": list(level.tokens),
                "special": [bool(flag) for flag in level.special],
                "segments": [int(segment) for segment in level.segment_ids],
                "groups": None,
            }

        texts = {attention.level: rows(attention)}
        if getattr(attention, "grid", None) is not None:
            texts[attention.level]["in_line"] = False
            return texts
        if getattr(attention, "key_tokens", None) is not None:
            keys = {"tokens": list(attention.key_tokens), "special": list(attention.key_special)}
            texts[attention.level]["keys"] = keys
            return texts
        if attention.level == "wordpiece":
            groups = word_groups(attention.word_ids)
            texts["word"] = {
                **rows(attention.to_words()),
                "groups": [list(map(int, group)) for group in groups],
            }
        if difference:
            for text in texts.values():
                largest = 0.0
                for layer, head in np.ndindex(self._steps.shape[:2]):
                    changes = (self._steps[layer, head].astype(np.float64) - self._zero) / self._top
                    changes = merge_weights(changes, text["groups"]) if text["groups"] else changes
                    largest = max(largest, float(np.abs(changes).max()))
                text["largest"] = largest
        return texts

    def set_attention(self, attention, norms=None, minus=None) -> None:
        """Show another text, keeping the head, the style, the level and the quantity where they still exist."""
        state = self._packed(attention, norms, minus)
        with self.hold_sync(), self.hold_trait_notifications():
            self.take(state)
            self.query = self.key = -1
            self.pair = {}
            if self.level not in self.texts:
                self.level = next(iter(self.texts))
            if not self.norms:
                self.quantity = "weight"

    @traitlets.validate("level")
    def _possible(self, proposal):
        if self.texts and proposal["value"] not in self.texts:
            raise traitlets.TraitError(
                f"this attention is between {next(iter(self.texts))}s, which cannot be taken apart; "
                f"level {proposal['value']!r} needs the attention before to_words()."
            )
        return proposal["value"]

    @traitlets.validate("query", "key")
    def _a_token(self, proposal):
        return -1 if proposal["value"] == -1 else self.check_choice(proposal)

    def limits(self) -> dict[str, int]:
        text = self.texts.get(self.level, {"tokens": ()})
        return super().limits() | {"query": len(text["tokens"]), "key": len(text.get("keys", text)["tokens"])}

    @traitlets.validate("quantity")
    def _known_quantity(self, proposal):
        if proposal["value"] == "norm" and not self.norms:
            raise traitlets.TraitError(
                "this view holds weights alone; pass norms=value_norms(...) for the same text to show norms."
            )
        return proposal["value"]

    @traitlets.validate("level_index", "quantity_index")
    def _by_its_name(self, proposal):
        names, check = {
            "level_index": (LEVELS, self._possible),
            "quantity_index": (QUANTITIES, self._known_quantity),
        }[proposal["trait"].name]
        check({"value": names[proposal["value"]]})
        return proposal["value"]

    @traitlets.observe("style", "level", "quantity", "style_index", "level_index", "quantity_index")
    def _name_and_index(self, change):
        names = {"style": STYLES, "level": LEVELS, "quantity": QUANTITIES}[
            change["name"].removesuffix("_index")
        ]
        if change["name"].endswith("_index"):
            setattr(self, change["name"].removesuffix("_index"), names[change["new"]])
        else:
            setattr(self, f"{change['name']}_index", names.index(change["new"]))
        if change["name"] == "level":
            self.query = self.key = -1  # positions mean something else at the other level

    def weights(self) -> np.ndarray:
        """The weights in view, as the browser draws them: shape (query, key) at the level in view; in a difference the changes."""
        if self.difference:
            return self._at_level(self._whole())
        return np.minimum(self._at_level(self._whole()), 1)  # rounded pieces may add up to a little more

    @property
    def longest(self) -> float:
        """Norm of the longest transformed vector of the head in view, which is drawn at full strength."""
        return float(self._key_norms().max())

    def weighted_norms(self) -> np.ndarray:
        """The weighted norms of the head in view, shape (query, key) at the level in view.

        Raises
        ------
        ValueError
            If the view was made without norms.
        """
        return np.minimum(self._at_level(self._whole() * self._key_norms()[None, :]), self.longest)

    def _whole(self) -> np.ndarray:
        return (self._steps[self.layer, self.head].astype(np.float64) - self._zero) / self._top

    def _key_norms(self) -> np.ndarray:
        if not self.norms:
            raise ValueError("this view holds weights alone; it was made without norms.")
        return np.frombuffer(self.norms, "<f4").reshape(self.shape)[self.layer, self.head].astype(np.float64)

    def _at_level(self, weights) -> np.ndarray:
        groups = self.texts[self.level]["groups"]
        return merge_weights(weights, groups) if groups else weights

    @property
    def unit(self) -> str:
        """What one position is called in a sentence."""
        return "word" if self.level == "word" else "token"

    @property
    def sentence(self) -> str:
        """The caption in view, computed from the data."""
        text = self.texts[self.level]
        tokens, special = text["tokens"], text["special"]
        about = {"head": (self.layer, self.head), "hide_special": self.hide_special, "unit": self.unit}
        keys = self._keys(text)
        if self.quantity == "norm":
            norms = self.weighted_norms()
            if self.query >= 0:
                return describe_token_norms(norms, tokens, self.query, special=special)
            return describe_norms(norms, tokens, longest=self.longest, special=special, **about)
        weights = self.weights()
        if self.difference:
            if self.query >= 0:
                return describe_token_difference(weights, tokens, self.query, special=special)
            return describe_difference(weights, tokens, special=special, **about)
        if self.query >= 0:
            return describe_token(weights, tokens, self.query, special=special, **keys)
        return describe_attention(weights, tokens, special=special, **about, **keys)

    @staticmethod
    def _keys(text) -> dict[str, object]:
        """What a picture must know of attention that is not of one text with itself."""
        if "keys" in text:
            return {"key_tokens": text["keys"]["tokens"], "key_special": text["keys"]["special"]}
        return {"in_line": text["in_line"]} if "in_line" in text else {}

    def picture(self) -> Picture:
        """The view as it stands now: drawn once more."""
        text = self.texts[self.level]
        draw = render_attention_grid if self.style == "grid" else render_attention_lines
        hide = self.hide_special and not all(text["special"]) and not all(text.get("keys", text)["special"])
        drawn = draw(
            self.weights(),
            text["tokens"],
            head=(self.layer, self.head),
            special=text["special"],
            hide_special=hide,
            segment_ids=text["segments"],
            query=self.query if self.query >= 0 else None,
            unit=self.unit,
            **({"direction": "rows"} if self.style == "rows" else {}),
            **(self._keys(text) if self.quantity == "weight" and not self.difference else {}),
            **({"difference": True, "longest": text["largest"]} if self.difference else {}),
            **({"norms": self.weighted_norms(), "longest": self.longest} if self.quantity == "norm" else {}),
        )
        return replace(drawn, caption=self.sentence).with_badge(self.badge)

    def __repr__(self) -> str:
        layers, heads, *_ = self.shape
        count = len(self.texts[self.level]["tokens"])
        return (
            f"HeadView({layers} x {heads} heads, head {head_label(self.layer, self.head)}, "
            f"{count} {self.level}{'s' * (count != 1)}, {self.style}{', norms' * (self.quantity == 'norm')}"
            f"{', after minus before' * self.difference})"
        )
