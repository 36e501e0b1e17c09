"""What all heads know together: probes that read a dependency tree from attention, and their controls.

A probe gives every candidate a score to be the governor of a word, and a softmax over the candidates: the other words, the
word itself and ROOT. The attention probes of Clark et al. (2019), section 5, are linear in their weights, so fitting
them is a convex problem with one solution; it is solved to the end (L-BFGS) and not by one epoch of gradient steps. How strong the
penalty is, and how long the network without attention is trained, is chosen on documents left out of the fit.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np

from bertlook_teach.model import import_torch

from ...metrics import minimized, softmax_loss
from .attachment import AttachmentLead, AttachmentScore, _right_words  # noqa: F401 - shipped results name the classes here
from .probe_inputs import ProbeSentence, leave_documents_out

L2 = 1e-5  # per word of training; keeps weights finite where a governor is perfectly predictable

L2_CHOICES = (1e-3, 1e-4, 1e-5, 1e-6)  # for `choose_l2`, the strongest first

WORD_L2 = 1e-2  # the probe with words has a hundred times as many weights

WORD_L2_CHOICES = (1e-1, 3e-2, 1e-2, 3e-3)

SEEDS = (0, 1, 2)  # of the network, which is not convex: its score is the mean over them

MOST_EPOCHS, PATIENCE = 60, 10  # of the network, and how many without a better score end the search

SMALL_GAP = 1e-3  # nats a word: a fit this near its optimum has converged


@dataclass(frozen=True, eq=False)
class AttentionProbe:
    """A fitted attention-only probe.

    ``between`` has shape (2 * heads,), ``root`` (4 * heads,); ``loss`` is the mean in nats per word, penalty included. ``converged``:
    the loss is proven to lie within a thousandth of a nat of the least there is.
    """

    between: np.ndarray
    root: np.ndarray
    loss: float
    converged: bool
    l2: float = L2

    def scores(self, sentence: ProbeSentence) -> np.ndarray:
        """Score of each candidate for each word, shape (dependent, candidate); ROOT is the last."""
        return _with_root(sentence.between @ self.between, sentence.root @ self.root)

    def predict(self, sentence: ProbeSentence) -> np.ndarray:
        """The likeliest governor of each word, as an index among the candidates."""
        return self.scores(sentence).argmax(axis=-1)


def fit_attention_probe(
    sentences: Sequence[ProbeSentence], *, l2: float = L2, max_iterations: int = 1000
) -> AttentionProbe:
    """Fit the attention-only probe: two weights a head and direction (four for ROOT), a convex problem.

    Every word is trained on, punctuation too, and the word itself is among the candidates, as in the paper.

    Parameters
    ----------
    sentences : sequence of ProbeSentence
    l2 : float
        Penalty ``l2 / 2 * |weights|^2`` beside the mean loss per word, in nats; see `choose_l2`.
    max_iterations : int
        If the optimum is not reached by then, ``converged`` is False.

    Raises
    ------
    ValueError
        If there are no sentences, or they have different numbers of heads.
    """
    width = _width(sentences, l2)
    groups = _by_length(sentences)

    def loss(weights):
        between, root = weights[:width], weights[width:]
        total, d_between, d_root = 0.0, np.zeros(width), np.zeros(2 * width)
        for group in groups:
            scores = _with_root(group.between @ between, group.root @ root)
            nats, residual = softmax_loss(scores, group.governors)
            total += nats
            d_between += residual[..., :-1].ravel() @ group.between.reshape(-1, width)
            d_root += residual[..., -1].ravel() @ group.root.reshape(-1, 2 * width)
        return total, np.concatenate([d_between, d_root])

    weights, value, converged = _minimize(loss, 3 * width, sentences, l2, max_iterations)
    return AttentionProbe(weights[:width], weights[width:], value, converged, l2)


# --- with words ----------------------------------------------------------------------------------------
@dataclass(frozen=True, eq=False)
class WordProbe:
    """A fitted probe of attention and words: each head's weight depends on the two words it links.

    The weight of a feature f for candidate i and dependent j is ``candidate[f] . e_i + dependent[f] . e_j + bias[f]``.
    """

    candidate: np.ndarray  # (dim, 2 * heads)
    dependent: np.ndarray  # (dim, 2 * heads)
    bias: np.ndarray  # (2 * heads,)
    root: np.ndarray  # (dim + 1, 4 * heads): of the dependent, and a bias
    vectors: Callable[[Sequence[str]], np.ndarray]
    shifted: bool
    loss: float
    converged: bool
    l2: float = WORD_L2

    def scores(self, sentence: ProbeSentence) -> np.ndarray:
        """Score of each candidate for each word, shape (dependent, candidate); ROOT is the last."""
        words = self.vectors(sentence.words)
        return _word_scores(
            self, sentence.between, sentence.root, _candidate_vectors(words, self.shifted), words
        )

    def predict(self, sentence: ProbeSentence) -> np.ndarray:
        """The likeliest governor of each word, as an index among the candidates."""
        return self.scores(sentence).argmax(axis=-1)


def _candidate_vectors(words: np.ndarray, shifted: bool) -> np.ndarray:
    return (
        np.concatenate([words[..., 1:, :], np.zeros_like(words[..., :1, :])], axis=-2) if shifted else words
    )


def _word_scores(probe, between, root, candidates, dependents):
    weight_i, weight_j = candidates @ probe.candidate, dependents @ probe.dependent + probe.bias
    scores = np.einsum("...jif,...if->...ji", between, weight_i, optimize=True)
    scores += (between @ weight_j[..., None])[..., 0]
    root_weight = dependents @ probe.root[:-1] + probe.root[-1]
    return _with_root(scores, (root * root_weight).sum(axis=-1))


def fit_word_probe(
    sentences: Sequence[ProbeSentence],
    vectors: Callable[[Sequence[str]], np.ndarray],
    *,
    shifted: bool = False,
    l2: float = WORD_L2,
    max_iterations: int = 1000,
) -> WordProbe:
    """Fit attention and words: linear in its weights, so convex too.

    Parameters
    ----------
    sentences : sequence of ProbeSentence
    vectors : function from words to an array (word, dim)
        `input_vectors(encoder)`, or `read_word_vectors(path)`.
    shifted : bool
        Give every candidate the vector of the word after it, as the released code does: it appends the vector of ROOT at
        the end while ROOT is the first candidate. For comparison only.
    l2, max_iterations
        As in `fit_attention_probe`.
    """
    width = _width(sentences, l2)
    groups = _by_length(sentences, vectors)
    dim = groups[0].vectors.shape[-1]
    shapes = {
        "candidate": (dim, width),
        "dependent": (dim, width),
        "bias": (width,),
        "root": (dim + 1, 2 * width),
    }
    sizes = np.cumsum([int(np.prod(shape)) for shape in shapes.values()])

    def unpack(weights):
        parts = np.split(weights, sizes[:-1])
        shaped = {name: part.reshape(shape) for (name, shape), part in zip(shapes.items(), parts)}
        return WordProbe(**shaped, vectors=vectors, shifted=shifted, loss=0.0, converged=False, l2=l2)

    def loss(weights):
        probe = unpack(weights)
        total = 0.0
        gradient = {name: np.zeros(shape) for name, shape in shapes.items()}
        for group in groups:
            candidates = _candidate_vectors(group.vectors, shifted)
            scores = _word_scores(probe, group.between, group.root, candidates, group.vectors)
            nats, residual = softmax_loss(scores, group.governors)
            total += nats
            inside, at_root = residual[..., :-1], residual[..., -1]
            by_candidate = np.einsum("...ji,...jif->...if", inside, group.between, optimize=True)
            by_dependent = (inside[..., None, :] @ group.between)[..., 0, :]
            root = at_root[..., None] * group.root
            flat = group.vectors.reshape(-1, dim)
            gradient["candidate"] += candidates.reshape(-1, dim).T @ by_candidate.reshape(-1, width)
            gradient["dependent"] += flat.T @ by_dependent.reshape(-1, width)
            gradient["bias"] += by_dependent.reshape(-1, width).sum(axis=0)
            gradient["root"][:-1] += flat.T @ root.reshape(-1, 2 * width)
            gradient["root"][-1] += root.reshape(-1, 2 * width).sum(axis=0)
        return total, np.concatenate([gradient[name].ravel() for name in shapes])

    weights, value, converged = _minimize(loss, int(sizes[-1]), sentences, l2, max_iterations)
    return replace(unpack(weights), loss=value, converged=converged)


@dataclass(frozen=True, eq=False)
class DistanceProbe:
    """A fitted network of word vectors and distances, without any attention: one hidden layer of tanh.

    ``epochs`` is how long it was trained. ``by_epoch``, where that was chosen, holds the UAS on validation documents after each epoch
    that was tried, and is empty where it was given.
    """

    parameters: Mapping[str, np.ndarray]
    vectors: Callable[[Sequence[str]], np.ndarray]
    epochs: int = 0
    by_epoch: tuple[float, ...] = ()

    @property
    def chosen(self) -> bool:
        """Whether the number of epochs was chosen on documents left out of the fit."""
        return bool(self.by_epoch)

    def scores(self, sentence: ProbeSentence) -> np.ndarray:
        """Score of each candidate for each word, shape (dependent, candidate); ROOT is the last."""
        p = self.parameters
        words = self.vectors(sentence.words)
        candidates = np.concatenate([words, np.zeros_like(words[:1])])
        hidden = (candidates @ p["candidate"])[None] + (words @ p["dependent"])[:, None]
        return np.tanh(hidden + distance_features(len(words)) @ p["distance"] + p["bias"]) @ p["out"]

    def predict(self, sentence: ProbeSentence) -> np.ndarray:
        """The likeliest governor of each word, as an index among the candidates."""
        return self.scores(sentence).argmax(axis=-1)


def distance_features(n: int) -> np.ndarray:
    """The eight distance features of the paper for a sentence of n words, shape (dependent, candidate, 8).

    How far the candidate stands before and after the dependent, as shares of n; whether it is the word itself, the previous, the
    next, the second before, the second after; whether it is ROOT.
    """
    offset = np.arange(n)[None, :] - np.arange(n)[:, None]
    features = np.zeros((n, n + 1, 8), np.float32)
    features[:, :n, 0], features[:, :n, 1] = np.maximum(-offset, 0) / n, np.maximum(offset, 0) / n
    for place, distance in enumerate((0, -1, 1, -2, 2), start=2):
        features[:, :n, place] = offset == distance
    features[:, n, 7] = 1
    return features


def fit_distance_probe(
    sentences: Sequence[ProbeSentence],
    vectors: Callable[[Sequence[str]], np.ndarray],
    *,
    hidden: int = 256,
    epochs: int | None = None,
    batch_size: int = 16,
    learning_rate: float = 2e-3,
    seed: int = 0,
) -> DistanceProbe:
    """Fit distances and words (Table 3's "distances + GloVe"): what can be had without any attention.

    Not convex, and its training loss falls long after it has begun to learn the words of the training sentences by heart. So it is stopped early:
    trained first on three quarters of the documents, until ten epochs bring no better UAS on the last quarter, and then on all
    sentences for as many epochs as were best. The paper trains for one epoch; these treebanks are small. By Adam, seeded.

    Parameters
    ----------
    sentences, vectors
        As in `fit_word_probe`.
    hidden : int
        Units of the hidden layer; 256 in the paper.
    epochs : int, optional
        Train for so many, and choose nothing.
    seed : int

    Raises
    ------
    ValueError
        If there are no sentences, or so few documents that none can be left out.
    """
    _width(sentences, 0.0)
    options = hidden, batch_size, learning_rate, seed
    by_epoch: list[float] = []
    if epochs is None:
        fitted_on, left_out = leave_documents_out(sentences)
        for probe in _trained_distances(fitted_on, vectors, MOST_EPOCHS, *options):
            by_epoch.append(_uas(probe.predict, left_out))
            best = int(np.argmax(by_epoch))  # of equal ones the earliest
            if len(by_epoch) - 1 - best >= PATIENCE:
                break
        epochs = best + 1
    *_, probe = _trained_distances(sentences, vectors, epochs, *options)
    return replace(probe, by_epoch=tuple(by_epoch))


def _trained_distances(
    sentences, vectors, epochs: int, hidden: int, batch_size: int, learning_rate: float, seed: int
) -> Iterator[DistanceProbe]:
    """The network after each epoch. The arrays of all but the last one are those that training goes on with."""
    torch = import_torch()

    groups = _by_length(sentences, vectors)
    dim = groups[0].vectors.shape[-1]
    generator = torch.Generator().manual_seed(seed)
    shapes = {
        "candidate": (dim, hidden),
        "dependent": (dim, hidden),
        "distance": (8, hidden),
        "bias": (hidden,),
        "out": (hidden,),
    }
    parameters = {
        name: (torch.randn(shape, generator=generator) / np.sqrt(shape[0])).requires_grad_()
        for name, shape in shapes.items()
    }
    optimizer = torch.optim.Adam(parameters.values(), lr=learning_rate)
    batches = [
        (
            torch.from_numpy(group.vectors[i : i + batch_size]),
            torch.from_numpy(group.governors[i : i + batch_size]),
            torch.from_numpy(distance_features(group.vectors.shape[1])),
        )
        for group in groups
        for i in range(0, len(group.governors), batch_size)
    ]
    for epoch in range(epochs):
        for index in torch.randperm(len(batches), generator=generator).tolist():
            words, gold, distance = batches[index]
            candidates = torch.cat([words, torch.zeros_like(words[:, :1])], dim=1)
            inside = (candidates @ parameters["candidate"])[:, None] + (words @ parameters["dependent"])[
                :, :, None
            ]
            hidden_units = torch.tanh(inside + distance @ parameters["distance"] + parameters["bias"])
            scores = hidden_units @ parameters["out"]
            optimizer.zero_grad()
            torch.nn.functional.cross_entropy(scores.flatten(0, 1), gold.flatten()).backward()
            optimizer.step()
        arrays = {name: parameter.detach().numpy() for name, parameter in parameters.items()}
        yield DistanceProbe(arrays, vectors, epoch + 1)


# --- what is chosen on documents left out of the fit ----------------------------------------------------
def choose_l2(fit: Callable, sentences: Sequence[ProbeSentence], choices: Sequence[float]) -> float:
    """The penalty with the best UAS on every fourth document, left out of the fit; of equal ones the first.

    Parameters
    ----------
    fit : function(sentences, l2=...) -> probe with ``predict``
    sentences : sequence of ProbeSentence
        To be fitted on; none that are to be scored.
    choices : sequence of float
        `L2_CHOICES` or `WORD_L2_CHOICES`: the strongest first, so that of two that are as good it is taken.
    """
    if len(choices) == 1:
        return choices[0]
    fitted_on, left_out = leave_documents_out(sentences)
    return max(choices, key=lambda l2: _uas(fit(fitted_on, l2=l2).predict, left_out))


def _uas(predict: Callable, sentences: Sequence[ProbeSentence]) -> float:
    right, total = _right_words([predict], sentences).sum(axis=0)
    return float(right / total) if total else 0.0


# --- the common machinery ------------------------------------------------------------------------------
@dataclass(frozen=True, eq=False)
class _Group:
    """Sentences of one length, so that they can be worked on together: each array has a leading axis of sentences."""

    between: np.ndarray
    root: np.ndarray
    governors: np.ndarray
    vectors: np.ndarray | None


def _by_length(sentences: Sequence[ProbeSentence], vectors: Callable | None = None) -> list[_Group]:
    by_length: dict[int, list[ProbeSentence]] = {}
    for sentence in sentences:
        by_length.setdefault(len(sentence), []).append(sentence)
    return [
        _Group(
            np.stack([s.between for s in group]),
            np.stack([s.root for s in group]),
            np.stack([s.governors for s in group]),
            None if vectors is None else np.stack([vectors(s.words) for s in group]).astype(np.float32),
        )
        for group in by_length.values()
    ]


def _width(sentences: Sequence[ProbeSentence], l2: float) -> int:
    widths = {sentence.between.shape[-1] for sentence in sentences}
    if len(widths) != 1:
        raise ValueError(
            f"a probe needs at least one sentence, all with the same heads; got {len(sentences)} with {sorted(w // 2 for w in widths)}."
        )
    if l2 < 0:
        raise ValueError(f"l2 is a penalty of 0 or more; got {l2}.")
    return widths.pop()


def _with_root(words: np.ndarray, root: np.ndarray) -> np.ndarray:
    return np.concatenate([words, root[..., None]], axis=-1)


def _minimize(loss: Callable, size: int, sentences, l2: float, max_iterations: int):
    """L-BFGS from zero on the mean loss per word plus the penalty: weights, value, and whether it converged.

    The penalty makes the problem strongly convex, so the gradient where the solver stopped proves how near the optimum is: the value there
    is at most ``|gradient|^2 / (2 l2)`` above it. Without penalty there is only the solver's word.
    """
    n_words = sum(len(sentence) for sentence in sentences)

    def objective(weights):
        total, gradient = loss(weights.astype(np.float32))
        return total / n_words + l2 / 2 * float(weights @ weights), gradient / n_words + l2 * weights

    # If no part of the gradient is larger, the gap is small.
    largest = min((2 * l2 * SMALL_GAP / size) ** 0.5, 1e-5) if l2 else 1e-6
    result = minimized(objective, np.zeros(size), maxiter=max_iterations, maxcor=20, ftol=1e-10, gtol=largest)
    gap = float(result.jac @ result.jac) / (2 * l2) if l2 else 0.0 if result.success else np.inf
    return result.x.astype(np.float32), float(result.fun), gap <= SMALL_GAP
