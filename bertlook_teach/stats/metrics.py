"""Metrics of predictions."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np


def auc(scores, is_key) -> np.ndarray:
    """Area under the ROC curve: how often a key word has a higher score than another word, ties counting half.

    Whatever the scale of the scores: .5 by chance, 1 if every key word is above every other, 0 if below.

    Parameters
    ----------
    scores : array of shape (..., word)
    is_key : bool array of shape (word,)

    Returns
    -------
    ndarray of shape (...)

    Raises
    ------
    ValueError
        If no word is key, or all are, or a score is not a number.

    Examples
    --------
    >>> float(auc([3, 1, 2], [True, False, False])), float(auc([1, 1], [True, False]))
    (1.0, 0.5)
    """
    from scipy.stats import rankdata

    scores, is_key = checked_word_scores(scores, is_key)
    n_key, n_other = int(is_key.sum()), int((~is_key).sum())
    ranks = rankdata(scores, axis=-1)[..., is_key].sum(axis=-1)
    return (ranks - n_key * (n_key + 1) / 2) / (n_key * n_other)


def checked_word_scores(scores, is_key) -> tuple[np.ndarray, np.ndarray]:
    scores, is_key = np.asarray(scores, float), np.asarray(is_key, bool)
    if is_key.ndim != 1 or scores.shape[-1:] != is_key.shape:
        raise ValueError(
            f"one score a word is needed: is_key has shape {is_key.shape}, the scores end in {scores.shape[-1:]}."
        )
    if is_key.all() or not is_key.any():
        what = "every word is key" if len(is_key) and is_key.all() else "no word is key"
        raise ValueError(
            f"nothing can be decided: {what}, so key words cannot be compared with others. Do the phrases occur in the text?"
        )
    if not np.isfinite(scores).all():
        raise ValueError("a score is not a number (NaN or infinite).")
    return scores, is_key


def micro_f1(tp, fp, fn):
    """``2 tp / (2 tp + fp + fn)``, labels of all kinds added up; 0 where there is nothing to find and nothing is found.

    >>> micro_f1(6, 2, 2)
    0.75
    """
    tp, fp, fn = (np.asarray(x, dtype=float) for x in (tp, fp, fn))
    below = 2 * tp + fp + fn
    found = np.divide(2 * tp, below, out=np.zeros_like(below), where=below > 0)
    return float(found) if found.ndim == 0 else found


def ratio_parts(counts: np.ndarray) -> np.ndarray:
    return np.stack([2 * counts[..., 0], 2 * counts[..., 0] + counts[..., 1] + counts[..., 2]], axis=-1)


def metric_value(metric: str, predicted: Sequence, gold: Sequence) -> float:
    """One metric of predictions against labels, both names of classes or both numbers.

    ``"accuracy"``: share of equal ones. ``"matthews"``: correlation of predicted and true class (for more than two classes its
    generalisation by Gorodkin). ``"spearman"``, ``"pearson"``: correlations of numbers. A correlation where one side is constant
    is 0, as GLUE counts it.

    Examples
    --------
    >>> metric_value("accuracy", ["a", "b", "b"], ["a", "b", "a"])
    0.6666666666666666
    >>> metric_value("matthews", ["a", "a"], ["a", "b"])
    0.0
    """
    if metric not in METRICS:
        raise ValueError(f"the metric is one of {', '.join(METRICS)}; got {metric!r}.")
    if len(predicted) != len(gold) or not len(gold):
        raise ValueError(
            f"as many predictions as labels are needed, one or more; got {len(predicted)} and {len(gold)}."
        )
    predicted, gold = np.asarray(predicted), np.asarray(gold)
    if metric == "accuracy":
        return float((predicted == gold).mean())
    if metric == "matthews":
        from sklearn.metrics import matthews_corrcoef

        return float(matthews_corrcoef(gold, predicted))
    if np.ptp(predicted) == 0 or np.ptp(gold) == 0:
        return 0.0
    from scipy.stats import pearsonr, spearmanr

    return float((spearmanr if metric == "spearman" else pearsonr)(predicted, gold).statistic)


METRICS = ("accuracy", "matthews", "spearman", "pearson")
