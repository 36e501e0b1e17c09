"""Checks of lesson 4: is [SEP] a no-op?"""

from __future__ import annotations

import numpy as np

from bertlook_teach.measures import token_masks

from ..analyses.anatomy import category_sums
from ..metrics import partial_rank_correlation, rank_correlation
from ..published import published_gradients
from .answers import ChoiceCheck, FunctionCheck, NumberCheck, SetCheck
from .cases import PartsCheck, case_attention, case_rows, close, of_run
from .sheet import keep_sheet


def _numbers(*shape, seed=0):
    """Numbers for a case, both signs, no two alike; sizes that differ from one another."""
    return np.random.default_rng(seed).normal(size=shape)


# --- 1 to 3: norms -----------------------------------------------------------------------------------------
check_value_norms = FunctionCheck(
    lambda values, projection: np.linalg.norm(values @ projection, axis=-1),
    asks="``value_norms(values, projection)``: the length of f_h(x_j) = v W_O for each head and token.",
    cases=[
        (_numbers(2, 5, 3), w) for w in (_numbers(2, 3, 7, seed=1), 3 * np.eye(3)[None].repeat(2, axis=0))
    ],
    axes=("head", "token"),
    wrong=[
        "that is the norm of the value vector. A head writes the value *after* the output projection: multiply first",
        lambda v, w: np.linalg.norm(v, axis=-1),
        "that is the square of the length; the root is missing",
        lambda v, w: np.square(v @ w).sum(axis=-1),
        "you added the heads before taking the length; each head has its own",
        lambda v, w: np.linalg.norm((v @ w).sum(axis=0), axis=-1),
        "that is a length along the tokens; the vectors lie along the last axis",
        lambda v, w: np.linalg.norm(v @ w, axis=-2),
        "that adds absolute values; a length is the root of the sum of squares",
        lambda v, w: np.abs(v @ w).sum(axis=-1),
    ],
    learnt="The length of what a head *would* take from each token. Not of the value vector: two heads with the same values but "
    "a different W_O write vectors of different lengths.",
)

HEADS, TOKENS, WIDTH = 12, 128, 768
_PAIRS = HEADS * TOKENS * TOKENS

check_naive_size = NumberCheck(
    _PAIRS * WIDTH,
    asks="How many numbers alpha_ij f_h(x_j) has in one layer of BERT-base, at 128 tokens.",
    tolerance=0,
    wrong={
        "that is one head; a layer has 12": TOKENS * TOKENS * WIDTH,
        "that is one vector per key; each *pair* of query and key has its own": HEADS * TOKENS * WIDTH,
        "those are the weights, one number per pair; here each pair has a vector": _PAIRS,
        "that is all 12 layers; one was asked for": _PAIRS * WIDTH * 12,
    },
    learnt=f"{_PAIRS * WIDTH:,} numbers, {_PAIRS * WIDTH * 4 / 1e6:.0f} MB in single precision, for one layer. Their lengths are {_PAIRS:,} "
    "numbers, and need only the weights and one length for each key.",
)


def _weighted_norms(weights, norms):
    return weights * norms[..., None, :]


check_weighted_norms = FunctionCheck(
    _weighted_norms,
    asks="``weighted_norms(weights, norms)``: the length of alpha_ij f_h(x_j).",
    cases=[(case_rows(2, 4, 4), np.abs(_numbers(2, 4, seed=2)))],
    axes=("head", "query", "key"),
    wrong=[
        "the norms lie along the query. The vector that is taken belongs to the token looked at, the key: the last axis",
        lambda w, n: w * n[..., :, None],
        "you made the rows sum to 1 again. That hides how much the head takes in total: leave the rows as they are",
        lambda w, n: _weighted_norms(w, n) / _weighted_norms(w, n).sum(axis=-1, keepdims=True),
        "a weight stretches a vector: multiply, do not add",
        lambda w, n: w + n[..., None, :],
        "that uses the square of the length; take the length itself",
        lambda w, n: w * n[..., None, :] ** 2,
    ],
    learnt="A weight is not negative, so the length of alpha f is alpha times the length of f. The big tensor was never needed.",
)


# --- 4: [SEP] by weight and by norm ----------------------------------------------------------------------------
def _looked_at():
    attention = case_attention(("[CLS]", *["a"] * 6, "[SEP]", "[SEP]"), 2, 3)
    return attention.weights, attention.weights * np.abs(_numbers(2, 3, 1, 9, seed=1)), attention, 1


@of_run(_looked_at, answers=2)
def check_sep_shares(weights, added, attention, layer):
    """Share of [SEP] in one layer, by weight and by weighted norm."""
    sums = [category_sums(maps[layer], attention) for maps in (weights, added)]
    by_weight, by_norm = (found["sep"].mean() / sum(found.values()).mean() for found in sums)
    first = NumberCheck(
        by_weight,
        tolerance=2e-4,
        wrong={
            "that is the share by norm": by_norm,
            "that is the share of [SEP] among the tokens, the baseline": token_masks(attention)["sep"].mean(),
            "there are two [SEP]; their shares add up": by_weight / 2,
        },
        learnt="The share by weight is right.",
    )
    second = NumberCheck(
        by_norm,
        tolerance=2e-4,
        wrong=[
            "that is the share by weight",
            by_weight,
            "that is a length. Divide it by what the heads of the layer take from all tokens together",
            sums[1]["sep"].mean(),
            "there are two [SEP]; add up both",
            by_norm / 2,
            "you took the share head by head and then the mean. A head that adds next to nothing then counts as much as the others: take the mean of the lengths first",
            (sums[1]["sep"] / sum(sums[1].values())).mean(),
        ],
        learnt="The share by norm is right.",
    )
    change = "less" if by_norm < by_weight else "more"
    return PartsCheck(
        (first, second),
        learnt=f"[SEP] gets {by_weight:.0%} of the attention of this layer, and makes up {by_norm:.0%} of what its heads add: {change} than the "
        "weights say.",
    )


# --- 5 to 7: gradients --------------------------------------------------------------------------------------------
check_weight_gradient = FunctionCheck(
    lambda g, v: g @ v.T,
    asks="``weight_gradient(g, v)``: dL/dalpha of one head from g = dL/dctx and the values.",
    cases=[(_numbers(4, 3, seed=3), values) for values in (_numbers(5, 3, seed=4), _numbers(4, 3, seed=5))],
    axes=("query", "key"),
    wrong=[
        "query and key are swapped: row i is the token that looks, and g belongs to it",
        lambda g, v: v @ g.T,
        "Clark's measure is the size of it, but first comes the number with its sign",
        lambda g, v: np.abs(g @ v.T),
        "that is the largest value it could have, if both vectors pointed the same way. Take the inner product",
        lambda g, v: np.linalg.norm(g, axis=-1)[:, None] * np.linalg.norm(v, axis=-1),
        "no root of d here: that belongs to the scores, before the softmax",
        lambda g, v: g @ v.T / np.sqrt(g.shape[-1]),
    ],
    learnt="One matrix product per head, after one backward pass. The weight alpha is not in it: how much attention a head gives a token does not enter its "
    "gradient.",
)

check_why_small = ChoiceCheck.among(
    {
        "a large weight on it": "the weight is not in the formula: dL/dalpha is an inner product of two vectors",
        "a short f: there is little to take": None,
        "that it is never masked": "[CLS] is never masked either, and its vectors can be long",
    },
    asks="What forces the gradient on a token to be smaller than it can be on others.",
    learnt="|dL/dalpha| is at most ||dL/dout|| times ||f||. For a given dL/dout, a short f *must* make the gradient small, so the two are not independent "
    "evidence. It can also be small for other reasons: see exercise 10.",
)
BOUND_OPTIONS = check_why_small.options


@of_run()
def check_published_ratio():
    """The printed layers in which Clark's gradient on [SEP] is less than a tenth of that on all tokens."""
    sep = published_gradients("sep")
    ratio = sep / published_gradients("all")
    expected, small = (set((np.flatnonzero(values < 0.1) + 1).tolist()) for values in (ratio, sep))
    return SetCheck(
        expected,
        wrong={
            "printed layers count from 1; `np.flatnonzero` counts from 0": {layer - 1 for layer in expected},
            "that is the gradient itself, in an arbitrary unit. Divide by the one on all tokens": small,
            "those are the others: *less* than a tenth was asked for": set(range(1, 13)) - expected,
        },
        learnt=f"Layers {min(expected)} to {max(expected)}: the layers in which BERT-base gives [SEP] about half of its attention. In layer 1 the ratio is "
        f"{ratio[0]:.2f}.",
    )


# --- 8: value zeroing -----------------------------------------------------------------------------------------------
def _turn(before, after):
    lengths = np.linalg.norm(before, axis=-1) * np.linalg.norm(after, axis=-1)
    return 1 - (before * after).sum(axis=-1) / lengths


_BEFORE = _numbers(4, 3, seed=6)

check_turn = FunctionCheck(
    _turn,
    asks="``turn(before, after)``: cosine distance of each token's vector before and after.",
    cases=[(_BEFORE, after) for after in (_numbers(4, 3, seed=7), 2 * _BEFORE, -_BEFORE)],
    axes=("token",),
    wrong=[
        "that is the similarity: 1 for the same direction. The distance is 1 minus it",
        lambda b, a: 1 - _turn(b, a),
        "that is how far the tip moved. A vector twice as long has not turned: use the angle",
        lambda b, a: np.linalg.norm(a - b, axis=-1),
        "divide the inner product by both lengths",
        lambda b, a: 1 - (b * a).sum(axis=-1),
        "one number per *token*: sum over the last axis only",
        lambda b, a: 1 - (b * a).sum() / (np.linalg.norm(b) * np.linalg.norm(a)),
    ],
    learnt="0 is the same direction, 1 a right angle, 2 the opposite direction. Small turns enter by their square: half the angle gives a quarter of the distance.",
)


# --- 9: rollout --------------------------------------------------------------------------------------------------------
def _mixed(layers, maps=0.5, own=0.5, turned=False):
    """The product of ``maps * layer + own * identity`` over the layers of shape (layer, query, key)."""
    rolled = np.eye(layers.shape[-1])
    for layer in layers:
        mixing = maps * layer + own * np.eye(len(layer))
        rolled = rolled @ mixing if turned else mixing @ rolled
    return rolled


check_rollout = FunctionCheck(
    lambda maps: _mixed(maps.mean(axis=1)),
    asks="``rollout(maps)``: the product of the layers' mixing matrices, (layer, head, query, key) -> (query, key).",
    cases=[case_rows(3, 2, 4, 4, seed=8), case_rows(2, 3, 5, 5, seed=9)],
    axes=("query", "key"),
    wrong=[
        "the residual connection is missing: half of each mixture is the token itself",
        lambda m: _mixed(m.mean(axis=1), maps=1, own=0),
        "the order is reversed. The last layer looks at the layer below it: its matrix stands on the left",
        lambda m: _mixed(m.mean(axis=1), turned=True),
        "W + I has rows that sum to 2: take half of each",
        lambda m: _mixed(m.mean(axis=1), maps=1, own=1),
        "that is the last layer alone; multiply all layers",
        lambda m: _mixed(m[-1:].mean(axis=1)),
        "average the heads, do not add them: the rows must still sum to 1",
        lambda m: _mixed(m.sum(axis=1)),
    ],
    learnt="Column j of the result is a token of the *input*. Rows sum to 1, because each mixing matrix has rows that do.",
)


# --- 10: attention against importance -------------------------------------------------------------------------------------
@of_run(lambda: tuple(_numbers(3, 5, 4, seed=2)), answers=2)
def check_mechanism(share, gradient, norm):
    """Rank correlation of share and gradient over heads (layer means taken out), and the same given the norm."""
    x, y, z = (side - side.mean(axis=1, keepdims=True) for side in (share, gradient, norm))
    plain, partial = rank_correlation(x, y), partial_rank_correlation(x, y, z)
    layers = (
        "subtract each layer's mean first (`axis=1, keepdims=True`): otherwise you compare layers, not heads"
    )
    if plain > -0.15:
        reading = "in this model the heads that look more at [SEP] do not have much smaller gradients on it, so there is little to explain"
    elif partial - plain > 0.1:
        reading = "part of the relation goes when the norm is held fixed"
    else:
        reading = "the norm does not account for the relation"
    first = NumberCheck(
        plain,
        tolerance=1e-3,
        wrong=[
            layers,
            rank_correlation(share, gradient),
            "that is share and norm",
            rank_correlation(x, z),
            "that is Pearson's; ranks were asked for: `rank_correlation`",
            np.corrcoef(x.ravel(), y.ravel())[0, 1],
        ],
        learnt="The first is right.",
    )
    second = NumberCheck(
        partial,
        tolerance=1e-3,
        wrong=[
            layers,
            partial_rank_correlation(share, gradient, norm),
            "that is the plain correlation; use `partial_rank_correlation`",
            plain,
            "there the gradient is held fixed; hold the norm fixed, the third argument",
            partial_rank_correlation(x, z, y),
        ],
        learnt="The second is right.",
    )
    return PartsCheck(
        (first, second),
        learnt=f"{plain:+.2f}, and {partial:+.2f} among heads with equally long vectors: {reading}. {x.size} heads, one model: a hint, not a law.",
    )


# --- the last two: a picture, and a claim on trial ---------------------------------------------------------
PICTURE_OPTIONS, check_picture, on_trial, TRIAL_OPTIONS, check_trial = close("04")

sheet = keep_sheet(globals())  # what the checks above have said, as the last cell shows it
