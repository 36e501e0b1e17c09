"""``bertlook layers``: where in a model a label becomes readable, beside lists of words, a random twin and made-up labels."""

from __future__ import annotations

from argparse import ArgumentParser, Namespace
from functools import partial
from pathlib import Path

import numpy as np

from ..analyses import probing
from ..corpora import (
    TASKS,
    EdgeSentence,
    halves_by_document,
    iter_conllu,
    n_questions,
    read_edges,
    treebank_edges,
)
from ..disk import align, claim_folder, save_rows, with_interval
from ..model import read_states
from . import common


def add_arguments(parser: ArgumentParser) -> None:
    """The options of ``bertlook layers``."""
    common.describe(
        parser,
        "At which layer can a label be read? Fits, for every depth l, a probe on a mix of the layers 0 (embeddings) to l, scores it on "
        "other documents, and prints expected layer and centre of gravity (Tenney et al. 2019), with a list of words, the random twin and "
        "made-up labels beside them. Writes layers.csv (a row a probe) and layers.json.",
        "layers --task dep --data my.conllu --out result",
    )
    common.add_model(parser)
    add = parser.add_argument
    add(
        "--task",
        choices=tuple(TASKS),
        required=True,
        help="word classes, relations, kinds of entity, or coreference",
    )
    common.add_data(
        parser,
        "to fit on: CoNLL-U (with Entity= for entity and coref), or JSON lines with tokens and targets; "
        ".gz too (default: every second document of the shipped treebank)",
    )
    test = "to score on (default: every second document of --data, which is not fitted on)"
    add("--test", metavar="FILE", help=test)
    common.add_limit(parser, "sentences of each file")
    common.add_out(parser)
    add("--max-cases", type=int, metavar="N", help="fit on at most N questions, drawn at random")
    hidden = "units of a hidden layer (default: 0, a linear probe)"
    add("--hidden", type=int, default=0, metavar="N", help=hidden)
    add(
        "--l2",
        type=float,
        metavar="X",
        help="penalty on the maps (default: chosen among the training documents)",
    )
    most = f"stop fitting after N iterations (default: {probing.MAX_ITERATIONS})"
    add("--max-iterations", type=int, default=probing.MAX_ITERATIONS, metavar="N", help=most)
    seeds = "further runs, each on four fifths of the documents (default: 2)"
    add("--seeds", type=int, default=2, metavar="N", help=seeds)
    common.add_no_twin(parser, "the random twin and the made-up labels")
    common.add_device(parser, batch_size=32)


def run(args: Namespace) -> int:
    """``bertlook layers``: returns the exit code."""
    from ..model import load_encoder, random_twin

    common.at_least(args, limit=2, max_cases=2, seeds=0, hidden=0, max_iterations=1)
    if args.test and not args.data:
        raise ValueError("--test needs --data: what is scored must not be what was fitted on.")
    folder = claim_folder(args.out)
    halves = _questions(args)
    encoder = load_encoder(args.model, device=args.device)

    def features(model) -> tuple[probing.SpanVectors, probing.SpanVectors]:
        progress = common.bar(args, model.name, "sentence")
        read = partial(read_states, model, batch_size=args.batch_size, progress=progress)
        found = []
        for half in halves:  # one after the other: the hidden states of a half are let go
            found.append(probing.span_vectors(read(s.words for s in half), half, args.task))
        train, test = found
        if args.max_cases is not None:
            train = probing.draw_cases(train, args.max_cases)
        return train, test

    train, test = features(encoder)
    options = {"hidden": args.hidden, "l2": args.l2, "max_iterations": args.max_iterations}
    runs = {"model": (train, test, None)} | {
        f"seed {seed + 1}": (train, test, seed) for seed in range(args.seeds)
    }
    if not args.no_twin:
        runs["random twin"] = (*features(random_twin(encoder)), None)
        runs["made-up labels"] = (*probing.control_labels(train, test), None)
    rows, scored = [], {}
    for name, (fit_on, score_on, seed) in runs.items():
        progress = common.bar(args, f"probes, {name}", "layer")
        scores = scored[name] = probing.cumulative_probes(
            fit_on, score_on, seed=seed, progress=progress, **options
        )
        rows += _rows(name, scores)
    rivals = {
        "commonest label": probing.majority_baseline(train, test),
        "list of words": probing.form_baseline(train, test),
    }
    rows += [_rival(name, counts, len(test)) for name, counts in rivals.items()]
    items = {
        "task": args.task,
        "asks": TASKS[args.task][2],
        "train": Path(args.data).name if args.data else "treebank.conllu, every second document",
        "test": Path(args.test).name if args.test else "every second document",
        "n_train": len(train),
        "n_test": len(test),
        "n_skipped": train.n_skipped + test.n_skipped,
        "probe": f"hidden {args.hidden}, at most {args.max_iterations} iterations",
        "protocol": "one probe a depth, fitted and scored on different documents; micro-F1; 95 % bootstrap over documents",
    }
    summary = {name: summarise(scores) for name, scores in scored.items()}
    about = common.about(encoder, items | {"summary": summary})
    print(
        f"{encoder.name}, {args.task}: {len(train)} questions to fit, {len(test)} to score; {about['protocol']}."
    )
    print(_format_curve(rows, scored, rivals))
    print(_format_summary(summary))
    if about["n_skipped"]:
        print(
            f"{about['n_skipped']} sentences left out: the model cannot read them whole ({encoder.max_tokens} wordpieces at most)."
        )
    print(save_rows(folder, "layers", rows, about))
    return 0


def _questions(args) -> tuple[list[EdgeSentence], list[EdgeSentence]]:
    """Questions to fit on and to score."""
    from ..disk import data_path

    train = _read(args.data or data_path("treebank", "treebank.conllu"), args)
    halves = (train, _read(args.test, args)) if args.test else halves_by_document(train)
    if not all(map(n_questions, halves)):
        raise ValueError(
            f"both halves need questions; got {n_questions(halves[0])} to fit on and {n_questions(halves[1])} to score. Is --limit too small?"
        )
    return halves


def _read(path, args) -> list[EdgeSentence]:
    name = Path(path).name.removesuffix(".gz")
    if name.endswith((".jsonl", ".json")):
        return read_edges(path, limit=args.limit)
    return treebank_edges(common.first(iter_conllu(path), args.limit), args.task)


def _rows(name: str, scores: probing.LayerScores) -> list[dict]:
    low, high = scores.interval(lambda curves: curves)
    gains = [None, *map(float, scores.gains)]
    keys = ("layer", "f1", "low", "high", "gain", "mix")
    values = zip(range(scores.n_layers + 1), scores.f1, low, high, gains, scores.weights)
    plain = (
        (layer, float(f1), float(lo), float(hi), gain, float(mix)) for layer, f1, lo, hi, gain, mix in values
    )
    return [{"run": name, **dict(zip(keys, row)), "n": scores.n_test} for row in plain]


def _rival(name: str, counts: probing.Counts, n: int) -> dict:
    low, high = counts.interval()
    return {
        "run": name,
        "layer": None,
        "f1": counts.f1,
        "low": low,
        "high": high,
        "gain": None,
        "mix": None,
        "n": n,
    }


def summarise(scores: probing.LayerScores) -> dict[str, float | None]:
    """The numbers that say "where", with the interval of the first; None where they are not defined."""
    low, high = scores.interval()
    values = {
        "expected layer": scores.expected_layer,
        "low": low,
        "high": high,
        "K(Delta)": scores.delta_bits,
        "centre of gravity": scores.centre_of_gravity,
        "K(s)": scores.mixing_bits,
        "l2": scores.l2,
    }
    return {name: None if np.isnan(value) else round(float(value), 4) for name, value in values.items()}


def _format_curve(rows, scored, rivals) -> str:
    depths = range(next(iter(scored.values())).n_layers + 1)
    lines = [["layers 0 to", *map(str, depths)]]
    lines += [
        [name, *(f"{100 * scores.f1[layer]:.1f}" for layer in depths)] for name, scores in scored.items()
    ]
    table = align(lines)
    found = {row["run"]: row for row in rows if row["layer"] is None}
    beside = [
        f"{name}: {with_interval(found[name]['f1'], found[name]['low'], found[name]['high'])}"
        for name in rivals
    ]
    return f"F1, per cent\n{table}\n{'; '.join(beside)}"


def _format_summary(summary) -> str:
    def cell(value):
        return "-" if value is None else f"{value:.2f}"

    lines = [["run", "expected layer [95 %]", "K(Delta)", "centre of gravity", "K(s)"]]
    for name, s in summary.items():
        where = cell(s["expected layer"])
        interval = "" if s["low"] is None else f" [{cell(s['low'])}, {cell(s['high'])}]"
        lines.append(
            [name, where + interval, *(cell(s[key]) for key in ("K(Delta)", "centre of gravity", "K(s)"))]
        )
    return align(lines)
