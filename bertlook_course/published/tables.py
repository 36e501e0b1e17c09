"""What the papers printed, as data: BERT-base's numbers, to be shown beside ours and never mixed with them.

The tables lie in ``data/published``; each row says where its number comes from and how exact it is.
"""

from __future__ import annotations

import csv
from typing import NamedTuple

import numpy as np

from bertlook_teach.disk import data_path

# Our measure -> the quantity of the published tables that is computed in the same way (Clark et al. 2019).
_PER_HEAD = {
    "cls": "attention to [CLS]",
    "sep": "attention to [SEP]",
    "punct": "attention to . or ,",
    "sep_to_sep": "attention [SEP]->[SEP]",
    "other_to_sep": "attention other->[SEP]",
    "entropy_clark": "attention entropy",
}

_GRADIENTS = {
    "sep": "|dL/dalpha| for [SEP]",
    "punct": "|dL/dalpha| for . or ,",
    "all": "|dL/dalpha| for all unmasked tokens",
}

_NORMS = {"cls": "[CLS]", "sep": "[SEP]", "punct": "comma and period", "other": "other"}

_PER_LAYER = {
    **{measure: f"{quantity}, mean over 12 heads" for measure, quantity in _PER_HEAD.items()},
    "entropy_from_cls": "entropy of attention from [CLS], mean over 12 heads",
}


class Published(NamedTuple):
    """One published number. ``layer`` and ``head`` count from 1, as printed; "all" is a mean over heads."""

    analysis: str
    quantity: str
    layer: str
    head: str
    value: str
    unit: str
    source: str
    section: str
    exactness: str
    note: str


def read_published(table: str) -> list[Published]:
    """All rows of a table of ``data/published``, for example ``"clark_layer_series"``.

    Raises
    ------
    FileNotFoundError
        If there is no such table; the message lists them.
    """
    folder = data_path("published")
    path = folder / f"{table}.csv"
    if not path.is_file():
        names = ", ".join(sorted(p.stem for p in folder.glob("*.csv")))
        raise FileNotFoundError(f"there is no published table {table!r}; there are: {names}.")
    with open(path, newline="", encoding="utf-8") as file:
        return [Published(**row) for row in csv.DictReader(file)]


def published_layers(measure: str) -> np.ndarray:
    """BERT-base's mean over the heads of each layer, shape (12,), for a measure of ``surface_measures()``.

    Clark et al. (2019), Figures 2 and 4; the entropy from [CLS] is read off a raster figure, the others are
    recovered from vector drawings (good to about 0.001 of the axis).
    """
    quantity = _lookup(_PER_LAYER, measure)
    return _series("clark_layer_series", quantity)


def published_heads(measure: str) -> np.ndarray:
    """BERT-base's value of every head, shape (layer, head) = (12, 12), from Clark et al. (2019), Figures 2 and 4."""
    quantity = _lookup(_PER_HEAD, measure)
    values = np.full((12, 12), np.nan)
    for row in read_published("clark_fig2_fig4_per_head"):
        if row.quantity == quantity:
            values[int(row.layer) - 1, int(row.head) - 1] = float(row.value)
    return values


def published_gradients(kind: str) -> np.ndarray:
    """BERT-base's mean |dL/dalpha| by layer, shape (12,), for "sep", "punct" or "all" unmasked tokens.

    Clark et al. (2019), Figure 3, recovered from the vector drawing. The unit is arbitrary: compare ratios only.
    """
    quantity = _lookup(_GRADIENTS, kind)
    return _series("clark_layer_series", quantity)


def published_norms(kind: str, *, weights: bool = False) -> np.ndarray:
    """BERT-base's sum of weighted norms, or of weights, over "cls", "sep", "punct" or "other" tokens by layer: shape (12,).

    Kobayashi et al. (2020), Figure 3, read off a raster figure (good to 1 to 3 % of the axis).
    """
    name = "alpha" if weights else "||alpha f(x)||"
    return _series(
        "kobayashi_fig3_layer_series",
        f"sum of {name} over category: {_lookup(_NORMS, kind)}, mean over heads",
    )


def published_norm_share(kind: str, *, weights: bool = False) -> np.ndarray:
    """The share that "cls", "sep", "punct" or "other" has of all these norms, or weights, by layer: shape (12,)."""
    every = sum(published_norms(one, weights=weights) for one in _NORMS)
    return published_norms(kind, weights=weights) / every


def published_number(table: str, quantity: str) -> float:
    """The one number that a table gives for a quantity.

    >>> published_number("kobayashi_tables", "Spearman alpha vs ||f(x)||: [SEP]")
    -0.69
    """
    found = [float(row.value) for row in read_published(table) if row.quantity == quantity]
    if len(found) != 1:
        raise KeyError(
            f"the published table {table!r} has {len(found)} rows for {quantity!r}; one was expected."
        )
    return found[0]


def _series(table: str, quantity: str) -> np.ndarray:
    values = {int(row.layer): float(row.value) for row in read_published(table) if row.quantity == quantity}
    return np.array([values[layer] for layer in range(1, 13)])


def _lookup(table: dict[str, str], measure: str) -> str:
    if measure not in table:
        raise KeyError(f"nothing published is computed like {measure!r}; there is: {', '.join(table)}.")
    return table[measure]


class PublishedMap(NamedTuple):
    """Where Clark et al. (2019) draw each of BERT-base's heads in Figure 6; heads in rows, layer by layer.

    ``points`` has shape (144, 2), in points of the drawing, with arbitrary directions; ``labels`` has shape (12, 12) and the
    names of `bertlook_teach.measures.behaviour_labels`, besides "linguistic"; ``distances`` are those on the map, not in nats.
    """

    points: np.ndarray
    labels: np.ndarray

    @property
    def distances(self) -> np.ndarray:
        return np.sqrt(((self.points[:, None] - self.points[None]) ** 2).sum(axis=-1))

    @property
    def layers(self) -> np.ndarray:
        return np.repeat(np.arange(12), 12)


def published_map() -> PublishedMap:
    """Figure 6 of Clark et al. (2019), recovered from its vector drawing."""
    names = {"CLS": "[CLS]", "SEP": "[SEP]", "prev": "previous"}
    points, labels = np.full((144, 2), np.nan), np.full((12, 12), "", dtype=object)
    for row in read_published("clark_fig6_heads"):
        layer, head = int(row.layer) - 1, int(row.head) - 1
        if row.quantity == "behaviour label":
            labels[layer, head] = names.get(row.value, row.value.partition(":")[0])
        else:
            points[layer * 12 + head, int(row.quantity.startswith("mds y"))] = float(row.value)
    return PublishedMap(points, labels.astype(str))
