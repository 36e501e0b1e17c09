"""What an attention probe sees of a sentence: attention between its words, from and to ROOT, and vectors of its words."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from bertlook_teach.model import check_reading, encode_words

from ...corpora import document_numbers, open_text


@dataclass(frozen=True, eq=False)
class ProbeSentence:
    """One sentence as a probe reads it.

    Attributes
    ----------
    between : float32 ndarray of shape (dependent, candidate, 2 * heads)
        For K heads first the K weights from the candidate to the dependent, then the K from the dependent to the candidate.
    root : float32 ndarray of shape (dependent, 4 * heads)
        What speaks for ROOT: attention from [CLS] to the dependent, from it to [CLS], from [SEP] to it, from it to [SEP].
    governors : int ndarray of shape (dependent,)
        Index of the governor among the candidates: the words in order, and ROOT last.
    counted : bool ndarray of shape (dependent,)
        False for punctuation, which the published UAS leaves out.
    words : tuple of str
    doc_id : str, optional
        The document it comes from: intervals draw documents where 20 or more are named, and sentences otherwise.
    """

    between: np.ndarray
    root: np.ndarray
    governors: np.ndarray
    counted: np.ndarray
    words: tuple[str, ...]
    doc_id: str | None = None

    def __len__(self) -> int:
        return len(self.governors)


def attention_features(attention) -> tuple[np.ndarray, np.ndarray]:
    """``between`` and ``root`` of one sentence (see `ProbeSentence`), from its attention between words.

    Clark et al. give ROOT the weights of the words, times two learned numbers, one for [CLS] and one for [SEP]. That is not convex;
    here ROOT has weights of its own.

    Raises
    ------
    ValueError
        If the input is not one sentence as the model reads it, [CLS] words [SEP].
    """
    attention = attention.to_words()
    special = np.array(attention.special, dtype=bool)
    words, ends = np.flatnonzero(~special), np.flatnonzero(special)
    if len(ends) != 2 or not len(words):
        raise ValueError(
            f"the probe reads one sentence as [CLS] words [SEP]; got {len(words)} words and {len(ends)} special tokens."
        )
    maps = attention.weights.reshape(-1, attention.n_tokens, attention.n_tokens)  # (head, query, key)
    among = maps[:, words][:, :, words]
    between = np.concatenate([among.transpose(2, 1, 0), among.transpose(1, 2, 0)], axis=-1)
    root = [part for end in ends for part in (maps[:, end, words].T, maps[:, words, end].T)]
    return np.ascontiguousarray(between, np.float32), np.concatenate(root, axis=-1).astype(np.float32)


def read_features(
    encoder,
    sentences: Iterable,
    *,
    batch_size: int = 32,
    progress: Callable[[Iterable], Iterable] | None = None,
) -> list[ProbeSentence]:
    """Features and gold governors of treebank sentences; what the model cannot read whole is left out.

    Parameters
    ----------
    encoder : Encoder
    sentences : iterable of TreebankSentence
    progress : function
        Wrapped round the stream of sentences, for example ``tqdm``.
    """
    from bertlook_teach.model import iter_attention

    sentences = [sentence for sentence in sentences if not check_reading(encoder, sentence.words).obstacle]
    stream = iter_attention(encoder, (list(s.words) for s in sentences), batch_size=batch_size)
    read = []
    for sentence, attention in zip(sentences, stream if progress is None else progress(stream), strict=True):
        governors = np.array([len(sentence) if g < 0 else g for g in sentence.governors])
        counted = np.array([tag != "PUNCT" for tag in sentence.upos])
        features = attention_features(attention)
        read.append(ProbeSentence(*features, governors, counted, sentence.words, sentence.doc_id))
    return read


def input_vectors(encoder) -> Callable[[Sequence[str]], np.ndarray]:
    """The encoder's own input embeddings as word vectors: a function from words to an array (word, dim).

    A word of several pieces gets their mean. They know a word and nothing of its sentence, like the GloVe vectors of the paper.
    """
    if encoder.engine is not None:
        table = encoder.engine.weights["embeddings.word_embeddings.weight"].astype(np.float32)
    else:
        table = encoder.model.get_input_embeddings().weight.detach().cpu().numpy()
    table = table / table.std()

    def vectors(words: Sequence[str]) -> np.ndarray:
        encoded = encode_words(encoder, words, add_special_tokens=False, verbose=False)
        ids, owners = np.array(encoded["input_ids"], int), np.array(encoded.word_ids(), int)
        found = np.zeros((len(words), table.shape[1]), np.float32)
        np.add.at(found, owners, table[ids])
        return found / np.maximum(np.bincount(owners, minlength=len(words)), 1)[:, None].astype(np.float32)

    return vectors


def read_word_vectors(path: str | Path) -> Callable[[Sequence[str]], np.ndarray]:
    """Word vectors from a text file in GloVe's format, a word and its numbers a line: words -> array (word, dim).

    Words are looked up in lower case; a word that is not there gets zeros.
    """
    table: dict[str, np.ndarray] = {}
    width = None
    with open_text(path) as file:
        for number, line in enumerate(file, 1):
            word, *numbers = line.rstrip().split(" ")
            if number == 1 and len(numbers) == 1:
                continue  # word2vec's text format begins with the size of the table
            try:
                vector = np.array(numbers, np.float32)
            except ValueError:
                raise ValueError(
                    f"{path}, line {number}: expected a word and numbers with single spaces between; got {line[:60]!r}."
                ) from None
            width = len(vector) if width is None else width
            if len(vector) != width or not width:
                raise ValueError(f"{path}, line {number}: {len(vector)} numbers where {width} were expected.")
            table[word] = vector
    if not table:
        raise ValueError(f"{path} holds no word vector.")
    none = np.zeros(width, np.float32)

    def vectors(words: Sequence[str]) -> np.ndarray:
        return np.stack([table.get(word.lower(), none) for word in words])

    return vectors


NOT_CONVERGED = "not converged"

ENOUGH_DOCUMENTS = 20  # to draw for an interval; of fewer, sentences are drawn


def by_document(counts: np.ndarray, sentences: Sequence) -> np.ndarray:
    """Counts of sentences, shape (sentence, ...), summed over what an interval draws: documents, or sentences if there are fewer than 20."""
    units = document_numbers(sentences, ENOUGH_DOCUMENTS)
    sums = np.zeros((units.max() + 1, *counts.shape[1:]))
    np.add.at(sums, units, counts)
    return sums


def how_it_ended(probe) -> str:
    """How the fit of a probe ended, in words.

    Convex fits have ``converged``; networks are stopped early, and say after how many ``epochs`` and whether these were ``chosen`` on
    documents left out of the fit.
    """
    if hasattr(probe, "converged"):
        return "converged" if probe.converged else NOT_CONVERGED
    return f"{probe.epochs} epochs, {'chosen on validation documents' if probe.chosen else 'as asked'}"


def leave_documents_out(sentences: Sequence) -> tuple[list, list]:
    """Sentences to fit on, and those of every fourth document, to choose on: a penalty, or how long to train.

    Where fewer than four documents are named, every fourth sentence.

    Raises
    ------
    ValueError
        If nothing would be left out.
    """
    left = document_numbers(sentences, 4) % 4 == 3
    if not left.any():
        raise ValueError(
            f"every fourth document or sentence is left out to choose on, so four are needed; got {len(sentences)} sentences. "
            "Give more, or give the setting that is to be chosen."
        )
    return [s for s, out in zip(sentences, left) if not out], [s for s, out in zip(sentences, left) if out]
