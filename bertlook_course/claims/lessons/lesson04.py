"""Lesson 04: is [SEP] a no-op? What its deck shows and its claims are decided on: gradients, norms, rollout, value zeroing."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator

import numpy as np

from bertlook_teach.measures import token_masks

from ...metrics import CannotDecide
from ...storage import cached, digest
from ..evidence import evidence
from .lesson03 import surface

N_BOUNDS = 600  # weights of which the deck shows the gradient and its bound
MOST_ZEROED = 6  # tokens of one kind whose values are zeroed, evenly spaced over the text


# --- evidence ------------------------------------------------------------------------------------------
@evidence("importance", version=1, unit="pairs of texts")
def gradients(encoder, resources) -> Iterator[dict[str, np.ndarray]]:
    """For each pair, 15 % of it masked: |dL/dalpha|, weight and norm of each kind of token, shape (layer, head)."""
    from bertlook_teach.measures import attention_gradients
    from bertlook_teach.model import NoMaskedLMHead, read

    for number, pair in enumerate(resources.pairs):
        try:
            found = attention_gradients(read(encoder, pair, truncate=True), seed=number)
        except NoMaskedLMHead as reason:
            raise CannotDecide(str(reason)) from None
        yield gradient_quantities(found)


def gradient_quantities(found) -> dict[str, np.ndarray]:
    from ...analyses.anatomy import category_means, category_sums

    attention, shown = found.attention, found.unmasked()
    masks = token_masks(attention)
    quantities = {
        f"grad_{kind}": value
        for kind, value in category_means(found.importance, attention, unmasked=shown).items()
    }
    quantities |= {f"weight_{kind}": value for kind, value in category_sums(attention, attention).items()}
    quantities |= {
        f"norm_{kind}": found.value_norms[..., mask].mean(axis=-1)
        for kind, mask in masks.items()
        if mask.any()
    }
    bound = np.maximum(found.bound, np.finfo(np.float32).tiny)
    quantities["over_bound"] = (found.importance / bound).max()
    return quantities


def shown_bounds(encoder, pair) -> dict:
    """Gradients of some weights of one text beside their bounds, the share of all that lie under them, and how many there are."""
    from bertlook_teach.measures import attention_gradients
    from bertlook_teach.model import read

    def make() -> dict:
        found = attention_gradients(read(encoder, pair))
        above_zero = np.flatnonzero(found.importance > 0)
        shown = np.random.default_rng(0).choice(above_zero, N_BOUNDS, replace=False)
        inside = found.importance <= 1.001 * found.bound
        chosen = {"bounds": found.bound.ravel()[shown], "importance": found.importance.ravel()[shown]}
        return chosen | {"share": float(inside.mean()), "count": inside.size}

    return cached("04 bounds", (encoder, digest(pair)), make, version=1)


@evidence("norms", version=1, unit="pairs of texts")
def norms(encoder, resources) -> Iterator[dict[str, np.ndarray]]:
    """For each pair: norms of f and weighted norms by kind of token, and what weights and norms make of mixing and rollout."""
    from bertlook_teach.model import iter_attention, output_projection

    projection = output_projection(encoder)
    frequency: Counter[str] = Counter()
    for pair in resources.pairs:
        for text in pair:
            frequency.update(encoder.tokenizer.tokenize(text))
    stream = iter_attention(encoder, resources.pairs, batch_size=4, truncate=True, vectors=True)
    for attention in stream:
        yield norm_quantities(attention, projection, frequency)


def norm_quantities(attention, projection, frequency) -> dict[str, np.ndarray]:
    from bertlook_teach.measures import attention_rollout, summed_norms, value_norms, weighted_norms

    from ...analyses.anatomy import category_sums, weight_norm_correlation
    from ...metrics import rank_correlation

    masks, each = token_masks(attention), value_norms(attention, projection)
    found = {"norm": each.mean(axis=-1), "norm_squared": (each**2).mean(axis=-1)}
    found |= {f"norm_{kind}": each[..., mask].mean(axis=-1) for kind, mask in masks.items() if mask.any()}
    found |= {f"weight_{kind}": value for kind, value in category_sums(attention, attention).items()}
    added = weighted_norms(attention, each)
    found |= {f"added_{kind}": value for kind, value in category_sums(added, attention).items()}
    found |= {
        f"rho_{kind}": np.float64(rho) for kind, rho in weight_norm_correlation(attention, each).items()
    }

    text = ~np.asarray(attention.special)
    counts = np.array([frequency[token] for token in attention.tokens])[text]
    try:  # rank 1 is the most frequent piece, as in the paper
        found["rho_rank_norm"] = np.float64(rank_correlation(-counts, each.mean(axis=(0, 1))[text]))
        received = attention.weights.mean(axis=(0, 1, 2))[text]
        found["rho_rank_weight"] = np.float64(rank_correlation(-counts, received))
    except ValueError:  # a text of a word or two
        pass

    found["mixed_by_weight"] = 1 - np.diagonal(attention.weights, axis1=-2, axis2=-1).mean()
    found["mixed_by_norm"] = np.float64(_mixing_ratio(attention, projection))
    if masks["sep"].any():
        together = summed_norms(attention, None, projection)
        for name, maps in (("rollout", attention), ("rollout_norms", together)):
            last = attention_rollout(maps)[-1]
            found[f"{name}_sep"] = last[:, masks["sep"]].sum(axis=-1).mean()
        found["sep_tokens"] = masks["sep"].mean()
    return found


def _mixing_ratio(attention, projection) -> float:
    """Share of the *other* tokens in what the heads of a layer write: norms of two sums, mean over tokens and layers."""
    own = np.diagonal(attention.weights, axis1=-2, axis2=-1)[..., None] * attention.values  # alpha_ii v_i
    others = attention.weights @ attention.values - own
    lengths = [np.linalg.norm((part @ projection).sum(axis=1), axis=-1) for part in (others, own)]
    return float((lengths[0] / (lengths[0] + lengths[1])).mean())


@evidence("value zeroing", version=2, unit="pairs of texts")
def zeroing(encoder, resources) -> Iterator[dict[str, np.ndarray]]:
    """For each pair: how far a layer turns other tokens when it can take nothing from a token, by the kind of that token."""
    from bertlook_teach.measures import value_zeroing
    from bertlook_teach.model import read

    from ...analyses.anatomy import category_sums

    for pair in resources.pairs:
        reading = read(encoder, pair, truncate=True)
        attention = reading.attention()
        found = {f"weight_{kind}": value for kind, value in category_sums(attention, attention).items()}
        some = {kind: _evenly_spaced(np.flatnonzero(mask)) for kind, mask in token_masks(attention).items()}
        keys = np.concatenate(list(some.values()))
        turns = value_zeroing(reading, normalized=False, keys=keys)
        given = attention.weights.mean(axis=1)[..., keys]
        # An angle, for sizes are compared: a cosine distance grows with its square, and eight times reads as sixty.
        quantities = {"angle": np.arccos(1 - np.minimum(turns, 2)), "given": given}
        for name, maps in quantities.items():
            maps = maps.copy()
            maps[:, keys, range(len(keys))] = np.nan  # what a token does to itself is left out
            by_key = np.nanmean(maps, axis=1)
            for kind, places in some.items():
                if len(places):
                    found[f"{name}_{kind}"] = by_key[:, np.isin(keys, places)].mean(axis=-1)
        yield found


def _evenly_spaced(places: np.ndarray) -> np.ndarray:
    """At most `MOST_ZEROED` of some places, so that tokens of a common kind do not cost more than they tell."""
    if len(places) <= MOST_ZEROED:
        return places
    return places[np.unique(np.linspace(0, len(places) - 1, MOST_ZEROED).round().astype(int))]


EVIDENCE = {
    "importance": gradients,
    "norms": norms,
    "value zeroing": zeroing,
    "surface": surface,
}
