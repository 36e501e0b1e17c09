"""What published numbers alone say of the essay's claims: BERT-base, no model run.

Only what stands in ``data/published`` is used, with the statistic of the register where the table allows it, and a stated substitute where
it does not: the twelve layers, or a layer's twelve heads, are then what is drawn again, not texts. Nobody has these texts.
"""

from __future__ import annotations

import re
from functools import cache

import numpy as np

from bertlook_teach.stats import (
    REPLICATES,
    draws,
    monte_carlo_p,
    percentile_interval,
    resampled,
    resampled_interval,
)

from ...metrics import CannotDecide, rank_correlation
from ...published import (
    published_gradients,
    published_heads,
    published_layers,
    published_probing,
    read_published,
)
from ..verdicts import Measurement
from .phases import deep_layers, phases_margin, phases_p
from .statistics import MIDDLE

SHUFFLES = 20_000

READING_ERROR = 0.05  # nats, of the curve from [CLS], which is read off a raster figure

# Stanford relations whose dependents are function words by definition; numbers, adverbs and owners are mixed, so they are not here.
CLOSED_RELATIONS = frozenset(
    {"aux", "auxpass", "cc", "cop", "det", "mark", "neg", "possessive", "prep", "prt"}
)

NOT_PUBLISHED = {
    "13-insiders-narrow": "no entropies of single words were published",
    "13-sep-haven": "in words and pictures only, for head 8-10; no attention to [SEP] word by word",
    "13-haven-empty": "norms and gradients were published, and are small; a loss without [SEP]'s values was not",
    "13-drifters": "the published maps hold no [MASK], and no gradients of rows",
    "13-deep-clauses": "no map with its text was published",
}


@cache
def measure_published(key: str) -> Measurement:
    """A claim of the register on BERT-base's published numbers; or only the reason why they do not try it."""
    tests = {
        "13-cls-hunter": _cls,
        "13-three-phases": _phases,
        "13-looks-where-it-matters-less": _importance,
        "13-insider-dependents": _direction,
        "13-syntax-in-the-middle": _middle,
        "13-phases-learn": _order,
    }
    return tests[key]() if key in tests else Measurement(reason=NOT_PUBLISHED[key])


# --- 2 -------------------------------------------------------------------------------------------------
def cls_differences() -> np.ndarray:
    """Entropy from [CLS] minus the layer's mean entropy, nats, shape (12,); good to about .05."""
    return published_layers("entropy_from_cls") - published_layers("entropy_clark")


def _cls() -> Measurement:
    """Layer means without texts: a value with its reading error, and no p."""
    value = float(cls_differences()[deep_layers(12)].min())
    why = (
        f"on the claim's side by {value:.2f} nats (reading error {READING_ERROR}), but two layer means are not a sample: without the texts "
        "there is no p; and no model without next-sentence prediction was measured"
    )
    return Measurement(value=value, low=value - READING_ERROR, high=value + READING_ERROR, n=2, reason=why)


# --- 7 -------------------------------------------------------------------------------------------------
def _phases() -> Measurement:
    """The registered statistic; a layer's twelve heads are drawn again."""
    heads = {kind: published_heads(kind) for kind in ("cls", "sep", "punct")}
    value = phases_margin(heads)
    random = np.random.default_rng(0)
    drawn = np.empty(REPLICATES)
    for b in range(REPLICATES):
        chosen = random.integers(12, size=(12, 12))
        drawn[b] = phases_margin({kind: np.take_along_axis(v, chosen, axis=1) for kind, v in heads.items()})
    p, floor = phases_p(heads)
    return _with_p(value, drawn, 144, p, floor)


# --- 8 -------------------------------------------------------------------------------------------------
def _importance() -> Measurement:
    """Over the twelve layers, where the register takes heads: no gradients of single heads were published."""
    share, gradient = published_layers("sep"), published_gradients("sep")
    value = -rank_correlation(share, gradient)
    random = np.random.default_rng(0)
    null = np.array([-rank_correlation(random.permutation(share), gradient) for _ in range(SHUFFLES // 10)])

    def again(layers):
        return -rank_correlation(share[layers], gradient[layers])

    low, high = resampled_interval(again, np.arange(12))
    p, against = monte_carlo_p(null, value), monte_carlo_p(-null, -value)
    return Measurement(value=value, low=low, high=high, n=12, p=p, against=against, floor=1 / (1 + len(null)))


# --- 9 and 10 ------------------------------------------------------------------------------------------
class PublishedHead(tuple):
    """(relation, layer, head, dependent looks): the best head for a relation, as the authors' notebook prints it, from 1."""

    relation = property(lambda self: self[0])
    layer = property(lambda self: self[1])
    head = property(lambda self: self[2])
    dependent_looks = property(lambda self: self[3])


@cache
def published_best_heads() -> tuple[PublishedHead, ...]:
    """The best head of each of the 32 relations with at least 100 cases, without "all"."""
    found = []
    for row in read_published("clark_notebook_dependency_all_relations"):
        named = re.fullmatch(r"(\w+): accuracy of best head", row.quantity)
        if named and named.group(1) != "all":
            direction = row.note.startswith("direction dependent->head")
            found.append(PublishedHead((named.group(1), int(row.layer), int(row.head), direction)))
    return tuple(found)


def _direction() -> Measurement:
    """The better direction alone was published: its share among relations of function words minus that among the others."""
    heads = published_best_heads()
    closed = np.array([h.relation in CLOSED_RELATIONS for h in heads])
    looks = np.array([h.dependent_looks for h in heads], dtype=float)

    def difference(cases) -> float:
        side = closed[cases]
        if side.all() or not side.any():
            return float("nan")
        return looks[cases][side].mean() - looks[cases][~side].mean()

    value = difference(np.arange(len(heads)))
    random = np.random.default_rng(0)
    shuffled = random.permuted(np.tile(looks, (SHUFFLES // 4, 1)), axis=1)
    null = shuffled[:, closed].mean(axis=1) - shuffled[:, ~closed].mean(axis=1)
    drawn = resampled(difference, np.arange(len(heads)), seed=random)
    p = monte_carlo_p(null, value)
    return _with_p(value, drawn[np.isfinite(drawn)], len(heads), p, 1 / (1 + len(null)))


def _middle() -> Measurement:
    """Each best head once, since relations share heads; against heads drawn from all 144."""
    from scipy.stats import hypergeom

    distinct = sorted({(h.layer, h.head) for h in published_best_heads()})
    inside = np.array([MIDDLE[0] <= layer <= MIDDLE[1] for layer, _ in distinct])
    band = MIDDLE[1] - MIDDLE[0] + 1
    value = inside.mean() - band / 12
    n, k = len(inside), int(inside.sum())
    p, against = hypergeom.sf(k - 1, 144, 12 * band, n), hypergeom.cdf(k, 144, 12 * band, n)
    low, high = percentile_interval(draws(n, scheme="indices") @ inside / n - band / 12)
    return Measurement(value=float(value), low=low, high=high, n=n, p=float(p), against=float(against))


# --- 11 ------------------------------------------------------------------------------------------------
def _order() -> Measurement:
    rows = published_probing("BERT-base")
    expected = {task: row.expected for task, row in rows.items()}
    value = (expected["Dependencies"] - expected["POS"]) / 12
    latest = np.nanmax(list(expected.values()))
    why = (
        f"nobody probed for segments; word classes come before relations (expected layers {expected['POS']:.2f}, {expected['Dependencies']:.2f}), "
        f"but all tasks come before layer {latest:.1f}, where the essay's first phase ends"
    )
    return Measurement(value=float(value), n=2, reason=why)


# --- shared ----------------------------------------------------------------------------------------------
def _with_p(value: float, drawn: np.ndarray, n: int, p: float, floor: float) -> Measurement:
    """The larger of the p of the samples and the permutation p; the lines of these claims are 0."""
    if not len(drawn):
        raise CannotDecide("no sample gives a number")
    low, high = percentile_interval(drawn)
    below = monte_carlo_p(-drawn, 0, tolerance=0)
    against = monte_carlo_p(drawn, 0, tolerance=0)
    return Measurement(
        value=float(value),
        low=low,
        high=high,
        n=n,
        p=max(p, below),
        against=against,
        floor=max(floor, 1 / (1 + len(drawn))),
    )
