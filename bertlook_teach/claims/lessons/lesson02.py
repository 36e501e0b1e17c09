"""Lesson 02: six patterns and the neurons behind them. Vig's two posts (2018-2019), taken at their word."""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial

import numpy as np

from ...model import head_label, parse_head_label
from ...published import published_heads, read_published
from ...stats import CannotDecide
from ..claim import Claims
from ..evidence import collect, evidence
from .statistics import best_head

VIG = "Vig 2018-2019"

ROTATIONS = 3  # random bases of the control, the same for every input and model


# --- evidence ------------------------------------------------------------------------------------------
@evidence("patterns", version=1)
def patterns(encoder, resources) -> Iterator[dict[str, np.ndarray]]:
    """Every pattern's value and excess, and the dimensions behind two of them: shape (layer, head), for each pair."""
    from ...measures import position_keys, random_rotations
    from ...model import iter_attention

    rotations = random_rotations(encoder.head_size, ROTATIONS)
    try:
        places = [
            [position_keys(encoder, layer, head, encoder.max_tokens) for head in range(encoder.n_heads)]
            for layer in range(encoder.n_layers)
        ]
        places = np.array(places)
    except ValueError:  # no table of position embeddings: only the claim about it goes without
        places = None
    for attention in iter_attention(encoder, resources.pairs, truncate=True, vectors=True):
        yield pattern_quantities(attention, rotations, places)


def pattern_quantities(attention, rotations, places=None) -> dict[str, np.ndarray]:
    """What is undefined for this input (no word in both texts, no word in pieces) is left out."""
    from ...measures import (
        UndefinedPattern,
        closing_sep_pairs,
        dimensions_used,
        measure_patterns,
        next_word_pairs,
        position_correlation,
        sep_to_cls,
        within_segment_entropy,
        within_segment_mass,
    )

    found = {}
    for key, score in measure_patterns(attention).items():
        found[key], found[f"{key}, excess"] = score.value, score.excess
    for name, measure in (
        ("own text", within_segment_mass),
        ("evenness", within_segment_entropy),
        ("sep to cls", sep_to_cls),
        ("last sep to cls", partial(sep_to_cls, last=True)),
    ):
        try:
            found[name] = measure(attention)
        except UndefinedPattern:
            continue
    kinds = {"next": next_word_pairs(attention)}
    try:
        kinds["sep"] = closing_sep_pairs(attention)
    except UndefinedPattern:
        pass
    for kind, pairs in kinds.items():
        if pairs.any():
            found[f"{kind} dimensions"], found[f"{kind} pairs"] = dimensions_used(attention, pairs)
    if "sep" in kinds:
        turned = [dimensions_used(attention, kinds["sep"], basis=basis)[0] for basis in rotations]
        found["sep dimensions, rotated"] = np.mean(turned, axis=0)
    if places is not None:
        found["position"] = position_correlation(attention.keys, places[:, :, : attention.n_tokens])
    return found


@evidence("segment ids", version=1)
def segment_ids(encoder, resources) -> Iterator[dict[str, np.ndarray]]:
    """Attention that stays in the own text, with segment ids as usual and with zeros."""
    from ...measures import zeros_quantities
    from ...model import iter_attention

    if not encoder.has_segments:
        raise CannotDecide("the model is never told which text a token belongs to")
    usual = collect("patterns", patterns, encoder, resources).values  # read once for both evidences
    stream = iter_attention(encoder, resources.pairs, truncate=True, segments="zeros")
    for standard, bag, zeros in zip(usual["own text"], usual["bag_of_words, excess"], stream):
        yield {"standard": standard, "bag": bag, **zeros_quantities(zeros)}


EVIDENCE = {"patterns": patterns, "segment ids": segment_ids}


# --- statistics ----------------------------------------------------------------------------------------
def of_head_with_most(chooser: str, quantity: str):
    """A quantity of the head that has most of another one."""
    return lambda values, choice: values[quantity].flat[int(choice[chooser].argmax())]


def dimensions_of(kind: str, chooser: str, values, choice, suffix: str = "") -> float:
    """Mean fraction of dimensions that the head with most ``chooser`` needs for ``kind``."""
    head = int(choice[chooser].argmax())
    pairs = values[f"{kind} pairs"].flat[head]
    if not pairs:
        raise CannotDecide(f"the head never looks at a {kind} more than at the average token")
    return values[f"{kind} dimensions{suffix}"].flat[head] / pairs


# --- the published values ------------------------------------------------------------------------------
def _clark_share(direction: str, label: str = "") -> str:
    """Clark et al.'s share of a head, by default of the one with most."""
    rows = [
        row
        for row in read_published("clark_relative_position")
        if row.quantity == f"average attention to {direction} token" and row.head
    ]
    named = {head_label(int(row.layer) - 1, int(row.head) - 1): float(row.value) for row in rows}
    label = label or max(named, key=named.get)
    return f"{label} ({named[label]:.2f})"


def _clark_head(quantity: str, label: str, unit: str = "") -> str:
    return f"{label} ({published_heads(quantity)[parse_head_label(label)]:.2f}{unit})"


# --- the claims ------------------------------------------------------------------------------------------


claim = Claims("02", EVIDENCE, source=VIG, evidence="patterns")


claim(
    key="next-word",
    sentence="There is a next-word head",
    section="part 1, pattern 1; share from Clark et al. 2019, 3.1",
    published=lambda: _clark_share("next", "3-1"),
    exactness="P/A",
    operational="share of the best head",
    refuted_if="no head gives over half of its attention to the next token",
    threshold=0.5,
    erratum="The post counts from 0: its layer 2, head 0 is 3-1",
    statistic=best_head("next"),
)
claim(
    key="previous-word",
    sentence="There is a previous-word head",
    section="part 1, pattern 2; share from Clark et al. 2019, 3.1",
    published=lambda: _clark_share("previous"),
    exactness="V/A",
    operational="share of the best head",
    refuted_if="no head gives over half of its attention to the previous token",
    threshold=0.5,
    statistic=best_head("previous"),
)
claim(
    key="sep-breaks-next",
    sentence="Its [SEP] looks at [CLS]",
    section="part 1, pattern 1",
    published="mostly",
    operational="what the best next-word head gives from [SEP] to [CLS]",
    refuted_if="that head's [SEP] rows give less than half of their attention to [CLS]",
    threshold=0.5,
    statistic=of_head_with_most("next", "sep to cls"),
)
claim(
    key="same-word",
    sentence="There is a same-word head",
    section="part 1, pattern 3",
    operational="share minus null model (mean row), best head",
    refuted_if="no head exceeds its null model by a tenth of its attention",
    threshold=0.1,
    statistic=best_head("same_word, excess"),
)
claim(
    key="same-word-across",
    sentence="There is one across texts",
    section="part 1, pattern 4",
    operational="share minus null model (mean row), best head",
    refuted_if="no head exceeds its null model by a tenth of its attention",
    threshold=0.1,
    statistic=best_head("same_word_across, excess"),
)
claim(
    key="within-word",
    sentence="One for the rest of a word",
    section="part 1, pattern 5",
    operational="share minus null model (any neighbour), best head",
    refuted_if="no head exceeds its null model by a tenth of its attention",
    threshold=0.1,
    statistic=best_head("within_word, excess"),
)
claim(
    key="delimiter",
    sentence="There is a [SEP] head",
    section="part 1, pattern 6; share from Clark et al. 2019, Figure 2",
    published=lambda: _clark_head("sep", "8-4"),
    exactness="P/V",
    operational="share of the best head",
    refuted_if="no head gives over half of its attention to [SEP]",
    threshold=0.5,
    erratum="The post counts from 0: its layer 7, head 3 is 8-4",
    statistic=best_head("delimiter"),
)
claim(
    key="bag-own-text",
    sentence="One keeps to its own text",
    section="part 2",
    published="1-1",
    exactness="P",
    operational="share in the own text, best head",
    refuted_if="the head most like a bag of words gives over a tenth of its attention to the other text",
    threshold=0.9,
    erratum="The post counts from 0: its layer 0, head 0 is 1-1",
    statistic=of_head_with_most("bag_of_words, excess", "own text"),
)
claim(
    key="bag-even",
    sentence="It is spread evenly there",
    section="part 2",
    published="1-1",
    exactness="P",
    operational="entropy within the own text / ln of its length, same head",
    refuted_if="that head's attention within the text has less than .9 of the largest possible entropy",
    threshold=0.9,
    control=False,  # even attention is what an untrained head gives; the claim is that this one keeps it
    statistic=of_head_with_most("bag_of_words, excess", "evenness"),
)


@claim(
    key="segments-limit-gone",
    sentence="Without segment ids, less than .1 of the limit is left",
    source="our inference from Vig 2018-2019",
    section="part 2",
    operational="smaller of: limit before - .25, .1 - limit after",
    refuted_if="with all ids zero the head still gives its own text a tenth more, or less, than chance",
    evidence="segment ids",
)
def limit_is_gone(values, choice) -> float:
    head = int(choice["bag"].argmax())
    had = values["standard"].flat[head] - values["chance"]
    left = values["zeros"].flat[head] - values["chance"]
    return min(had - 0.25, 0.1 - abs(left))


@claim(
    key="segments-most-lost",
    sentence="... or most of it is lost",
    source="our inference from Vig 2018-2019",
    section="part 2",
    operational="part of the share above chance that is lost",
    refuted_if="at least half of the share above chance is left with all ids zero",
    evidence="segment ids",
    threshold=0.5,
    control=False,  # a twin has no limit to lose, and says so
)
def share_of_limit_lost(values, choice) -> float:
    """What part of the attention above chance is lost; nothing can be lost where there was nothing."""
    head = int(choice["bag"].argmax())
    had = values["standard"].flat[head] - values["chance"]
    if had < 0.1:
        raise CannotDecide("no head keeps to its own text, so there is no limit to lose")
    return (values["standard"].flat[head] - values["zeros"].flat[head]) / had


@claim(
    key="segments-wide",
    sentence="... and wider than a text",
    source="Clark et al. 2019",
    section="Figure 4, maps made with zeros",
    original=lambda: _clark_head("entropy_clark", "1-1", " nats"),
    exactness="V",
    operational="entropy with zeros minus ln of the own text's length, in nats",
    refuted_if="with all ids zero that head is no more spread than over one text",
    evidence="segment ids",
    control=False,  # every untrained head is as wide as it can be
)
def wider_than_a_text(values, choice) -> float:
    return values["entropy_zeros"].flat[int(choice["bag"].argmax())] - values["log_own"]


claim(
    key="sep-few-neurons",
    sentence="Few neurons find [SEP]",
    section="part 2",
    published="few",
    operational="fraction of dimensions, best [SEP] head",
    refuted_if="the best [SEP] head needs over a quarter of its dimensions",
    threshold=-0.25,
    below=True,
    statistic=lambda values, choice: -dimensions_of("sep", "delimiter", values, choice),
)
claim(
    key="next-many-neurons",
    sentence="Most find the next word",
    section="part 2",
    published="most",
    operational="fraction of dimensions, best next-word head",
    refuted_if="the best next-word head needs less than half of its dimensions",
    threshold=0.5,
    statistic=lambda values, choice: dimensions_of("next", "next", values, choice),
)
claim(
    key="sep-fewer-than-next",
    sentence="More for the next word",
    section="part 2",
    operational="fraction for the next word minus fraction for [SEP]",
    refuted_if="the [SEP] head needs as many dimensions or more",
    statistic=lambda values, choice: (
        dimensions_of("next", "next", values, choice) - dimensions_of("sep", "delimiter", values, choice)
    ),
)
claim(
    key="neurons-special",
    sentence="Neurons are special",
    section="part 2, implied by showing them",
    operational="fraction for [SEP] when rotated, minus as trained",
    refuted_if="in randomly rotated dimensions as few suffice",
    statistic=lambda values, choice: (
        dimensions_of("sep", "delimiter", values, choice, ", rotated")
        - dimensions_of("sep", "delimiter", values, choice)
    ),
)
claim(
    key="next-position",
    sentence="Next-word keys: positions",
    section="part 2",
    operational="correlation of keys with position embeddings, best next-word head",
    refuted_if="its keys correlate less than .5 with what position alone would give",
    threshold=0.5,
    statistic=of_head_with_most("next", "position"),
)
claim(
    key="names",
    sentence="The next-word head is 3-1",
    section="part 1, pattern 1",
    published="3-1",
    exactness="P",
    operational="head 3-1 of another model is another head",
    refuted_if="only BERT-base itself can refute it",
    erratum="The post counts from 0: its layer 2, head 0 is 3-1",
    statistic=None,
)


CLAIMS = tuple(claim)
