"""Checks of lesson 7: heads that find antecedents."""

from __future__ import annotations

import numpy as np

from ..published import published_table_2
from .answers import ChoiceCheck, FunctionCheck, ListCheck, NumberCheck
from .cases import case_rows, close, of_run, words_of
from .sheet import keep_sheet

# --- 1 ---------------------------------------------------------------------------------------------------
check_anaphors = FunctionCheck(
    lambda things: [i for i, thing in enumerate(things) if thing in things[:i]],
    asks="``anaphors(things)``: which mentions refer to something mentioned before.",
    cases=[list("abac"), list("aabba"), list("abc"), list("abcabc")],
    wrong=[
        "that takes in the first mention of a thing too, which has nothing before it to refer to",
        lambda t: [i for i, x in enumerate(t) if t.count(x) > 1],
        "those are mentioned again *later*; look at the mentions before",
        lambda t: [i for i, x in enumerate(t) if x in t[i + 1 :]],
        "the antecedent need not be the mention right before",
        lambda t: [i for i, x in enumerate(t) if i and t[i - 1] == x],
    ],
    learnt="Only mentions with an earlier one of the same thing are scored. The first of each thing has no antecedent.",
)

# --- 2 ---------------------------------------------------------------------------------------------------
check_named_antecedent = FunctionCheck(
    lambda row, candidates: candidates[row[candidates].argmax()],
    asks="``named_antecedent(row, candidates)``: the candidate word that gets most attention.",
    cases=[
        (case_rows(7, seed=0), [1, 4]),
        (case_rows(7, seed=1), [2, 3, 5]),
        (case_rows(9, seed=2), [6, 1, 3]),
        (case_rows(9, seed=3), [0, 8]),
        (case_rows(8, seed=4), [3]),
        (case_rows(6, seed=5), [4, 5]),
    ],
    wrong=[
        "that is the word with most attention of all; only the candidates may be named",
        lambda r, c: r.argmax(),
        "that is a place in the list of candidates; the position of the *word* in the text was asked for",
        lambda r, c: r[c].argmax(),
        "that is always the last candidate in the text, whatever the attention",
        lambda r, c: max(c),
    ],
    learnt="A head names a candidate even if nearly all of its attention went elsewhere.",
)


# --- 3 ---------------------------------------------------------------------------------------------------
def _matching(pick, form=str.lower):
    """Names the same word among those before, ``pick`` of several, None if there is none."""
    return lambda words, mention, before: pick(
        (i for i in before if form(words[i]) == form(words[mention])), default=None
    )


def _match_or_nearest(words, mention, before):
    found = _matching(max)(words, mention, before)
    return max(before) if found is None else found


_TEXT = words_of("Ann saw a dog . The Dog saw Ann , and she fed the dog and Ann")

check_head_match = FunctionCheck(
    _matching(max),
    asks="``head_match(words, mention, before)``: the nearest earlier head word that is the same word, or None.",
    cases=[
        (_TEXT, 14, [0, 3, 6, 8, 11]),
        (_TEXT, 16, [0, 3, 6, 8, 11, 14]),
        (_TEXT, 11, [0, 3, 6, 8]),
        (_TEXT, 6, [0, 3]),
        (_TEXT, 8, [0, 3, 6]),
    ],
    wrong=[
        "`Dog` and `dog` are one word here: compare in lower case",
        _matching(max, form=str),
        "that is the first of the same words; of several take the *nearest*, the last before the mention",
        _matching(min),
        "where no word is the same there is no answer: return `None`, which counts as wrong",
        _match_or_nearest,
    ],
    learnt="Two lines without any network. In Table 2 they find 52 of 100 antecedents.",
)

# --- 4 ---------------------------------------------------------------------------------------------------
STORY = words_of("Ann met Mary and her dog . The dog barked , and she laughed at Mary")
STORY_ANSWERS = ["Mary", "dog", "her", "Mary"]

check_sieves = ListCheck(
    STORY_ANSWERS,
    asks="What the four sieves answer for her, The dog, she and the last Mary in the story.",
    wrong=[
        "that is the nearest mention each time; a sieve looks at words and agreement first",
        ["Mary", "dog", "dog", "she"],
        "a dog agrees with *it*, not with *she*: the third sieve lets only agreeing mentions through",
        ["Mary", "dog", "dog", "Mary"],
        "*her* is a mention too; it agrees with *she* and stands nearer than *Mary*",
        ["Mary", "dog", "Mary", "Mary"],
        "of the mentions that agree, the *nearest* is taken, not the first",
        ["Ann", "dog", "Ann", "Mary"],
    ],
    learnt="Same string, same head word, agreement, any: the first sieve that lets somebody through decides, and the nearest wins.",
)


# --- 5 ---------------------------------------------------------------------------------------------------
@of_run()
def check_fair_gain():
    """Head 5-4 against the best of the three rules of Table 2, all mentions, in points."""
    table = published_table_2()
    gain = {rule: table["best head"].all - row.all for rule, row in table.items()}
    return NumberCheck(
        gain["four sieves"],
        tolerance=0.01,
        wrong=[
            "that is the gain over the *weakest* of the three; take the strongest rule",
            gain["nearest"],
            "head match is the second best; take the strongest of the three rules",
            gain["head match"],
            "that row is a coreference system on whole documents, not one of the three rules",
            gain["neural system"],
            "the sign is reversed: the *head's* gain was asked for, so the head's accuracy comes first",
            -gain["four sieves"],
        ],
        learnt="-4: the head is behind. 65 against 27 is true as well, and tells another story.",
    )


# --- 6 ---------------------------------------------------------------------------------------------------
check_candidates = ChoiceCheck.among(
    {
        "among all words": "with more words to choose from there are only more wrong ones: every antecedent is a mention already",
        "among earlier mentions": None,
        "it depends on the head": "suppose a head is right among all words. Is that word among the earlier mentions? Is anything there ahead of it?",
    },
    asks="Under which definition a head can never have fewer right answers.",
    learnt="If the largest of all words is an antecedent, it is the largest of the mentions too. The reverse need not hold, so the definition "
    "can move the number in one direction only, and has to be stated.",
)
CANDIDATE_OPTIONS = check_candidates.options

# --- 7 ---------------------------------------------------------------------------------------------------
_DRAWN = np.random.default_rng(7)

check_both_right = FunctionCheck(
    lambda first, second: (first & second).mean(),
    asks="``both_right(first, second)``: share of minimal pairs of which both members are right.",
    cases=[
        *(tuple(_DRAWN.random((2, n)) < 0.6) for n in (5, 8, 11)),
        (np.array([True, False]), np.array([False, True])),
    ],
    wrong=[
        "that is the plain accuracy: a pair counts only if *both* members are right",
        lambda a, b: (a.mean() + b.mean()) / 2,
        "that is *at least one* right; a head that always names the first candidate would score 1",
        lambda a, b: (a | b).mean(),
        "two wrong answers agree as well; both must be right",
        lambda a, b: (a == b).mean(),
    ],
    learnt="A head that always names the same place gets half of the cases, and not one pair. Guessing gets a quarter of the pairs.",
)

# --- 8 ---------------------------------------------------------------------------------------------------
check_unit = ChoiceCheck.among(
    {
        "mentions": "ten mentions of one keeper are not ten independent cases: if *he* is easy in a text, it is easy ten times",
        "sentences": "the antecedent often stands in an earlier sentence, so that sentences of one text depend on each other too",
        "documents": None,
    },
    asks="What has to be drawn in the bootstrap.",
    learnt="Mentions that depend on each other are drawn together. If single mentions were drawn, the interval would be too narrow.",
)
UNIT_OPTIONS = check_unit.options


# --- 9: another model, against the nearest mention ----------------------------------------------------------
def _drawn_gains(head, nearest, documents, drawn):
    """The gain over all mentions of the drawn documents, draw by draw."""
    difference, cases = _by_document(head, nearest, documents)
    return difference[drawn].sum(axis=1) / cases[drawn].sum(axis=1)


def _by_document(head, nearest, documents):
    difference = np.asarray(head, float) - nearest
    return np.bincount(documents, difference), np.bincount(documents)


def _mean_of_documents(head, nearest, documents, drawn):
    difference, cases = _by_document(head, nearest, documents)
    return (difference / cases)[drawn].mean(axis=1)


def _of_all_mentions(head, nearest, documents, drawn):
    difference, cases = _by_document(head, nearest, documents)
    return difference[drawn].sum(axis=1) / cases.sum()


def _each_once(head, nearest, documents, drawn):
    return [_drawn_gains(head, nearest, documents, np.unique(row)[None])[0] for row in drawn]


def _drawing(seed, sizes):
    """Answers for the mentions of some documents, and three draws of as many documents."""
    rng, documents = np.random.default_rng(seed), np.repeat(np.arange(len(sizes)), sizes)
    head, nearest = (rng.random(len(documents)) < share for share in (0.8, 0.4))
    return head, nearest, documents, rng.integers(len(sizes), size=(3, len(sizes)))


check_drawn_gains = FunctionCheck(
    _drawn_gains,
    asks="``drawn_gains(head, nearest, documents, drawn)``: head minus nearest, over all mentions of the documents of each draw.",
    cases=[_drawing(1, (5, 2, 9, 4)), _drawing(2, (1, 7, 3)), _drawing(3, (6, 2, 2, 8, 1))],
    axes=("draw",),
    wrong=[
        "that is the mean of the documents' gains: a document with more mentions counts for more",
        _mean_of_documents,
        "divide by the mentions of the *drawn* documents, not by those of all",
        _of_all_mentions,
        "a document that is drawn twice counts twice",
        _each_once,
        "the sign is reversed: head minus nearest",
        lambda *run: -_drawn_gains(*run),
        "the numbers in `drawn` are documents; you took them for mentions",
        lambda head, nearest, documents, drawn: (np.asarray(head, float) - nearest)[drawn].mean(axis=1),
        "that is the head's own accuracy; subtract that of the nearest mention, on the same documents",
        lambda head, nearest, documents, drawn: _drawn_gains(head, np.zeros(len(head)), documents, drawn),
    ],
    learnt="Head and rule are drawn together: a hard document pulls both down, so their difference is more certain than either number.",
)

BEATS_OPTIONS = ("neither", "the nearest mention", "the four sieves", "both")


def _run_of_minilm():
    head, nearest, documents, _ = _drawing(4, (8, 5, 9, 7, 6, 8, 9))
    return head, {"nearest": nearest, "four sieves": head}, documents


@of_run(_run_of_minilm)
def check_beats(head, rules, documents):
    """Which of two rules the best head beats, from the answers of all three; one of ``BEATS_OPTIONS``."""
    n = documents.max() + 1
    drawn = np.random.default_rng(7).integers(n, size=(1000, n))
    intervals = {
        rule: np.quantile(_drawn_gains(head, rules[rule], documents, drawn), [0.025, 0.975])
        for rule in ("nearest", "four sieves")
    }
    beaten = [low > 0 for low, _ in intervals.values()]
    means = dict(
        zip(BEATS_OPTIONS, ([False, False], [True, False], [False, True], [True, True]), strict=True)
    )
    said = [f"{rule}: [{low:+.2f}, {high:+.2f}]" for rule, (low, high) in intervals.items()]

    def why(option) -> str | None:
        wrong = [one for one, meant, found in zip(said, means[option], beaten) if meant != found]
        return (
            f"to beat a rule, the whole interval must lie above 0, and {', '.join(wrong)}" if wrong else None
        )

    return ChoiceCheck.among(
        {option: why(option) for option in BEATS_OPTIONS},
        learnt=f"{'; '.join(said)}. Beating the nearest mention shows more than distance; only beating the four sieves shows more than agreement as well.",
    )


# --- the last two: a picture, and a claim on trial ---------------------------------------------------------
PICTURE_OPTIONS, check_picture, on_trial, TRIAL_OPTIONS, check_trial = close("07")

sheet = keep_sheet(globals())  # what the checks above have said, as the last cell shows it
