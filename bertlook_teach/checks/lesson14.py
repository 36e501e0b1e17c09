"""Checks of lesson 14: what fine-tuning changes."""

from __future__ import annotations

import numpy as np

from ..analyses.finetuning import match_heads
from ..model import head_label
from ..stats import exact_sign_flip
from .answers import check_choice, check_function, check_list, check_number
from .cases import close, closing_examples, js_divergence
from .feedback import args
from .sheet import keep_sheet


def _map(seed, n=5):
    return np.random.default_rng(seed).dirichlet(np.full(n, 0.5), size=n)


def _padded(weights, to, received=0.0):
    """As a batch leaves them: padding receives nothing (or, without a mask, a share), its own rows are uniform."""
    n = len(weights)
    out = np.full((to, to), received / (to - n))
    out[:n, :n] = weights * (1 - received)
    out[n:, :n] = (1 - received) / n
    return out


# --- 1: cosine ---------------------------------------------------------------------------------------------
def _cosine(before, after):
    return float((before * after).sum() / np.sqrt((before**2).sum() * (after**2).sum()))


def check_cosine(function):
    """``cosine(before, after)``: two maps of shape (query, key) as one long vector each."""

    def by_row(before, after):
        rows = (before * after).sum(axis=1) / np.sqrt((before**2).sum(axis=1) * (after**2).sum(axis=1))
        return float(rows.mean())

    def transposed(before, after):
        return _cosine(before, after.T)

    cases = [(_map(s), _map(s + 10)) for s in (1, 2, 3)]
    return check_function(
        function,
        [(case, _cosine(*case)) for case in cases],
        mistakes=[
            (by_row, "that is the mean of the cosines of single rows; the whole map is *one* vector here"),
            (transposed, "one of the maps is turned: its rows became columns"),
            (
                lambda a, b: float((a * b).sum()),
                "that is the scalar product; divide by the lengths of both vectors",
            ),
            (lambda a, b: 1 - _cosine(a, b), "that is a distance; the cosine is 1 for two equal maps"),
        ],
        learnt="1: the same map. But weights are never negative, so 0 would mean that no weight stands where the other has one.",
    )


# --- 2: padding --------------------------------------------------------------------------------------------
def check_cropped(function):
    """``cropped(before, after, length)``: the cosine of padded maps, their padding left out."""

    def right(before, after, length):
        return _cosine(before[:length, :length], after[:length, :length])

    def rows_only(before, after, length):
        return _cosine(before[:, :length], after[:, :length])

    shares = {1: (0.0, 0.0), 2: (0.0, 0.0), 3: (0.1, 0.3)}  # the last pair was read without a mask
    cases = [(_padded(_map(s), 9, a), _padded(_map(s + 10), 9, b), 5) for s, (a, b) in shares.items()]
    return check_function(
        function,
        [(case, right(*case)) for case in cases],
        mistakes=[
            (
                lambda a, b, n: _cosine(a, b),
                "the padding is still in it: rows that say nothing, and the same in both models",
            ),
            (rows_only, "the columns of the padding are gone, its *rows* are still there"),
            (
                lambda a, b, n: _cosine(a[:n], b[:n]) if n else 0.0,
                "the rows of the padding are gone; take its columns away too",
            ),
            (
                lambda a, b, n: _cosine(a[1 : n - 1, 1 : n - 1], b[1 : n - 1, 1 : n - 1]),
                "[CLS] and [SEP] are tokens; only the padding goes",
            ),
        ],
        learnt="Rows of padding are alike in any two models, so they push the cosine up. Kovaleva's released code left them in.",
    )


# --- 3: the floor ------------------------------------------------------------------------------------------
def check_floor(function):
    """``floor(before, after, head)``: mean cosine of one head after with the *other* heads before; maps (head, query, key)."""

    def right(before, after, head):
        return float(
            np.mean([_cosine(before[other], after[head]) for other in range(len(before)) if other != head])
        )

    def all_heads(before, after, head):
        return float(np.mean([_cosine(other, after[head]) for other in before]))

    def other_way(before, after, head):
        return float(
            np.mean([_cosine(before[head], after[other]) for other in range(len(before)) if other != head])
        )

    cases = [
        (np.stack([_map(s + k) for k in range(3)]), np.stack([_map(s + 20 + k) for k in range(3)]), head)
        for s, head in ((1, 0), (2, 2))
    ]
    return check_function(
        function,
        [(case, right(*case)) for case in cases],
        mistakes=[
            (all_heads, "the head itself is among them; the floor is about the *others*"),
            (other_way, "before and after have changed places: one head *after*, the others *before*"),
            (lambda b, a, h: _cosine(b[h], a[h]), "that is the head with its own former self"),
            (
                lambda b, a, h: max(_cosine(b[o], a[h]) for o in range(len(b)) if o != h),
                "that is the largest; the mean was asked for",
            ),
        ],
        learnt='What the cosine is for heads that have nothing to do with each other. Only what lies above it says "the same head".',
    )


# --- 4: divergence -----------------------------------------------------------------------------------------
def check_js(function):
    """``js(p, q)``: Jensen-Shannon divergence of two rows without zeros, in nats."""

    def kl(p, q):
        return float((p * np.log(p / q)).sum())

    def symmetric_kl(p, q):
        return (kl(p, q) + kl(q, p)) / 2

    cases = [(_map(s)[0] * 0.9 + 0.02, _map(s)[1] * 0.9 + 0.02) for s in (1, 2, 3)]
    return check_function(
        function,
        [(case, js_divergence(*case)) for case in cases],
        tolerance=1e-6,
        mistakes=[
            (kl, "that is Kullback-Leibler: it is not the same from q to p, and infinite where q is 0"),
            (symmetric_kl, "compare both with their *mean* m, not with each other"),
            (
                lambda p, q: float(np.sqrt(js_divergence(p, q))),
                "that is the square root, the distance; the divergence was asked for",
            ),
            (
                lambda p, q: js_divergence(p, q) / np.log(2),
                "that is in bits; nats need the natural logarithm",
            ),
            (
                lambda p, q: 2 * js_divergence(p, q),
                "twice too much: the mean of the two divergences, not their sum",
            ),
        ],
        learnt="0 for the same row, ln 2 for rows that share no key; and it has no floor to hide a change.",
    )


# --- 5: layers ---------------------------------------------------------------------------------------------
def check_changed_layer(answer, js):
    """The layer, counted from 1, whose heads changed most; js of shape (text, layer, head)."""
    layers = np.asarray(js, dtype=float).mean(axis=(0, 2))
    return check_number(
        answer,
        int(layers.argmax()) + 1,
        tolerance=0,
        mistakes=[
            (int(layers.argmax()), "printed layers count from 1; the index counts from 0"),
            (int(layers.argmin()) + 1, "that is the layer that changed *least*"),
        ],
        learnt=f"Mean divergence {layers.max():.3f} nats there, {layers.min():.3f} in the layer that changed least.",
    )


# --- 6: pairing off ----------------------------------------------------------------------------------------
def check_moved(answer, distances, n_heads):
    """Printed names of the heads before that are paired with another head after, in the order of the rows."""
    distances = np.asarray(distances, dtype=float)
    partners, nearest = match_heads(distances), distances.argmin(axis=1)

    def named(chosen):
        return [head_label(*divmod(i, n_heads)) for i, j in enumerate(chosen) if i != j]

    mistakes = []
    if named(nearest) != named(partners):
        mistakes.append(
            (named(nearest), "two heads may have the same nearest head; each may be given away only once")
        )
    if named(partners):
        mistakes.append(([], "some heads are better off with another: look at the sum over all pairs"))
    return check_list(
        answer,
        named(partners),
        mistakes=mistakes,
        learnt="All pairs together differ least. A pairing at random would leave one head in its place on average.",
    )


# --- 7: where a word points ----------------------------------------------------------------------------------
def check_points_at(function):
    """``points_at(weights)``: for each word the *other* word it looks at most; weights of shape (word, word)."""

    def right(weights):
        weights = weights.copy()
        np.fill_diagonal(weights, -1)
        return weights.argmax(axis=1)

    def columns(weights):
        weights = weights.copy()
        np.fill_diagonal(weights, -1)
        return weights.argmax(axis=0)

    cases = []
    for seed in (1, 2, 3):
        weights = _map(seed, 6) + 0.5 * np.eye(6) * (np.arange(6) % 2)
        cases.append(weights / weights.sum(axis=1, keepdims=True))
    return check_function(
        function,
        [((w,), right(w)) for w in cases],
        mistakes=[
            (lambda w: w.argmax(axis=1), "some words look at *themselves* most; that does not count here"),
            (columns, "that is who looks at each word most: rows are the words that look"),
            (lambda w: right(w) + 1, "places count from 0"),
        ],
        learnt="One place a word. How sure the head was is lost: an arg-max of nearly equal weights looks the same.",
    )


# --- 8: F1 -------------------------------------------------------------------------------------------------
def check_f1(function):
    """``f1(choices, cue, scope)``: Zhao and Bethard's score on one sentence."""

    def right(choices, cue, scope):
        pointing = [i for i in range(len(choices)) if choices[i] == cue and i != cue]
        hits = len(set(pointing) & set(scope))
        return 2 * hits / (len(pointing) + len(scope)) if hits else 0.0

    def recall(choices, cue, scope):
        return sum(choices[i] == cue for i in scope) / len(scope)

    def precision(choices, cue, scope):
        pointing = [i for i in range(len(choices)) if choices[i] == cue and i != cue]
        return len(set(pointing) & set(scope)) / len(pointing) if pointing else 0.0

    def mean(choices, cue, scope):
        return (recall(choices, cue, scope) + precision(choices, cue, scope)) / 2

    cases = [
        (np.array([2, 2, 0, 2, 2, 0]), 2, [0, 1, 3]),
        (np.array([1, 0, 1, 1, 3]), 1, [2, 3, 4]),
        (np.array([1, 2, 3, 2, 1]), 4, [0, 1]),  # nobody points at the cue
    ]
    return check_function(
        function,
        [(case, right(*case)) for case in cases],
        mistakes=[
            (
                recall,
                "that is the recall; the words *outside* the scope that look at the cue are not counted yet",
            ),
            (precision, "that is the precision; how much of the scope was found is missing"),
            (
                mean,
                "that is the ordinary mean of precision and recall; F1 is the *harmonic* one, 2 hits / (pointing + scope)",
            ),
        ],
        learnt="A head at which every word points alike has full recall and poor precision, for long scopes not even that poor.",
    )


# --- 9: who has learnt nothing -------------------------------------------------------------------------------
TWIN_OPTIONS = (
    "random weights happen to know what negates",
    "its maps are nearly uniform, and a word of several pieces receives the sum of their shares",
    "it looks at [CLS] and [SEP], which are left out",
    "it looks at the previous word, which is often the cue",
)


def check_why_twin(answer):
    """Why a random model's heads score well."""
    return check_choice(
        answer,
        TWIN_OPTIONS[1],
        options=TWIN_OPTIONS,
        mistakes=[
            (TWIN_OPTIONS[0], "another random seed gives the same; so it is nothing that the weights know"),
            (TWIN_OPTIONS[2], "that explains where its attention does *not* count, not why the cue wins"),
            (
                TWIN_OPTIONS[3],
                "try the rule: the word before scores less. And what would make random weights prefer it?",
            ),
        ],
        learnt="What a word receives is added up over its pieces. Where all weights are alike, the word of most pieces wins every arg-max.",
    )


# --- 10: seeds -----------------------------------------------------------------------------------------------
def check_p(function):
    """``p_value(negation, control)``: exact two-sided sign flips over seeds."""

    def right(negation, control):
        return exact_sign_flip(np.subtract(negation, control))

    def one_sided(negation, control):
        difference = np.subtract(negation, control)
        signs = np.array(np.meshgrid(*[(1, -1)] * len(difference))).reshape(len(difference), -1)
        return float((difference @ signs >= difference.sum() - 1e-12).mean())

    cases = [
        ([0.3, 0.4, 0.5], [0.2, 0.2, 0.1]),
        ([0.3, 0.1], [0.2, 0.2]),
        ([0.5, 0.4, 0.3, 0.6], [0.1, 0.5, 0.2, 0.3]),
    ]
    return check_function(
        function,
        [((np.array(a), np.array(b)), right(a, b)) for a, b in cases],
        mistakes=[
            (
                one_sided,
                "that is one-sided; a difference in the other direction would have been news too: compare sizes",
            ),
            (lambda a, b: float((a > b).mean()), "that is the share of seeds in which negation is ahead"),
            (
                lambda a, b: 2.0 ** -len(a),
                "that is the chance of one pattern of signs; count all whose sum is as far from 0",
            ),
        ],
        learnt="With three seeds p is never below .25. The number of seeds decides what you may find.",
    )


# --- the last two: a picture, and a claim on trial ---------------------------------------------------------
PICTURE_OPTIONS, check_picture, on_trial, TRIAL_OPTIONS, check_trial = close("14")


# --- the checks' own proof -------------------------------------------------------------------------------
def EXAMPLES():
    """Right, wrong and unfilled answers of every check."""
    js = np.ones((4, 3, 2)) * np.array([0.1, 0.5, 0.3])[:, None]
    distances = np.array(
        [[0.5, 0.1, 0.9, 0.9], [0.2, 0.6, 0.9, 0.9], [0.9, 0.9, 0.1, 0.2], [0.9, 0.9, 0.2, 0.1]]
    )

    def js_right(p, q):
        m = (p + q) / 2
        return float(((p * np.log(p / m)).sum() + (q * np.log(q / m)).sum()) / 2)

    def cropped(a, b, n):
        return _cosine(a[:n, :n], b[:n, :n])

    def floor(before, after, head):
        return np.mean([_cosine(before[o], after[head]) for o in range(len(before)) if o != head])

    def points_at(weights):
        weights = weights - 2 * np.eye(len(weights))
        return weights.argmax(axis=1)

    def f1(choices, cue, scope):
        pointing = {i for i in range(len(choices)) if choices[i] == cue and i != cue}
        return 2 * len(pointing & set(scope)) / (len(pointing) + len(scope))

    return {
        "check_cosine": (_cosine, lambda a, b: (a * b).sum(), ...),
        "check_cropped": (cropped, lambda a, b, n: _cosine(a, b), ...),
        "check_floor": (floor, lambda b, a, h: _cosine(b[h], a[h]), ...),
        "check_js": (js_right, lambda p, q: float((p * np.log(p / q)).sum()), ...),
        "check_changed_layer": (args(2, js), args(1, js), args(..., js)),
        "check_moved": (args(["1-1", "1-2"], distances, 2), args([], distances, 2), args(..., distances, 2)),
        "check_points_at": (points_at, lambda w: w.argmax(axis=1), ...),
        "check_f1": (f1, lambda c, cue, scope: sum(c[i] == cue for i in scope) / len(scope), ...),
        "check_why_twin": (TWIN_OPTIONS[1], TWIN_OPTIONS[0], ...),
        "check_p": (lambda a, b: exact_sign_flip(a - b), lambda a, b: float((a > b).mean()), ...),
        **closing_examples("14"),
    }


sheet = keep_sheet(globals())  # what the checks above have said, as the last cell shows it
