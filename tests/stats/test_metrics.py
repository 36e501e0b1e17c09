"""Metrics of a table of counts, held against scikit-learn, which counts labels one by one."""

import numpy as np
import pytest
from sklearn import metrics

from bertlook_course.metrics import (
    accuracy,
    agree,
    auc,
    class_f1,
    cohen_kappa,
    confusion_matrix,
    macro_f1,
    metric_value,
    micro_f1,
)
from bertlook_teach.measures import head_distances
from bertlook_teach.stats import exact_sign_flip, monte_carlo_p

CLASSES = ["a", "b", "c", "never"]


@pytest.fixture
def labels():
    rng = np.random.default_rng(2)
    first = rng.choice(CLASSES[:3], 60, p=[0.5, 0.3, 0.2])
    return first, np.where(rng.random(60) < 0.6, first, rng.choice(CLASSES[:3], 60))


def test_they_are_those_of_scikit_learn(labels):
    first, second = labels
    table = confusion_matrix(first, second, CLASSES)
    assert (table == metrics.confusion_matrix(first, second, labels=CLASSES)).all()
    assert accuracy(table) == pytest.approx(metrics.accuracy_score(first, second))
    assert class_f1(table)[:3] == pytest.approx(
        metrics.f1_score(first, second, labels=CLASSES[:3], average=None)
    )
    assert class_f1(table)[3] == -1  # nobody says it: no F1, where scikit-learn says 0
    assert macro_f1(table) == pytest.approx(metrics.f1_score(first, second, average="macro"))
    assert cohen_kappa(table) == pytest.approx(metrics.cohen_kappa_score(first, second))
    assert (table.T == confusion_matrix(second, first, CLASSES)).all() and (table != table.T).any()


def test_micro_f1_is_that_of_precision_and_recall():
    found, missed, wrong = 6, 3, 1
    precision, recall = found / (found + wrong), found / (found + missed)
    assert micro_f1(found, wrong, missed) == pytest.approx(2 * precision * recall / (precision + recall))
    assert micro_f1([0, 0, 2], [0, 1, 0], [0, 1, 0]).tolist() == [0, 0, 1]


def test_auc_is_that_of_scikit_learn_with_ties_too():
    rng = np.random.default_rng(5)
    scores, is_key = rng.integers(0, 6, (3, 40)), rng.random(40) < 0.3
    assert auc(scores, is_key) == pytest.approx([metrics.roc_auc_score(is_key, row) for row in scores])
    assert auc(-scores, is_key) == pytest.approx(1 - auc(scores, is_key))


REFUSED = [
    (lambda: auc([1, 0, 0, 1], [0.9, 0.2, 0.4, 0.8]), "scores come first.*the second argument holds"),
    (lambda: metric_value("accuracy", [0, 1], ["0", "1"]), "both names or both numbers"),
    (lambda: metric_value("spearman", [0.1, np.nan], [0.2, 0.3]), "not a number"),
    (lambda: cohen_kappa([[1, -5], [2, 3]]), "counts: finite numbers, none below 0"),
    (lambda: exact_sign_flip([0.1, np.nan]), "finite numbers"),
    (lambda: monte_carlo_p([0.1, 0.3], np.nan), "finite numbers"),
]


@pytest.mark.parametrize(("call", "words"), REFUSED)
def test_what_would_give_a_wrong_number_in_silence_is_refused(call, words):
    with pytest.raises(ValueError, match=words):
        call()


def test_names_of_a_table_are_names_too():
    assert metric_value("accuracy", np.array(["a", "b"], dtype=object), ["a", "a"]) == 0.5


def test_intervals_stay_where_the_quantity_can_be():
    first = list("xy" * 10)
    found = agree(first, ["y", *first[1:]], ["x", "y"])
    assert all(high <= 1 for _, high in found.intervals.values())
    distances = head_distances(np.random.default_rng(0).dirichlet(np.ones(4), (3, 1, 2, 4)))
    value, low, high = distances.interval(lambda matrix: float(matrix[0, 1]))
    assert 0 <= low <= value <= high
