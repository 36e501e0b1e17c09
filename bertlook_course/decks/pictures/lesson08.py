"""Pictures of lesson 08: the weighted sum of a probe, term by term, and what a probe does not show."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from bertlook_teach.views import INK, MUTED, OKABE_ITO, PAPER, Cell, Grid, Picture, coordinate, text

from ...corpora import halves_by_document
from ...render import (
    arcs_of,
    bar_look,
    cards_picture,
    figure_picture,
    render_arcs,
    small_maps,
    terms_figure,
)
from ..lesson08 import CONTROLS, Deck, printed

_BOLD = ' font-weight="650"'


def sum_picture(to_candidate, from_candidate, w, u, *, high: float = 3.0) -> Picture:
    """What each head adds to the sums of the candidates, in one direction and in the other: weight times attention.

    Parameters
    ----------
    to_candidate, from_candidate : array of shape (candidate, head)
    w, u : array of shape (head,), or (candidate, head) where a weight depends on the words
    high : float
        In inches.
    """
    attention = np.concatenate([to_candidate, from_candidate], axis=1)
    weights = np.concatenate(
        [np.broadcast_to(w, to_candidate.shape), np.broadcast_to(u, to_candidate.shape)], axis=1
    )
    terms = weights * attention
    best = terms.sum(axis=1).argmax()
    panels = {
        f"candidate {number}: {row.sum():.1f}{' wins' if number == best else ''}": (row.round(10), "")
        for number, row in enumerate(terms)
    }
    heads = range(1, to_candidate.shape[1] + 1)
    names = [f"head {head} →" for head in heads] + [f"← head {head}" for head in heads]
    figure = terms_figure(panels, names, size=(9.8, high))
    for axes, *row in zip(figure.axes, weights, attention):
        axes.set_xticklabels([f"{name}\n{a:g} · {b:g}".replace("-", "−") for name, a, b in zip(names, *row)])
    return figure_picture(
        figure, "Under a bar: weight · attention, to the candidate (→) or back (←); all numbers are made up."
    )


def limits(deck: Deck) -> Picture:
    """Four things that a probe does not show, as small drawings."""
    alone, rival = (deck.scores[name].uas for name in ("attention only", "distances and words"))
    fitted, scored = deck.found.n_train, deck.found.n_test
    columns = [
        (
            _read_not_used(),
            "… that BERT uses it.",
            "What can be read need not be read by anyone (lesson 11).",
        ),
        (
            _shared_weight(),
            "… which head finds it.",
            "Two heads with the same map can split their weight in any way.",
        ),
        (
            _two_bars(deck.name, alone, rival),
            "… that only attention knows it.",
            f"Without it, distances and words reach {100 * rival:.0f} %.",
        ),
        (
            _two_halves(fitted, scored),
            "… how it goes on other texts.",
            f"{fitted} sentences to fit, {scored} to score, one author.",
        ),
    ]
    caption = (
        f"The third: UAS of {deck.name}'s attention, and of distances and words. The others are schematic."
    )
    return cards_picture(columns, caption, origin=(110, 85))


# --- small drawings -----------------------------------------------------------------------------------------


def _read_not_used() -> list[str]:
    """A box that is read from aside, while its own way out carries a question mark."""
    return [
        f'<rect x="8" y="70" width="100" height="92" rx="8" fill="{PAPER}" stroke="{INK}" stroke-width="3"/>',
        text(58, 116, "BERT", anchor="middle", extra=_BOLD),
        f'<path d="M112 116H140m-12 -9l14 9l-14 9" fill="none" stroke="{OKABE_ITO["blue"]}" stroke-width="5"/>',
        f'<circle cx="180" cy="116" r="32" fill="none" stroke="{OKABE_ITO["blue"]}" stroke-width="5"/>',
        text(180, 116, "tree", anchor="middle"),
        f'<path d="M58 66V18m-9 12l9 -14l9 14" fill="none" stroke="{MUTED}" stroke-width="3" stroke-dasharray="7 6"/>',
        text(86, 32, "?", extra=_BOLD),
    ]


def _shared_weight() -> list[str]:
    """The same map twice, and three ways to share one weight between them."""
    body = []
    for left in (8, 122):
        grid = Grid(left, 6, 4, 4, 22, 18, 26)
        body += grid.cells(lambda i, j: Cell(MUTED if i == j + 1 else PAPER, edge=MUTED), round=0)
    body.append(text(110, 42, "=", anchor="middle", extra=_BOLD))
    for k, share in enumerate((0.5, 1.0, 0.2)):
        y, cut = 94 + 27 * k, 204 * share
        body.append(
            f'<rect x="8" y="{y}" width="{coordinate(cut)}" height="20" fill="{OKABE_ITO["blue"]}"/>'
            f'<rect x="{coordinate(8 + cut)}" y="{y}" width="{coordinate(204 - cut)}" height="20" fill="{OKABE_ITO["orange"]}"/>'
        )
    return body


def _two_bars(name: str, alone: float, rival: float) -> list[str]:
    """What attention finds, and what words and distances find without it."""
    body = [f'<path d="M10 166H200" stroke="{INK}" stroke-width="2"/>']
    for left, model, share in ((30, name, alone), (120, "baseline", rival)):
        look, high = bar_look(model), 200 * share
        fill, edge = (look.get(key, look.get("color")) for key in ("facecolor", "edgecolor"))
        body += [
            f'<rect x="{left}" y="{coordinate(166 - high)}" width="60" height="{coordinate(high)}" fill="{fill}" stroke="{edge}" stroke-width="2"/>',
            text(left + 30, 150 - high, f"{100 * share:.0f}", anchor="middle"),
        ]
    return body


def _two_halves(fitted: int, scored: int) -> list[str]:
    """Two boxes of sentences, and their sizes."""
    return [
        part
        for left, n, fill in ((8, fitted, OKABE_ITO["sky"]), (120, scored, PAPER))
        for part in (
            f'<rect x="{left}" y="60" width="90" height="104" fill="{fill}" stroke="{INK}" stroke-width="3"/>',
            text(left + 45, 112, str(n), anchor="middle", extra=_BOLD),
        )
    ]


def printed_answer() -> str:
    """The control that came nearest to attention in print."""
    nearest = max(CONTROLS, key=printed)
    gap = printed("attention only") - printed(nearest)
    answer = "D" if gap >= 20 else "ABC"[CONTROLS.index(nearest)]
    others = " and ".join(f"{printed(name):.0f}" for name in CONTROLS if name != nearest)
    return f"**{answer}**: {nearest}, {printed(nearest):.0f} %, only {gap:.0f} points below. The other two: {others} %."


def shifted_picture() -> Picture:
    """With which vector each candidate should be read, and with which it is, as released."""
    place = np.eye(4)
    return small_maps(
        {"as it should be": (place, ""), "as released": (np.roll(place, 1, axis=1), "")},
        "A row is a candidate, a column a word vector; dark: the two are read together.",
        size=(9.8, 3.0),
        words=["ROOT", "the", "cat", "sat"],
    )


def tree_picture(deck: Deck) -> Picture:
    """A short sentence, of the scored ones, with about as many governors found as in all: the treebank's arcs above, the probe's below."""
    _, trees = halves_by_document(deck.resources.treebank)
    every, cases = deck.scores["attention only"].uas, []
    for number, (read, answers) in enumerate((one, deck.probe.predict(one)) for one in deck.scored):
        right = (answers == read.governors)[read.counted]
        if 7 <= len(right) <= 9:
            cases.append((abs(right.mean() - every), number, right, read, answers))
    _, number, right, read, answers = min(cases)
    tree = trees[number]
    arcs = arcs_of(tree, np.where(answers < len(read), answers, -1))
    arcs["arcs"] = [arc | {"relation": ""} for arc in arcs["arcs"] if read.counted[arc["dependent"]]]
    arcs["words"] = arcs["words"][: np.flatnonzero(read.counted)[-1] + 1]
    said = (
        f"Above: the treebank. Below: what {deck.subject}'s attention-only probe names. Arrows go from the governor to the word. "
        f"With the root, which has no arc, {right.sum()} of {len(right)} words get their governor; in all sentences, "
        f"{100 * every:.0f} %."
    )
    for i in (i for i, j in enumerate(answers) if i < j < len(read) and answers[j] == i):
        said += f" “{tree.words[i]}” and “{tree.words[answers[i]]}” name each other: no tree is enforced."
    return replace(render_arcs(arcs, direction=1, font_size=34), caption=said, wide=True)
