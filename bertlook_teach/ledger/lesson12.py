"""Lesson 12: putting heads to work. The keyword weighting of Stefanik's lecture slides, reconstructed.

The inputs are the course's own texts with key phrases. Texts of the file's ``train`` half stand at even places and choose, those of its
``test`` half at odd places and report; all that is fitted is fitted on the first.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from itertools import zip_longest

import numpy as np

from ..claims import CannotDecide, Claim, Values
from ..correlation import rank_correlation
from ..keyphrase_data import load_keyphrases
from ..keyword_comparison import (
    ALL_HEADS,
    BEST_HEAD,
    BOTH,
    MIX,
    RULES_TOGETHER,
    Comparison,
    compare,
    without_heads,
)
from ..keyword_models import cross_entropies, f1_parts
from ..keyword_removal import remove_one, worst_first
from ..keywords import KeywordData, auc_by_text, read_keywords, relative_by_text, slides_score
from ..published import read_published
from ..store import Memory, kept

SLIDES, COURSE = "Stefanik, lecture slides", "This course"
FEWEST = 6  # texts in each half
WORTH_A_SENTENCE = 0.02  # AUC
DRAWS = 6  # random orders
SHARES = (0.0, 0.25, 0.5, 0.75, 1.0)  # of the heads, taken away
TABLE = "stefanik_keyword_weighting"


# --- evidence ------------------------------------------------------------------------------------------


@dataclass(frozen=True, eq=False)
class Measured:
    """What one model makes of the texts."""

    data: KeywordData
    comparison: Comparison

    @property
    def train(self) -> KeywordData:
        return self.comparison.train

    @property
    def test(self) -> KeywordData:
        return self.comparison.test


def measured(encoder, resources) -> Measured:
    """Scores of all words of the texts, and the comparison of what was fitted on them; kept.

    Raises
    ------
    CannotDecide
        If a half has too few texts.
    """
    key = encoder.fingerprint, resources.limit
    return _known.once(
        ("scores", *key), lambda: kept("keyword scores", key, lambda: _measure(encoder, resources.limit))
    )


def tuned(encoder, resources):
    """The encoder, taught to tag key words on the texts that choose; kept."""
    from ..key_tagging import KeyTagger, fine_tune_key_tagger
    from ..tagging import Tagger

    train = measured(encoder, resources).train
    key = encoder.fingerprint, resources.limit
    return _known.once(
        ("tagger", *key),
        lambda: kept(
            "key tagger",
            key,
            lambda: fine_tune_key_tagger(encoder, train),
            out=lambda made: (made.tagger.weights(), made.cutoff),
            back=lambda found: KeyTagger(Tagger.from_weights(encoder, found[0]), found[1]),
        ),
    )


_known = Memory(8)


def _measure(encoder, limit) -> Measured:
    try:
        data = read_keywords(encoder, load_keyphrases()[:limit])
        halves = data.halves()
    except ValueError as reason:
        raise CannotDecide(str(reason)) from None
    fewest = min(half.n_texts for half in halves)
    if fewest < FEWEST:
        raise CannotDecide(f"{FEWEST} texts to fit on and {FEWEST} to score are needed; a half has {fewest}")
    return Measured(data, compare(*halves))


def head_quantities(data: KeywordData) -> dict[str, np.ndarray]:
    """Of each text, shape (text, layer, head): AUC of both columns, relative attention, entropy, the slides' score and the spread of the maxima."""
    score, spread = slides_score(data)
    return {
        "mean": auc_by_text(data, data.scores["mean"]),
        "max": auc_by_text(data, data.scores["max"]),
        "a piece": auc_by_text(data, data.per_piece().scores["mean"]),
        "relative": relative_by_text(data),
        "entropy": data.entropy,
        "score": score,
        "spread": spread,
    }


def key_scores(encoder, resources) -> Iterator[dict[str, np.ndarray]]:
    """For each text what its heads say; for those that report also what was fitted on the others, and what is left without heads."""
    found = measured(encoder, resources)
    reporting = head_quantities(found.test)
    for name, (log_odds, cutoff) in found.comparison.answers.items():
        reporting[name] = auc_by_text(found.test, log_odds)
        reporting[f"{name} loss"] = _mean_by_text(found.test, cross_entropies(log_odds, found.test.is_key))
        reporting[f"{name} f1"] = f1_parts(log_odds > cutoff, found.test)
    prior = np.log(found.train.share_key) - np.log1p(-found.train.share_key)
    even = np.full(len(found.test.words), prior)
    reporting["prior loss"] = _mean_by_text(found.test, cross_entropies(even, found.test.is_key))
    reporting |= removal(found)
    yield from interleaved(head_quantities(found.train), reporting)


def removal(found: Measured) -> dict[str, np.ndarray]:
    """AUC of the regression of all heads on each text that reports, with more and more heads away: (text, step) an order."""
    heads = [divmod(i, found.data.n_heads) for i in range(found.data.n_layers * found.data.n_heads)]
    model = found.comparison.regression
    ranked = worst_first(remove_one(without_heads(model, found.train), heads), heads)
    generator = np.random.default_rng(0)
    draws = [[heads[i] for i in generator.permutation(len(heads))] for _ in range(DRAWS)]
    score = without_heads(model, found.test)

    def curve(order):
        return np.stack([score(order[: round(share * len(heads))])[:, 0] for share in SHARES], axis=1)

    return {
        "worst first": curve(ranked),
        "best first": curve(ranked[::-1]),
        "at random": np.mean([curve(order) for order in draws], axis=0),
    }


def key_tagging(encoder, resources) -> Iterator[dict[str, np.ndarray]]:
    """For each text that reports: AUC and F1 of the fine-tuned tagger, beside the regressions."""
    found = measured(encoder, resources)
    tagger = tuned(encoder, resources)
    log_odds = tagger.log_odds(found.test)
    reporting = {
        "tuned": auc_by_text(found.test, log_odds),
        "tuned f1": f1_parts(log_odds > tagger.cutoff, found.test),
    }
    for name in (ALL_HEADS, RULES_TOGETHER):
        answers, cutoff = found.comparison.answers[name]
        reporting[name] = auc_by_text(found.test, answers)
        reporting[f"{name} f1"] = f1_parts(answers > cutoff, found.test)
    yield from interleaved({"none": np.zeros(found.train.n_texts)}, reporting)


def interleaved(choosing: Mapping, reporting: Mapping) -> Iterator[dict[str, np.ndarray]]:
    """Texts that choose at even places, texts that report at odd ones; where one side is longer, an empty dict stands opposite."""

    def rows(side):
        return [dict(zip(side, values)) for values in zip(*side.values())]

    for even, odd in zip_longest(rows(choosing), rows(reporting), fillvalue={}):
        yield even
        yield odd


def _mean_by_text(data: KeywordData, values) -> np.ndarray:
    return np.bincount(data.text_ids, values, data.n_texts) / np.bincount(data.text_ids)


EVIDENCE = {"key scores": key_scores, "key tagging": key_tagging}


# --- statistics ----------------------------------------------------------------------------------------


def best(values: Values, choice: Values, quantity: str = "mean") -> float:
    """AUC of the head that has the highest where heads are chosen."""
    return float(values[quantity].flat[int(choice[quantity].argmax())])


def best_over_chance(values: Values, choice: Values) -> float:
    return best(values, choice) - 0.5


def best_over_rule(rule: str):
    return lambda values, choice: best(values, choice) - float(values[rule])


def best_a_piece(values: Values, choice: Values) -> float:
    return best(values, choice, "a piece") - 0.5


def mean_over_max(values: Values, choice: Values) -> float:
    return best(values, choice, "mean") - best(values, choice, "max")


def over(name: str, rival: str):
    """AUC of one fitted score minus that of another, both on the same texts."""
    return lambda values, choice: float(values[name] - values[rival])


def f1(values: Values, name: str) -> float:
    above, below = values[f"{name} f1"]
    return float(above / below) if below else 0.0


def f1_over(name: str, rival: str):
    return lambda values, choice: f1(values, name) - f1(values, rival)


def saved(name: str):
    """Share of the prior's cross-entropy that a score saves."""
    return lambda values, choice: float(1 - values[f"{name} loss"] / values["prior loss"])


def lowest_are_best(values: Values, choice: Values) -> float:
    """Mean AUC of the heads in the lowest third by the slides' score (on other texts) minus that of the others."""
    order = choice["score"].ravel().argsort(kind="stable")
    third = max(1, len(order) // 3)
    found = values["max"].ravel()
    return float(found[order[:third]].mean() - found[order[third:]].mean())


def score_and(quantity: str, sign: int = 1):
    """Rank correlation over heads of the slides' score with another quantity, times ``sign``."""
    return lambda values, choice: sign * _rho(values["score"], values[quantity])


def kept_without(order: str, share: float):
    """Minus the AUC lost when that share of the heads is away."""
    step = SHARES.index(share)
    return lambda values, choice: float(values[order][step] - values[order][0])


def ranking_saves(share: float):
    step = SHARES.index(share)
    return lambda values, choice: float(values["worst first"][step] - values["at random"][step])


def _rho(one, other) -> float:
    try:
        return rank_correlation(np.ravel(one), np.ravel(other))
    except ValueError as reason:
        raise CannotDecide(str(reason)) from None


# --- what was published --------------------------------------------------------------------------------


def published_scores() -> dict[tuple[int, int], dict[str, float]]:
    """The ten heads of the slides: (layer, head) as printed -> "score", and Clark et al.'s "entropy" and "sep" of the same heads."""
    found: dict[tuple[int, int], dict[str, float]] = {}
    for row in read_published(TABLE):
        if not row.head:
            continue
        name = (
            "score" if "entropy-type" in row.quantity else "entropy" if "entropy" in row.quantity else "sep"
        )
        found.setdefault((int(row.layer), int(row.head)), {})[name] = float(row.value)
    return found


def published_f1(quantity: str) -> str:
    [row] = [row for row in read_published(TABLE) if row.quantity == quantity]
    return f"F1 {row.value}"


def _published_rho() -> str:
    heads = published_scores().values()
    return f"{_rho([h['score'] for h in heads], [h['entropy'] for h in heads]):+.2f} (ten heads)"


CLAIMS = (
    Claim(
        "12-keys-get-more", "12",
        "Key words get more attention",
        SLIDES, "keywords", "", "",
        "AUC of the best head's column mean, chosen on other texts, minus .5",
        "no head that ranks key words .1 above chance", "key scores", best_over_chance, 0.1,
    ),
    Claim(
        "12-more-a-piece", "12",
        "Also counted per wordpiece",
        COURSE, "", "", "",
        "the same, scores divided by the word's number of pieces",
        "no head above chance once long words gain nothing by being split", "key scores", best_a_piece, 0.1,
    ),
    Claim(
        "12-beats-length", "12",
        "The best head beats the length of the word",
        COURSE, "", "", "",
        "AUC of the best head minus that of the number of letters",
        "no more than by .02", "key scores", best_over_rule("length"), WORTH_A_SENTENCE,
    ),
    Claim(
        "12-beats-tf-idf", "12",
        "The best head beats tf-idf",
        COURSE, "", "", "",
        "AUC of the best head minus that of tf-idf, frequencies from other texts",
        "no more than by .02", "key scores", best_over_rule("tf-idf"), WORTH_A_SENTENCE,
    ),
    Claim(
        "12-mean-over-max", "12",
        "The mean of a column says more than its maximum",
        COURSE, "", "", "",
        "AUC of the best head by mean minus that of the best head by maximum",
        "no more than by .01", "key scores", mean_over_max, 0.01,
    ),
    Claim(
        "12-heads-beat-prior", "12",
        "One head predicts key words",
        SLIDES, "keywords", "", "",
        "share of the class-prior's cross-entropy that the best head's regression saves",
        "less than a twentieth", "key scores", saved(BEST_HEAD), 0.05,
    ),
    Claim(
        "12-lowest-are-best", "12",
        "The lowest “entropies” are the keyword heads",
        SLIDES, "keywords", lambda: f"{len(published_scores())} heads listed", "P",
        "AUC of the third of heads with the lowest score minus that of the others",
        "no higher than the others'", "key scores", lowest_are_best, WORTH_A_SENTENCE,
        erratum="the quantity is not defined; ours is one reading",
    ),
    Claim(
        "12-score-is-saturation", "12",
        "The score ranks saturated heads",
        COURSE, "", "", "",
        "rank correlation over heads of the score with the spread of the maxima: interquartile range over the words of a text",
        "a correlation of .5 or less", "key scores", score_and("spread"), 0.5, control=False,
    ),
    Claim(
        "12-score-is-entropy", "12",
        "The score follows the heads' entropy",
        COURSE, "", _published_rho, "D",
        "rank correlation over heads of the score with attention entropy",
        "a correlation of .3 or less", "key scores", score_and("entropy"), 0.3, control=False,
    ),
    Claim(
        "12-score-is-not-auc", "12",
        "A low score marks a head that points to key words",
        SLIDES, "keywords", "", "",
        "minus the rank correlation over heads of the score with the AUC",
        "a correlation of .3 or less", "key scores", score_and("max", -1), 0.3, control=False,
    ),
    Claim(
        "12-all-heads-best", "12",
        "All heads together beat the best one",
        SLIDES, "keywords", "", "",
        "AUC of the regression of all heads minus that of the best head",
        "no more than by .02", "key scores", over(ALL_HEADS, BEST_HEAD), WORTH_A_SENTENCE,
    ),
    Claim(
        "12-mix-as-good", "12",
        "A mix of shares does as well as a regression",
        COURSE, "", "", "",
        "AUC of the softmax mix minus that of the regression",
        "more than .02 below", "key scores", over(MIX, ALL_HEADS), -WORTH_A_SENTENCE, control=False,
    ),
    Claim(
        "12-heads-add", "12",
        "Heads know what the rules do not",
        COURSE, "", "", "",
        "AUC of rules and heads together minus that of the rules",
        "no more than by .01", "key scores", over(BOTH, RULES_TOGETHER), 0.01,
    ),
    Claim(
        "12-half-can-go", "12",
        "Heads can be removed and nothing is lost",
        SLIDES, "pruning", lambda: f"{published_f1('F1 after fine-tuning BERT-base')}, pruned {published_f1('F1 after pruning heads')}", "P",
        "minus the AUC lost by the regression without half of the heads, ranked on other texts",
        "more than .01 lost", "key scores", kept_without("worst first", 0.5), -0.01, control=False,
    ),
    Claim(
        "12-ranking-helps", "12",
        "Ranked on train, the order is better than chance on test",
        SLIDES, "pruning", "", "",
        "AUC with half of the heads away, worst first, minus the mean of random orders",
        "no more than by .02", "key scores", ranking_saves(0.5), WORTH_A_SENTENCE,
    ),
    Claim(
        "12-tuning-best", "12",
        "Fine-tuning beats a reading of the heads",
        SLIDES, "fine-tuning", lambda: published_f1("F1 after fine-tuning BERT-base"), "P",
        "F1 of the fine-tuned tagger minus that of the regression of all heads",
        "no more than by .02", "key tagging", f1_over("tuned", ALL_HEADS), WORTH_A_SENTENCE, control=False,
    ),
    Claim(
        "12-pretraining-helps", "12",
        "What is tuned was learnt before",
        COURSE, "", "", "",
        "AUC of the fine-tuned tagger minus that of the rules together",
        "no more than by .02; or the random twin, tuned alike, does as well", "key tagging", over("tuned", RULES_TOGETHER), WORTH_A_SENTENCE,
    ),
)  # fmt: skip
