"""A pattern as a claim of the ledger: some head follows it, by more than a line drawn before."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from ..analyses.patterns import (
    MEASURES,
    PAIRS,
    Pattern,
    WordMaps,
    answers_of,
    check_corpus,
    count_cases,
    word_maps,
)
from ..metrics import CannotDecide
from ..storage import Memory
from .claim import Claim
from .evidence import Resources
from .verdicts import FEWEST_REPORTING

CORPORA = ("treebank", "texts", "pairs")


@dataclass(frozen=True)
class PatternEvidence:
    """Collects, for each text with a case, what :class:`PatternCounts` holds of it; for each document where a treebank names enough."""

    pattern: Pattern
    on: str

    @property
    def kept_as(self) -> tuple[str, int]:
        """As of a collector that `bertlook_course.claims.evidence.evidence` decorates; raise the version when a number may come out otherwise."""
        return f"{self.on}: {self.pattern!r}", 1

    @property
    def unit(self) -> str:
        """What n counts on the course's own corpora."""
        return {"treebank": "documents", "texts": "texts", "pairs": "pairs of texts"}[self.on]

    def __call__(self, encoder, resources):
        try:
            maps = _maps_for_claims(encoder, resources, self.on)
            check_corpus(self.pattern, maps.readings)
        except ValueError as reason:  # in the ledger no mistake: other texts, other tags
            raise CannotDecide(str(reason).removesuffix(".")) from None
        counts = count_cases(self.pattern, maps, answers_of(self.pattern)).by_document(2 * FEWEST_REPORTING)
        for i, cases in enumerate(counts.cases):
            if not cases:
                yield {}
                continue
            names = ("cases", "right", "mass", "right_rules", "mass_rules")
            yield {name: getattr(counts, name)[i] for name in names}


_kept = Memory(4)


def _maps_for_claims(encoder, resources: Resources, on: str) -> WordMaps:
    """The maps of the last four models and corpora are kept: another pattern asks them again."""
    key = (encoder.fingerprint, resources.digest, on)
    return _kept.once(key, lambda: word_maps(encoder, getattr(resources, on)))


def _corpus_of(pattern: Pattern, on: str | None) -> str:
    on = ("pairs" if PAIRS in pattern.needs else "treebank") if on is None else on
    if on not in CORPORA:
        raise ValueError(f"on must be one of {', '.join(CORPORA)}; got {on!r}.")
    return on


def claim_of(
    pattern: Pattern,
    *,
    key: str,
    sentence: str,
    source: str,
    threshold: float,
    measure: str = "accuracy",
    against: str = "rule",
    on: str | None = None,
    **details,
) -> Claim:
    """The claim that some head follows a pattern, by more than ``threshold``.

    Parameters
    ----------
    pattern : Pattern
    key, sentence, source
        As in `bertlook_course.claims.Claim`.
    threshold : float
        What the gain must lie above.
    measure : {"accuracy", "mass"}
        Of the head that is best on the texts that choose.
    against : {"rule", "chance", "nothing"}
        What is taken away: the best rule that knows no language (chosen on the same texts as the head), chance, or 0; see
        `bertlook_course.analyses.patterns.ScoreRow`.
    on : {"treebank", "texts", "pairs"}, optional
        Default: the treebank, or pairs for a pattern about two segments.
    details
        More fields of the claim: ``section``, ``published``, ``exactness``, ``refuted_if``, ``operational``, ``erratum``, ``control``.
    """
    if measure not in MEASURES:
        raise ValueError(f"measure is accuracy or mass; got {measure!r}.")
    if against not in ("rule", "chance", "nothing"):
        raise ValueError(f"against must be rule, chance or nothing; got {against!r}.")
    what = (
        "share of cases in which the head looks most at such a key"
        if measure == "accuracy"
        else "attention to such keys"
    )
    taken = {"rule": ", minus the best fixed rule's or chance", "chance": ", minus chance", "nothing": ""}[
        against
    ]
    fields = {
        "operational": f"{what}, head chosen on other texts{taken}: {pattern!r}",
        **details,
    }
    on = _corpus_of(pattern, on)
    return Claim(
        key=key,
        sentence=sentence,
        source=source,
        evidence=f"{on}: {pattern!r}",
        collect=PatternEvidence(pattern, on),
        statistic=PatternGain(measure, against),
        threshold=threshold,
        **fields,
    )


@dataclass(frozen=True)
class PatternGain:
    """The statistic of such a claim: sums over cases, divided by their number."""

    measure: str
    against: str

    def __call__(self, values, choice) -> float:
        name = "right" if self.measure == "accuracy" else "mass"
        head = np.unravel_index(choice[name].argmax(), choice[name].shape)
        found = values[name][head]
        if self.against != "nothing":
            rules = f"{name}_rules"
            found = found - values[rules][choice[rules].argmax() if self.against == "rule" else -1]
        return float(found / values["cases"])
