"""Refutations on maps and vectors that were made up for the purpose: small enough to check by hand."""

from __future__ import annotations

import numpy as np

from bertlook_teach.measures import (
    attention_entropy,
    attention_rollout,
    attention_share,
    looks_alike,
    map_classes,
    offset_attention,
    pair_share,
    token_masks,
    value_norms,
    weighted_norms,
)
from bertlook_teach.model import head_label, merge_weights

from ...analyses.anatomy import (
    attention_scores,
    change_basis,
    margin_contributions,
    margin_dimensions,
    random_rotations,
    softmax,
)
from ...metrics import accuracy, cohen_kappa
from .refutation import Refutation

_THREE = np.array([[0.1, 0.7, 0.2], [0.3, 0.1, 0.6], [0.2, 0.5, 0.3]])

_SCORES = np.array([[9.0, 3.0, -2.0], [0.0, 6.0, 1.0], [-4.0, 2.0, 8.0]])

_SENTENCE = "[CLS] the old man saw a small bird , and it flew away over the lake . [SEP]"

_WEIGHTS = np.array([0.1, 0.2, 0.7])

_VALUES = np.array([[1.0, 0.0], [0.0, 2.0], [0.1, 0.0]])


# --- one head ------------------------------------------------------------------------------------------------
def columns_sum_to_one(weights=_THREE) -> Refutation:
    """Lesson 01."""
    columns = np.asarray(weights).sum(axis=0)
    off = float(np.abs(columns - 1).max())
    received = ", ".join(f"{column:.2f}" for column in columns)
    return Refutation(f"Rows sum to 1; the columns receive {received}.", off, off > 0.01)


def attention_is_a_sigmoid(scores=_SCORES) -> Refutation:
    """Lesson 01."""
    from scipy.special import expit

    rows = expit(scores).sum(axis=-1)
    off = float(np.abs(rows - 1).max())
    told = ", ".join(f"{row:.2f}" for row in rows)
    return Refutation(
        f"With a sigmoid the rows would sum to {told}; the softmax gives 1 each.", off, off > 0.01
    )


def dividing_changes_nothing(scores=_SCORES, size: int = 32) -> Refutation:
    """Lesson 01."""
    divided, not_divided = softmax(np.asarray(scores) / np.sqrt(size)), softmax(scores)
    change = float(np.abs(divided - not_divided).max())
    sentence = f"The largest weight is {divided.max():.2f} divided by the root of {size}, and {not_divided.max():.2f} not divided."
    return Refutation(sentence, change, change > 0.01)


def attention_is_the_explanation(
    values=((1.0, 0.0), (0.0, 1.0), (0.5, 0.5)), one=(0.5, 0.5, 0.0), other=(0.0, 0.0, 1.0)
) -> Refutation:
    """Lesson 04. Two rows of weights over three value vectors."""
    values, one, other = (np.asarray(array, dtype=float) for array in (values, one, other))
    moved, apart = float(np.abs(one - other).sum() / 2), float(np.abs(one @ values - other @ values).max())
    sentence = (
        f"Two rows that share {1 - moved:.2f} of their weight hand over vectors that differ by {apart:.2f}."
    )
    return Refutation(sentence, moved - apart, moved > 0.5 and apart < 0.01)


def a_head_is_linear(stream=None, query=((2.0, 0.0), (0.0, 2.0))) -> Refutation:
    """Lesson 01. The keys and values are the vectors themselves."""
    x = np.array([[1.0, 0.0], [0.0, 1.0], [1.0, 1.0]]) if stream is None else np.asarray(stream)

    def head(x):
        return softmax(attention_scores(x @ np.asarray(query), x)) @ x

    off = float(np.abs(head(2 * x) - 2 * head(x)).max())
    return Refutation(
        f"Twice the input gives twice the output, but for up to {off:.2f} a number.", off, off > 0.01
    )


def averaging_pieces_both_ways(weights=_THREE, groups=((0,), (1, 2))) -> Refutation:
    """Lesson 01. Pieces 1 and 2 are one word."""
    weights = np.asarray(weights)
    averaged = np.stack([weights[:, list(g)].mean(axis=1) for g in groups], axis=1).sum(axis=1)
    ours = merge_weights(weights, [list(g) for g in groups]).sum(axis=-1)
    off = float(np.abs(averaged - 1).max())
    sentence = f"Averaged over the pieces looked at, a row sums to {averaged.min():.2f}; added up, to {ours.min():.2f}."
    return Refutation(sentence, off, off > 0.01)


def printed_names_are_indices(layer: int = 7, head: int = 9) -> Refutation:
    """Lesson 01."""
    printed, naive = head_label(layer, head), f"{layer}-{head}"
    sentence = f"weights[{layer}, {head}] is head {printed} in print; {naive} is another head."
    return Refutation(sentence, float(printed != naive), printed != naive)


# --- patterns ------------------------------------------------------------------------------------------------
def popular_is_same_word(weights=None, words=("the", "cat", "saw", "the", "dog")) -> Refutation:
    """Lesson 02. By default everybody looks at the second "the"."""
    names = np.asarray(words)
    weights = np.tile(np.eye(len(names))[3], (len(names), 1)) if weights is None else np.asarray(weights)
    same = (names[:, None] == names[None, :]) & ~np.eye(len(names), dtype=bool)
    share, null = float(pair_share(weights, same)), float(pair_share(looks_alike(weights), same))
    sentence = f"Share to the same word {share:.2f}; if who looks did not matter, {null:.2f}: an excess of {share - null:+.2f}."
    return Refutation(sentence, share - null, share > 0.25 and share - null < 0.1)


def _dimensions_needed(queries, keys) -> float:
    """For the first token to look at itself."""
    pair = np.diag([True] + [False] * (len(queries) - 1))
    return float(margin_dimensions(margin_contributions(queries, keys, pair)).mean())


def a_neuron_is_a_thing(queries=None, keys=None, bases=None) -> Refutation:
    """Lesson 02. Three tokens, eight dimensions; one dimension makes the first token look at itself."""
    one = 4 * np.eye(8)[:3] * [[1], [0], [0]]
    queries, keys = (one if given is None else np.asarray(given) for given in (queries, keys))
    bases = random_rotations(queries.shape[1], 20) if bases is None else bases
    own = _dimensions_needed(queries, keys)
    turned = np.mean([_dimensions_needed(*change_basis(queries, keys, basis)) for basis in bases])
    sentence = (
        f"The same weight takes {own:.1f} dimensions, and {turned:.1f} after a rotation of query and key."
    )
    return Refutation(sentence, float(turned - own), bool(abs(turned - own) > 0.5))


# --- where heads look ------------------------------------------------------------------------------------------
def plus_one_looks_back(weights=None) -> Refutation:
    """Lesson 03. By default ``np.eye(6, k=1)``, with the last row at home."""
    if weights is None:
        weights = np.eye(6, k=1)
        weights[-1, -1] = 1
    ahead, back = (float(offset_attention(np.asarray(weights), offset)) for offset in (1, -1))
    sentence = f"np.eye(n, k=1) gives {ahead:.2f} to the next token and {back:.2f} to the previous one."
    return Refutation(sentence, ahead - back, ahead > back)


def next_word_head_reaches_one(n: int = 8) -> Refutation:
    """Lesson 03."""
    weights = np.eye(n, k=1)
    weights[-1, 0] = 1  # the last token has no next one, and must look somewhere
    share = float(offset_attention(weights, 1))
    sentence = f"A perfect next-token head over {n} tokens gives {share:.3f}: the last one has no next token."
    return Refutation(sentence, share, share < 1)


def entropy_needs_no_length(short: int = 8, long: int = 100) -> Refutation:
    """Lesson 03. Uniform attention in a short and in a long text."""
    maps = [np.full((n, n), 1 / n) for n in (short, long)]
    nats = [float(attention_entropy(m)) for m in maps]
    shares = [float(attention_entropy(m, normalized=True)) for m in maps]
    sentence = (
        f"Looking at all tokens equally has {nats[0]:.2f} nats over {short} tokens and {nats[1]:.2f} over {long}; "
        f"divided by ln n, {shares[0]:.2f} and {shares[1]:.2f}."
    )
    return Refutation(
        sentence, nats[1] - nats[0], abs(nats[1] - nats[0]) > 0.1 and abs(shares[1] - shares[0]) < 0.01
    )


def entropy_of_the_mean_row(weights=None) -> Refutation:
    """Lesson 03. By default every token looks at one token, each at another."""
    weights = np.eye(8)[::-1] if weights is None else np.asarray(weights)
    mean_of = float(attention_entropy(weights))
    of_mean = float(attention_entropy(np.tile(weights.mean(axis=0), (len(weights), 1))))
    sentence = f"Mean of the rows' entropies {mean_of:.2f} nats; entropy of the mean row {of_mean:.2f}."
    return Refutation(sentence, of_mean - mean_of, of_mean - mean_of > 0.1)


def any_average_will_do(lengths=(10, 100)) -> Refutation:
    """Lesson 03. Two [SEP] in each text, and uniform attention."""
    lengths = np.asarray(lengths)
    share = 2 / lengths
    macro, pooled = float(share.mean()), float(np.average(share, weights=lengths))
    told = " and ".join(map(str, lengths))
    sentence = f"Texts of {told} tokens: {macro:.3f} to [SEP] if each text weighs the same, {pooled:.3f} if each token does."
    return Refutation(sentence, macro - pooled, abs(macro - pooled) > 0.01)


def ten_per_cent_is_much(tokens=None, share: float = 0.1) -> Refutation:
    """Lesson 03."""
    tokens = (
        ["[CLS]", "yes", ",", "we", "can", ",", "and", "we", "will", ".", "[SEP]"]
        if tokens is None
        else list(tokens)
    )
    uniform = np.full((len(tokens), len(tokens)), 1 / len(tokens))
    chance = float(attention_share(uniform, token_masks(tokens)["punct"]))
    sentence = f"Here a head that looks at all tokens equally gives {chance:.2f} to full stops and commas, so {share:.2f} is not a preference."
    return Refutation(sentence, share / chance if chance else float("inf"), chance > 0.8 * share)


# --- weights, norms, gradients -----------------------------------------------------------------------------------
def large_weight_large_contribution(weights=_WEIGHTS, values=_VALUES) -> Refutation:
    """Lesson 04."""
    weights = np.asarray(weights)
    added = weights * np.linalg.norm(values, axis=1)
    most = int(weights.argmax())
    share = float(added[most] / added.sum())
    sentence = f"The token with {weights[most]:.0%} of the weight brings {share:.0%} of what is added."
    return Refutation(sentence, share, int(added.argmax()) != most)


def value_norm_is_enough(values=None, output=((0.0, 0.0), (0.0, 1.0))) -> Refutation:
    """Lesson 04. The output matrix keeps only the second dimension."""
    values = np.array([[3.0, 0.1], [0.1, 1.0]]) if values is None else np.asarray(values)
    before = np.linalg.norm(values, axis=1)
    after = value_norms(values[None, None], np.asarray(output)[None, None])[0, 0]
    sentence = f"The longest value has length {before.max():.1f}; behind the output matrix {after[before.argmax()]:.1f}, the other {after.max():.1f}."
    return Refutation(sentence, float(after[before.argmax()]), bool(before.argmax() != after.argmax()))


def norms_add_up(vectors=((1.0, 0.0), (-1.0, 0.0))) -> Refutation:
    """Lesson 04."""
    vectors = np.asarray(vectors)
    apart, together = np.linalg.norm(vectors, axis=1).sum(), np.linalg.norm(vectors.sum(axis=0))
    sentence = f"The lengths add up to {apart:.1f}; what arrives has length {together:.1f}."
    return Refutation(sentence, float(together), bool(together < apart - 0.01))


def average_first_then_size(gradients=(0.8, -0.7, 0.9, -0.9)) -> Refutation:
    """Lessons 04 and 11."""
    gradients = np.asarray(gradients)
    after, before = abs(gradients.mean()), np.abs(gradients).mean()
    sentence = f"Mean of the sizes {before:.2f}; size of the mean {after:.2f}: opposite signs have cancelled."
    return Refutation(sentence, float(before - after), bool(after < before / 2))


def rollout_finds_what_matters(norms=(1.0, 1.0, 0.05), layers: int = 6) -> Refutation:
    """Lesson 04. Everybody looks at the last token; how much it hands over is its norm."""
    looks = np.tile([0.1, 0.1, 0.8], (layers, 1, 3, 1))  # layer, head, query, key
    carried = weighted_norms(looks, np.tile(norms, (layers, 1, 1)))
    by_weight, by_norm = (float(attention_rollout(m)[-1, 0, 2]) for m in (looks, carried))
    sentence = f"The last token holds {by_weight:.0%} of the mixture when weights are rolled out, {by_norm:.0%} when norms are."
    return Refutation(sentence, by_weight - by_norm, by_norm < by_weight / 2)


# --- kinds of map ------------------------------------------------------------------------------------------------
def diagonal_means_itself(weights=None) -> Refutation:
    """Lesson 05. By default every token looks at itself."""
    weights = np.eye(8) if weights is None else np.asarray(weights)
    name = str(map_classes(weights[None, None])[0, 0])
    at_itself = float(offset_attention(weights, 0))
    sentence = f"A map with {at_itself:.2f} of its attention on the token itself is classed as {name}."
    return Refutation(sentence, at_itself, at_itself > 0.5 and "diagonal" not in name)


def accuracy_is_agreement(confusion=((80, 10), (10, 0))) -> Refutation:
    """Lesson 05."""
    same, kappa = accuracy(confusion), cohen_kappa(confusion)
    sentence = (
        f"Two annotators say the same on {same:.0%}, and agree beyond chance by a kappa of {kappa:.2f}."
    )
    return Refutation(sentence, kappa, same >= 0.75 and kappa < 0.2)
