"""Decided claims as a picture: on which side of the line each interval lies, and the verdict as a sign."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np

from bertlook_teach.views import (
    INK,
    MUTED,
    PAPER,
    RULE,
    Picture,
    coordinate,
    text,
    text_width,
    with_minus,
)

from ...claims import FAILS, HOLDS
from ..drawing.layout import broken_lines
from ..drawing.marks import MODELS, marks_of
from ..results.claims import (
    CHOICE,
    claim_table,
    counts_by_row,
    model_name,
    needs_text,
    rows_named,
    twin_cell,
    value_cell,
)

_WIDTH, _EM, _ROW = 1180.0, 30.0, 134.0
_CLAIM = 545.0  # how wide the column of the claims is
_MIDDLE, _REACH = 735.0, 155.0  # where a claim's line stands, and how far from it a value may
_SIGN = 955.0  # where the verdict is
_WORDS = {HOLDS: "holds", FAILS: "does not hold"}


class ClaimPicture(Picture):
    """A picture whose table a saved notebook keeps as data: `bertlook worksheet` reads it."""

    def _repr_mimebundle_(self, include=None, exclude=None) -> dict:
        return self.numbers[0]._repr_mimebundle_()


def claim_picture(verdicts: Sequence, choice: str = CHOICE) -> Picture:
    """One row a claim: its interval and the random twin's beside the line that the claim needs, and the verdict.

    What the claim needs is shaded. Each row has a scale of its own, larger values to the right. Of a claim that could not be measured nothing
    is drawn but the verdict.

    Parameters
    ----------
    verdicts : sequence of Verdict
        From `bertlook_course.claims.decide` or `decide_lesson`. `claim_table` of them goes along.
    choice : str, optional
        What the caption says of the choice on other inputs; ``{rows}`` and ``{others}`` are filled in.

    Raises
    ------
    ValueError
        If there is none.
    """
    table = claim_table(verdicts)
    body, top = [], 0.0
    for verdict in verdicts:
        lines = broken_lines(verdict.claim.sentence, _EM, _CLAIM, most=3) + (
            [f"published: {verdict.published}"] if verdict.published else []
        )
        high = max(_ROW, 36.0 * len(lines) + 16)
        body += _row(verdict, lines, top, high)
        top += high
    said = " ".join(f"{v.claim.sentence}: {v.verdict}." for v in verdicts)
    twins = [row for row, verdict in enumerate(verdicts, 1) if has_twin(verdict)]
    where = rows_named(" of row", twins, verdicts)
    caption = (
        f"{counts_by_row(verdicts, choice)} A claim needs a value in the shaded part; each row has its own scale. Bar: "
        f"{model_name(verdicts)}, 95 % interval{f'; grey square{where}: random twin' * bool(twins)}."
    )
    return ClaimPicture(
        body,
        _WIDTH,
        top,
        "Claims and verdicts",
        said,
        _EM,
        numbers=(table,),
        caption=caption,
        wide=True,
    )


def _row(verdict, lines: Sequence[str], top: float, high: float) -> list[str]:
    c, claim, middle = coordinate, verdict.claim, top + high / 2 + 3
    first = middle - 18 * (len(lines) - 1)
    body = [
        text(8, first + 36 * k, line, fill=MUTED if line.startswith("published: ") else INK)
        for k, line in enumerate(lines)
    ]
    if top:
        body.append(f'<path d="M0 {c(top)}H{_WIDTH:.0f}" stroke="{RULE}" stroke-width="1"/>')
    body += draw_sign(verdict.verdict, _SIGN, middle, _WORDS.get(verdict.verdict, "undecided"))
    if np.isnan(verdict.value) or claim.statistic is None:
        why = broken_lines(
            claim.operational if claim.statistic is None else verdict.why, _EM, _SIGN - _CLAIM - 50, most=3
        )
        down = middle - 18 * (len(why) - 1)
        return body + [text(_CLAIM + 15, down + 36 * k, line, fill=MUTED) for k, line in enumerate(why)]
    value = with_minus(value_cell(verdict))
    half = 0.5 * text_width(value, _EM) + 8
    over = min(max(_scale(verdict, _MIDDLE, _REACH)(verdict.value), _CLAIM + half), _SIGN - 20 - half)
    around = [
        text(_MIDDLE, middle + 40, with_minus(f"needs {needs_text(claim)}"), anchor="middle", fill=MUTED),
        text(over, middle - 44, value, anchor="middle", fill=INK),
    ]
    return body + draw_interval(verdict, _MIDDLE, _REACH, middle, around)


def _scale(verdict, x: float, reach: float) -> Callable[[float], float]:
    """Where a value stands, on a scale of its own around the claim's line at ``x``."""
    ends = [verdict.value, *([verdict.twin] if has_twin(verdict) else [])]
    ends += [end for end in (verdict.low, verdict.high) if not np.isnan(end)]
    widest = max(abs(end - verdict.claim.threshold) for end in ends) or 1.0
    return lambda value: x + _side(verdict) * reach * (value - verdict.claim.threshold) / widest


def _side(verdict) -> int:
    """1 if the claim needs more than its line, -1 if less; what is measured of such a claim has its sign turned."""
    return -1 if verdict.claim.below else 1


def has_twin(verdict) -> bool:
    """Whether the random twin is a control of the claim, and has a value."""
    return verdict.claim.control and not np.isnan(verdict.twin) and not np.isnan(verdict.value)


def draw_interval(
    verdict, x: float, reach: float, y: float, around: Sequence[str] = (), *, radius: float = 9
) -> list[str]:
    """A claim's line at ``x``, shaded where it needs a value, and its value, interval and random twin on a scale that ends ``reach`` from it.

    ``around`` are marks that stand between them and the twin. Nothing is drawn without a value.
    """
    if np.isnan(verdict.value):
        return []
    c, at = coordinate, _scale(verdict, x, reach)
    [mark] = marks_of([model_name([verdict])])
    edge = f'stroke="{mark.colour}" stroke-width="3"'
    wide = reach + 2 * radius
    body = [
        f'<rect x="{c(min(x, x + _side(verdict) * wide))}" y="{c(y - 24)}" width="{c(wide)}" height="46" fill="{RULE}" opacity="0.6"/>',
        f'<path d="M{c(x)} {c(y - 28)}V{c(y + 22)}" stroke="{INK}" stroke-width="2" stroke-dasharray="3 5"/>',
    ]
    if not np.isnan(verdict.low):
        body.append(
            f'<path d="M{c(at(verdict.low))} {c(y)}H{c(at(verdict.high))}" stroke="{mark.colour}" stroke-width="6"/>'
        )
    body += [
        f'<circle cx="{c(at(verdict.value))}" cy="{c(y)}" r="{radius:g}" fill="{mark.colour if mark.filled else "#fff"}" {edge}/>',
        *around,
    ]
    if has_twin(verdict):
        half, grey = radius - 1, MODELS["random twin"].colour
        body.append(
            f'<rect x="{c(at(verdict.twin) - half)}" y="{c(y - half)}" width="{2 * half}" height="{2 * half}" fill="{grey}"><title>random twin: '
            f"{twin_cell(verdict)}</title></rect>"
        )
    return body


def draw_sign(verdict: str, x: float, y: float, word: str, *, radius: float = 15) -> list[str]:
    """A filled disc with a tick, a circle with a cross, or one with a question mark, and a word beside it."""
    c, arm = coordinate, radius * 0.55
    filled, pen = (INK, PAPER) if verdict == HOLDS else ("none", INK)
    asks = f"M{c(x - 0.7 * arm)} {c(y - 0.5 * arm)}c0 {c(-arm)} {c(1.5 * arm)} {c(-arm)} {c(1.5 * arm)} {c(-0.1 * arm)}"
    asks += f"c0 {c(0.6 * arm)} {c(-0.8 * arm)} {c(0.5 * arm)} {c(-0.8 * arm)} {c(1.1 * arm)}m0 {c(0.4 * arm)}v{c(0.4 * arm)}"
    marks = {
        HOLDS: f"M{c(x - arm)} {c(y)}l{c(0.75 * arm)} {c(0.8 * arm)}l{c(1.25 * arm)} {c(-1.6 * arm)}",
        FAILS: f"M{c(x - arm)} {c(y - arm)}l{c(2 * arm)} {c(2 * arm)}m0 {c(-2 * arm)}l{c(-2 * arm)} {c(2 * arm)}",
    }
    drawn = f'<path d="{marks.get(verdict, asks)}" fill="none" stroke="{pen}" stroke-width="3"/>'
    disc = f'<circle cx="{c(x)}" cy="{c(y)}" r="{radius:g}" fill="{filled}" stroke="{INK}" stroke-width="2"/>'
    return [disc + drawn, text(x + 2 * radius, y, word)]
