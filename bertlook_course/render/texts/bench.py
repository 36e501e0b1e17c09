"""What switching heads off did: the guesses before and after, the loss with its interval, as texts and as a picture."""

from __future__ import annotations

import re
from collections.abc import Sequence

import numpy as np

from bertlook_teach.model import head_label
from bertlook_teach.stats import paired_interval
from bertlook_teach.views import (
    LINE,
    MUTED,
    PAPER,
    SELECTED_INK,
    Cell,
    Grid,
    Picture,
    coordinate,
    percent,
    quoted,
    shortened,
    text,
)

from ...syllabus import worded
from ..drawing.layout import broken_lines, joined

OFF = SELECTED_INK

WAYS = {"zero": ("zero", "zeros"), "uniform": ("uniform", "uniforms")}  # captions: of one head, of several

_NAMED = 4  # more heads than this are counted, not named


def describe_off(off: Sequence[tuple[int, int]], shape: tuple[int, int]) -> str:
    """Which heads are off, in words.

    >>> describe_off([(0, 1), (2, 0)], (3, 2))
    'heads 1-2 and 3-1 off'
    >>> describe_off([(1, 0), (1, 1)], (3, 2)), describe_off([], (3, 2))
    ('layer 2 off', 'all heads on')
    """
    n_layers, n_heads = shape
    off = sorted(tuple(head) for head in off)
    if not off:
        return worded("all on")
    if len(off) == n_layers * n_heads:
        return worded("all off", count=len(off))
    layers = sorted({layer for layer, _ in off})
    if len(off) == len(layers) * n_heads and len(layers) <= _NAMED:
        names = joined([str(layer + 1) for layer in layers])
        return worded("layers off" if len(layers) > 1 else "layer off", names=names)
    if len(off) > _NAMED:
        return worded("many off", count=len(off), all=n_layers * n_heads)
    names = joined([head_label(*head) for head in off])
    return worded("heads off" if len(off) > 1 else "head off", names=names)


def describe_change(before, after, units, *, off: bool = True, places: int = 2, seed: int = 0) -> str:
    """A mean before and after, and the change with its 95 % interval, drawing whole texts; with nothing off there is no doubt.

    >>> describe_change([1.0, 3.0], [1.5, 3.5], [0, 1])
    '2.00 → 2.50, change +0.50 [+0.50, +0.50]'
    """
    before, after = (np.asarray(values, dtype=float) for values in (before, after))
    low, high = paired_interval(before, after, units, seed=seed) if off else (0.0, 0.0)
    means = {"before": f"{before.mean():.{places}f}", "after": f"{after.mean():.{places}f}"}
    changes = {"change": (after - before).mean(), "low": low, "high": high}
    signed = {name: _signed(value, places) for name, value in changes.items()}
    return worded("before and after", **means, **signed)


def _short_percent(share: float) -> str:
    return percent(share).replace("under ", "<").replace("over ", ">")


def _signed(value: float, places: int) -> str:
    shown = f"{value:+.{places}f}"
    return f"{0:.{places}f}" if float(shown) == 0 else shown.replace("-", "−")


def bench_result(bench, before, after) -> dict[str, object]:
    """Two outcomes of one bench as the texts that are shown.

    Parameters
    ----------
    bench : Bench
        Of `bertlook_course.analyses.ablation.bench`; only its shape, its sentence, its units and the name of its task are read.
    before, after : Outcome

    Returns
    -------
    dict of "before", "after" (lists of piece, probability, that in words), "truth", "title", "scores", "sentence", and "cost", what the
    loss rose by, in nats
    """
    shape = bench.encoder.n_layers, bench.encoder.n_heads
    sentence, which = bench.sentence, describe_off(after.off, shape)
    n_texts = len(set(np.asarray(bench.units).tolist()))
    change = describe_change(before.losses, after.losses, bench.units, off=bool(after.off))
    of = {"change": change, "pieces": len(before.losses)}
    scores = [worded("loss", **of, count=n_texts) if n_texts > 1 else worded("loss of a text", **of)]
    if before.right is not None:
        n = len(before.right)
        change = describe_change(before.right, after.right, np.arange(n), off=bool(after.off))
        task = getattr(bench.classify, "name", "Task")
        scores.append(f"{task}, share right: {change} ({n} examples).")
    truth = None if sentence.truth is None else sentence.tokens[sentence.masked]
    likeliest = {"first": quoted(before.guesses[0][0]), "now": quoted(after.guesses[0][0])}
    if truth is None:
        shares = {"share": before.guesses[0][1], "share_now": after.guesses[0][1]}
    else:
        likeliest["truth"] = quoted(truth)
        shares = {"share": before.truth, "share_now": after.truth}
    shares = {name: percent(share) for name, share in shares.items()}
    heads = {"model": re.sub("^specimen", "Specimen", bench.encoder.title), "off": which}
    said = [
        worded("off so", **heads, way=worded(WAYS[after.how][len(after.off) > 1]))
        if after.off
        else worded("off", **heads),
        worded("first and now" if truth is None else "right and now", **likeliest, **shares),
    ]
    if len(after.off) == shape[0] * shape[1]:
        said.append(worded("control"))
    return {
        "before": [[piece, round(share, 5), _short_percent(share)] for piece, share in before.guesses],
        "after": [[piece, round(share, 5), _short_percent(share)] for piece, share in after.guesses],
        "truth": truth,
        "title": worded("guesses now" if after.off else "guesses alike"),
        "scores": scores,
        "cost": round(float(np.mean(after.losses) - np.mean(before.losses)), 4),
        "sentence": " ".join(said),
    }


def render_bench(shape, off, tokens, masked, mask, result, *, font_size: float = 16) -> Picture:
    """The switches and what they did.

    Parameters
    ----------
    shape : (int, int)
        Layers and heads.
    off : sequence of (layer, head)
        Counted from 0.
    tokens : sequence of str
    masked : int
        Position of the piece to guess, shown as ``mask``.
    result : dict
        From :func:`bench_result`.
    """
    n_layers, n_heads = shape
    em = float(font_size)
    off = {tuple(head) for head in off}
    grid = Grid(4.4 * em, 3.4 * em, n_layers, n_heads, 1.7 * em, 1.7 * em, em)
    beside = grid.right + 2 * em

    def cell(layer: int, head: int) -> Cell:
        name = f"Head {head_label(layer, head)}"
        if (layer, head) in off:
            return Cell(PAPER, f"{name}: off", "✕", OFF, OFF, bold=True)
        return Cell(LINE, f"{name}: on", edge=LINE)

    body = [
        *grid.named(("head", "layer"), 1.4 * em, 1.2 * em),
        *grid.numbered(gap=0.7),
        *grid.cells(cell, range(1, n_layers + 1), size=1),
    ]
    column = 13 * em
    width = beside + 2 * column + em
    shown = [mask if i == masked else token for i, token in enumerate(tokens)]
    lines = broken_lines(" ".join(shown), em, width - beside - em)
    y = 1.2 * em
    for line in lines:
        body.append(text(beside, y, line))
        y += 1.35 * em
    y += 0.6 * em
    largest = max(share for _, share, _ in [*result["before"], *result["after"]]) or 1.0
    was = {piece: share for piece, share, _ in result["before"]} if off else {}
    for number, (title, guesses) in enumerate(
        ((worded("all on"), result["before"]), (result["title"], result["after"]))
    ):
        x = beside + number * column
        body.append(text(x, y, title, extra=' font-weight="600"'))
        for row, (piece, share, said) in enumerate(guesses, 1):
            at = y + row * 1.5 * em
            weight = ' font-weight="700"' if piece == result["truth"] else ""
            body.append(text(x, at, shortened(piece, em, 5.6 * em), extra=weight))
            body.append(
                f'<rect x="{coordinate(x + 6 * em)}" y="{coordinate(at - 0.4 * em)}" '
                f'width="{coordinate(2.6 * em * share / largest)}" height="{coordinate(0.8 * em)}" fill="{LINE}"/>'
            )
            ghost = (
                was.get(piece, 0.0) if number else 0.0
            )  # what it was with all heads on, framed behind the bar
            if ghost:
                body.append(
                    f'<rect x="{coordinate(x + 6 * em)}" y="{coordinate(at - 0.46 * em)}" width="{coordinate(2.6 * em * ghost / largest)}" '
                    f'height="{coordinate(0.92 * em)}" fill="none" stroke="{MUTED}" stroke-width="1.2"/>'
                )
            end = x + 6.2 * em + 2.6 * em * max(share, ghost) / largest
            body.append(text(end, at, said, fill=MUTED))
    y = max(y + 8.2 * em, grid.bottom)
    title = f"Heads switched off: {describe_off(sorted(off), shape)}"
    return Picture(
        body, width, y + 0.3 * em, title=title, sentence=result["sentence"], font_size=em, wide=True
    )
