"""Switch heads off and see what is lost (Michel et al. 2019; Kovaleva et al. 2019).

Two ways of switching a head off circulate under one name, and they are not the same experiment:

``"zero"``
    The head gives nothing: its context vectors are multiplied by 0 (Michel's xi = 0). The output bias stays.
``"uniform"``
    The head looks at all real tokens equally: each weight becomes 1/L (Kovaleva's "disable"). It still gives something,
    the mean of its value vectors.

Neither touches the weights: both are hooks, and leave with the ``with`` block. ``head_mask``, which transformers once
had for this, is ignored without a word since version 5; that hooks act is therefore tried once for every encoder.
"""

from __future__ import annotations

import contextlib
import operator
from collections.abc import Iterable, Iterator
from typing import TYPE_CHECKING, Any
from weakref import WeakKeyDictionary

import numpy as np

from bertlook_teach.model import as_array, attention_blocks, head_label, import_torch, parse_head_label

if TYPE_CHECKING:
    from bertlook_teach.model import Encoder

WAYS = ("zero", "uniform")

_CONTROL_TEXT = "a b c d"

_CHANGE = 1e-6  # of the output's own size: what rounding alone can do stays below

_CONTROLLED: WeakKeyDictionary[Any, set] = WeakKeyDictionary()


def all_heads(encoder: Encoder) -> list[tuple[int, int]]:
    """Every head as (layer, head), counted from 0, layer by layer."""
    return [(layer, head) for layer in range(encoder.n_layers) for head in range(encoder.n_heads)]


def layer_heads(encoder: Encoder, layer: int) -> list[tuple[int, int]]:
    """All heads of one layer, which counts from 0."""
    layer = operator.index(layer)
    if not 0 <= layer < encoder.n_layers:
        raise ValueError(
            f"there is no layer {layer} in {_name(encoder)}: its {encoder.n_layers} layers count from 0 to "
            f"{encoder.n_layers - 1} here (1 to {encoder.n_layers} in print)."
        )
    return [(layer, head) for head in range(encoder.n_heads)]


def read_heads(heads, encoder: Encoder) -> tuple[tuple[int, int], ...]:
    """Which heads are meant, checked against the encoder's shape.

    Parameters
    ----------
    heads : str or iterable
        Printed names, counted from 1, in one string (``"1-2 3-4"``, commas too) or one by one; ``"3-*"`` is all of
        layer 3. Or pairs (layer, head), counted from 0. Both may be mixed.
    encoder : Encoder

    Returns
    -------
    tuple of (layer, head)
        Counted from 0, in order.

    Raises
    ------
    ValueError
        If a head does not exist (the message says the valid range, and whether it counts from 0 or 1), comes twice, or
        cannot be read.
    """
    if isinstance(heads, str):
        heads = heads.replace(",", " ").split()
    elif _is_pair(heads):
        heads = [heads]
    elif not isinstance(heads, Iterable):
        raise ValueError(f"heads are printed names such as '1-2 3-4', or pairs (layer, head); got {heads!r}.")
    found: dict[tuple[int, int], None] = {}
    for head in heads:
        for pair in _read_one(head, encoder):
            if pair in found:
                raise ValueError(
                    f"head {head_label(*pair)} (index {pair}) is named twice; name each head once."
                )
            found[pair] = None
    return tuple(sorted(found))


def _is_pair(heads) -> bool:
    if not isinstance(heads, tuple) or len(heads) != 2:
        return False
    return all(hasattr(part, "__index__") for part in heads)


def _read_one(head, encoder: Encoder) -> list[tuple[int, int]]:
    layers, heads = encoder.n_layers, encoder.n_heads
    shape = f"{_name(encoder)} has {layers} layer{'s' * (layers > 1)} of {heads} head{'s' * (heads > 1)}"
    if isinstance(head, str):
        whole = head.endswith("-*")
        layer, number = parse_head_label(head.removesuffix("*") + "1" if whole else head)
        if layer >= layers or number >= heads:
            raise ValueError(
                f"there is no head {head}: {shape}, and printed names count from 1, so they run from 1-1 to {layers}-{heads}."
            )
        return layer_heads(encoder, layer) if whole else [(layer, number)]
    try:
        layer, number = (operator.index(part) for part in head)
    except (TypeError, ValueError):
        raise ValueError(
            f"a head is a printed name such as '1-2', or a pair (layer, head) of whole numbers; got {head!r}."
        ) from None
    if not (0 <= layer < layers and 0 <= number < heads):
        raise ValueError(
            f"there is no head ({layer}, {number}): {shape}, and pairs count from 0, so they run from (0, 0) to "
            f"({layers - 1}, {heads - 1}). Printed names, which count from 1, are strings: '{layers}-{heads}'."
        )
    return [(layer, number)]


@contextlib.contextmanager
def ablated(encoder: Encoder, heads, how: str = "zero", *, allow_all: bool = False) -> Iterator[None]:
    """Switch heads off for all that runs through the encoder inside the ``with`` block.

    Parameters
    ----------
    encoder : Encoder
        Of any family that :func:`~bertlook_teach.model.attention_blocks` knows. Its weights stay as they are.
    heads : str or iterable
        As :func:`read_heads` takes them. None at all is allowed, and changes nothing.
    how : {"zero", "uniform"}
        ``"zero"``: the head's context vectors become 0. ``"uniform"``: they become the mean of its value vectors over the
        real tokens (those the attention mask lets through), so the heads' weights are 1/L.
    allow_all : bool
        Allow all heads of the model to be off, which leaves words that cannot see one another.

    Raises
    ------
    ValueError
        If a head does not exist or comes twice, ``how`` is unknown, or all heads would be off.
    RuntimeError
        If removing *all* heads does not change what the encoder gives (the positive control, tried once per encoder):
        then removing some would be an experiment without an intervention.

    Notes
    -----
    Gradients pass through. The attention *maps* the model reports are those before the intervention.

    References
    ----------
    Michel et al. (2019), Are Sixteen Heads Really Better than One?, section 2. Kovaleva et al. (2019), Revealing the Dark
    Secrets of BERT, section 4.6.
    """
    pairs = read_heads(heads, encoder)
    check_way(how)
    if len(pairs) == encoder.n_layers * encoder.n_heads and not allow_all:
        raise ValueError(
            f"all {len(pairs)} heads of {_name(encoder)} would be off, and no token could see another. Leave at least one on, or "
            "say allow_all=True if that is the experiment."
        )
    if pairs:
        positive_control(encoder, how)
    with hooked(encoder, pairs, how):
        yield


def check_way(how: str) -> None:
    if how not in WAYS:
        raise ValueError(
            f"how is 'zero' (the head gives nothing) or 'uniform' (it looks at all tokens equally); got {how!r}."
        )


def positive_control(encoder: Encoder, how: str = "zero", engine=None) -> None:
    """Make sure that switching all heads off changes what the encoder gives; done once for each encoder and way.

    With ``engine``, a `NumpyBert`, what NumPy computes is tried, else the hooks on torch's model.

    Raises
    ------
    RuntimeError
        If it does not.
    """
    done = _CONTROLLED.setdefault(encoder, set())
    key = (how, engine is None)
    if key in done:
        return
    ids = np.array([encoder.tokenizer(_CONTROL_TEXT)["input_ids"]])
    if engine is not None:
        change = heads_changed({layer: range(encoder.n_heads) for layer in range(encoder.n_layers)}, how)
        before, after = (engine.run(ids, change=one).states[-1] for one in (None, change))
    else:
        torch = import_torch()

        def run():
            with torch.no_grad(), encoder.evaluating():
                given = encoder.inputs(ids, np.ones_like(ids))
                return as_array(encoder.model(**given).last_hidden_state)

        before = run()
        with hooked(encoder, tuple(all_heads(encoder)), how):
            after = run()
    if not np.abs(after - before).max() > _CHANGE * np.abs(before).max():
        raise RuntimeError(
            f"the positive control failed: with all heads of {_name(encoder)} switched off ({how}), its output is the same as before. "
            "Either the hooks do not act on this model, or its heads give nothing to begin with; no ablation can be trusted here."
        )
    done.add(key)


def heads_changed(by_layer, how: str, mask=None):
    """What `NumpyBert.run` takes as ``change`` to switch heads off.

    Parameters
    ----------
    by_layer : dict
        Layer -> heads, counted from 0.
    how : {"zero", "uniform"}
    mask : array of shape (batch, token), optional
        1 for real tokens, 0 for padding.
    """

    def change(layer, handed, values):
        heads = list(by_layer.get(layer, ()))
        if not heads:
            return handed
        handed = handed.copy()
        handed[:, heads] = 0 if how == "zero" else _mean_values(values[:, heads], mask)
        return handed

    return change


def _mean_values(values, mask):
    """`uniform_context` of arrays (batch, head, token, dim): the mean value of the real tokens."""
    if mask is None:
        return values.mean(axis=2, keepdims=True)
    real = np.asarray(mask, values.dtype)[:, None, :, None]
    return (values * real).sum(axis=2, keepdims=True) / np.maximum(real.sum(axis=2, keepdims=True), 1)


@contextlib.contextmanager
def hooked(encoder: Encoder, pairs, how: str) -> Iterator[None]:
    """The hooks themselves, unchecked."""
    by_layer: dict[int, list[int]] = {}
    for layer, head in pairs:
        by_layer.setdefault(layer, []).append(head)
    change = _Zeroing(encoder, by_layer) if how == "zero" else _Uniform(encoder, by_layer)
    with at_contexts(encoder, change.apply, values=how == "uniform"):
        yield


@contextlib.contextmanager
def at_contexts(encoder: Encoder, change, *, values: bool = False) -> Iterator[None]:
    """Call ``change(layer, context, values, mask)`` where each layer's heads hand in their context vectors; other threads wait meanwhile.

    Parameters
    ----------
    encoder : Encoder
    change : function
        Gets the layer (from 0), the contexts of all heads joined, (batch, token, head * dim), the joined value vectors of
        the same shape (None unless ``values``), and the attention mask, (batch, token) or None where the model got none. Returns the new contexts, or None to
        leave them.
    values : bool
        Also catch the value vectors.
    """
    if getattr(encoder, "off", ()):
        raise ValueError(
            f"{encoder.name} has lost {len(encoder.off)} heads for good, and its layers differ in size. Ablate the model it came from "
            "(one ablated(encoder, heads) gives the same answers), or prune further."
        )
    blocks = attention_blocks(encoder)
    layers_of: dict[Any, list[int]] = {}
    for layer, block in enumerate(blocks):
        layers_of.setdefault(block.output, []).append(layer)
    state: dict[str, Any] = {"mask": None, "calls": {}, "values": {}}

    def start(module, inputs, options):
        state["mask"] = options.get("attention_mask", inputs[1] if len(inputs) > 1 else None)
        state["calls"] = {}

    def hooks_of(block, layers):
        def at_output(module, inputs):
            # ALBERT runs one block for every layer: which layer this is, only the count of calls tells.
            call = state["calls"].get(module, 0)
            state["calls"][module] = call + 1
            layer = layers[call] if len(layers) > 1 else layers[0]
            changed = change(layer, inputs[0], state["values"].pop(module, None), state["mask"])
            return None if changed is None else (changed, *inputs[1:])

        def at_values(module, inputs, output):
            state["values"][block.output] = output

        yield block.output, "forward_pre", at_output
        if values:
            yield block.value, "forward", at_values

    each = {block.output: block for block in blocks}.values()
    hooks = [hook for block in each for hook in hooks_of(block, layers_of[block.output])]
    with encoder.hooked([(encoder.model, "forward_pre", start)], with_kwargs=True), encoder.hooked(hooks):
        yield


class _Zeroing:
    """The heads give nothing."""

    def __init__(self, encoder: Encoder, by_layer):
        torch = import_torch()

        self.keep = {}
        for layer, heads in by_layer.items():
            keep = torch.ones(encoder.n_heads, device=encoder.device)
            keep[heads] = 0
            self.keep[layer] = keep.repeat_interleave(encoder.head_size)

    def apply(self, layer, context, values, mask):
        keep = self.keep.get(layer)
        return None if keep is None else context * keep.to(context.dtype)


class _Uniform:
    """The heads look at all real tokens equally."""

    def __init__(self, encoder: Encoder, by_layer):
        torch = import_torch()

        self.off = {}
        for layer, heads in by_layer.items():
            off = torch.zeros(encoder.n_heads, dtype=torch.bool, device=encoder.device)
            off[heads] = True
            self.off[layer] = off.repeat_interleave(encoder.head_size)

    def apply(self, layer, context, values, mask):
        off = self.off.get(layer)
        if off is None:
            return None
        return uniform_context(values, mask).where(off, context)


def uniform_context(values, mask):
    """The mean value vector of the real tokens, for every token: what heads give that look at all equally.

    Parameters
    ----------
    values : tensor of shape (batch, token, head * dim)
    mask : tensor of shape (batch, token) or None
        1 for real tokens, 0 for padding; None where all are real.

    Returns
    -------
    tensor of shape (batch, 1, head * dim)
    """
    if mask is None:
        return values.mean(dim=1, keepdim=True)
    if mask.shape != values.shape[:2]:
        raise ValueError(
            f"to look at all real tokens equally, the attention mask must say which are real, in shape (batch, token) = "
            f"{tuple(values.shape[:2])}; got {tuple(mask.shape)}."
        )
    real = mask.to(values.dtype).unsqueeze(-1)
    return (values * real).sum(dim=1, keepdim=True) / real.sum(dim=1, keepdim=True).clamp(min=1)


def _name(encoder) -> str:
    return getattr(encoder, "name", "the model")
