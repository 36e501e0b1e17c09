"""Measures of where heads look. Sizes differ on every axis (2 layers, 3 heads, 5 tokens)."""

from dataclasses import replace

import made
import numpy as np
import pytest
from made import looks_back

from bertlook_teach import Attention, extract_attention, load_encoder
from bertlook_teach.measures import (
    OFFSETS,
    attention_entropy,
    attention_share,
    cls_entropy,
    offset_attention,
    offset_r_squared,
    other_to_sep,
    sep_to_sep,
    special_token_attention,
    surface,
    surface_measures,
    token_masks,
    uniform_baseline,
)

TOKENS = ["[CLS]", "yes", ",", "we", "[SEP]", ".", "[SEP]"]


def uniform(layers=2, heads=3, tokens=5):
    return np.full((layers, heads, tokens, tokens), 1 / tokens)


def random_maps(layers=2, heads=3, tokens=7, seed=0):
    weights = np.random.default_rng(seed).random((layers, heads, tokens, tokens)) ** 4
    return weights / weights.sum(-1, keepdims=True)


class Tokens:
    """The least that a measure needs of an Attention."""

    def __init__(self, weights, tokens=TOKENS, special=None):
        self.weights, self.tokens = weights, tuple(tokens)
        self.special = tuple(t in ("[CLS]", "[SEP]") for t in tokens) if special is None else special


# --- relative position -------------------------------------------------------------------------------


def test_offset_minus_one_is_the_previous_token():
    assert offset_attention(looks_back(5), offset=-1) == pytest.approx(4 / 5)
    assert offset_attention(looks_back(5), offset=+1) == 0
    assert offset_attention(looks_back(5), offset=0) == pytest.approx(1 / 5)


def test_swapping_query_and_key_turns_previous_into_next():
    forward = np.swapaxes(looks_back(5), -1, -2).copy()
    forward[..., 0, :] = np.eye(5)[1]
    forward[..., 4, :] = np.eye(5)[4]
    assert offset_attention(forward, offset=+1) == pytest.approx(4 / 5)
    assert offset_attention(forward, offset=-1) == 0


@pytest.mark.parametrize("offset", [-8, -4, -1, 0, 1, 3, 4, 8])
def test_an_offset_equals_the_sum_over_positions_spelled_out(offset):
    weights = random_maps(tokens=5)
    n = 5
    expected = sum(weights[:, :, i, i + offset] for i in range(n) if 0 <= i + offset < n) / n
    assert offset_attention(weights, offset) == pytest.approx(
        expected if np.ndim(expected) else np.zeros((2, 3))
    )


def test_a_map_constant_along_its_diagonals_is_explained_by_offset_alone():
    n = 6
    circulant = np.eye(n, k=1)
    assert offset_r_squared(np.array([[0.7, 0.3], [0.3, 0.7]])) == pytest.approx(1)
    circulant[-1, -1] = 1
    assert 0.8 < offset_r_squared(circulant) < 1
    assert offset_r_squared(uniform()) == pytest.approx(np.zeros((2, 3)))  # nothing to explain


def test_offset_r_squared_equals_a_regression_on_offset_dummies():
    weights = random_maps(1, 1, 6)[0, 0]
    i, j = np.indices(weights.shape)
    dummies = (np.ravel(j - i)[:, None] == np.arange(-5, 6)).astype(float)
    y = weights.ravel()
    residual = y - dummies @ np.linalg.lstsq(dummies, y, rcond=None)[0]
    assert offset_r_squared(weights) == pytest.approx(1 - residual.var() / y.var())


# --- special tokens ----------------------------------------------------------------------------------


def test_masks_follow_clarks_four_kinds_and_cover_everything_once():
    masks = token_masks(TOKENS)
    assert masks["cls"].nonzero()[0].tolist() == [0]
    assert masks["sep"].nonzero()[0].tolist() == [4, 6]
    assert masks["punct"].nonzero()[0].tolist() == [2, 5]
    assert (sum(mask.astype(int) for mask in masks.values()) == 1).all()


def test_apostrophes_dashes_and_question_marks_are_not_punctuation_here():
    assert not token_masks(["'", "-", "?", ":", ";", '"'])["punct"].any()


def test_other_families_spell_their_tokens_in_their_own_way():
    masks = token_masks(["<s>", "Ġyes", ",", "Ġ.", "</s>"])
    assert [masks[k].sum() for k in ("cls", "sep", "punct", "other")] == [1, 1, 2, 1]


def test_a_sep_that_the_text_holds_is_not_the_real_one():
    masks = token_masks(Tokens(uniform(tokens=3), ["[CLS]", "[SEP]", "[SEP]"], special=(True, False, True)))
    assert masks["sep"].tolist() == [False, False, True]


@pytest.mark.parametrize(
    ("tokens", "special", "cls", "sep"),
    [
        (["<cls>", "a", ",", "<eos>"], [1, 0, 0, 1], [0], [3]),
        (["<cls>", "a", "<eos>", "b", "<eos>", "<pad>"], [1, 0, 1, 0, 1, 1], [0], [2, 4]),
        (["a", "b", "<eos>"], [0, 0, 1], [], [2]),
        (
            ["<s>", "a", "</s>", "en_XX"],
            [1, 0, 1, 1],
            [0],
            [2],
        ),  # a name that is known counts, and the place does not
        (["[SEP]", "a"], [0, 0], [], []),  # typed
        (["the", "[MASK]", "<unk>"], [0, 1, 1], [], []),  # they stand for a piece of the text
    ],
)
def test_special_tokens_of_other_names_are_known_by_their_places(tokens, special, cls, sep):
    masks = token_masks(Tokens(uniform(tokens=len(tokens)), tokens, special=tuple(map(bool, special))))
    assert masks["cls"].nonzero()[0].tolist() == cls and masks["sep"].nonzero()[0].tolist() == sep
    assert (sum(map(np.asarray, masks.values())) == 1).all()


def test_uniform_attention_gives_each_kind_its_share_of_the_tokens():
    attention = Tokens(uniform(tokens=7))
    for kind, count in [("cls", 1), ("sep", 2), ("punct", 2), ("other", 2)]:
        assert special_token_attention(attention, kind) == pytest.approx(np.full((2, 3), count / 7))


def test_the_four_shares_add_up_to_one():
    attention = Tokens(random_maps())
    total = sum(special_token_attention(attention, kind) for kind in ("cls", "sep", "punct", "other"))
    assert total == pytest.approx(np.ones((2, 3)))


def test_attention_to_sep_is_a_column_and_not_a_row():
    weights = np.zeros((7, 7))
    weights[:, 4] = 1  # everyone looks at the first [SEP]
    everyone = Tokens(weights[None, None])
    assert special_token_attention(everyone, "sep") == pytest.approx(1)
    weights = np.eye(7)
    weights[[4, 6]] = np.eye(7)[1]  # only the [SEP]s look at the word "yes"
    assert special_token_attention(Tokens(weights[None, None]), "sep") == 0


def test_sep_to_sep_and_other_to_sep_put_together_give_the_whole():
    attention = Tokens(random_maps())
    whole = (2 * sep_to_sep(attention) + 5 * other_to_sep(attention)) / 7
    assert whole == pytest.approx(special_token_attention(attention, "sep"))


def test_sep_to_sep_by_hand():
    weights = np.tile(np.eye(7)[1], (7, 1))  # all look at "yes" ...
    weights[4], weights[6] = np.eye(7)[6], np.eye(7)[0]  # ... but one [SEP] looks at the other, one at [CLS]
    attention = Tokens(weights[None, None])
    assert sep_to_sep(attention) == pytest.approx(0.5)
    assert other_to_sep(attention) == 0


def test_a_single_text_has_one_sep_and_its_own_denominator():
    attention = Tokens(uniform(tokens=3), ["[CLS]", "yes", "[SEP]"])
    assert sep_to_sep(attention) == pytest.approx(np.full((2, 3), 1 / 3))


def test_a_share_equals_two_loops():
    weights = random_maps()
    keys, queries = token_masks(TOKENS)["punct"], token_masks(TOKENS)["other"]
    expected = np.mean([weights[:, :, i][:, :, keys].sum(-1) for i in np.flatnonzero(queries)], axis=0)
    assert attention_share(weights, keys, queries) == pytest.approx(expected)


def test_no_such_key_is_zero():
    nothing = np.zeros(5, dtype=bool)
    assert attention_share(uniform(), nothing) == pytest.approx(np.zeros((2, 3)))


# --- focus -------------------------------------------------------------------------------------------


def test_uniform_attention_has_entropy_log_n():
    assert attention_entropy(uniform()) == pytest.approx(np.full((2, 3), np.log(5)))
    assert attention_entropy(uniform(), normalized=True) == pytest.approx(np.ones((2, 3)))


def test_a_head_that_looks_at_one_token_has_entropy_zero_exactly():
    assert (attention_entropy(looks_back()) == 0).all()
    assert (cls_entropy(looks_back()) == 0).all()


def test_entropy_is_along_the_keys_not_the_queries():
    weights = np.zeros((4, 4))
    weights[:, 0] = 1  # every row is one-hot; the first column is full
    assert attention_entropy(weights) == 0
    half = np.array([[0.5, 0.5], [1.0, 0.0]])
    assert attention_entropy(half) == pytest.approx(np.log(2) / 2)
    assert cls_entropy(half) == pytest.approx(np.log(2))  # row 0 alone


def test_entropy_equals_scipys_row_by_row():
    entropy = pytest.importorskip("scipy.stats").entropy
    weights = random_maps()
    assert attention_entropy(weights) == pytest.approx(entropy(weights, axis=-1).mean(-1))
    assert cls_entropy(weights) == pytest.approx(entropy(weights, axis=-1)[..., 0])


def test_clarks_smoothing_puts_the_published_floor_under_the_entropy():
    one_hot = np.eye(122)
    p = 0.9999 + 0.0001 / 122
    q = 0.0001 / 122
    floor = -(p * np.log(p) + 121 * q * np.log(q))
    smoothed = attention_entropy(one_hot, smoothing=surface.CLARK_ENTROPY_SMOOTHING)
    assert smoothed == pytest.approx(floor)
    assert smoothed == pytest.approx(0.0015, abs=1e-4)  # about .0015 nats at n = 122
    assert attention_entropy(one_hot) == 0


def test_one_token_has_entropy_zero_normalized_or_not():
    alone = np.ones((2, 3, 1, 1))
    assert (attention_entropy(alone) == 0).all() and (attention_entropy(alone, normalized=True) == 0).all()


# --- what every measure promises ---------------------------------------------------------------------

ALL = surface_measures()


# What a head gets that looks at nothing in particular, worked out by hand: seven tokens, one [CLS], two [SEP], one "," and one ".".
# A new measure needs its line here, and beside it a test that swaps query and key.
EVEN = {
    "cls": 1 / 7,
    "sep": 2 / 7,
    "punct": 2 / 7,
    "sep_to_sep": 2 / 7,
    "other_to_sep": 2 / 7,
    "entropy": np.log(7),
    "entropy_normalized": 1,
    "entropy_clark": np.log(7),
    "entropy_from_cls": np.log(7),
    "offset_r_squared": 0,
    "self": 7 / 49,  # the pairs so far apart, of 7 tokens, each with the weight 1/7
    "previous": 6 / 49,
    "next": 6 / 49,
    **{f"offset{offset:+d}": max(0, 7 - abs(offset)) / 49 for offset in OFFSETS if abs(offset) > 1},
}


def test_even_attention_gives_every_measure_the_number_worked_out_by_hand():
    taken = surface_measures(extract_attention(load_encoder("specimen"), "The cat sat."))
    assert set(taken) == set(ALL) and taken["previous"].shape == (6, 6)
    assert set(ALL) == set(EVEN), "a measure of surface_measures() and its line in EVEN belong together"
    for name, measure in ALL.items():
        assert measure(Tokens(uniform(tokens=7))) == pytest.approx(np.full((2, 3), EVEN[name])), name


@pytest.mark.parametrize("name", ALL)
def test_a_tensor_gives_the_same_numbers_as_an_array(name):
    torch = pytest.importorskip("torch")
    weights = random_maps()
    expected = ALL[name](Tokens(weights))
    result = ALL[name](Tokens(torch.from_numpy(weights)))
    assert isinstance(result, torch.Tensor)
    assert result.numpy() == pytest.approx(expected, abs=1e-12)


@pytest.mark.parametrize("name", ALL)
def test_leading_axes_are_kept(name):
    batch = np.stack([random_maps(seed=s) for s in range(4)])
    together = ALL[name](Tokens(batch))
    assert together.shape[:3] == (4, 2, 3)
    assert together[2] == pytest.approx(ALL[name](Tokens(batch[2])))


@pytest.mark.parametrize("name", ALL)
def test_the_weights_are_not_changed(name):
    weights = random_maps()
    before = weights.copy()
    ALL[name](Tokens(weights))
    assert (weights == before).all()


@pytest.mark.parametrize("name", ALL)
def test_every_measure_finds_a_head_by_its_own_index(name):
    weights = random_maps()
    weights[1, 2] = uniform(1, 1, 7)[0, 0]
    alone = ALL[name](Tokens(weights[1:, 2:]))
    assert ALL[name](Tokens(weights))[1, 2] == pytest.approx(alone[0, 0])


@pytest.mark.parametrize("name", ALL)
@pytest.mark.parametrize("value, shown", [(0.1, r"sums to [01]\.\d{3}"), (np.nan, "sums to nan")])
def test_a_row_that_is_no_distribution_is_named(name, value, shown):
    weights = random_maps()
    weights[1, 2, 3] = value
    with pytest.raises(ValueError, match=rf"layer 1, head 2, query 3 {shown}"):
        ALL[name](Tokens(weights))


@pytest.mark.parametrize("name", ALL)
def test_a_baseline_is_the_measure_of_even_attention(name):
    measure, n = ALL[name], len(made.TOKENS)
    even = measure(made.attention(weights=uniform(3, 2, n)))
    assert uniform_baseline(measure)(made.attention()) == pytest.approx(even)
    below = (
        np.tril(np.ones((n, n))) / np.arange(1, n + 1)[:, None]
    )  # a decoder's tokens see what is before them
    if name != "entropy_normalized":
        even = measure(made.attention(weights=np.tile(below, (3, 2, 1, 1)), causal=True))
        assert uniform_baseline(measure)(made.attention(causal=True)) == pytest.approx(even)


@pytest.mark.parametrize("queries", [2, 6])
@pytest.mark.parametrize(
    "measure, expected",
    [
        (attention_entropy, np.log(4)),
        (lambda a: attention_entropy(a, normalized=True), 1),
        (lambda a: special_token_attention(a, "sep"), 1 / 4),
        (lambda a: special_token_attention(a, "other"), 3 / 4),
        (lambda a: attention_share(a, np.array([True, True, False, False])), 2 / 4),
    ],
)
def test_across_two_texts_a_baseline_is_even_over_the_keys(measure, expected, queries):
    maps = made.random_maps(2, 3, queries, 4)
    across = Attention.from_arrays(maps, list("abcdef")[:queries], ["x", "</s>", "y", "z"])
    assert uniform_baseline(measure)(across) == pytest.approx(np.full((2, 3), expected))


def attention_of(weights):
    n = weights.shape[-1]
    return Attention(weights, ("word",) * n, tuple(range(n)), (0,) * n, (False,) * n, ("word",) * n, "")


def test_what_is_kept_of_an_attention_is_that_of_the_array():
    maps = random_maps()
    attention = attention_of(maps.copy())
    for measure in (attention_entropy, surface.offset_r_squared, cls_entropy):
        for _ in range(2):
            assert measure(attention) == pytest.approx(measure(maps), abs=1e-12)
    smoothed = attention_entropy(attention, smoothing=0.5)
    assert smoothed == pytest.approx(attention_entropy(maps, smoothing=0.5))
    assert (smoothed > attention_entropy(attention)).all()


def test_a_measured_attention_cannot_be_changed_behind_the_measures_back():
    attention = attention_of(random_maps())
    attention_entropy(attention)
    with pytest.raises(ValueError, match="read-only"):
        attention.weights[0, 0, 0] = 0
    changed = replace(attention, weights=attention.weights * 0)
    with pytest.raises(ValueError, match="sums to 0.000"):
        attention_entropy(changed)


@pytest.mark.parametrize("shape", [(5,), (4, 5), (2, 3, 0, 0)])
def test_a_shape_without_square_maps_is_refused(shape):
    with pytest.raises(ValueError, match=r"as many queries as keys, at least one; got"):
        attention_entropy(np.ones(shape))
