"""Put measured numbers into the model card and docs/results.md: tables and fingerprints, and no sentence.

python training/put_tables.py fingerprint             of the weights in data/model
python training/put_tables.py card report.json        what specimen_report.py --out wrote
python training/put_tables.py results FOLDER          what bertlook commands saved, one folder each, by the names of remake.py
"""

from __future__ import annotations

import argparse
import json
import re
import sys
from collections.abc import Sequence
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
sys.path[:0] = [str(ROOT), str(ROOT / "training")]

import results_tables
from card_words import with_words
from specimen_report import card_tables

from tools.page_tables import table_below, tables_of

CARD, RESULTS = ROOT / "data" / "model" / "MODEL_CARD.md", ROOT / "docs" / "results.md"
WEIGHTS = re.compile(r"(Weights `)[0-9a-f]{16}`")


def put_table(text, new, *, after):
    """``text`` with the first table below the heading ``after`` replaced by ``new``."""
    old, lines = table_below(text, after), text.split("\n")
    return "\n".join([*lines[: old.first], *new.rstrip("\n").split("\n"), *lines[old.last :]])


def with_fingerprint(text: str, fingerprint: str, before: str) -> str:
    """The page with the fingerprint of the weights that ship, where it stands once after the words ``before``."""
    text, n = re.subn(rf"({before}[^`]*`)[0-9a-f]{{16}}`", rf"\g<1>{fingerprint}`", text)
    if n != 1:
        raise ValueError(f"the page names the fingerprint {n} times after {before!r}, not once")
    return text


def fingerprint_of(card: str) -> str:
    """The fingerprint that the card names."""
    return re.search(r"Fingerprint[^`]*`([0-9a-f]{16})`", card)[1]


def with_card_tables(card: str, made: str) -> str:
    """The card with the tables that were made, each in the place of the one with the same columns, and with what they say in words."""
    new, lines = tables_of(made), made.split("\n")
    for columns in {tuple(table.columns): None for table in new}:
        places, blocks = (
            [table for table in tables if tuple(table.columns) == columns]
            for tables in (tables_of(card), new)
        )
        if len(places) != len(blocks):
            raise ValueError(
                f"the card has {len(places)} tables of {', '.join(columns)}, the report {len(blocks)}"
            )
        for place, block in reversed(list(zip(places, blocks, strict=True))):
            old = card.split("\n")
            card = "\n".join([*old[: place.first], *lines[block.first : block.last], *old[place.last :]])
    return with_words(card)


# Which saved table stands below which heading of docs/results.md: the folders that remake.py names, the stem of the table there, and the
# function of results_tables.py that prints it, from all folders where there are several.
RESULT_TABLES = {
    "### Specimen on EWT dev, UD, subtypes merged": (("ewt-ud",), "syntax", "syntax"),
    "### Specimen on GUM dev, UD, subtypes merged": (("gum-ud",), "syntax", "syntax"),
    "### Specimen on EWT dev, Stanford scheme (converted)": (("ewt-stanford",), "syntax", "syntax"),
    "### LitBank, 100 novels, candidates: earlier mentions": (("litbank",), "coref", "coref"),
    "### LitBank, candidates: all words": (("litbank-open",), "coref", "coref"),
    "### GUM dev, candidates: earlier mentions": (("gum",), "coref", "coref"),
    "### Pronoun pairs": (("gap", "winogender", "winobias"), "coref", "pairs"),
    "## Probes: what all heads know together": (("ewt-probe",), "probe", "value"),
    "### Word classes": (("layers-pos",), "layers", "layers"),
    "### Relation of an arc": (("layers-dep",), "layers", "layers"),
    "### Entity types": (("layers-entity",), "layers", "layers"),
    "### Coreference": (("layers-coref",), "layers", "layers"),
    "### The course's texts": (("keywords-course",), "keywords", "keywords"),
    "### Inspec, first 400 abstracts": (("keywords-inspec",), "keywords", "keywords"),
    "### SemEval 2017, first 400 paragraphs": (("keywords-semeval",), "keywords", "keywords"),
    "### 500N-KPCrowd, first 300 news": (("keywords-news",), "keywords", "keywords"),
    "### Heads taken away": (("keywords-course",), "removal", "removal"),
    "### What the lists of “lowest entropies” rank": (
        ("keywords-course", "keywords-inspec", "keywords-semeval", "keywords-news"),
        "keywords",
        "entropies",
    ),
    "## Patterns: one line each, scored for every head": (
        tuple(f"pattern-{i}" for i in range(1, 7)),
        "pattern",
        "patterns",
    ),
    "## Tasks: fine-tuning, and heads switched off in what was fine-tuned": (
        tuple(
            f"task-{name}"
            for name in ("sst2", "mrpc", "rte", "cola", "sts-b", "sentiment", "same-topic", "agreement")
        ),
        "finetune",
        "tasks",
    ),
    "### One head off": (
        ("heads-mrpc", *(f"heads-agreement-{seed}" for seed in range(3))),
        "ablate",
        "one_head",
    ),
    "### Heads off together, agreement": (("heads-agreement-0",), "ablate_curve", "together"),
    "### Heads off together, three seeds": (
        tuple(f"heads-agreement-{seed}" for seed in range(3)),
        "ablate_curve",
        "seeds",
    ),
    "### Do heads look from a scope to its cue?": (("negation",), "negation", "negation"),
    "### Negation minus a control": (("negation",), "negation", "differences"),
    "### What else changed": (
        tuple(
            f"compare-{task}-{seed}"
            for task in ("negation", "control", "parts-of-speech")
            for seed in range(5)
        ),
        "compare-layers",
        "changes",
    ),
}


def with_results(text: str, folder: Path, fingerprint: str) -> str:
    """docs/results.md with the tables that were saved, and the weights of the chapters whose tables are all new."""
    renewed = set()
    for heading, (folders, stem, kind) in RESULT_TABLES.items():
        saved = [folder / name / f"{stem}.json" for name in folders]
        if missing := [str(file) for file in saved if not file.is_file()]:
            print(f"{heading}: no {', '.join(missing)}; the old table stays")
            continue
        results = [json.loads(file.read_text(encoding="utf-8")) for file in saved]
        table_of = getattr(results_tables, f"{kind}_table")
        given = (results[0], stem) if kind == "value" else (results if len(results) > 1 else results[0],)
        table, _, below = table_of(*given).partition("\n\n")
        text = put_table(text, table, after=heading)
        if below:  # the line of heads below some tables
            start = text.index(f"{heading}\n")
            line = re.compile(rf"^{re.escape(below.split(':')[0])}:.*$", re.MULTILINE)
            text = text[:start] + line.sub(lambda _, new=below: new, text[start:], count=1)
        renewed.add(heading)
    return with_weights(text, renewed, fingerprint)


def with_weights(text, renewed, fingerprint):
    """Each line that names weights gets new ones if all tables of `RESULT_TABLES` that it speaks of are new, and no other table is there."""
    lines = text.split("\n")
    named = [number for number, line in enumerate(lines) if WEIGHTS.search(line)]
    for number in named:
        begin = max(i for i in range(number + 1) if lines[i].startswith("#"))
        after = [i for i in range(number + 1, len(lines)) if lines[i].startswith("## ")] + [len(lines)]
        after += [
            max(i for i in range(other + 1) if lines[i].startswith("#")) for other in named if other > number
        ]
        end = min(i for i in after if i > begin)
        spoken_of = {
            line
            for i, line in enumerate(lines[begin:end])
            if line.startswith("#") and _has_table(lines[begin + i + 1 : end])
        }
        if spoken_of and spoken_of <= renewed:
            lines[number] = WEIGHTS.sub(rf"\g<1>{fingerprint}`", lines[number])
    return "\n".join(lines)


def _has_table(lines):
    for line in lines:
        if line.startswith("#"):
            return False
        if line.startswith("|"):
            return True
    return False


def main(arguments: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("what", choices=("fingerprint", "card", "results"))
    parser.add_argument("source", type=Path, nargs="?", help="report.json, or the folder of results")
    options = parser.parse_args(arguments)
    if (options.what == "fingerprint") != (options.source is None):
        parser.error("card needs report.json, results needs a folder, fingerprint needs neither")
    card, page = CARD.read_text(encoding="utf-8"), RESULTS.read_text(encoding="utf-8")
    try:
        if options.what == "fingerprint":
            from bertlook_teach import load_encoder

            found = load_encoder("specimen").fingerprint
            card, page = (
                with_fingerprint(card, found, "Fingerprint"),
                with_fingerprint(page, found, "specimen that ships has"),
            )
        elif options.what == "card":
            card = with_card_tables(card, card_tables(json.loads(options.source.read_text(encoding="utf-8"))))
        else:
            page = with_results(page, options.source, fingerprint_of(card))
    except (OSError, ValueError) as error:
        print(f"put_tables: {error}", file=sys.stderr)
        return 1
    for path, text in ((CARD, card), (RESULTS, page)):
        path.write_text(text, encoding="utf-8", newline="\n")
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
