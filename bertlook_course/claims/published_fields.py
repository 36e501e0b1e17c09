"""What a claim's published value is filled with: numbers of ``data/published``, by name.

``"{layers[sep].max:.3f}, layer {layers[sep].highest}"`` asks the function `layers` of this module for ``sep`` and prints two of its
attributes. A field is read, never run: a function of this module, what it takes in brackets, one attribute, and Python's own format.
"""

from __future__ import annotations

import inspect
import re
from dataclasses import dataclass
from functools import cache
from string import Formatter
from typing import NamedTuple

import numpy as np

from bertlook_teach.model import head_label

from ..published import (
    published_head_f1,
    published_layers,
    published_map,
    published_mean_f1,
    published_norm_share,
    published_number,
    published_probing,
    published_table_1,
    published_table_2,
    read_published,
)
from .essay.published import measure_published
from .statistics import closer, nearest_minus_chance

_FIELD = re.compile(r"([a-z]\w*)(?:\[(.*)\])?(?:\.([a-z]\w*))?", re.ASCII)


def fill(text: str) -> str:
    """The text with its fields filled.

    Raises
    ------
    ValueError
        If a field names no function of this module, or one that does not take what stands in the brackets; the message lists the functions.

    Examples
    --------
    >>> fill("{layers[sep].max:.3f}, layer {layers[sep].highest}")
    '0.570, layer 9'
    >>> fill("printed")
    'printed'
    """
    return _Fields().vformat(text, (), {})


@dataclass(frozen=True)
class FilledText:
    """A text whose fields are filled when it is asked for."""

    text: str

    def __call__(self) -> str:
        return fill(self.text)


class _Fields(Formatter):
    def get_field(self, field_name, args, kwargs):
        name, taken, attribute = (_FIELD.fullmatch(field_name) or _FIELD.fullmatch("no_such_field")).groups()
        function = _functions().get(name)
        if function is None:
            raise ValueError(
                f"a published value is filled with {', '.join(_functions())}; got {{{field_name}}}."
            )
        try:
            found = function(*(part.strip() for part in taken.split(",")) if taken else ())
            return (getattr(found, attribute) if attribute else found), name
        except (TypeError, KeyError, AttributeError, StopIteration) as reason:
            raise ValueError(f"the published value {{{field_name}}} cannot be filled: {reason}.") from None


@cache
def _functions() -> dict:
    return {
        name: function
        for name, function in globals().items()
        if inspect.isfunction(function)
        and function.__module__ == __name__
        and not name.startswith("_")
        and function is not fill
    }


class Two(NamedTuple):
    """Two published numbers in one unit."""

    first: float
    second: float

    @property
    def ahead(self) -> float:
        return self.first - self.second

    @property
    def ahead_share(self) -> float:
        """Of two percentages, as a share."""
        return self.ahead / 100


class Layers(NamedTuple):
    """Means of layers."""

    values: np.ndarray

    @property
    def max(self) -> float:
        return self.values.max()

    @property
    def highest(self) -> int:
        """Counted from 1."""
        return int(self.values.argmax()) + 1


class Share(NamedTuple):
    """So many of so many."""

    count: int
    of: int

    @property
    def share(self) -> float:
        return self.count / self.of


class Head(NamedTuple):
    """A head with its number."""

    value: float
    label: str


class SepShare(NamedTuple):
    """Share of [SEP] by weight and by weighted norm, in the layer that gives it most, counted from 1."""

    weight: float
    norm: float
    layer: int

    @property
    def lost(self) -> float:
        return self.weight - self.norm


class Range(NamedTuple):
    """The mean of some tasks, the smallest and the largest of them."""

    mean: float
    low: float
    high: float


def layers(measure: str) -> Layers:
    """Clark et al. (2019), Figures 2 and 4: a measure of each layer."""
    return Layers(published_layers(measure))


def neighbour_head(direction: str) -> Head:
    """Clark et al. (2019), 3.1: the head that looks most at the ``next`` or ``previous`` token."""
    wanted = f"average attention to {direction} token"
    rows = [row for row in read_published("clark_relative_position") if row.quantity == wanted and row.head]
    best = max(rows, key=lambda row: float(row.value))
    return Head(float(best.value), head_label(int(best.layer) - 1, int(best.head) - 1))


def largest_to_self() -> float:
    """Clark et al. (2019), 3.1: the most that a head gives the token itself."""
    wanted = "largest average attention to current token in layer"
    return max(
        float(row.value) for row in read_published("clark_relative_position") if row.quantity == wanted
    )


def sep_share() -> SepShare:
    """Kobayashi et al. (2020), Figure 3."""
    by_weight, by_norm = (published_norm_share("sep", weights=weights) for weights in (True, False))
    layer = int(by_weight.argmax())
    return SepShare(by_weight[layer], by_norm[layer], layer + 1)


def map_class(name: str) -> Range:
    """Kovaleva et al. (2019), Figure 2: share of a class of maps over the seven tasks."""
    from bertlook_teach.measures import CLASSES

    from ..analyses.anatomy import published_fractions

    table = {task: shares[CLASSES.index(name)] for task, shares in published_fractions().items()}
    tasks = [share for task, share in table.items() if task != "mean"]
    return Range(table["mean"], min(tasks), max(tasks))


def relation(name: str) -> Two:
    """Clark et al. (2019), Table 1: accuracy of the best head and of the best offset, per cent."""
    row = published_table_1()[name]
    return Two(row.accuracy, row.baseline)


def relation_head(name: str) -> Head:
    """Clark et al. (2019), Table 1: the best head for a relation, and its accuracy as a share."""
    row = published_table_1()[name]
    return Head(row.accuracy / 100, row.head)


def antecedents(first: str, second: str, kind: str) -> Two:
    """Clark et al. (2019), Table 2: accuracies of two predictors for one kind of mention, per cent."""
    return Two(*(getattr(published_table_2()[name], kind) for name in (first, second)))


def probes(first: str, second: str) -> Two:
    """Clark et al. (2019), Table 3: UAS of two probes, per cent."""
    return Two(*(published_number("clark_table3_probes", name) for name in (first, second)))


def layers_closer_on_map() -> float:
    """Clark et al. (2019), Figure 6."""
    return closer(published_map().distances, published_map().layers)


def nearest_on_map() -> float:
    """Clark et al. (2019), Figure 6."""
    return nearest_minus_chance(published_map().distances, 12, 12)


def heads_on_sep() -> Share:
    """Clark et al. (2019), Figure 6: heads labelled [SEP]."""
    labels = published_map().labels
    return Share(int((labels == "[SEP]").sum()), labels.size)


def task_f1(name: str) -> Two:
    """Tenney, Das and Pavlick (2019), BERT-base: F1 with all layers and with the embeddings alone, per cent."""
    f1 = published_probing("BERT-base")[name].f1
    return Two(f1[-1], f1[0])


def number(table: str, quantity: str) -> float:
    """The one number that a table gives for a quantity."""
    return published_number(table, quantity)


def essay(key: str) -> float:
    """The statistic of a claim of the essay on BERT-base's published numbers."""
    return measure_published(f"13-{key}").value


def mean_cue_f1(first: str, second: str) -> Two:
    """Zhao and Bethard (2020): mean F1 over heads in two conditions."""
    return Two(published_mean_f1(first), published_mean_f1(second))


def best_cue_f1(condition: str) -> float:
    """Zhao and Bethard (2020): F1 of the best of 144 heads."""
    return published_head_f1(condition).max()
