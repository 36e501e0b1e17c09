"""The ledger's inputs of lesson 8."""

from types import SimpleNamespace

from bertlook_course.claims.lessons.lesson08 import _in_place
from bertlook_course.claims.verdicts import FEWEST_REPORTING


def test_sentences_of_one_document_are_one_input_of_the_ledger():
    n = 2 * FEWEST_REPORTING
    rows = [{"right": float(i), "words": 10.0} for i in range(n)]
    pairs = [SimpleNamespace(doc_id=f"{i // 2}") for i in range(n)]
    got = list(_in_place(rows, pairs))
    assert got[::2] == [{}] * FEWEST_REPORTING  # nothing at even places: the halves there choose
    assert got[1::2] == [{"right": 4.0 * i + 1, "words": 20.0} for i in range(FEWEST_REPORTING)]
    few = [SimpleNamespace(doc_id=f"{i // 3}") for i in range(n)]
    assert list(_in_place(rows, few))[1::2] == rows  # so few documents decide nothing
