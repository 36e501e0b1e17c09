"""From wordpieces to words: what a split word receives is added up, what its pieces give is averaged."""

from __future__ import annotations

import re
from collections.abc import Sequence

import numpy as np
from array_api_compat import device

from .devices import array_namespace

QUERY_RULES = ("mean", "first", "max")

CONTINUES = "##"  # a wordpiece that goes on with the word before

SPACES = ("Ġ", "▁", " ")  # what stands for a space at the start of a word elsewhere

_SPECIAL = re.compile(
    r"\[(cls|sep|pad|bos|eos)\]|</?(s|cls|sep|pad|bos|eos)>|<\|[a-z_]+\|>|<(start|end)_of_[a-z]+>",
    re.IGNORECASE,
)


def looks_special(token: str) -> bool:
    """Whether a token is written like one put around a text: [CLS], </s>, <|endoftext|>; [MASK] and [UNK] stand for a piece of it.

    >>> [looks_special(token) for token in ("[CLS]", "</s>", "<EOS>", "[MASK]", "cat", "<3")]
    [True, True, True, False, False, False]
    """
    return _SPECIAL.fullmatch(token) is not None


def word_groups(word_ids: Sequence[int | None]) -> list[list[int]]:
    """Positions of the pieces of each word, in order; a special token (``None``) is a group of its own.

    >>> word_groups([None, 0, 0, 1, None])
    [[0], [1, 2], [3], [4]]
    """
    groups: list[list[int]] = []
    previous: int | None = None
    for position, word in enumerate(word_ids):
        if word is not None and word == previous:
            groups[-1].append(position)
        else:
            groups.append([position])
        previous = word
    return groups


def merge_weights(weights, groups: Sequence[Sequence[int]], query: str = "mean"):
    """Attention between words, from attention between wordpieces.

    Parameters
    ----------
    weights : array of shape (..., query, key)
        Attention weights between wordpieces, NumPy or torch; each row over ``key`` sums to 1.
    groups : sequence of sequences of int
        The positions of each word's pieces; together they name every position exactly once.
    query : {"mean", "first", "max"}
        How the rows of a word's pieces become one row. ``"mean"`` is the rule of the paper. ``"first"``
        keeps the first piece's row, the default of the code released with the paper. ``"max"`` takes the
        largest weight any piece gives, and divides the row by its sum, as that code does.

    Returns
    -------
    array of shape (..., word, word)
        Over the key axis the pieces of a word are always added up, so rows still sum to 1.

    References
    ----------
    Clark et al. (2019), section 4.1.

    Examples
    --------
    "un ##real" looks at "cat": the word's row is the mean of its two pieces' rows.

    >>> pieces = np.array([[.5, .5, 0.], [.1, .1, .8], [0., .6, .4]])
    >>> merge_weights(pieces, [[0, 1], [2]]).round(2)
    array([[0.6, 0.4],
           [0.6, 0.4]])
    """
    if query not in QUERY_RULES:
        raise ValueError(f"query must be one of {', '.join(QUERY_RULES)}; got {query!r}.")
    n = weights.shape[-1]
    if weights.ndim < 2 or weights.shape[-2] != n:
        raise ValueError(
            f"weights must have shape (..., query, key) with as many queries as keys; got {weights.shape}."
        )
    named = sorted(position for group in groups for position in group)
    if named != list(range(n)) or not all(len(group) for group in groups):
        raise ValueError(
            f"the groups must name each of the {n} positions exactly once, and none may be empty; got {list(map(list, groups))}."
        )
    xp = array_namespace(weights)
    membership = np.zeros((n, len(groups)))
    for word, group in enumerate(groups):
        membership[list(group), word] = 1
    membership = xp.asarray(membership, dtype=weights.dtype, device=device(weights))
    to_words = weights @ membership
    if query == "mean":
        return (membership / xp.sum(membership, axis=0)).T @ to_words
    if query == "first":
        return xp.stack([to_words[..., group[0], :] for group in groups], axis=-2)
    rows = [[to_words[..., position, :] for position in group] for group in groups]
    largest = xp.stack([xp.max(xp.stack(row), axis=0) for row in rows], axis=-2)
    return largest / xp.sum(largest, axis=-1, keepdims=True)
