"""A tree in the hidden states: the structural probe of Hewitt and Manning (2019), in one layer.

It learns a linear map under which the squared distance of two words' vectors is the number of arcs between them, and reads the
tree as the shortest set of links that joins all words. **Not comparable** with the probes of `bertlook_course.analyses.probing.attention_probes`: it reads
vectors and not attention, one layer and not all heads, and its links have no direction, so that nothing is said of who governs.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace
from itertools import pairwise

import numpy as np

from bertlook_teach.model import check_reading, import_torch
from bertlook_teach.stats import ratio_interval

from .probe_inputs import by_document, leave_documents_out
from .states import hidden_states

Edges = set[tuple[int, int]]

EPOCH_CHOICES = (10, 20, 40)  # with more, UUAS on other documents falls, though the loss still does


@dataclass(frozen=True, eq=False)
class TreeSentence:
    """One sentence as the structural probe reads it.

    Attributes
    ----------
    vectors : float32 ndarray of shape (word, dim)
        Hidden states of one layer, the mean over a word's wordpieces.
    governors : int ndarray of shape (word,)
        Zero-based; -1 for the root.
    counted : bool ndarray of shape (word,)
        False for punctuation, which takes no part in the tree that is scored.
    doc_id : str, optional
        As in `ProbeSentence`.
    """

    vectors: np.ndarray
    governors: np.ndarray
    counted: np.ndarray
    doc_id: str | None = None

    def __len__(self) -> int:
        return len(self.governors)


@dataclass(frozen=True)
class UndirectedScore:
    """UUAS, the share of gold links found whatever their direction, with its 95 % interval and n. No UAS: not comparable."""

    uuas: float
    low: float
    high: float
    n_links: int
    n_sentences: int

    def __repr__(self) -> str:
        return f"UUAS {self.uuas:.3f} [{self.low:.3f}, {self.high:.3f}], {self.n_links} links of {self.n_sentences} sentences"


# --- trees ---------------------------------------------------------------------------------------------
def tree_distances(governors: Sequence[int]) -> np.ndarray:
    """Number of arcs on the way from word to word, shape (word, word), from governors (-1 for the root).

    >>> tree_distances([1, -1, 1]).tolist()  # the cat sat: two dependents of the middle word
    [[0, 1, 2], [1, 0, 1], [2, 1, 0]]
    """
    governors = np.asarray(governors)
    n = len(governors)
    ways = []
    for word in range(n):
        way = [word]
        while governors[way[-1]] >= 0:
            way.append(int(governors[way[-1]]))
            if len(way) > n:
                raise ValueError(f"the governors {governors.tolist()} run in a circle; a tree was expected.")
        ways.append(way)
    if len({way[-1] for way in ways}) > 1:
        raise ValueError(f"one root was expected, a governor of -1; got {governors.tolist()}.")
    distances = np.zeros((n, n), int)
    for i in range(n):
        place = {word: steps for steps, word in enumerate(ways[i])}
        for j in range(n):
            distances[i, j] = next(steps + place[word] for steps, word in enumerate(ways[j]) if word in place)
    return distances


def spanning_edges(distances) -> Edges:
    """The links of the minimum spanning tree, as pairs (smaller, larger) of positions (Prim's algorithm).

    Raises
    ------
    ValueError
        If distances are not a square matrix of finite numbers, or look like similarities.
    """
    distances = np.asarray(distances, float)
    if distances.ndim != 2 or distances.shape[0] != distances.shape[1] or not np.isfinite(distances).all():
        raise ValueError(
            f"a spanning tree needs finite distances of shape (word, word); got shape {distances.shape}."
        )
    diagonal = np.diagonal(distances)
    if len(diagonal) > 1 and diagonal.max() > 0 and (diagonal[:, None] >= distances).all():
        raise ValueError(
            "a word is nearest to itself, so these look like similarities, not distances: give 1 - similarities, or max - similarities."
        )
    if not np.allclose(distances, distances.T):
        raise ValueError(
            "a distance is the same both ways: give the mean of both, (distances + distances.T) / 2."
        )
    n = len(distances)
    edges: Edges = set()
    nearest, reach = np.zeros(n, int), distances[0].copy() if n else np.zeros(0)
    outside = np.arange(n) > 0
    while outside.any():
        word = int(np.where(outside, reach, np.inf).argmin())
        edges.add((min(word, int(nearest[word])), max(word, int(nearest[word]))))
        outside[word] = False
        closer = outside & (distances[word] < reach)
        nearest[closer], reach[closer] = word, distances[word][closer]
    return edges


def gold_edges(sentence: TreeSentence) -> Edges:
    """The treebank's links between words that count, as pairs (smaller, larger) of positions."""
    return {
        (min(word, int(governor)), max(word, int(governor)))
        for word, governor in enumerate(sentence.governors)
        if governor >= 0 and sentence.counted[word] and sentence.counted[governor]
    }


def chain_edges(sentence: TreeSentence) -> Edges:
    """The baseline: each word that counts linked with the next."""
    words = np.flatnonzero(sentence.counted).tolist()
    return set(pairwise(words))


# --- hidden states -------------------------------------------------------------------------------------
def read_hidden_states(encoder, sentences: Iterable, layer: int) -> list[TreeSentence]:
    """Vectors of the words of treebank sentences after one layer; what the model cannot read whole is left out.

    Parameters
    ----------
    encoder : Encoder
    sentences : iterable of TreebankSentence
    layer : int
        Zero-based: 0 is the output of the first layer.

    Raises
    ------
    ValueError
        If there is no such layer.
    """
    if not 0 <= layer < encoder.n_layers:
        raise ValueError(f"layer lies between 0 and {encoder.n_layers - 1} in {encoder.name}; got {layer}.")
    sentences = [s for s in sentences if not check_reading(encoder, s.words).obstacle]
    read = []
    states = hidden_states(encoder, [s.words for s in sentences])
    for s, layers in zip(sentences, states, strict=True):
        counted = np.array([tag != "PUNCT" for tag in s.upos])
        # Copied, so that the other layers are let go; the first is the embedding output.
        read.append(TreeSentence(layers[layer + 1].copy(), np.array(s.governors), counted, s.doc_id))
    return read


# --- the probe -----------------------------------------------------------------------------------------
@dataclass(frozen=True, eq=False)
class StructuralProbe:
    """A fitted distance probe: ``projection`` of shape (dim, rank); ``loss`` is the last epoch's mean.

    ``epochs`` is how long it was trained, ``chosen`` whether that was chosen on documents left out of the fit.
    """

    projection: np.ndarray
    loss: float
    epochs: int = 0
    chosen: bool = False

    def distances(self, vectors: np.ndarray) -> np.ndarray:
        """Squared distances of the projected vectors, shape (word, word): estimates of `tree_distances`."""
        placed = vectors @ self.projection
        return ((placed[:, None] - placed[None]) ** 2).sum(axis=-1)

    def edges(self, sentence: TreeSentence) -> Edges:
        """The links of the minimum spanning tree over the words that count."""
        words = np.flatnonzero(sentence.counted)
        found = spanning_edges(self.distances(sentence.vectors[words]))
        return {(int(words[a]), int(words[b])) for a, b in found}


def fit_structural_probe(
    sentences: Sequence[TreeSentence],
    *,
    rank: int = 64,
    epochs: int | None = None,
    learning_rate: float = 1e-3,
    batch_size: int = 16,
    seed: int = 0,
) -> StructuralProbe:
    """Fit the distance probe: |squared distance - number of arcs|, averaged over a sentence's pairs, by Adam with falling steps; seeded.

    It has far more weights than a small treebank has words, so it is stopped early.

    Parameters
    ----------
    sentences : sequence of TreeSentence
    rank : int
        Dimensions of the space in which distances are taken; at most that of the vectors is used.
    epochs : int, optional
        Over which the steps fall to zero; without, those of 10, 20 and 40 with the best UUAS on every fourth document, left out of the fit.

    Raises
    ------
    ValueError
        If there is no sentence of two words, the vectors differ in their number of dimensions, or no document can be left out.
    """
    torch = import_torch()

    widths = {s.vectors.shape[-1] for s in sentences}
    sentences = [s for s in sentences if len(s) > 1]
    if len(widths) != 1 or not sentences:
        raise ValueError(
            f"the structural probe needs sentences of two words or more, all from one layer; got {len(sentences)} with vectors of {sorted(widths)}."
        )
    if epochs is None:
        options = {"rank": rank, "learning_rate": learning_rate, "batch_size": batch_size, "seed": seed}
        fitted_on, left_out = leave_documents_out(sentences)

        def found(epochs: int) -> float:
            return _uuas(fit_structural_probe(fitted_on, epochs=epochs, **options).edges, left_out)

        best = fit_structural_probe(sentences, epochs=max(EPOCH_CHOICES, key=found), **options)
        return replace(best, chosen=True)
    dim = widths.pop()
    scale = float(np.concatenate([s.vectors for s in sentences]).std()) + 1e-9
    generator = torch.Generator().manual_seed(seed)
    rank = min(rank, dim)
    # Begin near distances of about one arc, whatever the size of the vectors.
    projection = (torch.randn((dim, rank), generator=generator) / (2 * dim * rank) ** 0.5).requires_grad_()
    optimizer = torch.optim.Adam([projection], lr=learning_rate)
    batches = _batches(sentences, batch_size, scale)
    # The absolute value has a kink where it is smallest: steps that stay large never settle.
    schedule = torch.optim.lr_scheduler.LinearLR(optimizer, 1.0, 0.0, epochs * len(batches))
    loss = float("nan")
    for _ in range(epochs):
        total = 0.0
        for index in torch.randperm(len(batches), generator=generator).tolist():
            vectors, gold = batches[index]
            placed = vectors @ projection
            squares = (placed**2).sum(-1)
            found = squares[:, :, None] + squares[:, None] - 2 * placed @ placed.transpose(1, 2)
            value = (found - gold).abs().mean(dim=(1, 2)).sum()
            optimizer.zero_grad()
            (value / len(gold)).backward()
            optimizer.step()
            schedule.step()
            total += float(value.detach())
        loss = total / len(sentences)
    return StructuralProbe(projection.detach().numpy() / np.float32(scale), loss, epochs)


def _batches(sentences: Sequence[TreeSentence], size: int, scale: float) -> list[tuple]:
    """Vectors and tree distances of sentences of one length, as tensors."""
    torch = import_torch()

    by_length: dict[int, list[TreeSentence]] = {}
    for s in sentences:
        by_length.setdefault(len(s), []).append(s)
    batches = []
    for group in by_length.values():
        for start in range(0, len(group), size):
            part = group[start : start + size]
            vectors = torch.from_numpy(np.stack([s.vectors for s in part]) / np.float32(scale))
            gold = torch.from_numpy(np.stack([tree_distances(s.governors) for s in part])).float()
            batches.append((vectors, gold))
    return batches


def evaluate_edges(
    predict: Callable[[TreeSentence], Edges], sentences: Sequence[TreeSentence], *, seed: int = 0
) -> UndirectedScore:
    """UUAS of a probe or a baseline, with a 95 % bootstrap interval over documents (see `ProbeSentence`); punctuation is left out.

    Parameters
    ----------
    predict : function(TreeSentence) -> set of pairs (smaller, larger)
        ``probe.edges``, or :func:`chain_edges`.
    sentences : sequence of TreeSentence
        None of which the probe was fitted on.
    """
    counts, linked = _found_links(predict, sentences)
    if len(linked) < 2:
        raise ValueError(f"a score with an interval needs two sentences with links; got {len(linked)}.")
    right, total = counts.sum(axis=0)
    ends = ratio_interval(by_document(counts, linked), seed=seed)
    return UndirectedScore(float(right / total), *ends, int(total), len(counts))


def _found_links(
    predict: Callable, sentences: Sequence[TreeSentence]
) -> tuple[np.ndarray, list[TreeSentence]]:
    """Of each sentence with links those found and those there are, shape (sentence, 2), and these sentences."""
    linked = [(sentence, gold) for sentence in sentences if (gold := gold_edges(sentence))]
    counts = [(len(gold & predict(sentence)), len(gold)) for sentence, gold in linked]
    return np.array(counts, float).reshape(-1, 2), [sentence for sentence, _ in linked]


def _uuas(predict: Callable, sentences: Sequence[TreeSentence]) -> float:
    right, total = _found_links(predict, sentences)[0].sum(axis=0)
    return float(right / total) if total else 0.0
