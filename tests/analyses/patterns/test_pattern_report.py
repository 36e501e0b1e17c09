"""The report on a pattern in chunks: the score of `score_pattern`, and no maps kept."""

from __future__ import annotations

import tracemalloc

import pytest

from bertlook_course.analyses.patterns import (
    by_length,
    parse_pattern,
    report,
    reports,
    score_pattern,
    word_maps,
)
from bertlook_course.corpora import document_keys, document_numbers, load_treebank, numbers_of_keys
from bertlook_teach.model import random_twin

QUERY = "query.pos('DET') & key.governor()"


@pytest.fixture
def small_chunks(monkeypatch):
    monkeypatch.setattr(reports, "TEXTS", 16)


@pytest.mark.parametrize("asked", [QUERY, "key.next(',')", "~key.same_word()", "key.special()"])
def test_chunks_give_the_score_of_the_whole(asked, specimen, small_chunks):
    sentences, twin = load_treebank()[:80], random_twin(specimen)
    found = report(specimen, sentences, asked, twin=twin)
    maps = [word_maps(model, sentences) for model in (specimen, twin)]
    whole = score_pattern(parse_pattern(asked), *maps)
    for row, expected in zip(found.rows, whole.rows, strict=True):
        assert (row["measure"], row["n"]) == (expected.measure, expected.n)
        for key in [
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
        ]:
            assert row[key] == pytest.approx(getattr(expected, key), abs=2e-5), key


def test_short_things_come_first():
    assert by_length([["a"] * 3, "ab", ("a", "bcdef"), "abc"]) == [1, 3, 0, 2]


def test_documents_are_counted_as_the_corpus_counts_them():
    for ids in (["a", "a", "b", "", "", "a"], ["a", "a"], ["", ""], ["b", "a", "b"]):
        sentences = [type("Text", (), {"doc_id": one})() for one in ids]
        assert numbers_of_keys(document_keys(ids)).tolist() == document_numbers(sentences).tolist()


def test_maps_are_not_kept(specimen, small_chunks):
    """Four times the corpus: what is held grows by a few numbers of each text, not by its maps (36 heads of 20 x 20 words: 58 kB)."""

    def most(n):
        tracemalloc.start()
        report(specimen, load_treebank()[:n], QUERY)
        peak = tracemalloc.get_traced_memory()[1]
        tracemalloc.stop()
        return peak

    most(16)  # what is loaded once
    small = most(100)
    assert most(400) - small < 300 * 20_000
