"""How well a task is done, with an interval, and how well it is done without any model: majority and bag of words."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from bertlook_teach.stats import ratio_interval, resampled_interval

from ...corpora import Example, Task
from ...metrics import logistic_regression, metric_value

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
    value = metric_value(metric, answers, gold)
    units = units_of(examples)
    if metric == "accuracy":
        right = np.bincount(units, answers == gold)
        low, high = ratio_interval(np.stack([right, np.bincount(units)], axis=1), seed=seed)
    else:
        low, high = resampled_interval(
            lambda chosen: metric_value(metric, answers[chosen], gold[chosen]), units, seed=seed
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
    bias = {"": 1.0}  # penalised as the words are, and no word is empty
    words = set(_WORD.findall(example.text.lower()))
    if example.text_pair is None:
        return dict.fromkeys(words, 1.0) | bias
    others = set(_WORD.findall(example.text_pair.lower()))
    features = {f"1 {word}": 1.0 for word in words} | {f"2 {word}": 1.0 for word in others}
    features |= {f"both {word}": 1.0 for word in words & others}
    features["shared"] = len(words & others) / len(words | others)
    return features | bias


@dataclass(frozen=True, eq=False)
class BagOfWords:
    """A fitted bag-of-words model: scikit-learn's ``DictVectorizer`` and regression, and what was taken off the numbers before."""

    words: Any
    regression: Any
    l2: float
    centre: float = 0.0

    def predict(self, examples: Sequence[Example]) -> list:
        answers = self.regression.predict(self.words.transform(map(_bag, examples)))
        return (answers + self.centre if self.centre else answers).tolist()


def fit_bag_of_words(task: Task, *, l2: float | None = None) -> BagOfWords:
    """Logistic (or, for numbers, linear) regression on which words occur: what can be had without their order.

    Parameters
    ----------
    task : Task
    l2 : float, optional
        Penalty ``l2 / 2 * |weights|^2`` beside the mean loss. By default the best on dev of 1e-4, 1e-3, 1e-2 and 1e-1.
    """
    from sklearn.feature_extraction import DictVectorizer
    from sklearn.linear_model import Ridge

    gold = [example.label for example in task.train]
    if l2 is None:
        wanted = [example.label for example in task.dev]
        fitted = [fit_bag_of_words(task, l2=choice) for choice in L2_CHOICES]
        return max(fitted, key=lambda model: metric_value(task.metric, model.predict(task.dev), wanted))
    words = DictVectorizer()
    x = words.fit_transform(map(_bag, task.train))
    if task.is_regression:
        centre = float(np.mean(gold))
        regression = Ridge(alpha=l2 * len(gold), fit_intercept=False, solver="lsqr", tol=1e-8)
        return BagOfWords(words, regression.fit(x, np.asarray(gold) - centre), l2, centre)
    # Of two classes one has the weights w; a softmax over both would have w/2 and -w/2, and half the penalty.
    penalty = l2 / 2 if len(set(gold)) == 2 else l2
    return BagOfWords(words, logistic_regression(x, gold, l2=penalty, fit_intercept=False), l2)


def baselines(task: Task, *, seed: int = 0) -> dict[str, TaskScore]:
    """What is reached on test without a model: ``"majority"`` and ``"bag of words"``, each a `TaskScore`."""
    answers = {"majority": majority(task), "bag of words": fit_bag_of_words(task).predict}
    return {
        name: score(answer(task.test), task.test, metric=task.metric, seed=seed)
        for name, answer in answers.items()
    }
