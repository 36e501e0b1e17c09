"""``bertlook finetune``: teach a model a task, several times, beside majority, bag of words and its random twin."""

from __future__ import annotations

from argparse import ArgumentParser, Namespace

from ..corpora import OVERLAP, SHIPPED
from ..disk import Unfinished, align, claim_folder, save_rows, with_interval
from ..stats import METRICS
from . import common
from .chunks import digest_of


def add_arguments(parser: ArgumentParser) -> None:
    """The options of ``bertlook finetune``."""
    common.describe(
        parser,
        "Fine-tunes a model on a task with several seeds and scores it on test, with majority, a bag of words and the random twin, "
        "fine-tuned in the same way, beside it. Writes finetune.csv, finetune.json and each classifier (seed-0, seed-1, ...). "
        "Stopped in the middle, the same command goes on after the last epoch that was done.",
        "finetune --task sentiment --out result",
    )
    common.add_model(parser)
    add = parser.add_argument
    add("--task", metavar="NAME", help=f"{', '.join(SHIPPED)}, or a folder of the same form")
    train = "in place of --task: GLUE's files, .jsonl or .tsv, .gz too; with --dev"
    add("--train", metavar="FILE", help=train)
    dev = "the file to choose on; without --test it is reported on, and a tenth of train is chosen on"
    add("--dev", metavar="FILE", help=dev)
    add("--test", metavar="FILE", help="the file to report on, with labels")
    add("--metric", choices=METRICS, help="(default: matthews for CoLA, spearman for numbers, else accuracy)")
    overlap = "examples in two files: refuse, or drop the earlier (default: refuse)"
    add("--overlap", choices=OVERLAP, default="refuse", help=overlap)
    limit = "train on N examples only, drawn at random (the same for every seed)"
    add("--limit", type=int, metavar="N", help=limit)
    common.add_out(parser)
    common.add_training(parser, epochs=10)
    common.add_truncate(parser)
    common.add_no_twin(parser)
    common.add_device(parser, batch_size=32)
    common.add_force(parser)


def run(args: Namespace) -> int:
    """``bertlook finetune``: returns the exit code."""
    import numpy as np

    from ..analyses.finetuning import baselines, fine_tune, score
    from ..model import load_encoder

    common.at_least(args, seeds=1)
    task = _task(args)
    folder = claim_folder(args.out)
    encoder = load_encoder(args.model, device=args.device)
    rows = [_row(name, None, result) for name, result in baselines(task).items()]
    print(f"{task!r}. {task.description}")
    names = []
    models = common.with_twin(args, encoder)
    options = {**common.training(args), "truncate": args.truncate}
    same = {
        "command": "finetune",
        "fingerprints": [model.fingerprint for model in models],
        "examples_sha256": digest_of([task.labels, task.metric, *task.train, *task.dev, *task.test]),
        **{name: value for name, value in options.items() if name != "progress"},
    }
    work = Unfinished(folder, same, force=args.force)
    for model in models:
        name = encoder.name if model is encoder else f"{encoder.name}, random twin"
        names.append(name)
        for seed in range(args.seeds):
            own = folder / f"seed-{seed}" if model is encoder else None
            part = f"{'seed' if own else 'twin'}-{seed}"
            done = work.value(part)
            if done is None or (own and not own.is_dir()):
                kept = work.kept / f"{part}.safetensors"
                classifier = fine_tune(model, task, seed=seed, folder=own, checkpoint=kept, **options)
                best = next(row["epoch"] for row in classifier.history if row["kept"])
                row = _row(name, seed, score(classifier, task.test), best)
                done = work.keep(part, {"row": row, "about": classifier.about})
            rows.append(done["row"])
    cut, rate = done["about"]["n_cut"], done["about"]["learning_rate"]
    about = common.about(
        encoder,
        {
            "task": task.name,
            "description": task.description,
            "n_train": len(task.train),
            "n_dev": len(task.dev),
            "n_test": len(task.test),
            "n_cut": cut,
            "learning rate": rate,
            "epochs": args.epochs,
            "batch size": args.batch_size,
            "protocol": "the epoch is chosen on dev, the score is of test; 95 % bootstrap over test examples (whole groups), which does "
            "not contain the difference between seeds",
        },
    )
    lines = [["answers", "seed", "best epoch", "metric", "value [95 %]", "n"]]
    for row in rows:
        value = with_interval(row["value"], row["low"], row["high"], digits=3, factor=1)
        lines.append([row["answers"], row["seed"], row["epoch"], row["metric"], value, row["n"]])
    print(align(lines))
    for name in names if args.seeds > 1 else ():
        values = [row["value"] for row in rows if row["answers"] == name]
        print(
            f"{name}: mean {np.mean(values):.3f}, from {min(values):.3f} to {max(values):.3f} over {len(values)} seeds."
        )
    if cut:
        print(f"{cut} inputs of train and dev were cut to {encoder.max_tokens} wordpieces.")
    print(save_rows(folder, "finetune", rows, about))
    work.finished()
    return 0


def _task(args: Namespace):
    from ..corpora import load_task, read_glue

    if bool(args.task) == bool(args.train):
        raise ValueError("give either --task NAME, or --train FILE with --dev FILE.")
    if args.task:
        if unused := [name for name in ("dev", "test", "metric", "limit") if getattr(args, name) is not None]:
            raise ValueError(f"--{unused[0]} goes with --train; a task's folder brings its own.")
        return load_task(args.task)
    if not args.dev:
        raise ValueError("--train needs --dev FILE beside it.")
    return read_glue(
        args.train, args.dev, args.test, metric=args.metric, overlap=args.overlap, limit=args.limit
    )


def _row(name: str, seed: int | None, result, epoch: int | None = None) -> dict:
    return {
        "answers": name,
        "seed": seed,
        "epoch": epoch,
        **common.columns(result, "metric value low high n"),
    }
