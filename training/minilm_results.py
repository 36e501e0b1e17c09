"""Write docs/results_minilm.md: what `bertlook` commands measured with MiniLM, beside what docs/results.md says of the specimen.

    python training/minilm_results.py FOLDER

FOLDER holds a folder for each command, by the names of remake.py, which calls this: `python training/remake.py --model minilm`. What is not
there gets no section. Sentences stand here; every number is read from what was saved, and the specimen's from its page.
"""

from __future__ import annotations

import csv
import json
import sys
from collections.abc import Sequence
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
sys.path[:0] = [str(ROOT), str(ROOT / "training")]

import results_tables
from put_tables import RESULT_TABLES, RESULTS, fingerprint_of

from bertlook_course.claims import FAILS, HOLDS, OPEN
from tools.page_tables import table_below

CARD, PAGE = ROOT / "data" / "minilm" / "MODEL_CARD.md", ROOT / "docs" / "results_minilm.md"

OPENING = """# Results of MiniLM on real treebanks

What the measures give for the shipped MiniLM, 8 bits a weight, on the same data and by the same method as [the specimen's results](results.md): the same
documents, halves, baselines and intervals, and a random twin made by the same rule. The specimen's numbers are copied from that page. MiniLM cuts words into
fewer pieces and reads longer texts, so it can be asked more often: the specimen's numbers are of its own n, which stands there (GAP 1,348). Nothing here is BERT-base's.
One command makes it all from the texts that are not part of this repository: `python training/remake.py --model minilm --data FOLDER`.
Weights `{fingerprint}`.
"""

LEDGERS = {"MiniLM": "claims", "the specimen": "claims-specimen"}

LEDGER_WORDS = """`bertlook claims --model minilm` tries the claims of all lessons. What needs a head that guesses words (all of lesson 11, a part of 13) cannot be
decided on MiniLM. Claims about a resting place (lessons 3 and 4) are tried on the token that the model at hand gives most: [CLS] in MiniLM, [SEP] in the specimen."""

# By the kind of a table: the row of the specimen's table that is put below, and what it is called there.
_ROWS = {
    "coref": {"best head of the specimen": "the specimen's best head"},
    "layers": {"model": "the specimen"},
    "keywords": {"best head, column mean": "the specimen's best head, column mean"},
}
# The same of a column, put at the right.
_COLUMNS = {
    "syntax": ("gain", "the specimen's gain"),
    "pairs": ("best head of the specimen", "the specimen's"),
    "patterns": ("accuracy", "the specimen's"),
}


def page(folder: Path) -> str:
    """The whole page, from the folders of results that are there."""
    specimens = RESULTS.read_text(encoding="utf-8")
    parts, chapter = [OPENING.format(fingerprint=fingerprint_of(CARD.read_text(encoding="utf-8")))], ""
    for heading, (folders, stem, kind) in RESULT_TABLES.items():
        saved = [folder / name / f"{stem}.json" for name in folders]
        if not all(file.is_file() for file in saved):
            continue
        results = [json.loads(file.read_text(encoding="utf-8")) for file in saved]
        own = chapter_of(specimens, heading)
        if own != chapter:
            chapter = own
            parts += [f"{chapter}\n"] if chapter != heading else []
        table_of = getattr(results_tables, f"{kind}_table")
        table = table_of(results[0] if len(results) == 1 else results)
        parts.append(f"{heading.replace('Specimen on ', '')}\n\n{beside(table, kind, specimens, heading)}\n")
    files = {who: folder / name / "claims.csv" for who, name in LEDGERS.items()}
    if all(file.is_file() for file in files.values()):
        found = {who: list(csv.DictReader(file.open(encoding="utf-8"))) for who, file in files.items()}
        parts.append(f"## The ledger: which claims hold\n\n{LEDGER_WORDS}\n\n{ledger_table(found)}\n")
    return "\n".join(parts)


def ledger_table(found: dict[str, list[dict[str, str]]]) -> str:
    """A row a lesson: how many of its claims hold, do not hold, and cannot be decided, on each model."""
    header = ["lesson", "claims", *(f"{who}: hold / do not / open" for who in found)]
    lessons = sorted({row["lesson"] for row in next(iter(found.values()))})
    lines = []
    for lesson in [*lessons, "all"]:
        cells, n = [], 0
        for rows in found.values():
            verdicts = [row["verdict"] for row in rows if lesson in (row["lesson"], "all")]
            cells.append(" / ".join(str(verdicts.count(one)) for one in (HOLDS, FAILS, OPEN)))
            n = len(verdicts)
        lines.append([lesson, str(n), *cells])
    return results_tables.table(header, lines)


def chapter_of(text: str, heading: str) -> str:
    """The heading of the chapter that a heading stands in."""
    lines = text.split("\n")
    return next(line for line in reversed(lines[: lines.index(heading) + 1]) if line.startswith("## "))


def beside(table: str, kind: str, specimens: str, heading: str) -> str:
    """A table with the specimen's numbers from its page: a column at the right, or rows below."""
    theirs = table_below(specimens, heading)
    lines, rest = _split(table)
    if kind in _COLUMNS:
        column, name = _COLUMNS[kind]
        place = theirs.columns.index(column)
        found = {row[0]: row[place] for row in theirs.rows}
        firsts = [line.strip("| ").split(" | ")[0].strip("*`") for line in lines]
        cells = [name, "---", *(found.get(first, "-") for first in firsts[2:])]
        lines = [f"{line} {cell} |" for line, cell in zip(lines, cells, strict=True)]
    for first, name in _ROWS.get(kind, {}).items():
        rows = [row for row in theirs.rows if row[0] == first]
        lines += [f"| {' | '.join([name, *row[1:]])} |" for row in rows]
    return "\n".join([*lines, *rest])


def _split(text: str) -> tuple[list[str], list[str]]:
    lines = text.split("\n")
    n = sum(line.startswith("|") for line in lines)
    return lines[:n], lines[n:]


def main(arguments: Sequence[str] | None = None) -> int:
    given = sys.argv[1:] if arguments is None else list(arguments)
    if len(given) != 1 or not Path(given[0]).is_dir():
        print(__doc__, file=sys.stderr)
        return 2
    PAGE.write_text(page(Path(given[0])), encoding="utf-8", newline="\n")
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
