"""Examples of a task as what a model reads: wordpieces, padded, with their targets."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

from bertlook_teach.model import import_torch

from ...corpora import Example
from .training import NO_LABEL

if TYPE_CHECKING:
    from bertlook_teach.model import Encoder


class Batch(NamedTuple):
    """Padded inputs of some examples: integer tensors (example, token), and labels (example,).

    ``labels`` are class indices (-100 where an example has none), or floats for a regression (NaN where there is none).
    """

    input_ids: Any
    attention_mask: Any
    segment_ids: Any
    labels: Any


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


def target(example: Example, labels: Sequence[str]) -> float:
    """The number of an example's class, or the number to learn where there are no classes."""
    if example.label is None:
        return NO_LABEL if labels else float("nan")
    if not labels:
        return float(example.label)
    if example.label not in labels:
        raise ValueError(
            f"{example.text[:60]!r} has the label {example.label!r}; this classifier knows {', '.join(labels)}."
        )
    return labels.index(example.label)


def pad(encoder: Encoder, items, targets, regression: bool) -> Batch:
    """Tokenized examples of different length as one batch."""
    torch = import_torch()

    longest = max(len(ids) for ids, _ in items)
    ids = torch.full((len(items), longest), encoder.tokenizer.pad_token_id or 0)
    mask, segments = torch.zeros_like(ids), torch.zeros_like(ids)
    for row, (pieces, sides) in enumerate(items):
        ids[row, : len(pieces)] = torch.tensor(pieces)
        segments[row, : len(pieces)] = torch.tensor(sides)
        mask[row, : len(pieces)] = 1
    labels = torch.tensor(targets, dtype=torch.float32 if regression else torch.long)
    return Batch(*(tensor.to(encoder.device) for tensor in (ids, mask, segments, labels)))
