"""From a matrix of distances to a map and to families: scaling in two dimensions, its stress, clustering, alignment.

Small, plain versions of known methods, so that each step can be read in class; the tests compare them with SciPy.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from bertlook_teach.measures import checked_distances

# --- maps -----------------------------------------------------------------------------------------------------
NEARLY_AS_GOOD, LOOKS_DIFFERENT = (
    1.05,
    0.05,
)  # squared errors of two maps; what turning one onto the other leaves over


@dataclass(frozen=True, eq=False)
class MDSMap:
    """Points whose distances on the map come near to given ones.

    Attributes
    ----------
    points : float64 array of shape (point, dimension)
        Turned so that the map is widest from left to right; distances mean something, directions do not.
    stress : float
        Kruskal's stress-1: 0 is a perfect map. By Kruskal's words .2 is poor, .1 fair, .05 good.
    start : str
        Which start gave it: "classical", "random 1", ..., or "given".
    iterations : int
    rival_stress, rival_left : float
        Of the map most unlike this one among those that other starts gave and that fit nearly as well: its stress, and the share of this map's
        variance that is left over when it is turned onto this one (`procrustes`). NaN if all such maps look the same, up to a twentieth.
    converged : bool
        Whether it came to rest before the limit of iterations.
    """

    points: np.ndarray
    stress: float
    start: str
    iterations: int
    rival_stress: float = float("nan")
    rival_left: float = float("nan")
    converged: bool = True

    def __repr__(self) -> str:
        word = "" if self.converged else ", not converged"
        word += (
            ""
            if np.isnan(self.rival_left)
            else f";\n       another start, stress {self.rival_stress:.3f}, gives another map: {100 * self.rival_left:.0f} % left over"
        )
        return f"MDSMap({len(self.points)} points in {self.points.shape[1]} dimensions, stress {self.stress:.3f}, start {self.start}{word})"


def classical_mds(distances, n_dims: int = 2) -> np.ndarray:
    """Classical scaling (Torgerson): the eigenvectors of the doubly centred squared distances.

    No starts and no iterations: the same answer always. It is exact where the distances are those of points in the
    plane, and otherwise fits scalar products rather than distances, so `metric_mds` starts from it.

    Returns
    -------
    float64 array of shape (point, n_dims)
        Dimensions beyond what the points need are 0. The largest coordinate of each dimension is positive.
    """
    distances = checked_distances(distances)
    n = len(distances)
    centre = np.eye(n) - 1 / n
    values, vectors = np.linalg.eigh(-0.5 * centre @ distances**2 @ centre)
    points = np.zeros((n, n_dims))
    keep = min(n_dims, n)
    order = np.argsort(values)[::-1][:keep]
    # A negative eigenvalue, or one of rounding error, is a dimension that the points do not have.
    lengths = np.where(values[order] > 1e-12 * max(values.max(), 1e-300), values[order], 0)
    points[:, :keep] = vectors[:, order] * np.sqrt(lengths)
    return _signed(points)


def metric_mds(
    distances,
    *,
    n_dims: int = 2,
    starts: int = 20,
    seed: int = 0,
    max_iter: int = 1000,
    eps: float = 1e-10,
    begin=None,
) -> MDSMap:
    """Metric scaling by SMACOF: move points until their distances fit the given ones best, in least squares.

    Clark et al. (2019) draw Figure 6 so: metric, 5 starts, 1,000 iterations, eps 1e-10 (their notebook; the paper cites
    Kruskal, whose method is non-metric). Here the classical solution is one of the starts.

    Parameters
    ----------
    distances : array of shape (point, point)
    n_dims : int
    starts : int
        Random starts in addition to the classical one. Four were too few: on the specimen's heads most starts end in a map that fits 3 %
        worse and looks different, about one in eight in the best one.
    seed : int
    max_iter : int
    eps : float
        Stop when an iteration takes less than this share off the squared error.
    begin : array of shape (point, n_dims), optional
        Begin here, and only here: for a map that should stay near another one.

    Returns
    -------
    MDSMap
        The best of all starts; of two as good, the earlier. It says if another start gave another map that fits nearly as well.
    """
    distances = checked_distances(distances)
    if n_dims < 1 or starts < 0 or max_iter < 1:
        raise ValueError(
            f"a map needs n_dims >= 1, starts >= 0 and max_iter >= 1; got {n_dims}, {starts}, {max_iter}."
        )
    if begin is not None and np.shape(begin) != (len(distances), n_dims):
        raise ValueError(
            f"a map of {len(distances)} points begins with shape {(len(distances), n_dims)}; got {np.shape(begin)}."
        )
    rng = np.random.default_rng(seed)
    spread = distances.mean() or 1.0
    found = []
    for number in range(starts + 1 if begin is None else 1):
        if begin is not None:
            first = np.asarray(begin, dtype=float)
        elif number == 0:
            first = classical_mds(distances, n_dims)
        else:
            first = rng.normal(scale=spread, size=(len(distances), n_dims))
        points, error, iterations = _smacof(distances, first, max_iter, eps)
        name = "given" if begin is not None else f"random {number}" if number else "classical"
        found.append((points, error, iterations, name))
    least = min(error for _, error, _, _ in found)
    points, error, iterations, start = next(one for one in found if one[1] <= least * (1 + 1e-6))
    rivals = [other for other, wrong, _, _ in found if wrong <= error * NEARLY_AS_GOOD and other.any()]
    left, rival = max(((_left_over(other, points), i) for i, other in enumerate(rivals)), default=(0.0, 0))
    disputed = (kruskal_stress(distances, rivals[rival]), left) if left > LOOKS_DIFFERENT else ()
    return MDSMap(
        _turned(points),
        kruskal_stress(distances, points),
        start,
        iterations,
        *disputed,
        converged=iterations < max_iter,
    )


def _left_over(points, reference) -> float:
    """The disparity of `procrustes`; 0 for maps without extent."""
    names = list(map(str, range(len(points))))
    return procrustes(points, reference, names, names)[1] if np.ptp(points) and np.ptp(reference) else 0.0


def _smacof(distances, points, max_iter: int, eps: float):
    """Majorisation: each Guttman transform is the exact minimum of a bound that touches the error (de Leeuw 1977)."""
    scale = (distances**2).sum() or 1.0
    lengths = _lengths(points)
    error = ((lengths - distances) ** 2).sum() / 2
    for iteration in range(1, max_iter + 1):
        ratio = np.divide(distances, lengths, out=np.zeros_like(distances), where=lengths > 1e-12)
        points = (ratio.sum(axis=1)[:, None] * points - ratio @ points) / len(points)
        lengths = _lengths(points)
        before, error = error, ((lengths - distances) ** 2).sum() / 2
        if before - error < eps * scale:
            break
    return points, float(error), iteration


def _lengths(points) -> np.ndarray:
    from scipy.spatial.distance import cdist  # seven times as fast as the differences written out

    return cdist(points, points)


def kruskal_stress(distances, points) -> float:
    """Kruskal's stress-1 of a map: the root of (squared errors of its distances / its squared distances).

    0 for a perfect map, and for points that all coincide where all distances are 0.

    References
    ----------
    Kruskal (1964), "Multidimensional scaling by optimizing goodness of fit to a nonmetric hypothesis".

    Examples
    --------
    Three points at distances 1, 1, 2 lie on a line; drawn at 0, 1, 3 the last two distances are wrong by one:

    >>> round(kruskal_stress([[0, 1, 2], [1, 0, 1], [2, 1, 0]], [[0], [1], [3]]), 4) == round((2 / 14) ** 0.5, 4)
    True
    """
    distances = checked_distances(distances)
    points = np.asarray(points, dtype=float)
    if points.ndim != 2 or len(points) != len(distances):
        raise ValueError(
            f"a map of {len(distances)} points has shape ({len(distances)}, dimension); got {points.shape}."
        )
    drawn = (_lengths(points) ** 2).sum() / 2
    wrong = float(((_lengths(points) - distances) ** 2).sum() / 2)
    if drawn == 0:
        return 0.0 if wrong == 0 else float("inf")
    return float(np.sqrt(wrong / drawn))


def _turned(points) -> np.ndarray:
    """The same map, centred, its widest direction first: a rotation that does not depend on the start."""
    points = points - points.mean(axis=0)
    _, vectors = np.linalg.eigh(points.T @ points)
    return _signed(points @ vectors[:, ::-1])


def _signed(points) -> np.ndarray:
    largest = np.abs(points).argmax(axis=0)
    return points * np.where(points[largest, np.arange(points.shape[1])] < 0, -1.0, 1.0)


def procrustes(
    points, reference, names: Sequence[str], reference_names: Sequence[str]
) -> tuple[np.ndarray, float]:
    """Move, turn, mirror and scale a map until it lies on another as well as it can.

    This makes sense only for maps of the same things: the k-th point of one must be the k-th point of the other.

    Parameters
    ----------
    points, reference : arrays of shape (point, dimension)
    names, reference_names : sequences of str
        What the points are, in order; they must be the same.

    Returns
    -------
    (aligned points of shape (point, dimension), disparity)
        The disparity is the share of the reference's variance that is left over: 0 for the same map, 1 for none of it.

    Raises
    ------
    ValueError
        If the maps do not show the same things, or one has all points in one place.
    """
    points, reference = np.asarray(points, dtype=float), np.asarray(reference, dtype=float)
    names, reference_names = list(names), list(reference_names)
    if names != reference_names:
        ours, theirs = set(names), set(reference_names)
        why = (
            f"one has {len(names)} points, the other {len(reference_names)}"
            if len(names) != len(reference_names)
            else f"only {len(ours & theirs)} of {len(names)} names occur in both"
            if ours != theirs
            else "the names are the same but stand in another order; sort both first"
        )
        raise ValueError(
            f"these maps do not show the same heads: {why}. Turning one onto the other would match points that have "
            "nothing to do with each other; show the maps side by side."
        )
    if points.shape != reference.shape or points.ndim != 2 or len(points) != len(names):
        raise ValueError(
            f"both maps need shape (point, dimension) with {len(names)} points; got {points.shape} and {reference.shape}."
        )
    middle = reference.mean(axis=0)
    a, b = points - points.mean(axis=0), reference - middle
    if not a.any() or not b.any():
        raise ValueError("a map whose points all lie in one place cannot be turned onto another.")
    u, s, vt = np.linalg.svd(a.T @ b)
    scale = s.sum() / (a**2).sum()
    disparity = 1 - s.sum() ** 2 / ((a**2).sum() * (b**2).sum())
    return scale * a @ (u @ vt) + middle, float(max(disparity, 0.0))


# --- families -------------------------------------------------------------------------------------------------
def average_linkage(distances) -> np.ndarray:
    """Hierarchical clustering by SciPy: join the two clusters with the smallest mean distance, again and again (UPGMA).

    Returns
    -------
    float64 array of shape (point - 1, 4)
        A line a join, in SciPy's form: the two clusters, their mean distance, the size of the new one. Points are
        clusters 0 to n - 1; the cluster of line k is n + k.
    """
    from scipy.cluster.hierarchy import linkage
    from scipy.spatial.distance import squareform

    distances = checked_distances(distances)
    return linkage(squareform(distances, checks=False), "average") if len(distances) > 1 else np.zeros((0, 4))


def leaf_order(joins) -> list[int]:
    """The points in the order of the tree's leaves, left branch first: neighbours in a family stand together.

    >>> leaf_order(average_linkage([[0, 5, 1], [5, 0, 5], [1, 5, 0]]))
    [1, 0, 2]
    """
    from scipy.cluster.hierarchy import leaves_list

    return leaves_list(joins).tolist() if len(joins) else [0]


def cut(joins, n_clusters: int) -> np.ndarray:
    """The tree cut where it has ``n_clusters`` branches: a number from 0 for each point, in the order of the leaves.

    >>> cut(average_linkage([[0, 5, 1], [5, 0, 5], [1, 5, 0]]), 2)
    array([1, 0, 1])
    """
    from scipy.cluster.hierarchy import cut_tree

    n = len(joins) + 1
    if n_clusters not in range(1, n + 1):
        raise ValueError(f"{n} points can be cut into 1 to {n} clusters; got {n_clusters}.")
    branch = cut_tree(joins, n_clusters)[:, 0] if n > 1 else np.zeros(1, int)
    numbers = {name: number for number, name in enumerate(dict.fromkeys(branch[leaf_order(joins)].tolist()))}
    return np.array([numbers[name] for name in branch.tolist()])
