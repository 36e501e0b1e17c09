"""Metrics of a table of counts, held against scikit-learn, which counts labels one by one."""

import numpy as np
import pytest
from sklearn import metrics

from bertlook_course.metrics import accuracy, auc, class_f1, cohen_kappa, confusion_matrix, macro_f1, micro_f1

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
