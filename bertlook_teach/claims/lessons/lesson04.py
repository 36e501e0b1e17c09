"""Lesson 04: is [SEP] a no-op? Gradients (Clark et al. 2019), norms (Kobayashi et al. 2020, 2021), rollout, value zeroing.

Where a claim speaks of "the layers that look at [SEP]", the statistic takes the one layer that gives [SEP] most, found on
the inputs that choose; so it can be asked of a model of any depth.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator

import numpy as np

from ...measures import token_masks
from ...published import (
    published_gradients,
    published_layers,
    published_norms,
    published_number,
    read_published,
)
from ...stats import CannotDecide
from ..claim import Claims
from ..evidence import evidence
from .lesson03 import surface

CLARK, KOBAYASHI, ABNAR = "Clark et al. 2019", "Kobayashi et al. 2020", "Abnar and Zuidema 2020"

KOBAYASHI_2021, ESSAY, COURSE = "Kobayashi et al. 2021", "What Attention Dose Not Look At 2021", "This course"

EXACT = 1e-4  # single precision

KINDS = ("cls", "sep", "punct", "other")

OTHERS_ZEROED = 6  # tokens of the text whose values are zeroed beside those of [SEP]: evenly spaced


# --- evidence ------------------------------------------------------------------------------------------
@evidence("importance", version=1)
def gradients(encoder, resources) -> Iterator[dict[str, np.ndarray]]:
    """For each pair, 15 % of it masked: |dL/dalpha|, weight and norm of each kind of token, shape (layer, head)."""
    from ...measures import attention_gradients
    from ...model import NoMaskedLMHead, read

    for number, pair in enumerate(resources.pairs):
        try:
            found = attention_gradients(read(encoder, pair, truncate=True), seed=number)
        except NoMaskedLMHead as reason:
            raise CannotDecide(str(reason)) from None
        yield gradient_quantities(found)


def gradient_quantities(found) -> dict[str, np.ndarray]:
    from ...measures import category_means, category_sums

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


@evidence("norms", version=1)
def norms(encoder, resources) -> Iterator[dict[str, np.ndarray]]:
    """For each pair: norms of f and weighted norms by kind of token, and what weights and norms make of mixing and rollout."""
    from ...model import iter_attention, output_projection

    projection = output_projection(encoder)
    frequency: Counter[str] = Counter()
    for pair in resources.pairs:
        for text in pair:
            frequency.update(encoder.tokenizer.tokenize(text))
    stream = iter_attention(encoder, resources.pairs, batch_size=4, truncate=True, vectors=True)
    for attention in stream:
        yield norm_quantities(attention, projection, frequency)


def norm_quantities(attention, projection, frequency) -> dict[str, np.ndarray]:
    from ...measures import (
        attention_rollout,
        category_sums,
        summed_norms,
        value_norms,
        weight_norm_correlation,
        weighted_norms,
    )
    from ...stats import rank_correlation

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


@evidence("value zeroing", version=1)
def zeroing(encoder, resources) -> Iterator[dict[str, np.ndarray]]:
    """For each pair: how far a layer turns other tokens when it can take nothing from [SEP], or from some other token."""
    from ...measures import category_sums, value_zeroing
    from ...model import read

    for pair in resources.pairs:
        reading = read(encoder, pair, truncate=True)
        attention = reading.attention()
        masks = token_masks(attention)
        sep, other = np.flatnonzero(masks["sep"]), np.flatnonzero(masks["other"])
        found = {f"weight_{kind}": value for kind, value in category_sums(attention, attention).items()}
        some = (
            other[np.unique(np.linspace(0, len(other) - 1, OTHERS_ZEROED).round().astype(int))]
            if len(other)
            else other
        )
        keys = [*sep, *some]
        turns = value_zeroing(reading, normalized=False, keys=keys)
        given = attention.weights.mean(axis=1)[..., keys]
        # An angle, for sizes are compared: a cosine distance grows with its square, and eight times reads as sixty.
        quantities = {"angle": np.arccos(1 - np.minimum(turns, 2)), "given": given}
        for name, maps in quantities.items():
            maps = maps.copy()
            maps[:, keys, range(len(keys))] = np.nan  # what a token does to itself is left out
            by_key = np.nanmean(maps, axis=1)
            for kind, part in (("sep", by_key[:, : len(sep)]), ("other", by_key[:, len(sep) :])):
                if part.size:
                    found[f"{name}_{kind}"] = part.mean(axis=-1)
        yield found


EVIDENCE = {
    "importance": gradients,
    "norms": norms,
    "value zeroing": zeroing,
    "surface": surface,
}


# --- statistics ----------------------------------------------------------------------------------------
def sep_layer(choice) -> int:
    """The layer that gives [SEP] most."""
    return int(choice["weight_sep"].mean(axis=1).argmax())


def _against(kind: str, name: str):
    def statistic(values, choice):
        from ...measures import attention_against_importance

        found = attention_against_importance(
            values[f"weight_{kind}"], values[f"grad_{kind}"], values[f"norm_{kind}"]
        )
        if name not in found:
            raise CannotDecide("too few layers or heads for a rank correlation")
        return found[name]

    return statistic


def minus_correlation(kind: str, name: str):
    correlation = _against(kind, name)
    return lambda values, choice: -correlation(values, choice)


def _share(values, name: str, layer: int) -> float:
    parts = {kind: values[f"{name}_{kind}"][layer].mean() for kind in KINDS}
    return parts["sep"] / sum(parts.values())


def minus(quantity: str):
    return lambda values, choice: -values[quantity]


def near_zero(quantity: str):
    return lambda values, choice: -abs(values[quantity])


# --- the published values ------------------------------------------------------------------------------
def _gradient_ratios(first: int, last: int) -> str:
    ratios = (published_gradients("sep") / published_gradients("all"))[first - 1 : last]
    return (
        f"{ratios.min():.2f} to {ratios.max():.2f}, layers {first} to {last}"
        if last > first
        else f"{ratios[0]:.2f}"
    )


def _correlation(kind: str) -> str:
    from ...stats import rank_correlation

    return f"{rank_correlation(published_layers(kind), published_gradients(kind)):+.2f}"


def _shares(*, weights: bool) -> np.ndarray:
    sums = {kind: published_norms(kind, weights=weights) for kind in KINDS}
    return sums["sep"] / sum(sums.values())


def _highest_share(*, weights: bool) -> str:
    layer = int(_shares(weights=True).argmax())
    return f"{_shares(weights=weights)[layer]:.2f}, layer {layer + 1}"


def _share_lost() -> tuple[float, float, int]:
    """Share of [SEP] by weight and by weighted norm in the layer that gives it most, and this layer."""
    weights, norms = _shares(weights=True), _shares(weights=False)
    layer = int(weights.argmax())
    return weights[layer], norms[layer], layer + 1


def _table(quantity: str, form: str = "+.2f"):
    return lambda: format(published_number("kobayashi_tables", quantity), form)


def _mixing() -> tuple[str, str]:
    """The difference, and the two ratios as printed."""
    by = [
        published_number("kobayashi2021_mixing_ratio", f"Attn-{x}: mean context mixing ratio") for x in "WN"
    ]
    return f"{(by[0] - by[1]) / 100:+.2f}", f"{by[0]} and {by[1]} %"


def _blank_out() -> str:
    """Agreement with blanking tokens out, in the last of the six layers."""
    rows = [row for row in read_published("abnar_rollout_flow") if row.layer == "6"]
    by = {
        name: next(row.value for row in rows if row.quantity == f"Spearman with blank-out importance: {name}")
        for name in ("rollout", "raw attention")
    }
    return f"{float(by['rollout']):.2f} against {float(by['raw attention']):.2f}"


def _sep_to_text() -> str:
    layer = int(published_layers("sep").argmax())
    return f"{1 - published_layers('sep_to_sep')[layer]:.2f}, layer {layer + 1}"


OTHER = "Spearman alpha vs ||f(x)||: other"


FALLS = {
    "exactness": "D",
    "operational": "rank correlation of share and gradient over layers",
    "refuted_if": "the correlation is above -0.5",
    "evidence": "importance",
    "threshold": 0.5,
    "below": True,
}


# --- the claims ------------------------------------------------------------------------------------------


claim = Claims("04", EVIDENCE, evidence="norms")


# gradients


@claim(
    key="gradient-sep",
    sentence="Changing attention to [SEP] changes little",
    source=CLARK,
    section="3.2, Figure 3",
    published=lambda: _gradient_ratios(5, 9),
    exactness="D",
    operational="gradient on [SEP] / on all tokens, in the layer that gives [SEP] most",
    refuted_if="there the gradient on [SEP] is over half of the mean",
    evidence="importance",
    threshold=-0.5,
    below=True,
)
def gradient_ratio(values, choice) -> float:
    layer = sep_layer(choice)
    return -values["grad_sep"][layer].mean() / values["grad_all"][layer].mean()


claim(
    key="gradient-sep-tenth",
    sentence="... less than a tenth as much",
    source=CLARK,
    section="3.2, Figure 3",
    published=lambda: _gradient_ratios(5, 9),
    exactness="D",
    operational="gradient on [SEP] / on all tokens, in the layer that gives [SEP] most",
    refuted_if="there the gradient on [SEP] is over a tenth of the mean",
    evidence="importance",
    threshold=-0.1,
    below=True,
    statistic=gradient_ratio,
)


@claim(
    key="gradient-first-layer",
    sentence="In the first layer [SEP] matters like the rest",
    source=CLARK,
    section="3.2, Figure 3",
    published=lambda: _gradient_ratios(1, 1),
    exactness="D",
    operational="gradient on [SEP] / on all tokens (in a random twin, too: no control)",
    refuted_if="it is under three quarters",
    evidence="importance",
    threshold=0.75,
    control=False,
)
def first_layer_gradient_ratio(values, choice) -> float:
    return values["grad_sep"][0].mean() / values["grad_all"][0].mean()


claim(
    key="gradient-falls",
    sentence="Layers that look at [SEP] depend on it least",
    source=CLARK,
    section="3.2, Figures 2 and 3",
    published=lambda: _correlation("sep"),
    **FALLS,
    statistic=minus_correlation("sep", "over layers"),
)
claim(
    key="gradient-heads",
    sentence="... and so do the heads of one layer",
    source=ESSAY,
    section="Importance",
    operational="rank correlation over heads, layer means taken out",
    refuted_if="the correlation is above -0.2",
    evidence="importance",
    threshold=0.2,
    below=True,
    statistic=minus_correlation("sep", "over heads"),
)
claim(
    key="gradient-punct",
    sentence="The same holds for . and ,",
    source=ESSAY,
    section="Importance",
    published=lambda: _correlation("punct"),
    **FALLS,
    erratum="not significant over BERT-base's 12 layers (p = .12)",
    statistic=minus_correlation("punct", "over layers"),
)
# the mechanism
claim(
    key="bound",
    sentence="A gradient cannot outgrow the norm",
    source=COURSE,
    section="gradient = g v",
    published="1",
    exactness="D",
    operational="largest gradient / (norm of the output's gradient x norm of f) (arithmetic: a twin must obey)",
    refuted_if="a gradient is larger than the product of the two norms",
    evidence="importance",
    threshold=-1 - EXACT,
    below=True,
    control=False,
    statistic=minus("over_bound"),
)


@claim(
    key="norm-explains",
    sentence="The norm explains part of it",
    source=COURSE,
    section="gradient = g v",
    operational="by how much the negative correlation over heads shrinks when the norm is held fixed",
    refuted_if="it shrinks by less than 0.1",
    evidence="importance",
    threshold=0.1,
)
def explained_by_norm(values, choice) -> float:
    """By how much the negative correlation over heads shrinks when the norm is held fixed: what is not there cannot shrink."""
    before, after = (
        _against("sep", name)(values, choice) for name in ("over heads", "over heads given norm")
    )
    return min(after, 0.0) - min(before, 0.0)


@claim(
    key="norm-explains-all",
    sentence="... and nothing is left of it",
    source=COURSE,
    section="gradient = g v",
    operational="size of the correlation over heads with the norm held fixed (a twin has none: no control)",
    refuted_if="its size stays above 0.2",
    evidence="importance",
    threshold=-0.2,
    below=True,
    control=False,
)
def left_given_norm(values, choice) -> float:
    return -abs(_against("sep", "over heads given norm")(values, choice))


# norms


@claim(
    key="norm-sep",
    sentence="[SEP] has a short vector where it is looked at",
    source=KOBAYASHI,
    section="Figure 4",
    original="near 0, most heads of layers 5 to 10",
    exactness="A",
    operational="norm of f([SEP]) / of other tokens, in the layer that gives [SEP] most",
    refuted_if="it is over a quarter as long",
    threshold=-0.25,
    below=True,
)
def sep_norm_ratio(values, choice) -> float:
    layer = sep_layer(choice)
    return -values["norm_sep"][layer].mean() / values["norm_other"][layer].mean()


@claim(
    key="norm-share",
    sentence="Norms take [SEP]'s share away",
    source=KOBAYASHI,
    section="Figure 3",
    published=lambda: f"{_share_lost()[0] - _share_lost()[1]:+.2f}",
    original=lambda: "{:.2f} by weight, {:.2f} by norm, layer {}".format(*_share_lost()),
    exactness="D",
    operational="share by weight minus share by weighted norm, in the layer that gives [SEP] most",
    refuted_if="the share falls by less than 0.1",
    threshold=0.1,
)
def sep_share_shrinks(values, choice) -> float:
    layer = sep_layer(choice)
    return _share(values, "weight", layer) - _share(values, "added", layer)


@claim(
    key="norm-share-small",
    sentence="... down to a tenth",
    source=KOBAYASHI,
    section="Figure 3",
    published=lambda: _highest_share(weights=False),
    exactness="A",
    operational="its share by weighted norm there (a twin gives [SEP] little by any measure: no control)",
    refuted_if="[SEP] keeps over a tenth",
    threshold=-0.1,
    below=True,
    control=False,
)
def sep_share_by_norm_is_small(values, choice) -> float:
    return -_share(values, "added", sep_layer(choice))


for kind, sentence, row, needed in (
    ("sep", "The more a token looks at [SEP], the less there is", "[SEP]", 0.3),
    ("cls", "... the same for [CLS]", "[CLS]", 0.2),
    ("punct", "... and for . and ,", "comma and period", 0.15),
):
    claim(
        key=f"cancel-{kind}",
        sentence=sentence,
        source=KOBAYASHI,
        section="Table 2",
        published=_table(f"Spearman alpha vs ||f(x)||: {row}"),
        exactness="P",
        operational="rank correlation of weight and norm, mean over texts",
        refuted_if=f"the correlation is above -{needed:g}",
        threshold=needed,
        below=True,
        statistic=minus(f"rho_{kind}"),
    )
claim(
    key="cancel-other",
    sentence="... but not for other words",
    source=KOBAYASHI,
    section="Table 2",
    published=lambda: f"{abs(published_number('kobayashi_tables', OTHER)):.2f}",
    original=_table(OTHER),
    exactness="P",
    operational="size of the rank correlation (a twin has none either: no control)",
    refuted_if="its size is over 0.15",
    threshold=-0.15,
    below=True,
    control=False,
    statistic=near_zero("rho_other"),
)


@claim(
    key="variation",
    sentence="A head's norms vary by a fifth",
    source=KOBAYASHI,
    section="Table 1",
    published=_table("||f(x)||, average over heads: coefficient of variation", ".2f"),
    exactness="P",
    operational="standard deviation / mean of the norm over tokens, mean of the heads",
    refuted_if="it is under 0.2",
    threshold=0.2,
)
def coefficient_of_variation(values, choice) -> float:
    mean = values["norm"]
    deviation = np.sqrt(np.maximum(values["norm_squared"] - mean**2, 0))
    return np.divide(deviation, mean, out=np.zeros_like(mean), where=mean > 0).mean()


claim(
    key="frequency-norm",
    sentence="Frequent words have short vectors",
    source=KOBAYASHI,
    section="word frequency",
    published=_table("Spearman word-frequency rank vs ||f(x)||"),
    exactness="P",
    operational="rank correlation of frequency rank and norm within a text",
    refuted_if="it is under 0.3",
    threshold=0.3,
    statistic=lambda values, choice: values["rho_rank_norm"],
)
claim(
    key="frequency-weight",
    sentence="... but are looked at no less",
    source=KOBAYASHI,
    section="word frequency",
    published=_table("Spearman word-frequency rank vs alpha"),
    exactness="P",
    operational="size of its correlation with the attention received (a twin has none either: no control)",
    refuted_if="its size is over 0.2",
    threshold=-0.2,
    below=True,
    control=False,
    statistic=near_zero("rho_rank_weight"),
)


@claim(
    key="mixing",
    sentence="Heads mix in less than their weights say",
    source=KOBAYASHI_2021,
    section="released output",
    published=lambda: _mixing()[0],
    original=lambda: _mixing()[1],
    exactness="D",
    operational="share of other tokens in what heads write, by weights minus by norms",
    refuted_if="the shares differ by less than 0.03",
    threshold=0.03,
)
def mixing_falls(values, choice) -> float:
    return values["mixed_by_weight"] - values["mixed_by_norm"]


# rollout


@claim(
    key="rollout",
    sentence="Rollout ends on [SEP]",
    source=COURSE,
    section="rollout",
    operational="last layer: share of [SEP] / its share of the tokens",
    refuted_if="[SEP] gets less than twice its share",
    threshold=2.0,
)
def rollout_against_uniform(values, choice) -> float:
    return values["rollout_sep"] / values["sep_tokens"]


@claim(
    key="rollout-norms",
    sentence="... less so when norms are rolled out",
    source=COURSE,
    section="rollout",
    operational="part of [SEP]'s share that is gone",
    refuted_if="less than a quarter of it goes",
    threshold=0.25,
)
def norms_roll_out_less(values, choice) -> float:
    return (values["rollout_sep"] - values["rollout_norms_sep"]) / values["rollout_sep"]


claim(
    key="rollout-better",
    sentence="Rollout tells importance better than weights",
    source=ABNAR,
    section="Table 1",
    published=_blank_out,
    exactness="P",
    operational="published for a six-layer model of verb number; needs a model with that task",
    refuted_if="raw weights agree as well with blanking tokens out",
    statistic=None,
)
# value zeroing, and where [SEP] looks


@claim(
    key="zeroing",
    sentence="Without [SEP]'s value a layer gives the same",
    source=ESSAY,
    section="Havens",
    operational="angle turned without [SEP] / without another token, in the layer that gives [SEP] most",
    refuted_if="the output turns as far as without another token",
    evidence="value zeroing",
    threshold=-1.0,
    below=True,
)
def angle_ratio(values, choice) -> float:
    layer = sep_layer(choice)
    return -values["angle_sep"][layer] / values["angle_other"][layer]


@claim(
    key="zeroing-weight",
    sentence="... or nearly: less than its weight promises",
    source=COURSE,
    section="value zeroing",
    operational="angle turned per unit of weight, [SEP] / another token, in the same layer",
    refuted_if="per unit of weight it turns the others over half as much",
    evidence="value zeroing",
    threshold=-0.5,
    below=True,
)
def angle_per_weight_ratio(values, choice) -> float:
    layer = sep_layer(choice)
    sep, other = (
        values[f"angle_{kind}"][layer] / values[f"given_{kind}"][layer] for kind in ("sep", "other")
    )
    return -sep / other


@claim(
    key="sep-gathers",
    sentence="[SEP] gathers its text for the others",
    source=CLARK,
    section="3.2",
    published=_sep_to_text,
    exactness="D",
    operational="share [SEP] gives to tokens that are not [SEP], in the layer that gives [SEP] most",
    refuted_if="it gives [SEP] half or more",
    evidence="surface",
    threshold=0.5,
    erratum="the paper weighs this idea, and drops it",
)
def sep_looks_elsewhere(values, choice) -> float:
    return 1 - values["sep_to_sep"].mean(axis=1)[int(choice["sep"].mean(axis=1).argmax())]


CLAIMS = tuple(claim)
