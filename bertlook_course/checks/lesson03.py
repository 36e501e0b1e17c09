"""Checks of lesson 3: where heads look."""

from __future__ import annotations

import numpy as np

from bertlook_teach.measures import Profile, attention_share, token_masks
from bertlook_teach.model import head_label

from ..published import published_layers
from .answers import ArrayCheck, ChoiceCheck, FunctionCheck, ListCheck, NumberCheck, SetCheck
from .cases import PartsCheck, case_attention, case_rows, close, entropy, label_at, labels_of, of_run
from .sheet import keep_sheet


# --- 1 ---------------------------------------------------------------------------------------------------
def _diagonal_sum(weights, offset):
    return np.diagonal(weights, offset, -2, -1).sum(axis=-1)


def _offset_share(weights, offset):
    return _diagonal_sum(weights, offset) / weights.shape[-1]


check_offset_share = FunctionCheck(
    _offset_share,
    asks="``offset_share(weights, offset)``: the mean attention to the token ``offset`` places away.",
    cases=[(case_rows(2, 3, 5, 5), offset) for offset in (-1, 1, 0, 3)],
    axes=("layer", "head"),
    wrong=[
        "previous and next are swapped. Row i looks, column j is looked at: `offset=+1` is above the diagonal, where i looks at i + 1",
        lambda w, offset: _offset_share(w, -offset),
        "that is the mean of the diagonal, which is shorter than the text. The edge row has no such neighbour and counts as 0, so divide the sum by the number of tokens",
        lambda w, offset: np.diagonal(w, offset, -2, -1).mean(axis=-1),
        "that is the sum; the mean over all tokens was asked for",
        _diagonal_sum,
    ],
    learnt="One diagonal, divided by the number of tokens. The edge row counts as 0, so a perfect previous-token "
    "head scores (n - 1)/n, not 1.",
)


# --- 2 ---------------------------------------------------------------------------------------------------
def _profile(seed=0):
    """A made-up profile: head 2-3 looks back, 3-1 ahead, and self-attention differs from text to text."""
    profile, generator = Profile(), np.random.default_rng(seed)
    for _ in range(10):
        values = {name: generator.uniform(0.01, 0.09, (4, 3)) for name in ("previous", "next", "self")}
        values["previous"][1, 2] += 0.8
        values["next"][2, 0] += 0.7
        profile.add(values, 1)
    return profile


@of_run(lambda: (_profile(),))
def check_previous_heads(profile):
    """The printed names of the heads that give more than half of their attention to the previous token."""
    back, ahead = (profile.mean(name) > 0.5 for name in ("previous", "next"))
    places, expected, others = np.argwhere(back).tolist(), labels_of(back), labels_of(ahead)
    return SetCheck(
        expected,
        wrong=[
            "printed names count from 1; `head_label(layer, head)` makes them",
            {f"{layer}-{head}" for layer, head in places},
            "these are indices, counted from 0; give printed names, `head_label(layer, head)`",
            places,
            "layer and head are swapped: the first axis of the array is the layer",
            {head_label(head, layer) for layer, head in places},
            "those look at the *next* token",
            others,
            "those look at a neighbour, on either side; only the previous token was asked for",
            expected | others,
        ],
        learnt=f"{len(expected)} of {profile.mean('previous').size} heads: more than half of the attention, averaged over {profile.n} texts.",
    )


# --- 3 ---------------------------------------------------------------------------------------------------
@of_run(lambda: (("[CLS]", "yes", ",", "it", "'", "s", ".", "[SEP]"),))
def check_masks(tokens):
    """A boolean array that is True where the token is a full stop or a comma."""
    expected = np.isin(tokens, (".", ","))
    marks = [not any(c.isalnum() for c in token) and token not in ("[CLS]", "[SEP]") for token in tokens]
    return ArrayCheck(
        expected,
        axes=("token",),
        wrong={
            "these are positions; one True or False per token was asked for": np.flatnonzero(expected),
            "only . and , count; apostrophes, dashes and question marks are *other*": np.array(marks),
        },
        learnt=f"{int(expected.sum())} of {len(tokens)} tokens. This is also the share that uniform attention would give them: "
        f"{expected.mean():.3f}.",
    )


# --- 4 and 5 ---------------------------------------------------------------------------------------------
def _share_to(weights, keys):
    return weights[..., keys].sum(axis=-1).mean(axis=-1)


def _chosen(*places, n):
    return np.isin(np.arange(n), places)


check_share_to = FunctionCheck(
    _share_to,
    asks="``share_to(weights, keys)``: the share of attention that goes to the tokens in a mask.",
    cases=[(case_rows(2, 3, 5, 5), _chosen(0, 3, n=5)), (case_rows(2, 3, 5, 5), _chosen(2, n=5))],
    axes=("layer", "head"),
    wrong=[
        "that chooses rows, the tokens that look. The mask says who is looked at: the last axis",
        lambda w, keys: w[..., keys, :].sum(axis=-2).mean(axis=-1),
        "that is the mean over the chosen keys; their shares add up: a sum over the keys, then the mean over the queries",
        lambda w, keys: w[..., keys].mean(axis=(-1, -2)),
        "the sum over the keys is right; then the queries: their mean, not their sum",
        lambda w, keys: w[..., keys].sum(axis=(-1, -2)),
        "that is only what the chosen tokens themselves give; every token looks",
        lambda w, keys: _share_to(w[..., keys, :], keys),
    ],
    learnt="Sum over the keys in the mask (shares add up), then mean over all queries. With masks for [CLS], [SEP], "
    ". and , and the rest, the four shares add up to 1.",
)

check_sep_to_sep = FunctionCheck(
    lambda weights, is_sep: _share_to(weights[..., is_sep, :], is_sep),
    asks="``sep_to_sep(weights, is_sep)``: of the attention from [SEP], the share that goes to [SEP].",
    cases=[(case_rows(2, 3, 6, 6, seed=1), mask) for mask in (_chosen(2, 5, n=6), _chosen(0, 1, 3, 4, n=6))],
    axes=("layer", "head"),
    wrong=[
        "that is the share that all tokens give to [SEP]; choose the rows of [SEP] as well",
        _share_to,
        "that is what the others give to [SEP]: the rows of the tokens that are *not* [SEP]",
        lambda w, s: _share_to(w[..., ~s, :], s),
        "a [SEP] that gives .4 to itself and .5 to the other gives .9 to [SEP]: add up the keys, then average the queries",
        lambda w, s: w[..., s, :][..., s].mean(axis=(-1, -2)),
        "divide by the number of tokens that look, which is the number of [SEP], not of all tokens",
        lambda w, s: w[..., s, :][..., s].sum(axis=(-1, -2)) / len(s),
        "that counts only what each [SEP] gives to *itself*; the other [SEP] is a [SEP] too",
        lambda w, s: np.diagonal(w, 0, -2, -1)[..., s].mean(axis=-1),
    ],
    learnt="Two masks on the same map: rows of [SEP], columns of [SEP]. Sum over the keys, mean over the queries.",
)


# --- 6 ---------------------------------------------------------------------------------------------------
@of_run(lambda: (case_attention(("[CLS]", *["a"] * 17, "[SEP]", "[SEP]"), 1, 1),))
def check_baseline(attention):
    """What uniform attention would give to [SEP] in one text."""
    n, mask = attention.n_tokens, token_masks(attention)["sep"]
    sep = int(mask.sum())
    return NumberCheck(
        sep / n,
        tolerance=5e-4,
        wrong=[
            f"that is the share of one token; there are {sep} [SEP]",
            1 / n,
            "that is 2 of 128, the number in the paper; our text is not 128 tokens long",
            sep / 128,
            "[CLS] and [SEP] are tokens too, and can be looked at: divide by all tokens",
            sep / (n - 3),
            "that is how many there are; the share of all tokens was asked for",
            sep,
            "that is what the heads do; what would a head do that looks at all tokens equally?",
            attention_share(attention, mask).mean(),
        ],
        learnt=f"{sep} of {n} tokens: {sep / n:.4f}. The baseline depends on the length of the text, so it is computed from the "
        "texts and not copied from the paper.",
    )


# --- 7 and 8 ---------------------------------------------------------------------------------------------
check_row_entropy = FunctionCheck(
    entropy,
    asks="``row_entropy(row)``: entropy of one row in nats, with 0 log 0 = 0.",
    cases=[np.array(row) for row in ([0.25] * 4, [0.5, 0.25, 0.25], [0.0, 1.0, 0.0], [0.5, 0.5, 0.0])],
    wrong=[
        "that is in bits. In nats the logarithm is the natural one, `np.log`",
        lambda row: entropy(row) / np.log(2),
        "that is the logarithm to base 10; nats need the natural one, `np.log`",
        lambda row: entropy(row) / np.log(10),
        "the size is right, the sign is not: entropy is never negative",
        lambda row: -entropy(row),
        "that is already divided by ln n; this exercise asks for nats",
        lambda row: entropy(row) / np.log(len(row)),
        "take the sum over the keys, not their mean",
        lambda row: entropy(row) / len(row),
        "it gives nan as soon as a weight is 0. In the limit 0 log 0 is 0: leave out the zeros, or replace them by 1 inside the logarithm",
        lambda row: -(row * np.log(row)).sum(),
    ],
    learnt="0 for a row with a single 1, ln n for a uniform one. exp(entropy) is the number of tokens over which the row is spread.",
)


check_why_divide = ChoiceCheck.among(
    {
        "it makes every row sum to 1": "the softmax has done that already",
        "a longer text allows more entropy": None,
        "it turns nats into bits": "for bits one divides by ln 2, whatever the length",
    },
    asks="Why entropies of texts of different length are divided by ln n.",
    learnt="Uniform attention has entropy ln n: 2.08 nats over 8 tokens, 4.61 over 100. Divided by ln n both are 1.",
)
LENGTH_OPTIONS = check_why_divide.options


def _focus(weights):
    return np.mean([entropy(row) for row in weights]) / np.log(len(weights))


check_head_focus = FunctionCheck(
    _focus,
    asks="``head_focus(weights)``: mean entropy of a head's rows, divided by ln n.",
    cases=[case_rows(5, 5, seed=2), np.eye(4), np.full((3, 3), 1 / 3)],
    wrong=[
        "you took the mean of the rows first. A head whose rows look sharply at different tokens then seems broad; take the entropy of each row, then the mean",
        lambda w: entropy(w.mean(axis=0)) / np.log(len(w)),
        "that is in nats; divide by ln n, n the number of keys",
        lambda w: _focus(w) * np.log(len(w)),
        "divide by ln n, `np.log(n)`, not by n",
        lambda w: _focus(w) * np.log(len(w)) / len(w),
        "that is the entropy of the columns: sum over the last axis, the keys",
        lambda w: _focus((w / w.sum(axis=0)).T),
    ],
    learnt="Entropy first, mean after. 0 is a head that looks at one token each time, 1 one that looks at all tokens equally.",
)


# --- 9 and 10 --------------------------------------------------------------------------------------------
@of_run(lambda: (_profile(0), _profile(1)), answers=2)
def check_fair_head(choosing, reporting, measure="self"):
    """The head chosen on one half of the texts, and its mean on the other half."""
    first, second = choosing.mean(measure), reporting.mean(measure)
    chosen = np.unravel_index(first.argmax(), first.shape)
    name, used, fair = label_at(first), float(first[chosen]), float(second[chosen])
    head = ListCheck(
        [name],
        single=True,
        wrong={
            "that head is best on the texts that report; choose on the others": [label_at(second)],
            "printed names count from 1, `head_label(layer, head)`": [f"{chosen[0]}-{chosen[1]}"],
        },
        learnt="The head is right.",
    )
    value = NumberCheck(
        fair,
        tolerance=2e-6,
        wrong={
            "that is its mean on the texts that chose it, which is too good: report on the other half": used,
            "that is the largest value of the half that reports; take the chosen head's": second.max(),
        },
        learnt="The value is right.",
    )
    return PartsCheck(
        (head, value),
        learnt=f"Head {name}: {used:.5f} on the {choosing.n} texts that chose it, {fair:.5f} on {reporting.n} others. The second is the honest one.",
    )


def _marks(*layers):
    """A profile of two heads per layer whose attention to punctuation is as given, and varies a little from text to text."""
    profile = Profile()
    for shift in (-0.01, 0.01, -0.02, 0.02):
        profile.add({"punct": np.array(layers).repeat(2).reshape(-1, 2) + shift}, 1)
    return profile


# Beside the twin: two layers below it, one not clearly above it, four above it, one of which gives more than twice as much.
@of_run(lambda: (_marks(0.1, 0.1, 0.205, 0.3, 0.3, 0.27, 0.9), _marks(*[0.2] * 7)))
def check_learned_layers(profile, twin, measure="punct"):
    """In how many layers the whole interval lies above the random twin's mean."""
    mean, low, high = profile.layer_mean(measure)
    chance = twin.layer_mean(measure)[0]
    expected = int((low > chance).sum())
    return NumberCheck(
        expected,
        tolerance=0,
        wrong=[
            "attention is always above 0; compare with the random twin",
            (mean > 0).sum(),
            "more than twice the twin was not asked for: above it, with the whole interval",
            (low > chance.mean() * 2).sum(),
            "those are the layers clearly *below* the twin",
            (high < chance).sum(),
            "those are heads; count layers",
            (profile.mean(measure) > twin.mean(measure)).sum(),
            "in one of them the interval still includes the twin's mean: use `low`",
            (mean > chance).sum(),
        ],
        learnt=f"{expected} of {len(mean)} layers give more than the twin does. The twin gives {chance.mean():.3f}, which is what uniform attention "
        "gives. In the others the habit is not learnt, or is learnt the other way round.",
    )


# --- 11 --------------------------------------------------------------------------------------------------
@of_run()
def check_erratum():
    """The printed numbers of the layers in which Clark's Figure 2 gives over half of the attention to [SEP]."""
    layers = published_layers("sep")
    over = np.flatnonzero(layers > 0.5).tolist()
    return SetCheck(
        {layer + 1 for layer in over},
        wrong={
            "that is what the text says. What does the figure say?": {6, 7, 8, 9, 10},
            "printed layers count from 1; `np.flatnonzero` counts from 0": over,
        },
        learnt=f"The figure gives {layers[9]:.3f} for layer 10: close to half, not over it. The sentence rounds, the figure does not.",
    )


# --- the last two: a picture, and a claim on trial ---------------------------------------------------------
PICTURE_OPTIONS, check_picture, on_trial, TRIAL_OPTIONS, check_trial = close("03")

sheet = keep_sheet(globals())  # what the checks above have said, as the last cell shows it
