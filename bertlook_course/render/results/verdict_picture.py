"""Decided claims as a picture: on which side of the line each interval lies, and the verdict as a sign."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from bertlook_teach.views import (
    INK,
    MUTED,
    RULE,
    Picture,
    coordinate,
    shortened,
    text,
    text_width,
    with_minus,
)

from ...claims import FAILS, HOLDS
from ..drawing.marks import MODELS, marks_of
from .claims import (
    claim_table,
    counts_sentence,
    model_name,
    needs_text,
    twin_cell,
    value_cell,
)

_WIDTH, _EM, _ROW = 1180.0, 30.0, 118.0
_CLAIM = 545.0  # how wide the column of the claims is
_MIDDLE, _REACH = 735.0, 165.0  # where a claim's line stands, and how far from it a value may
_SIGN = 935.0  # where the verdict is
_WORDS = {HOLDS: "holds", FAILS: "does not hold"}


class ClaimPicture(Picture):
    """A picture whose table a saved notebook keeps as data: `bertlook worksheet` reads it."""

    def _repr_mimebundle_(self, include=None, exclude=None) -> dict:
        return self.numbers[0]._repr_mimebundle_()


def claim_picture(verdicts: Sequence) -> Picture:
    """One row a claim: its interval and the random twin's beside the line that the claim needs, and the verdict.

    What the claim needs lies to the right of its line, whether it is more or less of something. Each row has a scale of its own. Of a claim
    that could not be measured nothing is drawn but the verdict.

    Parameters
    ----------
    verdicts : sequence of Verdict
        From `bertlook_course.claims.decide` or `decide_lesson`. `claim_table` of them goes along.

    Raises
    ------
    ValueError
        If there is none.
    """
    table = claim_table(verdicts)
    body, top = [], 0.0
    for verdict in verdicts:
        lines = _broken(verdict.claim.sentence) + (
            [f"published: {verdict.published}"] if verdict.published else []
        )
        high = max(_ROW, 36.0 * len(lines) + 16)
        body += _row(verdict, lines, top, high)
        top += high
    said = " ".join(f"{v.claim.sentence}: {v.verdict}." for v in verdicts)
    caption = (
        f"{counts_sentence(verdicts)} Dotted: what the claim needs, to its right; each row has its own scale. Bar: 95 % interval of "
        f"{model_name(verdicts)}{'; grey square: random twin' if any(_twin(v) for v in verdicts) else ''}."
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


def _twin(verdict) -> bool:
    return verdict.claim.control and not np.isnan(verdict.twin) and not np.isnan(verdict.value)


def _row(verdict, lines: Sequence[str], top: float, high: float) -> list[str]:
    c, claim, middle = coordinate, verdict.claim, top + high / 2 + 3
    first = middle - 18 * (len(lines) - 1)
    body = [
        text(8, first + 36 * k, line, fill=MUTED if line.startswith("published: ") else INK)
        for k, line in enumerate(lines)
    ]
    if top:
        body.append(f'<path d="M0 {c(top)}H{_WIDTH:.0f}" stroke="{RULE}" stroke-width="1"/>')
    body += _sign(verdict.verdict, middle)
    if np.isnan(verdict.value) or claim.statistic is None:
        return body
    ends = [verdict.low, verdict.high, verdict.value, *([verdict.twin] if _twin(verdict) else [])]
    reach = max(abs(end - claim.threshold) for end in ends) or 1.0

    def at(value: float) -> float:
        return _MIDDLE + _REACH * (value - claim.threshold) / reach

    [mark] = marks_of([model_name([verdict])])
    edge = f'stroke="{mark.colour}" stroke-width="3"'
    body += [
        f'<path d="M{c(_MIDDLE)} {c(middle - 28)}V{c(middle + 22)}" stroke="{INK}" stroke-width="2" stroke-dasharray="3 5"/>',
        f'<path d="M{c(at(verdict.low))} {c(middle)}H{c(at(verdict.high))}" stroke="{mark.colour}" stroke-width="6"/>',
        f'<circle cx="{c(at(verdict.value))}" cy="{c(middle)}" r="9" fill="{mark.colour if mark.filled else "#fff"}" {edge}/>',
        text(_MIDDLE, middle + 40, needs_text(claim), anchor="middle", fill=MUTED),
        text(_MIDDLE, middle - 44, with_minus(value_cell(verdict)), anchor="middle", fill=INK),
    ]
    if _twin(verdict):
        x, grey = at(verdict.twin), MODELS["random twin"].colour
        body.append(
            f'<rect x="{c(x - 8)}" y="{c(middle - 8)}" width="16" height="16" fill="{grey}"><title>random twin: '
            f"{twin_cell(verdict)}</title></rect>"
        )
    return body


def _sign(verdict: str, y: float) -> list[str]:
    """A filled disc, a crossed circle, or an empty one."""
    c, x = coordinate, _SIGN
    disc = f'<circle cx="{c(x)}" cy="{c(y)}" r="14" fill="{INK if verdict == HOLDS else "none"}" stroke="{INK}" stroke-width="3"/>'
    cross = (
        f'<path d="M{c(x - 9)} {c(y - 9)}l18 18m0 -18l-18 18" stroke="{INK}" stroke-width="3"/>'
        if verdict == FAILS
        else ""
    )
    return [disc + cross, text(x + 28, y, _WORDS.get(verdict, "undecided"))]


def _broken(sentence: str) -> list[str]:
    """In lines as wide as the column, three at most."""
    lines = [""]
    for word in sentence.split():
        longer = f"{lines[-1]} {word}".strip()
        if text_width(longer, _EM) > _CLAIM and lines[-1]:
            lines.append(word)
        else:
            lines[-1] = longer
    return [*lines[:2], shortened(" ".join(lines[2:]), _EM, _CLAIM)] if len(lines) > 3 else lines
