"""``bertlook layers``: what each layer of a model knows, beside lists of words, a random twin and made-up labels."""

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
        "At which layer can a label be read? Fits a probe to each layer alone, 0 being the embeddings, scores it on other documents, and says "
        "which layer so far is the best, chosen on training documents; with a list of words, the random twin and made-up labels beside it. "
        "--mix adds the mixes of Tenney et al. (2019). Writes layers.csv (a row a probe) and layers.json.",
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
        help="penalty on the maps (default: chosen for each layer among the training documents)",
    )
    mix = "also fit the paper's mixes of the layers 0 to l, with expected layer and centre of gravity (takes several times as long)"
    add("--mix", action="store_true", help=mix)
    most = f"give a fit up after N iterations; it then says that it has not finished (default: {probing.MAX_ITERATIONS})"
    add("--max-iterations", type=int, default=probing.MAX_ITERATIONS, metavar="N", help=most)
    seeds = "further runs, each fitted on four fifths of the documents with the same penalties (default: 0)"
    add("--seeds", type=int, default=0, metavar="N", help=seeds)
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
    options = {"hidden": args.hidden, "max_iterations": args.max_iterations}

    def score(name: str, fit_on, score_on, fit=probing.layer_scores, **more):
        progress = partial(common.bar(args, name, "layer"), total=fit_on.n_layers + 1)
        return fit(fit_on, score_on, progress=progress, **options, **more)

    model = score("model", train, test, l2=args.l2)
    scored = {"model": model}
    for seed in range(args.seeds):
        scored[f"seed {seed + 1}"] = score(f"seed {seed + 1}", train, test, l2=model.l2, seed=seed)
    if not args.no_twin:
        twin = features(random_twin(encoder))
        scored["random twin"] = score("random twin", *twin, l2=args.l2)
        made_up = probing.control_labels(train, test)
        scored["made-up labels"] = score("made-up labels", *made_up, l2=model.l2)
    mixes, read = {}, {"model": (train, test)} | ({} if args.no_twin else {"random twin": twin})
    for name in read if args.mix else ():
        l2 = float(scored[name].l2[scored[name].best[-1]])  # that of the best layer
        mixes[name] = score(f"mixes, {name}", *read[name], probing.cumulative_probes, l2=l2)
    rivals = {
        "commonest label": probing.majority_baseline(train, test),
        "list of words": probing.form_baseline(train, test),
    }
    rows = [row for name, scores in scored.items() for row in _rows(name, scores)]
    rows += [row for name, scores in mixes.items() for row in _mix_rows(f"mixes, {name}", scores)]
    rows += [_rival(name, counts, len(test)) for name, counts in rivals.items()]
    fitted = scored | {f"mixes, {name}": scores for name, scores in mixes.items()}
    said = [(name, line) for name, scores in fitted.items() for line in scores.warnings()]
    warnings = [
        f"{name}: {line}" for name, line in said if name == "model" or line.startswith("NOT FINISHED")
    ]
    items = {
        "task": args.task,
        "asks": TASKS[args.task][2],
        "train": Path(args.data).name if args.data else "treebank.conllu, every second document",
        "test": Path(args.test).name if args.test else "every second document",
        "n_train": len(train),
        "n_test": len(test),
        "n_skipped": train.n_skipped + test.n_skipped,
        "probe": f"softmax regression on one layer, hidden {args.hidden}; a fit ends when its gradient is {probing.TOLERANCE:g} of that at the start",
        "protocol": "fitted and scored on different documents; layer and penalty chosen on training documents; micro-F1; 95 % bootstrap over documents",
        "converged": all(bool(scores.converged.all()) for scores in fitted.values()),
        "warnings": warnings,
    }
    summary = {name: summarise(scores) for name, scores in scored.items()}
    of_mixes = {name: summarise_mix(scores) for name, scores in mixes.items()}
    about = common.about(encoder, items | {"summary": summary} | ({"mixes": of_mixes} if mixes else {}))
    print(
        f"{encoder.name}, {args.task}: {len(train)} questions to fit, {len(test)} to score; {about['protocol']}."
    )
    print(_format_curve(rows, scored, rivals))
    print(_format_summary(summary))
    if mixes:
        print(_format_mixes(mixes, of_mixes))
    if about["n_skipped"]:
        print(
            f"{about['n_skipped']} sentences left out: the model cannot read them whole ({encoder.max_tokens} wordpieces at most)."
        )
    for line in warnings:
        print(line)
    print(save_rows(folder, "layers", rows, about))
    return 0 if about["converged"] else 1


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
    keep = ("layer", "f1", "low", "high", "best so far", "f1 so far", "l2", "converged", "n")
    return [{"run": name, "mix": None, **{key: row[key] for key in keep}} for row in scores.rows()]


def _mix_rows(name: str, scores: probing.MixScores) -> list[dict]:
    low, high = scores.interval(lambda curves: curves)
    columns = zip(scores.f1, low, high, scores.weights, scores.converged)
    return [
        {
            **_blank(name, scores.n_test),
            "layer": layer,
            "f1": float(f1),
            "low": float(bottom),
            "high": float(top),
            "mix": float(mix),
            "l2": scores.l2,
            "converged": bool(done),
        }
        for layer, (f1, bottom, top, mix, done) in enumerate(columns)
    ]


def _blank(name: str, n: int) -> dict:
    keys = ("run", "mix", "layer", "f1", "low", "high", "best so far", "f1 so far", "l2", "converged", "n")
    return dict.fromkeys(keys) | {"run": name, "n": n}


def _rival(name: str, counts: probing.Counts, n: int) -> dict:
    low, high = counts.interval()
    return _blank(name, n) | {"f1": counts.f1, "low": low, "high": high}


def summarise(scores: probing.LayerScores) -> dict[str, float | int | None]:
    """The embeddings, the best of all layers, its gain with an interval, and the expected layer where that gain is sure, else None."""
    curve = scores.so_far
    low, high = curve.gain_interval()
    values = {
        "embeddings": curve.f1[0],
        "best layer": int(scores.best[-1]),
        "stays best": scores.share_of_choice(),
        "F1": curve.f1[-1],
        "gain": curve.gain,
        "low": low,
        "high": high,
        "expected layer": curve.expected_layer,
    }
    if curve.sure:
        values |= dict(zip(("expected low", "expected high"), curve.interval()))
    return {name: None if np.isnan(value) else round(float(value), 4) for name, value in values.items()}


def summarise_mix(scores: probing.MixScores) -> dict[str, float | None]:
    """The same of a mix, with the numbers that say "where"; None where the gain is not sure."""
    low, high = scores.gain_interval()
    values = {
        "F1": scores.f1[-1],
        "gain": scores.gain,
        "low": low,
        "high": high,
        "expected layer": scores.expected_layer,
        "K(Delta)": scores.delta_bits,
        "centre of gravity": scores.centre_of_gravity,
        "K(s)": scores.mixing_bits,
        "l2": scores.l2,
        "even": scores.even,
    }
    return {name: None if np.isnan(value) else round(float(value), 4) for name, value in values.items()}


def _format_curve(rows, scored, rivals) -> str:
    depths = range(next(iter(scored.values())).n_layers + 1)
    lines = [["layer alone", *map(str, depths)]]
    lines += [
        [name, *(f"{100 * scores.f1[layer]:.1f}" for layer in depths)] for name, scores in scored.items()
    ]
    found = {row["run"]: row for row in rows if row["layer"] is None}
    beside = [
        f"{name}: {with_interval(found[name]['f1'], found[name]['low'], found[name]['high'])}"
        for name in rivals
    ]
    return f"F1, per cent\n{align(lines)}\n{'; '.join(beside)}"


def _cell(value) -> str:
    return "-" if value is None else f"{value:.2f}"


def _gain(s) -> str:
    return f"{100 * s['gain']:+.1f} [{100 * s['low']:+.1f}, {100 * s['high']:+.1f}]"


def _format_summary(summary) -> str:
    lines = [["run", "best layer", "stays best", "adds to the embeddings [95 %]", "expected layer [95 %]"]]
    for name, s in summary.items():
        where = _cell(s["expected layer"])
        if s["expected layer"] is not None:
            where += f" [{_cell(s['expected low'])}, {_cell(s['expected high'])}]"
        stays = "-" if s["stays best"] is None else f"{100 * s['stays best']:.0f} %"
        lines.append([name, str(int(s["best layer"])), stays, _gain(s), where])
    return f"{align(lines)}\nStays best: in so many samples of the documents that chose it.\n-: no depth is named where the gain is not sure (its interval does not lie above 0)."


def _format_mixes(mixes, summary) -> str:
    lines = [
        ["mix of all layers", "F1", "adds [95 %]", "expected layer", "K(Delta)", "centre of gravity", "K(s)"]
    ]
    for name, s in summary.items():
        cells = (_cell(s[key]) for key in ("expected layer", "K(Delta)", "centre of gravity", "K(s)"))
        lines.append([name, f"{100 * s['F1']:.1f}", _gain(s), *cells])
    chosen = "; ".join(f"{name}: l2 {s.l2:g}, even {s.even:g}, {s.chosen_on}" for name, s in mixes.items())
    return f"{align(lines)}\nPenalties: {chosen}."
