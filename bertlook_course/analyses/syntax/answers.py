"""Every head's answer for every word of a treebank."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable
from dataclasses import dataclass, replace

import numpy as np

from bertlook_teach.model import check_reading

from ...corpora import TreebankSentence, to_stanford
from .predictors import predicted_governors

SCHEMES = ("ud", "stanford")

_NOWHERE, _ROOT = np.iinfo(np.int16).min, np.iinfo(np.int16).min + 1  # answers that are not distances


def in_scheme(
    sentences: Iterable[TreebankSentence], scheme: str = "ud", *, subtypes: str = "merge"
) -> list[TreebankSentence]:
    """The same sentences with the arcs and relation names of a scheme.

    Parameters
    ----------
    sentences : iterable of TreebankSentence
        In Universal Dependencies, as `read_conllu` gives them.
    scheme : {"ud", "stanford"}
        ``"stanford"``: Stanford basic dependencies as in Clark et al. (2019); see `bertlook_course.corpora.stanford`.
    subtypes : {"merge", "keep"}
        UD only: whether ``nmod:poss`` is scored as ``nmod`` or by itself.
    """
    if scheme not in SCHEMES:
        raise ValueError(f"scheme must be one of {', '.join(SCHEMES)}; got {scheme!r}.")
    if subtypes not in ("merge", "keep"):
        raise ValueError(f"subtypes must be 'merge' or 'keep'; got {subtypes!r}.")
    if scheme == "stanford":
        return [to_stanford(sentence) for sentence in sentences]
    if subtypes == "keep":
        return list(sentences)
    return [replace(s, relations=tuple(r.partition(":")[0] for r in s.relations)) for s in sentences]


# --- answers -------------------------------------------------------------------------------------------
@dataclass(frozen=True, eq=False)
class Answers:
    """What every head answers for every word of a treebank; the maps themselves are not kept.

    Attributes
    ----------
    distances : int16 ndarray of shape (word, direction, layer, head)
        Predicted governor minus the word's own position. The words of all sentences, one after the other.
    sentences : list of TreebankSentence
        Those that were read, in their order.
    skipped : Counter of reason -> number of sentences
    removed : float ndarray of shape (layer, head)
        Share of a word's attention that goes to special tokens and to the word itself, which no answer uses.
    about : dict
        Model, fingerprint, query rule.
    """

    distances: np.ndarray
    sentences: list[TreebankSentence]
    skipped: Counter
    removed: np.ndarray
    about: dict

    def of(self, number: int) -> np.ndarray:
        """Predicted governors in sentence ``number``, shape (direction, layer, head, word)."""
        start = sum(len(s) for s in self.sentences[:number])
        n = len(self.sentences[number])
        distances = np.moveaxis(self.distances[start : start + n], 0, -1)
        return np.where(distances == _NOWHERE, -2, distances + np.arange(n))

    def first(self, n: int) -> Answers:
        """The answers to the first ``n`` sentences alone; what was removed and skipped stays that of all."""
        sentences = self.sentences[:n]
        return replace(self, distances=self.distances[: sum(map(len, sentences))], sentences=sentences)

    def __repr__(self) -> str:
        left_out = f", {self.skipped.total()} left out" if self.skipped else ""
        return f"Answers({self.about.get('model', '?')}: {len(self.sentences)} sentences, {len(self.distances)} words{left_out})"


def collect_answers(
    encoder,
    sentences: Iterable[TreebankSentence],
    *,
    query: str = "mean",
    batch_size: int = 32,
    progress: Callable[[Iterable], Iterable] | None = None,
) -> Answers:
    """Run the encoder once over each sentence and keep what every head answers.

    Sentences the model cannot read whole are left out and counted by reason: too long, or with a word of which the
    tokenizer leaves nothing.

    Parameters
    ----------
    encoder : Encoder
    sentences : iterable of TreebankSentence
    query : {"mean", "first", "max"}
        How the rows of a word's pieces become one row. ``"mean"`` is the paper's rule, ``"first"`` what its released
        code does by default.
    progress : function
        Wrapped round the stream of sentences, for example ``tqdm``.

    Raises
    ------
    ValueError
        If no sentence is left.
    """
    from bertlook_teach.model import iter_attention

    usable, skipped = [], Counter()
    for sentence in sentences:
        length, problem = check_reading(encoder, sentence.words)
        if problem:
            skipped[problem] += 1
        else:
            usable.append((length, sentence))
    if not usable:
        reasons = ", ".join(f"{n} {why}" for why, n in skipped.items()) or "there was none"
        raise ValueError(f"no sentence of the treebank can be read by {encoder.name}: {reasons}.")
    order = sorted(range(len(usable)), key=lambda i: usable[i][0])  # equal lengths together: little padding
    stream = iter_attention(encoder, (list(usable[i][1].words) for i in order), batch_size=batch_size)
    distances: list[np.ndarray | None] = [None] * len(usable)
    removed, words = np.zeros((encoder.n_layers, encoder.n_heads)), 0
    for i, attention in zip(order, stream if progress is None else progress(stream)):
        attention = attention.to_words(query)
        n = len(usable[i][1])
        governors = predicted_governors(attention)
        distance = np.where(governors < 0, _NOWHERE, governors - np.arange(n, dtype=np.int16))
        distances[i] = np.moveaxis(distance, -1, 0).astype(np.int16)
        removed += _removed(attention)
        words += n
    return Answers(
        np.concatenate(distances),
        [sentence for _, sentence in usable],
        skipped,
        removed / words,
        {
            "model": encoder.name,
            "fingerprint": encoder.fingerprint,
            "n_layers": encoder.n_layers,
            "n_heads": encoder.n_heads,
            "query": query,
        },
    )


def _removed(attention) -> np.ndarray:
    """Per head, summed over words: attention to special tokens and to the word itself."""
    special = np.asarray(attention.special)
    rows = attention.weights[..., ~special, :]
    to_itself = attention.weights[..., np.flatnonzero(~special), np.flatnonzero(~special)]
    return (rows[..., special].sum(-1) + to_itself).sum(-1).astype(float)
