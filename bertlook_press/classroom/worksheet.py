"""A lesson on one printed page without code, its key, and three questions for an examination.

All of it comes from the deck as it was saved (a question to commit to, a picture, a row of the table of claims), from the
misconception bank, and from `bertlook_course.syllabus.QUESTIONS`. Nothing is computed here: the numbers are those of the deck. The tag
``worksheet`` marks the slide with the question and the cell with the picture.
"""

from __future__ import annotations

import json
import re
from dataclasses import dataclass
from html import escape, unescape
from pathlib import Path

from bertlook_course.claims import VERDICT_RULE, find_misconceptions
from bertlook_course.render import TABLE, TextTable, typeset_cell
from bertlook_course.syllabus import QUESTIONS, Lesson, find_deck, lesson

from .export.cells import slides_of, static_output
from .export.deck import page_file, page_head
from .export.errors import ExportError
from .export.handout import HANDOUT_POLICY

TAG = "worksheet"

_COLUMNS = {"claim", "needs", "twin", "verdict"}  # of a table of claims, beside that of the model

_INTERVAL = " [95 %]"  # with which the model's column ends

_PICTURE = re.compile(r"<svg\b.*?</svg>|<img\b[^>]*>", re.DOTALL)

_SENTENCE = re.compile(r"<figcaption[^>]*>(.*?)</figcaption>|<desc>(.*?)</desc>", re.DOTALL)

_HEADING = re.compile(r"<h[1-6]\b.*?</h[1-6]>", re.DOTALL)


@dataclass(frozen=True)
class Parts:
    """What a deck gives to its worksheet, as markup; each of ``claims`` has its cells by the names of their columns, as text."""

    question: str
    answer: str
    picture: str
    sentence: str
    claims: tuple[dict[str, str], ...]


def worksheet_parts(deck: Path) -> Parts:
    """What a saved deck gives to its worksheet.

    Raises
    ------
    ExportError
        If the deck was not tagged or not executed.
    """
    notebook = notebook_of(deck)
    slides, marked = slides_of(notebook, _on_paper), None
    picture = next((cell for cell in notebook.cells if _tagged(cell) and cell.outputs), None)
    number = -1
    for cell in notebook.cells:
        number += cell.metadata.get("slideshow", {}).get("slide_type") == "slide"
        if _tagged(cell) and cell is not picture:
            marked = number
    drawn = "".join(static_output(output) for output in picture.outputs) if picture else ""
    found = _PICTURE.search(drawn)
    tables = [table for cell in notebook.cells for output in cell.outputs if (table := _table(output))]
    claims = next((_records(table) for table in tables if _COLUMNS <= {*table.header}), ())
    if marked is None or not found or not claims:
        raise ExportError(
            f"{Path(deck).name} gives no worksheet: it needs a slide and a picture with the tag {TAG!r}, a table of claims, and the "
            "outputs of a run (tools/run_notebooks.py)."
        )
    blocks = slides[marked].blocks
    question = _HEADING.sub("", "".join(block for fragment, block in blocks if fragment is None))
    answer = "".join(block for fragment, block in blocks if fragment is not None)
    if not answer:  # the next slide answers
        answer = "".join(block for _, block in slides[marked + 1].blocks)
        answer = _text(_HEADING.sub("", re.sub(r"<(svg|table)\b.*?</\1>", "", answer, flags=re.DOTALL)))
    sentence = next((a or b for a, b in _SENTENCE.findall(drawn)), "")
    return Parts(question, answer, found[0], unescape(sentence), claims)


def _table(output: dict) -> TextTable | None:
    """The table that an output carries as data."""
    held = output["data"].get(TABLE)
    return TextTable(**held) if held else None


def _records(table: TextTable) -> tuple[dict[str, str], ...]:
    return tuple(dict(zip(table.header, map(typeset_cell, row))) for row in table.rows)


def _on_paper(output: dict) -> str:
    """An output as a page without live views shows it, but the answers of a tally one after the other: there is room for little else."""
    table = _table(output)
    if table is None or table.header != ["letter", "prediction"]:
        return static_output(output)
    choices = (f"<b>{letter}</b> {escape(meaning)}" for letter, meaning in table.rows)
    return f"<p>{' · '.join(choices)}</p>"


def render_worksheet(root: Path, number: str, *, key: bool = False, deck: Path | None = None) -> str:
    """The page of one lesson; with ``key`` the answers stand in the blanks.

    Parameters
    ----------
    root : path
        The folder that holds ``slides``.
    number : str
        The lesson's.
    key : bool
    deck : path, optional
        The lesson's deck, run with another model; by default as it was saved.
    """
    one, parts = lesson(number), worksheet_parts(deck or root / find_deck(root, number))
    asked = QUESTIONS[one.number]
    false = next(entry for entry in find_misconceptions() if entry.key == asked.false)
    items = [(false.says, False, false.true), (asked.true, True, asked.because)]
    if int(one.number) % 2:  # the true one is not always the second
        items.reverse()
    claim = parts.claims[0]
    model, found = _measured(claim)

    def blank(lines: int, answer: str) -> str:
        return f'<div class="key">{answer}</div>' if key else '<p class="line"></p>' * lines

    judged = "".join(
        f"<li>{escape(says)}<br>{_ticked('true', holds and key)} {_ticked('false', key and not holds)} because"
        f"{blank(2, escape(why))}</li>"
        for says, holds, why in items
    )
    rows = {
        "Claim": escape(claim["claim"]),
        "What would refute it?": blank(
            1, f"The claim needs {escape(claim['needs'])}: an interval wholly on the other side."
        ),
        "Needs": blank(1, escape(claim["needs"])),
        f"Found on {escape(model)}, with its interval": blank(1, escape(found)),
        "Random twin": blank(1, escape(claim["twin"])),
        "Verdict": blank(1, escape(claim["verdict"])),
    }
    card = "".join(f"<tr><th scope='row'>{name}</th><td>{what}</td></tr>" for name, what in rows.items())
    body = f"""<h2>{escape(one.question)}</h2>
<section><h3>1 · Before the lesson: commit to an answer</h3><div class="predict">{parts.question}</div>{blank(1, parts.answer)}</section>
<section><h3>2 · Read the picture</h3><div class="picture">{parts.picture}</div>
<p>Say what one mark of it stands for, and one sentence that the picture supports.</p>{blank(2, escape(parts.sentence))}</section>
<section><h3>3 · True or false? Give the reason</h3><ol type="a">{judged}</ol></section>
<section><h3>4 · A claim on trial</h3><table>{card}</table></section>"""
    return _page(one, "worksheet, key" if key else "worksheet", body, name=not key)


def _measured(claim: dict[str, str]) -> tuple[str, str]:
    """Which model a claim was tried on, as in a sentence, and what was found with its interval."""
    name, found = next(one for one in claim.items() if one[0].endswith(_INTERVAL))
    model = name.removesuffix(_INTERVAL)
    return f"the {model}" if model.startswith("specimen") else model, found


def render_exam(root: Path, number: str, *, deck: Path | None = None) -> str:
    """Three worked questions for an examination: a calculation, a claim to judge, a sentence to criticise."""
    one, parts = lesson(number), worksheet_parts(deck or root / find_deck(root, number))
    asked = QUESTIONS[one.number]
    said = next(entry for entry in find_misconceptions() if entry.key == asked.criticise)
    claim = parts.claims[-1]
    _, found = _measured(claim)
    questions = [
        ("Calculate", escape(asked.calculate), escape(asked.answer)),
        (
            "Judge",
            (
                f"“{escape(claim['claim'])}” needs {escape(claim['needs'])}. Found: {escape(found)}, random twin {escape(claim['twin'])}. What is the verdict, "
                "and what would make it undecidable?"
            ),
            f"<b>{escape(claim['verdict'])}</b>. {VERDICT_RULE} With fewer texts the interval is wider.",
        ),
        (
            "Criticise",
            f"Somebody writes: “{escape(said.says)}” What is wrong, and what would you compute to show it?",
            f"{escape(said.true)} The run: <code>bertlook misconceptions --lesson {said.lessons[0]}</code>, entry <i>{said.key}</i>.",
        ),
    ]
    body = "".join(
        f"<section><h3>{n} · {kind}</h3><p>{question}</p><p class='key'>{answer}</p></section>"
        for n, (kind, question, answer) in enumerate(questions, 1)
    )
    return _page(one, "three exam questions, worked", body, name=False)


class _Cell(dict):
    """A cell of a notebook file, read as `nbformat` hands it out."""

    __getattr__ = dict.get


class _Notebook:
    def __init__(self, content: dict):
        self.metadata = content["metadata"]
        self.cells = [_Cell(cell, source="".join(cell["source"])) for cell in content["cells"]]
        for cell in self.cells:
            cell["outputs"] = [_joined(output) for output in cell.get("outputs", ())]


def run_anew(deck: Path, folder: Path) -> Path:
    """A deck as it is when it is run now, in a file in this folder; with the model that `bertlook_course.decks.choose_model` chose.

    Raises
    ------
    ExportError
        If a cell fails.
    """
    import nbformat

    from .export.runner import read_deck, run_deck

    copy = folder / deck.name
    nbformat.write(run_deck(read_deck(deck), folder=deck.parent, name=deck.stem), copy)
    return copy


def notebook_of(path: Path) -> _Notebook:
    """A notebook file as it was saved, without the packages of Jupyter."""
    return _Notebook(json.loads(Path(path).read_text(encoding="utf-8")))


def _joined(output: dict) -> dict:
    data = {
        kind: "".join(text) if isinstance(text, list) else text
        for kind, text in output.get("data", {}).items()
    }
    return {**output, "data": data, "text": "".join(output.get("text", ""))}


def _tagged(cell) -> bool:
    return TAG in cell.metadata.get("tags", ())


def _text(markup: str) -> str:
    return " ".join(unescape(re.sub(r"<[^>]+>", " ", markup)).split())


def _ticked(word: str, chosen: bool) -> str:
    return f"{'☒' if chosen else '☐'} {word}"


def _page(one: Lesson, what: str, body: str, *, name: bool) -> str:
    title = f"Lesson {int(one.number)} · {one.title}: {what}"
    lines = [
        *page_head(title, [page_file("worksheet.css")], HANDOUT_POLICY),
        "<body><header>",
        f"<p>{escape(title)}</p>{'<p class=name>Name</p>' if name else ''}</header>",
        f"<main><h1>{escape(one.short)}</h1>{body}</main>",
        "</body></html>",
        "",
    ]
    return "\n".join(lines)
