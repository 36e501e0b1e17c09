"""Checks of lesson 2: six patterns and the neurons behind them."""

from __future__ import annotations

from types import SimpleNamespace

import numpy as np

from ..measures import looks_alike, margin_dimensions, pair_share, participation_ratio
from ..model import head_label
from .answers import check_array, check_choice, check_function, check_list, check_number, check_set
from .cases import case_rows, close, closing_examples, entropy
from .feedback import args, check_all
from .sheet import keep_sheet

# --- 1: names ------------------------------------------------------------------------------------------
COUNTS_FROM_0 = {
    "next word": (2, 0),
    "[SEP]": (7, 3),
    "bag of words": (0, 0),
}  # layer and head, as Vig's posts print them


def check_vig_names(answer):
    """The printed names, from 1, of the three heads that the posts name from 0."""
    expected = [head_label(*place) for place in COUNTS_FROM_0.values()]
    as_printed_there = [f"{layer}-{head}" for layer, head in COUNTS_FROM_0.values()]
    return check_list(
        answer,
        expected,
        mistakes=[
            (as_printed_there, "the posts count from 0, names from 1"),
            ([head_label(head, layer) for layer, head in COUNTS_FROM_0.values()], "layer first, then head"),
            ([f"{layer + 1}-{head}" for layer, head in COUNTS_FROM_0.values()], "add 1 to the head as well"),
            ([f"{layer - 1}-{head - 1}" for layer, head in COUNTS_FROM_0.values()], "the other way: add 1"),
        ],
        learnt="Three of the most reproduced heads, and two ways of counting. A name without its way of counting is worth "
        "nothing; one without its model even less.",
    )


# --- 2: masks ------------------------------------------------------------------------------------------
def _apart(words):
    return ~np.eye(len(words), dtype=bool)


def same_words(words):
    """Which pairs of different positions hold the same word: booleans of shape (query, key)."""
    words = np.asarray(words)
    return (words[:, None] == words[None, :]) & _apart(words)


def check_same_word_mask(function):
    """``same_word_mask(words)``: True where two different positions hold the same word."""
    cases = [["the", "cat", "saw", "the", "dog"], ["a", "a", "a"], ["no", "word", "twice"]]
    return check_function(
        function,
        [((words,), same_words(words)) for words in cases],
        axes=("query", "key"),
        mistakes=[
            (lambda w: same_words(w) | ~_apart(w), "a word is not its own twin: set the diagonal to False"),
            (lambda w: ~same_words(w) & _apart(w), "True where the words *differ*"),
            (lambda w: np.triu(same_words(w)), "only ahead; a twin may stand behind as well"),
            (lambda w: np.tril(same_words(w)), "only back; a twin may stand ahead as well"),
            (lambda w: same_words(w).any(axis=1), "*which words* have a twin; give pairs of positions"),
        ],
        learnt="Comparing a column with a row gives all pairs at once. Every pattern of this lesson but one is such a mask.",
    )


def check_mask_share(function):
    """``mask_share(weights, mask)``: attention inside the mask, averaged over the queries that have a key there."""
    weights, mask = case_rows(5, 5), same_words(["the", "cat", "saw", "the", "dog"])
    lopsided = np.zeros((5, 5), dtype=bool)
    lopsided[1, [0, 4]] = lopsided[2, 4] = lopsided[3, 0] = True  # three queries, four pairs, two keys

    def right(weights, mask):
        return (weights * mask).sum() / mask.any(axis=1).sum()

    return check_function(
        function,
        [((weights, mask), right(weights, mask)), ((weights, lopsided), right(weights, lopsided))],
        mistakes=[
            (
                lambda w, m: (w * m).sum() / len(w),
                "that counts queries without such a key as 0. A word that has no twin cannot look at it: leave it out",
            ),
            (
                lambda w, m: w[m].mean(),
                "that is the mean over pairs. With two twins a word may share out its attention: add over the keys, average over queries",
            ),
            (lambda w, m: (w * m).sum(), "the sum is right; divide by the queries with a key in the mask"),
            (lambda w, m: (w.T * m).sum() / m.any(axis=1).sum(), "swapped: row i is the token that looks"),
            (lambda w, m: (w * m).sum() / m.any(axis=0).sum(), "divide by the queries, `mask.any(axis=1)`"),
        ],
        learnt="Add over the keys, average over the queries that have one. In a text with few repetitions the other average would hide a "
        "perfect head.",
    )


# --- 3: the null model -----------------------------------------------------------------------------------
def check_mean_rows(function):
    """``mean_rows(weights)``: every row replaced by the mean row."""
    cases = [case_rows(4, 4), np.eye(3), case_rows(5, 5, seed=1)]

    def right(weights):
        return np.tile(weights.mean(axis=0), (len(weights), 1))

    return check_function(
        function,
        [((weights,), right(weights)) for weights in cases],
        axes=("query", "key"),
        mistakes=[
            (lambda w: w.mean(axis=0), "that is the mean row, once; every query gets this row"),
            (
                lambda w: np.tile(w.mean(axis=1)[:, None], (1, len(w))),
                "average over queries, not over keys: the mean of a row is 1/n, and that is uniform",
            ),
            (lambda w: np.tile(w.mean(axis=0)[:, None], (1, len(w))), "the mean row is a row, not a column"),
            (lambda w: np.tile(w.sum(axis=0), (len(w), 1)), "rows no longer sum to 1: the mean, not the sum"),
        ],
        learnt="What each token receives is kept, who gave it is not. What a measure loses thereby is due to the pair.",
    )


def check_popular(value, excess, weights, mask):
    """Same-word share and excess of a head that just likes one word."""
    share = float(pair_share(weights, mask))
    null = float(pair_share(looks_alike(weights), mask))
    return check_all(
        check_number(
            value,
            share,
            tolerance=5e-4,
            mistakes=[(null, "that is the null model's")] if abs(share - null) > 1e-3 else [],
            learnt="The share is right.",
        ),
        check_number(
            excess,
            share - null,
            tolerance=5e-4,
            mistakes=[
                (share, "that is the share; take the null model's share away"),
                (null - share, "the other way round: share minus null model"),
            ]
            if abs(null) > 1e-3
            else [],
            learnt="The excess is right.",
        ),
        learnt=f"The share is {share:.2f} and all of it is popularity: excess {share - null:.2f}. A picture of this head shows lines from "
        "word to same word.",
    )


# --- 4: best head ------------------------------------------------------------------------------------------
def check_best_excess(answer, scores, key="within_word"):
    """The printed name of the head with the largest excess."""
    score = scores[key]

    def name(values, pick):
        return head_label(*(int(i) for i in np.unravel_index(pick(values), values.shape)))

    excess = np.asarray(score.excess)
    expected = name(excess, np.argmax)
    layer, head = (int(i) for i in np.unravel_index(excess.argmax(), excess.shape))
    near = [
        (name(np.asarray(score.value), np.argmax), "the largest *share*; the excess was asked for"),
        (f"{layer}-{head}", "printed names count from 1; `head_label(layer, head)` makes them"),
        (head_label(head, layer), "layer and head are swapped"),
        (name(excess, np.argmin), "that is the smallest excess"),
    ]
    return check_list(
        answer if answer is ... or isinstance(answer, (list, tuple)) else [answer],
        [expected],
        mistakes=[([wrong], reason) for wrong, reason in near if wrong != expected],
        learnt=f"Head {expected}: share {float(score.value[layer, head]):.3f}, null model {float(score.null[layer, head]):.3f}. It was chosen on the one "
        "input it is reported on: a candidate, not yet a finding.",
    )


# --- 5: the bag of words ---------------------------------------------------------------------------------
def _evenness(row):
    return entropy(np.asarray(row, float) / np.sum(row)) / np.log(len(row))


def check_bag_row(function):
    """``bag_row(row, own)``: mass in the own text times how evenly it is spread there."""
    rows = case_rows(3, 6, seed=3)
    own = np.array([True, True, True, True, False, False])
    sharp = np.array([0.0, 1.0, 0, 0, 0, 0])

    def right(row, own):
        return float(row[own].sum() * _evenness(row[own]))

    return check_function(
        function,
        [((row, own), right(row, own)) for row in (*rows, sharp, np.full(6, 1 / 6))],
        mistakes=[
            (lambda row, own: float(row[own].sum()), "that is the mass; multiply by how evenly it is spread"),
            (
                lambda row, own: _evenness(row[own]),
                "that is the evenness within the own text; a head that hardly looks there must score low: multiply by the mass",
            ),
            (
                lambda row, own: right(row, ~own) if row[~own].any() else np.nan,
                "that is the *other* text; `own` is the token's",
            ),
            (
                lambda row, own: float(
                    row[own].sum() * -sum(p * np.log(p) for p in row[own] if p > 0) / np.log(own.sum())
                ),
                "divide the own part by its sum first: entropy is about shares that add up to 1",
            ),
            (
                lambda row, own: float(
                    row[own].sum() * _evenness(row[own]) * np.log(own.sum()) / np.log(len(row))
                ),
                "the most it can be spread is over its own text: divide by ln of *its* number of tokens",
            ),
            (
                lambda row, own: float(row[own].sum() * _evenness(row[own]) * np.log(own.sum())),
                "that is in nats; divide by ln of the number of tokens in the own text",
            ),
        ],
        learnt="1 for a perfect bag of words. Uniform attention scores the share of the text, and that is its null model.",
    )


SWITCH_OPTIONS = ("position embeddings and [SEP]", "segment embeddings", "the words themselves")


def check_switch(answer):
    """What is told to the model in only one of the two readings."""
    return check_choice(
        answer,
        SWITCH_OPTIONS[1],
        options=SWITCH_OPTIONS,
        mistakes=[
            (SWITCH_OPTIONS[0], "both readings have them; whatever limit is *left* may come from there"),
            (SWITCH_OPTIONS[2], "the words are the same in both readings"),
        ],
        learnt="Everything else is the same, so what is lost is due to the segment embeddings. An experiment changes one thing.",
    )


def check_lost(answer, switch):
    """The part of the share above chance that is lost with zeros, for the head most like a bag of words."""
    report = switch.report()
    had, left = report.standard.mean - report.chance.mean, report.zeros.mean - report.chance.mean
    expected = 1 - left / had
    return check_number(
        answer,
        expected,
        tolerance=2e-3,
        mistakes=[
            (left / had, "that is the part that is *left*"),
            (report.difference.mean, "divide the difference by what there was above chance"),
            (report.difference.mean / report.standard.mean, "divide by the share *above chance*"),
            (1 / expected, "the other way round: what is lost, divided by what there was"),
        ],
        learnt=f"Head {head_label(report.layer, report.head)}: {expected:.0%} of the limit is lost when every token is told the same segment, "
        f"{1 - expected:.0%} is left.",
    )


# --- 6: neurons --------------------------------------------------------------------------------------------
def check_contributions(answer, view):
    """What each dimension adds to the score of the token that is looked at most."""
    key = int(view.weights.argmax())
    expected = view.products[key] / np.sqrt(view.head_size)
    return check_array(
        answer,
        expected,
        axes=("dimension",),
        tolerance=1e-5,
        mistakes=[
            (view.products[key], "that is the dot product; divide by the root of the number of dimensions"),
            (view.products[key] / view.head_size, "divide by the *root* of the number of dimensions"),
            (view.products / np.sqrt(view.head_size), "those are all keys; take the one looked at most"),
            (view.query_vector + view.key_vectors[key], "a product of query and key, not their sum"),
            (
                view.products[view.query] / np.sqrt(view.head_size),
                "that is the score of the token with itself; look for the largest weight, `weights.argmax()`",
            ),
        ],
        learnt=f"They add up to the score, {view.scores[key]:.2f}; the largest is {expected.max():.2f}.",
    )


def check_participation(function):
    """``spread(contributions)``: over how many dimensions the positive contributions are spread."""
    cases = [np.array([3.0, 0, 0, -2]), np.ones(4), np.array([2.0, 1, 0, -1, -5])]

    def without_clip(c):
        return float(c.sum() ** 2 / (c**2).sum())

    return check_function(
        function,
        [((case,), float(participation_ratio(case))) for case in cases],
        mistakes=[
            (without_clip, "negative contributions count as 0 here: `np.maximum(contributions, 0)` first"),
            (lambda c: float(np.abs(c).sum() ** 2 / (c**2).sum()), "negative ones count as 0, not positive"),
            (
                lambda c: float((np.maximum(c, 0) ** 2).sum() / np.maximum(c, 0).sum() ** 2),
                "upside down: squared sum over sum of squares",
            ),
            (lambda c: float((c > 0).sum()), "that counts positive ones alike, however small; weigh them"),
            (
                lambda c: float(np.maximum(c, 0).sum() / (np.maximum(c, 0) ** 2).sum()),
                "square the sum too, or doubling all changes it",
            ),
        ],
        learnt="1 if one dimension does it all, n if n do it alike.",
    )


def check_needed(function):
    """``needed(contributions)``: the fewest dimensions whose sum reaches 90 % of the whole sum."""
    cases = [
        np.array([4.0, 0, 0, 0]),
        np.ones(10),
        np.array([5.0, 1, -1, -1]),
        np.array([1.0, 3, 2, 2, 1, 1]),
        np.array([4.0, 1, 0, 0, 4, 1]),
    ]

    def first(c):
        return int((np.cumsum(c) >= 0.9 * c.sum() - 1e-12).argmax() + 1)

    def positive_only(c):
        sums = np.cumsum(-np.sort(-c))
        return int((sums >= 0.9 * np.maximum(c, 0).sum() - 1e-12).argmax() + 1)

    return check_function(
        function,
        [((case,), int(margin_dimensions(case))) for case in cases],
        tolerance=0,
        mistakes=[
            (first, "for the *fewest*, the largest come first: `np.sort(contributions)[::-1]`"),
            (positive_only, "90 % of the whole sum, the negative contributions included"),
            (lambda c: int(margin_dimensions(c)) - 1, "one too few: `argmax` counts from 0"),
            (lambda c: first(np.sort(c)), "smallest first; the largest come first"),
            (lambda c: int(margin_dimensions(c, share=1.0)), "90 %, not all of it"),
        ],
        learnt="Largest first, count until 90 %. In the third case the negative ones make the margin small, so one dimension is enough: few can "
        "also mean little to explain.",
    )


# --- 7: rotation ---------------------------------------------------------------------------------------------
def check_rotated_scores(answer, queries, keys, rotation):
    """The scores of one head after query and key have been rotated alike."""
    queries, keys, rotation = (np.asarray(x, float) for x in (queries, keys, rotation))
    root = np.sqrt(queries.shape[-1])
    expected = queries @ keys.T / root
    return check_array(
        answer,
        expected,
        tolerance=1e-3,
        axes=("query", "key"),
        mistakes=[
            (
                queries @ rotation @ keys.T / root,
                "only the queries are rotated; rotate the keys in the same way",
            ),
            (queries @ (keys @ rotation).T / root, "only the keys are rotated; rotate the queries alike"),
            (queries @ keys.T, "scores are divided by the root of the number of dimensions"),
            (queries @ rotation @ (keys @ rotation).T, "divide by the root of the number of dimensions"),
            (queries @ rotation @ (keys @ rotation.T).T / root, "the keys are turned the other way"),
        ],
        learnt="Not one score has changed, so not one weight can. The neurons are all different.",
    )


ROTATION_OPTIONS = (
    "the head changes, and its map too",
    "the map stays, the count of neurons may change",
    "nothing changes at all",
)


def check_rotation_meaning(answer):
    """What rotating query and key alike changes."""
    return check_choice(
        answer,
        ROTATION_OPTIONS[1],
        options=ROTATION_OPTIONS,
        mistakes=[
            (ROTATION_OPTIONS[0], "you have just seen that the scores stay, to the last digits of a float"),
            (ROTATION_OPTIONS[2], "the vectors are others, and so is what each dimension contributes"),
        ],
        learnt="So a single neuron has no meaning that the map could confirm. A number of neurons is a statement about the axes as well.",
    )


def check_undefined(answer, reasons):
    """Which patterns a text cannot show."""
    expected = set(reasons)
    everything = {
        "next",
        "previous",
        "same_word",
        "same_word_across",
        "within_word",
        "delimiter",
        "bag_of_words",
    }
    return check_set(
        answer,
        expected,
        mistakes=[
            (everything - expected, "those it *can* show"),
            (set(reasons.values()), "those are the reasons; the keys were asked for"),
        ],
        learnt=f"{len(expected)} of {len(everything)}. They are left out, with a reason: a 0 in their place would count as a measurement.",
    )


# --- 12: a recording of BERT-base ------------------------------------------------------------------------
def check_next_head(shares, answer, attention):
    """What each head gives to the next token, averaged over the tokens that are not special, and the largest's name."""
    weights = np.asarray(attention.weights, float)
    at = np.array([i for i, special in enumerate(attention.special) if not special])
    expected = weights[:, :, at, at + 1].mean(axis=-1)
    n = weights.shape[-1]
    every = weights[:, :, np.arange(n - 1), np.arange(1, n)]
    layer, head = (int(i) for i in np.unravel_index(expected.argmax(), expected.shape))
    name, whole = head_label(layer, head), float(every[layer, head].sum() / n)
    special = "the rows of [CLS] and [SEP] are in your mean: a head that rests there is not asked. Take the tokens with `special` False"
    near = [
        (f"{layer}-{head}", "that counts from 0; `head_label(layer, head)` prints names"),
        (head_label(head, layer), "layer and head are swapped"),
        (
            head_label(*np.unravel_index(expected.argmin(), expected.shape)),
            "that is the head that looks there least",
        ),
        (
            str(expected.argmax()),
            "that is its number among all heads in a row; `np.unravel_index` takes it apart",
        ),
    ]
    given = int(answer) if isinstance(answer, np.integer) else answer
    return check_all(
        check_array(
            shares,
            expected,
            tolerance=1e-4,
            axes=("layer", "head"),
            mistakes=[
                (every.mean(axis=-1), special),
                (every.sum(axis=-1) / n, special),
                (weights[:, :, at, at - 1].mean(axis=-1), "that is the *previous* token"),
                (weights[:, :, at + 1, at].mean(axis=-1), "query and key are swapped: the first index looks"),
                (
                    weights[:, :, at, at].mean(axis=-1),
                    "that is the token itself; the key stands one further on",
                ),
                (weights[:, :, at, at + 1].sum(axis=-1), "the sum is right; average over the tokens"),
                (
                    weights[:, :, at, at + 1].max(axis=-1),
                    "that is the best token of each head; average over them",
                ),
            ],
            learnt="The shares are right.",
        ),
        check_list(
            given if given is ... or isinstance(given, (list, tuple)) else [given],
            [name],
            mistakes=[
                *(([wrong], why) for wrong, why in near if wrong != name),
                ([(layer, head)], "that is its index; `head_label(layer, head)` prints the name"),
                ([int(expected.argmax())], near[-1][1]),
            ],
            learnt="The name is right.",
        ),
        learnt=f"Head {name}: {expected[layer, head]:.3f} ({attention.recorded}). With the rows of [CLS] and [SEP] counted as well it would be "
        f"{whole:.2f}: say what you divide by. It was chosen on the input it is reported on.",
    )


# --- the last two: a picture, and a claim on trial ---------------------------------------------------------
PICTURE_OPTIONS, check_picture, on_trial, TRIAL_OPTIONS, check_trial = close("02")


# --- the checks' own proof -----------------------------------------------------------------------------------
def EXAMPLES():
    """Right, wrong and unfilled answers of every check."""
    weights = np.tile(np.eye(5)[3], (5, 1))
    mask = same_words(["the", "cat", "saw", "the", "dog"])
    value = np.array([[0.5, 0.4, 0.1], [0.2, 0.3, 0.1]])
    null = np.array([[0.5, 0.1, 0.1], [0.2, 0.2, 0.1]])
    scores = {"within_word": SimpleNamespace(value=value, null=null, excess=value - null)}
    query, keys = np.array([1.0, 2, 0, 1]), np.array([[0.0, 1, 0, 1], [2, 2, 1, 0], [1, 0, 3, 1]])
    products = query * keys
    powers = np.exp(products.sum(axis=1) / 2)
    view = SimpleNamespace(
        query=0,
        head_size=4,
        query_vector=query,
        key_vectors=keys,
        products=products,
        scores=products.sum(axis=1) / 2,
        weights=powers / powers.sum(),
    )
    mean = SimpleNamespace
    switch = SimpleNamespace(
        report=lambda: SimpleNamespace(
            layer=0,
            head=1,
            standard=mean(mean=0.9),
            zeros=mean(mean=0.6),
            difference=mean(mean=0.3),
            chance=mean(mean=0.5),
        )
    )
    queries = case_rows(4, 3, seed=5)
    turn = np.linalg.qr(np.random.default_rng(6).standard_normal((3, 3)))[0]
    reasons = {"same_word": "no word occurs twice", "bag_of_words": "there is one text only"}
    recorded = SimpleNamespace(
        weights=case_rows(3, 4, 5, 5, seed=7), special=(True, False, False, False, True), recorded="made up"
    )
    to_next = recorded.weights[:, :, [1, 2, 3], [2, 3, 4]].mean(axis=-1)
    best = head_label(*np.unravel_index(to_next.argmax(), to_next.shape))

    def share(weights, mask):
        return (weights * mask).sum() / mask.any(axis=1).sum()

    def bag(row, own):
        return float(row[own].sum() * _evenness(row[own]))

    return {
        "check_vig_names": (["3-1", "8-4", "1-1"], ["2-0", "7-3", "0-0"], ...),
        "check_same_word_mask": (
            same_words,
            lambda w: same_words(w) | ~_apart(w),
            ...,
        ),
        "check_mask_share": (share, lambda w, m: (w * m).sum() / len(w), ...),
        "check_mean_rows": (lambda w: np.tile(w.mean(axis=0), (len(w), 1)), lambda w: w.mean(axis=0), ...),
        "check_popular": (
            args(0.5, 0.0, weights, mask),
            args(0.5, 0.5, weights, mask),
            args(..., ..., weights, mask),
        ),
        "check_best_excess": (args("1-2", scores), args("1-1", scores), args(..., scores)),
        "check_bag_row": (bag, lambda row, own: float(row[own].sum()), ...),
        "check_switch": (SWITCH_OPTIONS[1], SWITCH_OPTIONS[0], ...),
        "check_lost": (args(0.75, switch), args(0.25, switch), args(..., switch)),
        "check_contributions": (args(products[1] / 2, view), args(products[1], view), args(..., view)),
        "check_participation": (lambda c: float(participation_ratio(c)), lambda c: float((c > 0).sum()), ...),
        "check_needed": (lambda c: int(margin_dimensions(c)), lambda c: int(margin_dimensions(c)) - 1, ...),
        "check_rotated_scores": (
            args((queries @ turn) @ (queries[::-1] @ turn).T / np.sqrt(3), queries, queries[::-1], turn),
            args((queries @ turn) @ queries[::-1].T / np.sqrt(3), queries, queries[::-1], turn),
            args(..., queries, queries[::-1], turn),
        ),
        "check_rotation_meaning": (ROTATION_OPTIONS[1], ROTATION_OPTIONS[2], ...),
        "check_undefined": (
            args({"same_word", "bag_of_words"}, reasons),
            args({"next"}, reasons),
            args(..., reasons),
        ),
        "check_next_head": (
            args(to_next, best, recorded),
            args(to_next[::-1], best, recorded),
            args(..., ..., recorded),
        ),
        **closing_examples("02"),
    }


sheet = keep_sheet(globals())  # what the checks above have said, as the last cell shows it
