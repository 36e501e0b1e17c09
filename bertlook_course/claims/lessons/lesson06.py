"""Lesson 06: what its claims are decided on: heads and offsets against the relations of Table 1 of Clark et al. (2019).

Scored on a treebank in the Stanford scheme of the paper, converted from Universal Dependencies. The best head, its
direction and the best offset are chosen on one half of the documents and measured on the other; on one half of the sentences where there
are so few documents that fewer than ``FEWEST_REPORTING`` would report.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator

import numpy as np

from ...analyses.syntax import (
    OFFSETS,
    Answers,
    RelationTable,
    collect_answers,
    gold_cases,
    in_scheme,
    offset_answers,
    score_relations,
)
from ...metrics import CannotDecide
from ...published import published_table_1
from ...storage import cached
from ..evidence import Resources, evidence
from ..verdicts import treebank_units

# The rows of Table 1 besides "all".
RELATIONS = tuple(relation for relation in published_table_1() if relation != "all")


# --- evidence ------------------------------------------------------------------------------------------
@evidence("relations", version=2, unit="documents")
def relations(encoder, resources) -> Iterator[dict[str, np.ndarray]]:
    """For each document and relation: cases, right answers of every head in both directions, and of every offset."""
    return relation_evidence(collect_answers(encoder, resources.treebank))


def shown_answers(encoder, treebank) -> Answers:
    """What every head answers for the sentences that a deck shows: as it ships, or collected here and kept."""
    place = {id(sentence): i for i, sentence in enumerate(treebank)}

    def out(found: Answers) -> dict:
        read = np.array([place[id(sentence)] for sentence in found.sentences])
        return {
            "distances": found.distances,
            "read": read,
            "skipped": dict(found.skipped),
            "removed": found.removed,
            "about": found.about,
        }

    def back(kept: dict) -> Answers:
        sentences = [treebank[i] for i in kept["read"]]
        return Answers(kept["distances"], sentences, Counter(kept["skipped"]), kept["removed"], kept["about"])

    key = (encoder, Resources(treebank=treebank).digest)
    return cached(
        "06 answers", key, lambda: collect_answers(encoder, treebank), version=1, out=out, back=back
    )


def shown_relations(answers: Answers, twin_answers: Answers, scheme: str) -> RelationTable:
    """`score_relations` of them, with its p-values."""
    key = (
        answers.about["fingerprint"],
        twin_answers.about["fingerprint"],
        scheme,
        Resources(treebank=answers.sentences).digest,
    )
    return cached(
        "06 relations",
        key,
        lambda: score_relations(answers, scheme=scheme, twin=twin_answers, min_cases=10),
        version=1,
    )


def relation_evidence(answers: Answers) -> Iterator[dict[str, np.ndarray]]:
    """The same from answers that were collected before. A relation that a document has not is left out of its dict."""
    trees = in_scheme(answers.sentences, "stanford")
    if not any(set(tree.relations) & {"det", "prep", "dobj"} for tree in trees):
        raise CannotDecide("the treebank has none of the English relations of Table 1")
    gold, offsets = gold_cases(trees, "possessive"), offset_answers(trees, OFFSETS)
    cases = gold.cases(count_root=False)
    units = treebank_units(answers.sentences)
    of_word = units[gold.sentences]
    for number in range(units.max() + 1):
        row = {}
        for name in ("all", *RELATIONS):
            words = cases.get(name, np.array([], int))
            words = words[of_word[words] == number]
            if len(words):
                row |= _counts(name, answers.distances, offsets, gold, words)
        yield row


def _counts(name, distances, offsets, gold, words) -> dict[str, np.ndarray]:
    source = gold.answering[words]
    target = gold.distances[words] + words - source  # from the word that answers
    return {
        f"{name} cases": np.float64(len(words)),
        f"{name} right": (distances[source] == target[:, None, None, None]).sum(0).astype(float),
        f"{name} offsets": (offsets[source] == target[:, None]).sum(0).astype(float),
    }


EVIDENCE = {"relations": relations}
