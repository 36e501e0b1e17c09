"""Lesson 05: five kinds of attention map. Kovaleva et al. (2019), what the figure says and what it cannot say here.

Their maps come from BERT-base fine-tuned on GLUE tasks and were classified by a network they trained; ours come from a
model that was not fine-tuned and are classified by a rule. A verdict here is about the sentence on *this* model by *this*
rule; it neither confirms nor refutes their numbers.
"""

from __future__ import annotations

import numpy as np

from ...measures import (
    BLOCK,
    BOTH,
    CLASSES,
    DIAGONAL,
    HETEROGENEOUS,
    VERTICAL,
    published_fractions,
)
from ...model import head_label
from ...published import read_published
from ...stats import CannotDecide
from ..claim import Claims
from ..collectors.lesson05 import features, maps
from .statistics import best_head

KOVALEVA = "Kovaleva et al. 2019"

AS_READ = "read off a raster figure, good to .004"


EVIDENCE = {"05-maps": maps, "05-features": features}


# --- statistics ----------------------------------------------------------------------------------------
def share(kind: str, *codes: int):
    """Share of all maps that are in one of the classes."""
    return lambda values, choice: values[kind][list(codes)].mean(axis=(1, 2)).sum()


def at_most(kind: str, code: int):
    return lambda values, choice: -share(kind, code)(values, choice)


def over_chance(quantity: str):
    """The head with most over its chance level, chosen on the other inputs."""

    def statistic(values, choice):
        head = int((choice[quantity] - choice[f"{quantity}, chance"]).argmax())
        return (values[quantity] - values[f"{quantity}, chance"]).flat[head]

    return statistic


# --- the published values ------------------------------------------------------------------------------
def published_share(name: str) -> str:
    """Mean of the seven tasks, and the smallest and largest task."""
    table = published_fractions()
    tasks = [shares[CLASSES.index(name)] for task, shares in table.items() if task != "mean"]
    return (
        f"{_short(table['mean'][CLASSES.index(name)])} ({_short(min(tasks), 2)} to {_short(max(tasks), 2)})"
    )


def _ahead(one: str, *others: str) -> str:
    """Mean of the seven tasks, by how much more of one class than of the most frequent of others."""
    mean = dict(zip(CLASSES, published_fractions()["mean"]))
    return f"{mean[one] - max(mean[other] for other in others):+.3f}"


def useful_range() -> tuple[float, float]:
    """The printed range of "potentially useful" maps, of the lowest and the highest task."""
    rows = {row.quantity: float(row.value) for row in read_published("kovaleva_fig2_pattern_classes")}
    return tuple(
        next(value for name, value in rows.items() if name.startswith(f"potentially useful maps, {end}"))
        for end in ("lowest", "highest")
    )


def _useful() -> str:
    return " to ".join(_short(value, 2) for value in useful_range())


def _single_sentence_block() -> str:
    return f"{_short(published_fractions()['SST-2'][BLOCK])} for SST-2"


def cosines() -> dict[str, np.ndarray]:
    """Cosine of the maps before and after fine-tuning: task -> array (layer, head)."""
    found: dict[str, np.ndarray] = {}
    for row in read_published("kovaleva_finetuning_cosine_per_head"):
        task = row.quantity.partition(":")[0]
        found.setdefault(task, np.full((12, 12), np.nan))[int(row.layer) - 1, int(row.head) - 1] = float(
            row.value
        )
    return found


def _last_layers() -> str:
    layers = cosines()["MRPC"].mean(axis=1)
    return f"MRPC {_short(layers[10], 2)}, {_short(layers[11], 2)}; layer 1 {_short(layers[0], 2)}"


def _extreme_cell() -> str:
    table = cosines()
    task = min(table, key=lambda name: table[name].min())
    smallest = table[task].min()
    layer, head = np.unravel_index(table[task].argmin(), table[task].shape)
    return f"{_short(smallest, 2)}, {head_label(layer, head)}, {task}"


def _frame_heads() -> str:
    rows = [row for row in read_published("kovaleva_framenet") if row.head]
    values = sorted(float(row.value) for row in rows)
    return (
        f"{_short(values[0])}, {_short(values[1])}: {' and '.join(f'{row.layer}-{row.head}' for row in rows)}"
    )


def _short(value: float, digits: int = 3) -> str:
    """.325 for 0.325."""
    return f"{value:.{digits}f}".removeprefix("0")


# --- the claims ------------------------------------------------------------------------------------------


claim = Claims("05", EVIDENCE, source=KOVALEVA, evidence="05-maps")


claim(
    key="vertical-third",
    sentence="Over a quarter of all maps are vertical",
    section="4.1, Figure 2",
    published=lambda: published_share("vertical"),
    exactness="A/D",
    operational="share of vertical maps, two paragraphs",
    refuted_if="a share below a quarter",
    threshold=0.25,
    erratum="of maps of fine-tuned models, not of heads",
    statistic=share("pair", VERTICAL),
)


@claim(
    key="heterogeneous-largest",
    sentence="Most maps fit no class",
    section="4.1, Figure 2",
    published=lambda: _ahead("heterogeneous", *(name for name in CLASSES if name != "heterogeneous")),
    original=lambda: f"{published_share('heterogeneous')} heterogeneous",
    exactness="A/D",
    operational="their share minus the next largest",
    refuted_if="another class is larger",
    erratum="not for MRPC and RTE, where vertical is largest",
)
def heterogeneous_lead(values, choice) -> float:
    shares = values["pair"].mean(axis=(1, 2))
    return shares[HETEROGENEOUS] - np.delete(shares, HETEROGENEOUS).max()


claim(
    key="diagonal-few",
    sentence="Few maps are diagonal alone",
    section="4.1, Figure 2",
    published=lambda: published_share("diagonal"),
    exactness="A/D",
    operational="share of diagonal maps",
    refuted_if="a share above a tenth",
    threshold=-0.1,
    below=True,
    control=False,  # a random model has none: the claim is an upper limit, which it is not a surprise to keep
    statistic=at_most("pair", DIAGONAL),
)
claim(
    key="both-more-than-diagonal",
    sentence="Vertical and diagonal at once is more common than diagonal",
    section="4.1, Figure 2",
    published=lambda: _ahead("vertical+diagonal", "diagonal"),
    original=lambda: f"{published_share('vertical+diagonal')} against {published_share('diagonal')}",
    exactness="A/D",
    operational="share of vertical+diagonal maps minus that of diagonal ones",
    refuted_if="diagonal maps are more common",
    erratum="not for QQP",
    statistic=lambda values, choice: (
        share("pair", BOTH)(values, choice) - share("pair", DIAGONAL)(values, choice)
    ),
)
claim(
    key="block-rare",
    sentence="Fewer than one map in ten is a block",
    section="4.1, Figure 2",
    published=lambda: published_share("block"),
    exactness="A/D",
    operational="share of block maps",
    refuted_if="a share above a tenth",
    threshold=-0.1,
    below=True,
    control=False,  # an upper limit again
    statistic=at_most("pair", BLOCK),
)
claim(
    key="block-exists",
    sentence="Some maps of pairs are blocks",
    section="4.1, Figure 2",
    published=lambda: published_share("block"),
    exactness="A/D",
    operational="share of block maps, two paragraphs",
    refuted_if="fewer than one in a hundred",
    threshold=0.01,
    statistic=share("pair", BLOCK),
)
claim(
    key="block-pairs-only",
    sentence="Blocks only with two sentences",
    section="4.1",
    published=_single_sentence_block,
    exactness="A",
    operational="our rule sees no block in one segment",
    refuted_if="a block in a map of one sentence",
    erratum="SST-2 has single sentences",
    statistic=None,
)


@claim(
    key="block-segments",
    sentence="Block heads follow the segments",
    section="4.1",
    operational="best head: block score as two segments minus as one",
    refuted_if="the same score when the two texts are one segment",
    threshold=0.05,
)
def segments_add(values, choice) -> float:
    """The head that keeps most in its segment while spread over it, chosen on the other inputs."""
    head = int(choice["kept and spread"].argmax())
    return values["kept, two segments"].flat[head] - values["kept, one segment"].flat[head]


@claim(
    key="block-unrelated",
    sentence="Blocks do not ask whether the texts belong together",
    source="our control",
    operational="distance between the shares on unrelated and on consecutive paragraphs",
    refuted_if="shares that differ by more than .02",
    threshold=-0.02,
    below=True,
    control=False,  # a model without blocks keeps the line trivially, and the claim is about sameness
)
def same_block_maps(values, choice) -> float:
    """Share of block maps on unrelated paragraphs minus that on consecutive ones, as a distance from 0."""
    return -abs(share("unrelated", BLOCK)(values, choice) - share("pair", BLOCK)(values, choice))


@claim(
    key="useful-range",
    sentence="32 to 61 % are potentially useful",
    section="4.1",
    original=_useful,
    exactness="N",
    operational="heterogeneous + block, distance inside the range",
    refuted_if="a share outside the range",
    erratum="an upper bound",
)
def inside_useful_range(values, choice) -> float:
    """How far inside .32 to .61 the share of heterogeneous and block maps lies; negative outside."""
    useful = share("pair", HETEROGENEOUS, BLOCK)(values, choice)
    low, high = useful_range()
    return min(useful - low, high - useful)


@claim(
    key="vertical-special",
    sentence="Vertical columns are mainly [CLS] and [SEP]",
    section="4.1",
    operational="in vertical maps, part of the two strongest columns that is [CLS] or [SEP]",
    refuted_if="less than half",
    threshold=0.5,
    control=False,  # the twin has no vertical map at all, so there is nothing to compare
)
def special_columns(values, choice) -> float:
    standing = values["stands"].sum()
    if standing == 0:
        raise CannotDecide("no map is vertical, so there are no columns to ask about")
    return values["stands on special tokens"].sum() / standing


@claim(
    key="diagonal-neighbour",
    sentence="The diagonal is the previous or next token, not the token itself",
    section="4.1",
    operational="best head: its neighbour's diagonal minus the main diagonal",
    refuted_if="the main diagonal holds as much",
    threshold=0.25,
    erratum="popular accounts count the token itself as diagonal",
)
def neighbour_not_self(values, choice) -> float:
    head = int(choice["diagonal score"].argmax())
    return values["diagonal score"].flat[head] - values["self diagonal"].flat[head]


@claim(
    key="robust",
    sentence="Classes survive thresholds moved by a fifth",
    source="our control",
    operational="share of maps that keep their class",
    refuted_if="fewer than nine in ten",
    threshold=0.9,
    control=False,  # a model whose maps fit no class keeps them all
)
def firmness(values, choice) -> float:
    return min(values["kept, looser"].mean(), values["kept, stricter"].mean())


@claim(
    key="last-cls-row",
    sentence="Last layer: [CLS] looks most at [SEP]",
    section="attention to linguistic features",
    operational="to [SEP] minus the most to another kind of token",
    refuted_if="another kind of token gets more",
    erratum="not for STS-B, RTE and QNLI",
)
def last_cls_row(values, choice) -> float:
    others = [f"from [CLS] to {kind}" for kind in ("cls", "punct", "other")]
    return values["from [CLS] to sep"][-1].mean() - max(values[name][-1].mean() for name in others)


@claim(
    key="special-over-words",
    sentence="Special tokens get more than words",
    section="attention to linguistic features",
    operational="column maximum, minus the best word class",
    refuted_if="a word class gets more",
    evidence="05-features",
)
def special_over_words(values, choice) -> float:
    special = max(values["[CLS]"].mean(), values["[SEP]"].mean())
    return special - max(
        values[name].mean() for name in ("nouns", "verbs", "pronouns", "subjects", "objects")
    )


claim(
    key="negation-head",
    sentence="Some head attends to negation",
    section="attention to linguistic features",
    operational="best head: column maximum minus any word's",
    refuted_if="no more than any word gets",
    evidence="05-features",
    threshold=0.02,
    erratum="their matcher finds no in know",
    statistic=over_chance("negation"),
)
claim(
    key="linked-words",
    sentence="Some head links a verb with its argument",
    section="4.2, with syntax in place of frames",
    published=_frame_heads,
    exactness="O",
    operational="best head: mean largest weight between verb and core argument, two words apart or more",
    refuted_if="below .2",
    evidence="05-features",
    threshold=0.2,
    erratum="their links are frame elements in FrameNet; which head has which of the two values is not certain",
    statistic=best_head("linked"),
)
claim(
    key="linked-over-distance",
    sentence="Some head links verb and argument, beyond distance",
    source="our control",
    operational="best head minus random words as far apart",
    refuted_if="no more than random words get",
    evidence="05-features",
    threshold=0.05,
    statistic=over_chance("linked"),
)
claim(
    key="frame-heads",
    sentence="Two heads stand out on frame links",
    section="4.2",
    published=_frame_heads,
    exactness="O",
    operational="it needs sentences annotated with frames; the treebank has none",
    refuted_if="links of other heads as strong",
    evidence="05-features",
    statistic=None,
)
claim(
    key="fine-tuning-last",
    sentence="Fine-tuning changes the last layers",
    section="4.3",
    published=_last_layers,
    exactness="A/D",
    operational="needs the model fine-tuned on a task (lesson 14)",
    refuted_if="another layer changes more",
    erratum="not for QQP; maps were compared with their padding",
    statistic=None,
)
claim(
    key="fine-tuning-cell",
    sentence="One head changes more than all others",
    section="4.3",
    published=_extreme_cell,
    exactness="A",
    operational="needs the model fine-tuned on a task (lesson 14)",
    refuted_if="a head of another task changes more",
    statistic=None,
)


CLAIMS = tuple(claim)
