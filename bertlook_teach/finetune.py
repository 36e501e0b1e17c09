"""Fine-tuning: an encoder learns a task, and becomes a classifier that reads its answer off [CLS].

A `Classifier` holds an ordinary `Encoder`, so every measure of the course works on what fine-tuning made of it; its folder is an
ordinary sequence-classification folder of transformers.
"""

from __future__ import annotations

import copy
import json
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, fields
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from .profile import writable_folder
from .store import kept
from .task_scores import measure
from .tasks import Example, Task

if TYPE_CHECKING:
    from .encoder import Encoder

__all__ = ["Batch", "Classifier", "fine_tune", "learning_rate_for", "load_classifier"]

EPOCHS = 10
BATCH_SIZE = 32
PATIENCE = 5  # epochs without a better dev score before stopping
WARM_UP = 0.1  # share of all steps over which the learning rate rises
WEIGHT_DECAY = 0.01
MAX_NORM = 1.0
ABOUT = "bertlook.json"
NO_LABEL = -100  # what torch's cross-entropy leaves out


class Batch(NamedTuple):
    """Padded inputs of some examples: integer tensors (example, token), and labels (example,).

    ``labels`` are class indices (-100 where an example has none), or floats for a regression (NaN where there is none).
    """

    input_ids: Any
    attention_mask: Any
    segment_ids: Any
    labels: Any


@dataclass(frozen=True, eq=False)
class Classifier:
    """An encoder and what reads a task's answer off it.

    Attributes
    ----------
    encoder : Encoder
        The fine-tuned encoder; ``encoder.model`` is part of ``model``, so hooks on one act on the other.
    model : torch module
        The sequence-classification model of transformers.
    labels : tuple of str
        The classes in the order of the logits; empty for a regression (one logit, the number itself).
    task_name, metric : str
    is_pair : bool or None
        Whether it was trained on pairs; None if that is not known.
    truncate : bool
        Whether an input that is too long is cut (the longer text first) or refused.
    history : tuple of dict
        A row an epoch: ``epoch`` (from 1), ``train_loss``, ``dev_loss``, ``dev_score``, ``kept`` (its weights are these).
    about : dict
        How it was trained: encoder, fingerprint, seed, learning rate and the like.
    """

    encoder: Encoder
    model: Any
    labels: tuple[str, ...]
    task_name: str
    metric: str
    is_pair: bool | None = None
    truncate: bool = False
    history: tuple[dict, ...] = ()
    about: dict = field(default_factory=dict)

    @property
    def is_regression(self) -> bool:
        return not self.labels

    def readout(self, hidden_last):
        """The answer, given the encoder's last hidden vectors: it sees those of [CLS] only. Gradients pass through.

        Parameters
        ----------
        hidden_last : tensor of shape (batch, token, width)

        Returns
        -------
        logits : tensor of shape (batch, class); (batch, 1) for a regression
        """
        return _readout(self.model, hidden_last)

    def encode(self, examples: Sequence[Example], *, batch_size: int = 64) -> Iterator[Batch]:
        """The examples in their order as padded batches on the encoder's device.

        Raises
        ------
        ValueError
            If an input is too long (and ``truncate`` is off), a label is no class of this task, or pairs are mixed with texts.
        """
        examples = list(examples)
        _check_kind(self, examples)
        items, _ = tokenize(self.encoder, examples, self.truncate)
        targets = [_target(example, self.labels) for example in examples]
        for start in range(0, len(items), batch_size):
            rows = slice(start, start + batch_size)
            yield _pad(self.encoder, items[rows], targets[rows], self.is_regression)

    def logits(self, examples: Sequence[Example], *, batch_size: int = 64) -> np.ndarray:
        """Shape (example, class), float32; for a regression (example, 1), the predicted numbers."""
        import torch

        with torch.inference_mode():
            parts = [
                _forward(self.model, self.encoder, b) for b in self.encode(examples, batch_size=batch_size)
            ]
        return torch.cat(parts).float().cpu().numpy()

    def predict(self, examples: Sequence[Example], *, batch_size: int = 64) -> list:
        """The likeliest class of each example, or the number for a regression."""
        logits = self.logits(examples, batch_size=batch_size)
        return (
            logits[:, 0].tolist() if self.is_regression else [self.labels[i] for i in logits.argmax(axis=-1)]
        )

    def weights(self) -> dict[str, Any]:
        """Everything about it that its encoder of before does not know, as arrays and plain values: for `from_weights`."""
        known = {
            one.name: getattr(self, one.name) for one in fields(self) if one.name not in ("encoder", "model")
        }
        return known | {"name": self.encoder.name, "state": state_arrays(self.model)}

    @classmethod
    def from_weights(cls, encoder: Encoder, weights: dict[str, Any]) -> Classifier:
        """The classifier that was made of ``encoder`` and gave these `weights`."""
        known = dict(weights)
        name, state = known.pop("name"), known.pop("state")
        model = _with_new_head(encoder, known["labels"], 0, known["about"]["dropout"])
        load_state_arrays(model, state)
        return cls(_as_encoder(model, encoder, name), model, **known)

    def save(self, folder: str | Path) -> Path:
        """Write model, tokenizer and training record; ``AutoModelForSequenceClassification.from_pretrained(folder)`` reads it too."""
        from .encoder import quiet_loading

        if getattr(self.encoder, "off", ()):
            raise ValueError(
                f"{self.encoder.name} has lost heads, which transformers' folders cannot hold: nobody could read it again. Save the "
                "encoder with bertlook_teach.pruning.save_pruned, or the classifier before it was pruned."
            )
        folder = writable_folder(folder)
        with quiet_loading():
            self.model.save_pretrained(folder)
            self.encoder.tokenizer.save_pretrained(folder)
        record = {
            "task": self.task_name,
            "metric": self.metric,
            "is_pair": self.is_pair,
            "truncate": self.truncate,
            "about": self.about,
            "history": list(self.history),
        }
        (folder / ABOUT).write_text(json.dumps(record, indent=1, ensure_ascii=False) + "\n", encoding="utf-8")
        return folder

    def __repr__(self) -> str:
        kind = "a number" if self.is_regression else " / ".join(self.labels)
        return f"Classifier({self.encoder.name!r}, {self.task_name}: {kind})"


# --- inputs --------------------------------------------------------------------------------------------


def tokenize(
    encoder: Encoder, examples: Sequence[Example], truncate: bool
) -> tuple[list[tuple[list, list]], int]:
    """Vocabulary numbers and segment ids of each example, and how many had to be cut.

    Raises
    ------
    ValueError
        If inputs are too long and are not to be cut; with their number.
    """
    if not examples:
        raise ValueError("no example was given.")
    texts = [example.text for example in examples]
    if examples[0].text_pair is not None:
        texts = [texts, [example.text_pair for example in examples]]
    else:
        texts = [texts]
    options = {"return_token_type_ids": True, "return_attention_mask": False, "verbose": False}
    encoded = encoder.tokenizer(*texts, **options)
    lengths = [len(ids) for ids in encoded["input_ids"]]
    too_long = sum(length > encoder.max_tokens for length in lengths)
    if too_long and not truncate:
        raise ValueError(
            f"{too_long} of {len(examples)} inputs are longer than the {encoder.max_tokens} wordpieces that {encoder.name} reads (the "
            f"longest has {max(lengths)}). Leave them out, or pass truncate=True to cut the longer text of each."
        )
    if too_long:
        encoded = encoder.tokenizer(
            *texts, truncation="longest_first", max_length=encoder.max_tokens, **options
        )
    return list(zip(encoded["input_ids"], encoded["token_type_ids"])), too_long


def _check_kind(classifier: Classifier, examples: Sequence[Example]) -> None:
    kinds = {example.text_pair is not None for example in examples}
    if len(kinds) > 1 or (classifier.is_pair is not None and kinds - {classifier.is_pair}):
        wanted = (
            "one kind" if classifier.is_pair is None else "pairs" if classifier.is_pair else "single texts"
        )
        raise ValueError(
            f"{classifier.task_name} is read from {wanted}, and the examples are not all of that kind."
        )


def _target(example: Example, labels: Sequence[str]) -> float:
    if example.label is None:
        return NO_LABEL if labels else float("nan")
    if not labels:
        return float(example.label)
    if example.label not in labels:
        raise ValueError(
            f"{example.text[:60]!r} has the label {example.label!r}; this classifier knows {', '.join(labels)}."
        )
    return labels.index(example.label)


def _pad(encoder: Encoder, items, targets, regression: bool) -> Batch:
    import torch

    longest = max(len(ids) for ids, _ in items)
    ids = torch.full((len(items), longest), encoder.tokenizer.pad_token_id or 0)
    mask, segments = torch.zeros_like(ids), torch.zeros_like(ids)
    for row, (pieces, sides) in enumerate(items):
        ids[row, : len(pieces)] = torch.tensor(pieces)
        segments[row, : len(pieces)] = torch.tensor(sides)
        mask[row, : len(pieces)] = 1
    labels = torch.tensor(targets, dtype=torch.float32 if regression else torch.long)
    return Batch(*(tensor.to(encoder.device) for tensor in (ids, mask, segments, labels)))


# --- the model -----------------------------------------------------------------------------------------


def _forward(model, encoder: Encoder, batch: Batch):
    inputs = {"input_ids": batch.input_ids, "attention_mask": batch.attention_mask}
    if encoder.has_segments:
        inputs["token_type_ids"] = batch.segment_ids
    return model(**inputs).logits


def _readout(model, hidden):
    """What the classification model does after its encoder: its own forward pass with the encoder's answer put in place."""
    import torch
    from transformers.modeling_outputs import BaseModelOutput, BaseModelOutputWithPooling

    base = model.base_model
    pooler = getattr(base, "pooler", None)

    class Given(torch.nn.Module):
        def forward(self, *_, **__):
            if pooler is None:
                return BaseModelOutput(last_hidden_state=hidden)
            if isinstance(pooler, torch.nn.Linear):  # ALBERT
                pooled = base.pooler_activation(pooler(hidden[:, 0]))
            else:
                pooled = pooler(hidden)
            return BaseModelOutputWithPooling(last_hidden_state=hidden, pooler_output=pooled)

    stand_in = copy.copy(model)
    stand_in._modules = {**model._modules, model.base_model_prefix: Given()}
    return stand_in(inputs_embeds=hidden).logits


def _with_new_head(encoder: Encoder, labels: Sequence[str], seed: int, dropout: float | None):
    """A copy of the encoder with a fresh classification head drawn with ``seed``; without labels it is one for a regression."""
    from transformers import AutoModelForSequenceClassification

    kind = "single_label_classification" if labels else "regression"
    names = labels or ("score",)
    return with_new_head(encoder, AutoModelForSequenceClassification, names, seed, dropout, problem_type=kind)


def with_new_head(
    encoder: Encoder, auto_class, names: Sequence[str], seed: int, dropout: float | None, **settings
):
    """A copy of the encoder inside a model of transformers' ``auto_class``, its head drawn with ``seed``.

    Parameters
    ----------
    encoder : Encoder
    auto_class : class
        ``AutoModelForSequenceClassification``, ``AutoModelForTokenClassification``.
    names : sequence of str
        The classes in the order of the logits.
    seed : int
    dropout : float or None
        In place of what the model's configuration says.
    **settings
        Further fields of the configuration.

    Raises
    ------
    ValueError
        If the model's family has no such head, or the encoder's weights do not fit the model.
    """
    import torch

    from .encoder import quiet_loading

    config = copy.deepcopy(encoder.model.config)
    config.num_labels = len(names)
    config.id2label, config.label2id = dict(enumerate(names)), {name: i for i, name in enumerate(names)}
    for name, value in settings.items():
        setattr(config, name, value)
    if dropout is not None:
        for name in ("hidden_dropout_prob", "attention_probs_dropout_prob", "dropout", "attention_dropout"):
            if hasattr(config, name):
                setattr(config, name, dropout)
    with torch.random.fork_rng(devices=[]), quiet_loading():
        torch.manual_seed(seed)
        try:
            model = auto_class.from_config(config, attn_implementation="eager").float()
        except ValueError:
            raise ValueError(
                f"{encoder.name} ({config.model_type}) has no classification head in transformers, so it cannot be fine-tuned here; "
                "BERT, RoBERTa, ELECTRA, ALBERT and DistilBERT can."
            ) from None
    report = model.base_model.load_state_dict(encoder.model.state_dict(), strict=False)
    # RoBERTa's classifier has no pooler; anything else that does not fit would silently stay random.
    stray = [key for key in (*report.missing_keys, *report.unexpected_keys) if "pooler" not in key]
    if stray:
        raise ValueError(
            f"the weights of {encoder.name} do not fit its classification model: {', '.join(stray[:3])}."
        )
    return model.to(encoder.device)


def state_arrays(model) -> dict[str, np.ndarray]:
    """A model's weights by name."""
    return {name: tensor.cpu().numpy() for name, tensor in model.state_dict().items()}


def load_state_arrays(model, state: Mapping[str, np.ndarray]) -> None:
    """The other way, and the model is ready for use."""
    import torch

    model.load_state_dict({name: torch.from_numpy(array) for name, array in state.items()})
    model.eval()


def _as_encoder(model, encoder: Encoder, name: str) -> Encoder:
    from .encoder import Encoder

    # Neither folder nor seed: no masked-LM head may be found for an encoder that has moved on.
    return Encoder(name, model.base_model, encoder.tokenizer, encoder.device)


def learning_rate_for(encoder: Encoder) -> float:
    """5e-5, usual for BERT-base's width of 768, times (768 / width) to the power 1.5: a rule of thumb, tried on the specimen."""
    return 5e-5 * (768 / encoder.model.config.hidden_size) ** 1.5


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
        Keep the classifier as `bertlook_teach.store` keeps results: the same training is then not done again.

    Raises
    ------
    ValueError
        If inputs are too long, a setting is out of range, the model's family has no classification head, or the loss
        becomes infinite.
    """
    settings = {
        "seed": seed,
        "epochs": epochs,
        "learning_rate": learning_rate,
        "batch_size": batch_size,
        "patience": patience,
        "dropout": dropout,
        "truncate": truncate,
    }
    if not keep:
        return _fine_tune(encoder, task, **settings, progress=progress, folder=folder)
    learnt = task.name, task.labels, task.train, task.dev, task.metric
    done = kept(
        "classifier",
        (encoder.fingerprint, *learnt, *settings.values()),
        lambda: _fine_tune(encoder, task, **settings, progress=progress, folder=None),
        out=Classifier.weights,
        back=partial(Classifier.from_weights, encoder),
    )
    if folder is not None:
        done.save(folder)
    return done


def _fine_tune(
    encoder, task, *, seed, epochs, learning_rate, batch_size, patience, dropout, truncate, progress, folder
) -> Classifier:
    import torch
    from tqdm import tqdm

    if epochs < 1 or batch_size < 1 or patience < 1:
        raise ValueError(
            f"epochs, batch_size and patience are 1 or more; got {epochs}, {batch_size} and {patience}."
        )
    rate = learning_rate_for(encoder) if learning_rate is None else learning_rate
    if not 0 < rate < 1:
        raise ValueError(f"learning_rate is a number between 0 and 1, for instance 2e-5; got {rate}.")
    items, cut_train = tokenize(encoder, task.train, truncate)
    _, cut_dev = tokenize(encoder, task.dev, truncate)
    targets = [_target(example, task.labels) for example in task.train]
    if folder is not None:
        folder = writable_folder(folder)

    model = _with_new_head(encoder, task.labels, seed, dropout)
    about = {
        "encoder": encoder.name,
        "fingerprint": encoder.fingerprint,
        "seed": seed,
        "epochs": epochs,
        "learning_rate": rate,
        "batch_size": batch_size,
        "patience": patience,
        "dropout": dropout,
        "n_train": len(task.train),
        "n_cut": cut_train + cut_dev,
    }
    name = f"{encoder.name}, tuned on {task.name}"
    draft = Classifier(
        _as_encoder(model, encoder, name), model, task.labels, task.name, task.metric, task.is_pair, truncate
    )
    steps_per_epoch = -(-len(items) // batch_size)
    total = steps_per_epoch * epochs
    step = stepper(model, rate, total)
    order = torch.Generator().manual_seed(seed)
    history, best, best_state = [], None, None
    devices = [encoder.device] if encoder.device.type == "cuda" else []
    bar = tqdm(total=total, desc=name, unit="step", disable=not progress)
    with torch.random.fork_rng(devices=devices), bar:
        torch.manual_seed(seed)
        for epoch in range(epochs):
            model.train()
            losses = []
            for rows in torch.randperm(len(items), generator=order).split(batch_size):
                rows = rows.tolist()
                batch = _pad(
                    encoder, [items[i] for i in rows], [targets[i] for i in rows], task.is_regression
                )
                loss = _loss(_forward(model, encoder, batch), batch.labels)
                step(loss)
                losses.append(float(loss.detach()) * len(rows))
                bar.update()
            model.eval()
            row = {"epoch": epoch + 1, "train_loss": sum(losses) / len(items), **_on_dev(draft, task)}
            if not np.isfinite(row["train_loss"]):
                raise ValueError(
                    f"the loss became {row['train_loss']} in epoch {epoch + 1}; a learning rate below {rate:g} may help."
                )
            history.append(row)
            bar.set_postfix(dev=f"{row['dev_score']:.3f}")
            merit = (row["dev_score"], -row["dev_loss"])
            if best is None or merit > best[0]:
                best = (merit, epoch)
                best_state = {key: tensor.detach().clone() for key, tensor in model.state_dict().items()}
            elif epoch - best[1] >= patience:
                break
    model.load_state_dict(best_state)
    model.eval()
    rows = tuple({**row, "kept": i == best[1]} for i, row in enumerate(history))
    done = Classifier(
        _as_encoder(model, encoder, name),
        model,
        task.labels,
        task.name,
        task.metric,
        task.is_pair,
        truncate,
        rows,
        about,
    )
    if folder is not None:
        done.save(folder)
    return done


def stepper(model, rate: float, total: int) -> Callable[[Any], None]:
    """What takes a loss and makes one step: AdamW, the rate rising over the first tenth of ``total`` steps, then falling to zero."""
    import torch

    optimizer = torch.optim.AdamW(_groups(model), lr=rate)
    warm = max(1, round(WARM_UP * total))
    schedule = torch.optim.lr_scheduler.LambdaLR(
        optimizer, lambda step: min((step + 1) / warm, max(0.0, (total - step) / max(1, total - warm)))
    )

    def step(loss) -> None:
        optimizer.zero_grad()
        loss.backward()
        torch.nn.utils.clip_grad_norm_(model.parameters(), MAX_NORM)
        optimizer.step()
        schedule.step()

    return step


def _groups(model) -> list[dict]:
    """Weight matrices decay; biases and normalisations do not."""
    parameters = [p for p in model.parameters() if p.requires_grad]
    return [
        {"params": [p for p in parameters if p.ndim > 1], "weight_decay": WEIGHT_DECAY},
        {"params": [p for p in parameters if p.ndim <= 1], "weight_decay": 0.0},
    ]


def _loss(logits, labels):
    import torch

    if labels.is_floating_point():
        return torch.nn.functional.mse_loss(logits[:, 0], labels)
    return torch.nn.functional.cross_entropy(logits, labels)


def _on_dev(classifier: Classifier, task: Task) -> dict[str, float]:
    import torch

    logits = torch.from_numpy(classifier.logits(task.dev))
    targets = torch.tensor([_target(example, task.labels) for example in task.dev])
    loss = _loss(logits, targets.float() if task.is_regression else targets.long())
    gold = [example.label for example in task.dev]
    answers = logits[:, 0].tolist() if task.is_regression else [task.labels[i] for i in logits.argmax(dim=-1)]
    return {"dev_loss": float(loss), "dev_score": measure(task.metric, answers, gold)}


def load_classifier(folder: str | Path, *, device: str = "auto") -> Classifier:
    """Load a classifier that `Classifier.save` wrote, or any sequence-classification folder of a BERT-like model.

    Raises
    ------
    FileNotFoundError
        If there is no such folder, or a file is missing in it.
    ValueError
        If the folder holds an encoder without a classification head.
    """
    import torch
    from transformers import AutoModelForSequenceClassification

    from .encoder import load_encoder, quiet_loading

    folder = Path(folder)
    encoder = load_encoder(
        folder if folder.is_dir() else f"./{folder}", device=device
    )  # its checks and messages
    with quiet_loading():
        try:
            model, report = AutoModelForSequenceClassification.from_pretrained(
                folder,
                dtype=torch.float32,
                attn_implementation="eager",
                local_files_only=True,
                use_safetensors=True,
                trust_remote_code=False,
                output_loading_info=True,
            )
            missing = sorted(report["missing_keys"])
        except ValueError:  # the family has no such class
            model, missing = None, ["a classification model"]
    if missing:
        raise ValueError(
            f"{folder} holds an encoder without a classification head (it lacks {', '.join(missing[:3])}). fine_tune(encoder, task) "
            "makes one; a folder saved by it, or by a sequence-classification model of transformers, has it."
        )
    model = model.eval().to(encoder.device)
    record = {}
    if (folder / ABOUT).is_file():
        record = json.loads((folder / ABOUT).read_text(encoding="utf-8"))
    config = model.config
    regression = config.problem_type == "regression" or config.num_labels == 1
    labels = () if regression else tuple(config.id2label[i] for i in range(config.num_labels))
    return Classifier(
        _as_encoder(model, encoder, str(folder)),
        model,
        labels,
        record.get("task", folder.name),
        record.get("metric", "spearman" if regression else "accuracy"),
        record.get("is_pair"),
        record.get("truncate", False),
        tuple(record.get("history", ())),
        record.get("about", {}),
    )
