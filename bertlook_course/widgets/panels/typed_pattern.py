"""A pattern and a sentence, both typed: which heads look there, on this one text."""

from __future__ import annotations

import html
from dataclasses import replace

import ipywidgets
import numpy as np

from bertlook_teach.model import extract_attention
from bertlook_teach.views import HeadMap, TextBox, mime_bundle, percent

from ...analyses.patterns import CONDITIONS, WordMaps, answers_of, check_corpus, count_cases, parse_pattern
from ...metrics import CannotDecide, best_index
from ...syllabus import worded
from .pattern_view import PLAIN_PATTERN

MEASURE = "share of cases found"

LISTED = 4  # pairs of words that are spelt out


class TypedPattern(ipywidgets.VBox):
    """Two lines, a sentence and a pattern; a map of all heads says in how many cases each looks most at a key that the pattern allows.

    A first try of a pattern: to judge one, many texts are needed, and `PatternView`.

    Parameters
    ----------
    encoder : Encoder
    text : str
    pattern : str
        A line of the pattern language, without what only a treebank says (docs/patterns.md).
    text_pair : str, optional
        A second text, for patterns about segments. ``None`` shows no line for one.
    font_size : float
        In pixels; 0 follows the page.

    Attributes
    ----------
    head_map : HeadMap
    text_box, pattern_box : TextBox

    Raises
    ------
    ValueError
        If text or pattern cannot be read, or the pattern tells nothing apart on this text. For what is typed later a message stands beside
        the line, and the picture stays.
    """

    _ipython_display_ = None  # ipywidgets 7 would leave out the picture for saved pages

    def __init__(
        self,
        encoder,
        text: str,
        pattern: str = PLAIN_PATTERN,
        *,
        text_pair: str | None = None,
        font_size: float = 0,
    ):
        self.encoder = encoder
        second = text_pair if text_pair and text_pair.strip() else None
        values, self.sentence = self._scored(pattern, text, second)
        layer, head = best_index(values[MEASURE])
        self.head_map = HeadMap(
            values,
            layer=layer,
            head=head,
            ranges={MEASURE: (0.0, 1.0)},
            badge="" if encoder.name == "specimen" else encoder.title,
            font_size=font_size,
            layout=ipywidgets.Layout(flex="0 1 auto", max_width="50%", min_width="0"),
        )
        self.text_box = TextBox(
            lambda *texts: self._show(self.pattern_box.text.value, *texts), text, text_pair
        )
        self.pattern_box = TextBox(lambda line, _: self._show(line, *self.text_box.texts), pattern)
        self.pattern_box.text.placeholder = "a pattern, then Enter"
        self._said = ipywidgets.HTML(
            value=_paragraphs(self.sentence), layout=ipywidgets.Layout(flex="1 1 0%", min_width="0")
        )
        views = ipywidgets.HBox([self.head_map, self._said])
        views.add_class("bertlook-views")
        super().__init__([self.text_box, self.pattern_box, views])
        self.add_class("bertlook-explorer")
        self.head_map._in_page = self.in_page()

    def _scored(self, line: str, text: str, text_pair: str | None) -> tuple[dict[str, np.ndarray], str]:
        """Shares of all heads, (layer, head), and what is said beneath the map."""
        pattern = parse_pattern(line)
        maps = WordMaps.of([extract_attention(self.encoder, text, text_pair)])
        [reading] = maps.readings
        check_corpus(pattern, [reading])
        answers = answers_of(pattern)
        try:
            counts = count_cases(pattern, maps, answers)
        except CannotDecide as reason:
            raise ValueError(worded("undecided", reason=reason)) from None
        beyond = answers == "anything"
        pairs = [
            (reading.words[q], reading.words[k])
            for q, k in np.argwhere(pattern.mask(reading))
            if beyond or (q != k and reading.is_word[q] and reading.is_word[k])
        ]
        shown = ", ".join(f"{one} → {other}" for one, other in pairs[:LISTED])
        if len(pairs) > LISTED:
            shown = worded("more pairs", pairs=shown, count=len(pairs) - LISTED)
        n, kind = int(counts.cases[0]), worded("tokens" if beyond else "words and marks")
        of = len(reading) if beyond else len(reading.word_positions)
        told = {"pattern": pattern.in_words(), "all": of, "kind": kind, "pairs": shown}
        said = [
            worded("one case", **told) if n == 1 else worded("cases", **told, count=n),
            worded("guessing", kind=kind, share=percent(float(counts.right_rules[0, -1] / n))),
            worded("one text"),
        ]
        return {MEASURE: counts.right[0] / n}, " ".join(said)

    def _show(self, line: str, text: str, text_pair: str | None) -> None:
        values, self.sentence = self._scored(line, text, text_pair)
        self.head_map.set_values(values, ranges={MEASURE: (0.0, 1.0)})
        self._said.value = _paragraphs(self.sentence)
        for box in (self.text_box, self.pattern_box):  # one of them may still speak of what was typed before
            box.say("")

    def in_page(self) -> dict[str, object]:
        """What a page that holds the same model needs to answer in Python's place."""
        views = {
            "pattern": self.pattern_box.text,
            "wrong": self.pattern_box.message,
            "map": self.head_map,
            "said": self._said,
        }
        conditions = {name: [kind.sentence, kind.takes, kind.needs] for name, kind in CONDITIONS.items()}
        return self.text_box.page_request(self.encoder, views, conditions=conditions)

    def _repr_mimebundle_(self, **kwargs):
        picture = self.head_map.picture()
        beneath = f"{picture.beneath[:1].upper()}{picture.beneath[1:]}"
        return mime_bundle(self, [replace(picture, caption=f"{self.sentence} {beneath}")])

    def __repr__(self) -> str:
        return f"TypedPattern({self.encoder.title}, {self.pattern_box.text.value!r}, {self.text_box.text.value!r})"


def _paragraphs(said: str) -> str:
    return f'<div aria-live="polite" dir="auto">{html.escape(said)}</div>'
