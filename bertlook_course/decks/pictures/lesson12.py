"""What lesson 12 shows without a model of ours: made-up orders, and what was published."""

from __future__ import annotations

from collections.abc import Sequence

from ...claims.lessons import lesson12
from ...render import (
    Estimate,
    TextTable,
)


def published_heads_table() -> TextTable:
    """Heads that lecture slides name for their low "entropy", and how much of their attention rests on [SEP]."""
    listed = lesson12.published_scores()
    first, second, *_ = (head["entropy"] for head in listed.values())
    return TextTable(
        ["head of BERT-base", "share to [SEP]"],
        [
            [f"{layer}-{head} (“entropy” {found['score']:.0f})", Estimate(found["sep"])]
            for (layer, head), found in listed.items()
        ][:6],
        "In brackets: the number in the list; its formula is not given (we think it is a sum over words). Shares: Clark et al. 2019, Figure 2. Attention "
        f"entropy of the first two: {first:.2f} and {second:.2f} nats (Figure 4).",
    )


def auc_examples(orders: dict[str, Sequence[float]], aucs: dict[str, float]) -> TextTable:
    """Scores of four words, of which the first two are key words, and the AUC of each."""
    return TextTable(
        ["scores", "AUC"],
        [[f"{name}: {' '.join(map(str, orders[name]))}", Estimate(value)] for name, value in aucs.items()],
        "Four words; the first two are key words. Their scores, and how often a key word has the higher one.",
    )
