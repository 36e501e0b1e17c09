"""Checks of lesson 12: scores of words, AUC, a prior to beat, and a list that ranks the wrong thing."""

from __future__ import annotations

import numpy as np

from ..metrics import auc
from .answers import ChoiceCheck, FunctionCheck, NumberCheck
from .cases import close, f1, of_run
from .sheet import keep_sheet


# --- 1: the column mean ----------------------------------------------------------------------------------
def _received(weights, axis=0):
    return (weights - np.diag(np.diag(weights))).sum(axis=axis) / (len(weights) - 1)


def _maps():
    rng = np.random.default_rng(12)
    return [rng.dirichlet(np.ones(n), size=n) for n in (3, 4, 6)]


check_received = FunctionCheck(
    _received,
    asks="``received(weights)``: mean of each column over the rows of the other words.",
    cases=_maps(),
    axes=("word",),
    wrong=[
        "these are sums along rows: what each word *gives*. A word's score is its column",
        lambda w: _received(w, axis=1),
        "the diagonal is still in: a word does not count for itself",
        lambda w: w.mean(axis=0),
        "divide by the number of *other* words",
        lambda w: _received(w) * (len(w) - 1) / len(w),
        "that is the sum; divide by the number of other words",
        lambda w: _received(w) * (len(w) - 1),
    ],
    learnt="A row says where a word looks, a column who looks at it.",
)

# --- 2: wordpieces to words ------------------------------------------------------------------------------
check_of_words = FunctionCheck(
    lambda pieces, word_ids: np.bincount(word_ids, pieces),
    asks="``of_words(pieces, word_ids)``: what a word receives is the sum of what its pieces receive.",
    cases=[
        (np.array([0.1, 0.2, 0.3, 0.4]), np.array([0, 1, 1, 2])),
        (np.array([0.5, 0.1, 0.1, 0.1]), np.array([0, 1, 1, 1])),
        (np.array([0.2, 0.3, 0.1]), np.array([0, 0, 1])),
    ],
    axes=("word",),
    wrong=[
        "that is the mean of the pieces; what a word receives is added up",
        lambda p, w: np.bincount(w, p) / np.bincount(w),
        "that is the largest piece; what a word receives is added up",
        lambda p, w: [p[w == i].max() for i in np.unique(w)],
        "that is the first piece alone",
        lambda p, w: [p[w == i][0] for i in np.unique(w)],
    ],
    learnt="So a word of three pieces gets three times as much from a head that looks at all tokens equally. Remember this in exercise 4.",
)

# --- 3: AUC ----------------------------------------------------------------------------------------------
check_auc = FunctionCheck(
    auc,
    asks="``auc(scores, is_key)``: share of pairs in which the key word is higher; ties count half.",
    cases=[
        (np.array(scores, float), np.array(key, bool))
        for scores, key in (
            ([3, 1, 2, 0], [1, 1, 0, 0]),
            ([1, 1, 1, 0, 2], [1, 0, 0, 1, 0]),
            ([5, 4, 4, 2, 2, 1], [0, 1, 0, 1, 0, 0]),
        )
    ],
    wrong=[
        "a tie counts half, not nothing: otherwise a score that is the same for every word would have AUC 0",
        lambda s, k: (s[k][:, None] > s[~k]).mean(),
        "a tie counts half, not whole",
        lambda s, k: (s[k][:, None] >= s[~k]).mean(),
        "the other way round: count the pairs in which the *key* word is higher",
        lambda s, k: 1 - auc(s, k),
        "that is the mean relative attention; AUC counts pairs",
        lambda s, k: s[k].mean() - s[~k].mean(),
        "that is an accuracy at one cut-off; AUC needs none",
        lambda s, k: ((s > s.mean()) == k).mean(),
    ],
    learnt="A share of pairs: no scale, no cut-off, .5 by chance.",
)

# --- 4: the number to beat -------------------------------------------------------------------------------
check_line = ChoiceCheck.among(
    {
        "0.5: that is chance": "the twin has learnt nothing, and its heads are above 0.5 all the same: adding up pieces is enough for that",
        "what a random twin reaches with the same recipe": None,
        "1.0: anything less is an error": "two people who mark key words do not agree that well",
    },
    asks="What a head's AUC must be compared with.",
    learnt="Chance is what the *recipe* gives without learning: the tokenizer splits rare words, and their pieces add up.",
)
LINE_OPTIONS = check_line.options


# --- 5: the prior ----------------------------------------------------------------------------------------
def _prior(share):
    return -share * np.log(share) - (1 - share) * np.log(1 - share)


check_prior = FunctionCheck(
    _prior,
    asks="``prior(share)``: nats per word for a rule that always predicts the share of key words.",
    cases=[0.5, 0.1, 0.03],
    wrong={
        "that is in bits; take the natural logarithm": lambda p: _prior(p) / np.log(2),
        "that is the part of the key words; the others cost something, too": lambda p: -p * np.log(p),
        "that is what one *key* word costs; take the mean over all words": lambda p: -np.log(p),
        "the sign is reversed: a loss is not negative": lambda p: -_prior(p),
    },
    learnt="With few key words the prior is already good. A head must cost fewer nats per word than *the prior*, not fewer than ln 2.",
)


# --- 6: class weights ------------------------------------------------------------------------------------
@of_run(lambda: (1.0, 0.1))
def check_put_back(log_odds, share):
    """From the log-odds of a class-weighted fit to those of the text."""
    of_share = np.log(share / (1 - share))
    return NumberCheck(
        log_odds + of_share,
        tolerance=0.01,
        wrong={
            "the wrong direction: key words are *rarer* than in the weighted fit": log_odds - of_share,
            "this still belongs to a world in which every second word is key": log_odds,
            "odds are share / (1 - share)": log_odds + np.log(share),
            "that is the probability; the log-odds were asked for": 1 / (1 + np.exp(-log_odds - of_share)),
        },
        learnt="A weighted fit answers as if every second word were key. Put the true share back, or its cross-entropy is worse than the prior's.",
    )


# --- 7: F1 at a cut-off ----------------------------------------------------------------------------------
def _called(n, cutoff, rng):
    """Scores that are higher for key words, among them a hit and a word that is not key."""
    is_key = rng.random(n) < 0.3
    is_key[:2] = True, False
    scores = rng.random(n) * 0.6 + 0.4 * is_key
    scores[0] = 0.95
    return scores, is_key, cutoff


_RNG = np.random.default_rng(7)

check_f1 = FunctionCheck(
    lambda scores, is_key, cutoff: f1(is_key, scores > cutoff),
    asks="``f1(scores, is_key, cutoff)`` of the words above the cut-off.",
    cases=[_called(n, cutoff, _RNG) for n, cutoff in ((12, 0.6), (20, 0.4), (30, 0.7))],
    wrong={
        "that is precision": lambda s, k, c: k[s > c].mean(),
        "that is recall": lambda s, k, c: (s > c)[k].mean(),
        "that is accuracy: the words that are not key count as well": lambda s, k, c: ((s > c) == k).mean(),
        "these are the words *below* the cut-off": lambda s, k, c: f1(k, s < c),
    },
    learnt="F1 needs a cut-off, and the cut-off is a choice: make it on the texts you fitted on.",
)


# --- 8: the slides' score --------------------------------------------------------------------------------
def _sum(t):
    used = t[t > 0]
    return -(used * np.log(used)).sum()


check_sum = FunctionCheck(
    _sum,
    asks="``score(t)``: minus the sum of t ln t over the words' maxima, 0 ln 0 = 0.",
    cases=[np.array(t) for t in ([0.5, 0.25, 0.125], [1.0, 0.0, 0.4], [0.9, 0.9, 0.01, 0.2])],
    wrong=[
        "you made the maxima sum to 1; the score takes the numbers as they are",
        lambda t: _sum(t / t.sum()),
        "the sign is reversed: minus the sum",
        lambda t: -_sum(t),
        "that is the mean over words; the sum was asked for",
        lambda t: _sum(t) / len(t),
        "that is in bits; take the natural logarithm",
        lambda t: _sum(t) / np.log(2),
    ],
    learnt="0 for a maximum of 0, 0 for a maximum of 1, and the largest at 1/e. It was never an entropy: nothing sums to 1.",
)

# --- 9: what it ranks ------------------------------------------------------------------------------------
check_trap = ChoiceCheck.among(
    {
        "the heads that tell key words best": "nothing in the formula knows which words are key",
        "heads whose maximum is near 0 or near 1 for every word": None,
        "the heads with the most attention on key words": "nothing in the formula knows which words are key; it treats all words equally",
    },
    asks="Which heads have the lowest score.",
    learnt="Saturated heads: the next-token heads (near 1) and those that rest on [SEP] (near 0). The score is low because t ln t is near 0 both for t near 0 and for t near 1.",
)
TRAP_OPTIONS = check_trap.options


# --- 10: another model, against RAKE -----------------------------------------------------------------------
def _lead(head, rule, *, times=1.96, ddof=1):
    """Mean of the differences over the texts, and the ends of its interval."""
    difference = head - rule
    reach = times * difference.std(ddof=ddof) / np.sqrt(len(difference))
    return np.array([difference.mean(), difference.mean() - reach, difference.mean() + reach])


def _unpaired(head, rule):
    mean = head.mean() - rule.mean()
    reach = 1.96 * np.sqrt((head.var(ddof=1) + rule.var(ddof=1)) / len(head))
    return np.array([mean, mean - reach, mean + reach])


def _of_one_text(head, rule):
    return _lead(head, rule, times=1.96 * np.sqrt(len(head)))


def _alike(n, rng):
    """The AUC of two scores on the same texts: what is hard for one is hard for the other."""
    hard = rng.random(n) * 0.4
    return 0.9 - hard + rng.random(n) * 0.1, 0.85 - hard + rng.random(n) * 0.1


_TEXTS = np.random.default_rng(10)

check_lead = FunctionCheck(
    _lead,
    asks="``lead(head, rule)``: mean difference over the texts, and both ends of its 95 % interval, as an array of three.",
    cases=[_alike(n, _TEXTS) for n in (9, 20, 31)],
    wrong=[
        "head and rule were scored on the *same* texts: take the difference in each text first, then its spread",
        _unpaired,
        "that is the interval of one text; the mean of n texts has a spread smaller by the root of n",
        _of_one_text,
        "one standard error to each side covers two thirds; 95 % need 1.96 of them",
        lambda head, rule: _lead(head, rule, times=1),
        "the spread of a sample: divide by n - 1 (`ddof=1`)",
        lambda head, rule: _lead(head, rule, ddof=0),
        "the sign is reversed: head minus rule",
        lambda head, rule: _lead(rule, head),
    ],
    learnt="Texts that are hard for one are hard for the other. In pairs that cancels, and the interval is narrower.",
)

LEAD_OPTIONS = ("the head is ahead", "RAKE is ahead", "a tie: the interval holds 0")


@of_run(lambda: (np.array([0.8, 0.9, 0.7, 0.8]), np.array([0.9, 0.8, 0.8, 0.7])))
def check_tie(head, rake):
    """Who is ahead on texts that had no part in the choice, from the AUCs of both; one of ``LEAD_OPTIONS``."""
    mean, low, high = _lead(np.asarray(head, float), np.asarray(rake, float))
    found = LEAD_OPTIONS[0 if low > 0 else 1 if high < 0 else 2]
    said = f"the mean lead is {mean:+.3f}, its interval [{low:+.3f}, {high:+.3f}], n = {len(head)} texts"
    beyond = "On other texts it may come out otherwise: say on which it was measured."
    if found == LEAD_OPTIONS[2]:
        beyond = (
            "A tie is not *equal*: with more texts the interval shrinks, and one of them may come out ahead."
        )
    return ChoiceCheck.among(
        {option: None if option == found else said for option in LEAD_OPTIONS},
        learnt=f"{said[0].upper()}{said[1:]}. {beyond}",
    )


# --- the last two: a picture, and a claim on trial ---------------------------------------------------------
PICTURE_OPTIONS, check_picture, on_trial, TRIAL_OPTIONS, check_trial = close("12")

sheet = keep_sheet(globals())  # what the checks above have said, as the last cell shows it
