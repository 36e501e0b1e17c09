"""Lesson 03: where heads look. Clark et al. (2019), sections 3.1 to 3.3, and what was made of them later."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from ...measures import (
    CLARK_ENTROPY_SMOOTHING,
    attention_entropy,
    cls_entropy,
    offset_attention,
    other_to_sep,
    sep_to_sep,
    special_token_attention,
    token_masks,
)
from ...model import head_label
from ...published import published_heads, published_layers, read_published
from ...stats import CannotDecide
from ..claim import Claims
from ..collectors.lesson03 import halves, shown_measures  # noqa: F401 - decks ask their lesson
from ..evidence import evidence
from .statistics import (
    best_head,
    best_layer,
    early_minus_later,
    first_third,
    named_layers,
    share_of_heads_above,
    share_of_heads_below,
)

CLARK_LENGTH = 122.1  # mean number of tokens of the released segments: 121,134 tokens / 992

BROAD = 3.8 / np.log(CLARK_LENGTH)  # the paper's eleven broad heads lie above 3.8 nats

CLARK, SUMMARY = "Clark et al. 2019", "Perez-Sorrosal 2021"

ESSAY = "What Attention Dose Not Look At Is All You Need, 2021"


# --- evidence ------------------------------------------------------------------------------------------
@evidence("surface", version=1)
def surface(encoder, resources) -> Iterator[dict[str, np.ndarray]]:
    """The surface measures of every head, shape (layer, head), for each pair of texts."""
    from ...model import iter_attention

    for attention in iter_attention(encoder, resources.pairs, truncate=True):
        yield surface_quantities(attention)


def surface_quantities(attention) -> dict[str, np.ndarray]:
    """What is undefined for this input, for want of a [CLS], a [SEP] or a full stop, is left out."""
    masks = token_masks(attention)
    found = {
        "previous": offset_attention(attention, -1),
        "next": offset_attention(attention, +1),
        "self": offset_attention(attention, 0),
        "entropy": attention_entropy(attention),
        "entropy_normalized": attention_entropy(attention, normalized=True),
        "entropy_clark": attention_entropy(attention, smoothing=CLARK_ENTROPY_SMOOTHING),
        "largest_weight": np.asarray(attention.weights).max(axis=-1).mean(axis=-1),
    }
    for kind in ("cls", "sep", "punct"):
        if masks[kind].any():
            found[kind] = special_token_attention(attention, kind)
    if masks["sep"].any():
        found["sep_to_sep"] = sep_to_sep(attention)
        found["other_to_sep"] = other_to_sep(attention)
        found["sep_uniform"] = masks[
            "sep"
        ].mean()  # what a head gives to [SEP] that looks at all tokens equally
    if masks["cls"].any():
        found["entropy_from_cls"] = cls_entropy(attention)
        found["entropy_from_cls_normalized"] = cls_entropy(attention, normalized=True)
    if all(masks[kind].any() for kind in ("cls", "sep", "punct")):
        found["special"] = found["cls"] + found["sep"] + found["punct"]
    return found


EVIDENCE = {"surface": surface}


# --- statistics ----------------------------------------------------------------------------------------


def last_layers(quantity: str, k: int):
    """The smallest of the last ``k`` layer means."""

    def statistic(values, choice):
        if len(values[quantity]) < k:
            raise CannotDecide(f"the model has fewer than {k} layers")
        return values[quantity][-k:].mean(axis=1).min()

    return statistic


def _broad_heads(choice) -> np.ndarray:
    broad = choice["entropy_normalized"] > BROAD
    if not broad.any():
        raise CannotDecide(f"no head is broad (entropy / ln n above {BROAD:.2f})")
    return broad


# --- the published values ------------------------------------------------------------------------------
def _rows(quantity: str) -> list:
    return [row for row in read_published("clark_relative_position") if row.quantity == quantity]


def _printed_heads(direction: str) -> str:
    rows = [row for row in _rows(f"average attention to {direction} token") if row.head]
    best = max(rows, key=lambda row: float(row.value))
    return f"{float(best.value):.2f}, {head_label(int(best.layer) - 1, int(best.head) - 1)}"


def _stated_layers(direction: str) -> str:
    rows = _rows(f">50% to {direction} token (layers stated in text)")
    return ", ".join(row.layer for row in rows)


def _next_layers() -> str:
    return f"heads of layers {', '.join(row.layer for row in _rows('average attention to next token'))}"


def _self_limit() -> str:
    return f"at most {max(float(row.value) for row in _rows('largest average attention to current token in layer')):.2f}"


def _highest_layer(quantity: str) -> str:
    layers = published_layers(quantity)
    return f"{layers.max():.3f}, layer {layers.argmax() + 1}"


def _range(quantity: str, first: int, last: int) -> str:
    layers = published_layers(quantity)[first - 1 : last]
    return f"{layers.min():.2f} to {layers.max():.2f}"


def _early_minus_later(quantity: str, divide_by: float = 1.0) -> str:
    layers = published_layers(quantity)[:, None] / divide_by
    return f"{early_minus_later(quantity)({quantity: layers}):+.2f}"


def _heads_above(*quantities: str) -> str:
    heads = sum(published_heads(quantity) for quantity in quantities)
    return _share_of((heads > 0.5).sum(), heads.size)


def _share_of(count: int, total: int) -> str:
    return f"{count / total:.2f}, {count} of {total}"


def _best_published_head(quantity: str) -> str:
    heads = published_heads(quantity)
    return f"{heads.max():.2f}, {head_label(*np.unravel_index(heads.argmax(), heads.shape))}"


def _sharpest_published() -> tuple[str, float, float]:
    """The head of lowest entropy, its entropy in nats and the larger of its shares to the next and the previous token."""
    heads = published_heads("entropy_clark")
    layer, head = np.unravel_index(heads.argmin(), heads.shape)
    rows = [row for way in ("next", "previous") for row in _rows(f"average attention to {way} token")]
    shares = [float(row.value) for row in rows if (row.layer, row.head) == (f"{layer + 1}", f"{head + 1}")]
    return head_label(layer, head), float(heads.min()), max(shares)


def _smallest_sep_difference() -> str:
    gap = published_layers("sep_to_sep") - published_layers("other_to_sep")
    return f"{gap.min():+.2f}, layer {gap.argmin() + 1}"


def _sep_times() -> str:
    return f"{published_layers('sep').max() * 64:.0f}"


def _cls_gaps() -> np.ndarray:
    return published_layers("entropy_from_cls") - published_layers("entropy_clark")


def _broad_published() -> str:
    layers = np.argwhere(published_heads("entropy_clark") > 3.8)[:, 0] + 1
    return _share_of((layers <= 4).sum(), len(layers))


def _falls_and_rises() -> str:
    layers = published_layers("entropy_clark")
    return f"{(min(layers[0], layers[-1]) - layers.min()) / np.log(CLARK_LENGTH):.2f}"


def _falls_and_rises_printed() -> str:
    layers = published_layers("entropy_clark")
    return f"{layers[0]:.1f}, {layers.min():.1f}, {layers[-1]:.1f} nats"


# --- the claims ------------------------------------------------------------------------------------------


claim = Claims("03", EVIDENCE, source=CLARK, evidence="surface")


# 3.1, relative position
claim(
    key="previous",
    sentence="Previous-token heads",
    section="3.1",
    published=lambda: _printed_heads("previous"),
    exactness="A",
    operational="share of the best head",
    refuted_if="no head gives half of its attention to the previous token",
    threshold=0.5,
    statistic=best_head("previous"),
)
claim(
    key="next",
    sentence="Next-token heads",
    section="3.1",
    published=lambda: _printed_heads("next"),
    exactness="A",
    operational="share of the best head",
    refuted_if="no head gives half of its attention to the next token",
    threshold=0.5,
    statistic=best_head("next"),
)
claim(
    key="self",
    sentence="Little to the token itself",
    section="3.1",
    original=_self_limit,
    exactness="A",
    operational="share of heads that give it less than 0.1",
    refuted_if="half of the heads give the token itself a tenth or more",
    threshold=0.5,
    statistic=share_of_heads_below("self", 0.1),
)


@claim(
    key="previous-layers",
    sentence="Previous-token heads in several layers",
    section="3.1",
    published=lambda: f"{_stated_layers('previous').count(',') + 1} layers: {_stated_layers('previous')}",
    exactness="P",
    operational="layers with a head that gives over half",
    refuted_if="at most one layer has such a head",
    threshold=1.5,
)
def layers_with_a_previous_token_head(values, choice) -> float:
    return (values["previous"].max(axis=1) > 0.5).sum()


@claim(
    key="previous-named",
    sentence="... in layers 2, 4, 7 and 8",
    section="3.1",
    published="over 0.5",
    original=lambda: f"over half in layers {_stated_layers('previous')}",
    exactness="P",
    operational="the weakest of these layers, by its best head",
    refuted_if="one of the four layers has no such head",
    threshold=0.5,
)
def named_previous_token_layers(values, choice) -> float:
    named_layers(values["previous"], 1, 12)
    layers = np.array([1, 3, 6, 7])
    heads = choice["previous"][layers].argmax(axis=1)
    return values["previous"][layers, heads].min()


claim(
    key="next-early",
    sentence="Next-token heads sit early",
    section="3.1",
    original=_next_layers,
    exactness="V",
    operational="share, first third of the layers minus the rest",
    refuted_if="later layers look at the next token as much",
    threshold=0.02,
    erratum="the text says layers 1, 2, 2, 3, 6; the figure's labels say 1, 2, 3, 3, 6",
    statistic=early_minus_later("next"),
)
# 3.2, special tokens
claim(
    key="early-cls",
    sentence="Early heads attend to [CLS]",
    section="3.2",
    published=lambda: _early_minus_later("cls"),
    exactness="D",
    operational="first third of the layers minus the rest",
    refuted_if="later layers attend to [CLS] as much",
    threshold=0.02,
    erratum="layers 2 to 4; not layer 1",
    statistic=early_minus_later("cls"),
)


@claim(
    key="first-layer-cls",
    sentence="... from the first layer on",
    source=ESSAY,
    section="3.2",
    published=lambda: f"{published_layers('cls')[0] - published_layers('cls').mean():+.2f}",
    exactness="D",
    operational="first layer minus the mean of all layers",
    refuted_if="the first layer gives [CLS] less than the mean layer does",
    erratum="BERT-base's own first layer is below the mean",
)
def first_layer_more_cls(values, choice) -> float:
    layers = values["cls"].mean(axis=1)
    return layers[0] - layers.mean()


claim(
    key="cls-head",
    sentence="A head gives [CLS] over half",
    section="3.2, Figure 2",
    published=lambda: _best_published_head("cls"),
    exactness="V",
    operational="share of the best head",
    refuted_if="no head gives half of its attention to [CLS]",
    threshold=0.5,
    statistic=best_head("cls"),
)
claim(
    key="sep",
    sentence="Over half to [SEP]",
    section="3.2",
    published=lambda: _highest_layer("sep"),
    exactness="V",
    operational="highest layer mean",
    refuted_if="no layer gives [SEP] half of its attention",
    threshold=0.5,
    statistic=best_layer("sep"),
)


@claim(
    key="sep-layers",
    sentence="... in layers 6 to 10",
    section="3.2",
    published=lambda: _range("sep", 6, 10),
    exactness="V",
    operational="the lowest of these layer means",
    refuted_if="one of the five layers gives [SEP] less than half",
    threshold=0.5,
    erratum="layers 6 to 9 only",
)
def named_sep_layers(values, choice) -> float:
    return named_layers(values["sep"], 6, 10).mean(axis=1).min()


claim(
    key="sep-heads",
    sentence="A quarter of the heads give [SEP] over half",
    section="3.2, Figure 2",
    published=lambda: _heads_above("sep"),
    exactness="D",
    operational="share of heads above one half",
    refuted_if="fewer than a quarter of the heads do",
    threshold=0.25,
    statistic=share_of_heads_above("sep", 0.5),
)


@claim(
    key="sep-uniform",
    sentence="[SEP] draws more than chance",
    section="3.2",
    published=_sep_times,
    original=lambda: f"{published_layers('sep').max():.2f}, against 1/64",
    exactness="D",
    operational="highest layer mean / share of [SEP] among the tokens",
    refuted_if="no layer gives [SEP] twice its share of the tokens",
    threshold=2.0,
)
def sep_against_uniform(values, choice) -> float:
    return best_layer("sep")(values, choice) / values["sep_uniform"]


claim(
    key="sep-to-sep",
    sentence="[SEP] looks at [SEP]",
    section="3.2",
    published=lambda: _highest_layer("sep_to_sep"),
    exactness="V",
    operational="highest layer mean",
    refuted_if="no layer gives nine tenths of it to [SEP]",
    threshold=0.9,
    erratum="layers 6 and 8 only",
    statistic=best_layer("sep_to_sep"),
)


@claim(
    key="sep-to-sep-middle",
    sentence="... in all middle layers",
    section="3.2",
    published=lambda: _range("sep_to_sep", 5, 9),
    exactness="V",
    operational="the lowest of the means of layers 5 to 9",
    refuted_if="one of these layers gives less than nine tenths",
    threshold=0.9,
    erratum="false in the figure: 0.88 to 0.90",
)
def named_sep_to_sep_layers(values, choice) -> float:
    return named_layers(values["sep_to_sep"], 5, 9).mean(axis=1).min()


@claim(
    key="sep-even-more",
    sentence="From [SEP] even more, in every layer",
    source=SUMMARY,
    published=_smallest_sep_difference,
    exactness="D",
    operational="SEP to SEP minus other to SEP, lowest layer",
    refuted_if="in one layer [SEP] gives [SEP] no more than the others do",
    erratum="reversed in BERT-base's layer 10",
)
def from_sep_even_more(values, choice) -> float:
    """The layer with the smallest difference, chosen on the other inputs."""
    layer = (choice["sep_to_sep"] - choice["other_to_sep"]).mean(axis=1).argmin()
    return (values["sep_to_sep"] - values["other_to_sep"]).mean(axis=1)[layer]


claim(
    key="punct",
    sentence="Last layer: over half to . and ,",
    section="3.2",
    published=lambda: f"{published_layers('punct')[-1]:.2f}, layer 12",
    exactness="V",
    operational="mean of the last layer",
    refuted_if="the last layer gives . and , less than half",
    threshold=0.5,
    statistic=last_layers("punct", 1),
)
claim(
    key="punct-last-two",
    sentence="... in the last two layers",
    source=ESSAY,
    published=lambda: " and ".join(f"{value:.3f}" for value in published_layers("punct")[-2:]),
    exactness="V",
    operational="the lower of the last two layer means",
    refuted_if="one of the last two layers gives . and , less than half",
    threshold=0.5,
    erratum="0.4997 in layer 11",
    statistic=last_layers("punct", 2),
)
claim(
    key="special",
    sentence="Most heads: over half to [CLS], [SEP], . and ,",
    source=SUMMARY,
    published=lambda: _heads_above("cls", "sep", "punct"),
    exactness="D",
    operational="share of heads above one half",
    refuted_if="half of the heads give more to other tokens",
    threshold=0.5,
    erratum="in the layer mean only from layer 5 on",
    statistic=share_of_heads_above("special", 0.5),
)
# 3.3, entropy
claim(
    key="broad-early",
    sentence="Broadest in the early layers",
    section="3.3",
    published=lambda: _early_minus_later("entropy_clark", np.log(CLARK_LENGTH)),
    exactness="D",
    operational="entropy / ln n, first third of the layers minus the rest",
    refuted_if="later layers are as broad",
    threshold=0.02,
    statistic=early_minus_later("entropy_normalized"),
)


@claim(
    key="broad-heads-early",
    sentence="Most broad heads sit early",
    section="3.3, Figure 4",
    published=_broad_published,
    exactness="D",
    operational=f"share of the heads with entropy / ln n over {BROAD:.2f} that lie in the first third",
    refuted_if="half of the broad heads lie later",
    threshold=0.5,
)
def broad_heads_early(values, choice) -> float:
    broad = _broad_heads(values)
    return broad[first_third(broad)].sum() / broad.sum()


@claim(
    key="broad-at-most-a-tenth",
    sentence="Broad heads: at most 10 % on one word",
    section="3.3",
    published="at most 0.1",
    exactness="P",
    operational="mean largest weight, highest of the broad heads (a random head is broad, and so no control)",
    refuted_if="a broad head puts more than a tenth on its favourite token",
    threshold=-0.1,
    below=True,
    erratum="summaries drop 'at most'",
    control=False,
)
def broad_heads_largest_weight(values, choice) -> float:
    return -values["largest_weight"][_broad_heads(choice)].max()


@claim(
    key="sharpest-neighbour",
    sentence="The sharpest head looks at a neighbour",
    section="3.3, Figure 4",
    published=lambda: "{0[2]:.2f}, {0[0]}".format(_sharpest_published()),
    original=lambda: "{} has the lowest entropy, {:.3f} nats".format(*_sharpest_published()),
    exactness="A/V",
    operational="larger of its shares to the previous and the next token",
    refuted_if="it gives its neighbours less than half",
    threshold=0.5,
)
def sharpest_looks_at_a_neighbour(values, choice) -> float:
    sharpest = int(choice["entropy_normalized"].argmin())
    return max(values["previous"].flat[sharpest], values["next"].flat[sharpest])


@claim(
    key="falls-and-rises",
    sentence="Focus: broad, then sharp, then broad again",
    section="3.3, Figure 4",
    published=_falls_and_rises,
    original=_falls_and_rises_printed,
    exactness="D",
    operational="entropy / ln n, first or last layer minus the lowest, the smaller one",
    refuted_if="the first or the last layer is the sharpest",
    threshold=0.05,
)
def falls_and_rises(values, choice) -> float:
    lowest = choice["entropy_normalized"].mean(axis=1).argmin()
    layers = values["entropy_normalized"].mean(axis=1)
    return min(layers[0], layers[-1]) - layers[lowest]


@claim(
    key="cls-broad",
    sentence="Last layer: [CLS] is broad",
    section="3.3",
    published=lambda: f"{_cls_gaps()[-1]:+.2f} nats",
    exactness="D",
    operational="entropy from [CLS] minus that of all tokens",
    refuted_if="[CLS] looks as sharply as the others",
    threshold=0.1,
)
def last_cls_minus_all(values, choice) -> float:
    return (values["entropy_from_cls"][-1] - values["entropy"][-1]).mean()


claim(
    key="cls-nearly-uniform",
    sentence="... at four fifths of uniform",
    section="3.3",
    published=lambda: f"{3.89 / np.log(CLARK_LENGTH):.2f}",
    exactness="D",
    operational="last layer, entropy from [CLS] / ln n",
    refuted_if="it is at most three quarters of a uniform one",
    threshold=0.75,
    statistic=lambda values, choice: values["entropy_from_cls_normalized"][-1].mean(),
)


@claim(
    key="cls-close",
    sentence="Elsewhere [CLS] is as broad as the others",
    section="3.3",
    published=lambda: _share_of((np.abs(_cls_gaps()) < 0.5).sum(), 12),
    exactness="D",
    operational="share of layers with a gap under 0.5 nats",
    refuted_if="half of the layers have a larger gap",
    threshold=0.5,
    erratum="'very close': gaps of 0.7 to 1.1 nats in layers 2, 7, 11, 12",
)
def layers_where_cls_is_close(values, choice) -> float:
    gap = (values["entropy_from_cls"] - values["entropy"]).mean(axis=1)
    return (np.abs(gap) < 0.5).mean()


CLAIMS = tuple(claim)
