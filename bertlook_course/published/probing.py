"""Edge probing as published (Tenney et al. 2019): F1 of every cumulative probe, expected layers, centres of gravity.

BERT-base has 12 layers, BERT-large 24. Their layer numbers are not interchangeable, so each call returns one
model; the two are never mixed.
"""

from __future__ import annotations

from functools import cache
from typing import NamedTuple

import numpy as np

from .tables import Published, read_published

DEPTHS = {"BERT-base": 12, "BERT-large": 24}

# In the order of Figure 1, with the names of the other tables: curves, weights.
PROBING_TASKS = {
    "POS": ("POS", "POS"),
    "Constituents": ("Constituents", "Consts"),
    "Dependencies": ("Dependencies", "Deps"),
    "Entities": ("Entities", "Entities"),
    "SRL": ("SRL", "SRL"),
    "Coreference": ("Coreference", "Coref"),
    "SPR": ("SPR1", "SPR"),
    "Relations": ("Relations SemEval", "Relations"),
}


class PublishedProbing(NamedTuple):
    """One task of one model. Layers count as printed, 0 is the embeddings; NaN, or None, where nothing was found.

    ``f1`` holds P(0) .. P(L) in per cent, from the released data, shape (L + 1,). ``expected``, ``delta_bits``, ``centre`` and
    ``mixing_bits`` are printed for BERT-large; for BERT-base they are derived from, or output of, the released data. ``weights`` is the
    mix, shape (L + 1,), for BERT-large only.
    """

    model: str
    task: str
    f1: np.ndarray
    expected: float
    delta_bits: float
    centre: float
    mixing_bits: float
    weights: np.ndarray | None


@cache
def published_probing(model: str) -> dict[str, PublishedProbing]:
    """Task -> row, in the order of the paper's Figure 1, for one model.

    Parameters
    ----------
    model : {"BERT-base", "BERT-large"}

    Raises
    ------
    ValueError
        For another name.
    """
    if model not in DEPTHS:
        raise ValueError(
            f"model must be one of {', '.join(DEPTHS)}; got {model!r}. The two have different depths and are never mixed."
        )
    return {task: _row(model, task, *names) for task, names in PROBING_TASKS.items()}


def _row(model: str, task: str, curve: str, mix: str) -> PublishedProbing:
    def one(quantity: str) -> float:
        # "later rerun" stands in the quantity of what is not the published value, so it is not found here.
        found = [
            float(r.value)
            for r in _of("tenney_summary", model)
            if r.quantity == f"{model} {task}: {quantity}"
        ]
        return found[0] if found else float("nan")

    f1 = _series("tenney_cumulative_f1_by_layer", model, f"{curve}: cumulative-probe F1 using layers 0..l")
    weights = _series("tenney_mixing_weights", model, f"{mix}: scalar mixing weight")
    return PublishedProbing(
        model,
        task,
        f1,
        one("expected layer"),
        one("K(delta)"),
        one("centre of gravity"),
        one("K(s)"),
        weights,
    )


def _of(table: str, model: str) -> list[Published]:
    return [row for row in read_published(table) if row.quantity.startswith(f"{model} ")]


def _series(table: str, model: str, quantity: str) -> np.ndarray | None:
    values = {int(r.layer): float(r.value) for r in _of(table, model) if r.quantity == f"{model} {quantity}"}
    return np.array([values[layer] for layer in range(DEPTHS[model] + 1)]) if values else None
