"""Lesson 07: what its claims are decided on: heads and three rules against the mentions of a treebank.

One input of the evidence is one document. The head is chosen once, for all kinds of mention, as Table 2 of Clark et al. (2019) shows one head in all columns.
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from ...analyses.coreference import BASELINES, CANDIDATES, Antecedents, find_antecedents
from ...corpora import KINDS, coreference_documents
from ...metrics import CannotDecide
from ...storage import cached, digest
from ..evidence import evidence


# --- evidence ------------------------------------------------------------------------------------------
@evidence("antecedents", version=1, unit="documents")
def antecedents(encoder, resources) -> Iterator[dict[str, np.ndarray]]:
    """For each document and kind of mention: cases, and right answers of every head and every rule."""
    documents = coreference_documents(resources.treebank)
    if not any(len({m.cluster for m in d.mentions}) < len(d.mentions) for d in documents):
        raise CannotDecide("the treebank has no mentions that refer back (Entity= in its last column)")
    return antecedent_evidence(find_antecedents(encoder, documents))


LONGEST = 128  # wordpieces of a part: what the paper and docs/results.md cut texts to, and all that the specimen reads


def shown_antecedents(encoder, documents) -> Antecedents:
    """What every head and rule names in the documents that a deck shows: as it ships, or found here and kept."""
    key = (encoder, digest(*map(repr, documents)))
    return cached(
        "07 antecedents", key, lambda: find_antecedents(encoder, documents, max_tokens=LONGEST), version=1
    )


def antecedent_evidence(found: Antecedents) -> Iterator[dict[str, np.ndarray]]:
    """The same from answers that were found before. A document leaves out the kinds it does not have."""
    kinds = np.array(found.kinds)
    for number in range(found.n_documents):
        row = {}
        for kind in ("all", *KINDS):
            here = (found.documents == number) & ((kinds == kind) | (kind == "all"))
            if not here.any():
                continue
            row[f"{kind} cases"] = np.float64(here.sum())
            for name in CANDIDATES:
                row[f"{kind} {name}"] = found.heads[name][here].sum(axis=0).astype(float)
            for name in BASELINES:
                row[f"{kind} {name}"] = np.float64(found.rules[name][here].sum())
        yield row


EVIDENCE = {"antecedents": antecedents}
