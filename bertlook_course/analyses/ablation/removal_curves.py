"""How many heads can go: heads switched off step by step, and a score after each step (Michel et al. 2019, section 4).

Heads are *ranked* on some examples and *scored* on others: tuning on the set that is reported flatters. Beside the order of interest
stand its opposite (best first) and random orders, which say what any order would have given. Anything that can be scored without some
heads will do: a task with heads switched off, a mix of head scores, a fine-tuned tagger.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace

import numpy as np

from bertlook_teach.disk import Table
from bertlook_teach.model import head_label
from bertlook_teach.stats import ratio_interval

from .gate_importance import head_importance
from .heads_off import all_heads
from .scorers import as_scorer, checked_batches, score_batches

ORDERS = ("worst first", "best first", "random")

STEPS = 10

Head = tuple[int, int]

# The heads that are off -> of each unit (a text, a minimal pair) what is summed above and below the line: (unit, 2).
ScoreWithout = Callable[[Sequence[Head]], np.ndarray]


def mean_parts(values, units=None) -> np.ndarray:
    """Values of cases as sums and counts a unit, so that the ratio of the sums is their mean; shape (unit, 2).

    ``units``: int array of shape (case,), the unit of each case; by default each is its own.
    """
    values = np.asarray(values, float)
    units = np.arange(len(values)) if units is None else np.asarray(units)
    return np.stack([np.bincount(units, values), np.bincount(units)], axis=1)


def _ratio(parts: np.ndarray) -> float:
    above, below = np.asarray(parts, float).sum(axis=0)
    return float(above / below) if below else 0.0


def remove_one(score: ScoreWithout, heads: Sequence[Head]) -> np.ndarray:
    """What is lost without each head: score with all minus score without it, shape (head,). Negative: better without.

    Parameters
    ----------
    score : function(heads that are off) -> array of shape (unit, 2)
        See `mean_parts`.
    heads : sequence of (layer, head)
    """
    whole = _ratio(score(()))
    return np.array([whole - _ratio(score((head,))) for head in heads])


def worst_first(losses, heads: Sequence[Head]) -> list[Head]:
    """Heads in the order of the smallest loss."""
    return [heads[i] for i in np.argsort(losses, kind="stable")]


@dataclass(frozen=True, eq=False, kw_only=True)
class RemovalCurve(Table):
    """A score after each step.

    Attributes
    ----------
    off : list of tuples of (layer, head)
        The heads that are off at each step; the first step has none off, the last one all.
    scores : ndarray of shape (step,)
    low, high : ndarrays of shape (step,)
        95 % interval of the score, drawing units; for random orders the lowest and highest of the orders drawn.
    order : str
    n : int
        Units, or the test examples of a task.
    n_orders : int
        How many random orders; 1 otherwise.
    losses : ndarray of shape (step,), or None
        Mean loss over the test examples of a task.
    ranked : str
        ``"once"`` or ``"again at each step"``; empty for random orders and for an order that was given.
    measure : str
        What the score is.
    """

    off: list
    scores: np.ndarray
    low: np.ndarray
    high: np.ndarray
    order: str
    n: int
    n_orders: int = 1
    losses: np.ndarray | None = None
    ranked: str = ""
    measure: str = "score"

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
        """One dict a step, for a table or a file; the column ``loss`` only where there is one."""
        columns = {
            "share_off": self.shares,
            "heads_off": [len(off) for off in self.off],
            "score": self.scores,
            "low": self.low,
            "high": self.high,
        } | ({} if self.losses is None else {"loss": self.losses})
        return [
            {"order": self.order, "ranked": self.ranked}
            | {
                name: values[step] if name == "heads_off" else float(values[step])
                for name, values in columns.items()
            }
            | {"n": self.n, "last_removed": head_label(*off[-1]) if off and self.n_orders == 1 else ""}
            for step, off in enumerate(self.off)
        ]

    def __repr__(self) -> str:
        how = (
            f", {self.n_orders} orders"
            if self.n_orders > 1
            else f", ranked {self.ranked}"
            if self.ranked
            else ""
        )
        return (
            f"RemovalCurve({self.order}{how}: {self.measure} {self.scores[0]:.3f} with all heads, {self.scores[-1]:.3f} with none, "
            f"n = {self.n})"
        )


def removal_curve(
    score: ScoreWithout,
    ranked: Sequence[Head] | Callable[[Sequence[Head]], Sequence[Head]],
    *,
    order: str = "worst first",
    steps: int = STEPS,
    progress: Callable = iter,
) -> RemovalCurve:
    """Take heads away in an order that was found on *other* examples, and score after each step.

    Parameters
    ----------
    score : function(heads that are off) -> array of shape (unit, 2)
        On the examples to report on; see `mean_parts`.
    ranked : sequence of (layer, head), or function(heads that are off) -> such a sequence
        All heads, the first to go first. A function is asked again at each step.
    order : str
        Name of the order.
    steps : int
        A step takes 1/steps of all heads.
    progress : function
        Wraps the iterable of steps.

    Raises
    ------
    ValueError
        If a head comes twice, or steps is not positive.
    """
    again = ranked if callable(ranked) else None
    heads = [tuple(head) for head in (again(()) if again else ranked)]
    if steps < 1 or not heads or len(set(heads)) < len(heads):
        raise ValueError(
            f"a curve needs heads, each once, and one step or more; got {len(heads)} heads ({len(set(heads))} different), {steps} steps."
        )
    off, parts = [], []
    for step in progress(range(steps + 1)):
        target, removed = round(len(heads) * step / steps), off[-1] if off else ()
        if again and step and len(removed) < target < len(heads):
            heads = [*removed, *(tuple(head) for head in again(removed) if tuple(head) not in set(removed))]
        off.append(tuple(heads[:target]))
        parts.append(np.asarray(score(off[-1]), float))
    low, high = np.array([ratio_interval(part) for part in parts]).T
    scores = np.array([_ratio(part) for part in parts])
    return RemovalCurve(off=off, scores=scores, low=low, high=high, order=order, n=len(parts[0]))


def random_removal(
    score: ScoreWithout,
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
    curves = [
        removal_curve(score, _shuffled(heads, seed + number), order="random", steps=steps)
        for number in progress(range(n_orders))
    ]
    scores = np.stack([curve.scores for curve in curves])
    return replace(curves[0], scores=scores.mean(0), low=scores.min(0), high=scores.max(0), n_orders=n_orders)


def _shuffled(heads: Sequence[Head], seed: int) -> list[Head]:
    return [heads[i] for i in np.random.default_rng(seed).permutation(len(heads))]


# --- a task that is scored with heads switched off -----------------------------------------------------------
def pruning_curve(
    scorer,
    rank_on: Iterable,
    score_on: Iterable,
    *,
    order: str = "worst first",
    rerank: bool = False,
    version: str = "paper",
    steps: int = STEPS,
    n_orders: int = 5,
    seed: int = 0,
    units=None,
    progress: Callable = iter,
) -> RemovalCurve:
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
    version : {"paper", "released", "script"}
        Which I_h.
    steps : int
        A step switches off 1/steps of all heads; at least one.
    n_orders, seed : int
        How many random orders, and what draws the first.
    units : int array of shape (example,), optional
        The unit that each test example belongs to (a minimal pair, a document): intervals draw whole units.
    progress : function
        Wraps the iterable of steps, or of random orders.

    Returns
    -------
    RemovalCurve
        With steps + 1 points and their losses. At the last one all heads are off: what the model knows without any word seeing another.

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
    if rank_on is score_on and order != "random":
        raise ValueError(
            "rank_on and score_on are the same examples. Heads chosen on the examples they are scored on look better than they are; rank "
            "on train, score on test."
        )
    scorer, score_on = as_scorer(scorer), list(checked_batches(score_on))
    losses, counts = [], []

    def score(off) -> np.ndarray:
        loss, right = score_batches(scorer, score_on, heads=off)
        if units is not None and len(units) != len(right):
            raise ValueError(f"one unit an example is needed: {len(right)} examples, {len(units)} units.")
        losses.append(float(loss.mean()))
        counts.append(len(right))
        return mean_parts(right, units)

    if order == "random":
        heads = all_heads(scorer.encoder)
        curve = random_removal(score, heads, n_orders=n_orders, steps=steps, seed=seed, progress=progress)
    else:
        rank_on = list(checked_batches(rank_on))
        _refuse_shared_batches(rank_on, score_on)

        def ranked(off) -> list[Head]:
            found = head_importance(scorer, rank_on, version, heads_off=off).ranking()
            return found[::-1] if order == "best first" else found

        curve = removal_curve(
            score, ranked if rerank else ranked(()), order=order, steps=steps, progress=progress
        )
        curve = replace(curve, ranked="again at each step" if rerank else "once")
    mean_losses = np.reshape(losses, (curve.n_orders, -1)).mean(axis=0)
    return replace(curve, losses=mean_losses, measure=scorer.measure, n=counts[0])


def _refuse_shared_batches(rank_on, score_on) -> None:
    def rows(batches):
        return {tuple(row[keep.bool()].tolist()) for ids, mask, *_ in batches for row, keep in zip(ids, mask)}

    shared = rows(rank_on) & rows(score_on)
    if shared:
        raise ValueError(
            f"{len(shared)} inputs are among the examples to rank on and among those to score on. Heads chosen on the examples they are "
            "scored on look better than they are; take them out of one of the two."
        )
