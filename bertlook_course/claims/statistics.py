"""The statistics that claims name: from means over inputs to the one number that is held against a claim's line.

A claim in ``lessons/lessonNN.toml`` says ``statistic = ["best_head", "sep"]``: a function of this module, and what it takes beside
``values``, the means over the inputs that report, and ``choice``, the means over the inputs that choose. Where a head or a layer has to be found
first, it is found in ``choice``, so that the number reported had no part in the choice. A statistic is the quantity that tables show, also
where a claim says that it is small. The essay on trial (lesson 13) has its own in `bertlook_course.claims.essay.statistics`.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cache, lru_cache

import numpy as np

from bertlook_teach.measures import CLASSES, THRESHOLDS, behaviour_labels, group_test

from ..analyses.negation import f1_of
from ..metrics import CannotDecide, metric_mds, micro_f1
from ..published import published_table_1
from .claim import Statistic, Values
from .essay import phases
from .essay import statistics as essay
from .lessons.lesson11 import SHARES

LEAST_CASES = 50  # of a relation on each half, where the best of several is chosen: a rarer one wins by luck

MAP_STEPS = 10  # towards the best map of a sample of texts; more would lower its stress a little

KINDS = ("cls", "sep", "punct", "other")  # of token


# --- a statistic by its name -------------------------------------------------------------------------------
@dataclass(frozen=True)
class NamedStatistic:
    """A function of this module with what it takes beside the means; its negative for a claim that something is small."""

    function: Callable
    arguments: tuple = ()
    negative: bool = False

    def __call__(self, values: Values, choice: Values) -> float:
        found = self.function(values, choice, *self.arguments)
        return -found if self.negative else found


def find_statistic(name: str, arguments: Sequence = (), *, negative: bool = False) -> Statistic:
    """The statistic of that name: the function itself where there is nothing to add to it.

    Raises
    ------
    ValueError
        If there is none (the message lists those that there are), or it does not take these arguments.

    Examples
    --------
    >>> find_statistic("best_head", ["next"])({"next": np.array([[0.2, 0.4]])}, {"next": np.array([[0.9, 0.1]])})
    np.float64(0.2)
    """
    known = named_statistics()
    if name not in known:
        raise ValueError(f"there is no statistic {name!r}; there is: {', '.join(sorted(known))}.")
    try:
        inspect.signature(known[name]).bind({}, {}, *arguments)
    except TypeError as reason:
        takes = ", ".join(list(inspect.signature(known[name]).parameters)[2:]) or "nothing"
        raise ValueError(
            f"statistic {name!r} takes {takes} beside the means; got {list(arguments)}: {reason}."
        ) from None
    if not arguments and not negative:
        return known[name]
    return NamedStatistic(known[name], tuple(arguments), negative)


@cache
def named_statistics() -> dict[str, Callable]:
    """Name -> function, of all that take the means that report and those that choose first."""
    found = {**vars(essay), **vars(phases), **globals()}
    return {
        name: function
        for name, function in found.items()
        if inspect.isfunction(function)
        and not name.startswith("_")
        and list(inspect.signature(function).parameters)[:2] == ["values", "choice"]
    }


# --- of any quantity by head, shape (layer, head) ------------------------------------------------------------
def quantity(values: Values, choice: Values, name: str) -> float:
    """The quantity itself."""
    return values[name]


def best_head(values: Values, choice: Values, name: str) -> float:
    """The quantity of the head that has most of it."""
    return of_head_with_most(values, choice, name, name)


def of_head_with_most(values: Values, choice: Values, chooser: str, name: str) -> float:
    """A quantity of the head that has most of another one."""
    return values[name].flat[int(choice[chooser].argmax())]


def best_layer(values: Values, choice: Values, name: str) -> float:
    """The layer mean of the layer that has most of it."""
    return values[name].mean(axis=1)[int(choice[name].mean(axis=1).argmax())]


def share_of_heads_below(values: Values, choice: Values, name: str, limit: float) -> float:
    return (values[name] < limit).mean()


# --- lesson 04: in the layer that gives a kind of token most ---------------------------------------------------
def _layer_that_gives(choice: Values, kind: str) -> int:
    return int(choice[f"weight_{kind}"].mean(axis=1).argmax())


def share_lost(values: Values, choice: Values, kind: str) -> float:
    """Its share by weight minus its share by weighted norm."""
    layer, shares = _layer_that_gives(choice, kind), {}
    for name in ("weight", "added"):
        parts = {each: values[f"{name}_{each}"][layer].mean() for each in KINDS}
        shares[name] = parts[kind] / sum(parts.values())
    return shares["weight"] - shares["added"]


def angle_ratio(values: Values, choice: Values, kind: str) -> float:
    """Angle by which the output turns without the values of such tokens, over that without another token's."""
    layer = _layer_that_gives(choice, kind)
    return values[f"angle_{kind}"][layer] / values["angle_other"][layer]


# --- lesson 05: kinds of map -------------------------------------------------------------------------------------
def share_of_maps(values: Values, choice: Values, name: str) -> float:
    """Share of the maps of pairs that are of one class."""
    return values["pair"][CLASSES.index(name)].mean()


def maps_that_keep_their_class(values: Values, choice: Values) -> float:
    """With looser thresholds or with stricter ones: the smaller share."""
    return min(values["kept, looser"].mean(), values["kept, stricter"].mean())


def segments_add(values: Values, choice: Values) -> float:
    """Block score as two segments minus as one, of the head that keeps most in its segment while spread over it."""
    head = int(choice["kept and spread"].argmax())
    return values["kept, two segments"].flat[head] - values["kept, one segment"].flat[head]


# --- lesson 06: heads against offsets ------------------------------------------------------------------------------
def relation_accuracies(values: Values, name: str, what: str = "right") -> np.ndarray:
    """Right answers by cases, of every head and direction or of every offset; both count the same documents."""
    return values[f"{name} {what}"] / values[f"{name} cases"]


def relation_accuracy(values: Values, choice: Values, name: str, what: str = "right") -> float:
    """The accuracy of the head (or with ``"offsets"`` of the offset) that is best."""
    best = int(relation_accuracies(choice, name, what).argmax())
    return float(relation_accuracies(values, name, what).flat[best])


def relation_gain(values: Values, choice: Values, name: str) -> float:
    """Accuracy of the best head minus that of the best offset."""
    return relation_accuracy(values, choice, name) - relation_accuracy(values, choice, name, "offsets")


def largest_relation_gain(values: Values, choice: Values) -> float:
    """The gain on the row of Table 1 where it is largest, of those with `LEAST_CASES` cases on each half."""

    def often(means, name) -> bool:
        return f"{name} cases" in means and means.total(f"{name} cases") >= LEAST_CASES

    def chosen_gain(name) -> float:
        return relation_accuracies(choice, name).max() - relation_accuracies(choice, name, "offsets").max()

    known = [name for name in published_table_1() if name != "all" and often(choice, name)]
    if len(known) < 5:
        raise CannotDecide(f"fewer than five relations of Table 1 occur {LEAST_CASES} times")
    chosen = max(known, key=chosen_gain)
    if not often(values, chosen):
        raise CannotDecide(f"{chosen} occurs fewer than {LEAST_CASES} times on the half that reports")
    return relation_gain(values, choice, chosen)


# --- lesson 07: a head against rules -----------------------------------------------------------------------------
def antecedent_accuracies(values: Values, predictor: str, kind: str = "all") -> np.ndarray:
    """Right answers by cases; the means' denominators cancel, since both count the same documents."""
    return values[f"{kind} {predictor}"] / values[f"{kind} cases"]


def head_minus_rule(values: Values, choice: Values, rule: str, kind: str = "all") -> float:
    """Accuracy of the head that is best for all mentions, minus that of a rule."""
    best = int(antecedent_accuracies(choice, "mentions").argmax())
    head = float(antecedent_accuracies(values, "mentions", kind).flat[best])
    return head - float(antecedent_accuracies(values, rule, kind))


def rule_minus_head(values: Values, choice: Values, rule: str, kind: str = "all") -> float:
    return -head_minus_rule(values, choice, rule, kind)


# --- lesson 08: probes ---------------------------------------------------------------------------------------------
def attachment_gain(values: Values, choice: Values, name: str, over: str) -> float:
    """UAS of one predictor minus that of another: right words by words, over the same sentences."""
    scores = [float(values[f"{one} right"] / values["words"]) for one in (name, over)]
    return scores[0] - scores[1]


def rule_minus_probe(values: Values, choice: Values, negatives: str) -> float:
    """On pairs of words: accuracy of the signed-distance rule minus that of the probe."""
    rule, probe = (
        float(values[f"{negatives} {name}"] / values[f"{negatives} pairs"]) for name in ("rule", "probe")
    )
    return rule - probe


# --- lesson 09: families ---------------------------------------------------------------------------------------------
def closer(distances, groups) -> float:
    """By which share the mean distance within groups is smaller than between them; CannotDecide without pairs."""
    try:
        found = group_test(distances, groups, permutations=0)
    except ValueError as reason:
        raise CannotDecide(str(reason)) from None
    return found.difference / found.between if found.between > 0 else 0.0


def nearest_minus_chance(distances, n_layers: int, n_heads: int) -> float:
    """Share of heads whose nearest head is of their own layer, minus what chance gives."""
    heads = n_layers * n_heads
    if n_layers < 2 or n_heads < 2:
        raise CannotDecide("it takes two layers of two heads to compare")
    others = np.asarray(distances) + np.where(np.eye(heads, dtype=bool), np.inf, 0)
    own = others.argmin(axis=1) // n_heads == np.arange(heads) // n_heads
    return float(own.mean()) - (n_heads - 1) / (heads - 1)


def layers_closer(values: Values, choice: Values) -> float:
    """1 - mean distance within layers / between layers."""
    n_layers, n_heads = values["sep"].shape
    return closer(values["distance"], np.repeat(np.arange(n_layers), n_heads))


def nearest_of_own_layer(values: Values, choice: Values) -> float:
    return nearest_minus_chance(values["distance"], *values["sep"].shape)


def share_labelled(values: Values, choice: Values, *labels: str) -> float:
    """Share of heads with one of the labels, by their means over texts."""
    return float(np.isin(behaviour_labels({name: values[name] for name in THRESHOLDS}), labels).mean())


def map_stress(values: Values, choice: Values) -> float:
    """Stress of the map, from that of the texts that choose a few steps towards that of these texts: an upper bound."""
    distances = np.ascontiguousarray(choice["distance"], dtype=float)
    begin = _map_of(distances.tobytes(), len(distances))
    return metric_mds(values["distance"], begin=begin, max_iter=MAP_STEPS).stress


@lru_cache(maxsize=8)
def _map_of(content: bytes, heads: int) -> np.ndarray:
    """The same for every sample of the texts that report, so it is made once."""
    return metric_mds(np.frombuffer(content).reshape(heads, heads)).points


# --- lesson 10: layers -------------------------------------------------------------------------------------------------
def f1_rise(values: Values, choice: Values, task: str) -> float:
    """What the best layer so far, chosen on training documents, adds to the F1 of the embeddings."""
    f1 = micro_f1(*np.moveaxis(values[task], -1, 0))
    return float(f1[-1] - f1[0])


# --- lesson 11: without heads, as a share of the loss with all heads on --------------------------------------------------
def layer_over_its_heads(values: Values, choice: Values) -> float:
    """Cost of a layer minus the summed cost of its heads, mean over layers."""
    return float((values["layer"] - values["zero"].sum(axis=1)).mean() / values["loss"])


def slope_and_cost(values: Values, choice: Values) -> float:
    """Correlation over heads of -dL/dxi with the true cost."""
    predicted, true = -values["signed"].ravel(), values["zero"].ravel()
    if np.ptp(predicted) == 0 or np.ptp(true) == 0:
        raise CannotDecide("all heads have the same effect")
    return float(np.corrcoef(predicted, true)[0, 1])


def loss_added(values: Values, choice: Values, order: str, share: float) -> float:
    """The loss added when that share of the heads is off."""
    return values[order][SHARES.index(share)] / values["loss"]


# --- lesson 12: key words, AUC ------------------------------------------------------------------------------------------
def best_head_over(values: Values, choice: Values, rule: str) -> float:
    """AUC of the head that has the highest, minus that of a rule."""
    return float(best_head(values, choice, "mean")) - float(values[rule])


def fit_over(values: Values, choice: Values, name: str, rival: str) -> float:
    """AUC of one fitted score minus that of another, both on the same texts."""
    return float(values[name] - values[rival])


def loss_saved(values: Values, choice: Values, name: str) -> float:
    """Share of the prior's cross-entropy that a score saves."""
    return float(1 - values[f"{name} loss"] / values["prior loss"])


# --- lesson 14: before and after fine-tuning --------------------------------------------------------------------------------
def cue_f1(values: Values, condition: str) -> np.ndarray:
    """F1 of every head, mean over seeds: shape (layer, head)."""
    scope = values["another_scope" if condition == "another" else "scope"]
    return f1_of(values[f"{condition}_hits"], values[f"{condition}_pointing"], scope).mean(axis=0)


def mean_cue_f1(values: Values, choice: Values, one: str, other: str) -> float:
    """Mean F1 over heads in one condition minus that in another."""
    return float(cue_f1(values, one).mean() - cue_f1(values, other).mean())


def cue_over_another_word(values: Values, choice: Values) -> float:
    """F1 of the head that is best before tuning, minus the same with another word as the cue."""
    best = int(cue_f1(choice, "before").argmax())
    return float(cue_f1(values, "before").flat[best] - cue_f1(values, "another").flat[best])
