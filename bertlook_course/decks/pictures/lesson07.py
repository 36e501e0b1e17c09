"""Mentions of a text drawn: which name the same thing, what rules answer, and pairs in which only the end decides."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np

from bertlook_teach.views import (
    CATEGORY_CYCLE,
    INK,
    MUTED,
    PAPER,
    RULE,
    SELECTED,
    Cell,
    Grid,
    Picture,
    coordinate,
    magnitude_colour,
    model_of,
    shortened,
    text,
    text_width,
)

from ...analyses.coreference import (
    BASELINES,
)
from ...corpora import anaphors
from ...published import published_table_2
from ...render import (
    MODELS,
    RIGHT,
    TYPE,
    WIDE,
    WRONG,
    TextTable,
    arc_levels,
    broken_lines,
    cards_picture,
    draw_chips,
    draw_path,
    mention_table,
    published_antecedents,
    rule_answers,
)
from ..common import letter

_WIDTH, _EM, _SPACE = WIDE, TYPE, 9.0
_NARROW = (
    0.93  # words are set to this share of the measured width, in whatever type: lines under them have to fit
)


def mentions_picture(document, n_words: int = 55) -> Picture:
    """The beginning of a text with a line under each mention: one number and one colour for one thing.

    Parameters
    ----------
    document : CorefDocument
    n_words : int
        How many of its words are shown; mentions that end later are left out.
    """
    mentions = [one for one in document.mentions if one.end <= n_words]
    names = [one.cluster for one in mentions]
    things = {name: n for n, name in enumerate(dict.fromkeys(n for n in names if names.count(n) > 1), 1)}
    places, lines = _flowed(document.words[:n_words])
    high = 92.0
    body = [_word(x, 26 + high * line, word, wide) for word, (x, wide, line) in zip(document.words, places)]
    for one in mentions:
        inside = sum(
            other is not one and one.start <= other.start and other.end <= one.end for other in mentions
        )
        around = any(
            other is not one and other.start <= one.start and one.end <= other.end for other in mentions
        )
        number = things.get(one.cluster)
        colour = CATEGORY_CYCLE[(number - 1) % len(CATEGORY_CYCLE)] if number else MUTED
        for line in range(lines):
            ends = [(x, x + wide) for x, wide, on in places[one.start : one.end] if on == line]
            if not ends:
                continue
            y = 26 + high * line + 19 + 11 * min(inside, 1)
            body.append(
                f'<path d="M{coordinate(ends[0][0])} {coordinate(y)}H{coordinate(ends[-1][1])}" stroke="{colour}" '
                f'stroke-width="{5 if number else 2}"/>'
            )
            if number and places[one.start][2] == line:  # below the line of a longer mention around it
                body.append(
                    text(ends[0][0], y + 20 + 11 * around, str(number), fill=INK, extra=' font-weight="650"')
                )
    sentence = (
        "The same number marks the same thing; its first mention has no antecedent. Thin: mentioned once."
    )
    said = " ".join(f"{number}: {_named_by(document, mentions, name)}." for name, number in things.items())
    return Picture(
        body,
        _WIDTH,
        12 + high * lines,
        "Mentions",
        f"{sentence} {said}",
        _EM,
        numbers=(mention_table(document, limit=len(mentions)),),
        caption=sentence,
        wide=True,
    )


def rules_picture(document, limit: int = 1) -> Picture:
    """The first mentions of a text that refer back, each with those before it, and an arc to what each rule answers.

    Parameters
    ----------
    document : CorefDocument
    limit : int
        How many mentions.
    """
    body, high = [], 262.0
    asked = anaphors(document)[:limit]
    for row, (mention, before) in enumerate(asked):
        foot = high * (row + 1) - 76
        around = [one for one in before if one.start <= mention.start and mention.end <= one.end]
        chain = [*(one for one in before if one not in around), mention]
        labels = [shortened(document.text(one), _EM, 8.5 * _EM) for one in chain]
        wide = [_NARROW * text_width(label, _EM) + 26 for label in labels]
        lefts = [sum(wide[:k]) + 14 * k + 2 for k in range(len(wide))]
        middles = [left + w / 2 for left, w in zip(lefts, wide)]
        for k, label in enumerate(labels):
            last = k == len(labels) - 1
            body.append(
                f'<rect x="{coordinate(lefts[k])}" y="{coordinate(foot - 22)}" width="{coordinate(wide[k])}" height="44" rx="6" '
                f'fill="{PAPER}" stroke="{INK if last else MUTED}" stroke-width="{4 if last else 1.5}"/>'
            )
            body.append(_word(lefts[k] + 13, foot, label, wide[k] - 26))
        silent, arcs = [], []
        for name, rule in BASELINES.items():
            answer = rule(document, mention, before)
            if answer is None:
                silent.append(name)
            else:
                arcs.append((name, chain.index(answer), answer.cluster == mention.cluster))
        for (name, at, right), level in zip(arcs, arc_levels([(at, len(chain)) for _, at, _ in arcs])):
            body += _answer(middles[at], middles[-1], foot - 24, 10 + 46 * level, name, right)
        if silent:
            right = lefts[-1] + wide[-1]
            body.append(text(right, foot + 46, f"{', '.join(silent)}: no answer ✗", anchor="end", fill=MUTED))
    sentence = "An arc goes from the framed mention to each rule's answer; it is solid, with ✓, if the answer is right."
    return Picture(
        body,
        _WIDTH,
        high * len(asked) - 12,
        "Rules",
        sentence,
        _EM,
        numbers=(rule_answers(document, limit=limit),),
        wide=True,
    )


def pronoun_pairs_picture(cases: Sequence) -> Picture:
    """Sentences with one pronoun and two candidates, an arc to the one that it means; bold: what differs within a pair.

    Parameters
    ----------
    cases : sequence of PronounCase
        Those of one pair follow one another.
    """
    rows = [
        [" ".join(one.words[:-1]), " ".join(one.words[slice(*one.candidates[one.answer])])] for one in cases
    ]
    table, body, em, high = TextTable(["one pronoun, two candidates", "means"], rows), [], 30.0, 112.0
    for row, case in enumerate(cases):
        words = case.words[:-1]
        twins = [one for one in cases if one.pair == case.pair and one is not case]
        foot, x, middles = high * (row + 1) - 22, 4.0, []
        for k, word in enumerate(words):
            differs = k > case.pronoun and any(word not in one.words for one in twins)
            wide = _NARROW * text_width(word, em) * (1.1 if differs else 1)
            middles.append(x + wide / 2)
            body.append(_word(x, foot, word, wide, ' font-weight="700"' * differs))
            if any(first <= k < last for first, last in case.candidates):
                body.append(
                    f'<path d="M{coordinate(x)} {coordinate(foot + 21)}h{coordinate(wide)}" stroke="{INK}" stroke-width="2.5"/>'
                )
            x += wide + 12
        first, last = case.candidates[case.answer]
        start, end = middles[case.pronoun], (middles[first] + middles[last - 1]) / 2
        body.append(
            f'<path d="M{coordinate(start)} {coordinate(foot - 18)}C{coordinate(start)} {coordinate(foot - 88)} {coordinate(end)} '
            f'{coordinate(foot - 88)} {coordinate(end)} {coordinate(foot - 20)}" fill="none" stroke="{RIGHT}" stroke-width="4"/>'
            f'<circle cx="{coordinate(end)}" cy="{coordinate(foot - 20)}" r="6" fill="{RIGHT}"/>'
        )
    sentence = "Underlined: the two candidates. An arc goes from the pronoun to the one it means; in bold, what decides."
    return Picture(
        body, _WIDTH, high * len(cases), "Minimal pairs", sentence, em, numbers=(table,), wide=True
    )


def stairs_picture(rivals: Sequence[tuple[str, float, str]], head: str, accuracy: float) -> Picture:
    """Rivals as stairs, each with what it shows to climb it, and how high a head comes.

    Parameters
    ----------
    rivals : sequence of (name, accuracy in per cent, what beating it shows)
        From the lowest to the highest.
    head : str
        What it is called, with its model's name.
    accuracy : float
        Of the head, in per cent.
    """
    mark, wide, scale = MODELS[model_of(head)], 285.0, 5.6
    foot = scale * max(accuracy, *(share for _, share, _ in rivals)) + 12
    body = [f'<path d="M0 {coordinate(foot)}H{_WIDTH:.0f}" stroke="{INK}" stroke-width="2"/>']
    for k, (name, share, shows) in enumerate(rivals):
        left, top = 10 + wide * k, foot - scale * share
        body.append(
            f'<rect x="{coordinate(left)}" y="{coordinate(top)}" width="{coordinate(wide - 10)}" height="{coordinate(scale * share)}" '
            f'fill="{RULE}" stroke="{MUTED}"/>'
        )
        lines = broken_lines(shows, _EM, wide)
        first = foot - 30 - 32 * (len(lines) - 1)
        body.append(text(left + 16, first - 36, f"{name}, {share:.0f} %", extra=' font-weight="650"'))
        body += [text(left + 16, first + 32 * n, line) for n, line in enumerate(lines)]
    y = foot - scale * accuracy
    body.append(
        f'<path d="M10 {coordinate(y)}H{coordinate(wide * len(rivals) + 20)}" stroke="{mark.colour}" stroke-width="5"/>'
    )
    body.append(text(wide * len(rivals) + 30, y, f"head {accuracy:.0f} %"))
    beaten = [name for name, share, _ in rivals if share < accuracy]
    sentence = f"It would be impressive to beat all {len(rivals)} rules. As printed, {head} beats {len(beaten)} of the {len(rivals)} rules: {' and '.join(beaten)}."
    table = TextTable(
        ["rival", "per cent right", "what it shows"], [[n, f"{s:.0f}", w] for n, s, w in rivals]
    )
    return Picture(body, _WIDTH, foot + 6, "Rivals", sentence, _EM, numbers=(table,), wide=True)


def _word(x: float, y: float, word: str, wide: float, look: str = "") -> str:
    return text(x, y, word, extra=f'{look} textLength="{coordinate(wide)}" lengthAdjust="spacingAndGlyphs"')


def _answer(x: float, start: float, foot: float, rise: float, name: str, right: bool) -> list[str]:
    """A rule's arc from a mention back to its answer."""
    c = coordinate
    dash = "" if right else ' stroke-dasharray="9 6"'
    top = foot - rise
    return [
        (
            f'<path d="M{c(start)} {c(foot)}V{c(top + 12)}Q{c(start)} {c(top)} {c(start - 12)} {c(top)}H{c(x + 12)}Q{c(x)} {c(top)} {c(x)} '
            f'{c(top + 12)}V{c(foot - 3)}" fill="none" stroke="{RIGHT if right else WRONG}" stroke-width="3.5"{dash}/>'
        ),
        text(start - 12, top - 18, f"{name} {'✓' if right else '✗'}", anchor="end"),
    ]


def _flowed(words: Sequence[str]) -> tuple[list[tuple[float, float, int]], int]:
    """Where each word begins, how wide it is, and on which line; and how many lines there are."""
    places, x, line = [], 0.0, 0
    for word in words:
        wide = _NARROW * text_width(word, _EM)
        if x and x + wide > _WIDTH:
            x, line = 0.0, line + 1
        places.append((x, wide, line))
        x += wide + _SPACE
    return places, line + 1


def _named_by(document, mentions: Sequence, name: str) -> str:
    return ", ".join(f"“{document.text(one)}”" for one in mentions if one.cluster == name)


def said_left_out() -> str:
    """The two rules of Table 2 that are left out where the result is retold."""
    table = published_table_2()
    other, better = sorted(table[name].all for name in ("head match", "four sieves"))
    return (
        f"**{letter(better, [30, 50, 65])}**: the four sieves reach {better:.0f} %, more than the head; head match reaches "
        f"{other:.0f} %. Both are in the same table."
    )


def published_by_kind() -> TextTable:
    """Table 2 as printed, a row for each kind of mention."""
    table = published_antecedents(published_table_2())
    return TextTable(
        ["mentions", *(row[0] for row in table.rows)],
        [[kind, *(row[k] for row in table.rows)] for k, kind in enumerate(table.header) if k],
        table.caption,
    )


def rivals_as_printed() -> Picture:
    """The rules that a head has to beat, and what that would show, at their height in Table 2."""
    table = published_table_2()
    shows = {
        "nearest": "beaten: the head is not just this rule",
        "head match": "beaten: the head is not just this rule",
        "four sieves": "not beaten: the head may do no more than this rule does",
    }
    rivals = [(name, table[name].all, words) for name, words in shows.items()]
    best = table["best head"]
    return stairs_picture(rivals, f"BERT-base's best head ({best.head})", best.all)


def named_picture(row: np.ndarray, choices: Sequence[Sequence[int]], named: Callable) -> Picture:
    """The attention of *She* to the words before it, with a ring round the word that each list of candidates makes it name."""
    words, right, c = ("Nora", "lost", "her", "key", "."), (0, 2), coordinate
    grid = Grid(10, 50, len(choices), len(words), 130, 68, 28)
    body = grid.numbered(words, gap=0.7) + grid.cells(
        lambda i, j: Cell(
            magnitude_colour(row[j]) if j in choices[i] else PAPER,
            written=f"{row[j]:.2f}".strip("0"),
            edge=RULE,
            ink="" if j in choices[i] else MUTED,
        ),
        size=1,
        gap=(2, 8),
    )
    for i, one in enumerate(choices):
        answer = named(row, one)
        x, y = grid.middle(i, answer)
        body += [
            f'<rect x="{c(x - 62)}" y="{c(y - 29)}" width="124" height="58" rx="5" fill="none" stroke="{SELECTED}" stroke-width="5"/>',
            text(grid.right + 20, y, f"She names {words[answer]}  {'✓' if answer in right else '✗'}"),
        ]
    said = "Coloured: the candidates. Ringed: the answer. Right would be “Nora” or “her”."
    return Picture(body, 1030, grid.bottom + 6, "One row of attention", said, 28, wide=True)


def unsaid_picture() -> Picture:
    """Three choices that the paper leaves open."""
    return cards_picture(
        [
            (
                draw_chips([["earlier mentions"], ["all mentions"], ["all words"]]),
                "Candidates",
                "What may a head choose from?",
            ),
            (
                [*draw_chips([["The", "old", "keeper"]]), draw_path("M24 34h84", colour=SELECTED, width=6)],
                "Head words",
                "How were they found?",
            ),
            (
                draw_chips([[".31", "=", ".31"], ["no answer"]]),
                "Ties, and no answer",
                "How are they scored, in a head and in a rule?",
            ),
        ],
        "Made-up examples.",
    )
