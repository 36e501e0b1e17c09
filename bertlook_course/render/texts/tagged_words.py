"""The words of a sentence above their tags, a row for each way to tag them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from bertlook_teach.views import (
    MUTED,
    OKABE_ITO,
    PAPER,
    RULE,
    Picture,
    content,
    coordinate,
    text,
    text_colour,
    text_width,
)

from ..drawing.layout import TYPE, WIDE
from ..drawing.text_table import TextTable

_WIDTH, _EM, _SIDE, _HIGH = WIDE, TYPE, 124.0, 66.0
_FILLS = {"out": PAPER, "cue": OKABE_ITO["vermillion"], "A": "#e8c4d8", "B": PAPER}


def tagged_words(words: Sequence[str], tags: Mapping[str, Sequence[str]], sentence: str) -> Picture:
    """Draw what each word of a sentence is tagged as: "out" is empty, a "cue" orange, labels "A" and "B" that mean nothing pink and empty, any other tag blue.

    Parameters
    ----------
    words : sequence of str
    tags : mapping of name to sequence of str
        One tag a word.
    sentence : str
        What is to be seen.

    Raises
    ------
    ValueError
        If a row has not one tag a word.
    """
    for name, row in tags.items():
        if len(row) != len(words):
            raise ValueError(f"{name!r} needs one tag for each of the {len(words)} words; got {len(row)}.")
    wide = [max(text_width(word, _EM), text_width("scope", 24)) + 16 for word in words]
    scale = min(1.0, (_WIDTH - _SIDE) / sum(wide))
    wide = [scale * one for one in wide]
    lefts = [_SIDE + sum(wide[:k]) for k in range(len(wide))]
    body = [text(left + one / 2, 24, word, anchor="middle") for left, one, word in zip(lefts, wide, words)]
    for row, (name, found) in enumerate(tags.items()):
        top = 50 + _HIGH * row
        body.append(text(0, top + 24, name, fill=MUTED))
        for left, one, word, tag in zip(lefts, wide, words, found):
            fill = _FILLS.get(tag, "#9cc3e0")
            ink = MUTED if tag == "out" else text_colour(fill)
            body.append(
                f'<g><title>{content(f"{word}: {tag}")}</title><rect x="{coordinate(left + 2)}" y="{coordinate(top)}" '
                f'width="{coordinate(one - 4)}" height="48" rx="5" fill="{fill}" stroke="{RULE}"/>'
                f"{text(left + one / 2, top + 24, tag, anchor='middle', fill=ink)}</g>"
            )
    table = TextTable(["", *words], [[name, *found] for name, found in tags.items()])
    return Picture(
        body, _WIDTH, 50 + _HIGH * len(tags), "Tagged words", sentence, _EM, numbers=(table,), wide=True
    )
