"""What the slides of lesson 09 show: distances between heads, their neighbours and kinds, and maps of them in the plane."""

from __future__ import annotations

from collections import Counter
from contextlib import suppress
from functools import cached_property, partial

import numpy as np

from bertlook_teach import extract_attention, head_label, measures, stats
from bertlook_teach.model import output_projection
from bertlook_teach.views import Picture

from ..claims import Resources, collect_evidence
from ..metrics import average_linkage, metric_mds
from ..published import published_map
from ..render import (
    Estimate,
    TextTable,
    answer_picture,
    count_verdicts,
    distance_map_figure,
    family_figure,
    figure_picture,
    label_table,
)
from .common import LessonDeck, short_title
from .parts.lesson09_distances import (
    closest_pair,
    how_good,
    nearest_heads,
    resting_on_sep,
    share_of_own_layer,
)

N_TEXTS = 40
N_BESIDE = (
    20  # texts that the model beside it reads: what it says of its heads is not worth a deck that opens late
)

DIMENSIONS = (1, 2, 3, 4)
SENTENCE = "We saw the small bird because it sang."


class Deck(LessonDeck):
    """The slides of lesson 09: the distances of all heads of both models, mean over some texts.

    Attributes
    ----------
    other : dict of str to array of shape (text, ...), or None
        Distances and what the rule for labels asks for, of the model beside it on its texts.
    """

    choice = "the map{rows} starts from the map of {others} others"  # no head is chosen: the other texts only give the place where the map starts
    lesson = "09"

    def __init__(self, encoder, twin, beside=None):
        super().__init__(encoder, twin, Resources(limit=N_TEXTS), beside)
        self.seen = {m: collect_evidence("families", m, self.resources) for m in (encoder, twin)}
        self.other = None
        if self.beside is not None:
            self.other = collect_evidence("families", self.beside, Resources(limit=N_BESIDE)).values
        each = [self.seen[model].values for model in (encoder, twin)]
        means = [{name: values.mean(axis=0) for name, values in values_of.items()} for values_of in each]
        self.each, self.twin_each = (values_of["distance"] for values_of in each)  # (text, head, head)
        self.distances, self.twin_distances = (one["distance"] for one in means)
        self.labels, self.twin_labels = map(measures.behaviour_labels, means)
        n_layers, self.n_heads = encoder.n_layers, encoder.n_heads  # in a layer
        self.layers = np.repeat(np.arange(n_layers), self.n_heads)
        self.names = [head_label(*divmod(i, self.n_heads)) for i in range(n_layers * self.n_heads)]
        self.published = published_map()
        self.upper = np.triu_indices(len(self.names), 1)  # every pair of heads once

    @cached_property
    def map(self):
        """The model's heads in the plane."""
        return metric_mds(self.distances)

    @cached_property
    def twin_map(self):
        """The random twin's heads in the plane."""
        return metric_mds(self.twin_distances)

    @cached_property
    def other_means(self) -> dict[str, np.ndarray]:
        """Of the model beside it: the mean over its texts."""
        return {name: values.mean(axis=0) for name, values in self.other.items()}

    @cached_property
    def other_labels(self) -> np.ndarray:
        return measures.behaviour_labels(self.other_means)

    # ---- neighbours ---------------------------------------------------------------------------------------

    def nearest_of_two_layers(self) -> tuple[int, int]:
        """The two nearest heads of different layers: places in `names`."""
        same = self.layers[:, None] == self.layers
        return closest_pair(np.where(same, np.inf, self.distances))

    @property
    def chance(self) -> float:
        """How often another head is of the same layer."""
        return (self.n_heads - 1) / (len(self.names) - 1)

    @cached_property
    def same_layer(self) -> tuple[tuple[float, float, float], ...]:
        """Of each model, the share of heads whose nearest head is of their layer, with its interval over texts."""
        return tuple(share_of_own_layer(each, self.layers) for each in (self.each, self.twin_each))

    @cached_property
    def other_own(self) -> tuple[float, float, float]:
        """The same of the model beside it."""
        layers = np.repeat(np.arange(self.beside.n_layers), self.beside.n_heads)
        return share_of_own_layer(self.other["distance"], layers)

    def nearest_question(self) -> str:
        """How often is the nearest head in the same layer?"""
        return (
            f"Take each of the {len(self.names)} heads and find its **nearest** head. In how many cases are the two "
            "in the **same layer**?\n\n"
            f"**A** hardly ever · **B** about as often as by chance (1 in {1 / self.chance:.0f}) · **C** about half · **D** most"
        )

    def nearest_table(self) -> TextTable:
        """How often it is, for both models and on the published map."""
        published = nearest_heads(self.published.distances) // 12 == self.published.layers
        shares = {
            self.name: (self.same_layer[0], self.chance),
            "its random twin": (self.same_layer[1], self.chance),
        }
        if self.other is not None:
            n_layers, n_heads = self.beside.n_layers, self.beside.n_heads
            shares[short_title(self.beside)] = self.other_own, (n_heads - 1) / (n_layers * n_heads - 1)
        shares["BERT-base, on its map"] = (published.mean(),), 11 / 143
        return TextTable(
            ["nearest head in the same layer", "share", "by chance"],
            [[name, Estimate(*share), Estimate(chance)] for name, (share, chance) in shares.items()],
            f"{N_TEXTS} texts{self._fewer()} [95 %]; BERT-base: from the published Figure 6, where only places are known.",
        )

    def _fewer(self) -> str:
        """How many texts the model beside it read, or nothing."""
        return "" if self.other is None else f", {short_title(self.beside)} {N_BESIDE}"

    def nearest_answer(self) -> str:
        """The letter of the answer, and both shares."""
        own, chance = self.same_layer[0][0], self.chance
        twin, low, _ = self.same_layer[1]
        above = "is above chance, too, which may be luck"
        answer = "A" if own < chance / 2 else "B" if own < 2 * chance else "C" if own < 0.6 else "D"
        return (
            f"The answer for {self.subject}: **{answer}**. For {100 * own:.0f} % of the heads the nearest head is in the same "
            f"layer, against {100 * chance:.0f} % by chance. The random twin's {100 * twin:.0f} % "
            f"{above if low > chance else 'is no more than chance'}. But its heads hardly differ at all (slide 14)."
        )

    def family_picture(self) -> Picture:
        """The heads joined to families, and how many of the closest pairs the rule "same layer" names."""
        first, second = closest_pair(self.distances)
        between = self.distances[self.upper]
        n_same = len(self.names) * (self.n_heads - 1) // 2  # pairs that the rule names
        layers_of = Counter(
            tuple(self.layers[[ends[k] for ends in self.upper]] + 1)
            for k in np.argsort(between, kind="stable")[:n_same]
        )
        named = sum(k for (one, other), k in layers_of.items() if one == other) / n_same
        joined = [pair for pair, _ in layers_of.most_common() if pair[0] != pair[1]][:2]
        block = sorted({int(layer) for pair in joined for layer in pair})
        inside = sum(k for pair, k in layers_of.items() if {*pair} <= {*block})
        return figure_picture(
            family_figure(
                self.distances,
                average_linkage(self.distances),
                self.names,
                self.labels.ravel(),
                layers=self.layers,
            ),
            f"{'Most do' if named > 0.5 else 'Most do not'}. {n_same} pairs lie within a layer, so look at the {n_same} closest pairs: {100 * named:.0f} % are "
            f"in one layer (chance {100 * self.chance:.0f} %); {inside} are pairs of heads of layers {', '.join(map(str, block[:-1]))} and {block[-1]}. Slide 5 asked something else: each head's single nearest head. Closest: {self.names[first]} and {self.names[second]}, "
            f"{self.distances[first, second]:.3f} nats a token; half of all pairs: under {np.median(between):.3f}. Labels: slide 10.",
        )

    # ---- maps ---------------------------------------------------------------------------------------------

    def stress_introduction(self) -> str:
        """What a map in the plane cannot keep."""
        return (
            "**Multidimensional scaling** moves the points until the drawn distances fit the measured ones as well as possible (least "
            f"squares). Each head has {len(self.names) - 1} distances, and a plane cannot keep them all. What is left over is the "
            "**stress**: 0 perfect, .05 good, .1 fair, **.2 poor** (Kruskal 1964)."
        )

    def loner(self) -> tuple[int, int]:
        """The head that is far from all others: (layer, head)."""
        return divmod(int(self.distances.sum(axis=1).argmax()), self.n_heads)

    def stress_table(self) -> TextTable:
        """What maps of one to four dimensions cannot keep: of the model, of its twin, and of shuffled distances."""
        shuffled = np.zeros_like(self.distances)
        shuffled[self.upper] = np.random.default_rng(0).permutation(self.distances[self.upper])
        shuffled += shuffled.T
        sides = {
            self.name: (self.distances, {}),
            "its random twin": (self.twin_distances, {"max_iter": 300}),
            f"{self.name}, distances shuffled": (shuffled, {"max_iter": 300}),
        }
        stresses = {
            name: [metric_mds(matrix, n_dims=k, starts=2, **options).stress for k in DIMENSIONS]
            for name, (matrix, options) in sides.items()
        }
        ordered = all(list(values) == sorted(values) for values in zip(*stresses.values()))
        return TextTable(
            ["dimensions", *stresses],
            [
                [f"{k}-D", *(Estimate(values[i]) for values in stresses.values())]
                for i, k in enumerate(DIMENSIONS)
            ],
            f"In two dimensions the stress of {self.subject}'s map is {stresses[self.name][1]:.2f}. {self.Subject}'s distances fit best in "
            "every number of dimensions; the same distances, shuffled, fit worst."
            if ordered
            else "The stress of maps of one to four dimensions.",
        )

    def maps_picture(self) -> Picture:
        """The maps side by side: of the model, of the one beside it, and of the twin."""
        found = {self.name: (self.map, self.labels, self.distances, ".3f")}
        if self.other is not None:
            distances = self.other_means["distance"]
            drawn = metric_mds(distances, starts=5)
            found[short_title(self.beside)] = drawn, self.other_labels, distances, ".3f"
        found["random twin"] = self.twin_map, self.twin_labels, self.twin_distances, ".4f"
        medians = ", ".join(
            f"{name} {np.median(matrix[np.triu_indices(len(matrix), 1)]):{form}}"
            for name, (_, _, matrix, form) in found.items()
        )
        stresses = ", ".join(f"{drawn.stress:.2f}" for drawn, *_ in found.values())
        return figure_picture(
            distance_map_figure(
                {name: (drawn.points, labels) for name, (drawn, labels, *_) in found.items()}
            ),
            f"No: all heads of {self.subject}'s random twin do nearly the same; on one scale they are one heap. Median distance of two heads: {medians} nats a token. Stress: {stresses}. "
            f"n = {N_TEXTS} texts{self._fewer()}.",
        )

    # ---- kinds of heads -----------------------------------------------------------------------------------

    @property
    def unlabelled(self) -> tuple[float, float]:
        """The share of heads without a label: of the model, and of BERT-base as published."""
        return tuple((labels == "unlabelled").mean() for labels in (self.labels, self.published.labels))

    def labels_question(self) -> str:
        """How many heads have no label?"""
        base = self.published.labels
        return f"In BERT-base **{(base == 'unlabelled').sum()} of 144** heads ({100 * self.unlabelled[1]:.0f} %) have no label. How many of {self.subject}'s {self.labels.size}?"

    def labels_table(self) -> TextTable:
        """How many heads have each label."""
        kinds = [label for label, _ in measures.THRESHOLDS.values()] + ["linguistic", "unlabelled"]
        commonest = max(kinds, key=lambda kind: (self.twin_labels == kind).sum())
        sides = {"BERT-base (Fig. 6)": self.published.labels, self.name: self.labels}
        if self.other is not None:
            sides[short_title(self.beside)] = self.other_labels
        names = {self.name: self.subject}
        counts = ", ".join(f"{labels.size} of {names.get(name, name)}" for name, labels in sides.items())
        return label_table(
            sides | {"random twin": self.twin_labels},
            kinds,
            f"Heads with each label: {counts}. Linguistic heads were looked for in BERT-base alone. Of the random twin's "
            f"{self.twin_labels.size} heads, {(self.twin_labels == commonest).sum()} are {commonest}. "
            f"n = {N_TEXTS} texts{self._fewer()}.",
        )

    def labels_answer(self) -> str:
        """The letter of the answer, and the share."""
        left = self.unlabelled[0]
        answer = "ABCD"[min(3, int(left * 4))]
        return f"The answer for {self.subject}: **{answer}** ({100 * left:.0f} % without a label; n = {N_TEXTS} texts)."

    @cached_property
    def groups(self) -> dict[tuple[str, str], measures.GroupTest | None]:
        """Whether layers and behaviours are groups, of the model and of its twin; None where all heads are in one group."""
        sides = {
            (self.name, "layer"): (self.distances, self.layers),
            (self.name, "behaviour"): (self.distances, self.labels.ravel()),
            ("twin", "layer"): (self.twin_distances, self.layers),
            ("twin", "behaviour"): (self.twin_distances, self.twin_labels.ravel()),
        }
        found = dict.fromkeys(sides)
        for name, (matrix, groups) in sides.items():
            with suppress(ValueError):  # all heads in one group
                found[name] = measures.group_test(matrix, groups)
        return found

    def groups_table(self) -> TextTable:
        """Whether layers and behaviours are groups: distances within and between them."""
        rows, close, apart = [], [], []
        for (whose, by), found in self.groups.items():
            if found is None:
                rows.append([f"{whose}, {by}s, no test", "-", "-"])
                continue
            within, between = (Estimate(value, form=".3f") for value in (found.within, found.between))
            rows.append([f"{whose}, {by}s, p {found.p:.3f}", within, between])
            if whose == self.name:
                (close if found.p < 0.05 else apart).append(f"of one {by}")
        labelled = [(labels != "unlabelled").sum() for labels in (self.labels, self.twin_labels)]
        same = len({*self.twin_labels.ravel()}) == 1
        twins = (
            f"the twin's {labelled[1]} all have the same one"
            if same
            else f"{labelled[1]} of the twin have one"
        )
        return TextTable(
            ["groups", "within", "between"],
            rows,
            f"{self._said_groups(close, apart)} {labelled[0]} heads have a behaviour; {twins}. Mean distance, nats a token; p: 999 "
            f"shuffles of the labels over the heads. n = {N_TEXTS} texts.",
        )

    def _said_groups(self, close: list[str], apart: list[str]) -> str:
        """Which groups are closer than chance makes them."""
        if not close:
            return f"Heads of {self.subject} are not closer in a group than outside it: {' or '.join(apart)}."
        but = f", but not heads {' or '.join(apart)}" if apart else ""
        found = f"In {self.subject}, heads {' and heads '.join(close)} are on average closer to each other than to others{but}."
        expected = "of one behaviour" in close
        return (
            found + " By behaviour we expect that: labels and distances come from the same maps." * expected
        )

    # ---- the ledger and the answer ------------------------------------------------------------------------

    def whole_heads(self) -> str:
        """Which of the three claims hold, and how far the number of heads that rest on [SEP] moves with the texts."""
        reporting = {
            name: values[1::2] for name, values in self.seen[self.encoder].values.items()
        }  # the others chose
        resting = [resting_on_sep(reporting, weights) for weights in stats.draws(len(reporting["sep"]))]
        now = resting_on_sep(reporting, np.ones(len(reporting["sep"])))
        low, high = (int(end) for end in stats.percentile_interval(resting))
        drawn = f"{low} {'or' if high == low + 1 else 'to'} {high} heads do" if high > low else "as many do"
        three = self.verdicts_on("nearest-same-layer", "sep-heads", "two-dimensions")
        held = count_verdicts(three).replace("All 3 claims hold.", "All three hold.")[:-1]
        return (
            f"**{held} for {self.subject}.** Row 1 is the share minus chance, on {len(reporting['sep'])} of slide 5's {N_TEXTS} texts. Row 2: {now} of "
            f"{self.labels.size} heads rest on `[SEP]`. If the texts are drawn again, {drawn}."
        )

    def verdict_count(self) -> str:
        """How many claims hold, and where all of them can be read."""
        counts = count_verdicts(self.verdicts)
        said = f"{counts[:-1]} for {self.subject}"
        if self.other is not None and short_title(self.beside) == "MiniLM":
            said += "; for MiniLM two hold"
        return f"{said}: `{self.claims_command}`."

    def added_cosines(self, text: str = SENTENCE) -> tuple:
        """The model's attention on a text, for each token the cosine of what the two nearest heads add to it, and the mean of all other pairs."""
        seen = extract_attention(self.encoder, text, vectors=True)
        added = np.einsum("lhqk,lhkd,lhdw->lhqw", seen.weights, seen.values, output_projection(self.encoder))
        added = added.reshape(len(self.names), len(seen.tokens), -1)
        directions = added / np.linalg.norm(added, axis=-1, keepdims=True)
        cosines = np.einsum("hqw,gqw->hgq", directions, directions)
        pair = closest_pair(self.distances)
        between = cosines.mean(axis=-1)[self.upper]
        others = (between.sum() - cosines[pair].mean()) / (len(between) - 1)
        return seen, cosines[pair], float(others)

    def answer(self) -> Picture:
        """The lesson's answer."""
        share = partial(Estimate.per_cent, after=" %")
        own, untrained = self.same_layer
        left, base_left = self.unlabelled
        labels = {f"{self.name}, no label": share(left)}
        if self.other is not None:
            labels[f"{short_title(self.beside)}, no label"] = share(
                (self.other_labels == "unlabelled").mean()
            )
        return answer_picture(
            {
                (
                    f"In {self.subject}, the nearest head is mostly in the same layer."
                    if own[1] > 0.5
                    else "A head's nearest head is in its own layer more often than by chance."
                )
                if own[1] > self.chance
                else "The nearest head: in the same layer?": {
                    self.name: share(*own),
                    **({} if self.other is None else {short_title(self.beside): share(*self.other_own)}),
                    "random twin": share(*untrained),
                    "chance": share(self.chance),
                },
                "Most heads have no simple label."
                if left > 0.5
                else "Most heads have a simple label.": labels | {"BERT-base, no label": share(base_left)},
                f"A flat map is {'only rough' if self.map.stress >= 0.1 else 'good'}.": {
                    f"{self.name}, stress": Estimate(self.map.stress),
                    "random twin, stress": Estimate(self.twin_map.stress),
                },
            },
            f"{self._alike()}The stress is {how_good(self.map.stress)}.",
        )

    def _alike(self) -> str:
        """Some heads that do the same thing: the closest pair, and the commonest of the labels that name a target."""
        first, second = closest_pair(self.distances)
        said = f"{self.names[first]} and {self.names[second]} have {self.subject}'s most similar maps"
        alike = self.added_cosines()[1].max() > 0.5
        said += f", {'and' if alike else 'but'} add vectors in {'similar' if alike else 'different'} directions (slide 16)"
        kinds = Counter(label for label in self.labels.ravel() if label not in (measures.UNLABELLED, "broad"))
        [(kind, count)] = kinds.most_common(1) or [("", 0)]
        return f"{said}; {count} heads share the label {kind}. " if count > 1 else f"{said}. "

    # ---- behind the answer --------------------------------------------------------------------------------

    def turning_introduction(self) -> str:
        """What can be turned onto what."""
        return (
            "Turning lays each head's point on the same head's point in the other map. A map of "
            f"{len(self.names)} heads and one of {self.published.labels.size} are not of the same heads: `metrics.procrustes` "
            "refuses them. Maps from two halves of the texts are allowed:"
        )
