"""What lesson 09 asks of the distances between heads: which are nearest, how often in one layer, and how many heads rest on [SEP]."""

from __future__ import annotations

import numpy as np

from bertlook_teach import measures, stats


def nearest_heads(distances: np.ndarray) -> np.ndarray:
    """For each head the place of its nearest other head; distances of shape (head, head)."""
    return np.where(np.eye(len(distances), dtype=bool), np.inf, distances).argmin(axis=1)


def closest_pair(distances: np.ndarray) -> tuple[int, int]:
    """The two different heads that are closest; distances of shape (head, head), ``inf`` where a pair does not count."""
    others = np.where(np.eye(len(distances), dtype=bool), np.inf, distances)
    first, second = np.unravel_index(others.argmin(), others.shape)
    return int(first), int(second)


def share_of_own_layer(distances: np.ndarray, layers: np.ndarray) -> tuple[float, float, float]:
    """The share of heads whose nearest head is of their own layer, and its interval over texts.

    Parameters
    ----------
    distances : array of shape (text, head, head)
    layers : int array of shape (head,)

    Returns
    -------
    share, low, high : float
        Whole heads are counted, in steps; so there is no tail that the interval could lean to.
    """

    def share_in(matrix):
        return (layers[nearest_heads(matrix)] == layers).mean()

    n_texts = len(distances)
    drawn = [share_in(np.tensordot(w / w.sum(), distances, 1)) for w in stats.draws(n_texts)]
    share = share_in(distances.mean(axis=0))
    return share, *stats.sample_interval(drawn, share, n_texts, acceleration=0, within=(0, 1))


def how_good(stress: float) -> str:
    """Kruskal's words for the stress of a map."""
    if stress < 0.1:
        return "good" if stress < 0.05 else "between good and fair"
    return "between fair and poor" if stress < 0.2 else "poor"


def resting_on_sep(quantities: dict[str, np.ndarray], weights: np.ndarray) -> int:
    """How many heads rest on [SEP], in the weighted mean over texts."""
    means = {name: np.tensordot(weights / weights.sum(), values, 1) for name, values in quantities.items()}
    return (measures.behaviour_labels(means) == "[SEP]").sum()
