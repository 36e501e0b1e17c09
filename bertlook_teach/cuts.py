"""What reaches the model's output when one head can take nothing from one token: the layers above included."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from .internals import TOKENS_AT_ONCE, read_text
from .zeroing import _block_calls, _cut_block, _turn

if TYPE_CHECKING:
    from .encoder import Encoder

__all__ = ["cut_effects", "cut_work"]


def cut_effects(
    encoder: Encoder,
    text: str,
    text_pair: str | None = None,
    *,
    segments: str = "standard",
    truncate: bool = False,
) -> np.ndarray:
    """How far the model's last vector of each token turns when one head is cut off from one token.

    In head h of one layer the value vector of token j is set to zero, and all layers above are run on what comes of it. The
    measure is the cosine distance between the last layer's vector of token i and what it was. In the last layer this is
    `value_zeroing` by head; below, it says what is left of a head's work once the layers above have had their turn.

    Parameters
    ----------
    encoder : Encoder
    text, text_pair : str

    Returns
    -------
    ndarray of shape (layer, head, query, key)
        Rows do not sum to 1. Token i need not look at token j itself: others may pass on what they took.

    Notes
    -----
    As many passes as there are heads and tokens: see `cut_work`.
    """
    import torch

    encoding = read_text(encoder, text, text_pair, truncate)
    n = len(encoding.ids)
    cuts = [(key, head) for head in range(encoder.n_heads) for key in range(n)]
    at_once = max(1, TOKENS_AT_ONCE // n)
    maps = np.empty((encoder.n_layers, encoder.n_heads, n, n))
    with torch.inference_mode():
        calls = _block_calls(encoder, encoding, segments)
        last = calls[-1][2]
        for layer in range(encoder.n_layers):
            rows = []
            for start in range(0, len(cuts), at_once):
                rows.append(_turn(_run(encoder, calls[layer:], cuts[start : start + at_once]), last))
            maps[layer] = np.concatenate(rows).reshape(encoder.n_heads, n, n).swapaxes(-1, -2)
    return maps


def _run(encoder: Encoder, calls, cuts):
    """The last layer's output for each cut in the first of these blocks: shape (cut, token, width)."""
    block, (given, options), _ = calls[0]
    hidden = _cut_block(encoder, block, given[0].expand(len(cuts), -1, -1), given[1:], options, cuts)
    for block, (given, options), _ in calls[1:]:
        hidden = block.module(hidden, *given[1:], **options)
        hidden = hidden[0] if isinstance(hidden, tuple) else hidden
    return hidden


def cut_work(encoder: Encoder, n_tokens: int) -> float:
    """About how many multiplications `cut_effects` takes: heads x tokens passes through half of the layers, on average.

    A core of a laptop does some 10 to 50 thousand million a second.
    """
    layers, heads, width = encoder.n_layers, encoder.n_heads, encoder.n_heads * encoder.head_size
    return layers * heads * n_tokens**2 * 12.0 * width**2 * (layers + 1) / 2
