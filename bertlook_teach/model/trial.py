"""A model is tried once when it is loaded: what a library would pass over in silence is refused."""

from __future__ import annotations

import warnings
from collections.abc import Iterable

import numpy as np

from .folders import first_line, import_torch


def unread_weights(model, unexpected: Iterable[str]) -> list[str]:
    """Of the weights that were not loaded those inside the encoder; heads of pre-training, a pooler and counted positions may stay out."""
    prefix = f"{model.base_model_prefix}."
    parts = tuple(f"{name}." for name, _ in model.named_children() if name != "pooler")
    return sorted(
        key
        for key in unexpected
        if key.removeprefix(prefix).startswith(parts) and not key.endswith(("position_ids", "token_type_ids"))
    )


def checked(encoder):
    """Try an Encoder once, and hand it back: everything a library would pass over in silence is refused here."""
    torch = import_torch()

    name, tokenizer, config = encoder.name, encoder.tokenizer, encoder.model.config
    if not tokenizer.is_fast:
        raise ValueError(
            f"the tokenizer of {name} is a slow one and cannot say which wordpiece belongs to which word."
        )
    vocabulary, embeddings = len(tokenizer), getattr(config, "vocab_size", None)
    if embeddings is None:
        raise ValueError(
            f"{name} ({config.model_type}) has no vocabulary, so it does not read text. bertlook needs an encoder of text such as BERT."
        )
    if not embeddings / 2 <= vocabulary <= embeddings:
        raise ValueError(
            f"the tokenizer of {name} knows {vocabulary} wordpieces, but the model has embeddings for {embeddings}: they do not belong "
            "together, or the vocabulary file was not found and every word would become [UNK]."
        )
    if vocabulary != embeddings:
        warnings.warn(
            f"the tokenizer of {name} knows {vocabulary} wordpieces, and the model has embeddings for {embeddings}. That is usual where embeddings "
            "are padded to a round number; otherwise the tokenizer is another model's, and every number is wrong.",
            stacklevel=4,
        )
    for path, tensor in encoder.model.named_parameters():
        if not torch.isfinite(tensor).all():
            raise ValueError(f"the weights of {name} are damaged: {path} holds NaN or infinity.")
    for text in ("a b c d e f g", "a b c"):  # of two lengths: a window of fixed width fits one by accident
        maps, n = _try_reading(encoder, text)
        if maps[0].shape != (1, encoder.n_heads, n, n):
            raise ValueError(
                f"the attention of {name} has shape {tuple(maps[0].shape)} a layer where (1, {encoder.n_heads}, {n}, {n}) was expected: "
                "its heads do not look at every token, and cannot be shown as one map of query by key."
            )
    if not all(torch.allclose(layer.sum(-1), torch.ones(()), atol=1e-3) for layer in (m.cpu() for m in maps)):
        raise ValueError(
            f"what {name} hands out as attention are not weights: a row sums to {float(maps[0][0, 0, 0].sum()):.3g} and not to 1. They are "
            "scores before the softmax (SqueezeBERT does so), which no measure of attention can be taken from."
        )
    if all(float(layer.triu(1).abs().max()) == 0 for layer in maps):
        raise ValueError(
            f"{name} looks only backwards: it is a decoder. bertlook needs an encoder such as BERT."
        )
    return encoder


def _try_reading(encoder, text: str) -> tuple[list, int]:
    """The maps of a short text, and its length in tokens; whatever a family needs beside text is refused here."""
    ids = np.array([encoder.tokenizer(text)["input_ids"]])
    try:
        maps, _ = encoder.attend(ids, np.ones_like(ids), np.zeros_like(ids))
    except (
        Exception
    ) as error:  # each family has its own way to miss an input, and a dozen kinds of error for it
        raise ValueError(
            f"{encoder.name} ({encoder.model.config.model_type}) gives no attention for a plain text: {first_line(error)}. Layers that "
            "mix tokens without attention weights (FNet), or that need more than text, cannot be shown; BERT, RoBERTa, DistilBERT, "
            "ELECTRA, ALBERT and the like can."
        ) from error
    return maps, ids.shape[1]
