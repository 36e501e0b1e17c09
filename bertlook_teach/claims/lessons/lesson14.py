"""Lesson 14: what fine-tuning changes. Kovaleva et al. (2019), Table 1 and Figure 5; Zhao and Bethard (2020)."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from ...analyses.finetuning import match_heads
from ...analyses.negation import f1_of
from ...published import (
    KOVALEVA_TASKS,
    published_cosines,
    published_gains,
    published_head_f1,
    published_mean_f1,
    published_number,
)
from ...stats import CannotDecide, kendall
from ..claim import Claims, Values
from ..collectors.lesson14 import against, changes, cues, example, measured  # noqa: F401 - decks ask their lesson

KOVALEVA, ZHAO, COURSE = "Kovaleva et al. 2019", "Zhao & Bethard 2020", "This course"

CONDITIONS = ("before", "negation", "control")


EVIDENCE = {"cues before and after": cues, "maps before and after": changes}


# --- statistics ----------------------------------------------------------------------------------------
def f1(values: Values, condition: str) -> np.ndarray:
    """F1 of every head, mean over seeds: shape (layer, head)."""
    scope = values["another_scope" if condition == "another" else "scope"]
    return f1_of(values[f"{condition}_hits"], values[f"{condition}_pointing"], scope).mean(axis=0)


def mean_f1_minus(one: str, other: str):
    return lambda values, choice=None: float(f1(values, one).mean() - f1(values, other).mean())


def largest(values) -> tuple[int, int]:
    """Layer and head of the largest number; of equals the first."""
    return np.unravel_index(int(np.argmax(values)), np.shape(values))


def best_of(condition: str, choice: Values) -> tuple[int, int]:
    return largest(f1(choice, condition))


def best_gains(one: str, other: str):
    """F1 of the best head after negation, chosen on other sentences; in one condition minus the other."""

    def statistic(values: Values, choice: Values) -> float:
        best = best_of("negation", choice)
        return float(f1(values, one)[best] - f1(values, other)[best])

    return statistic


def halves_agree(condition: str):
    """Kendall's tau over heads between the sentences that report and those that choose."""
    return lambda values, choice: _tau(f1(values, condition), f1(choice, condition))


def _tau(one, other) -> float:
    try:
        return kendall(one, other)
    except ValueError as reason:
        raise CannotDecide(str(reason)) from None


def late_minus_early(quantity: str):
    """Mean over the last third of the layers minus mean over the first third."""

    def statistic(values: Values, choice: Values | None = None) -> float:
        layers = values[quantity].mean(axis=(0, 2))
        if len(layers) < 2:
            raise CannotDecide("a model of one layer has no early and late layers")
        third = max(1, len(layers) // 3)
        return float(layers[-third:].mean() - layers[:third].mean())

    return statistic


# --- what was published --------------------------------------------------------------------------------
def _cosine_layers(pick: str) -> str:
    layers = np.array([published_cosines(task).mean(axis=1) for task in KOVALEVA_TASKS])
    if pick == "first":
        return f"{layers[:, 0].min():.2f} to {layers[:, 0].max():.2f}"
    late, early = layers[:, -4:].mean(), layers[:, :4].mean()
    return f"{early:.2f} early, {late:.2f} late"


def _ahead(both: Callable[[], tuple[float, float]], digits: int = 3) -> dict:
    """The first of two published numbers minus the second, and both: fields of a claim."""
    return {
        "published": lambda: f"{both()[0] - both()[1]:+.{digits}f}",
        "original": lambda: "{:.{d}f} against {:.{d}f}".format(*both(), d=digits),
        "exactness": "D",
    }


def _mean_f1(one: str, other: str) -> dict:
    return _ahead(lambda: (published_mean_f1(one), published_mean_f1(other)))


def _best_f1(one: str, other: str) -> dict:
    """Of the head that is best before tuning, or best in ``one``."""

    def both() -> tuple[float, float]:
        heads = {name: published_head_f1(name) for name in (one, other)}
        at = np.unravel_index(heads["pretrained" if "pretrained" in heads else one].argmax(), (12, 12))
        return heads[one][at], heads[other][at]

    return _ahead(both) | {"published": lambda: f"{both()[0] - both()[1]:+.2f}"}


def _tau_printed(condition: str) -> float:
    name = f"Kendall tau of head F1 between the two corpora, {condition}"
    return published_number("zhao_bethard_negation", name)


def _precision_recall() -> tuple[float, float]:
    return tuple(published_mean_f1("pretrained", measure=m) for m in ("precision", "recall"))


def _rich() -> str:
    return f"{published_number('zhao_bethard_negation', 'Kendall tau pretrained F1 vs gain (rich get richer)'):.3f}"


def _large() -> str:
    numbers = [
        published_number("zhao_bethard_negation", f"bert-large story, {c}: mean F1 over heads")
        for c in ("neg", "control")
    ]
    return "{:.3f} against {:.3f}".format(*(n / 100 for n in numbers))


def _gain() -> str:
    better = [row for row in published_gains() if row.tuned > row.random_tuned]
    return f"{len(better)} of {len(published_gains())} tasks"


# --- the claims ------------------------------------------------------------------------------------------


claim = Claims("14", EVIDENCE, source=ZHAO, evidence="cues before and after")


@claim(
    key="pretraining-pays",
    sentence="Tuning a pretrained model beats tuning a random one",
    source=KOVALEVA,
    section="Table 1",
    original=_gain,
    exactness="P",
    operational="F1 of words told to be in a scope, minus calling every word so",
    refuted_if="no better than calling every word in",
    threshold=0.02,
)
def tags_over_all_in(values: Values, choice: Values | None = None) -> float:
    told = f1_of(values["told_hits"], values["told_in"], values["scope"]).mean()
    return float(told - f1_of(values["scope"], values["words"], values["scope"]))


claim(
    key="last-layers-change",
    sentence="The last layers change most",
    source=KOVALEVA,
    section="Figure 5",
    original=lambda: f"cosines {_cosine_layers('thirds')}",
    exactness="A",
    operational="divergence before/after, last third of the layers minus first, nats",
    refuted_if="no more change at the end than at the beginning",
    evidence="maps before and after",
    threshold=0.002,
    statistic=late_minus_early("js_negation"),
)
claim(
    key="last-layers-control",
    sentence="They do so whatever is learnt",
    source=COURSE,
    operational="the same for the control task",
    refuted_if="no more change at the end than at the beginning",
    evidence="maps before and after",
    threshold=0.002,
    statistic=late_minus_early("js_control"),
)


@claim(
    key="first-layer-stays",
    sentence="The first layer hardly changes",
    source=KOVALEVA,
    section="Figure 5",
    published=lambda: _cosine_layers("first"),
    exactness="A",
    operational="cosine before/after, mean of layer 1",
    refuted_if="a cosine of .9 or less",
    evidence="maps before and after",
    threshold=0.9,
    control=False,
)
def first_layer(values: Values, choice: Values | None = None) -> float:
    return float(values["cosine_negation"][:, 0].mean())


@claim(
    key="cosine-has-a-floor",
    sentence="A high cosine need not mean the same head",
    source=COURSE,
    operational="cosine of a head after with the other heads of its layer before",
    refuted_if="other heads below .5",
    evidence="maps before and after",
    threshold=0.5,
    control=False,
)
def floor(values: Values, choice: Values | None = None) -> float:
    if values["floor_negation"].shape[-1] < 2:
        raise CannotDecide("a layer of one head has no other heads")
    return float(values["floor_negation"].mean())


@claim(
    key="heads-keep-names",
    sentence="Tuned heads are still nearest to themselves",
    source=COURSE,
    operational="share of heads that the best pairing before/after gives to themselves",
    refuted_if="four fifths or fewer",
    evidence="maps before and after",
    threshold=0.8,
    control=False,
)
def keeps_names(values: Values, choice: Values | None = None) -> float:
    partners = match_heads(values["cross_negation"])
    return float((partners == np.arange(len(partners))).mean())


@claim(
    key="negation-moves-more",
    sentence="Negation changes maps more than the control does",
    source=COURSE,
    operational="divergence after negation over that after the control",
    refuted_if="no more than the control",
    evidence="maps before and after",
    threshold=0.05,
    origin=1.0,
)
def negation_moves_more(values: Values, choice: Values | None = None) -> float:
    control = values["js_control"].mean()
    if control <= 0:
        raise CannotDecide("the control changed nothing")
    return float(values["js_negation"].mean() / control - 1)


@claim(
    key="cls-to-sep",
    sentence="After tuning [CLS] of the last layer looks at [SEP] most",
    source=KOVALEVA,
    section="attention to [CLS] and [SEP]",
    operational="share of [CLS]'s attention to [SEP] minus . and ,, last layer",
    refuted_if="no more than to punctuation",
    evidence="maps before and after",
    threshold=0.05,
    erratum="not on STS-B, RTE and QNLI",
)
def cls_prefers_sep(values: Values, choice: Values | None = None) -> float:
    return float((values["cls_to_sep"] - values["cls_to_punct"]).mean())


@claim(
    key="heads-find-cues",
    sentence="A head finds the cue before any tuning",
    section="released scores",
    original=lambda: f"F1 {published_head_f1('pretrained').max():.3f}, best of 144",
    exactness="D",
    operational="F1 of the head chosen on other sentences, minus the same with another word as the cue",
    refuted_if="no more than for another word",
    threshold=0.05,
)
def best_over_another(values: Values, choice: Values) -> float:
    best = best_of("before", choice)
    return float(f1(values, "before")[best] - f1(values, "another")[best])


@claim(
    key="precision",
    sentence="Precision is far above recall",
    section="released scores",
    **_ahead(_precision_recall, 2),
    operational="precision minus recall, mean over heads, before tuning",
    refuted_if="a difference of .1 or less",
    threshold=0.1,
)
def precision_over_recall(values: Values, choice: Values | None = None) -> float:
    hits, pointing = values["before_hits"][0], values["before_pointing"][0]
    precision = np.divide(hits, pointing, out=np.zeros_like(hits), where=pointing > 0)
    return float(precision.mean() - (hits / values["scope"]).mean())


claim(
    key="negation-helps",
    sentence="Tuned on negation, heads find cues better than before",
    section="released scores",
    **_mean_f1("neg", "pretrained"),
    operational="mean F1 over heads after negation minus before",
    refuted_if="no better than before",
    threshold=0.005,
    statistic=mean_f1_minus("negation", "before"),
)
claim(
    key="negation-over-control",
    sentence="... and better than tuned on a control",
    section="released scores",
    **_mean_f1("neg", "control"),
    operational="mean F1 over heads after negation minus after the control",
    refuted_if="no better than the control",
    threshold=0.005,
    statistic=mean_f1_minus("negation", "control"),
)


@claim(
    key="control-changes-nothing",
    sentence="The control leaves the score where it was",
    section="released scores",
    published=lambda: f"{abs(published_mean_f1('control') - published_mean_f1('pretrained')):.3f}",
    original=_mean_f1("control", "pretrained")["original"],
    exactness="D",
    operational="distance of the mean F1 after the control from that before",
    refuted_if="a change of .01 or more",
    threshold=-0.01,
    below=True,
    control=False,
)
def control_moves(values: Values, choice: Values | None = None) -> float:
    return -abs(mean_f1_minus("control", "before")(values))


claim(
    key="best-head-gains",
    sentence="The best head gains from negation",
    section="released scores",
    **_best_f1("neg", "pretrained"),
    operational="F1 after negation minus before, head chosen after negation on other sentences",
    refuted_if="no gain",
    threshold=0.02,
    statistic=best_gains("negation", "before"),
)
claim(
    key="best-head-over-control",
    sentence="... and not from the control",
    section="released scores",
    **_best_f1("neg", "control"),
    operational="F1 after negation minus after the control, the same head",
    refuted_if="no more than the control",
    threshold=0.02,
    statistic=best_gains("negation", "control"),
)
claim(
    key="halves-agree",
    sentence="Two corpora rank the heads alike",
    section="notebook output",
    published=lambda: f"{_tau_printed('pretrained'):.3f}",
    exactness="O",
    operational="Kendall's tau over heads between two halves of the sentences",
    refuted_if="a tau of .2 or less",
    threshold=0.2,
    control=False,
    statistic=halves_agree("before"),
)


@claim(
    key="agreement-rises",
    sentence="Tuning on negation makes them agree more",
    section="notebook output",
    **_ahead(lambda: (_tau_printed("neg"), _tau_printed("control"))),
    operational="tau after negation minus tau after the control",
    refuted_if="no more than after the control",
    threshold=0.02,
)
def agreement_rises(values: Values, choice: Values) -> float:
    return halves_agree("negation")(values, choice) - halves_agree("control")(values, choice)


@claim(
    key="rich-get-richer",
    sentence="Heads that were good gain most",
    section="notebook output",
    published=_rich,
    exactness="O",
    operational="Kendall's tau of F1 before (on other sentences) and the gain",
    refuted_if="a tau of .1 or less",
    threshold=0.1,
    erratum="significant in 5 of 10 runs",
)
def rich_get_richer(values: Values, choice: Values) -> float:
    """Kendall's tau of F1 before (on other sentences, or noise would be on both sides) and the gain."""
    return _tau(f1(choice, "before"), f1(values, "negation") - f1(values, "before"))


claim(
    key="large-no-better",
    sentence="Large models gain as much from the control",
    section="notebook output",
    published=_large,
    exactness="O",
    operational="needs models of 24 layers, tuned ten times each",
    refuted_if="negation above the control",
    statistic=None,
)


CLAIMS = tuple(claim)
