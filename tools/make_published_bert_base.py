"""Write three tables of data/published that others measured on BERT-base, from a folder with the tables as they were found.

    python tools/make_published_bert_base.py FOLDER

``bert_base_gum_uas_per_head.csv``, ``bert_base_head_ablation.csv`` and ``bert_base_layer_entropy_sst2.csv`` there become tables with the columns
of all published tables. Scores keep six decimals; a count stays a count.
"""

from __future__ import annotations

import argparse
import csv
import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))  # so that a plain checkout works too

from bertlook_teach.disk import data_path, write_csv
from bertlook_teach.published import GUM, MASKED, SST2_ENTROPY, Published

SST2 = {"original": "sentences", "np_shuffled": "noun phrases shuffled", "full_shuffled": "words shuffled"}


def read(folder: Path, name: str) -> list[dict]:
    with open(folder / f"{name}.csv", newline="", encoding="utf-8") as file:
        return list(csv.DictReader(file))


def gum(folder: Path) -> list[dict]:
    """Counts of right answers, a row a relation and head."""
    rows = []
    for row in read(folder, GUM):
        note = f"of {row['n']}" if row["n"] else "number of cases not known"
        place = (row["layer"], row["head"])
        rows.append(
            published("heads on GUM", f"{row['relation']}: correct", place, row["correct"], note=note)
        )
    return [row | {"unit": "cases", "source": "acmcmc-code", "section": "English-GUM train"} for row in rows]


def masked(folder: Path) -> list[dict]:
    """Scores with a head or a layer away, and the scores with all heads that belong to them."""
    rows, bases = [], {}
    for row in read(folder, MASKED):
        kind = "layer" if row["what"] == "layer_off" else "head"
        bases[row["task"], row["metric"], kind] = row["base"]
        quantity = f"{row['task']}: {row['what'].replace('_', ' ')}"
        unit = row["metric"]
        rows.append(
            published("head masking", quantity, (row["layer"], row["head"]), score(row["value"]), unit=unit)
        )
    for (task, metric, kind), base in bases.items():
        quantity = f"{task}: all heads, beside one {kind}"
        rows.append(published("head masking", quantity, ("", ""), score(base), unit=metric))
    return [row | {"source": "ljj-code", "section": "stored results"} for row in rows]


def entropy(folder: Path) -> list[dict]:
    """Mean entropy of a layer, and its standard deviation over sentences."""
    rows = []
    for row in read(folder, SST2_ENTROPY):
        for what, column in (
            ("mean entropy", "mean_entropy_nats"),
            ("standard deviation", "standard_deviation_over_sentences"),
        ):
            quantity = f"{SST2[row['sentences']]}: {what}"
            note = f"over {row['n']} sentences"
            rows.append(
                published("entropy", quantity, (row["layer"], "all"), row[column], unit="nats", note=note)
            )
    return [row | {"source": "egebasaran-code", "section": "SST-2"} for row in rows]


def score(text: str) -> str:
    return f"{float(text):.6f}"


def published(analysis, quantity, place, value, *, unit="", note="") -> dict:
    layer, head = place
    row = {
        "analysis": analysis,
        "quantity": quantity,
        "layer": layer,
        "head": head,
        "value": value,
        "unit": unit,
    }
    return row | {"source": "", "section": "", "exactness": "output", "note": note}


def main(argv=None) -> int:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("folder", type=Path)
    parser.add_argument("--out", type=Path, default=data_path("published"))
    args = parser.parse_args(argv)
    for name, make in ((GUM, gum), (MASKED, masked), (SST2_ENTROPY, entropy)):
        rows = make(args.folder)
        assert tuple(rows[0]) == Published._fields
        path = write_csv(args.out / f"{name}.csv", rows)
        print(f"{path.name}: {len(rows)} rows, {path.stat().st_size:,} bytes")
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
