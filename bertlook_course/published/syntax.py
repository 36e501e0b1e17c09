"""Table 1 of Clark et al. (2019) as printed, with the output of the authors' code beside it: BERT-base, WSJ, Stanford scheme."""

from __future__ import annotations

import re
from functools import cache
from typing import NamedTuple

from .tables import read_published

AUXPASS = (
    "printed 82.5 against 40.5; the authors' code gives 94.1 against 82.5, and 40.5 is the baseline of cop"
)

# Both directions are told apart only in the notes: in pobj the preposition looks at its object.
GOVERNOR_LOOKS = {"pobj"}


class PublishedRelation(NamedTuple):
    """One row of Table 1. Numbers in per cent, as printed; ``head`` is the printed label.

    ``accuracy`` and ``baseline`` are as printed, ``code_accuracy`` and ``code_baseline`` what the authors' released notebook
    prints. ``n`` counts cases in the notebook; None for the row over all relations.
    """

    relation: str
    head: str
    accuracy: float
    baseline: float
    offset: int
    governor_looks: bool
    code_accuracy: float
    code_baseline: float
    n: int | None
    erratum: str

    @property
    def direction(self) -> str:
        return "g>d" if self.governor_looks else "d>g"


@cache
def published_table_1() -> dict[str, PublishedRelation]:
    """Relation -> row, in the order of the paper; "all" first."""
    printed, code = _values("clark_table1_dependency"), _values("clark_notebook_dependency_all_relations")
    rows = {}
    for name, found in printed.items():
        relation = name.lower()
        theirs = code[relation]
        rows[relation] = PublishedRelation(
            relation=relation,
            head=found["head"],
            accuracy=found["accuracy of best head"],
            baseline=found["best fixed-offset baseline"],
            offset=int(found["best offset"]),
            governor_looks=relation in GOVERNOR_LOOKS,
            code_accuracy=theirs["accuracy of best head"],
            code_baseline=theirs["best fixed-offset baseline"],
            n=int(theirs["dev occurrences"]) if "dev occurrences" in theirs else None,
            erratum=AUXPASS if relation == "auxpass" else "",
        )
    return rows


def _values(table: str) -> dict[str, dict]:
    """Relation -> quantity -> number, and the head's label."""
    found: dict[str, dict] = {}
    for row in read_published(table):
        named = re.fullmatch(r"(\w+): (.+)", row.quantity)
        if named:
            relation, quantity = named.groups()
            values = found.setdefault(relation, {})
            values[quantity] = float(row.value)
            if quantity == "accuracy of best head":
                values["head"] = f"{row.layer}-{row.head}"
    return found
