"""Lesson 12: putting heads to work. The keyword weighting of Stefanik's lecture slides, reconstructed."""

from __future__ import annotations

from ...analyses.keywords import (
    ALL_HEADS,
    BEST_HEAD,
    BOTH,
    MIX,
    RULES_TOGETHER,
)
from ...published import read_published
from ..claim import Claims, Values
from ..collectors.lesson12 import SHARES, key_scores, key_tagging, measured, tuned  # noqa: F401 - decks ask their lesson
from .statistics import rank_agreement

SLIDES, COURSE = "Stefanik, lecture slides", "This course"

WORTH_A_SENTENCE = 0.02  # AUC

TABLE = "stefanik_keyword_weighting"


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
