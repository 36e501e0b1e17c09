"""How many heads really matter? Tests on the same examples with and without a head, and what chance alone would find.

Among 144 heads some always seem to help, and some to harm. Three things keep one honest: *paired* tests, since both models answered the
same examples; a *correction* for how many heads were tried; and a second half of the examples, on which whatever the first half
found is tried once more.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from bertlook_teach.disk import Table
from bertlook_teach.model import head_label, head_rows
from bertlook_teach.stats import holm, mcnemar, paired_p

LEVEL = 0.05

BY = ("score", "loss")


# --- many heads ----------------------------------------------------------------------------------------
@dataclass(frozen=True, eq=False, kw_only=True)
class HeadsThatMatter(Table):
    """Which heads make a difference that is not chance.

    Attributes
    ----------
    p : ndarray of shape (run, layer, head)
        Of the paired test on all examples; a run is one fine-tuning seed.
    corrected : ndarray of shape (run, layer, head)
        After Holm's correction over all heads of the run.
    change : ndarray of shape (run, layer, head)
        Mean score, or loss, without the head minus with it.
    found, confirmed : ndarrays of shape (run, split)
        Heads found on a random half (corrected p below the level), and how many of these the other half confirms, in the same
        direction (corrected over those found).
    in_every_run : tuple of (layer, head)
        Found on all examples in each run, each time in the same direction.
    by : {"score", "loss"}
    level : float
    n : int
        Examples.
    """

    p: np.ndarray
    corrected: np.ndarray
    change: np.ndarray
    found: np.ndarray
    confirmed: np.ndarray
    in_every_run: tuple[tuple[int, int], ...]
    by: str
    level: float
    n: int

    @property
    def uncorrected(self) -> np.ndarray:
        """(run,): heads below the level if one forgets how many were tried."""
        return (self.p < self.level).sum(axis=(1, 2))

    @property
    def significant(self) -> np.ndarray:
        """(run,): heads below the level after correction, on all examples."""
        return (self.corrected < self.level).sum(axis=(1, 2))

    @property
    def expected_by_chance(self) -> float:
        """How many heads would fall below the level without correction if none mattered; exact tests find fewer."""
        return self.level * self.p[0].size

    def rows(self) -> list[dict]:
        """One dict a run and head."""
        runs = zip(self.p, self.corrected, self.change)
        return [
            {"run": run} | row
            for run, columns in enumerate(runs)
            for row in head_rows(dict(zip(("p", "p_corrected", "change"), columns)), n=self.n)
        ]

    def __repr__(self) -> str:
        heads = self.p[0].size
        return (
            f"HeadsThatMatter(by {self.by}, {heads} heads, {len(self.p)} run{'s' * (len(self.p) > 1)}, n = {self.n}: "
            f"{_spread(self.uncorrected)} below p = {self.level} uncorrected (at most {self.expected_by_chance:.1f} expected by chance), "
            f"{_spread(self.significant)} corrected; on random halves {np.median(self.found):g} found, {np.median(self.confirmed):g} of them "
            f"confirmed on the other half; in every run: {', '.join(head_label(*h) for h in self.in_every_run) or 'none'})"
        )


def _spread(counts) -> str:
    return f"{min(counts)}" if min(counts) == max(counts) else f"{min(counts)} to {max(counts)}"


def heads_that_matter(effects, *, by: str = "score", units=None, seed: int = 0) -> HeadsThatMatter:
    """How many heads really matter?

    Parameters
    ----------
    effects : HeadEffects, or a sequence of them
        Of :func:`bertlook_course.analyses.ablation.single_head_effects`; several for several fine-tuning seeds on the same examples.
    by : {"score", "loss"}
        Right answers are tried with McNemar's exact test, everything else with the paired t-test.
    units : int array of shape (example,), optional
        Examples of one unit (a minimal pair, a document) stay in one half.
    seed : int

    Raises
    ------
    ValueError
        If there are fewer than four units, the runs differ in shape, or ``by`` is unknown.
    """
    runs = [effects] if hasattr(effects, "base_scores") else list(effects)
    if by not in BY:
        raise ValueError(f"by is 'score' or 'loss'; got {by!r}.")
    if not runs or len({run.losses.shape for run in runs}) > 1:
        raise ValueError(
            "several runs must be of the same examples and of models of the same shape, one or more."
        )
    n = runs[0].n
    units = np.arange(n) if units is None else np.unique(np.asarray(units), return_inverse=True)[1]
    if len(units) != n:
        raise ValueError(f"one unit an example is needed: {n} examples, {len(units)} units.")
    n_units = int(units.max()) + 1
    if n_units < 4:
        raise ValueError(f"two halves of two need four examples (or units) at least; got {n_units}.")
    random = np.random.default_rng(seed)
    halves = [random.permutation(n_units) < n_units // 2 for _ in range(20)]
    p, change, found, confirmed = [], [], [], []
    for run in runs:
        base, without = (run.base_scores, run.scores) if by == "score" else (run.base_losses, run.losses)
        p.append(_p_values(base, without))
        change.append((without - base).mean(axis=-1))
        counts = [_retest(base, without, half[units]) for half in halves]
        found.append([c[0] for c in counts])
        confirmed.append([c[1] for c in counts])
    p, change = np.stack(p), np.stack(change)
    corrected = np.stack([holm(values) for values in p])
    same_way = np.abs(np.sign(change).sum(axis=0)) == len(runs)
    everywhere = np.argwhere((corrected < LEVEL).all(axis=0) & same_way)
    return HeadsThatMatter(
        p=p,
        corrected=corrected,
        change=change,
        found=np.array(found),
        confirmed=np.array(confirmed),
        in_every_run=tuple((int(a), int(b)) for a, b in everywhere),
        by=by,
        level=LEVEL,
        n=n,
    )


def _p_values(base: np.ndarray, without: np.ndarray) -> np.ndarray:
    """Of every head: (layer, head) for base (example,) and without (layer, head, example)."""
    binary = np.isin(base, (0, 1)).all() and np.isin(without, (0, 1)).all()
    test = mcnemar if binary else paired_p
    return np.array([[test(base, after) for after in layer] for layer in without])


def _retest(base, without, half) -> tuple[int, int]:
    """Heads found on one half, and confirmed on the other."""
    found = holm(_p_values(base[half], without[..., half])) < LEVEL
    if not found.any():
        return 0, 0
    first = np.sign((without[..., half] - base[half]).mean(axis=-1))[found]
    rest_base, rest = base[~half], without[..., ~half][found]
    second = np.sign((rest - rest_base).mean(axis=-1))
    again = holm(_p_values(rest_base, rest[None])[0]) < LEVEL
    return int(found.sum()), int((again & (first == second)).sum())


# --- what chance alone would find ----------------------------------------------------------------------
def best_gain_by_chance(
    n_examples: int, tries: int, *, changed: float = 0.1, runs: int = 10_000, seed: int = 0
) -> np.ndarray:
    """The best of several gains where no gain is real, in points of accuracy: shape (run,).

    Each of ``tries`` interventions (12 layers, 144 heads) changes the answer of a share ``changed`` of the examples, and each changed answer is
    as likely to become right as to become wrong. The best gain is what would be reported.

    Parameters
    ----------
    n_examples : int
        277 for the development set of RTE.
    tries : int
    changed : float
        Share of right-or-wrong that flips under an intervention: 0 to 1.
    runs : int
        How often the whole experiment is repeated.
    seed : int

    Notes
    -----
    The tries are independent here. Real interventions on one model share examples that are easily flipped;
    :func:`best_gain_p` keeps that dependence, but needs the answers themselves.

    Examples
    --------
    >>> gains = best_gain_by_chance(277, 12, changed=0.1)
    >>> bool(gains.mean() > best_gain_by_chance(277, 1, changed=0.1).mean())
    True
    """
    if n_examples < 1 or tries < 1 or runs < 1:
        raise ValueError(f"n_examples, tries and runs are 1 or more; got {n_examples}, {tries} and {runs}.")
    if not 0 <= changed <= 1:
        raise ValueError(f"changed is a share of the examples, from 0 to 1; got {changed}.")
    random = np.random.default_rng(seed)
    best = np.empty(runs)
    at_once = max(1, 2_000_000 // tries)
    for start in range(0, runs, at_once):
        size = (min(at_once, runs - start), tries)
        flipped = random.binomial(n_examples, changed, size)
        right = random.binomial(flipped, 0.5)
        best[start : start + size[0]] = (2 * right - flipped).max(axis=1)
    return 100 * best / n_examples


def best_gain_p(effects, *, seed: int = 0) -> tuple[float, float]:
    """The best score gained by switching one head off, and how often chance gains as much.

    Before and after are swapped at random, for each example *in all heads together*: so the heads depend on one another as they
    did, and the best of all of them is compared with the best of all of them.

    Parameters
    ----------
    effects : HeadEffects or LayerEffects

    Returns
    -------
    gain : float
        In points (per cent) of the score.
    p : float
        One-sided, for the best of all heads; no further correction is due.
    """
    difference = (effects.scores - effects.base_scores).reshape(-1, effects.n)
    gain = difference.mean(axis=1).max()
    random = np.random.default_rng(seed)
    reached, draws, at_once = 0, 10_000, max(1, 1_000_000 // max(1, effects.n))
    for start in range(0, draws, at_once):
        signs = random.choice((-1.0, 1.0), size=(min(at_once, draws - start), effects.n))
        reached += int(((signs @ difference.T).max(axis=1) / effects.n >= gain - 1e-12).sum())
    return 100 * float(gain), (reached + 1) / (draws + 1)
