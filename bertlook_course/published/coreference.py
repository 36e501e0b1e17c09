"""Table 2 of Clark et al. (2019) as printed: antecedents found by head 5-4 of BERT-base and by its rivals, on CoNLL-2012."""

from __future__ import annotations

import re
from functools import cache
from typing import NamedTuple

from .tables import read_published

# Printed name -> the name of our predictor, in the order of the table.
PREDICTORS = {
    "nearest": "nearest",
    "head match": "head match",
    "rule-based": "four sieves",
    "neural system": "neural system",
    "attention head": "best head",
}


class PublishedAntecedents(NamedTuple):
    """One row of Table 2, in per cent; None where nothing was printed. ``head`` is the printed label, or empty."""

    predictor: str
    all: float
    pronoun: float | None
    proper: float | None
    nominal: float | None
    head: str
    note: str


@cache
def published_table_2() -> dict[str, PublishedAntecedents]:
    """Predictor -> row: nearest, head match, four sieves, neural system, best head."""
    found: dict[str, dict] = {}
    for row in read_published("clark_table2_coreference"):
        predictor, kind = re.fullmatch(r"(.+): antecedent accuracy, (\w+)", row.quantity).groups()
        values = found.setdefault(PREDICTORS[predictor], {"note": "", "head": ""})
        values[kind] = float(row.value)
        values["note"] = values["note"] or row.note
        if row.head:
            values["head"] = f"{row.layer}-{row.head}"
    return {
        name: PublishedAntecedents(
            name,
            *(found[name].get(kind) for kind in ("all", "pronoun", "proper", "nominal")),
            found[name]["head"],
            found[name]["note"],
        )
        for name in PREDICTORS.values()
    }
