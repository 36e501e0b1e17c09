"""How many maps fall into each of the five classes, how much of that hangs on the thresholds, and on which inputs.

No fraction is shown without what becomes of it when the thresholds move.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, fields, replace

import numpy as np

from bertlook_teach.disk import Table
from bertlook_teach.measures import CLASSES, DEFAULT_THRESHOLDS, MapScores, Thresholds, class_codes
from bertlook_teach.stats import REPLICATES, mean_interval


# --- fractions ------------------------------------------------------------------------------------------
@dataclass(frozen=True, eq=False)
class Fractions(Table):
    """Share of maps in each class, with a 95 % bootstrap interval over texts.

    Attributes
    ----------
    mean, low, high : array of shape (class,)
        In the order of `CLASSES`; the means add up to 1.
    n : int
        Texts; each weighs the same.
    maps : int
        Maps a text: layers times heads.
    can_block : bool
        Whether any text had two segments; without, the share of blocks is 0 by definition.
    """

    mean: np.ndarray
    low: np.ndarray
    high: np.ndarray
    n: int
    maps: int
    can_block: bool = True

    def __getitem__(self, name: str) -> tuple[float, float, float]:
        """Mean, low, high of one class."""
        if name not in CLASSES:
            raise KeyError(f"no class {name!r}; there are {', '.join(CLASSES)}.")
        position = CLASSES.index(name)
        return float(self.mean[position]), float(self.low[position]), float(self.high[position])

    def rows(self) -> list[dict]:
        """One dict a class."""
        columns = zip(CLASSES, self.mean, self.low, self.high)
        return [
            {"class": name, "share": float(mean), "low": float(low), "high": float(high), "n": self.n}
            for name, mean, low, high in columns
        ]

    def __repr__(self) -> str:
        shares = ", ".join(f"{name} {value:.3f}" for name, value in zip(CLASSES, self.mean))
        return f"Fractions({shares}; n = {self.n} texts of {self.maps} maps)"


def class_shares(scores: MapScores, thresholds: Thresholds = DEFAULT_THRESHOLDS) -> np.ndarray:
    """Share of each text's maps in each class, shape (text, class)."""
    codes = class_codes(scores, thresholds)
    if codes.ndim != 3:
        raise ValueError(
            f"scores must have shape (text, layer, head), as stack_scores gives; got {codes.shape}."
        )
    return np.stack([(codes == code).mean(axis=(1, 2)) for code in range(len(CLASSES))], axis=-1)


def class_fractions(scores: MapScores, *, seed: int = 0) -> Fractions:
    """Fractions of maps by class over a corpus. Texts are drawn again with replacement, never single maps.

    The maps of one text share its tokens, and the same head draws a similar map on every text: the text is what was
    sampled, so it is what the interval is about.

    Raises
    ------
    ValueError
        If there are fewer than two texts: one text says nothing about others.
    """
    shares = class_shares(scores)
    n = len(shares)
    if n < 2:
        raise ValueError(f"an interval over texts needs at least two texts; got {n}.")
    low, high = mean_interval(shares, scheme="indices", replicates=REPLICATES, seed=seed)
    maps = int(np.prod(scores.shape[1:]))
    return Fractions(shares.mean(axis=0), low, high, n, maps, bool(np.any(scores.can_block)))


def class_rates(scores: MapScores) -> np.ndarray:
    """In which share of the texts each head draws each class, shape (class, layer, head); sums to 1 over classes."""
    codes = class_codes(scores)
    if codes.ndim != 3:
        raise ValueError(
            f"scores must have shape (text, layer, head), as stack_scores gives; got {codes.shape}."
        )
    return np.stack([(codes == code).mean(axis=0) for code in range(len(CLASSES))])


# --- how much depends on the thresholds ------------------------------------------------------------------
def threshold_sweep(scores: MapScores, name: str, values: Sequence[float]) -> np.ndarray:
    """Fractions of maps while one threshold moves and the others stay: array of shape (value, class)."""
    names = [field.name for field in fields(Thresholds)]
    if name not in names:
        raise ValueError(f"a threshold is one of {', '.join(names)}; got {name!r}.")
    moved = [replace(DEFAULT_THRESHOLDS, **{name: float(value)}) for value in values]
    return np.stack([class_shares(scores, each).mean(axis=0) for each in moved])


@dataclass(frozen=True, eq=False)
class Robustness:
    """What random thresholds around the given ones do to the fractions.

    Attributes
    ----------
    low, high : array of shape (class,)
        Smallest and largest fraction of each class over all draws.
    kept : float
        Share of maps that keep their class, on average over the draws.
    kept_low : float
        The same in the draw that keeps fewest.
    draws : int
    """

    low: np.ndarray
    high: np.ndarray
    kept: float
    kept_low: float
    draws: int


def threshold_robustness(scores: MapScores, *, seed: int = 0) -> Robustness:
    """Move all five thresholds at once, each by a random factor between 0.8 and 1.2, 200 times."""
    draws, within = 200, 0.2
    names = [field.name for field in fields(Thresholds)]
    factors = np.random.default_rng(seed).uniform(1 - within, 1 + within, (draws, len(names)))
    codes = class_codes(scores)
    shares, kept = [], []
    for row in factors:
        moved = {name: min(1.0, getattr(DEFAULT_THRESHOLDS, name) * f) for name, f in zip(names, row)}
        other = class_codes(scores, Thresholds(**moved))
        shares.append(np.bincount(other.ravel(), minlength=len(CLASSES)) / other.size)
        kept.append((other == codes).mean())
    shares = np.array(shares)
    return Robustness(
        shares.min(axis=0), shares.max(axis=0), float(np.mean(kept)), float(np.min(kept)), draws
    )


# --- which inputs, which maps ----------------------------------------------------------------------------
def input_kinds(texts: Sequence[str], pairs: Sequence[tuple[str, str]]) -> dict[str, list]:
    """The same material as five kinds of input, so that what differs is the kind and not the words.

    Parameters
    ----------
    texts : sequence of str
        Single sentences.
    pairs : sequence of (str, str)
        Two consecutive paragraphs each.

    Returns
    -------
    dict of str to list of inputs
        ``one sentence``; ``two sentences``, unrelated; ``a sentence twice``; ``two paragraphs``, consecutive; ``unrelated
        paragraphs``. A sentence with itself is *not* a paraphrase but the extreme of one: what a paraphrase pair shares
        with it is that every word of one side has a partner on the other.

    Raises
    ------
    ValueError
        If there are fewer than two texts or pairs, since an unrelated partner is taken from another one.
    """
    if len(texts) < 2 or len(pairs) < 2:
        raise ValueError(
            f"unrelated partners come from other texts, so at least two are needed; got {len(texts)} and {len(pairs)}."
        )

    def other(items):  # half-way round, so that neighbours in the file, often on one topic, do not meet
        step = len(items) // 2
        return [*items[step:], *items[:step]]

    return {
        "one sentence": list(texts),
        "two sentences": list(zip(texts, other(texts))),
        "a sentence twice": [(text, text) for text in texts],
        "two paragraphs": list(pairs),
        "unrelated paragraphs": [(first, second) for (first, _), (_, second) in zip(pairs, other(pairs))],
    }


def sample_maps(
    n_texts: int, n_layers: int, n_heads: int, n: int = 100, seed: int = 0
) -> list[tuple[int, int, int]]:
    """Choose maps for labelling: every head, and every text, as equally often as ``n`` allows.

    Nobody looks at the maps for this choice, nor does the rule: a sample in which each class is equally frequent would
    make the rule look better or worse than it is.

    Returns
    -------
    list of (text, layer, head)
        ``n`` different maps, in random order, the same for the same seed.

    Raises
    ------
    ValueError
        If there are not so many maps.
    """
    total = n_texts * n_layers * n_heads
    if not 1 <= n <= total:
        raise ValueError(
            f"{n} maps were asked for; {n_texts} texts of {n_layers} x {n_heads} heads hold 1 to {total}."
        )
    generator = np.random.default_rng(seed)
    heads, texts = n_layers * n_heads, n_texts
    used = np.zeros((texts, heads), dtype=bool)
    per_text = np.zeros(texts, dtype=int)
    chosen: list[tuple[int, int, int]] = []
    while len(chosen) < n:
        for head in generator.permutation(heads)[: n - len(chosen)]:
            free = np.flatnonzero(~used[:, head])
            if not len(free):
                continue
            free = free[per_text[free] == per_text[free].min()]
            text = int(generator.choice(free))
            used[text, head] = True
            per_text[text] += 1
            chosen.append((text, int(head) // n_heads, int(head) % n_heads))
    return [chosen[i] for i in generator.permutation(n)]


# --- the published fractions -----------------------------------------------------------------------------
def published_fractions() -> Mapping[str, np.ndarray]:
    """Kovaleva et al.'s fractions: task -> shares in the order of `CLASSES`, and "mean" of the seven tasks.

    BERT-base uncased, **fine-tuned** on each GLUE task, its maps classified by a trained network. Read off a raster figure,
    good to about .004. Not comparable with fractions of another model by another rule; shown beside them, not against.
    """
    from ...published import read_published

    table: dict[str, np.ndarray] = {}
    for row in read_published("kovaleva_fig2_pattern_classes"):
        task, separator, name = row.quantity.partition(": share of ")
        if not separator or name not in CLASSES:
            continue
        task = "mean" if task.startswith("mean") else task
        table.setdefault(task, np.full(len(CLASSES), np.nan))[CLASSES.index(name)] = float(row.value)
    return table
