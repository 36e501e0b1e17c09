"""What colours a map of heads where nobody says otherwise: where heads look, on average over the tokens."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import cache

import numpy as np

Measure = Callable[[object], np.ndarray]


@cache
def _usual() -> Mapping[str, Measure]:
    """Made once, so that a view can tell them from measures of somebody's own by what they are."""
    from ..measures import surface

    return {
        "to the previous token": lambda attention: surface.offset_attention(attention, -1),
        "to the next token": lambda attention: surface.offset_attention(attention, 1),
        "to itself": lambda attention: surface.offset_attention(attention, 0),
        "to [CLS]": lambda attention: surface.special_token_attention(attention, "cls"),
        "to [SEP]": lambda attention: surface.special_token_attention(attention, "sep"),
        "entropy (nats)": surface.attention_entropy,
    }


def default_measures(attention=None) -> dict[str, Measure]:
    """Where heads look on average over the tokens, each with its unit in its name.

    With an ``attention``, only those that have a meaning for it: no next token in a decoder, no neighbours among the patches of an
    image, no place in one text where queries and keys are two, no [CLS] or [SEP] where there is none.
    """
    from ..measures import surface

    measures = dict(_usual())
    if attention is None:
        return measures
    masks = surface.token_masks(attention)
    cross, grid = attention.key_tokens is not None, attention.grid is not None
    meaningless = {
        "to the previous token": cross or grid,
        "to the next token": cross or grid or attention.causal,
        "to itself": cross,
        "to [CLS]": not masks["cls"].any(),
        "to [SEP]": not masks["sep"].any(),
    }
    return {name: measure for name, measure in measures.items() if not meaningless.get(name)}
