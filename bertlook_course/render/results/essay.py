"""The essay on trial, drawn: the register, the outcomes beside what was published, and layers cut into phases."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise

import numpy as np

from bertlook_teach.views import INK, MUTED

from ...claims import FAILS, HOLDS, OPEN
from ..drawing.text_table import Estimate, TextTable
from .claims import counted_units

# A verdict as tables of outcomes say it, and with the sign that stands before it there.
OUTCOMES = {HOLDS: "supported", FAILS: "refuted", OPEN: "undecided"}
_MARKS = {HOLDS: "✓ supported", FAILS: "✗ refuted", OPEN: "? undecided"}


def register_table(register: Sequence) -> TextTable:
    """Number, claim and line of each registered claim."""
    rows = [[str(claim.number), claim.sentence, f"> {claim.threshold:g}"] for claim in register]
    return TextTable(["no.", "claim", "line"], rows)


def outcome_table(outcomes: Sequence) -> TextTable:
    """One row a claim: value with interval, the random twin's value, corrected p, verdict.

    Parameters
    ----------
    outcomes : sequence of Verdict
        From ``decide(REGISTER, encoder, correct="holm")`` or `bertlook_course.claims.try_published`.
    """
    with_twin = any(outcome.twin_model for outcome in outcomes)
    header = ["claim", "value [95 %]", *(["twin"] if with_twin else []), "p", "verdict"]
    rows = []
    for outcome in outcomes:
        twin = [_number(outcome.twin)] if with_twin else []
        rows.append(
            [outcome.claim.name, outcome_value(outcome), *twin, outcome_p(outcome), _MARKS[outcome.verdict]]
        )
    against = "; against: p of the opposite" * any(outcome.verdict == FAILS for outcome in outcomes)
    n = sorted({outcome.n for outcome in outcomes if outcome.n})
    counted = f"n = {n[0]}{f' to {n[-1]}' * (len(n) > 1)} {counted_units(outcomes)}" if n else "no numbers"
    caption = f"p: one-sided, after Holm's correction for eleven claims{against}; {counted}."
    return TextTable(header, rows, caption)


def compared_table(
    ours: Sequence, published: Sequence, names: Sequence[str] = ("specimen", "BERT-base")
) -> TextTable:
    """Verdicts side by side: on the model, and from published numbers alone."""
    numbers = [[one.claim.number for one in side] for side in (ours, published)]
    if numbers[0] != numbers[1]:
        raise ValueError(
            f"both sides need the same claims in the same order; got {numbers[0]} and {numbers[1]}."
        )
    rows = [[a.claim.name, _MARKS[a.verdict], _MARKS[b.verdict]] for a, b in zip(ours, published)]
    return TextTable(["claim", names[0], f"{names[1]}, published"], rows)


def why_lines(outcomes: Sequence) -> str:
    """Why each verdict is what it is, as a list in Markdown."""
    return "\n".join(f"- {outcome.claim.name}: {outcome.why}" for outcome in outcomes)


def outcome_value(outcome) -> str:
    """A claim's value with its interval, as tables and pictures of outcomes print it."""
    if np.isnan(outcome.value):
        return "-"
    if np.isnan(outcome.low):
        return _number(outcome.value)
    low, high = (_number(end, outcome.claim.threshold) for end in (outcome.low, outcome.high))
    return f"{_number(outcome.value)} [{low}, {high}]"


def outcome_p(outcome) -> str:
    """The corrected p that decides a claim, or a dash; of a refuted claim that of its opposite."""
    if np.isnan(outcome.p):
        return "-"
    p = min(outcome.p, outcome.against) if outcome.verdict == FAILS else outcome.p
    return "<.001" if p < 0.001 else f"{p:.3f}".lstrip("0") if p < 1 else "1"


def _number(value: float, line: float | None = None) -> str:
    """With a third digit where two do not tell on which side of a line it lies."""
    if np.isnan(value):
        return "-"
    close = line is not None and round(value, 2) == line != value
    return str(Estimate(value, form=".3f" if close else ".2f", short=True))


def phases_figure(
    series,
    cuts: Sequence[int],
    *,
    names: Sequence[str] = ("[CLS]", "[SEP]", ". and ,", "other"),
    beside: tuple[str, Sequence[float], Sequence[int]] | None = None,
):
    """Shares of attention by layer as lines with marks, and the cuts between phases: a matplotlib figure.

    Parameters
    ----------
    series : array of shape (layer, kind)
    cuts : sequence of int
        After how many layers a phase ends.
    names : sequence of str
        Of the kinds.
    beside : (title, one number for each layer, its cuts), optional
        A curve that has no phases, with the means of those that the cuts make of it.
    """
    from ..drawing.figures import layer_curves, styled_figure

    series = np.asarray(series, dtype=float)
    if series.ndim != 2 or series.shape[1] != len(names):
        raise ValueError(
            f"series has shape (layer, {len(names)}), a column for each of {', '.join(names)}; got {series.shape}."
        )
    ratios = {"width_ratios": [2.4, 1]} if beside else None
    with styled_figure((10, 3.5), columns=2 if beside else 1, gridspec_kw=ratios) as (figure, panels):
        layer_curves(dict(zip(names, series.T)), ylabel="share of attention", ax=panels[0])
        for cut in cuts:
            panels[0].axvline(cut + 0.5, color=INK, linestyle="--", linewidth=2)
        if beside:
            title, values, ends = beside
            edges, layers = [0, *ends, len(values)], np.arange(1, len(values) + 1)
            panels[1].plot(layers, values, "o", color=MUTED, markersize=8)
            for first, last in pairwise(edges):
                panels[1].hlines(np.mean(values[first:last]), first + 0.6, last + 0.4, color=INK, linewidth=3)
            for cut in ends:
                panels[1].axvline(cut + 0.5, color=INK, linestyle="--", linewidth=2)
            panels[1].set(title=title, xlabel="layer", yticks=[], xticks=[1, len(values)])
    return figure
