"""What Michel et al. (2019) and Kovaleva et al. (2019) report about models without some heads, as arrays.

Table 1 of Michel et al. belongs to a *translation* model (6 layers of 16 heads), not to BERT. The values of Kovaleva et al. for single heads
and layers are read off the colours of their figures.
"""

from __future__ import annotations

import numpy as np

from .tables import read_published

KOVALEVA_TASKS = ("MRPC", "STS-B", "SST-2", "QQP", "RTE", "QNLI", "MNLI")

_WMT, _KEPT = "michel_table1_wmt_single_head", "michel_one_head_per_layer_bert"

_HEADS, _LAYERS = "kovaleva_head_disabling_per_head", "kovaleva_layer_disabling_and_summary"

_PRUNING = "michel_pruning_and_speed"


def published_wmt_heads() -> np.ndarray:
    """BLEU without each encoder head minus BLEU with it, shape (layer, head) = (6, 16): Michel et al. (2019), Table 1.

    Base 36.05 BLEU. A translation model, not BERT.
    """
    return _grid(_WMT, "BLEU difference when this encoder head is masked", (6, 16))


def published_wmt_significant() -> np.ndarray:
    """Which of the 96 heads Table 1 marks as significant (p < .01): booleans of shape (6, 16), eight of them."""
    marked = np.zeros((6, 16), dtype=bool)
    for row in read_published(_WMT):
        if row.head and "significant" in row.note:
            marked[int(row.layer) - 1, int(row.head) - 1] = True
    return marked


def published_disabled_heads(task: str) -> np.ndarray:
    """BERT-base's score with each head made uniform in turn, shape (12, 12): Kovaleva et al. (2019), Figure 8, read off its colours."""
    return _grid(_HEADS, f"{_task(task)}: score with this head uniform", (12, 12))


def published_baseline(task: str) -> float:
    """The score with all heads as it follows from the gains stated in the text; only for MRPC, RTE and STS-B.

    Raises
    ------
    KeyError
        For the other tasks, for which nothing is stated.
    """
    for row in read_published(_LAYERS):
        if row.quantity == f"{_task(task)}: implied baseline":
            return float(row.value)
    raise KeyError(f"no baseline follows from what is printed for {task}; it does for MRPC, RTE and STS-B.")


def published_prunable() -> dict[str, float]:
    """Share of the heads that can go before the score falls clearly, by model and task: Michel et al. (2019), section 4.2 and appendix."""
    found = {}
    for row in read_published(_PRUNING):
        if row.quantity.startswith("heads prunable"):
            found[row.quantity.rpartition(": ")[2]] = float(row.value) / 100
    return found


def _task(task: str) -> str:
    if task not in KOVALEVA_TASKS:
        raise KeyError(f"Kovaleva et al. (2019) report {', '.join(KOVALEVA_TASKS)}; got {task!r}.")
    return task


def _grid(table: str, quantity: str, shape: tuple[int, ...]) -> np.ndarray:
    values = np.full(shape, np.nan)
    for row in read_published(table):
        if row.quantity == quantity:
            place = (int(row.layer) - 1, int(row.head) - 1) if len(shape) == 2 else (int(row.layer) - 1,)
            values[place] = float(row.value)
    return values
