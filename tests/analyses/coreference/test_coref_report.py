"""The report on antecedents: heads, rules and twin, for documents and for pronoun pairs, of which none is kept."""

import weakref

import pytest

from bertlook_course.analyses.coreference import antecedent_table, find_antecedents, report, reports
from bertlook_course.corpora import PronounCase, iter_coreference, read_coreference
from bertlook_teach.disk import data_path
from bertlook_teach.model import random_twin

TREEBANK = data_path("treebank", "treebank.conllu")


def test_heads_rules_and_twin_stand_in_one_table(specimen):
    found = report(specimen, read_coreference(TREEBANK)[:6], twin=random_twin(specimen))
    assert {(row["model"], row["predictor"]) for row in found.rows} == {
        ("specimen", "nearest"),
        ("specimen", "head match"),
        ("specimen", "four sieves"),
        ("specimen", "best head, mentions"),
        ("specimen-random", "best head, mentions"),
    }
    assert all(0 <= row["low"] <= row["accuracy"] <= row["high"] <= 1 for row in found.rows)
    assert found.about["n_documents"] == 6 and "documents: 6" in str(found) and "four sieves" in str(found)


def test_pronoun_pairs_are_another_table(specimen):
    words = ("Ann", "met", "Mary", "when", "she", "fell", ".")
    cases = [PronounCase(str(i), words, 4, ((2, 3), (0, 1)), i % 2, str(i)) for i in range(10)]
    found = report(specimen, cases)
    assert found.about["kind"] == "pronoun pairs" and found.about["n_cases"] == 10
    assert "nearer" in str(found) and {row["model"] for row in found.rows} == {"specimen"}


class Watched:
    """Documents of a file, read anew each time; how many of them were in memory at once."""

    def __init__(self, path):
        self.path, self.alive, self.most = path, weakref.WeakSet(), 0

    def __iter__(self):
        for document in iter_coreference(self.path):
            self.alive.add(document)
            self.most = max(self.most, len(self.alive))
            yield document

    def __len__(self):
        return sum(1 for _ in iter_coreference(self.path))


@pytest.mark.parametrize("candidates", ["mentions", "open"])
def test_documents_are_read_as_chunks_are_measured_and_none_is_kept(specimen, candidates):
    documents = Watched(TREEBANK)
    rows = report(specimen, documents, candidates=candidates).rows
    whole = antecedent_table(find_antecedents(specimen, read_coreference(TREEBANK)), candidates=candidates)
    assert [(row["predictor"], row["kind"], row["accuracy"], row["low"], row["n"]) for row in rows] == [
        (row.predictor, row.kind, row.accuracy, row.low, row.n) for row in whole
    ]
    assert documents.most <= 2 * reports.DOCUMENTS + 1 < len(documents)
