"""How sharply the masked-LM loss depends on each attention weight: one backward pass for all of them.

A head writes ctx_i = sum_j alpha_ij v_j, so dL/dalpha_ij = g_i . v_j with g_i = dL/dctx_i. The weight itself is not in it.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING

import numpy as np

from ..model import (
    MASKED_SHARE,
    TOKENS_AT_ONCE,
    Attention,
    Masking,
    as_attention,
    attention_blocks,
    captured_vectors,
    choose_masked,
    chosen_masked,
    import_torch,
    masked_lm_head,
    output_projection,
    pieces_of,
    require_reading,
)
from .norms import value_norms

if TYPE_CHECKING:
    from ..model import Reading


@dataclass(frozen=True, eq=False)
class Gradients:
    """The gradient of the masked-LM loss with respect to every attention weight, for one masked input.

    Attributes
    ----------
    signed : ndarray of shape (layer, head, query, key)
        dL/dalpha: by how much the loss would rise if this one weight rose, all others held fixed (the softmax is
        ignored, as in Clark et al. 2019).
    attention : Attention
        Of the masked input, with its value vectors; ``attention.tokens`` shows what the model read.
    masked : tuple of int
        Positions to be guessed.
    loss : float
        Mean cross-entropy over them, in nats.
    output_gradient : ndarray of shape (layer, query)
        ||dL/dout_i||: how much the loss depends on what all heads together write into a token.
    value_norms : ndarray of shape (layer, head, key)
        ||f_h(x_j)||: what there was to take.
    """

    signed: np.ndarray
    attention: Attention
    masked: tuple[int, ...]
    loss: float
    output_gradient: np.ndarray
    value_norms: np.ndarray

    @property
    def importance(self) -> np.ndarray:
        """|dL/dalpha|, Clark's measure."""
        return np.abs(self.signed)

    @property
    def contribution(self) -> np.ndarray:
        """alpha dL/dalpha: the loss, to first order, that the weight as it is accounts for.

        Its sum over query and key is the gradient with respect to a gate on the whole head.
        """
        return self.attention.weights * self.signed

    @cached_property
    def bound(self) -> np.ndarray:
        """||dL/dout_i|| ||f_h(x_j)||, which |dL/dalpha_ij| cannot exceed: a token with a short f cannot get a large gradient.

        dL/dalpha_ij is the inner product of the two vectors. The weight alpha_ij itself is not in it.
        """
        return self.output_gradient[:, None, :, None] * self.value_norms[:, :, None, :]

    def unmasked(self) -> np.ndarray:
        """Boolean array of shape (token,): the tokens that the model was shown as they are."""
        mask = np.ones(self.attention.n_tokens, dtype=bool)
        mask[list(self.masked)] = False
        return mask


def attention_gradients(
    reading: Reading,
    *,
    masked: Sequence[int] | None = None,
    share: float = MASKED_SHARE,
    seed: int = 0,
) -> Gradients:
    """Mask some pieces of a text, and take the gradient of the loss with respect to all attention weights.

    One backward pass is enough: a head writes ctx_i = sum_j alpha_ij v_j, so dL/dalpha_ij = g_i . v_j with
    g_i = dL/dctx_i.

    Parameters
    ----------
    reading : Reading
        Of an encoder with a masked-LM head in its folder; from :func:`bertlook_teach.model.read`.
    masked : sequence of int, or bool for each token
        Positions that become [MASK]. Without it, ``share`` of the pieces, chosen by ``seed`` as in pre-training
        (80 % [MASK], 10 % a random piece, 10 % unchanged).

    Returns
    -------
    Gradients

    Raises
    ------
    ValueError
        If the model has no masked-LM head, or a position cannot be masked.

    References
    ----------
    Clark et al. (2019), section 3.2, Figure 3. Their code for it was not released; scale and masking are ours.
    """
    require_reading(reading)
    if masked is None:
        masking = choose_masked(reading.encoder, reading.ids, reading.special, share=share, seed=seed)
    else:
        masking = chosen_masked(reading.encoder, masked, reading.special)
    return next(_gradients(reading, [masking]))


def gradient_importance(
    reading: Reading,
    *,
    masked: Sequence[int] | str | None = None,
    share: float = MASKED_SHARE,
    seed: int = 0,
) -> np.ndarray:
    """|dL/dalpha| of every attention weight: how sharply the masked-LM loss depends on it.

    Parameters
    ----------
    masked : sequence of int, "each" or None
        ``"each"`` masks every piece in turn, one at a time, and averages |dL/dalpha| over these inputs: no piece is
        privileged. For the others and the remaining parameters see :func:`attention_gradients`.

    Returns
    -------
    ndarray of shape (layer, head, query, key)
        Compare ratios only: the scale depends on the length of the text and on how many pieces are masked.
    """
    if isinstance(masked, str):
        if masked != "each":
            raise ValueError(
                f"masked is a list of positions, 'each', or None for a random choice; got {masked!r}."
            )
        total, n = 0.0, 0
        for gradients in each_masked(reading):
            total, n = total + gradients.importance, n + 1
        return total / n
    return attention_gradients(reading, masked=masked, share=share, seed=seed).importance


def each_masked(reading: Reading) -> Iterator[Gradients]:
    """Gradients with one piece masked at a time, for every piece that is not special, in the order of the text."""
    maskings = [
        chosen_masked(reading.encoder, [i], reading.special) for i, s in enumerate(reading.special) if not s
    ]
    return _gradients(reading, maskings)


def _gradients(reading: Reading, maskings: Sequence[Masking]) -> Iterator[Gradients]:
    """One Gradients for each masking of one input; passes are shared by as many as memory allows."""
    torch = import_torch()

    encoder = reading.encoder
    head, blocks, projection = masked_lm_head(encoder), attention_blocks(encoder), output_projection(encoder)
    at_once = max(1, TOKENS_AT_ONCE // reading.n_tokens)
    for first in range(0, len(maskings), at_once):
        batch = maskings[first : first + at_once]
        rows = [masking.applied(reading.ids) for masking in batch]
        with torch.inference_mode(False), torch.enable_grad():
            run = _Run(reading, blocks, rows)
            losses = []
            for row, masking in enumerate(batch):
                positions = list(masking.positions)
                truth = torch.tensor([reading.ids[i] for i in positions], device=encoder.device)
                losses.append(torch.nn.functional.cross_entropy(head(run.hidden[row, positions]), truth))
            # A row of the batch depends on its own loss only, so their sum gives each row its own gradient.
            wanted = [*run.contexts, *run.outputs]
            found = torch.autograd.grad(torch.stack(losses).sum(), wanted)
        into_heads, into_outputs = found[: encoder.n_layers], found[encoder.n_layers :]
        for row, masking in enumerate(batch):
            values = run.per_head(run.values, row)
            signed = run.per_head(into_heads, row) @ values.swapaxes(-1, -2)
            attention = run.attention(row, rows[row], values)
            yield Gradients(
                signed,
                attention,
                masking.positions,
                float(losses[row].detach()),
                np.stack([layer[row].norm(dim=-1).cpu().numpy() for layer in into_outputs]),
                value_norms(values, projection),
            )


class _Run:
    """One forward pass with everything a gradient needs kept: maps, values, what heads write, what blocks get."""

    def __init__(self, reading: Reading, blocks, rows):
        self.reading, self.encoder = reading, reading.encoder
        self.contexts, self.outputs = [], []

        def before(module, given):
            context = given[0]
            if not context.requires_grad:  # where the model's weights are frozen, gradients start here
                context.requires_grad_()
            self.contexts.append(context)

        def after(module, given, output):
            self.outputs.append(output)

        outputs = {block.output: None for block in blocks}
        hooks = [
            (output, *hook) for output in outputs for hook in (("forward_pre", before), ("forward", after))
        ]
        with self.encoder.hooked(hooks), captured_vectors(self.encoder) as captured:
            done = self.encoder.model(**reading.inputs(rows), output_attentions=True)
        self.hidden, self.maps = done.last_hidden_state, done.attentions
        self.values = [layer.transpose(1, 2).flatten(2) for layer in captured["values"]]
        self._check()

    def _check(self) -> None:
        """What enters the output projection must be weights times values, or the identity does not hold."""
        for layer, (weights, values, context) in enumerate(zip(self.maps, self.values, self.contexts)):
            n_heads = self.encoder.n_heads
            weights, values, context = weights.detach(), values.detach(), context.detach()
            split = values.unflatten(-1, (n_heads, -1)).transpose(1, 2)
            mixed = (weights @ split).transpose(1, 2).flatten(2)
            gap = float((mixed - context).abs().max()) if mixed.shape == context.shape else float("inf")
            if gap > 1e-3 * (1 + float(context.abs().max())):
                raise ValueError(
                    f"in layer {layer + 1} of {self.encoder.name} the heads do not write weights times values (off by {gap:.3g}), "
                    "so gradients cannot be taken this way. Is dropout on, or are values shared or changed by a hook?"
                )

    def per_head(self, layers, row: int) -> np.ndarray:
        """One row of (batch, token, width) tensors, a layer each, as (layer, head, token, dim)."""
        stacked = np.stack([layer[row].detach().cpu().numpy() for layer in layers])
        return stacked.reshape(*stacked.shape[:2], self.encoder.n_heads, -1).swapaxes(1, 2)

    def attention(self, row: int, ids, values) -> Attention:
        weights = np.stack([layer[row].detach().cpu().numpy() for layer in self.maps])
        tokens = pieces_of(self.encoder, ids)
        return as_attention(self.reading, weights=weights, values=values, tokens=tokens)
