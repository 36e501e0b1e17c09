"""Checks of lesson 8: what all heads know together, and the controls of a probe."""

from __future__ import annotations

import numpy as np

from .answers import check_choice, check_function, check_number
from .cases import close, closing_examples
from .feedback import args
from .sheet import keep_sheet


# --- 1: the probe's answer -------------------------------------------------------------------------------
def _scored(n, heads, seed):
    rng = np.random.default_rng(seed)
    return rng.random((n, n, 2 * heads)), rng.normal(size=2 * heads)


def _answers(between, weights):
    return (np.asarray(between) @ np.asarray(weights)).argmax(axis=1).tolist()


def check_probe_answers(function):
    """``probe_answers(between, weights)``: for each dependent the candidate with the largest weighted sum."""
    cases = [
        ((between, weights), _answers(between, weights))
        for between, weights in (_scored(n, 3, n) for n in (4, 5, 7))
    ]
    return check_function(
        function,
        cases,
        mistakes=[
            (
                lambda b, w: (b @ w).argmax(axis=0).tolist(),
                "the first axis is the dependent, the second the candidate; the largest is wanted along the candidates",
            ),
            (
                lambda b, w: b.sum(axis=-1).argmax(axis=1).tolist(),
                "the heads count alike here; each feature has its own weight",
            ),
            (
                lambda b, w: (b @ np.abs(w)).argmax(axis=1).tolist(),
                "weights may be negative: a head that looks away from governors helps too",
            ),
            (lambda b, w: (b @ w).argmin(axis=1).tolist(), "that is the least likely candidate"),
        ],
        learnt="One number a head and direction, a weighted sum, the largest wins. The probe has no other freedom.",
    )


# --- 2: how many weights ---------------------------------------------------------------------------------
def check_weights(answer, layers=12, heads=12):
    """How many weights the attention-only probe has between words for BERT-base."""
    n = layers * heads
    return check_number(
        answer,
        2 * n,
        tolerance=0.5,
        mistakes=[
            (n, "that is one weight a head; the probe reads each head in both directions"),
            (2 * heads, "that is one layer; all layers are read together"),
            (2 * layers, "that is one head a layer; all heads are read together"),
        ],
        learnt="288 numbers for a whole grammar. That is why this probe cannot learn much syntax by itself, and why its score says something about attention.",
    )


# --- 3: the simplest rival -------------------------------------------------------------------------------
def check_right_branching(function):
    """``right_branching(n)``: the next word as governor, ROOT (index n) for the last."""
    return check_function(
        function,
        [((n,), list(range(1, n + 1))) for n in (1, 3, 6)],
        mistakes=[
            (lambda n: list(range(n)), "each word would govern itself; the *next* word was asked for"),
            (lambda n: list(range(-1, n - 1)), "that is the previous word"),
            (
                lambda n: [*range(1, n), -1],
                "the last word's governor is ROOT, and ROOT is the last candidate: index n",
            ),
            (
                lambda n: [*range(1, n), n - 1],
                "the last word would govern itself; ROOT is the last candidate: index n",
            ),
        ],
        learnt="It reads nothing, and a probe that does not beat it has found nothing.",
    )


# --- 4: the score ----------------------------------------------------------------------------------------
def _uas(predicted, gold, counted):
    predicted, gold, counted = np.asarray(predicted), np.asarray(gold), np.asarray(counted, bool)
    return float((predicted == gold)[counted].mean())


def check_uas(function):
    """``uas(predicted, gold, counted)``: share of right governors among the words that count."""
    rng = np.random.default_rng(4)
    cases = []
    for n in (6, 9, 12):
        gold = rng.integers(0, n + 1, n)
        predicted = np.where(rng.random(n) < 0.6, gold, (gold + 1) % (n + 1))
        counted = rng.random(n) < 0.7
        counted[:2] = True, False
        predicted[0], predicted[1] = gold[0], gold[1] + 1
        cases.append(((predicted, gold, counted), _uas(predicted, gold, counted)))
    return check_function(
        function,
        cases,
        mistakes=[
            (
                lambda p, g, c: float((p == g).mean()),
                "punctuation counts here too; the published UAS leaves it out: only words whose `counted` is True",
            ),
            (
                lambda p, g, c: float(((p == g) & c).mean()),
                "the right words are those that count, but you divide by all words",
            ),
            (lambda p, g, c: float((p == g)[~c].mean()), "that is the score of the punctuation alone"),
            (lambda p, g, c: float((p != g)[c].mean()), "that is the share of *wrong* governors"),
        ],
        learnt="Two papers with the same probe and another rule for punctuation print other numbers. Say which.",
    )


# --- 5: a made-up grammar --------------------------------------------------------------------------------
RULES = {"the": "last", "cat": "self", "sat": "first", "on": "first", "mat": "self"}


def _made_up(words, rules):
    n = len(words)
    places = {"first": lambda i: 0, "last": lambda i: n - 1, "self": lambda i: i}
    return [places[rules[word]](i) for i, word in enumerate(words)]


def check_made_up(function):
    """``made_up(words, rules)``: governors of a grammar in which each word form has one rule, always."""
    cases = [
        ((words.split(), RULES), _made_up(words.split(), RULES))
        for words in ("the cat sat on the mat", "cat the", "sat on the mat the")
    ]

    def swapped(words, rules):
        other = {"first": "last", "last": "first", "self": "self"}
        return _made_up(words, {word: other[rule] for word, rule in rules.items()})

    return check_function(
        function,
        cases,
        mistakes=[
            (swapped, "first and last have changed places: the first word has index 0"),
            (lambda w, r: [g + 1 for g in _made_up(w, r)], "positions count from 0 here"),
            (
                lambda w, r: [len(w) if r[x] == "last" else g for g, x in zip(_made_up(w, r), w)],
                "that index is ROOT; the last *word* has the index before it",
            ),
        ],
        learnt="Nothing in BERT was trained for this grammar. What a probe scores here it has learnt itself, from the words.",
    )


# --- 6: the released bug ---------------------------------------------------------------------------------
def _shifted(vectors):
    vectors = np.asarray(vectors)
    return np.concatenate([vectors[1:], np.zeros_like(vectors[:1])])


def check_shifted(function):
    """``shifted(vectors)``: each candidate gets the vector of the word after it, the last one zeros."""
    vectors = [np.random.default_rng(n).normal(size=(n, 3)) for n in (2, 4, 5)]
    return check_function(
        function,
        [((v,), _shifted(v)) for v in vectors],
        axes=("word", "dim"),
        mistakes=[
            (lambda v: np.concatenate([np.zeros_like(v[:1]), v[:-1]]), "that is the word *before* it"),
            (lambda v: np.roll(v, -1, axis=0), "the last candidate gets zeros, not the first word's vector"),
            (lambda v: np.asarray(v), "nothing has moved"),
        ],
        learnt="One row in the wrong place, no error, and still a good score: the printed number was made with it.",
    )


# --- 7: distance alone -----------------------------------------------------------------------------------
def _distance_accuracy(distances, linked):
    distances, linked = np.asarray(distances), np.asarray(linked, bool)
    right = sum(
        max(linked[distances == d].sum(), (~linked[distances == d]).sum()) for d in np.unique(distances)
    )
    return float(right / len(linked))


def check_distance_accuracy(function):
    """``distance_accuracy(distances, linked)``: accuracy of the best guess from the signed distance alone."""
    cases = []
    for seed in (1, 2, 3):
        rng = np.random.default_rng(seed)
        distances = rng.choice([-4, -2, -1, 1, 2, 5], 60)
        linked = rng.random(60) < np.where(
            distances == 1, 0.8, np.where(distances == -1, 0.3, np.where(distances == -2, 0.6, 0.2))
        )
        cases.append(((distances, linked), _distance_accuracy(distances, linked)))

    def near(distances, linked):
        return float(((np.abs(distances) == 1) == linked).mean())

    def unsigned(distances, linked):
        return _distance_accuracy(np.abs(distances), linked)

    def majority(distances, linked):
        return float(max(linked.mean(), 1 - linked.mean()))

    def per_distance(distances, linked):
        return float(
            np.mean(
                [
                    max(linked[distances == d].mean(), 1 - linked[distances == d].mean())
                    for d in np.unique(distances)
                ]
            )
        )

    return check_function(
        function,
        cases,
        mistakes=[
            (
                near,
                "neighbours are linked more often than not only on one side; let the data decide for each distance",
            ),
            (unsigned, "the sign is lost: in English the next word and the previous one are not alike"),
            (majority, "one guess for all pairs; guess for each distance separately"),
            (per_distance, "each distance counts alike here; a pair should"),
        ],
        learnt="No model was asked. A probe's 85.8 % has to be read beside this number, not beside 50.",
    )


# --- 8: what may be compared -----------------------------------------------------------------------------
COMPARE_OPTIONS = (
    "77: attention and words",
    "80: the structural probe",
    "85.8: pairs of words",
)


def check_comparable(answer):
    """Which printed number may stand beside the attention-only probe's 61."""
    return check_choice(
        answer,
        COMPARE_OPTIONS[0],
        options=COMPARE_OPTIONS,
        mistakes=[
            (COMPARE_OPTIONS[1], "its links have no direction (UUAS), and it reads the vectors of one layer"),
            (
                COMPARE_OPTIONS[2],
                "half of those pairs are linked, so a coin gets 50; to find a governor one has to choose among all words",
            ),
        ],
        learnt="The same task, the same score, the same sentences: only then is one number higher than another.",
    )


# --- 9: selectivity --------------------------------------------------------------------------------------
def check_selectivity(answer, real, made_up):
    """UAS on the treebank minus UAS on the made-up grammar."""
    return check_number(
        answer,
        real - made_up,
        tolerance=1e-4,
        mistakes=[
            (made_up - real, "the sign is turned: what is real minus what can be learnt anyway"),
            (real / made_up, "that is a ratio; selectivity is a difference"),
            (
                real,
                "that is the score on the treebank; subtract what the same probe learns of a grammar that nobody speaks",
            ),
        ],
        learnt="A high score means little if the same probe scores as high on nonsense. The difference says how much more it finds where BERT may have something to give.",
    )


# --- the last two: a picture, and a claim on trial ---------------------------------------------------------
PICTURE_OPTIONS, check_picture, on_trial, TRIAL_OPTIONS, check_trial = close("08")


# --- the checks' own proof -------------------------------------------------------------------------------
def EXAMPLES():
    """Right, wrong and unfilled answers of every check."""
    return {
        "check_probe_answers": (_answers, lambda b, w: (b @ w).argmax(axis=0).tolist(), ...),
        "check_weights": (args(288), args(144), args(...)),
        "check_right_branching": (lambda n: list(range(1, n + 1)), lambda n: list(range(n)), ...),
        "check_uas": (_uas, lambda p, g, c: float((p == g).mean()), ...),
        "check_made_up": (_made_up, lambda w, r: [0] * len(w), ...),
        "check_shifted": (_shifted, lambda v: np.roll(v, -1, axis=0), ...),
        "check_distance_accuracy": (_distance_accuracy, lambda d, y: float(max(y.mean(), 1 - y.mean())), ...),
        "check_comparable": (COMPARE_OPTIONS[0], COMPARE_OPTIONS[2], ...),
        "check_selectivity": (
            args(0.2, 0.5, 0.3),
            args(-0.2, 0.5, 0.3),
            args(..., 0.5, 0.3),
        ),
        **closing_examples("08"),
    }


sheet = keep_sheet(globals())  # what the checks above have said, as the last cell shows it
