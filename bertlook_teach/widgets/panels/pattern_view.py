"""Type a pattern, see which heads follow it."""

from __future__ import annotations

from ...analyses.patterns import WordMaps, score_pattern
from ...render import render_pattern_score
from ...stats import CannotDecide
from ..text_view import TextView


class PatternView(TextView):
    """A text box for a line of the pattern language; Enter scores every head on it, in about a second for 1,000 sentences.

    Parameters
    ----------
    maps : WordMaps
        From `word_maps`.
    twin : WordMaps, optional
        Of the random twin on the same texts.
    pattern : str
        The first one. A wrong one is said to be so beside the box, and the last picture stays.
    measure : {"accuracy", "mass"}
    """

    def __init__(
        self,
        maps: WordMaps,
        twin: WordMaps | None = None,
        pattern: str = "query.pos('DET') & key.governor()",
        *,
        measure: str = "accuracy",
    ):
        def draw(text: str, text_pair: str | None = None) -> str:
            try:
                return render_pattern_score(score_pattern(text, maps, twin), measure)
            except CannotDecide as reason:
                raise ValueError(f"cannot be decided: {reason}.") from None

        super().__init__(draw, pattern)
        self.text_box.text.placeholder = "a pattern, then Enter"

    def __repr__(self) -> str:
        return f"PatternView({self.text_box.text.value!r})"
