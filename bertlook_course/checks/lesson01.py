"""Checks of lesson 1: what BERT reads, and what a head is."""

from __future__ import annotations

import re
from dataclasses import dataclass

import numpy as np

from bertlook_teach.model import Attention, head_label

from ..analyses.anatomy import attention_scores, softmax, weighted_values
from .answers import (
    ArrayCheck,
    Check,
    ChoiceCheck,
    FunctionCheck,
    ListCheck,
    NumberCheck,
    SetCheck,
    TextCheck,
)
from .cases import PartsCheck, case_attention, case_rows, close, of_run
from .compare import Whenever, _reason
from .sheet import keep_sheet


def _example(pair=False):
    """The attention of "the cats saw it" (one split word), or of the pair "the cats" / "saw", with made-up vectors."""
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


@of_run(lambda: (_example(),))
def check_token_count(attention):
    """How many tokens the model reads of a text."""
    n, special, words = len(attention.tokens), sum(attention.special), len(attention.words)
    return NumberCheck(
        n,
        tolerance=0,
        wrong={
            "those are the wordpieces. [CLS] and [SEP] are tokens too": n - special,
            "those are words and punctuation marks; some words are cut into pieces, and [CLS] and [SEP] are added": words,
            "[CLS] and [SEP] are counted; now look at the words that are cut into pieces": words + special,
        },
        learnt=f"The {words} words and punctuation marks become {n - special} wordpieces, and with [CLS] and [SEP] {n} tokens.",
    )


@of_run(lambda: (_example(),))
def check_split_words(attention):
    """Which words of a text are cut into more than one wordpiece."""
    numbers = attention.word_ids
    split = {word for number, word in enumerate(attention.words) if numbers.count(number) > 1}
    whole = set(attention.words) - split
    pieces = {
        token.removeprefix("##")
        for token, number in zip(attention.tokens, numbers)
        if number is not None and attention.words[number] in split
    }
    return SetCheck(
        split,
        wrong=[
            "pieces such as `##er` are parts; the words they belong to were asked for",
            Whenever(lambda given: any(str(word).startswith("##") for word in given), such_as=["cat", "##s"]),
            "those are the words that stay whole",
            whole,
            "some of these are pieces and not words of the text; the words they belong to were asked for",
            Whenever(lambda given: bool(given & (pieces - whole)), such_as=["cat", "s"]),
        ],
        learnt="A word that is not in the vocabulary is cut into pieces that are. All pieces but the first begin with ##.",
    )


@of_run(lambda: (_example(pair=True),))
def check_segments(attention):
    """The segment of each token of a pair of texts, 0 for A and 1 for B."""
    expected = list(attention.segment_ids)
    n = len(expected)
    separators = [i for i, token in enumerate(attention.tokens) if token == "[SEP]" and attention.special[i]]
    words = n - len(separators) - 1
    return ListCheck(
        expected,
        wrong=[
            "the first [SEP] closes text A and belongs to it",
            [int(i >= separators[0]) for i in range(n)],
            "that is one text only; the tokens after the first [SEP] are in segment 1",
            [0] * n,
            "A is 0 and B is 1",
            [1 - segment for segment in expected],
            "segments are numbered from 0: A is 0, B is 1",
            [segment + 1 for segment in expected],
            "[CLS] and [SEP] have a segment too, so every token needs a number",
            Whenever(lambda given: len(given) == words, such_as=[0] * words),
        ],
        learnt="[CLS], text A and the first [SEP] are segment 0; text B and the last [SEP] are segment 1.",
    )


def _softmax_over(axis):
    return lambda scores: np.exp(scores) / np.exp(scores).sum(axis=axis, keepdims=axis is not None)


check_softmax = FunctionCheck(
    softmax,
    asks="A softmax over the last axis.",
    cases=[np.array([[0.0, 1.0, 2.0], [3.0, -1.0, 0.5]]), np.array([[0.0, 2.0, 4.0]]), np.zeros((2, 4))],
    axes=("query", "key"),
    wrong=[
        "your columns sum to 1. The keys are the last axis: sum over `axis=-1`",
        _softmax_over(0),
        "the whole table sums to 1. Each row is to sum to 1: sum over `axis=-1` with `keepdims=True`",
        _softmax_over(None),
        "the exponential is there; now divide each row by its sum",
        np.exp,
        "you divide the scores themselves; take `np.exp` of them first, scores may be negative",
        lambda scores: scores / scores.sum(axis=-1, keepdims=True),
    ],
    learnt="Each row is positive and sums to 1: a token shares out its attention, and cannot look at nothing.",
)


@of_run(lambda: (_example(), 1, 2))
def check_weights(attention, layer, head):
    """One head's weights from its queries and keys."""
    scores = attention_scores(attention.queries[layer, head], attention.keys[layer, head]).astype(float)
    dim = attention.queries.shape[-1]
    scaled = scores / np.sqrt(dim)
    return ArrayCheck(
        attention.weights[layer, head],
        tolerance=1e-4,
        axes=("query", "key"),
        wrong=[
            "those are the scores; divide by the root of the dimension and take the softmax",
            scores,
            "those are the scaled scores; the softmax is still to come",
            scaled,
            f"the scores were not divided by the square root of {dim}, so the weights are too extreme",
            softmax(scores),
            f"you divided by {dim} and not by its square root, so the weights are too even",
            softmax(scores / dim),
            "queries and keys are exchanged: rows belong to queries, so it is q @ k.T",
            softmax(scaled.T),
            "the softmax went over the queries; it goes over the keys, the last axis",
            softmax(scaled.T).T,
        ],
        learnt=f"Your weights equal the model's. softmax(q · k / √{dim}) is all there is to it.",
    )


@of_run(lambda: (_example(), 0, 1, 2), answers=2)
def check_row_and_column(attention, layer, head, query):
    """The key a token gives most weight, and the token that receives most."""
    weights, tokens = attention.weights[layer, head], list(attention.tokens)
    row, column = tokens[weights[query].argmax()], tokens[weights[:, query].argmax()]
    total = tokens[weights.sum(axis=0).argmax()]
    looks_at = ChoiceCheck(
        row,
        options=tokens,
        wrong={f"that is who looks at `{tokens[query]}` most, a column; its own row was asked for": column},
        learnt="Its own row.",
    )
    looked_at = ChoiceCheck(
        total,
        options=tokens,
        wrong=[
            "rows all sum to 1; sum over the queries, `axis=0`, for what a token receives",
            tokens[weights.sum(axis=1).argmax()],
            "that token gets the largest single weight; add up its whole column",
            tokens[weights.max(axis=0).argmax()],
        ],
        learnt="Its column.",
    )
    return PartsCheck(
        (looks_at, looked_at),
        learnt=f"`{tokens[query]}` looks at `{row}` (its row), and `{total}` receives most of all (its column). Row: looks. Column: is looked at.",
    )


@dataclass(frozen=True, eq=False, kw_only=True)
class _NameCheck(Check):
    """The printed name of a head, a text."""

    def problem(self, answer):
        if not isinstance(answer, str):
            return 'A name in quotation marks was expected, layer and head with a dash, such as "8-10".'
        given = answer.strip().replace("–", "-").replace("−", "-")
        if given == self.right:
            return None
        if reason := _reason(given, self.mistakes, lambda wrong: wrong == given):
            return f"Your answer is `{given}`: {reason}"
        shown = given if len(given) <= 20 else given[:20] + "..."
        return f"Your answer is `{shown}`. Find the index of the largest number, then print it with `head_label`."


@of_run(lambda: (np.array([[0, 0, 0, 0], [0, 0, 0, 1]]),))
def check_head_name(values):
    """The printed name of the head with the largest value."""
    values = np.asarray(values)
    layer, head = (int(i) for i in np.unravel_index(values.argmax(), values.shape))
    right = head_label(layer, head)
    return _NameCheck(
        right,
        wrong={
            "that counts from 0. Printed names count from 1, for layers and for heads": f"{layer}-{head}",
            "the layer comes first, then the head": f"{head + 1}-{layer + 1}",
            "the layer comes first, and both count from 1": f"{head}-{layer}",
            "the layer still counts from 0": f"{layer}-{head + 1}",
            "the head still counts from 0": f"{layer + 1}-{head}",
        },
        learnt=f"Index [{layer}, {head}] is printed {right}.",
    )


@of_run(lambda: (_example(), 1, 2, 2))
def check_take_home(attention, layer, head, query):
    """The weighted values of one token."""
    weights, values = attention.weights[layer, head], attention.values[layer, head]
    at_once = (len(weights), values.shape[-1])
    return ArrayCheck(
        weighted_values(weights, values)[query],
        tolerance=1e-4,
        axes=("dim",),
        wrong=[
            "that is the token's own value; it takes home an average of all values",
            values[query],
            "that is the plain average; weight each value by the token's row",
            values.mean(axis=0),
            "that is the plain sum; weight each value by the token's row",
            values.sum(axis=0),
            "you took the column of the token, what others give to it; take its row",
            weights[:, query] @ values,
            "that is right for all tokens at once; one token was asked for",
            Whenever(lambda given: given.shape == at_once, such_as=weights @ values),
        ],
        learnt="What a token takes home is an average of all values, weighted by its row. This is all that passes from token to token.",
    )


@of_run(lambda: (_example(), 1, 2, 1, 1))
def check_word_weight(attention, layer, head, query, word):
    """What a token gives to a word of several pieces."""
    pieces = [i for i, number in enumerate(attention.word_ids) if number == word]
    received = attention.weights[layer, head, query][pieces]
    back = attention.weights[layer, head][pieces, query]
    return NumberCheck(
        float(received.sum()),
        tolerance=1e-3,
        wrong={
            "that is the average of the pieces. What a split word receives is added up": received.mean(),
            "that is the first piece only; add up all pieces of the word": received[0],
            "that is the largest piece only; add up all pieces of the word": received.max(),
            "that is what the word gives; what it receives was asked for": back.mean(),
            "that is a sum over the word's rows; add up over its columns, the keys": back.sum(),
        },
        learnt="Over keys, add up: the row still sums to 1 when the pieces have become one word.",
    )


check_caution = TextCheck(
    "I would measure it on many other sentences, beside a fixed rule.",
    asks="A sentence on what to try before believing a picture.",
    mentions={
        "one sentence shows what the head can do; on which texts would you measure what it does?": (
            r"\b(other|more|many|several|new|hundreds?|thousands?|different)\b.{0,20}"
            r"\b(texts?|sentences?|inputs?|examples?|cases?|documents?|pronouns?)|corpus|treebank"
        ),
        "a number alone says little; compared with what: a fixed rule, a model that never learnt, the model without the head?": (
            r"baseline|rule|random|untrained|twin|chance|control|nearest|closest|neighbou?r|previous|next (word|token)"
            r"|gradient|remov|ablat|prun|switch|without (it|the head)|norm"
        ),
    },
    min_words=6,
    wrong=[
        "one picture is one sentence and one head of many; what would show that it is more than that?",
        Whenever(
            lambda text: re.search(r"nothing|no need|already (clear|proved|proven)", text, re.IGNORECASE),
            such_as="There is no need to try anything else.",
        ),
    ],
    learnt="For example: measure the same head on many other sentences, and compare it with a fixed rule (always the previous word) "
    "and with the random twin. Whether the head matters is yet another question.",
)


# --- 11: a recording of BERT-base ------------------------------------------------------------------------
RECORDED_HEAD = (7, 10)  # 8-11

check_most_looked_at = FunctionCheck(
    lambda weights, tokens, query: tokens[weights[query].argmax()],
    asks="``most_looked_at(weights, tokens, query)``: the token that gets most of one token's attention.",
    cases=[(case_rows(5, 5, seed=4), ["[CLS]", "the", "cat", "sat", "[SEP]"], query) for query in range(5)],
    wrong=[
        "that is who looks at it most, a column. Its own row is `weights[query]`",
        lambda w, t, i: t[w[:, i].argmax()],
        "that is its position; name the token, `tokens[position]`",
        lambda w, t, i: int(w[i].argmax()),
        "that is the weight; name the token that gets it",
        lambda w, t, i: float(w[i].max()),
        "that is the token that gets least",
        lambda w, t, i: t[w[i].argmin()],
        "that is the token that everybody together looks at most; take one row",
        lambda w, t, i: t[w.sum(axis=0).argmax()],
        "that is the second largest",
        lambda w, t, i: t[np.argsort(w[i])[-2]],
    ],
    learnt="One row, its largest entry. It is the same line for the specimen and for BERT-base.",
)


_RECORDED_TOKENS = ("[CLS]", "the", "animal", "the", "[SEP]")


@of_run(lambda: (case_attention(_RECORDED_TOKENS, 12, 12, seed=4),), answers=2)
def check_recorded_head(attention):
    """In head 8-11 of a recording: what each *the* looks at most, and what `animal` gives to the last token."""
    layer, head = RECORDED_HEAD
    tokens, weights = list(attention.tokens), attention.weights
    asked = [i for i, token in enumerate(tokens) if token == "the"]
    animal = tokens.index("animal")
    maps = weights[layer, head]

    def named(maps):
        return [tokens[maps[i].argmax()] for i in asked]

    right, share = named(maps), float(maps[animal, -1])
    near = {
        "that is the head with *index* [8, 11]; the name 8-11 counts from 1": weights[layer + 1, head + 1],
        "the head still counts from 1 in your index": weights[layer, head + 1],
        "the layer still counts from 1 in your index": weights[layer + 1, head],
    }
    tokens_check = ListCheck(
        right,
        wrong={
            **{why: named(other) for why, other in near.items()},
            "those are the tokens that look at *the*, columns; take rows": named(maps.T),
            "those are positions; name the tokens": [int(maps[i].argmax()) for i in asked],
            "the first *the* comes first": right[::-1],
        },
        learnt="The tokens are right.",
    )
    share_check = NumberCheck(
        share,
        tolerance=1e-3,
        wrong={
            "that is what [SEP] gives to `animal`; turn it round": maps[-1, animal],
            **{why: other[animal, -1] for why, other in near.items()},
            "that is what `animal` gives to itself": maps[animal, animal],
        },
        learnt="The share is right.",
    )
    return PartsCheck(
        (tokens_check, share_check),
        learnt=f"In this sentence *the* looks at `{right[0]}` and at `{right[1]}`, and `animal` gives {share:.2f} to [SEP] "
        f"({attention.recorded}).",
    )


check_rest = ChoiceCheck.among(
    {
        "[SEP] tells the head what the animal is": "[SEP] is the same mark at the end of every text; by itself it says nothing about an animal",
        "almost nothing of this row goes to a word; the map does not say why": None,
        "the head does nothing for this token": "what the token takes home from [SEP] is [SEP]'s value, and whether that is next to nothing is not in the map",
    },
    asks="What a large share on [SEP] says.",
    learnt="That such a head *rests* on [SEP] when its habit does not apply is a hypothesis of Clark et al. Lesson 4 puts it to the test.",
)
REST_OPTIONS = check_rest.options

# --- the last two: a picture, and a claim on trial ---------------------------------------------------------
PICTURE_OPTIONS, check_picture, on_trial, TRIAL_OPTIONS, check_trial = close("01")

sheet = keep_sheet(globals())  # what the checks above have said, as the last cell shows it
