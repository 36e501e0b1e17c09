"""Copy the tables of docs/results.md and docs/results_minilm.md that slides quote to data/results.json, with the weights that each was measured with.

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

from tools.page_tables import table_below
from tools.written import write_or_check

MINILM = Path("docs/results_minilm.md")
PAGE, CARD, KEPT = Path("docs/results.md"), Path("data/model/MODEL_CARD.md"), Path("data/results.json")
# Short name -> heading of the table.
QUOTED = {
    "EWT, Stanford": "### Specimen on EWT dev, Stanford scheme (converted)",
    "LitBank": "### LitBank, 100 novels, candidates: earlier mentions",
    "GUM": "### GUM dev, candidates: earlier mentions",
    "pronoun pairs": "### Pronoun pairs",
    "probes": "## Probes: what all heads know together",
    "layers: word classes": "### Word classes",
    "layers: relations": "### Relation of an arc",
    "layers: coreference": "### Coreference",
    "tasks": "## Tasks: fine-tuning, and heads switched off in what was fine-tuned",
    "tasks: one head": "### One head off",
    "tasks: seeds": "### Heads off together, three seeds",
    "key words: Inspec": "### Inspec, first 400 abstracts",
    "key words: news": "### 500N-KPCrowd, first 300 news",
    "negation": "### Do heads look from a scope to its cue?",
    "negation: differences": "### Negation minus a control",
}
WEIGHTS = re.compile(r"Weights `([0-9a-f]{16})`")


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
    page = (root / PAGE).read_text(encoding="utf-8")
    named = re.search(r"Fingerprint[^`]*`([0-9a-f]{16})`", (root / CARD).read_text(encoding="utf-8"))
    if named is None:
        raise ValueError(f"{CARD} names no fingerprint")
    tables = {}
    for name, heading in QUOTED.items():
        table, weights = table_below(page, heading), weights_of(page.split("\n"), heading)
        tables[name] = {"weights": weights, "columns": table.columns, "rows": table.rows}
    kept = {"specimen": named[1]}
    if (root / MINILM).is_file():
        page = (root / MINILM).read_text(encoding="utf-8")
        kept["minilm"] = weights = WEIGHTS.search(page)[1]
        for name, heading in QUOTED.items():
            heading = heading.replace("Specimen on ", "")
            if heading in page.split("\n"):
                table = table_below(page, heading)
                tables[f"minilm/{name}"] = {"weights": weights, "columns": table.columns, "rows": table.rows}
    return json.dumps({**kept, "tables": tables}, indent=1, ensure_ascii=False) + "\n"


def main(arguments=None):
    otherwise = f"{KEPT}: not what the page says; run tools/quoted_results.py"
    try:
        return write_or_check(arguments, __doc__, ROOT / KEPT, quoted, otherwise)
    except ValueError as error:
        print(f"quoted_results: {error}", file=sys.stderr)
        return 1


if __name__ == "__main__":
    sys.exit(main())
