"""Decided claims: a table for a slide, the lines that decide, and a whole page for the record."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import groupby
from pathlib import PurePath

import numpy as np

from ..claims import EXACTNESS, FAILS, HOLDS, OPEN
from ._svg import content
from .palette import INK, MUTED, OKABE_ITO, PAPER, RULE
from .pictures import TextTable

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
        line = f" > {claim.line:g}" if claim.statistic is not None else ""
        open_because = claim.statistic is not None and verdict.verdict == OPEN
        why = f" ({verdict.why})" if open_because else ""
        lines.append(f"- *{claim.sentence}*: {claim.operational}{line}{why}")
    return "\n".join(lines)


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
                f"    {verdict.verdict}: {verdict.why}"
            )
        blocks.append("")
    return "\n".join([*blocks, count_verdicts(verdicts)])


# --- as a page -----------------------------------------------------------------------------------------------

_STYLE = f"""
body {{ font: 16px/1.45 system-ui, 'Segoe UI', 'Helvetica Neue', 'DejaVu Sans', sans-serif; color: {INK}; background: {PAPER};
  margin: 1.5rem auto; max-width: 96rem; padding: 0 1rem; }}
h1 {{ font-size: 1.6rem; margin: 0 0 .5rem; }}
p {{ margin: .4rem 0; max-width: 60rem; }}
.scroll {{ overflow-x: auto; }}
table {{ border-collapse: collapse; margin: 1rem 0; }}
caption {{ text-align: left; font-weight: 600; padding: .4rem 0; }}
th, td {{ text-align: left; vertical-align: top; padding: .35rem .6rem; border-bottom: 1px solid {RULE}; font-weight: 400; }}
thead th {{ font-weight: 600; border-bottom: 2px solid {INK}; }}
th[scope=row] strong, .lesson th {{ font-weight: 600; }}
small {{ display: block; color: {MUTED}; }}
.value {{ white-space: nowrap; font-variant-numeric: tabular-nums; }}
.verdict {{ border-left: .4rem solid {MUTED}; }}
.holds {{ border-left-color: {OKABE_ITO["green"]}; }}
.fails {{ border-left: .4rem double {OKABE_ITO["vermillion"]}; }}
.open {{ border-left-style: dotted; }}
"""
_RULE = (
    "A claim holds if the whole 95 % interval lies above its line and above that of a randomly initialised twin, which does "
    "not lie above the line; it does not hold if the whole interval lies below the line. Heads and layers are chosen on "
    "other inputs than those that report."
)
_CLASS = {HOLDS: "holds", FAILS: "fails", OPEN: "open"}
_COLUMNS = ("Claim", "Published", "Measured here; the line", "Value [95 %]", "Random twin [95 %]", "Verdict")


def claims_page(verdicts: Sequence, *, about: Sequence[str] = ()) -> str:
    """All verdicts as one HTML page that asks nobody for anything: no script, no font, no address to load.

    Parameters
    ----------
    verdicts : sequence of Verdict
    about : sequence of str
        Sentences to print above the table: model, texts, version.
    """
    title = f"The ledger of {model_name(verdicts)}" if verdicts else "The ledger"
    body = []
    for lesson, group in groupby(verdicts, lambda verdict: verdict.claim.lesson):
        body.append(
            f'<tbody><tr class="lesson"><th scope="rowgroup" colspan="{len(_COLUMNS)}">Lesson {content(lesson)}</th></tr>'
        )
        body += [_page_row(verdict) for verdict in group]
        body.append("</tbody>")
    tags = "; ".join(f"{letter}: {meaning}" for letter, meaning in EXACTNESS.items())
    paragraphs = [
        *about,
        count_verdicts(verdicts),
        _RULE,
        f"How exact a published value is: {tags}.",
    ]
    return "\n".join(
        [
            '<!DOCTYPE html>\n<html lang="en">\n<head>\n<meta charset="utf-8">',
            "<meta http-equiv=\"Content-Security-Policy\" content=\"default-src 'none'; style-src 'unsafe-inline'\">",
            '<meta name="viewport" content="width=device-width, initial-scale=1">',
            f"<title>{content(title)}</title>\n<style>{_STYLE}</style>\n</head>\n<body>\n<main>",
            f"<h1>{content(title)}</h1>",
            *(f"<p>{content(paragraph)}</p>" for paragraph in paragraphs),
            '<div class="scroll" tabindex="0" role="region" aria-label="Claims and verdicts">',
            "<table>\n<caption>Published sentences and what this model has to say</caption>",
            "<thead><tr>",
            *(f'<th scope="col">{column}</th>' for column in _COLUMNS),
            "</tr></thead>",
            *body,
            "</table>\n</div>\n</main>\n</body>\n</html>\n",
        ]
    )


def _page_row(verdict) -> str:
    claim = verdict.claim
    where = ", ".join(filter(None, (claim.source, claim.section)))
    erratum = f"<small>Erratum: {content(claim.erratum)}.</small>" if claim.erratum else ""
    line = f" &gt; {claim.line:g}" if claim.statistic is not None else ""
    n = f"<small>n = {verdict.n}{f', chosen on {verdict.n_choice}' if verdict.n_choice else ''}</small>"
    twin = twin_cell(verdict)
    if twin != "-":
        twin += f" [{_digits(verdict.twin_low)}, {_digits(verdict.twin_high)}]"
    return (
        f'<tr><th scope="row"><strong>{content(claim.sentence)}</strong><small>{content(where)}</small>'
        f"<small>{content(claim.key)}</small></th>"
        f"<td>{content(published_cell(verdict))}{erratum}</td>"
        f"<td>{content(claim.operational)}{line}<small>Refuted if {content(claim.refuted_if)}.</small></td>"
        f'<td class="value">{content(value_cell(verdict))}{n if verdict.n else ""}</td>'
        f'<td class="value">{content(twin)}</td>'
        f'<td class="verdict {_CLASS[verdict.verdict]}">{content(verdict.verdict)}<small>{content(verdict.why)}</small></td></tr>'
    )
