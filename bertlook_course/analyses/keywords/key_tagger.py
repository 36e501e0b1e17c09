"""Fine-tuning an encoder to tag key words: what all its weights can learn, where a mix of heads only reads what is there."""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from .models import best_cutoff, f1_parts
from .rules import texts_of
from .scores import KeywordData

if TYPE_CHECKING:
    from bertlook_teach.model import Encoder

    from ..finetuning import Tagger

EPOCHS = 3  # with 85 short texts the loss on others rises after that

BATCH_SIZE = 8

LABELS = ("key", "other")


@dataclass(frozen=True, eq=False)
class KeyTagger:
    """A `bertlook_course.analyses.finetuning.Tagger` with the labels "key" and "other", and where it draws the line.

    Attributes
    ----------
    tagger : Tagger
    cutoff : float
        Log-odds above which a word is called key: those with the best F1 on the texts it was taught on.
    """

    tagger: Tagger
    cutoff: float

    @property
    def encoder(self) -> Encoder:
        return self.tagger.encoder

    def log_odds(self, data: KeywordData, heads: Sequence = ()) -> np.ndarray:
        """Log-odds of being key of each word of the texts, shape (word,).

        Parameters
        ----------
        data : KeywordData
        heads
            Heads of the tuned encoder that are off, as for `bertlook_course.analyses.ablation.ablated`; all of them may be.
        """
        return _log_odds(self.tagger, data, heads)

    def f1_without(self, data: KeywordData) -> Callable[[Sequence], np.ndarray]:
        """F1 on these texts with heads off, as `bertlook_course.analyses.ablation.removal_curve` takes it: heads -> (text, 2)."""
        return lambda heads: f1_parts(self.log_odds(data, heads) > self.cutoff, data)

    def __repr__(self) -> str:
        return f"KeyTagger({self.encoder.name!r}, {self.tagger.about.get('n_documents', '?')} texts)"


def fine_tune_key_tagger(
    encoder: Encoder, data: KeywordData, *, epochs: int = EPOCHS, batch_size: int = BATCH_SIZE, **options
) -> KeyTagger:
    """Teach a copy of an encoder which words are key, all its weights; the encoder given stays as it is.

    Parameters
    ----------
    encoder : Encoder
    data : KeywordData
        The texts to learn from.
    epochs, batch_size : int
    **options
        Of `bertlook_course.analyses.finetuning.fine_tune_tagger`: ``seed``, ``learning_rate`` and others.

    Raises
    ------
    ValueError
        If a setting is out of range, or there is only one kind of word.
    """
    from ..finetuning import fine_tune_tagger

    labels = [[LABELS[not key] for key in data.is_key[data.text(i)]] for i in range(data.n_texts)]
    tagger = fine_tune_tagger(
        encoder, texts_of(data), labels, epochs=epochs, batch_size=batch_size, name="key words", **options
    )
    return KeyTagger(tagger, best_cutoff(_log_odds(tagger, data), data.is_key))


def _log_odds(tagger: Tagger, data: KeywordData, heads: Sequence = ()) -> np.ndarray:
    from ..ablation import ablated

    off = ablated(tagger.encoder, heads, allow_all=True) if len(heads) else contextlib.nullcontext()
    with off:
        tables = tagger.probabilities(texts_of(data), batch_size=16)
    p = np.concatenate(tables)[:, tagger.labels.index("key")].astype(float)
    p = np.clip(p, 1e-7, 1 - 1e-7)
    return np.log(p) - np.log1p(-p)
