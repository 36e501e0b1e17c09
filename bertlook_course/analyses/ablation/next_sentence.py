"""The other task BERT was trained with, as a task score: which of two sentences goes on with the text (Devlin et al. 2019).

It needs no fine-tuning: the part of the model that judged pairs in pre-training is read from its folder.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING

import numpy as np

from bertlook_teach.model import as_array, import_torch

from .bench import Replay

if TYPE_CHECKING:
    from bertlook_teach.model import Encoder

TIE = 1e-5  # nats: with all heads off [CLS] sees nothing, and only rounding tells two inputs apart

N_PAIRS = 12  # twice as many inputs, since a click must be answered at once


class NoNextSentenceHead(ValueError):
    """The model was saved without the part that judges pairs."""


def adjoining_sentences() -> list[tuple[str, str]]:
    """The sentences on either side of the seam of two shipped paragraphs: the last of the first, and the first of the second."""
    from ...corpora import load_pairs

    return [(_sentences(a)[-1], _sentences(b)[0]) for a, b in load_pairs()]


def _sentences(text: str) -> list[str]:
    return re.split(r"(?<=[.!?])\s+", text.strip())


def next_sentence_head(encoder: Encoder) -> Callable:
    """The part of the model that turns the vector at [CLS] into two scores: goes on, does not go on.

    It is read from the folder the encoder came from; a random twin gets a random one, drawn with the twin's seed.

    Returns
    -------
    function
        Hidden vectors (..., width) at [CLS] to scores (..., 2), both arrays.

    Raises
    ------
    NoNextSentenceHead
        If the folder holds none, as for models that were not trained on pairs.
    """
    from bertlook_teach.model import with_pretraining_head

    if encoder.engine is not None and encoder.engine.has_head("next_sentence"):
        return encoder.engine.next_sentence
    none = f"{encoder.name} has no next-sentence head"
    advice = "Use a model that was saved with it (BertForPreTraining), for example 'specimen' or 'bert-base-uncased'."
    model = with_pretraining_head(
        encoder, "AutoModelForNextSentencePrediction", NoNextSentenceHead, none, advice
    )
    pooler, judge = (part.eval().to(encoder.device) for part in (model.base_model.pooler, model.cls))
    torch = import_torch()

    def scores(hidden):
        with torch.inference_mode():
            vectors = torch.as_tensor(hidden, device=encoder.device)
            return as_array(judge(pooler(vectors.unsqueeze(-2))))

    return scores


class NextSentence:
    """Which of two sentences goes on with the text? A function for the bench: heads off in, right or wrong out.

    The pairs are few and short, so that a click is answered at once; the interval beside the score says what that costs.

    Each pair is read twice: with its own second sentence, and with that of the pair half the list away. The answer is right if
    the model's score for "goes on" minus that for "does not" is higher for its own: chance is one half, and a tie counts a half.

    Parameters
    ----------
    encoder : Encoder
        With a next-sentence head.
    pairs : sequence of (str, str), optional
        At least two; by default the 12 shortest of :func:`adjoining_sentences`.

    Raises
    ------
    NoNextSentenceHead
    ValueError
        If there are fewer than two pairs, or one is too long for the model.
    """

    name = "Next sentence or another"

    def __init__(self, encoder: Encoder, pairs: Sequence[tuple[str, str]] | None = None):
        from bertlook_teach.model import read

        if pairs is None:
            pairs = sorted(adjoining_sentences(), key=lambda pair: len(pair[0] + pair[1]))[:N_PAIRS]
        if len(pairs) < 2:
            raise ValueError(
                f"a pair is told from another pair, so at least two are needed; got {len(pairs)}."
            )
        self._encoder, self._head = encoder, next_sentence_head(encoder)
        self.n = len(pairs)
        others = [pairs[(i + self.n // 2) % self.n][1] for i in range(self.n)]
        inputs = [(a, b) for a, b in pairs] + [(a, b) for (a, _), b in zip(pairs, others)]
        readings = [read(encoder, a, b) for a, b in inputs]
        longest = max(one.n_tokens for one in readings)

        def padded(rows, filler):
            return np.array([[*row, *[filler] * (longest - len(row))] for row in rows])

        self._given = (
            padded([one.ids for one in readings], encoder.tokenizer.pad_token_id or 0),
            padded([[1] * one.n_tokens for one in readings], 0),
            padded([one.segment_ids for one in readings], 0),
        )
        self._batch = Replay(encoder, *self._given)

    def __call__(self, heads=(), how: str = "zero") -> np.ndarray:
        """Whether each pair is told from the other with these heads off: 1, 0 or, for a tie, 1/2; of shape (pair,)."""
        if self._batch.outdated:
            self._head, self._batch = next_sentence_head(self._encoder), Replay(self._encoder, *self._given)
        scores = self._head(self._batch.run(heads, how)[:, 0])
        margin = scores[:, 0] - scores[:, 1]
        gap = margin[: self.n] - margin[self.n :]
        return np.where(np.abs(gap) < TIE, 0.5, gap > 0)
