"""A classifier is trained: all weights of a copy of an encoder learn a task, and those of the best epoch are kept."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from contextlib import closing
from dataclasses import astuple, dataclass, replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

from bertlook_teach.model import import_torch

from ...corpora import Task
from ...metrics import metric_value
from ...storage import cached, writable_folder
from .batches import pad, target, tokenize
from .classifier import Classifier, forward, with_classification_head
from .new_head import as_encoder
from .training import Checkpoint, checked_rate, train

if TYPE_CHECKING:
    from bertlook_teach.model import Encoder

EPOCHS = 10

BATCH_SIZE = 32

PATIENCE = 5  # epochs without a better dev score before stopping


def fine_tune(
    encoder: Encoder,
    task: Task,
    *,
    seed: int = 0,
    epochs: int = EPOCHS,
    learning_rate: float | None = None,
    batch_size: int = BATCH_SIZE,
    patience: int = PATIENCE,
    dropout: float | None = None,
    truncate: bool = False,
    progress: bool = True,
    folder: str | Path | None = None,
    keep: bool = False,
    checkpoint: str | Path | None = None,
) -> Classifier:
    """Teach a copy of an encoder a task, all its weights; the encoder given stays as it is.

    AdamW, the learning rate rising over the first tenth of the steps and then falling to zero. After each epoch dev is scored; the
    weights kept are those of the best epoch (of equal ones, that with the lower loss), and ``patience`` epochs without a better
    one end the training.

    Parameters
    ----------
    encoder : Encoder
    task : Task
    seed : int
        For the head, the order of the examples and the dropout: the same seed on the same machine gives the same classifier.
    epochs : int
    learning_rate : float, optional
        The highest one; by default `learning_rate_for`.
    batch_size, patience : int
    dropout : float, optional
        In place of what the model's configuration says.
    truncate : bool
        Cut inputs that are too long rather than refuse them; ``about["n_cut"]`` counts those of train and dev.
    progress : bool
        A progress bar on stderr.
    folder : path, optional
        Save the classifier there.
    keep : bool
        Keep the classifier as `bertlook_course.storage.cache` keeps results: the same training is then not done again.
    checkpoint : path, optional
        A file that keeps the training after each epoch, and goes when it is done: stopped in the middle, the same call goes on from it and
        ends with the same weights. Of other settings, examples or weights it counts as none.

    Raises
    ------
    ValueError
        If inputs are too long, a setting is out of range, the model's family has no classification head, or the loss
        becomes infinite.
    """
    settings = _Settings(seed, epochs, learning_rate, batch_size, patience, dropout, truncate)
    learn = partial(_fine_tune, encoder, task, settings, progress=progress, checkpoint=checkpoint)
    if not keep:
        return learn(folder=folder)
    learnt = task.name, task.labels, task.train, task.dev, task.metric
    done = cached(
        "classifier",
        (encoder, *learnt, *astuple(settings)),
        learn,
        out=Classifier.weights,
        back=partial(Classifier.from_weights, encoder),
        ships=False,
        version=1,
    )
    if folder is not None:
        done.save(folder)
    return done


@dataclass(frozen=True)
class _Settings:
    """How it is trained; see `fine_tune`."""

    seed: int
    epochs: int
    learning_rate: float | None
    batch_size: int
    patience: int
    dropout: float | None
    truncate: bool

    def __post_init__(self):
        if self.epochs < 1 or self.batch_size < 1 or self.patience < 1:
            raise ValueError(
                f"epochs, batch_size and patience are 1 or more; got {self.epochs}, {self.batch_size} and {self.patience}."
            )


class _Best:
    """The epochs so far, and the weights of the best of them: what is kept of a training beside its own state."""

    def __init__(self, tensors: Mapping[str, Any], record: Mapping):
        self.history, self._best = record.get("history", []), record.get("best")
        self.state = {key.removeprefix("best/"): t for key, t in tensors.items() if key.startswith("best/")}

    def take(self, row: dict, model) -> int:
        """Take one more epoch; how many have gone by since the best."""
        epoch, merit = len(self.history), (row["dev_score"], -row["dev_loss"])
        self.history.append(row)
        if self._best is None or merit > tuple(self._best[0]):
            self._best = (merit, epoch)
            self.state = {key: tensor.detach().clone() for key, tensor in model.state_dict().items()}
        return epoch - self._best[1]

    def kept(self) -> tuple[dict, dict]:
        """What it is made of, for a checkpoint."""
        tensors = {f"best/{key}": tensor for key, tensor in self.state.items()}
        return tensors, {"history": self.history, "best": self._best}

    def rows(self) -> tuple[dict, ...]:
        return tuple({**row, "kept": i == self._best[1]} for i, row in enumerate(self.history))


def _fine_tune(
    encoder, task: Task, given: _Settings, *, progress: bool, checkpoint, folder=None
) -> Classifier:
    rate = checked_rate(encoder, given.learning_rate)
    items, targets, n_cut = _examples(encoder, task, given.truncate)
    if folder is not None:
        folder = writable_folder(folder)

    model = with_classification_head(encoder, task.labels, given.seed, given.dropout)
    name = f"{encoder.name}, tuned on {task.name}"
    about = _about(encoder, task, given, rate, n_cut)
    learnt = as_encoder(model, encoder, name), model, task.labels, task.name, task.metric, task.is_pair
    draft = Classifier(*learnt, given.truncate, about=about)
    same = {**about, "truncate": given.truncate, "examples": _examples_digest(task)}
    unfinished = checkpoint and Checkpoint(Path(checkpoint), same)
    begun = unfinished.read() if unfinished else ({}, {})
    best = _Best(*begun)

    def loss_of(rows: list[int]):
        batch = pad(encoder, [items[i] for i in rows], [targets[i] for i in rows], task.is_regression)
        return _loss(forward(model, encoder, batch), batch.labels), len(rows)

    def keep_epoch(tensors, record) -> None:
        of_best, told = best.kept()
        unfinished.write(tensors | of_best, record | told)

    course = train(
        model,
        loss_of,
        len(items),
        device=encoder.device,
        epochs=given.epochs,
        batch_size=given.batch_size,
        rate=rate,
        seed=given.seed,
        name=name,
        progress=progress,
        begun=begun,
        keep=unfinished and keep_epoch,
    )
    with closing(course):
        for train_loss, bar in course:
            model.eval()
            row = {"epoch": len(best.history) + 1, "train_loss": train_loss, **_on_dev(draft, task)}
            bar.set_postfix(dev=f"{row['dev_score']:.3f}")
            if best.take(row, model) >= given.patience:
                break
    model.load_state_dict(best.state)
    model.eval()
    done = replace(draft, encoder=as_encoder(model, encoder, name), history=best.rows())
    if folder is not None:
        done.save(folder)
    if unfinished:
        unfinished.remove()
    return done


def _examples(encoder, task: Task, truncate: bool) -> tuple[list, list, int]:
    """What is learnt from, its targets, and how many inputs of train and dev were cut."""
    items, cut_train = tokenize(encoder, task.train, truncate)
    _, cut_dev = tokenize(encoder, task.dev, truncate)
    return items, [target(example, task.labels) for example in task.train], cut_train + cut_dev


def _about(encoder, task: Task, given: _Settings, rate: float, n_cut: int) -> dict:
    return {
        "encoder": encoder.name,
        "fingerprint": encoder.fingerprint,
        "seed": given.seed,
        "epochs": given.epochs,
        "learning_rate": rate,
        "batch_size": given.batch_size,
        "patience": given.patience,
        "dropout": given.dropout,
        "n_train": len(task.train),
        "n_cut": n_cut,
    }


def _examples_digest(task: Task) -> str:
    parts = (task.name, task.labels, task.metric, *task.train, None, *task.dev)
    return hashlib.sha256("\n".join(map(repr, parts)).encode("utf-8", "backslashreplace")).hexdigest()


def _loss(logits, labels):
    torch = import_torch()

    if labels.is_floating_point():
        return torch.nn.functional.mse_loss(logits[:, 0], labels)
    return torch.nn.functional.cross_entropy(logits, labels)


def _on_dev(classifier: Classifier, task: Task) -> dict[str, float]:
    torch = import_torch()

    logits = torch.from_numpy(classifier.logits(task.dev))
    targets = torch.tensor([target(example, task.labels) for example in task.dev])
    loss = _loss(logits, targets.float() if task.is_regression else targets.long())
    gold = [example.label for example in task.dev]
    answers = logits[:, 0].tolist() if task.is_regression else [task.labels[i] for i in logits.argmax(dim=-1)]
    return {"dev_loss": float(loss), "dev_score": metric_value(task.metric, answers, gold)}
