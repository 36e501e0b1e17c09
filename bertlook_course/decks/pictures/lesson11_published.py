"""What the slides of lesson 11 show of heads that others took away, as published, and of larger models in docs/results.md."""

from __future__ import annotations

import numpy as np

from bertlook_teach import head_label
from bertlook_teach.views import Picture

from ...analyses.ablation import best_gain_by_chance, parameter_count
from ...published import (
    measured,
    published_baseline,
    published_disabled_heads,
    published_masking,
    published_number,
    published_prunable,
    published_wmt_heads,
    published_wmt_significant,
    read_published,
)
from ...render import (
    Estimate,
    TextTable,
    chance_band_figure,
    chance_figure,
    figure_picture,
    heat_figure,
    pruning_figure,
    signed_gain,
)
from ..common import letter

_COLOUR = (
    0.05  # points about the baseline within which a colour does not tell rise from fall (data/published)
)
MRPC_ANSWERS = 586  # F1 of MRPC = 2 x hits / (pairs said to be paraphrases + pairs that are) = 532 / 586


def bleu_picture() -> Picture:
    """BLEU lost by a translation model without each of its encoder heads."""
    lost = -published_wmt_heads()
    return figure_picture(
        heat_figure({"": lost}, size=(9.8, 3.2), framed=published_wmt_significant()),
        f"BLEU lost without one encoder head, {lost.min():+.2f} to {lost.max():+.2f}. Blue: useful; brown: better without it; a "
        "sign: a large change. Framed: significant at p < .01.",
    )


def chance_picture(n_items: int) -> Picture:
    """The best of twelve gains on as many items as RTE has when no layer matters, beside the gain that was published."""
    gain = published_number("kovaleva_layer_disabling_and_summary", "RTE gain from disabling layer 1")
    flips = {
        f"{100 * share:.0f} % of the answers flip": best_gain_by_chance(n_items, 12, changed=share)
        for share in (0.05, 0.1, 0.2)
    }
    twentieth, tenth, fifth = (chance_of_gain(n_items, 12, gain, changed=share) for share in (0.05, 0.1, 0.2))
    return figure_picture(
        chance_figure(flips, gain, xlabel="best of 12 gains when nothing matters, points"),
        f"{letter(tenth, (0.003, 0.03, 0.2))}: {gain:.1f} points or more in {100 * tenth:.0f} % of cases if a tenth of the {n_items} answers "
        f"flips; in {100 * twentieth:.0f} % if a twentieth does, in {100 * fifth:.0f} % if a fifth. Curves: simulated, 10,000 runs.",
    )


def chance_of_gain(n_items: int, tries: int, gain: float, *, changed: float) -> float:
    """How often the best of several independent tries gains so many points where nothing matters: computed, not simulated.

    Each answer becomes right or wrong with half of the chance ``changed``; what is added to all answers has the coefficients of a power.

    >>> round(chance_of_gain(1, 1, 100, changed=0.5), 3), round(chance_of_gain(2, 2, 100, changed=1), 4)
    (0.25, 0.4375)
    """
    sums = np.polynomial.polynomial.polypow([changed / 2, 1 - changed, changed / 2], n_items)
    least = int(np.ceil(gain * n_items / 100 - 1e-9))
    return float(1 - (1 - sums[n_items + least :].sum()) ** tries)


def masking_question() -> str:
    """On which of two tasks is the change without a head larger, on which surer?"""
    mnli, mrpc = published_masking("MNLI"), published_masking("MRPC")
    return (
        f"**Predict:** {mnli.one_off.size} heads off, one at a time: accuracy on **{mnli.n:,}** items (MNLI), F1 on "
        f"**{mrpc.n}** (MRPC). Which task has the larger change, and which the surer one?"
    )


def masking_picture() -> Picture:
    """The published changes on two tasks without each head, and how far chance alone reaches."""
    panels, said, sizes = {}, [], {}  # of each task; its largest change, and that in bands of chance
    for task in ("MNLI", "MRPC"):
        scores = published_masking(task)
        one_answer = (
            1 / MRPC_ANSWERS if task == "MRPC" else 1 / scores.n
        )  # what one answer moves the score by
        points, reach = 100 * (scores.one_off - scores.base), {}
        for flipped in (0.05, 0.1):
            lucky = best_gain_by_chance(scores.n, points.size, changed=flipped, runs=2000)
            reach[f"chance, {100 * flipped:.0f} % flip"] = (
                float(np.quantile(lucky, 0.975)) * scores.n * one_answer
            )
        panels[f"{task}, {scores.metric}, n = {scores.n:,}"] = (points, reach)
        largest = points.flat[np.abs(points).argmax()]
        order = np.argsort(points, axis=None)
        far = [i for i in order if abs(points.flat[i]) > max(reach.values())]
        names = ", ".join(head_label(*map(int, np.unravel_index(i, points.shape))) for i in far) or "none"
        said.append(f"{task} {names}")
        sizes[task] = largest, abs(largest) / max(reach.values())
    larger, surer = (max(sizes, key=lambda task: abs(sizes[task][k])) for k in (0, 1))
    both = f"{larger} has the larger change ({signed_gain(sizes[larger][0], 2)}), {surer} the surer one ({signed_gain(sizes[surer][0], 2)})"
    return figure_picture(
        chance_band_figure(panels, ylabel="change, points"),
        f"{both}. Outside the wide band: {'; '.join(said)}. A rerun of Michel et al. by others: heads masked, one fine-tuned BERT-base for "
        "each task.",
    )


def agreement_picture() -> Picture:
    """Accuracy on the course's task *agreement* as more and more heads go, in two orders and three seeds, from docs/results.md."""
    seeds, orders = measured("tasks: seeds"), ("least", "most")
    off = np.array([int(seeds.values(row)[0]) for row in seeds.rows])  # of 36; n = 480; accuracy in per cent
    panels, some = {}, off[1]
    for seed in range(3):
        columns = {f"{which} important first": f"{which} important first, seed {seed}" for which in orders}
        panels[f"seed {seed}"] = {
            name: tuple(np.transpose([seeds.value(row, column) for row in seeds.rows]))
            for name, column in columns.items()
        }
    kept = {which: [panel[f"{which} important first"][0][1] for panel in panels.values()] for which in orders}
    least, most = (", ".join(f"{value:.0f}" for value in values) for values in kept.values())
    worse = sum(first < last for first, last in zip(kept["most"], kept["least"]))
    _, low, high = measured("tasks").values("agreement", "specimen")
    return figure_picture(
        pruning_figure(off / 36, panels, ylabel="accuracy, %", size=(9.8, 3.7), sharey=True),
        f"Yes, in {('none', 'one', 'two', 'three')[worse]} of three seeds. With {some} of 36 heads off, the specimen's accuracy is {least} % "
        f"(least important first) and {most} % (most important first). The task: is the verb's number right? n = 480; all heads {low:.1f} to {high:.1f} %, the "
        "commoner answer 50 %.",
    )


def agreement_sentence() -> str:
    """What one head alone costs there."""
    one_off, first = measured("tasks: one head"), "agreement (ours), seed 0"
    lost, holm = one_off.value(first, "head that costs most"), int(one_off.value(first, "after Holm").value)
    return (
        f"**One head alone** (seed 0): the costliest, {one_off.head(first, 'head that costs most')}, costs **{-lost.value:.1f} points** [{-lost.high:.1f}, {-lost.low:.1f}]; "
        f"after Holm {holm or 'none'} of the 36 {'is' if holm <= 1 else 'are'} beyond chance."
    )


def heat_picture() -> Picture:
    """What two tasks lose without each head of BERT-base, read off a figure's colours."""
    heat = {
        task: 100 * (published_baseline(task) - published_disabled_heads(task)) for task in ("MRPC", "RTE")
    }
    rises = " and ".join(
        f"{100 * (change < -_COLOUR).mean():.0f} to {100 * (change < _COLOUR).mean():.0f} % of {task}'s"
        for task, change in heat.items()
    )
    said = "; ".join(
        f"{task}: from {-change.min():.1f} gained to {change.max():.1f} lost" for task, change in heat.items()
    )
    return figure_picture(
        heat_figure(heat),
        f"By the printed colours, yes: for {rises} heads; none is tested against chance. Blue: points lost without the head; brown: points gained; "
        f"a sign marks a large change. {said}. Kovaleva et al. 2019, Figure 8: their own tuned models, not those of slide 13.",
    )


def prunable_table() -> TextTable:
    """How many heads can go before a score clearly falls, as published for each model and task."""
    noticed, begins = published_prunable(), "heads prunable: "
    rows = [
        [name, Estimate(100 * noticed[name], form=".0f", after=" %"), "from notes"]
        for name in ("WMT", "BERT MNLI")
    ]
    rows += [
        [
            row.quantity.removeprefix(begins),
            Estimate(float(row.value), form="g", after=" %"),
            "off a figure",
        ]
        for row in read_published("michel_pruning_and_speed")
        if row.quantity.startswith(begins)
    ]
    return TextTable(
        ["model and task", "heads that can go", "how known"],
        rows,
        f"{min(row[1].value for row in rows):.0f} to {max(row[1].value for row in rows):.0f} % before the score clearly falls (Michel "
        "et al. 2019). WMT (a translation model) and MNLI: section 4.2; "
        "the others: read off a figure of their appendix; the authors conclude nothing from them.",
    )


def size_table(deck) -> TextTable:
    """Half of the heads pruned: what it gains in speed, as published, and in parameters on the deck's model."""
    masked = parameter_count(deck.encoder)
    pruned = parameter_count(deck.encoder, without=deck.n_heads // 2)
    rows = []
    for size in (1, 4, 16, 64):
        gain = float(published_number("michel_pruning_and_speed", f"gain, batch {size}"))
        rows.append([f"batch {size}", Estimate(gain, form="+", after=" %")])
    return TextTable(
        ["half of the heads pruned", "faster by"],
        rows,
        "Half of the heads off. BERT, published speed: Michel et al. 2019, Table 4, one GTX 1080 Ti; at batch 1 and 4 the gain is within "
        f"the printed errors. By construction a masked model computes as much as the whole one. {deck.Subject}: {masked:,} parameters masked, {pruned:,} pruned "
        f"({100 * (pruned / masked - 1):+.0f} %). Measure yours: python benchmarks/pruning.py",
    )
