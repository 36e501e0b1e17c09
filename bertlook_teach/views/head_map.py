"""A map of all heads, coloured by any measure; choosing a cell chooses a head."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass

import anywidget
import numpy as np
import traitlets

from ..model import Attention, head_label
from .assets import module_source, style_source
from .chosen_head import ChosenHead
from .drawing.head_map import difference_range, render_head_map, value_range
from .drawing.inputs import checked_values, given_attention
from .drawing.pictures import Picture

Measure = Callable[[object], np.ndarray]


@dataclass(frozen=True)
class MenuMeasure:
    """A measure as data, so that a page without Python can take it too, of a text typed there (`ruleOf` in the press's traits.js).

    ``rule`` is ``"offset"`` with the distance of the key, ``"to"`` with a kind of token as `token_masks` names it, or ``"entropy"``.
    """

    rule: str
    of: int | str | None = None

    def __call__(self, attention) -> np.ndarray:
        from ..measures import surface

        if self.rule == "offset":
            return surface.offset_attention(attention, self.of)
        if self.rule == "to":
            return surface.special_token_attention(attention, self.of)
        if self.rule == "entropy":
            return surface.attention_entropy(attention)
        raise ValueError(
            f"a measure of the menu is an 'offset', 'to' a kind of token, or 'entropy'; got {self.rule!r}."
        )

    def has_meaning(self, attention) -> bool:
        """Whether this attention has such a number: no next token in a decoder, no neighbours among the patches of an image, no place in
        one text where queries and keys are two, no [CLS] or [SEP] where there is none."""
        from ..measures import surface

        if self.rule == "offset":
            apart = attention.key_tokens is not None or (self.of != 0 and attention.grid is not None)
            return not apart and not (self.of > 0 and attention.causal)
        return self.rule != "to" or bool(surface.token_masks(attention)[self.of].any())


# The menu of a head map, here and in a page; a measure of these kinds needs only its line.
MENU = {
    "to the previous token": MenuMeasure("offset", -1),
    "to the next token": MenuMeasure("offset", 1),
    "to itself": MenuMeasure("offset", 0),
    "to [CLS]": MenuMeasure("to", "cls"),
    "to [SEP]": MenuMeasure("to", "sep"),
    "entropy (nats)": MenuMeasure("entropy"),
}


def default_measures(attention=None) -> dict[str, Measure]:
    """Where heads look on average over the tokens, each with its unit in its name; of an ``attention`` those that have a meaning there."""
    return {name: one for name, one in MENU.items() if attention is None or one.has_meaning(attention)}


def page_rules(measures: Mapping[str, object]) -> dict[str, list]:
    """What a page takes the named measures by: those of the menu, as JSON."""
    return {name: [one.rule, one.of] for name, one in measures.items() if isinstance(one, MenuMeasure)}


class HeadMap(ChosenHead, anywidget.AnyWidget):
    """One number per head: a row per layer, a column per head. Click a cell, or move with the arrow keys.

    Parameters
    ----------
    values : array of shape (layer, head), or mapping of name to such arrays
        What measures return. With several, the map shows a menu of their names. Or attention, as `Attention.from_arrays` takes it,
        with its tokens: then the map shows where each head looks.
    tokens, key_tokens : sequence of str, optional
        With attention only.
    grid : (int, int), optional
        As in `HeadView`.
    layer, head : int
        The chosen head, counted from 0.
    measure : str, optional
        The name shown first.
    name : str
        What the number is, when ``values`` is one array; with its unit.
    ranges : mapping of name to (low, high), optional
        Values drawn palest and darkest; by default 0 (or the smallest, if negative) and the largest.
    minus : like ``values``, optional
        The same measures before a change: the map then shows ``values`` less ``minus``, more in blue and less in brown, each cell with
        its sign, from minus to plus the largest size.
    badge : str
        Which model this is, as a part of the picture: the ``badge`` of a recording.
    font_size, height : float
        In pixels; 0 follows the page's text size, and the size of the map.

    Attributes
    ----------
    layer, head : int
        Follow what is chosen in the browser.
    measure : str
    value : float
        The number of the chosen head.

    Raises
    ------
    ValueError
        If values do not have shape (layer, head), differ in shape, or hold NaN; if ``minus`` has other measures or another shape.
    traitlets.TraitError
        If a layer, head or measure is set that is not there.
    """

    _esm = module_source("head_map")
    _css = style_source()

    # The choice. Linked with other views in the browser, reported to Python.
    measure = traitlets.Unicode("").tag(sync=True)

    # The numbers: float32, little-endian, (measure, layer, head). They are printed, so they stay exact.
    data = traitlets.Bytes(b"").tag(sync=True)
    shape = traitlets.List(traitlets.Int(), [1, 1]).tag(sync=True)
    measures = traitlets.List(traitlets.Unicode(), []).tag(sync=True)
    ranges = traitlets.List([]).tag(sync=True)
    difference = traitlets.Bool(False).tag(sync=True)
    badge = traitlets.Unicode("").tag(sync=True)
    pair = traitlets.Dict({}).tag(sync=True)  # a HeadView's: shown in place of the measure

    height = traitlets.Float(0).tag(sync=True)

    def __init__(
        self,
        values,
        tokens=None,
        *,
        key_tokens=None,
        grid: tuple[int, int] | None = None,
        layer: int = 0,
        head: int = 0,
        measure: str | None = None,
        name: str = "value",
        ranges: Mapping[str, tuple[float, float]] | None = None,
        minus=None,
        badge: str = "",
        font_size: float = 0,
        height: float = 0,
        **options,
    ):
        if tokens is not None or grid is not None or isinstance(values, Attention):
            attention = given_attention(values, tokens, key_tokens, grid)
            values = {name: take(attention) for name, take in default_measures(attention).items()}
        state = self._packed(values, name, ranges or {}, minus)
        measure = state["measures"][0] if measure is None else measure
        super().__init__(
            layer=layer,
            head=head,
            measure=measure,
            badge=badge,
            font_size=font_size,
            height=height,
            **state,
            **options,
        )

    def _packed(self, values, name, ranges, minus=None) -> dict[str, object]:
        if hasattr(values, "columns"):
            raise TypeError(
                "a head map takes arrays of shape (layer, head), and a table was given. Of a profile, give profile.mean('previous'); of a "
                "table with one row for each head, table['previous'].to_numpy().reshape(layers, heads)."
            )
        named = dict(values) if isinstance(values, Mapping) else {name: values}
        if not named:
            raise ValueError("a head map needs at least one measure; got none.")
        self._values = {str(key): checked_values(numbers).astype("<f4") for key, numbers in named.items()}
        shapes = {key: numbers.shape for key, numbers in self._values.items()}
        if len(set(shapes.values())) > 1:
            raise ValueError(f"all measures of one map need the same shape (layer, head); got {shapes}.")
        if minus is not None:
            self._values = _less(self._values, minus, name)
        scale = value_range if minus is None else difference_range
        if unknown := sorted(set(ranges) - set(self._values)):
            raise ValueError(f"ranges name measures that are not there: {unknown}; there are {list(shapes)}.")
        if odd := [key for key, ends in ranges.items() if np.shape(ends) != (2,)]:
            raise ValueError(f"a range is two numbers, (low, high); {odd[0]!r} has {ranges[odd[0]]!r:.40}.")
        return {
            "data": np.stack(list(self._values.values())).tobytes(),
            "shape": list(next(iter(shapes.values()))),
            "measures": list(self._values),
            "ranges": [list(scale(v, *ranges.get(key, (None, None)))) for key, v in self._values.items()],
            "difference": minus is not None,
        }

    def set_values(self, values, *, name: str = "value", ranges=None, minus=None) -> None:
        """Show other numbers of the same heads, keeping the choice where it still exists."""
        state = self._packed(values, name, ranges or {}, minus)
        with self.hold_sync(), self.hold_trait_notifications():
            self.take(state)
            if self.measure not in self.measures:
                self.measure = self.measures[0]

    def _shown(self) -> tuple[str, np.ndarray]:
        """Name and numbers in view."""
        if self.pair:
            return self.pair["name"], np.array(self.pair["values"], dtype=float)
        return self.measure, self._values[self.measure]

    @property
    def value(self) -> float:
        """The number of the chosen head."""
        return float(self._shown()[1][self.layer, self.head])

    @traitlets.validate("measure")
    def _known(self, proposal):
        if self.measures and proposal["value"] not in self.measures:
            raise traitlets.TraitError(
                f"no measure {proposal['value']!r} in this map; there are {', '.join(self.measures)}."
            )
        return proposal["value"]

    def picture(self) -> Picture:
        """The map as it stands now."""
        name, values = self._shown()
        low, high = (None, None) if self.pair else self.ranges[self.measures.index(name)]
        about = {"title": name, "selected": (self.layer, self.head), "difference": self.difference}
        return render_head_map(values, vmin=low, vmax=high, **about).with_badge(self.badge)

    def __repr__(self) -> str:
        layers, heads = self.shape
        less = ", after minus before" if self.difference else ""
        return f"HeadMap({layers} x {heads} heads, {self.measure}{less}, head {head_label(self.layer, self.head)})"


def _less(values: dict, minus, name: str) -> dict:
    """Every measure less the same before the change."""
    before = dict(minus) if isinstance(minus, Mapping) else {name: minus}
    before = {str(key): checked_values(numbers).astype("<f4") for key, numbers in before.items()}
    if set(before) != set(values):
        raise ValueError(
            f"a difference needs the same measures on both sides; got {', '.join(values)} minus {', '.join(before)}."
        )
    for key, numbers in values.items():
        if before[key].shape != numbers.shape:
            raise ValueError(
                f"a difference needs models of one shape; {key!r} has (layer, head) = {numbers.shape} minus {before[key].shape}."
            )
    return {key: (numbers - before[key]).astype("<f4") for key, numbers in values.items()}
