"""Before and after: what changed in the attention of a model between two checkpoints of one shape.

Each head is compared with its namesake on the same inputs: by the cosine of the two maps, as Kovaleva et al. (2019) do for
fine-tuning, and by their Jensen-Shannon divergence. The cosine of two maps is never below 0 and seldom near it, so the cosine
between a head and the *other* heads of its layer stands beside it as a floor. Then the curves over layers of what heads look at,
and whether a head of the new model is still nearest to its own former self: heads are paired off by optimal assignment.

References
----------
Kovaleva et al. (2019), section 4.3 and Figure 5. Their released code compares maps padded to 200 positions, with the rows of the
padding; here maps are cropped to the input's own tokens.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import TYPE_CHECKING

import numpy as np

from bertlook_teach.disk import Table
from bertlook_teach.measures import SMOOTHING, js_between, surface_measures
from bertlook_teach.model import Recording, head_label
from bertlook_teach.stats import draws, sample_interval

if TYPE_CHECKING:
    from bertlook_teach.model import Encoder

CURVES = ("previous", "next", "self", "cls", "sep", "punct", "entropy_normalized")


def require_comparable(before: Encoder, after: Encoder) -> None:
    """Refuse two models whose heads are not namesakes.

    Raises
    ------
    ValueError
        If they differ in layers, heads, size of a head, or vocabulary, or one has lost heads. Of a recording layers and heads alone are known.
    """
    for encoder in (before, after):
        if lost := getattr(encoder, "off", ()):
            raise ValueError(
                f"{encoder.name} has lost {len(lost)} heads, so its maps cannot be laid beside those of a whole model. "
                "Compare the models before pruning."
            )
    recorded = any(isinstance(encoder, Recording) for encoder in (before, after))
    shapes = [
        f"{e.n_layers} layers of {e.n_heads} heads" + ("" if recorded else f", {e.head_size} dimensions each")
        for e in (before, after)
    ]
    if shapes[0] != shapes[1]:
        raise ValueError(
            f"two checkpoints of one shape were expected; {before.name} has {shapes[0]}, {after.name} has {shapes[1]}. "
            "A head of one has no namesake in the other."
        )
    # no vocabulary is at hand; that the tokens of every text are the same is seen when it is read
    if recorded:
        return
    first, second = (e.tokenizer.get_vocab() for e in (before, after))
    if first != second:
        differing = sorted(set(first.items()) ^ set(second.items()))
        raise ValueError(
            f"{before.name} and {after.name} have different vocabularies ({len(first)} and {len(second)} pieces; {differing[0][0]!r} is "
            "not the same in both), so they do not read the same tokens. Compare a checkpoint with what it was trained from."
        )


def compare_checkpoints(
    before: Encoder | str,
    after: Encoder | str,
    texts: Iterable,
    *,
    matching: bool = True,
    measures: Sequence[str] = CURVES,
    truncate: bool = False,
    batch_size: int = 8,
    progress: Callable[[Iterable], Iterable] | None = None,
) -> CheckpointComparison:
    """Compare every head of two checkpoints on the same inputs.

    Parameters
    ----------
    before, after : Encoder, Recording, or name of an encoder
        A hub name or a folder is loaded by `bertlook_teach.model.load_encoder`.
    texts : iterable of str, pairs of str, or lists of words
    matching : bool
        Also compare every head with every other one, which `CheckpointComparison.matching` needs: 8 heads**2 bytes a text.
    measures : sequence of str
        Names of `bertlook_teach.measures.surface_measures`, for the curves.
    truncate : bool
        Cut inputs that are too long.
    progress : function(iterable), optional
        Wrapped round the texts.

    Raises
    ------
    ValueError
        If the checkpoints are of different shape or vocabulary, there is no text, a text has one word only, the two read a text
        as different tokens, or a measure is unknown.
    """
    from bertlook_teach.model import iter_attention, load_encoder

    before, after = (load_encoder(e) if isinstance(e, str) else e for e in (before, after))
    require_comparable(before, after)
    known = surface_measures()
    if unknown := [name for name in measures if name not in known]:
        raise ValueError(f"unknown measure {unknown[0]!r}; there is: {', '.join(known)}.")
    if isinstance(texts, str):
        raise TypeError("texts are a sequence of inputs, not one text; put it into a list.")
    texts = list(texts)
    streams = [iter_attention(e, texts, truncate=truncate, batch_size=batch_size) for e in (before, after)]
    pairs = zip(*streams)
    rows: dict[str, list] = {"cosine": [], "js": [], "floor": [], "cross": []}
    curves: dict[str, list] = {name: [] for name in measures}
    tokens = []
    for number, (old, new) in enumerate(pairs if progress is None else progress(pairs)):
        _check_read_alike(number, old, new)
        similar = _cosines(old.weights, new.weights)
        rows["cosine"].append(np.diagonal(similar).reshape(old.weights.shape[:2]))
        rows["floor"].append(_others_of_the_layer(similar, old.weights.shape[:2]))
        if matching:
            distances = js_between(old, new)
            rows["cross"].append(distances)
            rows["js"].append(np.diagonal(distances).reshape(old.weights.shape[:2]))
        else:
            rows["js"].append(js_between(old, new, all_pairs=False))
        for name in measures:
            curves[name].append([known[name](old), known[name](new)])
        tokens.append(old.n_tokens)
    if not tokens:
        raise ValueError("a comparison needs at least one text; got none.")
    return CheckpointComparison(
        before=before.name,
        after=after.name,
        shape=(before.n_layers, before.n_heads),
        tokens=tuple(tokens),
        cosine=np.stack(rows["cosine"]),
        js=np.stack(rows["js"]),
        floor=np.stack(rows["floor"]),
        cross=np.stack(rows["cross"]) if matching else None,
        curves={name: np.asarray(values, dtype=float) for name, values in curves.items()},
        about={"before": before.fingerprint, "after": after.fingerprint, "smoothing": SMOOTHING},
    )


def _cosines(old: np.ndarray, new: np.ndarray) -> np.ndarray:
    """Cosine of the flattened maps, (heads, heads), rows the old model's heads: one matrix product."""
    flat = [weights.reshape(-1, weights.shape[-1] ** 2).astype(float) for weights in (old, new)]
    one, other = (maps / np.linalg.norm(maps, axis=1, keepdims=True) for maps in flat)
    return one @ other.T


def _others_of_the_layer(similar: np.ndarray, shape: tuple[int, int]) -> np.ndarray:
    """Mean cosine of each new head with the old heads of its layer, its namesake left out; 0 where it has no others."""
    n_layers, n_heads = shape
    blocks = similar.reshape(n_layers, n_heads, n_layers, n_heads)
    own = blocks[np.arange(n_layers), :, np.arange(n_layers), :]  # (layer, old head, new head)
    sums = own.sum(axis=1) - np.diagonal(own, axis1=1, axis2=2)
    return sums / max(1, n_heads - 1)


# --- pairing off ---------------------------------------------------------------------------------------------
def match_heads(distances) -> np.ndarray:
    """For each row the column it is paired with, so that the sum of all paired distances is as small as possible.

    Parameters
    ----------
    distances : array of shape (heads, heads)
        Rows the heads before, columns the heads after; numbered layer by layer.

    Returns
    -------
    int array of shape (heads,)

    Raises
    ------
    ValueError
        If the array is not square.

    Examples
    --------
    Two heads that changed places:

    >>> match_heads([[.6, .1], [.2, .5]])
    array([1, 0])
    """
    from scipy.optimize import linear_sum_assignment

    distances = np.asarray(distances, dtype=float)
    if distances.ndim != 2 or distances.shape[0] != distances.shape[1]:
        raise ValueError(f"expected a square array of distances; got shape {distances.shape}.")
    return linear_sum_assignment(distances)[1]


@dataclass(frozen=True, eq=False)
class Matching:
    """Heads before paired off with heads after.

    Attributes
    ----------
    partners : int array of shape (heads,)
        For each head before, numbered layer by layer, the head after that it is paired with.
    kept : int
        Heads paired with their own namesake; a random pairing keeps one on average, however many heads there are.
    low, high : float
        95 % bootstrap interval of ``kept`` over texts.
    same_layer : int
        Heads paired with one of their own layer.
    shape : (int, int)
    n_texts : int
    """

    partners: np.ndarray
    kept: int
    low: float
    high: float
    same_layer: int
    shape: tuple[int, int]
    n_texts: int

    @property
    def n_heads(self) -> int:
        return len(self.partners)

    @property
    def moved(self) -> list[tuple[str, str]]:
        """Printed names of the heads that are paired with another: (before, after)."""
        pairs = enumerate(self.partners)
        return [(self._name(i), self._name(int(j))) for i, j in pairs if i != j]

    def _name(self, index: int) -> str:
        return head_label(*divmod(index, self.shape[1]))

    def __repr__(self) -> str:
        return (
            f"Matching({self.kept} of {self.n_heads} heads keep their name [{self.low:g}, {self.high:g}], "
            f"{self.same_layer} their layer, {self.n_texts} texts)"
        )


# --- the comparison ------------------------------------------------------------------------------------------
# Of two maps, whose weights are not negative, and in nats.
_RANGES = {"cosine": (0, 1), "floor": (0, 1), "js": (0, np.log(2))}


@dataclass(frozen=True, eq=False)
class CheckpointComparison(Table):
    """Two checkpoints, head by head, with every text's own value kept for intervals. Every text weighs the same.

    Attributes
    ----------
    before, after : str
        Names of the two models.
    shape : (int, int)
        Layers, heads a layer.
    tokens : tuple of int
        Tokens of each text.
    cosine, js, floor : float arrays of shape (text, layer, head)
        Cosine of the head's two maps, all rows, special tokens too, no padding; Jensen-Shannon divergence in nats, mean over the
        rows; and the mean cosine of the new map with the old maps of the *other* heads of its layer.
    cross : float array of shape (text, heads, heads), or None
        Divergence of every head before (row) from every head after (column).
    curves : dict of measure -> float array of shape (text, 2, layer, head)
        Before and after.
    about : dict
    """

    before: str
    after: str
    shape: tuple[int, int]
    tokens: tuple[int, ...]
    cosine: np.ndarray
    js: np.ndarray
    floor: np.ndarray
    cross: np.ndarray | None = None
    curves: dict[str, np.ndarray] = field(default_factory=dict)
    about: dict = field(default_factory=dict)

    @property
    def n_texts(self) -> int:
        return len(self.tokens)

    @cached_property
    def _draws(self) -> np.ndarray:
        """Weights of the texts in each resample, (resample, text), summing to 1: the same for every quantity."""
        if self.n_texts < 2:
            raise ValueError(
                f"an interval over texts needs at least two; this comparison has {self.n_texts}."
            )
        return draws(self.n_texts, scheme="multinomial") / self.n_texts

    def interval(self, values, within=(-np.inf, np.inf)) -> tuple[np.ndarray, np.ndarray]:
        """95 % bootstrap interval over texts of the mean of ``values``, whose first axis is the text; ``within`` what they can be."""
        values = np.asarray(values, dtype=float)
        drawn = np.tensordot(self._draws, values, 1)
        return sample_interval(drawn, values.mean(axis=0), self.n_texts, within=within)

    def heads(self) -> list[dict]:
        """One row for each head: name, cosine with interval, floor, divergence with interval, and its partner if heads were paired."""
        bounds = {name: self.interval(getattr(self, name), _RANGES[name]) for name in ("cosine", "js")}
        partners = self.matching().partners if self.cross is not None else None
        rows = []
        for layer, head in np.ndindex(self.shape):
            row = {"head": head_label(layer, head), "layer": layer + 1, "number": head + 1}
            for name in ("cosine", "js"):
                low, high = bounds[name]
                row[name] = float(getattr(self, name)[:, layer, head].mean())
                row[f"{name}_low"], row[f"{name}_high"] = float(low[layer, head]), float(high[layer, head])
            row["floor"] = float(self.floor[:, layer, head].mean())
            if partners is not None:
                row["partner"] = head_label(
                    *divmod(int(partners[layer * self.shape[1] + head]), self.shape[1])
                )
            rows.append(row | {"n": self.n_texts})
        return rows

    def layers(self) -> list[dict]:
        """One row for each layer: mean cosine, floor and divergence of its heads, and each curve before, after and their difference.

        Differences are paired: both models read the same texts, so what makes a text easy or hard cancels.
        """
        parts = {"cosine": self.cosine, "floor": self.floor, "js": self.js}
        rows: list[dict] = [{"layer": layer + 1} for layer in range(self.shape[0])]
        for name, values in parts.items():
            self._fill(rows, name, values.mean(axis=2), _RANGES[name])
        for name, values in self.curves.items():
            means = values.mean(axis=3)  # (text, 2, layer)
            for row, old, new in zip(rows, *means.mean(axis=0)):
                row[f"{name}_before"], row[f"{name}_after"] = float(old), float(new)
            self._fill(rows, f"{name}_change", means[:, 1] - means[:, 0])
        for row in rows:
            row["n"] = self.n_texts
        return rows

    def _fill(self, rows: list[dict], name: str, values: np.ndarray, within=(-np.inf, np.inf)) -> None:
        low, high = self.interval(values, within)
        for row, mean, bottom, top in zip(rows, values.mean(axis=0), low, high):
            row[name], row[f"{name}_low"], row[f"{name}_high"] = float(mean), float(bottom), float(top)

    def late_minus_early(self) -> tuple[float, float, float]:
        """Mean divergence of the last third of the layers minus that of the first third, with its interval.

        Raises
        ------
        ValueError
            If the model has fewer than two layers.
        """
        n_layers = self.shape[0]
        if n_layers < 2:
            raise ValueError("a model of one layer has no early and late layers.")
        third = max(1, n_layers // 3)
        difference = self.js[:, -third:].mean(axis=(1, 2)) - self.js[:, :third].mean(axis=(1, 2))
        low, high = self.interval(difference)
        return float(difference.mean()), float(low), float(high)

    def matching(self) -> Matching:
        """Heads before paired off with heads after by the smallest sum of divergences.

        Raises
        ------
        ValueError
            If the divergences of all pairs were not kept.
        """
        if self.cross is None:
            raise ValueError("pairing heads off needs all pairs: compare_checkpoints(..., matching=True).")
        return self._matching

    @cached_property
    def _matching(self) -> Matching:
        partners = match_heads(self.cross.mean(axis=0))
        own = np.arange(len(partners))
        drawn = [
            int((match_heads(np.tensordot(weights, self.cross, 1)) == own).sum()) for weights in self._draws
        ]
        kept = int((partners == own).sum())
        low, high = sample_interval(drawn, kept, self.n_texts, within=(0, len(own)))
        n_heads = self.shape[1]
        same_layer = int((partners // n_heads == own // n_heads).sum())
        return Matching(partners, kept, low, high, same_layer, self.shape, self.n_texts)

    def rows(self, by: str = "head") -> list[dict]:
        """`heads`, or `layers` for ``by="layer"``."""
        return {"head": self.heads, "layer": self.layers}[by]()

    def __repr__(self) -> str:
        return (
            f"CheckpointComparison({self.before!r} -> {self.after!r}, {self.n_texts} texts: mean cosine {self.cosine.mean():.3f}, "
            f"floor {self.floor.mean():.3f}, divergence {self.js.mean():.4f} nats)"
        )


def _check_read_alike(number: int, old, new) -> None:
    """Refuse a text of which the maps of two models cannot be compared, or say nothing."""
    if old.tokens != new.tokens:
        raise ValueError(
            f"text {number} is read as {' '.join(old.tokens[:8])} ... by {old.model} and as {' '.join(new.tokens[:8])} ... by "
            f"{new.model}; maps of different tokens cannot be compared."
        )
    if len(old.words) < 2:
        raise ValueError(
            f"text {number} ({old.text!r}) has one word: beside [CLS] and [SEP] there is nothing to look at but itself, so it "
            "cannot show what changed. Leave it out."
        )
