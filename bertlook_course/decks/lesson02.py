"""What the slides of lesson 02 show: seven patterns against their null models, and what a head's neurons say of them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from functools import cached_property

import numpy as np

from bertlook_teach.measures import PATTERNS, closing_sep_pairs, next_word_pairs
from bertlook_teach.model import Attention, extract_attention, head_label
from bertlook_teach.stats import ratio_interval
from bertlook_teach.views import LINE, MUTED, SELECTED, Picture, text

from ..analyses.anatomy import (
    BasisComparison,
    SegmentSwitch,
    SwitchReport,
    compare_bases,
    fair_head,
    margin_dimensions,
    neuron_view,
)
from ..claims import FAILS, HOLDS, OPEN, Resources, collect_evidence
from ..corpora import load_pairs
from ..metrics import best_index
from ..render import (
    Estimate,
    TextTable,
    answer_picture,
    broken_lines,
    draw_sign,
    figure_picture,
    small_maps,
)
from .common import LessonDeck, letter, short_title
from .pictures.lesson02 import TYPE_SIZE, draw_key, model_look, plain_axes, which_one, with_reach

CLEAR = 0.1  # a pattern is there if the whole interval of its best head's excess is above
_SEGMENTS = {"segments A and B": "standard", "all segment A": "zeros"}


def heads_for_patterns(attention: Attention, text, patterns: Sequence[str]) -> dict[str, tuple]:
    """The head with the largest excess for each pattern in one recorded map, as choices of a `RecordedExplorer`."""
    found = {}
    for key in patterns:
        pattern = PATTERNS[key]
        head = best_index(np.asarray(pattern.value(attention)) - np.asarray(pattern.null(attention)))
        found[f"{pattern.title}: {head_label(*head)}"] = (text, *head)
    return found


# --- what our models do ------------------------------------------------------------------------------------------
class Deck(LessonDeck):
    """The slides of lesson 02, on all shipped pairs of texts.

    Attributes
    ----------
    ours, theirs : Evidence
        The patterns of the model and of its twin.
    best, others : dict of str to list of FairHead
        For each pattern the head that was chosen on half of the pairs: its excess and its share on the others. Of the model, and of the
        one beside it, if there is one.
    at : dict of str to (int, int)
        Layer and head of it.
    """

    lesson = "02"

    def __init__(self, encoder, twin, beside=None):
        super().__init__(encoder, twin, Resources(), beside)
        self.ours, self.theirs = (
            collect_evidence("patterns", model, self.resources) for model in (encoder, twin)
        )
        ours, theirs = self.ours.values, self.theirs.values
        self.best = {key: fair_head(ours[f"{key}, excess"], ours[key]) for key in PATTERNS}
        self.others = {}
        if self.beside is not None:
            other = collect_evidence("patterns", self.beside, self.resources).values
            self.others = {key: fair_head(other[f"{key}, excess"])[0] for key in PATTERNS}
        self.twins = {key: fair_head(theirs[f"{key}, excess"])[0] for key in PATTERNS}
        self.at = {key: (found[0].layer, found[0].head) for key, found in self.best.items()}
        self.n_report = self.best["next"][0].n
        self.few = load_pairs()[1:11:2]  # for what takes long

    def sharpest(self, attention: Attention) -> tuple[int, int]:
        """Layer and head with the least entropy, of those that give less than .4 to both neighbours."""
        weights = attention.weights
        entropy = -(weights * np.log(np.maximum(weights, 1e-12))).sum(axis=-1).mean(axis=-1)
        neighbours = PATTERNS["next"].value(attention) + PATTERNS["previous"].value(attention)
        return best_index(-np.where(neighbours < 0.4, entropy, 99))

    # ---- which patterns are there -----------------------------------------------------------------------------

    @property
    def clear(self) -> list[str]:
        """Patterns whose best head beats its null model by more than `CLEAR`."""
        return [key for key, found in self.best.items() if found[0].value.low > CLEAR]

    def clear_picture(self) -> Picture:
        """How many patterns are there, and which, with a mark for each."""
        body, wide = [], 1030 / len(PATTERNS)
        for k, (key, pattern) in enumerate(PATTERNS.items()):
            x = wide * (k + 0.5)
            body += draw_sign(HOLDS if key in self.clear else FAILS, x, 20, "")[:1]
            for n, line in enumerate(broken_lines(pattern.title.removeprefix("same word, "), 26, wide)):
                body.append(text(x, 58 + 30 * n, line, anchor="middle"))
        said = f"{letter(len(self.clear), [2, 4, 6])}: {len(self.clear)} of {len(PATTERNS)}, with the whole interval above {CLEAR:g}."
        return Picture(
            body,
            1030,
            106,
            f"Patterns that beat their null model by more than {CLEAR:g}",
            said,
            26,
            caption=said,
            wide=True,
        )

    def best_table(self) -> TextTable:
        """The best head for each pattern: of the model, of the one beside it, and of the twin."""
        header = ["pattern", "best head", "share", "excess [95 %]", "twin, excess"]
        body = [
            [
                PATTERNS[key].title,
                head_label(*self.at[key]),
                f"{share.value.mean:.3f}",
                str(excess.value),
                f"{self.twins[key].value.mean:+.3f}",
            ]
            for key, (excess, share) in self.best.items()
        ]
        if self.others:
            header.append(f"{short_title(self.beside)}, excess [95 %]")
            for row, found in zip(body, self.others.values()):
                row.append(f"{found.value} in {head_label(found.layer, found.head)}")
        return TextTable(
            header,
            body,
            f"Each head was chosen on {self.ours.n - self.n_report} of the {self.ours.n} pairs of texts and measured on the other {self.n_report}.",
        )

    def best_picture(self) -> Picture:
        """The same as dots."""
        table, rows = self.best_table(), range(len(self.best), 0, -1)
        figure, axes = plain_axes((9.8, 4.7))
        shares = [share.value.mean for _, share in self.best.values()]
        axes.plot(shares, rows, "D", mfc="white", color=MUTED, ms=10, label=f"{self.name}, share")
        mean, reach = with_reach([excess.value for excess, _ in self.best.values()])
        label = f"{self.name}, excess over the null model [95 %]"
        axes.errorbar(mean, rows, xerr=reach, capsize=5, label=label, **model_look(self.name))
        if self.others:
            mean, reach = with_reach([found.value for found in self.others.values()])
            lower = [row - 0.22 for row in rows]
            label = f"{short_title(self.beside)}, excess [95 %]"
            axes.errorbar(
                mean, lower, xerr=reach, capsize=5, label=label, **model_look(short_title(self.beside))
            )
        twins = [found.value.mean for found in self.twins.values()]
        axes.plot(twins, rows, label=f"{self.name}'s twin, excess", **model_look("random twin"))
        axes.axvline(CLEAR, color=MUTED, linestyle=":", linewidth=2)
        axes.set_yticks(rows, [f"{title}: {head}" for title, head, *_ in table.rows], fontsize=TYPE_SIZE)
        axes.set_ylim(0.4, len(self.best) + 0.6)
        axes.set_xlabel("share of attention, or its excess over the null model", fontsize=TYPE_SIZE)
        draw_key(figure, ncols=2, handletextpad=0.2, columnspacing=1)
        said = (
            f"{len(self.clear)} of {len(PATTERNS)} exceed {CLEAR:g} (dotted) in {self.subject}, whose heads are named. {table.caption}{self._said_same_word()} "
            "Bag of words: the share in its own text times how evenly it is spread."
        )
        return replace(figure_picture(figure, said), numbers=(table,))

    def _said_same_word(self) -> str:
        """Which heads of the model beside it find the same word, or nothing."""
        if not self.others:
            return ""
        here, across = (
            head_label(found.layer, found.head)
            for found in (self.others[key] for key in ("same_word", "same_word_across"))
        )
        who = f" {short_title(self.beside)} finds the same word with {here}"
        return f"{who}." if here == across else f"{who}, in the other text with {across}."

    def sep_table(self, vig: Attention) -> TextTable:
        """What the best next-token head does where there is no next token; and where it looks from the last [SEP] of one text."""
        values, where = self.ours.values, self.at["next"]
        names = ("next", "sep to cls", "last sep to cls")
        _, every, both, last = fair_head(values["next, excess"], *(values[name] for name in names))
        row = neuron_view(vig, *where, vig.n_tokens - 1)
        top = np.argsort(-np.asarray(row.weights), kind="stable")[:3]
        looks = ", ".join(f"{which_one(row.tokens, at)} ({row.weights[at]:.2f})" for at in top)
        share = last.value.mean
        found = "Yes" if share > 0.5 else "In part" if share > 0.1 else "Hardly"
        titles = "all tokens, to the next", "from both [SEP], to [CLS]", "from the last [SEP], to [CLS]"
        return TextTable(
            [f"head {head_label(*where)}", f"{self.name}, share [95 %]"],
            [[title, Estimate(*found.value, ".3f")] for title, found in zip(titles, (every, both, last))],
            f"In {self.subject}: {found.lower()}. The last [SEP] gives [CLS] {100 * share:.1f} % (n = {every.n} pairs). In Vig's pair the last [SEP] looks at {looks}.",
        )

    # ---- segments ---------------------------------------------------------------------------------------------

    @cached_property
    def switches(self) -> tuple[SwitchReport, SwitchReport]:
        """What the best head for the own text loses without segment ids: in the model and in its twin."""
        reports = []
        for model in (self.encoder, self.twin):
            values = collect_evidence("segment ids", model, self.resources).values
            reports.append(
                SegmentSwitch(*(values[n] for n in ("standard", "zeros", "bag", "chance"))).report()
            )
        return tuple(reports)

    @property
    def bag(self) -> tuple[int, int]:
        """Layer and head of the model's best head for the own text."""
        return self.switches[0].layer, self.switches[0].head

    def _switched(self) -> list[str]:
        return [
            f"{name}, {head_label(report.layer, report.head)}"
            for name, report in zip((self.name, "twin"), self.switches)
        ]

    def _lost_share(self) -> tuple[float, float]:
        """The interval of the share of the preference that is lost: a ratio of sums over the same pairs."""
        values = collect_evidence("segment ids", self.encoder, self.resources).values
        standard, zeros = (values[name][(slice(1, None, 2), *self.bag)] for name in ("standard", "zeros"))
        totals = np.stack([standard - zeros, standard - values["chance"][1::2]], axis=1)
        return ratio_interval(totals, within=(-np.inf, np.inf))

    def switch_picture(self) -> Picture:
        """The share in the own text, with segment ids and with zeros in their place."""
        ours = self.switches[0]
        prefers = ours.standard.mean - ours.chance.mean
        lost = 100 * ours.difference.mean / prefers
        if ours.standard.low <= ours.chance.mean:
            said = "There is no preference to lose."
        else:
            low, high = (100 * end for end in self._lost_share())
            how = ("not", "partly", "mostly", "almost only")["ABCD".index(letter(lost, [1, 50, 95]))]
            rest = "; positions and [SEP] may explain the rest" * (lost < 95)
            said = (
                f"{letter(lost, [1, 50, 95])}: {how} by the segment ids. With all segment A, {max(lost, 0):.0f} % [{low:.0f}, {high:.0f}] "
                f"of its preference (above chance) is lost{rest}."
            )
        names = {**_SEGMENTS, "difference": "difference", "chance": "chance"}
        table = TextTable(
            ["share in its own text", *self._switched()],
            [[title, *(str(getattr(r, name)) for r in self.switches)] for title, name in names.items()],
            f"{said} n = {ours.n} pairs; brackets: 95 % interval; head chosen on {self.ours.n - ours.n} others.",
        )
        figure, axes = plain_axes((9.8, 3.1))
        for (title, name), mark, colour in zip(_SEGMENTS.items(), "oD", (LINE, SELECTED)):
            mean, reach = with_reach([getattr(report, name) for report in self.switches])
            fill = "white" if name == "zeros" else colour
            axes.errorbar(
                mean, [1, 0], xerr=reach, fmt=mark, color=colour, mfc=fill, ms=11, capsize=5, label=title
            )
        axes.axvline(ours.chance.mean, color=MUTED, linestyle=":", linewidth=2, label="chance")
        axes.set(xlim=(0.4, 1), ylim=(-0.5, 1.5))
        axes.set_yticks([1, 0], self._switched(), fontsize=TYPE_SIZE)
        axes.set_xlabel("share in its own text [95 %]", fontsize=TYPE_SIZE)
        draw_key(figure)
        return replace(figure_picture(figure, table.caption), numbers=(table,))

    def bag_picture(self, first: str, second: str) -> Picture:
        """The map of that head on one pair, with both kinds of segment ids."""
        maps, scores = {}, []
        for title, segments in _SEGMENTS.items():
            read = extract_attention(self.encoder, first, second, segments=segments)
            scores.append(float(PATTERNS["bag_of_words"].value(read)[self.bag]))
            words = np.flatnonzero(~np.array(read.special))
            maps[title] = read.head(*self.bag)[np.ix_(words, words)], f"bag-of-words score {scores[-1]:.2f}"
        said = (
            f"Head {head_label(*self.bag)} of {self.subject}: with all segment A the blocks on the diagonal, each text with itself, "
            f"{'fade' if scores[1] < scores[0] else 'stay'}. A row looks."
        )
        return small_maps(maps, said, words=[read.tokens[i] for i in words], size=(9.8, 4.2))

    # ---- the answer -------------------------------------------------------------------------------------------

    def answer(self) -> Picture:
        """The lesson's answer; its first row is the pattern whose value and excess differ most."""
        apart = {key: share.value.mean - beyond.value.mean for key, (beyond, share) in self.best.items()}
        most = max(apart, key=apart.__getitem__)
        (more, seen), (excess, _), [word] = self.best[most], self.best["next"], self.verdicts_on("same-word")
        same = {f"{self.name}, same word": Estimate(word.value, word.low, word.high, ".3f")}
        if self.others:
            same[f"{short_title(self.beside)}, same word"] = Estimate(*self.others["same_word"].value, ".3f")
        missed = "" if "same_word" in self.clear else "; the same word does not"
        beat = f"In {self.subject} {len(self.clear)} of {len(PATTERNS)} patterns pass {CLEAR:g}"
        return answer_picture(
            {
                "A picture alone can mislead.": {
                    "value": Estimate(seen.value.mean),
                    "excess": Estimate(more.value.mean),
                },
                f"A finding has an excess over {CLEAR:g}; the twin has not."
                if excess.value.low > CLEAR
                else f"No finding: it does not beat its null model by more than {CLEAR:g}.": {
                    f"{self.name}, next word": Estimate(
                        excess.value.mean, excess.value.low, excess.value.high
                    ),
                    "random twin": Estimate(self.twins["next"].value.mean),
                },
                f"{beat}{missed}.": same,
            },
            f"Row 1: {PATTERNS[most].title} in {self.subject}; rows 2 and 3: excess; n = {self.n_report} pairs that had no part in choosing.",
            model=self.mark or "",
        )

    # ---- neurons ----------------------------------------------------------------------------------------------

    @cached_property
    def bases(self) -> Mapping[str, tuple[tuple[int, int], BasisComparison]]:
        """How many dimensions two heads need, as trained and in other bases: what the head looks at, its place, the counts."""
        read = [extract_attention(self.encoder, *pair, vectors=True) for pair in self.few]
        looks = {"to [SEP]": ("delimiter", closing_sep_pairs), "to the next word": ("next", next_word_pairs)}
        return {
            name: (self.at[key], compare_bases(self.encoder, read, *self.at[key], pairs, rotations=20))
            for name, (key, pairs) in looks.items()
        }

    def dimensions_picture(self, answers: Mapping[str, str]) -> Picture:
        """How many dimensions they need as trained, and how many the twin's heads need for [SEP]."""
        size = self.encoder.head_size
        needs = {
            f"{self.name}, {name.split('the ')[-1]}, {head_label(*where)}": Estimate(
                found.trained * size, form=".1f"
            )
            for name, (where, found) in self.bases.items()
        }
        sep, following = (need.value for need in needs.values())
        found = letter(sep / following, [0.8, 1.25], "ABC")
        for key, name in (("sep", "to [SEP]"), ("next", "next word")):
            used, pairs = (
                self.theirs.values[f"{key} {what}"][1::2].sum(axis=0) for what in ("dimensions", "pairs")
            )
            twins = used / np.maximum(pairs, 1) * size
            needs[f"random twin, {name}"] = Estimate(
                twins.mean(), twins.min(), twins.max(), ".1f", "({} to {})"
            )
        return answer_picture(
            {f"{found}: {answers[found]}.": needs},
            f"Dimensions, of {size}, for 90 % of the margin. {self.Subject}: mean of the {len(self.few)} pairs of texts that slide 23 rotates; twin: mean of all its heads "
            f"(fewest to most), {self.n_report} pairs. Untrained heads need few as well, so needing few proves nothing.",
        )

    def basis_table(self) -> TextTable:
        """The dimensions that the two heads need in three bases."""
        size, body = self.encoder.head_size, []
        for name, (where, found) in self.bases.items():
            turned = found.rotated * size
            trained, svd = (Estimate(value * size, form=".1f") for value in (found.trained, found.svd))
            rotations = Estimate(turned.mean(), turned.min(), turned.max(), ".1f", "({} to {})")
            body.append([name, head_label(*where), trained, rotations, svd])
        pairs = ", ".join(f"{found.n_pairs} {name}" for name, (_, found) in self.bases.items())
        return TextTable(
            ["looks", "head", "as trained", "20 random rotations", "SVD basis"],
            body,
            f"Dimensions of {size} for 90 % of the margin. Pairs of tokens: {pairs}.",
        )

    def said_bases(self) -> str:
        """What a random rotation does to the counts."""
        said = []
        for name, (_, found) in self.bases.items():
            turned, trained = (
                share * self.encoder.head_size for share in (found.rotated.mean(), found.trained)
            )
            yes = "yes" if found.rotated.min() > found.trained else "no"
            said.append(f"{name} **{yes}**: {turned:.1f} dimensions once rotated, {trained:.1f} as trained")
        return f"For attention {'; '.join(said)}. Brackets: fewest and most. The SVD basis consists of the head's own axes."

    def _keys_of(self, evidence):
        """How far the keys of the next-word head, chosen on other pairs, go with position embeddings."""
        return fair_head(evidence.values["next, excess"], evidence.values["position"])[1]

    def said_positions(self) -> str:
        """Whether the keys hold positions, in the model and in its twin."""
        ours, twin = (self._keys_of(one).value.mean for one in (self.ours, self.theirs))
        (found,) = self.verdicts_on("next-position")
        why = ", because the twin is beyond it too" * (found.verdict == OPEN and twin > found.claim.threshold)
        return (
            f"**The correlation is {ours:.2f}; the twin, without any training, has {twin:.2f}:** position is in the input. "
            f"Claim (Vig): the next-word head compares position embeddings. It needs more than {found.claim.line()} and {found.verdict}{why}. "
            "The correlation alone does not show that the head *uses* positions."
        )

    def position_table(self) -> TextTable:
        """How keys go with position embeddings, in both models."""
        body = []
        for title, evidence in ((self.name, self.ours), ("random twin", self.theirs)):
            corr, here = evidence.values["position"], self._keys_of(evidence)
            layers = corr.mean(axis=(0, 2))
            best = Estimate(*here.value, ".3f", after=f" in {head_label(here.layer, here.head)}")
            body.append([title, best, Estimate(layers[0]), Estimate(layers[-1])])
        return TextTable(
            ["model", "next-word head [95 %]", "mean of layer 1", f"mean of layer {self.encoder.n_layers}"],
            body,
            f"Correlation of keys with position embeddings times W_K, n = {self.n_report} pairs; 0: unrelated.",
        )

    def _own_minus_other(self, segments: str) -> np.ndarray:
        """What each dimension of the bag-of-words head adds to the score of the own text, minus that of the other text."""
        rows = []
        for pair in self.few:
            read = extract_attention(self.encoder, *pair, vectors=True, segments=segments)
            words = np.flatnonzero(~np.array(read.special))
            text = np.array(extract_attention(self.encoder, *pair).segment_ids)[words]
            q, k = (vectors[self.bag][words] for vectors in (read.queries, read.keys))
            apart = np.stack([k[text == own].mean(axis=0) - k[text != own].mean(axis=0) for own in text])
            rows.append((q * apart).mean(axis=0) / np.sqrt(self.encoder.head_size))
        return np.mean(rows, axis=0)

    def neuron_picture(self) -> Picture:
        """The dimensions that make the head look into its own text, with segment ids and with zeros in their place."""
        both = {title: self._own_minus_other(segments) for title, segments in _SEGMENTS.items()}
        standard, zeros = both.values()
        figure, axes = plain_axes((9.8, 3.6))
        for (name, adds), mark, colour in zip(both.items(), "oD", (LINE, SELECTED)):
            fill = "white" if name == "all segment A" else colour
            axes.plot(adds[standard.argsort()[::-1]], mark, color=colour, ms=9, mfc=fill, label=name)
        axes.axhline(0, color=MUTED, linestyle=":", linewidth=2)
        axes.set_xlabel(f"dimensions of head {head_label(*self.bag)}, the largest first", fontsize=TYPE_SIZE)
        axes.set_ylabel("adds to the score", fontsize=TYPE_SIZE)
        axes.tick_params(labelsize=TYPE_SIZE)
        axes.set_xticks([])
        axes.legend(fontsize=TYPE_SIZE, frameon=False)
        whole, without = float(standard.sum()), float(zeros.sum())
        needed = ""
        if whole > 0:
            needed = (
                f"With segments A and B, {margin_dimensions(standard)} of {self.encoder.head_size} dimensions make 90 % of it; "
                f"dimension {standard.argmax() + 1} alone makes {100 * standard.max() / whole:.0f} %."
            )
        return figure_picture(
            figure,
            f"Score of the same text minus score of the other text, mean of {len(self.few)} pairs: {whole:+.2f}, "
            f"and {without:+.2f} with all segment A. {needed}",
        )
