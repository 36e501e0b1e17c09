"""Lesson 09: families of heads. Clark et al. (2019), section 6 and Figure 6."""

from __future__ import annotations

from collections.abc import Iterator
from functools import lru_cache

import numpy as np

from ...measures import THRESHOLDS, UNLABELLED, behaviour_labels, group_test, js_distances, surface_measures
from ...published import PublishedMap, published_map
from ...stats import CannotDecide, metric_mds
from ..claim import Claims, Values
from ..evidence import evidence
from .statistics import first_third

CLARK = "Clark et al. 2019"

_STEPS = 10  # towards the best map of a sample of texts; more would lower its stress a little


# --- evidence ------------------------------------------------------------------------------------------
@evidence("families", version=1)
def families(encoder, resources) -> Iterator[dict[str, np.ndarray]]:
    """For each pair of texts: distances between all heads, nats a token, and what the rule for labels asks for."""
    from ...model import iter_attention

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
    count = int(np.isin(printed, kinds).sum())
    return f"{count / printed.size:.2f}, {count} of {printed.size}"


def _broad_layers() -> str:
    at = np.argwhere(_fig6().labels == "broad")[:, 0] + 1
    return f"{(at <= 4).mean() - 1 / 3:+.2f}"


def _broad_layers_printed() -> str:
    at = np.argwhere(_fig6().labels == "broad")[:, 0] + 1
    return f"{(at <= 4).sum()} of {len(at)} in layers 1 to 4 of 12"


# --- the claims ------------------------------------------------------------------------------------------


claim = Claims("09", EVIDENCE, source=CLARK, evidence="families")


@claim(
    key="same-layer-closer",
    sentence="Heads of one layer are close to each other",
    section="6, Figure 6",
    published=lambda: _printed_closer("layer"),
    exactness="D",
    operational="1 - mean distance within layers / between layers",
    refuted_if="heads of one layer as far from each other as from other heads",
    threshold=0.02,
)
def layers_closer(values: Values, choice: Values) -> float:
    n_layers, n_heads = _shape(values)
    return closer(values["distance"], np.repeat(np.arange(n_layers), n_heads))


@claim(
    key="nearest-same-layer",
    sentence="A head's nearest head is of its own layer",
    section="6, Figure 6",
    published=_printed_nearest,
    exactness="D",
    operational="share of heads for which this is so, minus chance",
    refuted_if="no more often than among all other heads",
    threshold=0.1,
)
def nearest_is_of_the_layer(values: Values, choice: Values | None = None) -> float:
    return nearest_minus_chance(values["distance"], *_shape(values))


@claim(
    key="behaviours-cluster",
    sentence="Heads of one behaviour form clusters",
    section="6, Figure 6",
    published=lambda: _printed_closer("behaviour"),
    exactness="D",
    operational="1 - mean distance within behaviours / between them, labels chosen on other texts",
    refuted_if="heads of one label as far from each other as from those of other labels",
    threshold=0.02,
)
def behaviours_closer(values: Values, choice: Values) -> float:
    """0 where no two groups can be compared: labels that nobody or everybody has set nobody apart."""
    try:
        return closer(values["distance"], labels(choice).ravel())
    except CannotDecide:
        return 0.0


claim(
    key="sep-heads",
    sentence="Many heads rest on [SEP]",
    section="Figure 6",
    published=lambda: _count("[SEP]"),
    exactness="V",
    operational="share of heads that give [SEP] over .6",
    refuted_if="a tenth of the heads or fewer",
    threshold=0.1,
    statistic=share_labelled("[SEP]"),
)
claim(
    key="punct-heads",
    sentence="Many heads look at punctuation",
    section="Figure 6",
    published=lambda: _count("punct"),
    exactness="V",
    operational="share of heads that give . and , over .5",
    refuted_if="a tenth of the heads or fewer",
    threshold=0.1,
    erratum="the authors' notebook says over .6, the labels drawn begin at .507",
    statistic=share_labelled("punct"),
)
claim(
    key="neighbour-heads",
    sentence="Few heads are made for a neighbour",
    section="Figure 6",
    published=lambda: _count("next", "previous"),
    exactness="V",
    operational="share of heads with over half to the next or previous token",
    refuted_if="a tenth of the heads or more",
    threshold=-0.1,
    below=True,
    statistic=minus(share_labelled("next", "previous")),
)
claim(
    key="cls-heads",
    sentence="Hardly a head rests on [CLS]",
    section="Figure 6",
    published=lambda: _count("[CLS]"),
    exactness="V",
    operational="share of heads that give [CLS] over .6",
    refuted_if="one head in twenty or more",
    threshold=-0.05,
    below=True,
    statistic=minus(share_labelled("[CLS]")),
)


@claim(
    key="broad-heads-low",
    sentence="Broad heads stand in the lower layers",
    section="3.3, Figure 6",
    published=_broad_layers,
    original=_broad_layers_printed,
    exactness="D",
    operational="share of broad heads in the first third of the layers, minus that third",
    refuted_if="broad heads spread over all layers, or high",
    threshold=0.02,
)
def broad_heads_low(values: Values, choice: Values | None = None) -> float:
    broad = labels(values) == "broad"
    if not broad.any():
        raise CannotDecide("no head is broad")
    low = first_third(broad)
    return float(broad[low].sum() / broad.sum() - low.mean())


claim(
    key="most-unlabelled",
    sentence="Most heads have no simple label",
    section="Figure 6",
    published=lambda: _count(UNLABELLED),
    exactness="V",
    operational="share of heads without a label",
    refuted_if="half of the heads or fewer",
    threshold=0.5,
    statistic=share_labelled(UNLABELLED),
)


@claim(
    key="two-dimensions",
    sentence="Two dimensions show the distances",
    section="6, Figure 6",
    operational="Kruskal's stress-1 of the map; .2 is poor",
    refuted_if="a stress of .2 or more",
    threshold=-0.2,
    below=True,
)
def minus_stress(values: Values, choice: Values) -> float:
    """From the map of the texts that choose a few steps to that of these texts: an upper bound of its stress."""
    distances = np.ascontiguousarray(choice["distance"], dtype=float)
    begin = _map_of(distances.tobytes(), len(distances))
    return -metric_mds(values["distance"], begin=begin, max_iter=_STEPS).stress


claim(
    key="dropout-redundancy",
    sentence="Attention dropout makes heads redundant",
    section="6",
    operational="two models are needed, trained alike with and without attention dropout",
    refuted_if="heads as close to each other without attention dropout",
    statistic=None,
)


CLAIMS = tuple(claim)
