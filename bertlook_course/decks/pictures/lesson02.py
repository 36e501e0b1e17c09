"""Each pattern as a map, and beside it what its null model makes of that map."""

from __future__ import annotations

import numpy as np

from bertlook_teach.measures import PATTERNS, looks_alike, measure_patterns, text_groups, within_word_pairs
from bertlook_teach.model import Attention, head_label
from bertlook_teach.views import MUTED, RULE, Picture, coordinate, text

from ...metrics import best_index
from ...render import TextTable, map_address

_WIDTH, _EM, _TOP = 1180.0, 31.0, 46.0
_NAMES = {"same_word_across": "other text", "within_word": "in a word", "bag_of_words": "bag"}
_EVEN, _NEIGHBOUR = ("delimiter", "bag_of_words"), ("within_word",)


def pattern_nulls(attention: Attention) -> Picture:
    """For each pattern the map of the head that shows it most on one text, and that map as its null model has it.

    Parameters
    ----------
    attention : Attention
        Of a pair of texts, so that all patterns can be there; those that cannot are left out.
    """
    found = measure_patterns(attention)
    pitch = (_WIDTH - 90) / len(found)
    side, body, heads = pitch - 14, [], []
    for name, row in (("head", 0), ("null", 1)):
        body.append(text(0, _TOP + row * (side + 18) + side / 2, name, fill=MUTED))
    for k, (key, score) in enumerate(found.items()):
        layer, head = best_index(np.asarray(score.excess))
        title = PATTERNS[key].title
        heads.append(f"{title} {head_label(layer, head)}")
        x = 90 + k * pitch
        body.append(text(x + side / 2, 18, _NAMES.get(key, title.removesuffix(" word")), anchor="middle"))
        weights = np.asarray(attention.weights[layer, head])
        for row, one in enumerate((weights, _null(key, weights, attention))):
            place = (
                f'x="{coordinate(x)}" y="{coordinate(_TOP + row * (side + 18))}" width="{coordinate(side)}" '
                f'height="{coordinate(side)}"'
            )
            body.append(
                f'<image {place} preserveAspectRatio="none" style="image-rendering:pixelated" href="{map_address(one, weights.max())}"/>'
                f'<rect {place} fill="none" stroke="{RULE}"/>'
            )
    said = (
        f"The head that shows each pattern most on this pair of texts ({'; '.join(heads)}), and below it the same head under its null "
        "model: the mean row of its text, any neighbour as near, or an even spread."
    )
    caption = (
        "Six patterns, seven columns: the same word is counted in one text and across two. Null models: the mean row of the text; in a "
        "word, any neighbour at that distance; for [SEP] and bag, an even spread. Rows look; darker means more."
    )
    words = TextTable(
        ["pattern", "the head ...", "null model"], [[p.title, p.says, p.null_says] for p in PATTERNS.values()]
    )
    height = _TOP + 2 * side + 22
    return Picture(
        body, _WIDTH, height, "Patterns and null models", said, _EM, (words,), caption=caption, wide=True
    )


def _null(key: str, weights: np.ndarray, attention: Attention) -> np.ndarray:
    """A head's map under the null model of a pattern."""
    n = len(weights)
    if key in _EVEN:
        return np.full((n, n), 1 / n)
    groups = np.array(text_groups(attention))
    # the mean over the other pairs of one text as far apart, as `expected_at_offsets` has it
    if key in _NEIGHBOUR:
        others = (groups[:, None] == groups) & (groups >= 0) & ~np.asarray(within_word_pairs(attention))
        apart = np.arange(n) - np.arange(n)[:, None]
        found = {k: weights[others & (apart == k)] for k in range(1 - n, n)}
        means = {k: values.mean() if values.size else 0.0 for k, values in found.items()}
        return np.vectorize(means.__getitem__)(apart)
    return np.asarray(looks_alike(weights, groups))
