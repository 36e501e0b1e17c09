"""What an ablation is scored on: a classifier's answers, or the masked-LM loss, which needs no labels.

A *scorer* is an encoder and what reads its last layer. It works on *batches* (input_ids, attention_mask, segment_ids,
labels), integer tensors of shape (batch, token), the labels (batch,) or, for masked pieces, (batch, token). It says
which rows of the last layer it reads, so that nobody has to compute the others.
"""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import TYPE_CHECKING, Any, Protocol, runtime_checkable

import numpy as np

from bertlook_teach.model import MASKED_SHARE, choose_masked, import_torch, is_in_memory, masked_lm_head

if TYPE_CHECKING:
    from bertlook_teach.model import Encoder

IGNORED = -100  # the label of a position that is not to be guessed


@runtime_checkable
class Scorer(Protocol):
    """An encoder, and what is made of its last layer."""

    encoder: Encoder
    measure: str

    def rows(self, batch):
        """Positions of the last layer that are read, an integer tensor of shape (batch, k)."""

    def logits(self, hidden, batch):
        """From hidden vectors (batch, k, width) at those positions to logits."""

    def losses(self, logits, batch):
        """One loss for each example, shape (batch,), in nats (squares for a regression)."""

    def scores(self, logits, batch):
        """What is counted for each example, more is better, shape (batch,)."""


class ClassifierScorer:
    """A fine-tuned classifier that reads [CLS], the first position.

    Parameters
    ----------
    classifier
        With ``.encoder`` and ``.readout(hidden) -> logits``, which must read nothing but position 0.

    Notes
    -----
    Labels that are floats make it a regression: the loss is the squared error, the score its negative. With classes, the loss is the
    cross-entropy and the score 1 for a right answer, 0 for a wrong one, whatever the metric of the task: a correlation (CoLA, STS-B) is not a mean over
    examples and cannot be tested in pairs.
    """

    def __init__(self, classifier):
        self.classifier, self.encoder = classifier, classifier.encoder
        self.measure = "minus squared error" if getattr(classifier, "is_regression", False) else "accuracy"

    def rows(self, batch):
        return batch[0].new_zeros(len(batch[0]), 1)

    def logits(self, hidden, batch):
        return self.classifier.readout(hidden)

    def losses(self, logits, batch):
        torch = import_torch()

        labels = self._labels(batch, logits)
        if labels.is_floating_point():
            return (logits.reshape(len(labels)) - labels) ** 2
        return torch.nn.functional.cross_entropy(logits, labels, reduction="none")

    def scores(self, logits, batch):
        labels = self._labels(batch, logits)
        if labels.is_floating_point():
            return -((logits.reshape(len(labels)) - labels) ** 2)
        return (logits.argmax(dim=-1) == labels).float()

    @staticmethod
    def _labels(batch, logits):
        labels = batch[3]
        if labels is None:
            raise ValueError(
                "these batches have no labels, so nothing can be scored on them; encode examples with labels."
            )
        missing = labels.isnan() if labels.is_floating_point() else labels == IGNORED
        if bool(missing.any()):
            raise ValueError(
                f"{int(missing.sum())} of {len(labels)} examples of a batch have no label, so nothing can be scored on them; leave them out."
            )
        if not labels.is_floating_point() and logits.shape[-1] < 2:
            raise ValueError(
                "the classifier gives one number (a regression), but the labels are classes; give labels as floats."
            )
        return labels


class MaskedLM:
    """The masked-LM loss: a task for which every text is labelled.

    Parameters
    ----------
    encoder : Encoder
        With a masked-LM head in its folder (else `bertlook_teach.model.NoMaskedLMHead`).
    head : function, optional
        Hidden vectors to scores of wordpieces, where the encoder cannot say (a pruned one): that of the encoder it came from.

    Notes
    -----
    The loss of a text is the mean cross-entropy over its masked pieces, its score the share of them that is guessed.
    """

    measure = "masked pieces guessed"

    def __init__(self, encoder: Encoder, head: Callable | None = None):
        self.encoder, self.head = encoder, masked_lm_head(encoder) if head is None else head

    def encode(
        self,
        texts: Sequence,
        *,
        batch_size: int = 16,
        share: float = MASKED_SHARE,
        seed: int = 0,
        truncate: bool = False,
        by_length: bool = False,
    ) -> list[tuple]:
        """Texts, or pairs of texts, as batches with masked pieces; the same seed masks the same pieces.

        With ``by_length`` texts of like length share a batch, the shortest first: a tenth of what is computed is padding at most. Without it they
        keep their order, which a measure may depend on.

        Raises
        ------
        ValueError
            If there is no text, one is empty, or too long (unless ``truncate``).
        """
        from bertlook_teach.model import even_parts, read

        texts = list(texts)
        if not texts:
            raise ValueError("no text was given: there is nothing to score.")
        rows = []
        for number, text in enumerate(texts):
            reading = read(self.encoder, text, truncate=truncate)
            masking = choose_masked(
                self.encoder, reading.ids, reading.special, share=share, seed=seed + number
            )
            labels = [IGNORED] * reading.n_tokens
            for place in masking.positions:
                labels[place] = reading.ids[place]
            ids = masking.applied(reading.ids)
            rows.append((ids, [1] * len(ids), list(reading.segment_ids), labels))
        if by_length:
            return [
                self._pad([rows[i] for i in part])
                for part in even_parts([len(row[0]) for row in rows], batch_size)
            ]
        return [self._pad(rows[i : i + batch_size]) for i in range(0, len(rows), batch_size)]

    def _pad(self, rows) -> tuple:
        torch = import_torch()

        longest = max(len(ids) for ids, *_ in rows)
        fillings = (self.encoder.tokenizer.pad_token_id or 0, 0, 0, IGNORED)
        return tuple(
            torch.tensor([row[i] + [filling] * (longest - len(row[i])) for row in rows])
            for i, filling in enumerate(fillings)
        )

    def rows(self, batch):
        torch = import_torch()

        masked = batch[3] != IGNORED
        counts = masked.sum(dim=1)
        if not bool((counts > 0).all()):
            raise ValueError(
                "a text has no masked piece, so it has no loss; encode texts with MaskedLM.encode."
            )
        # Stable: the masked positions of each text come first, in order; the rest fill up and are not counted.
        return torch.argsort((~masked).int(), dim=1, stable=True)[:, : int(counts.max())]

    def logits(self, hidden, batch):
        return self.head(hidden)

    def losses(self, logits, batch):
        torch = import_torch()

        labels = batch[3].gather(1, self.rows(batch))
        each = torch.nn.functional.cross_entropy(
            logits.transpose(1, 2), labels, reduction="none", ignore_index=IGNORED
        )
        return each.sum(dim=1) / (labels != IGNORED).sum(dim=1)

    def scores(self, logits, batch):
        labels = batch[3].gather(1, self.rows(batch))
        return ((logits.argmax(dim=-1) == labels).float()).sum(dim=1) / (labels != IGNORED).sum(dim=1)


def as_scorer(thing) -> Scorer:
    """A scorer as it is; a classifier, read at [CLS].

    Raises
    ------
    TypeError
        If it is neither: an encoder alone, for instance, has nothing to be scored on.
    """
    if isinstance(thing, Scorer):
        return thing
    if hasattr(thing, "encoder") and hasattr(thing, "readout"):
        return ClassifierScorer(thing)
    if is_in_memory(thing) or isinstance(thing, str):
        raise TypeError(
            f"a score needs what load_classifier(folder) or MaskedLM(load_encoder(name)) gives; got {type(thing).__name__}. Save a model "
            "in memory by model.save_pretrained(folder) and tokenizer.save_pretrained(folder)."
        )
    raise TypeError(
        f"a score needs a fine-tuned classifier, or MaskedLM(encoder); got {type(thing).__name__}. An encoder alone gives hidden "
        "vectors and no answers."
    )


def on_device(batch, encoder: Encoder) -> tuple:
    """The batch where the encoder is."""
    return tuple(None if part is None else part.to(encoder.device) for part in batch)


def inputs_of(encoder: Encoder, batch) -> dict[str, Any]:
    """What the model is called with."""
    ids, mask, segments, _labels = batch
    inputs = {"input_ids": ids, "attention_mask": mask}
    if encoder.has_segments and segments is not None:
        inputs["token_type_ids"] = segments
    return inputs


def take_rows(hidden, rows):
    """Rows (batch, k) of hidden vectors (batch, token, width): (batch, k, width)."""
    return hidden.gather(1, rows.unsqueeze(-1).expand(-1, -1, hidden.shape[-1]))


def batch_outputs(scorer: Scorer, batch):
    """Logits of one batch that lies on the encoder's device; hooks act, gradients pass."""
    hidden = scorer.encoder.model(**inputs_of(scorer.encoder, batch)).last_hidden_state
    return scorer.logits(take_rows(hidden, scorer.rows(batch)), batch)


def score_batches(scorer, batches: Iterable, *, heads=()) -> tuple[np.ndarray, np.ndarray]:
    """Loss and score of every example, with some heads off.

    Parameters
    ----------
    scorer : Scorer or classifier
    batches : iterable of (input_ids, attention_mask, segment_ids, labels)
    heads
        As for :func:`bertlook_course.analyses.ablation.ablated`, and set to zero; all heads may be off here.

    Returns
    -------
    losses, scores : ndarrays of shape (example,)
    """
    torch = import_torch()

    from .heads_off import ablated

    scorer = as_scorer(scorer)
    losses, scores = [], []
    off = ablated(scorer.encoder, heads, allow_all=True) if len(heads) else contextlib.nullcontext()
    with torch.no_grad(), scorer.encoder.evaluating(), off:
        for batch in checked_batches(batches):
            batch = on_device(batch, scorer.encoder)
            logits = batch_outputs(scorer, batch)
            losses.append(scorer.losses(logits, batch).cpu().numpy())
            scores.append(scorer.scores(logits, batch).cpu().numpy())
    return np.concatenate(losses).astype(float), np.concatenate(scores).astype(float)


def checked_batches(batches: Iterable) -> Iterator[tuple]:
    """The batches, refused if there is none or if they are not batches."""
    number = -1
    for number, batch in enumerate(batches):
        if not isinstance(batch, (tuple, list)) or len(batch) != 4:
            raise ValueError(
                "a batch is (input_ids, attention_mask, segment_ids, labels), as encode(...) gives them in a list; got "
                f"{type(batch).__name__}{f' of {len(batch)}' if hasattr(batch, '__len__') else ''}."
            )
        yield tuple(batch)
    if number < 0:
        raise ValueError("there is no batch to score; a list that was already used up, perhaps?")
