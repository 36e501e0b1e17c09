"""Lesson 01: what BERT reads, and what a head is. Arithmetic that can be checked, and what a head is for."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from ...measures import attention_entropy, offset_attention, special_token_attention, token_masks
from ...published import read_published
from ...stats import CannotDecide
from ..claim import Claims
from ..collectors.lesson01 import pretraining_scores  # noqa: F401 - decks ask their lesson
from ..evidence import evidence
from .statistics import best_head

VASWANI, CLARK, SIMON = "Vaswani et al. 2017", "Clark et al. 2019", "Simon, Towards Data Science"

DEVLIN = "Devlin et al. 2019"

EXACT = 1e-3  # single precision, after a softmax over at most 512 keys


# --- evidence ------------------------------------------------------------------------------------------
@evidence("reading", version=1)
def reading(encoder, resources) -> Iterator[dict[str, np.ndarray]]:
    """For each pair of texts: do the rows add up, wordpieces and words, and attention to the next token."""
    from ...model import iter_attention

    for attention in iter_attention(encoder, resources.pairs, truncate=True):
        yield reading_quantities(attention)


def reading_quantities(attention) -> dict[str, np.ndarray]:
    words, first = attention.to_words(), attention.to_words(query="first")
    pieces = np.bincount([word for word in attention.word_ids if word is not None])
    split = np.flatnonzero([word is not None and pieces[word] > 1 for word in words.word_ids])
    found = {
        "row_error": np.abs(attention.weights.sum(axis=-1) - 1).max(),
        "word_row_error": np.abs(words.weights.sum(axis=-1) - 1).max(),
        "words": np.count_nonzero(pieces),
        "split_words": len(split),
        "next": offset_attention(attention, +1),
    }
    if len(split):  # half the sum of the differences: the share of attention that lies elsewhere
        moved = np.abs(words.weights - first.weights)[:, :, split].sum(axis=-1) / 2
        found["moved_by_first_piece"] = moved.mean(axis=-1)
    return found


@evidence("scores", version=1)
def scores(encoder, resources) -> Iterator[dict[str, np.ndarray]]:
    """For each text: the weights made again from queries and keys, in the ways that have been claimed."""
    from ...model import iter_attention

    for attention in iter_attention(encoder, resources.texts, truncate=True, vectors=True):
        yield score_quantities(attention.weights, attention.queries, attention.keys)


def score_quantities(weights, queries, keys) -> dict[str, np.ndarray]:
    from scipy.special import expit, softmax

    raw = queries.astype(float) @ keys.astype(float).swapaxes(-1, -2)
    scaled = raw / np.sqrt(queries.shape[-1])
    return {
        "softmax_error": np.abs(softmax(scaled, axis=-1) - weights).max(),
        "unscaled_error": np.abs(softmax(raw, axis=-1) - weights).max(),
        "sigmoid_error": np.abs(expit(scaled) - weights).max(),
        "entropy_lost_unscaled": (
            attention_entropy(weights) - attention_entropy(softmax(raw, axis=-1))
        ).mean(),
    }


@evidence("segments", version=1)
def segments(encoder, resources) -> Iterator[dict[str, np.ndarray]]:
    """For each pair of texts: the share of [SEP] with segments A and B, and with A for everything."""
    from ...model import iter_attention

    if not encoder.has_segments:
        raise CannotDecide(f"{encoder.name} is not told which text a token belongs to")
    both = (
        iter_attention(encoder, resources.pairs, segments=told, truncate=True)
        for told in ("standard", "zeros")
    )
    for standard, zeros in zip(*both):
        found = {}
        if token_masks(standard)["sep"].any():
            found["sep"] = special_token_attention(standard, "sep")
            found["sep_zeros"] = special_token_attention(zeros, "sep")
        found["moved"] = np.abs(standard.weights - zeros.weights).sum(axis=-1).mean(axis=-1) / 2
        yield found


@evidence("padding", version=1)
def padding(encoder, resources) -> Iterator[dict[str, np.ndarray]]:
    """For each text: how far its map is from the one it has alone, when it is read in a batch with longer ones."""
    from ...model import extract_attention, iter_attention

    some = resources.texts[:40]  # as many as it takes to decide; nothing here varies from text to text
    for text, batched in zip(some, iter_attention(encoder, some, truncate=True)):
        alone = extract_attention(encoder, text, truncate=True)
        yield {"padding_error": np.abs(alone.weights - batched.weights).max()}


EVIDENCE = {"reading": reading, "scores": scores, "segments": segments, "padding": padding}


# --- statistics ----------------------------------------------------------------------------------------
def minus(quantity: str):
    return lambda values, choice: -values[quantity]


def _published(quantity: str) -> str:
    return next(row.value for row in read_published("clark_text_claims") if row.quantity == quantity)


def _next_head() -> str:
    rows = [
        row
        for row in read_published("clark_relative_position")
        if row.quantity == "average attention to next token"
    ]
    best = max(rows, key=lambda row: float(row.value))
    return f"{float(best.value):.2f}, {best.layer}-{best.head}"


# --- the claims ------------------------------------------------------------------------------------------


claim = Claims("01", EVIDENCE, source=CLARK)


claim(
    key="rows",
    sentence="Each row of weights sums to 1",
    source=VASWANI,
    section="3.2.1",
    published="1",
    exactness="P",
    operational="largest deviation (arithmetic: a random twin must do it too)",
    refuted_if="a row of some head sums to something else",
    evidence="reading",
    threshold=-EXACT,
    below=True,
    control=False,
    statistic=minus("row_error"),
)
claim(
    key="softmax",
    sentence="Weights are a softmax",
    source=VASWANI,
    section="3.2.1, equation 1",
    operational="largest deviation of softmax(QKᵀ/√d) (arithmetic: no control)",
    refuted_if="the softmax of the scaled scores gives other weights",
    evidence="scores",
    threshold=-EXACT,
    below=True,
    control=False,
    statistic=minus("softmax_error"),
)
claim(
    key="sigmoid",
    sentence="Weights are a sigmoid",
    source=SIMON,
    operational="largest deviation (arithmetic: no control)",
    refuted_if="the sigmoid of the scores gives other weights",
    evidence="scores",
    threshold=-EXACT,
    below=True,
    erratum="it is a softmax over the keys",
    control=False,
    statistic=minus("sigmoid_error"),
)
claim(
    key="unscaled",
    sentence="Weights are an unscaled softmax",
    section="2",
    operational="largest deviation of softmax(QKᵀ) (arithmetic: no control)",
    refuted_if="the softmax of query times key, not divided, gives other weights",
    evidence="scores",
    threshold=-EXACT,
    below=True,
    erratum="the paper's formula leaves out the division by root d; the model divides",
    control=False,
    statistic=minus("unscaled_error"),
)
claim(
    key="scaling",
    sentence="Dividing by root d keeps heads broad",
    source=VASWANI,
    section="3.2.1",
    operational="nats of entropy that are lost without the division",
    refuted_if="without the division the mean entropy falls by less than 0.1 nats",
    evidence="scores",
    threshold=0.1,
    statistic=lambda values, choice: values["entropy_lost_unscaled"],
)
claim(
    key="words",
    sentence="Rows sum to 1 between words, too",
    section="4.1",
    published="1",
    exactness="P",
    operational="keys added, queries averaged: largest deviation (arithmetic: a twin must do it too)",
    refuted_if="a row between words sums to something else",
    evidence="reading",
    threshold=-EXACT,
    below=True,
    control=False,
    statistic=minus("word_row_error"),
)


@claim(
    key="split",
    sentence="About 8 % of words are split",
    section="4.1",
    original=lambda: f"{_published('words split into several pieces')} of the words",
    exactness="P",
    operational="distance from 0.08 (the twin shares the tokenizer, and is not a control)",
    refuted_if="the share of split words is not within 0.05 to 0.11",
    evidence="reading",
    threshold=-0.03,
    below=True,
    control=False,
)
def share_of_split_words_near_published(values, choice) -> float:
    return -abs(
        values["split_words"] / values["words"] - float(_published("words split into several pieces"))
    )


@claim(
    key="first-piece",
    sentence="A word looks where its first piece looks",
    section="released code",
    operational="split words: share of attention that moves, mean of all heads (a twin looks at all tokens equally)",
    refuted_if="over a twentieth of the attention moves when the first piece stands for the word",
    evidence="reading",
    threshold=-0.05,
    below=True,
    erratum="the code keeps the first piece; the paper says the mean",
    control=False,
)
def moved_by_first_piece(values, choice) -> float:
    return -values["moved_by_first_piece"].mean()


@claim(
    key="segments",
    sentence="Segment ids change the share of [SEP]",
    section="released code",
    operational="change with ids all zero, in the layer that changes most",
    refuted_if="no layer changes by a hundredth",
    evidence="segments",
    threshold=0.01,
    erratum="the code feeds zeros for both texts; the paper does not say so",
)
def sep_moved_by_segments(values, choice) -> float:
    """Change of the [SEP] share in the layer that changes most, in the direction that it takes on the other inputs."""
    change = (choice["sep_zeros"] - choice["sep"]).mean(axis=1)
    layer = int(np.abs(change).argmax())
    return np.sign(change[layer]) * (values["sep_zeros"] - values["sep"]).mean(axis=1)[layer]


claim(
    key="padding",
    sentence="Padding leaves no trace",
    source=DEVLIN,
    section="released code",
    operational="alone and in a batch: largest difference (arithmetic: a twin must do it too)",
    refuted_if="a text's weights depend on the length of its neighbours in the batch",
    evidence="padding",
    threshold=-EXACT,
    below=True,
    control=False,
    statistic=minus("padding_error"),
)
claim(
    key="next",
    sentence="A head looks at the next token",
    section="3.1",
    published=_next_head,
    exactness="A",
    operational="share of the best head",
    refuted_if="no head gives half of its attention to the next token",
    evidence="reading",
    threshold=0.5,
    statistic=best_head("next"),
)


CLAIMS = tuple(claim)
