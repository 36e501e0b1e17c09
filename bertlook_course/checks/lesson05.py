"""Checks of lesson 5: five kinds of attention map."""

from __future__ import annotations

from types import SimpleNamespace

import numpy as np

from bertlook_teach.measures import CLASSES

from ..analyses.anatomy import published_fractions, threshold_sweep
from ..metrics import cohen_kappa
from .answers import ChoiceCheck, FunctionCheck, ListCheck, NumberCheck, SetCheck
from .cases import case_rows, close, of_run
from .sheet import keep_sheet

# --- 1 ---------------------------------------------------------------------------------------------------
_STRIPES = np.zeros((6, 6))
_STRIPES[:, [0, 4]] = 0.5


def _two_largest(means, n):
    return np.sort(means)[-2:].sum() - 2 / n


check_vertical = FunctionCheck(
    lambda weights: _two_largest(weights.mean(axis=0), len(weights)),
    asks="``vertical(weights)``: the two largest column means minus 2/n, for one map.",
    cases=[case_rows(5, 5), case_rows(7, 7, seed=1), _STRIPES],
    wrong=[
        "that is about rows: each sums to 1, so their means are all 1/n. A column is one key: average over the queries, axis 0",
        lambda w: _two_largest(w.mean(axis=1), len(w)),
        "the two columns are right; uniform attention gives two columns 2/n already, so subtract that",
        lambda w: np.sort(w.mean(axis=0))[-2:].sum(),
        "that is the largest column alone; [CLS] and [SEP] may share the attention, so take two",
        lambda w: w.mean(axis=0).max() - 1 / len(w),
        "those are the two smallest: `np.sort` puts the largest last",
        lambda w: np.sort(w.mean(axis=0))[:2].sum() - 2 / len(w),
        "those are column sums; with the mean over queries the score stays between 0 and 1",
        lambda w: _two_largest(w.sum(axis=0), len(w)),
    ],
    learnt="Columns are keys. Uniform attention scores 0, two full columns 1 - 2/n, which is never quite 1.",
)


# --- 2 ---------------------------------------------------------------------------------------------------
def _beside(weights, *offsets):
    return [np.diagonal(weights, offset).mean() for offset in offsets]


check_diagonal = FunctionCheck(
    lambda weights: max(_beside(weights, -1, 1)),
    asks="``diagonal(weights)``: the larger mean of the two diagonals beside the main one.",
    cases=[
        case_rows(5, 5),
        case_rows(7, 7, seed=1),
        0.9 * np.eye(5, k=-1) + 0.02,
        0.9 * np.eye(6, k=1) + 0.02,
        np.eye(4),
    ],
    wrong=[
        "the main diagonal is the token itself, and does not count: previous and next only",
        lambda w: max(_beside(w, -1, 0, 1)),
        "that is the main diagonal, the token itself; its neighbours are at offset -1 and +1",
        lambda w: np.diagonal(w).mean(),
        "that is the previous token; a head that looks ahead is diagonal too, so take the larger of both",
        lambda w: np.diagonal(w, -1).mean(),
        "that is the next token; a head that looks back is diagonal too, so take the larger of both",
        lambda w: np.diagonal(w, 1).mean(),
        "you added both; a head that divides its attention between its two neighbours would score as high as one that looks at one of them. Take the larger",
        lambda w: sum(_beside(w, -1, 1)),
        "divide by the length of the diagonal, n - 1 (`.mean()` does), so that a perfect head scores 1",
        lambda w: max(_beside(w, -1, 1)) * (len(w) - 1) / len(w),
    ],
    learnt="A head that always looks at one neighbour scores 1; one that looks at itself scores 0.",
)


# --- 3 ---------------------------------------------------------------------------------------------------
def _own(segments):
    return np.equal.outer(segments, segments)


def _kept(weights, segments):
    return (weights * _own(segments)).sum(axis=1).mean()


check_block = FunctionCheck(
    lambda weights, segments: _kept(weights, segments) - _own(segments).mean(),
    asks="``block(weights, segments)``: mean share that stays in the token's own segment, minus its chance value.",
    cases=[
        (case_rows(5, 5), np.array([0, 0, 0, 1, 1])),
        (case_rows(7, 7, seed=1), np.array([0, 0, 0, 0, 0, 1, 1])),
        (case_rows(4, 4, seed=2), np.zeros(4, dtype=int)),
    ],
    wrong=[
        "that is what stays inside the own segment; uniform attention keeps something there too, so subtract that",
        _kept,
        "chance is one half only for two segments of equal length: count the cells inside the own segment",
        lambda w, s: _kept(w, s) - 0.5,
        "that is the first segment only; the second keeps to itself as well",
        lambda w, s: w[s == 0][:, s == 0].sum() / len(w) - (s == 0).mean() ** 2,
        "the mean over all cells is n times too small: add up over the keys, then average over the queries",
        lambda w, s: (w * _own(s)).mean() - _own(s).mean(),
        "that is what leaves the segment; what stays was asked for",
        lambda w, s: (w * ~_own(s)).sum(axis=1).mean() - (~_own(s)).mean(),
    ],
    learnt="The score is 0 for uniform attention. It is also 0 for a text of a single segment, whatever the map looks like.",
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


def _one_before_both(vertical, diagonal, block, spread):
    if vertical >= 0.5:
        return "vertical"
    if diagonal >= 0.5:
        return "diagonal"
    return _classify(vertical, diagonal, block, spread)


def _block_first(vertical, diagonal, block, spread):
    return "block" if block >= 0.3 and spread >= 0.75 else _classify(vertical, diagonal, block, spread)


check_classify = FunctionCheck(
    _classify,
    asks="``classify(vertical, diagonal, block, spread)``: the name of the class, first match wins.",
    cases=[
        (0.3, 0.3, 0.0, 0.5),
        (0.6, 0.6, 0.0, 0.5),
        (0.5, 0.1, 0.4, 0.9),
        (0.1, 0.5, 0.4, 0.9),
        (0.1, 0.1, 0.3, 0.75),
        (0.1, 0.1, 0.4, 0.7),
        (0.4, 0.1, 0.1, 0.9),
        (0.25, 0.25, 0.4, 0.9),
    ],
    wrong=[
        "a map that is clearly both comes out as one of the two: ask for vertical+diagonal first",
        _one_before_both,
        "block comes after vertical and diagonal: the first line that fits decides, in the order given",
        _block_first,
        "a block also needs spread: a previous-token head stays in its own segment without being a block",
        lambda v, d, b, e: _classify(v, d, b, 1.0),
        "a score *at* its threshold counts: at least, `>=`, not more than",
        lambda *scores: _classify(*(score - 1e-9 for score in scores)),
    ],
    learnt="The order is part of the rule: another order would give other fractions.",
)

# --- 5 ---------------------------------------------------------------------------------------------------
check_turned = ChoiceCheck.among(
    {
        "still vertical": "the dark column has become a dark row: one query, and no key that many look at",
        "diagonal": "swapping query and key turns a column into a row, never into a diagonal",
        "heterogeneous": None,
    },
    asks="The class of a vertical map after query and key are swapped.",
    learnt="Vertical is about keys. After the turn all rows must sum to 1 again, and every query looks at all tokens equally.",
)
TURN_OPTIONS = check_turned.options


# --- 6 ---------------------------------------------------------------------------------------------------
@of_run(lambda: ([["vertical", "block"], ["block", "heterogeneous"]],))
def check_counts(names):
    """How many maps are in each class, in the order of ``CLASSES``."""
    counts = {name: int((np.asarray(names) == name).sum()) for name in CLASSES}
    return ListCheck(
        list(counts.values()),
        wrong=[
            "these are sorted by size; keep the order of `CLASSES`",
            sorted(counts.values(), reverse=True),
            "this is the order of the alphabet; keep the order of `CLASSES`",
            [counts[name] for name in sorted(CLASSES)],
        ],
        learnt=f"{sum(counts.values())} maps in all. Their shares are the fractions for this one text; another text would give others.",
    )


# --- 7 ---------------------------------------------------------------------------------------------------
def _accuracy(confusion):
    return np.trace(confusion) / confusion.sum()


def _chance(confusion, first=0, second=1):
    return (confusion.sum(axis=first) * confusion.sum(axis=second)).sum() / confusion.sum() ** 2


def _above(chance, accuracy):
    return (accuracy - chance) / (1 - chance)


check_kappa = FunctionCheck(
    cohen_kappa,
    asks="``kappa(confusion)``: Cohen's kappa of a confusion matrix.",
    cases=[np.array([[20, 5], [10, 15]]), np.array([[8, 1, 1], [0, 5, 2], [3, 0, 10]]), np.diag([4, 6])],
    wrong=[
        "that is accuracy; now subtract the agreement by chance",
        _accuracy,
        "chance is subtracted; then divide by the most that was left to gain, 1 - chance",
        lambda c: _accuracy(c) - _chance(c),
        "chance is 1 over the number of classes only if both use all classes equally often; use the row sums and column sums, which show how often each annotator uses a class",
        lambda c: _above(1 / len(c), _accuracy(c)),
        "the row sums belong to one annotator, the column sums to the other; you took the column sums twice",
        lambda c: _above(_chance(c, 0, 0), _accuracy(c)),
    ],
    learnt="0 is what two people with these habits would reach without looking at the maps; 1 means that they always agree.",
)


# --- 9 ---------------------------------------------------------------------------------------------------
def _scores():
    """Four maps whose vertical scores are .2, .6, .7 and .8; no other score of theirs reaches a threshold."""
    flat = np.zeros((2, 1, 4))
    vertical = flat + np.array([0.2, 0.6, 0.7, 0.8])
    return SimpleNamespace(
        vertical=vertical, diagonal=flat, block=flat, spread=flat, can_block=np.ones(2, bool)
    )


@of_run(lambda: (_scores(),))
def check_movable(scores, low=0.25, high=0.75):
    """By how much the share of vertical maps changes between two thresholds."""
    at_low, at_high = threshold_sweep(scores, "vertical", (low, high))[:, CLASSES.index("vertical")]
    return NumberCheck(
        float(at_low - at_high),
        tolerance=5e-4,
        wrong={
            f"that is the share at {low}; the change was asked for": at_low,
            f"that is the share at {high}; the change was asked for": at_high,
        },
        learnt=f"From {at_low:.3f} to {at_high:.3f} of all maps, and nothing changed but a number we chose.",
    )


# --- 10 --------------------------------------------------------------------------------------------------
@of_run()
def check_useful():
    """The tasks with the smallest and the largest share of heterogeneous and block maps."""
    table = {task: shares for task, shares in published_fractions().items() if task != "mean"}
    useful = {task: shares[3] + shares[4] for task, shares in table.items()}
    other = {task: 1 - shares[0] for task, shares in table.items()}
    least, most = min(useful, key=useful.get), max(useful, key=useful.get)
    return ListCheck(
        [least, most],
        wrong=[
            "the smallest first, then the largest",
            [most, least],
            "that is everything but vertical; take heterogeneous and block only",
            [min(other, key=other.get), max(other, key=other.get)],
        ],
        learnt=f"{useful[least]:.3f} and {useful[most]:.3f}: the printed 32 % and 61 %. An upper bound, since heterogeneous "
        "means not classified.",
    )


STATEMENTS = {
    "a": "A third of BERT's heads are vertical.",
    "b": "Of the maps of fine-tuned BERT-base models, about a third were classified as vertical.",
    "c": "Heterogeneous maps are useful.",
    "d": "The specimen refutes the published fractions.",
    "e": "By our rule, a map of one sentence cannot be a block.",
}

check_statements = SetCheck(
    {"b", "e"},
    asks="Which of five statements are supported by what was seen.",
    wrong={
        "a: the fractions are of maps; one head draws maps of several kinds": {"a", "b", "e"},
        "c: heterogeneous means not classified; a random twin is heterogeneous throughout": {"b", "c", "e"},
        "d: another model, without fine-tuning, sorted by another rule: nothing is refuted": {"b", "d", "e"},
        "a: the fractions are of *maps*, and of fine-tuned models. Which statement says so?": {"a", "e"},
        "one more is true, by the definition of the block score": {"b"},
        "one more is true: it says whose maps were counted": {"e"},
    },
    learnt="b says what was counted and on what; e follows from the definition. The others say more than was measured.",
)

# --- the last two: a picture, and a claim on trial ---------------------------------------------------------
PICTURE_OPTIONS, check_picture, on_trial, TRIAL_OPTIONS, check_trial = close("05")

sheet = keep_sheet(globals())  # what the checks above have said, as the last cell shows it
