"""How alike two heads are: Jensen-Shannon divergence between their maps, over a corpus.

Clark et al. (2019), section 6, Figure 6: ``D(a, b)`` is the sum, over all tokens of all texts, of the Jensen-Shannon
divergence between the rows of head a and head b. It is the divergence, in nats, not its square root. Divided by the
number of tokens it runs from 0 (the same map) to ln 2 (no key in common). Heads are numbered layer by layer: head
``[l, h]`` is row ``l * n_heads + h``. Where heads stand on a map, and how they cluster, is a matter
of `metric_mds` and the clustering beside it, in the package of the course.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass

import numpy as np
from array_api_compat import is_numpy_array

from ..disk import Table
from ..model import array_namespace, as_maps, head_label
from ..stats import REPLICATES, draws, monte_carlo_p, natural_range, sample_interval
from .profile import UNLABELLED
from .surface import attention_weights

SMOOTHING = 0.001  # share of uniform attention mixed in; Clark's entropies use another one, 0.0001

_COLUMNS = 1024  # entries of all heads taken at a time: with their buffers they stay in a core's own memory

_MOST_HEADS = 144  # pairs of one head computed at a time


def checked_distances(distances) -> np.ndarray:
    """A distance matrix as float64: square, finite, symmetric, not negative, zero on its diagonal."""
    distances = np.array(getattr(distances, "per_token", distances), dtype=np.float64)
    if distances.ndim != 2 or distances.shape[0] != distances.shape[1] or not len(distances):
        raise ValueError(
            f"distances must be a square matrix, shape (point, point), at least one point; got {distances.shape}."
        )
    if not np.isfinite(distances).all():
        i, j = np.argwhere(~np.isfinite(distances))[0]
        raise ValueError(f"distances must be finite; between points {i} and {j} it is {distances[i, j]}.")
    slack = 1e-6 * max(1.0, float(np.abs(distances).max()))
    if (np.abs(distances - distances.T) > slack).any() or (np.abs(np.diag(distances)) > slack).any():
        raise ValueError(
            "distances must be symmetric, with zeros on the diagonal. Is this a similarity matrix?"
        )
    if (distances < -slack).any():
        raise ValueError(f"distances cannot be negative; the smallest is {distances.min():.3g}.")
    distances = np.maximum((distances + distances.T) / 2, 0)
    np.fill_diagonal(distances, 0)
    return distances


def js_distances(attention, *, smoothing: float = SMOOTHING, per_token: bool = True):
    """Jensen-Shannon divergence between all pairs of heads on one input.

    ``JS(p, q) = H((p + q)/2) - (H(p) + H(q))/2``: the entropies of single heads are taken once, so that a pair costs
    one logarithm an entry, and a pair is computed once.

    Parameters
    ----------
    attention : Attention, or array of shape (layer, head, query, key) or (head, query, key)
        NumPy or torch. float32 is computed in float32 and added up in float64; float64 throughout in float64.
    smoothing : float
        Each row becomes ``(1 - smoothing) p + smoothing / n``, as in Clark et al. 0 is allowed: 0 log 0 is 0.
    per_token : bool
        Mean over the tokens, 0 to ln 2; otherwise their sum.

    Returns
    -------
    float64 array of shape (heads, heads), heads numbered layer by layer
        Symmetric, zero on the diagonal, in nats.

    Raises
    ------
    ValueError
        If the shape is another, a row does not sum to 1, or smoothing is not a share.

    References
    ----------
    Clark et al. (2019), section 6, and the authors' notebook (smoothing).

    Examples
    --------
    A head that looks at itself and one that looks at the other of two tokens share nothing:

    >>> js_distances(np.array([[[1., 0.], [0., 1.]], [[0., 1.], [1., 0.]]]), smoothing=0).round(4)
    array([[0.    , 0.6931],
           [0.6931, 0.    ]])
    """
    if not 0 <= smoothing < 1:
        raise ValueError(f"smoothing is a share between 0 and 1; got {smoothing}.")
    weights = as_maps(attention)
    if weights.ndim not in (3, 4):
        raise ValueError(
            "distances need the maps of all heads of one input, shape (layer, head, query, key) or (head, query, key); "
            f"got {tuple(weights.shape)}."
        )
    weights = attention_weights(weights)
    n = weights.shape[-1]
    maps = weights.reshape((-1, n * n))
    xp = array_namespace(maps)
    if maps.dtype not in (xp.float32, xp.float64):
        maps = xp.astype(maps, xp.float32)
    sums = (_mixture_sums if is_numpy_array(maps) else _mixture_sums_elsewhere)(maps, smoothing, n)
    own = xp.linalg.diagonal(sums)
    distances = (own[:, None] + own[None, :]) / 2 - sums
    distances = xp.where(distances > 0, distances, xp.zeros_like(distances))  # rounding leaves -1e-9
    return distances / n if per_token else distances


def _row_products(first: np.ndarray, second: np.ndarray) -> np.ndarray:
    """Scalar product of each row with its fellow; NumPy 2 has a faster way."""
    return np.vecdot(first, second) if hasattr(np, "vecdot") else np.einsum("ij,ij->i", first, second)


def _mixture_sums(maps: np.ndarray, smoothing: float, n: int) -> np.ndarray:
    """``sum m log m`` with m the mean of two heads' maps, for all pairs; on the diagonal a head with itself.

    Work is cut into blocks of columns, one thread a block: NumPy lets other threads run while it computes. The
    order of additions does not depend on the number of threads, so neither does the result.
    """
    starts = range(0, maps.shape[1], _COLUMNS)

    def block(start: int) -> np.ndarray:
        heads = len(maps)
        # Half of each map, so that a sum of two is their mixture and a head's mixture with itself is exactly itself.
        halves = maps[:, start : start + _COLUMNS] * maps.dtype.type((1 - smoothing) / 2)
        halves += maps.dtype.type(smoothing / n / 2)
        size = min(heads, _MOST_HEADS), halves.shape[1]
        mixtures, logs = np.empty(size, maps.dtype), np.empty(size, maps.dtype)
        sums = np.zeros((heads, heads))
        for i in range(heads):
            for j in range(i, heads, _MOST_HEADS):
                rows = halves[j : j + _MOST_HEADS]
                m = np.add(rows, halves[i], out=mixtures[: len(rows)])
                log = logs[: len(rows)]
                if smoothing:
                    np.log(m, out=log)
                else:
                    np.log(np.maximum(m, np.finfo(m.dtype).tiny, out=log), out=log)  # 0 log 0 = 0
                sums[i, j : j + len(rows)] = _row_products(m, log)
        return sums

    threads = min(len(starts), os.cpu_count() or 1, 8)
    if threads == 1:
        total = sum(map(block, starts))
    else:
        with ThreadPoolExecutor(threads) as pool:
            total = sum(pool.map(block, starts))  # in the order of the blocks, whoever finishes first
    return total + np.triu(total, 1).T


def _mixture_sums_elsewhere(maps, smoothing: float, n: int):
    """The same for arrays that are not NumPy's, for instance on a GPU."""
    xp = array_namespace(maps)
    tiny = xp.finfo(maps.dtype).tiny
    heads, entries = maps.shape
    columns = max(_COLUMNS, 2**22 // heads)
    rows = [xp.zeros_like(maps[:, 0], dtype=xp.float64) for _ in range(heads)]
    for start in range(0, entries, columns):
        halves = maps[:, start : start + columns] * ((1 - smoothing) / 2) + smoothing / n / 2
        for i in range(heads):
            m = halves + halves[i : i + 1, :]
            rows[i] = rows[i] + xp.sum(m * xp.log(xp.where(m > tiny, m, xp.ones_like(m))), axis=-1)
    sums = xp.stack(rows)
    return (sums + sums.T) / 2  # the same but for the order of additions


def js_between(attention, other, *, smoothing: float = SMOOTHING, all_pairs: bool = True) -> np.ndarray:
    """Jensen-Shannon divergence, mean over the tokens, between the heads of two models on one and the same input.

    Parameters
    ----------
    attention, other : Attention or array of shape (layer, head, query, key)
    smoothing : float
        See `js_distances`.
    all_pairs : bool
        Every head of one with every head of the other; otherwise each with its namesake.

    Returns
    -------
    float64 array of shape (heads, heads), rows ``attention``, columns ``other``; or (layer, head) for namesakes
        In nats, 0 (the same map) to ln 2 (no key in common).

    Raises
    ------
    ValueError
        If the inputs have different numbers of tokens, or namesakes are asked for and the models differ in shape.

    Examples
    --------
    >>> js_between(np.eye(2)[None, None], np.eye(2)[None, None, ::-1], smoothing=0).round(4)
    array([[0.6931]])
    """
    if not 0 <= smoothing < 1:
        raise ValueError(f"smoothing is a share between 0 and 1; got {smoothing}.")
    maps = [np.asarray(attention_weights(getattr(a, "weights", a)), dtype=float) for a in (attention, other)]
    if any(m.ndim != 4 for m in maps) or maps[0].shape[-1] != maps[1].shape[-1]:
        raise ValueError(
            "both inputs must have shape (layer, head, query, key), with the same tokens; "
            f"got {maps[0].shape} and {maps[1].shape}."
        )
    shape, n = maps[0].shape[:2], maps[0].shape[-1]
    rows, columns = (((1 - smoothing) * m + smoothing / n).reshape(-1, n * n) for m in maps)
    own = [_sum_p_log_p(m) for m in (rows, columns)]
    if all_pairs:
        mixed = np.stack([_sum_p_log_p((row + columns) / 2) for row in rows])
        return np.maximum((own[0][:, None] + own[1][None, :]) / 2 - mixed, 0) / n
    if shape != maps[1].shape[:2]:
        raise ValueError(
            f"namesakes need models of one shape; got {shape} and {maps[1].shape[:2]} layers and heads."
        )
    same = (own[0] + own[1]) / 2 - _sum_p_log_p((rows + columns) / 2)
    return (np.maximum(same, 0) / n).reshape(shape)


def _sum_p_log_p(maps: np.ndarray) -> np.ndarray:
    """Of each row; 0 log 0 is 0."""
    return _row_products(maps, np.log(np.maximum(maps, np.finfo(maps.dtype).tiny)))


# --- over a corpus -------------------------------------------------------------------------------------------
@dataclass(frozen=True, eq=False)
class HeadDistances(Table):
    """Divergences between all pairs of heads, added up over a corpus.

    Attributes
    ----------
    total : float64 array of shape (heads, heads)
        Sum over all tokens of all texts, in nats: the ``D`` of Clark et al.
    n_tokens, n_texts : int
    shape : (int, int)
        Layers, heads a layer.
    per_text : float64 array of shape (text, heads, heads), or None
        The sum of each text, for intervals.
    tokens : tuple of int
        Tokens of each text.
    """

    total: np.ndarray
    n_tokens: int
    n_texts: int
    shape: tuple[int, int]
    per_text: np.ndarray | None = None
    tokens: tuple[int, ...] = ()

    @property
    def per_token(self) -> np.ndarray:
        """Mean over all tokens, 0 to ln 2: the same map as ``total``, on a scale one can read."""
        return self.total / self.n_tokens

    @property
    def labels(self) -> tuple[str, ...]:
        """Printed names of the heads in the order of the rows."""
        return tuple(head_label(*divmod(i, self.shape[1])) for i in range(len(self.total)))

    @property
    def layers(self) -> np.ndarray:
        """Layer of each row, counted from 0."""
        return np.repeat(np.arange(self.shape[0]), self.shape[1])

    def interval(
        self,
        statistic: Callable[[np.ndarray], float],
        *,
        replicates: int = REPLICATES,
        seed: int = 0,
    ) -> tuple[float, float, float]:
        """A number computed from the distances per token, with its bootstrap interval over texts.

        Returns
        -------
        (value, low, high)

        Raises
        ------
        ValueError
            If the matrices of single texts were not kept, or there are fewer than two texts.
        """
        if self.per_text is None or self.n_texts < 2:
            raise ValueError(
                f"an interval needs the distances of at least two texts; there are {self.n_texts}, "
                f"{'kept' if self.per_text is not None else 'not kept: head_distances(..., keep=True)'}."
            )
        weights = draws(self.n_texts, scheme="multinomial", replicates=replicates, seed=seed)
        tokens = np.asarray(self.tokens)
        drawn = [statistic(np.tensordot(w, self.per_text, 1) / (w @ tokens)) for w in weights]
        value = float(statistic(self.per_token))
        return value, *sample_interval(drawn, value, self.n_texts, within=natural_range(drawn))

    def rows(self) -> list[dict]:
        """One dict a pair of heads: their distance per token."""
        names, distances = self.labels, self.per_token
        return [
            {"head": names[i], "other": names[j], "distance": float(distances[i, j]), "n": self.n_texts}
            for i, j in zip(*np.triu_indices(len(names), 1))
        ]

    def __repr__(self) -> str:
        return f"HeadDistances({self.shape[0]} x {self.shape[1]} heads, {self.n_texts} texts, {self.n_tokens} tokens)"


def head_distances(attentions: Iterable, *, smoothing: float = SMOOTHING, keep: bool = True) -> HeadDistances:
    """Divergences between heads over a corpus, one text at a time.

    Parameters
    ----------
    attentions : iterable of Attention or of arrays of shape (layer, head, query, key)
        For instance ``iter_attention(encoder, corpus)``; read once. One Attention is a corpus of one text.
    smoothing : float
        See `js_distances`.
    keep : bool
        Keep each text's matrix (8 heads**2 bytes a text, 166 kB for BERT-base), which intervals need.

    Raises
    ------
    ValueError
        If there is no text, or texts come from models of different shapes.
    """
    if hasattr(attentions, "weights"):
        attentions = [attentions]
    total, shape, kept, tokens = None, None, [], []
    for number, attention in enumerate(attentions):
        weights = as_maps(attention)
        if weights.ndim != 4:
            raise ValueError(
                f"text {number}: attention must have shape (layer, head, query, key); got {tuple(weights.shape)}."
            )
        if shape is not None and tuple(weights.shape[:2]) != shape:
            raise ValueError(
                f"text {number} comes from a model of {weights.shape[0]} x {weights.shape[1]} heads, the texts before "
                f"it from one of {shape[0]} x {shape[1]}; distances of different models cannot be added up."
            )
        shape = (int(weights.shape[0]), int(weights.shape[1]))
        one = js_distances(weights, smoothing=smoothing, per_token=False)
        one = one if is_numpy_array(one) else np.asarray(one.cpu())
        total = one if total is None else total + one
        tokens.append(int(weights.shape[-1]))
        if keep:
            kept.append(one)
    if total is None:
        raise ValueError(
            "distances need at least one text; the corpus is empty (or was read to its end before)."
        )
    per_text = np.stack(kept) if keep else None
    return HeadDistances(total, sum(tokens), len(tokens), shape, per_text, tuple(tokens))


# --- groups of heads ------------------------------------------------------------------------------------------
@dataclass(frozen=True)
class GroupTest:
    """Are heads of one group closer to each other than heads of different groups?

    Attributes
    ----------
    within, between : float
        Mean distance of pairs of the same group, of different groups.
    difference : float
        ``between - within``: above 0 if a group keeps together.
    p : float
        Share of shuffled labels that keep together at least as well; the true labels count as one of them.
    n_within, n_between, permutations : int
    """

    within: float
    between: float
    difference: float
    p: float
    n_within: int
    n_between: int
    permutations: int

    def __repr__(self) -> str:
        return (
            f"GroupTest(within {self.within:.3f}, between {self.between:.3f}, difference {self.difference:+.3f}, "
            f"p = {self.p:.3f}, {self.permutations} shuffles)"
        )


def group_test(distances, labels: Sequence, *, permutations: int = 999, seed: int = 0) -> GroupTest:
    """Mean distance within against between groups, with a permutation test of the labels.

    Parameters
    ----------
    distances : array of shape (heads, heads)
    labels : sequence, one for each head
        Its group, for instance its layer; heads labelled None or "unlabelled" are left out.
    permutations : int
        How many times the labels are shuffled over the heads; 0 leaves the test out (p is 1).

    Raises
    ------
    ValueError
        If there are no two heads of one group, or only one group: then one of the two means is over nothing.
    """
    distances = checked_distances(distances)
    labels = list(labels)
    if len(labels) != len(distances):
        raise ValueError(f"one label for each head is needed: {len(distances)} heads, {len(labels)} labels.")
    used = [i for i, label in enumerate(labels) if label is not None and label != UNLABELLED]
    distances = distances[np.ix_(used, used)]
    _, codes = np.unique(np.array([str(labels[i]) for i in used]), return_inverse=True)
    same = codes[:, None] == codes[None, :]
    n_within, n_between = int(np.triu(same, 1).sum()), int(np.triu(~same, 1).sum())
    if not n_within or not n_between:
        lacking = "two heads of the same group" if not n_within else "two different groups"
        groups = len(set(codes.tolist()))
        raise ValueError(
            f"comparing within with between groups needs {lacking}; the {len(used)} labelled heads fall into "
            f"{groups} group{'s' * (groups != 1)}."
        )
    everything = distances.sum() / 2

    def difference(order) -> float:
        inside = float((distances * same[np.ix_(order, order)]).sum() / 2)
        return (everything - inside) / n_between - inside / n_within

    seen = difference(np.arange(len(used)))
    rng = np.random.default_rng(seed)
    shuffled = [difference(rng.permutation(len(used))) for _ in range(permutations)]
    inside = float((distances * same).sum() / 2)
    return GroupTest(
        inside / n_within,
        (everything - inside) / n_between,
        seen,
        monte_carlo_p(shuffled, seen, tolerance=1e-12),
        n_within,
        n_between,
        permutations,
    )
