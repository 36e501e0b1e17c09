"""Decided claims as a table and as the lines they had to cross."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from .pictures import TextTable


def claim_table(verdicts: Sequence, *, chosen_on: int) -> TextTable:
    """One row a claim: what was published, our value with its interval, the random twin's, and the verdict.

    Parameters
    ----------
    verdicts : sequence of Verdict
        From `bertlook_teach.surface_claims.decide_all`.
    chosen_on : int
        Number of texts on which heads and layers were chosen; they are others than those that report.
    """
    if not verdicts:
        raise ValueError("a table of claims needs at least one verdict; got none.")
    header = ["BERT-base", "published", "specimen [95 %]", "twin", "specimen"]
    caption = f"n = {verdicts[0].n} texts; heads and layers chosen on {chosen_on} others."
    return TextTable(header, [_row(verdict) for verdict in verdicts], caption)


def claim_lines(verdicts: Sequence) -> str:
    """What decides each claim, with its threshold, as a list in Markdown."""
    lines = []
    for verdict in verdicts:
        claim = verdict.claim
        threshold = f" > {claim.threshold:g}" if claim.statistic is not None else ""
        lines.append(f"- *{claim.sentence}*: {claim.operational}{threshold}")
    return "\n".join(lines)


def _row(verdict) -> list[str]:
    if np.isnan(verdict.value):  # not testable on this model
        ours = twin = "-"
    else:
        value, low, high, twin = map(_two_digits, (verdict.value, verdict.low, verdict.high, verdict.twin))
        ours = f"{value} [{low}, {high}]"
    return [verdict.claim.sentence, verdict.published, ours, twin, verdict.verdict]


def _two_digits(value: float) -> str:
    # "-0.00" would make a class look for a minus that is not there.
    return f"{value:.2f}".replace("-0.00", "0.00")
