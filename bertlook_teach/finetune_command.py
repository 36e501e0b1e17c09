"""``bertlook finetune``: teach a model a task, several times, beside majority, bag of words and its random twin."""

from __future__ import annotations

import argparse

from . import __version__
from .profile import writable_folder
from .report import align, save_rows
from .tasks import METRICS, OVERLAP, SHIPPED

__all__ = ["add_arguments", "run"]


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """The options of ``bertlook finetune``."""
    parser.description = (
        "Fine-tunes a model on a task with several seeds and scores it on test, with majority, a bag of words and the random twin, "
        "fine-tuned in the same way, beside it. Writes finetune.csv, finetune.json and each classifier (seed-0, seed-1, ...)."
    )
    add = parser.add_argument
    add(
        "--model",
        default="specimen",
        help="specimen, specimen-random, a hub name or a folder (default: specimen)",
    )
    add("--task", metavar="NAME", help=f"{', '.join(SHIPPED)}, or a folder of the same form")
    add(
        "--train",
        metavar="FILE",
        help="in place of --task: GLUE's files, .jsonl or .tsv, .gz too; with --dev",
    )
    add(
        "--dev",
        metavar="FILE",
        help="the file to choose on; without --test it is reported on, and a tenth of train is chosen on",
    )
    add("--test", metavar="FILE", help="the file to report on, with labels")
    add("--metric", choices=METRICS, help="(default: matthews for CoLA, spearman for numbers, else accuracy)")
    add(
        "--overlap",
        choices=OVERLAP,
        default="refuse",
        help="examples in two files: refuse, or drop the earlier (default: refuse)",
    )
    add(
        "--limit",
        type=int,
        metavar="N",
        help="train on N examples only, drawn by lot (the same for every seed)",
    )
    add("--out", metavar="DIR", required=True, help="folder for the result")
    add("--seeds", type=int, default=3, metavar="N", help="how often to fine-tune (default: 3)")
    add("--epochs", type=int, default=10, metavar="N", help="at most (default: 10)")
    add(
        "--learning-rate",
        type=float,
        metavar="X",
        help="(default: 5e-5 for BERT-base, more for narrower models)",
    )
    add("--batch-size", type=int, default=32, metavar="N")
    add("--truncate", action="store_true", help="cut inputs that are too long rather than stop")
    add("--no-twin", action="store_true", help="leave out the random twin")
    add("--device", default="auto", help="auto, cpu, cuda, mps (default: auto)")
    add("--quiet", action="store_true", help="no progress bar")


def run(args: argparse.Namespace) -> int:
    """``bertlook finetune``: returns the exit code."""
    import numpy as np

    from .encoder import load_encoder, random_twin
    from .finetune import fine_tune
    from .task_scores import baselines, score

    if args.seeds < 1:
        raise ValueError(f"--seeds is 1 or more; got {args.seeds}.")
    task = _task(args)
    folder = writable_folder(args.out)
    encoder = load_encoder(args.model, device=args.device)
    rows = [_row(name, None, result) for name, result in baselines(task).items()]
    models = [(encoder.name, encoder)]
    if not args.no_twin:
        models.append((f"{encoder.name}, random twin", random_twin(encoder)))
    print(f"{task!r}. {task.description}")
    options = {
        "epochs": args.epochs,
        "learning_rate": args.learning_rate,
        "batch_size": args.batch_size,
        "truncate": args.truncate,
        "progress": not args.quiet,
    }
    cut = 0
    for name, model in models:
        for seed in range(args.seeds):
            own = folder / f"seed-{seed}" if model is encoder else None
            classifier = fine_tune(model, task, seed=seed, folder=own, **options)
            best = next(row["epoch"] for row in classifier.history if row["kept"])
            rows.append(_row(name, seed, score(classifier, task.test), best))
            cut = classifier.about["n_cut"]
    about = {
        "model": encoder.name,
        "fingerprint": encoder.fingerprint,
        "task": task.name,
        "description": task.description,
        "n_train": len(task.train),
        "n_dev": len(task.dev),
        "n_test": len(task.test),
        "n_cut": cut,
        "learning rate": classifier.about["learning_rate"],
        "epochs": args.epochs,
        "batch size": args.batch_size,
        "protocol": "the epoch is chosen on dev, the score is of test; 95 % bootstrap over test examples (whole groups), which does "
        "not contain the difference between seeds",
        "version": __version__,
    }
    print(_format(rows))
    for name, _ in models if args.seeds > 1 else ():
        values = [row["value"] for row in rows if row["answers"] == name]
        print(
            f"{name}: mean {np.mean(values):.3f}, from {min(values):.3f} to {max(values):.3f} over {len(values)} seeds."
        )
    if cut:
        print(f"{cut} inputs of train and dev were cut to {encoder.max_tokens} wordpieces.")
    print(save_rows(folder, "finetune", rows, about))
    return 0


def _task(args: argparse.Namespace):
    from .tasks import load_task, read_glue

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
        "metric": result.metric,
        "value": result.value,
        "low": result.low,
        "high": result.high,
        "n": result.n,
    }


def _format(rows: list[dict]) -> str:
    lines = [["answers", "seed", "best epoch", "metric", "value [95 %]", "n"]]
    for row in rows:
        seed, epoch = ("" if row[key] is None else str(row[key]) for key in ("seed", "epoch"))
        value = f"{row['value']:.3f} [{row['low']:.3f}, {row['high']:.3f}]"
        lines.append([row["answers"], seed, epoch, row["metric"], value, str(row["n"])])
    return align(lines)
