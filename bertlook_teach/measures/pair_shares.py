"""How much a head gives to pairs of tokens, and how evenly it looks over its own text: the parts that patterns are made of."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from array_api_compat import device

from ..model import array_namespace
from .surface import UndefinedPattern, attention_weights, refuse_cross, sep_mask, without_tokens


# --- a kind of head is a mask over (query, key) ---------------------------------------------------------
def pair_share(attention, pairs):
    """Share of attention inside a mask of pairs, averaged over the queries that have a pair.

    Parameters
    ----------
    attention : Attention or array of shape (..., layer, head, query, key)
    pairs : boolean array of shape (query, key)
        ``pairs[i, j]`` says that token i looking at token j belongs to the pattern. It need not be symmetric.

    Returns
    -------
    array of shape (..., layer, head)
        From 0 to 1. Queries without a pair are left out, not counted as 0.

    Raises
    ------
    UndefinedPattern
        If there is no pair at all (a mean over nothing).
    ValueError
        If the mask does not fit the attention.

    Examples
    --------
    Token 1 and token 2 are the same word. Token 1 finds its twin with .7, token 2 with .1:

    >>> weights = np.array([[.8, .1, .1], [.2, .1, .7], [.6, .1, .3]])
    >>> pairs = np.array([[0, 0, 0], [0, 0, 1], [0, 1, 0]], dtype=bool)
    >>> pair_share(weights, pairs).round(2)
    np.float64(0.4)
    """
    weights = attention_weights(attention)
    xp = array_namespace(weights)
    pairs = _checked_pairs(pairs, weights.shape[-1])
    queries = int(pairs.any(axis=1).sum())
    if not queries:
        raise UndefinedPattern("the mask holds no pair, so there is no query to average over.")
    mask = xp.asarray(pairs.astype(float), dtype=weights.dtype, device=device(weights))
    return xp.sum(weights * mask, axis=(-2, -1)) / queries


def looks_alike(attention, groups: Sequence[int] | None = None):
    """The column-mean null model: every row becomes the mean row of its group, so who looks no longer matters.

    A head that always looks at "the" also looks at the same word whenever the word happens to be "the". The null
    model keeps what each token *receives* and takes away who gave it; what a measure loses thereby is due to the
    pair.

    Parameters
    ----------
    attention : Attention or array of shape (..., layer, head, query, key)
    groups : sequence of int, one for each token, optional
        Rows are averaged within a group. By default `text_groups` for an Attention, and one group for an array.

    Returns
    -------
    array of the same shape; rows still sum to 1
        A group of a single token keeps its row, so nothing can exceed the null model there.

    Examples
    --------
    >>> looks_alike(np.array([[1., 0.], [0., 1.]]))
    array([[0.5, 0.5],
           [0.5, 0.5]])
    """
    weights = attention_weights(attention)
    xp = array_namespace(weights)
    n = weights.shape[-1]
    if groups is None:
        groups = text_groups(attention) if hasattr(attention, "segment_ids") else [0] * n
    groups = np.asarray(groups)
    if groups.shape != (n,):
        raise ValueError(f"groups must name one group for each of the {n} tokens; got shape {groups.shape}.")
    names, group = np.unique(groups, return_inverse=True)
    members = (np.arange(len(names))[:, None] == group[None, :]).astype(float)
    means = _like(weights, members / members.sum(axis=1, keepdims=True)) @ weights  # (..., group, key)
    return xp.take(means, xp.asarray(group, device=device(weights)), axis=-2)


def text_groups(attention) -> tuple[int, ...]:
    """0 and 1 for the tokens of the two texts, -1 for special tokens: who counts as alike when they look.

    The mean over *one* text is the stricter null model: a head that merely stays in its own text gives each token
    there more than the mean over both texts, whatever the words are.
    """
    _require_tokens(attention)
    return tuple(-1 if s else t for s, t in zip(attention.special, attention.segment_ids))


def same_word_pairs(attention, *, other_text: bool = False) -> np.ndarray:
    """Which tokens are the same word, as a boolean array of shape (query, key), the token itself excluded.

    The same means: written alike, apart from case and the mark of a preceding space. Special tokens and pieces
    without a letter or digit (full stops, commas) never count: those are another pattern. *Related* words, which
    Vig includes, cannot be told from the spelling and are left out.

    Parameters
    ----------
    attention : Attention
    other_text : bool
        Only pairs that cross from one text to the other.
    """
    _require_tokens(attention)
    spelt = [token.lstrip("Ġ▁").casefold() for token in attention.tokens]
    names = [
        name if any(map(str.isalnum, name)) and not special else None
        for name, special in zip(spelt, attention.special)
    ]
    codes = {name: code for code, name in enumerate(dict.fromkeys(filter(None, names)))}
    ids = np.array([codes.get(name, -1) for name in names])
    pairs = (ids[:, None] == ids[None, :]) & (ids[:, None] >= 0) & ~np.eye(len(ids), dtype=bool)
    if other_text:
        texts = np.asarray(attention.segment_ids)
        pairs &= texts[:, None] != texts[None, :]
    return pairs


def within_word_pairs(attention) -> np.ndarray:
    """Which tokens are pieces of one word, as a boolean array of shape (query, key), the piece itself excluded."""
    _require_tokens(attention)
    words = np.array([-1 if word is None else word for word in attention.word_ids])
    same = (words[:, None] == words[None, :]) & (words[:, None] >= 0)
    return same & ~np.eye(len(words), dtype=bool)


def next_word_pairs(attention) -> np.ndarray:
    """Each token and the one after it in the same text, special tokens left out: boolean, shape (query, key)."""
    groups = np.array(text_groups(attention))
    return (
        np.eye(len(groups), k=1, dtype=bool) & (groups[:, None] == groups[None, :]) & (groups[:, None] >= 0)
    )


def closing_sep_pairs(attention) -> np.ndarray:
    """Each token that is not special and the [SEP] that closes its own text: boolean, shape (query, key)."""
    sep, groups = sep_mask(attention), np.array(text_groups(attention))
    texts = np.asarray(attention.segment_ids)
    pairs = sep[None, :] & (groups[:, None] == texts[None, :])
    # RoBERTa puts two separators between the texts: the last of a text's own closes it.
    last = pairs & (np.cumsum(pairs[:, ::-1], axis=1)[:, ::-1] == 1)
    return last


def expected_at_offsets(attention, pairs, reference):
    """What `pair_share` would be if only the offset between the two tokens mattered.

    Each pair is replaced by the head's mean weight at the same offset over the pairs in ``reference``. This is the
    null model for pieces of a word: they stand side by side, so a head that looks at any neighbour looks at them.

    Parameters
    ----------
    attention : Attention or array of shape (..., layer, head, query, key)
    pairs, reference : boolean arrays of shape (query, key)

    Raises
    ------
    UndefinedPattern
        If there is no pair, or an offset that occurs in ``pairs`` does not occur in ``reference``.
    """
    weights = attention_weights(attention)
    n = weights.shape[-1]
    pairs, reference = _checked_pairs(pairs, n), _checked_pairs(reference, n)
    queries = int(pairs.any(axis=1).sum())
    if not queries:
        raise UndefinedPattern("the mask holds no pair, so there is no query to average over.")
    offsets = np.arange(n)[None, :] - np.arange(n)[:, None]
    expected = np.zeros((n, n))
    for offset, count in zip(*np.unique(offsets[pairs], return_counts=True)):
        alike = reference & (offsets == offset)
        if not alike.any():
            raise UndefinedPattern(
                f"no pair at offset {offset:+d} to compare with: the text is too short for this null model."
            )
        expected[alike] = count / alike.sum()
    xp = array_namespace(weights)
    expected = xp.asarray(expected / queries, dtype=weights.dtype, device=device(weights))
    return xp.sum(weights * expected, axis=(-2, -1))


# --- bag of words: evenly over one's own text -----------------------------------------------------------
def within_segment_mass(attention, segment_ids: Sequence[int] | None = None, queries=None):
    """Share of attention that stays in the token's own text; chance is the text's share of the tokens.

    Parameters
    ----------
    attention : Attention or array of shape (..., layer, head, query, key)
    segment_ids : sequence of int, one for each token
        By default those of the Attention: which text a token belongs to, its [CLS] and [SEP] included, whatever
        the model itself was told.
    queries : boolean array of shape (token,), optional
        By default every token but the special ones (of an array: every token).

    Returns
    -------
    array of shape (..., layer, head)

    Raises
    ------
    UndefinedPattern
        If there is one text only: all attention stays in it.
    """
    weights, same, queries = segment_masks(attention, segment_ids, queries)
    xp = array_namespace(weights)
    mass = xp.sum(weights * _like(weights, same), axis=-1)
    return mass @ _like(weights, queries / queries.sum())


def within_segment_entropy(attention, segment_ids: Sequence[int] | None = None, queries=None):
    """How evenly attention is spread over the token's own text: entropy of that part alone / ln(tokens of the text).

    1 is even, 0 one token only. In a text of one single token there is nothing to spread: 0. A row without any weight
    on its own text counts as 0. Parameters and errors as `within_segment_mass`.
    """
    weights, same, queries = segment_masks(attention, segment_ids, queries)
    _, entropy = _mass_and_entropy(weights, same)
    return entropy @ _like(weights, queries / queries.sum())


def bag_of_words(attention, segment_ids: Sequence[int] | None = None, queries=None):
    """Evenly over one's own text and nowhere else: mean of mass times normalised entropy within the text.

    1 is a perfect bag of words; a head that looks at all tokens equally scores the share of its text, its chance level.
    Parameters and errors as `within_segment_mass`.

    Examples
    --------
    Two texts of two tokens each, every token looks evenly at its own text:

    >>> weights = np.kron(np.eye(2), np.full((2, 2), 0.5))
    >>> bag_of_words(weights, segment_ids=[0, 0, 1, 1])
    np.float64(1.0)
    """
    weights, same, queries = segment_masks(attention, segment_ids, queries)
    mass, entropy = _mass_and_entropy(weights, same)
    return (mass * entropy) @ _like(weights, queries / queries.sum())


def segment_masks(attention, segment_ids, queries):
    """Weights, (query, key) pairs inside one segment, and the queries that count, for two segments that both hold one."""
    weights = attention_weights(attention)
    n = weights.shape[-1]
    if segment_ids is None:
        _require_tokens(attention)
        segment_ids = attention.segment_ids
    if queries is None:
        queries = ~np.asarray(getattr(attention, "special", [False] * n), dtype=bool)
    segment_ids, queries = np.asarray(segment_ids), np.asarray(queries)
    for name, given in (("segment_ids", segment_ids), ("queries", queries)):
        if given.shape != (n,):
            raise ValueError(
                f"{name} must hold one entry for each of the {n} tokens; got shape {given.shape}."
            )
    if len(set(segment_ids.tolist())) < 2:
        raise UndefinedPattern(
            "there is one text only, and all attention stays in it; give a pair of texts, text and text_pair."
        )
    if not queries.any():
        raise UndefinedPattern("no token is left to look: the input holds special tokens only.")
    return weights, segment_ids[:, None] == segment_ids[None, :], queries.astype(bool)


def _mass_and_entropy(weights, same):
    """Per query: mass inside its own text, and the normalised entropy of that part. Shapes (..., query)."""
    xp = array_namespace(weights)
    inside = weights * _like(weights, same)
    mass = xp.sum(inside, axis=-1)
    some = mass > 0
    p = inside / xp.where(some, mass, xp.ones_like(mass))[..., None]
    entropy = -xp.sum(p * xp.log(xp.where(p > 0, p, xp.ones_like(p))), axis=-1)
    most = np.log(same.sum(axis=1).astype(float))
    scale = _like(weights, np.where(most > 0, 1 / np.where(most > 0, most, 1), 0))
    return mass, xp.clip(entropy * scale, 0.0, 1.0)


# --- small helpers --------------------------------------------------------------------------------------
def _like(weights, values):
    """A NumPy array in the kind, precision and place of ``weights``."""
    xp = array_namespace(weights)
    return xp.asarray(np.asarray(values, dtype=float), dtype=weights.dtype, device=device(weights))


def _checked_pairs(pairs, n: int) -> np.ndarray:
    pairs = np.asarray(pairs)
    if pairs.shape != (n, n) or pairs.dtype != bool:
        raise ValueError(
            f"a mask of pairs must be {n} x {n} booleans (query, key); got shape {pairs.shape}, dtype {pairs.dtype}."
        )
    return pairs


def _require_tokens(attention) -> None:
    if not hasattr(attention, "segment_ids"):
        raise without_tokens(attention)
    refuse_cross(attention)
