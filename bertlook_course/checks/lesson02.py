"""Checks of lesson 2: six patterns and the neurons behind them."""

from __future__ import annotations

from types import SimpleNamespace

import numpy as np

from bertlook_teach.measures import looks_alike, pair_share
from bertlook_teach.model import head_label

from ..analyses.anatomy import margin_dimensions, participation_ratio
from .answers import ArrayCheck, ChoiceCheck, FunctionCheck, ListCheck, NumberCheck, SetCheck
from .cases import (
    PartsCheck,
    bag,
    bag_of_raw_shares,
    bag_of_the_other,
    case_attention,
    case_rows,
    close,
    evenness,
    label_at,
    of_run,
    positive,
)
from .sheet import keep_sheet

# --- 1: names ------------------------------------------------------------------------------------------
# Layer and head, as Vig's posts print them.
COUNTS_FROM_0 = {"next word": (2, 0), "[SEP]": (7, 3), "bag of words": (0, 0)}
_PLACES = list(COUNTS_FROM_0.values())

check_vig_names = ListCheck(
    [head_label(layer, head) for layer, head in _PLACES],
    asks="The printed names, from 1, of the three heads that the posts name from 0.",
    wrong={
        "the posts count from 0, names from 1": [f"{layer}-{head}" for layer, head in _PLACES],
        "layer first, then head": [head_label(head, layer) for layer, head in _PLACES],
        "add 1 to the head as well": [f"{layer + 1}-{head}" for layer, head in _PLACES],
        "the other way: add 1": [f"{layer - 1}-{head - 1}" for layer, head in _PLACES],
    },
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


check_same_word_mask = FunctionCheck(
    same_words,
    asks="``same_word_mask(words)``: True where two different positions hold the same word.",
    cases=[["the", "cat", "saw", "the", "dog"], ["a", "a", "a"], ["no", "word", "twice"]],
    axes=("query", "key"),
    wrong={
        "no position repeats itself: set the diagonal to False": lambda w: same_words(w) | ~_apart(w),
        "that is True where the words *differ*": lambda w: ~same_words(w) & _apart(w),
        "only later positions; the same word may stand earlier too": lambda w: np.triu(same_words(w)),
        "only earlier positions; the same word may stand later too": lambda w: np.tril(same_words(w)),
        "that says *which words* are repeated; give pairs of positions": lambda w: same_words(w).any(axis=1),
    },
    learnt="Comparing a column with a row gives all pairs at once. Every pattern of this lesson but one is such a mask.",
)

_REPEATED = same_words(["the", "cat", "saw", "the", "dog"])
_LOPSIDED = np.zeros((5, 5), dtype=bool)  # three queries, four pairs, two keys
_LOPSIDED[1, [0, 4]] = _LOPSIDED[2, 4] = _LOPSIDED[3, 0] = True

check_mask_share = FunctionCheck(
    lambda weights, mask: (weights * mask).sum() / mask.any(axis=1).sum(),
    asks="``mask_share(weights, mask)``: attention inside the mask, averaged over the queries that have a key there.",
    cases=[(case_rows(5, 5), _REPEATED), (case_rows(5, 5), _LOPSIDED)],
    wrong=[
        "that counts queries without such a key as 0. A word that occurs only once has nothing to look at: leave it out",
        lambda w, m: (w * m).sum() / len(w),
        "that is the mean over pairs. A word that occurs three times may divide its attention between the other two: add over the keys, average over the queries",
        lambda w, m: w[m].mean(),
        "the sum is right; divide by the queries with a key in the mask",
        lambda w, m: (w * m).sum(),
        "query and key are swapped: row i is the token that looks",
        lambda w, m: (w.T * m).sum() / m.any(axis=1).sum(),
        "divide by the queries, `mask.any(axis=1)`",
        lambda w, m: (w * m).sum() / m.any(axis=0).sum(),
    ],
    learnt="Add over the keys, average over the queries that have one. In a text with few repetitions the other average would hide a "
    "perfect head.",
)

# --- 3: the null model -----------------------------------------------------------------------------------
check_mean_rows = FunctionCheck(
    lambda weights: np.tile(weights.mean(axis=0), (len(weights), 1)),
    asks="``mean_rows(weights)``: every row replaced by the mean row.",
    cases=[case_rows(4, 4), np.eye(3), case_rows(5, 5, seed=1)],
    axes=("query", "key"),
    wrong=[
        "that is the mean row, once; every query gets this row",
        lambda w: w.mean(axis=0),
        "average over queries, not over keys: the mean of a row is 1/n, and that is uniform",
        lambda w: np.tile(w.mean(axis=1)[:, None], (1, len(w))),
        "the mean row is a row, not a column",
        lambda w: np.tile(w.mean(axis=0)[:, None], (1, len(w))),
        "rows no longer sum to 1: the mean, not the sum",
        lambda w: np.tile(w.sum(axis=0), (len(w), 1)),
    ],
    learnt="The null model keeps what each token receives, but not who gave it. What a measure loses in this way depended on the pair of query and key.",
)


@of_run(lambda: (case_rows(5, 5, seed=2), _REPEATED), answers=2)
def check_popular(weights, mask):
    """Same-word share and excess of a head that just likes one word."""
    share = float(pair_share(weights, mask))
    null = float(pair_share(looks_alike(weights), mask))
    of_share = NumberCheck(
        share, tolerance=5e-4, wrong={"that is the null model's share": null}, learnt="The share is right."
    )
    of_excess = NumberCheck(
        share - null,
        tolerance=5e-4,
        wrong={
            "that is the share; subtract the null model's share": share,
            "the sign is reversed: share minus null model": null - share,
        },
        learnt="The excess is right.",
    )
    return PartsCheck(
        (of_share, of_excess),
        learnt=f"The share is {share:.2f} and all of it is popularity: excess {share - null:.2f}. A picture of this head shows lines from "
        "word to same word.",
    )


_PATTERNS = {"next", "previous", "same_word", "same_word_across", "within_word", "delimiter", "bag_of_words"}


@of_run(lambda: ({"same_word": "no word occurs twice", "bag_of_words": "there is one text only"},))
def check_undefined(missing):
    """Which patterns a text cannot show."""
    expected = set(missing)
    return SetCheck(
        expected,
        wrong={
            "those are the patterns that it *can* show": _PATTERNS - expected,
            "those are the reasons; the keys were asked for": set(missing.values()),
        },
        learnt=f"{len(expected)} of {len(_PATTERNS)}. They are left out, with a reason: a 0 in their place would count as a measurement.",
    )


# --- 4: best head ------------------------------------------------------------------------------------------
def _scores():
    value = np.array([[0.5, 0.4, 0.1], [0.2, 0.3, 0.1]])
    null = np.array([[0.5, 0.1, 0.1], [0.2, 0.2, 0.2]])
    return {"within_word": SimpleNamespace(value=value, null=null, excess=value - null)}


@of_run(lambda: (_scores(),))
def check_best_excess(scores, key="within_word"):
    """The printed name of the head with the largest excess."""
    score = scores[key]
    excess, value = np.asarray(score.excess), np.asarray(score.value)
    expected = label_at(excess)
    layer, head = (int(i) for i in np.unravel_index(excess.argmax(), excess.shape))
    return ListCheck(
        [expected],
        single=True,
        wrong={
            "that is the head with the largest *share*; the excess was asked for": [label_at(value)],
            "printed names count from 1; `head_label(layer, head)` makes them": [f"{layer}-{head}"],
            "layer and head are swapped": [head_label(head, layer)],
            "that is the smallest excess": [label_at(excess, np.argmin)],
        },
        learnt=f"Head {expected}: share {float(value[layer, head]):.3f}, null model {float(score.null[layer, head]):.3f}. It was chosen on the one "
        "input it is reported on: a candidate, not yet a finding.",
    )


# --- 5: the bag of words ---------------------------------------------------------------------------------
check_bag_row = FunctionCheck(
    bag,
    asks="``bag_row(row, own)``: mass in the own text times how evenly it is spread there.",
    cases=[(row, np.arange(6) < 4) for row in (*case_rows(3, 6, seed=3), np.eye(6)[1], np.full(6, 1 / 6))],
    wrong=[
        "that is the mass; multiply by how evenly it is spread",
        lambda row, own: row[own].sum(),
        "that is the evenness within the own text; a head that hardly looks there must score low: multiply by the mass",
        lambda row, own: evenness(row[own]),
        "that is the *other* text; `own` marks the token's own text",
        bag_of_the_other,
        "divide that part by its sum first: entropy is about shares that add up to 1",
        bag_of_raw_shares,
        "the attention can only be spread over its own text: divide by ln of *its* number of tokens",
        lambda row, own: bag(row, own) * np.log(own.sum()) / np.log(len(row)),
        "that is in nats; divide by ln of the number of tokens in the token's own text",
        lambda row, own: bag(row, own) * np.log(own.sum()),
    ],
    learnt="A perfect bag of words scores 1. Uniform attention scores the text's share of all tokens, and that is the null model of this measure.",
)

check_switch = ChoiceCheck.among(
    {
        "position embeddings and [SEP]": "both readings have them; what is *left* of the preference for the own text may come from there",
        "segment embeddings": None,
        "the words themselves": "the words are the same in both readings",
    },
    asks="What is told to the model in only one of the two readings.",
    learnt="Everything else is the same, so what is lost is due to the segment embeddings. An experiment changes one thing.",
)
SWITCH_OPTIONS = check_switch.options


def _switch():
    means = {"standard": 0.9, "zeros": 0.6, "difference": 0.3, "chance": 0.5}
    report = SimpleNamespace(
        layer=0, head=1, **{name: SimpleNamespace(mean=mean) for name, mean in means.items()}
    )
    return SimpleNamespace(report=lambda: report)


@of_run(lambda: (_switch(),))
def check_lost(switch):
    """The part of the share above chance that is lost with zeros, for the head most like a bag of words."""
    report = switch.report()
    had, left = report.standard.mean - report.chance.mean, report.zeros.mean - report.chance.mean
    expected = 1 - left / had
    return NumberCheck(
        expected,
        tolerance=2e-3,
        wrong={
            "that is the part that is *left*": left / had,
            "divide the difference by what there was above chance": report.difference.mean,
            "divide by the share *above chance*": report.difference.mean / report.standard.mean,
            "the other way round: what is lost, divided by what there was": 1 / expected,
        },
        learnt=f"Head {head_label(report.layer, report.head)}: {expected:.0%} of the preference for its own text, above chance, is lost when every token is given the same segment, "
        f"{1 - expected:.0%} is left.",
    )


# --- 6: neurons --------------------------------------------------------------------------------------------
def _neurons():
    query, keys = np.array([1.0, 2, 0, 1]), np.array([[0.0, 1, 0, 1], [2, 2, 1, 0], [1, 0, 3, 1]])
    products = query * keys
    scores = products.sum(axis=1) / 2
    return SimpleNamespace(
        query=0,
        head_size=4,
        query_vector=query,
        key_vectors=keys,
        products=products,
        scores=scores,
        weights=np.exp(scores) / np.exp(scores).sum(),
    )


@of_run(lambda: (_neurons(),))
def check_contributions(view):
    """What each dimension adds to the score of the token that is looked at most."""
    key = int(view.weights.argmax())
    parts = view.products / np.sqrt(view.head_size)
    return ArrayCheck(
        parts[key],
        axes=("dimension",),
        tolerance=1e-5,
        wrong=[
            "that is the dot product; divide by the root of the number of dimensions",
            view.products[key],
            "divide by the *root* of the number of dimensions",
            view.products[key] / view.head_size,
            "those are all keys; take the one looked at most",
            parts,
            "a product of query and key, not their sum",
            view.query_vector + view.key_vectors[key],
            "that is the score of the token with itself; look for the largest weight, `weights.argmax()`",
            parts[view.query],
        ],
        learnt=f"They add up to the score, {view.scores[key]:.2f}; the largest is {parts[key].max():.2f}.",
    )


check_participation = FunctionCheck(
    participation_ratio,
    asks="``spread(contributions)``: over how many dimensions the positive contributions are spread.",
    cases=[np.array([3.0, 0, 0, -2]), np.ones(4), np.array([2.0, 1, 0, -1, -5])],
    wrong=[
        "negative contributions count as 0 here: `np.maximum(contributions, 0)` first",
        lambda c: c.sum() ** 2 / (c**2).sum(),
        "negative contributions count as 0; you took their absolute values",
        lambda c: np.abs(c).sum() ** 2 / (c**2).sum(),
        "upside down: squared sum over sum of squares",
        lambda c: (positive(c) ** 2).sum() / positive(c).sum() ** 2,
        "that counts all positive contributions equally; small ones should count for less",
        lambda c: (c > 0).sum(),
        "square the sum too; otherwise doubling every contribution would change the result",
        lambda c: positive(c).sum() / (positive(c) ** 2).sum(),
    ],
    learnt="1 if one dimension contributes everything, n if n dimensions contribute equally.",
)


def _first_to_reach(contributions, whole=None):
    whole = contributions.sum() if whole is None else whole
    return (np.cumsum(contributions) >= 0.9 * whole - 1e-12).argmax() + 1


check_needed = FunctionCheck(
    margin_dimensions,
    asks="``needed(contributions)``: the fewest dimensions whose sum reaches 90 % of the whole sum.",
    cases=[
        np.array([4.0, 0, 0, 0]),
        np.ones(10),
        np.array([5.0, 1, -1, -1]),
        np.array([1.0, 3, 2, 2, 1, 1]),
        np.array([4.0, 1, 0, 0, 4, 1]),
    ],
    tolerance=0,
    wrong=[
        "for the *fewest*, the largest come first: `np.sort(contributions)[::-1]`",
        _first_to_reach,
        "90 % of the whole sum, the negative contributions included",
        lambda c: _first_to_reach(-np.sort(-c), positive(c).sum()),
        "one too few: `argmax` counts from 0",
        lambda c: margin_dimensions(c) - 1,
        "you begin with the smallest; the largest come first",
        lambda c: _first_to_reach(np.sort(c)),
        "90 % of the sum, not all of it",
        lambda c: margin_dimensions(c, share=1.0),
    ],
    learnt="Largest first, count until 90 %. Where negative contributions make the whole sum small, one dimension may be enough: a small "
    "number can also mean that there was little to explain.",
)


# --- 7: rotation ---------------------------------------------------------------------------------------------
def _rotated():
    queries = case_rows(4, 3, seed=5)
    return queries, queries[::-1], np.linalg.qr(np.random.default_rng(6).standard_normal((3, 3)))[0]


@of_run(_rotated)
def check_rotated_scores(queries, keys, rotation):
    """The scores of one head after query and key have been rotated in the same way."""
    queries, keys, rotation = (np.asarray(x, float) for x in (queries, keys, rotation))
    root = np.sqrt(queries.shape[-1])
    return ArrayCheck(
        queries @ keys.T / root,
        tolerance=1e-3,
        axes=("query", "key"),
        wrong=[
            "only the queries are rotated; rotate the keys too",
            queries @ rotation @ keys.T / root,
            "only the keys are rotated; rotate the queries too",
            queries @ (keys @ rotation).T / root,
            "scores are divided by the root of the number of dimensions",
            queries @ keys.T,
            "the keys are rotated the other way",
            queries @ rotation @ (keys @ rotation.T).T / root,
        ],
        learnt="No score has changed, so no weight has changed either. The neurons are all different.",
    )


check_rotation_meaning = ChoiceCheck.among(
    {
        "the head changes, and its map too": "you have just seen that the scores stay, to the last digits of a float",
        "the map stays, the count of neurons may change": None,
        "nothing changes at all": "the vectors are different, and so is what each dimension contributes",
    },
    asks="What rotating query and key in the same way changes.",
    learnt="So a single neuron has no meaning that the map could confirm. A number of neurons is a statement about the axes as well.",
)
ROTATION_OPTIONS = check_rotation_meaning.options


# --- 12: a recording of BERT-base ------------------------------------------------------------------------
@of_run(lambda: (case_attention(("[CLS]", "a", "b", "c", "[SEP]"), 3, 4, seed=7),), answers=2)
def check_next_head(attention):
    """What each head gives to the next token, averaged over the tokens that are not special, and the largest's name."""
    weights = np.asarray(attention.weights, float)
    at = np.array([i for i, special in enumerate(attention.special) if not special])
    to_next = weights[:, :, at, at + 1]
    expected = to_next.mean(axis=-1)
    n = weights.shape[-1]
    every = weights[:, :, np.arange(n - 1), np.arange(1, n)]
    layer, head = (int(i) for i in np.unravel_index(expected.argmax(), expected.shape))
    name, whole = head_label(layer, head), float(every[layer, head].sum() / n)
    special = "the rows of [CLS] and [SEP] are in your mean. Take only the tokens with `special` False"
    flat = "that is its number among all heads in a row; `np.unravel_index` takes it apart"
    shares = ArrayCheck(
        expected,
        tolerance=1e-4,
        axes=("layer", "head"),
        wrong=[
            special,
            every.mean(axis=-1),
            special,
            every.sum(axis=-1) / n,
            "that is the *previous* token",
            weights[:, :, at, at - 1].mean(axis=-1),
            "query and key are swapped: the first index looks",
            weights[:, :, at + 1, at].mean(axis=-1),
            "that is the token itself; the key is the token after it",
            weights[:, :, at, at].mean(axis=-1),
            "the sum is right; average over the tokens",
            to_next.sum(axis=-1),
            "that is the best token of each head; average over them",
            to_next.max(axis=-1),
        ],
        learnt="The shares are right.",
    )
    label = ListCheck(
        [name],
        single=True,
        wrong=[
            "that counts from 0; `head_label(layer, head)` prints names",
            [f"{layer}-{head}"],
            "layer and head are swapped",
            [head_label(head, layer)],
            "that is the head that looks there least",
            [label_at(expected, np.argmin)],
            flat,
            [str(expected.argmax())],
            "that is its index; `head_label(layer, head)` prints the name",
            [(layer, head)],
            flat,
            [int(expected.argmax())],
        ],
        learnt="The name is right.",
    )
    return PartsCheck(
        (shares, label),
        learnt=f"Head {name}: {expected[layer, head]:.3f} ({attention.recorded}). With the rows of [CLS] and [SEP] counted as well it would be "
        f"{whole:.2f}: say what you divide by. It was chosen on the input it is reported on.",
    )


# --- the last two: a picture, and a claim on trial ---------------------------------------------------------
PICTURE_OPTIONS, check_picture, on_trial, TRIAL_OPTIONS, check_trial = close("02")

sheet = keep_sheet(globals())  # what the checks above have said, as the last cell shows it
