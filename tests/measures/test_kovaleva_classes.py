"""Five kinds of map: scores on paper, by a second way, turned round, at the edges; fractions; agreement."""

import math

import made
import numpy as np
import pytest
from made import looks_back

from bertlook_course.analyses.anatomy import (
    class_fractions,
    class_rates,
    class_shares,
    input_kinds,
    published_fractions,
    sample_maps,
    threshold_robustness,
    threshold_sweep,
)
from bertlook_course.metrics import accuracy, agree, class_f1, cohen_kappa, confusion_matrix, macro_f1
from bertlook_teach.measures import (
    CLASSES,
    MapScores,
    Thresholds,
    class_codes,
    highest_scores,
    map_classes,
    map_scores,
    stack_scores,
)

N = 12
SEGMENTS = (0,) * 7 + (1,) * 5


def stripes(n=N, keys=(0, -1), rest=0.0):
    """Every query gives 1 - rest to the keys, in equal parts, and the rest to all alike."""
    weights = np.full((n, n), rest / n)
    weights[:, list(keys)] += (1 - rest) / len(keys)
    return weights


def blocks(segments=SEGMENTS):
    same = np.equal.outer(segments, segments).astype(float)
    return same / same.sum(axis=1, keepdims=True)


def uniform(n=N):
    return np.full((n, n), 1 / n)


def one(weights):
    return weights[None, None]


def attention(weights, segments=SEGMENTS, tokens=None):
    tokens = tokens or ("[CLS]", *["a"] * (weights.shape[-1] - 2), "[SEP]")
    return made.attention(tokens, weights=weights, segment_ids=segments, text="a")


def random_maps(layers=2, heads=3, n=N, seed=0, sharp=0.3):
    return made.random_maps(layers, heads, n, n, seed=seed, spread=sharp)


# --- scores on paper -------------------------------------------------------------------------------------


def test_two_full_columns_score_one_minus_two_over_n():
    scores = map_scores(one(stripes()), SEGMENTS)
    assert scores.vertical == pytest.approx(np.array([[1 - 2 / N]]))
    assert map_scores(one(stripes(keys=(3,)))).vertical == pytest.approx(
        np.array([[1 - 2 / N]])
    )  # one column will do
    assert map_scores(one(stripes(keys=(1, 5, 9)))).vertical == pytest.approx(np.array([[2 / 3 - 2 / N]]))


def test_a_head_that_looks_back_fills_one_diagonal_and_not_the_other():
    scores = map_scores(one(looks_back(N)))
    assert (scores.previous, scores.next) == (1, 0)  # all n - 1 queries that have a previous token look at it
    assert scores.self_diagonal == pytest.approx(1 / N)
    assert scores.diagonal == 1


def test_the_main_diagonal_is_recorded_but_is_no_diagonal_head():
    scores = map_scores(one(np.eye(N)))
    assert (scores.self_diagonal, scores.diagonal) == (1, 0)
    assert map_classes(one(np.eye(N)))[0, 0] == "heterogeneous"


def test_a_map_that_keeps_to_its_segment_scores_one_minus_chance_and_is_fully_spread():
    scores = map_scores(one(blocks()), SEGMENTS)
    assert scores.block == pytest.approx(np.array([[1 - (7 / 12) ** 2 - (5 / 12) ** 2]]))
    assert scores.spread == pytest.approx(np.array([[1.0]]))


def test_uniform_attention_scores_nothing():
    scores = map_scores(one(uniform()), SEGMENTS)
    assert [float(getattr(scores, name)[0, 0]) for name in ("vertical", "block")] == pytest.approx([0, 0])
    assert scores.diagonal == pytest.approx(1 / N) and scores.spread == pytest.approx(1)


def test_spread_inside_the_segment_is_an_entropy_divided_by_its_maximum():
    weights = np.zeros((4, 4))
    weights[:2, :2] = [0.5, 0.25]  # a quarter leaves the segment: .75 is kept, shared 2 : 1
    weights[:2, 2] = 0.25
    weights[2:, 2:] = 0.5
    two_to_one = -(2 / 3 * math.log(2 / 3) + 1 / 3 * math.log(1 / 3)) / math.log(2)
    scores = map_scores(one(weights), (0, 0, 1, 1))
    assert scores.spread == pytest.approx(np.array([[(two_to_one + 1) / 2]]))
    assert scores.block == pytest.approx(np.array([[(0.75 + 1) / 2 - 0.5]]))


# --- classes ---------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "weights, name",
    [
        (stripes(), "vertical"),
        (looks_back(N), "diagonal"),
        (looks_back(N).T[::-1, ::-1].T, "diagonal"),  # next token
        (0.5 * looks_back(N) + 0.5 * stripes(), "vertical+diagonal"),
        (blocks(), "block"),
        (uniform(), "heterogeneous"),
        (np.eye(N)[::-1], "heterogeneous"),  # one-hot rows with no line of their own
    ],
)
def test_each_kind_of_map_gets_its_name(weights, name):
    assert map_classes(one(weights), SEGMENTS)[0, 0] == name


@pytest.mark.parametrize(
    "vertical, diagonal, block, spread, name",
    [
        (0.25, 0.25, 0.9, 0.9, "vertical+diagonal"),
        (0.6, 0.6, 0, 0, "vertical+diagonal"),  # both, before either alone
        (0.5, 0.24, 0.9, 0.9, "vertical"),
        (0.49, 0.2, 0, 0, "heterogeneous"),
        (0.24, 0.5, 0.9, 0.9, "diagonal"),
        (0, 0, 0.3, 0.75, "block"),
        (0, 0, 0.3, 0.74, "heterogeneous"),  # kept in the segment, but on one token of it
        (0, 0, 0.29, 0.9, "heterogeneous"),
    ],
)
def test_the_first_line_that_is_met_decides(vertical, diagonal, block, spread, name):
    values = (np.array([[value]]) for value in (vertical, diagonal, 0.0, 0.0, block, spread))
    assert CLASSES[class_codes(MapScores(*values))[0, 0]] == name


def test_a_vertical_map_turned_round_is_not_vertical():
    """Swap query and key: a column that all look at becomes a row that looks at all."""
    upright = stripes(keys=(3,), rest=0.2)
    turned = upright.T / upright.T.sum(axis=1, keepdims=True)
    assert map_classes(one(upright))[0, 0] == "vertical"
    assert (
        map_scores(one(turned)).vertical == pytest.approx(0)
        and map_classes(one(turned))[0, 0] == "heterogeneous"
    )


def test_looking_back_turned_round_is_looking_ahead():
    back = map_scores(one(looks_back(N)))
    ahead = map_scores(one(looks_back(N)[::-1, ::-1]))
    assert (back.previous, back.next) == (ahead.next, ahead.previous) == (1, 0)


# --- a second, independent way ----------------------------------------------------------------------------


def plain_scores(weights, segments):
    """The rule of one map, written as it is read: no array operation in common with the package."""
    n = len(weights)
    columns = sorted(sum(weights[i][j] for i in range(n)) / n for j in range(n))
    vertical = columns[-1] + columns[-2] - 2 / n
    previous = sum(weights[i][i - 1] for i in range(1, n)) / (n - 1)
    following = sum(weights[i][i + 1] for i in range(n - 1)) / (n - 1)
    itself = sum(weights[i][i] for i in range(n)) / n
    kept, spreads = [], []
    for i in range(n):
        inside = [weights[i][j] for j in range(n) if segments[j] == segments[i]]
        kept.append(sum(inside))
        if len(inside) > 1 and sum(inside) > 0:
            p = [w / sum(inside) for w in inside]
            spreads.append(-sum(x * math.log(x) for x in p if x > 0) / math.log(len(inside)))
    chance = sum((list(segments).count(s) / n) ** 2 for s in set(segments))
    spread = sum(spreads) / len(spreads) if spreads else 0.0
    return vertical, previous, following, itself, sum(kept) / n - chance, spread


@pytest.mark.parametrize("segments", [SEGMENTS, (0,) * N, (0,) * 11 + (1,), (0, 1) * 6])
def test_scores_equal_a_plain_transcription_of_the_rule(segments):
    weights = random_maps()
    weights[1, 2] = looks_back(N)
    scores = map_scores(weights, segments)
    for layer in range(2):
        for head in range(3):
            mine = [float(getattr(scores, name)[layer, head]) for name in ("vertical", "previous", "next", "self_diagonal", "block", "spread")]  # fmt: skip
            assert mine == pytest.approx(plain_scores(weights[layer, head].tolist(), segments), abs=1e-9)


def test_torch_and_numpy_give_the_same_scores():
    torch = pytest.importorskip("torch")
    weights = random_maps()
    ours, theirs = map_scores(weights, SEGMENTS), map_scores(torch.from_numpy(weights), SEGMENTS)
    for name in ("vertical", "diagonal", "self_diagonal", "block", "spread"):
        assert isinstance(getattr(theirs, name), torch.Tensor)
        assert getattr(theirs, name).numpy() == pytest.approx(getattr(ours, name))
    assert (class_codes(ours) == class_codes(theirs)).all()


def test_leading_axes_are_kept_and_single_precision_is_enough():
    weights = np.stack([random_maps(seed=s) for s in range(4)])
    scores = map_scores(weights, SEGMENTS)
    assert scores.shape == (4, 2, 3) and scores.can_block.shape == (4,)
    assert map_scores(weights.astype(np.float32), SEGMENTS).block == pytest.approx(scores.block, abs=1e-5)
    assert scores[2].vertical == pytest.approx(map_scores(weights[2], SEGMENTS).vertical)


# --- edges -----------------------------------------------------------------------------------------------


@pytest.mark.parametrize("n", [1, 2, 3, 4])
@pytest.mark.parametrize("kind", [uniform, np.eye, looks_back])
def test_tiny_maps_give_numbers_and_never_nan(n, kind):
    for segments in ((0,) * n, tuple(range(n)), (0,) * (n - 1) + (1,)):
        scores = map_scores(one(kind(n)), segments)
        for name in ("vertical", "previous", "next", "self_diagonal", "block", "spread"):
            assert np.isfinite(getattr(scores, name)).all()
        assert map_classes(one(kind(n)), segments)[0, 0] in CLASSES


def test_three_tokens_can_look_back_but_cannot_be_vertical():
    assert highest_scores((0, 0, 0)) == pytest.approx({"vertical": 1 / 3, "block": 0})
    assert map_classes(one(looks_back(3)))[0, 0] == "vertical+diagonal"  # rows 0 and 1 share column 0
    assert map_classes(one(stripes(3, keys=(2,))))[0, 0] != "vertical"


def test_one_segment_has_no_block_and_the_scores_say_so():
    scores = map_scores(one(uniform()), (0,) * N)
    assert scores.block == 0 and not scores.can_block and map_scores(one(uniform()), SEGMENTS).can_block


def test_a_segment_of_one_token_is_left_out_of_the_spread():
    segments = (0,) * 11 + (1,)
    scores = map_scores(one(blocks(segments)), segments)
    assert scores.spread == pytest.approx(1) and scores.block == pytest.approx(
        1 - (11 / 12) ** 2 - (1 / 12) ** 2
    )
    assert highest_scores(segments)["block"] < Thresholds().block  # so no map over these tokens is a block
    assert map_scores(one(np.eye(3)), (0, 1, 2)).spread == 0  # no row has anything to spread over


def test_one_hot_rows_that_leave_their_segment_leave_no_nan():
    across = np.zeros((4, 4))
    across[:2, 3] = across[2:, 0] = 1
    scores = map_scores(one(across), (0, 0, 1, 1))
    assert scores.block == pytest.approx(-0.5) and scores.spread == 0


def test_block_does_not_ask_what_the_segments_say():
    """The same words on both sides: the score is about segments, not about words."""
    same = attention(
        one(blocks((0,) * 6 + (1,) * 6)), (0,) * 6 + (1,) * 6, ("[CLS]", *"abcd", "[SEP]", *"abcde", "[SEP]")
    )
    assert map_classes(same)[0, 0] == "block"


def test_no_sep_is_needed():
    assert map_classes(attention(one(stripes()), tokens=tuple("abcdefghijkl")))[0, 0] == "vertical"


def test_an_attention_brings_its_segments_and_an_array_counts_as_one():
    assert map_classes(attention(one(blocks())))[0, 0] == "block"
    assert map_classes(one(blocks()))[0, 0] == "heterogeneous"


def test_an_input_is_never_changed():
    weights = random_maps()
    before = weights.copy()
    map_scores(weights, SEGMENTS)
    assert (weights == before).all()


# --- fractions -------------------------------------------------------------------------------------------

KINDS = {"v": stripes(), "d": looks_back(N), "b": blocks(), "u": uniform()}


def corpus(*texts):
    """Texts of one layer and as many heads as letters."""
    return stack_scores([attention(np.stack([KINDS[letter] for letter in text])[None]) for text in texts])


def test_fractions_are_means_over_texts_and_add_up_to_one():
    scores = corpus("vvub", "vdub", "vvbb", "vuub")
    fractions = class_fractions(scores)
    assert fractions["vertical"][0] == pytest.approx(6 / 16) and fractions["diagonal"][0] == pytest.approx(
        1 / 16
    )
    assert fractions["block"][0] == pytest.approx(5 / 16) and fractions.mean.sum() == pytest.approx(1)
    assert (fractions.n, fractions.maps, fractions.can_block) == (4, 4, True)
    assert (fractions.low <= fractions.mean).all() and (fractions.mean <= fractions.high).all()


def test_texts_that_all_agree_leave_an_interval_only_at_0_and_1_and_maps_of_one_text_do_not_count_as_many():
    same = class_fractions(corpus(*["vdub"] * 5))
    inside = (same.mean > 0) & (same.mean < 1)
    assert (same.low == same.high)[inside].all() and inside.any() and not same.low[~inside].any()
    assert same.high[~inside] == pytest.approx(1 - 0.025 ** (1 / 5))  # as for 0 of 5
    # Two texts that disagree in everything: the interval spans it all, though there are 8 maps.
    apart = class_fractions(corpus("vvvv", "uuuu"))
    assert apart["vertical"] == pytest.approx((0.5, 0, 1))


def test_the_interval_agrees_with_the_formula_of_the_standard_error():
    rng = np.random.default_rng(1)
    shares = corpus(*["".join("v" if x < 0.4 else "u" for x in rng.random(6)) for _ in range(80)])
    fractions = class_fractions(shares)
    each = class_shares(shares)[:, 0]
    error = each.std() / np.sqrt(80)
    _, low, high = fractions["vertical"]
    assert (high - low) / 2 == pytest.approx(1.96 * error, rel=0.1)


def test_rates_say_how_often_a_head_draws_a_class():
    rates = class_rates(corpus("vd", "vu", "bu", "vd"))
    assert rates.shape == (5, 1, 2) and rates.sum(axis=0) == pytest.approx(np.ones((1, 2)))
    assert rates[CLASSES.index("vertical"), 0, 0] == 0.75 and rates[CLASSES.index("diagonal"), 0, 1] == 0.5


# --- thresholds ------------------------------------------------------------------------------------------


def test_a_sweep_moves_one_threshold_and_fractions_follow():
    scores = corpus("vu", "du")
    swept = threshold_sweep(scores, "vertical", (0.5, 0.9))  # two full columns of 12 score .833
    assert swept[:, 0].tolist() == [0.25, 0] and swept.sum(axis=1) == pytest.approx([1, 1])
    assert threshold_sweep(scores, "vertical", (0.5,))[0] == pytest.approx(class_shares(scores).mean(axis=0))


def test_a_stricter_threshold_never_makes_a_class_larger():
    scores = stack_scores([attention(random_maps(seed=s, sharp=0.05)) for s in range(6)])
    for name, position in (("vertical", 0), ("diagonal", 1), ("both", 2), ("block", 3)):
        swept = threshold_sweep(scores, name, np.linspace(0.1, 0.9, 9))[:, position]
        assert (np.diff(swept) <= 1e-12).all()


def test_clear_maps_keep_their_class_and_borderline_maps_do_not():
    clear = threshold_robustness(corpus("vdbu", "vdbu"))
    assert clear.kept == 1 and (clear.low == clear.high).all() and clear.draws == 200
    edge = stripes(rest=0.41)  # V = .59 * (1 - 2/12): just below .5
    border = threshold_robustness(stack_scores([attention(one(edge))] * 2))
    assert 0.3 < border.kept < 0.7 and border.low[0] == 0 and border.high[0] == 1


def test_scaled_thresholds_stay_within_their_range():
    assert Thresholds().scaled(2) == Thresholds(both=0.5, vertical=1, diagonal=1, block=0.6, spread=1)


# --- inputs and samples ----------------------------------------------------------------------------------


def test_kinds_of_input_hold_the_same_words_in_other_company():
    texts, pairs = ["s0", "s1", "s2", "s3"], [("a0", "b0"), ("a1", "b1"), ("a2", "b2")]
    kinds = input_kinds(texts, pairs)
    assert [len(items) for items in kinds.values()] == [4, 4, 4, 3, 3]
    assert all(a == b for a, b in kinds["a sentence twice"])
    assert all(a != b for a, b in kinds["two sentences"])
    assert all(a[1:] != b[1:] for a, b in kinds["unrelated paragraphs"])
    assert sorted(b for _, b in kinds["unrelated paragraphs"]) == ["b0", "b1", "b2"]


@pytest.mark.parametrize(
    "n_texts, layers, heads, n", [(20, 6, 6, 100), (7, 3, 2, 42), (5, 2, 3, 1), (3, 4, 5, 37)]
)
def test_a_sample_takes_every_head_and_every_text_equally_often(n_texts, layers, heads, n):
    chosen = sample_maps(n_texts, layers, heads, n)
    assert len(set(chosen)) == len(chosen) == n and chosen == sample_maps(n_texts, layers, heads, n)
    per_head = np.zeros((layers, heads), dtype=int)
    per_text = np.zeros(n_texts, dtype=int)
    for text, layer, head in chosen:
        per_head[layer, head] += 1
        per_text[text] += 1
    assert per_head.max() - per_head.min() <= 1
    assert per_text.max() - per_text.min() <= 2  # exact balance in both at once is not always possible


def test_another_seed_draws_other_maps():
    assert sample_maps(20, 6, 6, seed=1) != sample_maps(20, 6, 6, seed=2)


# --- published -------------------------------------------------------------------------------------------


def test_published_fractions_add_up_and_their_mean_is_the_mean_of_seven_tasks():
    table = published_fractions()
    assert list(table) == ["MRPC", "STS-B", "SST-2", "QQP", "RTE", "QNLI", "MNLI", "mean"]
    tasks = np.array([table[task] for task in list(table)[:-1]])
    assert tasks.sum(axis=1) == pytest.approx(np.ones(7), abs=0.005)
    assert tasks.mean(axis=0) == pytest.approx(table["mean"], abs=0.001)


def test_the_potentially_useful_range_is_heterogeneous_plus_block():
    useful = {task: shares[3] + shares[4] for task, shares in published_fractions().items() if task != "mean"}
    assert min(useful, key=useful.get) == "MRPC" and useful["MRPC"] == pytest.approx(0.32, abs=0.004)
    assert max(useful.values()) == pytest.approx(0.61, abs=0.004) and useful["QQP"] == pytest.approx(
        0.61, abs=0.004
    )


# --- agreement -------------------------------------------------------------------------------------------

A = ["v", "v", "d", "b", "h", "h", "h", "v"]
B = ["v", "d", "d", "h", "h", "h", "v", "v"]


def test_agreement_worked_out_on_paper():
    confusion = confusion_matrix(A, B, list("vdbh"))
    assert confusion.tolist() == [[2, 1, 0, 0], [0, 1, 0, 0], [0, 0, 0, 1], [1, 0, 0, 2]]
    assert accuracy(confusion) == 5 / 8
    assert class_f1(confusion) == pytest.approx([4 / 6, 2 / 3, 0, 4 / 6])
    assert macro_f1(confusion) == pytest.approx((4 / 6 + 2 / 3 + 0 + 4 / 6) / 4)
    chance = (3 * 3 + 1 * 2 + 1 * 0 + 3 * 3) / 64
    assert cohen_kappa(confusion) == pytest.approx((5 / 8 - chance) / (1 - chance))


def test_who_is_first_does_not_matter_but_for_the_table():
    forward, backward = agree(A, B, list("vdbh")), agree(B, A, list("vdbh"))
    assert (forward.confusion == backward.confusion.T).all() and not (
        forward.confusion == backward.confusion
    ).all()
    assert (forward.accuracy, forward.macro_f1) == (backward.accuracy, backward.macro_f1)
    assert forward.kappa == pytest.approx(backward.kappa)


def test_perfect_agreement_and_agreement_by_chance():
    same = agree(list("vdbh") * 10, list("vdbh") * 10, list("vdbh"))
    assert (same.accuracy, same.macro_f1, same.kappa) == (1, 1, 1) and same.intervals["kappa"] == (1, 1)
    independent = [(a, b) for a in "vd" for b in "vd"] * 25
    by_chance = agree([a for a, _ in independent], [b for _, b in independent], list("vd"))
    assert by_chance.accuracy == 0.5 and by_chance.kappa == pytest.approx(0)
    low, high = by_chance.intervals["accuracy"]
    assert high - low == pytest.approx(2 * 1.96 * 0.05, rel=0.15)  # the binomial formula


def test_one_class_only_has_no_kappa_and_no_nan():
    dull = agree(["v"] * 9, ["v"] * 9, list("vd"))
    assert dull.kappa is None and dull.said("kappa") == "not defined (one class only)" and dull.accuracy == 1
    assert "nan" not in repr(dull) and class_f1(dull.confusion).tolist() == [1, -1]


def test_items_that_one_side_left_out_are_not_compared():
    assert agree(["v", None, "d", "v"], ["v", "d", None, "d"], list("vd")).n == 2


def test_a_handful_of_items_gives_no_interval():
    """Two items that agree would otherwise be reported as certainty."""
    assert agree(["v", "d"], ["v", "d"], list("vd")).intervals == {}
    assert set(agree(list("vd") * 5, list("vd") * 5, list("vd")).intervals) == {
        "accuracy",
        "macro_f1",
        "kappa",
    }
