"""`bertlook coref`: a table on the terminal and in files, for mentions and for pronoun pairs."""

import csv
import json
import weakref
from argparse import Namespace

import pytest
from made import run

from bertlook_teach.analyses.coreference import antecedent_table, find_antecedents
from bertlook_teach.commands import chunks, coref
from bertlook_teach.corpora import read_coreference
from bertlook_teach.disk import data_path


def test_the_shipped_treebank_gives_heads_rules_and_twin(tmp_path, capsys):
    code, printed = run(capsys, "coref", "--limit", 6, "--out", tmp_path, "--quiet")
    assert code == 0 and printed.err == ""
    with open(tmp_path / "coref.csv", newline="", encoding="utf-8") as file:
        rows = list(csv.DictReader(file))
    predictors = {(row["model"], row["predictor"]) for row in rows}
    assert predictors == {
        ("specimen", "nearest"),
        ("specimen", "head match"),
        ("specimen", "four sieves"),
        ("specimen", "best head, mentions"),
        ("specimen-random", "best head, mentions"),
    }
    assert all(0 <= float(row["low"]) <= float(row["accuracy"]) <= float(row["high"]) <= 1 for row in rows)
    about = json.loads((tmp_path / "coref.json").read_text(encoding="utf-8"))["about"]
    assert about["n_documents"] == 6 and about["model"] == "specimen" and about["data"] == "treebank.conllu"
    assert "four sieves" in printed.out and "coref.csv" in printed.out


def test_pronoun_pairs_are_told_by_their_content(tmp_path, capsys):
    data = tmp_path / "pairs.jsonl"
    with open(data, "w", encoding="utf-8") as file:
        for i in range(10):
            spans = {"pronoun": [18, 21], "a": [8, 12], "b": [0, 3]}
            item = {
                "id": str(i),
                "text": "Ann met Mary when she fell.",
                **spans,
                "a_coref": i % 2 == 0,
                "b_coref": i % 2 == 1,
            }
            file.write(json.dumps(item) + "\n")
    code, printed = run(capsys, "coref", "--data", data, "--out", tmp_path / "out", "--quiet", "--no-twin")
    assert code == 0 and "nearer" in printed.out and "specimen-random" not in printed.out


@pytest.mark.parametrize(
    "content, message",
    [
        ("", "holds no two mentions"),
        ("{", "line 1: expected an object"),
        ('{"text": "x", "pronoun": 3}\n', "line 1: expected GAP"),
    ],
)
def test_what_is_wrong_with_a_file_is_said(tmp_path, capsys, content, message):
    data = tmp_path / "wrong.jsonl"
    data.write_text(content, encoding="utf-8")
    code, printed = run(capsys, "coref", "--data", data, "--out", tmp_path / "out", "--quiet")
    assert code == 1 and message in printed.err and printed.out == ""


def test_a_limit_of_nothing_is_refused(tmp_path, capsys):
    code, printed = run(capsys, "coref", "--limit", 0, "--out", tmp_path, "--quiet")
    assert code == 1 and "at least 1; got 0" in printed.err


def documents_of(path, monkeypatch, specimen):
    """The answers from chunks for all documents of a file, and how many documents were in memory at once."""
    alive, most = weakref.WeakSet(), [0]
    read = coref.iter_coreference

    def watched(*args, **options):
        for document in read(*args, **options):
            alive.add(document)
            most[0] = max(most[0], len(alive))
            yield document

    monkeypatch.setattr(coref, "iter_coreference", watched)
    args = Namespace(model="specimen", device="auto", limit=None, on_error="stop", first_only=False)
    args.candidates, args.batch_size, args.quiet, args.force = "mentions", 8, True, False
    score, _ = coref._documents(args, path)
    with chunks.Run(args, path.parent, {}) as work:
        return score(work, chunks.Model.of(args, specimen))[0], most[0]


def test_documents_are_read_as_chunks_are_measured_and_none_is_kept(tmp_path, monkeypatch, specimen):
    whole = read_coreference(data_path("treebank", "treebank.conllu"))[:30]
    path = tmp_path / "many.jsonl"
    with open(path, "w", encoding="utf-8") as file:
        for document in [*whole, *whole]:  # the second time the same ids: the same units
            mentions = [
                {"span": [m.start, m.end], "cluster": m.cluster, "head": m.head} for m in document.mentions
            ]
            item = {"doc_id": document.doc_id, "tokens": document.words, "sentences": document.sentences}
            file.write(json.dumps({**item, "mentions": mentions}) + "\n")
    table, most = documents_of(path, monkeypatch, specimen)
    assert table == antecedent_table(find_antecedents(specimen, read_coreference(path)))
    assert most <= 2 * coref.DOCUMENTS + 1
