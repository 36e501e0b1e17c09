"""Pictures of lesson 06 that show how answers are counted: a toy map read both ways, distances as arcs, cases of the random twin."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace

import numpy as np

from bertlook_teach.views import (
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
    text,
)

from ...analyses.syntax import (
    evaluate,
    in_scheme,
    offset_predictor,
)
from ...corpora import TreebankSentence
from ...published import published_table_1
from ...render import (
    Estimate,
    TextTable,
    arcs_of,
    published_relations,
    render_arcs,
    signed_gain,
    table_dots,
)
from ..common import letter
from ..lesson06 import Deck

_WIDE, _EM = 1030.0, 26.0
_BOLD = ' font-weight="650"'
WORDS, GOVERNORS = ("the", "cat", "sat"), (1, 2, -1)  # of the toy map
READINGS = {"rows": "by rows: a word looks", "columns": "by columns: who looks at it?"}


# --- one map ------------------------------------------------------------------------------------------------
def map_picture(weights: np.ndarray, named: Callable, readings: Sequence[str] = ("rows",)) -> Picture:
    """The toy map with a ring round the word that each word names, and whether that is its governor.

    Parameters
    ----------
    weights : array of shape (3, 3)
    named : function of (weights, word)
        As the slide defines it.
    readings : sequence of {"rows", "columns"}
        One map for each.
    """
    body, counts = [], {}
    for place, reading in enumerate(readings):
        answers = [named(weights if reading == "rows" else weights.T, word) for word in range(3)]
        body += _read_map(weights, answers, reading, 540.0 * place, len(readings) == 1)
        counts[reading] = sum(answer == governor for answer, governor in zip(answers, GOVERNORS))
    named = [f"by {reading} " * (len(counts) > 1) + f"{n} of 2 right" for reading, n in counts.items()]
    told = ", ".join(named).capitalize()
    said = f"{told}. Ringed: what a word names, never itself. “sat” is the root, and is not scored."
    high = 76 + 3 * 46 + (50 if "columns" in readings else 8)
    return Picture(body, _WIDE, high, "The map of one head", said, _EM, wide=True)


def _read_map(
    weights: np.ndarray, answers: Sequence[int], reading: str, left: float, large: bool
) -> list[str]:
    """One map, its rings and its answers: at the right of a row, or below a column."""
    c, by_rows = coordinate, reading == "rows"
    grid = Grid(left + 75, 76, 3, 3, 130.0 if large else 100.0, 46, _EM)
    body = [text(left, 18, "the map of one head" if large else READINGS[reading], extra=_BOLD)]
    body += grid.numbered(WORDS, gap=0.7)
    body += grid.cells(
        lambda i, j: Cell(
            PAPER if i == j else magnitude_colour(weights[i, j]),
            written=f"{weights[i, j]:.1f}".lstrip("0"),
            edge=RULE,
            ink=MUTED if i == j else "",
        ),
        WORDS,
        size=1,
        gap=(2, 2),
    )
    for k, (answer, governor) in enumerate(zip(answers, GOVERNORS)):
        x, y = grid.middle(k, k)
        body.append(
            f'<path d="M{c(x - 24)} {c(y + 15)}L{c(x + 24)} {c(y - 15)}" stroke="{MUTED}" stroke-width="3"/>'
        )
        row, column = (k, answer) if by_rows else (answer, k)
        look = f'fill="none" stroke="{SELECTED if governor >= 0 else MUTED}" stroke-width="5"'
        x, y = grid.left + column * grid.across, grid.top + row * grid.down
        body.append(
            f'<rect x="{c(x + 3)}" y="{c(y + 3)}" width="{c(grid.across - 6)}" height="{c(grid.down - 6)}" rx="5" {look}/>'
        )
        mark = "(root)" if governor < 0 else "✓" if answer == governor else "✗"
        if by_rows:
            said = f"{WORDS[k]} names {WORDS[answer]}  {mark}" if large else f"{WORDS[answer]} {mark}"
            body.append(text(grid.right + 18, grid.middle(k, 0)[1], said))
        else:
            body.append(
                text(grid.middle(0, k)[0], grid.bottom + 28, f"{WORDS[answer]} {mark}", anchor="middle")
            )
    return body


# --- distances ----------------------------------------------------------------------------------------------
def distances_picture(
    trees: Sequence[TreebankSentence],
    example: str,
    offsets: Mapping[str, int],
    shown: Sequence[str],
) -> Picture:
    """What fixed distances answer for one sentence, as arcs, and how often each is right in all, as bars.

    Parameters
    ----------
    trees : sequence of TreebankSentence
        What the bars count.
    example : str
        The sentence that is drawn, its words apart; arcs of the relations shown.
    offsets : mapping of name to int
    shown : sequence of str
        Relations, or "all"; a bar each.
    """
    c, body, rows, top = coordinate, [], [], 0.0
    [sentence] = [tree for tree in trees if " ".join(tree.words) == example]
    for name, offset in offsets.items():
        arcs = arcs_of(sentence, offset_predictor(offset)(sentence))
        drawn = render_arcs(
            arcs | {"arcs": [arc for arc in arcs["arcs"] if arc["relation"] in shown]}, font_size=_EM
        )
        scored = evaluate(offset_predictor(offset), trees, poss_rule="possessive")  # as the tables count
        body.append(f'<g transform="translate(0 {c(top - 14)})">{"".join(drawn.body)}</g>')
        left, first = 770.0, top + 20
        body.append(text(left - 60, first, f"{name} ({offset:+d})".replace("-", "−"), extra=_BOLD))
        for k, relation in enumerate(shown):
            y, share = first + 44 * (k + 1), scored[relation].accuracy
            body.append(text(left - 8, y, relation, anchor="end"))
            body.append(
                f'<rect x="{c(left)}" y="{c(y - 13)}" width="{c(180 * share)}" height="26" fill="{RULE}" stroke="{MUTED}"/>'
            )
            body.append(text(left + 180 * share + 10, y, f"{100 * share:.0f} %"))
        body.append(
            f'<path d="M{c(left)} {c(first + 22)}V{c(first + 44 * len(shown) + 20)}" stroke="{INK}" stroke-width="2"/>'
        )
        rows.append([name, *(Estimate.per_cent(scored[relation].accuracy) for relation in shown)])
        top += drawn.height - 34
    cases = ", ".join(f"{relation} {scored[relation].n:,}" for relation in shown)
    said = f"Above: the treebank. Below: what the distance names. Bars: {len(trees)} sentences; n: {cases}."
    table = TextTable(["distance", *shown], rows)
    return Picture(body, _WIDE, top + 6, "Two fixed distances", said, _EM, numbers=(table,), wide=True)


def phrases_picture(phrases: Sequence[str]) -> Picture:
    """Phrases that begin with their determiner and end with its governor, side by side, with the arc between the two."""
    words, arcs = [], []
    for phrase in phrases:
        some = phrase.split()
        governor = len(words) + len(some) - 1
        arcs.append({"dependent": len(words), "governor": governor, "relation": "det", "answer": None})
        words += [*some, ","]
    drawn = render_arcs({"words": words[:-1], "arcs": arcs}, font_size=_EM)
    return replace(
        drawn, height=drawn.height - 1.5 * _EM, caption="An arc goes from the governor to its determiner."
    )


# --- what counts, and what luck does ------------------------------------------------------------------------
def sure_picture() -> Picture:
    """Two made-up gains with their intervals: one that is counted, and one that is not."""
    c, zero = coordinate, 200.0
    body = [
        f'<path d="M{c(zero)} 30V104" stroke="{INK}" stroke-width="2" stroke-dasharray="3 5"/>',
        text(zero, 14, "0: as good as the best offset", anchor="middle", fill=MUTED),
    ]
    for y, (low, high), said in (
        (48.0, (250, 420), "✓ counts: the whole interval is above 0"),
        (86.0, (160, 330), "✗ does not: 0 lies in its interval"),
    ):
        body.append(f'<path d="M{low} {c(y)}H{high}" stroke="{MUTED}" stroke-width="6"/>')
        body.append(f'<circle cx="{(low + high) / 2:g}" cy="{c(y)}" r="9" fill="{MUTED}"/>')
        body.append(text(470, y, said))
    return Picture(body, _WIDE, 106, "What counts", "Two made-up gains over the best offset.", _EM, wide=True)


def luck_picture(deck: Deck) -> Picture:
    """Which cases of the rarest relation each reading of the random twin gets right: a column for each reading, the best framed."""
    row, c = deck.rarest, coordinate
    right = []
    for number, tree in enumerate(in_scheme(deck.twin_answers.sentences, "stanford")):
        answers = deck.twin_answers.of(number)
        right += [
            (answers[..., word] == tree.governors[word]).ravel()
            for word, relation in enumerate(tree.relations)
            if relation == row.relation
        ]
    right = np.array(right)
    best = int(right.sum(axis=0).argmax())
    grid = Grid(2, 8, *right.shape, (_WIDE - 4) / right.shape[1], 10, _EM)
    body = grid.cells(lambda i, j: Cell(MUTED if right[i, j] else "#eceff2"), gap=(0.4, 0.4), round=0)
    x = grid.left + best * grid.across
    body.append(
        f'<rect x="{c(x - 3)}" y="4" width="{c(grid.across + 6)}" height="{c(10 * len(right) + 8)}" fill="none" '
        f'stroke="{SELECTED}" stroke-width="4"/>'
    )
    said = f"{deck.said_rarest()} A column for each reading, a line for each case; dark: right; framed: the best."
    return Picture(body, _WIDE, grid.bottom + 8, "Luck", said, _EM, wide=True)


def luck_question(deck: Deck) -> str:
    """What the twin's best reading will seem to reach in the rarest relation, a question in Markdown."""
    glosses = {"mwe": ", phrases such as *instead of*,"}
    name, n_heads = deck.rarest.relation, deck.readings // 2
    return (
        f"{deck.Subject}'s random twin knows nothing. `{name}`{glosses.get(name, '')} occurs only **{deck.rarest.n}** times. "
        f"We take the best of {deck.readings} readings ({n_heads} heads, two ways) *on these very cases*. What does it seem to find?"
    )


def uncounted_picture(deck: Deck) -> Picture:
    """How much of each head's attention no answer uses; framed: the head that finds most of pobj."""
    removed, chosen, c = 100 * deck.answers.removed, deck.stanford["pobj"].in_sample_choice, coordinate
    n_layers, n_heads = removed.shape
    grid = Grid(150, 42, n_layers, n_heads, (_WIDE - 154) / n_heads, 252 / n_layers, _EM)
    body = [
        text(0, y, said, fill=MUTED) for y, said in ((grid.top - 24, "head →"), (grid.top + 21, "layer ↓"))
    ]
    body += [*grid.numbered(gap=0.8, fill=MUTED)]
    body += grid.cells(
        lambda i, j: Cell(magnitude_colour(removed[i, j] / 100), written=f"{removed[i, j]:.0f}"),
        range(1, n_layers + 1),
        size=1,
    )
    x, y = grid.left + chosen.head * grid.across, grid.top + chosen.layer * grid.down
    body.append(
        f'<rect x="{c(x)}" y="{c(y)}" width="{c(grid.across)}" height="{c(grid.down)}" fill="none" stroke="{SELECTED}" stroke-width="5"/>'
    )
    said = (
        f"A cell: per cent of a head's attention that is not counted, as it goes to [CLS], [SEP] or the word itself. Heads of {deck.subject}: "
        f"{removed.mean():.0f} % on average, from {removed.min():.0f} to {removed.max():.0f} %. Framed: the best head for pobj."
    )
    return Picture(body, _WIDE, grid.bottom + 4, "What is not counted", said, _EM, wide=True)


def printed_det(answer) -> str:
    """What always naming the next word finds of determiners: here, in the paper, and BERT-base's best head."""
    row, bounds = published_table_1()["det"], [0.3, 0.5, 0.7]
    return (
        f"**{letter(answer.accuracy, bounds)}**: {100 * answer.accuracy:.0f} % here, n = {answer.n}. "
        f"In the paper's news text **{letter(row.baseline / 100, bounds)}**: "
        f"{row.baseline:.1f} %. BERT-base's best head: {row.accuracy} %."
    )


def printed_dots(rows: Sequence) -> Picture:
    """BERT-base's best heads and the best fixed distances, rows of Table 1 of Clark et al. (2019)."""
    table, head = published_relations(rows), "BERT-base's best head"
    header = [head if name == "accuracy" else name for name in table.header]
    body = [
        [f"{row[0]}  {one.accuracy} against {one.baseline}", *row[1:]] for row, one in zip(table.rows, rows)
    ]
    order = sorted(rows, key=lambda one: one.baseline - one.accuracy)
    most, least = (
        f"{one.relation} {signed_gain(one.accuracy - one.baseline, 1)}" for one in (order[0], order[-1])
    )
    said = f"Gains as printed, in points: the largest {most}, the smallest {least}. {table.caption}"
    return table_dots(
        TextTable(header, body, said), [head, "best offset"], axis="per cent right", together=True
    )


def compare_schemes(treebank: Sequence[TreebankSentence]) -> list[Picture]:
    """The arcs of a short sentence that differ, in Universal Dependencies and in the Stanford scheme."""
    wanted = {"obl", "case", "det", "nsubj"}
    ud = next(s for s in treebank if len(s) < 9 and wanted <= set(s.relations))
    [stanford] = in_scheme([ud], "stanford")
    pictures = []
    for scheme, tree in (("Universal Dependencies", ud), ("Stanford", stanford)):
        arcs = arcs_of(tree)
        differ = [
            arc
            for arc in arcs["arcs"]
            if ud.governors[arc["dependent"]] != stanford.governors[arc["dependent"]]
        ]
        said = ", ".join(
            f"{tree.words[arc['dependent']]} depends on {tree.words[arc['governor']]} ({arc['relation']})"
            for arc in differ
        )
        drawn = render_arcs(arcs | {"arcs": differ}, font_size=26)
        pictures.append(replace(drawn, caption=f"{scheme}: {said}."))
    return pictures
