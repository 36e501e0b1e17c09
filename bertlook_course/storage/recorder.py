"""Write attention that a model gave as a recording, a file that `bertlook_teach.model.load_recording` reads."""

from __future__ import annotations

import os
import re
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from bertlook_teach.disk import replacing, save_arrays
from bertlook_teach.model import (
    ENDING,
    FIELDS,
    LABELS,
    MATCHING,
    PARTS,
    SHIPPED_MODELS,
    VECTORS,
    Attention,
    RecordedInput,
    Recording,
    file_members,
    head_label,
    prints,
)

if TYPE_CHECKING:
    from bertlook_teach.model import Encoder

_ROW_TOLERANCE = 1e-3  # some sources kept four decimals

_TAKEN = (*SHIPPED_MODELS, *LABELS, *LABELS.values())  # names that say which model it is

_SAME_NAME = re.compile(r"[\W_]+")  # "BERT base" is read as BERT-base


def matching_of(encoder: Encoder) -> str:
    """What makes two texts the same input for an encoder's tokenizer: one of `MATCHING`."""
    from tokenizers.pre_tokenizers import BertPreTokenizer

    if not isinstance(encoder.tokenizer.backend_tokenizer.pre_tokenizer, BertPreTokenizer):
        return "exact"
    lowers = encoder.tokenizer("A É")["input_ids"] == encoder.tokenizer("a e")["input_ids"]
    return "lowered words" if lowers else "words"


def _plain_name(name: str) -> str:
    """Letters and digits alone."""
    return _SAME_NAME.sub("", name).casefold()


def _without_folders(name: str) -> str:
    """A model's name; of one in a folder the folder's own: the way to it is its owner's affair."""
    path = Path(name).expanduser()
    return path.name if path.is_absolute() or name.startswith((".", "~")) else name


def _label(label: str, model: str) -> str:
    """The label without blanks around it, or the model's name; never the name of another model."""
    label = label.strip() or model
    if not prints(label):
        raise ValueError(
            f"the label {ascii(label)[:60]} holds characters that do not print; give another one."
        )
    taken = {_plain_name(name) for name in _TAKEN} - {_plain_name(model), _plain_name(LABELS.get(model, ""))}
    if _plain_name(label) in taken:
        raise ValueError(
            f"the label {label!r} is the name of another model, and {model} gave these maps; give another label, or none."
        )
    return label


def write_recording(
    path: str | os.PathLike,
    attentions: Iterable[Attention],
    *,
    label: str = "",
    about: str = "",
    matching: str = "exact",
    model_fingerprint: str = "",
    twin_of: str = "",
    sources: Sequence[Mapping] = (),
) -> Recording:
    """Write attention of one model as a ``.bertlook`` file, and give what `load_recording` will read.

    Weights keep 16 bits (they move by less than 1/65,535), vectors 16 bits of the largest of their head.

    Parameters
    ----------
    path : path
        Ends in ``.bertlook``.
    attentions : iterable of Attention
        At wordpiece level; an input once.
    label : str
        The model's name for readers; blank: its name. Beside any other label the badge keeps the name.
    about : str
        Where the numbers come from.
    matching : {"lowered words", "words", "exact"}
        From `matching_of` where the tokenizer is at hand.
    model_fingerprint : str
        `Encoder.fingerprint`, or empty.
    twin_of : str
        For a random twin: that of the model it is the control of.
    sources : sequence of dict
        One an input, plain values; or none.

    Raises
    ------
    ValueError
        If there is nothing to write, an input comes twice, or in words; if a row does not sum to 1, if two models gave them, or
        if the label is the name of another known model.
    """
    path = Path(path)
    if path.suffix != ENDING:
        raise ValueError(f"a recording is a file named *{ENDING}; got {path.name!r}.")
    if matching not in MATCHING:
        raise ValueError(f"matching must be one of {', '.join(MATCHING)}; got {matching!r}.")
    inputs, names = [], []
    for number, attention in enumerate(attentions):
        if not number:  # before the rest is computed
            label = _label(label, _without_folders(attention.model))
        if attention.level != "wordpiece":
            raise ValueError(
                f"input {number + 1} is between words; record what extract_attention gave, before to_words()."
            )
        arrays = {"weights": _packed_weights(attention.weights, number)}
        for name in VECTORS:
            if getattr(attention, name) is not None:
                arrays[name], arrays[f"{name}_step"] = _packed_vectors(getattr(attention, name), name, number)
        fields = {name: getattr(attention, name) for name in FIELDS}
        inputs.append(RecordedInput(fields, arrays, dict(sources[number]) if sources else {}))
        names.append(attention.model)
    if not inputs:
        raise ValueError("nothing to record: there was no input.")
    if len(set(names)) > 1:
        raise ValueError(
            f"one recording is of one model; these are of {', '.join(sorted(set(names)))}. Write a file for each."
        )
    recording = Recording(
        _without_folders(names[0]), label, about, matching, model_fingerprint, tuple(inputs), twin_of
    )
    members = file_members(recording)
    with replacing(path, "wb") as file:
        save_arrays(file, members)
    return recording


def _packed_weights(weights: np.ndarray, number: int) -> np.ndarray:
    """Rows in 65,535ths that sum to 1 exactly: rounded down, then one part each to those that lost most."""
    sums = weights.sum(axis=-1, dtype=float)
    if not np.isfinite(weights).all() or weights.min() < 0 or np.abs(sums - 1).max() > _ROW_TOLERANCE:
        bad = ~(np.abs(sums - 1) <= _ROW_TOLERANCE) | (weights.min(axis=-1) < 0)
        layer, head, row = np.argwhere(bad)[0]
        raise ValueError(
            f"input {number + 1}: row {row + 1} of head {head_label(layer, head)} sums to {sums[layer, head, row]:.4f}; attention is positive "
            "and sums to 1. Was something else than attention after softmax given?"
        )
    exact = weights.astype(float) / sums[..., None] * PARTS
    parts = np.floor(exact)
    missing = (PARTS - parts.sum(axis=-1)).astype(int)
    rank = np.argsort(np.argsort(parts - exact, axis=-1, kind="stable"), axis=-1, kind="stable")
    return (parts + (rank < missing[..., None])).astype(np.uint16)


def _packed_vectors(vectors: np.ndarray, name: str, number: int) -> tuple[np.ndarray, np.ndarray]:
    """Vectors as int16, and the step of each head."""
    if not np.isfinite(vectors).all():
        raise ValueError(f"input {number + 1}: its {name} hold NaN or infinity.")
    largest = np.abs(vectors).max(axis=(-2, -1))
    step = (np.where(largest > 0, largest, 1) / 32767).astype(np.float32)
    return np.rint(vectors / step[:, :, None, None]).clip(-32767, 32767).astype(np.int16), step
