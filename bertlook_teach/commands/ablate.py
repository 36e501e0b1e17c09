"""``bertlook ablate``: every head switched off in turn, with an interval, n and a p-value corrected for the number of heads."""

from __future__ import annotations

from argparse import ArgumentParser, Namespace
from collections.abc import Sequence
from contextlib import ExitStack
from functools import partial
from pathlib import Path
from typing import NamedTuple

import numpy as np

from ..analyses.ablation import (
    LEVEL,
    ORDERS,
    STEPS,
    WAYS,
    HeadEffects,
    LayerEffects,
    MaskedLM,
    as_scorer,
    best_gain_p,
    heads_that_matter,
    importance_versions,
    layer_effects,
    pruning_curve,
    single_head_effects,
)
from ..disk import align, claim_folder, save_rows, with_interval
from ..model import head_label
from ..stats import paired_interval
from . import chunks, common

BATCHES = 1  # in a chunk: every head of the model is switched off on each of them


def add_arguments(parser: ArgumentParser) -> None:
    """The options of ``bertlook ablate``."""
    common.describe(
        parser,
        "Which heads matter? Switches every head off in turn and scores the model without it: a fine-tuned classifier on its task, or any "
        "encoder on the words that are masked in a text. Prints what each head changes, with a 95 % interval, n, and p after Holm's "
        "correction for the number of heads; beside it the importance I_h of Michel et al. (2019). Writes ablate.csv and ablate.json, and "
        "with --curve also ablate_curve.csv and ablate_curve.json.",
        "ablate --masked-lm my.txt --out result",
    )
    encoders = "with --masked-lm specimen, specimen-random, a hub name or a folder"
    common.add_model(parser, f"a classifier's folder; {encoders} (default: specimen)")
    what = parser.add_mutually_exclusive_group(required=True)
    task = "score a classifier on the test examples of this task: its name, or its folder"
    what.add_argument("--task", metavar="NAME", help=task)
    test = "score a classifier on these labelled examples, .jsonl or .tsv (.gz too)"
    what.add_argument("--test", metavar="FILE", help=test)
    masked = "score an encoder on masked words of these texts, one per line"
    what.add_argument("--masked-lm", metavar="FILE", nargs="+", help=masked)
    add = parser.add_argument
    train = "with --test: examples on which importance ranks the heads, needed for --curve"
    add("--train", metavar="FILE", help=train)
    common.add_limit(parser, "examples of each file")
    common.add_out(parser)
    how = f"{WAYS[0]}: the head gives nothing; uniform: it looks at all tokens equally (default: {WAYS[0]})"
    add("--ablation", choices=WAYS, default=WAYS[0], help=how)
    outcome = "what the p-values are about (default: score for a classifier, loss for masked words)"
    add("--outcome", choices=("score", "loss"), help=outcome)
    curve = "also switch heads off a tenth at a time: worst first, best first, random"
    add("--curve", action="store_true", help=curve)
    add("--rerank", action="store_true", help="with --curve: rank the heads again after each step")
    add("--seed", type=int, default=0, help="for masked words, random halves and random orders (default: 0)")
    common.add_device(parser, batch_size=32)
    chunks.add_scale(parser)


def run(args: Namespace) -> int:
    """``bertlook ablate``: returns the exit code."""
    common.at_least(args, limit=(4, "four examples, two for each half"))
    if args.rerank and not args.curve:
        raise ValueError("--rerank is about the curve; give --curve too.")
    if args.train and not args.test:
        raise ValueError(
            "--train goes with --test; a task brings its own training examples, and texts are halved."
        )
    if args.curve and args.test and not args.train:
        raise ValueError(
            "--curve ranks heads on other examples than it scores them on; give --train FILE too."
        )
    folder = claim_folder(args.out)
    scorer, rank_on, score_on, units, source = _masked(args) if args.masked_lm else _classified(args)

    loaded, kind = (scorer, "masked") if args.masked_lm else (scorer.classifier, "classifier")
    model = chunks.Model.of(args, loaded, kind=kind)
    same = {
        "command": "ablate",
        "fingerprint": model.fingerprint,
        "scored_on": source,
        "batches_sha256": chunks.digest_of(
            [part.tolist() for part in batch if part is not None] for batch in score_on
        ),
        "ablation": args.ablation,
    }
    with chunks.Run(args, folder, same) as work:
        effects, layers = _effects(work, model, score_on, args.ablation)
    by = args.outcome or ("loss" if args.masked_lm else "score")
    matter = heads_that_matter(effects, by=by, units=units, seed=args.seed)
    ranked = rank_on or score_on
    importance = importance_versions(
        scorer,
        ranked,
        progress=lambda batches: common.trimmed(common.bar(args, "importance", "batch")(batches)),
    )
    rows = [
        _row(effects, matter, importance, units, place, args.seed) for place in np.ndindex(matter.p.shape[1:])
    ]

    encoder = scorer.encoder
    gain, chance = best_gain_p(effects, seed=args.seed)
    items = {
        "scored on": source,
        "ablation": args.ablation,
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
        "best gain in points, and p of a gain as large by chance": [gain, chance],
        "importance measured on": "training examples" if rank_on else "the examples scored on",
        "layers off, change of score": [float(x) for x in layers.score_change],
        "layers off, change of loss": [float(x) for x in layers.loss_change],
    }
    about = common.about(encoder, items)
    print(
        f"{encoder.name} on {source}: {effects.measure} {effects.base_scores.mean():.3f}, loss {effects.base_losses.mean():.3f} with all "
        f"heads, n = {effects.n}; one head off at a time ({args.ablation})."
    )
    print(_format(rows, _unit(scorer)))
    print(_summary(matter, gain, chance, effects, _unit(scorer)))
    print(save_rows(folder, "ablate", rows, about))
    if args.curve:
        print(_curves(scorer, rank_on, score_on, units, args, folder, about))
    work.finished()
    return 0


def _effects(
    work: chunks.Run, model: chunks.Model, batches: Sequence, how: str
) -> tuple[HeadEffects, LayerEffects]:
    """What each head and each layer changes, from chunks: examples one after the other."""
    done = list(
        work.results(
            effects_chunk, model, batches, total=len(batches), label="each head", size=BATCHES, how=how
        )
    )

    def joined(of: str) -> dict[str, np.ndarray]:
        names = ("losses", "scores", "base_losses", "base_scores")
        return {name: np.concatenate([chunk[of][name] for chunk in done], axis=-1) for name in names}

    about = {"how": how, "measure": done[0]["measure"]}
    return HeadEffects(**joined("heads"), what=done[0]["what"], **about), LayerEffects(
        **joined("layers"), **about
    )


def effects_chunk(model, batches: Sequence, *, how: str) -> dict:
    """Losses and scores of some batches with each head off, and with each layer off."""
    names = "losses scores base_losses base_scores"
    heads = single_head_effects(model, batches, how=how)
    layers = layer_effects(model, batches, how=how)
    common.trim_memory()
    return {
        "heads": common.columns(heads, names),
        "layers": common.columns(layers, names),
        "what": heads.what,
        "measure": heads.measure,
    }


def _masked(args) -> tuple:
    """A scorer on masked words; every second text ranks, the others are scored when a curve is asked for."""
    from ..corpora import read_texts
    from ..model import load_encoder

    with ExitStack() as stack:
        files = common.files_of(args.masked_lm, stack)
        texts = [text for path in files for text in read_texts(path)][: args.limit]
    needed = 8 if args.curve else 4
    if len(texts) < needed:
        raise ValueError(
            f"{', '.join(args.masked_lm)}: {len(texts)} texts (one on each line); at least {needed} are needed, to be halved."
        )
    scorer = MaskedLM(load_encoder(args.model, device=args.device))
    encode = partial(scorer.encode, batch_size=args.batch_size, seed=args.seed, truncate=True, by_length=True)
    names = ", ".join(path.name for path in files)
    if not args.curve:
        return scorer, None, encode(texts), None, f"masked words of {len(texts)} texts ({names})"
    scored = texts[1::2]
    return (
        scorer,
        encode(texts[::2]),
        encode(scored),
        None,
        f"masked words of {len(scored)} texts ({names}, every second)",
    )


def _classified(args) -> tuple:
    from ..analyses.finetuning import load_classifier, units_of
    from ..corpora import load_task, read_examples

    if args.model in ("specimen", "specimen-random"):
        raise ValueError(
            f"{args.model} is an encoder and answers no task; give --model FOLDER of a fine-tuned classifier, or --masked-lm FILE."
        )
    classifier = load_classifier(args.model, device=args.device)
    if args.task:
        task = load_task(args.task)
        train, test, source = task.train, task.test, f"the test examples of {task.name}"
    else:
        test, source = read_examples(args.test), Path(args.test).name
        train = read_examples(args.train) if args.train else ()
    train, test = list(train)[: args.limit], list(test)[: args.limit]
    if len(test) < 4:
        raise ValueError(f"{source}: {len(test)} examples; at least four are needed, two for each half.")
    encode = partial(classifier.encode, batch_size=args.batch_size)
    return (
        as_scorer(classifier),
        list(encode(train)) if train else None,
        list(encode(test)),
        units_of(test),
        source,
    )


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
    def interval(row, key, digits, factor):
        values = (row[f"{key}_{end}"] for end in ("change", "low", "high"))
        return with_interval(*values, digits=digits, factor=factor, sign="+")

    score = f"score{unit.name and ','}{unit.name} [95 %]"
    lines = [["head", score, "loss, nats [95 %]", "p", "corrected", "I_h", "n"]]
    for row in rows:
        lines.append(
            [
                row["head"],
                interval(row, "score", unit.digits, unit.factor),
                interval(row, "loss", 3, 1),
                _p(row["p"]),
                _p(row["p_corrected"]),
                f"{row['importance']:.2f}",
                row["n"],
            ]
        )
    return align(lines)


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


def _curves(scorer, rank_on, score_on, units, args, folder, about) -> str:
    curves = [
        pruning_curve(
            scorer,
            rank_on,
            score_on,
            order=order,
            rerank=args.rerank,
            seed=args.seed,
            units=units,
            progress=common.bar(args, order, "step"),
        )
        for order in ORDERS
    ]
    unit = _unit(scorer)
    lines = [["heads off", *(curve.order for curve in curves)]]
    for step in range(STEPS + 1):
        cells = [
            with_interval(c.scores[step], c.low[step], c.high[step], digits=unit.digits, factor=unit.factor)
            for c in curves
        ]
        lines.append([f"{100 * curves[0].shares[step]:.0f} %", *cells])
    rows = [row for curve in curves for row in curve.rows()]
    note = (
        f"{scorer.measure.capitalize()}{' in per cent' if unit.factor > 1 else ''}, heads off (zero) step by step; ranked on other examples than scored, "
        f"{curves[0].ranked}. Intervals: 95 % over examples; for random the lowest and highest of {curves[-1].n_orders} orders."
    )
    return "\n".join(
        [note, align(lines), save_rows(folder, "ablate_curve", rows, {**about, "ablation": "zero"})]
    )
