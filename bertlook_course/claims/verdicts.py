"""Decide claims on a model, with its random twin as the control."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np

from bertlook_teach.stats import CONFIDENCE, REPLICATES, holm, monte_carlo_p, sample_interval, widening

from ..corpora import document_numbers
from ..metrics import CannotDecide
from ..storage import TOLERANCE, NotShipped, shipping
from .claim import FAILS, HOLDS, NOISE, OPEN, Claim, Verdict
from .evidence import Evidence, Resources, _Means, _Sample, _Undefined, collect

LEVEL = 0.05  # of a corrected p

FEWEST_REPORTING = 20  # inputs; fewer decide nothing: a share near 0 or 1, or a choice among heads, has no interval that holds on them

FEWEST_CHOOSING = 20  # inputs that choose, where a statistic has to find its head, layer or relation first

# The rule of `decide` in words; decks, pages and the guide quote it to the letter. A claim without a control is not compared with the twin.
VERDICT_RULE = (
    "Holds: the whole interval meets what the claim needs, the random twin's does not, and the two intervals do not overlap. "
    "Does not hold: the whole interval lies on the other side. "
    "Otherwise it cannot be decided here."
)


def treebank_units(sentences: Sequence) -> np.ndarray:
    """The input of the ledger that each sentence belongs to: its document; where so few would report that they decide nothing, itself."""
    return document_numbers(sentences, 2 * FEWEST_REPORTING)


# --- deciding -------------------------------------------------------------------------------------------------
def decide(
    claims: Sequence[Claim],
    encoder,
    *,
    resources: Resources | None = None,
    twin=None,
    progress: Callable[[Iterable, str], Iterable] | None = None,
    evidence: Mapping[str, Callable] | None = None,
    strict: bool = True,
    correct: str | None = None,
) -> list[Verdict]:
    """Decide claims on one model, with its random twin as the control.

    Parameters
    ----------
    claims : sequence of Claim
    encoder : Encoder
    resources : Resources, optional
        Texts, pairs, treebank and how many of them. Default: all that is shipped.
    twin : Encoder, optional
        Default: ``random_twin(encoder)``; for a model that is itself that twin, a twin with another seed.
    progress : function(stream, label), optional
        Wrapped round each stream of inputs.
    evidence : dict of name -> collector, optional
        Used instead of the claims' own collectors; what they find is kept in memory alone.
    strict : bool
        Whether an error in a collector or a statistic stops everything, or becomes the reason why its claims cannot be decided.
    correct : {"holm"}, optional
        Decide by p-values, corrected for all these claims (see `settle`), instead of each claim by its own interval.

    Returns
    -------
    list of Verdict, in the order of the claims
        By ``VERDICT_RULE``; with ``control=False`` the twin is not asked. A claim of a sink is one of this model's (`Claim.of_the_sink`). What a claim needs is a statistic above its threshold. An interval
        that ends within ``NOISE`` of the threshold ends on it, and includes it.
    """
    if correct not in (None, "holm"):
        raise ValueError(f"correct must be 'holm' or None; got {correct!r}.")
    twin = _Twin(encoder) if twin is None else twin
    options = {"resources": resources, "progress": progress, "evidence": evidence, "strict": strict}
    measured = _iter_measured(claims, encoder, twin, tested=correct is not None, **options)
    found = {id(claim): decided for claim, *decided in measured}
    decided = [found[id(claim)] for claim in claims]
    names = {"model": encoder.name, "twin_model": twin.name}
    if correct:
        return settle(*zip(*decided), **names) if decided else []
    return [_verdict(*one, **names) for one in decided]


def iter_verdicts(claims: Sequence[Claim], encoder, *, twin=None, **options) -> Iterator[Verdict]:
    """:func:`decide` one evidence after the other, so that a caller who is interrupted keeps what is done.

    ``options`` are those of `decide` but ``correct``, which needs all claims at once.
    """
    twin = _Twin(encoder) if twin is None else twin
    for _, *decided in _iter_measured(claims, encoder, twin, **options):
        yield _verdict(*decided, model=encoder.name, twin_model=twin.name)


def _iter_measured(
    claims, encoder, twin, *, resources=None, progress=None, evidence=None, strict=True, tested: bool = False
) -> Iterator[tuple[Claim, Claim, Measurement, Measurement]]:
    """Each claim as it was given, as it is tried on this model, and what was measured on the model and on its twin."""
    resources = Resources() if resources is None else resources
    evidence = evidence or {}
    for claim in claims:  # what is missing is found before hours of work
        if claim.statistic is not None and claim.collect is None and claim.evidence not in evidence:
            raise ValueError(
                f"claim {claim.key!r} names evidence {claim.evidence!r} and brings no collector of it; "
                f"evidence has {', '.join(sorted(evidence)) or 'none'}."
            )
    groups: dict[tuple, list[Claim]] = {}
    for claim in claims:
        groups.setdefault((claim.evidence, evidence.get(claim.evidence, claim.collect)), []).append(claim)
    for (name, collector), group in groups.items():
        decidable = [claim for claim in group if claim.statistic is not None]
        collected = []
        for model in (encoder, twin) if decidable else ():
            try:
                if isinstance(model, _Twin):
                    model = model.encoder
                found = collect(
                    name,
                    collector,
                    model,
                    resources,
                    progress=progress,
                    claim=decidable[0].key,
                )
                collected.append(found)
            except CannotDecide as reason:
                collected.append(reason)
            except Exception as error:
                if strict:
                    raise
                collected.append(CannotDecide(f"collecting {name!r} failed: {_short(error)}"))
        samples = [_Sample(found) if isinstance(found, Evidence) else found for found in collected]
        for claim in group:
            if claim.statistic is None:
                nothing = Measurement(reason=claim.operational)
                yield claim, claim, nothing, nothing
            else:  # the twin is asked about the token on which the model's attention rests
                ours = samples[0]
                tried = claim.of_the_sink(ours.row(0)) if isinstance(ours, _Sample) else claim
                yield claim, tried, *(_measure(tried, sample, strict, tested) for sample in samples)


class _Twin:
    """The random twin, made only when something is to be measured on it."""

    def __init__(self, original):
        self.original = original

    @property
    def name(self) -> str:
        return f"{self.original.name}-random"

    @cached_property
    def encoder(self):
        from bertlook_teach.model import RANDOM_SEED, random_twin

        twin = random_twin(self.original)
        # the model is random itself: another draw is its control
        if twin.fingerprint == self.original.fingerprint:
            twin = random_twin(self.original, seed=RANDOM_SEED + 1)
        return twin


@dataclass(frozen=True, kw_only=True)
class Measurement:
    """A statistic with its interval, or the reason why it decides nothing.

    ``replicates`` holds the statistic in each sample of the inputs that report, NaN where it is undefined there. ``p`` is one-sided, for the
    claim, before any correction; ``against`` the p of the opposite; ``floor`` the smallest p that was possible. Where nothing was tested, both p are 1.
    """

    value: float = float("nan")
    low: float = float("nan")
    high: float = float("nan")
    n: int = 0
    n_choice: int = 0
    reason: str = ""
    replicates: np.ndarray | None = None
    p: float = 1.0
    against: float = 1.0
    floor: float = 0.0


def measure(claim: Claim, evidence: Evidence | CannotDecide) -> Measurement:
    """A claim's statistic on evidence, with its interval and both p; or only a reason."""
    return _measure(claim, _Sample(evidence) if isinstance(evidence, Evidence) else evidence, True, True)


def _measure(claim: Claim, sample: _Sample | CannotDecide, strict: bool, tested: bool) -> Measurement:
    try:
        if isinstance(sample, CannotDecide):
            raise sample
        found = _with_interval(claim, sample)
        return _with_p(claim, sample, found) if tested else found
    except CannotDecide as reason:
        return Measurement(reason=str(reason))
    except Exception as error:
        if strict:
            raise ValueError(f"the statistic of claim {claim.key!r} fails: {_short(error)}") from error
        return Measurement(reason=f"its statistic fails: {_short(error)}")


def _with_p(claim: Claim, sample: _Sample, found: Measurement) -> Measurement:
    """p counts the samples on the wrong side of the line, 1 added above and below; with a ``null``, the larger of the two p counts."""
    drawn = found.replicates[np.isfinite(found.replicates)]
    drawn = found.value + widening(found.n) * (drawn - found.value)  # new samples, not the same inputs again
    p, against = (
        monte_carlo_p(-drawn, -claim.threshold, tolerance=0),
        monte_carlo_p(drawn, claim.threshold, tolerance=0),
    )
    floor = 1 / (1 + len(drawn))
    if claim.null is not None:
        second, smallest = claim.null(sample.row(1), sample.row(0))
        p, floor = max(p, second), max(floor, smallest)
    return replace(found, p=float(p), against=against, floor=float(floor))


def _with_interval(claim: Claim, sample: _Sample) -> Measurement:
    choice, values = sample.row(0), sample.row(1)
    try:
        value = float(claim.statistic(values, choice))
    except _Undefined as missing:
        raise CannotDecide(_too_few(missing.args[0], values)) from None
    if sample.n_reporting < 2:
        raise CannotDecide(f"only {_inputs(sample.n_reporting)} to report on; an interval needs two")
    for quantity in sorted(values.used):
        if values.count(quantity) < 2:
            raise CannotDecide(_too_few(quantity, values))
    if not np.isfinite(value):
        raise CannotDecide("its statistic is undefined for these inputs")
    n = min((values.count(quantity) for quantity in values.used), default=sample.n_reporting)
    replicates = _replicates(claim, sample, choice)
    low, high = sample_interval(replicates[np.isfinite(replicates)], value, n)
    n_choice = min((choice.count(quantity) for quantity in choice.used), default=0)
    return Measurement(value=value, low=low, high=high, n=n, n_choice=n_choice, replicates=replicates)


def _replicates(claim: Claim, sample: _Sample, choice: _Means) -> np.ndarray:
    """The statistic in each of the samples drawn from the inputs that report; NaN where it is undefined."""
    replicates = np.full(REPLICATES, np.nan)
    for b in range(REPLICATES):
        try:
            replicates[b] = claim.statistic(sample.row(2 + b), choice)
        except (_Undefined, CannotDecide):  # a rare quantity was not drawn this time
            continue
    defined = np.isfinite(replicates)
    if defined.mean() < CONFIDENCE:
        raise CannotDecide(f"only {defined.sum()} of {REPLICATES} resamples of the inputs give a number")
    return replicates


def _too_few(quantity: str, values: _Means) -> str:
    if quantity not in values.sample.evidence.values:
        return f"no input yields {quantity!r}"
    if values.count(quantity) >= 2:  # then it was asked of the other half
        return f"no input to choose on has {quantity!r}"
    return f"only {_inputs(values.count(quantity))} to report on with {quantity!r}; an interval needs two"


def _undecidable(one: Measurement) -> str:
    """Why a measurement decides nothing, whatever its number and whichever the rule; empty if it can."""
    if one.reason:
        return one.reason
    if one.replicates is not None and one.n < FEWEST_REPORTING:  # published numbers have a null of their own
        return f"only {_inputs(one.n)} to report on; fewer than {FEWEST_REPORTING} decide nothing, even if they agree"
    if 0 < one.n_choice < FEWEST_CHOOSING:
        return (
            f"only {_inputs(one.n_choice)} to choose a head, layer or relation on; on fewer than "
            f"{FEWEST_CHOOSING} chance chooses"
        )
    return ""


def _inputs(n: int) -> str:
    return f"{n} input{'' if n == 1 else 's'}"


def _verdict(claim: Claim, ours: Measurement, control: Measurement, **names) -> Verdict:
    if reason := _undecidable(ours):
        verdict, why = OPEN, reason
    elif ours.high < claim.threshold - NOISE:
        verdict, why = FAILS, "the whole interval lies on the other side"
    elif ours.low <= claim.threshold + NOISE:
        verdict, why = OPEN, "the interval includes the line"
    elif claim.control and control.reason:
        verdict, why = OPEN, f"the random twin gives no control: {control.reason}"
    elif claim.control and control.low > claim.threshold + NOISE:
        verdict, why = OPEN, "a random twin reaches it too"
    elif claim.control and control.high >= ours.low - NOISE:
        verdict, why = OPEN, "a random twin's interval reaches into it"
    elif claim.control:
        verdict, why = HOLDS, "the whole interval meets what it needs, the twin's does not"
    else:
        verdict, why = HOLDS, "the whole interval meets what it needs"
    return _made(claim, ours, control, verdict=verdict, why=why, **names)


def _made(claim: Claim, ours: Measurement, control: Measurement, **said) -> Verdict:
    return Verdict(
        claim=claim,
        published=claim.published_text(),
        value=ours.value,
        low=ours.low,
        high=ours.high,
        twin=control.value,
        twin_low=control.low,
        twin_high=control.high,
        n=ours.n,
        n_choice=ours.n_choice,
        **said,
    )


# --- correcting for many claims ------------------------------------------------------------------------------
def settle(
    claims: Sequence[Claim],
    measured: Sequence[Measurement],
    twins: Sequence[Measurement] | None = None,
    *,
    model: str = "",
    twin_model: str = "",
) -> list[Verdict]:
    """Correct for having tried so many claims, those without numbers too, and give each its verdict.

    *Holds* if p is below `LEVEL` after Holm's correction and the random twin does not come into the interval; *does not hold* if the p of the
    opposite is, after the same correction; otherwise *cannot be decided here*, with the reason.

    Parameters
    ----------
    claims : sequence of Claim
    measured : sequence of Measurement
        By `measure`, or made from published numbers.
    twins : sequence of Measurement, optional
        The same on the random twin. Published numbers have none.
    """
    corrected, against = (holm([getattr(one, name) for one in measured]) for name in ("p", "against"))
    others = [None] * len(claims) if twins is None else twins
    verdicts = []
    for claim, one, p, q, twin in zip(claims, measured, corrected, against, others, strict=True):
        verdict, why = _by_p(claim, one, p, q, twin, len(claims))
        p, q = (float("nan"), float("nan")) if one.reason else (float(p), float(q))
        names = {"model": model, "twin_model": twin_model}
        verdicts.append(
            _made(claim, one, twin or Measurement(), verdict=verdict, why=why, p=p, against=q, **names)
        )
    return verdicts


def _by_p(
    claim: Claim, one: Measurement, p: float, against: float, twin: Measurement | None, n_claims: int
) -> tuple[str, str]:
    if reason := _undecidable(one):
        return OPEN, reason
    if against < LEVEL:
        return FAILS, f"the opposite has p = {against:.3f} after correction"
    if p >= LEVEL:
        if one.floor * n_claims >= LEVEL and one.floor > 0.01:
            return (
                OPEN,
                f"no result could have p below {one.floor:.2f} here: there is too little to shuffle",
            )
        if one.low > claim.threshold:
            return OPEN, f"the interval is above the line, but p = {one.p:.3f} ({p:.3f} after correction)"
        return OPEN, "the interval includes the line"
    if twin is not None and twin.reason and claim.control:
        return OPEN, f"the random twin gives no control: {twin.reason}"
    if twin is not None and not twin.reason and twin.high >= one.low:
        return OPEN, "the random twin reaches it too"
    return HOLDS, f"p = {p:.3f} after correction"


def _short(error: Exception) -> str:
    lines = str(error).splitlines()
    return f"{type(error).__name__}: {lines[0]}" if lines else type(error).__name__


# --- against what ships ---------------------------------------------------------------------------------------
def differences_from_shipped(verdicts: Sequence[Verdict], encoder, resources: Resources) -> Iterator[str]:
    """Which claims have another verdict, or a number further away than `TOLERANCE` says, by the evidence that ships."""
    shipped = _shipped_verdicts([verdict.claim for verdict in verdicts], encoder, resources)
    differ = 0
    for new in verdicts:
        old = shipped.get(new.claim.key)
        if old is not None and (old.verdict != new.verdict or _far(old, new)):
            differ += 1
            yield f"{new.claim.key}: shipped evidence says {old!r}, computed here {new!r}"
    yield f"computed here: {len(verdicts)} claims; {len(shipped)} of them have shipped evidence, {differ} of these come out otherwise"


def _shipped_verdicts(claims: Sequence, encoder, resources: Resources) -> dict:
    """Key -> verdict of the claims whose evidence ships, for these inputs."""
    groups: dict[str, list] = {}
    for claim in claims:
        if claim.statistic is not None:
            groups.setdefault(claim.evidence, []).append(claim)
    found = {}
    with shipping(make=False):
        for group in groups.values():
            with suppress(NotShipped):
                found |= {v.claim.key: v for v in decide(group, encoder, resources=resources)}
    return found


def _far(old, new) -> bool:
    size = max(abs(old.value), old.high - old.low)
    return any(
        abs(getattr(old, name) - getattr(new, name)) > TOLERANCE * size for name in ("value", "low", "high")
    )
