"""The essay on trial, drawn: the register, the outcomes beside what was published, and layers cut into phases."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise

import numpy as np

from bertlook_teach.views import INK, MUTED, OKABE_ITO, PAPER, RULE, Picture, coordinate, text

from ...claims import FAILS, HOLDS, OPEN
from ..drawing.text_table import TextTable

_MARKS = {HOLDS: "✓ supported", FAILS: "✗ refuted", OPEN: "? undecided"}

# The essay's images: who, what of them, and its lines from the token that looks to the one that is looked at.
_TOKENS = ("[CLS]", "the", "cat", "sat", ".", "[SEP]")
IMAGES = (
    ("Insiders (the, be, to)", "one constant relation, narrow", ((1, 2),)),
    ("The hunter [CLS]", "looks far and wide", ((0, 1), (0, 2), (0, 3), (0, 4), (0, 5))),
    ("The haven [SEP]", "where heads with nothing to do rest", ((1, 5), (2, 5), (3, 5))),
    ("Drifters (. , [MASK])", "their gaze drives the deep layers", ((4, 1), (4, 2), (4, 3))),
)
_PHASES = ((1, 4), (5, 10), (11, 12))


def story_picture() -> Picture:
    """The essay's five images as it tells them: a schematic, made of no data.

    Examples
    --------
    >>> story_picture().sentence[:11]
    'A schematic'
    """
    c, em, wide, high = coordinate, 30.0, 1180.0, 200.0
    accent, body = OKABE_ITO["vermillion"], []
    for place, (who, what, lines) in enumerate(IMAGES):
        left, top = (0.51 * wide) * (place % 2), high * (place // 2)
        base = top + 5.1 * em
        at = [left + (1.5 + 3.25 * k) * em for k in range(len(_TOKENS))]
        body.append(text(left, top + 0.6 * em, who, extra=' font-weight="600"'))
        body.append(text(left, top + 1.8 * em, what, fill=MUTED))
        for start, end in lines:
            rise = (0.7 + 0.45 * abs(end - start)) * em
            body.append(
                f'<path d="M{c(at[start])} {c(base)}C{c(at[start])} {c(base - rise)} {c(at[end])} {c(base - rise)} {c(at[end])} {c(base)}" '
                f'fill="none" stroke="{accent}" stroke-width="{7 if len(lines) == 1 else 3}"/>'
                f'<circle cx="{c(at[end])}" cy="{c(base)}" r="6" fill="{accent}"/>'
            )
        body += [text(x, base + 0.75 * em, token, anchor="middle") for x, token in zip(at, _TOKENS)]
    top, cell = 2 * high + 0.3 * em, 62.0
    body.append(text(0, top + 0.8 * em, "Three phases", extra=' font-weight="600"'))
    body.append(text(0, top + 2 * em, "of 12 layers", fill=MUTED))
    for phase, (first, last) in enumerate(_PHASES):
        fill, ink = ((PAPER, INK), (RULE, INK), (MUTED, PAPER))[phase]
        for layer in range(first, last + 1):
            x = 9.2 * em + cell * (layer - 1) + 1.2 * em * phase
            body.append(
                f'<rect x="{c(x)}" y="{c(top)}" width="{c(cell - 4)}" height="{c(2.6 * em)}" fill="{fill}" stroke="{MUTED}"/>'
            )
            body.append(text(x + cell / 2 - 2, top + 1.3 * em, str(layer), anchor="middle", fill=ink))
    sentence = (
        "A schematic of the essay's words: nothing here is measured. A line starts at the token that looks and ends, "
        "with a dot, at the one that is looked at."
    )
    return Picture(body, wide, top + 2.9 * em, "The essay's five images", sentence, em, wide=True)


def register_table(register: Sequence) -> TextTable:
    """Number, claim and line of each registered claim."""
    rows = [[claim.title.partition(" ")[0], claim.sentence, f"> {claim.threshold:g}"] for claim in register]
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
            [outcome.claim.title, outcome_value(outcome), *twin, outcome_p(outcome), _MARKS[outcome.verdict]]
        )
    n = sorted({outcome.n for outcome in outcomes if outcome.n})
    counted = f"n = {n[0]} to {n[-1]}" if len(n) > 1 else f"n = {n[0]}" if n else "no numbers"
    caption = (
        f"p: one-sided, after Holm's correction for eleven claims; against: p of the opposite; {counted}."
    )
    return TextTable(header, rows, caption)


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
    if line is not None and round(value, 2) == line != value:
        return f"{value:.3f}".replace("0.", ".", 1)
    return f"{value:.2f}".replace("-0.00", "0.00").replace("0.", ".", 1)


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
