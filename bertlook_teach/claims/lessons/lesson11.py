"""Lesson 11: which heads matter? Michel et al. (2019), Kovaleva et al. (2019), section 4.6.

The published scores are those of fine-tuned models on tasks; what is asked here is asked of the masked-LM loss, for which
every text is labelled. Effects are changes of the loss in nats a piece, given as a share of the loss with all heads on where
they are compared with a line.
"""

from __future__ import annotations

import numpy as np

from ...published import read_published
from ...stats import CannotDecide
from ..claim import Claims, Values
from ..collectors.lesson11 import (  # noqa: F401 - decks ask their lesson
    DRAWS,
    RANKED_ON,
    SHARES,
    class_resources,
    effects,
    kept,
    measured,
    on_agreement,
    per_layer,
    pruning,
    script_by_order,
    versions,
)
from .statistics import rank_agreement

MICHEL, KOVALEVA, COURSE = "Michel et al. 2019", "Kovaleva et al. 2019", "This course"

NOTICED = 0.01  # of the loss with all heads on: a smaller change nobody would notice

ORDERS = ("worst", "best", "random")


EVIDENCE = {
    "head effects": effects,
    "pruning curves": pruning,
    "one head kept": kept,
}


# --- statistics ----------------------------------------------------------------------------------------


def gain_without(how: str):
    """Share of the loss saved without the head whose removal helps most where heads are chosen."""
    return lambda values, choice: -values[how].flat[int(choice[how].argmin())] / values["loss"]


def pruned(order: str, share: float):
    """Minus the share of the loss added when that share of the heads is off."""
    step = SHARES.index(share)
    return lambda values, choice: -values[order][step] / values["loss"]


def ranking_saves(share: float):
    """What a ranking saves against a random order, as a share of the loss, when that share of the heads is off."""
    step = SHARES.index(share)
    return lambda values, choice: (values["random"][step] - values["worst"][step]) / values["loss"]


# --- what was published --------------------------------------------------------------------------------
def _table1() -> tuple[np.ndarray, np.ndarray]:
    """BLEU changes of the 96 heads, and which of them are significant."""
    rows = [row for row in read_published("michel_table1_wmt_single_head") if row.head.isdecimal()]
    return np.array([float(row.value) for row in rows]), np.array(["significant" in row.note for row in rows])


def _unnoticed() -> str:
    _, significant = _table1()
    return f"{(~significant).mean():.2f}, {(~significant).sum()} of {len(significant)} (translation)"


def _better() -> str:
    change, significant = _table1()
    return f"{(significant & (change > 0)).sum()} of {len(change)} (translation)"


def _most_costly() -> str:
    change, _ = _table1()
    return f"{change.min():+.2f} BLEU (translation)".replace("-", "−")


def _number(table: str, quantity: str) -> str:
    found = {row.value for row in read_published(table) if row.quantity == quantity}
    if len(found) != 1:
        raise KeyError(
            f"the published table {table!r} has {len(found)} values for {quantity!r}; one was expected."
        )
    return found.pop()


def _worst_kept() -> str:
    rows = [row for row in read_published("michel_one_head_per_layer_bert") if row.section == "Table 3"]
    return f"{min(float(row.value) for row in rows):.2f} points (MNLI)".replace("-", "−")


def _gains() -> str:
    name = "gain from disabling one head, {} over tasks ({})"
    table = "kovaleva_layer_disabling_and_summary"
    low, high = (_number(table, name.format(*w)) for w in (("smallest", "STS-B"), ("largest", "MRPC")))
    return f"+{low} to +{high} points"


def _prunable(system: str) -> str:
    share = _number("michel_pruning_and_speed", f"heads prunable with no noticeable loss: {system}")
    return f"{share} % of the heads with no noticeable loss"


def _layer_1() -> str:
    return (
        f"+{_number('kovaleva_layer_disabling_and_summary', 'RTE gain from disabling layer 1')} points (RTE)"
    )


def _speed(batch: int) -> str:
    return f"+{_number('michel_pruning_and_speed', f'gain, batch {batch}')} %"


# --- the claims ------------------------------------------------------------------------------------------


claim = Claims("11", EVIDENCE, source=MICHEL, evidence="head effects")


@claim(
    key="most-unnoticed",
    sentence="Most heads can go without being missed",
    section="3.2, Table 1",
    published=_unnoticed,
    exactness="P",
    operational="share of heads without which the masked-LM loss rises by less than 1 %",
    refuted_if="half of the heads or fewer",
    threshold=0.5,
    control=False,
)
def share_unnoticed(values: Values, choice: Values | None = None) -> float:
    return float((values["zero"] < NOTICED * values["loss"]).mean())


@claim(
    key="few-are-dear",
    sentence="A few heads cannot be removed without loss",
    section="3.2, Table 1",
    original=_most_costly,
    exactness="P",
    operational="share of the loss that the most costly head costs, chosen on other texts",
    refuted_if="no head that costs a hundredth of the loss",
    threshold=NOTICED,
)
def most_costly_head(values: Values, choice: Values) -> float:
    return values["zero"].flat[int(choice["zero"].argmax())] / values["loss"]


claim(
    key="better-without",
    sentence="Some heads are better removed",
    section="3.2, Table 1",
    original=_better,
    exactness="P",
    operational="share of the loss saved without the head that helps most to remove, chosen on other texts",
    refuted_if="nothing saved on texts that did not choose",
    threshold=0.001,
    statistic=gain_without("zero"),
)
claim(
    key="disabling-gains",
    sentence="Disabling one head helps on every task",
    source=KOVALEVA,
    section="4.6",
    original=_gains,
    exactness="N",
    operational="the same with uniform attention instead of none",
    refuted_if="nothing saved on texts that did not choose",
    threshold=0.001,
    erratum="best of 144",
    statistic=gain_without("uniform"),
)


@claim(
    key="random-head-helps",
    sentence="Even a random head, disabled, helps on average",
    source=KOVALEVA,
    section="4.6",
    operational="share of the loss saved, mean over heads, one at a time uniform",
    refuted_if="a loss on average",
    threshold=0.001,
    erratum="MRPC and RTE only",
)
def mean_gain(values: Values, choice: Values | None = None) -> float:
    return -values["uniform"].mean() / values["loss"]


claim(
    key="rte-without-layer-1",
    sentence="RTE gains 3.2 points without layer 1",
    source=KOVALEVA,
    section="4.6",
    published=_layer_1,
    exactness="N",
    operational="needs a model tuned on RTE, and more than 277 examples",
    refuted_if="no gain on other examples of the task",
    statistic=None,
)


@claim(
    key="one-head-is-enough",
    sentence="One head in each layer is enough",
    section="3.3, Table 3",
    original=_worst_kept,
    exactness="N",
    operational="share of the loss added where it hurts most, best head of each layer chosen on other sentences",
    refuted_if="a layer whose best head leaves the loss 1 % higher",
    evidence="one head kept",
    threshold=-NOTICED,
    below=True,
    control=False,
)
def best_kept(values: Values, choice: Values) -> float:
    best = choice["kept"].argmin(axis=1)
    return -values["kept"][range(len(best)), best].max() / values["loss"]


@claim(
    key="safety-net",
    sentence="Heads of a layer stand in for each other",
    source=COURSE,
    operational="cost of a layer minus the summed cost of its heads, share of the loss, mean over layers",
    refuted_if="a layer costs no more than its heads one by one",
    threshold=0.005,
)
def more_than_its_heads(values: Values, choice: Values | None = None) -> float:
    return float((values["layer"] - values["zero"].sum(axis=1)).mean() / values["loss"])


@claim(
    key="mask-or-uniform",
    sentence="Zero or uniform: the same heads come out",
    source=COURSE,
    operational="rank correlation over heads of the two costs",
    refuted_if="a correlation of .8 or less",
    threshold=0.8,
    control=False,
)
def ways_agree(values: Values, choice: Values | None = None) -> float:
    return rank_agreement(values["zero"], values["uniform"])


@claim(
    key="first-order",
    sentence="One backward pass predicts what a head costs",
    section="4.1",
    operational="correlation over heads of -dL/dxi with the true cost",
    refuted_if="a correlation of .5 or less",
    threshold=0.5,
    control=False,
)
def first_order(values: Values, choice: Values | None = None) -> float:
    predicted, true = -values["signed"].ravel(), values["zero"].ravel()
    if np.ptp(predicted) == 0 or np.ptp(true) == 0:
        raise CannotDecide("all heads have the same effect")
    return float(np.corrcoef(predicted, true)[0, 1])


@claim(
    key="importance-finds",
    sentence="I_h finds the heads that cost",
    section="4.1",
    operational="cost of the third with most I_h (on other texts) minus that of the rest, nats",
    refuted_if="no more than the others",
    threshold=0.005,
)
def importance_finds(values: Values, choice: Values) -> float:
    ranked = choice["paper"].ravel().argsort()[::-1]
    third = max(1, len(ranked) // 3)
    cost = values["zero"].ravel()
    return float(cost[ranked[:third]].mean() - cost[ranked[third:]].mean())


@claim(
    key="script-agrees",
    sentence="Absolute value before or after the mean: no matter",
    source=COURSE,
    operational="rank correlation of I_h with the version of a widely used script, all texts in one batch",
    refuted_if="a correlation of .9 or less",
    threshold=0.9,
    control=False,
)
def script_agrees(values: Values, choice: Values | None = None) -> float:
    """Rank correlation of the mean of |dL/dxi| with |the mean of dL/dxi|, each divided by its layer's norm."""
    return rank_agreement(per_layer(values["paper"]), per_layer(np.abs(values["signed"])))


claim(
    key="prune-40",
    sentence="Two fifths of BERT's heads can be pruned",
    section="4.2, Figure 3",
    original=lambda: _prunable("BERT MNLI"),
    exactness="N",
    operational="share of the loss added, ranked on other texts",
    refuted_if="a loss 1 % higher",
    evidence="pruning curves",
    threshold=-NOTICED,
    below=True,
    control=False,
    statistic=pruned("worst", 0.4),
)
claim(
    key="ranking-saves",
    sentence="The ranking is worth having",
    section="4.2, Figure 3",
    operational="share of the loss saved against random orders, two fifths of the heads off",
    refuted_if="no better than random",
    evidence="pruning curves",
    threshold=0.005,
    statistic=ranking_saves(0.4),
)
claim(
    key="faster",
    sentence="Half of the heads pruned makes BERT faster",
    section="4.3, Table 4",
    published=lambda: f"{_speed(1)} to {_speed(64)}",
    exactness="N",
    operational="the benchmarks measure speed, not the ledger",
    refuted_if="no more examples a second",
    statistic=None,
)


CLAIMS = tuple(claim)
