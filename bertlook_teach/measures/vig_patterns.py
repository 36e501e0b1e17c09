"""Vig's six patterns and the bag of words: what the eye finds in a picture, as a number with a null model.

Vig (2018-2019) found the patterns by looking at pictures, and warned that one sees what one looks for. Here each is
a measure, ``pattern.value(attention)``, of shape (layer, head), and beside it ``pattern.null(attention)``: what the same
measure gives for a head that has everything but the pattern. Their difference is ``pattern.excess(attention)``.

What the patterns are not about is refused, never NaN: a text without a repeated word has no value for "same word",
and says so (`UndefinedPattern`). `measure_patterns` leaves such patterns out.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from ..model import array_namespace
from .pair_shares import (
    bag_of_words,
    expected_at_offsets,
    looks_alike,
    pair_share,
    same_word_pairs,
    segment_masks,
    text_groups,
    within_word_pairs,
)
from .surface import (
    UndefinedPattern,
    attention_weights,
    offset_attention,
    sep_mask,
    special_token_attention,
    token_masks,
)


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
    sep_mask(attention)
    return special_token_attention(attention, "sep")


def _delimiter_null(attention):
    share = sep_mask(attention).mean()
    weights = attention_weights(attention)
    xp = array_namespace(weights)
    return xp.zeros_like(weights[..., 0, 0]) + float(share)


def _bag_null(attention):
    weights, same, queries = segment_masks(attention, None, None)
    n = weights.shape[-1]
    size = same.sum(axis=1)
    xp = array_namespace(weights)
    return xp.zeros_like(weights[..., 0, 0]) + float(np.where(size > 1, size / n, 0)[queries].mean())


_COLUMN = "the mean row of its text: who looks does not matter"

_EVEN = "looks at all tokens equally"

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


def sep_to_cls(attention, *, last: bool = False):
    """Share of the attention from [SEP] that goes to [CLS], shape (layer, head): where next-word heads break off.

    ``last=True`` looks at the last [SEP] only, the one token with nothing behind it.
    """
    sep = sep_mask(attention)
    if last:
        sep = np.arange(len(sep)) == np.flatnonzero(sep)[-1]
    cls = token_masks(attention)["cls"]
    if not cls.any():
        raise UndefinedPattern(
            "no [CLS] among the tokens: this measure needs an input as the model reads it."
        )
    return pair_share(attention, sep[:, None] & cls[None, :])
