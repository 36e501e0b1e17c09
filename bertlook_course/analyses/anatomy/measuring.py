"""Every measure of every head for the texts of a corpus, a chunk at a time; and what half precision changes of it."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from functools import partial

import numpy as np

from bertlook_teach.measures import FILES, surface_measures
from bertlook_teach.model import Recording, array_namespace, iter_attention, read

FULL = 128  # wordpieces of an input up to which a batch is full; of longer ones fewer share it, so that 512 need no more memory


def measure_chunk(
    encoder, items: Sequence, *, skip: bool, batch_size: int, precision: str = "float32", **options
) -> dict:
    """Every measure of every head for each input, in their order; inputs that cannot be read are named, if they are to be skipped.

    Where torch computes, maps are measured on its device, and one number for each head, measure and input comes back.

    Raises
    ------
    ValueError
        At the first input that cannot be read, with its number in the chunk.
    """
    reading = encoder.recall if isinstance(encoder, Recording) else partial(read, encoder)
    skipped, usable, lengths, truncated = [], [], [], []
    for place, item in enumerate(items):
        try:
            found = reading(item, **options)
        except (ValueError, TypeError) as error:  # of an input that is no text, or not two
            if not skip:
                raise ValueError(f"item {place} of the corpus: {error}") from None
            skipped.append((place, str(error).splitlines()[0]))
        else:
            usable.append(item)
            lengths.append(found.n_tokens)
            truncated.append(found.truncated)
    if precision != "float32":
        encoder.model  # noqa: B018 - asked for, it computes from here on
    on_device = getattr(encoder, "engine", encoder) is None
    values: list = [None] * len(usable)
    measures = surface_measures()
    for batch in batches(lengths, batch_size):
        given = {"batch_size": len(batch), "precision": precision if on_device else None, **options}
        for i, attention in zip(batch, iter_attention(encoder, [usable[i] for i in batch], **given)):
            values[i] = [function(attention) for function in measures.values()]
            if on_device:
                values[i] = array_namespace(*values[i]).stack(values[i])
    if on_device and values:
        values = array_namespace(*values).stack(values).cpu().numpy()
    return {
        "values": {name: np.stack(column) for name, column in zip(measures, zip(*values))},
        "n_tokens": lengths,
        "truncated": truncated,
        "skipped": skipped,
    }


def batches(lengths: Sequence[int], batch_size: int) -> Iterator[list[int]]:
    """Numbers of inputs, like lengths together: little padding, and at most so many places of maps as ``batch_size`` inputs of `FULL` wordpieces have.

    >>> list(batches([512, 100, 512, 100, 100], 2))
    [[1, 3], [4], [0], [2]]
    """
    batch: list[int] = []
    for i in np.argsort(lengths, kind="stable").tolist():
        if batch and len(batch) >= min(batch_size, batch_size * FULL**2 // lengths[i] ** 2):
            yield batch
            batch = []
        batch.append(i)
    if batch:
        yield batch


def precision_error(encoder, items: Sequence, precision: str, **options) -> dict:
    """By how much products in half precision change each measure: the largest change of a number of one input and head, and of a head's mean."""
    half, single = (
        measure_chunk(encoder, items, skip=True, precision=kind, **options)["values"]
        for kind in (precision, "float32")
    )
    changed = {name: np.asarray(half[name], float) - single[name] for name in half}
    return {
        "products": precision,
        "inputs": max(map(len, changed.values()), default=0),
        "largest_change": {name: float(abs(change).max()) for name, change in changed.items()},
        "largest_change_of_a_mean": {
            name: float(abs(change.mean(axis=0)).max()) for name, change in changed.items()
        },
    }


def precision_sentence(error: Mapping) -> str:
    """The measure that half precision changes most, in words."""
    parts = []
    for what, of in (
        ("largest_change", "of one text"),
        ("largest_change_of_a_mean", "in the mean of a head"),
    ):
        worst = max(error[what], key=error[what].get, default=None)
        if worst:
            parts.append(f"{error[what][worst]:.2g} {of} ({worst})")
    texts = f"{error['inputs']} texts" if error["inputs"] != 1 else "text"
    return (
        f"products in {error['products']} change the measures of the first {texts} by at most {', '.join(parts) or 'nothing'}; "
        f"{FILES['about']} has all of them."
    )
