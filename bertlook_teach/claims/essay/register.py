"""An essay on trial: eleven claims about what attention does not look at, registered before anything is computed.

The essay (*What Attention Dose Not Look At Is All You Need*, 2021) reads figures of Clark et al. (2019) and tests nothing. Here each of its
claims has a statistic that grows with the evidence for it, a line, and what would refute it. All that is hashed: print
`register_digest` first, compute afterwards, and anybody can see that no line was moved.

One rule for all eleven, see `RULE`: it is that of ``decide(REGISTER, encoder, correct="holm")``. The arithmetic stands in `essay_statistics`, what it is computed from in `essay_evidence`, and what the
published numbers alone can say in `published_hypotheses`.
"""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from dataclasses import replace

from ..claim import FAILS, HOLDS, OPEN, Claim, Claims
from ..lessons.lesson03 import surface
from ..lessons.lesson04 import gradients
from ..verdicts import LEVEL
from .evidence import EVIDENCE
from .statistics import (
    cls_excess,
    direction_follows_class,
    direction_p,
    drift,
    haven_auc,
    insiders_are_narrow,
    looks_p,
    looks_where_it_matters_less,
    loss_spared,
    phases_in_order,
    phases_margin,
    phases_p,
    segments_respected,
    syntax_in_the_middle,
    syntax_p,
)

ESSAY = "What Attention Dose Not Look At Is All You Need, 2021"

BY_DOCUMENT = "Registered for sentences; where a treebank names 40 documents or more, whole documents choose and report."  # since the lock

LOCKED_HOME = "bertlook_teach.essay_statistics"  # where the statistics stood when the register was locked

SUPPORTED, REFUTED, UNDECIDED = "supported", "refuted", "cannot be decided"
LABELS = {HOLDS: SUPPORTED, FAILS: REFUTED, OPEN: UNDECIDED}  # how the essay's tables call a verdict

RULE = (
    f"Supported: the one-sided p is below {LEVEL} after Holm's correction over all registered claims, and the random twin does not come "
    "into the interval. Refuted: the one-sided p of the opposite, that the statistic lies below its line, is below the same level after "
    "the same correction. Otherwise: cannot be decided. A claim that cannot be tested counts among those corrected for, with p = 1. "
    "Lines: 0 for correlations, orders and margins, one half for an AUC; for amounts the smallest that is worth a sentence."
)

claim = Claims("13", EVIDENCE | {"surface": surface, "importance": gradients}, source=ESSAY)

claim(
    key="insiders-narrow",
    title="1 insiders are narrow",
    sentence="Words that hold a sentence together (the, be, to) have narrow attention, because their relation is constant",
    section="claim 1",
    operational="minus the partial rank correlation, over word types with log frequency held fixed, of a word's constancy (share of its commonest relation and side) with the entropy of its row; median over layers; types drawn again",
    refuted_if="the correlation is 0 or positive in most layers",
    evidence="13 insiders",
    statistic=insiders_are_narrow,
)
claim(
    key="cls-hunter",
    title="2 [CLS] is a hunter",
    sentence="[CLS] hunts: in the last layers its attention is broader than that of other tokens",
    section="claim 2",
    operational="entropy of [CLS]'s rows minus that of all rows, nats; the smaller of the deep layers (11-12 of 12); texts drawn again",
    refuted_if="the difference is .05 nats (the reading error of the published curve) or less there",
    evidence="surface",
    threshold=0.05,
    remark="Whether next-sentence prediction is the reason needs a model trained without it.",
    statistic=cls_excess,
)
claim(
    key="sep-haven",
    title="3 [SEP] is a haven",
    sentence="[SEP] is a haven for tokens to which a head's function does not apply",
    section="claim 3",
    operational="AUC of attention to [SEP] for 'takes no part in the relation', over the heads that find obj, det, nmod:poss, aux:pass or case better than a fixed distance; chosen on the other half; sentences drawn again",
    refuted_if="the AUC is one half or less",
    evidence="13 relations",
    threshold=0.5,
    control=False,
    remark=f"{BY_DOCUMENT} By sentences it stayed undecided on the specimen of that day: there a rare relation, aux:pass, came in with a head of its own.",
    statistic=haven_auc,
)
claim(
    key="haven-empty",
    title="4 havens carry nothing",
    sentence="What tokens take from [SEP] carries nothing",
    section="claim 4",
    operational="1 - |change of the masked-LM loss without [SEP]'s values in layers 5-10 of 12| / |the same without another token's|; texts drawn again",
    refuted_if="the loss changes as much as without another token's values",
    evidence="13 zeroed losses",
    statistic=loss_spared,
)
claim(
    key="drifters",
    title="5 drifters drive deep layers",
    sentence="Full stops, commas and [MASK] drive the deep layers",
    section="claim 5",
    operational="ln of sum_j |alpha dL/dalpha| in the rows of unmasked . and , over that of the nearest words, masked inputs, deep layers; texts drawn again",
    refuted_if="the rows of . and , weigh no more than a twentieth above their neighbours'; then what is left is [MASK], where the loss is defined",
    evidence="13 drifters",
    threshold=0.05,
    statistic=drift,
)
claim(
    key="deep-clauses",
    title="6 deep heads respect clauses",
    sentence="Deep heads respect finer segments, from one mark to the next",
    section="claim 6",
    operational="attention inside the clause that ends with . or , minus the same with the boundaries moved (clause lengths in another order); deep layers; texts drawn again",
    refuted_if="the excess is a hundredth of the attention or less",
    evidence="13 clauses",
    threshold=0.01,
    statistic=segments_respected,
)
claim(
    key="three-phases",
    title="7 three phases",
    sentence="The layers form three phases, which end after layers 4 and 10 of 12",
    section="claim 7",
    operational="share of the sum of squares of the layers' shares of [CLS], [SEP], marks and the rest that these cuts explain, minus that of the best other cuts; texts drawn again; and p against shuffled layers",
    refuted_if="other cuts explain more",
    evidence="surface",
    remark="Shuffled layers are a weak null: a smooth slope beats them, too.",
    null=phases_p,
    statistic=phases_margin,
)
claim(
    key="looks-where-it-matters-less",
    title="8 looks where it matters less",
    sentence="Attention to [SEP] and its importance are negatively related",
    section="claim 8",
    operational="minus the rank correlation over heads, each minus its layer's mean, of weight and |dL/dalpha| on [SEP]; texts drawn again; and p with the heads shuffled within layers",
    refuted_if="the correlation is 0 or positive",
    evidence="importance",
    remark="dL/dalpha = g . v: read it beside the correlation with the norm of v held fixed. The essay says all special tokens; only [SEP] has published numbers that show it.",
    null=looks_p,
    statistic=looks_where_it_matters_less,
)
claim(
    key="insider-dependents",
    title="9 because they are insiders",
    sentence="Dependents look at their governors because dependents are insiders",
    section="claim 9",
    operational="rank correlation over relations of (best head read by rows - best head read by columns) with the share of function words among the dependents; chosen on the other half, sentences drawn again; and p with the relations shuffled",
    refuted_if="no such correlation, or the gain is as large for objects, subjects and adjectives",
    evidence="13 relations",
    remark=f"There is a simpler reason: a dependent has one governor, a governor many dependents. {BY_DOCUMENT}",
    null=direction_p,
    statistic=direction_follows_class,
)
claim(
    key="syntax-in-the-middle",
    title="10 the middle knows syntax",
    sentence="Layers 4-9 of 12 specialise in syntax",
    section="claim 10",
    operational="share of relations whose best head lies there, minus the same with each relation's distances shuffled; sentences drawn again; and p against the shuffles",
    refuted_if="no more best heads there than with shuffled distances",
    evidence="13 relations",
    remark=f"Relations share heads, so they are not independent; the shuffles keep that. {BY_DOCUMENT}",
    null=syntax_p,
    statistic=syntax_in_the_middle,
)
claim(
    key="phases-learn",
    title="11 phases learn in order",
    sentence="The phases learn word classes, then relations, then fine segments",
    section="claim 11",
    operational="expected layers of cumulative probes, as shares of the depth: the smaller step of the order word class, relation, end of a clause; each must gain .02 of F1 from all layers; documents drawn again",
    refuted_if="another order",
    evidence="13 phases",
    control=False,
    statistic=phases_in_order,
)

REGISTER: tuple[Claim, ...] = tuple(claim)


def register_digest(register: Sequence[Claim] | None = None) -> str:
    """A hash of every sentence, statistic, line and refuting condition, and of the rule. There is no time in it.

    >>> register_digest() == register_digest(REGISTER)
    True
    """
    register = REGISTER if register is None else register
    text = "\n".join("\t".join(_registered(number, one)) for number, one in enumerate(register, 1))
    return hashlib.sha256(f"{RULE}\n{text}".encode()).hexdigest()


def _registered(number: int, one: Claim) -> list[str]:
    """What the digest is made of: all that decides."""
    tests = [f"{LOCKED_HOME}.{f.__qualname__}" if f else "none" for f in (one.statistic, one.null)]
    said = [
        str(number),
        one.sentence,
        one.operational,
        one.refuted_if,
        repr(float(one.threshold)),
        one.evidence,
    ]
    return [*said, *tests, str(not one.control)]


def moved(one: Claim, threshold: float) -> Claim:
    """The same with another line: what the digest exists to betray."""
    return replace(one, threshold=threshold)
