"""What the probes of layers are held against: the commonest label, the words' forms, and labels that mean nothing."""

from __future__ import annotations

import hashlib
from collections import Counter
from dataclasses import replace

import numpy as np

from .depth_curves import Counts
from .layer_probes import _one_hot, count_answers
from .vectors import SpanVectors


def majority_baseline(train: SpanVectors, test: SpanVectors) -> Counts:
    """The commonest label for every case; where one label is the negative one, always the other."""
    labels = [label for label in train.labels if label != train.negative]
    commonest = Counter(labels).most_common(1)[0][0]
    return count_answers(np.ones((len(test), 1), bool), [commonest], test)


def form_baseline(train: SpanVectors, test: SpanVectors) -> Counts:
    """A list of words, no model: the label that a span's words had most often in training, else the commonest of all.

    Of a pair whose label says "the same thing", the first and the second word sequence must be the same.
    """
    if train.negative is not None:
        same = [len(set(form.split(" | "))) == 1 for form in test.forms]
        [label] = {label for label in train.labels if label != train.negative}
        return count_answers(np.array(same)[:, None], [label], test)
    labels = tuple(sorted(set(train.labels)))
    seen: dict[str, Counter] = {}
    for form, label in zip(train.forms, train.labels):
        seen.setdefault(form, Counter())[label] += 1
    commonest = Counter(train.labels).most_common(1)[0][0]
    answers = [seen[form].most_common(1)[0][0] if form in seen else commonest for form in test.forms]
    return count_answers(_one_hot(answers, labels) > 0, labels, test)


def control_labels(
    train: SpanVectors, test: SpanVectors, *, seed: int = 0
) -> tuple[SpanVectors, SpanVectors]:
    """The same cases with made-up labels: every form has, always, one label, drawn at random as often as the label occurs.

    Only a list of words can be learnt from it. The F1 on the treebank minus the F1 here is a probe's *selectivity* (Hewitt and Liang 2019).
    """
    pool = sorted(train.labels)

    def drawn(form: str) -> str:
        digest = hashlib.sha256(f"{seed} {form}".encode()).digest()
        return pool[int.from_bytes(digest[:8], "big") % len(pool)]

    return tuple(replace(data, labels=tuple(map(drawn, data.forms))) for data in (train, test))
