"""The report on a treebank in chunks: the table of `score_relations`, and neither sentences nor answers held."""

from __future__ import annotations

import tracemalloc

import pytest

from bertlook_bench.line import main
from bertlook_course.analyses.syntax import collect_answers, flat_row, report, reports, score_relations
from bertlook_course.corpora import load_treebank
from bertlook_teach.model import random_twin


@pytest.fixture
def small_chunks(monkeypatch):
    monkeypatch.setattr(reports, "SENTENCES", 32)


@pytest.mark.parametrize(
    "options",
    [
        {},
        {"scheme": "stanford"},
        {"scheme": "stanford", "as_published": True},
        {"subtypes": "keep"},
    ],
)
def test_chunks_give_the_table_of_the_whole(options, specimen, small_chunks):
    sentences, twin = load_treebank()[:150], random_twin(specimen)
    found = report(specimen, sentences, twin=twin, permutations=10, min_cases=10, **options)
    query = "first" if options.get("as_published") else "mean"
    answers, of_twin = (collect_answers(model, sentences, query=query) for model in (specimen, twin))
    whole = score_relations(answers, twin=of_twin, permutations=10, min_cases=10, **options)
    assert found.rows == [pytest.approx(flat_row(row), abs=1e-6) for row in whole.rows]
    assert found.about["too_rare"] == whole.too_rare
    assert found.about["n_words"] == whole.about["n_words"] and found.about["query"] == query
    assert len(whole.rows) > 10


def test_what_is_held_does_not_grow_with_sentences_or_answers(tmp_path, small_chunks):
    """Of a sentence some 20 words x (16 bytes of gold and 9 of marks, each model), not 20 x 288 of answers and 10,000 of strings."""

    def most(n):
        tracemalloc.start()
        options = ["--limit", str(n), "--permutations", "2", "--out", str(tmp_path / str(n)), "--quiet"]
        assert main(["syntax", *options]) == 0
        peak = tracemalloc.get_traced_memory()[1]
        tracemalloc.stop()
        return peak

    most(64)  # what is loaded once
    small = most(100)
    assert most(400) - small < 300 * 6_000


def test_too_little_that_can_be_read_is_said(tmp_path, capsys):
    row = "{0}\t{1}\t{1}\tX\t_\t_\t{2}\t{3}\t_\t_"
    long = "\n".join(row.format(i, "long", i - 1, "dep" if i > 1 else "root") for i in range(1, 201))
    short = row.format(1, "short", 0, "root")
    for trees, said in (
        ([long, long], "no sentence of the treebank can be read by specimen: 2 "),
        ([long, short], "needs two sentences; specimen reads 1 of 2 (1 "),
    ):
        path = tmp_path / "trees.conllu"
        path.write_text("\n\n".join(trees) + "\n\n", encoding="utf-8")
        assert main(["syntax", "--data", str(path), "--out", str(tmp_path / "out"), "--quiet"]) == 1
        assert said in capsys.readouterr().err
