"""Fine-tuning on words: an encoder learns to give each word of a sentence a label, and becomes a `Tagger`.

`bertlook_course.analyses.finetuning.classifier` reads one answer off [CLS]; here every word has one, read off its first wordpiece. A `Tagger` holds an
ordinary `Encoder`, so every measure of the course works on what fine-tuning made of it.
"""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from bertlook_teach.model import encode_words, import_torch

from ...storage import writable_folder
from .new_head import as_encoder, load_state_arrays, state_arrays, with_new_head
from .training import NO_LABEL, checked_rate, train

if TYPE_CHECKING:
    from bertlook_teach.model import Encoder

EPOCHS = 5

BATCH_SIZE = 16


@dataclass(frozen=True, eq=False)
class Tagger:
    """An encoder and what reads a label off each word.

    Attributes
    ----------
    encoder : Encoder
        The fine-tuned encoder; ``encoder.model`` is part of ``model``.
    model : torch module
        The token-classification model of transformers.
    labels : tuple of str
        The labels in the order of the logits.
    losses : tuple of float
        Mean training loss of each epoch.
    about : dict
        How it was trained: encoder, fingerprint, seed, learning rate and the like.
    truncate : bool
        Whether documents that are too long are cut (words that are cut off get no answer) or refused.
    """

    encoder: Encoder
    model: Any
    labels: tuple[str, ...]
    losses: tuple[float, ...] = ()
    about: dict = field(default_factory=dict)
    truncate: bool = False

    def predict(self, documents: Sequence[Sequence[str]]) -> list[list[str | None]]:
        """The likeliest label of each word of each document; None for a word that was cut off."""
        return [
            [None if np.isnan(row[0]) else self.labels[int(row.argmax())] for row in table]
            for table in self.probabilities(documents)
        ]

    def probabilities(self, documents: Sequence[Sequence[str]], *, batch_size: int = 64) -> list[np.ndarray]:
        """For each document a float32 array of shape (word, label), rows summing to 1; NaN for a word that was cut off."""
        torch = import_torch()

        items = _tokenize(self.encoder, documents, self.truncate)
        tables = []
        with torch.inference_mode():
            for start in range(0, len(items), batch_size):
                batch = items[start : start + batch_size]
                logits = _forward(self.model, self.encoder, batch).float().softmax(dim=-1).cpu().numpy()
                for row, item, words in zip(logits, batch, documents[start : start + batch_size]):
                    table = np.full((len(words), len(self.labels)), np.nan, dtype=np.float32)
                    table[list(item.words)] = row[list(item.first)]
                    tables.append(table)
        return tables

    def weights(self) -> dict[str, Any]:
        """Everything about it that its encoder of before does not know, as arrays and plain values: for `from_weights`."""
        known = {name: getattr(self, name) for name in ("labels", "losses", "about", "truncate")}
        return known | {"name": self.encoder.name, "state": state_arrays(self.model)}

    @classmethod
    def from_weights(cls, encoder: Encoder, weights: dict[str, Any]) -> Tagger:
        """The tagger that was made of ``encoder`` and gave these `weights`."""
        from transformers import AutoModelForTokenClassification

        names = weights["labels"]
        model = with_new_head(encoder, AutoModelForTokenClassification, names, 0, weights["about"]["dropout"])
        load_state_arrays(model, weights["state"])
        tuned = as_encoder(model, encoder, weights["name"])
        return cls(tuned, model, names, weights["losses"], weights["about"], weights["truncate"])

    def save(self, folder: str | Path) -> Path:
        """Write an ordinary token-classification folder, which `load_encoder` reads too, without the head."""
        from bertlook_teach.model import quiet_loading

        folder = writable_folder(folder)
        with quiet_loading():
            self.model.save_pretrained(folder)
            self.encoder.tokenizer.save_pretrained(folder)
        return folder

    def __repr__(self) -> str:
        return f"Tagger({self.encoder.name!r}: {' / '.join(self.labels)})"


@dataclass(frozen=True)
class _Item:
    """One document as the model reads it: pieces, and for each word that is left its index and its first piece."""

    ids: tuple[int, ...]
    words: tuple[int, ...]
    first: tuple[int, ...]


def _tokenize(encoder: Encoder, documents: Sequence[Sequence[str]], truncate: bool) -> list[_Item]:
    if isinstance(documents, str) or any(isinstance(words, str) for words in documents):
        raise TypeError(
            "documents are lists of words, for instance [['It', 'was', 'late']]; got a text. Split it first."
        )
    items = []
    for number, words in enumerate(documents):
        if not len(words):
            raise ValueError(f"document {number} has no words.")
        encoded = encode_words(encoder, words, verbose=False)
        if len(encoded["input_ids"]) > encoder.max_tokens:
            if not truncate:
                raise ValueError(
                    f"document {number} is {len(encoded['input_ids'])} wordpieces long, and {encoder.name} reads at most "
                    f"{encoder.max_tokens}. Shorten it, or pass truncate=True to read only its beginning."
                )
            encoded = encode_words(encoder, words, truncation=True, max_length=encoder.max_tokens)
        first = {}
        for place, word in enumerate(encoded.word_ids()):
            if word is not None:
                first.setdefault(word, place)
        items.append(_Item(tuple(encoded["input_ids"]), tuple(first), tuple(first.values())))
    return items


def _forward(model, encoder: Encoder, items: Sequence[_Item]):
    """Logits of shape (document, piece, label), padded at the end."""
    torch = import_torch()

    longest = max(len(item.ids) for item in items)
    ids = torch.full((len(items), longest), encoder.tokenizer.pad_token_id or 0)
    mask = torch.zeros_like(ids)
    for row, item in enumerate(items):
        ids[row, : len(item.ids)] = torch.tensor(item.ids)
        mask[row, : len(item.ids)] = 1
    inputs = {"input_ids": ids.to(encoder.device), "attention_mask": mask.to(encoder.device)}
    return model(**inputs).logits


def fine_tune_tagger(
    encoder: Encoder,
    documents: Sequence[Sequence[str]],
    labels: Sequence[Sequence[str | None]],
    *,
    seed: int = 0,
    epochs: int = EPOCHS,
    learning_rate: float | None = None,
    batch_size: int = BATCH_SIZE,
    dropout: float | None = None,
    truncate: bool = False,
    double: bool = False,
    name: str = "words",
    progress: bool = False,
) -> Tagger:
    """Teach a copy of an encoder to label words, all its weights; the encoder given stays as it is.

    The optimizer is that of `bertlook_course.analyses.finetuning.fine_tune`; there is no choice of an epoch: all ``epochs`` are run and the last
    weights are kept, so no data have to be set aside.

    Parameters
    ----------
    encoder : Encoder
    documents : sequence of sequences of str
        The words of each sentence or document.
    labels : sequence of sequences of str or None
        One label for each word; None for a word that has none, which is read but not learnt from.
    seed : int
        For the head, the order of the documents and the dropout: the same seed on the same machine gives the same tagger.
    epochs, batch_size : int
    learning_rate : float, optional
        The highest one; by default `bertlook_course.analyses.finetuning.learning_rate_for`.
    dropout : float, optional
        In place of what the model's configuration says.
    truncate : bool
        Cut documents that are too long rather than refuse them.
    double : bool
        Train in float64, which takes twice as long and makes the result the same to many digits on any machine; the tagger itself
        is float32 again.
    name : str
        What is learnt, for the encoder's name: "specimen, tuned on words".
    progress : bool
        A progress bar on stderr.

    Raises
    ------
    ValueError
        If documents and labels do not fit each other, there are fewer than two labels, a setting is out of range, a document is too
        long, the model's family has no such head, or the loss becomes infinite.
    """
    from transformers import AutoModelForTokenClassification

    if epochs < 1 or batch_size < 1:
        raise ValueError(f"epochs and batch_size are 1 or more; got {epochs} and {batch_size}.")
    rate = checked_rate(encoder, learning_rate)
    names = _label_names(documents, labels)
    items = _tokenize(encoder, documents, truncate)
    model = with_new_head(encoder, AutoModelForTokenClassification, names, seed, dropout)
    if double:
        model.double()
    targets = _targets(items, labels, names)
    full_name = f"{encoder.name}, tuned on {name}"

    course = train(
        model,
        partial(_loss, model, encoder, items, targets),
        len(items),
        device=encoder.device,
        epochs=epochs,
        batch_size=batch_size,
        rate=rate,
        seed=seed,
        name=full_name,
        progress=progress,
    )
    history = [loss for loss, _ in course]
    model.float().eval()
    about = {
        "encoder": encoder.name,
        "fingerprint": encoder.fingerprint,
        "seed": seed,
        "epochs": epochs,
        "learning_rate": rate,
        "batch_size": batch_size,
        "dropout": dropout,
        "double": double,
        "n_documents": len(items),
    }
    return Tagger(as_encoder(model, encoder, full_name), model, names, tuple(history), about, truncate)


def _loss(
    model, encoder: Encoder, items: Sequence[_Item], targets: Sequence, rows: list[int]
) -> tuple | None:
    """Mean loss of some documents, and how many words it is of; None where no word has a label."""
    torch = import_torch()

    logits = _forward(model, encoder, [items[i] for i in rows])
    wanted = torch.full(logits.shape[:2], NO_LABEL)
    for row, i in enumerate(rows):
        wanted[row, list(items[i].first)] = targets[i]
    if (wanted == NO_LABEL).all():
        return None
    loss = torch.nn.functional.cross_entropy(
        logits.flatten(0, 1), wanted.flatten().to(encoder.device), ignore_index=NO_LABEL
    )
    return loss, int((wanted != NO_LABEL).sum())


def _label_names(documents, labels) -> tuple[str, ...]:
    """The labels in the order of the alphabet, after a check that each word has its place."""
    if len(documents) != len(labels):
        raise ValueError(
            f"each document needs its labels; got {len(documents)} documents and {len(labels)} lists of labels."
        )
    for number, (words, own) in enumerate(zip(documents, labels)):
        if len(words) != len(own):
            raise ValueError(
                f"document {number} has {len(words)} words and {len(own)} labels; a word without one has None."
            )
    names = sorted({label for own in labels for label in own if label is not None})
    if len(names) < 2:
        raise ValueError(
            f"a tagger needs at least two labels to tell apart; got {', '.join(names) or 'none'}."
        )
    return tuple(names)


def _targets(items: Sequence[_Item], labels, names: Sequence[str]) -> list:
    torch = import_torch()

    index = {name: i for i, name in enumerate(names)} | {None: NO_LABEL}
    return [torch.tensor([index[own[word]] for word in item.words]) for item, own in zip(items, labels)]


def word_type_labels(
    documents: Sequence[Sequence[str]],
    *,
    share: float = 0.5,
    names: tuple[str, str] = ("A", "B"),
    seed: int = 0,
) -> list[list[str]]:
    """Made-up labels for a control task: each word *type* has one of two, drawn by chance, wherever it stands.

    After the control tasks of Hewitt and Liang (2019): the sentences stay, and nothing of language can help; the words have to be
    learnt by heart. A word's label depends on its spelling (in lower case) and ``seed`` alone, so it is the same in every corpus.

    Parameters
    ----------
    documents : sequence of sequences of str
    share : float
        Share of word types that get the second name.
    names : (str, str)
    seed : int

    Examples
    --------
    >>> word_type_labels([["No", "cat", "saw", "no", "dog"]])
    [['B', 'A', 'A', 'B', 'A']]
    """
    if not 0 < share < 1:
        raise ValueError(f"share is a share between 0 and 1; got {share}.")

    def label(word: str) -> str:
        digest = hashlib.sha256(f"{seed} {word.lower()}".encode()).digest()
        return names[int.from_bytes(digest[:4], "big") / 2**32 < share]

    return [[label(word) for word in words] for words in documents]
