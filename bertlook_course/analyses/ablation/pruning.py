"""Heads removed for good: a smaller and faster model with the same answers as the masked one (Michel et al. 2019, section 5).

Switching a head off saves nothing: its queries, keys and values are computed and then multiplied by 0. Here the rows of W_Q, W_K and W_V
and the columns of W_O that belong to it are cut out. Layers may end up with different numbers of heads, or with none: then only
the output bias is left of the layer's attention, which is exactly what masking all its heads leaves.
"""

from __future__ import annotations

import copy
from dataclasses import dataclass
from typing import Any

from bertlook_teach.model import Encoder, attention_blocks, head_label, import_torch

from .heads_off import read_heads

_NAMES = ("query", "key", "value"), ("q_lin", "k_lin", "v_lin")


@dataclass(frozen=True, eq=False)
class PrunedEncoder(Encoder):
    """An encoder some of whose heads are gone; made by `prune`. Heads keep the names they had before.

    Attributes
    ----------
    off : tuple of (layer, head)
        The heads that were removed, counted from 0 in the model that was pruned.
    original : str
        The name of that model.
    """

    off: tuple[tuple[int, int], ...] = ()
    original: str = ""

    @property
    def kept(self) -> list[list[int]]:
        """The heads left in each layer, by their old numbers, from 0."""
        gone = set(self.off)
        return [
            [head for head in range(self.n_heads) if (layer, head) not in gone]
            for layer in range(self.n_layers)
        ]

    def __repr__(self) -> str:
        counts = ", ".join(str(len(heads)) for heads in self.kept)
        return f"PrunedEncoder({self.original!r} without {len(self.off)} of {self.n_layers * self.n_heads} heads; left in each layer: {counts}; {self.device})"


def prune(encoder: Encoder, heads, *, allow_all: bool = False) -> PrunedEncoder:
    """A copy of the encoder without some heads; the encoder itself stays as it is.

    Parameters
    ----------
    encoder : Encoder
        BERT, RoBERTa, ELECTRA, DistilBERT and the like; also one that was pruned before, whose heads keep their first names.
    heads : str or iterable
        As :func:`~bertlook_course.analyses.ablation.read_heads` takes them.
    allow_all : bool
        Allow that no head is left in the whole model.

    Returns
    -------
    PrunedEncoder

    Raises
    ------
    ValueError
        If no head or all heads are named, a head does not exist, was pruned before or is named twice, or the layers share one block
        (ALBERT: to prune a head of one layer would prune it in all).
    """
    pairs = read_heads(heads, encoder)
    if not pairs:
        raise ValueError("no head was named, so there is nothing to prune.")
    before = tuple(getattr(encoder, "off", ()))
    if twice := sorted(set(pairs) & set(before)):
        raise ValueError(
            f"head {', '.join(head_label(*pair) for pair in twice)} of {encoder.name} is pruned already; heads keep the names they had "
            f"before pruning. Gone are: {_named(before)}."
        )
    off = tuple(sorted({*pairs, *before}))
    if len(off) == encoder.n_layers * encoder.n_heads and not allow_all:
        raise ValueError(
            f"all {len(off)} heads of {encoder.name} would be gone, and no token could see another. Leave at least one, or say "
            "allow_all=True if that is the experiment."
        )
    if not before:
        blocks = [block.module for block in attention_blocks(encoder)]
        if len(set(blocks)) < len(blocks):
            raise ValueError(
                f"the layers of {encoder.name} ({encoder.model.config.model_type}) share one block, so a head cannot be removed from one layer "
                "alone. Mask it instead: ablated(encoder, heads)."
            )
    model = copy.deepcopy(encoder.model)
    pruned = _wrapped(encoder, model, off, getattr(encoder, "original", "") or encoder.name)
    old = encoder.kept if before else [list(range(encoder.n_heads))] * encoder.n_layers
    _cut(_attention_modules(model), old, pruned.kept, encoder.head_size)
    return pruned


def _wrapped(encoder: Encoder, model, off, original: str) -> PrunedEncoder:
    return PrunedEncoder(
        f"{original} pruned", model, encoder.tokenizer, encoder.device, off=off, original=original
    )


def _named(off) -> str:
    return " ".join(head_label(*pair) for pair in off) or "none"


def _attention_modules(model) -> list[tuple[Any, Any, tuple[str, str, str]]]:
    """Of each layer: the module with the three projections, their names, and the output projection."""
    found = []
    for module in model.modules():
        for names in _NAMES:
            if all(hasattr(module, name) for name in names):
                found.append((module, names))
    outputs = [
        m for path, m in model.named_modules() if path.endswith((".attention.output.dense", ".out_lin"))
    ]
    if len(found) != len(outputs):
        raise ValueError(
            f"{model.config.model_type}: {len(found)} sets of queries, keys and values for {len(outputs)} output projections; BERT, RoBERTa, "
            "ELECTRA and DistilBERT can be pruned."
        )
    return [(module, output, names) for (module, names), output in zip(found, outputs)]


def _cut(parts, old, new, size: int) -> None:
    """Leave only the rows and columns of the heads in ``new``."""
    torch = import_torch()

    for (module, output, names), had, keep in zip(parts, old, new):
        if had == keep:
            continue
        places = [had.index(head) for head in keep]
        rows = (torch.tensor(places, dtype=torch.long)[:, None] * size + torch.arange(size)).flatten()
        for name in names:
            linear = getattr(module, name)
            _set(
                linear,
                linear.weight.detach()[rows.to(linear.weight.device)],
                linear.bias.detach()[rows.to(linear.weight.device)],
            )
        _set(output, output.weight.detach()[:, rows.to(output.weight.device)], output.bias.detach())
        for attribute in ("num_attention_heads", "n_heads"):
            if hasattr(module, attribute):
                setattr(module, attribute, len(keep))
        if hasattr(module, "all_head_size"):
            module.all_head_size = len(keep) * size
        if not keep:
            _without_heads(module)


def _set(linear, weight, bias) -> None:
    torch = import_torch()

    linear.weight, linear.bias = torch.nn.Parameter(weight.clone()), torch.nn.Parameter(bias.clone())
    linear.out_features, linear.in_features = weight.shape


def _without_heads(module) -> None:
    """A self-attention without heads: it gives nothing, and the output projection adds its bias to that."""

    def forward(self, hidden_states, *args, **options):
        batch, tokens, _ = hidden_states.shape
        nothing = hidden_states.new_zeros(batch, tokens, 0)
        output = self.out_lin(nothing) if hasattr(self, "out_lin") else nothing
        return output, hidden_states.new_zeros(batch, 0, tokens, tokens)

    base = type(module)
    # A class of its own and not a changed method, so that copies of the model keep it.
    module.__class__ = type(f"{base.__name__}WithoutHeads", (base,), {"forward": forward})


# --- size ----------------------------------------------------------------------------------------------
def parameter_count(encoder: Encoder, *, without: int = 0) -> int:
    """Number of weights, biases and embeddings of the encoder; ``without`` so many heads, as after `prune`."""
    if encoder.engine is not None:
        count = sum(weights.size for weights in encoder.engine.weights.values())
    else:
        count = sum(parameter.numel() for parameter in encoder.model.parameters())
    if (
        without
        and encoder.engine is None
        and len({b.module for b in attention_blocks(encoder)}) < encoder.n_layers
    ):
        raise ValueError(
            f"the layers of {encoder.name} share one block, so no head can go without those of all layers."
        )
    projections = (
        4 * encoder.config.hidden_size * encoder.head_size
    )  # of queries, keys and values, and the head's part of the output's
    return count - without * (projections + 3 * encoder.head_size)
