"""Lesson 02: six patterns and the neurons behind them. Vig's two posts (2018-2019), taken at their word."""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial

import numpy as np

from ..claims import CannotDecide, Claim
from ..labels import head_label, parse_head_label
from ..published import published_heads, read_published
from .statistics import best_head

VIG = "Vig 2018-2019"
ROTATIONS = 3  # random bases of the control, the same for every input and model


# --- evidence ------------------------------------------------------------------------------------------


def patterns(encoder, resources) -> Iterator[dict[str, np.ndarray]]:
    """Every pattern's value and excess, and the dimensions behind two of them: shape (layer, head), for each pair."""
    from ..attention import iter_attention
    from ..neurons import position_keys, random_rotations

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
    from ..neurons import dimensions_used, position_correlation
    from ..patterns import (
        UndefinedPattern,
        closing_sep_pairs,
        measure_patterns,
        next_word_pairs,
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


def segment_ids(encoder, resources) -> Iterator[dict[str, np.ndarray]]:
    """Attention that stays in the own text, with segment ids as usual and with zeros."""
    from ..attention import iter_attention
    from ..claims import collect_evidence
    from ..patterns import zeros_quantities

    if not encoder.has_segments:
        raise CannotDecide("the model is never told which text a token belongs to")
    usual = collect_evidence("patterns", encoder, resources).values  # read once for both evidences
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


def limit_is_gone(values, choice) -> float:
    """The smaller of two margins: there was a limit with segment ids, and none is left without."""
    head = int(choice["bag"].argmax())
    had = values["standard"].flat[head] - values["chance"]
    left = values["zeros"].flat[head] - values["chance"]
    return min(had - 0.25, 0.1 - abs(left))


def share_of_limit_lost(values, choice) -> float:
    """What part of the attention above chance is lost; nothing can be lost where there was nothing."""
    head = int(choice["bag"].argmax())
    had = values["standard"].flat[head] - values["chance"]
    if had < 0.1:
        raise CannotDecide("no head keeps to its own text, so there is no limit to lose")
    return (values["standard"].flat[head] - values["zeros"].flat[head]) / had


def wider_than_a_text(values, choice) -> float:
    return values["entropy_zeros"].flat[int(choice["bag"].argmax())] - values["log_own"]


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


CLAIMS = (
    Claim(
        key="02-next-word",
        lesson="02",
        sentence="There is a next-word head",
        source=VIG,
        section="part 1, pattern 1; share from Clark et al. 2019, 3.1",
        published=lambda: _clark_share("next", "3-1"),
        exactness="P/A",
        operational="share of the best head",
        refuted_if="no head gives over half of its attention to the next token",
        evidence="patterns",
        statistic=best_head("next"),
        line=0.5,
        erratum="The post counts from 0: its layer 2, head 0 is 3-1",
    ),
    Claim(
        key="02-previous-word",
        lesson="02",
        sentence="There is a previous-word head",
        source=VIG,
        section="part 1, pattern 2; share from Clark et al. 2019, 3.1",
        published=lambda: _clark_share("previous"),
        exactness="V/A",
        operational="share of the best head",
        refuted_if="no head gives over half of its attention to the previous token",
        evidence="patterns",
        statistic=best_head("previous"),
        line=0.5,
    ),
    Claim(
        key="02-sep-breaks-next",
        lesson="02",
        sentence="Its [SEP] looks at [CLS]",
        source=VIG,
        section="part 1, pattern 1",
        published="mostly",
        exactness="",
        operational="what the best next-word head gives from [SEP] to [CLS]",
        refuted_if="that head's [SEP] rows give less than half of their attention to [CLS]",
        evidence="patterns",
        statistic=of_head_with_most("next", "sep to cls"),
        line=0.5,
    ),
    Claim(
        key="02-same-word",
        lesson="02",
        sentence="There is a same-word head",
        source=VIG,
        section="part 1, pattern 3",
        published="",
        exactness="",
        operational="share minus null model (mean row), best head",
        refuted_if="no head exceeds its null model by a tenth of its attention",
        evidence="patterns",
        statistic=best_head("same_word, excess"),
        line=0.1,
    ),
    Claim(
        key="02-same-word-across",
        lesson="02",
        sentence="There is one across texts",
        source=VIG,
        section="part 1, pattern 4",
        published="",
        exactness="",
        operational="share minus null model (mean row), best head",
        refuted_if="no head exceeds its null model by a tenth of its attention",
        evidence="patterns",
        statistic=best_head("same_word_across, excess"),
        line=0.1,
    ),
    Claim(
        key="02-within-word",
        lesson="02",
        sentence="One for the rest of a word",
        source=VIG,
        section="part 1, pattern 5",
        published="",
        exactness="",
        operational="share minus null model (any neighbour), best head",
        refuted_if="no head exceeds its null model by a tenth of its attention",
        evidence="patterns",
        statistic=best_head("within_word, excess"),
        line=0.1,
    ),
    Claim(
        key="02-delimiter",
        lesson="02",
        sentence="There is a [SEP] head",
        source=VIG,
        section="part 1, pattern 6; share from Clark et al. 2019, Figure 2",
        published=lambda: _clark_head("sep", "8-4"),
        exactness="P/V",
        operational="share of the best head",
        refuted_if="no head gives over half of its attention to [SEP]",
        evidence="patterns",
        statistic=best_head("delimiter"),
        line=0.5,
        erratum="The post counts from 0: its layer 7, head 3 is 8-4",
    ),
    Claim(
        key="02-bag-own-text",
        lesson="02",
        sentence="One keeps to its own text",
        source=VIG,
        section="part 2",
        published="1-1",
        exactness="P",
        operational="share in the own text, best head",
        refuted_if="the head most like a bag of words gives over a tenth of its attention to the other text",
        evidence="patterns",
        statistic=of_head_with_most("bag_of_words, excess", "own text"),
        line=0.9,
        erratum="The post counts from 0: its layer 0, head 0 is 1-1",
    ),
    Claim(
        key="02-bag-even",
        lesson="02",
        sentence="It is spread evenly there",
        source=VIG,
        section="part 2",
        published="1-1",
        exactness="P",
        operational="entropy within the own text / ln of its length, same head",
        refuted_if="that head's attention within the text has less than .9 of the largest possible entropy",
        evidence="patterns",
        statistic=of_head_with_most("bag_of_words, excess", "evenness"),
        line=0.9,
        control=False,  # even attention is what an untrained head gives; the claim is that this one keeps it
    ),
    Claim(
        key="02-segments-limit-gone",
        lesson="02",
        sentence="No segment ids, no limit",
        source="our inference from Vig 2018-2019",
        section="part 2",
        published="",
        exactness="",
        operational="smaller of: limit before - .25, .1 - limit after",
        refuted_if="with all ids zero the head still gives its own text a tenth more, or less, than chance",
        evidence="segment ids",
        statistic=limit_is_gone,
    ),
    Claim(
        key="02-segments-most-lost",
        lesson="02",
        sentence="... or most of it is lost",
        source="our inference from Vig 2018-2019",
        section="part 2",
        published="",
        exactness="",
        operational="part of the share above chance that is lost",
        refuted_if="at least half of the share above chance is left with all ids zero",
        evidence="segment ids",
        statistic=share_of_limit_lost,
        line=0.5,
        control=False,  # a twin has no limit to lose, and says so
    ),
    Claim(
        key="02-segments-wide",
        lesson="02",
        sentence="... and wider than a text",
        source="Clark et al. 2019",
        section="Figure 4, maps made with zeros",
        published=lambda: _clark_head("entropy_clark", "1-1", " nats"),
        exactness="V",
        operational="entropy with zeros minus ln of the own text's length, in nats",
        refuted_if="with all ids zero that head is no more spread than over one text",
        evidence="segment ids",
        statistic=wider_than_a_text,
        control=False,  # every untrained head is as wide as it can be
    ),
    Claim(
        key="02-sep-few-neurons",
        lesson="02",
        sentence="Few neurons find [SEP]",
        source=VIG,
        section="part 2",
        published="few",
        exactness="",
        operational="minus the fraction of dimensions, best [SEP] head",
        refuted_if="the best [SEP] head needs over a quarter of its dimensions",
        evidence="patterns",
        statistic=lambda values, choice: -dimensions_of("sep", "delimiter", values, choice),
        line=-0.25,
    ),
    Claim(
        key="02-next-many-neurons",
        lesson="02",
        sentence="Most find the next word",
        source=VIG,
        section="part 2",
        published="most",
        exactness="",
        operational="fraction of dimensions, best next-word head",
        refuted_if="the best next-word head needs less than half of its dimensions",
        evidence="patterns",
        statistic=lambda values, choice: dimensions_of("next", "next", values, choice),
        line=0.5,
    ),
    Claim(
        key="02-sep-fewer-than-next",
        lesson="02",
        sentence="More for the next word",
        source=VIG,
        section="part 2",
        published="",
        exactness="",
        operational="fraction for the next word minus fraction for [SEP]",
        refuted_if="the [SEP] head needs as many dimensions or more",
        evidence="patterns",
        statistic=lambda values, choice: (
            dimensions_of("next", "next", values, choice) - dimensions_of("sep", "delimiter", values, choice)
        ),
    ),
    Claim(
        key="02-neurons-special",
        lesson="02",
        sentence="Neurons are special",
        source=VIG,
        section="part 2, implied by showing them",
        published="",
        exactness="",
        operational="fraction for [SEP] when rotated, minus as trained",
        refuted_if="in randomly rotated dimensions as few suffice",
        evidence="patterns",
        statistic=lambda values, choice: (
            dimensions_of("sep", "delimiter", values, choice, ", rotated")
            - dimensions_of("sep", "delimiter", values, choice)
        ),
    ),
    Claim(
        key="02-next-position",
        lesson="02",
        sentence="Next-word keys: positions",
        source=VIG,
        section="part 2",
        published="",
        exactness="",
        operational="correlation of keys with position embeddings, best next-word head",
        refuted_if="its keys correlate less than .5 with what position alone would give",
        evidence="patterns",
        statistic=of_head_with_most("next", "position"),
        line=0.5,
    ),
    Claim(
        key="02-names",
        lesson="02",
        sentence="The next-word head is 3-1",
        source=VIG,
        section="part 1, pattern 1",
        published="3-1",
        exactness="P",
        operational="head 3-1 of another model is another head",
        refuted_if="only BERT-base itself can refute it",
        evidence="patterns",
        statistic=None,
        erratum="The post counts from 0: its layer 2, head 0 is 3-1",
    ),
)
