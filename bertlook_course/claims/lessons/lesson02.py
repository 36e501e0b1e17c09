"""Lesson 02: six patterns and the neurons behind them. Vig's two posts (2018-2019), taken at their word."""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial

import numpy as np

from ...metrics import CannotDecide
from ..evidence import collect, evidence

ROTATIONS = 3  # random bases of the control, the same for every input and model


# --- evidence ------------------------------------------------------------------------------------------
@evidence("patterns", version=1, unit="pairs of texts")
def patterns(encoder, resources) -> Iterator[dict[str, np.ndarray]]:
    """Every pattern's value and excess, and the dimensions behind two of them: shape (layer, head), for each pair."""
    from bertlook_teach.model import iter_attention

    from ...analyses.anatomy import position_keys, random_rotations

    rotations = random_rotations(encoder.head_size, ROTATIONS)
    try:
        places = [
            [position_keys(encoder, layer, head, encoder.max_tokens) for head in range(encoder.n_heads)]
            for layer in range(encoder.n_layers)
        ]
        places = np.array(places)
    except ValueError:  # no table of position embeddings: only the claim about it goes without
        places = None
    for attention in iter_attention(encoder, resources.pairs, truncate=True, vectors=True):
        yield pattern_quantities(attention, rotations, places)


def pattern_quantities(attention, rotations, places=None) -> dict[str, np.ndarray]:
    """What is undefined for this input (no word in both texts, no word in pieces) is left out."""
    from bertlook_teach.measures import (
        UndefinedPattern,
        closing_sep_pairs,
        measure_patterns,
        next_word_pairs,
        sep_to_cls,
        within_segment_entropy,
        within_segment_mass,
    )

    from ...analyses.anatomy import dimensions_used, position_correlation

    found = {}
    for key, score in measure_patterns(attention).items():
        found[key], found[f"{key}, excess"] = score.value, score.excess
    for name, measure in (
        ("own text", within_segment_mass),
        ("evenness", within_segment_entropy),
        ("sep to cls", sep_to_cls),
        ("last sep to cls", partial(sep_to_cls, last=True)),
    ):
        try:
            found[name] = measure(attention)
        except UndefinedPattern:
            continue
    kinds = {"next": next_word_pairs(attention)}
    try:
        kinds["sep"] = closing_sep_pairs(attention)
    except UndefinedPattern:
        pass
    for kind, pairs in kinds.items():
        if pairs.any():
            found[f"{kind} dimensions"], found[f"{kind} pairs"] = dimensions_used(attention, pairs)
    if "sep" in kinds:
        turned = [dimensions_used(attention, kinds["sep"], basis=basis)[0] for basis in rotations]
        found["sep dimensions, rotated"] = np.mean(turned, axis=0)
    if places is not None:
        found["position"] = position_correlation(attention.keys, places[:, :, : attention.n_tokens])
    return found


@evidence("segment ids", version=1, unit="pairs of texts")
def segment_ids(encoder, resources) -> Iterator[dict[str, np.ndarray]]:
    """Attention that stays in the own text, with segment ids as usual and with zeros."""
    from bertlook_teach.model import iter_attention

    from ...analyses.anatomy import zeros_quantities

    if not encoder.has_segments:
        raise CannotDecide("the model is never told which text a token belongs to")
    usual = collect("patterns", patterns, encoder, resources).values  # read once for both evidences
    stream = iter_attention(encoder, resources.pairs, truncate=True, segments="zeros")
    for standard, bag, zeros in zip(usual["own text"], usual["bag_of_words, excess"], stream):
        yield {"standard": standard, "bag": bag, **zeros_quantities(zeros)}


EVIDENCE = {"patterns": patterns, "segment ids": segment_ids}
