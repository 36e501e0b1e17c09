"""Checks of lesson 4: is [SEP] a no-op?"""

from __future__ import annotations

import numpy as np

from ..measures import category_sums, token_masks
from ..published import published_gradients
from ..stats import partial_rank_correlation, rank_correlation
from .answers import check_choice, check_function, check_number, check_set
from .cases import case_rows, close, closing_examples
from .feedback import args, check_all
from .sheet import keep_sheet


def _numbers(*shape, seed=0):
    """Numbers for a case, both signs, no two alike; sizes that differ from one another."""
    return np.random.default_rng(seed).normal(size=shape)


# --- 1 to 3: norms -----------------------------------------------------------------------------------------
def _value_norms(values, projection):
    return np.linalg.norm(values @ projection, axis=-1)


def check_value_norms(function):
    """``value_norms(values, projection)``: the length of f_h(x_j) = v W_O for each head and token."""
    values, projection = _numbers(2, 5, 3), _numbers(2, 3, 7, seed=1)
    long = 3 * np.eye(3)[None].repeat(2, axis=0)
    return check_function(
        function,
        [((values, w), _value_norms(values, w)) for w in (projection, long)],
        axes=("head", "token"),
        mistakes=[
            (
                lambda v, w: np.linalg.norm(v, axis=-1),
                "that is the norm of the value vector. A head writes the value *after* the output projection: multiply first",
            ),
            (
                lambda v, w: (np.square(v @ w)).sum(axis=-1),
                "that is the square of the length; the root is missing",
            ),
            (
                lambda v, w: np.linalg.norm((v @ w).sum(axis=0), axis=-1),
                "you added the heads before taking the length; each head has its own",
            ),
            (
                lambda v, w: np.linalg.norm(v @ w, axis=-2),
                "that is a length along the tokens; the vectors lie along the last axis",
            ),
            (
                lambda v, w: np.abs(v @ w).sum(axis=-1),
                "that adds absolute values; a length is the root of the sum of squares",
            ),
        ],
        learnt="The length of what a head *would* take from each token. Not of the value vector: two heads with the same values and "
        "another W_O write vectors of another length.",
    )


HEADS, TOKENS, WIDTH = 12, 128, 768


def check_naive_size(answer):
    """How many numbers alpha_ij f_h(x_j) has in one layer of BERT-base, at 128 tokens."""
    expected = HEADS * TOKENS * TOKENS * WIDTH
    return check_number(
        answer,
        expected,
        tolerance=0,
        mistakes=[
            (TOKENS * TOKENS * WIDTH, "that is one head; a layer has 12"),
            (HEADS * TOKENS * WIDTH, "that is one vector a key; each *pair* of query and key has its own"),
            (
                HEADS * TOKENS * TOKENS,
                "those are the weights, one number a pair; here each pair has a vector",
            ),
            (expected * 12, "that is all 12 layers; one was asked for"),
            (HEADS * TOKENS * TOKENS * 64, "W_O turns the 64 numbers of a head into 768"),
        ],
        learnt=f"{expected:,} numbers, {expected * 4 / 1e6:.0f} MB in single precision, for one layer. Their lengths are {HEADS * TOKENS * TOKENS:,} "
        "numbers, and need only the weights and one length for each key.",
    )


def check_weighted_norms(function):
    """``weighted_norms(weights, norms)``: the length of alpha_ij f_h(x_j)."""
    weights, norms = case_rows(2, 4, 4), np.abs(_numbers(2, 4, seed=2))

    def right(weights, norms):
        return weights * norms[..., None, :]

    def by_query(weights, norms):
        return weights * norms[..., :, None]

    def rescaled(weights, norms):
        return right(weights, norms) / right(weights, norms).sum(axis=-1, keepdims=True)

    return check_function(
        function,
        [((weights, norms), right(weights, norms))],
        axes=("head", "query", "key"),
        mistakes=[
            (
                by_query,
                "the norms lie along the query. The vector that is taken belongs to the token looked at, the key: the last axis",
            ),
            (
                rescaled,
                "you made the rows sum to 1 again. That hides how much the head takes in all: leave the rows as they come",
            ),
            (lambda w, n: w + n[..., None, :], "a weight stretches a vector: multiply, do not add"),
            (lambda w, n: w * n[..., None, :] ** 2, "the length, not its square"),
        ],
        learnt="A weight is not negative, so the length of alpha f is alpha times the length of f. The big tensor was never needed.",
    )


# --- 4: [SEP] by weight and by norm ----------------------------------------------------------------------------
def check_sep_shares(by_weight, by_norm, weights, added, attention, layer):
    """Share of [SEP] in one layer, by weight and by weighted norm."""
    sums = [category_sums(maps[layer], attention) for maps in (weights, added)]
    shares = [found["sep"].mean() / sum(found.values()).mean() for found in sums]
    per_head = float((sums[1]["sep"] / sum(sums[1].values())).mean())
    absolute = float(sums[1]["sep"].mean())
    first = check_number(
        by_weight,
        shares[0],
        tolerance=2e-4,
        mistakes=[
            (shares[1], "that is the share by norm"),
            (
                float(token_masks(attention)["sep"].mean()),
                "that is the share of [SEP] among the tokens, the baseline",
            ),
            (shares[0] / 2, "there are two [SEP]; their shares add up"),
        ],
        learnt="By weight it is right.",
    )
    second = check_number(
        by_norm,
        shares[1],
        tolerance=2e-4,
        mistakes=[
            (shares[0], "that is the share by weight"),
            (
                absolute,
                "that is a length. Divide it by what the heads of the layer take from all tokens together",
            ),
            (shares[1] / 2, "there are two [SEP]; add up both"),
            (
                per_head,
                (
                    "you took the share head by head and then the mean. A head that adds next to nothing then counts like the others: "
                    "take the mean of the lengths first"
                ),
            ),
        ],
        learnt="By norm it is right.",
    )
    change = "less" if shares[1] < shares[0] else "more"
    return check_all(
        first,
        second,
        learnt=f"[SEP] gets {shares[0]:.0%} of the attention of this layer, and makes up {shares[1]:.0%} of what its heads add: {change} than the "
        "weights say.",
    )


# --- 5 to 7: gradients --------------------------------------------------------------------------------------------
def check_weight_gradient(function):
    """``weight_gradient(g, v)``: dL/dalpha of one head from g = dL/dctx and the values."""
    g, v = _numbers(4, 3, seed=3), _numbers(5, 3, seed=4)
    square = _numbers(4, 3, seed=5)
    return check_function(
        function,
        [((g, v), g @ v.T), ((g, square), g @ square.T)],
        axes=("query", "key"),
        mistakes=[
            (
                lambda g, v: v @ g.T,
                "query and key are swapped: row i is the token that looks, and g belongs to it",
            ),
            (
                lambda g, v: np.abs(g @ v.T),
                "Clark's measure is the size of it, but first comes the number with its sign",
            ),
            (
                lambda g, v: np.linalg.norm(g, axis=-1)[:, None] * np.linalg.norm(v, axis=-1),
                "that is the largest value it could have, if both vectors pointed the same way. Take the inner product",
            ),
            (
                lambda g, v: g @ v.T / np.sqrt(g.shape[-1]),
                "no root of d here: that belongs to the scores, before the softmax",
            ),
        ],
        learnt="One matrix product a head, after one backward pass. The weight alpha is not in it: how far a head looks says nothing about its "
        "gradient.",
    )


BOUND_OPTIONS = (
    "a large weight on it",
    "a short f: there is little to take",
    "that it is never masked",
)


def check_why_small(answer):
    """What forces the gradient on a token to be small."""
    return check_choice(
        answer,
        BOUND_OPTIONS[1],
        options=BOUND_OPTIONS,
        mistakes=[
            (
                BOUND_OPTIONS[0],
                "the weight is not in the formula: dL/dalpha is an inner product of two vectors",
            ),
            (BOUND_OPTIONS[2], "[CLS] is never masked either, and its vectors can be long"),
        ],
        learnt="|dL/dalpha| is at most ||dL/dout|| times ||f||. Where f is short the gradient *must* be small, so the two are not independent "
        "evidence. It can also be small for other reasons: exercise 10 asks.",
    )


def check_published_ratio(answer):
    """The printed layers in which Clark's gradient on [SEP] is less than a tenth of that on all tokens."""
    ratio = published_gradients("sep") / published_gradients("all")
    expected = {int(i) + 1 for i in np.flatnonzero(ratio < 0.1)}
    small = {int(i) + 1 for i in np.flatnonzero(published_gradients("sep") < 0.1)}
    return check_set(
        answer,
        expected,
        mistakes=[
            ({i - 1 for i in expected}, "printed layers count from 1; `np.flatnonzero` counts from 0"),
            (small, "that is the gradient itself, in an arbitrary unit. Divide by the one on all tokens"),
            (set(range(1, 13)) - expected, "those are the others: *less* than a tenth was asked for"),
        ],
        learnt=f"Layers {min(expected)} to {max(expected)}: the layers in which BERT-base gives [SEP] about half of its attention. In layer 1 the ratio is "
        f"{ratio[0]:.2f}.",
    )


# --- 8: value zeroing -----------------------------------------------------------------------------------------------
def _turn(before, after):
    lengths = np.linalg.norm(before, axis=-1) * np.linalg.norm(after, axis=-1)
    return 1 - (before * after).sum(axis=-1) / lengths


def check_turn(function):
    """``turn(before, after)``: cosine distance of each token's vector before and after."""
    before = _numbers(4, 3, seed=6)
    cases = [(before, _numbers(4, 3, seed=7)), (before, 2 * before), (before, -before)]
    return check_function(
        function,
        [(case, _turn(*case)) for case in cases],
        axes=("token",),
        mistakes=[
            (
                lambda b, a: 1 - _turn(b, a),
                "that is the similarity: 1 for the same direction. The distance is 1 minus it",
            ),
            (
                lambda b, a: np.linalg.norm(a - b, axis=-1),
                "that is how far the tip moved. A vector twice as long has not turned: use the angle",
            ),
            (lambda b, a: 1 - (b * a).sum(axis=-1), "divide the inner product by both lengths"),
            (
                lambda b, a: 1 - (b * a).sum() / (np.linalg.norm(b) * np.linalg.norm(a)),
                "one number a *token*: sum over the last axis only",
            ),
        ],
        learnt="0 the same direction, 1 at right angles, 2 turned round. Small turns count by their square: half the turn is a quarter of the distance.",
    )


# --- 9: rollout --------------------------------------------------------------------------------------------------------
def _rollout(maps, half=0.5, turned=False):
    n = maps.shape[-1]
    rolled = np.eye(n)
    for layer in maps.mean(axis=1):
        mixing = half * layer + (1 - half) * np.eye(n)
        rolled = rolled @ mixing if turned else mixing @ rolled
    return rolled


def _summed(maps):
    rolled = np.eye(maps.shape[-1])
    for layer in maps.mean(axis=1):
        rolled = (layer + np.eye(len(layer))) @ rolled
    return rolled


def check_rollout(function):
    """``rollout(maps)``: the product of the layers' mixing matrices, (layer, head, query, key) -> (query, key)."""
    cases = [case_rows(3, 2, 4, 4, seed=8), case_rows(2, 3, 5, 5, seed=9)]
    return check_function(
        function,
        [((maps,), _rollout(maps)) for maps in cases],
        axes=("query", "key"),
        mistakes=[
            (
                lambda m: _rollout(m, half=1.0),
                "the residual connection is missing: half of each mixture is the token itself",
            ),
            (
                lambda m: _rollout(m, turned=True),
                "the order is turned round. The last layer looks at the layer below it: its matrix stands on the left",
            ),
            (_summed, "W + I has rows that sum to 2: take half of each"),
            (
                lambda m: 0.5 * m[-1].mean(axis=0) + 0.5 * np.eye(m.shape[-1]),
                "that is the last layer alone; multiply all layers",
            ),
            (
                lambda m: np.linalg.multi_dot(
                    [np.eye(m.shape[-1]), *[0.5 * w.sum(axis=0) + 0.5 * np.eye(m.shape[-1]) for w in m[::-1]]]
                ),
                "average the heads, do not add them: the rows must still sum to 1",
            ),
        ],
        learnt="Column j of the result is a token of the *input*. Rows sum to 1, because each mixing matrix has rows that do.",
    )


# --- 10: attention against importance -------------------------------------------------------------------------------------
def check_mechanism(rho, rho_given, share, gradient, norm):
    """Rank correlation of share and gradient over heads (layer means taken out), and the same given the norm."""
    x, y, z = (side - side.mean(axis=1, keepdims=True) for side in (share, gradient, norm))
    plain, partial = rank_correlation(x, y), partial_rank_correlation(x, y, z)
    raw = rank_correlation(share, gradient), partial_rank_correlation(share, gradient, norm)
    layers = "subtract each layer's mean first (`axis=1, keepdims=True`): else it compares layers, not heads"
    if plain > -0.15:
        reading = "in this model heads that look more at [SEP] hardly depend less on it, so there is little to explain"
    elif partial - plain > 0.1:
        reading = "part of the relation goes when the norm is held fixed"
    else:
        reading = "the norm does not account for the relation"
    return check_all(
        check_number(
            rho,
            plain,
            tolerance=1e-3,
            mistakes=[
                (raw[0], layers),
                (rank_correlation(x, z), "that is share and norm"),
                (
                    float(np.corrcoef(x.ravel(), y.ravel())[0, 1]),
                    "that is Pearson's; ranks were asked for: `rank_correlation`",
                ),
            ],
            learnt="The first is right.",
        ),
        check_number(
            rho_given,
            partial,
            tolerance=1e-3,
            mistakes=[
                (raw[1], layers),
                (plain, "that is the plain correlation; use `partial_rank_correlation`"),
                (
                    partial_rank_correlation(x, z, y),
                    "there the gradient is held fixed; hold the norm fixed, the third argument",
                ),
            ],
            learnt="The second is right.",
        ),
        learnt=f"{plain:+.2f}, and {partial:+.2f} among heads with equally long vectors: {reading}. {x.size} heads, one model: a hint, not a law.",
    )


# --- the last two: a picture, and a claim on trial ---------------------------------------------------------
PICTURE_OPTIONS, check_picture, on_trial, TRIAL_OPTIONS, check_trial = close("04")


# --- the checks' own proof ---------------------------------------------------------------------------------------------------
def _attention(n=9):
    from types import SimpleNamespace

    tokens = ("[CLS]", *["a"] * (n - 3), "[SEP]", "[SEP]")
    special = tuple(token != "a" for token in tokens)
    return SimpleNamespace(weights=case_rows(2, 3, n, n), tokens=tokens, special=special, n_tokens=n)


def EXAMPLES():
    """Right, wrong and unfilled answers of every check."""
    attention = _attention()
    weights = attention.weights
    added = weights * np.abs(_numbers(2, 3, 1, 9, seed=1))
    sep = token_masks(attention)["sep"]
    by_weight = weights[1][..., sep].sum() / weights[1].sum()
    by_norm = added[1][..., sep].sum() / added[1].sum()
    share, gradient, norm = _numbers(3, 5, 4, seed=2)
    centred = [side - side.mean(axis=1, keepdims=True) for side in (share, gradient, norm)]
    rho, given = rank_correlation(*centred[:2]), partial_rank_correlation(*centred)
    maps = (weights, added, attention, 1)
    return {
        "check_value_norms": (_value_norms, lambda v, w: np.linalg.norm(v, axis=-1), ...),
        "check_naive_size": (12 * 128 * 128 * 768, 128 * 128 * 768, ...),
        "check_weighted_norms": (lambda w, n: w * n[..., None, :], lambda w, n: w * n[..., :, None], ...),
        "check_sep_shares": (
            args(by_weight, by_norm, *maps),
            args(by_weight, by_weight, *maps),
            args(..., ..., *maps),
        ),
        "check_weight_gradient": (lambda g, v: g @ v.T, lambda g, v: v @ g.T, ...),
        "check_why_small": (BOUND_OPTIONS[1], BOUND_OPTIONS[0], ...),
        "check_published_ratio": ({5, 6, 7, 8, 9, 10}, {4, 5, 6, 7, 8, 9}, ...),
        "check_turn": (_turn, lambda b, a: np.linalg.norm(a - b, axis=-1), ...),
        "check_rollout": (_rollout, lambda m: _rollout(m, half=1.0), ...),
        "check_mechanism": (
            args(rho, given, share, gradient, norm),
            args(rho, rho, share, gradient, norm),
            args(..., ..., share, gradient, norm),
        ),
        **closing_examples("04"),
    }


sheet = keep_sheet(globals())  # what the checks above have said, as the last cell shows it
