"""Pictures of lesson 10: where a mix reads and where a score is gained, as printed and here; what rivals reach; how sure a best layer is."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from dataclasses import replace
from itertools import pairwise

import numpy as np

from bertlook_teach.views import Picture, with_minus

from ...claims.lessons.lesson10 import MIXED, NAMES
from ...published import published_probing
from ...render import (
    LayerBars,
    TextTable,
    added_figure,
    figure_picture,
    joined,
    layer_bars_figure,
    mixed_figure,
    orders_figure,
    published_layers_table,
    render_gain_grid,
    rivals_figure,
    two_orders_figure,
)
from ..lesson10 import PIPELINE, Deck

_LEAST = 0.01  # of the samples: rarer orders are counted together
_FLAT = 0.1  # bits: a mix with a smaller K(s) is nearly flat
_PRINTED = ("SPR", "POS", "Coreference")


def _wide(figure, sentence: str, numbers: tuple | None = None) -> Picture:
    """A figure as wide as its slide."""
    return replace(figure_picture(figure, sentence, numbers), wide=True)


# --- made up ------------------------------------------------------------------------------------------------
def mixed_picture(hidden: np.ndarray, mixes: Mapping[str, np.ndarray]) -> Picture:
    """Three vectors, and what mixes of them give."""
    return figure_picture(
        mixed_figure(hidden, mixes), "Made up: the vectors of three layers, and their mix as a thick arrow."
    )


def two_depths_picture(shares: np.ndarray, f1: np.ndarray, centre: float, expected: float) -> Picture:
    """Made-up shares and scores of five layers, and the two depths that they give."""
    panels = {
        "share of the mix": LayerBars(shares, 0, centre, f"centre of gravity {centre:.2f}"),
        "gain in F1": LayerBars(np.diff(f1), 1, expected, f"expected layer {expected:.2f}"),
    }
    return figure_picture(
        layer_bars_figure(panels, sharey=False, size=(9.8, 2.7)),
        f"Made up: five layers, 0 the embeddings. Centre of gravity of the shares: layer {centre:.2f}. Expected layer of the gains "
        f"in F1: {expected:.2f}.",
    )


# --- as published -------------------------------------------------------------------------------------------
def _gained(row) -> np.ndarray:
    """Which share of the whole gain comes with each layer from 1 on."""
    return np.diff(row.f1) / (row.f1[-1] - row.f1[0])


def large_picture() -> Picture:
    """BERT-large's mix for word classes, beside where their score is gained."""
    pos = published_probing("BERT-large")["POS"]
    panels = {
        "share of the mix": LayerBars(pos.weights, 0, pos.centre, f"centre of gravity {pos.centre:.2f}"),
        "share of the gain": LayerBars(_gained(pos), 1, pos.expected, f"expected layer {pos.expected:.2f}"),
    }
    return figure_picture(
        layer_bars_figure(panels, sharey=False, key=False, size=(9.8, 2.6)),
        "BERT-large, word classes, as published. Triangle: where the bars balance.",
    )


def orders_printed_picture() -> Picture:
    """BERT-large's tasks by expected layer, and by centre."""
    found, table = published_probing("BERT-large"), published_layers_table("BERT-large")
    expected, centre = (
        {task: getattr(row, what) for task, row in found.items()} for what in ("expected", "centre")
    )
    by_expected, by_centre = (sorted(depths, key=depths.get) for depths in (expected, centre))
    moved = sum(abs(by_expected.index(task) - by_centre.index(task)) >= 3 for task in found)
    return _wide(
        two_orders_figure(expected, centre, ("expected layer", "centre of gravity")),
        f"No: {moved} of {len(found)} tasks move by three places or more (thick). BERT-large, as Tenney et al. printed it in Figure 1, the "
        "lowest layer on top; no intervals. SRL: semantic roles; SPR: semantic proto-roles.",
        (table,),
    )


def mixes_picture() -> Picture:
    """BERT-large's mixes for three tasks."""
    large = published_probing("BERT-large")
    panels = {
        task: LayerBars(
            100 * large[task].weights,
            0,
            large[task].centre,
            f"centre {large[task].centre:.2f}\nK(s) {large[task].mixing_bits:.2f} bits",
        )
        for task in _PRINTED
    }
    said = " ".join(f"{n}: centre {large[n].centre:.2f}, K(s) {large[n].mixing_bits:.2f}." for n in _PRINTED)
    return _wide(
        layer_bars_figure(panels, ylabel="share (per cent)", size=(9.8, 3.4)),
        f"BERT-large's published mixes of layers 0 (the embeddings) to 24. {said}",
    )


def gains_printed_picture() -> Picture:
    """With which layer each of BERT-base's tasks gains."""
    found = published_probing("BERT-base")
    found = {task: found[task] for task in sorted(found, key=lambda task: found[task].expected)}
    expected = {task: row.expected for task, row in found.items()}
    first, *_, last = found
    return render_gain_grid(
        {task: _gained(row) for task, row in found.items()},
        expected,
        "BERT-base, from the released scores: each layer's share of a task's gain, per cent (not written: under 5); pale brown: the score falls. Triangle: the "
        f"expected layer, first {first} ({expected[first]:.2f}), last {last} ({expected[last]:.2f}). No intervals were published.",
        numbers=(published_layers_table("BERT-base"),),
    )


# --- this model ---------------------------------------------------------------------------------------------
def gains_picture(deck: Deck) -> Picture:
    """From the embeddings to the best layer, task by task."""
    rows = {
        NAMES[task]: (100 * score.so_far.f1[0], 100 * score.so_far.f1[-1])
        for task, score in deck.scores.items()
    }
    return figure_picture(
        added_figure(rows, deck.name, "F1, per cent"),
        f"Tick: the embeddings. Mark: the best layer of {deck.subject}. n = {deck.said_n()} cases.",
    )


def controls_picture(deck: Deck) -> Picture:
    """The best layer beside the random twin, a list of words and the commonest label."""
    table = deck.controls_table()
    panels = {
        task: {name: cell.numbers for name, cell in cells.items()} for task, cells in deck.controls().items()
    }
    return _wide(
        rivals_figure(panels, "F1 of the best layer, per cent; line: 95 % interval"), table.caption, (table,)
    )


def orders_picture(deck: Deck) -> Picture:
    """How often each order of the three tasks comes out when documents are drawn again."""
    depths = deck.sampled_depths
    counts = Counter(map(_order, zip(*depths)))
    tie = np.mean(np.equal(*depths[:2]))
    n, classical = len(depths[0]), " < ".join(NAMES[task] for task in PIPELINE)
    shares = {order: count / n for order, count in counts.most_common() if count / n >= _LEAST}
    shares.setdefault(classical, counts[classical] / n)
    if (rest := 1 - sum(shares.values())) > 1e-9:
        shares["all others"] = rest
    tied = f"{NAMES['pos']} = {NAMES['dep']} < {NAMES['coref']}"
    last = (
        f"; {NAMES['coref']} comes last in {100 * counts[tied] / n:.0f} %, with that tie"
        if counts[tied]
        else ""
    )
    twin = any(score.so_far.sure for score in deck.twin_scores.values())
    table = TextTable(["order", "share"], [[order, f"{share:.3f}"] for order, share in shares.items()])
    return _wide(
        orders_figure(shares, classical, "", size=(9.8, 0.5 + 0.5 * len(shares))),
        f"{'Not as three steps' if tie > 0.5 else 'Not always'}: {NAMES['pos']} and {NAMES['dep']} tie (=) in {100 * tie:.0f} % of {n} samples of the scored "
        f"documents, each of which picks the best layers anew{last}. Frame: the pipeline's order. "
        f"Expected layers of {deck.subject}{'' if twin else '; no gain of its twin is sure'}.",
        (table,),
    )


def _order(depths: tuple[float, ...]) -> str:
    """The tasks by depth, ``=`` where two are gained in one layer.

    >>> _order((1.0, 1.0, 2.0)), _order((2.0, 1.0, 3.0)), _order((float("nan"), 1.0, 2.0))
    ('POS = Dependencies < Coreference', 'Dependencies < POS < Coreference', 'a task without a gain')
    """
    if not np.isfinite(depths).all():
        return "a task without a gain"
    ranked = sorted(zip(depths, PIPELINE), key=lambda one: one[0])
    said = NAMES[ranked[0][1]]
    for (before, _), (depth, task) in pairwise(ranked):
        said += f" {'=' if depth == before else '<'} {NAMES[task]}"
    return said


def best_layers_picture(deck: Deck) -> Picture:
    """Which layer is the best in samples of the training documents, and what the chosen one adds."""
    table, panels = deck.where_table(), {}
    for task, score in deck.scores.items():
        low, high = (100 * end for end in score.so_far.gain_interval())
        sure = f"layer {score.best[-1]}" if score.so_far.sure else "not sure"
        panels[NAMES[task]] = LayerBars(
            score.shares_of_choice(),
            0,
            score.best[-1],
            with_minus(f"{100 * score.so_far.gain:+.1f}\n[{low:+.1f}, {high:+.1f}]\n{sure}"),
        )
    return _wide(
        layer_bars_figure(
            panels,
            model=deck.name,
            mark="best on all training documents",
            ylabel="share of samples",
            size=(9.8, 4.0),
        ),
        f"{_said_sure(deck)} Bars: in which share of samples of the training documents a layer (0: the embeddings) is the best. Below: "
        f"points that it adds to the embeddings [95 %, over documents]. n = {deck.said_n()} cases.",
        (table,),
    )


def _said_sure(deck: Deck) -> str:
    """For which tasks a layer adds surely, and for which not."""
    sure = [f"{NAMES[task]} (layer {s.best[-1]})" for task, s in deck.scores.items() if s.so_far.sure]
    unsure = [NAMES[task] for task, s in deck.scores.items() if not s.so_far.sure]
    return (
        f"A gain is sure for {', '.join(sure) or 'none'}"
        + f"; not for {', '.join(unsure)}" * bool(unsure)
        + "."
    )


def fitted_mixes_picture(deck: Deck) -> Picture:
    """How the mixes share out over the layers, mean of the fits, for the model and its twin."""
    table, panels, read = deck.mixes_table(), {}, {}
    moves = max(high - low for _, low, high in (row[1].numbers for row in table.rows))
    for task, row in zip(MIXED, table.rows):
        own, twin = (
            np.mean([fit[task].weights for fit in fits], axis=0) for fits in (deck.mixes, deck.twin_mixes)
        )
        centre, low, high = row[1].numbers
        said = f"centre {centre:.2f}\n{low:.2f} to {high:.2f}\ntwin {row[2].value:.2f}"
        panels[NAMES[task]] = LayerBars(own, 0, centre, said, twin)
        read[NAMES[task]] = _stretches(own) if row[3].value >= _FLAT else []
    return _wide(
        layer_bars_figure(panels, model=deck.name, ylabel="share of the mix", size=(9.8, 3.9)),
        f"{'Yes, within' if moves < 0.2 else 'No, they move by up to'} {moves:.2f}{', but' if moves < 0.2 else '; and'} the fits share most of their documents. "
        f"{_places(read)} {table.caption}",
        (table,),
    )


def _stretches(shares: np.ndarray) -> list[str]:
    """The layers of which a mix reads more than of equal shares, neighbours together.

    >>> _stretches(np.array([0.3, 0.3, 0.1, 0.3]))
    ['0 to 1', '3']
    """
    found: list[list[int]] = []
    for layer in np.flatnonzero(shares > 1 / len(shares)).tolist():
        if found and found[-1][-1] == layer - 1:
            found[-1].append(layer)
        else:
            found.append([layer])
    return [f"{one[0]} to {one[-1]}" if len(one) > 1 else str(one[0]) for one in found]


def _places(read: Mapping[str, list[str]]) -> str:
    """What each mix reads, and that no centre marks a place where each mix is flat or reads layers that lie apart.

    >>> _places({"POS": ["0 to 2", "6"], "Dependencies": []})
    'No centre marks a place: POS mixes layers 0 to 2 and 6; Dependencies: nearly flat.'
    """
    said = [f"{name} mixes layers {joined(layers)}" for name, layers in read.items() if layers]
    if flat := [name for name, layers in read.items() if not layers]:
        said.append(f"{joined(flat)}: nearly flat")
    nowhere = all(len(layers) != 1 for layers in read.values())
    return f"{'No centre marks a place: ' if nowhere else ''}{'; '.join(said)}."
