"""Decided claims: a table for a slide, the lines that decide, plain characters for a terminal."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import groupby

import numpy as np

from bertlook_teach.model import model_title

from ...claims import FAILS, HOLDS, NOISE, OPEN, VERDICT_RULE
from ..drawing.layout import joined
from ..drawing.text_table import TextTable

_FOOTNOTES = "¹²³⁴⁵⁶⁷⁸⁹"

_SHORT = {"P": "printed", "V": "figure, exact", "O": "their output", "A": "figure, read off", "D": "derived"}

_SHORT |= {"N": "from notes", "S": "reproduction"}


NO_CONTROL = "—"  # in the twin's column; a plain dash is a number that is missing


# --- on a slide ------------------------------------------------------------------------------------------
def claim_table(verdicts: Sequence) -> TextTable:
    """One row a claim: what was published, what the claim needs, our value with its interval, the random twin's, and the verdict.

    The letter behind a published value says how exact it is, the caption how a verdict is made, what the letters mean, how many inputs there
    were, what was published where the value is shown in another unit, and what is wrong with a claim where it was published.

    Parameters
    ----------
    verdicts : sequence of Verdict
        From `bertlook_course.claims.decide` or `decide_lesson`.
    """
    if not verdicts:
        raise ValueError("a table of claims needs at least one verdict; got none.")
    header = ["claim", "published", "needs", f"{model_name(verdicts)} [95 %]", "twin", "verdict"]
    notes = [_footnote(verdict) for verdict in verdicts]
    marks = {note: _mark(i) for i, note in enumerate(dict.fromkeys(filter(None, notes)))}
    rows = [
        [
            verdict.claim.sentence,
            published_cell(verdict, marks.get(note, "")),
            needs_cell(verdict.claim),
            value_cell(verdict),
            twin_cell(verdict),
            verdict.verdict,
        ]
        for verdict, note in zip(verdicts, notes)
    ]
    caption = [counts_sentence(verdicts)]
    if any(row[4] == NO_CONTROL for row in rows):
        caption.append(f"Twin {NO_CONTROL}: no control by a random twin.")
    caption += [tags_sentence(verdicts), *(f"{mark} {note}" for note, mark in marks.items())]
    if any(verdict.claim.statistic is not None for verdict in verdicts):
        caption.append(VERDICT_RULE)
    return TextTable(header, rows, " ".join(filter(None, caption)))


def claim_card(verdict) -> TextTable:
    """One claim with all that decides it, a line each, but the verdict."""
    table = claim_table([verdict])
    cells = dict(zip(table.header[:-1], table.rows[0]))
    cells["claim"] += f" ({verdict.claim.source})"
    cells |= {"what is measured": verdict.claim.operational, "refuted if": verdict.claim.refuted_text()}
    return TextTable(["on trial", "what decides it"], [list(cell) for cell in cells.items()], table.caption)


def measured_text(claim) -> str:
    """What is measured, and what the claim needs of it: ``"share of the best head > .50"``."""
    return f"{claim.operational} {needs}" if (needs := needs_text(claim)) else claim.operational


def needs_text(claim) -> str:
    """What the measured quantity has to be: ``"> .50"``, ``"< .10"``; nothing where there is nothing to decide."""
    if claim.statistic is None:
        return ""
    return f"{'<' if claim.below else '>'} {claim.line()}"


def needs_cell(claim) -> str:
    return needs_text(claim) or "-"


def count_verdicts(verdicts: Sequence) -> str:
    """How many claims hold, do not hold, and cannot be decided; what is true of none is not named.

    >>> count_verdicts([])
    'All 0 claims hold.'
    """
    holds, fails, left = (
        sum(verdict.verdict == result for verdict in verdicts) for result in (HOLDS, FAILS, OPEN)
    )
    said = f"Of {len(verdicts)} claims {holds or 'none'} {'holds' if holds <= 1 else 'hold'}"
    said += f", {fails} {'does' if fails == 1 else 'do'} not hold" * bool(fails)
    said += f", {left} cannot be decided here" * bool(left)
    return f"All {holds} claims hold." if holds == len(verdicts) else f"{said}."


def model_name(verdicts: Sequence) -> str:
    """Short name of the model, as there is little room above a column."""
    name = model_title(verdicts[0].model).partition(",")[0] or "model"
    return name if len(name) <= 24 else f"{name[:23]}…"


def published_cell(verdict, mark: str = "") -> str:
    """The published value with the letter for its exactness: ``"0.57, layer 9 (V)"``."""
    tag = f" ({verdict.claim.exactness})" if verdict.published and verdict.claim.exactness else ""
    return f"{verdict.published or '-'}{tag}{mark}"


def value_cell(verdict) -> str:
    """Our value with its interval, or a dash: of the quantity that is measured, and to as many places as its line has, or one more."""
    if np.isnan(verdict.value):
        return "-"
    value, low, high = _interval(verdict.claim, verdict.value, verdict.low, verdict.high)
    return f"{value} [{_shorter(low)}, {_shorter(high)}]"


def twin_cell(verdict) -> str:
    """The random twin's value; a dash where it is not a control, or has none."""
    if not verdict.claim.control and not np.isnan(verdict.value):
        return NO_CONTROL
    if np.isnan(verdict.twin):
        return "-" if np.isnan(verdict.value) else "not measured"
    return _digits(verdict.claim.quantity(verdict.twin), verdict.claim.places())


def interval_markup(claim, value: float, low: float, high: float) -> str:
    """A statistic of a claim with its interval as the measured quantity, in HTML: the interval may stand on a line of its own but is not broken."""
    if np.isnan(value):
        return "-"
    value, low, high = _interval(claim, value, low, high)
    return f'{value} <span style="white-space:nowrap">[{low}, {high}]</span>'


def original_note(verdict) -> str:
    """What was published where the value is shown in another unit or not at all: a sentence, or nothing."""
    original, exactness = verdict.claim.original_text(), verdict.claim.exactness
    tag = f" ({exactness})" if exactness and not verdict.published else ""
    return f"Published: {original}{tag}." if original else ""


def _footnote(verdict) -> str:
    erratum = verdict.claim.erratum
    return " ".join(
        filter(None, [original_note(verdict), f"{erratum[0].upper()}{erratum[1:]}." if erratum else ""])
    )


CHOICE = "heads and layers{rows} chosen on {others} others"


def counts_sentence(verdicts: Sequence, unit: str = "inputs", whose: str = "", choice: str = CHOICE) -> str:
    """How many inputs report, and how many chose heads and layers, or those of some rows; a range where the claims differ.

    ``choice`` says what was chosen, with ``{others}`` for how many did so and ``{rows}`` for the rows.
    """
    reported = sorted({verdict.n for verdict in verdicts if verdict.n})
    chose = sorted({verdict.n_choice for verdict in verdicts if verdict.n and verdict.n_choice})
    if not reported:
        return ""
    chosen = f"; {choice.format(rows=whose, others=_span(chose))}" if chose else ""
    return f"n = {_span(reported)} {unit}{chosen}."


def counted_units(verdicts: Sequence) -> str:
    """What n counts on the course's own corpora: ``"sentences"``, ``"documents or paragraphs"``."""
    found = {
        "layers or heads"
        if "published" in verdict.model
        else getattr(verdict.claim.collect, "unit", "inputs")
        for verdict in verdicts
        if verdict.n
    }
    return joined(sorted(found) or ["inputs"], "or")


def counts_by_row(verdicts: Sequence, choice: str = CHOICE) -> str:
    """`counts_sentence` on the course's own corpora; row by row where they count different things."""
    units = [counted_units([one]) for one in verdicts]
    if len({unit for unit, one in zip(units, verdicts) if one.n}) < 2:
        chose = [number for number, one in enumerate(verdicts, 1) if one.n and one.n_choice]
        return counts_sentence(
            verdicts, counted_units(verdicts), rows_named(" of row", chose, verdicts), choice
        )
    rows: dict[str, list[int]] = {}
    for number, (unit, one) in enumerate(zip(units, verdicts), 1):
        rows.setdefault(counts_sentence([one], unit, choice=choice), []).append(number)
    return " ".join(f"{rows_named('Row', which, verdicts)}: {said}" for said, which in rows.items() if said)


def rows_named(row: str, which: Sequence[int], verdicts: Sequence) -> str:
    """Some of the rows by their numbers, ``"rows 1 and 2"``; nothing if it is all of them."""
    if len(which) == len(verdicts):
        return ""
    return f"{row}{'s' * (len(which) > 1)} {joined([*map(str, which)])}" if which else ""


def tags_sentence(verdicts: Sequence) -> str:
    """What the letters of exactness mean that occur."""
    used = dict.fromkeys(
        letter
        for v in verdicts
        if v.published or v.claim.original_text()
        for letter in v.claim.exactness.split("/")
        if letter
    )
    return f"{', '.join(f'{letter}: {_SHORT[letter]}' for letter in used)}." if used else ""


def _mark(i: int) -> str:
    return _FOOTNOTES[i] if i < len(_FOOTNOTES) else f"[{i + 1}]"


def _span(counts: Sequence[int]) -> str:
    return f"{counts[0]}" if len(counts) == 1 else f"{counts[0]} to {counts[-1]}"


def _shorter(number: str) -> str:
    """Without the zero before the point, so that a table of four columns fits a slide: ".98"."""
    return number.replace("0.", ".", 1) if number.startswith(("0.", "-0.")) else number


def _digits(value: float, places: int = 2) -> str:
    text = f"{value:.{places}f}"
    return (
        text.lstrip("-") if float(text) == 0 else text
    )  # "-0.00" would make a class look for a minus that is not there


def _places_apart(claim, *numbers: float) -> int:
    """Three for two, where an end of the interval would be rounded to the line it is not on, or to the other end."""
    places = claim.places()
    same = numbers[0] != numbers[-1] and len({f"{n:.{places}f}" for n in numbers}) == 1
    on_line = (
        abs(n - claim.threshold) > NOISE and f"{n:.{places}f}" == f"{claim.threshold:.{places}f}"
        for n in numbers
    )
    return places + (places == 2 and (same or any(on_line)))


def _interval(claim, value: float, low: float, high: float) -> list[str]:
    """A statistic and the ends of its interval as numbers of the quantity that is measured, the lower end first."""
    ends = (high, low) if claim.below else (low, high)
    places = _places_apart(claim, low, high)
    return [_digits(claim.quantity(number), places) for number in (value, *ends)]


# --- in a terminal -----------------------------------------------------------------------------------------
def claims_text(verdicts: Sequence) -> str:
    """The verdicts as plain characters, claim by claim: what the command prints."""
    blocks = []
    for lesson, group in groupby(verdicts, lambda verdict: verdict.claim.lesson):
        blocks.append(f"Lesson {lesson}")
        for verdict in group:
            ours, twin, published = value_cell(verdict), twin_cell(verdict), published_cell(verdict)
            twin = "no control" if twin == NO_CONTROL else twin
            original = verdict.claim.original_text()
            published += f", from {original}" if original else ""
            n = f", n={verdict.n}" if verdict.n else ""
            blocks.append(
                f"  {verdict.claim.key}: {verdict.claim.sentence}\n"
                f"    published {published}; here {ours}{n}; random twin {twin}\n"
                f"    measured: {measured_text(verdict.claim)}\n"
                f"    {verdict.verdict}: {verdict.why}"
            )
        blocks.append("")
    return "\n".join([*blocks, count_verdicts(verdicts)])
