"""What a head, a rule, or all heads together say about which words are key: logistic models, judged on texts they were not fitted on.

Every model gives a word's log-odds of being key. Logistic fits are class-weighted: key and other words weigh the same in the sum, although
far fewer are key. The weights move all probabilities up, so the true share of key words is put back before a probability is read.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np

from bertlook_teach.stats import ratio_interval

from ...metrics import NotConverged, logistic_regression, minimized
from .scores import KeywordData, auc_by_text, mean_with_interval

L2_CHOICES = (1e-3, 1e-2, 1e-1)

MIX_L2 = 1e-4  # on the scores of the mix: without it one head takes all, however small its lead

SINGLE_L2 = 1e-4  # a feature that separates perfectly, or not at all, still has an answer

MAX_ITERATIONS = 2000  # a bound against waiting for ever: fits on the course take 50 to 200

FOLDS = 5


def prior_entropy(is_key) -> float:
    """Cross-entropy, nats a word, of who says the share of key words for every word: the line that a model must beat.

    >>> round(prior_entropy([True, False]), 3)
    0.693
    """
    share = float(np.mean(is_key))
    return float(-sum(p * np.log(p) for p in (share, 1 - share) if p > 0))


def _check_kinds(is_key: np.ndarray) -> None:
    if is_key.all() or not is_key.any():
        raise ValueError(
            f"a model needs key words and others to be fitted on; of {len(is_key)} words {int(is_key.sum())} are key."
        )


def _log_odds(share: float) -> float:
    return float(np.log(share) - np.log1p(-share))


# --- fits ----------------------------------------------------------------------------------------------------
@dataclass(frozen=True, eq=False)
class LogisticModel:
    """``log-odds = weights . (x - mean) / spread + bias``, the share of key words put back.

    Attributes
    ----------
    weights, mean, spread : ndarrays of shape (feature,)
        The weights are those of features of spread 1, so they can be compared with each other.
    bias : float
    l2 : float
    """

    weights: np.ndarray
    mean: np.ndarray
    spread: np.ndarray
    bias: float
    l2: float = 0.0

    def log_odds(self, features, without: Sequence[int] = ()) -> np.ndarray:
        """Log-odds of each word, from features of shape (word, feature).

        ``without``: features that are taken away: each word gets their training mean.
        """
        features = _matrix(features, len(self.weights))
        kept = self.weights.copy()
        kept[list(without)] = 0
        return ((features - self.mean) / self.spread) @ kept + self.bias


@dataclass(frozen=True, eq=False)
class MixModel:
    """``log-odds = gamma * sum_h s_h x_h + bias`` with shares s that are not negative and sum to 1 ("scalar mixing").

    Attributes
    ----------
    shares : ndarray of shape (feature,)
    gamma, bias : float
    """

    shares: np.ndarray
    gamma: float
    bias: float

    def mix(self, features) -> np.ndarray:
        """The mixed score of each word, shape (word,)."""
        return _matrix(features, len(self.shares)) @ self.shares

    def log_odds(self, features, without: Sequence[int] = ()) -> np.ndarray:
        """Log-odds of each word; the features ``without`` are set to 1, what a head gives an average word."""
        features = _matrix(features, len(self.shares)).copy()
        features[:, list(without)] = 1
        return self.gamma * (features @ self.shares) + self.bias


def _matrix(features, width: int | None = None) -> np.ndarray:
    features = np.asarray(features, float)
    if features.ndim != 2 or (width is not None and features.shape[1] != width):
        raise ValueError(
            f"features have shape (word, feature){'' if width is None else f' with {width} features'}; got {features.shape}."
        )
    return features


def _scale(features: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Mean and standard deviation of each feature; 1 for one that does not vary."""
    spread = features.std(axis=0)
    return features.mean(axis=0), np.where(spread > 1e-9, spread, 1.0)


def fit_logistic(
    features, is_key, *, l2: float = 1e-2, max_iterations: int = MAX_ITERATIONS
) -> LogisticModel:
    """Class-weighted logistic regression with an L2 penalty on the weights, not on the bias; features are scaled first.

    Parameters
    ----------
    features : array of shape (word, feature)
    is_key : bool array of shape (word,)
    l2 : float
        Penalty ``l2 / 2 * |weights|^2`` beside the mean loss a word.

    Raises
    ------
    ValueError
        If there is only one kind of word, or the penalty is negative.
    """
    features, is_key = _matrix(features), np.asarray(is_key, bool)
    _check_kinds(is_key)
    mean, spread = _scale(features)
    model = logistic_regression(
        (features - mean) / spread, is_key, l2=l2, max_iterations=max_iterations, class_weight="balanced"
    )
    return LogisticModel(
        model.coef_[0], mean, spread, float(model.intercept_[0]) + _log_odds(is_key.mean()), l2
    )


def fit_singles(features, is_key) -> LogisticModel:
    """`fit_logistic` of each feature alone.

    Returns
    -------
    LogisticModel
        Whose ``weights`` and ``bias`` hold one fit a feature (``bias`` an array); use `single_log_odds`.
    """
    features, is_key = _matrix(features), np.asarray(is_key, bool)
    fits = [fit_logistic(column[:, None], is_key, l2=SINGLE_L2) for column in features.T]
    weights, biases = np.array([fit.weights[0] for fit in fits]), np.array([fit.bias for fit in fits])
    return LogisticModel(weights, *_scale(features), biases, SINGLE_L2)


def single_log_odds(model: LogisticModel, features) -> np.ndarray:
    """Log-odds of each word by each feature alone, shape (word, feature)."""
    features = _matrix(features, len(model.weights))
    return (features - model.mean) / model.spread * model.weights + model.bias


def fit_mix(features, is_key, *, max_iterations: int = MAX_ITERATIONS) -> MixModel:
    """Shares (a softmax), scale and bias together, by L-BFGS. Words are not weighted here.

    Parameters
    ----------
    features : array of shape (word, feature)
        Of `KeywordData.features`: 1 is what an average word of the text has. They are not scaled, so the shares are shares.
    is_key : bool array of shape (word,)

    Notes
    -----
    There is a penalty ``MIX_L2 / 2 * |a|^2`` on the scores a of the softmax.

    The loss has several valleys: with a positive scale (more attention speaks for a key word) and with a negative one, round one head or
    another. Four starts are tried, two for each sign, and the deepest valley is taken. If it was not followed to its bottom, a warning says so
    (`NotConverged`).
    """
    from scipy.special import expit, softmax

    features, is_key = _matrix(features), np.asarray(is_key, bool)
    sign = np.where(is_key, 1.0, -1.0)
    # Equal shares can be a dead end, where the best scale is 0; so it starts from what each head says alone, and from the best one.
    alone = fit_singles(features, is_key)
    losses = cross_entropies(single_log_odds(alone, features), is_key).mean(axis=0)

    def fitted(direction: float, shares_from: np.ndarray):
        """A valley of one sign: the logarithm of the scale is free, its sign is not."""

        def objective(parameters):
            a, gamma, bias = parameters[:-2], direction * np.exp(parameters[-2]), parameters[-1]
            shares = softmax(a)
            mixed = features @ shares
            margins = sign * (gamma * mixed + bias)
            slope = -sign * expit(-margins) / len(sign)
            by_share = gamma * (features.T @ slope)
            gradient = shares * (by_share - shares @ by_share) + MIX_L2 * a
            loss = float(np.logaddexp(0, -margins).mean() + MIX_L2 / 2 * a @ a)
            return loss, np.concatenate([gradient, [gamma * (slope @ mixed), slope.sum()]])

        start = np.append(shares_from, [0.0, _log_odds(is_key.mean()) - direction])
        return minimized(objective, start, maxiter=max_iterations, gtol=1e-7)

    valleys = []
    for direction in (1.0, -1.0):
        of_this_sign = np.where(direction * alone.weights > 0, losses, np.inf)
        one = np.where(np.arange(len(losses)) == of_this_sign.argmin(), 5.0, 0.0)
        valleys += [(direction, fitted(direction, start)) for start in (direction * alone.weights, one)]
    direction, deepest = min(valleys, key=lambda valley: valley[1].fun)
    found = deepest.x
    if not deepest.success:
        warnings.warn(
            f"the mix of heads has not converged in {max_iterations} steps; give it more (max_iterations)",
            NotConverged,
            stacklevel=2,
        )
    return MixModel(softmax(found[:-2]), float(direction * np.exp(found[-2])), float(found[-1]))


# --- choosing and cross-validating, whole texts at a time ----------------------------------------------------
def folds_by_text(n_texts: int, folds: int = FOLDS, *, seed: int = 0) -> np.ndarray:
    """The fold of each text, drawn at random, as even as can be: words of one text never stand on both sides.

    Raises
    ------
    ValueError
        If there are fewer texts than folds, or fewer than two folds.
    """
    if folds < 2 or n_texts < folds:
        raise ValueError(
            f"two folds or more are needed, and a text for each; got {folds} folds of {n_texts} texts."
        )
    return np.random.default_rng(seed).permutation(np.arange(n_texts) % folds)


def cross_validated(
    data: KeywordData, features, fit: Callable, *, folds: int = FOLDS, seed: int = 0
) -> np.ndarray:
    """Log-odds of every word by a model that was fitted on other texts.

    Parameters
    ----------
    data : KeywordData
    features : array of shape (word, feature)
    fit : function(features, is_key) -> function(features) -> log-odds
        For example ``lambda x, y: fit_logistic(x, y).log_odds``.

    Returns
    -------
    ndarray of shape (word, ...), as the fitted function gives it
    """
    features = _matrix(features)
    fold = folds_by_text(data.n_texts, folds, seed=seed)[data.text_ids]
    found = None
    for k in range(folds):
        inside = fold == k
        answers = np.asarray(fit(features[~inside], data.is_key[~inside])(features[inside]))
        if found is None:
            found = np.zeros((len(fold), *answers.shape[1:]))
        found[inside] = answers
    return found


def choose_l2(data: KeywordData, features, choices: Sequence[float] = L2_CHOICES) -> float:
    """The penalty of `fit_logistic` under which texts left out of the fit have the smallest cross-entropy."""

    def loss(l2: float) -> float:
        answers = cross_validated(data, features, lambda x, y: fit_logistic(x, y, l2=l2).log_odds, folds=3)
        return float(cross_entropies(answers, data.is_key).mean())

    return min(choices, key=loss)


# --- the judge -----------------------------------------------------------------------------------------------
def cross_entropies(log_odds, is_key) -> np.ndarray:
    """Loss of each word in nats, shape as the log-odds (word, ...)."""
    log_odds = np.asarray(log_odds, float)
    is_key = np.asarray(is_key, bool).reshape(-1, *[1] * (log_odds.ndim - 1))
    return np.logaddexp(0, np.where(is_key, -log_odds, log_odds))


def best_cutoff(log_odds, is_key) -> float:
    """The log-odds above which words are called key so that F1 is highest on these words (the training texts').

    >>> best_cutoff([3.0, 1.0, 2.0, 0.0], [True, False, True, False])
    1.5
    """
    log_odds, is_key = np.asarray(log_odds, float), np.asarray(is_key, bool)
    order = np.argsort(-log_odds, kind="stable")
    ranked, hits = log_odds[order], np.cumsum(is_key[order])
    f1 = 2 * hits / (np.arange(1, len(ranked) + 1) + is_key.sum())
    f1[:-1][ranked[:-1] == ranked[1:]] = -1  # no cut between equal scores
    best = int(f1.argmax())
    return float(ranked[best] if best == len(ranked) - 1 else (ranked[best] + ranked[best + 1]) / 2)


@dataclass(frozen=True, kw_only=True)
class WordScore:
    """How well a score finds key words, on texts that took no part in making it; 95 % bootstrap intervals over texts.

    Attributes
    ----------
    name : str
    auc, auc_low, auc_high : float
        Mean over texts of the AUC within a text.
    f1, f1_low, f1_high : float
        Of the words called key, all texts together; the cut-off is that of the fitting texts.
    loss : float
        Cross-entropy, nats a word.
    prior : float
        The same of who always says the share of key words.
    n_words, n_texts : int
    """

    name: str
    auc: float
    auc_low: float
    auc_high: float
    f1: float
    f1_low: float
    f1_high: float
    loss: float
    prior: float
    n_words: int
    n_texts: int

    def __repr__(self) -> str:
        return (
            f"{self.name}: AUC {self.auc:.3f} [{self.auc_low:.3f}, {self.auc_high:.3f}], F1 {self.f1:.3f} "
            f"[{self.f1_low:.3f}, {self.f1_high:.3f}], {self.loss:.4f} nats a word (prior {self.prior:.4f}); "
            f"{self.n_words} words, {self.n_texts} texts"
        )


def f1_parts(called, data: KeywordData) -> np.ndarray:
    """Of each text ``(2 tp, 2 tp + fp + fn)``: F1 is the ratio of the two sums. Shape (text, 2)."""
    called, is_key = np.asarray(called, bool), data.is_key
    hits = np.bincount(data.text_ids, called & is_key, data.n_texts)
    return np.stack([2 * hits, np.bincount(data.text_ids, called.astype(float) + is_key, data.n_texts)], 1)


def judge(name: str, data: KeywordData, log_odds, cutoff: float, prior_share: float) -> WordScore:
    """Score log-odds on texts.

    Parameters
    ----------
    name : str
    data : KeywordData
        The texts to report on.
    log_odds : array of shape (word,)
    cutoff : float
        Words above are called key; chosen on the fitting texts (`best_cutoff`).
    prior_share : float
        Share of key words in the fitting texts.
    """
    log_odds = np.asarray(log_odds, float)
    parts = f1_parts(log_odds > cutoff, data)
    top, below = parts.sum(axis=0)
    loss = float(cross_entropies(log_odds, data.is_key).mean())
    prior = float(cross_entropies(np.full(len(log_odds), _log_odds(prior_share)), data.is_key).mean())
    mean, low, high = mean_with_interval(auc_by_text(data, log_odds))
    f1_low, f1_high = ratio_interval(parts)
    return WordScore(
        name=name,
        auc=mean,
        auc_low=low,
        auc_high=high,
        f1=float(top / below),
        f1_low=f1_low,
        f1_high=f1_high,
        loss=loss,
        prior=prior,
        n_words=len(data.words),
        n_texts=data.n_texts,
    )
