"""What a view is given to show: an Attention, or arrays with their tokens."""

from __future__ import annotations

import operator

from ..model import Attention


def given_attention(attention, tokens=None, key_tokens=None, grid=None) -> Attention:
    """`Attention.from_arrays`, where a grid is not passed over in silence.

    Raises
    ------
    ValueError
        If the grid is not two whole numbers, has another number of patches than there are tokens (with [CLS] one more),
        or the Attention was made without it.
    """
    if grid is None:
        return Attention.from_arrays(attention, tokens, key_tokens)
    try:
        rows, columns = grid = tuple(map(operator.index, grid))
    except (TypeError, ValueError):
        raise ValueError(f"grid is two whole numbers, (rows, columns) of patches; got {grid!r}.") from None
    found = Attention.from_arrays(attention, tokens, key_tokens, grid=grid)
    if found.grid != grid:
        raise ValueError(
            "an Attention is of words or of patches from the beginning; give grid to Attention.from_arrays."
        )
    if len(found.tokens) - rows * columns not in (0, 1):
        raise ValueError(
            f"a grid of {rows} x {columns} has {rows * columns} patches, with [CLS] one more; there are {len(found.tokens)} tokens."
        )
    return found
