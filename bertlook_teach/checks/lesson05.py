"""Checks of lesson 5: five kinds of attention map."""

from __future__ import annotations

import numpy as np

from ..measures import CLASSES, published_fractions
from ..stats import cohen_kappa
from .answers import check_choice, check_function, check_list, check_number, check_set
from .cases import close, closing_examples
from .feedback import args
from .sheet import keep_sheet


def _map(n, seed=0):
    """Weights of one head for a case: rows sum to 1, no two entries alike."""
    return np.random.default_rng(seed).dirichlet(np.ones(n), size=n)


# --- 1 ---------------------------------------------------------------------------------------------------
def _vertical(weights):
    return float(np.sort(weights.mean(axis=0))[-2:].sum() - 2 / len(weights))


def check_vertical(function):
    """``vertical(weights)``: the two largest column means minus 2/n, for one map."""
    stripes = np.zeros((6, 6))
    stripes[:, [0, 4]] = 0.5
    cases = [_map(5), _map(7, seed=1), stripes]
    return check_function(
        function,
        [((weights,), _vertical(weights)) for weights in cases],
        mistakes=[
            (
                lambda w: float(np.sort(w.mean(axis=1))[-2:].sum() - 2 / len(w)),
                "that is about rows: each sums to 1, so their means are all 1/n. A column is one key: average over the queries, axis 0",
            ),
            (
                lambda w: float(np.sort(w.mean(axis=0))[-2:].sum()),
                "the two columns are right; uniform attention gives two columns 2/n already, so take that off",
            ),
            (
                lambda w: float(w.mean(axis=0).max() - 1 / len(w)),
                "that is the largest column alone; [CLS] and [SEP] may share the attention, so take two",
            ),
            (
                lambda w: float(np.sort(w.mean(axis=0))[:2].sum() - 2 / len(w)),
                "those are the two smallest: `np.sort` puts the largest last",
            ),
            (
                lambda w: float(np.sort(w.sum(axis=0))[-2:].sum() - 2 / len(w)),
                "those are column sums; with the mean over queries the score stays between 0 and 1",
            ),
        ],
        learnt="Columns are keys. Uniform attention scores 0, two full columns 1 - 2/n, which is never quite 1.",
    )


# --- 2 ---------------------------------------------------------------------------------------------------
def _diagonal(weights):
    return float(max(np.diagonal(weights, -1).mean(), np.diagonal(weights, 1).mean()))


def check_diagonal(function):
    """``diagonal(weights)``: the larger mean of the two diagonals beside the main one."""
    back = 0.9 * np.eye(5, k=-1) + 0.02
    ahead = 0.9 * np.eye(6, k=1) + 0.02
    cases = [_map(5), _map(7, seed=1), back, ahead, np.eye(4)]
    return check_function(
        function,
        [((weights,), _diagonal(weights)) for weights in cases],
        mistakes=[
            (
                lambda w: float(max(np.diagonal(w, k).mean() for k in (-1, 0, 1))),
                "the main diagonal is the token itself, and does not count: previous and next only",
            ),
            (
                lambda w: float(np.diagonal(w).mean()),
                "that is the main diagonal, the token itself; its neighbours are at offset -1 and +1",
            ),
            (
                lambda w: float(np.diagonal(w, -1).mean()),
                "that is the previous token; a head that looks ahead is diagonal too, so take the larger of both",
            ),
            (
                lambda w: float(np.diagonal(w, 1).mean()),
                "that is the next token; a head that looks back is diagonal too, so take the larger of both",
            ),
            (
                lambda w: float(np.diagonal(w, -1).mean() + np.diagonal(w, 1).mean()),
                "those are both added up; a head with one neighbour half the time would pass twice. Take the larger",
            ),
            (
                lambda w: float(max(np.diagonal(w, k).sum() for k in (-1, 1)) / len(w)),
                "divide by the length of the diagonal, n - 1 (`.mean()` does), so that a perfect head scores 1",
            ),
        ],
        learnt="A head that always looks at one neighbour scores 1; one that looks at itself scores 0.",
    )


# --- 3 ---------------------------------------------------------------------------------------------------
def _block(weights, segments):
    own = np.equal.outer(np.asarray(segments), np.asarray(segments))
    return float((weights * own).sum(axis=1).mean() - own.mean())


def check_block(function):
    """``block(weights, segments)``: mean share that stays in the own segment, minus its chance value."""
    cases = [
        (_map(5), np.array([0, 0, 0, 1, 1])),
        (_map(7, 1), np.array([0, 0, 0, 0, 0, 1, 1])),
        (_map(4, 2), np.zeros(4, dtype=int)),
    ]

    def kept(w, s):
        return float((w * np.equal.outer(s, s)).sum(axis=1).mean())

    return check_function(
        function,
        [(case, _block(*case)) for case in cases],
        mistakes=[
            (
                kept,
                "that is what stays inside its own text; uniform attention keeps something there too, so take that off",
            ),
            (
                lambda w, s: kept(w, s) - 0.5,
                "chance is one half only for two segments of equal length: count the cells inside its own text",
            ),
            (
                lambda w, s: float(w[s == 0][:, s == 0].sum() / len(w) - ((s == 0).mean()) ** 2),
                "that is the first segment only; the second keeps to itself as well",
            ),
            (
                lambda w, s: float((w * np.equal.outer(s, s)).mean() - np.equal.outer(s, s).mean()),
                "the mean over all cells is n times too small: add up over the keys, then average over the queries",
            ),
            (
                lambda w, s: float(
                    (w * ~np.equal.outer(s, s)).sum(axis=1).mean() - (~np.equal.outer(s, s)).mean()
                ),
                "that is what leaves the segment; what stays was asked for",
            ),
        ],
        learnt="0 for uniform attention and for a single segment, whatever its map looks like.",
    )


# --- 4 ---------------------------------------------------------------------------------------------------
def _classify(vertical, diagonal, block, spread):
    if vertical >= 0.25 and diagonal >= 0.25:
        return "vertical+diagonal"
    if vertical >= 0.5:
        return "vertical"
    if diagonal >= 0.5:
        return "diagonal"
    return "block" if block >= 0.3 and spread >= 0.75 else "heterogeneous"


def check_classify(function):
    """``classify(vertical, diagonal, block, spread)``: the name of the class, first match wins."""
    cases = [
        (0.3, 0.3, 0.0, 0.5),
        (0.6, 0.6, 0.0, 0.5),
        (0.5, 0.1, 0.4, 0.9),
        (0.1, 0.5, 0.4, 0.9),
        (0.1, 0.1, 0.3, 0.75),
        (0.1, 0.1, 0.4, 0.7),
        (0.4, 0.1, 0.1, 0.9),
        (0.25, 0.25, 0.4, 0.9),
    ]

    def late(v, d, b, e):
        if v >= 0.5:
            return "vertical"
        if d >= 0.5:
            return "diagonal"
        return _classify(v, d, b, e)

    def eager(v, d, b, e):
        return "block" if b >= 0.3 and e >= 0.75 else _classify(v, d, b, e)

    def above(v, d, b, e):
        return _classify(*(value - 1e-9 for value in (v, d, b, e)))

    return check_function(
        function,
        [(case, _classify(*case)) for case in cases],
        mistakes=[
            (late, "a map that is clearly both comes out as one of the two: ask for vertical+diagonal first"),
            (
                eager,
                "block comes after vertical and diagonal: the first line that is met decides, in the order given",
            ),
            (
                lambda v, d, b, e: _classify(v, d, b, 1.0),
                "a block also needs spread: a previous-token head stays in its own text without being a block",
            ),
            (above, "a score *at* its threshold counts: at least, `>=`, not more than"),
        ],
        learnt="The order is part of the rule. Another order, other fractions.",
    )


# --- 5 ---------------------------------------------------------------------------------------------------
TURN_OPTIONS = ("still vertical", "diagonal", "heterogeneous")


def check_turned(answer):
    """The class of a vertical map after query and key are swapped."""
    return check_choice(
        answer,
        TURN_OPTIONS[2],
        options=TURN_OPTIONS,
        mistakes=[
            (
                TURN_OPTIONS[0],
                "the dark column has become a dark row: one query, and no key that many look at",
            ),
            (TURN_OPTIONS[1], "no diagonal can come out of a column by turning it round"),
        ],
        learnt="Vertical is about keys. After the turn all rows must sum to 1 again, and every query looks at all tokens equally.",
    )


# --- 6 ---------------------------------------------------------------------------------------------------
def check_counts(answer, names):
    """How many maps are in each class, in the order of ``CLASSES``."""
    names = np.asarray(names)
    expected = [int((names == name).sum()) for name in CLASSES]
    by_size = sorted(expected, reverse=True)
    mistakes = []
    if by_size != expected:
        mistakes.append((by_size, "these are sorted by size; keep the order of `CLASSES`"))
    alphabet = [int((names == name).sum()) for name in sorted(CLASSES)]
    if alphabet != expected:
        mistakes.append((alphabet, "this is the order of the alphabet; keep the order of `CLASSES`"))
    return check_list(
        answer,
        expected,
        mistakes=mistakes,
        learnt=f"{sum(expected)} maps in all. Their shares are this one text's fractions; another text, other fractions.",
    )


# --- 7 ---------------------------------------------------------------------------------------------------
def check_kappa(function):
    """``kappa(confusion)``: Cohen's kappa of a confusion matrix."""
    cases = [np.array([[20, 5], [10, 15]]), np.array([[8, 1, 1], [0, 5, 2], [3, 0, 10]]), np.diag([4, 6])]

    def chance_by(c, first, second):
        return float((c.sum(axis=first) * c.sum(axis=second)).sum() / c.sum() ** 2)

    return check_function(
        function,
        [((confusion,), cohen_kappa(confusion)) for confusion in cases],
        mistakes=[
            (lambda c: float(np.trace(c) / c.sum()), "that is accuracy; now take chance agreement off"),
            (
                lambda c: float(np.trace(c) / c.sum() - chance_by(c, 0, 1)),
                "chance is taken off; then divide by the most that was left to gain, 1 - chance",
            ),
            (
                lambda c: float((np.trace(c) / c.sum() - 1 / len(c)) / (1 - 1 / len(c))),
                "chance is 1 over the number of classes only if both use all classes equally often; take their habits from the sums",
            ),
            (
                lambda c: float((np.trace(c) / c.sum() - chance_by(c, 0, 0)) / (1 - chance_by(c, 0, 0))),
                "one habit is in the row sums, the other in the column sums; you took the column sums twice",
            ),
        ],
        learnt="0 is what two people with these habits reach without looking, 1 is always the same.",
    )


# --- 8 ---------------------------------------------------------------------------------------------------
def check_useful(answer):
    """The tasks with the smallest and the largest share of heterogeneous and block maps."""
    table = {task: shares for task, shares in published_fractions().items() if task != "mean"}
    useful = {task: shares[3] + shares[4] for task, shares in table.items()}
    expected = [min(useful, key=useful.get), max(useful, key=useful.get)]
    other = {task: 1 - shares[0] for task, shares in table.items()}
    return check_list(
        answer,
        expected,
        mistakes=[
            (expected[::-1], "the smallest first, then the largest"),
            (
                [min(other, key=other.get), max(other, key=other.get)],
                "that is everything but vertical; heterogeneous and block only",
            ),
        ],
        learnt=f"{useful[expected[0]]:.3f} and {useful[expected[1]]:.3f}: the printed 32 % and 61 %. An upper bound, since heterogeneous "
        "means not classified.",
    )


# --- 9 ---------------------------------------------------------------------------------------------------
def check_movable(answer, scores, low=0.25, high=0.75, name="vertical"):
    """By how much the share of vertical maps changes between two thresholds."""
    from ..measures import threshold_sweep

    swept = threshold_sweep(scores, name, (low, high))[:, CLASSES.index(name)]
    expected = float(swept[0] - swept[1])
    mistakes = [(float(swept[0]), f"that is the share at {low}; the change was asked for")]
    if swept[1] > 0.001:
        mistakes.append((float(swept[1]), f"that is the share at {high}; the change was asked for"))
    return check_number(
        answer,
        expected,
        tolerance=5e-4,
        mistakes=[(value, reason) for value, reason in mistakes if abs(value - expected) > 1e-3],
        learnt=f"From {swept[0]:.3f} to {swept[1]:.3f} of all maps, and nothing changed but a number we chose.",
    )


STATEMENTS = {
    "a": "A third of BERT's heads are vertical.",
    "b": "Of the maps of fine-tuned BERT-base models, about a third were classified as vertical.",
    "c": "Heterogeneous maps are useful.",
    "d": "The specimen refutes the published fractions.",
    "e": "By our rule, a map of one sentence cannot be a block.",
}


def check_statements(answer):
    """Which of five statements are supported by what was seen."""
    return check_set(
        answer,
        {"b", "e"},
        mistakes=[
            ({"a", "b", "e"}, "a: the fractions are of maps; one head draws maps of several kinds"),
            (
                {"b", "c", "e"},
                "c: heterogeneous means not classified; a random twin is heterogeneous throughout",
            ),
            ({"b", "d", "e"}, "d: other model, no fine-tuning, other sorting: nothing is refuted"),
            (
                {"a", "e"},
                "a: the fractions are of *maps*, and of fine-tuned models. Which statement says so?",
            ),
            ({"b"}, "one more is true, by the definition of the block score"),
            ({"e"}, "one more is true: it says whose maps were counted"),
        ],
        learnt="b says what was counted and on what; e follows from the definition. The others say more than was measured.",
    )


# --- the last two: a picture, and a claim on trial ---------------------------------------------------------
PICTURE_OPTIONS, check_picture, on_trial, TRIAL_OPTIONS, check_trial = close("05")


# --- the checks' own proof -------------------------------------------------------------------------------
def EXAMPLES():
    """Right, wrong and unfilled answers of every check."""
    from types import SimpleNamespace

    names = np.array([["vertical", "block"], ["block", "heterogeneous"]])
    # Three maps whose vertical scores are .2, .6 and .8; nothing else about them reaches a line.
    flat = np.zeros((2, 1, 3))
    scores = SimpleNamespace(
        vertical=flat + np.array([0.2, 0.6, 0.8]),
        diagonal=flat,
        block=flat,
        spread=flat,
        can_block=np.ones(2, bool),
    )

    def kappa(c):
        chance = (c.sum(axis=0) * c.sum(axis=1)).sum() / c.sum() ** 2
        return float((np.trace(c) / c.sum() - chance) / (1 - chance))

    return {
        "check_vertical": (_vertical, lambda w: _vertical(w.T), ...),
        "check_diagonal": (_diagonal, lambda w: float(np.diagonal(w).mean()), ...),
        "check_block": (_block, lambda w, s: _block(w, s) - 0.1, ...),
        "check_classify": (_classify, lambda v, d, b, e: _classify(v, d, b, 1.0), ...),
        "check_turned": (TURN_OPTIONS[2], TURN_OPTIONS[0], ...),
        "check_counts": (args([1, 0, 0, 2, 1], names), args([2, 1, 1, 0, 0], names), args(..., names)),
        "check_kappa": (kappa, lambda c: float(np.trace(c) / c.sum()), ...),
        "check_useful": (["MRPC", "QQP"], ["QQP", "MRPC"], ...),
        "check_movable": (args(1 / 3, scores), args(2 / 3, scores), args(..., scores)),
        "check_statements": ({"b", "e"}, {"a", "b", "e"}, ...),
        **closing_examples("05"),
    }


sheet = keep_sheet(globals())  # what the checks above have said, as the last cell shows it
