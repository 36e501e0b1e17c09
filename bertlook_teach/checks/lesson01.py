"""Checks of lesson 1: what BERT reads, and what a head is."""

from __future__ import annotations

import numpy as np

from ..model import attention_scores, head_label, softmax, weighted_values
from .answers import (
    check_array,
    check_choice,
    check_function,
    check_list,
    check_number,
    check_set,
    check_text,
)
from .cases import close, closing_examples
from .feedback import Feedback, args, check_all, is_unanswered
from .sheet import keep_sheet


def check_token_count(answer, attention):
    """How many tokens the model reads of a text."""
    n, special, words = len(attention.tokens), sum(attention.special), len(attention.words)
    return check_number(
        answer,
        n,
        tolerance=0,
        mistakes=[
            (n - special, "those are the wordpieces. [CLS] and [SEP] are tokens too"),
            (
                words,
                "those are words and punctuation marks; some words are cut into pieces, and [CLS] and [SEP] are added",
            ),
            (words + special, "[CLS] and [SEP] are in; now look at the words that are cut into pieces"),
        ],
        learnt=f"The {words} words and punctuation marks become {n - special} wordpieces, and with [CLS] and [SEP] {n} tokens.",
    )


def check_split_words(answer, attention):
    """Which words of a text are cut into more than one wordpiece."""
    counts = [attention.word_ids.count(word) for word in range(len(attention.words))]
    split = {word for word, count in zip(attention.words, counts) if count > 1}
    whole = set(attention.words) - split
    return check_set(
        answer,
        split,
        mistakes=[
            (
                lambda given: any(str(word).startswith("##") for word in given),
                "pieces such as `##er` are parts; the words they belong to were asked for",
            ),
            (
                lambda given: given == {word.casefold() for word in whole},
                "those are the words that stay whole",
            ),
        ],
        learnt="A word that is not in the vocabulary is cut into pieces that are. All pieces but the first begin with ##.",
    )


def check_segments(answer, attention):
    """The segment of each token of a pair of texts, 0 for A and 1 for B."""
    expected = list(attention.segment_ids)
    separators = [i for i, token in enumerate(attention.tokens) if token == "[SEP]" and attention.special[i]]
    early = [int(i >= separators[0]) for i in range(len(expected))]
    return check_list(
        answer,
        expected,
        mistakes=[
            (early, "the first [SEP] closes text A and belongs to it"),
            ([0] * len(expected), "that is one text only; the tokens after the first [SEP] are in segment 1"),
            ([1 - segment for segment in expected], "A is 0 and B is 1"),
            ([segment + 1 for segment in expected], "segments count from 0: A is 0, B is 1"),
            (
                lambda given: len(given) == len(expected) - len(separators) - 1,
                "[CLS] and [SEP] have a segment too, so every token needs a number",
            ),
        ],
        learnt="[CLS], text A and the first [SEP] are segment 0; text B and the last [SEP] are segment 1.",
    )


def check_softmax(function):
    """A softmax over the last axis."""

    def over(axis):
        return lambda scores: np.exp(scores) / np.exp(scores).sum(axis=axis, keepdims=axis is not None)

    scores = np.array([[0.0, 1.0, 2.0], [3.0, -1.0, 0.5]])
    return check_function(
        function,
        [((case,), softmax(case)) for case in (scores, scores[:1] * 2, np.zeros((2, 4)))],
        tolerance=1e-6,
        axes=("query", "key"),
        mistakes=[
            (over(0), "your columns sum to 1. The keys are the last axis: sum over `axis=-1`"),
            (
                over(None),
                "the whole table sums to 1. Each row is to sum to 1: sum over `axis=-1` with `keepdims=True`",
            ),
            (np.exp, "the exponential is there; now divide each row by its sum"),
            (
                lambda s: s / s.sum(axis=-1, keepdims=True),
                "you divide the scores themselves; take `np.exp` of them first, scores may be negative",
            ),
        ],
        learnt="Each row is positive and sums to 1: a token shares out its attention, and cannot look at nothing.",
    )


def check_weights(answer, attention, layer, head):
    """One head's weights from its queries and keys."""
    scores = attention_scores(attention.queries[layer, head], attention.keys[layer, head]).astype(float)
    dim = attention.queries.shape[-1]
    columns = softmax((scores / np.sqrt(dim)).T).T
    return check_array(
        answer,
        attention.weights[layer, head],
        tolerance=1e-4,
        axes=("query", "key"),
        mistakes=[
            (scores, "those are the scores; divide by the root of the dimension and take the softmax"),
            (scores / np.sqrt(dim), "those are the scaled scores; the softmax is still to come"),
            (
                softmax(scores),
                f"the scores were not divided by the square root of {dim}, so the weights are too extreme",
            ),
            (
                softmax(scores / dim),
                f"you divided by {dim} and not by its square root, so the weights are too even",
            ),
            (
                softmax(scores.T / np.sqrt(dim)),
                "queries and keys are exchanged: rows belong to queries, so it is q @ k.T",
            ),
            (columns, "the softmax went over the queries; it goes over the keys, the last axis"),
        ],
        learnt=f"Your weights equal the model's. softmax(q · k / √{dim}) is all there is to it.",
    )


def check_row_and_column(looks_at, looked_at, attention, layer, head, query):
    """The key a token gives most weight, and the token that receives most."""
    weights, tokens = attention.weights[layer, head], list(attention.tokens)
    row, column = tokens[weights[query].argmax()], tokens[weights[:, query].argmax()]
    total = tokens[weights.sum(axis=0).argmax()]
    mistakes = [(column, f"that is who looks at `{tokens[query]}` most, a column; its own row was asked for")]
    return check_all(
        check_choice(looks_at, row, options=tokens, mistakes=mistakes, learnt="Its own row."),
        check_choice(
            looked_at,
            total,
            options=tokens,
            mistakes=[
                (
                    tokens[weights.sum(axis=1).argmax()],
                    "rows all sum to 1; sum over the queries, `axis=0`, for what a token receives",
                ),
                (
                    tokens[np.unravel_index(weights.argmax(), weights.shape)[1]],
                    "that token gets the largest single weight; add up its whole column",
                ),
            ],
            learnt="Its column.",
        ),
        learnt=f"`{tokens[query]}` looks at `{row}` (its row), and `{total}` receives most of all (its column). Row: looks. Column: is looked at.",
    )


def check_head_name(answer, values):
    """The printed name of the head with the largest value."""
    if is_unanswered(answer):
        return check_number(..., 0, tolerance=0, learnt="unanswered")
    values = np.asarray(values)
    layer, head = (int(i) for i in np.unravel_index(values.argmax(), values.shape))
    if not isinstance(answer, str):
        return Feedback(
            "wrong", 'A name in quotation marks was expected, layer and head with a dash, such as "8-10".'
        )
    given = answer.strip().replace("–", "-").replace("−", "-")
    reasons = {
        f"{layer}-{head}": "that counts from 0. Printed names count from 1, for layers and for heads",
        f"{head + 1}-{layer + 1}": "the layer comes first, then the head",
        f"{head}-{layer}": "the layer comes first, and both count from 1",
        f"{layer}-{head + 1}": "the layer still counts from 0",
        f"{layer + 1}-{head}": "the head still counts from 0",
    }
    right = head_label(layer, head)
    if given == right:
        return Feedback("right", f"Index [{layer}, {head}] is printed {right}.")
    if given in reasons:
        return Feedback("wrong", f"Your answer is `{given}`: {reasons[given]}.")
    shown = given if len(given) <= 20 else given[:20] + "..."
    return Feedback(
        "wrong",
        f"Your answer is `{shown}`. Find the index of the largest number, then print it with `head_label`.",
    )


def check_take_home(answer, attention, layer, head, query):
    """The weighted values of one token."""
    weights, values = attention.weights[layer, head], attention.values[layer, head]
    n = len(weights)
    return check_array(
        answer,
        weighted_values(weights, values)[query],
        tolerance=1e-4,
        axes=("dim",),
        mistakes=[
            (values[query], "that is the token's own value; it takes home an average of all values"),
            (values.mean(axis=0), "that is the plain average; weigh each value by the token's row"),
            (values.sum(axis=0), "that is the plain sum; weigh each value by the token's row"),
            (
                weights[:, query] @ values,
                "you took the column of the token, what others give to it; take its row",
            ),
            (
                lambda a: a.shape == (n, values.shape[-1]),
                "that is right for all tokens at once; one token was asked for",
            ),
        ],
        learnt="What a token takes home is an average of all values, weighed by its row. This is all that passes from token to token.",
    )


def check_word_weight(answer, attention, layer, head, query, word):
    """What a token gives to a word of several pieces."""
    pieces = [i for i, number in enumerate(attention.word_ids) if number == word]
    row = attention.weights[layer, head, query]
    received = row[pieces]
    back = attention.weights[layer, head][pieces, query]
    return check_number(
        answer,
        float(received.sum()),
        tolerance=1e-3,
        mistakes=[
            (received.mean(), "that is the average of the pieces. What a split word receives is added up"),
            (received[0], "that is the first piece only; add up all pieces of the word"),
            (received.max(), "that is the largest piece only; add up all pieces of the word"),
            (back.mean(), "that is what the word gives; what it receives was asked for"),
            (back.sum(), "that is a sum over the word's rows; add up over its columns, the keys"),
        ],
        learnt="Over keys, add up: the row still sums to 1 when the pieces have become one word.",
    )


def check_caution(answer):
    """A sentence on what to try before believing a picture."""
    texts = r"\b(other|more|many|several|new|hundreds?|thousands?|different)\b.{0,20}\b(texts?|sentences?|inputs?|examples?|cases?|documents?|pronouns?)|corpus|treebank"
    rival = r"baseline|rule|random|untrained|twin|chance|control|nearest|closest|neighbou?r|previous|next (word|token)|gradient|remov|ablat|prun|switch|without (it|the head)|norm"
    return check_text(
        answer,
        [
            (
                texts,
                "one sentence shows what the head can do; on which texts would you measure what it does?",
            ),
            (
                rival,
                "a number alone says little; compared with what: a fixed rule, a model that never learnt, the model without the head?",
            ),
        ],
        min_words=6,
        mistakes=[
            (
                r"nothing|no need|already (clear|proved|proven)",
                "one picture is one sentence and one head of many; what would show that it is more than that?",
            )
        ],
        learnt="For example: measure the same head on many other sentences, and compare it with a fixed rule (always the previous word) "
        "and with the random twin. Whether the head matters is yet another question.",
    )


# --- 11: a recording of BERT-base ------------------------------------------------------------------------
RECORDED_HEAD = (7, 10)  # 8-11

REST_OPTIONS = (
    "[SEP] tells the head what the animal is",
    "almost nothing of this row goes to a word; the map does not say why",
    "the head does nothing for this token",
)


def check_most_looked_at(function):
    """``most_looked_at(weights, tokens, query)``: the token that gets most of one token's attention."""
    tokens = ["[CLS]", "the", "cat", "sat", "[SEP]"]
    rows = np.random.default_rng(4).dirichlet(np.ones(5), size=5)

    def second(weights, tokens, query):
        return tokens[np.argsort(weights[query])[-2]]

    return check_function(
        function,
        [((rows, tokens, query), tokens[rows[query].argmax()]) for query in range(5)],
        mistakes=[
            (
                lambda w, t, i: t[w[:, i].argmax()],
                "that is who looks at it most, a column. Its own row is `weights[query]`",
            ),
            (lambda w, t, i: int(w[i].argmax()), "that is its position; name the token, `tokens[position]`"),
            (lambda w, t, i: float(w[i].max()), "that is the weight; name the token that gets it"),
            (lambda w, t, i: t[w[i].argmin()], "that is the token that gets least"),
            (
                lambda w, t, i: t[w.sum(axis=0).argmax()],
                "that is the token that everybody together looks at most; take one row",
            ),
            (second, "that is the second largest"),
        ],
        learnt="One row, its largest entry. It is the same line for the specimen and for BERT-base.",
    )


def check_recorded_head(looks_at, rest, attention):
    """In head 8-11 of a recording: what each *the* looks at most, and what `animal` gives to the last token."""
    layer, head = RECORDED_HEAD
    tokens, weights = list(attention.tokens), attention.weights
    asked = [i for i, token in enumerate(tokens) if token == "the"]
    animal = tokens.index("animal")

    def named(maps):
        return [tokens[maps[i].argmax()] for i in asked]

    right, share = named(weights[layer, head]), float(weights[layer, head, animal, -1])
    near = [
        (weights[layer + 1, head + 1], "that is the head with *index* [8, 11]; the name 8-11 counts from 1"),
        (weights[layer, head + 1], "the head still counts from 1 in your index"),
        (weights[layer + 1, head], "the layer still counts from 1 in your index"),
        (weights[layer, head].T, "those are the tokens that look at *the*, columns; take rows"),
    ]
    positions = [int(weights[layer, head, i].argmax()) for i in asked]
    return check_all(
        check_list(
            looks_at,
            right,
            mistakes=[
                *((named(maps), why) for maps, why in near if named(maps) != right),
                (positions, "those are positions; name the tokens"),
                (right[::-1], "the first *the* comes first"),
            ],
            learnt="The tokens are right.",
        ),
        check_number(
            rest,
            share,
            tolerance=1e-3,
            mistakes=[
                (
                    float(weights[layer, head, -1, animal]),
                    "that is what [SEP] gives to `animal`; turn it round",
                ),
                *((float(maps[animal, -1]), why) for maps, why in near[:3]),
                (float(weights[layer, head, animal, animal]), "that is what `animal` gives to itself"),
            ],
            learnt="The share is right.",
        ),
        learnt=f"In this sentence *the* looks at `{right[0]}` and at `{right[1]}`, and `animal` gives {share:.2f} to [SEP] "
        f"({attention.recorded}).",
    )


def check_rest(answer):
    """What a large share on [SEP] says."""
    return check_choice(
        answer,
        REST_OPTIONS[1],
        options=REST_OPTIONS,
        mistakes=[
            (
                REST_OPTIONS[0],
                "[SEP] is the same mark at the end of every text; it knows no animal by itself",
            ),
            (
                REST_OPTIONS[2],
                "what the token takes home from [SEP] is [SEP]'s value, and whether that is next to nothing is not in the map",
            ),
        ],
        learnt="That such a head *rests* on [SEP] when its habit does not apply is a hypothesis of Clark et al. Lesson 4 puts it to the test.",
    )


# --- the last two: a picture, and a claim on trial ---------------------------------------------------------
PICTURE_OPTIONS, check_picture, on_trial, TRIAL_OPTIONS, check_trial = close("01")


def EXAMPLES():
    """For each check a right, a wrong and an unfilled answer, on a small attention made by hand."""
    attention, pair = _example(), _example(pair=True)
    layer, head = 1, 2
    weights, values = attention.weights[layer, head], attention.values[layer, head]
    where = (attention, layer, head)
    scores = attention_scores(attention.queries[layer, head], attention.keys[layer, head])
    tokens = attention.tokens
    largest = np.zeros((2, 3))
    largest[1, 0] = 1
    split = [i for i, number in enumerate(attention.word_ids) if number == 1]
    row, total = tokens[weights[2].argmax()], tokens[weights.sum(axis=0).argmax()]
    recorded = _recorded_example()
    of_head = recorded.weights[RECORDED_HEAD]
    named, share = [recorded.tokens[of_head[i].argmax()] for i in (1, 3)], of_head[2, -1]
    return {
        "check_token_count": (args(7, attention), args(5, attention), args(..., attention)),
        "check_split_words": (args(["cats"], attention), args(["##s"], attention), args(..., attention)),
        "check_segments": (
            args([0, 0, 0, 0, 0, 1, 1], pair),
            args([0, 0, 0, 0, 1, 1, 1], pair),
            args(..., pair),
        ),
        "check_softmax": (softmax, lambda s: np.exp(s) / np.exp(s).sum(axis=0), lambda s: ...),
        "check_weights": (args(weights, *where), args(softmax(scores), *where), args(..., *where)),
        "check_row_and_column": (
            args(row, total, *where, 2),
            args("[PAD]", total, *where, 2),
            args(..., ..., *where, 2),
        ),
        "check_head_name": (args("2-1", largest), args("1-0", largest), args(..., largest)),
        "check_take_home": (
            args(weights[2] @ values, *where, 2),
            args(values[2], *where, 2),
            args(..., *where, 2),
        ),
        "check_word_weight": (
            args(weights[1, split].sum(), *where, 1, 1),
            args(weights[1, split].mean(), *where, 1, 1),
            args(..., *where, 1, 1),
        ),
        "check_caution": (
            "I would measure it on many other sentences, beside a fixed rule.",
            "It is clear that it understands grammar.",
            ...,
        ),
        "check_most_looked_at": (lambda w, t, i: t[w[i].argmax()], lambda w, t, i: int(w[i].argmax()), ...),
        "check_recorded_head": (
            args(named, share, recorded),
            args(named, 1 - share, recorded),
            args(..., ..., recorded),
        ),
        "check_rest": (REST_OPTIONS[1], REST_OPTIONS[0], ...),
        **closing_examples("01"),
    }


def _recorded_example():
    """Made-up weights of 12 layers x 12 heads, in the place of a recording."""
    from types import SimpleNamespace

    tokens = ("[CLS]", "the", "animal", "the", "[SEP]")
    weights = np.random.default_rng(2).dirichlet(np.ones(5), size=(12, 12, 5))
    return SimpleNamespace(weights=weights, tokens=tokens, recorded="made up")


def _example(pair=False):
    """The attention of "the cats saw it" (one split word), or of the pair "the cats" / "saw", with made-up vectors."""
    from ..model import Attention

    if pair:
        tokens, word_ids = (
            ("[CLS]", "the", "cat", "##s", "[SEP]", "saw", "[SEP]"),
            (None, 0, 1, 1, None, 2, None),
        )
        words, segment_ids = ("the", "cats", "saw"), (0, 0, 0, 0, 0, 1, 1)
    else:
        tokens, word_ids = ("[CLS]", "the", "cat", "##s", "saw", "it", "[SEP]"), (None, 0, 1, 1, 2, 3, None)
        words, segment_ids = ("the", "cats", "saw", "it"), (0,) * 7
    rng = np.random.default_rng(1)
    queries, keys, values = rng.normal(size=(3, 2, 3, len(tokens), 5))
    return Attention(
        weights=softmax(attention_scores(queries, keys) / np.sqrt(5)).astype("f4"),
        tokens=tokens,
        word_ids=word_ids,
        segment_ids=segment_ids,
        special=tuple(word is None for word in word_ids),
        words=words,
        text="",
        queries=queries,
        keys=keys,
        values=values,
    )


sheet = keep_sheet(globals())  # what the checks above have said, as the last cell shows it
