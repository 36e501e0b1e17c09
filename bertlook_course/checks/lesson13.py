"""Checks of lesson 13: an essay on trial."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from bertlook_teach.stats import holm

from ..analyses.patterns import Pattern, PatternText, parse_pattern
from ..claims import REFUTED, SUPPORTED, UNDECIDED, clause_ids, commit, explained_by_split
from .answers import Check, ChoiceCheck, FunctionCheck, ListCheck, NumberCheck, SetCheck
from .cases import auc_above, close, of_run
from .compare import _reason
from .sheet import keep_sheet

# --- 1: the line -----------------------------------------------------------------------------------------
check_refuting = ChoiceCheck.among(
    {
        "some words outside the relation do not look at [SEP]": "a tendency has exceptions; one of them refutes nothing, or every tendency would be refuted",
        "words outside the relation give [SEP] no more than words inside it do": None,
        "the head looks at [SEP] less than half of the time": "a head may rest rarely, and still rest just where it has nothing to do",
    },
    asks='What would refute "[SEP] is a haven for words that take no part in the head\'s relation".',
    learnt="A comparison, so that it can fail. As a number: an AUC of one half or less.",
)
REFUTING_OPTIONS = check_refuting.options


# --- 2: AUC ----------------------------------------------------------------------------------------------
def _wins(tie):
    """Share of pairs that the word outside wins, with a tie counted as given."""
    return lambda outside, inside: np.mean([(a > b) + tie * (a == b) for a in outside for b in inside])


check_auc = FunctionCheck(
    auc_above,
    asks="``auc(outside, inside)``: how often a word outside gives more than a word inside; ties count half.",
    cases=[
        (np.array([0.9, 0.4, 0.4]), np.array([0.1, 0.4])),
        (np.array([0.2, 0.2]), np.array([0.2])),
        (np.array([0.1, 0.3, 0.8, 0.5]), np.array([0.6, 0.7, 0.05])),
    ],
    wrong=[
        "ties are not counted at all; a tie is half a win, or a head that gives everybody the same would score 0",
        _wins(tie=0),
        "a tie counts as a whole win; it is half of one",
        _wins(tie=1),
        "the other way round: how often does the word *outside* give more?",
        lambda o, i: 1 - auc_above(o, i),
        "that is a difference of means; one extreme word can carry it. Compare pairs",
        lambda o, i: o.mean() - i.mean(),
        "that is how many pairs; divide by the number of pairs",
        lambda o, i: auc_above(o, i) * len(o) * len(i),
    ],
    learnt="One half is a coin, whatever the scale of the weights. It is the statistic of Mann and Whitney, divided by the number of pairs.",
)


# --- 3 to 5: phases ----------------------------------------------------------------------------------------
def _total(series, axis=0):
    return ((series - series.mean(axis=axis)) ** 2).sum()


def _within(series, cuts, axis=0):
    return sum(_total(part, axis) for part in np.split(series, cuts))


_DRAWN = np.random.default_rng(3)

check_explained = FunctionCheck(
    explained_by_split,
    asks="``explained(series, cuts)``: share of the sum of squares that contiguous groups of layers explain.",
    cases=[
        (_DRAWN.random((6, 2)), (2, 5)),
        (np.repeat(np.eye(2), 3, axis=0), (3,)),
        (_DRAWN.random((5, 3)), (1, 2, 4)),
    ],
    wrong=[
        "that is the share *left over* within the groups; 1 minus it is explained",
        lambda x, cuts: _within(x, cuts) / _total(x),
        "divide by the sum of squares of the whole, or the number depends on the scale",
        lambda x, cuts: 1 - _within(x, cuts),
        "the whole's squares are taken around its *mean* too: x - x.mean(axis=0)",
        lambda x, cuts: 1 - _within(x, cuts) / (x**2).sum(),
        "you took one mean over all columns; each kind of token has a mean of its own: axis=0",
        lambda x, cuts: 1 - _within(x, cuts, None) / _total(x, None),
        "that is the explained sum of squares; the share of the total was asked for",
        lambda x, cuts: _total(x) - _within(x, cuts),
    ],
    learnt="1 if layers of a phase are the same, 0 if phases do not differ.",
)


def _phases():
    return np.repeat(np.eye(3), [2, 3, 2], axis=0) + 0.01 * np.random.default_rng(0).random((7, 3))


@of_run(lambda: (_phases(),))
def check_best_cuts(series):
    """The two cuts after which three groups of layers explain most."""
    series = np.asarray(series, dtype=float)
    pairs = [(a, b) for a in range(1, len(series)) for b in range(a + 1, len(series))]
    shares = {pair: explained_by_split(series, pair) for pair in pairs}
    first, second = max(shares, key=shares.get)
    return ListCheck(
        [first, second],
        wrong=[
            "those are the *worst* cuts",
            min(shares, key=shares.get),
            "a cut of 4 means: after four layers. You seem to have counted from 0",
            [first - 1, second - 1],
            "a cut of 4 means: after four layers, so the next phase begins with the fifth",
            [first + 1, second + 1],
        ],
        learnt=f"After layers {first} and {second}: {shares[first, second]:.1%}, of {len(pairs)} possible pairs of cuts.",
    )


@of_run(lambda: (0.75, [0.95, 0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8]))
def check_split_p(observed, shuffled):
    """How often shuffled layers are explained as well, the true order counted as one of them."""
    shuffled = np.asarray(shuffled, dtype=float)
    as_good = int((shuffled >= observed - 1e-9).sum())
    expected = (1 + as_good) / (1 + len(shuffled))
    return NumberCheck(
        expected,
        tolerance=1e-9,
        wrong={
            "the true order is one of the orders too: add 1 above and below": as_good / len(shuffled),
            "that is the share of the shuffles that do *worse*": 1 - as_good / len(shuffled),
            "that is how many; the share was asked for": as_good,
        },
        learnt=f"{as_good} of {len(shuffled)} shuffles do as well: p = {expected:.4f}. p does not say what the null *is*.",
    )


# --- 6 and 7: a null ---------------------------------------------------------------------------------------
def _inside(weights, ids):
    return weights[ids[:, None] == ids]


def _share_inside(weights, ids):
    return _inside(weights, ids).sum() / weights.sum()


def _share_by_rows(weights, ids):
    return (np.where(ids[:, None] == ids, weights, 0).sum(axis=1) / weights.sum(axis=1)).mean()


_RANDOM = np.random.default_rng(4)

check_inside = FunctionCheck(
    _share_inside,
    asks="``inside(weights, ids)``: share of all attention that stays inside the clause of the token that looks.",
    cases=[
        (_RANDOM.random((sum(lengths),) * 2), clause_ids(lengths)) for lengths in ([2, 3], [1, 1, 2], [4])
    ],
    wrong=[
        "that is what leaves the clause",
        lambda w, ids: 1 - _share_inside(w, ids),
        "divide by all of the attention: rows without special tokens do not sum to 1",
        lambda w, ids: _inside(w, ids).sum(),
        "that is a mean over pairs; the sum inside, divided by the sum of all, was asked for",
        lambda w, ids: _inside(w, ids).mean(),
        "you took the share of each row first; the sum inside over the sum of all weighs rows by what they give",
        _share_by_rows,
    ],
    learnt="A share of the mass. Beside it belongs the same share with the boundaries moved.",
)


check_null = ChoiceCheck.among(
    {
        "the same share of pairs, drawn anywhere": "pairs drawn anywhere are far apart, pairs of a clause near: any head that looks near would win",
        "the same clause lengths, in another order": None,
        "the same map with its columns shuffled": "that takes every habit of the head away, its liking for near words too; then any head that looks near would win",
    },
    asks="The null in which a head that goes by distance alone has exactly as much inside its clauses as before.",
    learnt="Moved boundaries leave as many pairs at each distance inside a clause. What is left can only come from where the boundaries *are*.",
)
NULL_OPTIONS = check_null.options


# --- 8 and 9: many tests, one rule -------------------------------------------------------------------------
@of_run(lambda: ([0.002, 0.0095, 1.0, 0.014, 0.03, 0.04],))
def check_survivors(p, level=0.05):
    """The numbers, from 1, of the claims whose p is below the level after Holm's correction over all of them."""
    p = np.asarray(p, dtype=float)

    def numbers(chosen):
        return set((np.flatnonzero(chosen) + 1).tolist())

    survivors, tested = numbers(holm(p) < level), np.flatnonzero(p < 1)
    among_tested = holm(p[tested]) < level
    untested = "claims that could not be tested count too, with p = 1: they were on the list"
    return SetCheck(
        survivors,
        wrong=[
            "that is without a correction: of so many tests, one in twenty comes out below .05 by chance alone",
            numbers(p < level),
            untested,
            set((tested[among_tested] + 1).tolist()),
            untested,  # and numbered without them
            numbers(among_tested),
            "that is Bonferroni's correction; Holm's second smallest p is multiplied by one less",
            numbers(p * len(p) < level),
            "claims are numbered from 1",
            {number - 1 for number in survivors},
        ],
        learnt=f"{len(survivors)} of the {int((p < level).sum())} claims with p < {level:g} survive. The others are not refuted: for so many tests their evidence is not enough.",
    )


@of_run(lambda: (-0.1, 0.4, 0.0, 0.3, 1.0))
def check_verdict(low, high, line, p, against, level=0.05):
    """The verdict by the rule of the register, from corrected p-values (twin aside)."""
    expected = SUPPORTED if p < level else REFUTED if against < level else UNDECIDED
    why = {
        SUPPORTED: f"p is {p:.3f}, and supported means that it is below {level}",
        REFUTED: "refuted means that the *opposite* has a small p; no evidence for is not evidence against",
        UNDECIDED: "one of the two p-values is below the level, so something can be said",
    }
    return ChoiceCheck.among(
        {**why, expected: None},
        learnt=f"The interval [{low:.2f}, {high:.2f}] and the threshold {line:g} say the same; the corrected p-values decide.",
    )


# --- 10 and 11: a hypothesis of one's own ------------------------------------------------------------------
_WORDS = ("well", ",", "she", "came", ",", "then", "left")
_SAID = PatternText(_WORDS, (False,) * 7, (0,) * 7, tuple((word,) for word in _WORDS))


def _as_pattern(answer):
    return parse_pattern(answer) if isinstance(answer, str) else answer


@dataclass(frozen=True, eq=False, kw_only=True)
class _PatternCheck(Check):
    """A pattern, or the text of one: any expression that holds for the same pairs of `_SAID`. Right and wrong ones are texts."""

    def problem(self, answer):
        try:
            answer = _as_pattern(answer)
        except ValueError as error:
            return f"This cannot be read as a pattern: {error}"
        if not isinstance(answer, Pattern):
            return f"A pattern was expected, made with `query` and `key`; yours is of type `{type(answer).__name__}`."
        try:
            mask = answer.mask(_SAID)
        except ValueError as error:
            return f"It cannot be asked of a plain text: {error}"

        def holds_alike(text):
            return np.array_equal(mask, parse_pattern(text).mask(_SAID))

        if holds_alike(self.right):
            return None
        if reason := _reason(answer, self.mistakes, holds_alike):
            return reason
        pairs = ", ".join(f"{q} → {k}" for q, k in answer.pairs(_SAID)[:6]) or "none"
        return f"In “well, she came, then left” it holds for: {pairs}. The right pairs are “, → well” and “, → came”."

    def confirm(self, answer):
        return f"{_as_pattern(answer).in_words()} {self.learnt}"


check_pattern = _PatternCheck(
    "query.word(',') & key.previous()",
    asks='The pattern "a comma looks at the word right before it": any expression that holds for the same pairs.',
    wrong={
        "that is the word *after* the comma": "query.word(',') & key.next()",
        "query and key are swapped: it is the comma that looks": "key.word(',') & query.previous()",
        "you ask everything of the key; the comma is the query": "key.word(',') & key.previous()",
        "`|` is or: that holds for every word and the one before it. You need `&`": "query.word(',') | key.previous()",
        "that is every pair in which a comma looks, wherever it looks; say where": "query.word(',')",
        "that is every word and the one before it; say which word looks": "key.previous()",
        "that is *any* word before the comma; only the nearest was asked for": "query.word(',') & key.before()",
    },
    learnt="It holds for 2 pairs of “well, she came, then left”.",
)


@of_run(lambda: (12, "fig"))
def check_locked(guess, secret):
    """The digest that locks a guess with a secret."""
    digest = commit(guess, secret=secret)
    return ChoiceCheck(
        digest,
        wrong=[
            "the secret is missing: without it a neighbour can try every number and find yours",
            commit(guess),
            "that is the beginning; the whole digest was asked for",
            digest[:16],
            "that is the guess itself, for everybody to see",
            str(guess),
        ],
        learnt="The same guess and secret give the same digest on every machine, today and in ten years.",
    )


# --- the last two: a picture, and a claim on trial ---------------------------------------------------------
PICTURE_OPTIONS, check_picture, on_trial, TRIAL_OPTIONS, check_trial = close("13")

sheet = keep_sheet(globals())  # what the checks above have said, as the last cell shows it
