"""An encoder's layers as plain functions, so that a run can start in the middle of the model.

The same numbers as the model's own layers, to rounding, but without what a study of ablations does not need: no attention
maps are kept, the last layer is computed only where it is read, and there is one product for queries, keys and values.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any
from weakref import WeakKeyDictionary

from bertlook_teach.model import Block, attention_blocks, import_torch

from .heads_off import at_contexts
from .scorers import inputs_of

if TYPE_CHECKING:
    from bertlook_teach.model import Encoder

_TOLERANCE = 1e-4  # of the largest hidden value: far above rounding, far below a layer wired wrongly

_PROVEN: WeakKeyDictionary[Any, bool] = WeakKeyDictionary()


@dataclass(frozen=True, eq=False)
class Trace:
    """One run of the model, layer by layer.

    Attributes
    ----------
    inputs : list of tensors (batch, token, width)
        What each layer reads.
    contexts, values : list of tensors (batch, token, head * dim)
        What each layer's heads write before the output projection, and their value vectors.
    last : tensor (batch, token, width)
        What the last layer gives.
    """

    inputs: list
    contexts: list
    values: list
    last: Any


def trace(encoder: Encoder, batch) -> Trace:
    """Run the model once and keep what each layer reads and what its heads write."""
    inputs, contexts, values = [], [], []

    def keep(layer, context, value, mask):
        contexts.append(context)
        values.append(value)

    modules = {block.module: None for block in attention_blocks(encoder)}
    hooks = [(module, "forward_pre", lambda module, given: inputs.append(given[0])) for module in modules]
    with encoder.hooked(hooks), at_contexts(encoder, keep, values=True):
        last = encoder.model(**inputs_of(encoder, batch)).last_hidden_state
    return Trace(inputs, contexts, values, last)


class Layer:
    """One layer as functions on tensors of shape (batch, token, width)."""

    def __init__(self, block: Block, n_heads: int):
        torch = import_torch()

        self.module, self.output, self.n_heads = block.module, block.output, n_heads
        attention = self.module.attention
        inner = getattr(attention, "self", attention)
        self.query, self.key, self.value = (
            getattr(inner, name)
            for name in (
                ("q_lin", "k_lin", "v_lin") if hasattr(inner, "q_lin") else ("query", "key", "value")
            )
        )
        self.head_size = self.output.in_features // n_heads
        with torch.no_grad():
            self.weight = torch.cat([part.weight for part in (self.query, self.key, self.value)])
            self.bias = torch.cat([part.bias for part in (self.query, self.key, self.value)])
        self.after = _after(self.module)

    def head_outputs(self, contexts):
        """What each head adds to the attention output: (head, batch, token, width) of contexts (batch, token, head * dim)."""
        torch = import_torch()

        split = contexts.unflatten(-1, (self.n_heads, self.head_size))
        matrix = self.output.weight.unflatten(1, (self.n_heads, self.head_size))  # width, head, dim
        return torch.einsum("bthd,whd->hbtw", split, matrix)

    def run(self, hidden, mask):
        """The whole layer. ``mask``: (batch, 1, 1, token), True where a token may be looked at, or None."""
        torch = import_torch()

        joined = torch.nn.functional.linear(hidden, self.weight, self.bias)
        query, key, value = joined.unflatten(-1, (3, self.n_heads, self.head_size)).permute(2, 0, 3, 1, 4)
        context = torch.nn.functional.scaled_dot_product_attention(query, key, value, attn_mask=mask)
        return self.after(self.output(context.transpose(1, 2).flatten(2)), hidden)

    def run_rows(self, hidden, mask, rows):
        """The layer at some positions only: ``rows`` (batch, k) gives (batch, k, width).

        Keys and values of all tokens are then never computed. With q' = W_K^T q, the score q . (W_K x) is q' . x, and the
        bias of the keys adds the same to every score, which the softmax forgets; the values are mixed before W_V is applied.
        """
        torch = import_torch()

        from .scorers import take_rows

        own = take_rows(hidden, rows)
        if rows.shape[1] >= self.head_size:
            return take_rows(self.run(hidden, mask), rows)
        heads, size = self.n_heads, self.head_size
        query = self.query(own).unflatten(-1, (heads, size))  # batch, row, head, dim
        keys = self.key.weight.unflatten(0, (heads, size))  # head, dim, width
        folded = torch.einsum("brhd,hdw->brhw", query, keys).flatten(1, 2)
        scores = (folded @ hidden.transpose(1, 2)) * size**-0.5  # batch, row * head, token
        if mask is not None:
            scores = scores.masked_fill(~mask[:, 0], float("-inf"))
        mixed = (scores.softmax(dim=-1) @ hidden).unflatten(1, (rows.shape[1], heads))
        context = torch.einsum(
            "brhw,hdw->brhd", mixed, self.value.weight.unflatten(0, (heads, size))
        ).flatten(2)
        return self.after(self.output(context + self.value.bias), own)


def _after(module):
    """What a layer does once its attention output is there: (attention output, layer input) -> layer output."""
    if hasattr(module, "sa_layer_norm"):  # DistilBERT

        def after(attention_output, hidden):
            middle = module.sa_layer_norm(attention_output + hidden)
            return module.output_layer_norm(module.ffn(middle) + middle)

    elif hasattr(module, "full_layer_layer_norm"):  # ALBERT

        def after(attention_output, hidden):
            middle = module.attention.LayerNorm(attention_output + hidden)
            return module.full_layer_layer_norm(module.ff_chunk(middle) + middle)

    else:  # BERT, RoBERTa, ELECTRA

        def after(attention_output, hidden):
            middle = module.attention.output.LayerNorm(attention_output + hidden)
            return module.output(module.intermediate(middle), middle)

    return after


def layers_of(encoder: Encoder, batch, traced: Trace) -> list[Layer]:
    """Every layer as functions; on first use they are held against what the model itself gave (``traced``).

    Raises
    ------
    RuntimeError
        If a layer gives something else than the model's own: a family that is wired differently.
    """
    blocks, kind = attention_blocks(encoder), encoder.model.config.model_type
    unknown = "it is wired in a way this code does not know. The naive loop (fast=False) works on any model."
    try:
        made = {
            block.module: Layer(block, encoder.n_heads) for block in {b.module: b for b in blocks}.values()
        }
        layers = [made[block.module] for block in blocks]
        gaps = [] if encoder in _PROVEN else _gaps(layers, batch, traced)
    except (
        AttributeError,
        TypeError,
        RuntimeError,
    ) as error:
        # a part that is not there, or of another shape
        raise RuntimeError(
            f"{encoder.name} ({kind}) cannot be recomputed from its parts ({error}): {unknown}"
        ) from error
    for number, gap in enumerate(gaps, 1):
        if not gap <= _TOLERANCE:
            raise RuntimeError(
                f"layer {number} of {encoder.name} ({kind}), recomputed from its parts, is off by {gap:.1e} of its largest value: {unknown}"
            )
    _PROVEN[encoder] = True
    return layers


def _gaps(layers: list[Layer], batch, traced: Trace) -> list[float]:
    """How far each layer's own output and the recomputed one lie apart, as a share of its largest value."""
    mask, outputs = attention_mask(batch), [*traced.inputs[1:], traced.last]
    real = batch[1].bool() if batch[1] is not None else slice(None)
    return [
        float((layer.run(given, mask) - wanted)[real].abs().max()) / float(wanted.abs().max())
        for layer, given, wanted in zip(layers, traced.inputs, outputs)
    ]


def attention_mask(batch):
    """(batch, 1, 1, token), True for real tokens; None if all are, which is faster."""
    mask = batch[1]
    if mask is None or bool(mask.all()):
        return None
    return mask.bool()[:, None, None, :]
