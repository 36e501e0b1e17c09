"""The essay on trial, drawn: the register, the outcomes beside what was published, and layers cut into phases."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from ...claims import FAILS, HOLDS, OPEN
from ..drawing.palette import INK
from ..drawing.text_table import TextTable

_MARKS = {HOLDS: "✓ supported", FAILS: "✗ refuted", OPEN: "? undecided"}


def register_table(register: Sequence) -> TextTable:
    """Number, claim and line of each registered claim."""
    rows = [[claim.title.partition(" ")[0], claim.sentence, f"> {claim.threshold:g}"] for claim in register]
    return TextTable(["no.", "claim", "line"], rows)


def outcome_table(outcomes: Sequence) -> TextTable:
    """One row a claim: value with interval, the random twin's value, corrected p, verdict.

    Parameters
    ----------
    outcomes : sequence of Verdict
        From ``decide(REGISTER, encoder, correct="holm")`` or `bertlook_teach.claims.try_published`.
    """
    with_twin = any(outcome.twin_model for outcome in outcomes)
    header = ["claim", "value [95 %]", *(["twin"] if with_twin else []), "p", "verdict"]
    rows = []
    for outcome in outcomes:
        twin = [_number(outcome.twin)] if with_twin else []
        rows.append([outcome.claim.title, _value(outcome), *twin, _p(outcome), _MARKS[outcome.verdict]])
    n = sorted({outcome.n for outcome in outcomes if outcome.n})
    counted = f"n = {n[0]} to {n[-1]}" if len(n) > 1 else f"n = {n[0]}" if n else "no numbers"
    return TextTable(header, rows, f"One-sided p after Holm's correction over all eleven; {counted}.")


def compared_table(
    ours: Sequence, published: Sequence, names: Sequence[str] = ("specimen", "BERT-base")
) -> TextTable:
    """Verdicts side by side: on the model, and from published numbers alone."""
    numbers = [[o.claim.title.partition(" ")[0] for o in side] for side in (ours, published)]
    if numbers[0] != numbers[1]:
        raise ValueError(
            f"both sides need the same claims in the same order; got {numbers[0]} and {numbers[1]}."
        )
    rows = [[a.claim.title, _MARKS[a.verdict], _MARKS[b.verdict]] for a, b in zip(ours, published)]
    return TextTable(["claim", names[0], f"{names[1]}, published"], rows)


def why_lines(outcomes: Sequence) -> str:
    """Why each verdict is what it is, as a list in Markdown."""
    return "\n".join(f"- {outcome.claim.title}: {outcome.why}" for outcome in outcomes)


def _value(outcome) -> str:
    if np.isnan(outcome.value):
        return "-"
    if np.isnan(outcome.low):
        return _number(outcome.value)
    return f"{_number(outcome.value)} [{_number(outcome.low)}, {_number(outcome.high)}]"


def _p(outcome) -> str:
    if np.isnan(outcome.p):
        return "-"
    p = min(outcome.p, outcome.against) if outcome.verdict == FAILS else outcome.p
    return "<.001" if p < 0.001 else f"{p:.3f}".lstrip("0") if p < 1 else "1"


def _number(value: float) -> str:
    return "-" if np.isnan(value) else f"{value:.2f}".replace("-0.00", "0.00").replace("0.", ".", 1)


def phases_figure(
    series, cuts: Sequence[int], *, names: Sequence[str] = ("[CLS]", "[SEP]", ". and ,", "other")
):
    """Shares of attention by layer as lines with marks, and the cuts between phases: a matplotlib figure.

    Parameters
    ----------
    series : array of shape (layer, kind)
    cuts : sequence of int
        After how many layers a phase ends.
    names : sequence of str
        Of the kinds.
    """
    from ..drawing.figures import layer_curves

    series = np.asarray(series, dtype=float)
    if series.ndim != 2 or series.shape[1] != len(names):
        raise ValueError(
            f"series has shape (layer, {len(names)}), a column for each of {', '.join(names)}; got {series.shape}."
        )
    figure = layer_curves(
        dict(zip(names, series.T)), ylabel="share of attention", size=(10, 3.5), font_size=18
    )
    for cut in cuts:
        figure.axes[0].axvline(cut + 0.5, color=INK, linestyle="--", linewidth=2)
    return figure
