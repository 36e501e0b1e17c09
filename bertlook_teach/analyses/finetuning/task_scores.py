"""How well a task is done, with an interval, and how well it is done without any model: majority and bag of words."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from ...corpora import Example, Task
from ...stats import metric_value as measure
from ...stats import minimized, ratio_interval, resampled_interval, softmax_loss

if TYPE_CHECKING:
    from .classifier import Classifier

L2_CHOICES = (1e-4, 1e-3, 1e-2, 1e-1)


@dataclass(frozen=True)
class TaskScore:
    """A score with its 95 % interval and n."""

    metric: str
    value: float
    low: float
    high: float
    n: int

    def __repr__(self) -> str:
        return f"{self.metric} {self.value:.3f} [{self.low:.3f}, {self.high:.3f}], n = {self.n}"


def score(
    answers: Classifier | Sequence, examples: Sequence[Example], *, metric: str | None = None, seed: int = 0
) -> TaskScore:
    """How well a classifier, or a list of predictions, does on labelled examples.

    Parameters
    ----------
    answers : Classifier, or one prediction an example
        Names of classes, or numbers for a regression.
    examples : sequence of Example
    metric : str, optional
        By default the classifier's own; for predictions accuracy, or Spearman's correlation of numbers.

    Returns
    -------
    TaskScore
        The interval draws whole groups of examples (see `Example.group`) with replacement.
    """
    examples = list(examples)
    if hasattr(answers, "predict"):
        metric = metric or answers.metric
        answers = answers.predict(examples)
    if len(answers) != len(examples) or not examples:
        raise ValueError(
            f"as many predictions as examples are needed; got {len(answers)} for {len(examples)} examples."
        )
    gold = [example.label for example in examples]
    metric = metric or ("accuracy" if isinstance(gold[0], str) else "spearman")
    answers, gold = np.asarray(answers), np.asarray(gold)
    value = measure(metric, answers, gold)
    units = units_of(examples)
    if metric == "accuracy":
        right = np.bincount(units, answers == gold)
        low, high = ratio_interval(np.stack([right, np.bincount(units)], axis=1), seed=seed)
    else:
        low, high = resampled_interval(
            lambda chosen: measure(metric, answers[chosen], gold[chosen]), units, seed=seed
        )
    return TaskScore(metric, value, low, high, len(examples))


def units_of(examples: Sequence[Example]) -> np.ndarray:
    """The unit of each example: its group, or itself."""
    numbers: dict = {}
    return np.array([numbers.setdefault(e.group or i, len(numbers)) for i, e in enumerate(examples)])


# --- without a model -----------------------------------------------------------------------------------
def majority(task: Task) -> Callable[[Sequence[Example]], list]:
    """Always the commonest training label (of equally common ones the first class), or the mean of the numbers."""
    if task.is_regression:
        answer = float(np.mean([example.label for example in task.train]))
    else:
        counts = Counter(example.label for example in task.train)
        answer = max(task.labels, key=counts.__getitem__)
    return lambda examples: [answer] * len(examples)


_WORD = re.compile(r"\w+|[^\w\s]")


def _bag(example: Example) -> dict[str, float]:
    """Which words there are, whatever their order; of a pair, in the first, in the second and in both."""
    words = set(_WORD.findall(example.text.lower()))
    if example.text_pair is None:
        return dict.fromkeys(words, 1.0)
    others = set(_WORD.findall(example.text_pair.lower()))
    features = {f"1 {word}": 1.0 for word in words} | {f"2 {word}": 1.0 for word in others}
    features |= {f"both {word}": 1.0 for word in words & others}
    features["shared"] = len(words & others) / len(words | others)
    return features


@dataclass(frozen=True, eq=False)
class BagOfWords:
    """A fitted bag-of-words model: ``weights`` of shape (feature + 1, class), the last row the bias."""

    features: dict[str, int]
    labels: tuple[str, ...]
    weights: np.ndarray
    l2: float
    centre: float = 0.0

    def scores(self, examples: Sequence[Example]) -> np.ndarray:
        """Shape (example, class); (example, 1) for a regression."""
        return _matrix(examples, self.features) @ self.weights + self.centre

    def predict(self, examples: Sequence[Example]) -> list:
        scores = self.scores(examples)
        return [self.labels[i] for i in scores.argmax(axis=-1)] if self.labels else scores[:, 0].tolist()


def _matrix(examples: Sequence[Example], features: dict[str, int]):
    from scipy.sparse import csr_matrix

    rows, columns, values = [], [], []
    for row, example in enumerate(examples):
        for name, value in [*_bag(example).items(), ("", 1.0)]:  # "" is the bias
            column = len(features) if name == "" else features.get(name)
            if column is not None:
                rows.append(row), columns.append(column), values.append(value)
    return csr_matrix((values, (rows, columns)), shape=(len(examples), len(features) + 1))


def fit_bag_of_words(task: Task, *, l2: float | None = None) -> BagOfWords:
    """Logistic (or, for numbers, linear) regression on which words occur: what can be had without their order.

    Parameters
    ----------
    task : Task
    l2 : float, optional
        Penalty ``l2 / 2 * |weights|^2`` beside the mean loss. By default the best on dev of 1e-4, 1e-3, 1e-2 and 1e-1.
    """
    if l2 is None:
        gold = [example.label for example in task.dev]
        fitted = [fit_bag_of_words(task, l2=choice) for choice in L2_CHOICES]
        return max(fitted, key=lambda model: measure(task.metric, model.predict(task.dev), gold))
    names = dict.fromkeys(name for example in task.train for name in _bag(example))
    features = {name: i for i, name in enumerate(names)}
    x, n_classes = _matrix(task.train, features), max(1, len(task.labels))
    if task.is_regression:
        target = np.array([example.label for example in task.train])
        centre = float(target.mean())
    else:
        place = {label: i for i, label in enumerate(task.labels)}
        target, centre = np.array([place[example.label] for example in task.train]), 0.0

    def objective(flat):
        weights = flat.reshape(-1, n_classes)
        scores = x @ weights
        if task.is_regression:
            residual = scores + centre - target[:, None]
            loss = 0.5 * float((residual**2).sum())
        else:
            loss, residual = softmax_loss(scores, target)
        gradient = x.T @ residual / len(target)
        return loss / len(target) + l2 / 2 * float(flat @ flat), gradient.ravel() + l2 * flat

    start = np.zeros((len(features) + 1) * n_classes)
    result = minimized(objective, start, maxiter=500)
    return BagOfWords(features, task.labels, result.x.reshape(-1, n_classes), l2, centre)


def baselines(task: Task, *, seed: int = 0) -> dict[str, TaskScore]:
    """What is reached on test without a model: ``"majority"`` and ``"bag of words"``, each a `TaskScore`."""
    answers = {"majority": majority(task), "bag of words": fit_bag_of_words(task).predict}
    return {
        name: score(answer(task.test), task.test, metric=task.metric, seed=seed)
        for name, answer in answers.items()
    }
