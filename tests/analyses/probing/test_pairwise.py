"""The pairwise probe: balanced and distance-matched pairs, the classifier, and the distance rule beside it."""

import numpy as np
import pytest
from made import refusals

from bertlook_course.analyses.probing import (
    ProbeSentence,
    distance_rule,
    fit_pair_probe,
    pair_accuracy,
    pairwise,
    sample_pairs,
)


def sentences(count=30, n=7, heads=3, seed=0, tell=None, transpose=False):
    """Chains with some long arcs. Head ``tell`` looks from each word to its governor; the others are noise."""
    rng = np.random.default_rng(seed)
    made = []
    for _ in range(count):
        governors = np.array([(i + 1 if rng.random() < 0.6 else rng.integers(0, n)) for i in range(n)])
        governors = np.where(governors == np.arange(n), n, governors)  # no word governs itself
        between = rng.random((n, n, 2 * heads)).astype(np.float32) * 0.2
        if tell is not None:
            for word, governor in enumerate(governors):
                if governor < n:
                    place = (governor, word) if transpose else (word, governor)
                    between[(*place, heads + tell)] += 0.5
        made.append(
            ProbeSentence(
                between, np.zeros((n, 4 * heads), np.float32), governors, np.ones(n, bool), ("w",) * n
            )
        )
    return made


def halves(pairs):
    return pairs.of(pairs.sentence % 2 == 0), pairs.of(pairs.sentence % 2 == 1)


def test_a_head_that_looks_at_the_governor_decides_every_pair():
    train, test = halves(sample_pairs(sentences(tell=1), negatives="distance-matched"))
    probe = fit_pair_probe(train)
    score = pair_accuracy(probe, test)
    assert score.accuracy == score.high == 1 and score.low == pytest.approx(0.025 ** (1 / score.n_sentences))
    assert int(np.abs(probe.weights).argmax()) == 1
    assert score.n_pairs == len(test) and score.n_sentences == len(np.unique(test.sentence))


def test_a_head_that_looks_from_the_governor_does_not_help_in_one_direction():
    made = sentences(tell=1, transpose=True)
    train, test = halves(sample_pairs(made, negatives="distance-matched"))
    assert pair_accuracy(fit_pair_probe(train), test).accuracy < 0.7


@pytest.mark.parametrize("negatives", pairwise.NEGATIVES)
def test_pairs_are_balanced_and_what_they_say_they_are(negatives):
    made = sentences()
    pairs = sample_pairs(made, negatives=negatives)
    assert pairs.linked.mean() == 0.5
    for features, linked, distance, number in zip(
        pairs.features, pairs.linked, pairs.distance, pairs.sentence
    ):
        s = made[number]
        [(word, other)] = np.argwhere((s.between[..., 3:] == features).all(-1))
        assert other - word == distance
        assert (s.governors[word] == other) == linked
        assert linked or s.governors[other] != word, "an unrelated pair is unrelated both ways"


def test_matched_negatives_have_the_arcs_distances_and_take_the_rules_advantage_away():
    uniform, matched = (sample_pairs(sentences(80), negatives=kind) for kind in pairwise.NEGATIVES)
    for distance in np.unique(matched.distance):
        at = matched.distance == distance
        assert matched.linked[at].mean() == 0.5
    assert matched.n_unmatched > 0 and len(matched) < len(uniform)
    easy, hard = (
        pair_accuracy(distance_rule(train), test).accuracy for train, test in map(halves, (uniform, matched))
    )
    assert easy > 0.7
    assert hard < 0.6


def test_the_distance_rule_is_the_majority_of_each_distance():
    pairs = sample_pairs(sentences(60))
    predict = distance_rule(pairs)
    expected = sum(
        max(pairs.linked[pairs.distance == d].sum(), (~pairs.linked[pairs.distance == d]).sum())
        for d in np.unique(pairs.distance)
    )
    assert (predict(pairs) == pairs.linked).sum() == expected


def test_the_probe_is_the_logistic_regression_of_plain_gradient_descent():
    pairs = sample_pairs(sentences(tell=0))
    probe = fit_pair_probe(pairs, l2=0.1)
    x = (pairs.features - pairs.features.mean(0)) / (pairs.features.std(0) + 1e-6)
    weights, bias = np.zeros(3), 0.0
    for _ in range(4000):
        p = 1 / (1 + np.exp(-(x @ weights + bias)))
        weights -= 0.5 * ((p - pairs.linked) @ x / len(x) + 0.1 * weights)
        bias -= 0.5 * (p - pairs.linked).mean()
    assert probe.weights == pytest.approx(weights, abs=2e-3)
    assert probe.bias == pytest.approx(bias, abs=2e-3)


def test_noise_is_at_chance():
    train, test = halves(sample_pairs(sentences(150), negatives="distance-matched"))
    score = pair_accuracy(fit_pair_probe(train), test)
    assert score.low < 0.5 < score.high


PAIRS = sample_pairs(sentences(2))

test_what_cannot_be_paired_is_refused = refusals(
    (
        lambda: sample_pairs(sentences(2), negatives="near"),
        "negatives must be one of uniform, distance-matched; got 'near'",
    ),
    (lambda: sample_pairs(sentences(2, n=1)), "no arc with an unrelated pair beside it"),
    (
        lambda: fit_pair_probe(PAIRS.of(np.arange(len(PAIRS)) < 2)),
        "linked and unlinked pairs; got 2 of one kind",
    ),
    (
        lambda: pair_accuracy(lambda p: p.linked, PAIRS.of(PAIRS.sentence == 0)),
        "two sentences or more; got 1",
    ),
)
