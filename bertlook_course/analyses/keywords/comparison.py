"""One judge for heads, mixes of heads and rules: fitted and chosen on some texts, scored on others."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np

from bertlook_teach.disk import Table
from bertlook_teach.model import head_label

from .models import (
    LogisticModel,
    MixModel,
    WordScore,
    best_cutoff,
    choose_l2,
    f1_parts,
    fit_logistic,
    fit_mix,
    fit_singles,
    judge,
    single_log_odds,
)
from .rules import RULES, document_frequencies, rule_scores, texts_of
from .scores import KeywordData, auc_by_text

BEST_HEAD, BEST_MAX = "best head, column mean", "best head, column max"

MIX, ALL_HEADS = "softmax mix of heads", "all heads, regression"

RULES_TOGETHER, BOTH = "rules together", "rules and all heads"


@dataclass(frozen=True, eq=False)
class Comparison(Table):
    """Scores of rules, heads and mixes on the same texts.

    Attributes
    ----------
    train, test : KeywordData
        Where everything was chosen and fitted; where it was scored.
    answers : dict of name -> (log-odds of the test words, cut-off)
    best : dict of "mean", "max" -> (layer, head)
        The head with the highest AUC on train.
    regression : LogisticModel
        All heads.
    mix : MixModel
    """

    train: KeywordData
    test: KeywordData
    answers: dict[str, tuple[np.ndarray, float]]
    best: dict[str, tuple[int, int]]
    regression: LogisticModel
    mix: MixModel

    def score(self, name: str) -> WordScore:
        """One row; the name is one of ``answers``."""
        if name not in self.answers:
            raise ValueError(f"there is no {name!r} here; there is: {', '.join(self.answers)}.")
        log_odds, cutoff = self.answers[name]
        shown = f"{name}: {head_label(*self._head(name))}" if self._head(name) else name
        return judge(shown, self.test, log_odds, cutoff, self.train.share_key)

    def _head(self, name: str) -> tuple[int, int] | None:
        return {BEST_HEAD: self.best["mean"], BEST_MAX: self.best["max"]}.get(name)

    def scores(self) -> list[WordScore]:
        """All rows, rules first."""
        return [self.score(name) for name in self.answers]

    def rows(self) -> list[WordScore]:
        """The same as `scores`."""
        return self.scores()

    def __repr__(self) -> str:
        return f"Comparison({len(self.answers)} scores, fitted on {self.train.n_texts} texts, scored on {self.test.n_texts})"


def compare(train: KeywordData, test: KeywordData) -> Comparison:
    """Fit and choose on ``train``, score on ``test``: each rule, the best heads, mixes of all heads, rules and heads together.

    Raises
    ------
    ValueError
        If a text is in both halves.
    """
    shared = {d.id for d in train.documents} & {d.id for d in test.documents}
    if shared:
        raise ValueError(
            f"{len(shared)} texts are in both halves, for example {min(shared)!r}: what is fitted would be scored on itself."
        )
    frequencies = document_frequencies(texts_of(train))
    by_rule = [rule_scores(half, frequencies) for half in (train, test)]
    rules = [np.stack([scores[name] for name in RULES], axis=1) for scores in by_rule]
    means, maxima = ([half.features(column) for half in (train, test)] for column in ("mean", "max"))
    answers, best = {}, {}

    def enter(name: str, on_train, on_test) -> None:
        answers[name] = np.asarray(on_test), best_cutoff(on_train, train.is_key)

    alone = fit_singles(rules[0], train.is_key)
    for i, name in enumerate(RULES):
        enter(name, *(single_log_odds(alone, half)[:, i] for half in rules))
    together = _regression(train, rules[0])
    enter(RULES_TOGETHER, *map(together.log_odds, rules))
    for name, column, features in ((BEST_HEAD, "mean", means), (BEST_MAX, "max", maxima)):
        flat = int(auc_by_text(train, train.scores[column]).mean(axis=0).argmax())
        best[column] = divmod(flat, train.n_heads)
        fit = fit_singles(features[0][:, [flat]], train.is_key)
        enter(name, *(single_log_odds(fit, half[:, [flat]])[:, 0] for half in features))
    mix = fit_mix(means[0], train.is_key)
    enter(MIX, *map(mix.log_odds, means))
    regression = _regression(train, means[0])
    enter(ALL_HEADS, *map(regression.log_odds, means))
    both = [np.hstack(pair) for pair in zip(rules, means)]
    everything = _regression(train, both[0])
    enter(BOTH, *map(everything.log_odds, both))
    return Comparison(train, test, answers, best, regression, mix)


def _regression(train: KeywordData, features) -> LogisticModel:
    return fit_logistic(features, train.is_key, l2=choose_l2(train, features))


def without_heads(model: LogisticModel | MixModel, data: KeywordData) -> Callable[[Sequence], np.ndarray]:
    """AUC of a model of all heads without some of them, as `bertlook_course.analyses.ablation.removal_curve` takes it; nothing is fitted again.

    Parameters
    ----------
    model : LogisticModel or MixModel
        Fitted on ``KeywordData.features()`` of the column means.
    data : KeywordData
    """
    from ..ablation import mean_parts

    features = data.features()

    def score(heads: Sequence[tuple[int, int]]) -> np.ndarray:
        columns = [layer * data.n_heads + head for layer, head in heads]
        return mean_parts(auc_by_text(data, model.log_odds(features, without=columns)))

    return score


def head_table(train: KeywordData, test: KeywordData, column: str = "mean") -> list[dict]:
    """One row a head: relative attention and AUC on all texts of ``test``, and its own regression, fitted on ``train``."""
    from .models import cross_entropies, prior_entropy
    from .scores import mean_with_interval, relative_by_text

    fit = fit_singles(train.features(column), train.is_key)
    seen, answers = (single_log_odds(fit, half.features(column)) for half in (train, test))
    losses = cross_entropies(answers, test.is_key).mean(axis=0)
    relative, within = relative_by_text(test, column), auc_by_text(test, test.scores[column])
    rows = []
    for flat in range(train.n_layers * train.n_heads):
        layer, head = divmod(flat, train.n_heads)
        called = answers[:, flat] > best_cutoff(seen[:, flat], train.is_key)
        above, below = f1_parts(called, test).sum(axis=0)
        value, low, high = mean_with_interval(within[:, layer, head])
        rows.append(
            {
                "head": head_label(layer, head),
                "column": column,
                "auc": value,
                "low": low,
                "high": high,
                "relative": float(relative[:, layer, head].mean()),
                "loss": float(losses[flat]),
                "prior": prior_entropy(test.is_key),
                "f1": float(above / below) if below else 0.0,
                "entropy": float(test.entropy[:, layer, head].mean()),
                "sep": float(test.sep[:, layer, head].mean()),
                "n": test.n_texts,
            }
        )
    return rows
