"""The neurons behind a head: from one weight back to the query, the key, and the dimensions that made the score.

A score is a sum over dimensions, ``q . k / sqrt(d)``, so one can ask which dimensions made it. Vig's neuron view draws
them; here they are arrays, and how many of them matter is a number. A warning that belongs to every such number:
query and key may be multiplied by a matrix and its inverse without changing a single weight, so a dimension has no
meaning of its own. `random_rotations` and `svd_basis` give the same head in other dimensions, as a control.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from bertlook_teach.model import head_label

from .bases import Basis, change_basis, query_key_matrices, random_rotations, svd_basis

if TYPE_CHECKING:
    from bertlook_teach.model import Encoder

MARGIN_SHARE = 0.9

_TOLERANCE = 1e-3  # softmax of float32 scores against the model's own float32 softmax


# --- one query, all keys --------------------------------------------------------------------------------
@dataclass(frozen=True, eq=False)
class HeadNeurons:
    """How one token's row of weights comes about: query, keys, products, scores, softmax.

    Attributes
    ----------
    layer, head, query : int
        Counted from 0; ``query`` is the token that looks.
    tokens : tuple of str
    query_vector : ndarray of shape (dim,)
    key_vectors : ndarray of shape (key, dim)
    products : ndarray of shape (key, dim)
        Elementwise: what each dimension adds to the score, before the division by sqrt(dim).
    scores : ndarray of shape (key,)
        Sum of the products over the dimensions, divided by sqrt(dim).
    weights : ndarray of shape (key,)
        Softmax of the scores; equal to the head's attention from this token.
    """

    layer: int
    head: int
    query: int
    tokens: tuple[str, ...]
    query_vector: np.ndarray
    key_vectors: np.ndarray
    products: np.ndarray
    scores: np.ndarray
    weights: np.ndarray

    @property
    def head_size(self) -> int:
        return len(self.query_vector)

    def __repr__(self) -> str:
        top = int(self.weights.argmax())
        return (
            f"HeadNeurons(head {head_label(self.layer, self.head)}, {self.tokens[self.query]!r} looks most at "
            f"{self.tokens[top]!r}: score {self.scores[top]:.2f}, weight {self.weights[top]:.3f})"
        )


def neuron_view(attention, layer: int, head: int, query: int) -> HeadNeurons:
    """Take one row of one head apart, down to the single dimensions.

    Parameters
    ----------
    attention : Attention
        From ``extract_attention(..., vectors=True)``, of any encoder that the package loads.
    layer, head, query : int
        Counted from 0.

    Raises
    ------
    ValueError
        If the attention came without its vectors, or the vectors do not give its weights.
    IndexError
        If there is no such head or token.

    References
    ----------
    Vig (2018-2019), part 2. Scores are divided by sqrt(dim), biases are part of query and key.
    """
    from scipy.special import softmax

    queries, keys = _vectors(attention)
    attention.head(layer, head)  # a readable error for a head that is not there
    n = queries.shape[-2]
    if not 0 <= query < n:
        raise IndexError(
            f"no token {query} to look from: tokens go from 0 to {n - 1}, {attention.tokens[n - 1]!r}."
        )
    q, k = queries[layer, head, query].astype(float), keys[layer, head].astype(float)
    products = q * k
    scores = products.sum(axis=-1) / np.sqrt(len(q))
    weights = softmax(scores)
    gap = np.abs(weights - attention.weights[layer, head, query]).max()
    if gap > _TOLERANCE:
        raise ValueError(
            f"softmax of the scores differs by {gap:.3f} from the attention of head {head_label(layer, head)}: the vectors do "
            "not belong to these weights. Were the weights changed after extract_attention?"
        )
    return HeadNeurons(
        layer=layer,
        head=head,
        query=query,
        tokens=tuple(attention.tokens),
        query_vector=q,
        key_vectors=k,
        products=products,
        scores=scores,
        weights=weights,
    )


def _vectors(attention) -> tuple[np.ndarray, np.ndarray]:
    queries, keys = getattr(attention, "queries", None), getattr(attention, "keys", None)
    if queries is None or keys is None:
        raise ValueError(
            "this attention came without its query and key vectors; take it with extract_attention(..., vectors=True), "
            "before to_words()."
        )
    return queries, keys


# --- how many dimensions? -------------------------------------------------------------------------------
def margin_contributions(queries, keys, pairs) -> np.ndarray:
    """What each dimension adds to the margin: the score of a pair minus the query's score with the mean key.

    Adding one vector to all keys changes every score of a row alike and no weight at all; taking the mean key away
    leaves what does change the weights.

    Parameters
    ----------
    queries, keys : arrays of shape (..., token, dim)
    pairs : boolean array of shape (query, key)

    Returns
    -------
    ndarray of shape (..., pair, dim)
        Pairs in the order of ``np.argwhere(pairs)``; the sum over dimensions is the margin.

    Raises
    ------
    ValueError
        If shapes do not fit, or there is no pair.
    """
    queries, keys, pairs = np.asarray(queries, float), np.asarray(keys, float), np.asarray(pairs)
    if queries.ndim < 2 or queries.shape != keys.shape:
        raise ValueError(
            f"queries and keys must both have shape (..., token, dim); got {queries.shape} and {keys.shape}."
        )
    n, dim = queries.shape[-2:]
    if pairs.shape != (n, n) or pairs.dtype != bool or not pairs.any():
        raise ValueError(
            f"pairs must be {n} x {n} booleans (query, key) with at least one pair; got shape {pairs.shape}, "
            f"dtype {pairs.dtype}, {int(np.sum(pairs))} pairs."
        )
    looks, looked_at = np.nonzero(pairs)
    centred = keys - keys.mean(axis=-2, keepdims=True)
    return queries[..., looks, :] * centred[..., looked_at, :] / np.sqrt(dim)


def margin_dimensions(contributions, share: float = MARGIN_SHARE):
    """The smallest number of dimensions whose contributions together reach a share of the margin.

    Parameters
    ----------
    contributions : array of shape (..., dim)
        From `margin_contributions`; may be negative.
    share : float
        Of the margin, between 0 and 1.

    Returns
    -------
    integer ndarray of shape (...)
        From 1 to dim. **0 where the margin is not positive**: the token is not looked at more than the average one, and
        no number of dimensions explains that; leave these out of a mean.

    Examples
    --------
    >>> margin_dimensions([[4., 0., 0., 0.], [1., 1., 1., 1.], [5., 1., -1., -1.], [-1., 0., 0., 0.]])
    array([1, 4, 1, 0])
    """
    if not 0 < share <= 1:
        raise ValueError(f"share is a part of the margin, above 0 and at most 1; got {share}.")
    contributions = _last_axis(contributions)
    margin = contributions.sum(axis=-1)
    sums = np.cumsum(-np.sort(-contributions, axis=-1), axis=-1)
    # The largest first: no other choice of as many dimensions has a larger sum. The last digit must not cost a dimension.
    reached = sums >= (share * margin - 1e-12 * np.abs(sums).max(axis=-1))[..., None]
    return np.where(margin > 0, reached.argmax(axis=-1) + 1, 0)


def dimensions_used(attention, pairs, *, basis: Basis | None = None):
    """How many of its dimensions each head needs for the margin of some pairs, as a fraction of all its dimensions.

    Parameters
    ----------
    attention : Attention
        With its vectors.
    pairs : boolean array of shape (query, key)
        For example `bertlook_teach.measures.closing_sep_pairs(attention)`.
    basis : Basis, optional
        Count in these dimensions, the same for every head, instead of the trained ones.

    Returns
    -------
    total, count : ndarrays of shape (layer, head)
        Sum of the fractions, and the number of pairs with a positive margin: those that the head looks at more than
        at the average token. ``total / count`` is the mean; over a corpus, divide the sums. A head that never does has
        a count of 0 and no mean.
    """
    queries, keys = _vectors(attention)
    if basis is not None:
        queries, keys = change_basis(queries, keys, basis)
    needed = margin_dimensions(margin_contributions(queries, keys, pairs))
    return needed.sum(axis=-1) / queries.shape[-1], (needed > 0).sum(axis=-1)


def participation_ratio(contributions):
    """Over how many dimensions the positive contributions are spread: (sum c)^2 / sum c^2.

    Parameters
    ----------
    contributions : array of shape (..., dim)
        Products ``q * k`` of a `HeadNeurons`, or margin contributions. Negative ones count as 0.

    Returns
    -------
    ndarray of shape (...)
        From 1 (one dimension does it all) to dim (all equal); 0 where none is positive.

    Examples
    --------
    >>> participation_ratio([[3., 0., 0., -2.], [1., 1., 1., 1.], [-1., -1., 0., 0.]])
    array([1., 4., 0.])
    """
    positive = np.maximum(_last_axis(contributions), 0)
    squares = (positive**2).sum(axis=-1)
    some = squares > 0
    return np.where(some, positive.sum(axis=-1) ** 2 / np.where(some, squares, 1), 0.0)


def _last_axis(contributions) -> np.ndarray:
    contributions = np.asarray(contributions, float)
    if contributions.ndim < 1 or not contributions.shape[-1]:
        raise ValueError(
            f"contributions must have shape (..., dim), dim at least 1; got {contributions.shape}."
        )
    if not np.isfinite(contributions).all():
        raise ValueError("a contribution is NaN or infinite, so no number of dimensions explains the margin.")
    return contributions


# --- the same head in other dimensions ------------------------------------------------------------------
class BasisComparison(NamedTuple):
    """Fraction of its dimensions that one head needs: as trained, in random rotations, in its own SVD basis."""

    trained: float
    rotated: np.ndarray
    svd: float
    n_pairs: int


def compare_bases(
    encoder: Encoder,
    attentions: Sequence,
    layer: int,
    head: int,
    pairs_of: Callable,
    *,
    rotations: int = 20,
    seed: int = 0,
) -> BasisComparison:
    """The rotation control: does the number of dimensions depend on which dimensions one happens to count in?

    Parameters
    ----------
    encoder : Encoder
        Where the head's matrices are taken from.
    attentions : sequence of Attention
        With their vectors.
    layer, head : int
        Counted from 0.
    pairs_of : function(Attention) -> boolean array of shape (query, key)
        For example `bertlook_teach.measures.closing_sep_pairs`.
    rotations, seed : int

    Returns
    -------
    BasisComparison
        ``rotated`` has one number a rotation. The margins of the pairs are the same in all of them.

    Raises
    ------
    ValueError
        If the head never looks at such a pair more than at the average token.
    """
    own = [
        replace(
            a, **{name: getattr(a, name)[layer : layer + 1, head : head + 1] for name in ("queries", "keys")}
        )
        for a in attentions
    ]
    pairs = [pairs_of(a) for a in attentions]

    def fraction(basis=None) -> float:
        sums = np.sum([dimensions_used(a, p, basis=basis) for a, p in zip(own, pairs)], axis=0).ravel()
        if not sums[1]:
            raise ValueError(
                f"head {head_label(layer, head)} never looks at these pairs more than at the average token, so there is no "
                "margin to explain; choose a head that does."
            )
        return float(sums[0] / sums[1])

    trained = fraction()
    n_pairs = int(sum(dimensions_used(a, p)[1].sum() for a, p in zip(own, pairs)))
    turned = [fraction(basis) for basis in random_rotations(own[0].queries.shape[-1], rotations, seed)]
    svd = fraction(svd_basis(*query_key_matrices(encoder, layer, head)))
    return BasisComparison(trained, np.array(turned), svd, n_pairs)
