"""`bertlook pattern` in chunks: the score of `score_pattern`, and no maps kept."""

from __future__ import annotations

import json
import tracemalloc

import pytest

from bertlook_teach.analyses.patterns import parse_pattern, score_pattern, word_maps
from bertlook_teach.commands import pattern
from bertlook_teach.commands.line import main
from bertlook_teach.corpora import document_keys, document_numbers, load_treebank, numbers_of_keys
from bertlook_teach.model import random_twin

QUERY = "query.pos('DET') & key.governor()"


@pytest.fixture
def small_chunks(monkeypatch):
    monkeypatch.setattr(pattern, "TEXTS", 16)


@pytest.mark.parametrize("asked", [QUERY, "key.next(',')", "~key.same_word()", "key.special()"])
def test_chunks_give_the_score_of_the_whole(asked, specimen, tmp_path, small_chunks):
    sentences = load_treebank()[:80]
    assert main(["pattern", asked, "--limit", "80", "--out", str(tmp_path), "--quiet"]) == 0
    found = json.loads((tmp_path / "pattern.json").read_text(encoding="utf-8"))
    whole = score_pattern(
        parse_pattern(asked), word_maps(specimen, sentences), word_maps(random_twin(specimen), sentences)
    )
    for row, expected in zip(found["rows"], whole.rows, strict=True):
        assert (row["measure"], row["n"]) == (expected.measure, expected.n)
        for key in (
            "value",
            "low",
            "high",
            "rule",
            "chance",
            "gain",
            "gain_low",
            "gain_high",
            "in_sample",
            "twin",
        ):
            assert row[key] == pytest.approx(getattr(expected, key), abs=2e-5), key


def test_documents_are_counted_as_the_corpus_counts_them():
    for ids in (["a", "a", "b", "", "", "a"], ["a", "a"], ["", ""], ["b", "a", "b"]):
        sentences = [type("Text", (), {"doc_id": one})() for one in ids]
        assert numbers_of_keys(document_keys(ids)).tolist() == document_numbers(sentences).tolist()


def test_maps_are_not_kept(tmp_path, small_chunks):
    """Four times the corpus: what is held grows by a few numbers of each text, not by its maps (36 heads of 20 x 20 words: 58 kB)."""

    def most(n):
        tracemalloc.start()
        assert main(["pattern", QUERY, "--limit", str(n), "--out", str(tmp_path / str(n)), "--quiet"]) == 0
        peak = tracemalloc.get_traced_memory()[1]
        tracemalloc.stop()
        return peak

    most(16)  # what is loaded once
    small = most(100)
    assert most(400) - small < 300 * 20_000
