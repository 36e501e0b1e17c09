"""An encoder's copy with a fresh head on top, and the way back."""

from __future__ import annotations

import copy
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

import numpy as np

from bertlook_teach.model import import_torch

if TYPE_CHECKING:
    from bertlook_teach.model import Encoder


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
    torch = import_torch()

    from bertlook_teach.model import quiet_loading

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
    torch = import_torch()

    model.load_state_dict({name: torch.from_numpy(array) for name, array in state.items()})
    model.eval()


def as_encoder(model, encoder: Encoder, name: str) -> Encoder:
    from bertlook_teach.model import Encoder

    # Neither folder nor seed: no masked-LM head may be found for an encoder that has moved on.
    return Encoder(name, model.base_model, encoder.tokenizer, encoder.device)
