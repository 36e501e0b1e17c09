"""Do heads look from a negated word to the word that negates it? Zhao and Bethard's (2020) score, its baselines, its control.

Maps go to words (mean from, sum to), the word itself and [CLS] and [SEP] are taken out, and each word points at the word it looks
at most. Of a head, over a corpus: a *hit* is a word in the scope of a negation that points at its cue; **precision** is hits over all
words that point at the cue, **recall** hits over all words in a scope, and F1 their harmonic mean (0 where there is no hit).

A head may well point at the cue by habit: because it is near, because it is short and frequent. So the same judge scores rules that
have read nothing, and the head itself against every *other* word of the sentence as if that were the cue. One of these rules is a trap of
the score: where attention is uniform, a word of several pieces receives most.

References
----------
Zhao and Bethard (2020), How does BERT's attention change when you fine-tune? Known to us: abstract, released code and scores. Not
taken from there: a word of the cue itself is not a query of its negation (in *neither ... nor* the two could point at each other); marks are
words like any other; a word in two scopes counts in each.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from bertlook_teach.disk import Table
from bertlook_teach.model import encode_words, head_label, head_rows
from bertlook_teach.stats import draws, sample_interval

from ...corpora import CUE_WORDS, Negation, NegationSentence
from ...metrics import best_index

if TYPE_CHECKING:
    from bertlook_teach.model import Attention, Encoder

RESAMPLES = 1000

OFFSETS = tuple(o for o in range(-4, 5) if o)


# --- where a word points ---------------------------------------------------------------------------------
def head_choices(attention: Attention) -> np.ndarray:
    """The word that each word looks at most, by each head, itself and the special tokens left out.

    Parameters
    ----------
    attention : Attention
        Of a text given as words, or any text.

    Returns
    -------
    int array of shape (layer, head, word)
        Places count from 0 among the words. Of equal weights the first is taken, as ``argmax`` does.

    Raises
    ------
    ValueError
        If there are fewer than two words: a word alone has no other to look at.
    """
    words = attention.to_words()
    kept = np.flatnonzero(~np.asarray(words.special))
    if len(kept) < 2:
        raise ValueError(
            f"{attention.text!r} has {len(kept)} word: with itself and the special tokens left out it has nothing to look at."
        )
    weights = np.array(words.weights[..., kept[:, None], kept], dtype=float)
    own = np.arange(len(kept))
    weights[..., own, own] = -1
    return weights.argmax(axis=-1)


class Hits(NamedTuple):
    """Of one sentence: hits and words pointing at a cue, each of shape (...,), and the number of words in a scope."""

    hits: np.ndarray
    pointing: np.ndarray
    scope: float


def count_hits(choices: np.ndarray, negations: Iterable[Negation]) -> Hits:
    """Count for one sentence; ``choices`` has the word on its last axis."""
    choices = np.asarray(choices)
    n = choices.shape[-1]
    hits = np.zeros(choices.shape[:-1])
    pointing, scope = np.zeros_like(hits), 0
    for negation in negations:
        at_cue = np.isin(choices, negation.cue)
        inside, query = np.zeros(n, dtype=bool), np.ones(n, dtype=bool)
        inside[list(negation.scope)] = True
        query[list(negation.cue)] = False
        hits += (at_cue & inside).sum(axis=-1)
        pointing += (at_cue & query).sum(axis=-1)
        scope += len(negation.scope)
    return Hits(hits, pointing, scope)


# --- scores of a corpus ----------------------------------------------------------------------------------
@dataclass(frozen=True, eq=False)
class CueScores(Table):
    """Counts of each sentence, and what follows from their sums.

    Attributes
    ----------
    hits, pointing : float arrays of shape (sentence, layer, head); (sentence,) for a rule
        Words of a scope that point at its cue; all words that do. Expected numbers for a rule that draws lots.
    scope : float array of shape (sentence,), or as ``hits``
        Words in a scope.
    n_negations : int
    name : str
        Of the model or the rule.
    """

    hits: np.ndarray
    pointing: np.ndarray
    scope: np.ndarray
    n_negations: int
    name: str = ""

    @property
    def n(self) -> int:
        """Sentences with a negation."""
        return len(self.hits)

    @property
    def precision(self) -> np.ndarray:
        return _ratio(self.hits.sum(axis=0), self.pointing.sum(axis=0))

    @property
    def recall(self) -> np.ndarray:
        return _ratio(self.hits.sum(axis=0), self._scope.sum(axis=0))

    @property
    def f1(self) -> np.ndarray:
        """Shape (layer, head), or a single number for a rule."""
        return f1_of(self.hits.sum(axis=0), self.pointing.sum(axis=0), self._scope.sum(axis=0))

    @property
    def _scope(self) -> np.ndarray:
        scope = np.asarray(self.scope, dtype=float)
        return scope if scope.ndim == self.hits.ndim else scope[(...,) + (None,) * (self.hits.ndim - 1)]

    def resampled_f1(self, seed: int = 0) -> np.ndarray:
        """F1 on resamples of the sentences, shape (resample, layer, head); the same sentences for every model and rule."""
        if self.n < 2:
            raise ValueError(f"an interval over sentences needs at least two with a negation; got {self.n}.")
        weights = draws(self.n, scheme="multinomial", replicates=RESAMPLES, seed=seed)
        sums = (np.tensordot(weights, part, 1) for part in (self.hits, self.pointing, self._scope))
        return f1_of(*sums)

    def interval(self, *where: int) -> tuple[float, float, float]:
        """F1 of a head (layer, head), of a rule (no argument), with its 95 % bootstrap interval over sentences."""
        drawn = self.resampled_f1()[(slice(None), *where)]
        return float(self.f1[where]), *sample_interval(drawn, self.f1[where], self.n, within=(0, 1))

    def mean_interval(self) -> tuple[float, float, float]:
        """Mean F1 over all heads with its 95 % bootstrap interval over sentences."""
        drawn = self.resampled_f1()
        mean = float(self.f1.mean())
        return mean, *sample_interval(drawn.reshape(len(drawn), -1).mean(axis=1), mean, self.n, within=(0, 1))

    def rows(self) -> list[dict]:
        """One dict a head, or the one of a rule: F1, precision, recall and the number of sentences."""
        columns = {"f1": self.f1, "precision": self.precision, "recall": self.recall}
        if np.ndim(self.f1):
            return head_rows(columns, n=self.n)
        return [{"rule": self.name} | {name: float(value) for name, value in columns.items()} | {"n": self.n}]

    def __repr__(self) -> str:
        f1 = self.f1
        best = f", best {f1.max():.3f}" if np.ndim(f1) else ""
        return f"CueScores({self.name!r}, {self.n} sentences, {self.n_negations} negations: F1 {np.mean(f1):.3f}{best})"


def f1_of(hits, pointing, scope) -> np.ndarray:
    """Harmonic mean of precision and recall, 2 hits / (pointing + scope); 0 where there is neither."""
    return _ratio(2 * np.asarray(hits, dtype=float), np.asarray(pointing) + np.asarray(scope))


def _ratio(above, below) -> np.ndarray:
    above, below = np.broadcast_arrays(np.asarray(above, dtype=float), np.asarray(below, dtype=float))
    return np.divide(above, below, out=np.zeros_like(above), where=below > 0)


def negated(sentences: Iterable[NegationSentence]) -> list[NegationSentence]:
    """The sentences with at least one word in a scope.

    Raises
    ------
    ValueError
        If there is none: then nothing can be looked for.
    """
    sentences = list(sentences)
    for one in sentences:
        if not isinstance(one, NegationSentence):
            raise TypeError(
                "sentences with their negations marked are needed: read_negation(path), or NegationSentence(id, words, negations); "
                f"got {type(one).__name__}: {one!r:.60}."
            )
    kept = [s for s in sentences if any(negation.scope for negation in s.negations)]
    if not kept:
        raise ValueError(
            f"none of {len(sentences)} sentences has a negation with a scope; a score of heads needs some."
        )
    return kept


def score_heads(encoder: Encoder, sentences: Iterable[NegationSentence]) -> CueScores:
    """Zhao and Bethard's score of every head of a model.

    Parameters
    ----------
    encoder : Encoder
    sentences : iterable of NegationSentence
        Sentences without a negation do not count.

    Raises
    ------
    ValueError
        If no sentence has a negation, one has a single word, or one is too long.
    """
    sentences = negated(sentences)
    counts = [count_hits(c, s.negations) for c, s in zip(_all_choices(encoder, sentences), sentences)]
    return _scores(counts, sentences, encoder.name)


def random_cue(encoder: Encoder, sentences: Iterable[NegationSentence]) -> CueScores:
    """The same heads, and in each sentence another word in the place of the cue: the mean over all words that are not a cue.

    What is left is a head's habit of agreeing on *some* word. Counts are expected numbers, not a draw.
    """
    sentences = negated(sentences)
    counts = [random_cue_hits(c, s.negations) for c, s in zip(_all_choices(encoder, sentences), sentences)]
    return _scores(counts, sentences, f"{encoder.name}, another word as the cue")


def random_cue_hits(choices: np.ndarray, negations: Iterable[Negation]) -> Hits:
    """Expected counts of one sentence with a random other word as the cue; of shape (...,), the scope too."""
    choices = np.asarray(choices)
    n = choices.shape[-1]
    totals = [np.zeros(choices.shape[:-1]) for _ in range(2)]
    scope = 0.0
    for negation in negations:
        others = [word for word in range(n) if word not in negation.cue]
        if not others:
            continue
        drawn = [
            count_hits(choices, [Negation((word,), tuple(w for w in negation.scope if w != word))])
            for word in others
        ]
        for total, part in zip(totals, zip(*((one.hits, one.pointing) for one in drawn))):
            total += np.mean(part, axis=0)
        scope += float(np.mean([one.scope for one in drawn]))
    return Hits(*totals, scope)


def _all_choices(encoder: Encoder, sentences: Sequence[NegationSentence]):
    from bertlook_teach.model import iter_attention

    for attention in iter_attention(encoder, [list(s.words) for s in sentences], batch_size=16):
        yield head_choices(attention)


def _scores(counts: Sequence[Hits], sentences: Sequence[NegationSentence], name: str) -> CueScores:
    n_negations = sum(len(s.negations) for s in sentences)
    return CueScores(
        np.stack([np.asarray(c.hits, dtype=float) for c in counts]),
        np.stack([np.asarray(c.pointing, dtype=float) for c in counts]),
        np.array([c.scope for c in counts], dtype=float),
        n_negations,
        name,
    )


# --- rules that have read nothing ------------------------------------------------------------------------
Rule = Callable[[NegationSentence], np.ndarray]


def score_rule(rule: Rule, sentences: Iterable[NegationSentence]) -> CueScores:
    """A rule before the same judge: a function that gives, for each word of a sentence, the word it points at (-1: none)."""
    sentences = negated(sentences)
    counts = [count_hits(rule(s), s.negations) for s in sentences]
    return _scores(counts, sentences, getattr(rule, "__name__", "rule"))


def offset_rule(offset: int) -> Rule:
    """Every word points at the word ``offset`` places on: -1 the one before it.

    >>> offset_rule(-1)(NegationSentence("1", ("I", "do", "not"), ()))
    array([-1,  0,  1])
    """

    def rule(sentence: NegationSentence) -> np.ndarray:
        places = np.arange(len(sentence)) + offset
        return np.where((places >= 0) & (places < len(sentence)), places, -1)

    return rule


def listed_cue(sentence: NegationSentence) -> np.ndarray:
    """Every word points at the nearest other word of a list of cues (``CUE_WORDS``), of equals the one before it; else at nothing.

    No head can be expected to beat this: it is told what a cue is. It says how much the score asks for beyond finding the word.

    >>> listed_cue(NegationSentence("1", ("I", "do", "not", "know"), ()))
    array([ 2,  2, -1,  2])
    """
    cues = np.array([i for i, word in enumerate(sentence.words) if word.lower() in CUE_WORDS], dtype=int)
    chosen = np.full(len(sentence), -1)
    for word in range(len(sentence)):
        others = cues[cues != word]
        if len(others):
            chosen[word] = others[np.abs(others - word).argmin()]
    return chosen


def most_pieces(encoder: Encoder) -> Rule:
    """Every word points at the other word that the tokenizer cuts into the most pieces, of equals the first.

    That is where the arg-max of *uniform* attention falls: what a split word receives is added up over its pieces. A model that has
    learnt nothing is near it, so it belongs beside every score of this kind.
    """

    def rule(sentence: NegationSentence) -> np.ndarray:
        pieces = encode_words(encoder, sentence.words, verbose=False)
        ids = [word for word in pieces.word_ids() if word is not None]
        counts = np.tile(np.bincount(ids, minlength=len(sentence)), (len(sentence), 1))
        np.fill_diagonal(counts, -1)
        return counts.argmax(axis=1)

    return rule


def random_word(sentences: Iterable[NegationSentence]) -> CueScores:
    """Every word points at another word of its sentence, drawn at random: expected numbers."""
    sentences = negated(sentences)
    counts = []
    for sentence in sentences:
        n = len(sentence)
        if n < 2:
            raise ValueError(f"sentence {sentence.id!r} has one word: it has nothing to point at.")
        hits = sum(len(x.scope) * len(x.cue) for x in sentence.negations) / (n - 1)
        pointing = sum((n - len(x.cue)) * len(x.cue) for x in sentence.negations) / (n - 1)
        counts.append(Hits(np.array(hits), np.array(pointing), sum(len(x.scope) for x in sentence.negations)))
    return _scores(counts, sentences, "a random word")


# --- chosen on one half, reported on the other -------------------------------------------------------------
class BestCueHead(NamedTuple):
    """The head with the highest F1 where heads are chosen, and what it reaches elsewhere."""

    layer: int
    head: int
    chosen_on: float
    f1: float
    low: float
    high: float
    precision: float
    recall: float
    n: int

    @property
    def label(self) -> str:
        return head_label(self.layer, self.head)


def best_head(choose: CueScores, report: CueScores) -> BestCueHead:
    """The best head of one half of the data, scored on the other; of equals the first."""
    layer, head = best_index(choose.f1)
    f1, low, high = report.interval(layer, head)
    precision, recall = (float(part[layer, head]) for part in (report.precision, report.recall))
    return BestCueHead(
        layer=layer,
        head=head,
        chosen_on=float(choose.f1[layer, head]),
        f1=f1,
        low=low,
        high=high,
        precision=precision,
        recall=recall,
        n=report.n,
    )
