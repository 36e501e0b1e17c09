"""Attention against importance: rank correlations, and what is left of them when a third thing is held fixed."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from bertlook_teach.measures import (
    attention_rollout,
    gradient_importance,
    value_norms,
    value_zeroing,
    value_zeroing_to_output,
    weighted_norms,
)
from bertlook_teach.model import output_projection

from ...metrics import partial_rank_correlation, rank_correlation
from .token_kinds import kinds_present, maps_of

if TYPE_CHECKING:
    from bertlook_teach.model import Attention, Reading


def attention_against_importance(share, gradient, norm) -> dict[str, float]:
    """Do heads look most where it matters least, and is that more than an effect of short vectors?

    Parameters
    ----------
    share : array of shape (layer, head)
        Share of attention to a kind of token, for instance [SEP].
    gradient : array of shape (layer, head)
        Mean |dL/dalpha| of the weights on it.
    norm : array of shape (layer, head)
        Mean ||f_h|| of these tokens.

    Returns
    -------
    dict of str -> float
        Spearman's correlation of share and gradient ``"over layers"`` (layer means), ``"over heads"`` (each minus its layer's
        mean), and both ``"... given norm"``: what is left of it when the norm is held fixed. A correlation that cannot be
        computed (two layers, constant numbers) is left out.

    Notes
    -----
    dL/dalpha = (dL/dout) . f holds no alpha, and cannot exceed ||dL/dout|| ||f||. If the correlation goes to 0 given the norm, low
    "importance" says that there is little to take, and no more.
    """
    sides = [np.asarray(values, dtype=float) for values in (share, gradient, norm)]
    if len({side.shape for side in sides}) > 1 or sides[0].ndim != 2:
        raise ValueError(
            f"share, gradient and norm must all have shape (layer, head); got {', '.join(str(s.shape) for s in sides)}."
        )
    found = {}
    levels = {
        "over layers": [side.mean(axis=1) for side in sides],
        "over heads": [side - side.mean(axis=1, keepdims=True) for side in sides],
    }
    for level, (x, y, z) in levels.items():
        for name, compute in (
            (level, lambda x=x, y=y: rank_correlation(x, y)),
            (f"{level} given norm", lambda x=x, y=y, z=z: partial_rank_correlation(x, y, z)),
        ):
            try:
                found[name] = compute()
            except ValueError:
                continue
    return found


def weight_norm_correlation(attention: Attention, norms) -> dict[str, float]:
    """Spearman's correlation of weight and ||f_h(x_j)|| over all pairs of one input, for each kind of key.

    Parameters
    ----------
    attention : Attention
    norms : array of shape (layer, head, key)
        From :func:`value_norms`.

    Returns
    -------
    dict of "cls", "sep", "punct", "other" -> float
        Pairs of all heads and layers are ranked together, as by Kobayashi et al. (2020), Table 2; they rank the pairs of all
        inputs together, we average over inputs. A kind that is not there, or constant, is left out.
    """
    weights = maps_of(attention, attention)
    found = {}
    for kind, mask in kinds_present(attention).items():
        chosen = weights[..., mask]
        try:
            found[kind] = rank_correlation(
                chosen, np.broadcast_to(np.asarray(norms)[..., None, mask], chosen.shape)
            )
        except ValueError:
            continue
    return found


# --- the lenses --------------------------------------------------------------------------------------------
class Lens(NamedTuple):
    """One way to look at a head: its title, what one number of the map means, and its unit."""

    title: str
    sentence: str
    unit: str


LENSES = {
    "weight": Lens(
        "Weight",
        "How much the token looks there: rows sum to 1.",
        "share of attention",
    ),
    "norm": Lens(
        "Weighted norm",
        "How much the head adds from there: the weight times the length of what there is to take.",
        "length",
    ),
    "gradient": Lens(
        "Gradient",
        "How sharply the loss depends on this weight, when each piece is masked and guessed in turn.",
        "nats per unit of weight",
    ),
    "rollout": Lens(
        "Rollout",
        "How much of that input token has arrived by this layer, through this head and all layers below: rows sum to 1.",
        "share of the mixture",
    ),
    "value_zeroing": Lens(
        "Value zeroing",
        "How far the layer's output turns when this head can take nothing from there: rows sum to 1.",
        "share of the turn",
    ),
    "ablation": Lens(
        "Ablation",
        "How far the model's output turns, layers above included, when this head can take nothing from there.",
        "cosine distance",
    ),
}


def lenses(reading: Reading, *, only: Iterable[str] | None = None) -> dict[str, np.ndarray]:
    """One text through every lens of :data:`LENSES`: what a head looks at, adds, depends on, passes on.

    Parameters
    ----------
    reading : Reading
        From :func:`bertlook_teach.model.read`.
    only : names of LENSES
        Compute these only; a model without a masked-LM head has no "gradient".

    Returns
    -------
    dict of name -> ndarray of shape (layer, head, query, key)
        In the order of LENSES. "gradient" belongs to the inputs with [MASK] in them, one for each piece. "rollout" of a head is its own
        map in its layer, and the mean over heads in the layers below.
    """
    wanted = list(LENSES) if only is None else list(only)
    for name in wanted:
        if name not in LENSES:
            raise ValueError(f"there is no lens {name!r}; there are: {', '.join(LENSES)}.")
    if {"value_zeroing", "ablation"}.intersection(wanted):
        reading.layer_calls(vectors="norm" in wanted)  # first: the same run gives the attention
    attention = reading.attention(vectors="norm" in wanted)
    compute = {
        "weight": lambda: attention.weights,
        "norm": lambda: weighted_norms(attention, value_norms(attention, output_projection(reading.encoder))),
        "gradient": lambda: gradient_importance(reading, masked="each"),
        "rollout": lambda: attention_rollout(attention, by_head=True),
        "value_zeroing": lambda: value_zeroing(reading, by_head=True),
        "ablation": lambda: value_zeroing_to_output(reading),
    }
    return {name: compute[name]() for name in LENSES if name in wanted}


# --- curves ------------------------------------------------------------------------------------------
CURVES = ("weight", "norm", "gradient")
