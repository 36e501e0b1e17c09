"""What came out when claims were decided: text for a terminal, and a table, a record and a page to save."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from math import isnan
from pathlib import Path

from bertlook_teach.disk import csv_text, json_text, write_files
from bertlook_teach.model import Recording
from bertlook_teach.stats import CONFIDENCE, REPLICATES

from ...claims import Resources, Verdict, recorded_sentence, recorded_trees, recorded_verdicts
from ...storage import about, attributes
from .claims import claims_text, needs_text
from .ledger_page import claims_page


@dataclass(frozen=True, eq=False, repr=False)
class ClaimsReport:
    """The verdicts on one model, and what they rest on.

    Attributes
    ----------
    verdicts : list of Verdict
    about : dict
        The model, its inputs, the interval, whether all claims were decided.
    note : str
        What has to be said beside the verdicts of a recording; of a model nothing.
    """

    verdicts: Sequence[Verdict]
    about: dict
    note: str = ""

    def __repr__(self) -> str:
        return "\n".join([claims_text(self.verdicts), *self.notes()])

    def notes(self) -> list[str]:
        """What has to be said beside the verdicts."""
        return [self.note] if self.note else []

    def failed(self) -> list[str]:
        """The claims that could not be computed, by key."""
        return [v.claim.key for v in self.verdicts if "failed: " in v.why or "statistic fails: " in v.why]

    def save(self, folder: str | Path) -> Path:
        """Write ``claims.csv``, ``claims.json`` and ``claims.html``; the page's path."""
        rows = [verdict_row(verdict) for verdict in self.verdicts]
        beside = [*self.notes(), *_sentences(self.about), recorded_sentence()]
        folder = Path(folder)
        page = folder / "claims.html"
        contents = {
            folder / "claims.csv": csv_text(rows),
            folder / "claims.json": json_text({**self.about, "claims": rows}, indent=2, allow_nan=False),
            page: claims_page(self.verdicts, about=beside, recorded=recorded_verdicts()),
        }
        write_files(contents)
        return page


def report_claims(
    model,
    verdicts: Sequence[Verdict],
    *,
    inputs: Mapping[str, str],
    resources: Resources,
    lesson: str = "all",
    limit: int | None = None,
    complete: bool = True,
) -> ClaimsReport:
    """What came out for a model or a recording.

    Parameters
    ----------
    model : Encoder or Recording
    verdicts : list of Verdict
        From `bertlook_course.claims.decide`.
    inputs : mapping of "pairs", "texts", "treebank" -> name
        Of the files; of a recording what was recorded is named in their place.
    resources : Resources
    lesson, limit
        Which claims were tried, and on how many inputs of each kind.
    complete : bool
        Whether all of these claims were decided.
    """
    recorded = isinstance(model, Recording)
    items = {
        **attributes(model, "n_layers n_heads"),
        "lesson": lesson,
        **(_recorded_inputs(model, resources) if recorded else inputs),
        "limit": limit,
        "too_long": _longer(model, recorded),
        "interval": f"{CONFIDENCE:.0%} bootstrap over inputs, {REPLICATES} replicates",
        "complete": complete,
    }
    return ClaimsReport(verdicts, about(model, items), _of_recording(model) if recorded else "")


def verdict_row(verdict: Verdict) -> dict:
    """A verdict as plain values: None where there is no number."""
    claim = verdict.claim
    row = {
        "key": claim.key,
        "lesson": claim.lesson,
        "claim": claim.sentence,
        "source": claim.source,
        "section": claim.section,
        "published": verdict.published,
        "original": claim.original_text(),
        "exactness": claim.exactness,
        "erratum": claim.erratum,
        "measured": claim.operational,
        "needs": needs_text(claim),
        "threshold": claim.threshold if claim.statistic is not None else None,
        "sign": -1 if claim.below else 1,  # what is measured is sign x value
        "refuted_if": claim.refuted_text(),
    }
    for name, number in attributes(verdict, "value low high twin twin_low twin_high").items():
        row[name] = None if isnan(number) else round(number, 6)
    return {
        **row,
        "n": verdict.n,
        "n_choice": verdict.n_choice,
        "control": claim.control,
        "verdict": verdict.verdict,
        "why": verdict.why,
    }


def _recorded_inputs(recording, resources: Resources) -> dict[str, object]:
    """What the claims were decided on: the recorded inputs, and which sentences of the treebank are among them."""
    pairs = _count_pairs(recording)
    return {
        "recorded": recording.note,
        "badge": recording.badge,
        "pairs": f"{pairs} recorded",
        "texts": f"{len(recording) - pairs} recorded",
        "treebank": f"{len(recorded_trees(recording, resources.treebank))} recorded sentences of it",
    }


def _longer(encoder, recorded: bool) -> str:
    """What became of inputs that the model cannot read whole."""
    if recorded:
        return f"{sum(attention.truncated for attention in encoder.values())} of them were cut when they were recorded"
    return f"longer ones are cut to {encoder.max_tokens} wordpieces"


def _count_pairs(recording) -> int:
    return sum(isinstance(text, tuple) for text in recording.texts)


def _of_recording(recording) -> str:
    pairs = _count_pairs(recording)
    return (
        f"{recording.badge}, not computed here: {len(recording) - pairs} single texts, {pairs} pairs. The verdicts are about "
        "these inputs and no others: half of them choose, half report, and examples are not a sample of texts."
    )


def _sentences(about: dict) -> list[str]:
    own = ", ".join(f"{name}: {about[name]}" for name in ("pairs", "texts", "treebank"))
    limit = f", the first {about['limit']} of each" if about["limit"] else ""
    return [
        f"Model: {about['model']}, {about['n_layers']} layers of {about['n_heads']} heads, fingerprint {about['fingerprint']}.",
        f"Inputs: {own}{limit}; {about['too_long']}. Interval: {about['interval']}.",
        f"bertlook {about['version']}"
        + ("" if about["complete"] else "; interrupted, so claims are missing")
        + ".",
    ]
