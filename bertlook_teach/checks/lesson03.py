"""Checks of lesson 3: where heads look."""

from __future__ import annotations

import numpy as np

from ..measures import Profile, attention_share, token_masks
from ..model import head_label
from ..published import published_layers
from .answers import check_array, check_choice, check_function, check_list, check_number, check_set
from .cases import case_rows, close, closing_examples, entropy
from .feedback import args, check_all
from .sheet import keep_sheet


# --- 1 ---------------------------------------------------------------------------------------------------
def check_offset_share(function):
    """``offset_share(weights, offset)``: the mean attention to the token ``offset`` places away."""

    def right(weights, offset):
        return np.diagonal(weights, offset, -2, -1).sum(axis=-1) / weights.shape[-1]

    def turned(weights, offset):
        return right(weights, -offset)

    def short(weights, offset):
        return np.diagonal(weights, offset, -2, -1).mean(axis=-1)

    def summed(weights, offset):
        return np.diagonal(weights, offset, -2, -1).sum(axis=-1)

    weights = case_rows(2, 3, 5, 5)
    cases = [((weights, offset), right(weights, offset)) for offset in (-1, 1, 0, 3)]
    return check_function(
        function,
        cases,
        axes=("layer", "head"),
        mistakes=[
            (
                turned,
                (
                    "previous and next are swapped. Row i looks, column j is looked at: `offset=+1` is above the diagonal, "
                    "where i looks at i + 1"
                ),
            ),
            (
                short,
                (
                    "that is the mean of the diagonal, which is shorter than the text. The edge row has no such "
                    "neighbour and counts as 0, so divide the sum by the number of tokens"
                ),
            ),
            (summed, "that is the sum; the mean over all tokens was asked for"),
        ],
        learnt="One diagonal, divided by the number of tokens. The edge row counts as 0, so a perfect previous-token "
        "head scores (n - 1)/n, not 1.",
    )


# --- 2 ---------------------------------------------------------------------------------------------------
def check_previous_heads(answer, profile):
    """The printed names of the heads that give more than half of their attention to the previous token."""

    def over(measure, limit=0.5):
        return {head_label(layer, head) for layer, head in np.argwhere(profile.mean(measure) > limit)}

    places = np.argwhere(profile.mean("previous") > 0.5)
    expected = over("previous")
    return check_set(
        answer,
        expected,
        mistakes=[
            (
                {f"{layer}-{head}" for layer, head in places} or {"0-0"},
                "printed names count from 1; `head_label(layer, head)` makes them",
            ),
            (
                {(int(layer), int(head)) for layer, head in places} or {(0, 0)},
                "these are indices, counted from 0; give printed names, `head_label(layer, head)`",
            ),
            (
                {head_label(head, layer) for layer, head in places} or {"1-1"},
                "layer and head are swapped: the first axis of the array is the layer",
            ),
            (over("next") or {"next"}, "those look at the *next* token"),
            (
                over("previous") | over("next"),
                "those look at a neighbour, on either side; only the previous token was asked for",
            ),
        ],
        learnt=f"{len(expected)} of {profile.mean('previous').size} heads, each over half on average over {profile.n} texts.",
    )


# --- 3 and 4 ---------------------------------------------------------------------------------------------
def check_share_to(function):
    """``share_to(weights, keys)``: the share of attention that goes to the tokens in a mask."""
    weights, mask = case_rows(2, 3, 5, 5), np.array([True, False, False, True, False])
    one = np.array([False, False, True, False, False])

    def right(weights, keys):
        return weights[..., keys].sum(axis=-1).mean(axis=-1)

    return check_function(
        function,
        [((weights, mask), right(weights, mask)), ((weights, one), right(weights, one))],
        axes=("layer", "head"),
        mistakes=[
            (
                lambda w, keys: w[..., keys, :].sum(axis=-2).mean(axis=-1),
                "that chooses rows, the tokens that look. The mask says who is looked at: the last axis",
            ),
            (
                lambda w, keys: w[..., keys].mean(axis=(-1, -2)),
                "that is the mean over the chosen keys; their shares add up: a sum over the keys, then the mean over the queries",
            ),
            (
                lambda w, keys: w[..., keys].sum(axis=(-1, -2)),
                "the sum over the keys is right; then the queries: their mean, not their sum",
            ),
            (
                lambda w, keys: w[..., keys, :][..., keys].sum(axis=-1).mean(axis=-1),
                "that is only what the chosen tokens themselves give; every token looks",
            ),
        ],
        learnt="Sum over the keys in the mask (shares add up), then mean over all queries. With masks for [CLS], [SEP], "
        ". and , and the rest, the four shares add up to 1.",
    )


def check_sep_to_sep(function):
    """``sep_to_sep(weights, is_sep)``: of the attention from [SEP], the share that goes to [SEP]."""
    weights = case_rows(2, 3, 6, 6, seed=1)
    mask = np.array([False, False, True, False, False, True])

    def right(weights, is_sep):
        return weights[..., is_sep, :][..., is_sep].sum(axis=-1).mean(axis=-1)

    return check_function(
        function,
        [((weights, mask), right(weights, mask)), ((weights, ~mask), right(weights, ~mask))],
        axes=("layer", "head"),
        mistakes=[
            (
                lambda w, s: w[..., s].sum(axis=-1).mean(axis=-1),
                "that is the share that all tokens give to [SEP]; choose the rows of [SEP] as well",
            ),
            (
                lambda w, s: w[..., ~s, :][..., s].sum(axis=-1).mean(axis=-1),
                "that is other to [SEP]: the rows of the tokens that are *not* [SEP]",
            ),
            (
                lambda w, s: w[..., s, :][..., s].mean(axis=(-1, -2)),
                "a [SEP] that gives .4 to itself and .5 to the other gives .9 to [SEP]: add up the keys, then average the queries",
            ),
            (
                lambda w, s: w[..., s, :][..., s].sum(axis=(-1, -2)) / len(s),
                "divide by the number of tokens that look, which is the number of [SEP], not of all tokens",
            ),
            (
                lambda w, s: np.diagonal(w, 0, -2, -1)[..., s].mean(axis=-1),
                "that counts only what each [SEP] gives to *itself*; the other [SEP] is a [SEP] too",
            ),
        ],
        learnt="Two masks on the same map: rows of [SEP], columns of [SEP]. Sum over the keys, mean over the queries.",
    )


# --- 5 ---------------------------------------------------------------------------------------------------
def check_baseline(answer, attention):
    """What uniform attention would give to [SEP] in one text."""
    n = attention.n_tokens
    sep = int(token_masks(attention)["sep"].sum())
    return check_number(
        answer,
        sep / n,
        tolerance=5e-4,
        mistakes=[
            (1 / n, f"that is the share of one token; there are {sep} [SEP]"),
            (sep / 128, "that is 2 of 128, the number in the paper; our text is not 128 tokens long"),
            (sep / (n - 3), "[CLS] and [SEP] are tokens too, and can be looked at: divide by all tokens"),
            (sep, "that is how many there are; the share of all tokens was asked for"),
            (
                float(attention_share(attention, token_masks(attention)["sep"]).mean()),
                "that is what the heads do; what would a head do that looks at all tokens equally?",
            ),
        ],
        learnt=f"{sep} of {n} tokens: {sep / n:.4f}. The baseline depends on the length of the text, so it is computed from the "
        "texts and not copied from the paper.",
    )


# --- 6 and 7 ---------------------------------------------------------------------------------------------
def check_row_entropy(function):
    """``row_entropy(row)``: entropy of one row in nats, with 0 log 0 = 0."""
    rows = [
        np.full(4, 1 / 4),
        np.array([0.5, 0.25, 0.25]),
        np.array([0.0, 1.0, 0.0]),
        np.array([0.5, 0.5, 0.0]),
    ]
    return check_function(
        function,
        [((row,), entropy(row)) for row in rows],
        mistakes=[
            (
                lambda row: entropy(row) / np.log(2),
                "that is in bits. In nats the logarithm is the natural one, `np.log`",
            ),
            (
                lambda row: entropy(row) / np.log(10),
                "that is the logarithm to base 10; nats need the natural one, `np.log`",
            ),
            (lambda row: -entropy(row), "the size is right, the sign is not: entropy is never negative"),
            (
                lambda row: entropy(row) / np.log(len(row)),
                "that is already divided by ln n; this exercise asks for nats",
            ),
            (lambda row: entropy(row) / len(row), "a sum over the keys, not their mean"),
            (
                lambda row: -(row * np.log(row)).sum(),
                (
                    "it gives nan as soon as a weight is 0. In the limit 0 log 0 is 0: leave out the zeros, or replace them "
                    "by 1 inside the logarithm"
                ),
            ),
        ],
        learnt="0 for a row with a single 1, ln n for a uniform one. exp(entropy) is the number of tokens over which the row is spread.",
    )


def check_head_focus(function):
    """``head_focus(weights)``: mean entropy of a head's rows, divided by ln n."""
    cases = [case_rows(5, 5, seed=2), np.eye(4), np.full((3, 3), 1 / 3)]

    def right(weights):
        return float(np.mean([entropy(row) for row in weights]) / np.log(len(weights)))

    return check_function(
        function,
        [((weights,), right(weights)) for weights in cases],
        mistakes=[
            (
                lambda w: entropy(w.mean(axis=0)) / np.log(len(w)),
                (
                    "you took the mean of the rows first. A head whose rows look sharply at different tokens then seems broad; "
                    "take the entropy of each row, then the mean"
                ),
            ),
            (lambda w: right(w) * np.log(len(w)), "that is in nats; divide by ln n, n the number of keys"),
            (lambda w: right(w) * np.log(len(w)) / len(w), "divide by ln n, `np.log(n)`, not by n"),
            (
                lambda w: right((w / w.sum(axis=0)).T),
                "the entropy of the columns: sum over the last axis, the keys",
            ),
        ],
        learnt="Entropy first, mean after. 0 is a head that looks at one token each time, 1 one that looks at all tokens equally.",
    )


LENGTH_OPTIONS = (
    "it makes every row sum to 1",
    "a longer text allows more entropy",
    "it turns nats into bits",
)


def check_why_divide(answer):
    """Why entropies of texts of different length are divided by ln n."""
    return check_choice(
        answer,
        LENGTH_OPTIONS[1],
        options=LENGTH_OPTIONS,
        mistakes=[
            (LENGTH_OPTIONS[0], "softmax has seen to that already"),
            (LENGTH_OPTIONS[2], "for bits one divides by ln 2, whatever the length"),
        ],
        learnt="Uniform attention has entropy ln n: 2.08 nats over 8 tokens, 4.61 over 100. Divided by ln n both are 1.",
    )


# --- 8 and 9 ---------------------------------------------------------------------------------------------
def check_fair_head(label, value, choosing, reporting, measure="self"):
    """The head chosen on one half of the texts, and its mean on the other half."""
    chosen = np.unravel_index(choosing.mean(measure).argmax(), choosing.mean(measure).shape)
    expected = float(reporting.mean(measure)[chosen])
    used = float(choosing.mean(measure)[chosen])
    other = np.unravel_index(reporting.mean(measure).argmax(), reporting.mean(measure).shape)
    name = head_label(*chosen)
    labels = [(f"{chosen[0]}-{chosen[1]}", "printed names count from 1, `head_label(layer, head)`")]
    if tuple(other) != tuple(chosen):
        labels.insert(
            0, (head_label(*other), "that head is best on the texts that report; choose on the others")
        )
    return check_all(
        check_list(
            label if label is ... else [label],
            [name],
            mistakes=[([wrong], reason) for wrong, reason in labels],
            learnt="The head is right.",
        ),
        check_number(
            value,
            expected,
            tolerance=2e-6,
            mistakes=[
                (
                    used,
                    "that is its mean on the texts that chose it, which is too good: report on the other half",
                ),
                (
                    float(reporting.mean(measure).max()),
                    "that is the largest value of the half that reports; take the chosen head's",
                ),
            ],
            learnt="The value is right.",
        ),
        learnt=f"Head {name}: {used:.5f} on the {choosing.n} texts that chose it, {expected:.5f} on {reporting.n} others. The second is the honest one.",
    )


def check_learned_layers(answer, profile, twin, measure="punct"):
    """In how many layers the whole interval lies above the random twin's mean."""
    mean, low, high = profile.layer_mean(measure)
    chance = twin.layer_mean(measure)[0]
    expected = int((low > chance).sum())
    near = [
        (int((mean > 0).sum()), "attention is always above 0; compare with the random twin"),
        (
            int((low > chance.mean() * 2).sum()),
            "more than twice the twin was not asked for: above it, with the whole interval",
        ),
        (int((high < chance).sum()), "those are the layers clearly *below* the twin"),
        (int((profile.mean(measure) > twin.mean(measure)).sum()), "those are heads; count layers"),
        (int((mean > chance).sum()), "in one of them the interval still includes the twin's mean: use `low`"),
    ]
    return check_number(
        answer,
        expected,
        tolerance=0,
        mistakes=[(value, reason) for value, reason in near if value != expected],
        learnt=f"{expected} of {len(mean)} layers give more than the twin, {chance.mean():.3f}, and the twin gives what uniform attention "
        "gives. In the others the habit is not learnt, or is learnt the other way round.",
    )


# --- 10 --------------------------------------------------------------------------------------------------
def check_erratum(answer):
    """The printed numbers of the layers in which Clark's Figure 2 gives over half of the attention to [SEP]."""
    layers = published_layers("sep")
    expected = {int(i) + 1 for i in np.flatnonzero(layers > 0.5)}
    return check_set(
        answer,
        expected,
        mistakes=[
            ({6, 7, 8, 9, 10}, "that is what the text says. What does the figure say?"),
            ({i - 1 for i in expected}, "printed layers count from 1; `np.flatnonzero` counts from 0"),
            (
                {int(i) + 1 for i in np.flatnonzero(published_layers("other_to_sep") > 0.5)} - expected
                or {0},
                "that is other to [SEP]",
            ),
        ],
        learnt=f"The figure gives {layers[9]:.3f} for layer 10: close to half, not over it. The sentence rounds, the figure does not.",
    )


def check_masks(answer, tokens):
    """A boolean array that is True where the token is a full stop or a comma."""
    expected = np.array([token in (".", ",") for token in tokens])
    wider = np.array(
        [not any(c.isalnum() for c in token) and token not in ("[CLS]", "[SEP]") for token in tokens]
    )
    mistakes = [(np.flatnonzero(expected), "these are positions; one True or False a token was asked for")]
    if (wider != expected).any():
        mistakes.append((wider, "only . and , count; apostrophes, dashes and question marks are *other*"))
    return check_array(
        answer,
        expected,
        axes=("token",),
        mistakes=mistakes,
        learnt=f"{int(expected.sum())} of {len(tokens)} tokens. This is also the share that uniform attention would give them: "
        f"{expected.mean():.3f}.",
    )


# --- the last two: a picture, and a claim on trial ---------------------------------------------------------
PICTURE_OPTIONS, check_picture, on_trial, TRIAL_OPTIONS, check_trial = close("03")


# --- the checks' own proof -------------------------------------------------------------------------------
def _profile(seed=0, layers=4, heads=3, texts=10):
    """A made-up profile: head 2-3 looks back, 1-2 ahead, and self-attention differs from text to text."""
    profile, generator = Profile(), np.random.default_rng(seed)
    for _ in range(texts):
        values = {
            name: generator.uniform(0.01, 0.09, (layers, heads))
            for name in ("previous", "next", "self", "punct")
        }
        values["previous"][1, 2] += 0.8
        values["next"][0, 1] += 0.7
        values["punct"][2:] += 0.3
        profile.add(values, 1)
    return profile


def _attention(n=20):
    from types import SimpleNamespace

    tokens = ("[CLS]", *["a"] * (n - 3), "[SEP]", "[SEP]")
    special = tuple(token != "a" for token in tokens)
    return SimpleNamespace(weights=case_rows(1, 1, n, n), tokens=tokens, special=special, n_tokens=n)


def EXAMPLES():
    """Right, wrong and unfilled answers of every check."""
    first, second, flat = _profile(0), _profile(1), _profile(2)
    flat.sums["punct"] = np.full_like(flat.sums["punct"], 0.1) * flat.counts[:, None, None]
    best = np.unravel_index(first.mean("self").argmax(), (4, 3))
    name, fair = head_label(*best), float(second.mean("self")[best])
    used = float(first.mean("self")[best])
    tokens = ("[CLS]", "yes", ",", "it", "'", "s", ".", "[SEP]")
    punct = np.array([token in (".", ",") for token in tokens])

    def diagonal(weights, offset):
        return np.diagonal(weights, offset, -2, -1).sum(axis=-1) / weights.shape[-1]

    def share(weights, keys):
        return weights[..., keys].sum(axis=-1).mean(axis=-1)

    def both(weights, is_sep):
        return weights[..., is_sep, :][..., is_sep].sum(axis=-1).mean(axis=-1)

    def focus(weights):
        return np.mean([entropy(row) for row in weights]) / np.log(len(weights))

    return {
        "check_offset_share": (diagonal, lambda w, o: diagonal(w, -o), ...),
        "check_previous_heads": (args({"2-3"}, first), args({"1-2"}, first), args(..., first)),
        "check_share_to": (share, lambda w, keys: w[..., keys, :].sum(axis=-2).mean(axis=-1), ...),
        "check_sep_to_sep": (both, share, ...),
        "check_baseline": (args(2 / 20, _attention()), args(2 / 128, _attention()), args(..., _attention())),
        "check_row_entropy": (
            lambda row: -sum(p * np.log(p) for p in row if p > 0),
            lambda row: entropy(row) / np.log(2),
            ...,
        ),
        "check_head_focus": (focus, lambda w: entropy(w.mean(axis=0)) / np.log(len(w)), ...),
        "check_why_divide": (LENGTH_OPTIONS[1], LENGTH_OPTIONS[2], ...),
        "check_fair_head": (
            args(name, fair, first, second),
            args(name, used, first, second),
            args(..., ..., first, second),
        ),
        "check_learned_layers": (args(2, first, flat), args(4, first, flat), args(..., first, flat)),
        "check_erratum": ({6, 7, 8, 9}, {6, 7, 8, 9, 10}, ...),
        "check_masks": (
            args(punct, tokens),
            args(punct | (np.array(tokens) == "'"), tokens),
            args(..., tokens),
        ),
        **closing_examples("03"),
    }


sheet = keep_sheet(globals())  # what the checks above have said, as the last cell shows it
