"""All decided claims as one HTML page for the record: contents, a summary, a filter, one table for each lesson. It runs no script."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from itertools import groupby

import numpy as np

from bertlook_teach.views import INK, MUTED, OKABE_ITO, PAPER, RULE, attribute, content

from ...claims import EXACTNESS, FAILS, HOLDS, OPEN, RECORDED_COLUMN, VERDICT_RULE
from ...syllabus import LESSONS
from .claims import (
    NO_CONTROL,
    count_verdicts,
    interval_markup,
    measured_text,
    model_name,
    original_note,
    published_cell,
    twin_cell,
)

_VERDICTS = {HOLDS: "holds", FAILS: "fails", OPEN: "open"}  # and their names in the style sheet

_HIDE = ",\n".join(f"main:has(#show-{name}:checked) tr.claim:not(.{name})" for name in _VERDICTS.values())

FIGURE_STYLE = f"""
body {{ font: 16px/1.45 system-ui, 'Segoe UI', 'Helvetica Neue', 'DejaVu Sans', sans-serif; color: {INK}; background: {PAPER};
  margin: 1.5rem auto; max-width: 96rem; padding: 0 1rem; }}
h1 {{ font-size: 1.6rem; margin: 0 0 .5rem; }}
h2 {{ font-size: 1.25rem; margin: 2rem 0 .3rem; }}
p {{ margin: .4rem 0; max-width: 60rem; }}
a {{ color: {OKABE_ITO["blue"]}; }}
.scroll {{ overflow-x: auto; }}
table {{ border-collapse: collapse; margin: .5rem 0; }}
table.claims {{ width: 100%; min-width: 60rem; table-layout: fixed; }}
caption {{ text-align: left; color: {MUTED}; padding: .2rem 0; }}
th, td {{ text-align: left; vertical-align: top; padding: .35rem .6rem; border-bottom: 1px solid {RULE}; font-weight: 400;
  overflow-wrap: break-word; }}
thead th {{ font-weight: 600; border-bottom: 2px solid {INK}; }}
tfoot th, tfoot td {{ font-weight: 600; border-top: 2px solid {INK}; }}
th[scope=row] strong {{ font-weight: 600; }}
small {{ display: block; color: {MUTED}; font-size: .85rem; }}
.value, .summary td {{ font-variant-numeric: tabular-nums; }}
.summary td {{ text-align: right; }}
.verdict {{ border-left: .4rem solid {MUTED}; }}
.holds .verdict {{ border-left-color: {OKABE_ITO["green"]}; }}
.fails .verdict {{ border-left: .4rem double {OKABE_ITO["vermillion"]}; }}
.open .verdict {{ border-left-style: dotted; }}
fieldset {{ border: 1px solid {RULE}; border-radius: .3rem; margin: 1rem 0; padding: .3rem .8rem .5rem; max-width: 60rem; }}
fieldset label {{ margin-right: 1.4rem; white-space: nowrap; }}
tr:target {{ outline: 3px solid {OKABE_ITO["blue"]}; outline-offset: -3px; }}
:focus-visible {{ outline: 3px solid {OKABE_ITO["blue"]}; outline-offset: 2px; }}
{_HIDE} {{ display: none; }}
@media print {{
  @page {{ size: A4 landscape; margin: 12mm; }}
  body {{ font-size: 9.5pt; margin: 0; max-width: none; padding: 0; }}
  fieldset {{ display: none; }}
  .scroll {{ overflow: visible; }}
  table.claims {{ min-width: 0; }}
  thead {{ display: table-header-group; }}
  tr, h2 {{ break-inside: avoid; }}
  h2 {{ break-after: avoid; }}
  a {{ color: inherit; text-decoration: none; }}
}}
"""

_RULE = (
    f"{VERDICT_RULE} The intervals are of 95 %. A claim without control by the twin is decided by its own interval. Heads and layers are "
    "chosen on other inputs than those that report."
)

# Column, its share of the width in per cent.
_COLUMNS = (
    ("Claim", 21),
    ("Published", 14),
    ("Measured here; the line", 25),
    ("Value [95 %]", 13),
    ("Random twin [95 %]", 13),
    ("Verdict", 14),
)
_WITH_RECORDED = (*zip((name for name, _ in _COLUMNS), (18, 12, 21, 12, 11, 12)), (RECORDED_COLUMN, 14))


def claims_page(
    verdicts: Sequence, *, about: Sequence[str] = (), recorded: Mapping[str, object] | None = None
) -> str:
    """All verdicts as one HTML page that asks nobody for anything: no script, no font, no address to load.

    A summary links to one table for each lesson; buttons show the claims of one verdict only, by style alone, so that they work in a file
    from a mail. Each claim has its key as address: ``claims.html#03-back``. Printed, the page is a landscape report.

    Parameters
    ----------
    verdicts : sequence of Verdict
        Those of a lesson next to one another.
    about : sequence of str
        Sentences to print above the table: model, texts, version.
    recorded : mapping of key -> RecordedVerdict, optional
        From `bertlook_course.claims.recorded_verdicts`: a last column, with a verdict of its own where there is one.
    """
    title = f"The ledger: {model_name(verdicts)}" if verdicts else "The ledger"
    by_lesson = {
        lesson: list(group) for lesson, group in groupby(verdicts, lambda verdict: verdict.claim.lesson)
    }
    tags = "; ".join(f"{letter}: {meaning}" for letter, meaning in EXACTNESS.items())
    paragraphs = [*about, count_verdicts(verdicts), _RULE, f"How exact a published value is: {tags}."]
    return "\n".join(
        [
            '<!DOCTYPE html>\n<html lang="en">\n<head>\n<meta charset="utf-8">',
            "<meta http-equiv=\"Content-Security-Policy\" content=\"default-src 'none'; style-src 'unsafe-inline'\">",
            '<meta name="viewport" content="width=device-width, initial-scale=1">',
            f"<title>{content(title)}</title>\n<style>{FIGURE_STYLE}</style>\n</head>\n<body>\n<main>",
            f"<h1>{content(title)}</h1>",
            *(f"<p>{content(paragraph)}</p>" for paragraph in paragraphs),
            *(_summary(by_lesson) if len(by_lesson) > 1 else []),
            _filter(verdicts),
            *(part for lesson, group in by_lesson.items() for part in _section(lesson, group, recorded)),
            "</main>\n</body>\n</html>\n",
        ]
    )


def _summary(by_lesson: dict[str, list]) -> list[str]:
    """How many claims of each lesson came out how, and the way to them."""
    rows, total = [], Counter()
    for lesson, group in by_lesson.items():
        counts = Counter(verdict.verdict for verdict in group)
        total += counts
        link = f'<a href="#lesson-{attribute(lesson)}">{content(_lesson_title(lesson))}</a>'
        rows.append(f'<tr><th scope="row">{link}</th>{_counts(counts)}</tr>')
    head = "".join(f'<th scope="col">{name}</th>' for name in ("lesson", *_VERDICTS, "claims"))
    return [
        '<nav aria-label="Contents"><table class="summary">',
        "<caption>Verdicts by lesson</caption>",
        f"<thead><tr>{head}</tr></thead><tbody>",
        *rows,
        f'</tbody><tfoot><tr><th scope="row">all</th>{_counts(total)}</tr></tfoot></table></nav>',
    ]


def _counts(counts: Counter) -> str:
    return "".join(f"<td>{counts[name]}</td>" for name in _VERDICTS) + f"<td>{sum(counts.values())}</td>"


def _filter(verdicts: Sequence) -> str:
    counts = Counter(verdict.verdict for verdict in verdicts)
    choices = [("all", "all claims", len(verdicts), ' checked=""')]
    choices += [(key, name, counts[name], "") for name, key in _VERDICTS.items()]
    labels = "\n".join(
        f'<label><input type="radio" name="show" id="show-{key}"{checked} /> {name} ({n})</label>'
        for key, name, n, checked in choices
    )
    return f"<fieldset><legend>Show</legend>\n{labels}\n</fieldset>"


def _section(lesson: str, verdicts: Sequence, recorded: Mapping | None) -> list[str]:
    name = _lesson_title(lesson)
    columns = _WITH_RECORDED if recorded else _COLUMNS
    return [
        f'<h2 id="lesson-{attribute(lesson)}">{content(name)}</h2>',
        f'<div class="scroll" tabindex="0" role="region" aria-label="{attribute(f"Claims of lesson {lesson}")}">',
        f'<table class="claims">\n<caption>{content(count_verdicts(verdicts))}</caption>',
        "<colgroup>" + "".join(f'<col style="width:{share}%" />' for _, share in columns) + "</colgroup>",
        "<thead><tr>" + "".join(f'<th scope="col">{column}</th>' for column, _ in columns) + "</tr></thead>",
        "<tbody>",
        *(_row(verdict, recorded) for verdict in verdicts),
        "</tbody></table></div>",
    ]


def _lesson_title(number: str) -> str:
    titles = {lesson.number: lesson.title for lesson in LESSONS}
    return f"Lesson {number} · {titles[number]}" if number in titles else f"Lesson {number}"


def _row(verdict, recorded: Mapping | None) -> str:
    claim = verdict.claim
    last = f'<td class="value">{_recorded_cell(recorded.get(claim.key), claim)}</td>' if recorded else ""
    where = ", ".join(filter(None, (claim.source, claim.section)))
    original = f"<small>{content(original_note(verdict))}</small>" if claim.original_text() else ""
    erratum = f"<small>Erratum: {content(claim.erratum)}.</small>" if claim.erratum else ""
    n = f"<small>n = {verdict.n}{f', chosen on {verdict.n_choice}' if verdict.n_choice else ''}</small>"
    ours = interval_markup(claim, verdict.value, verdict.low, verdict.high)
    twin = interval_markup(claim, verdict.twin, verdict.twin_low, verdict.twin_high)
    if twin_cell(verdict) == NO_CONTROL:
        twin = "no control"
    return (
        f'<tr class="claim {_VERDICTS[verdict.verdict]}" id="{attribute(claim.key)}">'
        f'<th scope="row"><strong>{content(claim.sentence)}</strong><small>{content(where)}</small>'
        f'<small><a href="#{attribute(claim.key)}">{content(claim.key)}</a></small></th>'
        f"<td>{content(published_cell(verdict))}{original}{erratum}</td>"
        f"<td>{content(measured_text(claim))}<small>Refuted if {content(claim.refuted_text())}.</small></td>"
        f'<td class="value">{ours}{n if verdict.n else ""}</td>'
        f'<td class="value">{twin}</td>'
        f'<td class="verdict">{content(verdict.verdict)}<small>{content(verdict.why)}</small></td>{last}</tr>'
    )


def _recorded_cell(found, claim) -> str:
    """The verdict on the recording, its number and why it is open; a dash where there is none, or where the claim's line has moved since."""
    if found is None or not np.isclose(found.threshold, claim.threshold, atol=5e-5):  # four digits are kept
        return "-"
    if np.isnan(found.value):
        return f"{content(found.verdict)}<small>{content(found.why)}</small>"
    numbers = interval_markup(claim, found.value, found.low, found.high)
    return f"{content(found.verdict)}<small>{numbers}; n = {found.n}</small>"
