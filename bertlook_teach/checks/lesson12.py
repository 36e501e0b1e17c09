"""Checks of lesson 12: scores of words, AUC, a prior to beat, and a list that ranks the wrong thing."""

from __future__ import annotations

import numpy as np

from ..stats import auc
from .answers import check_choice, check_function, check_number
from .cases import close, closing_examples, f1
from .feedback import args
from .sheet import keep_sheet


# --- 1: the column mean ----------------------------------------------------------------------------------
def _received(weights):
    weights = np.array(weights, float)
    np.fill_diagonal(weights, 0)
    return weights.sum(axis=0) / (len(weights) - 1)


def _maps():
    rng = np.random.default_rng(12)
    return [rng.dirichlet(np.ones(n), size=n) for n in (3, 4, 6)]


def check_received(function):
    """``received(weights)``: mean of each column over the rows of the other words."""

    def along_rows(w):
        return _received(np.asarray(w).T)

    return check_function(
        function,
        [((weights,), _received(weights)) for weights in _maps()],
        axes=("word",),
        mistakes=[
            (along_rows, "these are sums along rows: what each word *gives*. A word's score is its column"),
            (lambda w: np.mean(w, axis=0), "the diagonal is still in: a word does not count for itself"),
            (lambda w: _received(w) * (len(w) - 1) / len(w), "divide by the number of *other* words"),
            (lambda w: _received(w) * (len(w) - 1), "that is the sum; divide by the number of other words"),
        ],
        learnt="A row says where a word looks, a column who looks at it.",
    )


# --- 2: wordpieces to words ------------------------------------------------------------------------------
def _of_words(pieces, word_ids):
    return np.bincount(np.asarray(word_ids), np.asarray(pieces, float))


def check_of_words(function):
    """``of_words(pieces, word_ids)``: what a word receives is the sum of what its pieces receive."""
    cases = [
        ((np.array(pieces), np.array(ids)), _of_words(pieces, ids))
        for pieces, ids in (
            ([0.1, 0.2, 0.3, 0.4], [0, 1, 1, 2]),
            ([0.5, 0.1, 0.1, 0.1], [0, 1, 1, 1]),
            ([0.2, 0.3, 0.1], [0, 0, 1]),
        )
    ]

    def largest(p, w):
        return np.array([np.max(p[w == i]) for i in range(w.max() + 1)])

    return check_function(
        function,
        cases,
        axes=("word",),
        mistakes=[
            (
                lambda p, w: _of_words(p, w) / np.bincount(w),
                "that is the mean of the pieces; what a word receives is added up",
            ),
            (largest, "that is the largest piece; what a word receives is added up"),
            (
                lambda p, w: np.array([p[w == i][0] for i in range(w.max() + 1)]),
                "that is the first piece alone",
            ),
        ],
        learnt="So a word of three pieces has three times as much from a head that looks at all tokens equally. Remember it at exercise 4.",
    )


# --- 3: AUC ----------------------------------------------------------------------------------------------
def check_auc(function):
    """``auc(scores, is_key)``: share of pairs in which the key word is higher; ties count half."""
    cases = [
        ((np.array(scores, float), np.array(key, bool)), float(auc(scores, np.array(key, bool))))
        for scores, key in (
            ([3, 1, 2, 0], [1, 1, 0, 0]),
            ([1, 1, 1, 0, 2], [1, 0, 0, 1, 0]),
            ([5, 4, 4, 2, 2, 1], [0, 1, 0, 1, 0, 0]),
        )
    ]

    def strict(s, k):
        return float((s[k][:, None] > s[~k]).mean())

    return check_function(
        function,
        cases,
        mistakes=[
            (
                strict,
                "a tie counts half, not nothing: else a score that says the same of every word has AUC 0",
            ),
            (lambda s, k: float((s[k][:, None] >= s[~k]).mean()), "a tie counts half, not whole"),
            (
                lambda s, k: 1 - float(auc(s, k)),
                "the wrong way round: count the pairs in which the *key* word is higher",
            ),
            (
                lambda s, k: float(s[k].mean() - s[~k].mean()),
                "that is the mean relative attention; AUC counts pairs",
            ),
            (
                lambda s, k: float(((s > s.mean()) == k).mean()),
                "that is an accuracy at one cut-off; AUC needs none",
            ),
        ],
        learnt="A share of pairs: no scale, no cut-off, .5 by chance.",
    )


# --- 4: the line to beat ---------------------------------------------------------------------------------
LINE_OPTIONS = (
    "0.5: that is chance",
    "what a random twin reaches with the same recipe",
    "1.0: anything less is an error",
)


def check_line(answer):
    """What a head's AUC must be held against."""
    return check_choice(
        answer,
        LINE_OPTIONS[1],
        options=LINE_OPTIONS,
        mistakes=[
            (
                LINE_OPTIONS[0],
                "the twin has learnt nothing and stands above it: summed pieces alone give that much",
            ),
            (LINE_OPTIONS[2], "two people who mark key words do not agree that well"),
        ],
        learnt="Chance is what the *recipe* gives without learning: the tokenizer's rare words are split, and splitting adds up.",
    )


# --- 5: the prior ----------------------------------------------------------------------------------------
def _prior(share):
    return float(-share * np.log(share) - (1 - share) * np.log(1 - share))


def check_prior(function):
    """``prior(share)``: nats a word of who always says the share of key words."""
    return check_function(
        function,
        [((share,), _prior(share)) for share in (0.5, 0.1, 0.03)],
        mistakes=[
            (lambda p: _prior(p) / np.log(2), "that is in bits; take the natural logarithm"),
            (
                lambda p: float(-p * np.log(p)),
                "that is the part of the key words; the others cost something, too",
            ),
            (lambda p: float(-np.log(p)), "that is what one *key* word costs; take the mean over all words"),
            (lambda p: -_prior(p), "the sign is turned: a loss is not negative"),
        ],
        learnt="With few key words the prior is already good. A head must save nats against *it*, a word, not against ln 2.",
    )


# --- 6: class weights ------------------------------------------------------------------------------------
def check_put_back(answer, log_odds, share):
    """From the log-odds of a class-weighted fit to those of the text."""
    right = log_odds + np.log(share / (1 - share))
    return check_number(
        answer,
        float(right),
        tolerance=0.01,
        mistakes=[
            (
                float(log_odds - np.log(share / (1 - share))),
                "the wrong way: key words are *rarer* than in the weighted fit",
            ),
            (float(log_odds), "this still belongs to a world in which every second word is key"),
            (float(log_odds + np.log(share)), "odds are share / (1 - share)"),
            (float(1 / (1 + np.exp(-right))), "that is the probability; the log-odds were asked"),
        ],
        learnt="A weighted fit answers for a balanced world. Put the share back, or its cross-entropy loses against the prior.",
    )


# --- 7: F1 at a cut-off ----------------------------------------------------------------------------------
def check_f1(function):
    """``f1(scores, is_key, cutoff)`` of the words above the cut-off."""
    rng = np.random.default_rng(7)
    cases = []
    for n, cutoff in ((12, 0.6), (20, 0.4), (30, 0.7)):
        is_key = rng.random(n) < 0.3
        is_key[:2] = True, False
        scores = rng.random(n) * 0.6 + 0.4 * is_key
        scores[0] = 0.95
        cases.append(((scores, is_key, cutoff), f1(is_key, scores > cutoff)))

    def parts(s, k, c):
        called = s > c
        return (called & k).sum(), called.sum(), k.sum()

    return check_function(
        function,
        cases,
        mistakes=[
            (lambda s, k, c: float(parts(s, k, c)[0] / parts(s, k, c)[1]), "that is precision"),
            (lambda s, k, c: float(parts(s, k, c)[0] / parts(s, k, c)[2]), "that is recall"),
            (
                lambda s, k, c: float(((s > c) == k).mean()),
                "that is accuracy: it pays for all the words that are not key",
            ),
            (lambda s, k, c: f1(k, s < c), "these are the words *below* the cut-off"),
        ],
        learnt="F1 needs a cut-off, and the cut-off is a choice: make it on the texts you fitted on.",
    )


# --- 8: the slides' score --------------------------------------------------------------------------------
def _sum(t):
    t = np.asarray(t, float)
    used = t[t > 0]
    return float(-(used * np.log(used)).sum())


def check_sum(function):
    """``score(t)``: minus the sum of t ln t over the words' maxima, 0 ln 0 = 0."""
    cases = [((np.array(t),), _sum(t)) for t in ([0.5, 0.25, 0.125], [1.0, 0.0, 0.4], [0.9, 0.9, 0.01, 0.2])]
    return check_function(
        function,
        cases,
        mistakes=[
            (
                lambda t: _sum(t / t.sum()),
                "you made the maxima sum to 1; the sum on the slides is of the numbers as they are",
            ),
            (lambda t: -_sum(t), "the sign is turned"),
            (lambda t: _sum(t) / len(t), "that is the mean over words; the sum was asked"),
            (lambda t: _sum(t) / np.log(2), "that is in bits; take the natural logarithm"),
        ],
        learnt="0 for a maximum of 0, 0 for a maximum of 1, most at 1/e. It was never an entropy: nothing sums to 1.",
    )


# --- 9: what it ranks ------------------------------------------------------------------------------------
TRAP_OPTIONS = (
    "the heads that tell key words best",
    "heads whose maximum is near 0 or near 1 for every word",
    "the heads with the most attention on key words",
)


def check_trap(answer):
    """Which heads have the lowest score."""
    return check_choice(
        answer,
        TRAP_OPTIONS[1],
        options=TRAP_OPTIONS,
        mistakes=[
            (TRAP_OPTIONS[0], "nothing in the formula knows which words are key"),
            (
                TRAP_OPTIONS[2],
                "nothing in the formula knows which words are key; it sums over all of them alike",
            ),
        ],
        learnt="Saturated heads: the next-token heads (near 1) and those that rest on [SEP] (near 0). Low because nothing varies.",
    )


# --- the last two: a picture, and a claim on trial ---------------------------------------------------------
PICTURE_OPTIONS, check_picture, on_trial, TRIAL_OPTIONS, check_trial = close("12")


# --- the checks' own proof -------------------------------------------------------------------------------
def EXAMPLES():
    """Right, wrong and unfilled answers of every check."""
    return {
        "check_received": (_received, lambda w: _received(np.asarray(w).T), ...),
        "check_of_words": (_of_words, lambda p, w: _of_words(p, w) / np.bincount(w), ...),
        "check_auc": (
            lambda s, k: np.mean([(a > b) + (a == b) / 2 for a in s[k] for b in s[~k]]),
            lambda s, k: 1 - float(auc(s, k)),
            ...,
        ),
        "check_line": (LINE_OPTIONS[1], LINE_OPTIONS[0], ...),
        "check_prior": (_prior, lambda p: _prior(p) / np.log(2), ...),
        "check_put_back": (
            args(1.0 + np.log(0.1 / 0.9), 1.0, 0.1),
            args(1.0, 1.0, 0.1),
            args(..., 1.0, 0.1),
        ),
        "check_f1": (
            lambda s, k, c: 2 * ((s > c) & k).sum() / ((s > c).sum() + k.sum()),
            lambda s, k, c: float(((s > c) == k).mean()),
            ...,
        ),
        "check_sum": (_sum, lambda t: -_sum(t), ...),
        "check_trap": (TRAP_OPTIONS[1], TRAP_OPTIONS[0], ...),
        **closing_examples("12"),
    }


sheet = keep_sheet(globals())  # what the checks above have said, as the last cell shows it
