"""Write the tables about BERT-base into docs/results.md, from data/bert_base/measured and data/published.

python tools/bert_base_tables.py            write them between their marks
python tools/bert_base_tables.py --check    write nothing, exit 1 if the page says something else
"""

from __future__ import annotations

import argparse
import csv
import re
import sys
from collections import Counter
from pathlib import Path

import numpy as np

ROOT = Path(__file__).resolve().parents[1]
sys.path.insert(0, str(ROOT))  # so that a plain checkout works too

from bertlook_teach.claims import FAILS, HOLDS, OPEN, VERDICT_RULE, ledger
from bertlook_teach.disk import data_path, with_interval, write_file
from bertlook_teach.model import head_label
from bertlook_teach.published import (
    GUM_RELATIONS,
    MASKED_TASKS,
    SHUFFLES,
    published_gum_arcs,
    published_masking,
    published_sst2_entropy,
)
from bertlook_teach.render import needs_text

PAGE = ROOT / "docs" / "results.md"
MARKS = ("<!-- BERT-base: written by tools/bert_base_tables.py -->", "<!-- end of BERT-base -->")
CLAIMED = {"cls": "[CLS]", "sep": "[SEP]", "punct": ". or ,", "sep_to_sep": "[SEP] to [SEP]"}
CLAIMED |= {"other_to_sep": "other to [SEP]", "entropy_clark": "entropy"}


def measured(name: str) -> list[dict]:
    with open(data_path("bert_base", "measured", f"{name}.csv"), newline="", encoding="utf-8") as file:
        return list(csv.DictReader(file))


def table(header, rows) -> str:
    lines = [header, ["---"] * len(header), *rows]
    return "\n".join("| " + " | ".join(map(str, cells)) + " |" for cells in lines)


def numbers(
    row: dict, names: str = "value low high", digits: int = 2, sign: str = "", factor: float = 1
) -> str:
    """A number with its interval, or a dash."""
    found = [row.get(name) for name in names.split()]
    if any(text in (None, "") for text in found):
        return "-"
    text = with_interval(*map(float, found), digits=digits, factor=factor, sign=sign)
    return re.sub(
        r"-(0\.0+)(?!\d)", r"\1", text
    )  # "-0.00" would make a reader look for a minus that is not there


def quantity(claim, row: dict, names: str = "value low high") -> str:
    """A statistic of the ledger with its interval, as the quantity that the claim is about."""
    value, low, high = (claim.quantity(float(row[name])) for name in names.split())
    low, high = sorted((low, high))
    return numbers({"value": value, "low": low, "high": high})


def correlations() -> str:
    rows = measured("correlations")
    models = list(dict.fromkeys(row["model"] for row in rows))
    found = {(row["model"], row["measure"]): row for row in rows}
    lines = [
        [
            CLAIMED[measure],
            *(
                _correlation(row) + f", n = {row['n']}" if row else "-"
                for row in (found.get((model, measure)) for model in models)
            ),
        ]
        for measure in CLAIMED
    ]
    return table(["attention to", *models], lines)


def _correlation(row: dict) -> str:
    """With its interval, where enough inputs were read for one."""
    return (
        numbers(row, "pearson pearson_low pearson_high")
        if row["pearson_low"]
        else f"{float(row['pearson']):.2f}"
    )


def layers() -> str:
    found = {(row["measure"], int(row["layer"])): row for row in measured("surface_layers")}
    lines = []
    for layer in range(1, 13):
        cells = [layer]
        for measure in ("cls", "sep", "entropy"):
            row = found[measure, layer]
            beside = row["published_model_on_sst2" if measure == "entropy" else "clark2019"]
            cells += [numbers(row), numbers(row, "twin twin_low twin_high"), f"{float(beside):.2f}"]
        lines.append(cells)
    header = [
        "layer",
        "[CLS]",
        "twin",
        "Clark et al.",
        "[SEP]",
        "twin",
        "Clark et al.",
        "entropy, nats",
        "twin",
    ]
    return table([*header, "published model, 2,000 sentences of SST-2"], lines)


def special_tokens() -> str:
    found = {(row["model"], int(row["layer"])): row for row in measured("special_tokens")}
    models = list(dict.fromkeys(model for model, _ in found))
    lines = []
    for layer in range(1, 13):
        cells = [layer]
        for model in models:
            row = found[model, layer]
            cells.append(numbers(row, "rows_apart rows_apart_low rows_apart_high", digits=3))
            cells.append(
                numbers(row, "columns_correlate columns_correlate_low columns_correlate_high", digits=3)
            )
            cells.append(numbers(row, "share share_low share_high"))
        lines.append(cells)
    n = {model: found[model, 1]["n"] for model in models}
    header = [
        f"{what}: {model} (n = {n[model]})"
        for model in models
        for what in ("rows apart", "columns correlate", "share")
    ]
    return table(["layer", *header], lines)


def relations() -> str:
    lines = [
        [
            row["relation"],
            f"{int(row['n']):,}",
            row["head"],
            numbers(row, "accuracy low high", digits=1, factor=100),
            f"{100 * float(row['baseline']):.1f} ({row['offset']})",
            numbers(row, "gain gain_low gain_high", digits=1, sign="+", factor=100),
            numbers(row, "twin twin_low twin_high", digits=1, factor=100),
            f"{100 * float(row['optimistic']):.1f}",
            f"{float(row['p_corrected']):.3f}",
        ]
        for row in measured("relations")
    ]
    header = ["relation", "n", "head", "accuracy", "best offset", "gain", "random twin"]
    return table([*header, "best on the same sentences", "p"], lines)


def families() -> str:
    lines = [
        [
            row["model"],
            row["what"],
            *(f"{float(row[name]):.3f}" if row[name] else "-" for name in ("within", "between")),
            numbers(row, "closer low high", digits=3),
            row["p"] or "-",
            row["n"] or row["why_not"],
        ]
        for row in measured("families")
    ]
    return table(
        ["model", "what", "within, nats", "between, nats", "share closer, or number", "p", "n"], lines
    )


def map_classes() -> str:
    lines = [
        [
            row["class"],
            numbers(row, "share low high", digits=1, factor=100),
            numbers(row, "twin twin_low twin_high", digits=1, factor=100),
            f"{100 * float(row['kovaleva2019_sst2_by_a_network']):.1f}",
        ]
        for row in measured("map_classes")
    ]
    return table(["class", "by our rule", "random twin", "Kovaleva et al., SST-2, by their network"], lines)


def patterns() -> str:
    lines = [
        [
            row["says"],
            row["n"],
            row["head"] or "-",
            f"{float(row['value']):.2f}" if row["value"] else "-",
            numbers(row, "excess low high", sign="+"),
            row["twin_head"] or "-",
            numbers(row, "twin_excess twin_low twin_high", digits=3, sign="+"),
        ]
        for row in measured("patterns")
    ]
    header = ["the head", "n", "head", "value", "above its null model", "twin's head"]
    return table([*header, "twin above its null model"], lines)


def verdicts() -> str:
    claims = {claim.key: claim for claim in ledger()}
    rows = measured("verdicts")
    counts = Counter(row["verdict"] for row in rows)
    lines = [
        [
            row["key"],
            claims[row["key"]].sentence,
            needs_text(claims[row["key"]]),
            quantity(claims[row["key"]], row),
            quantity(claims[row["key"]], row, "twin twin_low twin_high")
            if claims[row["key"]].control
            else "—",
            row["verdict"],
        ]
        for row in rows
    ]
    said = (
        f"Of {len(rows)} claims {counts[HOLDS]} hold, {counts[FAILS]} do not hold, and {counts[OPEN]} cannot be decided here. The other "
        f"{len(claims) - len(rows)} claims of the ledger ask for more than attention on single sentences gives. {VERDICT_RULE} —: no control by the twin."
    )
    return f"{said}\n\n" + table(["claim", "sentence", "needs", "value", "random twin", "verdict"], lines)


def gum() -> str:
    lines = []
    for relation in GUM_RELATIONS:
        found = published_gum_arcs(relation)
        best = np.unravel_index(found.correct.argmax(), found.correct.shape)
        share = "-" if found.n is None else f"{100 * found.accuracy[best]:.1f}"
        n = "not known" if found.n is None else f"{found.n:,}"
        lines.append([relation, head_label(*map(int, best)), f"{found.correct[best]:,}", n, share])
    return table(["relation", "head with most", "right", "n", "per cent"], lines)


def masking() -> str:
    lines = []
    for task in MASKED_TASKS:
        found = published_masking(task)
        change = found.one_off - found.base
        worst, best = (np.unravel_index(f(change), change.shape) for f in (np.argmin, np.argmax))
        error = (
            f"{100 * np.sqrt(found.base * (1 - found.base) / found.n):.1f}"
            if found.metric == "accuracy"
            else "-"
        )
        named = [f"{head_label(*map(int, at))} ({100 * change[at]:+.2f})" for at in (worst, best)]
        layer = int(np.argmin(found.layer_off - found.layer_base))
        off = f"{layer + 1} ({100 * (found.layer_off - found.layer_base)[layer]:+.2f})"
        lines.append([task, found.metric, f"{found.n:,}", f"{100 * found.base:.1f}", *named, off, error])
    header = [
        "task",
        "metric",
        "n",
        "all heads",
        "worst head to mask",
        "best head to mask",
        "worst layer to mask",
    ]
    return table([*header, "standard error of the score"], lines)


def shuffled() -> str:
    found = [published_sst2_entropy(of) for of in SHUFFLES]
    lines = [
        [layer + 1, *(f"{one.mean[layer]:.3f} ± {one.deviation[layer]:.3f}" for one in found)]
        for layer in range(12)
    ]
    return table(["layer", *SHUFFLES], lines)


TEXT = """
## BERT-base: recorded attention

No weights of BERT-base are here. What follows was measured on attention that somebody else's BERT-base gave and that was saved: on the
twelve inputs of `bert-base-uncased` [that come with the course](../data/bert_base/README.md), and on 200 single sentences of SST-2 read by **a
BERT-base fine-tuned on SST-2**, which is not the published model and is never called so
([the numbers and their source](../data/bert_base/measured/README.md)). The random twin is a BERT-base of random weights on the same
wordpieces. Brackets are 95 % bootstrap intervals over inputs.

    python tools/measure_bert_base.py FOLDER      # from the folder with the recordings
    python tools/bert_base_tables.py              # these tables

### Do the heads do what was published? Per-head means against those of Clark et al. (2019)

Pearson correlation over 144 heads. The published means are of pairs of paragraphs; ours are of a dozen short inputs, or of single sentences. An interval covers
the inputs alone, not the heads. The twelve have none: they are examples that somebody chose to show, not a sample of texts, and fewer than 20.

{correlations}

### Attention to [CLS] and [SEP], and entropy, by layer (fine-tuned on SST-2, n = 200 sentences)

Entropy grows with length: the 200 sentences have 23 to 53 wordpieces, the 2,000 of the last column are of any length, and Clark et al.'s inputs have 122 tokens
on average.

{layers}

### [CLS] and [SEP] can no longer be told apart by their attention (fine-tuned on SST-2)

*Rows apart*: half the summed difference between where [CLS] and the last [SEP] look, 0 if they look alike, 1 if they share no key, mean over heads. *Columns correlate*:
how the attention that each token gives to the one goes with what it gives to the other. *Share*: attention to all special tokens together. Where the rows are the
same and the columns correlate at 1 (from layer 6 on), attention tells the two tokens apart no more; vectors were not recorded. Then a share of [SEP] alone is half of
something: both together get over half in layers 5 to 9, as [SEP] alone does in the published curve for layers 6 to 9. The verdict below that asks for over half to [SEP] fails beside this.

{special_tokens}

### Relations (fine-tuned on SST-2, Universal Dependencies, automatic trees)

Head and offset chosen on one half of the sentences and scored on the other, both ways; per cent. The trees are a parser's, so an accuracy counts
agreement with it. p: do some head's answers go with more than the relation's distances (a random twin's often do too), corrected for the choice among 144 (200 shuffles, so at least .005).

{relations}

### Families of heads (fine-tuned on SST-2)

Jensen-Shannon divergence between all pairs of the 144 heads. *Share closer*: by which share the mean distance within a layer (a behaviour) is below that between;
p from 999 shuffles of the labels.

{families}

### Classes of map (fine-tuned on SST-2)

Per cent of all maps. Kovaleva et al. (2019) fine-tuned BERT-base on SST-2 too, and counted with a network they trained; ours is a rule.

{map_classes}

### Vig's patterns against their null models (fine-tuned on SST-2)

The head with most above its null model, chosen on one half of the sentences and reported on the other, both ways.

{patterns}

### The ledger on the recording (fine-tuned on SST-2)

Claims whose evidence attention alone can give, decided by the ledger's own rule on single sentences. A published sentence about pairs of paragraphs read by the
published model is neither confirmed nor refuted by this.

{verdicts}

## BERT-base: what others released

### Arcs found by each head on GUM (`bert-base-uncased`)

Up to 1,000 sentences of English-GUM train: how often a dependent looks most, its own position left out, at its governor. The head with most is chosen on the
sentences it is scored on, there is no baseline, and how wordpieces were merged is not known.

{gum}

### Heads masked one at a time (one fine-tuned BERT-base a task)

Changes in points. One model a task, no repetition: with 408 items of MRPC and 872 of SST-2 most changes of a single head are smaller than the standard error of the
score, and the worst of 144 is the worst by chance too.

{masking}

### Entropy by layer on 2,000 sentences of SST-2, and shuffled (`bert-base-uncased`)

Nats, mean ± standard deviation over sentences.

{shuffled}
"""


def text() -> str:
    parts = (
        correlations,
        layers,
        special_tokens,
        relations,
        families,
        map_classes,
        patterns,
        verdicts,
        gum,
        masking,
        shuffled,
    )
    return TEXT.format(**{part.__name__: part() for part in parts})


def page_with(page: str, tables: str) -> str:
    before, rest = page.split(MARKS[0])
    return f"{before}{MARKS[0]}\n{tables}\n{MARKS[1]}{rest.split(MARKS[1])[1]}"


def main(argv=None) -> int:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--check", action="store_true")
    args = parser.parse_args(argv)
    before = PAGE.read_text(encoding="utf-8")
    after = page_with(before, text())
    if args.check:
        print("docs/results.md is up to date." if after == before else "docs/results.md says something else.")
        return int(after != before)
    write_file(PAGE, after)
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
