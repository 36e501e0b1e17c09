"""The patterns of Vig and Belinkov as measures for a head map: what each head has more than its null model."""

from __future__ import annotations

from collections.abc import Callable, Iterable

from bertlook_teach.measures import PATTERNS, UndefinedPattern, VigPattern, attention_weights


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
