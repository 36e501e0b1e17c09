"""An essay on trial: eleven claims about what attention does not look at, registered before anything is computed.

The essay (*What Attention Dose Not Look At Is All You Need*, 2021) reads figures of Clark et al. (2019) and tests nothing. Here each of its
claims has a statistic that grows with the evidence for it, a line, and what would refute it. All that is hashed: print
`register_digest` first, compute afterwards, and anybody can see that no line was moved.

One rule for all eleven, see `RULE`. The arithmetic stands in `essay_statistics`, what it is computed from in `essay_evidence`, and what the
published numbers alone can say in `published_hypotheses`.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np

from . import essay_statistics as statistics
from .claims import CannotDecide, Claim, Evidence, Resources, Values, collect_evidence, measure
from .head_tests import holm

__all__ = [
    "ESSAY",
    "LEVEL",
    "OPEN",
    "REFUTED",
    "REGISTER",
    "RULE",
    "SUPPORTED",
    "Hypothesis",
    "Outcome",
    "Tried",
    "outcome_rows",
    "register_digest",
    "settle",
    "try_claim",
    "try_hypotheses",
]

ESSAY = "What Attention Dose Not Look At Is All You Need, 2021"
LEVEL = 0.05
SUPPORTED, REFUTED, OPEN = "supported", "refuted", "cannot be decided"
RULE = (
    f"Supported: the one-sided p is below {LEVEL} after Holm's correction over all registered claims, and the random twin does not come "
    "into the interval. Refuted: the one-sided p of the opposite, that the statistic lies below its line, is below the same level after "
    "the same correction. Otherwise: cannot be decided. A claim that cannot be tested counts among those corrected for, with p = 1. "
    "Lines: 0 for correlations, orders and margins, one half for an AUC; for amounts the smallest that is worth a sentence."
)
Null = Callable[[Values, Values], tuple[float, float]]


@dataclass(frozen=True)
class Hypothesis:
    """One claim of the essay, registered.

    Attributes
    ----------
    number : int
        As in the essay's list, from 1.
    name : str
        Short, for tables.
    sentence : str
        What the essay claims, in our words.
    measured : str
        The statistic, in words, and what is drawn again for its interval.
    refuted_if : str
    line : float
        The statistic speaks for the claim above it, against it below.
    evidence : str
        Name of a collector, see `bertlook_teach.claims.collect_evidence`.
    statistic : function of (values, choice) -> float
    null : function of (values, choice) -> (p, smallest p that is possible), optional
        A second, exact or permutation p that must be small as well: what the interval over inputs cannot say.
    remark : str
        What to know when one reads the outcome.
    twin_may_lack : bool
        Whether a random twin that has nothing to be asked about (no head that finds a relation, no probe that learns from layers) is
        control enough.
    """

    number: int
    name: str
    sentence: str
    measured: str
    refuted_if: str
    line: float
    evidence: str
    statistic: Callable[[Values, Values], float]
    null: Null | None = None
    remark: str = ""
    twin_may_lack: bool = False

    def __post_init__(self):
        for field in ("name", "sentence", "measured", "refuted_if", "evidence"):
            if not getattr(self, field).strip():
                raise ValueError(
                    f"hypothesis {self.number} has no {field}; it must be there before anything is computed."
                )
        if not np.isfinite(self.line):
            raise ValueError(f"hypothesis {self.number}: the line must be a number; got {self.line}.")

    @property
    def registered(self) -> tuple[str, ...]:
        """What the digest is made of: all that decides."""
        tests = [f"{f.__module__}.{f.__qualname__}" if f else "none" for f in (self.statistic, self.null)]
        return (
            str(self.number), self.sentence, self.measured, self.refuted_if, repr(float(self.line)), self.evidence, *tests,
            str(self.twin_may_lack),
        )  # fmt: skip

    def as_claim(
        self, key: str, published: str | Callable[[], str] = "", exactness: str = "", **about
    ) -> Claim:
        """The same as a claim of the ledger, of lesson 13."""
        return Claim(
            key,
            "13",
            self.sentence,
            about.pop("source", ESSAY),
            about.pop("section", f"claim {self.number}"),
            published,
            exactness,
            about.pop("operational", self.measured),
            self.refuted_if,
            self.evidence,
            self.statistic,
            self.line,
            **{"control": not self.twin_may_lack} | about,
        )


def register_digest(register: Sequence[Hypothesis] | None = None) -> str:
    """A hash of every sentence, statistic, line and refuting condition, and of the rule. There is no time in it.

    >>> register_digest() == register_digest(REGISTER)
    True
    """
    register = REGISTER if register is None else register
    text = "\n".join("\t".join(hypothesis.registered) for hypothesis in register)
    return hashlib.sha256(f"{RULE}\n{text}".encode()).hexdigest()


REGISTER: tuple[Hypothesis, ...] = (
    Hypothesis(
        1,
        "insiders are narrow",
        "Words that hold a sentence together (the, be, to) have narrow attention, because their relation is constant",
        "minus the partial rank correlation, over word types with log frequency held fixed, of a word's constancy (share of its commonest relation and side) with the entropy of its row; median over layers; types drawn again",
        "the correlation is 0 or positive in most layers",
        0.0,
        "13 insiders",
        statistics.insiders_are_narrow,
    ),
    Hypothesis(
        2,
        "[CLS] is a hunter",
        "[CLS] hunts: in the last layers its attention is broader than that of other tokens",
        "entropy of [CLS]'s rows minus that of all rows, nats; the smaller of the deep layers (11-12 of 12); texts drawn again",
        "the difference is .05 nats (the reading error of the published curve) or less there",
        0.05,
        "surface",
        statistics.cls_excess,
        remark="Whether next-sentence prediction is the reason needs a model trained without it.",
    ),
    Hypothesis(
        3,
        "[SEP] is a haven",
        "[SEP] is a haven for tokens to which a head's function does not apply",
        "AUC of attention to [SEP] for 'takes no part in the relation', over the heads that find obj, det, nmod:poss, aux:pass or case better than a fixed distance; chosen on the other half; sentences drawn again",
        "the AUC is one half or less",
        0.5,
        "13 relations",
        statistics.haven_auc,
        twin_may_lack=True,
    ),
    Hypothesis(
        4,
        "havens carry nothing",
        "What tokens take from [SEP] carries nothing",
        "1 - |change of the masked-LM loss without [SEP]'s values in layers 5-10 of 12| / |the same without another token's|; texts drawn again",
        "the loss changes as much as without another token's values",
        0.0,
        "13 zeroed losses",
        statistics.loss_spared,
    ),
    Hypothesis(
        5,
        "drifters drive deep layers",
        "Full stops, commas and [MASK] drive the deep layers",
        "ln of sum_j |alpha dL/dalpha| in the rows of unmasked . and , over that of the nearest words, masked inputs, deep layers; texts drawn again",
        "the rows of . and , weigh no more than a twentieth above their neighbours'; then what is left is [MASK], where the loss is defined",
        0.05,
        "13 drifters",
        statistics.drift,
    ),
    Hypothesis(
        6,
        "deep heads respect clauses",
        "Deep heads respect finer segments, from one mark to the next",
        "attention inside the clause that ends with . or , minus the same with the boundaries moved (clause lengths in another order); deep layers; texts drawn again",
        "the excess is a hundredth of the attention or less",
        0.01,
        "13 clauses",
        statistics.segments_respected,
    ),
    Hypothesis(
        7,
        "three phases",
        "The layers form three phases, which end after layers 4 and 10 of 12",
        "share of the sum of squares of the layers' shares of [CLS], [SEP], marks and the rest that these cuts explain, minus that of the best other cuts; texts drawn again; and p against shuffled layers",
        "other cuts explain more",
        0.0,
        "surface",
        statistics.phases_margin,
        statistics.phases_p,
        remark="Shuffled layers are a weak null: a smooth slope beats them, too.",
    ),
    Hypothesis(
        8,
        "looks where it matters less",
        "Attention to [SEP] and its importance are negatively related",
        "minus the rank correlation over heads, each minus its layer's mean, of weight and |dL/dalpha| on [SEP]; texts drawn again; and p with the heads shuffled within layers",
        "the correlation is 0 or positive",
        0.0,
        "importance",
        statistics.looks_where_it_matters_less,
        statistics.looks_p,
        remark="dL/dalpha = g . v: read it beside the correlation with the norm of v held fixed. The essay says all special tokens; only [SEP] has published numbers that show it.",
    ),
    Hypothesis(
        9,
        "because they are insiders",
        "Dependents look at their governors because dependents are insiders",
        "rank correlation over relations of (best head read by rows - best head read by columns) with the share of function words among the dependents; chosen on the other half, sentences drawn again; and p with the relations shuffled",
        "no such correlation, or the gain is as large for objects, subjects and adjectives",
        0.0,
        "13 relations",
        statistics.direction_follows_class,
        statistics.direction_p,
        remark="There is a simpler reason: a dependent has one governor, a governor many dependents.",
    ),
    Hypothesis(
        10,
        "the middle knows syntax",
        "Layers 4-9 of 12 specialise in syntax",
        "share of relations whose best head lies there, minus the same with each relation's distances shuffled; sentences drawn again; and p against the shuffles",
        "no more best heads there than with shuffled distances",
        0.0,
        "13 relations",
        statistics.syntax_in_the_middle,
        statistics.syntax_p,
        remark="Relations share heads, so they are not independent; the shuffles keep that.",
    ),
    Hypothesis(
        11,
        "phases learn in order",
        "The phases learn word classes, then relations, then fine segments",
        "expected layers of cumulative probes, as shares of the depth: the smaller step of the order word class, relation, end of a clause; each must gain .02 of F1 from all layers; documents drawn again",
        "another order",
        0.0,
        "13 phases",
        statistics.phases_in_order,
        twin_may_lack=True,
    ),
)


# --- trying ----------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Tried:
    """A claim's numbers on one model, before the correction.

    ``p`` is one-sided, for the claim; ``against`` the p of the opposite; ``floor`` the smallest p that was possible. Without numbers
    there is only ``why``, and both p are 1.
    """

    hypothesis: Hypothesis
    value: float = float("nan")
    low: float = float("nan")
    high: float = float("nan")
    n: int = 0
    p: float = 1.0
    against: float = 1.0
    floor: float = 0.0
    why: str = ""


@dataclass(frozen=True)
class Outcome:
    """A claim decided.

    Attributes
    ----------
    tried : Tried
    p, against : float
        After Holm's correction over all registered claims.
    twin : Tried or None
        The random twin's numbers.
    verdict : str
        ``SUPPORTED``, ``REFUTED`` or ``OPEN``.
    why : str
    """

    tried: Tried
    p: float
    against: float
    twin: Tried | None
    verdict: str
    why: str

    @property
    def hypothesis(self) -> Hypothesis:
        return self.tried.hypothesis

    def __repr__(self) -> str:
        t = self.tried
        numbers = (
            "" if np.isnan(t.value) else f" {t.value:+.3f} [{t.low:+.3f}, {t.high:+.3f}], p = {self.p:.3f}:"
        )
        return f"Outcome({t.hypothesis.number} {t.hypothesis.name}:{numbers} {self.verdict})"


def try_claim(hypothesis: Hypothesis, evidence: Evidence | CannotDecide) -> Tried:
    """One claim's statistic with its interval and both one-sided p-values, from evidence that was collected.

    Inputs with even index choose, those with odd index report and are drawn again. p counts the samples on the wrong side of the
    line, 1 added above and below; where the hypothesis has a ``null``, the larger of the two p counts.
    """
    found = measure(hypothesis.as_claim("13-trial"), evidence)
    if found.reason:
        return Tried(hypothesis, why=found.reason)
    drawn = found.replicates[np.isfinite(found.replicates)]
    p = (1 + (drawn <= hypothesis.line).sum()) / (1 + len(drawn))
    against = (1 + (drawn >= hypothesis.line).sum()) / (1 + len(drawn))
    floor = 1 / (1 + len(drawn))
    if hypothesis.null is not None:
        try:
            second, smallest = hypothesis.null(*_halves(evidence))
        except CannotDecide as reason:
            return Tried(hypothesis, why=str(reason))
        p, floor = max(p, second), max(floor, smallest)
    return Tried(
        hypothesis, found.value, found.low, found.high, found.n, float(p), float(against), float(floor)
    )


def _halves(evidence: Evidence) -> tuple[dict, dict]:
    """Means over the inputs that report, and over those that choose."""

    def means(parity: int) -> dict:
        chosen = {
            name: values[evidence.inputs[name] % 2 == parity] for name, values in evidence.values.items()
        }
        return {name: values.mean(axis=0) for name, values in chosen.items() if len(values)}

    return means(1), means(0)


def settle(tried: Sequence[Tried], twins: Sequence[Tried] | None = None) -> list[Outcome]:
    """Correct for having tried so many, and give each claim its verdict by `RULE`.

    Parameters
    ----------
    tried : sequence of Tried
        All registered claims, those without numbers too.
    twins : sequence of Tried, optional
        The same on the random twin. Published numbers have none.

    Raises
    ------
    ValueError
        If the twins are of other claims.
    """
    if twins is not None and [t.hypothesis for t in twins] != [t.hypothesis for t in tried]:
        raise ValueError("the twin must have been tried on the same claims, in the same order.")
    corrected, against = (holm([getattr(t, name) for t in tried]) for name in ("p", "against"))
    others = [None] * len(tried) if twins is None else twins
    return [
        Outcome(one, float(p), float(q), twin, *_verdict(one, p, q, twin, len(tried)))
        for one, p, q, twin in zip(tried, corrected, against, others)
    ]


def _verdict(one: Tried, p: float, against: float, twin: Tried | None, n_claims: int) -> tuple[str, str]:
    if one.why:
        return OPEN, one.why
    if against < LEVEL:
        return REFUTED, f"the opposite has p = {against:.3f} after correction"
    if p >= LEVEL:
        if one.floor * n_claims >= LEVEL and one.floor > 0.01:
            return OPEN, f"no result could have p below {one.floor:.2f} here: there is too little to shuffle"
        if one.low > one.hypothesis.line:
            return OPEN, f"the interval is above the line, but p = {one.p:.3f}, {p:.3f} after correction"
        return OPEN, "the interval includes the line"
    if twin is not None and twin.why and not one.hypothesis.twin_may_lack:
        return OPEN, f"the random twin gives no control: {twin.why}"
    if twin is not None and not twin.why and twin.high >= one.low:
        return OPEN, "the random twin reaches it too"
    return SUPPORTED, f"p = {p:.3f} after correction"


def try_hypotheses(
    encoder,
    *,
    twin=None,
    resources: Resources | None = None,
    register: Sequence[Hypothesis] | None = None,
    progress: Callable[[Iterable, str], Iterable] | None = None,
) -> list[Outcome]:
    """All registered claims on one model, beside its random twin.

    Parameters
    ----------
    encoder : Encoder
    twin : Encoder, optional
        Default: ``random_twin(encoder)``.
    resources : Resources, optional
        Pairs of paragraphs and a treebank. Default: all that is shipped.
    register : sequence of Hypothesis, optional
        Default: `REGISTER`. What is left out is not corrected for.
    progress : function(stream, label), optional

    Returns
    -------
    list of Outcome, in the order of the register
    """
    if twin is None:
        from .encoder import random_twin

        twin = random_twin(encoder)
    register = REGISTER if register is None else tuple(register)
    resources = Resources() if resources is None else resources
    sides = []
    for model in (encoder, twin):
        found: Mapping[str, Evidence | CannotDecide] = {
            name: _collected(name, model, resources, progress) for name in {h.evidence: 0 for h in register}
        }
        sides.append([try_claim(hypothesis, found[hypothesis.evidence]) for hypothesis in register])
    return settle(*sides)


def _collected(name, model, resources, progress) -> Evidence | CannotDecide:
    try:
        return collect_evidence(name, model, resources, progress=progress)
    except CannotDecide as reason:
        return reason


def outcome_rows(outcomes: Sequence[Outcome]) -> list[dict]:
    """A plain dict for each outcome, for a table or a file (`bertlook_teach.report.save_rows`)."""
    rows = []
    for outcome in outcomes:
        tried, twin = outcome.tried, outcome.twin
        number = {name: _number(getattr(tried, name)) for name in ("value", "low", "high")}
        rows.append(
            {"claim": tried.hypothesis.number, "name": tried.hypothesis.name, **number, "line": tried.hypothesis.line, "n": tried.n}
            | {"p": outcome.p, "p against": outcome.against, "twin": _number(twin.value) if twin else None}
            | {"verdict": outcome.verdict, "why": outcome.why}
        )  # fmt: skip
    return rows


def _number(value: float) -> float | None:
    return None if np.isnan(value) else float(value)


def without(hypothesis: Hypothesis, why: str) -> Tried:
    """A claim about which there are no numbers, and why."""
    if not why.strip():
        raise ValueError("a claim that is not tried needs a reason.")
    return Tried(hypothesis, why=why)


def moved(hypothesis: Hypothesis, line: float) -> Hypothesis:
    """The same with another line: what the digest exists to betray."""
    return replace(hypothesis, line=line)
