"""Five kinds of attention map: vertical, diagonal, both, block, and the rest.

Kovaleva et al. (2019) labelled about 400 maps by hand and trained a network on them; neither labels nor network were
released. Here a rule with five thresholds takes their place. It is ours, not theirs: a class calibrates it on maps it
labels itself (`bertlook_course.metrics.agreement`), and no fraction is shown without what becomes of it when the thresholds move.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import asdict, dataclass

import numpy as np
from array_api_compat import device

from ..model import array_namespace
from .surface import attention_weights

CLASSES = ("vertical", "diagonal", "vertical+diagonal", "block", "heterogeneous")

VERTICAL, DIAGONAL, BOTH, BLOCK, HETEROGENEOUS = range(len(CLASSES))

SCORES = ("vertical", "previous", "next", "self_diagonal", "block", "spread")


# --- the rule ------------------------------------------------------------------------------------------
@dataclass(frozen=True)
class Thresholds:
    """What a score must reach for a class; the first line that is met decides, in this order.

    Attributes
    ----------
    both : float
        Vertical and diagonal score both reach it: vertical+diagonal.
    vertical, diagonal : float
        The one score reaches it: vertical, diagonal.
    block, spread : float
        The block score reaches the first, the spread inside the segment the second: block.
    """

    both: float = 0.25
    vertical: float = 0.5
    diagonal: float = 0.5
    block: float = 0.3
    spread: float = 0.75

    def __post_init__(self):
        for name, value in asdict(self).items():
            if not 0 < value <= 1:
                raise ValueError(f"threshold {name} must lie above 0 and at most at 1; got {value!r}.")

    def scaled(self, factor: float) -> Thresholds:
        """All thresholds times a factor, none above 1: below 1 looser, above 1 stricter.

        >>> Thresholds().scaled(0.8).vertical
        0.4
        """
        return Thresholds(**{name: min(1.0, value * factor) for name, value in asdict(self).items()})


DEFAULT_THRESHOLDS = Thresholds()


@dataclass(frozen=True, eq=False)
class MapScores:
    """The numbers behind the classes, each of shape (..., layer, head).

    Attributes
    ----------
    vertical : array
        The two largest column means together, minus the 2/n that uniform attention gives: up to 1 - 2/n.
    previous, next, self_diagonal : array
        Mean of the diagonal one below, one above, and of the main diagonal; from 0 to 1.
    block : array
        Mean share that stays in the own segment, minus what uniform attention keeps there. 0 for one segment.
    spread : array
        Entropy of the attention inside the own segment, divided by its largest possible value; from 0 to 1.
    can_block : bool array of shape (...)
        Whether the input had two segments. With one, there is nothing to keep apart, and no map is a block.
    """

    vertical: object
    previous: object
    next: object
    self_diagonal: object
    block: object
    spread: object
    can_block: object = True

    @property
    def diagonal(self):
        """The larger of the previous and the next diagonal; the main diagonal does not count."""
        xp = array_namespace(self.previous)
        return xp.where(self.previous > self.next, self.previous, self.next)

    @property
    def shape(self) -> tuple[int, ...]:
        return tuple(self.vertical.shape)

    def __getitem__(self, index) -> MapScores:
        """Some of the texts: ``scores[3]``, ``scores[::2]``."""
        return MapScores(
            *(getattr(self, name)[index] for name in SCORES), can_block=np.asarray(self.can_block)[index]
        )

    def __repr__(self) -> str:
        return f"MapScores(shape {self.shape})"


def map_scores(attention, segment_ids: Sequence[int] | None = None) -> MapScores:
    """The scores of every map of one input.

    Parameters
    ----------
    attention : Attention or array of shape (..., layer, head, query, key)
    segment_ids : sequence of int, optional
        The segment of each token. By default those of the Attention; an array alone counts as one segment.

    Returns
    -------
    MapScores
        Each score of shape (..., layer, head).

    Raises
    ------
    ValueError
        If a row does not sum to 1, or there is not one segment id a token.

    Notes
    -----
    The mean of a diagonal is taken over the n - 1 queries that have such a neighbour, so a perfect previous-token head
    scores 1 (`surface.offset_attention` divides by n). A row whose segment holds a single token, or that gives its
    segment nothing, has no distribution there and is left out of the spread; if no row is left, the spread is 0.

    References
    ----------
    The classes are those of Kovaleva et al. (2019), section 4.1; the scores are ours.

    Examples
    --------
    Everybody looks at the first and the last of eight tokens:

    >>> stripes = np.zeros((1, 1, 8, 8)); stripes[..., [0, 7]] = 0.5
    >>> map_scores(stripes).vertical
    array([[0.75]])
    """
    weights = attention_weights(attention)
    xp = array_namespace(weights)
    n = weights.shape[-1]
    if segment_ids is None:
        segment_ids = getattr(attention, "segment_ids", (0,) * n)
    if np.shape(segment_ids) != (n,):
        raise ValueError(
            f"segment_ids needs one segment a token, {n} of them; got shape {np.shape(segment_ids)}."
        )

    columns = xp.sort(xp.mean(weights, axis=-2), axis=-1)
    few = min(2, n)
    vertical = xp.sum(columns[..., n - few :], axis=-1) - few / n

    _, member = np.unique(np.asarray(segment_ids), return_inverse=True)
    sizes = np.bincount(member)
    own = xp.asarray(member[:, None] == member[None, :], dtype=weights.dtype, device=device(weights))
    inside = weights * own
    kept = xp.sum(inside, axis=-1)
    block = xp.mean(kept, axis=-1) - float(((sizes / n) ** 2).sum())
    if len(sizes) == 1:
        block = xp.zeros_like(block)  # exactly: rows sum to 1 only up to rounding

    # Entropy of p/sum(p), without dividing a row of zeros by zero.
    one = xp.ones_like(inside)
    raw = -xp.sum(inside * xp.log(xp.where(inside > 0, inside, one)), axis=-1)
    safe = xp.where(kept > 0, kept, xp.ones_like(kept))
    entropy = raw / safe + xp.log(safe)
    most = xp.asarray(np.log(np.maximum(sizes[member], 2)), dtype=weights.dtype, device=device(weights))
    alone = xp.asarray(sizes[member] == 1, device=device(weights))
    counts = (kept > 0) & ~alone
    defined = xp.astype(counts, weights.dtype)
    rows = xp.sum(defined, axis=-1)
    spread = xp.sum(defined * entropy / most, axis=-1) / xp.where(rows > 0, rows, xp.ones_like(rows))
    spread = xp.clip(spread, 0.0, 1.0)
    return MapScores(
        vertical=vertical,
        previous=_diagonal_mean(weights, -1),
        next=_diagonal_mean(weights, +1),
        self_diagonal=_diagonal_mean(weights, 0),
        block=block,
        spread=spread,
        can_block=np.full(weights.shape[:-4], len(sizes) > 1),
    )


def _diagonal_mean(weights, offset: int):
    """Mean of one diagonal; 0 where the map is too small to have it."""
    xp = array_namespace(weights)
    if abs(offset) >= weights.shape[-1]:
        return xp.zeros_like(weights[..., 0, 0])
    return xp.mean(xp.linalg.diagonal(weights, offset=offset), axis=-1)


def highest_scores(segment_ids: Sequence[int]) -> dict[str, float]:
    """The largest vertical and block score that any map over these tokens could reach.

    A rule cannot find what the input does not allow: with three tokens no map reaches .5 vertically, and a block needs a
    second segment that holds about a fifth of the tokens.

    >>> {name: round(value, 3) for name, value in highest_scores([0] * 9 + [1]).items()}
    {'vertical': 0.8, 'block': 0.18}
    """
    n = len(segment_ids)
    if not n:
        raise ValueError("there are no tokens, so no score can be reached.")
    sizes = np.unique(np.asarray(segment_ids), return_counts=True)[1]
    return {"vertical": 1 - min(2, n) / n, "block": float(1 - ((sizes / n) ** 2).sum())}


def class_codes(scores: MapScores, thresholds: Thresholds = DEFAULT_THRESHOLDS) -> np.ndarray:
    """The class of every map as an index into `CLASSES`, shape (..., layer, head)."""
    vertical, diagonal, block, spread = (
        _numpy(getattr(scores, name)) for name in ("vertical", "diagonal", "block", "spread")
    )
    t = thresholds
    conditions = [
        (vertical >= t.both) & (diagonal >= t.both),
        vertical >= t.vertical,
        diagonal >= t.diagonal,
        (block >= t.block) & (spread >= t.spread),
    ]
    return np.select(conditions, [BOTH, VERTICAL, DIAGONAL, BLOCK], default=HETEROGENEOUS)


def map_classes(
    attention, segment_ids: Sequence[int] | None = None, thresholds: Thresholds = DEFAULT_THRESHOLDS
) -> np.ndarray:
    """The name of each map's class, shape (..., layer, head); see `map_scores` for the numbers behind it.

    The first line met decides: vertical and diagonal score both at least ``both``; vertical; diagonal; block with
    enough spread; otherwise heterogeneous, which means no more than *not classified*.

    >>> looks_back = np.eye(6, k=-1); looks_back[0, 0] = 1
    >>> str(map_classes(looks_back[None, None])[0, 0])
    'diagonal'
    """
    return np.array(CLASSES)[class_codes(map_scores(attention, segment_ids), thresholds)]


def stack_scores(attentions: Iterable) -> MapScores:
    """The scores of several inputs, each score of shape (text, layer, head).

    Raises
    ------
    ValueError
        If there is no input, or the inputs come from models of different shape.
    """
    each = [map_scores(attention) for attention in attentions]
    if not each:
        raise ValueError("there is no input to take scores of; give at least one Attention.")
    shapes = {scores.shape for scores in each}
    if len(shapes) > 1:
        raise ValueError(
            f"all inputs must come from models of one shape; got (layer, head) = {sorted(shapes)}."
        )
    return MapScores(
        *(np.stack([_numpy(getattr(scores, name)) for scores in each]) for name in SCORES),
        can_block=np.stack([scores.can_block for scores in each]),
    )


def _numpy(values) -> np.ndarray:
    return np.asarray(values.detach().cpu() if hasattr(values, "detach") else values)
