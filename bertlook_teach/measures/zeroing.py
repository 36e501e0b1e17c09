"""What reaches the model's output when one head can take nothing from one token: the layers above included."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np

from ..model import TOKENS_AT_ONCE, import_torch, require_reading

if TYPE_CHECKING:
    from ..model import Encoder, Reading


def value_zeroing_to_output(reading: Reading) -> np.ndarray:
    """How far the model's last vector of each token turns when one head is cut off from one token.

    In head h of one layer the value vector of token j is set to zero, and all layers above are run on what comes of it. The
    measure is the cosine distance between the last layer's vector of token i and what it was. In the last layer this is
    `value_zeroing` by head; below, it says what is left of a head's work once the layers above have had their turn.

    Parameters
    ----------
    reading : Reading
        From :func:`bertlook_teach.model.read`.

    Returns
    -------
    ndarray of shape (layer, head, query, key)
        Rows do not sum to 1. Token i need not look at token j itself: others may pass on what they took.

    Notes
    -----
    As many passes as there are heads and tokens: see `output_zeroing_work`.
    """
    require_reading(reading)
    torch = import_torch()

    encoder, n = reading.encoder, reading.n_tokens
    cuts = [(key, head) for head in range(encoder.n_heads) for key in range(n)]
    at_once = max(1, TOKENS_AT_ONCE // n)
    maps = np.empty((encoder.n_layers, encoder.n_heads, n, n))
    with torch.inference_mode(), encoder.evaluating():
        calls = reading.layer_calls()
        last = calls[-1][2]
        for layer in range(encoder.n_layers):
            rows = []
            for start in range(0, len(cuts), at_once):
                rows.append(_turn(_run(encoder, calls[layer:], cuts[start : start + at_once]), last))
            maps[layer] = np.concatenate(rows).reshape(encoder.n_heads, n, n).swapaxes(-1, -2)
    return maps


def _run(encoder: Encoder, calls, cuts):
    """The last layer's output for each cut in the first of these blocks: shape (cut, token, width)."""
    block, (given, options), _ = calls[0]
    try:
        hidden = _cut_block(encoder, block, given[0].expand(len(cuts), -1, -1), given[1:], options, cuts)
        for block, (given, options), _ in calls[1:]:
            hidden = block.module(hidden, *given[1:], **options)
            hidden = hidden[0] if isinstance(hidden, tuple) else hidden
    except (AttributeError, IndexError, TypeError) as error:
        raise ValueError(
            f"a layer of {encoder.name} ({encoder.model.config.model_type}) cannot be run by itself ({error}): it takes or gives more than one "
            "vector a token. BERT, RoBERTa, ELECTRA, ALBERT and DistilBERT work."
        ) from error
    return hidden


def output_zeroing_work(encoder: Encoder, n_tokens: int) -> float:
    """About how many multiplications `value_zeroing_to_output` takes: heads x tokens passes through half of the layers, on average.

    A core of a laptop does some 10 to 50 thousand million a second.
    """
    layers, heads, width = encoder.n_layers, encoder.n_heads, encoder.n_heads * encoder.head_size
    return layers * heads * n_tokens**2 * 12.0 * width**2 * (layers + 1) / 2


_ROUNDING = 1e-12  # a smaller cosine distance is that of two runs of one computation in single precision


def value_zeroing(
    reading: Reading,
    *,
    by_head: bool = False,
    normalized: bool = True,
    keys: Sequence[int] | None = None,
) -> np.ndarray:
    """How far each token's vector turns when a layer can take nothing from one token.

    In one layer the value vector of token j is set to zero; all else, the weights too, stays. The measure is the
    cosine distance between what the layer then gives for token i and what it gave before.

    Parameters
    ----------
    reading : Reading
        From :func:`bertlook_teach.model.read`.
    by_head : bool
        Zero the value vector of one head at a time, and not of all heads of the layer.
    normalized : bool
        Divide each row by its sum, so that it tells where token i depends on what. A row of zeros stays.
    keys : sequence of int
        Zero only these tokens; only with ``normalized=False``. The axis ``key`` then follows this sequence.

    Returns
    -------
    ndarray of shape (layer, query, key), or (layer, head, query, key) with ``by_head``

    References
    ----------
    Mohebbi et al. (2023), Quantifying Context Mixing in Transformers. Per head is our extension.
    """
    require_reading(reading)
    torch = import_torch()

    encoder, n = reading.encoder, reading.n_tokens
    if keys is not None and normalized:
        raise ValueError(
            "rows can be normalised over all keys only; pass normalized=False together with keys=."
        )
    keys = range(n) if keys is None else [int(key) for key in keys]
    for key in keys:
        if not 0 <= key < n:
            raise ValueError(f"key {key} lies outside the input: its {n} tokens count from 0 to {n - 1}.")
    cuts = [(key, head) for head in (range(encoder.n_heads) if by_head else [None]) for key in keys]
    at_once = max(1, TOKENS_AT_ONCE // n)
    layers = []
    with torch.inference_mode(), encoder.evaluating():
        for block, (given, options), before in reading.layer_calls():
            distances = [
                _turn(_run(encoder, [(block, (given, options), before)], cuts[i : i + at_once]), before)
                for i in range(0, len(cuts), at_once)
            ]
            by_cut = np.concatenate(distances).reshape(-1, len(keys), n)  # head or one, key, query
            layers.append(by_cut.swapaxes(-1, -2) if by_head else by_cut[0].T)
    maps = np.stack(layers)
    if not normalized:
        return maps
    sums = maps.sum(axis=-1, keepdims=True)
    return np.divide(maps, sums, out=np.zeros_like(maps), where=sums > 0)


def _cut_block(encoder: Encoder, block, hidden, rest, options, cuts):
    """The layer's output, each row of the batch without one value vector: shape (cut, token, width)."""

    def zero(module, inputs, output):
        output = output.clone()
        for row, (key, head) in enumerate(cuts):
            part = (
                slice(None)
                if head is None
                else slice(head * encoder.head_size, (head + 1) * encoder.head_size)
            )
            output[row, key, part] = 0
        return output

    with encoder.hooked([(block.value, "forward", zero)]):
        after = block.module(hidden, *rest, **options)
    return after[0] if isinstance(after, tuple) else after


def _turn(after, before) -> np.ndarray:
    """Cosine distances of the vectors of two tensors (..., token, width): shape (..., token)."""
    torch = import_torch()

    # In double: 1 - cosine of two nearly equal vectors loses all digits of single precision. Written as half the
    # squared distance of the unit vectors, which does not cancel.
    after, before = (torch.nn.functional.normalize(x.double(), dim=-1) for x in (after, before))
    distances = ((after - before) ** 2).sum(dim=-1).div(2).cpu().numpy()
    return np.where(distances > _ROUNDING, distances, 0.0)
