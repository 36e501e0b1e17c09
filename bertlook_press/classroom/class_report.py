"""What the teacher gets of what a class handed in: one page, and rows for a table."""

from __future__ import annotations

from collections import Counter
from html import escape

from bertlook_course.syllabus import lesson

from .class_games import games
from .collect import Gathered, clean
from .export.deck import page_head

_POLICY = "default-src 'none'; style-src 'unsafe-inline'"
_STYLE = """
body { font: 17px/1.45 system-ui, sans-serif; max-width: 75rem; margin: 1.5rem auto; padding: 0 1rem; color: #1a1a1a; background: #fff; }
table { border-collapse: collapse; margin: .6rem 0 1.4rem; } caption { text-align: left; font-weight: 600; padding: .3rem 0; }
th, td { border: 1px solid #999; padding: .25rem .6rem; text-align: left; vertical-align: top; }
td.n { text-align: right; font-variant-numeric: tabular-nums; } .scroll { overflow-x: auto; }
@media print { .scroll { overflow: visible; } tr { break-inside: avoid; } }
"""
SEAL = (
    "What is known: a sheet carries a digest of its content, so that a number changed by hand is noticed and the sheet left out. What is not: the "
    "digest is not a signature; whoever reads the course's code can make a sheet, copy another's, or write outputs into a notebook. Only a notebook "
    "that is run again shows that its answers are right, and none shows whose they are."
)


def student_rows(found: Gathered) -> list[dict]:
    """One row a check of a student: for the CSV, which `csv_text` makes so that a spreadsheet runs nothing of it."""
    return [
        {
            "student": clean(student),
            "lesson": number,
            "check": name,
            "status": status,
            "mistake": clean(one.sheet.mistakes.get(name, "")),
            "kind": one.kind,
            "file": clean(one.source),
        }
        for (student, number), one in sorted(found.hand_ins.items())
        for name, status in one.sheet.answers.items()
    ]


def class_page(found: Gathered) -> str:
    """The page: who reached what, what was misunderstood, the labelling game, what was left out. Everything from a file is escaped."""
    numbers = sorted({number for _, number in found.hand_ins})
    parts = [
        *page_head("What the class handed in", [_STYLE], _POLICY),
        "<body><main><h1>What the class handed in</h1>",
    ]
    parts.append(
        f"<p>{len(found.students)} students, {len(found.hand_ins)} lessons handed in, {len(found.labels)} games. {SEAL}</p>"
    )
    if numbers:
        parts += _who_reached_what(found, numbers)
    for number in numbers:
        parts += _misunderstood(found, number)
    for game in games(found):
        parts += _game(game)
    if found.notes:
        parts += [
            "<h2>Left out, or replaced</h2><ul>",
            *(f"<li>{escape(clean(note))}</li>" for note in found.notes),
            "</ul>",
        ]
    return "\n".join([*parts, "</main></body></html>", ""])


def _who_reached_what(found: Gathered, numbers: list[str]) -> list[str]:
    rows = []
    for student in sorted({student for student, _ in found.hand_ins}):
        held = [found.hand_ins.get((student, number)) for number in numbers]
        rows.append(
            [student, *(f"{h.sheet.right} of {len(h.sheet.answers)} ({h.kind})" if h else "" for h in held)]
        )
    head = ["student", *(f"lesson {n}" for n in numbers)]
    return _table("Who reached what: right when last run", head, rows)


def _misunderstood(found: Gathered, number: str) -> list[str]:
    sheets = [one.sheet for (_, n), one in found.hand_ins.items() if n == number]
    rows = []
    for name in sheets[0].answers:
        counts = Counter(sheet.answers[name] for sheet in sheets)
        said = Counter(clean(sheet.mistakes[name]) for sheet in sheets if name in sheet.mistakes)
        words = "; ".join(f"{mistake} ({times})" for mistake, times in said.most_common(3))
        of_each = (counts[s] for s in ("right", "wrong", "unanswered", "not run"))
        rows.append([name.replace("_", " "), *of_each, words])
    rows.sort(key=lambda row: -row[2])
    head = ["check", "right", "not right yet", "not answered", "not run", "what the check named"]
    title = f"Lesson {number}, {lesson(number).title}: what was misunderstood most comes first"
    return _table(title, head, rows)


def _game(game) -> list[str]:
    parts = [f"<h2>The labelling game {escape(game.name)}: {game.students} students</h2>"]
    if len(game.kappas):
        mean = sum(game.kappas) / len(game.kappas)
        parts.append(
            f"<p>Kappa of two students: {mean:.2f} in the mean of {len(game.kappas)} pairs, from {min(game.kappas):.2f} to {max(game.kappas):.2f}.</p>"
        )
    if game.with_rule:
        share = 100 * sum(game.with_rule) / len(game.with_rule)
        parts.append(
            f"<p>Labels that are the rule's: {share:.0f} % in the mean of {len(game.with_rule)} students.</p>"
        )
    rows = [
        [i, ", ".join(f"{name} {n}" for name, n in votes.most_common()), rule]
        for i, votes, rule in game.split[:10]
    ]
    if rows:
        title = "Maps on which the class is most divided"
        parts += _table(title, ["map", "labels of the class", "the rule"], rows)
    return parts


def _table(title: str, head: list[str], rows: list[list]) -> list[str]:
    def cells(row):
        first, *rest = row
        return f'<th scope="row">{escape(str(first))}</th>' + "".join(
            f'<td class="n">{cell}</td>' if isinstance(cell, int) else f"<td>{escape(cell)}</td>"
            for cell in rest
        )

    return [
        f'<div class="scroll"><table><caption>{escape(title)}</caption>',
        f"<thead><tr>{''.join(f'<th scope=col>{escape(name)}</th>' for name in head)}</tr></thead><tbody>",
        *(f"<tr>{cells(row)}</tr>" for row in rows),
        "</tbody></table></div>",
    ]
