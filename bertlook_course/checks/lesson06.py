"""Checks of lesson 6: heads that know syntax."""

from __future__ import annotations

import numpy as np

from bertlook_teach.model import load_recording

from ..analyses.syntax import NO_ANSWER
from ..corpora import TreebankSentence
from ..published import published_table_1
from .answers import ChoiceCheck, FunctionCheck, ListCheck, NumberCheck
from .cases import close, of_run
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


def _named_by_rows(weights):
    return [_named(weights, word) for word in range(len(weights))]


check_named_governor = FunctionCheck(
    _named,
    asks="``named_governor(weights, word)``: the other word that gets most of this word's attention.",
    cases=[(_rows(n, seed), word) for n, seed in ((4, 1), (6, 2)) for word in range(n)],
    wrong=[
        "a word may not name itself: leave out the diagonal before you take the maximum",
        lambda w, i: w[i].argmax(),
        "that is the word that looks most at this one: you read a column. Row i says where word i looks",
        lambda w, i: _named(w.T, i),
        "after deleting an entry the positions behind it have moved by one",
        lambda w, i: np.delete(w[i], i).argmax(),
        "the second largest is right only when the word's own weight is the largest",
        lambda w, i: np.argsort(w[i])[-2],
    ],
    learnt="Take one row, leave out the diagonal, and find the largest weight. A head answers even when almost all of its attention went to [SEP].",
)

check_by_columns = FunctionCheck(
    lambda weights: _named_by_rows(weights.T),
    asks="``by_columns(weights)``: for each word, the word that looks most at it.",
    cases=[_rows(4, 3), _rows(6, 4)],
    wrong=[
        "those are the rows: whom each word looks at. Here the governor looks; read column i",
        _named_by_rows,
        "those are the rows, with the diagonal: here the governor looks, so read column i, and a word may not name itself",
        lambda w: w.argmax(axis=1),
        "the columns are right, but the diagonal is still in",
        lambda w: w.argmax(axis=0),
    ],
    learnt="The same head, read the other way: 144 heads are 288 competitors, and the best of 288 is easier to find than the best of 144.",
)


# --- 3 ---------------------------------------------------------------------------------------------------
def _offset_accuracy(governors, offset):
    return np.mean([word + offset == governor for word, governor in enumerate(governors) if governor >= 0])


def _with_root(governors, offset):
    return np.mean([word + offset == governor for word, governor in enumerate(governors)])


def _clipped(governors, offset):
    last = len(governors) - 1
    return np.mean([min(max(word + offset, 0), last) == g for word, g in enumerate(governors) if g >= 0])


check_offset_accuracy = FunctionCheck(
    _offset_accuracy,
    asks="``offset_accuracy(governors, offset)``: how often the governor stands that far away; roots (-1) are not scored.",
    cases=[
        ([1, 2, -1, 4, 2], +1),
        ([1, 2, -1, 4, 2], -2),
        ([-1, 0, 0, 1], -1),
        ([-1, 0, 0, 0], -2),
        ([2, 2, -1], +2),
    ],
    wrong=[
        "the sign is reversed: +1 is the next word, so the governor is at `word + offset`",
        lambda g, o: _offset_accuracy(g, -o),
        "roots have no governor and are not scored: divide by the words whose governor is not -1",
        _with_root,
        "an offset that points outside the sentence gives no answer; you took the first or the last word instead",
        _clipped,
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

check_turned_arcs = ListCheck(
    [1, 2, -1, 2, 6, 6, 3],
    asks='The governors of "The cat sat in the old box" in the Stanford scheme.',
    wrong=[
        "that is still Universal Dependencies, where *in* hangs on *box*",
        BOX.governors,
        "*in* is right: it hangs on *sat*. But *box* now hangs on *in*, not on the verb",
        [1, 2, -1, 2, 6, 6, 2],
        "then *in* and *box* would govern each other. *in* takes the place *box* had in the tree",
        [1, 2, -1, 6, 6, 6, 3],
        "the tree is right, but words count from 0 here, and the root's governor is -1",
        [2, 3, 0, 3, 7, 7, 4],
    ],
    learnt="`prep(sat, in)`, `pobj(in, box)`. A head that looks from *in* to *box* is right by columns in Stanford (pobj) and by rows in UD "
    "(case): one habit, two names.",
)


# --- 5 ---------------------------------------------------------------------------------------------------
@of_run()
def check_auxpass_gain():
    """What BERT-base's best head gains over the best offset on auxpass, by the authors' own output."""
    row = published_table_1()["auxpass"]
    return NumberCheck(
        row.code_accuracy - row.code_baseline,
        tolerance=0.051,
        wrong=[
            "those are the printed numbers; the footnote says what the authors' code gives",
            row.accuracy - row.baseline,
            "40.5 is the baseline of cop, the row above; take both numbers from the same output",
            row.code_accuracy - row.baseline,
            "that is the head's accuracy; subtract what the best offset reaches",
            row.code_accuracy,
        ],
        learnt="A gain of 11.6 points, not 42. The next word alone finds the verb of a passive auxiliary four times in five.",
    )


# --- 6 ---------------------------------------------------------------------------------------------------
def _best(marks, half, side):
    return marks[half == side].sum(axis=0).argmax()


def _fair(marks, half):
    return np.concatenate([marks[half == 1 - side, _best(marks, half, side)] for side in (0, 1)]).mean()


def _same_half(marks, half):
    return np.concatenate([marks[half == side, _best(marks, half, side)] for side in (0, 1)]).mean()


check_fair_accuracy = FunctionCheck(
    _fair,
    asks="``fair_accuracy(marks, half)``: the best column chosen on one half of the rows, scored on the other, both ways.",
    cases=[(np.random.default_rng(seed).random((40, 7)) < 0.3, np.arange(40) % 2) for seed in range(4)],
    wrong=[
        "that is the best head on the very cases it is scored on: the flattering number",
        lambda m, half: m.mean(axis=0).max(),
        "each half is scored with the head it chose itself; score it with the other half's choice",
        _same_half,
        "one way only: now let the second half choose and the first report, and put all cases together",
        lambda m, half: m[half == 1, _best(m, half, 0)].mean(),
        "one way only: now let the first half choose and the second report, and put all cases together",
        lambda m, half: m[half == 0, _best(m, half, 1)].mean(),
    ],
    learnt="Each case is scored once, by a head that was chosen without it. The two halves may well choose different heads.",
)


# --- 7 ---------------------------------------------------------------------------------------------------
@of_run()
def check_best_of_one_case(heads=72):
    """Chance that the best of so many heads is right on a single case."""
    accuracy = 0.1
    expected = 1 - (1 - accuracy) ** heads
    return NumberCheck(
        expected,
        tolerance=1e-4,
        wrong={
            "that is one head's chance. The best is right if *any* of them is": accuracy,
            "that is the chance that *all* are wrong": (1 - accuracy) ** heads,
            "that is the chance that *all* are right at once": accuracy**heads,
            "chances of heads that can be right together do not add up: this is over 1": heads * accuracy,
        },
        learnt=f"{expected:.4f}: on a single case the best of {heads} heads that know next to nothing is almost surely right.",
    )


# --- 8 ---------------------------------------------------------------------------------------------------
def _verb(first, stop=None, pick=0):
    """A predictor that names a verb, the first or (``pick=-1``) the last, of the words from ``first(word)`` to ``stop(word)``."""

    def predictor(sentence):
        answers = []
        for word in range(len(sentence)):
            places = range(first(word), stop(word) if stop else len(sentence))
            verbs = [place for place in places if sentence.upos[place] == "VERB"]
            answers.append(verbs[pick] if verbs else NO_ANSWER)
        return answers

    return predictor


check_next_verb = FunctionCheck(
    _verb(lambda word: word + 1),
    asks="``next_verb(sentence)``: a predictor that always names the next verb to the right, and gives no answer without one.",
    cases=[
        BOX,
        _sentence(
            "dogs that bark often sleep",
            (4, 2, 0, 2, -1),
            "nsubj nsubj acl advmod root",
            "NOUN PRON VERB ADV VERB",
        ),
        _sentence("yes", (-1,), "root", "INTJ"),
    ],
    wrong=[
        "those verbs stand to the left; a subject stands before its verb",
        _verb(lambda word: 0, lambda word: word, -1),
        "a verb names itself here: begin to look at `word + 1`",
        _verb(lambda word: word),
        "that is the last verb of the sentence; the *next* one was asked for",
        _verb(lambda word: word + 1, pick=-1),
        "that is the first verb of the sentence for every word; begin to look at `word + 1`",
        _verb(lambda word: 0),
    ],
    learnt="A predictor is a function from a sentence to one governor per word. Heads, offsets and rules of thumb are scored by the same judge.",
)


# --- 9 ---------------------------------------------------------------------------------------------------
check_what_p_says = ChoiceCheck.among(
    {
        "one head is better than chance": "chance is not the rival here: the shuffled distances keep what is typical for the relation, and the best of all "
        "heads is compared with the best of all heads",
        "some head's answers go with more than the usual distance": None,
        "the head is used by the model": "nothing was switched off; an arg max shows where a head looks, not what the model does with it",
    },
    asks="What a small corrected p supports.",
    learnt="The rival knows the relation's distances and has as many tries. That is why so many impressive heads end with p = 1.",
)
P_OPTIONS = check_what_p_says.options

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


@of_run(lambda: (load_recording("bert-base-uncased"),))
def check_det_accuracy(recording):
    """``det_accuracy(layer, head)``: share of `DETERMINERS` whose noun the head of a recording names."""
    words = {text: recording[text].to_words().weights for text, _, _ in DETERMINERS}
    n = len(DETERMINERS)

    def accuracy(layer, head, named=_named, cut=slice(1, -1), cases=DETERMINERS):
        return np.mean(
            [named(words[text][layer, head][cut, cut], word) == noun for text, word, noun in cases]
        )

    return FunctionCheck(
        accuracy,
        cases=_TRIED_HEADS,
        wrong=[
            "you read columns: who looks at the determiner. Here the determiner looks, row `word`",
            lambda layer, head: accuracy(layer, head, named=lambda w, i: _named(w.T, i)),
            "[CLS] stands at position 0 of the map, and the positions of the list count words: cut both ends off, `[1:-1, 1:-1]`",
            lambda layer, head: accuracy(layer, head, cut=slice(None)),
            "layer and head are swapped: `weights[layer, head]`",
            lambda layer, head: accuracy(head, layer),
            "indices count from 0 already; do not take 1 away",
            lambda layer, head: accuracy(layer - 1, head - 1),
            "that is how many are right; divide by the number of cases",
            lambda layer, head: n * accuracy(layer, head),
            "that is the share of wrong answers",
            lambda layer, head: 1 - accuracy(layer, head),
            "no head is right in any case: is `named_governor` of exercise 1 filled in?",
            lambda layer, head: 0.0,
            "that is the first case only: does `return` stand inside the loop?",
            lambda layer, head: accuracy(layer, head, cases=DETERMINERS[:1]),
            "that is the rival, always the next word; ask the head for its answer",
            lambda layer, head: accuracy(layer, head, named=lambda w, i: i + 1),
        ],
        learnt=f"One judge for every head, {n} cases, the same ones for all.",
    )


check_small_list = ChoiceCheck.among(
    {
        "head 8-11 knows which noun a determiner belongs to": "*always the next word* is right in all these cases too, and it knows nothing",
        "these cases cannot tell head 8-11 from a fixed distance": None,
        "head 8-11 only looks at the next word": "that would explain these cases, but so would other habits: none of them has an adjective between determiner and noun",
    },
    asks="What a handful of cases, in all of which the rival is right, shows of a head.",
    learnt="One sentence is not a measure, and neither are a few. What decides is many cases in which the noun is *not* the next word.",
)
SMALL_OPTIONS = check_small_list.options


# --- 11: another model -------------------------------------------------------------------------------------
def _gain(heads, offsets, half):
    return _fair(heads, half) - _fair(offsets, half)


def _most(marks):
    return marks.mean(axis=0).max()


def _tried(seed):
    """Marks of seven heads and four offsets, of which each half likes other ones best, in 40 cases."""
    drawn = np.random.default_rng(seed).random((40, 11)) < 0.35
    return drawn[:, :7], drawn[:, 7:], np.arange(40) % 2


check_fair_gain = FunctionCheck(
    _gain,
    asks="``fair_gain(heads, offsets, half)``: the best head minus the best offset, both chosen on one half and scored on the other.",
    cases=[_tried(seed) for seed in range(4)],
    wrong=[
        "both were chosen on the cases they are scored on: the flattering gain",
        lambda heads, offsets, half: _most(heads) - _most(offsets),
        "the head is still chosen on the cases it is scored on",
        lambda heads, offsets, half: _most(heads) - _fair(offsets, half),
        "the offset is chosen on the cases it is scored on: the rival needs a fair choice too, and nothing more",
        lambda heads, offsets, half: _fair(heads, half) - _most(offsets),
        "the sign is reversed: the *head's* gain was asked for, so the head's accuracy comes first",
        lambda heads, offsets, half: -_gain(heads, offsets, half),
        "that is the head's accuracy; subtract what the best offset reaches",
        lambda heads, offsets, half: _fair(heads, half),
        "each half is scored with its own choice; score it with the other half's",
        lambda heads, offsets, half: _same_half(heads, half) - _same_half(offsets, half),
    ],
    learnt="Two fair choices, one difference: the same judge for every model.",
)

CLEARLY = 0.1  # a gain of ten points

LACKS_OPTIONS = ("neither", "objects", "determiners", "both")


@of_run(lambda: (_made_up("MiniLM"), _made_up("specimen", 0.3)))
def check_lacks(minilm, specimen):
    """For which relations, ``obj`` and ``det``, MiniLM gains ten points and the specimen does not; one of ``LACKS_OPTIONS``."""
    gains = {relation: (_gain(*minilm[relation]), _gain(*specimen[relation])) for relation in ("obj", "det")}
    lacks = {relation: ours >= CLEARLY > theirs for relation, (ours, theirs) in gains.items()}
    means = dict(
        zip(LACKS_OPTIONS, ((False, False), (True, False), (False, True), (True, True)), strict=True)
    )
    said = {
        relation: f"{relation}: MiniLM {ours:+.2f}, the specimen {theirs:+.2f}"
        for relation, (ours, theirs) in gains.items()
    }

    def why(option) -> str | None:
        wrong = [relation for relation, meant in zip(lacks, means[option]) if meant != lacks[relation]]
        return "; ".join(said[relation] for relation in wrong) or None

    return ChoiceCheck.among(
        {option: why(option) for option in LACKS_OPTIONS},
        learnt=f"{'; '.join(said.values())}. A head for a relation is a finding about one model, not about every BERT.",
    )


def _made_up(name, best=0.9):
    """Marks of both relations for a test: one reading is right in so many cases of ``det``, no offset in many."""
    rng = np.random.default_rng(len(name))
    found = {}
    for relation, share in (("obj", 0.9), ("det", best)):
        heads, offsets = rng.random((200, 5)) < 0.1, rng.random((200, 3)) < 0.3
        heads[:, 2] = rng.random(200) < share
        found[relation] = heads, offsets, np.arange(200) % 2
    return found


# --- the last two: a picture, and a claim on trial ---------------------------------------------------------
PICTURE_OPTIONS, check_picture, on_trial, TRIAL_OPTIONS, check_trial = close("06")

sheet = keep_sheet(globals())  # what the checks above have said, as the last cell shows it
