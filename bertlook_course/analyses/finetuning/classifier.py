"""Fine-tuning: an encoder learns a task, and becomes a classifier that reads its answer off [CLS].

A `Classifier` holds an ordinary `Encoder`, so every measure of the course works on what fine-tuning made of it; its folder is an
ordinary sequence-classification folder of transformers.
"""

from __future__ import annotations

import copy
import json
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, fields
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from bertlook_teach.model import import_torch

from ...corpora import Example
from ...storage import filling, write_json
from .batches import Batch, pad, target, tokenize
from .new_head import as_encoder, load_state_arrays, state_arrays, with_new_head

if TYPE_CHECKING:
    from bertlook_teach.model import Encoder

ABOUT = "bertlook.json"


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
            If an input is too long (and ``truncate`` is off), a label is not a class of this task, or pairs are mixed with texts.
        """
        examples = list(examples)
        _check_kind(self, examples)
        items, _ = tokenize(self.encoder, examples, self.truncate)
        targets = [target(example, self.labels) for example in examples]
        for start in range(0, len(items), batch_size):
            rows = slice(start, start + batch_size)
            yield pad(self.encoder, items[rows], targets[rows], self.is_regression)

    def logits(self, examples: Sequence[Example], *, batch_size: int = 64) -> np.ndarray:
        """Shape (example, class), float32; for a regression (example, 1), the predicted numbers."""
        torch = import_torch()

        with torch.inference_mode():
            parts = [
                forward(self.model, self.encoder, b) for b in self.encode(examples, batch_size=batch_size)
            ]
        return torch.cat(parts).float().cpu().numpy()

    def predict(self, examples: Sequence[Example]) -> list:
        """The likeliest class of each example, or the number for a regression."""
        logits = self.logits(examples)
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
        model = with_classification_head(encoder, known["labels"], 0, known["about"]["dropout"])
        load_state_arrays(model, state)
        return cls(as_encoder(model, encoder, name), model, **known)

    def save(self, folder: str | Path) -> Path:
        """Write model, tokenizer and training record; ``AutoModelForSequenceClassification.from_pretrained(folder)`` reads it too."""
        from bertlook_teach.model import quiet_loading

        record = {
            "task": self.task_name,
            "metric": self.metric,
            "is_pair": self.is_pair,
            "truncate": self.truncate,
            "about": self.about,
            "history": list(self.history),
        }
        with filling(folder) as part, quiet_loading():
            self.model.save_pretrained(part)
            self.encoder.tokenizer.save_pretrained(part)
            write_json(part / ABOUT, record)
        return Path(folder)

    def __repr__(self) -> str:
        kind = "a number" if self.is_regression else " / ".join(self.labels)
        return f"Classifier({self.encoder.name!r}, {self.task_name}: {kind})"


def _check_kind(classifier: Classifier, examples: Sequence[Example]) -> None:
    kinds = {example.text_pair is not None for example in examples}
    if len(kinds) > 1 or (classifier.is_pair is not None and kinds - {classifier.is_pair}):
        wanted = (
            "one kind" if classifier.is_pair is None else "pairs" if classifier.is_pair else "single texts"
        )
        raise ValueError(
            f"{classifier.task_name} is read from {wanted}, and the examples are not all of that kind."
        )


# --- the model -----------------------------------------------------------------------------------------
def forward(model, encoder: Encoder, batch: Batch):
    inputs = {"input_ids": batch.input_ids, "attention_mask": batch.attention_mask}
    if encoder.has_segments:
        inputs["token_type_ids"] = batch.segment_ids
    return model(**inputs).logits


def _readout(model, hidden):
    """What the classification model does after its encoder: its own forward pass with the encoder's answer put in place."""
    torch = import_torch()
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


def with_classification_head(encoder: Encoder, labels: Sequence[str], seed: int, dropout: float | None):
    """A copy of the encoder with a fresh classification head drawn with ``seed``; without labels it is one for a regression."""
    from transformers import AutoModelForSequenceClassification

    kind = "single_label_classification" if labels else "regression"
    names = labels or ("score",)
    return with_new_head(encoder, AutoModelForSequenceClassification, names, seed, dropout, problem_type=kind)


def _record(path: Path) -> dict:
    """What `Classifier.save` wrote beside the model; nothing where another library saved it."""
    if not path.is_file():
        return {}
    try:
        record = json.loads(path.read_text(encoding="utf-8"))
    except (ValueError, RecursionError) as error:
        raise ValueError(
            f"{path} cannot be read as JSON: {error}. Without this file the model is read as another library's."
        ) from error
    if not isinstance(record, dict):
        raise ValueError(  # noqa: TRY004 - the file is wrong, not the call
            f"{path} holds {type(record).__name__}, where an object about the classifier was expected."
        )
    return record


def load_classifier(folder: str | Path, *, device: str = "auto") -> Classifier:
    """Load a classifier that `Classifier.save` wrote, or any sequence-classification folder of a BERT-like model.

    Raises
    ------
    FileNotFoundError
        If there is no such folder, or a file is missing in it.
    ValueError
        If the folder holds an encoder without a classification head.
    """
    torch = import_torch()
    from transformers import AutoModelForSequenceClassification

    from bertlook_teach.model import load_encoder, quiet_loading

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
    record = _record(folder / ABOUT)
    config = model.config
    regression = config.problem_type == "regression" or config.num_labels == 1
    labels = () if regression else tuple(config.id2label[i] for i in range(config.num_labels))
    return Classifier(
        encoder=as_encoder(model, encoder, str(folder)),
        model=model,
        labels=labels,
        task_name=record.get("task", folder.name),
        metric=record.get("metric", "spearman" if regression else "accuracy"),
        is_pair=record.get("is_pair"),
        truncate=record.get("truncate", False),
        history=tuple(record.get("history", ())),
        about=record.get("about", {}),
    )
