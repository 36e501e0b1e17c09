"""How many heads does a score need? Take heads away one by one and in order, rank on some texts, report on others.

Works with anything that can be scored without some heads: a mix of head scores, or a fine-tuned tagger with heads masked. The orders
beside the one of interest, best first and at random, say what any order would have given.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np

from ...disk import Table
from ...model import head_label
from ...stats import ratio_interval

Head = tuple[int, int]

Score = Callable[[Sequence[Head]], np.ndarray]

STEPS = 12


def mean_parts(values) -> np.ndarray:
    """Values of texts as ``(value, 1)``, so that the ratio of the sums is their mean; shape (text, 2)."""
    values = np.asarray(values, float)
    return np.stack([values, np.ones_like(values)], axis=1)


def _ratio(parts: np.ndarray) -> float:
    above, below = np.asarray(parts, float).sum(axis=0)
    return float(above / below) if below else 0.0


def remove_one(score: Score, heads: Sequence[Head]) -> np.ndarray:
    """What is lost without each head: score with all minus score without it, shape (head,). Negative: better without.

    Parameters
    ----------
    score : function(heads that are off) -> array of shape (text, 2)
        What is summed above and below the line for each text (see `mean_parts`, `bertlook_teach.analyses.keywords.f1_parts`).
    heads : sequence of (layer, head)
    """
    whole = _ratio(score(()))
    return np.array([whole - _ratio(score((head,))) for head in heads])


def worst_first(losses, heads: Sequence[Head]) -> list[Head]:
    """Heads in the order of the smallest loss."""
    return [heads[i] for i in np.argsort(losses, kind="stable")]


@dataclass(frozen=True, eq=False)
class RemovalCurve(Table):
    """A score after each step.

    Attributes
    ----------
    order : str
    off : list of tuples of (layer, head)
        The heads that are off at each step; none at the first.
    scores, low, high : ndarrays of shape (step,)
        With 95 % bootstrap intervals over texts; of random orders the mean, the lowest and the highest.
    n : int
        Texts.
    n_orders : int
    """

    order: str
    off: list
    scores: np.ndarray
    low: np.ndarray
    high: np.ndarray
    n: int
    n_orders: int = 1

    @property
    def shares(self) -> np.ndarray:
        """Share of the heads that is off at each step."""
        counts = np.array([len(heads) for heads in self.off])
        return counts / counts[-1]

    def rows(self) -> list[dict]:
        """One dict a step, for a table or a file."""
        return [
            {
                "order": self.order,
                "share_off": float(share),
                "heads_off": len(off),
                "score": float(score),
                "low": float(low),
                "high": float(high),
                "n": self.n,
                "last_removed": head_label(*off[-1]) if off and self.n_orders == 1 else "",
            }
            for share, off, score, low, high in zip(self.shares, self.off, self.scores, self.low, self.high)
        ]

    def __repr__(self) -> str:
        return f"RemovalCurve({self.order}: {self.scores[0]:.3f} with all heads, {self.scores[-1]:.3f} with none, {self.n} texts)"


def removal_curve(
    score: Score,
    ranked: Sequence[Head],
    *,
    order: str = "worst first",
    steps: int = STEPS,
    progress: Callable = iter,
) -> RemovalCurve:
    """Take heads away in an order that was found on *other* texts, and score after each step.

    Parameters
    ----------
    score : function(heads that are off) -> array of shape (text, 2)
        On the texts to report on.
    ranked : sequence of (layer, head)
        All heads, the first to go first.
    order : str
        Name of the order.
    steps : int
        A step takes 1/steps of the heads.

    Raises
    ------
    ValueError
        If a head comes twice, or steps is not positive.
    """
    ranked = [tuple(head) for head in ranked]
    if steps < 1 or not ranked or len(set(ranked)) < len(ranked):
        raise ValueError(
            f"a curve needs heads, each once, and one step or more; got {len(ranked)} heads ({len(set(ranked))} different), {steps} steps."
        )
    off = [tuple(ranked[: round(len(ranked) * step / steps)]) for step in range(steps + 1)]
    parts = [np.asarray(score(heads), float) for heads in progress(off)]
    low, high = np.array([ratio_interval(part) for part in parts]).T
    return RemovalCurve(order, off, np.array([_ratio(part) for part in parts]), low, high, len(parts[0]))


def random_removal(
    score: Score,
    heads: Sequence[Head],
    *,
    n_orders: int = 10,
    steps: int = STEPS,
    seed: int = 0,
    progress: Callable = iter,
) -> RemovalCurve:
    """Several random orders as one curve: mean, lowest and highest at each step. ``off`` is that of the first."""
    if n_orders < 2:
        raise ValueError(f"a band needs two random orders or more; got {n_orders}.")
    heads = list(heads)
    rng = np.random.default_rng(seed)
    orders = [[heads[i] for i in rng.permutation(len(heads))] for _ in range(n_orders)]
    curves = [removal_curve(score, order, steps=steps) for order in progress(orders)]
    scores = np.stack([curve.scores for curve in curves])
    return RemovalCurve(
        "random", curves[0].off, scores.mean(0), scores.min(0), scores.max(0), curves[0].n, n_orders
    )
