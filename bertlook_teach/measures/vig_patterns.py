"""Vig's six patterns and the bag of words: what the eye finds in a picture, as a number with a null model.

Vig (2018-2019) found the patterns by looking at pictures, and warned that one sees what one looks for. Here each is
a measure, ``pattern.value(attention)``, of shape (layer, head), and beside it ``pattern.null(attention)``: what the same
measure gives for a head that has everything but the pattern. Their difference is ``pattern.excess(attention)``.

What the patterns are not about is refused, never NaN: a text without a repeated word has no value for "same word",
and says so (`UndefinedPattern`). `measure_patterns` leaves such patterns out.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from array_api_compat import array_namespace, device

from .surface import (
    CLS_TOKENS,
    attention_weights,
    offset_attention,
    special_token_attention,
    token_masks,
)


class UndefinedPattern(ValueError):
    """The input holds nothing that the pattern could be about; the message says what it would need."""


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
    groups : sequence of int, one a token, optional
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
    sep, groups = _require_sep(attention), np.array(text_groups(attention))
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
    segment_ids : sequence of int, one a token
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
    weights, same, queries = _segments(attention, segment_ids, queries)
    xp = array_namespace(weights)
    mass = xp.sum(weights * _like(weights, same), axis=-1)
    return mass @ _like(weights, queries / queries.sum())


def within_segment_entropy(attention, segment_ids: Sequence[int] | None = None, queries=None):
    """How evenly attention is spread over the token's own text: entropy of that part alone / ln(tokens of the text).

    1 is even, 0 one token only. In a text of one single token there is nothing to spread: 0. A row without any weight
    on its own text counts as 0. Parameters and errors as `within_segment_mass`.
    """
    weights, same, queries = _segments(attention, segment_ids, queries)
    _, entropy = _mass_and_entropy(weights, same)
    return entropy @ _like(weights, queries / queries.sum())


def bag_of_words(attention, segment_ids: Sequence[int] | None = None, queries=None):
    """Evenly over one's own text and nowhere else: mean of mass times normalised entropy within the text.

    1 is a perfect bag of words; a head that looks everywhere alike scores the share of its text, its chance level.
    Parameters and errors as `within_segment_mass`.

    Examples
    --------
    Two texts of two tokens each, every token looks evenly at its own text:

    >>> weights = np.kron(np.eye(2), np.full((2, 2), 0.5))
    >>> bag_of_words(weights, segment_ids=[0, 0, 1, 1])
    np.float64(1.0)
    """
    weights, same, queries = _segments(attention, segment_ids, queries)
    mass, entropy = _mass_and_entropy(weights, same)
    return (mass * entropy) @ _like(weights, queries / queries.sum())


def _segments(attention, segment_ids, queries):
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


# --- the patterns ---------------------------------------------------------------------------------------
class PatternShare(NamedTuple):
    """One pattern on one input: arrays of shape (layer, head)."""

    value: np.ndarray
    null: np.ndarray

    @property
    def excess(self):
        return self.value - self.null


@dataclass(frozen=True)
class VigPattern:
    """A pattern as a number.

    Attributes
    ----------
    key, title : str
    says : str
        What the head does, in words.
    null_says : str
        What the null model keeps.
    value, null : function(Attention) -> array of shape (layer, head)
        Both raise `UndefinedPattern` for an input that the pattern cannot be about.
    """

    key: str
    title: str
    says: str
    null_says: str
    value: Callable
    null: Callable

    def excess(self, attention):
        """Value minus null model, shape (layer, head); 0 is chance, and it may be negative."""
        return self.score(attention).excess

    def score(self, attention) -> PatternShare:
        return PatternShare(self.value(attention), self.null(attention))

    def __repr__(self) -> str:
        return f"VigPattern({self.key}: {self.says}; null model: {self.null_says})"


def _offset(offset: int) -> Callable:
    def value(attention):
        if attention_weights(attention).shape[-1] < 2:
            raise UndefinedPattern("a single token has no neighbour.")
        return offset_attention(attention, offset)

    return value


def _offset_null(offset: int) -> Callable:
    value = _offset(offset)
    return lambda attention: value(looks_alike(attention))


def _same_word(null: bool, **where) -> Callable:
    def measure(attention):
        pairs = same_word_pairs(attention, **where)
        if not pairs.any():
            what = "occurs in both texts" if where else "occurs twice"
            raise UndefinedPattern(f"no word {what} in this input; take one in which a word is repeated.")
        return pair_share(looks_alike(attention) if null else attention, pairs)

    return measure


def _within_word(null: bool) -> Callable:
    def measure(attention):
        pairs = within_word_pairs(attention)
        if not pairs.any():
            level = getattr(attention, "level", "wordpiece")
            raise UndefinedPattern(
                "the attention is between words; take it between wordpieces, before to_words()."
                if level == "word"
                else "no word of this input is cut into several wordpieces; take a rarer or a longer word."
            )
        if not null:
            return pair_share(attention, pairs)
        groups = np.array(text_groups(attention))
        one_text = (groups[:, None] == groups[None, :]) & (groups[:, None] >= 0)
        return expected_at_offsets(attention, pairs, one_text & ~pairs)

    return measure


def _delimiter(attention):
    _require_sep(attention)
    return special_token_attention(attention, "sep")


def _delimiter_null(attention):
    share = _require_sep(attention).mean()
    weights = attention_weights(attention)
    xp = array_namespace(weights)
    return xp.zeros_like(weights[..., 0, 0]) + float(share)


def _bag_null(attention):
    weights, same, queries = _segments(attention, None, None)
    n = weights.shape[-1]
    size = same.sum(axis=1)
    xp = array_namespace(weights)
    return xp.zeros_like(weights[..., 0, 0]) + float(np.where(size > 1, size / n, 0)[queries].mean())


_COLUMN = "the mean row of its text: who looks does not matter"

_EVEN = "looks at all tokens alike"

PATTERNS: dict[str, VigPattern] = {
    pattern.key: pattern
    for pattern in (
        VigPattern("next", "next word", "looks at the next token", _COLUMN, _offset(+1), _offset_null(+1)),
        VigPattern(
            "previous", "previous word", "looks at the previous token", _COLUMN, _offset(-1), _offset_null(-1)
        ),
        VigPattern(
            "same_word",
            "same word",
            "looks at the same word elsewhere",
            _COLUMN,
            _same_word(null=False),
            _same_word(null=True),
        ),
        VigPattern(
            "same_word_across",
            "same word, other text",
            "looks at the same word in the other text",
            _COLUMN,
            _same_word(null=False, other_text=True),
            _same_word(null=True, other_text=True),
        ),
        VigPattern(
            "within_word",
            "rest of the word",
            "looks at the other pieces of its word",
            "any neighbour at the same distance",
            _within_word(null=False),
            _within_word(null=True),
        ),
        VigPattern("delimiter", "[SEP]", "looks at [SEP]", _EVEN, _delimiter, _delimiter_null),
        VigPattern(
            "bag_of_words",
            "bag of words",
            "looks evenly at all of its own text",
            _EVEN,
            bag_of_words,
            _bag_null,
        ),
    )
}


def measure_patterns(attention) -> dict[str, PatternShare]:
    """Every pattern that this input can show: key -> value, null and excess, each of shape (layer, head).

    Patterns that it cannot show are left out; `missing_patterns` says why.
    """
    scores = {}
    for key, pattern in PATTERNS.items():
        try:
            scores[key] = pattern.score(attention)
        except UndefinedPattern:
            continue
    return scores


def missing_patterns(attention) -> dict[str, str]:
    """Key -> reason, for every pattern that this input cannot show."""
    reasons = {}
    for key, pattern in PATTERNS.items():
        try:
            pattern.score(attention)
        except UndefinedPattern as reason:
            reasons[key] = str(reason)
    return reasons


def pattern_measures(keys: Iterable[str] | None = None) -> dict[str, Callable]:
    """Title -> measure of the excess, for a head map over any sentence a class may type.

    Where a sentence cannot show a pattern (no word twice, no second text), the measure is **0 for every head**: no
    head can exceed the null model there. For averages over a corpus use `measure_patterns`, which leaves such inputs out.

    Raises
    ------
    KeyError
        If there is no pattern of that key.
    """

    def or_zero(pattern: VigPattern) -> Callable:
        def measure(attention):
            try:
                return pattern.excess(attention)
            except UndefinedPattern:
                weights = attention_weights(attention)
                return weights[..., 0, 0] * 0

        return measure

    chosen = PATTERNS if keys is None else list(keys)
    unknown = [key for key in chosen if key not in PATTERNS]
    if unknown:
        raise KeyError(f"there is no pattern {unknown[0]!r}; there are: {', '.join(PATTERNS)}.")
    return {PATTERNS[key].title: or_zero(PATTERNS[key]) for key in chosen}


def sep_to_cls(attention, *, last: bool = False):
    """Share of the attention from [SEP] that goes to [CLS], shape (layer, head): where next-word heads break off.

    ``last=True`` looks at the last [SEP] only, the one token with nothing behind it.
    """
    sep = _require_sep(attention)
    if last:
        sep = np.arange(len(sep)) == np.flatnonzero(sep)[-1]
    cls = np.array([t in CLS_TOKENS and s for t, s in zip(attention.tokens, attention.special)])
    if not cls.any():
        raise UndefinedPattern(
            "no [CLS] among the tokens: this measure needs an input as the model reads it."
        )
    return pair_share(attention, sep[:, None] & cls[None, :])


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
        raise TypeError(
            f"this pattern needs the tokens and texts as well as the weights: pass an Attention; got {type(attention).__name__}."
        )


def _require_sep(attention) -> np.ndarray:
    _require_tokens(attention)
    sep = token_masks(attention)["sep"]
    if not sep.any():
        raise UndefinedPattern(
            "no [SEP] among the tokens: this pattern needs an input as the model reads it, [CLS] text [SEP]."
        )
    return sep
