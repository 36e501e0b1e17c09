"""Checks of lesson 14: what fine-tuning changes."""

from __future__ import annotations

import numpy as np

from bertlook_teach.model import head_label
from bertlook_teach.stats import exact_sign_flip

from ..analyses.finetuning import match_heads
from .answers import ChoiceCheck, FunctionCheck, ListCheck, NumberCheck
from .cases import close, js_divergence, of_run
from .sheet import keep_sheet


def _map(seed, n=5):
    return np.random.default_rng(seed).dirichlet(np.full(n, 0.5), size=n)


# --- 1: cosine ---------------------------------------------------------------------------------------------
def _cosine(before, after, axis=None):
    return (before * after).sum(axis) / np.sqrt((before**2).sum(axis) * (after**2).sum(axis))


check_cosine = FunctionCheck(
    _cosine,
    asks="``cosine(before, after)``: two maps of shape (query, key) as one long vector each.",
    cases=[(_map(seed), _map(seed + 10)) for seed in (1, 2, 3)],
    wrong=[
        "that is the mean of the cosines of single rows; the whole map is *one* vector here",
        lambda a, b: _cosine(a, b, axis=1).mean(),
        "one of the maps is transposed: its rows became columns",
        lambda a, b: _cosine(a, b.T),
        "that is the scalar product; divide by the lengths of both vectors",
        lambda a, b: (a * b).sum(),
        "that is a distance; the cosine is 1 for two equal maps",
        lambda a, b: 1 - _cosine(a, b),
    ],
    learnt="1: the same map. But weights are never negative, so 0 would mean that no weight stands where the other has one.",
)


# --- 2: padding --------------------------------------------------------------------------------------------
def _padded(weights, to, received=0.0):
    """As a batch leaves them: padding receives nothing (or, without a mask, a share), its own rows are uniform."""
    n = len(weights)
    out = np.full((to, to), received / (to - n))
    out[:n, :n] = weights * (1 - received)
    out[n:, :n] = (1 - received) / n
    return out


check_cropped = FunctionCheck(
    lambda before, after, length: _cosine(before[:length, :length], after[:length, :length]),
    asks="``cropped(before, after, length)``: the cosine of padded maps, their padding left out.",
    cases=[
        (_padded(_map(1), 9), _padded(_map(11), 9), 5),
        (_padded(_map(2), 9), _padded(_map(12), 9), 5),
        (_padded(_map(3), 9, received=0.1), _padded(_map(13), 9, received=0.3), 5),  # read without a mask
    ],
    wrong=[
        "the padding is still in it: rows that say nothing, and the same in both models",
        lambda a, b, n: _cosine(a, b),
        "the columns of the padding are gone, its *rows* are still there",
        lambda a, b, n: _cosine(a[:, :n], b[:, :n]),
        "the rows of the padding are gone; take its columns away too",
        lambda a, b, n: _cosine(a[:n], b[:n]),
        "[CLS] and [SEP] are tokens; only the padding goes",
        lambda a, b, n: _cosine(a[1 : n - 1, 1 : n - 1], b[1 : n - 1, 1 : n - 1]),
    ],
    learnt="Rows of padding are alike in any two models, so they push the cosine up. Kovaleva's released code left them in.",
)


# --- 3: the floor ------------------------------------------------------------------------------------------
def _with_others(before, after, head):
    """The cosine of one head after with each of the other heads before."""
    return [_cosine(before[other], after[head]) for other in range(len(before)) if other != head]


def _maps(seed):
    return np.stack([_map(seed + head) for head in range(3)])


check_floor = FunctionCheck(
    lambda before, after, head: np.mean(_with_others(before, after, head)),
    asks="``floor(before, after, head)``: mean cosine of one head after with the *other* heads before; maps (head, query, key).",
    cases=[(_maps(1), _maps(21), 0), (_maps(2), _maps(22), 2)],
    wrong=[
        "the head itself is among them; the floor is about the *others*",
        lambda b, a, h: np.mean([_cosine(other, a[h]) for other in b]),
        "before and after have changed places: one head *after*, the others *before*",
        lambda b, a, h: np.mean(_with_others(a, b, h)),
        "that compares the head with itself before tuning",
        lambda b, a, h: _cosine(b[h], a[h]),
        "that is the largest; the mean was asked for",
        lambda b, a, h: max(_with_others(b, a, h)),
    ],
    learnt='What the cosine is for heads that have nothing to do with each other. Only what lies above it says "the same head".',
)


# --- 4: divergence -----------------------------------------------------------------------------------------
def _kl(p, q):
    return (p * np.log(p / q)).sum()


check_js = FunctionCheck(
    js_divergence,
    asks="``js(p, q)``: Jensen-Shannon divergence of two rows without zeros, in nats.",
    cases=[tuple(_map(seed)[:2] * 0.9 + 0.02) for seed in (1, 2, 3)],
    wrong=[
        "that is Kullback-Leibler: it is not the same from q to p, and infinite where q is 0",
        _kl,
        "compare both with their *mean* m, not with each other",
        lambda p, q: (_kl(p, q) + _kl(q, p)) / 2,
        "that is the square root, the distance; the divergence was asked for",
        lambda p, q: js_divergence(p, q) ** 0.5,
        "that is in bits; nats need the natural logarithm",
        lambda p, q: js_divergence(p, q) / np.log(2),
        "that is twice the right value: take the mean of the two divergences, not their sum",
        lambda p, q: 2 * js_divergence(p, q),
    ],
    learnt="0 for the same row, ln 2 for rows that share no key; and it has no floor to hide a change.",
)


# --- 5: layers ---------------------------------------------------------------------------------------------
@of_run(lambda: (np.ones((4, 4, 2)) * np.array([0.1, 0.2, 0.5, 0.05])[:, None],))
def check_changed_layer(js):
    """The layer, counted from 1, whose heads changed most; js of shape (text, layer, head)."""
    layers = np.asarray(js, dtype=float).mean(axis=(0, 2))
    return NumberCheck(
        layers.argmax() + 1,
        tolerance=0,
        wrong={
            "printed layers count from 1; the index counts from 0": layers.argmax(),
            "that is the layer that changed *least*": layers.argmin() + 1,
        },
        learnt=f"Mean divergence {layers.max():.3f} nats there, {layers.min():.3f} in the layer that changed least.",
    )


# --- 6: pairing off ----------------------------------------------------------------------------------------
_DISTANCES = np.array(
    [[0.5, 0.1, 0.9, 0.9], [0.2, 0.6, 0.9, 0.9], [0.9, 0.9, 0.1, 0.2], [0.9, 0.9, 0.05, 0.1]]
)


@of_run(lambda: (_DISTANCES, 2))
def check_moved(distances, n_heads):
    """Printed names of the heads before that are paired with another head after, in the order of the rows."""
    distances = np.asarray(distances, dtype=float)

    def named(chosen):
        return [head_label(*divmod(i, n_heads)) for i, j in enumerate(chosen) if i != j]

    return ListCheck(
        named(match_heads(distances)),
        wrong=[
            "two heads may have the same nearest head; each may be given away only once",
            named(distances.argmin(axis=1)),
            "some heads are better off with another: look at the sum over all pairs",
            [],
        ],
        learnt="All pairs together differ least. A pairing at random would leave one head in its place on average.",
    )


# --- 7: where a word points ----------------------------------------------------------------------------------
def _points_at(weights, axis=1):
    return (weights - 2 * np.eye(len(weights))).argmax(axis=axis)


def _often_itself(seed):
    weights = _map(seed, 6) + 0.5 * np.eye(6) * (np.arange(6) % 2)
    return weights / weights.sum(axis=1, keepdims=True)


check_points_at = FunctionCheck(
    _points_at,
    asks="``points_at(weights)``: for each word the *other* word it looks at most; weights of shape (word, word).",
    cases=[_often_itself(seed) for seed in (1, 2, 3)],
    wrong={
        "some words look at *themselves* most; that does not count here": lambda w: w.argmax(axis=1),
        "that is who looks at each word most: rows are the words that look": lambda w: _points_at(w, axis=0),
        "places count from 0": lambda w: _points_at(w) + 1,
    },
    learnt="Each word points at one place. We lose how sure the head was: an arg-max of nearly equal weights looks the same.",
)


# --- 8: F1 -------------------------------------------------------------------------------------------------
def _hits(choices, cue, scope):
    """How many words of the scope point at the cue, and how many words do."""
    pointing = [i for i, choice in enumerate(choices) if choice == cue and i != cue]
    return len(set(pointing) & set(scope)), len(pointing)


def _f1(choices, cue, scope):
    hits, pointing = _hits(choices, cue, scope)
    return 2 * hits / (pointing + len(scope))


def _recall(choices, cue, scope):
    return _hits(choices, cue, scope)[0] / len(scope)


def _precision(choices, cue, scope):
    hits, pointing = _hits(choices, cue, scope)
    return hits / pointing if pointing else 0.0


check_f1 = FunctionCheck(
    _f1,
    asks="``f1(choices, cue, scope)``: Zhao and Bethard's score on one sentence.",
    cases=[
        (np.array([2, 2, 0, 2, 2, 0]), 2, [0, 1, 3]),
        (np.array([1, 0, 1, 1, 3]), 1, [2, 3, 4]),
        (np.array([1, 2, 3, 2, 1]), 4, [0, 1]),  # nobody points at the cue
    ],
    wrong=[
        "that is the recall; the words *outside* the scope that look at the cue are not counted yet",
        _recall,
        "that is the precision; how much of the scope was found is missing",
        _precision,
        "that is the ordinary mean of precision and recall; F1 is the *harmonic* one, 2 hits / (pointing + scope)",
        lambda *case: (_recall(*case) + _precision(*case)) / 2,
    ],
    learnt="A head in which every word points at the cue has full recall and poor precision; with long scopes not even the precision is poor.",
)

# --- 9: who has learnt nothing -------------------------------------------------------------------------------
check_why_twin = ChoiceCheck.among(
    {
        "random weights happen to know what negates": "another random seed gives the same; so it is nothing that the weights know",
        "its maps are nearly uniform, and a word of several pieces receives the sum of their shares": None,
        "it looks at [CLS] and [SEP], which are left out": "that explains where its attention does *not* count, not why the cue wins",
        "it looks at the previous word, which is often the cue": "try the rule: the word before scores less. And what would make random weights prefer it?",
    },
    asks="Why a random model's heads score well.",
    learnt="What a word receives is added up over its pieces. Where all weights are nearly equal, the word with the most pieces wins every arg-max.",
)
TWIN_OPTIONS = check_why_twin.options


# --- 10: seeds -----------------------------------------------------------------------------------------------
def _one_sided(negation, control):
    difference = negation - control
    signs = np.array(np.meshgrid(*[(1, -1)] * len(difference))).reshape(len(difference), -1)
    return (difference @ signs >= difference.sum() - 1e-12).mean()


check_p = FunctionCheck(
    lambda negation, control: exact_sign_flip(negation - control),
    asks="``p_value(negation, control)``: exact two-sided sign flips over seeds.",
    cases=[
        (np.array([0.3, 0.4, 0.5]), np.array([0.2, 0.2, 0.1])),
        (np.array([0.3, 0.1]), np.array([0.2, 0.2])),
        (np.array([0.5, 0.4, 0.3, 0.6]), np.array([0.1, 0.5, 0.2, 0.3])),
    ],
    wrong=[
        "that is one-sided; a difference in the other direction would have been news too: compare sizes",
        _one_sided,
        "that is the share of seeds in which negation is ahead",
        lambda a, b: (a > b).mean(),
        "that is the chance of one pattern of signs; count all whose sum is as far from 0",
        lambda a, b: 2.0 ** -len(a),
    ],
    learnt="With three seeds p is never below .25. The number of seeds decides what you may find.",
)

# --- the last two: a picture, and a claim on trial ---------------------------------------------------------
PICTURE_OPTIONS, check_picture, on_trial, TRIAL_OPTIONS, check_trial = close("14")

sheet = keep_sheet(globals())  # what the checks above have said, as the last cell shows it
