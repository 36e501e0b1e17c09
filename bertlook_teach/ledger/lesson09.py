"""Lesson 09: families of heads. Clark et al. (2019), section 6 and Figure 6."""

from __future__ import annotations

from collections.abc import Iterator
from functools import lru_cache

import numpy as np

from ..claims import CannotDecide, Claim, Values
from ..distances import (
    THRESHOLDS,
    UNLABELLED,
    behaviour_labels,
    group_test,
    js_distances,
    metric_mds,
)
from ..published import PublishedMap, published_map
from ..surface import surface_measures
from .statistics import first_third

CLARK = "Clark et al. 2019"
_STEPS = 10  # towards the best map of a sample of texts; more would lower its stress a little


# --- evidence ------------------------------------------------------------------------------------------


def families(encoder, resources) -> Iterator[dict[str, np.ndarray]]:
    """For each pair of texts: distances between all heads, nats a token, and what the rule for labels asks for."""
    from ..attention import iter_attention

    for attention in iter_attention(encoder, resources.pairs, truncate=True):
        yield family_quantities(attention)


def family_quantities(attention) -> dict[str, np.ndarray]:
    measures = surface_measures()
    return {"distance": js_distances(attention)} | {name: measures[name](attention) for name in THRESHOLDS}


EVIDENCE = {"families": families}


# --- statistics ----------------------------------------------------------------------------------------


def labels(values: Values) -> np.ndarray:
    """Behaviour of each head, shape (layer, head), from means over texts."""
    return behaviour_labels({name: values[name] for name in THRESHOLDS})


def _shape(values: Values) -> tuple[int, int]:
    return values["sep"].shape


def closer(distances, groups) -> float:
    """By which share the mean distance within groups is smaller than between them; CannotDecide without pairs."""
    try:
        found = group_test(distances, groups, permutations=0)
    except ValueError as reason:
        raise CannotDecide(str(reason)) from None
    return found.difference / found.between if found.between > 0 else 0.0


def layers_closer(values: Values, choice: Values) -> float:
    n_layers, n_heads = _shape(values)
    return closer(values["distance"], np.repeat(np.arange(n_layers), n_heads))


def behaviours_closer(values: Values, choice: Values) -> float:
    """0 where no two groups can be compared: labels that nobody or everybody has set nobody apart."""
    try:
        return closer(values["distance"], labels(choice).ravel())
    except CannotDecide:
        return 0.0


def nearest_is_of_the_layer(values: Values, choice: Values | None = None) -> float:
    """Share of heads whose nearest head is of their own layer, minus what chance would give."""
    return nearest_minus_chance(values["distance"], *_shape(values))


def nearest_minus_chance(distances, n_layers: int, n_heads: int) -> float:
    heads = n_layers * n_heads
    if n_layers < 2 or n_heads < 2:
        raise CannotDecide("it takes two layers of two heads to compare")
    others = np.asarray(distances) + np.where(np.eye(heads, dtype=bool), np.inf, 0)
    own = others.argmin(axis=1) // n_heads == np.arange(heads) // n_heads
    return float(own.mean()) - (n_heads - 1) / (heads - 1)


def share_labelled(*kinds: str):
    return lambda values, choice: float(np.isin(labels(values), kinds).mean())


def minus(statistic):
    return lambda values, choice: -statistic(values, choice)


def broad_heads_low(values: Values, choice: Values | None = None) -> float:
    """Share of the broad heads that stand in the first third of the layers, minus that third."""
    broad = labels(values) == "broad"
    if not broad.any():
        raise CannotDecide("no head is broad")
    low = first_third(broad)
    return float(broad[low].sum() / broad.sum() - low.mean())


def minus_stress(values: Values, choice: Values) -> float:
    """From the map of the texts that choose a few steps to that of these texts: an upper bound of its stress."""
    distances = np.ascontiguousarray(choice["distance"], dtype=float)
    begin = _map_of(distances.tobytes(), len(distances))
    return -metric_mds(values["distance"], begin=begin, max_iter=_STEPS).stress


@lru_cache(maxsize=8)
def _map_of(content: bytes, heads: int) -> np.ndarray:
    """The same for every sample of the texts that report, so it is made once."""
    return metric_mds(np.frombuffer(content).reshape(heads, heads)).points


# --- what was published --------------------------------------------------------------------------------


def _fig6() -> PublishedMap:
    return published_map()


def _printed_closer(by: str) -> str:
    figure = _fig6()
    groups = figure.layers if by == "layer" else figure.labels.ravel()
    return f"{closer(figure.distances, groups):+.2f} on the map"


def _printed_nearest() -> str:
    return f"{nearest_minus_chance(_fig6().distances, 12, 12):+.2f} on the map"


def _count(*kinds: str) -> str:
    printed = _fig6().labels
    return f"{int(np.isin(printed, kinds).sum())} of {printed.size}"


def _broad_layers() -> str:
    at = np.argwhere(_fig6().labels == "broad")[:, 0] + 1
    return f"{(at <= 4).sum()} of {len(at)} in layers 1-4"


CLAIMS = (
    Claim(
        "09-same-layer-closer",
        "09",
        "Heads of one layer are close to each other",
        CLARK,
        "6, Figure 6",
        lambda: _printed_closer("layer"),
        "D",
        "1 - mean distance within layers / between layers",
        "heads of one layer as far from each other as from other heads",
        "families",
        layers_closer,
        0.02,
    ),
    Claim(
        "09-nearest-same-layer",
        "09",
        "A head's nearest head is of its own layer",
        CLARK,
        "6, Figure 6",
        _printed_nearest,
        "D",
        "share of heads for which this is so, minus chance",
        "no more often than among all other heads",
        "families",
        nearest_is_of_the_layer,
        0.1,
    ),
    Claim(
        "09-behaviours-cluster",
        "09",
        "Heads of one behaviour form clusters",
        CLARK,
        "6, Figure 6",
        lambda: _printed_closer("behaviour"),
        "D",
        "1 - mean distance within behaviours / between them, labels chosen on other texts",
        "heads of one label as far from each other as from those of other labels",
        "families",
        behaviours_closer,
        0.02,
    ),
    Claim(
        "09-sep-heads",
        "09",
        "Many heads rest on [SEP]",
        CLARK,
        "Figure 6",
        lambda: _count("[SEP]"),
        "V",
        "share of heads that give [SEP] over .6",
        "a tenth of the heads or fewer",
        "families",
        share_labelled("[SEP]"),
        0.1,
    ),
    Claim(
        "09-punct-heads",
        "09",
        "Many heads look at punctuation",
        CLARK,
        "Figure 6",
        lambda: _count("punct"),
        "V",
        "share of heads that give . and , over .5",
        "a tenth of the heads or fewer",
        "families",
        share_labelled("punct"),
        0.1,
        erratum="the authors' notebook says over .6, the labels drawn begin at .507",
    ),
    Claim(
        "09-neighbour-heads",
        "09",
        "Few heads are made for a neighbour",
        CLARK,
        "Figure 6",
        lambda: _count("next", "previous"),
        "V",
        "minus the share of heads with over half to the next or previous token",
        "a tenth of the heads or more",
        "families",
        minus(share_labelled("next", "previous")),
        -0.1,
    ),
    Claim(
        "09-cls-heads",
        "09",
        "Hardly a head rests on [CLS]",
        CLARK,
        "Figure 6",
        lambda: _count("[CLS]"),
        "V",
        "minus the share of heads that give [CLS] over .6",
        "one head in twenty or more",
        "families",
        minus(share_labelled("[CLS]")),
        -0.05,
    ),
    Claim(
        "09-broad-heads-low",
        "09",
        "Broad heads stand in the lower layers",
        CLARK,
        "3.3, Figure 6",
        _broad_layers,
        "V",
        "share of broad heads in the first third of the layers, minus that third",
        "broad heads spread over all layers, or high",
        "families",
        broad_heads_low,
        0.02,
    ),
    Claim(
        "09-most-unlabelled",
        "09",
        "Most heads have no simple label",
        CLARK,
        "Figure 6",
        lambda: _count(UNLABELLED),
        "V",
        "share of heads without a label",
        "half of the heads or fewer",
        "families",
        share_labelled(UNLABELLED),
        0.5,
    ),
    Claim(
        "09-two-dimensions",
        "09",
        "Two dimensions show the distances",
        CLARK,
        "6, Figure 6",
        "",
        "",
        "minus Kruskal's stress-1 of the map; .2 is poor",
        "a stress of .2 or more",
        "families",
        minus_stress,
        -0.2,
    ),
    Claim(
        "09-dropout-redundancy",
        "09",
        "Attention dropout makes heads redundant",
        CLARK,
        "6",
        "",
        "",
        "two models are needed, trained alike with and without attention dropout",
        "heads as close to each other without attention dropout",
        "families",
        None,
    ),
)
