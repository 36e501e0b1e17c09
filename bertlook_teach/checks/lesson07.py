"""Checks of lesson 7: heads that find antecedents."""

from __future__ import annotations

import numpy as np

from ..published import published_table_2
from .answers import check_choice, check_function, check_list, check_number
from .cases import close, closing_examples
from .sheet import keep_sheet


# --- 1 ---------------------------------------------------------------------------------------------------
def _anaphors(things):
    return [i for i, thing in enumerate(things) if thing in things[:i]]


def check_anaphors(function):
    """``anaphors(things)``: which mentions refer to something mentioned before."""
    cases = [((list(text),), _anaphors(text)) for text in ("abac", "aabba", "abc", "abcabc")]
    return check_function(
        function,
        cases,
        mistakes=[
            (
                lambda t: [i for i, x in enumerate(t) if t.count(x) > 1],
                "that takes in the first mention of a thing too, which has nothing before it to refer to",
            ),
            (
                lambda t: [i for i, x in enumerate(t) if x in t[i + 1 :]],
                "those are mentioned again *later*; look at the mentions before",
            ),
            (
                lambda t: [i for i, x in enumerate(t) if i and t[i - 1] == x],
                "the antecedent need not be the mention right before",
            ),
        ],
        learnt="Only mentions with an earlier one of the same thing are scored. The first of each thing has no antecedent.",
    )


# --- 2 ---------------------------------------------------------------------------------------------------
def _row(n, seed):
    return np.random.default_rng(seed).dirichlet(np.ones(n))


def _named(row, candidates):
    candidates = list(candidates)
    return candidates[int(np.argmax(np.asarray(row)[candidates]))]


def check_named_antecedent(function):
    """``named_antecedent(row, candidates)``: the candidate word that gets most attention."""
    cases = [
        ((_row(n, seed), list(found)), _named(_row(n, seed), found))
        for n, seed, found in (
            (7, 0, (1, 4)),
            (7, 1, (2, 3, 5)),
            (9, 2, (6, 1, 3)),
            (9, 3, (0, 8)),
            (8, 4, (3,)),
            (6, 5, (4, 5)),
        )
    ]
    return check_function(
        function,
        cases,
        mistakes=[
            (
                lambda r, c: int(np.argmax(r)),
                "that is the word with most attention of all; only the candidates may be named",
            ),
            (
                lambda r, c: int(np.argmax(np.asarray(r)[c])),
                "that counts within the list of candidates; the *word* it stands for was asked for",
            ),
            (
                lambda r, c: max(c),
                "that is always the last candidate: a rule of place, and no attention in it",
            ),
        ],
        learnt="A head names a candidate even if nearly all of its attention went elsewhere.",
    )


# --- 3 ---------------------------------------------------------------------------------------------------
def _head_match(words, mention, before):
    same = [i for i in before if words[i].lower() == words[mention].lower()]
    return max(same) if same else None


def check_head_match(function):
    """``head_match(words, mention, before)``: the nearest earlier head word that is the same word, or None."""
    text = [
        "Ann",
        "saw",
        "a",
        "dog",
        ".",
        "The",
        "Dog",
        "saw",
        "Ann",
        ",",
        "and",
        "she",
        "fed",
        "the",
        "dog",
        "and",
        "Ann",
    ]
    cases = [
        ((text, 14, [0, 3, 6, 8, 11]), 6),
        ((text, 16, [0, 3, 6, 8, 11, 14]), 8),
        ((text, 11, [0, 3, 6, 8]), None),
        ((text, 6, [0, 3]), 3),
        ((text, 8, [0, 3, 6]), 0),
    ]

    def strict(words, mention, before):
        return max((i for i in before if words[i] == words[mention]), default=None)

    def first(words, mention, before):
        return min((i for i in before if words[i].lower() == words[mention].lower()), default=None)

    def fallback(words, mention, before):
        found = _head_match(words, mention, before)
        return max(before) if found is None else found

    return check_function(
        function,
        cases,
        mistakes=[
            (strict, "`Dog` and `dog` are one word here: compare in lower case"),
            (
                first,
                "that is the first of the same words; of several take the *nearest*, the last before the mention",
            ),
            (fallback, "where no word is the same there is no answer: return `None`, which counts as wrong"),
        ],
        learnt="Two lines without any network. In Table 2 they find 52 of 100 antecedents.",
    )


# --- 4 ---------------------------------------------------------------------------------------------------
STORY = [
    "Ann",
    "met",
    "Mary",
    "and",
    "her",
    "dog",
    ".",
    "The",
    "dog",
    "barked",
    ",",
    "and",
    "she",
    "laughed",
    "at",
    "Mary",
]

STORY_ANSWERS = ["Mary", "dog", "her", "Mary"]


def check_sieves(answer):
    """What the four sieves answer for her, The dog, she and the last Mary in the story."""
    return check_list(
        answer,
        STORY_ANSWERS,
        mistakes=[
            (
                ["Mary", "dog", "dog", "she"],
                "that is the nearest mention each time; a sieve looks at words and agreement first",
            ),
            (
                ["Mary", "dog", "dog", "Mary"],
                "a dog agrees with *it*, not with *she*: the third sieve lets only agreeing mentions through",
            ),
            (
                ["Mary", "dog", "Mary", "Mary"],
                "*her* is a mention too; it agrees with *she* and stands nearer than *Mary*",
            ),
            (
                ["Ann", "dog", "Ann", "Mary"],
                "of the mentions that agree, the *nearest* is taken, not the first",
            ),
        ],
        learnt="Same string, same head word, agreement, any: the first sieve that lets somebody through decides, and the nearest wins.",
    )


# --- 5 ---------------------------------------------------------------------------------------------------
def check_fair_gain(answer):
    """Head 5-4 against the best of the three rules of Table 2, all mentions, in points."""
    table = published_table_2()
    best = table["best head"].all
    return check_number(
        answer,
        best - table["four sieves"].all,
        tolerance=0.01,
        mistakes=[
            (
                best - table["nearest"].all,
                "that is the gain over the *weakest* of the three; take the strongest rule",
            ),
            (
                best - table["head match"].all,
                "head match is the second best; take the strongest of the three rules",
            ),
            (
                best - table["neural system"].all,
                "that row is a coreference system on whole documents, not one of the three rules",
            ),
            (
                table["four sieves"].all - best,
                "the sign: what the *head* gains, so the head's accuracy comes first",
            ),
            (
                table["best head"].proper - table["four sieves"].proper,
                "those are names only; take the column for all mentions",
            ),
        ],
        learnt="-4: the head is behind. 65 against 27 is true as well, and tells another story.",
    )


# --- 6 ---------------------------------------------------------------------------------------------------
CANDIDATE_OPTIONS = (
    "among all words",
    "among earlier mentions",
    "it depends on the head",
)


def check_candidates(answer):
    """Under which definition a head can never have fewer right answers."""
    return check_choice(
        answer,
        CANDIDATE_OPTIONS[1],
        options=CANDIDATE_OPTIONS,
        mistakes=[
            (
                CANDIDATE_OPTIONS[0],
                "with more words to choose from there are only more wrong ones: every antecedent is a mention already",
            ),
            (
                CANDIDATE_OPTIONS[2],
                "suppose a head is right among all words. Is that word among the earlier mentions? Is anything there ahead of it?",
            ),
        ],
        learnt="If the largest of all words is an antecedent, it is the largest of the mentions too. The reverse need not hold, so the definition "
        "moves the number one way only, and has to be told.",
    )


# --- 7 ---------------------------------------------------------------------------------------------------
def _both(first, second):
    return float(np.mean(np.asarray(first) & np.asarray(second)))


def check_both_right(function):
    """``both_right(first, second)``: share of minimal pairs of which both members are right."""
    generator = np.random.default_rng(7)
    cases = []
    for n in (5, 8, 11):
        first, second = generator.random((2, n)) < 0.6
        cases.append(((first, second), _both(first, second)))
    cases.append(((np.array([True, False]), np.array([False, True])), 0.0))
    return check_function(
        function,
        cases,
        mistakes=[
            (
                lambda a, b: float(np.mean([np.mean(a), np.mean(b)])),
                "that is the plain accuracy: a pair counts only if *both* members are right",
            ),
            (
                lambda a, b: float(np.mean(a | b)),
                "that is *at least one* right; who always names the first candidate would score 1",
            ),
            (lambda a, b: float(np.mean(a == b)), "two wrong answers agree as well; both must be right"),
        ],
        learnt="Who always names the same place gets half of the cases, and not one pair. Guessing gets a quarter of the pairs.",
    )


# --- 8 ---------------------------------------------------------------------------------------------------
UNIT_OPTIONS = ("mentions", "sentences", "documents")


def check_unit(answer):
    """What has to be drawn in the bootstrap."""
    return check_choice(
        answer,
        "documents",
        options=UNIT_OPTIONS,
        mistakes=[
            (
                "mentions",
                "ten mentions of one keeper are not ten independent cases: if *he* is easy in a text, it is easy ten times",
            ),
            (
                "sentences",
                "the antecedent often stands in an earlier sentence, so that sentences of one text hang together too",
            ),
        ],
        learnt="What hangs together is drawn together. Drawn by mentions, the interval would be too narrow.",
    )


# --- the last two: a picture, and a claim on trial ---------------------------------------------------------
PICTURE_OPTIONS, check_picture, on_trial, TRIAL_OPTIONS, check_trial = close("07")


# --- the checks' own proof -------------------------------------------------------------------------------
def EXAMPLES():
    """Right, wrong and unfilled answers of every check."""
    return {
        "check_anaphors": (_anaphors, lambda t: [i for i, x in enumerate(t) if t.count(x) > 1], ...),
        "check_named_antecedent": (_named, lambda r, c: int(np.argmax(r)), ...),
        "check_head_match": (_head_match, lambda w, m, b: max(b), ...),
        "check_sieves": (STORY_ANSWERS, ["Mary", "dog", "dog", "Mary"], ...),
        "check_fair_gain": (-4, 38, ...),
        "check_candidates": (CANDIDATE_OPTIONS[1], CANDIDATE_OPTIONS[0], ...),
        "check_both_right": (_both, lambda a, b: float(np.mean(a | b)), ...),
        "check_unit": ("documents", "mentions", ...),
        **closing_examples("07"),
    }


sheet = keep_sheet(globals())  # what the checks above have said, as the last cell shows it
