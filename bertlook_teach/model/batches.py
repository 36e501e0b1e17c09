"""Batch inputs of similar length, so that little of what is computed is padding; and fill up a batch."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from itertools import islice
from typing import TYPE_CHECKING, TypeVar

import numpy as np

if TYPE_CHECKING:
    from .encoder import Encoder

Item = TypeVar("Item")
Result = TypeVar("Result")

PADDING = 0.1  # share of a batch's places that may be padding

AHEAD = 4  # batches' worth of short inputs are looked at together

SHORT = (
    64  # tokens; longer inputs are looked at in smaller numbers, so that no more of their maps wait at once
)


def even_parts(lengths: Sequence[int], size: int) -> list[list[int]]:
    """Numbers of inputs as batches of at most ``size``, the shortest first; at most a tenth of the places of each is padding.

    >>> even_parts([30, 5, 29, 6, 5], size=2)
    [[1, 4], [3], [2, 0]]
    """
    parts: list[list[int]] = []
    for i in sorted(range(len(lengths)), key=lambda i: lengths[i]):
        part = parts[-1] if parts else []
        own = sum(lengths[j] for j in part) + lengths[i]
        if part and len(part) < size and own >= (1 - PADDING) * lengths[i] * (len(part) + 1):
            part.append(i)
        else:
            parts.append([i])
    return parts


def evenly(
    items: Iterable[Item],
    run: Callable[[list[Item]], Iterable[Result]],
    *,
    length: Callable[[Item], int],
    size: int,
) -> Iterator[Result]:
    """What ``run`` makes of each item, in the items' order, where it is given batches of `even_parts`.

    Parameters
    ----------
    items : iterable
        Read as far ahead as `AHEAD` batches of `SHORT` inputs; of longer ones less far, by the square of their length as their maps grow.
    run : function(list of items) -> one result an item
    length : function(item) -> tokens
    size : int
        Items in a batch at most.
    """
    items = iter(items)
    while window := _window(items, length, size):
        waiting = {}
        parts = even_parts([length(item) for item in window], size)
        part_of = {i: part for part in parts for i in part}
        for i in range(len(window)):
            if i not in waiting:
                waiting.update(zip(part_of[i], run([window[j] for j in part_of[i]]), strict=True))
            yield waiting.pop(i)


def _window(items: Iterator[Item], length: Callable[[Item], int], size: int) -> list[Item]:
    """The next items: a batch, and more as long as they are short."""
    window = list(islice(items, size))
    places = sum(length(item) ** 2 for item in window)
    most = AHEAD * size * SHORT**2
    while len(window) < AHEAD * size and places < most:
        more = list(islice(items, 1))
        if not more:
            break
        window += more
        places += length(more[0]) ** 2
    return window


def padded(rows: Sequence[Sequence[int]], encoder: Encoder, filler: int | None = None):
    """Rows of different lengths as one array (row, token), filled up on the right, and 1 where a row has a token of its own.

    On the left would move every word: absolute positions count from the first token.
    """
    filler = (encoder.tokenizer.pad_token_id or 0) if filler is None else filler
    mask = np.arange(max(map(len, rows))) < np.array([len(row) for row in rows])[:, None]
    ids = np.full(mask.shape, filler, dtype=np.int64)
    ids[mask] = np.concatenate([np.asarray(row) for row in rows])
    return ids, mask.astype(np.int64)
