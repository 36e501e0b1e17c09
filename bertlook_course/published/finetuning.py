"""What Kovaleva et al. (2019) and Zhao and Bethard (2020) report about fine-tuned models, as arrays.

The cosines are read off the colours of a figure, good to about 0.02; the scores of heads come from the scores that Zhao and Bethard
released.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from .ablation import KOVALEVA_TASKS
from .tables import published_number, read_published

CONDITIONS = ("pretrained", "neg", "control")

_COSINES, _GAINS, _NEGATION = (
    "kovaleva_finetuning_cosine_per_head",
    "kovaleva_table1_finetuning",
    "zhao_bethard_negation",
)


class PublishedGain(NamedTuple):
    """A score on one task, in per cent: pretrained only, fine-tuned from random weights, fine-tuned from pretrained weights."""

    task: str
    pretrained: float
    random_tuned: float
    tuned: float


def published_cosines(task: str) -> np.ndarray:
    """Cosine of each head's maps before and after fine-tuning on a task, shape (12, 12): Kovaleva et al. (2019), Figure 5.

    >>> published_cosines("MRPC").shape
    (12, 12)
    """
    if task not in KOVALEVA_TASKS:
        raise KeyError(f"Kovaleva et al. (2019) report {', '.join(KOVALEVA_TASKS)}; got {task!r}.")
    return _heads(_COSINES, f"{task}: cosine similarity of maps before/after fine-tuning")


def published_gains() -> list[PublishedGain]:
    """Table 1 of Kovaleva et al. (2019), without its F1 rows, as printed in the authors' post."""
    cells = {row.quantity: float(row.value) for row in read_published(_GAINS) if "(F1)" not in row.quantity}
    tasks = dict.fromkeys(name.partition(": ")[0] for name in cells)
    ways = ("pretrained, not fine-tuned", "random initialisation, fine-tuned", "pretrained, fine-tuned")
    return [PublishedGain(task, *(cells[f"{task}: {way}"] for way in ways)) for task in tasks]


def published_head_f1(condition: str) -> np.ndarray:
    """F1 of each head of BERT-base on the stories, shape (12, 12), shares: "pretrained", "neg" or "control" (means of ten runs)."""
    if condition not in CONDITIONS:
        raise KeyError(f"condition must be one of {', '.join(CONDITIONS)}; got {condition!r}.")
    return _heads(_NEGATION, f"story, {condition}: F1") / 100


def published_mean_f1(condition: str, corpus: str = "story", measure: str = "F1") -> float:
    """Mean over BERT-base's heads, a share; ``corpus`` "story" or "review", ``measure`` "F1", "precision" or "recall"."""
    return published_number(_NEGATION, f"{corpus}, {condition}: mean {measure} over 144 heads") / 100


def _heads(table: str, quantity: str) -> np.ndarray:
    values = np.full((12, 12), np.nan)
    for row in read_published(table):
        if row.quantity == quantity:
            values[int(row.layer) - 1, int(row.head) - 1] = float(row.value)
    return values
