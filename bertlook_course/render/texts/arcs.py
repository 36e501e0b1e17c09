"""Dependency arcs over a sentence: the treebank's above the words, what a head names below them.

Four steps in four places, as for every picture: `arcs_of` makes a plain dict that can be written by hand, `describe_arcs` says
it in a sentence, `render_arcs` draws it, and nothing here displays.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from bertlook_teach.model import head_label
from bertlook_teach.views import (
    INK,
    MUTED,
    OKABE_ITO,
    Picture,
    content,
    coordinate,
    quoted,
    shortened,
    text,
    text_width,
)

from ...syllabus import worded

RIGHT, WRONG = OKABE_ITO["green"], OKABE_ITO["vermillion"]

READINGS = ("the dependent looks at its governor", "the governor looks at its dependent")

EVERY = "every relation"


def arcs_of(sentence, answers: Sequence[int] | None = None, relation: str = EVERY) -> dict:
    """A sentence's arcs as a plain dict.

    Parameters
    ----------
    sentence : TreebankSentence
        Or anything with its ``words``, ``governors`` and ``relations``; where it has ``others``, these words count as right too.
    answers : sequence of int, optional
        For each word the governor a predictor names; negative for none.
    relation : str
        Only arcs of this relation; `EVERY` for all.

    Returns
    -------
    dict
        ``{"words": [...], "arcs": [{"dependent", "governor", "relation", "answer"}, ...]}``; ``answer`` is None without an
        answer. The root has no arc.

    Examples
    --------
    >>> from bertlook_course.corpora import TreebankSentence
    >>> s = TreebankSentence(("the", "cat"), (1, -1), ("det", "root"), *[("_",) * 2] * 3, ({},) * 2)
    >>> arcs_of(s, [1, 0])["arcs"]
    [{'dependent': 0, 'governor': 1, 'relation': 'det', 'answer': 1}]
    """
    if answers is not None and len(answers) != len(sentence.words):
        raise ValueError(
            f"one answer for each of the {len(sentence.words)} words is needed; got {len(answers)}."
        )
    arcs = []
    for word, (governor, name) in enumerate(zip(sentence.governors, sentence.relations)):
        if governor < 0 or relation not in (EVERY, name):
            continue
        answer = None if answers is None or answers[word] < 0 else int(answers[word])
        arc = {"dependent": word, "governor": int(governor), "relation": name, "answer": answer}
        if getattr(sentence, "others", None):
            arc["others"] = sentence.others[word]
        arcs.append(arc)
    return {"words": list(sentence.words), "arcs": arcs}


def is_right(arc: Mapping) -> bool:
    """Whether the answer is the governor, or one of the other words that count as right (``"others"``, if there are any)."""
    return arc["answer"] == arc["governor"] or arc["answer"] in arc.get("others", ())


def describe_arcs(
    picture: Mapping, *, head: tuple[int, int] | None = None, direction: int = 0, reading: str | None = None
) -> str:
    """How many governors are right, and the first that is not. ``reading`` says what the head may name, if not a governor.

    >>> describe_arcs({"words": ["the", "cat"], "arcs": [{"dependent": 0, "governor": 1, "relation": "det", "answer": 1}]}, head=(1, 2))
    'Head 2-3, read as “the dependent looks at its governor”: 1 of 1 right.'
    """
    words, arcs = picture["words"], picture["arcs"]
    if not arcs:
        return worded("no arc")
    answered = [arc for arc in arcs if arc["answer"] is not None]
    if not answered:
        return worded("one arc") if len(arcs) == 1 else worded("arcs", count=len(arcs))
    right = sum(is_right(arc) for arc in answered)
    reading = READINGS[direction] if reading is None else reading
    who = "This predictor"
    if head is not None:
        who = worded("head as read", head=worded("head", label=head_label(*head)), reading=reading)
    said = [worded("right arcs", who=who, right=right, count=len(arcs))]
    wrong = next((arc for arc in answered if not is_right(arc)), None)
    if wrong:
        named = {k: quoted(words[wrong[k]], False) for k in ("dependent", "answer", "governor")}
        said.append(worded("wrong arc", **named))
    return " ".join(said)


def arc_levels(spans: Sequence[tuple[int, int]]) -> list[int]:
    """How high each arc must go so that no two lie on each other, from 1; short arcs stay low.

    >>> arc_levels([(0, 1), (0, 3), (2, 3)])
    [1, 2, 1]
    """
    spans = [(min(span), max(span)) for span in spans]
    levels = [0] * len(spans)
    for i in sorted(range(len(spans)), key=lambda i: (spans[i][1] - spans[i][0], i)):
        low, high = spans[i]
        met = [levels[j] for j, (a, b) in enumerate(spans) if levels[j] and a < high and low < b]
        levels[i] = 1 + max(met, default=0)
    return levels


def render_arcs(
    picture: Mapping,
    *,
    head: tuple[int, int] | None = None,
    direction: int = 0,
    reading: str | None = None,
    font_size: float = 24,
) -> Picture:
    """The treebank's arcs above the words; below them, for the same words, what a head names.

    Parameters
    ----------
    picture : dict
        From `arcs_of`.
    head : (int, int), optional
        Zero-based, for the title.
    direction : {0, 1}
        Which way the head is read; the arrow points at the word that is looked at.
    reading : str, optional
        What the head may name, for the sentence; by default the direction in words.
    font_size : float

    Returns
    -------
    Picture
        A right answer is a solid green line with a tick, a wrong one a dashed vermillion line with a cross.
    """
    em = float(font_size)
    words, arcs = picture["words"], picture["arcs"]
    shown = [shortened(word, em, 9 * em) for word in words]
    lefts, x = [], 0.6 * em
    for word in shown:
        lefts.append(x)
        x += max(text_width(word, em), 1.2 * em) + 0.75 * em
    width = max(x, 12 * em)
    middles = [left + max(text_width(word, em), 1.2 * em) / 2 for left, word in zip(lefts, shown)]
    gold = [(arc["dependent"], arc["governor"]) for arc in arcs]
    named = [arc for arc in arcs if arc["answer"] is not None]
    answers = [(arc["dependent"], arc["answer"]) for arc in named]
    above, below = arc_levels(gold), arc_levels(answers)
    step = 1.35 * em
    line = 1.1 * em + step * max(above, default=0) + 0.9 * em
    height = line + 1.2 * em + step * max(below, default=0) + 0.9 * em
    body = []
    feet = _feet(middles, [(governor, dependent) for dependent, governor in gold], em)
    for arc, (start, end), level in zip(arcs, feet, above):
        body.append(_arc(start, end, line - 0.8 * em, -step * level, MUTED, em, dashed=False))
        if arc["relation"]:
            body.append(_label((start + end) / 2, line - 0.8 * em - step * level, arc["relation"], INK))
    feet = _feet(middles, answers if direction == 0 else [pair[::-1] for pair in answers], em)
    for arc, (dependent, answer), (start, end), level in zip(named, answers, feet, below):
        right = is_right(arc)
        colour = RIGHT if right else WRONG
        body.append(_arc(start, end, line + 0.8 * em, step * level, colour, em, dashed=not right))
        aside = 0.5 if right or abs(dependent - answer) < 2 else 0.22  # a cross on no other arrow
        mark = start + aside * (end - start)
        body.append(_label(mark, line + 0.8 * em + step * level, "✓" if right else "✗", INK))
    body += [text(middle, line, word, anchor="middle") for middle, word in zip(middles, shown)]
    title = "Dependency arcs" if head is None else f"Dependency arcs and head {head_label(*head)}"
    sentence = describe_arcs(picture, head=head, direction=direction, reading=reading)
    return Picture(body, width, height, title=title, sentence=sentence, font_size=em)


def _feet(middles: Sequence[float], pairs: Sequence[tuple[int, int]], em: float) -> list[tuple[float, float]]:
    """Where each arc (source, target) leaves and lands: at a word's side, the longest nearest its middle, so that none lies on another."""
    places = {}
    aside = 0.22 * em
    for word in range(len(middles)):
        for side in (-1, 1):
            there = [pair for pair in pairs if word in pair and (sum(pair) - 2 * word) * side > 0]
            there.sort(key=lambda pair: (-abs(pair[0] - pair[1]), pair))
            first = aside if len(there) == 1 else 0.12 * em
            for rank, pair in enumerate(there):
                places[pair, word] = middles[word] + side * (first + 0.24 * em * rank)
    own = {(word, word): (middle - aside, middle + aside) for word, middle in enumerate(middles)}
    return [own.get(pair) or (places[pair, pair[0]], places[pair, pair[1]]) for pair in pairs]


def _arc(start: float, end: float, y: float, rise: float, colour: str, em: float, *, dashed: bool) -> str:
    c = coordinate
    bend = min(abs(end - start) / 2, 0.9 * em)
    turn = bend if end > start else -bend
    path = (
        f"M{c(start)} {c(y)}C{c(start)} {c(y + rise)} {c(start)} {c(y + rise)} {c(start + turn)} {c(y + rise)}"
        f"L{c(end - turn)} {c(y + rise)}C{c(end)} {c(y + rise)} {c(end)} {c(y + rise)} {c(end)} {c(y)}"
    )
    tip = 0.24 * em * (1 if rise < 0 else -1)
    arrow = (
        f"M{c(end)} {c(y)}L{c(end - 0.16 * em)} {c(y - tip * 1.4)}L{c(end + 0.16 * em)} {c(y - tip * 1.4)}Z"
    )
    dash = f' stroke-dasharray="{c(0.3 * em)} {c(0.22 * em)}"' if dashed else ""
    return (
        f'<path d="{path}" fill="none" stroke="{colour}" stroke-width="{c(em / 11)}"{dash}/>'
        f'<path d="{arrow}" fill="{colour}"/>'
    )


def _label(x: float, y: float, value: str, colour: str) -> str:
    """A label on its arc, on a ground of paper so that the line does not run through it."""
    return (
        f'<text x="{coordinate(x)}" y="{coordinate(y)}" dy=".35em" text-anchor="middle" fill="{colour}" font-weight="600" '
        f'paint-order="stroke" stroke="#ffffff" stroke-width="8" stroke-linejoin="round">{content(value)}</text>'
    )
