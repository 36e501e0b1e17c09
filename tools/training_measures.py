"""How far a training has come: a few measures of weights along the way, a row each, as CSV.

    python tools/training_measures.py MODEL [MODEL ...] --treebank FILE.conllu [...] [--limit N] --out measures.csv

MODEL is "specimen" or a model folder, such as a film point of a run (RUN/film/000060000000). Rows that are there already are kept.
Compare rows of one file only: all of them see the same sentences. Relations are scored as on the model card; a "syntax head" is the
best head of a relation that is 10 points above its best offset. The pattern and the [SEP] rows are means over the project's
two-paragraph texts; perplexity and next sentences are those of the treebanks' documents.
"""

import argparse
import csv
import re
import sys
import time
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))  # so that a plain checkout works too

import numpy as np
import specimen_report as report

from bertlook_teach import iter_attention, load_encoder
from bertlook_teach.analyses.syntax import collect_answers
from bertlook_teach.corpora import load_pairs, read_conllu
from bertlook_teach.measures import PATTERNS, UndefinedPattern, sep_to_sep

ROOT = Path(__file__).resolve().parent.parent
WATCHED = ("nsubj", "nmod:poss", "aux:pass", "conj", "case", "obj", "acl", "det", "advcl", "ccomp")
COLUMNS = (
    "model", "sentences", "relations_10_above", "which", "syntax_heads_above_layer_2", "same_word", "sep_to_sep", "perplexity",
    "mlm_accuracy", "next_sentence", *(f"gain {name}" for name in WATCHED), "seconds",
)  # fmt: skip


def relation_columns(rows):
    """The relations' part of a row, from `specimen_report.relation_table`; gains are in points."""
    counted = [row for row in rows if row["relation"] != "punct"]
    gains = {row["relation"]: 100 * (row["accuracy"] - row["offset_accuracy"]) for row in counted}
    clear = [row for row in counted if row["accuracy"] - row["offset_accuracy"] >= 0.1]
    # Two names mean that the halves chose differently: then both must lie deep to count.
    deep = {row["heads"] for row in clear if all(int(n) > 2 for n in re.findall(r"(\d+)-\d+", row["heads"]))}
    return {
        "relations_10_above": len(clear),
        "which": " ".join(row["relation"] for row in clear),
        "syntax_heads_above_layer_2": len(deep),
        **{f"gain {name}": f"{gains[name]:+.1f}" for name in WATCHED if name in gains},
    }


def text_columns(encoder, pairs):
    """The best head's same-word attention above its null, and the largest share from [SEP] to [SEP] in a layer."""
    excess, seps = [], []
    for attention in iter_attention(encoder, pairs, batch_size=16, truncate=True):
        seps.append(sep_to_sep(attention).mean(1))
        try:
            excess.append(PATTERNS["same_word"].excess(attention))
        except UndefinedPattern:
            continue
    return {
        "same_word": f"{np.mean(excess, axis=0).max():.3f}",
        "sep_to_sep": f"{np.mean(seps, axis=0).max():.3f}",
    }


def measure(model, pairs, sentences):
    """One row, as a dict of `COLUMNS`."""
    started = time.monotonic()
    encoder = load_encoder(model, device="cpu")
    folder = model if model != "specimen" else ROOT / "data" / "model"
    held = report.heldout_table(folder, report.treebank_documents(sentences))
    return {
        "model": Path(model).name,
        "sentences": len(sentences),
        **relation_columns(report.relation_table(collect_answers(encoder, sentences))),
        **text_columns(encoder, pairs),
        "perplexity": f"{held['mlm_perplexity']:.2f}",
        "mlm_accuracy": f"{held['mlm_accuracy']:.4f}",
        "next_sentence": f"{held['nsp_accuracy']:.4f}",
        "seconds": round(time.monotonic() - started),
    }


def main(arguments=None):
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    add = parser.add_argument
    add("models", nargs="+", metavar="MODEL")
    add("--treebank", type=Path, action="extend", nargs="+", required=True, metavar="FILE")
    add("--limit", type=int, metavar="N", help="the first N sentences of each treebank, N texts at most")
    add("--out", type=Path, required=True)
    o = parser.parse_args(arguments)
    pairs = load_pairs()[: o.limit]
    sentences = [s for path in o.treebank for s in read_conllu(path)[: o.limit]]
    done = set()
    if o.out.exists():
        with open(o.out, newline="", encoding="utf-8") as file:
            done = {row["model"] for row in csv.DictReader(file)}
    with open(o.out, "a", newline="", encoding="utf-8") as file:
        writer = csv.DictWriter(file, COLUMNS, restval="", lineterminator="\n")
        if not done:
            writer.writeheader()
        for model in o.models:
            if Path(model).name not in done:
                writer.writerow(measure(model, pairs, sentences))
                file.flush()


if __name__ == "__main__":
    main()
