"""A model taught a task several times, beside majority, a bag of words and its random twin."""

from __future__ import annotations

import numpy as np

from ...corpora import Task
from ...storage import IN_PLACE, Report, Work, about, at_least, attributes, interval, tabulate
from .task_scores import baselines, score
from .task_training import fine_tune


@at_least(seeds=1)
def report(
    encoder,
    task: Task,
    *,
    twin=None,
    seeds: int = 3,
    epochs: int = 10,
    learning_rate: float | None = None,
    truncate: bool = False,
    batch_size: int = 32,
    work: Work = IN_PLACE,
) -> Report:
    """Fine-tunes a model on a task with several seeds and scores it on test.

    Majority, a bag of words and the random twin, fine-tuned in the same way, stand beside it.

    Parameters
    ----------
    encoder, twin : encoder
    task : Task
    seeds : int
        Train N times, with another seed each time.
    epochs : int
        At most N epochs.
    learning_rate : float, optional
        Step size of the training (default: 5e-5 for BERT-base, more for narrower models).
    truncate : bool
        Cut inputs that are too long.
    batch_size : int
    work : Work
        With a folder in ``work.out`` each classifier of the model is saved there: seed-0, seed-1, ...

    Returns
    -------
    Report
        With one table, ``finetune``: a row for each baseline and each seed.
    """
    rows = [_row(name, None, result) for name, result in baselines(task).items()]
    options = {
        "epochs": epochs,
        "learning_rate": learning_rate,
        "batch_size": batch_size,
        "truncate": truncate,
    }
    means = []
    for model in [encoder] if twin is None else [encoder, twin]:
        name = encoder.name if model is encoder else f"{encoder.name}, random twin"
        for seed in range(seeds):
            own = work.out / f"seed-{seed}" if model is encoder and work.out else None

            def teach(checkpoint, model=model, seed=seed, own=own, name=name) -> dict:
                how = {"folder": own, "checkpoint": checkpoint, "progress": work.shows, **options}
                classifier = fine_tune(model, task, seed=seed, **how)
                best = next(row["epoch"] for row in classifier.history if row["kept"])
                row = _row(name, seed, score(classifier, task.test), best)
                return {"row": row, "about": classifier.about}

            part = f"{'seed' if model is encoder else 'twin'}-{seed}"
            done = work.kept(part, teach, result=own, **options)
            rows.append(done["row"])
        if seeds > 1:
            values = [row["value"] for row in rows[-seeds:]]
            spread = f"from {min(values):.3f} to {max(values):.3f} over {seeds} seeds"
            means.append(f"{name}: mean {np.mean(values):.3f}, {spread}.")
    cut = done["about"]["n_cut"]
    said = {
        "task": task.name,
        "description": task.description,
        "n_train": len(task.train),
        "n_dev": len(task.dev),
        "n_test": len(task.test),
        "n_cut": cut,
        "learning rate": done["about"]["learning_rate"],
        "epochs": epochs,
        "batch size": batch_size,
        "protocol": "the epoch is chosen on dev, the score is of test; 95 % bootstrap over test examples (whole groups), which does "
        "not contain the difference between seeds",
    }
    cells = {name: name for name in ("answers", "seed")} | {"best epoch": "epoch", "metric": "metric"}
    cells |= {"value [95 %]": interval(value="value", digits=3, factor=1), "n": "n"}
    text = [f"{task!r}. {task.description}", tabulate(rows, cells), *means]
    if cut:
        text.append(f"{cut} inputs of train and dev were cut to {encoder.max_tokens} wordpieces.")
    return Report("\n".join(text), {"finetune": rows}, about(encoder, said))


def _row(name: str, seed: int | None, result, epoch: int | None = None) -> dict:
    return {"answers": name, "seed": seed, "epoch": epoch, **attributes(result, "metric value low high n")}
