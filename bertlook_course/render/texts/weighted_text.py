"""A text whose words carry one number each: darker for more, key words underlined, and a sentence that says the same."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from bertlook_teach.views import (
    MUTED,
    SELECTED,
    Picture,
    as_array,
    checked_tokens,
    content,
    coordinate,
    difference_colour,
    magnitude_colour,
    number,
    percent,
    quoted,
    shortened,
    signed_number,
    text,
    text_colour,
    text_width,
    visible_token,
)

from ..drawing.text_table import TextTable

TOP = 3

STRONG = 0.1  # of the largest: from here on a difference gets its sign written before the word


def checked_scores(scores, words: Sequence[str], *, negative: bool = False) -> np.ndarray:
    """One number a word in the last axis, as float64; names the place of what is not a score.

    Raises
    ------
    ValueError
        If there is not one number for each word, one is not finite, or one is negative although ``negative`` is False.
    """
    scores = as_array(scores)
    if scores.ndim not in (1, 3) or 0 in scores.shape or scores.shape[-1] != len(words):
        raise ValueError(
            f"scores need shape (layer, head, word) with {len(words)} words, and a mix shape ({len(words)},); got {scores.shape}."
        )

    def place(mask) -> str:
        *head, word = np.argwhere(mask)[0]
        start = f"layer {head[0]}, head {head[1]}, " if head else ""
        return f"{start}word {word} ({words[word]!r}) is {scores[tuple(np.argwhere(mask)[0])]:g}"

    wrong = ~np.isfinite(scores)
    if wrong.any():
        raise ValueError(f"scores of words must be finite; {place(wrong)}.")
    if not negative and (scores < 0).any():
        raise ValueError(
            f"scores of words are weights, not negative; {place(scores < 0)}. For a difference give both sides: scores and minus=."
        )
    return scores


def checked_key(key, words: Sequence[str]) -> tuple[bool, ...]:
    """A yes or no a word."""
    key = tuple(bool(entry) for entry in key)
    if len(key) != len(words):
        raise ValueError(f"key needs one yes or no a word: {len(words)} expected, got {len(key)}.")
    return key


def checked_darkest(darkest: float, difference: bool) -> float:
    """How many times the average is darkest; 0: the largest is."""
    if not 0 <= darkest < np.inf:
        raise ValueError(f"darkest says how many times the average; it is 0 or more, got {darkest!r}.")
    if darkest and difference:
        raise ValueError(
            "darkest counts from an average of weights; a difference is drawn to its largest. Leave it out."
        )
    return float(darkest)


def describe_words(
    scores, words: Sequence[str], *, key=None, name: str = "", unit: str = "weight", difference: bool = False
) -> str:
    """Which words have most, against the mean of all; what key words have against the others.

    The share of pairs in which the key word has more (ties count half) is the area under the ROC curve: 50 % by chance.

    >>> describe_words([0.3, 0.1, 0.1], ["salt", "is", "white"], key=[True, False, False], name="Head 1-1")
    'Head 1-1, weight: highest for “salt” 0.300, “is” 0.100, “white” 0.100; on average a word has 0.167. The 1 key word has 0.300 on average, the 2 others 0.100; key words have more in 100 % of pairs (chance: 50 %).'
    >>> describe_words([0.3, -0.1], ["salt", "is"], name="Head 1-1", difference=True)
    'Head 1-1: weight rises most on “salt” +0.300; falls most on “is” -0.100; on average a word changes by +0.100.'
    """
    words, scores = checked_tokens(words), checked_scores(scores, words, negative=difference)
    start = f"{name}: " if name else ""
    values = scores.tolist()
    order = sorted(range(len(words)), key=lambda i: (-values[i], i))
    write = signed_number if difference else number
    mean = write(sum(values) / len(values))

    def named(places) -> str:
        return ", ".join(f"{quoted(words[i], False)} {write(values[i])}" for i in places)

    if not any(values):
        said = f"{start}{unit} {'changes' if difference else 'is'} {'nowhere' if difference else '0 everywhere'}."
    elif difference:
        up = [i for i in order[:TOP] if values[i] > 0]
        down = [i for i in sorted(range(len(words)), key=lambda i: (values[i], i))[:TOP] if values[i] < 0]
        parts = [f"rises most on {named(up)}" if up else "rises nowhere"]
        parts.append(f"falls most on {named(down)}" if down else "falls nowhere")
        said = f"{start}{unit} {'; '.join(parts)}; on average a word changes by {mean}."
    else:
        about = f"{name}, {unit}" if name else unit
        said = f"{about}: highest for {named(order[:TOP])}; on average a word has {mean}."
    return said if key is None else f"{said} {_key_sentence(values, checked_key(key, words), difference)}"


def _key_sentence(values, key, difference) -> str:
    inside = [value for value, flag in zip(values, key) if flag]
    outside = [value for value, flag in zip(values, key) if not flag]
    if not inside:
        return "No word of this text is a key word."
    if not outside:
        return "Every word of this text is a key word."
    wins = sum((a > b) + 0.5 * (a == b) for a in inside for b in outside)
    write = signed_number if difference else number
    a, b = write(sum(inside) / len(inside)), write(sum(outside) / len(outside))
    one, other = len(inside) == 1, len(outside) == 1
    verb = ("changes by" if one else "change by") if difference else ("has" if one else "have")
    more = "gain more" if difference else "have more"
    return (
        f"The {len(inside)} key word{'' if one else 's'} {verb} {a} on average, the {len(outside)} other{'' if other else 's'} {b}; "
        f"key words {more} in {percent(wins / (len(inside) * len(outside)))} of pairs (chance: 50 %)."
    )


def word_table(
    scores, words: Sequence[str], *, key=None, unit: str = "weight", difference: bool = False
) -> TextTable:
    """The same in numbers, in the order of the text."""
    write = signed_number if difference else number
    marks = checked_key(key, words) if key is not None else None
    header = ["word", unit, *(["key word"] if marks else [])]
    rows = [
        [word, write(value), *(["yes" if marks[i] else "no"] if marks else [])]
        for i, (word, value) in enumerate(zip(words, as_array(scores)))
    ]
    return TextTable(header, rows)


def render_words(
    scores,
    words: Sequence[str],
    *,
    key=None,
    name: str = "",
    title: str = "",
    unit: str = "weight",
    difference: bool = False,
    darkest: float = 0,
    font_size: float = 24,
    width: float = 900,
) -> Picture:
    """Draw a text whose words are the darker the larger their number; key words stand over a line.

    Parameters
    ----------
    scores : array of shape (word,)
        Drawn from 0 to the largest, or as ``darkest`` says; a difference from minus to plus the largest size, its sign before the word.
    words : sequence of str
    key : sequence of bool, optional
    name : str
        Whose numbers these are: "Head 3-1".
    title, unit : str
        Of the text, and what the number is.
    difference : bool
        The numbers are after minus before.
    darkest : float
        Darkest is this many times what a word has on average, and whatever is more; 0: the largest.
    font_size, width : float
        In pixels.

    Raises
    ------
    ValueError
        As `checked_scores`; if key has not one entry a word, or ``darkest`` is negative or infinite.
    """
    checked_darkest(darkest, difference)
    words = checked_tokens(words)
    values = checked_scores(scores, words, negative=difference)
    marks = (False,) * len(words) if key is None else checked_key(key, words)
    em = float(font_size)
    top = darkest * float(values.mean()) or float(np.abs(values).max()) or 1.0
    write = signed_number if difference else number
    heading = ": ".join(part for part in (title, name) if part) or "Words"
    body = [text(0.4 * em, 1.0 * em, heading, extra=' font-weight="600"')]
    x, y = 0.4 * em, 2.7 * em
    for word, value, mark in zip(words, values, marks):
        share = value / top
        fill = difference_colour(share) if difference else magnitude_colour(share)
        label = (_sign(share) if difference else "") + visible_token(word)
        wide = text_width(label, em) + 0.5 * em
        if x + wide > width - 0.4 * em and x > em:
            x, y = 0.4 * em, y + 1.75 * em
        line = (
            f'<path d="M{coordinate(x)} {coordinate(y + 0.78 * em)}h{coordinate(wide)}" stroke="{SELECTED}" stroke-width="{coordinate(0.14 * em)}"/>'
            if mark
            else ""
        )
        tip = f"{word}: {write(value)}{', key word' * mark}"
        body.append(
            f"<g><title>{content(tip)}</title>"
            f'<rect x="{coordinate(x)}" y="{coordinate(y - 0.66 * em)}" width="{coordinate(wide)}" height="{coordinate(1.32 * em)}" rx="3" fill="{fill}"/>'
            f"{text(x + wide / 2, y, label, anchor='middle', fill=text_colour(fill))}{line}</g>"
        )
        x += wide + 0.2 * em
    y += 0.5 * em
    for line in legend_lines(top, unit, difference, key is not None, darkest):
        y += 1.4 * em
        body.append(text(0.4 * em, y, shortened(line, em, width - em), fill=MUTED))
    sentence = describe_words(values, words, key=key, name=name, unit=unit, difference=difference)
    return Picture(body, width, y + 1.1 * em, title=heading, sentence=sentence, font_size=em)


def legend_lines(top: float, unit: str, difference: bool, keyed: bool, darkest: float = 0) -> list[str]:
    """What dark means, and the line under a word."""
    if difference:
        scale = f"+ blue: more than before, - brown: less; darkest: {number(top)} {unit}"
    elif darkest:
        scale = f"darkest: {darkest:g} times the average or more ({number(top)}), palest: 0"
    else:
        scale = f"darkest: {number(top)} {unit}, palest: 0"
    return [scale, "underlined: key word"] if keyed else [scale]


def _sign(share: float) -> str:
    return "" if abs(share) < STRONG else "+" if share > 0 else "-"
