"""What `training/remake.py` writes into pages: tables, fingerprints and what examples print, and no sentence."""

import doctest
import json
import re
import subprocess
import sys
from pathlib import Path

sys.path.append(str(Path(__file__).resolve().parent))

from card_words import with_words

MODEL = Path("data/model")
CARD, RESULTS, README = MODEL / "MODEL_CARD.md", Path("docs/results.md"), Path("README.md")
EXAMPLES = (README, Path("docs/architecture.md"))
WEIGHTS = re.compile(r"(Weights `)[0-9a-f]{16}`")


class RemakeError(Exception):
    """A step cannot be done; the message says which, and what to do."""


class LeftOut(Exception):
    """What a step needs was not given; the message names it."""


def tables_of(text):
    """(first line, last line + 1) of every Markdown table."""
    lines, found, at = text.split("\n"), [], 0
    while at < len(lines):
        end = at
        while end < len(lines) and lines[end].startswith("|"):
            end += 1
        if end - at >= 3:
            found.append((at, end))
        at = max(end, at + 1)
    return found


def put_table(text, new, *, after=None):
    """``text`` with its one table that has the header of ``new``, or the first below the heading ``after``, replaced by ``new``."""
    lines, header = text.split("\n"), new.split("\n")[0]
    start = 0
    if after is not None:
        if lines.count(after) != 1:
            raise RemakeError(f"the heading {after!r} is there {lines.count(after)} times, not once")
        start = lines.index(after)
    kept = [t for t in tables_of(text) if t[0] > start and (after or lines[t[0]] == header)]
    if not kept or (after is None and len(kept) > 1):
        raise RemakeError(f"{len(kept)} tables fit {after or header!r}; one was expected")
    first, last = kept[0]
    if after is not None and any(line.startswith("#") for line in lines[start + 1 : first]):
        raise RemakeError(f"there is no table below {after!r}")
    return "\n".join([*lines[:first], *new.rstrip("\n").split("\n"), *lines[last:]])


def put_fingerprint(place):
    """The fingerprint of the weights into the card, and into the line of docs/results.md that says which weights ship."""
    code = "from bertlook_teach import load_encoder; print(load_encoder('specimen').fingerprint)"
    asked = subprocess.run(
        [sys.executable, "-c", code], cwd=place.root, capture_output=True, text=True, check=False
    )
    found = asked.stdout.strip()
    if not re.fullmatch(r"[0-9a-f]{16}", found):
        raise RemakeError(f"the weights have no fingerprint: {asked.stderr.strip().splitlines()[-1:]}")
    for page, pattern in (
        (CARD, r"(Fingerprint[^`]*`)[0-9a-f]{16}`"),
        (RESULTS, r"(specimen that ships has `)[0-9a-f]{16}`"),
    ):
        path = place.root / page
        text, n = re.subn(pattern, rf"\g<1>{found}`", path.read_text(encoding="utf-8"))
        if n != 1:
            raise RemakeError(f"{page} names the fingerprint {n} times, not once")
        path.write_text(text, encoding="utf-8")


def fingerprint_of(place):
    """As the card has it."""
    return re.search(r"Fingerprint[^`]*`([0-9a-f]{16})`", (place.root / CARD).read_text(encoding="utf-8"))[1]


def update_card(place):
    """The card's tables from the report, and what they say in words; its other sentences stay."""
    path, report = place.root / CARD, place.work / "card.md"
    if not report.is_file():
        raise LeftOut(f"{report} (step measure)")
    text = path.read_text(encoding="utf-8")
    made = report.read_text(encoding="utf-8").strip()
    blocks = [block for block in re.split(r"\n\s*\n", made) if block.startswith("|")]
    by_header = {}
    for block in blocks:
        by_header.setdefault(block.split("\n")[0], []).append(block)
    for header, new in by_header.items():
        places = [t for t in tables_of(text) if _same_columns(text.split("\n")[t[0]], header)]
        if len(places) != len(new):
            raise RemakeError(f"{CARD} has {len(places)} tables like {header!r}, the report {len(new)}")
        for (first, last), block in reversed(list(zip(places, new, strict=True))):
            lines = text.split("\n")
            text = "\n".join([*lines[:first], *block.split("\n"), *lines[last:]])
    path.write_text(with_words(text), encoding="utf-8")


def _same_columns(line, header):
    return line.replace(" ", "") == header.replace(" ", "")


# Which saved table stands below which heading of docs/results.md: folders of one run of `bertlook` each, the stem of its table, and the
# function of training/results_tables.py that prints it, from all folders where there are several.
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


def _new_table(results, stem, kind):
    """The Markdown of one table, with a line of heads below it where there is one."""
    import results_tables

    make = getattr(results_tables, f"{kind}_table")
    if kind == "value":
        return make(results[0], stem)
    return make(results if len(results) > 1 else results[0])


def update_results(place):
    """The tables of docs/results.md that are saved tables, and the weights of the chapters whose tables are all new; sentences stay."""
    path, renewed = place.root / RESULTS, set()
    text = path.read_text(encoding="utf-8")
    for heading, (folders, stem, kind) in RESULT_TABLES.items():
        saved = [place.work / "results" / folder / f"{stem}.json" for folder in folders]
        if missing := [str(file) for file in saved if not file.is_file()]:
            print(f"{heading}: no {', '.join(missing)}; the old table stays")
            continue
        made = _new_table([json.loads(file.read_text(encoding="utf-8")) for file in saved], stem, kind)
        table, _, below = made.partition("\n\n")
        text = put_table(text, table, after=heading)
        if below:
            start = text.index(f"{heading}\n")
            line = re.compile(rf"^{re.escape(below.split(':')[0])}:.*$", re.MULTILINE)
            text = text[:start] + line.sub(lambda _, new=below: new, text[start:], count=1)
        renewed.add(heading)
    path.write_text(with_weights(text, renewed, fingerprint_of(place)), encoding="utf-8")


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


def update_examples(place):
    """What the examples of README and of the house print, from a run of them; an example that raises stays as it is and stops the step."""
    for page in EXAMPLES:
        if (place.root / page).is_file():
            _update_page(place.root / page)


def _update_page(path):
    text = path.read_text(encoding="utf-8")
    names = {}
    for block in re.findall(r"```python\n(.*?)```", text, re.DOTALL):
        new = block
        for example in doctest.DocTestParser().get_examples(block):
            got = _printed(example, names, path.name)
            if got != example.want:
                old = _as_written(example) + example.want
                if new.count(old) != 1:
                    raise RemakeError(
                        f"{path.name}: the example {example.source.strip()!r} is not there once"
                    )
                new = new.replace(old, _as_written(example) + got)
        text = text.replace(block, new)
    path.write_text(text, encoding="utf-8")


def _as_written(example):
    first, *rest = example.source.rstrip("\n").split("\n")
    return "\n".join([f">>> {first}", *(f"... {line}" for line in rest)]) + "\n"


def _printed(example, names, page):
    said = []

    class Runner(doctest.DocTestRunner):
        def report_success(self, out, test, example, got):
            said.append(got)

        def report_failure(self, out, test, example, got):
            said.append(got)

        def report_unexpected_exception(self, out, test, example, exc_info):
            raise RemakeError(f"{page}: {example.source.strip()!r} raised {exc_info[1]!r}")

    test = doctest.DocTest([example], names, page, page, 0, "")
    Runner(verbose=False).run(test, clear_globs=False, out=lambda _: None)
    names.update(test.globs)
    return said[0]
