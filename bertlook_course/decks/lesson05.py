"""What the slides of lesson 05 show: maps put into five classes by a rule, and how far that can be trusted."""

from __future__ import annotations

from collections.abc import Mapping
from functools import cached_property

import numpy as np

from bertlook_teach.measures import CLASSES, DEFAULT_THRESHOLDS, highest_scores, stack_scores
from bertlook_teach.model import iter_attention
from bertlook_teach.views import SEGMENT_A, SEGMENT_B, Picture, coordinate, text

from ..analyses.anatomy import (
    Fractions,
    Robustness,
    class_fractions,
    class_rates,
    input_kinds,
    published_fractions,
    threshold_robustness,
)
from ..claims import Resources
from ..corpora import load_pairs, load_texts, load_treebank
from ..metrics import accuracy, best_index, cohen_kappa
from ..render import Estimate, TextTable, answer_picture, fraction_bars, map_address, table_bars
from .common import LessonDeck

LONG, ONE, TWO = "two paragraphs", "one sentence", "two sentences"
LETTERS = dict(zip(CLASSES, "ABCDE"))
USEFUL = [CLASSES.index("block"), CLASSES.index("heterogeneous")]
READ = 0.004  # how exactly the published shares could be read off their figure


# --- the rule --------------------------------------------------------------------------------------------------
def rule_table() -> TextTable:
    """The classes in the order in which they are asked for, with their thresholds."""
    t = DEFAULT_THRESHOLDS
    return TextTable(
        ["class", "if", "because"],
        [
            [
                "vertical + diagonal",
                f"vertical and diagonal both ≥ {t.both:g}",
                "tested first: otherwise such a map would be called vertical or diagonal",
            ],
            ["vertical", f"vertical ≥ {t.vertical:g}", "two columns hold half, on top of an even share"],
            ["diagonal", f"diagonal ≥ {t.diagonal:g}", "one neighbour gets half"],
            ["block", f"block ≥ {t.block:g} and spread ≥ {t.spread:g}", "in its own sentence, and evenly"],
            ["heterogeneous", "otherwise", "not classified"],
        ],
        "This is our rule, not the paper's. Its five thresholds were written down before anything was counted.",
    )


def limit_table() -> TextTable:
    """The highest scores that any map of some inputs can reach."""
    segments = {
        "3 tokens": [0] * 3,
        "20 tokens, one text": [0] * 20,
        "10 + 10 tokens": [0] * 10 + [1] * 10,
        "36 + 4 tokens": [0] * 36 + [1] * 4,
    }
    t = DEFAULT_THRESHOLDS
    return TextTable(
        ["input", "highest block", "highest vertical"],  # a block is orange, as on the other slides
        [[name, *map(Estimate, [*highest_scores(ids).values()][::-1])] for name, ids in segments.items()],
        f"The rule needs {t.vertical:g} for vertical, {t.block:g} for block. Where no map can reach that, the rule never finds the class.",
    )


def agreement_table(confusion: np.ndarray, by_chance: float) -> TextTable:
    """How far two people agree who both called most maps vertical."""
    values = {"the same answer": accuracy(confusion), "by chance": by_chance, "kappa": cohen_kappa(confusion)}
    return TextTable(
        ["measure", "value"],
        [[name, Estimate(value)] for name, value in values.items()],
        "They agree less than by chance: kappa is below 0.",
    )


# --- what was published ----------------------------------------------------------------------------------------
def published_table() -> TextTable:
    """The shares of the classes in BERT-base fine-tuned on seven tasks."""
    inputs = {"SST-2": "1 sentence", "mean": "7 tasks"}
    return TextTable(
        ["task", "inputs", *("vertical", "diagonal", "v.+d.", "block", "hetero.")],
        [
            [task, inputs.get(task, "pair"), *(Estimate(v, form=".3f", short=True) for v in values)]
            for task, values in published_fractions().items()
        ],
        f"{_said_vertical()} BERT-base uncased, fine-tuned on each task; classified by a trained network. Kovaleva et al. (2019), "
        f"Figure 2 in the authors' post of 2020, read off: ± {READ:g}.",
    )


def _said_vertical() -> str:
    """The tasks with the most and with the fewest vertical maps."""
    shares = {task: values[CLASSES.index("vertical")] for task, values in published_fractions().items()}
    del shares["mean"]
    most, least = max(shares, key=shares.get), min(shares, key=shares.get)
    return f"Most vertical maps: {most}, {shares[most]:.2f}; fewest: {least}, {shares[least]:.2f}."


def block_table() -> TextTable:
    """The share of blocks for each task: only SST-2 has one sentence."""
    shares = {task: values[CLASSES.index("block")] for task, values in published_fractions().items()}
    del shares["mean"]
    smaller = sum(share < shares["SST-2"] - 2 * READ for share in shares.values())
    return TextTable(
        ["task", "blocks"],
        [[task, Estimate(share, form=".3f")] for task, share in shares.items()],
        f"Kovaleva et al. (2019), Figure 2 in the authors' post of 2020, read off: ± {READ:g}. In {smaller} of the six pair tasks the share is clearly smaller than in SST-2.",
    )


# --- what our models do ----------------------------------------------------------------------------------------
class Deck(LessonDeck):
    """The slides of lesson 05, on the first 40 texts and pairs of texts.

    Attributes
    ----------
    kinds : dict of str to list
        The inputs of each kind: one sentence, two, a sentence twice, two paragraphs.
    attentions : list of Attention
        Of two sentences: the maps that the game shows. Those of other inputs are not kept.
    scores, fractions : dict
        What the model does with each kind: the scores of its maps, the shares of the classes.
    """

    lesson = "05"

    def __init__(self, encoder, twin):
        texts, pairs = load_texts()[:40], load_pairs()[:40]
        super().__init__(encoder, twin, Resources(pairs, texts, load_treebank()[:160]))
        self.n_pairs, self.kinds = len(pairs), input_kinds(texts, pairs)
        self.attentions = list(iter_attention(encoder, self.kinds[TWO]))
        self.scores = {
            kind: stack_scores(self.attentions if kind == TWO else iter_attention(encoder, items))
            for kind, items in self.kinds.items()
        }
        self.fractions = {kind: class_fractions(found) for kind, found in self.scores.items()}

    @cached_property
    def twin_fractions(self) -> Fractions:
        """Of the twin's maps of two paragraphs."""
        return class_fractions(stack_scores(iter_attention(self.twin, self.kinds[LONG])))

    @cached_property
    def sturdy(self) -> Robustness:
        """How far the classes depend on the thresholds."""
        return threshold_robustness(self.scores[LONG])

    @property
    def largest(self) -> str:
        """The class with most maps of two paragraphs."""
        return CLASSES[int(self.fractions[LONG].mean.argmax())]

    def clearest_diagonal(self, *text: str) -> tuple[int, int]:
        """Layer and head whose map of a text has the highest score for a diagonal."""
        return best_index(stack_scores(iter_attention(self.encoder, [text])).diagonal[0])

    def said_largest(self) -> str:
        """Which class holds most maps."""
        share = Estimate(*self.fractions[LONG][self.largest])
        return f"**{LETTERS[self.largest]}: {self.largest}**, {share} of all maps. BERT-base: the next slide."

    def same_inputs_picture(self, recording) -> Picture:
        """The classes in a recorded BERT-base, and in our models on the same short inputs."""
        models = {self.name: self.encoder, "its random twin": self.twin, recording.badge: recording}
        found = {
            name: class_fractions(stack_scores(iter_attention(model, list(recording)))).mean
            for name, model in models.items()
        }
        base = found[recording.badge]
        (first, most), (second, next_most) = sorted(zip(CLASSES, base), key=lambda one: -one[1])[:2]
        alike = "All maps of the twin are of one class. " * bool(found["its random twin"].max() == 1)
        rank = "; too close to rank" * bool(most - next_most < 0.1)
        return fraction_bars(
            found,
            sentence=f"All three read the same {len(recording)} short inputs, chosen as examples: no intervals. "
            f"{alike}BERT-base: {first} {most:.2f}, {second} {next_most:.2f}{rank}.",
        )

    @cached_property
    def rates(self) -> np.ndarray:
        """In which share of the texts each head draws each class: shape (class, layer, head)."""
        return class_rates(self.scores[LONG])

    def rate_maps(self) -> dict[str, np.ndarray]:
        """The same for a head map."""
        return {f"{name} maps (share)": rate for name, rate in zip(CLASSES, self.rates)}

    @property
    def commonest(self) -> int:
        """The class, but for heterogeneous, that heads draw most often: its place in `CLASSES`."""
        return int(self.rates[:4].sum(axis=(1, 2)).argmax())

    @property
    def common(self) -> str:
        """The same, as `rate_maps` names it."""
        return list(self.rate_maps())[self.commonest]

    @property
    def clearest(self) -> tuple[int, int]:
        """The head (layer, head) that draws `common` most often."""
        return best_index(self.rates[self.commonest])

    def said_steady(self) -> str:
        """How many heads nearly always draw the same class."""
        steady = 100 * float((self.rates.max(axis=0) >= 0.9).mean())
        rate, layer = self.rates[self.commonest], self.clearest[0]
        return (
            f"Nearly always {CLASSES[self.commonest]}: {(rate[layer] >= 0.9).sum()} of the {rate.shape[1]} heads of layer {layer + 1}. "
            f"**{steady:.0f} %** of all heads draw one class on at least nine texts in ten (n = {self.n_pairs})."
        )

    def said_moved(self) -> str:
        """Which classes grow and shrink most when a second sentence is added."""
        alone, paired = (self.fractions[kind].mean for kind in (ONE, TWO))
        change = paired - alone
        moved = [(n, c) for n, c in zip(CLASSES, change) if abs(c) > 0.9 * np.abs(change).max()]
        named = " and ".join(
            f"**{LETTERS[name]}: {name}**, from {alone[CLASSES.index(name)]:.2f} to {paired[CLASSES.index(name)]:.2f}"
            for name, _ in moved
        )
        twice = ": shares sum to 1, so one move is seen twice" if len(moved) > 1 else ""
        return f"{named} of the maps (one sentence, two unrelated ones; n = {self.n_pairs}){twice}. The next slide has all classes."

    def fraction_picture(self) -> Picture:
        """The model's classes beside the range of the published ones, and what our rule says of a BERT-base."""
        published = published_fractions()
        tasks = np.array([values for task, values in published.items() if task != "mean"])
        theirs = 100 * published["SST-2"][CLASSES.index("heterogeneous")]
        return fraction_bars(
            {f"{self.name}, our rule": self.fractions[LONG]},
            ranges={"theirs, 7 tasks": (tasks.min(axis=0), tasks.max(axis=0))},
            sentence=f"{self.Subject}: n = {self.n_pairs} pairs of paragraphs. One task, SST-2, two sorters: our rule calls 60.4 % [59.7, 61.2] of the maps of "
            f"another fine-tuned BERT-base heterogeneous (n = 200 sentences); the authors' network calls {theirs:.1f} % of theirs so.",
        )

    def useful_picture(self) -> Picture:
        """The published shares of potentially useful maps, from least to most, and what the same count gives for our models."""
        useful = {task: values[USEFUL].sum() for task, values in published_fractions().items()}
        tasks = list(useful)[:-1]  # without their mean
        low, high = min(tasks, key=useful.get), max(tasks, key=useful.get)
        shares = {f"BERT-base, {task}": useful[task] for task in (low, high)}
        found = {self.name: self.fractions[LONG], "random twin": self.twin_fractions}
        shares |= {name: fractions.mean[USEFUL].sum() for name, fractions in found.items()}
        rows = [[name, Estimate.per_cent(share, after=" %")] for name, share in shares.items()]
        caption = f"B fits the figure; the text names heterogeneous only. Kovaleva et al. 2019; ours: n = {self.n_pairs} pairs."
        return table_bars(TextTable(["whose maps", "useful"], rows, caption))

    def answer(self, confusion: np.ndarray) -> Picture:
        """The lesson's answer; ``confusion`` is of the two people on the slide."""
        [robust] = self.verdicts_on("robust")
        shares = {
            f"{self.name}: same class, moved at random": self.sturdy.kept,
            f"{self.name}: same class, all by a fifth": robust.value,
        }
        useful = {self.name: self.fractions[LONG], "random twin": self.twin_fractions}
        return answer_picture(
            {
                "A rule can sort them, but its thresholds matter.": {
                    name: Estimate.per_cent(share, after=" %") for name, share in shares.items()
                },
                "Your neighbour? Our sources do not say.": {
                    "made-up pair (slide 11): same": Estimate(accuracy(confusion)),
                    "made-up pair (slide 11): kappa": Estimate(cohen_kappa(confusion)),
                },
                "A class does not show that a head is useful.": {
                    f"{name}, “useful”": Estimate.per_cent(found.mean[USEFUL].sum(), after=" %")
                    for name, found in useful.items()
                },
            },
            f"Row 1: maps that keep their class when each threshold moves at random by up to a fifth (n = {self.n_pairs}), or when all "
            f"move by a fifth in the worse direction (n = {robust.n}).",
        )

    def robust_table(self) -> TextTable:
        """The shares of the classes over other texts, and over other thresholds."""
        found, sturdy, [one_way] = self.fractions[LONG], self.sturdy, self.verdicts_on("robust")
        return TextTable(
            ["class", "other texts [95 %]", "other thresholds [smallest, largest]"],
            [
                [name, Estimate(*found[name]), Estimate(found[name][0], sturdy.low[i], sturdy.high[i])]
                for i, name in enumerate(CLASSES)
            ],
            f"With {sturdy.draws} random sets of thresholds, {100 * sturdy.kept:.0f} % of the maps keep their class on average, at least "
            f"{100 * sturdy.kept_low:.0f} % (n = {self.n_pairs}); if all move by a fifth in the worse direction, {100 * one_way.value:.0f} % (n = {one_way.n}).",
        )


def example_strip(*, size: float = 150, font_size: float = 24) -> Picture:
    """One map of each class, made by hand: what the five names mean."""
    n, cut = 16, 9
    rng = np.random.default_rng(5)
    noise = rng.dirichlet(np.ones(n), size=n)
    columns = np.zeros((n, n))
    columns[:, 0], columns[:, n - 1] = 0.35, 0.65
    diagonal = np.eye(n, k=-1)
    diagonal[0, 0] = 1
    same = np.equal.outer(np.arange(n) < cut, np.arange(n) < cut)
    made = [
        0.8 * columns + 0.2 * noise,
        0.8 * diagonal + 0.2 * noise,
        0.45 * columns + 0.45 * diagonal + 0.1 * noise,
        0.9 * same / same.sum(axis=1, keepdims=True) + 0.1 * noise,
        rng.dirichlet(np.full(n, 0.4), size=n),
    ]
    em, pitch = float(font_size), size + 1.2 * font_size
    body = []
    for i, (name, weights) in enumerate(zip(CLASSES, made)):
        x = 0.4 * em + i * pitch
        for row, part in enumerate(name.replace("+", " +\n").replace("hetero", "hetero-\n").split("\n")):
            body.append(text(x, 0.8 * em + row * 1.15 * em, part, extra=' font-weight="600"'))
        body.append(
            f'<image x="{coordinate(x)}" y="{coordinate(2.8 * em)}" width="{coordinate(size)}" height="{coordinate(size)}" '
            f'style="image-rendering:pixelated" href="{map_address(weights)}"/>'
        )
        if name == "block":
            body += [
                f'<path d="M{coordinate(x)} {coordinate(2.8 * em + size + 5)}h{coordinate(size * cut / n - 2)}" stroke="{SEGMENT_A}" stroke-width="5"/>',
                f'<path d="M{coordinate(x + size * cut / n + 2)} {coordinate(2.8 * em + size + 5)}h{coordinate(size * (n - cut) / n - 2)}" stroke="{SEGMENT_B}" stroke-width="5" stroke-dasharray="8 5"/>',
            ]
    sentence = (
        "Vertical: two dark columns. Diagonal: a dark line just below the main diagonal. Vertical+diagonal: both. "
        "Block: two dark squares, one for each text. Heterogeneous: dark cells without order."
    )
    width, height = 5 * pitch + 0.4 * em, 2.8 * em + size + 0.6 * em
    caption = (
        "From left to right: many tokens look at the same few; each looks at a neighbour; both; each looks at its own "
        "sentence; everything else, which is not one kind."
    )
    return Picture(body, width, height, "Five classes of map", sentence, em, caption=caption)


def fraction_table(kinds: Mapping[str, Fractions]) -> TextTable:
    """Fractions by kind of input, each with its interval; a block in one segment is a dash, it cannot be."""
    rows = []
    for name, fractions in kinds.items():
        cells = []
        for position in range(len(CLASSES)):
            if CLASSES[position] == "block" and not fractions.can_block:
                cells.append("–")
                continue
            ends = (values[position] for values in (fractions.mean, fractions.low, fractions.high))
            cells.append(Estimate(*ends, short=True))
        rows.append([name, *cells])
    sizes = sorted({fractions.n for fractions in kinds.values()})
    n = " or ".join(map(str, sizes))
    maps = next(iter(kinds.values())).maps
    return TextTable(
        ["input", "vertical", "diagonal", "v.+d.", "block", "hetero."],
        rows,
        f"Share of maps [95 %], n = {n} texts of {maps} maps each.",
    )
