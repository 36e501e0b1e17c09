"""What the papers printed, as data: BERT-base's numbers, to be shown beside ours and never mixed with them.

The tables lie in ``data/published``; each row says where its number comes from and how exact it is.
"""

from __future__ import annotations

import csv
from typing import NamedTuple

import numpy as np

from ._paths import data_path

# Our measure -> the quantity of the published tables that is computed in the same way (Clark et al. 2019).
_PER_HEAD = {
    "cls": "attention to [CLS]",
    "sep": "attention to [SEP]",
    "punct": "attention to . or ,",
    "sep_to_sep": "attention [SEP]->[SEP]",
    "other_to_sep": "attention other->[SEP]",
    "entropy_clark": "attention entropy",
}
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
    values = {
        int(row.layer): float(row.value)
        for row in read_published("clark_layer_series")
        if row.quantity == quantity
    }
    return np.array([values[layer] for layer in range(1, 13)])


def published_heads(measure: str) -> np.ndarray:
    """BERT-base's value of every head, shape (layer, head) = (12, 12), from Clark et al. (2019), Figures 2 and 4."""
    quantity = _lookup(_PER_HEAD, measure)
    values = np.full((12, 12), np.nan)
    for row in read_published("clark_fig2_fig4_per_head"):
        if row.quantity == quantity:
            values[int(row.layer) - 1, int(row.head) - 1] = float(row.value)
    return values


def _lookup(table: dict[str, str], measure: str) -> str:
    if measure not in table:
        raise KeyError(f"nothing published is computed like {measure!r}; there is: {', '.join(table)}.")
    return table[measure]
