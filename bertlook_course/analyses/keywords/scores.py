"""Attention as text weights: does a head look more at the words that a text is about? (after Stefanik's lecture slides)

A word's score is the attention it *receives*: the mean, or the largest, of its column in a head's map, over the rows of the other
words. Rows and columns of [CLS] and [SEP] take no part, and no word counts for itself. The slides name neither the data nor the exact
quantities; what is computed here is a reconstruction, and is said where it differs.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import numpy as np

from bertlook_teach.model import encode_words
from bertlook_teach.stats import ratio_interval

from ...corpora import KeyphraseDocument
from ...metrics import auc, checked_word_scores

if TYPE_CHECKING:
    from bertlook_teach.model import Attention, Encoder

COLUMNS = ("mean", "max")

NO_KEY = "no key phrase stands in what the model reads of it"

ALL_KEY = "every word of it is key"

ONE_WORD = "it is a text of one word"

UNREAD = "the model reads none of its words"


# --- one text ------------------------------------------------------------------------------------------------
def token_scores(attention: Attention, column: str = "mean") -> np.ndarray:
    """How much attention each word of a text receives from its other words.

    Parameters
    ----------
    attention : Attention
        At either level; wordpieces are brought to words first (pieces looked at added up, pieces that look averaged).
    column : {"mean", "max"}
        Mean or largest weight of the word's column, over the rows of all other words. Special tokens neither give nor get a score.

    Returns
    -------
    float32 ndarray of shape (layer, head, word)
        From 0 to 1.

    Raises
    ------
    ValueError
        If ``column`` is unknown, or the text has one word: then no other word could look at it, and nothing can be decided.

    Examples
    --------
    Of three words, the first two look at the third:

    >>> from bertlook_teach.model import Attention
    >>> weights = np.array([[[[0, .2, .8], [0, .4, .6], [1, 0, 0]]]])
    >>> maps = Attention(weights, ("a", "b", "c"), (0, 1, 2), (0, 0, 0), (False,) * 3, ("a", "b", "c"), "a b c")
    >>> token_scores(maps).round(2)
    array([[[0.5, 0.1, 0.7]]])
    >>> token_scores(maps, "max").round(2)
    array([[[1. , 0.2, 0.8]]])
    """
    if column not in COLUMNS:
        raise ValueError(f"column is 'mean' or 'max'; got {column!r}.")
    words = attention.to_words()
    own = ~np.asarray(words.special, bool)
    n = int(own.sum())
    if n < 2:
        raise ValueError(
            f"nothing can be decided on a text of {n} word{'s' * (n != 1)}: a word's score comes from the other words that look at it."
        )
    between = words.weights[:, :, own][:, :, :, own]
    others = ~np.eye(n, dtype=bool)
    if column == "max":
        return np.where(others, between, 0).max(axis=-2)
    return np.where(others, between, 0).sum(axis=-2) / (n - 1)


def relative_attention(scores, is_key) -> np.ndarray:
    """Mean score of the key words minus mean score of the others.

    Parameters
    ----------
    scores : array of shape (..., word)
    is_key : bool array of shape (word,)

    Returns
    -------
    ndarray of shape (...), in the unit of the scores

    Raises
    ------
    ValueError
        If no word is key, or all are: there is nothing to compare.

    Examples
    --------
    >>> float(relative_attention([.3, .1, .5], [True, False, True]))
    0.30000000000000004
    """
    scores, is_key = checked_word_scores(scores, is_key)
    return scores[..., is_key].mean(axis=-1) - scores[..., ~is_key].mean(axis=-1)


def unnormalised_entropy(scores) -> np.ndarray:
    """Sum over words of ``-t ln t``: one reading of the "entropy" by which the slides rank heads, whose formula is not given.

    The scores of a text do not sum to 1, so this is not an entropy. A score near 0 and a score near 1 add nothing: a head that gives
    (almost) all it has to a single key, whatever that is, comes out lowest.

    Parameters
    ----------
    scores : array of shape (..., word)
        Shares from 0 to 1, of `token_scores`.

    Returns
    -------
    ndarray of shape (...), nats

    Examples
    --------
    >>> unnormalised_entropy([[1.0, 0.0], [0.5, 0.5]]).round(3)
    array([0.   , 0.693])
    """
    scores = np.asarray(scores, float)
    if (scores < 0).any() or (scores > 1 + 1e-3).any():
        raise ValueError(
            f"scores are shares of attention, from 0 to 1; they go from {scores.min():.3f} to {scores.max():.3f}."
        )
    logs = np.log(scores, out=np.zeros_like(scores), where=scores > 0)
    return np.maximum(-scores * logs, 0).sum(axis=-1)


# --- many texts ----------------------------------------------------------------------------------------------
@dataclass(frozen=True, eq=False)
class KeywordData:
    """Scores of all words of some texts for every head, and which words are key.

    Attributes
    ----------
    scores : dict of "mean", "max" -> float32 ndarray of shape (word, layer, head)
        Of all texts, one after the other; see `token_scores`.
    is_key : bool ndarray of shape (word,)
    text_ids : int ndarray of shape (word,)
        The text each word stands in, counted from 0.
    n_pieces : int ndarray of shape (word,)
        Wordpieces of each word. A split word has the sum of what its pieces receive, so even a model that looks at all tokens equally gives
        it more: a rule by itself, and the reason why a random twin does not stand at .5.
    words : tuple of str
        Punctuation marks are words.
    documents : tuple of KeyphraseDocument
        The texts, in order; only the words that were read are in ``words``.
    entropy : float ndarray of shape (text, layer, head)
        Mean entropy of the rows of the wordpiece map, nats, divided by ln n (1 for uniform attention).
    sep : float ndarray of shape (text, layer, head)
        Mean share that goes to [SEP].
    skipped : tuple of (id, reason)
        Texts on which nothing can be decided.
    n_cut : int
        Texts that were too long and of which the beginning was read.
    n_missing : int
        Key phrases of the texts read that do not occur in what was read of them.
    model : str
    """

    scores: dict[str, np.ndarray]
    is_key: np.ndarray
    text_ids: np.ndarray
    n_pieces: np.ndarray
    words: tuple[str, ...]
    documents: tuple[KeyphraseDocument, ...]
    entropy: np.ndarray
    sep: np.ndarray
    skipped: tuple[tuple[str, str], ...] = ()
    n_cut: int = 0
    n_missing: int = 0
    model: str = ""

    @property
    def n_texts(self) -> int:
        return len(self.documents)

    @property
    def n_layers(self) -> int:
        return self.entropy.shape[1]

    @property
    def n_heads(self) -> int:
        return self.entropy.shape[2]

    @property
    def share_key(self) -> float:
        """Share of the words that are key."""
        return float(self.is_key.mean())

    def text(self, number: int) -> slice:
        """Where the words of one text stand, as a slice."""
        found = np.flatnonzero(self.text_ids == number)
        if not len(found):
            raise IndexError(f"there are texts 0 to {self.n_texts - 1}; got {number}.")
        return slice(int(found[0]), int(found[-1]) + 1)

    def take(self, numbers: Iterable[int]) -> KeywordData:
        """Some of the texts, by number; they are counted from 0 again."""
        numbers = [int(i) for i in numbers]
        parts = [self.text(i) for i in numbers]
        rows = np.concatenate([np.arange(len(self.words))[part] for part in parts]) if parts else []
        rows = np.asarray(rows, int)
        return replace(
            self,
            scores={name: values[rows] for name, values in self.scores.items()},
            is_key=self.is_key[rows],
            text_ids=np.repeat(np.arange(len(parts)), [part.stop - part.start for part in parts]),
            n_pieces=self.n_pieces[rows],
            words=tuple(self.words[i] for i in rows),
            documents=tuple(self.documents[i] for i in numbers),
            entropy=self.entropy[numbers],
            sep=self.sep[numbers],
        )

    def halves(self) -> tuple[KeywordData, KeywordData]:
        """The texts to choose and fit on, and those to report on: see `bertlook_course.corpora.halves`."""
        from ...corpora import halves

        train, test = halves(self.documents)
        place = {document.id: i for i, document in enumerate(self.documents)}
        return tuple(self.take(place[document.id] for document in half) for half in (train, test))

    def per_piece(self) -> KeywordData:
        """The same with the scores of each word divided by its number of wordpieces: what one piece receives."""
        shares = {
            name: values / self.n_pieces[:, None, None].astype(np.float32)
            for name, values in self.scores.items()
        }
        return replace(self, scores=shares)

    def features(self, column: str = "mean") -> np.ndarray:
        """What the models read: each head's scores divided by their mean over the text, shape (word, layer * head).

        So that words of a long text, whose shares are smaller, are not behind those of a short one.
        """
        flat = self.scores[column].reshape(len(self.words), -1).astype(float)
        means = np.stack([flat[self.text(i)].mean(axis=0) for i in range(self.n_texts)])
        return flat / np.maximum(means, 1e-12)[self.text_ids]

    def __repr__(self) -> str:
        return (
            f"KeywordData({self.n_texts} texts, {len(self.words)} words, {self.share_key:.1%} key; "
            f"{self.n_layers} layers x {self.n_heads} heads of {self.model or 'a model'})"
        )


def read_keywords(
    encoder: Encoder,
    documents: Sequence[KeyphraseDocument],
    *,
    batch_size: int = 8,
    progress: Callable[[Iterable], Iterable] | None = None,
) -> KeywordData:
    """Run an encoder over texts with key phrases and keep what each word receives.

    A text that is too long is read from its beginning, whole words only. A text on which nothing can be decided (no phrase in
    what is read, every word key, one word) is left out and named in ``skipped``.

    Parameters
    ----------
    encoder : Encoder
    documents : sequence of KeyphraseDocument
    batch_size : int
    progress : function
        Wrapped round the texts, for example ``tqdm``.

    Raises
    ------
    ValueError
        If no text is left; with the reasons.
    """
    from bertlook_teach.measures import attention_entropy, special_token_attention
    from bertlook_teach.model import iter_attention

    readable, skipped, n_cut, n_missing = [], [], 0, 0
    for document in documents:
        kept, was_cut = readable_words(encoder, document.words)
        key = np.array(document.is_key(), bool)[kept]
        reason = _reason(kept, key)
        if reason:
            skipped.append((document.id, reason))
            continue
        n_cut += was_cut
        end = document.word_spans[kept[-1]][1]
        n_missing += sum(not any(b <= end for _, b in places) for places in document.spans)
        readable.append((document, kept, key))
    if not readable:
        raise ValueError(f"nothing can be decided on these {len(documents)} texts: {_reasons(skipped)}.")
    lists = [[document.words[i] for i in kept] for document, kept, _ in readable]
    stream = iter_attention(encoder, lists, batch_size=batch_size)
    scores: dict[str, list] = {column: [] for column in COLUMNS}
    entropy, sep, pieces = [], [], []
    for attention in stream if progress is None else progress(stream):
        words = attention.to_words()
        for column in COLUMNS:
            scores[column].append(np.moveaxis(token_scores(words, column), -1, 0))
        entropy.append(attention_entropy(attention, normalized=True))
        sep.append(special_token_attention(attention, "sep"))
        pieces.append(np.bincount([word for word in attention.word_ids if word is not None]))
    return KeywordData(
        scores={column: np.concatenate(found).astype(np.float32) for column, found in scores.items()},
        is_key=np.concatenate([key for *_, key in readable]),
        text_ids=np.repeat(np.arange(len(lists)), [len(words) for words in lists]),
        n_pieces=np.concatenate(pieces),
        words=tuple(word for words in lists for word in words),
        documents=tuple(document for document, *_ in readable),
        entropy=np.stack(entropy),
        sep=np.stack(sep),
        skipped=tuple(skipped),
        n_cut=n_cut,
        n_missing=n_missing,
        model=encoder.name,
    )


def readable_words(encoder: Encoder, words: Sequence[str]) -> tuple[list[int], bool]:
    """Which words of a text an encoder reads, as indices: as many from the beginning as fit whole; and whether some do not fit.

    A word that leaves no wordpiece (a control character) is passed over.
    """
    encoded = encode_words(encoder, words, verbose=False)
    owners = encoded.word_ids()
    room = encoder.max_tokens - sum(owner is None for owner in owners)
    pieces = [owner for owner in owners if owner is not None]
    beyond = pieces[room] if len(pieces) > room else len(words)  # the word that is cut, and all after it
    return [word for word in dict.fromkeys(pieces) if word < beyond], beyond < len(words)


def _reason(kept: Sequence[int], key: np.ndarray) -> str:
    """Why nothing can be decided on a text; empty if something can."""
    if not len(kept):
        return UNREAD
    if len(kept) == 1:
        return ONE_WORD
    return NO_KEY if not key.any() else ALL_KEY if key.all() else ""


def _reasons(skipped: Sequence[tuple[str, str]]) -> str:
    counts: dict[str, int] = {}
    for _, reason in skipped:
        counts[reason] = counts.get(reason, 0) + 1
    return "; ".join(f"{n} times: {reason}" for reason, n in counts.items()) or "there are none"


def auc_by_text(data: KeywordData, scores) -> np.ndarray:
    """`auc` within each text.

    Parameters
    ----------
    data : KeywordData
    scores : array of shape (word, ...)
        Any score of each word: of heads (``data.scores["mean"]``), of a rule, of a model.

    Returns
    -------
    ndarray of shape (text, ...)
    """
    return _by_text(data, scores, auc)


def relative_by_text(data: KeywordData, column: str = "mean") -> np.ndarray:
    """`relative_attention` within each text, shape (text, layer, head)."""
    return _by_text(data, data.scores[column], relative_attention)


def _by_text(data: KeywordData, scores, measure: Callable) -> np.ndarray:
    if not hasattr(data, "is_key"):
        raise TypeError(
            f"what read_keywords(encoder, texts) returned comes first, then scores; got {type(data).__name__}."
        )
    scores = np.asarray(scores)
    if len(scores) != len(data.words):
        raise ValueError(f"one score a word is needed, {len(data.words)} of them; got {len(scores)}.")
    parts = [data.text(i) for i in range(data.n_texts)]
    return np.stack([measure(np.moveaxis(scores[part], 0, -1), data.is_key[part]) for part in parts])


def slides_score(data: KeywordData) -> tuple[np.ndarray, np.ndarray]:
    """Of each text and head the `unnormalised_entropy` of the column maxima, a word, and how far these maxima lie apart.

    Returns
    -------
    score : ndarray of shape (text, layer, head), nats a word
    spread : ndarray of shape (text, layer, head)
        Interquartile range over the words of a text: near 0 for a head whose maximum is the same for every word ("saturated").
    """
    parts = [data.scores["max"][data.text(i)] for i in range(data.n_texts)]
    score = [unnormalised_entropy(np.moveaxis(part, 0, -1)) / len(part) for part in parts]
    quartiles = [np.quantile(part, (0.25, 0.75), axis=0) for part in parts]
    return np.stack(score), np.stack([high - low for low, high in quartiles])


def mean_with_interval(values, *, seed: int = 0) -> tuple[float, float, float]:
    """Mean over texts with its 95 % bootstrap interval: (mean, low, high).

    Parameters
    ----------
    values : array of shape (text,)
    """
    values = np.asarray(values, float)
    return float(values.mean()), *ratio_interval(np.stack([values, np.ones_like(values)], 1), seed=seed)
