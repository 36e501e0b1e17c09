"""Checks of lesson 6: heads that know syntax."""

from __future__ import annotations

import numpy as np

from ..analyses.syntax import NO_ANSWER
from ..corpora import TreebankSentence
from ..model import load_recording
from ..published import published_table_1
from .answers import check_choice, check_function, check_list, check_number
from .cases import close, closing_examples
from .feedback import args
from .sheet import keep_sheet


def _rows(n, seed=0):
    """One head's map over n words: rows sum to 1, no two entries alike, and the largest of a row often on the diagonal."""
    weights = np.random.default_rng(seed).dirichlet(np.ones(n), size=n) + np.eye(n) * 0.3
    return weights / weights.sum(-1, keepdims=True)


def _sentence(words, governors, relations, upos):
    n = len(governors)
    blank = ("_",) * n
    return TreebankSentence(
        tuple(words.split()),
        governors,
        tuple(relations.split()),
        tuple(upos.split()),
        blank,
        blank,
        ({},) * n,
    )


# --- 1 and 2 ---------------------------------------------------------------------------------------------
def _named(weights, word):
    row = np.array(weights[word], dtype=float)
    row[word] = -1
    return int(row.argmax())


def check_named_governor(function):
    """``named_governor(weights, word)``: the other word that gets most of this word's attention."""
    cases = [
        ((_rows(n, seed), word), _named(_rows(n, seed), word))
        for n, seed in ((4, 1), (6, 2))
        for word in range(n)
    ]
    return check_function(
        function,
        cases,
        mistakes=[
            (
                lambda w, i: int(w[i].argmax()),
                "a word may not name itself: put the diagonal out of the race before you take the maximum",
            ),
            (
                lambda w, i: _named(w.T, i),
                "that is the word that looks most at this one: you read a column. Row i says where word i looks",
            ),
            (
                lambda w, i: int(np.delete(w[i], i).argmax()),
                "after deleting an entry the positions behind it have moved by one",
            ),
            (
                lambda w, i: int(np.argsort(w[i])[-2]),
                "the second largest is right only when the word's own weight is the largest",
            ),
        ],
        learnt="One row, the diagonal out, the largest. A head answers even when almost all of its attention went to [SEP].",
    )


def check_by_columns(function):
    """``by_columns(weights)``: for each word, the word that looks most at it."""
    cases = [
        ((_rows(n, seed),), [_named(_rows(n, seed).T, i) for i in range(n)]) for n, seed in ((4, 3), (6, 4))
    ]
    return check_function(
        function,
        cases,
        mistakes=[
            (
                lambda w: [_named(w, i) for i in range(len(w))],
                "those are the rows: whom each word looks at. Here the governor looks; read column i",
            ),
            (
                lambda w: [int(w[:, i].argmax()) for i in range(len(w))],
                "the right columns, but the diagonal takes part",
            ),
        ],
        learnt="The same head, read the other way: 144 heads are 288 competitors, and the best of 288 is easier to find than the best of 144.",
    )


# --- 3 ---------------------------------------------------------------------------------------------------
def _offset_accuracy(governors, offset):
    right = [word + offset == governor for word, governor in enumerate(governors) if governor >= 0]
    return float(np.mean(right))


def check_offset_accuracy(function):
    """``offset_accuracy(governors, offset)``: how often the governor stands that far away; roots (-1) are not scored."""
    cases = [
        (([1, 2, -1, 4, 2], +1), 0.75),
        (([1, 2, -1, 4, 2], -2), 0.25),
        (([-1, 0, 0, 1], -1), 1 / 3),
        (([-1, 0, 0, 0], -2), 1 / 3),
        (([2, 2, -1], +2), 0.5),
    ]

    def with_root(governors, offset):
        return float(np.mean([word + offset == g for word, g in enumerate(governors)]))

    def clipped(governors, offset):
        n = len(governors)
        return float(
            np.mean([min(max(word + offset, 0), n - 1) == g for word, g in enumerate(governors) if g >= 0])
        )

    return check_function(
        function,
        cases,
        mistakes=[
            (
                lambda g, o: _offset_accuracy(g, -o),
                "the sign is turned: +1 is the next word, so the governor is at `word + offset`",
            ),
            (
                with_root,
                "roots have no governor and are not scored: divide by the words whose governor is not -1",
            ),
            (
                clipped,
                "an offset that points outside the sentence gives no answer; you took the first or the last word instead",
            ),
        ],
        learnt="The rival of every head. `+1`, always the next word, is also the parser that calls everything right-branching.",
    )


# --- 4 ---------------------------------------------------------------------------------------------------
BOX = _sentence(
    "The cat sat in the old box",
    (1, 2, -1, 6, 6, 6, 2),
    "det nsubj root case det amod obl",
    "DET NOUN VERB ADP DET ADJ NOUN",
)

BOX_STANFORD = [1, 2, -1, 2, 6, 6, 3]


def check_turned_arcs(answer):
    """The governors of "The cat sat in the old box" in the Stanford scheme."""
    return check_list(
        answer,
        BOX_STANFORD,
        mistakes=[
            (list(BOX.governors), "that is still Universal Dependencies, where *in* hangs on *box*"),
            (
                [1, 2, -1, 2, 6, 6, 2],
                "*in* is right: it hangs on *sat*. But *box* now hangs on *in*, not on the verb",
            ),
            (
                [1, 2, -1, 6, 6, 6, 3],
                "then *in* and *box* would govern each other. *in* takes the place *box* had in the tree",
            ),
            (
                [2, 3, 0, 3, 7, 7, 4],
                "the tree is right, but words count from 0 here, and the root's governor is -1",
            ),
        ],
        learnt="`prep(sat, in)`, `pobj(in, box)`. A head that looks from *in* to *box* is right by columns in Stanford (pobj) and by rows in UD "
        "(case): one habit, two names.",
    )


# --- 5 ---------------------------------------------------------------------------------------------------
def check_auxpass_gain(answer):
    """What BERT-base's best head gains over the best offset on auxpass, by the authors' own output."""
    row = published_table_1()["auxpass"]
    return check_number(
        answer,
        row.code_accuracy - row.code_baseline,
        tolerance=0.051,
        mistakes=[
            (
                row.accuracy - row.baseline,
                "those are the printed numbers; the footnote says what the authors' code gives",
            ),
            (
                row.code_accuracy - row.baseline,
                "40.5 is the baseline of cop, the row above; take both numbers from the same output",
            ),
            (row.code_accuracy, "that is the head's accuracy; subtract what the best offset reaches"),
        ],
        learnt="A gain of 11.6 points, not 42. The next word alone finds the verb of a passive auxiliary four times in five.",
    )


# --- 6 ---------------------------------------------------------------------------------------------------
def _fair(marks, half):
    marks, half = np.asarray(marks), np.asarray(half)
    first, second = (marks[half == side].sum(axis=0).argmax() for side in (0, 1))
    return float(np.concatenate([marks[half == 1, first], marks[half == 0, second]]).mean())


def check_fair_accuracy(function):
    """``fair_accuracy(marks, half)``: the best column chosen on one half of the rows, scored on the other, both ways."""
    cases = []
    for seed in range(4):
        generator = np.random.default_rng(seed)
        cases.append(((generator.random((40, 7)) < 0.3, np.arange(40) % 2), None))
    cases = [(arguments, _fair(*arguments)) for arguments, _ in cases]

    def one_way(marks, half):
        return float(marks[half == 1][:, marks[half == 0].sum(axis=0).argmax()].mean())

    def other_way(marks, half):
        return float(marks[half == 0][:, marks[half == 1].sum(axis=0).argmax()].mean())

    def same_half(marks, half):
        best = [marks[half == side].sum(axis=0).argmax() for side in (0, 1)]
        return float(np.concatenate([marks[half == 0, best[0]], marks[half == 1, best[1]]]).mean())

    return check_function(
        function,
        cases,
        mistakes=[
            (
                lambda marks, half: float(marks.mean(axis=0).max()),
                "that is the best head on the very cases it is scored on: the flattering number",
            ),
            (
                same_half,
                "each half is scored with the head it chose itself; score it with the other half's choice",
            ),
            (
                one_way,
                "one way only: now let the second half choose and the first report, and put all cases together",
            ),
            (
                other_way,
                "one way only: now let the first half choose and the second report, and put all cases together",
            ),
        ],
        learnt="Each case is scored once, by a head that was chosen without it. The two halves may well choose different heads.",
    )


# --- 7 ---------------------------------------------------------------------------------------------------
def check_best_of_one_case(answer, heads=72, accuracy=0.1):
    """Chance that the best of so many heads is right on a single case."""
    expected = 1 - (1 - accuracy) ** heads
    return check_number(
        answer,
        expected,
        tolerance=1e-4,
        mistakes=[
            (accuracy, "that is one head's chance. The best is right if *any* of them is"),
            ((1 - accuracy) ** heads, "that is the chance that *all* are wrong"),
            (accuracy**heads, "that is the chance that *all* are right at once"),
            (heads * accuracy, "chances of heads that can be right together do not add up: this is over 1"),
        ],
        learnt=f"{expected:.4f}: on a single case the best of {heads} heads that know next to nothing is almost surely right.",
    )


# --- 8 ---------------------------------------------------------------------------------------------------
def _next_verb(sentence):
    answers = []
    for word in range(len(sentence)):
        later = [j for j in range(word + 1, len(sentence)) if sentence.upos[j] == "VERB"]
        answers.append(later[0] if later else NO_ANSWER)
    return answers


VERBS = (
    BOX,
    _sentence(
        "dogs that bark often sleep",
        (4, 2, 0, 2, -1),
        "nsubj nsubj acl advmod root",
        "NOUN PRON VERB ADV VERB",
    ),
    _sentence("yes", (-1,), "root", "INTJ"),
)


def check_next_verb(function):
    """``next_verb(sentence)``: a predictor that always names the next verb to the right, and gives no answer without one."""

    def previous(sentence):
        n = len(sentence)
        verbs = [[j for j in range(word) if sentence.upos[j] == "VERB"] for word in range(n)]
        return [v[-1] if v else NO_ANSWER for v in verbs]

    def itself(sentence):
        n = len(sentence)
        verbs = [[j for j in range(word, n) if sentence.upos[j] == "VERB"] for word in range(n)]
        return [v[0] if v else NO_ANSWER for v in verbs]

    def last(sentence):
        n = len(sentence)
        verbs = [[j for j in range(word + 1, n) if sentence.upos[j] == "VERB"] for word in range(n)]
        return [v[-1] if v else NO_ANSWER for v in verbs]

    return check_function(
        function,
        [((sentence,), _next_verb(sentence)) for sentence in VERBS],
        mistakes=[
            (previous, "those verbs stand to the left; a subject stands before its verb"),
            (itself, "a verb names itself here: begin to look at `word + 1`"),
            (last, "that is the last verb of the sentence; the *next* one was asked for"),
        ],
        learnt="A predictor is a function, a sentence in, one governor a word out. Heads, offsets and rules of thumb meet the same judge.",
    )


# --- 9 ---------------------------------------------------------------------------------------------------
P_OPTIONS = (
    "one head is better than chance",
    "some head's answers go with more than the usual distance",
    "the head is used by the model",
)


def check_what_p_says(answer):
    """What a small corrected p supports."""
    return check_choice(
        answer,
        P_OPTIONS[1],
        options=P_OPTIONS,
        mistakes=[
            (
                P_OPTIONS[0],
                (
                    "chance is not the rival here: the shuffled distances keep what is typical for the relation, and the best of all heads is "
                    "compared with the best of all heads"
                ),
            ),
            (
                P_OPTIONS[2],
                "nothing was switched off; an arg max shows where a head looks, not what the model does with it",
            ),
        ],
        learnt="The rival knows the relation's distances and has as many tries. That is why so many impressive heads end with p = 1.",
    )


# --- 10: a recording of BERT-base ------------------------------------------------------------------------
# Annotated by hand: text, position of the determiner, position of its noun; words count from 0. Every *an* and *the* of the recorded
# inputs that are one sentence.
DETERMINERS = (
    ("time flies like an arrow", 3, 4),
    ("the cat sat on the mat", 0, 1),
    ("the cat sat on the mat", 4, 5),
    ("the author talked to sara about [MASK] book", 0, 1),
    ("the animal didn't cross the street because it was too tired.", 0, 1),
    ("the animal didn't cross the street because it was too tired.", 6, 7),
    ("i bought seven apples today but i didn't like the way they tasted.", 11, 12),
)

# 8-11, and heads that are right in all, some or none of the cases: with fewer of them a wrong version could pass.
_TRIED_HEADS = ((7, 10), (2, 0), (3, 5), (2, 5), (5, 5), (7, 2))


def _det_accuracy(recording, layer, head, named=_named):
    maps = {text: recording[text].to_words().weights[layer, head] for text, _, _ in DETERMINERS}
    return float(np.mean([named(maps[text][1:-1, 1:-1], word) == noun for text, word, noun in DETERMINERS]))


def check_det_accuracy(function, recording):
    """``det_accuracy(layer, head)``: share of `DETERMINERS` whose noun the head of a recording names."""

    def version(**how):
        return lambda layer, head: _det_accuracy(recording, layer, head, **how)

    def uncut(layer, head):
        maps = [recording[text].to_words().weights[layer, head] for text, _, _ in DETERMINERS]
        return float(np.mean([_named(m, word) == noun for m, (_, word, noun) in zip(maps, DETERMINERS)]))

    def first_only(layer, head):
        text, word, noun = DETERMINERS[0]
        return float(_named(recording[text].to_words().weights[layer, head][1:-1, 1:-1], word) == noun)

    return check_function(
        function,
        [((layer, head), _det_accuracy(recording, layer, head)) for layer, head in _TRIED_HEADS],
        mistakes=[
            (
                version(named=lambda w, i: _named(w.T, i)),
                "you read columns: who looks at the determiner. Here the determiner looks, row `word`",
            ),
            (
                uncut,
                "[CLS] stands at position 0 of the map, and the positions of the list count words: cut both ends off, `[1:-1, 1:-1]`",
            ),
            (
                lambda layer, head: _det_accuracy(recording, head, layer),
                "layer and head are swapped: `weights[layer, head]`",
            ),
            (
                lambda layer, head: _det_accuracy(recording, layer - 1, head - 1),
                "indices count from 0 already; do not take 1 away",
            ),
            (
                lambda layer, head: len(DETERMINERS) * _det_accuracy(recording, layer, head),
                "that is how many are right; divide by the number of cases",
            ),
            (
                lambda layer, head: 1 - _det_accuracy(recording, layer, head),
                "that is the share of wrong answers",
            ),
            (
                lambda layer, head: 0.0,
                "no head is right in any case: is `named_governor` of exercise 1 filled in?",
            ),
            (first_only, "that is the first case only: does `return` stand inside the loop?"),
            (
                version(named=lambda w, i: i + 1),
                "that is the rival, always the next word; ask the head for its answer",
            ),
        ],
        learnt=f"One judge for every head, {len(DETERMINERS)} cases, the same ones for all.",
    )


SMALL_OPTIONS = (
    "head 8-11 knows which noun a determiner belongs to",
    "these cases cannot tell head 8-11 from a fixed distance",
    "head 8-11 only looks at the next word",
)


def check_small_list(answer):
    """What a handful of cases, in all of which the rival is right, shows of a head."""
    return check_choice(
        answer,
        SMALL_OPTIONS[1],
        options=SMALL_OPTIONS,
        mistakes=[
            (
                SMALL_OPTIONS[0],
                "*always the next word* is right in all these cases too, and it knows nothing",
            ),
            (
                SMALL_OPTIONS[2],
                "that would explain these cases, but so would more: none of them has an adjective between determiner and noun",
            ),
        ],
        learnt="One sentence is not a measure, and neither are a few. What decides is cases where the noun is *not* the next word, many of them.",
    )


# --- the last two: a picture, and a claim on trial ---------------------------------------------------------
PICTURE_OPTIONS, check_picture, on_trial, TRIAL_OPTIONS, check_trial = close("06")


# --- the checks' own proof -------------------------------------------------------------------------------
def EXAMPLES():
    """Right, wrong and unfilled answers of every check."""
    recording = load_recording("bert-base-uncased")
    return {
        "check_named_governor": (_named, lambda w, i: int(w[i].argmax()), ...),
        "check_by_columns": (
            lambda w: [_named(w.T, i) for i in range(len(w))],
            lambda w: [_named(w, i) for i in range(len(w))],
            ...,
        ),
        "check_offset_accuracy": (_offset_accuracy, lambda g, o: _offset_accuracy(g, -o), ...),
        "check_turned_arcs": (BOX_STANFORD, list(BOX.governors), ...),
        "check_auxpass_gain": (11.6, 42.0, ...),
        "check_fair_accuracy": (_fair, lambda m, h: float(m.mean(axis=0).max()), ...),
        "check_best_of_one_case": (args(1 - 0.9**72), args(0.1), args(...)),
        "check_next_verb": (
            _next_verb,
            lambda s: [max(i - 1, 0) for i in range(len(s))],
            ...,
        ),
        "check_what_p_says": (P_OPTIONS[1], P_OPTIONS[0], ...),
        "check_det_accuracy": (
            args(lambda layer, head: _det_accuracy(recording, layer, head), recording),
            args(lambda layer, head: 1.0, recording),
            args(..., recording),
        ),
        "check_small_list": (SMALL_OPTIONS[1], SMALL_OPTIONS[0], ...),
        **closing_examples("06"),
    }


sheet = keep_sheet(globals())  # what the checks above have said, as the last cell shows it
