"""``bertlook layers``: where in a model a label becomes readable, beside lists of words, a random twin and made-up labels."""

from __future__ import annotations

import argparse
import sys
from functools import partial
from itertools import islice
from pathlib import Path

import numpy as np

from . import __version__, layers
from .corpora import iter_conllu
from .edge_tasks import TASKS, EdgeSentence, n_questions, read_edges, treebank_edges
from .probes import halves_by_document
from .profile import writable_folder
from .report import align, save_rows, with_interval

__all__ = ["add_arguments", "run"]


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """The options of ``bertlook layers``."""
    parser.description = (
        "At which layer can a label be read? Fits, for every depth l, a probe on a mix of the layers 0 (embeddings) to l, scores it on "
        "other documents, and prints expected layer and centre of gravity (Tenney et al. 2019), with a list of words, the random twin and "
        "made-up labels beside them. Writes layers.csv (a row a probe) and layers.json."
    )
    add = parser.add_argument
    add("--model", default="specimen", help="specimen, specimen-random, a hub name or a folder (default: specimen)")  # fmt: skip
    add("--task", choices=tuple(TASKS), required=True, help="word classes, relations, kinds of entity, or coreference")  # fmt: skip
    add("--train", metavar="FILE", help="to fit on: CoNLL-U (with Entity= for entity and coref), or JSON lines with tokens and targets; "
        ".gz too (default: every second document of the shipped treebank)")  # fmt: skip
    add(
        "--test",
        metavar="FILE",
        help="to score on (default with --train: every second document of that file)",
    )
    add("--out", metavar="DIR", required=True, help="folder for the result")
    add("--limit", type=int, metavar="N", help="use only the first N sentences of each file")
    add("--cases", type=int, metavar="N", help="fit on at most N questions, drawn by lot")
    add(
        "--hidden",
        type=int,
        default=0,
        metavar="N",
        help="units of a hidden layer (default: 0, a linear probe)",
    )
    add("--l2", type=float, help="penalty on the maps (default: chosen among the training documents)")
    add("--iterations", type=int, default=layers.MAX_ITERATIONS, metavar="N", help=f"at most so many (default: {layers.MAX_ITERATIONS})")  # fmt: skip
    add("--seeds", type=int, default=2, metavar="N", help="further runs, each on four fifths of the documents (default: 2)")  # fmt: skip
    add("--no-controls", action="store_true", help="leave out the random twin and the made-up labels")
    add("--batch-size", type=int, default=32, metavar="N")
    add("--device", default="auto", help="auto, cpu, cuda, mps (default: auto)")
    add("--quiet", action="store_true", help="no progress bar")


def run(args: argparse.Namespace) -> int:
    """``bertlook layers``: returns the exit code."""
    from tqdm import tqdm

    from .encoder import load_encoder, random_twin

    for name, least in (("limit", 2), ("cases", 2), ("seeds", 0), ("hidden", 0), ("iterations", 1)):
        value = getattr(args, name)
        if value is not None and value < least:
            raise ValueError(f"--{name} is a number of at least {least}; got {value}.")
    if args.test and not args.train:
        raise ValueError("--test needs --train: what is scored must not be what was fitted on.")
    folder = writable_folder(args.out)
    halves = _questions(args)
    encoder = load_encoder(args.model, device=args.device)

    def features(model) -> tuple[layers.SpanVectors, layers.SpanVectors]:
        bar = partial(tqdm, desc=model.name, unit="sentence", disable=args.quiet, file=sys.stderr)
        read = partial(layers.read_states, model, batch_size=args.batch_size, progress=bar)
        found = []
        for half in halves:  # one after the other: the hidden states of a half are let go
            found.append(layers.span_vectors(read(s.words for s in half), half, args.task))
        train, test = found
        if args.cases is not None:
            train = layers.draw_cases(train, args.cases)
        return train, test

    train, test = features(encoder)
    options = {"hidden": args.hidden, "l2": args.l2, "max_iterations": args.iterations}
    runs = {"model": (train, test, None)} | {
        f"seed {seed + 1}": (train, test, seed) for seed in range(args.seeds)
    }
    if not args.no_controls:
        runs["random twin"] = (*features(random_twin(encoder)), None)
        runs["made-up labels"] = (*layers.control_labels(train, test), None)
    rows, scored = [], {}
    for name, (fit_on, score_on, seed) in runs.items():
        bar = partial(tqdm, desc=f"probes, {name}", unit="layer", disable=args.quiet, file=sys.stderr)
        scores = scored[name] = layers.cumulative_probes(fit_on, score_on, seed=seed, progress=bar, **options)
        rows += _rows(name, scores)
    rivals = {
        "commonest label": layers.majority_baseline(train, test),
        "list of words": layers.form_baseline(train, test),
    }
    rows += [_rival(name, counts, len(test)) for name, counts in rivals.items()]
    about = {
        "model": encoder.name,
        "fingerprint": encoder.fingerprint,
        "task": args.task,
        "asks": TASKS[args.task][2],
        "train": Path(args.train).name if args.train else "treebank.conllu, every second document",
        "test": Path(args.test).name if args.test else "every second document",
        "n_train": len(train),
        "n_test": len(test),
        "n_unread": train.n_unread + test.n_unread,
        "probe": f"hidden {args.hidden}, at most {args.iterations} iterations",
        "protocol": "one probe a depth, fitted and scored on different documents; micro-F1; 95 % bootstrap over documents",
        "version": __version__,
    }
    summary = {name: summarise(scores) for name, scores in scored.items()}
    about["summary"] = summary
    print(
        f"{encoder.name}, {args.task}: {len(train)} questions to fit, {len(test)} to score; {about['protocol']}."
    )
    print(_format_curve(rows, scored, rivals))
    print(_format_summary(summary))
    if about["n_unread"]:
        print(f"{about['n_unread']} sentences left out: the model cannot read them whole ({encoder.max_tokens} wordpieces at most).")  # fmt: skip
    print(save_rows(folder, "layers", rows, about))
    return 0


def _questions(args) -> tuple[list[EdgeSentence], list[EdgeSentence]]:
    """Questions to fit on and to score."""
    from ._paths import data_path

    train = _read(args.train or data_path("treebank", "treebank.conllu"), args)
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
    return treebank_edges(islice(iter_conllu(path), args.limit), args.task)


def _rows(name: str, scores: layers.LayerScores) -> list[dict]:
    low, high = scores.interval(lambda curves: curves)
    return [
        {"run": name, "layer": layer, "f1": float(scores.f1[layer]), "low": float(low[layer]), "high": float(high[layer]),
         "gain": float(scores.gains[layer - 1]) if layer else None, "mix": float(scores.weights[layer]), "n": scores.n_test}
        for layer in range(scores.n_layers + 1)
    ]  # fmt: skip


def _rival(name: str, counts: layers.Counts, n: int) -> dict:
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


def summarise(scores: layers.LayerScores) -> dict[str, float | None]:
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
