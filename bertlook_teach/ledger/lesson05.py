"""Lesson 05: five kinds of attention map. Kovaleva et al. (2019), what the figure says and what it cannot say here.

Their maps come from BERT-base fine-tuned on GLUE tasks and were classified by a network they trained; ours come from a
model that was not fine-tuned and are classified by a rule. A verdict here is about the sentence on *this* model by *this*
rule; it neither confirms nor refutes their numbers.
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from ..claims import CannotDecide, Claim
from ..feature_maxima import (
    argument_pairs,
    chance_maxima,
    chance_pair_maxima,
    feature_maxima,
    pair_maxima,
)
from ..labels import head_label
from ..map_classes import (
    BLOCK,
    BOTH,
    CLASSES,
    DIAGONAL,
    HETEROGENEOUS,
    VERTICAL,
    Thresholds,
    class_codes,
    map_scores,
    published_fractions,
)
from ..published import read_published
from ..surface import token_masks
from .statistics import best_head

KOVALEVA = "Kovaleva et al. 2019"
AS_READ = "read off a raster figure, good to .004"


# --- evidence ------------------------------------------------------------------------------------------


def maps(encoder, resources) -> Iterator[dict[str, np.ndarray]]:
    """For each pair: the class of every map, what the classes stand on, and the same words in other company."""
    from ..attention import iter_attention

    pairs = resources.pairs
    step = len(pairs) // 2

    def corpus():
        for i, (first, second) in enumerate(pairs):
            yield first, second
            yield f"{first} {second}"
            if step:
                yield first, pairs[(i + step) % len(pairs)][1]

    attentions = iter_attention(encoder, corpus(), truncate=True)
    for _ in pairs:
        pair, joined = next(attentions), next(attentions)
        found = pair_quantities(pair) | segment_quantities(pair, joined)
        if step:
            found["unrelated"] = classes_of(next(attentions))
        yield found


def classes_of(attention) -> np.ndarray:
    """1 for the class of each map, 0 for the others: shape (class, layer, head)."""
    codes = class_codes(map_scores(attention))
    return (codes == np.arange(len(CLASSES))[:, None, None]).astype(float)


def pair_quantities(attention) -> dict[str, np.ndarray]:
    """Classes, how firmly they hold, what the vertical columns are, and where [CLS] looks."""
    scores = map_scores(attention)
    codes = class_codes(scores)
    standing = np.isin(codes, (VERTICAL, BOTH))
    found = {
        "pair": classes_of(attention),
        "kept, looser": codes == class_codes(scores, Thresholds().scaled(0.8)),
        "kept, stricter": codes == class_codes(scores, Thresholds().scaled(1.2)),
        "diagonal score": scores.diagonal,
        "self diagonal": scores.self_diagonal,
        "stands": standing,
        "stands on special tokens": standing * special_part(attention),
    }
    masks = token_masks(attention)
    if masks["cls"].any():
        row = attention.weights[..., int(np.flatnonzero(masks["cls"])[0]), :]
        for kind, mask in masks.items():
            if mask.any():
                found[f"from [CLS] to {kind}"] = row[..., mask].max(axis=-1)
    return found


def special_part(attention) -> np.ndarray:
    """Of the attention in a map's two strongest columns, the part that goes to special tokens."""
    columns = attention.weights.mean(axis=-2)
    top = np.argsort(columns, axis=-1)[..., -2:]
    strong = np.take_along_axis(columns, top, axis=-1)
    return (strong * np.array(attention.special)[top]).sum(axis=-1) / strong.sum(axis=-1)


def segment_quantities(pair, joined) -> dict[str, np.ndarray]:
    """The block score between words alone, with two segments and with the same words as one segment, cut at the same place.

    Attention that merely stays nearby stays in its own half too; what the segments add is the difference.
    """
    if pair.truncated or joined.truncated or 1 not in pair.segment_ids:
        return {}
    sides = [side for side, special in zip(pair.segment_ids, pair.special) if not special]
    words = [i for i, special in enumerate(joined.special) if not special]
    if len(words) != len(sides):  # the tokenizer joins across the seam
        return {}
    apart = map_scores(between_words(pair.weights, [i for i, s in enumerate(pair.special) if not s]), sides)
    together = map_scores(between_words(joined.weights, words), sides)
    return {
        "kept, two segments": apart.block,
        "kept, one segment": together.block,
        # A previous-token head keeps to its segment as well; a block is spread over it.
        "kept and spread": apart.block * (apart.spread >= Thresholds().spread),
    }


def between_words(weights: np.ndarray, words: list[int]) -> np.ndarray:
    """The maps without special tokens, each row a distribution again."""
    inner = weights[..., words, :][..., words]
    total = inner.sum(axis=-1, keepdims=True)
    # A query that gives words nothing at all, to the last bit, prefers none of them.
    return np.where(total > 0, inner, 1 / len(words)) / np.where(total > 0, total, 1)


def sentence_attentions(encoder, sentences, batch: int = 16) -> Iterator:
    """Attention of each sentence; None where it is too long, or the tokenizer drops a word and the tree would not fit."""
    from ..attention import extract_attention, iter_attention

    for start in range(0, len(sentences), batch):
        words = [list(sentence.words) for sentence in sentences[start : start + batch]]
        try:
            yield from list(iter_attention(encoder, words, batch_size=batch))
        except ValueError:  # one of them; find out which
            for one in words:
                try:
                    yield extract_attention(encoder, words=one)
                except ValueError:
                    yield None


def features(encoder, resources) -> Iterator[dict[str, np.ndarray]]:
    """For each sentence of the treebank: feature maxima with their chance level, and linked words in short ones."""
    for sentence, attention in zip(resources.treebank, sentence_attentions(encoder, resources.treebank)):
        if attention is None:
            yield {}
            continue
        attention = attention.to_words()
        found = dict(feature_maxima(attention, sentence))
        found |= {f"{name}, chance": value for name, value in chance_maxima(attention, sentence).items()}
        pairs = argument_pairs(sentence)
        if pairs:
            found["linked"] = pair_maxima(attention, pairs)
            found["linked, chance"] = chance_pair_maxima(attention, pairs)
        yield found


EVIDENCE = {"05-maps": maps, "05-features": features}


# --- statistics ----------------------------------------------------------------------------------------


def share(kind: str, *codes: int):
    """Share of all maps that are in one of the classes."""
    return lambda values, choice: values[kind][list(codes)].mean(axis=(1, 2)).sum()


def at_most(kind: str, code: int):
    return lambda values, choice: -share(kind, code)(values, choice)


def heterogeneous_lead(values, choice) -> float:
    """Share of heterogeneous maps minus that of the next largest class."""
    shares = values["pair"].mean(axis=(1, 2))
    return shares[HETEROGENEOUS] - np.delete(shares, HETEROGENEOUS).max()


def inside_useful_range(values, choice) -> float:
    """How far inside .32 to .61 the share of heterogeneous and block maps lies; negative outside."""
    useful = share("pair", HETEROGENEOUS, BLOCK)(values, choice)
    low, high = useful_range()
    return min(useful - low, high - useful)


def special_columns(values, choice) -> float:
    standing = values["stands"].sum()
    if standing == 0:
        raise CannotDecide("no map is vertical, so there are no columns to ask about")
    return values["stands on special tokens"].sum() / standing


def neighbour_not_self(values, choice) -> float:
    head = int(choice["diagonal score"].argmax())
    return values["diagonal score"].flat[head] - values["self diagonal"].flat[head]


def segments_add(values, choice) -> float:
    """The head that keeps most in its segment while spread over it, chosen on the other inputs."""
    head = int(choice["kept and spread"].argmax())
    return values["kept, two segments"].flat[head] - values["kept, one segment"].flat[head]


def same_block_maps(values, choice) -> float:
    """Share of block maps on unrelated paragraphs minus that on consecutive ones, as a distance from 0."""
    return -abs(share("unrelated", BLOCK)(values, choice) - share("pair", BLOCK)(values, choice))


def firmness(values, choice) -> float:
    return min(values["kept, looser"].mean(), values["kept, stricter"].mean())


def last_cls_row(values, choice) -> float:
    """Last layer, mean over heads: from [CLS] to [SEP], minus the largest of the other kinds of token."""
    others = [f"from [CLS] to {kind}" for kind in ("cls", "punct", "other")]
    return values["from [CLS] to sep"][-1].mean() - max(values[name][-1].mean() for name in others)


def special_over_words(values, choice) -> float:
    """Mean over heads: the larger of [CLS] and [SEP], minus the largest of the features."""
    special = max(values["[CLS]"].mean(), values["[SEP]"].mean())
    return special - max(
        values[name].mean() for name in ("nouns", "verbs", "pronouns", "subjects", "objects")
    )


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


CLAIMS = (
    Claim(
        "05-vertical-third",
        "05",
        "Over a quarter of all maps are vertical",
        KOVALEVA,
        "4.1, Figure 2",
        lambda: published_share("vertical"),
        "A/D",
        "share of vertical maps, two paragraphs",
        "a share below a quarter",
        "05-maps",
        share("pair", VERTICAL),
        0.25,
        "of maps of fine-tuned models, not of heads",
    ),
    Claim(
        "05-heterogeneous-largest",
        "05",
        "Most maps fit no class",
        KOVALEVA,
        "4.1, Figure 2",
        lambda: published_share("heterogeneous"),
        "A/D",
        "their share minus the next largest",
        "another class is larger",
        "05-maps",
        heterogeneous_lead,
        0.0,
        "not for MRPC and RTE, where vertical is largest",
    ),
    Claim(
        "05-diagonal-few",
        "05",
        "Few maps are diagonal alone",
        KOVALEVA,
        "4.1, Figure 2",
        lambda: published_share("diagonal"),
        "A/D",
        "minus the share of diagonal maps",
        "a share above a tenth",
        "05-maps",
        at_most("pair", DIAGONAL),
        -0.1,
        control=False,  # a random model has none: the claim is an upper limit, which it is no surprise to keep
    ),
    Claim(
        "05-both-more-than-diagonal",
        "05",
        "Vertical and diagonal at once is more common than diagonal",
        KOVALEVA,
        "4.1, Figure 2",
        lambda: published_share("vertical+diagonal"),
        "A/D",
        "share of vertical+diagonal maps minus that of diagonal ones",
        "diagonal maps are more common",
        "05-maps",
        lambda values, choice: share("pair", BOTH)(values, choice) - share("pair", DIAGONAL)(values, choice),
        0.0,
        "not for QQP",
    ),
    Claim(
        "05-block-rare",
        "05",
        "Fewer than one map in ten is a block",
        KOVALEVA,
        "4.1, Figure 2",
        lambda: published_share("block"),
        "A/D",
        "minus the share of block maps",
        "a share above a tenth",
        "05-maps",
        at_most("pair", BLOCK),
        -0.1,
        control=False,  # an upper limit again
    ),
    Claim(
        "05-block-exists",
        "05",
        "Some maps of pairs are blocks",
        KOVALEVA,
        "4.1, Figure 2",
        lambda: published_share("block"),
        "A/D",
        "share of block maps, two paragraphs",
        "fewer than one in a hundred",
        "05-maps",
        share("pair", BLOCK),
        0.01,
    ),
    Claim(
        "05-block-pairs-only",
        "05",
        "Blocks only with two sentences",
        KOVALEVA,
        "4.1",
        _single_sentence_block,
        "A",
        "our rule sees no block in one segment",
        "a block in a map of one sentence",
        "05-maps",
        None,
        erratum="SST-2 has single sentences",
    ),
    Claim(
        "05-block-segments",
        "05",
        "Block heads follow the segments",
        KOVALEVA,
        "4.1",
        "",
        "",
        "best head: block score as two segments minus as one",
        "the same score when the two texts are one segment",
        "05-maps",
        segments_add,
        0.05,
    ),
    Claim(
        "05-block-unrelated",
        "05",
        "Blocks do not ask whether the texts belong together",
        "our control",
        "",
        "",
        "",
        "minus the distance between the shares on unrelated and on consecutive paragraphs",
        "shares that differ by more than .02",
        "05-maps",
        same_block_maps,
        -0.02,
        control=False,  # a model without blocks keeps the line trivially, and the claim is about sameness
    ),
    Claim(
        "05-useful-range",
        "05",
        "32 to 61 % are potentially useful",
        KOVALEVA,
        "4.1",
        _useful,
        "N",
        "heterogeneous + block, distance inside the range",
        "a share outside the range",
        "05-maps",
        inside_useful_range,
        0.0,
        "an upper bound",
    ),
    Claim(
        "05-vertical-special",
        "05",
        "Vertical columns are mainly [CLS] and [SEP]",
        KOVALEVA,
        "4.1",
        "",
        "",
        "in vertical maps, part of the two strongest columns that is [CLS] or [SEP]",
        "less than half",
        "05-maps",
        special_columns,
        0.5,
        control=False,  # the twin has no vertical map at all, so there is nothing to compare
    ),
    Claim(
        "05-diagonal-neighbour",
        "05",
        "The diagonal is the previous or next token, not the token itself",
        KOVALEVA,
        "4.1",
        "",
        "",
        "best head: its neighbour's diagonal minus the main diagonal",
        "the main diagonal holds as much",
        "05-maps",
        neighbour_not_self,
        0.25,
        "popular accounts count the token itself as diagonal",
    ),
    Claim(
        "05-robust",
        "05",
        "Classes survive thresholds moved by a fifth",
        "our control",
        "",
        "",
        "",
        "share of maps that keep their class",
        "fewer than nine in ten",
        "05-maps",
        firmness,
        0.9,
        control=False,  # a model whose maps fit no class keeps them all
    ),
    Claim(
        "05-last-cls-row",
        "05",
        "Last layer: [CLS] looks most at [SEP]",
        KOVALEVA,
        "attention to linguistic features",
        "",
        "",
        "to [SEP] minus the most to another kind of token",
        "another kind of token gets more",
        "05-maps",
        last_cls_row,
        0.0,
        "not for STS-B, RTE and QNLI",
    ),
    Claim(
        "05-special-over-words",
        "05",
        "Special tokens get more than words",
        KOVALEVA,
        "attention to linguistic features",
        "",
        "",
        "column maximum, minus the best word class",
        "a word class gets more",
        "05-features",
        special_over_words,
        0.0,
    ),
    Claim(
        "05-negation-head",
        "05",
        "Some head attends to negation",
        KOVALEVA,
        "attention to linguistic features",
        "",
        "",
        "best head: column maximum minus any word's",
        "no more than any word gets",
        "05-features",
        over_chance("negation"),
        0.02,
        "their matcher finds no in know",
    ),
    Claim(
        "05-linked-words",
        "05",
        "Some head links a verb with its argument",
        KOVALEVA,
        "4.2, with syntax in place of frames",
        _frame_heads,
        "O",
        "best head: mean largest weight between verb and core argument, two words apart or more",
        "below .2",
        "05-features",
        best_head("linked"),
        0.2,
        "their links are frame elements in FrameNet; which head has which of the two values is not certain",
    ),
    Claim(
        "05-linked-over-distance",
        "05",
        "Some head links verb and argument, beyond distance",
        "our control",
        "",
        "",
        "",
        "best head: minus random words as far apart",
        "no more than random words get",
        "05-features",
        over_chance("linked"),
        0.05,
    ),
    Claim(
        "05-frame-heads",
        "05",
        "Two heads stand out on frame links",
        KOVALEVA,
        "4.2",
        _frame_heads,
        "O",
        "it needs sentences annotated with frames; the treebank has none",
        "links of other heads as strong",
        "05-features",
        None,
    ),
    Claim(
        "05-fine-tuning-last",
        "05",
        "Fine-tuning changes the last layers",
        KOVALEVA,
        "4.3",
        _last_layers,
        "A/D",
        "needs the model fine-tuned on a task (lesson 14)",
        "another layer changes more",
        "05-maps",
        None,
        erratum="not for QQP; maps were compared with their padding",
    ),
    Claim(
        "05-fine-tuning-cell",
        "05",
        "One head changes more than all others",
        KOVALEVA,
        "4.3",
        _extreme_cell,
        "A",
        "needs the model fine-tuned on a task (lesson 14)",
        "a head of another task changes more",
        "05-maps",
        None,
    ),
)
