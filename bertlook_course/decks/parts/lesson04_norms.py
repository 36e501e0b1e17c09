"""What lesson 04 makes of means over texts: shares, norms and turns with their intervals, the token that a model rests on, and its figure."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from contextlib import suppress
from functools import cache

import numpy as np

from bertlook_teach.measures import special_token_attention
from bertlook_teach.views import LINE, MUTED, SELECTED

from ...analyses.anatomy import attention_against_importance
from ...claims import SINKS, Evidence
from ...metrics import best_index

KINDS = ("cls", "sep", "punct", "other")
REPLICATES = 300
Statistic = Callable[[Callable], object]  # of a function that gives the mean of a quantity over texts


@cache  # several slides show the same curve
def banded(evidence: Evidence, statistic: Statistic) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """A statistic of means over texts, and the ends of its 95 % interval: texts are drawn again and again."""
    n = evidence.n
    draws = np.random.default_rng(0).multinomial(n, [1 / n] * n, REPLICATES)

    def of(weights):
        return np.asarray(
            statistic(
                lambda name: np.average(evidence.values[name], axis=0, weights=weights[evidence.inputs[name]])
            )
        )

    value, others = of(np.ones(n)), [of(weights) for weights in draws]
    low, high = np.quantile(others, [0.025, 0.975], axis=0)
    return value, np.minimum(low, value), np.maximum(high, value)


def gradient_ratio(mean):
    return mean("grad_sep").mean(axis=1) / mean("grad_all").mean(axis=1)


@cache
def length_of(kind: str) -> Statistic:
    """How long f of a kind of token is, beside f of other tokens, by layer."""
    return lambda mean: mean(f"norm_{kind}").mean(axis=1) / mean("norm_other").mean(axis=1)


def turn(mean):
    return mean("angle_sep") / mean("angle_other")


def turn_per_weight(mean):
    return (mean("angle_sep") / mean("given_sep")) / (mean("angle_other") / mean("given_other"))


@cache
def share_of(kind: str, name: str) -> Statistic:
    """The share of a kind of token, by layer: of the ``"weight"``, or of the weighted norms that are ``"added"``."""
    return lambda mean: mean(f"{name}_{kind}").mean(axis=1) / _sum_over_kinds(mean, name)


def _sum_over_kinds(mean, name: str):
    total = 0.0
    for each in KINDS:
        with suppress(KeyError, ZeroDivisionError):  # no text has such a token, or none that was drawn
            total = total + mean(f"{name}_{each}").mean(axis=1)
    return total


share_of_weights, share_of_norms = share_of("sep", "weight"), share_of("sep", "added")


def what_is_left(mean):
    """Of the share of [SEP], once each weight is multiplied by the length of its vector."""
    return share_of_norms(mean) / share_of_weights(mean)


def layers_under(values, line: float) -> str:
    """The layers in which a curve is under a line.

    >>> layers_under([0.9, 0.4, 0.3, 0.8, 0.1], 0.5), layers_under([1], 0.5)
    ('layers 2 to 3 and 5', 'no layer')
    """
    under, runs = np.flatnonzero(np.asarray(values) < line) + 1, []
    for run in np.split(under, np.flatnonzero(np.diff(under) > 1) + 1):
        runs += [f"{run[0]} to {run[-1]}" if len(run) > 1 else f"{run[0]}"] if len(run) else []
    return f"layer{'s' * (len(under) > 1)} {' and '.join(runs)}" if runs else "no layer"


@cache
def layer_means(name: str) -> Statistic:
    """The mean of a quantity over the heads of each layer."""
    return lambda mean: mean(name).mean(axis=1)


@cache
def just(name: str) -> Statistic:
    """The mean of a quantity, as it is."""
    return lambda mean: mean(name)


def correlations(mean):
    """Of weight and gradient over heads, the same with the norm held fixed, and how much nearer to 0 that is."""
    found = attention_against_importance(mean("weight_sep"), mean("grad_sep"), mean("norm_sep"))
    before, after = (found[name] for name in ("over heads", "over heads given norm"))
    return [before, after, abs(before) - abs(after)]


def sink_of(norms: Evidence) -> tuple[str, int]:
    """The kind of token, a key of `SINKS`, that some layer gives most, by the mean over its heads; and that layer."""
    named = {kind: f"weight_{kind}" for kind in SINKS if f"weight_{kind}" in norms.values}
    got = {kind: norms.values[name].mean(axis=(0, 2)) for kind, name in named.items()}
    kind = max(got, key=lambda one: got[one].max())
    return kind, int(got[kind].argmax())


def sinks_figure(panels: Mapping[str, Mapping[str, tuple]], ylabel: str = "share of the token"):
    """By layer, a panel for each model: shares (value, low, high) of the token that its title names, on one scale."""
    from matplotlib.figure import Figure

    figure = Figure(figsize=(9.8, 4.1), layout="constrained")
    row = figure.subplots(1, len(panels), squeeze=False, sharey=True)[0]
    for axes, (title, shares) in zip(row, panels.items()):
        looks = zip(("o-", "D--", "s:"), (LINE, SELECTED, MUTED), (9, 9, 5), (3, 3, 2))
        for (name, (value, low, high)), (look, colour, size, level) in zip(shares.items(), looks):
            layers = np.arange(1, len(value) + 1)
            axes.plot(layers, value, look, color=colour, ms=size, lw=2.5, zorder=level, label=name)
            axes.fill_between(layers, low, high, color=colour, alpha=0.25, linewidth=0)
        axes.set_title(title, fontsize=18, loc="left")
        axes.set_xlabel("layer", fontsize=18)
        axes.set_xticks(layers)
        axes.tick_params(labelsize=18)
        axes.spines[["top", "right"]].set_visible(False)
    row[0].set_ylim(0, None)  # of both: they share it
    row[0].set_ylabel(ylabel, fontsize=18)
    figure.legend(
        *row[0].get_legend_handles_labels(), loc="outside upper left", ncols=3, frameon=False, fontsize=18
    )
    return figure


def idle_head(recording) -> tuple[int, int]:
    """Layer and head of a recorded model that give [SEP] most, over all texts of the recording."""
    return best_index(np.mean([special_token_attention(one, "sep") for one in recording.values()], axis=0))


# What [SEP] would be, which quantity would then be small, in which evidence it is, and under which line.
LOOKS = (
    ("gathering", "[SEP] to [SEP]", "surface", layer_means("sep_to_sep"), 0.5),
    ("resting", "length of f", "norms", length_of("sep"), 0.25),
    ("resting", "gradient", "importance", gradient_ratio, 0.5),
    ("resting", "turn per weight", "zeroing", turn_per_weight, 0.5),
    ("resting", "turn", "zeroing", turn, 1.0),
)

# What a class votes on: where each answer's zone ends, where the axis begins, and what it is.
VOTES = (
    ({"A": 0.1, "B": 0.5, "C": 1.0}, 0, "share of [SEP] that goes to [SEP]"),
    ({"D": 0.1, "C": 0.5, "B": 1.0, "A": 1.3}, 0, "gradient on [SEP] / on all tokens"),
    ({"C": 0.5, "B": 0.95, "A": 1.0}, 0, "share of norms / share of weights"),
    ({"C": 0.1, "B": 1.0, "A": 10.0}, 0.01, "turn without [SEP] / without another"),
)
