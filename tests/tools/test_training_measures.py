"""How far a training has come: what is counted, and that a table can be added to."""

from __future__ import annotations

import csv
import shutil
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "tools"))
import training_measures as measures


def row(relation, heads, accuracy, offset):
    return {"relation": relation, "heads": heads, "accuracy": accuracy, "offset_accuracy": offset}


def test_relations_and_deep_heads_are_counted():
    found = measures.relation_columns(
        [
            row("punct", "5-1 d>g", 0.9, 0.1),  # never counted
            row("nsubj", "4-1 d>g", 0.50, 0.38),
            row("obj", "4-1 d>g", 0.60, 0.30),  # the same head counts once
            row("case", "1-4 d>g / 5-2 d>g", 0.60, 0.30),  # one half chose layer 1
            row("acl", "3-2 d>g / 3-3 g>d", 0.60, 0.30),
            row("conj", "6-6 d>g", 0.20, 0.28),
        ]
    )
    assert found["relations_10_above"] == 4 and found["which"] == "nsubj obj case acl"
    assert found["syntax_heads_above_layer_2"] == 2
    assert found["gain nsubj"] == "+12.0" and found["gain conj"] == "-8.0"
    assert "gain det" not in found and "gain punct" not in found


def test_the_specimen_is_measured_once(tmp_path):
    out, treebank = tmp_path / "m.csv", ROOT / "data" / "treebank" / "treebank.conllu"
    command = ["specimen", "--treebank", str(treebank), "--limit", "60", "--out", str(out)]
    measures.main(command)
    first = out.read_text(encoding="utf-8")
    measures.main(command)
    assert out.read_text(encoding="utf-8") == first, "a row that is there is kept"
    other = tmp_path / "other"
    shutil.copytree(ROOT / "data" / "model", other)
    measures.main([str(other), *command[1:]])
    with open(out, newline="", encoding="utf-8") as file:
        rows = list(csv.DictReader(file))
    assert [r["model"] for r in rows] == ["specimen", "other"]
    same = [{k: v for k, v in r.items() if k not in ("model", "seconds")} for r in rows]
    assert same[0] == same[1]
    assert 10 < float(rows[0]["perplexity"]) < 200 and 0.3 < float(rows[0]["next_sentence"]) <= 1
    assert float(rows[0]["sep_to_sep"]) < 0.2 and abs(float(rows[0]["same_word"])) < 0.3
