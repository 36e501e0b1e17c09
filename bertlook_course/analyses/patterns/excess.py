"""The patterns of Vig and Belinkov as measures for a head map: what each head has more than its null model."""

from __future__ import annotations

from collections.abc import Callable

from bertlook_teach.measures import PATTERNS, UndefinedPattern, VigPattern, attention_weights


def pattern_measures() -> dict[str, Callable]:
    """Title -> measure of the excess, for a head map over any sentence a class may type.

    Where a sentence cannot show a pattern (no word twice, no second text), the measure is **0 for every head**: no
    head can exceed the null model there. For averages over a corpus use `measure_patterns`, which leaves such inputs out.
    """

    def or_zero(pattern: VigPattern) -> Callable:
        def measure(attention):
            try:
                return pattern.excess(attention)
            except UndefinedPattern:
                weights = attention_weights(attention)
                return weights[..., 0, 0] * 0

        return measure

    return {pattern.title: or_zero(pattern) for pattern in PATTERNS.values()}
