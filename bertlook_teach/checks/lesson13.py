"""Checks of lesson 13: an essay on trial."""

from __future__ import annotations

import numpy as np

from ..analyses.patterns import Pattern, PatternText, parse_pattern
from ..claims import REFUTED, SUPPORTED, UNDECIDED, clause_ids, commit, explained_by_split
from ..stats import holm
from .answers import check_choice, check_function, check_list, check_number, check_set
from .cases import auc_above, close, closing_examples
from .feedback import Feedback, args, is_unanswered, unanswered
from .sheet import keep_sheet

VERDICTS = (SUPPORTED, REFUTED, UNDECIDED)

# --- 1: the line -----------------------------------------------------------------------------------------
REFUTING_OPTIONS = (
    "some words outside the relation do not look at [SEP]",
    "words outside the relation give [SEP] no more than words inside it do",
    "the head looks at [SEP] less than half of the time",
)


def check_refuting(answer):
    """What would refute "[SEP] is a haven for words that take no part in the head's relation"."""
    return check_choice(
        answer,
        REFUTING_OPTIONS[1],
        options=REFUTING_OPTIONS,
        mistakes=[
            (
                REFUTING_OPTIONS[0],
                "a tendency has exceptions; one of them refutes nothing, or every tendency would be refuted",
            ),
            (REFUTING_OPTIONS[2], "a head may rest rarely, and still rest just where it has nothing to do"),
        ],
        learnt="A comparison, so that it can fail. As a number: an AUC of one half or less.",
    )


# --- 2: AUC ----------------------------------------------------------------------------------------------
def check_auc(function):
    """``auc(outside, inside)``: how often a word outside gives more than a word inside; ties count half."""
    cases = [([0.9, 0.4, 0.4], [0.1, 0.4]), ([0.2, 0.2], [0.2]), ([0.1, 0.3, 0.8, 0.5], [0.6, 0.7, 0.05])]
    arrays = [tuple(map(np.array, case)) for case in cases]

    def with_ties(weight):
        def version(outside, inside):
            pairs = [(a > b) + weight * (a == b) for a in outside for b in inside]
            return float(np.mean(pairs))

        return version

    return check_function(
        function,
        [(case, auc_above(*case)) for case in arrays],
        mistakes=[
            (
                with_ties(0.0),
                "ties are not counted at all; a tie is half a win, or a head that gives everybody the same would score 0",
            ),
            (with_ties(1.0), "a tie counts as a whole win; it is half of one"),
            (
                lambda o, i: 1 - auc_above(o, i),
                "the other way round: how often does the word *outside* give more?",
            ),
            (
                lambda o, i: float(np.mean(o) - np.mean(i)),
                "that is a difference of means; one extreme word can carry it. Compare pairs",
            ),
            (
                lambda o, i: auc_above(o, i) * len(o) * len(i),
                "that is how many pairs; divide by the number of pairs",
            ),
        ],
        learnt="One half is a coin, whatever the scale of the weights. It is the statistic of Mann and Whitney, divided by the pairs.",
    )


# --- 3 and 4: phases ---------------------------------------------------------------------------------------
def check_explained(function):
    """``explained(series, cuts)``: share of the sum of squares that contiguous groups of layers explain."""
    random = np.random.default_rng(3)
    cases = [
        (random.random((6, 2)), (2, 5)),
        (np.repeat(np.eye(2), 3, axis=0), (3,)),
        (random.random((5, 3)), (1, 2, 4)),
    ]

    def within(series, cuts):
        return sum(((part - part.mean(axis=0)) ** 2).sum() for part in np.split(series, list(cuts)))

    def total(series):
        return ((series - series.mean(axis=0)) ** 2).sum()

    def grand(series, cuts):
        left = sum(((part - part.mean()) ** 2).sum() for part in np.split(series, list(cuts)))
        return 1 - left / ((series - series.mean()) ** 2).sum()

    return check_function(
        function,
        [(case, explained_by_split(*case)) for case in cases],
        mistakes=[
            (
                lambda x, cuts: within(x, cuts) / total(x),
                "that is the share *left over* within the groups; 1 minus it is explained",
            ),
            (
                lambda x, cuts: 1 - within(x, cuts),
                "divide by the sum of squares of the whole, or the number depends on the scale",
            ),
            (
                lambda x, cuts: 1 - within(x, cuts) / (x**2).sum(),
                "the whole's squares are taken around its *mean* too: x - x.mean(axis=0)",
            ),
            (grand, "you took one mean over all columns; each kind of token has a mean of its own: axis=0"),
            (
                lambda x, cuts: total(x) - within(x, cuts),
                "that is the explained sum of squares; the share of the total was asked for",
            ),
        ],
        learnt="1 if layers of a phase are the same, 0 if phases do not differ.",
    )


def check_best_cuts(answer, series):
    """The two cuts after which three groups of layers explain most."""
    series = np.asarray(series, dtype=float)
    n = len(series)
    pairs = [(a, b) for a in range(1, n) for b in range(a + 1, n)]
    shares = [explained_by_split(series, pair) for pair in pairs]
    best, worst = pairs[int(np.argmax(shares))], pairs[int(np.argmin(shares))]
    given = answer if is_unanswered(answer) or not isinstance(answer, np.ndarray) else answer.tolist()
    wrong = [
        (list(worst), "those are the *worst* cuts"),
        ([best[0] - 1, best[1] - 1], "a cut of 4 means: after four layers. You seem to have counted from 0"),
        (
            [best[0] + 1, best[1] + 1],
            "a cut of 4 means: after four layers, so the next phase begins with the fifth",
        ),
    ]
    return check_list(
        list(given) if isinstance(given, tuple) else given,
        list(best),
        mistakes=[(cuts, why) for cuts, why in wrong if cuts != list(best)],
        learnt=f"After layers {best[0]} and {best[1]}: {max(shares):.1%}, of {len(pairs)} possible pairs of cuts.",
    )


def check_split_p(answer, observed, shuffled):
    """How often shuffled layers are explained as well, the true order counted as one of them."""
    shuffled = np.asarray(shuffled, dtype=float)
    as_good = int((shuffled >= observed - 1e-9).sum())
    expected = (1 + as_good) / (1 + len(shuffled))
    mistakes = [
        (as_good / len(shuffled), "the true order is one of the orders too: add 1 above and below"),
        (float((shuffled < observed - 1e-9).mean()), "that is the share of the shuffles that do *worse*"),
        (as_good, "that is how many; the share was asked for"),
    ]
    return check_number(
        answer,
        expected,
        tolerance=1e-9,
        mistakes=[(value, why) for value, why in mistakes if abs(value - expected) > 1e-9],
        learnt=f"{as_good} of {len(shuffled)} shuffles do as well: p = {expected:.4f}. What the null *is*, p does not tell.",
    )


# --- 5 and 6: a null ---------------------------------------------------------------------------------------
NULL_OPTIONS = (
    "the same share of pairs, drawn anywhere",
    "the same clause lengths, in another order",
    "the same map with its columns shuffled",
)


def check_null(answer):
    """The null in which a head that goes by distance alone has exactly as much inside its clauses as before."""
    return check_choice(
        answer,
        NULL_OPTIONS[1],
        options=NULL_OPTIONS,
        mistakes=[
            (
                NULL_OPTIONS[0],
                "pairs drawn anywhere are far apart, pairs of a clause near: any head that looks near would win",
            ),
            (
                NULL_OPTIONS[2],
                "that takes every habit of the head away, its liking for near words too; then any head that looks near would win",
            ),
        ],
        learnt="Moved boundaries leave as many pairs at each distance inside a clause. What is left can only come from where the boundaries *are*.",
    )


def check_inside(function):
    """``inside(weights, ids)``: share of all attention that stays inside the clause of the token that looks."""
    random = np.random.default_rng(4)
    cases = []
    for lengths in ([2, 3], [1, 1, 2], [4]):
        n = sum(lengths)
        cases.append((random.random((n, n)), clause_ids(lengths)))

    def share(weights, ids):
        return float(weights[ids[:, None] == ids].sum() / weights.sum())

    def by_rows(weights, ids):
        same = ids[:, None] == ids
        return float((np.where(same, weights, 0).sum(axis=1) / weights.sum(axis=1)).mean())

    return check_function(
        function,
        [(case, share(*case)) for case in cases],
        mistakes=[
            (lambda w, ids: 1 - share(w, ids), "that is what leaves the clause"),
            (
                lambda w, ids: float(w[ids[:, None] == ids].sum()),
                "divide by all of the attention: rows without special tokens do not sum to 1",
            ),
            (
                lambda w, ids: float(w[ids[:, None] == ids].mean()),
                "that is a mean over pairs; the sum inside, divided by the sum of all, was asked for",
            ),
            (
                by_rows,
                "you took the share of each row first; the sum inside over the sum of all weighs rows by what they give",
            ),
        ],
        learnt="A share of the mass. Beside it belongs the same share with the boundaries moved.",
    )


# --- 7 and 8: many tests, one rule -------------------------------------------------------------------------
def check_survivors(answer, p, level=0.05):
    """The numbers, from 1, of the claims whose p is below the level after Holm's correction over all of them."""
    p = np.asarray(p, dtype=float)

    def numbers(chosen):
        return {int(i) + 1 for i in np.flatnonzero(chosen)}

    survivors = numbers(holm(p) < level)
    wrong = [
        (
            numbers(p < level),
            "that is without a correction: so many tests, and one in twenty comes out by chance",
        ),
        (
            numbers(holm(p[p < 1]) < level),
            "claims that could not be tested count too, with p = 1: they were on the list",
        ),
        (
            numbers(p * len(p) < level),
            "that is Bonferroni's correction; Holm's second smallest p is multiplied by one less",
        ),
        ({n - 1 for n in survivors}, "claims are numbered from 1"),
    ]
    return check_set(
        answer,
        survivors,
        mistakes=[(found, why) for found, why in wrong if found != survivors],
        learnt=f"{len(survivors)} of {int((p < level).sum())} survive. Nothing else about them has changed.",
    )


def check_verdict(answer, low, high, line, p, against, level=0.05):
    """The verdict by the rule of the register, from corrected p-values (twin aside)."""
    expected = SUPPORTED if p < level else REFUTED if against < level else UNDECIDED
    why = {
        SUPPORTED: f"p is {p:.3f}, and supported means that it is below {level}",
        REFUTED: "refuted means that the *opposite* has a small p; no evidence for is not evidence against",
        UNDECIDED: "one of the two p-values is below the level, so something can be said",
    }
    return check_choice(
        answer,
        expected,
        options=VERDICTS,
        mistakes=[(verdict, why[verdict]) for verdict in VERDICTS if verdict != expected],
        learnt=f"The interval [{low:.2f}, {high:.2f}] and the line {line:g} tell the same story, and the correction has the last word.",
    )


# --- 9 and 10: a hypothesis of one's own -------------------------------------------------------------------
_SAID = PatternText(
    ("well", ",", "she", "came", ",", "then", "left"),
    (False,) * 7,
    (0,) * 7,
    tuple((w,) for w in ("well", ",", "she", "came", ",", "then", "left")),
)

COMMA = parse_pattern("query.word(',') & key.previous()")

_WRONG_PATTERNS = (
    ("query.word(',') & key.next()", "that is the word *after* the comma"),
    ("key.word(',') & query.previous()", "query and key are swapped: it is the comma that looks"),
    ("key.word(',') & key.previous()", "you ask everything of the key; the comma is the query"),
    (
        "query.word(',') | key.previous()",
        "`|` is or: that holds for every word and the one before it. You need `&`",
    ),
    ("query.word(',')", "that is every pair in which a comma looks, wherever it looks; say where"),
    ("key.previous()", "that is every word and the one before it; say which word looks"),
    ("query.word(',') & key.before()", "that is *any* word before the comma; only the nearest was asked for"),
)


def check_pattern(answer):
    """The pattern "a comma looks at the word right before it": any expression that holds for the same pairs."""
    if is_unanswered(answer):
        return unanswered()
    if isinstance(answer, str):
        try:
            answer = parse_pattern(answer)
        except ValueError as error:
            return Feedback("wrong", f"This cannot be read as a pattern: {error}")
    if not isinstance(answer, Pattern):
        return Feedback(
            "wrong",
            f"A pattern was expected, made with `query` and `key`; yours is of type `{type(answer).__name__}`.",
        )
    try:
        mask = answer.mask(_SAID)
    except ValueError as error:
        return Feedback("wrong", f"It cannot be asked of a plain text: {error}")
    if np.array_equal(mask, COMMA.mask(_SAID)):
        return Feedback(
            "right",
            f"{answer.in_words()} It holds for {int(mask.sum())} pairs of “well, she came, then left”.",
        )
    for wrong, why in _WRONG_PATTERNS:
        if np.array_equal(mask, parse_pattern(wrong).mask(_SAID)):
            return Feedback("wrong", f"{why[0].upper()}{why[1:]}.")
    pairs = ", ".join(f"{q} → {k}" for q, k in answer.pairs(_SAID)[:6]) or "none"
    return Feedback(
        "wrong",
        f"In “well, she came, then left” it holds for: {pairs}. Wanted are the pairs “, → well” and “, → came”.",
    )


def check_locked(answer, guess, secret):
    """The digest that locks a guess with a secret."""
    expected = commit(guess, secret=secret)
    mistakes = [
        (commit(guess), "the secret is missing: without it a neighbour can try every number and find yours"),
        (expected[:16], "that is the beginning; the whole digest was asked for"),
        (str(guess), "that is the guess itself, for everybody to see"),
    ]
    wrong = [(value, why) for value, why in mistakes if value != expected]
    return check_choice(
        answer,
        expected,
        options=[expected, *(value for value, _ in wrong)],
        mistakes=wrong,
        learnt="The same guess and secret give the same digest on every machine, today and in ten years.",
    )


# --- the last two: a picture, and a claim on trial ---------------------------------------------------------
PICTURE_OPTIONS, check_picture, on_trial, TRIAL_OPTIONS, check_trial = close("13")


# --- the checks' own proof -------------------------------------------------------------------------------
def EXAMPLES():
    """Right, wrong and unfilled answers of every check."""
    phases = np.repeat(np.eye(3), [2, 3, 2], axis=0) + 0.01 * np.random.default_rng(0).random((7, 3))
    p = [0.002, 0.009, 0.03, 1.0, 1.0]

    def inside(weights, ids):
        return weights[ids[:, None] == ids].sum() / weights.sum()

    return {
        "check_refuting": (REFUTING_OPTIONS[1], REFUTING_OPTIONS[0], ...),
        "check_auc": (
            lambda o, i: np.mean([(a > b) + (a == b) / 2 for a in o for b in i]),
            lambda o, i: 1 - auc_above(o, i),
            ...,
        ),
        "check_explained": (explained_by_split, lambda x, cuts: 1 - explained_by_split(x, cuts), ...),
        "check_best_cuts": (args((2, 5), phases), args((1, 4), phases), args(..., phases)),
        "check_split_p": (
            args(0.2, 0.9, [0.95, 0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8]),
            args(1 / 9, 0.9, [0.95, 0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8]),
            args(..., 0.9, [0.95, 0.1]),
        ),
        "check_null": (NULL_OPTIONS[1], NULL_OPTIONS[0], ...),
        "check_inside": (inside, lambda w, ids: 1 - inside(w, ids), ...),
        "check_survivors": (args({1, 2}, p), args({1, 2, 3}, p), args(..., p)),
        "check_verdict": (
            args(UNDECIDED, -0.1, 0.4, 0.0, 0.3, 1.0),
            args(REFUTED, -0.1, 0.4, 0.0, 0.3, 1.0),
            args(..., -0.1, 0.4, 0.0, 0.3, 1.0),
        ),
        "check_pattern": (COMMA, parse_pattern("query.word(',') & key.next()"), ...),
        "check_locked": (
            args(commit(12, secret="fig"), 12, "fig"),
            args(commit(12), 12, "fig"),
            args(..., 12, "fig"),
        ),
        **closing_examples("13"),
    }


sheet = keep_sheet(globals())  # what the checks above have said, as the last cell shows it
