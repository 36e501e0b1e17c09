"""What the measures and the anatomy of heads refuse, and the words that say what was expected.

Each case is a call, words of its message, and the error where it is no ValueError. What needs a model to be refused stands beside
the tests that have one.
"""

from __future__ import annotations

from dataclasses import replace

import made
import numpy as np
import pytest
from made import random_maps

from bertlook_course.analyses import anatomy
from bertlook_course.metrics import accuracy, agree, cohen_kappa, partial_rank_correlation, rank_correlation
from bertlook_course.metrics import mds as embedding
from bertlook_teach import Attention
from bertlook_teach import measures as m
from bertlook_teach.views import HeadView

MAPS = random_maps(2, 3, 7, 7)
EVEN = np.full((2, 3, 5, 5), 1 / 5)
CROSS = Attention.from_arrays(np.full((1, 1, 3, 4), 1 / 4), ["a", "b", "[SEP]"], ["[CLS]", "a", "b", "[SEP]"])
PAIRS = (m.same_word_pairs, m.within_word_pairs, m.next_word_pairs, m.closing_sep_pairs)
PAIR = np.ones((1, 2, 2))
ONES = np.ones((2, 3))
MATRIX = np.ones((10, 10)) - np.eye(10)
POINTS = np.arange(18.0).reshape(9, 2) ** 2
ZEROS = {name: np.zeros((2, 2)) for name in m.THRESHOLDS}
ATTENTION = made.attention()  # seven wordpieces in one text
BARE = made.attention(["a", "b"])
NO_PAIR = np.zeros((7, 7), dtype=bool)
VECTORS = made.vector_attention()


def spoilt(maps, value, *place):
    """The maps with one row multiplied by a value."""
    maps = maps.copy()
    maps[place] *= value
    return maps


def distances(*texts, **options):
    return m.head_distances(texts, **options)


def classes(*texts):
    return m.stack_scores([random_maps(1, 2, 4, 4, seed=seed) for seed in texts])


CASES = [
    # distances between heads
    (lambda: m.js_distances(np.eye(3)), r"shape \(layer, head, query, key\) or \(head, query, key\); got \(3, 3\)"),
    (lambda: m.js_distances(spoilt(MAPS, 0.5, 1, 2, 3)), "layer 1, head 2, query 3 sums to 0.500"),
    (lambda: m.js_distances(MAPS, smoothing=1), "share between 0 and 1; got 1"),
    (lambda: distances(), "at least one text; the corpus is empty"),
    (lambda: distances(MAPS, MAPS[:, :2]), "text 1 comes from a model of 2 x 2 heads.*2 x 3"),
    (lambda: distances(MAPS[0]), "text 0: attention must have shape"),
    (lambda: distances(MAPS).interval(np.mean), "at least two texts; there are 1, kept"),
    (lambda: distances(MAPS, MAPS, keep=False).interval(np.mean), "not kept"),
    (lambda: m.group_test(MATRIX, [0] * 10), "needs two different groups"),  # a model of one layer
    (lambda: m.group_test(MATRIX, range(10)), "needs two heads of the same group"),  # one head a layer
    (lambda: m.group_test(MATRIX, [1, 2, 3]), "10 heads, 3 labels"),
    (lambda: m.behaviour_labels({k: v for k, v in ZEROS.items() if k != "sep"}), "missing: 'sep'"),
    (lambda: m.behaviour_labels(ZEROS | {"punct": ONES}), r"'punct' must have shape \(layer, head\)"),
    (lambda: m.behaviour_labels(ZEROS | {"cls": np.full((2, 2), np.nan)}), "'cls' holds a number that is not finite"),
    # maps of heads and families
    (lambda: embedding.metric_mds(MATRIX, begin=POINTS), r"begins with shape \(10, 2\); got \(9, 2\)"),
    (lambda: embedding.metric_mds(MATRIX, n_dims=0), "n_dims >= 1, starts >= 0"),
    (lambda: embedding.kruskal_stress(MATRIX, POINTS), r"a map of 10 points has shape \(10, dimension\)"),
    (lambda: embedding.procrustes(POINTS, POINTS[:8], range(9), range(8)), "same heads: one has 9 points, the other 8.*side by side"),
    (lambda: embedding.procrustes(POINTS, POINTS, range(9), range(1, 10)), "only 8 of 9 names occur in both"),
    (lambda: embedding.procrustes(POINTS, POINTS, range(9), range(8, -1, -1)), "stand in another order"),
    (lambda: embedding.procrustes(POINTS, POINTS[:, :1], range(9), range(9)), r"both maps need shape \(point, dimension\) with 9 points"),
    (lambda: embedding.procrustes(POINTS * 0, POINTS, range(9), range(9)), "all lie in one place"),
    (lambda: embedding.cut(embedding.average_linkage(np.zeros((4, 4))), 5), "4 points can be cut into 1 to 4 clusters; got 5"),
    # five kinds of map
    (lambda: m.map_scores(EVEN / 2), r"layer 0, head 0, query 0 sums to 0\.500"),
    (lambda: m.map_scores(EVEN, (0, 0, 1)), r"one segment a token, 5 of them; got shape \(3,\)"),
    (lambda: m.highest_scores(()), "no tokens"),
    (lambda: m.stack_scores([]), "at least one Attention"),
    (lambda: m.stack_scores([MAPS, MAPS[:1]]), "models of one shape"),
    *((lambda value=value: m.Thresholds(block=value), "threshold block must lie above 0 and at most at 1") for value in (0, -0.1, 1.01, np.nan)),
    (lambda: anatomy.class_fractions(classes(0)), "at least two texts; got 1"),
    (lambda: anatomy.class_fractions(m.map_scores(MAPS)), r"shape \(text, layer, head\)"),
    (lambda: anatomy.class_fractions(classes(0, 1))["horizontal"], "no class 'horizontal'", KeyError),
    (lambda: anatomy.threshold_sweep(classes(0, 1), "x", (0.5,)), "a threshold is one of both, vertical, diagonal, block, spread; got 'x'"),
    (lambda: anatomy.input_kinds(["s0"], [("a", "b")] * 3), "at least two are needed; got 1 and 3"),
    (lambda: anatomy.sample_maps(1, 2, 3, 7), "7 maps were asked for; 1 texts of 2 x 3 heads hold 1 to 6"),
    # labels that two give
    (lambda: agree(["v"], ["v", "d"], ["v", "d"]), "got 1 and 2 labels"),
    (lambda: agree(["v"], ["x"], ["v", "d"]), "'x' is not one of the classes v, d"),
    (lambda: agree(["v", None], [None, "d"], ["v", "d"]), "no item has been labelled by both"),
    (lambda: accuracy(np.zeros((2, 2))), "empty"),
    (lambda: cohen_kappa(ONES), "as many rows as columns"),
    # six lenses
    (lambda: m.value_norms(np.ones((1, 2, 3, 4)), np.ones((1, 2, 5, 4))), "must agree in layer, head and dim"),
    (lambda: m.weighted_norms(np.ones((1, 2, 3, 3)), np.ones((1, 2, 4))), "one number per key for each head"),
    (lambda: m.weighted_norms(ATTENTION, object()), "made by value_norms.*got object"),
    (lambda: m.value_norms(np.ones((1, 2, 3, 4)), object()), r"attention .* comes first, then output_projection\(encoder\)", TypeError),
    (lambda: m.attention_flow(random_maps(1, 1, *[m.FLOW_TOKENS + 1] * 2)), f"takes at most {m.FLOW_TOKENS} tokens; got {m.FLOW_TOKENS + 1}"),
    (lambda: m.attention_rollout(-np.ones((1, 1, 2, 2))), "Signed gradients do not mix tokens"),
    (lambda: m.attention_rollout(np.ones((2, 2))), "maps must have shape"),
    (lambda: m.attention_rollout(PAIR, by_head=True), "by_head=True needs maps of shape"),
    (lambda: m.attention_rollout(PAIR, residual=2), "residual is a share"),
    (lambda: anatomy.category_sums(EVEN, made.TOKENS), r"maps must have shape \(..., query, key\) = \(..., 7, 7\)"),
    (lambda: rank_correlation([1, 1], [1, 2]), "x is constant"),
    (lambda: rank_correlation([1, 2], [1, 2, 3]), "as many x as y, at least two; got 2, 3"),
    (lambda: rank_correlation([1, 2], [1, np.nan]), "y holds a value that is not a number"),
    (lambda: partial_rank_correlation([1, 2, 3], [2, 1, 3], [10, 20, 30]), "nothing is left of x"),  # z gives the order
    (lambda: anatomy.attention_against_importance(ONES, ONES, ONES[0]), "must all have shape"),
    # Vig's patterns
    (lambda: m.PATTERNS["same_word"].value(ATTENTION.weights), "pass an Attention, .*; got ndarray", TypeError),
    (lambda: m.PATTERNS["delimiter"].value(BARE), r"no \[SEP\] among the tokens", m.UndefinedPattern),
    (lambda: m.sep_to_cls(BARE), r"no \[SEP\] among the tokens", m.UndefinedPattern),
    (lambda: m.closing_sep_pairs(BARE), r"no \[SEP\]", m.UndefinedPattern),
    (lambda: m.pair_share(ATTENTION, np.ones((2, 2), dtype=bool)), r"7 x 7 booleans \(query, key\); got shape \(2, 2\)"),
    (lambda: m.pair_share(ATTENTION, np.ones((7, 7))), "booleans.*dtype float64"),
    (lambda: m.pair_share(ATTENTION, NO_PAIR), "no pair", m.UndefinedPattern),
    (lambda: m.expected_at_offsets(ATTENTION, np.eye(7, k=-1, dtype=bool), NO_PAIR), "no pair at offset -1 to compare with", m.UndefinedPattern),
    (lambda: m.looks_alike(ATTENTION, [0, 1]), "one group for each of the 7 tokens"),
    (lambda: m.within_segment_mass(ATTENTION, [0, 1]), "segment_ids must hold one entry for each of the 7 tokens"),
    (lambda: m.bag_of_words(ATTENTION), "one text only", m.UndefinedPattern),
    (lambda: m.bag_of_words(replace(ATTENTION, weights=ATTENTION.weights * 2)), "attention rows must sum to 1"),
    (lambda: m.PATTERNS["within_word"].value(ATTENTION.to_words()), "between words; take it between wordpieces", m.UndefinedPattern),
    # neurons
    (lambda: anatomy.neuron_view(replace(VECTORS, queries=VECTORS.keys, keys=VECTORS.queries), 0, 0, 0), "softmax of the scores differs by .* from the attention of head 1-1"),
    (lambda: anatomy.neuron_view(ATTENTION, 0, 0, 0), "vectors=True"),
    (lambda: anatomy.neuron_view(VECTORS, 0, 0, 4), "no token 4 to look from: tokens go from 0 to 3", IndexError),
    (lambda: anatomy.neuron_view(VECTORS, 9, 0, 0), r"no head \[9, 0\]", IndexError),
    (lambda: anatomy.margin_dimensions([1.0, np.nan]), "NaN"),
    (lambda: anatomy.margin_dimensions([1.0], share=0), "share is a part of the margin"),
    (lambda: anatomy.participation_ratio(np.zeros((3, 0))), "dim at least 1"),
    (lambda: anatomy.margin_contributions(ONES, ONES, np.zeros((2, 2), dtype=bool)), "at least one pair"),
    (lambda: anatomy.margin_contributions(ONES, np.ones((2, 4)), np.ones((2, 2), dtype=bool)), "same|both have shape"),
    (lambda: anatomy.random_rotations(0, 1), "at least 1"),
    (lambda: anatomy.change_basis(ONES, ONES, anatomy.Basis(2 * np.eye(3), np.eye(3))), "would change scores"),
    (lambda: anatomy.svd_basis(np.ones((6, 3)), random_maps(6, 3)), "has rank 1 instead of 3"),
    (lambda: anatomy.svd_basis(np.zeros((6, 3)), np.ones((6, 3))), "has rank 0 instead of 3"),
    (lambda: anatomy.svd_basis(np.ones((3, 6)), np.ones((3, 6))), r"shape \(width, dim\)"),
    (lambda: anatomy.position_correlation(ONES, ONES.T), "same shape"),
    (lambda: anatomy.dimensions_used(ATTENTION, np.eye(7, dtype=bool)), "vectors=True"),
    (lambda: anatomy.fair_head(np.zeros((3, 2, 3))), r"at least 10 inputs.*got \(3, 2, 3\)"),
    (lambda: anatomy.fair_head(np.zeros((10, 2, 3)), np.zeros((10, 3, 2))), "same inputs and heads"),
    # where heads look
    (lambda: m.attention_share(EVEN, np.ones(5, dtype=bool), np.zeros(5, dtype=bool)), "query_mask chooses no query"),
    (lambda: m.attention_share(EVEN, np.ones(4, dtype=bool)), r"key_mask must be 5 booleans, one for each token; got shape \(4,\)"),
    (lambda: m.attention_share(EVEN, np.arange(5)), "booleans"),
    (lambda: m.special_token_attention(ATTENTION, "SEP"), "target must be one of cls, sep, punct, other; got 'SEP'"),
    (lambda: m.special_token_attention(EVEN), r"pass an Attention.*got ndarray", TypeError),
    (lambda: m.special_token_attention({"attentions": EVEN}), r"pass an Attention.*got dict", TypeError),
    *((lambda pairs=pairs: pairs(CROSS), "queries and keys are different texts") for pairs in PAIRS),
    (lambda: m.attention_entropy(HeadView(EVEN, list("abcde"))), "HeadView is a view: give the attention that it shows", TypeError),
    (lambda: m.attention_entropy([ATTENTION, ATTENTION]), "2 attentions were given"),
    (lambda: m.sep_to_sep(BARE), r"no \[SEP\] among the tokens"),
    (lambda: m.attention_entropy(EVEN, smoothing=2), "smoothing is a share between 0 and 1; got 2"),
    (lambda: m.attention_entropy(spoilt(np.stack([EVEN, EVEN]), 0, 1, 0, 2, 4)), "batch 1, layer 0, head 2, query 4 sums to 0.000"),
]  # fmt: skip


@pytest.mark.parametrize(("call", "words", "error"), [(*case[:2], *(case[2:] or (ValueError,))) for case in CASES], ids=[case[1] for case in CASES])  # fmt: skip
def test_what_is_asked_wrongly_is_refused_in_words(call, words, error):
    with pytest.raises(error, match=words):
        call()


def test_what_a_text_cannot_show_is_a_wrong_value_too():
    assert issubclass(m.UndefinedPattern, ValueError)
