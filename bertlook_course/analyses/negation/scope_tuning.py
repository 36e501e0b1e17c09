"""Teaching a model negation scopes, and an unrelated task on the same sentences: the two between which Zhao and Bethard compare.

Without a control every change looks like negation learnt. The control task here keeps the sentences, the number of labels, about their
shares, the seeds and the steps, and changes only what the labels mean: each word type has one of two made-up labels.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from bertlook_teach.stats import exact_sign_flip

from ...corpora import NegationSentence, load_negation
from ...storage import Memory, cached
from ..finetuning import Tagger, fine_tune_tagger, word_type_labels
from .cues import CueScores

if TYPE_CHECKING:
    from bertlook_teach.model import Encoder

IN, OUT = "in", "out"

TASKS = ("negation", "control")

EPOCHS = 3

SEEDS = (0, 1, 2)


def scope_labels(sentences: Sequence[NegationSentence]) -> list[list[str]]:
    """ "in" for each word in the scope of a negation, "out" for all others, the cue among them.

    >>> scope_labels(load_negation("train")[:1])[0][:5]
    ['in', 'in', 'in', 'out', 'in']
    """
    inside = [{place for negation in s.negations for place in negation.scope} for s in sentences]
    return [[IN if i in places else OUT for i in range(len(s))] for s, places in zip(sentences, inside)]


def task_labels(task: str, sentences: Sequence[NegationSentence]) -> list[list[str]]:
    """The labels of "negation" or of "control": made-up ones, "in" for as large a share of word types as of words are in a scope.

    Raises
    ------
    ValueError
        If there is no such task, or no word is in a scope.
    """
    if task not in TASKS:
        raise ValueError(f"task must be one of {', '.join(TASKS)}; got {task!r}.")
    scopes = scope_labels(sentences)
    if task == "negation":
        return scopes
    flat = [label for labels in scopes for label in labels]
    share = flat.count(IN) / len(flat)
    if not 0 < share < 1:
        raise ValueError("the control copies the share of words in a scope, and here it is none or all.")
    return word_type_labels([s.words for s in sentences], share=share, names=(OUT, IN))


def tune(
    encoder: Encoder,
    task: str,
    *,
    sentences: Sequence[NegationSentence] | None = None,
    seed: int = 0,
    epochs: int = EPOCHS,
    **options,
) -> Tagger:
    """Teach a copy of the encoder one of the two tasks; by default on the half of the shipped sentences meant for choosing.

    ``options`` go to `bertlook_course.analyses.finetuning.fine_tune_tagger`.
    """
    sentences = load_negation("train") if sentences is None else list(sentences)
    labels = task_labels(task, sentences)
    words = [s.words for s in sentences]
    return fine_tune_tagger(
        encoder, words, labels, seed=seed, epochs=epochs, name=f"{task}, seed {seed}", **options
    )


_kept = Memory(24)


def tuned(encoder: Encoder, task: str, *, seed: int = 0, epochs: int = EPOCHS) -> Tagger:
    """`tune` on the shipped sentences in double precision, kept: the ledger and a lesson share what they tuned.

    Double precision so that the numbers of a lesson do not depend on how a processor rounds: thirty steps of training would make
    much of it.
    """
    settings = task, seed, epochs
    return _kept.once(
        (encoder.fingerprint, *settings),
        lambda: cached(
            "scope tagger",
            (encoder, *settings),
            lambda: tune(encoder, task, seed=seed, epochs=epochs, double=True),
            out=Tagger.weights,
            back=lambda weights: Tagger.from_weights(encoder, weights),
            ships=False,
            version=1,
        ),
    )


def part_of_speech_task(treebank, n: int) -> tuple[list[tuple[str, ...]], list[list[str]]]:
    """A control of another kind: words and parts of speech of the first ``n`` sentences of a treebank."""
    chosen = [sentence for sentence in treebank if len(sentence) > 1][:n]
    return [sentence.words for sentence in chosen], [list(sentence.upos) for sentence in chosen]


# --- how well the task itself is done ------------------------------------------------------------------------
class TagScore(NamedTuple):
    """F1 of the label "in", its 95 % bootstrap interval over sentences, the share of words that are right, and n."""

    f1: float
    low: float
    high: float
    accuracy: float
    n: int


def tag_score(answers: Sequence[Sequence[str]], labels: Sequence[Sequence[str]]) -> TagScore:
    """How well words are told to be "in"; every sentence is a unit."""
    from bertlook_teach.stats import ratio_interval

    counts = np.array(
        [
            [
                2 * sum(a == b == IN for a, b in zip(mine, gold)),
                sum(a == IN for a in mine) + sum(b == IN for b in gold),
            ]
            for mine, gold in zip(answers, labels, strict=True)
        ],
        dtype=float,
    )
    above, below = counts.sum(axis=0)
    right = [a == b for mine, gold in zip(answers, labels) for a, b in zip(mine, gold)]
    low, high = ratio_interval(counts) if below else (0.0, 0.0)
    return TagScore(float(above / below) if below else 0.0, low, high, float(np.mean(right)), len(labels))


# --- tuned against control -------------------------------------------------------------------------------
@dataclass(frozen=True)
class Contrast:
    """Mean F1 over heads of several tuned models, and of as many controls with the same seeds.

    Attributes
    ----------
    before : float
        The model that was tuned.
    negation, control : tuple of float
        One a seed.
    p : float
        Two-sided, by swapping negation and control within each seed in every possible way; never below ``least_p``.
    wilcoxon : tuple of float
        For each seed the p of Wilcoxon's signed-rank test over heads, as Zhao and Bethard report. Heads of one model are no
        independent cases, so these are too small; the seeds are what varies.
    """

    before: float
    negation: tuple[float, ...]
    control: tuple[float, ...]
    p: float
    wilcoxon: tuple[float, ...]

    @property
    def difference(self) -> float:
        return float(np.mean(self.negation) - np.mean(self.control))

    @property
    def least_p(self) -> float:
        """What the test over seeds could reach at best: with few seeds it cannot be small."""
        return 2 / 2 ** len(self.negation)

    def __repr__(self) -> str:
        return (
            f"Contrast(before {self.before:.3f}, negation {np.mean(self.negation):.3f}, control {np.mean(self.control):.3f}, "
            f"difference {self.difference:+.3f}, p = {self.p:.3f} over {len(self.negation)} seeds, at best {self.least_p:.3f})"
        )


def contrast(before: CueScores, negation: Sequence[CueScores], control: Sequence[CueScores]) -> Contrast:
    """Compare negation-tuned with control-tuned models, pair by pair.

    Raises
    ------
    ValueError
        If there are not as many of both, or none.
    """
    if len(negation) != len(control) or not negation:
        raise ValueError(
            f"as many controls as tuned models are needed, seed by seed; got {len(negation)} and {len(control)}."
        )
    means = [tuple(float(scores.f1.mean()) for scores in side) for side in (negation, control)]
    p = exact_sign_flip(np.subtract(*means))
    tests = tuple(_wilcoxon_p(one.f1, other.f1) for one, other in zip(negation, control))
    return Contrast(float(before.f1.mean()), *means, p, tests)


def _wilcoxon_p(one: np.ndarray, other: np.ndarray) -> float:
    from scipy.stats import wilcoxon

    difference = np.ravel(one) - np.ravel(other)
    return float(wilcoxon(difference).pvalue) if difference.any() else 1.0
