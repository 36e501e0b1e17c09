"""Every view there is, made from given tokens and a given number of layers and heads, for tests of what all must bear."""

from __future__ import annotations

from dataclasses import replace

import made
import numpy as np

from bertlook_course.analyses.anatomy import Baseline, Film
from bertlook_course.corpora import CorefDocument, Mention, TreebankSentence
from bertlook_course.widgets import (
    AntecedentView,
    ArcView,
    BenchView,
    DistanceMap,
    LensView,
    NeuronView,
    RecordedView,
    TrainingFilm,
    WeightedText,
)
from bertlook_teach.model import Attention
from bertlook_teach.views import HeadMap, HeadView

HOSTILE = (
    "[CLS]",
    "<img src=x onerror=window.broken=1>",
    "</script><script>window.broken=1</script>",
    "</style><style>*{display:none}</style>",
    "]]><!--",
    "\"'&<b>`${window.broken=1}`",
    "\\u003c\\\\",
    "مرحبا",
    "שלום\u202e",
    "e\u0301\u0301",
    "👩‍👩‍👧‍👦",
    "𝔸\u0000\u2028",
    " ",
    "",
    "Donaudampfschifffahrtsgesellschaftskapitän",
    "[SEP]",
)
BAD_NAME = "<b onclick=window.broken=1>&\"'</b>"


def maps(n: int, layers: int, heads: int, seed: int = 0) -> np.ndarray:
    """Attention of any shape whose rows sum to 1."""
    drawn = np.random.default_rng(seed).gamma(0.3, size=(layers, heads, n, n)) + 1e-9
    return (drawn / drawn.sum(axis=-1, keepdims=True)).astype(np.float32)


def attention(tokens, layers: int, heads: int, weights=None, level: str = "wordpiece") -> Attention:
    n = len(tokens)
    weights = maps(n, layers, heads) if weights is None else weights
    second = tuple(int(i > n // 2) for i in range(n))
    return made.attention(tokens, weights=weights, segment_ids=second, level=level)


def lines(tokens, layers, heads, weights=None):
    return HeadView(attention(tokens, layers, heads, weights), norms=np.ones((layers, heads, len(tokens))))


def grid(tokens, layers, heads, weights=None):
    return HeadView(attention(tokens, layers, heads, weights), style="grid")


def lines_difference(tokens, layers, heads, weights=None, style="lines"):
    after, before = (
        attention(tokens, layers, heads, maps(len(tokens), layers, heads, seed)) for seed in (1, 2)
    )
    return HeadView(after, minus=before, style=style)


def grid_difference(tokens, layers, heads, weights=None):
    return lines_difference(tokens, layers, heads, style="grid")


def map_difference(tokens, layers, heads, weights=None):
    after, before = np.random.default_rng(0).random((2, layers, heads))
    name = tokens[1 % len(tokens)]
    return HeadMap({name: after, BAD_NAME: before}, minus={name: before, BAD_NAME: after})


def lenses(tokens, layers, heads, weights=None, style="bars"):
    weights = maps(len(tokens), layers, heads) if weights is None else weights
    names = ["weight", "norm", BAD_NAME] if layers * heads * len(tokens) < 400 else ["weight"]
    return LensView(
        {name: weights for name in names}, tokens, style=style, sentences={"norm": f"says {BAD_NAME}"}
    )


def lens_grids(tokens, layers, heads, weights=None):
    return lenses(tokens, layers, heads, weights, style="grids")


def arcs(tokens, layers, heads, weights=None):
    n = len(tokens)
    governors = (-1, *range(n - 1))
    relations = ("root", *(BAD_NAME,) * (n - 1))
    blank = ("_",) * n
    sentence = TreebankSentence(tuple(tokens), governors, relations, blank, blank, blank, ({},) * n)
    answers = np.random.default_rng(0).integers(0, n, (2, layers, heads, n))
    return ArcView([sentence], [answers])


def antecedents(tokens, layers, heads, weights=None):
    n = len(tokens)
    if weights is None:
        weights = maps(n, layers, heads)
    mentions = tuple(Mention(i, i + 1, i, "a", "pronoun") for i in range(0, min(n, 6), 2))
    document = CorefDocument(BAD_NAME, tuple(tokens), ((0, n),), mentions)
    looking = Attention(
        weights, tuple(tokens), tuple(range(n)), (0,) * n, (False,) * n, tuple(tokens), "", level="word"
    )
    return AntecedentView([document], [looking])


class Recorded(dict):
    """What a view asks of a recording: texts, their attention, and what it calls itself."""

    badge = BAD_NAME


def recorded(tokens, layers, heads, weights=None):
    looking = attention(tokens, layers, heads, weights)
    return RecordedView(Recorded({BAD_NAME: looking, (BAD_NAME, "second"): looking}), other=BAD_NAME)


def head_map(tokens, layers, heads, weights=None):
    """A map has no tokens; its names come from the user."""
    values = np.random.default_rng(0).random((layers, heads)) if weights is None else weights[:, :, 0, 0]
    return HeadMap({tokens[1 % len(tokens)]: values, BAD_NAME: values / 2})


def distance_map(tokens, layers, heads, weights=None):
    points = np.random.default_rng(0).normal(size=(layers * heads, 2))
    if weights is not None:
        points[0] = weights[0, 0, 0, 0] / weights[0, 0, 0, 0]
    distances = np.linalg.norm(points[:, None] - points[None], axis=-1)
    groups = np.full((layers, heads), BAD_NAME, dtype=object)
    groups[0, 0] = "next"
    return DistanceMap(points, distances, groups, unit=BAD_NAME)


def neurons(tokens, layers, heads, weights=None):
    given = made.vector_attention(tokens, layers, heads)
    return NeuronView(given if weights is None else replace(given, weights=weights))


def weighted_text(tokens, layers, heads, weights=None, minus=False):
    n = len(tokens)
    scores, before = np.random.default_rng(2).random((2, layers, heads, n))
    mix = None if minus else scores[0, 0]
    return WeightedText(
        tokens,
        scores,
        [i % 3 == 1 for i in range(n)],
        mix,
        title=BAD_NAME,
        unit=BAD_NAME,
        minus=before if minus else None,
    )


def weighted_difference(tokens, layers, heads, weights=None):
    return weighted_text(tokens, layers, heads, minus=True)


def training_film(tokens, layers, heads, weights=None):
    """A film has no tokens; its names come from a file."""
    values = np.random.default_rng(1).random((3, layers, heads))
    values[0, layers // 2 + 1 :] = np.nan  # layers that come later
    names = {tokens[1 % len(tokens)]: values, BAD_NAME: values / 2}
    film = Film((1000, 20_000, 3_000_000), names, {BAD_NAME: Baseline(BAD_NAME, 0.2, 5)})
    return TrainingFilm(film, measure=BAD_NAME)


def bench(tokens, layers, heads, weights=None):
    result = {
        "off": [],
        "before": [[token, 0.2, "20 %"] for token in tokens[:5]],
        "after": [[token, 0.2, "20 %"] for token in tokens[:5]],
        "truth": tokens[0],
        "title": BAD_NAME,
        "scores": [f"scores {BAD_NAME}"],
        "sentence": f"says {BAD_NAME}",
        "control": "",
    }
    text = {
        "tokens": list(tokens),
        "special": [False] * len(tokens),
        "masked": len(tokens) // 2,
        "mask": "[MASK]",
    }
    return BenchView(shape=[layers, heads], text=text, result=result, models=[BAD_NAME])


VIEWS = {
    make.__name__: make
    for make in (
        lines, grid, recorded, head_map, lenses, lens_grids, arcs, antecedents, distance_map, neurons, bench,
        weighted_text, weighted_difference, training_film,
        lines_difference, grid_difference, map_difference,
    )
}  # fmt: skip
FROM_WEIGHTS = (
    "lines",
    "grid",
    "recorded",
    "lenses",
    "lens_grids",
    "neurons",
)  # and so refuse weights that are none
ON_A_PAGE = tuple(name for name in VIEWS if name != "bench")  # needs a model
