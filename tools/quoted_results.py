"""Copy the tables of docs/results.md that slides quote to data/results.json, with the weights that each was measured with.

    python tools/quoted_results.py             write data/results.json
    python tools/quoted_results.py --check     write nothing; exit 1 if it is not what the page says

The page is written by `training/remake.py` and by hand; nothing but this tool writes the file. A slide reads it with
`bertlook_course.published.measured(NAME)`.
"""

import json
import re
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT))  # so that a plain checkout works too

from tools.written import write_or_check

PAGE, CARD, KEPT = Path("docs/results.md"), Path("data/model/MODEL_CARD.md"), Path("data/results.json")
# Short name -> heading, and which of the tables below it (down to the next heading) is meant.
QUOTED = {
    "EWT, Stanford": ("### Specimen on EWT dev, Stanford scheme (converted)", 0),
    "LitBank": ("### LitBank, 100 novels, candidates: earlier mentions", 0),
    "pronoun pairs": ("### Pronoun pairs", 0),
    "probes": ("## Probes: what all heads know together", 0),
    "layers: word classes": ("### Word classes", 0),
    "layers: relations": ("### Relation of an arc", 0),
    "layers: coreference": ("### Coreference", 0),
    "tasks": ("## Tasks: fine-tuning, and heads switched off in what was fine-tuned", 0),
    "tasks: one head": ("### One head off", 0),
    "tasks: heads together": ("### Heads off together, agreement", 0),
    "tasks: seeds": ("### Heads off together, three seeds", 0),
    "key words: Inspec": ("### Inspec, first 400 abstracts", 0),
    "key words: news": ("### 500N-KPCrowd, first 300 news", 0),
    "negation": ("### Do heads look from a scope to its cue?", 0),
    "negation: differences": ("### Negation minus a control", 0),
}
WEIGHTS = re.compile(r"Weights `([0-9a-f]{16})`")


def cells_of(line):
    return [re.sub(r"\*\*|`", "", cell).strip() for cell in line.strip().strip("|").split("|")]


def table_of(lines, heading, which):
    """(columns, rows) of a table below a heading; ValueError if it is not there."""
    if lines.count(heading) != 1:
        raise ValueError(f"{PAGE}: the heading {heading!r} is there {lines.count(heading)} times, not once")
    tables, row = [], False
    for line in lines[lines.index(heading) + 1 :]:
        if line.startswith("#"):
            break
        if line.startswith("|"):
            if not row:
                tables.append([])
            tables[-1].append(cells_of(line))
        row = line.startswith("|")
    if len(tables) <= which:
        raise ValueError(f"{PAGE}: {len(tables)} tables below {heading!r}, and number {which + 1} is quoted")
    columns, _, *rows = tables[which]
    return columns, rows


def weights_of(lines, heading):
    """The fingerprint that was named last in the chapter, down to the end of this section; ValueError if there is none."""
    at, found = lines.index(heading), None
    chapter = max((i for i in range(at + 1) if lines[i].startswith("## ")), default=0)
    for number, line in enumerate(lines[chapter:], chapter):
        if number > at and line.startswith("#"):
            break
        if named := WEIGHTS.search(line):
            found = named[1]
    if found is None:
        raise ValueError(f'{PAGE}: no line "Weights `...`" in the chapter of {heading!r}')
    return found


def quoted(root=None):
    """The text of data/results.json as the page has it now."""
    root = root or ROOT
    lines = (root / PAGE).read_text(encoding="utf-8").split("\n")
    named = re.search(r"Fingerprint[^`]*`([0-9a-f]{16})`", (root / CARD).read_text(encoding="utf-8"))
    if named is None:
        raise ValueError(f"{CARD} names no fingerprint")
    tables = {}
    for name, (heading, which) in QUOTED.items():
        columns, rows = table_of(lines, heading, which)
        tables[name] = {"weights": weights_of(lines, heading), "columns": columns, "rows": rows}
    return json.dumps({"specimen": named[1], "tables": tables}, indent=1, ensure_ascii=False) + "\n"


def main(arguments=None):
    otherwise = f"{KEPT}: not what the page says; run tools/quoted_results.py"
    try:
        return write_or_check(arguments, __doc__, ROOT / KEPT, quoted, otherwise)
    except ValueError as error:
        print(error, file=sys.stderr)
        return 1


if __name__ == "__main__":
    sys.exit(main())
