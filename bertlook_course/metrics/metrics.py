"""Metrics of predictions."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from .correlation import mean_ranks


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
    scores, is_key = checked_word_scores(scores, is_key)
    n_key, n_other = int(is_key.sum()), int((~is_key).sum())
    ranks = np.apply_along_axis(mean_ranks, -1, scores)[..., is_key].sum(axis=-1)
    return (ranks - n_key * (n_key + 1) / 2) / (n_key * n_other)


def checked_word_scores(scores, is_key) -> tuple[np.ndarray, np.ndarray]:
    scores, is_key = np.asarray(scores), np.asarray(is_key)
    if is_key.dtype != bool and not np.isin(is_key, (0, 1)).all():
        raise ValueError(
            f"scores come first, then a yes or no (1 or 0) for each word; the second argument holds {is_key.ravel()[:4].tolist()}."
        )
    scores, is_key = scores.astype(float), is_key.astype(bool)
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


def confusion_matrix(first: Sequence, second: Sequence, classes: Sequence) -> np.ndarray:
    """How often the first labelling said i while the second said j, shape (class, class).

    Raises
    ------
    ValueError
        If the two are of different length, hold no item, or name a class that is not listed.

    Examples
    --------
    >>> confusion_matrix(["a", "a", "b"], ["a", "b", "b"], ["a", "b"])
    array([[1, 1],
           [0, 1]])
    """
    first, second, classes = list(first), list(second), list(classes)
    if len(first) != len(second):
        raise ValueError(
            f"two labellings of the same items are needed; got {len(first)} and {len(second)} labels."
        )
    if not first:
        raise ValueError("no item has been labelled by both, so there is nothing to compare.")
    place = {name: i for i, name in enumerate(classes)}
    for label in (*first, *second):
        if label not in place:
            raise ValueError(f"{label!r} is not one of the classes {', '.join(map(str, classes))}.")
    counts = np.zeros((len(classes), len(classes)), dtype=int)
    np.add.at(counts, ([place[label] for label in first], [place[label] for label in second]), 1)
    return counts


def accuracy(confusion) -> float:
    """Share of items on which both say the same: the diagonal over everything."""
    confusion = np.asarray(confusion, dtype=float)
    return float(np.trace(confusion) / _total(confusion))


def class_f1(confusion) -> np.ndarray:
    """F1 of each class, 2 tp / (2 tp + fp + fn); -1 for a class that neither side uses.

    F1 does not ask which side is the truth: it is the same with rows and columns swapped.
    """
    confusion = np.asarray(confusion, dtype=float)
    used = confusion.sum(axis=0) + confusion.sum(axis=1)
    return np.where(used > 0, 2 * np.diag(confusion) / np.where(used > 0, used, 1), -1.0)


def macro_f1(confusion) -> float:
    """Mean F1 over the classes that at least one side uses, each class weighing the same.

    >>> round(macro_f1([[8, 2], [1, 4]]), 3)   # F1 = 16/19 and 8/11
    0.785
    """
    _total(np.asarray(confusion, dtype=float))
    scores = class_f1(confusion)
    return float(scores[scores >= 0].mean())


def cohen_kappa(confusion) -> float | None:
    """Agreement beyond what two independent labellers with these habits would reach: 0 chance, 1 always.

    None if both put everything into the same one class: then chance agrees always, and kappa is not defined.

    References
    ----------
    Cohen (1960), A coefficient of agreement for nominal scales.

    Examples
    --------
    >>> round(cohen_kappa([[20, 5], [10, 15]]), 3)   # (0.7 - 0.5) / (1 - 0.5)
    0.4
    """
    confusion = np.asarray(confusion, dtype=float)
    total = _total(confusion)
    chance = float((confusion.sum(axis=0) * confusion.sum(axis=1)).sum() / total**2)
    return None if chance >= 1 - 1e-12 else (accuracy(confusion) - chance) / (1 - chance)


def _total(confusion: np.ndarray) -> float:
    if confusion.ndim != 2 or confusion.shape[0] != confusion.shape[1]:
        raise ValueError(f"a confusion matrix has as many rows as columns; got shape {confusion.shape}.")
    if not (np.isfinite(confusion).all() and (confusion >= 0).all()):
        raise ValueError("a confusion matrix holds counts: finite numbers, none below 0.")
    total = float(confusion.sum())
    if total <= 0:
        raise ValueError("the confusion matrix is empty: no item has been labelled by both.")
    return total


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
    if len({isinstance(one, str) for one in (*predicted, *gold)}) > 1:
        raise ValueError(
            f"predictions and labels are both names or both numbers; got {predicted[:3].tolist()} and {gold[:3].tolist()}."
        )
    if any(one.dtype.kind == "f" and not np.isfinite(one).all() for one in (predicted, gold)):
        raise ValueError("a prediction or a label is not a number (NaN or infinite).")
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
