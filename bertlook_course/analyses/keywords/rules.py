"""Rivals of attention that need no attention: place, length, wordpieces, tf-idf, RAKE. A head is compared with the best of them.

RAKE is written out here, a few lines, rather than taken from a library (see `docs/decisions.md`).
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterable, Sequence
from itertools import groupby

import numpy as np

from .scores import KeywordData

RULES = ("position", "length", "pieces", "tf-idf", "RAKE")

# Function words of English, written down for this project: what no index would list.
_STOP = """
a about above across after again against all almost along already also although always am among an and another any are around as
at away back be became because become been before behind being below beneath beside between beyond both but by came can cannot
could did do does doing done down during each either else enough even ever every few first for from further gave get give given
go goes had has have having he her here hers herself him himself his how however i if in indeed instead into is it its itself
just keep kept last least less let like made make many may me might mine more most much must my myself near nearly neither never
next no nor not nothing now of off often on once one only onto or other others our out over own part perhaps put rather same say
says second see seen several shall she should since so some soon still such take than that the their them then there therefore
these they thing things third this those though three through throughout thus to together too took toward towards two under
until up upon us use used uses using very was way we well went were what when where whether which while who whole whom whose why
will with within without would yet you your
"""

STOP_WORDS = frozenset(_STOP.split())


def rule_scores(data: KeywordData, frequencies: tuple[Counter, int] | None = None) -> dict[str, np.ndarray]:
    """Every rule's score of each word, higher for what the rule takes for key: name -> array of shape (word,).

    Parameters
    ----------
    data : KeywordData
    frequencies : (Counter, int), optional
        In how many of how many texts each word occurs, of other texts (`document_frequencies`); default: of these texts themselves.
    """
    counted = document_frequencies(texts_of(data)) if frequencies is None else frequencies
    found: dict[str, list] = {name: [] for name in RULES}
    for words in texts_of(data):
        found["position"].append(-np.arange(len(words), dtype=float))
        found["length"].append(np.array([len(word) for word in words], float))
        found["tf-idf"].append(tf_idf(words, counted))
        found["RAKE"].append(rake(words))
    found["pieces"] = [data.n_pieces.astype(float)]
    return {name: np.concatenate(parts) for name, parts in found.items()}


def texts_of(data: KeywordData) -> list[tuple[str, ...]]:
    """The words of each text."""
    return [data.words[data.text(i)] for i in range(data.n_texts)]


def _lower(words: Sequence[str]) -> list[str]:
    if isinstance(words, str):
        raise TypeError(f"a text is given as its words, in a list; got one string, {words!r:.60}.")
    return [word.lower() for word in words]


def document_frequencies(texts: Iterable[Sequence[str]]) -> tuple[Counter, int]:
    """In how many texts each word occurs (small letters), and how many texts there are."""
    counts, n = Counter(), 0
    for words in texts:
        counts.update(set(_lower(words)))
        n += 1
    return counts, n


def tf_idf(words: Sequence[str], frequencies: tuple[Counter, int]) -> np.ndarray:
    """Count in the text times ``ln((n + 1) / (d + 1))``, with the word in d of n texts; a mark has 0.

    >>> tf_idf(["Tide", "and", "tide", "."], (Counter({"and": 3}), 3)).round(2)
    array([2.77, 0.  , 2.77, 0.  ])
    """
    counts, n = frequencies
    lower = _lower(words)
    times = Counter(lower)
    return np.array(
        [times[w] * math.log((n + 1) / (counts[w] + 1)) if w[:1].isalnum() else 0.0 for w in lower]
    )


def rake(words: Sequence[str]) -> np.ndarray:
    """Rapid automatic keyword extraction: the score of the phrase that each word stands in, shape (word,).

    A phrase is a longest run of words without stop word and mark. A word scores its degree (how many words its phrases have, itself
    included, over all its occurrences) divided by how often it occurs; a phrase scores the sum of its words. Stop words and marks: 0.

    References
    ----------
    Rose, Engel, Cramer and Cowley (2010), Automatic Keyword Extraction from Individual Documents.

    Examples
    --------
    >>> rake("the salt marsh and the marsh".split()).tolist()
    [0.0, 3.5, 3.5, 0.0, 0.0, 1.5]
    """
    lower = _lower(words)

    def content(i: int) -> bool:
        return lower[i][:1].isalnum() and lower[i] not in STOP_WORDS

    phrases = [list(run) for is_phrase, run in groupby(range(len(words)), content) if is_phrase]
    times, degree = Counter(), Counter()
    for phrase in phrases:
        for i in phrase:
            times[lower[i]] += 1
            degree[lower[i]] += len(phrase)
    scores = np.zeros(len(words))
    for phrase in phrases:
        scores[phrase] = sum(degree[lower[i]] / times[lower[i]] for i in phrase)
    return scores
