"""Type a pattern, see which heads follow it."""

from __future__ import annotations

from collections.abc import Iterable

from bertlook_teach.model import Attention

from ...analyses.patterns import WordMaps, score_pattern
from ...metrics import CannotDecide
from ...render import render_pattern_score
from ...syllabus import worded
from ..text_view import TextView

TREE_PATTERN = "query.pos('DET') & key.governor()"

PLAIN_PATTERN = "key.offset(-1)"


def _maps_of(attentions) -> WordMaps:
    return WordMaps.of([attentions] if isinstance(attentions, Attention) else attentions)


class PatternView(TextView):
    """A text box for a line of the pattern language; Enter scores every head on it, in about a second for 1,000 sentences.

    Parameters
    ----------
    maps : WordMaps
        From `word_maps`; or a list of Attention, one for each text, such as `Attention.from_arrays` makes. One text alone is refused: the
        head is chosen on one half of the documents and scored on the other.
    twin : WordMaps or list of Attention, optional
        Of the random twin on the same texts.
    pattern : str, optional
        The first one; without trees ``PLAIN_PATTERN``. If it is not valid, a message beside the box says so, and the last picture stays.
    measure : {"accuracy", "mass"}

    Raises
    ------
    TypeError
        If what is given is not attention.
    ValueError
        If there is none, it is of models of different shape, or the measure is another.
    """

    def __init__(
        self,
        maps: WordMaps | Iterable[Attention],
        twin: WordMaps | Iterable[Attention] | None = None,
        pattern: str | None = None,
        *,
        measure: str = "accuracy",
    ):
        if measure not in ("accuracy", "mass"):
            raise ValueError(f'measure is "accuracy" or "mass"; got {measure!r}.')
        unit = "sentences" if isinstance(maps, WordMaps) else "texts"
        if not isinstance(maps, WordMaps):
            maps = _maps_of(maps)
            pattern = pattern or PLAIN_PATTERN
        if twin is not None and not isinstance(twin, WordMaps):
            twin = _maps_of(twin)
        pattern = pattern or TREE_PATTERN

        def draw(text: str, text_pair: str | None = None) -> str:
            try:
                return render_pattern_score(score_pattern(text, maps, twin), measure, unit)
            except CannotDecide as reason:
                raise ValueError(worded("undecided", reason=reason)) from None

        super().__init__(draw, pattern)
        self.text_box.text.placeholder = "a pattern, then Enter"

    def __repr__(self) -> str:
        return f"PatternView({self.text_box.text.value!r})"
