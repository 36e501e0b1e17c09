"""Lesson 13: what attention does not look at. An essay of 2021, each of its eleven claims put to the test, and two guesses of our own.

The eleven come from the register of `bertlook_teach.claims.essay.register`: same statistic, same line. The ledger decides each by itself, by its interval;
the lesson's table of outcomes (``decide(REGISTER, encoder, correct="holm")``) also corrects for having tried eleven, and asks the second p where a claim has one.
"""

from __future__ import annotations

from dataclasses import replace
from functools import partial

from ...analyses.patterns import key, query
from ..essay.evidence import EVIDENCE as ESSAY_EVIDENCE
from ..essay.register import REGISTER
from ..evidence import Resources
from ..from_patterns import claim_of

N_PAIRS, N_SENTENCES = 40, 320  # what a class has time for

# What decides, short enough for a slide; the register says it in full.
SHORT = {
    "13-insiders-narrow": "- partial rank correlation of constancy and entropy over word types, median of the layers",
    "13-cls-hunter": "entropy from [CLS] minus that of all rows, the smaller of the deep layers, nats",
    "13-sep-haven": "AUC of attention to [SEP] for words outside the relation, over heads that find it",
    "13-haven-empty": "1 - change of the loss without [SEP]'s values / without another token's",
    "13-drifters": "ln of |alpha gradient| in the rows of . and , over their neighbours'",
    "13-deep-clauses": "attention inside the clause minus inside moved boundaries, deep layers",
    "13-three-phases": "what the essay's cuts explain minus what the best others explain",
    "13-looks-where-it-matters-less": "- rank correlation of weight and gradient on [SEP], heads within layers",
    "13-insider-dependents": "rank correlation of (by rows - by columns) with the share of function words, over relations",
    "13-syntax-in-the-middle": "share of best heads in layers 4-9 of 12, minus that with shuffled distances",
    "13-phases-learn": "smaller step of the order word classes, relations, clause ends, share of the depth",
}


def _published(key: str) -> str:
    from ..essay.published import try_published

    return next(f"{verdict.value:+.2f}" for verdict in try_published() if verdict.claim.key == key)


# Published statistics that are the register's own, or its stated substitute; the others have none.
PUBLISHED = {
    "13-cls-hunter": "A",
    "13-three-phases": "V",
    "13-looks-where-it-matters-less": "D",
    "13-insider-dependents": "D",
    "13-syntax-in-the-middle": "D",
}

ERRATA = {
    "13-three-phases": "as good as its cuts are, a straight slope is explained nearly as well",
    "13-looks-where-it-matters-less": "the essay says so of all special tokens; the figures show it of [SEP] alone",
}

# Two guesses in the pattern language, as a class may write them.
DETERMINER = query.pos("DET") & key.governor()

ADJECTIVE = query.pos("ADJ") & key.governor()

WORTH_A_SENTENCE = 0.02

CLAIMS = (
    *(
        replace(
            one,
            operational=SHORT[one.key],
            published=partial(_published, one.key) if one.key in PUBLISHED else "",
            exactness=PUBLISHED.get(one.key, ""),
            erratum=ERRATA.get(one.key, ""),
        )
        for one in REGISTER
    ),
    claim_of(
        DETERMINER,
        key="13-own-determiners",
        sentence="Determiners look at their governor",
        source="This course",
        threshold=WORTH_A_SENTENCE,
    ),
    claim_of(
        ADJECTIVE,
        key="13-own-adjectives",
        sentence="Adjectives look at their governor",
        source="This course",
        threshold=WORTH_A_SENTENCE,
    ),
)

EVIDENCE = ESSAY_EVIDENCE | {claim.evidence: claim.collect for claim in CLAIMS[len(REGISTER) :]}


def class_resources() -> Resources:
    """As many texts and sentences as a lesson has time for; the ledger's command takes all."""
    from ...corpora import load_pairs, load_treebank

    return Resources(pairs=load_pairs()[:N_PAIRS], treebank=load_treebank()[:N_SENTENCES])
