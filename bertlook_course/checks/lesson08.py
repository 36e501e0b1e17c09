"""Checks of lesson 8: what all heads know together, and the controls of a probe."""

from __future__ import annotations

import numpy as np

from .answers import ChoiceCheck, FunctionCheck, NumberCheck
from .cases import close, of_run
from .sheet import keep_sheet


# --- 1: the probe's answer -------------------------------------------------------------------------------
def _scored(n, heads, seed):
    rng = np.random.default_rng(seed)
    return rng.random((n, n, 2 * heads)), rng.normal(size=2 * heads)


check_probe_answers = FunctionCheck(
    lambda between, weights: (between @ weights).argmax(axis=1),
    asks="``probe_answers(between, weights)``: for each dependent the candidate with the largest weighted sum.",
    cases=[_scored(n, 3, n) for n in (4, 5, 7)],
    wrong=[
        "the first axis is the dependent, the second the candidate; the largest is wanted along the candidates",
        lambda b, w: (b @ w).argmax(axis=0),
        "all heads count equally here; each feature needs its own weight",
        lambda b, w: b.sum(axis=-1).argmax(axis=1),
        "weights may be negative: a head that looks away from governors helps too",
        lambda b, w: (b @ np.abs(w)).argmax(axis=1),
        "that is the least likely candidate",
        lambda b, w: (b @ w).argmin(axis=1),
    ],
    learnt="One weight per head and direction, a weighted sum, and the largest wins. The probe has no other freedom.",
)


# --- 2: how many weights ---------------------------------------------------------------------------------
@of_run(lambda: (12, 16))
def check_weights(layers=12, heads=12):
    """How many weights the attention-only probe has between words for BERT-base."""
    n = layers * heads
    return NumberCheck(
        2 * n,
        tolerance=0.5,
        wrong=[
            "that is one weight per head; the probe reads each head in both directions",
            n,
            "that is one layer; all layers are read together",
            2 * heads,
            "that is one head per layer; all heads are read together",
            2 * layers,
        ],
        learnt="288 numbers for a whole grammar. That is why this probe cannot learn much syntax by itself, and why its score says something about attention.",
    )


# --- 3: the simplest rival -------------------------------------------------------------------------------
check_right_branching = FunctionCheck(
    lambda n: list(range(1, n + 1)),
    asks="``right_branching(n)``: the next word as governor, ROOT (index n) for the last.",
    cases=[1, 3, 6],
    wrong=[
        "each word would govern itself; the *next* word was asked for",
        lambda n: list(range(n)),
        "that is the previous word",
        lambda n: list(range(-1, n - 1)),
        "the last word's governor is ROOT, and ROOT is the last candidate: index n",
        lambda n: [*range(1, n), -1],
        "the last word would govern itself; ROOT is the last candidate: index n",
        lambda n: [*range(1, n), n - 1],
    ],
    learnt="It reads nothing, and a probe that does not beat it has found nothing.",
)


# --- 4: the score ----------------------------------------------------------------------------------------
def _parsed(n, rng):
    """Governors that are mostly right, and words of which the first counts and is right, the second neither."""
    gold = rng.integers(0, n + 1, n)
    predicted = np.where(rng.random(n) < 0.6, gold, (gold + 1) % (n + 1))
    counted = rng.random(n) < 0.7
    counted[:2] = True, False
    predicted[0], predicted[1] = gold[0], gold[1] + 1
    return predicted, gold, counted


_RNG = np.random.default_rng(4)

check_uas = FunctionCheck(
    lambda predicted, gold, counted: (predicted == gold)[counted].mean(),
    asks="``uas(predicted, gold, counted)``: share of right governors among the words that count.",
    cases=[_parsed(n, _RNG) for n in (6, 9, 12)],
    wrong=[
        "punctuation counts here too; the published UAS leaves it out: only words whose `counted` is True",
        lambda p, g, c: (p == g).mean(),
        "the right words are those that count, but you divide by all words",
        lambda p, g, c: ((p == g) & c).mean(),
        "that is the score of the punctuation alone",
        lambda p, g, c: (p == g)[~c].mean(),
        "that is the share of *wrong* governors",
        lambda p, g, c: (p != g)[c].mean(),
    ],
    learnt="Two papers with the same probe but different rules for punctuation print different numbers. Say which rule.",
)

# --- 5: a made-up grammar, and selectivity ---------------------------------------------------------------
RULES = {"the": "last", "cat": "self", "sat": "first", "on": "first", "mat": "self"}


def _made_up(words, rules):
    places = {"first": lambda i: 0, "last": lambda i: len(words) - 1, "self": lambda i: i}
    return [places[rules[word]](i) for i, word in enumerate(words)]


def _ends_exchanged(words, rules):
    other = {"first": "last", "last": "first", "self": "self"}
    return _made_up(words, {word: other[rule] for word, rule in rules.items()})


def _root_for_last(words, rules):
    return [len(words) if rules[word] == "last" else g for g, word in zip(_made_up(words, rules), words)]


check_made_up = FunctionCheck(
    _made_up,
    asks="``made_up(words, rules)``: governors of a grammar in which each word form has one rule, always.",
    cases=[(text.split(), RULES) for text in ("the cat sat on the mat", "cat the", "sat on the mat the")],
    wrong={
        "first and last have changed places: the first word has index 0": _ends_exchanged,
        "positions count from 0 here": lambda w, r: [g + 1 for g in _made_up(w, r)],
        "that index is ROOT; the last *word* has the index before it": _root_for_last,
    },
    learnt="Nothing in BERT was trained for this grammar. What a probe scores here it has learnt itself: from the words if it sees them, otherwise from their positions.",
)


@of_run(lambda: (0.5, 0.3))
def check_selectivity(real, made_up):
    """UAS on the treebank minus UAS on the made-up grammar."""
    return NumberCheck(
        real - made_up,
        tolerance=1e-4,
        wrong={
            "the sign is reversed: the treebank minus the made-up grammar": made_up - real,
            "that is a ratio; selectivity is a difference": real / made_up,
            "that is the score on the treebank; subtract what the same probe learns of a grammar that nobody speaks": real,
        },
        learnt="A high score means little if the same probe scores as high on nonsense. The difference says how much more it finds where BERT may have something to give.",
    )


# --- 6: the released bug ---------------------------------------------------------------------------------
check_shifted = FunctionCheck(
    lambda vectors: np.concatenate([vectors[1:], np.zeros_like(vectors[:1])]),
    asks="``shifted(vectors)``: each candidate gets the vector of the word after it, the last one zeros.",
    cases=[np.random.default_rng(n).normal(size=(n, 3)) for n in (2, 4, 5)],
    axes=("word", "dim"),
    wrong={
        "that is the word *before* it": lambda v: np.concatenate([np.zeros_like(v[:1]), v[:-1]]),
        "the last candidate gets zeros, not the first word's vector": lambda v: np.roll(v, -1, axis=0),
        "nothing has moved": lambda v: v,
    },
    learnt="One row in the wrong place, no error, and still a good score: presumably the printed number was made with it.",
)


# --- 7: distance alone -----------------------------------------------------------------------------------
def _right_guesses(distances, linked, count=np.sum):
    """For each distance how many pairs the better guess gets right, or with ``count=np.mean`` which share."""
    return [max(count(linked[distances == d]), count(~linked[distances == d])) for d in np.unique(distances)]


def _distance_accuracy(distances, linked):
    return sum(_right_guesses(distances, linked)) / len(linked)


def _drawn_pairs(seed):
    rng = np.random.default_rng(seed)
    distances = rng.choice([-4, -2, -1, 1, 2, 5], 60)
    share_linked = {1: 0.8, -1: 0.3, -2: 0.6}
    return distances, rng.random(60) < [share_linked.get(d, 0.2) for d in distances.tolist()]


check_distance_accuracy = FunctionCheck(
    _distance_accuracy,
    asks="``distance_accuracy(distances, linked)``: accuracy of the best guess from the signed distance alone.",
    cases=[_drawn_pairs(seed) for seed in (1, 2, 3)],
    wrong=[
        "neighbours are mostly linked on one side only; let the data decide for each distance",
        lambda d, linked: ((np.abs(d) == 1) == linked).mean(),
        "the sign is lost: in English the next word and the previous one are not equally likely to be linked",
        lambda d, linked: _distance_accuracy(np.abs(d), linked),
        "that is one guess for all pairs; guess for each distance separately",
        lambda d, linked: max(linked.mean(), 1 - linked.mean()),
        "each distance counts equally here; each pair should",
        lambda d, linked: np.mean(_right_guesses(d, linked, count=np.mean)),
    ],
    learnt="No model was asked. A probe's 85.8 % has to be read beside this number, not beside 50.",
)

# --- 8: what may be compared -----------------------------------------------------------------------------
check_comparable = ChoiceCheck.among(
    {
        "77: attention and words": None,
        "80: the structural probe": "its links have no direction (UUAS), and it reads the vectors of one layer",
        "85.8: pairs of words": "half of those pairs are linked, so a coin gets 50; to find a governor one has to choose among all words",
    },
    asks="Which printed number may stand beside the attention-only probe's 61.",
    learnt="Two numbers can be compared only if task, score and sentences are the same.",
)
COMPARE_OPTIONS = check_comparable.options


# --- the last two: a picture, and a claim on trial ---------------------------------------------------------
PICTURE_OPTIONS, check_picture, on_trial, TRIAL_OPTIONS, check_trial = close("08")

sheet = keep_sheet(globals())  # what the checks above have said, as the last cell shows it
