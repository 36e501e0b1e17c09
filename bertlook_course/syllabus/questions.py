"""For each lesson what a worksheet and an examination ask: a misconception to judge, a true sentence beside it, a calculation.

The answers of the calculations are computed here, so that no number can be wrong by a slip of the pen; a test computes them a second
time with the package's own measures.
"""

from __future__ import annotations

from dataclasses import dataclass
from math import comb, exp, log, sqrt

from .lessons import LESSONS


@dataclass(frozen=True)
class Questions:
    """What is asked about one lesson.

    Attributes
    ----------
    false : str
        Key of the misconception that stands on the worksheet.
    criticise : str
        Key of another, for the examination.
    true : str
        A true sentence that sounds as bold.
    because : str
        Why it is true.
    calculate : str
        A question with numbers made up for it.
    answer : str
        Worked.
    """

    false: str
    criticise: str
    true: str
    because: str
    calculate: str
    answer: str


def _softmax(scores) -> list[float]:
    powers = [exp(score) for score in scores]
    return [power / sum(powers) for power in powers]


def _shares(values) -> str:
    return ", ".join(f"{value:.3f}" for value in values)


def _kappa(agreed: float, by_chance: float) -> float:
    return (agreed - by_chance) / (1 - by_chance)


def _two_sided(fewer: int, n: int) -> float:
    """The exact sign test's p, as McNemar's for pairs that differ."""
    return 2 * sum(comb(n, k) for k in range(fewer + 1)) / 2**n


_MIDDLE = ((1 + 0.5) / 2, (0 + 0.5) / 2)  # of the rows (1, 0) and (.5, .5)

_DIVERGENCE = 0.5 * log(1 / _MIDDLE[0]) + 0.5 * sum(0.5 * log(0.5 / share) for share in _MIDDLE)

_BY_NORM = 0.8 * 0.2 / (0.8 * 0.2 + 10 * 0.02 * 1.5)

_ASKED = (
    Questions(
        "columns-sum-to-one",
        "large-weight-large-contribution",
        "A token can receive more than one unit of attention.",
        "Only rows sum to 1. A column may sum to anything from 0 to the number of tokens.",
        "A head of 16 dimensions gives a row the scores 8, 0 and 0 before the division. Give the weights with and without the division "
        "by √16. Which row is more extreme?",
        f"With it the scores are 2, 0, 0: {_shares(_softmax((8 / sqrt(16), 0, 0)))}. Without it: {_shares(_softmax((8, 0, 0)))}. The second: "
        "the order stays, the ratios grow.",
    ),
    Questions(
        "popular-is-same-word",
        "a-neuron-is-a-thing",
        "A head's excess over a null model can be negative.",
        "Such a head avoids the pattern: it gives it less than one that does not care who looks.",
        "A head gives .30 of its attention to the same word elsewhere in the text. Under a null model in which who looks makes no difference it "
        "would give .22. What is the excess, and what is missing before it is a finding?",
        f"The excess is {0.30 - 0.22:.2f}. Missing are an interval over other texts, the choice of the head on texts that do not report, and "
        "the same number of a random twin.",
    ),
    Questions(
        "entropy-needs-no-length",
        "ten-per-cent-is-much",
        "In texts of different length, entropies must be divided by ln n before they are compared.",
        "An even row has ln n nats, so the same habit has more nats in a longer text.",
        "In a text of 50 tokens a head's rows have 2.0 nats on average, in one of 25 tokens 1.9. In which text does it look more broadly? Five of "
        "the 50 tokens are full stops and commas: what share would an even head give them?",
        f"Of what is possible {2.0 / log(50):.2f} in the first and {1.9 / log(25):.2f} in the second: in the second, though it has fewer nats. An even "
        f"head gives them {5 / 50:.2f}.",
    ),
    Questions(
        "sep-weight-is-importance",
        "two-methods-two-proofs",
        "A small gradient and a short vector can be one and the same observation.",
        "The gradient of a weight is an inner product with that vector, so a short vector limits it.",
        "A row gives [SEP] .80, and ten other tokens .02 each. The vector f(x) of [SEP] has length 0.2, those of the others 1.5. What is [SEP]'s share "
        "of the weights, and of the weighted norms?",
        f".80 of the weights. Weighted norms: .80 · 0.2 = .16 beside 10 · .02 · 1.5 = .30, a share of {_BY_NORM:.2f}. Looking is not taking.",
    ),
    Questions(
        "accuracy-is-agreement",
        "heterogeneous-is-useful",
        "Two people can agree on nearly all maps, and kappa can be near 0.",
        "If nearly all maps are of one class, they agree as often by chance.",
        "Two people sort 100 maps. Each calls 90 heterogeneous and 10 vertical; they agree on 84. What is kappa?",
        f"By chance they agree on .9 · .9 + .1 · .1 = .82. Kappa is (.84 - .82) / (1 - .82) = {_kappa(0.84, 0.82):.2f}: hardly any agreement beyond chance.",
    ),
    Questions(
        "high-score-knows-grammar",
        "best-of-many-is-a-discovery",
        "A head can name the governor and give it hardly any of its attention.",
        "The arg max is taken among the words; the rest may lie on [SEP].",
        "A relation has 200 cases. A head is right in 130, the rule “always the next word” in 118, both in 110. What is the gain, which cases decide, and "
        "what is the exact two-sided p?",
        f"The gain is {(130 - 118) / 2:.0f} points. The cases in which they differ: 20 for the head, 8 for the rule. As often as 8 or fewer of 28 under a fair coin, "
        f"doubled: p = {_two_sided(8, 28):.3f}. If the head is the best of many, it must be chosen on other sentences.",
    ),
    Questions(
        "head-5-4-beats-the-rules",
        "half-right-is-half-knowledge",
        "A rule can be right in half of the sentences of minimal pairs, and in none of the pairs.",
        "A rule of place gives both members of a pair the same answer, and only one is right.",
        "In 30 minimal pairs a head is right in 36 of the 60 sentences. How many pairs can be right in both members, at least and at most?",
        "At most 18, if all its right answers come in pairs. At least 6: with 30 right answers no pair need be whole, and each further one makes a pair whole.",
    ),
    Questions(
        "pairs-are-parsing",
        "a-probe-reads-what-is-there",
        "A probe can score well on labels that mean nothing.",
        "With room enough it learns them by heart, word form by word form.",
        "Probe A finds 62 % of the governors, and 45 % in a made-up grammar. Probe B finds 55 % and 20 %. Which tells more about the model?",
        f"Selectivity: A {62 - 45} points, B {55 - 20}. B: more of what A finds is what A itself learnt. Beside both belongs what distances alone give.",
    ),
    Questions(
        "a-map-shows-distances",
        "the-divergence-is-a-distance",
        "A map of heads may be mirrored and says the same.",
        "Only the distances mean something, and these only as far as the stress allows.",
        "Two heads give one token the rows (1, 0) and (.5, .5). What is their Jensen-Shannon divergence, in nats? What is the largest possible?",
        f"The middle is (.75, .25): ½ · ln(1 / .75) + ½ · (.5 · ln(.5 / .75) + .5 · ln(.5 / .25)) = {_DIVERGENCE:.3f}. The largest is ln 2 = {log(2):.3f}.",
    ),
    Questions(
        "probe-l-reads-layer-l",
        "base-and-large-share-numbers",
        "A network that learnt nothing can have an expected layer, too.",
        "The formula gives a number for any curve that ends above its start.",
        "The probes P(0) to P(3) have F1 60, 70, 74 and 75. What is the expected layer? And for 60.0, 61.0, 60.0 and 60.5, what would you say?",
        f"(1 · 10 + 2 · 4 + 3 · 1) / 15 = {(10 + 8 + 3) / 15:.2f}. The second gains half a point in all: the quotient ({(1 * 1 - 2 * 1 + 3 * 0.5) / 0.5:.1f}) says nothing; say that "
        "no depth can be named.",
    ),
    Questions(
        "removing-helped-so-the-head-hurts",
        "effects-of-heads-add-up",
        "Two heads may each go without loss, and not both.",
        "They may stand in for each other; effects of single removals do not add up.",
        "None of 144 heads matters. Each is tested at 5 %. How many false findings do you expect, how often at least one (tests independent), and what is "
        "Bonferroni's line?",
        f"{144 * 0.05:.1f}; in {1 - 0.95**144:.2%} of such studies; .05 / 144 = {0.05 / 144:.5f}.".replace(
            "%", " %"
        ),
    ),
    Questions(
        "lowest-entropy-finds-keywords",
        "longer-lists-look-better",
        "A head can have the lowest entropy of scores and find no key word.",
        "Scores that hardly differ between words have a low value of that measure, whatever the text is about.",
        "Ten words are ranked by a head; the two key words come first and sixth. What is the AUC? Which number must stand beside it?",
        f"Of 2 · 8 pairs the first wins 8, the other 4: {12 / 16:.2f}. Beside it: the AUC of an untrained model, which need not be .5, and of a rule such as word length.",
    ),
    Questions(
        "every-special-token-is-a-no-op",
        "the-is-always-next-to-its-noun",
        "A claim can fail on the specimen and hold for BERT-base.",
        "“Does not hold” is said of one model and these texts.",
        "Eleven claims are tested. The three smallest p are .004, .03 and .04, the others 1. Which survive Holm's correction? With 400 random draws, what is the "
        "smallest p that can come out after it?",
        f".004 · 11 = {0.004 * 11:.3f}, .03 · 10 = {0.03 * 10:.2f}, .04 · 9 = {0.04 * 9:.2f}: the first alone. The smallest: 11 / 401 = {11 / 401:.3f}.",
    ),
    Questions(
        "cosine-near-one-is-unchanged",
        "negation-is-the-letters-no",
        "Two maps that have nothing to do with each other can have a high cosine.",
        "Weights are never negative, so all maps lie in one corner of the space.",
        "Maps change by .10, .12 and .08 (three seeds) when a model learns a task, and by .09, .11 and .07 when it learns random labels. How much of the change is "
        "the task's? What more do you need?",
        f"On average {(0.10 + 0.12 + 0.08) / 3:.2f} beside {(0.09 + 0.11 + 0.07) / 3:.2f}: .01 of .10. Any training changes maps. Between seeds the numbers differ by .04, so more "
        "seeds are needed before .01 is called the task's.",
    ),
)

QUESTIONS = {lesson.number: asked for lesson, asked in zip(LESSONS, _ASKED)}
