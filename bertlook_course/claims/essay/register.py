"""An essay on trial: eleven claims about what attention does not look at, registered before anything is computed.

The essay (*What Attention Dose Not Look At Is All You Need*, 2021) reads figures of Clark et al. (2019) and tests nothing. In ``lesson13.toml`` each of its
claims has a statistic that grows with the evidence for it, a line, and what would refute it. All that is hashed: print
`register_digest` first, compute afterwards, and anybody can see that no line was moved.

One rule for all eleven, see `RULE`: it is that of ``decide(REGISTER, encoder, correct="holm")``. The arithmetic stands in ``statistics.py`` beside this file, what it is
computed from in ``evidence.py``, and what the published numbers alone can say in ``published.py``.
"""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from dataclasses import replace

from ..claim import FAILS, HOLDS, OPEN, Claim, Verdict
from ..course_claims import ledger
from ..verdicts import LEVEL, settle
from .published import measure_published

LOCKED_HOME = "bertlook_teach.essay_statistics"  # where the statistics stood when the register was locked

SUPPORTED, REFUTED, UNDECIDED = "supported", "refuted", "cannot be decided"
LABELS = {HOLDS: SUPPORTED, FAILS: REFUTED, OPEN: UNDECIDED}  # how the essay's tables call a verdict

RULE = (
    f"Supported: the one-sided p is below {LEVEL} after Holm's correction over all registered claims, and the random twin does not come "
    "into the interval. Refuted: the one-sided p of the opposite, that the statistic lies below its line, is below the same level after "
    "the same correction. Otherwise: cannot be decided. A claim that cannot be tested counts among those corrected for, with p = 1. "
    "Lines: 0 for correlations, orders and margins, one half for an AUC; for amounts the smallest that is worth a sentence."
)

REGISTER: tuple[Claim, ...] = tuple(
    replace(one, operational=one.registered, published="", exactness="", erratum="")
    for one in ledger("13")
    if one.registered
)


def try_published() -> list[Verdict]:
    """The register on BERT-base's published numbers, corrected over all eleven, those that cannot be tried included."""
    measured = [measure_published(claim.key) for claim in REGISTER]
    return settle(REGISTER, measured, model="BERT-base, published")


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
