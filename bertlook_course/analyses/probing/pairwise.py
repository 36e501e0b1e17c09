"""Is there an arc between two words? A probe that looks at one pair at a time, and the rule it must beat.

Coenen et al. (2019) give a linear classifier the attention of all heads from one word to another and ask whether a dependency links
the two; it is right in 85.8 % of balanced pairs. That is not a parsing score: most unrelated pairs stand far apart, so the distance alone
tells much. Here negatives are drawn two ways, from all unrelated pairs and matched in distance, and a rule that
knows only the signed distance is scored beside the probe.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from bertlook_teach.stats import unit_interval

from ...corpora import document_numbers
from ...metrics import logistic_regression
from .probe_inputs import ENOUGH_DOCUMENTS, ProbeSentence

NEGATIVES = ("uniform", "distance-matched")

L2 = 1e-3


@dataclass(frozen=True, eq=False)
class Pairs:
    """Ordered pairs of words, half of them linked.

    Attributes
    ----------
    features : float32 ndarray of shape (pair, feature)
        Attention from the first word to the second, a head a column.
    linked : bool ndarray of shape (pair,)
        Whether the second word is the governor of the first.
    distance : int ndarray of shape (pair,)
        Place of the second word minus place of the first.
    sentence : int ndarray of shape (pair,)
        Which sentence a pair comes from.
    unit : int ndarray of shape (pair,)
        What an interval draws: its document where 20 or more are named, its sentence otherwise.
    n_unmatched : int
        Linked pairs left out because no unrelated pair of their distance was left.
    """

    features: np.ndarray
    linked: np.ndarray
    distance: np.ndarray
    sentence: np.ndarray
    unit: np.ndarray
    n_unmatched: int = 0

    def __len__(self) -> int:
        return len(self.linked)

    def of(self, chosen: np.ndarray) -> Pairs:
        """The chosen pairs only."""
        columns = (self.features, self.linked, self.distance, self.sentence, self.unit)
        return Pairs(*(column[chosen] for column in columns))


@dataclass(frozen=True)
class PairScore:
    """Accuracy over balanced pairs (chance is .5), with its 95 % interval over documents, and n."""

    accuracy: float
    low: float
    high: float
    n_pairs: int
    n_sentences: int


def sample_pairs(sentences: Sequence[ProbeSentence], *, negatives: str = "uniform", seed: int = 0) -> Pairs:
    """Every arc of a treebank, and as many ordered pairs that no arc links.

    Parameters
    ----------
    sentences : sequence of ProbeSentence
        From `bertlook_course.analyses.probing.read_features`.
    negatives : {"uniform", "distance-matched"}
        Drawn from all unrelated pairs of the same sentence; or, each for one arc, from the unrelated pairs of its signed distance in any
        sentence, so that distance tells nothing.
    """
    if negatives not in NEGATIVES:
        raise ValueError(f"negatives must be one of {', '.join(NEGATIVES)}; got {negatives!r}.")
    rng = np.random.default_rng(seed)
    arcs, others = [], []  # (sentence, dependent, candidate)
    for number, sentence in enumerate(sentences):
        n = len(sentence)
        linked = np.zeros((n, n), bool)
        inside = np.flatnonzero(sentence.governors < n)
        linked[inside, sentence.governors[inside]] = True
        free = ~(linked | linked.T | np.eye(n, dtype=bool))
        here, away = np.argwhere(linked), np.argwhere(free)
        if negatives == "uniform":
            k = min(len(here), len(away))
            here = here[rng.permutation(len(here))[:k]]
            away = away[rng.permutation(len(away))[:k]]
        arcs += [(number, *pair) for pair in here.tolist()]
        others += [(number, *pair) for pair in away.tolist()]
    arcs, others = np.array(arcs, int).reshape(-1, 3), np.array(others, int).reshape(-1, 3)
    n_arcs = len(arcs)
    if negatives == "distance-matched":
        arcs, others = _match(arcs, others, rng)
    if not len(arcs):
        raise ValueError(
            f"no arc with an unrelated pair beside it in {len(sentences)} sentences; give longer sentences, or more."
        )
    both = np.concatenate([arcs, others])
    width = sentences[0].between.shape[-1] // 2
    # In ProbeSentence the second half of the features is the attention from the dependent to the candidate: those of
    # the paper, as far as it says.
    features = np.stack(
        [sentences[s].between[dependent, candidate, width:] for s, dependent, candidate in both]
    )
    return Pairs(
        features,
        np.arange(len(both)) < len(arcs),
        both[:, 2] - both[:, 1],
        both[:, 0],
        document_numbers(sentences, ENOUGH_DOCUMENTS)[both[:, 0]],
        n_arcs - len(arcs) if negatives == "distance-matched" else 0,
    )


def _match(arcs: np.ndarray, others: np.ndarray, rng) -> tuple[np.ndarray, np.ndarray]:
    """For each signed distance equally many arcs and unrelated pairs, drawn without replacement."""
    kept, matched = [], []
    arc_distance, other_distance = arcs[:, 2] - arcs[:, 1], others[:, 2] - others[:, 1]
    for distance in np.unique(arc_distance):
        here, away = np.flatnonzero(arc_distance == distance), np.flatnonzero(other_distance == distance)
        k = min(len(here), len(away))
        kept.append(arcs[rng.permutation(here)[:k]])
        matched.append(others[rng.permutation(away)[:k]])
    if not kept:
        return arcs[:0], others[:0]
    return np.concatenate(kept), np.concatenate(matched)


def fit_pair_probe(pairs: Pairs, *, l2: float = L2):
    """L2-regularised logistic regression on the attention of all heads.

    Returns
    -------
    predict : function(Pairs) -> bool array of shape (pair,)
        Its attributes ``weights`` (feature,) and ``bias`` are the fitted ones, in units of the features' standard deviation; ``converged``
        says whether the solver reached its optimum.
    """
    if len(np.unique(pairs.linked)) < 2:
        raise ValueError(f"the probe needs linked and unlinked pairs; got {len(pairs)} of one kind.")
    mean, spread = pairs.features.mean(axis=0), pairs.features.std(axis=0) + 1e-6
    model = logistic_regression(((pairs.features - mean) / spread).astype(float), pairs.linked, l2=l2)
    weights, bias = model.coef_[0], float(model.intercept_[0])

    def predict(pairs: Pairs) -> np.ndarray:
        return (pairs.features - mean) / spread @ weights + bias > 0

    predict.weights, predict.bias, predict.converged = weights, bias, model.converged_
    return predict


def distance_rule(pairs: Pairs):
    """The best guess from the signed distance alone: linked if most training pairs of that distance were.

    A distance never seen in training counts as unlinked, and so does a tie.
    """
    distances = np.unique(pairs.distance)
    yes = {int(d) for d in distances if pairs.linked[pairs.distance == d].mean() > 0.5}

    def predict(pairs: Pairs) -> np.ndarray:
        return np.isin(pairs.distance, sorted(yes))

    return predict


def pair_accuracy(predict, pairs: Pairs, *, seed: int = 0) -> PairScore:
    """Share of pairs answered rightly, with a 95 % bootstrap interval over documents (see `Pairs`).

    ``pairs`` must come from other sentences than the predictor was fitted on.
    """
    right = np.asarray(predict(pairs)) == pairs.linked
    n_sentences = len(np.unique(pairs.sentence))
    if n_sentences < 2:
        raise ValueError(f"an interval needs pairs of two sentences or more; got {n_sentences}.")
    _, unit = np.unique(pairs.unit, return_inverse=True)
    return PairScore(float(right.mean()), *unit_interval(right, unit, seed=seed), len(right), n_sentences)
