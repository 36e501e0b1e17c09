"""Lesson 05: what its claims are decided on, by pair of paragraphs."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from bertlook_teach.measures import CLASSES, Thresholds, class_codes, map_scores

from ..evidence import evidence


@evidence("05-maps", version=2, unit="pairs of texts")
def maps(encoder, resources) -> Iterator[dict[str, np.ndarray]]:
    """For each pair: the class of every map, how firmly it holds, and what the segments add to what stays in a text."""
    from bertlook_teach.model import iter_attention

    corpus = (text for first, second in resources.pairs for text in ((first, second), f"{first} {second}"))
    attentions = iter_attention(encoder, corpus, truncate=True)
    for _ in resources.pairs:
        pair, joined = next(attentions), next(attentions)
        yield pair_quantities(pair) | segment_quantities(pair, joined)


def pair_quantities(attention) -> dict[str, np.ndarray]:
    """1 for the class of each map, 0 for the others, shape (class, layer, head); and which keep theirs with other thresholds."""
    scores = map_scores(attention)
    codes = class_codes(scores)
    return {
        "pair": (codes == np.arange(len(CLASSES))[:, None, None]).astype(float),
        "kept, looser": codes == class_codes(scores, Thresholds().scaled(0.8)),
        "kept, stricter": codes == class_codes(scores, Thresholds().scaled(1.2)),
    }


def segment_quantities(pair, joined) -> dict[str, np.ndarray]:
    """The block score between words alone, with two segments and with the same words as one segment, cut at the same place.

    Attention that merely stays nearby stays in its own half too; what the segments add is the difference.
    """
    if pair.truncated or joined.truncated or 1 not in pair.segment_ids:
        return {}
    sides = [side for side, special in zip(pair.segment_ids, pair.special) if not special]
    words = [i for i, special in enumerate(joined.special) if not special]
    if len(words) != len(sides):  # the tokenizer joins across the seam
        return {}
    apart = map_scores(between_words(pair.weights, [i for i, s in enumerate(pair.special) if not s]), sides)
    together = map_scores(between_words(joined.weights, words), sides)
    return {
        "kept, two segments": apart.block,
        "kept, one segment": together.block,
        # A previous-token head keeps to its segment as well; a block is spread over it.
        "kept and spread": apart.block * (apart.spread >= Thresholds().spread),
    }


def between_words(weights: np.ndarray, words: list[int]) -> np.ndarray:
    """The maps without special tokens, each row a distribution again."""
    inner = weights[..., words, :][..., words]
    total = inner.sum(axis=-1, keepdims=True)
    # A query that gives words nothing at all, to the last bit, prefers none of them.
    return np.where(total > 0, inner, 1 / len(words)) / np.where(total > 0, total, 1)


EVIDENCE = {"05-maps": maps}
