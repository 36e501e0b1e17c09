"""Lesson 01: what its deck shows of pre-training, and what its claims are decided on."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from ...storage import cached
from ..evidence import evidence
from .lesson03 import surface


@evidence("scores", version=2, unit="texts")
def scores(encoder, resources) -> Iterator[dict[str, np.ndarray]]:
    """For each text: the weights made again from queries and keys, in the ways that have been claimed."""
    from bertlook_teach.model import iter_attention

    for attention in iter_attention(encoder, resources.texts, truncate=True, vectors=True):
        yield score_quantities(attention.weights, attention.queries, attention.keys)


def score_quantities(weights, queries, keys) -> dict[str, np.ndarray]:
    from scipy.special import expit, softmax

    scaled = queries.astype(float) @ keys.astype(float).swapaxes(-1, -2) / np.sqrt(queries.shape[-1])
    return {
        "softmax_error": np.abs(softmax(scaled, axis=-1) - weights).max(),
        "sigmoid_error": np.abs(expit(scaled) - weights).max(),
    }


EVIDENCE = {"scores": scores, "surface": surface}


# --- what the lesson shows -----------------------------------------------------------------------------
def pretraining_scores(encoder) -> dict[str, float | int | str]:
    """On the shipped texts: masked pieces guessed, by the model and by always the commonest piece, and second sentences told; kept.

    Returns
    -------
    dict
        ``guessed`` and ``always``: shares of the masked pieces, means over ``n_texts`` texts; ``guessed_low`` and ``guessed_high``: the 95 % interval
        of the first, over texts; ``commonest``: the rule's piece;
        ``follows``: the share of ``n_pairs`` pairs of adjoining sentences that are told from a pair with a wrong second sentence.
    """
    return cached("pre-training scores", (encoder,), lambda: _score(encoder), version=2)


def _score(encoder) -> dict[str, float | int | str]:
    from bertlook_teach.stats import mean_interval

    from ...analyses.ablation import MaskedLM, NextSentence, adjoining_sentences, score_batches
    from ...corpora import load_texts

    scorer, texts, seams = MaskedLM(encoder), load_texts(), adjoining_sentences()
    gaps = scorer.encode(texts, truncate=True)
    hidden = [
        row[row >= 0] for batch in gaps for row in batch[3].numpy()
    ]  # the pieces to guess, text by text
    right = score_batches(scorer, gaps)[1]
    low, high = mean_interval(right)
    commonest = int(np.bincount(np.concatenate(hidden)).argmax())
    return {
        "guessed": float(right.mean()),
        "guessed_low": float(low),
        "guessed_high": float(high),
        "always": float(np.mean([(pieces == commonest).mean() for pieces in hidden])),
        "commonest": encoder.tokenizer.convert_ids_to_tokens(commonest),
        "n_texts": len(texts),
        "follows": float(NextSentence(encoder, seams)().mean()),
        "n_pairs": len(seams),
    }
