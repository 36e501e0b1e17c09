"""What each layer knows, shown: curves over depth, tables of "where", and one question believed layer by layer."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np

from bertlook_teach.views import (
    INK,
    MUTED,
    RULE,
    SELECTED,
    Cell,
    Grid,
    Picture,
    coordinate,
    magnitude_colour,
    percent,
    quoted,
    shortened,
    text,
    text_width,
)

from ...published import published_probing
from ..drawing.figures import draw_curves, draw_level, key_above, styled_figure
from ..drawing.layout import joined
from ..drawing.text_table import Estimate, TextTable

NONE = "-"


# --- curves over depth ---------------------------------------------------------------------------------------
def depth_figure(
    curves: Mapping[str, object],
    *,
    ylabel: str = "F1 (per cent)",
    baseline: tuple[str, float] | None = None,
    ylim: tuple[float, float] | None = None,
    xlabel: str = "layers 0 (embeddings) to ...",
    size: tuple[float, float] = (9.8, 3.4),
    ax=None,
):
    """One line a name over the depth, 0 (embeddings) to L, at the size of a slide; a band where an interval is given: a matplotlib figure.

    Parameters
    ----------
    curves : mapping of name to array of shape (layer,), or to (values, low, high)
        All of one model: of one length.
    ylabel, xlabel : str
    baseline : (name, value), optional
        A dotted line.
    ylim : (float, float), optional
    ax : matplotlib.axes.Axes, optional
        Draw into these.

    Raises
    ------
    ValueError
        If there is no curve, or the curves are of models of different depth.
    """
    values = [curve[0] if isinstance(curve, tuple) else curve for curve in curves.values()]
    depths = {len(np.asarray(value)) for value in values}
    if len(depths) != 1:
        raise ValueError(
            f"curves over depth need at least one, all of one model; got {len(curves)} with {sorted(depths)} points. Models of different depth stand in figures of their own."
        )
    depth = depths.pop()
    with styled_figure(size, ax=ax) as (figure, (axes,)):
        _draw_depth(axes, curves, depth)
        if baseline:
            draw_level(axes, baseline[1], baseline[0])
        step = 1 if depth <= 14 else 2
        axes.set_xticks(range(0, depth, step))
        axes.set_xlabel(xlabel, color=INK)
        axes.set_ylabel(ylabel, color=INK)
        if ylim:
            axes.set_ylim(*ylim)
        key_above(figure, axes, 5, columnspacing=0.8)
    return figure


def _draw_depth(axes, curves, depth: int) -> None:
    draw_curves(axes, range(depth), curves, band=0.18)
    axes.grid(axis="y", color=RULE, linewidth=0.8)


def depth_panels_figure(
    panels: Mapping[str, Mapping[str, object]],
    *,
    ylabel: str = "F1 (per cent)",
    xlabel: str = "layer (0: embeddings)",
    ticks: Sequence[str] | None = None,
    size: tuple[float, float] = (9.8, 3.6),
):
    """One panel for each task, in it the same few curves over the depth with their bands, all panels of one scale: a matplotlib figure.

    Parameters
    ----------
    panels : mapping of title to mapping of name to array of shape (layer,), or to (values, low, high)
        All of models of one depth; the same names in every panel.
    ylabel, xlabel : str
    ticks : sequence of str, optional
        Names of the points, where they are not layers: before and after.

    Raises
    ------
    ValueError
        If there is no panel, the panels have other curves, or the curves are of models of different depth.
    """
    names = {tuple(curves) for curves in panels.values()}
    depths = {
        len(curve[0] if isinstance(curve, tuple) else curve)
        for curves in panels.values()
        for curve in curves.values()
    }
    if len(names) != 1 or len(depths) != 1:
        raise ValueError(
            f"panels over depth need at least one, the same curves in each, all of one depth; got {len(panels)} panels, curves {sorted(names)}, {sorted(depths)} points."
        )
    with styled_figure(size, columns=len(panels), sharey=True) as (figure, row):
        for axes, (title, curves) in zip(row, panels.items()):
            _draw_depth(axes, curves, max(depths))
            axes.set_title(title, fontsize=18, color=INK)
            axes.set_xticks(range(max(depths)), ticks)
            if ticks:
                axes.margins(x=0.2)  # names are wider than numbers
        row[0].set_ylabel(ylabel, color=INK)
        figure.supxlabel(xlabel, fontsize=18, color=INK)
        key_above(figure, row[0], 5, columnspacing=0.8)
    return figure


def describe_curves(curves: Mapping[str, object], unit: str = "%") -> str:
    """Where each curve of one model begins and ends, in words.

    >>> describe_curves({"POS": [88.4, 93.5, 96.5], "SRL": [79.5, 85.0, 91.1]})
    'From the embeddings to all 2 layers: POS 88.4 to 96.5 %, SRL 79.5 to 91.1 %.'
    """
    values = {name: value[0] if isinstance(value, tuple) else value for name, value in curves.items()}
    depth = len(next(iter(values.values()))) - 1
    parts = [f"{name} {value[0]:.1f} to {value[-1]:.1f} {unit}".rstrip() for name, value in values.items()]
    return f"From the embeddings to all {depth} layers: {', '.join(parts)}."


# --- tables of "where" ---------------------------------------------------------------------------------------
def f1_cell(counts) -> Estimate:
    """F1 of a `bertlook_course.analyses.probing.Counts` with its interval, in per cent: 56.9 [53.0, 60.2]."""
    low, high = counts.interval()
    return Estimate(100 * counts.f1, 100 * low, 100 * high, ".1f")


def where_table(scores: Mapping[str, object], caption: str = "") -> TextTable:
    """One row a task: F1 of the embeddings, the best layer and its F1, what it adds with its interval, expected layer where that is sure.

    Parameters
    ----------
    scores : mapping of name to `bertlook_course.analyses.probing.LayerScores`
        All of one model.
    """
    about = _about_depth(scores)
    rows, widthless = [], False
    for name, s in scores.items():
        curve = s.so_far
        where = "not sure"
        if curve.sure:
            low, high = curve.interval()
            where = f"{curve.expected_layer:.1f} [{low:.1f}, {high:.1f}]"
            widthless |= f"{low:.1f}" == f"{high:.1f}"
        f1 = [f"{100 * value:.1f}" for value in (curve.f1[0], curve.f1[-1])]
        best, stays = str(s.best[-1]), s.share_of_choice()
        if np.isfinite(stays):
            best += f" ({int(10 * stays)} of 10)"  # per cent would differ from processor to processor
        rows.append([name, f1[0], best, f1[1], _gain_cell(curve), where])
    said = "Best layer: chosen on training documents, and in at least so many samples of them. No expected layer where the gain is not sure."
    if widthless:
        said += " An interval without width: the samples agree, for no probe is fitted again."
    header = ["task", "embeddings", "best layer", "its F1", "adds [95 %]", "expected layer"]
    return TextTable(header, rows, _caption(about, said, scores, caption))


def _about_depth(scores: Mapping[str, object]) -> str:
    if len({s.n_layers for s in scores.values()}) != 1:
        raise ValueError(
            "a table of layers needs at least one row, all of one model: layer 6 of 12 is not a layer 6 of 24."
        )
    depth = next(iter(scores.values())).n_layers
    counts = sorted({s.n_test for s in scores.values()})
    span = f"{counts[0]:,}" if len(counts) == 1 else f"{counts[0]:,} to {counts[-1]:,}"
    return f"Layers 0 to {depth}; F1 in per cent; n = {span} cases. Intervals: 95 %, over documents."


def _gain_cell(curve) -> str:
    low, high = curve.gain_interval()
    return f"{100 * curve.gain:+.1f} [{100 * low:+.1f}, {100 * high:+.1f}]"


def _caption(about: str, said: str, scores: Mapping[str, object], caption: str) -> str:
    return " ".join(filter(None, [fits_said(scores), about, said, caption]))


def fits_said(scores: Mapping[str, object]) -> str:
    """Which of the fits behind a table or a picture have not finished, in words; empty where all have.

    Parameters
    ----------
    scores : mapping of name to `bertlook_course.analyses.probing.LayerScores` or ``MixScores``
    """
    lines = [(name, line) for name, s in scores.items() for line in s.warnings()]
    return " ".join(f"{name}: {line}" for name, line in lines if line.startswith("NOT FINISHED"))


def published_layers_table(model: str, tasks: Sequence[str] | None = None) -> TextTable:
    """The same columns as published, for one model: BERT-base or BERT-large, never both.

    Parameters
    ----------
    model : {"BERT-base", "BERT-large"}
    tasks : sequence of str, optional
        Some of the eight; default all.
    """
    found = published_probing(model)
    rows = [
        [
            name,
            f"{row.f1[0]:.0f} → {row.f1[-1]:.0f}",
            *(
                Estimate(value) if np.isfinite(value) else NONE
                for value in (row.expected, row.delta_bits, row.centre, row.mixing_bits)
            ),
        ]
        for name, row in found.items()
        if tasks is None or name in tasks
    ]
    source = {
        "BERT-base": "F1, expected layer and K(Δ) from the released scores, centre and K(s) from their output; - not found",
        "BERT-large": "as printed in Figure 1, F1 from the released scores",
    }[model]
    depth = len(next(iter(found.values())).f1) - 1
    return TextTable(
        ["task", "F1", "expected layer", "K(Δ)", "centre", "K(s)"],
        rows,
        f"{model}, layers 0 to {depth}; {source}. No intervals were published.",
    )


# --- one question --------------------------------------------------------------------------------------------
def checked_case(case: Mapping) -> dict:
    """A case as `bertlook_course.analyses.probing.sentence_beliefs` gives it, or an error that says what is missing.

    Raises
    ------
    ValueError
        If there is no target, a span lies outside the words, or beliefs are not shares of shape (label, layer), the same number of layers in all.
    """
    words, targets = list(case["words"]), list(case["targets"])
    if not words or not targets:
        raise ValueError(
            f"a case needs words and at least one question; got {len(words)} words, {len(targets)} questions."
        )
    depths = set()
    for at, target in enumerate(targets):
        beliefs = np.asarray(target["beliefs"], dtype=float)
        if beliefs.ndim != 2 or beliefs.shape[0] != len(target["labels"]) or not beliefs.size:
            raise ValueError(
                f"question {at}: beliefs must have shape (label, layer), a row for each of the {len(target['labels'])} labels; got {beliefs.shape}."
            )
        if not ((beliefs >= 0) & (beliefs <= 1)).all():
            raise ValueError(f"question {at}: beliefs are probabilities from 0 to 1.")
        for span in (target["span1"], target["span2"]):
            if span is not None and not 0 <= span[0] < span[1] <= len(words):
                raise ValueError(
                    f"question {at}: span {list(span)} is not [start, end) within the {len(words)} words."
                )
        depths.add(beliefs.shape[1])
    if len(depths) > 1:
        raise ValueError(f"all questions need beliefs of the same layers; got {sorted(depths)}.")
    return dict(case)


def describe_beliefs(case: Mapping, target: int) -> str:
    """What the probes of the layers believe of one question, from the embeddings to the last, in a sentence or two."""
    words, about = case["words"], case["targets"][target]
    labels, beliefs, gold = about["labels"], about["beliefs"], about["gold"]
    last = len(beliefs[0]) - 1
    spans = [span for span in (about["span1"], about["span2"]) if span is not None]
    name = " and ".join(quoted(" ".join(words[a:b]), False) for a, b in spans)
    if gold:
        name += f" (treebank: {gold})"
    if len(labels) == 1:
        return (
            f"{name}: belief in “{labels[0]}” goes from {percent(beliefs[0][0])} with the embeddings to "
            f"{percent(beliefs[0][last])} with layer {last}."
        )
    leaders = [max(range(len(labels)), key=lambda i: (beliefs[i][layer], -i)) for layer in range(last + 1)]
    begin, end = percent(beliefs[leaders[0]][0]), percent(beliefs[leaders[-1]][last])
    starts = [layer for layer in range(last + 1) if layer == 0 or leaders[layer] != leaders[layer - 1]]
    if len(starts) == 1:
        story = f"{labels[leaders[0]]} leads at every depth, {begin} with the embeddings, {end} with layer {last}."
        return f"{name}: {story}"
    parts = []
    for first, final in zip(starts, [start - 1 for start in starts[1:]] + [last]):
        if first == 0:
            where = (
                f"leads with the embeddings ({begin})"
                if final == 0
                else f"leads from the embeddings ({begin}) to layer {final}"
            )
        elif final == last:
            where = (
                f"with layer {last} ({end})"
                if first == last
                else f"from layer {first} on ({end} with layer {last})"
            )
        else:
            where = f"with layer {first}" if first == final else f"with layers {first} to {final}"
        parts.append(f"{labels[leaders[first]]} {where}")
    return f"{name}: {joined(parts)}."


def render_beliefs(case: Mapping, target: int, *, font_size: float = 24, width: float = 900) -> Picture:
    """One question as a picture: the sentence with its spans, and below a row a label, a cell a depth, darker for more belief.

    Returns
    -------
    Picture
        Each cell carries its number, the treebank's label a mark.
    """
    case = checked_case(case)
    about = case["targets"][target]
    em = float(font_size)
    body, y = [], 1.1 * em
    x = 0.3 * em
    for place, word in enumerate(case["words"]):
        first, second = (
            span is not None and span[0] <= place < span[1] for span in (about["span1"], about["span2"])
        )
        wide = text_width(word, em)
        if x + wide > width - 0.3 * em and x > em:
            x, y = 0.3 * em, y + 1.5 * em
        weight = ' font-weight="700"' if first or second else ""
        body.append(text(x, y, word, fill=INK if first or second else MUTED, extra=weight))
        if first or second:
            dash = "" if first else ' stroke-dasharray="5 4"'
            body.append(
                f'<path d="M{coordinate(x)} {coordinate(y + 0.65 * em)}h{coordinate(wide)}" stroke="{SELECTED}" stroke-width="3"{dash}/>'
            )
        x += wide * 1.06 + 0.35 * em
    labels, beliefs = about["labels"], about["beliefs"]
    depth = len(beliefs[0])
    left = min(9 * em, max(text_width(f"{label} ✓", em) for label in [*labels, "layer"]) + 0.8 * em)
    cell = min(4.4 * em, (width - left - 0.3 * em) / depth)
    size = min(em, cell * 0.42) if cell < 2.2 * em else 0.85 * em
    y += 1.9 * em
    grid = Grid(left, y + 0.8 * em, len(labels), depth, cell, 1.6 * em, em)
    named = [f"{label} ✓" if label == about["gold"] else label for label in labels]
    body += [
        text(left - 0.5 * em, y, "layer", anchor="end", fill=MUTED),
        *grid.numbered(range(depth), fill=MUTED),
        *grid.cells(
            lambda row, layer: Cell(
                magnitude_colour(beliefs[row][layer]),
                f"{labels[row]}, layer {layer}: {percent(beliefs[row][layer])}",
                hundredth(beliefs[row][layer]),
            ),
            [shortened(name, em, left - 0.6 * em) for name in named],
            size=size / em,
            gap=(1, 0.08 * em),
            round=4,
        ),
    ]
    sentence = describe_beliefs(case, target)
    return Picture(
        body, width, grid.bottom + 0.4 * em, title="What each layer believes", sentence=sentence, font_size=em
    )


def hundredth(share: float) -> str:
    """Whole per cents without the sign: what fits a cell.

    >>> hundredth(0.057), hundredth(1.0)
    ('6', '100')
    """
    return str(int(np.floor(share * 100 + 0.5)))
