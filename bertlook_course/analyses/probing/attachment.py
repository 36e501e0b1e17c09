"""How many governors a probe finds, with intervals; the controls it is held against, and how its score grows with the sentences."""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace

import numpy as np

from bertlook_teach.stats import ratio_interval

from .probe_inputs import ProbeSentence, by_document


@dataclass(frozen=True)
class AttachmentScore:
    """Unlabelled attachment score: the share of words whose governor was found, with its 95 % interval and n."""

    uas: float
    low: float
    high: float
    n_words: int
    n_sentences: int

    def __repr__(self) -> str:
        return f"UAS {self.uas:.3f} [{self.low:.3f}, {self.high:.3f}], {self.n_words} words of {self.n_sentences} sentences"


# --- the attention-only probe --------------------------------------------------------------------------
@dataclass(frozen=True)
class AttachmentLead:
    """UAS of one probe minus that of another on the same words, with its paired 95 % interval and n."""

    difference: float
    low: float
    high: float
    n_words: int
    n_sentences: int

    def __repr__(self) -> str:
        return f"UAS {self.difference:+.3f} [{self.low:+.3f}, {self.high:+.3f}], {self.n_words} words of {self.n_sentences} sentences"


def _right_words(predicts: Sequence[Callable], sentences, punctuation: bool = False) -> np.ndarray:
    """Of each sentence the words whose governor is found, the mean over the predictors, and the words: shape (sentence, 2)."""
    counts = np.zeros((len(sentences), 2))
    for count, sentence in zip(counts, sentences):
        counted = np.ones(len(sentence), bool) if punctuation else sentence.counted
        right = [(np.asarray(predict(sentence)) == sentence.governors)[counted].sum() for predict in predicts]
        count[:] = np.mean(right), counted.sum()
    return counts


# --- controls and the judge ----------------------------------------------------------------------------
def right_branching(sentence) -> np.ndarray:
    """The next word as governor of each word, and ROOT for the last: the baseline of Table 3."""
    return np.arange(1, len(sentence) + 1)


def control_task(sentences: Iterable[ProbeSentence], *, seed: int = 0) -> list[ProbeSentence]:
    """The same sentences with a made-up grammar: each word form has, always, one of three governors drawn at random.

    Itself, the first word or the last. A probe that does well here learns word lists, not syntax; its UAS on the treebank minus
    that on this task is its selectivity (Hewitt and Liang 2019).
    """

    def drawn(word: str, n: int, place: int) -> int:
        digest = hashlib.sha256(f"{seed} {word.lower()}".encode()).digest()
        return (place, 0, n - 1)[digest[0] % 3]

    return [
        replace(s, governors=np.array([drawn(word, len(s), i) for i, word in enumerate(s.words)]))
        for s in sentences
    ]


def evaluate(
    predict: Callable | Sequence[Callable],
    sentences: Sequence[ProbeSentence],
    *,
    punctuation: bool = False,
    seed: int = 0,
) -> AttachmentScore:
    """UAS of a probe or a baseline, with a 95 % bootstrap interval over documents (see `ProbeSentence`).

    Parameters
    ----------
    predict : function(ProbeSentence) -> int array of shape (dependent,), or a sequence of them
        ``probe.predict``, or :func:`right_branching`. Of several, the same probe fitted with several seeds, the mean is scored.
    sentences : sequence of ProbeSentence
        None of which the probe was fitted on.
    punctuation : bool
        Count punctuation too. The published UAS leaves it out.
    """
    counts = _right_words(_several(predict), sentences, punctuation)
    right, total = _checked_total(counts)
    ends = ratio_interval(by_document(counts, sentences), seed=seed)
    return AttachmentScore(float(right / total), *ends, int(total), len(counts))


def evaluate_lead(
    predict: Callable | Sequence[Callable],
    other: Callable | Sequence[Callable],
    sentences: Sequence[ProbeSentence],
    *,
    seed: int = 0,
) -> AttachmentLead:
    """UAS of one probe minus that of another, punctuation left out; the interval draws the same documents for both.

    Parameters
    ----------
    predict, other : as in `evaluate`
    sentences : sequence of ProbeSentence
    """
    counts = _right_words(_several(predict), sentences)
    counts[:, 0] -= _right_words(_several(other), sentences)[:, 0]
    ahead, total = _checked_total(counts)
    ends = ratio_interval(by_document(counts, sentences), seed=seed, within=(-1, 1))
    return AttachmentLead(float(ahead / total), *ends, int(total), len(counts))


def _several(predict: Callable | Sequence[Callable]) -> Sequence[Callable]:
    return [predict] if callable(predict) else list(predict)


def _checked_total(counts: np.ndarray) -> np.ndarray:
    if len(counts) < 2 or not counts[:, 1].sum():
        raise ValueError(f"a score with an interval needs two sentences with words; got {len(counts)}.")
    return counts.sum(axis=0)


def learning_curve(
    fit: Callable,
    train: Sequence[ProbeSentence],
    test: Sequence[ProbeSentence],
    sizes: Sequence[int],
    *,
    seed: int = 0,
) -> dict[int, AttachmentScore]:
    """UAS after fitting on so many sentences, each time on the same sentences to score.

    Parameters
    ----------
    fit : function(list of ProbeSentence) -> probe with ``predict``
        For example `fit_attention_probe`.
    train, test : sequence of ProbeSentence
    sizes : sequence of int
        Numbers of sentences; a smaller set is part of a larger one, in an order drawn with ``seed``.

    Returns
    -------
    dict of int -> AttachmentScore
        The interval is that of the sentences to score; how the choice of training sentences matters is not in it.

    Raises
    ------
    ValueError
        If a size is below 1 or above the number of sentences there are.
    """
    wrong = [size for size in sizes if not 1 <= size <= len(train)]
    if wrong or not len(sizes):
        raise ValueError(
            f"a learning curve needs sizes from 1 to the {len(train)} sentences to fit on; got {list(sizes)}."
        )
    order = np.random.default_rng(seed).permutation(len(train))
    shuffled = [train[i] for i in order]
    return {int(size): evaluate(fit(shuffled[:size]).predict, test) for size in sizes}
