"""How many heads can go: heads switched off a tenth at a time, and the score after each step (Michel et al. 2019, section 4).

Heads are *ranked* on one set of examples and *scored* on another: tuning on the set that is reported flatters. Beside the
order of interest stand its opposite (best first) and random orders, which say what any order would have given.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass

import numpy as np

from ...disk import Table
from ...model import head_label
from ...stats import unit_interval
from .gate_importance import head_importance
from .heads_off import all_heads
from .scorers import as_scorer, checked_batches, score_batches

ORDERS = ("worst first", "best first", "random")

STEPS = 10


@dataclass(frozen=True, eq=False, kw_only=True)
class PruningCurve(Table):
    """Score and loss after each step.

    Attributes
    ----------
    off : list of tuples of (layer, head)
        The heads that are off at each step; the first step has none off, the last one all.
    scores, losses : ndarrays of shape (step,)
        Means over the test examples.
    low, high : ndarrays of shape (step,)
        95 % interval of the score: over examples; for random orders the lowest and highest of the orders drawn.
    order : str
    ranked : str
        ``"once"`` or ``"again at each step"``; empty for random orders.
    measure : str
    n : int
        Test examples.
    n_orders : int
        How many random orders; 1 otherwise.
    """

    off: list
    scores: np.ndarray
    losses: np.ndarray
    low: np.ndarray
    high: np.ndarray
    order: str
    ranked: str
    measure: str
    n: int
    n_orders: int = 1

    @property
    def shares(self) -> np.ndarray:
        """Share of all heads that is off at each step, from 0 to 1."""
        counts = np.array([len(heads) for heads in self.off])
        return counts / counts[-1]

    def removed(self, step: int) -> list[str]:
        """Printed names of the heads that this step switched off."""
        before = set(self.off[step - 1]) if step else set()
        return [head_label(*pair) for pair in self.off[step] if pair not in before]

    def rows(self) -> list[dict]:
        """One dict a step, for a table or a file."""
        return [
            {
                "order": self.order,
                "ranked": self.ranked,
                "share_off": float(share),
                "heads_off": len(off),
                "score": float(score),
                "low": float(low),
                "high": float(high),
                "loss": float(loss),
                "n": self.n,
            }
            for share, off, score, low, high, loss in zip(
                self.shares, self.off, self.scores, self.low, self.high, self.losses
            )
        ]

    def __repr__(self) -> str:
        how = f", ranked {self.ranked}" if self.ranked else f", {self.n_orders} orders"
        return f"PruningCurve({self.order}{how}: {self.measure} {self.scores[0]:.3f} with all heads, {self.scores[-1]:.3f} with none, n = {self.n})"


def pruning_curve(
    scorer,
    rank_on: Iterable,
    score_on: Iterable,
    *,
    order: str = "worst first",
    rerank: bool = False,
    version: str = "paper",
    steps: int = STEPS,
    seed: int = 0,
    units=None,
    progress: Callable = iter,
) -> PruningCurve:
    """Switch heads off step by step, in the order of their importance.

    Parameters
    ----------
    scorer : Scorer or classifier
    rank_on : iterable of batches
        Examples on which I_h is measured (training examples). Not read for the order "random".
    score_on : iterable of batches
        Other examples, on which the score is reported.
    order : {"worst first", "best first", "random"}
    rerank : bool
        Measure I_h again after each step, with the heads off that are off (greedy); else once, before the first.
    version : {"paper", "released", "batch"}
        Which I_h.
    steps : int
        A step switches off 1/steps of all heads; at least one.
    seed : int
        Of the random order.
    units : int array of shape (example,), optional
        The unit that each test example belongs to (a minimal pair, a document): intervals draw whole units.
    progress : function
        Wraps the iterable of steps.

    Returns
    -------
    PruningCurve
        With steps + 1 points. At the last one all heads are off: what the model knows without any word seeing another.

    Raises
    ------
    ValueError
        If the order is unknown, steps is not positive, both sets are the same object, or there is no batch.

    References
    ----------
    Michel et al. (2019), section 4.2. Their code ranks once by default.
    """
    if order not in ORDERS:
        raise ValueError(f"order is one of {', '.join(ORDERS)}; got {order!r}.")
    if steps < 1:
        raise ValueError(f"steps is how many steps it takes to switch all heads off, 1 or more; got {steps}.")
    if rank_on is score_on and order != "random":
        raise ValueError(
            "rank_on and score_on are the same examples. Heads chosen on the examples they are scored on look better than they are; rank "
            "on train, score on test."
        )
    scorer = as_scorer(scorer)
    heads = all_heads(scorer.encoder)
    score_on = list(checked_batches(score_on))
    if order == "random":
        ranked = [heads[i] for i in np.random.default_rng(seed).permutation(len(heads))]
        rerank = False
    else:
        rank_on = list(checked_batches(rank_on))
        _refuse_shared_batches(rank_on, score_on)
        ranked = _ranked(scorer, rank_on, version, order, ())
    targets = [round(len(heads) * step / steps) for step in range(steps + 1)]
    off, removed, tables = [], [], []
    for step, target in enumerate(progress(targets)):
        if rerank and step and len(removed) < target < len(heads):
            again = _ranked(scorer, rank_on, version, order, tuple(removed))
            ranked = removed + [pair for pair in again if pair not in set(removed)]
        removed = ranked[:target]
        off.append(tuple(removed))
        tables.append(score_batches(scorer, score_on, heads=tuple(removed)))
    losses, scores = (np.stack(part) for part in zip(*tables))
    units = np.arange(scores.shape[1]) if units is None else np.asarray(units)
    if len(units) != scores.shape[1]:
        raise ValueError(f"one unit an example is needed: {scores.shape[1]} examples, {len(units)} units.")
    low, high = np.array([unit_interval(row, units) for row in scores]).T
    how = "" if order == "random" else "again at each step" if rerank else "once"
    return PruningCurve(
        off=off,
        scores=scores.mean(1),
        losses=losses.mean(1),
        low=low,
        high=high,
        order=order,
        ranked=how,
        measure=scorer.measure,
        n=scores.shape[1],
    )


def random_curves(
    scorer,
    score_on: Iterable,
    *,
    n_orders: int = 5,
    steps: int = STEPS,
    seed: int = 0,
    progress: Callable = iter,
) -> PruningCurve:
    """Several random orders as one curve: the mean, and the lowest and highest at each step as its band.

    ``off`` is that of the first order.
    """
    if n_orders < 2:
        raise ValueError(f"a band needs two random orders or more; got {n_orders}.")
    score_on = list(checked_batches(score_on))
    curves = [
        pruning_curve(scorer, (), score_on, order="random", steps=steps, seed=seed + number)
        for number in progress(range(n_orders))
    ]
    scores = np.stack([curve.scores for curve in curves])
    first = curves[0]
    return PruningCurve(
        off=first.off,
        scores=scores.mean(0),
        losses=np.mean([curve.losses for curve in curves], axis=0),
        low=scores.min(0),
        high=scores.max(0),
        order="random",
        ranked="",
        measure=first.measure,
        n=first.n,
        n_orders=n_orders,
    )


def _ranked(scorer, batches, version, order, off) -> list[tuple[int, int]]:
    ranked = head_importance(scorer, batches, version, heads_off=off).ranking()
    return ranked[::-1] if order == "best first" else ranked


def _refuse_shared_batches(rank_on, score_on) -> None:
    def rows(batches):
        return {tuple(row[keep.bool()].tolist()) for ids, mask, *_ in batches for row, keep in zip(ids, mask)}

    shared = rows(rank_on) & rows(score_on)
    if shared:
        raise ValueError(
            f"{len(shared)} inputs are among the examples to rank on and among those to score on. Heads chosen on the examples they are "
            "scored on look better than they are; take them out of one of the two."
        )
