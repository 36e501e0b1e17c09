"""What colours a map of heads where nobody says otherwise: where heads look, on average over the tokens."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

Measure = Callable[[object], np.ndarray]


def default_measures() -> dict[str, Measure]:
    """Where heads look on average over the tokens, each with its unit in its name."""
    from ..measures import surface

    return {
        "to the previous token": lambda attention: surface.offset_attention(attention, -1),
        "to the next token": lambda attention: surface.offset_attention(attention, 1),
        "to itself": lambda attention: surface.offset_attention(attention, 0),
        "to [CLS]": lambda attention: surface.special_token_attention(attention, "cls"),
        "to [SEP]": lambda attention: surface.special_token_attention(attention, "sep"),
        "entropy (nats)": surface.attention_entropy,
    }
