"""Lesson 12: putting heads to work. The keyword weighting of Stefanik's lecture slides, reconstructed.

The inputs are the course's own texts with key phrases. Texts of the file's ``train`` half stand at even places and choose, those of its
``test`` half at odd places and report; all that is fitted is fitted on the first.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from itertools import zip_longest

import numpy as np

from ...analyses.ablation import remove_one, worst_first
from ...analyses.keywords import (
    ALL_HEADS,
    BEST_HEAD,
    BOTH,
    MIX,
    RULES_TOGETHER,
    Comparison,
    KeywordData,
    auc_by_text,
    compare,
    cross_entropies,
    f1_parts,
    read_keywords,
    relative_by_text,
    slides_score,
    without_heads,
)
from ...corpora import load_keyphrases
from ...disk import Memory, cached
from ...published import read_published
from ...stats import CannotDecide
from ..claim import Claims, Values
from .statistics import rank_agreement

SLIDES, COURSE = "Stefanik, lecture slides", "This course"

FEWEST = 6  # texts in each half

WORTH_A_SENTENCE = 0.02  # AUC

DRAWS = 6  # random orders

SHARES = (0.0, 0.25, 0.5, 0.75, 1.0)  # of the heads, taken away

TABLE = "stefanik_keyword_weighting"


# --- evidence ------------------------------------------------------------------------------------------
@dataclass(frozen=True, eq=False)
class Measured:
    """What one model makes of the texts. What each single word receives is not kept (`read_keywords` reads it again).

    Attributes
    ----------
    data : KeywordData
        All texts, with empty ``scores``.
    comparison : Comparison
        Its halves have empty ``scores`` too.
    heads : tuple of two dicts
        `head_quantities` of the texts that choose, and of those that report.
    removal : dict of order -> float array of shape (text, step)
        AUC of the regression of all heads on each text that reports, with more and more heads away (``SHARES``).
    """

    data: KeywordData
    comparison: Comparison
    heads: tuple[dict[str, np.ndarray], dict[str, np.ndarray]]
    removal: dict[str, np.ndarray]

    @property
    def train(self) -> KeywordData:
        return self.comparison.train

    @property
    def test(self) -> KeywordData:
        return self.comparison.test

    def mean(self, quantity: str) -> np.ndarray:
        """A quantity of each head, mean over all texts."""
        return np.concatenate([half[quantity] for half in self.heads]).mean(axis=0)


@dataclass(frozen=True, eq=False)
class Tuned:
    """Answers of a model that was taught to tag key words: log-odds of the words that report, the cut-off of F1, the loss of each pass."""

    log_odds: np.ndarray
    cutoff: float
    losses: tuple[float, ...]


def measured(encoder, resources) -> Measured:
    """What heads say of the texts, and the comparison of what was fitted on it; kept.

    Raises
    ------
    CannotDecide
        If a half has too few texts.
    """
    return _known.once(
        ("scores", encoder.fingerprint, resources.limit),
        lambda: cached(
            "keyword scores",
            (encoder, resources.limit),
            lambda: _measure(encoder, resources.limit),
            out=_without_texts,
            back=_with_texts,
        ),
    )


def tuned(encoder, resources) -> Tuned:
    """What the encoder answers when it has been taught to tag key words on the texts that choose; kept."""
    return _known.once(
        ("tagger", encoder.fingerprint, resources.limit),
        lambda: cached("key tagger", (encoder, resources.limit), lambda: _tune(encoder, resources)),
    )


_known = Memory(8)


def _measure(encoder, limit) -> Measured:
    try:
        data = read_keywords(encoder, load_keyphrases()[:limit])
        train, test = data.halves()
    except ValueError as reason:
        raise CannotDecide(str(reason)) from None
    fewest = min(train.n_texts, test.n_texts)
    if fewest < FEWEST:
        raise CannotDecide(f"{FEWEST} texts to fit on and {FEWEST} to score are needed; a half has {fewest}")
    found = compare(train, test)
    bare = replace(found, train=replace(train, scores={}), test=replace(test, scores={}))
    heads = head_quantities(train), head_quantities(test)
    return Measured(replace(data, scores={}), bare, heads, removal(found))


def _tune(encoder, resources) -> Tuned:
    from ...analyses.keywords import fine_tune_key_tagger

    found = measured(encoder, resources)
    tagger = fine_tune_key_tagger(encoder, found.train)
    return Tuned(tagger.log_odds(found.test), tagger.cutoff, tuple(tagger.tagger.losses))


def _without_texts(found: Measured) -> tuple:
    """For the disk: the texts themselves are shipped already."""
    data = replace(found.data, documents=(), words=())
    ids, words = tuple(d.id for d in found.data.documents), "\n".join(found.data.words)
    return data, ids, words, replace(found.comparison, train=None, test=None), found.heads, found.removal


def _with_texts(kept: tuple) -> Measured:
    data, ids, words, comparison, heads, removed = kept
    documents = {document.id: document for document in load_keyphrases()}
    data = replace(data, documents=tuple(documents[i] for i in ids), words=tuple(words.split("\n")))
    train, test = data.halves()
    return Measured(data, replace(comparison, train=train, test=test), heads, removed)


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
    choosing, reporting = found.heads[0], dict(found.heads[1])
    for name, (log_odds, cutoff) in found.comparison.answers.items():
        reporting[name] = auc_by_text(found.test, log_odds)
        reporting[f"{name} loss"] = _mean_by_text(found.test, cross_entropies(log_odds, found.test.is_key))
        reporting[f"{name} f1"] = f1_parts(log_odds > cutoff, found.test)
    prior = np.log(found.train.share_key) - np.log1p(-found.train.share_key)
    even = np.full(len(found.test.words), prior)
    reporting["prior loss"] = _mean_by_text(found.test, cross_entropies(even, found.test.is_key))
    reporting |= found.removal
    yield from interleaved(choosing, reporting)


def removal(found: Comparison) -> dict[str, np.ndarray]:
    """AUC of the regression of all heads on each text that reports, with more and more heads away: (text, step) an order."""
    n_heads = found.train.n_heads
    heads = [divmod(i, n_heads) for i in range(found.train.n_layers * n_heads)]
    model = found.regression
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
    told = tuned(encoder, resources)
    reporting = {
        "tuned": auc_by_text(found.test, told.log_odds),
        "tuned f1": f1_parts(told.log_odds > told.cutoff, found.test),
    }
    for name in (ALL_HEADS, RULES_TOGETHER):
        log_odds, cutoff = found.comparison.answers[name]
        reporting[name] = auc_by_text(found.test, log_odds)
        reporting[f"{name} f1"] = f1_parts(log_odds > cutoff, found.test)
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


def best_over_rule(rule: str):
    return lambda values, choice: best(values, choice) - float(values[rule])


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


def score_and(quantity: str, sign: int = 1):
    """Rank correlation over heads of the slides' score with another quantity, times ``sign``."""
    return lambda values, choice: sign * rank_agreement(values["score"], values[quantity])


def kept_without(order: str, share: float):
    """Minus the AUC lost when that share of the heads is away."""
    step = SHARES.index(share)
    return lambda values, choice: float(values[order][step] - values[order][0])


def ranking_saves(share: float):
    step = SHARES.index(share)
    return lambda values, choice: float(values["worst first"][step] - values["at random"][step])


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
    return f"{rank_agreement([h['score'] for h in heads], [h['entropy'] for h in heads]):+.2f} (ten heads)"


# --- the claims ------------------------------------------------------------------------------------------


claim = Claims("12", EVIDENCE, source=COURSE, evidence="key scores")


@claim(
    key="keys-get-more",
    sentence="Key words get more attention",
    source=SLIDES,
    section="keywords",
    operational="AUC of the best head's column mean, chosen on other texts",
    refuted_if="no head that ranks key words .1 above chance",
    threshold=0.1,
    origin=0.5,
)
def best_over_chance(values: Values, choice: Values) -> float:
    return best(values, choice) - 0.5


@claim(
    key="more-a-piece",
    sentence="Also counted per wordpiece",
    operational="the same, scores divided by the word's number of pieces",
    refuted_if="no head above chance once long words gain nothing by being split",
    threshold=0.1,
    origin=0.5,
)
def best_a_piece(values: Values, choice: Values) -> float:
    return best(values, choice, "a piece") - 0.5


claim(
    key="beats-length",
    sentence="The best head beats the length of the word",
    operational="AUC of the best head minus that of the number of letters",
    refuted_if="no more than by .02",
    threshold=WORTH_A_SENTENCE,
    statistic=best_over_rule("length"),
)
claim(
    key="beats-tf-idf",
    sentence="The best head beats tf-idf",
    operational="AUC of the best head minus that of tf-idf, frequencies from other texts",
    refuted_if="no more than by .02",
    threshold=WORTH_A_SENTENCE,
    statistic=best_over_rule("tf-idf"),
)


@claim(
    key="mean-over-max",
    sentence="The mean of a column says more than its maximum",
    operational="AUC of the best head by mean minus that of the best head by maximum",
    refuted_if="no more than by .01",
    threshold=0.01,
)
def mean_over_max(values: Values, choice: Values) -> float:
    return best(values, choice, "mean") - best(values, choice, "max")


claim(
    key="heads-beat-prior",
    sentence="One head predicts key words",
    source=SLIDES,
    section="keywords",
    operational="share of the class-prior's cross-entropy that the best head's regression saves",
    refuted_if="less than a twentieth",
    threshold=0.05,
    statistic=saved(BEST_HEAD),
)


@claim(
    key="lowest-are-best",
    sentence="The lowest “entropies” are the keyword heads",
    source=SLIDES,
    section="keywords",
    original=lambda: f"{len(published_scores())} heads listed",
    exactness="P",
    operational="AUC of the third of heads with the lowest score minus that of the others",
    refuted_if="no higher than the others'",
    threshold=WORTH_A_SENTENCE,
    erratum="the quantity is not defined; ours is one reading",
)
def lowest_are_best(values: Values, choice: Values) -> float:
    order = choice["score"].ravel().argsort(kind="stable")
    third = max(1, len(order) // 3)
    found = values["max"].ravel()
    return float(found[order[:third]].mean() - found[order[third:]].mean())


claim(
    key="score-is-saturation",
    sentence="The score ranks saturated heads",
    operational="rank correlation over heads of the score with the spread of the maxima: interquartile range over the words of a text",
    refuted_if="a correlation of .5 or less",
    threshold=0.5,
    control=False,
    statistic=score_and("spread"),
)
claim(
    key="score-is-entropy",
    sentence="The score follows the heads' entropy",
    published=_published_rho,
    exactness="D",
    operational="rank correlation over heads of the score with attention entropy",
    refuted_if="a correlation of .3 or less",
    threshold=0.3,
    control=False,
    statistic=score_and("entropy"),
)
claim(
    key="score-is-not-auc",
    sentence="A low score marks a head that points to key words",
    source=SLIDES,
    section="keywords",
    operational="rank correlation over heads of the score with the AUC",
    refuted_if="a correlation of .3 or less",
    threshold=0.3,
    below=True,
    control=False,
    statistic=score_and("max", -1),
)
claim(
    key="all-heads-best",
    sentence="All heads together beat the best one",
    source=SLIDES,
    section="keywords",
    operational="AUC of the regression of all heads minus that of the best head",
    refuted_if="no more than by .02",
    threshold=WORTH_A_SENTENCE,
    statistic=over(ALL_HEADS, BEST_HEAD),
)
claim(
    key="mix-as-good",
    sentence="A mix of shares does as well as a regression",
    operational="AUC of the softmax mix minus that of the regression",
    refuted_if="more than .02 below",
    threshold=-WORTH_A_SENTENCE,
    control=False,
    statistic=over(MIX, ALL_HEADS),
)
claim(
    key="heads-add",
    sentence="Heads know what the rules do not",
    operational="AUC of rules and heads together minus that of the rules",
    refuted_if="no more than by .01",
    threshold=0.01,
    statistic=over(BOTH, RULES_TOGETHER),
)
claim(
    key="half-can-go",
    sentence="Heads can be removed and nothing is lost",
    source=SLIDES,
    section="pruning",
    original=lambda: (
        f"{published_f1('F1 after fine-tuning BERT-base')}, pruned {published_f1('F1 after pruning heads')}"
    ),
    exactness="P",
    operational="AUC lost by the regression without half of the heads, ranked on other texts",
    refuted_if="more than .01 lost",
    threshold=-0.01,
    below=True,
    control=False,
    statistic=kept_without("worst first", 0.5),
)
claim(
    key="ranking-helps",
    sentence="Ranked on train, the order is better than chance on test",
    source=SLIDES,
    section="pruning",
    operational="AUC with half of the heads away, worst first, minus the mean of random orders",
    refuted_if="no more than by .02",
    threshold=WORTH_A_SENTENCE,
    statistic=ranking_saves(0.5),
)
claim(
    key="tuning-best",
    sentence="Fine-tuning beats a reading of the heads",
    source=SLIDES,
    section="fine-tuning",
    original=lambda: published_f1("F1 after fine-tuning BERT-base"),
    exactness="P",
    operational="F1 of the fine-tuned tagger minus that of the regression of all heads",
    refuted_if="no more than by .02",
    evidence="key tagging",
    threshold=WORTH_A_SENTENCE,
    control=False,
    statistic=f1_over("tuned", ALL_HEADS),
)
claim(
    key="pretraining-helps",
    sentence="What is tuned was learnt before",
    operational="AUC of the fine-tuned tagger minus that of the rules together",
    refuted_if="no more than by .02; or the random twin, tuned alike, does as well",
    evidence="key tagging",
    threshold=WORTH_A_SENTENCE,
    statistic=over("tuned", RULES_TOGETHER),
)


CLAIMS = tuple(claim)
