"""Two labellings compared; what an agreement is made of is tried in tests/measures/test_kovaleva_classes.py."""

import pytest

from bertlook_course.metrics import agree
from bertlook_course.metrics.agreement import FEWEST_FOR_INTERVAL


def test_an_interval_takes_ten_items_that_both_have_labelled():
    first, second = ["a", "b"] * 5, ["a", "b", "a", "a"] + ["a", "b"] * 3
    whole = agree(first, second, ["a", "b"])
    assert whole.n == FEWEST_FOR_INTERVAL == 10 and set(whole.intervals) == {"accuracy", "macro_f1", "kappa"}
    low, high = whole.intervals["accuracy"]
    assert low < whole.accuracy == 0.9 < high
    less = agree([None, *first[1:]], second, ["a", "b"])
    assert less.n == 9 and less.intervals == {} and less.accuracy == pytest.approx(8 / 9)
