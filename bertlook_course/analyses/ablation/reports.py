"""Every head switched off in turn, with an interval, n and a p-value corrected for the number of heads."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from typing import Literal, NamedTuple

import numpy as np

from bertlook_teach.model import head_label
from bertlook_teach.stats import paired_interval

from ...storage import (
    IN_PLACE,
    Report,
    Work,
    about,
    align,
    attributes,
    tabulate,
    trim_memory,
    trimmed,
    with_interval,
)
from ..finetuning import units_of
from .gate_importance import importance_versions
from .removal_curves import ORDERS, STEPS, pruning_curve
from .scorers import MaskedLM, as_scorer
from .single_heads import HeadEffects, LayerEffects, layer_effects, single_head_effects
from .which_heads_matter import LEVEL, best_gain_p, heads_that_matter

BATCHES = 1  # in a chunk: every head of the model is switched off on each of them


def report(
    model,
    test: Sequence,
    train: Sequence = (),
    source: str = "the examples given",
    *,
    ablation: Literal["zero", "uniform"] = "zero",
    outcome: Literal["score", "loss"] | None = None,
    curve: bool = False,
    rerank: bool = False,
    seed: int = 0,
    batch_size: int = 32,
    work: Work = IN_PLACE,
) -> Report:
    """Which heads matter?

    Switches every head off in turn and scores the model without it: a fine-tuned classifier on its task, or
    any encoder on the words that are masked in a text. Says what each head changes, with a 95 % interval,
    n, and p after Holm's correction for the number of heads; beside it the importance I_h of Michel et al.
    (2019).

    Parameters
    ----------
    model : Classifier or MaskedLM
        Scored on its task, or on masked words.
    test : list of labelled examples, or of texts for a MaskedLM
        What is scored.
    train : list of the same, optional
        On which importance ranks the heads; needed for a curve.
    source : str
        What ``test`` is, for readers.
    ablation : {"zero", "uniform"}
        zero: the head gives nothing; uniform: it looks at all tokens equally.
    outcome : {"score", "loss"}, optional
        What the p-values are about (default: score for a classifier, loss for masked words).
    curve : bool
        Also switch heads off a tenth at a time: worst first, best first, random.
    rerank : bool
        With --curve: rank the heads again after each step.
    seed : int
        For masked words, random halves and random orders.
    batch_size, work
        As of every report; see `bertlook_course.storage.Report`.

    Returns
    -------
    Report
        With the table ``ablate``, a row for each head, and with a curve also ``ablate_curve``.

    Raises
    ------
    ValueError
        If there are too few examples, or a curve has nothing to rank on.
    """
    if rerank and not curve:
        raise ValueError("rerank=True is about the curve; give curve=True too.")
    if curve and not train:
        raise ValueError(
            "curve=True ranks heads on other examples than it scores them on; give examples to rank on too."
        )
    if len(test) < 4:
        raise ValueError(f"{source}: {len(test)} examples; at least four are needed, two for each half.")
    scorer, masked = as_scorer(model), isinstance(model, MaskedLM)
    encode = partial(model.encode, batch_size=batch_size)
    if masked:
        encode = partial(encode, seed=seed, truncate=True, by_length=True)
    rank_on, score_on = list(encode(train)) if train else None, list(encode(test))
    units = None if masked else units_of(test)
    effects, layers = _effects(work, model, score_on, ablation)
    by = outcome or ("loss" if masked else "score")
    matter = heads_that_matter(effects, by=by, units=units, seed=seed)
    bar = work.bar("importance", "batch")
    versions = importance_versions(
        scorer, rank_on or score_on, progress=lambda batches: trimmed(bar(batches))
    )
    rows = [_row(effects, matter, versions, units, place, seed) for place in np.ndindex(matter.p.shape[1:])]
    gain, chance = best_gain_p(effects, seed=seed)
    ranked_on = "training examples" if rank_on else "the examples scored on"
    said = {
        "scored on": source,
        "ablation": ablation,
        **_said(effects, matter, layers, by, (gain, chance), ranked_on),
    }
    name, unit = scorer.encoder.name, _unit(scorer)
    scores = f"{effects.measure} {effects.base_scores.mean():.3f}, loss {effects.base_losses.mean():.3f}"
    text = [
        f"{name} on {source}: {scores} with all heads, n = {effects.n}; one head off at a time ({ablation}).",
        _format(rows, unit),
        _summary(matter, gain, chance, effects, unit),
    ]
    tables = {"ablate": rows}
    if curve:
        options = {"rerank": rerank, "seed": seed, "units": units}
        curves = [_curve(scorer, rank_on, score_on, order, work, **options) for order in ORDERS]
        text += _format_curves(curves, scorer.measure, unit)
        tables["ablate_curve"] = [row for found in curves for row in found.rows()]
    own = {"ablate_curve": {"ablation": "zero"}}
    return Report("\n".join(text), tables, about(scorer.encoder, said), own)


def _effects(work: Work, model, batches: Sequence, how: str) -> tuple[HeadEffects, LayerEffects]:
    """What each head and each layer changes, from chunks: examples one after the other."""
    label, total = "each head", len(batches)
    done = list(work.chunks(effects_chunk, model, batches, total=total, label=label, size=BATCHES, how=how))

    def joined(of: str) -> dict[str, np.ndarray]:
        names = ("losses", "scores", "base_losses", "base_scores")
        return {name: np.concatenate([chunk[of][name] for chunk in done], axis=-1) for name in names}

    same = {"how": how, "measure": done[0]["measure"]}
    heads = HeadEffects(**joined("heads"), what=done[0]["what"], **same)
    return heads, LayerEffects(**joined("layers"), **same)


def effects_chunk(model, batches: Sequence, *, how: str) -> dict:
    """Losses and scores of some batches with each head off, and with each layer off."""
    names = "losses scores base_losses base_scores"
    heads = single_head_effects(model, batches, how=how)
    layers = layer_effects(model, batches, how=how)
    trim_memory()
    return {
        "heads": attributes(heads, names),
        "layers": attributes(layers, names),
        "what": heads.what,
        "measure": heads.measure,
    }


def _row(effects, matter, importance, units, place, seed) -> dict:
    score_low, score_high = paired_interval(effects.base_scores, effects.scores[place], units, seed=seed)
    loss_low, loss_high = paired_interval(effects.base_losses, effects.losses[place], units, seed=seed)
    return {
        "head": head_label(*place),
        "score_change": float(effects.score_change[place]),
        "score_low": score_low,
        "score_high": score_high,
        "loss_change": float(effects.loss_change[place]),
        "loss_low": loss_low,
        "loss_high": loss_high,
        "p": float(matter.p[0][place]),
        "p_corrected": float(matter.corrected[0][place]),
        "importance": float(importance["paper"].values[place]),
        "importance_released": float(importance["released"].values[place]),
        "importance_script": float(importance["script"].values[place]),
        "first_order_loss_change": float(-importance["paper"].signed[place]),
        "n": effects.n,
    }


class _Unit(NamedTuple):
    """How scores are printed."""

    factor: float
    digits: int
    name: str


def _unit(scorer) -> _Unit:
    """Shares in points of a per cent; squared errors as they are."""
    return _Unit(1, 3, "") if scorer.measure.startswith("minus") else _Unit(100, 1, " points")


def _format(rows: list[dict], unit: _Unit) -> str:
    def change(of: str, **how):
        names = [f"{of}_{end}" for end in ("change", "low", "high")]
        return lambda row: with_interval(*(row[name] for name in names), sign="+", **how)

    cells = {
        "head": "head",
        f"score{unit.name and ','}{unit.name} [95 %]": change(
            "score", digits=unit.digits, factor=unit.factor
        ),
        "loss, nats [95 %]": change("loss", digits=3, factor=1),
        "p": lambda row: _p(row["p"]),
        "corrected": lambda row: _p(row["p_corrected"]),
        "I_h": "{importance:.2f}",
        "n": "n",
    }
    return tabulate(rows, cells)


def _p(value: float) -> str:
    return "<.001" if value < 0.001 else f"{value:.3f}"


def _summary(matter, gain, chance, effects, unit: _Unit) -> str:
    found, confirmed = np.median(matter.found), np.median(matter.confirmed)
    return (
        f"Below p = {LEVEL}: {matter.uncorrected[0]} heads uncorrected (at most {matter.expected_by_chance:.1f} expected by chance), "
        f"{matter.significant[0]} after Holm's correction. On a random half {found:g} are found, and {confirmed:g} of them confirmed on "
        f"the other (medians of {matter.found.shape[1]} halvings).\n"
        f"The best gain of any head is {gain / 100 * unit.factor:+.{unit.digits}f}{unit.name}; chance gains as much with p = {_p(chance)} (all heads tried together, n = {effects.n})."
    )


def _curve(scorer, rank_on, score_on, order: str, work: Work, **options):
    progress = work.bar(order, "step")
    return pruning_curve(scorer, rank_on, score_on, order=order, progress=progress, **options)


def _format_curves(curves: Sequence, measure: str, unit: _Unit) -> list[str]:
    lines = [["heads off", *(curve.order for curve in curves)]]
    for step in range(STEPS + 1):
        cells = [
            with_interval(c.scores[step], c.low[step], c.high[step], digits=unit.digits, factor=unit.factor)
            for c in curves
        ]
        lines.append([f"{100 * curves[0].shares[step]:.0f} %", *cells])
    note = (
        f"{measure.capitalize()}{' in per cent' if unit.factor > 1 else ''}, heads off (zero) step by step; ranked on other examples than scored, "
        f"{curves[0].ranked}. Intervals: 95 % over examples; for random the lowest and highest of {curves[-1].n_orders} orders."
    )
    return [note, align(lines)]


def _said(effects, matter, layers, by: str, gain: tuple[float, float], ranked_on: str) -> dict:
    """What the numbers of a report come to, for its record."""
    return {
        "measure": effects.measure,
        "score with all heads": float(effects.base_scores.mean()),
        "loss with all heads": float(effects.base_losses.mean()),
        "n": effects.n,
        "p of": by,
        "heads below .05 uncorrected": int(matter.uncorrected[0]),
        "expected by chance at most": matter.expected_by_chance,
        "heads below .05 corrected": int(matter.significant[0]),
        "found on a random half, confirmed on the other (medians)": [
            float(np.median(matter.found)),
            float(np.median(matter.confirmed)),
        ],
        "best gain in points, and p of a gain as large by chance": list(gain),
        "importance measured on": ranked_on,
        "layers off, change of score": [float(x) for x in layers.score_change],
        "layers off, change of loss": [float(x) for x in layers.loss_change],
    }
