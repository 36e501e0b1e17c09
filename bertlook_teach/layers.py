"""What each layer knows: mixes of layers, a probe for each depth, and the two numbers that say "where".

Edge probing after Tenney, Das and Pavlick (2019). The encoder stays frozen; a small probe reads a mix of the layers 0 to l, where
0 is the embedding output, and there is one such probe P(l) for every l. How much P(l) beats P(l - 1) tells where a label first
becomes readable (`expected_layer`); how the last probe mixes all layers tells where it likes to read (`centre_of_gravity`).
The two answer different questions, and disagree.

Ours is smaller than theirs: a span is the mean of its words, not a learned attention over them, and the probe is linear, or has
one hidden layer. Fitted by L-BFGS, it gives the same answer on every run.
"""

from __future__ import annotations

import hashlib
import re
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np

from ._minimize import minimized
from .attention import check_reading
from .edge_tasks import TASKS, EdgeSentence, EdgeTarget
from .intervals import ratio_interval
from .profile import CONFIDENCE, REPLICATES

__all__ = [
    "Counts",
    "LayerScores",
    "MixProbe",
    "SpanVectors",
    "centre_of_gravity",
    "choose_penalty",
    "control_labels",
    "count_answers",
    "cumulative_probes",
    "delta_bits",
    "draw_cases",
    "expected_layer",
    "fit_mix_probe",
    "form_baseline",
    "four_fifths",
    "hidden_states",
    "majority_baseline",
    "micro_f1",
    "mixing_bits",
    "read_states",
    "scalar_mix",
    "sentence_beliefs",
    "settles_late",
    "softmax",
    "span_vectors",
    "typed_beliefs",
]

L2 = 0.03  # a strong penalty: the course's treebank is small
PENALTIES = (0.03, 0.1, 0.3)
MAX_ITERATIONS = 80  # stopping early is a penalty too


# --- the numbers that say "where" ------------------------------------------------------------------------


def softmax(scores) -> np.ndarray:
    """Softmax over the last axis.

    >>> softmax([0.0, 0.0]).tolist()
    [0.5, 0.5]
    """
    scores = np.asarray(scores, dtype=float)
    powers = np.exp(scores - scores.max(axis=-1, keepdims=True))
    return powers / powers.sum(axis=-1, keepdims=True)


def scalar_mix(hidden, scores, gamma: float = 1.0) -> np.ndarray:
    """``gamma * sum_l softmax(scores)_l hidden[l]``: one vector a word from all layers. No layer is normalised.

    Parameters
    ----------
    hidden : array of shape (layer, ...)
        With the embedding output as layer 0: L + 1 of them.
    scores : array of shape (layer,)
    gamma : float

    Raises
    ------
    ValueError
        If there is not one score a layer.
    """
    hidden, scores = np.asarray(hidden), np.asarray(scores, dtype=float)
    if scores.shape != hidden.shape[:1]:
        raise ValueError(
            f"a mix needs one score for each of the {len(hidden)} layers, embeddings included; got shape {scores.shape}."
        )
    return gamma * np.tensordot(softmax(scores), hidden, axes=1)


def centre_of_gravity(weights) -> float:
    """``sum_l l s_l``, from 0 (all weight on the embeddings) to L: where a probe that sees all layers reads.

    Equal weights give L / 2. So a centre near L / 2 says "middle" only if `mixing_bits` says that the weights are not flat.

    Parameters
    ----------
    weights : array of shape (layer,)
        The softmax of the mix, L + 1 of them.

    Raises
    ------
    ValueError
        If they are not shares that sum to 1.

    Examples
    --------
    >>> centre_of_gravity([0.25, 0.25, 0.5])
    1.25
    """
    weights = _shares(weights)
    return float(np.arange(len(weights)) @ weights)


def mixing_bits(weights) -> float:
    """K(s), Kullback-Leibler divergence of the mix from equal weights, in **bits**: 0 flat, log2(L + 1) one layer only.

    >>> mixing_bits([1.0, 0.0, 0.0, 0.0])
    2.0
    """
    return _bits(_shares(weights))


def expected_layer(scores) -> float | np.ndarray:
    """``sum_l l D_l / sum_l D_l`` over l = 1 .. L, with ``D_l = F1(l) - F1(l - 1)``: at which depth the score is gained.

    Losses are kept, as in the paper, and so the result may leave [1, L].

    Parameters
    ----------
    scores : array of shape (..., layer)
        F1 of the cumulative probes P(0) .. P(L).

    Returns
    -------
    float, or array of shape (...) with NaN where there is no gain

    Raises
    ------
    ValueError
        If there are fewer than two scores, or (for one curve) P(L) is no better than P(0): then nothing was gained at any depth.

    Examples
    --------
    Half of the gain comes with layer 1, half with layer 3:

    >>> round(expected_layer([0.5, 0.7, 0.7, 0.9]), 6)
    2.0
    """
    gains = _gains(scores)
    total = gains.sum(axis=-1)
    if gains.ndim == 1 and not total > 1e-12:
        raise ValueError(
            f"there is no expected layer: the last probe scores {np.asarray(scores)[-1]:.3f} and the first {np.asarray(scores)[0]:.3f}, so nothing is gained."
        )
    depth = gains @ np.arange(1, gains.shape[-1] + 1)
    found = np.divide(depth, total, out=np.full(np.shape(total), np.nan), where=total > 1e-12)
    return float(found) if gains.ndim == 1 else found


def delta_bits(scores) -> float | np.ndarray:
    """K(Delta), divergence of the gains from equal gains in every layer, in **bits**; losses are clipped to 0 here.

    0 if each of the L layers gives as much, log2(L) if one layer gives all. Shapes and errors as `expected_layer`.

    >>> delta_bits([0.5, 0.6, 0.6, 0.6, 0.6])
    2.0
    """
    gains = np.clip(_gains(scores), 0, None)
    total = gains.sum(axis=-1, keepdims=True)
    if gains.ndim == 1 and not total > 1e-12:
        raise ValueError("K(Delta) is not defined: no layer gains anything.")
    shares = np.divide(gains, total, out=np.full(gains.shape, np.nan), where=total > 1e-12)
    found = _bits(shares)
    return float(found) if gains.ndim == 1 else found


def _gains(scores) -> np.ndarray:
    scores = np.asarray(scores, dtype=float)
    if scores.ndim == 0 or scores.shape[-1] < 2:
        raise ValueError(
            f"gains need the scores of at least two probes, P(0) and P(1); got shape {scores.shape}. A model of no layer has none."
        )
    if scores.ndim == 1 and not np.isfinite(scores).all():
        raise ValueError(f"scores must be finite; got {scores.tolist()}.")
    return np.diff(scores, axis=-1)


def _shares(weights) -> np.ndarray:
    weights = np.asarray(weights, dtype=float)
    if weights.ndim != 1 or not len(weights) or not (weights >= 0).all() or abs(weights.sum() - 1) > 1e-3:
        raise ValueError(
            f"weights of a mix are one share a layer, sum 1; got shape {weights.shape}, sum {weights.sum():.3f}. Is the softmax missing?"
        )
    return weights


def _bits(shares: np.ndarray) -> float | np.ndarray:
    logs = np.log2(shares, out=np.zeros_like(shares), where=shares > 0)
    found = np.log2(shares.shape[-1]) + (shares * logs).sum(axis=-1)
    return float(max(found, 0.0)) if shares.ndim == 1 else found


# --- F1 ----------------------------------------------------------------------------------------------------


@dataclass(frozen=True, eq=False)
class Counts:
    """Right labels (tp), wrong ones (fp) and missed ones (fn), shape (unit, 3); a unit is a document."""

    values: np.ndarray

    @property
    def f1(self) -> float:
        return micro_f1(*self.values.sum(axis=0))

    def interval(self, *, seed: int = 0) -> tuple[float, float]:
        """95 % bootstrap over documents."""
        return ratio_interval(_ratio_parts(self.values), seed=seed)

    def __repr__(self) -> str:
        low, high = self.interval()
        return f"F1 {self.f1:.3f} [{low:.3f}, {high:.3f}] over {len(self.values)} documents"


def micro_f1(tp, fp, fn):
    """``2 tp / (2 tp + fp + fn)``, labels of all kinds added up; 0 where there is nothing to find and nothing is found.

    >>> micro_f1(6, 2, 2)
    0.75
    """
    tp, fp, fn = (np.asarray(x, dtype=float) for x in (tp, fp, fn))
    below = 2 * tp + fp + fn
    found = np.divide(2 * tp, below, out=np.zeros_like(below), where=below > 0)
    return float(found) if found.ndim == 0 else found


def _ratio_parts(counts: np.ndarray) -> np.ndarray:
    return np.stack([2 * counts[..., 0], 2 * counts[..., 0] + counts[..., 1] + counts[..., 2]], axis=-1)


# --- what a probe reads ------------------------------------------------------------------------------------


@dataclass(frozen=True, eq=False)
class SpanVectors:
    """The questions of one task with what a probe may read of them.

    Attributes
    ----------
    task : str
    vectors : float32 ndarray of shape (layer, case, span * dim)
        Mean over a span's words, and over a word's pieces, in the output of each layer; layer 0 is the embedding output, so there are L + 1.
        Of two spans the first comes first.
    n_spans : {1, 2}
    labels : tuple of str
        The treebank's, one a case.
    forms : tuple of str
        The words of the span or spans, in lower case: what a list of words could go by.
    documents : tuple of str
        Where a case comes from; a text that names no document is its own.
    places : tuple of (int, int)
        Which sentence, and which of its targets.
    negative : str or None
        The label that is no find: micro-F1 counts only the others.
    n_unread : int
        Sentences left out because the model cannot read them whole.
    """

    task: str
    vectors: np.ndarray
    n_spans: int
    labels: tuple[str, ...]
    forms: tuple[str, ...]
    documents: tuple[str, ...]
    places: tuple[tuple[int, int], ...]
    negative: str | None = None
    n_unread: int = 0

    def __len__(self) -> int:
        return len(self.labels)

    @property
    def n_layers(self) -> int:
        """L: layers above the embeddings."""
        return len(self.vectors) - 1

    def take(self, cases) -> SpanVectors:
        """Some of the cases: indices or booleans."""
        chosen = np.asarray(cases)
        cases = np.arange(len(self))[chosen if chosen.size else chosen.astype(int)]
        picked = {
            name: tuple(getattr(self, name)[i] for i in cases)
            for name in ("labels", "forms", "documents", "places")
        }
        return replace(self, vectors=np.ascontiguousarray(self.vectors[:, cases]), **picked)

    def swapped(self) -> SpanVectors:
        """The same with the spans of each pair changed over: a test of whether a probe minds which is which."""
        if self.n_spans != 2:
            raise ValueError(f"only pairs can be changed over; the task {self.task!r} has one span.")
        first, second = np.split(self.vectors, 2, axis=-1)
        return replace(self, vectors=np.concatenate([second, first], axis=-1))


def hidden_states(encoder, texts: Sequence[Sequence[str]], *, batch_size: int = 32) -> Iterable[np.ndarray]:
    """Vectors of words after every layer, one float32 array of shape (layer, word, dim) a text, in order.

    Layer 0 is the embedding output, so there are L + 1 layers. A word has the mean of its pieces.

    Parameters
    ----------
    encoder : Encoder
    texts : sequence of sequences of words
        Each read alone, as [CLS] words [SEP].

    Raises
    ------
    ValueError
        If a text cannot be read whole (see `bertlook_teach.attention.check_reading`), naming it.
    """
    import torch

    for start in range(0, len(texts), batch_size):
        batch = [list(words) for words in texts[start : start + batch_size]]
        for words in batch:
            if obstacle := check_reading(encoder, words).obstacle:
                raise ValueError(f"{encoder.name} cannot read “{' '.join(words)[:60]}” whole: {obstacle}.")
        encoded = encoder.word_tokenizer(batch, is_split_into_words=True, padding=True, return_tensors="pt")
        names = ("input_ids", "attention_mask", *(("token_type_ids",) if encoder.has_segments else ()))
        inputs = {name: encoded[name].to(encoder.device) for name in names if name in encoded}
        with torch.inference_mode():
            layers = encoder.model(**inputs, output_hidden_states=True).hidden_states
            layers = torch.stack(layers).float().cpu().numpy()
        if len(layers) != encoder.n_layers + 1:
            raise ValueError(
                f"{encoder.name} gives {len(layers)} hidden states; the embeddings and {encoder.n_layers} layers were expected."
            )
        for number, words in enumerate(batch):
            owners = np.array([-1 if w is None else w for w in encoded.word_ids(number)])
            mean = (owners[None, :] == np.arange(len(words))[:, None]).astype(np.float32)
            yield (mean / mean.sum(axis=1, keepdims=True)) @ layers[:, number, : len(owners)]


def read_states(
    encoder,
    texts: Iterable[Sequence[str]],
    *,
    batch_size: int = 32,
    progress: Callable[[Iterable], Iterable] | None = None,
) -> dict[tuple[str, ...], np.ndarray]:
    """Hidden states of many texts, each read once: words -> array (layer, word, dim). What the model cannot read whole is left out.

    All tasks about the same sentences share them.
    """
    wanted = list(dict.fromkeys(tuple(words) for words in texts))
    wanted = [words for words in wanted if not check_reading(encoder, words).obstacle]
    stream = hidden_states(encoder, wanted, batch_size=batch_size)
    return dict(zip(wanted, stream if progress is None else progress(stream), strict=True))


def span_vectors(
    states: Mapping[tuple[str, ...], np.ndarray], sentences: Sequence[EdgeSentence], task: str
) -> SpanVectors:
    """What a probe reads of each question, from hidden states that were read before.

    Parameters
    ----------
    states : mapping
        From `read_states`. Sentences that are not there are left out and counted.
    sentences : sequence of EdgeSentence
    task : str
        A name of `bertlook_teach.edge_tasks.TASKS`.

    Raises
    ------
    ValueError
        If no question is left, or the questions have not the spans that the task asks for.
    """
    n_spans, negative, _ = TASKS[task] if task in TASKS else _no_task(task)
    named = len({s.doc_id for s in sentences}) > 1
    vectors, labels, forms, documents, places, unread = [], [], [], [], [], 0
    for number, sentence in enumerate(sentences):
        layers = states.get(sentence.words)
        if layers is None:
            unread += 1
            continue
        for at, target in enumerate(sentence.targets):
            spans = [target.span1] if target.span2 is None else [target.span1, target.span2]
            if len(spans) != n_spans:
                raise ValueError(
                    f"the task {task!r} asks about {n_spans} span(s); {sentence.sent_id or sentence.doc_id!r} has {len(spans)}. Is it another task's file?"
                )
            vectors.append(np.concatenate([layers[:, a:b].mean(axis=1) for a, b in spans], axis=-1))
            labels.append(target.label)
            forms.append(" | ".join(sentence.text(span).lower() for span in spans))
            documents.append(sentence.doc_id if named else " ".join(sentence.words))
            places.append((number, at))
    if not labels:
        raise ValueError(
            f"no question of the task {task!r} is left of {len(sentences)} sentences ({unread} of which the model cannot read whole)."
        )
    return SpanVectors(
        task, np.stack(vectors, axis=1), n_spans, tuple(labels), tuple(forms), tuple(documents), tuple(places), negative, unread,
    )  # fmt: skip


def _no_task(task: str):
    raise ValueError(f"task must be one of {', '.join(TASKS)}; got {task!r}.")


# --- the probe -----------------------------------------------------------------------------------------------


@dataclass(frozen=True, eq=False)
class MixProbe:
    """A fitted probe P(l): a mix of the layers 0..l, then a linear map (with ``hidden`` a tanh layer before it), a sigmoid a label.

    Attributes
    ----------
    weights : float ndarray of shape (l + 1,)
        ``s``, the softmax of the mix.
    gamma : float
    labels : tuple of str
        Those of the training cases, without the label that is no find.
    parameters : dict of str to ndarray
        ``out`` (feature, label), ``bias`` (label,), with a hidden layer also ``in`` and ``in_bias``.
    mean, spread : float ndarrays of shape (span * dim,)
        Each dimension is centred and scaled by numbers that are the same for all layers, so the mix is that of the layers as they are.
    n_spans : int
    loss : float
        In nats a case, penalty included.
    converged : bool
        False if the iterations ended first, which is a penalty too.
    """

    weights: np.ndarray
    gamma: float
    labels: tuple[str, ...]
    parameters: dict[str, np.ndarray]
    mean: np.ndarray
    spread: np.ndarray
    n_spans: int
    loss: float
    converged: bool

    def beliefs(self, vectors: np.ndarray) -> np.ndarray:
        """Probability of each label for each case, shape (case, label), from vectors (layer, case, span * dim). They need not sum to 1."""
        mixed = np.tensordot(self.weights.astype(np.float32), vectors[: len(self.weights)], axes=1)
        scores = _scores(
            self.parameters, _features(self.gamma * (mixed - self.mean) / self.spread, self.n_spans)
        )
        return 1 / (1 + np.exp(-np.clip(scores, -60, 60)))


def _features(mixed: np.ndarray, n_spans: int) -> np.ndarray:
    """One span as it is; of two spans both, and their product, which lets a linear map see how alike they are."""
    if n_spans == 1:
        return mixed
    first, second = np.split(mixed, 2, axis=-1)
    return np.concatenate([mixed, first * second], axis=-1)


def _scores(parameters: Mapping[str, np.ndarray], features: np.ndarray) -> np.ndarray:
    if "in" in parameters:
        features = np.tanh(features @ parameters["in"] + parameters["in_bias"])
    return features @ parameters["out"] + parameters["bias"]


def fit_mix_probe(
    data: SpanVectors,
    layer: int | None = None,
    *,
    hidden: int = 0,
    l2: float = L2,
    max_iterations: int = MAX_ITERATIONS,
    seed: int = 0,
) -> MixProbe:
    """Fit P(layer), which reads the layers 0..layer: mix, scale and map together, by L-BFGS.

    The loss is the binary cross-entropy of all labels, each with a sigmoid of its own, as in the paper.

    Parameters
    ----------
    data : SpanVectors
    layer : int, optional
        From 0 (the embeddings alone) to L, the default.
    hidden : int
        Units of a tanh layer; 0 for a linear probe.
    l2 : float
        Penalty ``l2 / 2 * (|maps|^2 + (gamma - 1)^2)``.
    max_iterations : int
    seed : int
        Where a probe with a hidden layer starts; a linear one starts at 0 with equal weights.

    Raises
    ------
    ValueError
        If there are no cases or only one label, or there is no such layer.
    """
    layer = data.n_layers if layer is None else layer
    if not 0 <= layer <= data.n_layers:
        raise ValueError(f"layer lies between 0, the embeddings, and {data.n_layers}; got {layer}.")
    if l2 < 0 or hidden < 0 or max_iterations < 1:
        raise ValueError(
            f"l2 and hidden are 0 or more, max_iterations at least 1; got {l2}, {hidden}, {max_iterations}."
        )
    if len(set(data.labels)) < 2:
        raise ValueError(
            f"a probe needs cases of at least two labels; got {len(data)} cases of {sorted(set(data.labels)) or 'none'}."
        )
    labels = tuple(sorted(set(data.labels) - {data.negative}))
    gold = _one_hot(data.labels, labels)
    mean = data.vectors.mean(axis=(0, 1))
    spread = data.vectors.std(axis=(0, 1)) + 1e-6
    layers = (data.vectors[: layer + 1] - mean) / spread
    problem = _Problem(layers, gold, data.n_spans, hidden, l2, seed)
    result = minimized(problem.objective, problem.start, maxiter=max_iterations, ftol=1e-9, gtol=1e-6)
    scores, gamma, parameters = problem.unpack(result.x.astype(np.float32))
    return MixProbe(
        softmax(scores), float(gamma), labels, parameters, mean, spread, data.n_spans, float(result.fun), bool(result.success),
    )  # fmt: skip


def _one_hot(found: Sequence[str], labels: Sequence[str]) -> np.ndarray:
    place = {label: i for i, label in enumerate(labels)}
    gold = np.zeros((len(found), len(labels)), np.float32)
    for case, label in enumerate(found):
        if label in place:
            gold[case, place[label]] = 1
    return gold


class _Problem:
    """Loss and gradient of a probe, all parameters in one vector: mix scores, gamma, maps."""

    def __init__(self, layers, gold, n_spans, hidden, l2, seed):
        self.layers, self.gold, self.n_spans, self.l2 = layers.astype(np.float32), gold, n_spans, l2
        width, n_labels = layers.shape[-1] * 3 // 2 if n_spans == 2 else layers.shape[-1], gold.shape[1]
        self.shapes = {"in": (width, hidden), "in_bias": (hidden,)} if hidden else {}
        self.shapes |= {"out": (hidden or width, n_labels), "bias": (n_labels,)}
        self.ends = np.cumsum([len(layers), 1, *(int(np.prod(shape)) for shape in self.shapes.values())])
        self.start = np.zeros(self.ends[-1])
        self.start[self.ends[0]] = 1.0  # gamma
        if hidden:
            draw = np.random.default_rng(seed).normal(size=width * hidden) / np.sqrt(width)
            self.start[self.ends[1] : self.ends[2]] = draw

    def unpack(self, theta):
        scores, gamma, *maps = np.split(theta, self.ends[:-1])
        return scores, gamma[0], {n: m.reshape(shape) for (n, shape), m in zip(self.shapes.items(), maps)}

    def objective(self, theta):
        scores, gamma, maps = self.unpack(theta.astype(np.float32))
        shares = softmax(scores).astype(np.float32)
        mixed = np.tensordot(shares, self.layers, axes=1)  # (case, span * dim)
        scaled = gamma * mixed
        features = _features(scaled, self.n_spans)
        inner = np.tanh(features @ maps["in"] + maps["in_bias"]) if "in" in maps else features
        z = inner @ maps["out"] + maps["bias"]
        n = len(z)
        loss = float((np.logaddexp(0, z) - self.gold * z).sum(dtype=float)) / n
        error = (1 / (1 + np.exp(-np.clip(z, -60, 60))) - self.gold) / n
        back = {"out": inner.T @ error, "bias": error.sum(axis=0)}
        towards = error @ maps["out"].T
        if "in" in maps:
            towards = towards * (1 - inner**2)
            back |= {"in": features.T @ towards, "in_bias": towards.sum(axis=0)}
            towards = towards @ maps["in"].T
        if self.n_spans == 2:
            first, second = np.split(scaled, 2, axis=-1)
            towards, product = np.split(towards, [scaled.shape[-1]], axis=-1)
            towards = towards + np.concatenate([product * second, product * first], axis=-1)
        by_gamma = float((towards * mixed).sum(dtype=float))
        by_share = gamma * np.tensordot(self.layers, towards, axes=([1, 2], [0, 1]))
        by_score = shares * (by_share - shares @ by_share)
        # Penalised: the maps and how far gamma is from 1. Else a large gamma would pay for small maps.
        loss += (
            self.l2
            / 2
            * (
                sum(float((maps[m] ** 2).sum(dtype=float)) for m in maps if "bias" not in m)
                + float(gamma - 1) ** 2
            )
        )
        for name in maps:
            if "bias" not in name:
                back[name] = back[name] + self.l2 * maps[name]
        parts = [by_score, [by_gamma + self.l2 * (gamma - 1)], *(back[name].ravel() for name in self.shapes)]
        return loss, np.concatenate(parts).astype(float)


# --- one probe for each depth --------------------------------------------------------------------------------


@dataclass(frozen=True, eq=False)
class LayerScores:
    """The cumulative probes P(0) .. P(L) of one task, on cases of documents none of them was fitted on.

    Attributes
    ----------
    task : str
    labels : tuple of str
    counts : int ndarray of shape (layer, document, 3)
        Right, wrong and missed labels, L + 1 layers.
    weights : float ndarray of shape (layer,)
        The mix of P(L).
    beliefs : float32 ndarray of shape (layer, case, label)
        What each probe believes of each case.
    documents : tuple of str
        Those that were scored, in the order of ``counts``.
    n_train, n_test : int
        Cases.
    l2 : float
        The penalty, the same at every depth.
    probes : tuple of MixProbe
        P(0) .. P(L).
    """

    task: str
    labels: tuple[str, ...]
    counts: np.ndarray
    weights: np.ndarray
    beliefs: np.ndarray
    documents: tuple[str, ...]
    n_train: int
    n_test: int
    l2: float = L2
    probes: tuple[MixProbe, ...] = ()

    @property
    def n_layers(self) -> int:
        return len(self.counts) - 1

    @property
    def f1(self) -> np.ndarray:
        """F1 of each probe, shape (layer,)."""
        return micro_f1(*np.moveaxis(self.counts.sum(axis=1), -1, 0))

    @property
    def gains(self) -> np.ndarray:
        """What each layer adds, shape (L,): ``D_1 .. D_L``."""
        return np.diff(self.f1)

    @property
    def expected_layer(self) -> float:
        """NaN where nothing is gained."""
        return float(expected_layer(self.f1[None])[0])

    @property
    def delta_bits(self) -> float:
        """K(Delta) in bits; NaN where nothing is gained."""
        return float(delta_bits(self.f1[None])[0])

    @property
    def centre_of_gravity(self) -> float:
        return centre_of_gravity(self.weights)

    @property
    def mixing_bits(self) -> float:
        return mixing_bits(self.weights)

    def resampled(self, *, seed: int = 0) -> np.ndarray:
        """F1 of each probe in samples of the documents, the same documents for all probes: shape (sample, layer)."""
        draws = np.random.default_rng(seed).poisson(1.0, (REPLICATES, self.counts.shape[1]))
        drawn = np.einsum("bu,luk->blk", draws, self.counts)
        return micro_f1(*np.moveaxis(drawn, -1, 0))

    def interval(self, statistic: Callable | None = None, *, seed: int = 0):
        """95 % interval over documents of a statistic of the F1 curve; (NaN, NaN) if too few samples give a number.

        The probes are not fitted again: how the choice of training documents matters is seen by other seeds of `cumulative_probes`.

        Parameters
        ----------
        statistic : function(array of shape (sample, layer)) -> array of shape (sample,) or (sample, ...)
            The function `expected_layer` (the default) or `delta_bits`, ``np.diff``, or the curve itself (``lambda f1: f1``).
        """
        curves = self.resampled(seed=seed)
        values = np.asarray(expected_layer(curves) if statistic is None else statistic(curves))
        tail = (1 - CONFIDENCE) / 2
        defined = np.isfinite(values)
        if values.ndim == 1:
            if defined.mean() < CONFIDENCE:
                return float("nan"), float("nan")
            values = values[defined]
        low, high = np.quantile(values, (tail, 1 - tail), axis=0)
        return (float(low), float(high)) if values.ndim == 1 else (low, high)

    def __repr__(self) -> str:
        return (
            f"LayerScores({self.task}: F1 {self.f1[0]:.3f} -> {self.f1[-1]:.3f} over {self.n_layers} layers, "
            f"expected layer {self.expected_layer:.2f}, centre of gravity {self.centre_of_gravity:.2f}; "
            f"{self.n_test} cases of {self.counts.shape[1]} documents)"
        )


def cumulative_probes(
    train: SpanVectors,
    test: SpanVectors,
    *,
    hidden: int = 0,
    l2: float | None = None,
    max_iterations: int = MAX_ITERATIONS,
    seed: int | None = None,
    progress: Callable[[Iterable], Iterable] | None = None,
) -> LayerScores:
    """Fit P(0) .. P(L), each by itself, and score them on other documents.

    Parameters
    ----------
    train, test : SpanVectors
        Of one task and one model.
    hidden, max_iterations
        See `fit_mix_probe`.
    l2 : float, optional
        The penalty of all depths; by default `choose_penalty` finds it among the training documents.
    seed : int, optional
        Fit on four fifths of the training documents, drawn by this seed (and start a hidden layer by it): runs with several seeds show what
        another training set would have given. None: fit on all.
    progress : function
        Wrapped round the layers, for example ``tqdm``.

    Raises
    ------
    ValueError
        If the two halves are of different tasks or models, share a document, or one is empty.
    """
    if train.task != test.task or train.vectors.shape[::2] != test.vectors.shape[::2]:
        raise ValueError(
            f"train and test must come from one task and one model; got {train.task!r}, {train.n_layers} layers, and "
            f"{test.task!r}, {test.n_layers} layers (or vectors of different width)."
        )
    if not len(train) or not len(test):
        raise ValueError(f"both halves need cases; got {len(train)} to fit on and {len(test)} to score.")
    shared = sorted(set(train.documents) & set(test.documents))
    if shared:
        raise ValueError(
            f"{len(shared)} documents are in both halves, for example {shared[0][:60]!r}: a probe would be scored on what it was fitted on."
        )
    if seed is not None:
        train = four_fifths(train, seed)
    if l2 is None:
        l2 = choose_penalty(train, hidden=hidden, max_iterations=max_iterations, seed=seed or 0)
    steps = range(train.n_layers + 1)
    counts, beliefs, probes = [], [], []
    for layer in steps if progress is None else progress(steps):
        probe = fit_mix_probe(
            train, layer, hidden=hidden, l2=l2, max_iterations=max_iterations, seed=seed or 0
        )
        probes.append(probe)
        believed = probe.beliefs(test.vectors)
        counts.append(count_answers(believed > 0.5, probe.labels, test).values)
        beliefs.append(believed.astype(np.float32))
    return LayerScores(
        train.task, probe.labels, np.stack(counts), probe.weights, np.stack(beliefs), tuple(sorted(set(test.documents))),
        len(train), len(test), l2, tuple(probes),
    )  # fmt: skip


def choose_penalty(train: SpanVectors, penalties: Sequence[float] = PENALTIES, **options) -> float:
    """The penalty under which P(0) and P(L) together score best on every second training document, fitted on the others.

    The documents that are scored in the end take no part in the choice. With fewer than two documents, the middle one.
    """
    names = {name: i % 2 for i, name in enumerate(sorted(set(train.documents)))}
    fit_on, score_on = (train.take([names[d] == half for d in train.documents]) for half in (0, 1))
    if len(set(fit_on.labels)) < 2 or not len(score_on):
        return sorted(penalties)[len(penalties) // 2]

    def score(l2: float) -> float:
        total = 0.0
        for layer in (0, train.n_layers):
            probe = fit_mix_probe(fit_on, layer, l2=l2, **options)
            total += count_answers(probe.beliefs(score_on.vectors) > 0.5, probe.labels, score_on).f1
        return total

    return max(penalties, key=score)


def four_fifths(data: SpanVectors, seed: int) -> SpanVectors:
    """The cases of four fifths of the documents, drawn by ``seed``."""
    names = sorted(set(data.documents))
    order = np.random.default_rng(seed).permutation(len(names))
    kept = {names[i] for i in order[: max(1, round(0.8 * len(names)))]}
    return data.take([document in kept for document in data.documents])


def draw_cases(data: SpanVectors, most: int, *, seed: int = 0) -> SpanVectors:
    """At most so many cases, drawn by lot and left in order."""
    if most >= len(data):
        return data
    return data.take(np.sort(np.random.default_rng(seed).permutation(len(data))[:most]))


def count_answers(answers: np.ndarray, labels: Sequence[str], data: SpanVectors) -> Counts:
    """Right, wrong and missed labels of each document.

    A label that the training cases did not have is missed, not forgotten; ``data.negative`` is nothing to find.

    Parameters
    ----------
    answers : bool array of shape (case, label)
        A case may be given no label, or several.
    labels : sequence of str
        What the columns mean.
    data : SpanVectors
    """
    answers = np.asarray(answers, dtype=bool)
    if answers.shape != (len(data), len(labels)):
        raise ValueError(
            f"answers must have shape {(len(data), len(labels))}, (case, label); got {answers.shape}."
        )
    right = (answers & (_one_hot(data.labels, labels) > 0)).sum(axis=1)
    to_find = np.array([label != data.negative for label in data.labels], dtype=int)
    per_case = np.stack([right, answers.sum(axis=1) - right, to_find - right], axis=1)
    names = sorted(set(data.documents))
    place = {name: i for i, name in enumerate(names)}
    totals = np.zeros((len(names), 3), int)
    np.add.at(totals, [place[name] for name in data.documents], per_case)
    return Counts(totals)


# --- rivals and controls -------------------------------------------------------------------------------------


def majority_baseline(train: SpanVectors, test: SpanVectors) -> Counts:
    """The commonest label for every case; where one label is no find, the other one always."""
    labels = [label for label in train.labels if label != train.negative]
    commonest = Counter(labels).most_common(1)[0][0]
    return count_answers(np.ones((len(test), 1), bool), [commonest], test)


def form_baseline(train: SpanVectors, test: SpanVectors) -> Counts:
    """A list of words, no model: the label that a span's words had most often in training, else the commonest of all.

    Of a pair whose label says "the same thing", the first and the second word sequence must be the same.
    """
    if train.negative is not None:
        same = [len(set(form.split(" | "))) == 1 for form in test.forms]
        [label] = {label for label in train.labels if label != train.negative}
        return count_answers(np.array(same)[:, None], [label], test)
    labels = tuple(sorted(set(train.labels)))
    seen: dict[str, Counter] = {}
    for form, label in zip(train.forms, train.labels):
        seen.setdefault(form, Counter())[label] += 1
    commonest = Counter(train.labels).most_common(1)[0][0]
    answers = [seen[form].most_common(1)[0][0] if form in seen else commonest for form in test.forms]
    return count_answers(_one_hot(answers, labels) > 0, labels, test)


def control_labels(
    train: SpanVectors, test: SpanVectors, *, seed: int = 0
) -> tuple[SpanVectors, SpanVectors]:
    """The same cases with made-up labels: every form has, always, one label, drawn by lot as often as the label occurs.

    Only a list of words can be learnt from it. The F1 on the treebank minus the F1 here is a probe's *selectivity* (Hewitt and Liang 2019).
    """
    pool = sorted(train.labels)

    def drawn(form: str) -> str:
        digest = hashlib.sha256(f"{seed} {form}".encode()).digest()
        return pool[int.from_bytes(digest[:8], "big") % len(pool)]

    return tuple(replace(data, labels=tuple(map(drawn, data.forms))) for data in (train, test))


# --- one case ------------------------------------------------------------------------------------------------


def sentence_beliefs(
    scores: LayerScores, data: SpanVectors, sentences: Sequence[EdgeSentence], number: int, *, top: int = 4
) -> dict:
    """What the probes believe of each question about one sentence, depth by depth (the paper's Figure 3), as a plain dict.

    Parameters
    ----------
    scores : LayerScores
        Of `cumulative_probes`.
    data : SpanVectors
        The cases that were scored.
    sentences : sequence of EdgeSentence
        Those that ``data`` was made from.
    number : int
        Which of them.
    top : int
        So many labels a question: those that some probe believes in most, the treebank's among them.

    Returns
    -------
    dict with ``words``, ``task``, and ``targets``, each with ``span1``, ``span2`` (or None), ``gold``, ``labels`` and ``beliefs``, a
    list of shape (label, layer) of probabilities rounded to three digits

    Raises
    ------
    ValueError
        If the scores are of other cases, or none of the sentence's questions was scored.
    """
    if scores.beliefs.shape[1] != len(data) or scores.task != data.task:
        raise ValueError(
            f"scores and data must be of the same cases; got {scores.beliefs.shape[1]} of {scores.task!r} and {len(data)} of {data.task!r}."
        )
    cases = [case for case, (sentence, _) in enumerate(data.places) if sentence == number]
    if not cases:
        raise ValueError(
            f"no question about sentence {number} was scored; one of {sorted({s for s, _ in data.places})[:8]} ... has some."
        )
    sentence = sentences[number]
    asked = [sentence.targets[data.places[case][1]] for case in cases]
    return _case(scores, sentence.words, asked, scores.beliefs[:, cases], top)


def typed_beliefs(scores: LayerScores, encoder, text: str, *, top: int = 4) -> dict:
    """The same for each word of any sentence; nobody knows the right label, so ``gold`` is empty.

    Parameters
    ----------
    scores : LayerScores
        Of a task with one span, fitted on vectors of this encoder.
    encoder : Encoder
    text : str
        Split at spaces and before punctuation.

    Raises
    ------
    ValueError
        If there is no word, the model cannot read the text whole, or the task asks about pairs.
    """
    if scores.probes[0].n_spans != 1:
        raise ValueError(
            f"the task {scores.task!r} asks about pairs; only single words of a typed text can be asked."
        )
    words = tuple(re.findall(r"\w+(?:['’]\w+)*|[^\w\s]", text))
    if not words:
        raise ValueError("there is no word to ask about; type a sentence.")
    [states] = hidden_states(encoder, [words])
    beliefs = np.stack([probe.beliefs(states) for probe in scores.probes])
    asked = [EdgeTarget((i, i + 1), None, "") for i in range(len(words))]
    return _case(scores, words, asked, beliefs, top)


def _case(
    scores: LayerScores, words: Sequence[str], asked: Sequence[EdgeTarget], beliefs: np.ndarray, top: int
) -> dict:
    targets = []
    for case, target in enumerate(asked):
        believed = beliefs[:, case]
        order = sorted(
            range(len(scores.labels)), key=lambda i: (scores.labels[i] != target.label, -believed[:, i].max())
        )
        order = sorted(order[:top], key=lambda i: -believed[-1, i])
        targets.append(
            {
                "span1": list(target.span1),
                "span2": None if target.span2 is None else list(target.span2),
                "gold": target.label,
                "labels": [scores.labels[i] for i in order],
                "beliefs": [[round(float(p), 3) for p in believed[:, i]] for i in order],
            }
        )
    return {"task": scores.task, "words": list(words), "targets": targets}


def settles_late(case: Mapping) -> int:
    """The question of a sentence whose answer changes at the greatest depth: a good one to begin with."""

    def last_change(target) -> int:
        leaders = np.asarray(target["beliefs"]).argmax(axis=0)
        changes = np.flatnonzero(np.diff(leaders))
        return int(changes[-1]) + 1 if len(changes) else 0

    return max(range(len(case["targets"])), key=lambda i: last_change(case["targets"][i]))
