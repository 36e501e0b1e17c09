"""The report on probes of all heads: every probe beside its controls."""

import pytest

from bertlook_course.analyses.probing import report
from bertlook_course.corpora import load_treebank
from bertlook_teach.model import random_twin


@pytest.mark.parametrize("with_twin", [True, False])
def test_a_table_with_every_control(specimen, with_twin):
    found = report(
        specimen, load_treebank()[:40], twin=random_twin(specimen) if with_twin else None, words=False
    )
    names = [row["probe"] for row in found.rows]
    assert {"right-branching", "attention only", "attention only, made-up grammar"} <= set(names)
    assert sum("random twin" in name for name in names) == (3 if with_twin else 0)
    assert sum(name.startswith("pairs, ") for name in names) == (6 if with_twin else 4)
    assert all(row["low"] <= row["value"] <= row["high"] and row["n"] > 0 for row in found.rows)
    about = found.about
    assert about["n_train"] + about["n_test"] + about["n_skipped"] == 40 and about["word vectors"] is None
    assert "right-branching" in str(found)


def test_with_word_vectors_of_ones_own(specimen, tmp_path):
    vectors = tmp_path / "vectors.txt"
    vectors.write_text("the 1 0\na 0 1\n", encoding="utf-8")
    found = report(specimen, load_treebank()[:12], twin=random_twin(specimen), vectors=vectors)
    names = {row["probe"] for row in found.rows}
    assert {"distances and words", "attention and words", "attention and words, random attention"} <= names
    assert found.about["word vectors"] == "vectors.txt"
