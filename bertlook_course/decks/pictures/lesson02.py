"""What lesson 02 shows of one text: patterns beside their null models, a shuffled map, counts and limits of neurons."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from bertlook_teach.measures import (
    PATTERNS,
    looks_alike,
    measure_patterns,
    pair_share,
    text_groups,
    within_word_pairs,
)
from bertlook_teach.model import Attention, head_label, model_title
from bertlook_teach.views import MUTED, RULE, Picture, coordinate, text

from ...analyses.anatomy import (
    margin_dimensions,
    participation_ratio,
)
from ...metrics import best_index
from ...render import (
    TextTable,
    cards_picture,
    draw_chips,
    figure_picture,
    line_looks,
    map_address,
    small_maps,
    terms_figure,
)

_WIDTH, _EM, _TOP = 1180.0, 31.0, 46.0
_NAMES = {"same_word_across": "other text", "within_word": "rest", "bag_of_words": "bag"}
_EVEN, _NEIGHBOUR = ("delimiter", "bag_of_words"), ("within_word",)

TYPE_SIZE = 18  # points


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
        f"Above, on Vig's pair: {_who(attention)}'s heads for his six patterns and for the bag of words. Below, the null models: the mean row of "
        "the text; for the rest of the word, any neighbour as far away; for “[SEP]” and “bag”, an even spread. A row looks; darker means more."
    )
    words = TextTable(
        ["pattern", "the head ...", "null model"], [[p.title, p.says, p.null_says] for p in PATTERNS.values()]
    )
    height = _TOP + 2 * side + 22
    return Picture(
        body, _WIDTH, height, "Patterns and null models", said, _EM, (words,), caption=caption, wide=True
    )


def _who(attention: Attention) -> str:
    """Whose map it is, in a sentence."""
    model = model_title(attention.model).partition(",")[0]
    return "the specimen" if attention.model == "specimen" else model or "a model"


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


def null_picture(words: Sequence[str], same: np.ndarray, finds: np.ndarray) -> Picture:
    """A head that finds the other *the* and one that likes one *the*, each beside its null model.

    ``finds`` is the map of the first head, ``same`` says which words are the same.
    """
    likes = np.tile(np.eye(len(words))[3], (len(words), 1))
    maps = {
        "finds the\nother “the”": finds,
        "its null\nmodel": looks_alike(finds),
        "likes one\n“the”": likes,
        "its null\nmodel ": looks_alike(likes),
    }
    shares = [pair_share(weights, same) for weights in maps.values()]
    said = {title: (weights, f"share {share:.2f}") for (title, weights), share in zip(maps.items(), shares)}
    first, second = shares[0] - shares[1], shares[2] - shares[3]
    return small_maps(
        said,
        "A row looks, a column is looked at; dark is 1. "
        f"Excess of the first head {first:+.2f}, of the second {second:+.2f}.",
        words=words,
    )


def products_picture(
    products, attention: Attention, at: tuple[int, int], query: int, key: int, *, shown: int = 7
) -> Picture:
    """The largest products of one token's query and another's key, and all others together: what their score in the head ``at`` is a sum of.

    Dimensions are counted from 1, as in the views.
    """
    order = np.argsort(-np.abs(products), kind="stable")[:shown]
    terms = np.r_[products[order], products.sum() - products[order].sum()].round(1)
    whose = _who(attention).removeprefix("the ")
    names = [*(f"dim. {dimension + 1}" for dimension in order), f"{len(products) - shown} others"]
    return figure_picture(
        terms_figure(
            {
                f"{whose}, head {head_label(*at)}: “{attention.tokens[query]}” meets “{attention.tokens[key]}”": (
                    terms,
                    "",
                )
            },
            names,
            size=(9.8, 2.2),
        ),
        f"Unrounded, {_who(attention)}'s products add to {products.sum():.1f}; divided by √{len(products)}, that is "
        f"the score, {products.sum() / np.sqrt(len(products)):.2f}.",
    )


def counts_picture() -> Picture:
    """Two counts of the neurons that a score needs, for three heads that are made up."""
    made_up = {
        "one neuron": np.eye(8)[0],
        "for and against": np.r_[3, 1, 1, 1, 0, 0, -1, -1],
        "all equal": np.ones(8),
    }
    panels = {
        name: (
            made,
            f"participation ratio {participation_ratio(made):.1f}\nneeded for 90 %: {int(margin_dimensions(made))}",
        )
        for name, made in made_up.items()
    }
    return figure_picture(
        terms_figure(panels),
        "Three made-up heads with eight neurons each: what each neuron adds to the margin.",
    )


def limits_picture() -> Picture:
    """What a pattern with its null model does not say: a schematic, made of no data."""
    cards = [
        (["looks", "≠", "uses"], "What a head is for", "Lessons 4 and 11 ask what is used."),
        (["cat", "kitten"], "Related words", "A mask knows spelling, position and segments, not meaning."),
        (["?", "?", "?"], "Other patterns", "A head that fits none may do what nobody has drawn yet."),
        (
            ["3-1", "≠", "3-1"],
            "BERT-base’s 3-1",
            "We saw it on single inputs; names do not carry over to other models.",
        ),
    ]
    return cards_picture(
        [(draw_chips([chips]), name, said) for chips, name, said in cards],
        "Nor do they say why: a null model rules out one other explanation, not all of them.",
    )


def shuffled(attention: Attention) -> Attention:
    """The same map under the same words and pieces in another order; special tokens stay where they are."""
    places = np.flatnonzero(~np.array(attention.special))
    order = np.arange(attention.n_tokens)
    order[places] = np.random.default_rng(4).permutation(places)
    return replace(attention, tokens=tuple(attention.tokens[i] for i in order))


def moved(attention: Attention, other: Attention) -> tuple[int, int]:
    """How many tokens stand in the place of another, and how many could."""
    return sum(a != b for a, b in zip(attention.tokens, other.tokens)), int(
        (~np.array(attention.special)).sum()
    )


def said_shuffled(attention: Attention, other: Attention) -> str:
    """The same as a sentence in Markdown."""
    n, of = moved(attention, other)
    return (
        f"**The {of} words and pieces were shuffled:** {n} of the {of} labels now stand where the model read a different word. "
        "Whatever you saw is not about the words. The sentence beside it uses the moved labels."
    )


def which_one(tokens: Sequence[str], at: int) -> str:
    """A token of a text, and which one of its kind if there are several: ``"the second “store”"``."""
    places = [place for place, token in enumerate(tokens) if token == tokens[at]]
    number = places.index(at)
    if len(places) == 1:
        return f"“{tokens[at]}”"
    ordinal = ("first", "second", "third")[number] if number < 3 else f"{number + 1}th"
    return f"the {ordinal} “{tokens[at]}”"


# --- drawing -----------------------------------------------------------------------------------------------------
def model_look(name: str) -> dict[str, object]:
    """A model's own mark, large enough for the last row."""
    return line_looks([name])[0] | {"linestyle": "none", "markersize": 11}


def plain_axes(size: tuple[float, float]):
    """A figure and its axes, without a frame above and to the right."""
    from matplotlib.figure import Figure

    figure = Figure(figsize=size, layout="constrained")
    axes = figure.subplots()
    axes.tick_params(axis="x", labelsize=TYPE_SIZE)
    axes.spines[["top", "right"]].set_visible(False)
    return figure, axes


def with_reach(intervals: Sequence) -> tuple[np.ndarray, list[np.ndarray]]:
    """Means, and how far their intervals reach to both sides."""
    low, mean, high = (np.array([getattr(one, end) for one in intervals]) for end in ("low", "mean", "high"))
    return mean, [mean - low, high - mean]


def draw_key(figure, ncols: int = 3, **options) -> None:
    figure.legend(loc="outside upper left", ncols=ncols, frameon=False, fontsize=TYPE_SIZE, **options)
