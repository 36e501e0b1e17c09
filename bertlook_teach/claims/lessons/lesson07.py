"""Lesson 07: heads that find antecedents. Clark et al. (2019), section 4.3 and Table 2: a head against three rules.

Mentions of a treebank with coreference; one input of the evidence is one document. The head is chosen once, for all kinds of
mention, as Table 2 shows one head in all columns.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import numpy as np

from ...analyses.coreference import BASELINES, CANDIDATES, Antecedents, find_antecedents
from ...corpora import KINDS, coreference_documents
from ...model import parse_head_label
from ...published import published_table_2
from ...stats import CannotDecide
from ..claim import Claims
from ..evidence import evidence

CLARK, RETOLD = "Clark et al. 2019", "Popular accounts"

WORTH_A_SENTENCE = 0.02  # a predictor is better than another from two points on

NAMED = "5-4"

SHAPE = (12, 12)  # of the model in which that head was found


# --- evidence ------------------------------------------------------------------------------------------
@evidence("antecedents", version=1)
def antecedents(encoder, resources) -> Iterator[dict[str, np.ndarray]]:
    """For each document and kind of mention: cases, and right answers of every head and every rule."""
    documents = coreference_documents(resources.treebank)
    if not any(len({m.cluster for m in d.mentions}) < len(d.mentions) for d in documents):
        raise CannotDecide("the treebank has no mentions that refer back (Entity= in its last column)")
    return antecedent_evidence(find_antecedents(encoder, documents))


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


# --- statistics ----------------------------------------------------------------------------------------
def accuracy(values, predictor: str, kind: str = "all") -> np.ndarray:
    """Right answers by cases; the means' denominators cancel, since both count the same documents."""
    return values[f"{kind} {predictor}"] / values[f"{kind} cases"]


def head(values, choice, kind: str = "all", candidates: str = "mentions") -> float:
    """The accuracy of the head that was best for all mentions on the documents that choose."""
    best = int(accuracy(choice, candidates).argmax())
    return float(accuracy(values, candidates, kind).flat[best])


def ahead_of(rule: str, kind: str = "all", candidates: str = "mentions"):
    """Best head minus a rule."""
    return lambda values, choice: head(values, choice, kind, candidates) - float(accuracy(values, rule, kind))


def behind(rule: str, kind: str = "all"):
    """A rule minus the best head."""
    return lambda values, choice: -ahead_of(rule, kind)(values, choice)


def rule_gain(better: str, worse: str):
    return lambda values, choice: float(accuracy(values, better) - accuracy(values, worse))


def kinds_apart(easy: Sequence[str], hard: Sequence[str]):
    """Best head on the hardest of the easy kinds minus on the easiest of the hard ones."""
    return lambda values, choice: (
        min(head(values, choice, kind) for kind in easy) - max(head(values, choice, kind) for kind in hard)
    )


# --- the claims ----------------------------------------------------------------------------------------
def _ahead(first: str, second: str, kind: str = "all", times: int = 1) -> dict:
    """The published accuracy of one predictor minus ``times`` that of another, as a share, and both in per cent: fields of a claim."""

    def both() -> tuple[float, float]:
        table = published_table_2()
        return getattr(table[first], kind), getattr(table[second], kind)

    return {
        "published": lambda: f"{(both()[0] - times * both()[1]) / 100:+.2f}",
        "original": lambda: "{:.0f} against {:.0f} %".format(*both()),
    }


def _apart(easy: Sequence[str], hard: Sequence[str]) -> dict:
    """The same of the published best head's kinds: the hardest of the easy ones minus the easiest of the hard ones."""

    def of(kind: str) -> float:
        return getattr(published_table_2()["best head"], kind)

    return {
        "published": lambda: f"{(min(map(of, easy)) - max(map(of, hard))) / 100:+.2f}",
        "original": lambda: f"{', '.join(f'{kind} {of(kind):.0f}' for kind in (*hard, *easy))} %",
    }


_OF = {"all": "all mentions", "pronoun": "pronouns", "proper": "names", "nominal": "nominals"}

_RULES = {"nearest": "the nearest mention", "head match": "head match"}


EVIDENCE = {"antecedents": antecedents}


claim = Claims("07", EVIDENCE, source=CLARK, evidence="antecedents", section="4.3, Table 2", exactness="D")


for kind, of in _OF.items():
    for rule, called in _RULES.items():
        claim(
            key=f"{kind}-beats-{rule.replace(' ', '-')}",
            sentence=f"A head finds antecedents{'' if kind == 'all' else f' of {of}'} better than {called}",
            **_ahead("best head", rule, kind),
            operational=f"{of}: accuracy of the best head minus that of {called}",
            refuted_if="the rule is as good, within two points",
            threshold=WORTH_A_SENTENCE,
            statistic=ahead_of(rule, kind),
        )
for kind, of in _OF.items():
    claim(
        key=f"{kind}-behind-sieves",
        sentence=f"Four rules in a row beat the best head: {of}",
        **_ahead("four sieves", "best head", kind),
        operational=f"{of}: accuracy of four sieves minus that of the best head (a random twin's is behind too, and so no control)",
        refuted_if="the head is as good, or better",
        control=False,
        statistic=behind("four sieves", kind),
    )
claim(
    key="match-beats-nearest",
    sentence="The same word is a better hint than the nearest mention",
    **_ahead("head match", "nearest"),
    operational="accuracy of head match minus that of nearest (rules only: the same for the twin, which is not a control)",
    refuted_if="head match is not better, within two points",
    threshold=WORTH_A_SENTENCE,
    control=False,
    statistic=rule_gain("head match", "nearest"),
)
claim(
    key="sieves-beat-match",
    sentence="Four rules in a row beat the same word alone",
    **_ahead("four sieves", "head match"),
    operational="accuracy of four sieves minus that of head match (rules only: the same for the twin, which is not a control)",
    refuted_if="the sieves are not better, within two points",
    threshold=WORTH_A_SENTENCE,
    control=False,
    statistic=rule_gain("four sieves", "head match"),
)


@claim(
    key="twice-nearest",
    sentence="A head finds twice as many as a baseline",
    source=RETOLD,
    **_ahead("best head", "nearest", times=2),
    operational="accuracy of the best head minus twice that of nearest",
    refuted_if="it finds less than twice as many",
    erratum="true of the weakest of three baselines; the others, 52 and 69, are left out",
)
def twice_nearest(values, choice) -> float:
    return head(values, choice) - 2 * float(accuracy(values, "nearest"))


claim(
    key="nominals-hardest",
    sentence="Nominals are the hardest for the head",
    **_apart(("pronoun", "proper"), ("nominal",)),
    operational="the best head's accuracy: the lower of pronouns and names, minus nominals",
    refuted_if="pronouns or names are as hard, within two points",
    threshold=WORTH_A_SENTENCE,
    statistic=kinds_apart(("pronoun", "proper"), ("nominal",)),
)
claim(
    key="names-easiest",
    sentence="Names are the easiest for the head",
    **_apart(("proper",), ("pronoun", "nominal")),
    operational="the best head's accuracy: names minus the higher of pronouns and nominals",
    refuted_if="another kind is as easy, within two points",
    threshold=WORTH_A_SENTENCE,
    statistic=kinds_apart(("proper",), ("pronoun", "nominal")),
)
claim(
    key="open-beats-nearest",
    sentence="It finds them among all words, too",
    **_ahead("best head", "nearest"),
    operational="the head may name any other word: its accuracy minus that of the nearest mention",
    refuted_if="the nearest mention is as good, within two points",
    threshold=WORTH_A_SENTENCE,
    erratum="among which words the published head chose is not stated",
    statistic=ahead_of("nearest", candidates="open"),
)


@claim(
    key="5-4",
    sentence=f"Head {NAMED} finds antecedents",
    section="4.3, Table 2 and Figure 5",
    **_ahead("best head", "head match"),
    operational=f"accuracy of head {NAMED} minus that of head match, in a model of {SHAPE[0]} x {SHAPE[1]} heads",
    refuted_if="head match is as good, within two points",
    threshold=WORTH_A_SENTENCE,
)
def named_head(values, choice) -> float:
    found = accuracy(values, "mentions")
    if found.shape != SHAPE:
        layers, heads = found.shape
        raise CannotDecide(
            f"a name in BERT-base, {SHAPE[0]} x {SHAPE[1]} heads; this model has {layers} x {heads}"
        )
    return float(found[parse_head_label(NAMED)] - accuracy(values, "head match"))


CLAIMS = tuple(claim)
