"""Vig's patterns and the neurons behind them: by hand, turned round, by a slow second way, at the edges, and refused."""

from __future__ import annotations

import math
from dataclasses import replace

import numpy as np
import pytest
from tiny import FAMILIES, HEAD_SIZE, HEADS, LAYERS, WIDTH, save_tiny_model

from bertlook_course.analyses.anatomy import (
    change_basis,
    compare_bases,
    dimensions_used,
    fair_head,
    margin_contributions,
    margin_dimensions,
    neuron_view,
    participation_ratio,
    position_correlation,
    position_keys,
    query_key_matrices,
    random_rotations,
    segment_switch,
    svd_basis,
)
from bertlook_course.analyses.patterns import pattern_measures
from bertlook_teach.measures import (
    PATTERNS,
    bag_of_words,
    closing_sep_pairs,
    expected_at_offsets,
    looks_alike,
    measure_patterns,
    missing_patterns,
    next_word_pairs,
    pair_share,
    same_word_pairs,
    sep_to_cls,
    text_groups,
    within_segment_entropy,
    within_segment_mass,
    within_word_pairs,
)
from bertlook_teach.model import Attention, extract_attention, load_encoder

LAYERS_, HEADS_ = 2, 3  # of made-up attention; different from each other and from the number of tokens

# Two texts; "the" four times, once across and once within each; "unreal" in two pieces, "cat" in both texts.
TOKENS = "[CLS] The un ##real cat saw the dog . [SEP] the cat hid ##ing the [SEP]".split()
WORDS = (None, 0, 1, 1, 2, 3, 4, 5, 6, None, 7, 8, 9, 9, 10, None)
TEXTS = (0,) * 10 + (1,) * 6


def made(weights=None, tokens=TOKENS, words=WORDS, texts=TEXTS, seed=0, **fields) -> Attention:
    n = len(tokens)
    if weights is None:
        weights = np.random.default_rng(seed).dirichlet(np.full(n, 0.4), size=(LAYERS_, HEADS_, n))
    weights = np.broadcast_to(np.asarray(weights, float), (LAYERS_, HEADS_, n, n)).copy()
    special = tuple(word is None for word in words)
    return Attention(weights, tuple(tokens), tuple(words), tuple(texts), special, (), "a text", **fields)


def single(words: str) -> Attention:
    """One text of whole words, as [CLS] words [SEP]."""
    tokens = ["[CLS]", *words.split(), "[SEP]"]
    ids = (None, *range(len(tokens) - 2), None)
    return made(tokens=tokens, words=ids, texts=(0,) * len(tokens))


def two_texts(first: str, second: str) -> Attention:
    a, b = first.split(), second.split()
    ids = (None, *range(len(a)), None, *range(len(a), len(a) + len(b)), None)
    return made(
        tokens=["[CLS]", *a, "[SEP]", *b, "[SEP]"], words=ids, texts=(0,) * (len(a) + 2) + (1,) * (len(b) + 1)
    )


def one_hot(aims: dict[int, int], n: int = len(TOKENS)) -> np.ndarray:
    """Each query looks at one key; those not named look at token 0."""
    weights = np.zeros((n, n))
    for query in range(n):
        weights[query, aims.get(query, 0)] = 1
    return weights


def turned(attention: Attention) -> Attention:
    """Query and key swapped, rows made to sum to 1 again."""
    weights = attention.weights.swapaxes(-1, -2) + 1e-9
    return replace(attention, weights=weights / weights.sum(axis=-1, keepdims=True))


# --- which pairs ---------------------------------------------------------------------------------------


def test_the_same_word_is_told_by_spelling_and_never_counts_itself_or_a_special_token():
    pairs = same_word_pairs(made())
    the, cat = {1, 6, 10, 14}, {4, 11}
    expected = {(i, j) for group in (the, cat) for i in group for j in group if i != j}
    assert {tuple(map(int, pair)) for pair in np.argwhere(pairs)} == expected


def test_across_keeps_only_pairs_of_different_texts():
    pairs = same_word_pairs(made(), other_text=True)
    expected = {(1, 10), (1, 14), (6, 10), (6, 14), (4, 11)}
    assert {tuple(map(int, pair)) for pair in np.argwhere(pairs)} == expected | {(j, i) for i, j in expected}


def test_the_mark_of_a_space_is_no_difference_and_a_comma_is_no_word():
    attention = single("Ġthe the Ġ, , ▁the , Ġ Ġ")
    assert {tuple(map(int, p)) for p in np.argwhere(same_word_pairs(attention))} == {
        (i, j) for i in (1, 2, 5) for j in (1, 2, 5) if i != j
    }


def test_pieces_of_one_word_are_pairs():
    pairs = {tuple(map(int, pair)) for pair in np.argwhere(within_word_pairs(made()))}
    assert pairs == {(2, 3), (3, 2), (12, 13), (13, 12)}


# --- values by hand ------------------------------------------------------------------------------------


def test_next_and_previous_are_one_diagonal_and_not_the_other():
    n = len(TOKENS)
    ahead = made(one_hot({i: i + 1 for i in range(n - 1)}))
    assert PATTERNS["next"].value(ahead) == pytest.approx((n - 1) / n)
    assert PATTERNS["previous"].value(ahead) == pytest.approx(0, abs=1e-6)
    assert PATTERNS["previous"].value(turned(ahead)) == pytest.approx((n - 1) / n, abs=1e-5)


def test_a_same_word_head_is_found_and_a_head_that_likes_the_word_is_not():
    finds = made(one_hot({1: 6, 6: 10, 10: 14, 14: 1, 4: 11, 11: 4}))
    score = PATTERNS["same_word"].score(finds)
    assert score.value == pytest.approx(1)
    assert (score.excess > 0.5).all()
    likes = made(one_hot({i: 6 for i in range(len(TOKENS))}))  # everybody looks at the second "the"
    score = PATTERNS["same_word"].score(likes)
    # Three of the six queries with a twin have token 6 as twin (1, 10 and 14): high, and all of it chance.
    assert score.value == pytest.approx(3 / 6) and score.excess == pytest.approx(0, abs=1e-7)


def test_same_word_looks_from_query_to_key():
    weights = one_hot({4: 11})
    weights[11] = one_hot({11: 5})[11]  # "cat" A finds "cat" B; "cat" B looks at "saw"
    assert pair_share(weights, same_word_pairs(made())) == pytest.approx(1 / 6)
    only_one_way = np.zeros((16, 16), dtype=bool)
    only_one_way[4, 11] = True
    assert pair_share(weights, only_one_way) == 1 and pair_share(weights, only_one_way.T) == 0


def test_same_word_across_counts_only_the_other_text():
    within = made(one_hot({1: 6, 6: 1, 10: 14, 14: 10}))
    assert PATTERNS["same_word"].value(within) == pytest.approx(4 / 6)
    assert PATTERNS["same_word_across"].value(within) == pytest.approx(0)
    across = made(one_hot({1: 10, 6: 14, 10: 1, 14: 6, 4: 11, 11: 4}))
    assert PATTERNS["same_word_across"].value(across) == pytest.approx(1)


def test_a_head_that_only_stays_in_its_text_has_no_excess_for_same_word():
    same = np.equal.outer(TEXTS, TEXTS)
    stays = made(same / same.sum(axis=1, keepdims=True))
    assert PATTERNS["same_word"].excess(stays) == pytest.approx(0, abs=1e-7)
    assert PATTERNS["same_word_across"].excess(stays) == pytest.approx(0, abs=1e-7)
    crosses = made(~same / (~same).sum(axis=1, keepdims=True))
    assert PATTERNS["same_word_across"].excess(crosses) == pytest.approx(0, abs=1e-7)
    # with the mean over both texts it would have one: that null model mistakes crossing for matching
    plain = pair_share(looks_alike(crosses, [0] * len(TOKENS)), same_word_pairs(crosses, other_text=True))
    assert (PATTERNS["same_word_across"].value(crosses) > plain + 0.05).all()


def test_rest_of_the_word_is_measured_against_any_neighbour():
    neighbours = {i: i + 1 for i in range(15)} | {3: 2, 13: 12}
    score = PATTERNS["within_word"].score(made(one_hot(neighbours)))
    # pieces look at each other (value 1); of other neighbours at +1 all but one do, at -1 none:
    # queries 2 and 12 expect the share at +1, queries 3 and 13 that at -1.
    texts = [text_groups(made())[i : i + 2] for i in range(15)]
    ahead = [
        i for i, pair in enumerate(texts) if pair[0] == pair[1] != -1 and i not in (2, 12)
    ]  # pairs at +1 in one text
    looks = sum(neighbours.get(i) == i + 1 for i in ahead) / len(ahead)
    assert score.value == pytest.approx(1)
    assert score.null == pytest.approx((2 * looks + 2 * 0) / 4)


def test_a_next_word_head_has_no_excess_for_the_rest_of_a_word():
    ahead = made(one_hot({i: i + 1 for i in range(15)}))
    assert PATTERNS["within_word"].value(ahead) == pytest.approx(0.5)  # 2 -> 3 and 12 -> 13, not back
    assert PATTERNS["within_word"].excess(ahead) == pytest.approx(0, abs=1e-7)


def test_delimiter_share_against_uniform():
    all_sep = made(one_hot({i: 9 for i in range(16)}))
    assert PATTERNS["delimiter"].value(all_sep) == pytest.approx(1)
    assert PATTERNS["delimiter"].null(all_sep) == pytest.approx(2 / 16)
    assert PATTERNS["delimiter"].value(made(np.eye(16))) == pytest.approx(2 / 16)


def test_bag_of_words_from_nothing_to_perfect():
    same = np.equal.outer(TEXTS, TEXTS)
    perfect = made(same / same.sum(axis=1, keepdims=True))
    assert bag_of_words(perfect) == pytest.approx(1)
    assert within_segment_mass(perfect) == pytest.approx(1)
    even = made(np.full((16, 16), 1 / 16))
    assert PATTERNS["bag_of_words"].excess(even) == pytest.approx(0, abs=1e-7)
    assert within_segment_entropy(even) == pytest.approx(1)
    other = made(~same / (~same).sum(axis=1, keepdims=True))
    assert bag_of_words(other) == pytest.approx(0) and within_segment_mass(other) == pytest.approx(0)
    sharp = made(one_hot({i: i for i in range(16)}))
    assert within_segment_mass(sharp) == pytest.approx(1) and bag_of_words(sharp) == pytest.approx(
        0, abs=1e-7
    )


def test_bag_of_words_looks_from_query_to_key():
    # text A stays, text B looks at A: 8 words of A inside, 5 of B not; turned round B is looked at by nobody
    weights = np.zeros((16, 16))
    weights[:, :10] = 1 / 10
    assert within_segment_mass(made(weights)) == pytest.approx(8 / 13)
    assert (within_segment_mass(turned(made(weights))) > 0.3).all()
    assert within_segment_mass(turned(made(weights)))[0, 0] != pytest.approx(8 / 13, abs=0.01)


def test_where_sep_looks():
    weights = one_hot({9: 0, 15: 3})
    assert sep_to_cls(made(weights)) == pytest.approx(0.5)
    assert sep_to_cls(made(weights), last=True) == pytest.approx(0)
    assert sep_to_cls(made(one_hot({9: 3, 15: 0})), last=True) == pytest.approx(1)
    assert sep_to_cls(made(one_hot({i: 9 for i in range(16)}))) == pytest.approx(0)


# --- the slow second way -------------------------------------------------------------------------------


def slow_pair_share(weights, pairs):
    shares = []
    for i in range(len(weights)):
        keys = [j for j in range(len(weights)) if pairs[i][j]]
        if keys:
            shares.append(sum(weights[i][j] for j in keys))
    return sum(shares) / len(shares)


def slow_null_rows(weights, groups):
    rows = []
    for group in groups:
        alike = [weights[i] for i in range(len(weights)) if groups[i] == group]
        rows.append([sum(row[j] for row in alike) / len(alike) for j in range(len(weights))])
    return rows


def slow_scores(attention, layer, head):
    """Every pattern by loops over tokens, straight from its sentence."""
    w = attention.weights[layer, head].tolist()
    n, special, text, words = len(w), attention.special, attention.segment_ids, attention.word_ids
    tokens = [t.lower() for t in attention.tokens]
    groups = [-1 if special[i] else text[i] for i in range(n)]
    null_rows = slow_null_rows(w, groups)

    def same(i, j):
        return (
            i != j and not special[i] and not special[j] and tokens[i] == tokens[j] and tokens[i].strip(".,#")
        )

    def across(i, j):
        return same(i, j) and text[i] != text[j]

    def piece(i, j):
        return i != j and words[i] is not None and words[i] == words[j]

    result = {
        "next": (
            sum(w[i][i + 1] for i in range(n - 1)) / n,
            sum(null_rows[i][i + 1] for i in range(n - 1)) / n,
        ),
        "previous": (
            sum(w[i][i - 1] for i in range(1, n)) / n,
            sum(null_rows[i][i - 1] for i in range(1, n)) / n,
        ),
    }
    for key, rule in (("same_word", same), ("same_word_across", across)):
        pairs = [[bool(rule(i, j)) for j in range(n)] for i in range(n)]
        result[key] = (slow_pair_share(w, pairs), slow_pair_share(null_rows, pairs))
    expected = [[0.0] * n for _ in range(n)]
    for i in range(n):
        for j in range(n):
            if piece(i, j):
                others = [
                    w[a][a + j - i]
                    for a in range(n)
                    if 0 <= a + j - i < n and groups[a] == groups[a + j - i] != -1 and not piece(a, a + j - i)
                ]
                expected[i][j] = sum(others) / len(others)
    pairs = [[piece(i, j) for j in range(n)] for i in range(n)]
    result["within_word"] = (slow_pair_share(w, pairs), slow_pair_share(expected, pairs))
    seps = [j for j in range(n) if tokens[j] == "[sep]"]
    result["delimiter"] = (sum(w[i][j] for i in range(n) for j in seps) / n, len(seps) / n)
    scores, chances = [], []
    for i in range(n):
        if special[i]:
            continue
        own = [w[i][j] for j in range(n) if text[j] == text[i]]
        mass = sum(own)
        entropy = -sum(p / mass * math.log(p / mass) for p in own if p > 0)
        scores.append(mass * entropy / math.log(len(own)))
        chances.append(len(own) / n)
    result["bag_of_words"] = (sum(scores) / len(scores), sum(chances) / len(chances))
    return result


@pytest.mark.parametrize("seed", [0, 1])
def test_every_pattern_equals_its_slow_transcription(seed):
    attention = made(seed=seed)
    scores = measure_patterns(attention)
    assert set(scores) == set(PATTERNS)
    for layer in range(LAYERS_):
        for head in range(HEADS_):
            for key, (value, null) in slow_scores(attention, layer, head).items():
                assert scores[key].value[layer, head] == pytest.approx(value, abs=1e-9), key
                assert scores[key].null[layer, head] == pytest.approx(null, abs=1e-9), key


def test_the_specimen_s_scores_equal_the_slow_ones(specimen):
    attention = extract_attention(
        specimen, "The unreasonable cat saw the dog.", "The dog saw that the cat was unreasonable."
    )
    scores = measure_patterns(attention)
    for layer, head in ((0, 0), (specimen.n_layers - 1, specimen.n_heads - 1)):
        for key, (value, null) in slow_scores(attention, layer, head).items():
            assert scores[key].value[layer, head] == pytest.approx(value, abs=1e-5), key
            assert scores[key].null[layer, head] == pytest.approx(null, abs=1e-5), key


@pytest.mark.parametrize("key", PATTERNS)
def test_swapping_query_and_key_changes_every_pattern(key):
    attention = made()
    before, after = PATTERNS[key].value(attention), PATTERNS[key].value(turned(attention))
    assert np.abs(before - after).max() > 0.01


@pytest.mark.parametrize("key", PATTERNS)
def test_every_pattern_is_a_share_and_uniform_attention_exceeds_no_null_model(key):
    score = PATTERNS[key].score(made())
    assert score.value.shape == (LAYERS_, HEADS_)
    for part in (score.value, score.null):
        assert np.isfinite(part).all() and (part >= 0).all() and (part <= 1 + 1e-9).all()
    even = PATTERNS[key].score(made(np.full((16, 16), 1 / 16)))
    assert even.excess == pytest.approx(0, abs=1e-7)


def test_torch_tensors_and_batches_give_the_same_numbers():
    import torch

    attention = made()
    pairs, reference = within_word_pairs(attention), ~within_word_pairs(attention)
    tensor = torch.from_numpy(attention.weights)[None].repeat(2, 1, 1, 1, 1)
    for measure in (
        lambda w: pair_share(w, pairs),
        lambda w: expected_at_offsets(w, pairs, reference),
        lambda w: looks_alike(w, text_groups(attention)),
        lambda w: within_segment_mass(w, TEXTS),
        lambda w: within_segment_entropy(w, TEXTS),
        lambda w: bag_of_words(w, TEXTS),
    ):
        ours, theirs = measure(attention.weights), measure(tensor)
        assert isinstance(theirs, torch.Tensor) and theirs.shape[0] == 2
        assert theirs[1].numpy() == pytest.approx(ours)


def test_the_input_is_left_alone_and_the_null_model_stays_a_distribution():
    attention = made()
    before = attention.weights.copy()
    rows = looks_alike(attention)
    measure_patterns(attention)
    assert (attention.weights == before).all()
    assert rows.sum(axis=-1) == pytest.approx(1)
    assert rows.mean(axis=-2) == pytest.approx(before.mean(axis=-2))  # what a token receives is kept


# --- edges ---------------------------------------------------------------------------------------------


def test_what_a_text_cannot_show_is_left_out_with_a_reason():
    reasons = missing_patterns(single("we saw a bird"))
    assert set(reasons) == {"same_word", "same_word_across", "within_word", "bag_of_words"}
    assert "no word occurs twice" in reasons["same_word"]
    assert "occurs in both texts" in reasons["same_word_across"]
    assert "wordpieces" in reasons["within_word"]
    assert "pair of texts" in reasons["bag_of_words"]
    assert set(measure_patterns(single("we saw a bird"))) == set(PATTERNS) - set(reasons)


@pytest.mark.parametrize(
    "attention",
    [
        pytest.param(single("yes"), id="one word"),
        pytest.param(single("the cat the cat"), id="one text"),
        pytest.param(two_texts("no", "yes"), id="texts of one word"),
        pytest.param(two_texts("we saw it", "we saw it"), id="the same text twice"),
        pytest.param(made(tokens=["a", "b"], words=(0, 1), texts=(0, 0)), id="no special token"),
        pytest.param(made(tokens=["a"], words=(0,), texts=(0,)), id="one token"),
        pytest.param(made(tokens=["a", "b"], words=(0, 1), texts=(0, 1)), id="one-token segments"),
        pytest.param(made(tokens=["[CLS]", "[SEP]"], words=(None, None), texts=(0, 1)), id="special tokens only"),
        pytest.param(made(np.eye(16)), id="one-hot rows"),
        pytest.param(made(segments="none"), id="a model without segment ids"),
        pytest.param(made(tokens=["[CLS]", "un", "##real", "[SEP]"], words=(None, 0, 0, None), texts=(0,) * 4), id="one long word"),
    ],
)  # fmt: skip
def test_no_input_gives_nan(attention):
    scores, reasons = measure_patterns(attention), missing_patterns(attention)
    assert set(scores) | set(reasons) == set(PATTERNS) and not set(scores) & set(reasons)
    for score in scores.values():
        for part in score:
            assert part.shape == (LAYERS_, HEADS_) and np.isfinite(part).all()
    for measure in pattern_measures().values():
        values = measure(attention)
        assert values.shape == (LAYERS_, HEADS_) and np.isfinite(values).all()


def test_a_map_for_the_class_is_zero_where_a_sentence_cannot_show_the_pattern():
    measures = pattern_measures()
    assert list(measures) == [pattern.title for pattern in PATTERNS.values()]
    assert (measures["same word"](single("we saw a bird")) == 0).all()
    assert measures["same word"](made()) == pytest.approx(PATTERNS["same_word"].excess(made()))


def test_a_one_token_text_has_no_spread_and_keeps_its_row():
    attention = made(tokens=["a", "b", "c"], words=(0, 1, 2), texts=(0, 0, 1))
    assert within_segment_entropy(attention, queries=np.array([False, False, True])) == pytest.approx(0)
    assert looks_alike(attention)[..., 2, :] == pytest.approx(attention.weights[..., 2, :])


def test_identical_texts_have_every_word_across():
    attention = two_texts("we saw it", "we saw it")
    assert same_word_pairs(attention, other_text=True).sum() == 6
    finds = {1: 5, 2: 6, 3: 7, 5: 1, 6: 2, 7: 3}
    score = PATTERNS["same_word_across"].score(
        replace(attention, weights=made_like(attention, one_hot(finds, 9)))
    )
    assert score.value == pytest.approx(1) and score.null == pytest.approx(1 / 3)


def made_like(attention, weights):
    return np.broadcast_to(weights, attention.weights.shape).copy()


def test_the_text_a_token_belongs_to_counts_not_what_the_model_was_told():
    told_nothing = made(segments="zeros")
    assert within_segment_mass(told_nothing) == pytest.approx(within_segment_mass(made()))


# --- the segment switch --------------------------------------------------------------------------------

PAIRS = [("the cat sat .", "a dog sat on the mat ."), ("a dog !", "it was tired , a cat .")] * 3


def test_the_switch_measures_the_same_pairs_twice(tiny):
    switch = segment_switch(tiny, PAIRS)
    assert switch.standard.shape == switch.zeros.shape == (6, LAYERS, HEADS) and switch.chance.shape == (6,)
    for i, pair in enumerate(PAIRS[:2]):
        attention = extract_attention(tiny, *pair)
        zeros = extract_attention(tiny, *pair, segments="zeros")
        assert switch.standard[i] == pytest.approx(within_segment_mass(attention), abs=1e-5)
        assert switch.zeros[i] == pytest.approx(within_segment_mass(zeros), abs=1e-5)
        own = [
            sum(t == text for t in attention.segment_ids) / attention.n_tokens
            for text, special in zip(attention.segment_ids, attention.special)
            if not special
        ]
        assert switch.chance[i] == pytest.approx(np.mean(own))
    assert np.abs(switch.standard - switch.zeros).max() > 1e-3  # the ids reach the model


def test_the_switch_reports_on_other_pairs_than_it_chooses_by(tiny):
    switch = segment_switch(tiny, PAIRS * 2)
    bag = np.zeros_like(switch.bag)
    bag[::2, 1, 0], bag[1::2, 2, 1] = 1, 5  # 2-1 wins where it is chosen, 3-2 where it is reported
    switch = replace(switch, bag=bag)
    report = switch.report()
    assert (report.layer, report.head, report.n) == (1, 0, 6)
    assert report.standard.mean == pytest.approx(switch.standard[1::2, 1, 0].mean())
    assert report.difference.mean == pytest.approx(report.standard.mean - report.zeros.mean, abs=1e-6)
    for interval in (report.standard, report.zeros, report.difference, report.chance):
        assert interval.low - 1e-6 <= interval.mean <= interval.high + 1e-6  # all equal but for last digits
    assert report == switch.report()  # seeded
    with pytest.raises(ValueError, match="at least 10 inputs"):
        segment_switch(tiny, PAIRS[:2]).report()


def test_a_model_without_segments_has_nothing_to_switch(tmp_path):
    roberta = load_encoder(save_tiny_model(tmp_path / "roberta", "roberta"))
    with pytest.raises(ValueError, match="never told which text.*nothing to switch"):
        segment_switch(roberta, PAIRS)
    attention = extract_attention(roberta, "a cat", "a cat")
    assert set(missing_patterns(attention)) <= {
        "within_word"
    }  # which text a token is from is known all the same


def test_the_switch_needs_pairs(tiny):
    for wrong in ([], ["a text"]):
        with pytest.raises(ValueError, match="needs pairs of texts"):
            segment_switch(tiny, wrong)


# --- the neuron view -----------------------------------------------------------------------------------


def with_vectors(queries, keys, tokens) -> Attention:
    """Attention made from its vectors, each of shape (token, dim), for every head alike."""
    queries, keys = np.asarray(queries, float), np.asarray(keys, float)
    scores = queries @ keys.T / np.sqrt(queries.shape[-1])
    weights = np.exp(scores) / np.exp(scores).sum(axis=-1, keepdims=True)
    shape = (LAYERS_, HEADS_, *queries.shape)
    return made(
        weights, tokens, tuple(range(len(tokens))), (0,) * len(tokens),
        queries=np.broadcast_to(queries, shape), keys=np.broadcast_to(keys, shape),
    )  # fmt: skip


def test_the_neuron_view_by_hand():
    # dim 4, so a score is half the dot product. Query "a": keys score 0 and ln 3 -> weights 1/4 and 3/4.
    queries = [[2.0, 0, 1, 0], [0, 0, 0, 0]]
    keys = [[0, 5.0, 0, 0], [np.log(3), 7, 0, 0]]
    view = neuron_view(with_vectors(queries, keys, ["a", "b"]), 1, 2, 0)
    assert view.products == pytest.approx(np.array([[0, 0, 0, 0], [2 * np.log(3), 0, 0, 0]]))
    assert view.scores == pytest.approx([0, np.log(3)]) and view.weights == pytest.approx([0.25, 0.75])
    assert view.tokens == ("a", "b") and view.head_size == 4
    assert repr(view) == "HeadNeurons(head 2-3, 'a' looks most at 'b': score 1.10, weight 0.750)"


@pytest.mark.parametrize("family", FAMILIES)
def test_the_neuron_view_works_for_every_family(family, tmp_path):
    encoder = load_encoder(save_tiny_model(tmp_path / family, family))
    attention = extract_attention(encoder, "the cat sat .", "a dog", vectors=True)
    for layer, head, query in ((0, 1, 0), (LAYERS - 1, 0, attention.n_tokens - 1)):
        view = neuron_view(attention, layer, head, query)
        assert view.weights == pytest.approx(attention.weights[layer, head, query], abs=1e-5)
        assert view.products.shape == (attention.n_tokens, HEAD_SIZE)
        assert view.products.sum(axis=-1) / math.sqrt(HEAD_SIZE) == pytest.approx(view.scores)


# --- how many dimensions -------------------------------------------------------------------------------


def test_participation_ratio_counts_dimensions():
    assert participation_ratio(np.eye(5)[0]) == 1
    assert participation_ratio(np.full(7, 0.3)) == pytest.approx(7)
    assert participation_ratio([3.0, 3.0, -100.0]) == pytest.approx(2)  # a negative contribution counts as 0
    assert participation_ratio(np.full(3, -1.0)) == 0
    assert participation_ratio([2.0, 1.0]) == pytest.approx(9 / 5)
    assert participation_ratio(np.ones((2, 3, 5))).shape == (2, 3)


def slow_margin_dimensions(contributions, share=0.9):
    """By trying every choice of 1, 2, 3 ... dimensions."""
    from itertools import combinations

    margin = sum(contributions)
    if margin <= 0:
        return 0
    for count in range(1, len(contributions) + 1):
        if any(sum(chosen) >= share * margin - 1e-12 for chosen in combinations(contributions, count)):
            return count


def test_margin_dimensions_equal_trying_every_choice():
    contributions = np.random.default_rng(3).standard_normal((40, 7)) + 0.2
    assert (margin_dimensions(contributions.sum(axis=1)[:, None] * 0 + contributions) > 0).any()
    assert margin_dimensions(contributions).tolist() == [
        slow_margin_dimensions(list(c)) for c in contributions
    ]
    assert margin_dimensions(np.ones(10)) == 9 and margin_dimensions(np.ones(10), share=1) == 10


def test_margin_contributions_add_up_to_the_margin_and_ignore_what_all_keys_share():
    generator = np.random.default_rng(4)
    queries, keys = generator.standard_normal((2, 3, 6, 5)), generator.standard_normal((2, 3, 6, 5))
    pairs = np.zeros((6, 6), dtype=bool)
    pairs[1, 4] = pairs[5, 0] = True
    given = margin_contributions(queries, keys, pairs)
    assert given.shape == (2, 3, 2, 5)
    for layer, head in ((0, 2), (1, 0)):
        for row, (i, j) in enumerate([(1, 4), (5, 0)]):
            scores = [sum(queries[layer, head, i] * keys[layer, head, k]) / math.sqrt(5) for k in range(6)]
            assert given[layer, head, row].sum() == pytest.approx(scores[j] - sum(scores) / 6)
    assert margin_contributions(queries, keys + 3.0, pairs) == pytest.approx(given)
    assert (
        np.abs(margin_contributions(keys, queries, pairs) - given).max() > 0.1
    )  # query and key are not the same
    assert np.abs(margin_contributions(queries, keys, pairs.T)[..., ::-1, :] - given).max() > 0.1


# --- the rotation control ------------------------------------------------------------------------------


def test_rotations_are_orthogonal_seeded_and_differ():
    first, second = random_rotations(5, 2)
    for rotation in (first, second):
        assert rotation.for_queries @ rotation.for_queries.T == pytest.approx(np.eye(5), abs=1e-12)
    assert np.abs(first.for_queries - second.for_queries).max() > 0.1
    assert (random_rotations(5, 2)[1].for_queries == second.for_queries).all()


def test_a_rotation_spreads_one_dimension_over_many_and_keeps_every_score():
    queries, keys = np.zeros((6, 16)), np.zeros((6, 16))
    queries[:, 0], keys[:3, 0] = 1, 2  # one dimension decides everything
    pairs = np.zeros((6, 6), dtype=bool)
    pairs[4, 0] = True
    assert margin_dimensions(margin_contributions(queries, keys, pairs)).tolist() == [1]
    for basis in random_rotations(16, 3):
        turned_queries, turned_keys = change_basis(queries, keys, basis)
        assert turned_queries @ turned_keys.T == pytest.approx(queries @ keys.T, abs=1e-12)
        assert margin_dimensions(margin_contributions(turned_queries, turned_keys, pairs))[0] > 2


def test_the_svd_basis_makes_the_form_diagonal_and_keeps_every_score():
    generator = np.random.default_rng(5)
    wq, wk, x = (generator.standard_normal(shape) for shape in ((9, 4), (9, 4), (7, 9)))
    basis = svd_basis(wq, wk)
    left, right = wq @ basis.for_queries, wk @ basis.for_keys
    assert left @ right.T == pytest.approx(wq @ wk.T)
    for side in (left, right):  # columns orthogonal, equally strong on both sides, strongest first
        gram = side.T @ side
        assert gram == pytest.approx(np.diag(np.diag(gram)), abs=1e-9)
        assert (np.diff(np.diag(gram)) <= 1e-9).all()
    assert np.diag(left.T @ left) == pytest.approx(np.linalg.svd(wq @ wk.T)[1][:4])  # the slow way: all 9 x 9
    q, k = x @ wq + 0.3, x @ wk - 0.2  # biases are carried along
    assert np.matmul(*[change_basis(q, k, basis)[0], change_basis(q, k, basis)[1].T]) == pytest.approx(
        q @ k.T
    )


# --- numbers out of a model ----------------------------------------------------------------------------


@pytest.mark.parametrize("family", FAMILIES)
def test_the_matrices_of_every_family_give_its_queries_and_keys(family, tmp_path):
    encoder = load_encoder(save_tiny_model(tmp_path / family, family))
    attention = extract_attention(encoder, "the cat sat .", vectors=True)
    for layer, head in ((0, 0), (LAYERS - 1, 1)):
        wq, wk = query_key_matrices(encoder, layer, head)
        assert wq.shape == wk.shape == (WIDTH, HEAD_SIZE)
        # Without the hidden stream at hand: what the tokens' vectors differ by lies in the span of x @ W only if W is
        # the right one, so solve for x in the one equation both must satisfy, W^T x = q - b, and compare the ranks.
        basis = svd_basis(wq, wk)
        moved = change_basis(attention.queries[layer, head], attention.keys[layer, head], basis)
        assert moved[0] @ moved[1].T == pytest.approx(
            attention.queries[layer, head] @ attention.keys[layer, head].T, abs=1e-3
        )
        assert position_keys(encoder, layer, head, 6).shape == (6, HEAD_SIZE)
    with pytest.raises(IndexError, match="no head"):
        query_key_matrices(encoder, LAYERS, 0)
    with pytest.raises(ValueError, match="positions for 1 to"):
        position_keys(encoder, 0, 0, 1000)


def test_the_matrices_are_those_of_the_first_layer_s_queries(specimen):
    from bertlook_course.analyses.anatomy import embedding_parts, head_matrices

    text = "The cat sat."
    attention = extract_attention(specimen, text, vectors=True)
    stream = embedding_parts(specimen, text).stream
    for head in (0, specimen.n_heads - 1):
        wq, wk = query_key_matrices(specimen, 0, head)
        biases = head_matrices(specimen, 0, head)
        assert stream @ wq + biases.query_bias == pytest.approx(attention.queries[0, head], abs=1e-4)
        assert stream @ wk + biases.key_bias == pytest.approx(attention.keys[0, head], abs=1e-4)


@pytest.mark.parametrize("family", FAMILIES)
def test_position_keys_start_at_the_position_the_model_starts_at(family, tmp_path):
    """Turn every other embedding off: then the first layer's keys are position keys, up to normalisation."""
    import torch

    encoder = load_encoder(save_tiny_model(tmp_path / family, family))
    block = encoder.model.embeddings
    with torch.no_grad():
        block.word_embeddings.weight.zero_()
        if hasattr(block, "token_type_embeddings"):
            block.token_type_embeddings.weight.zero_()
        rows = block.position_embeddings.weight
        rows -= rows.mean(dim=-1, keepdim=True)  # so that layer normalisation only scales ...
        rows /= rows.std(dim=-1, keepdim=True, unbiased=False)  # ... and by the same factor everywhere
    attention = extract_attention(encoder, "the cat sat on a mat", vectors=True)
    keys = attention.keys[0, 1]
    expected = position_keys(encoder, 0, 1, attention.n_tokens)
    assert position_correlation(keys, expected) == pytest.approx(1, abs=1e-4)
    assert position_correlation(keys, np.roll(expected, 1, axis=0)) < 0.9


def test_position_correlation_by_hand():
    keys = np.array([[1.0, 0], [0, 1], [-1, -1]])
    assert position_correlation(keys, keys) == pytest.approx(1)
    assert position_correlation(keys, -2 * keys + 5) == pytest.approx(-1)
    assert position_correlation(keys, np.ones((3, 2))) == 0
    generator = np.random.default_rng(6)
    a, b = generator.standard_normal((2, 4, 3)), generator.standard_normal((4, 3))
    centred = [(x - x.mean(axis=0)).ravel() for x in (a[1], b)]
    assert position_correlation(a, b)[1] == pytest.approx(np.corrcoef(*centred)[0, 1])


# --- pairs for the neurons, fair choice, bases side by side ----------------------------------------------


def test_next_words_stay_in_their_text_and_each_word_has_its_own_closing_sep():
    following = {tuple(map(int, pair)) for pair in np.argwhere(next_word_pairs(made()))}
    assert following == {(i, i + 1) for i in (*range(1, 8), *range(10, 14))}
    closing = {tuple(map(int, pair)) for pair in np.argwhere(closing_sep_pairs(made()))}
    assert closing == {(i, 9) for i in range(1, 9)} | {(i, 15) for i in range(10, 15)}


def test_of_two_separators_in_a_row_the_last_closes_the_text():
    attention = made(tokens=["<s>", "a", "</s>", "</s>", "b", "</s>"], words=(None, 0, None, None, 1, None), texts=(0, 0, 0, 0, 1, 1))  # fmt: skip
    assert np.argwhere(closing_sep_pairs(attention)).tolist() == [[1, 3], [4, 5]]


def test_dimensions_are_counted_over_pairs_with_a_margin_only():
    # Query 0 finds key 1 by one dimension of four, query 2 finds it by all four, query 1 looks away from it.
    queries = np.array([[4.0, 0, 0, 0], [-1, -1, -1, -1], [1, 1, 1, 1]])
    keys = np.array([[0.0, 0, 0, 0], [3, 3, 3, 3], [0, 0, 0, 0]])
    attention = with_vectors(queries, keys, ["a", "b", "c"])
    pairs = np.zeros((3, 3), dtype=bool)
    pairs[:, 1] = True
    total, count = dimensions_used(attention, pairs)
    assert total == pytest.approx(np.full((2, 3), 1 / 4 + 4 / 4)) and (count == 2).all()
    slow = [slow_margin_dimensions(list(q * (keys[1] - keys.mean(axis=0)) / 2)) / 4 for q in queries]
    assert total[0, 0] == pytest.approx(sum(slow))
    swapped = replace(attention, queries=attention.keys, keys=attention.queries)
    assert (dimensions_used(swapped, pairs)[1] != count).any()


def test_bases_are_compared_over_the_same_pairs(tiny):
    attentions = [extract_attention(tiny, *pair, vectors=True) for pair in PAIRS[:2]]
    found = compare_bases(tiny, attentions, 1, 0, next_word_pairs, rotations=3)
    sums = np.sum([dimensions_used(a, next_word_pairs(a)) for a in attentions], axis=0)
    assert found.trained == pytest.approx(sums[0, 1, 0] / sums[1, 1, 0]) and found.n_pairs == sums[1, 1, 0]
    basis = random_rotations(HEAD_SIZE, 3)[2]
    turned_sums = np.sum([dimensions_used(a, next_word_pairs(a), basis=basis) for a in attentions], axis=0)
    assert found.rotated.shape == (3,) and found.rotated[2] == pytest.approx(
        turned_sums[0, 1, 0] / sums[1, 1, 0]
    )
    assert 1 / HEAD_SIZE <= found.svd <= 1


def test_a_head_that_never_looks_there_has_nothing_to_compare():
    attention = with_vectors(np.zeros((3, 4)), np.zeros((3, 4)), ["a", "b", "c"])
    with pytest.raises(ValueError, match="head 1-2 never looks at these pairs"):
        compare_bases(None, [attention], 0, 1, next_word_pairs)


def test_the_fair_head_is_chosen_on_even_inputs_and_reported_on_odd_ones():
    values = np.zeros((10, 2, 3))
    values[::2, 1, 2] = 1  # wins where it is chosen ...
    values[1::2, 0, 0] = 2  # ... another where it is reported, and over all inputs
    values[1::2, 1, 2] = [0.2, 0.2, 0.3, 0.4, 0.4]
    best, lengths = fair_head(values, np.arange(10.0))
    assert (best.layer, best.head, best.n) == (1, 2, 5)
    assert best.value.mean == pytest.approx(0.3) and lengths.value.mean == pytest.approx(5)
    assert 0.1 <= best.value.low < 0.3 < best.value.high <= 0.5
    assert str(best.value).startswith("0.300 [0.1")
