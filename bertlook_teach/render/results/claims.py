"""Decided claims: a table for a slide, the lines that decide, plain characters for a terminal."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import groupby
from pathlib import PurePath

import numpy as np

from ...claims import FAILS, HOLDS, OPEN
from ..drawing.text_table import TextTable

_FOOTNOTES = "¹²³⁴⁵⁶⁷⁸⁹"

_SHORT = {"P": "printed", "V": "vector figure", "O": "their output", "A": "raster figure", "D": "derived"}

_SHORT |= {"N": "from notes", "S": "reproduction"}


# --- on a slide ------------------------------------------------------------------------------------------
def claim_table(verdicts: Sequence) -> TextTable:
    """One row a claim: what was published, our value with its interval, the random twin's, and the verdict.

    The letter behind a published value says how exact it is, the caption what the letters mean, how many inputs there
    were, and what is wrong with a claim where it was published.

    Parameters
    ----------
    verdicts : sequence of Verdict
        From `bertlook_teach.claims.decide` or `decide_lesson`.
    """
    if not verdicts:
        raise ValueError("a table of claims needs at least one verdict; got none.")
    header = ["claim", "published", f"{model_name(verdicts)} [95 %]", "twin", "verdict"]
    notes = [verdict.claim.erratum for verdict in verdicts if verdict.claim.erratum]
    marks = {note: _mark(i) for i, note in enumerate(dict.fromkeys(notes))}
    rows = [
        [
            verdict.claim.sentence,
            published_cell(verdict, marks.get(verdict.claim.erratum, "")),
            value_cell(verdict),
            twin_cell(verdict),
            verdict.verdict,
        ]
        for verdict in verdicts
    ]
    caption = [counts_sentence(verdicts), tags_sentence(verdicts)]
    caption += [f"{mark} {note[0].upper()}{note[1:]}." for note, mark in marks.items()]
    return TextTable(header, rows, " ".join(filter(None, caption)))


def claim_lines(verdicts: Sequence) -> str:
    """What decides each claim, with its line, as a list in Markdown; and why, where nothing could be decided."""
    lines = []
    for verdict in verdicts:
        claim = verdict.claim
        line = _line(claim)
        open_because = claim.statistic is not None and verdict.verdict == OPEN
        why = f" ({verdict.why})" if open_because else ""
        lines.append(f"- *{claim.sentence}*: {claim.operational}{line}{why}")
    return "\n".join(lines)


def _line(claim) -> str:
    return f" > {claim.threshold:g}" if claim.statistic is not None else ""


def count_verdicts(verdicts: Sequence) -> str:
    """How many claims hold, do not hold, and cannot be decided.

    >>> count_verdicts([])
    'Of 0 claims 0 hold, 0 do not hold, and 0 cannot be decided here.'
    """
    holds, fails, left = (
        sum(verdict.verdict == result for verdict in verdicts) for result in (HOLDS, FAILS, OPEN)
    )
    return f"Of {len(verdicts)} claims {holds} hold, {fails} do not hold, and {left} cannot be decided here."


def model_name(verdicts: Sequence) -> str:
    """Short name of the model: of a folder the last part, as there is little room above a column."""
    name = PurePath(verdicts[0].model.replace("\\", "/")).name or "model"
    return name if len(name) <= 24 else f"{name[:23]}…"


def published_cell(verdict, mark: str = "") -> str:
    """The published value with the letter for its exactness: ``"0.57, layer 9 (V)"``."""
    tag = f" ({verdict.claim.exactness})" if verdict.published and verdict.claim.exactness else ""
    return f"{verdict.published or '-'}{tag}{mark}"


def value_cell(verdict) -> str:
    """Our value with its interval, or a dash."""
    if np.isnan(verdict.value):
        return "-"
    value, low, high = map(_digits, (verdict.value, verdict.low, verdict.high))
    return f"{value} [{_shorter(low)}, {_shorter(high)}]"


def twin_cell(verdict) -> str:
    return "-" if np.isnan(verdict.twin) else _digits(verdict.twin)


def counts_sentence(verdicts: Sequence) -> str:
    """How many inputs report, and how many chose heads and layers; a range where the claims differ."""
    reported = sorted({verdict.n for verdict in verdicts if verdict.n})
    chose = sorted({verdict.n_choice for verdict in verdicts if verdict.n and verdict.n_choice})
    if not reported:
        return ""
    choice = f"; heads and layers chosen on {_span(chose)} others" if chose else ""
    return f"n = {_span(reported)} inputs{choice}."


def tags_sentence(verdicts: Sequence) -> str:
    """What the letters of exactness mean that occur."""
    used = dict.fromkeys(
        letter for v in verdicts if v.published for letter in v.claim.exactness.split("/") if letter
    )
    return f"{', '.join(f'{letter}: {_SHORT[letter]}' for letter in used)}." if used else ""


def _mark(i: int) -> str:
    return _FOOTNOTES[i] if i < len(_FOOTNOTES) else f"[{i + 1}]"


def _span(counts: Sequence[int]) -> str:
    return f"{counts[0]}" if len(counts) == 1 else f"{counts[0]} to {counts[-1]}"


def _shorter(number: str) -> str:
    """Without the zero before the point, so that a table of four columns fits a slide: ".98"."""
    return number.replace("0.", ".", 1) if number.startswith(("0.", "-0.")) else number


def _digits(value: float) -> str:
    # "-0.00" would make a class look for a minus that is not there.
    return f"{value:.2f}".replace("-0.00", "0.00")


# --- in a terminal -----------------------------------------------------------------------------------------
def claims_text(verdicts: Sequence) -> str:
    """The verdicts as plain characters, claim by claim: what the command prints."""
    blocks = []
    for lesson, group in groupby(verdicts, lambda verdict: verdict.claim.lesson):
        blocks.append(f"Lesson {lesson}")
        for verdict in group:
            ours, twin, published = value_cell(verdict), twin_cell(verdict), published_cell(verdict)
            n = f", n={verdict.n}" if verdict.n else ""
            blocks.append(
                f"  {verdict.claim.key}: {verdict.claim.sentence}\n"
                f"    published {published}; here {ours}{n}; random twin {twin}\n"
                f"    measured: {verdict.claim.operational}{_line(verdict.claim)}\n"
                f"    {verdict.verdict}: {verdict.why}"
            )
        blocks.append("")
    return "\n".join([*blocks, count_verdicts(verdicts)])
