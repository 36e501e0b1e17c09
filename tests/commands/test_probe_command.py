"""`bertlook probe`: every probe beside its controls, on the terminal and in files."""

import csv
import json

from made import run


def rows(folder):
    with open(folder / "probe.csv", newline="", encoding="utf-8") as file:
        return {row["probe"]: row for row in csv.DictReader(file)}


def test_a_table_with_every_control(tmp_path, capsys):
    code, printed = run(capsys, "probe", "--limit", 40, "--out", tmp_path, "--quiet", "--no-words")
    assert code == 0 and printed.err == ""
    table = rows(tmp_path)
    assert {
        "right-branching",
        "attention only",
        "attention only, random twin",
        "attention only, made-up grammar",
    } <= set(table)
    assert sum(name.startswith("pairs, ") for name in table) == 6
    assert all(
        float(r["low"]) <= float(r["value"]) <= float(r["high"]) and int(r["n"]) > 0 for r in table.values()
    )
    about = json.loads((tmp_path / "probe.json").read_text(encoding="utf-8"))["about"]
    assert about["n_train"] + about["n_test"] + about["n_skipped"] == 40
    assert "right-branching" in printed.out and "probe.csv" in printed.out


def test_with_word_vectors_of_ones_own(tmp_path, capsys):
    vectors = tmp_path / "vectors.txt"
    vectors.write_text("the 1 0\na 0 1\n", encoding="utf-8")
    code, _ = run(capsys, "probe", "--limit", 12, "--out", tmp_path / "out", "--quiet", "--vectors", vectors)
    assert code == 0
    assert {"distances and words", "attention and words", "attention and words, random attention"} <= set(
        rows(tmp_path / "out")
    )
    about = json.loads((tmp_path / "out" / "probe.json").read_text(encoding="utf-8"))["about"]
    assert about["word vectors"] == "vectors.txt"


def test_too_few_sentences_are_refused(tmp_path, capsys):
    code, printed = run(capsys, "probe", "--limit", 3, "--out", tmp_path, "--quiet")
    assert code == 1 and "at least eight sentences, four for each half; got 3" in printed.err
