"""Lesson 12: what its deck shows and its claims are decided on: heads, rules and taggers as keyword finders.

The inputs are the course's own texts with key phrases. Texts of the file's ``train`` half stand at even places and choose, those of its
``test`` half at odd places and report; all that is fitted is fitted on the first.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from itertools import zip_longest

import numpy as np

from ...analyses.ablation import remove_one, worst_first
from ...analyses.keywords import (
    Comparison,
    KeywordData,
    auc_by_text,
    compare,
    cross_entropies,
    read_keywords,
    relative_by_text,
    slides_score,
    without_heads,
)
from ...corpora import load_keyphrases
from ...metrics import CannotDecide
from ...published import read_published
from ...storage import Memory, cached
from ..evidence import evidence

FEWEST = 6  # texts in each half

DRAWS = 6  # random orders

SHARES = (0.0, 0.25, 0.5, 0.75, 1.0)  # of the heads, taken away


@dataclass(frozen=True, eq=False)
class Measured:
    """What one model makes of the texts. What each single word receives is not kept (`read_keywords` reads it again).

    Attributes
    ----------
    data : KeywordData
        All texts, with empty ``scores``.
    comparison : Comparison
        Its halves have empty ``scores`` too.
    heads : tuple of two dicts
        `head_quantities` of the texts that choose, and of those that report.
    removal : dict of order -> float array of shape (text, step)
        AUC of the regression of all heads on each text that reports, with more and more heads away (``SHARES``).
    """

    data: KeywordData
    comparison: Comparison
    heads: tuple[dict[str, np.ndarray], dict[str, np.ndarray]]
    removal: dict[str, np.ndarray]

    @property
    def train(self) -> KeywordData:
        return self.comparison.train

    @property
    def test(self) -> KeywordData:
        return self.comparison.test

    def mean(self, quantity: str) -> np.ndarray:
        """A quantity of each head, mean over all texts."""
        return np.concatenate([half[quantity] for half in self.heads]).mean(axis=0)


@dataclass(frozen=True, eq=False)
class Tuned:
    """Answers of a model that was taught to tag key words: log-odds of the words that report, the cut-off of F1, the loss of each pass."""

    log_odds: np.ndarray
    cutoff: float
    losses: tuple[float, ...]


def measured(encoder, resources) -> Measured:
    """What heads say of the texts, and the comparison of what was fitted on it; kept.

    Raises
    ------
    CannotDecide
        If a half has too few texts.
    """
    return _known.once(
        ("scores", encoder.fingerprint, resources.limit),
        lambda: cached(
            "keyword scores",
            (encoder, resources.limit),
            lambda: _measure(encoder, resources.limit),
            out=_without_texts,
            back=_with_texts,
            version=1,
        ),
    )


def tuned(encoder, resources) -> Tuned:
    """What the encoder answers when it has been taught to tag key words on the texts that choose; kept."""
    return _known.once(
        ("tagger", encoder.fingerprint, resources.limit),
        lambda: cached(
            "key tagger", (encoder, resources.limit), lambda: _tune(encoder, resources), version=1
        ),
    )


_known = Memory(8)


def _measure(encoder, limit) -> Measured:
    try:
        data = read_keywords(encoder, load_keyphrases()[:limit])
        train, test = data.halves()
    except ValueError as reason:
        raise CannotDecide(str(reason)) from None
    fewest = min(train.n_texts, test.n_texts)
    if fewest < FEWEST:
        raise CannotDecide(f"{FEWEST} texts to fit on and {FEWEST} to score are needed; a half has {fewest}")
    found = compare(train, test)
    bare = replace(found, train=replace(train, scores={}), test=replace(test, scores={}))
    heads = head_quantities(train), head_quantities(test)
    return Measured(replace(data, scores={}), bare, heads, removal(found))


def _tune(encoder, resources) -> Tuned:
    from ...analyses.keywords import fine_tune_key_tagger

    found = measured(encoder, resources)
    tagger = fine_tune_key_tagger(encoder, found.train)
    return Tuned(tagger.log_odds(found.test), tagger.cutoff, tuple(tagger.tagger.losses))


def _without_texts(found: Measured) -> tuple:
    """For the disk: the texts themselves are shipped already."""
    data = replace(found.data, documents=(), words=())
    ids, words = tuple(d.id for d in found.data.documents), "\n".join(found.data.words)
    return data, ids, words, replace(found.comparison, train=None, test=None), found.heads, found.removal


def _with_texts(kept: tuple) -> Measured:
    data, ids, words, comparison, heads, removed = kept
    documents = {document.id: document for document in load_keyphrases()}
    data = replace(data, documents=tuple(documents[i] for i in ids), words=tuple(words.split("\n")))
    train, test = data.halves()
    return Measured(data, replace(comparison, train=train, test=test), heads, removed)


def head_quantities(data: KeywordData) -> dict[str, np.ndarray]:
    """Of each text, shape (text, layer, head): AUC of both columns, relative attention, entropy, the slides' score and the spread of the maxima."""
    score, spread = slides_score(data)
    return {
        "mean": auc_by_text(data, data.scores["mean"]),
        "max": auc_by_text(data, data.scores["max"]),
        "a piece": auc_by_text(data, data.per_piece().scores["mean"]),
        "relative": relative_by_text(data),
        "entropy": data.entropy,
        "score": score,
        "spread": spread,
    }


@evidence("key scores", version=2, unit="texts")
def key_scores(encoder, resources) -> Iterator[dict[str, np.ndarray]]:
    """For each text what its heads say; for those that report also what was fitted on the others."""
    found = measured(encoder, resources)
    choosing, reporting = found.heads[0], dict(found.heads[1])
    for name, (log_odds, cutoff) in found.comparison.answers.items():
        reporting[name] = auc_by_text(found.test, log_odds)
        reporting[f"{name} loss"] = _mean_by_text(found.test, cross_entropies(log_odds, found.test.is_key))
    prior = np.log(found.train.share_key) - np.log1p(-found.train.share_key)
    even = np.full(len(found.test.words), prior)
    reporting["prior loss"] = _mean_by_text(found.test, cross_entropies(even, found.test.is_key))
    yield from interleaved(choosing, reporting)


def removal(found: Comparison) -> dict[str, np.ndarray]:
    """AUC of the regression of all heads on each text that reports, with more and more heads away: (text, step) an order."""
    n_heads = found.train.n_heads
    heads = [divmod(i, n_heads) for i in range(found.train.n_layers * n_heads)]
    model = found.regression
    ranked = worst_first(remove_one(without_heads(model, found.train), heads), heads)
    generator = np.random.default_rng(0)
    draws = [[heads[i] for i in generator.permutation(len(heads))] for _ in range(DRAWS)]
    score = without_heads(model, found.test)

    def curve(order):
        return np.stack([score(order[: round(share * len(heads))])[:, 0] for share in SHARES], axis=1)

    return {
        "worst first": curve(ranked),
        "best first": curve(ranked[::-1]),
        "at random": np.mean([curve(order) for order in draws], axis=0),
    }


def interleaved(choosing: Mapping, reporting: Mapping) -> Iterator[dict[str, np.ndarray]]:
    """Texts that choose at even places, texts that report at odd ones; where one side is longer, an empty dict stands opposite."""

    def rows(side):
        return [dict(zip(side, values)) for values in zip(*side.values())]

    for even, odd in zip_longest(rows(choosing), rows(reporting), fillvalue={}):
        yield even
        yield odd


def _mean_by_text(data: KeywordData, values) -> np.ndarray:
    return np.bincount(data.text_ids, values, data.n_texts) / np.bincount(data.text_ids)


def published_scores() -> dict[tuple[int, int], dict[str, float]]:
    """The ten heads of the slides: (layer, head) as printed -> "score", and Clark et al.'s "entropy" and "sep" of the same heads."""
    found: dict[tuple[int, int], dict[str, float]] = {}
    for row in read_published("stefanik_keyword_weighting"):
        if not row.head:
            continue
        name = (
            "score" if "entropy-type" in row.quantity else "entropy" if "entropy" in row.quantity else "sep"
        )
        found.setdefault((int(row.layer), int(row.head)), {})[name] = float(row.value)
    return found


EVIDENCE = {"key scores": key_scores}
