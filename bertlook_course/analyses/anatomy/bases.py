"""The same head in other dimensions, and the matrices and positions behind its queries and keys.

Query and key may be multiplied by a matrix and its inverse without changing a single weight, so a dimension has no meaning of its own.
`random_rotations` and `svd_basis` give the same head in other dimensions, as a control for "few neurons".
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from bertlook_teach.model import check_head

from .by_hand import head_matrices

if TYPE_CHECKING:
    from bertlook_teach.model import Encoder

# The projections inside an attention block, as BERT, RoBERTa, ELECTRA, ALBERT (query) and DistilBERT (q_lin) name them.
_QUERY, _KEY = ("query", "q_lin"), ("key", "k_lin")


# --- the same head in other dimensions ------------------------------------------------------------------
class Basis(NamedTuple):
    """Two matrices of shape (dim, dim): ``queries @ for_queries`` and ``keys @ for_keys`` give the same scores."""

    for_queries: np.ndarray
    for_keys: np.ndarray


def random_rotations(dim: int, count: int, seed: int = 0) -> list[Basis]:
    """Random orthogonal matrices, uniform over all of them: the same head, its dimensions mixed.

    Examples
    --------
    >>> basis = random_rotations(3, 1)[0]
    >>> np.allclose(basis.for_queries @ basis.for_keys.T, np.eye(3))
    True
    """
    if dim < 1 or count < 1:
        raise ValueError(f"dim and count must be at least 1; got {dim} and {count}.")
    generator = np.random.default_rng(seed)
    rotations = []
    for _ in range(count):
        q, r = np.linalg.qr(generator.standard_normal((dim, dim)))
        rotation = q * np.sign(np.diag(r))  # without the signs some rotations come up more often than others
        rotations.append(Basis(rotation, rotation))
    return rotations


def svd_basis(query_matrix, key_matrix) -> Basis:
    """The dimensions in which ``W_Q W_K^T`` is diagonal, the strongest first: the head's own, whatever it was trained in.

    Parameters
    ----------
    query_matrix, key_matrix : arrays of shape (width, dim)
        From `query_key_matrices`.

    Raises
    ------
    ValueError
        If a matrix has no full rank: then some dimension of the head does nothing, and the change has no inverse.
    """
    wq, wk = np.asarray(query_matrix, float), np.asarray(key_matrix, float)
    if wq.ndim != 2 or wq.shape != wk.shape or wq.shape[0] < wq.shape[1]:
        raise ValueError(
            f"query and key matrix must both have shape (width, dim) with dim at most width; got {wq.shape} and {wk.shape}."
        )
    rq, rk = np.linalg.qr(wq, mode="r"), np.linalg.qr(wk, mode="r")
    left, strength, right = np.linalg.svd(rq @ rk.T)
    if strength[-1] < 1e-10 * strength[0] or strength[0] == 0:
        raise ValueError(
            f"W_Q W_K^T has rank {int((strength > 1e-10 * max(strength[0], 1e-300)).sum())} instead of {len(strength)}, "
            "so its basis cannot be changed and changed back."
        )
    root = np.sqrt(strength)
    return Basis(np.linalg.solve(rq, left * root), np.linalg.solve(rk, right.T * root))


def change_basis(queries, keys, basis: Basis) -> tuple[np.ndarray, np.ndarray]:
    """Queries and keys, shape (..., token, dim), in other dimensions; every score stays what it was.

    Raises
    ------
    ValueError
        If the two matrices are not each other's inverse (transposed): then scores would change.
    """
    product = basis.for_queries @ basis.for_keys.T
    gap = np.abs(product - np.eye(len(product))).max()
    if gap > 1e-6:
        raise ValueError(
            f"this change of basis would change scores: for_queries @ for_keys.T differs from the identity by {gap:.2g}."
        )
    return np.asarray(queries, float) @ basis.for_queries, np.asarray(keys, float) @ basis.for_keys


# --- numbers out of a model -----------------------------------------------------------------------------
def query_key_matrices(encoder: Encoder, layer: int, head: int) -> tuple[np.ndarray, np.ndarray]:
    """W_Q and W_K of one head of any encoder the package loads, each of shape (width, dim); ``x @ matrix`` plus a bias.

    Raises
    ------
    IndexError
        If there is no such head.
    ValueError
        If the model names its projections in a way that is not known here.
    """
    layer, head = check_head(layer, head, encoder.n_layers, encoder.n_heads)
    if encoder.engine is not None:
        cut = head_matrices(encoder, layer, head)
        return cut.query.astype(float), cut.key.astype(float)
    own = slice(head * encoder.head_size, (head + 1) * encoder.head_size)
    matrices = []
    for endings in (_QUERY, _KEY):
        found = [m for path, m in encoder.model.named_modules() if path.rpartition(".")[2] in endings]
        if len(found) not in (1, encoder.n_layers):
            raise ValueError(
                f"cannot find the {endings[0]} projections of {encoder.name} ({encoder.model.config.model_type}): expected one for "
                f"each layer, found {len(found)}. BERT, RoBERTa, ELECTRA, ALBERT and DistilBERT work."
            )
        module = found[0] if len(found) == 1 else found[layer]  # ALBERT shares one block among all layers
        # torch keeps a matrix as (to, from); here it reads x @ matrix.
        matrices.append(module.weight[own].detach().float().cpu().numpy().T.astype(float))
    return matrices[0], matrices[1]


def position_keys(encoder: Encoder, layer: int, head: int, n_tokens: int) -> np.ndarray:
    """What the keys of a head would be if a token were its position and nothing else: shape (token, dim).

    The position embeddings times W_K (after ELECTRA's and ALBERT's own widening), without bias or normalisation.

    Raises
    ------
    ValueError
        If the model has no learned position embeddings, or not so many.
    """
    if not 1 <= n_tokens <= encoder.max_tokens:
        raise ValueError(
            f"{encoder.name} has positions for 1 to {encoder.max_tokens} tokens; got {n_tokens}."
        )
    if encoder.engine is not None:
        rows = encoder.engine.weights["embeddings.position_embeddings.weight"][:n_tokens].astype(float)
    else:
        rows = _position_rows(encoder, n_tokens)
    return rows @ query_key_matrices(encoder, layer, head)[1]


def _position_rows(encoder: Encoder, n_tokens: int) -> np.ndarray:
    """The first rows of a torch model's position embeddings, as wide as its layers."""
    block = getattr(encoder.model, "embeddings", None)
    table = getattr(block, "position_embeddings", None)
    if table is None or not hasattr(table, "weight"):
        raise ValueError(
            f"{encoder.name} ({encoder.model.config.model_type}) has no table of position embeddings to compare with."
        )
    rows = table.weight.detach().float().cpu().numpy().astype(float)
    # RoBERTa numbers its positions from padding_idx + 1.
    first = len(rows) - encoder.model.config.max_position_embeddings
    if getattr(block, "padding_idx", None) is not None and encoder.model.config.model_type not in _FROM_ZERO:
        first = block.padding_idx + 1
    rows = rows[first : first + n_tokens]
    albert = getattr(encoder.model, "encoder", None)
    widening = getattr(albert, "embedding_hidden_mapping_in", None)
    for module in (getattr(encoder.model, "embeddings_project", None), widening):
        if module is not None:
            rows = rows @ module.weight.detach().float().cpu().numpy().T.astype(float)
    return rows


_FROM_ZERO = frozenset({"bert", "electra", "albert", "distilbert"})


def position_correlation(keys, positions) -> np.ndarray:
    """Pearson correlation of keys with what position alone would give, over all tokens and dimensions.

    What all tokens share (the mean over tokens) is taken off both first: it changes no weight.

    Parameters
    ----------
    keys : array of shape (..., token, dim)
    positions : array of shape (..., token, dim)
        From `position_keys`.

    Returns
    -------
    ndarray of shape (...)
        From -1 to 1; 0 where one of the two does not vary over the tokens.

    Examples
    --------
    >>> keys = np.array([[0., 1.], [2., 5.], [4., 3.]])
    >>> position_correlation(keys + 7, keys).round(3)
    np.float64(1.0)
    """
    keys, positions = np.asarray(keys, float), np.asarray(positions, float)
    if keys.shape[-2:] != positions.shape[-2:] or keys.ndim < 2:
        raise ValueError(
            f"keys and positions must have the same shape (..., token, dim); got {keys.shape} and {positions.shape}."
        )
    a, b = (x - x.mean(axis=-2, keepdims=True) for x in (keys, positions))
    both = (a * b).sum(axis=(-2, -1))
    scale = np.sqrt((a**2).sum(axis=(-2, -1)) * (b**2).sum(axis=(-2, -1)))
    varies = scale > 1e-12
    return np.where(varies, both / np.where(varies, scale, 1), 0.0)[()]
