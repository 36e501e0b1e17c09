"""What is lost with one head: all heads of a model, one at a time, without a forward pass for each.

A head of layer l cannot change what the layers below it read. So the model runs once; for layer l only the layers from l on
run again, the heads of the layer side by side on the batch axis. Inside layer l a head's share of the attention output is taken
away, which needs no attention at all; the last layer is computed where the scorer reads it. The numbers are those of the
naive loop, to rounding.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from bertlook_teach.disk import Table
from bertlook_teach.model import head_label, head_rows, import_torch

from .heads_off import ablated, all_heads, check_way, layer_heads, positive_control, uniform_context
from .replay import attention_mask, layers_of, trace
from .scorers import as_scorer, batch_outputs, checked_batches, on_device, take_rows

REMOVE, KEEP, LAYER = "remove one head", "keep one head of the layer", "remove the layer's heads"

_TOKENS_AT_ONCE = {
    "cpu": 1536,
    "cuda": 65536,
}  # rows times tokens in one go: what stays in the cache (measured)


class _Changes(Table):
    """What both tables of effects say of losses and scores whose last axis is the example."""

    @property
    def n(self) -> int:
        """Number of examples."""
        return len(self.base_scores)

    @cached_property
    def loss_change(self) -> np.ndarray:
        """(layer, head) or (layer,): mean loss without minus mean loss with; positive where the heads were of use."""
        return (self.losses - self.base_losses).mean(axis=-1)

    @cached_property
    def score_change(self) -> np.ndarray:
        """(layer, head) or (layer,): mean score without minus mean score with; *negative* where the heads were of use."""
        return (self.scores - self.base_scores).mean(axis=-1)


@dataclass(frozen=True, eq=False)
class HeadEffects(_Changes):
    """Loss and score of every example with each head off in turn, and with all heads on.

    Attributes
    ----------
    losses, scores : ndarrays of shape (layer, head, example)
        In nats; and what the scorer counts, 1 for a right answer.
    base_losses, base_scores : ndarrays of shape (example,)
        With every head on.
    how : {"zero", "uniform"}
    what : str
        What was done for each head.
    measure : str
        What the scores are the mean of.
    logits, base_logits : ndarrays (layer, head, example, class) and (example, class), or None
    """

    losses: np.ndarray
    scores: np.ndarray
    base_losses: np.ndarray
    base_scores: np.ndarray
    how: str
    what: str
    measure: str
    logits: np.ndarray | None = None
    base_logits: np.ndarray | None = None

    @property
    def labels(self) -> list[str]:
        """Printed names, layer by layer."""
        return [head_label(layer, head) for layer, head in np.ndindex(self.loss_change.shape[:2])]

    def rows(self) -> list[dict]:
        """One dict a head: the changes of loss and score, and n."""
        return head_rows({"loss_change": self.loss_change, "score_change": self.score_change}, n=self.n)

    def __repr__(self) -> str:
        layers, heads = self.losses.shape[:2]
        return f"HeadEffects({self.what} ({self.how}), {layers} x {heads} heads, {self.measure} {self.base_scores.mean():.3f} with all, n = {self.n})"


@dataclass(frozen=True, eq=False)
class LayerEffects(_Changes):
    """Loss and score of every example with all heads of one layer off: arrays of shape (layer, example)."""

    losses: np.ndarray
    scores: np.ndarray
    base_losses: np.ndarray
    base_scores: np.ndarray
    how: str
    measure: str

    def rows(self) -> list[dict]:
        """One dict a layer: the changes of loss and score, and n."""
        pairs = zip(self.loss_change, self.score_change)
        return [
            {"layer": layer, "loss_change": float(loss), "score_change": float(score), "n": self.n}
            for layer, (loss, score) in enumerate(pairs)
        ]

    def __repr__(self) -> str:
        return f"LayerEffects({LAYER} ({self.how}), {len(self.losses)} layers, {self.measure} {self.base_scores.mean():.3f} with all, n = {self.n})"


def single_head_effects(
    scorer, batches: Iterable, *, how: str = "zero", fast: bool = True, logits: bool = False
) -> HeadEffects:
    """Switch each head off in turn, all others on.

    Parameters
    ----------
    scorer : Scorer or classifier
        A fine-tuned classifier, or :class:`~bertlook_course.analyses.ablation.MaskedLM`.
    batches : iterable of (input_ids, attention_mask, segment_ids, labels)
    how : {"zero", "uniform"}
        As for :func:`bertlook_course.analyses.ablation.ablated`.
    fast : bool
        Reuse the layers below (the default); False runs the naive loop, one forward pass a head: the same numbers to
        rounding, for a family whose layers are not known.
    logits : bool
        Keep the logits of every example, for classifiers (for masked pieces they would fill the memory).

    Returns
    -------
    HeadEffects

    Raises
    ------
    ValueError
        If there is no batch, or ``how`` is unknown.
    RuntimeError
        If removing all heads changes nothing (positive control), or the layers are wired in an unknown way.

    References
    ----------
    Michel et al. (2019), section 3.2.
    """
    return _by_head(scorer, batches, REMOVE, how, fast, logits)


def keep_one_effects(
    scorer, batches: Iterable, *, how: str = "zero", fast: bool = True, logits: bool = False
) -> HeadEffects:
    """Keep one head of a layer and switch the layer's others off; the other layers keep all of theirs.

    Parameters, returns and raises as :func:`single_head_effects`; [layer, head] is the head that was *kept*.

    References
    ----------
    Michel et al. (2019), section 3.3.
    """
    return _by_head(scorer, batches, KEEP, how, fast, logits)


def layer_effects(scorer, batches: Iterable, *, how: str = "zero", fast: bool = True) -> LayerEffects:
    """Switch all heads of one layer off, each layer in turn (Kovaleva et al. 2019, section 4.6, with ``how="uniform"``).

    The words of that layer see nothing of one another; what they already know goes on through the residual connection. Parameters and
    raises as :func:`single_head_effects`.
    """
    scorer = as_scorer(scorer)
    losses, scores, base, _ = _collect(scorer, batches, LAYER, how, fast, False)
    return LayerEffects(losses[:, 0], scores[:, 0], *base, how, scorer.measure)


def _by_head(scorer, batches, what, how, fast, logits) -> HeadEffects:
    scorer = as_scorer(scorer)
    losses, scores, base, kept = _collect(scorer, batches, what, how, fast, logits)
    about = {"how": how, "what": what, "measure": scorer.measure}
    return HeadEffects(losses, scores, *base, **about, **dict(zip(("logits", "base_logits"), kept)))


def _collect(scorer, batches, what, how, fast, logits):
    """(losses, scores) of shape (layer, variant, example), the base's, and logits if asked for."""
    torch = import_torch()

    encoder = scorer.encoder
    check_way(how)
    with encoder.evaluating():
        positive_control(encoder, how)
        parts, base, kept, base_kept = [], [], [], []
        variants = 1 if what == LAYER else encoder.n_heads
        with torch.no_grad():
            for batch in list(checked_batches(batches)):
                batch = on_device(batch, encoder)
                own = batch_outputs(scorer, batch)
                base.append(_judged(scorer, own, batch))
                table = np.full((2, encoder.n_layers, variants, len(batch[0])), np.nan)
                given = (
                    np.empty((encoder.n_layers, variants, *own.shape), dtype=np.float32) if logits else None
                )
                for layer, variant, answer in head_logits(scorer, batch, what, how, fast=fast):
                    table[:, layer, variant] = _judged(scorer, answer, batch)
                    if logits:
                        given[layer, variant] = answer.cpu().numpy()
                parts.append(table)
                if logits:
                    kept.append(given)
                    base_kept.append(own.cpu().numpy())
    losses, scores = np.concatenate(parts, axis=-1)
    base_losses, base_scores = np.concatenate(base, axis=-1)
    kept_logits = (np.concatenate(kept, axis=2), np.concatenate(base_kept)) if logits else (None, None)
    return losses, scores, (base_losses, base_scores), kept_logits


def _judged(scorer, logits, batch) -> np.ndarray:
    """Losses and scores of one batch: shape (2, batch)."""
    return np.stack(
        [scorer.losses(logits, batch).cpu().numpy(), scorer.scores(logits, batch).cpu().numpy()]
    ).astype(float)


def head_logits(
    scorer, batch, what: str = REMOVE, how: str = "zero", *, fast: bool = True
) -> Iterator[tuple]:
    """Logits of one batch for every head in turn: yields (layer, head, logits), in no promised order.

    The batch lies on the encoder's device, the model is in evaluation mode and gradients are off (all of which
    :func:`single_head_effects` sees to). ``what`` is one of the constants REMOVE, KEEP and LAYER of this module (LAYER yields head 0 only).
    """
    yield from (_fast if fast else _naive)(scorer, batch, what, how)


def _naive(scorer, batch, what, how) -> Iterator[tuple]:
    encoder = scorer.encoder
    for layer, head in all_heads(encoder):
        if what == LAYER and head:
            continue
        others = layer_heads(encoder, layer)
        off = {
            REMOVE: [(layer, head)],
            KEEP: [pair for pair in others if pair != (layer, head)],
            LAYER: others,
        }[what]
        with ablated(encoder, off, how, allow_all=True):
            yield layer, head, batch_outputs(scorer, batch)


def _fast(scorer, batch, what, how) -> Iterator[tuple]:
    encoder = scorer.encoder
    traced = trace(encoder, batch)
    layers = layers_of(encoder, batch, traced)
    mask, rows = attention_mask(batch), scorer.rows(batch)
    size, tokens = batch[0].shape
    at_once = max(1, _TOKENS_AT_ONCE.get(encoder.device.type, _TOKENS_AT_ONCE["cpu"]) // (size * tokens))
    last = len(layers) - 1
    for number, layer in enumerate(layers):
        hidden, contexts, values = traced.inputs[number], traced.contexts[number], traced.values[number]
        uniform = uniform_context(values, batch[1]) if how == "uniform" else None
        if number == last:  # nothing above mixes positions any more
            hidden, contexts = take_rows(hidden, rows), take_rows(contexts, rows)
        outputs = _attention_outputs(layer, contexts, uniform, what)
        for start in range(0, len(outputs), at_once):
            chunk = outputs[start : start + at_once]
            current = layer.after(chunk.flatten(0, 1), hidden.repeat(len(chunk), 1, 1))
            above = None if mask is None else mask.repeat(len(chunk), 1, 1, 1)
            for upper in layers[number + 1 : last]:
                current = upper.run(current, above)
            if number < last:
                current = layers[last].run_rows(current, above, rows.repeat(len(chunk), 1))
            for variant, answer in enumerate(current.unflatten(0, (len(chunk), size)), start):
                yield number, variant, scorer.logits(answer, batch)


def _attention_outputs(layer, contexts, uniform, what):
    """The layer's attention output for each variant: (variant, batch, token, width)."""
    torch = import_torch()

    complete = layer.output(contexts)
    if what == REMOVE:
        change = contexts if uniform is None else contexts - uniform
        return complete - layer.head_outputs(change)
    nothing = torch.zeros_like(contexts) if uniform is None else uniform.expand_as(contexts)
    without = layer.output(nothing).unsqueeze(0)
    return without if what == LAYER else without + layer.head_outputs(contexts - nothing)


def best_to_remove(effects: HeadEffects) -> np.ndarray:
    """What the best head to remove gains: on the half of the sentences that chose it, and on the other half.

    Parameters
    ----------
    effects : HeadEffects

    Returns
    -------
    array of shape (2,)
        Mean gains in nats over 200 random halves; positive where the loss falls without the head.
    """
    n_texts = len(effects.base_losses)
    change = (effects.losses - effects.base_losses).reshape(-1, n_texts)
    rng, gains = np.random.default_rng(0), []
    for _ in range(200):
        half = rng.permutation(n_texts) < n_texts // 2
        best = change[:, half].mean(axis=1).argmin()
        gains.append((-change[best, half].mean(), -change[best, ~half].mean()))
    return np.mean(gains, axis=0)
