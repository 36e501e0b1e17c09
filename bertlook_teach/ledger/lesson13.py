"""Lesson 13: what attention does not look at. An essay of 2021, each of its eleven claims put to the test, and two guesses of our own.

The eleven come from the register of `bertlook_teach.hypotheses`: same statistic, same line. The ledger decides each by itself, by its interval;
the lesson's outcome table also corrects for having tried eleven, and asks the second p where a claim has one.
"""

from __future__ import annotations

from collections.abc import Callable

from ..claims import Resources
from ..essay_evidence import EVIDENCE as ESSAY_EVIDENCE
from ..hypotheses import REGISTER
from ..pattern_language import key, query

N_PAIRS, N_SENTENCES = 40, 320  # what a class has time for

KEYS = {
    1: "insiders-narrow",
    2: "cls-hunter",
    3: "sep-haven",
    4: "haven-empty",
    5: "drifters",
    6: "deep-clauses",
    7: "three-phases",
    8: "looks-where-it-matters-less",
    9: "insider-dependents",
    10: "syntax-in-the-middle",
    11: "phases-learn",
}
# What decides, short enough for a slide; the register says it in full.
SHORT = {
    1: "- partial rank correlation of constancy and entropy over word types, median of the layers",
    2: "entropy from [CLS] minus that of all rows, the smaller of the deep layers, nats",
    3: "AUC of attention to [SEP] for words outside the relation, over heads that find it",
    4: "1 - change of the loss without [SEP]'s values / without another token's",
    5: "ln of |alpha gradient| in the rows of . and , over their neighbours'",
    6: "attention inside the clause minus inside moved boundaries, deep layers",
    7: "what the essay's cuts explain minus what the best others explain",
    8: "- rank correlation of weight and gradient on [SEP], heads within layers",
    9: "rank correlation of (by rows - by columns) with the share of function words, over relations",
    10: "share of best heads in layers 4-9 of 12, minus that with shuffled distances",
    11: "smaller step of the order word classes, relations, clause ends, share of the depth",
}


def _published(number: int) -> Callable[[], str]:
    def text() -> str:
        from ..published_hypotheses import try_published

        return f"{try_published()[number - 1].tried.value:+.2f}"

    return text


# Published statistics that are the register's own, or its stated substitute; the others have none.
PUBLISHED = {2: "A", 7: "V", 8: "D", 9: "D", 10: "D"}
ERRATA = {
    7: "as good as its cuts are, a straight slope is explained nearly as well",
    8: "the essay says so of all special tokens; the figures show it of [SEP] alone",
}

# Two guesses in the pattern language, as a class may write them.
DETERMINER = query.pos("DET") & key.governor()
ADJECTIVE = query.pos("ADJ") & key.governor()
WORTH_A_SENTENCE = 0.02

CLAIMS = (
    *(
        hypothesis.as_claim(
            f"13-{KEYS[hypothesis.number]}",
            _published(hypothesis.number) if hypothesis.number in PUBLISHED else "",
            PUBLISHED.get(hypothesis.number, ""),
            operational=SHORT[hypothesis.number],
            erratum=ERRATA.get(hypothesis.number, ""),
        )
        for hypothesis in REGISTER
    ),
    DETERMINER.as_claim(
        "13-own-determiners",
        "13",
        "Determiners look at their governor",
        "This course",
        WORTH_A_SENTENCE,
    ),
    ADJECTIVE.as_claim(
        "13-own-adjectives",
        "13",
        "Adjectives look at their governor",
        "This course",
        WORTH_A_SENTENCE,
    ),
)

EVIDENCE = {**ESSAY_EVIDENCE, **DETERMINER.evidence(), **ADJECTIVE.evidence()}


def class_resources() -> Resources:
    """As many texts and sentences as a lesson has time for; the ledger's command takes all."""
    from ..corpora import load_pairs, load_treebank

    return Resources(pairs=load_pairs()[:N_PAIRS], treebank=load_treebank()[:N_SENTENCES])
