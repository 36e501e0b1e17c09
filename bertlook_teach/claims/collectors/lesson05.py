"""Lesson 05: what its claims are decided on, by pair of paragraphs and by sentence of the treebank."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from ...measures import (
    BOTH,
    CLASSES,
    VERTICAL,
    Thresholds,
    argument_pairs,
    chance_maxima,
    chance_pair_maxima,
    class_codes,
    feature_maxima,
    map_scores,
    pair_maxima,
    token_masks,
)
from ..evidence import evidence


@evidence("05-maps", version=1)
def maps(encoder, resources) -> Iterator[dict[str, np.ndarray]]:
    """For each pair: the class of every map, what the classes stand on, and the same words in other company."""
    from ...model import iter_attention

    pairs = resources.pairs
    step = len(pairs) // 2

    def corpus():
        for i, (first, second) in enumerate(pairs):
            yield first, second
            yield f"{first} {second}"
            if step:
                yield first, pairs[(i + step) % len(pairs)][1]

    attentions = iter_attention(encoder, corpus(), truncate=True)
    for _ in pairs:
        pair, joined = next(attentions), next(attentions)
        found = pair_quantities(pair) | segment_quantities(pair, joined)
        if step:
            found["unrelated"] = classes_of(next(attentions))
        yield found


def classes_of(attention) -> np.ndarray:
    """1 for the class of each map, 0 for the others: shape (class, layer, head)."""
    codes = class_codes(map_scores(attention))
    return (codes == np.arange(len(CLASSES))[:, None, None]).astype(float)


def pair_quantities(attention) -> dict[str, np.ndarray]:
    """Classes, how firmly they hold, what the vertical columns are, and where [CLS] looks."""
    scores = map_scores(attention)
    codes = class_codes(scores)
    standing = np.isin(codes, (VERTICAL, BOTH))
    found = {
        "pair": classes_of(attention),
        "kept, looser": codes == class_codes(scores, Thresholds().scaled(0.8)),
        "kept, stricter": codes == class_codes(scores, Thresholds().scaled(1.2)),
        "diagonal score": scores.diagonal,
        "self diagonal": scores.self_diagonal,
        "stands": standing,
        "stands on special tokens": standing * special_part(attention),
    }
    masks = token_masks(attention)
    if masks["cls"].any():
        row = attention.weights[..., int(np.flatnonzero(masks["cls"])[0]), :]
        for kind, mask in masks.items():
            if mask.any():
                found[f"from [CLS] to {kind}"] = row[..., mask].max(axis=-1)
    return found


def special_part(attention) -> np.ndarray:
    """Of the attention in a map's two strongest columns, the part that goes to special tokens."""
    columns = attention.weights.mean(axis=-2)
    top = np.argsort(columns, axis=-1)[..., -2:]
    strong = np.take_along_axis(columns, top, axis=-1)
    return (strong * np.array(attention.special)[top]).sum(axis=-1) / strong.sum(axis=-1)


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


def sentence_attentions(encoder, sentences, batch: int = 16) -> Iterator:
    """Attention of each sentence; None where it is too long, or the tokenizer drops a word and the tree would not fit."""
    from ...model import extract_attention, iter_attention

    for start in range(0, len(sentences), batch):
        words = [list(sentence.words) for sentence in sentences[start : start + batch]]
        try:
            yield from list(iter_attention(encoder, words, batch_size=batch))
        except ValueError:  # one of them; find out which
            for one in words:
                try:
                    yield extract_attention(encoder, words=one)
                except ValueError:
                    yield None


@evidence("05-features", version=1)
def features(encoder, resources) -> Iterator[dict[str, np.ndarray]]:
    """For each sentence of the treebank: feature maxima with their chance level, and linked words in short ones."""
    for sentence, attention in zip(resources.treebank, sentence_attentions(encoder, resources.treebank)):
        if attention is None:
            yield {}
            continue
        attention = attention.to_words()
        found = dict(feature_maxima(attention, sentence))
        found |= {f"{name}, chance": value for name, value in chance_maxima(attention, sentence).items()}
        pairs = argument_pairs(sentence)
        if pairs:
            found["linked"] = pair_maxima(attention, pairs)
            found["linked, chance"] = chance_pair_maxima(attention, pairs)
        yield found
